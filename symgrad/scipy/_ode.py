"""``solve_ivp`` on plain arrays and in traced code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.integrate

from .._core.base.state import PLAIN, now
from .._core.graph import warn_user
from ..errors import NotCompiledWarning, SparsityWarning, SymgradError
from ._call_records import LEAVING, raising_somewhere
from ._ode_at_once import forget, solved_again, solved_at_once
from ._ode_methods import NEWTON, Tsit5
from ._ode_programs import programs_for, structured
from ._ode_run import TOO_SMALL
from ._ode_solvers import COMPILED
from ._ode_structure import LARGE, WIDE, is_sparse
from ._ode_traced import BAND, checked_options, solve_traced
from ._refusals import refusal_of
from ._solver_arguments import with_branches

#: SciPy's methods for what ours without a counterpart are for.
ALIKE = {"Rodas5P": "Radau", "RadauIIA": "Radau", "Taylor": "DOP853"}

#: SciPy's own methods that can be run with compiled functions.
IMPLICIT = ("Radau", "BDF", "LSODA")


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Sequence[float],
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    **options: Any,
) -> Any:
    """Solve an initial value problem ``dy/dt = fun(t, y)``, ``y(t0) = y0``.

    Parameters
    ----------
    fun:
        ``fun(t, y, *args)`` returns the derivative of the state, an array, list or tuple of shape
        (n,).
    t_span:
        The times at the beginning and the end; backward, too.
    y0:
        The state at the beginning, of shape (n,), real or complex.
    method:
        ``"RK23"``, ``"RK45"``, ``"DOP853"`` (SciPy's, step for step), ``"Tsit5"``, ``"Taylor"``
        (power series, for tight tolerances) and, for stiff systems, ``"Rodas5P"`` are compiled
        with the function into one loop, and so are ``"BDF"`` and ``"Radau"``, SciPy's step for
        step but with exact Jacobians, and ``"RadauIIA"``, the same as the latter in more points,
        for tight tolerances. ``"LSODA"``, and these of complex states or of large ones with
        Jacobians that are sparse in no band, are SciPy's with the function and its exact Jacobian
        compiled. In traced code all four are ``"Rodas5P"``. Classes of solvers are SciPy's own.
    t_eval:
        Times at which to give the solution, in the order of integration; None: after every step.
    dense_output:
        Whether to give the solution as a function ``sol`` of time.
    events:
        Functions ``event(t, y, *args)`` whose zeros are located, with the attributes ``terminal``
        and ``direction``, and in traced code ``recorded``. They are seen where the sign differs at
        the ends of a step: of two zeros within one nothing is known. Steps of ``"Taylor"`` are
        long; ``max_step`` bounds them.
    vectorized:
        Whether ``fun`` takes states as columns, of shape (n, k).
    args:
        More arguments of ``fun`` and of events: numbers and arrays.
    options:
        ``rtol``, ``atol``, ``first_step``, ``max_step``, ``jac`` and the other options of SciPy's
        methods; ``max_steps``, how many steps are tried at most (10,000,000). In traced code
        ``memory``, as for :func:`symgrad.while_loop`, and, for ``"Rodas5P"``, ``lband`` and
        ``uband``: how many diagonals the Jacobian has below the main one and above.

    Returns
    -------
    OdeResult
        With ``t``, ``y`` (n, times), ``sol``, ``t_events``, ``y_events``, ``nfev``, ``njev``,
        ``nlu``, ``status``, ``message`` and ``success``, as from ``scipy.integrate.solve_ivp``.

    Raises
    ------
    ValueError, TypeError
        SciPy's, for arguments that do not fit together.

    Notes
    -----
    A function is compiled at its first solution. Its variables are read in every solution.
    Functions that cannot be traced are solved by SciPy as they are, with a
    :class:`~symgrad.errors.NotCompiledWarning`.

    In traced code (under ``sg.grad``, ``sg.jacobian``, ``sg.vmap``, ``sg.compile``) the solution is
    given at the times ``t_eval``; without them there are its ends alone, ``sol.y[:, -1]`` and
    ``sol.t[-1]``. Derivatives with respect to the initial state, the times, ``args`` and what
    ``fun`` closes over are those of the steps taken, whose lengths are not differentiated. Times
    that were not reached have nan. An event states how often it may happen: after ``terminal``
    times the integration ends, after ``recorded`` times it goes on. The times and states of the
    first m have shapes (m,) and (m, n), with nan for those that did not happen, and are
    differentiated as implicit functions. With ``dense_output``, ``sol.sol(t)`` takes the steps
    again: ask for all times in one call.

    References
    ----------
    RK45: J. R. Dormand, P. J. Prince, J. Comput. Appl. Math. 6, 1980. RK23: P. Bogacki, L. F.
    Shampine, Appl. Math. Lett. 2, 1989. DOP853, Radau: E. Hairer, S. P. Norsett, G. Wanner,
    Solving Ordinary Differential Equations I and II, Springer 1993 and 1996. Tsit5: Ch. Tsitouras,
    Comput. Math. Appl. 62, 2011. Taylor: A. Jorba, M. Zou, Experiment. Math. 14, 2005. Rodas5P:
    G. Steinebach, BIT 63:27, 2023. RadauIIA: E. Hairer, G. Wanner, J. Comput. Appl. Math. 111,
    1999.

    Examples
    --------
    >>> def fall(t, y):
    ...     return [y[1], -9.81]
    >>> solve_ivp(fall, (0, 2), [100, 0]).y[0, -1].round(6)
    np.float64(80.38)

    The derivative of what is left at the time 2 by the rate of decay:

    >>> def left(rate):
    ...     decay = lambda t, y: -rate * y
    ...     return solve_ivp(decay, (0, 2), [1.0], t_eval=[2.0], rtol=1e-8, atol=1e-8).y[0, 0]
    >>> np.isclose(sg.grad(left)(0.5), -2 * np.exp(-1.0))
    np.True_
    """
    state = now()
    if state.guards is not None:
        return with_branches(
            solve_traced, fun, t_span, y0, method, t_eval, vectorized, _tuple(args),
            checked_options(options, t_span), events, dense_output,
        )  # fmt: skip
    if state is PLAIN and events is None and not dense_output:
        try:
            found = solved_again(fun, t_span, y0, method, t_eval, vectorized, args, options)
        except SymgradError:  # said below
            found = None
        if found is not None and not (found["status"] < 0 and raising_somewhere(fun)):
            return _left(found, fun, vectorized, args)
    options.pop("memory", None)
    if method == "Rodas5P":  # it finds bands by itself, and None is what it does
        like_none = *BAND, *(k for k in ("jac", "jac_sparsity") if options.get(k) is None)
        options = {k: v for k, v in options.items() if k not in like_none}

    def plainly(
        function: Any, method: Any, y0: Any = y0, vectorized: bool = vectorized, **options: Any
    ) -> Any:
        return scipy.integrate.solve_ivp(
            function, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )

    of_scipy = {k: v for k, v in options.items() if k != "max_steps"}

    def told(found: Any) -> Any:
        """Return a solution: SciPy's where it failed by an error that is nan in compiled code.

        That one the function catches, or it is raised.
        """
        failed = found.message == TOO_SMALL or not np.isfinite(found.y).all()  # LSODA's nan
        if failed and raising_somewhere(fun):
            like = Tsit5 if method == "Tsit5" else ALIKE.get(method, method)
            plain = plainly(fun, like, **of_scipy)
            found = plain if plain.success else found
        return _left(found, fun, vectorized, args)

    kind = COMPILED.get(method) if isinstance(method, str) else None
    if kind is None and not _is_solver(method):
        raise ValueError(
            f"`method` must be one of {[*COMPILED, 'LSODA']} or OdeSolver class, not {method!r}."
        )
    if (kind is None and method not in IMPLICIT) or not _iterable(args):
        return plainly(fun, kind or method, **options)
    given = _tuple(args)

    def as_it_is(why: str) -> Any:
        found = plainly(fun, Tsit5 if method == "Tsit5" else method, **of_scipy)
        warn_user(why, NotCompiledWarning)
        return found

    refusal = refusal_of(f"solve_ivp {method} {np.asarray(y0).dtype.kind}", fun)
    if method not in ALIKE and (why := refusal.still()):
        return as_it_is(why)
    try:
        if method in NEWTON and not _keeps_factors(fun, given, t_span, y0, vectorized):
            kind = None
        if kind is None:
            like = ALIKE.get(method, method)
            function, options = _filled(fun, given, like, t_span, y0, vectorized, options)
            return told(plainly(function, like, vectorized=False, **options))
        start = np.array(y0)  # that a function writes to its state is found out after some calls
        if not dense_output and events is None:
            found = solved_at_once(kind, fun, t_span, start, t_eval, vectorized, given, options)
            if found is not None:
                return told(found)
        return told(plainly(fun, kind, start, traced=(fun, given), **options))
    except SymgradError as error:
        if method in ALIKE:  # SciPy has nothing like them
            raise
        forget(fun)
        name = getattr(fun, "__qualname__", repr(fun))
        why = f"solve_ivp: {name} is not compiled, SciPy calls it as it is: {error}"
        found = as_it_is(why)
        refusal.note(why)
        return found


def _left(found: Any, fun: Any, vectorized: bool, args: Any) -> Any:
    """Return a solution, at whose end the function leaves numbers in the user's objects, if any."""
    if LEAVING.seen and len(found.t):
        fun(found.t[-1], found.y[:, -1:] if vectorized else found.y[:, -1].copy(), *_tuple(args))
    return found


def _is_solver(method: Any) -> bool:
    if isinstance(method, type):
        return issubclass(method, scipy.integrate.OdeSolver)
    return isinstance(method, str) and method in IMPLICIT


def _tuple(args: Any) -> tuple[Any, ...]:
    if not _iterable(args):
        raise TypeError(
            "Supplied 'args' cannot be unpacked. Please supply `args` as a tuple (e.g. "
            "`args=(1.0,)`)"
        )
    return () if args is None else tuple(args)  # also of an array, which has no truth value


def _iterable(args: Any) -> bool:
    return args is None or np.iterable(args)


def _keeps_factors(fun: Any, args: tuple[Any, ...], t_span: Any, y0: Any, vectorized: bool) -> bool:
    """Tell whether factors of full or structured matrices are what a method of Newton's wants.

    They are not for complex states, nor for large ones whose Jacobians are sparse in no band, or in
    a wide one.
    """
    y0 = np.asarray(y0)
    if y0.dtype.kind == "c" or y0.ndim != 1:
        return False
    if y0.size < LARGE:
        return True
    y = y0.astype(np.result_type(y0.dtype, float))
    programs, _ = structured("BDF", vectorized, fun, float(t_span[0]), y, args)
    name, sizes = programs.kind or ("", ())
    if name and (name != "band" or sum(sizes) < WIDE):
        return True
    return not _is_sparse(programs, fun, float(t_span[0]), y, args)


def _is_sparse(programs: Any, fun: Any, t: float, y: Any, args: tuple[Any, ...]) -> bool:
    """Tell whether the Jacobian is large and has few entries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparsityWarning)
        entries = programs(programs.sparse_jacobian, fun, t, y, *args).nnz
    return is_sparse(entries, y.size)


def _filled(
    fun: Any, args: tuple[Any, ...], method: str, t_span: Any, y0: Any, vectorized: bool,
    options: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Return the compiled function, of one state, and SciPy's options with the exact Jacobian.

    That of a large system is sparse, where most of it is zero.
    """
    y0 = np.asarray(y0)
    y0 = y0.astype(np.result_type(y0.dtype, float))
    programs = programs_for(None, vectorized, y0.size, fun)

    def slope(t: Any, y: Any, *_: Any) -> Any:
        return programs(programs.slope, fun, float(t), y, *args)

    def exact(t: Any, y: Any, *_: Any) -> Any:
        return programs(programs.jacobian, fun, float(t), y, *args)

    def sparse(t: Any, y: Any, *_: Any) -> Any:
        return programs(programs.sparse_jacobian, fun, float(t), y, *args)

    options = {k: v for k, v in options.items() if k != "max_steps"}
    begin = float(t_span[0])
    if y0.ndim == 1 and y0.size:
        slope(begin, y0)
    # Of a complex state there is no exact Jacobian unless the function is holomorphic.
    if y0.dtype.kind == "f" and not options.keys() & {"jac", "jac_sparsity", "lband", "uband"}:
        options["jac"] = exact
        if method != "LSODA" and y0.ndim == 1 and y0.size >= LARGE:
            large = _is_sparse(programs, fun, begin, y0, args)
            options["jac"] = sparse if large else exact
    return slope, options

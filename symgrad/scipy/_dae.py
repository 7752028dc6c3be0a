"""Differential equations with algebraic parts: IDA's steps, with exact Jacobians.

IDA (A. C. Hindmarsh et al., SUNDIALS: suite of nonlinear and differential/algebraic equation
solvers, ACM Trans. Math. Softw. 31, 2005) asks for ``dF/dy + c*dF/dyp``. That is the derivative
of ``F(t, y, yp + c*(y - y0))`` by ``y`` at ``y0``: one sparse Jacobian, whose pattern is found by
itself.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import numpy as traced_numpy
from .._api._matrices import jacobian
from .._api._transforms import compile as compiled
from .._core.base.fork_safety import late_module
from .._core.base.state import now
from ..errors import MissingExtraError, ShapeError, SparsityWarning, UnsupportedError
from ._call_records import LEAVING, noting
from ._ode_programs import Held
from ._ode_run import FINISHED, TOO_SMALL
from ._ode_steps import OdeResult, checked_times
from ._ode_structure import LARGE, is_sparse
from ._refusals import KEPT, codes_of

#: How many steps are tried between two times.
STEPS = 100_000


def residual_of(fun: Callable[..., Any], args: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the residual as a function of time, state and slope, of the state's shape."""

    def residual(t: Any, y: Any, yp: Any) -> Any:
        found = traced_numpy.asarray(fun(t, y, yp, *args))
        if found.shape != y.shape:
            raise ShapeError(f"the residual has shape {found.shape} for a state of shape {y.shape}")
        return found.astype(y.dtype)

    return residual


class _Residuals(Held):
    """A residual and its Jacobians, for functions of one code."""

    def __init__(self) -> None:
        super().__init__()
        held: Callable[..., Any] = np.add

        # ``held`` by its name in each: it is adapted where a traced function itself reads it.
        def residual(t: Any, y: Any, yp: Any, *args: Any) -> Any:
            return residual_of(noting(held), args)(t, y, yp)

        def along(t: Any, y: Any, yp: Any, ratio: Any, origin: Any, *args: Any) -> Any:
            return residual_of(noting(held), args)(t, y, yp + ratio * (y - origin))

        def hold(fun: Callable[..., Any]) -> None:
            nonlocal held
            held = fun

        self.hold = hold
        self.residual = compiled(residual)
        self.dense = jacobian(along, argnums=1)
        self.sparse = jacobian(along, argnums=1, sparse=True, format="csc")
        self.by_slope = jacobian(residual, argnums=2, sparse=True)


@functools.lru_cache(KEPT)
def _residuals(codes: tuple[Any, ...]) -> _Residuals:
    return _Residuals()


def solve_dae(
    fun: Callable[..., Any],
    t_span: Sequence[float],
    y0: Any,
    yp0: Any = None,
    *,
    t_eval: Any = None,
    args: tuple[Any, ...] = (),
    rtol: float = 1e-3,
    atol: Any = 1e-6,
    first_step: float | None = None,
    max_step: float = np.inf,
    max_steps: int = STEPS,
    consistent: bool = True,
) -> OdeResult:
    """Solve ``fun(t, y, yp) = 0``, where ``yp`` is the derivative of ``y`` by time.

    Equations with a mass matrix are ``M @ yp - f(t, y)``; where it is singular, or ``yp`` does not
    occur, they are algebraic. The steps are those of IDA, of the package scikit-sundae
    (``pip install 'symgrad[sundae]'``); the residual and its exact Jacobian, sparse where most of
    it is zero, are compiled. It is for index 1, and not for traced code.

    Parameters
    ----------
    fun:
        ``fun(t, y, yp, *args)`` returns the residual, of shape (n,).
    t_span:
        The times at the beginning and the end; backward, too.
    y0, yp0:
        State and derivative at the beginning, of shape (n,). By default derivatives are 0, to be
        corrected.
    t_eval:
        Times at which to give the solution, in the order of integration; None: after every step.
    args:
        More arguments of ``fun``: numbers and arrays.
    rtol, atol:
        Tolerances; ``atol`` may be of shape (n,).
    first_step, max_step, max_steps:
        The length of the first step, the longest, and how many are tried between two times.
    consistent:
        Whether to correct what does not fit together at the beginning: derivatives, and the
        state where no derivative of it occurs.

    Returns
    -------
    OdeResult
        With ``t``, ``y`` and ``yp`` (n, times), ``nfev``, ``njev``, ``status`` (0, or -1 where
        there is no way on), ``message`` and ``success``.

    Raises
    ------
    ValueError
        For arguments that do not fit together.
    ShapeError
        If there are not as many equations as unknowns.
    MissingExtraError
        If scikit-sundae is not installed.

    Examples
    --------
    >>> def robertson(t, y, yp):
    ...     made, back, lost = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    ...     return [yp[0] - back + made, yp[1] - made + back + lost, y[0] + y[1] + y[2] - 1]
    >>> sol = solve_dae(robertson, (0, 100), [1, 0, 0], rtol=1e-6, atol=1e-10)  # doctest: +SKIP
    >>> sol.y[:, -1].round(4)  # doctest: +SKIP
    array([0.6172, 0.    , 0.3828])
    """
    if now().guards is not None:
        raise UnsupportedError(
            "solve_dae is not traced: keep it outside of the differentiated function, or write "
            "the algebraic part as a function of the state and use solve_ivp"
        )
    t0, tf = map(float, t_span)
    y = np.array(y0, float)
    slope = np.zeros_like(y) if yp0 is None else np.array(yp0, float)
    for name, x in (("y0", y), ("yp0", slope)):
        if x.ndim != 1 or x.shape != y.shape or not x.size:
            raise ValueError(f"`{name}` must be 1-dimensional, of the shape of `y0`.")
    times = checked_times(t_eval, t0, tf)
    if t0 == tf:
        raise ValueError("`t_span` is empty.")
    problem = _Problem(fun, args)
    problem.residual(t0, y, slope)  # the user's errors, before IDA's
    kind = _ida()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Custom sparse Jacobian", UserWarning)  # ours is exact
        solver = kind(
            problem.write_residual, rtol=float(rtol), atol=atol, first_step=first_step or 0.0,
            max_step=0.0 if np.isinf(max_step) else float(max_step), max_num_steps=int(max_steps),
            **problem.matrices(t0, y, slope), **problem.start(t0, tf, y, slope, consistent),
        )  # fmt: skip
    rows, message = _steps(solver, (t0, y, slope), tf, times, int(max_steps))
    if LEAVING.seen and rows:  # numbers of the last call, as compiled code leaves none
        fun(*rows[-1], *args)
    if times is not None and t0 not in times[:1]:
        rows = rows[1:]
    t, states, slopes = (np.array([row[k] for row in rows]) for k in range(3))
    return OdeResult(
        t=t, y=np.reshape(states, (len(t), y.size)).T, yp=np.reshape(slopes, (len(t), y.size)).T,
        nfev=problem.residuals, njev=problem.jacobians, status=-1 if message else 0,
        message=message or FINISHED, success=not message,
    )  # fmt: skip


def _steps(
    solver: Any, start: tuple[float, Any, Any], end: float, times: Any, most: int
) -> tuple[list[tuple[float, Any, Any]], str]:
    """Return times, states and slopes, and why there is no way on where there is none."""
    rows: list[tuple[float, Any, Any]] = []

    def take(found: Any) -> None:
        # One state, or with the time as a first axis.
        rows.append((float(np.ravel(found.t)[-1]), np.array(np.atleast_2d(found.y)[-1]),
                     np.array(np.atleast_2d(found.yp)[-1])))  # fmt: skip

    try:
        take(solver.init_step(*start))
        if times is not None:
            for time in times[times != start[0]]:
                found = solver.step(float(time), tstop=end)
                if not found.success:
                    return rows, found.message
                take(found)
            return rows, ""
        while rows[-1][0] != end:
            found = solver.step(end, method="onestep", tstop=end)
            if not found.success:
                return rows, found.message
            if float(np.ravel(found.t)[-1]) == rows[-1][0]:
                return rows, TOO_SMALL
            take(found)
            if len(rows) > most:
                return rows, f"The limit of {most} steps is reached; max_steps sets another."
    except RuntimeError as error:  # IDA's, of what does not fit together at the beginning
        if not str(error).startswith("IDA"):
            raise
        return rows, str(error)
    return rows, ""


def _ida() -> Any:
    try:
        return late_module("sksundae.ida").IDA
    except ImportError as error:
        raise MissingExtraError("sksundae", "sundae", "solve_dae") from error


class _Problem:
    """A residual as IDA calls it."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fun, self.args = fun, tuple(args)
        self.residuals = self.jacobians = 0
        self.programs = _residuals(tuple(codes_of(fun)))

    def residual(self, t: float, y: Any, yp: Any) -> Any:
        return self.programs(self.programs.residual, self.fun, t, y, yp, *self.args)

    def write_residual(self, t: float, y: Any, yp: Any, out: Any) -> None:
        self.residuals += 1
        out[:] = self.residual(t, y, yp)

    def _write(self, program: Any) -> Callable[..., None]:
        def write(t: float, y: Any, yp: Any, _: Any, ratio: float, out: Any) -> None:
            self.jacobians += 1
            out[:] = self.programs(program, self.fun, t, y, yp, ratio, y, *self.args)

        return write

    def matrices(self, t: float, y: Any, yp: Any) -> dict[str, Any]:
        """Return how IDA solves its linear systems, and its Jacobian."""
        programs = self.programs
        pattern = self._pattern(programs.sparse, t, y, yp, 1.0, y) if y.size >= LARGE else None
        if pattern is None or not is_sparse(pattern.nnz, y.size):
            return {"linsolver": "dense", "jacfn": self._write(programs.dense)}
        entries = pattern.matrix(np.ones(pattern.nnz))
        return {
            "linsolver": "sparse", "sparsity": entries, "jacfn": self._write(programs.sparse.values)
        }  # fmt: skip

    def start(self, t0: float, tf: float, y: Any, yp: Any, consistent: bool) -> dict[str, Any]:
        """Return what IDA does to state and slopes at the beginning."""
        pattern = self._pattern(self.programs.by_slope, t0, y, yp)
        if not consistent or pattern is None:
            return {}
        algebraic = np.setdiff1d(np.arange(y.size), pattern.cols)
        first = (tf - t0) * 1e-3
        return {
            "algebraic_idx": algebraic if len(algebraic) else None, "calc_initcond": "yp0",
            "calc_init_dt": first,
        }  # fmt: skip

    def _pattern(self, program: Any, *at: Any) -> Any:
        """Return the pattern of a Jacobian, None if it depends on numbers."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SparsityWarning)
            return self.programs(program.lasting, self.fun, *at, *self.args)

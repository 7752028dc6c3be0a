"""``scipy.optimize``, with the derivatives that a call leaves out.

``minimize``, ``least_squares``, ``leastsq``, ``curve_fit``, ``root``, ``fsolve``,
``root_scalar``, ``newton`` and ``NonlinearConstraint`` have SciPy's signatures and are SciPy's
solvers, with their results, messages and errors. Gradients, Jacobians and Hessians that are not
given are exact ones, by compiled code. A function that cannot be traced is solved with SciPy's
differences, and a :class:`~symgrad.errors.DifferencesWarning` says why. All other names are
SciPy's own.

In functions that are traced themselves solvers refuse traced values: ``sg.implicit_root`` and
``sg.implicit_minimum`` differentiate what they find.

Examples
--------
>>> import numpy as np
>>> from symgrad.scipy.optimize import minimize, rosen
>>> minimize(rosen, np.zeros(5), method="trust-exact").x
array([1., 1., 1., 1., 1.])
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from .._op import refuse
from .._ops.np_common import as_array, is_traced
from .._trace._namespace import Namespace, holds
from ._derived import Derived

__all__ = [
    "NonlinearConstraint",
    "curve_fit",
    "fsolve",
    "least_squares",
    "leastsq",
    "minimize",
    "newton",
    "root",
    "root_scalar",
    "rosen",
]

_WHY = (
    "a solver works on numbers, and its steps have no derivative: sg.implicit_root and "
    "sg.implicit_minimum differentiate what it finds"
)
_names = Namespace(scipy.optimize, globals(), _WHY)

#: Methods of ``minimize`` that take a gradient; a Hessian; only products with it if it is large.
_GRADIENT = frozenset(("cg", "bfgs", "l-bfgs-b", "tnc", "slsqp"))
_HESSIAN = frozenset(("dogleg", "trust-exact"))
_PRODUCT = frozenset(("newton-cg", "trust-ncg", "trust-krylov", "trust-constr"))

#: Up to this many variables a Hessian is made where products with it would do.
SMALL = 64


def rosen(x: Any) -> Any:
    """Rosenbrock's function, as ``scipy.optimize.rosen``."""
    if not holds(x, is_traced):
        return scipy.optimize.rosen(x)
    x = as_array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


def _on_numbers(solver: Callable[..., Any]) -> Callable[..., Any]:
    """Have a solver refuse traced values."""

    @functools.wraps(solver)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if any(holds(x, is_traced) for x in (*args, *kwargs.values())):
            refuse(getattr(scipy.optimize, solver.__name__), _WHY)
        return solver(*args, **kwargs)

    return checked


def _start(x0: Any) -> Any:
    """Return where a solver starts, as a vector of floats; None if SciPy will refuse it."""
    try:
        x = np.atleast_1d(np.asarray(x0))
        return x if x.dtype.kind == "f" else x.astype(float)
    except (TypeError, ValueError):
        return None


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


# ---------------------------------------------------------------- minima


class NonlinearConstraint(scipy.optimize.NonlinearConstraint):  # type: ignore[misc]
    """A constraint ``lb <= fun(x) <= ub``; as ``scipy.optimize.NonlinearConstraint``.

    Parameters
    ----------
    fun, lb, ub, keep_feasible, finite_diff_rel_step, finite_diff_jac_sparsity:
        As SciPy's.
    jac, hess:
        As SciPy's. Left out, :func:`minimize` fills them in; in SciPy's own functions they are
        SciPy's defaults.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.scipy.optimize import NonlinearConstraint, minimize
    >>> disc = NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, 0.0, 2.0)
    >>> minimize(lambda x: x[0] + x[1], [1.0, 0.0], method="SLSQP", constraints=disc).x
    array([-1., -1.])
    """

    def __init__(
        self, fun: Callable[..., Any], lb: Any, ub: Any, jac: Any = None, hess: Any = None,
        keep_feasible: Any = False, finite_diff_rel_step: Any = None,
        finite_diff_jac_sparsity: Any = None,
    ) -> None:  # fmt: skip
        self.fills_jac, self.fills_hess = jac is None, hess is None
        super().__init__(fun, lb, ub, "2-point" if jac is None else jac, hess, keep_feasible,
                         finite_diff_rel_step, finite_diff_jac_sparsity)  # fmt: skip


def _filled_constraint(constraint: Any, x: Any, method: str) -> Any:
    """Return a constraint of either style with its derivatives."""
    is_dict = isinstance(constraint, dict)
    if is_dict:
        fun, args = constraint.get("fun"), _tuple(constraint.get("args", ()))
        wanted = callable(fun) and not constraint.get("jac")
    else:
        wanted = isinstance(constraint, NonlinearConstraint) and constraint.fills_jac
        fun, args = getattr(constraint, "fun", None), ()
    f = Derived("minimize", fun, args)
    if not wanted or not f.starts(x, f.values, f.jacobian):
        return constraint
    if is_dict and method == "slsqp":
        return {**constraint, "fun": f.values, "jac": f.jacobian}
    if is_dict:
        upper = {"eq": 0.0, "ineq": np.inf}.get(str(constraint.get("type")).lower())
        if upper is None:  # SciPy says so
            return constraint
        return scipy.optimize.NonlinearConstraint(f.values, 0.0, upper, f.jacobian, f.curvature)
    # SciPy looks at the Hessian of each, but only trust-constr uses it.
    hess = f.curvature if method == "trust-constr" and constraint.fills_hess else constraint.hess
    return scipy.optimize.NonlinearConstraint(
        f.values, constraint.lb, constraint.ub, f.jacobian, hess, constraint.keep_feasible
    )


@_on_numbers
def minimize(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = None, jac: Any = None,
    hess: Any = None, hessp: Any = None, bounds: Any = None, constraints: Any = (),
    tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Minimise a function of a vector; as ``scipy.optimize.minimize``.

    Parameters
    ----------
    fun, x0, args, method, bounds, tol, callback, options:
        As SciPy's.
    jac, hess, hessp:
        As SciPy's; what a method takes and is not given is filled in. Of more than 64 variables
        products with the Hessian are, where a method does with these.
    constraints:
        As SciPy's. Jacobians of dictionaries without ``"jac"`` and of this module's
        :class:`NonlinearConstraint` are filled in.

    Returns
    -------
    OptimizeResult
        SciPy's. Values and derivatives come from one evaluation a point; ``nfev`` and ``njev``
        count what the method has asked for.

    Raises
    ------
    ValueError, TypeError
        As SciPy does.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.scipy.optimize import minimize
    >>> found = minimize(lambda x: np.sum((x - 3.0) ** 4), np.zeros(2), method="Newton-CG")
    >>> found.success, np.round(found.x, 1)
    (True, array([3., 3.]))
    """
    args = _tuple(args)
    chosen = method
    if method is None:
        chosen = "slsqp" if constraints else "bfgs" if bounds is None else "l-bfgs-b"
    name = chosen.lower() if isinstance(chosen, str) else ""
    x = _start(x0)
    if name in _GRADIENT | _HESSIAN | _PRODUCT and x is not None and x.ndim == 1:
        f = Derived("minimize", fun, args, scalar=True)
        # If fun(x) gives the gradient, too, the Hessian is that of its first result.
        objective = f if jac is not True else Derived("minimize", _First(fun), args, scalar=True)
        traced = True
        if jac is None or jac is False:
            traced = f.starts(x, f.fun)
            fun, jac = (f.fun, f.gradient) if traced else (fun, jac)
        if traced and name in _HESSIAN | _PRODUCT and hess is None and hessp is None:
            if name in _HESSIAN or x.size <= SMALL:
                hess = objective.hessian if objective.starts(x, objective.hessian) else None
            elif objective.starts(x, lambda x: objective.hessian_product(x, x)):
                hessp = objective.hessian_product
        if name in ("slsqp", "trust-constr"):
            constraints = _each(lambda c: _filled_constraint(c, x, name), constraints)
    return scipy.optimize.minimize(fun, x0, args, method, jac, hess, hessp, bounds, constraints,
                                   tol, callback, options)  # fmt: skip


class _First:
    """The first result of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)[0]


def _each(change: Callable[[Any], Any], constraints: Any) -> Any:
    """Return constraints, one or several, each changed."""
    if isinstance(constraints, (list, tuple)):
        return [change(c) for c in constraints]
    return change(constraints)


# ---------------------------------------------------------------- least squares


@_on_numbers
def least_squares(
    fun: Callable[..., Any], x0: Any, jac: Any = None, bounds: Any = (-np.inf, np.inf),
    method: str = "trf", ftol: Any = 1e-8, xtol: Any = 1e-8, gtol: Any = 1e-8,
    x_scale: Any = None, loss: Any = "linear", f_scale: float = 1.0, diff_step: Any = None,
    tr_solver: Any = None, tr_options: Any = None, jac_sparsity: Any = None,
    max_nfev: Any = None, verbose: int = 0, args: Any = (), kwargs: Any = None,
    callback: Any = None, workers: Any = None,
) -> Any:  # fmt: skip
    """Solve a nonlinear least-squares problem; as ``scipy.optimize.least_squares``.

    Parameters
    ----------
    fun, x0, bounds, method, ...:
        As SciPy's.
    jac:
        As SciPy's; left out, the exact Jacobian.

    Returns
    -------
    OptimizeResult
        SciPy's.

    Raises
    ------
    ValueError, TypeError
        As SciPy does.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.scipy.optimize import least_squares
    >>> t = np.linspace(0.0, 1.0, 9)
    >>> least_squares(lambda p: p[0] * np.exp(-p[1] * t) - 2.0 * np.exp(-3.0 * t), [1.0, 1.0]).x
    array([2., 3.])
    """
    x = _start(x0)
    if jac is None:
        jac = "2-point"
        if x is not None and x.ndim == 1:
            f = Derived("least_squares", fun, _tuple(args), kwargs)
            if f.starts(x, f.values, f.jacobian):
                fun, jac = f.values, f.jacobian
    return scipy.optimize.least_squares(
        fun, x0, jac, bounds, method, ftol, xtol, gtol, x_scale, loss, f_scale, diff_step,
        tr_solver, tr_options, jac_sparsity, max_nfev, verbose, args, kwargs or {},
        callback=callback, workers=workers,
    )  # fmt: skip


@_on_numbers
def leastsq(
    func: Callable[..., Any], x0: Any, args: Any = (), Dfun: Any = None,
    full_output: Any = False, col_deriv: Any = False, ftol: Any = 1.49012e-8,
    xtol: Any = 1.49012e-8, gtol: Any = 0.0, maxfev: int = 0, epsfcn: Any = None,
    factor: Any = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """Solve a least-squares problem by MINPACK; as ``scipy.optimize.leastsq``.

    Examples
    --------
    >>> from symgrad.scipy.optimize import leastsq
    >>> leastsq(lambda x: 2.0 * (x - 3.0) ** 2 + x - 3.0, 0.0)[0]
    array([3.])
    """
    func, Dfun = _system("leastsq", func, Dfun, x0, args, col_deriv)
    return scipy.optimize.leastsq(func, x0, args, Dfun, full_output, col_deriv, ftol, xtol, gtol,
                                  maxfev, epsfcn, factor, diag)  # fmt: skip


@_on_numbers
def curve_fit(
    f: Callable[..., Any], xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None,
    absolute_sigma: bool = False, check_finite: Any = None,
    bounds: Any = (-np.inf, np.inf), method: Any = None, jac: Any = None, *,
    full_output: bool = False, nan_policy: Any = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """Fit a function to data; as ``scipy.optimize.curve_fit``.

    Parameters
    ----------
    f:
        ``f(xdata, *params)``.
    xdata, ydata, p0, sigma, absolute_sigma, ...:
        As SciPy's.
    jac:
        As SciPy's; left out, the exact Jacobian by the parameters.

    Returns
    -------
    popt, pcov, ...
        As SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.scipy.optimize import curve_fit
    >>> t = np.linspace(0.0, 4.0, 50)
    >>> popt, pcov = curve_fit(lambda t, a, b: a * np.exp(-b * t), t, 2.5 * np.exp(-1.3 * t))
    >>> popt
    array([2.5, 1.3])
    """
    model, slopes = f, jac
    last: list[tuple[Any, Derived]] = []

    def derived(data: Any) -> Derived:
        if not last or last[0][0] is not data:  # SciPy may leave points out
            last[:] = [(data, Derived("curve_fit", f, (data,), spread=True))]
        return last[0][1]

    x = _start(_first_parameters(f) if p0 is None else p0)
    if jac is None and x is not None and x.ndim == 1:
        data = _start(xdata) if isinstance(xdata, (list, tuple, np.ndarray)) else xdata
        fit = derived(data)
        if fit.starts(x, fit.values, fit.jacobian):
            model = functools.wraps(f)(lambda data, *params: derived(data).values(params))
            slopes = lambda data, *params: derived(data).jacobian(params)  # noqa: E731
    return scipy.optimize.curve_fit(
        model, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, slopes,
        full_output=full_output, nan_policy=nan_policy, **kwargs,
    )  # fmt: skip


def _first_parameters(f: Callable[..., Any]) -> Any:
    """Return ones for the parameters of a model, as SciPy counts them; None if it cannot."""
    try:
        known = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return None
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in known) - 1
    return np.ones(count) if count > 0 else None


# ---------------------------------------------------------------- roots


def _system(
    solver: str, func: Callable[..., Any], jac: Any, x0: Any, args: Any, by_columns: Any
) -> tuple[Any, Any]:
    """Return equations and their Jacobian, as MINPACK's solvers take them."""
    x = _start(x0)
    if jac is not None or x is None:
        return func, jac
    f = Derived(solver, func, _tuple(args))
    if not f.starts(x.ravel(), f.values, f.jacobian):
        return func, jac
    return f.values, (lambda *x: f.jacobian(*x).T) if by_columns else f.jacobian


@_on_numbers
def root(
    fun: Callable[..., Any], x0: Any, args: Any = (), method: Any = "hybr", jac: Any = None,
    tol: Any = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Find a root of a function of vectors; as ``scipy.optimize.root``.

    Parameters
    ----------
    fun, x0, args, method, tol, callback, options:
        As SciPy's.
    jac:
        As SciPy's; left out, the exact Jacobian for the methods ``"hybr"`` and ``"lm"``.

    Returns
    -------
    OptimizeResult
        SciPy's.

    Examples
    --------
    >>> from symgrad.scipy.optimize import root
    >>> root(lambda x: [x[0] + x[1] - 3.0, x[0] * x[1] - 2.0], [0.0, 5.0]).x
    array([1., 2.])
    """
    if isinstance(method, str) and method.lower() in ("hybr", "lm") and not jac:
        by_columns = (options or {}).get("col_deriv")
        fun, jac = _system("root", fun, None, x0, args, by_columns)
    return scipy.optimize.root(fun, x0, args, method, jac, tol, callback, options)


@_on_numbers
def fsolve(
    func: Callable[..., Any], x0: Any, args: Any = (), fprime: Any = None,
    full_output: Any = 0, col_deriv: Any = 0, xtol: Any = 1.49012e-8, maxfev: int = 0,
    band: Any = None, epsfcn: Any = None, factor: Any = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """Find a root of a function of vectors by MINPACK; as ``scipy.optimize.fsolve``.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.scipy.optimize import fsolve
    >>> fsolve(lambda x: np.cos(x) - x, 1.0)
    array([0.73908513])
    """
    func, fprime = _system("fsolve", func, fprime, x0, args, col_deriv)
    return scipy.optimize.fsolve(func, x0, args, fprime, full_output, col_deriv, xtol, maxfev,
                                 band, epsfcn, factor, diag)  # fmt: skip


@_on_numbers
def newton(
    func: Callable[..., Any], x0: Any, fprime: Any = None, args: Any = (), tol: Any = 1.48e-8,
    maxiter: int = 50, fprime2: Any = None, x1: Any = None, rtol: Any = 0.0,
    full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """Find a root of a function of a number, or of each element; as ``scipy.optimize.newton``.

    Parameters
    ----------
    func, x0, args, tol, maxiter, fprime2, rtol, full_output, disp:
        As SciPy's.
    fprime:
        As SciPy's; left out, the exact derivative.
    x1:
        As SciPy's: with it, and without ``fprime``, the secant method is what is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.scipy.optimize import newton
    >>> newton(lambda x, a: x**3 - a, np.array([1.0, 2.0]), args=(np.array([8.0, 27.0]),))
    array([2., 3.])
    """
    if fprime is None and x1 is None:
        fprime = _slope_of("newton", func, x0, args)[0]
    return scipy.optimize.newton(func, x0, fprime, args, tol, maxiter, fprime2, x1, rtol,
                                 full_output, disp)  # fmt: skip


@_on_numbers
def root_scalar(
    f: Callable[..., Any], args: Any = (), method: Any = None, bracket: Any = None,
    fprime: Any = None, fprime2: Any = None, x0: Any = None, x1: Any = None, xtol: Any = None,
    rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """Find a root of a function of a number; as ``scipy.optimize.root_scalar``.

    Parameters
    ----------
    f, args, method, bracket, x0, x1, xtol, rtol, maxiter, options:
        As SciPy's.
    fprime, fprime2:
        As SciPy's; left out, the exact derivatives for the methods ``"newton"`` and
        ``"halley"``.

    Examples
    --------
    >>> from symgrad.scipy.optimize import root_scalar
    >>> root_scalar(lambda x: x**3 - 8.0, x0=3.0, method="halley").converged
    True
    """
    name = method.lower() if isinstance(method, str) else ""
    if method is None and bracket is None and x1 is None:
        name = "newton"
    flags = isinstance(fprime, bool) or isinstance(fprime2, bool)  # f gives them itself
    if name in ("newton", "halley") and x0 is not None and not flags:
        slope, second = _slope_of("root_scalar", f, x0, args, fprime is None, name == "halley")
        fprime, fprime2 = fprime or slope, fprime2 or second
    return scipy.optimize.root_scalar(f, args, method, bracket, fprime, fprime2, x0, x1, xtol,
                                      rtol, maxiter, options)  # fmt: skip


def _slope_of(
    solver: str, func: Callable[..., Any], x0: Any, args: Any, first: bool = True,
    second: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the first and the second derivative of a function of each element by itself."""
    x = np.asarray(x0)
    if x.dtype.kind not in "fiu":
        return None, None
    f = Derived(solver, func, _tuple(args))
    asked = ([f.slope] if first else []) + ([f.second_slope] if second else [])
    if not f.starts(x, *asked):
        return None, None
    return f.slope if first else None, f.second_slope if second else None


def __getattr__(name: str) -> Any:
    return _names(name)


def __dir__() -> list[str]:
    return _names.names()

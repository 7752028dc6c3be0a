"""``scipy.optimize``'s roots, with the derivatives that a call leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from . import _fits_traced
from . import _roots_traced as traced
from ._derived import Derived, system
from ._given import as_tuple, solver

brentq, brenth, ridder, bisect = (
    solver(getattr(traced, name))(getattr(scipy.optimize, name))
    for name in ("brentq", "brenth", "ridder", "bisect")
)


@solver(_fits_traced.root)
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
    >>> root(lambda x: [x[0] + x[1] - 3.0, x[0] * x[1] - 2.0], [0.0, 5.0]).x
    array([1., 2.])
    """
    if isinstance(method, str) and method.lower() in ("hybr", "lm") and not jac:
        by_columns = (options or {}).get("col_deriv")
        fun, jac = system("root", fun, None, x0, args, by_columns)
    return scipy.optimize.root(fun, x0, args, method, jac, tol, callback, options)


@solver(_fits_traced.fsolve)
def fsolve(
    func: Callable[..., Any], x0: Any, args: Any = (), fprime: Any = None,
    full_output: Any = 0, col_deriv: Any = 0, xtol: Any = 1.49012e-8, maxfev: int = 0,
    band: Any = None, epsfcn: Any = None, factor: Any = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """Find a root of a function of vectors by MINPACK; as ``scipy.optimize.fsolve``.

    Examples
    --------
    >>> fsolve(lambda x: np.cos(x) - x, 1.0)
    array([0.73908513])
    """
    func, fprime = system("fsolve", func, fprime, x0, args, col_deriv)
    return scipy.optimize.fsolve(func, x0, args, fprime, full_output, col_deriv, xtol, maxfev,
                                 band, epsfcn, factor, diag)  # fmt: skip


@solver(traced.newton)
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
    >>> newton(lambda x, a: x**3 - a, np.array([1.0, 2.0]), args=(np.array([8.0, 27.0]),))
    array([2., 3.])
    """
    args = tuple(args) if isinstance(args, list) else args  # as here alone SciPy takes it
    if fprime is None and x1 is None:
        fprime = _slope_of("newton", func, x0, args)[0]
    return scipy.optimize.newton(func, x0, fprime, args, tol, maxiter, fprime2, x1, rtol,
                                 full_output, disp)  # fmt: skip


@solver(traced.root_scalar)
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
    f = Derived(solver, func, as_tuple(args))
    asked = ([f.slope] if first else []) + ([f.second_slope] if second else [])
    if not f.starts(x, *asked):
        return None, None
    return f.slope if first else None, f.second_slope if second else None

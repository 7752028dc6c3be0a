"""``scipy.optimize``'s least squares and roots, with the derivatives that a call leaves out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from . import _fits_traced, _roots_traced
from ._derived import Derived, system
from ._given import as_tuple, first_parameters, solver, start_of


@solver(_fits_traced.least_squares)
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
        As SciPy's; left out, the exact Jacobian: a sparse array with ``tr_solver="lsmr"`` or
        a ``jac_sparsity``, which need not be right then.

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
    >>> t = np.linspace(0.0, 1.0, 9)
    >>> least_squares(lambda p: p[0] * np.exp(-p[1] * t) - 2.0 * np.exp(-3.0 * t), [1.0, 1.0]).x
    array([2., 3.])
    """
    x = start_of(x0)
    if jac is None:
        jac = "2-point"
        if x is not None and x.ndim == 1:
            sparse = method != "lm" and (tr_solver == "lsmr" or jac_sparsity is not None)
            f = Derived("least_squares", fun, as_tuple(args), kwargs, sparse=sparse)
            if f.starts(x, f.values, f.jacobian):
                fun, jac = f.values, f.jacobian
    return scipy.optimize.least_squares(
        fun, x0, jac, bounds, method, ftol, xtol, gtol, x_scale, loss, f_scale, diff_step,
        tr_solver, tr_options, jac_sparsity, max_nfev, verbose, args, kwargs or {},
        callback=callback, workers=workers,
    )  # fmt: skip


@solver(_fits_traced.leastsq)
def leastsq(
    func: Callable[..., Any], x0: Any, args: Any = (), Dfun: Any = None,
    full_output: Any = False, col_deriv: Any = False, ftol: Any = 1.49012e-8,
    xtol: Any = 1.49012e-8, gtol: Any = 0.0, maxfev: int = 0, epsfcn: Any = None,
    factor: Any = 100, diag: Any = None,
) -> Any:  # fmt: skip
    """Solve a least-squares problem by MINPACK; as ``scipy.optimize.leastsq``.

    Examples
    --------
    >>> leastsq(lambda x: 2.0 * (x - 3.0) ** 2 + x - 3.0, 0.0)[0]
    array([3.])
    """
    func, Dfun = system("leastsq", func, Dfun, x0, args, col_deriv)
    return scipy.optimize.leastsq(func, x0, args, Dfun, full_output, col_deriv, ftol, xtol, gtol,
                                  maxfev, epsfcn, factor, diag)  # fmt: skip


@solver(_fits_traced.curve_fit)
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

    x = start_of(first_parameters(f) if p0 is None else p0)
    if jac is None and x is not None and x.ndim == 1:
        data = start_of(xdata) if isinstance(xdata, (list, tuple, np.ndarray)) else xdata
        fit = derived(data)
        if fit.starts(x, fit.values, fit.jacobian):
            model = functools.wraps(f)(lambda data, *params: derived(data).values(params))
            slopes = lambda data, *params: derived(data).jacobian(params)  # noqa: E731
    return scipy.optimize.curve_fit(
        model, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, slopes,
        full_output=full_output, nan_policy=nan_policy, **kwargs,
    )  # fmt: skip


brentq, brenth, ridder, bisect = (
    solver(getattr(_roots_traced, name))(getattr(scipy.optimize, name))
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


@solver(_roots_traced.newton)
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


@solver(_roots_traced.root_scalar)
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

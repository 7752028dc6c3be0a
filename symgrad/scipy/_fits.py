"""``scipy.optimize``'s least squares and roots, with the derivatives that a call leaves out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from . import _fits_traced, _roots_traced
from ._solver_arguments import as_tuple, first_parameters, solver, start_of, unless_traced
from ._user_functions import Derived, with_jacobian

#: The arguments of a call by SciPy's names, without those that it leaves out.
Given = dict[str, Any]


@solver(_fits_traced.least_squares)
def least_squares(given: Given) -> Any:
    """Solve a nonlinear least-squares problem; as ``scipy.optimize.least_squares``.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns the residuals, of shape (m,), real.
    x0 : array_like
        The first guess, of shape (n,), or a number.
    bounds, method, loss, args, ...:
        As SciPy's.
    jac : callable or str, optional
        As SciPy's; if it is left out, the exact Jacobian. With ``tr_solver="lsmr"`` or a
        ``jac_sparsity`` it is a sparse array, and the given pattern is not needed.

    Returns
    -------
    OptimizeResult
        With ``x`` (n,), ``cost`` (half the sum of squares), ``fun`` (m,), ``jac`` (m, n),
        ``grad``, ``optimality``, ``status`` and ``success``, as from SciPy.

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
    if given.get("jac") is None:
        given["jac"] = "2-point"
        x = start_of(given["x0"])
        if x is not None and x.ndim == 1:
            sparse = given.get("tr_solver") == "lsmr" or given.get("jac_sparsity") is not None
            f = Derived(
                "least_squares", given["fun"], as_tuple(given.get("args", ())),
                given.get("kwargs"), sparse=sparse and given.get("method") != "lm",
            )  # fmt: skip
            if f.starts(x, f.values, f.jacobian):
                given |= {"fun": f.values, "jac": f.jacobian}
    return scipy.optimize.least_squares(**given)


@solver(_fits_traced.leastsq)
def leastsq(given: Given) -> Any:
    """Solve a least-squares problem by MINPACK; as ``scipy.optimize.leastsq``.

    Examples
    --------
    >>> leastsq(lambda x: 2.0 * (x - 3.0) ** 2 + x - 3.0, 0.0)[0]
    array([3.])
    """
    return scipy.optimize.leastsq(**with_jacobian("leastsq", "func", "Dfun", given))


@solver(_fits_traced.curve_fit)
def curve_fit(given: Given) -> Any:
    """Fit a function to data; as ``scipy.optimize.curve_fit``.

    Parameters
    ----------
    f : callable
        ``f(xdata, *params)`` returns the model's values, of the shape of ``ydata``.
    xdata : array_like or any
        Where the data were taken; it is passed to ``f`` as it is.
    ydata : array_like
        The data, of shape (m,).
    p0 : array_like, optional
        The first guess, of shape (n,); 1 for each parameter if it is left out.
    sigma : array_like, optional
        The standard errors of the data, of shape (m,), in the unit of ``ydata``, or their
        covariance, of shape (m, m).
    absolute_sigma : bool
        Whether ``sigma`` has its unit. If not, ``pcov`` is scaled so that the reduced chi-square
        is 1.
    bounds, method, full_output, check_finite, nan_policy, ...:
        As SciPy's.
    jac : callable or str, optional
        As SciPy's; if it is left out, the exact Jacobian with respect to the parameters.

    Returns
    -------
    popt : ndarray
        The parameters with the least sum of squares, of shape (n,).
    pcov : ndarray
        Their covariance, of shape (n, n); the roots of its diagonal are the standard errors.
        With ``full_output`` three further values follow, as from SciPy.

    Raises
    ------
    ValueError, RuntimeError
        As SciPy does, for arguments that do not fit together and if the fit does not converge.
        In traced code a fit that does not converge has nan.

    Notes
    -----
    In traced code this is Levenberg and Marquardt's method, and derivatives of ``popt`` with
    respect to the data are those of the implicit function.

    Examples
    --------
    >>> t = np.linspace(0.0, 4.0, 50)
    >>> popt, pcov = curve_fit(lambda t, a, b: a * np.exp(-b * t), t, 2.5 * np.exp(-1.3 * t))
    >>> popt
    array([2.5, 1.3])
    """
    f, xdata, p0 = given["f"], given["xdata"], given.get("p0")
    last: list[tuple[Any, Derived]] = []

    def derived(data: Any) -> Derived:
        if not last or last[0][0] is not data:  # SciPy may leave points out
            last[:] = [(data, Derived("curve_fit", f, (data,), spread=True))]
        return last[0][1]

    x = start_of(first_parameters(f) if p0 is None else p0)
    if given.get("jac") is None and x is not None and x.ndim == 1:
        data = start_of(xdata) if isinstance(xdata, (list, tuple, np.ndarray)) else xdata
        fit = derived(data)
        # One value for all points is subtracted from each, but a Jacobian of one row is refused.
        if fit.starts(x, fit.values, fit.jacobian) and np.size(fit.values(x)) > 1:
            given["f"] = functools.wraps(f)(lambda data, *params: derived(data).values(params))
            given["jac"] = lambda data, *params: derived(data).jacobian(params)
            if given.get("sigma") is not None:  # one number, too: SciPy takes it without a `jac`
                given["sigma"] = np.atleast_1d(given["sigma"])
    return scipy.optimize.curve_fit(**given)


brentq, brenth, ridder, bisect = (
    unless_traced(getattr(scipy.optimize, name), getattr(_roots_traced, name))
    for name in ("brentq", "brenth", "ridder", "bisect")
)


@solver(_fits_traced.root)
def root(given: Given) -> Any:
    """Find a root of a function of vectors; as ``scipy.optimize.root``.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns as many values as ``x`` has, of shape (n,).
    x0 : array_like
        The first guess, of shape (n,).
    args, method, tol, callback, options:
        As SciPy's.
    jac : callable or bool, optional
        As SciPy's; if it is left out, the exact Jacobian for the methods ``"hybr"`` and
        ``"lm"``.

    Returns
    -------
    OptimizeResult
        With ``x`` (n,), ``fun`` (n,), ``success`` and ``message``, as from SciPy.

    Raises
    ------
    ValueError, TypeError
        As SciPy does.

    Notes
    -----
    In traced code the derivatives of ``x`` are those of the implicit function.

    Examples
    --------
    >>> root(lambda x: [x[0] + x[1] - 3.0, x[0] * x[1] - 2.0], [0.0, 5.0]).x
    array([1., 2.])
    """
    method = given.get("method", "hybr")
    if isinstance(method, str) and method.lower() in ("hybr", "lm") and not given.get("jac"):
        given["jac"] = None
        by_columns = (given.get("options") or {}).get("col_deriv")
        given = with_jacobian("root", "fun", "jac", given, by_columns)
    return scipy.optimize.root(**given)


@solver(_fits_traced.fsolve)
def fsolve(given: Given) -> Any:
    """Find a root of a function of vectors by MINPACK; as ``scipy.optimize.fsolve``.

    Examples
    --------
    >>> fsolve(lambda x: np.cos(x) - x, 1.0)
    array([0.73908513])
    """
    return scipy.optimize.fsolve(**with_jacobian("fsolve", "func", "fprime", given))


@solver(_roots_traced.newton)
def newton(given: Given) -> Any:
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
    args = given.get("args", ())
    if isinstance(args, list):  # as here alone SciPy takes it
        given["args"] = args = tuple(args)
    if given.get("fprime") is None and given.get("x1") is None:
        given["fprime"] = _slope_of("newton", given["func"], given["x0"], args)[0]
    return scipy.optimize.newton(**given)


@solver(_roots_traced.root_scalar)
def root_scalar(given: Given) -> Any:
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
    method, x0 = given.get("method"), given.get("x0")
    name = method.lower() if isinstance(method, str) else ""
    if method is None and given.get("bracket") is None and given.get("x1") is None:
        name = "newton"
    first, second = given.get("fprime"), given.get("fprime2")
    flags = isinstance(first, bool) or isinstance(second, bool)  # f gives them itself
    if name in ("newton", "halley") and x0 is not None and not flags:
        slopes = _slope_of("root_scalar", given["f"], x0, given.get("args", ()), first is None,
                           name == "halley")  # fmt: skip
        given["fprime"], given["fprime2"] = first or slopes[0], second or slopes[1]
    return scipy.optimize.root_scalar(**given)


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

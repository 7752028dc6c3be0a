"""``scipy.optimize``'s least squares, with the Jacobians that a call leaves out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from . import _fits_traced as traced
from ._derived import Derived, system
from ._given import as_tuple, first_parameters, solver, start_of


@solver(traced.least_squares)
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


@solver(traced.leastsq)
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


@solver(traced.curve_fit)
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

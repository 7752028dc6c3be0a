"""The modified Bessel functions K of orders 0 and 1, with derivatives that keep their digits.

``k0e(x) - k1e(x)`` is ``1/(2*x)`` of its terms for large x. The integral that is meant has a
positive integrand, and the trapezoidal rule converges on it as fast as on a Gaussian.

Source: NIST Digital Library of Mathematical Functions, 10.31, 10.32.9, 10.40 and 3.5;
L. N. Trefethen, J. A. C. Weideman, The exponentially convergent trapezoidal rule, SIAM Review 56,
2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import HIGHEST, Evidence, Op, Positive, Words
from .._core.ops.pairs import two_product, two_sum
from .tables import (
    I0_NEAR,
    I1_NEAR,
    K0_NEAR,
    K0E1_FAR,
    K0E1_LOW,
    K0E1_MIDDLE,
    K0E2_FAR,
    K0E2_LOW,
    K0E2_MIDDLE,
    K0E3_FAR,
    K0E3_LOW,
    K0E3_MIDDLE,
    K0E_FAR,
    K0E_MIDDLE,
    K1_NEAR,
    K1E_FAR,
    K1E_MIDDLE,
    tabulated,
)
from .taylor import SERIES, form_of_order, series_quotient, series_root, series_sum


def k0_near(x: Any, fit: Any) -> Any:
    """``k0(x)`` for x < 1, as a pair."""
    w = x * x
    high, low = two_product(-np.log(np.maximum(np.fabs(x), 5e-324)), fit(w, I0_NEAR))
    total, lost = two_sum(high, fit(w, K0_NEAR))
    return np.where(x == 0, math.inf, total), lost + low


def k1_near(x: Any, fit: Any) -> Any:
    """``k1(x)`` for x < 1. At 0 the logarithm, whose factor is 0, is any number."""
    w = x * x
    logarithmic = np.log(np.maximum(x, 5e-324)) * (x * fit(w, I1_NEAR))
    return fit(w, K1_NEAR) / np.fabs(x) + logarithmic


def scaled_beyond(x: Any, fit: Any, middle: Any, far: Any) -> Any:
    """``exp(x)*K(x)`` for x > 1, by its tables."""
    right = np.maximum(x, 8.0)
    return np.where(x > 8.0, fit(1.0 / right, far) / np.sqrt(right), fit(x, middle))


def decay_chosen(x: Any, near: Any, beyond: Any) -> Any:
    """Choose by x; nan for what is negative."""
    return np.where(x < 0, math.nan, np.where(x > 1.0, beyond, near))


def k0(x: Any, fit: Any) -> Any:
    """Modified Bessel function of the second kind, of order 0."""
    beyond = scaled_beyond(x, fit, K0E_MIDDLE, K0E_FAR) * np.exp(-np.maximum(x, 1.0))
    high, low = k0_near(x, fit)
    return decay_chosen(x, high + low, beyond)


def k1(x: Any, fit: Any) -> Any:
    """Modified Bessel function of the second kind, of order 1."""
    beyond = scaled_beyond(x, fit, K1E_MIDDLE, K1E_FAR) * np.exp(-np.maximum(x, 1.0))
    return decay_chosen(x, k1_near(x, fit), beyond)


def k0e(x: Any, fit: Any) -> Any:
    """``exp(x)*k0(x)``."""
    power, (high, low) = np.exp(np.minimum(x, 1.0)), k0_near(x, fit)
    near = power * high + power * low
    return decay_chosen(x, near, scaled_beyond(x, fit, K0E_MIDDLE, K0E_FAR))


def k1e(x: Any, fit: Any) -> Any:
    """``exp(x)*k1(x)``."""
    near = np.exp(np.minimum(x, 1.0)) * k1_near(x, fit)
    return decay_chosen(x, near, scaled_beyond(x, fit, K1E_MIDDLE, K1E_FAR))


# ---------------------------------------------------------------- derivatives


def decay_near(x: Any, fit: Any, order: int) -> Any:
    """Taylor coefficient of ``k0e(x) - k1e(x)`` for x < 0.3, by the differential equations.

    k0e' = k0e - k1e and k1e' = k1e - k0e - k1e/x: the term that is largest has no equal.
    """
    f, g = [k0e(x, fit)], [k1e(x, fit)]
    for k in range(order):
        over = series_quotient(g, [x, 1.0], k + 1)[k]
        step = (f[k] - g[k]) / (k + 1)
        g.append((g[k] - f[k] - over) / (k + 1))
        f.append(step)
    return f[order] - g[order]


def decay_far(x: Any, order: int) -> Any:
    """Taylor coefficient of ``k0e(x) - k1e(x)`` for x > 0.3.

    The integral of exp(-w*w)*w*w*(-2/x)/sqrt(2*x + w*w), w from 0 on, with steps of 3/32.
    """
    count = order + 1
    total: Any = [0.0 * x]
    for k in range(1, 67):
        square = (0.09375 * k) ** 2
        root = series_root([2.0 * x + square, 2.0], count)
        total = series_sum(total, series_quotient([square * math.exp(-square)], root, count))
    return -0.1875 * series_quotient(total, [x, 1.0], count)[order]


def decay_by_tables(x: Any, fit: Any, order: int) -> Any:
    """A derivative of k0e, of order 1 to 3, for x > 0.25."""
    low, middle, far = (
        (K0E1_LOW, K0E1_MIDDLE, K0E1_FAR),
        (K0E2_LOW, K0E2_MIDDLE, K0E2_FAR),
        (K0E3_LOW, K0E3_MIDDLE, K0E3_FAR),
    )[order - 1]
    u = 1.0 / np.maximum(x, 8.0)
    beyond = fit(u, far) * np.sqrt(u)
    for _ in range(order):
        beyond = beyond * u
    return np.where(x > 8.0, beyond, np.where(x > 1.0, fit(x, middle), fit(x, low)))


def k0e_slope(x: Any, fit: Any, order: int = 0) -> Any:
    """``k0e(x) - k1e(x)``, the derivative of k0e, or a derivative of it."""
    edge = 0.25 if order < 3 else 0.3
    near = math.factorial(order) * decay_near(np.minimum(x, edge), fit, order)
    if order < 3:
        return np.where(x > edge, decay_by_tables(x, fit, order + 1), near)
    return np.where(x > edge, math.factorial(order) * decay_far(np.maximum(x, edge), order), near)


def _form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return sp.exp(x) * (sp.besselk(0, x) - sp.besselk(1, x))

    return form_of_order(plain, x, order)


K0E_SLOPE: Op = tabulated(
    "K0eSlope", k0e_slope, (Positive,), _form,
    lambda y, x, order=0: (K0E_SLOPE(x, order=order + 1),), Evidence(samples=(0.2, 1.8), ulp=8.0),
    Words("The derivative of k0e; a derivative of it."), helpers=SERIES, orders=HIGHEST,
)  # fmt: skip


def _decay(ufunc: np.ufunc, formula: Any, slope: Callable[..., Any]) -> Op:
    name, order = ufunc.__name__, int(ufunc.__name__[1])
    scale: Callable[..., Any] = sp.exp if name[2:] else lambda x: 1
    return tabulated(
        name.capitalize(), formula, (Positive,), lambda x: scale(x) * sp.besselk(order, x), slope,
        Evidence(samples=(0.2, 1.8), ulp=8.0), functions=(ufunc,),
    )  # fmt: skip


K0 = _decay(sc.k0, k0, lambda y, x: (-K1(x),))
K1: Op = _decay(sc.k1, k1, lambda y, x: (-(K0(x) + y / x),))
K0E = _decay(sc.k0e, k0e, lambda y, x: (K0E_SLOPE(x),))
K1E = _decay(sc.k1e, k1e, lambda y, x: (K0E_SLOPE(x) - K0E_SLOPE(x, order=1),))

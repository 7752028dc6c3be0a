"""Derivatives of ``exp(x)*K(x)``, for the modified Bessel functions K that decay.

``k0e(x) - k1e(x)`` is ``1/(2*x)`` of its terms for large x. The integral that is meant has a
positive integrand, and the trapezoidal rule converges on it as fast as on a Gaussian.

Source: NIST Digital Library of Mathematical Functions, 10.32.9 and 3.5; L. N. Trefethen,
J. A. C. Weideman, The exponentially convergent trapezoidal rule, SIAM Review 56, 2014.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc
import sympy as sp

from .._op import HIGHEST, Composed, Op, Positive, define
from .taylor import SERIES, form_of_order, series_quotient, series_root, series_sum


def decay_near(x: Any, order: int) -> Any:
    """Taylor coefficient of ``k0e(x) - k1e(x)`` for x < 0.3, by the differential equations.

    k0e' = k0e - k1e and k1e' = k1e - k0e - k1e/x: the term that is largest has no equal.
    """
    f, g = [sc.k0e(x)], [sc.k1e(x)]
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


def k0e_slope(x: Any, order: int = 0) -> Any:
    """``k0e(x) - k1e(x)``, the derivative of k0e, or a derivative of it."""
    near = decay_near(np.minimum(x, 0.3), order)
    far = decay_far(np.maximum(x, 0.3), order)
    return math.factorial(order) * np.where(x > 0.3, far, near)


def _form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return sp.exp(x) * (sp.besselk(0, x) - sp.besselk(1, x))

    return form_of_order(plain, x, order)


K0E_SLOPE: Op = define(
    name="K0eSlope", doc="The derivative of k0e; a derivative of it.", evaluate=k0e_slope,
    sympy=_form, partials=lambda y, x, order=0: (K0E_SLOPE(x, order=order + 1),),
    lower=Composed(k0e_slope), domain=(Positive,), samples=(0.2, 1.8), ulp=8.0, orders=HIGHEST,
    source=lambda x, order=0: f"k0e_slope({x}, {order})", helpers=(*SERIES, k0e_slope),
)  # fmt: skip

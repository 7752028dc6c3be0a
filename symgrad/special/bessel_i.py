"""The modified Bessel functions I of orders 0 to 2, which grow, and the same scaled.

``i1e(x) - i0e(x)`` is ``1/(2*x)`` of its terms for large x, and each further derivative loses as
much again, so the derivatives of i0e are a family of their own. They are means of
``(-t)**n*exp(-x*t)`` over the angles of which t is 1 - cos.

Source: NIST Digital Library of Mathematical Functions, 10.29, 10.32.1 and 10.40.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import HIGHEST, Evidence, Op, Positive, Words
from .tables import (
    I0_MIDDLE,
    I0E1_FAR,
    I0E1_MIDDLE,
    I0E2_FAR,
    I0E2_MIDDLE,
    I0E3_FAR,
    I0E3_MIDDLE,
    I0E_FAR,
    I1_MIDDLE,
    I1E1_FAR,
    I1E1_MIDDLE,
    I1E2_FAR,
    I1E2_MIDDLE,
    I1E3_FAR,
    I1E3_MIDDLE,
    I1E_FAR,
    I1E_MIDDLE,
    I2_MIDDLE,
    I2E_FAR,
    tabulated,
)
from .taylor import form_of_order


def scaled_far(a: Any, fit: Any, far: Any) -> Any:
    """``exp(-a)*I(a)`` for a > 8."""
    right = np.maximum(a, 8.0)
    return fit(1.0 / right, far) / np.sqrt(right)


def i0(x: Any, fit: Any) -> Any:
    """Modified Bessel function of the first kind, of order 0."""
    a = np.fabs(x)
    half = np.exp(0.5 * np.maximum(a, 8.0))  # the whole overflows where the result does not
    return np.where(a > 8.0, half * scaled_far(a, fit, I0E_FAR) * half, fit(a, I0_MIDDLE))


def i1(x: Any, fit: Any) -> Any:
    """Modified Bessel function of the first kind, of order 1."""
    a = np.fabs(x)
    half = np.exp(0.5 * np.maximum(a, 8.0))
    beyond = np.copysign(half, x) * scaled_far(a, fit, I1E_FAR) * half
    return np.where(a > 8.0, beyond, x * fit(a, I1_MIDDLE))


def i2(x: Any, fit: Any) -> Any:
    """Modified Bessel function of the first kind, of order 2."""
    a = np.fabs(x)
    half = np.exp(0.5 * np.maximum(a, 8.0))
    return np.where(a > 8.0, half * scaled_far(a, fit, I2E_FAR) * half, x * x * fit(a, I2_MIDDLE))


def i0e(x: Any, fit: Any) -> Any:
    """``exp(-abs(x))*i0(x)``."""
    a = np.fabs(x)
    near = np.exp(-np.minimum(a, 8.0)) * fit(a, I0_MIDDLE)
    return np.where(a > 8.0, scaled_far(a, fit, I0E_FAR), near)


def i1e(x: Any, fit: Any) -> Any:
    """``exp(-abs(x))*i1(x)``."""
    a = np.fabs(x)
    beyond = np.copysign(1.0, x) * scaled_far(a, fit, I1E_FAR)
    return np.where(a > 8.0, beyond, x * fit(a, I1E_MIDDLE))


# ---------------------------------------------------------------- derivatives


def mean_by_tables(x: Any, fit: Any, n: int, k: int = 0) -> Any:
    """Derivative n, 1 to 3, of i0e, or of i1e (k = 1), for positive x."""
    middle, far = (
        ((I0E1_MIDDLE, I0E1_FAR), (I0E2_MIDDLE, I0E2_FAR), (I0E3_MIDDLE, I0E3_FAR)),
        ((I1E1_MIDDLE, I1E1_FAR), (I1E2_MIDDLE, I1E2_FAR), (I1E3_MIDDLE, I1E3_FAR)),
    )[k][n - 1]
    beyond = scaled_far(x, fit, far)
    for _ in range(n):
        beyond = beyond / np.maximum(x, 8.0)
    return np.where(x > 8.0, beyond, fit(x, middle))


def mean_by_sums(x: Any, n: int) -> Any:
    """Derivative n of i0e for positive x: by 40 angles, and from 30 on its asymptotic series."""
    near, u = np.minimum(x, 30.0), 1.0 / np.maximum(x, 30.0)
    mean, series = 0.0 * near, 0.0 * u
    for j in range(40):
        t = 1.0 - math.cos(math.pi * (j + 0.5) / 40)
        mean = mean + t**n / 40 * np.exp(-t * near)
    for j in range(28, -1, -1):
        odd = math.factorial(2 * j) / (2.0**j * math.factorial(j))
        rising = math.prod(j + 0.5 + i for i in range(n))
        series = series * u + odd * odd / (8.0**j * math.factorial(j)) * rising
    for _ in range(n):
        series = series * u
    far = series * np.sqrt(u) * (1 / math.sqrt(2 * math.pi))
    return (-1.0) ** n * np.where(x > 30.0, far, mean)


def i0e_slope(x: Any, fit: Any, order: int = 0) -> Any:
    """``i1e(x) - i0e(x)``, the derivative of i0e for positive x, or a derivative of it."""
    return mean_by_tables(x, fit, order + 1) if order < 3 else mean_by_sums(x, order + 1)


def i1e_slope(x: Any, fit: Any, order: int = 0) -> Any:
    """The derivative of i1e for positive x, or a derivative of it; i1e itself is i0e + i0e'."""
    if order < 3:
        return mean_by_tables(x, fit, order + 1, 1)
    return mean_by_sums(x, order + 1) + mean_by_sums(x, order + 2)


def _form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return sp.exp(-x) * (sp.besseli(1, x) - sp.besseli(0, x))

    return form_of_order(plain, x, order)


I0E_SLOPE: Op = tabulated(
    "I0eSlope", i0e_slope, (Positive,), _form,
    lambda y, x, order=0: (I0E_SLOPE(x, order=order + 1),), Evidence(samples=(0.2, 1.8), ulp=8.0),
    Words("The derivative of i0e for x > 0; a derivative of it."), orders=HIGHEST,
)  # fmt: skip


def _form_of_one(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return sp.exp(-x) * (sp.besseli(0, x) - (1 + 1 / x) * sp.besseli(1, x))

    return form_of_order(plain, x, order)


I1E_SLOPE: Op = tabulated(
    "I1eSlope", i1e_slope, (Positive,), _form_of_one,
    lambda y, x, order=0: (I1E_SLOPE(x, order=order + 1),),
    Evidence(samples=(0.2, 1.8),
        # it is 0 at 1.55
        ulp=512.0),
    Words("The derivative of i1e for x > 0; a derivative of it."), orders=HIGHEST,
)  # fmt: skip


def _growing(ufunc: np.ufunc, formula: Any, slope: Callable[..., Any], *more: Any) -> Op:
    name, order = ufunc.__name__, int(ufunc.__name__[1])
    scale: Callable[..., Any] = (lambda x: sp.exp(-sp.Abs(x))) if name[2:] else lambda x: 1
    return tabulated(
        name.capitalize(), formula, (Positive,), lambda x: scale(x) * sp.besseli(order, x), slope,
        Evidence(samples=(0.2, 1.8), ulp=8.0), functions=(ufunc, *more),
    )  # fmt: skip


I0 = _growing(sc.i0, i0, lambda y, x: (I1(x),), np.i0)
I1: Op = _growing(sc.i1, i1, lambda y, x: (0.5 * (I0(x) + I2(x)),))
I2: Op = tabulated(
    "BesselI2", i2, (Positive,), lambda x: sp.besseli(2, x),
    lambda y, x: (0.5 * (I1(x) + sc.iv(3.0, x)),), Evidence(samples=(0.2, 1.8), ulp=8.0),
    Words("Modified Bessel function of order 2."),
)  # fmt: skip
I0E = _growing(sc.i0e, i0e, lambda y, x: (np.sign(x) * I0E_SLOPE(np.fabs(x)),))
I1E = _growing(sc.i1e, i1e, lambda y, x: (I1E_SLOPE(np.fabs(x)),))

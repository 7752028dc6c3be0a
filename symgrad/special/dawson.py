"""Dawson's integral, and the family of its derivatives.

The textbook's ``1 - 2*x*dawsn(x)`` is the difference of nearly equal numbers for large x, and each
higher derivative is one more. So every part of the axis has its own way: the power series, tables,
and the asymptotic series, whose terms have one sign.

Source: NIST Digital Library of Mathematical Functions, 7.5, 7.6 and 7.12.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import HIGHEST, Op, Real, define
from .._ops.pairs import two_product
from .fitted import fitted_fields
from .tables import (
    DAWSN1_MIDDLE,
    DAWSN2_MIDDLE,
    DAWSN3_MIDDLE,
    DAWSN_FAR,
    DAWSN_MIDDLE,
    ERFI_NEAR,
)  # fmt: skip
from .taylor import form_of_order


def dawsn(x: Any, fit: Any) -> Any:
    """Dawson's integral: x times a table; far out 1/x times one."""
    a = np.fabs(x)
    u = 1.0 / np.maximum(x * x, 64.0)
    return np.where(a > 8.0, fit(u, DAWSN_FAR) / x, x * fit(a, DAWSN_MIDDLE))


def erfi(x: Any, fit: Any) -> Any:
    """The imaginary error function: x times a table; beyond 1 by Dawson's integral."""
    a = np.fabs(x)
    near, far = np.minimum(a, 1.0), np.minimum(np.maximum(a, 1.0), 30.0)
    below = np.minimum(far, 26.0)
    square, low = two_product(below, below)
    scaled = 1.1283791670955126 * dawsn(far, fit)  # 2/sqrt(pi)
    # The whole exponential overflows where the result does not; else the last one is 1.
    grown = np.exp(square) * (scaled + scaled * low) * np.exp((a - below) * (a + below))
    return np.where(a > 1.0, np.copysign(grown, x), x * fit(near * near, ERFI_NEAR))


def dawson_near(x: Any, n: int) -> Any:
    """Derivative n for |x| < 0.5: that of the power series."""
    powers = range((n + 1) % 2 + n, 33 + n, 2)
    total = 0.0 * x
    for p in reversed(powers):
        fall = math.perm(p, n) * math.factorial(p // 2) / math.factorial(p)
        total = total * (x * x) + (-4.0) ** (p // 2) * fall
    return total * x if n % 2 == 0 else total


def dawson_middle(x: Any, n: int, fit: Any) -> Any:
    """Derivative n for x from 0.5 to 8: beyond the third by the differential equation."""
    tables = (DAWSN1_MIDDLE, DAWSN2_MIDDLE, DAWSN3_MIDDLE)
    if n <= 3:
        return fit(x, tables[n - 1])
    before, here = fit(x, DAWSN2_MIDDLE), fit(x, DAWSN3_MIDDLE)
    for k in range(3, n):
        before, here = here, -2.0 * (x * here + k * before)
    return here


def dawson_far(x: Any, n: int) -> Any:
    """Derivative n for x > 8: that of the asymptotic series."""
    u = 1.0 / x
    total, square = 0.0 * x, u * u
    for k in reversed(range(28)):
        odd = math.factorial(2 * k) / (2.0**k * math.factorial(k)) / 2.0 ** (k + 1)
        total = total * square + odd * math.perm(2 * k + n, n)
    for _ in range(n + 1):
        total = total * u
    return total if n % 2 == 0 else -total


def dawsn_slope(x: Any, fit: Any, order: int = 0) -> Any:
    """The derivative of dawsn, or a derivative of it."""
    n, a = order + 1, np.fabs(x)
    far = dawson_far(np.maximum(a, 8.0), n)
    beyond = np.where(a > 8.0, far, dawson_middle(a, n, fit))
    beyond = np.where(x < 0, -beyond, beyond) if n % 2 == 0 else beyond
    return np.where(a < 0.5, dawson_near(np.where(a < 0.5, x, 0.5), n), beyond)


def _form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return 1 - sp.sqrt(sp.pi) * x * sp.exp(-(x**2)) * sp.erfi(x)

    return form_of_order(plain, x, order)


DAWSN_SLOPE: Op = define(
    name="DawsnSlope", doc="The derivative of dawsn; a derivative of it.", sympy=_form,
    partials=lambda y, x, order=0: (DAWSN_SLOPE(x, order=order + 1),),
    domain=(Real,), samples=(-3, 3), ulp=32.0,  # it is 0 at 0.92
    orders=HIGHEST, **fitted_fields(dawsn_slope),
)  # fmt: skip
DAWSN: Op = define(
    sc.dawsn, name="Dawsn", sympy=lambda x: sp.sqrt(sp.pi) / 2 * sp.exp(-(x**2)) * sp.erfi(x),
    partials=lambda y, x: (DAWSN_SLOPE(x),), domain=(Real,), samples=(-3, 3), ulp=8.0,
    **fitted_fields(dawsn, sc.dawsn),
)  # fmt: skip

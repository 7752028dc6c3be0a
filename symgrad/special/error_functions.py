"""The error function and its relatives: erfcx, Dawson's integral, erfi.

The textbook's derivatives ``2*x*erfcx(x) - 2/sqrt(pi)`` and ``1 - 2*x*dawsn(x)`` are differences of
nearly equal numbers for large x, and each higher derivative is one more. So they are families of
their own, and every part of the axis has its own way. For erfcx: to the left of -1, where the
function grows like exp(x*x), terms of one sign; to the right of 8 a function of 1/x**2. For
Dawson's integral: the power series, tables, and the asymptotic series, whose terms have one sign.

Source: NIST Digital Library of Mathematical Functions, 7.5, 7.6, 7.10 and 7.12.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import (
    HIGHEST,
    Code,
    Composed,
    Cython,
    Evidence,
    Libm,
    Map,
    Op,
    Partials,
    Real,
    Words,
    define,
)
from .._core.ops.pairs import two_product
from . import complex_parts
from .normal import bell, hazard_excess
from .records import UNARY
from .tables import (
    DAWSN1_MIDDLE,
    DAWSN2_MIDDLE,
    DAWSN3_MIDDLE,
    DAWSN_FAR,
    DAWSN_MIDDLE,
    ERFCX1_FAR,
    ERFCX1_MIDDLE,
    ERFCX2_FAR,
    ERFCX2_MIDDLE,
    ERFCX3_FAR,
    ERFCX3_MIDDLE,
    ERFCX_FAR,
    ERFCX_MIDDLE,
    ERFI_NEAR,
    tabulated,
)
from .taylor import SERIES, form_of_order, series_product

ROOT_PI = 1.772453850905516  # math.sqrt(math.pi) is off by one unit

BELL = define(
    Map("Bell", evaluate=lambda x: bell(x, 1.0), domain=UNARY, sympy=lambda x: sp.exp(-(x**2)),
        rule=Partials(lambda y, x: (-2 * x * y,))),
    Code(Composed(lambda x: bell(x, 1.0), "bell"), source=lambda x: f"bell({x}, 1.0)",
        helpers=(bell,)),
    Evidence(samples=(-3, 3), ulp=6.0),
    Words("exp(-x*x), accurate in the tails."),
)  # fmt: skip
ERF = define(
    Map("Erf", functions=(sc.erf,), domain=UNARY, sympy=sp.erf,
        rule=Partials(lambda y, x: ((2 / ROOT_PI) * BELL(x),)), parts=complex_parts.erf),
    Code(Libm("erf")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
ERFC = define(
    Map("Erfc", functions=(sc.erfc,), domain=UNARY, sympy=sp.erfc,
        rule=Partials(lambda y, x: ((-2 / ROOT_PI) * BELL(x),)), parts=complex_parts.erfc),
    Code(Libm("erfc")),
    Evidence(samples=(-3, 3), ulp=8.0),
)  # fmt: skip
ERFINV = define(
    Map("Erfinv", functions=(sc.erfinv,), domain=(sp.Interval.open(-1, 1),), sympy=sp.erfinv,
        rule=Partials(lambda y, x: (ROOT_PI / 2 / BELL(y),))),
    Code(Cython("erfinv")),
    Evidence(samples=(-0.9, 0.9)),
)  # fmt: skip


# ---------------------------------------------------------------- scaled complement


def erfcx(x: Any, fit: Any) -> Any:
    """``exp(x*x)*erfc(x)``."""
    left, right = np.minimum(x, -1.0), np.maximum(x, 8.0)
    u = 1.0 / right
    far, middle = u * fit(u * u, ERFCX_FAR), fit(x, ERFCX_MIDDLE)
    grown = 2.0 * bell(left, -1.0) - fit(-left, ERFCX_MIDDLE)
    return np.where(x < -1.0, grown, np.where(x > 8.0, far, middle))


def erfcx_left(x: Any, n: int, fit: Any) -> Any:
    """Derivative n for x < -1, by the differential equation, whose terms have one sign."""
    before, here = 0.0 * x, erfcx(x, fit)
    for k in range(n):
        more = 2.0 * k * before if k else -1.1283791670955126
        before, here = here, 2.0 * x * here + more
    return here


def erfcx_right(x: Any, n: int, fit: Any) -> Any:
    """Derivative n for x > -1: beyond the third by ``erfcx' = -sqrt(2)*erfcx*e(sqrt(2)*x)``.

    All Taylor coefficients of erfcx and of the excess e of the normal hazard alternate in sign.
    """
    if n > 3:
        root, at = math.sqrt(2.0), math.sqrt(2.0) * x
        excess = [hazard_excess(at, fit, k) * (root**k / math.factorial(k)) for k in range(n)]
        series = [erfcx(x, fit)]
        for k in range(n):
            series.append(series_product(series, excess, k + 1)[k] * (-root / (k + 1)))
        return math.factorial(n) * series[n]
    middle, far = (
        (ERFCX1_MIDDLE, ERFCX1_FAR),
        (ERFCX2_MIDDLE, ERFCX2_FAR),
        (ERFCX3_MIDDLE, ERFCX3_FAR),
    )[n - 1]
    u = 1.0 / np.maximum(x, 8.0)
    beyond = fit(u * u, far)
    for _ in range(n + 1):
        beyond = beyond * u
    return np.where(x > 8.0, beyond, fit(x, middle))


def erfcx_slope(x: Any, fit: Any, order: int = 0) -> Any:
    """The derivative of erfcx, or a derivative of it."""
    left = erfcx_left(np.minimum(x, -1.0), order + 1, fit)
    return np.where(x < -1.0, left, erfcx_right(np.maximum(x, -1.0), order + 1, fit))


def _erfcx_form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return 2 * x * sp.exp(x**2) * sp.erfc(x) - 2 / sp.sqrt(sp.pi)

    return form_of_order(plain, x, order)


ERFCX_SLOPE: Op = tabulated(
    "ErfcxSlope", erfcx_slope, (Real,), _erfcx_form,
    lambda y, x, order=0: (ERFCX_SLOPE(x, order=order + 1),), Evidence(samples=(-3, 3), ulp=32.0),
    Words("The derivative of erfcx; a derivative of it."), helpers=(*SERIES, bell, hazard_excess),
    orders=HIGHEST,
)  # fmt: skip
ERFCX: Op = tabulated(
    "Erfcx", erfcx, (Real,), lambda x: sp.exp(x**2) * sp.erfc(x), lambda y, x: (ERFCX_SLOPE(x),),
    Evidence(samples=(-3, 3), ulp=32.0), functions=(sc.erfcx,), parts=complex_parts.erfcx,
)  # fmt: skip


# ---------------------------------------------------------------- Dawson's integral


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


def _dawsn_form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return 1 - sp.sqrt(sp.pi) * x * sp.exp(-(x**2)) * sp.erfi(x)

    return form_of_order(plain, x, order)


DAWSN_SLOPE: Op = tabulated(
    "DawsnSlope", dawsn_slope, (Real,), _dawsn_form,
    lambda y, x, order=0: (DAWSN_SLOPE(x, order=order + 1),),
    Evidence(samples=(-3, 3),
        # it is 0 at 0.92
        ulp=32.0),
    Words("The derivative of dawsn; a derivative of it."), orders=HIGHEST,
)  # fmt: skip
DAWSN: Op = tabulated(
    "Dawsn", dawsn, (Real,), lambda x: sp.sqrt(sp.pi) / 2 * sp.exp(-(x**2)) * sp.erfi(x),
    lambda y, x: (DAWSN_SLOPE(x),), Evidence(samples=(-3, 3), ulp=8.0), functions=(sc.dawsn,),
)  # fmt: skip

ERFI = tabulated(
    "Erfi", erfi, UNARY, sp.erfi, lambda y, x: (2 / ROOT_PI * np.exp(x * x),),
    Evidence(samples=(-2, 2), ulp=16.0), functions=(sc.erfi,), parts=complex_parts.erfi,
)  # fmt: skip

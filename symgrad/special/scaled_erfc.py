"""The scaled complementary error function, and the family of its derivatives.

The textbook's ``2*x*erfcx(x) - 2/sqrt(pi)`` is the difference of nearly equal numbers for large x,
and each higher derivative is one more. To the left of -1, where the function grows like exp(x*x),
terms have one sign; to the right of 8 it is a function of 1/x**2.

Source: NIST Digital Library of Mathematical Functions, 7.10 and 7.12.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import HIGHEST, Op, Real, define
from .fitted import fitted_fields
from .hazard import bell, hazard_excess
from .tables import (
    ERFCX1_FAR,
    ERFCX1_MIDDLE,
    ERFCX2_FAR,
    ERFCX2_MIDDLE,
    ERFCX3_FAR,
    ERFCX3_MIDDLE,
    ERFCX_FAR,
    ERFCX_MIDDLE,
)
from .taylor import SERIES, form_of_order, series_product


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


def _form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return 2 * x * sp.exp(x**2) * sp.erfc(x) - 2 / sp.sqrt(sp.pi)

    return form_of_order(plain, x, order)


_slope = fitted_fields(erfcx_slope)
ERFCX_SLOPE: Op = define(
    name="ErfcxSlope", doc="The derivative of erfcx; a derivative of it.", sympy=_form,
    partials=lambda y, x, order=0: (ERFCX_SLOPE(x, order=order + 1),), domain=(Real,),
    samples=(-3, 3), ulp=32.0, orders=HIGHEST,
    **{**_slope, "helpers": (*SERIES, bell, hazard_excess, *_slope["helpers"])},
)  # fmt: skip
_value = fitted_fields(erfcx, sc.erfcx)
ERFCX: Op = define(
    sc.erfcx, name="Erfcx", sympy=lambda x: sp.exp(x**2) * sp.erfc(x),
    partials=lambda y, x: (ERFCX_SLOPE(x),), domain=(Real,), samples=(-3, 3), ulp=32.0,
    **_value,
)  # fmt: skip

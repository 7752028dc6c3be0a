"""The Bessel functions J and Y of orders 0 to 2, and J of order 3.

To 8 by tables of J over its power of x, and of Y, whose logarithm is split off below 1; then by
the factors of the cosine and the sine of x.

Source: NIST Digital Library of Mathematical Functions, 10.6, 10.8 and 10.17.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Evidence, Op, Positive, Words
from .bessel import JV
from .tables import (
    H0_IMAGINARY,
    H0_REAL,
    H1_IMAGINARY,
    H1_REAL,
    H2_IMAGINARY,
    H2_REAL,
    J0_MIDDLE,
    J1_MIDDLE,
    J1_VALUE,
    J2_MIDDLE,
    J3_MIDDLE,
    Y0_MIDDLE,
    Y0_NEAR,
    Y1_MIDDLE,
    Y1_NEAR,
    Y2_MIDDLE,
    Y2_NEAR,
    tabulated,
)


def turned(a: Any, cosine: Any, sine: Any) -> Any:
    """What its factors give for a > 8."""
    far = np.maximum(a, 8.0)
    return (cosine * np.cos(far) + sine * np.sin(far)) / np.sqrt(far)


def j0(x: Any, fit: Any) -> Any:
    """Bessel function of the first kind, of order 0."""
    a = np.fabs(x)
    u = 1.0 / np.maximum(a, 8.0)
    return np.where(a > 8.0, turned(a, fit(u, H0_REAL), -fit(u, H0_IMAGINARY)), fit(a, J0_MIDDLE))


def j1(x: Any, fit: Any) -> Any:
    """Bessel function of the first kind, of order 1."""
    a = np.fabs(x)
    u = 1.0 / np.maximum(a, 8.0)
    far = np.copysign(1.0, x) * turned(a, fit(u, H1_REAL), -fit(u, H1_IMAGINARY))
    middle = np.copysign(1.0, x) * fit(a, J1_VALUE)
    return np.where(a > 8.0, far, np.where(a > 0.5, middle, x * fit(a, J1_MIDDLE)))


def j2(x: Any, fit: Any) -> Any:
    """Bessel function of the first kind, of order 2."""
    a = np.fabs(x)
    u = 1.0 / np.maximum(a, 8.0)
    far = turned(a, fit(u, H2_REAL), -fit(u, H2_IMAGINARY))
    return np.where(a > 8.0, far, x * x * fit(a, J2_MIDDLE))


def j3(x: Any, fit: Any) -> Any:
    """Bessel function of the first kind, of order 3; far out from orders 1 and 2."""
    a = np.fabs(x)
    u = 1.0 / np.maximum(a, 8.0)
    first = turned(a, fit(u, H1_REAL), -fit(u, H1_IMAGINARY))
    second = turned(a, fit(u, H2_REAL), -fit(u, H2_IMAGINARY))
    far = np.copysign(1.0, x) * (4.0 * u * second - first)
    return np.where(a > 8.0, far, x * (x * x) * fit(a, J3_MIDDLE))


def second_kind(x: Any, near: Any, middle: Any, cosine: Any, sine: Any) -> Any:
    """Choose by x; nan for what is negative."""
    right = np.where(x > 8.0, turned(x, cosine, sine), np.where(x > 1.0, middle, near))
    return np.where(x < 0, math.nan, right)


def two_logarithms(x: Any) -> Any:
    """``2/pi*log(x)``, finite at 0, where functions that are 0 are its factors."""
    return (2 / math.pi) * np.log(np.maximum(x, 5e-324))


def y0(x: Any, fit: Any) -> Any:
    """Bessel function of the second kind, of order 0."""
    u = 1.0 / np.maximum(x, 8.0)
    logarithmic = (2 / math.pi) * np.log(np.fabs(x)) * fit(x, J0_MIDDLE)
    near = fit(x * x, Y0_NEAR) + logarithmic
    return second_kind(x, near, fit(x, Y0_MIDDLE), fit(u, H0_IMAGINARY), fit(u, H0_REAL))


def y1(x: Any, fit: Any) -> Any:
    """Bessel function of the second kind, of order 1."""
    u, a = 1.0 / np.maximum(x, 8.0), np.fabs(x)
    near = fit(a * a, Y1_NEAR) / a + two_logarithms(x) * (a * fit(a, J1_MIDDLE))
    return second_kind(x, near, fit(x, Y1_MIDDLE), fit(u, H1_IMAGINARY), fit(u, H1_REAL))


def y2(x: Any, fit: Any) -> Any:
    """Bessel function of the second kind, of order 2."""
    u, a = 1.0 / np.maximum(x, 8.0), np.fabs(x)
    near = fit(a * a, Y2_NEAR) / a / a + two_logarithms(x) * (a * a * fit(a, J2_MIDDLE))
    return second_kind(x, near, fit(x, Y2_MIDDLE), fit(u, H2_IMAGINARY), fit(u, H2_REAL))


J0: Op = tabulated(
    "J0", j0, (Positive,), lambda x: sp.besselj(0, x), lambda y, x: (-J1(x),),
    Evidence(samples=(0.2, 1.8), ulp=8.0), functions=(sc.j0,),
)  # fmt: skip
J1: Op = tabulated(
    "J1", j1, (Positive,), lambda x: sp.besselj(1, x), lambda y, x: (0.5 * (J0(x) - J2(x)),),
    Evidence(samples=(0.2, 1.8), ulp=8.0), functions=(sc.j1,),
)  # fmt: skip
J2: Op = tabulated(
    "BesselJ2", j2, (Positive,), lambda x: sp.besselj(2, x), lambda y, x: (0.5 * (J1(x) - J3(x)),),
    Evidence(samples=(0.2, 1.8), ulp=8.0), Words("Bessel function of order 2."),
)  # fmt: skip
J3: Op = tabulated(
    "BesselJ3", j3, (Positive,), lambda x: sp.besselj(3, x),
    lambda y, x: (0.5 * (J2(x) - JV(4.0, x)),), Evidence(samples=(0.2, 1.8), ulp=8.0),
    Words("Bessel function of order 3."),
)  # fmt: skip
Y0: Op = tabulated(
    "Y0", y0, (Positive,), lambda x: sp.bessely(0, x), lambda y, x: (-Y1(x),),
    Evidence(samples=(0.2, 1.8), ulp=64.0), functions=(sc.y0,),
)  # fmt: skip
Y1: Op = tabulated(
    "Y1", y1, (Positive,), lambda x: sp.bessely(1, x), lambda y, x: (0.5 * (Y0(x) - Y2(x)),),
    Evidence(samples=(0.2, 1.8), ulp=8.0), functions=(sc.y1,),
)  # fmt: skip
Y2: Op = tabulated(
    "BesselY2", y2, (Positive,), lambda x: sp.bessely(2, x), lambda y, x: (Y1(x) - 2 * y / x,),
    Evidence(samples=(0.2, 1.8), ulp=8.0), Words("Bessel function of the second kind of order 2."),
)  # fmt: skip

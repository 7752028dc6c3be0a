"""Exponential, sine and cosine integrals, by tables of what is left of them.

Close to 0 they are without their logarithm, far out without decay, growth or phase. The
hyperbolic ones are half the sum and difference of Ei and E1 where the latter is small.

Source: NIST Digital Library of Mathematical Functions, 6.2 and 6.5.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .tables import (
    CHI_NEAR,
    CI_MIDDLE,
    CI_NEAR,
    E1_IMAGINARY,
    E1_REAL,
    EI_FAR,
    EI_MIDDLE,
    EI_NEAR,
    EXP1_FAR,
    EXP1_MIDDLE,
    EXP1_NEAR,
    SHI_NEAR,
    SI_MIDDLE,
    SI_NEAR,
    SPENCE_MIDDLE,
)


def exp1(x: Any, fit: Any) -> Any:
    """The exponential integral E1: without its logarithm, then without its decay; in 1/x."""
    near, a, far = np.minimum(x, 1.0), np.maximum(x, 1.0), np.maximum(x, 8.0)
    scaled = np.where(x > 8.0, fit(1.0 / far, EXP1_FAR) / far, fit(a, EXP1_MIDDLE))
    series = fit(near, EXP1_NEAR) - np.log(np.fabs(near))
    return np.where(x < 0, math.nan, np.where(x > 1.0, scaled * np.exp(-a), series))


def ei_of_positive(x: Any, fit: Any) -> Any:
    """The exponential integral Ei of x >= 0."""
    near, a = np.minimum(x, 1.0), np.maximum(x, 1.0)
    far, below = np.minimum(np.maximum(x, 8.0), 1000.0), np.minimum(a, 700.0)
    scaled = np.where(x > 8.0, fit(1.0 / far, EI_FAR) / far, fit(a, EI_MIDDLE))
    # The whole exponential overflows where the result does not; else the second one is 1.
    grown = np.exp(below) * scaled * np.exp(a - below)
    return np.where(x > 1.0, grown, fit(near, EI_NEAR) + np.log(near))


def expi(x: Any, fit: Any) -> Any:
    """The exponential integral Ei, which is -E1(-x) for negative x."""
    a = np.fabs(x)
    return np.where(x < 0, -exp1(a, fit), ei_of_positive(a, fit))


def shi(x: Any, fit: Any) -> Any:
    """The hyperbolic sine integral."""
    a = np.fabs(x)
    near, far = np.minimum(a, 2.0), np.maximum(a, 2.0)
    beyond = np.copysign(0.5 * (ei_of_positive(far, fit) + exp1(far, fit)), x)
    return np.where(a > 2.0, beyond, x * fit(near * near, SHI_NEAR))


def chi(x: Any, fit: Any) -> Any:
    """The hyperbolic cosine integral; of abs(x), as SciPy's."""
    a = np.fabs(x)
    near, far = np.minimum(a, 2.0), np.maximum(a, 2.0)
    beyond = 0.5 * (ei_of_positive(far, fit) - exp1(far, fit))
    return np.where(a > 2.0, beyond, fit(near * near, CHI_NEAR) + np.log(near))


def turning_far(a: Any, fit: Any) -> Any:
    """``Ci(a)`` and ``Si(a) - pi/2`` for a > 8."""
    right = np.maximum(a, 8.0)
    u = 1.0 / right
    angle = np.where(right < math.inf, right, 8.0)
    real, imaginary = fit(u, E1_REAL), fit(u, E1_IMAGINARY)
    sine, cosine = np.sin(angle), np.cos(angle)
    return (real * sine - imaginary * cosine) * u, -(real * cosine + imaginary * sine) * u


def si(x: Any, fit: Any) -> Any:
    """The sine integral."""
    a = np.fabs(x)
    near = np.minimum(a, 2.0)
    # The second number is what the double of pi/2 leaves.
    far = 1.5707963267948966 + (turning_far(a, fit)[1] + 6.123233995736766e-17)
    beyond = np.copysign(np.where(a > 8.0, far, fit(a, SI_MIDDLE)), x)
    return np.where(a > 2.0, beyond, x * fit(near * near, SI_NEAR))


def ci(x: Any, fit: Any) -> Any:
    """The cosine integral; of abs(x), as SciPy's."""
    a = np.fabs(x)
    near = np.minimum(a, 1.0)
    beyond = np.where(a > 8.0, turning_far(a, fit)[0], fit(a, CI_MIDDLE))
    found = np.where(a > 1.0, beyond, fit(near * near, CI_NEAR) + np.log(near))
    return np.where(x == -math.inf, math.nan, found)


def dilogarithm(x: Any, fit: Any) -> Any:
    """Spence's function, over its distance from the zero; below 1/2 by reflection, then in 1/x."""
    far = x > 8.0
    at = np.where(far, 1.0 / x, x)
    low = at < 0.5
    safe = np.minimum(np.maximum(at, 5e-324), 0.5)
    turned = np.where(low, 1.0 - safe, at)
    near = (turned - 1.0) * fit(turned, SPENCE_MIDDLE)
    product = np.log(safe) * np.log1p(-safe)
    reflected = 1.6449340668482264 - ((near - 3.040672350398476e-17) + product)  # pi**2/6
    found = np.where(low, reflected, near)
    found = np.where(far, -0.5 * np.square(np.log(np.maximum(x, 8.0))) - found, found)
    return np.where(x < 0, math.nan, found)

"""The logistic function and its derivatives, of which those of the hyperbolic tangent are made.

What is lost in rounding a denominator, a sum of 1 and an exponential, is put into the quotient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .pairs import pair_product, pair_quotient, two_sum


def logistic(x: Any) -> Any:
    """``1/(1 + exp(-x))``."""
    e = np.exp(-x)
    below = 1.0 + e
    lost = np.where(e < 1.0, e - (below - 1.0), 1.0 - (below - e))
    found = 1.0 / below
    return np.where(e < math.inf, found - found * (lost * found), found)


def expit_slope(x: Any, slope: int = 0) -> Any:
    """``expit(x)*expit(-x)``, or its derivative.

    With the small exponential e this is ``e/(1 + e)**2``, and the derivative that times
    ``(1 - e)/(1 + e)``; what the denominators lose in rounding is put in.
    """
    size = np.fabs(x)
    e = np.exp(-size)
    if not slope:
        more = e * (2.0 + e)
        square = 1.0 + more
        found = e / square
        return found - found * (((1.0 - square) + more) / square)
    above, below = two_sum(1.0, -e), two_sum(1.0, e)
    near = e > 0.5
    above = np.where(near, -np.expm1(-size), above[0]), np.where(near, 0.0, above[1])
    cube = pair_product(below, pair_product(below, below))
    high, low = pair_quotient(pair_product((e, 0.0), above), cube)
    return -np.copysign(high + low, x)


def sech_squared(x: Any, slope: int = 0) -> Any:
    """``1/cosh(x)**2`` without overflow, or its derivative."""
    return (8.0 if slope else 4.0) * expit_slope(2.0 * x, slope)

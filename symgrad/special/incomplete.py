"""The incomplete gamma function and its inverse, by a series or a continued fraction of one sign.

SciPy's change between methods loses up to 150 ulp close to x = 1, and the inverses inherit it.

Source: NIST Digital Library of Mathematical Functions, 8.7.1 and 8.9.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._late import special as sc
from .._ops.pairs import (
    pair_exponential,
    pair_power,
    pair_product,
    pair_quotient,
    pair_sum,
    two_sum,
)  # fmt: skip
from .densities import GAMMA, gamma_parts
from .fallback import elsewhere


def gamma_shares(a: Any, parts: Any) -> Any:
    """The regularized incomplete gamma function and its complement, for a <= 8.

    By ``gamma_parts``. Left of max(a, 1.6) the series of the first, right of it the fraction of
    the second, their outermost steps as pairs.
    """
    exponent, factor, _, (less, x) = parts
    left = x[0] < np.maximum(a, 1.6)
    at = np.where(left, x[0], 1.0)
    small = 0.0 * at
    for k in range(44, 4, -1):
        small = at / (a + k) * (1.0 + small)
    one = 1.0 + 0.0 * at, 0.0
    series = pair_sum(one, (small, 0.0))
    for k in range(4, -1, -1):
        series = pair_product(pair_quotient((at, 0.0), two_sum(a, float(k))), series)
        series = pair_sum(one, series) if k else series
    at = np.where(left, 9.0, x[0])
    low = at - a
    tail = 0.5 * (low + 133.0 + np.sqrt((low + 133.0) ** 2 - 4.0 * 67.0 * (67.0 - a)))
    small = 0.0 * at
    for k in range(66, 0, -2):  # two steps with one division
        inner = (low + (2.0 * k - 1.0)) * tail - k * (k - a)
        small = (k - 1.0) * (k - 1.0 - a) * tail / inner
        tail = (low + (2.0 * k - 3.0)) - small
    below = pair_sum(two_sum(at, -less[0]), (-small, -less[1]))
    fraction = pair_quotient((at, 0.0), below)
    share = np.where(left, series[0], fraction[0]), np.where(left, series[1], fraction[1])
    found = pair_product(pair_power(exponent), pair_product(factor, share))
    other = pair_sum(one, (-found[0], -found[1]))
    found, other = found[0] + found[1], other[0] + other[1]
    return np.where(left, found, other), np.where(left, other, found)


def gamma_share(
    a: Any, x: Any, other: Callable[..., Any] = sc.gammainc, upper: bool = False
) -> Any:
    """The regularized incomplete gamma function, or its complement."""
    a, x = np.float64(1.0) * a, np.float64(1.0) * x
    inside = (a >= 1e-3) & (a <= 8) & (x >= 1e-30) & (x <= 700)
    if upper:  # what is left of 1 is not known better for small a
        inside = inside & ((a >= 0.05) | (x >= 1.6))
    shape = np.where(inside, a, 1.0)
    shares = gamma_shares(shape, gamma_parts(shape, np.where(inside, x, 1.0)))
    return np.where(inside, shares[upper], elsewhere(other, inside, a, x))


def gamma_quantile(
    a: Any, y: Any, other: Callable[..., Any], upper: bool = False, slope: int = 0
) -> Any:
    """The inverse of one of them: SciPy's, and a step of Newton's method by the smaller share.

    With a slope (2) its derivative: one over the density, where that step leads to.
    """
    a, y = np.float64(1.0) * a, np.float64(1.0) * y
    found = other(a, y)
    inside = (a >= 0.4) & (a <= 8) & (found >= 1e-30) & (found <= 700) & (y > 0) & (y < 1)
    at, share = np.where(found == math.inf, 1.0, found), np.where(inside, y, 0.5)
    parts = gamma_parts(a, at)
    exponent, factor, more, (less, _) = parts
    shares = gamma_shares(a, parts)
    own, gap = shares[::-1] if upper else shares
    gap = np.where(share > 0.5, (1.0 - share) - gap, own - share)
    over = pair_quotient((1.0 + 0.0 * at, 0.0), factor)
    exponent = -exponent[0], -exponent[1]
    step = gap * pair_exponential(exponent, over)
    step = np.where(inside, -step if upper else step, 0.0)
    if not slope:
        return np.where(inside, found - step, found)
    change = np.where(inside, step * ((less[0] - at) / at), 0.0)
    more = np.where(less[0] == 0, 0.0, -less[0] * more)
    density = pair_exponential(exponent, (over[0], over[1] + over[0] * change), more)
    density = np.where(found == math.inf, math.inf, density)
    return -density if upper else density


INCOMPLETE = (*GAMMA, pair_power, elsewhere, gamma_shares)

"""The incomplete beta function and its inverse, by a continued fraction.

Source: NIST Digital Library of Mathematical Functions, 8.17.22.
"""

from __future__ import annotations

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
from .densities import BETA, beta_ends, beta_parts
from .fallback import elsewhere


def beta_fraction(a: Any, b: Any, x: Any, sums: Any) -> Any:
    """The continued fraction of the incomplete beta function for x < (a + 1)/(a + b + 2).

    x and ``sums``, a + b and a + 1, are pairs, and so is the result: the outermost step is one of
    pairs, in which what the inner ones are off by is small.
    """
    tail, at = 1.0 + 0.0 * x[0], x[0]
    for k in range(20, 0, -1):
        above, below = (a + (2.0 * k + 1.0)) * tail, a + (2.0 * k - 1.0)
        inner = (a + 2.0 * k) * above - (a + k) * (a + b + k) * at
        small = k * (b - k) * at * above / (below * inner)
        tail = 1.0 + small
    one = 1.0 + 0.0 * at, 0.0
    below = pair_product(sums[1], two_sum(one[0], small))
    high, low = pair_quotient(pair_product(sums[0], x), below)
    return pair_quotient(one, pair_sum(one, (-high, -low)))


def beta_shares(a: Any, b: Any, parts: Any) -> Any:
    """The regularized incomplete beta function and its complement, by ``beta_parts``."""
    exponent, factor, _, (_, _, n, x, rest) = parts
    left = x[0] < (a + 1.0) / (a + b + 2.0)
    first, second = np.where(left, a, b), np.where(left, b, a)
    at = np.where(left, x[0], rest[0]), np.where(left, x[1], rest[1])
    fraction = beta_fraction(first, second, at, (n, two_sum(first, 1.0)))
    mass = pair_quotient(pair_product(factor, pair_product(x, rest)), (first, 0.0))
    found = pair_product(pair_power(exponent), pair_product(mass, fraction))
    other = pair_sum((1.0, 0.0), (-found[0], -found[1]))
    found, other = found[0] + found[1], other[0] + other[1]
    return np.where(left, found, other), np.where(left, other, found)


def beta_share(
    a: Any, b: Any, x: Any, other: Callable[..., Any] = sc.betainc, upper: bool = False
) -> Any:
    """The regularized incomplete beta function, or its complement."""
    a, b, x = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * x
    inside = (a >= 0.2) & (a <= 8) & (b >= 0.2) & (b <= 8) & (x >= 1e-10) & (x <= 1 - 1e-10)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    at = np.where(inside, x, 0.5)
    shares = beta_shares(first, second, beta_parts(first, second, at))
    return np.where(inside, shares[upper], elsewhere(other, inside, a, b, x))


def beta_quantile(
    a: Any, b: Any, y: Any, other: Callable[..., Any], upper: bool = False, slope: int = 0
) -> Any:
    """The inverse of one of them: SciPy's, and a step of Newton's method by the smaller share.

    With a slope (3) its derivative: one over the density, where that step leads to.
    """
    a, b, y = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * y
    found = other(a, b, y)
    inside = (a >= 0.2) & (a <= 8) & (b >= 0.2) & (b <= 8)
    inside = inside & (found >= 1e-10) & (found <= 1 - 1e-10) & (y > 0) & (y < 1)
    end = (found == 0) | (found == 1)
    at, share = np.where(end, 0.5, found), np.where(inside, y, 0.5)
    parts = beta_parts(a, b, at)
    exponent, factor, more, (less, fewer, _, _, rest) = parts
    shares = beta_shares(a, b, parts)
    own, gap = shares[::-1] if upper else shares
    gap = np.where(share > 0.5, (1.0 - share) - gap, own - share)
    over = pair_quotient((1.0 + 0.0 * at, 0.0), factor)
    step = gap * pair_exponential((-exponent[0], -exponent[1]), over)
    step = np.where(inside, -step if upper else step, 0.0)
    if not slope:
        return np.where(inside, found - step, found)
    change = np.where(inside, step * (less[0] / at - fewer[0] / rest[0]), 0.0)
    over = over[0], over[1] + over[0] * change
    more = np.where(less[0] == 0, 0.0, -less[0] * more)
    density = np.where(
        end, 1.0 / beta_ends(a, b, found),
        pair_exponential((-exponent[0], -exponent[1]), over, more),
    )  # fmt: skip
    return -density if upper else density


INCOMPLETE_BETA = (*BETA, pair_power, elsewhere, beta_fraction, beta_shares)

"""Incomplete gamma and beta functions, Student's distribution, and their inverses.

By series and continued fractions of one sign. SciPy's change between methods loses up to 150 ulp,
and the inverses inherit it. The tail of Student's distribution is the incomplete beta function of
v/2 and v/2 at ``(1 - t/sqrt(v + t*t))/2``, which is below 1/2 for any t > 0: there its fraction
converges. Where the tail is more than a quarter, that of 1/2 and v/2 at ``t*t/(v + t*t)`` gives
what it lacks of a half.

Source: NIST Digital Library of Mathematical Functions, 8.7.1, 8.9.2, 8.17.6 and 8.17.22.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.scipy_names import special as sc
from .._core.ops.pairs import (
    pair_exponential,
    pair_power,
    pair_product,
    pair_quotient,
    pair_root,
    pair_sum,
    two_sum,
)
from .densities import BETA, GAMMA, STUDENT, beta_ends, beta_parts, gamma_parts, t_parts
from .records import elsewhere

# ---------------------------------------------------------------- gamma


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
    known = (a >= 1e-3) & (a <= 8)
    inside = known & (x >= 1e-30) & (x <= 700)
    if upper:  # what is left of 1 is not known better for small a
        inside = inside & ((a >= 0.05) | (x >= 1.6))
    shape = np.where(known, a, 1.0)
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


# ---------------------------------------------------------------- beta


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
    known = (a >= 0.2) & (a <= 8) & (b >= 0.2) & (b <= 8)
    inside = known & (x >= 1e-10) & (x <= 1 - 1e-10)
    first, second = np.where(known, a, 1.0), np.where(known, b, 1.0)
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


# ---------------------------------------------------------------- Student's distribution


def t_shares(v: Any, t: Any, parts: Any) -> Any:
    """What is beyond the size of t, and what is between 0 and it, by ``t_parts``."""
    exponent, factor, _, (square, whole, _) = parts
    size, half = np.fabs(t), 0.5 * v
    root = pair_root(whole)
    # v/(v + t*t)/2 over 1 + t/sqrt(v + t*t)
    share = pair_quotient((half, 0.0), whole)
    below = pair_quotient(share, pair_sum((1.0, 0.0), pair_quotient((size, 0.0), root)))
    between = pair_quotient(square, whole)
    near = size * (1.0 + 0.25 / v) < 0.7
    first = np.where(near, 0.5, half)
    at = np.where(near, between[0], below[0]), np.where(near, between[1], below[1])
    sums = two_sum(first, half), two_sum(first, 1.0)
    fraction = beta_fraction(first, half, at, sums)
    # the density times t, or times sqrt(v + t*t)/v
    scale = pair_quotient(root, (v, 0.0))
    scale = np.where(near, size, scale[0]), np.where(near, 0.0, scale[1])
    mass = pair_product(factor, pair_product(scale, fraction))
    found = pair_product(pair_power(exponent), mass)
    high, low = pair_sum((0.5, 0.0), (-found[0], -found[1]))
    found, other = found[0] + found[1], high + low
    return np.where(near, other, found), np.where(near, found, other)


def t_share(v: Any, t: Any, other: Callable[..., Any] = sc.stdtr) -> Any:
    """Student's distribution function."""
    v, t = np.float64(1.0) * v, np.float64(1.0) * t
    known = (v >= 0.5) & (v <= 40)
    inside = known & (np.fabs(t) <= 1e8)
    freedom, at = np.where(known, v, 1.0), np.where(inside, t, 0.0)
    tail, middle = t_shares(freedom, at, t_parts(freedom, at))
    right = np.where(tail < 0.25, 1.0 - tail, 0.5 + middle)
    return np.where(inside, np.where(at > 0, right, tail), elsewhere(other, inside, v, t))


def t_quantile(v: Any, p: Any, other: Callable[..., Any] = sc.stdtrit, slope: int = 0) -> Any:
    """The inverse: SciPy's, and a step of Newton's method by the share that is not close to 1.

    With a slope (2) its derivative: one over the density, where that step leads to.
    """
    v, p = np.float64(1.0) * v, np.float64(1.0) * p
    found = other(v, p)
    inside = (v >= 0.5) & (v <= 40) & (p > 0) & (p < 1) & (np.fabs(found) <= 1e8)
    parts = t_parts(v, found)
    exponent, factor, more, (_, whole, above) = parts
    tail, middle = t_shares(v, found, parts)
    left, share = p < 0.5, np.where(p > 0.5, 1.0 - p, p)
    middle = np.where((found < 0) == left, middle, -middle)
    gap = np.where(tail < 0.25, share - tail, middle - np.fabs(p - 0.5))
    over = pair_quotient((1.0 + 0.0 * v, 0.0), factor)
    exponent = -exponent[0], -exponent[1]
    step = gap * pair_exponential(exponent, over)
    step = np.where(inside, np.where(left, step, -step), 0.0)
    if not slope:
        return np.where(inside, found + step, found)
    change = np.where(inside, step * (2.0 * above[0] * found / whole[0]), 0.0)
    return pair_exponential(exponent, (over[0], over[1] + over[0] * change), (v + 1.0) * more)


STUDENT_SHARES = (*STUDENT, pair_power, elsewhere, beta_fraction, t_shares)

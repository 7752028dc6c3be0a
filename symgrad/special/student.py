"""Student's distribution function and its inverse, by a continued fraction.

The tail is the incomplete beta function of v/2 and v/2 at ``(1 - t/sqrt(v + t*t))/2``, which is
below 1/2 for any t > 0: there its fraction converges. Where the tail is more than a quarter, that
of 1/2 and v/2 at ``t*t/(v + t*t)`` gives what it lacks of a half.

Source: NIST Digital Library of Mathematical Functions, 8.17.6 and 8.17.22.
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
    pair_root,
    pair_sum,
    two_sum,
)  # fmt: skip
from .densities import STUDENT, t_parts
from .fallback import elsewhere
from .incomplete_beta import beta_fraction


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
    inside = (v >= 0.5) & (v <= 40) & (np.fabs(t) <= 1e8)
    freedom, at = np.where(inside, v, 1.0), np.where(inside, t, 0.0)
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

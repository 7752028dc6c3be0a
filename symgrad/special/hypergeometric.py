"""Hypergeometric series of one sign, or nearly, and the exponential integral of whole orders.

SciPy's hyp1f1 loses up to 800 ulp for parameters close to each other or to whole numbers, and its
hyp0f1 goes by Bessel functions.

Source: NIST Digital Library of Mathematical Functions, 8.19.12, 8.19.17, 13.2.2,
13.2.39, 15.2.1, 15.8.1 and 16.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._late import special as sc
from .._ops.pairs import pair_product, pair_quotient, pair_sum, two_sum
from .fallback import elsewhere


def confluent(a: Any, b: Any, x: Any, other: Callable[..., Any] = sc.hyp1f1) -> Any:
    """Kummer's function, for negative x by his transformation unless its terms fall at once.

    Of the nine terms that may differ in sign then the sum is one of pairs.
    """
    a, b, x = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * x
    inside = (a > 0) & (a <= 8) & (b >= 0.01) & (b <= 40) & (x >= -6) & (x <= 10)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    at = np.where(inside, x, 0.0)
    turned = first * at < -0.5 * second
    high, low = two_sum(second, -first)
    first, low = np.where(turned, high, first), np.where(turned, low, 0.0)
    along = np.where((at < 0) & ~turned, at, np.fabs(at))
    rest = 0.0 * at
    for k in range(55, 8, -1):
        rest = (first + k) * along / ((second + k) * (k + 1.0)) * (1.0 + rest)
    total = two_sum(1.0, rest)
    for k in range(8, -1, -1):
        above = pair_product(pair_sum((first, low), (float(k), 0.0)), (along, 0.0))
        below = pair_product(two_sum(second, float(k)), (k + 1.0, 0.0))
        total = pair_product(pair_quotient(above, below), total)
        total = pair_sum((1.0, 0.0), total)
    power = np.exp(np.where(turned, at, 0.0)), 0.0
    high, low = pair_product(power, total)
    return np.where(inside, high + low, elsewhere(other, inside, a, b, x))


def limit_function(b: Any, x: Any, other: Callable[..., Any] = sc.hyp0f1) -> Any:
    """The confluent hypergeometric limit function: the first terms, which may cancel, in pairs."""
    b, x = np.float64(1.0) * b, np.float64(1.0) * x
    inside = (b >= 0.01) & (x >= -4) & (x <= 16)
    order, at = np.where(inside, b, 1.0), np.where(inside, x, 0.0)
    rest = 0.0 * at
    for k in range(25, 4, -1):
        rest = at / ((order + k) * (k + 1.0)) * (1.0 + rest)
    total = two_sum(1.0, rest)
    for k in range(4, -1, -1):
        below = pair_product(two_sum(order, float(k)), (k + 1.0, 0.0))
        total = pair_product(pair_quotient((at, 0.0), below), total)
        total = pair_sum((1.0, 0.0), total)
    return np.where(inside, total[0] + total[1], elsewhere(other, inside, b, x))


def gauss(a: Any, b: Any, c: Any, x: Any, other: Callable[..., Any] = sc.hyp2f1) -> Any:
    """Gauss' hypergeometric function, for negative x by Pfaff's transformation."""
    a, b, c, x = (np.float64(1.0) * v for v in (a, b, c, x))
    inside = (a > 0) & (a <= 3) & (b > 0) & (b <= 3) & (c >= 0.5) & (c <= 20)
    inside = inside & (x >= -1) & (x <= 0.5)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    third, at = np.where(inside, c, 1.0), np.where(inside, x, 0.0)
    turned = (at < -0.5) | (first * second * at < -0.25 * third)
    factor = np.where(turned, (1.0 - at) ** -first, 1.0)
    second = np.where(turned, third - second, second)
    at = np.where(turned, at / (at - 1.0), at)
    total = 1.0 + 0.0 * at
    for k in range(71, -1, -1):
        total = 1.0 + (first + k) * (second + k) * at / ((third + k) * (k + 1.0)) * total
    return np.where(inside, factor * total, elsewhere(other, inside, a, b, c, x))


def exponential_integral(n: Any, x: Any, other: Callable[..., Any] = sc.expn) -> Any:
    """The integral of ``exp(-x*t)/t**n``, t from 1 on.

    Below 1.8 from order 1 upwards, else by the continued fraction from its tail on.
    """
    n, x = np.float64(1.0) * n, np.float64(1.0) * x
    near = (n >= 1) & (n <= 6) & (n == np.rint(n)) & (x > 0) & (x < 1.8)
    far = (n >= 1) & (n <= 60) & (n == np.rint(n)) & (x >= 1.8) & (x <= 700)
    order, at = np.where(near, n, 2.0), np.where(near, x, 1.0)
    power, small = np.exp(-at), sc.exp1(at)
    for k in range(1, 6):
        small = np.where(order > k, (power - at * small) * (1.0 / k), small)
    order, at = np.where(far, n, 2.0), np.where(far, x, 2.0)
    tail = at + order + 120.0
    for k in range(60, 0, -1):
        tail = (at + order + (2.0 * k - 2.0)) - k * (order + (k - 1.0)) / tail
    large = np.exp(-at) / tail
    return np.where(near, small, np.where(far, large, elsewhere(other, near | far, n, x)))

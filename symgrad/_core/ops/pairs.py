"""Numbers of twice the precision, as unevaluated sums of two doubles, for last steps of formulas.

A pair ``(high, low)`` stands for their sum, of which ``high`` is the rounding or close to it. What
a sum or product of doubles loses is a double itself; quotients, roots and logarithms get their
low part to first order. All of it is plain arithmetic on numbers of moderate size: products are
split by a factor of 2**27.

Source: T. J. Dekker, A floating-point technique for extending the available precision, Numerische
Mathematik 18, 1971; J.-M. Muller et al., Handbook of Floating-Point Arithmetic, 2nd edition, 2018,
chapters 4, 5 and 14.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def two_sum(x: Any, y: Any) -> Any:
    """``x + y`` as a pair, exactly."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def two_product(x: Any, y: Any) -> Any:
    """``x*y`` as a pair, exactly where nothing over- or underflows."""
    a, b = 134217729.0 * x, 134217729.0 * y
    a, b = a - (a - x), b - (b - y)
    c, d = x - a, y - b
    product = x * y
    return product, ((a * b - product) + a * d + c * b) + c * d


def pair_sum(x: Any, y: Any) -> Any:
    """The sum of two pairs."""
    total, low = two_sum(x[0], y[0])
    low = low + (x[1] + y[1])
    high = total + low
    return high, (total - high) + low


def pair_product(x: Any, y: Any) -> Any:
    """The product of two pairs."""
    product, low = two_product(x[0], y[0])
    return product, low + (x[0] * y[1] + x[1] * y[0])


def pair_quotient(x: Any, y: Any) -> Any:
    """The quotient of two pairs."""
    over = x[0] / y[0]
    product, low = two_product(over, y[0])
    return over, (((x[0] - product) - low) + (x[1] - over * y[1])) / y[0]


def pair_root(x: Any) -> Any:
    """The square root of a pair that is positive."""
    root = np.sqrt(x[0])
    square, low = two_product(root, root)
    return root, 0.5 * (((x[0] - square) - low) + x[1]) / root


def pair_logarithm(x: Any, y: Any) -> Any:
    """``log(x/y)`` of positive pairs.

    y is brought close to x by a power of two; then by the series of atanh, of which the second
    term is a hundredth of the first.
    """
    turns = np.rint(np.log2(x[0] / y[0]))
    bounded = np.minimum(np.maximum(np.where(turns == turns, turns, 0.0), -1000.0), 1000.0)
    scale = np.ldexp(1.0, bounded.astype(np.int32))
    y = y[0] * scale, y[1] * scale
    high, low = pair_quotient(pair_sum(x, (-y[0], -y[1])), pair_sum(x, y))
    square = high * high
    rest = 0.0 * high
    for k in range(25, 1, -2):
        rest = rest * square + 1.0 / k
    # log(2) in two parts, of which turns times the first is exact
    small = 2.0 * (low + high * (square * rest)) + turns * 1.9082149292705877e-10
    return pair_sum((turns * 0.6931471803691238, 0.0), (2.0 * high, small))


def pair_exponential(x: Any, factor: Any, more: Any = 0.0) -> Any:
    """``exp(x + more)`` times another pair, as a number; what is not 0 of ``more`` may be infinite.

    It is off by the rounding of the exponential and its own. Of what is too large to be split, no
    low part is known.
    """
    power = np.exp(x[0] + more)
    product, low = two_product(power, factor[0])
    low = low + product * x[1] + power * factor[1]
    return product + np.where(power < 1e290, low, 0.0)


def pair_power(x: Any) -> Any:
    """``exp(x)`` as a pair, by the logarithm of what is rounded."""
    power = np.exp(x[0])
    high, low = pair_logarithm((np.maximum(power, 1e-300), 0.0), (1.0, 0.0))
    rest = ((x[0] - high) - low) + x[1]
    return power, np.where(power > 1e-300, power * rest, 0.0)


PAIRS = (
    two_sum, two_product, pair_sum, pair_product, pair_quotient, pair_root, pair_logarithm,
    pair_exponential,
)  # fmt: skip

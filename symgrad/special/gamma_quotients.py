"""Beta functions and Pochhammer's symbols, by Stirling's formula in pairs, and their derivatives.

Source: NIST Digital Library of Mathematical Functions, 5.2, 5.11 and 5.12.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._late import special as sc
from .._ops.pairs import (
    pair_exponential,
    pair_logarithm,
    pair_product,
    pair_quotient,
    pair_root,
    pair_sum,
    two_sum,
)  # fmt: skip
from .densities import digamma_excess, raised
from .differences import digamma_step
from .fallback import elsewhere
from .stirling import stirling_error


def digamma_gap(above: Any, below: Any) -> Any:
    """``psi(above) - psi(below)`` of positive pairs, a pair."""
    ten = 10.0, 0.0
    logarithm = pair_logarithm(pair_sum(above, ten), pair_sum(below, ten))
    high, low = digamma_excess(below)
    return pair_sum(logarithm, pair_sum(digamma_excess(above), (-high, -low)))


def chosen(condition: Any, pair: Any) -> Any:
    """A pair, or 1."""
    return np.where(condition, pair[0], 1.0), np.where(condition, pair[1], 0.0)


def beta_function(a: Any, b: Any, other: Callable[..., Any] = sc.beta, slope: int = 0) -> Any:
    """The beta function, or its derivative by a (1) or b (2).

    ``sqrt(2*pi/n)*(a/n)**(a - 1/2)*(b/n)**(b - 1/2)``, n being a + b, and Stirling's errors. What
    is small is raised by 1 for these; then powers of n and e are left, and quotients.
    """
    a, b = np.float64(1.0) * a, np.float64(1.0) * b
    inside = (a >= 0.01) & (b >= 0.01) & (a + b <= 1e6)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    first, second, n = (first, 0.0 * first), (second, 0.0 * second), two_sum(first, second)
    (one, _, i), (two, _, j), (both, _, k) = raised(first), raised(second), raised(n)
    more, half = (i + j) - k, (-0.5, 0.0)
    exponent = pair_sum(
        pair_product(pair_sum(one, half), pair_logarithm(one, both)),
        pair_product(pair_sum(two, half), pair_logarithm(two, both)),
    )
    errors = (stirling_error(one[0]) + stirling_error(two[0])) - stirling_error(both[0])
    exponent = pair_sum(exponent, two_sum(-more, errors))
    root = pair_root(pair_quotient((6.283185307179586, 2.4492935982947064e-16), both))  # of 2*pi
    above = pair_product(chosen(k > 0, n), pair_product(chosen(more > 0, both), root))
    above = pair_product(chosen(more > 1, both), above)
    factor = pair_quotient(above, pair_product(chosen(i > 0, first), chosen(j > 0, second)))
    beyond = elsewhere(other, inside, a, b)
    if slope:
        high, low = digamma_gap(n, first if slope == 1 else second)
        factor = pair_product(factor, (-high, -low))
        beyond = -beyond * (digamma_step(a, b) if slope == 1 else digamma_step(b, a))
    return np.where(inside, pair_exponential(exponent, factor), beyond)


def pochhammer(a: Any, m: Any, other: Callable[..., Any] = sc.poch, slope: int = 0) -> Any:
    """``gamma(a + m)/gamma(a)``, or its derivative by a (1) or m (2).

    ``(n/a)**(a - 1/2)*(n/e)**m``, n being a + m, and Stirling's errors; as the beta function.
    """
    a, m = np.float64(1.0) * a, np.float64(1.0) * m
    inside = (a >= 0.01) & (m >= 0.01) & (a + m <= 1e6)
    first, step = np.where(inside, a, 1.0), np.where(inside, m, 1.0)
    n, first = two_sum(first, step), (first, 0.0 * first)
    (one, _, i), (both, _, k) = raised(first), raised(n)
    power = pair_sum(pair_logarithm(both, (1.0, 0.0)), (-1.0, 0.0))
    exponent = pair_sum(
        pair_product(pair_sum(one, (-0.5, 0.0)), pair_logarithm(both, one)),
        pair_product(two_sum(step, k - i), power),
    )
    exponent = pair_sum(exponent, (stirling_error(both[0]) - stirling_error(one[0]), 0.0))
    factor = pair_quotient(chosen(i > 0, first), chosen(k > 0, n))
    beyond = elsewhere(other, inside, a, m)
    if slope == 1:
        factor = pair_product(factor, digamma_gap(n, first))
        beyond = beyond * digamma_step(a, m)
    elif slope == 2:
        logarithm = pair_logarithm(pair_sum(n, (10.0, 0.0)), (1.0, 0.0))
        factor = pair_product(factor, pair_sum(logarithm, digamma_excess(n)))
        beyond = beyond * sc.psi(a + m)
    return np.where(inside, pair_exponential(exponent, factor), beyond)

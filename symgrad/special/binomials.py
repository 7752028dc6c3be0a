"""Binomial coefficients of real numbers and their derivatives, by Stirling's formula in pairs.

Source: NIST Digital Library of Mathematical Functions, 5.4 and 5.11.
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
from .differences import digamma_step
from .fallback import elsewhere
from .gamma_quotients import digamma_gap
from .stirling import stirling_error


def binomial(n: Any, k: Any, other: Callable[..., Any] = sc.binom, slope: int = 0) -> Any:
    """Binomial coefficient of real numbers, or its derivative by n (1) or k (2).

    The coefficient itself of a whole k is SciPy's, by a product.
    """
    n, k = np.float64(1.0) * n, np.float64(1.0) * k
    inside = (k >= 0.01) & (n - k >= 0.01) & (n <= 1e6)
    if not slope:
        inside = inside & (k != np.rint(k))
    of, part = np.where(inside, n, 2.0), np.where(inside, k, 0.5)
    one = 1.0, 0.0
    whole, own, rest = two_sum(of, 1.0), two_sum(part, 1.0), pair_sum(two_sum(of, -part), one)
    exponent = pair_sum(
        pair_product(own, pair_logarithm(whole, own)),
        pair_product(rest, pair_logarithm(whole, rest)),
    )
    errors = (stirling_error(whole[0]) - stirling_error(own[0])) - stirling_error(rest[0])
    exponent = pair_sum(exponent, two_sum(1.0, errors))
    over = pair_product(own, (0.15915494309189535, -9.839338337591243e-18))  # 1/(2*pi), a pair
    over = pair_root(pair_quotient(pair_product(over, rest), whole))
    factor = pair_quotient(over, whole)
    beyond = elsewhere(other, inside, n, k)
    if slope:
        factor = pair_product(factor, digamma_gap(*((whole, rest) if slope == 1 else (rest, own))))
        steps = (n - k + 1.0, k) if slope == 1 else (k + 1.0, n - 2.0 * k)
        beyond = beyond * digamma_step(*steps)
    return np.where(inside, pair_exponential(exponent, factor), beyond)

"""Binomial coefficients of real numbers, by Stirling's formula in pairs.

Source: NIST Digital Library of Mathematical Functions, 5.11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._late import special as sc
from .fallback import elsewhere
from .pairs import (
    PAIRS,
    pair_exponential,
    pair_logarithm,
    pair_product,
    pair_quotient,
    pair_root,
    pair_sum,
    two_sum,
)  # fmt: skip
from .stirling import stirling_error


def binomial(n: Any, k: Any, other: Callable[..., Any] = sc.binom) -> Any:
    """Binomial coefficient of real numbers; of a whole k SciPy's, by a product."""
    n, k = np.float64(1.0) * n, np.float64(1.0) * k
    inside = (k >= 0.01) & (n - k >= 0.01) & (n <= 1e6) & (k != np.rint(k))
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
    found = pair_exponential(exponent, pair_quotient(over, whole))
    return np.where(inside, found, elsewhere(other, inside, n, k))


BINOMIAL = (*PAIRS, stirling_error, elsewhere)

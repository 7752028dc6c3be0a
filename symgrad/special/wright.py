"""Wright's generalized Bessel function by its power series, of which the first terms are pairs.

Its condition by x alone is the mean of k over the terms: the more terms matter, the more a term may
be off, but for those of k = 0, 1 and 2.

Source: NIST Digital Library of Mathematical Functions, 10.46.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._late import special as sc
from .._ops.pairs import pair_product, pair_quotient, pair_sum, two_product, two_sum
from .fallback import elsewhere
from .gamma_pairs import rgamma_pair


def wright_bessel(
    a: Any, b: Any, x: Any,
    other: Callable[..., Any] = sc.wright_bessel, rgamma: Callable[..., Any] = sc.rgamma,
) -> Any:  # fmt: skip
    """The sum of ``x**k/(k!*gamma(a*k + b))``; SciPy's beyond a = 2, b = 8 and x = 4."""
    a, b, x = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * x
    inside = (a >= 0) & (a <= 2) & (b >= 1e-30) & (b <= 8) & (x >= 0) & (x <= 4)
    s, t, at = (np.where(inside, operand, 1.0) for operand in (a, b, x))
    rest = 0.0 * at
    for k in range(32, 2, -1):
        if k < 8:
            product, low = two_product(s, float(k))
            shape, lost = two_sum(product, t)
            # What is lost in rounding changes the gamma function by psi, close to log.
            term = rgamma(shape) * (1.0 - (low + lost) * (np.log(shape) - 0.5 / shape))
        else:
            term = rgamma(s * k + t)
        rest = term + at * (1.0 / (k + 1)) * rest
    total = rest, 0.0 * rest
    for n in (2.0, 1.0, 0.0):
        shape = pair_sum(two_product(s, n), (t, 0.0))
        share = pair_product(pair_quotient((at, 0.0), (n + 1.0, 0.0)), total)
        total = pair_sum(rgamma_pair(shape), share)
    return np.where(inside, total[0] + total[1], elsewhere(other, inside, a, b, x))

"""One over the gamma function as a pair of doubles.

Source: NIST Digital Library of Mathematical Functions, 5.5.1 and 5.7.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ops.pairs import pair_product, pair_quotient, pair_sum

#: Taylor coefficients of 1/gamma(1 + u), as pairs: the even ones from u**20 on down, the odd ones
#: from u**21 on down with the other sign.
EVEN = (
    (-3.696805618642206e-12, 0.0), (1.0434267116911005e-10, 0.0), (5.002007644469223e-09, 0.0),
    (-2.056338416977607e-07, 0.0), (-1.2504934821426706e-06, 0.0), (0.0001280502823881162, 0.0),
    (-0.0011651675918590652, 0.0), (-0.009621971527876973, 0.0),
    (0.16653861138229148, 1.0189144546842026e-17), (-0.6558780715202539, 2.137185197068536e-17),
    (1.0, 0.0),
)  # fmt: skip
ODD = (
    (-5.100370287454476e-13, 0.0), (-7.782263439905071e-12, 0.0), (1.18127457048702e-09, 0.0),
    (-6.116095104481416e-09, 0.0), (-1.133027231981696e-06, 0.0), (2.013485478078824e-05, 0.0),
    (0.00021524167411495098, 0.0), (-0.0072189432466631, 0.0),
    (0.04219773455554433, 3.3579992682480134e-18), (0.04200263503409524, -1.4920306285650505e-18),
    (-0.5772156649015329, 4.942915152430645e-18),
)  # fmt: skip


def pair_polynomial(x: Any, coefficients: Any) -> Any:
    """A polynomial of a pair, from the highest coefficient on; the last three are pairs."""
    rest = 0.0 * x[0]
    for high, _ in coefficients[:-3]:
        rest = rest * x[0] + high
    total = rest, 0.0 * rest
    for pair in coefficients[-3:]:
        total = pair_sum(pair_product(total, x), pair)
    return total


def rgamma_pair(x: Any) -> Any:
    """``1/gamma`` of a pair above 0 and up to 12."""
    whole = np.rint(x[0])
    u = pair_sum((x[0] - whole, 0.0), (x[1], 0.0))
    square = pair_product(u, u)
    odd = pair_product(u, pair_polynomial(square, ODD))
    total = pair_sum(pair_polynomial(square, EVEN), (-odd[0], -odd[1]))  # 1/gamma(1 + u)
    high, low = np.where(whole < 1.0, u[0], 1.0), np.where(whole < 1.0, u[1], 0.0)
    total = pair_product(total, (high, low))
    below = 1.0 + 0.0 * whole, 0.0 * whole
    for k in range(1, 12):
        more = whole > k
        factor = pair_sum(u, (float(k), 0.0))
        factor = np.where(more, factor[0], 1.0), np.where(more, factor[1], 0.0)
        below = pair_product(below, factor)
    return pair_quotient(total, below)

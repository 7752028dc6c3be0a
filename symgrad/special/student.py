"""Derivatives of Student's distribution by its degrees of freedom.

For 4 degrees and more they are integrals of the density times its score, taken as those of
:mod:`.shapes` are; for fewer they are those of the incomplete beta function of which it is half.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.ops.pairs import pair_exponential, pair_logarithm, pair_product, pair_sum, two_sum
from .densities import digamma_excess, t_parts
from .differences import digamma_half, positive_step
from .shapes import NODES, beta_reach, beta_tail


def student_score(w: Any, logarithm: Any, v: Any, halves: Any, order: int) -> Any:
    """The derivative by v of Student's density over it, at ``t*t == w*v``; or a second one.

    ``logarithm`` is that of 1 + w.
    """
    over = w / (1.0 + w)
    near = np.where(w < 0.5, w / (2.0 + w), 0.0)
    series = 0.0 * near
    for k in range(23, 1, -2):  # of atanh
        series = series * near * near + 1.0 / k
    small = 2.0 * near * near * (1.0 / (1.0 + near) + near * series)
    excess = np.where(w < 0.5, small, logarithm - over)
    score = 0.5 * (halves[0] - excess + over / v)
    if not order:
        return score
    bend = over * (over - (over + 2.0 / (1.0 + w)) / v) / v
    return score * score + 0.5 * (halves[1] + bend)


def student_tail(v: Any, w: Any, order: int) -> Any:
    """A derivative of Student's distribution function by v >= 4 at ``t*t == w*v``, over t*density.

    Over what is between 0 and t, or beyond t, on whose side the score has no zero.
    """
    n, share = 0.5 * (v + 1.0), w / (1.0 + w)
    halves = [digamma_half(v, k) for k in range(order + 1)]
    logarithm = np.log1p(w)
    inner = student_score(w, logarithm, v, halves, 0) > 0
    reach = 0.5 * beta_reach(0.5 * v, 0.5 + 0.0 * v, 1.0 / (1.0 + w), share)[0]
    total, low_part = 0.0 * w, 0.0 * w
    for node, weight in NODES:
        power = np.where(inner, node * node - 1.0, np.expm1(2.0 * (node * reach)))
        width = np.where(inner, 1.0, -reach * np.sqrt(1.0 + power))
        more = np.log1p(share * power)
        score = student_score(w * (1.0 + power), logarithm + more, v, halves, order)
        density = np.exp(-n * more) * width
        total, lost = two_sum(total, weight * density * score)
        low_part = low_part + lost
    return total + low_part


def student_by_beta(v: Any, w: Any, order: int) -> Any:
    """The same for small v: of half the incomplete beta function of v/2 and 1/2 at 1/(1 + w)."""
    share, rest = 1.0 / (1.0 + w), w / (1.0 + w)
    log_share, half = -np.log1p(w), 0.5 + 0.0 * v
    ten, n = (10.0, 0.0), (0.5 * v + 0.5, 0.0 * v)
    excess = digamma_excess(n)
    scores = []
    for own, part in ((0.5 * v, (1.0 + 0.0 * v, 0.0 * v)), (half, (w, 0.0 * w))):
        below = pair_product(two_sum(1.0, w), two_sum(own, 10.0))
        logarithm = pair_logarithm(pair_product(part, pair_sum(n, ten)), below)
        high, low = digamma_excess((own, 0.0 * v))
        scores.append(pair_sum(logarithm, pair_sum(excess, (-high, -low))))
    logs = (log_share, scores[0]), (-np.log1p(1.0 / w), scores[1])
    change = beta_tail(0.5 * v, half, (share, rest, *logs), 1 + order, 0)
    if not order:
        return -0.5 * (0.5 * change + 1.0 / v)
    score = log_share + positive_step(0.5 * v, half, 0)
    return -0.5 * (0.25 * change + (score + 0.5 * rest - (0.5 * share + 1.0) / v) / v)


def student_shape(v: Any, t: Any, slope: int = 0) -> Any:
    """The derivative of Student's distribution function by v; with a slope (1) the second one."""
    known = (v > 0) & (v < 1e100)
    inside = known & (t != 0) & (t == t)
    end = np.where((v > 0) & (t == 0), 0.0, math.nan)
    # What does not depend on t is computed once if v is a number.
    v, t = np.where(known, v, 1.0), np.where(inside, t, 1.0)
    exponent, factor, more, ((square, _), _, _) = t_parts(v, t)
    w = square / v
    few = v < 4.0
    share = np.where(
        few,
        student_by_beta(np.where(few, v, 0.5), w, slope),
        student_tail(np.where(few, 4.0, v), w, slope),
    )
    at = np.minimum(np.maximum(t, -1e140), 1e140)
    factor = pair_product(factor, pair_product((at, 0.0 * at), (share, 0.0 * share)))
    return np.where(inside, pair_exponential(exponent, factor, -v * more), end)

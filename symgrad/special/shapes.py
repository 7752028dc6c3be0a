"""Derivatives of the incomplete gamma and beta functions by their parameters.

They are integrals of a density times the derivative of its logarithm, ``log(t) - psi(a)`` and the
like, which has one zero. The integral over everything is 0, so the tail on either side of x will
do, and in the one without that zero nothing cancels. It is taken along the logarithm of t (beta:
of ``t/(1 - t)``), where the integrand has no singularities and falls at least exponentially:
Gauss's formula up to where it is ``exp(-40)``. Towards 0 it falls like ``t**a``, too slowly if a is
small. There the recurrence ``P(a, x) = P(a + 1, x) + x**a*exp(-x)/gamma(a + 1)`` comes before, ten
times, whose terms have derivatives of the same sign.

So one formula holds for all parameters, from very small ones to such as make the density a narrow
peak. Second derivatives by a are integrals over the same nodes; they do change sign.

Source: NIST Digital Library of Mathematical Functions, 5.11.2, 8.8.5, 8.17.18 and 8.17.19. For the
derivatives as sums: R. J. Moore, Algorithm AS 187: Derivatives of the incomplete gamma integral,
Applied Statistics 31, 1982; R. J. Boik, J. F. Robison-Cox, Derivatives of the incomplete beta
function, Journal of Statistical Software 3, 1998.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._ops.pairs import pair_exponential, pair_logarithm, pair_product, two_sum
from .densities import beta_parts, gamma_parts, t_parts
from .differences import digamma_half, positive_step

#: Nodes and weights of Gauss's formula for means over the interval from 0 to 1.
NODES = (
    (0.0013680690752592183, 0.003509305004735048), (0.007194244227365833, 0.008137197365452835),
    (0.017618872206246784, 0.01269603265463103), (0.03254696203113015, 0.017136931456510716),
    (0.05183942211697394, 0.02141794901111334), (0.07531619313371501, 0.025499029631188087),
    (0.1027581020160288, 0.029342046739267772), (0.13390894062985517, 0.032911111388180925),
    (0.1684778665348924, 0.03617289705442425), (0.20614212137961885, 0.039096947893535156),
    (0.2465500455338853, 0.041655962113473374), (0.2893243619346823, 0.043826046502201906),
    (0.33406569885893617, 0.045586939347881945), (0.38035631887393145, 0.04692219954040228),
    (0.42776401920860174, 0.04781936003963743), (0.4758461671561308, 0.0482700442573639),
    (0.5241538328438692, 0.0482700442573639), (0.5722359807913983, 0.04781936003963743),
    (0.6196436811260685, 0.04692219954040228), (0.6659343011410638, 0.045586939347881945),
    (0.7106756380653176, 0.043826046502201906), (0.7534499544661147, 0.041655962113473374),
    (0.7938578786203812, 0.039096947893535156), (0.8315221334651076, 0.03617289705442425),
    (0.8660910593701449, 0.032911111388180925), (0.8972418979839712, 0.029342046739267772),
    (0.9246838068662849, 0.025499029631188087), (0.9481605778830261, 0.02141794901111334),
    (0.9674530379688698, 0.017136931456510716), (0.9823811277937532, 0.01269603265463103),
    (0.9928057557726342, 0.008137197365452835), (0.9986319309247408, 0.003509305004735048),
)  # fmt: skip

# ---------------------------------------------------------------- gamma


def exponential_excess(s: Any) -> Any:
    """``exp(s) - 1 - s``: its series at an eighth of s, doubled three times, in positive terms."""
    part = 0.125 * s
    found = 0.0 * part
    for k in range(15, 1, -1):
        found = found * part + 1.0 / math.factorial(k)
    found = part * part * found
    for k in range(3):
        found = np.square(2.0**k * part + found) + 2.0 * found
    return found


def gamma_reach(a: Any, x: Any, low: Any) -> Any:
    """How far to go on a logarithmic scale from x until the gamma density has fallen to exp(-40).

    Or somewhat farther: ``exp(-s)`` is at least ``(2 - s)/(2 + s)``, and ``log(1 + r)`` at most
    ``r*(2 + r)/(2 + 2*r)``. Downwards for shape a + 10.
    """
    fall = np.where(low, (a - x) + 10.0, x - a)
    square = np.where(low, a + 10.0, 2.0 * fall + a)
    linear = 2.0 * fall - np.where(low, 40.0, 80.0)
    root = np.sqrt(linear * linear + 320.0 * square) + np.fabs(linear)
    reach = np.where(linear > 0, 160.0 / root, root / (2.0 * square))
    return fall, np.where(low, reach, np.log1p(reach))


def polygammas(z: Any, count: int) -> Any:
    """``log(z) - psi(z)`` and the first derivatives of ``-psi``, for z >= 10: asymptotic series."""
    over = 1.0 / z
    found = []
    for n in range(count):
        rest = 0.0 * over
        for j, c in (  # Bernoulli numbers B(2*j)
            (9, 43867 / 798), (8, -3617 / 510), (7, 7 / 6), (6, -691 / 2730), (5, 5 / 66),
            (4, -1 / 30), (3, 1 / 42), (2, -1 / 30), (1, 1 / 6),
        ):  # fmt: skip
            c = c * math.factorial(2 * j + n - 1) / math.factorial(2 * j)
            rest = (rest + c) * over * over
        rest = over * (0.5 * math.factorial(n)) + rest
        rest = math.factorial(n - 1) + rest if n else rest
        found.append((-over) ** n * rest)
    return found


def bell(scores: Any) -> Any:
    """The n-th derivative of a function over it, by n derivatives of its logarithm, and the last.

    These are complete Bell polynomials, beginning with 0 and 1.
    """
    found: Any = [0.0, 1.0]
    for n in range(len(scores)):
        rest = 0.0
        for k in range(1, n + 1):
            rest = rest + float(math.comb(n, k)) * scores[k] * found[n - k + 1]
        found.append(scores[0] * found[-1] + rest)
    return found[-1], found[-2]


def gamma_shape(a: Any, x: Any, order: int = 0) -> Any:
    """The derivative of the regularized incomplete gamma function by a, or a higher one.

    Of the complement it is the same with the other sign.
    """
    count = order + 1
    inside = (a > 0) & (a < 1e100) & (x > 0)
    end = np.where((a > 0) & (x == 0), 0.0, math.nan)
    a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    exponent, factor, more, (_, (at, _)) = gamma_parts(a, x)
    low = at < np.maximum(a, 0.5)
    # Derivatives of the density's logarithm for shapes a + 10, a + 9, ..., a + 1
    high, small = pair_logarithm((at, 0.0 * at), two_sum(a, 10.0))
    scores = polygammas(a + 10.0, count)
    scores = [[(high + (small + scores[0])) + more, *scores[1:]]]
    for k in range(9, 0, -1):
        over = 1.0 / (a + k)
        rises = [math.factorial(n) * (-1.0) ** n * over ** (n + 1) for n in range(count)]
        scores.append([u + v for u, v in zip(scores[-1], rises, strict=True)])
    # The tail: for shape a + 10, or above x that of a + 1 with a factor of a/t
    fall, reach = gamma_reach(a, at, low)
    starts = [np.where(low, u, v) for u, v in zip(scores[0], scores[-1], strict=True)]
    step, inverse = np.where(low, -reach, reach), np.where(low, 0.0, count / a)
    total = 0.0 * at
    for node, weight in NODES:
        s = node * step
        density = np.exp(-(fall * np.fabs(s) + at * exponential_excess(s)))
        own, last = bell([starts[0] + s, *starts[1:]])
        total = total + weight * density * (own + inverse * last)
    total = reach * total
    below = bell(scores[0])[0] + at * total
    for k in range(9, 0, -1):
        below = bell(scores[10 - k])[0] + at / (a + k) * below
    share = np.where(low, at / a * below, -at * total)
    found = pair_exponential(exponent, pair_product(factor, (share, 0.0 * share)), a * more)
    return np.where(inside, found, end)


# ---------------------------------------------------------------- beta


def mixed_bell(first: Any, second: Any, both: Any, i: int, j: int) -> Any:
    """The mixed derivatives of a function over it, up to i by one variable and j by another.

    By the derivatives of its logarithm: by one, by the other, and mixed ones from the second on.
    """

    def of_logarithm(m: int, n: int) -> Any:
        return both[m + n - 2] if m and n else first[m - 1] if m else second[n - 1]

    found: Any = {(0, 0): 1.0}
    for m, n in [(m, n) for m in range(i + 1) for n in range(j + 1) if m + n]:
        rest = (m - 1, n) if m else (0, n - 1)  # the others take part in a product
        total = 0.0
        for k in range(rest[0] + 1):
            for h in range(rest[1] + 1):
                ways = float(math.comb(rest[0], k) * math.comb(rest[1], h))
                total = total + ways * of_logarithm(m - k, n - h) * found[k, h]
        found[m, n] = total
    return found


def beta_reach(p: Any, q: Any, share: Any, rest: Any) -> Any:
    """How far down to go in ``log(t/(1 - t))`` until the beta density has fallen to exp(-40).

    By Newton's method, from the parabola that the exponent begins as. With it what gives the
    exponent at a distance s: ``linear*s + (p + q)*log1p(part*expm1(sign*s))``.
    """
    n, small = p + q, share < 0.5
    slope = np.maximum(p - n * share, 0.0)
    reach = 80.0 / (slope + np.sqrt(slope * slope + 80.0 * n * share * rest))
    farthest = np.log1p(np.expm1((40.0 + q * reach) / n) / rest)
    reach = np.minimum(reach, farthest)
    sign, part = np.where(small, -1.0, 1.0), np.where(small, share, rest)
    linear = np.where(small, p, -q)
    for _ in range(4):
        power = part * np.expm1(sign * reach)
        steep = linear + n * sign * (power + part) / (1.0 + power)
        reach = reach - (linear * reach + n * np.log1p(power) - 40.0) / steep
    return reach, sign, part, linear


def beta_slopes(p: Any, q: Any, step: Any, logs: Any, count: int) -> Any:
    """Derivatives of the logarithm of ``x**p*y**q*gamma(p + q)/gamma(p + 1)/gamma(q + step)``.

    By p, by q, and mixed ones, then the same for p + 1, ..., p + 9. Last, without the factor
    1/(p + 10), for p + 10. ``logs`` are the logarithms of x and y.
    """
    n = p + q
    factors = [math.factorial(k) * (-1.0) ** k for k in range(count)]
    lost = [c / n ** (k + 1) for k, c in enumerate(factors)]  # of psi(n), from psi(n + 1)
    own = [positive_step(p + 1.0, q, k) - v for k, v in enumerate(lost)]
    other = [positive_step(q + step, p, k) - step * v for k, v in enumerate(lost)]
    own[0], other[0] = logs[0] + own[0], logs[1] + other[0]
    both = [-v for v in polygammas(n + 10.0, count)[1:]]
    for k in range(9, -1, -1):
        u = 1.0 / (n + k)
        both = [
            v - c * u ** (m + 2) for m, (v, c) in enumerate(zip(both, factors[1:], strict=True))
        ]
    found = [(own, other, both)]
    for k in range(10):
        u = 1.0 / (n + k)
        v = 1.0 / (p + k + 1.0) if k < 9 else 0.0 * u
        gap = (1.0 - q) * u * v if k < 9 else u
        rises = [c * u ** (m + 1) for m, c in enumerate(factors)]
        own = [
            z + c * gap * sum(u**h * v ** (m - h) for h in range(m + 1))
            for m, (z, c) in enumerate(zip(own, factors, strict=True))
        ]
        other = [z + w for z, w in zip(other, rises, strict=True)]
        both = [z + w for z, w in zip(both, rises[1:], strict=True)]
        found.append((own, other, both))
    return found


def beta_tail(a: Any, b: Any, point: Any, i: int, j: int) -> Any:
    """A derivative of the regularized incomplete beta function by a and b, by a at least once.

    Over ``x**a*y**b/beta(a, b)``. ``point`` is x, y, and their logarithms.
    """
    x, y, log_x, log_y = point
    low = (x * b < np.maximum(a, 0.5) * y) & (y * (a + 1.0) > 0.05)
    # The tail below x, or of 1 - t that below y: p belongs to what is small in it
    p, q = np.where(low, a, b), np.where(low, b, a)
    share, rest = np.where(low, x, y), np.where(low, y, x)
    logs = np.where(low, log_x, log_y), np.where(low, log_y, log_x)
    # 1/gamma(q) is q/gamma(q + 1) if q is the smaller one, or digits cancel
    step = np.where(q < p, 1.0, 0.0)
    slopes = [
        (
            [np.where(low, u, v) for u, v in zip(own, other, strict=True)],
            [np.where(low, v, u) for u, v in zip(own, other, strict=True)],
            both,
        )
        for own, other, both in beta_slopes(p, q, step, logs, i + j)
    ]

    def change(first: Any, second: Any, both: Any) -> Any:
        found = mixed_bell(first, second, both, i, j)
        less = np.where(low, j * found[i, j - 1] if j else 0.0, i * found[i - 1, j])
        return found[i, j] + step * less / q

    reach, sign, part, linear = beta_reach(p + 10.0, q, share, rest)
    small = share < 0.5
    down = np.where(low == small, np.where(low, -1.0, 1.0), 0.0)
    along = np.where(low == small, 0.0, np.where(low, 1.0, -1.0))
    first, second, both = slopes[10]
    total, n = 0.0 * reach, a + b
    for node, weight in NODES:
        s = node * reach
        log_part = np.log1p(part * np.expm1(sign * s))
        density = np.exp(-(linear * s + (n + 10.0) * log_part))
        one = [first[0] + (down * s - log_part), *first[1:]]
        two = [second[0] + (along * s - log_part), *second[1:]]
        total = total + weight * density * change(one, two, both)
    below = change(*slopes[9]) + share * (n + 9.0) * reach * total
    for k in range(8, -1, -1):
        below = change(*slopes[k]) + share * (n + k) / (p + k + 1.0) * below
    return np.where(low, below, -below) / p


def beta_derivative(a: Any, b: Any, x: Any, i: int, j: int) -> Any:
    """A derivative of the regularized incomplete beta function: i times by a and j times by b."""
    inside = (a > 0) & (b > 0) & (a < 1e100) & (b < 1e100) & (x > 0) & (x < 1)
    end = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0.0, math.nan)
    a, b, x = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    exponent, factor, more, (_, _, _, at, rest) = beta_parts(a, b, x)
    log_x, log_y = np.log(at[0]) + more, np.log1p(-x)
    if i:
        share = beta_tail(a, b, (x, rest[0], log_x, log_y), i, j)
    else:
        share = -beta_tail(b, a, (rest[0], x, log_y, log_x), j, 0)
    factor = pair_product(pair_product(factor, pair_product(at, rest)), (share, 0.0 * share))
    return np.where(inside, pair_exponential(exponent, factor, a * more), end)


def beta_shape(a: Any, b: Any, x: Any, order: int = 0, second: int = 0) -> Any:
    """The derivative of the regularized incomplete beta function by a, or a higher one by a and b.

    Of the complement it is the same with the other sign.
    """
    return beta_derivative(a, b, x, order + 1, second)


def other_beta_shape(a: Any, b: Any, x: Any, order: int = 0) -> Any:
    """The derivative by b, or a higher one."""
    return beta_derivative(a, b, x, 0, order + 1)


# ---------------------------------------------------------------- Student's distribution


def student_score(w: Any, v: Any, halves: Any, order: int) -> Any:
    """The derivative by v of Student's density over it, at ``t*t == w*v``; or a second one."""
    over = w / (1.0 + w)
    r = w / (2.0 + w)
    near = np.where(w < 1.0, r, 0.0)
    series = 0.0 * near
    for k in range(33, 1, -2):  # of atanh
        series = series * near * near + 1.0 / k
    small = 2.0 * near * near * (1.0 / (1.0 + near) + near * series)
    excess = np.where(w < 1.0, small, np.log1p(w) - over)
    score = 0.5 * (halves[0] - excess + over / v)
    if not order:
        return score
    bend = over * (over - (over + 2.0 / (1.0 + w)) / v) / v
    return score * score + 0.5 * (halves[1] + bend)


def student_tail(v: Any, w: Any, order: int) -> Any:
    """A derivative of Student's distribution function by v >= 8 at ``t*t == w*v``, over t*density.

    Over what is between 0 and t, or beyond t, on whose side the score has no zero.
    """
    n, share = 0.5 * (v + 1.0), w / (1.0 + w)
    halves = [digamma_half(v, k) for k in range(order + 1)]
    inner = student_score(w, v, halves, 0) > 0
    reach = 0.5 * beta_reach(0.5 * v, 0.5 + 0.0 * v, 1.0 / (1.0 + w), share)[0]
    total = 0.0 * w
    for node, weight in NODES:
        power = np.where(inner, node * node - 1.0, np.expm1(2.0 * (node * reach)))
        width = np.where(inner, 1.0, -reach * np.sqrt(1.0 + power))
        density = np.exp(-n * np.log1p(share * power)) * width
        score = student_score(w * (1.0 + power), v, halves, order)
        total = total + weight * density * score
    return total


def student_by_beta(v: Any, w: Any, order: int) -> Any:
    """The same for small v: of half the incomplete beta function of v/2 and 1/2 at 1/(1 + w)."""
    share, rest = 1.0 / (1.0 + w), w / (1.0 + w)
    log_share, half = -np.log1p(w), 0.5 + 0.0 * v
    point = share, rest, log_share, -np.log1p(1.0 / w)
    change = beta_tail(0.5 * v, half, point, 1 + order, 0)
    if not order:
        return -0.5 * (0.5 * change + 1.0 / v)
    score = log_share + positive_step(0.5 * v, half, 0)
    return -0.5 * (0.25 * change + (score + 0.5 * rest - (0.5 * share + 1.0) / v) / v)


def student_shape(v: Any, t: Any, slope: int = 0) -> Any:
    """The derivative of Student's distribution function by v; with a slope (1) the second one."""
    inside = (v > 0) & (v < 1e100) & (t != 0) & (t == t)
    end = np.where((v > 0) & (t == 0), 0.0, math.nan)
    v, t = np.where(inside, v, 1.0), np.where(inside, t, 1.0)
    exponent, factor, more, ((square, _), _, _) = t_parts(v, t)
    w = square / v
    few = v < 8.0
    share = np.where(
        few,
        student_by_beta(np.where(few, v, 0.5), w, slope),
        student_tail(np.where(few, 8.0, v), w, slope),
    )
    at = np.minimum(np.maximum(t, -1e140), 1e140)
    factor = pair_product(factor, pair_product((at, 0.0 * at), (share, 0.0 * share)))
    return np.where(inside, pair_exponential(exponent, factor, -v * more), end)

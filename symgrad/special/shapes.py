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

from .._core.ops.pairs import (
    pair_exponential,
    pair_logarithm,
    pair_product,
    pair_quotient,
    pair_sum,
    two_sum,
)
from .densities import beta_parts, beta_slope, digamma_excess, gamma_parts
from .differences import positive_step
from .taylor import log_derivatives

#: Nodes and weights of Gauss's formula for means over the interval from 0 to 1.
NODES = (
    (0.0008811451447203998, 0.0022606385492665955), (0.004636880650271497, 0.005249142265576406),
    (0.011370025008112869, 0.008210529190953945), (0.021041590393104173, 0.01112292459708348),
    (0.03359359586066173, 0.0139685034900117), (0.04895059651556285, 0.016730097641273922),
    (0.06702024839387025, 0.019391083987236008), (0.08769388458334416, 0.021935454092836634),
    (0.1108471742867403, 0.024347903817536116), (0.13634087240503645, 0.02661392349196841),
    (0.16402165769291022, 0.028719884549695776), (0.19372305516600988, 0.03065312124646447),
    (0.2252664374524359, 0.03240200672830052), (0.25846209915691065, 0.03395602290761695),
    (0.2931103978141975, 0.03530582369564339), (0.32900295458712076, 0.03644329119790203),
    (0.36592390749637316, 0.03736158452898413), (0.40365120964931445, 0.03805518095031312),
    (0.4419579646623724, 0.038519909082123986), (0.48061379124697456, 0.0387529739892124),
    (0.5193862087530254, 0.0387529739892124), (0.5580420353376276, 0.038519909082123986),
    (0.5963487903506856, 0.03805518095031312), (0.6340760925036268, 0.03736158452898413),
    (0.6709970454128792, 0.03644329119790203), (0.7068896021858025, 0.03530582369564339),
    (0.7415379008430893, 0.03395602290761695), (0.7747335625475641, 0.03240200672830052),
    (0.8062769448339902, 0.03065312124646447), (0.8359783423070898, 0.028719884549695776),
    (0.8636591275949635, 0.02661392349196841), (0.8891528257132597, 0.024347903817536116),
    (0.9123061154166558, 0.021935454092836634), (0.9329797516061298, 0.019391083987236008),
    (0.9510494034844371, 0.016730097641273922), (0.9664064041393383, 0.0139685034900117),
    (0.9789584096068958, 0.01112292459708348), (0.9886299749918871, 0.008210529190953945),
    (0.9953631193497285, 0.005249142265576406), (0.9991188548552796, 0.0022606385492665955),
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


def gamma_shape(a: Any, x: Any, order: int = 0) -> Any:
    """The derivative of the regularized incomplete gamma function by a, or a higher one.

    Of the complement it is the same with the other sign. The function is analytic in a at 0, where
    recurrences divide by it: nearer to 0 than rounding tells, derivatives are those there.
    """
    count = order + 1
    known = (a > 0) & (a < 1e100)
    inside = known & (x > 0)
    end = np.where((a > 0) & (x == 0), 0.0, math.nan)
    # What does not depend on x is computed once if a is a number.
    a, x = np.where(known, np.maximum(a, 1e-17), 1.0), np.where(inside, x, 1.0)
    exponent, factor, more, (_, (at, _)) = gamma_parts(a, x)
    low = at < np.maximum(a, 0.5)
    # Derivatives of the density's logarithm for shapes a, a + 1, ..., a + 10; the first of a pair
    excess = digamma_excess((a, 0.0 * a))
    logarithm = pair_logarithm((at, 0.0 * at), two_sum(a, 10.0))
    score = pair_sum(pair_sum(logarithm, (-excess[0], -excess[1])), (more, 0.0 * more))
    bends = [polygammas(a + 10.0, count)[1:]]
    for k in range(9, -1, -1):
        over = 1.0 / (a + k)
        rises = [math.factorial(n) * (-1.0) ** n * over ** (n + 1) for n in range(1, count)]
        bends.append([u + v for u, v in zip(bends[-1], rises, strict=True)])
    scores = []
    for k in range(11):
        scores.append([score[0] + score[1], *bends[10 - k]])
        fall = pair_quotient((-1.0 + 0.0 * a, 0.0), two_sum(a, float(k)))
        score = pair_sum(score, fall)
    # The tail: of shape a + 10 below x. Above, derivatives after the first would cancel for small
    # a; there that of a + 1 stands with a factor of a/t
    fall, reach = gamma_reach(a, at, low)
    other = scores[1] if order else scores[0]
    starts = [np.where(low, u, v) for u, v in zip(scores[10], other, strict=True)]
    step, inverse = np.where(low, -reach, reach), np.where(low, 0.0, count / a) if order else 0.0
    total, low_part = 0.0 * at, 0.0 * at
    for node, weight in NODES:
        s = node * step
        density = np.exp(-(fall * np.fabs(s) + at * exponential_excess(s)))
        own, last = log_derivatives([starts[0] + s, *starts[1:]])
        total, lost = two_sum(total, weight * density * (own + inverse * last))
        low_part = low_part + lost
    total = reach * (total + low_part)
    below = log_derivatives(scores[10])[0] + at * total
    for k in range(9, 0, -1):
        below = log_derivatives(scores[k])[0] + at / (a + k) * below
    share = np.where(low, at / a * below, -at * total)
    found = pair_exponential(exponent, pair_product(factor, (share, 0.0 * share)), a * more)
    return np.where(inside, found, end)


# ---------------------------------------------------------------- beta


def mixed_derivatives(first: Any, second: Any, both: Any, i: int, j: int) -> Any:
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
    1/(p + 10), for p + 10. ``logs`` are the logarithms of x and y, and with them the derivatives
    of the density's logarithm by p and q, as pairs: close to 0 the former have more digits.
    """
    n = p + q
    factors = [math.factorial(k) * (-1.0) ** k for k in range(count)]
    lost = [c / n ** (k + 1) for k, c in enumerate(factors)]  # of psi(n), from psi(n + 1)
    own = [positive_step(p + 1.0, q, k) - v for k, v in enumerate(lost)]
    other = [positive_step(q + step, p, k) - step * v for k, v in enumerate(lost)]
    for found, log_part, score, by, of in (
        (own, *logs[0], 1.0 + 0.0 * p, p), (other, *logs[1], step, q),
    ):  # fmt: skip
        high, low = pair_sum(score, pair_quotient((-by, 0.0 * p), (of, 0.0 * p)))
        found[0] = np.where(np.fabs(log_part) > 0.1, high + low, log_part + found[0])
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


def either(which: Any, one: Any, other: Any) -> Any:
    """A number and a pair, or others."""
    (a, (b, c)), (u, (v, w)) = one, other
    return np.where(which, a, u), (np.where(which, b, v), np.where(which, c, w))


def beta_tail(a: Any, b: Any, point: Any, i: int, j: int) -> Any:
    """A derivative of the regularized incomplete beta function by a and b, by a at least once.

    Over ``x**a*y**b/beta(a, b)``. ``point`` is x, y, and for each its logarithm and a derivative
    of the density's, by a or b, as a pair.
    """
    x, y, log_x, log_y = point
    # A tail that has nearly all of the mass cancels.
    heavy = (b < 1e-3) & ((y > 1e-5) | (b < 1e-12))
    low = (x * b < np.maximum(a, 0.5) * y) & ((y * (a + 1.0) > 0.05) | heavy)
    # The tail below x, or of 1 - t that below y: p belongs to what is small in it
    p, q = np.where(low, a, b), np.where(low, b, a)
    share, rest = np.where(low, x, y), np.where(low, y, x)
    logs = either(low, log_x, log_y), either(low, log_y, log_x)
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
        found = mixed_derivatives(first, second, both, i, j)
        less = np.where(low, j * found[i, j - 1] if j else 0.0, i * found[i - 1, j])
        return found[i, j] + step * less / q

    reach, sign, part, linear = beta_reach(p + 10.0, q, share, rest)
    small = share < 0.5
    down = np.where(low == small, np.where(low, -1.0, 1.0), 0.0)
    along = np.where(low == small, 0.0, np.where(low, 1.0, -1.0))
    first, second, both = slopes[10]
    total, low_part, n = 0.0 * reach, 0.0 * reach, a + b
    for node, weight in NODES:
        s = node * reach
        log_part = np.log1p(part * np.expm1(sign * s))
        density = np.exp(-(linear * s + (n + 10.0) * log_part))
        one = [first[0] + (down * s - log_part), *first[1:]]
        two = [second[0] + (along * s - log_part), *second[1:]]
        total, lost = two_sum(total, weight * density * change(one, two, both))
        low_part = low_part + lost
    below = change(*slopes[9]) + share * (n + 9.0) * reach * (total + low_part)
    for k in range(8, -1, -1):
        below = change(*slopes[k]) + share * (n + k) / (p + k + 1.0) * below
    return np.where(low, below, -below) / p


def beta_derivative(a: Any, b: Any, x: Any, i: int, j: int) -> Any:
    """A derivative of the regularized incomplete beta function: i times by a and j times by b."""
    known = (a > 0) & (b > 0) & (a < 1e100) & (b < 1e100)
    inside = known & (x > 0) & (x < 1)
    end = np.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), 0.0, math.nan)
    # What does not depend on x is computed once if a and b are numbers.
    a, b, x = np.where(known, a, 1.0), np.where(known, b, 1.0), np.where(inside, x, 0.5)
    # As for the gamma function, each far below the other and below 1. Where one is 0 the function
    # is 0 or 1, and derivatives by the other alone are proportional to it.
    given, scale = (a, b), 1.0
    a, b = np.maximum(a, 1e-17 * np.minimum(b, 1.0)), np.maximum(b, 1e-17 * np.minimum(a, 1.0))
    if not i or not j:
        scale = given[0] / a if not i else given[1] / b
    exponent, factor, more, others = beta_parts(a, b, x)
    at, rest = others[3:]
    log_x = np.log(at[0]) + more, pair_sum(beta_slope(others, a, b, 1), (more, 0.0 * more))
    log_y = np.log1p(-x), beta_slope(others, a, b, 2)
    if i:
        share = beta_tail(a, b, (x, rest[0], log_x, log_y), i, j)
    else:
        share = -beta_tail(b, a, (rest[0], x, log_y, log_x), j, 0)
    factor = pair_product(pair_product(factor, pair_product(at, rest)), (share, 0.0 * share))
    return np.where(inside, scale * pair_exponential(exponent, factor, a * more), end)


def beta_shape(a: Any, b: Any, x: Any, order: int = 0, second: int = 0) -> Any:
    """The derivative of the regularized incomplete beta function by a, or a higher one by a and b.

    Of the complement it is the same with the other sign.
    """
    return beta_derivative(a, b, x, order + 1, second)


def other_beta_shape(a: Any, b: Any, x: Any, order: int = 0) -> Any:
    """The derivative by b, or a higher one."""
    return beta_derivative(a, b, x, 0, order + 1)


#: What their source needs beside what is found in it.
BETA_SHAPES = (positive_step, mixed_derivatives)

"""The Bessel function of the second kind of real order, by Temme's series in pairs of doubles.

The function has zeros where terms cancel, and its derivative is the difference of two orders: the
first terms, and the recurrence to the order wanted, are pairs up to the last step.

Source: N. M. Temme, On the numerical evaluation of the ordinary Bessel function of the second kind,
Journal of Computational Physics 21, 1976; NIST Digital Library of Mathematical Functions, 5.7.1,
10.4.5, 10.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.scipy_names import special as sc
from .._core.ops.pairs import (
    pair_logarithm,
    pair_power,
    pair_product,
    pair_quotient,
    pair_sum,
    two_product,
    two_sum,
)
from .bessel_orders import bessel_j
from .gamma import EVEN, ODD, pair_polynomial
from .records import elsewhere

#: Taylor coefficients of (1 - cos(pi*u))/u**2, from u**20 on down, as pairs.
TURN = (
    (7.700707130601354e-11, 0.0), (-3.604730797462501e-09, 0.0), (1.3878952462213771e-07, 0.0),
    (-4.303069587032947e-06, 0.0), (0.0001046381049248457, 0.0), (-0.0019295743094039231, 0.0),
    (0.02580689139001406, 0.0), (-0.2353306303588932, 0.0),
    (1.3352627688545895, -3.1815237892149862e-18), (-4.0587121264167685, 2.6602000824298645e-16),
    (4.934802200544679, 3.1326477543698557e-16),
)  # fmt: skip


def hyperbolic(s: Any, power: Any) -> Any:
    """``cosh(s)`` and ``sinh(s)/s`` as pairs; the power is ``exp(s)``."""
    inverse = pair_quotient((1.0, 0.0), power)
    even = pair_sum(power, inverse)
    near = np.fabs(s[0]) < 0.1
    flat = np.where(near, 1.0, s[0]), np.where(near, 0.0, s[1])
    odd = pair_quotient(pair_sum(power, (-inverse[0], -inverse[1])), flat)
    square, rest = s[0] * s[0], 0.0 * s[0]
    for k in range(10, 0, -2):
        rest = square / (k * (k + 1)) * (1.0 + rest)
    whole, lost = two_sum(1.0, rest)
    odd = np.where(near, whole, 0.5 * odd[0]), np.where(near, lost, 0.5 * odd[1])
    return (0.5 * even[0], 0.5 * even[1]), odd


def temme_y(u: Any, x: Any) -> Any:
    """Pairs of -pi/2 times Y of orders u and u + 1, for abs(u) <= 1/2 and x up to 2."""
    half = 0.5 * x
    square = two_product(u, u)
    even = pair_polynomial(square, EVEN)
    odd = pair_polynomial(square, ODD)
    more = pair_product((u, 0.0), odd)
    below, above = pair_sum(even, (-more[0], -more[1])), pair_sum(even, more)
    log = pair_logarithm((1.0 + 0.0 * half, 0.0), (half, 0.0))
    s = pair_product((u, 0.0), log)
    power = pair_power(s)
    cosh, sinh = hyperbolic(s, power)
    f = pair_sum(pair_product(cosh, odd), pair_product(pair_product(log, sinh), even))
    f = pair_quotient(f, pair_product(below, above))  # pi*u/sin(pi*u), by reflection
    p = pair_quotient((0.5 * power[0], 0.5 * power[1]), below)
    q = pair_quotient((0.5, 0.0), pair_product(power, above))
    turn = pair_product((u, 0.0), pair_polynomial(square, TURN))
    z = two_product(half, -half)
    first, second, c = pair_sum(f, pair_product(turn, q)), p, (1.0, 0.0)
    for k in range(1, 4):
        f = pair_sum(pair_product((k, 0.0), f), pair_sum(p, q))
        f = pair_quotient(f, pair_sum((k * k, 0.0), (-square[0], -square[1])))
        p, q = pair_quotient(p, two_sum(k, -u)), pair_quotient(q, two_sum(k, u))
        c = pair_quotient(pair_product(c, z), (k, 0.0))
        g = pair_sum(f, pair_product(turn, q))
        first = pair_sum(first, pair_product(c, g))
        second = pair_sum(second, pair_product(c, pair_sum(p, pair_product((-k, 0.0), g))))
    term, p, q, factor = f[0], p[0], q[0], c[0]
    rest, more = 0.0 * term, 0.0 * term
    for k in range(4, 14):
        term = (k * term + p + q) / (k * k - square[0])
        p, q = p / (k - u), q / (k + u)
        factor = factor * z[0] * (1.0 / k)
        g = term + turn[0] * q
        rest, more = rest + factor * g, more + factor * (p - k * g)
    second = pair_quotient(pair_sum(second, (more, 0.0)), (half, 0.0))
    return pair_sum(first, (rest, 0.0)), second


def direct_y(v: Any, x: Any, slope: int) -> Any:
    """Y, or its derivative by x (2), for v between -1/2 and 5.5, and x up to 2."""
    u = v - np.rint(v)
    first, second = temme_y(u, x)
    for k in range(1, 6):
        more = v - u >= k
        order = two_sum(u, k)
        factor = pair_quotient((2.0 * order[0], 2.0 * order[1]), (x, 0.0))
        next_one = pair_sum(pair_product(factor, second), (-first[0], -first[1]))
        first = tuple(np.where(more, a, b) for a, b in zip(second, first, strict=True))
        second = tuple(np.where(more, a, b) for a, b in zip(next_one, second, strict=True))
    if slope:
        share = pair_product(pair_quotient((v, 0.0), (x, 0.0)), first)
        first = pair_sum(share, (-second[0], -second[1]))
    # -2/pi as a pair
    high, low = pair_product((-0.6366197723675814, 3.935735335036497e-17), first)
    return high + low


def sine_of(turns: Any) -> Any:
    """``sin(pi*turns)``, exactly 0 for whole numbers: what it multiplies may be large."""
    whole = np.rint(turns)
    return (1.0 - 2.0 * np.remainder(whole, 2.0)) * np.sin(math.pi * (turns - whole))


def bessel_y(v: Any, x: Any, other: Callable[..., Any] = sc.yv, slope: int = 0) -> Any:
    """Bessel function of the second kind, or its derivative by x (2).

    Of order -1/2 and below by those of the other sign, and so for negative ones beyond x = 2.
    """
    v, x = np.float64(1.0) * v, np.float64(1.0) * x
    turned = (v <= -0.5) | ((v < 0) & (x > 2))
    a = np.where(turned, -v, v)
    inside = (a < 5.5) & (x >= 1e-30) & (x <= 2)
    found = direct_y(np.where(inside, a, 0.0), np.where(inside, x, 1.0), slope)
    turned = turned & (inside | ((v >= -60) & (x > 2) & (x <= 25)))
    order = np.where(turned, a, v)
    if slope:
        low = (order < 1.0) & (x > 2)  # SciPy's lose digits where the order is negative
        below = elsewhere(other, inside, np.where(low, order, order - 1.0), x)
        above = elsewhere(other, inside, order + 1.0, x)
        beyond = np.where(low, order / x * below - above, 0.5 * (below - above))
    else:
        beyond = elsewhere(other, inside, order, x)
    found = np.where(inside, found, beyond)
    a, at = np.where(turned, a, 0.0), np.where(turned, x, 1.0)
    if slope:
        j = 0.5 * (bessel_j(a - 1.0, at) - bessel_j(a + 1.0, at))
    else:
        j = bessel_j(a, at)
    both = sine_of(a) * j + sine_of(0.5 - a) * found
    return np.where(turned, both, found)

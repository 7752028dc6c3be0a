"""Hypergeometric functions, Tricomi's, and Wright's: by series of one sign, or nearly.

SciPy's hyp1f1 loses up to 800 ulp for parameters close to each other or to whole numbers, and its
hyp0f1 goes by Bessel functions. Of Wright's generalized Bessel function the first terms are pairs:
its condition by x alone is the mean of k over the terms, so the more terms matter, the more a term
may be off, but for those of k = 0, 1 and 2.

Source: NIST Digital Library of Mathematical Functions, 10.46.1, 13.2.2, 13.2.39, 13.4.4, 15.2.1,
15.8.1 and 16.2.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import (
    Code,
    Composed,
    Cython,
    Evidence,
    Map,
    Op,
    Partials,
    Positive,
    Real,
    Words,
    define,
)
from .._core.ops.pairs import PAIRS, pair_product, pair_quotient, pair_sum, two_product, two_sum
from . import multiple_precision as precisely
from .gamma import rgamma_pair
from .hypergeometric_slopes import (
    BY_PARAMETERS,
    CONVENTION,
    HYP0F1_SLOPE,
    HYP1F1_SLOPE,
    HYP2F1_SLOPE,
)
from .records import ORDER, POSITIVE, UNARY, boxed, elsewhere, evaluated, of_scipy, source_of


def confluent(a: Any, b: Any, x: Any, other: Callable[..., Any] = sc.hyp1f1) -> Any:
    """Kummer's function, for negative x by his transformation unless its terms fall at once.

    Of the nine terms that may differ in sign then the sum is one of pairs.
    """
    a, b, x = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * x
    inside = (a > 0) & (a <= 8) & (b >= 0.01) & (b <= 40) & (x >= -6) & (x <= 10)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    at = np.where(inside, x, 0.0)
    turned = first * at < -0.5 * second
    high, low = two_sum(second, -first)
    first, low = np.where(turned, high, first), np.where(turned, low, 0.0)
    along = np.where((at < 0) & ~turned, at, np.fabs(at))
    rest = 0.0 * at
    for k in range(55, 8, -1):
        rest = (first + k) * along / ((second + k) * (k + 1.0)) * (1.0 + rest)
    total = two_sum(1.0, rest)
    for k in range(8, -1, -1):
        above = pair_product(pair_sum((first, low), (float(k), 0.0)), (along, 0.0))
        below = pair_product(two_sum(second, float(k)), (k + 1.0, 0.0))
        total = pair_product(pair_quotient(above, below), total)
        total = pair_sum((1.0, 0.0), total)
    power = np.exp(np.where(turned, at, 0.0)), 0.0
    high, low = pair_product(power, total)
    return np.where(inside, high + low, elsewhere(other, inside, a, b, x))


def limit_function(b: Any, x: Any, other: Callable[..., Any] = sc.hyp0f1) -> Any:
    """The confluent hypergeometric limit function: the first terms, which may cancel, in pairs."""
    b, x = np.float64(1.0) * b, np.float64(1.0) * x
    inside = (b >= 0.01) & (x >= -4) & (x <= 16)
    order, at = np.where(inside, b, 1.0), np.where(inside, x, 0.0)
    rest = 0.0 * at
    for k in range(25, 4, -1):
        rest = at / ((order + k) * (k + 1.0)) * (1.0 + rest)
    total = two_sum(1.0, rest)
    for k in range(4, -1, -1):
        below = pair_product(two_sum(order, float(k)), (k + 1.0, 0.0))
        total = pair_product(pair_quotient((at, 0.0), below), total)
        total = pair_sum((1.0, 0.0), total)
    return np.where(inside, total[0] + total[1], elsewhere(other, inside, b, x))


def gauss(a: Any, b: Any, c: Any, x: Any, other: Callable[..., Any] = sc.hyp2f1) -> Any:
    """Gauss' hypergeometric function, for negative x by Pfaff's transformation."""
    a, b, c, x = (np.float64(1.0) * v for v in (a, b, c, x))
    inside = (a > 0) & (a <= 3) & (b > 0) & (b <= 3) & (c >= 0.5) & (c <= 20)
    inside = inside & (x >= -1) & (x <= 0.5)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    third, at = np.where(inside, c, 1.0), np.where(inside, x, 0.0)
    turned = (at < -0.5) | (first * second * at < -0.25 * third)
    factor = np.where(turned, (1.0 - at) ** -first, 1.0)
    second = np.where(turned, third - second, second)
    at = np.where(turned, at / (at - 1.0), at)
    total = 1.0 + 0.0 * at
    for k in range(71, -1, -1):
        total = 1.0 + (first + k) * (second + k) * at / ((third + k) * (k + 1.0)) * total
    return np.where(inside, factor * total, elsewhere(other, inside, a, b, c, x))


# ---------------------------------------------------------------- records

# Sums of z**k/(v)_k/k!: a family that contains every derivative of sin(x)/x, without the
# differences of nearly equal numbers that these have near 0.
HYP0F1: Op = boxed(
    "Hyp0f1", sc.hyp0f1, limit_function, (Positive, Real), lambda v, z: sp.hyper([], [v], z),
    lambda y, v, z: (HYP0F1_SLOPE(v, z, first=1), HYP0F1(v + 1, z) / v),
    Evidence(samples=((1, 3), (-3, 3)), ulp=64.0), Words(convention=CONVENTION),
    helpers=(elsewhere,),
)  # fmt: skip
HYP1F1: Op = boxed(
    "Hyp1f1", sc.hyp1f1, confluent, (Positive, Positive, Real),
    lambda a, b, x: sp.hyper([a], [b], x),
    lambda y, a, b, x: (
        HYP1F1_SLOPE(a, b, x, first=1), HYP1F1_SLOPE(a, b, x, second=1),
        a / b * HYP1F1(a + 1, b + 1, x),
    ),
    Evidence(samples=((0.5, 3), (0.5, 3), (-1, 2)), ulp=512.0),
    Words("Confluent hypergeometric function.", convention=CONVENTION), helpers=(*PAIRS, elsewhere),
)  # fmt: skip
HYP2F1: Op = boxed(
    "Hyp2f1", sc.hyp2f1, gauss, (Positive, Positive, Positive, Real),
    lambda a, b, c, x: sp.hyper([a, b], [c], x),
    lambda y, a, b, c, x: (
        *(HYP2F1_SLOPE(a, b, c, x, **{place: 1}) for place in BY_PARAMETERS),
        a * b / c * HYP2F1(a + 1, b + 1, c + 1, x),
    ),
    Evidence(samples=((0.5, 2), (0.5, 2), (0.5, 3), (-0.5, 0.5)), ulp=512.0),
    Words("Gauss' hypergeometric function.", convention=CONVENTION), helpers=(elsewhere,),
)  # fmt: skip


# ---------------------------------------------------------------- Tricomi's function

_ALL_POSITIVE = (Positive, Positive, Positive)


def hyperu_as_mean(
    a: Any, b: Any, x: Any, other: Callable[..., Any] = sc.hyperu, slope: int = 0
) -> Any:
    """Tricomi's function: the mean of (1 + t/x)**(b - a - 1), t being gamma distributed, over x**a.

    By the trapezoidal rule for u with t = exp(u - exp(-u)), whose error cancels in the mean. What
    is computed from series divides by sin(pi*b). For other operands than these, SciPy's. With a
    slope (3) its derivative by x: a factor of -t/x more.

    Source: NIST Digital Library of Mathematical Functions, 13.4.4; H. Takahasi, M. Mori, Double
    exponential formulas for numerical integration, Publ. RIMS 9, 1974.
    """
    inside = (a >= 0.5) & (a <= 20.0) & (np.fabs(b) <= 20.0) & (x >= 0.01)
    shape, at = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    power = np.where(inside, b - a - 1.0, 0.0)
    total = weights = 0.0 * shape, 0.0 * shape
    for k in range(-52, 58):
        s = k / 12.0 - math.exp(-k / 12.0)
        t = math.exp(s)
        weight = (1.0 + math.exp(-k / 12.0)) * np.exp(shape * s - t)
        term = weight * (t if slope else 1.0)
        high, low = two_sum(total[0], term * (1.0 + t / at) ** power)
        total = high, total[1] + low
        high, low = two_sum(weights[0], weight)
        weights = high, weights[1] + low
    mean = pair_quotient(pair_quotient(total, weights), (at**shape, 0.0))
    if not slope:
        return np.where(inside, mean[0] + mean[1], elsewhere(other, inside, a, b, x))
    high, low = pair_quotient(mean, (-at, 0.0))
    return np.where(inside, high + low, -a * elsewhere(other, inside, a + 1.0, b + 1.0, x))


def _hyperu_form(a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    u = sp.Function("Hyperu")
    return -a * u(a + 1, b + 1, x) if slope else u(a, b, x)


HYPERU: Op = boxed(
    "Hyperu", sc.hyperu, hyperu_as_mean, _ALL_POSITIVE, None,
    lambda y, a, b, x, slope=0: (
        math.nan, math.nan,
        a * (a + 1) * HYPERU(a + 2, b + 2, x) if slope else HYPERU(a, b, x, slope=3),
    ),
    Evidence(samples=((0.5, 1.5), (1.1, 1.9), (0.5, 3)), ulp=16.0, precise=precisely.hyperu),
    Words("Tricomi's confluent hypergeometric function.", convention=ORDER, reading=_hyperu_form),
    slopes=3, helpers=(two_sum, two_product, pair_quotient, elsewhere),
)  # fmt: skip


# ---------------------------------------------------------------- Wright's functions


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


_WRIGHT_OF_SCIPY = of_scipy("WrightBessel", sc.wright_bessel, _ALL_POSITIVE)
_RGAMMA_OF_SCIPY = of_scipy("WrightBesselGamma", sc.rgamma, POSITIVE)
WRIGHT_BESSEL: Op = define(
    Map("WrightBessel", functions=(sc.wright_bessel,),
        evaluate=evaluated(wright_bessel, sc.wright_bessel), domain=_ALL_POSITIVE, sympy=None,
        rule=Partials(lambda y, a, b, x: (math.nan, math.nan, WRIGHT_BESSEL(a, b + a, x)))),
    Code(Composed(lambda a, b, x: wright_bessel(a, b, x, _WRIGHT_OF_SCIPY, _RGAMMA_OF_SCIPY)),
        source=source_of("wright_bessel"), helpers=(wright_bessel,)),
    Evidence(samples=((0.3, 2), (0.5, 3), (0.2, 3)), ulp=512.0, precise=precisely.wright_bessel),
    Words("Wright's generalized Bessel function.", convention=ORDER),
)  # fmt: skip
WRIGHT_OMEGA: Op = define(
    Map("WrightOmega", functions=(sc.wrightomega,), domain=UNARY,
        sympy=lambda x: sp.LambertW(sp.exp(x)), rule=Partials(lambda y, x: (y / (1 + y),))),
    Code(Cython("wrightomega")),
    Evidence(samples=(-3, 5), ulp=8.0),
    Words("Solution y of y + log(y) = x."),
)  # fmt: skip

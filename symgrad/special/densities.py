"""Densities of the gamma and beta distribution and of Student's, and their derivatives.

The logarithms of gamma functions and powers are far larger than what is left of them. With
Stirling's formula they are put together before any is computed: what remains is its error and a
deviance, both small where a density is large. All but the exponential is computed with twice the
precision, so that a value is off by the roundings of that and of the last step. So is a derivative,
the density times that of its logarithm, where the latter's terms cancel, too.

Source: C. Loader, Fast and accurate computation of binomial probabilities, 2000; NIST Digital
Library of Mathematical Functions, 5.5.2 and 5.11.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.ops.pairs import (
    PAIRS,
    pair_exponential,
    pair_logarithm,
    pair_product,
    pair_quotient,
    pair_root,
    pair_sum,
    two_product,
    two_sum,
)


def stirling_error(z: Any) -> Any:
    """The logarithm of ``gamma(z + 1)/(sqrt(2*pi*z)*(z/e)**z)``, for z > 0.

    An interpolating polynomial of z times it in 1/(z + 1/2); below 1/2 by the next z.
    """
    at = np.where(z < 0.5, z + 1.0, z)
    t = 2.0 / (at + 0.5) - 1.0
    found = 0.0 * t
    for c in (
        -4.301345687026508e-12, -6.22780427565366e-12, 5.610974524679254e-11,
        -2.1255506722263072e-11, -1.671416211289557e-10, 1.8508681261149337e-10,
        4.2514187806844303e-11, -4.750376013436515e-11, -5.2918794695421745e-11,
        -5.280203471481774e-10, 1.7984324705816695e-09, -3.5345649938429347e-09,
        2.842992313129512e-09, 9.050527674972426e-10, -3.391202637772149e-08,
        5.142351544202282e-08, -2.2057840391382836e-07, -3.7236566883182913e-07,
        -3.6170410843143045e-07, -8.620126893644988e-06, -1.6869926955207678e-05,
        -6.453986214791182e-05, -0.000589742915781131, -0.0021244285025751996,
        -0.002702839715071724, 0.08222118157787649,
    ):  # fmt: skip
        found = found * t + c
    found = found / at
    low = np.where(z < 0.5, z, 0.5)
    return np.where(z < 0.5, found + ((low + 0.5) * np.log1p(1.0 / low) - 1.0), found)


def digamma_excess(z: Any) -> Any:
    """``psi(z) - log(z + 10)`` of a positive pair: ten reciprocals and the asymptotic series."""
    one = 1.0 + 0.0 * z[0], 0.0
    total = pair_quotient(one, z)
    for k in range(1, 10):
        total = pair_sum(total, pair_quotient(one, pair_sum(z, (float(k), 0.0))))
    half, low = pair_quotient((0.5 * one[0], 0.0), pair_sum(z, (10.0, 0.0)))
    square = 4.0 * half * half
    rest = 0.0 * square
    for c in (  # Bernoulli numbers B(2*j)/(2*j)
        43867 / 14364, -3617 / 8160, 1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120,
        1 / 12,
    ):  # fmt: skip
        rest = (rest + c) * square
    total = pair_sum(total, (half, low + rest))
    return -total[0], -total[1]


def raised(z: Any) -> Any:
    """A positive pair, or from below 1/2 the next one; what z is of that; and by how much."""
    few = z[0] < 0.5
    step = np.where(few, 1.0, 0.0)
    base = pair_sum(z, (step, 0.0))
    high, low = pair_quotient(z, base)
    return base, (np.where(few, high, 1.0), np.where(few, low, 0.0)), step


def gamma_parts(a: Any, x: Any) -> Any:
    """What the gamma density is made of.

    Its exponent, its factor, what is left of x below the smallest, and the operands as pairs: the
    shape less 1, the shape or the next one, and x.
    """
    at = np.minimum(np.maximum(x, 1e-280), 1e290), 0.0
    less = two_sum(a, -1.0)
    base, share, _ = raised((a, 0.0 * a))
    exponent = pair_product(less, pair_logarithm(at, base))
    exponent = pair_sum(exponent, pair_sum(base, (-at[0], 0.0)))
    exponent = pair_sum(exponent, (-stirling_error(base[0]), 0.0))
    over = pair_quotient((0.15915494309189535, -9.839338337591243e-18), base)  # 1/(2*pi), a pair
    factor = pair_product(pair_root(over), share)
    return exponent, factor, np.log(np.minimum(x * 1e280, 1.0)), (less, at)


def gamma_density(a: Any, x: Any, slope: int = 0) -> Any:
    """Density of the gamma distribution; a derivative by a (1) or x (2)."""
    exponent, factor, more, (less, at) = gamma_parts(a, x)
    if slope == 1:
        whole = two_sum(a, 0.0)
        excess = digamma_excess(whole)
        logarithm = pair_logarithm(at, pair_sum(whole, (10.0, 0.0)))
        factor = pair_product(factor, pair_sum(logarithm, (-excess[0], -excess[1])))
    elif slope == 2:
        factor = pair_product(factor, pair_quotient(pair_sum(less, (-at[0], 0.0)), at))
    power = a - (1.0 + (slope == 2))
    if slope == 2:
        power = np.where(a == 1.0, 0.0, power)  # exp(-x) has the slope of its size
    found = pair_exponential(exponent, factor, np.where(power == 0, 0.0, power * more))
    return np.where(x == 0, slope_at_end(a, -1.0, 1.0), found) if slope == 2 else found


def slope_at_end(a: Any, first: Any, second: Any) -> Any:
    """The slope at 0 of a density that begins as ``x**(a - 1)``, for a = 1 and 2 as given."""
    steep = np.where(a > 1.0, math.inf, -math.inf)
    return np.where(a == 1.0, first, np.where(a == 2.0, second, np.where(a > 2.0, 0.0, steep)))


def beta_parts(a: Any, b: Any, x: Any) -> Any:
    """What the beta density is made of.

    Its exponent, its factor, what is left of x below the smallest, and the operands as pairs: the
    parameters less 1, their sum, x and what it leaves of 1.
    """
    at = np.maximum(x, 1e-280), 0.0
    rest = two_sum(1.0, -at[0])
    first, second, n = two_sum(a, -1.0), two_sum(b, -1.0), two_sum(a, b)
    (one, own, i), (two, other, j) = raised((a, 0.0 * a)), raised((b, 0.0 * b))
    both, whole, k = raised(n)
    exponent = pair_sum(
        pair_product(first, pair_logarithm(pair_product(both, at), one)),
        pair_product(second, pair_logarithm(pair_product(both, rest), two)),
    )
    errors = (stirling_error(both[0]) - stirling_error(one[0])) - stirling_error(two[0])
    exponent = pair_sum(pair_sum(exponent, ((i + j) - k, 0.0)), (errors, 0.0))
    over = pair_product(both, (0.15915494309189535, -9.839338337591243e-18))  # 1/(2*pi), a pair
    over = pair_quotient(pair_quotient(over, one), two)
    factor = pair_product(pair_quotient(pair_product(own, other), whole), pair_root(over))
    factor = pair_product(both, factor)
    more = np.log(np.minimum(x * 1e280, 1.0))
    return exponent, factor, more, (first, second, n, at, rest)


def beta_slope(parts: Any, a: Any, b: Any, slope: int) -> Any:
    """The derivative of the logarithm of the beta density by a (1), b (2) or x (3), a pair."""
    first, second, n, at, rest = parts
    if slope == 3:
        fall = pair_quotient(second, rest)
        return pair_sum(pair_quotient(first, at), (-fall[0], -fall[1]))
    one, where = ((a, at), (b, rest))[slope - 1]
    ten = 10.0, 0.0
    own = two_sum(one, 0.0 * one)
    logarithm = pair_logarithm(pair_product(where, pair_sum(n, ten)), pair_sum(own, ten))
    high, low = digamma_excess(own)
    return pair_sum(logarithm, pair_sum(digamma_excess(n), (-high, -low)))


def beta_ends(a: Any, b: Any, x: Any) -> Any:
    """The beta density at 0 and 1."""
    power, other = np.where(x == 0, a, b), np.where(x == 0, b, a)
    return np.where(power == 1, other, np.where(power > 1, 0.0 * power, math.inf))


def beta_density(a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    """Density of the beta distribution; a derivative by a (1), b (2) or x (3)."""
    end = (x == 0) | (x == 1)
    inner = np.where(end, 0.5, x)
    exponent, factor, more, parts = beta_parts(a, b, inner)
    if slope:
        factor = pair_product(factor, beta_slope(parts, a, b, slope))
    power = a - (1.0 + (slope == 3))
    if slope == 3:
        power = np.where(a == 1.0, 0.0, power)
    found = pair_exponential(exponent, factor, np.where(power == 0, 0.0, power * more))
    if slope == 3:
        one, other = np.where(x == 0, a, b), np.where(x == 0, b, a)
        edge = slope_at_end(one, -other * (other - 1.0), other * (other + 1.0))
        return np.where(end, np.where(x == 0, edge, -edge), found)
    return np.where(end, math.nan if slope else beta_ends(a, b, x), found)


def t_parts(v: Any, t: Any) -> Any:
    """What Student's density is made of.

    Its exponent, its factor, what is left of t beyond the largest, and as pairs t squared, v and
    that, and (v + 1)/2.
    """
    at = np.minimum(np.fabs(t), 1e140)
    square = two_product(at, at)
    whole = pair_sum(square, (v, 0.0))
    above = two_sum(0.5 * v, 0.5)
    base, share, step = raised((0.5 * v, 0.0 * v))
    ratio = pair_product((0.5 * v, 0.0), pair_logarithm(above, base))
    high, low = pair_product(above, pair_logarithm(whole, (v, 0.0)))
    errors = stirling_error(above[0]) - stirling_error(base[0])
    exponent = pair_sum(pair_sum(ratio, (step - 0.5, 0.0)), pair_sum((errors, 0.0), (-high, -low)))
    # 1/sqrt(2*pi), a pair
    factor = pair_product(pair_root(share), (0.3989422804014327, -2.49232720227773e-17))
    more = np.log(np.maximum(np.fabs(t) * 1e-140, 1.0))
    return exponent, factor, more, (square, whole, above)


def t_slope(parts: Any, v: Any, t: Any, slope: int) -> Any:
    """The derivative of the logarithm of Student's density by v (1) or t (2), a pair."""
    square, whole, above = parts
    if slope == 2:
        at = np.minimum(np.maximum(t, -1e140), 1e140)
        return pair_quotient(pair_product((-2.0 * above[0], -2.0 * above[1]), (at, 0.0)), whole)
    half, ten = (0.5 * v, 0.0), (10.0, 0.0)
    logarithm = pair_logarithm(
        pair_product(pair_sum(above, ten), (v, 0.0)), pair_product(pair_sum(half, ten), whole)
    )
    high, low = digamma_excess(half)
    found = pair_sum(logarithm, pair_sum(digamma_excess(above), (-high, -low)))
    high, low = pair_sum(found, pair_quotient(pair_sum(square, (-1.0, 0.0)), whole))
    return 0.5 * high, 0.5 * low


def t_density(v: Any, t: Any, slope: int = 0) -> Any:
    """Density of Student's t distribution; a derivative by v (1) or t (2)."""
    exponent, factor, more, parts = t_parts(v, t)
    if slope:
        factor = pair_product(factor, t_slope(parts, v, t, slope))
    return pair_exponential(exponent, factor, -(v + (1.0 + (slope == 2))) * more)


#: What the source of all needs, and that of each.
COMMON = (*PAIRS, stirling_error, digamma_excess, raised)
GAMMA = (*COMMON, gamma_parts, slope_at_end, gamma_density)
BETA = (*COMMON, beta_parts, beta_slope, beta_ends, slope_at_end, beta_density)
STUDENT = (*COMMON, t_parts, t_slope, t_density)

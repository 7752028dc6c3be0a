"""Beta functions, binomial coefficients and Pochhammer's symbols, and their derivatives.

By Stirling's formula, in pairs of doubles.

Source: NIST Digital Library of Mathematical Functions, 5.2, 5.4, 5.11 and 5.12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Code, Cython, Evidence, Map, Op, Partials, Words, define
from .._core.ops.pairs import (
    pair_exponential,
    pair_logarithm,
    pair_product,
    pair_quotient,
    pair_root,
    pair_sum,
    two_sum,
)
from .densities import digamma_excess, raised, stirling_error
from .differences import DIGAMMA_STEP, digamma_step, polygamma
from .gamma import POLYGAMMA, RGAMMA_SLOPE
from .records import BOTH_POSITIVE, boxed, elsewhere


def digamma_gap(above: Any, below: Any) -> Any:
    """``psi(above) - psi(below)`` of positive pairs, a pair."""
    ten = 10.0, 0.0
    logarithm = pair_logarithm(pair_sum(above, ten), pair_sum(below, ten))
    high, low = digamma_excess(below)
    return pair_sum(logarithm, pair_sum(digamma_excess(above), (-high, -low)))


def chosen(condition: Any, pair: Any) -> Any:
    """A pair, or 1."""
    return np.where(condition, pair[0], 1.0), np.where(condition, pair[1], 0.0)


def beta_function(a: Any, b: Any, other: Callable[..., Any] = sc.beta, slope: int = 0) -> Any:
    """The beta function, or its derivative by a (1) or b (2).

    ``sqrt(2*pi/n)*(a/n)**(a - 1/2)*(b/n)**(b - 1/2)``, n being a + b, and Stirling's errors. What
    is small is raised by 1 for these; then powers of n and e are left, and quotients.
    """
    a, b = np.float64(1.0) * a, np.float64(1.0) * b
    inside = (a >= 0.01) & (b >= 0.01) & (a + b <= 1e6)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    first, second, n = (first, 0.0 * first), (second, 0.0 * second), two_sum(first, second)
    (one, _, i), (two, _, j), (both, _, k) = raised(first), raised(second), raised(n)
    more, half = (i + j) - k, (-0.5, 0.0)
    exponent = pair_sum(
        pair_product(pair_sum(one, half), pair_logarithm(one, both)),
        pair_product(pair_sum(two, half), pair_logarithm(two, both)),
    )
    errors = (stirling_error(one[0]) + stirling_error(two[0])) - stirling_error(both[0])
    exponent = pair_sum(exponent, two_sum(-more, errors))
    root = pair_root(pair_quotient((6.283185307179586, 2.4492935982947064e-16), both))  # of 2*pi
    above = pair_product(chosen(k > 0, n), pair_product(chosen(more > 0, both), root))
    above = pair_product(chosen(more > 1, both), above)
    factor = pair_quotient(above, pair_product(chosen(i > 0, first), chosen(j > 0, second)))
    beyond = elsewhere(other, inside, a, b)
    if slope:
        high, low = digamma_gap(n, first if slope == 1 else second)
        factor = pair_product(factor, (-high, -low))
        beyond = -beyond * (digamma_step(a, b) if slope == 1 else digamma_step(b, a))
    return np.where(inside, pair_exponential(exponent, factor), beyond)


def pochhammer(a: Any, m: Any, other: Callable[..., Any] = sc.poch, slope: int = 0) -> Any:
    """``gamma(a + m)/gamma(a)``, or its derivative by a (1) or m (2).

    ``(n/a)**(a - 1/2)*(n/e)**m``, n being a + m, and Stirling's errors; as the beta function.
    """
    a, m = np.float64(1.0) * a, np.float64(1.0) * m
    inside = (a >= 0.01) & (m >= 0.01) & (a + m <= 1e6)
    first, step = np.where(inside, a, 1.0), np.where(inside, m, 1.0)
    n, first = two_sum(first, step), (first, 0.0 * first)
    (one, _, i), (both, _, k) = raised(first), raised(n)
    power = pair_sum(pair_logarithm(both, (1.0, 0.0)), (-1.0, 0.0))
    exponent = pair_sum(
        pair_product(pair_sum(one, (-0.5, 0.0)), pair_logarithm(both, one)),
        pair_product(two_sum(step, k - i), power),
    )
    exponent = pair_sum(exponent, (stirling_error(both[0]) - stirling_error(one[0]), 0.0))
    factor = pair_quotient(chosen(i > 0, first), chosen(k > 0, n))
    beyond = elsewhere(other, inside, a, m)
    if slope == 1:
        factor = pair_product(factor, digamma_gap(n, first))
        beyond = beyond * digamma_step(a, m)
    elif slope == 2:
        logarithm = pair_logarithm(pair_sum(n, (10.0, 0.0)), (1.0, 0.0))
        factor = pair_product(factor, pair_sum(logarithm, digamma_excess(n)))
        beyond = beyond * sc.psi(a + m)
    return np.where(inside, pair_exponential(exponent, factor), beyond)


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


# ---------------------------------------------------------------- beta functions


def _betaln(a: Any, b: Any) -> Any:
    return sc.gammaln(a) + sc.gammaln(b) - sc.gammaln(a + b)


def _beta_form(a: Any, b: Any, slope: int = 0) -> Any:
    first, second, both = (sp.polygamma(0, z) for z in (a, b, a + b))
    return sp.beta(a, b) * (1, first - both, second - both)[slope]


def _beta_partials(z: Any, a: Any, b: Any, slope: int = 0) -> Any:
    if slope == 0:
        return BETA(a, b, slope=1), BETA(a, b, slope=2)
    f, by_a, by_b = BETA(a, b), -DIGAMMA_STEP(a, b), -DIGAMMA_STEP(b, a)
    both = POLYGAMMA(1.0, a + b)
    if slope == 1:
        return z * by_a - f * DIGAMMA_STEP(a, b, order=1), z * by_b - f * both
    return z * by_a - f * both, z * by_b - f * DIGAMMA_STEP(b, a, order=1)


BETA: Op = boxed(
    "Beta", sc.beta, beta_function, BOTH_POSITIVE, _beta_form, _beta_partials,
    Evidence(samples=(0.5, 5), ulp=32.0), slopes=2,
    portable=lambda a, b, slope=0: beta_function(a, b, lambda a, b: np.exp(_betaln(a, b)), slope),
)  # fmt: skip
BETALN = define(
    Map("Betaln", functions=(sc.betaln,), domain=BOTH_POSITIVE,
        sympy=lambda a, b: sp.loggamma(a) + sp.loggamma(b) - sp.loggamma(a + b),
        rule=Partials(lambda z, a, b: (-DIGAMMA_STEP(a, b), -DIGAMMA_STEP(b, a)))),
    Code(Cython("betaln"), portable=_betaln),
    Evidence(samples=(1.5, 5), ulp=32.0),
)  # fmt: skip


# ---------------------------------------------------------------- binomial coefficients


def _binomial_form(n: Any, k: Any, slope: int = 0) -> Any:
    found = sp.gamma(n + 1) / sp.gamma(k + 1) / sp.gamma(n - k + 1)
    whole, own, rest = (sp.polygamma(0, z) for z in (n + 1, k + 1, n - k + 1))
    return found * (1, whole - rest, rest - own)[slope]


def _binomial_partials(y: Any, n: Any, k: Any, slope: int = 0) -> Any:
    if slope == 0:
        beside = ((k < 0) | (n - k < 0)) & (np.fabs(n) < 150) & (np.fabs(k) < 150)
        by_n, by_k = _binomial_slopes(n, k)
        return (
            np.where(beside, by_n, BINOM(n, k, slope=1)),
            np.where(beside, by_k, BINOM(n, k, slope=2)),
        )
    f, rest = BINOM(n, k), polygamma(1, n - k + 1)
    by_n, by_k = DIGAMMA_STEP(n - k + 1, k), DIGAMMA_STEP(k + 1, n - 2 * k)
    if slope == 1:
        return y * by_n + f * DIGAMMA_STEP(n - k + 1, k, order=1), y * by_k + f * rest
    return y * by_n + f * rest, y * by_k - f * (rest + polygamma(1, k + 1))


def _binomial_slopes(n: Any, k: Any) -> tuple[Any, Any]:
    """The derivatives, by those of 1/gamma: where that is 0 digamma is infinite.

    For n <= -1 and whole k the coefficient is that of k - n - 1 but for its sign.
    """
    turned = (n <= -1) & (k == np.rint(k))
    at = np.where(turned, 1.0, n) + 1.0
    scale, own, rest = sc.gamma(at), sc.rgamma(k + 1), sc.rgamma(n - k + 1)
    fall = own * RGAMMA_SLOPE(n - k + 1)
    by_n = scale * (sc.psi(at) * own * rest + fall)
    whole = np.where(turned, k, 0.0)
    other = (2.0 * np.remainder(whole, 2.0) - 1.0) * BINOM(whole - n - 1.0, whole, slope=1)
    by_k = sc.gamma(n + 1) * (RGAMMA_SLOPE(k + 1) * rest - fall)
    return np.where(turned, other, by_n), by_k


BINOM: Op = boxed(
    "Binom", sc.binom, binomial, BOTH_POSITIVE, _binomial_form, _binomial_partials,
    Evidence(samples=((4.2, 6), (0.3, 3)), ulp=64.0, exact_form=False),
    Words("Binomial coefficient of real numbers."), slopes=2,
)  # fmt: skip


# ---------------------------------------------------------------- Pochhammer's symbols


def _pochhammer_form(a: Any, m: Any, slope: int = 0) -> Any:
    below, above = sp.polygamma(0, a), sp.polygamma(0, a + m)
    return sp.gamma(a + m) / sp.gamma(a) * (1, above - below, above)[slope]


def _pochhammer_partials(y: Any, a: Any, m: Any, slope: int = 0) -> Any:
    if slope == 0:
        by_a, by_m = _pochhammer_slopes(a, m)
        beside = a < 0.125
        return (
            np.where(beside, by_a, POCH(a, m, slope=1)), np.where(beside, by_m, POCH(a, m, slope=2))
        )  # fmt: skip
    f, by_a, by_m, above = POCH(a, m), DIGAMMA_STEP(a, m), sc.psi(a + m), polygamma(1, a + m)
    own = DIGAMMA_STEP(a, m, order=1) if slope == 1 else above
    return y * by_a + f * own, y * by_m + f * above


def _pochhammer_slopes(a: Any, m: Any) -> tuple[Any, Any]:
    """The derivatives, by those of 1/gamma(a): where that is 0 digamma is infinite.

    For whole m and a + m <= 0 the symbol is that of 1 - a - m but for its sign (DLMF 5.2.6).
    """
    turned = (a + m <= 0) & (m == np.rint(m))
    n = np.where(turned, 1.0, a + m)
    scale, over = sc.gamma(n), sc.rgamma(a)
    by_m = over * scale * sc.psi(n)
    whole = np.where(turned, m, 0.0)
    other = (2.0 * np.remainder(whole, 2.0) - 1.0) * POCH(1.0 - a - whole, whole, slope=1)
    by_a = np.where(turned, other, RGAMMA_SLOPE(a) * scale + by_m)
    return by_a, np.where(turned, math.nan, by_m)  # as a function of m it is 0 beside


POCH: Op = boxed(
    "Poch", sc.poch, pochhammer, BOTH_POSITIVE, _pochhammer_form, _pochhammer_partials,
    Evidence(samples=((0.5, 4), (0.3, 3)), ulp=64.0), Words("gamma(a + m)/gamma(a)."), slopes=2,
)  # fmt: skip

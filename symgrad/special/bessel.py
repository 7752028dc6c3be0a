"""The gamma and zeta functions and the Bessel functions of ``scipy.special``.

Derivatives raise the order of the function, so the families are closed under
differentiation to any order. The derivative by the order itself is not known: nan.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Composed, Cython, Op, Positive, define
from .._ops.pairs import two_sum
from .bessel_orders import bessel_i, bessel_j, bessel_k, bessel_ke, order_family
from .bessel_y import bessel_y
from .differences import DIGAMMA_STEP, digamma_by_sums
from .fallback import elsewhere, evaluated, of_scipy, source_of
from .fitted import fitted, step
from .gamma_quotients import beta_function
from .scaled_bessel import IVE_SLOPE
from .special import BOTH_POSITIVE, ORDER
from .tables import GAMMA_MIDDLE, RGAMMA_MIDDLE

POSITIVE = (Positive,)


# ---------------------------------------------------------------- gamma function


def gamma_by_table(x: Any, other: Any, fit: Any, over: bool = False) -> Any:
    """The gamma function, or one over it: up to 10 by a table from 1 to 2, beyond SciPy's."""
    x = np.float64(1.0) * x
    inside = (x > 0) & (x < 10.0)
    below = np.where(inside & (x < 1.0), x, 1.0)
    at = np.where(inside, np.where(x < 1.0, x + 1.0, x), 1.0)
    product, base = 1.0 + 0.0 * at, at
    for k in range(1, 9):
        more = at - k >= 1.0
        product = product * np.where(more, at - k, 1.0)
        base = np.where(more, at - k, base)
    if over:
        found = fit(base, RGAMMA_MIDDLE) * below / product
    else:
        found = fit(base, GAMMA_MIDDLE) * product / below
    return np.where(inside, found, elsewhere(other, inside, x))


_GAMMA = of_scipy("Gamma", sc.gamma, POSITIVE)
GAMMA = define(
    sc.gamma, name="Gamma", sympy=sp.gamma, partials=lambda y, x: (y * sc.psi(x),),
    evaluate=evaluated(gamma_by_table, sc.gamma, fitted),
    lower=Composed(lambda x: gamma_by_table(x, _GAMMA, step)),
    source=source_of("gamma_by_table", "special.gamma", "fitted"),
    helpers=(elsewhere, fitted, gamma_by_table), domain=POSITIVE, samples=(0.2, 9), ulp=8.0,
)  # fmt: skip
_RGAMMA = of_scipy("Rgamma", sc.rgamma, POSITIVE)
RGAMMA = define(
    sc.rgamma, name="Rgamma", sympy=lambda x: 1 / sp.gamma(x),
    partials=lambda y, x: (-y * sc.psi(x),), evaluate=evaluated(
        gamma_by_table, sc.rgamma, fitted, True),
    lower=Composed(lambda x: gamma_by_table(x, _RGAMMA, step, True)),
    source=source_of("gamma_by_table", "special.rgamma", "fitted", "True"),
    helpers=(elsewhere, fitted, gamma_by_table), portable=lambda x: 1 / sc.gamma(x),
    domain=POSITIVE, samples=(0.2, 9), ulp=16.0, doc="1/gamma(x).",
)  # fmt: skip
GAMMALN = define(
    sc.gammaln, name="Gammaln", sympy=sp.loggamma, partials=lambda y, x: (sc.psi(x),),
    lower=Cython("gammaln"), domain=POSITIVE, samples=(2.5, 9),
    doc="log(abs(gamma(x))).",
)  # fmt: skip
LOGGAMMA = define(
    sc.loggamma, name="Loggamma", sympy=sp.loggamma, partials=lambda y, x: (sc.psi(x),),
    lower=Cython("loggamma"), domain=POSITIVE, samples=(2.5, 9),
    doc="log(gamma(x)); nan for negative x.",
)  # fmt: skip
DIGAMMA = define(
    sc.psi, name="Digamma", sympy=sp.digamma, partials=lambda y, x: (POLYGAMMA(1.0, x),),
    lower=Cython("psi"), domain=POSITIVE, samples=(2, 9), ulp=8.0,
    portable=digamma_by_sums,
)  # fmt: skip


def _betaln(a: Any, b: Any) -> Any:
    return sc.gammaln(a) + sc.gammaln(b) - sc.gammaln(a + b)


def _beta_by_logs(a: Any, b: Any) -> Any:
    return np.exp(_betaln(a, b))


_BETA = of_scipy("Beta", sc.beta, BOTH_POSITIVE)


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


BETA: Op = define(
    sc.beta, name="Beta", sympy=_beta_form, partials=_beta_partials, slopes=2,
    evaluate=evaluated(beta_function, sc.beta),
    lower=Composed(lambda a, b, slope=0: beta_function(a, b, _BETA, slope)),
    source=source_of("beta_function"), helpers=(beta_function,), domain=BOTH_POSITIVE,
    portable=lambda a, b, slope=0: beta_function(a, b, _beta_by_logs, slope),
    samples=(0.5, 5), ulp=32.0,
)  # fmt: skip
BETALN = define(
    sc.betaln, name="Betaln", lower=Cython("betaln"), domain=BOTH_POSITIVE,
    sympy=lambda a, b: sp.loggamma(a) + sp.loggamma(b) - sp.loggamma(a + b),
    partials=lambda z, a, b: (-DIGAMMA_STEP(a, b), -DIGAMMA_STEP(b, a)),
    samples=(1.5, 5), ulp=32.0, portable=_betaln,
)  # fmt: skip


# ---------------------------------------------------------------- Hurwitz zeta function

SHIFT = 10
#: Bernoulli numbers over factorials, B(2j)/(2j)!, for the Euler-Maclaurin formula.
BERNOULLI = tuple(
    number / (divisor * math.factorial(2 * j))
    for j, (number, divisor) in enumerate((
        (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510),
        (43867, 798),
    ), 1)
)  # fmt: skip


def _zeta_right(s: Any, q: Any) -> Any:
    """``sum((q + k)**-s, k = 0, 1, ...)`` for q > 0: ten terms, then Euler-Maclaurin."""
    a = q + float(SHIFT)
    inverse = 1 / (a * a)
    tail, factor = 0.0, s
    series = []
    for j, coefficient in enumerate(BERNOULLI):
        series.append((coefficient, factor))
        factor = factor * (s + (2.0 * j + 1)) * (s + (2.0 * j + 2))
    for coefficient, rising in reversed(series):
        tail = tail * inverse + coefficient * rising
    total = a ** (1.0 - s) * (1 / (s - 1.0) + 0.5 / a + tail * inverse)
    low = 0.0 * total
    for k in reversed(range(SHIFT)):
        total, lost = two_sum(1 / (q + float(k)) ** s, total)
        low = low + lost
    return total + np.where(low == low, low, 0.0)


def _zeta(s: Any, x: Any) -> Any:
    s, x = s.astype(np.float64), x.astype(np.float64)
    # Left of 0, for whole s, reflect: the sum over all integers has period 1, so with
    # r = x - floor(x) it is zeta(s, r) + (-1)**s zeta(s, 1 - r), less the terms not wanted.
    left = np.minimum(x, 0.0)
    r, rest = left - np.floor(left), np.floor(left) + 1.0 - left
    sign = np.where(np.remainder(s, 2.0) == 0, 1.0, -1.0)
    reflected = _zeta_right(s, r) + sign * (_zeta_right(s, rest) - _zeta_right(s, 1.0 - left))
    whole = np.where(np.floor(s) == s, reflected, math.nan)
    result = np.where(x == np.floor(x), math.inf, whole)
    result = np.where(x > 0, _zeta_right(s, np.where(x > 0, x, 1.0)), result)
    return np.where(s > 1, result, np.where(s == 1, math.inf, math.nan))


ZETA: Op = define(
    sc.zeta, name="Zeta", doc="Hurwitz zeta function of s > 1 and x.", sympy=sp.zeta,
    partials=lambda y, s, x: (math.nan, -s * ZETA(s + 1.0, x)), lower=Composed(_zeta),
    domain=(sp.Interval.open(1, sp.oo), Positive), samples=((1.5, 6), (0.2, 9)), ulp=8.0,
    convention=ORDER,
)  # fmt: skip


def _polygamma(n: Any, x: Any) -> Any:
    n, x = n.astype(np.float64), x.astype(np.float64)
    sign = np.where(np.remainder(n, 2.0) == 0, -1.0, np.where(np.floor(n) == n, 1.0, math.nan))
    high = sign * sc.gamma(n + 1.0) * ZETA(np.where(n == 0, 2.0, n + 1.0), x)
    return np.where(n == 0, sc.psi(x), high)


POLYGAMMA: Op = define(
    sc.polygamma, name="Polygamma", doc="The n-th derivative of digamma.", sympy=sp.polygamma,
    evaluate=lambda n, x: np.asarray(sc.polygamma(n, x)).astype(np.result_type(n, x, 0.0)),
    source=lambda n, x: f"special.polygamma({n}, {x})",
    partials=lambda y, n, x: (math.nan, POLYGAMMA(n + 1.0, x)), lower=Composed(_polygamma),
    domain=(sp.Naturals, Positive), samples=((1, 4), (0.2, 9)), ulp=16.0, convention=ORDER,
)  # fmt: skip


# ---------------------------------------------------------------- Bessel functions


def _scaled(v: Any, x: Any) -> Any:
    return sp.exp(-sp.Abs(x)) * sp.besseli(v, x)


JV: Op = order_family(
    sc.jv, sp.besselj, bessel_j, lambda v, x, y: 0.5 * (JV(v - 1, x) - JV(v + 1, x))
)  # fmt: skip


def _yv_form(v: Any, x: Any, slope: int = 0) -> Any:
    around = (sp.bessely(v - 1, x) - sp.bessely(v + 1, x)) / 2
    return around if slope else sp.bessely(v, x)


def _yv_slope(v: Any, x: Any, y: Any, slope: int = 0) -> Any:
    if not slope:
        return YV(v, x, slope=2)
    return 0.5 * (YV(v - 1, x, slope=2) - YV(v + 1, x, slope=2))


YV: Op = order_family(sc.yv, _yv_form, bessel_y, _yv_slope, slopes=2)


def _iv_form(v: Any, x: Any, slope: int = 0) -> Any:
    around = (sp.besseli(v - 1, x) + sp.besseli(v + 1, x)) / 2
    return around if slope else sp.besseli(v, x)


def _iv_slope(v: Any, x: Any, y: Any, slope: int = 0) -> Any:
    if not slope:
        return IV(v, x, slope=2)
    return 0.5 * (IV(v - 1, x, slope=2) + IV(v + 1, x, slope=2))


IV: Op = order_family(sc.iv, _iv_form, bessel_i, _iv_slope, slopes=2)
KV: Op = order_family(
    sc.kv, sp.besselk, bessel_k, lambda v, x, y: -0.5 * (KV(v - 1, x) + KV(v + 1, x))
)  # fmt: skip
IVE: Op = order_family(
    sc.ive, _scaled, bessel_i, lambda v, x, y: IVE_SLOPE(v, x), power=-1.0,
)  # fmt: skip


def _kve_form(v: Any, x: Any, slope: int = 0) -> Any:
    around = (sp.besselk(v - 1, x) + sp.besselk(v + 1, x)) / 2
    return sp.exp(x) * (sp.besselk(v, x) - around if slope else sp.besselk(v, x))


def _kve_slope(v: Any, x: Any, y: Any, slope: int = 0) -> Any:
    if not slope:
        return KVE(v, x, slope=2)
    return y - 0.5 * (KVE(v - 1, x, slope=2) + KVE(v + 1, x, slope=2))


KVE: Op = order_family(
    sc.kve, _kve_form, bessel_ke, _kve_slope, power=1.0, slopes=2,
)  # fmt: skip

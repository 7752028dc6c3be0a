"""The gamma function, its relatives and signs, polygamma and zeta functions, factorials.

Derivatives of zeta and polygamma raise the order, so the families are closed under differentiation.
That of zeta by the order is the Euler-Maclaurin formula, differentiated; of polygamma, whose order
is whole, it is nan.

Source: NIST Digital Library of Mathematical Functions, 5.5.1, 5.7.1, 5.15, 25.11.5, 25.11.7 and
25.11.9.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import (
    HIGHEST,
    Code,
    Composed,
    Cython,
    Evidence,
    Map,
    Op,
    Partials,
    Positive,
    Words,
    composite,
    define,
    refuse,
)
from .._core.ops.np_common import as_array, as_float
from .._core.ops.pairs import pair_product, pair_quotient, pair_sum, two_sum
from . import complex_parts
from . import multiple_precision as precisely
from .differences import digamma_by_sums, polygamma
from .records import (
    ORDER,
    POSITIVE,
    elsewhere,
    evaluated,
    in_doubles,
    of_scipy,
    relative,
    source_of,
)
from .tables import GAMMA_MIDDLE, RGAMMA_MIDDLE, fitted, step
from .taylor import (
    form_of_order,
    log_derivatives,
    series_product,
    series_quotient,
    series_sum,
)

# ---------------------------------------------------------------- the gamma function as a pair

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


# ---------------------------------------------------------------- the gamma function


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
    Map("Gamma", functions=(sc.gamma,), evaluate=evaluated(gamma_by_table, sc.gamma, fitted),
        domain=POSITIVE, sympy=sp.gamma, rule=Partials(lambda y, x: (y * sc.psi(x),)),
        parts=complex_parts.gamma),
    Code(Composed(lambda x: gamma_by_table(x, _GAMMA, step)),
        source=source_of("gamma_by_table", "special.gamma", "fitted"),
        helpers=(elsewhere, fitted, gamma_by_table)),
    Evidence(samples=(0.2, 9), ulp=8.0),
)  # fmt: skip


def rgamma_slope(x: Any, order: int = 0, polygamma: Callable[..., Any] = sc.polygamma) -> Any:
    """The derivative of ``1/gamma(x)``, or a higher one, where the function is 0 too.

    Left of 1/2 it is ``sin(pi*x)*gamma(1 - x)/pi``, right of it its logarithm has derivatives.

    Source: DLMF 5.2.2, 5.5.3, 5.15.
    """
    n = order + 1
    left = x < 0.5
    at = np.where(left, 1.0 - x, x)
    scores = [-sc.psi(at), *(-polygamma(k, at) for k in range(1, n))]
    right = sc.rgamma(at) * log_derivatives(scores)[0]
    whole = np.rint(x)
    parity = 1.0 - 2.0 * np.remainder(whole, 2.0)
    angle = math.pi * (x - whole)
    sine, cosine = parity * np.sin(angle), parity * np.cos(angle)
    # of gamma(1 - x) the logarithm has the derivatives -psi, psi', -psi'', ...
    turned = [(-1.0) ** (k + 1) * -s for k, s in enumerate(scores)]
    total = 0.0 * x
    for k in range(n, -1, -1):
        turn = (sine, cosine, -sine, -cosine)[k % 4]
        factor = log_derivatives(turned[: n - k])[0] * math.pi ** (k - 1) * math.comb(n, k)
        total = total + turn * factor
    return np.where(left, sc.gamma(at) * total, right)


RGAMMA_SLOPE: Op = in_doubles(
    "RgammaSlope", rgamma_slope, POSITIVE,
    lambda x, order=0: form_of_order(lambda x: -sp.polygamma(0, x) / sp.gamma(x), x, order),
    lambda y, x, order=0: (RGAMMA_SLOPE(x, order=order + 1),),
    Evidence(samples=(0.2, 9), ulp=64.0), Words("The derivative of 1/gamma(x); a higher one."),
    helpers=(log_derivatives,), traced={"polygamma": polygamma}, orders=HIGHEST,
)  # fmt: skip
_RGAMMA = of_scipy("Rgamma", sc.rgamma, POSITIVE)
RGAMMA = define(
    Map("Rgamma", functions=(sc.rgamma,),
        evaluate=evaluated(
            gamma_by_table, sc.rgamma, fitted, True),
        domain=POSITIVE, sympy=lambda x: 1 / sp.gamma(x),
        rule=Partials(lambda y, x: (RGAMMA_SLOPE(x),)), parts=complex_parts.rgamma),
    Code(Composed(lambda x: gamma_by_table(x, _RGAMMA, step, True)),
        portable=lambda x: 1 / sc.gamma(x),
        source=source_of("gamma_by_table", "special.rgamma", "fitted", "True"),
        helpers=(elsewhere, fitted, gamma_by_table)),
    Evidence(samples=(0.2, 9), ulp=16.0),
    Words("1/gamma(x)."),
)  # fmt: skip
GAMMALN = define(
    Map("Gammaln", functions=(sc.gammaln,), domain=POSITIVE, sympy=sp.loggamma,
        rule=Partials(lambda y, x: (sc.psi(x),))),
    Code(Cython("gammaln")),
    Evidence(samples=(2.5, 9)),
    Words("log(abs(gamma(x)))."),
)  # fmt: skip
LOGGAMMA = define(
    Map("Loggamma", functions=(sc.loggamma,), domain=POSITIVE, sympy=sp.loggamma,
        rule=Partials(lambda y, x: (sc.psi(x),)), parts=complex_parts.log_gamma),
    Code(Cython("loggamma")),
    Evidence(samples=(2.5, 9)),
    Words("log(gamma(x)); nan for negative x."),
)  # fmt: skip
DIGAMMA = define(
    Map("Digamma", functions=(sc.psi,), domain=POSITIVE, sympy=sp.digamma,
        rule=Partials(lambda y, x: (POLYGAMMA(1.0, x),))),
    Code(Cython("psi"), portable=digamma_by_sums),
    Evidence(samples=(2, 9), ulp=8.0),
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


def zeta_by_order(s: Any, x: Any, order: int = 0) -> Any:
    """The derivative of Hurwitz's zeta function by s, or a higher one, for s > 1 and x > 0.

    The Euler-Maclaurin formula (DLMF 25.11.7) on Taylor polynomials in s.
    """
    n = order + 1
    inside = (s > 1.0) & (x > 0.0)
    s, x = np.where(inside, s, 2.0), np.where(inside, x, 1.0)
    a = x + 10.0
    inverse = 1.0 / (a * a)
    tail: Any = [0.0 * a]
    rising: Any = [s, 1.0]
    power = 1.0 + 0.0 * a
    for j, (above, below) in enumerate((  # Bernoulli numbers B(2*j)
        (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510),
        (43867, 798),
    ), 1):  # fmt: skip
        power = power * inverse
        scale = above / (below * math.factorial(2 * j)) * power
        tail = series_sum(tail, [scale * c for c in rising])
        for more in (2.0 * j - 1.0, 2.0 * j):
            rising = series_product(rising, [s + more, 1.0], n + 1)
    tail = series_sum(tail, [0.5 / a], series_quotient([1.0], [s - 1.0, 1.0], n + 1))
    fall = -np.log(a)
    decay: Any = [a ** (1.0 - s)]
    for j in range(1, n + 1):
        decay.append(decay[-1] * fall / j)
    total = math.factorial(n) * series_product(tail, decay, n + 1)[n]
    for k in range(9, -1, -1):
        total = total + (x + k) ** -s * (-np.log(x + k)) ** n
    return np.where(inside, total, math.nan)


def _zeta_by_order_partials(y: Any, s: Any, x: Any, order: int = 0) -> tuple[Any, Any]:
    before = ZETA_BY_ORDER(s + 1.0, x, order=order - 1) if order else ZETA(s + 1.0, x)
    by_x = -(s * ZETA_BY_ORDER(s + 1.0, x, order=order) + (order + 1.0) * before)
    return ZETA_BY_ORDER(s, x, order=order + 1), by_x


ZETA_BY_ORDER: Op = in_doubles(
    "ZetaByOrder", zeta_by_order, (sp.Interval.open(1, sp.oo), Positive), None,
    _zeta_by_order_partials,
    Evidence(samples=((1.5, 6), (0.2, 9)), ulp=32.0, precise=precisely.zeta_by_order),
    Words("The derivative of the zeta function by s; a higher one.",
        reading=lambda s, x, order=0: sp.Function("ZetaByOrder")(s, x, *([order] * bool(order)))),
    helpers=(series_sum, series_product, series_quotient), orders=HIGHEST,
)  # fmt: skip
ZETA: Op = define(
    Map("Zeta", evaluate=sc.zeta, domain=(sp.Interval.open(1, sp.oo), Positive),
        sympy=sp.zeta, rule=Partials(lambda y, s, x: (ZETA_BY_ORDER(s, x), -s * ZETA(s + 1.0, x)))),
    Code(Composed(_zeta), source=lambda s, x: f"special.zeta({s}, {x})"),
    Evidence(samples=((1.5, 6), (0.2, 9)), ulp=8.0),
    Words("Hurwitz zeta function of s > 1 and x.",
        convention="by s: nan for x below 0"),
)  # fmt: skip


@relative(sc.zeta, "Hurwitz's zeta function, or Riemann's without q.")
def zeta(x: Any, q: Any = None) -> Any:
    return ZETA(x, 1.0 if q is None else q)


def _polygamma(n: Any, x: Any) -> Any:
    n, x = n.astype(np.float64), x.astype(np.float64)
    sign = np.where(np.remainder(n, 2.0) == 0, -1.0, np.where(np.floor(n) == n, 1.0, math.nan))
    high = sign * sc.gamma(n + 1.0) * ZETA(np.where(n == 0, 2.0, n + 1.0), x)
    return np.where(n == 0, sc.psi(x), high)


POLYGAMMA: Op = define(
    Map("Polygamma", functions=(sc.polygamma,),
        evaluate=lambda n, x: np.asarray(sc.polygamma(n, x)).astype(np.result_type(n, x, 0.0)),
        domain=(sp.Naturals, Positive), sympy=sp.polygamma,
        rule=Partials(lambda y, n, x: (math.nan, POLYGAMMA(n + 1.0, x)))),
    Code(Composed(_polygamma), source=lambda n, x: f"special.polygamma({n}, {x})"),
    Evidence(samples=((1, 4), (0.2, 9)), ulp=16.0),
    Words("The n-th derivative of digamma.", convention=ORDER),
)  # fmt: skip


# ---------------------------------------------------------------- factorials and their relatives


def _inexact(function: Any, exact: Any) -> None:
    if exact:
        refuse(function, "exact results are Python's whole numbers: leave exact out")


def _real(*x: Any) -> Any:
    return [1.0 * as_float(as_array(v)) for v in x]


@composite(sc.comb, name="comb")
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Number of combinations, as a function of real numbers; 0 where there are none."""
    _inexact(sc.comb, exact)
    n, k = _real(N, k)
    if repetition:
        none = (k == 0) & (n >= 0)
        # Of nothing out of nothing SciPy says 1, and said 0 before 1.17.
        found = np.where(n > 0, 1.0, float(sc.comb(0, 0, repetition=True)))
        return np.where(none, found, sc.binom(np.where(none, 1.0, n + k - 1.0), k))
    some = (k <= n) & (n >= 0) & (k >= 0)
    found = sc.binom(np.where(some, n, 1.0), np.where(some, k, 1.0))
    return np.where(some, found, 0.0)


@composite(sc.perm, name="perm")
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Number of ordered selections, as a function of real numbers; 0 where there are none."""
    _inexact(sc.perm, exact)
    n, k = _real(N, k)
    some = (k <= n) & (n >= 0) & (k >= 0)
    found = sc.poch(np.where(some, n - k + 1.0, 1.0), np.where(some, k, 1.0))
    return np.where(some, found, 0.0)


@composite(sc.factorial, name="factorial")
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """``gamma(n + 1)``, and 0 for negative numbers."""
    _inexact(sc.factorial, exact)
    if extend != "zero":
        refuse(sc.factorial, "extend='complex' is gamma(n + 1)")
    n = as_array(n).astype(np.float64)
    some = ~(n < 0)
    return np.where(some, sc.gamma(np.where(some, n, 0.0) + 1.0), 0.0)


@composite(sc.multigammaln, name="multigammaln")
def multigammaln(a: Any, d: Any) -> Any:
    """Logarithm of the multivariate gamma function of a known dimension; nan below (d - 1)/2."""
    (a,), d = _real(a), operator.index(d)
    a = np.where(a > 0.5 * (d - 1), a, math.nan * a)
    total = d * (d - 1) * 0.25 * math.log(math.pi)
    return sum((sc.gammaln(a - 0.5 * j) for j in range(d)), total)


@relative(sc.gammasgn, "Sign of the gamma function.")
def gammasgn(x: Any) -> Any:
    (x,) = _real(x)
    whole = np.floor(x)
    left = 1.0 - 2.0 * np.remainder(whole, 2.0)
    sign = np.where(x > 0, 1.0, np.where(x == 0, np.copysign(1.0, x), left))
    return np.where(np.isnan(x) | ((x < 0) & (whole == x)), math.nan, sign)

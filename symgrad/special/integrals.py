"""Incomplete gamma and beta functions, elliptic integrals, hypergeometric functions.

Every derivative by the argument is made of functions of this table; that by an order or a
parameter is not known: nan.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Composed, Cython, NonZero, Op, Positive, Real, define
from .._ops.pairs import PAIRS
from .binomials import binomial
from .carlson import ELLIPTIC_D, ELLIPTIC_G, elliptic_root
from .complete_integrals import COMPLETE_D, COMPLETE_G
from .dawson import erfi
from .densities import GAMMA, gamma_density
from .differences import DIGAMMA_STEP, polygamma
from .elliptic_means import first_kind_incomplete, second_kind_incomplete
from .fallback import doubled_fields, elsewhere, evaluated, of_scipy, source_of
from .fitted import fitted_fields
from .gamma_quotients import pochhammer
from .gaussian import ROOT_PI
from .hypergeometric import confluent, gauss
from .incomplete import INCOMPLETE, gamma_share
from .quotients import EXPREL_SLOPE
from .special import BOTH_POSITIVE, ORDER

UNARY, POSITIVE = (Real,), (Positive,)
SHARE = sp.Interval.open(0, 1)

# ---------------------------------------------------------------- gamma and beta


def gamma_form(a: Any, x: Any, slope: int = 0) -> Any:
    """The gamma density, or a derivative, in SymPy."""
    factor = (1, sp.log(x) - sp.polygamma(0, a), (a - 1) / x - 1)[slope]
    return x ** (a - 1) * sp.exp(-x) / sp.gamma(a) * factor


def _gamma_partials(y: Any, a: Any, x: Any, slope: int = 0) -> Any:
    if slope == 0:
        return GAMMA_DENSITY(a, x, slope=1), GAMMA_DENSITY(a, x, slope=2)
    f = GAMMA_DENSITY(a, x)
    by_a, by_x = np.log(x) - sc.psi(a), (a - 1 - x) / x
    if slope == 1:
        return y * by_a - f * polygamma(1, a), y * by_x + f / x
    return y * by_a + f / x, y * by_x - f * ((a - 1) / (x * x))


GAMMA_DENSITY: Op = define(
    name="GammaDensity", doc="x**(a - 1)*exp(-x)/gamma(a).", sympy=gamma_form,
    partials=_gamma_partials, slopes=2, domain=BOTH_POSITIVE, samples=((0.5, 5), (0.3, 6)),
    helpers=GAMMA, **doubled_fields(gamma_density),
)  # fmt: skip
_SHARES = [of_scipy(f.__name__.capitalize(), f, BOTH_POSITIVE)
           for f in (sc.gammainc, sc.gammaincc)]  # fmt: skip
GAMMAINC = define(
    sc.gammainc, name="Gammainc", sympy=lambda a, x: sp.lowergamma(a, x) / sp.gamma(a),
    partials=lambda y, a, x: (math.nan, GAMMA_DENSITY(a, x)),
    evaluate=evaluated(gamma_share, sc.gammainc),
    lower=Composed(lambda a, x: gamma_share(a, x, _SHARES[0])),
    source=source_of("gamma_share"), helpers=(*INCOMPLETE, gamma_share),
    domain=BOTH_POSITIVE, samples=((0.5, 5), (0.3, 6)), ulp=64.0, convention=ORDER,
)  # fmt: skip
GAMMAINCC = define(
    sc.gammaincc, name="Gammaincc", sympy=lambda a, x: sp.uppergamma(a, x) / sp.gamma(a),
    partials=lambda y, a, x: (math.nan, -GAMMA_DENSITY(a, x)),
    evaluate=evaluated(gamma_share, sc.gammaincc, True),
    lower=Composed(lambda a, x: gamma_share(a, x, _SHARES[1], True)),
    source=source_of("gamma_share", "special.gammaincc", "True"),
    helpers=(*INCOMPLETE, gamma_share),
    domain=BOTH_POSITIVE, samples=((0.5, 5), (0.3, 6)), ulp=64.0, convention=ORDER,
)  # fmt: skip
_BINOM = of_scipy("Binom", sc.binom, BOTH_POSITIVE)


def _binomial_form(n: Any, k: Any, slope: int = 0) -> Any:
    found = sp.gamma(n + 1) / sp.gamma(k + 1) / sp.gamma(n - k + 1)
    whole, own, rest = (sp.polygamma(0, z) for z in (n + 1, k + 1, n - k + 1))
    return found * (1, whole - rest, rest - own)[slope]


def _binomial_partials(y: Any, n: Any, k: Any, slope: int = 0) -> Any:
    if slope == 0:
        return BINOM(n, k, slope=1), BINOM(n, k, slope=2)
    f, rest = BINOM(n, k), polygamma(1, n - k + 1)
    by_n, by_k = DIGAMMA_STEP(n - k + 1, k), DIGAMMA_STEP(k + 1, n - 2 * k)
    if slope == 1:
        return y * by_n + f * DIGAMMA_STEP(n - k + 1, k, order=1), y * by_k + f * rest
    return y * by_n + f * rest, y * by_k - f * (rest + polygamma(1, k + 1))


BINOM: Op = define(
    sc.binom, name="Binom", sympy=_binomial_form, partials=_binomial_partials, slopes=2,
    evaluate=evaluated(binomial, sc.binom),
    lower=Composed(lambda n, k, slope=0: binomial(n, k, _BINOM, slope)),
    source=source_of("binomial"), helpers=(binomial,),
    domain=BOTH_POSITIVE, samples=((4.2, 6), (0.3, 3)), ulp=64.0,
    doc="Binomial coefficient of real numbers.", exact_form=False,
)  # fmt: skip
_POCH = of_scipy("Poch", sc.poch, BOTH_POSITIVE)


def _pochhammer_form(a: Any, m: Any, slope: int = 0) -> Any:
    below, above = sp.polygamma(0, a), sp.polygamma(0, a + m)
    return sp.gamma(a + m) / sp.gamma(a) * (1, above - below, above)[slope]


def _pochhammer_partials(y: Any, a: Any, m: Any, slope: int = 0) -> Any:
    if slope == 0:
        return POCH(a, m, slope=1), POCH(a, m, slope=2)
    f, by_a, by_m, above = POCH(a, m), DIGAMMA_STEP(a, m), sc.psi(a + m), polygamma(1, a + m)
    own = DIGAMMA_STEP(a, m, order=1) if slope == 1 else above
    return y * by_a + f * own, y * by_m + f * above


POCH: Op = define(
    sc.poch, name="Poch", sympy=_pochhammer_form, partials=_pochhammer_partials, slopes=2,
    evaluate=evaluated(pochhammer, sc.poch),
    lower=Composed(lambda a, m, slope=0: pochhammer(a, m, _POCH, slope)),
    source=source_of("pochhammer"), helpers=(pochhammer,), domain=BOTH_POSITIVE,
    samples=((0.5, 4), (0.3, 3)), ulp=64.0, doc="gamma(a + m)/gamma(a).",
)  # fmt: skip


# ---------------------------------------------------------------- elliptic integrals

ELLIPK: Op = define(
    sc.ellipk, name="Ellipk", sympy=sp.elliptic_k,
    partials=lambda y, m: (0.5 * COMPLETE_G(m),),
    lower=Cython("ellipk"), domain=(SHARE,), samples=(0.2, 0.8), ulp=16.0,
    doc="Complete elliptic integral of the first kind.",
)  # fmt: skip
ELLIPE: Op = define(
    sc.ellipe, name="Ellipe", sympy=sp.elliptic_e,
    partials=lambda y, m: (-0.5 * COMPLETE_D(m),), lower=Cython("ellipe"),
    domain=(SHARE,), samples=(0.2, 0.8), ulp=16.0,
    doc="Complete elliptic integral of the second kind.",
)  # fmt: skip
_ELLIPKINC = of_scipy("Ellipkinc", sc.ellipkinc, (Real, SHARE))
ELLIPKINC: Op = define(
    sc.ellipkinc, name="Ellipkinc", sympy=sp.elliptic_f,
    evaluate=evaluated(first_kind_incomplete, sc.ellipkinc),
    source=source_of("first_kind_incomplete"), helpers=(elsewhere, first_kind_incomplete),
    partials=lambda y, p, m: (
        1 / elliptic_root(p, m), 0.5 * ELLIPTIC_G(p, m),
    ),
    lower=Composed(lambda p, m: first_kind_incomplete(p, m, _ELLIPKINC)),
    domain=(Real, SHARE), samples=((0.2, 1.4), (0.2, 0.8)), ulp=8.0,
    doc="Incomplete elliptic integral of the first kind.",
)  # fmt: skip
_ELLIPEINC = of_scipy("Ellipeinc", sc.ellipeinc, (Real, SHARE))
ELLIPEINC: Op = define(
    sc.ellipeinc, name="Ellipeinc", sympy=sp.elliptic_e,
    evaluate=evaluated(second_kind_incomplete, sc.ellipeinc),
    source=source_of("second_kind_incomplete"), helpers=(elsewhere, second_kind_incomplete),
    partials=lambda y, p, m: (
        elliptic_root(p, m), -0.5 * ELLIPTIC_D(p, m),
    ),
    lower=Composed(lambda p, m: second_kind_incomplete(p, m, _ELLIPEINC)),
    domain=(Real, SHARE), samples=((0.2, 1.4), (0.2, 0.8)), ulp=8.0,
    doc="Incomplete elliptic integral of the second kind.",
)  # fmt: skip


# ---------------------------------------------------------------- hypergeometric functions

_THREE = (Positive, Positive, Real)
_HYP1F1 = of_scipy("Hyp1f1", sc.hyp1f1, _THREE)
HYP1F1: Op = define(
    sc.hyp1f1, name="Hyp1f1", sympy=lambda a, b, x: sp.hyper([a], [b], x),
    evaluate=evaluated(confluent, sc.hyp1f1),
    lower=Composed(lambda a, b, x: confluent(a, b, x, _HYP1F1)),
    partials=lambda y, a, b, x: (math.nan, math.nan, a / b * HYP1F1(a + 1, b + 1, x)),
    source=source_of("confluent"), helpers=(*PAIRS, elsewhere, confluent), domain=_THREE,
    samples=((0.5, 3), (0.5, 3), (-2, 2)), ulp=512.0, convention=ORDER,
    doc="Confluent hypergeometric function.",
)  # fmt: skip
_FOUR = (Positive, Positive, Positive, Real)
_HYP2F1 = of_scipy("Hyp2f1", sc.hyp2f1, _FOUR)
HYP2F1: Op = define(
    sc.hyp2f1, name="Hyp2f1", sympy=lambda a, b, c, x: sp.hyper([a, b], [c], x),
    evaluate=evaluated(gauss, sc.hyp2f1),
    lower=Composed(lambda a, b, c, x: gauss(a, b, c, x, _HYP2F1)),
    partials=lambda y, a, b, c, x: (
        math.nan, math.nan, math.nan, a * b / c * HYP2F1(a + 1, b + 1, c + 1, x),
    ),
    source=source_of("gauss"), helpers=(elsewhere, gauss), domain=_FOUR,
    samples=((0.5, 2), (0.5, 2), (0.5, 3), (-0.5, 0.5)), ulp=512.0, convention=ORDER,
    doc="Gauss' hypergeometric function.",
)  # fmt: skip
EXPREL = define(
    sc.exprel, name="Exprel", sympy=lambda x: (sp.exp(x) - 1) / x,
    partials=lambda y, x: (EXPREL_SLOPE(x),), lower=Cython("exprel"),
    domain=(NonZero,), samples=(0.2, 3), ulp=8.0,
    doc="(exp(x) - 1)/x, and 1 at 0.",
)  # fmt: skip


# ---------------------------------------------------------------- others

ERFI = define(
    sc.erfi, name="Erfi", sympy=sp.erfi, partials=lambda y, x: (2 / ROOT_PI * np.exp(x * x),),
    domain=UNARY, samples=(-2, 2), ulp=16.0, **fitted_fields(erfi, sc.erfi),
)  # fmt: skip
EXP10 = define(
    sc.exp10, name="Exp10", sympy=lambda x: sp.Integer(10) ** x,
    partials=lambda y, x: (y * math.log(10.0),), lower=Cython("exp10"), domain=UNARY,
    samples=(-3, 3),
)  # fmt: skip
COSM1 = define(
    sc.cosm1, name="Cosm1", sympy=lambda x: sp.cos(x) - 1, partials=lambda y, x: (-np.sin(x),),
    lower=Composed(lambda x: -2 * np.square(np.sin(0.5 * x))), domain=UNARY, samples=(0.2, 3),
    ulp=8.0, doc="cos(x) - 1, exact near 0.",
)  # fmt: skip


def _pseudo_huber_slope(d: Any, r: Any) -> Any:
    """``2*y/d - (r/d)*r/s`` with ``s = sqrt(1 + (r/d)**2)`` is ``d*(s - 1)**2/s``."""
    square = np.square(r / d)
    s = np.sqrt(1 + square)
    return d * np.square(square / (1 + s)) / s


PSEUDO_HUBER = define(
    sc.pseudo_huber, name="PseudoHuber",
    sympy=lambda d, r: d**2 * (sp.sqrt(1 + (r / d) ** 2) - 1),
    partials=lambda y, d, r: (_pseudo_huber_slope(d, r), r / np.sqrt(1 + (r / d) ** 2)),
    lower=Cython("pseudo_huber"), domain=(Positive, Real), samples=((0.5, 2), (0.2, 3)),
    ulp=16.0,
)  # fmt: skip
HUBER = define(
    sc.huber, name="Huber",
    sympy=lambda d, r: sp.Piecewise((r**2 / 2, sp.Abs(r) <= d), (d * (sp.Abs(r) - d / 2), True)),
    partials=lambda y, d, r: (
        np.where(np.abs(r) <= d, 0.0, np.abs(r) - d), np.where(np.abs(r) <= d, r, d * np.sign(r)),
    ),
    lower=Cython("huber"), domain=(Positive, Real), samples=((0.5, 2), (-3, 3)), ulp=4.0,
)  # fmt: skip


def _boxcox(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.where(k == 0, np.log(x), np.expm1(safe * np.log(x)) / safe)


def _boxcox_slope(x: Any, k: Any) -> Any:
    """By the exponent: ``(x**k*(k*log(x) - 1) + 1)/k**2``, a mean of t*x**(k*t) over t."""
    log = np.log(x)
    return 0.5 * log * log * sc.hyp1f1(2.0, 3.0, k * log)


BOXCOX = define(
    sc.boxcox, name="Boxcox", sympy=lambda x, k: (x**k - 1) / k, lower=Composed(_boxcox),
    partials=lambda y, x, k: (x ** (k - 1), _boxcox_slope(x, k)),
    domain=(Positive, NonZero),
    samples=((1.5, 4), (0.5, 2)), ulp=32.0,
)  # fmt: skip

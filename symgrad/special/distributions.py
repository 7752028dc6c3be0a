"""The incomplete beta function, Student's t, Owen's T, and the densities they are integrals of.

Derivatives by a parameter (degrees of freedom) are not known: nan.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Composed, Op, Positive, Real, define
from . import precisely
from .densities import BETA, STUDENT, beta_density, t_density
from .differences import DIGAMMA_HALF, DIGAMMA_STEP, LOG_EXCESS, polygamma
from .fallback import doubled_fields, evaluated, of_scipy, source_of
from .gaussian import DENSITY
from .incomplete_beta import INCOMPLETE_BETA, beta_share
from .np_special import distribution
from .owens import owens_t
from .special import BOTH_POSITIVE, ORDER, UNIT
from .student import STUDENT_SHARES, t_share

THREE = (*BOTH_POSITIVE, *UNIT)


# ---------------------------------------------------------------- densities


def beta_form(a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    """The beta density, or a derivative, in SymPy."""
    n = sp.polygamma(0, a + b)
    factor = (
        1, sp.log(x) - sp.polygamma(0, a) + n, sp.log(1 - x) - sp.polygamma(0, b) + n,
        (a - 1) / x - (b - 1) / (1 - x),
    )[slope]  # fmt: skip
    return x ** (a - 1) * (1 - x) ** (b - 1) / sp.beta(a, b) * factor


def _beta_partials(y: Any, a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    if slope == 0:
        return tuple([BETA_DENSITY(a, b, x, slope=k) for k in (1, 2, 3)])
    f, both = BETA_DENSITY(a, b, x), polygamma(1, a + b)
    own = (
        np.log(x) + DIGAMMA_STEP(a, b), np.log1p(-x) + DIGAMMA_STEP(b, a),
        (a - 1) / x - (b - 1) / (1 - x),
    )  # fmt: skip
    second = (
        (DIGAMMA_STEP(a, b, order=1), both, 1 / x),
        (both, DIGAMMA_STEP(b, a, order=1), -1 / (1 - x)),
        (1 / x, -1 / (1 - x), -(a - 1) / (x * x) - (b - 1) / np.square(1 - x)),
    )[slope - 1]  # fmt: skip
    return tuple([y * own[k] + f * second[k] for k in range(3)])


BETA_DENSITY: Op = define(
    name="BetaDensity", doc="x**(a - 1)*(1 - x)**(b - 1)/beta(a, b).", sympy=beta_form,
    partials=_beta_partials, slopes=3, domain=THREE, samples=((0.5, 5), (0.5, 5), (0.1, 0.9)),
    helpers=BETA, **doubled_fields(beta_density),
)  # fmt: skip


def t_form(v: Any, t: Any, slope: int = 0) -> Any:
    """Student's density, or a derivative, in SymPy."""
    step = sp.polygamma(0, (v + 1) / 2) - sp.polygamma(0, v / 2) - 1 / v
    by_v = step - sp.log(1 + t**2 / v) + t**2 * (v + 1) / (v * (v + t**2))
    factor = (1, by_v / 2, -(v + 1) * t / (v + t**2))[slope]
    return (
        sp.gamma((v + 1) / 2) / sp.gamma(v / 2) / sp.sqrt(sp.pi * v)
        * (1 + t**2 / v) ** (-(v + 1) / 2) * factor
    )  # fmt: skip


def _t_partials(y: Any, v: Any, t: Any, slope: int = 0) -> Any:
    if slope == 0:
        return T_DENSITY(v, t, slope=1), T_DENSITY(v, t, slope=2)
    f, square = T_DENSITY(v, t), t * t
    whole = v + square
    by_v = 0.5 * (DIGAMMA_HALF(v) - LOG_EXCESS(square / v) + square / (v * whole))
    by_t = -(v + 1) * t / whole
    both = t * (1 - square) / np.square(whole)
    if slope == 1:
        again = square * (square * v - square - 2 * v) / np.square(v * whole)
        twice = 0.5 * (DIGAMMA_HALF(v, order=1) + again)
        return y * by_v + f * twice, y * by_t + f * both
    return y * by_v + f * both, y * by_t - f * ((v + 1) * (v - square) / np.square(whole))


T_DENSITY: Op = define(
    name="StudentDensity", doc="Density of Student's t distribution.", sympy=t_form,
    partials=_t_partials, slopes=2, domain=(Positive, Real), samples=((1, 9), (-3, 3)),
    helpers=STUDENT, **doubled_fields(t_density),
)  # fmt: skip


# ---------------------------------------------------------------- distribution functions

_SHARES = [of_scipy(f.__name__.capitalize(), f, THREE)
           for f in (sc.betainc, sc.betaincc)]  # fmt: skip
BETAINC = define(
    sc.betainc, name="Betainc", sympy=lambda a, b, x: sp.betainc_regularized(a, b, 0, x),
    evaluate=evaluated(beta_share, sc.betainc),
    lower=Composed(lambda a, b, x: beta_share(a, b, x, _SHARES[0])),
    partials=lambda y, a, b, x: (math.nan, math.nan, BETA_DENSITY(a, b, x)),
    source=source_of("beta_share"), helpers=(*INCOMPLETE_BETA, beta_share), domain=THREE,
    samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0, convention=ORDER,
    doc="Regularized incomplete beta function.",
)  # fmt: skip
BETAINCC = define(
    sc.betaincc, name="Betaincc", sympy=lambda a, b, x: 1 - sp.betainc_regularized(a, b, 0, x),
    evaluate=evaluated(beta_share, sc.betaincc, True),
    lower=Composed(lambda a, b, x: beta_share(a, b, x, _SHARES[1], True)),
    partials=lambda y, a, b, x: (math.nan, math.nan, -BETA_DENSITY(a, b, x)),
    source=source_of("beta_share", "special.betaincc", "True"),
    helpers=(*INCOMPLETE_BETA, beta_share), domain=THREE,
    samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0, convention=ORDER,
    doc="Complement of the regularized incomplete beta function.",
)  # fmt: skip
_STDTR = of_scipy("StudentCdf", sc.stdtr, (Positive, Real))
STDTR = define(
    sc.stdtr, name="StudentCdf", sympy=None, precise=precisely.student,
    partials=lambda y, v, t: (math.nan, T_DENSITY(v, t)), evaluate=evaluated(t_share, sc.stdtr),
    lower=Composed(lambda v, t: t_share(v, t, _STDTR)), source=source_of("t_share"),
    helpers=(*STUDENT_SHARES, t_share),
    domain=(Positive, Real), samples=((1, 9), (-3, 3)), ulp=128.0, convention=ORDER,
    doc="Distribution function of Student's t.",
)  # fmt: skip
_OWENS_T = of_scipy("OwensT", sc.owens_t, (Real, Real))


def _owens_t_partials(y: Any, h: Any, a: Any, slope: int = 0) -> Any:
    if slope == 0:
        return OWENS_T(h, a, slope=1), OWENS_T(h, a, slope=2)
    if slope == 1:
        return -h * y - DENSITY(h) * DENSITY(h * a) * a, -h * DENSITY(h) * DENSITY(h * a)
    return -h * (1 + a * a) * y, -a * (h * h + 2 / (1 + a * a)) * y


def _owens_t_form(h: Any, a: Any, slope: int = 0) -> Any:
    if slope == 0:
        return sp.Function("OwensT")(h, a)
    if slope == 1:
        return -sp.exp(-h * h / 2) * sp.erf(h * a / sp.sqrt(2)) / sp.sqrt(8 * sp.pi)
    return sp.exp(-h * h * (1 + a * a) / 2) / (2 * sp.pi * (1 + a * a))


OWENS_T: Op = define(
    sc.owens_t, name="OwensT", sympy=None, precise=precisely.owens_t, partials=_owens_t_partials,
    slopes=2, reading=_owens_t_form, evaluate=evaluated(owens_t, sc.owens_t),
    lower=Composed(lambda h, a, slope=0: owens_t(h, a, _OWENS_T, slope)),
    source=source_of("owens_t"), helpers=(owens_t,), domain=(Real, Real),
    samples=((0.2, 2), (0.2, 2)), ulp=64.0, doc="Owen's T function.",
)  # fmt: skip


@distribution(sc.fdtr, "F distribution function.", (1, 6), (1, 6), (0.5, 4))
def fdtr(n: Any, d: Any, x: Any) -> Any:
    return sc.betainc(n / 2.0, d / 2.0, n * x / (d + n * x))


@distribution(sc.fdtrc, "F survival function.", (1, 6), (1, 6), (0.5, 4))
def fdtrc(n: Any, d: Any, x: Any) -> Any:
    return sc.betainc(d / 2.0, n / 2.0, d / (d + n * x))


@distribution(sc.bdtr, "Binomial distribution function.", (2, 2), (5, 5), (0.1, 0.9))
def bdtr(k: Any, n: Any, p: Any) -> Any:
    k = np.floor(k)
    return np.where(k >= n, 1.0, sc.betaincc(k + 1.0, np.maximum(n - k, 1.0), p))


@distribution(sc.bdtrc, "Binomial survival function.", (2, 2), (5, 5), (0.1, 0.9))
def bdtrc(k: Any, n: Any, p: Any) -> Any:
    k = np.floor(k)
    return np.where(k >= n, 0.0, sc.betainc(k + 1.0, np.maximum(n - k, 1.0), p))


@distribution(sc.nbdtr, "Negative binomial distribution function.", (2, 2), (3, 3), (0.1, 0.9))
def nbdtr(k: Any, n: Any, p: Any) -> Any:
    return sc.betainc(n * 1.0, k + 1.0, p)


@distribution(sc.nbdtrc, "Negative binomial survival function.", (2, 2), (3, 3), (0.1, 0.9))
def nbdtrc(k: Any, n: Any, p: Any) -> Any:
    return sc.betaincc(n * 1.0, k + 1.0, p)

"""The incomplete beta function, Student's t, quantile functions, and what they are made of.

The derivative of a quantile function is one over the density at the quantile. Those by a
parameter (degrees of freedom) are not known: nan.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc
import sympy as sp

from .._op import Composed, Cython, Op, Positive, Real, define
from . import precisely
from .differences import DIGAMMA_HALF, DIGAMMA_STEP, LOG_EXCESS
from .fallback import evaluated, of_scipy, source_of
from .gaussian import DENSITY, ERF, HAZARD
from .incomplete import INCOMPLETE, gamma_quantile
from .incomplete_beta import INCOMPLETE_BETA, beta_quantile, beta_share
from .integrals import GAMMA_DENSITY
from .np_special import distribution
from .special import BOTH_POSITIVE, ORDER, UNIT
from .stirling import STIRLING, beta_density, t_density

THREE = (*BOTH_POSITIVE, *UNIT)


# ---------------------------------------------------------------- densities


BETA_DENSITY = define(
    name="BetaDensity", doc="x**(a - 1)*(1 - x)**(b - 1)/beta(a, b).", evaluate=beta_density,
    sympy=lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / sp.beta(a, b),
    partials=lambda y, a, b, x: (
        y * (np.log(x) + DIGAMMA_STEP(a, b)),
        y * (np.log1p(-x) + DIGAMMA_STEP(b, a)),
        y * ((a - 1) / x - (b - 1) / (1 - x)),
    ),
    lower=Composed(beta_density), domain=THREE, samples=((0.5, 5), (0.5, 5), (0.1, 0.9)),
    ulp=16.0, source=lambda a, b, x: f"beta_density({a}, {b}, {x})",
    helpers=(*STIRLING, beta_density),
)  # fmt: skip


T_DENSITY = define(
    name="StudentDensity", doc="Density of Student's t distribution.", evaluate=t_density,
    sympy=lambda v, t: sp.gamma((v + 1) / 2) / sp.gamma(v / 2) / sp.sqrt(sp.pi * v)
    * (1 + t**2 / v) ** (-(v + 1) / 2),
    partials=lambda y, v, t: (
        0.5 * y * (DIGAMMA_HALF(v) - LOG_EXCESS(t * t / v) + t * t / (v * (v + t * t))),
        -y * (v + 1) * t / (v + t * t),
    ),
    lower=Composed(t_density), domain=(Positive, Real), samples=((1, 9), (-3, 3)), ulp=16.0,
    source=lambda v, t: f"t_density({v}, {t})", helpers=(*STIRLING, t_density),
)  # fmt: skip


# ---------------------------------------------------------------- distribution functions

_SHARES = [of_scipy(f.__name__.capitalize(), f, f"__pyx_fuse_0{f.__name__}", THREE)
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
STDTR = define(
    sc.stdtr, name="StudentCdf", sympy=None, precise=precisely.student,
    partials=lambda y, v, t: (math.nan, T_DENSITY(v, t)), lower=Cython("__pyx_fuse_0stdtr"),
    domain=(Positive, Real), samples=((1, 9), (-3, 3)), ulp=128.0, convention=ORDER,
    doc="Distribution function of Student's t.",
)  # fmt: skip
OWENS_T = define(
    sc.owens_t, name="OwensT", sympy=None, precise=precisely.owens_t,
    partials=lambda y, h, a: (
        DENSITY(h) * ERF(h * a * math.sqrt(0.5)) * -0.5,
        DENSITY(h) * DENSITY(h * a) / (1 + a * a),
    ),
    lower=Cython("owens_t"), domain=(Real, Real), samples=((0.2, 2), (0.2, 2)), ulp=64.0,
    doc="Owen's T function.",
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


# ---------------------------------------------------------------- quantile functions

_INVERSES = [of_scipy(f.__name__.capitalize(), f, f"__pyx_fuse_0{f.__name__}", THREE)
             for f in (sc.betaincinv, sc.betainccinv)]  # fmt: skip
BETAINCINV = define(
    sc.betaincinv, name="Betaincinv", sympy=None, precise=precisely.beta_quantile,
    evaluate=evaluated(beta_quantile, sc.betaincinv),
    lower=Composed(lambda a, b, y: beta_quantile(a, b, y, _INVERSES[0])),
    partials=lambda x, a, b, y: (math.nan, math.nan, 1 / BETA_DENSITY(a, b, x)),
    source=source_of("beta_quantile", "special.betaincinv"),
    helpers=(*INCOMPLETE_BETA, beta_quantile), domain=THREE,
    samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0, convention=ORDER,
    doc="Inverse of the regularized incomplete beta function.",
)  # fmt: skip
BETAINCCINV = define(
    sc.betainccinv, name="Betainccinv", sympy=None, precise=precisely.beta_upper_quantile,
    evaluate=evaluated(beta_quantile, sc.betainccinv, True),
    lower=Composed(lambda a, b, y: beta_quantile(a, b, y, _INVERSES[1], True)),
    partials=lambda x, a, b, y: (math.nan, math.nan, -1 / BETA_DENSITY(a, b, x)),
    source=source_of("beta_quantile", "special.betainccinv", "True"),
    helpers=(*INCOMPLETE_BETA, beta_quantile), domain=THREE,
    samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0, convention=ORDER,
    doc="Inverse of the complement of the incomplete beta function.",
)  # fmt: skip
_QUANTILES = [of_scipy(f.__name__.capitalize(), f, f.__name__, (Positive, *UNIT))
              for f in (sc.gammaincinv, sc.gammainccinv)]  # fmt: skip
GAMMAINCINV = define(
    sc.gammaincinv, name="Gammaincinv", sympy=None, precise=precisely.gamma_quantile,
    partials=lambda x, a, y: (math.nan, 1 / GAMMA_DENSITY(a, x)),
    evaluate=evaluated(gamma_quantile, sc.gammaincinv),
    lower=Composed(lambda a, y: gamma_quantile(a, y, _QUANTILES[0])),
    source=source_of("gamma_quantile", "special.gammaincinv"),
    helpers=(*INCOMPLETE, gamma_quantile),
    domain=(Positive, *UNIT), samples=((0.5, 5), (0.1, 0.9)), ulp=64.0, convention=ORDER,
    doc="Inverse of the regularized lower incomplete gamma function.",
)  # fmt: skip
GAMMAINCCINV = define(
    sc.gammainccinv, name="Gammainccinv", sympy=None, precise=precisely.gamma_upper_quantile,
    partials=lambda x, a, y: (math.nan, -1 / GAMMA_DENSITY(a, x)),
    evaluate=evaluated(gamma_quantile, sc.gammainccinv, True),
    lower=Composed(lambda a, y: gamma_quantile(a, y, _QUANTILES[1], True)),
    source=source_of("gamma_quantile", "special.gammainccinv", "True"),
    helpers=(*INCOMPLETE, gamma_quantile),
    domain=(Positive, *UNIT), samples=((0.5, 5), (0.1, 0.9)), ulp=64.0, convention=ORDER,
    doc="Inverse of the regularized upper incomplete gamma function.",
)  # fmt: skip
STDTRIT = define(
    sc.stdtrit, name="StudentQuantile", sympy=None, precise=precisely.student_quantile,
    partials=lambda t, v, p: (math.nan, 1 / T_DENSITY(v, t)),
    lower=Cython("__pyx_fuse_0stdtrit"), domain=(Positive, *UNIT),
    samples=((1, 9), (0.1, 0.9)), ulp=256.0, convention=ORDER,
    doc="Quantile function of Student's t.",
)  # fmt: skip
NDTRI_EXP: Op = define(
    sc.ndtri_exp, name="NdtriExp", sympy=None, precise=precisely.normal_log_quantile,
    partials=lambda x, y: (1 / HAZARD(x),), lower=Cython("ndtri_exp"),
    domain=(sp.Interval.open(-sp.oo, 0),), samples=(-9, -0.2), ulp=64.0,
    doc="Normal quantile of exp(y).",
)  # fmt: skip


@distribution(sc.fdtri, "F quantile function.", (1, 6), (1, 6), (0.1, 0.9))
def fdtri(n: Any, d: Any, p: Any) -> Any:
    x = sc.betaincinv(n / 2.0, d / 2.0, p)
    return d * x / (n * (1 - x))


@distribution(sc.chdtri, "Inverse of the chi-square survival function.", (1, 6), (0.1, 0.9))
def chdtri(v: Any, p: Any) -> Any:
    return 2.0 * sc.gammainccinv(v / 2.0, p)


@distribution(sc.gdtrix, "Gamma quantile function.", (0.5, 2), (1, 4), (0.1, 0.9))
def gdtrix(a: Any, b: Any, p: Any) -> Any:
    return sc.gammaincinv(b, p) / a

"""Rarer distributions of ``scipy.stats`` that can be traced, and more means and variances.

Sources: N. L. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions, Wiley 1994
and 1995; of Pearson's type III near the normal one, the first term of Edgeworth's series.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats

from ._distribution import MOMENTS, Distribution, Moments
from ._distributions import (
    ABOVE,
    CORNERED,
    DISTRIBUTIONS,
    EXPONENTIAL,
    LINE,
    LOG_2,
    LOG_ROOT_2PI,
    NORMAL,
    POSITIVE,
    UNIFORM,
    UNIT,
    Formula,
    complete,
    count,
    log1mexp,
    mapped,
    positive,
    row,
)
from .special import polygamma

_EULER = float(np.euler_gamma)

# ---------------------------------------------------------------- on the whole line

row("laplace_asymmetric", complete(
    logpdf=lambda z, k: np.where(z < 0, z / k, -z * k) - np.log(k + 1 / k),
    cdf=lambda z, k: np.where(
        z < 0, k * k * np.exp(z / k) / (1 + k * k),
        1 - np.exp(-z * k) / (1 + k * k)),
    sf=lambda z, k: np.where(
        z < 0, 1 - k * k * np.exp(z / k) / (1 + k * k),
        np.exp(-z * k) / (1 + k * k)),
    ppf=lambda q, k: np.where(
        q < k * k / (1 + k * k), k * np.log(q * (1 + k * k) / (k * k)),
        -np.log((1 - q) * (1 + k * k)) / k),
), **LINE, valid=positive)  # fmt: skip
row("skewcauchy", complete(
    logpdf=lambda z, a: -math.log(math.pi) - np.log1p((z / (1 + a * np.sign(z))) ** 2),
    cdf=lambda z, a: 0.5 * (1 - a) + (1 + a * np.sign(z)) / math.pi * np.arctan(
        z / (1 + a * np.sign(z))),
    sf=lambda z, a: 0.5 * (1 + a) - (1 + a * np.sign(z)) / math.pi * np.arctan(
        z / (1 + a * np.sign(z))),
    ppf=lambda q, a: _skewed(q, a, np.where(q < 0.5 * (1 - a), 1 - a, 1 + a)),
), **LINE, valid=lambda a: np.abs(a) < 1)  # fmt: skip


def _skewed(q: Any, a: Any, side: Any) -> Any:
    return side * np.tan(math.pi / side * (q - 0.5 * (1 - a)))


def _of_both_sides(z: Any, tail: Any) -> Any:
    """Return a symmetric distribution function by what lies beyond a place, twice.

    Not by the absolute value, which has no derivative at 0.
    """
    below = 0.5 * tail(np.where(z < 0, -z, 0.0))
    return np.where(z < 0, below, 1.0 - 0.5 * tail(np.where(z < 0, 0.0, z)))


row("dweibull", complete(
    logpdf=lambda z, c: np.log(c) - LOG_2 + special.xlogy(c - 1.0, np.abs(z)) - np.abs(z) ** c,
    cdf=lambda z, c: _of_both_sides(z, lambda x: np.exp(-(x**c))),
    symmetric=True,
), **LINE, valid=positive)  # fmt: skip
row("dgamma", complete(
    logpdf=lambda z, a: special.xlogy(a - 1.0, np.abs(z)) - np.abs(z) - LOG_2 - special.gammaln(a),
    cdf=lambda z, a: _of_both_sides(z, lambda x: special.gammaincc(a, x)),
    symmetric=True,
), **LINE, valid=positive)  # fmt: skip


def _inverse_gaussian(z: Any, a: Any, b: Any) -> Any:
    root = np.sqrt(1 + z * z)
    return (np.log(a / math.pi) + np.sqrt((a - b) * (a + b)) + b * z - a * root
            + np.log(special.k1e(a * root)) - np.log(root))  # fmt: skip


row("norminvgauss", complete(logpdf=_inverse_gaussian), **LINE,
    valid=lambda a, b: (a > 0) & (np.abs(b) < a))  # fmt: skip


def _ball(z: Any, beta: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Return the body's place, the tail's base and the masses of tail and body."""
    reach = m / beta
    base = np.where(z > -beta, reach, reach - beta - z) / reach
    tail = reach / (m - 1) * np.exp(-0.5 * beta * beta)
    return z > -beta, base, tail, np.exp(LOG_ROOT_2PI) * special.ndtr(beta)


def _ball_density(z: Any, beta: Any, m: Any) -> Any:
    body, base, tail, mass = _ball(z, beta, m)
    return np.where(body, -0.5 * z * z, -m * np.log(base) - 0.5 * beta**2) - np.log(tail + mass)


def _ball_share(z: Any, beta: Any, m: Any) -> Any:
    body, base, tail, mass = _ball(z, beta, m)
    inner = tail + np.exp(LOG_ROOT_2PI) * (special.ndtr(z) - special.ndtr(-beta))
    return np.where(body, inner, tail * base ** (1 - m)) / (tail + mass)


def _ball_rest(z: Any, beta: Any, m: Any) -> Any:
    body, _, tail, mass = _ball(z, beta, m)
    inner = np.exp(LOG_ROOT_2PI) * special.ndtr(-z) / (tail + mass)
    return np.where(body, inner, 1 - _ball_share(z, beta, m))


row("crystalball", complete(logpdf=_ball_density, cdf=_ball_share, sf=_ball_rest), **LINE,
    valid=lambda beta, m: (m > 1) & (beta > 0))  # fmt: skip

# ---------------------------------------------------------------- Pearson's type III

#: Below it, the distribution is the normal one and the first term of Edgeworth's series.
_STRAIGHT = 1e-5


def _pearson(normal: Formula, gamma: Formula) -> Formula:
    """Choose between the normal formula and that of gamma's, of ``alpha`` and its argument."""

    def formula(z: Any, skew: Any) -> Any:
        straight = np.abs(skew) < _STRAIGHT
        bent = np.where(straight, 1.0, skew)
        alpha = 4 / bent**2
        u = alpha * (1 + 0.5 * bent * np.where(straight, 0.0, z))
        return np.where(straight, normal(z, skew), gamma(u, alpha, bent))

    return formula


def _gamma_near_normal(u: Any, alpha: Any, skew: Any) -> Any:
    """Return the logarithm of the density, without the large parts that cancel.

    They are those of Stirling's formula, of which the rest is left.
    """
    large = alpha > 30
    a, b = np.where(large, alpha, 30.0), np.where(large, 1.0, alpha)
    rest = np.where(large, (1 - (1 - 2 / (7 * a * a)) / (30 * a * a)) / (12 * a),
                    special.gammaln(b) - (b - 0.5) * np.log(b) + b - LOG_ROOT_2PI)  # fmt: skip
    past = u / alpha - 1
    log = np.log1p(past)
    end = special.xlog1py(alpha - 1, past) - alpha * past
    body = np.where(u == 0, end, alpha * (log - past) - log)
    return body - LOG_ROOT_2PI - rest


def _tail(up: bool) -> Formula:
    def share(u: Any, alpha: Any, skew: Any) -> Any:
        low, high = special.gammainc(alpha, u), special.gammaincc(alpha, u)
        return np.where((skew > 0) == up, high, low)

    return _pearson(
        lambda z, s: (
            special.ndtr(-z if up else z)
            + (1 if up else -1) * s / 6 * (z * z - 1) * np.exp(NORMAL["logpdf"](z))
        ),
        share,
    )


def _pearson_quantile(q: Any, skew: Any) -> Any:
    straight = np.abs(skew) < _STRAIGHT
    bent = np.where(straight, 1.0, skew)
    alpha, z = 4 / bent**2, special.ndtri(q)
    u = np.where(bent > 0, special.gammaincinv(alpha, q), special.gammainccinv(alpha, q))
    return np.where(straight, z + skew / 6 * (z * z - 1), (u / alpha - 1) * 2 / bent)


row("pearson3", complete(
    logpdf=_pearson(
        lambda z, s: NORMAL["logpdf"](z) + s * (z**3 - 3 * z) / 6,
        _gamma_near_normal,
    ),
    cdf=_tail(False), sf=_tail(True), ppf=_pearson_quantile,
    isf=lambda q, s: -_pearson_quantile(q, -s),
), inside=lambda z, s: 1 + 0.5 * s * z >= 0, safe=0.0,
    corner=lambda z, s: 1 + 0.5 * s * z == 0, valid=np.isfinite, **LINE)  # fmt: skip

# ---------------------------------------------------------------- on a part of it

mapped("gibrat", NORMAL, np.log, lambda z: -np.log(z), np.exp, **ABOVE)
mapped("fatiguelife", NORMAL, lambda z, c: (np.sqrt(z) - 1 / np.sqrt(z)) / c,
       lambda z, c: np.log1p(z) - np.log(2 * c) - 1.5 * np.log(z),
       lambda u, c: np.exp(2 * np.arcsinh(0.5 * c * u)), valid=positive, **ABOVE)  # fmt: skip


def _weibull_power(z: Any, a: Any, c: Any) -> Any:
    """By powers of z near 0, where the share ``1 - exp(-z**c)`` is one, nearly."""
    low, u = z < 1, z**c
    log = np.where(low, np.log(special.exprel(-np.where(low, u, 1.0))), log1mexp(u))
    return np.log(a * c) + special.xlogy(np.where(low, a * c, c) - 1, z) - u + (a - 1) * log


mapped("exponweib", EXPONENTIAL, lambda z, a, c: -a * log1mexp(z**c),
       lambda z, a, c: np.log(a * c) + (c - 1) * np.log(z) - z**c - log1mexp(z**c),
       lambda u, a, c: (-log1mexp(u / a)) ** (1 / c), falls=True, logpdf=_weibull_power,
       valid=positive, **CORNERED)  # fmt: skip
row("foldnorm", complete(
    logpdf=lambda z, c: NORMAL["logpdf"](z - c) + np.log1p(np.exp(-2 * c * z)),
    cdf=lambda z, c: special.ndtr(z - c) - special.ndtr(-z - c),
    sf=lambda z, c: special.ndtr(c - z) + special.ndtr(-z - c),
), valid=lambda c: c >= 0, **POSITIVE)  # fmt: skip
row("truncpareto", complete(
    logpdf=lambda z, b, c: np.log(-b / np.expm1(-b * np.log(c))) - (b + 1) * np.log(z),
    cdf=lambda z, b, c: np.expm1(-b * np.log(z)) / np.expm1(-b * np.log(c)),
    sf=lambda z, b, c: (c**-b - z**-b) / np.expm1(-b * np.log(c)),
    ppf=lambda q, b, c: np.exp(-np.log1p(q * np.expm1(-b * np.log(c))) / b),
), inside=lambda z, b, c: (z >= 1) & (z <= c), safe=1.0,
   valid=lambda b, c: (np.abs(b) > 0) & (c > 1))  # fmt: skip
mapped("bradford", UNIFORM, lambda z, c: np.log1p(c * z) / np.log1p(c),
       lambda z, c: np.log(c / np.log1p(c)) - np.log1p(c * z),
       lambda u, c: np.expm1(u * np.log1p(c)) / c, valid=positive, **UNIT)  # fmt: skip
row("semicircular", complete(
    logpdf=lambda z: math.log(2 / math.pi) + 0.5 * np.log1p(-z * z),
    cdf=lambda z: special.betainc(1.5, 1.5, 0.5 * (1 + z)), symmetric=True,
), inside=lambda z: np.abs(z) <= 1, safe=0.0, corner=lambda z: np.abs(z) == 1)  # fmt: skip
_like = DISTRIBUTIONS["loguniform"]
DISTRIBUTIONS["reciprocal"] = Distribution(
    scipy.stats.reciprocal, _like.formulas, inside=_like.inside, safe=_like.safe, valid=_like.valid
)

# ---------------------------------------------------------------- on whole numbers

count("skellam", lambda k, a, b: (
    0.5 * k * np.log(a / b) - (np.sqrt(a) - np.sqrt(b)) ** 2
    + np.log(special.ive(np.abs(k), 2 * np.sqrt(a * b)))
), inside=lambda k, a, b: np.isfinite(k), safe=0.0, valid=positive)  # fmt: skip

# ---------------------------------------------------------------- means and variances


def _by_powers(first: Formula, second: Formula) -> Moments:
    """Return mean and variance by the means of the variable and of its square."""
    return Moments(first, lambda *s: second(*s) - first(*s) ** 2)


def _delta(a: Any) -> Any:
    return math.sqrt(2 / math.pi) * a / np.sqrt(1 + a * a)


def _chi(df: Any) -> Any:
    return math.sqrt(2.0) * np.exp(special.gammaln((df + 1) / 2) - special.gammaln(df / 2))


def _ratio(a: Any, c: Any, k: float) -> Any:
    return np.exp(special.gammaln(a + k / c) - special.gammaln(a))


MOMENTS.update({
    "laplace_asymmetric": Moments(lambda k: 1 / k - k, lambda k: 1 / k**2 + k**2),
    "dweibull": Moments(lambda c: 0.0 * c, lambda c: special.gamma(1 + 2 / c)),
    "dgamma": Moments(lambda a: 0.0 * a, lambda a: a * (a + 1)),
    "norminvgauss": Moments(lambda a, b: b / np.sqrt(a * a - b * b),
                            lambda a, b: a * a * (a * a - b * b) ** -1.5),
    "pearson3": Moments(lambda s: 0.0 * s, lambda s: 1 + 0.0 * s),
    "gibrat": Moments(lambda: math.exp(0.5), lambda: math.e * math.expm1(1)),
    "fatiguelife": Moments(lambda c: 1 + 0.5 * c * c, lambda c: c * c * (1 + 1.25 * c * c)),
    "semicircular": Moments(lambda: 0.0, lambda: 0.25),
    "skellam": Moments(lambda a, b: a - b, lambda a, b: a + b),
    "hypsecant": Moments(lambda: 0.0, lambda: math.pi**2 / 4),
    "halflogistic": Moments(lambda: 2 * LOG_2, lambda: math.pi**2 / 3 - 4 * LOG_2**2),
    "arcsine": Moments(lambda: 0.5, lambda: 0.125),
    "wald": Moments(lambda: 1.0, lambda: 1.0),
    "moyal": Moments(lambda: LOG_2 + _EULER, lambda: math.pi**2 / 2),
    "skewnorm": Moments(_delta, lambda a: 1 - _delta(a) ** 2),
    "exponnorm": Moments(lambda K: K, lambda K: 1 + K * K),
    "genlogistic": Moments(lambda c: _EULER + special.psi(c),
                           lambda c: math.pi**2 / 6 + polygamma(1, c)),
    "loggamma": Moments(special.psi, lambda c: polygamma(1, c)),
    "johnsonsu": Moments(
        lambda a, b: -np.exp(0.5 / b**2) * np.sinh(a / b),
        lambda a, b: 0.5 * np.expm1(b**-2.0) * (np.exp(b**-2.0) * np.cosh(2 * a / b) + 1)),
    "powerlaw": Moments(lambda a: a / (a + 1), lambda a: a / ((a + 2) * (a + 1) ** 2)),
    "loguniform": _by_powers(lambda a, b: (b - a) / np.log(b / a),
                             lambda a, b: 0.5 * (b * b - a * a) / np.log(b / a)),
    "chi": Moments(_chi, lambda df: df - _chi(df) ** 2),
    "gengamma": _by_powers(lambda a, c: _ratio(a, c, 1), lambda a, c: _ratio(a, c, 2)),
    "nakagami": _by_powers(lambda nu: _ratio(nu, 2.0, 1) / np.sqrt(nu), lambda nu: 1 + 0.0 * nu),
    "weibull_max": Moments(lambda c: -special.gamma(1 + 1 / c),
                           lambda c: special.gamma(1 + 2 / c) - special.gamma(1 + 1 / c) ** 2),
})  # fmt: skip

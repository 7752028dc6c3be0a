"""The distributions of ``scipy.stats`` that can be traced: a row each.

Most are another one, the *base*, of a monotone function of the variable: Weibull's is the
exponential distribution of ``z**c``, the log-normal the normal one of ``log(z)/s``. Such a row
says the function, the logarithm of its slope and its inverse, from which all methods follow, the
tails as well conditioned as the base's. The formulas hold at location 0 and scale 1.

Sources: N. L. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions, Wiley 1994
and 1995; N. L. Johnson, A. W. Kemp, S. Kotz, Univariate Discrete Distributions, Wiley 2005.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats

from .._core.op import registry
from ..special.elementary import log_over, power_over
from ._distribution import Counts, Distribution

Formula = Callable[..., Any]
Formulas = Mapping[str, Formula]

LOG_2 = math.log(2.0)
LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
ROOT_2 = math.sqrt(2.0)

_density = registry.ops["NormalDensity"]


def log1mexp(u: Any) -> Any:
    """Return ``log(1 - exp(-u))`` for u >= 0 (M. Maechler, 2012)."""
    small = u < LOG_2
    return np.where(
        small,
        np.log(-np.expm1(-np.where(small, u, 1.0))),
        np.log1p(-np.exp(-np.where(small, 1.0, u))),
    )


def _exp(log: Any) -> Any:
    """Return ``exp(log)``, whose slope is 0, as outside, where a density falls to 0 at an end."""
    ends = log == -np.inf
    return np.where(ends, 0.0, np.exp(np.where(ends, 0.0, log)))


def _log_share(share: Formula, rest: Formula) -> Formula:
    """Return the logarithm of a probability by the smaller one of itself and of the rest."""

    def log(z: Any, *shapes: Any) -> Any:
        p, q = share(z, *shapes), rest(z, *shapes)
        small = p < 0.5
        return np.where(small, np.log(np.where(small, p, 0.5)), np.log1p(-np.where(small, 0.5, q)))

    return log


_PAIRS = (("cdf", "sf"), ("logcdf", "logsf"), ("ppf", "isf"))
#: The methods in the order in which they are said.
_ORDER = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


def complete(symmetric: bool = False, **given: Formula) -> dict[str, Formula]:
    """Return formulas with those that follow: densities, and logarithms of probabilities."""
    made = dict(given)
    if symmetric:
        for left, right in _PAIRS[:2]:
            if left in made:
                made[right] = lambda z, *s, f=made[left]: f(-z, *s)
        if "ppf" in made:
            made["isf"] = lambda q, *s, f=made["ppf"]: -f(q, *s)
    if "pdf" not in made:
        made["pdf"] = lambda z, *s: _exp(made["logpdf"](z, *s))
    if "cdf" in made and "sf" in made:
        made.setdefault("logcdf", _log_share(made["cdf"], made["sf"]))
        made.setdefault("logsf", _log_share(made["sf"], made["cdf"]))
    return {name: made[name] for name in _ORDER if name in made}


# ---------------------------------------------------------------- bases

NORMAL = complete(
    logpdf=lambda z: -0.5 * (z * z) - LOG_ROOT_2PI, pdf=_density, cdf=special.ndtr,
    logcdf=special.log_ndtr, ppf=special.ndtri, symmetric=True,
)  # fmt: skip
LOGISTIC = complete(
    logpdf=lambda z: special.log_expit(z) + special.log_expit(-z), cdf=special.expit,
    logcdf=special.log_expit, ppf=special.logit, symmetric=True,
)  # fmt: skip
EXPONENTIAL = complete(
    logpdf=lambda u: -u, cdf=lambda u: -np.expm1(-u), logcdf=log1mexp, sf=lambda u: np.exp(-u),
    logsf=lambda u: -u, ppf=lambda q: -np.log1p(-q), isf=lambda q: -np.log(q),
)  # fmt: skip
GAMMA = complete(
    logpdf=lambda u, a: special.xlogy(a - 1.0, u) - u - special.gammaln(a),
    cdf=lambda u, a: special.gammainc(a, u), sf=lambda u, a: special.gammaincc(a, u),
    ppf=lambda q, a: special.gammaincinv(a, q), isf=lambda q, a: special.gammainccinv(a, q),
)  # fmt: skip
BETA = complete(
    logpdf=lambda u, a, b: (
        special.xlogy(a - 1.0, u) + special.xlog1py(b - 1.0, -u) - special.betaln(a, b)
    ),
    cdf=lambda u, a, b: special.betainc(a, b, u), sf=lambda u, a, b: special.betaincc(a, b, u),
    ppf=lambda q, a, b: special.betaincinv(a, b, q),
    isf=lambda q, a, b: special.betainccinv(a, b, q),
)  # fmt: skip
UNIFORM = complete(
    # not 0*u, which is 0 for good
    logpdf=lambda u: np.where(np.isnan(u), u, 0.0), cdf=lambda u: u, sf=lambda u: 1.0 - u,
    ppf=lambda q: q, isf=lambda q: 1.0 - q,
)  # fmt: skip

DISTRIBUTIONS: dict[str, Distribution] = {}


def row(name: str, formulas: Formulas, **support: Any) -> None:
    DISTRIBUTIONS[name] = Distribution(getattr(scipy.stats, name), formulas, **support)


def mapped(
    name: str, base: Formulas, to: Formula, log_slope: Formula, back: Formula, *,
    falls: bool = False, of: Formula = lambda *_: (), logpdf: Formula | None = None,
    **support: Any,
) -> None:  # fmt: skip
    """Enter the distribution of z where ``to(z, *shapes)`` has the base.

    Parameters
    ----------
    log_slope:
        The logarithm of the size of the slope of ``to``.
    back:
        The inverse of ``to``.
    falls:
        Whether ``to`` decreases.
    of:
        The base's shape parameters for those of the distribution.
    logpdf:
        The density's logarithm, where the sum has inf - inf at an end.
    support:
        As for a :class:`Distribution`.
    """
    other = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])} if falls else {}

    def method(name: str) -> Formula:
        formula = base[other.get(name, name)]
        if name in ("ppf", "isf"):
            return lambda q, *shapes: back(formula(q, *of(*shapes)), *shapes)
        if name == "logpdf" and logpdf is not None:
            return logpdf
        if name == "logpdf":
            return lambda z, *shapes: formula(to(z, *shapes), *of(*shapes)) + log_slope(z, *shapes)
        return lambda z, *shapes: formula(to(z, *shapes), *of(*shapes))

    names = [n for n in _ORDER if n != "pdf" and other.get(n, n) in base]
    row(name, complete(symmetric=False, **{n: method(n) for n in names}), **support)


# ---------------------------------------------------------------- where they live

LINE: dict[str, Any] = {"ends": (-np.inf, np.inf)}
POSITIVE: dict[str, Any] = {
    "inside": lambda z, *_: z >= 0, "safe": 1.0, "ends": (0.0, np.inf),
}  # fmt: skip
#: With a density like a power of z near 0.
CORNERED: dict[str, Any] = {**POSITIVE, "corner": lambda z, *_: z == 0}
#: At 0 a logarithm is infinite.
ABOVE: dict[str, Any] = {"inside": lambda z, *_: z > 0, "safe": 1.0, "ends": (0.0, np.inf)}
UNIT: dict[str, Any] = {
    "inside": lambda z, *_: (z >= 0) & (z <= 1), "safe": 0.5, "ends": (0.0, 1.0),
}  # fmt: skip
CORNERS: dict[str, Any] = {**UNIT, "corner": lambda z, *_: (z == 0) | (z == 1)}


def positive(*shapes: Any) -> Any:
    good = shapes[0] > 0
    for shape in shapes[1:]:
        good = good & (shape > 0)
    return good


# ---------------------------------------------------------------- on the whole line

row("norm", NORMAL, **LINE)
row("logistic", LOGISTIC, **LINE)
row("laplace", complete(
    logpdf=lambda z: -np.abs(z) - LOG_2,
    cdf=lambda z: np.where(z < 0, 0.5 * np.exp(z), 1.0 - 0.5 * np.exp(-z)),
    ppf=lambda q: np.where(q < 0.5, np.log(2 * q), -np.log(2 * (1 - q))), symmetric=True,
), **LINE)  # fmt: skip
row("cauchy", complete(
    logpdf=lambda z: -np.log1p(z * z) - math.log(math.pi),
    cdf=lambda z: np.arctan2(1.0, -z) / math.pi,
    ppf=lambda q: -1 / np.tan(math.pi * q), symmetric=True,
), **LINE)  # fmt: skip
row("t", complete(
    logpdf=lambda z, df: (
        special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
        - (df + 1) / 2 * np.log1p(z * z / df)
    ),
    cdf=lambda z, df: special.stdtr(df, z), ppf=lambda q, df: special.stdtrit(df, q),
    symmetric=True,
), **LINE, valid=positive)  # fmt: skip
row("hypsecant", complete(
    logpdf=lambda z: LOG_2 - math.log(math.pi) - np.abs(z) - np.log1p(np.exp(-2 * np.abs(z))),
    cdf=lambda z: 2 / math.pi * np.arctan(np.exp(z)),
    ppf=lambda q: np.log(np.tan(math.pi / 2 * q)), symmetric=True,
), **LINE)  # fmt: skip


def _away(z: Any) -> Any:
    """Return the absolute value, a constant at 0, where slopes of its powers may be infinite."""
    return np.where(z == 0, 0.0, np.abs(z))


row("gennorm", complete(
    logpdf=lambda z, beta: np.log(0.5 * beta) - special.gammaln(1 / beta) - _away(z) ** beta,
    # In the middle, where the powers' base is 0, they are lines: slopes beyond are infinite.
    cdf=lambda z, beta: np.where(
        z == 0, 0.5 + z * 0.5 * beta / special.gamma(1 / beta), np.where(
            z < 0, 0.5 * special.gammaincc(1 / beta, _away(z) ** beta),
            0.5 + 0.5 * special.gammainc(1 / beta, _away(z) ** beta))
    ),
    ppf=lambda q, beta: np.where(
        q == 0.5, (q - 0.5) * 2.0 / beta * special.gamma(1 / beta),
        np.sign(q - 0.5) * special.gammainccinv(
            1 / beta, np.where(q == 0.5, 0.5, 2 * np.minimum(q, 1 - q))) ** (1 / beta),
    ),
    symmetric=True,
), **LINE, valid=positive)  # fmt: skip
row("skewnorm", complete(
    logpdf=lambda z, a: LOG_2 + NORMAL["logpdf"](z) + special.log_ndtr(a * z),
), **LINE)  # fmt: skip
row("exponnorm", complete(
    logpdf=lambda z, K: (0.5 / K - z) / K + special.log_ndtr(z - 1 / K) - np.log(K),
    sf=lambda z, K: special.ndtr(-z) + np.exp((0.5 / K - z) / K + special.log_ndtr(z - 1 / K)),
    cdf=lambda z, K: special.ndtr(z) - np.exp((0.5 / K - z) / K + special.log_ndtr(z - 1 / K)),
), **LINE, valid=positive)  # fmt: skip
row("vonmises", complete(
    logpdf=lambda z, kappa: (
        kappa * special.cosm1(z) - 2 * LOG_ROOT_2PI - np.log(special.i0e(kappa))
    ),
), **LINE, valid=lambda kappa: kappa >= 0)  # fmt: skip
mapped("johnsonsu", NORMAL, lambda z, a, b: a + b * np.arcsinh(z),
        lambda z, a, b: np.log(b) - 0.5 * np.log1p(z * z), lambda u, a, b: np.sinh((u - a) / b),
        valid=lambda a, b: (b > 0) & (a == a), **LINE)  # fmt: skip
mapped("gumbel_l", EXPONENTIAL, np.exp, lambda z: z, np.log, **LINE)
mapped("gumbel_r", EXPONENTIAL, lambda z: np.exp(-z), lambda z: -z, lambda u: -np.log(u),
        falls=True, **LINE)  # fmt: skip
mapped("genlogistic", EXPONENTIAL, lambda z, c: -c * special.log_expit(z),
        lambda z, c: np.log(c) + special.log_expit(-z), lambda u, c: -np.log(np.expm1(u / c)),
        falls=True, valid=positive, **LINE)  # fmt: skip
row("moyal", complete(
    logpdf=lambda z: -0.5 * (z + np.exp(-z)) - LOG_ROOT_2PI,
    cdf=lambda z: special.erfc(np.exp(-0.5 * z) / ROOT_2),
    sf=lambda z: special.erf(np.exp(-0.5 * z) / ROOT_2),
    ppf=lambda q: -2 * np.log(ROOT_2 * special.erfcinv(q)),
    isf=lambda q: -2 * np.log(ROOT_2 * special.erfinv(q)),
), **LINE)  # fmt: skip
mapped("loggamma", GAMMA, lambda z, c: np.exp(z), lambda z, c: z, lambda u, c: np.log(u),
        of=lambda c: (c,), logpdf=lambda z, c: c * z - np.exp(z) - special.gammaln(c),
        valid=positive, **LINE)  # fmt: skip

# ---------------------------------------------------------------- on a half-line

row("expon", EXPONENTIAL, **POSITIVE)
row("gamma", GAMMA, valid=positive, **CORNERED)
row("erlang", GAMMA, valid=positive, **CORNERED)
row("halfnorm", complete(
    logpdf=lambda z: NORMAL["logpdf"](z) + LOG_2,
    cdf=lambda z: special.erf(z * math.sqrt(0.5)), sf=lambda z: special.erfc(z * math.sqrt(0.5)),
    ppf=lambda q: math.sqrt(2.0) * special.erfinv(q), isf=lambda q: -special.ndtri(q / 2),
), **POSITIVE)  # fmt: skip
row("halfcauchy", complete(
    logpdf=lambda z: -np.log1p(z * z) - math.log(math.pi / 2),
    cdf=lambda z: 2 / math.pi * np.arctan(z), sf=lambda z: 2 / math.pi * np.arctan2(1.0, z),
    ppf=lambda q: np.tan(math.pi / 2 * q), isf=lambda q: 1 / np.tan(math.pi / 2 * q),
), **POSITIVE)  # fmt: skip
row("halflogistic", complete(
    logpdf=lambda z: LOG_2 + special.log_expit(z) + special.log_expit(-z),
    cdf=lambda z: np.tanh(z / 2), sf=lambda z: 2 * special.expit(-z),
    logsf=lambda z: LOG_2 + special.log_expit(-z),
    ppf=lambda q: 2 * np.arctanh(q), isf=lambda q: -special.logit(q / 2),
), **POSITIVE)  # fmt: skip
mapped("weibull_min", EXPONENTIAL, lambda z, c: z**c,
        lambda z, c: np.log(c) + special.xlogy(c - 1.0, z), lambda u, c: u ** (1 / c),
        valid=positive, **CORNERED)  # fmt: skip
mapped("rayleigh", EXPONENTIAL, lambda z: 0.5 * z * z, np.log, lambda u: np.sqrt(2 * u),
        **POSITIVE)  # fmt: skip
mapped("lomax", EXPONENTIAL, lambda z, c: c * np.log1p(z),
        lambda z, c: np.log(c) - np.log1p(z), lambda u, c: np.expm1(u / c),
        valid=positive, **POSITIVE)  # fmt: skip
mapped("gompertz", EXPONENTIAL, lambda z, c: c * np.expm1(z), lambda z, c: np.log(c) + z,
        lambda u, c: np.log1p(u / c), valid=positive, **POSITIVE)  # fmt: skip
mapped("burr12", EXPONENTIAL, lambda z, c, d: d * np.log1p(z**c),
        lambda z, c, d: np.log(c * d) + special.xlogy(c - 1.0, z) - np.log1p(z**c),
        lambda u, c, d: np.expm1(u / d) ** (1 / c), valid=positive, **CORNERED)  # fmt: skip
mapped("pareto", EXPONENTIAL, lambda z, b: b * np.log(z), lambda z, b: np.log(b) - np.log(z),
        lambda u, b: np.exp(u / b), inside=lambda z, b: z >= 1, safe=1.0,
        valid=positive)  # fmt: skip
mapped("genpareto", EXPONENTIAL, lambda z, c: log_over(c, z),
        lambda z, c: -np.log1p(c * z), lambda u, c: power_over(c, u),
        logpdf=lambda z, c: np.where((c == -1) & (z == 1), 0.0, -(1 + c) * log_over(c, z)),
        valid=np.isfinite,
        inside=lambda z, c: (z >= 0) & (c * z >= -1), corner=lambda z, c: c * z == -1,
        safe=lambda c: 0.5 / (1 + np.abs(c)))  # fmt: skip
mapped("genextreme", EXPONENTIAL, lambda z, c: np.exp(log_over(c, -z)),
        lambda z, c: np.where((c == 1) & (z == 1), 0.0, (1 - c) * log_over(c, -z)),
        lambda u, c: -power_over(c, np.log(u)),
        falls=True, valid=np.isfinite, inside=lambda z, c: (c * z < 1) | (c == 1) & (z == 1),
        safe=0.0, corner=lambda z, c: c * z == 1)  # fmt: skip
mapped("invweibull", EXPONENTIAL, lambda z, c: z**-c,
        lambda z, c: np.log(c) - (c + 1.0) * np.log(z), lambda u, c: u ** (-1 / c), falls=True,
        valid=positive, **ABOVE)  # fmt: skip


def _burr_density(z: Any, c: Any, d: Any) -> Any:
    low = z < 1
    power, part = np.where(low, c * d, -c) - 1.0, np.where(low, z, 1 / z) ** c
    return np.log(c * d) + special.xlogy(power, z) - (d + 1.0) * np.log1p(part)


mapped("burr", EXPONENTIAL, lambda z, c, d: d * np.log1p(z**-c),
        lambda z, c, d: np.log(c * d) - (c + 1.0) * np.log(z) - np.log1p(z**-c),
        lambda u, c, d: np.expm1(u / d) ** (-1 / c), falls=True, logpdf=_burr_density,
        valid=positive, **CORNERED)  # fmt: skip
mapped("weibull_max", EXPONENTIAL, lambda z, c: (-z) ** c,
        lambda z, c: np.log(c) + special.xlogy(c - 1.0, -z), lambda u, c: -(u ** (1 / c)),
        falls=True, inside=lambda z, c: z <= 0, safe=-1.0, valid=positive,
        corner=lambda z, c: z == 0)  # fmt: skip
mapped("fisk", LOGISTIC, lambda z, c: c * np.log(z), lambda z, c: np.log(c) - np.log(z),
        lambda u, c: np.exp(u / c),
        logpdf=lambda z, c: np.log(c) + special.xlogy(c - 1.0, z) - 2 * np.log1p(z**c),
        valid=positive, **CORNERED)  # fmt: skip
mapped("lognorm", NORMAL, lambda z, s: np.log(z) / s, lambda z, s: -np.log(s * z),
        lambda u, s: np.exp(s * u), valid=positive, **ABOVE)  # fmt: skip
mapped("chi2", GAMMA, lambda z, df: z / 2, lambda z, df: -LOG_2 + 0 * z, lambda u, df: 2 * u,
        of=lambda df: (df / 2,), valid=positive, **CORNERED)  # fmt: skip
mapped("chi", GAMMA, lambda z, df: z * z / 2, lambda z, df: np.log(z),
        lambda u, df: np.sqrt(2 * u), of=lambda df: (df / 2,),
        logpdf=lambda z, df: (
            (1 - df / 2) * LOG_2 - special.gammaln(df / 2) + special.xlogy(df - 1.0, z) - z * z / 2
        ),
        valid=positive, **CORNERED)  # fmt: skip
mapped("maxwell", GAMMA, lambda z: z * z / 2, np.log, lambda u: np.sqrt(2 * u),
        of=lambda: (1.5,), logpdf=lambda z: LOG_2 - LOG_ROOT_2PI + 2 * np.log(z) - z * z / 2,
        **POSITIVE)  # fmt: skip
mapped("nakagami", GAMMA, lambda z, nu: nu * z * z, lambda z, nu: np.log(2 * nu * z),
        lambda u, nu: np.sqrt(u / nu), of=lambda nu: (nu,),
        logpdf=lambda z, nu: (
            LOG_2 + special.xlogy(nu, nu) - special.gammaln(nu) + special.xlogy(2 * nu - 1, z)
            - nu * z * z
        ),
        valid=positive, **CORNERED)  # fmt: skip
row("gengamma", complete(
    logpdf=lambda z, a, c: (
        np.log(np.abs(c)) + special.xlogy(a * c - 1.0, z) - z**c - special.gammaln(a)
    ),
    cdf=lambda z, a, c: np.where(c > 0, special.gammainc(a, z**c), special.gammaincc(a, z**c)),
    sf=lambda z, a, c: np.where(c > 0, special.gammaincc(a, z**c), special.gammainc(a, z**c)),
    ppf=lambda q, a, c: (
        np.where(c > 0, special.gammaincinv(a, q), special.gammainccinv(a, q)) ** (1 / c)
    ),
    isf=lambda q, a, c: (
        np.where(c > 0, special.gammainccinv(a, q), special.gammaincinv(a, q)) ** (1 / c)
    ),
), inside=lambda z, a, c: (z > 0) | ((z == 0) & (c > 0)), safe=1.0, ends=(0.0, np.inf),
   valid=lambda a, c: (a > 0) & (np.abs(c) > 0), corner=lambda z, a, c: z == 0,
)  # fmt: skip
mapped("invgamma", GAMMA, lambda z, a: 1 / z, lambda z, a: -2 * np.log(z), lambda u, a: 1 / u,
        falls=True, of=lambda a: (a,), valid=positive,
        logpdf=lambda z, a: -(a + 1.0) * np.log(z) - 1 / z - special.gammaln(a),
        **ABOVE)  # fmt: skip
mapped("levy", GAMMA, lambda z: 0.5 / z, lambda z: -LOG_2 - 2 * np.log(z), lambda u: 0.5 / u,
        falls=True, of=lambda: (0.5,), **ABOVE)  # fmt: skip


def _inverse_gauss(sign: float) -> Formula:
    """Return the logarithm of a tail (G. Giner, G. Smyth, R Journal 8, 2016)."""

    def log(z: Any, mu: Any) -> Any:
        root = 1 / np.sqrt(z)
        a = special.log_ndtr(sign * root * (z / mu - 1))
        b = 2 / mu + special.log_ndtr(-root * (z / mu + 1))
        return a + np.log1p(sign * np.exp(b - a))

    return log


def _inverse_gauss_row(name: str, *fixed: float, **more: Any) -> None:
    def of(formula: Formula) -> Formula:
        return lambda z, *shapes: formula(z, *shapes, *fixed)

    below, above = _inverse_gauss(1.0), _inverse_gauss(-1.0)
    row(name, complete(
        logpdf=of(lambda z, mu: -LOG_ROOT_2PI - 1.5 * np.log(z) - (z / mu - 1) ** 2 / (2 * z)),
        cdf=of(lambda z, mu: np.exp(below(z, mu))), logcdf=of(below),
        sf=of(lambda z, mu: np.exp(above(z, mu))), logsf=of(above),
    ), **more, **ABOVE)  # fmt: skip


_inverse_gauss_row("invgauss", valid=positive)
_inverse_gauss_row("wald", 1.0)
row("rice", complete(
    logpdf=lambda z, b: np.log(z) - 0.5 * (z - b) ** 2 + np.log(special.i0e(z * b)),
), valid=lambda b: b >= 0, **ABOVE)  # fmt: skip


def _beta_of_odds(name: str, rate: Formula, of: Formula, **support: Any) -> None:
    """Enter the distribution of odds ``x/(1 - x)``, over a rate, where x has beta's.

    Each side by the share that is not near 1.
    """

    def sides(z: Any, *shapes: Any) -> tuple[Any, Any, Any, Any]:
        odds = rate(*shapes) * z
        return 1 / (1 + odds), odds / (1 + odds), *of(*shapes)

    def logpdf(z: Any, *shapes: Any) -> Any:
        (a, b), r = of(*shapes), rate(*shapes)
        return (
            special.xlogy(a - 1.0, r * z) - special.xlog1py(a + b, r * z) - special.betaln(a, b)
            + np.log(r)
        )  # fmt: skip

    def probability(part: Formula, other: Formula) -> Formula:
        def of_odds(z: Any, *shapes: Any) -> Any:
            rest, share, a, b = sides(z, *shapes)
            low = share < rest
            return np.where(
                low, part(a, b, np.where(low, share, 0.5)),
                other(b, a, np.where(low, 0.5, rest)),
            )  # fmt: skip

        return of_odds

    def quantile(inverse: Formula, other: Formula) -> Formula:
        def of_share(q: Any, *shapes: Any) -> Any:
            a, b = of(*shapes)
            share, rest = inverse(a, b, q), other(b, a, q)
            return share / rest / rate(*shapes)

        return of_share

    row(name, complete(
        logpdf=logpdf, cdf=probability(special.betainc, special.betaincc),
        sf=probability(special.betaincc, special.betainc),
        ppf=quantile(special.betaincinv, special.betainccinv),
        isf=quantile(special.betainccinv, special.betaincinv),
    ), valid=positive, **support)  # fmt: skip


_beta_of_odds("f", lambda dfn, dfd: dfn / dfd, lambda dfn, dfd: (dfn / 2, dfd / 2), **CORNERED)
_beta_of_odds("betaprime", lambda a, b: np.ones_like(a), lambda a, b: (a, b), **ABOVE)

# ---------------------------------------------------------------- on an interval

row("uniform", UNIFORM, **UNIT)
row("beta", BETA, valid=positive, **CORNERS)
row("arcsine", complete(
    logpdf=lambda z: -math.log(math.pi) - 0.5 * (np.log(z) + np.log1p(-z)),
    cdf=lambda z: 2 / math.pi * np.arcsin(np.sqrt(z)),
    sf=lambda z: 2 / math.pi * np.arccos(np.sqrt(z)),
    ppf=lambda q: np.sin(math.pi / 2 * q) ** 2, isf=lambda q: np.cos(math.pi / 2 * q) ** 2,
), **CORNERS)  # fmt: skip
mapped("powerlaw", EXPONENTIAL, lambda z, a: -a * np.log(z),
        lambda z, a: np.log(a) - np.log(z), lambda u, a: np.exp(-u / a), falls=True,
        logpdf=lambda z, a: np.log(a) + special.xlogy(a - 1.0, z), valid=positive,
        **CORNERS | {"inside": lambda z, a: (z <= 1) & ((z > 0) | (z == 0) & (a >= 1))}
       )  # fmt: skip
mapped("johnsonsb", NORMAL, lambda z, a, b: a + b * special.logit(z),
        lambda z, a, b: np.log(b) - np.log(z) - np.log1p(-z),
        lambda u, a, b: special.expit((u - a) / b), valid=lambda a, b: (b > 0) & (a == a),
        inside=lambda z, *_: (z > 0) & (z < 1), ends=(0.0, 1.0))  # fmt: skip
mapped("loguniform", UNIFORM, lambda z, a, b: np.log(z / a) / np.log(b / a),
        lambda z, a, b: -np.log(z) - np.log(np.log(b / a)),
        lambda u, a, b: a * np.exp(u * np.log(b / a)), inside=lambda z, a, b: (z >= a) & (z <= b),
        safe=lambda a, b: 0.5 * (a + b), valid=lambda a, b: (a > 0) & (b > a))  # fmt: skip
row("truncexpon", complete(
    logpdf=lambda z, b: -z - np.log(-np.expm1(-b)),
    cdf=lambda z, b: np.expm1(-z) / np.expm1(-b),
    sf=lambda z, b: (np.exp(-z) - np.exp(-b)) / -np.expm1(-b),
    ppf=lambda q, b: -np.log1p(q * np.expm1(-b)),
), inside=lambda z, b: (z >= 0) & (z <= b), safe=lambda b: 0.5 * b, valid=positive)  # fmt: skip
row("triang", complete(
    logpdf=lambda z, c: LOG_2 + np.log(_corner(z, c)),
    cdf=lambda z, c: np.where(_left(z, c), z * _corner(z, c), 1 - (1 - z) * _corner(z, c)),
    sf=lambda z, c: np.where(_left(z, c), 1 - z * _corner(z, c), (1 - z) * _corner(z, c)),
    ppf=lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))),
), valid=lambda c: (c >= 0) & (c <= 1), **UNIT)  # fmt: skip


def _left(z: Any, c: Any) -> Any:
    return (z < c) | (c == 1)


def _corner(z: Any, c: Any) -> Any:
    """Return half the triangular density."""
    left = _left(z, c)
    return np.where(left, z, 1 - z) / np.where(left, c, np.where(c == 1, 1.0, 1 - c))


def _log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the normal distribution's mass between a and b, a < b.

    By the tails of the side on which both are, else by both tails.
    """
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    # Of -inf the logarithm's slope is infinite; an infinite bound does not move.
    low, high = np.maximum(low, -1e150), np.minimum(high, 1e150)
    one_side = high <= 0
    top, bottom = (
        special.log_ndtr(np.where(one_side, x, y)) for x, y in ((high, -1.0), (low, -2.0))
    )
    tails = special.ndtr(np.where(one_side, -1.0, low)) + special.ndtr(
        np.where(one_side, -1.0, -high)
    )
    return np.where(one_side, top + log1mexp(top - bottom), np.log1p(-tails))


row("truncnorm", complete(
    logpdf=lambda z, a, b: NORMAL["logpdf"](z) - _log_mass(a, b),
    cdf=lambda z, a, b: _exp(_log_mass(a, z) - _log_mass(a, b)),
    sf=lambda z, a, b: _exp(_log_mass(z, b) - _log_mass(a, b)),
), inside=lambda z, a, b: (z >= a) & (z <= b), valid=lambda a, b: a < b,
   corner=lambda z, a, b: (z == a) | (z == b),
   safe=lambda a, b: np.clip(0.5 * (np.maximum(a, -1e300) + np.minimum(b, 1e300)), a, b),
)  # fmt: skip

# ---------------------------------------------------------------- on whole numbers


def _log_binomial(n: Any, k: Any) -> Any:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)


def _is_share(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def count(name: str, log: Formula, cdf: Formula | None = None, sf: Formula | None = None,
           logsf: Formula | None = None, **support: Any) -> None:  # fmt: skip
    formulas = {"logpmf": log, "pmf": lambda k, *s: np.exp(log(k, *s))}
    if cdf is not None and sf is not None:
        formulas |= {"cdf": cdf, "logcdf": _log_share(cdf, sf), "sf": sf,
                     "logsf": logsf or _log_share(sf, cdf)}  # fmt: skip
    DISTRIBUTIONS[name] = Counts(getattr(scipy.stats, name), formulas, **support)


_FROM_0: dict[str, Any] = {"inside": lambda k, *_: k >= 0, "safe": 0.0}
_FROM_1: dict[str, Any] = {"inside": lambda k, *_: k >= 1, "safe": 1.0}

count("poisson", lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1.0) - mu,
       lambda k, mu: special.gammaincc(k + 1.0, mu), lambda k, mu: special.gammainc(k + 1.0, mu),
       valid=lambda mu: mu >= 0, **_FROM_0)  # fmt: skip
count("bernoulli", lambda k, p: special.xlogy(k, p) + special.xlog1py(1.0 - k, -p),
       lambda k, p: np.where(k < 1, 1 - p, 1.0), lambda k, p: np.where(k < 1, p, 0.0),
       inside=lambda k, p: (k >= 0) & (k <= 1), safe=0.0, valid=_is_share)  # fmt: skip
count("binom",
       lambda k, n, p: _log_binomial(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
       lambda k, n, p: np.where(k < n, special.betaincc(k + 1.0, np.maximum(n - k, 1.0), p), 1.0),
       lambda k, n, p: np.where(k < n, special.betainc(k + 1.0, np.maximum(n - k, 1.0), p), 0.0),
       inside=lambda k, n, p: (k >= 0) & (k <= n), safe=0.0,
       valid=lambda n, p: (n >= 0) & _is_share(p))  # fmt: skip
count("nbinom",
       lambda k, n, p: (
           special.gammaln(k + n) - special.gammaln(k + 1.0) - special.gammaln(n)
           + special.xlogy(n, p) + special.xlog1py(k, -p)
       ),
       lambda k, n, p: special.betainc(n, k + 1.0, p),
       lambda k, n, p: special.betaincc(n, k + 1.0, p),
       valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1), **_FROM_0)  # fmt: skip
count("geom", lambda k, p: special.xlog1py(k - 1.0, -p) + np.log(p),
       lambda k, p: -np.expm1(special.xlog1py(k, -p)), lambda k, p: np.exp(special.xlog1py(k, -p)),
       logsf=lambda k, p: special.xlog1py(k, -p),
       valid=lambda p: (p > 0) & (p <= 1), **_FROM_1)  # fmt: skip
count("logser", lambda k, p: special.xlogy(k, p) - np.log(k) - np.log(-np.log1p(-p)),
       valid=lambda p: (p > 0) & (p < 1), **_FROM_1)  # fmt: skip
count("randint", lambda k, low, high: -np.log(high - low) + 0 * k,
       lambda k, low, high: (k - low + 1) / (high - low),
       lambda k, low, high: (high - 1 - k) / (high - low),
       inside=lambda k, low, high: (k >= low) & (k < high), safe=lambda low, high: low,
       valid=lambda low, high: high > low)  # fmt: skip
count("hypergeom",
       lambda k, M, n, N: _log_binomial(n, k) + _log_binomial(M - n, N - k) - _log_binomial(M, N),
       inside=lambda k, M, n, N: (k >= np.maximum(N - M + n, 0)) & (k <= np.minimum(n, N)),
       safe=lambda M, n, N: np.maximum(N - M + n, 0.0),
       valid=lambda M, n, N: (n <= M) & (N <= M) & (n >= 0) & (N >= 0))  # fmt: skip
count("betabinom",
       lambda k, n, a, b: (
           _log_binomial(n, k) + special.betaln(k + a, n - k + b) - special.betaln(a, b)
       ),
       inside=lambda k, n, *_: (k >= 0) & (k <= n), safe=0.0,
       valid=lambda n, a, b: (n >= 0) & (a > 0) & (b > 0))  # fmt: skip
count("dlaplace", lambda k, a: np.log(np.tanh(a / 2)) - a * np.abs(k),
       inside=lambda k, a: np.isfinite(k), safe=0.0, valid=positive)  # fmt: skip

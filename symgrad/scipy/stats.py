"""``scipy.stats``, for functions that symgrad traces: densities and distribution functions.

The distributions listed here take traced values, also as parameters. With plain arrays, and
for all other methods and names, they are SciPy's.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy import stats
>>> def loss(mean, data):
...     return -np.sum(stats.norm.logpdf(data, mean, 2.0))
>>> sg.grad(loss)(0.0, np.array([1.0, 3.0]))
np.float64(-1.0)
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import scipy.special as special
import scipy.stats

from .._op import registry
from .._ops.np_common import is_traced
from .._trace._namespace import Namespace, holds
from ._distribution import Counts, Distribution, Frozen
from ._replacing import floats

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "expon",
    "gamma",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "halfcauchy",
    "halfnorm",
    "invgamma",
    "laplace",
    "logistic",
    "lognorm",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "t",
    "uniform",
    "weibull_min",
]

LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_density = registry.ops["NormalDensity"]


def _with_pdf(**formulas: Any) -> dict[str, Any]:
    """Give formulas a density that is the exponential of its logarithm."""
    return {"pdf": lambda z, *shapes: np.exp(formulas["logpdf"](z, *shapes)), **formulas}


# ---------------------------------------------------------------- on the whole line


def _normal_log_density(z: Any) -> Any:
    return -0.5 * (z * z) - LOG_ROOT_2PI


norm = Distribution(scipy.stats.norm, {
    "logpdf": _normal_log_density,
    "pdf": _density,
    "cdf": special.ndtr,
    "logcdf": special.log_ndtr,
    "sf": lambda z: special.ndtr(-z),
    "logsf": lambda z: special.log_ndtr(-z),
    "ppf": special.ndtri,
    "isf": lambda q: -special.ndtri(q),
})  # fmt: skip


def _half_exp(z: Any) -> Any:
    return 0.5 * np.exp(-np.abs(z))


laplace = Distribution(scipy.stats.laplace, _with_pdf(
    logpdf=lambda z: -np.abs(z) - math.log(2.0),
    cdf=lambda z: np.where(z < 0, _half_exp(z), 1.0 - _half_exp(z)),
    sf=lambda z: np.where(z > 0, _half_exp(z), 1.0 - _half_exp(z)),
))  # fmt: skip
logistic = Distribution(scipy.stats.logistic, _with_pdf(
    logpdf=lambda z: special.log_expit(z) + special.log_expit(-z),
    cdf=special.expit,
    logcdf=special.log_expit,
    sf=lambda z: special.expit(-z),
    logsf=lambda z: special.log_expit(-z),
    ppf=special.logit,
    isf=lambda q: -special.logit(q),
))  # fmt: skip
cauchy = Distribution(scipy.stats.cauchy, _with_pdf(
    logpdf=lambda z: -np.log1p(z * z) - math.log(math.pi),
    cdf=lambda z: np.arctan2(1.0, -z) / math.pi,
    sf=lambda z: np.arctan2(1.0, z) / math.pi,
))  # fmt: skip
t = Distribution(scipy.stats.t, _with_pdf(
    logpdf=lambda z, df: (
        special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
        - (df + 1) / 2 * np.log1p(z * z / df)
    ),
), valid=lambda df: df > 0)  # fmt: skip

gumbel_r = Distribution(scipy.stats.gumbel_r, _with_pdf(
    logpdf=lambda z: -z - np.exp(-z),
    cdf=lambda z: np.exp(-np.exp(-z)),
    logcdf=lambda z: -np.exp(-z),
    sf=lambda z: -np.expm1(-np.exp(-z)),
))  # fmt: skip
gumbel_l = Distribution(scipy.stats.gumbel_l, _with_pdf(
    logpdf=lambda z: z - np.exp(z),
    cdf=lambda z: -np.expm1(-np.exp(z)),
    sf=lambda z: np.exp(-np.exp(z)),
    logsf=lambda z: -np.exp(z),
))  # fmt: skip

# ---------------------------------------------------------------- on a half-line, an interval

_POSITIVE: dict[str, Any] = {"inside": lambda z, *_: z >= 0, "safe": 1.0}

expon = Distribution(scipy.stats.expon, _with_pdf(
    logpdf=lambda z: -z,
    cdf=lambda z: -np.expm1(-z),
    sf=lambda z: np.exp(-z),
    logsf=lambda z: -z,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
), **_POSITIVE)  # fmt: skip
halfnorm = Distribution(scipy.stats.halfnorm, _with_pdf(
    logpdf=lambda z: _normal_log_density(z) + math.log(2.0),
    cdf=lambda z: special.erf(z * math.sqrt(0.5)),
    sf=lambda z: special.erfc(z * math.sqrt(0.5)),
), **_POSITIVE)  # fmt: skip


halfcauchy = Distribution(scipy.stats.halfcauchy, _with_pdf(
    logpdf=lambda z: -np.log1p(z * z) - math.log(math.pi / 2),
    cdf=lambda z: 2 / math.pi * np.arctan(z),
    sf=lambda z: 2 / math.pi * np.arctan2(1.0, z),
), **_POSITIVE)  # fmt: skip
weibull_min = Distribution(scipy.stats.weibull_min, _with_pdf(
    logpdf=lambda z, c: np.log(c) + special.xlogy(c - 1.0, z) - z**c,
    cdf=lambda z, c: -np.expm1(-(z**c)),
    sf=lambda z, c: np.exp(-(z**c)),
    logsf=lambda z, c: -(z**c),
), valid=lambda c: c > 0, **_POSITIVE)  # fmt: skip
pareto = Distribution(scipy.stats.pareto, _with_pdf(
    logpdf=lambda z, b: np.log(b) - (b + 1.0) * np.log(z),
    cdf=lambda z, b: -np.expm1(-b * np.log(z)),
    sf=lambda z, b: z**-b,
), inside=lambda z, b: z >= 1, safe=1.0, valid=lambda b: b > 0)  # fmt: skip
invgamma = Distribution(scipy.stats.invgamma, _with_pdf(
    logpdf=lambda z, a: -(a + 1.0) * np.log(z) - 1.0 / z - special.gammaln(a),
), inside=lambda z, a: z > 0, safe=1.0, valid=lambda a: a > 0)  # fmt: skip


def _gamma_log_density(z: Any, a: Any) -> Any:
    return special.xlogy(a - 1.0, z) - z - special.gammaln(a)


gamma = Distribution(
    scipy.stats.gamma, _with_pdf(logpdf=_gamma_log_density), valid=lambda a: a > 0, **_POSITIVE
)
chi2 = Distribution(
    scipy.stats.chi2,
    _with_pdf(logpdf=lambda z, df: _gamma_log_density(z / 2, df / 2) - math.log(2.0)),
    valid=lambda df: df > 0,
    **_POSITIVE,
)
lognorm = Distribution(scipy.stats.lognorm, _with_pdf(
    logpdf=lambda z, s: _normal_log_density(np.log(z) / s) - np.log(s * z),
    cdf=lambda z, s: special.ndtr(np.log(z) / s),
    sf=lambda z, s: special.ndtr(-np.log(z) / s),
), inside=lambda z, s: z > 0, safe=1.0, valid=lambda s: s > 0)  # fmt: skip
uniform = Distribution(scipy.stats.uniform, _with_pdf(
    logpdf=lambda z: 0.0 * z,
    cdf=lambda z: z,
    sf=lambda z: 1.0 - z,
    ppf=lambda q: q,
    isf=lambda q: 1.0 - q,
), inside=lambda z: (z >= 0) & (z <= 1))  # fmt: skip
beta = Distribution(scipy.stats.beta, _with_pdf(
    logpdf=lambda z, a, b: (
        special.xlogy(a - 1.0, z) + special.xlog1py(b - 1.0, -z) - special.betaln(a, b)
    ),
), inside=lambda z, *_: (z >= 0) & (z <= 1), valid=lambda a, b: (a > 0) & (b > 0))  # fmt: skip

# ---------------------------------------------------------------- on whole numbers


def _log_binomial(n: Any, k: Any) -> Any:
    return special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)


def _is_share(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


poisson = Counts(
    scipy.stats.poisson,
    lambda k, mu: special.xlogy(k, mu) - special.gammaln(k + 1.0) - mu,
    inside=lambda k, mu: k >= 0,
    valid=lambda mu: mu >= 0,
)
bernoulli = Counts(
    scipy.stats.bernoulli,
    lambda k, p: special.xlogy(k, p) + special.xlog1py(1.0 - k, -p),
    inside=lambda k, p: (k >= 0) & (k <= 1),
    valid=_is_share,
)
binom = Counts(
    scipy.stats.binom,
    lambda k, n, p: _log_binomial(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
    inside=lambda k, n, p: (k >= 0) & (k <= n),
    valid=lambda n, p: (n >= 0) & _is_share(p),
)

nbinom = Counts(
    scipy.stats.nbinom,
    lambda k, n, p: (
        special.gammaln(k + n) - special.gammaln(k + 1.0) - special.gammaln(n)
        + special.xlogy(n, p) + special.xlog1py(k, -p)
    ),
    inside=lambda k, n, p: k >= 0,
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
)  # fmt: skip
geom = Counts(
    scipy.stats.geom,
    lambda k, p: special.xlog1py(k - 1.0, -p) + np.log(p),
    inside=lambda k, p: k >= 1,
    valid=lambda p: (p > 0) & (p <= 1),
)


class _MultivariateNormal:
    """``scipy.stats.multivariate_normal``, whose ``logpdf`` and ``pdf`` can be traced."""

    __name__ = name = "multivariate_normal"
    formulas: ClassVar[dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(scipy.stats.multivariate_normal, name)

    def __call__(self, mean: Any = None, cov: Any = 1, *args: Any, **kwargs: Any) -> Any:
        """Return the distribution with its parameters given."""
        frozen = Frozen(self, (), {"mean": mean, "cov": cov})  # type: ignore[arg-type]
        if holds([mean, cov], is_traced):
            return frozen
        return _Either(scipy.stats.multivariate_normal(mean, cov, *args, **kwargs), frozen)

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Logarithm of the density at points, shape ``(..., d)``, by Cholesky's factor."""
        if not any(holds(v, is_traced) for v in (x, mean, cov)):
            original = scipy.stats.multivariate_normal
            return original.logpdf(x, mean, cov, allow_singular)
        x, cov = floats(x), floats(cov)
        mean = np.zeros(1) if mean is None else np.atleast_1d(floats(mean))
        d = int(cov.shape[-1]) if cov.ndim else int(mean.shape[0])
        if cov.ndim < 2:
            cov = cov * np.eye(d) if cov.ndim == 0 else np.diag(cov)
        past = (x[..., None] if d == 1 and (x.ndim == 0 or x.shape[-1] != 1) else x) - mean
        flat = past.reshape((-1, d))
        factor = np.linalg.cholesky(cov)
        white = np.linalg.solve(factor, flat.T)
        log_det = np.sum(np.log(np.diagonal(factor)))
        value = -0.5 * np.sum(white * white, axis=0) - log_det - d * LOG_ROOT_2PI
        return value.reshape(past.shape[:-1])

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """Density at points, shape ``(..., d)``."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))


class _Either:
    """A distribution with plain parameters: SciPy's, and what is traced of it."""

    def __init__(self, original: Any, traced: Frozen) -> None:
        self._original, self._traced = original, traced

    def __getattr__(self, name: str) -> Any:
        own = name in ("logpdf", "pdf")
        return getattr(self._traced if own else self._original, name)


multivariate_normal = _MultivariateNormal()

_names = Namespace(
    scipy.stats, globals(), f"the distributions {', '.join(__all__)} have methods that can be"
)


def __getattr__(name: str) -> Any:
    return _names(name)


def __dir__() -> list[str]:
    return _names.names()

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
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy
import scipy.special as special
import scipy.stats

from .. import numpy as traced_numpy
from .._api._custom import stop_gradient
from .._core.base.sizes import under
from .._core.ops.np_common import is_traced
from .._core.trace.namespace import holds, offering
from .._syntax._control import cond
from . import _more_distributions as _rarer  # noqa: F401 - its rows are among the distributions
from . import special as traced_special
from ._coverage import reasons
from ._distribution import only
from ._distribution_examples import EXAMPLES, shown
from ._distributions import DISTRIBUTIONS, LOG_ROOT_2PI
from ._frozen_distributions import frozen
from ._inference import (
    boxcox,
    boxcox_llf,
    energy_distance,
    linregress,
    pearsonr,
    spearmanr,
    wasserstein_distance,
    yeojohnson,
    yeojohnson_llf,
)
from ._sample_tests import (
    chisquare,
    f_oneway,
    jarque_bera,
    kurtosistest,
    normaltest,
    power_divergence,
    scoreatpercentile,
    skewtest,
    ttest_1samp,
    ttest_ind,
    ttest_rel,
)
from ._summaries import (
    circmean,
    circstd,
    circvar,
    entropy,
    gmean,
    gstd,
    gzscore,
    hmean,
    iqr,
    kurtosis,
    median_abs_deviation,
    moment,
    pmean,
    rankdata,
    sem,
    skew,
    tmean,
    trim_mean,
    tstd,
    tvar,
    variation,
    zmap,
    zscore,
)
from ._versions import Standing, floats, require_lengths

__all__ = [  # noqa: PLE0604 - the names of the rows
    *DISTRIBUTIONS, "chisquare", "f_oneway", "jarque_bera", "kurtosistest", "normaltest",
    "power_divergence", "scoreatpercentile", "skewtest", "spearmanr",
    "boxcox", "boxcox_llf", "circmean", "circstd", "circvar", "dirichlet",
    "energy_distance", "entropy", "gaussian_kde", "gmean", "gstd", "gzscore", "hmean", "iqr",
    "kurtosis", "linregress", "median_abs_deviation", "moment", "multinomial",
    "multivariate_normal", "multivariate_t", "pearsonr", "pmean", "rankdata", "sem", "skew",
    "tmean", "trim_mean", "tstd", "ttest_1samp", "ttest_ind", "ttest_rel", "tvar", "variation",
    "wasserstein_distance", "wishart", "yeojohnson", "yeojohnson_llf", "zmap", "zscore",
]  # fmt: skip


class Multivariate:
    """A distribution of vectors or matrices whose density can be traced.

    Parameters
    ----------
    original:
        SciPy's, which computes with plain arrays and has all other methods.
    log:
        The logarithm of the density, of a point and SciPy's parameters.
    density:
        The name of its density: ``pmf`` where points are counts.
    """

    formulas: ClassVar[dict[str, Any]] = {}

    def __init__(self, original: Any, log: Callable[..., Any], density: str = "pdf") -> None:
        self.original, self.log = original, log
        self.traced = {density: self._density, f"log{density}": self._log_density}
        self.__name__ = log.__name__.lstrip("_")
        self.__module__ = "symgrad.scipy.stats"
        self.__doc__ = (
            f"A distribution of vectors or matrices, as ``scipy.stats.{self.__name__}``.\n\n"
            f"Traced are {density} and log{density}.\n\nExamples\n--------\n{shown(self.__name__)}"
        )

    def __reduce__(self) -> str:
        return self.__name__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        original = getattr(self.original, name)
        ours = self.traced.get(name)
        if ours is None:
            return original

        def method(*args: Any, **kwargs: Any) -> Any:
            traced = any(holds(v, is_traced) for v in (*args, *kwargs.values()))
            return (ours if traced else original)(*args, **kwargs)

        method.__name__, method.__doc__ = name, original.__doc__
        return method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the distribution with its parameters given."""
        return frozen(self, args, kwargs, tuple(self.traced))

    def _log_density(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self.log(floats(x), *args, **kwargs)

    def _density(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return np.exp(self._log_density(x, *args, **kwargs))


def _past(x: Any, mean: Any, matrix: Any) -> tuple[Any, Any]:
    """Return how far points are from the mean, and the matrix, of full shape."""
    matrix = floats(matrix)
    given = mean is not None
    mean = np.atleast_1d(floats(mean)) if given else np.zeros(1)
    d = int(matrix.shape[-1]) if matrix.ndim else int(mean.shape[0])
    if given:
        require_lengths("a normal or t distribution", "mean and matrix", mean.shape[0], d)
    if matrix.ndim < 2:
        matrix = matrix * np.eye(d) if matrix.ndim == 0 else np.diag(matrix)
    return (x[..., None] if d == 1 and (x.ndim == 0 or x.shape[-1] != 1) else x) - mean, matrix


def _whitened(past: Any, matrix: Any) -> tuple[Any, Any]:
    """Return squares of distances by Cholesky's factor, and half its log determinant."""
    d = matrix.shape[-1]
    factor = np.linalg.cholesky(matrix)
    white = np.linalg.solve(factor, past.reshape((-1, d)).T)
    squares = np.squeeze(np.sum(white * white, axis=0).reshape(past.shape[:-1]))
    return squares, np.sum(np.log(np.diagonal(factor)))


def _multivariate_normal(
    x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False
) -> Any:
    past, cov = _past(x, mean, cov)

    def regular() -> Any:
        squares, log_det = _whitened(past, cov)
        return -0.5 * squares - log_det - cov.shape[-1] * LOG_ROOT_2PI

    if not allow_singular:
        return regular()
    # The least eigenvalue is at least one over the squares of the inverse factor.
    inverse = np.linalg.solve(np.linalg.cholesky(stop_gradient(cov)), np.eye(cov.shape[-1]))
    cut = stop_gradient(_NEGLIGIBLE * np.trace(cov))
    return cond(1 / np.sum(inverse**2) > cut, regular, lambda: _of_lower_rank(past, cov))


#: Eigenvalues that SciPy takes for zero, relative to the largest.
_NEGLIGIBLE = 1e6 * float(np.finfo(float).eps)


def _of_lower_rank(past: Any, cov: Any) -> Any:
    """Return the logarithm of the density on the support of a singular normal distribution."""
    sizes = np.linalg.eigvalsh(cov)
    cut = stop_gradient(_NEGLIGIBLE * np.max(np.abs(sizes)))
    counts = sizes > cut
    past, inverse = only(np.all(sizes >= -cut), past), np.linalg.pinv(cov, _NEGLIGIBLE)
    squares = np.squeeze(np.sum((past @ inverse) * past, axis=-1))
    log_det = np.sum(np.where(counts, np.log(np.where(counts, sizes, 1.0)), 0.0))
    found = -0.5 * (squares + log_det) - np.sum(counts) * LOG_ROOT_2PI
    beside = np.squeeze(np.sum(stop_gradient(past - past @ inverse @ cov) ** 2, axis=-1))
    return np.where(beside >= (1e3 * cut) ** 2, -np.inf, found)


def _multivariate_t(x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
    past, shape = _past(x, loc, shape)
    d, (squares, log_det) = int(shape.shape[-1]), _whitened(past, shape)
    df = floats(df)
    normal = np.isinf(df) & (df > 0)
    df = np.where(normal, 1.0, only(df > 0, df))
    half = 0.5 * (df + d)
    constant = special.gammaln(half) - special.gammaln(0.5 * df) - 0.5 * d * np.log(df * math.pi)
    tailed, limit = constant - half * np.log1p(squares / df), -0.5 * squares - d * LOG_ROOT_2PI
    return np.where(normal, limit, tailed) - log_det


def _dirichlet(x: Any, alpha: Any) -> Any:
    """Logarithm of the density at shares, shape ``(d, ...)``, or all but the last of them."""
    alpha = floats(alpha)
    alpha = only(np.all(alpha > 0), alpha)
    if x.shape[0] != alpha.shape[0]:
        require_lengths("dirichlet", "shares and alpha", x.shape[0], alpha.shape[0] - 1)
        x = traced_numpy.concatenate([x, 1.0 - np.sum(x, axis=0)[None]])
    inside = np.all(x >= 0, axis=0) & (np.abs(np.sum(x, axis=0) - 1.0) < 1e-9)
    x = only(inside, x)
    powers = special.xlogy((alpha - 1.0).reshape((-1, *(1,) * (x.ndim - 1))), x)
    constant = special.gammaln(np.sum(alpha)) - np.sum(special.gammaln(alpha))
    return constant + np.sum(powers, axis=0)


#: SciPy 1.18 gives nan where shares do not add up to 1; before, the last one was adjusted.
_ADJUSTS = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 18)


def _multinomial(x: Any, n: Any, p: Any) -> Any:
    """Logarithm of the probability of counts, shape ``(..., d)``, in n trials."""
    n, p = floats(n), floats(p)
    require_lengths("multinomial", "counts and p", x.shape[-1], p.shape[-1])
    off = np.abs(1.0 - np.sum(p, axis=-1, keepdims=True)) > 10 * np.finfo(p.dtype).eps
    if _ADJUSTS:
        rest = 1.0 - np.sum(p[..., :-1], axis=-1, keepdims=True)
        last = np.where(off, rest, p[..., -1:])
        p, off = traced_numpy.concatenate([p[..., :-1], last], axis=-1), False
    p = only(np.all((p >= 0) & (p <= 1) & ~off, axis=-1, keepdims=True), p)
    n = only(n >= 0, n)
    inside = np.all((x >= 0) & (np.floor(x) == x), axis=-1) & (np.sum(x, axis=-1) == n)
    x = np.where(inside[..., None], x, 0.0)
    found = special.gammaln(n + 1.0) + np.sum(special.xlogy(x, p) - special.gammaln(x + 1.0), -1)
    # nan of parameters that are not allowed stays, of their own or of the sum.
    return np.where(inside | np.isnan(found), found, -np.inf)


def _wishart(x: Any, df: Any = None, scale: Any = None) -> Any:
    """Logarithm of the density at matrices, shape ``(d, d)`` or ``(d, d, n)``."""
    scale = floats(1.0 if scale is None else scale)
    scale = scale[None, None] if scale.ndim == 0 else np.diag(scale) if scale.ndim == 1 else scale
    d = int(scale.shape[0])
    df = floats(d if df is None else df)
    df = only(df > d - 1, df)
    if x.ndim == 1:
        x = x[None, None] if d == 1 else np.diag(x)
    x = x * np.eye(d) if x.ndim == 0 else np.moveaxis(x, -1, 0) if x.ndim == 3 else x
    log_det, of_scale = (  # nan of what is not positive definite
        2.0 * np.sum(np.log(np.diagonal(np.linalg.cholesky(m), axis1=-2, axis2=-1)), axis=-1)
        for m in (x, scale)
    )
    distance = np.trace(np.linalg.solve(scale, x), axis1=-2, axis2=-1)
    found = 0.5 * (df - d - 1.0) * log_det - 0.5 * distance
    found = found - 0.5 * df * (d * math.log(2.0) + of_scale)
    halves = 0.5 * (df - np.arange(d))
    return found - 0.25 * d * (d - 1) * math.log(math.pi) - np.sum(special.gammaln(halves))


multinomial = Multivariate(scipy.stats.multinomial, _multinomial, "pmf")
wishart = Multivariate(scipy.stats.wishart, _wishart)
multivariate_normal = Multivariate(scipy.stats.multivariate_normal, _multivariate_normal)
multivariate_t = Multivariate(scipy.stats.multivariate_t, _multivariate_t)
dirichlet = Multivariate(scipy.stats.dirichlet, _dirichlet)


class gaussian_kde(metaclass=Standing, of=scipy.stats.gaussian_kde):  # noqa: N801 - SciPy's name
    """A density estimated by normal ones at points, as ``scipy.stats.gaussian_kde``.

    Parameters
    ----------
    dataset:
        Points, shape ``(n,)`` or ``(d, n)``.
    bw_method:
        ``"scott"``, ``"silverman"``, a number, or a function of the estimate.
    weights:
        Weights of the points, shape ``(n,)``.

    Examples
    --------
    >>> estimate = lambda x: gaussian_kde(np.array([0.0, 1.0, 3.0])).logpdf(x)[0]
    >>> sg.grad(estimate)(2.0).round(4)
    np.float64(-0.2071)
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        points = floats(dataset)
        if under(math.prod(points.shape), 2):
            raise ValueError("`dataset` input should have multiple elements.")
        self.dataset = points[None] if points.ndim < 2 else points
        self.d, self.n = int(self.dataset.shape[0]), self.dataset.shape[1]
        given = traced_numpy.ones(self.n) if weights is None else floats(weights)
        require_lengths("gaussian_kde", "points and weights", given.shape[0], self.n)
        self.weights = given / np.sum(given)
        self.neff = 1 / np.sum(self.weights**2)
        if bw_method in (None, "scott"):
            self.factor = self.scotts_factor()
        elif isinstance(bw_method, str):
            if bw_method != "silverman":
                raise ValueError(
                    "`bw_method` should be 'scott', 'silverman', a scalar or a callable."
                )
            self.factor = self.silverman_factor()
        else:
            self.factor = bw_method(self) if callable(bw_method) else bw_method
        past = self.dataset - np.sum(self.weights * self.dataset, axis=1, keepdims=True)
        spread = (self.weights * past) @ past.T / (1 - np.sum(self.weights**2))
        self.covariance = spread * self.factor**2

    def scotts_factor(self) -> Any:
        """Return Scott's bandwidth, for the standard deviation 1."""
        return self.neff ** (-1 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """Return Silverman's bandwidth, for the standard deviation 1."""
        return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))

    def logpdf(self, x: Any) -> Any:
        """Logarithm of the density at points, shape ``(d, m)``, or ``(m,)`` where d is 1."""
        places = np.atleast_1d(floats(x))
        if places.ndim == 1:
            places = places[None] if self.d == 1 else places[:, None]
        factor = np.linalg.cholesky(self.covariance)
        own, asked = np.linalg.solve(factor, self.dataset), np.linalg.solve(factor, places)
        squares = np.sum((asked[:, :, None] - own[:, None, :]) ** 2, axis=0)
        log_det = np.sum(np.log(np.diagonal(factor))) + self.d * LOG_ROOT_2PI
        return traced_special.logsumexp(-0.5 * squares + np.log(self.weights), axis=1) - log_det

    def evaluate(self, points: Any) -> Any:
        """Density at points, shape ``(d, m)``, or ``(m,)`` where d is 1."""
        return np.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the integral from low to high, where d is 1."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        width = np.sqrt(self.covariance[0, 0])
        ends = [special.ndtr((x - self.dataset[0]) / width) for x in (low, high)]
        return np.sum(self.weights * (ends[1] - ends[0]))


#: Distributions are objects, in which doctest does not look: their examples.
__test__ = {name: shown(name) for name in EXAMPLES}

_names, __dir__ = offering(scipy.stats, globals(), reasons("stats"))


def __getattr__(name: str) -> Any:
    return DISTRIBUTIONS[name] if name in DISTRIBUTIONS else _names(name)

"""``scipy.stats``' tests of samples whose p-values are those of known distributions.

Sources: R. B. D'Agostino, Transformation to normality of the null distribution of g1, Biometrika
57, 1970; F. J. Anscombe, W. J. Glynn, Distribution of the kurtosis statistic b2 for normal samples,
Biometrika 70, 1983; C. M. Jarque, A. K. Bera, Efficient tests for normality, Economics Letters 6,
1980; N. Cressie, T. R. C. Read, Multinomial goodness-of-fit tests, JRSS B 46, 1984.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from ..errors import ShapeError
from . import special
from ._distribution import only
from ._inference import pearsonr
from ._replacing import floats, refuse_option, replaces
from ._summaries import data_along, kurtosis, rankdata, skew


class TestResult(NamedTuple):
    """A statistic and its p-value."""

    statistic: Any
    pvalue: Any


class SignificanceResult(TestResult):
    """A correlation and its p-value, as SciPy's result of this name."""

    @property
    def correlation(self) -> Any:
        """The older name of the statistic."""
        return self.statistic


def _two_sided(name: str, alternative: str) -> None:
    if alternative != "two-sided":
        refuse_option(f"scipy.stats.{name}", "alternative", alternative, "the statistic")


def _of_normal(z: Any) -> TestResult:
    return TestResult(z, 2.0 * special.ndtr(-np.abs(z)))


@replaces(scipy.stats.spearmanr)
def spearmanr(
    a: Any, b: Any = None, axis: int | None = 0, nan_policy: str = "propagate",
    alternative: str = "two-sided",
) -> SignificanceResult:  # fmt: skip
    """Correlation of the ranks of two samples, whose derivatives are zero."""
    _two_sided("spearmanr", alternative)
    x, along = data_along("spearmanr", a, axis, nan_policy)
    y = None if b is None else data_along("spearmanr", b, axis, nan_policy)[0]
    if y is None or x.ndim != 1 or y.ndim != 1:
        raise ShapeError("spearmanr: traced are two samples, which are vectors")
    return SignificanceResult(*pearsonr(rankdata(x), rankdata(y), axis=along))


#: How far sums of frequencies may differ, relative to themselves.
EQUAL = math.sqrt(2.0**-52)

#: Cressie and Read's names of exponents.
_POWERS = {
    "pearson": 1.0, "log-likelihood": 0.0, "freeman-tukey": -0.5, "mod-log-likelihood": -1.0,
    "neyman": -2.0, "cressie-read": 2 / 3,
}  # fmt: skip


@replaces(scipy.stats.power_divergence)
def power_divergence(
    f_obs: Any, f_exp: Any = None, ddof: Any = 0, axis: int | None = 0, lambda_: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> TestResult:  # fmt: skip
    """Distance of observed frequencies from expected ones, of equal sums, or from their mean."""
    return _distance(f_obs, f_exp, ddof, axis, lambda_, nan_policy, keepdims, True)


def _distance(
    f_obs: Any, f_exp: Any, ddof: Any, axis: int | None, lambda_: Any, nan_policy: str,
    keepdims: bool, compared: bool,
) -> TestResult:  # fmt: skip
    """Return the distance; nan where the sums differ, of which SciPy makes an error."""
    seen, along = data_along("power_divergence", f_obs, axis, nan_policy)
    wanted = np.mean(seen, axis=along, keepdims=True) if f_exp is None else floats(f_exp)
    if f_exp is not None:
        wanted = np.broadcast_to(wanted.reshape(-1) if axis is None else wanted, seen.shape)
    if f_exp is not None and compared:
        sums = [np.sum(x, axis=along, keepdims=True) for x in (seen, wanted)]
        close = np.abs(sums[0] - sums[1]) <= EQUAL * np.minimum(*sums)
        wanted = only(close, wanted)
    power = _POWERS[lambda_] if isinstance(lambda_, str) else 1.0 if lambda_ is None else lambda_
    if power == 1:
        terms = (seen - wanted) ** 2 / wanted
    elif power == 0:
        terms = 2.0 * special.xlogy(seen, seen / wanted)
    elif power == -1:
        terms = 2.0 * special.xlogy(wanted, wanted / seen)
    else:
        terms = seen * ((seen / wanted) ** power - 1) / (0.5 * power * (power + 1))
    total = np.sum(terms, axis=along, keepdims=keepdims)
    return TestResult(total, special.chdtrc(terms.shape[along] - 1.0 - ddof, total))


@replaces(scipy.stats.chisquare)
def chisquare(
    f_obs: Any, f_exp: Any = None, ddof: Any = 0, axis: int | None = 0, *, sum_check: bool = True,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> TestResult:  # fmt: skip
    """Pearson's distance of observed frequencies from expected ones, of equal sums."""
    return _distance(f_obs, f_exp, ddof, axis, "pearson", nan_policy, keepdims, sum_check)


@replaces(scipy.stats.f_oneway)
def f_oneway(
    *samples: Any, axis: int = 0, equal_var: bool = True, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> TestResult:  # fmt: skip
    """Analysis of variance: whether the means of samples differ."""
    if not equal_var:
        refuse_option("scipy.stats.f_oneway", "equal_var", equal_var, "Welch's formula")
    data = [data_along("f_oneway", x, axis, nan_policy)[0] for x in samples]
    sizes = [x.shape[axis] for x in data]
    count, groups = sum(sizes), len(data)
    means = [np.mean(x, axis=axis, keepdims=True) for x in data]
    mean = sum(n * m for n, m in zip(sizes, means, strict=True)) / count
    among = sum(n * (m - mean) ** 2 for n, m in zip(sizes, means, strict=True))
    within: Any = sum(
        np.sum((x - m) ** 2, axis=axis, keepdims=True) for x, m in zip(data, means, strict=True)
    )
    f = among / (groups - 1.0) / (within / (count - groups))
    f = f if keepdims else np.squeeze(f, axis)
    return TestResult(f, special.fdtrc(groups - 1.0, 1.0 * (count - groups), f))


@replaces(scipy.stats.jarque_bera)
def jarque_bera(
    x: Any, *, axis: int | None = None, nan_policy: str = "propagate", keepdims: bool = False
) -> TestResult:
    """Whether skewness and kurtosis are those of normal samples."""
    x, along = data_along("jarque_bera", x, axis, nan_policy)
    lean, bend = (f(x, along, keepdims=keepdims) for f in (skew, kurtosis))
    found = x.shape[along] / 6.0 * (lean**2 + bend**2 / 4.0)
    return TestResult(found, special.chdtrc(2.0, found))


@replaces(scipy.stats.skewtest)
def skewtest(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> TestResult:  # fmt: skip
    """Whether the skewness is that of normal samples; nan for less than eight numbers."""
    _two_sided("skewtest", alternative)
    x, along = data_along("skewtest", a, axis, nan_policy)
    n = float(x.shape[along])
    if n < 8:
        return _of_normal(math.nan * skew(x, along, keepdims=keepdims))
    y = skew(x, along, keepdims=keepdims) * math.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    square = math.sqrt(2 * (beta - 1)) - 1
    scale = math.sqrt(2 / (square - 1))
    y = np.where(y == 0, 1.0, y)  # as SciPy
    return _of_normal(np.arcsinh(y / scale) / math.sqrt(0.5 * math.log(square)))


@replaces(scipy.stats.kurtosistest)
def kurtosistest(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> TestResult:  # fmt: skip
    """Whether the kurtosis is that of normal samples; nan for less than five numbers."""
    _two_sided("kurtosistest", alternative)
    x, along = data_along("kurtosistest", a, axis, nan_policy)
    n = float(x.shape[along])
    found = kurtosis(x, along, fisher=False, keepdims=keepdims)
    if n < 5:
        return _of_normal(math.nan * found)
    spread = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    z = (found - 3 * (n - 1) / (n + 1)) / math.sqrt(spread)
    lean = 6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9))
    lean *= math.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a = 6 + 8 / lean * (2 / lean + math.sqrt(1 + 4 / lean**2))
    below = 1 + z * math.sqrt(2 / (a - 4))
    root = np.cbrt((1 - 2 / a) / np.where(below == 0, math.nan, below))
    return _of_normal((1 - 2 / (9 * a) - root) / math.sqrt(2 / (9 * a)))


@replaces(scipy.stats.normaltest)
def normaltest(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", *, keepdims: bool = False
) -> TestResult:
    """Whether a sample is normal, by its skewness and its kurtosis."""
    lean = skewtest(a, axis, nan_policy, keepdims=keepdims).statistic
    bend = kurtosistest(a, axis, nan_policy, keepdims=keepdims).statistic
    found = lean * lean + bend * bend
    return TestResult(found, special.chdtrc(2.0, found))


@replaces(scipy.stats.scoreatpercentile)
def scoreatpercentile(
    a: Any, per: Any, limit: Any = (), interpolation_method: str = "fraction",
    axis: int | None = None,
) -> Any:  # fmt: skip
    """Percentiles of a sample, as ``numpy.percentile``."""
    if limit:
        refuse_option("scipy.stats.scoreatpercentile", "limit", limit, "np.percentile(a[mask], q)")
    method = {"fraction": "linear"}.get(interpolation_method, interpolation_method)
    return np.percentile(floats(a), per, axis=axis, method=method)

"""``scipy.stats``' tests of samples whose p-values are those of known distributions.

Sources: R. B. D'Agostino, Transformation to normality of the null distribution of g1, Biometrika
57, 1970; F. J. Anscombe, W. J. Glynn, Distribution of the kurtosis statistic b2 for normal samples,
Biometrika 70, 1983; C. M. Jarque, A. K. Bera, Efficient tests for normality, Economics Letters 6,
1980; N. Cressie, T. R. C. Read, Multinomial goodness-of-fit tests, JRSS B 46, 1984.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats

from . import special
from ._axis_statistics import along, refuse_unless
from ._distribution import only
from ._inference import ConfidenceInterval, TestResult, require_pairs
from ._summaries import kurtosis, skew
from ._versions import doubles, floats, refuse_option, replaces

# ---------------------------------------------------------------- t-tests


class TtestResult(TestResult):
    """A statistic and its p-value, as SciPy's result of this name; more by name."""

    df: Any = None
    estimate: Any = None
    error: Any = None

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return the interval of this confidence for what was estimated."""
        reach = special.stdtrit(self.df, 0.5 + confidence_level / 2) * self.error
        return ConfidenceInterval(self.estimate - reach, self.estimate + reach)


def _tested(estimate: Any, error: Any, freedom: Any, wanted: Any = 0.0) -> TtestResult:
    t = (estimate - wanted) / error
    found = TtestResult(t, 2.0 * special.stdtr(freedom, -np.abs(t)))
    found.df, found.estimate, found.error = freedom, estimate, error
    return found


def _of_mean(x: Any, axis: int, wanted: Any) -> TtestResult:
    count = x.shape[axis]
    error = np.std(x, axis=axis, ddof=1, keepdims=True) / (1.0 * count) ** 0.5
    return _tested(np.mean(x, axis=axis, keepdims=True), error, count - 1.0, wanted)


@along("a")
def ttest_1samp(a: Any, axis: int, popmean: Any) -> TtestResult:
    """Test whether the mean of a sample is a given one.

    Examples
    --------
    >>> sg.grad(lambda a: ttest_1samp(a, 0.0).statistic)(np.array([1.0, 3.0]))
    array([ 1.5, -0.5])
    """
    return _of_mean(a, axis, popmean)


@along("a", "b")
def ttest_rel(a: Any, b: Any, axis: int) -> TtestResult:
    """Test whether pairs have a mean difference of 0.

    Examples
    --------
    >>> sg.grad(lambda a: ttest_rel(a, np.zeros(2)).statistic)(np.array([1.0, 3.0]))
    array([ 1.5, -0.5])
    """
    require_pairs(a, b, axis)
    return _of_mean(a - b, axis, 0.0)


@along("a", "b")
def ttest_ind(a: Any, b: Any, axis: int, equal_var: bool) -> TtestResult:
    """Test whether two samples have one mean, by Student's or by Welch's test.

    Examples
    --------
    >>> sg.grad(lambda a: ttest_ind(a, np.array([0.0, 1.0])).pvalue)(np.array([1.0, 3.0])).round(4)
    array([-0.2656,  0.0241])
    """
    m, n = 1.0 * a.shape[axis], 1.0 * b.shape[axis]
    freedom: Any
    if equal_var:
        of_a, of_b = (np.var(x, axis=axis, keepdims=True) for x in (a, b))
        freedom = m + n - 2.0
        error = np.sqrt((m * of_a + n * of_b) / freedom * (1.0 / m + 1.0 / n))
    else:
        of_a, of_b = (np.var(x, axis=axis, ddof=1, keepdims=True) for x in (a, b))
        of_a, of_b = of_a / m, of_b / n
        freedom = (of_a + of_b) ** 2 / (of_a**2 / (m - 1.0) + of_b**2 / (n - 1.0))
        error = np.sqrt(of_a + of_b)
    mean_a, mean_b = (np.mean(x, axis=axis, keepdims=True) for x in (a, b))
    return _tested(mean_a - mean_b, error, freedom)


# ---------------------------------------------------------------- frequencies

#: How far sums of frequencies may differ, relative to themselves.
EQUAL = math.sqrt(2.0**-52)

#: Cressie and Read's names of exponents.
_POWERS = {
    "pearson": 1.0, "log-likelihood": 0.0, "freeman-tukey": -0.5, "mod-log-likelihood": -1.0,
    "neyman": -2.0, "cressie-read": 2 / 3,
}  # fmt: skip


@along("f_obs", "f_exp")
def power_divergence(f_obs: Any, axis: int, f_exp: Any, ddof: Any, lambda_: Any) -> TestResult:
    """Distance of observed frequencies from expected ones, of equal sums, or from their mean.

    Examples
    --------
    >>> sg.grad(lambda f: power_divergence(f).statistic)(np.array([4.0, 6.0]))
    array([-0.44,  0.36])
    """
    power = _POWERS[lambda_] if isinstance(lambda_, str) else 1.0 if lambda_ is None else lambda_
    return _distance(f_obs, axis, f_exp, ddof, power, True)


@along("f_obs", "f_exp")
def chisquare(f_obs: Any, axis: int, f_exp: Any, ddof: Any, sum_check: bool) -> TestResult:
    """Pearson's distance of observed frequencies from expected ones, of equal sums.

    Examples
    --------
    >>> sg.grad(lambda f: chisquare(f).statistic)(np.array([4.0, 6.0]))
    array([-0.44,  0.36])
    """
    return _distance(f_obs, axis, f_exp, ddof, 1.0, sum_check)


def _distance(
    seen: Any, axis: int, expected: Any, ddof: Any, power: Any, compared: bool
) -> TestResult:
    """Return the distance; nan where the sums differ, of which SciPy makes an error."""
    if expected is None:
        wanted = np.mean(seen, axis=axis, keepdims=True)
    else:
        wanted = np.broadcast_to(expected, seen.shape)
        if compared:
            sums = [np.sum(x, axis=axis, keepdims=True) for x in (seen, wanted)]
            close = np.abs(sums[0] - sums[1]) <= EQUAL * np.minimum(*sums)
            wanted = only(close, wanted)
    if power == 1:
        terms = (seen - wanted) ** 2 / wanted
    elif power == 0:
        terms = 2.0 * special.xlogy(seen, seen / wanted)
    elif power == -1:
        terms = 2.0 * special.xlogy(wanted, wanted / seen)
    else:
        terms = seen * ((seen / wanted) ** power - 1) / (0.5 * power * (power + 1))
    total = np.sum(terms, axis=axis, keepdims=True)
    return TestResult(total, special.chdtrc(terms.shape[axis] - 1.0 - ddof, total))


# ---------------------------------------------------------------- means, normal samples


@replaces(scipy.stats.f_oneway)
def f_oneway(
    *samples: Any, axis: int = 0, equal_var: bool = True, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> TestResult:  # fmt: skip
    """Analysis of variance: whether the means of samples differ.

    Examples
    --------
    >>> sg.grad(lambda a: f_oneway(a, np.array([0.0, 1.0])).statistic)(np.array([1.0, 3.0]))
    array([ 2.64, -0.24])
    """
    refuse_unless("f_oneway", "nan_policy", nan_policy, "propagate")
    if not equal_var:
        refuse_option("scipy.stats.f_oneway", "equal_var", equal_var, "Welch's formula")
    data = [floats(x) for x in samples]
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


def _of_normal(z: Any) -> TestResult:
    return TestResult(z, 2.0 * special.ndtr(-np.abs(z)))


def _of_squares(*squares: Any) -> TestResult:
    total = sum(squares)
    return TestResult(total, special.chdtrc(2.0, total))


@along("x")
def jarque_bera(x: Any, axis: int) -> TestResult:
    """Whether skewness and kurtosis are those of normal samples.

    Examples
    --------
    >>> sg.grad(lambda x: jarque_bera(x).statistic)(np.array([1.0, 2.0, 6.0])).round(4)
    array([ 0.1125, -0.1406,  0.0281])
    """
    lean, bend = (f(x, axis, keepdims=True) for f in (skew, kurtosis))
    return _of_squares(x.shape[axis] / 6.0 * (lean**2 + bend**2 / 4.0))


@along("a")
def skewtest(a: Any, axis: int) -> TestResult:
    """Whether the skewness is that of normal samples; nan for less than eight numbers.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 12.0])
    >>> sg.grad(lambda x: skewtest(x).pvalue)(x)[-1].round(4)
    np.float64(-0.0762)
    """
    n, lean = float(a.shape[axis]), skew(a, axis, keepdims=True)
    if n < 8:
        return _of_normal(math.nan * lean)
    y = lean * math.sqrt((n + 1) * (n + 3) / (6 * (n - 2)))
    beta = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    square = math.sqrt(2 * (beta - 1)) - 1
    scale = math.sqrt(2 / (square - 1))
    y = np.where(y == 0, 1.0, y)  # as SciPy
    return _of_normal(np.arcsinh(y / scale) / math.sqrt(0.5 * math.log(square)))


@along("a")
def kurtosistest(a: Any, axis: int) -> TestResult:
    """Whether the kurtosis is that of normal samples; nan for less than five numbers.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 12.0])
    >>> sg.grad(lambda x: kurtosistest(x).statistic)(x)[-1].round(4)
    np.float64(0.3788)
    """
    n, found = float(a.shape[axis]), kurtosis(a, axis, fisher=False, keepdims=True)
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


@along("a")
def normaltest(a: Any, axis: int) -> TestResult:
    """Whether a sample is normal, by its skewness and its kurtosis.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 12.0])
    >>> sg.grad(lambda x: normaltest(x).pvalue)(x)[-1].round(4)
    np.float64(-0.1419)
    """
    tests = (f(a, axis, keepdims=True).statistic for f in (skewtest, kurtosistest))
    return _of_squares(*(z * z for z in tests))


# ---------------------------------------------------------------- percentiles


@replaces(scipy.stats.scoreatpercentile)
def scoreatpercentile(
    a: Any, per: Any, limit: Any = (), interpolation_method: str = "fraction",
    axis: int | None = None,
) -> Any:  # fmt: skip
    """Percentiles of a sample, as ``numpy.percentile``.

    Examples
    --------
    >>> sg.grad(lambda a: scoreatpercentile(a, 75))(np.array([1.0, 2.0, 6.0]))
    array([0. , 0.5, 0.5])
    """
    if limit:
        refuse_option("scipy.stats.scoreatpercentile", "limit", limit, "np.percentile(a[mask], q)")
    method = {"fraction": "linear"}.get(interpolation_method, interpolation_method)
    return np.percentile(doubles(a), per, axis=axis, method=method)

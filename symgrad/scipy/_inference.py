"""``scipy.stats`` on samples: lines and correlations, t-tests, distances, power transforms.

Statistics and their p-values are functions of the data, and so are likelihoods by the exponent of
a transform.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from .. import numpy as traced_numpy
from . import special
from ._replacing import floats, refuse_option, replaces
from ._summaries import data_along


def _plain(name: str, **options: tuple[Any, Any]) -> None:
    """Refuse options that have another value than by default."""
    instead = {"alternative": "the statistic, and a tail of scipy.stats.t",
               "nan_policy": "np.nanmean and its kin"}  # fmt: skip
    for option, (value, default) in options.items():
        if value != default:
            words = instead.get(option, f"a call without {option}")
            refuse_option(f"scipy.stats.{name}", option, value, words)


def _pair(x: Any, y: Any, axis: int | None) -> tuple[Any, Any, int]:
    """Return two samples of floats, and the axis along which they are samples."""
    x, y = floats(x), floats(y)
    if axis is None:
        return x.reshape(-1), y.reshape(-1), 0
    if x.shape[axis] != y.shape[axis]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    return x, y, axis


# ---------------------------------------------------------------- lines and correlations


class ConfidenceInterval(NamedTuple):
    """The ends of an interval."""

    low: Any
    high: Any


class _Test(NamedTuple):
    statistic: Any
    pvalue: Any


class PearsonRResult(_Test):
    """A correlation and its p-value, as SciPy's result of this name; more by name."""

    count: Any = None

    @property
    def correlation(self) -> Any:
        """The statistic by its other name."""
        return self.statistic

    def confidence_interval(
        self, confidence_level: float = 0.95, method: Any = None
    ) -> ConfidenceInterval:
        """Return the interval of this confidence, by Fisher's transform."""
        _plain("pearsonr", method=(method, None))
        reach = scipy.special.ndtri(0.5 + confidence_level / 2) / (self.count - 3.0) ** 0.5
        middle = np.arctanh(self.statistic)
        return ConfidenceInterval(np.tanh(middle - reach), np.tanh(middle + reach))


@replaces(scipy.stats.pearsonr)
def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: int | None = 0
) -> PearsonRResult:
    """Return the coefficient of correlation; nan where a sample is constant."""
    _plain("pearsonr", alternative=(alternative, "two-sided"), method=(method, None))
    x, y, along = _pair(x, y, axis)
    count = x.shape[along]
    if count < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    from_x, from_y = (v - np.mean(v, axis=along, keepdims=True) for v in (x, y))
    # Each by its own length first: products of squares leave the range of numbers.
    unit_x, unit_y = (
        v / np.sqrt(np.sum(v * v, axis=along, keepdims=True)) for v in (from_x, from_y)
    )
    r = np.clip(np.sum(unit_x * unit_y, axis=along), -1.0, 1.0)
    found = PearsonRResult(r, _tails(r, count))
    found.count = count
    return found


def _tails(r: Any, count: Any) -> Any:
    """Return how likely a correlation of normal samples is at least as far from 0."""
    if count == 2:
        return np.ones_like(r)
    half = count / 2.0 - 1.0
    return 2.0 * special.betainc(half, half, 0.5 * (1.0 - np.abs(r)))


class _Line(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class LinregressResult(_Line):
    """A line through points, as SciPy's result of this name: five items, and one more by name."""

    intercept_stderr: Any = None


@replaces(scipy.stats.linregress)
def linregress(
    x: Any, y: Any, alternative: str = "two-sided", *, axis: int | None = 0,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> LinregressResult:  # fmt: skip
    """Return the line of least squares through points."""
    _plain("linregress", alternative=(alternative, "two-sided"),
           nan_policy=(nan_policy, "propagate"), keepdims=(keepdims, False))  # fmt: skip
    x, y, along = _pair(x, y, axis)
    count = x.shape[along]
    if count < 3:
        raise ValueError("scipy.stats.linregress is traced for three points or more")
    mean_x, mean_y = np.mean(x, axis=along), np.mean(y, axis=along)
    from_x, from_y = (v - np.expand_dims(m, along) for v, m in ((x, mean_x), (y, mean_y)))
    xx, xy, yy = (
        np.mean(a * b, axis=along)
        for a, b in ((from_x, from_x), (from_x, from_y), (from_y, from_y))
    )
    slope, r = xy / xx, np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0)
    spread = np.sqrt((1.0 - r * r) * yy / xx / (count - 2))
    found = LinregressResult(slope, mean_y - slope * mean_x, r, _tails(r, count), spread)
    found.intercept_stderr = spread * np.sqrt(xx + mean_x * mean_x)
    return found


# ---------------------------------------------------------------- t-tests


class TtestResult(_Test):
    """A statistic and its p-value, as SciPy's result of this name; more by name."""

    df: Any = None
    estimate: Any = None
    error: Any = None

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return the interval of this confidence for what was estimated."""
        reach = special.stdtrit(self.df, 0.5 + confidence_level / 2) * self.error
        return ConfidenceInterval(self.estimate - reach, self.estimate + reach)


def _tested(
    estimate: Any, error: Any, freedom: Any, keepdims: bool, axis: int, wanted: Any = 0.0
) -> TtestResult:
    if keepdims:
        estimate, error = np.expand_dims(estimate, axis), np.expand_dims(error, axis)
    t = (estimate - wanted) / error
    found = TtestResult(t, 2.0 * special.stdtr(freedom, -np.abs(t)))
    found.df, found.estimate, found.error = freedom, estimate, error
    return found


@replaces(scipy.stats.ttest_1samp)
def ttest_1samp(
    a: Any, popmean: Any, axis: int | None = 0, nan_policy: str = "propagate",
    alternative: str = "two-sided", *, keepdims: bool = False,
) -> TtestResult:  # fmt: skip
    """Test whether the mean of a sample is a given one."""
    _plain("ttest_1samp", alternative=(alternative, "two-sided"))
    x, along = data_along("ttest_1samp", a, axis, nan_policy)
    count = x.shape[along]
    error = np.std(x, axis=along, ddof=1) / (1.0 * count) ** 0.5
    return _tested(np.mean(x, axis=along), error, count - 1.0, keepdims, along, popmean)


@replaces(scipy.stats.ttest_rel)
def ttest_rel(
    a: Any, b: Any, axis: int | None = 0, nan_policy: str = "propagate",
    alternative: str = "two-sided", *, keepdims: bool = False,
) -> TtestResult:  # fmt: skip
    """Test whether pairs have a mean difference of 0."""
    _plain("ttest_rel", nan_policy=(nan_policy, "propagate"),
           alternative=(alternative, "two-sided"))  # fmt: skip
    x, y, along = _pair(a, b, axis)
    found: TtestResult = ttest_1samp(x - y, 0.0, along, keepdims=keepdims)
    return found


@replaces(scipy.stats.ttest_ind)
def ttest_ind(
    a: Any, b: Any, *, axis: int | None = 0, equal_var: bool = True,
    nan_policy: str = "propagate", alternative: str = "two-sided", trim: float = 0,
    method: Any = None, keepdims: bool = False,
) -> TtestResult:  # fmt: skip
    """Test whether two samples have one mean, by Student's or by Welch's test."""
    _plain("ttest_ind", nan_policy=(nan_policy, "propagate"), trim=(trim, 0), method=(method, None),
           alternative=(alternative, "two-sided"))  # fmt: skip
    x, y = floats(a), floats(b)
    if axis is None:
        x, y, axis = x.reshape(-1), y.reshape(-1), 0
    m, n = 1.0 * x.shape[axis], 1.0 * y.shape[axis]
    of_x, of_y = np.var(x, axis=axis, ddof=1), np.var(y, axis=axis, ddof=1)
    freedom: Any
    if equal_var:
        freedom = m + n - 2.0
        error = np.sqrt(((m - 1.0) * of_x + (n - 1.0) * of_y) / freedom * (1.0 / m + 1.0 / n))
    else:
        of_x, of_y = of_x / m, of_y / n
        freedom = (of_x + of_y) ** 2 / (of_x**2 / (m - 1.0) + of_y**2 / (n - 1.0))
        error = np.sqrt(of_x + of_y)
    difference = np.mean(x, axis=axis) - np.mean(y, axis=axis)
    return _tested(difference, error, freedom, keepdims, axis)


# ---------------------------------------------------------------- distances


def _between(u: Any, v: Any, u_weights: Any, v_weights: Any) -> tuple[Any, Any]:
    """Return the steps between all values, and how two distribution functions differ on them."""
    u, v = floats(u).reshape(-1), floats(v).reshape(-1)
    shares = [
        traced_numpy.full(x.shape, 1.0 / x.shape[0]) if w is None else floats(w) / np.sum(floats(w))
        for x, w in ((u, u_weights), (v, v_weights))
    ]
    values = np.concatenate([u, v])
    order = np.argsort(values)
    steps, signed = np.diff(values[order]), np.concatenate([shares[0], -shares[1]])
    return steps, np.cumsum(traced_numpy.take(signed, order))[:-1]


@replaces(scipy.stats.wasserstein_distance)
def wasserstein_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Return the area between two distribution functions (Wasserstein's first distance)."""
    steps, apart = _between(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(apart) * steps)


@replaces(scipy.stats.energy_distance)
def energy_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Return the energy distance of two distributions."""
    steps, apart = _between(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2.0 * np.sum(apart * apart * steps))


# ---------------------------------------------------------------- power transforms


def _given(name: str, lmbda: Any) -> None:
    if lmbda is None:
        refuse_option(
            f"scipy.stats.{name}", "lmbda", None,
            f"an exponent, from scipy.stats.{name}_normmax outside of traced code",
        )  # fmt: skip


def _likelihood(data: Any, logs: Any, exponent: Any, axis: int, keepdims: bool) -> Any:
    """Return the profile likelihood of an exponent: normal, with the data's mean and variance."""
    count = data.shape[axis]
    spread = np.log(np.var(data, axis=axis, keepdims=keepdims))
    return exponent * np.sum(logs, axis=axis, keepdims=keepdims) - 0.5 * count * spread


@replaces(scipy.stats.boxcox)
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    """Return Box and Cox's transform, by a given exponent."""
    _given("boxcox", lmbda)
    return special.boxcox(floats(x), lmbda)


@replaces(scipy.stats.boxcox_llf)
def boxcox_llf(
    lmb: Any, data: Any, *, axis: int | None = 0, keepdims: bool = False,
    nan_policy: str = "propagate",
) -> Any:  # fmt: skip
    """Return the logarithm of the likelihood of an exponent of Box and Cox's transform."""
    x, along = data_along("boxcox_llf", data, axis, nan_policy)
    return _likelihood(special.boxcox(x, lmb), np.log(x), lmb - 1.0, along, keepdims)


@replaces(scipy.stats.yeojohnson)
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Return Yeo and Johnson's transform, by a given exponent."""
    _given("yeojohnson", lmbda)
    data = floats(x)
    above, below = np.maximum(data, 0.0), np.maximum(-data, 0.0)
    return np.where(
        data >= 0, special.boxcox1p(above, lmbda), -special.boxcox1p(below, 2.0 - lmbda)
    )


@replaces(scipy.stats.yeojohnson_llf)
def yeojohnson_llf(
    lmb: Any, data: Any, *, axis: int | None = 0, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the logarithm of the likelihood of an exponent of Yeo and Johnson's transform."""
    x, along = data_along("yeojohnson_llf", data, axis, nan_policy)
    logs = np.copysign(np.log1p(np.abs(x)), x)
    return _likelihood(yeojohnson(x, lmb), logs, lmb - 1.0, along, keepdims)

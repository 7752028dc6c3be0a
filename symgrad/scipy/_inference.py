"""``scipy.stats`` on samples: lines and correlations, distances, power transforms.

Statistics and their p-values are functions of the data, and so are likelihoods by the exponent of
a transform.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from .. import numpy as traced_numpy
from ..errors import ShapeError
from . import special
from ._axis_statistics import along, refuse_unless
from ._summaries import rankdata, varying
from ._versions import doubles, floats, refuse_option, replaces, require_lengths

# ---------------------------------------------------------------- lines and correlations


class ConfidenceInterval(NamedTuple):
    """The ends of an interval."""

    low: Any
    high: Any


class TestResult(NamedTuple):
    """A statistic and its p-value."""

    statistic: Any
    pvalue: Any


class SignificanceResult(TestResult):
    """A correlation and its p-value, as SciPy's result of this name."""

    @property
    def correlation(self) -> Any:
        """The statistic by its other name."""
        return self.statistic


class PearsonRResult(SignificanceResult):
    """A correlation of normal samples, as SciPy's result of this name; more by name."""

    count: Any = None

    def confidence_interval(
        self, confidence_level: float = 0.95, method: Any = None
    ) -> ConfidenceInterval:
        """Return the interval of this confidence, by Fisher's transform."""
        refuse_unless("pearsonr", "method", method, None)
        reach = scipy.special.ndtri(0.5 + confidence_level / 2) / (self.count - 3.0) ** 0.5
        middle = np.arctanh(self.statistic)
        return ConfidenceInterval(np.tanh(middle - reach), np.tanh(middle + reach))


def require_pairs(x: Any, y: Any, axis: int) -> Any:
    """Return how many pairs two samples have."""
    if x.shape[axis] != y.shape[axis]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    return x.shape[axis]


@along("x", "y")
def pearsonr(x: Any, y: Any, axis: int) -> PearsonRResult:
    """Return the coefficient of correlation; nan where a sample is constant.

    Examples
    --------
    >>> sg.grad(lambda x: pearsonr(x, np.array([0.0, 1.0, 5.0])).statistic)(np.arange(3.0)).round(4)
    array([ 0.0945, -0.189 ,  0.0945])
    """
    count = require_pairs(x, y, axis)
    if count < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    x, y = varying(x, axis), varying(y, axis)
    from_x, from_y = (v - np.mean(v, axis=axis, keepdims=True) for v in (x, y))
    # Each by its own length first: products of squares leave the range of numbers.
    unit_x, unit_y = (
        v / np.sqrt(np.sum(v * v, axis=axis, keepdims=True)) for v in (from_x, from_y)
    )
    r = np.clip(np.sum(unit_x * unit_y, axis=axis, keepdims=True), -1.0, 1.0)
    found = PearsonRResult(r, _tails(r, count))
    found.count = count
    return found


def _tails(r: Any, count: Any) -> Any:
    """Return how likely a correlation of normal samples is at least as far from 0."""
    if count == 2:
        return np.where(np.isnan(r), r, 1.0)
    half = count / 2.0 - 1.0
    return 2.0 * special.betainc(half, half, 0.5 * (1.0 - np.abs(r)))


@replaces(scipy.stats.spearmanr)
def spearmanr(
    a: Any, b: Any = None, axis: int | None = 0, nan_policy: str = "propagate",
    alternative: str = "two-sided",
) -> SignificanceResult:  # fmt: skip
    """Correlation of the ranks of two samples, whose derivatives are zero.

    Examples
    --------
    >>> sg.compile(lambda x: spearmanr(x, x**2).statistic)(np.array([-1.0, 0.5, 3.0])).round(4)
    np.float64(0.5)
    """
    refuse_unless("spearmanr", "nan_policy", nan_policy, "propagate")
    refuse_unless("spearmanr", "alternative", alternative, "two-sided")
    if b is None or np.ndim(a) != 1 or np.ndim(b) != 1:
        raise ShapeError("spearmanr: traced are two samples, which are vectors")
    return SignificanceResult(*pearsonr(rankdata(a), rankdata(b)))


class _Line(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class LinregressResult(_Line):
    """A line through points, as SciPy's result of this name: five items, and one more by name."""

    intercept_stderr: Any = None


@along("x", "y")
def linregress(x: Any, y: Any, axis: int) -> LinregressResult:
    """Return the line of least squares through points.

    Examples
    --------
    >>> sg.grad(lambda y: linregress(np.arange(3.0), y).slope)(np.array([0.0, 1.0, 3.0]))
    array([-0.5,  0. ,  0.5])
    """
    count, x, y = require_pairs(x, y, axis), doubles(x), doubles(y)
    if count < 3:
        raise ValueError("scipy.stats.linregress is traced for three points or more")
    mean_x, mean_y = (np.mean(v, axis=axis, keepdims=True) for v in (x, y))
    from_x, from_y = x - mean_x, y - mean_y
    xx, xy, yy = (
        np.mean(a * b, axis=axis, keepdims=True)
        for a, b in ((from_x, from_x), (from_x, from_y), (from_y, from_y))
    )
    slope, r = xy / xx, np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0)
    spread = np.sqrt((1.0 - r * r) * yy / xx / (count - 2))
    found = LinregressResult(slope, mean_y - slope * mean_x, r, _tails(r, count), spread)
    found.intercept_stderr = spread * np.sqrt(xx + mean_x * mean_x)
    return found


# ---------------------------------------------------------------- distances


def _between(u: Any, v: Any, u_weights: Any, v_weights: Any) -> tuple[Any, Any]:
    """Return the steps between all values, and how two distribution functions differ on them."""
    u, v = floats(u).reshape(-1), floats(v).reshape(-1)
    shares = []
    for x, weights in ((u, u_weights), (v, v_weights)):
        w = traced_numpy.ones(x.shape) if weights is None else floats(weights).reshape(-1)
        require_lengths("distances of samples", "values and weights", w.shape[0], x.shape[0])
        shares.append(w / np.sum(w))
    values = np.concatenate([u, v])
    order = np.argsort(values)
    steps, signed = np.diff(values[order]), np.concatenate([shares[0], -shares[1]])
    return steps, np.cumsum(traced_numpy.take(signed, order))[:-1]


@replaces(scipy.stats.wasserstein_distance)
def wasserstein_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Return the area between two distribution functions (Wasserstein's first distance).

    Examples
    --------
    >>> sg.grad(lambda u: wasserstein_distance(u, np.array([0.0, 1.0])))(np.array([2.0, 5.0]))
    array([0.5, 0.5])
    """
    steps, apart = _between(u_values, v_values, u_weights, v_weights)
    return np.sum(np.abs(apart) * steps)


@replaces(scipy.stats.energy_distance)
def energy_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    """Return the energy distance of two distributions.

    Examples
    --------
    >>> sg.grad(lambda u: energy_distance(u, np.array([0.0, 1.0])))(np.array([2.0, 5.0]))
    array([0.375, 0.125])
    """
    steps, apart = _between(u_values, v_values, u_weights, v_weights)
    return np.sqrt(2.0 * np.sum(apart * apart * steps))


# ---------------------------------------------------------------- power transforms


def _given(name: str, lmbda: Any) -> None:
    if lmbda is None:
        refuse_option(
            f"scipy.stats.{name}", "lmbda", None,
            f"an exponent, from scipy.stats.{name}_normmax outside of traced code",
        )  # fmt: skip


def _likelihood(data: Any, logs: Any, exponent: Any, axis: int) -> Any:
    """Return the profile likelihood of an exponent: normal, with the data's mean and variance."""
    spread = np.log(np.var(data, axis=axis, keepdims=True))
    return exponent * np.sum(logs, axis=axis, keepdims=True) - 0.5 * data.shape[axis] * spread


@replaces(scipy.stats.boxcox)
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    """Return Box and Cox's transform, by a given exponent.

    Examples
    --------
    >>> sg.grad(lambda power: boxcox(np.array([2.0]), power)[0])(1.0).round(4)
    np.float64(0.3863)
    """
    _given("boxcox", lmbda)
    return special.boxcox(floats(x), lmbda)


@along("data")
def boxcox_llf(data: Any, axis: int, lmb: Any) -> Any:
    """Return the logarithm of the likelihood of an exponent of Box and Cox's transform.

    Examples
    --------
    >>> sg.grad(lambda power: boxcox_llf(power, np.array([1.0, 2.0, 6.0])))(0.5).round(4)
    np.float64(-0.7514)
    """
    return _likelihood(special.boxcox(data, lmb), np.log(data), lmb - 1.0, axis)


@replaces(scipy.stats.yeojohnson)
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Return Yeo and Johnson's transform, by a given exponent.

    Examples
    --------
    >>> sg.grad(lambda power: yeojohnson(np.array([2.0]), power)[0])(1.0).round(4)
    np.float64(1.2958)
    """
    _given("yeojohnson", lmbda)
    data = floats(x)
    up = data >= 0
    above, below = np.where(up, data, 0.0), np.where(up, 0.0, -data)
    return np.where(up, special.boxcox1p(above, lmbda), -special.boxcox1p(below, 2.0 - lmbda))


@along("data")
def yeojohnson_llf(data: Any, axis: int, lmb: Any) -> Any:
    """Return the logarithm of the likelihood of an exponent of Yeo and Johnson's transform.

    Examples
    --------
    >>> sg.grad(lambda power: yeojohnson_llf(power, np.array([-1.0, 2.0, 6.0])))(0.5).round(4)
    np.float64(0.3374)
    """
    # Not by the sign and the absolute value, which have no derivative at 0.
    logs = np.log1p(np.maximum(data, 0.0)) - np.log1p(np.maximum(-data, 0.0))
    return _likelihood(yeojohnson(data, lmb), logs, lmb - 1.0, axis)

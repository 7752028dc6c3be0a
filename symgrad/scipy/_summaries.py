"""``scipy.stats``' means, moments, spreads, entropies, directions and ranks of data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats

from .._api._transforms import vmap
from .._core.base.stand_in_types import class_of
from . import special
from ._axis_statistics import along, refuse_unless
from ._versions import floats, refuse_option, replaces

# ---------------------------------------------------------------- moments


def _from_mean(x: Any, axis: int) -> Any:
    return x - np.mean(x, axis=axis, keepdims=True)


def _mean_power(x: Any, axis: int, order: int) -> Any:
    return np.mean(x**order, axis=axis, keepdims=True)


def varying(x: Any, axis: int | None) -> Any:
    """Return data, nan where all along an axis are one number: their mean may be another."""
    low, high = (f(x, axis=axis, keepdims=True) for f in (np.min, np.max))
    return np.where(low == high, np.nan, x)


@along("a")
def moment(a: Any, axis: int, order: int, center: Any) -> Any:
    """Return a moment about the mean, or about a center.

    Examples
    --------
    >>> sg.grad(lambda a: moment(a, 2))(np.array([1.0, 2.0, 6.0])).round(4)
    array([-1.3333, -0.6667,  2.    ])
    """
    if not isinstance(order, int):
        refuse_option("scipy.stats.moment", "order", order, "a call for each order, a number")
    return _mean_power(_from_mean(a, axis) if center is None else a - center, axis, order)


@along("a")
def skew(a: Any, axis: int, bias: bool) -> Any:
    """Return the skewness.

    Examples
    --------
    >>> sg.grad(skew)(np.array([1.0, 2.0, 6.0])).round(4)
    array([ 0.1889, -0.2362,  0.0472])
    """
    n, past = a.shape[axis], _from_mean(varying(a, axis), axis)
    found = _mean_power(past, axis, 3) / _mean_power(past, axis, 2) ** 1.5
    return found if bias or n <= 2 else found * (((n - 1.0) * n) ** 0.5 / (n - 2.0))


@along("a")
def kurtosis(a: Any, axis: int, fisher: bool, bias: bool) -> Any:
    """Return the kurtosis, by Fisher's definition 0 of a normal distribution.

    Examples
    --------
    >>> sg.grad(kurtosis)(np.array([1.0, 2.0, 4.0, 9.0])).round(4)
    array([ 0.0831,  0.0831, -0.2493,  0.0831])
    """
    n, past = a.shape[axis], _from_mean(varying(a, axis), axis)
    found = _mean_power(past, axis, 4) / _mean_power(past, axis, 2) ** 2
    if not bias and n > 3:
        found = ((n**2 - 1.0) * found - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return found - 3.0 if fisher else found


# ---------------------------------------------------------------- means


@along("a")
def tmean(a: Any, axis: int) -> Any:
    """Return the mean.

    Examples
    --------
    >>> sg.grad(tmean)(np.array([1.0, 3.0]))
    array([0.5, 0.5])
    """
    return np.mean(a, axis=axis, keepdims=True)


def _average(x: Any, axis: int, weights: Any) -> Any:
    """Return means by weights of SciPy's kind, which are broadcast: a row is one for columns."""
    if weights is not None:
        weights = np.broadcast_to(weights, x.shape)
    return np.average(x, axis=axis, weights=weights, keepdims=True)


@along("a", "weights")
def gmean(a: Any, axis: int, weights: Any) -> Any:
    """Return the geometric mean, weighted or not.

    Examples
    --------
    >>> sg.grad(gmean)(np.array([1.0, 4.0]))
    array([1.  , 0.25])
    """
    return np.exp(_average(np.log(a), axis, weights))


@along("a", "weights")
def hmean(a: Any, axis: int, weights: Any) -> Any:
    """Return the harmonic mean, weighted or not.

    Examples
    --------
    >>> sg.grad(hmean)(np.array([1.0, 3.0]))
    array([1.125, 0.125])
    """
    return 1.0 / _average(1.0 / a, axis, weights)


@along("a", "weights")
def pmean(a: Any, axis: int, p: float, weights: Any) -> Any:
    """Return the power mean, weighted or not.

    Examples
    --------
    >>> sg.grad(lambda a: pmean(a, 2))(np.array([1.0, 7.0]))
    array([0.1, 0.7])
    """
    if not issubclass(class_of(p), (int, float)):
        raise ValueError("Power mean only defined for exponent of type int or float.")
    if p == 0:
        return gmean(a, axis, weights=weights, keepdims=True)
    return _average(a ** (1.0 * p), axis, weights) ** (1 / p)


@along("a")
def trim_mean(a: Any, axis: int, proportiontocut: float) -> Any:
    """Return the mean of what is left when a share of the least and the greatest is cut off.

    Examples
    --------
    >>> sg.grad(lambda a: trim_mean(a, 0.25))(np.array([9.0, 1.0, 2.0, 3.0]))
    array([0. , 0. , 0.5, 0.5])
    """
    count = a.shape[axis]
    cut = int(proportiontocut * count)
    if cut > count - cut:
        raise ValueError("Proportion too big.")
    rows = np.moveaxis(np.sort(a, axis=axis), axis, 0)[cut : count - cut]
    return np.expand_dims(np.mean(rows, axis=0), axis)


# ---------------------------------------------------------------- spreads


@along("a")
def tvar(a: Any, axis: int, ddof: int) -> Any:
    """Return the variance.

    Examples
    --------
    >>> sg.grad(tvar)(np.array([1.0, 2.0, 6.0]))
    array([-2., -1.,  3.])
    """
    return np.var(a, axis=axis, ddof=ddof, keepdims=True)


def _deviation(a: Any, axis: int, ddof: int) -> Any:
    return np.std(a, axis=axis, ddof=ddof, keepdims=True)


@along("a")
def tstd(a: Any, axis: int, ddof: int) -> Any:
    """Return the standard deviation.

    Examples
    --------
    >>> sg.grad(tstd)(np.array([1.0, 3.0])).round(4)
    array([-0.7071,  0.7071])
    """
    return _deviation(a, axis, ddof)


@along("a")
def sem(a: Any, axis: int, ddof: int) -> Any:
    """Return the standard error of the mean.

    Examples
    --------
    >>> sg.grad(sem)(np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    return _deviation(a, axis, ddof) / (1.0 * a.shape[axis]) ** 0.5


@along("a")
def variation(a: Any, axis: int, ddof: int) -> Any:
    """Return the standard deviation over the mean.

    Examples
    --------
    >>> sg.grad(variation)(np.array([1.0, 3.0]))
    array([-0.375,  0.125])
    """
    return _deviation(a, axis, ddof) / np.mean(a, axis=axis, keepdims=True)


@along("a")
def gstd(a: Any, axis: int, ddof: int) -> Any:
    """Return the geometric standard deviation.

    Examples
    --------
    >>> sg.grad(gstd)(np.array([1.0, 4.0])).round(4)
    array([-1.8845,  0.4711])
    """
    return np.exp(_deviation(np.log(a), axis, ddof))


def _unit(name: str, scale: Any, normal: float) -> Any:
    """Return what a spread is divided by: a number, or that of a normal distribution."""
    if not isinstance(scale, str):
        return scale
    if scale.lower() != "normal":
        raise ValueError(f"{scale} is not a valid scale of {name}.")
    return normal


@along("x")
def iqr(x: Any, axis: int, rng: Any, scale: Any, interpolation: str) -> Any:
    """Return the distance between two percentiles.

    Examples
    --------
    >>> sg.grad(iqr)(np.array([1.0, 2.0, 3.0, 5.0, 8.0]))
    array([ 0., -1.,  0.,  1.,  0.])
    """
    low, high = (
        np.percentile(x, q, axis=axis, method=interpolation, keepdims=True) for q in sorted(rng)
    )
    return (high - low) / _unit("iqr", scale, 2.0 * scipy.special.erfinv(0.5) * math.sqrt(2.0))


@along("x")
def median_abs_deviation(x: Any, axis: int, center: Any, scale: Any) -> Any:
    """Return the median distance from the median, or from another center.

    Examples
    --------
    >>> sg.grad(median_abs_deviation)(np.array([1.0, 2.0, 6.0]))
    array([-1.,  1.,  0.])
    """
    middle = np.expand_dims((center or np.median)(x, axis=axis), axis)
    found = np.median(np.abs(x - middle), axis=axis, keepdims=True)
    return found / _unit("median_abs_deviation", scale, float(scipy.special.ndtri(0.75)))


# ---------------------------------------------------------------- scores


@replaces(scipy.stats.zmap)
def zmap(
    scores: Any, compare: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> Any:
    """Return scores less the mean of others, in units of their standard deviation.

    Examples
    --------
    >>> sg.jacobian(lambda x: zmap(x, np.array([1.0, 5.0])))(np.array([2.5]))
    array([[0.5]])
    """
    refuse_unless("zmap", "nan_policy", nan_policy, "propagate")
    x = floats(compare)
    mean, spread = (
        f(x, axis=axis, keepdims=axis is not None, **options)
        for f, options in ((np.mean, {}), (np.std, {"ddof": ddof}))
    )
    return (floats(scores) - mean) / spread


@replaces(scipy.stats.zscore)
def zscore(a: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return data less their mean, in units of their standard deviation.

    Examples
    --------
    >>> sg.grad(lambda a: zscore(a)[0])(np.array([1.0, 2.0, 6.0])).round(4)
    array([ 0.1763, -0.2204,  0.0441])
    """
    return zmap(a, varying(floats(a), axis), axis, ddof, nan_policy)


@replaces(scipy.stats.gzscore)
def gzscore(a: Any, *, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return the scores of the data's logarithms.

    Examples
    --------
    >>> sg.grad(lambda a: gzscore(a)[0])(np.array([1.0, 2.0, 4.0])).round(4)
    array([ 0.2945, -0.2945,  0.0736])
    """
    return zscore(np.log(floats(a)), axis, ddof, nan_policy)


# ---------------------------------------------------------------- entropies


@along("pk", "qk")
def entropy(pk: Any, axis: int, qk: Any, base: float | None) -> Any:
    """Return the entropy of a distribution by its shares, or relative to that of ``qk``.

    Examples
    --------
    >>> sg.grad(lambda p: entropy(np.array([p, 1.0 - p])))(0.25).round(4)
    np.float64(1.0986)
    """
    given = [pk] if qk is None else np.broadcast_arrays(pk, qk)
    shares = [x / np.sum(x, axis=axis, keepdims=True) for x in given]
    terms = special.entr(*shares) if qk is None else special.rel_entr(*shares)
    found = np.sum(terms, axis=axis, keepdims=True)
    return found if base is None else found / np.log(base)


# ---------------------------------------------------------------- directions


def _direction(samples: Any, axis: int, period: float) -> tuple[Any, Any]:
    """Return the means of sines and cosines."""
    angle = samples * (2.0 * math.pi / period)
    sine, cosine = (np.mean(f(angle), axis=axis, keepdims=True) for f in (np.sin, np.cos))
    return sine, cosine


@along("samples")
def circmean(samples: Any, axis: int, high: float, low: float) -> Any:
    """Return the mean of directions.

    Examples
    --------
    >>> sg.grad(circmean)(np.array([0.1, 0.5]))
    array([0.5, 0.5])
    """
    period = high - low
    angle = np.arctan2(*_direction(samples, axis, period)) * (period / (2.0 * math.pi))
    return np.mod(angle - low, period) + low


@along("samples")
def circvar(samples: Any, axis: int, high: float, low: float) -> Any:
    """Return the variance of directions.

    Examples
    --------
    >>> sg.grad(circvar)(np.array([0.0, 1.0])).round(4)
    array([-0.2397,  0.2397])
    """
    return 1.0 - np.minimum(np.hypot(*_direction(samples, axis, high - low)), 1.0)


@along("samples")
def circstd(samples: Any, axis: int, high: float, low: float, normalize: bool) -> Any:
    """Return the standard deviation of directions.

    Examples
    --------
    >>> sg.grad(circstd)(np.array([0.0, 1.0])).round(4)
    array([-0.5345,  0.5345])
    """
    length = np.minimum(np.hypot(*_direction(samples, axis, high - low)), 1.0)
    spread = np.sqrt(-2.0 * np.log(length))
    return spread if normalize else spread * ((high - low) / (2.0 * math.pi))


# ---------------------------------------------------------------- ranks


def _ranked(x: Any, method: str) -> Any:
    """Return the ranks of a vector's elements."""
    ordered = np.sort(x)
    below, among = (1.0 * np.searchsorted(ordered, x, side) for side in ("left", "right"))
    if method == "dense":
        first = np.concatenate([np.ones(1), 1.0 * (ordered[1:] != ordered[:-1])])
        ranks = np.cumsum(first)[np.searchsorted(ordered, x)]
    elif method == "ordinal":
        ranks = 1.0 + np.argsort(np.argsort(x))
    else:
        ranks = {"average": 0.5 * (below + among + 1.0), "min": below + 1.0, "max": among}[method]
    return np.where(np.any(np.isnan(x)), np.nan, ranks)


@replaces(scipy.stats.rankdata)
def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """Return the ranks of data, always as floats; their derivative is zero.

    Examples
    --------
    >>> sg.compile(rankdata)(np.array([3.0, 1.0, 1.0]))
    array([3. , 1.5, 1.5])
    """
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    refuse_unless("rankdata", "nan_policy", nan_policy, "propagate")
    x = floats(a)
    if axis is None or x.ndim < 2:
        return _ranked(np.reshape(x, (-1,)), method) if x.size else x
    rows = np.moveaxis(x, axis, -1)
    ranks = vmap(lambda row: _ranked(row, method))(rows.reshape(-1, rows.shape[-1]))
    return np.moveaxis(ranks.reshape(rows.shape), -1, axis)

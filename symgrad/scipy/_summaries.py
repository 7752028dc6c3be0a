"""``scipy.stats``' means, moments, spreads, entropies, directions and ranks of data."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.stats

from .._api._transforms import vmap
from . import special
from ._replacing import floats, refuse_option, replaces


def data_along(name: str, a: Any, axis: int | None, nan_policy: str) -> tuple[Any, int]:
    """Return data and the axis to summarise them along, which is all of them for None."""
    if nan_policy != "propagate":
        refuse_option(f"scipy.stats.{name}", "nan_policy", nan_policy, "np.nanmean and its kin")
    x = floats(a)
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def _summary(original: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a function stand for one of SciPy's; of all axes, ``keepdims`` keeps as many."""

    def decorate(ours: Callable[..., Any]) -> Callable[..., Any]:
        takes = inspect.signature(ours)

        @functools.wraps(ours)
        def function(*args: Any, **kwargs: Any) -> Any:
            given, found = takes.bind(*args, **kwargs), ours(*args, **kwargs)
            given.apply_defaults()
            if given.arguments["keepdims"] and given.arguments["axis"] is None:
                return np.reshape(found, (1,) * np.ndim(args[0]))
            return found

        return replaces(original)(function)

    return decorate


def _central(x: Any, axis: int, keepdims: bool, *orders: int) -> list[Any]:
    """Return central moments."""
    from_mean = x - np.mean(x, axis=axis, keepdims=True)
    return [np.mean(from_mean**order, axis=axis, keepdims=keepdims) for order in orders]


@_summary(scipy.stats.moment)
def moment(
    a: Any, order: int = 1, axis: int | None = 0, nan_policy: str = "propagate", *,
    center: Any = None, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return a moment about the mean, or about a center."""
    if not isinstance(order, int):
        refuse_option("scipy.stats.moment", "order", order, "a call for each order, a number")
    x, along = data_along("moment", a, axis, nan_policy)
    if center is None:
        return _central(x, along, keepdims, order)[0]
    return np.mean((x - center) ** order, axis=along, keepdims=keepdims)


@_summary(scipy.stats.skew)
def skew(
    a: Any, axis: int | None = 0, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the skewness."""
    x, along = data_along("skew", a, axis, nan_policy)
    n = x.shape[along]
    second, third = _central(x, along, keepdims, 2, 3)
    return third / second**1.5 * (1.0 if bias else ((n - 1.0) * n) ** 0.5 / (n - 2.0))


@_summary(scipy.stats.kurtosis)
def kurtosis(
    a: Any, axis: int | None = 0, fisher: bool = True, bias: bool = True,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the kurtosis, by Fisher's definition 0 of a normal distribution."""
    x, along = data_along("kurtosis", a, axis, nan_policy)
    n = x.shape[along]
    second, fourth = _central(x, along, keepdims, 2, 4)
    found = fourth / second**2
    if not bias:
        found = ((n**2 - 1.0) * found - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return found - 3.0 if fisher else found


@replaces(scipy.stats.zscore)
def zscore(a: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return data less their mean, in units of their standard deviation."""
    x, along = data_along("zscore", a, axis, nan_policy)
    spread = np.std(x, axis=along, ddof=ddof, keepdims=True)
    return np.reshape((x - np.mean(x, axis=along, keepdims=True)) / spread, np.shape(a))


@_summary(scipy.stats.sem)
def sem(
    a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the standard error of the mean."""
    x, along = data_along("sem", a, axis, nan_policy)
    return np.std(x, axis=along, ddof=ddof, keepdims=keepdims) / (1.0 * x.shape[along]) ** 0.5


@_summary(scipy.stats.variation)
def variation(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", ddof: int = 0, *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the standard deviation over the mean."""
    x, along = data_along("variation", a, axis, nan_policy)
    spread = np.std(x, axis=along, ddof=ddof, keepdims=keepdims)
    return spread / np.mean(x, axis=along, keepdims=keepdims)


@_summary(scipy.stats.gmean)
def gmean(
    a: Any, axis: int | None = 0, dtype: Any = None, weights: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the geometric mean, weighted or not."""
    if dtype is not None:
        refuse_option("scipy.stats.gmean", "dtype", dtype, "x.astype(dtype)")
    x, along = data_along("gmean", a, axis, nan_policy)
    return np.exp(np.average(np.log(x), axis=along, weights=weights, keepdims=keepdims))


@_summary(scipy.stats.hmean)
def hmean(
    a: Any, axis: int | None = 0, dtype: Any = None, *, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the harmonic mean, weighted or not."""
    if dtype is not None:
        refuse_option("scipy.stats.hmean", "dtype", dtype, "x.astype(dtype)")
    x, along = data_along("hmean", a, axis, nan_policy)
    return 1.0 / np.average(1.0 / x, axis=along, weights=weights, keepdims=keepdims)


@_summary(scipy.stats.entropy)
def entropy(
    pk: Any, qk: Any = None, base: float | None = None, axis: int | None = 0, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the entropy of a distribution by its shares, or relative to that of ``qk``."""
    p, along = data_along("entropy", pk, axis, nan_policy)
    p = p / np.sum(p, axis=along, keepdims=True)
    if qk is None:
        terms = special.entr(p)
    else:
        q = floats(qk) if axis is not None else floats(qk).reshape(-1)
        p, q = np.broadcast_arrays(p, q)
        terms = special.rel_entr(p, q / np.sum(q, axis=along, keepdims=True))
    found = np.sum(terms, axis=along, keepdims=keepdims)
    return found if base is None else found / np.log(base)


# ---------------------------------------------------------------- means and spreads


def _unlimited(name: str, limits: Any) -> None:
    if limits is not None:
        refuse_option(f"scipy.stats.{name}", "limits", limits, "np.where(inside, x, 0.0) in sums")


@_summary(scipy.stats.tmean)
def tmean(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: int | None = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the mean."""
    _unlimited("tmean", limits)
    x, along = data_along("tmean", a, axis, nan_policy)
    return np.mean(x, axis=along, keepdims=keepdims)


@_summary(scipy.stats.tvar)
def tvar(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: int | None = 0, ddof: int = 1,
    *, nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the variance."""
    _unlimited("tvar", limits)
    x, along = data_along("tvar", a, axis, nan_policy)
    return np.var(x, axis=along, ddof=ddof, keepdims=keepdims)


@_summary(scipy.stats.tstd)
def tstd(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: int | None = 0, ddof: int = 1,
    *, nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the standard deviation."""
    _unlimited("tstd", limits)
    x, along = data_along("tstd", a, axis, nan_policy)
    return np.std(x, axis=along, ddof=ddof, keepdims=keepdims)


@_summary(scipy.stats.pmean)
def pmean(
    a: Any, p: float, *, axis: int | None = 0, dtype: Any = None, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the power mean, weighted or not."""
    if dtype is not None:
        refuse_option("scipy.stats.pmean", "dtype", dtype, "x.astype(dtype)")
    if not isinstance(p, int | float):
        raise ValueError("Power mean only defined for exponent of type int or float.")
    if p == 0:
        return gmean(a, axis, weights=weights, nan_policy=nan_policy, keepdims=keepdims)
    x, along = data_along("pmean", a, axis, nan_policy)
    return np.average(x ** float(p), axis=along, weights=weights, keepdims=keepdims) ** (1 / p)


@_summary(scipy.stats.gstd)
def gstd(
    a: Any, axis: int | None = 0, ddof: int = 1, *, keepdims: bool = False,
    nan_policy: str = "propagate",
) -> Any:  # fmt: skip
    """Return the geometric standard deviation."""
    x, along = data_along("gstd", a, axis, nan_policy)
    return np.exp(np.std(np.log(x), axis=along, ddof=ddof, keepdims=keepdims))


@replaces(scipy.stats.zmap)
def zmap(
    scores: Any, compare: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> Any:
    """Return scores less the mean of others, in units of their standard deviation."""
    x, along = data_along("zmap", compare, axis, nan_policy)
    if axis is None:
        return (floats(scores) - np.mean(x)) / np.std(x, ddof=ddof)
    spread = np.std(x, axis=along, ddof=ddof, keepdims=True)
    return (floats(scores) - np.mean(x, axis=along, keepdims=True)) / spread


@replaces(scipy.stats.gzscore)
def gzscore(a: Any, *, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return the scores of the data's logarithms."""
    return zscore(np.log(floats(a)), axis, ddof, nan_policy)


@_summary(scipy.stats.iqr)
def iqr(
    x: Any, axis: int | None = None, rng: Sequence[float] = (25, 75), scale: Any = 1.0,
    nan_policy: str = "propagate", interpolation: str = "linear", keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the distance between two percentiles."""
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} not a valid scale for `iqr`")
        scale = 2.0 * scipy.special.erfinv(0.5) * math.sqrt(2.0)
    data, along = data_along("iqr", x, axis, nan_policy)
    low, high = (
        np.percentile(data, q, axis=along, method=interpolation, keepdims=keepdims)
        for q in sorted(rng)
    )
    return (high - low) / scale


@_summary(scipy.stats.median_abs_deviation)
def median_abs_deviation(
    x: Any, axis: int | None = 0, center: Callable[..., Any] | None = None, scale: Any = 1.0,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the median distance from the median, or from another center."""
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = float(scipy.special.ndtri(0.75))
    data, along = data_along("median_abs_deviation", x, axis, nan_policy)
    middle = np.expand_dims((center or np.median)(data, axis=along), along)
    return np.median(np.abs(data - middle), axis=along, keepdims=keepdims) / scale


@_summary(scipy.stats.trim_mean)
def trim_mean(
    a: Any, proportiontocut: float, axis: int | None = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the mean of what is left when a share of the least and the greatest is cut off."""
    x, along = data_along("trim_mean", a, axis, nan_policy)
    count = x.shape[along]
    cut = int(proportiontocut * count)
    if cut > count - cut:
        raise ValueError("Proportion too big.")
    rows = np.moveaxis(np.sort(x, axis=along), along, 0)[cut : count - cut]
    found = np.mean(rows, axis=0)
    return np.expand_dims(found, along) if keepdims else found


# ---------------------------------------------------------------- directions


def _direction(
    name: str, samples: Any, period: float, axis: int | None, nan_policy: str, keepdims: bool
) -> tuple[Any, Any]:
    """Return the means of sines and cosines."""
    x, along = data_along(name, samples, axis, nan_policy)
    angle = x * (2.0 * math.pi / period)
    return tuple(np.mean(f(angle), axis=along, keepdims=keepdims) for f in (np.sin, np.cos))


@_summary(scipy.stats.circmean)
def circmean(
    samples: Any, high: float = 2 * math.pi, low: float = 0, axis: int | None = None,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the mean of directions."""
    period = high - low
    sine, cosine = _direction("circmean", samples, period, axis, nan_policy, keepdims)
    return np.mod(np.arctan2(sine, cosine) * (period / (2.0 * math.pi)) - low, period) + low


@_summary(scipy.stats.circvar)
def circvar(
    samples: Any, high: float = 2 * math.pi, low: float = 0, axis: int | None = None,
    nan_policy: str = "propagate", *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the variance of directions."""
    found = _direction("circvar", samples, high - low, axis, nan_policy, keepdims)
    return 1.0 - np.minimum(np.hypot(*found), 1.0)


@_summary(scipy.stats.circstd)
def circstd(
    samples: Any, high: float = 2 * math.pi, low: float = 0, axis: int | None = None,
    nan_policy: str = "propagate", *, normalize: bool = False, keepdims: bool = False,
) -> Any:  # fmt: skip
    """Return the standard deviation of directions."""
    found = _direction("circstd", samples, high - low, axis, nan_policy, keepdims)
    spread = np.sqrt(-2.0 * np.log(np.minimum(np.hypot(*found), 1.0)))
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
    """Return the ranks of data, always as floats; their derivative is zero."""
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    x, along = data_along("rankdata", a, axis, nan_policy)
    if x.ndim < 2:
        return _ranked(np.reshape(x, (-1,)), method) if x.size else x
    rows = np.moveaxis(x, along, -1)
    ranks = vmap(lambda row: _ranked(row, method))(rows.reshape(-1, rows.shape[-1]))
    return np.moveaxis(ranks.reshape(rows.shape), -1, along)

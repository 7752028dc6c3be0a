"""NumPy's statistics: mean, variance, averages, histograms, and the functions that skip nan."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError, UnsupportedError
from ..base.broadcast import normalize_axes, show
from ..base.sizes import under
from ..op import Op, composite
from .gathers import SCATTER
from .np_common import (
    abs_square,
    as_array,
    as_float,
    dims,
    iota,
    is_traced,
    lift,
    reshaped,
    spread,
)
from .np_reductions import chosen, fold, mask_of, not_empty
from .np_sorting import count_below
from .reductions import MAX, MIN


def count(x: Any, axis: Any) -> Any:
    """Return the number of elements along axes."""
    number: Any = 1
    for k in normalize_axes(axis, x.ndim):
        number = number * x.shape[k]
    return number


def root(square: Any) -> Any:
    """Return the square root of a sum of squares, whose derivative is known at 0, too."""
    return np.sqrt(square)


def _float(a: Any, dtype: Any) -> Any:
    x = as_array(a)
    if dtype is None:
        return as_float(x)
    if np.dtype(dtype).kind not in "fc":
        raise UnsupportedError(
            f"a mean in whole numbers (dtype={np.dtype(dtype)}) is not traced. Write instead: the "
            "mean without dtype=, and .astype of the result"
        )
    return x.astype(np.dtype(dtype))


@composite(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    """Mean over axes."""
    x = _float(a, dtype)
    total = np.sum(x, axis=axis, keepdims=keepdims, where=where)
    return total / _count(x, axis, where, keepdims)


def _count(x: Any, axis: Any, where: Any, keepdims: bool) -> Any:
    """Return the number of elements along axes where a mask is true."""
    if where is True:
        return count(x, axis)
    kind = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    return np.sum(mask_of(where, x), axis=axis, dtype=kind, keepdims=keepdims)


def _degrees(number: Any, ddof: Any, correction: Any) -> Any:
    if correction is not None and ddof != 0:
        raise ArgumentError("give ddof or correction, not both")
    less = ddof if correction is None else correction
    if isinstance(less, (int, float)) and less == 0:
        return number
    free = number - less
    if is_traced(number) or isinstance(number, np.ndarray):
        return np.maximum(free, 0)
    return max(0, free)


@composite(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False,
    correction: Any = None, mean: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """Variance over axes: the mean square deviation from the mean."""
    x = _float(a, dtype)
    centre = np.mean(x, axis=axis, keepdims=True, where=where) if mean is None else as_array(mean)
    away = chosen(x - centre, where, 0.0)  # so that it is a sum of squares, whose root is known
    total = np.sum(abs_square(away), axis=axis, keepdims=keepdims)
    return total / _degrees(_count(x, axis, where, keepdims), ddof, correction)


@composite(np.std, convention="derivative 0 where all elements are equal")
def std(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False,
    correction: Any = None, mean: Any = None, where: Any = True,
) -> Any:  # fmt: skip
    """Standard deviation over axes: the root of the variance."""
    options = {"ddof": ddof, "keepdims": keepdims, "correction": correction, "mean": mean}
    return root(var(a, axis, dtype, where=where, **options))


@composite(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Mean over axes, weighted if weights are given."""
    x = as_array(a)
    if weights is None:
        result = np.mean(x, axis=axis, keepdims=keepdims)
        if 0 in result.shape:
            raise ZeroDivisionError("division by zero")
        return (result, np.full_like(result, count(x, axis))) if returned else result
    w = as_array(weights)
    if axis is not None and w.ndim != x.ndim:
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = [int(k) % x.ndim for k in given]
        if w.ndim != len(axes):
            raise ShapeError(
                f"average: weights of shape {show(dims(w))} do not fit the axes {axis} "
                f"of an array of shape {show(dims(x))}"
            )
        w = np.transpose(w, tuple(int(k) for k in np.argsort(axes)))
        w = reshaped(w, tuple(d if k in axes else 1 for k, d in enumerate(x.shape)))
    elif w.ndim != x.ndim:
        raise ShapeError(
            f"average: give the axis for weights of shape {show(dims(w))} and an array of "
            f"shape {show(dims(x))}"
        )
    w = as_float(w) if x.dtype.kind != "f" else w
    w = spread(w, x.shape, x)
    total = np.sum(w, axis=axis, keepdims=keepdims)
    if 0 in w.shape and 0 not in total.shape:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = np.sum(x * w, axis=axis, keepdims=keepdims) / total
    if not returned:
        return result
    return result, np.broadcast_to(total.astype(result.dtype), result.shape)


# ---------------------------------------------------------------- skipping nan


def _filled(x: Any, fill: int) -> Any:
    return np.where(np.isnan(x), fill, x) if x.dtype.kind in "fc" else x


def _skipping(function: Any, plain: Any, fill: int, doc: str) -> Any:
    def skipping(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        return plain(_filled(as_array(a), fill), axis=axis, dtype=dtype, keepdims=keepdims)

    skipping.__doc__ = doc
    return composite(function, name=function.__name__)(skipping)


nansum = _skipping(np.nansum, np.sum, 0, "Sum over axes without the nans.")
nanprod = _skipping(np.nanprod, np.prod, 1, "Product over axes without the nans.")


def _running(function: Any, plain: Any, fill: int, doc: str) -> Any:
    def running(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
        return plain(_filled(as_array(a), fill), axis=axis, dtype=dtype)

    running.__doc__ = doc
    return composite(function, name=function.__name__)(running)


nancumsum = _running(np.nancumsum, np.cumsum, 0, "Running sum along an axis, nan as 0.")
nancumprod = _running(np.nancumprod, np.cumprod, 1, "Running product along an axis, nan as 1.")


def _extremum(function: Any, op: Op, fill: float, doc: str) -> Any:
    def extremum(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        x = as_array(a)
        not_empty(x, axis, function.__name__)
        if x.dtype.kind not in "fc":
            return fold(op, x, axis, keepdims)
        missing = np.isnan(x)
        best = fold(op, np.where(missing, fill, x), axis, keepdims)
        return np.where(np.all(missing, axis=axis, keepdims=keepdims), np.nan, best)

    extremum.__doc__ = doc
    return composite(function, name=function.__name__, convention="equal shares among ties")(
        extremum
    )


nanmax = _extremum(np.nanmax, MAX, -np.inf, "Maximum over axes without the nans.")
nanmin = _extremum(np.nanmin, MIN, np.inf, "Minimum over axes without the nans.")


def _present(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.sum(~np.isnan(x), axis=axis, keepdims=keepdims).astype(x.real.dtype)


@composite(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    """Mean over axes without the nans."""
    x = _float(a, dtype)
    return np.nansum(x, axis=axis, keepdims=keepdims) / _present(x, axis, keepdims)


@composite(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """Variance over axes without the nans."""
    x = _float(a, dtype)
    # Not nansum of the squares: the derivative of nan*nan is nan even with weight 0.
    away = np.where(np.isnan(x), 0, x - np.nanmean(x, axis=axis, keepdims=True))
    free = _present(x, axis, keepdims) - ddof
    total = np.sum(abs_square(away), axis=axis, keepdims=keepdims)
    return np.where(free > 0, total / np.where(free > 0, free, 1), np.nan)


@composite(np.nanstd, convention="derivative 0 where all elements are equal")
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """Standard deviation over axes without the nans."""
    return root(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


# ---------------------------------------------------------------- histograms


def _edges(x: Any, bins: Any, span: Any) -> Any:
    """Return the edges of the bins, as NumPy computes them."""
    if any(getattr(v, "dtype", np.dtype(float)).kind == "c" for v in (x, bins)):
        raise UnsupportedError(
            "histogram: bins are of real numbers: take z.real, z.imag or np.abs(z)"
        )
    if isinstance(bins, str):
        raise ArgumentError(
            f"histogram: how many bins {bins!r} gives would depend on the values of traced "
            "elements: give their number"
        )
    if np.ndim(bins):
        edges = as_array(bins)
        if edges.ndim != 1:
            raise ShapeError(f"histogram: the edges are a vector, not {edges.ndim} axes")
        return edges
    try:
        n = operator.index(bins)
    except TypeError:
        raise ArgumentError(f"histogram: bins is a number or edges, not {bins!r}") from None
    if n < 1:
        raise ArgumentError(f"histogram: there must be at least 1 bin, not {n}")
    if span is None:
        span = (0.0, 1.0) if under(x.shape[0], 1) else (x.min(), x.max())
    first, last = map(as_array, span)
    first, last = as_float(first), as_float(last)
    alone = first == last
    first, last = np.where(alone, first - 0.5, first), np.where(alone, last + 0.5, last)
    place = lift(iota(n + 1), first)
    return np.where(place == n, last, place * ((last - first) / n) + first)


@composite(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:  # noqa: A002
    """Edges of equal bins between the smallest and the largest element, or within ``range``."""
    return _edges(as_array(a).reshape(-1), bins, range)


@composite(np.histogram, convention="counts are constant, sums of weights depend on the weights")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None,  # noqa: A002
              weights: Any = None) -> Any:  # fmt: skip
    """Count the elements in each bin, or add up their weights; also return the bins' edges."""
    x = as_array(a)
    w = None if weights is None else as_array(weights)
    if w is not None and w.shape != x.shape:
        raise ShapeError("histogram: the weights have another shape than the elements")
    x = x.reshape(-1)
    edges = _edges(x, bins, range)
    n = edges.shape[0] - 1
    x, along = lift(x, edges, w), lift(edges, x, w)
    # The last bin has both of its edges.
    inside = (x >= along[0]) & (x <= along[n])
    k = np.clip(count_below(along, x, "right") - 1, 0, n - 1)
    if w is None:
        parts = inside.astype(np.int64)
    else:
        kind, w = w.dtype, lift(as_float(w).astype(np.float64).reshape(-1), x)
        parts = np.where(inside, w, 0.0)
    found = SCATTER(parts, k, axes=(0,), at=0, shape=(n,))
    if w is not None:
        found = found.astype(kind)  # they were added up as doubles
    if density:
        found = found / np.diff(edges) / found.sum()
    return found, edges

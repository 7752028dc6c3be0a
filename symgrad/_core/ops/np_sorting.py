"""NumPy's sorting and searching, and the statistics that need an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ...errors import ArgumentError, DTypeError, ShapeError, TraceError, UnsupportedError
from ..base.broadcast import normalize_axes, normalize_axis
from ..base.sizes import Size, as_dim, guard, hint, under
from ..base.state import now
from ..op import composite, refuse
from .complex_order import as_complex_type
from .logic import STOP_GRADIENT
from .np_common import (
    as_array,
    as_float,
    compared,
    equal,
    is_traced,
    lift,
    permute,
    reshaped,
    sizes,
)
from .sorting import ARGSORT

TIES = "the derivative goes to the element that is taken, the first of equal ones"

# ---------------------------------------------------------------- sorting


def _order(x: Any) -> Any:
    """Return the positions that sort along the last axis."""
    return ARGSORT(x.astype(np.int8) if x.dtype == np.bool_ else x)


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    x = as_array(a)
    if axis is None:
        return np.ravel(x), 0
    if x.ndim == 0:
        raise ShapeError("axis 0 is out of bounds for array of dimension 0")
    return x, normalize_axis(axis, x.ndim)


def _sorted(x: Any, axis: int) -> Any:
    last = np.moveaxis(x, axis, -1)
    return np.moveaxis(np.take_along_axis(last, _order(last), -1), -1, axis)


@composite(np.sort, convention=TIES)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: None = None, *,
         stable: Any = None) -> Any:  # fmt: skip
    """Sort along an axis."""
    return _sorted(*_along(a, axis))


@composite(np.sort_complex, convention=TIES)
def sort_complex(a: Any) -> Any:
    """Sort along the last axis, as complex numbers."""
    x = np.sort(as_array(a))
    narrow = x.dtype.char in "bhBH"  # of which NumPy makes complex64, but not of float32
    return as_complex_type(x if x.dtype.kind == "c" else x.astype("f4" if narrow else "f8"))


@composite(np.argsort, differentiable=False)
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: None = None, *,
            stable: Any = None) -> Any:  # fmt: skip
    """Positions that sort along an axis; equal elements keep their order."""
    x, axis = _along(np.atleast_1d(as_array(a)), axis)  # of a number as well
    last = np.moveaxis(x, axis, -1)
    order = _order(last)
    if kind not in ("stable", "mergesort") and not stable:
        _leave_ties(last, order)
    return np.moveaxis(order, -1, axis)


def _leave_ties(x: Any, order: Any) -> None:
    """Have a trace made with the numbers in place if what is sorted is none of the arguments.

    NumPy's default is not stable, so the order of equal elements is its own; it is the same
    for the same numbers.
    """
    examples = now().examples
    if examples is None or not examples.only_reads(getattr(x, "node", None)):
        return
    ordered = np.take_along_axis(x, order, -1)
    a, b = ordered[..., 1:], ordered[..., :-1]
    if np.any((a == b) | ((a != a) & (b != b))):  # nan
        examples.is_needed(x.node)
        raise TraceError("np.argsort of equal elements orders them in NumPy's own way")


def _require_places(kth: Any, shape: Any, axis: int) -> None:
    if is_traced(kth):
        raise ArgumentError("partition: the places must be known, not traced")
    if 0 in shape:  # NumPy takes any place then
        return
    size = shape[axis]
    for k in sizes(kth):
        if not -size <= k < size:
            raise ShapeError(f"partition: place {k} is out of bounds for an axis of size {size}")


@composite(np.partition, convention=TIES)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect",
              order: None = None) -> Any:  # fmt: skip
    """Sort far enough that some places are right; here all are."""
    x, axis = _along(a, axis)
    _require_places(kth, x.shape, axis)
    return _sorted(x, axis)


@composite(np.argpartition, differentiable=False)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect",
                 order: None = None) -> Any:  # fmt: skip
    """Positions of a partition; here those of the sorted array."""
    x, axis = _along(a, axis)
    _require_places(kth, x.shape, axis)
    return argsort(x, axis)


@composite(np.lexsort, differentiable=False)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Positions that sort by several keys, the last one first."""
    rows = [np.moveaxis(as_array(k), axis, -1) for k in keys]
    first = rows[0]
    if any(x.ndim != first.ndim or not all(map(equal, x.shape, first.shape)) for x in rows):
        raise ShapeError("lexsort: all keys need to be the same shape")
    order = _order(rows[0])
    for row in rows[1:]:
        inner = _order(np.take_along_axis(row, order, -1))
        order = np.take_along_axis(order, inner, -1)
    return np.moveaxis(order, -1, axis)


# ---------------------------------------------------------------- searching


def count_below(a: Any, v: Any, side: str) -> Any:
    """Return how many elements of a sorted vector are below each element of ``v``.

    Binary search, all values at once; the number of steps is that of the example's length,
    and a guard keeps longer vectors out.
    """
    n = a.shape[0]
    steps = max(hint(as_dim(n)), 1).bit_length()
    guard(sp.Lt(as_dim(n), 2**steps, evaluate=False), value_is=True)
    low = np.zeros_like(v, np.int64)
    high = low + n
    if not isinstance(n, Size) and n == 0:
        return low
    for _ in range(steps):
        open_ = low < high
        middle = (low + high) // 2
        value = a[np.minimum(middle, n - 1)]
        # nan is the greatest of all, and equal to itself.
        below = (value < v) | ((v != v) & (value == value))
        if side == "right":
            below = below | (value == v) | (v != v)
        low = np.where(open_ & below, middle + 1, low)
        high = np.where(open_ & ~below, middle, high)
    return STOP_GRADIENT(low)  # positions jump: no place is missed by the search's decisions


@composite(np.searchsorted, differentiable=False)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Positions at which values go into a sorted vector."""
    a, v = as_array(a), as_array(v)
    if a.ndim != 1:
        raise ShapeError(f"searchsorted needs a vector to search in, not {a.ndim} axes")
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side is 'left' or 'right', not {side!r}")
    a, v = lift(a, v), lift(v, a)
    return count_below(a if sorter is None else np.take(a, sorter), v, side)


@composite(np.digitize, differentiable=False)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Which bin each value falls into."""
    edges = as_array(bins)
    if under(edges.shape[0], 1):
        return np.zeros_like(as_array(x), np.int64)
    up = searchsorted(edges, x, "left" if right else "right")
    down = edges.shape[0] - searchsorted(edges[::-1], x, "right" if right else "left")
    return np.where(edges[0] > edges[-1], down, up)


@composite(np.isin, differentiable=False)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: Any = None) -> Any:  # fmt: skip
    """Where an element is one of some others."""
    x, given = as_array(element), np.ravel(as_array(test_elements))
    found = np.any(compared(x[..., None] == given), axis=-1)
    return ~found if invert else found


# ---------------------------------------------------------------- quantiles

#: Where a quantile lies between the elements: ``q*(n - 1 + a + b - ...)`` by its two parameters.
_POSITIONS = {
    "linear": (1.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
}  # fmt: skip
_STEPS = ("lower", "higher", "midpoint", "nearest")


def _joined(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Move the axes of a statistic to the end as one; also return which they are."""
    axes = normalize_axes(axis, x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    moved = permute(x, (*rest, *axes))
    lead = moved.shape[: len(rest)]
    count: Any = 1
    for size in moved.shape[len(rest) :]:
        count = count * size
    return reshaped(moved, (*lead, count)), axes


def _between(ordered: Any, place: Any, method: str | None, count: Any, dtype: Any) -> Any:
    """Return sorted elements at a real place along the last axis; ``count`` of them count."""
    last = count - 1
    place = np.clip(place, 0, last)
    below, above = np.floor(place), np.ceil(place)
    if method == "nearest":
        below = above = np.rint(place)
    weight = {"lower": 0.0, "higher": 1.0, "nearest": 0.0}.get(method or "")
    if method == "midpoint":
        weight = np.where(below == above, 0.0, 0.5)
    low, high = (
        np.take_along_axis(ordered, k.astype(np.int64)[..., None], -1)[..., 0]
        for k in (below, above)
    )
    if method is None:  # the mean of two, as NumPy's median: infinities stay what they are
        return np.where(below == above, low, (low + high) * 0.5)
    share = place - below if weight is None else weight
    share = share if isinstance(share, float) else share.astype(dtype)
    return (
        low
        if method in ("lower", "nearest")
        else (high if method == "higher" else low + (high - low) * share)
    )


def _quantile(a: Any, q: Any, axis: Any, method: str | None, keepdims: bool, skip: bool) -> Any:
    x = as_array(a)
    # Elements keep their type; so they do where the place is whole because q is.
    given, picks = x.dtype, method in ("lower", "higher", "nearest")
    picks |= method == "linear" and as_array(q).dtype.kind in "iub"
    if given == np.bool_ and not picks and method is not None:
        raise DTypeError("between truth values there is nothing: method is 'lower' or the like")
    x = x.astype(np.float64) if x.dtype.kind not in "fc" else x
    # A Python number takes the type of the data, as in NumPy.
    q = as_array(q).astype(x.real.dtype) if isinstance(q, (int, float)) else as_float(as_array(q))
    if method is not None and method not in _POSITIONS and method not in _STEPS:
        refuse(np.quantile, f"method={method!r}; there are {', '.join((*_POSITIONS, *_STEPS))}")
    if not is_traced(q) and not np.all((q >= 0) & (q <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if skip and 0 in x.shape:  # nan, with NumPy's warning
        return np.nanmean(x, axis=axis, keepdims=keepdims)
    flat, axes = _joined(lift(x, q), axis)
    ordered = _sorted(flat, flat.ndim - 1)
    n = flat.shape[-1]
    missing = np.isnan(ordered)
    count = n - np.sum(missing, axis=-1) if skip else n
    alpha, beta = _POSITIONS.get(method or "", (1.0, 1.0))
    lead, dtype = ordered.shape[:-1], np.result_type(q.dtype, x.dtype)

    def one(p: Any) -> Any:
        if alpha == beta == 1:
            place = p * (count - 1)
        else:
            place = p * count + (alpha + p * (1 - alpha - beta)) - 1
        place = np.broadcast_to(as_float(as_array(place)), lead)
        y = _between(ordered, lift(place, ordered), method, np.maximum(count, 1), dtype)
        if skip:
            y = np.where(count == 0, np.nan, y)
        else:
            y = np.where(missing[..., -1], np.nan, y)
        y = y.astype(given) if picks else y
        return np.expand_dims(y, axes) if keepdims else y

    if q.ndim == 0:
        return one(q)
    values = np.stack([one(p) for p in np.ravel(q)])
    return reshaped(values, (*q.shape, *values.shape[1:]))


def _real(a: Any, name: str) -> Any:
    x = as_array(a)
    if x.dtype.kind == "c":
        raise UnsupportedError(
            f"np.{name} of complex numbers: as in NumPy, only np.median goes by their order; "
            "take z.real, z.imag or np.abs(z)"
        )
    return x


def _define_quantiles(name: str, scale: float, skip: bool) -> None:
    def quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear",
                 keepdims: bool = False, overwrite_input: bool = False) -> Any:  # fmt: skip
        q = q if scale == 1 else q / scale if isinstance(q, (int, float)) else as_array(q) / scale
        return _quantile(_real(a, name), q, axis, method, keepdims, skip)

    what = "Quantiles" if scale == 1 else "Percentiles"
    quantile.__doc__ = f"{what} over axes{', nan left out' if skip else ''}."
    composite(getattr(np, name), name=name, convention=TIES)(quantile)


_define_quantiles("quantile", 1.0, False)
_define_quantiles("percentile", 100.0, False)
_define_quantiles("nanquantile", 1.0, True)
_define_quantiles("nanpercentile", 100.0, True)


@composite(np.median, convention=TIES)
def median(a: Any, axis: Any = None, *, keepdims: bool = False,
           overwrite_input: bool = False) -> Any:  # fmt: skip
    """Median over axes."""
    x = as_array(a)
    if 0 in (x.shape[k] for k in normalize_axes(axis, x.ndim)):  # nan, with NumPy's warning
        return np.mean(x, axis=axis, keepdims=keepdims)
    return _quantile(a, 0.5, axis, None, keepdims, False)


@composite(np.nanmedian, convention=TIES)
def nanmedian(a: Any, axis: Any = None, *, keepdims: bool = False,
              overwrite_input: bool = False) -> Any:  # fmt: skip
    """Median over axes, nan left out."""
    return _quantile(a, 0.5, axis, None, keepdims, True)

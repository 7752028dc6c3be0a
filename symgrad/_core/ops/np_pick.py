"""NumPy's functions that pick elements: take, delete, insert, choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError, IndexingError, ShapeError
from ..base.broadcast import broadcast, normalize_axis, show
from ..base.sizes import Size, as_size
from ..op import composite, refuse
from .gathers import GATHER
from .indexing import getitem
from .np_common import (
    along,
    as_array,
    as_arrays,
    dims,
    iota,
    is_traced,
    lift,
    part,
    reshaped,
    spread,
)

# ---------------------------------------------------------------- take


def _indices(value: Any) -> Any:
    index = as_array(value)
    index = index.astype(np.int64) if not is_traced(index) and index.size == 0 else index
    if index.dtype.kind not in "iu":
        raise IndexingError(f"indices must be integers, not {index.dtype}")
    return index


@composite(np.take)
def take(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    """Read elements along an axis at integer positions."""
    if mode not in ("raise", "clip", "wrap"):
        raise ArgumentError(f"take: mode is 'raise', 'clip' or 'wrap', not {mode!r}")
    x = as_array(a)
    if axis is None:
        x, axis = np.ravel(x), 0
    axis = normalize_axis(axis, x.ndim)
    index = indices if isinstance(indices, (int, Size)) else _indices(indices)
    if mode != "raise":
        n = x.shape[axis]
        index = _indices(index).astype(np.int64)  # n may not fit a smaller type
        index = np.mod(index, n) if mode == "wrap" else np.maximum(np.minimum(index, n - 1), 0)
    if not is_traced(x) and not is_traced(index):
        return np.take(x, index, axis)
    if isinstance(index, np.ndarray) and index.ndim == 0:
        index = int(index)
    return getitem(lift(x, index), (*(slice(None),) * axis, index))


_CHOSEN = (
    "how many elements it gives depends on their values, and a trace needs the shape. Write "
    "instead: x[mask], which has sums, means and extremes, or np.where(mask, x, 0.0)"
)


@composite(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """Read the elements along an axis for which a condition, which is not traced, is true."""
    mask = as_array(condition)
    if is_traced(mask):
        refuse(np.compress, _CHOSEN, mask)
    if mask.ndim != 1:
        raise ShapeError("compress: the condition has one axis")
    return take(a, np.flatnonzero(mask), axis)


@composite(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """Read the elements for which a condition, which is not traced, is true."""
    mask = as_array(condition)
    if is_traced(mask):
        refuse(np.extract, _CHOSEN, mask)
    return take(arr, np.flatnonzero(mask))


@composite(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Read elements at positions along one axis, matched along the others."""
    x, index = as_array(arr), _indices(indices)
    if axis is None:
        x, axis = np.ravel(x), 0
    axis = normalize_axis(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ShapeError(
            f"take_along_axis: the index of shape {show(dims(index))} and the array of shape "
            f"{show(dims(x))} must have as many axes"
        )
    if not is_traced(index):
        n = int(x.shape[axis])
        if index.size and not -n <= index.min() <= index.max() < n:
            raise IndexingError(f"take_along_axis: an index is out of range for size {n}")
    position = np.where(index < 0, index + x.shape[axis], index)
    shapes = [tuple(1 if k == axis else d for k, d in enumerate(dims(x))), dims(index)]
    shape = tuple(map(as_size, broadcast(*shapes)))
    places = []
    for k, d in enumerate(x.shape):
        place = position if k == axis else along(iota(d, x, index), k, x.ndim)
        places.append(spread(place, shape, x, index))
    return GATHER(x, *places, axes=tuple(range(x.ndim)), at=0)


@composite(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Leave out elements at constant places."""
    x = as_array(arr)
    x, axis = (np.ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))
    if isinstance(obj, (int, np.integer)):
        n = x.shape[axis]
        inside = obj < n if obj >= 0 else -obj <= n
        if not inside:
            raise IndexingError(f"index {obj} is out of bounds for axis {axis} with size {n}")
        place = obj + n if obj < 0 else obj
        ends = part(x, axis, 0, place), part(x, axis, place + 1, n - place - 1)
        return np.concatenate(ends, axis)
    _constant_places("delete", obj)
    return take(x, np.delete(np.arange(int(x.shape[axis])), obj), axis)


@composite(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Put values before constant places."""
    x = as_array(arr)
    x, axis = (np.ravel(x), 0) if axis is None else (x, normalize_axis(axis, x.ndim))
    _constant_places("insert", obj)
    new = as_array(values, x.dtype)
    if new.ndim < x.ndim:
        new = reshaped(new, (*(1,) * (x.ndim - new.ndim), *new.shape))
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        new = np.moveaxis(new, 0, axis)  # as NumPy does for a single place
    n = int(x.shape[axis])
    where = np.arange(n)[obj] if isinstance(obj, slice) else np.asarray(obj)
    where = np.flatnonzero(where) if where.dtype == np.bool_ else where
    count = where.size if where.size != 1 else int(new.shape[axis])
    new = spread(new, (*x.shape[:axis], count, *x.shape[axis + 1 :]), x)
    # Which element of [x, new] comes where: NumPy inserts the numbers n, n + 1, ...
    order = np.insert(np.arange(n), where, n + np.arange(count))
    return take(np.concatenate([x, new], axis), order, axis)


_ONE_PLACE = {
    "delete": "x[i + (i >= k)], where i = np.arange(len(x) - 1)",
    "insert": "np.where(i == k, v, x[np.minimum(i - (i > k), len(x) - 1)]), where "
              "i = np.arange(len(x) + 1)",
}  # fmt: skip


def _constant_places(name: str, obj: Any) -> None:
    if is_traced(obj) and obj.dtype == np.bool_:
        raise ArgumentError(
            f"{name}: a traced mask decides the shape. Write instead: x[~mask], which has sums, "
            "means and extremes"
        )
    if is_traced(obj):
        raise ArgumentError(
            f"{name}: the places decide the shape, so they cannot be traced. Write instead, of one "
            f"place k in a vector: {_ONE_PLACE[name]}"
        )


# ---------------------------------------------------------------- choices


@composite(np.clip, convention="equal shares where a bound is met exactly")
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,  # noqa: A002
    max: Any = None,  # noqa: A002
) -> Any:
    """Limit to an interval."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    dtype = getattr(a, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":  # bounds beyond the type are none
        low = None if _whole(low) and low <= np.iinfo(dtype).min else low
        high = None if _whole(high) and high >= np.iinfo(dtype).max else high
    x = as_array(a)
    # The second of equal ones is taken: x keeps the sign of its zeros, as in NumPy.
    x = x if low is None else np.maximum(low, x)
    return x if high is None else np.minimum(high, x)


def _whole(value: Any) -> bool:
    return type(value) is int or isinstance(value, Size)


@composite(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Of several choices, the first whose condition holds."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(
            f"select: {len(condlist)} conditions and {len(choicelist)} choices; "
            "give one condition for each choice, and at least one"
        )
    conditions = as_arrays(condlist)
    for k, condition in enumerate(conditions):
        if condition.dtype != np.bool_:
            raise DTypeError(f"select: condition {k} must be boolean, not {condition.dtype}")
    values = [v if type(v) in {int, float} else as_array(v) for v in (*choicelist, default)]
    dtype = np.result_type(*(getattr(v, "dtype", v) for v in values))
    *choices, result = (as_array(v).astype(dtype) for v in values)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = np.where(condition, choice, result)
    return result

"""NumPy's index expressions, as slices and gathers."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ...errors import IndexingError
from ..base.sizes import (
    Dimension,
    Shape,
    Size,
    as_dim,
    as_expr,
    as_size,
    guard,
    hint,
    require,
    same,
)
from .gathers import GATHER
from .movement import RESHAPE
from .regions import SLICE


def _slice_entry(item: slice, size: Dimension) -> tuple[Any, int, Any]:
    """Return ``(start, step, count)`` of a slice along an axis of ``size``."""
    step = 1 if item.step is None else int(item.step)
    if step == 0:
        raise IndexingError("slice step cannot be zero")
    n = hint(size)
    lo, hi = (0, n) if step > 0 else (-1, n - 1)

    def bound(value: Any, default: Dimension) -> Dimension:
        # Symbolic arithmetic, with a guard for every clamp that the hint decides.
        if value is None:
            return default
        dim = _from_front(as_dim(value), size)
        if hint(dim) < lo:
            require(sp.Lt, dim, lo)
            return lo
        if hint(dim) > hi:
            limit: Dimension = size if step > 0 else as_dim(size - 1)
            require(sp.Gt, dim, limit)
            return limit
        require(sp.Ge, dim, lo)
        require(sp.Le, dim, size if step > 0 else size - 1)
        return dim

    start = bound(item.start, 0 if step > 0 else as_dim(size - 1))
    stop = bound(item.stop, size if step > 0 else -1)
    span = as_dim(stop - start) if step > 0 else as_dim(start - stop)
    if hint(span) <= 0:
        require(sp.Le, span, 0)
        return (0, 1, 0)
    require(sp.Gt, span, 0)
    stride = abs(step)
    count = span if stride == 1 else as_dim(sp.floor(as_expr(span + stride - 1) / stride))
    return (start, step, count)


def _integer_entry(item: Any, size: Dimension, axis: int) -> tuple[Any, int, None]:
    dim = as_dim(item)
    n = hint(size)
    if not -n <= hint(dim) < n:
        raise IndexingError(f"index {dim} is out of bounds for axis {axis} with size {n}")
    place = _from_front(dim, size)
    if place is dim:
        require(sp.Lt, dim, size)
    else:
        require(sp.Ge, place, 0)
    return (place, 1, None)


def _from_front(dim: Dimension, size: Dimension) -> Dimension:
    """Return an index that counts from the front; a guard keeps the sign that it has now."""
    negative = hint(dim) < 0
    if not isinstance(dim, int) and not (dim.is_negative if negative else dim.is_nonnegative):
        guard(sp.Lt(dim, 0, evaluate=False), value_is=negative)
    return as_dim(dim + size) if negative else dim


def _is_integer(item: Any) -> bool:
    return isinstance(item, (int, np.integer, Size)) and not isinstance(item, (bool, np.bool_))


def _is_array(item: Any) -> bool:
    listed = isinstance(item, (list, tuple, range))
    return listed or isinstance(item, (np.ndarray, bool, np.bool_)) or hasattr(item, "node")


def _expand(index: Any, shape: Shape) -> list[Any]:
    """Spell out the Ellipsis and turn boolean masks into integer arrays."""
    items = list(index) if isinstance(index, tuple) else [index]
    for k, item in enumerate(items):
        if isinstance(item, (list, tuple, range)):  # of an index, only lists are told apart
            items[k] = item = np.asarray(item, dtype=None if len(item) else np.int64)
        if _is_mask(item):
            continue
        if isinstance(item, (bool, np.bool_)) or getattr(item, "dtype", None) == np.bool_:
            raise IndexingError(
                "a traced boolean index selects a number of elements that depends on values: "
                "write np.where(mask, x, 0.0), or a sum with the mask as weights; or, where data "
                "alone decide, bind the data by functools.partial(f, data=data) or a closure, and "
                "their numbers are known"
            )
    dots = sum(item is Ellipsis for item in items)
    if dots > 1:
        raise IndexingError("an index can only have a single ellipsis ('...')")
    taken = sum(map(_axes_taken, items))
    if taken > len(shape):
        raise IndexingError(
            f"too many indices: the array is {len(shape)}-dimensional, but {taken} were indexed"
        )
    fill = [slice(None)] * (len(shape) - taken)
    k = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    plain: list[Any] = []
    axis = 0
    for item in items[:k] + fill + items[k + 1 :]:
        if _is_mask(item):
            _check_mask(item.shape, shape[axis : axis + item.ndim], axis)
            plain.extend(np.nonzero(item))
        else:
            plain.append(item)
        axis += _axes_taken(item)
    return plain


def _is_mask(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype == bool and item.ndim > 0


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return int(item.ndim) if _is_mask(item) else 1


def _check_mask(mask: Shape, shape: Shape, axis: int) -> None:
    for k, (given, size) in enumerate(zip(mask, shape, strict=True)):
        if not same(size, given):
            raise IndexingError(
                f"a boolean index must have the size of the axis that it selects from: axis "
                f"{axis + k} has size {hint(size)}, the mask has {given}"
            )


def basic_region(shape: Shape, index: Any) -> tuple[tuple[Any, ...], Shape] | None:
    """Return the region that a basic index selects and the shape of what it selects.

    None if the index has arrays in it.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    if len(items) != len(shape) or not all(type(x) is int or type(x) is slice for x in items):
        if any(_is_array(item) for item in items):
            return None
        items = _expand(index, shape)
    region: list[Any] = []
    selected: list[Any] = []
    for item in items:
        axis = len(region)
        if item is None:
            selected.append(1)
        elif isinstance(item, slice):
            region.append(_slice_entry(item, shape[axis]))
            selected.append(region[-1][2])
        elif _is_integer(item):
            region.append(_integer_entry(item, shape[axis], axis))
        else:
            raise IndexingError(
                f"cannot index with {item!r}: only integers, slices, None, Ellipsis and "
                "integer or boolean arrays are valid"
            )
    return tuple(region), tuple(selected)


def in_region(x: Any, shape: Shape, region: tuple[Any, ...], selected: Shape) -> Any:
    """Return what a basic index selects of a value of a shape: see :func:`basic_region`."""
    if any(entry != (0, 1, n) for entry, n in zip(region, shape, strict=True)):
        x = SLICE(x, region=region)
    if len(selected) > sum(size is not None for _, _, size in region):
        x = RESHAPE(x, shape=selected)
    return x


def getitem(x: Any, index: Any) -> Any:
    """Return ``x[index]`` of a traced value.

    Integers, slices, None, Ellipsis, integer arrays (constant or traced) and constant
    boolean masks, with NumPy's rule for where the axes of index arrays go.
    """
    items = _expand(index, tuple(map(as_dim, x.shape)))
    arrays = [i for i, item in enumerate(items) if item is not None and _is_array(item)]
    shape = tuple(map(as_dim, x.shape))
    region: list[Any] = []
    layout: list[Any] = []  # None for a new axis, else the slot's kind
    axis = 0
    for position, item in enumerate(items):
        if item is None:
            layout.append("new")
            continue
        if isinstance(item, slice):
            region.append(_slice_entry(item, shape[axis]))
            layout.append("slice")
        elif position in arrays:
            region.append((0, 1, shape[axis]))
            layout.append("array")
        elif _is_integer(item):
            if arrays:  # with index arrays an integer is an index array of rank 0
                region.append((0, 1, shape[axis]))
                items[position] = np.asarray(item) if not isinstance(item, Size) else item
                layout.append("array")
                _integer_entry(item, shape[axis], axis)
            else:
                region.append(_integer_entry(item, shape[axis], axis))
                layout.append("drop")
        else:
            raise IndexingError(
                f"cannot index with {item!r}: only integers, slices, None, Ellipsis and "
                "integer or boolean arrays are valid"
            )
        axis += 1
    if any(entry != (0, 1, n) for entry, n in zip(region, shape, strict=True)):
        x = SLICE(x, region=tuple(region))
    if arrays:
        return _advanced(x, items, layout)
    if "new" in layout:
        sizes = iter(x.shape)
        x = RESHAPE(x, shape=tuple(
            1 if kind == "new" else next(sizes) for kind in layout if kind != "drop"
        ))  # fmt: skip
    return x


def _advanced(x: Any, items: list[Any], layout: list[Any]) -> Any:
    if "new" in layout:
        sizes = iter(x.shape)
        x = RESHAPE(x, shape=tuple(1 if kind == "new" else next(sizes) for kind in layout))
    axes = tuple(k for k, kind in enumerate(layout) if kind == "array")
    indices = [in_range(items[k], x.shape[k], k) for k in axes]
    adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    return gather(x, indices, axes, axes[0] if adjacent else 0)


def gather(x: Any, indices: list[Any], axes: tuple[int, ...], at: int) -> Any:
    """Gather with indices of different shapes, which are broadcast together first."""
    if len(indices) > 1:
        total: Any = 0
        for index in indices:
            total = total + index  # only its shape is used
        shape = total.shape
        indices = [i if np.ndim(i) == len(shape) and tuple(i.shape) == tuple(shape)
                   else np.broadcast_to(i, shape) for i in indices]  # fmt: skip
    return GATHER(x, *indices, axes=axes, at=at)


def in_range(item: Any, size: int | Size, axis: int) -> Any:
    """Return index values counted from the front; constants are checked now."""
    dim = as_dim(size)
    if isinstance(item, Size):
        return np.asarray(int(item))
    if not isinstance(item, np.ndarray):
        if item.dtype.kind not in "iu":
            raise IndexingError(f"index arrays must be of integer type, not {item.dtype}")
        item = item.astype(np.int64)
        item = item.astype(np.int64)
        return np.where(item < 0, item + size, item)
    if item.dtype.kind not in "iu":
        raise IndexingError(f"index arrays must be of integer type, not {item.dtype}")
    item = item.astype(np.int64)
    if item.size == 0:
        return item
    low, high, n = int(item.min()), int(item.max()), hint(dim)
    if low < -n or high >= n:
        bad = low if low < -n else high
        raise IndexingError(f"index {bad} is out of bounds for axis {axis} with size {n}")
    if not isinstance(dim, int):
        require(sp.Gt, dim, high)
    if low >= 0:
        return item
    if not isinstance(dim, int):
        require(sp.Ge, dim, -low)
    return np.where(item < 0, item + as_size(dim), item)


__all__ = ["basic_region", "gather", "getitem", "in_range"]

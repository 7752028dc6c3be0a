"""NumPy's functions that put arrays together and take them apart."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError, ShapeError
from ..base.broadcast import normalize_axis, show
from ..base.sizes import dim_product, same
from ..op import composite
from .np_common import (
    as_array,
    as_arrays,
    common_type,
    declared,
    dims,
    part,
    reshaped,
    section,
)
from .regions import ASSEMBLE, whole

Region = tuple[tuple[Any, int, Any], ...]


def _parts(arrays: Any, dtype: Any, casting: str) -> list[Any]:
    """Return the arrays to put together, all of one element type."""
    parts = as_arrays(arrays)
    if not parts:
        raise ShapeError("need at least one array to put together")
    if dtype is None:
        return common_type(parts)
    for p in parts:
        if not np.can_cast(p.dtype, dtype, casting):
            raise DTypeError(f"cannot convert {p.dtype} to {np.dtype(dtype)} with {casting=}")
    return [p.astype(np.dtype(dtype)) for p in parts]


def _assemble(parts: list[Any], shape: tuple[Any, ...], regions: list[Region]) -> Any:
    return ASSEMBLE(*parts, shape=shape, regions=tuple(regions), disjoint=True)


# ---------------------------------------------------------------- concatenate and stack


@composite(*declared("concatenate", "concat"))
def concatenate(
    arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Put arrays one behind the other along an axis."""
    parts = _parts(arrays, dtype, casting)
    if axis is None:
        parts, axis = [reshaped(p, (dim_product(dims(p)),)) for p in parts], 0
    rank = parts[0].ndim
    if rank == 0:
        raise ShapeError("zero-dimensional arrays cannot be concatenated; use np.stack")
    axis = normalize_axis(axis, rank)
    head = dims(parts[0])
    for p in parts[1:]:
        fits = p.ndim == rank and all(
            same(a, b) for k, (a, b) in enumerate(zip(head, dims(p), strict=True)) if k != axis
        )
        if not fits:
            raise ShapeError(
                f"all sizes but that of axis {axis} must agree to concatenate: "
                + ", ".join(show(dims(p)) for p in parts)
            )
    if len(parts) == 1:
        return parts[0]
    total: Any = 0
    regions = []
    for p in parts:
        entries = [whole(d) for d in head]
        entries[axis] = (total, 1, p.shape[axis])
        regions.append(tuple(entries))
        total = total + p.shape[axis]
    return _assemble(parts, (*head[:axis], total, *head[axis + 1 :]), regions)


@composite(np.stack)
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Put arrays of one shape side by side along a new axis."""
    parts = _parts(arrays, dtype, casting)
    head = dims(parts[0])
    axis = normalize_axis(axis, len(head) + 1)
    for p in parts[1:]:
        if p.ndim != len(head) or not all(map(same, dims(p), head)):
            raise ShapeError(
                f"all arrays to stack must have one shape: {show(head)} and {show(dims(p))}"
            )
    before, after = [whole(d) for d in head[:axis]], [whole(d) for d in head[axis:]]
    regions = [(*before, (k, 1, None), *after) for k in range(len(parts))]
    return _assemble(parts, (*head[:axis], len(parts), *head[axis:]), regions)


@composite(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Put arrays side by side: along the second axis, vectors along the first."""
    parts = [np.atleast_1d(p) for p in _parts(tup, dtype, casting)]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@composite(*declared("vstack", "row_stack"))
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Put arrays on top of each other along the first axis; vectors become rows."""
    return concatenate([np.atleast_2d(p) for p in _parts(tup, dtype, casting)])


@composite(np.dstack)
def dstack(tup: Any) -> Any:
    """Put arrays behind each other along the third axis."""
    return concatenate([np.atleast_3d(p) for p in as_arrays(tup)], 2)


@composite(np.column_stack)
def column_stack(tup: Any) -> Any:
    """Put arrays side by side; vectors become columns."""
    parts = as_arrays(tup)
    return concatenate([p if p.ndim > 1 else np.atleast_2d(p).T for p in parts], 1)


@composite(np.block)
def block(arrays: Any) -> Any:
    """Put nested lists of blocks together: the innermost lists along the last axis."""
    depth, ranks = _nesting(arrays)
    rank = max(depth, *ranks)

    def joined(level: Any, axis: int) -> Any:
        if not isinstance(level, list):
            x = as_array(level)
            return reshaped(x, (*(1,) * (rank - x.ndim), *x.shape))
        return concatenate([joined(inner, axis + 1) for inner in level], axis)

    return joined(arrays, -depth)


def _nesting(level: Any) -> tuple[int, list[int]]:
    if not isinstance(level, list):
        return 0, [as_array(level).ndim]
    inner = [_nesting(x) for x in level]
    if not inner or len({depth for depth, _ in inner}) > 1:
        raise ShapeError("block: list depths differ or a list is empty")
    return inner[0][0] + 1, [rank for _, ranks in inner for rank in ranks]


@composite(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Put values behind an array; both as vectors if no axis is given."""
    return concatenate((arr, values), axis)


# ---------------------------------------------------------------- split


@composite(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split into parts; sections may differ by one in length."""
    x = as_array(ary)
    axis = normalize_axis(axis, x.ndim)
    n, cuts = x.shape[axis], indices_or_sections
    if isinstance(cuts, (list, tuple, np.ndarray)):
        edges = [0, *cuts, n]
        return [section(x, axis, a, b) for a, b in itertools.pairwise(edges)]
    sections = operator.index(cuts)
    if sections <= 0:
        raise ArgumentError("the number of sections must be larger than 0")
    each, longer = n // sections, int(n % sections)
    counts = [each + 1] * longer + [each] * (sections - longer)
    starts = (each * k + min(k, longer) for k in range(sections))
    return [part(x, axis, start, count) for start, count in zip(starts, counts, strict=True)]


@composite(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split into parts of equal length, or at the given places."""
    x, cuts = as_array(ary), indices_or_sections
    axis = normalize_axis(axis, x.ndim)
    if not isinstance(cuts, (list, tuple, np.ndarray)) and x.shape[axis] % cuts != 0:
        raise ShapeError(
            f"axis {axis} of shape {show(dims(x))} does not split into {cuts} equal parts"
        )
    return array_split(x, cuts, axis)


@composite(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split along the second axis, a vector along the first."""
    x = as_array(ary)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def _require_axes(x: Any, least: int, name: str) -> None:
    if as_array(x).ndim < least:
        raise ShapeError(f"{name} takes arrays of {least} axes or more")


@composite(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split along the first axis."""
    _require_axes(ary, 2, "vsplit")
    return split(ary, indices_or_sections, 0)


@composite(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split along the third axis."""
    _require_axes(ary, 3, "dsplit")
    return split(ary, indices_or_sections, 2)


@composite(*declared("unstack"))
def unstack(x: Any, *, axis: int = 0) -> Any:
    """The sub-arrays along an axis."""
    x = np.moveaxis(as_array(x), axis, 0)
    return tuple(x[k] for k in range(int(x.shape[0])))

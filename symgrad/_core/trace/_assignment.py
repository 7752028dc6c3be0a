"""What is assigned, and at which places: values that fit, indices with arrays, masks.

What numbers and slices index are regions, which are kept in a list (``_writes``). Places of an
array of places, or of a mask, are numbered, and of those that come more than once the last value
stays, as in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DTypeError, IndexingError, ShapeError, TraceError
from ..base.broadcast import broadcast, show
from ..base.sizes import Shape, Size, as_dim, dim_product, same
from ..graph import Iota, Node
from ..op import registry
from ..ops.gathers import GATHER
from ..ops.indexing import getitem, in_range
from ..ops.np_common import as_array, is_traced
from ..ops.updates import PUT, WRITER
from ._bind import as_node, bind_nodes, cast, require_bounds
from ._decisions import decided_mask

_OPS = registry.ops
_RESHAPE = _OPS["Reshape"]


def require_real(value: Any) -> None:
    """Refuse what an array of real numbers, which is assigned to, does not hold."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "c" or isinstance(value, complex):
        raise DTypeError(
            "a complex value is assigned to an array of real numbers, which would drop its "
            "imaginary part. Write instead: np.zeros(shape, dtype=complex) for the array, or "
            "take z.real or np.abs(z)"
        )


def fitted(value: Any, shape: Shape, dtype: np.dtype[Any]) -> Node:
    """Return what is assigned as a node of the shape and type of what it is assigned to."""
    if isinstance(value, (list, tuple)):
        value = as_array(value, dtype)
    require_real(value)
    require_bounds(value, dtype, "an assignment")
    node = cast(as_node(value), dtype)
    while node.ndim > len(shape) and node.shape[0] == 1:
        node = bind_nodes(_RESHAPE, (node,), {"shape": node.shape[1:]})
    if node.shape == shape:
        return node
    try:
        fits = node.ndim <= len(shape) and all(map(same, broadcast(node.shape, shape), shape))
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"could not broadcast a value of shape {show(node.shape)} into an assignment of "
            f"shape {show(shape)}"
        )
    if node.ndim == len(shape) and all(map(same, node.shape, shape)):
        return bind_nodes(_RESHAPE, (node,), {"shape": shape})
    return bind_nodes(_OPS["Broadcast"], (node,), {"shape": shape})


_BESIDE = (
    "assignment by a traced mask beside other indices is not followed. Write instead: "
    "np.where(mask, value, x) for the part, then x[part] = ..."
)
_IN_A_ROW = (
    "as many values as a traced mask has places cannot be told apart: assign a number, or what "
    "was read by the same mask (x[mask] = f(x[mask])), not by another. Write instead: "
    "np.where(mask, values, x) with values for all places"
)


def decided_index(index: Any) -> Any:
    """Return an index with its traced masks as they are in the example call, None if not known."""
    if isinstance(index, tuple):
        found = [decided_index(k) for k in index]
        lacks = any(a is None and b is not None for a, b in zip(found, index, strict=True))
        return None if lacks else tuple(found)
    return decided_mask(index) if is_traced_mask(index) else index


def goes_along(value: Any, mask: Any, behind: int) -> bool:
    """Tell whether a value is for all places of a mask, or has one for each."""
    if hasattr(value, "__symgrad_masked__"):
        return bool(value.mask.node is mask.node)
    return bool(getattr(value, "ndim", np.ndim(value)) <= behind)


def replaced(x: Any, index: Any, value: Any) -> Any:
    """Return ``x`` with ``value`` at the places of an index with arrays in it.

    Of places that come more than once the last value stays, as in NumPy.
    """
    items = index if isinstance(index, tuple) else (index,)
    masks = [k for k in items if is_traced_mask(k)]
    if masks:
        value = as_array(value) if isinstance(value, (list, tuple)) else value
        before = _whole_axes(x, items)
        if before is not None and goes_along(value, masks[0], x.ndim - masks[0].ndim - before):
            return chosen(x, masks[0], value, before)
        index = decided_index(index)
        if index is None:
            raise TraceError(_IN_A_ROW if before is not None else _BESIDE)
        if hasattr(value, "__symgrad_masked__"):
            value = value.in_a_row("x[...] = y[mask]", "np.where(mask, ..., ...)")
    computed = _single_places(x, index)
    if computed is not None:
        axes, indices = computed
        rest = tuple(d for k, d in enumerate(x.node.shape) if k not in axes)
        given = type(x)(fitted(value, rest, x.dtype))
        return PUT(given, x, *indices, axes=axes, at=0, shape=x.node.shape)
    count = dim_product(x.node.shape)
    places = places_of(x, index)
    given = fitted(value, tuple(map(as_dim, places.shape)), x.dtype)
    if 0 in given.shape:
        return x
    flat = np.reshape(type(x)(given), (-1,))
    positions = np.reshape(places, (-1,))
    number = numbered(positions) + 1
    last = WRITER(number, positions, axes=(0,), shape=(count,))
    taken = GATHER(flat, np.maximum(last - 1, 0), axes=(0,), at=0)
    return np.reshape(np.where(last > 0, taken, np.reshape(x, (-1,))), x.shape)


def _whole_axes(x: Any, items: tuple[Any, ...]) -> int | None:
    """Return how many axes come before an index's mask; None unless it has whole axes besides."""
    at = next(k for k, item in enumerate(items) if is_traced_mask(item))
    others = [*items[:at], *items[at + 1 :]]
    if not all(k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in others):
        return None
    left = x.ndim - items[at].ndim - sum(k is not Ellipsis for k in others)
    return at + (left - 1 if any(k is Ellipsis for k in items[:at]) else 0)


def _single_places(x: Any, index: Any) -> tuple[tuple[int, ...], list[Any]] | None:
    """Return the axes, and the traced place on each, of an index of places and whole axes."""
    items = index if isinstance(index, tuple) else (index,)
    whole = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(whole) == 1:
        fill = [slice(None)] * (x.ndim - len(items) + 1)
        items = (*items[: whole[0]], *fill, *items[whole[0] + 1 :])
    if len(items) > x.ndim:
        return None
    axes, places = [], []
    for k, item in enumerate(items):
        if isinstance(item, slice) and item == slice(None):
            continue
        single = is_traced(item) and not item.shape and item.dtype.kind in "iu"
        if not single and not isinstance(item, (int, np.integer, Size)):
            return None
        number = item if single else np.asarray(int(item))
        axes.append(k)
        places.append(type(x)(as_node(in_range(number, x.shape[k], k), np.int64)))
    return tuple(axes), places


def numbered(x: Any) -> Any:
    """Return the numbers of the elements of ``x`` in C order, in its shape."""
    return np.reshape(type(x)(Iota(dim_product(x.node.shape))), x.shape)


def places_of(x: Any, index: Any) -> Any:
    """Return the numbers of the elements of ``x`` at an index, to scatter to.

    The number at a place of a vector is the place, which the scatter looks at like the gather.
    """
    places = getitem(numbered(x), index)
    node = as_node(places)
    if node.op is GATHER and isinstance(node.operands[0], Iota):
        return type(x)(cast(node.operands[1], places.dtype))
    return places


def added(x: Any, index: Any, value: Any) -> Any:
    """Return ``x`` with values added at an index, as often as a place comes."""
    places = places_of(x, index)
    given = fitted(value, tuple(map(as_dim, places.shape)), x.dtype)
    total = _OPS["Scatter"](
        np.reshape(type(x)(given), (-1,)), np.reshape(places, (-1,)),
        axes=(0,), at=0, shape=(dim_product(x.node.shape),),
    )  # fmt: skip
    return x + np.reshape(total, x.shape)


def is_traced_mask(item: Any) -> bool:
    """Tell whether an index is one traced mask."""
    return is_traced(item) and item.dtype == np.bool_


def require_fit(x: Any, mask: Any, before: int = 0) -> None:
    """Raise IndexingError where a mask has other lengths than the axes that it is for."""
    whole = getattr(x, "node", None) or x.real.node  # complex values have two
    axes = whole.shape[before : before + mask.ndim]
    if len(axes) != mask.ndim or not all(map(same, mask.node.shape, axes)):
        raise IndexingError(
            f"the mask has shape {show(mask.node.shape)}, and the axes that it is for have "
            f"{show(axes)}"
        )


def chosen(x: Any, mask: Any, value: Any, before: int = 0) -> Any:
    """Return ``x`` with ``value`` where a traced mask holds, of the axes behind so many."""
    behind = x.ndim - mask.ndim - before
    require_fit(x, mask, before)
    if hasattr(value, "__symgrad_masked__"):
        value = value.values
    wide = np.reshape(mask, (*(1,) * before, *mask.shape, *(1,) * behind))
    node = fitted(value, x.node.shape, x.dtype)
    return np.where(wide, type(x)(node), x)


def require_kind(old: np.dtype[Any], new: np.dtype[Any], sign: str) -> None:
    """Raise where ``x += v`` would lose the kind of the numbers, as NumPy does."""
    if not np.can_cast(new, old, "same_kind"):
        raise DTypeError(
            f"`{sign}=` of an array of {old} with a result of {new}: the array keeps its type. "
            f"Write instead: x = x {sign} ..., or make the array with dtype=float"
        )

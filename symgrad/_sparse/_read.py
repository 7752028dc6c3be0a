"""An array read at the rows of a block, and the conditions that positions must fulfil."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.base.sizes import Dimension, Shape, as_size, dim_product
from .._core.graph import Node
from .._core.ops import BROADCAST, RESHAPE, SLICE, TRANSPOSE
from .._core.ops.gathers import GATHER
from .._core.ops.movement import is_single
from .._core.trace import as_node
from ._block import Block
from ._index import Index, dim, traced


def read(node: Node, places: Sequence[Index], lanes: Shape) -> Node:
    """Return ``node[places]`` as an array over the lanes, or of shape () if it is one number.

    Axes of length 1 repeat. Whatever can be is read by slices, the rest by a gather.
    """
    if not node.shape:
        return node
    node, places = _unravelled(node, places, lanes)
    computed = _computed(node, places)
    region: list[Any] = []
    kept: list[int] = []  # the lanes of the axes that are left, computed ones by -1
    indices: list[Index] = []
    axes: list[int] = []
    for axis, (i, size) in enumerate(zip(places, node.shape, strict=True)):
        if is_single(size):
            region.append((0, 1, None))
        elif i.fixed:
            region.append((i.start, 1, None))
        elif axis in computed:
            region.append((0, 1, size))
            axes.append(len(kept))
            kept.append(-1)
            indices.append(i)
        else:
            only = i.only
            assert only is not None
            region.append((i.start, only[1], lanes[only[0]]))
            kept.append(only[0])
    x = traced(node)
    if any(entry != (0, 1, size) for entry, size in zip(region, node.shape, strict=True)):
        x = SLICE(x, region=tuple(region))
    order = [lane for lane in kept if lane >= 0]
    if indices:
        inner = sorted(set().union(*(i.lanes for i in indices)))
        shape = tuple(lanes[k] for k in inner)
        at = [_over(i.node(lanes), inner, shape) for i in indices]
        x = GATHER(x, *at, axes=tuple(axes), at=0)
        order = [*inner, *order]
    if not order:
        return as_node(x)
    if order != sorted(order):
        x = TRANSPOSE(x, axes=tuple(int(k) for k in np.argsort(order)))
    full = tuple(size if k in order else 1 for k, size in enumerate(lanes))
    return as_node(x if x.node.shape == full else RESHAPE(x, shape=full))


def _over(index: Node, inner: Sequence[int], shape: Shape) -> Any:
    """Return positions over all lanes as positions over those on which they depend."""
    if index.shape:
        index = as_node(RESHAPE(traced(index), shape=tuple(index.shape[k] for k in inner)))
    return BROADCAST(traced(index), shape=shape) if index.shape != shape else traced(index)


def _computed(node: Node, places: Sequence[Index]) -> set[int]:
    """Return the axes whose positions no slice has."""
    axes = [k for k, size in enumerate(node.shape) if not is_single(size) and not places[k].fixed]
    uses = Counter(lane for k in axes for lane in places[k].lanes)
    return {k for k in axes if places[k].only is None or any(uses[j] > 1 for j in places[k].lanes)}


def _unravelled(node: Node, places: Sequence[Index], lanes: Shape) -> tuple[Node, Sequence[Index]]:
    """Return the array with an axis for each lane where a position runs through several in order.

    That is how it is with arrays that have been ravelled.
    """
    shape: list[Any] = []
    region: list[Any] = []
    new: list[Index] = []
    for i, size in zip(places, node.shape, strict=True):
        order = None if is_single(size) or len(i.steps) < 2 else ravelled(i, lanes)
        if order is None:
            region.append((0, 1, size))
            shape.append(size)
            new.append(i)
        else:
            sizes = tuple(lanes[k] for k in order)
            region.append((i.start, 1, dim(dim_product(sizes))))
            shape += sizes
            new += [Index.lane(k) for k in order]
    if len(shape) == node.ndim:
        return node, places
    x = traced(node)
    if any(entry != (0, 1, size) for entry, size in zip(region, node.shape, strict=True)):
        x = SLICE(x, region=tuple(region))
    return as_node(RESHAPE(x, shape=tuple(shape))), new


def ravelled(index: Index, lanes: Shape) -> list[int] | None:
    """Return the lanes through which a position runs in C order, leaving nothing out."""
    if index.rest is not None:
        return None
    left, stride = dict(index.steps), 1
    order: list[int] = []
    while left:
        found = next((k for k, step in left.items() if step == stride), None)
        if found is None:
            return None
        del left[found]
        order.insert(0, found)
        stride = dim(stride * lanes[found])
    return order


# ---------------------------------------------------------------- conditions


def equal(block: Block, row: int, place: Index) -> Block | None:
    """Return the part of a block where a row is at a place; None if there is none."""
    difference = block.rows[row] - place
    if difference.fixed:
        return block if as_size(difference.start) == 0 else None
    only = difference.only
    if only is not None and abs(only[1]) == 1:
        lane, step = only
        at = dim(difference.start * -step)
        return block.at(lane, at) if 0 <= as_size(at) < as_size(block.lanes[lane]) else None
    return block.masked(as_node(traced(difference.node(block.lanes)) == 0))


def inside(block: Block, row: int, size: Dimension) -> Block | None:
    """Return the part of a block where a row lies in ``0, ..., size - 1``; None if none does."""
    index, limit = block.rows[row], as_size(size)
    if index.fixed:
        return block if 0 <= as_size(index.start) < limit else None
    only = index.only
    if only is not None:
        lane, step = only
        start, length = as_size(index.start), as_size(block.lanes[lane])
        if step > 0:
            low, high = -(start // step), -((start - limit) // step)
        else:
            low, high = (start - limit) // -step + 1, start // -step + 1
        low, high = max(0, low), min(length, high)
        if not high > low:
            return None
        count = dim(high - low)
        whole = isinstance(low, int) and low == 0 and count == block.lanes[lane]
        return block if whole else block.narrowed(lane, dim(low), 1, count)
    least, greatest = _bounds(index, block.lanes)
    if least is not None and as_size(least) >= 0 and as_size(greatest) < limit:
        return block
    node = traced(index.node(block.lanes))
    valid = (node >= 0) & (node < limit)
    safe = Index(rest=as_node(np.where(valid, node, 0)))
    return block.masked(as_node(valid)).with_row(row, safe)


def _bounds(index: Index, lanes: Shape) -> tuple[Any, Any]:
    """Return the least and the greatest value of a position, if it is linear."""
    if index.rest is not None:
        return None, None
    low = high = index.start
    for lane, step in index.steps:
        last = step * (lanes[lane] - 1)
        if as_size(dim(step)) > 0:
            high = high + last
        else:
            low = low + last
    return dim(low), dim(high)


def divided(block: Block, row: int, step: int) -> Block | None:
    """Return the part of a block where a row is divisible, with the quotient; None if none is."""
    index = block.rows[row]
    if step < 0:
        index, step = index * -1, -step
    if step == 1:
        return block.with_row(row, index)
    if index.rest is None and all(isinstance(s, int) and s % step == 0 for _, s in index.steps):
        if as_size(index.start) % step != 0:
            return None
        start = dim(as_size(index.start) // step)
        return block.with_row(row, Index(start, tuple((k, s // step) for k, s in index.steps)))
    only = index.only
    if only is not None and abs(only[1]) == 1:
        lane, by = only
        first = int(-by * as_size(index.start) % step)
        length = as_size(block.lanes[lane])
        if not first < length:
            return None
        start = dim(as_size(dim(index.start + by * first)) // step)
        block = block.with_row(row, Index(0, ((lane, by),)))  # carries the lane along
        block = block.narrowed(lane, first, step, dim((length - first + step - 1) // step))
        steps = tuple((k, s // step) for k, s in block.rows[row].steps)
        return block.with_row(row, Index(start, steps))
    node = traced(index.node(block.lanes))
    there = as_node(node % step == 0)
    return block.masked(there).with_row(row, Index(rest=as_node(node // step)))

"""Which of an array's blocks a view reads from: those whose rows meet its places.

An assembly of n parts has n blocks, and each of n slices of it reads from a few.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from .._core.graph import Node
from .._core.op import ArrayOp
from ._block import Block
from ._views import Read, places_of


class Spans:
    """Blocks by the first and the last of their rows along one axis."""

    def __init__(self, blocks: Sequence[Block], axis: int) -> None:
        self.blocks = blocks
        ends = [_ends(block, axis) for block in blocks]
        self._others = [k for k, end in enumerate(ends) if end is None]
        known = sorted((*end, k) for k, end in enumerate(ends) if end is not None)
        self._starts = [start for start, _, _ in known]
        self._known = [(stop, k) for _, stop, k in known]
        self._reach = [*itertools.accumulate((stop for stop, _ in self._known), max)]

    def meeting(self, low: int, high: int) -> list[Block]:
        """Return the blocks that may have a row in ``low, ..., high``, in their order."""
        begin, end = bisect_left(self._reach, low), bisect_right(self._starts, high)
        met = [k for stop, k in self._known[begin:end] if stop >= low]
        return [self.blocks[k] for k in sorted(met + self._others)]


def _ends(block: Block, axis: int) -> tuple[int, int] | None:
    """Return the first and the last row; None if they are not numbers, or rows have gaps."""
    index = block.rows[axis]
    if not isinstance(index.start, int):
        return None
    if index.fixed:
        return index.start, index.start
    if index.only is None or abs(index.only[1]) != 1:
        return None
    lane, step = index.only
    length = block.lanes[lane]
    if not isinstance(length, int) or length < 1:
        return None
    last = index.start + step * (length - 1)
    return min(index.start, last), max(index.start, last)


def range_read(node: Node) -> tuple[int, int, int] | None:
    """Return an axis along which a view reads a part of its operand, with the ends of the part."""
    op, [x, *_] = node.op, node.operands
    if op.kind != "view" or op.alias:
        return None
    assert isinstance(op, ArrayOp)
    places, symbols = places_of(node)
    for axis, place in enumerate(places):
        size = x.shape[axis]
        if isinstance(place, Read) or not isinstance(size, int) or size < 2:
            continue
        start, symbol, step = place
        count = 1 if symbol is None else node.shape[symbols.index(symbol)]
        if isinstance(start, int) and isinstance(count, int) and 0 < count < size:
            ends = start, start + step * (count - 1)
            return axis, min(ends), max(ends)
    return None

"""Cutting the outer loop of a nest into chunks, which threads may run side by side.

Whether a nest is cut, the number of chunks and their borders follow from the sizes alone. One
thread runs the same chunks as many do, one after the other, and what chunks have in common is
combined in their order: results are equal to the last bit for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..base.sizes import as_expr, dim_product
from ..base.switches import is_on
from ..graph import Node
from ..op import Placing
from ..ops.movement import is_single
from ._fold import Reduction, describe, folded_from
from ._loops import BLOCK, index_over
from ._plan import Nest, Store, weight

#: Work of a chunk at least, in additions: about 50 us of one core. A nest is cut from twice as
#: much on.
CHUNK = 1 << 19

#: Most chunks of a nest: enough for as many threads, and for them to end together.
CHUNKS = 64

#: Work of reading or writing an array, for each element.
TRAFFIC = 4

#: Fewest rows of a chunk where each has a copy of a result to sum into, and where chunks write
#: to their neighbours' rows.
ROWS = 16


@dataclass(frozen=True)
class Cut:
    """How a nest may be cut.

    Attributes
    ----------
    axis:
        The axis of the outer loop.
    rows:
        Borders are multiples of this many steps of the loop.
    folds:
        The reductions over the cut axis: of each chunk there is a part.
    coloured:
        Whether chunks add to elements at their neighbours' borders, so that those of odd
        number run after those of even number.
    """

    axis: int
    rows: int
    folds: tuple[Reduction, ...]
    coloured: bool


def cut_of(nest: Nest) -> Cut | None:
    """Return how to cut a nest; None if it is small, or its steps must run in order."""
    loops = [k for k, extent in enumerate(nest.domain) if not is_single(extent)]
    if not loops or _is_small(nest) or not is_on("chunks"):
        return None
    axis = loops[0]
    folds = tuple(r for r in map(describe, nest.reductions) if axis in r.axes)
    if any(r.place for r in folds):
        return None
    shift = _shift(nest, axis)
    if shift is None or shift > ROWS:
        return None
    in_memory = any(folded_from(r, nest.domain) is None for r in folds)
    rows = 4 * BLOCK if len(loops) == 1 else ROWS if in_memory or shift else 1
    return Cut(axis, rows, folds, shift > 0)


def cost_of(nest: Nest, arrays: int) -> int:
    """Return the work for one element of a nest that reads and writes so many arrays."""
    return sum(map(weight, nest.nodes)) + len(nest.reductions) + TRAFFIC * arrays


def _is_small(nest: Nest) -> bool:
    count = as_expr(dim_product(nest.domain))
    return bool(count.is_Integer) and int(count) * cost_of(nest, len(nest.stores) + 4) < 2 * CHUNK


# ---------------------------------------------------------------- who writes where


class _Computed:
    """Stands for an operand whose elements are places: each is a symbol of its own."""

    def __init__(self, node: Node) -> None:
        self.shape = node.shape

    def __getitem__(self, index: Any) -> Any:
        return sp.Dummy("place", integer=True)


def _shift(nest: Nest, axis: int) -> int | None:
    """Return how far apart the rows are that one step adds to; None if it cannot be told.

    With 0 no two steps of the outer loop write to the same element.
    """
    index = index_over(nest.domain)
    targets: dict[Node, list[Store]] = {}
    for store in nest.stores:
        if store.part is not None:
            targets.setdefault(store.target, []).append(store)
    shifts = [_apart(target, stores, index, axis) for target, stores in targets.items()]
    return None if None in shifts else max((s for s in shifts if s is not None), default=0)


def _apart(target: Node, stores: list[Store], index: tuple[Any, ...], axis: int) -> int | None:
    op = target.op
    assert isinstance(op, Placing)
    if op.kind == "assemble" and (len(stores) == 1 or target.params.get("disjoint", False)):
        return 0  # a part's elements go to different places
    if op.kind == "scatter" and all(op.alone(s.part or 0, target.params) for s in stores):
        return 0
    operands = [_Computed(x) for x in target.operands]
    places = [op.place(s.part, index, operands, **target.params) for s in stores]
    found = [
        max(starts) - min(starts)
        for coordinates in zip(*places, strict=True)
        if (starts := _starts(coordinates, index[axis])) is not None
    ]
    if not found or (op.last and min(found)):
        return None
    return min(found)


def _starts(coordinates: tuple[Any, ...], loop: Any) -> list[int] | None:
    """Return the constants ``c`` of coordinates of the form ``loop + c``, or None."""
    starts = [as_expr(c) - loop for c in coordinates]
    return [int(s) for s in starts] if all(s.is_Integer for s in starts) else None

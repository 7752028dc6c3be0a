"""What becomes of a block behind an op: a rule for each kind.

A rule takes the node, the number of an operand and a block of that operand, and returns the
blocks of the node, or None where lanes do not lead on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._core.base.sizes import Shape
from .._core.graph import Literal, Node
from .._core.op import Linear, Placing
from .._core.ops.movement import is_single
from .._core.trace import as_node, cast, partials
from .._core.transforms.guards import Guard, Guarded, conditions, narrowed
from .._core.transforms.reverse import pull, scale
from .._core.transforms.support import Support
from ._block import Block
from ._index import traced
from ._read import equal, read
from ._views import Found, moved
from ._zero_parts import at_rows, over_lanes, placed_rows


def scaled(block: Block, slope: Any, guard: Guard) -> list[Block]:
    """Return a block with its value times a slope at its rows, under a condition there.

    ``slope`` is a number or an array over the rows, as are the conditions.
    """
    if slope is None or (isinstance(slope, (int, float)) and slope == 0):
        return []
    if isinstance(slope, (int, float)):
        found = [_scaled(block, slope, guard)]
    else:
        found = [_scaled(part, traced(x), guard) for part, x in at_rows(block, as_node(slope))]
    return [part for part in found if part is not None]


def _scaled(block: Block, slope: Any, guard: Guard) -> Block | None:
    """Return a block with its value times a number, or times an array over its lanes."""
    own = tuple((over_lanes(node, block), truth) for node, truth in guard)
    guards = narrowed(block.slope.guard, own)
    if guards is None:
        return None
    value, before, clean = block.slope
    exact = isinstance(slope, (int, float)) and abs(slope) == 1
    if not exact:
        slope = traced(cast(as_node(slope), value.dtype))
        if is_zero(slope.node):
            return None
    product = as_node(scale(traced(value), slope))
    clean = clean and exact and len(guards) == len(before)
    return block.within(Guarded(product, guards, clean or not guards))


def is_zero(node: Node) -> bool:
    """Tell whether a node is zeros by its form."""
    while node.op.kind in ("view", "gather"):
        node = node.operands[0]
    return isinstance(node, Literal) and node.value == 0


# ---------------------------------------------------------------- maps


class Slopes(NamedTuple):
    """The derivatives of a map by its operands, and the conditions under which they count."""

    node: Node
    partials: Sequence[Any]
    conditions: Sequence[Guard]

    @classmethod
    def of(cls, node: Node, support: Support) -> Slopes:
        """Return those of a node: they are the same for all of its operands' blocks."""
        y, xs = traced(node), [traced(x) for x in node.operands]
        guards = conditions(node.op, y, xs, node.params, support.selects)
        return cls(node, partials(node.op, y, xs, node.params), guards)


def mapped(node: Node, k: int, block: Block, support: Support, slopes: Slopes) -> Found:
    """Each element of the operand reaches one of the result, with the rule's derivative."""
    slope, guard = slopes.partials[k], slopes.conditions[k]
    where = support.of_constant(slope)
    if where is not None and not isinstance(block.value, Literal):
        guard = (*guard, (where, True))
    return elementwise(node, node.operands[k].shape, block, slope, guard)


def elementwise(node: Node, shape: Shape, block: Block, slope: Any, guard: Guard) -> Found:
    """Return the blocks behind a map whose operand, of this shape, has a slope."""
    wide = broadcast(block, shape, node.shape)
    return scaled(wide, slope, guard)


def broadcast(block: Block, shape: Shape, wanted: Shape) -> Block:
    """Return the block behind the broadcast of its node from one shape to another."""
    if shape == wanted:
        return block
    lead = len(wanted) - len(shape)
    new = [k for k, size in enumerate(wanted)
           if k < lead or (is_single(shape[k - lead]) and not is_single(size))]  # fmt: skip
    block, places = block.extended([wanted[k] for k in new])
    repeated = dict(zip(new, places, strict=True))
    rows = [repeated[k] if k in repeated else block.rows[k - lead] for k in range(len(wanted))]
    return replace(block, rows=tuple(rows))


# ---------------------------------------------------------------- assemblies and scatters


def placed(node: Node, k: int, block: Block) -> Found:
    """Elements go to known places of the result, where later ones may be written over them."""
    op = node.op
    assert isinstance(op, Placing)

    if op.over and k == 1:
        rows = block.rows
    elif op.over and k > 1:
        return []
    else:
        rows = placed_rows(node, k, block)
    block = replace(block, rows=rows)
    if not op.last or not _may_be_lost(node, k):
        return [block]
    linear = op.linear
    if linear is None:
        return []
    # What is left of ones under zeros that are written over them.
    number = len(node.operands)
    marks = [
        np.ones_like(traced(x)) if j == k else np.zeros_like(traced(x))
        if j in linear.places(number) else traced(x)
        for j, x in enumerate(node.operands)
    ]  # fmt: skip
    kept = as_node(op(*marks, **node.params) != 0)
    return [block.masked(read(kept, rows, block.lanes))]


def _may_be_lost(node: Node, k: int) -> bool:
    """Tell whether what operand ``k`` has written may be written over."""
    return k == 1 if node.op.over else k == 0


# ---------------------------------------------------------------- sums and products


def reduced(node: Node, k: int, block: Block) -> Found:
    """Each element of the operand reaches one element of the result, with the rule's slope."""
    axes = node.params["axes"]
    x = node.operands[k]
    found = [block]
    if not isinstance(node.op.rule, Linear):
        ones = np.ones_like(traced(node))
        xs = [traced(v) for v in node.operands]
        [slope] = pull(node.op, ones, traced(node), xs, node.params, [True])
        found = scaled(block, slope, ())
    assert all(len(part.rows) == x.ndim for part in found)
    kept = [tuple(row for j, row in enumerate(part.rows) if j not in axes) for part in found]
    return [replace(part, rows=rows).summed() for part, rows in zip(found, kept, strict=True)]


def scanned(node: Node, k: int, block: Block) -> Found:
    """Running sums: each element reaches all behind it."""
    if not isinstance(node.op.rule, Linear):
        return None
    axis, reverse = node.params["axis"], node.params["reverse"]
    before = len(block.rows)
    block, [place] = block.extended([node.shape[axis]])
    row = block.rows[axis]
    if not row.fixed or not place.fixed:
        mine = traced(row.node(block.lanes))
        other = traced(place.node(block.lanes))
        mask = as_node(mine >= other if reverse else mine <= other)
        block = block.masked(mask)
    assert before == len(block.rows)
    return [block.with_row(axis, place)]


def contracted(node: Node, k: int, block: Block, support: Support) -> Found:
    """Products summed over letters: a lane for each letter that the block does not have."""
    own, other = (node.params["ab"[k]], node.params["ab"[1 - k]])
    out, y = node.params["out"], node.operands[1 - k]
    x = node.operands[k]
    sizes = dict(zip(other, y.shape, strict=True))
    place: dict[str, int] = {}
    for row, letter in enumerate(own):
        repeats = is_single(x.shape[row]) and letter in sizes and not is_single(sizes[letter])
        if letter in place:
            part = equal(block, row, block.rows[place[letter]])
            if part is None:
                return []
            block = part
        elif not repeats:
            place[letter] = row
    new = [s for s in dict.fromkeys(other) if s not in place]
    block, lanes = block.extended([sizes[s] for s in new])
    rows = {s: block.rows[row] for s, row in place.items()} | dict(zip(new, lanes, strict=True))
    factor = read(y, [rows[s] for s in other], block.lanes)
    if is_zero(factor):
        return []
    slope = traced(cast(factor, block.slope.value.dtype))
    product = support.product(node, block.value, slope, traced(block.value) * slope)
    block = replace(block, rows=tuple(rows[s] for s in out), slope=Guarded(as_node(product)))
    return [block.summed()]


RULES: dict[str, Callable[[Node, int, Block], Found]] = {
    "view": moved,
    "gather": moved,
    "assemble": placed,
    "scatter": placed,
    "reduce": reduced,
    "scan": scanned,
}

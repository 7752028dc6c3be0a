"""The pass: from the inputs to the outputs, with the blocks of each node on the way."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from .._graph import Literal, Node, topological
from .._guards import Guarded, added
from .._op import PROJECTIONS, Bodied
from .._ops import TRANSPOSE
from .._reverse import dependents
from .._rewrite import Way, shortcuts, simplified
from .._state import at, within
from .._trace import as_node, cast
from ._block import Block
from ._dense import operands_of, whole
from ._index import traced
from ._rules import RULES, elementwise, is_zero

#: Told of each step behind which lanes do not lead on, and its operand.
Note = Callable[[Node, Node], None]


def blocks_of(outputs: Sequence[Node], wrt: Node, note: Note) -> list[list[Block]]:
    """Return the Jacobians of ``outputs`` by ``wrt``, each as a sum of blocks.

    Parameters
    ----------
    outputs:
        Nodes to differentiate.
    wrt:
        An input.
    note:
        Is told of each step behind which lanes do not lead on, and which operand it was. The
        pattern has all entries of its Jacobian.
    """
    order = topological(outputs)
    active = dependents(order, [wrt])
    ways = shortcuts(order, [wrt])
    found: dict[Node, list[Block]] = {}
    with within(), simplified():
        found[wrt] = [identity(wrt)]
        for node in order:
            if node in found or node not in active or isinstance(node.op, Bodied):
                continue
            at(node.where)
            parts = _behind(node, ways.get(node), found, note)
            found[node] = joined([_typed(block, node) for block in parts])
    return [found.get(node, []) for node in outputs]


def identity(node: Node) -> Block:
    """Return the block of an input by itself."""
    block, rows = Block((), (), (), Guarded(Literal(1, node.dtype))).extended(node.shape)
    return replace(block, rows=tuple(rows), cols=tuple(rows))


def _behind(node: Node, way: Way | None, found: dict[Node, list[Block]], note: Note) -> list[Block]:
    """Return the blocks of a node, from those of its operands."""
    if way is not None and way.elementwise and node.op.kind == "map":
        return _past(node, way, found)
    rule = None if node.op.kind in PROJECTIONS else RULES.get(node.op.kind)
    parts: list[Block] = []
    for k, operand in enumerate(operands_of(node)):
        for block in found.get(operand, ()):
            new = None if rule is None else rule(node, k, block)
            if new is None:
                note(node, operand)
                new = [whole(node, k, block)]
            parts += new
    return parts


def _past(node: Node, way: Way, found: dict[Node, list[Block]]) -> list[Block]:
    """Return the blocks behind an elementwise formula that has a derivative of its own."""
    parts: list[Block] = []
    for k, operand in enumerate(way.operands):
        if found.get(operand):
            units: list[Any] = [None] * len(way.operands)
            units[k] = np.ones_like(traced(operand))
            slope = way.push(units)
            for block in found[operand]:
                parts += elementwise(node, operand.shape, block, slope, ()) or []
    return parts


def _typed(block: Block, node: Node) -> Block:
    value, guard, clean = block.slope
    return block.within(Guarded(cast(value, node.dtype), guard, clean))


def joined(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks with those of equal places added, without zeros."""
    groups: dict[Any, list[Block]] = {}
    for block in map(in_order, blocks):
        groups.setdefault(block.place, []).append(block)
    sums = [group[0].within(added([b.slope for b in group], _added)) for group in groups.values()]
    return [block for block in sums if not is_zero(block.slope.value)]


def _added(parts: Sequence[Node]) -> Node:
    return as_node(reduce(operator.add, map(traced, parts)))


def in_order(block: Block) -> Block:
    """Return a block with its lanes in the order in which the rows, then the columns need them."""
    order = list(
        dict.fromkeys(lane for i in (*block.rows, *block.cols) for lane in sorted(i.lanes))
    )
    order += [k for k in range(len(block.lanes)) if k not in order]
    if order == list(range(len(order))):
        return block
    places = {lane: k for k, lane in enumerate(order)}

    def node(x: Node) -> Node:
        return as_node(TRANSPOSE(traced(x), axes=tuple(order)))

    return block.changed(tuple(block.lanes[k] for k in order), node, lambda i: i.moved(places))


__all__ = ["blocks_of", "identity", "joined"]

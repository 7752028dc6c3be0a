"""Slopes that are zero by their form outside of a few parts: those parts, and none of the rest.

Where parts of a map's result are read, ``sum(sin((x**3)[1::2]))``, the map's cotangent is that of
the parts, placed among zeros. Its slope in second derivatives is then no array over all places.
"""

from __future__ import annotations

import functools
from typing import Any

import sympy as sp

from .._core.base.sizes import dim_product, hint
from .._core.graph import Node
from .._core.op import Map, Op, Placing, Readers
from .._core.trace import as_node
from ._block import Block
from ._index import Index, as_index, traced
from ._read import read
from ._views import Read, linear, solved


def placed_rows(node: Node, k: int, block: Block) -> tuple[Index, ...]:
    """Return where the elements of operand ``k``, at a block's rows, lie in the result."""

    def at(number: int, index: tuple[Any, ...]) -> Any:
        return Index(rest=read(node.operands[number], index, block.lanes))

    assert isinstance(node.op, Placing)
    parts = Readers(node.operands, at)
    return tuple(map(as_index, node.op.place(k, tuple(block.rows), parts, **node.params)))


def at_rows(block: Block, slope: Node) -> list[tuple[Block, Node]]:
    """Return a block with a slope at its rows: as one, or for each part of the slope.

    The slope is over the lanes, or a number. It may be the sum of what is placed at the same rows,
    of which each is multiplied by itself.
    """
    path = _way_to_parts(slope) if slope.ndim == len(block.rows) else None
    found = None if path is None else _by_parts(block, path)
    return [(block, over_lanes(slope, block))] if found is None else found


def over_lanes(node: Node, block: Block) -> Node:
    """Return an array over the last of a block's rows as one over its lanes."""
    return read(node, block.rows[len(block.rows) - node.ndim :], block.lanes)


def _by_parts(block: Block, path: list[Node]) -> list[tuple[Block, Node]] | None:
    """Return a block with a slope for each part; None where lanes do not lead there."""
    *maps, whole = path
    assert isinstance(whole.op, Placing)
    kept = []
    for k, part in enumerate(whole.operands[: whole.op.parts_of(whole.operands)]):
        symbols = [sp.Dummy("i", integer=True, nonnegative=True) for _ in part.shape]
        operands = Readers(whole.operands, Read)
        places = whole.op.place(k, tuple(symbols), operands, **whole.params)
        places = [linear(place, symbols) for place in places]
        found = solved(block, places, symbols, (whole, *whole.operands[1:]), part.shape)
        if found is None:
            return None
        for own in found:
            value = read(part, own.rows, own.lanes)
            own = own.with_rows(placed_rows(whole, k, own))
            before = whole
            for node in reversed(maps):
                xs = [value if x is before else over_lanes(x, own) for x in node.operands]
                value, before = as_node(node.op(*map(traced, xs), **node.params)), node
            kept.append((own, value))
    return kept


def _way_to_parts(slope: Node) -> list[Node] | None:
    """Return the maps from a slope, linear in each other, to what places fewer elements."""
    ways = [[slope]]
    seen = {slope}
    while ways:
        way = ways.pop()
        node = way[-1]
        if isinstance(node.op, Placing) and _is_smaller(node):
            return way
        if node.op.kind == "map":
            for k in _linear_in(node.op):
                x = node.operands[k]
                if x.dtype.kind != "f":  # a condition that is the union of parts is no sum of them
                    continue
                if x.shape == slope.shape and x not in seen and node.operands.count(x) == 1:
                    seen.add(x)
                    ways.append([*way, x])
    return None


def _is_smaller(node: Node) -> bool:
    """Tell whether fewer elements are placed than there are, and none is written over."""
    op = node.op
    assert isinstance(op, Placing)
    parts = node.operands[: op.parts_of(node.operands)]
    placed = sum(hint(dim_product(x.shape)) for x in parts)
    return not op.last and placed < hint(dim_product(node.shape))


@functools.cache
def _linear_in(op: Op) -> tuple[int, ...]:
    """Return the operands, by number, of which a map is a multiple."""
    assert isinstance(op, Map)
    if op.sympy is None or op.params:
        return ()
    symbols = sp.symbols(f"x:{op.arity}", real=True)
    y = op.sympy(*symbols)
    return tuple(
        k for k, x in enumerate(symbols)
        if not sp.diff(y, x).has(x) and op.sympy(*symbols[:k], 0, *symbols[k + 1 :]) == 0
    )  # fmt: skip


__all__ = ["at_rows", "over_lanes", "placed_rows"]

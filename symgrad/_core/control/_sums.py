"""Sums over the steps of a loop: of tapes, and of values that are mostly zero.

The cotangent of an array of which each step reads one element is, in each step, an array with
one element that is not zero. Adding those up costs the whole array in each step. So the sum is
pushed below ops that place elements: what is added up are the elements, and what is placed at
positions that differ from step to step is stacked, and placed after the loop, all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..graph import Body, Input, Node, element_count
from ..op import Scatter
from ..trace import Traced, as_node, bind_nodes
from ._fields import Loop, stand_ins, tape


def merged(parts: Sequence[tuple[Sequence[Node], Any]]) -> tuple[tuple[Node], dict[str, Any]]:
    """Return the sum of tapes as a tape: a loop that adds their elements."""
    tapes = [tape(operands[0], params["index"]) for operands, params in parts]
    slices = stand_ins(tapes, "x")
    total = reduce(np.add, map(Traced, slices))
    step = Input("i", (), "int64")
    source = Loop.of(tapes[0].operands[0])
    loop = Loop((), tuple(tapes), (), Body((step, *slices), [as_node(total)]), source.length)
    return (loop.node(),), {"index": 0}


#: Arrays of up to this many elements are added up as they are.
SMALL = 64

#: So many ops are looked through.
DEPTH = 32


@dataclass(frozen=True)
class Sum:
    """How to get the sum of a value over all steps.

    Attributes
    ----------
    added, stacked:
        Values of a step to be added up, and to be stacked.
    build:
        Returns the sum, given the sums of ``added`` and the stacks in turn.
    """

    added: tuple[Node, ...]
    stacked: tuple[Node, ...]
    build: Callable[[Iterator[Node], Iterator[Node]], Node]


def summed(node: Node, stacks: bool, apart: bool = False, depth: int = DEPTH) -> Sum:
    """Return how to add ``node`` up.

    ``stacks``: whether the loop stacks results. ``apart``: whether its steps do not depend on each
    other, which a sum that it carries would end.
    """
    op = node.op
    if apart and stacks and element_count(node) <= SMALL:
        return Sum(
            (), (node,), lambda added, stacked: as_node(np.sum(Traced(next(stacked)), axis=0))
        )
    if element_count(node) > SMALL and depth:
        if isinstance(op, Scatter) and op.stacked is not None and stacks:
            return Sum((), node.operands, lambda added, stacked: _placed(node, stacked))
        if op.kind in ("assemble", "view"):
            parts = [summed(x, stacks, depth=depth - 1) for x in node.operands]
            return _joined(node, parts)
        if op.means(np.add) and all(x.shape == node.shape for x in node.operands):
            parts = [summed(x, stacks, depth=depth - 1) for x in node.operands]
            # Two arrays of the full size in the place of one would gain nothing.
            if any(all(element_count(x) < element_count(node) for x in p.added) for p in parts):
                return _joined(node, parts)
    return Sum((node,), (), lambda added, stacked: next(added))


def _joined(node: Node, parts: list[Sum]) -> Sum:
    def build(added: Iterator[Node], stacked: Iterator[Node]) -> Node:
        operands = tuple([p.build(added, stacked) for p in parts])
        if node.op.kind == "map":
            return as_node(node.op(*map(Traced, operands)))
        return bind_nodes(node.op, operands, node.params)

    return Sum(
        tuple(x for p in parts for x in p.added), tuple(x for p in parts for x in p.stacked), build
    )


def _placed(node: Node, stacked: Iterator[Node]) -> Node:
    assert isinstance(node.op, Scatter)
    assert node.op.stacked is not None
    values = [Traced(next(stacked)) for _ in node.operands]
    return as_node(node.op.stacked(*values, **node.params))

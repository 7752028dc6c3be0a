"""Graphs made anew: a walk from operands to users, on which some steps become others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._shapes import Shape
from .._state import at, within
from ._interned import apply
from ._node import Node, topological


def remade(node: Node, operands: tuple[Node, ...], shape: Shape | None = None) -> Node:
    """Return a step of other operands, and perhaps of another shape; itself if nothing is other."""
    shape = node.shape if shape is None else shape
    if operands == node.operands and shape == node.shape:
        return node
    return apply(node.op, operands, node.items, shape, node.dtype)


def rebuilt(
    outputs: Sequence[Node],
    change: Callable[[Node, tuple[Node, ...]], Node | None],
    done: dict[Node, Node] | None = None,
) -> list[Node]:
    """Return the outputs of a graph in which some steps are others.

    Parameters
    ----------
    outputs:
        The nodes that the graph is wanted for.
    change:
        Given a step, and what has become of its operands, returns what stands for it, or None if
        it stays, of these operands. What is made has the step's line.
    done:
        Takes what has become of each node; what it has at the beginning stays.
    """
    done = {} if done is None else done
    with within():
        for node in topological(outputs):
            if node in done:
                continue
            at(node.where)
            operands = tuple([done[x] for x in node.operands])
            made = change(node, operands)
            done[node] = remade(node, operands) if made is None else made
    return [done[x] for x in outputs]

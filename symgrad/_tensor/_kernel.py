"""The kernel of a backward pass: its ops as a graph once more, differentiated by the compiler.

The values that the record holds take the place of the nodes that computed them. So a kernel reads
exactly what the NumPy rules read; its rounding is promised, so that it gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._api._transforms import compile
from .._core.base.state import within
from .._core.graph import Input, Literal, apart, topological
from .._core.graph import Node as GraphNode
from .._core.trace import Traced, as_node, substitute
from .._core.transforms.reverse import pull_back
from ._node import AccumulateGrad, Backward, Node


@dataclass(frozen=True)
class Kernel:
    """A compiled backward pass, which gives the bits of the pass node by node.

    Attributes
    ----------
    function:
        Takes the root's gradient, what the rules read, and ``more``; returns the gradients of
        the leaves.
    more:
        Constants and leaves that no rule reads but the compiler's formula does: the place of
        a node in the pass, and of the operand; None for a leaf itself.
    """

    function: Callable[..., Any]
    more: tuple[tuple[int, int | None], ...]

    def __call__(self, order: Sequence[Node], gradient: Any, arrays: Sequence[Any]) -> Any:
        """Return the gradients; None if one of ``more`` was overwritten since it was used."""
        rest = []
        if self.more:
            first = min(n.seq for n in order if isinstance(n, Backward))
            for k, slot in self.more:
                node = order[k]
                if slot is None:
                    assert isinstance(node, AccumulateGrad)
                    x: Any = node.variable
                else:
                    assert isinstance(node, Backward)
                    assert node.saved is not None
                    x = node.saved[slot]
                cell = getattr(x, "_cell", None)
                if cell is not None and cell.written > first:
                    return None
                array = getattr(x, "_data", x)
                rest.append(array if array.ndim else array[()])
        return self.function(gradient[()], *arrays, *rest)


def build(order: Sequence[Node], gradient: Any) -> Kernel:
    """Return the kernel of a pass, for a gradient of the root like the given one."""
    start = Input("gradient", gradient.shape, gradient.dtype)
    leaves = [n for n in order if isinstance(n, AccumulateGrad)]
    with apart():  # equal ops have each its own node on the way back
        nodes, read, constants = _recorded(order)
        wrt = [nodes[n] for n in leaves]
        found = pull_back([nodes[order[0]]], [start], wrt)
        zeros = (Traced(Literal(0.0, x.dtype)) * np.ones(x.shape, x.dtype) for x in wrt)
        pulled = [as_node(z) if g is None else g for g, z in zip(found, zeros, strict=True)]
        given = [Input(f"r{k}", x.shape, x.dtype) for k, x in enumerate(read)]
        pulled = substitute(pulled, dict(zip(read, given, strict=True)))
    place: dict[GraphNode, tuple[int, int | None]] = {
        nodes[n]: (order.index(n), None) for n in leaves
    }
    place |= {x: (order.index(n), slot) for (n, slot), x in constants.items()}
    more = [n for n in topological(pulled) if n in place]

    def backward(*values: Any) -> Any:
        swap = dict(zip([start, *given, *more], map(as_node, values), strict=True))
        return tuple(map(Traced, substitute(pulled, swap)))

    return Kernel(compile(backward, dynamic=False, rounding="numpy"), tuple(place[n] for n in more))


def _recorded(
    order: Sequence[Node],
) -> tuple[dict[Node, GraphNode], list[GraphNode], dict[tuple[Node, int], GraphNode]]:
    """Return the recorded ops as a graph, what the rules read of it, and the constants.

    What is read is in the order of :func:`describe`, constants are by node and operand.
    """
    nodes: dict[Node, GraphNode] = {}
    constants: dict[tuple[Node, int], GraphNode] = {}
    for k, node in reversed(list(enumerate(order))):
        if isinstance(node, AccumulateGrad):
            nodes[node] = Input(f"x{k}", node.variable.shape, node.variable.dtype)
            continue
        assert isinstance(node, Backward)
        assert node.saved is not None
        operands: list[Any] = []
        for slot, (edge, x) in enumerate(zip(node.edges, node.saved, strict=True)):
            array = getattr(x, "_data", x)
            if edge is not None:
                operands.append(Traced(nodes[edge]))
            elif written_out(array):
                operands.append(array[()])
            else:
                made = constants[node, slot] = Input(f"c{k}_{slot}", array.shape, array.dtype)
                operands.append(Traced(made))
        with within(where=node.where):
            nodes[node] = as_node(node.op(*operands, **node.params))
    read: dict[Any, GraphNode] = {}
    for node in order:
        if not isinstance(node, Backward):
            continue
        for slot, (edge, needed) in enumerate(zip(node.edges, node.rule.needs, strict=True)):
            if needed and edge is not None:
                read[edge] = nodes[edge]
            elif needed and (node, slot) in constants:
                read[node, slot] = constants[node, slot]
        if node.rule.reads_result:
            read[node] = nodes[node]
    return nodes, list(read.values()), constants


def written_out(array: Any) -> bool:
    """Tell whether a constant is part of the structure: numbers in the code, and whole ones."""
    return isinstance(array, np.generic) or (array.ndim == 0 and array.dtype.kind != "f")

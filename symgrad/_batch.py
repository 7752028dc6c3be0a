"""Batching: a pass that gives a graph a leading batch axis (``vmap``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._graph import Node, apply, checked, topological
from ._op import PROJECTIONS, ArrayOp, Bodied
from ._ops import RESHAPE
from ._shapes import Dimension, as_size
from ._state import at, within
from ._trace import Traced, as_node


def batch(
    outputs: Sequence[Node], batched: Mapping[Node, Node], size: Dimension
) -> list[tuple[Node, bool]]:
    """Return ``outputs`` computed for a whole batch.

    Parameters
    ----------
    outputs:
        Nodes of a function of one example.
    batched:
        For the nodes that differ between examples, the node with a leading axis of
        length ``size`` that replaces it.
    size:
        The batch size.

    Returns
    -------
    list
        ``(node, has_batch_axis)`` for each output; a result that does not depend on the
        batched nodes stays as it is.
    """
    done: dict[Node, Node] = dict(batched)
    same: dict[Node, Node] = {}  # results of batched loops that have no batch axis, and so on
    results: dict[Node, Callable[[Node], tuple[Node, bool]]] = {}  # of loops and branches
    with within():
        for node in topological(outputs):
            if node in done:
                continue
            if node.op.kind in PROJECTIONS and node.operands[0] in results:
                found, lifted = results[node.operands[0]](node)
                (done if lifted else same)[node] = found
                continue
            flags = [x in done for x in node.operands]
            operands = [done.get(x, same.get(x, x)) for x in node.operands]
            if any(flags):
                at(node.where)
                if isinstance(node.op, Bodied):
                    results[node] = node.op.batch(size, operands, flags, node)
                    continue
                done[node] = _rule(node, operands, flags, size)
            elif tuple(operands) != node.operands:
                same[node] = apply(node.op, tuple(operands), node.items, node.shape, node.dtype)
    found_all = [done.get(x, same.get(x, x)) for x in outputs]
    checked("batching", found_all)
    return [(found, x in done) for found, x in zip(found_all, outputs, strict=True)]


def _rule(node: Node, operands: list[Node], flags: list[bool], size: Dimension) -> Node:
    if node.op.kind == "map":
        aligned = tuple(
            _align(x, node.ndim) if flag else x for x, flag in zip(operands, flags, strict=True)
        )
        return apply(node.op, aligned, node.items, (size, *node.shape), node.dtype)
    assert isinstance(node.op, ArrayOp)
    result: Any = node.op.batch(as_size(size), flags, *map(Traced, operands), **node.params)
    return as_node(result)


def _align(x: Node, rank: int) -> Node:
    """Put axes of length one behind the batch axis, so that broadcasting lines up."""
    missing = rank - (x.ndim - 1)
    if missing == 0:
        return x
    lead, *rest = Traced(x).shape
    return as_node(RESHAPE(Traced(x), shape=(lead, *(1,) * missing, *rest)))

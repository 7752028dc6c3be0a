"""Forward mode: a pass that carries tangents along with the values of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._graph import Literal, Node, checked, inherited, set_inherited, topological
from ._guards import only
from ._op import PROJECTIONS, Op
from ._rewrite import shortcuts
from ._trace import Traced, as_node, cast, partials


def push_forward(outputs: Sequence[Node], tangents: Mapping[Node, Node]) -> list[Node | None]:
    """Return the tangents of ``outputs`` for the given tangents of some nodes.

    Parameters
    ----------
    outputs:
        Nodes to differentiate.
    tangents:
        Tangents of nodes (usually inputs), of the same shapes and types.

    Returns
    -------
    list
        One node for each output, None where it is zero.
    """
    found: dict[Node, Node] = dict(tangents)
    results: dict[Node, Callable[[Node], Node | None]] = {}  # of loops and branches
    order = list(topological(outputs))
    ways = shortcuts(order, list(tangents))
    before = inherited()  # a pass over a body runs within a pass
    try:
        for node in order:
            if node.op.kind in PROJECTIONS and node.operands[0] in results:
                slope = results[node.operands[0]](node)
                if slope is not None:
                    found[node] = slope
                continue
            inner = node.op.results is not None
            if node in found or (node.dtype.kind != "f" and not inner):
                continue
            way = ways.get(node)
            given = [found.get(x) for x in (node if way is None else way).operands]
            if all(t is None for t in given):
                continue
            set_inherited(node.where)
            if inner:
                assert node.op.jvp is not None
                results[node] = node.op.jvp(given, node)
                continue
            pushed = [None if t is None else Traced(t) for t in given]
            tangent = _rule(node, pushed) if way is None else way.push(pushed)
            if tangent is not None:
                found[node] = _fit(tangent, node)
    finally:
        set_inherited(before)
    return checked("forward mode", [found.get(x) for x in outputs])


def _rule(node: Node, tangents: list[Any]) -> Any:
    op, xs = node.op, [Traced(x) for x in node.operands]
    if op.transpose is not None:
        return _linear(op, node, tangents, xs)
    if op.kind == "map":
        if op.reason is not None:
            return None
        slopes = partials(op, Traced(node), xs, node.params)
        guards = op.taken(Traced(node), *xs, **node.params) if op.taken else [None] * len(xs)
        total: Any = None
        for t, slope, guard in zip(tangents, slopes, guards, strict=True):
            if t is None or slope is None or (isinstance(slope, (int, float)) and slope == 0):
                continue
            unit = isinstance(slope, (int, float)) and abs(slope) == 1
            term = (t if slope == 1 else -t) if unit else t * slope
            term = term if guard is None else only(guard, term)
            total = term if total is None else total + term
        return total
    return op.jvp(tangents, Traced(node), *xs, **node.params) if op.jvp else None


def _linear(op: Op, node: Node, tangents: list[Any], xs: list[Any]) -> Any:
    """A linear op applied to its tangents, zeros where there is none."""
    linear = op.linear if op.linear is not None else tuple(range(len(xs)))
    if all(tangents[k] is None for k in linear):
        return None
    operands = [
        x if k not in linear else np.zeros_like(x) if t is None else t
        for k, (x, t) in enumerate(zip(xs, tangents, strict=True))
    ]
    return op(*operands, **node.params)


def _fit(tangent: Any, node: Node) -> Node:
    """Bring a tangent to the shape and the element type of its value."""
    result = cast(as_node(tangent), node.dtype)
    if result.shape == node.shape:
        return result
    if isinstance(result, Literal) and result.value == 0:
        return as_node(np.zeros_like(Traced(node)))
    return as_node(np.broadcast_to(Traced(result), Traced(node).shape))

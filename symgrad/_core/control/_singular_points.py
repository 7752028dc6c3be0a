"""Where slopes may be infinite or undefined, so that a cotangent of 0 does not remain 0."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node, bodies, topological
from ..transforms.support import is_edgy

#: Of what an operand is made of so many nodes are looked at.
SOURCES = 64


def is_risky(x: Node) -> bool:
    """Tell whether a value is computed in a way whose slope may be infinite."""
    order = topological([x], limit=SOURCES)
    return len(order) == SOURCES or any(
        n.op.differentiable and n.op.kind != "leaf" and n.op.linear is None for n in order
    )


def passes_edge(x: Node) -> bool:
    """Tell whether a value is computed by a map that has an infinite slope, or none, somewhere."""
    return any(
        n.op.kind == "map" and n.dtype.kind == "f" and is_edgy(n)
        for n in topological([x], limit=SOURCES)
    )


def has_edges(outputs: Sequence[Node]) -> bool:
    """Tell whether a step has an op that is undefined somewhere, or has no slope there."""
    return any(
        any(has_edges(body.outputs) for body in bodies(n))
        or (n.op.kind == "map" and n.dtype.kind == "f" and is_edgy(n))
        for n in topological(outputs)
    )

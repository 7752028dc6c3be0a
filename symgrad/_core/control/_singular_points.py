"""Where slopes may be infinite or undefined, so that a cotangent of 0 does not remain 0."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.state import now
from ..graph import Node, topological
from ..transforms.support import has_edge

#: Of what an operand is made of so many nodes are looked at.
SOURCES = 64


def is_risky(x: Node) -> bool:
    """Tell whether a value is computed in a way whose slope may be infinite."""
    order, outside = topological([x], limit=SOURCES), now().edgy
    return len(order) == SOURCES or any(
        n in outside or (n.op.differentiable and n.op.kind != "leaf" and n.op.linear is None)
        for n in order
    )


def passes_edge(x: Node) -> bool:
    """Tell whether a value is computed by an op that has an infinite slope, or none, somewhere."""
    outside = now().edgy
    return any(n in outside or has_edge(n) for n in topological([x], limit=SOURCES))


def has_edges(outputs: Sequence[Node]) -> bool:
    """Tell whether a step has an op that is undefined somewhere, or has no slope there."""
    return any(map(has_edge, topological(outputs)))

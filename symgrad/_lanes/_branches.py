"""Branches as choices between the results of all cases, so that lanes lead through them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._graph import Body, Node, rebuilt, topological
from .._op import PROJECTIONS
from .._reverse import dependents
from .._trace import as_node, substitute
from ._index import traced

#: Kinds of ops that may be computed where their case is not chosen: they read no computed place,
#: take no steps whose number is not known, and factorise nothing.
HARMLESS = frozenset(("map", "view", "reduce", "scan", "contract", "assemble", "leaf"))


def selected(outputs: Sequence[Node], inputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with the branches between them and ``inputs`` as choices.

    Those with a case that may be run only if it is chosen are left as they are.
    """
    order = topological(outputs)
    if not any(node.op.kind == "branch" for node in order):
        return [*outputs]
    active = dependents(order, inputs)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node.op.kind in PROJECTIONS and node in active and _is_harmless(node.operands[0]):
            return _choice(operands[0], node.params["index"])
        return None

    return rebuilt(outputs, change)


def _is_harmless(node: Node) -> bool:
    if node.op.kind != "branch" or "rule" in node.params:
        return False
    bodies: Sequence[Body] = node.params["bodies"]
    return all(x.op.kind in HARMLESS for body in bodies for x in topological(body.outputs))


def _choice(node: Node, result: int) -> Node:
    """Return a result of a branch: where the number is that of a case, the result of that one."""
    choice, *given = node.operands
    cases = [
        substitute([body.outputs[result]], dict(zip(body.inputs, given, strict=True)))[0]
        for body in node.params["bodies"]
    ]
    chosen = traced(cases[-1])
    for k in reversed(range(len(cases) - 1)):
        chosen = np.where(traced(choice) == k, traced(cases[k]), chosen)
    return as_node(chosen)


__all__ = ["selected"]

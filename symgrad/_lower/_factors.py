"""Transposes around contractions become the order of their letters: nothing is moved.

A matrix product reads a factor by rows or by columns as it lies. A transpose that only a
contraction reads, or that only is made of one, would be a copy of the whole matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._graph import Node, rebuilt, remade, topological
from .._trace import bind_nodes


def direct(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with contractions of what transposes are made of."""
    nodes = topological(outputs)
    if not any(n.op.kind == "contract" for n in nodes):
        return list(outputs)
    uses = Counter(x for n in nodes for x in n.operands)
    uses.update(outputs)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node.op.kind == "contract":
            return _contraction(node, operands)
        if _is_transpose(node) and uses[node.operands[0]] == 1:
            return _result(node, operands[0])
        return None

    return rebuilt(outputs, change)


def _is_transpose(node: Node) -> bool:
    return node.op.name == "Transpose"


def _contraction(node: Node, operands: tuple[Node, ...]) -> Node:
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    (x, a), (y, b) = map(_origin, operands, (a, b))
    if (x, y) == node.operands:
        return node
    return bind_nodes(node.op, (x, y), {"a": a, "b": b, "out": out})


def _origin(x: Node, letters: str) -> tuple[Node, str]:
    """Return what ``x`` is a transpose of, with the letters of its axes."""
    while _is_transpose(x):
        at = dict(zip(x.params["axes"], letters, strict=True))
        x, letters = x.operands[0], "".join(at[k] for k in range(x.ndim))
    return x, letters


def _result(node: Node, product: Node) -> Node:
    """Return the transpose ``node`` of ``product``."""
    axes = node.params["axes"]
    if product.op.kind != "contract":
        return remade(node, (product,))
    out = "".join(product.params["out"][k] for k in axes)
    return bind_nodes(product.op, product.operands, {**product.params, "out": out})

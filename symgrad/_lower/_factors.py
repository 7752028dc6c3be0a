"""Transposes around contractions become the order of their letters: nothing is moved.

A matrix product reads a factor by rows or by columns as it lies. A transpose that only a
contraction reads, or that only is made of one, would be a copy of the whole matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._graph import Node, apply, topological
from .._state import at, within
from .._trace import bind_nodes


def direct(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with contractions of what transposes are made of."""
    nodes = topological(outputs)
    if not any(n.op.kind == "contract" for n in nodes):
        return list(outputs)
    uses = Counter(x for n in nodes for x in n.operands)
    uses.update(outputs)
    done: dict[Node, Node] = {}
    with within():
        for node in nodes:
            at(node.where)
            operands = tuple([done[x] for x in node.operands])
            if node.op.kind == "contract":
                done[node] = _contraction(node, operands)
            elif _is_transpose(node) and uses[node.operands[0]] == 1:
                done[node] = _result(node, operands[0])
            elif operands != node.operands:
                done[node] = apply(node.op, operands, node.items, node.shape, node.dtype)
            else:
                done[node] = node
    return [done[x] for x in outputs]


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
        return apply(node.op, (product,), node.items, node.shape, node.dtype)
    out = "".join(product.params["out"][k] for k in axes)
    return bind_nodes(product.op, product.operands, {**product.params, "out": out})

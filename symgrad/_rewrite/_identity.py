"""Products with an identity matrix, as derivatives by all of an array's elements begin with."""

from __future__ import annotations

from .._graph import Literal, Node, apply
from .._op import registry


def is_identity(node: Node) -> bool:
    """Tell whether ``node`` is a square matrix of ones on the diagonal and zeros."""
    if node.op.name != "DiagEmbed" or node.params["offset"] != 0 or node.ndim != 2:
        return False
    ones = node.operands[0]
    while ones.op.name in ("Broadcast", "Reshape"):
        ones = ones.operands[0]
    return isinstance(ones, Literal) and bool(ones.value == 1) and node.shape[0] == node.shape[1]


def product_with_identity(node: Node, x: Node, y: Node) -> Node | None:
    """Return the other operand, its axes in the order of the result's.

    The sum over j of x[..., j, ...]*I[j, k] is x[..., k, ...]: multiplied out it would be
    rounded to the same, but for infinities times zero and for the sign of zeros.
    """
    p = node.params
    for matrix, other, letters, rest in ((x, y, p["a"], p["b"]), (y, x, p["b"], p["a"])):
        if not is_identity(matrix) or other.dtype != node.dtype:
            continue
        for summed, kept in (letters, letters[::-1]):
            named = rest.replace(summed, kept)
            if summed in rest and kept not in rest and sorted(named) == sorted(p["out"]):
                axes = tuple(named.index(s) for s in p["out"])
                if axes == tuple(range(len(axes))):
                    return other
                items = (("axes", axes),)
                return apply(registry.ops["Transpose"], (other,), items, node.shape, node.dtype)
    return None

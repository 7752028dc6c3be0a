"""Arrays assembled in two stages, and assemblies seen from another side: one assembly.

A Jacobian is a stack of rows, each a stack of numbers, and ``vmap`` turns the axes of the
result. What is assembled in one stage is written by the loop that computes its parts; every stage
more is a pass over memory.
"""

from __future__ import annotations

from .._graph import Node, apply
from .._ops.regions import Region, within

#: Assemblies of more parts than this stay as they are: chains of concatenations would take
#: quadratic time.
MOST_PARTS = 256


def simplest_assembly(node: Node, operands: tuple[Node, ...]) -> Node | None:
    """Return ``node`` of these operands as one assembly, or None where it is none."""
    name = node.op.name
    if name == "Assemble":
        return _flat(node, operands)
    if operands and _is_assembly(operands[0]):
        if name == "Transpose":
            return _transposed(node, operands[0])
        if name == "Reshape":
            return _reshaped(node, operands[0])
    return None


def _is_assembly(x: Node) -> bool:
    return x.op.kind == "assemble" and bool(x.params.get("disjoint"))


def _assembly(node: Node, parts: list[Node], regions: list[Region], like: Node) -> Node:
    items = tuple(
        (k, {"shape": node.shape, "regions": tuple(regions)}.get(k, v)) for k, v in like.items
    )
    return apply(like.op, tuple(parts), items, node.shape, node.dtype)


def _flat(node: Node, operands: tuple[Node, ...]) -> Node | None:
    inner = [_is_assembly(x) and x.dtype == node.dtype for x in operands]
    count = sum(len(x.operands) if nested else 1 for x, nested in zip(operands, inner, strict=True))
    if not any(inner) or not node.params["disjoint"] or count > MOST_PARTS:
        return None
    parts: list[Node] = []
    regions: list[Region] = []
    for x, region, nested in zip(operands, node.params["regions"], inner, strict=True):
        if nested:
            parts += x.operands
            regions += (within(region, r) for r in x.params["regions"])
        else:
            parts.append(x)
            regions.append(region)
    return _assembly(node, parts, regions, node)


def _transposed(node: Node, x: Node) -> Node | None:
    axes = node.params["axes"]
    regions = []
    for region in x.params["regions"]:
        kept = [k for k in axes if region[k][2] is not None]
        if kept != sorted(kept):
            return None  # the part itself would have to be turned
        regions.append(tuple(region[k] for k in axes))
    return _assembly(node, list(x.operands), regions, x)


def _reshaped(node: Node, x: Node) -> Node | None:
    """Where only axes of length one come or go, an index of 0 does."""
    if [d for d in node.shape if d != 1] != [d for d in x.shape if d != 1]:
        return None
    regions = []
    for region in x.params["regions"]:
        pairs = zip(region, x.shape, strict=True)
        if any(d == 1 and entry != (0, 1, None) for entry, d in pairs):
            return None
        rest = iter([entry for entry, d in zip(region, x.shape, strict=True) if d != 1])
        regions.append(tuple((0, 1, None) if d == 1 else next(rest) for d in node.shape))
    return _assembly(node, list(x.operands), regions, x)

"""Sums of shifted parts, read by each element instead of added to it.

The adjoint of a stencil adds its parts to neighbours. Over one axis that is a window that slides
(:mod:`._windows`). Over more of them rows above and below would be added to through memory, once
for each part. Where the parts are few arrays at many places (a Laplacian's are one array, at five),
each element reads what would be added to it instead, in the same order. The arrays get a margin of
zeros as wide as the shifts differ, so that such a sum has no borders::

    g = 0;  g[1:-1, 1:-1] += -4*w;  g[2:, 1:-1] += w;  g[:-2, 1:-1] += w;  ...
    p = margin of w;  g[i, j] = 0 - 4*p[i + 1, j + 1] + p[i, j + 1] + p[i + 2, j + 1] + ...
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.switches import is_on
from ..graph import Literal, Node, apply, rebuilt, remade, topological
from ..op import registry
from ..trace import bind_nodes
from ._assemblies import add, part, subtract, users_of

#: Widest margin. Each element reads all places of an array: where parts are small beside the sum,
#: most of what it would read is the margin's zeros.
WIDEST = 8


def reads_better(node: Node) -> bool:
    """Tell whether parts that are added are better read by each element than added to it.

    They are if they lie at several places of an axis but the last, and are one array, or less than
    half as many as the parts: each array is written with its margin and read again.
    """
    if node.op.name != "Assemble" or node.params["disjoint"] or node.dtype.kind != "f":
        return False
    regions = node.params["regions"]
    if any(size is None or step != 1 for region in regions for _, step, size in region):
        return False
    rows = {tuple(start for start, _, _ in region[:-1]) for region in regions}
    arrays = len({_unscaled(x) for x in node.operands})
    return len(rows) > 1 and len(regions) > (1 if arrays == 1 else 2 * arrays)


def _unscaled(x: Node) -> Node:
    """Return what an array is a known multiple of, by numbers that keep zeros zero."""
    while (scaled := _scaled(x)) is not None:
        x = scaled
    return x


def _scaled(x: Node) -> Node | None:
    if x.op.name == "Negative":
        return x.operands[0]
    if x.op.name == "Multiply":
        for one, other in (x.operands, x.operands[::-1]):
            if isinstance(one, Literal) and other.shape == x.shape and np.isfinite(one.value):
                return other
    return None


def gathered(outputs: Sequence[Node]) -> tuple[Sequence[Node], frozenset[Node]]:
    """Return ``outputs`` with sums of shifted parts read from arrays with margins, and these."""
    nodes = topological(outputs)
    chosen = {n for n in nodes if reads_better(n) and _near(n)}
    if not chosen or not is_on("shift"):
        return outputs, frozenset()
    narrow = _narrowed(nodes, outputs)
    margins: set[Node] = set()

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node in chosen:
            return _read_around(remade(node, operands), margins)
        if node in narrow:
            reader = narrow[node]
            parts = [
                x if y in narrow or not x.shape  # of its own type: a comparison has real operands
                else apply(reader.op, (x,), reader.items, reader.shape, x.dtype)
                for x, y in zip(operands, node.operands, strict=True)
            ]  # fmt: skip
            return remade(node, tuple(parts), reader.shape)
        return operands[0] if node.op.name == "Slice" and node.operands[0] in narrow else None

    return rebuilt(outputs, change), frozenset(margins)


def _near(node: Node) -> bool:
    """Tell whether each part covers all of the sum but a margin, at known distances from it."""
    return all(
        isinstance(start, int) and isinstance(gap := subtract(extent, size), int) and gap <= WIDEST
        for region in node.params["regions"]
        for (start, _, size), extent in zip(region, node.shape, strict=True)
    )


def _narrowed(nodes: Sequence[Node], outputs: Sequence[Node]) -> dict[Node, Node]:
    """Return the steps of which only a slice is used, by the slice: no more is computed of them."""
    users, kept = users_of(nodes), set(outputs)
    found: dict[Node, Node] = {}
    for node in reversed(nodes):
        if node.op.kind != "map" or not node.shape or node in kept:
            continue
        if any(x.shape and x.shape != node.shape for x in node.operands):
            continue
        readers = {found.get(x) if x.op.kind == "map" and x.shape == node.shape else x
                   for x in users[node]}  # fmt: skip
        reader = readers.pop()
        if reader is not None and not readers and reader.op.name == "Slice":
            found[node] = reader
    return found


def _read_around(node: Node, margins: set[Node]) -> Node:
    """Return a sum of shifted parts as a sum of slices of arrays with margins of zeros."""
    starts = [[start for start, _, _ in region] for region in node.params["regions"]]
    least = [min(axis) for axis in zip(*starts, strict=True)]
    most = [max(axis) for axis in zip(*starts, strict=True)]
    extents = tuple(add(n, b - a) for n, a, b in zip(node.shape, least, most, strict=True))
    total: Node | None = None
    for one, start in zip(node.operands, starts, strict=True):
        if one.shape == node.shape:
            term = one
        else:
            base = _unscaled(one)
            region = tuple((b, 1, size) for b, size in zip(most, base.shape, strict=True))
            items = {"shape": extents, "regions": (region,), "disjoint": True}
            margin = bind_nodes(registry.ops["Assemble"], (base,), items)
            margins.add(margin)
            ends = [(b - s, add(n, b - s)) for s, b, n in zip(start, most, node.shape, strict=True)]
            term = _rescaled(one, base, part(margin, ends))
        if total is None and term is one:
            total = term  # it is written, and the others are added to it
            continue
        before = Literal(0, node.dtype) if total is None else total
        total = apply(registry.ops["Add"], (before, term), (), node.shape, node.dtype)
    assert total is not None
    return total


def _rescaled(x: Node, base: Node, new: Node) -> Node:
    """Return the multiple of ``base`` that ``x`` is, of another array."""
    steps = []
    while x is not base:
        steps.append(x)
        scaled = _scaled(x)
        assert scaled is not None
        x = scaled
    for step in reversed(steps):
        operands = tuple([new if y.shape else y for y in step.operands])
        new = remade(step, operands, new.shape)
    return new

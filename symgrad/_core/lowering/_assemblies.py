"""Pieces: arrays that are put together of parts of others, and where each part lies.

What is rolled, padded, joined, or zero but for its inside is an assembly; a slice of one is pieces
as well. Of a piece is known between which indices it lies and at which distance from there its
elements are stored, so that who wants them can read them where they are.

Indices are expressions in sizes. Which of two comes first is what the program's guards say, and
that no array has a negative size; where these do not say it, an array is not taken for pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import sympy as sp

from ..base.sizes import Dimension, Shape, as_dim, dim_expand, hint
from ..graph import Node
from ..op import registry
from ..program import Known
from ..trace import bind_nodes

#: Most parts of an array.
MOST_PARTS = 64

#: The indices of each axis between which something lies: from the first, to before the second.
Box = tuple[tuple[Dimension, Dimension], ...]


def add(a: Dimension, b: Dimension) -> Dimension:
    """Return the sum of two dimensions in normal form."""
    return dim_expand(a + b)


def subtract(a: Dimension, b: Dimension) -> Dimension:
    """Return the difference of two dimensions in normal form."""
    return dim_expand(as_dim(a - b))


def extents(box: Box) -> Shape:
    """Return the shape of what lies in a box."""
    return tuple(subtract(high, low) for low, high in box)


def part(x: Node, box: Sequence[tuple[Dimension, Dimension]]) -> Node:
    """Return what lies in a box of an array."""
    if list(box) == [(0, d) for d in x.shape]:
        return x
    region = tuple((low, 1, subtract(high, low)) for low, high in box)
    return bind_nodes(registry.ops["Slice"], (x,), {"region": region})


def users_of(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """Return for each node those that have it as an operand."""
    users: dict[Node, list[Node]] = {n: [] for n in nodes}
    for node in users:
        for x in dict.fromkeys(node.operands):
            users[x].append(node)
    return users


class Piece(NamedTuple):
    """A part of an array: between which indices it lies, and where its elements come from.

    The element at an index within ``box`` is that of ``source`` at the index less ``shift``.
    """

    box: Box
    source: Node
    shift: tuple[Dimension, ...]

    def moved(self, by: Sequence[Dimension]) -> Piece:
        """Return the piece of an array in which this one lies ``by`` so much further."""
        box = tuple((add(a, d), add(b, d)) for (a, b), d in zip(self.box, by, strict=True))
        return Piece(box, self.source, tuple(map(add, self.shift, by)))


class Pieces(NamedTuple):
    """An array as pieces, zero elsewhere; those that overlap are added in their order."""

    pieces: tuple[Piece, ...]
    added: bool


class Order:
    """Which of two borders comes first, whatever the sizes that the program is for."""

    def __init__(self, nodes: Iterable[Node], guards: Mapping[sp.Basic, bool]) -> None:
        sizes = {d for n in nodes for d in n.shape if not isinstance(d, (int, sp.Symbol))}
        self.known = Known({**guards, **{sp.Ge(d, 0, evaluate=False): True for d in sizes}})
        self.found: dict[Dimension, bool] = {}

    def upto(self, a: Dimension, b: Dimension) -> bool:
        """Tell whether ``a <= b`` is known."""
        gap = dim_expand(b - a)
        if isinstance(gap, int):
            return gap >= 0
        if gap not in self.found:
            self.found[gap] = hint(gap) >= 0 and self.known.from_zero(gap)
        return self.found[gap]

    def row(self, borders: Iterable[Dimension]) -> list[Dimension] | None:
        """Return borders in their order, None where it is not known."""
        row: list[Dimension] = []
        for border in sorted(dict.fromkeys(borders), key=hint):
            k = len(row)
            while k and not self.upto(row[k - 1], border):
                if not self.upto(border, row[k - 1]):
                    return None
                k -= 1  # those that are one in the example call stand as they may
            row.insert(k, border)
        return row


class Arrays(dict[Node, Pieces | None]):
    """Each array of a graph as pieces of others, None for those that are stored as they are.

    Parameters
    ----------
    nodes:
        The graph's, operands before users.
    order:
        What is known of its sizes.
    whole:
        Arrays to be taken as they are.
    sums:
        Those of overlapping parts that count as pieces.
    """

    def __init__(
        self, nodes: Sequence[Node], order: Order, whole: AbstractSet[Node], sums: AbstractSet[Node]
    ) -> None:
        super().__init__()
        self.order, self.sums = order, sums
        for node in nodes:
            self[node] = None if node in whole else self._of(node)

    def _of(self, node: Node) -> Pieces | None:
        if not node.shape or 0 in node.shape or node.op.name not in ("Assemble", "Slice"):
            return None
        found = self._sliced(node) if node.op.name == "Slice" else self._assembled(node)
        return found if found is None or len(found.pieces) <= MOST_PARTS else None

    def _assembled(self, node: Node) -> Pieces | None:
        added, found = not node.params["disjoint"], []
        if len(node.operands) > MOST_PARTS or (added and node not in self.sums):
            return None
        for one, region in zip(node.operands, node.params["regions"], strict=True):
            if any(size is None or step != 1 for _, step, size in region):
                return None
            start = tuple(begin for begin, _, _ in region)
            inner = self[one]
            if inner is None or inner.added or added:
                box = tuple((b, add(b, size)) for b, _, size in region)
                found.append(Piece(box, one, start))
            else:
                found += [piece.moved(start) for piece in inner.pieces]
        return Pieces(tuple(found), added)

    def _sliced(self, node: Node) -> Pieces | None:
        inner, region = self[node.operands[0]], node.params["region"]
        if inner is None or inner.added or any(s is None or step != 1 for _, step, s in region):
            return None
        back, found = tuple(subtract(0, begin) for begin, _, _ in region), []
        for piece in inner.pieces:
            moved = piece.moved(back)
            box: list[tuple[Dimension, Dimension]] = []
            for (a, b), size in zip(moved.box, node.shape, strict=True):
                if self.order.upto(b, 0) or self.order.upto(size, a):
                    break  # beside it
                low = 0 if self.order.upto(a, 0) else a
                high = size if self.order.upto(size, b) else b
                known = self.order.upto(0, low) and self.order.upto(high, size)
                if not (known and self.order.upto(low, high)):
                    return None
                box.append((low, high))
            else:
                found.append(Piece(tuple(box), moved.source, moved.shift))
        return Pieces(tuple(found), False)

"""Borders: elementwise steps over arrays put together of parts are computed part by part.

A stencil reads shifted arrays: rolled for periodic ends, padded, joined with the values at a wall,
or zero but for the inside. Each of them is an assembly, and as an array of its own it is written
and read again by the loop that wants its elements. But within a *cell*, the rows and columns
between two borders of all of its assemblies, a step reads each at a fixed distance from where it is
stored. So the loop is cut at the borders: a group of elementwise steps over a common shape becomes
one for each cell, whose results are assembled, and the shifted arrays are never made::

    u[i - 1, j] + u[i, j + 1]     0 < i < n, 0 <= j < m - 1        (the inside)
    u[n - 1, j] + u[i, j + 1]     i = 0, 0 <= j < m - 1            (periodic: the first row)
    ...

So are sums of shifted parts that lie at the far end of an axis, as the adjoint of ``np.roll`` has
them; others are read from arrays with margins (:mod:`._shifted_sums`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import sympy as sp

from ..base.fork_safety import cached_property
from ..base.sizes import Dimension, Shape
from ..base.switches import is_on
from ..graph import Literal, Node, apply, rebuilt, remade, topological
from ..op import registry
from ..trace import bind_nodes
from ._assemblies import Arrays, Box, Order, Pieces, extents, part, subtract, users_of
from ._shifted_sums import gathered, reads_better

#: Most cells of a group, and most steps that its cells have together: what is cut is compiled as
#: often as it has cells.
MOST_CELLS, MOST_STEPS = 32, 1200


def cut(outputs: Sequence[Node], guards: Mapping[sp.Basic, bool]) -> list[Node]:
    """Return ``outputs`` with elementwise steps over assembled arrays cut at their borders."""
    if not is_on("cut") or not _has_borders(topological(outputs)):
        return list(outputs)
    outputs, margins = gathered(outputs)
    steps = _Steps(outputs, guards, margins)
    groups = [g for g in steps.groups() if g.worthwhile]
    return _written(steps, outputs, groups) if groups else list(outputs)


def _has_borders(nodes: Sequence[Node]) -> bool:
    """Tell whether an assembly is read or adds: that of a result may just place what there is."""
    read = {x for n in nodes for x in n.operands}
    return any(n.op.name == "Assemble" and (n in read or not n.params["disjoint"]) for n in nodes)


class _Steps:
    """The steps of a graph, and which of them may be cut together."""

    def __init__(
        self, outputs: Sequence[Node], guards: Mapping[sp.Basic, bool], whole: frozenset[Node]
    ) -> None:
        self.nodes, self.outputs = topological(outputs), frozenset(outputs)
        self.users = users_of(self.nodes)
        sums = set(filter(reads_better, self.nodes))
        self.pieces = Arrays(self.nodes, Order(self.nodes, guards), whole, sums)

    def groups(self) -> list[_Group]:
        """Return the steps that are computed together, cell by cell, where they can be."""
        rounds = self._rounds()
        home: dict[Node, _Group] = {}
        for node in self.nodes:
            if not self._cuts(node, home):
                continue
            key = node.shape, rounds[node]
            near = [home[x] for x in node.operands if x in home and home[x].key == key]
            group = near[0] if near else _Group(self, key)
            for other in near[1:]:
                if other is not group:
                    for member in other.members:
                        home[member] = group
                    group.members = {**group.members, **other.members}
            group.members[node] = None
            home[node] = group
        found = list(dict.fromkeys(home.values()))
        for group in found:
            self._extend(group, home)
        return found

    def _cuts(self, node: Node, home: Mapping[Node, _Group]) -> bool:
        """Tell whether a step has something to gain from being computed cell by cell."""
        pieces = self.pieces[node]
        if pieces is not None and pieces.added:
            return True
        if node.op.kind != "map" or not node.shape:
            return False
        return any(
            x.shape == node.shape and (self.pieces[x] is not None or x in home)
            for x in node.operands
        )

    def _rounds(self) -> dict[Node, int]:
        """Return in which round of loops each step runs: what it reads elsewhere is done before."""
        done: dict[Node, int] = {}
        for node in self.nodes:
            near = node.op.kind in ("map", "leaf")
            pieces = self.pieces[node]
            sources = node.operands if pieces is None else [p.source for p in pieces.pieces]
            if node.op.kind == "view" or pieces is not None:
                done[node] = max((self._after(x, done) for x in sources), default=0)
            else:
                done[node] = max(
                    (done[x] if near and x.shape == node.shape else self._after(x, done)
                     for x in sources), default=0)  # fmt: skip
        return done

    def _after(self, x: Node, done: Mapping[Node, int]) -> int:
        """Return the round from which on a value can be read from memory."""
        return done[x] + (x.op.kind not in ("leaf", "view") and self.pieces[x] is None)

    def _extend(self, group: _Group, home: dict[Node, _Group]) -> None:
        """Add the steps before it that serve no one else."""
        waiting = list(group.members)
        while waiting:
            for x in waiting.pop().operands:
                if x in home or x.op.kind != "map" or x.shape != group.shape or x in self.outputs:
                    continue
                if all(home.get(user) is group for user in self.users[x]):
                    group.members[x], home[x] = None, group
                    waiting.append(x)


class _Group:
    """Elementwise steps over one shape in one round, which are cut together."""

    def __init__(self, steps: _Steps, key: tuple[Shape, int]) -> None:
        self.steps, self.key = steps, key
        self.members: dict[Node, None] = {}

    @property
    def shape(self) -> Shape:
        """The shape of every member."""
        return self.key[0]

    @cached_property
    def read(self) -> dict[Node, Pieces]:
        """The arrays in pieces that members read."""
        found = {}
        for node in self.members:
            for x in (node, *node.operands):
                pieces = self.steps.pieces[x]
                if pieces is None or x.shape != self.shape:  # along other axes
                    continue
                if x is node or x not in self.members:
                    found[x] = pieces
        return found

    @cached_property
    def grid(self) -> list[list[Dimension]] | None:
        """The borders along each axis, in their order, with its ends; None if it is not known."""
        found = []
        for axis, size in enumerate(self.shape):
            borders: list[Dimension] = [0, size]
            for pieces in self.read.values():
                borders += itertools.chain(*(piece.box[axis] for piece in pieces.pieces))
            row = self.steps.pieces.order.row(borders)
            if row is None:
                return None
            found.append(row)
        return found

    @property
    def worthwhile(self) -> bool:
        """Whether fewer arrays are stored when it is cut, and its code stays short enough."""
        if self.grid is None:
            return False
        count = math.prod(len(row) - 1 for row in self.grid)
        if not 1 < count <= MOST_CELLS or count * len(self.members) > MOST_STEPS:
            return False
        return len(self._spared()) > len(self._stored()) + self._fused()

    def _fused(self) -> int:
        """Return how many of the steps go to places of their own in the loop that computes them.

        Assembled, they are written and read once more.
        """
        found, waiting = 0, [*self.members]
        while waiting:
            for user in self.steps.users[waiting.pop()]:
                if user.op.kind == "view":
                    waiting.append(user)
                found += user.op.kind == "scatter" and user not in self.members
        return found

    def _spared(self) -> set[Node]:
        """Return the assemblies that nobody needs as arrays any more."""
        spared, users = set(), self.steps.users
        for x in self.read:
            if x in self.members:
                spared.add(x)  # its parts are added to it no more
                continue
            base = x
            while base.op.name == "Slice":
                base = base.operands[0]
            waiting, used = [base], False
            while waiting and not used:
                node = waiting.pop()
                used = node in self.steps.outputs
                for user in users[node]:
                    if user in self.members:
                        continue
                    if self.steps.pieces[user] is None:
                        used = True
                    waiting.append(user)
            if not used:
                spared.add(base)
        return spared

    def _stored(self) -> set[Node]:
        """Return what is stored because it is cut, which a loop had in registers before."""
        found = set()
        for node in self.members:
            outside = [user for user in self.steps.users[node] if user not in self.members]
            local = [u for u in outside if u.op.kind in ("map", "reduce", "contract")]
            if local and len(local) == len(outside) and node not in self.steps.outputs:
                found.add(node)
            for x in node.operands:
                if x in self.members or x.shape != self.shape or self.steps.pieces[x] is not None:
                    continue
                if x.op.kind in ("map", "gather") and not self._in_memory(x):
                    found.add(x)
        return found

    def _in_memory(self, x: Node) -> bool:
        """Tell whether a step is stored whether its readers are cut or not."""
        users = self.steps.users[x]
        return x in self.steps.outputs or any(
            u.op.kind not in ("map", "reduce", "contract") or u.shape != x.shape for u in users
        )


# ---------------------------------------------------------------- writing


def _written(steps: _Steps, outputs: Sequence[Node], groups: Sequence[_Group]) -> list[Node]:
    """Return ``outputs`` with the members of groups computed cell by cell."""
    home = {node: group for group in groups for node in group.members}
    writers = {group: _Writer(group) for group in groups}
    new: dict[Node, Node] = {}

    def change(node: Node, _: tuple[Node, ...]) -> Node | None:
        if node not in home:
            return None
        whole = node in steps.outputs or any(
            home.get(user) is not home[node] for user in steps.users[node]
        )
        return writers[home[node]].visit(node, new, whole)

    return rebuilt(outputs, change, new)


class _Writer:
    """The cells of a group's members."""

    def __init__(self, group: _Group) -> None:
        self.group = group
        assert group.grid is not None
        self.grid = group.grid
        rows = [list(itertools.pairwise(row)) for row in group.grid]
        self.boxes: list[Box] = list(itertools.product(*rows))
        self.cells: dict[Node, list[Node]] = {}

    def visit(self, node: Node, new: Mapping[Node, Node], whole: bool) -> Node:
        """Write a member's cells; return it as an array, or as it was if nobody needs that."""
        pieces = self.group.steps.pieces[node]
        cells = self.cells[node] = []
        for number, box in enumerate(self.boxes):
            if pieces is not None:
                cells.append(self._read(node, pieces, number, new))
                continue
            operands = tuple([self._operand(x, number, new) for x in node.operands])
            cells.append(remade(node, operands, extents(box)))
        if not whole:
            return node
        regions = tuple(
            tuple((low, 1, size) for (low, _), size in zip(box, extents(box), strict=True))
            for box in self.boxes
        )
        items = {"shape": node.shape, "regions": regions, "disjoint": True}
        return bind_nodes(registry.ops["Assemble"], tuple(cells), items)

    def _operand(self, x: Node, number: int, new: Mapping[Node, Node]) -> Node:
        """Return what a member reads of an operand in a cell."""
        if x in self.cells:
            return self.cells[x][number]
        pieces = self.group.steps.pieces[x]
        if pieces is not None and not pieces.added and x.shape == self.group.shape:
            return self._read(x, pieces, number, new)
        box = self.boxes[number][len(self.group.shape) - x.ndim :]
        ends = [(0, d) if d == 1 else end for d, end in zip(x.shape, box, strict=True)]
        return part(new[x], ends)

    def _read(self, x: Node, pieces: Pieces, number: int, new: Mapping[Node, Node]) -> Node:
        """Return the elements of an array in pieces that lie in a cell."""
        box, found = self.boxes[number], None
        for place, source, shift in pieces.pieces:
            if not self._covers(place, number):
                continue
            if source in self.cells and source.shape == x.shape and not any(shift):
                value = self.cells[source][number]
            else:
                there = [(subtract(a, d), subtract(b, d))
                         for (a, b), d in zip(box, shift, strict=True)]  # fmt: skip
                value = part(new[source], there)
            if not pieces.added:
                return value
            if found is None and source is x.operands[0] and source.shape == x.shape:
                found = value  # it is written, and the others are added to it
                continue
            found = self._zeros(x, box) if found is None else found
            found = apply(registry.ops["Add"], (found, value), (), value.shape, x.dtype)
        return self._zeros(x, box) if found is None else found

    def _covers(self, piece: Box, number: int) -> bool:
        """Tell whether a piece lies over a cell; else it lies beside it."""
        return all(
            row.index(begin) <= row.index(low) and row.index(high) <= row.index(end)
            for row, (low, high), (begin, end) in zip(
                self.grid, self.boxes[number], piece, strict=True
            )
        )

    @staticmethod
    def _zeros(x: Node, box: Box) -> Node:
        zero = Literal(0, x.dtype)
        return bind_nodes(registry.ops["Broadcast"], (zero,), {"shape": extents(box)})

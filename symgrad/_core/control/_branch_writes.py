"""Branches that write single places of an array, or read them: what leaves a branch is small.

A side that assigns to ``y[i]`` has the array with one element written over as its result, and
one that does not has the array itself: a branch with such results copies the array, in each step
of a loop. Here its results are the elements and their places, and they are written behind it;
where a side writes nothing, what is at the first place is written there. Likewise the cotangent
of an array of which a side reads elements is not an array of zeros but for some places, but
these places and what is added there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ..graph import Input, Literal, Node, element_count, rebuilt, remade, topological
from ..ops import SLICE
from ..ops.gathers import GATHER, SCATTER
from ..ops.updates import PUT
from ..trace import Traced, as_node, bind_nodes, substitute
from ._element_writes import Change, change_of, is_zero, terms
from ._fields import zeros
from ._sums import SMALL

FIRST = Literal(0, np.int64)

#: Up to so many elements are read before a branch, though a side may not need them.
FEW = 16


@dataclass(frozen=True)
class Placed:
    """Results of the cases of a branch as values at places.

    Attributes
    ----------
    axes:
        The axes that places are on.
    columns:
        For each case its values, each followed by its place on each axis; all are as many.
    """

    axes: tuple[int, ...]
    columns: list[list[Node]]

    @property
    def width(self) -> int:
        """How many nodes make up one change."""
        return 1 + len(self.axes)


def written(
    cases: Sequence[Node], inputs: Sequence[Input]
) -> tuple[Input, list[list[Change]]] | None:
    """Return which input the results of all cases are, and what each has written over in it.

    None if that is not so, or the array is small.
    """
    root: Node | None = None
    chains: list[list[Change]] = []
    for node in cases:
        chain: list[Change] = []
        while node.op is PUT:
            value, base, *places = node.operands
            chain.append((value, node.params["axes"], tuple(places)))
            node = base
        if root is None:
            root = node
        if node is not root or not isinstance(node, Input) or node not in inputs:
            return None
        chains.append(chain[::-1])
    assert isinstance(root, Input)
    return (root, chains) if any(chains) and _open(root, chains) else None


def _open(array: Node, chains: Sequence[Sequence[Change]]) -> bool:
    """Tell whether all places are on the same axes, and these of a large array not empty."""
    found = {axes for chain in chains for _, axes, _ in chain}
    if len(found) != 1 or element_count(array) <= SMALL:
        return False
    sizes = [array.shape[k] for k in next(iter(found))]
    return all(isinstance(n, (int, sp.Symbol)) for n in sizes)


def placed_over(old: Node, chains: Sequence[Sequence[Change]]) -> Placed:
    """Return chains of equal length; ``old`` is what lies at the first place of all axes."""
    axes = next(axes for chain in chains for _, axes, _ in chain)
    longest = max(map(len, chains))
    nothing: Change = (old, axes, (FIRST,) * len(axes))
    full = [[*c, *[c[-1] if c else nothing] * (longest - len(c))] for c in chains]
    return Placed(axes, [[x for v, _, at in c for x in (v, *at)] for c in full])


def first_of(array: Node, axes: tuple[int, ...]) -> Node:
    """Return what lies at the first place of some axes."""
    return bind_nodes(GATHER, (array, *(FIRST,) * len(axes)), {"axes": axes, "at": 0})


def put_back(array: Node, placed: Placed, found: Sequence[Node]) -> Node:
    """Write what a branch has found over an array."""
    params = {"axes": placed.axes, "at": 0, "shape": array.shape}
    for k in range(0, len(found), placed.width):
        value, *places = found[k : k + placed.width]
        array = bind_nodes(PUT, (value, array, *places), params)
    return array


def added(cases: Sequence[Node]) -> Placed | None:
    """Return arrays that are zero but for single places as these, None if one is not."""
    chains: list[list[Change]] = []
    for node in cases:
        changes = [change_of(x, node) for x in terms(node) if not is_zero(x)]
        if None in changes:
            return None
        chains.append([c for c in changes if c is not None])
    if not any(chains) or not _open(cases[0], chains):
        return None
    axes, value = next((axes, value) for chain in chains for value, axes, _ in chain)
    nothing: Change = (zeros(value), axes, (FIRST,) * len(axes))
    longest = max(map(len, chains))
    full = [[*c, *[nothing] * (longest - len(c))] for c in chains]
    return Placed(axes, [[x for v, _, at in c for x in (v, *at)] for c in full])


def scattered(like: Node, placed: Placed, found: Sequence[Node]) -> Node:
    """Return the array that is zero but for what a branch has found."""
    params = {"axes": placed.axes, "at": 0, "shape": like.shape}
    parts = [
        Traced(bind_nodes(SCATTER, tuple(found[k : k + placed.width]), params))
        for k in range(0, len(found), placed.width)
    ]
    return as_node(sum(parts[1:], start=parts[0]))


# ---------------------------------------------------------------- what is read


def read_before(
    index: Node, cases: Sequence[Sequence[Node]], inputs: tuple[Input, ...],
    operands: tuple[Node, ...],
) -> tuple[list[list[Node]], tuple[Input, ...], tuple[Node, ...]]:  # fmt: skip
    """Read single places of large arrays before the branch; return cases, inputs and operands.

    So it is elements that a branch depends on, and its derivatives and what is kept for them.
    A place on a side that is not taken may be out of bounds: then the first one is read.
    """
    found: list[list[Node]] = []
    for number, case in enumerate(cases):
        outer: dict[Node, Node] = dict(zip(inputs, operands, strict=True))
        swap: dict[Node, Node] = {}
        case = _looked_through(case)
        for node in topological(case):
            if _is_read(node, outer):
                outer[node] = _read(node, outer, index, number)
                swap[node] = Input(f"e{len(inputs)}", node.shape, node.dtype)
                inputs, operands = (*inputs, swap[node]), (*operands, outer[node])
        found.append(list(substitute(case, swap)) if swap else list(case))
    return found, inputs, operands


def _looked_through(case: Sequence[Node]) -> list[Node]:
    """Read what has been written at a place, not the array with it."""
    return rebuilt(
        case,
        lambda node, operands: _latest(remade(node, operands)) if node.op is GATHER else None,
    )


def _latest(node: Node) -> Node:
    array, *places = node.operands
    if any(x.shape for x in places) or array.op is not PUT or element_count(array) <= SMALL:
        return node
    value, base, *written_at = array.operands
    if array.params["axes"] != node.params["axes"]:
        return node
    before = Traced(_latest(bind_nodes(GATHER, (base, *places), dict(node.items))))
    same: Any = True
    for x, y in zip(places, written_at, strict=True):
        same = np.logical_and(same, np.equal(Traced(x), Traced(y)))
    return as_node(np.where(same, Traced(value), before))


def _is_read(node: Node, outer: Mapping[Node, Node]) -> bool:
    if node.op not in (GATHER, SLICE) or node.operands[0] not in outer:
        return False
    array, *places = node.operands
    if element_count(array) <= SMALL or element_count(node) > FEW:
        return False
    if node.op is SLICE:
        return all(isinstance(start, int) if size is None else (start, step, size) == (0, 1, extent)
                   for (start, step, size), extent
                   in zip(node.params["region"], array.shape, strict=True))  # fmt: skip
    sizes = [array.shape[k] for k in node.params["axes"]]
    known = all(isinstance(n, (int, sp.Symbol)) for n in sizes)
    return known and all(_is_cheap(place, outer) for place in places)


def _is_cheap(place: Node, outer: Mapping[Node, Node]) -> bool:
    """Tell whether an index is arithmetic of single numbers from outside."""
    stack = [place]
    while stack:
        node = stack.pop()
        if node.shape or not (node in outer or node.op.kind in ("leaf", "map")):
            return False
        if node not in outer:
            stack.extend(node.operands)
    return True


def _read(node: Node, outer: Mapping[Node, Node], index: Node, number: int) -> Node:
    if node.op is SLICE:
        return substitute([node], outer)[0]
    array, *places = substitute(node.operands, outer)
    taken = np.equal(Traced(index), number)
    safe = [as_node(np.where(taken, Traced(place), 0), np.int64) for place in places]
    return bind_nodes(GATHER, (array, *safe), dict(node.items))


def used(
    inputs: Sequence[Input], operands: Sequence[Node], cases: Sequence[Sequence[Node]]
) -> tuple[tuple[Input, ...], tuple[Node, ...]]:
    """Return the inputs that cases depend on, with what they stand for."""
    reached = {x for case in cases for x in topological(case)}
    pairs = [(x, y) for x, y in zip(inputs, operands, strict=True) if x in reached]
    return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)

"""Numbers that Python has computed one by one and put into an array, as arrays.

``np.array([u[k + 1] - 2*u[k] + u[k - 1] for k in range(1, n - 1)])``, or a loop that assigns
``slope[k]``, is traced as the steps of each number. Where those of many are the same but for the
elements that they read and for numbers written in the code, they become one expression of
slices: a program that does not grow with their count, and vectors. Each number is computed by the
same operations; functions of vectors may differ in the last digit from those of numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.state import at, now
from ..graph import Constant, Literal, Node, rebuilt, remade, topological
from ..op import Map
from ..ops import ASSEMBLE, SLICE
from ..ops.gathers import GATHER
from ..trace import SHORT_LAST_AXIS, Traced, as_node

#: A shorter array would be written out again.
LEAST = SHORT_LAST_AXIS + 1

#: Numbers that are computed side by side.
Lanes = tuple[Node, ...]

Place = tuple[int, ...]


class _Run(NamedTuple):
    """Parts of an assembly in a row: their region in it, which they are, and what they are."""

    region: tuple[Any, ...]
    parts: tuple[int, ...]
    lanes: Lanes


def in_arrays(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with numbers that are computed alike, and put together, as arrays.

    Not where rounding is promised: NumPy's functions of arrays need not round as those of numbers.
    """
    found, order = list(outputs), topological(outputs)
    if now().promised:
        return found
    wide = [n for n in order if n.op is ASSEMBLE and len(n.operands) >= LEAST]
    kinds = _kinds(order) if wide else {}
    runs = {n: of_it for n in wide if (of_it := list(_runs(n, kinds)))}
    if not runs:
        return found
    done: dict[Node, Node] = {}
    together = _Together(done)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node not in runs:
            return None
        taken = {k for run in runs[node] for k in run.parts}
        parts = [(together(run.lanes), run.region) for run in runs[node]]
        parts += [
            (x, region)
            for k, (x, region) in enumerate(zip(operands, node.params["regions"], strict=True))
            if k not in taken
        ]
        nodes, regions = zip(*parts, strict=True)
        return _assembled(nodes, regions, node.params["shape"])

    made = rebuilt(found, change, done)
    # Where the numbers are needed by themselves, too, they stay beside the arrays.
    return made if len(topological(made)) <= len(order) - LEAST else found


def _assembled(parts: Sequence[Node], regions: Sequence[Any], shape: Any) -> Node:
    return as_node(ASSEMBLE(*map(Traced, parts), shape=shape, regions=regions, disjoint=True))


def _kinds(order: Sequence[Node]) -> dict[Node, int]:
    """Return what kind of expression each number is: which elements and numbers it is of aside."""
    found: dict[Node, int] = {}
    known: dict[Any, int] = {}
    for node in order:
        if node.shape:
            continue
        key: tuple[Any, ...] = ("itself", node)
        if isinstance(node, Literal):
            key = ("number", node.dtype)
        elif _is_element(node):
            key = ("element", node.operands[0])
        elif isinstance(node.op, Map) and all(x in found for x in node.operands):
            key = (node.op, node.items, node.dtype, *(found[x] for x in node.operands))
        found[node] = known.setdefault(key, len(known))
    return found


def _is_element(node: Node) -> bool:
    """Tell whether a number is an element of an array at a place that is known."""
    return node.op is SLICE and all(isinstance(at, int) for at, _, _ in node.params["region"])


def _place(region: Any) -> Place | None:
    """Return the place of a part that is one number; None if it is more."""
    if all(size is None and isinstance(at, int) for at, _, size in region):
        return tuple(at for at, _, _ in region)
    return None


def _runs(node: Node, kinds: dict[Node, int]) -> Iterator[_Run]:
    """Yield the parts of an assembly that are of one kind, in rows with equal distances."""
    if not node.params["disjoint"]:
        return
    groups: defaultdict[int, list[tuple[Place, int]]] = defaultdict(list)
    for k, (x, region) in enumerate(zip(node.operands, node.params["regions"], strict=True)):
        place = _place(region)
        if place is not None and isinstance(x.op, Map) and x in kinds:
            groups[kinds[x]].append((place, k))
    for group in groups.values():
        group.sort()
        places = np.array([place for place, _ in group])
        begin = 0
        while len(group) - begin >= LEAST:
            step = places[begin + 1] - places[begin]
            equal = (places[begin + 1 :] - places[begin:-1] == step).all(axis=1)
            count = 1 + (len(equal) if equal.all() else int(equal.argmin()))
            if count >= LEAST and np.count_nonzero(step) == 1:
                parts = tuple([k for _, k in group[begin : begin + count]])
                lanes = tuple([node.operands[k] for k in parts])
                yield _Run(_along(places[begin], step, count), parts, lanes)
                begin += count
            else:
                begin += count - 1


def _along(first: Any, step: Any, count: int) -> tuple[Any, ...]:
    """Return the region of so many places, which goes along one axis."""
    return tuple(
        (int(at), int(pace), count) if pace else (int(at), 1, None)
        for at, pace in zip(first, step, strict=True)
    )


class _Together:
    """Expressions of one kind as one, of arrays with an element for each.

    Parameters
    ----------
    changed:
        What has become of the nodes that they are computed from.
    """

    def __init__(self, changed: dict[Node, Node]) -> None:
        self.changed = changed
        self.done: dict[Lanes, Node] = {}

    def __call__(self, lanes: Lanes) -> Node:
        """Return the array of such numbers."""
        waiting = [lanes]
        while waiting:
            last = waiting[-1]
            if last not in self.done:
                at(last[0].where)
                made = self._leaf(last)
                if made is None:
                    operands = list(zip(*(x.operands for x in last), strict=True))
                    missing = [x for x in operands if x not in self.done]
                    if missing:
                        waiting += missing
                        continue
                    given = tuple([self.done[x] for x in operands])
                    made = remade(last[0], given, (len(last),))
                self.done[last] = made
            waiting.pop()
        return self.done[lanes]

    def _leaf(self, lanes: Lanes) -> Node | None:
        """Return the array if it is not computed of other such arrays, else None."""
        first, different = lanes[0], len(set(lanes))
        if different == 1:
            return self.changed[first]
        if isinstance(first, Literal):
            return Constant(np.array([x.value for x in lanes], first.dtype))
        if first.op is SLICE:
            places = np.array([[k for k, _, _ in x.params["region"]] for x in lanes])
            return _elements(self.changed[first.operands[0]], places)
        if 2 * different <= len(lanes):  # a few numbers, which are not computed again and again
            regions = tuple([((k, 1, None),) for k in range(len(lanes))])
            return _assembled([self.changed[x] for x in lanes], regions, (len(lanes),))
        return None


def _elements(source: Node, places: Any) -> Node:
    """Return elements of an array, as a slice of it where they lie in a row."""
    steps = np.diff(places, axis=0)
    if (steps == steps[0]).all() and np.count_nonzero(steps[0]) == 1:
        return as_node(SLICE(Traced(source), region=_along(places[0], steps[0], len(places))))
    indices = [Traced(Constant(x)) for x in places.T]
    return as_node(GATHER(Traced(source), *indices, axes=tuple(range(len(indices))), at=0))

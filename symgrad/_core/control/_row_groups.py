"""Assemblies of rows of one array: as few slices as there are runs of them.

``np.stack`` of what each round of a loop gave, once that is the row of a stack, is the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.state import within
from ..base.switches import is_on
from ..graph import Node, apply
from ..ops import ASSEMBLE, RESHAPE, SLICE, TRANSPOSE
from ..trace import Traced, as_node, bind_nodes

#: Assemblies of fewer parts stay as they are.
PARTS = 16


class _Taken(NamedTuple):
    """What parts have in common that are taken of rows of a stack, along its first axis.

    ``picks`` takes them of a row; they go to places along ``axis``, and ``others`` along the rest.
    """

    stack: Node
    picks: Any
    axis: int
    others: Any


class _Part(NamedTuple):
    """A part of an assembly; if it is of row ``row`` of a stack, it goes to ``place``."""

    node: Node
    region: Any
    taken: _Taken | None = None
    row: int = 0
    place: int = 0


def _part(node: Node, region: Any, shape: Sequence[Any]) -> _Part:
    """Return a part, as what is taken of a row and where it goes to, where it is that."""
    plain = _Part(node, region)
    inner = node
    while inner.op is RESHAPE or _in_order(inner):
        inner = inner.operands[0]
    axis = _axis(region, shape)
    if inner.op is not SLICE or axis is None:
        return plain
    stack, ((row, _, size), *rest) = _read(inner)
    place, others = region[axis][0], (*region[:axis], *region[axis + 1 :])
    picks = tuple((at, pace, None if n == 1 else n) for at, pace, n in rest)
    if size is not None or _long(picks) != _long(others):
        return plain
    if not (isinstance(row, int) and isinstance(place, int)):
        return plain
    return _Part(node, region, _Taken(stack, picks, axis, others), row, place)


def _in_order(node: Node) -> bool:
    """Return whether a node is a transpose that leaves the elements in their order."""
    if node.op is not TRANSPOSE:
        return False
    shape = node.operands[0].shape
    moved = [a for a in node.params["axes"] if shape[a] != 1]
    return moved == sorted(moved)


def _axis(region: Any, shape: Sequence[Any]) -> int | None:
    """Return the longest axis of an array along which a part of it has one place."""
    found = [
        (d, k) for k, d in enumerate(shape) if region[k][2] in (1, None) and isinstance(d, int)
    ]
    return max(found)[1] if found else None


def _long(region: Any) -> list[Any]:
    """Return the sizes of a part, without those of axes that make no difference."""
    return [n for _, _, n in region if n is not None and n != 1]


def _read(node: Node) -> tuple[Node, tuple[Any, ...]]:
    """Return the array that slices of slices are a part of, and which part."""
    [source], read = node.operands, node.params["region"]
    while source.op is SLICE:
        inner = iter(read)
        read = tuple(
            (start, step, size) if size is None else (start + step * at, step * pace, count)
            for start, step, size in source.params["region"]
            for at, pace, count in ([(0, 1, None)] if size is None else [next(inner)])
        )
        [source] = source.operands
    return source, read


def joined(node: Node) -> Node:
    """Return an assembly of many parts with runs of rows as one part each; others as they are."""
    if node.op is not ASSEMBLE or len(node.operands) < PARTS or not node.params["disjoint"]:
        return node
    shape, regions = node.params["shape"], node.params["regions"]
    parts = [_part(x, r, shape) for x, r in zip(node.operands, regions, strict=True)]
    kinds: dict[Any, int] = {}
    # They were perhaps written from the last one on, or in turn to several rows.
    parts.sort(key=lambda part: (kinds.setdefault(part.taken, len(kinds)), part.place))
    runs = _runs(parts)
    if len(runs) == len(parts):
        return node
    nodes, places = zip(*(_run(run) for run in runs), strict=True)
    if len(nodes) == 1 and nodes[0].shape == shape and nodes[0].dtype == node.dtype:
        return nodes[0]  # type: ignore[no-any-return]
    items = tuple((k, places if k == "regions" else v) for k, v in node.items)
    return apply(node.op, nodes, items, node.shape, node.dtype)


def _runs(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Cut parts where rows do not follow each other."""
    runs: list[list[_Part]] = []
    for part in parts:
        if runs and _goes_on(runs[-1], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _goes_on(run: list[_Part], part: _Part) -> bool:
    last = run[-1]
    if part.taken is None or part.taken != last.taken or part.place != last.place + 1:
        return False
    pace = part.row - last.row
    return pace != 0 and (len(run) == 1 or pace == last.row - run[-2].row)


def _run(run: list[_Part]) -> tuple[Node, Any]:
    """Return a run of parts as one part, and its region."""
    first, taken = run[0], run[0].taken
    if len(run) == 1 or taken is None:
        return first.node, first.region
    count, pace = len(run), run[1].row - first.row
    picked = ((first.row, pace, count), *taken.picks)
    rows = Traced(bind_nodes(SLICE, (taken.stack,), {"region": picked}))
    before, behind = taken.others[: taken.axis], taken.others[taken.axis :]
    region = (*before, (first.place, 1, count), *behind)
    sizes = tuple(n for _, _, n in region if n is not None)
    return as_node(np.moveaxis(rows, 0, len(_long(before))).reshape(sizes)), region


def all_of(conditions: Sequence[Node]) -> list[Node]:
    """Return conditions with neighbouring elements of one array as one condition."""
    if not is_on("join"):
        return list(conditions)
    parts = [_part(x, ((k, 1, None),), (len(conditions),)) for k, x in enumerate(conditions)]
    found = []
    for run in _runs(parts):
        if len(run) < PARTS:
            found += [part.node for part in run]
            continue
        with within(where=run[0].node.where):
            found.append(as_node(np.all(Traced(_run(run)[0]))))
    return found

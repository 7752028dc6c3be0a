"""Assemblies of rows of one array: as few slices as there are runs of them.

``np.stack`` of what each round of a loop gave, once that is the row of a stack, is the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._graph import Node, apply
from .._ops import ASSEMBLE, RESHAPE, SLICE
from .._state import within
from .._trace import Traced, as_node, bind_nodes

#: Assemblies of fewer parts stay as they are.
PARTS = 16


class _Part(NamedTuple):
    """A part of an assembly; if it is row ``row`` of ``stack``, it goes to place ``place``."""

    node: Node
    region: Any
    stack: Node | None = None
    row: int = 0
    place: int = 0


def _part(node: Node, region: Any, shape: Sequence[Any]) -> _Part:
    """Return a part, as a row along the first axis of both arrays where it is one."""
    plain = _Part(node, region)
    inner = node
    while inner.op is RESHAPE:
        inner = inner.operands[0]
    if inner.op is not SLICE:
        return plain
    [stack], read = inner.operands, inner.params["region"]
    (row, _, size), (place, _, extent) = read[0], region[0]
    alike = stack.shape[1:] == tuple(shape[1:]) and size is None and extent in (1, None)
    whole = all(e == (0, 1, d) for e, d in zip(read[1:], stack.shape[1:], strict=True)) and all(
        e == (0, 1, d) for e, d in zip(region[1:], shape[1:], strict=True)
    )
    if not (alike and whole and isinstance(row, int) and isinstance(place, int)):
        return plain
    return _Part(node, region, stack, row, place)


def joined(node: Node) -> Node:
    """Return an assembly of many parts with runs of rows as one part each; others as they are."""
    if node.op is not ASSEMBLE or len(node.operands) < PARTS or not node.params["disjoint"]:
        return node
    shape, regions = node.params["shape"], node.params["regions"]
    parts = [_part(x, r, shape) for x, r in zip(node.operands, regions, strict=True)]
    parts.sort(key=lambda part: part.place)  # they were perhaps written from the last one on
    runs = _runs(parts)
    if len(runs) == len(parts):
        return node
    nodes, places = zip(*(_run(run, shape) for run in runs), strict=True)
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
    if part.stack is None or part.stack is not last.stack or part.place != last.place + 1:
        return False
    pace = part.row - last.row
    return pace != 0 and (len(run) == 1 or pace == last.row - run[-2].row)


def _run(run: list[_Part], shape: Sequence[Any]) -> tuple[Node, Any]:
    """Return a run of rows as one part, and its region."""
    first = run[0]
    if len(run) == 1 or first.stack is None:
        return first.node, first.region
    count, pace = len(run), run[1].row - first.row
    rest = tuple((0, 1, d) for d in shape[1:])
    rows = bind_nodes(SLICE, (first.stack,), {"region": ((first.row, pace, count), *rest)})
    return rows, ((first.place, 1, count), *rest)


def all_of(conditions: Sequence[Node]) -> list[Node]:
    """Return conditions with neighbouring elements of one array as one condition."""
    parts = [_part(x, ((k, 1, None),), (len(conditions),)) for k, x in enumerate(conditions)]
    found = []
    for run in _runs(parts):
        if len(run) < PARTS:
            found += [part.node for part in run]
            continue
        with within(where=run[0].node.where):
            found.append(as_node(np.all(Traced(_run(run, (len(conditions),))[0]))))
    return found

"""Folding: a large computation as a picture of a few boxes, by user function or by level.

Boxes are runs of steps in the order in which they were computed, so no two boxes depend on
each other both ways. A run ends where the user's function changes, or where its code comes
back to the line it began with: another call, or another round of a loop. If there are still
too many, neighbours are joined; if one run is nearly all, it is divided by level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar

from .._core.graph import Where
from ._graph_view import Link, Vertex, View, slope_label

T = TypeVar("T")

#: Pictures of more vertices are folded.
LIMIT = 60


class Box(NamedTuple):
    """One or more vertices that are drawn as one.

    Attributes
    ----------
    members:
        The numbers of the vertices.
    title, lines:
        What is written into a box of several.
    exit:
        The one vertex that others use, or None if there are several.
    """

    members: tuple[int, ...]
    title: str = ""
    lines: tuple[str, ...] = ()
    exit: int | None = None


class Arrow(NamedTuple):
    """The links between two boxes."""

    source: int
    target: int
    links: tuple[Link, ...]


class Folded(NamedTuple):
    """Boxes in the order of the computation, and the arrows between them."""

    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


def fold(view: View, limit: int = LIMIT) -> Folded:
    """Return the boxes of a picture: single vertices if there are at most ``limit``."""
    if len(view.vertices) <= limit:
        boxes = [Box((k,), exit=k) for k in range(len(view.vertices))]
        return Folded(boxes, [Arrow(link.source, link.target, (link,)) for link in view.links])
    steps = [k for k, v in enumerate(view.vertices) if v.kind == "op"]
    runs = [list(_divided(run, view)) for run in _runs(steps, view)]
    wanted = max(limit // 4, 1)
    parts: list[Sequence[int]] = [part for run in runs for part in run]
    size = 1
    if len(parts) > wanted:
        size = -(-len(parts) // wanted)
        parts = [[k for part in some for k in part] for some in _pieces(parts, size)]
    elif len(parts) < wanted // 2:
        length = max(len(steps) // (wanted // 2), 2)
        parts = [piece for part in parts for piece in _pieces(part, length)]
    return _boxed(parts, size, view, limit)


def _runs(steps: Sequence[int], view: View) -> Iterator[list[int]]:
    """Yield the steps by the user's function, each time that it is the turn of one."""
    where = _places(steps, view)
    for _, run in groupby(steps, lambda k: (w := where[k]) and (w.filename, w.function)):
        yield list(run)


def _places(steps: Sequence[int], view: View) -> dict[int, Where | None]:
    """Return the line of each step; one that has none belongs to that of the step before."""
    found: dict[int, Where | None] = {}
    before = next((w for k in steps if (w := view.vertices[k].where)), None)
    for k in steps:
        before = found[k] = view.vertices[k].where or before
    return found


def _divided(run: Sequence[int], view: View) -> Iterator[list[int]]:
    """Yield the parts of a run: each begins at its first line, and comes from other lines."""
    lines = [w.line if w else 0 for w in _places(run, view).values()]
    part: list[int] = []
    before = lines[0]
    for k, line in zip(run, lines, strict=True):
        if part and line == lines[0] and before != line:
            yield part
            part = []
        part.append(k)
        before = line
    yield part


def _pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[k : k + size] for k in range(0, len(items), size))


def _boxed(parts: Sequence[Sequence[int]], joined: int, view: View, limit: int) -> Folded:
    home: dict[int, int] = {}
    members: list[list[int]] = []
    single: list[int] = []
    leaves = [k for k, v in enumerate(view.vertices) if v.kind == "leaf"]
    if len(leaves) <= limit // 3:  # few leaves are what the reader asks for
        single = leaves
    for k in single:
        home[k] = len(members)
        members.append([k])
    for part in parts:
        for k in part:
            home[k] = len(members)
        members.append(list(part))
    for link in view.links:  # others are drawn with their first user
        if link.source not in home:
            home[link.source] = home[link.target]
            members[home[link.target]].append(link.source)
    for k in range(len(view.vertices)):
        if k not in home:
            home[k] = len(members)
            members.append([k])
    between: dict[tuple[int, int], list[Link]] = {}
    exits: list[dict[int, None]] = [{} for _ in members]
    for link in view.links:
        pair = home[link.source], home[link.target]
        if pair[0] != pair[1]:
            between.setdefault(pair, []).append(link)
            exits[pair[0]][link.source] = None
    for k, vertex in enumerate(view.vertices):
        if vertex.output:
            exits[home[k]][k] = None
    boxes = [_box(m, list(e), joined, view) for m, e in zip(members, exits, strict=True)]
    return Folded(boxes, [Arrow(a, b, tuple(links)) for (a, b), links in between.items()])


def _box(members: Sequence[int], exits: Sequence[int], joined: int, view: View) -> Box:
    end = exits[0] if len(exits) == 1 else None
    if len(members) == 1:
        return Box(tuple(members), exit=members[0])
    inside = [view.vertices[k] for k in members]
    steps = [v for v in inside if v.kind == "op"]
    leaves = sum(v.kind == "leaf" for v in inside)
    counts = Counter(v.op for v in steps).most_common()
    shown = ", ".join(f"{op} ×{n}" if n > 1 else op for op, n in counts[:3])
    levels = [v.level for v in steps]
    lines = [
        f"{len(steps):,} ops" + (f", {leaves:,} leaves" if leaves else ""),
        shown + (", …" if len(counts) > 3 else ""),
        f"levels {min(levels)}–{max(levels)}"
        if min(levels) < max(levels)
        else f"level {levels[0]}",
    ]
    return Box(tuple(sorted(members)), _title(steps, joined), tuple(lines), end)


def _title(steps: Sequence[Vertex], joined: int) -> str:
    """Name the user's functions, and the lines if all are of one."""
    places = dict.fromkeys((v.where.filename, v.where.function) for v in steps if v.where)
    if not places:
        return "steps"
    names = [f"{name}()" if name != "<module>" else "module" for _, name in places]
    text = ", ".join(names[:2]) + (", …" if len(names) > 2 else "")
    if len(places) > 1:
        return text
    lines = [v.where.line for v in steps if v.where]
    times = 1 + sum(a != b == lines[0] for a, b in pairwise(lines))
    low, high = min(lines), max(lines)
    text += f" ×{times}" if joined > 1 and times > 1 else ""
    return f"{text} line {low}" if low == high else f"{text} lines {low}–{high}"


def arrow_label(arrow: Arrow, folded: Folded) -> str:
    """Return the local derivative of an arrow between two vertices, else how many links it is."""
    if len(arrow.links) > 1:
        return f"×{len(arrow.links)}"
    alone = all(len(folded.boxes[k].members) == 1 for k in (arrow.source, arrow.target))
    return slope_label(arrow.links[0]) if alone else ""

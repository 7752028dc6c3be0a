"""The page that steps through a computation: one HTML file with everything in it.

Layout is done by dagre (``_walk_page/dagre.min.js``) when the page opens, so that neither
Graphviz nor a network is needed and boxes have the size of their text in the reader's font.
"""

from __future__ import annotations

import json
import linecache
import os
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from ._graph_view import WHOLE, Link, Vertex, View, cut, slope_label, value_text
from ._graph_view_fold import LIMIT, Box, arrow_label, fold

#: Arrays of at most this many elements are in the page with all their digits.
EXACT = 32
#: Lines of code around each line that the computation comes from.
AROUND = 3


def page(view: View, limit: int = LIMIT) -> str:
    """Return the page of a view, whose graph is folded beyond ``limit`` vertices."""
    data = json.dumps(_data(view, limit), ensure_ascii=False, separators=(",", ":"))
    # Inside of a script element only these two end it or open a comment.
    data = data.replace("</", "<\\/").replace("<!--", "<\\u0021--")
    texts = {"title": escape(view.title), "data": data}
    return re.sub(
        r"\{\{([\w.]+)\}\}",
        lambda place: texts.get(place[1]) or _file(place[1]),
        _file("walk.html"),
    )


@cache
def _file(name: str) -> str:
    return (files(__package__) / "_walk_page" / name).read_text(encoding="utf-8")


def _data(view: View, limit: int) -> dict[str, Any]:
    folded = fold(view, limit)
    places = sorted({(v.where.filename, v.where.line) for v in view.vertices if v.where})
    names = list(dict.fromkeys(name for name, _ in places))
    home = {k: number for number, box in enumerate(folded.boxes) for k in box.members}
    number = {(link.target, link.slot): k for k, link in enumerate(view.links)}
    return {
        "title": view.title,
        "notes": list(view.notes),
        "files": [os.path.basename(name) for name in names],
        "code": _code(names, places),
        "vertices": [_vertex(v, home[k], names) for k, v in enumerate(view.vertices)],
        "links": _links(view),
        "boxes": [_box(box) for box in folded.boxes],
        "arrows": [
            {
                "a": a.source,
                "b": a.target,
                "label": arrow_label(a, folded),
                "links": [number[x.target, x.slot] for x in a.links],
            }
            for a in folded.arrows
        ],
        "backward": list(view.backward),
    }


def _vertex(vertex: Vertex, box: int, names: Sequence[str]) -> dict[str, Any]:
    where = vertex.where
    return {
        "kind": "output" if vertex.output and vertex.kind == "op" else vertex.kind,
        "name": vertex.name,
        "label": cut(vertex.name),
        "formula": vertex.formula,
        "short": cut(vertex.formula),
        "op": vertex.op,
        "shape": vertex.shape,
        "whole": vertex.value is not None and vertex.value.size <= WHOLE,
        "value": _shown(vertex.value),
        "gradient": _shown(vertex.gradient),
        "held": _shown(vertex.held),
        "where": [names.index(where.filename), where.line] if where else None,
        "function": where.function if where else "",
        "level": vertex.level,
        "output": vertex.output,
        "box": box,
    }


def _shown(value: Any) -> dict[str, str] | None:
    """A value as it is read in the graph, and with all digits."""
    if value is None:
        return None
    array = np.asarray(value)
    exact = repr(array.tolist()) if array.size <= EXACT else value_text(array)
    return {"text": value_text(array), "exact": exact}


def _links(view: View) -> list[dict[str, Any]]:
    """The links, with what has come together at their source when each has been gone back."""
    total: dict[int, Any] = {}
    gathered: dict[tuple[int, int], Any] = {}
    behind: dict[int, list[Link]] = {}
    for link in view.links:
        behind.setdefault(link.target, []).append(link)
    for k in view.backward:
        for link in behind.get(k, ()):
            if link.part is not None:
                known = total.get(link.source)
                total[link.source] = link.part if known is None else known + link.part
                gathered[link.target, link.slot] = total[link.source]
    return [
        {
            "a": link.source,
            "b": link.target,
            "label": slope_label(link),
            "symbol": link.symbol,
            "slope": _shown(link.slope),
            "part": _shown(link.part),
            "total": _shown(gathered.get((link.target, link.slot))),
        }
        for link in view.links
    ]


def _box(box: Box) -> dict[str, Any]:
    return {
        "title": cut(box.title, 44),
        "lines": [cut(line, 44) for line in box.lines],
        "members": list(box.members),
        "exit": box.exit,
    }


def _code(names: Sequence[str], places: Sequence[tuple[str, int]]) -> list[dict[str, str]]:
    """Return for each file the lines around those that the computation comes from."""
    found: list[dict[str, str]] = []
    for name in names:
        near = {
            line for file, at in places if file == name
            for line in range(max(at - AROUND, 1), at + AROUND + 1)
        }  # fmt: skip
        texts = {n: linecache.getline(name, n).rstrip() for n in sorted(near)}
        last = max((n for n, text in texts.items() if text), default=0)
        found.append({str(n): text for n, text in texts.items() if n <= last})
    return found

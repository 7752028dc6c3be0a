"""A view as Graphviz DOT: values on nodes, local derivatives on edges, gradients in orange."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from ._graph_view import WHOLE, Array, Link, Vertex, View, cut, value_text
from ._graph_view_fold import LIMIT, Arrow, Box, Folded, fold

INK, FAINT, SLOPE, GRADIENT = "#1f2937", "#6b7280", "#6d28d9", "#c2410c"
#: Fill, outline and shape of each kind of vertex.
_LOOKS = {
    "leaf": ("#dbeafe", "#2563eb", "box"),
    "constant": ("#f3f4f6", "#9ca3af", "box"),
    "op": ("#ffffff", "#4b5563", "box"),
    "output": ("#ecfdf5", "#047857", "box"),
    "folded": ("#faf5ff", "#7e22ce", "box"),
}
_FONT = 'fontname="Helvetica,Arial,sans-serif"'


def dot_text(view: View, limit: int = LIMIT) -> str:
    """Return the DOT text of a view, folded if it has more than ``limit`` vertices."""
    folded = fold(view, limit)
    lines = [
        "digraph computation {",
        f"    graph [rankdir=TB, bgcolor=white, pad=0.3, nodesep=0.35, ranksep=0.45, {_FONT}];",
        f'    node [style="filled,rounded", {_FONT}, fontsize=11, fontcolor="{INK}"];',
        '    node [margin="0.12,0.06"];',
        f'    edge [{_FONT}, fontsize=10, color="{FAINT}", fontcolor="{SLOPE}", arrowsize=0.7];',
    ]
    if view.notes:
        note = "<BR/>".join(escape(cut(n, 100)) for n in view.notes)
        lines.append(f'    label=<<FONT COLOR="{FAINT}" POINT-SIZE="10">{note}</FONT>>;')
    for number, box in enumerate(folded.boxes):
        lines.append(f"    n{number} [{', '.join(_box(box, view))}];")
    lines += [
        f"    n{arrow.source} -> n{arrow.target} [{_arrow(arrow, view, folded)}];"
        for arrow in folded.arrows
    ]
    return "\n".join([*lines, "}", ""])


def _box(box: Box, view: View) -> Iterator[str]:
    end = view.vertices[box.exit] if box.exit is not None else None
    look: str
    if len(box.members) == 1:
        assert end is not None
        look = "output" if end.output and end.kind == "op" else end.kind
        rows = _rows(end)
    else:
        look = "folded"
        rows = [f"<B>{escape(cut(box.title))}</B>"]
        rows += [_small(escape(cut(line))) for line in box.lines]
        rows += _rows(end)[1:] if end is not None else []
    fill, line, shape = _LOOKS[look]
    body = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{body}</TABLE>'
    yield f"label=<{table}>"
    yield f'shape={shape}, fillcolor="{fill}", color="{line}"'
    if look == "constant":
        yield 'style="filled"'
    if look in ("folded", "output"):
        yield "penwidth=2"
    if end is not None and end.where is not None and len(box.members) == 1:
        yield f'tooltip="{escape(str(end.where))}"'


def _rows(vertex: Vertex) -> list[str]:
    """Return the lines of text in a vertex, as Graphviz's HTML."""
    head = f"<B>{escape(cut(vertex.name))}</B>"
    if vertex.formula:
        head += f" = {escape(cut(vertex.formula))}"
    rows = [head]
    shown = value_text(vertex.value) if vertex.value is not None else ""
    if shown and shown != vertex.name:
        rows.append(escape(shown))
    if vertex.shape and (vertex.value is None or vertex.value.size > WHOLE):
        rows.append(_small(escape(vertex.shape)))
    rows += [_orange(text) for text in gradient_texts(vertex)]
    return rows


def gradient_texts(vertex: Vertex) -> list[str]:
    """Return what is said of a vertex's gradient: this pass's, and ``.grad`` if it differs."""
    texts: list[str] = []
    if vertex.gradient is not None:
        texts.append(f"gradient {value_text(vertex.gradient)}")
    if vertex.held is not None and (
        vertex.gradient is None or not np.array_equal(vertex.held, vertex.gradient, equal_nan=True)
    ):
        texts.append(f".grad {value_text(vertex.held)}")
    return texts


def _small(text: str) -> str:
    return f'<FONT POINT-SIZE="9" COLOR="{FAINT}">{text}</FONT>'


def _orange(text: str) -> str:
    return f'<FONT COLOR="{GRADIENT}">{escape(text)}</FONT>'


def slope_label(link: Link) -> str:
    """Return the local derivative of a link: as a formula, and the number that it is."""
    number = value_text(_level(link.slope)) if link.slope is not None else ""
    if not link.symbol or link.symbol == number:
        return number or link.symbol
    return f"{link.symbol} = {number}" if number and link.symbol != "1" else link.symbol


def arrow_label(arrow: Arrow, folded: Folded) -> str:
    """Return the local derivative of an arrow between two vertices, else how many links it is."""
    if len(arrow.links) > 1:
        return f"×{len(arrow.links)}"
    alone = all(len(folded.boxes[k].members) == 1 for k in (arrow.source, arrow.target))
    return slope_label(arrow.links[0]) if alone else ""


def _level(slope: Array) -> Any:
    """One number instead of an array of nothing else."""
    return slope.flat[0] if slope.size and (slope == slope.flat[0]).all() else slope


def _arrow(arrow: Arrow, view: View, folded: Folded) -> str:
    first = arrow.links[0]
    if len(arrow.links) > 1:
        return f'label="{arrow_label(arrow, folded)}", fontcolor="{FAINT}", penwidth=2'
    if view.vertices[first.source].kind == "constant":
        return 'color="#c4c8ce", style=dashed'
    text = arrow_label(arrow, folded)
    return f"label=< <I>{escape(text)}</I> >" if text else ""

"""Pictures of computations: DOT always, SVG and PNG where Graphviz is, and the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape

import numpy as np

from .._core.base.argument_checks import as_path
from .._core.base.fork_safety import cached_property
from ..errors import ArgumentError, MissingExtraError, MissingProgramError
from ._graph_view import WHOLE, Vertex, View, cut, value_text
from ._graph_view_fold import LIMIT, Arrow, Box, Folded, arrow_label, fold
from ._walk import page

#: What a picture can be written as.
SUFFIXES = (".dot", ".gv", ".svg", ".png", ".pdf", ".html")


class Drawing:
    """A picture of a computation; made by :func:`symgrad.draw`.

    Notebooks show it: as SVG where Graphviz is installed, else as the page in a frame.
    Printing it gives the DOT text.
    """

    def __init__(self, view: View, limit: int = LIMIT) -> None:
        self._view, self._limit = view, limit

    @cached_property
    def dot(self) -> str:
        """The picture in Graphviz's language; needs nothing installed."""
        return dot_text(self._view, self._limit)

    @cached_property
    def html(self) -> str:
        """The page that steps through the computation, as one self-contained text."""
        return page(self._view, self._limit)

    def svg(self) -> str:
        """Return the picture as SVG.

        Raises
        ------
        MissingExtraError, MissingProgramError
            If the package ``graphviz`` or the program ``dot`` is not installed.
        """
        text = self._render("svg").decode()
        return text[text.index("<svg") :]  # a part of a page has no XML declaration

    def png(self) -> bytes:
        """Return the picture as a PNG file's bytes.

        Raises
        ------
        MissingExtraError, MissingProgramError
            If the package ``graphviz`` or the program ``dot`` is not installed.
        """
        return self._render("png")

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the picture to a file, in the format that its name ends in.

        Parameters
        ----------
        file:
            A name ending in .dot, .gv, .svg, .png, .pdf or .html; the last is the page that
            steps through the computation.

        Raises
        ------
        ArgumentError
            If the name ends otherwise.
        MissingExtraError, MissingProgramError
            If the format needs Graphviz and it is not installed; nothing is written then.
        """
        path = as_path(file, "draw: file")
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise ArgumentError(
                f"a picture is written to a file that ends in {', '.join(SUFFIXES)}, "
                f"not to {path.name!r}"
            )
        if suffix == ".html":
            content = self.html.encode()
        elif suffix in (".dot", ".gv"):
            content = self.dot.encode()
        else:
            content = self._render(suffix[1:])
        path.write_bytes(content)

    def _render(self, kind: str) -> bytes:
        try:
            import graphviz
        except ImportError:
            raise MissingExtraError("graphviz", "draw", f"a picture as {kind.upper()}") from None
        # 110 dots an inch: text in a PNG is about as large as on the screen.
        text = self.dot.replace("graph [", "graph [dpi=110, ", 1) if kind == "png" else self.dot
        try:
            return bytes(graphviz.Source(text).pipe(format=kind))
        except graphviz.ExecutableNotFound:
            raise MissingProgramError(
                f"a picture as {kind.upper()} needs Graphviz's program dot: install graphviz "
                "with the system's package manager (apt install graphviz, brew install "
                "graphviz). The DOT text is in .dot, and .save('walk.html') needs nothing"
            ) from None

    def __str__(self) -> str:
        return self.dot

    def __repr__(self) -> str:
        return f"<drawing of {self._view.title}, {len(self._view.vertices)} nodes>"

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg()
        except (MissingExtraError, MissingProgramError):
            return None  # then notebooks ask for HTML

    def _repr_html_(self) -> str | None:
        if self._repr_svg_() is not None:
            return None  # notebooks prefer HTML, and the picture is better there
        return (
            f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:0" '
            'title="The computation, step by step"></iframe>'
        )


# ---------------------------------------------------------------- DOT

# Values on nodes, local derivatives on edges, gradients in orange.
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


def _arrow(arrow: Arrow, view: View, folded: Folded) -> str:
    first = arrow.links[0]
    if len(arrow.links) > 1:
        return f'label="{arrow_label(arrow, folded)}", fontcolor="{FAINT}", penwidth=2'
    if view.vertices[first.source].kind == "constant":
        return 'color="#c4c8ce", style=dashed'
    text = arrow_label(arrow, folded)
    return f"label=< <I>{escape(text)}</I> >" if text else ""

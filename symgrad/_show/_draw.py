"""Pictures of computations: DOT always, SVG and PNG where Graphviz is, and the page."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from .._forks import cached_property
from ..errors import ArgumentError, MissingExtraError, MissingProgramError
from ._draw_dot import dot_text
from ._graph_view import View
from ._graph_view_fold import LIMIT
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
        path = Path(file)
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

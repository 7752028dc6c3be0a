"""What commands print: tables and colours on a terminal, plain text in a pipe."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from .._verify import Table


#: Errors of up to so many ulp are good ones.
SMALL = 4.0

#: A step under a heading: ``    with v1 = v0*x  model.py:3``.
_STEP = re.compile(r"( +)((?:with |where )?)(\S.*?) = (.*?)(  +\S+:\d+)?")


class Output:
    """Standard output, as a person or as a program wants it."""

    def __init__(self) -> None:
        self.console = _terminal()

    def text(self, text: str, style: str = "") -> None:
        """Print text as it stands."""
        if self.console is None:
            sys.stdout.write(_encodable(text) + "\n")
        else:
            self.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    def code(self, text: str, language: str) -> None:
        """Print code, coloured on a terminal."""
        if self.console is None:
            sys.stdout.write(_encodable(text.rstrip("\n")) + "\n")
            return
        from rich.syntax import Syntax

        shown = Syntax(text.rstrip("\n"), language, theme="ansi_dark", background_color="default")
        self.console.print(shown, soft_wrap=True)

    def sections(self, text: str) -> None:
        """Print steps under headings: left sides and the user's lines in colours of their own."""
        if self.console is None:
            self.text(text)
            return
        from rich.text import Text

        for line in text.splitlines():
            found = _STEP.fullmatch(line)
            if found is None:
                self.text(line, "" if line.startswith(" ") else "bold")
                continue
            indent, word, left, right, place = found.groups("")
            parts = ((word, "dim"), (left, "cyan"), (" = ", "dim"), (right, ""), (place, "dim"))
            shown = Text.assemble(indent, *parts)
            self.console.print(shown, soft_wrap=True, highlight=False)

    def equations(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print left and right sides, the signs of equality below each other."""
        if self.console is None:
            width = max((len(left) for left, _ in rows if not left.startswith(" ")), default=0)
            for left, right in rows:
                aligned = left if left.startswith(" ") else f"{left:{width}}"
                sys.stdout.write(_encodable(f"{aligned} = {right}") + "\n")
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
        for left, right in rows:
            table.add_row(Text(left, "cyan"), Text("=", "dim"), Text(right, "bold"))
        self.console.print(table)

    def table(self, table: Table) -> None:
        """Print a report: errors green where they are small, yellow where conditioning explains."""
        if self.console is None:
            sys.stdout.write(_encodable(str(table)) + "\n")
            return
        from rich.text import Text

        self.text(table.title, "bold")
        styles = [
            "green" if ulp <= SMALL else "yellow" if scaled <= SMALL else "red"
            for ulp, scaled in table.errors
        ]
        if self.console.width < _least_width(table):
            self._records(table, styles)
        else:
            self._grid(table, styles)
        for remark in table.remarks:
            head, _, said = remark.partition(": ")
            line = Text.assemble((f"{head}: ", "dim"), said)
            self.console.print(line, soft_wrap=True, highlight=False)

    def _records(self, table: Table, styles: Sequence[str]) -> None:
        """Print each row as lines of headings and cells, where columns would be cut."""
        assert self.console is not None
        from rich.text import Text

        width = max(map(len, table.headings))
        for (name, error, *rest), style in zip(table.rows, styles, strict=True):
            self.console.print(Text(name, "cyan"))
            for heading, cell in zip(table.headings[1:], (error, *rest), strict=True):
                look = style if cell == error else ""
                line = Text.assemble("  ", (f"{heading:{width}}  ", "dim"), (cell, look))
                self.console.print(line, soft_wrap=True, highlight=False)

    def _grid(self, table: Table, styles: Sequence[str]) -> None:
        """Print the rows below their headings."""
        assert self.console is not None
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(box=SIMPLE_HEAD, header_style="dim", pad_edge=False, padding=(0, 1, 0, 0))
        for k, heading in enumerate(table.headings):
            justify: Any = "right" if 0 < k < table.right else "left"
            # Numbers are printed whole: on a narrow terminal the words beside them are folded.
            least = _least_widths(table)[k]
            drawn.add_column(heading, justify=justify, min_width=least, no_wrap=k < table.right)
        for (name, error, *rest), style in zip(table.rows, styles, strict=True):
            drawn.add_row(Text(name, "cyan"), Text(error, style), *map(Text, rest))
        self.console.print(drawn)


def _least_widths(table: Table) -> list[int]:
    """Return the width that each column needs: of its numbers, or of its longest word."""
    widths = []
    for k, column in enumerate(zip(table.headings, *table.rows, strict=True)):
        texts = column if k < table.right else " ".join(column).split()
        widths.append(max(map(len, texts), default=0))
    return widths


def _least_width(table: Table) -> int:
    """Return the width below which columns would be cut: one blank behind each."""
    return sum(width + 1 for width in _least_widths(table))


def complain(message: str) -> None:
    """Print a mistake on standard error; on a terminal its first line and its place in red."""
    lines = f"symgrad: {message}".splitlines()
    if sys.stderr is None:  # closed: the exit status says it
        return
    console = _terminal(stderr=True)
    if console is None:
        with contextlib.suppress(OSError):  # a full disk
            sys.stderr.write("\n".join(lines) + "\n")
        return
    for number, line in enumerate(lines):
        style = "bold red" if line.strip() == "^" else "red" if number == 0 else ""
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _terminal(stderr: bool = False) -> Console | None:
    """Return a console if the output is a terminal and rich is installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=stderr)
    return console if console.is_terminal else None


def _encodable(text: str) -> str:
    """The text with what standard output's encoding does not have replaced."""
    encoding: Any = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)

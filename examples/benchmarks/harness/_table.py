"""The results of a workload as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HEADS = ("case", "peer", "first", "call", "spread", "ratio", "memory", "error", "cost")


def duration(seconds: float) -> str:
    """Three digits and a unit.

    >>> duration(3.3e-7), duration(0.01234), duration(75.0)
    ('330 ns', '12.3 ms', '75.0 s')
    """
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 10 else f"{seconds:.1f} s"


def size(number: float | None) -> str:
    """Bytes with a unit."""
    if number is None:
        return ""
    for unit, each in (("kB", 1e3), ("MB", 1e6)):
        if number < 1000 * each:
            return f"{number / each:.3g} {unit}"
    return f"{number / 1e9:.3g} GB"


def rows(results: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return the cells; peers in order of their times, those without at the end."""
    cells = []
    for case in dict.fromkeys(r["case"] for r in results):
        those = [r for r in results if r["case"] == case]
        timed = sorted((r for r in those if r.get("call")), key=lambda r: r["call"])
        ours = next((r["call"] for r in timed if r["peer"] == "symgrad"), None)
        for k, r in enumerate(timed):
            spread = (r["high"] - r["low"]) / r["call"]
            cells.append(
                (
                    case if k == 0 else "",
                    r["peer"],
                    duration(r["first"]),
                    duration(r["call"]),
                    f"{spread:.0%}",
                    f"{r['call'] / ours:.2f}" if ours else "",
                    size(r.get("memory")),
                    "" if r["peer"] == "copy" else f"{r['error']:.0e}",
                    f"{r['ratio']:.2f}" if r.get("ratio") else "",
                )
            )
    return cells


def absent(results: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return (case, peer, reason) of what has no times, though written for the peer."""
    timeless = (r for r in results if not r.get("call") and not r.get("unfit"))
    return [(r["case"], r["peer"], r["failed"]) for r in timeless]


def plain(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A table in plain text: the first two columns to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = []
    for row in (heads, *cells):
        padded = [
            c.ljust(w) if k < 2 else c.rjust(w)
            for k, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def show(title: str, results: Sequence[dict[str, Any]], console: Any) -> None:
    """Print the table, by rich where there is a console."""
    cells = rows(results)
    if console is None:
        print(f"\n{title}\n{plain(HEADS, cells)}")
    else:
        from rich.table import Table

        table = Table(title=title, title_justify="left")
        for k, head in enumerate(HEADS):
            table.add_column(head, justify="left" if k < 2 else "right")
        for row in cells:
            table.add_row(*row, style="bold" if row[1] == "symgrad" else None)
        console.print(table)
    reasons: dict[tuple[str, str], list[str]] = {}
    for case, peer, reason in absent(results):
        reasons.setdefault((peer, reason), []).append(case)
    for (peer, reason), cases in reasons.items():
        print(f"  {peer} ({', '.join(cases)}): {reason}")

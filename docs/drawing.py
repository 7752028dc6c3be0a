"""SVG pictures that are readable on a light and on a dark page, for the scripts that draw.

A picture in an ``<img>`` does not see the colours of its page, only the reader's preference. Each
picture therefore has a background, and the style sheet inside of it exchanges every colour of
``COLOURS`` where a dark scheme is preferred.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Each colour by its name: on light pages, on dark ones.
COLOURS = {
    "paper": ("#ffffff", "#161b22"),
    "ink": ("#24292f", "#e6edf3"),
    "grid": ("#d0d7de", "#3d444d"),
    "grey": ("#6e7781", "#8b949e"),
    "blue": ("#0969da", "#58a6ff"),
    "orange": ("#bc4c00", "#f0883e"),
    "green": ("#1a7f37", "#3fb950"),
    "purple": ("#8250df", "#bc8cff"),
    "red": ("#cf222e", "#ff7b72"),
    "teal": ("#1b7c83", "#39c5cf"),
    "brown": ("#953800", "#ffa657"),
    "pink": ("#bf3989", "#f778ba"),
}


def colour(name: str) -> str:
    """Return a colour for Matplotlib."""
    return COLOURS[name][0]


def style_sheet() -> str:
    """Return the exchange of colours where a dark scheme is preferred.

    Matplotlib writes colours into ``style`` attributes, over which only ``!important`` prevails.
    """
    rules = [
        f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
        for light, dark in COLOURS.values()
        for what in ("fill", "stroke")
    ]
    return "<style>@media (prefers-color-scheme: dark){" + "".join(rules) + "}</style>"


@contextmanager
def figure(width: float, height: float, **options: Any) -> Iterator[tuple[Any, Any]]:
    """Give a figure and its axes in the colours of the pages, without a frame at the right."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    ink, grid = colour("ink"), colour("grid")
    looks = {
        "axes.edgecolor": grid, "axes.labelcolor": ink, "axes.spines.right": False,
        "axes.spines.top": False, "axes.titlecolor": ink, "axes.titlesize": 10.5,
        "figure.facecolor": colour("paper"), "axes.facecolor": "none", "font.size": 10,
        "grid.color": grid, "legend.frameon": False, "lines.linewidth": 1.6, "text.color": ink,
        "svg.hashsalt": "symgrad", "xtick.color": ink, "ytick.color": ink,
        "axes.prop_cycle": mpl.cycler(
            color=[colour(n) for n in ("blue", "orange", "green", "purple", "red", "teal")]
        ),
    }  # fmt: skip
    with mpl.rc_context(looks):
        drawn, axes = plt.subplots(figsize=(width, height), layout="constrained", **options)
        try:
            yield drawn, axes
        finally:
            plt.close(drawn)


def save(drawn: Any, file: Path) -> None:
    """Write a figure as SVG for light and dark pages, the same bytes each time."""
    held = io.StringIO()
    drawn.savefig(held, format="svg", metadata={"Date": None, "Creator": None})
    text = held.getvalue()
    text = re.sub(r"(<svg [^>]*>)", lambda m: m[1] + style_sheet(), text, count=1)
    # A hundredth of a point is finer than a screen shows; numbers below one are scales of glyphs.
    text = re.sub(r"\b[1-9]\d*\.\d{3,}", lambda m: f"{float(m[0]):.2f}", text)
    file.write_text(text, encoding="utf-8")

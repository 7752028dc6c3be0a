"""A picture of a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._forks import late_module
from ..errors import MissingExtraError


def spy(blocks: Sequence[tuple[str, Any, Any]], shape: tuple[int, int], ax: Any) -> Any:
    """Draw entries, given with the line that they are from, into axes of matplotlib's."""
    try:
        plots = late_module("matplotlib.pyplot")
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a picture of a pattern") from None
    if ax is None:
        ax = plots.figure(layout="constrained").add_subplot()
    size = max(1.0, min(8.0, 300.0 / max(shape)))
    lines: dict[str, list[tuple[Any, Any]]] = {}
    for line, rows, cols in blocks:
        lines.setdefault(line, []).append((rows, cols))
    for line, parts in lines.items():
        rows, cols = map(np.concatenate, zip(*parts, strict=True))
        ax.plot(cols, rows, linestyle="", marker="s", markersize=size, label=line)
    ax.set(xlim=(-0.5, shape[1] - 0.5), ylim=(shape[0] - 0.5, -0.5), aspect="equal")
    ax.set(xlabel="argument", ylabel="result")
    if lines:
        ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax

"""A picture of each workload: time to first gradient and time per gradient against size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


def plot(title: str, results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw both, log-log, as PNG or SVG; needs matplotlib."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharex=True, layout="constrained")
    names = list(dict.fromkeys(r["peer"] for r in results if r.get("call")))
    colours = plt.get_cmap("tab20")
    for k, name in enumerate(names):
        timed = [r for r in results if r["peer"] == name and r.get("call")]
        for variant in dict.fromkeys(r["variant"] for r in timed):
            points = sorted((r for r in timed if r["variant"] == variant), key=lambda r: r["size"])
            sizes = [p["size"] for p in points]
            style: dict[str, Any] = {
                "color": "black" if name == "symgrad" else colours(k % 20),
                "linewidth": 2.5 if name == "symgrad" else 1.2,
                "linestyle": "--" if variant else "-",
                "marker": "o",
                "markersize": 4,
                "label": f"{name} {variant}".rstrip(),
            }
            axes[0].plot(sizes, [p["first"] for p in points], **style)
            medians = [p["call"] for p in points]
            spread = [
                [p["call"] - p["low"] for p in points],
                [p["high"] - p["call"] for p in points],
            ]
            axes[1].errorbar(sizes, medians, yerr=spread, **style)
    for axis, what in zip(axes, ("time to first gradient", "time per gradient"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="size", ylabel="seconds", title=what)
        axis.grid(visible=True, which="major", alpha=0.3)
    figure.suptitle(title)
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)

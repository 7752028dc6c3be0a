"""Draw the measured tables of the pages: ``python docs/build_plots.py --speed FILE --digits FILE``.

Nothing is measured here: the figures are those of performance.md and accuracy.md.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

DOCS = Path(__file__).parent

#: The peers that are drawn, with their colours, and the case of each workload.
PEERS = {"C": "k", "numba": "C2", "jax": "C0", "torch": "C1", "casadi": "C4", "casadi C": "C5"}
PEERS |= {"autograd": "C3", "numpy": "C7"}
CASES = {
    "rosen": "10",
    "scalar_dag": "1,000",
    "sincos": "1,000,000",
}


def measured(text: str) -> dict[str, dict[str, dict[str, float]]]:
    """Return the peers' times over symgrad's by workload, case and peer."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, table in re.findall(r"<!-- measured: (\w+) -->\n(.*?)<!-- end -->", text, re.DOTALL):
        cases: dict[str, dict[str, float]] = {}
        case, column = "", -1
        for line in table.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if "to symgrad" in cells:
                column = cells.index("to symgrad")
            elif column > 0 and len(cells) > column and re.fullmatch(r"[\d.]+", cells[column]):
                case = cells[0] or case
                cases.setdefault(case, {})[cells[1]] = float(cells[column])
        if cases:
            found[name] = cases
    return found


def speed(file: str) -> None:
    """Draw each workload as a line, each peer as a dot: its time a gradient over symgrad's."""
    import matplotlib.pyplot as plt

    tables = measured((DOCS / "performance.md").read_text(encoding="utf-8"))
    rows = []
    for name, cases in tables.items():
        # Where none is named: the case with the most of these peers, the last of those.
        most = max(cases, key=lambda c: (len(PEERS.keys() & cases[c].keys()), list(cases).index(c)))
        case = CASES.get(name, most)
        rows.append((f"{name}, {case}", cases[case]))
    figure, axes = plt.subplots(figsize=(8, 0.38 * len(rows) + 1.2), layout="constrained")
    for y, (_, ratios) in enumerate(reversed(rows)):
        axes.axhline(y, color="0.9", zorder=0)
        for peer, colour in PEERS.items():
            if peer in ratios:
                axes.plot(ratios[peer], y, "o", color=colour)
    for peer, colour in PEERS.items():
        axes.plot([], [], "o", color=colour, label=peer)
    axes.axvline(1.0, color="k", linewidth=1)
    axes.set(xscale="log", yticks=range(len(rows)), xlabel="time a gradient, symgrad's = 1")
    axes.set_yticklabels([name for name, _ in reversed(rows)])
    axes.legend(ncols=4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.savefig(file, dpi=110)


def digits(file: str) -> None:
    """Draw how many ops keep their values and derivatives within so many ulp."""
    import matplotlib.pyplot as plt

    text = (DOCS / "accuracy.md").read_text(encoding="utf-8")
    table = text[text.index("## Elementwise ops") : text.index("## Ops on arrays")]
    rows = [[c.strip() for c in line.split("|")] for line in table.splitlines() if line[:2] == "| "]
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    curves = ((4, "value", "C0-"), (6, "derivative", "C1-"))
    vectors = ((8, "value, SIMD", "C0:"), (10, "derivative, SIMD", "C1:"))
    for column, label, style in (*curves, *vectors):
        left = [row[column].strip("*") for row in rows[1:]]
        ulps = np.sort([float(x) for x in left if re.fullmatch(r"[\d.]+", x)])
        axes.step(ulps, np.arange(1, len(ulps) + 1), style, where="post", label=label)
    axes.set(xlabel="largest error, ulp beyond the condition number", ylabel="ops", xlim=(0, 4.5))
    axes.axvline(1.5, color="0.7", linewidth=1)
    axes.axvline(4.0, color="0.7", linewidth=1, linestyle=":")
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(file, dpi=110)


def main() -> None:
    """Draw what is asked for."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--speed", metavar="FILE", help="the workloads, beside others")
    options.add_argument("--digits", metavar="FILE", help="the accuracy of the elementwise ops")
    given = options.parse_args()

    import matplotlib as mpl

    mpl.use("Agg")
    if given.speed:
        speed(given.speed)
    if given.digits:
        digits(given.digits)


if __name__ == "__main__":
    main()

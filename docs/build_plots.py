"""Draw the measured tables of the pages: ``python docs/build_plots.py --speed FILE --digits FILE``.

Nothing is measured here: the figures are those of performance.md, its pages, and accuracy.md.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
from drawing import colour, figure, save

DOCS = Path(__file__).parent

#: The peers that are drawn, with their colours and marks, and the case of each workload.
PEERS = {
    "C": ("ink", "D"), "numba": ("green", "o"), "jax": ("blue", "o"), "torch": ("orange", "o"),
    "casadi": ("purple", "o"), "casadi C": ("pink", "D"), "autograd": ("red", "o"),
    "numpy": ("grey", "o"),
}  # fmt: skip
#: The workloads from top to bottom.
ORDER = (
    "rosen", "scalar_dag", "sincos", "black_scholes", "gmm", "ba", "mlp", "kinematics", "nbody",
    "logistic", "lorenz", "lstm",
)  # fmt: skip
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


def run(text: str) -> str:
    """Return the days and the commits of the tables."""
    tables = r"<!-- measured: (?!aims|memory|machine)\w+ -->.*?<!-- end -->"
    found = [
        stamp.groups()
        for block in re.findall(tables, text, re.DOTALL)
        for stamp in re.finditer(r"Measured on ([\d-]+) at commit (\w{7})", block)
    ]
    days, commits = (sorted({*column}) for column in zip(*found, strict=True))
    when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    at = f", commit {commits[0]}" if len(commits) == 1 else ""
    return f"measured on {when}{at}, one thread"


def speed(file: str) -> None:
    """Draw each workload as a line, each peer as a dot: its time a gradient over symgrad's."""
    pages = [DOCS / "performance.md", *sorted((DOCS / "performance").glob("*.md"))]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    found = measured(text)
    rows = []
    for name in ORDER:
        cases = found[name]
        # Where none is named: the case with the most of these peers, the last of those.
        most = max(cases, key=lambda c: (len(PEERS.keys() & cases[c].keys()), list(cases).index(c)))
        case = CASES.get(name, most)
        rows.append((f"{name}, {case}", cases[case]))
    rows.reverse()
    with figure(8, 0.33 * len(rows) + 1.6) as (drawn, axes):
        axes.axvspan(0.2, 1.0, color=colour("grid"), alpha=0.45, linewidth=0)
        for y, (_, ratios) in enumerate(rows):
            axes.axhline(y, color=colour("grid"), linewidth=0.8, zorder=0)
            for peer, (hue, marker) in PEERS.items():
                if peer in ratios:
                    axes.plot(ratios[peer], y, marker, color=colour(hue), markersize=6)
        for peer, (hue, marker) in PEERS.items():
            axes.plot([], [], marker, color=colour(hue), label=peer)
        axes.axvline(1.0, color=colour("ink"), linewidth=1.2)
        axes.set(xscale="log", xlim=(0.2, 6e4), yticks=range(len(rows)))
        axes.set_yticklabels([name for name, _ in rows])
        axes.tick_params(left=False)
        axes.set_xlabel(f"time of a gradient, symgrad's = 1\n{run(text)}")
        axes.text(0.95, len(rows) - 0.35, "faster", ha="right", fontsize=8.5)
        axes.text(1.08, len(rows) - 0.35, "slower than symgrad", ha="left", fontsize=8.5)
        axes.set_ylim(-0.6, len(rows) + 0.3)
        axes.legend(ncols=8, loc="lower center", bbox_to_anchor=(0.4, 1.0), handletextpad=0.1,
                    columnspacing=1.2)  # fmt: skip
        save(drawn, Path(file))


def elementwise(text: str) -> list[list[str]]:
    """Return the rows of accuracy.md's table of elementwise ops."""
    table = text[text.index("## Elementwise ops") : text.index("## Ops on arrays")]
    rows = [[c.strip() for c in line.split("|")] for line in table.splitlines() if line[:2] == "| "]
    return rows[1:]


def digits(file: str) -> None:
    """Draw how many ops keep their values and derivatives within so many ulp."""
    rows = elementwise((DOCS / "accuracy.md").read_text(encoding="utf-8"))
    with figure(7, 3.2) as (drawn, axes):
        curves = ((4, "value", "blue", "-"), (6, "derivative", "orange", "-"))
        vectors = ((8, "value, SIMD", "blue", ":"), (10, "derivative, SIMD", "orange", ":"))
        for column, label, hue, style in (*curves, *vectors):
            left = [row[column].strip("*") for row in rows]
            ulps = np.sort([float(x) for x in left if re.fullmatch(r"[\d.]+", x)])
            count = np.arange(1, len(ulps) + 1)
            axes.step(ulps, count, style, color=colour(hue), where="post", label=label)
        axes.set(
            xlabel="largest error beyond the condition number, ulp", ylabel="ops", xscale="log"
        )
        axes.axvline(1.5, color=colour("grid"), linewidth=1, zorder=0)
        axes.legend(loc="lower right")
        save(drawn, Path(file))


def main() -> None:
    """Draw what is asked for."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--speed", metavar="FILE", help="the workloads, beside others")
    options.add_argument("--digits", metavar="FILE", help="the accuracy of the elementwise ops")
    given = options.parse_args()
    if given.speed:
        speed(given.speed)
    if given.digits:
        digits(given.digits)


if __name__ == "__main__":
    main()

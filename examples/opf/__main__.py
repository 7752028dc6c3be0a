"""Optimal power flow: what generators should give so that a grid runs at the least cost.

    python examples/opf [FILE or FOLDER ...] [--plot grid.png]

Without arguments it solves the grid that lies beside it, case5_pjm of PGLib. A folder of others
is had by ``git clone https://github.com/power-grid-lib/pglib-opf`` (CC BY 4.0). It needs IPOPT:
``pip install 'symgrad[ipopt,plot]'``.

``model.py`` says in NumPy what a grid costs and which equations hold; that is all there is to
write. Gradient, sparse Jacobian and the Hessian of the Lagrangian come of it, and serve every
grid: index arrays are arguments.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from case import Grid, read
from model import flows, problem

from symgrad.errors import DataError

HERE = Path(__file__).parent


def files(paths: list[Path]) -> list[Path]:
    """Return the case files in what is given, small ones first."""
    found = [f for p in paths for f in (p.glob("*.m") if p.is_dir() else [p])]
    return sorted(found, key=lambda f: f.stat().st_size)


def tell(grid: Grid, found: Any) -> None:
    """Print a small grid's solution: what each generator gives, and which branches are full."""
    print("\n   generator at bus   power / MW   bounds")
    powers = grid.base * np.array([found.x["active"], *grid.active])
    for at, power, low, high in zip(grid.buses[grid.at], *powers, strict=True):
        bound = " (least)" if power < low + 1e-4 else " (most)" if power > high - 1e-4 else ""
        print(f"   {at:16d}   {power:10.2f}   {low:g} to {high:g}{bound}")
    print("\n   bus   voltage / p.u.   angle / degrees   price / ($/MWh)")
    columns = grid.buses, found.x["voltage"], np.degrees(found.x["angle"]), prices(grid, found)
    for bus, voltage, angle, price in zip(*columns, strict=True):
        print(f"   {bus:3d}   {voltage:14.4f}   {angle:15.3f}   {price:15.2f}")


def prices(grid: Grid, found: Any) -> Any:
    """Return what one more MWh costs at each bus: the multiplier of its balance of power."""
    return -found.multipliers["active"] / grid.base


def plot(grid: Grid, found: Any, file: Path) -> None:
    """Draw prices at the buses and loads of the branches."""
    import matplotlib.pyplot as plt

    data = {name: getattr(grid, name) for name in ("start", "end", "admittance", "tap")}
    p, q, *_ = flows(found.x, data)
    load = np.hypot(p, q) / grid.rating
    turn = 2 * np.pi * np.arange(len(grid.load[0])) / len(grid.load[0])
    x, y = np.cos(turn), np.sin(turn)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    for a, b, part in zip(grid.start, grid.end, load, strict=True):
        color = plt.colormaps["viridis_r"](min(part, 1.0))
        left.plot(x[[a, b]], y[[a, b]], color=color, linewidth=1 + 4 * min(part, 1.0), zorder=1)
    dots = left.scatter(x, y, c=prices(grid, found), s=250, cmap="plasma", edgecolor="k", zorder=2)
    figure.colorbar(dots, ax=left, label="price / ($/MWh)")
    left.set_axis_off()
    left.set_title("branches: width and colour by their load")
    right.bar(np.arange(len(grid.at)), found.x["active"], color="C0")
    right.plot(np.arange(len(grid.at)), grid.active[1], "k_", markersize=18, label="most")
    right.set_xticks(np.arange(len(grid.at)), [f"bus {k}" for k in grid.buses[grid.at]])
    right.set_ylabel("active power / p.u.")
    right.set_title(f"generators of {grid.name}")
    right.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--plot", type=Path, help="draw the last grid into this file")
    arguments = parser.parse_args()
    if missing := [str(p) for p in arguments.paths if not p.exists()]:
        parser.error(f"no such file: {', '.join(missing)}")
    for file in files(arguments.paths):
        try:
            grid = read(file)
        except DataError as error:
            print(error)
            continue
        begin = time.perf_counter()
        nlp = problem(grid)
        found = nlp.solve()
        seconds = time.perf_counter() - begin
        print(f"{grid.name}: {nlp}")
        print(
            f"   {found.fun:,.2f} $/h in {found.nit} iterations, {seconds:.2f} s. {found.message}"
        )
        if len(grid.load[0]) < 20:
            tell(grid, found)
        if arguments.plot:
            plot(grid, found, arguments.plot)


if __name__ == "__main__":
    main()

"""A reader for MATPOWER's case files: the tables of a power grid as arrays.

The format is described in MATPOWER's manual, appendix B (https://matpower.org). A file is text;
nothing in it is carried out. What is wrong in it is an error that names the file and the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symgrad.errors import DataError

#: The tables that a power flow needs, with the columns that it needs of each, by number.
COLUMNS: dict[str, dict[str, int]] = {
    "bus": {"bus": 0, "type": 1, "pd": 2, "qd": 3, "gs": 4, "bs": 5, "vmax": 11, "vmin": 12},
    "gen": {"bus": 0, "qmax": 3, "qmin": 4, "status": 7, "pmax": 8, "pmin": 9},
    "branch": {"from": 0, "to": 1, "r": 2, "x": 3, "b": 4, "rate": 5, "ratio": 8, "angle": 9,
               "status": 10, "angmin": 11, "angmax": 12},
    "gencost": {"model": 0, "n": 3},
}  # fmt: skip

REFERENCE, ISOLATED, POLYNOMIAL = 3, 4, 2


@dataclass
class Grid:
    """A grid in per-unit quantities; buses are numbered from 0.

    Attributes
    ----------
    name:
        The file's.
    base:
        The power that is one, in MW.
    buses:
        The numbers of the buses in the file.
    load:
        (P, Q) at each bus.
    shunt:
        (G, B) at each bus.
    voltage:
        (lower, upper) magnitude at each bus.
    reference:
        The buses whose angle is zero.
    at:
        The bus of each generator.
    active, reactive:
        (lower, upper) power of each generator.
    cost:
        Of the squared, the plain and the zeroth power of what each generator gives.
    start, end:
        The buses of each branch.
    admittance:
        (g, b) of each branch in series, and the susceptance of each of its ends.
    tap:
        Real and imaginary part of each branch's ratio.
    rating:
        The apparent power that each branch bears.
    angle:
        (lower, upper) difference of angles over each branch.
    """

    name: str
    base: float
    buses: Any
    load: Any
    shunt: Any
    voltage: Any
    reference: Any
    at: Any
    active: Any
    reactive: Any
    cost: Any
    start: Any
    end: Any
    admittance: Any
    tap: Any
    rating: Any
    angle: Any


class _Table:
    """Rows of numbers, and the line of each."""

    def __init__(self, path: Path, name: str, rows: list[list[float]], lines: list[int]) -> None:
        self.path, self.name = path, name
        needed = max(COLUMNS[name].values()) + 1
        for row, line in zip(rows, lines, strict=True):
            if len(row) < needed:
                raise DataError(
                    f"{path}:{line}: a row of mpc.{name} has {len(row)} numbers; {needed} are "
                    "needed"
                )
        self.rows, self.lines = rows, np.array(lines, int)

    def __getitem__(self, column: str) -> Any:
        place = COLUMNS[self.name][column]
        return np.array([row[place] for row in self.rows])

    def kept(self, which: Any) -> _Table:
        """Return the rows that are to be kept."""
        rows = [row for row, keep in zip(self.rows, which, strict=True) if keep]
        return _Table(self.path, self.name, rows, self.lines[which].tolist())

    def check(self, right: Any, what: str) -> None:
        """Raise for the first row that is not right."""
        wrong = np.flatnonzero(~np.asarray(right))
        if len(wrong):
            raise DataError(f"{self.path}:{self.lines[wrong[0]]}: mpc.{self.name}: {what}")


def read_tables(path: Path) -> tuple[float, dict[str, _Table]]:
    """Return the base power and the tables of a case file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path}: not a text file") from None
    base, tables = None, {}
    inside, rows, lines = "", [], []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("%", 1)[0].strip()
        if not inside:
            if found := re.match(r"mpc\.baseMVA\s*=\s*(.*?)\s*;?$", line):
                base = _number(found[1], path, number)
                if not 0 < base < np.inf:
                    raise DataError(f"{path}:{number}: mpc.baseMVA is {base:g}")
            found = re.match(r"mpc\.(\w+)\s*=\s*\[(.*)$", line)
            if not found:
                continue
            inside, rows, lines, line = found[1], [], [], found[2]
        ends = "]" in line
        for part in line.split("]", 1)[0].split(";"):
            if words := part.replace(",", " ").split():
                rows.append([_number(w, path, number) for w in words] if inside in COLUMNS else [])
                lines.append(number)
        if ends:
            if inside in COLUMNS:
                if inside in tables:
                    raise DataError(f"{path}:{number}: a second table mpc.{inside}")
                tables[inside] = _Table(path, inside, rows, lines)
            inside = ""
    if inside:
        raise DataError(f"{path}: the table mpc.{inside} has no end: the file is cut off")
    for name in COLUMNS:
        if name not in tables:
            raise DataError(f"{path}: there is no table mpc.{name}")
    if base is None:
        raise DataError(f"{path}: there is no mpc.baseMVA")
    return base, tables


def _number(word: str, path: Path, line: int) -> float:
    try:
        value = float(word.replace("Inf", "inf"))
    except ValueError:
        raise DataError(f"{path}:{line}: {word!r:.40} is not a number") from None
    if np.isnan(value):
        raise DataError(f"{path}:{line}: a number is missing (nan)")
    return value


def read(path: str | Path) -> Grid:
    """Return the grid of a MATPOWER case file, without what is switched off.

    Raises
    ------
    DataError
        For what is wrong in the file, with the line.
    """
    path = Path(path)
    base, tables = read_tables(path)
    bus, gen, branch, cost = (tables[n] for n in ("bus", "gen", "branch", "gencost"))

    bus = bus.kept(bus["type"] != ISOLATED)
    names = bus["bus"]
    order = np.argsort(names, kind="stable")
    bus.check(np.isin(np.arange(len(names)), np.unique(names, return_index=True)[1]),
              "this bus is there twice")  # fmt: skip
    bus.check(bus["vmin"] <= bus["vmax"], "the voltage's bounds cross")
    reference = np.flatnonzero(bus["type"] == REFERENCE)
    if not len(reference):
        raise DataError(f"{path}: no bus is the reference (type 3)")

    def numbers(table: _Table, column: str) -> Any:
        found = np.searchsorted(names, table[column], sorter=order).clip(0, len(names) - 1)
        table.check(names[order[found]] == table[column], f"there is no such bus ({column})")
        return order[found]

    if len(cost.rows) < len(gen.rows):
        raise DataError(f"{path}: {len(gen.rows)} generators, but {len(cost.rows)} costs")
    runs = gen["status"] > 0
    cost = cost.kept(np.append(runs, np.zeros(len(cost.rows) - len(runs), bool)))
    gen = gen.kept(runs)
    cost.check(cost["model"] == POLYNOMIAL, "costs by pieces (model 1) are not read")
    cost.check((cost["n"] <= 3) & (cost["n"] >= 0), "costs are polynomials of degree 2 at most")
    cost.check([len(row) >= 4 + int(row[3]) for row in cost.rows], "coefficients are missing")
    powers = np.array([([0.0] * 3 + row[4 : 4 + int(row[3])])[-3:] for row in cost.rows])
    gen.check(gen["pmin"] <= gen["pmax"], "the bounds of the active power cross")
    gen.check(gen["qmin"] <= gen["qmax"], "the bounds of the reactive power cross")

    branch = branch.kept(branch["status"] > 0)
    r, x = branch["r"], branch["x"]
    branch.check((r != 0) | (x != 0), "a branch without impedance")
    square = r * r + x * x
    ratio = np.where(branch["ratio"] == 0, 1.0, branch["ratio"])
    shift = np.radians(branch["angle"])
    branch.check(branch["angmin"] <= branch["angmax"], "the bounds of the angle cross")
    free = (branch["angmin"] == 0) & (branch["angmax"] == 0)  # no limit, by convention

    return Grid(
        name=path.stem,
        base=base,
        buses=names.astype(int),
        load=np.stack([bus["pd"], bus["qd"]]) / base,
        shunt=np.stack([bus["gs"], bus["bs"]]) / base,
        voltage=np.stack([bus["vmin"], bus["vmax"]]),
        reference=reference,
        at=numbers(gen, "bus"),
        active=np.stack([gen["pmin"], gen["pmax"]]) / base,
        reactive=np.stack([gen["qmin"], gen["qmax"]]) / base,
        cost=powers.reshape(-1, 3).T * np.array([[base**2], [base], [1.0]]),
        start=numbers(branch, "from"),
        end=numbers(branch, "to"),
        admittance=np.stack([r / square, -x / square, branch["b"] / 2]),
        tap=ratio * np.stack([np.cos(shift), np.sin(shift)]),
        rating=np.where(branch["rate"] == 0, np.inf, branch["rate"] / base),
        angle=np.where(free, [[-np.inf], [np.inf]],
                       np.radians(np.stack([branch["angmin"], branch["angmax"]]))),
    )  # fmt: skip

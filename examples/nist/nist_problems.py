"""NIST's certified nonlinear regression problems (StRD), read from their files.

Source: NIST/ITL Statistical Reference Datasets, nonlinear regression,
https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml (public domain). A file is plain text:
a header that says in which lines things stand, the model as a formula, two starting points,
the certified least-squares solution to 11 digits, and the observations.

NIST writes ``y = b1*(1-exp[-b2*x])  +  e``: square brackets around the arguments of
functions, an error term at the end, and (in one problem) a transformed response,
``log[y] = ...``. The formula itself goes through :func:`symgrad.parse`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import sympy as sp

import symgrad as sg
from symgrad.errors import DataError

Vector: TypeAlias = npt.NDArray[np.float64]

_DIFFICULTIES = ("Lower", "Average", "Higher")
_RANGE = re.compile(r"(\w+)(?: Values)?\s+\(lines\s+(\d+)\s+to\s+(\d+)\)")


@dataclass(frozen=True, eq=False)
class Problem:
    """One certified regression problem.

    Parameters
    ----------
    name, difficulty, model_class, description, reference:
        The header's words; ``difficulty`` is ``"Lower"``, ``"Average"`` or ``"Higher"``.
    formula:
        The model as the file writes it, on one line.
    response, model:
        Both sides of it: an expression in ``y`` (``log(y)`` for Nelson) and one in the
        predictors and parameters.
    predictors, parameters:
        Names, in the file's order.
    start1, start2:
        NIST's two starting points: far, and near.
    certified, deviations:
        The certified parameters and their standard deviations.
    rss:
        The certified residual sum of squares.
    x, y:
        The observations: one array for each predictor, and the response as observed.
    target:
        ``response`` at the observations, which is what ``model`` is fitted to.
    """

    name: str
    difficulty: str
    model_class: str
    description: str
    reference: str
    formula: str
    response: sp.Expr
    model: sp.Expr
    predictors: tuple[str, ...]
    parameters: tuple[str, ...]
    start1: Vector
    start2: Vector
    certified: Vector
    deviations: Vector
    rss: float
    x: tuple[Vector, ...]
    y: Vector
    target: Vector

    @property
    def symbols(self) -> tuple[sp.Symbol, ...]:
        """The model's symbols: predictors, then parameters."""
        return tuple(sp.Symbol(name, real=True) for name in (*self.predictors, *self.parameters))

    @property
    def derivatives(self) -> dict[sp.Symbol, sp.Expr]:
        """The model's partial derivatives with respect to its parameters."""
        return {b: sp.diff(self.model, b) for b in self.symbols[len(self.predictors) :]}


def load(name: str) -> Problem:
    """Return the problem called ``name``, in any capitalisation.

    Raises
    ------
    DataError
        There is no such problem.
    """
    files = {file.name.removesuffix(".dat"): file for file in _files()}
    for known, file in files.items():
        if known.lower() == name.lower():
            return _read(file)
    raise DataError(f"there is no problem {name!r}; there are {', '.join(files)}")


def load_all() -> tuple[Problem, ...]:
    """Return all problems, by difficulty and name."""
    problems = map(_read, _files())
    return tuple(sorted(problems, key=lambda p: (_DIFFICULTIES.index(p.difficulty), p.name)))


def _files() -> list[Path]:
    return sorted((Path(__file__).parent / "data").iterdir())


def _read(file: Path) -> Problem:
    lines = file.read_text(encoding="ascii").splitlines()
    ranges = {m[1]: (int(m[2]) - 1, int(m[3])) for m in map(_RANGE.search, lines[:20]) if m}

    def rows(what: str) -> list[str]:
        return lines[slice(*ranges[what])]

    head = _blocks(lines[: ranges["Starting"][0]])
    table = [row.partition("=") for row in rows("Starting")]
    parameters = tuple(left.strip() for left, _, _ in table)
    start1, start2, certified, deviations = _columns([right for _, _, right in table])
    sums = dict(row.split(":") for row in rows("Certified") if ":" in row)
    predictors = tuple(lines[ranges["Data"][0] - 1].split()[2:])
    y, *x = _columns(rows("Data"))
    formula, response, model = _model(head["Model"], (*predictors, *parameters))
    target = sp.lambdify([sp.Symbol("y", real=True)], response, "numpy")(y)
    return Problem(
        head["Dataset Name"][0].split()[0],
        next(level for level in _DIFFICULTIES if f"{level} Level of Difficulty" in head["Data"]),
        " ".join(head["Model"][0].replace("Class", "").split()),
        " ".join(filter(None, head["Description"])),
        " ".join(filter(None, head["Reference"])),
        formula, response, model, predictors, parameters,
        start1, start2, certified, deviations, float(sums["Residual Sum of Squares"]),
        tuple(x), y, target,
    )  # fmt: skip


def _columns(rows: list[str]) -> list[Vector]:
    return [np.array(column, np.float64) for column in zip(*map(str.split, rows), strict=True)]


def _blocks(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines of the header, by the word with a colon that they begin at."""
    blocks: dict[str, list[str]] = {"": []}
    block = blocks[""]
    for line in lines:
        word, colon, rest = line.partition(":")
        if colon and not word.startswith(" "):
            line = rest
            block = blocks[word] = []
        block.append(line.strip())
    return blocks


def _model(lines: list[str], names: tuple[str, ...]) -> tuple[str, sp.Expr, sp.Expr]:
    """Return the formula as written, and both sides of it."""
    # Roszman1 writes above its formula what pi is; the heading of a table stands below it.
    text = " ".join(lines[2:]).partition("Starting")[0]
    start = re.search(r"(y|log\[y\]) *=", text)
    assert start is not None
    formula = " ".join(text[start.start() :].split())
    left, _, right = formula.replace("[", "(").replace("]", ")").partition("=")
    body = re.sub(r"\+\s*e$", "", right)
    return formula, sg.parse(left.strip(), symbols="y"), sg.parse(body.strip(), symbols=names)

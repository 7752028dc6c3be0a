"""docs/accuracy.md lists every op; its figures are those of some machine."""

from __future__ import annotations

import importlib.util
import math
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import symgrad as sg
from symgrad._compile._cache import OWN
from symgrad._op import Instr, Intrinsic, Libm, registry

DOCS = Path(__file__).parents[1] / "docs"
COLUMNS = 10
#: Lowered to one instruction, or to one function of the C library.
DIRECT = (Instr, Intrinsic, Libm)
BUILD = "run: python docs/build_accuracy.py"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_accuracy", DOCS / "build_accuracy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(part: int) -> list[list[str]]:
    """Return the lines of a part's table: of elementwise ops, of arrays, without derivative."""
    text = (DOCS / "accuracy.md").read_text(encoding="utf-8").split("\n## ")[part]
    table = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line[1:].rstrip("| ").split(" | ")] for line in table]


def test_no_op_is_missing() -> None:
    listed = [row[0] for part in (1, 2, 3) for row in rows(part)]
    assert len(listed) == len(set(listed))
    assert set(listed) == {op.name for op in OWN if op.kind != "leaf"}, BUILD


def test_the_page_lists_every_op_with_its_interval(build: ModuleType) -> None:
    want = [
        [op.name, ", ".join(f"[{low:g}, {high:g}]" for low, high in op.samples)]
        for op in build.covered()
    ]
    assert [row[:2] for row in rows(1)] == want, BUILD
    calls = [[name, f"`{call[0]}`"] for name, call in sorted(build.CALLS.items())]
    assert [row[:2] for row in rows(2)] == calls, BUILD
    assert [f"| {' | '.join(row)} |" for row in rows(3)] == list(build.flat_rows()), BUILD


def numbers(cells: list[str]) -> list[float]:
    """Return a row's figures; a dash or "not finite" is no figure."""
    assert all(re.fullmatch(r"[\d.]+(e[+-]\d+)?|not finite|-", c) for c in cells), cells
    return [math.nan if c in ("-", "not finite") else float(c) for c in cells]


def test_conditioning_explains_what_is_off() -> None:
    for name, _, *cells in rows(1):
        value, derivative, _, scaled, in_loops, slope_in_loops, scaled_in_loops = numbers(cells[:7])
        assert not derivative > 1.5 or scaled <= 1, name
        assert not slope_in_loops > 4 or scaled_in_loops <= 1, name
        # Of a value that cancels the page has the derivative's condition.
        op = registry.ops[name]
        assert not value > (1.5 if isinstance(op.lower, DIRECT) else max(4, op.ulp)), name
        assert not in_loops > max(4, op.ulp), name
    for name, _, _, *cells in rows(2):
        _, derivative, _, scaled = numbers(cells)
        assert not derivative > 4 or scaled <= 2, name


@pytest.mark.parametrize("name", ["Sum", "Solve", "Eigh", "Loop"])
def test_the_function_has_the_op(build: ModuleType, name: str) -> None:
    _, f, x, interval = build.CALLS[name]
    example = np.random.default_rng(0).uniform(*interval, np.shape(x))
    names = {step.op.name for step in sg.compile(f).program(example).steps}
    assert name in names
    with sg.backend("numpy"):
        assert build.array_row(registry.ops[name], points=1).startswith(f"| {name} | ")


@pytest.mark.parametrize("name", ["Tanh", "Log1p", "Maximum"])
def test_a_row_is_made_as_the_page_has_it(build: ModuleType, name: str) -> None:
    fresh = build.row(registry.ops[name], points=2)
    cells = fresh.strip("| ").split(" | ")
    assert cells[:2] == next(row[:2] for row in rows(1) if row[0] == name)
    assert all(float(cell) < 4 for cell in cells[2:4])
    assert fresh.count("|") == COLUMNS + 1

"""docs/accuracy.md lists every op; its figures are those of some machine."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.op import Code, Evidence, Instr, Intrinsic, Libm, registry
from tests.shared import builder

DOCS = Path(__file__).parents[1] / "docs"
COLUMNS = 11
#: Lowered to one instruction, or to one function of the C library.
DIRECT = (Instr, Intrinsic, Libm)
BUILD = "run: python docs/build_accuracy.py"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return builder("accuracy")


def rows(part: int) -> list[list[str]]:
    """Return the lines of a part's table: of elementwise ops, of arrays, without derivative."""
    text = (DOCS / "accuracy.md").read_text(encoding="utf-8").split("\n## ")[part]
    table = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line[1:].rstrip("| ").split(" | ")] for line in table]


def test_no_op_is_missing() -> None:
    listed = [row[0] for part in (1, 2, 3) for row in rows(part)]
    assert len(listed) == len(set(listed))
    own = filter(registry.is_own, registry.ops.values())
    assert set(listed) == {op.name for op in own if op.kind != "leaf"}, BUILD


def test_the_page_lists_every_op_with_its_interval(build: ModuleType) -> None:
    want = [
        [op.name, ", ".join(f"[{low:g}, {high:g}]" for low, high in Evidence.of(op).samples)]
        for op in build.covered()
    ]
    assert [row[:2] for row in rows(1)] == want, BUILD
    calls = [[name, f"`{call[0]}`"] for name, call in sorted(build.CALLS.items())]
    assert [row[:2] for row in rows(2)] == calls, BUILD
    assert [f"| {' | '.join(row)} |" for row in rows(3)] == list(build.flat_rows()), BUILD


def numbers(cells: list[str]) -> list[float]:
    """Return a row's figures; a dash or "not finite" is no figure."""
    cells = [c.strip("*") for c in cells]
    assert all(re.fullmatch(r"[\d.]+(e[+-]\d+)?|not finite|-", c) for c in cells), cells
    return [math.nan if c in ("-", "not finite") else float(c) for c in cells]


def test_errors_are_those_that_the_records_state() -> None:
    for name, _, *cells in rows(1):
        value, left, _, slope_left, in_loops, _, _, slope_left_in_loops = numbers(cells[:8])
        op = registry.ops[name]
        assert not isinstance(Code.of(op).lower, DIRECT) or not left > 1.5, name
        assert not value > max(4, Evidence.of(op).ulp), name
        assert not in_loops > max(4, Evidence.of(op).ulp), name
        # Derivatives are made of some ops, each with its own error.
        bound = max(4, left, Evidence.of(op).ulp / 2)
        assert not max(slope_left, slope_left_in_loops) > bound, name
    for name, _, _, *cells in rows(2):
        assert not max(numbers(cells)[1::2]) > 2, name


def test_what_is_beyond_the_aim_is_marked_and_listed(build: ModuleType) -> None:
    text = (DOCS / "accuracy.md").read_text(encoding="utf-8")
    lines = [[line for line in part.splitlines() if line.startswith("| ")][2:]
             for part in text.split("\n## ")[1:3]]  # fmt: skip
    assert build.summary(*lines) in text, BUILD
    for row in rows(1):
        for k, aim in ((3, 1.5), (5, 1.5), (7, 4), (9, 4)):
            assert ("**" in row[k]) == (numbers(row[k : k + 1])[0] > aim), row


@pytest.mark.parametrize(
    ("name", "by", "place", "condition"),
    [
        ("Log", None, (2.0,), 1 / math.log(2)),
        ("Log", 0, (2.0,), 1.0),
        ("Power", None, (2.0, 3.0), 3 + 3 * math.log(2)),
        ("Multiply", 0, (2.0, 3.0), 1.0),
        ("Add", 0, (2.0, 3.0), 0.0),
        ("Jv", None, (0.5, math.pi), math.inf),  # 0 there, but for rounding pi
        ("Copysign", 0, (2.0, 0.0), math.inf),
    ],
)
def test_own_conditioning(
    build: ModuleType, name: str, by: int | None, place: tuple[float, ...], condition: float
) -> None:
    found = build.Conditioning(registry.ops[name]).at(by, place)
    assert found > 1e10 if math.isinf(condition) else abs(found - condition) < 1e-9


@pytest.mark.parametrize("name", ["Sum", "Solve", "Eigh", "Loop"])
@pytest.mark.quick(1)
def test_the_function_has_the_op(build: ModuleType, name: str) -> None:
    _, f, x, interval = build.CALLS[name]
    example = np.random.default_rng(0).uniform(*interval, np.shape(x))
    names = {step.op.name for step in sg.compile(f).program(example).steps}
    assert name in names
    with sg.backend("numpy"):
        assert build.array_row(registry.ops[name], points=1).startswith(f"| {name} | ")


@pytest.mark.parametrize("name", ["Tanh", "Log1p", "Maximum"])
@pytest.mark.quick(1)
def test_a_row_is_made_as_the_page_has_it(build: ModuleType, name: str) -> None:
    fresh = build.row(registry.ops[name], points=2)
    cells = fresh.strip("| ").split(" | ")
    assert cells[:2] == next(row[:2] for row in rows(1) if row[0] == name)
    assert all(float(cell) < 4 for cell in cells[2:6])
    assert fresh.count("|") == COLUMNS + 1

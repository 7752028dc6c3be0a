"""docs/accuracy.md lists every op; its figures are those of some machine."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from symgrad._op import registry

DOCS = Path(__file__).parents[1] / "docs"
COLUMNS = 7
#: Derivatives that are differences of nearly equal numbers, beyond what conditioning explains.
CANCELLING = {"Ellipeinc": 64, "Ellipkinc": 64, "PseudoHuber": 16}


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_accuracy", DOCS / "build_accuracy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> list[list[str]]:
    text = (DOCS / "accuracy.md").read_text(encoding="utf-8")
    table = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table]


def test_the_page_lists_every_op_with_its_interval(build: ModuleType) -> None:
    want = [
        [op.name, ", ".join(f"[{low:g}, {high:g}]" for low, high in op.samples)]
        for op in build.covered()
    ]
    assert [row[:2] for row in rows()] == want, "run: python docs/build_accuracy.py"


def test_conditioning_explains_what_is_off(build: ModuleType) -> None:
    for row in rows():
        numbers = row[2:6]
        assert all(re.fullmatch(r"[\d.]+(e[+-]\d+)?|not finite|-", n) for n in numbers), row
        if not {"not finite", "-"} & set(numbers):
            value, derivative, _, scaled = map(float, numbers)
            assert derivative <= 4 or scaled <= CANCELLING.get(row[0], 2), row
            assert value <= max(4, registry.ops[row[0]].ulp), row


@pytest.mark.parametrize("name", ["Tanh", "Log1p", "Maximum"])
def test_a_row_is_made_as_the_page_has_it(build: ModuleType, name: str) -> None:
    fresh = build.row(registry.ops[name], points=2)
    cells = fresh.strip("| ").split(" | ")
    assert cells[:2] == next(row[:2] for row in rows() if row[0] == name)
    assert all(float(cell) < 4 for cell in cells[2:4])
    assert fresh.count("|") == COLUMNS + 1

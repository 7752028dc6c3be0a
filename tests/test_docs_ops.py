"""docs/ops.md says what the registry says."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.linalg
import scipy.special
import sympy as sp

import symgrad as sg
from symgrad._core.op import Evidence, Op, registry
from tests.shared import builder

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return builder("ops")


@pytest.fixture(scope="module")
def page(build: ModuleType) -> str:
    return str(build.page())


def test_the_page_is_up_to_date(page: str) -> None:
    committed = (DOCS / "ops.md").read_text(encoding="utf-8")
    assert page == committed, "run: python docs/build_ops.py"


def test_every_function_is_on_the_page(build: ModuleType, page: str) -> None:
    missing = [build.named(f) for f in registry.handlers if f"`{build.named(f)}`" not in page]
    assert missing == []


def test_every_record_is_on_the_page(build: ModuleType, page: str) -> None:
    rows = {line.split(" | ")[0] for line in page.splitlines()}
    assert {f"| {name}" for name in build.OPS} <= rows


def test_names_are_the_functions(build: ModuleType) -> None:
    spaces = {"np": np, "special": scipy.special, "scipy": scipy}
    for function in registry.handlers:
        home, *path = build.named(function).split(".")
        found = spaces[home]
        for name in path:
            found = getattr(found, name)
        assert found is function


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "1/2"),
        (-2.0, "-2"),
        (np.pi, "pi"),
        (-1 / np.log(2.0), "-1/log(2)"),
        (0.1, "0.100000000000000"),
    ],
)
def test_constants_are_exact(build: ModuleType, value: float, text: str) -> None:
    assert build.formula(value) == text


REAL = [
    op
    for op in registry.ops.values()
    if op.sympy is not None and Evidence.of(op).exact_form and op.differentiable
    and all(d.is_subset(sp.Reals) and not d.is_subset(sp.Integers) for d in op.domain)
]  # fmt: skip


def sampled(op: Op, count: int) -> list[Any]:
    rng = np.random.default_rng(sum(map(ord, op.name)))
    return [rng.uniform(low, high, count) for low, high in Evidence.of(op).samples]


def error(op: Op, point: tuple[Any, ...], got: float) -> float:
    """Return the distance to the exact value in units in its last place."""
    assert op.sympy is not None
    form = op.sympy(*(sp.Float(float(p), 60) for p in point))
    want = sp.N(form.replace(sp.erfcinv, lambda x: sp.erfinv(1 - x)), 40)
    return float(abs(sp.Float(float(got), 40) - want)) / float(np.spacing(abs(float(want))))


@pytest.mark.slow  # one large kernel
def test_stated_errors_hold_for_kernels() -> None:
    operands = [sampled(op, 32) for op in REAL]
    results = sg.compile(lambda xs: [op(*x) for op, x in zip(REAL, xs, strict=True)])(operands)
    worse = {}
    for op, xs, ys in zip(REAL, operands, results, strict=True):
        worst = max(error(op, p, y) for p, y in zip(zip(*xs, strict=True), ys, strict=True))
        if worst > Evidence.of(op).ulp:
            worse[op.name] = (Evidence.of(op).ulp, worst)
    assert worse == {}

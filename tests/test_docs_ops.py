"""docs/ops.md says what the registry says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.special

from symgrad._op import registry

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_ops", DOCS / "build_ops.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="the page names functions of NumPy 2.2")
def test_the_page_is_up_to_date(build: ModuleType) -> None:
    committed = (DOCS / "ops.md").read_text(encoding="utf-8")
    assert build.page() == committed, "run: python docs/build_ops.py"


def test_every_function_is_on_the_page(build: ModuleType) -> None:
    page = build.page()
    missing = [build.named(f) for f in registry.handlers if f"`{build.named(f)}`" not in page]
    assert missing == []


def test_every_record_is_on_the_page(build: ModuleType) -> None:
    rows = {line.split(" | ")[0] for line in build.page().splitlines()}
    assert {f"| {name}" for name in registry.ops} <= rows


def test_names_are_the_functions(build: ModuleType) -> None:
    spaces = {"np": np, "special": scipy.special}
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

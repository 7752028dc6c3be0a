"""The bicycle of examples/bicycle.py against the published table, and its page against it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "bicycle.py"


@pytest.fixture(scope="module")
def bicycle() -> ModuleType:
    """The example: importing it derives the equations of motion."""
    spec: Any = importlib.util.spec_from_file_location("bicycle", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_eigenvalues_are_those_of_the_published_table(bicycle: ModuleType) -> None:
    assert bicycle.compared() < 1e-11
    assert bicycle.weave == pytest.approx(4.29238253634111, abs=1e-10)
    assert bicycle.capsize == pytest.approx(6.02426201538837, abs=1e-10)


@pytest.mark.slow
def test_the_motion_is_that_of_the_constraints(bicycle: ModuleType) -> None:
    """Away from straight running: the accelerations keep the front wheel from slipping."""
    state = np.array([0.1, 0.2, 0.3, -0.4, 15.0])
    step = 1e-6

    def places(x: Any) -> tuple[Any, Any]:
        pose = np.array([0.0, x[0], bicycle.touching(x[0], x[1]), x[1]])
        A = np.array([bicycle.slipping(pose, e) for e in np.eye(6)]).T
        own = x[2:]
        rest = np.linalg.solve(A[:, [0, 2, 5]], -A[:, [1, 3, 4]] @ own)
        return pose, np.array([rest[0], own[0], rest[1], own[1], own[2], rest[2]])

    rates = bicycle.motion(state)
    sides = [places(state + s * step * rates) for s in (1, -1)]
    _, speeds = places(state)
    moved = (sides[0][0] - sides[1][0]) / (2 * step)
    np.testing.assert_allclose(moved[1:], speeds[1:4], rtol=1e-7, atol=1e-8)
    # Energy: power of the speeds against that of the heights, which gravity gives.
    np.testing.assert_allclose(bicycle.slipping(*sides[0]), 0.0, atol=1e-9)


def test_the_page_has_the_examples_code() -> None:
    page = (ROOT / "docs" / "gallery" / "bicycle.md").read_text(encoding="utf-8")
    code = SCRIPT.read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:2]:
        lines = [x for x in block.splitlines() if x.strip() and not x.startswith("import symgrad")]
        at = -1
        for line in lines:
            at = code.find(line, at + 1)
            assert at >= 0, line

"""Long straight programs: text and the work for it grow with the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.lowering import _values
from symgrad._core.lowering._plan import MOST_FOLDS, Nest, plan
from symgrad._core.lowering._windows import _apart
from symgrad._core.pipeline import legal, lower

COUNT = 200


def decided(x: Any) -> Any:
    """As many decisions as elements, and a gradient put together from as many numbers."""
    total = 0.0
    for k in range(COUNT):
        if x[k] * x[k - 1] > 0.3:
            total = total + np.sin(x[k]) * x[k - 1]
        else:
            total = total - x[k] ** 3
    return total


def test_conditions_are_looked_at_in_a_loop() -> None:
    """One by one they would be a chain, which LLVM's passes went along for each of them."""
    g = sg.value_and_grad(decided)
    x = np.random.default_rng(0).uniform(0.0, 1.0, COUNT)
    text = lower(g.program(x)).text
    run = text[text.index(".run(") :].split("\n}\n")[0]
    assert run.count("@all_true") == 1
    assert run.count("\n") < 100
    for k in (0, 77, COUNT - 1):  # whichever does not hold, the other side is taken
        y = x.copy()
        y[k] += 1.0
        value, gradient = g(y)
        np.testing.assert_allclose(value, decided(y), rtol=1e-12)
        tangent = decided(y + 1e-30j * np.cos(np.arange(COUNT))).imag / 1e-30
        np.testing.assert_allclose(gradient @ np.cos(np.arange(COUNT)), tangent, rtol=1e-11)


def test_an_array_of_many_parts_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def readers(*args: Any) -> Any:
        found = real(*args)
        made.extend(found)
        return found

    real = _values.Readers
    monkeypatch.setattr(_values, "Readers", readers)
    x = np.random.default_rng(0).uniform(0.0, 1.0, COUNT)
    lower(sg.grad(decided).program(x))
    assert len(made) < 10 * COUNT


def test_rows_of_one_form_are_not_compared() -> None:
    k = sp.Symbol("k", integer=True)
    assert _apart([(k + 2, sp.Integer(j)) for j in range(5000)])
    assert _apart([(k, sp.Integer(0)), (sp.Integer(3), sp.Integer(1))])
    assert not _apart([(k, sp.Integer(0)), (sp.Integer(3), sp.Integer(0))])


def sums(x: Any) -> Any:
    return np.array([np.sum(np.sin(x[k : k + 50]) * x[k + 2 : k + 52]) for k in range(COUNT)])


def test_short_reductions_have_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop with hundreds of sums keeps none of them in a register."""
    monkeypatch.setattr("symgrad._core.control._array_recovery.LEAST", 10**6)  # as one array
    x = np.random.default_rng(0).uniform(0.0, 1.0, COUNT + 52)
    made = plan(legal(sg.compile(sums).program(x), vector_math=False))
    counts = [len(task.reductions) for task in made.tasks if isinstance(task, Nest)]
    assert sum(counts) == COUNT
    assert max(counts) == MOST_FOLDS
    np.testing.assert_allclose(sg.compile(sums)(x), sums(x), rtol=1e-14)

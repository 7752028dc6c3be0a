"""Which axes become parts: arrays with them, and what is computed of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.graph import topological
from symgrad._core.pipeline import legal


def shapes(f: Callable[..., Any], *args: Any) -> set[int]:
    """Return how many axes the sines have that a function is left with."""
    program = sg.compile(f)._specialization(args, {}).program
    order = topological(legal(program).outputs)
    # Put together are vectors alone, the results.
    assert all(n.ndim < 2 for n in order if n.op.name == "Assemble")
    return {n.ndim for n in order if n.op.name == "Sin"}


@pytest.mark.parametrize("count", [8, 12, 16])
def test_a_vector_register_by_itself_is_a_loop(count: int) -> None:
    a = np.eye(count)
    assert shapes(lambda x: a @ np.sin(a @ x), np.ones(count)) == {1}


@pytest.mark.parametrize("count", [8, 12, 16])
def test_beside_a_long_axis_it_is_parts(count: int) -> None:
    """The long axis is the loop then, and nothing is put together on the way."""
    x, w = np.ones((50, count)), np.linspace(0.0, 1.0, count)
    assert shapes(lambda x: np.sum(np.sin(x * w), axis=0), x) == {1}
    assert shapes(lambda x: np.sum(np.sin(x * w)), x) == {1}
    assert shapes(lambda x: np.sin(x * w) @ w, x) == {1}


def test_a_few_are_parts_wherever_they_are() -> None:
    a = np.diag([1.0, 2.0, 3.0])
    assert shapes(lambda x: a @ np.sin(a @ x), np.ones(3)) == {0}
    assert shapes(lambda x: np.sum(np.sin(x @ a), axis=0), np.ones((50, 3))) == {1}


@pytest.mark.parametrize("shape", [(8,), (12,), (50, 8), (8, 50), (3, 12), (2, 8, 50), (50, 0, 8)])
def test_it_does_not_change_results(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape)
    w = np.random.default_rng(2).standard_normal(shape[-1])

    def f(x: Any, w: Any) -> Any:
        y = np.sin(x * w)
        part = np.cumsum(y, axis=0)[..., ::-1] + np.max(y, axis=-1, keepdims=True, initial=-2.0)
        return np.sum(y, axis=0), y @ w, np.swapaxes(part, 0, -1), np.sort(y, axis=-1)

    for ours, theirs in zip(sg.compile(f)(x, w), f(x, w), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)

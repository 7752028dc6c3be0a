"""What rounds of a loop have kept, put together in any way, is read from the loop's stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.control import _reroll

Array = Any
N = 90


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let short repeats be loops, so that the tests are quick."""
    monkeypatch.setattr(_reroll, "LONG", 60)
    return


def states(p: Array) -> Iterator[Array]:
    step, x = np.array([[0.9, p[0]], [-p[0], 0.8]]), np.array([p[1], p[2]])
    for k in range(N):
        yield x
        x = step @ x + np.array([0.0, np.sin(k)])


def element(p: Array) -> Array:
    return np.array([x[1] for x in states(p)])


def elements(p: Array) -> Array:
    return np.array([[x[1], x[0]] for x in states(p)])


def backwards(p: Array) -> Array:
    return np.array([x[0] for x in list(states(p))[::-1]])


def some(p: Array) -> Array:
    return np.array([x[0] for x in list(states(p))[::2]])


def columns(p: Array) -> Array:
    return np.column_stack(list(states(p)))


def ends(p: Array) -> Array:
    return np.concatenate([x[1:] for x in states(p)])


def reversed_rows(p: Array) -> Array:
    return np.array([x[::-1] for x in states(p)])


def layers(p: Array) -> Array:
    return np.stack([x[:, None] for x in states(p)], axis=1)


def filled(p: Array) -> Array:
    out = np.zeros((2, N))
    for k, x in enumerate(states(p)):
        out[:, k] = x
    return out


def in_place(p: Array) -> Array:
    out = np.zeros((2, N))
    for k, x in enumerate(states(p)):
        out[0, k], out[1, N - 1 - k] = x
    return out


@pytest.mark.parametrize(
    "f",
    [element, elements, backwards, some, columns, ends, reversed_rows, layers, filled, in_place],
    ids=lambda f: f.__name__,
)
@pytest.mark.usefixtures("few_kernels")
def test_what_rounds_keep_is_read_from_one_stack(f: Callable[[Array], Any]) -> None:
    p = np.array([0.2, 1.0, -0.5])
    g = sg.compile(f)
    assert len(g.program(p).steps) < 50, "the rounds are steps of their own"
    np.testing.assert_allclose(g(p), f(p), rtol=1e-12, atol=1e-14)
    t = np.array([0.3, -0.2, 0.5])
    _, slope = sg.jvp(f, (p,), (t,))
    near = (f(p + 1e-5 * t) - f(p - 1e-5 * t)) / 2e-5
    np.testing.assert_allclose(slope, near, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(sg.jacobian(f)(p) @ t, slope, rtol=1e-10, atol=1e-12)

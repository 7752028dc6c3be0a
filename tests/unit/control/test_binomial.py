"""Reverse mode in a given number of carries: right, within its memory, in the fewest steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.control._binomial import fewest_runs, reached, split
from symgrad._core.graph import element_count
from symgrad._core.op import registry
from symgrad.errors import ArgumentError

Array = Any
PLACE, CARRY = 8, 8


def fewest_steps(steps: int, slots: int) -> int:
    """Return the fewest forward steps by which ``steps`` can be undone."""
    runs = fewest_runs(steps, slots)
    return runs * steps - comb(slots + runs, runs - 1) if runs else 0


@lru_cache(None)
def optimum(steps: int, slots: int) -> int:
    """Return the fewest forward steps to undo ``steps``, by trying all."""
    if steps <= 1:
        return 0
    if slots == 1:
        return steps * (steps - 1) // 2
    return min(m + optimum(m, slots) + optimum(steps - m, slots - 1) for m in range(1, steps))


@pytest.mark.parametrize("slots", range(1, 7))
def test_the_formula_is_the_optimum(slots: int) -> None:
    for steps in range(1, 60):
        assert fewest_steps(steps, slots) == optimum(steps, slots)
        if slots > 1 and steps > 1:
            m = int(split(reached(slots, 60), steps, slots))
            found = m + optimum(m, slots) + optimum(steps - m, slots - 1)
            assert 0 < m < steps
            assert found == optimum(steps, slots)


def orbit(x: Array, memory: int | None, reverse: bool = False) -> Any:
    step = lambda c, v: (np.tanh(c * 1.1 + v), c * v)  # noqa: E731
    last, ys = sg.scan(step, 0.3, x, reverse=reverse, memory=memory)
    return last * np.sum(ys * x)


def memory_of(slots: int) -> int:
    """Return the bytes in which there is room for so many slots: a step has two numbers."""
    return (slots + 1) * (CARRY + PLACE) + 2 * CARRY


@pytest.fixture
def calls() -> Iterator[list[int]]:
    """Count the calls of np.tanh under the NumPy backend."""
    op, count = registry.ops["Tanh"], [0]
    evaluate = op.evaluate

    def counted(*args: Any, **kwargs: Any) -> Any:
        count[0] += 1
        return evaluate(*args, **kwargs)

    object.__setattr__(op, "evaluate", counted)
    yield count
    object.__setattr__(op, "evaluate", evaluate)


@pytest.mark.parametrize(
    ("steps", "slots"), [(60, 1), (60, 2), (97, 3), (97, 5), (35, 4), (256, 8)]
)
@pytest.mark.quick(1)
def test_as_few_steps_as_can_be(steps: int, slots: int, calls: list[int]) -> None:
    x = np.random.default_rng(0).random(steps)
    free, limited = (sg.grad(lambda x, m=m: orbit(x, m)) for m in (None, memory_of(slots)))
    expected = free(x)
    with sg.backend("numpy"):
        program = limited.program(x)
        assert any(n.params.get("slots") == slots for n in program.steps)
        calls[0] = 0
        found = limited(x)
    # Once for the value; the slope of tanh is another op.
    assert calls[0] == steps + fewest_steps(steps, slots)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(limited(x), expected, rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.quick(1)
def test_one_trace_for_all_lengths(reverse: bool) -> None:
    x = np.random.default_rng(1).random(90)
    limited = sg.grad(lambda x: orbit(x, memory_of(3), reverse))
    free = sg.grad(lambda x: orbit(x, None, reverse))
    for n in (90, 89, 20, 3, 300):
        given = np.resize(x, n)
        np.testing.assert_allclose(limited(given), free(given), rtol=1e-11)
    assert limited.traces == 1


def kept(program: Any) -> int:
    """Return the bytes of the carries that the backward loop keeps, and of all tapes."""
    total = 0
    for node in program.steps:
        if node.op.kind == "tape":
            raise AssertionError("the schedule has no tapes")
        if node.op.name == "Loop":
            for x in node.params["body"].inputs:
                if x.name.startswith(("kept", "places")):
                    total += element_count(x) * x.dtype.itemsize
    return total


@pytest.mark.parametrize("slots", [1, 2, 6])
@pytest.mark.quick(1)
def test_memory_does_not_grow_with_the_steps(slots: int) -> None:
    def f(a: Array, n: int) -> Any:
        turn = lambda i, c: np.sin(c * a[0]) + a[1] * i / n  # noqa: E731
        return np.sum(sg.fori_loop(0, n, turn, a[2:], memory=memory))

    a = np.linspace(0.2, 0.9, 22)
    memory = (slots + 1) * (160 + PLACE) + 2 * 160
    for n in (100, 2000):
        g = sg.grad(lambda a, n=n: f(a, n))
        assert kept(g.program(a)) <= memory
    memory = 10**9
    np.testing.assert_allclose(g(a), sg.grad(lambda a: f(a, 2000))(a), rtol=1e-11)


@pytest.mark.slow
def test_derivatives_of_derivatives_and_batches() -> None:
    def f(x: Array, memory: int | None) -> Any:
        return sg.fori_loop(0, 40, lambda i, c: np.sin(c * x[0]) + 0.01 * i * x[1], 0.5,
                            memory=memory)  # fmt: skip

    x = np.array([0.9, 0.3])
    free, limited = (lambda x, m=m: f(x, m) for m in (None, memory_of(2)))
    np.testing.assert_allclose(sg.hessian(limited)(x), sg.hessian(free)(x), rtol=1e-10)
    twice = sg.grad(lambda x: np.sum(sg.grad(limited)(x) ** 2))
    np.testing.assert_allclose(
        twice(x), sg.grad(lambda x: np.sum(sg.grad(free)(x) ** 2))(x), rtol=1e-9
    )
    both = np.stack([x, x[::-1]])
    np.testing.assert_allclose(
        sg.vmap(sg.grad(limited))(both), sg.vmap(sg.grad(free))(both), rtol=1e-11
    )


def test_too_little_for_one_slot() -> None:
    with pytest.raises(ArgumentError, match="at least 48 are needed"):
        sg.grad(lambda x: orbit(x, 47))(np.ones(50))


@pytest.mark.parametrize("slots", [1, 2])
def test_more_steps_than_a_table_for_two_slots_reaches(slots: int) -> None:
    x = np.linspace(-0.4, 0.3, 300)
    free, limited = (sg.grad(lambda x, m=m: orbit(x, m)) for m in (None, memory_of(slots)))
    np.testing.assert_allclose(limited(x), free(x), rtol=1e-12)

"""Attacks: processes fork while other threads are at work in symgrad."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.torch as torch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")

X = np.linspace(0.1, 2.0, 40)
LARGE = np.linspace(0.0, 1.0, 300_000)


def chain(length: int, factor: float, cache: bool = True) -> Any:
    def function(x: Any) -> Any:
        for _ in range(length):
            x = np.sin(x) * factor
        return np.sum(x)

    return sg.compile(sg.grad(function), cache=cache)


def slope(x: Any, length: int, factor: float) -> Any:
    """Return the gradient of a chain, by the chain rule on numbers."""
    found = np.ones_like(x)
    for _ in range(length):
        found, x = found * np.cos(x) * factor, np.sin(x) * factor
    return found


#: One function for all threads and children, whose arguments are of ever new kinds.
shared = sg.grad(lambda x: np.sum(np.tanh(x) ** 3))

#: Compiled before any process forks.
old = chain(3, 1.5)


def new_kind(rng: random.Random) -> Any:
    """Return an argument of a shape that few before had: an axis of 1 is a kind of its own."""
    shape = [rng.choice((1, 2 + rng.randrange(7))) for _ in range(rng.randrange(1, 6))]
    return np.full(shape, 0.5, rng.choice((np.float32, np.float64)))


def trace_and_compile(rng: random.Random) -> None:
    chain(rng.randrange(2, 30), rng.random(), cache=rng.random() < 0.5)(X)


def ask_the_shared(rng: random.Random) -> None:
    shared(new_kind(rng))


def call(rng: random.Random) -> None:
    old(LARGE[: rng.randrange(1, 300_000)])


def drop(rng: random.Random) -> None:
    function = chain(2, rng.random(), cache=False)
    function(X)
    del function
    gc.collect()


def use_numba(rng: random.Random) -> None:
    chain(2, rng.random()).kernel(X)(X)


def eagerly(rng: random.Random) -> None:
    w = sg.tensor(np.full(rng.randrange(2, 9), 0.5), requires_grad=True)
    for _ in range(10):
        torch.sum(torch.tanh(w * 2.0) * w).backward()


WORK: tuple[Callable[[random.Random], None], ...] = (
    trace_and_compile, ask_the_shared, call, drop, use_numba, eagerly,
)  # fmt: skip

#: Numba takes a second for what LLVM does in a twentieth.
WEIGHTS = (4, 4, 2, 2, 0.3, 2)


@contextlib.contextmanager
def at_work(seed: int) -> Iterator[list[BaseException]]:
    """Have threads work, each at whatever comes next, and yield what they raise."""
    done, raised = threading.Event(), list[BaseException]()

    def work(rng: random.Random) -> None:
        try:
            while not done.is_set():
                rng.choices(WORK, WEIGHTS)[0](rng)
        except BaseException as error:  # noqa: BLE001  for the test
            raised.append(error)

    rngs = [random.Random(f"{seed} {k}") for k in range(2)]
    threads = [threading.Thread(target=work, args=(r,)) for r in rngs]
    for thread in threads:
        thread.start()
    try:
        yield raised
    finally:
        done.set()
        for thread in threads:
            thread.join()


def in_a_child(number: int) -> list[float]:
    """Return the largest error of old and of new gradients."""
    rng = random.Random(number)
    pairs = [(old(X), slope(X, 3, 1.5)), (old(LARGE), slope(LARGE, 3, 1.5))]
    length, factor = rng.randrange(2, 20), 0.5 + rng.random()
    fresh = chain(length, factor)
    pairs.append((fresh(X), slope(X, length, factor)))
    x = new_kind(rng)
    pairs.append((shared(x), 3 * np.tanh(x) ** 2 / np.cosh(x) ** 2))
    if number % 8 == 4:
        pairs.append((fresh.kernel(X)(X), pairs[2][1]))
    assert gc.isenabled()
    return [float(np.max(np.abs(a - b) / (1 + np.abs(b)))) for a, b in pairs]


@pytest.mark.attack(quick=1, whole=200, part=20, judge="the chain rule on numbers")
@pytest.mark.slow
def test_forks(attack: Any, isolated: Any) -> None:
    """A process forks while threads trace, compile, call and drop functions, and use Numba."""
    for work in WORK:  # what is imported then is imported once
        work(random.Random(0))
    with at_work(attack.numbers.start) as raised:
        for case in attack:
            with case:
                threading.Event().wait(0.3 * case.rng.random())
                ending = isolated(in_a_child, case.number, seconds=60)
                assert ending.kind == "returned", ending
                assert max(ending.value) < 1e-5, ending
                assert not raised, "".join(traceback.format_exception(raised[0]))

"""Draws of other threads."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._capture._draws import States

X = np.array([0.3, 0.7, 1.2])


class Model:
    power = 3


@pytest.fixture(autouse=True)
def _shared_generator() -> Iterator[None]:
    state = random.getstate()
    yield
    random.setstate(state)


#: As a worker of a cluster has functions: without their source, so that no copy notes draws.
DYNAMIC: dict[str, Any] = {"Model": Model}
exec(compile("def f(x):\n    return x**Model.power", "<dynamic-code>", "exec"), DYNAMIC)


def with_source(x: Any) -> Any:
    return x**Model.power


@pytest.mark.parametrize("f", [with_source, DYNAMIC["f"]])
def test_draws_of_another_thread_are_none_of_a_function_that_mentions_a_power(
    f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Schedulers draw from the shared generators; `power` is a name of NumPy's generators, too."""
    moved, others = States.moved, [None] * 4

    def moved_by_others(states: States) -> bool:
        if others:
            others.pop()
            random.random()
        return moved(states)

    ending = threading.Event()
    other = threading.Thread(target=ending.wait)
    other.start()
    try:
        g = sg.compile(f)
        monkeypatch.setattr(States, "moved", moved_by_others)
        np.testing.assert_allclose(g(X), X**3, rtol=1e-15)
    finally:
        ending.set()
        other.join()
    assert not others

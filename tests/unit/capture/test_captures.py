"""What a function reads is walked through once, and compared in each call."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import symgrad as sg
from symgrad._capture import _captures
from symgrad._core.runtime import MISS, structures
from symgrad._core.trace import as_node

HELPER = """
import numpy as np

def helper(x, count=2):
    return sum(np.sin(x[k]) * len(x) for k in range(min(count, len(x))))
"""


@pytest.mark.skipif(structures.FAULT is not None, reason="Numba calls the functions")
def test_functions_that_read_nothing_are_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)  # it may put other code
    g = sg.compile(lambda x: np.sum(x**2))
    g(np.ones(3))
    assert g._fast is not None
    assert g._fast.function is g._fast.found.caller


class Spring:
    def __init__(self, stiffness: float) -> None:
        self.stiffness, self.power, self.rest = stiffness, 2, np.zeros(3)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spring)


@pytest.mark.skipif(structures.FAULT is not None, reason="Numba calls the functions")
def test_objects_among_the_arguments_go_straight_into_compiled_code() -> None:
    """What they have is looked at there, as all that is read; another object is another call."""

    def energy(spring: Any, x: Any, change: Any = np.sin) -> Any:
        return np.sum(spring.stiffness * change(x - spring.rest) ** spring.power)

    g = sg.compile(energy)
    x, springs = np.arange(3.0), [Spring(2.0), Spring(3.0)]

    def called(*args: Any) -> None:
        for _ in range(2):
            np.testing.assert_allclose(g(*args), energy(*args), rtol=1e-14)

    changes: list[Any] = [np.sin, lambda t: t * springs[0].stiffness]
    for change in (
        lambda: None,
        lambda: setattr(springs[0], "stiffness", 5.0),
        lambda: setattr(springs[0], "power", 3),
        lambda: springs[1].rest.__setitem__(0, 1.0),
    ):
        change()
        for spring, function in itertools.product(springs, changes):
            called(spring, x, function)
    called(springs[0], x, changes[1])
    assert g._fast is not None
    assert g._fast.function(springs[0], x, changes[1]) is not MISS
    assert g._fast.function(springs[1], x, changes[1]) is MISS


@pytest.mark.usefixtures("no_kernels")
def test_builtins_in_another_module_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("other")
    exec(HELPER, vars(other))
    helper = other.helper
    g = sg.value_and_grad(lambda x: helper(x))
    x = np.array([0.1, 0.2, 0.3])
    want = g(x)
    walked: list[Any] = []
    walk = _captures.read_by
    monkeypatch.setattr(_captures, "read_by", lambda *a: walked.append(a) or walk(*a))
    for _ in range(2):
        np.testing.assert_array_equal(g(x)[1], want[1])
    assert not walked
    other.len = lambda x: 5  # type: ignore[attr-defined]
    assert g(x)[0] == pytest.approx(5 * (np.sin(0.1) + np.sin(0.2)))
    assert walked


class Camera(NamedTuple):
    focus: float
    places: np.ndarray[Any, Any]


class NotBelow:
    """An attribute that makes a value of what the object has."""

    def __init__(self, bound: float) -> None:
        self.bound = bound

    def __get__(self, thing: Any, kind: type) -> float:
        return max(self.bound, thing.given)


class Rate:
    used = NotBelow(1.0)
    given = 0.5


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("way", ["namedtuple", "descriptor"])
def test_descriptors_are_compared_themselves(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fields of a namedtuple are some: their value in a tuple is not what the class has."""
    kept, rate = {"camera": Camera(2.0, np.ones(3))}, Rate()
    functions = {
        "namedtuple": lambda x: np.sum(kept["camera"].focus * kept["camera"].places * x),
        "descriptor": lambda x: np.sum(rate.used * x),
    }
    g, x = sg.grad(functions[way]), np.ones(3)
    first = g(x)
    walked: list[Any] = []
    walk = _captures.read_by
    monkeypatch.setattr(_captures, "read_by", lambda *a: walked.append(a) or walk(*a))
    np.testing.assert_array_equal(g(x), first)
    assert not walked
    if way == "namedtuple":
        kept["camera"].places[1] = 3.0
        np.testing.assert_array_equal(g(x), [2.0, 6.0, 2.0])
        kept["camera"] = kept["camera"]._replace(focus=4.0)
        np.testing.assert_array_equal(g(x), [4.0, 12.0, 4.0])
        return
    rate.given = 2.0
    np.testing.assert_array_equal(g(x), np.full(3, 2.0))
    monkeypatch.setattr(vars(Rate)["used"], "bound", 5.0)
    np.testing.assert_array_equal(g(x), np.full(3, 5.0))


def test_threads_that_look_at_once_see_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads walk over a function at the same time: one state, and so one trace."""
    both, numbers = threading.Barrier(2), itertools.count(1 << 40)

    class Numbers:
        def __next__(self) -> int:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(1.0)
            return next(numbers)

    monkeypatch.setattr(_captures, "_numbers", Numbers())
    g = sg.compile(lambda x: np.sum(np.sin(x)))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(g, [np.ones(3)] * 2))
    assert g.traces == 1


def _never(*_: Any) -> Any:
    raise AssertionError("the call was looked at in Python")


@pytest.mark.skipif(structures.FAULT is not None, reason="Numba calls the functions")
def test_kinds_of_calls_that_take_turns_go_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    def power(x: Any, n: int = 2) -> Any:
        return np.sum(x) ** n

    def sided(x: Any) -> Any:
        return np.sin(x) if x > 0 else x * x

    raised, bent = sg.compile(power), sg.grad(sided)
    calls = [(np.ones(3), {}), (2.0, {}), (np.float64(3.0), {"n": 3}), (np.ones((2, 2)), {"n": 2})]
    for _ in range(2):
        wanted = [raised(x, **named) for x, named in calls]
        slopes = [bent(x) for x in (0.5, -0.5)]
    monkeypatch.setattr(sg.Function, "_called", _never)
    for _ in range(3):
        assert [raised(x, **named) for x, named in calls] == wanted
        assert [bent(x) for x in (0.5, -0.5)] == slopes == [np.cos(0.5), -1.0]


def test_kinds_that_take_turns_are_of_one_state_of_what_is_read() -> None:
    factor = 2

    def scaled(x: Any) -> Any:
        return factor * np.sum(x)

    g = sg.compile(scaled)
    for factor in (2, 3, 2, 5, 3):
        for x in (1.0, np.float64(2.0), np.ones(3), 1.0, np.ones(3)):
            assert g(x) == factor * np.sum(x)
            assert g(x) == factor * np.sum(x)


def test_nodes_are_compared_by_what_they_are_alone() -> None:
    """A rule's closure holds nodes; nothing that they are made of can change."""
    counts = []

    def f(x: Any) -> Any:
        y = x
        for k in range(50):
            y = np.sin(y) + k
        deep = as_node(y)

        def scaled(s: Any) -> Any:
            return s * len(deep.operands)

        counts.append(len(_captures.read_by(scaled).reads))
        return y

    sg.compile(f)(1.0)
    assert counts[0] < 10


def test_a_place_that_only_the_other_side_reads_is_no_error() -> None:
    """Code of one side runs before it is known that a call is for the other."""

    def sided(x: Any, k: Any, t: Any) -> Any:
        return x[k] * 2.0 if t > 0 else np.sum(x)

    g, x = sg.compile(sided), np.arange(4.0)
    for _ in range(3):
        assert g(x, np.int64(2), 1.0) == 4.0
        assert g(x, np.int64(9), -1.0) == 6.0
        with pytest.raises(IndexError):
            g(x, np.int64(9), 1.0)

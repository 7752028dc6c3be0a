"""A transformation that is applied to the same function again: what is compiled is found by it."""

from __future__ import annotations

import cProfile
import functools
import gc
import pickle
import pstats
import threading
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import symgrad as sg

X = np.linspace(0.1, 0.9, 4)
FACTOR = 2.0


def calls_of(run: Callable[[], Any]) -> int:
    """Return how many functions are called."""
    profile = cProfile.Profile()
    profile.runcall(run)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(
    "transformation", [sg.compile, sg.grad, sg.value_and_grad, sg.jacobian, sg.hessian]
)
def test_in_a_loop_it_is_traced_once(transformation: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) ** 2)

    first = transformation(f)(X)
    for k in range(1, 6):
        again = transformation(f)
        for a, b in zip(parts(again(X)), parts(first), strict=True):
            np.testing.assert_array_equal(a, b)
        assert again.traces == 1
        again(np.linspace(0.1, 0.9, 4 + k))
    assert calls_of(lambda: transformation(f)(X)) < 500


def test_other_options_are_another() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x**2 * y)

    y = 2.0 * X
    np.testing.assert_allclose(sg.grad(f)(X, y), 2 * X * y)
    np.testing.assert_allclose(sg.grad(f, argnums=1)(X, y), X**2)
    both = sg.grad(f, argnums=(0, 1))(X, y)
    np.testing.assert_allclose(both[1], X**2)
    np.testing.assert_allclose(sg.grad(f, argnums=[0])(X, y)[0], 2 * X * y)


def scaled(x: Any) -> Any:
    return FACTOR * np.sum(x**2)


def test_what_it_reads_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    for factor in (2.0, 3.0, -1.0, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        np.testing.assert_allclose(sg.grad(scaled)(X), 2 * factor * X, rtol=1e-15)


def test_each_function_of_one_code_has_its_own() -> None:
    for k in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(sg.grad(lambda x, k=k: np.sum(k * x))(X), np.full(4, k))


def test_new_code_and_defaults_count() -> None:
    def f(x: Any, power: int = 2) -> Any:
        return np.sum(x**power)

    np.testing.assert_allclose(sg.grad(f)(X), 2 * X)
    f.__defaults__ = (3,)
    np.testing.assert_allclose(sg.grad(f)(X), 3 * X**2)
    f.__code__ = (lambda x, power: np.sum(np.sin(x))).__code__
    np.testing.assert_allclose(sg.grad(f)(X), np.cos(X))


def test_wrappers_have_their_own() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2)

    sg.grad(f)(X)

    @functools.wraps(f)
    def twice(x: Any) -> Any:
        return 2 * f(x)

    np.testing.assert_allclose(sg.grad(twice)(X), 4 * X)
    np.testing.assert_allclose(sg.grad(f)(X), 2 * X)


def test_functions_go_with_what_was_compiled_for_them() -> None:
    def made() -> tuple[weakref.ref[Any], weakref.ref[Any]]:
        data = np.arange(4.0)

        class Big:
            pass

        big = Big()

        def f(x: Any) -> Any:
            assert big
            return np.sum(x * data)

        for _ in range(3):
            np.testing.assert_allclose(sg.grad(f)(X), data)
        return weakref.ref(f), weakref.ref(big)

    kept = made()
    gc.collect()
    assert [x() for x in kept] == [None, None]


def test_within_a_trace_nothing_is_kept() -> None:
    def inner(x: Any) -> Any:
        return np.sum(x**3)

    def outer(x: Any) -> Any:
        return np.sum(sg.grad(inner)(x) ** 2)

    for _ in range(2):
        np.testing.assert_allclose(sg.grad(outer)(X), 36 * X**3)
    np.testing.assert_allclose(sg.grad(inner)(X), 3 * X**2)


def module_level(x: Any) -> Any:
    return np.sum(np.exp(x))


def test_pickles_and_copies_are_as_before() -> None:
    g = sg.grad(module_level)
    g(X)
    again = pickle.loads(pickle.dumps(g))
    np.testing.assert_allclose(again(X), np.exp(X))
    copy = FunctionType(module_level.__code__, globals(), "copy")
    vars(copy).update(vars(module_level))
    np.testing.assert_allclose(sg.grad(copy)(X), np.exp(X))


def test_threads() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(x))

    found: list[Any] = []

    def work() -> None:
        found.extend(sg.grad(f)(X) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    for slope in found:
        np.testing.assert_allclose(slope, 1 - np.tanh(X) ** 2)


def test_warnings_of_the_trace_are_given_again() -> None:
    def stencil(x: Any) -> Any:
        return x[1:] - x[:-1] ** 2

    for _ in range(2):
        with pytest.warns(sg.errors.SparsityWarning, match="sparse=True"):
            sg.jacobian(stencil)(np.ones(2100))

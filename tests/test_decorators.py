"""Decorators stay: what stands around a function counts wherever its source is rewritten."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

pytestmark = pytest.mark.usefixtures("no_kernels")


def doubled(g: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(g)
    def inner(*args: Any) -> Any:
        return 2.0 * g(*args)

    return inner


def raised_twice(g: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator with a branch and a loop of its own."""

    @functools.wraps(g)
    def inner(x: Any) -> Any:
        y = x
        for _ in range(2):
            if y > 0.5:
                y = g(y)
        return y + x

    return inner


def cube(x: Any) -> Any:
    if x > 1:
        return x**3
    return -x


@contextlib.contextmanager
def around() -> Any:
    yield


def cubed_in_place(x: Any) -> Any:
    out = np.zeros(2)
    out[0] = x
    return np.sum(out) ** 3 if x > 1 else -out[0]


DECORATED: dict[str, Callable[..., Any]] = {
    "doubled": doubled(cube),
    "doubled twice": doubled(doubled(cube)),
    "with control flow": raised_twice(cube),
    "of both kinds": doubled(raised_twice(cube)),
    "errstate": np.errstate(all="ignore")(cubed_in_place),
    "contextmanager": around()(cubed_in_place),
    "around a context": doubled(around()(cubed_in_place)),
}
POINTS = np.array([2.0, 0.3, 1.5, -0.7])


@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
@pytest.mark.parametrize("name", DECORATED)
def test_decorated_functions(name: str) -> None:
    f = DECORATED[name]
    want = np.array([f(x) for x in POINTS.tolist()])
    h = 1e-5
    slopes = np.array([(f(x + h) - f(x - h)) / (2 * h) for x in POINTS.tolist()])
    rolled = sg.compile(f, control_flow=True)
    for g in (sg.compile(f), rolled):
        np.testing.assert_allclose([g(x) for x in POINTS], want, rtol=1e-12)
        np.testing.assert_allclose([sg.grad(g)(x) for x in POINTS], slopes, rtol=1e-8)
    np.testing.assert_allclose(sg.vmap(f)(POINTS), want, rtol=1e-12)
    np.testing.assert_allclose(sg.vmap(rolled)(POINTS), want, rtol=1e-12)
    np.testing.assert_allclose(sg.vmap(sg.grad(f))(POINTS), slopes, rtol=1e-8)


def test_a_decorator_put_on_after_the_first_call() -> None:
    def absolute(x: Any) -> Any:
        if x > 0:
            return x
        return -x

    assert sg.compile(absolute, control_flow=True)(-3.0) == 3.0
    assert sg.compile(doubled(absolute), control_flow=True)(-3.0) == 6.0


def test_loops_of_decorated_functions_stay_loops() -> None:
    def powers(x: Any, n: Any) -> Any:
        y = 1.0
        for _ in range(n):
            y = y * x
        return y

    g = sg.compile(doubled(powers), control_flow=True)
    assert g(1.5, 20) == pytest.approx(2 * 1.5**20)
    assert g(1.5, 30) == pytest.approx(2 * 1.5**30)
    assert g.traces == 1


@pytest.mark.parametrize(
    ("transformed", "want"),
    [
        (sg.grad(cube), 12.0),
        (sg.compile(cube), 8.0),
        (sg.grad(sg.grad(cube)), 12.0),
        (sg.jacobian(cube), 12.0),
        (sg.grad(doubled(cube)), 24.0),
        (sg.checkpoint(cube), 8.0),
        (functools.lru_cache(cube), 8.0),
        (sg.compile(cube, control_flow=True), 8.0),
        (sg.compile(sg.grad(sg.compile(cube, control_flow=True)), control_flow=True), 12.0),
    ],
)
def test_transformed_functions_are_rewritten_as_what_they_are(
    transformed: Callable[..., Any], want: float
) -> None:
    assert sg.compile(transformed, control_flow=True)(2.0) == pytest.approx(want)


def test_rules_of_their_own_stay() -> None:
    @sg.custom_vjp
    def f(x: Any) -> Any:
        return x**2

    f.defvjp(lambda x: (x**2, x), lambda x, ct: (7.0 * ct,))
    g = sg.compile(f, control_flow=True)
    assert g(3.0) == 9.0
    assert sg.grad(g)(3.0) == 7.0

"""Searches by halving: their derivative is not that of what they find, which is said."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import symgrad as sg
from symgrad.errors import PathsWarning

pytestmark = pytest.mark.usefixtures("few_kernels")

P = np.array([2.0, 5.0])
DATA = np.random.default_rng(0).standard_normal(500)


def cubic(x: Any, p: Any) -> Any:
    return x**3 - p[0] * x - p[1]


def bisected(f: Callable[[Any], Any], a: Any, b: Any, tol: float = 1e-6) -> Any:
    while b - a > tol:
        middle = (a + b) / 2
        if f(a) * f(middle) <= 0:
            b = middle
        else:
            a = middle
    return (a + b) / 2


def between_numbers(p: Any) -> Any:
    return bisected(lambda x: cubic(x, p), 0.0, 10.0) ** 2


def between_arguments(p: Any) -> Any:
    return bisected(lambda x: cubic(x, p), 0.0 * p[1], 5.0 * p[0], 1e-10)


def golden(p: Any) -> Any:
    ratio, a, b = (math.sqrt(5) - 1) / 2, 0.0, 5.0
    for _ in range(40):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        if (c - p[0]) ** 2 + np.cosh(c / p[1]) < (d - p[0]) ** 2 + np.cosh(d / p[1]):
            b = d
        else:
            a = c
    return (a + b) / 2


def side_by_side(p: Any) -> Any:
    low, high = np.zeros(3), np.full(3, 10.0)
    for _ in range(50):
        middle = 0.5 * (low + high)
        above = cubic(middle, [p[0], p[1] * np.arange(1.0, 4.0)]) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.sum(middle)


SEARCHES = [between_numbers, between_arguments, golden, side_by_side]


@pytest.mark.parametrize("f", SEARCHES, ids=lambda f: f.__name__)
def test_a_search_is_told(f: Any) -> None:
    for p in (P, 1.3 * P):
        with pytest.warns(PathsWarning, match=r"decisions at test_searches.py:\d+ close in on"):
            sg.grad(lambda p: f(p))(p)
    with pytest.warns(PathsWarning, match="sg.implicit_root"):
        sg.jvp(f, (P,), (P,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sg.compile(f)(P) == pytest.approx(f(P), rel=1e-14)


def by_rule(p: Any) -> Any:
    solve = sg.implicit_root(cubic, lambda p: bisected(lambda x: cubic(x, p), 0.0, 10.0, 1e-12))
    return solve(p)


def by_scipy(p: Any) -> Any:
    return scipy.optimize.bisect(cubic, 0.0, 10.0, args=(p,), xtol=1e-13)


def over_data(p: Any) -> Any:
    total = 0.0
    for x in DATA:
        total += (x - p[0]) ** 2 if x > p[1] - 5.0 else p[1]
    return total + np.sum(np.where(np.sort(DATA * p[0]) > 0.1 * p[1], DATA, 0.0))


def newton(p: Any) -> Any:
    x, step = 3.0, 1.0
    for _ in range(40):
        trial = x - step * cubic(x, p) / (3 * x**2 - p[0])
        if abs(cubic(trial, p)) < abs(cubic(x, p)):
            x = trial
        else:
            step = step / 2
    return x


def looked_up(p: Any) -> Any:
    table, k = np.logspace(-6, 6, 80), 0
    while table[k] < p[0] * p[1]:
        k += 1
    return p[0] * table[k]


def ranked(p: Any) -> Any:
    x = p[0] * np.random.default_rng(0).normal(size=40_000)
    return np.sum(np.searchsorted(np.sort(x), x) * x) * 1e-9 + p[1]


@pytest.mark.parametrize("f", [by_rule, by_scipy, over_data, newton, looked_up, ranked],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_other_decisions_are_not(f: Any) -> None:
    slopes = sg.grad(f)(P)
    near = [(f(P + h) - f(P - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(slopes, near, rtol=1e-5, atol=1e-6)
    sg.hessian(f)(P)


# ---------------------------------------------------------------- loops of the program


def halved(p: Any) -> Any:
    """By ``while_loop``, both ends chosen by one condition."""

    def step(ends: Any) -> Any:
        middle = (ends[0] + ends[1]) / 2
        above = cubic(middle, p) > 0
        return np.where(above, ends[0], middle), np.where(above, middle, ends[1])

    low, high = sg.while_loop(lambda ends: ends[1] - ends[0] > 1e-9, step, (0.0, 10.0 + p[0]))
    return (low + high) / 2


def halved_by_sides(p: Any) -> Any:
    """By ``fori_loop``, with the two sides of a branch."""

    def step(k: Any, ends: Any) -> Any:
        low, high = ends
        middle = (low + high) / 2
        return sg.cond(cubic(middle, p) < 0, lambda: (middle, high, 0), lambda: (low, middle, 1))[
            :2
        ]

    return sg.fori_loop(0, 50, step, (0.0, 10.0))[0]


def opposite(p: Any) -> Any:
    """With a condition and its contrary."""

    def step(k: Any, ends: Any) -> Any:
        low, high = ends
        y = cubic((low + high) / 2, p)
        return np.where(y < 0, (low + high) / 2, low), np.where(y >= 0, (low + high) / 2, high)

    return sg.fori_loop(0, 50, step, (0.0, 10.0))[1]


@pytest.mark.parametrize("f", [halved, halved_by_sides, opposite, between_arguments, golden],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_a_search_in_a_loop_is_told(f: Any) -> None:
    many, says = np.stack([P, 1.3 * P]), r"in a loop at test_searches.py:\d+ close in on"
    if f not in (between_arguments, golden):  # as they stand these are no loops
        with pytest.warns(PathsWarning, match=says):
            sg.grad(f)(P)
    with pytest.warns(PathsWarning, match=says):
        sg.vmap(sg.grad(f))(many)
    with pytest.warns(PathsWarning, match=says):
        sg.grad(lambda p: np.sum(sg.vmap(f)(p)))(many)
    with pytest.warns(PathsWarning, match=says):
        sg.jvp(sg.vmap(f), (many,), (many,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(sg.vmap(f)(many), [f(p) for p in many], rtol=1e-12)


def false_position(p: Any) -> Any:
    """The new end is computed from values, whose derivatives become those of the root."""

    def step(k: Any, ends: Any) -> Any:
        low, high = ends
        y, z = cubic(low, p), cubic(high, p)
        x = high - z * (high - low) / (z - y)
        above = cubic(x, p) > 0
        return np.where(above, low, x), np.where(above, x, high)

    return sg.fori_loop(0, 200, step, (1.0, 4.0))[0]


def safe_newton(p: Any) -> Any:
    """Newton's step where it stays within, and half of the interval elsewhere."""

    def step(k: Any, state: Any) -> Any:
        low, high, x = state
        y = cubic(x, p)
        low, high = np.where(y < 0, x, low), np.where(y < 0, high, x)
        new = x - y / (3 * x**2 - p[0])
        return low, high, np.where((new > low) & (new < high), new, (low + high) / 2)

    return sg.fori_loop(0, 60, step, (1.0, 10.0, 5.0))[2]


def extremes(p: Any) -> Any:
    """The least and the greatest of some values."""

    def step(k: Any, found: Any) -> Any:
        y = np.sin(p[0] * k) * p[1]
        return np.where(y < found[0], y, found[0]), np.where(y > found[1], y, found[1])

    low, high = sg.fori_loop(0, 9, step, (np.inf, -np.inf))
    return high - low


def polished(p: Any) -> Any:
    """A search that is not differentiated, by ``stop_gradient``, and a step that is."""

    def step(k: Any, ends: Any) -> Any:
        middle = (ends[0] + ends[1]) / 2
        above = sg.stop_gradient(cubic(middle, p)) > 0
        return np.where(above, ends[0], middle), np.where(above, middle, ends[1])

    x = sg.fori_loop(0, 50, step, (0.0, 10.0))[0]
    return x - cubic(x, p) / (3 * x**2 - p[0])


def in_batches_by_rule(p: Any) -> Any:
    return np.sum(sg.vmap(by_rule)(np.stack([p, 1.1 * p])))


@pytest.mark.parametrize("f", [false_position, safe_newton, extremes, polished, in_batches_by_rule],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_other_loops_are_not(f: Any) -> None:
    near = [(f(P + h) - f(P - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(sg.grad(f)(P), near, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sg.jvp(f, (P,), (P,))[1], P @ near, rtol=1e-5, atol=1e-6)


def test_a_solver_that_is_called_often_on_one_line_is_no_search_of_the_users() -> None:
    def cost(u: Any, shift: Any, x: Any) -> Any:
        return np.sum(np.logaddexp(0, shift + x + u) - (x + u)) + u**2 / 2

    def minima(p: Any) -> Any:
        total = 0.0
        for x in (DATA[:5], DATA[5:13]):
            total += scipy.optimize.minimize_scalar(cost, args=(p[0], x)).x
        return total

    at = np.array([0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slope = sg.grad(minima)(at)[0]
    assert np.isclose(slope, (minima(at + 1e-4) - minima(at - 1e-4)) / 2e-4, rtol=1e-3)

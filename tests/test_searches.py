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


@pytest.mark.parametrize("f", [by_rule, by_scipy, over_data, newton, looked_up],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_other_decisions_are_not(f: Any) -> None:
    slopes = sg.grad(f)(P)
    near = [(f(P + h) - f(P - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(slopes, near, rtol=1e-5, atol=1e-6)
    sg.hessian(f)(P)

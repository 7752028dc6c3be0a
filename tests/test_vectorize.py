"""``np.vectorize`` of a function of numbers, called on traced arrays; ``max`` and ``min``."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, log, sqrt
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

X = np.array([-1.0, 0.5, 2.5])
STRIKES, TIMES = np.array([90.0, 100.0, 110.0]), np.array([0.0, 1.0, 2.0])
SHARE = 0.1


@np.vectorize
def call_price(spot: float, strike: float, time: float, vol: float) -> float:
    if time <= 0:
        return max(spot - strike, 0.0)
    d1 = (log(spot / strike) + 0.5 * vol**2 * time) / (vol * sqrt(time))
    d2 = d1 - vol * sqrt(time)
    normal = lambda z: 0.5 * (1 + erf(z / sqrt(2)))  # noqa: E731
    return spot * normal(d1) - strike * normal(d2)


@np.vectorize
def pieces(x: float) -> float:
    if x < 0:
        y = x**2
    elif 0 < x < 1:
        y = min(x, 0.7, 2 * x)
    else:
        y = float(np.sin(x))
    return y


@np.vectorize
def counted(x: float) -> float:
    s = 0.0
    while s < x:
        s = s + 1.0
    return s * x


def bent(x: Any, a: Any) -> Any:
    if x > a and x < 2 * a:
        return x * a
    return a


leaky = np.vectorize(lambda x: x if x > 0 else SHARE * x)
kept = np.vectorize(bent, excluded=["a"])
first = np.vectorize(bent, excluded=[0])
typed = np.vectorize(bent, otypes=[float])

CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "prices": (lambda p: call_price(p[0], STRIKES, TIMES, p[1]), np.array([100.0, 0.2])),
    "spots": (lambda p: call_price(100 * p, STRIKES, TIMES, 0.2), np.array([1.0, 1.1, 0.9])),
    "pieces": (pieces, X),
    "steps": (counted, X),
    "a lambda": (leaky, X),
    "of a table": (lambda x: leaky(np.outer(x, x)), X),
    "of a number": (lambda x: leaky(x[0]), X),
    "made inside": (lambda x: np.vectorize(bent)(x, 2.0), X),
    "by name": (lambda x: typed(a=x[1] + 0 * x, x=x), X),
    "excluded": (lambda x: kept(x, a=2.0), X),
    "excluded place": (lambda x: first(x[1], x), X),
    "a Series": (lambda x: typed(pd.Series([1.0, 2.0, 3.0]), x[1]), X),
    "two Series": (lambda x: call_price(100 * x[2], pd.Series(STRIKES), pd.Series(TIMES), 0.2), X),
}


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case: str) -> None:
    f, x = CASES[case]
    found = sg.compile(f)(x)
    assert isinstance(found, np.ndarray) or np.ndim(f(x)) == 0
    np.testing.assert_allclose(found, f(x), rtol=1e-12)
    h = 1e-6
    wanted = np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))], -1)
    np.testing.assert_allclose(sg.jacobian(f)(x), wanted, rtol=1e-6, atol=1e-6)


def test_signatures_are_refused() -> None:
    total = np.vectorize(lambda x: np.sum(x), signature="(n)->()")
    with pytest.raises(UnsupportedError, match=r"no signature=\. Write instead: sg\.vmap"):
        sg.compile(lambda x: total(x))(np.ones((2, 3)))


def test_max_and_min_of_examples_of_a_batch() -> None:
    f = lambda x: max(x, 0.0) + min([x, 2.0, x**2]) - max(1, 2)  # noqa: E731
    np.testing.assert_array_equal(sg.vmap(f)(X), [f(x) for x in X])
    np.testing.assert_allclose(sg.vmap(sg.grad(f))(X), [1.0, 2.0, 1.0])
    x = np.array([np.nan, 1.0])
    for g in (lambda x: max(x, 0.5), lambda x: max(0.5, x), lambda x: min(x, 0.5)):
        np.testing.assert_array_equal(sg.vmap(g)(x), [g(v) for v in x])
    steps = sg.compile(lambda x: sg.scan(lambda s, v: (max(s, v), s), x[0], x)[0])
    assert steps(X) == 2.5


def made(k: float) -> Callable[[Any], Any]:
    return lambda x: (
        k * x
        if x > 0
        else np.sin(x)
    )  # fmt: skip


def test_control_flow_of_lambdas() -> None:
    """Two in a line are told apart by their places."""
    one, two = (lambda x: x if x > 1 else 0.0), (lambda x, b=3.0: b * x if x > 0 and x < 2 else -x)
    for f in (one, two, made(4.0)):
        g = sg.vmap(sg.compile(f, control_flow=True))
        np.testing.assert_array_equal(g(X), [f(x) for x in X])


@numba.vectorize
def root(x: float) -> float:
    if x < 0:
        raise ValueError("negative")
    return np.sqrt(x)


def test_errors_in_functions_of_numbers() -> None:
    """As Python of one number; of an array the elements without a result are nan."""
    f = sg.compile(lambda x: root(x))
    assert f(4.0) == 2.0
    with pytest.raises(ValueError, match="negative"):
        f(-1.0)
    np.testing.assert_array_equal(f(X), [np.nan, *np.sqrt(X[1:])])
    assert sg.grad(lambda x: root(x))(4.0) == 0.25

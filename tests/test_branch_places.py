"""Branches in loops that write and read single places of arrays: right, and without copies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

Array = np.ndarray[Any, Any]
#: More elements than what is copied without a thought.
LENGTH = 90


def one_side(x: Array) -> Any:
    y = x.copy()
    for i in range(1, LENGTH):
        if y[i - 1] > 0.3:
            y[i] = y[i - 1] * 0.9 + np.sin(x[i])
    return np.sum(y * y)


def several(x: Array) -> Any:
    y = x.copy()
    for i in range(1, LENGTH):
        if y[i - 1] > 0.6:
            y[i] = y[i - 1] * 0.5
        elif x[i] > 0.2:
            y[i] *= 1.5
            y[i - 1] += 0.1 * y[i]
        else:
            y[3] = x[i] * y[i - 1]
    return np.sum(y * y)


def exchanged(x: Array) -> Any:
    y = x.copy()
    for i in range(LENGTH - 1):
        if y[i] > y[i + 1]:
            y[i], y[i + 1] = y[i + 1], y[i]
    return np.sum(y * np.cos(np.arange(LENGTH)))


def within_bounds(x: Array) -> Any:
    y = x.copy()
    for i in range(LENGTH):
        if i + 2 < LENGTH:
            y[i + 2] -= 0.3 * y[i]
    return np.sum(y * y)


def rows(x: Array) -> Any:
    y = np.reshape(x, (LENGTH // 2, 2)).copy()
    for i in range(1, LENGTH // 2):
        if y[i, 0] > y[i - 1, 1]:
            y[i] = y[i - 1] * 0.5 + y[i]
        y[i, 1] += 0.1
    return np.sum(y * y)


def read_only(x: Array) -> Any:
    s = 0.0
    for i in range(LENGTH):
        if x[i] > 0.4:
            s = s + x[i] * x[i - 1] * s
        else:
            s = s + x[5]
    return s


def until(x: Array) -> Any:
    y, i = x.copy(), 0
    while y[i] < 1.4 and i < LENGTH - 2:
        if y[i] > 0.5:
            y[i + 1] += 0.5 * y[i]
        i += 1
    return np.sum(y * y)


LOOPS = [one_side, several, exchanged, within_bounds, rows, read_only, until]
X = np.sin(1.0 + 2.0 * np.arange(LENGTH)) ** 2


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.quick(1)
def test_values_and_derivatives(f: Callable[[Array], Any]) -> None:
    rolled = sg.compile(sg.adapt(f), control_flow=True)
    assert rolled(X) == pytest.approx(f(X), rel=1e-13)
    t, h = np.cos(np.arange(LENGTH)), 1e-6
    slope = sg.grad(rolled)
    assert slope(X) @ t == pytest.approx((f(X + h * t) - f(X - h * t)) / (2 * h), rel=1e-7)
    assert sg.jvp(rolled, (X,), (t,))[1] == pytest.approx(slope(X) @ t, rel=1e-12)
    bent = sg.jvp(slope, (X,), (t,))[1]
    near = (slope(X + h * t) - slope(X - h * t)) / (2 * h)
    np.testing.assert_allclose(bent, near, rtol=1e-6, atol=1e-6)
    batch = np.stack([X, X[::-1], X * 0.5])
    np.testing.assert_allclose(sg.vmap(slope)(batch), [slope(x) for x in batch], rtol=1e-12)
    with sg.backend("numpy"):
        np.testing.assert_allclose(sg.grad(rolled)(X), slope(X), rtol=1e-12)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_no_array_goes_through_a_branch(f: Callable[[Array], Any]) -> None:
    """A step costs what it writes and reads, forward and back; tapes hold elements."""
    rolled = sg.compile(sg.adapt(f), control_flow=True)
    for program in (rolled.program(X), sg.grad(rolled).program(X)):
        lines = str(program).splitlines()
        arrays = [x for x in lines if re.search(r"float64\[[^\]]*[nm/]", x)]
        assert not [x for x in arrays if " = tape(" in x], program
        # Lines of the cases stand four places further in than those of the step.
        assert not [x for x in arrays if re.match(r" {16}\s*v\d+ =", x)], program

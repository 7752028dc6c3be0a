"""Names of one array that branches and loops give other arrays, and then write into."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import PathsWarning, TraceError

pytestmark = pytest.mark.usefixtures("no_kernels")


def view_that_becomes_another(x: Any, s: Any) -> Any:
    y = x.copy()
    w = y[::-1]
    if s > 0:
        w = w * 2
    y[:] = 0.5
    return w


def name_of_another_on_one_side(x: Any, s: Any) -> Any:
    y, w = x.copy(), x * 3
    if s > 0:
        w = y
    w[0] = 0.5
    return y


def choice_of_two(x: Any, s: Any) -> Any:
    y, w = x.copy(), x * 3
    z = y if s > 0 else w
    z[0] = 0.5
    return y + 2 * w


def copy_on_one_side(x: Any, s: Any) -> Any:
    y = x.copy()
    w = y[1:]
    if w[0] > s:
        w = w.copy()
    w[0] = 7.0
    return y


def loop_of_no_steps(x: Any, s: Any) -> Any:
    y = x.copy()
    w = y
    while s > 0:
        s = s - 1
        w = w * 2
    y[0] = 0.5
    return w


def name_of_another_in_a_loop(x: Any, s: Any) -> Any:
    y, z = x.copy(), x * 2
    while s > 0:
        s = s - 1
        z = y
    z[0] = 0.5
    return y


def written_in_the_step_after(x: Any, s: Any) -> Any:
    y, z = x.copy(), x * 2
    total = 0.0
    while s > 0:
        s = s - 1
        y[0] += 1
        total = total + z[0]
        z = y
    return total


def plain_arrays(x: Any, s: Any) -> Any:
    y = np.ones(3)
    w = y
    while np.max(y) > 0.9 and s > 0.2:
        y *= s
        s = s - 0.3
    z = w if x[0] > 0.5 else y
    np.add(y, y, out=y[...])
    return w + 3 * z


def known_numbers_as_a_plain_array(x: Any, s: Any) -> Any:
    w = np.zeros_like(x)
    v = np.asarray(w)
    w[1:] -= s * x[:-1]
    return v


def plain_array_that_steps_hand_on(x: Any, s: Any) -> Any:
    y = np.ones(3)
    w = y[::-1]
    for _ in range(12):  # done once, while tracing
        np.add(y, np.sin(y), out=y[...])
    return w * s + x


ALIASES = [
    view_that_becomes_another, name_of_another_on_one_side, choice_of_two, copy_on_one_side,
    loop_of_no_steps, name_of_another_in_a_loop, written_in_the_step_after, plain_arrays,
    known_numbers_as_a_plain_array, plain_array_that_steps_hand_on,
]  # fmt: skip
NUMBERS = (-0.5, 0.5, 1.5, 2.5)


@pytest.mark.parametrize("f", ALIASES)
def test_names_mean_what_they_do_in_python(f: Callable[..., Any]) -> None:
    """What was written was seen by no name that had become the array in a branch or loop."""
    x = np.array([0.3, -0.2, 0.8])
    want = [f(x.copy(), s) for s in NUMBERS]
    np.testing.assert_allclose([sg.compile(f)(x.copy(), s) for s in NUMBERS], want)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathsWarning)  # one by one
        found = sg.vmap(f, in_axes=(None, 0))(x, np.array(NUMBERS))
    np.testing.assert_allclose(found, want)
    g = sg.compile(f, control_flow=True)
    if f in ALIASES[:8]:
        with pytest.raises(TraceError, match=r"\.copy\(\)"):
            g(x.copy(), 0.5)
    else:
        np.testing.assert_allclose([g(x.copy(), s) for s in NUMBERS], want)


def swapped(x: Any, s: Any) -> Any:
    y, w = x.copy(), x * 3
    while s > 0:
        s = s - 1
        y, w = w, y
    y[0] = 0.5
    return y + 2 * w


def kept_beside(x: Any, s: Any) -> Any:
    y = x.copy()
    first = y
    for _ in range(20):
        y = np.sin(y) + s
    y[0] = 0.0
    return y - first


def one_name(x: Any, s: Any) -> Any:
    y = x.copy()
    for k in range(12):
        if y[k % 3] > s:
            y = y * 0.5
        y[k % 3] += 1.0
    return y


def rows_that_are_read(x: Any, s: Any) -> Any:
    y = np.outer(x, x)
    for k in range(12):
        row = y[k % 3]
        y[k % 3] = row * 0.5 + s
    return y


def named_in_the_loop(x: Any, s: Any) -> Any:
    y = x.copy()
    last = y * 0
    for k in range(12):
        y[k % 3] += s
        last = y
    return last


@pytest.mark.parametrize(
    "f", [swapped, kept_beside, one_name, rows_that_are_read, named_in_the_loop]
)
def test_what_is_followed(f: Callable[..., Any]) -> None:
    x = np.array([0.3, -0.2, 0.8])
    g = sg.compile(f, control_flow=True)
    for s in NUMBERS:
        np.testing.assert_allclose(g(x.copy(), s), f(x.copy(), s))

"""Rewritten control flow where Python's sides, tests and values do more than assign to names."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import CaptureWarning, PathsWarning

pytestmark = pytest.mark.usefixtures("no_kernels")


class Base:
    top = 1.0

    def above(self, x: Any) -> Any:
        return x > self.top

    def grown(self, x: Any) -> Any:
        return x * 1.5 + 0.1


class Model(Base):
    def __init__(self, s: Any = 0.0) -> None:
        self.s = s

    def moved(self, x: Any) -> Any:
        self.s = self.s * 0.5 + x
        return self.s

    def __call__(self, x: Any, a: Any) -> Any:
        if super().above(x) and a > -0.3:
            x = super().grown(x)
        return x if super().above(x) else a


def names_in_tests(x: Any, a: Any) -> Any:
    error, k = 5.0, 0
    while (error := x * x - 0.5) > 0.1 and k < 20:
        x, k = x - error * 0.3, k + 1
    return x + error * a


def names_in_loops_left_early(x: Any, a: Any) -> Any:
    y = 0.0
    while (step := x * 0.5) > 0.05:
        x = x - step
        y = y + step * a
        if y > 0.3:
            return y
    return y + step


def names_in_and(x: Any, a: Any) -> Any:
    y = 1.0
    if x > 0.4 and (y := x * x) > 1.0:
        x = x + y
    return x + y * a


def names_in_choices(x: Any, a: Any) -> Any:
    y = 1.0
    z = x * 2 if x > 1 else (y := x * 3)
    return (z + y) * a


def names_in_chains(x: Any, a: Any) -> Any:
    y = 1.0
    if 0 < (y := x * x) < (z := 2 * y + a):
        x = x * z
    return x + y


def a_value_or_another(x: Any, a: Any) -> Any:
    return (a or x) + (x > 1 and a) + ((x > 1 and a) or 0.5)


def a_value_added(x: Any, a: Any) -> Any:
    x += x and a
    return x * (x - x or a)


def items(x: Any, a: Any) -> Any:
    b, d = [x, a], {"u": [x]}
    if x > 1:
        b[0] *= 3
        d["u"][0] = a
    return b[0] + b[1] * d["u"][0]


def attributes(x: Any, a: Any) -> Any:
    m = Model(x)
    if a > 0:
        m.s = m.s * 2
    return m.s


def attributes_before_a_return(x: Any, a: Any) -> Any:
    m = Model(x)
    if a > 0:
        m.s = 3.0 * a
        return m.s
    return m.s + a


def arrays_of_objects(x: Any, a: Any) -> Any:
    m = Model(np.array([x, a]))
    if x > 1:
        m.s[0] = 5.0
    return np.sum(m.s)


def variables_around_a_helper(x: Any, a: Any) -> Any:
    z = a

    def put(t: Any) -> Any:
        nonlocal z
        z = z * 0.5 + t
        return t * 0.7

    y = put(x) if x > 1 else x
    if a > 0:
        y = y + put(a)
    return y + z


COUNT = 0


def counted(x: Any) -> Any:
    global COUNT
    COUNT += 1
    return x * COUNT


def variables_that_helpers_share(x: Any, a: Any) -> Any:
    global COUNT
    COUNT, z, parts = 0, a, [x, a]

    def put(t: Any) -> Any:
        nonlocal z
        z = z * 0.5 + t
        return t * 0.7

    if counted(x) > 1:
        counted(a)
        return z + COUNT
    parts[0] = a
    y = x + 0.5 * (put(a) if z > 0.1 else counted(x))
    if put(x) > 0.3:
        z = z + 1
    return z + y * COUNT + parts[0]


def filled(parts: list[Any], x: Any) -> Any:
    parts.append(x)
    parts[0] = parts[0] * 0.5
    return x * 2


def methods_and_helpers_that_change_objects(x: Any, a: Any) -> Any:
    m, parts, y = Model(x), [a], 0.0
    if x > 1:
        y = m.moved(a)
    z = filled(parts, y) if a > 0 else 0.3
    w = parts.pop() if x > 0.3 and m.moved(z) > 0.1 else a
    return y + z + w + m.s + sum(parts) + len(parts)


def changes_before_a_return(x: Any, a: Any) -> Any:
    m = Model(x)
    if m.moved(a) > 0.4:
        return m.moved(a) + m.s
    return m.s


def a_loop_with_a_method(x: Any, a: Any) -> Any:
    m, parts, k = Model(x), [x, a], 0
    other = parts
    while m.moved(0.1) > 0.25 and k < 9:
        k = k + 1
    while parts[0] > 0.3:
        parts[0] = parts[0] * 0.7
    return m.s * k + other[0]


def iterators(x: Any, a: Any) -> Any:
    left = iter([0.3, 0.5, 0.7, 0.9])
    y = 0.1
    if x > a:
        y = next(left)
    z = next(left) if x > 1 else 0.2
    w = x > 0.3 and next(left)
    return x * y + z * next(left) + w


def iterators_in_helpers(x: Any, a: Any) -> Any:
    left = iter((0.3, 0.5, 0.7))

    def take() -> float:
        return next(left)

    y = take() if x > a else a
    return y + x * take()


FUNCTIONS: list[Callable[..., Any]] = [
    names_in_tests, names_in_loops_left_early, names_in_and, names_in_choices, names_in_chains,
    a_value_or_another, a_value_added, items, attributes, attributes_before_a_return,
    arrays_of_objects, variables_around_a_helper, variables_that_helpers_share,
    methods_and_helpers_that_change_objects, changes_before_a_return, a_loop_with_a_method,
    iterators, iterators_in_helpers,
    Model().__call__,
]  # fmt: skip
X, A = np.array([0.5, 1.2, 1.9, 0.1, 0.0]), np.array([0.3, -0.4, 0.6, 0.0, -0.2])


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_python_computes(f: Callable[..., Any]) -> None:
    want = [float(f(x, a)) for x, a in zip(X.tolist(), A.tolist(), strict=True)]
    with warnings.catch_warnings():
        if f is variables_that_helpers_share:  # a branch assigns a global name: not written back
            warnings.filterwarnings("ignore", "COUNT is assigned", CaptureWarning)
        g = sg.compile(f, control_flow=True)
        found = [g(x, a) for x, a in zip(X, A, strict=True)]
        np.testing.assert_allclose(found, want, rtol=1e-13)
        warnings.simplefilter("ignore", PathsWarning)
        np.testing.assert_allclose(sg.vmap(f)(X, A), want, rtol=1e-13)


def test_loops_that_give_names_in_their_tests_are_loops_of_the_program() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PathsWarning)
        batched = sg.vmap(names_in_loops_left_early)(X, A)
    np.testing.assert_allclose(batched[1], names_in_loops_left_early(X[1], A[1]), rtol=1e-14)


def generators(x: Any) -> Any:
    squares = (0.1 * k * k for k in range(1, 6))
    y = next(squares) if x > 1 else 0.0
    return y + x * next(squares)


def test_iterators_that_cannot_go_back() -> None:
    with pytest.warns(PathsWarning):
        found = sg.vmap(generators)(np.array([0.5, 1.5]))
    np.testing.assert_allclose(found, [generators(0.5), generators(1.5)], rtol=1e-14)
    with pytest.raises(sg.errors.TraceError, match=r"an iterator .* goes on within `if`"):
        sg.compile(generators, control_flow=True)(0.5)


def test_helpers_that_are_rewritten_on_a_side() -> None:
    """What symgrad notes of a function that it rewrites is no change of the user's."""

    def limited(s: Any) -> Any:
        if s < -1:
            raise ValueError("s")
        return 0.7 * s

    def f(x: Any) -> Any:
        y = x
        if x < 5:
            z = limited(x)
            y = x * x if z > 0.5 else y
        return y

    found = sg.vmap(f)(np.array([-3.0, 0.5, 2.0, 7.0]))
    np.testing.assert_array_equal(found, [np.nan, 0.5, 4.0, 7.0])

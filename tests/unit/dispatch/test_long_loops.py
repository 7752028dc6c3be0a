"""Traces that loops make long: given up for loops of the program, if these do what Python's do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._dispatch import _long_loops
from symgrad.errors import CaptureWarning

X = 0.3


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let traces of a hundred operations count as long."""
    monkeypatch.setattr(_long_loops, "MOST", 100)


def way_of(g: Any) -> bool | None:
    """Tell whether loops of the program were taken; False if they were not tried."""
    found: bool | None = g._captures.way.rolled
    return found


def check(f: Callable[..., Any], x: Any = X, rolled: bool | None = True) -> Any:
    """Compare value and gradient with Python's and differences; return the function."""
    g = sg.value_and_grad(f)
    for at in (x, 1.1 * x):
        value, slope = g(at)
        np.testing.assert_allclose(value, f(at), rtol=1e-12)
        h = 1e-4
        rough, fine = ((f(at + s) - f(at - s)) / (2 * s) for s in (h, h / 2))
        np.testing.assert_allclose(np.sum(slope), (4 * fine - rough) / 3, rtol=1e-6, atol=1e-8)
    assert way_of(g) is rolled
    return g


def turn(y: Any) -> Any:
    return np.sin(y) * 1.01 + 0.1


def counted(x: Any) -> Any:
    for _ in range(60):
        x = turn(x)
    return x


def in_a_helper(x: Any) -> Any:
    return 2.0 * counted(x)


def stepping_down(x: Any) -> Any:
    for i in range(120, 0, -2):
        x = turn(x) + 1e-3 * i
    return x


def nested(x: Any) -> Any:
    total = 0.0
    for i in range(12):
        for j in range(10):
            total = total + np.sin(x * i) * np.cos(0.1 * total + j)
    return total


def until_settled(x: Any) -> Any:
    y = x
    for steps in range(1000):  # noqa: B007 - read after the loop
        z = np.cos(0.9 * y + x)
        if abs(z - y) < 1e-13:
            break
        y = z
    return y * (steps > 10)


def with_continue(x: Any) -> Any:
    n = 0
    while n < 80:
        n += 1
        if n % 7 == 3:
            continue
        x = turn(x)
    return x * n


def growing(x: Any) -> Any:
    while x < 1e3:
        x = x * 1.05
    return x


def writing(x: Any) -> Any:
    y = np.zeros(61)
    y[0] = x
    for i in range(60):
        y[i + 1] = turn(y[i])
    return np.sum(y**2)


def two_at_a_time(x: Any) -> Any:
    a, b = x, 1.0
    for i, (u, v) in enumerate(zip(range(60), np.linspace(0, 1, 60), strict=True)):
        a, b = np.sin(b + v), a * 0.5 + u * 1e-3 + i * 1e-4
    return a + b


def appending(x: Any) -> Any:
    found = []
    for _ in range(60):
        x = turn(x)
        found.append(x)
    return sum(found)


def named(x: Any) -> Any:
    table: dict[str, Any] = {}
    for i in range(60):
        table[f"w{i}"] = x
        x = turn(x)
    return x + table["w7"] + table["w50"]


def drawing(x: Any) -> Any:
    rng = np.random.default_rng(0)
    for _ in range(60):
        x = turn(x) + 0.1 * rng.normal()
    return x


def of_whole_numbers(x: Any) -> Any:
    n = 1
    for _ in range(70):
        n *= 3  # leaves 64 bits
        x = turn(x) + 0.1 * (n % 7)
    return x


def of_python(x: Any) -> Any:
    for i in range(1, 60):
        x = turn(x) + 1.0 / math.factorial(min(i, 12))
    return x


def generated(x: Any) -> Any:
    for v in (0.01 * k for k in range(60)):
        x = turn(x) + v
    return x


@pytest.mark.parametrize(
    "f",
    [
        counted, in_a_helper, stepping_down, nested, until_settled, with_continue, growing, writing,
        two_at_a_time, appending, named, drawing, of_whole_numbers, of_python, generated,
    ],
)  # fmt: skip
def test_values_and_gradients_are_pythons(f: Callable[..., Any]) -> None:
    check(f)


def test_a_program_does_not_grow_with_the_steps() -> None:
    def many(x: Any, count: int) -> Any:
        for _ in range(count):
            x = turn(x)
        return x

    programs = [str(sg.grad(lambda x, n=n: many(x, n)).program(X)) for n in (200, 20_000)]
    assert programs[0].count("\n") == programs[1].count("\n")


@pytest.mark.parametrize(
    "ask",
    [
        lambda f, x: sg.compile(f)(x),
        lambda f, x: sg.grad(f)(x),
        lambda f, x: sg.hessian(f)(x),
        lambda f, x: sg.jacobian(f)(x),
        lambda f, x: sg.jvp(f, (x,), (1.0,)),
        lambda f, x: sg.hvp(f, (x,), (1.0,)),
        lambda f, x: sg.grad(f).kernel(x)(x),
    ],
)
def test_all_transformations(ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = ask(counted, X)
    monkeypatch.setattr(_long_loops, "MOST", 10**9)
    written_out = ask(lambda x: counted(x), X)  # another function, of which nothing is known
    for a, b in zip(*map(np.atleast_1d, (found, written_out)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


# ---------------------------------------------------------------- decisions in many ways


def picard(x: Any) -> Any:
    y = x
    for _ in range(30):
        z = np.cos(0.3 * y) + 0.1 * x
        close = abs(z - y) < 1e-3
        y = z
        if close:
            break
    return y * x


def counted_steps(x: Any) -> Any:
    n = 0
    while x < 40.0:
        x = 1.5 * x
        n += 1
    return x / (n + 1)


def pieces(x: Any) -> Any:
    if x < 1.0:
        return x**2
    if x < 2.0:
        return 2 * x - 1
    if x < 3.0:
        return np.sin(x)
    if x < 4.0:
        return np.exp(-x)
    return -x


def by_a_helper(x: Any) -> Any:
    return sum(pieces(x - k) for k in range(3))


@pytest.mark.parametrize("f", [picard, counted_steps, pieces, by_a_helper])
def test_decisions_in_many_ways_are_one_trace(f: Callable[..., Any]) -> None:
    """After four paths the rest is one trace, whatever the values decide."""
    g = sg.value_and_grad(f)
    for x in (0.02, 0.9, 1.7, 2.2, 3.3, 4.4, 5.5, 8.1, 20.3, 0.4, 0.003, 30.7):
        value, slope = g(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        h = 1e-5
        rough, fine = ((f(x + s) - f(x - s)) / (2 * s) for s in (h, h / 2))
        np.testing.assert_allclose(slope, (4 * fine - rough) / 3, rtol=1e-5, atol=1e-7)
    assert g.traces <= 5
    assert way_of(g) is (g.traces == 5)


def test_errors_under_a_condition_are_raised_where_python_raises_them() -> None:
    def checked(x: Any) -> Any:
        if x > 90:
            raise ValueError("too large")
        n = 0
        while x > 1.0:
            x = 0.5 * x
            n += 1
        return x * n

    g = sg.grad(checked)
    for k in (0, 1, 2):
        assert g(1.5 * 2**k) == (k + 1) / 2 ** (k + 1)
    with pytest.raises(ValueError, match="too large"):
        g(100.0)
    for k in (3, 4, 5, 2):
        assert g(1.5 * 2**k) == (k + 1) / 2 ** (k + 1)
    assert (g.traces, way_of(g)) == (5, True)


def test_decisions_that_the_program_cannot_make_are_paths() -> None:
    def collected(x: Any) -> Any:
        parts = []
        while x > 1.0:
            x = 0.5 * x
            parts.append(x)
        return sum(parts)

    g = sg.grad(collected)
    for k in (0, 1, 2, 3, 4, 1):
        assert g(1.5 * 2**k) == 1 - 0.5 ** (k + 1)
    assert g.traces == 5


def test_decisions_of_few_ways_stay_straight_code() -> None:
    g = sg.grad(pieces)
    for x in (0.5, 1.5, 2.5, 3.5, 0.6, 1.6):
        g(x)
    assert (g.traces, way_of(g)) == (4, False)
    assert "cond" not in str(g.program(0.5))


def test_errors_are_pythons() -> None:
    def checked(x: Any) -> Any:
        for _ in range(60):
            if x > 100:
                raise ValueError("too large")
            x = turn(x)
        return x

    g = check(checked)
    with pytest.raises(ValueError, match="too large"):
        g(1000.0)
    np.testing.assert_allclose(g(0.4)[0], checked(0.4), rtol=1e-12)

    def wrong(x: Any) -> Any:
        for i in range(60):
            x = turn(x)
            if i == 50:
                raise KeyError("fifty")
        return x

    with pytest.raises(KeyError, match="fifty"):
        sg.grad(wrong)(X)


def test_what_loops_leave_behind() -> None:
    seen: list[int] = []

    def noting(x: Any) -> Any:
        for i in range(60):
            seen.append(i)
            x = turn(x)
        return x

    g = sg.grad(noting)
    g(X)
    assert seen == list(range(60))
    g(X)
    assert seen == [*range(60)] * 2


def test_loops_that_would_warn_are_pythons() -> None:
    """A counter in a text that a program cannot know: no warning is of the trace given up."""
    words = itertools.count()

    def labelled(x: Any) -> Any:
        for i in range(60):
            label = str(i)
            x = turn(x) + 1e-3 * len(label)
        next(words)
        return x

    with pytest.warns(CaptureWarning, match="advances the iterator") as said:
        value = sg.compile(lambda x: labelled(labelled(x)))(X)
    assert len(said) == 1
    np.testing.assert_allclose(value, labelled(labelled(X)), rtol=1e-12)


def test_who_catches_everything_does_not_keep_a_trace_from_ending() -> None:
    def careless(x: Any) -> Any:
        y = x
        for _ in range(60):
            try:
                y = turn(y)
            except:  # noqa: E722
                y = x
        return y

    value, _ = sg.value_and_grad(careless)(X)
    np.testing.assert_allclose(value, counted(X), rtol=1e-12)


def test_a_loop_around_the_call_is_none_of_the_function() -> None:
    def straight(x: Any) -> Any:
        return sum(np.sin(x * k) for k in range(60))

    g = sg.grad(straight)
    for x in (0.1, 0.2):
        g(x)
    assert way_of(g) is False
    assert way_of(check(lambda x: counted(x), rolled=True)) is True


def test_rounding_as_numpys_is_of_pythons_steps() -> None:
    g = sg.compile(counted, rounding="numpy")
    assert g(X) == counted(X)
    assert way_of(g) is False

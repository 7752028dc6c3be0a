"""Closures and counters beside rewritten loops and branches: as in plain Python.

A block of rewritten control flow has variables of its own, which no closure may see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg


def counter_in_a_list(x):
    kept = []
    for i in range(12):
        kept = [*kept, lambda y: y * i]  # noqa: B023 - that is the point
    return sum(f(x) for f in kept)


def def_in_a_list(x):
    kept = []
    for i in range(12):

        def h(y):
            return y * i  # noqa: B023

        kept = [*kept, h]
    return sum([f(x) for f in kept])


def kept_of_one_step(x):
    g = None
    for i in range(12):
        k = x * i
        if i == 3:
            g = lambda y: y * k  # noqa: B023, E731
    return g(x)


def in_a_dictionary(x):
    k, table = x, {}
    for i in range(12):
        k = k * 1.1
        if i == 2:
            table = {**table, "f": lambda: k}  # noqa: B023
    return table["f"]()


def of_the_step_before(x):
    s, g = 0.0, lambda y: y
    for i in range(12):
        k = x * i
        s = s + g(x)
        g = lambda y: y * k  # noqa: B023, E731
    return s


def made_before_a_loop(x):
    k, s = 1.0, 0.0
    g = lambda: k  # noqa: E731
    for _ in range(12):
        k = k * x
        s = s + g()
    return s


def made_before_a_branch(x):
    k, s = x, 0.0
    g = lambda: k * 2.0  # noqa: E731
    if x > 1.0:
        k = x * 5
        s = s + g()
    return s


def before_an_early_return(x):
    k = x

    def g():
        return k

    if x < 1.0:
        return x
    k = 5 * x
    return g()


def a_generator(x):
    k, parts = x, None
    for i in range(12):
        k = k * 1.1
        if i == 0:
            parts = (k * j for j in range(3))
    return sum(parts)


def of_an_object(x):
    class Box:
        pass

    k, box = x, Box()
    box.f = lambda: k
    for _ in range(12):
        k = k + box.f() * 0.1
    return k


def a_method(x):
    k, s = x, 0.0

    class Box:
        def f(self):
            return k

    box = Box()
    for _ in range(12):
        k = k * 1.1
        s = s + box.f()
    return s


def in_a_while(x):
    k = 1.0
    g = lambda: k  # noqa: E731
    while k < 50 * x:
        k = k * 2
        y = g()
    return y


def of_another_loop_of_that_counter(x):
    s = 0.0
    for i in range(11):
        g = lambda: i  # noqa: B023, E731
        s = s + x
    for i in range(9):  # noqa: B007
        s = s * 0.9
    return s * g()


def newton(f, u):
    for _ in range(3):
        u = u - f(u) / (f(u + 1e-3) - f(u)) * 1e-3
    return u


def wrapped(f):
    return lambda y: 2.0 * f(y)


def wrapped_before_a_branch(x):
    k, s = x, 0.0
    g = wrapped(lambda y: y * k)
    if x > 1.0:
        k = 5 * x
        s = s + g(1.0)
    return s


def wrapped_def_before_a_branch(x):
    k, s = x, 0.0

    def h(y):
        return y * k

    g = wrapped(h)
    other = g
    if x > 1.0:
        k = 5 * x
        s = s + other(1.0)
    return s


def wrapped_in_one_step(x):
    g = None
    for i in range(12):
        k = x * i
        if i == 3:
            g = wrapped(lambda y: y * k)  # noqa: B023
    return g(x)


def wrapped_in_a_list(x):
    kept = []
    for i in range(12):
        kept = [*kept, wrapped(lambda y: y * i)]  # noqa: B023
    return sum([f(x) for f in kept])


def solved_in_a_while(x):
    u, t = 1.0, 0.0
    while t < x:
        u = newton(lambda v: v * v - x * (1 + t), u)  # noqa: B023
        t = t + 0.25
    return u


def given_to_a_solver(x):
    u = 1.0
    for i in range(12):

        def residual(v):
            return v * v - x * (1 + i)  # noqa: B023

        u = newton(residual, u)
    return u


def made_after_a_loop(x):
    k = x
    for _ in range(12):
        k = k * 1.1
    g = lambda y: y * k  # noqa: E731
    return g(2.0)


def counter_after_a_loop(x):
    i = 100
    for i in range(12):  # noqa: B007
        x = x * 1.1
    for i in range(5, 3):  # noqa: B007 - no step
        x = x * 2
    return x * i


def counter_of_loops_in_loops(x):
    s = 0.0
    for j in range(3):
        for i in range(10 + j):
            s = s + x * i
        s = s + i
    return s * i + j


def counter_that_is_set(x):
    for i in range(20, 3, -2):
        i = i + 1
        x = x + i
    return x * i


PROGRAMS: list[Callable[..., Any]] = [
    counter_in_a_list, def_in_a_list, kept_of_one_step, in_a_dictionary, of_the_step_before,
    made_before_a_loop, made_before_a_branch, before_an_early_return, a_generator, of_an_object,
    a_method, in_a_while, wrapped_before_a_branch, wrapped_def_before_a_branch,
    wrapped_in_one_step, wrapped_in_a_list, solved_in_a_while, of_another_loop_of_that_counter,
    given_to_a_solver, made_after_a_loop,
    counter_after_a_loop, counter_of_loops_in_loops, counter_that_is_set,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::symgrad.errors.PathsWarning")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.quick(5)
def test_variables_are_read_when_python_reads_them(f: Callable[..., Any]) -> None:
    expected = [f(2.0), f(0.4)]
    compiled = sg.compile(f, control_flow=True)
    np.testing.assert_allclose([compiled(2.0), compiled(0.4)], expected, rtol=1e-12)
    np.testing.assert_allclose(sg.vmap(f)(np.array([2.0, 0.4])), expected, rtol=1e-12)


def counted(x, n):
    i = 7
    for i in range(n):  # noqa: B007
        x = x * 1.1
    return x * i


def counted_up(x, n):
    i = 7
    for i in range(2, n, 3):  # noqa: B007
        x = x * 1.1
    return x * i


def counted_down(x, n):
    i = 7
    for i in range(20, n, -3):  # noqa: B007
        x = x * 1.1
    return x * i


def test_closures_that_solvers_are_given_stay_in_loops_of_the_program() -> None:
    program = sg.compile(solved_in_a_while, control_flow=True).program(2.0)
    assert "loop" in str(program)
    sg.vmap(solved_in_a_while)(np.array([2.0, 0.4]))  # without a warning


@pytest.mark.parametrize("f", [counted, counted_up, counted_down])
def test_a_counter_after_a_loop_of_any_length(f: Callable[..., Any]) -> None:
    compiled = sg.compile(f, control_flow=True)
    for n in (0, 1, 2, 3, 9, 20, 25):
        assert compiled(2.0, n) == pytest.approx(f(2.0, n), rel=1e-12)
    assert compiled.traces <= 4  # 0, 1, others without a step, and all others

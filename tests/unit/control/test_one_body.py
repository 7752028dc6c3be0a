"""Loops that are equal but for numbers have one body, and what is made of it is made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.control import _loop_reverse as _loop_pull
from symgrad._core.graph import bodies, topological
from symgrad.scipy.integrate import solve_ivp

Array = Any

XS = np.linspace(0.1, 0.9, 12)


def leaky(rate: Any, power: float = 2.0, xs: Any = XS) -> Callable[[Any], Any]:
    def run(start: Any) -> Any:
        return sg.scan(lambda c, x: (c * rate + x**power, c), start, xs)[0]

    return run


def kinds(f: Any, x: Array) -> tuple[int, int]:
    """Return how many loops a program has, and how many bodies."""
    loops = [n for n in topological(sg.compile(f).program(x).outputs) if n.op.kind == "loop"]
    return len(loops), len({id(body) for n in loops for body in bodies(n)})


def test_numbers_come_from_outside() -> None:
    def f(x: Array) -> Any:
        return leaky(0.5)(x[0]) + leaky(0.25)(x[1]) + leaky(0.5)(x[2])

    assert kinds(f, np.ones(3)) == (3, 1)
    np.testing.assert_allclose(sg.grad(f)(np.ones(3)), [0.5**12, 0.25**12, 0.5**12])


def test_numbers_that_say_how_something_is_computed_stay() -> None:
    def f(x: Array) -> Any:
        found = [leaky(*both, x)(0.0) for both in ((0.5, 2.0), (0.25, 2.0), (0.5, 3.0))]
        return found[0] + found[1] + found[2]

    assert kinds(f, np.ones(3)) == (3, 2)


def test_loops_within() -> None:
    def f(x: Array) -> Any:
        def inner(c: Any, rate: float) -> Any:
            stopped = sg.while_loop(lambda s: s < 2.0 + rate, lambda s: s + rate, c)
            return sg.cond(stopped > 2.2, lambda s: s * rate, lambda s: s - rate, stopped)

        def outer(rate: float) -> Any:
            return sg.fori_loop(0, 3, lambda _, c: inner(c, rate), x[0])

        return np.stack([outer(0.5), outer(0.75)])

    assert kinds(f, np.ones(1)) == (2, 1)

    def plain(start: float, rate: float) -> float:
        for _ in range(3):
            while start < 2.0 + rate:
                start += rate
            start = start * rate if start > 2.2 else start - rate
        return start

    np.testing.assert_allclose(sg.compile(f)(np.ones(1)), [plain(1, 0.5), plain(1, 0.75)])


@pytest.mark.parametrize("doses", [2, 5])
def test_one_backward_loop(doses: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reverse mode makes as many backward loops as there are bodies, not solutions."""
    made = []
    before = _loop_pull.Backward.__init__

    def counted(self: Any, *args: Any) -> None:
        made.append(self)
        before(self, *args)

    monkeypatch.setattr(_loop_pull.Backward, "__init__", counted)

    def amount(p: Array) -> Any:
        y = np.array([0.0])
        for k in range(doses):
            y = y + p[1]
            span = 2.0 * k, 2.0 * k + 2
            y = solve_ivp(lambda t, y: -p[0] * y, span, y, rtol=1e-9, atol=1e-12).y[:, -1]
        return y[0]

    p = np.array([0.3, 2.0])
    left = np.exp(-0.6 * np.arange(1, doses + 1))
    slopes = [-2.0 * 2.0 * np.sum(np.arange(1, doses + 1) * left), np.sum(left)]
    np.testing.assert_allclose(sg.grad(amount)(p), slopes, rtol=1e-7)
    # The first begins at a number, which has no derivative, and inner loops have their own.
    assert len(made) <= 7


def test_whole_numbers_are_no_places() -> None:
    """In what bodies look like, the number 16 (hexadecimal 10) is not the tenth value."""

    def run(change: Callable[[Any], Any], start: Any) -> Any:
        def step(c: Any, _: Any) -> tuple[Any, None]:
            return (*(k - np.int8(1) for k in c[:-1]), change(c[-1])), None

        return sg.scan(step, tuple(start + np.int8(k) for k in range(10)), XS[:2])[0][-1]

    def f(x: Array) -> Any:
        return run(lambda c: c + np.int8(16), x[0]) + run(lambda c: c + c, x[1])

    x = np.array([1, 1], np.int8)
    assert sg.compile(f)(x) == (1 + 9 + 32) + 4 * (1 + 9)

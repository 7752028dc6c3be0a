"""Integrals of one function between many limits are made once."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.scipy.integrate import quad

ENDS = np.array([0.2, 0.9, 1.7, 3.1])


@contextlib.contextmanager
def calls_of(name: str) -> Iterator[list[str]]:
    """Count calls from outside: what a function notes of those in a batch is undone."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == name:
            found.append(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("known", [True, False], ids=["numbers", "traced"])
def test_one_function_is_asked_once_for_each_integral(known: bool) -> None:
    def total(rate: Any, ends: Any) -> Any:
        def decay(t: Any) -> Any:
            return np.exp(-rate * t)

        return np.array([quad(decay, 0.0, end)[0] for end in (ENDS if known else ends)])

    with calls_of("decay") as asked:
        found = sg.jacobian(total, argnums=(0, 1))(0.7, ENDS)
        # At most twice for each integral, not for each of the nodes of the rule.
        assert 0 < len(asked) <= 2 * len(ENDS)
        values = sg.compile(total)(0.7, ENDS)
    np.testing.assert_allclose(values, (1 - np.exp(-0.7 * ENDS)) / 0.7, rtol=1e-12)
    by_rate = (np.exp(-0.7 * ENDS) * (1 + 0.7 * ENDS) - 1) / 0.49
    np.testing.assert_allclose(found[0], by_rate, rtol=1e-9)
    by_ends = np.zeros((4, 4)) if known else np.diag(np.exp(-0.7 * ENDS))
    np.testing.assert_allclose(found[1], by_ends, rtol=1e-9)
    assert len(asked) <= 4 * len(ENDS)


def test_a_function_that_has_become_another_is_integrated_anew() -> None:
    def powers(scale: Any) -> Any:
        power = [0]

        def f(t: Any) -> Any:
            return scale * t ** power[0]

        def next_one() -> Any:
            power[0] += 1
            return quad(f, 0.0, 2.0)[0]

        return np.array([next_one(), next_one(), next_one()])

    np.testing.assert_allclose(sg.compile(powers)(3.0), [6.0, 8.0, 12.0], rtol=1e-12)


def test_lower_limits_infinite_limits_and_integrals_within() -> None:
    def f(a: Any) -> Any:
        def inner(x: Any) -> Any:
            return quad(lambda y: a * x * y, 0.0, x)[0]

        return np.array([
            quad(inner, 0.0, 1.0)[0], quad(inner, -1.0, 1.5)[0], quad(inner, a, 2.0)[0],
            quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf)[0],
            quad(lambda x: np.exp(-a * x * x), -np.inf, 0.0)[0],
            quad(lambda x: np.exp(-a * x * x), 0.0, np.inf)[0],
        ])  # fmt: skip

    a, half = 0.5, np.sqrt(np.pi / 0.5) / 2
    powers = [1.0, 1.5**4 - 1.0, 2.0**4 - a**4]
    known = [*(a / 8 * p for p in powers), 2 * half, half, half]
    np.testing.assert_allclose(sg.compile(f)(a), known, rtol=1e-9)

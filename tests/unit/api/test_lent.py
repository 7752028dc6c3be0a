"""What is compiled for functions that are made anew, and whose it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._dispatch import Function
from symgrad.scipy import optimize

pytestmark = pytest.mark.usefixtures("few_kernels")


def test_functions_made_anew_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each round of a loop there is another lambda, whose code is the same."""
    made: list[Any] = []
    keep = Function._keep
    monkeypatch.setattr(
        Function, "_keep", lambda self, *args: (made.append(self), keep(self, *args))
    )
    times = np.linspace(0.0, 1.0, 20)

    def decay(t: Any, a: Any, b: Any) -> Any:
        return a * np.exp(-b * t)

    def solved(k: float) -> Any:
        """Return a, b and k three times, by solvers whose functions close over k."""
        data = decay(times, k, 1.5)
        at = np.array([k, 2.0, 0.5 - k])

        def cost(x: Any) -> Any:
            return np.sum((x - at) ** 2)

        limits = [{"type": "ineq", "fun": lambda x, j=j: x[j] - k} for j in range(2)]
        problem = sg.nlp(cost, lambda x: x[0] * k, at)
        return [
            optimize.least_squares(lambda p: decay(times, *p) - data, [1.0, 1.0]).x,
            optimize.curve_fit(lambda t, a, b: decay(t, a, b) + k, times, data + k)[0],
            optimize.root(lambda x: x**3 - k, [1.0]).x ** 3,
            optimize.minimize(cost, np.zeros(3), method="trust-exact").x,
            optimize.minimize(cost, np.ones(3), constraints=limits, method="SLSQP", tol=1e-12).x,
            problem.gradient(np.zeros(3)), problem.jacobian(at),
        ]  # fmt: skip

    def exact(k: float) -> Any:
        at = [k, 2.0, 0.5 - k]
        return [[k, 1.5], [k, 1.5], [k], at, [k, 2.0, 0.5 - k], [-2.0 * x for x in at], [k]]

    for k in (2.0, 1.5, 1.25):
        for found, wanted in zip(solved(k), exact(k), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-5)
    made.clear()
    for k in (0.75, 1.75, 0.5):
        for found, wanted in zip(solved(k), exact(k), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert not made

"""Functions with ``if``, and with helpers that have one, in the loops of SciPy's solvers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import symgrad as sg
from symgrad.errors import TraceError


def stumpff(z: Any) -> Any:
    if z > 1e-6:
        s = np.sqrt(z)
        return (1 - np.cos(s)) / z, (s - np.sin(s)) / s**3
    if z < -1e-6:
        s = np.sqrt(-z)
        return (1 - np.cosh(s)) / z, (np.sinh(s) - s) / s**3
    return 0.5, 1 / 6


class Soil:
    def __init__(self, power: float) -> None:
        self.power = power

    def content(self, head: Any) -> Any:
        if head >= 0:
            return 0.4
        return 0.1 + 0.3 / (1 + (-head) ** self.power)


def huber(r: Any, width: float) -> Any:
    if abs(r) < width:
        return 0.5 * r * r
    return width * (abs(r) - 0.5 * width)


def cost(data: list[Any]) -> Callable[[Any], Any]:
    return lambda m: sum(huber(m - x, 1.5) for x in data)


def universal(a: Any) -> Any:
    return optimize.brentq(lambda z: stumpff(z)[0] - a, -10, 20, xtol=1e-14)


def head(a: Any) -> Any:
    soil = Soil(1.5)
    return optimize.root_scalar(lambda h: soil.content(h) - a, bracket=(-100, 1), xtol=1e-13).root


def system(a: Any) -> Any:
    soil = Soil(1.5)

    def equations(x: Any) -> Any:
        u, v = x
        return [soil.content(u) - a, v - (u if u > 5 else 2 * u)]

    return optimize.fsolve(equations, [-1.0, -1.0])[1]


def middle(a: Any) -> Any:
    found = optimize.minimize_scalar(
        cost([1.0, 2.0, a, 9.0]), bounds=(0, 10), method="bounded", options={"xatol": 1e-9}
    )
    return found.x


def middle_of_two(a: Any) -> Any:
    total = cost([1.0, 2.0, a, 9.0])
    found = optimize.minimize(lambda p: total(p[0]) + (p[1] - 2) ** 2, [2.0, 1.0], tol=1e-9)
    return found.x[0]


def of_a_part(a: Any) -> Any:
    """As ``head``, of a method with its first argument, and of an object that is called."""

    class Gap(Soil):
        def __call__(self, wanted: Any, h: Any) -> Any:
            return self.content(h) - wanted

    gap = Gap(1.5)
    first = optimize.brentq(functools.partial(gap, a), -100, 1, xtol=1e-13)
    second = optimize.brentq(lambda h: gap(a, h), -100, 1, xtol=1e-13)
    half = functools.partial(Soil(1.5).content)
    return first + second + optimize.brentq(lambda h: half(h) - a, -100, 1, xtol=1e-13)


def decayed(a: Any) -> Any:
    def rate(k: Any, t: Any, y: Any) -> Any:
        return -k * y if y[0] > 0.5 else -2 * k * y * y

    found = integrate.solve_ivp(
        functools.partial(rate, a), (0, 3), [1.0], t_eval=[3.0], rtol=1e-8, atol=1e-10
    )
    return found.y[0, -1]


def area(a: Any) -> Any:
    return integrate.quad(lambda t: huber(t - a, 0.5), 0, 2, epsabs=1e-12)[0]


@pytest.mark.parametrize("a", [0.31, 0.33])
@pytest.mark.parametrize(
    "f", [universal, head, system, middle, middle_of_two, of_a_part, decayed, area]
)
def test_it_is_scipys_result(f: Callable[[Any], Any], a: float) -> None:
    value, slope = sg.value_and_grad(f)(a)
    np.testing.assert_allclose(value, f(a), rtol=1e-6)
    step = (f(a + 1e-3) - f(a - 1e-3)) / 2e-3
    np.testing.assert_allclose(slope, step, rtol=1e-3)
    many = np.array([a, 1.02 * a])
    np.testing.assert_allclose(sg.vmap(f)(many), [f(x) for x in many], rtol=1e-6)


def test_a_dose_that_ends() -> None:
    def rate(t: Any, dose: Any) -> Any:
        if t < 1.0:
            return dose
        return 0.0

    def left(dose: Any) -> Any:
        found = integrate.solve_ivp(
            lambda t, y: [rate(t, dose) - 0.3 * y[0]], (0, 3), [0.0], t_eval=[3.0],
            max_step=0.01, rtol=1e-8, atol=1e-10,
        )  # fmt: skip
        return found.y[0, -1]

    exact = (1 - np.exp(-0.3)) / 0.3 * np.exp(-0.6)
    value, slope = sg.value_and_grad(left)(2.0)
    np.testing.assert_allclose([value, slope], [2 * exact, exact], rtol=1e-3)
    np.testing.assert_allclose(value, left(2.0), rtol=1e-12)


def test_what_cannot_be_rewritten_says_why_it_is_refused() -> None:
    seen: list[Any] = []

    def counted(x: Any) -> Any:
        if x > 1:
            seen.append(x)
        return x * x

    with pytest.raises(TraceError, match=r"truth value .*test_branches_in_solvers.py"):
        sg.compile(lambda a: optimize.brentq(lambda x: counted(x) - a, 0, 9))(4.0)


def test_an_attempt_leaves_no_condition() -> None:
    """What was decided at the start of a solver that then failed is forgotten."""

    def inside(a: Any) -> Any:
        def residual(p: Any) -> Any:
            return [p[0] - a if p[0] > 0 else p[0] + a]

        return optimize.root(residual, [0.5]).x[0]

    g = sg.compile(inside)
    assert np.isclose(g(2.0), 2.0)
    assert "require" not in str(g.program(2.0))

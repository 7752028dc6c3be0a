"""Densities and incomplete gamma functions, beside mpmath, far outside of the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad._op import registry
from symgrad._ops.stirling import stirling_error

DIGITS = 50


def gamma_share(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True)


def gamma_rest(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def quantile(share: Callable[..., Any], sign: int) -> Callable[..., Any]:
    """Return the inverse, by a bracket that is halved and Newton's method."""

    def inverse(a: Any, y: Any) -> Any:
        x = mpmath.mpf(float(sc.gammaincinv(float(a), float(y if sign > 0 else 1 - y))))
        for _ in range(4):
            x -= sign * (share(a, x) - y) / (x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a))
        return x

    return inverse


EXACT: dict[str, Callable[..., Any]] = {
    "GammaDensity": lambda a, x: x ** (a - 1) * mpmath.exp(-x) / mpmath.gamma(a),
    "BetaDensity": lambda a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b),
    "StudentDensity": lambda v, t: mpmath.gamma((v + 1) / 2) / mpmath.gamma(v / 2)
    / mpmath.sqrt(mpmath.pi * v) * (1 + t * t / v) ** (-(v + 1) / 2),
    "Gammainc": gamma_share,
    "Gammaincc": gamma_rest,
    "Gammaincinv": quantile(gamma_share, 1),
    "Gammainccinv": quantile(gamma_rest, -1),
}  # fmt: skip
#: Intervals of the operands and the error left for the code, in ulp over 1 + condition. By
#: logarithms the densities were 100 to 700 off where they are largest, SciPy's shares 54.
REGIONS: list[tuple[str, tuple[tuple[float, float], ...], float]] = [
    ("GammaDensity", ((0.05, 12.0), (0.01, 15.0)), 2.0),
    ("GammaDensity", ((100.0, 900.0), (100.0, 900.0)), 2.0),
    ("GammaDensity", ((0.5, 9.0), (600.0, 700.0)), 2.0),
    ("BetaDensity", ((0.05, 5.0), (0.05, 5.0), (0.01, 0.99)), 2.5),
    ("BetaDensity", ((30.0, 300.0), (30.0, 300.0), (0.2, 0.8)), 2.0),
    ("StudentDensity", ((1.0, 9.0), (-3.0, 3.0)), 2.0),
    ("StudentDensity", ((20.0, 900.0), (-2.0, 2.0)), 2.0),
    ("Gammainc", ((0.01, 8.0), (0.01, 12.0)), 4.0),
    ("Gammaincc", ((0.3, 8.0), (0.01, 12.0)), 4.5),
    ("Gammaincinv", ((0.4, 8.0), (0.001, 0.999)), 2.5),
    ("Gammainccinv", ((0.4, 8.0), (0.001, 0.999)), 2.5),
]


def condition(exact: Callable[..., Any], at: Sequence[Any]) -> Any:
    """Return how much relative errors of the operands are magnified."""
    h, total = mpmath.mpf(10) ** -15, mpmath.mpf(0)
    for k, x in enumerate(at):
        sides = [exact(*at[:k], x * (1 + s * h), *at[k + 1 :]) for s in (1, -1)]
        total += abs(sides[0] - sides[1]) / (2 * h)
    return total / abs(exact(*at))


@pytest.mark.parametrize(("name", "intervals", "bound"), REGIONS)
def test_errors_are_those_of_the_function_itself(
    name: str, intervals: tuple[tuple[float, float], ...], bound: float
) -> None:
    rng = np.random.default_rng(0)
    operands = [rng.uniform(*interval, 16) for interval in intervals]
    op = registry.ops[name]
    kernel = sg.compile(lambda *xs: op(*xs))(*operands)
    plain = op.evaluate(*operands)
    with mpmath.workdps(DIGITS):
        for k, point in enumerate(zip(*operands, strict=True)):
            at = [mpmath.mpf(float(x)) for x in point]
            want = EXACT[name](*at)
            allowed = bound * (1 + condition(EXACT[name], at)) * np.spacing(abs(float(want)))
            assert abs(mpmath.mpf(float(kernel[k])) - want) <= allowed, point
            assert abs(mpmath.mpf(float(plain[k])) - want) <= allowed, point


def test_the_error_of_stirlings_formula() -> None:
    z = np.array([1e-8, 0.3, 0.999, 1.0, 1.7, 3.0, 12.5, 1e3, 1e9])
    with mpmath.workdps(DIGITS):
        for at, found in zip(z, stirling_error(z), strict=True):
            x = mpmath.mpf(float(at))
            power = mpmath.sqrt(2 * mpmath.pi * x) * (x / mpmath.e) ** x
            want = mpmath.log(mpmath.gamma(x + 1) / power) if x < 1e6 else 1 / (12 * x)
            assert abs(found - want) <= 3e-16 * max(1, abs(want)), at


@pytest.mark.parametrize(
    ("name", "operands", "value"),
    [
        ("BetaDensity", (2.0, 3.0, 0.0), 0.0),
        ("BetaDensity", (1.0, 3.0, 0.0), 3.0),
        ("BetaDensity", (0.5, 3.0, 0.0), np.inf),
        ("BetaDensity", (4.0, 1.0, 1.0), 4.0),
        ("BetaDensity", (4.0, 2.0, 1.0), 0.0),
        ("BetaDensity", (2.0, 3.0, -0.1), np.nan),
        ("GammaDensity", (30.0, 0.0), 0.0),
        ("GammaDensity", (30.0, 1e4), 0.0),
        ("StudentDensity", (3.0, np.inf), 0.0),
    ],
)
def test_ends(name: str, operands: tuple[float, ...], value: float) -> None:
    op = registry.ops[name]
    np.testing.assert_array_equal(sg.compile(lambda *xs: op(*xs))(*operands), value)


@pytest.mark.parametrize("name", ["Gammainc", "Gammaincc", "Gammaincinv", "Gammainccinv"])
def test_other_operands_are_left_to_scipy(name: str) -> None:
    op = registry.ops[name]
    function = getattr(sc, name.lower())
    a = np.array([0.0, 50.0, np.nan, 2.0, 1e-5, 9.0, 12.0])
    y = np.array([0.5, 0.3, 0.5, np.nan, 0.2, 1.0, 0.0])
    np.testing.assert_array_equal(op.evaluate(a, y), function(a, y))
    np.testing.assert_array_equal(sg.compile(lambda a, y: op(a, y))(a, y), function(a, y))

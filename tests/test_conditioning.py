"""Ops with own algorithms in a box of operands, beside mpmath, far outside of the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad._core.op import registry
from symgrad.special.densities import stirling_error
from tests.shared import condition

DIGITS = 50
BESSEL = ("Jv", "Yv", "Iv", "Kv", "Ive", "Kve")


def gamma_share(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True)


def gamma_rest(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def beta_share(a: Any, b: Any, x: Any) -> Any:
    return mpmath.betainc(a, b, 0, x, regularized=True)


def scaled(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    return lambda v, x: function(v, x) * mpmath.exp(sign * x)


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
    "Betainc": beta_share,
    "Betaincc": lambda a, b, x: beta_share(b, a, 1 - x),
    "Hyp1f1": mpmath.hyp1f1,
    "Hyp0f1": mpmath.hyp0f1,
    "Hyp2f1": mpmath.hyp2f1,
    "Binom": mpmath.binomial,
    "JacobiDn": lambda u, m: mpmath.ellipfun("dn", u, m=m),
    "Jv": mpmath.besselj,
    "Yv": mpmath.bessely,
    "Iv": mpmath.besseli,
    "Kv": mpmath.besselk,
    "Ive": scaled(mpmath.besseli, -1),
    "Kve": scaled(mpmath.besselk, 1),
}  # fmt: skip
#: Intervals of the operands and the error left for the code, in ulp over 1 + condition. By
#: logarithms the densities were 100 to 700 off where they are largest. SciPy's shares are 54 off,
#: its J 300, Ive 400, K 800, Y 60 and Hyp1f1 700.
REGIONS: list[tuple[str, tuple[tuple[float, float], ...], float]] = [
    ("GammaDensity", ((0.05, 12.0), (0.01, 15.0)), 2.0),
    ("GammaDensity", ((100.0, 900.0), (100.0, 900.0)), 2.0),
    ("GammaDensity", ((0.5, 9.0), (600.0, 700.0)), 2.0),
    ("BetaDensity", ((0.05, 5.0), (0.05, 5.0), (0.01, 0.99)), 2.5),
    ("BetaDensity", ((30.0, 300.0), (30.0, 300.0), (0.2, 0.8)), 2.0),
    ("StudentDensity", ((1.0, 9.0), (-3.0, 3.0)), 2.0),
    ("StudentDensity", ((20.0, 900.0), (-2.0, 2.0)), 2.0),
    ("Gammainc", ((0.01, 8.0), (0.01, 12.0)), 1.5),
    ("Gammaincc", ((0.3, 8.0), (0.01, 12.0)), 1.5),
    ("Gammaincc", ((0.05, 0.3), (0.01, 12.0)), 3.5),
    ("Gammaincinv", ((0.4, 8.0), (0.001, 0.999)), 1.5),
    ("Gammainccinv", ((0.4, 8.0), (0.001, 0.999)), 1.5),
    ("Betainc", ((0.2, 8.0), (0.2, 8.0), (0.01, 0.99)), 1.5),
    ("Betaincc", ((0.2, 8.0), (0.2, 8.0), (0.01, 0.99)), 1.5),
    ("Hyp1f1", ((0.01, 4.0), (0.01, 4.0), (-6.0, 10.0)), 1.5),
    ("Hyp1f1", ((4.0, 8.0), (0.05, 8.0), (-6.0, -1.0)), 1.5),
    ("Hyp1f1", ((0.5, 8.0), (4.0, 40.0), (-1.0, 10.0)), 1.5),
    ("Hyp0f1", ((0.5, 40.0), (-2.0, 16.0)), 2.0),
    ("Hyp2f1", ((0.1, 3.0), (0.1, 3.0), (0.5, 4.0), (-1.0, 0.5)), 2.5),
    ("Binom", ((5.0, 400.0), (0.02, 4.5)), 1.5),
    ("JacobiDn", ((-10.0, 10.0), (0.01, 0.99)), 2.5),
    ("Jv", ((-1.95, 20.0), (1e-6, 2.0)), 2.5),
    ("Jv", ((-1.95, 20.0), (2.0, 25.0)), 12.0),
    ("Yv", ((-1.4, -0.5), (1e-6, 2.0)), 5.0),
    ("Yv", ((-0.5, 5.4), (1e-6, 2.0)), 0.6),
    ("Iv", ((-1.95, 20.0), (1e-6, 24.0)), 2.5),
    ("Ive", ((-1.95, 20.0), (1e-6, 5.0)), 3.5),
    ("Ive", ((-1.95, 20.0), (5.0, 24.0)), 12.0),
    ("Kv", ((-5.4, 5.4), (1e-6, 0.1)), 5.0),
    ("Kv", ((-5.4, 5.4), (0.1, 2.0)), 2.5),
    ("Kve", ((-5.4, 5.4), (0.1, 2.0)), 2.5),
]


@pytest.mark.parametrize(("name", "intervals", "bound"), REGIONS)
@pytest.mark.quick(1)
def test_errors_are_those_of_the_function_itself(
    name: str, intervals: tuple[tuple[float, float], ...], bound: float
) -> None:
    rng = np.random.default_rng(0)
    operands = [
        np.exp(rng.uniform(np.log(low), np.log(high), 16)) if 0 < 1e4 * low < high
        else rng.uniform(low, high, 16)
        for low, high in intervals
    ]  # fmt: skip
    if name in BESSEL:  # whole orders are points of their own
        operands[0][:4] = [0.0, -1.0, 2.0, 3.0]
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


#: Operands outside of the box, and such as have no number for a result.
OUTSIDE = [
    (("Gammainc", "Gammaincc", "Gammaincinv", "Gammainccinv"),
     ([0.0, 50.0, np.nan, 2.0, 1e-5, 9.0, 12.0], [0.5, 0.3, 0.5, np.nan, 0.2, 1.0, 0.0])),
    (BESSEL,
     ([0.5, 70.3, -3.2, 2.0, np.nan, 1.0, 3.5, 0.0],
      [0.0, 80.0, 40.0, 1e3, 1.0, np.nan, 1e-200, np.inf])),
    (("Betainc", "Betaincc", "Betaincinv", "Betainccinv"),
     ([0.5, np.nan, 2.0, 30.0], [1.0, 1.0, 2.0, 1.0], [0.0, 0.5, np.nan, 0.4])),
    (("Binom",), ([5.0, 5.5, np.nan, 1e7, 2.0], [2.0, 3.0, 0.5, 0.5, 2.5])),
    (("Hyp2f1",), ([0.5, 4.0, 0.5], [0.5, 0.5, 0.5], [1.0, 2.0, 3.0], [0.9, 0.2, -3.0])),
    (("Expn",), ([0.0, 0.0, 70.0, 2.0], [0.3, 5.0, 2.0, 800.0])),
    (("Hyp0f1",), ([0.5, np.nan, 2.0, 3.0], [20.0, 1.0, np.nan, -9.0])),
    (("Hyp1f1",), ([0.5, np.nan, 2.0, 9.0], [1.0, 1.0, 1.0, 2.0], [20.0, 1.0, np.nan, -9.0])),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "operands"), [(name, operands) for names, operands in OUTSIDE for name in names]
)
@pytest.mark.quick(1)
def test_other_operands_are_left_to_scipy(name: str, operands: Sequence[list[float]]) -> None:
    op, function = registry.ops[name], getattr(sc, name.lower())
    xs = list(map(np.array, operands))
    np.testing.assert_array_equal(op.evaluate(*xs), function(*xs))
    np.testing.assert_array_equal(sg.compile(lambda *xs: op(*xs))(*xs), function(*xs))


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.quick(1)
def test_exponential_integrals(order: int) -> None:
    x = np.array([1e-3, 0.2, 0.7, 1.1, 1.79, 1.81, 3.0, 20.0])
    found = sg.compile(lambda x: sc.expn(order, x))(x)
    with mpmath.workdps(DIGITS):
        for at, got in zip(x, found, strict=True):
            want = mpmath.expint(order, mpmath.mpf(float(at)))
            own = at * mpmath.expint(order - 1, at) / want
            assert abs(got - want) <= 2.5 * (1 + own) * np.spacing(float(want)), at


@pytest.mark.parametrize("name", ["Betaincinv", "Betainccinv"])
@pytest.mark.quick(1)
def test_quantiles_of_the_beta_distribution(name: str) -> None:
    """Put into the exact share, they give it back but for rounding of the quantile."""
    rng = np.random.default_rng(0)
    a, b, y = rng.uniform(0.3, 8, 12), rng.uniform(0.3, 8, 12), rng.uniform(0.01, 0.99, 12)
    op, sign = registry.ops[name], 1 if name == "Betaincinv" else -1
    found = sg.compile(lambda *xs: op(*xs))(a, b, y)
    with mpmath.workdps(DIGITS):
        for p, q, share, x in zip(a, b, y, found, strict=True):
            at = mpmath.mpf(float(x))
            got = beta_share(p, q, at) if sign > 0 else 1 - beta_share(p, q, at)
            slope = EXACT["BetaDensity"](p, q, at)
            off = abs(got - mpmath.mpf(float(share))) / slope
            assert off <= 2.5 * (1 + share / (x * slope)) * np.spacing(x), (p, q, share)


@pytest.mark.slow
def test_the_slope_of_order_zero_has_no_pole() -> None:
    """Its rule is made of orders -1 and 1."""
    for function, exact in ((sc.jv, -sc.j1(0.2)), (sc.iv, sc.i1(0.2)), (sc.yv, -sc.y1(0.2))):
        found = sg.grad(lambda x, function=function: function(0.0, x))(0.2)
        assert abs(found - exact) <= 4 * np.spacing(abs(exact))


@pytest.mark.slow
def test_the_second_kind_of_negative_half_orders_is_the_first() -> None:
    """The function of the other sign, which is large, has the factor cos(pi*(n + 1/2)): 0."""
    x = np.array([1e-6, 0.05, 0.3, 1.3, 2.0, 2.5])  # below the zeros
    for n in range(5):
        found = sg.compile(lambda x, n=n: sc.yv(-n - 0.5, x))(x)
        with mpmath.workdps(DIGITS):
            exact = [float((-1) ** n * mpmath.besselj(n + 0.5, at)) for at in x]
        assert np.all(np.abs(found - exact) <= 16 * np.spacing(np.abs(exact)))

"""Bessel functions of real order, beside mpmath, far outside of the samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad._op import registry

DIGITS = 50


def scaled(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    return lambda v, x: function(v, x) * mpmath.exp(sign * x)


EXACT: dict[str, Callable[..., Any]] = {
    "Jv": mpmath.besselj,
    "Yv": mpmath.bessely,
    "Iv": mpmath.besseli,
    "Kv": mpmath.besselk,
    "Ive": scaled(mpmath.besseli, -1),
    "Kve": scaled(mpmath.besselk, 1),
}
#: Errors left for the code, in ulp over 1 + condition: intervals of x and of v, bounds. SciPy's
#: were 300 for J, 400 for Ive, 800 for K and 60 for Y.
REGIONS: list[tuple[str, tuple[float, float], tuple[float, float], float]] = [
    ("Jv", (1e-6, 2.0), (-1.95, 20.0), 2.5),
    ("Jv", (2.0, 25.0), (-1.95, 20.0), 12.0),
    ("Yv", (1e-6, 2.0), (-1.4, 5.4), 5.0),
    ("Iv", (1e-6, 24.0), (-1.95, 20.0), 2.5),
    ("Ive", (1e-6, 5.0), (-1.95, 20.0), 3.5),
    ("Ive", (5.0, 24.0), (-1.95, 20.0), 12.0),
    ("Kv", (1e-6, 0.1), (-5.4, 5.4), 5.0),
    ("Kv", (0.1, 2.0), (-5.4, 5.4), 2.5),
    ("Kve", (0.1, 2.0), (-5.4, 5.4), 2.5),
]


def condition(exact: Callable[..., Any], v: Any, x: Any) -> Any:
    """Return how much relative errors of the operands are magnified."""
    h = mpmath.mpf(10) ** -15
    middle = exact(v, x)
    along = x * (exact(v, x * (1 + h)) - exact(v, x * (1 - h))) / (2 * h * x)
    across = v * (exact(v + h, x) - exact(v - h, x)) / (2 * h)
    return (abs(along) + abs(across)) / abs(middle)


@pytest.mark.parametrize(("name", "xs", "vs", "bound"), REGIONS)
def test_errors_are_those_of_the_function_itself(
    name: str, xs: tuple[float, float], vs: tuple[float, float], bound: float
) -> None:
    rng = np.random.default_rng(0)
    v = rng.uniform(*vs, 16)
    x = np.exp(rng.uniform(*map(math.log, xs), 16))
    v[:3] = np.rint(v[:3])  # whole orders are points of their own
    v[3] = max(-1.0, np.rint(vs[0]))
    op = registry.ops[name]
    kernel = sg.compile(lambda v, x: op(v, x))(v, x)
    plain = op.evaluate(v, x)
    with mpmath.workdps(DIGITS):
        for k in range(len(v)):
            at = mpmath.mpf(float(v[k])), mpmath.mpf(float(x[k]))
            want = EXACT[name](*at)
            allowed = bound * (1 + condition(EXACT[name], *at)) * np.spacing(abs(float(want)))
            assert abs(mpmath.mpf(float(kernel[k])) - want) <= allowed, at
            assert abs(mpmath.mpf(float(plain[k])) - want) <= allowed, at


@pytest.mark.parametrize("name", list(EXACT))
def test_other_operands_are_left_to_scipy(name: str) -> None:
    op = registry.ops[name]
    function = getattr(sc, name.lower())
    v = np.array([0.5, 70.3, -3.2, 2.0, math.nan, 1.0, 3.5, 0.0])
    x = np.array([0.0, 80.0, 40.0, 1e3, 1.0, math.nan, 1e-200, math.inf])
    np.testing.assert_array_equal(op.evaluate(v, x), function(v, x))
    np.testing.assert_array_equal(sg.compile(lambda v, x: op(v, x))(v, x), function(v, x))


def test_the_slope_of_order_zero_has_no_pole() -> None:
    """Its rule is made of orders -1 and 1."""
    for function, exact in ((sc.jv, -sc.j1(0.2)), (sc.iv, sc.i1(0.2)), (sc.yv, -sc.y1(0.2))):
        found = sg.grad(lambda x, function=function: function(0.0, x))(0.2)
        assert abs(found - exact) <= 4 * np.spacing(abs(exact))

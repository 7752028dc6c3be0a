"""Arithmetic of pairs of numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from symgrad._core.ops import pairs

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((2, 40)) * 10.0 ** rng.integers(-9, 9, (2, 40))
LOW = X * rng.uniform(-1e-16, 1e-16, 40)


def exactly(pair: Any) -> list[Fraction]:
    """Return what pairs stand for."""
    return [Fraction(float(h)) + Fraction(float(low)) for h, low in zip(*pair, strict=True)]


@pytest.mark.parametrize("name", ["two_sum", "two_product"])
def test_nothing_is_lost(name: str) -> None:
    for x, y, found in zip(X, Y, exactly(getattr(pairs, name)(X, Y)), strict=True):
        a, b = Fraction(x), Fraction(y)
        assert found == (a + b if name == "two_sum" else a * b)


@pytest.mark.parametrize(
    ("name", "exact", "bound"),
    [
        ("pair_sum", lambda a, b: a + b, 1e-15),  # where it cancels
        ("pair_product", lambda a, b: a * b, 1e-31),
        ("pair_quotient", lambda a, b: a / b, 1e-31),
        ("pair_logarithm", lambda a, b: mpmath.log(a / b), 4e-18),
    ],
)
def test_pairs_have_twice_the_digits(name: str, exact: Any, bound: float) -> None:
    high, low = (np.abs(X), LOW) if name == "pair_logarithm" else (X, LOW)
    other = (np.abs(Y), 0 * Y) if name == "pair_logarithm" else (Y, 0 * Y)
    found = getattr(pairs, name)((high, low), other)
    with mpmath.workdps(60):
        for k in range(len(X)):
            a, b = mpmath.mpf(high[k]) + mpmath.mpf(low[k]), mpmath.mpf(other[0][k])
            got = mpmath.mpf(found[0][k]) + mpmath.mpf(found[1][k])
            assert abs(got - exact(a, b)) <= bound * abs(exact(a, b)), (a, b)


def test_roots_and_powers() -> None:
    at = np.abs(X), LOW
    root, power = pairs.pair_root(at), pairs.pair_power((np.log(at[0]), LOW / 1e9))
    with mpmath.workdps(60):
        for k in range(len(X)):
            want = mpmath.sqrt(mpmath.mpf(at[0][k]) + mpmath.mpf(LOW[k]))
            got = mpmath.mpf(root[0][k]) + mpmath.mpf(root[1][k])
            assert abs(got - want) <= 1e-31 * want
            want = mpmath.exp(mpmath.mpf(np.log(at[0][k])) + mpmath.mpf(LOW[k] / 1e9))
            got = mpmath.mpf(power[0][k]) + mpmath.mpf(power[1][k])
            assert abs(got - want) <= 1e-17 * want

"""Powers by half-integers, which kernels compute by the square root."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import symgrad as sg

HALVES = [0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, -3.5]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -1e300, 5e-324, -5e-324, 1e-310, 1.0]


def _units_off(found: float, x: float, power: float) -> float:
    """Return the error of ``x**power`` in units in the last place of the exact result."""
    with mpmath.workprec(200):
        exact = mpmath.mpf(x) ** mpmath.mpf(power)
        return float(abs(mpmath.mpf(found) - exact) / mpmath.mpf(math.ulp(float(exact))))


@pytest.mark.parametrize("power", HALVES)
def test_half_powers_are_right_to_the_last_digits(power: float) -> None:
    """Elements to the aim of SIMD functions, numbers nearly to that of the C library's."""
    x = 10.0 ** np.random.default_rng(0).uniform(-300 / max(1, abs(power)), 88, size=200)
    compiled = sg.compile(lambda x: x**power)
    for found, aim in ((compiled(x), 4.0), ([compiled(v) for v in x.tolist()], 2.0)):
        assert max(_units_off(float(y), v, power) for y, v in zip(found, x, strict=True)) < aim


@pytest.mark.parametrize("power", HALVES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_half_powers_of_special_numbers_are_numpy_s(power: float, dtype: type) -> None:
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        wanted = np.power(x, np.full_like(x, power))  # by one number, 1/2 is NumPy's sqrt
    # What is smaller than the smallest normal number has fewer digits.
    for found in (
        sg.compile(lambda x: x**power)(x),
        sg.compile(lambda x: np.float_power(x, power).astype(x.dtype))(x),
        np.array([sg.compile(lambda x: x**power)(v) for v in x]),
    ):
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(np.signbit(found[:7]), np.signbit(wanted[:7]))


@pytest.mark.parametrize("power", HALVES)
def test_half_powers_at_the_ends_of_the_range(power: float) -> None:
    """No product overflows or vanishes before the power does."""
    ends = [float(Fraction(2) ** k) * f for k in (-1022, -600, 600, 1020) for f in (1.0, 1.37)]
    with np.errstate(all="ignore"):
        found, wanted = sg.compile(lambda x: x**power)(np.array(ends)), np.array(ends) ** power
    np.testing.assert_allclose(found, wanted, rtol=1e-15, atol=1e-322)


def test_half_powers_under_promised_rounding_are_numpy_s_bits() -> None:
    x = np.random.default_rng(1).uniform(0.1, 9, size=64)
    np.testing.assert_array_equal(sg.compile(lambda x: x**-1.5, rounding="numpy")(x), x**-1.5)

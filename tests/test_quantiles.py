"""Quantiles of the normal distribution: no digits are lost in the tails, nor by their slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg

EDGES = [0.125, 0.25, 0.5, 0.75]
SMALL = [5e-324, 1e-310, 1e-300, 1e-100, 1.6038e-28, 1.6037e-28, 1e-20, 1e-9, 1e-3]


def inverse(x: Any) -> Any:
    """The inverse of erfc, by Newton's method for the logarithm."""
    if x > 1:
        return -inverse(2 - x)
    y = mp.mpf(float(sc.erfcinv(max(float(x), 1e-300))))
    for _ in range(40):
        value = mp.erfc(y)
        y += mp.log(value / x) * value * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


def points(scale: float) -> np.ndarray[Any, Any]:
    """Return points of (0, scale), dense where one way ends, and the same from the right."""
    rng = np.random.default_rng(5)
    near = [np.nextafter(e, to) for e in EDGES for to in (0.0, 1.0)]
    x = np.concatenate([SMALL, near, rng.uniform(0, 1, 40)]) * (0.5 * scale)
    x = x[x > 0]
    return np.concatenate([x, scale - x[x > 1e-3]])


CASES: dict[str, tuple[Callable[..., Any], float, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "erfcinv": (
        sc.erfcinv, 2.0, inverse, lambda x: -mp.sqrt(mp.pi) / 2 * mp.exp(inverse(x) ** 2),
    ),
    "ndtri": (
        sc.ndtri, 1.0, lambda p: -mp.sqrt(2) * inverse(2 * p),
        lambda p: mp.sqrt(2 * mp.pi) * mp.exp(inverse(2 * p) ** 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(1)
def test_value_and_slope_keep_their_digits(name: str) -> None:
    """Not more than two units, for each of which the argument's rounding adds its condition."""
    function, scale, exact, slope = CASES[name]
    x = points(scale)
    found = sg.compile(lambda x: function(x))(x)
    steep = sg.grad(lambda x: np.sum(function(x)))(x)
    with mp.workdps(40):
        for k, v in enumerate(map(mp.mpf, map(float, x))):
            want, rise = exact(v), slope(v)
            condition = abs(v * rise / want)
            assert abs(mp.mpf(float(found[k])) / want - 1) < 3.6e-16 * (1 + condition), float(v)
            if not np.isfinite(float(rise)):
                assert steep[k] == float(rise)
                continue
            bent = 2 * (want / (1 if name == "erfcinv" else mp.sqrt(2))) ** 2 * condition
            assert abs(mp.mpf(float(steep[k])) / rise - 1) < 3.6e-16 * (1 + bent), float(v)


@pytest.mark.parametrize("name", CASES)
def test_ends_and_beyond(name: str) -> None:
    function, scale, _, _ = CASES[name]
    x = np.array([0.0, -0.0, scale, -1.0, 2.1, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        want = function(x)
    side = -1.0 if name == "erfcinv" else 1.0
    for f in (sg.compile(function), sg.compile(function, backend="numpy")):
        np.testing.assert_array_equal(f(x), want)
    slope = sg.grad(lambda x: np.sum(function(x)))(x)
    np.testing.assert_array_equal(slope[:3], side * np.inf)
    assert np.isnan(slope[3:]).all()


# ---------------------------------------------------------------- what options decide


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("f", [
    lambda x: np.quantile(x, 0.3, method="nearest"),
    lambda x: np.quantile(x, [0, 1]),
    lambda x: np.percentile(x, 30, method="lower"),
    lambda x: np.unwrap(x),
    lambda x: np.convolve(2, x),
], ids=range(5))  # fmt: skip
@pytest.mark.parametrize("dtype", ["u1", "i4", "f4"])
def test_elements_keep_their_type(f: Any, dtype: str) -> None:
    x = np.array([5, 1, 4], dtype)
    with np.errstate(all="ignore"):
        found, wanted = sg.compile(f)(x), f(x)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("f", [
    lambda x: np.max(x, initial=-3),
    lambda x: np.sum(x, initial=-3),
    lambda x: np.convolve(x[:0], x),
    lambda x: np.correlate(x[0], x),
    lambda x: np.ediff1d(x, to_begin=2.0),
    lambda x: np.gradient(x > 1),
    lambda x: np.quantile(x > 1, 0.3),
    lambda x: np.add.accumulate(x[:, None], axis=None),
], ids=range(8))  # fmt: skip
def test_what_numpy_refuses(f: Any) -> None:
    x = np.array([5, 1, 4], np.uint8)
    for g in (f, sg.compile(f)):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            g(x)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("f", [
    lambda x, m: np.std(x, axis=1, where=m),
    lambda x, m: np.std(x, axis=1, where=x > 0, ddof=1),
    lambda x, m: np.std(x, where=m, axis=1, keepdims=True)[:, 0],
], ids=range(3))  # fmt: skip
def test_deviations_under_a_mask_of_equal_elements_have_slope_zero(f: Any) -> None:
    x = np.array([[1.5, 1.5, -1.0], [2.0, 3.0, -2.0]])
    mask = np.array([[True, True, False], [True, True, False]])
    slope = sg.grad(lambda x: np.sum(f(x, mask)))(x)
    assert not slope[0].any()
    assert slope[1, 1] > 0.3
    assert sg.jvp(lambda x: f(x, mask), (x,), (x,))[1][0] == 0

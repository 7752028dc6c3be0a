"""Filters of ``scipy.signal``, with SciPy's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as signal
from scipy.spatial.distance import pdist, squareform

import symgrad as sg
from symgrad.errors import SymgradError

pytestmark = pytest.mark.usefixtures("few_kernels")

Case = tuple[Callable[[Any], Any], Any]
SECTIONS = signal.butter(4, 0.3, output="sos")


def random_case(seed: int) -> Case:
    """A filter with random options, as a function of a matrix of signals, and the matrix."""
    rng = np.random.default_rng(seed)

    def one(*options: Any) -> Any:
        return options[rng.integers(len(options))]

    n, axis = one(1, 2, 3, 5, 8, 13, 40), one(0, 1)
    x = rng.normal(size=(n, 2) if axis == 0 else (2, n)).astype(one(float, float, np.float32))
    ends = {"padtype": one("odd", "even", "constant", None, "bad"), "padlen": one(None, None, 0, 3)}
    up, down, h = one(1, 2, 3, 5, 6), one(1, 2, 3, 4), rng.normal(size=one(1, 2, 3, 5, 11))
    sides = one("constant", "constant", "line", "edge", "reflect", "symmetric", "wrap")
    width, order, count, rate = one(1, 2, 3, 4, 5, 8), one(0, 1, 2), one(1, 2, 3, 4, 7, 20), up + 1
    window = one(None, "hann", ("kaiser", 3.0), rng.normal(size=n), lambda f: np.exp(-(f**2)))
    taps = one("hamming", ("kaiser", 5.0), h)
    kind, trend, cuts = (
        one("iir", "fir"),
        one("linear", "constant", "l", "bad"),
        one(0, [1], [1, 9]),
    )
    shape, zero, size = one("interp", "mirror", "nearest", "constant", "wrap"), one(True, False), 4
    b, a = signal.butter(order + 1, 0.3)
    given, slope, ground = one(None, size), one(0, 1), one("mean", sides)
    cases: tuple[Callable[[Any], Any], ...] = (
        lambda x: signal.savgol_filter(x, width, order, slope, 0.5, axis, shape, 0.7),
        lambda x: signal.sosfiltfilt(SECTIONS[: order + 1], x, axis, **ends),
        lambda x: signal.filtfilt(b, a, x, axis, **ends),
        lambda x: signal.resample(x, count, axis=axis, window=window),
        lambda x: signal.upfirdn(h, x, up, down, axis, sides, 0.3 * (sides == "constant")),
        lambda x: signal.resample_poly(x, up, down, axis, taps, ground),
        lambda x: signal.decimate(x, rate, given, kind, axis, zero),
        lambda x: signal.detrend(x, axis, trend, cuts),
    )
    return cases[seed % len(cases)], x


def outcome(f: Callable[[Any], Any], x: Any) -> Any:
    try:
        return f(x)
    except (ValueError, SymgradError) as error:
        return error


#: Two of each filter in the quick suite.
SEEDS = [*range(16), *(pytest.param(k, marks=pytest.mark.slow) for k in range(16, 400))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_options(seed: int) -> None:
    f, x = random_case(seed)
    want, found = outcome(f, x), outcome(sg.compile(f), x)
    if isinstance(want, ValueError):
        assert isinstance(found, ValueError)
        return
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    if np.isnan(want).any():  # SciPy's line through one sample
        return
    close = 1e-10 if x.dtype == float else 1e-3
    size = np.abs(want).max(initial=0) + np.abs(x).max()
    np.testing.assert_allclose(found, want, rtol=0, atol=close * size)
    if (
        want.dtype == x.dtype == float and want.size
    ):  # they are linear, or straight lines away from it
        way = np.random.default_rng(seed).normal(size=x.shape)
        slopes = sg.jvp(f, (x,), (way,))[1]
        np.testing.assert_allclose(slopes, f(x + way) - want, rtol=0, atol=10 * close * size)
        pulled = sg.grad(lambda x: np.sum(f(x) * want))(x)
        np.testing.assert_allclose(np.sum(pulled * way), np.sum(slopes * want), atol=1e-7 * size**2)


def test_distances_of_one_point() -> None:
    f, x = lambda x: squareform(pdist(x)), np.ones((1, 3))
    np.testing.assert_array_equal(sg.compile(f)(x), f(x))


def test_a_filter_has_a_first_coefficient() -> None:
    """SciPy raises for a zero; the quotients by it were numbers, if infinite ones."""
    with pytest.raises(ValueError, match="is zero"):
        sg.grad(lambda x: np.sum(signal.lfilter([1.0], [0.0, 1.0], x)))(np.ones(3))

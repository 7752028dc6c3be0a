"""Long rows: what is computed of them is no matrix of as many rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import fft, linalg, ndimage, signal
from scipy.interpolate import CubicSpline, interp1d, make_interp_spline

import symgrad as sg

pytestmark = pytest.mark.usefixtures("few_kernels")

LONG = 50_001
STEPS, PLACES = np.arange(1.0 * LONG), np.linspace(0.5, LONG - 2.5, 999)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "savgol_filter": lambda x: signal.savgol_filter(x, 11, 3),
    "sosfiltfilt": lambda x: signal.sosfiltfilt(signal.butter(4, 0.3, output="sos"), x),
    "filtfilt": lambda x: signal.filtfilt([0.2, 0.3], [1.0, -0.5], x),
    "detrend": lambda x: signal.detrend(x, bp=[0, 10_000]),
    "resample": lambda x: signal.resample(x, 20_000),
    "resample_poly": lambda x: signal.resample_poly(x, 160, 147),
    "upfirdn": lambda x: signal.upfirdn(np.arange(1.0, 9.0), x, 2, 3),
    "decimate": lambda x: signal.decimate(x, 4),
    "decimate, fir": lambda x: signal.decimate(x, 4, ftype="fir"),
    "welch": lambda x: signal.welch(x, nperseg=500)[1],
    "istft": lambda x: signal.istft(signal.stft(x)[2])[1],
    "periodogram": lambda x: signal.periodogram(x)[1],
    "hilbert": lambda x: np.abs(signal.hilbert(x)),
    "medfilt": lambda x: signal.medfilt(x, 3),
    "convolve": lambda x: signal.convolve(x, x[:1000]),
    "map_coordinates": lambda x: ndimage.map_coordinates(x, [np.arange(0.5, LONG)], mode="reflect"),
    "CubicSpline": lambda y: CubicSpline(STEPS, y)(PLACES),
    "CubicSpline, natural": lambda y: CubicSpline(STEPS, y, bc_type="natural")(PLACES),
    "CubicSpline, periodic": lambda y: CubicSpline(
        STEPS, np.append(y[1:], y[1]), bc_type="periodic"
    )(PLACES),
    "make_interp_spline": lambda y: make_interp_spline(STEPS, y, 5)(PLACES),
    "interp1d": lambda y: interp1d(STEPS, y, "cubic")(PLACES),
    "fht": lambda y: fft.fht(y, 0.001, 0.5),
    "matmul_toeplitz": lambda y: linalg.matmul_toeplitz(np.r_[4.0, 1.0, np.zeros(LONG - 2)], y),
    "reduceat": lambda y: np.add.reduceat(y, np.arange(0, LONG, 10)),
}


@pytest.mark.parametrize(
    "name",
    ["detrend", *(pytest.param(k, marks=pytest.mark.slow) for k in FUNCTIONS if k != "detrend")],
)
def test_long_rows(name: str) -> None:
    f, x = FUNCTIONS[name], np.random.default_rng(0).normal(size=LONG)
    want = f(x)
    value, slope = sg.value_and_grad(lambda x: np.sum(f(x) ** 2))(x)
    assert slope.shape == x.shape
    np.testing.assert_allclose(value, np.sum(want**2), rtol=1e-9)

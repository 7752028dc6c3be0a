"""Arrays of no elements, and libraries' functions that fail."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
from scipy import integrate, ndimage, signal, stats

import symgrad as sg
from symgrad.errors import ShapeError

SHAPES = ((0,), (3, 0), (0, 3), (0, 0), (2, 0, 3))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "rfftn", "irfftn", "rfft2"]
)
@pytest.mark.parametrize("module", [np.fft, scipy.fft], ids=["numpy", "scipy"])
def test_transforms_of_no_points_raise(module: Any, name: str, shape: tuple[int, ...]) -> None:
    function, x = getattr(module, name), np.zeros(shape)
    try:
        wanted = function(x)
    except (ValueError, IndexError) as error:
        with pytest.raises((ValueError, type(error))):
            sg.compile(function)(x)
        return
    found = sg.compile(function)(x)
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def test_transforms_of_no_points_along_an_axis_raise() -> None:
    with pytest.raises(ShapeError, match=r"rfft: invalid number of data points \(0\)"):
        sg.compile(lambda x: np.fft.rfft(x, axis=0))(np.zeros((0, 3)))
    np.testing.assert_array_equal(sg.compile(lambda x: np.fft.rfft(x, 3))(np.zeros(0)), [0, 0])


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (2, 0, 3), (2, 3, 0)])
def test_singular_vectors_without_values(shape: tuple[int, ...], dtype: str) -> None:
    x = np.zeros(shape, dtype)
    for full in (True, False):
        found = sg.compile(lambda x, full=full: np.linalg.svd(x, full))(x)
        for part, wanted in zip(found, np.linalg.svd(x, full), strict=True):
            assert part.dtype == wanted.dtype
            np.testing.assert_array_equal(part, wanted)
    gradient = sg.grad(lambda x: np.sum(np.linalg.svd(x)[0].real * 2.0))(x)
    assert gradient.shape == x.shape


ROW = np.array([1.0, 2.0, 3.0])
SOS = signal.butter(2, 0.3, output="sos")

#: Functions of SciPy's of an array, with what else they take.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "convolve": lambda x: signal.convolve(x, x),
    "fftconvolve": lambda x: signal.fftconvolve(x, np.ones((2,) * x.ndim)),
    "oaconvolve": lambda x: signal.oaconvolve(np.ones((2,) * x.ndim), x, "same"),
    "correlate": lambda x: signal.correlate(x, np.ones((2,) * x.ndim), "same"),
    "welch": signal.welch,
    "periodogram": signal.periodogram,
    "stft": lambda x: signal.stft(x, nperseg=8),
    "detrend": signal.detrend,
    "resample": lambda x: signal.resample(x, 4),
    "savgol_filter": lambda x: signal.savgol_filter(x, 5, 2, mode="nearest"),
    "sosfiltfilt": lambda x: signal.sosfiltfilt(SOS, x),
    "lombscargle": lambda x: signal.lombscargle(x, x, ROW),
    "upfirdn": lambda x: signal.upfirdn(ROW, x, 2),
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0),
    "convolve1d": lambda x: ndimage.convolve1d(x, ROW),
    "map_coordinates": lambda x: ndimage.map_coordinates(x, np.ones((x.ndim, 2))),
    "zoom": lambda x: ndimage.zoom(x, 2.0),
    "trapezoid": integrate.trapezoid,
    "simpson": integrate.simpson,
    "cumulative_trapezoid": integrate.cumulative_trapezoid,
    "dct": scipy.fft.dct,
    "dst": lambda x: scipy.fft.dst(x, 1),
    "expm": scipy.linalg.expm,
    "sqrtm": scipy.linalg.sqrtm,
    "toeplitz": scipy.linalg.toeplitz,
    "gmean": stats.gmean,
    "skew": stats.skew,
    "zscore": stats.zscore,
    "gaussian_kde": lambda x: stats.gaussian_kde(x)(1.0),
    "norm.logpdf": stats.norm.logpdf,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipy_of_no_elements(name: str) -> None:
    function = FUNCTIONS[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for shape in SHAPES:
            x = np.zeros(shape)
            try:
                wanted = function(x)
            except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
                with pytest.raises((ValueError, IndexError, type(error))):
                    sg.compile(function)(x)
                continue
            found = sg.compile(function)(x)
            several = isinstance(wanted, tuple)
            for a, b in zip(*((found, wanted) if several else ([found], [wanted])), strict=True):
                assert np.shape(a) == np.shape(b), shape
                np.testing.assert_array_equal(a, b)


def test_convolutions_that_end_scipys_process_raise() -> None:
    for function in (signal.convolve2d, signal.correlate2d):
        for boundary in ("fill", "wrap", "symm"):
            with pytest.raises(ShapeError):
                sg.compile(lambda x, f=function, b=boundary: f(x, np.ones((2, 2)), boundary=b))(
                    np.zeros((3, 0))
                )


# ---------------------------------------------------------------- functions that fail

#: A transform whose length is a prime takes several times the memory of its result.
FAILING = """
import resource
import numpy as np
import symgrad as sg
from pathlib import Path

{setup}
f(np.ones(67))
x = np.ones(1_000_003)
f(x)
x = np.ones(2_000_003)
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
for room in range(80, 400, 32):
    resource.setrlimit(resource.RLIMIT_AS, (taken + (room << 20), resource.RLIM_INFINITY))
    try:
        found = f(x)
    except MemoryError as error:
        print(type(error).__name__, error)
        continue
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    assert abs(found[0] - x.size) < 1e-3, found[0]
print("done")
"""

CALLERS = {
    "python": "f = sg.compile(lambda x: np.abs(np.fft.rfft(x)))",
    "numba": (
        "import numba\n"
        "kernel = sg.compile(lambda x: np.abs(np.fft.rfft(x))).kernel(np.ones(67))\n"
        "f = numba.njit(lambda x: kernel(x))"
    ),
    "threads": (
        "f = sg.compile(lambda x: np.abs(np.fft.rfft(x)))\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool, g = ThreadPoolExecutor(1), f\n"
        "f = lambda x: pool.submit(g, x).result()"
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="says how much memory is taken")
@pytest.mark.parametrize("caller", CALLERS)
def test_a_transform_without_memory_raises(caller: str) -> None:
    """NumPy's loop leaves a Python error and a result that is not written."""
    done = subprocess.run(
        [sys.executable, "-c", FAILING.format(setup=CALLERS[caller])],
        env=os.environ | {"PYTHONPATH": str(Path(sg.__file__).parents[1])},
        capture_output=True, text=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[-1:] == ["done"], done.stderr[-2000:]
    assert len(lines) > 1

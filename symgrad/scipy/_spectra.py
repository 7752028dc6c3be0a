"""Trends, and spectra of segments: by Welch's method, over time, and back from these."""

from __future__ import annotations

import inspect
import itertools
import math
import operator
from typing import Any

import numpy as np
import scipy.signal

from .. import numpy as traced_numpy
from .._core.graph import warn_user
from . import fft as transforms
from ._versions import floats, replaces

#: SciPy's windows by default, which have other names from version to version.
HANN, TUKEY = (
    inspect.signature(function).parameters["window"].default
    for function in (scipy.signal.welch, scipy.signal.spectrogram)
)

#: Windows that are ones, of any length.
_ONES = ("boxcar", "box", "ones", "rect", "rectangular", None)


def extended(x: Any, edge: Any, kind: str) -> Any:
    """Return signals with ``edge`` more samples at both ends of the last axis, as SciPy has them.

    ``kind`` is ``"even"``, ``"odd"``, ``"constant"`` or ``"zeros"``.
    """
    if not edge:
        return x
    left, right = np.flip(x[..., 1 : edge + 1], -1), np.flip(x[..., -edge - 1 : -1], -1)
    if kind == "odd":
        left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
    elif kind == "constant":
        left, right = left * 0 + x[..., :1], right * 0 + x[..., -1:]
    elif kind == "zeros":
        left = right = np.zeros_like(x, shape=(*x.shape[:-1], edge))
    return traced_numpy.concatenate([left, x, right], axis=-1)


@replaces(scipy.signal.detrend)
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Subtract lines or means, as ``scipy.signal.detrend``.

    Examples
    --------
    >>> sg.jacobian(lambda x: detrend(x, type="constant"))(np.ones(2))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    x = np.moveaxis(floats(data), axis, -1)
    if type in ("constant", "c"):
        return np.moveaxis(x - np.mean(x, axis=-1, keepdims=True), -1, axis)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    n = x.shape[-1]
    starts = [int(k) for k in np.unique(np.r_[0, bp]) if k != n]
    if starts[-1] > n:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    parts = []
    for first, last in itertools.pairwise([*starts, n]):
        part, places = x[..., first:last], traced_numpy.arange(last - first).astype(x.dtype)
        part, places = (v - np.mean(v, axis=-1, keepdims=True) for v in (part, places))
        square = places @ places
        slope = (part @ places) / np.where(square == 0, 1, square)  # of one sample there is none
        parts.append(part - slope[..., np.newaxis] * places)
    found = traced_numpy.concatenate(parts, axis=-1)
    return np.moveaxis(found.astype(x.dtype), -1, axis)


def _lengths(window: Any, nperseg: Any, noverlap: Any, nfft: Any, n: Any) -> tuple[Any, ...]:
    """Return a window, the lengths of a segment and of its transform, and the step."""
    if isinstance(window, (str, tuple)):
        nperseg = 256 if nperseg is None else operator.index(nperseg)
        if nperseg < 1:
            raise ValueError(f"Parameter {nperseg=} is not a positive integer!")
        if n < nperseg:
            warn_user(
                f"{nperseg=} is greater than signal length max(len(x), len(y)) = {int(n)}, using "
                f"nperseg = {int(n)}",
                UserWarning,
            )
            nperseg = int(n)
        window = scipy.signal.get_window(window, nperseg)
    window = floats(window)
    if window.ndim != 1:
        raise ValueError("window must be 1-D")
    size = window.shape[0]
    if nperseg is not None and nperseg != size:
        raise ValueError(f"{nperseg=} does not equal len(win)={size}")
    if n < size:
        raise ValueError("window is longer than input signal")
    nfft = size if nfft is None else nfft
    if nfft < size:
        raise ValueError(f"{nfft=} must be greater than or equal to nperseg={size}!")
    noverlap = size // 2 if noverlap is None else operator.index(noverlap)
    if noverlap >= size:
        raise ValueError(f"{noverlap=} must be less than nperseg={size}!")
    return window, size, nfft, size - noverlap


def _transformed(x: Any, window: Any, step: Any, nfft: Any, trend: Any, onesided: bool) -> Any:
    """Return the transforms of segments along the last axis: ``(..., segments, frequencies)``."""
    size = window.shape[0]
    places = _places((x.shape[-1] - size) // step + 1, size, step)
    parts = traced_numpy.take(x, places, axis=-1)
    if callable(trend):
        parts = trend(parts)
    elif trend:
        parts = detrend(parts, -1, trend)
    parts = parts * window.astype(np.real(x).dtype)
    return transforms.rfft(parts, nfft) if onesided else transforms.fft(parts, nfft)


def _places(count: Any, size: Any, step: Any) -> Any:
    """Return the indices of segments, a row each."""
    return step * traced_numpy.arange(count)[:, np.newaxis] + traced_numpy.arange(size)


def _joined(parts: Any, places: Any, length: Any) -> Any:
    """Return the sum of segments at their places in a signal."""
    if parts.dtype.kind == "c":
        real, imag = (_joined(part, places, length) for part in (parts.real, parts.imag))
        return real + 1j * imag
    x = traced_numpy.zeros((*parts.shape[:-2], length), parts.dtype)
    np.add.at(x, (..., places), parts)
    return x


def _followed(x: Any, count: Any) -> Any:
    """Return signals with zeros behind."""
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, count)])


def _frequencies(nfft: Any, fs: Any, onesided: bool) -> Any:
    return (transforms.rfftfreq if onesided else transforms.fftfreq)(nfft, 1 / fs)


def _doubled(power: Any, nfft: Any) -> Any:
    """Return powers along a last axis of frequencies with those of the negative ones added."""
    k = traced_numpy.arange(nfft // 2 + 1)
    return power * np.where((k == 0) | (2 * k == nfft), 1.0, 2.0).astype(np.real(power).dtype)


def _scale(window: Any, fs: Any, scaling: str) -> Any:
    return 1 / (fs * np.sum(window**2)) if scaling == "density" else 1 / np.sum(window) ** 2


@replaces(scipy.signal.csd)
def csd(
    x: Any, y: Any, fs: Any = 1.0, window: Any = HANN, nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """Frequencies and the cross spectral density of two signals, as ``scipy.signal.csd``.

    Examples
    --------
    >>> power = lambda x: np.sum(np.abs(csd(x, np.arange(4.0), nperseg=4)[1]))
    >>> sg.grad(power)(np.array([0.0, 1.0, 0.0, 0.0])).round(4)
    array([ 0.1667,  0.8333, -0.5   , -0.5   ])
    """
    if scaling not in ("density", "spectrum"):
        scales = {"spectrum": "magnitude", "density": "psd"}
        raise ValueError(f"Parameter {scaling=} not in {scales}!")
    if average not in ("mean", "median"):
        raise ValueError(f"Parameter {average=} must be 'median' or 'mean'!")
    same = x is y
    x = np.moveaxis(floats(x), axis, -1)
    y = x if same else np.moveaxis(floats(y), axis, -1)
    if not same:
        more = x.shape[-1] - y.shape[-1]
        if more > 0:
            y = _followed(y, more)
        elif more < 0:
            x = _followed(x, -more)
    if x.dtype.kind == "c":
        return_onesided = False
    elif y.dtype.kind == "c" and return_onesided:
        raise ValueError(
            "Complex-valued `x` not allowed for self.fft_mode='onesided'! Set property "
            "`fft_mode` to 'twosided' or 'centered'."
        )
    n = x.shape[-1]
    window, _, nfft, step = _lengths(window, nperseg, noverlap, nfft, n)
    first = _transformed(x, window, step, nfft, detrend, return_onesided)
    if same:
        found = np.real(first) ** 2 + np.imag(first) ** 2
    else:
        found = np.conj(first) * _transformed(y, window, step, nfft, detrend, return_onesided)
    found = found * _scale(window, fs, scaling).astype(np.real(found).dtype)
    if return_onesided:
        found = _doubled(found, nfft)
    if average == "median":
        if found.dtype.kind == "c":
            middle = np.median(found.real, axis=-2) + 1j * np.median(found.imag, axis=-2)
        else:
            middle = np.median(found, axis=-2)
        # The median of squares of normal numbers, over their mean (Allen et al., Phys. Rev. D 85).
        even = 2 * (1.0 + traced_numpy.arange((found.shape[-2] - 1) // 2))
        found = middle / (1 + np.sum(1 / (even + 1) - 1 / even))
    else:
        found = np.mean(found, axis=-2)
    return _frequencies(nfft, fs, return_onesided), np.moveaxis(found, -1, axis)


@replaces(scipy.signal.welch)
def welch(
    x: Any, fs: Any = 1.0, window: Any = HANN, nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, average: str = "mean",
) -> Any:  # fmt: skip
    """Frequencies and the power spectral density by Welch's method, as ``scipy.signal.welch``.

    Examples
    --------
    >>> low = lambda x: np.sum(welch(x, nperseg=4)[1][:2])
    >>> sg.grad(low)(np.array([0.0, 1.0, 0.0, 0.0])).round(4)
    array([ 0.1667,  0.8333, -0.5   , -0.5   ])
    """
    return csd(
        x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average
    )


@replaces(scipy.signal.periodogram)
def periodogram(
    x: Any, fs: Any = 1.0, window: Any = "boxcar", nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> Any:  # fmt: skip
    """Frequencies and the power spectral density of a whole signal: ``scipy.signal.periodogram``.

    Examples
    --------
    >>> sg.grad(lambda x: periodogram(x)[1][1])(np.array([1.0, 0.0, 0.0, 0.0]))
    array([ 1.,  0., -1.,  0.])
    """
    x = np.moveaxis(floats(x), axis, -1)
    if nfft is not None and nfft < x.shape[-1]:
        x, nfft = x[..., :nfft], None
    n = x.shape[-1]
    if np.ndim(window) and not isinstance(window, tuple) and np.shape(window)[0] != n:
        raise ValueError(
            "the size of the window must be the same size of the input on the specified axis"
        )
    if isinstance(window, (str, type(None))) and window in _ONES:
        window = traced_numpy.ones(n)
    n = int(n) if isinstance(window, (str, tuple)) else None
    f, power = csd(x, x, fs, window, n, 0, nfft, detrend, return_onesided, scaling)
    return f, np.moveaxis(power, -1, axis)


@replaces(scipy.signal.coherence)
def coherence(
    x: Any, y: Any, fs: Any = 1.0, window: Any = HANN, nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant", axis: int = -1,
) -> Any:  # fmt: skip
    """Frequencies and the coherence of two signals, as ``scipy.signal.coherence``.

    Examples
    --------
    >>> x, y = np.sin(np.arange(8.0)), np.cos(np.arange(8.0) ** 2)
    >>> sg.grad(lambda x: np.sum(coherence(x, y, nperseg=4)[1]))(x).round(3)
    array([-0.233,  0.273, -0.3  ,  0.742, -0.663,  0.705, -0.488, -0.036])
    """
    options = fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis
    f, both = csd(x, y, *options)
    return f, np.abs(both) ** 2 / welch(x, *options)[1] / welch(y, *options)[1]


def _over_time(
    x: Any, fs: Any, window: Any, nperseg: Any, noverlap: Any, nfft: Any, detrend: Any,
    onesided: bool, scaling: str, axis: int, squares: bool, boundary: Any, padded: bool,
) -> Any:  # fmt: skip
    """Return frequencies, times, and transforms of segments or their squares."""
    kinds = ["even", "odd", "constant", "zeros", None]
    if boundary not in kinds:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: {kinds}")
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling!r}")
    x = np.moveaxis(floats(x), axis, -1)
    window, size, nfft, step = _lengths(window, nperseg, noverlap, nfft, x.shape[-1])
    if boundary is not None:
        x = extended(x, size // 2, boundary)
    if padded:
        x = _followed(x, (size - x.shape[-1]) % step % size)
    if x.dtype.kind == "c" and onesided:
        warn_user("Input data is complex, switching to return_onesided=False", UserWarning)
        onesided = False
    found = _transformed(x, window, step, nfft, detrend, onesided)
    scale = _scale(window, fs, scaling)
    if squares:
        found = np.real(found) ** 2 + np.imag(found) ** 2
        found = _doubled(found, nfft) if onesided else found
    found = found * (scale if squares else np.sqrt(scale)).astype(np.real(x).dtype)
    first = 0 if boundary is not None else size / 2
    times = (first + step * traced_numpy.arange(found.shape[-2])) / fs
    found = np.moveaxis(np.swapaxes(found, -1, -2), -2, axis - 1 if axis < 0 else axis)
    return _frequencies(nfft, fs, onesided), times, found


@replaces(scipy.signal.spectrogram)
def spectrogram(
    x: Any, fs: Any = 1.0, window: Any = TUKEY, nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> Any:  # fmt: skip
    """Frequencies, times, and spectra of segments, as ``scipy.signal.spectrogram``.

    Examples
    --------
    >>> low = lambda x: np.sum(spectrogram(x, nperseg=4)[2][:2])
    >>> sg.grad(low)(np.array([0.0, 1.0, 0.0, 0.0])).round(3)
    array([-0.042,  1.458, -0.208, -1.208])
    """
    modes = ["psd", "complex", "magnitude", "angle", "phase"]
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {modes}")
    x = floats(x)
    window, size, *_ = _lengths(window, nperseg, 0, None, x.shape[axis])
    f, times, found = _over_time(
        x, fs, window, None, size // 8 if noverlap is None else noverlap, nfft, detrend,
        return_onesided, scaling, axis, mode == "psd", None, False,
    )  # fmt: skip
    if mode == "magnitude":
        found = np.abs(found)
    elif mode in ("angle", "phase"):
        found = np.angle(found)
        if mode == "phase":
            found = np.unwrap(found, axis=axis - 1 if axis < 0 else axis)
    return f, times, found


@replaces(scipy.signal.stft)
def stft(
    x: Any, fs: Any = 1.0, window: Any = HANN, nperseg: Any = 256, noverlap: Any = None,
    nfft: Any = None, detrend: Any = False, return_onesided: bool = True, boundary: Any = "zeros",
    padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> Any:  # fmt: skip
    """Frequencies, times, and the short-time Fourier transform, as ``scipy.signal.stft``.

    Examples
    --------
    >>> first = lambda x: np.abs(stft(x, nperseg=4)[2][0, 1])
    >>> sg.grad(first)(np.arange(6.0))
    array([0.  , 0.25, 0.5 , 0.25, 0.  , 0.  ])
    """
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter {scaling=} not in ['spectrum', 'psd']!")
    kind = "density" if scaling == "psd" else scaling
    return _over_time(
        x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, kind, axis, False,
        boundary, padded,
    )  # fmt: skip


@replaces(scipy.signal.istft)
def istft(
    Zxx: Any, fs: Any = 1.0, window: Any = HANN, nperseg: Any = None,
    noverlap: Any = None, nfft: Any = None, input_onesided: bool = True, boundary: Any = True,
    time_axis: int = -1, freq_axis: int = -2, scaling: str = "spectrum",
) -> Any:  # fmt: skip
    """Times and the signal of a short-time Fourier transform, as ``scipy.signal.istft``.

    Examples
    --------
    >>> Z = np.outer([1.0, -0.5, 0.0], np.ones(3)) + 0.0j
    >>> sg.grad(lambda scale: istft(scale * Z, nperseg=4)[1][2])(1.0).round(9)
    np.float64(1.0)
    """
    z = traced_numpy.asarray(Zxx)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    if freq_axis % z.ndim == time_axis % z.ndim:
        raise ValueError("Must specify differing time and frequency axes!")
    if scaling not in ("spectrum", "psd"):
        raise ValueError(f"Parameter {scaling=} not in ['spectrum', 'psd']!")
    z = np.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    count, few = z.shape[-2:]
    usual = 2 * (few - 1) if input_onesided else few
    nperseg = usual if nperseg is None else operator.index(nperseg)
    if nfft is None:
        nfft = nperseg if input_onesided and nperseg == usual + 1 else usual
    window, size, nfft, step = _lengths(window, nperseg, noverlap, nfft, math.inf)
    back = transforms.irfft(z, nfft) if input_onesided else transforms.ifft(z, nfft)
    scale = np.sum(window) if scaling == "spectrum" else np.sqrt(fs * np.sum(window**2))
    parts = back[..., :size] * (window * scale)
    length = size + (count - 1) * step
    places = _places(count, size, step)
    x = _joined(parts, places, length)
    norm = _joined(traced_numpy.zeros((count, 1)) + window**2, places, length)
    if boundary:
        edge = size // 2
        x, norm = x[..., edge : length - edge], norm[edge : length - edge]
    x = x / np.where(norm > 1e-10, norm, 1.0)
    where = time_axis % z.ndim
    where -= freq_axis % z.ndim < where
    times = traced_numpy.arange(x.shape[-1] if x.ndim == 1 else x.shape[0]) / fs
    return times, np.moveaxis(x, -1, where)

"""Spectra of ``scipy.signal``, with SciPy's options."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as signal

import symgrad as sg
from symgrad.errors import SymgradError, UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

Case = tuple[Callable[[Any], Any], Any]


def random_case(seed: int) -> Case:
    """A spectrum with random options, as a function of a matrix of signals, and the matrix."""
    rng = np.random.default_rng(seed)

    def one(*options: Any) -> Any:
        return options[rng.integers(len(options))]

    n, axis = one(3, 8, 21, 40), one(0, 1)
    x = rng.normal(size=(n, 2) if axis == 0 else (2, n))
    y = rng.normal(size=x.shape)
    if one(False, False, True):
        x = x + 1j * y
    size = one(2, 3, 5, 8)
    window = one("hann", "boxcar", ("kaiser", 3.0), rng.normal(size=size) + 2)
    options: dict[str, Any] = {
        "fs": one(1.0, 3.0), "window": window, "axis": axis,
        "nperseg": size if isinstance(window, (str, tuple)) or one(True, False) else None,
        "noverlap": one(None, 0, size - 1, size // 2, size), "nfft": one(None, None, size + 3, 1),
        "detrend": one("constant", "linear", False, lambda x: x - 0.3),
        "return_onesided": one(True, True, False),
    }  # fmt: skip
    scaling, average = one("density", "spectrum", "bad"), one("mean", "median")
    mode = one("psd", "complex", "magnitude", "angle", "phase")
    ends = {"boundary": one("zeros", "even", "odd", "constant", None), "padded": one(True, False)}
    back = {k: options[k] for k in ("fs", "window", "nperseg", "noverlap", "nfft")}
    back |= {"input_onesided": options["return_onesided"], "boundary": ends["boundary"]}
    there = options | ends | {"scaling": one("psd", "spectrum")}
    kept = {k: v for k, v in options.items() if k not in ("nperseg", "noverlap", "window")}
    kept |= {"window": one("boxcar", "hann", None), "nfft": one(None, n - 1, n, n + 5)}
    cases: tuple[Callable[[Any], Any], ...] = (
        lambda x: signal.welch(x, scaling=scaling, average=average, **options),
        lambda x: signal.csd(x, y, scaling=scaling, average=average, **options),
        lambda x: signal.csd(y, x[:, :2], scaling=scaling, **options),
        lambda x: signal.periodogram(x, scaling=scaling, **kept),
        lambda x: signal.spectrogram(x, scaling=scaling, mode=mode, **options),
        lambda x: signal.stft(x, **there),
        lambda x: signal.istft(
            signal.stft(x, **there | {"axis": 1})[2], scaling=there["scaling"], **back
        ),
    )
    return cases[seed % len(cases)], x


def outcome(f: Callable[[Any], Any], x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(x)
        except (ValueError, TypeError, IndexError, SymgradError) as error:
            return error


@pytest.mark.parametrize("seed", range(98))
@pytest.mark.quick(10)
def test_options(seed: int) -> None:
    f, x = random_case(seed)
    want, found = outcome(f, x), outcome(sg.compile(f), x)
    if isinstance(want, Exception):
        assert isinstance(found, Exception), want
        return
    assert not isinstance(found, Exception), found
    for a, b in zip(want, found, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-10)
    if x.dtype.kind == "c" or np.any(np.abs(np.abs(want[-1].imag) - np.pi) < 1e-3):
        return
    weights = np.random.default_rng(seed).normal(size=want[-1].shape)

    def total(x: Any) -> Any:
        result = f(x)[-1]
        return np.sum(weights * (np.real(result) + 0.3 * np.imag(result)))

    step = 1e-6 * np.random.default_rng(seed + 1).normal(size=x.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slope = sg.grad(total)(x)
        change = total(x + step) - total(x - step)
    if abs(change) < 1:  # no angle has turned round
        np.testing.assert_allclose(2 * np.sum(slope * step), change, rtol=1e-4, atol=1e-9)


CASES: dict[str, Callable[[Any], Any]] = {
    "lombscargle": (lambda x: signal.lombscargle(x, np.sin(x), np.array([0.7, 1.9]))),
    "lombscargle, weights": (lambda x: signal.lombscargle(
        x, np.sin(3 * x), x[:2], weights=x, floating_mean=True, normalize=True)),
    "lombscargle, amplitude": (lambda x: np.abs(signal.lombscargle(
        x, np.sin(3 * x), x[:3], normalize="amplitude"))),
    "coherence": (lambda x: signal.coherence(x, np.sin(x), nperseg=4)[1]),
    "sawtooth": (lambda x: signal.sawtooth(x, 0.3)),
    "sawtooth, width": (lambda x: signal.sawtooth(x, x / 10)),
    "sawtooth, falling": (lambda x: signal.sawtooth(x, 0)),
    "square": (lambda x: signal.square(x, 0.3) * x),
    "gausspulse": (lambda x: np.stack(signal.gausspulse(x, 0.3, retquad=True, retenv=True))),
    "gausspulse, cutoff": (lambda x: signal.gausspulse("cutoff", x[0], x[1])),
    "lfilter_zi": (lambda x: signal.lfilter_zi(x[:3], x[:2])),
    "lfiltic": (lambda x: signal.lfiltic(x[:3], x[:2], x[:1], x[2:4])),
    "deconvolve": (lambda x: np.concatenate(signal.deconvolve(x, x[:3]))),
    "freqs": (lambda x: np.abs(signal.freqs(x[:2], x[:3], worN=[0.5, 2.0])[1])),
    "freqs_zpk": (lambda x: np.abs(signal.freqs_zpk(x[:2], -x[:3], x[0], [0.5, 2.0])[1])),
    "freqz_zpk": (lambda x: np.abs(signal.freqz_zpk(x[:2], -x[:3], x[0], 8)[1])),
    "medfilt2d": (lambda x: signal.medfilt2d(np.outer(x, x), [3, 1])),
}  # fmt: skip
TIMES = np.sort(np.random.default_rng(3).uniform(0.1, 9, 12))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(5)
def test_values_and_derivatives(name: str) -> None:
    f, x = CASES[name], TIMES
    np.testing.assert_allclose(sg.compile(f)(x), f(x), rtol=1e-9, atol=1e-10)
    slope, step = sg.jacobian(f)(x), 1e-6
    for k in range(len(x)):
        unit = step * np.eye(len(x))[k]
        change = (f(x + unit) - f(x - unit)) / (2 * step)
        np.testing.assert_allclose(
            slope[..., k], change, rtol=1e-5, atol=1e-5 * (1 + abs(change).max())
        )


def test_what_is_refused() -> None:
    x = np.arange(9.0)
    for f, words in (
        (lambda x: signal.find_peaks(x), r"places = find_peaks\(x\)\[0\]"),
        (lambda x: signal.freqs(x, x, 20), "worN=np.logspace"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            sg.compile(f)(x)


def test_segments_longer_than_the_signal() -> None:
    with pytest.warns(UserWarning, match="nperseg=256 is greater than signal length"):
        found = sg.compile(lambda x: signal.welch(x)[1])(np.arange(9.0))
    assert found.shape == (5,)

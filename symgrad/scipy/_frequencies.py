"""Responses of filters over frequencies, and waves."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import scipy.signal
import scipy.special as special

from .. import numpy as traced_numpy
from .._core.base.sizes import under
from ._versions import doubles, floats, refuse_option, replaces


def _response(b: Any, a: Any, w: Any) -> Any:
    """Return ``B(z)/A(z)`` at ``z = exp(iw)``."""
    back = np.exp(-1j * w)
    return np.polyval(np.flip(b), back) / np.polyval(np.flip(a), back)


def _angles(worN: Any, whole: bool, include_nyquist: bool, fs: Any) -> Any:
    try:
        count = operator.index(512 if worN is None else worN)
    except TypeError:
        return 2 * math.pi * np.atleast_1d(floats(worN)) / fs
    end = 2 * math.pi if whole else math.pi
    return np.linspace(0, end, count, endpoint=include_nyquist and not whole)


@replaces(scipy.signal.freqz)
def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None,
    fs: Any = 2 * math.pi, include_nyquist: bool = False,
) -> Any:  # fmt: skip
    """Frequencies and the response of a digital filter, as ``scipy.signal.freqz``.

    Examples
    --------
    >>> gain = lambda a: np.abs(freqz([1.0], [1.0, -a], worN=[0.0])[1][0])
    >>> sg.grad(gain)(0.5).round(12)
    np.float64(4.0)
    """
    if plot is not None:
        refuse_option("freqz", "plot", plot, "plot=None")
    b, a = np.atleast_1d(floats(b)), np.atleast_1d(floats(a))
    if b.ndim > 1 or a.ndim > 1:
        refuse_option("freqz", "b", "several filters", "a call for each filter")
    w = _angles(worN, whole, include_nyquist, fs)
    return w * (fs / (2 * math.pi)), _response(b, a, w)


@replaces(scipy.signal.freqz_sos)
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * math.pi) -> Any:
    """Frequencies and the response of sections of order two, as ``scipy.signal.freqz_sos``.

    Examples
    --------
    >>> gain = lambda sos: np.abs(freqz_sos(sos, [0.0])[1][0])
    >>> sg.grad(gain)(np.array([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]]))
    array([[ 2.,  2.,  2., -4., -4., -4.]])
    """
    sections, w = floats(sos), _angles(worN, whole, False, fs)
    h: Any = 1.0
    for k in range(int(sections.shape[0])):
        h = h * _response(sections[k, :3], sections[k, 3:], w)
    return w * (fs / (2 * math.pi)), h


def _of_roots(x: Any, roots: Any) -> Any:
    return np.prod(x[:, np.newaxis] - np.atleast_1d(traced_numpy.asarray(roots)), axis=-1)


@replaces(scipy.signal.freqz_zpk)
def freqz_zpk(
    z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: Any = 2 * math.pi
) -> Any:
    """Frequencies and the response of a digital filter by zeros, poles and gain.

    Examples
    --------
    >>> gain = lambda p: np.abs(freqz_zpk([], np.array([p]), 1.0, [0.0])[1][0])
    >>> sg.value_and_grad(gain)(0.5)
    (np.float64(2.0), np.float64(4.0))
    """
    w = _angles(worN, whole, False, fs)
    turned = np.exp(1j * w)
    return w * (fs / (2 * math.pi)), k * _of_roots(turned, z) / _of_roots(turned, p)


def _analogue(name: str, worN: Any) -> Any:
    if np.ndim(worN) == 0:
        refuse_option(name, "worN", worN, "worN=np.logspace(...), the frequencies themselves")
    return np.atleast_1d(floats(worN))


@replaces(scipy.signal.freqs)
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> Any:
    """Frequencies and the response of an analogue filter, as ``scipy.signal.freqs``.

    Examples
    --------
    >>> gain = lambda a: np.abs(freqs([1.0], [1.0, a], worN=[1.0])[1][0])
    >>> sg.grad(gain)(1.0).round(6)
    np.float64(-0.353553)
    """
    if plot is not None:
        refuse_option("freqs", "plot", plot, "plot=None")
    w = _analogue("freqs", worN)
    return w, np.polyval(floats(b), 1j * w) / np.polyval(floats(a), 1j * w)


@replaces(scipy.signal.freqs_zpk)
def freqs_zpk(z: Any, p: Any, k: Any, worN: Any = 200) -> Any:
    """Frequencies and the response of an analogue filter by zeros, poles and gain.

    Examples
    --------
    >>> gain = lambda p: np.abs(freqs_zpk([], np.array([p]), 1.0, [1.0])[1][0])
    >>> sg.grad(gain)(-1.0).round(6)
    np.float64(0.353553)
    """
    w = _analogue("freqs_zpk", worN)
    return w, k * _of_roots(1j * w, z) / _of_roots(1j * w, p)


@replaces(scipy.signal.sawtooth)
def sawtooth(t: Any, width: Any = 1) -> Any:
    """Wave that rises and falls in straight lines, as ``scipy.signal.sawtooth``.

    Examples
    --------
    >>> sg.grad(lambda t: sawtooth(t, 0.5))(1.0).round(6)
    np.float64(0.63662)
    """
    t, width = doubles(t), doubles(width)
    part = t % (2 * math.pi)
    up = part < width * (2 * math.pi)
    rise = part / np.where(up, math.pi * width, 1.0) - 1
    fall = (math.pi * (width + 1) - part) / np.where(up, 1.0, math.pi * (1 - width))
    return np.where((width > 1) | (width < 0), np.nan, np.where(up, rise, fall))


@replaces(scipy.signal.square)
def square(t: Any, duty: Any = 0.5) -> Any:
    """Wave of 1 and -1, as ``scipy.signal.square``; its derivative is zero.

    Examples
    --------
    >>> sg.value_and_grad(square)(1.0)
    (np.float64(1.0), np.float64(0.0))
    """
    t, duty = floats(t), floats(duty)
    up = t % (2 * math.pi) < duty * (2 * math.pi)
    return np.where((duty > 1) | (duty < 0), np.nan, np.where(up, 1.0, -1.0))


@replaces(scipy.signal.gausspulse)
def gausspulse(
    t: Any, fc: Any = 1000, bw: Any = 0.5, bwr: Any = -6, tpr: Any = -60, retquad: bool = False,
    retenv: bool = False,
) -> Any:  # fmt: skip
    """Sine wave within a normal curve, as ``scipy.signal.gausspulse``.

    Examples
    --------
    >>> sg.value_and_grad(lambda t: gausspulse(t, fc=1.0))(0.1)
    (np.float64(0.8018247767399072), np.float64(-3.8035342341687643))
    """
    rate = -((math.pi * fc * bw) ** 2) / (4.0 * np.log(10.0 ** (bwr / 20.0)))
    if isinstance(t, str):
        if t != "cutoff":
            raise ValueError("If `t` is a string, it must be 'cutoff'")
        return np.sqrt(-np.log(10.0 ** (tpr / 20.0)) / rate)
    t = floats(t)
    hull, angle = np.exp(-rate * t * t), 2 * math.pi * fc * t
    found = (hull * np.cos(angle), *([hull * np.sin(angle)] if retquad else []))
    found = (*found, *([hull] if retenv else []))
    return found if len(found) > 1 else found[0]


def _turned(u: Any) -> Any:
    """Return ``-log|1 - u|/u``, by its series near 0."""
    near = np.abs(u) < 1e-3
    far = np.where(near, 0.5, u)
    series = 1 + u * (1 / 2 + u * (1 / 3 + u * (1 / 4 + u * (1 / 5 + u * (1 / 6)))))
    return np.where(near, series, -np.log(np.abs(1 - far)) / far)


@replaces(scipy.signal.chirp)
def chirp(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", phi: Any = 0,
    vertex_zero: bool = True, *, complex: bool = False,
) -> Any:  # fmt: skip
    """Cosine whose frequency moves from f0 to f1, as ``scipy.signal.chirp``.

    Examples
    --------
    >>> sg.grad(lambda f: chirp(0.5, f, 1.0, 2.0))(1.0).round(6)
    np.float64(1.66608)
    """
    t, f0, t1, f1 = (floats(x) for x in (t, f0, t1, f1))
    if method in ("linear", "lin", "li"):
        turns = f0 * t + 0.5 * (f1 - f0) / t1 * t * t
    elif method in ("quadratic", "quad", "q"):
        beta = (f1 - f0) / t1**2
        turns = f0 * t + beta * t**3 / 3 if vertex_zero else (
            f1 * t + beta * ((t1 - t) ** 3 - t1**3) / 3)  # fmt: skip
    elif method in ("logarithmic", "log", "lo"):
        turns = f0 * t * special.exprel(np.log(f1 / f0) * t / t1)
    elif method in ("hyperbolic", "hyp"):
        turns = f0 * t * _turned((f1 - f0) / (f1 * t1) * t)
    else:
        raise ValueError(
            f"method must be 'linear', 'quadratic', 'logarithmic', or 'hyperbolic', not {method!r}"
        )
    angle = 2 * math.pi * turns + phi * (math.pi / 180)
    return np.exp(1j * angle) if complex else np.cos(angle)


@replaces(scipy.signal.lombscargle)
def lombscargle(
    x: Any, y: Any, freqs: Any, *, precenter: bool = False, normalize: Any = False,
    weights: Any = None, floating_mean: bool = False,
) -> Any:  # fmt: skip
    """Periodogram of samples at any times, as ``scipy.signal.lombscargle``.

    Sine and cosine are shifted in time so that they are orthogonal (Zechmeister and Kürster,
    Astronomy and Astrophysics 496 (2009), 577), by the shift ``tau/frequency``.

    Examples
    --------
    >>> t, y = np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, 0.0, -1.0, 0.5])
    >>> sg.grad(lambda w: lombscargle(t, y, np.array([1.2]) * w)[0])(1.0).round(6)
    np.float64(0.083024)
    """
    if isinstance(normalize, bool):
        normalize = "normalize" if normalize else "power"
    if normalize not in ("power", "normalize", "amplitude"):
        raise ValueError(
            "Normalize must be: False (or 'power'), True (or 'normalize'), or 'amplitude'."
        )
    x, y, freqs = floats(x), floats(y), floats(freqs)
    w = np.ones_like(y) if weights is None else floats(weights)
    if not (x.ndim == 1 and x.shape == y.shape == w.shape) or under(x.shape[0], 1):
        raise ValueError("Parameters x, y, weights must be 1-D arrays of equal non-zero length!")
    if freqs.ndim != 1:
        raise ValueError("Parameter freqs must be a 1-D array of non-zero length!")
    w = w / np.sum(w)
    y = y - np.mean(y) if precenter else y
    mean = np.sum(w * y) if floating_mean else 0.0

    def about(tau: Any) -> Any:
        """Return the sums over cosines and sines that are shifted by an angle."""
        angle = freqs[:, np.newaxis] * x - tau
        cos, sin = np.cos(angle), np.sin(angle)
        c, s = (cos @ w, sin @ w) if floating_mean else (0.0, 0.0)
        cc = (cos * cos) @ w
        return cc - c * c, 1.0 - cc - s * s, (cos * sin) @ w - c * s, (
            cos @ (w * y) - mean * c, sin @ (w * y) - mean * s)  # fmt: skip

    cc, ss, cs, _ = about(0.0)
    tau = 0.5 * np.arctan2(2.0 * cs, cc - ss)
    cc, ss, _, (yc, ys) = about(tau[:, np.newaxis])
    least = np.finfo(np.float64).epsneg
    a, b = yc / np.maximum(cc, least), ys / np.maximum(ss, least)
    if normalize == "amplitude":
        return (a + 1j * b) * np.exp(1j * tau)
    power = 2.0 * (a * yc + b * ys)
    if normalize == "power":
        return power * (x.shape[0] / 4.0)
    return power * (0.5 / (np.sum(w * y * y) - mean**2))

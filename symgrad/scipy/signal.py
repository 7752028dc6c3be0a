"""``scipy.signal``, for functions that symgrad traces: convolutions and linear filters.

Signals and filters may be traced. Other names are SciPy's own.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.signal import lfilter
>>> step = np.ones(5)
>>> def last(alpha):
...     return lfilter([alpha], [1.0, alpha - 1.0], step)[-1]
>>> sg.grad(last)(0.5)
np.float64(0.3125)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from .. import numpy as traced_numpy
from .._core.ops.np_common import is_traced
from .._core.trace import as_node, known_value
from .._core.trace.namespace import holds, offering
from .._syntax._control import scan
from ._convolutions import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from ._coverage import reasons
from ._discretisation import cont2discrete
from ._frequencies import (
    chirp,
    freqs,
    freqs_zpk,
    freqz,
    freqz_sos,
    freqz_zpk,
    gausspulse,
    lombscargle,
    sawtooth,
    square,
)
from ._images import median_filter
from ._resampling import resample, resample_poly, upfirdn
from ._spectra import (
    coherence,
    csd,
    detrend,
    extended,
    istft,
    periodogram,
    spectrogram,
    stft,
    welch,
)
from ._versions import floats, refuse_option, replaces, require_lengths
from .ndimage import convolve1d

__all__ = [
    "chirp",
    "coherence",
    "cont2discrete",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "decimate",
    "deconvolve",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "freqs",
    "freqs_zpk",
    "freqz",
    "freqz_sos",
    "freqz_zpk",
    "gausspulse",
    "hilbert",
    "istft",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "lombscargle",
    "medfilt",
    "medfilt2d",
    "oaconvolve",
    "periodogram",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sawtooth",
    "sosfilt",
    "sosfiltfilt",
    "sosfreqz",
    "spectrogram",
    "square",
    "stft",
    "upfirdn",
    "welch",
]


def _alike(b: Any, a: Any) -> tuple[Any, Any]:
    """Return coefficients as vectors of one length, divided by the first of ``a``."""
    b, a = np.atleast_1d(floats(b)), np.atleast_1d(floats(a))
    size, lead = max(int(b.shape[0]), int(a.shape[0])), a[0]
    if known_value(as_node(lead)) == 0:
        raise ValueError("the first of a filter's coefficients `a` is zero")
    return np.pad(b, (0, size - int(b.shape[0]))) / lead, np.pad(
        a, (0, size - int(a.shape[0]))
    ) / lead


@replaces(scipy.signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter with rational transfer function b/a, as ``scipy.signal.lfilter``.

    The transposed direct form II (Oppenheim and Schafer), one pass over the axis.

    Examples
    --------
    >>> sg.grad(lambda a: lfilter([1.0], [1.0, a], np.ones(3))[2])(-0.5)
    np.float64(-2.0)
    """
    (b, a), x = _alike(b, a), floats(x)
    order = int(b.shape[0]) - 1
    rows = np.moveaxis(x, axis, 0)
    state = np.zeros((order, *rows.shape[1:])) if zi is None else np.moveaxis(floats(zi), axis, 0)
    require_lengths("lfilter", "coefficients and zi", state.shape[0], order)
    if order == 0:
        return b[0] * x if zi is None else (b[0] * x, zi)

    def step(z: Any, now: Any) -> tuple[Any, Any]:
        out = b[0] * now + z[0]
        later = traced_numpy.concatenate([z[1:], np.zeros_like(z[:1])])
        rest = (-1, *(1,) * (z.ndim - 1))
        return later + b[1:].reshape(rest) * now - a[1:].reshape(rest) * out, out

    last, result = scan(step, state, rows)
    result = np.moveaxis(result, 0, axis)
    return result if zi is None else (result, np.moveaxis(last, 0, axis))


@replaces(scipy.signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter by sections of order two, one after another, as ``scipy.signal.sosfilt``.

    Examples
    --------
    >>> sos = np.array([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]])
    >>> sg.jacobian(lambda x: sosfilt(sos, x))(np.ones(3))
    array([[1.  , 0.  , 0.  ],
           [0.5 , 1.  , 0.  ],
           [0.25, 0.5 , 1.  ]])
    """
    sections, x = floats(sos), floats(x)
    last = []
    for k in range(int(sections.shape[0])):
        b, a = sections[k, :3], sections[k, 3:]
        if zi is None:
            x = lfilter(b, a, x, axis)
        else:
            x, state = lfilter(b, a, x, axis, floats(zi)[k])
            last.append(state)
    return x if zi is None else (x, traced_numpy.stack(last))


def _at_rest(b: Any, a: Any) -> Any:
    """Return the state of a filter whose signal has been 1 forever: SciPy's ``lfilter_zi``."""
    order = int(b.shape[0]) - 1
    jump = b[1:] - a[1:] * b[0]
    first = np.sum(jump) / np.sum(a)
    rest = np.cumsum(traced_numpy.concatenate([np.ones(1), a[1:order]])) * first
    return rest - traced_numpy.concatenate([np.zeros(1), np.cumsum(jump[: order - 1])])


@replaces(scipy.signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """State of a filter whose signal has been 1 forever, as ``scipy.signal.lfilter_zi``.

    Examples
    --------
    >>> sg.grad(lambda a: lfilter_zi([1.0], [1.0, a])[0])(-0.5)
    np.float64(-4.0)
    """
    return _at_rest(*_alike(b, a))


@replaces(scipy.signal.lfiltic)
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """State of a filter after outputs ``y`` and inputs ``x``, as ``scipy.signal.lfiltic``.

    Examples
    --------
    >>> sg.jacobian(lambda a: lfiltic([1.0], np.array([1.0, a]), [2.0]))(0.5)
    array([-2.])
    """
    b, a = _alike(b, a)
    order = int(b.shape[0]) - 1

    def before(values: Any) -> Any:
        """Return the last values, the most recent first, zeros before."""
        values = floats(values)[:order]
        return np.pad(values, (0, order - int(values.shape[0])))

    back = before(y), before(np.zeros(0) if x is None else x)
    return traced_numpy.stack([
        np.sum(b[m + 1 :] * back[1][: order - m]) - np.sum(a[m + 1 :] * back[0][: order - m])
        for m in range(order)
    ])  # fmt: skip


@replaces(scipy.signal.deconvolve)
def deconvolve(signal: Any, divisor: Any) -> Any:
    """Quotient and rest of a signal by a filter's response, as ``scipy.signal.deconvolve``.

    Examples
    --------
    >>> sg.jacobian(lambda x: deconvolve(x, np.array([1.0, 2.0]))[0])(np.array([1.0, 3.0, 2.0]))
    array([[ 1.,  0.,  0.],
           [-2.,  1.,  0.]])
    """
    whole, by = np.atleast_1d(floats(signal)), np.atleast_1d(floats(divisor))
    count = int(whole.shape[0]) - int(by.shape[0]) + 1
    if count < 1:
        return [], whole
    quotient = lfilter(whole, by, np.eye(1, count)[0])
    return quotient, whole - convolve(by, quotient)


@replaces(scipy.signal.filtfilt)
def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None,
    method: str = "pad", irlen: Any = None,
) -> Any:  # fmt: skip
    """Filter forward and backward, as ``scipy.signal.filtfilt``.

    Examples
    --------
    >>> sg.grad(lambda x: filtfilt([0.5, 0.5], [1.0], x)[4])(np.ones(10)).round(6)
    array([0.  , 0.  , 0.  , 0.25, 0.5 , 0.25, 0.  , 0.  , 0.  , 0.  ])
    """
    if method != "pad":
        refuse_option("filtfilt", "method", method, "method='pad'")
    b, a = _alike(b, a)
    size = int(b.shape[0])

    def filtered(rows: Any) -> Any:
        if size == 1:
            return b[0] * rows
        return lfilter(b, a, rows, -1, _at_rest(b, a) * rows[..., :1])[0]

    return _both_ways(filtered, floats(x), axis, size, padtype, padlen)


def _both_ways(
    filtered: Callable[[Any], Any], x: Any, axis: int, taps: int, padtype: Any, padlen: Any
) -> Any:
    """Return a signal filtered forward and backward, its ends extended as SciPy does it."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', "
            "'constant', or None."
        )
    x = np.moveaxis(x, axis, -1)
    edge = 0 if padtype is None else 3 * taps if padlen is None else padlen
    if x.shape[-1] <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    x = extended(x, edge, padtype)
    for _ in range(2):
        x = np.flip(filtered(x), -1)
    return np.moveaxis(x[..., edge : x.shape[-1] - edge], -1, axis)


@replaces(scipy.signal.hilbert)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal, as ``scipy.signal.hilbert``.

    Examples
    --------
    >>> sg.grad(lambda x: np.imag(hilbert(x))[1])(np.ones(4)).round(12)
    array([ 0.5,  0. , -0.5,  0. ])
    """
    rows = np.moveaxis(floats(x), axis, -1)
    n = rows.shape[-1] if N is None else N
    steps = traced_numpy.arange(n)
    weights = np.where((steps == 0) | (2 * steps == n), 1.0, np.where(2 * steps < n, 2.0, 0.0))
    return np.moveaxis(np.fft.ifft(np.fft.fft(rows, n) * weights.astype(rows.dtype)), -1, axis)


@replaces(scipy.signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Filter forward and backward by sections of numbers, as ``scipy.signal.sosfiltfilt``.

    Examples
    --------
    >>> sos = np.array([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]])
    >>> sg.grad(lambda x: sosfiltfilt(sos, x, padtype=None)[1])(np.ones(4)).round(4)
    array([0.25, 0.5 , 0.25, 0.  ])
    """
    if holds(sos, is_traced):
        sos = known_value(as_node(traced_numpy.asarray(sos)))  # of signal.butter, in the function
    if sos is None:
        refuse_option("sosfiltfilt", "sos", "...", "filtfilt(b, a, x), whose b and a may be traced")
    sections = np.atleast_2d(np.asarray(sos, float))
    rest = scipy.signal.sosfilt_zi(sections)
    taps = 2 * len(sections) + 1 - min(np.sum(sections[:, 2] == 0), np.sum(sections[:, 5] == 0))

    def filtered(rows: Any) -> Any:
        state = rest.reshape(len(rest), *(1,) * (rows.ndim - 1), 2) * rows[..., :1]
        return sosfilt(sections, rows, -1, state)[0]

    return _both_ways(filtered, floats(x), axis, int(taps), padtype, padlen)


@replaces(scipy.signal.decimate)
def decimate(
    x: Any, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1,
    zero_phase: bool = True,
) -> Any:  # fmt: skip
    """Every q-th sample behind a filter, as ``scipy.signal.decimate``.

    Examples
    --------
    >>> sg.grad(lambda x: decimate(x, 2, n=1, ftype="fir")[1])(np.ones(5)).round(4)
    array([0. , 0.5, 0.5, 0. , 0. ])
    """
    if not isinstance(ftype, str):
        refuse_option("decimate", "ftype", "...", "filtfilt(b, a, x)[..., ::q]")
    x, q = np.moveaxis(floats(x), axis, -1), operator.index(q)
    if ftype == "fir":
        taps = scipy.signal.firwin((20 * q if n is None else n) + 1, 1.0 / q, window="hamming")
        taps = taps.astype(x.dtype)
        if zero_phase:
            return np.moveaxis(resample_poly(x, 1, q, -1, taps), -1, axis)
        found = upfirdn(taps, x, 1, q)[..., : -(-x.shape[-1] // q)]
    elif ftype == "iir":
        sos = scipy.signal.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
        found = (sosfiltfilt if zero_phase else sosfilt)(sos, x)[..., ::q]
    else:
        raise ValueError("invalid ftype")
    return np.moveaxis(found.astype(x.dtype), -1, axis)


@replaces(scipy.signal.medfilt)
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Median of the neighbours, with zeros around, as ``scipy.signal.medfilt``.

    Examples
    --------
    >>> sg.jacobian(lambda x: medfilt(x, 3))(np.array([1.0, 5.0, 2.0]))
    array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 0., 1.]])
    """
    return median_filter(floats(volume), 3 if kernel_size is None else kernel_size, mode="constant")


@replaces(scipy.signal.medfilt2d)
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Median of the neighbours in an image, as ``scipy.signal.medfilt2d``.

    Examples
    --------
    >>> sg.grad(lambda x: medfilt2d(x)[1, 1])(np.arange(9.0).reshape(3, 3))
    array([[0., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    return medfilt(input, kernel_size)


@replaces(scipy.signal.savgol_filter)
def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0,
    axis: int = -1, mode: str = "interp", cval: float = 0.0,
) -> Any:  # fmt: skip
    """Local polynomials, as ``scipy.signal.savgol_filter``.

    Examples
    --------
    >>> sg.grad(lambda x: savgol_filter(x, 5, 2)[2])(np.ones(5)).round(4)
    array([-0.0857,  0.3429,  0.4857,  0.3429, -0.0857])
    """
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    x, n = np.moveaxis(floats(x), axis, -1), window_length
    weights = scipy.signal.savgol_coeffs(n, polyorder, deriv=deriv, delta=delta)
    if mode != "interp":
        found = convolve1d(x, weights, -1, mode=mode, cval=cval)
    else:
        if n > x.shape[-1]:
            raise ValueError(
                "If mode is 'interp', window_length must be less than or equal to the size of x."
            )
        # At the ends are the values of one polynomial through as many samples.
        ends = scipy.signal.savgol_filter(np.eye(n), n, polyorder, deriv, delta)
        half = n // 2
        inner = convolve1d(x, weights, -1, mode="constant")[..., half : x.shape[-1] - half]
        first, last = x[..., :n] @ ends[:, :half], x[..., -n:] @ ends[:, n - half :]
        found = traced_numpy.concatenate([first, inner, last], axis=-1)
    return np.moveaxis(found.astype(x.dtype), -1, axis)


#: The older name.
sosfreqz = freqz_sos

__getattr__, __dir__ = offering(scipy.signal, globals(), reasons("signal"))

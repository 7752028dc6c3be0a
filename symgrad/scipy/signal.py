"""``scipy.signal``, for functions that symgrad traces: convolutions and linear filters.

Signals and filters may be traced. What is not listed here is SciPy's own.

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

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal

from .. import numpy as traced_numpy
from .._api._control import scan
from .._ops.np_common import is_traced
from .._trace._namespace import holds, offering
from ._convolutions import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from ._fates import reasons
from ._frequencies import chirp, freqz, freqz_sos
from ._images import median_filter
from ._replacing import floats, refuse_option, replaces

__all__ = [
    "chirp",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "decimate",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "freqz",
    "freqz_sos",
    "hilbert",
    "lfilter",
    "medfilt",
    "oaconvolve",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sosfilt",
    "sosfiltfilt",
    "sosfreqz",
]


@replaces(scipy.signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter with rational transfer function b/a, as ``scipy.signal.lfilter``.

    The transposed direct form II (Oppenheim and Schafer), one pass over the axis.

    Examples
    --------
    >>> sg.grad(lambda a: lfilter([1.0], [1.0, a], np.ones(3))[2])(-0.5)
    np.float64(-2.0)
    """
    b, a, x = np.atleast_1d(floats(b)), np.atleast_1d(floats(a)), floats(x)
    order = max(int(b.shape[0]), int(a.shape[0])) - 1
    lead = a[0]
    b, a = (np.pad(v, (0, order + 1 - int(v.shape[0]))) / lead for v in (b, a))
    rows = np.moveaxis(x, axis, 0)
    state = np.zeros((order, *rows.shape[1:])) if zi is None else np.moveaxis(floats(zi), axis, 0)
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
    b, a = np.atleast_1d(floats(b)), np.atleast_1d(floats(a))
    size = max(int(b.shape[0]), int(a.shape[0]))
    lead = a[0]
    b, a = (np.pad(v, (0, size - int(v.shape[0]))) / lead for v in (b, a))
    x = np.moveaxis(floats(x), axis, -1)
    edge = 0 if padtype is None else 3 * size if padlen is None else padlen
    if int(x.shape[-1]) <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    if edge:
        left, right = np.flip(x[..., 1 : edge + 1], -1), np.flip(x[..., -edge - 1 : -1], -1)
        if padtype == "odd":
            left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
        elif padtype == "constant":
            left, right = left * 0 + x[..., :1], right * 0 + x[..., -1:]
        x = traced_numpy.concatenate([left, x, right], axis=-1)
    for _ in range(2):
        if size > 1:
            x, _ = lfilter(b, a, x, -1, _at_rest(b, a) * x[..., :1])
        else:
            x = b[0] * x
        x = np.flip(x, -1)
    x = x[..., edge : int(x.shape[-1]) - edge]
    return np.moveaxis(x, -1, axis)


@replaces(scipy.signal.hilbert)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:
    """The analytic signal, as ``scipy.signal.hilbert``.

    Examples
    --------
    >>> sg.grad(lambda x: np.imag(hilbert(x))[1])(np.ones(4)).round(12)
    array([ 0.5,  0. , -0.5,  0. ])
    """
    rows = np.moveaxis(floats(x), axis, -1)
    n = int(rows.shape[-1]) if N is None else N
    steps = np.arange(n)
    weights = np.where((steps == 0) | (2 * steps == n), 1.0, np.where(2 * steps < n, 2.0, 0.0))
    return np.moveaxis(np.fft.ifft(np.fft.fft(rows, n) * weights.astype(rows.dtype)), -1, axis)


def _linear(filter_: Callable[[Any], Any], x: Any, axis: int) -> Any:
    """Apply a filter that is linear and whose options are numbers, as the matrix that it is."""
    rows = np.moveaxis(floats(x), axis, -1)
    matrix = filter_(np.eye(int(rows.shape[-1])))
    return np.moveaxis((rows @ matrix).astype(rows.dtype), -1, axis)


@replaces(scipy.signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Filter forward and backward by sections of numbers, as ``scipy.signal.sosfiltfilt``."""
    if holds(sos, is_traced):
        refuse_option("sosfiltfilt", "sos", "...", "filtfilt(b, a, x), whose b and a may be traced")
    return _linear(lambda v: scipy.signal.sosfiltfilt(sos, v, -1, padtype, padlen), x, axis)


@replaces(scipy.signal.resample)
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Signal with another number of samples, by Fourier's method, as ``scipy.signal.resample``."""
    if t is not None or domain != "time":
        refuse_option("resample", "t" if t is not None else "domain", "...", "resample(x, num)")
    return _linear(lambda v: scipy.signal.resample(v, num, axis=-1, window=window), x, axis)


@replaces(scipy.signal.resample_poly)
def resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0),
    padtype: str = "constant", cval: Any = None,
) -> Any:  # fmt: skip
    """Signal at another rate, by a filter between zeros, as ``scipy.signal.resample_poly``."""
    if cval or padtype in ("maximum", "minimum", "median"):
        refuse_option("resample_poly", "padtype", padtype, "padtype='constant' or 'line', cval=0")
    return _linear(lambda v: scipy.signal.resample_poly(v, up, down, -1, window, padtype), x, axis)


@replaces(scipy.signal.decimate)
def decimate(
    x: Any, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1,
    zero_phase: bool = True,
) -> Any:  # fmt: skip
    """Every q-th sample behind a filter, as ``scipy.signal.decimate``."""
    return _linear(lambda v: scipy.signal.decimate(v, q, n, ftype, -1, zero_phase), x, axis)


@replaces(scipy.signal.medfilt)
def medfilt(volume: Any, kernel_size: Any = None) -> Any:
    """Median of the neighbours, with zeros around, as ``scipy.signal.medfilt``."""
    return median_filter(floats(volume), 3 if kernel_size is None else kernel_size, mode="constant")


@replaces(scipy.signal.savgol_filter)
def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0,
    axis: int = -1, mode: str = "interp", cval: float = 0.0,
) -> Any:  # fmt: skip
    """Local polynomials, as ``scipy.signal.savgol_filter``; ``cval`` is 0.

    Examples
    --------
    >>> sg.grad(lambda x: savgol_filter(x, 5, 2)[2])(np.ones(5)).round(4)
    array([-0.0857,  0.3429,  0.4857,  0.3429, -0.0857])
    """
    if cval != 0.0:
        refuse_option("savgol_filter", "cval", cval, "cval=0.0")
    return _linear(
        lambda v: scipy.signal.savgol_filter(v, window_length, polyorder, deriv, delta, -1, mode),
        x,
        axis,
    )


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
    return _linear(lambda v: scipy.signal.detrend(v, -1, type, bp), data, axis)


#: The older name.
sosfreqz = freqz_sos

__getattr__, __dir__ = offering(scipy.signal, globals(), reasons("signal"))

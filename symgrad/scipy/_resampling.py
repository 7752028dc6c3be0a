"""Signals at other rates: by Fourier's method, and by filters between zeros."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal

from .. import numpy as traced_numpy
from ._versions import floats, refuse_option, replaces


@replaces(scipy.signal.resample)
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Signal with another number of samples, by Fourier's method, as ``scipy.signal.resample``.

    Examples
    --------
    >>> sg.grad(lambda x: resample(x, 4)[1])(np.ones(2))
    array([0.5, 0.5])
    """
    if t is not None or domain != "time":
        refuse_option("resample", "t" if t is not None else "domain", "...", "resample(x, num)")
    x = np.moveaxis(floats(x), axis, -1)
    if x.dtype.kind == "c":
        if window is not None:
            refuse_option("resample", "window", "...", "resample(np.real(x), ...) and np.imag")
        parts = (resample(part, num, axis=-1) for part in (np.real(x), np.imag(x)))
        return np.moveaxis(next(parts) + 1j * next(parts), -1, axis)
    n, least = x.shape[-1], min(x.shape[-1], num)
    known = np.fft.rfft(x)
    if window is not None:  # what SciPy makes of one sample are the window's factors
        one = np.eye(1, int(n))[0]
        known = known * np.fft.rfft(scipy.signal.resample(one, len(one), window=window)).real
    known = known[..., : least // 2 + 1]
    if least % 2 == 0 and num != n:  # half the highest frequency belongs to the one below zero
        middle = known[..., -1:] * (2.0 if num < n else 0.5)
        known = traced_numpy.concatenate([known[..., :-1], middle], axis=-1)
    found = np.fft.irfft(known, num) * (num / n)
    return np.moveaxis(found.astype(x.dtype), -1, axis)


#: How signals go on beyond their ends: SciPy's names that are NumPy's too, and lines.
MODES = ("constant", "edge", "line", "reflect", "symmetric", "wrap")


@replaces(scipy.signal.upfirdn)
def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant",
    cval: Any = 0,
) -> Any:  # fmt: skip
    """Filter between zeros, and of that every so many-th, as ``scipy.signal.upfirdn``.

    A row of results that ``up`` consecutive filters give, one for each offset between the samples,
    is the product of a part of the signal with a matrix (polyphase filters; Vaidyanathan,
    Multirate Systems and Filter Banks, section 4.3).

    Parameters
    ----------
    h:
        The filter's coefficients; they may be traced.
    x:
        The signal.
    up, down:
        Between samples are ``up - 1`` zeros; each ``down``-th result is kept.
    axis:
        The axis of time.
    mode, cval:
        The values before and after the signal: ``"constant"``, which is ``cval``, ``"edge"``,
        ``"line"``, ``"reflect"``, ``"symmetric"`` or ``"wrap"``.

    Examples
    --------
    >>> sg.jacobian(lambda x: upfirdn([1.0, 2.0, 3.0], x, up=2))(np.ones(2))
    array([[1., 0.],
           [2., 0.],
           [3., 1.],
           [0., 2.],
           [0., 3.]])
    """
    if mode not in MODES:
        refuse_option("upfirdn", "mode", mode, f"one of {', '.join(map(repr, MODES))}")
    h, x = floats(h), np.moveaxis(floats(x), axis, -1)
    x = x.astype(np.result_type(x.dtype, h.dtype))
    if h.ndim != 1 or not int(h.shape[0]):
        raise ValueError("h must be 1-D with non-zero length")
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    n, m = x.shape[-1], int(h.shape[0])
    count = -(-((n - 1) * up + m) // down)
    common = math.gcd(up, down)
    rows, apart = up // common, down // common  # results, and samples, from part to part
    taps, parts = -(-m // up), -(-count // rows)
    starts = np.arange(rows) * down
    width = taps + int(starts[-1] // up)
    # Of a part's sample j, counted from the first that matters, result k takes h at this place:
    place = starts + (taps - 1 - np.arange(width))[:, np.newaxis] * up
    within = (place >= 0) & (place < m)
    matrix = np.where(within, h[np.where(within, place, 0)], 0.0)
    length = (parts - 1) * apart + width
    wide = _extended(x, taps - 1, max(0, length - n - taps + 1), mode, cval)[..., :length]
    windows = np.lib.stride_tricks.sliding_window_view(wide, width, axis=-1)[..., ::apart, :]
    found = (windows @ matrix).reshape(*x.shape[:-1], parts * rows)[..., :count]
    return np.moveaxis(found, -1, axis)


def _extended(x: Any, before: int, after: int, mode: str, cval: Any) -> Any:
    if mode == "line":
        first, last, n = x[..., :1], x[..., -1:], x.shape[-1]
        slope = (last - first) / max(n - 1, 1)
        left = first + slope * np.arange(-before, 0).astype(x.dtype)
        right = last + slope * np.arange(1, after + 1).astype(x.dtype)
        return traced_numpy.concatenate([left, x, right], axis=-1)
    room = [(0, 0)] * (x.ndim - 1) + [(before, after)]
    more = {"constant_values": cval} if mode == "constant" else {}
    return np.pad(x, room, mode=mode, **more)


@replaces(scipy.signal.resample_poly)
def resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0),
    padtype: str = "constant", cval: Any = None,
) -> Any:  # fmt: skip
    """Signal at another rate, by a filter between zeros, as ``scipy.signal.resample_poly``.

    Examples
    --------
    >>> sg.grad(lambda x: resample_poly(x, 2, 1)[1])(np.array([1.0, 2.0, 3.0])).round(3)
    array([ 0.633,  0.633, -0.202])
    """
    if padtype not in ("mean", *MODES):
        refuse_option("resample_poly", "padtype", padtype, "'mean', 'line' or 'constant'")
    if cval is not None and padtype != "constant":
        raise ValueError("cval has no effect when padtype is ", padtype)
    x = np.moveaxis(floats(x), axis, -1)
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == down == 1:
        return np.moveaxis(1.0 * x, -1, axis)
    n = x.shape[-1]
    count = -(-n * up // down)
    if isinstance(window, (list, np.ndarray)):
        h = np.array(window)
        if h.ndim > 1:
            raise ValueError("window must be 1-D")
        half = (h.size - 1) // 2
    else:
        most = max(up, down)
        half = 10 * most
        h = scipy.signal.firwin(2 * half + 1, 1.0 / most, window=window).astype(x.dtype)
    before = down - half % down
    left = (half + before) // down
    ground: Any = 0.0
    if padtype == "mean":
        ground, padtype = np.mean(x, axis=-1, keepdims=True), "constant"
    after = max(0, (left + count - 1) * down + 1 - ((n - 1) * up + len(h) + before))
    taps = np.pad(h * up, (before, after))
    found = upfirdn(taps, x - ground, up, down, -1, padtype, cval or 0)
    return np.moveaxis(found[..., left : left + count] + ground, -1, axis)

"""Convolutions and correlations of signals, with edges as SciPy has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal

from .. import numpy as traced_numpy
from .._core.base.sizes import under
from ..errors import ShapeError
from ._versions import floats, refuse_option, replaces

#: Above so many elements in the smaller array, convolutions go by Fourier transforms; of two rows,
#: which one loop convolves, above more.
DIRECT, ROWS = 128, 512


def _numbers(value: Any) -> Any:
    """Return an array, whose integers remain."""
    array = traced_numpy.asarray(value)
    return array if array.dtype.kind in "iu" else floats(array)


def _full(x: Any, y: Any) -> Any:
    """Return the convolution with all its edges."""
    if x.ndim != y.ndim:
        raise ShapeError(f"convolve: arrays of {x.ndim} and of {y.ndim} axes")
    if any(under(n, 1) for n in (*x.shape, *y.shape)):
        raise ShapeError("convolve of an array without elements")
    if x.ndim == 1 and (x.shape[0] <= ROWS or y.shape[0] <= ROWS):
        return np.convolve(x, y)
    shape = tuple(n + m - 1 for n, m in zip(x.shape, y.shape, strict=True))
    if math.prod(x.shape) < math.prod(y.shape):
        x, y = y, x
    if math.prod(y.shape) > DIRECT:
        kind = np.result_type(x.dtype, y.dtype)
        if kind.kind in "iu":
            return np.rint(_full(floats(x), floats(y))).astype(kind)
        axes = tuple(range(x.ndim))
        if "c" in (x.dtype.kind, y.dtype.kind):
            return np.fft.ifftn(np.fft.fftn(x, shape, axes) * np.fft.fftn(y, shape, axes))
        product = np.fft.rfftn(x, shape, axes) * np.fft.rfftn(y, shape, axes)
        return np.fft.irfftn(product, shape, axes)
    total = None
    for place in np.ndindex(*map(int, y.shape)):
        room = [(k, n - k - m) for k, n, m in zip(place, shape, x.shape, strict=True)]
        part = y[place] * np.pad(x, room)
        total = part if total is None else total + part
    return total


def _cropped(full: Any, x: Any, y: Any, mode: str) -> Any:
    """Return the part of a full convolution that a mode keeps, in SciPy's sense."""
    if mode == "full":
        return full
    sizes = list(zip(x.shape, y.shape, strict=True))
    if mode == "same":
        cuts = [slice((m - 1) // 2, (m - 1) // 2 + n) for n, m in sizes]
    elif mode == "valid":
        cuts = [slice(min(n, m) - 1, max(n, m)) for n, m in sizes]
    else:
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    return full[tuple(cuts)]


def _convolve(x: Any, y: Any, mode: str) -> Any:
    return _cropped(_full(x, y), x, y, mode)


def _by_transforms(x: Any, y: Any, mode: str) -> Any:
    """Return what SciPy's convolutions by Fourier transforms give: of no elements no elements."""
    if x.ndim == y.ndim and any(under(n, 1) for n in (*x.shape, *y.shape)):
        return np.zeros(0)
    return _convolve(x, y, mode)


def _flipped(y: Any) -> Any:
    return np.conj(np.flip(y))


@replaces(scipy.signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolution of two arrays of as many axes, as ``scipy.signal.convolve``.

    Examples
    --------
    >>> sg.jacobian(lambda x: convolve(x, [1.0, 2.0]))(np.ones(2))
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    return _convolve(_numbers(in1), _numbers(in2), mode)


@replaces(scipy.signal.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolution, as ``scipy.signal.fftconvolve``; over all axes.

    Examples
    --------
    >>> np.abs(sg.jacobian(lambda x: fftconvolve(x, [1.0, 2.0]))(np.ones(2)).round(12))
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    if axes is not None:
        refuse_option("fftconvolve", "axes", axes, "axes=None")
    return _by_transforms(floats(in1), floats(in2), mode)


@replaces(scipy.signal.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolution, as ``scipy.signal.oaconvolve``; over all axes.

    Examples
    --------
    >>> np.abs(sg.jacobian(lambda x: oaconvolve(x, [1.0, 2.0]))(np.ones(2)).round(12))
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    if axes is not None:
        refuse_option("oaconvolve", "axes", axes, "axes=None")
    return _by_transforms(floats(in1), floats(in2), mode)


@replaces(scipy.signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlation of two arrays of as many axes, as ``scipy.signal.correlate``.

    Examples
    --------
    >>> sg.jacobian(lambda x: correlate(x, [1.0, 2.0]))(np.ones(2))
    array([[2., 0.],
           [1., 2.],
           [0., 1.]])
    """
    x, y = _numbers(in1), _numbers(in2)
    return _cropped(_full(x, _flipped(y)), x, y, mode)


_BOUNDARIES = {"wrap": "wrap", "circular": "wrap", "symm": "symmetric", "symmetric": "symmetric"}


def _on_plane(x: Any, y: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    if mode == "valid" or (boundary in ("fill", "pad") and fillvalue == 0):
        return _cropped(_full(x, y), x, y, mode)
    room = [(m - 1, m - 1) for m in y.shape]
    if boundary in ("fill", "pad"):
        padded = np.pad(x, room, constant_values=fillvalue)
    else:
        padded = np.pad(x, room, mode=_BOUNDARIES[boundary])
    full = _cropped(_full(padded, y), padded, y, "valid")
    return _cropped(full, x, y, mode)


@replaces(scipy.signal.convolve2d, empty=False)
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Convolution of matrices, with edges as ``scipy.signal.convolve2d`` has them.

    Examples
    --------
    >>> k = np.arange(4.0).reshape(2, 2)
    >>> sg.grad(lambda x: convolve2d(x, k, mode="valid")[0, 0])(np.ones((2, 2)))
    array([[3., 2.],
           [1., 0.]])
    """
    return _on_plane(_numbers(in1), _numbers(in2), mode, boundary, fillvalue)


@replaces(scipy.signal.correlate2d, empty=False)
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Correlation of matrices, with edges as ``scipy.signal.correlate2d`` has them.

    Examples
    --------
    >>> k = np.arange(4.0).reshape(2, 2)
    >>> sg.grad(lambda x: correlate2d(x, k, mode="valid")[0, 0])(np.ones((2, 2)))
    array([[0., 1.],
           [2., 3.]])
    """
    x, y = _numbers(in1), _numbers(in2)
    flipped = _flipped(y)
    if mode == "same":  # centred on the other one of two middles
        full = _on_plane(x, flipped, "full", boundary, fillvalue)
        cuts = [slice(m // 2, m // 2 + n) for n, m in zip(x.shape, y.shape, strict=True)]
        return full[tuple(cuts)]
    return _on_plane(x, flipped, mode, boundary, fillvalue)

"""The transforms of ``numpy.fft``, by those of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.sizes import under
from ..op import composite
from .fourier import FOURIER, OTHER_WAY, REAL_FOURIER, REAL_SIGNAL, half
from .np_common import (
    as_array,
    as_float,
    conjugated,
    equal,
    join_pairs,
    lift,
    packed,
    reshaped,
    section,
)

# ---------------------------------------------------------------- rows


def _norm(norm: Any) -> str:
    name = "backward" if norm is None else norm
    if name not in OTHER_WAY:
        raise ArgumentError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    return str(name)


def _checked(x: Any, axis: int, name: str) -> tuple[Any, int]:
    """Return ``x`` as floats, and the axis counted from the first one."""
    x = as_float(as_array(x))
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"{name}: there is no axis {axis} of an array with {x.ndim} axes")
    return lift(x, x), axis % x.ndim


def _axis(x: Any, axis: int, name: str) -> Any:
    """Return ``x`` as floats with an axis moved to the end."""
    x, axis = _checked(x, axis, name)
    return x if axis == x.ndim - 1 else np.moveaxis(x, axis, -1)


def _back(y: Any, axis: int) -> Any:
    return y if axis in (-1, y.ndim - 1) else np.moveaxis(y, -1, axis)


def sized(x: Any, n: Any, name: str, axis: int = -1) -> Any:
    """Cut an axis to ``n`` elements, or fill it up with zeros; there must be some."""
    axis, size = axis % x.ndim, x.shape[axis]
    if under(size if n is None else n, 1):
        raise ShapeError(f"{name}: invalid number of data points ({0 if n is None else n})")
    if n is None or equal(size, n):
        return x
    if n < size:
        return section(x, axis, 0, n)
    return np.pad(x, [(0, n - size) if k == axis else (0, 0) for k in range(x.ndim)])


def _product(sizes: Sequence[Any]) -> Any:
    count: Any = 1
    for size in sizes:
        count = count * size
    return count


def _rows(x: Any, last: int) -> Any:
    """Return ``x`` with all but the ``last`` axes as one."""
    k = x.ndim - last
    return reshaped(x, (_product(x.shape[:k]), *x.shape[k:]))


def _complex(x: Any, n: Any, axis: int, norm: Any, inverse: bool, name: str) -> Any:
    x, axis = _checked(x, axis, name)
    x = sized(x, n, name, axis)
    before, size, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    shape = (_product(before), size, _product(behind), 2)
    y = FOURIER(reshaped(packed(x), shape), inverse=inverse, norm=_norm(norm))
    return join_pairs(reshaped(y, (*x.shape, 2)))


def _forward_real(x: Any, n: Any, axis: int, norm: Any, name: str) -> Any:
    x = _axis(x, axis, name)
    if x.dtype.kind == "c":
        raise ArgumentError(f"{name} takes real numbers: np.fft.fft takes complex ones")
    x = sized(x, n, name)
    y = REAL_FOURIER(_rows(x, 1), norm=_norm(norm))
    return _back(join_pairs(reshaped(y, (*x.shape[:-1], half(x.shape[-1]), 2))), axis)


def _backward_real(y: Any, n: Any, axis: int, norm: Any, name: str) -> Any:
    y = _axis(y, axis, name)
    n = 2 * (y.shape[-1] - 1) if n is None else n
    if under(n, 1):
        raise ShapeError(f"{name}: invalid number of data points ({n})")
    pairs = packed(sized(y, half(n), name))
    x = REAL_SIGNAL(_rows(pairs, 2), n=n, norm=_norm(norm))
    return _back(reshaped(x, (*pairs.shape[:-2], n)), axis)


# ---------------------------------------------------------------- along one axis


@composite(np.fft.fft)
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Discrete Fourier transform along an axis."""
    return _complex(a, n, axis, norm, False, "fft")


@composite(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Inverse of :func:`fft`."""
    return _complex(a, n, axis, norm, True, "ifft")


@composite(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Discrete Fourier transform of real numbers, the first half."""
    return _forward_real(a, n, axis, norm, "rfft")


@composite(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Inverse of :func:`rfft`."""
    return _backward_real(a, n, axis, norm, "irfft")


@composite(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Transform of a signal of which the first half is given, the other being its conjugate."""
    return _backward_real(conjugated(as_array(a)), n, axis, OTHER_WAY[_norm(norm)], "hfft")


@composite(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    """Inverse of :func:`hfft`."""
    return np.conjugate(_forward_real(a, n, axis, OTHER_WAY[_norm(norm)], "ihfft"))


# ---------------------------------------------------------------- along several axes


def chosen(x: Any, s: Any, axes: Any, name: str) -> list[tuple[Any, int]]:
    """Return sizes (None: as it is) and axes."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    sizes: Sequence[Any] = [None] * len(axes) if s is None else s
    if len(sizes) != len(axes):
        raise ArgumentError(f"{name}: s and axes have different lengths")
    return [(None if _is_whole_axis(n) else n, axis) for n, axis in zip(sizes, axes, strict=True)]


def _is_whole_axis(n: Any) -> bool:
    return n is None or (isinstance(n, int) and n == -1)


def _several(a: Any, s: Any, axes: Any, norm: Any, inverse: bool, name: str) -> Any:
    x = as_array(a)
    for n, axis in reversed(chosen(x, s, axes, name)):
        x = _complex(x, n, axis, norm, inverse, name)
    return x


@composite(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Discrete Fourier transform along several axes."""
    return _several(a, s, axes, norm, False, "fftn")


@composite(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Inverse of :func:`fftn`."""
    return _several(a, s, axes, norm, True, "ifftn")


@composite(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Discrete Fourier transform of real numbers along several axes, half of the last one."""
    x = as_array(a)
    *others, (n, axis) = chosen(x, s, axes, "rfftn")
    y = _forward_real(x, n, axis, norm, "rfftn")
    for n, axis in reversed(others):
        y = _complex(y, n, axis, norm, False, "rfftn")
    return y


@composite(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    """Inverse of :func:`rfftn`."""
    y = as_array(a)
    *others, (n, axis) = chosen(y, s, axes, "irfftn")
    for size, other in others:
        y = _complex(y, size, other, norm, True, "irfftn")
    return _backward_real(y, n, axis, norm, "irfftn")


def _plane(function: Callable[..., Any], general: Callable[..., Any]) -> None:
    def plane(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
        return general(a, s, axes, norm)

    plane.__doc__ = f"Same as ``np.fft.{general.__name__}`` along the last two axes."
    composite(function, name=function.__name__)(plane)


_plane(np.fft.fft2, fftn)
_plane(np.fft.ifft2, ifftn)
_plane(np.fft.rfft2, rfftn)
_plane(np.fft.irfft2, irfftn)

"""The order of complex numbers, NumPy's: by the real part, then by the imaginary part.

What has a nan in it is less than nothing and nothing is less than it; it comes last where numbers
are sorted, first those with a nan in the imaginary part alone. Of equal numbers an extremum is
the first, and so its derivative goes to that one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .np_common import join_parts


def _imag(x: Any) -> Any:
    """Return the imaginary part; of a real value a zero that widens nothing."""
    return x.imag if x.dtype.kind == "c" else 0.0


def _before(x: Any, y: Any, also_equal: bool) -> Any:
    real, imag = x.real, (_imag(x), _imag(y))
    missing = np.isnan(imag[0]) | np.isnan(imag[1])
    later = imag[0] <= imag[1] if also_equal else imag[0] < imag[1]
    return np.where(real == y.real, later, (real < y.real) & np.logical_not(missing))


def less(x: Any, y: Any) -> Any:
    """Return whether one complex number is before another."""
    return _before(x, y, also_equal=False)


def less_equal(x: Any, y: Any) -> Any:
    """Return whether one complex number is before another, or equal to it."""
    return _before(x, y, also_equal=True)


def greatest(x: Any, y: Any) -> Any:
    """Return the parts of the larger of two complex numbers; nan if one is."""
    return _either(less_equal(y, x) | np.isnan(x), x, y)


def least(x: Any, y: Any) -> Any:
    """Return the parts of the smaller of two complex numbers; nan if one is."""
    return _either(less_equal(x, y) | np.isnan(x), x, y)


def greatest_present(x: Any, y: Any) -> Any:
    """Return the parts of the larger of two complex numbers; of one if the other is nan."""
    return _either(less_equal(y, x) | np.isnan(y), x, y)


def least_present(x: Any, y: Any) -> Any:
    """Return the parts of the smaller of two complex numbers; of one if the other is nan."""
    return _either(less_equal(x, y) | np.isnan(y), x, y)


def _either(first: Any, x: Any, y: Any) -> Any:
    return np.where(first, x.real, y.real), np.where(first, _imag(x), _imag(y))


def order(x: Any) -> Any:
    """Return the positions that sort along the last axis."""
    rank = 2 * np.isnan(x.real).astype(np.int64) + np.isnan(x.imag)
    found = np.argsort(x.imag, axis=-1)
    for key in (x.real, rank):
        inner = np.argsort(np.take_along_axis(key, found, -1), axis=-1)
        found = np.take_along_axis(found, inner, -1)
    return found


def last_place(x: Any, axes: tuple[int, ...]) -> Any:
    """Return where along one axis the largest element is first; the first nan if there is one."""
    return _place(x, axes[0], np.max, -np.inf)


def first_place(x: Any, axes: tuple[int, ...]) -> Any:
    """Return where along one axis the smallest element is first; the first nan if there is one."""
    return _place(x, axes[0], np.min, np.inf)


def _place(x: Any, axis: int, best: Any, worst: float) -> Any:
    real, imag = x.real, x.imag
    missing = np.isnan(real) | np.isnan(imag)
    any_missing = np.any(missing, axis=axis, keepdims=True)
    hit = real == best(real, axis=axis, keepdims=True)
    inner = np.where(hit, imag, worst)
    hit = hit & (inner == best(inner, axis=axis, keepdims=True))
    return np.argmax(np.where(any_missing, missing, hit), axis=axis)


def largest(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the parts of the largest element over axes, the first nan if there is one."""
    return _taken(x, axes, last_place)


def smallest(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the parts of the smallest element over axes, the first nan if there is one."""
    return _taken(x, axes, first_place)


def _taken(x: Any, axes: tuple[int, ...], place: Any) -> Any:
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    lead = tuple(x.shape[k] for k in rest)
    rows = np.reshape(np.transpose(x, (*rest, *axes)), (*lead, -1))
    found = np.take_along_axis(rows, place(rows, (len(rest),))[..., None], -1)[..., 0]
    return found.real, found.imag


def as_complex_type(x: Any) -> Any:
    """Return a value with complex elements."""
    return x if x.dtype.kind == "c" else join_parts(x, np.zeros_like(x))

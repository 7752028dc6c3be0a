"""NumPy's functions that take functions, and tensor equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.broadcast import normalize_axis
from ..op import composite
from .np_common import as_array, reshaped


@composite(np.piecewise, convention="every function is computed everywhere")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Of several functions, the last whose condition holds."""
    x = as_array(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    conditions = [as_array(c).astype(np.bool_) for c in conditions]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ArgumentError(
            f"piecewise: {len(conditions)} conditions and {len(funclist)} functions; give one "
            "function for each condition, and at most one more for where none holds"
        )
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    y = np.zeros_like(x)
    if len(values) > len(conditions):
        y = np.broadcast_to(as_array(values[-1]).astype(x.dtype), x.shape)
    for condition, value in zip(conditions, values, strict=False):
        y = np.where(condition, as_array(value).astype(x.dtype), y)
    return y


@composite(np.apply_along_axis)
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to vectors along an axis, one after the other."""
    x = as_array(arr)
    axis = normalize_axis(axis, x.ndim)
    last = np.moveaxis(x, axis, -1)
    lead = tuple(map(int, last.shape[:-1]))
    parts = [as_array(func1d(last[k], *args, **kwargs)) for k in np.ndindex(lead)]
    stacked = np.stack(parts)
    result = reshaped(stacked, (*lead, *stacked.shape[1:]))
    inner = result.ndim - len(lead)
    return np.moveaxis(result, range(-inner, 0), range(axis, axis + inner)) if inner else result


@composite(np.apply_over_axes)
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """Apply a reduction over axes, one after the other."""
    x = as_array(a)
    for axis in np.atleast_1d(np.asarray(axes)).tolist():
        y = as_array(func(x, axis))
        x = y if y.ndim == x.ndim else np.expand_dims(y, axis)
    return x


@composite(np.choose)
def choose(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    """Of several arrays, the one that an index names, element by element."""
    index = as_array(a)
    options = list(choices)
    y = as_array(options[0])
    for k, option in enumerate(options[1:], 1):
        y = np.where(index == k, as_array(option), y)
    return np.broadcast_to(y, np.broadcast_shapes(tuple(y.shape), tuple(index.shape)))


# ---------------------------------------------------------------- tensor equations


def _size(shape: Any) -> Any:
    total: Any = 1
    for d in shape:
        total = total * d
    return total


@composite(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Solution of a tensor equation."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        rest = [k for k in range(a.ndim) if k not in axes]
        a = np.transpose(a, (*rest, *axes))
    target = a.shape[b.ndim :]
    n = _size(target)
    return reshaped(np.linalg.solve(reshaped(a, (n, n)), np.ravel(b)), target)


@composite(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """Inverse of a tensor for tensordot."""
    a = as_array(a)
    if ind <= 0:
        raise ShapeError(f"tensorinv: ind must be positive, not {ind}")
    n = _size(a.shape[:ind])
    inverse = np.linalg.inv(reshaped(a, (n, _size(a.shape[ind:]))))
    return reshaped(inverse, (*a.shape[ind:], *a.shape[:ind]))


@composite(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """Repeat or cut the elements to fill a shape."""
    flat = np.ravel(as_array(a))
    shape = new_shape if isinstance(new_shape, (tuple, list)) else (new_shape,)
    if flat.shape[0] == 0:
        return np.zeros_like(flat, shape=tuple(shape))
    places = np.arange(int(_size(shape))) % int(flat.shape[0])
    return reshaped(np.take(flat, places), tuple(shape))

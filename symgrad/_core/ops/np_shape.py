"""NumPy's functions that change the shape or the order of the axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError, UnsupportedError
from ..base.broadcast import normalize_axes, normalize_axis, show
from ..base.sizes import as_size, dim_product
from ..op import composite
from .np_common import as_array, declared, dims, is_one, permute, reshaped, sizes

# ---------------------------------------------------------------- reshape


@composite(np.reshape)
def reshape(a: Any, shape: Any, order: str = "C") -> Any:
    """The same elements under another shape, in C or Fortran order."""
    x, target = as_array(a), list(sizes(shape))
    if order == "F":
        backwards = reshape(_reversed(x), tuple(target[::-1]))
        return _reversed(backwards)
    _check_order(order)
    unknown = [k for k, d in enumerate(target) if isinstance(d, (int, np.integer)) and d == -1]
    if len(unknown) > 1:
        raise ShapeError("can only specify one unknown dimension (-1) in reshape")
    if unknown:
        known: Any = 1
        for k, d in enumerate(target):
            known = known if k in unknown else known * d
        if isinstance(known, int) and known == 0:
            raise ShapeError(f"cannot reshape array of shape {show(dims(x))} into {target}")
        target[unknown[0]] = as_size(dim_product(dims(x))) // known
    return reshaped(x, target)


def _check_order(order: str) -> None:
    if order != "C":
        raise UnsupportedError(
            f"order={order!r}: a traced value has no memory order; use order='C' or order='F'"
        )


def _reversed(x: Any) -> Any:
    return permute(x, range(x.ndim)[::-1])


@composite(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """The elements as a vector."""
    return reshape(a, -1, order)


@composite(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """Insert axes of length one."""
    x = as_array(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new = normalize_axes(axis, x.ndim + count)
    rest = iter(x.shape)
    return reshaped(x, tuple(1 if k in new else next(rest) for k in range(x.ndim + count)))


@composite(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    """Remove axes of length one."""
    x = as_array(a)
    if axis is None:
        dropped = tuple(k for k, d in enumerate(x.shape) if is_one(d))
    else:
        dropped = normalize_axes(axis, x.ndim)
        for k in dropped:
            if not is_one(x.shape[k]):
                raise ShapeError(
                    f"cannot squeeze axis {k} of shape {show(dims(x))}: its length is not one"
                )
    return reshaped(x, tuple(d for k, d in enumerate(x.shape) if k not in dropped))


# ---------------------------------------------------------------- axes


@composite(*declared("transpose", "permute_dims"))
def transpose(a: Any, axes: Any = None) -> Any:
    """Permute the axes; reverse them if no order is given."""
    x = as_array(a)
    if axes is None:
        return _reversed(x)
    order = tuple(normalize_axis(k, x.ndim) for k in sizes(axes))
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"axes {axes} are no permutation of the {x.ndim} axes of the array")
    return permute(x, order)


@composite(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """Exchange the last two axes."""
    return swapaxes(x, -1, -2)


@composite(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Exchange two axes."""
    x = as_array(a)
    i, j = normalize_axis(axis1, x.ndim), normalize_axis(axis2, x.ndim)
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    return permute(x, order)


@composite(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes to other places; the rest keeps its order."""
    x = as_array(a)
    old = [normalize_axis(k, x.ndim) for k in _axes(source)]
    new = [normalize_axis(k, x.ndim) for k in _axes(destination)]
    if len(old) != len(new) or len(set(old)) < len(old) or len(set(new)) < len(new):
        raise ShapeError(f"moveaxis: source {source} and destination {destination} do not pair")
    order = [k for k in range(x.ndim) if k not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return permute(x, order)


def _axes(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list, range)) else (value,)


@composite(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis back until it lies before position ``start``."""
    x = as_array(a)
    axis = normalize_axis(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    if not 0 <= start <= x.ndim:
        raise ShapeError(f"start {start} is out of range for an array of dimension {x.ndim}")
    return moveaxis(x, axis, start - 1 if axis < start else start)

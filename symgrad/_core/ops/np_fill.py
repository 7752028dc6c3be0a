"""NumPy's functions that broadcast, fill, write, and tell shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ArgumentError, UnsupportedError
from ..base.broadcast import broadcast, normalize_axes, normalize_axis
from ..base.sizes import Size, as_size
from ..op import composite, refuse
from .np_common import (
    along,
    as_array,
    as_arrays,
    declared,
    dims,
    full,
    iota,
    is_traced,
    lengths,
    lift,
    reshaped,
    spread,
)

# ---------------------------------------------------------------- broadcasting


@composite(np.broadcast_to)
def broadcast_to(array: Any, shape: Any) -> Any:
    """Repeat along new axes and axes of length one."""
    return spread(as_array(array), lengths(shape))


@composite(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> Any:
    """Broadcast arrays against each other."""
    arrays = as_arrays(args)
    shape = tuple(map(as_size, broadcast(*map(dims, arrays))))
    return tuple(spread(lift(x, *arrays), shape) for x in arrays)


def _at_least(rank: int, place: Any) -> Any:
    def at_least(*arys: Any) -> Any:
        raised = tuple(x if x.ndim >= rank else reshaped(x, place(x.shape))
                       for x in as_arrays(arys))  # fmt: skip
        return raised[0] if len(raised) == 1 else raised

    at_least.__doc__ = (
        f"Give arrays at least {rank} axis."
        if rank == 1
        else (f"Give arrays at least {rank} axes.")
    )
    return at_least


atleast_1d = composite(np.atleast_1d, name="atleast_1d")(_at_least(1, lambda s: (1,)))
atleast_2d = composite(np.atleast_2d, name="atleast_2d")(
    _at_least(2, lambda s: (1, *s) if s else (1, 1))
)
atleast_3d = composite(np.atleast_3d, name="atleast_3d")(
    _at_least(3, lambda s: (1, *(s or (1,)), 1) if len(s) < 2 else (*s, 1))
)


@composite(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> Any:
    """Coordinate arrays of a grid from its coordinate vectors."""
    if indexing not in {"xy", "ij"}:
        raise ArgumentError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = 1, 0
    grids = tuple(along(np.ravel(x), place, len(xi)) for x, place in zip(xi, places, strict=True))
    return grids if sparse else broadcast_arrays(*grids)


# ---------------------------------------------------------------- filled arrays and facts


def _filled(function: Any, number: int | None, doc: str) -> Any:
    if number is None:

        def filled(
            a: Any, fill_value: Any, dtype: Any = None, order: str = "K", *, shape: Any = None
        ) -> Any:
            return _like(a, fill_value, dtype, order, shape)

    else:

        def filled(  # type: ignore[misc]
            a: Any, dtype: Any = None, order: str = "K", *, shape: Any = None
        ) -> Any:
            return _like(a, number, dtype, order, shape)

    filled.__doc__ = doc
    return composite(
        function,
        name=function.__name__,
    )(filled)


def _like(a: Any, value: Any, dtype: Any, order: str, shape: Any) -> Any:
    if order == "F":  # a later reshape may be a view, or a copy
        raise UnsupportedError("order='F' is not traced. Write instead: order='C'")
    x = as_array(a)
    target = x.shape if shape is None else lengths(shape)
    return full(target, value, np.dtype(dtype) if dtype is not None else x.dtype, x, value)


zeros_like = _filled(np.zeros_like, 0, "Zeros of the same shape.")
ones_like = _filled(np.ones_like, 1, "Ones of the same shape.")
full_like = _filled(np.full_like, None, "One value in the same shape.")


@composite(np.empty_like, differentiable=False)
def empty_like(a: Any, dtype: Any = None, order: str = "K", *, shape: Any = None) -> Any:
    """Zeros of the same shape: what is not written must still be the same in every call."""
    return _like(a, 0, dtype, order, shape)


@composite(np.copy)
def copy(a: Any, order: str = "K") -> Any:
    """The value itself: traced values never change."""
    return as_array(a)


@composite(*declared("astype"))
def astype(x: Any, dtype: Any, *, copy: bool = True) -> Any:
    """Convert to another element type."""
    return as_array(x).astype(dtype, copy=copy)


@composite(np.shape, differentiable=False)
def shape(a: Any) -> Any:
    """The shape."""
    return as_array(a).shape


@composite(np.ndim, differentiable=False)
def ndim(a: Any) -> Any:
    """The number of axes."""
    return as_array(a).ndim


@composite(np.size, differentiable=False)
def size(a: Any, axis: Any = None) -> Any:
    """The number of elements, or of those along axes."""
    x = as_array(a)
    count: Any = 1
    for k in normalize_axes(axis, x.ndim):
        count = count * x.shape[k]
    return count


# ---------------------------------------------------------------- functions that write


def _writer(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return composite(function, convention="writes into its argument")


def _target(array: Any, name: str) -> None:
    if not is_traced(array):
        raise UnsupportedError(
            f"np.{name} of traced values writes into a plain array, which holds numbers only: "
            "make it by symgrad.numpy (zeros, zeros_like, array)"
        )


@_writer(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copy values into an array, where a condition holds."""
    _target(dst, "copyto")
    dst[...] = src if where is True else np.where(where, src, dst)


@_writer(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write numbers where a mask holds."""
    _target(a, "putmask")
    value = as_array(values, a.dtype)
    if value.ndim and tuple(value.shape) != tuple(a.shape):
        value = np.resize(value, a.shape)
    a[...] = np.where(mask, value, a)


@_writer(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write numbers in a row where a mask holds, again from the first if they are few."""
    _target(arr, "place")
    value, mask = np.ravel(as_array(vals, arr.dtype)), as_array(mask)
    if value.shape[0] == 0:
        raise ValueError("place: cannot insert from an empty array")
    which = np.maximum(np.cumsum(np.ravel(mask)) - 1, 0) % value.shape[0]
    chosen = lift(value, arr, which)[which]
    arr[...] = np.where(mask, np.reshape(chosen, arr.shape), arr)


@_writer(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values at places of the flattened array."""
    _target(a, "put")
    flat = np.ravel(a).copy()
    index, value = np.ravel(as_array(ind)), np.ravel(as_array(v, a.dtype))
    if mode == "wrap":
        index = index % flat.shape[0]
    elif mode == "clip":
        index = np.clip(index, 0, flat.shape[0] - 1)
    elif mode != "raise":
        raise ArgumentError(f"put: mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    if value.shape[0] != 1 and value.shape[0] != index.shape[0]:
        value = np.resize(value, (int(index.shape[0]),))
    flat[index] = value
    a[...] = np.reshape(flat, a.shape)


@_writer(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Write values at positions along one axis, matched along the others."""
    _target(arr, "put_along_axis")
    if axis is None:
        put(arr, indices, values)
        return
    axis = normalize_axis(axis, arr.ndim)
    index = as_array(indices)
    places = tuple(
        index if k == axis else np.reshape(
            iota(n, arr, index), tuple(n if j == k else 1 for j in range(arr.ndim))
        )
        for k, n in enumerate(arr.shape)
    )  # fmt: skip
    arr[places] = values


@_writer(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write a diagonal."""
    _target(a, "fill_diagonal")
    if a.ndim != 2 or wrap:
        refuse(np.fill_diagonal, "only of matrices, and without wrap=True")
    m, n = a.shape
    rows, columns = (iota(size, a) for size in (m, n))
    value = as_array(val, a.dtype)
    if value.ndim:
        flat = np.ravel(value)
        if flat.shape[0] == 0:  # NumPy writes nothing then
            return
        count = min(n, m)
        spread = np.zeros_like(a)
        k = iota(count, a)
        # Values go along the diagonal, again from the first if they are few.
        enough = flat if flat.shape[0] >= count else np.resize(flat, (count,))
        spread[k, k] = enough[:count] if isinstance(count, Size) else enough[: int(count)]
        value = spread
    a[...] = np.where(rows[:, None] == columns[None, :], value, a)

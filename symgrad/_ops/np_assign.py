"""NumPy's functions that write into their first argument, which is a traced array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._op import composite, refuse
from .._shapes import Size, normalize_axis
from ..errors import ArgumentError, UnsupportedError
from .np_common import as_array, iota, is_traced, lift


def _writer(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return composite(function, samples=lambda rng: iter(()), convention="writes into its argument")


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
    value = as_array(values)
    if value.ndim and tuple(value.shape) != tuple(a.shape):
        value = np.resize(value, a.shape)
    a[...] = np.where(mask, value, a)


@_writer(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write numbers in a row where a mask holds, again from the first if they are few."""
    _target(arr, "place")
    value, mask = np.ravel(as_array(vals)), as_array(mask)
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
    index, value = np.ravel(as_array(ind)), np.ravel(as_array(v))
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
    value = as_array(val)
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

"""NumPy's functions that write into their first argument, which is a traced array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._op import composite, refuse
from .._shapes import Size, normalize_axis
from ..errors import UnsupportedError
from .np_common import as_array, iota, is_traced


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
        refuse(np.putmask, "values are repeated as often as the mask has places: use np.where")
    a[...] = np.where(mask, value, a)


@_writer(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write one number where a mask holds."""
    _target(arr, "place")
    value = np.ravel(as_array(vals))
    if value.shape[0] != 1:
        refuse(np.place, "which value comes where depends on the mask: use np.where")
    arr[...] = np.where(mask, value[0], arr)


@_writer(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write values at places of the flattened array."""
    _target(a, "put")
    if mode != "raise":
        refuse(np.put, f"mode={mode!r}: clip or wrap the indices first")
    flat = np.ravel(a).copy()
    index, value = np.ravel(as_array(ind)), np.ravel(as_array(v))
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
        count = min(n, m)
        spread = np.zeros_like(a)
        k = iota(count, a)
        spread[k, k] = value[:count] if isinstance(count, Size) else value[: int(count)]
        value = spread
    a[...] = np.where(rows[:, None] == columns[None, :], value, a)

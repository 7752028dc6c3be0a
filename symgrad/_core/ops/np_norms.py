"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.broadcast import normalize_axes, normalize_axis, show
from ..op import composite
from .np_common import abs_square, as_array, as_float, dims
from .np_reductions import largest
from .np_statistics import root

Axes = tuple[int, ...]


def _vector(x: Any, order: Any, axes: Axes, keepdims: bool) -> Any:
    options: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    if isinstance(order, str):
        raise ArgumentError(f"Invalid norm order {order!r} for vectors")
    if order is None or order == 2:
        return root(np.sum(abs_square(x), **options))
    if order == np.inf:
        return largest(np.abs(x), **options)
    if order == -np.inf:
        return np.min(np.abs(x), **options)
    if order == 0:
        return np.sum((x != 0).astype(x.real.dtype), **options)
    if order == 1:
        return np.sum(np.abs(x), **options)
    total = np.sum(np.abs(x) ** order, **options)
    if order < 0:
        return total ** (1 / order)
    positive = total > 0  # see ``root``
    return np.where(positive, np.where(positive, total, 1) ** (1 / order), total)


def _matrix(x: Any, order: Any, axes: Axes, keepdims: bool) -> Any:
    row, column = axes
    if order in {None, "fro", "f"}:
        return _vector(x, 2, axes, keepdims)
    if order in {1, -1, np.inf, -np.inf}:
        inner, outer = (row, column) if order in {1, -1} else (column, row)
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        y = (largest if order > 0 else np.min)(sums, axis=outer, keepdims=True)
        return y if keepdims else np.squeeze(y, axes)
    if order in {2, -2, "nuc"}:
        values = np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1)))
        fold = {2: largest, -2: np.min, "nuc": np.sum}[order]
        y = fold(values, axis=-1)
        return np.expand_dims(y, axes) if keepdims else y
    raise ArgumentError(f"Invalid norm order {order!r} for matrices")


@composite(np.linalg.norm, convention="derivative 0 at 0; equal shares among ties")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """Norm of vectors or matrices, of any order that NumPy has."""
    x = as_float(as_array(x))
    if axis is None and ord is None:
        return _vector(x, 2, tuple(range(x.ndim)), keepdims)
    given = tuple(range(x.ndim)) if axis is None else axis
    axes = tuple(
        normalize_axis(k, x.ndim) for k in (given if isinstance(given, tuple) else (given,))
    )
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"norm takes one axis or two different axes, not {axes}")
    return _matrix(x, ord, axes, keepdims)


@composite(np.linalg.vector_norm, convention="derivative 0 at 0; equal shares among ties")
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002
    """Norm of vectors over any number of axes."""
    x = as_float(as_array(x))
    return _vector(x, ord, normalize_axes(axis, x.ndim), keepdims)


@composite(np.linalg.matrix_norm, convention="derivative 0 at 0; equal shares among ties")
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:  # noqa: A002
    """Norm of the matrices in the last two axes."""
    x = as_float(as_array(x))
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm needs two axes, not the shape {show(dims(x))}")
    return _matrix(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)

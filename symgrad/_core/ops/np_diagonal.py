"""NumPy's functions of diagonals and triangles."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import ShapeError
from ..base.broadcast import normalize_axis, show
from ..op import composite
from .movement import DIAG_EMBED, DIAGONAL
from .np_common import as_array, dims, iota, reshaped, spread


def diagonal_of(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    """Return a diagonal of two axes as the last axis."""
    if x.ndim < 2:
        raise ShapeError(f"a diagonal needs two axes, not the shape {show(dims(x))}")
    i, j = normalize_axis(axis1, x.ndim), normalize_axis(axis2, x.ndim)
    if i == j:
        raise ShapeError(f"diagonal: axis1 and axis2 must differ, not both {i}")
    x = np.moveaxis(x, (i, j), (-2, -1))
    offset = operator.index(offset)
    rows, columns = x.shape[-2] - max(-offset, 0), x.shape[-1] - max(offset, 0)
    size = rows if rows - columns <= 0 else columns  # no guard if they differ by a number
    if offset and size < 0:
        size = 0
    return DIAGONAL(x, offset=offset, size=size)


@composite(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of two axes."""
    return diagonal_of(as_array(a), offset, axis1, axis2)


@composite(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Sum over a diagonal of two axes."""
    return np.sum(diagonal_of(as_array(a), offset, axis1, axis2), axis=-1)


@composite(np.linalg.diagonal, name="linalg.diagonal")
def linalg_diagonal(x: Any, *, offset: int = 0) -> Any:
    """A diagonal of the last two axes."""
    return diagonal_of(as_array(x), offset, -2, -1)


@composite(np.linalg.trace, name="linalg.trace")
def linalg_trace(x: Any, *, offset: int = 0) -> Any:
    """Sum over a diagonal of the last two axes."""
    return np.sum(diagonal_of(as_array(x), offset, -2, -1), axis=-1)


@composite(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a given diagonal."""
    x = as_array(v)
    if x.ndim == 2:
        return diagonal_of(x, k, 0, 1)
    if x.ndim != 1:
        raise ShapeError(f"diag takes a vector or a matrix, not the shape {show(dims(x))}")
    n = x.shape[0] + abs(operator.index(k))
    return DIAG_EMBED(x, offset=k, shape=(n, n))


@composite(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the elements on a diagonal."""
    return diag(np.ravel(as_array(v)), k)


def _triangle(x: Any, k: int, lower: bool) -> Any:
    if x.ndim == 1:  # as NumPy: a vector is repeated as rows
        x = spread(x, (x.shape[0], x.shape[0]))
    if x.ndim == 0:
        raise ShapeError("tril and triu take arrays with at least one axis")
    rows = reshaped(iota(x.shape[-2], x), (x.shape[-2], 1))
    columns = iota(x.shape[-1], x)
    # The mask is a formula of the indices, so that it does not bake in symbolic sizes.
    keep = columns <= rows + k if lower else columns >= rows + k
    return np.where(keep, x, np.zeros((), x.dtype))


@composite(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    """The lower triangle, zeros above."""
    return _triangle(as_array(m), k, lower=True)


@composite(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    """The upper triangle, zeros below."""
    return _triangle(as_array(m), k, lower=False)

"""Sparse matrices made of diagonals, of other matrices, and of parts of one."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from ... import numpy as traced_numpy
from ..._core.ops.np_common import is_traced
from ...errors import ShapeError
from .._versions import floats, of_scipy
from ._entries import ByElements, Entries, entries, kind_of
from ._indexing import lengths

_join = traced_numpy.concatenate


#: What makes a dia_matrix, of which other formats store no zeros.
DIAGONALS = ("diags", "diags_array", "spdiags")


def _is_dense(x: Any) -> bool:
    return any(map(_is_dense, x)) if isinstance(x, (list, tuple)) else is_traced(x)


def _replaces(ours: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function stand for SciPy's of its name, which computes with plain matrices.

    One class is all formats; the type of the entries is that which SciPy is asked for.
    """
    original = getattr(scipy.sparse, ours.__name__)
    signature, name = inspect.signature(original), ours.__name__

    @functools.wraps(ours)
    def function(*args: Any, **kwargs: Any) -> Any:
        if of_scipy(args, kwargs, Entries):
            return original(*args, **kwargs)
        given = signature.bind(*args, **kwargs).arguments
        given.pop("format", None)
        dtype = given.pop("dtype", None)
        found = ours(**given)

        def make(args: Any, values: Any) -> Any:
            return original(*args, **dict(zip(kwargs, values, strict=True)))

        operands = list(args), list(kwargs.values())
        found.made(make, *operands, depends=name in DIAGONALS or any(map(_is_dense, operands)))
        return found if dtype is None else found.astype(dtype)

    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


@_replaces
def diags(diagonals: Any, offsets: Any = 0, shape: Any = None) -> Entries:
    """Return a matrix by its diagonals, as ``scipy.sparse.diags``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.jacobian(lambda d: sparse.diags([d, d[1:]], [0, 1]) @ np.ones(2))(np.ones(2))
    array([[1., 1.],
           [0., 1.]])
    """
    if np.ndim(offsets) == 0:
        one = not isinstance(diagonals, (list, tuple)) or np.ndim(diagonals[0]) == 0
        diagonals, offsets = [diagonals] if one else list(diagonals), [offsets]
    parts = [np.atleast_1d(floats(d)) for d in diagonals]
    if shape is None:
        size = int(parts[0].shape[0]) + abs(int(offsets[0]))
        shape = (size, size)
    data, rows, columns = [], [], []
    for part, k in zip(parts, map(int, offsets), strict=True):
        length = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if part.shape[0] not in (1, length):
            raise ValueError(f"Diagonal length (index {k}: {part.shape[0]} at offset {k}) ")
        data.append(np.broadcast_to(part, (length,)))
        rows.append(np.arange(length) - min(k, 0))
        columns.append(np.arange(length) + max(k, 0))
    return Entries(_join(data), np.concatenate(rows), np.concatenate(columns), shape)


@_replaces
def diags_array(diagonals: Any, offsets: Any = 0, shape: Any = None) -> Entries:
    """Return a matrix by its diagonals, as ``scipy.sparse.diags_array``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.jacobian(lambda d: sparse.diags_array(d) @ np.array([1.0, 2.0]))(np.ones(2))
    array([[1., 0.],
           [0., 2.]])
    """
    found: Entries = diags(diagonals, offsets, shape).of(ByElements)
    return found


@_replaces
def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None) -> Entries:
    """Return a matrix by its diagonals, of which element j is in column j, as SciPy does.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.jacobian(lambda d: sparse.spdiags(d, 1, 2, 2) @ np.ones(2))(np.array([3.0, 4.0]))
    array([[0., 1.],
           [0., 0.]])
    """
    data = np.atleast_2d(floats(data))
    offsets = np.atleast_1d(diags)
    width = int(data.shape[1])
    if len(offsets) != data.shape[0] or offsets.ndim != 1:
        raise ValueError(f"{data.shape[0]} diagonals need as many offsets, not {len(offsets)}")
    if n is None:
        m, n = (width, width) if m is None else m
    parts, rows, columns = [], [], []
    for row, k in enumerate(map(int, offsets)):
        across = np.arange(max(k, 0), max(k, 0, min(m + k, n, width)))
        parts.append(data[row, across])
        rows.append(across - k)
        columns.append(across)
    return Entries(_join(parts), np.concatenate(rows), np.concatenate(columns), (m, n))


def _of_numbers(made: Any) -> Any:
    """Return what makes a matrix of SciPy's, in traced code by its entries."""

    @functools.wraps(made)
    def function(*args: Any, **kwargs: Any) -> Any:
        found = made(*args, **kwargs)
        return found if of_scipy((), {}) else entries(found)

    return function


eye, eye_array = _of_numbers(scipy.sparse.eye), _of_numbers(scipy.sparse.eye_array)
identity = _of_numbers(scipy.sparse.identity)


@_replaces
def kron(A: Any, B: Any) -> Entries:
    """Return the Kronecker product, as ``scipy.sparse.kron``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.grad(lambda d: sparse.kron(sparse.diags(d), np.ones((2, 2))).sum())(np.ones(2))
    array([4., 4.])
    """
    a, b = entries(A), entries(B)
    of_a = np.repeat(np.arange(a.count), b.count)
    of_b = np.tile(np.arange(b.count), a.count)
    rows = a.term_rows[of_a] * b.shape[0] + b.term_rows[of_b]
    columns = a.term_columns[of_a] * b.shape[1] + b.term_columns[of_b]
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    return kind_of(A, B)(a.terms[of_a] * b.terms[of_b], rows, columns, shape)


def _placed(blocks: Any, down: bool, along: bool) -> Entries:
    parts = list(map(entries, blocks))
    ends = [list(itertools.accumulate((p.shape[k] for p in parts), initial=0)) for k in (0, 1)]
    row = ends[0] if down else [0] * len(ends[0])
    column = ends[1] if along else [0] * len(ends[1])
    shape = row[-1] or parts[0].shape[0], column[-1] or parts[0].shape[1]
    return _put_at(kind_of(*blocks), list(zip(parts, row, column, strict=False)), shape)


def _put_at(kind: Any, found: Any, shape: Any) -> Entries:
    """Return a matrix of parts, each with the row and the column where it begins."""
    return kind(  # type: ignore[no-any-return]
        _join([part.terms for part, _, _ in found]),
        np.concatenate([part.term_rows + i for part, i, _ in found]),
        np.concatenate([part.term_columns + j for part, _, j in found]),
        shape,
    )


@_replaces
def vstack(blocks: Any) -> Entries:
    """Return matrices below each other, as ``scipy.sparse.vstack``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.grad(lambda d: (sparse.vstack([sparse.diags(d)] * 2) @ np.ones(2))[3])(np.ones(2))
    array([0., 1.])
    """
    return _placed(blocks, True, False)


@_replaces
def hstack(blocks: Any) -> Entries:
    """Return matrices beside each other, as ``scipy.sparse.hstack``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.grad(lambda d: (sparse.hstack([sparse.diags(d)] * 2) @ np.ones(4))[0])(np.ones(2))
    array([2., 0.])
    """
    return _placed(blocks, False, True)


@_replaces
def block_diag(mats: Any) -> Entries:
    """Return matrices along the diagonal, as ``scipy.sparse.block_diag``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.grad(lambda x: sparse.block_diag([x * np.eye(2), [[1.0]]]).sum())(3.0)
    np.float64(2.0)
    """
    return _placed(mats, True, True)


@_replaces
def bmat(blocks: Any) -> Entries:
    """Return a matrix of rows of blocks, as ``scipy.sparse.bmat``; None stands for zeros.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> def solved(d):
    ...     K = sparse.bmat([[sparse.diags(d), [[1.0], [1.0]]], [[[1.0, 1.0]], None]])
    ...     return sparse.linalg.spsolve(K.tocsc(), np.array([1.0, 0.0, 0.0]))[0]
    >>> sg.grad(solved)(np.array([2.0, 3.0]))
    array([-0.04, -0.04])
    """
    grid = [[None if block is None else entries(block) for block in row] for row in blocks]
    if len({len(row) for row in grid}) != 1:
        raise ShapeError("bmat: there are as many blocks in each row, one at least")
    down, right = (
        list(itertools.accumulate(lengths(lines, axis), initial=0))
        for axis, lines in enumerate((grid, list(zip(*grid, strict=True))))
    )
    nothing = kind_of(*itertools.chain(*blocks))(np.zeros(0), [], [], (down[-1], right[-1]))
    found = [(part, i, j) for i, row in zip(down, grid, strict=False)
             for part, j in zip(row, right, strict=False) if part is not None]  # fmt: skip
    return _put_at(type(nothing), found, nothing.shape) if found else nothing


@_replaces
def block_array(blocks: Any) -> Entries:
    """Return a matrix of rows of blocks, as ``scipy.sparse.block_array``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> A = np.eye(2)
    >>> sg.grad(lambda t: sparse.block_array([[None, t * A], [A, None]]).sum())(3.0)
    np.float64(2.0)
    """
    found: Entries = bmat(blocks).of(ByElements)
    return found


@_replaces
def tril(A: Any, k: int = 0) -> Entries:
    """Return what is on a diagonal and below it, as ``scipy.sparse.tril``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.grad(lambda d: sparse.tril(sparse.diags([d, d], [0, 1], (2, 2))).sum())(np.ones(1))
    array([2.])
    """
    a = entries(A)
    return a.at(np.flatnonzero(a.term_columns - a.term_rows <= k))


@_replaces
def triu(A: Any, k: int = 0) -> Entries:
    """Return what is on a diagonal and above it, as ``scipy.sparse.triu``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> sg.grad(lambda d: sparse.triu(sparse.diags([d, d], [0, -1], (2, 2))).sum())(np.ones(1))
    array([2.])
    """
    a = entries(A)
    return a.at(np.flatnonzero(a.term_columns - a.term_rows >= k))


def find(A: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of the entries that are not zero, as ``scipy.sparse.find``.

    Examples
    --------
    >>> from symgrad.scipy import sparse
    >>> a = np.array([[0.0, 2.0], [3.0, 0.0]])
    >>> sg.jacobian(lambda t: sparse.find(sparse.csr_array(t * a))[2])(1.0)
    array([2., 3.])
    """
    if of_scipy((A,), {}, Entries):
        rows, columns, values = scipy.sparse.find(A)
        return rows, columns, values
    return entries(A).found()

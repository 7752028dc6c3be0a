"""``scipy.sparse``, for functions that symgrad traces: entries at places that are numbers.

The entries of a matrix may be traced; rows and columns are whole numbers that Python sees, as in
loops over elements. One class stands for all of SciPy's formats.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy import sparse
>>> def heat(k):
...     A = sparse.diags([2 * k, -k[1:], -k[1:]], [0, 1, -1]).tocsr()
...     return sparse.linalg.spsolve(A, np.ones(3))[1]
>>> sg.grad(heat)(np.ones(3))
array([-1.5, -1.5,  1. ])
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import scipy.sparse

from ... import numpy as traced_numpy
from ..._forks import late_module
from ..._ops.np_common import is_traced
from ..._trace._namespace import offering
from ...errors import ShapeError, UnsupportedError
from .._fates import reasons
from .._replacing import floats

__all__ = [
    "Entries",
    "block_diag",
    "diags",
    "diags_array",
    "eye",
    "eye_array",
    "hstack",
    "identity",
    "issparse",
    "kron",
    "vstack",
]

_join = traced_numpy.concatenate


class Entries:
    """A sparse matrix by its entries; those of one place add up.

    ``*`` is the product of matrices, as of SciPy's ``*_matrix``.

    Parameters
    ----------
    data:
        The entries, shape ``(m,)``; may be traced.
    rows, columns:
        Their places, whole numbers of shape ``(m,)``.
    shape:
        Of the matrix.
    """

    ndim = 2
    by_elements = False  # what `*` is

    def __init__(self, data: Any, rows: Any, columns: Any, shape: Any) -> None:
        self.data = floats(data)
        self.rows, self.columns = (np.asarray(k, np.int64).reshape(-1) for k in (rows, columns))
        self.shape = tuple(map(int, shape))
        if self.data.ndim != 1 or not len(self.rows) == len(self.columns) == self.data.shape[0]:
            raise ShapeError(
                f"a sparse matrix has entries in a row with as many places: {self.data.shape}, "
                f"{self.rows.shape}, {self.columns.shape}"
            )

    # ---------------------------------------------------------------- as it is

    @property
    def dtype(self) -> Any:
        """Of the entries."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many entries there are."""
        return len(self.rows)

    @property
    def T(self) -> Entries:
        """The transpose."""
        return type(self)(self.data, self.columns, self.rows, self.shape[::-1])

    def transpose(self, axes: Any = None, copy: bool = False) -> Entries:
        """Return the transpose."""
        return self.T

    def conj(self, copy: bool = True) -> Entries:
        """Return the complex conjugate."""
        return type(self)(np.conj(self.data), self.rows, self.columns, self.shape)

    conjugate = conj

    def of(self, kind: type[Entries]) -> Entries:
        """Return the same entries in another class."""
        return kind(self.data, self.rows, self.columns, self.shape)

    def _itself(self, *args: Any, **kwargs: Any) -> Entries:
        return self

    tocsr = tocsc = tocoo = tolil = todok = tobsr = asformat = copy = astype = _itself

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """Return the dense matrix."""
        n, m = self.shape
        return _summed(self.data, self.rows * m + self.columns, n * m).reshape(self.shape)

    todense = toarray

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal."""
        n, m = self.shape
        on = np.flatnonzero(self.columns - self.rows == k)
        place = self.rows[on] if k >= 0 else self.columns[on]
        return _summed(self.data[on], place, min(n, m - k) if k >= 0 else min(n + k, m))

    def sum(self, axis: Any = None) -> Any:
        """Return the sum of all entries, of columns (0) or of rows (1)."""
        if axis is None:
            return np.sum(self.data)
        places = self.columns if axis in (0, -2) else self.rows
        return _summed(self.data, places, self.shape[1 if axis in (0, -2) else 0])

    # ---------------------------------------------------------------- arithmetic

    def __matmul__(self, other: Any) -> Any:
        if issparse(other):
            return _product(self, entries(other))
        x = floats(other)
        if x.shape[0] != self.shape[1]:
            raise ShapeError(f"a matrix of shape {self.shape} times an array of shape {x.shape}")
        if not is_traced(self.data):  # one product, by rows
            return scipy.sparse.csr_array((self.data, (self.rows, self.columns)), self.shape) @ x
        terms = self.data.reshape((-1, *(1,) * (x.ndim - 1))) * x[self.columns]
        return _summed(terms, self.rows, self.shape[0])

    def __rmatmul__(self, other: Any) -> Any:
        return (self.T @ floats(other).T).T

    __array_ufunc__ = None  # NumPy's operators leave it to these

    dot = __matmul__

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and not issparse(other):
            return type(self)(self.data * other, self.rows, self.columns, self.shape)
        return self.multiply(other) if self.by_elements else self @ other

    def __rmul__(self, other: Any) -> Any:
        if np.ndim(other) == 0:
            return self * other
        return self.multiply(other) if self.by_elements else other @ self

    def __truediv__(self, other: Any) -> Entries:
        return type(self)(self.data / other, self.rows, self.columns, self.shape)

    def __neg__(self) -> Entries:
        return type(self)(-self.data, self.rows, self.columns, self.shape)

    def __add__(self, other: Any) -> Any:
        if not issparse(other):
            return self if np.ndim(other) == 0 and other == 0 else self.toarray() + other
        other = entries(other)
        if self.shape != other.shape:
            raise ShapeError(f"sparse matrices of shapes {self.shape} and {other.shape}")
        return type(self)(
            _join([self.data, other.data]), np.append(self.rows, other.rows),
            np.append(self.columns, other.columns), self.shape,
        )  # fmt: skip

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -(entries(other) if issparse(other) else other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def multiply(self, other: Any) -> Entries:
        """Return elementwise products with a number or a dense array."""
        by = other.toarray() if issparse(other) else floats(other)
        by = np.broadcast_to(by, self.shape)[self.rows, self.columns]
        return type(self)(self.data * by, self.rows, self.columns, self.shape)

    # ---------------------------------------------------------------- parts

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if np.ndim(rows) == 2 and np.ndim(columns) == 2:  # np.ix_
            rows, columns = np.ravel(rows), np.ravel(columns)
        parts = [np.arange(n)[k] for n, k in zip(self.shape, (rows, columns), strict=True)]
        kept, places = np.arange(self.nnz), []
        for axis, part in enumerate(parts):
            own = (self.rows, self.columns)[axis]
            to = np.full(self.shape[axis], -1)
            if len(np.unique(part)) < np.size(part):
                raise UnsupportedError(
                    "a sparse matrix that is traced cannot be indexed by the same place twice. "
                    "Write instead: A.toarray()[rows]"
                )
            to[part] = np.arange(np.size(part)).reshape(np.shape(part))
            kept = kept[to[own[kept]] >= 0]
            places.append((own, to))
        size = tuple(map(np.size, parts))
        rows, columns = (to[own[kept]] for own, to in places)
        cut = type(self)(self.data[kept], rows, columns, size)
        if parts[0].ndim == parts[1].ndim == 0:
            return np.sum(cut.data)
        return cut

    def __setitem__(self, key: Any, value: Any) -> None:
        rows, columns = (np.arange(n)[k] for n, k in zip(self.shape, key, strict=True))
        if rows.ndim == columns.ndim == 1 and not all(map(holds_indices, key)):
            rows, columns = rows[:, None], columns[None, :]
        rows, columns = np.broadcast_arrays(rows, columns)
        value = value.toarray() if issparse(value) else floats(value)
        value = np.broadcast_to(value, rows.shape).reshape(-1)
        flat = rows.reshape(-1) * self.shape[1] + columns.reshape(-1)
        kept = np.flatnonzero(~np.isin(self.rows * self.shape[1] + self.columns, flat))
        self.data = _join([self.data[kept], value])
        self.rows = np.append(self.rows[kept], rows)
        self.columns = np.append(self.columns[kept], columns)


class ByElements(Entries):
    """One whose ``*`` is by elements, as of SciPy's ``*_array``."""

    by_elements = True


def _kind(*of: Any) -> type[Entries]:
    """Return what is made of sparse matrices: of any array an array, as SciPy does."""
    arrays = (ByElements, scipy.sparse.sparray)
    return ByElements if any(isinstance(x, arrays) for x in of) else Entries


def holds_indices(key: Any) -> bool:
    """Tell whether a key is a list or an array of places, and no slice."""
    return isinstance(key, (list, np.ndarray))


def _summed(terms: Any, places: Any, size: int) -> Any:
    """Return sums of terms at places."""
    if terms.dtype.kind == "c":
        return _summed(terms.real, places, size) + 1j * _summed(terms.imag, places, size)
    total = traced_numpy.zeros((size, *terms.shape[1:]), dtype=terms.dtype)
    np.add.at(total, places, terms)
    return total


def _product(a: Entries, b: Entries) -> Entries:
    """Return the product of two: an entry for each pair that meets."""
    order = np.argsort(b.rows, kind="stable")
    first, last = (np.searchsorted(b.rows[order], a.columns, side=s) for s in ("left", "right"))
    of_a = np.repeat(np.arange(a.nnz), last - first)
    of_b = order[np.concatenate([*map(np.arange, first, last), np.arange(0)])]
    return type(a)(
        a.data[of_a] * b.data[of_b], a.rows[of_a], b.columns[of_b], (a.shape[0], b.shape[1])
    )


# ---------------------------------------------------------------- made from


def issparse(x: Any) -> bool:
    """Tell whether something is a sparse matrix, symgrad's or SciPy's."""
    return isinstance(x, Entries) or scipy.sparse.issparse(x)


def entries(x: Any) -> Entries:
    """Return a sparse matrix of SciPy's, or a dense one, by its entries."""
    if isinstance(x, Entries):
        return x
    if scipy.sparse.issparse(x):
        kind, x = _kind(x), x.tocoo()
        return kind(x.data, x.row, x.col, x.shape)
    x = floats(x)
    if x.ndim != 2:
        raise ShapeError(f"a sparse matrix is made of a matrix, not of shape {x.shape}")
    rows, columns = np.indices(tuple(map(int, x.shape))).reshape(2, -1)
    return Entries(x.reshape(-1), rows, columns, x.shape)


def _made(name: str) -> Any:
    """Return what makes a matrix of one of SciPy's formats."""
    kind, made = name[:3], ByElements if name.endswith("array") else Entries

    def make(arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Entries:
        if not isinstance(arg1, tuple):
            return entries(arg1).of(made)
        if len(arg1) == 2 and isinstance(arg1[1], tuple):
            data, (rows, columns) = arg1
            rows, columns = (np.asarray(k, np.int64) for k in (rows, columns))
            size = shape or (int(rows.max()) + 1, int(columns.max()) + 1)
            return made(data, rows, columns, size)
        if len(arg1) == 3 and kind in ("csr", "csc"):
            data, inner, starts = arg1[0], *(np.asarray(k, np.int64) for k in arg1[1:])
            outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            places = (outer, inner) if kind == "csr" else (inner, outer)
            size = shape or tuple(int(k.max()) + 1 for k in places)
            return made(data, *places, size)
        if len(arg1) == 2 and all(isinstance(n, (int, np.integer)) for n in arg1):
            return made(np.zeros(0), [], [], arg1)
        raise UnsupportedError(
            f"{name} cannot be traced so. Write instead: coo_matrix((data, (rows, columns)), shape)"
        )

    return make


_FORMATS = ("coo", "csr", "csc", "lil", "dok")
_MAKERS = {n: _made(n) for kind in _FORMATS for n in (f"{kind}_matrix", f"{kind}_array")}
globals().update(_MAKERS)
__all__ += sorted(_MAKERS)  # noqa: PLE0605 - they are alike


def diags(
    diagonals: Any, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Entries:
    """Return a matrix by its diagonals, as ``scipy.sparse.diags``."""
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


def diags_array(
    diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: Any = None, dtype: Any = None
) -> Entries:
    """Return a matrix by its diagonals, as ``scipy.sparse.diags_array``."""
    return diags(diagonals, offsets, shape).of(ByElements)


def _of_numbers(made: Any) -> Any:
    """Return what makes a matrix of SciPy's by its entries."""
    return functools.wraps(made)(lambda *args, **kwargs: entries(made(*args, **kwargs)))


eye, eye_array = _of_numbers(scipy.sparse.eye), _of_numbers(scipy.sparse.eye_array)
identity = _of_numbers(scipy.sparse.identity)


def kron(A: Any, B: Any, format: Any = None) -> Entries:
    """Return the Kronecker product, as ``scipy.sparse.kron``."""
    a, b = entries(A), entries(B)
    of_a, of_b = np.repeat(np.arange(a.nnz), b.nnz), np.tile(np.arange(b.nnz), a.nnz)
    return _kind(A, B)(
        a.data[of_a] * b.data[of_b],
        a.rows[of_a] * b.shape[0] + b.rows[of_b], a.columns[of_a] * b.shape[1] + b.columns[of_b],
        (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]),
    )  # fmt: skip


def _placed(blocks: Any, down: bool, along: bool) -> Entries:
    parts = list(map(entries, blocks))
    ends = [list(itertools.accumulate((p.shape[k] for p in parts), initial=0)) for k in (0, 1)]
    row = ends[0] if down else [0] * len(ends[0])
    column = ends[1] if along else [0] * len(ends[1])
    return _kind(*blocks)(
        _join([p.data for p in parts]),
        np.concatenate([p.rows + k for p, k in zip(parts, row, strict=False)]),
        np.concatenate([p.columns + k for p, k in zip(parts, column, strict=False)]),
        (row[-1] or parts[0].shape[0], column[-1] or parts[0].shape[1]),
    )


def vstack(blocks: Any, format: Any = None, dtype: Any = None) -> Entries:
    """Return matrices below each other, as ``scipy.sparse.vstack``."""
    return _placed(blocks, True, False)


def hstack(blocks: Any, format: Any = None, dtype: Any = None) -> Entries:
    """Return matrices beside each other, as ``scipy.sparse.hstack``."""
    return _placed(blocks, False, True)


def block_diag(mats: Any, format: Any = None, dtype: Any = None) -> Entries:
    """Return matrices along the diagonal, as ``scipy.sparse.block_diag``."""
    return _placed(mats, True, True)


_names, __dir__ = offering(scipy.sparse, globals(), reasons("sparse"))


def __getattr__(name: str) -> Any:
    return late_module(f"{__name__}.linalg") if name == "linalg" else _names(name)

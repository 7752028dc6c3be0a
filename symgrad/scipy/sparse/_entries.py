"""A sparse matrix in a trace: entries that may be traced, at places that are numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse

from ... import numpy as traced_numpy
from ..._disguise import stands_for
from ..._ops.np_common import is_traced
from ...errors import ShapeError, UnsupportedError
from .._replacing import floats

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

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.scipy.sparse import csr_array
    >>> f = lambda x: csr_array((x, ([0, 1], [1, 0]))) @ x
    >>> sg.jacobian(f)(np.array([2.0, 3.0]))
    array([[3., 2.],
           [3., 2.]])
    """

    ndim, format = 2, "csr"
    by_elements = False  # what `*` is
    __class__ = stands_for(
        lambda x: scipy.sparse.csr_array if type(x).by_elements else scipy.sparse.csr_matrix
    )

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

    tocoo = asformat = copy = astype = _itself

    def tocsr(self, copy: bool = False) -> Entries:
        """Return the entries by rows, those of one place added up."""
        n = self.shape[1]
        flat, place = np.unique(self.rows * n + self.columns, return_inverse=True)
        if len(flat) < self.nnz:
            data = _summed(self.data, place, len(flat))
        elif np.array_equal(place, np.arange(len(place))):
            return self
        else:
            data = self.data[np.argsort(place)]
        return type(self)(data, flat // n, flat % n, self.shape)

    tolil = todok = tobsr = tocsr

    def tocsc(self, copy: bool = False) -> Entries:
        """Return the entries by columns, those of one place added up."""
        return self.T.tocsr().T

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

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of all entries, of columns (0) or of rows (1), which stay such."""
        if axis is None:
            return np.sum(self.data)
        kept = 1 if axis in (0, -2) else 0
        found = _summed(self.data, (self.rows, self.columns)[kept], self.shape[kept])
        return found if self.by_elements else np.expand_dims(found, 1 - kept)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the mean of all elements, of columns (0) or of rows (1)."""
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / count

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    # ---------------------------------------------------------------- arithmetic

    def _each(self, function: Any) -> Entries:
        """Return a function of each element that is 0 at 0."""
        whole = self.tocsr()  # the entries of one place add up before
        return type(self)(function(whole.data), whole.rows, whole.columns, self.shape)

    def __abs__(self) -> Entries:
        return self._each(np.abs)

    def power(self, n: Any, dtype: Any = None) -> Entries:
        """Return a power of each element."""
        if np.ndim(n) or (not is_traced(n) and n == 0):
            raise NotImplementedError("the powers of a sparse matrix are numbers, and not zero")
        return self._each(lambda x: x**n)

    def __pow__(self, n: Any) -> Any:
        if self.by_elements:
            return self.power(n)
        if not isinstance(n, (int, np.integer)) or n < 1 or self.shape[0] != self.shape[1]:
            raise UnsupportedError(
                "a sparse matrix that is traced has powers of whole numbers from 1, if it is "
                "square. Write instead: A.power(n) for powers of the elements"
            )
        found = self
        for _ in range(n - 1):
            found = _product(found, self)
        return found

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

    __symgrad_operators__ = True  # traced arrays' operators leave it to these

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Apply a function of NumPy's of which sparse matrices have a method or an operator."""
        name = ufunc.__name__
        if method == "__call__" and not kwargs:
            if name in _METHODS:
                return _METHODS[name](self)
            if ufunc in _OPERATORS:
                return _by_operator(_OPERATORS[ufunc], *inputs)
        asked = f"np.{name}{'' if method == '__call__' else f'.{method}'}"
        raise UnsupportedError(
            f"{asked} takes no sparse matrix that is traced{' with options' if kwargs else ''}. "
            f"Write instead: {asked}(A.toarray()), or of the entries alone {asked}(A.data)"
        )

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise UnsupportedError(
            "a sparse matrix that is traced is not compared. Write instead: A.toarray() == ..."
        )

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a sparse matrix that is traced has no {name}. Write instead: A.toarray() and "
            "NumPy's functions of it, or of the entries, A.data at A.rows and A.columns"
        )

    dot = __matmul__

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and not issparse(other):
            return type(self)(self.data * other, self.rows, self.columns, self.shape)
        return self.multiply(other) if self.by_elements else self @ other

    def __rmul__(self, other: Any) -> Any:
        if np.ndim(other) == 0:
            return self * other
        return self.multiply(other) if self.by_elements else other @ self

    def __truediv__(self, other: Any) -> Any:
        if issparse(other):
            return self.toarray() / other.toarray()
        if np.ndim(other):
            return self.multiply(1.0 / floats(other))
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
        ).tocsr()  # fmt: skip

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
        elif holds_indices(rows) and holds_indices(columns):
            raise UnsupportedError(
                "a sparse matrix that is traced gives no entries one by one. Write instead: "
                "A.toarray()[rows, columns], or A[np.ix_(rows, columns)] for all that cross"
            )
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
        if self.by_elements and 0 in (parts[0].ndim, parts[1].ndim):
            raise UnsupportedError(
                "a sparse array that is traced has no rows and columns of one axis. Write "
                "instead: A[[i]] or A[:, [j]], or A.toarray()[i]"
            )
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


def _each_by(function: np.ufunc) -> Any:
    def method(self: Entries) -> Entries:
        return self._each(function)

    method.__doc__ = f"Return ``np.{function.__name__}`` of each element."
    return method


_METHODS: dict[str, Any] = {
    "absolute": abs, "negative": operator.neg, "conjugate": Entries.conj,
    "square": lambda x: x * x,
}  # fmt: skip

#: The functions that sparse matrices have as methods: all are 0 at 0.
for _name in (
    "sqrt", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1",
    "log1p", "deg2rad", "rad2deg", "sign", "floor", "ceil", "trunc", "rint",
):  # fmt: skip
    _METHODS[_name] = _each_by(getattr(np, _name))
    setattr(Entries, _name, _METHODS[_name])

_OPERATORS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv",
    np.power: "pow", np.matmul: "matmul", np.equal: "eq",
}  # fmt: skip


def _by_operator(name: str, a: Any, b: Any) -> Any:
    """Carry out ``a + b`` and others for two of which one is a matrix, where NumPy was asked."""
    own = isinstance(a, Entries)
    method = getattr(type(a if own else b), f"__{name}__" if own else f"__r{name}__", None)
    found = NotImplemented if method is None else method(*((a, b) if own else (b, a)))
    if found is NotImplemented:
        raise UnsupportedError(
            f"sparse matrices that are traced have no {name} of {type(a).__name__} and "
            f"{type(b).__name__}. Write instead: A.toarray()"
        )
    return found


class ByElements(Entries):
    """One whose ``*`` is by elements, as of SciPy's ``*_array``."""

    by_elements = True


def kind_of(*of: Any) -> type[Entries]:
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
    ).tocsr()


# ---------------------------------------------------------------- made from


def issparse(x: Any) -> bool:
    """Tell whether something is a sparse matrix, symgrad's or SciPy's.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrad.scipy import sparse
    >>> sparse.issparse(sparse.diags(np.ones(2))), sparse.issparse(np.eye(2))
    (True, False)
    """
    return isinstance(x, Entries) or scipy.sparse.issparse(x)


def entries(x: Any) -> Entries:
    """Return a sparse matrix of SciPy's, or a dense one, by its entries."""
    if isinstance(x, Entries):
        return x
    if scipy.sparse.issparse(x):
        kind, x = kind_of(x), x.tocoo()
        return kind(x.data, x.row, x.col, x.shape)
    x = floats(x)
    if x.ndim != 2:
        raise ShapeError(f"a sparse matrix is made of a matrix, not of shape {x.shape}")
    rows, columns = np.indices(tuple(map(int, x.shape))).reshape(2, -1)
    return Entries(x.reshape(-1), rows, columns, x.shape)

"""A sparse matrix in a trace: entries that may be traced, at places that are numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse

from ... import numpy as traced_numpy
from ..._disguise import stands_for
from ..._ops.np_common import is_traced
from ..._trace._tree import Placed
from ...errors import ShapeError, UnsupportedError
from .._replacing import floats, refuse_option
from . import _parts
from ._parts import OPERATORS, Places, by_operator, product, summed

_join = traced_numpy.concatenate


class Entries(Placed):
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
    >>> from symgrad.scipy.sparse import csr_array
    >>> f = lambda x: csr_array((x, ([0, 1], [1, 0]))) @ x
    >>> sg.jacobian(f)(np.array([2.0, 3.0]))
    array([[3., 2.],
           [3., 2.]])
    """

    ndim = 2
    by_elements = False  # what `*` is
    __class__ = stands_for(
        lambda x: scipy.sparse.csr_array if type(x).by_elements else scipy.sparse.csr_matrix
    )

    def __init__(self, data: Any, rows: Any, columns: Any, shape: Any) -> None:
        self.data = floats(data)
        self.rows, self.columns = (np.asarray(k, np.int64).reshape(-1) for k in (rows, columns))
        self.shape = tuple(map(int, shape))
        #: The format whose index arrays go with the data as they are.
        self.order: str | None = None
        if self.data.ndim != 1 or not len(self.rows) == len(self.columns) == self.data.shape[0]:
            raise ShapeError(
                f"a sparse matrix has entries in a row with as many places: {self.data.shape}, "
                f"{self.rows.shape}, {self.columns.shape}"
            )

    def places(self) -> Places:
        """Return what the matrix is without its entries, as a result of a function."""
        return Places(self)

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
    def format(self) -> str:
        """The format, csr where that makes no difference."""
        return self.order or "csr"

    @property
    def row(self) -> Any:
        """The rows of the entries, as of ``coo_array``."""
        return self.rows

    @property
    def col(self) -> Any:
        """The columns of the entries, as of ``coo_array``."""
        return self.columns

    def ordered(self, form: str | None) -> Entries:
        """Return the same entries, whose order is known to be that of a format."""
        found = type(self)(self.data, self.rows, self.columns, self.shape)
        found.order = form
        return found

    def with_data(self, data: Any) -> Entries:
        """Return other entries at the same places."""
        return type(self)(data, self.rows, self.columns, self.shape).ordered(self.order)

    def at(self, places: Any) -> Entries:
        """Return some of the entries, in their order."""
        rows, columns = self.rows[places], self.columns[places]
        return type(self)(self.data[places], rows, columns, self.shape).ordered(self.order)

    @property
    def T(self) -> Entries:
        """The transpose."""
        turned = {"csr": "csc", "csc": "csr"}.get(self.order or "")
        return type(self)(self.data, self.columns, self.rows, self.shape[::-1]).ordered(turned)

    def transpose(self, axes: Any = None, copy: bool = False) -> Entries:
        """Return the transpose."""
        return self.T

    def conj(self, copy: bool = True) -> Entries:
        """Return the complex conjugate."""
        return self.with_data(np.conj(self.data))

    conjugate = conj

    def of(self, kind: type[Entries]) -> Entries:
        """Return the same entries in another class."""
        return kind(self.data, self.rows, self.columns, self.shape).ordered(self.order)

    def _itself(self, *args: Any, **kwargs: Any) -> Entries:
        return self

    tocoo = copy = _itself

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Entries:
        """Return the entries in another type; whole numbers are floats without a fraction."""
        return self.with_data(self.data.astype(dtype))

    def asformat(self, format: Any, copy: bool = False) -> Entries:
        """Return the entries in the order of a format."""
        made: Entries = self if format is None else getattr(self, f"to{format}")()
        return made

    def tocsr(self, copy: bool = False) -> Entries:
        """Return the entries by rows, those of one place added up."""
        n = self.shape[1]
        flat, place = np.unique(self.rows * n + self.columns, return_inverse=True)
        if len(flat) < self.nnz:
            data = summed(self.data, place, len(flat))
        elif np.array_equal(place, np.arange(len(place))):
            return self if self.order == "csr" else self.ordered("csr")
        else:
            data = self.data[np.argsort(place)]
        return type(self)(data, flat // n, flat % n, self.shape).ordered("csr")

    tolil = todok = tobsr = todia = tocsr

    def tocsc(self, copy: bool = False) -> Entries:
        """Return the entries by columns, those of one place added up."""
        return self.T.tocsr().T

    def whole(self, order: str | None) -> Entries:
        """Return the entries, those of one place added up, in the order of a format, if any."""
        return self.tocsc() if order == "csc" else self.tocsr().ordered(order)

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """Return the dense matrix."""
        if out is not None:
            refuse_option("toarray", "out", out, "out[...] = A.toarray()")
        n, m = self.shape
        return summed(self.data, self.rows * m + self.columns, n * m).reshape(self.shape)

    todense = toarray

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal."""
        n, m = self.shape
        on = np.flatnonzero(self.columns - self.rows == k)
        place = self.rows[on] if k >= 0 else self.columns[on]
        return summed(self.data[on], place, min(n, m - k) if k >= 0 else min(n + k, m))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of all entries, of columns (0) or of rows (1), which stay such."""
        if out is not None:
            refuse_option("the sum of a sparse matrix", "out", out, "out[...] = A.sum(axis)")
        if dtype is not None:
            return self.sum(axis).astype(dtype)
        if axis is None:
            return np.sum(self.data)
        kept = 1 if axis in (0, -2) else 0
        found = summed(self.data, (self.rows, self.columns)[kept], self.shape[kept])
        return found if self.by_elements else np.expand_dims(found, 1 - kept)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the mean of all elements, of columns (0) or of rows (1)."""
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis, dtype, out) / count

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        return np.sum(self.diagonal(offset))

    def _each(self, function: Any) -> Entries:
        """Return a function of each element that is 0 at 0."""
        whole = self.whole(self.order)
        return whole.with_data(function(whole.data))

    def __abs__(self) -> Entries:
        return self._each(np.abs)

    def power(self, n: Any, dtype: Any = None) -> Entries:
        """Return a power of each element."""
        if np.ndim(n) or (not is_traced(n) and n == 0):
            raise NotImplementedError("the powers of a sparse matrix are numbers, and not zero")
        found = self._each(lambda x: x**n)
        return found if dtype is None else found.astype(dtype)

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
            found = product(found, self)
        return found

    def __matmul__(self, other: Any) -> Any:
        if issparse(other):
            return product(self, entries(other))
        x = floats(other)
        if x.shape[0] != self.shape[1]:
            raise ShapeError(f"a matrix of shape {self.shape} times an array of shape {x.shape}")
        if not is_traced(self.data):  # one product, by rows
            return scipy.sparse.csr_array((self.data, (self.rows, self.columns)), self.shape) @ x
        terms = self.data.reshape((-1, *(1,) * (x.ndim - 1))) * x[self.columns]
        return summed(terms, self.rows, self.shape[0])

    def __rmatmul__(self, other: Any) -> Any:
        return (self.T @ floats(other).T).T

    __symgrad_operators__ = True  # traced arrays' operators leave it to these

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Apply a function of NumPy's of which sparse matrices have a method or an operator."""
        name = ufunc.__name__
        if method == "__call__" and not kwargs:
            if name in _METHODS:
                return _METHODS[name](self)
            if ufunc in OPERATORS:
                return by_operator(Entries, OPERATORS[ufunc], *inputs)
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
        if name in ("indices", "indptr"):
            return self._index()[name]
        raise AttributeError(
            f"a sparse matrix that is traced has no {name}. Write instead: A.toarray() and "
            "NumPy's functions of it, or of the entries, A.data at A.rows and A.columns"
        )

    def _index(self) -> dict[str, Any]:
        """Return the index arrays of the format in whose order the entries are."""
        if self.order is None:
            raise AttributeError(
                "a sparse matrix that is traced has indices and indptr where it was made so. "
                "Write instead: A = A.tocsr() or A.tocsc() before, and A.data of the same A"
            )
        places = (self.rows, self.columns) if self.order == "csr" else (self.columns, self.rows)
        size = self.shape[self.order == "csc"]
        starts = np.append(0, np.cumsum(np.bincount(places[0], minlength=size)))
        return {"indices": places[1].astype(np.int32), "indptr": starts.astype(np.int32)}

    dot = __matmul__

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and not issparse(other):
            return self.with_data(self.data * other)
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
        return self.with_data(self.data / other)

    def __neg__(self) -> Entries:
        return self.with_data(-self.data)

    def __add__(self, other: Any) -> Any:
        if not issparse(other):
            return self if np.ndim(other) == 0 and other == 0 else self.toarray() + other
        other = entries(other)
        if self.shape != other.shape:
            raise ShapeError(f"sparse matrices of shapes {self.shape} and {other.shape}")
        return type(self)(
            _join([self.data, other.data]), np.append(self.rows, other.rows),
            np.append(self.columns, other.columns), self.shape,
        ).whole(self.order or "csr")  # fmt: skip

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -(entries(other) if issparse(other) else other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def multiply(self, other: Any) -> Entries:
        """Return elementwise products, with a sparse matrix at the places that both have."""
        if issparse(other) and other.shape == self.shape:
            common: Entries = _parts.common(self, entries(other).tocsr())
            return common
        by = other.toarray() if issparse(other) else floats(other)
        by = np.broadcast_to(by, self.shape)[self.rows, self.columns]
        return self.with_data(self.data * by)

    __getitem__, __setitem__, setdiag = _parts.part_of, _parts.write, _parts.set_diagonal


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


class ByElements(Entries):
    """One whose ``*`` is by elements, as of SciPy's ``*_array``."""

    by_elements = True


def kind_of(*of: Any) -> type[Entries]:
    """Return what is made of sparse matrices: of any array an array, as SciPy does."""
    arrays = (ByElements, scipy.sparse.sparray)
    return ByElements if any(isinstance(x, arrays) for x in of) else Entries


def issparse(x: Any) -> bool:
    """Tell whether something is a sparse matrix, symgrad's or SciPy's.

    Examples
    --------
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
        kind, all_ = kind_of(x), x.tocoo(copy=False)
        found = kind(all_.data, all_.row, all_.col, all_.shape)
        return found.ordered(x.format) if x.format in ("csr", "csc") else found
    x = floats(x)
    if x.ndim != 2:
        raise ShapeError(f"a sparse matrix is made of a matrix, not of shape {x.shape}")
    rows, columns = np.indices(tuple(map(int, x.shape))).reshape(2, -1)
    return Entries(x.reshape(-1), rows, columns, x.shape)

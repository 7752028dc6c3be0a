"""A sparse matrix in a trace: entries that may be traced, at places that are numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse

from ... import numpy as traced_numpy
from ..._core.base.stand_in_types import stands_for
from ..._core.ops.np_common import is_traced
from ..._core.trace import Placed
from ...errors import ShapeError, UnsupportedError
from .._versions import floats, refuse_option
from . import _indexing as _parts
from ._indexing import OPERATORS, Places, by_operator, product, summed
from ._structure import Making, like_data, numbers_of, places_of, version_of, without

_join = traced_numpy.concatenate


class Entries(Placed):
    """A sparse matrix by its entries; those of one place add up.

    ``*`` is the product of matrices, as of SciPy's ``*_matrix``.

    Parameters
    ----------
    data:
        The entries, shape ``(m,)``; may be traced.
    rows, columns:
        Their places, integers of shape ``(m,)``.
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
        self._terms = floats(data)
        #: What was given away of a matrix that keeps more, and as it was then.
        self._given: Any = None
        self.term_rows, self.term_columns = (
            np.asarray(k, np.int64).reshape(-1) for k in (rows, columns)
        )
        self.shape = tuple(map(int, shape))
        #: The format whose index arrays go with the data as they are.
        self.order: str | None = None
        #: How SciPy makes the matrix; None where it stores the entries as they are.
        self.making: Making | None = None
        if (
            self.terms.ndim != 1
            or not len(self.term_rows) == len(self.term_columns) == self.terms.shape[0]
        ):
            raise ShapeError(
                f"a sparse matrix has entries in a row with as many places: {self.terms.shape}, "
                f"{self.term_rows.shape}, {self.term_columns.shape}"
            )

    @property
    def terms(self) -> Any:
        """The entries, with those that SciPy does not store while they are zero."""
        if self._given is not None and version_of(self._given[0]) != self._given[1]:
            raise UnsupportedError(
                "something was written to A.data of a sparse matrix that leaves entries out which "
                "are zero. Write instead: d = A.data; d[...] = ...; A.data = d"
            )
        return self._terms

    @terms.setter
    def terms(self, values: Any) -> None:
        self._terms, self._given = values, None

    def places(self) -> Places:
        """Return what the matrix is without its entries, as a result of a function."""
        return Places(self)

    # ---------------------------------------------------------------- as it is

    @property
    def dtype(self) -> Any:
        """Of the entries."""
        return self.terms.dtype

    @property
    def depends(self) -> bool:
        """Whether the structure depends on which numbers are zero."""
        return self.making is not None and self.making.depends

    @property
    def count(self) -> int:
        """How many entries there are, with those that SciPy does not store while they are zero."""
        return len(self.term_rows)

    def in_scipy(self, known: bool) -> Any:
        """Return SciPy's matrix, with the numbers of the example call or with some."""
        if self.making is not None:
            return self.making.matrix(known)
        data, given = numbers_of(self.terms, known), (self.term_rows, self.term_columns)
        if self.order is not None:
            index = self._index()
            given = index["indices"], index["indptr"]
        kind = "array" if self.by_elements else "matrix"
        make = getattr(scipy.sparse, f"{self.order or 'coo'}_{kind}")
        return make((data, given) if self.order is None else (data, *given), shape=self.shape)

    def structure(self) -> Any:
        """Return a SciPy matrix that has the structure."""
        return self.in_scipy(self.depends)

    def made(self, make: Any, *operands: Any, depends: bool = False, zeros: bool = True) -> Entries:
        """Say by which call SciPy makes the matrix.

        ``depends``: its structure does so on which numbers are zero; ``zeros``: they are stored.
        """
        self.making = Making(make, operands, depends, None if zeros else self.terms)
        return self

    def _alike(self, found: Entries, make: Any, *others: Any) -> Entries:
        """Return what has the structure of this matrix, or the same one turned."""
        if self.making is None and not any(isinstance(x, Entries) for x in others):
            return found
        return found.made(make, self, *others)

    @property
    def nnz(self) -> int:
        """How many entries SciPy stores."""
        return self.count if self.making is None else int(self.structure().nnz)

    @property
    def format(self) -> str:
        """SciPy's format."""
        if self.making is None:
            return self.order or "coo"
        return str(self.structure().format)

    @property
    def stored(self) -> tuple[Any, Any]:
        """The row and the column of each entry that SciPy stores."""
        if self.making is None:
            return self.term_rows, self.term_columns
        return places_of(self.structure())

    @property
    def rows(self) -> Any:
        """The rows of the stored entries; of the format lil lists of columns for each row."""
        if self.making is not None and self.format == "lil":
            return self.structure().rows
        return self.stored[0]

    @property
    def columns(self) -> Any:
        """The columns of the stored entries."""
        return self.stored[1]

    @property
    def row(self) -> Any:
        """The rows of the entries, as of ``coo_array``."""
        return self.stored[0]

    @property
    def col(self) -> Any:
        """The columns of the entries, as of ``coo_array``."""
        return self.stored[1]

    @property
    def data(self) -> Any:
        """The stored entries."""
        if self.making is None:
            return self.terms
        if self._given is not None and self.terms is not None:
            return self._given[0]
        found = self.structure()
        if found.format == "dok":
            return self.__getattr__("data")
        rows, columns = places_of(found)
        n, m = self.shape
        if np.array_equal(rows, self.term_rows) and np.array_equal(columns, self.term_columns):
            values = self.terms
        else:
            outside = (rows < 0) | (rows >= n) | (columns < 0) | (columns >= m)
            if np.any(outside) and np.any(found.data[outside]):
                raise UnsupportedError(
                    "the data of a dia_array that is traced, with numbers outside of the matrix. "
                    "Write instead: A.tocoo().data"
                )
            wanted = np.where(outside, -1, rows * m + columns).reshape(-1)
            values = self._at_places(wanted, self.depends)
            left_out = ~np.isin(self.term_rows * m + self.term_columns, wanted)
            if np.any(left_out) or found.format not in ("coo", "csr", "csc"):
                values = like_data(found, values)
                self._given = values, version_of(values)
                return values
        if found.format in ("coo", "csr", "csc"):  # what is written to them is written to it
            order = None if found.format == "coo" else found.format
            self._become(values, rows, columns, order)
            return self.terms
        return like_data(found, values)

    @data.setter
    def data(self, values: Any) -> None:
        rows, columns = self.stored
        form = self.format
        if form not in ("coo", "csr", "csc"):
            raise UnsupportedError(
                f"data of a {form} matrix that is traced are not assigned. Write instead: A.tocsr()"
            )
        self._become(values, rows, columns, None if form == "coo" else form)

    def _become(self, values: Any, rows: Any, columns: Any, order: str | None) -> None:
        self.__init__(values, rows, columns, self.shape)  # type: ignore[misc]
        self.order = order

    def _at_places(self, wanted: Any, zeros_left_out: bool) -> Any:
        """Return entries by their places in the flat matrix, 0 for -1; the others may be zero."""
        whole = self._by_rows()
        flat = whole.term_rows * self.shape[1] + whole.term_columns
        inside = wanted[wanted >= 0]
        if len(np.unique(inside)) < len(inside):
            raise UnsupportedError(
                "the entries of a sparse matrix that is traced, several for one place. Write "
                "instead: A.sum_duplicates() before"
            )
        left_out = np.flatnonzero(~np.isin(flat, wanted))
        values = _picked(whole.terms, flat, wanted)
        if len(left_out) and zeros_left_out:
            values = without(values, whole.terms[left_out])
        return values

    def found(self) -> tuple[Any, Any, Any]:
        """Return the rows, the columns and the values of what is not zero."""
        rows, columns, _ = scipy.sparse.find(self.in_scipy(True))
        flat = rows.astype(np.int64) * self.shape[1] + columns
        return rows, columns, self._at_places(flat, True)

    def nonzero(self) -> tuple[Any, Any]:
        """Return the rows and the columns of the entries that are not zero."""
        rows, columns = self.in_scipy(True).nonzero()
        return rows, columns

    def count_nonzero(self, axis: Any = None) -> Any:
        """Return how many entries are not zero, in all or along an axis."""
        return np.count_nonzero(self.toarray(), axis)

    def getnnz(self, axis: Any = None) -> Any:
        """Return how many entries are stored, in all or along an axis."""
        return self.nnz if axis is None else self.structure().getnnz(axis)

    def _in_place(self, make: Any, depends: bool = False) -> None:
        before = self.copied()

        def changed(a: Any) -> Any:
            a = a.copy()
            make(a)
            return a

        self.made(changed, before, depends=depends)

    def copied(self) -> Entries:
        """Return the matrix as it is, whatever is written to it."""
        found = type(self)(self.terms, self.term_rows, self.term_columns, self.shape)
        found.order, found.making = self.order, self.making
        return found

    def eliminate_zeros(self) -> None:
        """Store no zeros."""
        self._in_place(lambda a: a.eliminate_zeros(), depends=True)

    def sum_duplicates(self) -> None:
        """Store the sum of entries of one place."""
        self._in_place(lambda a: a.sum_duplicates())

    def sort_indices(self) -> None:
        """Store the entries in order."""
        self._in_place(lambda a: a.sort_indices())

    def sorted_indices(self) -> Entries:
        """Return the same with the entries in order."""
        return self.copied().made(lambda a: a.sorted_indices(), self)

    def prune(self) -> None:
        """Give back memory; nothing is changed."""

    def _extreme(name: str) -> Any:  # type: ignore[misc] # noqa: N805 - makes methods
        function = getattr(np, name)

        def extreme(self: Entries, axis: Any = None, out: Any = None) -> Any:
            if axis is not None or out is not None:
                refuse_option(f"{name} of a sparse matrix", "axis", axis, f"np.{name}(A.toarray())")
            return function(self.toarray())

        extreme.__doc__ = f"Return ``np.{name}`` of all elements."
        return extreme

    max, min, argmax, argmin = map(_extreme, ("max", "min", "argmax", "argmin"))
    nanmax, nanmin = map(_extreme, ("nanmax", "nanmin"))

    def ordered(self, form: str | None) -> Entries:
        """Return the same entries, whose order is known to be that of a format."""
        found = type(self)(self.terms, self.term_rows, self.term_columns, self.shape)
        found.order = form
        return found

    def with_data(self, data: Any, make: Any = None, *others: Any) -> Entries:
        """Return other entries at the same places, which SciPy makes so."""
        places = self.term_rows, self.term_columns
        found = type(self)(data, *places, self.shape).ordered(self.order)
        return found if make is None else self._alike(found, make, *others)

    def at(self, places: Any) -> Entries:
        """Return some of the entries, in their order."""
        rows, columns = self.term_rows[places], self.term_columns[places]
        return type(self)(self.terms[places], rows, columns, self.shape).ordered(self.order)

    @property
    def T(self) -> Entries:
        """The transpose."""
        turned = {"csr": "csc", "csc": "csr"}.get(self.order or "")
        places = self.term_columns, self.term_rows
        found = type(self)(self.terms, *places, self.shape[::-1]).ordered(turned)
        return self._alike(found, lambda a: a.T)

    def transpose(self, axes: Any = None, copy: bool = False) -> Entries:
        """Return the transpose."""
        return self.T

    def conj(self, copy: bool = True) -> Entries:
        """Return the complex conjugate."""
        return self.with_data(np.conj(self.terms), lambda a: a.conj())

    conjugate = conj

    def of(self, kind: type[Entries]) -> Entries:
        """Return the same entries in another class."""
        found = kind(self.terms, self.term_rows, self.term_columns, self.shape).ordered(self.order)
        word = "array" if kind.by_elements else "matrix"
        return self._alike(found, lambda a: getattr(scipy.sparse, f"{a.format}_{word}")(a))

    def copy(self) -> Entries:
        """Return a copy."""
        found = self.copied()
        found.terms = self.terms.copy()
        return found

    def tocoo(self, copy: bool = True) -> Entries:
        """Return the entries with the place of each."""
        if self.making is None:
            return self.ordered(None)
        return self.copied().made(lambda a: a.tocoo(), self)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Entries:
        """Return the entries in another type; integers are floats without a fraction."""
        return self.with_data(self.terms.astype(dtype), lambda a: a.astype(dtype))

    def asformat(self, format: Any, copy: bool = False) -> Entries:
        """Return the entries in the order of a format."""
        made: Entries = self if format is None else getattr(self, f"to{format}")()
        return made

    def tocsr(self, copy: bool = False) -> Entries:
        """Return the entries by rows, those of one place added up."""
        found = self._by_rows()
        if self.making is None and (self.order is None or found.count == self.count):
            return found
        return found.copied().made(lambda a: a.tocsr(), self)

    def _by_rows(self) -> Entries:
        n = self.shape[1]
        flat, place = np.unique(self.term_rows * n + self.term_columns, return_inverse=True)
        if len(flat) < self.count:
            data = summed(self.terms, place, len(flat))
        elif np.array_equal(place, np.arange(len(place))):
            return self if self.order == "csr" else self.ordered("csr")
        else:
            data = self.terms[np.argsort(place)]
        return type(self)(data, flat // n, flat % n, self.shape).ordered("csr")

    def tocsc(self, copy: bool = False) -> Entries:
        """Return the entries by columns, those of one place added up."""
        found = self._by_columns()
        if self.making is None and (self.order is None or found.count == self.count):
            return found
        return found.copied().made(lambda a: a.tocsc(), self)

    def _by_columns(self) -> Entries:
        places = self.term_columns, self.term_rows
        turned = type(self)(self.terms, *places, self.shape[::-1])._by_rows()
        places = turned.term_columns, turned.term_rows
        return type(self)(turned.terms, *places, self.shape).ordered("csc")

    def tolil(self, copy: bool = False) -> Entries:
        """Return the matrix by lists of rows."""
        return self._by_rows().copied().made(lambda a: a.tolil(), self)

    def todok(self, copy: bool = False) -> Entries:
        """Return the matrix as a dictionary by places."""
        return self._by_rows().copied().made(lambda a: a.todok(), self)

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Entries:
        """Return the matrix by blocks."""
        return self._by_rows().copied().made(lambda a: a.tobsr(blocksize), self)

    def todia(self, copy: bool = False) -> Entries:
        """Return the matrix by diagonals, of which other formats store no zeros."""
        return self._by_rows().copied().made(lambda a: a.todia(), self, depends=True)

    def whole(self, order: str | None) -> Entries:
        """Return the entries, those of one place added up, in the order of a format, if any."""
        return self._by_columns() if order == "csc" else self._by_rows().ordered(order)

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """Return the dense matrix."""
        if out is not None:
            refuse_option("toarray", "out", out, "out[...] = A.toarray()")
        n, m = self.shape
        return summed(self.terms, self.term_rows * m + self.term_columns, n * m).reshape(self.shape)

    todense = toarray

    def diagonal(self, k: int = 0) -> Any:
        """Return a diagonal."""
        n, m = self.shape
        on = np.flatnonzero(self.term_columns - self.term_rows == k)
        place = self.term_rows[on] if k >= 0 else self.term_columns[on]
        return summed(self.terms[on], place, min(n, m - k) if k >= 0 else min(n + k, m))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of all entries, of columns (0) or of rows (1), which stay such."""
        if out is not None:
            refuse_option("the sum of a sparse matrix", "out", out, "out[...] = A.sum(axis)")
        if dtype is not None:
            return self.sum(axis).astype(dtype)
        if axis is None:
            return np.sum(self.terms)
        kept = 1 if axis in (0, -2) else 0
        found = summed(self.terms, (self.term_rows, self.term_columns)[kept], self.shape[kept])
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
        found = whole.with_data(function(whole.terms))
        if self.making is None and whole.count == self.count:
            return found
        return found.made(function, self)

    def __abs__(self) -> Entries:
        return self._each(np.abs)

    def power(self, n: Any, dtype: Any = None) -> Entries:
        """Return a power of each element."""
        if np.ndim(n) or (not is_traced(n) and n == 0):
            raise NotImplementedError("the powers of a sparse matrix are numbers, and not zero")
        found = self._each(lambda x: x.power(n) if scipy.sparse.issparse(x) else x**n)
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
        if not is_traced(self.terms):  # one product, by rows
            return (
                scipy.sparse.csr_array(
                    (self.terms, (self.term_rows, self.term_columns)), self.shape
                )
                @ x
            )
        terms = self.terms.reshape((-1, *(1,) * (x.ndim - 1))) * x[self.term_columns]
        return summed(terms, self.term_rows, self.shape[0])

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
        if name in ("indices", "indptr") and self.making is None:
            return self._index()[name]
        if name in _FACTS:
            fact = getattr(self.structure(), name)
            return fact.copy() if isinstance(fact, np.ndarray) else fact
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
        places = (
            (self.term_rows, self.term_columns)
            if self.order == "csr"
            else (self.term_columns, self.term_rows)
        )
        size = self.shape[self.order == "csc"]
        starts = np.append(0, np.cumsum(np.bincount(places[0], minlength=size)))
        return {"indices": places[1].astype(np.int32), "indptr": starts.astype(np.int32)}

    dot = __matmul__

    def __mul__(self, other: Any) -> Any:
        if np.ndim(other) == 0 and not issparse(other):
            return self.with_data(self.terms * other, lambda a, x: a * x, other)
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
        return self.with_data(self.terms / other, lambda a, x: a / x, other)

    def __neg__(self) -> Entries:
        return self.with_data(-self.terms, lambda a: -a)

    def __add__(self, other: Any) -> Any:
        if not issparse(other):
            return self if np.ndim(other) == 0 and other == 0 else self.toarray() + other
        other = entries(other)
        if self.shape != other.shape:
            raise ShapeError(f"sparse matrices of shapes {self.shape} and {other.shape}")
        return type(self)(
            _join([self.terms, other.terms]), np.append(self.term_rows, other.term_rows),
            np.append(self.term_columns, other.term_columns), self.shape,
        ).whole(self.order or "csr").made(operator.add, self, other, zeros=False)  # fmt: skip

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not issparse(other):
            return self + -other
        other = entries(other)
        found: Entries = self + -other
        return found.made(operator.sub, self, other, zeros=False)

    def __rsub__(self, other: Any) -> Any:
        return entries(other) - self if issparse(other) else -self + other

    def multiply(self, other: Any) -> Entries:
        """Return elementwise products, with a sparse matrix at the places that both have."""
        if issparse(other) and other.shape == self.shape:
            common: Entries = _parts.common(self, entries(other)._by_rows())
            return common.made(lambda a, b: a.multiply(b), self, other, zeros=False)
        by = other.toarray() if issparse(other) else floats(other)
        by = np.broadcast_to(by, self.shape)[self.term_rows, self.term_columns]
        found = self.with_data(self.terms * by)
        sparse = issparse(other)
        return found.made(lambda a, x: a.multiply(x), self, other, zeros=not sparse)

    __getitem__, __setitem__, setdiag = _parts.part_of, _parts.write, _parts.set_diagonal


#: Attributes of SciPy's matrices that say how they are stored.
_FACTS = ("indices", "indptr", "coords", "offsets", "blocksize", "keys", "has_sorted_indices",
          "has_canonical_format")  # fmt: skip


def _picked(terms: Any, flat: Any, wanted: Any) -> Any:
    """Return the terms at places, which ascend in ``flat``; 0 where there is none."""
    at = np.clip(np.searchsorted(flat, wanted), 0, max(len(flat) - 1, 0))
    there = flat[at] == wanted if len(flat) else np.zeros(len(wanted), bool)
    if not np.all(there):
        zero = traced_numpy.zeros(1, dtype=terms.dtype)
        terms, at = _join([terms, zero]), np.where(there, at, len(flat))
    return terms if np.array_equal(at, np.arange(terms.shape[0])) else terms[at]


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
        found = found.ordered(x.format) if x.format in ("csr", "csc") else found
        return found.made(lambda: x, depends=x.format == "dia")  # of it others store no zeros
    x = floats(x)
    if x.ndim != 2:
        raise ShapeError(f"a sparse matrix is made of a matrix, not of shape {x.shape}")
    if not is_traced(x):
        return entries(scipy.sparse.coo_matrix(x))
    rows, columns = np.indices(tuple(map(int, x.shape))).reshape(2, -1)
    found = Entries(x.reshape(-1), rows, columns, x.shape)
    return found.made(scipy.sparse.coo_matrix, x, depends=True)

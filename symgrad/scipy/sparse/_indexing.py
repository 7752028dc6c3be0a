"""Parts of a sparse matrix in a trace, read and written; sums, operators, results."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse

from ... import numpy as traced_numpy
from ..._core.ops.np_common import is_traced
from ...errors import ShapeError, UnsupportedError
from .._versions import floats
from ._structure import Making

#: Operators by NumPy's functions.
OPERATORS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv",
    np.power: "pow", np.matmul: "matmul", np.equal: "eq",
}  # fmt: skip


def by_operator(kind: type, name: str, a: Any, b: Any) -> Any:
    """Carry out ``a + b`` and others for two of which one is of a kind, where NumPy was asked."""
    own = isinstance(a, kind)
    method = getattr(type(a if own else b), f"__{name}__" if own else f"__r{name}__", None)
    found = NotImplemented if method is None else method(*((a, b) if own else (b, a)))
    if found is NotImplemented:
        raise UnsupportedError(
            f"sparse matrices that are traced have no {name} of {type(a).__name__} and "
            f"{type(b).__name__}. Write instead: A.toarray()"
        )
    return found


def summed(terms: Any, places: Any, size: int) -> Any:
    """Return sums of terms at places."""
    if terms.dtype.kind == "c":
        return summed(terms.real, places, size) + 1j * summed(terms.imag, places, size)
    total = traced_numpy.zeros((size, *terms.shape[1:]), dtype=terms.dtype)
    np.add.at(total, places, terms)
    return total


def product(a: Any, b: Any) -> Any:
    """Return the product of two: an entry for each pair that meets."""
    order = np.argsort(b.term_rows, kind="stable")
    first, last = (
        np.searchsorted(b.term_rows[order], a.term_columns, side=s) for s in ("left", "right")
    )
    of_a = np.repeat(np.arange(a.count), last - first)
    of_b = order[np.concatenate([*map(np.arange, first, last), np.arange(0)])]
    places, shape = (a.term_rows[of_a], b.term_columns[of_b]), (a.shape[0], b.shape[1])
    found = type(a)(a.terms[of_a] * b.terms[of_b], *places, shape).whole(a.order or "csr")
    return found.made(operator.matmul, a, b, zeros=False)


def common(a: Any, b: Any) -> Any:
    """Return the product by elements of two, the second by rows and without doubles."""
    places, known = (x.term_rows * x.shape[1] + x.term_columns for x in (a, b))
    at = np.clip(np.searchsorted(known, places), 0, max(len(known) - 1, 0))
    both = np.flatnonzero(known[at] == places) if len(known) else at[:0]
    found = a.at(both)
    return found.with_data(found.terms * b.terms[at[both]])


_join = traced_numpy.concatenate


def part_of(self: Any, key: Any) -> Any:
    """Return rows and columns of a matrix, as ``A[rows, columns]``."""
    rows, columns = key if isinstance(key, tuple) else (key, slice(None))
    if np.ndim(rows) == 2 and np.ndim(columns) == 2:  # np.ix_
        rows, columns = np.ravel(rows), np.ravel(columns)
    elif holds_indices(rows) and holds_indices(columns):
        raise UnsupportedError(
            "a sparse matrix that is traced gives no entries one by one. Write instead: "
            "A.toarray()[rows, columns], or A[np.ix_(rows, columns)] for all that cross"
        )
    chosen = key
    parts = [np.arange(n)[k] for n, k in zip(self.shape, (rows, columns), strict=True)]
    kept, places = np.arange(self.count), []
    for axis, part in enumerate(parts):
        own = (self.term_rows, self.term_columns)[axis]
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
    cut = type(self)(self.terms[kept], rows, columns, size)
    if parts[0].ndim == parts[1].ndim == 0:
        return np.sum(cut.terms)
    if self.by_elements and 0 in (parts[0].ndim, parts[1].ndim):
        raise UnsupportedError(
            "a sparse array that is traced has no rows and columns of one axis. Write "
            "instead: A[[i]] or A[:, [j]], or A.toarray()[i]"
        )
    return cut.made(lambda a: (a if hasattr(a, "__getitem__") else a.tocsr())[chosen], self)


def write(self: Any, key: Any, value: Any) -> None:
    """Write to rows and columns of a matrix, as ``A[rows, columns] = value``."""
    before, given = self.copied(), value
    rows, columns = (np.arange(n)[k] for n, k in zip(self.shape, key, strict=True))
    if rows.ndim == columns.ndim == 1 and not all(map(holds_indices, key)):
        rows, columns = rows[:, None], columns[None, :]
    rows, columns = np.broadcast_arrays(rows, columns)
    value = value.toarray() if hasattr(value, "toarray") else floats(value)
    value = np.broadcast_to(value, rows.shape).reshape(-1)
    flat = rows.reshape(-1) * self.shape[1] + columns.reshape(-1)
    kept = np.flatnonzero(~np.isin(self.term_rows * self.shape[1] + self.term_columns, flat))
    self.terms = _join([self.terms[kept], value])
    self.term_rows = np.append(self.term_rows[kept], rows)
    self.term_columns = np.append(self.term_columns[kept], columns)
    self.order = None

    def written(a: Any, value: Any) -> Any:
        a = a.copy()
        a[key] = value
        return a

    self.made(written, before, given, depends=is_traced(given) or hasattr(given, "depends"))


def set_diagonal(self: Any, values: Any, k: int = 0) -> None:
    """Write a diagonal, or as much of it as there are values."""
    n, m = self.shape
    if not -n < k < m:
        raise ValueError("k exceeds array dimensions")
    values, length = floats(values), min(n + min(k, 0), m - max(k, 0))
    if values.ndim:
        length = min(length, int(values.shape[0]))
        values = values[:length]
    at, before = np.arange(length), self.copied()
    self[at - min(k, 0), at + max(k, 0)] = values

    def written(a: Any, values: Any) -> Any:
        a = a.copy()
        a.setdiag(values, k)
        return a

    self.made(written, before, values, depends=is_traced(values))


def holds_indices(key: Any) -> bool:
    """Tell whether a key is a list or an array of places, and no slice."""
    return isinstance(key, (list, np.ndarray))


def lengths(lines: Any, axis: int) -> list[int]:
    """Return the length along an axis that the blocks of each row, or column, have."""
    found = []
    for k, line in enumerate(lines):
        sizes = {block.shape[axis] for block in line if block is not None}
        if len(sizes) > 1:
            raise ShapeError(
                f"bmat: the blocks of {('row', 'column')[axis]} {k} have lengths "
                f"{', '.join(map(str, sorted(sizes)))} along it"
            )
        found.append(sizes.pop() if sizes else 0)
    return found


# ---------------------------------------------------------------- as results


class Places:
    """A sparse matrix without its entries: what is known of a result before it is computed."""

    def __init__(self, of: Any) -> None:
        self._of = of.with_data(np.zeros(of.count))
        #: What SciPy makes it, and whether it stores no zeros then.
        self._form = of.in_scipy(False).format if of.making else of.order or "coo"
        self._depends = of.depends
        places = of.term_rows.tobytes(), of.term_columns.tobytes()
        self._key = (type(of), of.shape, of.order, *places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Places) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def on(self, values: Any) -> Any:
        """Return the matrix of such entries: SciPy's where they are numbers."""
        if np.shape(values) != self._of.rows.shape:
            raise UnsupportedError(
                "a sparse matrix of the trace is no result in a batch, and has no Jacobian. Write "
                "instead: return A.data, or A.toarray()"
            )
        made = self._of.with_data(values)
        if is_traced(values):
            if self._depends:
                made.making = Making(lambda a: a, [made.copied()], unknown=True)
            return made
        kind = scipy.sparse.coo_array if made.by_elements else scipy.sparse.coo_matrix
        found = kind((made.terms, (made.term_rows, made.term_columns)), made.shape)
        if self._depends:
            found.sum_duplicates()
            found.eliminate_zeros()
        return found.asformat(self._form)

"""Patterns: the places of a sparse matrix's entries, found by sorting those of all values.

While tracing they are numbers where they depend on sizes and index arrays alone.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._core.base.fork_safety import cached_property, late_module
from .._core.base.providers import provided
from .._core.base.sizes import Dimension, as_expr, hint
from .._core.base.state import now
from .._core.graph import Input, Node, topological
from .._core.op import Bodied
from .._core.trace import Traced, as_node, known_values, substitute
from ..errors import ArgumentError, OutOfMemoryError, TraceError


class Piece:
    """The values of a block, or of a product: an output of the trace, rows, columns, truth."""

    def __init__(self, number: int, row: Any, col: Any, there: Any) -> None:
        self.number, self.row, self.col, self.there = number, row, col, there


class Pattern:
    """The places of the entries of one sparse matrix.

    Attributes
    ----------
    rows, cols:
        The places, in the order of the values.
    nnz:
        How many there are.
    places:
        For each value of each piece its number among them, -1 if it is left out.
    """

    def __init__(
        self, pieces: Sequence[Piece], shape: tuple[int, int], form: str, dtype: Any
    ) -> None:
        nothing = np.zeros(0, np.int64)
        row, col, there = (
            np.concatenate([nothing, *(getattr(p, name) for p in pieces)])
            for name in ("row", "col", "there")
        )
        taken = np.flatnonzero(there)
        places = np.full(len(row), -1)
        row, col = row[taken], col[taken]
        height, width = shape
        if height * width >= 2**62:
            raise OutOfMemoryError(f"a matrix of shape {shape} has more places than 64 bits count")
        key = col * height + row if form == "csc" else row * width + col
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        first = np.ones(len(key), bool)
        first[1:] = ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(first)
        self.nnz = len(starts)
        places[taken[order]] = np.cumsum(first) - 1
        self.places = np.split(places, np.cumsum([len(p.row) for p in pieces])[:-1])
        self.rows, self.cols = row[order][starts], col[order][starts]
        self.shape, self.form, self.dtype = shape, form, np.dtype(dtype)

    def alone(self) -> frozenset[int]:
        """Return which pieces have places that are no other one's, as far as none is left out."""
        seen = np.zeros(self.nnz, np.bool_)
        found, taken = [], 0
        for k, places in enumerate(self.places):
            if len(places) and (places.min() < 0 or seen[places].any()):
                continue
            seen[places] = True
            count = np.count_nonzero(seen)
            if count == taken + len(places):
                found.append(k)
                taken = count
            else:  # one goes to a place of another
                seen[places] = False
        return frozenset(found)

    @cached_property
    def _index(self) -> tuple[Any, Any]:
        """The index arrays, as SciPy takes them."""
        small = np.int32 if max(*self.shape, self.nnz) < 2**31 else np.int64
        if self.form == "coo":
            return self.rows.astype(small), self.cols.astype(small)
        columns = self.form == "csc"
        major, minor = (self.cols, self.rows) if columns else (self.rows, self.cols)
        return minor.astype(small), starts_of(major, self.shape[columns]).astype(small)

    @cached_property
    def _empty(self) -> Any:
        """A sparse array with these places, of which each matrix is a copy."""
        sparse = late_module("scipy.sparse")
        data, (first, second) = np.zeros(self.nnz, self.dtype), self._index
        if self.form == "coo":
            found = sparse.coo_array((data, (first, second)), shape=self.shape)
        else:
            make = sparse.csc_array if self.form == "csc" else sparse.csr_array
            found = make((data, first, second), shape=self.shape)
            found.has_sorted_indices = True
        found.has_canonical_format = True
        return found

    def check_target(self, target: Any, lead: tuple[int, ...]) -> None:
        """Raise if the data, with further leading axes, cannot be written to an array."""
        shape = (*lead, self.nnz)
        if not (isinstance(target, np.ndarray) and target.shape == shape):
            said = f"{self.nnz} numbers" if not lead else f"shape {shape}"
            raise ArgumentError(f"out is to be an array of {said} for the matrix")
        if target.dtype != self.dtype or not (target.flags.c_contiguous and target.flags.writeable):
            raise ArgumentError(
                f"out is to be a contiguous array of {self.dtype} that can be written to"
            )

    def matrix(self, data: Any) -> Any:
        """Return the sparse array with these data; its index arrays are its own."""
        found = copy.copy(self._empty)  # SciPy's constructors check what is known here
        found.data = data
        if self.form == "coo":
            found.coords = tuple(x.copy() for x in self._index)
        else:
            found.indices, found.indptr = (x.copy() for x in self._index)
        return found

    def traced(self, data: Any) -> Any:
        """Return a sparse array of a trace, with its data in the order of the pattern."""
        found = provided("sparse_array", (data, (self.rows, self.cols)), shape=self.shape)
        return found if self.form == "coo" else found.ordered(self.form)


def starts_of(major: Any, count: int) -> Any:
    """Return where the entries of each row, or column, begin, and where the last ones end."""
    return np.append(0, np.cumsum(np.bincount(major, minlength=count)))


def pairs_of(left: Pattern, right: Pattern) -> tuple[Any, Any]:
    """Return which entries of two matrices are multiplied in their product, by number."""
    starts = starts_of(right.rows, right.shape[0])
    counts = np.diff(starts)[left.cols]
    p = np.repeat(np.arange(left.nnz), counts)
    inner = np.arange(len(p)) - np.repeat(np.cumsum(counts) - counts, counts)
    return p, starts[left.cols][p] + inner


def numbers_of(
    nodes: Sequence[Node], dims: Iterable[Dimension]
) -> tuple[list[Any], dict[Any, int]]:
    """Return the numbers of nodes and of the symbols in ``dims``, which are then fixed by guards.

    Index arrays among the arguments are those of the example call, and compared in each call.

    Raises
    ------
    TraceError
        If the nodes depend on values that have no numbers while tracing.
    """
    dims = [*dims]
    found = known_values(_decided(nodes), dims)
    if found is None:
        order = topological(nodes)
        unknown = [x.name for x in order if isinstance(x, Input)]
        unknown += [f"{x.op.name} [{x.where}]" for x in order if isinstance(x.op, Bodied)]
        raise TraceError(
            "in a traced function the pattern of a sparse derivative is found while tracing, and "
            f"it depends on elements that are not known then: those of {', '.join(unknown)}. "
            "Write instead: index arrays that are the same for the whole batch or loop, arguments "
            "of the compiled function or what it closes over"
        )
    return found, {s: hint(s) for n in dims for s in as_expr(n).free_symbols}


def _decided(nodes: Sequence[Node]) -> Sequence[Node]:
    """Return nodes with the index arrays that they depend on as numbers, if these are known.

    What the function reads besides its arguments is left: it is a constant of another trace.
    """
    inputs = [x for x in topological(nodes) if isinstance(x, Input)]
    examples = now().examples
    if examples is None or not all(x.dtype.kind in "biu" for x in inputs):
        return nodes
    values = [None if examples.only_reads(x) else examples.value(x) for x in inputs]
    if any(value is None for value in values):
        return nodes
    numbers = [as_node(np.asarray(value)) for value in values]
    for x, number in zip(inputs, numbers, strict=True):
        examples.conditions[as_node(np.all(Traced(x) == Traced(number)))] = None
    return substitute(nodes, dict(zip(inputs, numbers, strict=True)))

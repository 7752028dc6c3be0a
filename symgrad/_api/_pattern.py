"""Where the values of a sparse derivative go: patterns, found once and kept while they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._forks import late_module
from .._graph import Input, Node, topological
from .._schedule import Program
from .._shapes import Shape, evaluate_dim
from .._trace import Graph
from ..errors import OutOfMemoryError

#: Patterns that a derivative keeps for its last sizes and index data.
KEPT = 4


class Entries:
    """Of one derivative the nodes that say where its values go.

    Attributes
    ----------
    shape:
        The sizes of result and argument, as dimensions: their elements are rows and columns.
    places:
        For each block its lanes, and nodes of its rows, columns and truth values (or None).
    """

    def __init__(
        self, shape: tuple[Any, Any], places: Sequence[tuple[Shape, Node, Node, Node | None]]
    ) -> None:
        self.shape, self.places = shape, tuple(places)

    @property
    def nodes(self) -> list[Node]:
        """All nodes, in order."""
        return [x for _, *nodes in self.places for x in nodes if x is not None]

    def replaced(self, nodes: Iterator[Node]) -> Entries:
        """Return it with other nodes in the place of these."""
        return Entries(
            self.shape,
            [
                (lanes, next(nodes), next(nodes), None if mask is None else next(nodes))
                for lanes, _, _, mask in self.places
            ],
        )


class Layout:
    """What a trace tells of where the values go: it is among the results of the traced body."""

    def __init__(self, entries: Sequence[Entries], unflatten: Any) -> None:
        self.entries, self.unflatten = tuple(entries), unflatten
        self._program: Program | None = None
        self._kept: list[tuple[Any, list[Any], list[Pattern]]] = []

    def _prepared(self, graph: Graph) -> Program:
        """Return the program of rows and columns."""
        if self._program is None:
            nodes = [x for e in self.entries for x in e.nodes]
            self._program = Program.schedule(graph.inputs, nodes, graph.guards)
            found = {x for x in topological(nodes) if isinstance(x, Input)}
            #: The arguments whose numbers decide on the pattern.
            self._data = [k for k, x in enumerate(graph.inputs) if x in found]
        return self._program

    def patterns(self, graph: Graph, values: Sequence[Any], form: str) -> list[Pattern]:
        """Return the patterns for these inputs of the program, one for each derivative."""
        program = self._prepared(graph)
        sizes = tuple(map(np.shape, values))
        whole = [v for v, x in zip(values, graph.inputs, strict=True) if x.dim is not None]
        key = (sizes, tuple(map(int, whole)), form)
        data = [np.asarray(values[k]) for k in self._data]
        for place, (known, before, patterns) in enumerate(self._kept):
            if known == key and all(map(np.array_equal, before, data)):
                if place:
                    self._kept.insert(0, self._kept.pop(place))
                return patterns
        patterns = self._made(program, values, form)
        self._kept[KEPT - 1 :] = []
        self._kept.insert(0, (key, [x.copy() for x in data], patterns))
        return patterns

    def _made(self, program: Program, values: Sequence[Any], form: str) -> list[Pattern]:
        sizes = program.bind_sizes(values)
        found = iter(program.run(*values))
        patterns = []
        for entries in self.entries:
            rows, cols, keep = [], [], []
            for lanes, *nodes in entries.places:
                shape = tuple(evaluate_dim(n, sizes) for n in lanes)
                row, col, there = (
                    np.ravel(np.broadcast_to(True if x is None else next(found), shape))
                    for x in nodes
                )
                rows.append(row)
                cols.append(col)
                keep.append(there)
            height, width = (evaluate_dim(n, sizes) for n in entries.shape)
            patterns.append(Pattern(rows, cols, keep, (height, width), form))
        return patterns


class Pattern:
    """The places of the entries of one sparse matrix, and how to write its values there.

    Attributes
    ----------
    matrix:
        A sparse array of the places, with True for each.
    nnz:
        How many there are.
    """

    def __init__(self, rows: Any, cols: Any, keep: Any, shape: tuple[int, int], form: str) -> None:
        def one(parts: Any, dtype: Any) -> Any:
            return np.concatenate([np.zeros(0, dtype), *parts]).astype(dtype, copy=False)

        row, col, there = one(rows, np.int64), one(cols, np.int64), one(keep, np.bool_)
        self._given = len(row)
        taken = None if there.all() else np.flatnonzero(there)
        if taken is not None:
            row, col = row[taken], col[taken]
        height, width = shape
        if height * width >= 2**62:
            raise OutOfMemoryError(f"a matrix of shape {shape} has more places than 64 bits count")
        key = col * height + row if form == "csc" else row * width + col
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.ones(len(key), bool)
        first[1:] = key[1:] != key[:-1]
        starts = np.flatnonzero(first)
        self.nnz = len(starts)
        self._order = order if taken is None else taken[order]
        self._starts = None if self.nnz == len(key) else starts
        if self._starts is None and np.array_equal(self._order, np.arange(self._given)):
            self._order = None  # the values come as they lie
        row, col = row[order][starts], col[order][starts]
        self.shape, self.form = shape, form
        small = np.int32 if max(*shape, self.nnz) < 2**31 else np.int64
        self._minor = (row if form == "csc" else col).astype(small)
        major, count = (col, width) if form == "csc" else (row, height)
        if form == "coo":
            self._major = major.astype(small)
        else:
            self._major = np.zeros(count + 1, small)
            np.cumsum(np.bincount(major, minlength=count), out=self._major[1:])

    def values(self, raw: Any, out: Any = None) -> Any:
        """Return the data of the matrix, from the values as the blocks have them."""
        if self._order is None:
            if out is None:
                return raw
            out[...] = raw
            return out
        taken = np.take(raw, self._order, out=out if self._starts is None else None, mode="clip")
        if self._starts is None:
            return taken
        if not self.nnz:
            return taken if out is None else out
        return np.add.reduceat(taken, self._starts, out=out)

    def matrix(self, data: Any) -> Any:
        """Return the sparse array with these data; its index arrays are its own."""
        minor, major = self._minor.copy(), self._major.copy()
        sparse = late_module("scipy.sparse")
        if self.form == "coo":
            return sparse.coo_array((data, (major, minor)), shape=self.shape)
        make = sparse.csc_array if self.form == "csc" else sparse.csr_array
        found = make((data, minor, major), shape=self.shape)
        found.has_canonical_format = True
        return found

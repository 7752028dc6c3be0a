"""Where the values of a sparse derivative go: patterns, found once and kept while they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._compile import Placing
from .._forks import cached_property, late_module
from .._graph import Input, Node, topological
from .._schedule import Program
from .._shapes import Dimension, Shape, evaluate_dim
from .._trace import Graph
from ..errors import OutOfMemoryError

#: Plans that a derivative keeps for its last sizes and index data.
KEPT = 4


class Entries:
    """Of the derivative of one node by another the nodes that say where its values go.

    Attributes
    ----------
    target, source:
        Their numbers: outputs come before cuts, and inputs before cuts.
    places:
        For each block its lanes, and nodes of its rows, columns and truth values (or None).
    """

    def __init__(
        self,
        target: int,
        source: int,
        places: Sequence[tuple[Shape, Node, Node, Node | None]],
    ) -> None:
        self.target, self.source, self.places = target, source, tuple(places)

    @property
    def nodes(self) -> list[Node]:
        """All nodes, in order."""
        return [x for _, *nodes in self.places for x in nodes if x is not None]

    def replaced(self, nodes: Iterator[Node]) -> Entries:
        """Return it with other nodes in the place of these."""
        return Entries(
            self.target,
            self.source,
            [
                (lanes, next(nodes), next(nodes), None if mask is None else next(nodes))
                for lanes, _, _, mask in self.places
            ],
        )


class Layout:
    """What a trace tells of where the values go: it is among the results of the traced body.

    Parameters
    ----------
    entries:
        One for each array of values.
    shapes:
        How many elements the targets, and the sources, have.
    dtypes:
        The element types of the targets.
    counts:
        How many of the targets are outputs, and how many of the sources inputs.
    lower:
        Whether entries above the diagonal are left out.
    unflatten:
        Nests the matrices, of which each output has one for each input. None: there is one, by
        itself.
    """

    def __init__(
        self,
        entries: Sequence[Entries],
        shapes: tuple[Sequence[Dimension], Sequence[Dimension]],
        dtypes: Sequence[np.dtype[Any]],
        counts: tuple[int, int],
        lower: bool,
        unflatten: Callable[[Sequence[Any]], Any] | None,
    ) -> None:
        self.entries, self.shapes, self.dtypes = tuple(entries), shapes, dtypes
        self.counts, self.lower, self.unflatten = counts, lower, unflatten
        self._program: Program | None = None
        self._data: list[int] = []
        self._kept: list[tuple[Any, list[Any], Plan]] = []

    def _prepared(self, graph: Graph) -> Program:
        """Return the program of rows and columns."""
        if self._program is None:
            nodes = [x for e in self.entries for x in e.nodes]
            program = Program.schedule(graph.inputs, nodes, graph.guards)
            found = {x for x in topological(nodes) if isinstance(x, Input)}
            self._data = [k for k, x in enumerate(graph.inputs) if x in found]
            self._program = program
        return self._program

    def data(self, count: int) -> list[int] | None:
        """Return by number the arguments on whose elements the patterns depend.

        None if there are others besides the first ``count`` inputs.
        """
        return None if any(k >= count for k in self._data) else self._data

    def plan(self, graph: Graph, values: Sequence[Any], form: str) -> Plan:
        """Return the plan for these inputs of the program."""
        program = self._prepared(graph)
        sizes = tuple(map(np.shape, values))
        whole = [int(v) for v, x in zip(values, graph.inputs, strict=True) if x.dim is not None]
        key, data = (sizes, whole, form), [np.asarray(values[k]) for k in self._data]
        for place, (known, before, plan) in enumerate(self._kept):
            if known == key and all(map(np.array_equal, before, data)):
                if place:
                    self._kept.insert(0, self._kept.pop(place))
                return plan
        plan = self._planned(program, values, form)
        self._kept[KEPT - 1 :] = []
        self._kept.insert(0, (key, [x.copy() for x in data], plan))
        return plan

    def _planned(self, program: Program, values: Sequence[Any], form: str) -> Plan:
        sizes = program.bind_sizes(values)
        found = iter(program.run(*values))
        places: dict[tuple[int, int], tuple[int, Any, Any, Any]] = {}
        for number, entries in enumerate(self.entries):
            columns: tuple[list[Any], ...] = ([], [], [])
            for lanes, *nodes in entries.places:
                shape = tuple(evaluate_dim(n, sizes) for n in lanes)
                for column, x in zip(columns, nodes, strict=True):
                    value = True if x is None else next(found)
                    column.append(np.ravel(np.broadcast_to(value, shape)))
            row, col, there = map(np.concatenate, columns)
            places[entries.target, entries.source] = number, row, col, there
        heights, widths = ([evaluate_dim(n, sizes) for n in part] for part in self.shapes)
        return _Planner(self, places, heights, widths, form).plan()


class Pattern:
    """The places of the entries of one sparse matrix, and how to write its values there.

    Attributes
    ----------
    rows, cols:
        The places, in the order of the values.
    nnz:
        How many there are.
    write:
        Writes values that are given, of which some are of one place, where they belong.
    """

    def __init__(
        self, row: Any, col: Any, there: Any, shape: tuple[int, int], form: str, dtype: Any
    ) -> None:
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
        self.write = Placing(places, self.nnz)
        self.rows, self.cols = row[order][starts], col[order][starts]
        self.shape, self.form, self.dtype = shape, form, np.dtype(dtype)

    @cached_property
    def _index(self) -> tuple[Any, Any]:
        """The index arrays, as SciPy takes them."""
        small = np.int32 if max(*self.shape, self.nnz) < 2**31 else np.int64
        if self.form == "coo":
            return self.rows.astype(small), self.cols.astype(small)
        columns = self.form == "csc"
        major, minor = (self.cols, self.rows) if columns else (self.rows, self.cols)
        return minor.astype(small), _starts(major, self.shape[columns]).astype(small)

    def matrix(self, data: Any) -> Any:
        """Return the sparse array with these data; its index arrays are its own."""
        sparse = late_module("scipy.sparse")
        first, second = (x.copy() for x in self._index)
        if self.form == "coo":
            found = sparse.coo_array((data, (first, second)), shape=self.shape)
        else:
            make = sparse.csc_array if self.form == "csc" else sparse.csr_array
            found = make((data, first, second), shape=self.shape)
            found.has_sorted_indices = True
        found.has_canonical_format = True
        return found


def _starts(major: Any, count: int) -> Any:
    """Return where the entries of each row, or column, begin, and where the last ones end."""
    return np.append(0, np.cumsum(np.bincount(major, minlength=count)))


class Plan:
    """How the values of all blocks become those of the matrices.

    Attributes
    ----------
    patterns:
        Those of the matrices.
    alone:
        Whether there is one matrix, which is not nested.
    """

    def __init__(
        self, parts: Sequence[Part], unflatten: Callable[[Sequence[Any]], Any] | None
    ) -> None:
        self._parts, self._unflatten = parts, unflatten
        self.alone = unflatten is None
        self.patterns = [part.pattern for part in parts]

    @property
    def products(self) -> bool:
        """Whether matrices are multiplied for it."""
        return any(part.products for part in self._parts)

    def unflatten(self, found: Sequence[Any]) -> Any:
        """Nest what there is for each matrix."""
        return found[0] if self._unflatten is None else self._unflatten(found)

    def __call__(self, raw: Sequence[Any], out: Sequence[Any] | None = None) -> list[Any]:
        """Return the data of the matrices; in ``out``, if that is given."""
        known: dict[Part, Any] = {}
        return [
            part.data(raw, known, None if out is None else out[k])
            for k, part in enumerate(self._parts)
        ]


class Part:
    """One derivative: the values of its blocks, and products of others."""

    def __init__(
        self, pattern: Pattern, raw: int | None, products: Sequence[tuple[Part, Part, Any, Any]]
    ) -> None:
        self.pattern, self._raw, self.products = pattern, raw, products

    def data(self, raw: Sequence[Any], known: dict[Part, Any], out: Any = None) -> Any:
        """Return its data, by the values of all blocks and what is computed already."""
        if not self.products and self._raw is not None:
            return self.pattern.write(raw[self._raw], out)
        if self not in known:
            own = [] if self._raw is None else [raw[self._raw]]
            own += [a.data(raw, known)[p] * b.data(raw, known)[q] for a, b, p, q in self.products]
            values = np.concatenate([np.zeros(0, self.pattern.dtype), *own])
            known[self] = self.pattern.write(values.astype(self.pattern.dtype, copy=False), out)
        return known[self]


class _Planner:
    """Puts the derivatives by the inputs together from those by the cuts."""

    def __init__(
        self, layout: Layout, places: Any, heights: list[int], widths: list[int], form: str
    ) -> None:
        self.layout, self.places, self.form = layout, places, form
        self.heights, self.widths = heights, widths
        self._made: dict[tuple[int, int, bool], Part] = {}

    def plan(self) -> Plan:
        outputs, inputs = self.layout.counts
        parts = [self._part(k, j) for k in range(outputs) for j in range(inputs)]
        return Plan(parts, self.layout.unflatten)

    def _part(self, target: int, source: int, total: bool = True) -> Part:
        """Return the derivative of a target by a source, through cuts as well if ``total``."""
        key = target, source, total
        if key not in self._made:
            self._made[key] = self._put_together(*key)
        return self._made[key]

    def _put_together(self, target: int, source: int, total: bool) -> Part:
        outputs, inputs = self.layout.counts
        raw, row, col, there = self.places.get(
            (target, source), (None, np.zeros(0, int), np.zeros(0, int), np.zeros(0, bool))
        )
        rows, cols, keep, products = [row], [col], [there], []
        for cut in range(len(self.widths) - inputs) if total else ():
            if (target, inputs + cut) not in self.places:
                continue
            left = self._part(target, inputs + cut, total=False)
            right = self._part(outputs + cut, source)
            p, q = _pairs(left.pattern, right.pattern)
            if len(p):
                products.append((left, right, p, q))
                rows.append(left.pattern.rows[p])
                cols.append(right.pattern.cols[q])
                keep.append(np.ones(len(p), bool))
        row, col, there = map(np.concatenate, (rows, cols, keep))
        final = total and target < outputs
        if final and self.layout.lower:
            # Of nested arguments the triangle is that of all of them together.
            there = there & (row >= col if target == source else target > source)
        dtype = self.layout.dtypes[target]
        shape = self.heights[target], self.widths[source]
        form = self.form if final else "csr"
        return Part(Pattern(row, col, there, shape, form, dtype), raw, products)


def _pairs(left: Pattern, right: Pattern) -> tuple[Any, Any]:
    """Return which entries of two matrices are multiplied in their product, by number."""
    starts = _starts(right.rows, right.shape[0])
    counts = np.diff(starts)[left.cols]
    p = np.repeat(np.arange(left.nnz), counts)
    inner = np.arange(len(p)) - np.repeat(np.cumsum(counts) - counts, counts)
    return p, starts[left.cols][p] + inner

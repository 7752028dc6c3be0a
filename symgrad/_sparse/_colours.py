"""Values in compressed passes, where lanes end: columns without a common row are one direction.

A. Curtis, M. J. D. Powell, J. Reid, On the estimation of sparse Jacobian matrices, IMA Journal of
Applied Mathematics 13 (1974), pp. 117-119. What depends on what is known before, so each number
of a pass belongs to one entry. Colours are data: one compilation serves them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.fork_safety import late_module
from .._core.base.sizes import (
    Dim,
    Dimension,
    as_dim,
    as_expr,
    dim_product,
    evaluate_dim,
    guard,
    hint,
    recording,
)
from .._core.control import batch_examples
from .._core.graph import Input, Node, topological, warn_user
from .._core.ops import RESHAPE
from .._core.ops.gathers import GATHER
from .._core.trace import Traced, as_node, close_conditions, fresh, substitute, zeros_like
from .._core.transforms.batch import batch, repeated
from .._core.transforms.limits import push_forward
from .._core.transforms.reverse import pull_back
from ..errors import SparsityWarning
from . import Structure, dependence
from ._pattern import Piece, numbers_of

#: Shortest array whose length is a symbol.
LEAST = 2


class Behind:
    """The outputs as functions of the steps where lanes end, which have stand-ins.

    Attributes
    ----------
    barriers:
        Those of the steps on which the outputs depend without another one between.
    stand_ins:
        What is in their place in ``outputs``.
    """

    def __init__(self, outputs: Sequence[Node], barriers: Sequence[Node]) -> None:
        barriers = [x for x in barriers if x.op.kind != "tape"]  # only a barrier reads these
        swap = {x: fresh(x, "u") for x in barriers}
        self.outputs = substitute(outputs, swap)
        reached = set(topological(self.outputs))
        self.barriers = [x for x in barriers if swap[x] in reached]
        self.stand_ins = [swap[x] for x in self.barriers]

    def closed(self, nodes: Sequence[Any]) -> list[Any]:
        """Put the steps themselves in the place of their stand-ins."""
        back = dict(zip(self.stand_ins, self.barriers, strict=True))
        close_conditions(back)
        rest = iter(substitute([x for x in nodes if x is not None], back))
        return [None if x is None else next(rest) for x in nodes]

    def pushed(self, tangents: Mapping[Node, Node]) -> list[Node | None]:
        """Return the tangents of the outputs that reach them through one of the steps."""
        found = zip(self.stand_ins, push_forward(self.barriers, tangents), strict=True)
        given = {x: t for x, t in found if t is not None}
        return self.closed(push_forward(self.outputs, given))

    def pulled(self, cotangents: Sequence[Node], wrt: Sequence[Node]) -> list[Node | None]:
        """Return the cotangents of ``wrt`` that reach them through one of the steps."""
        given = self.closed(pull_back(self.outputs, cotangents, self.stand_ins))
        return pull_back(self.barriers, given, wrt)


class Way:
    """Passes from the inputs forward, or from the outputs in reverse, as nodes of a trace.

    They have what goes through one of the steps where lanes end.

    Attributes
    ----------
    numbers, colours:
        Inputs: the colours by number, and for each node from which passes start those of its
        elements.
    picks:
        Inputs: which of the elements of all passes the entries of each block are.
    values:
        The entries of each block: those of the first output by each input come first.
    none:
        Which of the blocks have no entries.
    """

    def __init__(self, behind: Behind, inputs: Sequence[Node], reverse: bool) -> None:
        self.reverse = reverse
        outputs = behind.outputs
        name = "row_colours" if reverse else "column_colours"
        starts, stops = (outputs, inputs) if reverse else (inputs, outputs)
        self.numbers = self._vector(name)
        self.colours = [Input(f"{name}_{k}", x.shape, np.int64) for k, x in enumerate(starts)]
        with recording() as guards:
            passes = _passes(behind, inputs, reverse, self.numbers, self.colours)
            self.picks: list[Input] = []
            self.values: list[Node] = []
            self.none: set[int] = set()
            for k in range(len(outputs)):
                for j in range(len(inputs)):
                    stop = j if reverse else k
                    self._pick(f"{name}_{k}_{j}", *passes[stop], dim_product(stops[stop].shape))
        #: Relations that hold for enough colours and entries.
        self.guards: dict[sp.Basic, bool] = {}
        self.own = {x.shape[0] for x in (self.numbers, *self.picks)}
        for relation, truth in guards.items():
            if self.own & relation.free_symbols:
                self.guards[relation] = truth
            else:
                guard(relation, value_is=truth)

    @staticmethod
    def _vector(name: str) -> Input:
        return Input(f"sg_{name}", (Dim(f"sg_{name}_n", 8),), np.int64)

    def _pick(self, name: str, passes: Node, lifted: bool, size: Any) -> None:
        """Take the entries of one block from the passes; where these are zeros, it has none."""
        places = self._vector(name)
        self.picks.append(places)
        if not lifted:
            self.none.add(len(self.values))
        self.values.append(_picked(passes, places, self.numbers, size) if lifted else passes)


def _passes(
    behind: Behind, inputs: Sequence[Node], reverse: bool, numbers: Node, colours: Sequence[Node]
) -> list[tuple[Node, bool]]:
    """Return the results of all passes, and whether they are any: else they are zeros.

    Parameters
    ----------
    behind, inputs:
        What is differentiated by what.
    reverse:
        Whether passes go from the outputs to the inputs.
    numbers, colours:
        The colours by number, and for each node from which passes start those of its elements.
    """
    starts, stops = (behind.outputs, inputs) if reverse else (inputs, behind.outputs)
    seeds = [fresh(x, "t") for x in starts]
    if reverse:
        slopes = behind.pulled(seeds, inputs)
    else:
        slopes = behind.pushed(dict(zip(inputs, seeds, strict=True)))
    units = {t: _units(numbers, x, t) for t, x in zip(seeds, colours, strict=True)}
    nodes = [zeros_like(y) if x is None else x for x, y in zip(slopes, stops, strict=True)]
    return batch(nodes, units, numbers.shape[0])


def _units(numbers: Node, colours: Node, seed: Node) -> Node:
    """Return for each colour ones where an element has it."""
    ones = (1,) * colours.ndim
    row = RESHAPE(Traced(numbers), shape=(*numbers.shape, *ones))
    return as_node((row == Traced(colours)).astype(seed.dtype))


def _picked(passes: Node, places: Node, numbers: Node, size: Any) -> Node:
    """Return the elements of all passes, of so many each, at some places."""
    table = RESHAPE(Traced(passes), shape=(as_dim(numbers.shape[0] * size),))
    return as_node(GATHER(table, Traced(places), axes=(0,), at=0))


class Coloured:
    """A matrix of known places with colours for its columns, or for its rows.

    Parameters
    ----------
    matrix:
        The places, a sparse array.
    heights, widths:
        Of its blocks.
    reverse:
        Whether rows have colours.

    Attributes
    ----------
    count, colours:
        How many there are, and those of each column or row.
    """

    def __init__(
        self, matrix: Any, heights: Sequence[int], widths: Sequence[int], reverse: bool
    ) -> None:
        self.matrix, self.reverse = matrix, reverse
        self.count, self.colours = _colours(matrix.T if reverse else matrix)
        self._heights, self._widths = heights, widths
        self._tops, self._lefts = (np.cumsum([0, *sides]) for sides in (heights, widths))

    def part(self, k: int) -> Any:
        """Return the colours of one node's elements."""
        starts = self._tops if self.reverse else self._lefts
        return self.colours[starts[k] : starts[k + 1]]

    def block(self, k: int, j: int) -> tuple[Any, Any, Any]:
        """Return rows and columns of a block's entries, and which elements of all passes they are.

        They are counted along all passes of the block's output, in reverse of its input.
        """
        rows, cols = (x.astype(np.int64) for x in self.matrix.tocoo().coords)
        (top, end), (left, right) = self._tops[k : k + 2], self._lefts[j : j + 2]
        own = (rows >= top) & (rows < end) & (cols >= left) & (cols < right)
        row, col = rows[own], cols[own]
        if self.reverse:
            return row - top, col - left, self.colours[row] * self._widths[j] + col - left
        return row - top, col - left, self.colours[col] * self._heights[k] + row - top

    def said(self, steps: str) -> str:
        """Return which steps made colours necessary, and how many passes that costs."""
        count, total = self.count, self.matrix.shape[self.reverse ^ 1]
        kind = "rows" if self.reverse else "columns"
        mode = "reverse" if self.reverse else "forward"
        passes = "pass" if count == 1 else "passes"
        nearly = f": nearly as many as {kind}" if 2 * count > total > LEAST else ""
        return (
            f"{steps}; values take {count:,} compressed {mode} {passes} for {self.matrix.nnz:,} "
            f"entries in {total:,} {kind}{nearly}"
        )


def _coloured(
    matrix: Any, heights: Sequence[int], widths: Sequence[int], reverse: Sequence[bool]
) -> Coloured:
    """Return the matrix with the fewest colours, by these ways."""
    return min((Coloured(matrix, heights, widths, r) for r in reverse), key=lambda x: x.count)


def _ways(behind: Behind, inputs: Sequence[Node]) -> list[bool]:
    """Return the ways that passes may go: a symmetric matrix has as many colours either way."""
    rows, cols = (
        sum(hint(dim_product(x.shape)) for x in part) for part in (behind.outputs, inputs)
    )
    return [False, True] if rows < cols else [False]


def known_entries(
    structure: Structure, behind: Behind, inputs: Sequence[Node], said: str
) -> dict[tuple[int, int], tuple[Node, Any, Any]]:
    """Return values, rows and columns of each block, with colours found while tracing.

    Raises
    ------
    TraceError
        If the places depend on values that have no numbers there.
    """
    arrays, sizes = numbers_of(structure.nodes, structure.dims)
    matrix = dependence(structure, arrays, sizes)
    heights, widths = ([hint(dim_product(x.shape)) for x in s] for s in (behind.outputs, inputs))
    found = _coloured(matrix, heights, widths, _ways(behind, inputs))
    warn_user(found.said(said), SparsityWarning)
    starts, stops = (behind.outputs, inputs) if found.reverse else (inputs, behind.outputs)
    numbers = as_node(np.arange(max(found.count, 1)))
    shapes = [tuple(map(hint, x.shape)) for x in starts]
    colours = [as_node(found.part(k).reshape(shape)) for k, shape in enumerate(shapes)]
    passes = _passes(behind, inputs, found.reverse, numbers, colours)
    entries = {}
    for k in range(len(behind.outputs)):
        for j in range(len(inputs)):
            row, col, picks = found.block(k, j)
            stop = j if found.reverse else k
            node, lifted = passes[stop]
            if lifted and len(row):
                size = dim_product(stops[stop].shape)
                entries[k, j] = _picked(node, as_node(picks), numbers, size), row, col
    return entries


class Compressed:
    """How the values of a derivative are computed by colours.

    Parameters
    ----------
    structure:
        What depends on what.
    behind, inputs:
        What is differentiated by what.
    said:
        What to say of the steps behind which lanes do not lead on.

    Attributes
    ----------
    blocks:
        The entries of each block, all ways; they are no results of the trace, since there are
        inputs that are none of its own.
    """

    def __init__(
        self, structure: Structure, behind: Behind, inputs: Sequence[Node], said: str
    ) -> None:
        self.structure, self.said, self.told = structure, said, False
        self.ways = [Way(behind, inputs, reverse) for reverse in _ways(behind, inputs)]
        self.blocks = [x for way in self.ways for x in way.values]

    def batch(self, size: Dimension, examples: Mapping[Node, Node]) -> None:
        """Give all entries a leading axis, that of a batch of examples."""
        self.blocks = [
            x if lifted else repeated(x, size, False)
            for x, lifted in batch_examples(self.blocks, examples, size)
        ]

    def guards_of(self, given: Sequence[Input]) -> dict[sp.Basic, bool]:
        """Return the relations between numbers of colours and entries that these inputs take."""
        known = {symbol for x in given for n in x.shape for symbol in as_expr(n).free_symbols}
        return {
            relation: truth
            for way in self.ways
            for relation, truth in way.guards.items()
            if way.own & relation.free_symbols <= known
        }

    def plan(
        self, arrays: Sequence[Any], sizes: Mapping[Any, int], heights: Sequence[int],
        widths: Sequence[int], first: int,
    ) -> tuple[dict[tuple[int, int], Piece], dict[Input, Any]]:  # fmt: skip
        """Return a piece for each block, and the values of the further inputs.

        ``first`` is the number of the first block of all.
        """
        matrix = dependence(self.structure, arrays, sizes)
        found = _coloured(matrix, heights, widths, [way.reverse for way in self.ways])
        if not self.told:
            self.told = True
            warn_user(found.said(self.said), SparsityWarning)
        way = self.ways[found.reverse]
        given: dict[Input, Any] = {way.numbers: np.arange(max(found.count, LEAST))}
        for k, x in enumerate(way.colours):
            given[x] = found.part(k).reshape(tuple(evaluate_dim(n, sizes) for n in x.shape))
        pieces: dict[tuple[int, int], Piece] = {}
        first += sum(len(other.values) for other in self.ways[: found.reverse])
        for number, picked in enumerate(way.picks):
            k, j = divmod(number, len(widths))
            row, col, picks = found.block(k, j)
            if not len(row) or number in way.none:
                continue
            count = max(len(row), LEAST)
            there = np.arange(count) < len(row)
            row, col, given[picked] = (np.resize(x, count) for x in (row, col, picks))
            pieces[k, j] = Piece(first + number, row, col, there)
        return pieces, given


def _colours(matrix: Any) -> tuple[int, Any]:
    """Return how many colours the columns take, and those of each."""
    if not matrix.shape[1]:
        return 0, np.zeros(0, np.int64)
    group = late_module("scipy.optimize._numdiff").group_columns
    order = np.arange(matrix.shape[1])  # neighbours one after another: the fewest for stencils
    found = np.asarray(group(matrix.astype(np.int8), order), np.int64)
    return int(found.max()) + 1, found

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

from .._batch import batch, repeated
from .._control import batch_examples
from .._forks import late_module
from .._forward import push_forward
from .._graph import Input, Node, topological, warn_user
from .._lanes import Structure, dependence
from .._ops import RESHAPE
from .._ops.indexing import GATHER
from .._reverse import pull_back
from .._shapes import (
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
from .._trace import Traced, as_node, fresh, substitute
from ..errors import SparsityWarning
from ._bodies import zeros_like
from ._pattern import Piece

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
        starts = outputs if reverse else inputs
        self.numbers = self._vector(name)
        self.colours = [Input(f"{name}_{k}", x.shape, np.int64) for k, x in enumerate(starts)]
        seeds = [fresh(x, "t") for x in starts]
        with recording() as guards:
            if reverse:
                slopes, stops = behind.pulled(seeds, inputs), inputs
            else:
                given = dict(zip(inputs, seeds, strict=True))
                slopes, stops = behind.pushed(given), outputs
            units = {t: self._units(x, t) for t, x in zip(seeds, self.colours, strict=True)}
            count = self.numbers.shape[0]
            nodes = [zeros_like(y) if x is None else x for x, y in zip(slopes, stops, strict=True)]
            passes = batch(nodes, units, count)
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

    def _units(self, colours: Input, seed: Node) -> Node:
        """Return for each colour ones where an element has it."""
        ones = (1,) * colours.ndim
        numbers = RESHAPE(Traced(self.numbers), shape=(*self.numbers.shape, *ones))
        return as_node((numbers == Traced(colours)).astype(seed.dtype))

    def _pick(self, name: str, passes: Node, lifted: bool, size: Any) -> None:
        """Take the entries of one block from the passes; where these are zeros, it has none."""
        places = self._vector(name)
        self.picks.append(places)
        if not lifted:
            self.none.add(len(self.values))
            self.values.append(passes)
            return
        table = RESHAPE(Traced(passes), shape=(as_dim(self.numbers.shape[0] * size),))
        self.values.append(as_node(GATHER(table, Traced(places), axes=(0,), at=0)))


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
        sides = behind.outputs, inputs
        rows, cols = (sum(hint(dim_product(x.shape)) for x in part) for part in sides)
        self.structure, self.said, self.told = structure, said, False
        # A symmetric matrix has as many colours either way.
        self.ways = [Way(behind, inputs, False)]
        if rows < cols:
            self.ways.append(Way(behind, inputs, True))
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
        found = [_colours(matrix.T if way.reverse else matrix) for way in self.ways]
        best = min(range(len(found)), key=lambda k: found[k][0])
        way, (count, colours) = self.ways[best], found[best]
        self._tell(way, count, matrix)
        numbers = np.arange(max(count, LEAST))
        rows, cols = matrix.tocoo().coords
        rows, cols = rows.astype(np.int64), cols.astype(np.int64)
        tops, lefts = (np.cumsum([0, *sides]) for sides in (heights, widths))
        starts = tops if way.reverse else lefts
        given: dict[Input, Any] = {way.numbers: numbers}
        for k, x in enumerate(way.colours):
            shape = tuple(evaluate_dim(n, sizes) for n in x.shape)
            given[x] = colours[starts[k] : starts[k + 1]].reshape(shape)
        pieces: dict[tuple[int, int], Piece] = {}
        first += sum(len(other.values) for other in self.ways[:best])
        for number, picked in enumerate(way.picks):
            k, j = divmod(number, len(widths))
            own = (rows >= tops[k]) & (rows < tops[k + 1]) & (cols >= lefts[j])
            own &= cols < lefts[j + 1]
            row, col = rows[own] - tops[k], cols[own] - lefts[j]
            if not len(row) or number in way.none:
                continue
            there = np.arange(max(len(row), LEAST)) < len(row)
            row, col = np.resize(row, len(there)), np.resize(col, len(there))
            if way.reverse:
                given[picked] = colours[row + tops[k]] * widths[j] + col
            else:
                given[picked] = colours[col + lefts[j]] * heights[k] + row
            pieces[k, j] = Piece(first + number, row, col, there)
        return pieces, given

    def _tell(self, way: Way, count: int, matrix: Any) -> None:
        """Say once which steps made colours necessary, and how many passes that costs."""
        if self.told:
            return
        self.told = True
        total = matrix.shape[way.reverse ^ 1]
        kind = "rows" if way.reverse else "columns"
        mode = "reverse" if way.reverse else "forward"
        passes = "pass" if count == 1 else "passes"
        nearly = f": nearly as many as {kind}" if 2 * count > total > LEAST else ""
        warn_user(
            f"{self.said}; values take {count:,} compressed {mode} {passes} for {matrix.nnz:,} "
            f"entries in {total:,} {kind}{nearly}",
            SparsityWarning,
        )


def _colours(matrix: Any) -> tuple[int, Any]:
    """Return how many colours the columns take, and those of each."""
    if not matrix.shape[1]:
        return 0, np.zeros(0, np.int64)
    group = late_module("scipy.optimize._numdiff").group_columns
    order = np.arange(matrix.shape[1])  # neighbours one after another: the fewest for stencils
    found = np.asarray(group(matrix.astype(np.int8), order), np.int64)
    return int(found.max()) + 1, found

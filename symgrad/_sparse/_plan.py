"""Where the values of a sparse derivative go: plans, made once and kept while they hold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._core.base.sizes import Dimension, Shape, evaluate_dim
from .._core.graph import Input, Node, topological
from .._core.ops.np_common import is_traced
from .._core.program import Program
from .._core.runtime import NO_PLACE
from .._core.trace import Graph, flatten
from .._dispatch import Specialization
from ..errors import ArgumentError, IndexingError
from ._colours import Compressed
from ._pattern import Pattern, Piece, numbers_of, pairs_of
from ._placement import LEAST, Joined, Part, Placed, Recipe

#: Plans that a derivative keeps for its last sizes and index data.
KEPT = 4

#: Most entries of which places have 32 bits.
SMALL = 2**31 - 1


class Entries:
    """Of the derivative of one node by another the nodes that say where its values go.

    Attributes
    ----------
    target, source:
        Their numbers: outputs come before cuts, and inputs before cuts.
    places:
        For each block its lanes, and nodes of its rows, columns and truth values (or None).
    where:
        For each block the user's line that it is from.
    """

    def __init__(
        self,
        target: int,
        source: int,
        places: Sequence[tuple[Shape, Node, Node, Node | None]],
        where: Sequence[str],
    ) -> None:
        self.target, self.source = target, source
        self.places, self.where = tuple(places), tuple(where)

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
            self.where,
        )


class Layout:
    """What a trace tells of where the values go: it is among the results of the traced body.

    Parameters
    ----------
    entries:
        One for each derivative that has blocks. The values of the blocks, one after the other, are
        the outputs of the trace.
    bounds:
        Truth values: whether places that steps on these lines of the user's compute are there.
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
    compressed:
        Where lanes end: how the values of what lies behind are computed by colours.
    """

    def __init__(
        self,
        entries: Sequence[Entries],
        bounds: Sequence[tuple[Node, Any]],
        shapes: tuple[Sequence[Dimension], Sequence[Dimension]],
        dtypes: Sequence[np.dtype[Any]],
        counts: tuple[int, int],
        lower: bool,
        unflatten: Callable[[Sequence[Any]], Any] | None,
        compressed: Compressed | None = None,
    ) -> None:
        self.entries, self.shapes, self.dtypes = tuple(entries), shapes, dtypes
        self.bounds = tuple(bounds)
        self.counts, self.lower, self.unflatten = counts, lower, unflatten
        self.compressed = compressed
        #: The length of the leading axis that all values have, under vmap.
        self.batch_size: Dimension | None = None
        self._program: Program | None = None
        self._data: list[int] = []
        self._kept: list[tuple[Any, list[Any], Plan]] = []
        self._compiled: list[Placed] = []

    def _nodes(self) -> list[Node]:
        """Return what says where the values go."""
        nodes = [x for e in self.entries for x in e.nodes] + [x for x, _ in self.bounds]
        return nodes if self.compressed is None else nodes + self.compressed.structure.nodes

    def _prepared(self, graph: Graph) -> Program:
        """Return the program of rows and columns."""
        if self._program is None:
            nodes = self._nodes()
            found = {x for x in topological(nodes) if isinstance(x, Input)}
            if not found.issubset(graph.inputs):
                raise ArgumentError(
                    "the pattern depends on the elements of an argument with a batch axis, and so "
                    "each example has its own: give in_axes=None for it, or call one by one"
                )
            program = Program.schedule(graph.inputs, nodes, {})  # calls have been admitted
            self._data = [k for k, x in enumerate(graph.inputs) if x in found and x.dim is None]
            self._program = program
        return self._program

    def lasts(self, graph: Graph) -> bool:
        """Tell whether the patterns depend on nothing but sizes and integers."""
        self._prepared(graph)
        return all(graph.inputs[k].dtype.kind != "f" for k in self._data)

    def plan(self, graph: Graph, values: Sequence[Any], form: str) -> Plan:
        """Return the plan for these inputs of the program."""
        program = self._prepared(graph)
        shapes = tuple(map(np.shape, values))
        whole = [int(v) for v, x in zip(values, graph.inputs, strict=True) if x.dim is not None]
        key, data = (shapes, whole, form), [np.asarray(values[k]) for k in self._data]
        for place, (known, before, plan) in enumerate(self._kept):
            if known == key and all(map(np.array_equal, before, data)):
                if place:
                    self._kept.insert(0, self._kept.pop(place))
                return plan
        data = [x.copy() for x in data]
        sizes = program.bind_sizes(values)
        plan = self._planned(program.run(*values), sizes, data, form)
        self._kept[KEPT - 1 :] = []
        self._kept.insert(0, (key, data, plan))
        return plan

    def fixed(self, form: str) -> Plan:
        """Return the plan for the sizes of the trace that runs, which are then fixed in it.

        Raises
        ------
        TraceError
            If the places depend on values that have no numbers there.
        """
        dims = [n for e in self.entries for lanes, *_ in e.places for n in lanes]
        dims += [n for part in self.shapes for n in part]
        dims += [] if self.batch_size is None else [self.batch_size]
        results, sizes = numbers_of(self._nodes(), dims)
        return self._planned(results, sizes, (), form)

    def _planned(
        self, results: Sequence[Any], sizes: Mapping[Any, int], data: Sequence[Any], form: str
    ) -> Plan:
        found = iter(results)
        places: dict[tuple[int, int], list[Piece]] = {}
        number = 0
        for entries in self.entries:
            pieces = places.setdefault((entries.target, entries.source), [])
            for lanes, row, col, mask in entries.places:
                shape = tuple(evaluate_dim(n, sizes) for n in lanes)
                whole = (True if x is None else next(found) for x in (row, col, mask))
                columns = (np.ravel(np.broadcast_to(x, shape)) for x in whole)
                pieces.append(Piece(number, *columns))
                number += 1
        for (_, line), there in zip(self.bounds, found, strict=False):
            if not there:
                where = "" if line is None else f" [{line}]"
                raise IndexingError(f"{NO_PLACE}{where}")
        heights, widths = ([evaluate_dim(n, sizes) for n in part] for part in self.shapes)
        given: dict[Input, Any] = {}
        if self.compressed is not None:
            outputs, inputs = self.counts
            sides = heights[:outputs], widths[:inputs]
            more, given = self.compressed.plan([*found], sizes, *sides, number)
            for key, piece in more.items():
                places.setdefault(key, []).append(piece)
        parts = _Planner(self, places, heights, widths, form)
        return Plan(self, parts, sizes, data, given)

    def compiled(
        self, recipes: tuple[Recipe, ...], found: Specialization, word: np.dtype[Any]
    ) -> Placed:
        """Return a program that writes values as the recipes say, or with more additions."""
        for known in self._compiled:
            if known.serves(recipes, word):
                return known
        made = Placed(
            recipes, found, self._data, self.dtypes, self.batch_size, self.compressed, word
        )
        self._compiled.append(made)
        return made


class Plan:
    """The patterns of the matrices, and what their program takes besides the arguments.

    Attributes
    ----------
    parts:
        The derivatives, each behind those that it is made of.
    final:
        Which of them are the matrices.
    patterns:
        Those of the matrices.
    alone:
        Whether there is one matrix, which is not nested.
    lead:
        The length of the leading axis that all values have under vmap, if any.
    joins:
        Whether the data of several matrices are one array, each behind those of the others.
    """

    def __init__(
        self, layout: Layout, planner: _Planner, sizes: Mapping[Any, int], data: Sequence[Any],
        given: Mapping[Input, Any],
    ) -> None:  # fmt: skip
        outputs, inputs = layout.counts
        self._layout, self._sizes, self._data, self._given = layout, sizes, data, given
        size = layout.batch_size
        self.lead = () if size is None else (evaluate_dim(size, sizes),)
        self.final = [planner.part(k, j) for k in range(outputs) for j in range(inputs)]
        self.parts = planner.parts
        self.alone = layout.unflatten is None
        self.patterns = [self.parts[k].pattern for k in self.final]
        several = len(self.final) > 1 and len({p.dtype for p in self.patterns}) == 1
        self.joins = several and not self.lead
        self._placed: dict[bool, tuple[Specialization, tuple[Any, ...]]] = {}

    def matrix(self, k: int, data: Any) -> Any:
        """Return a matrix by its data, under vmap a list of those of the examples."""
        pattern = self.patterns[k]
        if is_traced(data):
            return [*map(pattern.traced, data)] if self.lead else pattern.traced(data)
        return [pattern.matrix(x.copy()) for x in data] if self.lead else pattern.matrix(data)

    def written(self, data: Any, out: Any) -> Any:
        """Return data of matrices that are one array, when it has been copied to arrays."""
        if self.joins:
            for target, part in zip(self.targets(out), self.split(data), strict=True):
                target[...] = part
        return data

    def targets(self, out: Any) -> Any:
        """Return the arrays to write to as the program takes them, or raise."""
        given = [out] if self.alone else flatten(out)[0]
        if len(given) != len(self.patterns):
            raise ArgumentError(f"out has {len(given)} arrays for {len(self.patterns)} matrices")
        for pattern, target in zip(self.patterns, given, strict=True):
            pattern.check_target(target, self.lead)
        return given[0] if len(given) == 1 else tuple(given)

    def lines(self) -> list[tuple[str, Any, Any]]:
        """Return the rows and columns of each block of the one matrix, with the user's line."""
        known = [line for entries in self._layout.entries for line in entries.where]
        if self._layout.compressed is not None:
            known += ["compressed passes"] * len(self._layout.compressed.blocks)
        part = self.parts[-1]
        own = [known[k] for k in part.recipe.blocks]
        own += ["products of others"] * len(part.recipe.products)
        found = []
        for line, places in zip(own, part.places, strict=True):
            there = places[places >= 0]
            found.append((line, part.pattern.rows[there], part.pattern.cols[there]))
        return found

    def unflatten(self, found: Sequence[Any]) -> Any:
        """Nest what there is for each matrix."""
        return found[0] if self._layout.unflatten is None else self._layout.unflatten(found)

    def placed(
        self, found: Specialization, joins: bool = False
    ) -> tuple[Specialization, tuple[Any, ...]]:
        """Return the program that computes the data of the matrices, and its further inputs."""
        if joins not in self._placed:
            parts = self._joined() if joins else self.parts
            most = max((part.nnz for part in parts), default=0)
            word = np.dtype(np.int32 if most <= SMALL else np.int64)
            made = self._layout.compiled(tuple(part.recipe for part in parts), found, word)
            self._placed[joins] = made.specialization, self._further(made, parts)
        return self._placed[joins]

    def _joined(self) -> Sequence[Part | Joined]:
        """Return the derivatives with those that are results as one."""
        inner = [k for k in range(len(self.parts)) if k not in self.final]
        numbers = {k: place for place, k in enumerate(inner)}
        found: list[Part | Joined] = []
        for k in inner:
            part = copy.copy(self.parts[k])
            products = tuple((numbers[p], numbers[q]) for p, q in part.recipe.products)
            part.recipe = replace(part.recipe, products=products)
            found.append(part)
        return [*found, Joined([self.parts[k] for k in self.final], numbers)]

    def split(self, data: Any) -> Sequence[Any]:
        """Return the data of each matrix, of what a program gives."""
        if isinstance(data, tuple) or not self.joins:
            return data if isinstance(data, tuple) else (data,)
        return [*np.split(data, np.cumsum([p.nnz for p in self.patterns[:-1]]))]

    def _further(self, made: Placed, parts: Sequence[Part | Joined]) -> tuple[Any, ...]:
        """Return what the program takes behind the inputs of the trace."""
        places: list[Any] = []
        pairs: list[Any] = []
        counts: list[int] = []
        for recipe, part in zip(made.recipes, parts, strict=True):
            places += [part.places[k] for k in recipe.order]
            pairs += part.pairs
            if not (recipe.exact or recipe.single):
                counts.append(part.nnz)
        sizes = [self._sizes[s] for s in made.symbols]
        data = [x[()] for x in self._data]
        places = [np.concatenate(places, dtype=made.word, casting="same_kind")] if places else []
        given = [self._given[x] for x in made.given]
        return *places, *pairs, *sizes, *counts, *given, *data


class _Planner:
    """Puts the derivatives by the inputs together from those by the cuts."""

    def __init__(
        self, layout: Layout, places: Any, heights: list[int], widths: list[int], form: str
    ) -> None:
        self.layout, self.places, self.form = layout, places, form
        self.heights, self.widths = heights, widths
        self.parts: list[Part] = []
        self._made: dict[tuple[int, int, bool], int] = {}

    def part(self, target: int, source: int, total: bool = True) -> int:
        """Return the derivative of a target by a source, through cuts as well if ``total``.

        It is given by its number in ``parts``, where it stands behind those that it is made of.
        """
        key = target, source, total
        if key not in self._made:
            self._made[key] = self._put_together(*key)
        return self._made[key]

    def _put_together(self, target: int, source: int, total: bool) -> int:
        outputs, inputs = self.layout.counts
        pieces, products = list(self.places.get((target, source), ())), []
        for cut in range(len(self.widths) - inputs) if total else ():
            if (target, inputs + cut) not in self.places:
                continue
            numbers = (
                self.part(target, inputs + cut, total=False),
                self.part(outputs + cut, source),
            )
            left, right = (self.parts[k].pattern for k in numbers)
            p, q = pairs_of(left, right)
            if count := len(p):
                p, q = (np.resize(x, max(count, LEAST)) for x in (p, q))
                products.append((*numbers, p, q))
                pieces.append(Piece(-1, left.rows[p], right.cols[q], np.arange(len(p)) < count))
        final = total and target < outputs
        if final and self.layout.lower:
            # Of nested arguments the triangle is that of all of them together.
            for k, x in enumerate(pieces):
                below = x.row >= x.col if target == source else target > source
                pieces[k] = Piece(x.number, x.row, x.col, x.there & below)
        shape = self.heights[target], self.widths[source]
        form = self.form if final else "csr"
        pattern = Pattern(pieces, shape, form, self.layout.dtypes[target])
        self.parts.append(Part(pattern, pieces, products, target, final))
        return len(self.parts) - 1

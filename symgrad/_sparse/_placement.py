"""The program of a sparse derivative's values: each loop writes its own where they belong.

It is the traced program with further inputs: the places of all values, found once a pattern, and
what the pattern was found for. A call with other sizes, or other index data, is a miss. The data
are made one by one, or all that are results as one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.sizes import Dim, Dimension, Shape, as_dim, as_expr, dim_product, recording
from .._core.base.state import within
from .._core.graph import Input, Node, topological
from .._core.ops import BROADCAST, RESHAPE, SLICE
from .._core.ops.updates import SPREAD
from .._core.trace import Graph, LeafKind, Traced, Tree, as_node
from .._core.transforms.batch import batch
from .._dispatch import Specialization
from ._colours import Compressed
from ._pattern import Pattern, Piece


@dataclass(frozen=True)
class Recipe:
    """What the data of one derivative are made of.

    Attributes
    ----------
    target:
        The number of what is differentiated.
    blocks:
        Outputs of the trace.
    products:
        Numbers of two other derivatives, whose data are multiplied.
    alone:
        Which of all these have places that are no other's: they are written, the others added.
    partial:
        Which have values that are left out.
    final:
        Whether it is a result.
    single:
        Whether there is one entry: a size that no symbol stands for.
    rest:
        Whether there are entries that are the place of none that is alone: all are zeros before.
    """

    target: int
    blocks: tuple[int, ...]
    products: tuple[tuple[int, int], ...]
    alone: frozenset[int]
    partial: frozenset[int]
    final: bool
    single: bool
    rest: bool

    @property
    def order(self) -> list[int]:
        """The blocks and products by number, those that are alone first."""
        count = len(self.blocks) + len(self.products)
        return sorted(range(count), key=lambda k: (k not in self.alone, k))

    @property
    def exact(self) -> bool:
        """Whether there is one value for each entry."""
        return len(self.alone) == len(self.blocks) + len(self.products)

    def serves(self, other: Recipe) -> bool:
        """Tell whether it gives the same data, with additions where none are needed perhaps."""
        if self.rest:
            fewer = self.alone <= other.alone
        else:
            fewer = self.alone == other.alone and not other.rest
        own = replace(self, alone=other.alone, partial=other.partial, rest=other.rest)
        return fewer and self.partial >= other.partial and own == other


class Placed:
    """A compiled program for plans of some recipes.

    Parameters
    ----------
    recipes:
        What the derivatives are made of, each behind those that it is made of.
    found:
        The trace, whose outputs are the values of the blocks that lanes lead to.
    data:
        Numbers of the inputs on whose elements the patterns depend.
    dtypes:
        The element types of the targets.
    batch_size:
        The length of the leading axis that all values have, or None.
    compressed:
        The blocks that are computed by colours, whose inputs are not those of the trace.
    word:
        The element type of the places: half as many bytes are read of 32 bits as of 64.

    Attributes
    ----------
    specialization:
        The compiled program. Behind the inputs of the trace it takes the places of all values,
        in one array, since each array of its own is text in several functions. Then come which
        entries are multiplied, the sizes, how many entries there are where that is not how many
        values there are, what is given, and the index data.
    given:
        The inputs by colours.
    symbols:
        The symbols of the sizes.
    """

    def __init__(
        self,
        recipes: tuple[Recipe, ...],
        found: Specialization,
        data: Sequence[int],
        dtypes: Sequence[np.dtype[Any]],
        batch_size: Dimension | None,
        compressed: Compressed | None,
        word: np.dtype[Any],
    ) -> None:
        self.recipes, self.word = recipes, word
        graph = found.graph
        self._taken = {x.name for x in graph.inputs}
        self._taken |= {
            str(s) for x in graph.inputs for d in x.shape for s in as_expr(d).free_symbols
        }
        self._taken |= {str(x.dim) for x in graph.inputs}
        self.symbols = symbols = list(found.admission.sizes)
        with recording() as guards, within(promised=found.promised):
            self._places: list[Input] = []
            self._pairs: list[Input] = []
            sizes = [self._number("size", s.hint) for s in symbols]
            self._counts: list[Input] = []
            blocks = [*graph.outputs, *([] if compressed is None else compressed.blocks)]
            outputs = of_each(lambda x: self._outputs(x, recipes, dtypes), blocks, batch_size)
            own = set(graph.inputs)
            needed = topological([blocks[k] for k in {k for r in recipes for k in r.blocks}])
            used = {x for x in needed if isinstance(x, Input)}
            self.given = sorted(used - own, key=lambda x: x.name)
            known = [Input(self._name("known"), graph.inputs[k].shape, graph.inputs[k].dtype)
                     for k in data]  # fmt: skip
            same = [as_node(np.all(Traced(graph.inputs[k]) == Traced(x)))
                    for k, x in zip(data, known, strict=True)]  # fmt: skip
        guards = {**graph.guards, **guards}
        if compressed is not None:
            guards |= compressed.guards_of(self.given)
        guards |= {sp.Eq(s, x.dim): True for s, x in zip(symbols, sizes, strict=True)}
        more = (*self._places, *self._pairs, *sizes, *self._counts, *self.given, *known)
        one = len(outputs) == 1
        tree = Tree("leaf") if one else Tree("tuple", None, (Tree("leaf"),) * len(outputs))
        whole = Graph(
            (*graph.inputs, *more), tuple(outputs), tree, tuple(range(len(outputs))), guards,
            (*graph.conditions, *same),
        )  # fmt: skip
        names = tuple(x.name for x in more)
        layout = replace(
            found.layout,
            parameters=(*found.layout.parameters, *names),
            arguments=(*found.layout.arguments, *names),
            result="r" if one else f"({', '.join(f'r[{k}]' for k in range(len(outputs)))})",
        )
        kinds = (LeafKind("int") if x.dim is not None else LeafKind("array", x.dtype.char)
                 for x in more)  # fmt: skip
        signature = found.signature._replace(leaves=(*found.signature.leaves, *kinds))
        self.specialization = Specialization(
            whole, layout, signature, found.cache, found.threads, found.promised
        )

    def serves(self, recipes: tuple[Recipe, ...], word: np.dtype[Any]) -> bool:
        """Tell whether the program is right for plans of these recipes, with such places."""
        return (
            word == self.word
            and len(recipes) == len(self.recipes)
            and all(mine.serves(other) for mine, other in zip(self.recipes, recipes, strict=True))
        )

    # ---------------------------------------------------------------- the graph

    def _name(self, stem: str) -> str:
        name = next(n for k in range(10**6) if (n := f"{stem}{k or ''}") not in self._taken)
        self._taken.add(name)
        return name

    def _vector(self, stem: str) -> Input:
        return Input(self._name(stem), (Dim(self._name("p"), 2**10),), np.int64)

    def _placing(self, shapes: Sequence[Shape]) -> Iterator[Any]:
        """Yield places of values of these shapes, one behind the other, that it is given."""
        sizes = [dim_product(shape) for shape in shapes]
        starts = [*map(as_dim, itertools.accumulate(sizes, initial=0))]
        if sizes:
            self._places.append(Input(self._name("places"), (starts[-1],), self.word))
        for shape, start, size in zip(shapes, starts, sizes, strict=False):
            part = SLICE(Traced(self._places[0]), region=((start, 1, size),))
            yield RESHAPE(part, shape=shape)

    def _number(self, stem: str, example: int) -> Input:
        name = self._name(stem)
        return Input(name, (), np.int64, dim=Dim(self._name("p"), example))

    def _count(self, name: str) -> Any:
        """Return a number of entries that the program is given."""
        count = self._number(name, 2**10)
        self._counts.append(count)
        return count.dim

    def _outputs(
        self, blocks: Sequence[Node], recipes: Sequence[Recipe], dtypes: Sequence[np.dtype[Any]]
    ) -> list[Node]:
        """Return the data of those derivatives that are results."""
        shapes: list[Shape] = []
        pairs: list[tuple[Any, Any]] = []
        for recipe in recipes:
            own = [blocks[k].shape for k in recipe.blocks]
            for _ in recipe.products:
                p = self._vector("left")
                q = Input(self._name("right"), p.shape, np.int64)
                self._pairs += [p, q]
                pairs.append((Traced(p), Traced(q)))
                own.append(p.shape)
            shapes += [own[k] for k in recipe.order]

        def total(recipe: Recipe, values: Sequence[Any]) -> Dimension:
            if recipe.exact:
                return as_dim(sum(dim_product(x.node.shape) for x in values))
            return 1 if recipe.single else self._count("count")

        kinds = [dtypes[recipe.target] for recipe in recipes]
        found = data_of(recipes, blocks, kinds, self._placing(shapes), iter(pairs), total)
        return [x for x, recipe in zip(found, recipes, strict=True) if recipe.final]


def data_of(
    recipes: Sequence[Recipe], blocks: Sequence[Node], dtypes: Sequence[np.dtype[Any]],
    places: Iterator[Any], pairs: Iterator[tuple[Any, Any]],
    total: Callable[[Recipe, Sequence[Any]], Dimension],
) -> list[Node]:  # fmt: skip
    """Return the data of derivatives, of which each loop writes its own where they belong.

    Parameters
    ----------
    recipes, dtypes:
        What they are made of, each behind those whose data it multiplies, and their element types.
    blocks:
        The values of all blocks over their lanes.
    places:
        The places of all values, in the order of the recipes, in the shapes of the values.
    pairs:
        For each product which entries are multiplied.
    total:
        Returns how many entries a derivative of some values has.
    """
    found: list[Any] = []
    for recipe, dtype in zip(recipes, dtypes, strict=True):
        pieces = [Traced(blocks[k]) for k in recipe.blocks]
        for left, right in recipe.products:
            p, q = next(pairs)
            pieces.append(found[left][p] * found[right][q])
        if not pieces:
            found.append(np.broadcast_to(Traced(as_node(0.0, dtype)), (0,)))
            continue
        values, there = [], []
        for k in recipe.order:
            value, place = pieces[k], next(places)
            if k in recipe.partial:
                value = np.where(place >= 0, value, 0.0)
                place = np.maximum(place, 0)
            values.append(value.astype(dtype))
            there.append(place)
        alone, shape = len(recipe.alone), (total(recipe, values),)
        found.append(SPREAD(*values, *there, alone=alone, shape=shape, whole=not recipe.rest))
    return [as_node(x) for x in found]


def of_each(
    compute: Callable[[Sequence[Node]], list[Node]], blocks: Sequence[Node], size: Dimension | None
) -> list[Node]:
    """Return what is computed of blocks, for each example if they have a leading axis of a size."""
    if size is None:
        return compute(blocks)
    ones = [Input("v", x.shape[1:], x.dtype) for x in blocks]
    given = dict(zip(ones, blocks, strict=True))
    return [
        node if lifted else as_node(BROADCAST(Traced(node), shape=(size, *node.shape)))
        for node, lifted in batch(compute(ones), given, size)
    ]


#: Shortest array whose length is a symbol.
LEAST = 2


class Part:
    """One derivative: its pattern, and products of others that are added to its own blocks."""

    def __init__(
        self,
        pattern: Pattern,
        pieces: Sequence[Piece],
        products: Sequence[tuple[int, int, Any, Any]],
        target: int,
        final: bool,
    ) -> None:
        self.pattern = pattern
        own = len(pieces) - len(products)
        used = [k for k, places in enumerate(pattern.places) if np.any(places >= 0)]
        alone = pattern.alone()
        covered = sum(len(pattern.places[k]) for k in alone)
        self.recipe = Recipe(
            target,
            tuple(pieces[k].number for k in used if k < own),
            tuple(products[k - own][:2] for k in used if k >= own),
            frozenset(place for place, k in enumerate(used) if k in alone),
            frozenset(place for place, k in enumerate(used) if pattern.places[k].min() < 0),
            final,
            pattern.nnz == 1,
            covered < pattern.nnz,
        )
        self.places = [pattern.places[k] for k in used]
        self.pairs = [x for k in used if k >= own for x in products[k - own][2:]]
        self.nnz = pattern.nnz


class Joined:
    """Results as one: the data of each behind those of the others, told as a :class:`Part`.

    Each array that a program gives is text in its entry point and its loops, and is made and
    taken apart at every call. ``numbers`` are those that factors of products have.
    """

    def __init__(self, parts: Sequence[Part], numbers: Mapping[int, int]) -> None:
        recipes = [part.recipe for part in parts]
        starts = np.cumsum([0, *(part.nnz for part in parts)]).tolist()
        count = sum(len(r.blocks) for r in recipes)
        blocks, products, alone, partial = 0, count, set(), set()
        places: dict[int, Any] = {}
        for part, r, start in zip(parts, recipes, starts, strict=False):
            own = [*range(blocks, blocks + len(r.blocks)),
                   *range(products, products + len(r.products))]  # fmt: skip
            blocks, products = blocks + len(r.blocks), products + len(r.products)
            alone |= {own[k] for k in r.alone}
            partial |= {own[k] for k in r.partial}
            places |= {j: np.where(x < 0, x, x + start)
                       for j, x in zip(own, part.places, strict=True)}  # fmt: skip
        self.nnz = starts[-1]
        self.recipe = Recipe(
            recipes[0].target,
            tuple(k for r in recipes for k in r.blocks),
            tuple((numbers[p], numbers[q]) for r in recipes for p, q in r.products),
            frozenset(alone),
            frozenset(partial),
            True,
            self.nnz == 1,
            any(r.rest for r in recipes),
        )
        self.places = [places[k] for k in sorted(places)]
        self.pairs = [x for part in parts for x in part.pairs]

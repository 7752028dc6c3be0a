"""What the data of sparse derivatives are made of: one by one, or all that are results as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._pattern import Pattern, Piece
from ._placed import FEW, MANY, NONE, Recipe

#: Shortest array whose length is a symbol.
LEAST = 2

#: So many entries are few, of however many.
FEWEST = 8


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
        written = [np.zeros(0, int), *(pattern.places[k] for k in alone)]
        rest = np.setdiff1d(np.arange(pattern.nnz), np.concatenate(written), assume_unique=True)
        few = 0 < len(rest) <= max(FEWEST, pattern.nnz // 8) and pattern.nnz > 1
        self.recipe = Recipe(
            target,
            tuple(pieces[k].number for k in used if k < own),
            tuple(products[k - own][:2] for k in used if k >= own),
            frozenset(place for place, k in enumerate(used) if k in alone),
            frozenset(place for place, k in enumerate(used) if pattern.places[k].min() < 0),
            final,
            pattern.nnz == 1,
            FEW if few else MANY if len(rest) else NONE,
        )
        #: The places, at least LEAST of them, of entries that are zeros before others are added.
        self.rest = np.resize(rest, max(len(rest), LEAST)) if few else rest[:0]
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
        rest = max(r.rest for r in recipes)
        self.nnz = starts[-1]
        self.recipe = Recipe(
            recipes[0].target,
            tuple(k for r in recipes for k in r.blocks),
            tuple((numbers[p], numbers[q]) for r in recipes for p, q in r.products),
            frozenset(alone),
            frozenset(partial),
            True,
            self.nnz == 1,
            rest,
        )
        zeros = [part.rest + start for part, start in zip(parts, starts, strict=False)]
        self.rest = np.concatenate(zeros) if rest == FEW else parts[0].rest[:0]
        self.places = [places[k] for k in sorted(places)]
        self.pairs = [x for part in parts for x in part.pairs]

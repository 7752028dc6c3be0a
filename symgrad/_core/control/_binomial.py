"""Reverse mode of a loop in a given number of carries: binomial checkpointing.

The backward loop keeps carries of some steps in *slots*, as a stack: the first step's lowest.
To undo step ``t`` it goes on from the last one that is kept, and keeps others on the way, as
far as there are slots, where the rest of the work is least. With ``c`` slots and ``r`` runs
through each step ``C(c + r, c)`` steps can be undone; ``l`` steps take at least ``r l - C(c + r,
r - 1)`` forward steps, ``r`` the least that suffices, and the split below attains that.

The schedule is computed by the kernel as it goes: the number of steps may be open.

Source: A. Griewank, A. Walther, Algorithm 799: Revolve, ACM Transactions on Mathematical
Software 26 (2000), 19-45.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import as_size, guard, hint
from ..graph import Constant, Input, Node
from ..trace import Traced, as_node, substitute
from ._build import build_while
from ._fields import zeros
from ._loop_reverse import Backward, Values

#: A plan holds for lengths up to so many times that of the example call.
LONGER = 64


def fewest_runs(steps: int, slots: int) -> int:
    """Return how often a step is run at most: the least ``r`` with ``C(slots + r, r) >= steps``."""
    runs = 0
    while comb(slots + runs, slots) < steps:
        runs += 1
    return runs


def reached(slots: int, runs: int) -> Any:
    """Return the table ``C(c + r, c)`` for up to ``slots`` and ``runs``."""
    largest = np.iinfo(np.int64).max
    rows = [[min(comb(c + r, c), largest) for r in range(runs + 1)] for c in range(slots + 1)]
    return np.array(rows, np.int64)


def split(table: Any, length: Any, slots: Any) -> Any:
    """Return after how many of ``length`` steps to keep the next carry, for 2 slots or more."""
    runs = np.sum(table[slots] < length)
    before = np.maximum(runs - 1, 0)
    return np.minimum(table[slots, before], length - table[slots - 1, before])


class Binomial(Backward):
    """The backward loop that runs forward steps again, from the carries in its slots."""

    def _table(self) -> Any:
        """Return how many steps can be undone with so many slots and runs, as a traced array.

        It holds for lengths up to those that a guard names.
        """
        slots, length = self.loop.slots, self.loop.length
        assert slots is not None
        assert length is not None
        runs = fewest_runs(LONGER * max(2, hint(length)), max(2, slots))
        if slots > 1 and isinstance(length, sp.Expr):  # one slot asks no table
            most = comb(slots + runs, slots)
            guard(sp.Le(length, most, evaluate=False), value_is=True)
        return Traced(Constant(reached(slots, runs)))

    def _values(self, outputs: Sequence[Node]) -> Values:
        loop, table = self.loop, self._table()
        assert loop.slots is not None
        assert loop.length is not None
        slots = loop.slots
        count = as_size(loop.length)
        # One more row for what is not kept, so that every step writes to some row.
        rows = [Input(f"kept{k}", (slots + 1, *x.shape), x.dtype)
                for k, x in enumerate(loop.carried)]  # fmt: skip
        places, top = Input("places", (slots + 1,), np.int64), Input("top", (), np.int64)
        whole = [Input(f"all{k}", x.shape, x.dtype) for k, x in enumerate(loop.xs)]

        def numbered(step: Any) -> Any:
            return count - 1 - step if loop.reverse else step

        def advance(carry: Any) -> Any:
            step, state = carry
            index = numbered(step)
            swap: dict[Node, Node] = {loop.step: as_node(index)}
            swap |= dict(zip(loop.carried, map(as_node, state), strict=True))
            swap |= {x: as_node(Traced(w)[index])
                     for x, w in zip(loop.slices, whole, strict=True)}  # fmt: skip
            return step + 1, [Traced(x) for x in substitute(loop.news, swap)]

        def descend(carry: Any) -> Any:
            begin, level, kept_at, kept, state = carry
            left, length = slots - level, last + 1 - begin
            more = left > 1
            end = begin + np.where(more, split(table, length, np.maximum(left, 2)), length - 1)
            if slots == 1:
                end = last
            _, state = build_while(lambda c: c[0] < end, advance, (begin, state), None)
            row = np.where(more, level + 1, slots)
            kept_at[row] = end
            for array, value in zip(kept, state, strict=True):
                array[row] = value
            return end, np.where(more, level + 1, level), kept_at, kept, state

        last = numbered(Traced(loop.step))
        level = Traced(top)
        start = Traced(places)[level]
        state = [Traced(x)[level] for x in rows]
        _, level, kept_at, kept, state = build_while(
            lambda c: c[0] < last, descend,
            (start, level, Traced(places), [Traced(x) for x in rows], state), None,
        )  # fmt: skip
        swap = dict(zip(loop.carried, map(as_node, state), strict=True))
        found = substitute(outputs, swap)
        # A step that is undone is not gone on from any more.
        level = np.where(kept_at[level] == last, level - 1, level)
        carries = [(top, as_node(np.int64(0)), as_node(level)),
                   (places, zeros(places), as_node(kept_at))]  # fmt: skip
        for row, x, new in zip(rows, loop.inits, kept, strict=True):
            carries.append((row, _first(row, x), as_node(new)))
        shared = [(w, x) for w, x in zip(whole, loop.xs, strict=True)]
        return Values(found, [], shared, carries)


def _first(rows: Node, value: Node) -> Node:
    """Return empty rows but for the first."""
    made: Any = Traced(zeros(rows))
    made[0] = Traced(value)
    return as_node(made)

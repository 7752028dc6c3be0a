"""Loops that Python has written out, as loops again.

Before derivatives are taken, and before a program is scheduled, the repeats of a graph
(``_periods``) become loop nodes, all in one walk. What goes from one round to the next are
carries; numbers and elements that differ from round to round, and what an earlier loop has
kept, are what the loop goes along; what is used behind the loop is a last carry, or stacked.
So every later stage sees one round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp

from ..base.state import at, within
from ..base.switches import is_on
from ..graph import Body, Constant, Input, Literal, Node, apply, remade, topological
from ..op import PROJECTIONS, Bodied
from ..ops import SLICE, TRANSPOSE
from ..ops.gathers import GATHER
from ..rewrite import rewrite
from ..trace import SHORT_LAST_AXIS, Traced, as_node, bind_nodes
from ._array_recovery import in_arrays
from ._fields import Loop, result
from ._iterations import ROUNDS, NotALoop, Rounds
from ._periods import MOVED, SAME, Operand, Repeat, Row, may_repeat
from ._row_groups import joined

#: A program of fewer steps stays as it is: it compiles in about a second, and straight code of
#: numbers runs over a batch in registers.
LONG = 6000

#: As many steps of numbers compile while one array is put together from parts, which keeps the
#: steps before it from being one pass over memory with those behind.
ASSEMBLY = 300

#: And while a sum or a product over arrays does, which ends the loop of what is before it.
SUM = 50

#: Both by the kind of op.
COSTS = {"assemble": ASSEMBLY, "reduce": SUM, "contract": SUM, "scan": SUM, "routine": SUM}

#: Short arrays of up to so many numbers, all together, are unrolled, and put together in registers.
NUMBERS = 2000

#: Repeats of so small a part of that are loops in longer programs: what an odd step here and
#: there leaves between.
SHARE = 6

#: Most walks: loops whose rounds have loops need another one, and so do others now and then.
WALKS = 8


def rerolled(outputs: Sequence[Node], to_come: int = 1) -> list[Node]:
    """Return ``outputs`` with long repeats as loops.

    Parameters
    ----------
    outputs:
        Nodes of a traced function.
    to_come:
        How many steps will be made of each, say by taking a derivative.
    """
    found = in_arrays(outputs)
    if not is_on("roll"):
        return found
    order = _in_order(found)
    numbers = [_numbers(n) for n in order]
    if sum(numbers) <= NUMBERS:  # they are written out, whatever is made of them
        heavy = [n for n, count in zip(order, numbers, strict=True) if not count]
    else:
        heavy = order
    weight = len(order) + sum(COSTS.get(n.op.kind, 0) for n in heavy if _of_arrays(n))
    if weight * to_come < LONG:
        return found
    least = max(LONG * len(order) // (weight * SHARE), ROUNDS)
    for _ in range(WALKS):
        if len(order) < least or not may_repeat(order, least // 2):
            break
        walk = _Walk(order, found, least)
        made = walk.through(found)
        if not walk.made:
            break
        found, order = made, _in_order(made)
    return found


def _in_order(outputs: Sequence[Node]) -> list[Node]:
    """Return the steps in an order in which the results of a loop or a branch stand behind it.

    Where they are read is another place, often behind all rounds: both parts of a complex matrix
    that is made in a loop, in a product of many such matrices.
    """
    order = topological(outputs)
    results: dict[Node, list[Node]] = {}
    for node in order:
        if node.op.kind in PROJECTIONS:
            results.setdefault(node.operands[0], []).append(node)
    if not results:
        return order
    for found in results.values():
        found.sort(key=lambda node: int(node.params["index"]))
    rest = [n for n in order if n.op.kind not in PROJECTIONS]
    return [x for n in rest for x in (n, *results.get(n, ()))]


def _of_arrays(node: Node) -> bool:
    return bool(node.shape) or any(x.shape for x in node.operands)


def _numbers(node: Node) -> int:
    """Return how many numbers an array is unrolled into; 0 if it is none of the short ones."""
    if not all(isinstance(d, int) and d <= SHORT_LAST_AXIS for d in node.shape):
        return 0
    return math.prod(map(int, node.shape))


class _Walk:
    """Goes along a row once, and makes loops where rounds are.

    Attributes
    ----------
    made:
        The loops, each with its results by step: the last carries, and the stacks.
    """

    def __init__(self, order: Sequence[Node], outputs: Sequence[Node], least: int) -> None:
        self.row = row = Row(order)

        def rounds(repeat: Repeat) -> Rounds | None:
            return Rounds.of(row, repeat, least, outputs)

        self.loops = {found.start: found for found in row.repeats(ROUNDS, least, rounds)}
        self.made: list[_Loop] = []
        #: For each step that a loop has taken in, the number of the loop; -1 for others.
        self.owner = np.full(len(row.steps), -1, np.int32)
        self.done: dict[Node, Node] = {}

    def through(self, outputs: Sequence[Node]) -> list[Node]:
        """Return what has become of ``outputs``."""
        if not self.loops:
            return list(outputs)
        k, steps = 0, self.row.steps
        with within():
            while k < len(steps):
                rounds = self.loops.get(k)
                if rounds is not None and self._rolled(rounds):
                    k = rounds.stop
                    continue
                node = steps[k]
                at(node.where)
                self.done[node] = joined(remade(node, tuple([self.now(x) for x in node.operands])))
                k += 1
            return [self.now(x) for x in outputs]

    def _rolled(self, rounds: Rounds) -> bool:
        with within(where=rounds.step(0, 0).where):
            try:
                loop = _Loop(self, rounds)
            except NotALoop:
                return False
        self.owner[rounds.start : rounds.stop] = len(self.made)
        self.made.append(loop)
        return True

    def now(self, node: Node) -> Node:
        """Return what has become of a step before here, a leaf, or a view of one."""
        views = []
        while node not in self.done and node.op.kind == "view":
            views.append(node)
            node = node.operands[0]
        found = self.done.get(node)
        if found is None:
            k = self.row.at.get(node, -1)
            owner = -1 if k < 0 else int(self.owner[k])
            found = self.done[node] = node if owner < 0 else self.made[owner].given(k)
        for view in reversed(views):
            found = self.done[view] = remade(view, (found,))
        return found

    def stack(self, steps: Any) -> Node:
        """Return what has become of steps before here, one below the other."""
        owners = self.owner[steps]
        if owners[0] >= 0 and (owners == owners[0]).all():
            rows: Node | None = self.made[owners[0]].rows(steps)
            if rows is not None:
                return rows
        nodes = [self.row.steps[k] for k in steps]
        if any(isinstance(n.op, Bodied) or n.op.kind == "tape" for n in nodes):
            raise NotALoop
        return joined(as_node(np.stack([Traced(self.now(n)) for n in nodes])))


class _Loop:
    """The loop that is made of rounds, and what it gives."""

    def __init__(self, walk: _Walk, rounds: Rounds) -> None:
        self.walk, self.rounds, self.row = walk, rounds, rounds.row
        lag = rounds.lag
        self.places = [(j, back) for j in sorted(lag) for back in range(1, lag[j] + 1)]
        inits = [walk.now(rounds.step(-back, j)) for j, back in self.places]
        self.carries = {
            key: Input(f"c{k}", x.shape, x.dtype)
            for k, (key, x) in enumerate(zip(self.places, inits, strict=True))
        }
        self.xs: dict[Any, tuple[Input, Node]] = {}
        self.shared: dict[Node, Input] = {}
        self.inner: list[Node] = []
        for j in range(rounds.period):
            node = rounds.step(0, j)
            at(node.where)
            operands = tuple([self._operand(j, place) for place in range(len(node.operands))])
            self.inner.append(apply(node.op, operands, node.items, node.shape, node.dtype))
        news = [self.inner[j] if back == 1 else self.carries[j, back - 1]
                for j, back in self.places]  # fmt: skip
        self.stacks = [j for j, left in rounds.left.items() if left]
        step = Input("i", (), np.int64)
        inputs = (step, *self.carries.values(), *(x for x, _ in self.xs.values()),
                  *self.shared.values())  # fmt: skip
        outputs = rewrite(rerolled([*news, *(self.inner[j] for j in self.stacks)]))
        self.node = Loop(
            tuple(inits), tuple(x for _, x in self.xs.values()), tuple(self.shared),
            Body(inputs, outputs), rounds.count,
        ).node()  # fmt: skip
        if not self.node.operands:
            raise NotALoop

    # ---------------------------------------------------------------- what it gives

    def given(self, k: int) -> Node:
        """Return what stands for step ``k`` of the row behind the loop."""
        turn, j = self.rounds.place(k)
        back = self.rounds.count - turn
        if back <= self.rounds.lag.get(j, 0):
            return result(self.node, self.places.index((j, back)))
        return self._sliced(j, ((turn, 1, None),))

    def rows(self, steps: Any) -> Node | None:
        """Return the rows of a stack that stand for steps of the row; None if they are no such."""
        turns, own = self.rounds.place(steps)
        pace = int(turns[1] - turns[0])
        if own[0] not in self.stacks or (own != own[0]).any() or not pace:
            return None
        if (np.diff(turns) != pace).any():
            return None
        return self._sliced(int(own[0]), ((int(turns[0]), pace, len(turns)),))

    def _sliced(self, j: int, first: tuple[Any, ...]) -> Node:
        stack = result(self.node, len(self.places) + self.stacks.index(j))
        rest = tuple((0, 1, d) for d in stack.shape[1:])
        return bind_nodes(SLICE, (stack,), {"region": (*first, *rest)})

    # ---------------------------------------------------------------- operands of a round

    def _operand(self, j: int, place: int) -> Node:
        """Return operand ``place`` of step ``j`` in the loop's body."""
        rounds, row = self.rounds, self.row
        first = rounds.start + j
        all_of = slice(first, rounds.stop, rounds.period)
        own = row.operand(first, place)
        way = rounds.ways[place, first]
        if way == MOVED:
            lag, source = rounds.place(int(row.source[place, first]))
            if lag > -rounds.count:
                base = self.inner[source] if lag == 0 else self.carries[source, -lag]
                return _through(own.views, base)
        if way != SAME:
            steps = row.source[place, all_of]
            base = self._along((int(steps[0]), int(steps[1])), lambda: self.walk.stack(steps))
            return _through(own.views, base)
        if np.ptp(row.leaf[place, all_of]):
            if np.ptp(row.picks[place, all_of]):
                raise NotALoop
            leaves = [
                row.operand(k, place).source for k in range(first, rounds.stop, rounds.period)
            ]
            return _through(own.views, self._table(leaves))
        if np.ptp(row.picks[place, all_of]):
            picks = [row.operand(k, place).picks for k in range(first, rounds.stop, rounds.period)]
            return _through(own.views[1:], self._elements(own, picks))
        return self._outer(row.steps[first].operands[place])

    def _outer(self, node: Node) -> Node:
        """Return what all rounds share: numbers as they are, the rest as an operand."""
        if node.op.kind == "leaf" and not isinstance(node, Input):
            return node
        node = self.walk.now(node)
        if node not in self.shared:
            self.shared[node] = Input(f"k{len(self.shared)}", node.shape, node.dtype)
        return self.shared[node]

    def _along(self, key: Any, make: Callable[[], Node]) -> Node:
        """Return the element of an array that the loop goes along."""
        if key not in self.xs:
            array = make()
            element = Input(f"x{len(self.xs)}", array.shape[1:], array.dtype)
            self.xs[key] = element, array
        return self.xs[key][0]

    def _table(self, leaves: Sequence[Node]) -> Node:
        """Return the element of an array of numbers, or of constant arrays."""
        values = [x.value if isinstance(x, Literal) else x.array for x in leaves
                  if isinstance(x, (Literal, Constant))]  # fmt: skip
        if len(values) < len(leaves):
            raise NotALoop
        return self._along(tuple(leaves), lambda: Constant(np.stack(values)))

    def _elements(self, own: Operand, picks: Sequence[tuple[Any, ...]]) -> Node:
        """Return the element that each round reads of one array."""
        region, source = own.views[0].params["region"], self.walk.now(own.source)
        axes = [k for k, (_, _, size) in enumerate(region) if size is None]
        column = [_progression([p[k] for p in picks]) for k in range(len(axes))]
        moving = [k for k, steps in enumerate(column) if steps != 0]
        if len(moving) == 1 and column[moving[0]] is not None:
            axis, pace = axes[moving[0]], column[moving[0]]
            entries = list(region)
            entries[axis] = (region[axis][0], pace, self.rounds.count)

            def rows() -> Node:
                rows = bind_nodes(SLICE, (source,), {"region": tuple(entries)})
                before = sum(size is not None for _, _, size in region[:axis])
                if before == 0:
                    return rows
                order = (before, *(k for k in range(rows.ndim) if k != before))
                return bind_nodes(TRANSPOSE, (rows,), {"axes": order})

            return self._along((own.source, tuple(entries)), rows)
        whole = all(e == (0, 1, n) for e, n in zip(region, own.source.shape, strict=True)
                    if e[2] is not None)  # fmt: skip
        if not whole or not all(isinstance(i, int) for p in picks for i in p):
            raise NotALoop
        table = np.array(picks, np.int64).T
        indices = [Constant(np.ascontiguousarray(row)) for row in table]
        return self._along(
            (own.source, region, tuple(picks)),
            lambda: bind_nodes(GATHER, (source, *indices), {"axes": tuple(axes), "at": 0}),
        )


def _through(views: Sequence[Node], base: Node) -> Node:
    """Take the views of another source."""
    for view in views:
        base = apply(view.op, (base,), view.items, view.shape, view.dtype)
    return base


def _progression(values: Sequence[Any]) -> int | None:
    """Return the difference of an arithmetic progression, None if it is none."""
    if all(isinstance(v, int) for v in values):
        steps = np.unique(np.diff(np.array(values, np.int64)))
        return int(steps[0]) if len(steps) == 1 else None
    first = values[0]
    pace = sp.expand(values[1] - first)
    if not pace.is_Integer:
        return None
    alike = all(sp.expand(v - first - pace * k) == 0 for k, v in enumerate(values))
    return int(pace) if alike else None

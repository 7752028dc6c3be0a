"""Loops that Python has written out, as loops again.

Before derivatives are taken, and before a program is scheduled, the longest repeat of a graph
(``_periods``) becomes one loop node, then the next one. What goes from one round to the next
are carries; numbers and elements that differ from round to round are what the loop goes along;
what is used behind the loop is a last carry, or stacked. So every later stage sees one round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from .._graph import Body, Constant, Input, Literal, Node, apply, element_count, topological
from .._op import PROJECTIONS, Bodied
from .._ops import SLICE, TRANSPOSE
from .._ops.gathers import GATHER
from .._rewrite import rewrite
from .._state import within
from .._trace import SHORT_LAST_AXIS, Traced, as_node, bind_nodes, substitute
from ._parts import Loop, result
from ._periods import MOVED, Operand, Repeat, Row, may_repeat
from ._regroup import regrouped

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

#: Fewest rounds of a loop.
ROUNDS = 8

#: Most loops that are looked for.
LOOPS = 16


def rerolled(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with long repeats as loops.

    Parameters
    ----------
    outputs:
        Nodes of a traced function.
    """
    found, order = list(outputs), _in_order(outputs)
    numbers = [_numbers(n) for n in order]
    if sum(numbers) <= NUMBERS:  # they are written out, whatever is made of them
        loops = [n for n, count in zip(order, numbers, strict=True) if not count]
    else:
        loops = order
    weight = len(order) + sum(COSTS.get(n.op.kind, 0) for n in loops if _of_arrays(n))
    if weight < LONG:
        return found
    least = max(LONG * len(order) // (weight * SHARE), ROUNDS)
    for _ in range(LOOPS):
        if len(order) < least or not may_repeat(order, least // 2):
            break
        row = Row(order)
        repeat = row.repeat(ROUNDS)
        if repeat is None or repeat.stop - repeat.start < least:
            break
        made = _Reroller(row, repeat, least).rolled(found)
        if made is None:
            break
        found = regrouped(made)
        order = _in_order(found)
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


class _NotALoop(Exception):  # noqa: N818  not an error: the repeat stays as it is
    """A repeat is none that a loop could be made of."""


class _Reroller:
    """Makes a loop of one repeat.

    The rounds begin at ``start``; round ``k`` has the steps ``start + k * period + j``.
    """

    def __init__(self, row: Row, repeat: Repeat, least: int) -> None:
        self.least = least
        self.row, self.repeat, self.period = row, repeat, repeat.period
        self.ways = row.matches(self.period)
        self.start = self._first(repeat)
        self.count = (repeat.stop - self.start) // self.period

    # ---------------------------------------------------------------- where rounds begin

    def _first(self, repeat: Repeat) -> int:
        """Return where the fewest bytes go from one round to the next."""
        period, start = self.period, repeat.start
        inside = slice(start, repeat.stop - period)
        moved = self.ways[:, inside] == MOVED
        steps = np.arange(start, repeat.stop - period)
        sources = self.row.source[:, inside]
        reach = np.zeros(period, np.int64)
        for place in range(len(moved)):
            own = moved[place]
            np.maximum.at(
                reach, (sources[place] - start)[own] % period, (steps - sources[place])[own]
            )
        crossing = np.zeros(period)
        for j in np.flatnonzero(reach):
            rounds, rest = divmod(int(reach[j]), period)
            weight = _bytes(self.row.steps[start + int(j)])
            crossing += weight * rounds
            ahead = (j + 1 + np.arange(rest)) % period
            crossing[ahead] += weight
        return start + int(np.argmin(crossing))

    def _step(self, k: int, j: int) -> Node:
        return self.row.steps[self.start + k * self.period + j]

    # ---------------------------------------------------------------- the loop

    def rolled(self, outputs: Sequence[Node]) -> list[Node] | None:
        """Return ``outputs`` with the loop, None if there is none to be made."""
        try:
            self._after_shared()
            for _ in range(2):
                if self.count < ROUNDS or self.count * self.period < self.least:
                    return None
                used = self._used(outputs)
                self._lags()
                left = {j: rounds - self._carried(j) for j, rounds in used.items()}
                if not any(rounds and min(rounds) == self.count - 1 for rounds in left.values()):
                    break
                self.count -= 1  # what only the last round gives stays outside
            with within(where=self._step(0, 0).where):
                return substitute(outputs, self._replaced(used, left))
        except _NotALoop:
            return None

    def _after_shared(self) -> None:
        """Begin after everything that all rounds share."""
        inside = slice(self.start, self.repeat.stop - self.period)
        fixed = (self.ways[:, inside] != MOVED) & (self.row.source[:, inside] >= self.start)
        if fixed.any():
            last = int(self.row.source[:, inside][fixed].max())
            rounds = (last - self.start) // self.period + 1
            self.start += rounds * self.period
            self.count -= rounds
            if self.count >= ROUNDS:
                self._after_shared()

    def _used(self, outputs: Sequence[Node]) -> dict[int, set[int]]:
        """Return which steps are used behind the loop, and of which rounds."""
        stop = self.start + self.count * self.period
        used: dict[int, set[int]] = {}
        seen: set[Node] = set()
        stack = list(outputs)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            at = self.row.at.get(node, -1)
            if self.start <= at < stop:
                k, j = divmod(at - self.start, self.period)
                used.setdefault(j, set()).add(k)
                if isinstance(node.op, Bodied):
                    raise _NotALoop
            else:
                stack.extend(node.operands)
        return used

    def _lags(self) -> None:
        """Find what is carried: for each step how many rounds later it is read at last."""
        self.lag: dict[int, int] = {}
        for j in range(self.period):
            for place in range(len(self._step(0, j).operands)):
                if self.ways[place, self.start + j] == MOVED:
                    source = int(self.row.source[place, self.start + j])
                    rounds, own = divmod(source - self.start, self.period)
                    if rounds < 0 and isinstance(self.row.steps[source].op, Bodied):
                        raise _NotALoop
                    if -self.count <= rounds < 0:
                        self.lag[own] = max(self.lag.get(own, 0), -rounds)

    def _carried(self, j: int) -> set[int]:
        """Return the rounds of which step ``j`` is at hand behind the loop."""
        return set(range(self.count - self.lag.get(j, 0), self.count))

    def _replaced(self, used: dict[int, set[int]], left: dict[int, set[int]]) -> dict[Node, Node]:
        """Make the loop; return what stands for the steps that are used behind it."""
        places = [(j, lag) for j in sorted(self.lag) for lag in range(1, self.lag[j] + 1)]
        inits = [self._step(-lag, j) for j, lag in places]
        self.carries = {
            key: Input(f"c{k}", x.shape, x.dtype)
            for k, (key, x) in enumerate(zip(places, inits, strict=True))
        }
        self.xs: dict[Any, tuple[Input, Node]] = {}
        self.shared: dict[Node, Input] = {}
        self.made: list[Node] = []
        for j in range(self.period):
            node = self._step(0, j)
            with within(where=node.where):
                operands = tuple(self._operand(j, place) for place in range(len(node.operands)))
                self.made.append(apply(node.op, operands, node.items, node.shape, node.dtype))
        news = [self.made[j] if lag == 1 else self.carries[j, lag - 1] for j, lag in places]
        stacks = [j for j, rounds in left.items() if rounds]
        step = Input("i", (), np.int64)
        inputs = (step, *self.carries.values(), *(x for x, _ in self.xs.values()),
                  *self.shared.values())  # fmt: skip
        node = Loop(
            tuple(inits), tuple(x for _, x in self.xs.values()), tuple(self.shared),
            Body(inputs, rewrite([*news, *(self.made[j] for j in stacks)])), self.count,
        ).node()  # fmt: skip
        if not node.operands:
            raise _NotALoop
        swap: dict[Node, Node] = {}
        for j, rounds in used.items():
            for k in rounds - left[j]:
                swap[self._step(k, j)] = result(node, places.index((j, self.count - k)))
            if left[j]:
                stack = result(node, len(places) + stacks.index(j))
                rest = tuple((0, 1, d) for d in stack.shape[1:])
                for k in left[j]:
                    region = ((k, 1, None), *rest)
                    swap[self._step(k, j)] = bind_nodes(SLICE, (stack,), {"region": region})
        return swap

    # ---------------------------------------------------------------- operands of a round

    def _operand(self, j: int, place: int) -> Node:
        """Return operand ``place`` of step ``j`` in the loop's body."""
        at = self.start + j
        rounds = range(at, at + self.count * self.period, self.period)
        own = self.row.operand(at, place)
        if self.ways[place, at] == MOVED:
            lag, source = divmod(int(self.row.source[place, at]) - self.start, self.period)
            if lag < -self.count:  # no round gives it: other steps may lie between
                base = self._along((lag, source), lambda: self._earlier(lag, source))
            else:
                base = self.made[source] if lag == 0 else self.carries[source, -lag]
            return _through(own.views, base)
        all_of = [self.row.operand(k, place) for k in rounds]
        sources = {x.source for x in all_of}
        if len(sources) > 1:
            return _through(own.views, self._table([x.source for x in all_of]))
        if len({x.picks for x in all_of}) > 1:
            element = self._elements(own, [x.picks for x in all_of])
            return _through(own.views[1:], element)
        return self._outer(self.row.steps[at].operands[place])

    def _outer(self, node: Node) -> Node:
        """Return what all rounds share: numbers as they are, the rest as an operand."""
        if node.op.kind == "leaf" and not isinstance(node, Input):
            return node
        if node not in self.shared:
            self.shared[node] = Input(f"k{len(self.shared)}", node.shape, node.dtype)
        return self.shared[node]

    def _along(self, key: Any, make: Any) -> Node:
        """Return the element of an array that the loop goes along."""
        if key not in self.xs:
            array = make()
            element = Input(f"x{len(self.xs)}", array.shape[1:], array.dtype)
            self.xs[key] = element, array
        return self.xs[key][0]

    def _earlier(self, lag: int, j: int) -> Node:
        """Return what the rounds read of steps before the loop, one below the other."""
        return as_node(np.stack([Traced(self._step(k + lag, j)) for k in range(self.count)]))

    def _table(self, leaves: Sequence[Node]) -> Node:
        """Return the element of an array of numbers, or of constant arrays."""
        values = [x.value if isinstance(x, Literal) else x.array for x in leaves
                  if isinstance(x, (Literal, Constant))]  # fmt: skip
        if len(values) < len(leaves):
            raise _NotALoop
        return self._along(tuple(leaves), lambda: Constant(np.stack(values)))

    def _elements(self, own: Operand, picks: Sequence[tuple[Any, ...]]) -> Node:
        """Return the element that each round reads of one array."""
        region = own.views[0].params["region"]
        axes = [k for k, (_, _, size) in enumerate(region) if size is None]
        column = [_progression([p[k] for p in picks]) for k in range(len(axes))]
        moving = [k for k, steps in enumerate(column) if steps != 0]
        if len(moving) == 1 and column[moving[0]] is not None:
            axis, pace = axes[moving[0]], column[moving[0]]
            entries = list(region)
            entries[axis] = (region[axis][0], pace, self.count)

            def rows() -> Node:
                rows = bind_nodes(SLICE, (own.source,), {"region": tuple(entries)})
                before = sum(size is not None for _, _, size in region[:axis])
                if before == 0:
                    return rows
                order = (before, *(k for k in range(rows.ndim) if k != before))
                return bind_nodes(TRANSPOSE, (rows,), {"axes": order})

            return self._along((own.source, tuple(entries)), rows)
        whole = all(e == (0, 1, n) for e, n in zip(region, own.source.shape, strict=True)
                    if e[2] is not None)  # fmt: skip
        if not whole or not all(isinstance(i, int) for p in picks for i in p):
            raise _NotALoop
        table = np.array(picks, np.int64).T
        indices = [Constant(np.ascontiguousarray(row)) for row in table]
        return self._along(
            (own.source, region, tuple(picks)),
            lambda: bind_nodes(GATHER, (own.source, *indices), {"axes": tuple(axes), "at": 0}),
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


def _bytes(node: Node) -> int:
    if isinstance(node.op, Bodied):
        return 1 << 40  # a loop and its results stay in one round
    return element_count(node) * int(node.dtype.itemsize)

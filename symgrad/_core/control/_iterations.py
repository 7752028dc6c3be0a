"""The rounds of a loop that Python has written out: where they begin, what goes in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Node, element_count, viewed
from ..op import Bodied
from ._periods import MOVED, Repeat, Row

#: Fewest rounds of a loop.
ROUNDS = 8


class NotALoop(Exception):  # noqa: N818  not an error: the repeat stays as it is
    """A repeat is none that a loop could be made of."""


class Rounds:
    """The rounds of one repeat: round ``k`` has the steps ``start + k * period + j``.

    Attributes
    ----------
    start, period, count:
        Where the rounds begin, how long each is, and how many there are.
    ways:
        How operands move from round to round, by place and by step.
    used:
        Which steps are used behind the loop, and of which rounds.
    lag:
        What is carried: for each step how many rounds later it is read at last.
    left:
        Of what is used, the rounds that are no last carries.
    """

    def __init__(self, row: Row, repeat: Repeat, least: int) -> None:
        self.row, self.period, self.least = row, repeat.period, least
        self.ways, _ = row.matches(self.period)
        self.start = self._first(repeat)
        self.count = (repeat.stop - self.start) // self.period

    @classmethod
    def of(cls, row: Row, repeat: Repeat, least: int, outputs: Sequence[Node]) -> Rounds | None:
        """Return the rounds that are a loop of at least so many steps, None if there are none."""
        rounds = cls(row, repeat, least)
        try:
            return rounds if rounds._settled(outputs) else None
        except NotALoop:
            return None

    @property
    def stop(self) -> int:
        """The step behind the last round."""
        return self.start + self.count * self.period

    def step(self, k: int, j: int) -> Node:
        """Return step ``j`` of round ``k``."""
        return self.row.steps[self.start + k * self.period + j]

    def place(self, at: Any) -> tuple[Any, Any]:
        """Return the round of a step of the row, or of several, and its number there."""
        found: tuple[Any, Any] = divmod(at - self.start, self.period)
        return found

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

    def _settled(self, outputs: Sequence[Node]) -> bool:
        """Find what goes in and out, and how many rounds there are; tell if these are enough."""
        self._after_shared()
        for _ in range(2):
            if self.count < ROUNDS or self.count * self.period < self.least:
                return False
            self.used = self._used(outputs)
            self._lags()
            self.left = {j: rounds - self._carried(j) for j, rounds in self.used.items()}
            if not any(rounds and min(rounds) == self.count - 1 for rounds in self.left.values()):
                break
            self.count -= 1  # what only the last round gives stays outside
        return True

    def _after_shared(self) -> None:
        """Begin after everything that rounds share or read elsewhere."""
        while self.count >= ROUNDS:
            inside = slice(self.start, self.stop - self.period)
            sources = self.row.source[:, inside][self.ways[:, inside] != MOVED]
            last = int(sources.max(initial=-1))
            if last < self.start:
                break
            rounds = (last - self.start) // self.period + 1
            self.start += rounds * self.period
            self.count -= rounds

    def _used(self, outputs: Sequence[Node]) -> dict[int, set[int]]:
        row, stop = self.row, self.stop
        found = [row.at.get(viewed(x), -1) for x in outputs]
        found += [row.at.get(viewed(x), -1) for n in row.wide for x in n.operands]
        later = np.concatenate([row.source[:, stop:].ravel(), np.array(found, np.int32)])
        used: dict[int, set[int]] = {}
        for source in np.unique(later[(later >= self.start) & (later < stop)]).tolist():
            if isinstance(row.steps[source].op, Bodied):
                raise NotALoop
            k, j = self.place(source)
            used.setdefault(j, set()).add(k)
        return used

    def _lags(self) -> None:
        self.lag: dict[int, int] = {}
        moved = self.ways[:, self.start : self.start + self.period] == MOVED
        for source in np.unique(self.row.source[:, self.start : self.start + self.period][moved]):
            rounds, own = self.place(int(source))
            if rounds < 0 and isinstance(self.row.steps[source].op, Bodied):
                raise NotALoop
            if -self.count < rounds < 0:
                self.lag[own] = max(self.lag.get(own, 0), -rounds)

    def _carried(self, j: int) -> set[int]:
        """Return the rounds of which step ``j`` is at hand behind the loop."""
        return set(range(self.count - self.lag.get(j, 0), self.count))


def _bytes(node: Node) -> int:
    if isinstance(node.op, Bodied):
        return 1 << 40  # a loop and its results stay in one round
    return element_count(node) * int(node.dtype.itemsize)

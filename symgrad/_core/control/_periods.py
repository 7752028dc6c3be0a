"""Repeats in a graph: stretches of steps that Python has written out of one loop.

The steps of a graph stand in a row, operands before users. Two steps *match* if they are the
same op of the same kinds of values, and each operand is either the same value, or the one
that lies as much further on as the steps do, or a number or an element that may differ, or
one of a progression of steps before the repeat: what an earlier loop has kept, read in its
order or from the last on. A repeat of period ``p`` is a stretch in which each step matches
the one ``p`` steps later. Candidates for ``p`` are the distances at which short words of
steps come again, as in the search for repeats in texts; each is then compared with the whole
row at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..graph import Constant, Literal, Node
from ..ops import SLICE

Made = TypeVar("Made")

#: Length of the words whose distances are looked at.
WORD = 24

#: Operands further away count as alike when words are compared.
NEAR = 64

#: Most periods that are tried.
TRIED = 24

#: Most repeats of one row that are tried.
TRIALS = 64

#: What two matching steps have in their place of an operand: one value, or numbers or elements;
#: what lies as much further on; any other steps.
SAME, MOVED, AWAY = 1, 2, 3

#: Most operands of a step that is compared.
WIDEST = 16


@dataclass(frozen=True)
class Operand:
    """An operand, seen through its views.

    Attributes
    ----------
    source:
        What the views are of: a step, or a leaf.
    views:
        The views, innermost first.
    picks:
        The integers by which the innermost view picks along axes.
    """

    source: Node
    views: tuple[Node, ...]
    picks: tuple[Any, ...]


def seen_through(node: Node) -> Operand:
    """Return an operand as views of a source."""
    views: list[Node] = []
    while node.op.kind == "view":
        views.append(node)
        node = node.operands[0]
    views.reverse()
    return Operand(node, tuple(views), picks_of(views[0]) if views else ())


def picks_of(view: Node) -> tuple[Any, ...]:
    """Return the integers by which a slice picks along axes."""
    if view.op is not SLICE:
        return ()
    return tuple(start for start, _, size in view.params["region"] if size is None)


def _form(view: Node, first: bool) -> Hashable:
    if view.op is SLICE and first:
        return tuple((None, 1, None) if e[2] is None else e for e in view.params["region"])
    return view.op, view.items


def may_repeat(order: Sequence[Node], least: int) -> bool:
    """Tell at little cost whether there can be repeats: at least so many words of ops again.

    In a stretch of many rounds the words of all rounds but one are words that come again.
    """
    known: dict[Any, int] = {}
    kinds = [n.op for n in order if n.operands and n.op.kind != "view"]
    letters = np.array([known.setdefault(op, len(known)) for op in kinds], np.int64)
    if len(letters) < 2 * WORD:
        return False
    hashes = np.sort(_hashed(letters))
    return int(np.count_nonzero(hashes[1:] == hashes[:-1])) >= least


def _hashed(letters: Any) -> Any:
    """Return a hash of each word."""
    hashes = np.zeros(len(letters) - WORD + 1, np.int64)
    for k in range(WORD):
        hashes = hashes * 1_000_003 + letters[k : len(hashes) + k]
    return hashes


@dataclass(frozen=True)
class Repeat:
    """A stretch of steps that repeats: from ``start`` up to ``stop`` with ``period``."""

    start: int
    stop: int
    period: int

    @property
    def saved(self) -> int:
        """How many steps it is about, less those of its first round and of a body."""
        return self.stop - self.start - 2 * self.period


class _Read:
    """What operands are read as, in numbers that are equal for equal parts.

    The step that an operand is of (-1: a leaf), and numbers of a leaf, of the kinds of views, and
    of picks.

    Attributes
    ----------
    words:
        The numbers of parts.
    free:
        Those of kinds of views of numbers and constants.
    """

    def __init__(self) -> None:
        self.words: dict[Hashable, int] = {}
        self.free: list[int] = []
        self._known: dict[Node, tuple[int, int, int, int]] = {}

    def word(self, part: Hashable) -> int:
        """Return the number of a part."""
        return self.words.setdefault(part, len(self.words) + 1)

    def step(self, k: int, node: Node) -> None:
        """Note a step, which comes before its users."""
        self._known[node] = k, 0, self.word((node.shape, node.dtype)), 0

    def operand(self, operand: Node, steps: Mapping[Node, int]) -> tuple[int, int, int, int]:
        """Return what an operand is read as."""
        found = self._known.get(operand)
        if found is None:
            x = seen_through(operand)
            source, at = x.source, steps.get(x.source, -1)
            sort = type(source) if isinstance(source, (Literal, Constant)) else None
            forms = tuple([_form(v, j == 0) for j, v in enumerate(x.views)])
            parts: Any = (forms, sort) if forms or sort else ()
            view = self.word((source.shape, source.dtype, *parts))
            leaf = self.word(source) if at < 0 else 0
            found = self._known[operand] = at, leaf, view, self.word(x.picks) if x.picks else 0
            if sort is not None:
                self.free.append(view)
        return found


class Row:
    """The steps of a graph in a row.

    Parameters
    ----------
    order:
        The nodes of a graph, operands before users.

    Attributes
    ----------
    steps:
        Those that compute something; views and leaves belong to their users.
    at:
        The number of each step.
    wide:
        The steps of more than :data:`WIDEST` operands, which match nothing.
    """

    def __init__(self, order: Sequence[Node]) -> None:
        self.steps = [n for n in order if n.operands and n.op.kind != "view"]
        self.at = {n: k for k, n in enumerate(self.steps)}
        self.wide = [n for n in self.steps if len(n.operands) > WIDEST]
        width = max((len(n.operands) for n in self.steps if len(n.operands) <= WIDEST), default=0)
        read, kinds = _Read(), []
        rows: list[tuple[int, int, int, int]] = []
        for k, node in enumerate(self.steps):
            read.step(k, node)
            narrow = len(node.operands) <= WIDEST
            kinds.append(read.word((node.op, node.items, node.shape, node.dtype)) if narrow else -k)
            found = [read.operand(x, self.at) for x in node.operands] if narrow else []
            rows += found + [(-1, 0, 0, 0)] * (width - len(found))
        table = np.array(rows, np.int32).reshape(len(self.steps), width, 4)
        self.kind = np.array(kinds, np.int32)
        self.source, self.leaf, self.view, self.picks = np.ascontiguousarray(
            table.transpose(2, 1, 0)
        )
        #: Which kinds of views are of numbers and constants, which may differ.
        self._free = np.zeros(len(read.words) + 1, bool)
        self._free[read.free] = True

    def operand(self, k: int, place: int) -> Operand:
        """Return an operand of step ``k``."""
        return seen_through(self.steps[k].operands[place])

    # ---------------------------------------------------------------- repeats

    def repeats(self, rounds: int, least: int, make: Callable[[Repeat], Made | None]) -> list[Made]:
        """Return what ``make`` makes of repeats of at least so many rounds and steps.

        Those that save most come first, of two that save the same the one of the shorter period.
        They have no step in common.
        """
        found: list[Repeat] = []
        for period in self._periods():
            flags = np.concatenate([[False], self._matches(period), [False]])
            edges = np.flatnonzero(flags[1:] != flags[:-1])
            enough = max(rounds * period, least)
            found += [
                Repeat(int(start), int(stop) + 2 * period, period)
                for start, stop in zip(edges[::2], edges[1::2], strict=True)
                if stop + 2 * period - start >= enough
            ]
        made: list[Made] = []
        for _ in range(TRIALS):
            if not found:
                break
            best = max(found, key=lambda r: (r.saved, -r.period))
            one = make(best)
            if one is None:
                found.remove(best)
                continue
            made.append(one)
            rest = [part for r in found for part in _without(r, best)]
            found = [r for r in rest if r.stop - r.start >= max(rounds * r.period, least)]
        return made

    def matches(self, period: int) -> tuple[Any, Any]:
        """Return for each place and step how the operand moves to the step ``period`` on, how far.

        :data:`SAME` may also be another number, constant or element; 0 is no match.
        """
        source, further = self.source[:, :-period], self.source[:, period:]
        views = self.view[:, :-period] == self.view[:, period:]
        alike = self.picks[:, :-period] == self.picks[:, period:]
        away = further - source
        # Numbers and constants of one kind have one view; of others the leaf is compared.
        leaves = self.leaf[:, :-period] == self.leaf[:, period:]
        same = (away == 0) & (leaves | self._free[self.view[:, :-period]])
        steps = (source >= 0) & (further >= 0) & alike
        ways = np.where(steps, np.where(away == period, MOVED, AWAY), 0)
        return np.where(views, np.where(same, SAME, ways), 0).astype(np.int8), away

    def _matches(self, period: int) -> Any:
        """Return which steps match one and two periods on, in the same way."""
        ways, away = self.matches(period)
        match = (self.kind[:-period] == self.kind[period:]) & np.all(ways > 0, axis=0)
        alike = (ways[:, :-period] == ways[:, period:]) & (away[:, :-period] == away[:, period:])
        return match[:-period] & match[period:] & np.all(alike, axis=0)

    def _periods(self) -> list[int]:
        count = len(self.steps)
        if count < 2 * WORD:
            return []
        away = np.arange(count) - self.source
        near = np.where((self.source >= 0) & (away < NEAR), away, 0)
        letters = self.kind.astype(np.int64) * 0x9E3779B1
        for place in near:
            letters = letters * 31 + place
        hashes = _hashed(letters)
        # Where each word has come last: neighbours in the order of words, then of places.
        order = np.argsort(hashes, kind="stable")
        again = hashes[order][1:] == hashes[order][:-1]
        distances = np.diff(order)[again]
        often = Counter(distances.tolist()).most_common(TRIED)
        return sorted(p for p, _ in often if 3 * p <= count)


def _without(repeat: Repeat, other: Repeat) -> list[Repeat]:
    """Return what is left of a repeat before and behind another one."""
    before = Repeat(repeat.start, min(repeat.stop, other.start), repeat.period)
    behind = Repeat(max(repeat.start, other.stop), repeat.stop, repeat.period)
    return [r for r in (before, behind) if r.start < r.stop]

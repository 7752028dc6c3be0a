"""Repeats in a graph: stretches of steps that Python has written out of one loop.

The steps of a graph stand in a row, operands before users. Two steps *match* if they are the
same op of the same kinds of values, and each operand is either the same value, or the one
that lies as much further on as the steps do, or a number or an element that may differ. A
repeat of period ``p`` is a stretch in which each step matches the one ``p`` steps later.
Candidates for ``p`` are the distances at which short words of steps come again, as in the
search for repeats in texts; each is then compared with the whole row at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._graph import Constant, Literal, Node
from .._ops import SLICE

#: Length of the words whose distances are looked at.
WORD = 24

#: Operands further away count as alike when words are compared.
NEAR = 64

#: Most periods that are tried.
TRIED = 24

#: What two matching steps have in their place of an operand.
SAME, MOVED = 1, 2


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
    """

    def __init__(self, order: Sequence[Node]) -> None:
        self.steps = [n for n in order if n.operands and n.op.kind != "view"]
        self.at = {n: k for k, n in enumerate(self.steps)}
        widths = {len(n.operands) for n in self.steps}
        count, width = len(self.steps), max((w for w in widths if w <= WIDEST), default=0)
        self._words: dict[Hashable, int] = {}
        self.kind = np.zeros(count, np.int32)
        #: For each step and place of an operand: the number of the step that it is of (-1: a
        #: leaf), a number for leaves, one for kinds of views, one for picks.
        shape = (width, count)
        self.source = np.full(shape, -1, np.int32)
        self.leaf = np.zeros(shape, np.int32)
        self.view = np.zeros(shape, np.int32)
        self.picks = np.zeros(shape, np.int32)
        for k, node in enumerate(self.steps):
            wide = len(node.operands) > WIDEST
            # What has very many operands matches nothing.
            self.kind[k] = -k if wide else self._word((node.op, node.items, node.shape, node.dtype))
            if not wide:
                self._read(k)

    def _word(self, part: Hashable) -> int:
        return self._words.setdefault(part, len(self._words) + 1)

    def _read(self, k: int) -> None:
        for place, operand in enumerate(self.steps[k].operands):
            x = seen_through(operand)
            source = x.source
            sort = type(source) if isinstance(source, (Literal, Constant)) else None
            forms = tuple([_form(v, j == 0) for j, v in enumerate(x.views)])
            self.view[place, k] = self._word((forms, source.shape, source.dtype, sort))
            if x.picks:
                self.picks[place, k] = self._word(x.picks)
            self.source[place, k] = at = self.at.get(source, -1)
            if at < 0:
                self.leaf[place, k] = self._word(source)

    def operand(self, k: int, place: int) -> Operand:
        """Return an operand of step ``k``."""
        return seen_through(self.steps[k].operands[place])

    # ---------------------------------------------------------------- repeats

    def repeat(self, rounds: int) -> Repeat | None:
        """Return the longest repeat of at least so many rounds, of the shortest period."""
        found: Repeat | None = None
        for period in self._periods():
            start, length = _longest(self._matches(period))
            stop = start + length + 2 * period
            if not length or stop - start < rounds * period:
                continue
            if found is None or stop - start > found.stop - found.start:
                found = Repeat(start, stop, period)
        return found

    def matches(self, period: int) -> Any:
        """Return for each place and step how the operand moves to the step ``period`` on.

        :data:`SAME` may also be another number, constant or element; 0 is no match.
        """
        source, further = self.source[:, :-period], self.source[:, period:]
        views = self.view[:, :-period] == self.view[:, period:]
        alike = self.picks[:, :-period] == self.picks[:, period:]
        moved = (source >= 0) & (further == source + period) & alike
        # Numbers and constants of one kind have one view; of others the leaf is compared.
        leaves = self.leaf[:, :-period] == self.leaf[:, period:]
        same = (source == further) & (leaves | self._free[self.view[:, :-period]])
        return np.where(views & moved, MOVED, np.where(views & same, SAME, 0)).astype(np.int8)

    @property
    def _free(self) -> Any:
        """Which kinds of views are of numbers and constants, which may differ."""
        flags = np.zeros(len(self._words) + 1, bool)
        for word, number in self._words.items():
            if isinstance(word, tuple) and word[-1] in (Literal, Constant):
                flags[number] = True
        return flags

    def _matches(self, period: int) -> Any:
        """Return which steps match one and two periods on, in the same way."""
        ways = self.matches(period)
        kinds = self.kind[:-period] == self.kind[period:]
        match = kinds & np.all(ways > 0, axis=0)
        return (
            match[:-period] & match[period:] & np.all(ways[:, :-period] == ways[:, period:], axis=0)
        )

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


#: Most operands of a step that is compared.
WIDEST = 16


def _longest(flags: Any) -> tuple[int, int]:
    """Return where the longest run of true values begins, and its length."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    if not len(edges):
        return 0, 0
    lengths = edges[1::2] - edges[::2]
    k = int(np.argmax(lengths))
    return int(edges[2 * k]), int(lengths[k])

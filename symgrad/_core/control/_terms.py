"""Sums that Python has written out, term by term.

``s += f(k)`` or ``r[place[k]] += f(k)`` in a loop is traced as one addition behind the other. The
values that are added, with their signs, are what such a chain is about; in which order is not.
Where places are known, the terms of each place are a chain of their own. Where places are data,
each addition writes one element of an array: the element before, plus the term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..graph import Literal, Node, viewed
from ..ops.gathers import GATHER
from ..ops.updates import PUT


class Term(NamedTuple):
    """What is added to a region of an array, or subtracted from it."""

    node: Node
    negative: bool
    region: Any = ()


class Addition(NamedTuple):
    """A term that is added to an array at a computed place."""

    term: Term
    axes: tuple[int, ...]
    place: tuple[Node, ...]


class Sums:
    """The chains of additions in a graph.

    Parameters
    ----------
    order, outputs:
        The graph, operands before users, and what it is wanted for.
    """

    def __init__(self, order: Sequence[Node], outputs: Sequence[Node]) -> None:
        self._adds = {n: None for n in order if _is_sum(n)}
        uses = Counter(chain(outputs, chain.from_iterable(n.operands for n in order)))
        by_sums = Counter(chain.from_iterable(n.operands for n in self._adds))
        self._order, self._uses = order, uses
        #: Sums that nothing but one other sum reads.
        self._inner = {n for n in self._adds if uses[n] == by_sums[n] == 1}

    def whole(self, least: int) -> list[Node]:
        """Return the sums of so many terms that are no part of another one."""
        count: dict[Node, int] = {}
        found = []
        for node in self._adds:
            count[node] = sum(count[x] if x in self._inner else 1 for x in node.operands)
            if node not in self._inner and count[node] >= least:
                found.append(node)
        return found

    def terms(self, node: Node, region: Any = ()) -> list[Term]:
        """Return what a value is the sum of, from left to right, zeros left out."""
        found: list[Term] = []
        waiting = [(node, False)]
        while waiting:
            x, negative = waiting.pop()
            if x in self._inner or (x is node and x in self._adds):
                left, right = x.operands
                waiting += (right, negative ^ x.op.means(np.subtract)), (left, negative)
            elif not _is_zero(x):
                found.append(Term(x, negative, region))
        return found

    def additions(self, least: int) -> dict[Node, tuple[Node, list[Addition]]]:
        """Return arrays to which so many values are added at computed places.

        Of each what it was before, and what is added. Nothing reads an array in between.
        """
        links: dict[Node, list[Addition]] = {}
        inner = set()
        for node in self._order:
            if node.op is PUT and (added := self._added(node)):
                links[node] = added
                before = node.operands[1]
                if before in links and self._uses[before] == 2:  # read, and written over
                    inner.add(before)
        found = {}
        for last in links.keys() - inner:
            node, steps = last, []
            while node is last or node in inner:
                steps.append(links[node])
                node = node.operands[1]
            if sum(map(len, steps)) >= least:
                found[last] = node, [x for step in reversed(steps) for x in step]
        return found

    def _added(self, node: Node) -> list[Addition]:
        """Return what a write of an element adds to it; nothing if it is not just that."""
        value, before, *place = node.operands
        axes, at = node.params["axes"], node.params["at"]
        if at or value not in self._adds or self._uses[value] > 1:
            return []

        def is_element(x: Node) -> bool:
            same = x.op is GATHER and x.operands == (before, *place)
            return same and (x.params["axes"], x.params["at"]) == (axes, at)

        left, right = value.operands
        if is_element(left):  # the value as it was written is one term
            terms = [Term(left, False), Term(right, bool(value.op.means(np.subtract)))]
        else:
            terms = self.terms(value)
        own = [t for t in terms if is_element(t.node)]
        if len(own) != 1 or own[0].negative or self._uses[own[0].node] > 1:
            return []
        return [Addition(t, axes, tuple(place)) for t in terms if t is not own[0]]


def _is_sum(node: Node) -> bool:
    """Tell whether a node is a sum or a difference of two values of one type and shape."""
    return (
        node.dtype.kind == "f"
        and (node.op.means(np.add) or node.op.means(np.subtract))
        and all(x.shape == node.shape and x.dtype == node.dtype for x in node.operands)
    )


def _is_zero(node: Node) -> bool:
    """Tell whether a value is zero, or a part of zeros."""
    node = viewed(node)
    return isinstance(node, Literal) and node.value == 0

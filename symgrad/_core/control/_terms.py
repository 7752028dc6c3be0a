"""Sums that Python has written out, term by term.

``s += f(k)`` or ``r[place[k]] += f(k)`` in a loop is traced as one addition behind the other. The
values that are added, with their signs, are what such a chain is about; in which order is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph import Literal, Node, viewed


class Term(NamedTuple):
    """What is added to a region of an array, or subtracted from it."""

    node: Node
    negative: bool
    region: Any = ()


class Sums:
    """The chains of additions in a graph.

    Parameters
    ----------
    order, outputs:
        The graph, operands before users, and what it is wanted for.
    """

    def __init__(self, order: Sequence[Node], outputs: Sequence[Node]) -> None:
        self._adds = {n: None for n in order if _is_sum(n)}
        uses, by_sums = Counter(outputs), Counter[Node]()
        for node in order:
            uses.update(node.operands)
            if node in self._adds:
                by_sums.update(node.operands)
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

"""Derivatives of whole formulas, where the chain rule through their steps fails.

``log(1 + exp(x))`` at 1000 is infinite in floating point, and the chain rule makes
``inf/inf`` of it; the derivative is 1. A shortcut knows the derivative of a formula as a
whole. Values stay what they are, to the last bit, infinities and nan included; only the way
that derivatives take is another: past the inner steps.

Each is a pair of NumPy functions: what users write, and its derivatives by the operands. The
tests have SymPy prove them, measure that they never lose digits where the chain rule does
not, and find a place where the chain rule does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .._graph import Node
from ._folded import LENGTH, REDUCED
from ._formulas import FORMULAS, OF_SPECIAL
from ._matcher import Index
from ._way import Reduced, Shortcut, Way

_PLAIN: tuple[Shortcut | Reduced, ...] = (LENGTH, *FORMULAS, *REDUCED)
SHORTCUTS = (*_PLAIN, *OF_SPECIAL)


def shortcuts(
    order: Sequence[Node],
    wrt: Collection[Node],
    table: Sequence[Shortcut | Reduced] = SHORTCUTS,
) -> Mapping[Node, Way]:
    """Return the nodes past whose steps derivatives go, and how.

    Parameters
    ----------
    order:
        The graph's nodes.
    wrt:
        What is differentiated by; no way leads past it.
    table:
        The formulas to look for.
    """
    table_of = index if table is SHORTCUTS else Index(table)
    barred = frozenset(x for x in wrt if x.operands)
    found: dict[Node, Way] = {}
    for node in order:
        for shortcut in table_of.at(node):
            if node.dtype.kind == "f" and node not in barred:
                way = shortcut.find(node, barred)
                if way is not None:
                    found[node] = way
                    break
    return found


#: Which shortcuts may be at a node.
index = Index[Shortcut | Reduced](_PLAIN, OF_SPECIAL)

"""Rewriting: value-preserving simplification of a graph by named rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._forks import cached_property
from .._graph import Node, apply, topological
from .._state import at, now, within
from ._accurate import IDENTITIES, INDEX, Identity
from ._formulas import FORMULAS, SHORTCUTS, index, shortcuts
from ._matcher import between
from ._rules import RULES, Rule
from ._simplify import Simplifier, simplified, simplifier
from ._way import Reduced, Shortcut, Way
from ._written import POWERS, is_length, number_of

__all__ = [
    "FORMULAS",
    "IDENTITIES",
    "POWERS",
    "RULES",
    "SHORTCUTS",
    "Identity",
    "Reduced",
    "Rule",
    "Shortcut",
    "Way",
    "between",
    "index",
    "is_length",
    "number_of",
    "rewrite",
    "shortcuts",
    "simplified",
]


#: Ops whose result does not depend on the order of two operands, not even in a bit.
_COMMUTATIVE = frozenset({"Add", "Multiply"})

#: In graphs of up to this many nodes a product in both orders is computed once. In longer ones all
#: that comes after it would be made anew: a quarter of the time for few steps.
SHORT = 2000


def rewrite(
    outputs: Sequence[Node],
    rules: Sequence[Rule] = RULES,
    counts: Counter[str] | None = None,
    identities: bool = True,
) -> list[Node]:
    """Return ``outputs`` simplified by ``rules``, and by the identities that gain digits.

    Where the rounding is promised (``bit_for_bit``), only rules that keep every bit apply.

    Dead code disappears because only what the outputs need is visited; common
    subexpressions are shared because nodes are interned, and in short graphs ``y*x`` becomes the
    ``x*y`` that is there before it.

    Parameters
    ----------
    outputs:
        The nodes to keep the values of.
    rules:
        The rules to apply, in order of preference.
    counts:
        If given, counts how often each rule applied.
    identities:
        Whether formulas that lose digits are replaced by equal ones that do not.
    """
    simplify = simplifier() if rules is RULES else Simplifier(rules)
    order = topological(outputs)
    formulas = _Formulas(order) if identities and not now().promised else None
    new: dict[Node, Node] = {}  # what stands for the nodes that do not stay
    changed = new.keys()
    short = len(order) <= SHORT
    pairs: dict[tuple[type[Node], Node, Node], Node] = {}
    with within():
        for node in order:
            operands, result = node.operands, node
            better = None if formulas is None else formulas.better(node)
            if better is not None:
                at(node.where)
                identity, found = better
                if counts is not None:
                    counts[identity.name] += 1
                result = identity.build(node, [new.get(x, x) for x in found])
            elif new and not changed.isdisjoint(operands):
                at(node.where)
                operands = tuple([new.get(x, x) for x in operands])
                result = apply(node.op, operands, node.items, node.shape, node.dtype)
            result = simplify(result, counts)
            if short and result.op.name in _COMMUTATIVE:
                a, b = result.operands
                result = pairs.get((type(result), b, a), result)
                first, second = result.operands
                pairs[type(result), first, second] = result
            if result is not node:
                new[node] = result
    return [new.get(x, x) for x in outputs]


class _Formulas:
    """Looks for formulas for which there are better ones.

    Parameters
    ----------
    order:
        The nodes of the graph that they are looked for in.
    """

    def __init__(self, order: Sequence[Node]) -> None:
        self._order = order

    @cached_property
    def _users(self) -> dict[Node, list[Node]]:
        found: dict[Node, list[Node]] = {}
        for user in self._order:
            for x in user.operands:
                found.setdefault(x, []).append(user)
        return found

    def better(self, node: Node) -> tuple[Identity, tuple[Node, ...]] | None:
        """Return the identity that gives a better formula than ``node``, with its operands."""
        for identity in INDEX.at(node):
            operands = identity.found(node)
            if operands is not None and identity.applies(node, operands, self._users):
                return identity, operands
        return None

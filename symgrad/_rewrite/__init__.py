"""Rewriting: value-preserving simplification of a graph by named rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._graph import Node, apply, inherited, is_promised, set_inherited, topological
from ._accurate import IDENTITIES, Identity, by_head
from ._pattern import NUMBERS
from ._rules import RULES, Rule
from ._shortcuts import FORMULAS, SHORTCUTS, Shortcut, Way, shortcuts

#: A node is rewritten at most this often; rules that undo each other are an error.
ROUNDS = 16

__all__ = [
    "FORMULAS",
    "IDENTITIES",
    "RULES",
    "SHORTCUTS",
    "Identity",
    "Rule",
    "Shortcut",
    "Way",
    "rewrite",
    "shortcuts",
]


#: The rules by op, and the ops one of which must be among the operands for any to apply.
Table = dict[str, tuple[list[Rule], frozenset[str] | None]]


def _by_op(rules: Sequence[Rule]) -> Table:
    table: dict[str, list[Rule]] = {}
    for rule in rules:
        for name in rule.ops:
            table.setdefault(name, []).append(rule)
    return {name: (found, _seen_by(found)) for name, found in table.items()}


def _seen_by(rules: Sequence[Rule]) -> frozenset[str] | None:
    seen = [rule.sees for rule in rules]
    return None if None in seen else frozenset().union(*filter(None, seen))


_TABLE = _by_op(RULES)
#: The rules that keep every bit.
_EXACT = _by_op([rule for rule in RULES if not rule.rounds])
_NONE: tuple[list[Rule], frozenset[str] | None] = ([], frozenset())
_IDENTITIES = by_head()


def rewrite(
    outputs: Sequence[Node],
    rules: Sequence[Rule] = RULES,
    counts: Counter[str] | None = None,
    identities: bool = True,
) -> list[Node]:
    """Return ``outputs`` simplified by ``rules``, and by the identities that gain digits.

    Where the rounding is promised (``bit_for_bit``), only rules that keep every bit apply.

    Dead code disappears because only what the outputs need is visited; common
    subexpressions are shared because nodes are interned.

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
    table = _TABLE if rules is RULES else _by_op(rules)
    if is_promised():
        table, identities = _EXACT, False
    order = list(topological(outputs))
    better = _better(order, counts) if identities else {}
    done: dict[Node, Node] = {}
    before = inherited()  # a pass over a body runs within a pass
    try:
        for node in order:
            set_inherited(node.where)
            if node in better:
                identity, found = better[node]
                done[node] = _simplify(
                    identity.build(node, [done[x] for x in found]), table, counts
                )
                continue
            operands = tuple([done[x] for x in node.operands])
            result = node
            if operands != node.operands:
                result = apply(node.op, operands, node.items, node.shape, node.dtype)
            needed = table.get(result.op.name, _NONE)[1]
            if needed is None or not needed.isdisjoint([x.op.name for x in operands]):
                result = _simplify(result, table, counts)
            done[node] = result
    finally:
        set_inherited(before)
    return [done[x] for x in outputs]


def _better(
    order: Sequence[Node], counts: Counter[str] | None
) -> dict[Node, tuple[Identity, tuple[Node, ...]]]:
    """Return the nodes for which there is a better formula, with its operands."""
    found: dict[Node, tuple[Identity, tuple[Node, ...]]] = {}
    users: dict[Node, list[Node]] = {}
    for node in order:
        identities = _IDENTITIES.get(node.op.name)
        if identities is None:
            continue
        numbers = any(x.op.name in NUMBERS for x in node.operands)
        for identity in identities:
            if identity.pattern.numeric and not numbers:
                continue
            operands = identity.pattern.match(node)
            if operands is None:
                continue
            if not users:
                for user in order:
                    for x in user.operands:
                        users.setdefault(x, []).append(user)
            if identity.applies(node, operands, users):
                found[node] = (identity, operands)
                if counts is not None:
                    counts[identity.name] += 1
                break
    return found


def _simplify(node: Node, table: Table, counts: Counter[str] | None) -> Node:
    for _ in range(ROUNDS):
        rules, needed = table.get(node.op.name, _NONE)
        names = [x.op.name for x in node.operands]
        if needed is not None and needed.isdisjoint(names):
            return node
        for rule in rules:
            if rule.sees is not None and rule.sees.isdisjoint(names):
                continue
            replacement = rule.then(node, *node.operands)
            if replacement is not None and replacement is not node:
                if counts is not None:
                    counts[rule.name] += 1
                node = replacement
                break
        else:
            return node
    raise AssertionError(f"the rewrite rules do not come to rest at {node.op.name}")

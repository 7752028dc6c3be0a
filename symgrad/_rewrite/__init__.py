"""Rewriting: value-preserving simplification of a graph by named rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .._graph import Node, apply, inherited, set_inherited, topological
from ._rules import RULES, Rule

#: A node is rewritten at most this often; rules that undo each other are an error.
ROUNDS = 16

__all__ = ["RULES", "Rule", "rewrite"]


def _by_op(rules: Sequence[Rule]) -> dict[str, list[Rule]]:
    table: dict[str, list[Rule]] = {}
    for rule in rules:
        for name in rule.ops:
            table.setdefault(name, []).append(rule)
    return table


_TABLE = _by_op(RULES)


def rewrite(
    outputs: Sequence[Node],
    rules: Sequence[Rule] = RULES,
    counts: Counter[str] | None = None,
) -> list[Node]:
    """Return ``outputs`` simplified by ``rules``.

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
    """
    table = _TABLE if rules is RULES else _by_op(rules)
    done: dict[Node, Node] = {}
    before = inherited()  # a pass over a body runs within a pass
    try:
        for node in topological(outputs):
            operands = tuple([done[x] for x in node.operands])
            set_inherited(node.where)
            result = node
            if operands != node.operands:
                result = apply(node.op, operands, node.items, node.shape, node.dtype)
            done[node] = _simplify(result, table, counts)
    finally:
        set_inherited(before)
    return [done[x] for x in outputs]


def _simplify(node: Node, table: dict[str, list[Rule]], counts: Counter[str] | None) -> Node:
    for _ in range(ROUNDS):
        for rule in table.get(node.op.name, ()):
            replacement = rule.then(node, *node.operands)
            if replacement is not None and replacement is not node:
                if counts is not None:
                    counts[rule.name] += 1
                node = replacement
                break
        else:
            return node
    raise AssertionError(f"the rewrite rules do not come to rest at {node.op.name}")

"""One node simplified by rules, quickly where none applies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from .._graph import Literal, Node
from .._state import now, within
from ._matcher import MOST, Index
from ._rules import RULES, Rule

#: A node is rewritten at most this often; rules that undo each other are an error.
ROUNDS = 16


class Simplifier:
    """Applies rules to a node until none does.

    Most nodes of a long program are scalar and quiet: no rule applies. Whether one does depends
    on the op and on what is to be seen of the operands: which number it is, or else the op. So
    what has been quiet once is not looked at again.

    Parameters
    ----------
    rules:
        The rules, in order of preference.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = Index(rules)
        self._deep = {name for rule in rules if rule.is_deep for name in rule.heads}
        self._quiet: set[tuple[Any, ...]] = set()

    def __call__(self, node: Node, counts: Counter[str] | None = None) -> Node:
        """Return ``node`` or what stands for it; ``counts`` counts how often each rule applied."""
        if not self._rules.may_apply(node):
            return node
        face = self._face(node)
        if face in self._quiet:
            return node
        if node.where is now().where:
            found = self._applied(node, counts)
        else:
            with within(where=node.where):
                found = self._applied(node, counts)
        if found is node and face is not None:
            if len(self._quiet) >= MOST:
                self._quiet.clear()
            self._quiet.add(face)
        return found

    def _face(self, node: Node) -> tuple[Any, ...] | None:
        """Return what can be seen of a scalar step, None where rules look at more than that."""
        op, dtype = node.op, node.dtype
        if node.shape or node.items:
            return None
        face: list[Any] = [op, dtype]
        for x in node.operands:
            kind = x.op.kind
            if x.dtype is not dtype or (kind != "map" and kind != "leaf"):
                return None
            face.append(x if type(x) is Literal else x.op)
        if op.name in self._deep:
            inner = [y for x in node.operands for y in x.operands]
            face += [y if type(y) is Literal else y.op for y in inner]
        return tuple(face)

    def _applied(self, node: Node, counts: Counter[str] | None) -> Node:
        for _ in range(ROUNDS):
            for rule in self._rules.at(node):
                replacement = rule.find(node)
                if replacement is not None and replacement is not node:
                    if counts is not None:
                        counts[rule.name] += 1
                    node = replacement
                    break
            else:
                return node
        raise AssertionError(f"the rewrite rules do not come to rest at {node.op.name}")


_ALL = Simplifier(RULES)
#: By the rules that keep every bit.
_EXACT = Simplifier([rule for rule in RULES if not rule.rounds])


def simplifier() -> Simplifier:
    """Return what simplifies by the rules that apply here: where rounding is promised, fewer."""
    return _EXACT if now().promised else _ALL


def simplified() -> AbstractContextManager[None]:
    """Simplify the nodes that are made in the block as they are made.

    Later steps then have the simplified ones as operands. Simplified afterwards, one node at the
    beginning has all that follow it made anew.
    """
    return within(simplify=simplifier())

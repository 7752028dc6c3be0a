"""Rewriting: value-preserving simplification of a graph, or of one node, by named rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..base.fork_safety import cached_property
from ..base.state import at, now, within
from ..base.switches import is_on
from ..graph import Literal, Node, also_compared, apply, topological
from ..op import registry
from ._cancellation import IDENTITIES, INDEX, Identity
from ._formulas import FORMULAS, SHORTCUTS, index, shortcuts
from ._matcher import MOST, Index, Reduced, Shortcut, Way, between
from ._recognition import (
    POWERS,
    is_absolute,
    is_length,
    is_still,
    number_of,
    still_points,
    unscaled,
)
from ._rules import ALIKE, RULES, Rule
from ._spectral import spectral_ways

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
    also_compared(new)
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


#: Identities, and the derivatives of their formulas, that are no part of symgrad, by name. While
#: there are any, kernels on disk are not found by symgrad's source and a graph alone.
ENTERED: dict[str, tuple[Identity, Shortcut | None]] = {}


def enter(identity: Identity, shortcut: Shortcut | None = None) -> None:
    """Let an identity, and a shortcut, apply from now on, in the place of those of its name."""
    earlier, passed = ENTERED.get(identity.name, (None, None))
    INDEX.replace(earlier, identity)
    index.replace(passed, shortcut)
    ENTERED[identity.name] = identity, shortcut
    registry.changes += 1


def leave(name: str) -> None:
    """Let the identity of a name, and its shortcut, no longer apply."""
    identity, shortcut = ENTERED.pop(name)
    INDEX.replace(identity, None)
    index.replace(shortcut, None)
    registry.changes += 1


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
        if node.shape or node.items or op.name in ALIKE:
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
    return within(simplify=simplifier()) if is_on("simplify") else within()

"""Patterns: formulas that are recognised in a graph.

A pattern is a NumPy function, traced once on free operands; a node matches if the function
could have computed it. So the text of a rule is what its users write. Ways to write the same
are one: ``x**2``, ``x*x`` and ``np.square(x)``; ``1/x`` and ``np.reciprocal(x)``; ``x - 1``
and ``x + -1``; the order of a sum's terms and of a product's factors.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from .._forks import cached_property
from .._graph import Input, Literal, Node
from .._op import Op, registry
from .._trace import Traced, as_node

Bound = dict[Node, Node]

_COMMUTATIVE = frozenset(("Add", "Multiply"))
_FLOAT = np.dtype(np.float64)


#: What a number can look like; see ``number_of``.
NUMBERS = ("Literal", "Broadcast", "Reshape", "Cast")


def number_of(node: Node) -> float | None:
    """Return the number that every element of ``node`` is, if it is written in the program."""
    while node.op.name in NUMBERS[1:]:
        node = node.operands[0]
    return float(node.value) if isinstance(node, Literal) else None


def square_of(node: Node) -> Node | None:
    """Return ``x`` if the node is its square, however written."""
    name = node.op.name
    if name == "Square":
        return node.operands[0]
    if name == "Multiply" and node.operands[0] is node.operands[1]:
        return node.operands[0]
    if name in ("Power", "FloatPower") and number_of(node.operands[1]) == 2:
        return node.operands[0]
    return None


def _inverse_of(node: Node) -> Node | None:
    name = node.op.name
    if name == "Reciprocal":
        return node.operands[0]
    if name == "Divide" and number_of(node.operands[0]) == 1:
        return node.operands[1]
    if name in ("Power", "FloatPower") and number_of(node.operands[1]) == -1:
        return node.operands[0]
    return None


def _offset_of(node: Node) -> tuple[Node, float] | None:
    """Return ``(x, c)`` for ``x - c`` and ``x + -c``."""
    name = node.op.name
    if name == "Subtract" and (c := number_of(node.operands[1])) is not None:
        return node.operands[0], c
    if name == "Add":
        for x, y in (node.operands, node.operands[::-1]):
            if (c := number_of(y)) is not None and number_of(x) is None:
                return x, -c
    return None


def _written_variously(node: Node) -> bool:
    """Tell whether there are several ways to write the step."""
    return any(f(node) is not None for f in (square_of, _inverse_of, _offset_of))


def _names(node: Node) -> tuple[str, ...]:
    """Return the names of the ops that the step can be written as."""
    if square_of(node) is not None:
        return ("Square", "Multiply", "Power", "FloatPower")
    if _inverse_of(node) is not None:
        return ("Divide", "Reciprocal", "Power", "FloatPower")
    if _offset_of(node) is not None:
        return ("Add", "Subtract")
    return (node.op.name,)


class Pattern:
    """A formula with free operands.

    Parameters
    ----------
    formula:
        A NumPy function of one or more real operands.

    Attributes
    ----------
    numeric:
        Whether one of the operands of a node that matches is a number.
    """

    def __init__(self, formula: Callable[..., Any]) -> None:
        self.formula = formula
        names = list(inspect.signature(formula).parameters)
        self.free = [Input(name, (), _FLOAT) for name in names]
        self.root = as_node(formula(*map(Traced, self.free)))
        self.numeric = _offset_of(self.root) is not None or (
            not _written_variously(self.root)
            and any(number_of(x) is not None for x in self.root.operands)
        )
        #: Ops that must be among a node's operands, to see at a glance that it is no match.
        self._needed = frozenset() if _written_variously(self.root) else frozenset(
            x.op.name for x in self.root.operands
            if x.operands and number_of(x) is None and not _written_variously(x)
        )  # fmt: skip

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the ops at which the pattern can begin."""
        return _names(self.root)

    @property
    def exponent(self) -> float | None:
        """The exponent with which a power can be the pattern; nan for any, None if it is none."""
        if square_of(self.root) is not None:
            return 2.0
        if _inverse_of(self.root) is not None:
            return -1.0
        if self.root.op.name != "Power":
            return None
        number = number_of(self.root.operands[1])
        return math.nan if number is None else number

    @property
    def behind(self) -> tuple[frozenset[str], ...]:
        """The names of the ops that can be behind the first one: one step, two steps, ..."""
        found: list[frozenset[str]] = []
        level = [x for x in self.root.operands if x.operands]
        while level:
            found.append(frozenset(name for x in level for name in _names(x)))
            level = [y for x in level for y in x.operands if y.operands]
        return tuple(found)

    def possible(self, names: Sequence[str]) -> bool:
        """Tell at a glance, from the ops of its operands, whether a node can match."""
        return self._needed.issubset(names) and (
            not self.numeric or any(name in NUMBERS for name in names)
        )

    def match(self, node: Node, barred: Collection[Node] = ()) -> tuple[Node, ...] | None:
        """Return the nodes in the places of the free operands, or None.

        Nodes in ``barred`` have to be operands, or outside: they are not looked into.
        """
        for bound in self._matches(self.root, node, {}, barred):
            return tuple(bound[x] for x in self.free)
        return None

    def inner(self, node: Node, found: tuple[Node, ...]) -> set[Node]:
        """Return the nodes strictly between a matched node and its operands."""
        between: set[Node] = set()
        stack = list(node.operands)
        while stack:
            x = stack.pop()
            if x not in found and x.operands and x not in between:
                between.add(x)
                stack.extend(x.operands)
        return between

    # A pattern has a handful of nodes: it is the pattern that is recursed over.
    def _matches(
        self, pattern: Node, node: Node, bound: Bound, barred: Collection[Node]
    ) -> Iterator[Bound]:
        if isinstance(pattern, Input):
            known = bound.get(pattern)
            if known is None:
                yield {**bound, pattern: node}
            elif known is node:
                yield bound
            return
        value = number_of(pattern)
        if value is not None:
            if number_of(node) == value:
                yield bound
            return
        if node in barred or node.dtype.kind != "f":
            return
        for part_of in (square_of, _inverse_of):
            inside = part_of(pattern)
            if inside is not None:
                other = part_of(node)
                if other is not None:
                    yield from self._matches(inside, other, bound, barred)
                return
        offset = _offset_of(pattern)
        if offset is not None:
            other_offset = _offset_of(node)
            if other_offset is not None and other_offset[1] == offset[1]:
                yield from self._matches(offset[0], other_offset[0], bound, barred)
            return
        if node.op is not pattern.op or node.items != pattern.items:
            return
        orders = [node.operands]
        if node.op.name in _COMMUTATIVE:
            orders.append(node.operands[::-1])
        for operands in orders:
            yield from self._all(pattern.operands, operands, bound, barred)

    def _all(
        self, patterns: tuple[Node, ...], nodes: tuple[Node, ...], bound: Bound,
        barred: Collection[Node],
    ) -> Iterator[Bound]:  # fmt: skip
        if not patterns:
            yield bound
            return
        for first in self._matches(patterns[0], nodes[0], bound, barred):
            yield from self._all(patterns[1:], nodes[1:], first, barred)


_op_of = attrgetter("op")


class Formula(Protocol):
    """What is looked for at the nodes of a graph."""

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the ops at which it can begin."""

    def possible(self, names: Sequence[str]) -> bool:
        """Tell from the ops of its operands whether it can be at a node."""


F = TypeVar("F", bound=Formula)


class Index(Generic[F]):
    """Formulas by what is to be seen of a node at first sight: its op and its operands'.

    Parameters
    ----------
    formulas:
        What is looked for, in order of preference.
    special:
        Those with special functions in them, which come last. Before these are loaded there are
        none in any graph, and tracing the formulas would load them.
    """

    def __init__(self, formulas: Iterable[F], special: Iterable[F] = ()) -> None:
        self._by_head: dict[str, list[F]] = {}
        self._seen: dict[tuple[Op, ...], list[F]] = {}
        self._waiting = tuple(special)
        self._enter(formulas)

    def _enter(self, formulas: Iterable[F]) -> None:
        by_head = {name: list(found) for name, found in self._by_head.items()}
        for formula in formulas:
            for name in formula.heads:
                by_head.setdefault(name, []).append(formula)
        self._by_head, self._seen = by_head, {}

    def at(self, node: Node) -> Sequence[F]:
        """Return the formulas that can be at ``node``."""
        if self._waiting and registry.is_complete:
            self._enter(self._waiting)
            self._waiting = ()
        op = node.op
        if op.name not in self._by_head:
            return ()
        seen = (op, *map(_op_of, node.operands))
        found = self._seen.get(seen)
        if found is None:
            names = [x.name for x in seen[1:]]
            found = [f for f in self._by_head[op.name] if f.possible(names)]
            self._seen[seen] = found
        return found


class Written:
    """What is found where a formula stands, which the attribute ``written`` says."""

    written: Callable[..., Any]

    @cached_property
    def pattern(self) -> Pattern:
        """What is looked for."""
        return Pattern(self.written)

    @property
    def heads(self) -> tuple[str, ...]:
        """The ops at which the formula begins."""
        return self.pattern.heads

    def possible(self, names: Sequence[str]) -> bool:
        """Tell from the ops of its operands whether the formula can be at a node."""
        return self.pattern.possible(names)


__all__ = ["NUMBERS", "Index", "Pattern", "Written", "number_of", "square_of"]

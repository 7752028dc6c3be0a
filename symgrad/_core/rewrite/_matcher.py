"""The matcher: formulas, and the tables of what is done where they stand.

A pattern is a NumPy function, traced once on free operands; a node matches if the function
could have computed it. So the text of a row is what its users write. Ways to write the same
are one: ``x**2``, ``x*x`` and ``np.square(x)``; ``1/x`` and ``np.reciprocal(x)``; ``x - 1``
and ``x + -1``; the order of a sum's terms and of a product's factors. Where bits count, a
pattern is meant exactly as it is written. A shortcut is such a formula with its slopes: derivatives
go past its steps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ..base.fork_safety import cached_property
from ..graph import Input, Node
from ..op import Op, registry
from ..trace import Traced, as_node
from ._recognition import NUMBERS, POWERS, equals, inverse_of, number_of, offset_of, square_of

Bound = dict[Node, Node]

_COMMUTATIVE = frozenset(("Add", "Multiply"))
_FLOAT = np.dtype(np.float64)

#: What is known of combinations of ops is forgotten beyond this number.
MOST = 1 << 14


class Pattern:
    """A formula with free operands.

    Parameters
    ----------
    formula:
        A NumPy function of one or more real operands.
    exactly:
        Whether it is meant as it is written, for operands of any type.
    """

    def __init__(self, formula: Callable[..., Any], exactly: bool = False) -> None:
        self.exactly = exactly
        self.free = [Input(name, (), _FLOAT) for name in inspect.signature(formula).parameters]
        # Whatever is being traced around it is none of its concern.
        self.root = Context().run(lambda: as_node(formula(*map(Traced, self.free))))
        inside = None if exactly else square_of(self.root) or inverse_of(self.root)
        #: For each operand that is not free the ops of which one must be there.
        self.needs = [
            NUMBERS if number_of(x) is not None else self._names(x)
            for x in ((inside,) if inside else self.root.operands)
            if not isinstance(x, Input)
        ]
        #: Whether more is looked at than a step and its operands' ops.
        self.is_deep = any(y.operands for x in self.root.operands for y in x.operands)

    def _names(self, node: Node) -> frozenset[str]:
        """Return the names of the ops that a step can be written as."""
        if not self.exactly:
            if square_of(node) is not None:
                return frozenset(("Square", "Multiply", *POWERS))
            if inverse_of(node) is not None:
                return frozenset(("Divide", "Reciprocal", *POWERS))
            if offset_of(node) is not None:
                return frozenset(("Add", "Subtract"))
        return frozenset((node.op.name,))

    @property
    def heads(self) -> frozenset[str]:
        """The names of the ops at which the pattern can begin."""
        return self._names(self.root)

    def match(self, node: Node, barred: Collection[Node] = ()) -> tuple[Node, ...] | None:
        """Return the nodes in the places of the free operands, or None.

        Nodes in ``barred`` have to be operands, or outside: they are not looked into.
        """
        for bound in self._matches(self.root, node, {}, barred):
            return tuple(bound[x] for x in self.free)
        return None

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
            if equals(number_of(node), value):
                yield bound
            return
        if not self.exactly:
            if node in barred or node.dtype.kind != "f":
                return
            for part_of in (square_of, inverse_of):
                inside = part_of(pattern)
                if inside is not None:
                    other = part_of(node)
                    if other is not None:
                        yield from self._matches(inside, other, bound, barred)
                    return
            offset = offset_of(pattern)
            if offset is not None:
                other_offset = offset_of(node)
                if other_offset is not None and other_offset[1] == offset[1]:
                    yield from self._matches(offset[0], other_offset[0], bound, barred)
                return
        if node.op is not pattern.op or node.items != pattern.items:
            return
        orders = [node.operands]
        if not self.exactly and node.op.name in _COMMUTATIVE:
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


def between(node: Node, ends: Collection[Node]) -> set[Node]:
    """Return the nodes strictly between a node and others behind it."""
    found: set[Node] = set()
    stack = list(node.operands)
    while stack:
        x = stack.pop()
        if x not in ends and x.operands and x not in found:
            found.add(x)
            stack.extend(x.operands)
    return found


class Row:
    """A row of a table: what is looked for.

    Attributes
    ----------
    written:
        A formula, as a NumPy function of its operands; or the names of the ops at which the row
        itself looks for more than a formula says.
    sees:
        Ops of which one must be among the operands; None for any.
    exactly:
        Whether the formula is meant as it is written.
    """

    written: Callable[..., Any] | tuple[str, ...]
    sees: frozenset[str] | None
    exactly: ClassVar[bool] = False

    @cached_property
    def pattern(self) -> Pattern | None:
        """The formula; None where the row looks by itself."""
        return Pattern(self.written, self.exactly) if callable(self.written) else None

    @property
    def heads(self) -> Collection[str]:
        """The names of the ops at which the row may apply."""
        if self.pattern is not None:
            return self.pattern.heads
        assert not callable(self.written)
        return self.written

    def found(self, node: Node, barred: Collection[Node] = ()) -> tuple[Node, ...] | None:
        """Return the formula's operands at ``node``, None where it does not stand there.

        A row that looks by itself is given the node's own.
        """
        return node.operands if self.pattern is None else self.pattern.match(node, barred)

    def concerns(self, op: Op) -> bool:
        """Tell whether the row may apply at nodes of an op."""
        return op.name in self.heads

    @cached_property
    def needs(self) -> list[frozenset[str]]:
        """Sets of names of ops, of each of which one must be among a node's operands."""
        seen = [] if self.sees is None else [self.sees]
        return seen if self.pattern is None else seen + self.pattern.needs


R = TypeVar("R", bound=Row)
_op_of = attrgetter("op")


class Index(Generic[R]):
    """The rows of a table by what is to be seen of a node at first sight: its op, its operands'.

    Parameters
    ----------
    rows:
        The table, in order of preference.
    special:
        Rows with special functions in them, which come last. Before these are loaded there are
        none in any graph, and tracing the formulas would load them.
    """

    def __init__(self, rows: Iterable[R], special: Iterable[R] = ()) -> None:
        self._rows, self._special = list(rows), list(special)
        #: For each op the rows, and ops without any of which none applies.
        self._known: dict[Op, tuple[list[R], frozenset[str] | None]] = {}
        self._seen: dict[tuple[Op, frozenset[Op]], list[R]] = {}

    def may_apply(self, node: Node) -> bool:
        """Tell at a glance whether any row may apply at ``node``."""
        if self._special:
            self._complete()
        _, some = self._known.get(node.op) or self._concerning(node.op)
        if some is None:
            return True
        for x in node.operands:  # noqa: SIM110  a generator takes twice the time
            if x.op.name in some:
                return True
        return False

    def at(self, node: Node) -> Sequence[R]:
        """Return the rows that may apply at ``node``."""
        return self.among(node.op, map(_op_of, node.operands)) if self.may_apply(node) else ()

    def among(self, op: Op, operands: Iterable[Op]) -> Sequence[R]:
        """Return the rows that may apply at a node of an op with operands of ops."""
        if self._special:
            self._complete()
        key = op, frozenset(operands)
        found = self._seen.get(key)
        if found is None:
            if len(self._seen) >= MOST:
                self._seen.clear()
            rows, _ = self._known.get(op) or self._concerning(op)
            names = {x.name for x in key[1]}
            found = [row for row in rows if not any(some.isdisjoint(names) for some in row.needs)]
            self._seen[key] = found
        return found

    def replace(self, earlier: R | None, row: R | None) -> None:
        """Take a row out, and put another one in, the last in preference; None: neither."""
        kept = [known for known in self._rows if known is not earlier]
        self._rows = kept if row is None else [*kept, row]
        self._known, self._seen = {}, {}

    def _complete(self) -> None:
        if registry.is_complete:
            self._rows, self._special = self._rows + self._special, []
            self._known, self._seen = {}, {}

    def _concerning(self, op: Op) -> tuple[list[R], frozenset[str] | None]:
        rows = [row for row in self._rows if row.concerns(op)]
        free = any(not row.needs for row in rows)
        some = None if free else frozenset().union(*[row.needs[0] for row in rows])
        return self._known.setdefault(op, (rows, some))


@dataclass(frozen=True)
class Way:
    """How derivatives go past the steps of a formula, to its operands.

    ``pull(ct)`` gives a cotangent for each of ``operands``; ``push(tangents)``, with None for
    zero, the tangent of the result. ``support`` is as in a record; elementwise ways need none.
    Derivatives by the nodes in ``beside`` are those of ``instead``, which is equal to the node,
    or those through the node's own steps with the nodes in ``fixed`` constant.
    """

    operands: tuple[Node, ...]
    pull: Callable[[Any], Sequence[Any]]
    push: Callable[[Sequence[Any]], Any]
    elementwise: bool = True
    support: Callable[[Any], Sequence[Any]] | None = None
    beside: tuple[Node, ...] = ()
    fixed: frozenset[Node] = frozenset()
    instead: Node | None = None

    def detour(self, node: Node) -> tuple[Node, frozenset[Node]]:
        """Return what is differentiated by ``beside``, and what is constant in it."""
        return (node, self.fixed) if self.instead is None else (self.instead, frozenset())


def equal_to(node: Node, beside: Iterable[Node]) -> Way:
    """Return the way by another node that is equal."""
    return Way((), lambda ct: (), lambda _: None, beside=tuple(beside), instead=node)


@dataclass(frozen=True)
class Shortcut(Row):
    """The derivative of an elementwise formula.

    Parameters
    ----------
    name:
        The formula and, for people, what its derivative is.
    written:
        The NumPy function that is looked for.
    slopes:
        ``slopes(y, *operands)``: the derivatives of the result ``y`` by the operands.
    samples:
        ``(low, high)`` for each operand: where the tests measure.
    where:
        ``where(*nodes)``: a condition on what stands for the operands.
    sees:
        Ops of which one must be among the operands; None for any.
    length:
        Whether it is a length of its operands, 0 where they are; "squared": of what the operand is
        the square of.
    """

    name: str
    written: Callable[..., Any]
    slopes: Callable[..., tuple[Any, ...]]
    samples: tuple[tuple[float, float], ...]
    where: Callable[..., bool] = lambda *_: True
    sees: frozenset[str] | None = None
    length: bool | str = False

    def find(self, node: Node, barred: Collection[Node]) -> Way | None:
        """Return the way past ``node``, or None where the formula is another."""
        found = self.found(node, barred)
        if found is None or not self.where(*found):
            return None
        if self.length == "squared":
            return over(node, found[0])
        if self.length:
            xs = tuple(map(Traced, found))
            return along(node, found, lambda: self.slopes(Traced(node), *xs))
        return elementwise(node, found, self.slopes)


def along(node: Node, operands: tuple[Node, ...], directions: Callable[[], tuple[Any, ...]]) -> Way:
    """Return the way past a length by its parts and, once they are asked for, ``x/r`` of each."""
    bind = registry.ops["Along"]

    def size() -> Any:
        """Return what is 0 where all parts are: their squares may underflow."""
        return reduce(np.maximum, (np.abs(Traced(x)) for x in operands))

    def pull(ct: Any) -> Sequence[Any]:
        pairs = zip(operands, directions(), strict=True)
        return [bind(ct, u, Traced(x), size(), Traced(node)) for x, u in pairs]

    def push(tangents: Sequence[Any]) -> Any:
        turn, pairs = registry.ops["Turn"], zip(operands, directions(), strict=True)
        return _summed(tangents, [turn(u, Traced(x), size(), Traced(node)) for x, u in pairs])

    return Way(operands, pull, push)


def over(node: Node, square: Node) -> Way:
    """Return the way past the root of a sum of squares."""
    r: Any = Traced(node)
    ops = registry.ops

    def push(tangents: Sequence[Any]) -> Any:
        part = 0.5 * tangents[0]
        return ops["Turn"](np.where(r == 0, 0.0, part / r), part, r, r)

    return Way((square,), lambda ct: [ops["OverLength"](ct, r)], push)


def _summed(tangents: Sequence[Any], slopes: Sequence[Any]) -> Any:
    terms = [t * s for t, s in zip(tangents, slopes, strict=True) if t is not None]
    return sum(terms[1:], start=terms[0])


def elementwise(
    node: Node, operands: tuple[Node, ...], slopes: Callable[..., tuple[Any, ...]]
) -> Way:
    """Return the way past a node by its derivatives, ``slopes(y, *operands)``, by each operand."""

    def at() -> tuple[Any, ...]:
        return slopes(Traced(node), *map(Traced, operands))

    return Way(operands, lambda ct: [ct * s for s in at()], lambda ts: _summed(ts, at()))


@dataclass(frozen=True)
class Reduced(Row):
    """The derivative of a formula that is found by a function, such as the log of a sum.

    Parameters
    ----------
    name:
        The formula and, for people, what its derivative is.
    find:
        ``find(node, barred)`` returns the way past ``node``, or None where there is none.
    written, sees:
        The ops at which it begins, and those of which one must be among the operands.
    """

    name: str
    find: Callable[[Node, Collection[Node]], Way | None]
    written: tuple[str, ...] = ("Log",)
    sees: frozenset[str] | None = None

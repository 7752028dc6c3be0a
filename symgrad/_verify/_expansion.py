"""Expanding a graph into scalars, and pulling derivatives back through them.

Nothing here knows symgrad's derivative rules, transposes, rewrites or loop nests: the graph
is the one that tracing gave, array ops are taken apart by their element formulas, and the
chain rule runs over single numbers (A. Griewank, A. Walther, Evaluating Derivatives, 2nd
ed., SIAM 2008, section 3.2).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.broadcast import aligned
from .._core.graph import Constant, Input, Iota, Literal, Node, SizeOf, element_count
from .._core.op import Evidence, Words
from .._core.rewrite import is_length
from ..errors import UnsupportedError, VerificationError
from ._matrices import Element, Matrix, Position, exact_of, reads
from ._numeric_calculus import Nudge, rule_of
from ._rules import Rule
from ._scalars import Applied, Length, Scalar, Total
from ._templates import Key, Steps, Template

#: Scalars that an expansion may have: some half a minute and half a gigabyte.
SCALARS = 300_000


#: Numbers up to this are put into the formulas of the ops applied to them.
SIMPLE = 16


TOO_LARGE = (
    "the function has more than {} scalar operations at these sizes, too many to carry out "
    "exactly: verify it with smaller arrays (one compiled kernel serves all lengths)"
)


class TooLargeError(VerificationError):
    """The problem has more scalar operations than can be carried out exactly."""


class Expansion:
    """The scalars of a graph at given inputs, made as they are asked for.

    Parameters
    ----------
    context:
        The mpmath context; its precision is that of the exact values.
    inputs:
        The value of each input.
    active:
        The inputs to differentiate by.
    nudge:
        How their elements are moved, None for not at all.
    """

    def __init__(
        self,
        context: Any,
        inputs: Mapping[Node, np.ndarray[Any, Any]],
        active: Collection[Node],
        nudge: Nudge | None = None,
    ) -> None:
        self.context, self.inputs, self.active, self.nudge = context, inputs, active, nudge
        self._nudged = 0
        self.memo: dict[Key, Scalar] = {}
        self.scalars: list[Scalar] = []
        self._templates: dict[Node, Template] = {}
        self._rules: dict[Node, Rule] = {}
        self._lengths: set[Node] = set()
        self._matrices: dict[Key, Matrix] = {}

    @property
    def special(self) -> bool:
        """Whether functions were met that take long to compute with many digits."""
        return any(rule.value.special for rule in self._rules.values())

    def scalar(self, node: Node, index: tuple[int, ...]) -> Scalar:
        """Return one element of a node."""
        root = (node, index)
        known = self.memo.get(root)
        if known is not None:
            return known
        stack: list[tuple[Key, Steps]] = [(root, self._build(*root))]
        given: Any = None
        while stack:
            key, steps = stack[-1]
            try:
                wanted = steps.send(given)
            except StopIteration as stop:
                stack.pop()
                given = self.memo[key] = self._entered(stop.value, key[0])
                continue
            given = self.memo.get(wanted)
            if given is None:
                stack.append((wanted, self._build(*wanted)))
        found: Scalar = given
        return found

    def _entered(self, scalar: Scalar, node: Node) -> Scalar:
        """Number a new scalar and those made on the way to it, parts first."""
        if scalar.order:
            return scalar
        stack = [scalar]
        while stack:
            top = stack[-1]
            fresh = [p for p in top.parts if not p.order]
            if fresh:
                stack += fresh
                continue
            stack.pop()
            if not top.order:
                self.scalars.append(top)
                top.order = len(self.scalars)
                top.source = top.source or (node, ())
        if len(self.scalars) > SCALARS:
            raise TooLargeError(TOO_LARGE.format(SCALARS))
        return scalar

    # ---------------------------------------------------------------- elements

    def _build(self, node: Node, index: tuple[int, ...]) -> Steps:
        if node.op.kind == "leaf":
            yield from ()
            return self._leaf(node, index)
        if Evidence.of(node.op).exact is not None:
            return (yield from self._routine(node, index))
        if node.op.kind == "routine" and node.op.linear is None:
            line = f", called at {node.where}" if node.where else ""
            raise UnsupportedError(
                f"{node.op.name}{line}, has no exact values to compare with "
                f"({Words.of(node.op).doc}): verify the rest of the function, with its "
                "result as an argument"
            )
        if node.op.kind != "map":
            if node.op.kind == "reduce" and element_count(
                node.operands[0]
            ) > SCALARS * element_count(node):
                raise TooLargeError(TOO_LARGE.format(SCALARS))  # not after half a minute
            template = self._templates.get(node)
            if template is None:
                template = self._templates[node] = Template(node, self.context, self._number)
            return (yield from template(index))
        parts = []
        for x in node.operands:
            key = (x, aligned(index, x.shape))
            part = self.memo.get(key)
            parts.append((yield key) if part is None else part)
        rule = self._rule(node)
        kind = Length if node in self._lengths else Applied
        made = kind(self.context, rule, parts, node.dtype)
        if node.dtype.kind in "iu":
            made.value = wrapped(made.value, node.dtype)
        return made

    def _routine(self, node: Node, index: tuple[int, ...]) -> Steps:
        batch = index[: len(node.operands[0].shape) - exact_of(node).core]
        matrix = self._matrices.get((node, batch))
        if matrix is None:
            known = {}
            for operand, place in reads(node, batch):
                key = (node.operands[operand], (*batch, *place))
                known[operand, place] = yield key
            matrix = self._matrices[node, batch] = Matrix(self.context, node, batch, known)
        shape = tuple(map(int, node.shape[len(batch) :]))
        number = int(np.ravel_multi_index(index[len(batch) :], shape)) if shape else 0
        kind = Element if node.dtype.kind == "f" else Position
        return kind(self.context, matrix, number, node.dtype)

    def _rule(self, node: Node) -> Rule:
        rule = self._rules.get(node)
        if rule is None:
            kinds = "".join(x.dtype.kind for x in node.operands)
            known = tuple(
                (k, sp.Rational(x.value.item())) for k, x in enumerate(node.operands)
                if isinstance(x, Literal) and _simple(x.value)
            )  # fmt: skip
            rule = rule_of(node.op, node.items, kinds, node.dtype.kind, known)
            if is_length(node):
                self._lengths.add(node)
            self._rules[node] = rule
        return rule

    def _leaf(self, node: Node, index: tuple[int, ...]) -> Scalar:
        if isinstance(node, Input):
            scalar = Scalar(self.context, self._exact(self.inputs[node][index]), node.dtype)
            scalar.source = (node, index)
            scalar.active = node in self.active
            if self.nudge and scalar.active and node.dtype.kind == "f":
                scalar.value += self.nudge.of(self.context, scalar.source, self._nudged)
                self._nudged += 1
            return scalar
        if isinstance(node, Literal):
            value = self._exact(node.value)
        elif isinstance(node, Constant):
            value = self._exact(node.array[index])
        elif isinstance(node, SizeOf):
            value = int(node.size)
        else:
            assert isinstance(node, Iota)
            value = index[0]
        return Scalar(self.context, value, node.dtype)

    def _exact(self, value: Any) -> Any:
        return self.context.mpf(float(value)) if value.dtype.kind == "f" else value.item()

    def _number(self, number: Any, dtype: np.dtype[Any]) -> Scalar:
        """Return a number in the element formula of a node: of its type, if that is not real."""
        value: Any = bool(number) if dtype.kind == "b" else int(number.p)
        if not number.is_Integer:
            value = self.context.mpf(value) / int(number.q)
        return Scalar(self.context, value, np.dtype(np.float64) if dtype.kind == "f" else dtype)


def _simple(number: Any) -> bool:
    """Tell whether a number is worth a rule of its own: a small integer or half."""
    return number.dtype.kind != "b" and bool(abs(number) <= SIMPLE and 2 * number % 1 == 0)


def wrapped(value: int, dtype: np.dtype[Any]) -> int:
    """Return an integer as the type holds it: modulo its range."""
    info = np.iinfo(dtype)
    low, count = int(info.min), 1 << int(info.bits)
    return (value - low) % count + low


# ---------------------------------------------------------------- the chain rule


@dataclass
class Adjoint:
    """A derivative, the first-order bound of its rounding error, and how it came about.

    ``convention`` says that the derivative does not exist here and was chosen.
    """

    value: Any
    error: Any
    convention: bool = False


@dataclass
class Pulled:
    """The derivatives of one result element by all input elements that it depends on."""

    adjoints: dict[Scalar, Adjoint]
    visited: int
    held: bool


def pull(context: Any, output: Scalar, through: bool) -> Pulled:
    """Return the derivatives of ``output`` by the active input scalars.

    ``through`` says whether to differentiate also what the function holds constant
    (``held`` tells whether there is any).
    """
    adjoints: dict[int, Adjoint] = {}
    scalars: dict[int, Scalar] = {}
    found: dict[Scalar, Adjoint] = {}
    queue: list[int] = []
    held = False

    def reach(scalar: Scalar) -> Adjoint:
        if scalar.order not in adjoints:
            adjoints[scalar.order] = Adjoint(context.zero, context.zero)
            scalars[scalar.order] = scalar
            heapq.heappush(queue, -scalar.order)
        return adjoints[scalar.order]

    if output.active:
        reach(output).value = context.one
    visited = 0
    while queue:
        order = -heapq.heappop(queue)
        scalar, own = scalars.pop(order), adjoints.pop(order)
        visited += 1
        if not scalar.parts:
            found[scalar] = own
            continue
        if scalar.held:
            held = True
            if not through:
                continue
        size = abs(own.value)
        for part, slope in zip(scalar.parts, scalar.slopes(context), strict=True):
            if slope is None or not part.active:
                continue
            p, wobble, chosen = slope
            flow = own.value * p
            unit, tiny = context.rounding(part.dtype)
            target = reach(part)
            plain = isinstance(scalar, Total)
            target.error += abs(p) * own.error + (0 if plain else size * wobble + tiny)
            target.error += unit * abs(flow)
            target.value += flow
            target.convention |= chosen or own.convention
    for adjoint in found.values():
        if adjoint.error != adjoint.error:
            adjoint.error = context.inf
    return Pulled(found, visited, held)

"""Functions with derivative rules of the user's.

Such a function is a branch with one body, which tidying puts in its place once all
derivatives are taken; until then its derivative is not that of the body, but what the rule
says. A rule is plain NumPy on traced values, so it is differentiated and batched like any
other code.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ...errors import ArgumentError, ShapeError
from ..base.broadcast import show
from ..base.sizes import Dimension, same
from ..base.state import now, within
from ..graph import BODIES, RULE, Body, Input, Literal, Node, Rule, apply, topological
from ..graph._types import TOKEN
from ..op import FLAG, BranchOp, Products, Words, define
from ..rewrite import rewrite
from ..trace import Traced, aligned, as_node, cast, close_conditions, fresh, substitute
from ..transforms.batch import batch
from ..transforms.guards import Guarded, of_any
from ..transforms.reverse import pull_back
from ._build import close
from ._fields import counterparts, or_zeros, result, stand_ins, zeros
from ._records import BRANCH, run_branch
from ._values import Values, at


class Slopes(Protocol):
    """The two ways in which a rule is used; all values are nodes."""

    def pull(self, operands: Sequence[Node], cts: Sequence[Node]) -> Sequence[Node | None]:
        """Return the operands' cotangents for those of the results."""

    def push(self, operands: Sequence[Node], tangents: Sequence[Node]) -> Sequence[Node]:
        """Return the results' tangents for those of the operands."""


class Given(Rule):
    """A rule as a parameter of a node."""

    __slots__ = ("slopes",)

    def __init__(self, slopes: Slopes) -> None:
        super().__init__()
        self.slopes = slopes


def build_custom(
    what: str, function: Callable[..., Any], args: Sequence[Any],
    make: Callable[[Values, Values], Slopes],
) -> Any:  # fmt: skip
    """Return ``function(*args)`` as traced values with derivatives by a rule.

    ``make(arguments, results)`` gives the rule, once the structures are known.
    """
    given = Values.of(tuple(args))
    nodes = given.nodes
    inputs = [fresh(x, name) for x, name in zip(nodes, given.names("x"), strict=True)]
    arguments = [Traced(x, w) for x, w in zip(inputs, given.weak, strict=True)]
    examples = now().examples
    before = {} if examples is None else dict(examples.conditions)
    found = Values.of(function(*given.filled(arguments)))
    if examples is not None:  # the rule knows what they do
        examples.conditions = dict.fromkeys(examples.conditions, True) | before
    close_conditions(dict(zip(inputs, nodes, strict=True)))
    outputs = rewrite(found.nodes)
    closed = close(inputs, outputs, own=_of_no_input(outputs))
    if closed.captured:
        lines = ", ".join(sorted({str(x.where) for x in closed.captured if x.where}))
        raise ArgumentError(
            f"{what}: {at(function)} closes over a traced value{f' ({lines})' if lines else ''}, "
            "for which its rule gives no derivative: pass it as an argument"
        )
    items = (("bodies", (Body(inputs, closed.outputs),)), ("kept", False),
             ("rule", Given(make(given, found))))  # fmt: skip
    index = Literal(0, np.int64)
    node = apply(CUSTOM, (index, *nodes), items, (), TOKEN)
    return found.filled([Traced(result(node, k)) for k in range(len(found.places))])


def _of_no_input(outputs: Sequence[Node]) -> set[Node]:
    """Return what depends on no input: it has no derivative, and is computed within."""
    found: set[Node] = set()
    for node in topological(outputs):
        if not isinstance(node, Input) and all(x in found for x in node.operands):
            found.add(node)
    return {node for node in found if node.operands}


# ---------------------------------------------------------------- the op's own rules


def _pull(cts: Mapping[Node, Guarded], node: Node, wanted: Sequence[bool]) -> list[Guarded | None]:
    outputs = node.params["bodies"][0].outputs
    given = {projection.params["index"]: ct.value for projection, ct in cts.items()}
    full = [given.get(k, zeros(x)) for k, x in enumerate(outputs)]
    found = node.params["rule"].slopes.pull(node.operands[1:], full)
    guard = of_any(cts.values())
    # A rule multiplies what is 0 outside of the guard by slopes that need not be finite there.
    return [None, *(Guarded(ct, guard, not guard) if w and ct is not None else None
                    for ct, w in zip(found, wanted[1:], strict=True))]  # fmt: skip


def _push(tangents: Sequence[Node | None], node: Node) -> Callable[[Node], Node | None]:
    operands = node.operands[1:]
    full = or_zeros(tangents[1:], operands)
    found = node.params["rule"].slopes.push(operands, full)
    return lambda projection: found[projection.params["index"]]


def _batch(
    size: Dimension, operands: Sequence[Node], flags: Sequence[bool], node: Node, last: bool
) -> Callable[[Node], tuple[Node, bool]]:
    assert not last, "tidying has put the body in its place"
    [body] = node.params["bodies"]
    wide = {x: Input(x.name, (size, *x.shape), x.dtype) if f else x
            for x, f in zip(body.inputs, flags[1:], strict=True)}  # fmt: skip
    found = batch(body.outputs, {x: w for x, w in wide.items() if x is not w}, size)
    lifted = [f for _, f in found]
    rule = Given(Batched(node.params["rule"].slopes, body, size, flags[1:], lifted))
    inner = Body(tuple(wide.values()), rewrite([x for x, _ in found]))
    items = (("bodies", (inner,)), ("kept", False), ("rule", rule))
    made = apply(CUSTOM, tuple(operands), items, (), TOKEN)
    return counterparts(made, lifted)


class Batched:
    """The rule of a function of one example, for a batch."""

    def __init__(
        self, one: Slopes, body: Body, size: Dimension, flags: Sequence[bool],
        lifted: Sequence[bool],
    ) -> None:  # fmt: skip
        self.one, self.body, self.size = one, body, size
        self.flags, self.lifted = flags, lifted

    def _opened(
        self, values: Sequence[Node], like: Sequence[Node], flags: Sequence[bool], name: str
    ) -> tuple[list[Node], dict[Node, Node]]:
        """Return a stand-in for one example of each batched value."""
        inputs = stand_ins(like, name)
        one = [i if f else v for i, v, f in zip(inputs, values, flags, strict=True)]
        return one, {i: v for i, v, f in zip(inputs, values, flags, strict=True) if f}

    def pull(self, operands: Sequence[Node], cts: Sequence[Node]) -> list[Node | None]:
        """Return the operands' cotangents; those of operands without a batch are sums."""
        one, wide = self._opened(operands, self.body.inputs, self.flags, "x")
        seeds, more = self._opened(cts, self.body.outputs, self.lifted, "ct")
        found = self.one.pull(one, seeds)
        nodes = [ct for ct in found if ct is not None]
        spread = iter(batch(nodes, {**wide, **more}, self.size))
        results: list[Node | None] = []
        for ct, flag, x in zip(found, self.flags, operands, strict=True):
            if ct is None:
                results.append(None)
                continue
            value, lifted = next(spread)
            if flag and not lifted:
                value = as_node(np.broadcast_to(Traced(value), Traced(x).shape))
            elif lifted and not flag:
                value = as_node(np.sum(Traced(value), axis=0))
            results.append(value)
        return results

    def push(self, operands: Sequence[Node], tangents: Sequence[Node]) -> list[Node]:
        """Return the results' tangents."""
        one, wide = self._opened(operands, self.body.inputs, self.flags, "x")
        slopes, more = self._opened(tangents, self.body.inputs, self.flags, "t")
        found = batch(self.one.push(one, slopes), {**wide, **more}, self.size)
        results = []
        for (value, lifted), x, flag in zip(found, self.body.outputs, self.lifted, strict=True):
            if flag and not lifted:
                shape = Traced(Input("b", (self.size, *x.shape), x.dtype)).shape
                value = as_node(np.broadcast_to(Traced(value), shape))
            results.append(value)
        return results


# ---------------------------------------------------------------- rules in the user's terms


def transposed(
    linear: Callable[[Sequence[Node]], Sequence[Node]], like: Sequence[Node],
    cts: Sequence[Node],
) -> list[Node | None]:  # fmt: skip
    """Return the transpose of a linear function of values like ``like``, applied to ``cts``."""
    inputs = stand_ins(like, "u")
    found = pull_back(linear(inputs), cts, inputs)
    # A linear function's transpose does not depend on where it is taken.
    swap = {x: zeros(x) for x in inputs}
    closed = iter(substitute([ct for ct in found if ct is not None], swap))
    return [None if ct is None else next(closed) for ct in found]


def _called_with(*given: Sequence[Node]) -> within:
    """Run a rule, which may differentiate functions that close over any of what it is given."""
    return within(rule_operands=(*now().rule_operands, *itertools.chain(*given)))


class ByPullback:
    """``forward(*args) -> (out, residual)``, ``backward(residual, ct) -> cotangents``."""

    def __init__(
        self, forward: Callable[..., Any], backward: Callable[..., Any], arguments: Values,
        results: Values,
    ) -> None:  # fmt: skip
        self.forward, self.backward = forward, backward
        self.arguments, self.results = arguments, results

    def pull(self, operands: Sequence[Node], cts: Sequence[Node]) -> list[Node | None]:
        """Return the operands' cotangents."""
        args = self.arguments.filled([Traced(x) for x in operands])
        with _called_with(operands, cts):
            found = self.forward(*args)
        if not isinstance(found, tuple) or len(found) != 2:
            raise ArgumentError(f"custom_vjp: {at(self.forward)} must return (result, residual)")
        out = Values.of(found[0])
        if out != self.results:
            raise ArgumentError(
                f"custom_vjp: {at(self.forward)} returns a result of another structure than the "
                "function itself"
            )
        ct = self.results.filled([Traced(c) for c in cts])
        with _called_with(operands, cts):
            slopes = self.backward(found[1], ct)
        return matched(self.backward, slopes, self.arguments, operands)

    def push(self, operands: Sequence[Node], tangents: Sequence[Node]) -> list[Node]:
        """Return the results' tangents: the transpose of the pullback, which is linear."""
        outputs = self.results.nodes

        def back(cts: Sequence[Node]) -> list[Node]:
            return or_zeros(self.pull(operands, cts), operands)

        return or_zeros(transposed(back, outputs, tangents), outputs)


class ByTangent:
    """``rule(primals, tangents) -> (out, tangent)``."""

    def __init__(self, rule: Callable[..., Any], arguments: Values, results: Values) -> None:
        self.rule, self.arguments, self.results = rule, arguments, results

    def push(self, operands: Sequence[Node], tangents: Sequence[Node]) -> list[Node]:
        """Return the results' tangents."""
        primals = self.arguments.filled([Traced(x) for x in operands])
        slopes = self.arguments.filled([Traced(t) for t in tangents])
        with _called_with(operands, tangents):
            found = self.rule(primals, slopes)
        if not isinstance(found, tuple) or len(found) != 2:
            raise ArgumentError(f"custom_jvp: {at(self.rule)} must return (result, tangent)")
        tangent = aligned(
            found[1], self.results.tree, f"custom_jvp: the tangent of {at(self.rule)}"
        )
        out = Values.of(tangent)
        if len(out.places) != len(self.results.places):
            raise ArgumentError(
                f"custom_jvp: {at(self.rule)} returns a tangent of another structure than the "
                "function's result"
            )
        pairs = zip(out.nodes, self.results.nodes, strict=True)
        return [fitted("custom_jvp", self.rule, t, x) for t, x in pairs]

    def pull(self, operands: Sequence[Node], cts: Sequence[Node]) -> list[Node | None]:
        """Return the operands' cotangents: the rule is linear in the tangents."""
        return transposed(lambda tangents: self.push(operands, tangents), operands, cts)


def matched(
    function: Callable[..., Any], found: Any, arguments: Values, operands: Sequence[Node]
) -> list[Node | None]:
    """Return a rule's cotangents, one for each number of the arguments; None is zero."""
    what, trees = "custom_vjp", arguments.tree.children
    if not isinstance(found, (tuple, list)) or len(found) != len(trees):
        count = len(found) if isinstance(found, (tuple, list)) else 1
        raise ArgumentError(
            f"{what}: {at(function)} must return a tuple with one cotangent for each of the "
            f"{len(trees)} arguments, not {count}"
        )
    results: list[Node | None] = []
    places = set(arguments.places)
    position = itertools.count()
    rest = iter(operands)
    for part, tree in zip(found, trees, strict=True):
        own = [next(rest) for _ in range(tree.leaves) if next(position) in places]
        part = aligned(part, tree, f"{what}: a cotangent of {at(function)}")
        slopes = [None] * len(own) if part is None else Values.of(part).nodes
        if len(slopes) != len(own):
            raise ArgumentError(
                f"{what}: {at(function)} returns a cotangent with {len(slopes)} arrays for an "
                f"argument with {len(own)}"
            )
        for ct, x in zip(slopes, own, strict=True):
            real = ct is not None and x.dtype.kind == "f"
            results.append(fitted(what, function, ct, x) if real and ct is not None else None)
    return results


def fitted(what: str, function: Callable[..., Any], slope: Node, like: Node) -> Node:
    """Return a derivative in the type of its value; its shape must be the value's."""
    if slope.shape == () and like.shape != ():
        slope = as_node(np.broadcast_to(Traced(slope), Traced(like).shape))
    if len(slope.shape) != len(like.shape) or not all(map(same, slope.shape, like.shape)):
        raise ShapeError(
            f"{what}: {at(function)} gives a derivative of shape {show(slope.shape)} for a value "
            f"of shape {show(like.shape)}"
        )
    return cast(slope, like.dtype)


CUSTOM = define(
    BranchOp("Custom",
        evaluate=lambda index, *operands, bodies, kept, rule: run_branch(
            index, *operands, bodies=bodies, kept=kept
        ),
        params={"bodies": BODIES, "kept": FLAG, "rule": RULE}, rule=Products(_pull, _push),
        batch=_batch, spread=BRANCH.spread, results=BRANCH.results, fits=BRANCH.fits),
    Words("a function with a derivative rule of the user's"),
)  # fmt: skip

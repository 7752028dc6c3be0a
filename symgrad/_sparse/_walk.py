"""The pass: from the inputs to the outputs, with the blocks of each node on the way.

Before it, branches become choices between the results of all cases, so that lanes lead through
them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from .._core.base.sizes import Shape, as_size, dim_product, hint
from .._core.base.state import at, within
from .._core.graph import Body, Literal, Node, carrying, rebuilt, topological
from .._core.op import AXES, PROJECTIONS, Bodied, Gather, Scatter
from .._core.ops import TRANSPOSE
from .._core.rewrite import Way, shortcuts, simplified
from .._core.trace import as_node, cast, fresh, substitute
from .._core.transforms.forward import fitted
from .._core.transforms.guards import Guarded, added
from .._core.transforms.limits import with_limits
from .._core.transforms.support import Support, dependents
from ._block import Block
from ._dense import every, examples_of, filled, operands_of, whole
from ._index import traced
from ._rules import RULES, Slopes, contracted, elementwise, is_zero, mapped
from ._spans import Spans, range_read

#: Told of each step behind which lanes do not lead on, and its operand.
Note = Callable[[Node, Node], None]


class Found(NamedTuple):
    """The blocks of nodes, by the inputs and by *cuts*: steps that are differentiated by, too.

    Where lanes do not lead on from a step's blocks, they do from the step itself. The derivative
    by an input is then that of what lies behind the cut times that of the cut. The blocks of
    ``ends``, results of loops and branches among the cuts, are not known. Behind ``barriers``,
    which are the ends and routines on a batch, places alone are known. ``bounds`` has for each
    step that reads or writes at computed places whether there are such, a truth value.
    """

    outputs: list[list[Block]]
    cuts: dict[Node, list[Block]]
    ends: list[Node]
    barriers: list[Node]
    bounds: dict[Node, Node]


def blocks_of(
    outputs: Sequence[Node], inputs: Sequence[Node], note: Note, places: bool = False
) -> Found:
    """Return the Jacobians of ``outputs``, each as a sum of blocks.

    Parameters
    ----------
    outputs:
        Nodes to differentiate.
    inputs:
        What to differentiate by.
    note:
        Is told of each step behind which lanes do not lead on, and which operand it was. The
        pattern has all entries of its Jacobian.
    places:
        Whether places alone are asked for: values mean nothing behind such a step then, and loops
        and branches are ends.
    """
    with within(), simplified():
        outputs = with_limits(outputs, inputs)
        walk = _Walk(reached(outputs), inputs, note, places)
        walk.go()
    found = [walk.found.get(node, []) for node in outputs]
    return Found(found, walk.cuts, walk.ends, [*walk.barriers], walk.bounds)


def places_throughout(outputs: Sequence[Node], inputs: Sequence[Node]) -> list[list[Block]] | None:
    """Return where the Jacobians of ``outputs`` have entries, as blocks; None if lanes end.

    The pass goes no further than to the first step behind which they do not lead on.
    """
    with within(), simplified():
        walk = _Throughout(reached(outputs), inputs, _ended, places=True)
        try:
            walk.go()
        except _LanesEndError:
            return None
    return [walk.found.get(node, []) for node in outputs]


def identity(node: Node) -> Block:
    """Return the block of a node by itself."""
    none = Block(node, (), (), (), Guarded(Literal(1, node.dtype)))
    block, rows = none.extended(node.shape)
    return replace(block, rows=tuple(rows), cols=tuple(rows))


#: More blocks of a node become one where they have more lanes than its dense Jacobian has entries:
#: behind arrays that are shifted, written over and mixed in turn they would double in every round.
MANY = 16

#: So many rules within rules are followed. A rule that asks for another of its kind, as a solve
#: asks for one by the transpose, has no end.
NESTED = 3


class _Walk:
    """The way through a graph, within so many rules of the user's."""

    def __init__(
        self, order: Sequence[Node], inputs: Sequence[Node], note: Note, places: bool,
        rules: int = 0,
    ) -> None:  # fmt: skip
        self.order, self.note, self.places, self.rules = order, note, places, rules
        self.active = dependents(order, inputs)
        self.support = Support(order, self.active, ())
        self.ways = shortcuts(order, inputs)
        self.found: dict[Node, list[Block]] = {x: [identity(x)] for x in inputs}
        self.sources = set(inputs)
        self.cuts: dict[Node, list[Block]] = {}
        self.ends: list[Node] = []
        self.barriers: dict[Node, None] = {}
        self.bounds: dict[Node, Node] = {}
        self.spans: dict[tuple[Node, int], Spans] = {}
        self.slopes: Slopes | None = None

    def go(self) -> None:
        """Find the blocks of all nodes."""
        for node in self.order:
            if node in self.found or node not in self.active or isinstance(node.op, Bodied):
                continue
            at(node.where)
            if not is_empty(node.shape):
                self.found[node] = joined([_typed(block, node) for block in self._behind(node)])
                if self._overlaps(node):
                    self.found[node] = filled(node, self.found[node])
                if node in self.barriers and not self.rules:
                    self._cut(node)
                op = node.op
                computed = isinstance(op, (Gather, Scatter)) and AXES in op.params.values()
                if computed and self.found[node]:
                    self.bounds[node] = _within_bounds(node)

    def _overlaps(self, node: Node) -> bool:
        """Tell whether the blocks of a node are many, and lie over each other."""
        blocks = self.found[node]
        if len(blocks) <= MANY:
            return False
        by = {block.source for block in blocks}
        entries = size_of(node.shape) * sum(size_of(x.shape) for x in by)
        return sum(size_of(block.lanes) for block in blocks) > entries

    def _behind(self, node: Node) -> list[Block]:
        """Return the blocks of a node, from those of its operands."""
        way = self.ways.get(node)
        if way is not None and way.elementwise and node.op.kind == "map":
            return _past(node, way, self.found)
        if way is not None and not way.elementwise:
            passed = self._pushed(node, way.operands, partial(_tangent, node, way))
            if passed is not None:
                return passed
        if node.op.kind in PROJECTIONS:
            inner = node.operands[0]
            if "rule" in inner.params and (found := self._ruled(node, inner)) is not None:
                return found
            if self.places:
                return self._end(node)
        parts: list[Block] = []
        for k, operand in enumerate(operands_of(node)):
            if k in node.op.aside:
                continue
            new = self._through(node, k, self.found.get(operand, ()))
            if new is None:
                self._cut(operand)
                new = self._through(node, k, self.found[operand])
                assert new is not None
            parts += new
        return parts

    def _cut(self, node: Node) -> None:
        """Differentiate by a step, too."""
        if node not in self.sources:
            self.sources.add(node)
            self.cuts[node] = self.found[node]
            self.found[node] = [identity(node)]

    def _ruled(self, node: Node, inner: Node) -> list[Block] | None:
        """Return the blocks behind a rule of the user's."""
        op = inner.op
        assert isinstance(op, Bodied)
        return self._pushed(node, inner.operands, lambda ts: op.products.jvp(ts, inner)(node))

    def _pushed(
        self, node: Node, operands: Sequence[Node],
        push: Callable[[list[Node | None]], Node | None],
    ) -> list[Block] | None:  # fmt: skip
        """Return the blocks of a node of which the tangent is known, which is linear.

        None if its slopes depend on the tangents that it is given, or if rules go on and on.
        """
        if self.rules == NESTED:
            return None
        tangents = {x: fresh(x, "t") for x in operands if self.found.get(x)}
        if not tangents:
            return []
        if (pushed := push([tangents.get(x) for x in operands])) is None:
            return []
        seeds = [*tangents.values()]
        walk = type(self)(reached([pushed]), seeds, self.note, self.places, self.rules + 1)
        walk.found = {t: self.found[x] for x, t in tangents.items()}
        walk.go()
        self.bounds |= walk.bounds
        if walk.barriers:
            self.barriers[node] = None
        found = walk.found.get(pushed, [])
        values = [y for block in found for y in nodes_of(block)]
        if walk.cuts or not set(seeds).isdisjoint(topological(values)):
            return None
        return found

    def _end(self, node: Node) -> list[Block]:
        """Differentiate by the result of a loop or a branch, and by what goes into it."""
        moving = [x for x in operands_of(node) if self.found.get(x)]
        if not moving:
            return []
        for operand in moving:
            self._cut(operand)
        self.note(node, moving[0])
        self.ends.append(node)
        self.barriers[node] = None
        self.sources.add(node)
        self.cuts[node] = []
        return [identity(node)]

    def _through(self, node: Node, k: int, blocks: Sequence[Block]) -> list[Block] | None:
        """Return what becomes of an operand's blocks; None if it has to be cut."""
        rule = None if node.op.kind in PROJECTIONS else RULES.get(node.op.kind)
        if node.op.kind == "map" and blocks:
            if self.slopes is None or self.slopes.node is not node:
                self.slopes = Slopes.of(node, self.support)
            rule = partial(mapped, support=self.support, slopes=self.slopes)
        elif node.op.kind == "contract":
            rule = partial(contracted, support=self.support)
        parts: list[Block] = []
        for block in blocks if len(blocks) <= MANY else self._met(node, k, blocks):
            new = None if rule is None else rule(node, k, block)
            if new is None:
                if node.op.kind == "gather":
                    return None
                self.note(node, operands_of(node)[k])
                if self.places and examples_of(node, k):
                    self.barriers[node] = None
                new = [(every if self.places else whole)(node, k, block)]
            parts += new
        return parts

    def _met(self, node: Node, k: int, blocks: Sequence[Block]) -> Sequence[Block]:
        """Return those of an operand's blocks from which a step may read."""
        part = range_read(node)
        if part is None:
            return blocks
        axis, low, high = part
        spans = self.spans.get((node.operands[k], axis))
        if spans is None or spans.blocks is not blocks:
            spans = self.spans[node.operands[k], axis] = Spans(blocks, axis)
        return spans.meeting(low, high)


class _LanesEndError(Exception):
    """Lanes do not lead on from a step."""


def _ended(*_: Node) -> None:
    raise _LanesEndError


class _Throughout(_Walk):
    """The way through a graph, as far as lanes lead."""

    def _cut(self, node: Node) -> None:
        if node not in self.sources:
            raise _LanesEndError


def _within_bounds(node: Node) -> Node:
    """Return whether all places that a gather or a scatter has computed are on their axes."""
    assert isinstance(node.op, (Gather, Scatter))
    shape = node.operands[0].shape if node.op.kind == "gather" else node.shape
    axes, places = node.params["axes"], map(traced, node.op.places_of(node.operands))
    known = [np.all((i >= 0) & (i < as_size(shape[k]))) for k, i in zip(axes, places, strict=True)]
    return as_node(reduce(operator.and_, known))


def _tangent(node: Node, way: Way, tangents: Sequence[Node | None]) -> Node:
    """Return the tangent of a formula of sums that has a derivative of its own."""
    return fitted(as_node(way.push([None if t is None else traced(t) for t in tangents])), node)


def _past(node: Node, way: Way, found: dict[Node, list[Block]]) -> list[Block]:
    """Return the blocks behind an elementwise formula that has a derivative of its own."""
    parts: list[Block] = []
    for k, operand in enumerate(way.operands):
        if found.get(operand):
            units: list[Any] = [None] * len(way.operands)
            units[k] = np.ones_like(traced(operand))
            slope = way.push(units)
            for block in found[operand]:
                parts += elementwise(node, operand.shape, block, slope, ()) or []
    return parts


def nodes_of(block: Block) -> list[Node]:
    """Return all nodes of a block."""
    places = [i.rest for i in (*block.rows, *block.cols) if i.rest is not None]
    return [block.value, *places, *([] if block.mask is None else [block.mask])]


def reached(outputs: Sequence[Node]) -> list[Node]:
    """Return the nodes, operands first, that reach outputs through nodes with elements.

    What truth values and whole numbers are made of has no derivatives through them.
    """
    order = carrying(topological(outputs), outputs)
    needed = set(outputs)
    for node in reversed(order):
        flows = node.dtype.kind == "f" or isinstance(node.op, Bodied)
        if node in needed and flows and not is_empty(node.shape):
            needed.update(node.operands)
    return [node for node in order if node in needed]


def size_of(shape: Shape) -> int:
    """Return how many elements an array of the shape has in the example call."""
    return hint(dim_product(shape))


def is_empty(shape: Shape) -> bool:
    """Tell whether there are no elements, by guard where only the example call shows it."""
    return any(hint(size) == 0 and as_size(size) == 0 for size in shape)


def _typed(block: Block, node: Node) -> Block:
    value, guard, clean = block.slope
    return block.within(Guarded(cast(value, node.dtype), guard, clean))


def joined(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks with those of equal places added, without zeros."""
    groups: dict[Any, list[Block]] = {}
    for block in map(in_order, blocks):
        if is_empty(block.lanes):
            continue
        groups.setdefault(block.place, []).append(block)
    sums = [group[0].within(added([b.slope for b in group], _added)) for group in groups.values()]
    return [block for block in sums if not is_zero(block.slope.value)]


def _added(parts: Sequence[Node]) -> Node:
    return as_node(reduce(operator.add, map(traced, parts)))


def in_order(block: Block) -> Block:
    """Return a block with its lanes in the order in which the rows, then the columns need them."""
    order = list(
        dict.fromkeys(lane for i in (*block.rows, *block.cols) for lane in sorted(i.lanes))
    )
    order += [k for k in range(len(block.lanes)) if k not in order]
    if order == list(range(len(order))):
        return block
    places = {lane: k for k, lane in enumerate(order)}

    def node(x: Node) -> Node:
        return as_node(TRANSPOSE(traced(x), axes=tuple(order)))

    return block.changed(tuple(block.lanes[k] for k in order), node, lambda i: i.moved(places))


#: Kinds of ops that may be computed where their case is not chosen: they read no computed place,
#: take no steps whose number is not known, and factorise nothing.
HARMLESS = frozenset(("map", "view", "reduce", "scan", "contract", "assemble", "leaf"))


def selected(outputs: Sequence[Node], inputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with the branches between them and ``inputs`` as choices.

    Those with a case that may be run only if it is chosen are left as they are.
    """
    order = topological(outputs)
    if not any(node.op.kind == "branch" for node in order):
        return [*outputs]
    active = dependents(order, inputs)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node.op.kind in PROJECTIONS and node in active and _is_harmless(node.operands[0]):
            return _choice(operands[0], node.params["index"])
        return None

    return rebuilt(outputs, change)


def _is_harmless(node: Node) -> bool:
    if node.op.kind != "branch" or "rule" in node.params:
        return False
    bodies: Sequence[Body] = node.params["bodies"]
    return all(x.op.kind in HARMLESS for body in bodies for x in topological(body.outputs))


def _choice(node: Node, result: int) -> Node:
    """Return a result of a branch: where the number is that of a case, the result of that one."""
    choice, *given = node.operands
    cases = [
        substitute([body.outputs[result]], dict(zip(body.inputs, given, strict=True)))[0]
        for body in node.params["bodies"]
    ]
    chosen = traced(cases[-1])
    for k in reversed(range(len(cases) - 1)):
        chosen = np.where(traced(choice) == k, traced(cases[k]), chosen)
    return as_node(chosen)

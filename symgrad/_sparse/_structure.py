"""Structure: which elements depend on which, through loops and branches as well.

Between loops and branches it is the places of blocks. A body has a structure of its own, by its
inputs; that of a loop is its product with itself, a factor for each step. What it depends on are
sizes and index data; where a place depends on what a loop carries, all depends on all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from .._core.base.sizes import Dimension, Shape, dim_product
from .._core.graph import Body, Iota, Node, topological
from .._core.trace import substitute
from .._core.transforms.batch import batch, repeated
from ._dense import operands_of
from ._index import flat
from ._walk import Found, blocks_of


@dataclass(frozen=True)
class Places:
    """Entries of one node by another: rows, columns and truth values (or None) over lanes.

    ``stepped`` says for each loop around, from the outermost, whether the arrays have a leading
    axis of its steps. Without nodes all entries are meant.
    """

    target: int
    source: int
    lanes: Shape
    nodes: tuple[Node | None, ...] = ()
    stepped: tuple[bool, ...] = ()

    def filled(self, nodes: Iterator[Any]) -> Places:
        """Return it with others in the place of its nodes."""
        return replace(self, nodes=tuple(None if x is None else next(nodes) for x in self.nodes))


@dataclass(frozen=True)
class End:
    """A result of a loop or a branch.

    Attributes
    ----------
    target:
        Its number.
    sources:
        The numbers of what goes into it, in the order of the inputs of its bodies.
    within:
        The number of its bodies in the structure; None: all depends on all.
    result:
        Which of the outputs of the bodies it is.
    loop:
        Of a loop: how many of the inputs and outputs of its body are carried, how many of the
        inputs are elements of arrays and how many of those of tapes, the number of steps or None,
        whether they are taken from the last to the first. Of a branch: None.
    stacked:
        Whether it has the results of all steps.
    where:
        The user's line.
    """

    target: int
    sources: tuple[int | None, ...]
    within: int | None
    result: int
    loop: Rolled | None
    stacked: bool
    where: str


@dataclass(frozen=True)
class Rolled:
    """How a loop runs: see :class:`End`."""

    carries: int
    elements: tuple[bool, ...]
    length: Dimension | None
    reverse: bool


@dataclass(frozen=True)
class Structure:
    """The structure of outputs by inputs, and by what is between them.

    Attributes
    ----------
    counts:
        How many of the targets are outputs, and how many of the sources inputs.
    heights, widths:
        How many elements the targets and the sources have.
    bodies:
        The structures of the bodies of each loop and branch, which all of its results share.
    barriers:
        The targets behind which lanes do not lead on.
    """

    counts: tuple[int, int]
    heights: tuple[Dimension, ...]
    widths: tuple[Dimension, ...]
    places: tuple[Places, ...]
    ends: tuple[End, ...]
    bodies: tuple[tuple[Structure, ...], ...]
    barriers: frozenset[int]

    @property
    def leads_on(self) -> bool:
        """Whether an output depends on one of the barriers."""
        outputs, inputs = self.counts
        read: dict[int, list[int]] = {}
        for p in self.places:
            if p.source >= inputs:
                read.setdefault(p.target, []).append(outputs + p.source - inputs)
        reached, waiting = set(range(outputs)), list(range(outputs))
        while waiting:
            target = waiting.pop()
            if target in self.barriers:
                return True
            more = [x for x in read.get(target, ()) if x not in reached]
            reached.update(more)
            waiting += more
        return False

    def every(self) -> Iterator[Places]:
        """Yield all places, those in bodies behind a structure's own."""
        yield from self.places
        for body in chain(*self.bodies):
            yield from body.every()

    @property
    def dims(self) -> Iterator[Dimension]:
        """All sizes that there are in it."""
        yield from (*self.heights, *self.widths)
        for p in self.places:
            yield from p.lanes
        for end in self.ends:
            if end.loop is not None and end.loop.length is not None:
                yield end.loop.length
        for body in chain(*self.bodies):
            yield from body.dims

    @property
    def nodes(self) -> list[Node]:
        """The nodes of all places, in order."""
        return [x for p in self.every() for x in p.nodes if x is not None]

    def replaced(self, nodes: Iterator[Any]) -> Structure:
        """Return it with others in the place of its nodes."""
        return self.changed(lambda p: p.filled(nodes))

    def changed(self, change: Any) -> Structure:
        """Return it with each of its places changed, those in bodies as well."""
        places = tuple(map(change, self.places))
        bodies = tuple(tuple(body.changed(change) for body in few) for few in self.bodies)
        return replace(self, places=places, bodies=bodies)


def structure_of(found: Found, outputs: Sequence[Node], inputs: Sequence[Node]) -> Structure:
    """Return the structure of nodes by others, of which :func:`blocks_of` found the places."""
    targets, sources = [*outputs, *found.cuts], [*inputs, *found.cuts]
    number = {x: j for j, x in enumerate(sources)}
    cut = {x: len(outputs) + k for k, x in enumerate(found.cuts)}
    places = []
    for k, blocks in enumerate([*found.outputs, *found.cuts.values()]):
        for block in blocks:
            lanes = block.lanes or (1,)
            rows = flat(block.rows, targets[k].shape).node(lanes)
            cols = flat(block.cols, block.source.shape).node(lanes)
            places.append(Places(k, number[block.source], lanes, (rows, cols, block.mask)))
    inner: dict[Node, tuple[Structure, ...]] = {}
    ends = tuple(_end(x, cut[x], number, inner) for x in found.ends)
    heights, widths = (tuple(dim_product(x.shape) for x in part) for part in (targets, sources))
    barriers = frozenset(cut[x] for x in found.barriers if x in cut)
    counts, bodies = (len(outputs), len(inputs)), tuple(inner.values())
    return Structure(counts, heights, widths, tuple(places), ends, bodies, barriers)


def _nothing(*_: Node) -> None:
    """Take no note: what a body does is that of the step that runs it."""


def _end(
    node: Node, target: int, number: Mapping[Node, int], inner: dict[Node, tuple[Structure, ...]]
) -> End:
    """Return a result of a loop or a branch, whose bodies are entered with the first of them."""
    bodied = node.operands[0]
    params, given = bodied.params, operands_of(node)
    result, where = node.params["index"], str(node.where or "")
    sources = tuple(number.get(x) for x in given)
    if "rule" in params:  # it may say anything of any argument
        return End(target, sources, None, result, None, False, where)
    if "bodies" in params:
        if bodied not in inner:
            inner[bodied] = tuple(_within(x, given[1:], [], None) for x in params["bodies"])
        real = [x.dtype.kind == "f" for x in params["bodies"][0].inputs]
        sources = tuple(x for x, r in zip(sources[1:], real, strict=True) if r)
        place = _place(params["bodies"][0], result)
        within = [*inner].index(bodied)
        return End(target, sources, within, place, None, False, where)
    body, carries, elements = (params[name] for name in ("body", "carries", "elements"))
    known = params["cond"] is None and params["length"] is not None
    inputs, xs = body.inputs[1:], given[carries : carries + elements]
    tapes = [x.op.kind == "tape" for x in xs]
    moving = {body.inputs[0]: Iota(params["length"]) if known else None}
    moving |= dict.fromkeys(inputs[:carries])
    for x, outer, tape in zip(inputs[carries:], xs, tapes, strict=False):
        moving[x] = None if tape or not known else outer
    if bodied not in inner:
        rest = carries + elements
        inner[bodied] = (_within(body, given[rest:], inputs[rest:], moving),)
    real = [x.dtype.kind == "f" for x in inputs]
    loop = Rolled(
        sum(real[:carries]),
        tuple(t for t, r in zip(tapes, real[carries:], strict=False) if r),
        params["length"] if known else None,
        params["reverse"],
    )
    sources = tuple(x for x, r in zip(sources, real, strict=True) if r)
    stacked = result >= carries and node.op.kind != "tape"
    within = [*inner].index(bodied)
    return End(target, sources, within, _place(body, result), loop, stacked, where)


def _place(body: Body, result: int) -> int:
    """Return the number of an output among those of floating point."""
    return sum(x.dtype.kind == "f" for x in body.outputs[:result])


def _closed(p: Places, outer: Mapping[Node, Node]) -> Places:
    """Return places in terms of the graph around."""
    rest = iter(substitute([x for x in p.nodes if x is not None], outer))
    return p.filled(rest)


def _within(
    body: Body, given: Sequence[Node], shared: Sequence[Node],
    moving: Mapping[Node, Node | None] | None,
) -> Structure:  # fmt: skip
    """Return the structure of a body, its places as nodes of the graph around.

    ``shared`` inputs are ``given``, and those ``moving`` are elements of arrays, or not known.
    """
    outputs = [x for x in body.outputs if x.dtype.kind == "f"]
    inputs = [x for x in body.inputs if x.dtype.kind == "f"]
    found = structure_of(blocks_of(outputs, inputs, _nothing, places=True), outputs, inputs)
    outer = dict(zip(shared if moving is not None else body.inputs, given, strict=True))
    if moving is None:
        return found.changed(lambda p: _closed(p, outer))
    arrays = {x: y for x, y in moving.items() if y is not None}
    length = next((x.shape[0] for x in arrays.values()), None)

    def lifted(p: Places) -> Places:
        nodes = [x for x in p.nodes if x is not None]
        used = moving.keys() & set(topological(nodes))
        if used - arrays.keys():
            return Places(p.target, p.source, (), (), ())
        nodes = substitute(nodes, outer)
        if used:
            pairs = batch(nodes, {x: arrays[x] for x in used}, length)
            nodes = [x if wide else repeated(x, length, False) for x, wide in pairs]
        rest = iter(nodes)
        return replace(p.filled(rest), stepped=(bool(used), *p.stepped))

    return found.changed(lifted)

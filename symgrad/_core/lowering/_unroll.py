"""Unrolling: an array with short axes of fixed length becomes one array for each place on them.

Points in space, 3 x 3 rotations and 2 x 2 covariances have axes too short for a loop. An
``(n, 3)`` array becomes three ``(n,)`` arrays, its *parts*; a sum over the short axis becomes
additions, a product of small matrices multiplications of parts; so all steps run over ``n``
alone, share one loop, and keep their values in registers.

The pass knows kinds of ops and reads the rest off the records: where a view reads comes
from its element formula.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base.sizes import Shape
from ..base.state import at, within
from ..base.switches import is_on
from ..graph import Literal, Node, apply, rebuilt, remade, topological
from ..op import Code, Libm, Placing, Reduce
from ..rewrite import rewrite
from ..trace import SHORT_LAST_AXIS, Traced, as_node, cast
from ._legalize import in_elements, legalize, roles
from ._views import build, reading, reshaped, viewed

#: The most parts of an array, and the most nodes of a graph: more would be slower to compile
#: than to loop over.
MOST_PARTS, MOST_NODES = 64, 2000

#: So many calls of a mathematics function fill a vector register; a scalar one costs as much
#: as so many other ops.
WIDE, CALL = 8, 10

#: Up to this length axes are unrolled in graphs without long ones beside them: longer ones fill a
#: vector register.
MOST_ALONE = WIDE - 1

Place = tuple[int, ...]
Parts = dict[Place, Node]

_COMBINE: dict[str, Callable[..., Any]] = {
    "add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "or": np.logical_or, "and": np.logical_and,
}  # fmt: skip


def unrolls(outputs: Sequence[Node]) -> bool:
    """Tell whether numbers of the prepared graph may be elements of arrays with short axes."""
    order = topological(outputs)
    most = short_up_to(order)
    shapes = {n.shape for n in order}
    return is_on("unroll") and any(_short(shape, most) for shape in shapes)


def unroll(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with short axes unrolled, or as they are if a loop is better.

    It is for long graphs, and where most work is mathematics functions of a dozen elements:
    in a loop they are calls for vectors.
    """
    if not unrolls(outputs):
        return list(outputs)
    with within():
        written = _written_out(outputs)
        found = _unrolled(written)
        if found is None and written != list(outputs):
            found = _unrolled(outputs)
    return list(outputs) if found is None else rewrite(found)


def _unrolled(outputs: Sequence[Node]) -> list[Node] | None:
    """Return ``outputs`` with short axes unrolled, None if a loop is better."""
    order = topological(outputs)
    unrolled = _Unroller(order)
    for node in order:
        at(node.where)
        unrolled.visit(node)
        if unrolled.count > MOST_NODES:
            return None
    if CALL * _wide_calls(outputs, unrolled) > unrolled.count:
        return None
    return [unrolled.whole(n) for n in outputs]


def _written_out(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with routines on small matrices in terms of elements."""
    if not any(map(in_elements, topological(outputs))):
        return list(outputs)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        formula = in_elements(node)
        return formula and as_node(formula(*map(Traced, operands), **node.params))

    return rebuilt(outputs, change)


def short_up_to(order: Sequence[Node]) -> int:
    """Return up to which length axes of a graph are short.

    Axes that fill a vector register are short only beside long ones, in what is computed: by
    themselves they are a vector or two in a loop, where their parts would be as many scalars.
    """
    computed = (n for n in order if n.op.kind in ("map", "reduce", "contract"))
    shapes = {x.shape for n in computed for x in (n, *n.operands)}
    return SHORT_LAST_AXIS if any(map(_has_both, shapes)) else MOST_ALONE


def _has_both(shape: Shape) -> bool:
    """Tell whether a shape has a long axis and one that fills a register."""
    fixed = [d for d in shape if isinstance(d, int) and d <= SHORT_LAST_AXIS]
    return len(fixed) < len(shape) and any(d > MOST_ALONE for d in fixed)


def _short(shape: Shape, most: int) -> tuple[int, ...]:
    """Return the axes to unroll, of up to a length."""
    if 0 in shape:
        return ()
    axes = [k for k, d in enumerate(shape) if isinstance(d, int) and 2 <= d <= most]
    while math.prod(int(shape[k]) for k in axes) > MOST_PARTS:
        axes.remove(max(axes, key=lambda k: (shape[k], -k)))
    return tuple(axes)


def _wide_calls(outputs: Sequence[Node], u: _Unroller) -> int:
    """Count the calls of mathematics functions that are scalar unrolled, and vectors in a loop."""
    nodes = topological(outputs)
    sizes = [math.prod(n.shape) for n in nodes if n.shape and not u.long(n.shape)]
    if max(sizes, default=0) < WIDE:
        return 0
    calls = [n for n in topological(legalize(outputs)) if isinstance(Code.of(n.op).lower, Libm)]
    return sum(size for n in calls if not u.long(n.shape) and (size := math.prod(n.shape)) >= WIDE)


class _Unroller:
    """The parts of every node so far; None for those that are only had as a whole."""

    def __init__(self, order: Sequence[Node]) -> None:
        self.most = short_up_to(order)
        self.parts: dict[Node, Parts | None] = {}
        self.wholes: dict[Node, Node] = {}
        self.count = 0

    def short(self, shape: Shape) -> tuple[int, ...]:
        """Return the axes to unroll."""
        return _short(shape, self.most)

    def long(self, shape: Shape) -> Shape:
        """Return the shape of a part: the axes that stay."""
        axes = self.short(shape)
        return tuple(d for k, d in enumerate(shape) if k not in axes)

    def places(self, shape: Shape) -> Iterable[Place]:
        """Return the places on the short axes."""
        return itertools.product(*(range(int(shape[k])) for k in self.short(shape)))

    def part(self, node: Node, place: Place) -> Node:
        """Return the part of ``node`` at a place on its short axes."""
        parts = self.parts[node]
        if parts is not None:
            return parts[place]
        axes = iter(place)
        chosen = self.short(node.shape)
        region = tuple((next(axes), 1, None) if k in chosen else (0, 1, d)
                       for k, d in enumerate(node.shape))  # fmt: skip
        return build("Slice", self.wholes[node], region=region) if chosen else self.wholes[node]

    def whole(self, node: Node) -> Node:
        """Return ``node`` in one array."""
        if node not in self.wholes:
            parts = self.parts[node]
            assert parts is not None
            axes = self.short(node.shape)
            regions = []
            for place in parts:
                at = dict(zip(axes, place, strict=True))
                regions.append(tuple((at[k], 1, None) if k in at else (0, 1, d)
                                     for k, d in enumerate(node.shape)))  # fmt: skip
            self.wholes[node] = parts[()] if not axes else build(
                "Assemble", *parts.values(), shape=node.shape, regions=tuple(regions),
                disjoint=True,
            )  # fmt: skip
        return self.wholes[node]

    def visit(self, node: Node) -> None:
        """Find the parts of a node whose operands have theirs."""
        rule = _RULES.get(node.op.kind)
        involved = self.short(node.shape) or any(self.short(x.shape) for x in node.operands)
        parts = rule(self, node) if rule is not None and involved else None
        self.parts[node] = parts
        if parts is None:
            whole = tuple(self.whole(x) for x in node.operands)
            self.wholes[node] = remade(node, whole)
        self.count += len(parts or ".")


def _call(function: Callable[..., Any], *operands: Node) -> Node:
    return as_node(function(*map(Traced, operands)))


def _fold(function: Callable[..., Any], nodes: Iterable[Node]) -> Node:
    first, *rest = nodes
    for node in rest:
        first = _call(function, first, node)
    return first


# ---------------------------------------------------------------- rules by kind


def _map(u: _Unroller, node: Node) -> Parts | None:
    axes = u.short(node.shape)
    shape = u.long(node.shape)
    if any(k + node.ndim - x.ndim not in axes for x in node.operands for k in u.short(x.shape)):
        return None  # too many parts in all
    found = {}
    for place in u.places(node.shape):
        at = dict(zip(axes, place, strict=True))
        operands = tuple(_aligned(u, x, node.ndim - x.ndim, at) for x in node.operands)
        found[place] = apply(node.op, operands, node.items, shape, node.dtype)
    return found


def _aligned(u: _Unroller, x: Node, offset: int, at: dict[int, int]) -> Node:
    """Return the part of a broadcast operand at a place of the result."""
    own = u.short(x.shape)
    part = u.part(x, tuple(at[k + offset] for k in own))
    stay = [k for k in range(x.ndim) if k not in own]
    if any(k + offset in at and x.shape[k] != 1 for k in stay):  # equal to the result's by guard
        region = tuple((at[k + offset] if x.shape[k] != 1 else 0, 1, None) if k + offset in at
                       else (0, 1, x.shape[k]) for k in stay)  # fmt: skip
        return build("Slice", part, region=region)
    # A length-one axis along which the result is unrolled goes too.
    return reshaped(part, tuple(x.shape[k] for k in stay if k + offset not in at))


def _view(u: _Unroller, node: Node) -> Parts | None:
    (x,) = node.operands
    found: Parts = {}
    for place in u.places(node.shape):
        read = reading(node.op, node.items, x.shape, node.shape, u.short(node.shape), place)
        own = u.short(x.shape)
        if read is None or not all(isinstance(read[k], int) for k in own):
            return None
        at = tuple(read[k] for k in own)
        found[place] = viewed(u.part(x, at), read, own, u.long(node.shape))
    return found


def _reduce(u: _Unroller, node: Node) -> Parts | None:
    assert isinstance(node.op, Reduce)
    if node.op.place:
        return None
    function = _COMBINE[node.op.combine]
    (x,) = node.operands
    own, axes = u.short(x.shape), node.params["axes"]
    kept = [k for k in own if k not in axes]
    stay = [k for k in range(x.ndim) if k not in own]
    loops = tuple(j for j, k in enumerate(stay) if k in axes)
    groups: dict[Place, list[Node]] = {}
    for place in u.places(x.shape):
        at = dict(zip(own, place, strict=True))
        groups.setdefault(tuple(at[k] for k in kept), []).append(u.part(x, place))
    if len(kept) != len(u.short(node.shape)):
        return None  # fewer parts: the result unrolls axes that its operand does not
    found = {}
    for place, parts in groups.items():
        # Sums start from 0, as NumPy's: the sum of negative zeros is 0.
        start = [Literal(0, node.dtype)] if node.op.combine == "add" else []
        total = _fold(function, [*start, *(cast(p, node.dtype) for p in parts)])
        found[place] = build(node.op.name, total, axes=loops) if loops else total
    return found


def _contract(u: _Unroller, node: Node) -> Parts | None:
    x, y = node.operands
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    sizes = dict(zip(a + b, x.shape + y.shape, strict=True))
    cut = [s for s in sizes if u.short((sizes[s],))]
    if any(len(u.short(n.shape)) != sum(s in cut for s in letters)
           for n, letters in ((x, a), (y, b), (node, out))):  # fmt: skip
        return None
    _, rows, columns, summed = roles(a, b, out)
    if sum(any(s not in cut for s in group) for group in (rows, columns, summed)) > 1:
        return None  # a large matrix product, for BLAS
    inner = [s for s in cut if s not in out]
    rest = ["".join(s for s in letters if s not in cut) for letters in (a, b, out)]
    found = {}
    for place in u.places(node.shape):
        at = dict(zip((s for s in out if s in cut), place, strict=True))
        pairs = []
        for more in itertools.product(*(range(int(sizes[s])) for s in inner)):
            at.update(zip(inner, more, strict=True))
            parts = (
                u.part(n, tuple(at[s] for s in letters if s in cut))
                for n, letters in ((x, a), (y, b))
            )
            pairs.append(tuple(cast(part, node.dtype) for part in parts))
        found[place] = _products(pairs, *rest)
    return found


def _products(pairs: list[tuple[Node, ...]], a: str, b: str, out: str) -> Node:
    """Return the sum of the contractions of pairs."""
    if all(letters in ("", out) for letters in (a, b)):
        return _fold(np.add, (_call(np.multiply, *pair) for pair in pairs))
    if a == b and out == "".join(s for s in a if s in out):
        total = _fold(np.add, (_call(np.multiply, *pair) for pair in pairs))
        axes = tuple(k for k, s in enumerate(a) if s not in out)
        return _call(lambda t: np.sum(t, axis=axes), total)
    return _fold(np.add, (build("Contract", *pair, a=a, b=b, out=out) for pair in pairs))


def _assemble(u: _Unroller, node: Node) -> Parts | None:
    regions = node.params.get("regions")
    if regions is None:
        return None
    axes, shape = u.short(node.shape), u.long(node.shape)
    stay = [k for k in range(node.ndim) if k not in axes]
    if not all(isinstance(v, int) or v is None for r in regions for k in axes for v in r[k]):
        return None
    for x, region in zip(node.operands, regions, strict=True):
        target = [k for k, (_, _, size) in enumerate(region) if size is not None]
        # The axis of an operand may be written otherwise than the place that it goes to.
        if {k for k, t in enumerate(target) if t in axes} != set(u.short(x.shape)):
            return None
    found = {}
    over = isinstance(node.op, Placing) and node.op.last
    options = {k: v for k, v in node.items if k == "disjoint"}
    for place in u.places(node.shape):
        at = dict(zip(axes, place, strict=True))
        pieces = []
        for x, region in zip(node.operands, regions, strict=True):
            piece = _piece(u, x, region, at)
            if piece is not None:
                pieces.append((cast(piece, node.dtype), tuple(region[k] for k in stay)))
        whole = tuple((0, 1, d) for d in shape)
        if pieces and all(region == whole for _, region in pieces):
            parts = [p for p, _ in pieces]
            found[place] = parts[-1] if over else _fold(np.add, parts)
        elif pieces:
            found[place] = build(
                node.op.name, *(p for p, _ in pieces), shape=shape,
                regions=tuple(r for _, r in pieces), **options,
            )  # fmt: skip
        else:
            zero = Literal(0, node.dtype)
            found[place] = build("Broadcast", zero, shape=shape) if shape else zero
    return found


def _piece(u: _Unroller, x: Node, region: Any, at: dict[int, int]) -> Node | None:
    """Return what operand ``x`` of an assembly gives to a part, or None."""
    inside: list[int | None] = []  # for each axis of x, the place on it
    for k, (start, step, size) in enumerate(region):
        if k not in at:
            inside += [None] if size is not None else []
            continue
        offset, remainder = divmod(at[k] - start, step)
        if remainder or not 0 <= offset < (1 if size is None else size):
            return None
        inside += [offset] if size is not None else []
    own = u.short(x.shape)
    part = u.part(x, tuple(inside[k] or 0 for k in own))
    rest = tuple(d for k, d in enumerate(x.shape) if k not in own and inside[k] is None)
    return reshaped(part, rest)


def _gather(u: _Unroller, node: Node) -> Parts | None:
    x, *indices = node.operands
    axes, at = node.params["axes"], node.params["at"]
    own, inner = u.short(x.shape), u.short(indices[0].shape)
    if any(k in own for k in axes):
        return None
    rank = indices[0].ndim
    others = [k for k in range(x.ndim) if k not in axes]  # as they follow in the result
    result = [("x", k) for k in others[:at]] + [("i", k) for k in range(rank)]
    result += [("x", k) for k in others[at:]]
    cut = [result[k] for k in u.short(node.shape)]
    if sorted(cut) != sorted([("x", k) for k in own] + [("i", k) for k in inner]):
        return None
    stay = [k for k in range(x.ndim) if k not in own]
    moved = {"axes": tuple(stay.index(k) for k in axes),
             "at": sum(k not in own for k in others[:at])}  # fmt: skip
    found = {}
    for place in u.places(node.shape):
        where = dict(zip(cut, place, strict=True))
        source = u.part(x, tuple(where["x", k] for k in own))
        chosen = [u.part(i, tuple(where["i", k] for k in inner)) for i in indices]
        found[place] = build(node.op.name, source, *chosen, **moved)
    return found


_RULES: dict[str, Callable[[_Unroller, Node], Parts | None]] = {
    "map": _map, "view": _view, "reduce": _reduce, "contract": _contract,
    "assemble": _assemble, "gather": _gather,
}  # fmt: skip

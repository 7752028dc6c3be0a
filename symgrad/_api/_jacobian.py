"""Jacobians: by columns (forward), by rows (reverse), one by one or as a batch.

A few columns are written out one by one: each is then pruned to what depends on its input
element, as by hand, and a zero is a zero, not ``0*inf``. Many columns are one batched pass
over the identity. So are the columns of a long function, whose program they would make long
beyond what compiles in seconds, unless pruning leaves little of them: formulas of mechanics, whose
numbers depend on two or three of twenty coordinates each. Where most entries of many columns are
none, those that are some are computed by lanes and put among zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.argument_checks import as_word
from .._core.base.sizes import as_dim, as_size, dim_product, guard, hint, recording, same
from .._core.graph import Literal, Node, topological, warn_user
from .._core.ops import ASSEMBLE, DIAG_EMBED, RESHAPE, SLICE, TRANSPOSE
from .._core.ops.regions import whole
from .._core.rewrite import rewrite
from .._core.trace import (
    Complex,
    Traced,
    as_node,
    close_conditions,
    collect,
    fresh,
    substitute,
    zeros_like,
)
from .._core.transforms.batch import batch
from .._core.transforms.limits import push_forward, with_limits
from .._core.transforms.reverse import pull_back
from .._sparse import added_up, memory, places_throughout
from ..errors import ArgumentError, OutOfMemoryError, SparsityWarning
from ._argnums import Keys, positions_of
from ._opening import Opened, enumerated, looped, or_float_zero, widths_of

#: Up to this many columns or rows are written out one by one.
UNROLL = 32

#: As long as those of all blocks together have at most this many elements, where an array counts
#: as many as are unrolled.
LONG, ARRAY = 4_096, 16

#: Or if pruning leaves at most so many steps of them, and at most such a part: a vector of all
#: columns computes a step of eight dense ones in the time of three or four scalar ones.
PRUNED, LITTLE = 10_000, 0.6

#: Kinds of ops that compute nothing.
MOVING = ("view", "assemble")

#: In a function of at most so many steps it is looked at how many entries are none.
LANES = 2000

MODES = ("auto", "forward", "reverse")


def jacobian_body(
    function: Callable[..., Any],
    argnums: Keys,
    mode: str,
    holomorphic: bool = False,
    name: str = "jacobian",
    lanes: bool | None = None,
) -> Callable[..., Any]:
    """Return the Jacobian of ``function`` as a function on traced values.

    ``name`` is that of the public function. ``lanes``: whether to look for zeros; by default where
    no mode is asked for.
    """
    as_word(mode, MODES, "mode")
    by_lanes = mode == "auto" if lanes is None else lanes
    numbers, single = positions_of(argnums)

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        opened = Opened(function, args, kwargs, numbers, _top, loops=False)
        written = collect(opened.result)[0]
        nodes, tree, leaves = collect(looped(opened.result))
        heights = widths_of(tree, leaves)
        check_holomorphic(opened.widths, heights, holomorphic)
        if 2 not in (*opened.widths, *heights):
            check_density(name, function, nodes, opened.inputs)
        before = dict(zip(nodes, written, strict=True))
        pairs = [(y, x) for y in _grouped(nodes, heights)
                 for x in _grouped(opened.inputs, opened.widths)]  # fmt: skip
        chosen = [part for y, x in pairs for part in _parts(y, x)]
        share = max(len(chosen), 1)
        made = [_block(y, before[y], x, mode, by_lanes, share) for y, x in chosen]
        flat = iter(opened.close(made))
        blocks = [_joined(y, x, [next(flat) for _ in _parts(y, x)]) for y, x in pairs]
        width = len(opened.widths)
        rows = iter([opened.arranged(blocks[k * width : (k + 1) * width], single)
                     for k in range(len(heights))])  # fmt: skip
        return tree.outline.unflatten(
            None if isinstance(leaves[k], tuple) else next(rows) for k, _ in enumerated(tree)
        )

    return body


def check_holomorphic(widths: Sequence[int], heights: Sequence[int], holomorphic: bool) -> None:
    """Raise if complex results are to be differentiated by complex arguments unasked."""
    if holomorphic and 1 in (*widths, *heights):
        raise ArgumentError(
            "jacobian with holomorphic=True is for functions with complex arguments and complex "
            "results, and one of them is real: leave it out, or convert with .astype(complex)"
        )
    if 2 in widths and 2 in heights and not holomorphic:
        raise ArgumentError(
            "the derivative of a complex result by a complex argument is one complex number only "
            "if the function is holomorphic: say holomorphic=True if it is; else differentiate "
            "the real and the imaginary part one by one"
        )


def _grouped(nodes: Sequence[Node], widths: Sequence[int]) -> list[tuple[Node, ...]]:
    """Return nodes with those of the two parts of a complex value together."""
    rest = iter(nodes)
    return [tuple(next(rest) for _ in range(width)) for width in widths]


def _parts(y: tuple[Node, ...], x: tuple[Node, ...]) -> list[tuple[Node, Node]]:
    """Return which parts of a result are to be differentiated by which of an argument."""
    if len(y) == 2:
        return [(y[0], x[0]), (y[1], x[0])]
    return [(y[0], part) for part in x]


def _joined(y: tuple[Node, ...], x: tuple[Node, ...], blocks: list[Traced]) -> Any:
    """Return the derivative: ``dy/dx``, or ``dy/da - i dy/db`` by a complex ``a + ib``."""
    if len(blocks) == 1:
        return blocks[0]
    return Complex.of(blocks[0], blocks[1] if len(y) == 2 else -blocks[1])


def _block(y: Node, written: Node, x: Node, mode: str, lanes: bool, share: int) -> Node:
    """Return dy/dx with shape ``y.shape + x.shape``.

    Parameters
    ----------
    y, written:
        The result: with what Python has written out as loops and arrays, and as it stands.
    x:
        The input.
    mode, lanes:
        As of :func:`jacobian_body`.
    share:
        How many blocks there are: together they are as long as one alone may be.
    """
    y, written = or_float_zero(y, x.dtype), or_float_zero(written, x.dtype)
    if y.dtype.kind != "f":
        raise ArgumentError(f"the Jacobian of a result of type {y.dtype} is not defined")
    columns, rows = (hint(dim_product(n.shape)) for n in (x, y))
    if mode == "auto":
        mode = "forward" if columns <= rows or (columns <= UNROLL and rows > UNROLL) else "reverse"
    passes = columns if mode == "forward" else rows
    few = passes == 1 or (passes <= UNROLL and passes * _length(y) * share <= LONG)
    if mode == "forward" and few:
        return _columns(y, x)
    if mode == "forward" and passes <= UNROLL:
        # Written out, numbers that have become an array can depend on less than the array does.
        for form in dict.fromkeys((y, written)):
            if _little_is_left(form, x, share):
                return _columns(form, x)
    if lanes and not few and (block := _by_lanes(y, x)) is not None:
        return block
    if mode == "forward":
        return _forward(y, x)
    return _rows(y, x) if few else _reverse(y, x)


def _little_is_left(y: Node, x: Node, share: int) -> bool:
    """Whether pruning leaves so little of the columns that they are written out."""
    pruned = _pruned(y, x)
    columns = hint(dim_product(x.shape))
    return pruned * share <= PRUNED and pruned <= LITTLE * columns * _length(y)


def _pruned(y: Node, x: Node) -> int:
    """Return how long the columns of ``dy/dx`` are, about: of each what depends on its element.

    Counting ends beyond ``PRUNED``, at the number after it.
    """
    order = topological([y])
    parts, total = _parts_of(x, order), 0
    sets = {
        part: sum(1 << k for k in set(np.ravel(places).tolist())) for part, places in parts.items()
    }
    for node in order:  # of each node the elements that it depends on, as bits
        if node in sets:
            continue
        bits = 0
        for operand in node.operands:
            bits |= sets[operand]
        if node.op.kind not in MOVING:
            total += bits.bit_count() * hint(dim_product(node.shape))
            if total > PRUNED:
                return PRUNED + 1
        sets[node] = bits
    return total


def _parts_of(x: Node, order: Sequence[Node]) -> dict[Node, np.ndarray]:
    """Return ``x`` and views of as many elements or fewer, with their flat indices, by hints."""
    shape = _in_numbers(x.shape)
    parts = {x: np.arange(math.prod(shape)).reshape(shape)}
    for node in order:
        if not node.operands or node.operands[0] not in parts or node.op.kind != "view":
            continue
        if math.prod(_in_numbers(node.shape)) <= math.prod(shape):
            params = {name: _in_numbers(value) for name, value in node.items}
            parts[node] = node.op.evaluate(parts[node.operands[0]], **params)
    return parts


def _in_numbers(value: Any) -> Any:
    """Return a parameter with the sizes of the example call."""
    if isinstance(value, tuple):
        return tuple([_in_numbers(v) for v in value])
    return hint(value) if isinstance(value, sp.Expr) else value


def _by_lanes(y: Node, x: Node) -> Node | None:
    """Return dy/dx as the entries that can differ from zero among zeros; None if they are many."""
    if len(topological([y])) > LANES:
        return None
    with recording() as guards:
        found = places_throughout([y], [x])
    if not found or not found[0]:
        return None
    [blocks] = found
    count = sum(hint(dim_product(b.lanes)) for b in blocks)
    total = hint(dim_product(y.shape)) * hint(dim_product(x.shape))
    if count > FEW * total:
        return None
    for relation, truth in guards.items():
        guard(relation, value_is=truth)
    return added_up(blocks, (*y.shape, *x.shape))


def _length(y: Node) -> int:
    """Return how long the program of ``y`` is, about, when short arrays are unrolled."""
    return sum(min(hint(dim_product(n.shape)), ARRAY) for n in topological([y]))


def _fixed(node: Node) -> tuple[int, ...]:
    """Return the sizes as numbers, guarded."""
    numbers = tuple(hint(d) for d in node.shape)
    for dim, number in zip(node.shape, numbers, strict=True):
        same(dim, number)
    return numbers


def _places(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(np.ndindex(*shape))


def _entry(place: tuple[int, ...]) -> tuple[tuple[int, int, None], ...]:
    return tuple((k, 1, None) for k in place)


def _columns(y: Node, x: Node) -> Node:
    """One forward pass for each element of ``x``."""
    places = _places(_fixed(x))
    if not places:
        return _assembled([], [], (*y.shape, *x.shape), y)
    scalars = [fresh(as_node(_element(x, p)), "x") for p in places]
    # Views of more than one element stay views of one array: it shows that differences of its
    # parts are 0 for good.
    parts_of = _parts_of(x, topological([y])).items()
    instead = {part: scalars[int(k)] for part, k in parts_of if not part.shape}
    [out] = rewrite(substitute([y], {x: _from_elements(x, places, scalars), **instead}))
    [out] = with_limits([out], scalars)
    parts, regions = [], []
    for place, scalar in zip(places, scalars, strict=True):
        one = {scalar: Literal(1, x.dtype)}
        [column] = push_forward([out], one, fixed=True, once_more=False)
        if column is not None:
            parts.append(column)
            regions.append((*map(whole, y.shape), *_entry(place)))
    block = _assembled(parts, regions, (*y.shape, *x.shape), y)
    swap = {s: as_node(_element(x, p)) for s, p in zip(scalars, places, strict=True)}
    close_conditions(swap)  # rules of the user's decide, too
    [block] = substitute([block], swap)
    return block


def _rows(y: Node, x: Node) -> Node:
    """One reverse pass for each element of ``y``."""
    parts, regions = [], []
    for place in _places(_fixed(y)):
        element = as_node(_element(y, place))
        [row] = pull_back([element], [Literal(1, y.dtype)], [x], fixed=True)
        if row is not None:
            parts.append(row)
            regions.append((*_entry(place), *map(whole, x.shape)))
    return _assembled(parts, regions, (*y.shape, *x.shape), y)


def _element(node: Node, place: tuple[int, ...]) -> Traced:
    return SLICE(Traced(node), region=_entry(place)) if place else Traced(node)


def _from_elements(x: Node, places: list[tuple[int, ...]], scalars: Sequence[Node]) -> Node:
    if not x.shape:
        return scalars[0]
    return as_node(
        ASSEMBLE(*map(Traced, scalars), shape=x.shape, regions=tuple(map(_entry, places)),
                 disjoint=True)
    )  # fmt: skip


def _assembled(parts: list[Node], regions: list[Any], shape: Any, like: Node) -> Node:
    if not parts:
        zero = Traced(Literal(0, like.dtype))
        return as_node(np.broadcast_to(zero, tuple(map(as_size, shape))))
    if not shape:
        return parts[0]
    return as_node(
        ASSEMBLE(*map(Traced, parts), shape=shape, regions=tuple(regions), disjoint=True)
    )


def _identity(node: Node) -> tuple[Node, Any]:
    """Return all unit tangents of ``node`` along a leading axis, and its length."""
    count = dim_product(node.shape)
    one = Traced(Literal(1, node.dtype))
    ones = np.broadcast_to(one, (as_size(count),))
    eye = DIAG_EMBED(ones, offset=0, shape=(count, count))
    return as_node(RESHAPE(eye, shape=(count, *node.shape))), count


def _forward(y: Node, x: Node) -> Node:
    units, count = _identity(x)
    tangent = fresh(x, "t")
    [column] = push_forward([y], {x: tangent}, fixed=True)
    [(block, lifted)] = batch([column or zeros_like(y)], {tangent: units}, count)
    if not lifted:
        return _assembled([], [], (*y.shape, *x.shape), y)
    rank = y.ndim
    moved = TRANSPOSE(Traced(block), axes=(*range(1, rank + 1), 0))
    return as_node(RESHAPE(moved, shape=(*y.shape, *x.shape)))


def _reverse(y: Node, x: Node) -> Node:
    units, count = _identity(y)
    cotangent = fresh(y, "t")
    [row] = pull_back([y], [cotangent], [x], fixed=True)
    [(block, lifted)] = batch([row or zeros_like(x)], {cotangent: units}, count)
    if not lifted:
        return _assembled([], [], (*y.shape, *x.shape), y)
    return as_node(RESHAPE(Traced(block), shape=tuple(map(as_dim, (*y.shape, *x.shape)))))


# ---------------------------------------------------------------- mostly zeros


#: From so many entries on it is looked at how many are none, and is told if so few are some.
LARGE, FEW = 4_000_000, 1 / 16


def check_density(
    name: str, function: Callable[..., Any], outputs: Sequence[Node], inputs: Sequence[Node]
) -> None:
    """Warn of a large dense derivative that is mostly zeros, refuse one that no memory holds."""
    pairs = [(y, x) for y in outputs for x in inputs]
    counts = [hint(dim_product(y.shape)) * hint(dim_product(x.shape)) for y, x in pairs]
    total = sum(counts)
    if total < LARGE:
        return
    call = f"sg.{name}({getattr(function, '__name__', 'f')}, sparse=True)"
    size = sum(n * y.dtype.itemsize for n, (y, _) in zip(counts, pairs, strict=True))
    if size > memory():
        raise OutOfMemoryError(
            f"the dense {name} has {total:,} entries, {size / 1e9:,.0f} GB, more than this machine "
            f"has: write {call} if most are zeros, or sg.vjp or sg.jvp for products with it"
        )
    entries = _entries(outputs, inputs)
    if entries is not None and entries < FEW * total:
        warn_user(
            f"the dense {name} has {total:,} entries, of which at most {entries:,} are not zero: "
            f"{call} computes and stores these alone",
            SparsityWarning,
        )


def _entries(outputs: Sequence[Node], inputs: Sequence[Node]) -> int | None:
    """Return how many entries the blocks have; None if they cannot tell."""
    with recording():  # what is decided for this question alone binds no call
        found = places_throughout(outputs, inputs)
    if found is None:
        return None
    return sum(hint(dim_product(b.lanes)) for blocks in found for b in blocks)

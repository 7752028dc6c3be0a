"""What becomes of a block behind a view or a gather: the element formula, solved for the rows.

Each element of the result is one of the operand, at a place that the record's formula names: linear
in the positions, so that it is solved for them, or read from an array of integers.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.sizes import Dimension, Shape, as_expr, as_size, dim_product, hint, same
from .._core.graph import Node
from .._core.op import ArrayOp, Reader
from .._core.ops.movement import is_single
from .._core.trace import as_node
from ._block import Block
from ._index import Index, dim, flat, traced
from ._read import divided, equal, inside, ravelled, read

#: Blocks of a node, by one of its operands; None: lanes do not lead on.
Found = list[Block] | None


class Read:
    """An element of an index array in the element formula of a gather."""

    def __init__(self, operand: int, index: tuple[Any, ...]) -> None:
        self.operand, self.index = operand, index


#: A position as ``start + step*symbol``, or as what is read.
Place = tuple[Dimension, Any, int] | Read


def moved(node: Node, k: int, block: Block) -> Found:
    """Views and gathers: each element of the result is one of the operand, at a known place."""
    if k != 0:
        return []
    if node.op.alias:
        return _reshaped(node, block)
    places, symbols = places_of(node)
    return solved(block, places, symbols, node.operands, node.shape)


def places_of(node: Node) -> tuple[list[Place], list[Any]]:
    """Return where an element of a view or a gather lies, by symbols of its index."""
    assert isinstance(node.op, ArrayOp)
    shapes = tuple([x.shape for x in node.operands])
    return _places(node.op, node.items, shapes, node.ndim)


@functools.lru_cache(maxsize=4096)
def _places(
    op: ArrayOp, items: tuple[tuple[str, Any], ...], shapes: tuple[Shape, ...], ndim: int
) -> tuple[list[Place], list[Any]]:
    symbols = [sp.Dummy("i", integer=True, nonnegative=True) for _ in range(ndim)]
    noted: list[tuple[Any, ...]] = []

    def at(number: int, index: tuple[Any, ...]) -> Any:
        if number:
            return Read(number, index)
        noted.append(index)
        return sp.S.Zero

    operands = [Reader(shape, functools.partial(at, k)) for k, shape in enumerate(shapes)]
    op.element(tuple(symbols), *operands, **dict(items))
    [places] = noted
    return [linear(place, symbols) for place in places], symbols


def solved(
    block: Block, places: Sequence[Place], symbols: Sequence[Any], operands: Sequence[Node],
    result: Shape,
) -> Found:  # fmt: skip
    """Return the part of a block that is read, by the positions of the result's elements.

    The block's rows are the first operand's, and behind them those of the result as they are found.
    """
    shape = operands[0].shape
    known: dict[Any, int] = {}  # the row that an axis of the result has
    computed: list[tuple[int, Read]] = []
    for axis, place in enumerate(places):
        if is_single(shape[axis]):
            continue
        if isinstance(place, Read):
            computed.append((axis, place))
            continue
        start, symbol, step = place
        part: Block | None
        if symbol is None:
            part = equal(block, axis, Index(start))
        elif symbol in known:
            part = equal(block, axis, block.rows[known[symbol]] * step + start)
        else:
            row = known[symbol] = len(block.rows)
            part = divided(block.with_row(row, block.rows[axis] - start), row, step)
            if part is not None:
                part = inside(part, row, result[symbols.index(symbol)])
        if part is None:
            return []
        block = part
    if computed:
        found = _looked_up(operands, block, computed, symbols, known)
        if found is None:
            return None
        block = found
    left = [k for k, symbol in enumerate(symbols) if symbol not in known]
    block, new = block.extended([result[k] for k in left])
    free = dict(zip(left, new, strict=True))
    rows = [free[k] if k in free else block.rows[known[s]] for k, s in enumerate(symbols)]
    return [replace(block, rows=tuple(rows))]


def linear(place: Any, symbols: Sequence[Any]) -> Place:
    """Return a position as ``start + step*symbol``; what is read from an array stays."""
    if isinstance(place, Read):
        return place
    place = as_expr(place)
    if place in symbols:
        return 0, place, 1
    found = [s for s in symbols if place.has(s)]
    if not found:
        return dim(place), None, 0
    [symbol] = found
    step = sp.expand(place).coeff(symbol)
    return dim(place - step * symbol), symbol, int(step)


def _looked_up(
    operands: Sequence[Node], block: Block, computed: Sequence[tuple[int, Read]],
    symbols: Sequence[Any], known: dict[Any, int],
) -> Block | None:  # fmt: skip
    """Return a block read at computed positions, of which each axis is a lane; else None."""
    inner = computed[0][1].index
    if any(s in known for s in inner if s in symbols) or len(set(inner)) < len(inner):
        return None
    given: dict[int, Node] = {}
    masks: list[Node] = []
    for axis, place in computed:
        index, size = block.rows[axis], operands[0].shape[axis]
        at = traced(operands[place.operand])
        if index.fixed:  # one row, which some of the positions may be
            masks.append(as_node(at == as_size(index.start)))
            continue
        order = ravelled(index, block.lanes)
        if order is not None and len(order) > 1 and not given:
            return _looked_up(operands, block.merged(order), computed, symbols, known)
        only = index.only
        if only is None or abs(only[1]) != 1 or only[0] in given:
            return None
        lane, step = only
        others = [row for k, row in enumerate(block.rows[: operands[0].ndim]) if k != axis]
        if any(lane in row.lanes for row in others):
            return None
        length = block.lanes[lane]
        if index.start != 0 or step != 1:
            at = (at - as_size(index.start)) * step
        if not (index.start == 0 and step == 1 and length == dim(size)):
            valid = (at >= 0) & (at < as_size(length))
            as_size(length) > 0  # noqa: B015  # a guard: there is an element in place of others
            masks.append(as_node(valid))
            at = np.where(valid, at, 0)
        given[lane] = as_node(at)
    if given:
        block, places = block.gathered(given)
    else:
        block, places = block.extended(operands[computed[0][1].operand].shape)
    for symbol, index in zip(inner, places, strict=True):
        known[symbol] = len(block.rows)
        block = block.with_row(len(block.rows), index)
    for mask in masks:
        block = block.masked(read(mask, places, block.lanes))
    return block


def _reshaped(node: Node, block: Block) -> Found:
    """The same elements in C order under another shape."""
    old, new = node.operands[0].shape, node.shape
    total = flat(block.rows, old)
    rows: list[Index] = []
    strides = [dim(dim_product(new[k + 1 :])) for k in range(len(new))]
    # A lane that runs through several axes of the result becomes several.
    for lane, step in total.steps:
        parts = _axes_of(new, step, block.lanes[lane])
        if len(parts) > 1:
            block = block.split(lane, [new[k] for k in parts])
            return _reshaped(node, block)
    placed = _digits(total, new, strides, block.lanes)
    if placed is not None:
        return [replace(block, rows=tuple(placed))]
    left: Any = traced(total.node(block.lanes))
    for stride, size in zip(strides, new, strict=True):
        if is_single(size):
            rows.append(Index())
            continue
        rows.append(Index(rest=as_node(left // as_size(stride) if stride != 1 else left)))
        left = left % as_size(stride) if stride != 1 else left
    return [replace(block, rows=tuple(rows))]


def _axes_of(shape: Shape, step: Dimension, length: Dimension) -> list[int]:
    """Return the axes of an array, in order, through which a lane runs in C order."""
    stride: Any = 1
    passed: Any = 1
    axes: list[int] = []
    for k in reversed(range(len(shape))):
        if is_single(shape[k]):
            continue
        if axes or stride == step:
            axes.insert(0, k)
            passed = dim(passed * shape[k])
            if passed == length or (
                len(axes) > 1 and hint(passed) == hint(length) and same(passed, length)
            ):
                return axes
        stride = dim(stride * shape[k])
    return []


def _digits(
    total: Index, shape: Shape, strides: Sequence[Dimension], lanes: Shape
) -> list[Index] | None:
    """Return a linear position as one for each axis, if none of them carries into the next."""
    if total.rest is not None:
        return None
    rows: list[Index] = []
    left, start = dict(total.steps), total.start
    for stride, size in zip(strides, shape, strict=True):
        if is_single(size):
            rows.append(Index())
            continue
        begin = _quotient(start, stride)
        if begin is None:
            return None
        start = dim(start - begin * stride)
        own = {k: _quotient(step, stride) for k, step in left.items()}
        steps = tuple(
            (k, q) for k, q in sorted(own.items())
            if q is not None and q != 0 and dim(q * stride) == left[k]
        )  # fmt: skip
        for k, _ in steps:
            del left[k]
        row = Index(begin, steps)
        low, high = begin, begin
        for k, q in steps:
            last = q * (lanes[k] - 1)
            low, high = (low, high + last) if as_size(q) > 0 else (low + last, high)
        if not (as_size(dim(low)) >= 0 and as_size(dim(high)) < as_size(size)):
            return None
        rows.append(row)
    return None if left or start != 0 else rows


def _quotient(a: Dimension, b: Dimension) -> Dimension | None:
    """Return the quotient of dimensions, rounded down where they are numbers.

    Else it is one of polynomials with whole coefficients: no place is at ``n - 1/2``.
    """
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if a == b:
        return 1
    if isinstance(a, int):
        return 0 if 0 <= a < as_size(b) else None
    try:
        symbols = sorted(a.free_symbols | as_expr(b).free_symbols, key=str)
        quotient, _ = sp.div(sp.expand(a), as_expr(b), *symbols, auto=False)
    except sp.PolynomialError:
        return None
    return dim(quotient)

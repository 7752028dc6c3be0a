"""Where lanes do not lead on: the whole Jacobian of one step, as if all of it depended on all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._core.base.sizes import Shape, as_size, dim_product, hint
from .._core.graph import Literal, Node, apply
from .._core.op import PROJECTIONS, Routine
from .._core.ops import RESHAPE, TRANSPOSE
from .._core.ops.gathers import SCATTER
from .._core.ops.movement import DIAG_EMBED
from .._core.ops.operands import Cores
from .._core.trace import as_node, cast, close_conditions, fresh, substitute
from .._core.transforms.batch import batch
from .._core.transforms.guards import Guarded
from .._core.transforms.limits import push_forward
from ..errors import OutOfMemoryError, UnsupportedError
from ._block import Block
from ._index import traced
from ._read import read


def operands_of(node: Node) -> tuple[Node, ...]:
    """Return the operands through which derivatives reach a step: of a loop's result, its own."""
    return node.operands[0].operands if node.op.kind in PROJECTIONS else node.operands


def whole(node: Node, k: int, block: Block) -> Block:
    """Return what becomes of a block behind a step of which nothing is known."""
    slopes = jacobian_of(node, k)
    block, rows = block.extended(node.shape)
    factor = cast(read(slopes, [*rows, *block.rows], block.lanes), block.slope.value.dtype)
    value = as_node(traced(block.value) * traced(factor))
    return replace(block, rows=tuple(rows), slope=Guarded(value)).summed()


def every(node: Node, k: int, block: Block) -> Block:
    """Return the places behind a step of which nothing is known but which axes are examples'."""
    shared = examples_of(node, k)
    block, rows = block.extended(node.shape[shared:])
    return replace(block, rows=(*block.rows[:shared], *rows)).summed()


def added_up(blocks: Sequence[Block], shape: Shape) -> Node:
    """Return an array of a shape, rows before columns, with the blocks of one source added up."""
    columns: list[list[Any]] = [[] for _ in range(1 + len(shape))]
    for block in blocks:
        lanes = tuple(map(as_size, block.lanes))
        parts = [traced(block.value)]
        parts += [traced(i.node(block.lanes)) for i in (*block.rows, *block.cols)]
        if block.mask is not None:  # where there is none, nothing is added somewhere
            parts = [np.where(traced(block.mask), part, 0) for part in parts]
        for part, column in zip(parts, columns, strict=True):
            column.append(np.reshape(np.broadcast_to(part, lanes), (-1,)))
    if not shape:
        return as_node(np.sum(np.concatenate(columns[0])))
    axes = tuple(range(len(shape)))
    return as_node(SCATTER(*map(np.concatenate, columns), axes=axes, at=0, shape=shape))


def filled(node: Node, blocks: Sequence[Block]) -> list[Block]:
    """Return one block for each source of blocks, with all entries of the Jacobian by it."""
    found = []
    for source in dict.fromkeys(block.source for block in blocks):
        parts = [block for block in blocks if block.source is source]
        none = Block(source, (), (), (), Guarded(Literal(1, node.dtype)))
        block, places = none.extended((*node.shape, *source.shape))
        entries = added_up(parts, (*node.shape, *source.shape))
        values = RESHAPE(traced(entries), shape=block.lanes)
        rows, cols = tuple(places[: node.ndim]), tuple(places[node.ndim :])
        found.append(replace(block, rows=rows, cols=cols, slope=Guarded(as_node(values))))
    return found


def examples_of(node: Node, k: int) -> int:
    """Return how many leading axes of a routine and of an operand number the same examples."""
    if not (isinstance(node.op, Routine) and isinstance(node.op.fits, Cores)):
        return 0
    operand = node.operands[k]
    count = operand.ndim - len(node.op.fits.letters[k].split())
    return count if operand.shape[:count] == node.shape[:count] else 0


def jacobian_of(node: Node, k: int) -> Node:
    """Return the derivative of a step by one operand, of shape result + operand."""
    given = operands_of(node)
    if "tape" in (node.op.kind, given[k].op.kind):
        raise UnsupportedError(
            "what a loop writes down for its way back has no derivative of its own: the values "
            f"are computed in compressed passes, and have no formulas [{node.where}]"
        )
    _check_memory(node, given[k])
    stand_ins = [fresh(x, "u") for x in given]
    step = _rebuilt(node, stand_ins)
    x, wanted = stand_ins[k], given[k]
    tangent = fresh(x, "t")
    [column] = push_forward([step], {x: tangent})
    back = _back(stand_ins, given)
    close_conditions(back)
    shape = (*node.shape, *wanted.shape)
    if column is None:
        zero = traced(Literal(0, node.dtype))
        return as_node(np.broadcast_to(zero, tuple(map(as_size, shape))))
    if not wanted.shape:
        [slope] = substitute([column], {tangent: Literal(1, x.dtype), **back})
        return slope
    count = dim_product(wanted.shape)
    ones = np.broadcast_to(traced(Literal(1, x.dtype)), (as_size(count),))
    units = RESHAPE(DIAG_EMBED(ones, offset=0, shape=(count, count)), shape=(count, *wanted.shape))
    [(columns, lifted)] = batch([column], {tangent: as_node(units)}, count)
    assert lifted
    last = TRANSPOSE(traced(columns), axes=(*range(1, node.ndim + 1), 0))
    [slopes] = substitute([as_node(RESHAPE(last, shape=shape))], back)
    return slopes


def memory() -> float:
    """Return how many bytes of memory the machine has."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not on this system
        return float("inf")


def _check_memory(node: Node, operand: Node) -> None:
    """Raise if the machine cannot hold the dense Jacobian of a step."""
    size = hint(dim_product(node.shape)) * hint(dim_product(operand.shape)) * node.dtype.itemsize
    if size > memory():
        error = OutOfMemoryError(
            "the pattern cannot be followed through this step, whose dense Jacobian has "
            f"{size / 1e9:,.0f} GB, more than this machine: write it in array operations, or use "
            "sg.jvp and sg.vjp for products with the Jacobian"
        )
        if node.where is not None:
            error.where = str(node.where)
            error.args = (f"{error.args[0]} [{node.where}]",)
        raise error


def _rebuilt(node: Node, operands: Sequence[Any]) -> Node:
    if node.op.kind not in PROJECTIONS:
        return apply(node.op, tuple(operands), node.items, node.shape, node.dtype)
    inner = node.operands[0]
    body = apply(inner.op, tuple(operands), inner.items, inner.shape, inner.dtype)
    return apply(node.op, (body, *node.operands[1:]), node.items, node.shape, node.dtype)


def _back(stand_ins: Sequence[Node], given: Sequence[Node]) -> dict[Node, Node]:
    return dict(zip(stand_ins, given, strict=True))

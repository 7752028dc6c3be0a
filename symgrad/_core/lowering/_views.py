"""Where a view reads, at a place on some axes, and the view of a part that comes of it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy as sp

from ..base.sizes import Shape, as_expr
from ..graph import Node
from ..op import ArrayOp, Op, Reader, registry
from ..trace import bind_nodes


@lru_cache(maxsize=4096)
def reading(
    op: Op,
    items: tuple[tuple[str, Any], ...],
    operand: Shape,
    shape: Shape,
    fixed: tuple[int, ...],
    place: tuple[int, ...],
) -> tuple[Any, ...] | None:
    """Return where a view reads, with its axes ``fixed`` at ``place``.

    For each axis of the operand the result has either a place, or ``(axis, start, step)``: the
    element runs with the view's axis of that number, counted among the axes that are not
    fixed. None if an index is neither.
    """
    assert isinstance(op, ArrayOp)
    at = dict(zip(fixed, place, strict=True))
    free = [k for k in range(len(shape)) if k not in at]
    symbols = {k: sp.Dummy("i", integer=True, nonnegative=True) for k in free}
    index = tuple(sp.Integer(at[k]) if k in at else symbols[k] for k in range(len(shape)))
    found = op.element(index, Reader(operand, tuple), **dict(items))
    numbers = {symbol: free.index(k) for k, symbol in symbols.items()}
    entries: list[Any] = []
    for entry in found:
        solved = _solved(as_expr(entry), numbers)
        if solved is None:
            return None
        entries.append(solved)
    used = [e[0] for e in entries if isinstance(e, tuple)]
    return tuple(entries) if len(set(used)) == len(used) else None


def _solved(entry: sp.Expr, numbers: dict[sp.Symbol, int]) -> Any:
    """Return an index as a place or ``(axis, start, step)``; None if it is neither."""
    running = [s for s in entry.free_symbols if s in numbers]
    if not running:
        return int(entry) if entry.is_Integer else entry
    if len(running) > 1:
        return None
    (symbol,) = running
    step = entry.coeff(symbol, 1)
    start = sp.expand(entry - step * symbol)
    if symbol in start.free_symbols or not step.is_Integer:
        return None
    return numbers[symbol], int(start) if start.is_Integer else start, int(step)


def build(name: str, *operands: Node, **params: Any) -> Node:
    return bind_nodes(registry.ops[name], operands, params)


def reshaped(node: Node, shape: Shape) -> Node:
    return node if node.shape == shape else build("Reshape", node, shape=shape)


def viewed(part: Node, read: tuple[Any, ...], own: tuple[int, ...], shape: Shape) -> Node:
    """Return the view of a part: a slice, a transposition, new axes, a broadcast."""
    entries = [entry for k, entry in enumerate(read) if k not in own]
    region = []
    order = []
    for entry in entries:
        if isinstance(entry, tuple):
            axis, start, step = entry
            order.append(axis)
            region.append((start, step, shape[axis]))
        else:
            region.append((entry, 1, None))
    trivial = all(
        start == 0 and step == 1 and (size == d if size is not None else d == 1)
        for (start, step, size), d in zip(region, part.shape, strict=True)
    )
    if trivial:
        part = reshaped(part, tuple(shape[k] for k in order))
    else:
        part = build("Slice", part, region=tuple(region))
    if order != sorted(order):
        part = build("Transpose", part, axes=tuple(order.index(k) for k in sorted(order)))
    part = reshaped(part, tuple(d if k in order else 1 for k, d in enumerate(shape)))
    return part if part.shape == shape else build("Broadcast", part, shape=shape)

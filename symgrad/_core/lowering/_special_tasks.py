"""Tasks that are no plain loop nest: scans along an axis, matrix products and routines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from ..base.sizes import Dimension, as_expr
from ..graph import Node
from ..op import Scan
from ..runtime.interface import constant_text, llvm_type
from . import _instructions as asm
from ._emitter import Emitter
from ._llvm_module import Module
from ._loops import Frame, Loops, task_function
from ._products import product
from ._routines import in_memory, write_routine
from ._values import Values


def write_single(
    module: Module, name: str, node: Node, frame: Frame,
    scratch: Callable[[Frame, Dimension], str],
) -> None:  # fmt: skip
    """Add the function of one scan, matrix product or routine to the module.

    ``scratch(frame, size)`` gives the function memory of its own.
    """
    if node.op.kind == "scan":
        _scan(module, name, node, frame)
    elif node.op.kind == "routine":
        write_routine(module, name, node, frame, scratch)
    else:
        _product(module, name, node, frame)


# ---------------------------------------------------------------- scans


def _scan(module: Module, name: str, node: Node, frame: Frame) -> None:
    """Loops with the scanned axis innermost; what came before is carried in a register."""
    axis, reverse = node.params["axis"], node.params["reverse"]
    order = [k for k in range(node.ndim) if k != axis] + [axis]
    e = Emitter(module, node.ndim)
    e.bind_sizes(frame.sizes)
    loops = Loops(e, tuple(node.shape[k] for k in order))
    at: dict[int, Any] = dict(zip(order, loops.index, strict=True))
    step = at[axis]
    if reverse:
        at[axis] = node.shape[axis] - 1 - step
    index = tuple(at[k] for k in range(node.ndim))
    values = Values(e, frame.using, set(), (), frame.status)
    operands = [values.get(x, index) for x in node.operands]
    kind, deep = llvm_type(node.dtype), node.ndim
    e.depth = 0
    carry = e.alloca(kind)
    # -0.0 + x is x for every x, also -0.0.
    start = {"add": -0.0 if node.dtype.kind == "f" else 0, "multiply": 1, "recurrence": 0}
    assert isinstance(node.op, Scan)
    first = constant_text(start[node.op.combine], node.dtype)
    before = {deep - 1: [asm.store(kind, first, carry)]}
    position = e.index(step)
    e.depth = deep
    last = e.load(kind, carry)
    add, multiply = ("fadd", "fmul") if node.dtype.kind == "f" else ("add", "mul")
    if node.op.combine == "recurrence":
        grown = e.op(multiply, kind, operands[0], last)
        total = e.op(add, kind, grown, operands[1])
        # The first factor has nothing to multiply; it may be infinite.
        initial = e.op("icmp eq", "i64", position, "0")
        total = e.select(initial, kind, operands[1], total)
    else:
        word = add if node.op.combine == "add" else multiply
        total = e.op(word, kind, last, operands[0])
    e.store(kind, total, carry)
    e.depth = 0
    place = frame.using(node)
    assert place is not None
    values.store(place, index, node.shape, total, deep)
    module.functions.append(task_function(name, frame, loops.assemble(before, {}, None)))


# ---------------------------------------------------------------- matrix products


def product_work(node: Node) -> sp.Expr:
    """Return the work of a matrix product, in dozens of additions."""
    p = node.params
    sizes = dict(zip(p["a"] + p["b"], node.operands[0].shape + node.operands[1].shape, strict=True))
    return sp.floor(sp.Mul(*map(as_expr, sizes.values())) / 64)


def _product(module: Module, name: str, node: Node, frame: Frame) -> None:
    """Call the function for matrix products; transposes are strides, never copies."""
    x, y = node.operands
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    batched = out.startswith("Z")
    sizes = dict(zip(a, x.shape, strict=True)) | dict(zip(b, y.shape, strict=True))
    kind = llvm_type(node.dtype)
    symbol = product(module, kind)
    frame.more = ("%threads",)
    e = Emitter(module, 1 if batched else 0)
    e.bind_sizes(frame.sizes)
    loops = Loops(e, (sizes["Z"],) if batched else ())
    found = [in_memory(frame, v) for v in (x, y, node)]
    numbers = {s: e.index(sizes[s]) for s in "mnk"}
    places = []
    for place, letters in zip(found, (a, b, out), strict=True):
        pointer = place.pointer
        if place.slot is not None:  # a matrix of one element may lie among the numbers
            pointer = e.element("i64", pointer, place.slot)
        offset: Any = 0
        if batched:
            offset = loops.index[0] * sizes[letters[1]] * sizes[letters[2]]
        register = e.index(offset)
        e.depth = e.depth_of(register)
        places.append(e.element(kind, pointer, register))
        e.depth = 0
    e.depth = 1 if batched else 0
    given = [f"i64 {numbers[s]}" for s in "mnk"]
    for pointer, letters, order in ((places[0], a, "mk"), (places[1], b, "kn")):
        straight = letters.endswith(order)
        steps = (numbers[order[1]], "1") if straight else ("1", numbers[order[0]])
        given += [f"ptr {pointer}", *(f"i64 {step}" for step in steps)]
    given += [f"ptr {places[2]}", "i64 %threads"]
    e.call("void", f"@{symbol}", given)
    module.functions.append(task_function(name, frame, loops.assemble({}, {}, None)))

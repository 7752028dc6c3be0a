"""Tasks that are no plain loop nest: scans along an axis, and matrix products by BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._graph import Node
from ._emitter import Emitter, Module
from ._loops import Frame, Loops, function_text
from ._mathlib import Function, cython_symbol
from ._routines import in_memory, write_routine
from ._types import constant_text, llvm_type
from ._values import Values


def write_single(module: Module, name: str, node: Node, frame: Frame) -> None:
    """Add the function of one scan, matrix product or routine to the module."""
    if node.op.kind == "scan":
        _scan(module, name, node, frame)
    elif node.op.kind == "routine":
        write_routine(module, name, node, frame)
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
    carry = e.op(f"alloca {kind}")
    # -0.0 + x is x for every x, also -0.0.
    start = {"add": -0.0 if node.dtype.kind == "f" else 0, "multiply": 1, "recurrence": 0}
    first = constant_text(start[node.op.combine or ""], node.dtype)
    before = {deep - 1: [f"  store {kind} {first}, ptr {carry}"]}
    position = e.index(step)
    e.depth = deep
    last = e.op(f"load {kind}, ptr {carry}")
    add, multiply = ("fadd", "fmul") if node.dtype.kind == "f" else ("add", "mul")
    if node.op.combine == "recurrence":
        grown = e.op(f"{multiply} {kind} {operands[0]}, {last}")
        total = e.op(f"{add} {kind} {grown}, {operands[1]}")
        # The first factor has nothing to multiply; it may be infinite.
        initial = e.op(f"icmp eq i64 {position}, 0")
        total = e.op(f"select i1 {initial}, {kind} {operands[1]}, {kind} {total}")
    else:
        word = add if node.op.combine == "add" else multiply
        total = e.op(f"{word} {kind} {last}, {operands[0]}")
    e.line(f"store {kind} {total}, ptr {carry}")
    e.depth = 0
    place = frame.using(node)
    assert place is not None
    values.store(place, index, node.shape, total, deep)
    module.functions.append(function_text(name, frame, loops.assemble(before, {}, None)))


# ---------------------------------------------------------------- matrix products


def _product(module: Module, name: str, node: Node, frame: Frame) -> None:
    """Call BLAS; row-major C = A B is column-major C' = B' A', so the operands change places."""
    x, y = node.operands
    a, b, out = (node.params[k] for k in ("a", "b", "out"))
    batched = out.startswith("Z")
    sizes = dict(zip(a, x.shape, strict=True)) | dict(zip(b, y.shape, strict=True))
    single = node.dtype == np.float32
    symbol = cython_symbol(Function("scipy.linalg.cython_blas", "sgemm" if single else "dgemm"))
    module.symbols.add(symbol)
    module.declare(symbol, "void", ["ptr"] * 13)
    kind = llvm_type(node.dtype)
    e = Emitter(module, 1 if batched else 0)
    e.bind_sizes(frame.sizes)
    loops = Loops(e, (sizes["Z"],) if batched else ())
    found = [in_memory(frame, v) for v in (x, y, node)]
    m, n, k = (e.index(sizes[s]) for s in "mnk")

    def cell(type_: str, value: str) -> str:
        pointer = e.op(f"alloca {type_}")
        e.line(f"store {type_} {value}, ptr {pointer}")
        return pointer

    def integer(value: str) -> str:
        module.declare("llvm.smax.i64", "i64", ["i64", "i64"])
        short = e.op(f"trunc i64 {value} to i32")
        return cell("i32", short)

    def leading(value: str) -> str:
        module.declare("llvm.smax.i64", "i64", ["i64", "i64"])
        return integer(e.op(f"call i64 @llvm.smax.i64(i64 {value}, i64 1)"))

    # The code of "N" is 78, of "T" 84: transposes are flags, never copies.
    flag_a = cell("i8", "78" if a.endswith("mk") else "84")
    flag_b = cell("i8", "78" if b.endswith("kn") else "84")
    one, zero = (cell(kind, constant_text(v, node.dtype)) for v in (1, 0))
    mi, ni, ki = integer(m), integer(n), integer(k)
    lda = leading(k if a.endswith("mk") else m)
    ldb = leading(n if b.endswith("kn") else k)
    ldc = leading(n)
    places = []
    for place, letters in zip(found, (a, b, out), strict=True):
        pointer = place.pointer
        if place.slot is not None:  # a matrix of one element may lie among the numbers
            pointer = e.op(f"getelementptr inbounds i64, ptr {pointer}, i64 {place.slot}")
        offset: Any = 0
        if batched:
            offset = loops.index[0] * sizes[letters[1]] * sizes[letters[2]]
        register = e.index(offset)
        e.depth = e.depth_of(register)
        places.append(e.op(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {register}"))
        e.depth = 0
    e.depth = 1 if batched else 0
    arguments = (flag_b, flag_a, ni, mi, ki, one, places[1], ldb, places[0], lda, zero,
                 places[2], ldc)  # fmt: skip
    e.line(f"call void @{symbol}({', '.join(f'ptr {v}' for v in arguments)})")
    module.functions.append(function_text(name, frame, loops.assemble({}, {}, None)))

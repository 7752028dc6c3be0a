"""The way in and out of interpreted code: LLVM IR that depends on its arguments' kinds alone.

Programs with arguments and results of the same kinds share it. What they differ in lies in the
*context*, a row of 64-bit words that the Python function is bound to: where the bytecode is,
a buffer of slots that is free, ... Without bytecode there, a call is a miss: this is how a
compiled kernel takes the place of an interpreted program.
"""

from __future__ import annotations

import hashlib

import numpy as np

from .._graph import Node
from .._shapes import dim_product
from ._bytecode import Bytecode
from ._emitter import Emitter
from ._llvm_module import Module
from ._module import Leaf, Lowered
from ._sizes import write_sizes
from ._types import llvm_type, memory_type
from ._values import OTHER_BRANCH

#: The words of a context: the bytecode's address; a free buffer of slots, or 0; its size in
#: bytes; what it starts with, and how long that is.
CODE, BUFFER, BYTES, TEMPLATE, FIRST = range(5)
CONTEXT_WORDS = 5

START, FINISH, EXECUTE = (f"symgrad.bytecode.{word}" for word in ("start", "finish", "execute"))

#: Calls that run at the same time have a buffer each; one is kept for the next call. The
#: address of the bytecode is read once: it may be taken away while the call runs.
MACHINE = f"""
declare ptr @symgrad.python.PyMem_RawMalloc(i64)
declare void @symgrad.python.PyMem_RawFree(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i32 @{START}(ptr %context, ptr %found, ptr %codes) {{
  %code = load atomic i64, ptr %context acquire, align 8
  %absent = icmp eq i64 %code, 0
  br i1 %absent, label %miss, label %on
miss:
  ret i32 {OTHER_BRANCH}
on:
  store i64 %code, ptr %codes
  %place = getelementptr i64, ptr %context, i64 {BUFFER}
  %kept = atomicrmw xchg ptr %place, i64 0 acquire, align 8
  %none = icmp eq i64 %kept, 0
  br i1 %none, label %make, label %take
take:
  %old = inttoptr i64 %kept to ptr
  store ptr %old, ptr %found
  ret i32 0
make:
  %size.at = getelementptr i64, ptr %context, i64 {BYTES}
  %size = load i64, ptr %size.at
  %new = call ptr @symgrad.python.PyMem_RawMalloc(i64 %size)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %exhausted, label %fill
exhausted:
  ret i32 1
fill:
  %template.at = getelementptr i64, ptr %context, i64 {TEMPLATE}
  %template = load ptr, ptr %template.at
  %first.at = getelementptr i64, ptr %context, i64 {FIRST}
  %first = load i64, ptr %first.at
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %template, i64 %first, i1 0)
  store ptr %new, ptr %found
  ret i32 0
}}

define void @{EXECUTE}(ptr %context, ptr %slots, ptr %code) {{
  %first.at = getelementptr i64, ptr %context, i64 {FIRST}
  %first = load i64, ptr %first.at
  %at = getelementptr i8, ptr %slots, i64 %first
  %handler = load ptr, ptr %code, align 4
  call void %handler(ptr %code, ptr %slots, ptr %at)
  ret void
}}

define void @{FINISH}(ptr %context, ptr %slots) {{
  %buffer = ptrtoint ptr %slots to i64
  %place = getelementptr i64, ptr %context, i64 {BUFFER}
  %other = atomicrmw xchg ptr %place, i64 %buffer acq_rel, align 8
  %none = icmp eq i64 %other, 0
  br i1 %none, label %done, label %drop
drop:
  %surplus = inttoptr i64 %other to ptr
  call void @symgrad.python.PyMem_RawFree(ptr %surplus)
  br label %done
done:
  ret void
}}
"""


def write_interpreted(code: Bytecode) -> Lowered:
    """Return the entry points of an interpreted program, named after their own text."""
    text = _text(code, "symgrad.bytecode")
    name = f"symgrad.bytecode.{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    program = code.program
    return Lowered(
        name, _text(code, name), (), ((f"{name}.sizes", f"{name}.run"),), False,
        tuple(Leaf(n.dtype.name, n.ndim) for n in program.inputs),
        tuple(Leaf(n.dtype.name, n.ndim) for n in program.outputs),
        (), {}, len(program.sizes), len(program.steps), context=True,
    )  # fmt: skip


def _text(code: Bytecode, name: str) -> str:
    module, program = Module(vector_math=False), code.program
    sizes = tuple(program.sizes)
    write_sizes(module, name, program, sizes, program.outputs)
    for symbol, result, given in (
        (START, "i32", ["ptr"] * 3), (EXECUTE, "void", ["ptr"] * 3),
        (FINISH, "void", ["ptr", "ptr"]),
    ):  # fmt: skip
        module.declare(symbol, result, given)
    e = Emitter(module)
    for size in sizes:
        e.bind_index(size, f"%{size.name}", 0)
    parameters = []
    for k, node in enumerate(program.inputs):
        kind = "ptr" if node.shape else memory_type(node.dtype)
        parameters.append(f"{kind} %in{k}")
        _put(e, k, kind, f"%in{k}")
    parameters += [f"i64 %{s.name}" for s in sizes]
    first = len(program.inputs)
    arrays = {k: (f"%in{k}", node) for k, node in enumerate(program.inputs)}
    for k, node in enumerate(program.outputs):
        if node.shape:
            place = f"%out{k}"
            parameters.append(f"ptr {place}")
            if code.filled[k]:
                _clear(e, node, place)
        else:
            place = e.op(f"getelementptr i64, ptr %results, i64 {k}")
        arrays[first + k] = place, node
        _put(e, first + k, "ptr", place)
    for array, element, slot in code.pointers:
        place, node = arrays[array]
        at = e.index(element)
        _put(
            e, slot, "ptr", e.op(f"getelementptr {memory_type(node.dtype)}, ptr {place}, i64 {at}")
        )
    _put(e, code.status, "i64", "0")
    for size, dtype, slot in code.numbers:
        value = e.index(size)
        if dtype != np.int64:
            word = "sitofp" if dtype.kind == "f" else "trunc"
            value = e.op(f"{word} i64 {value} to {llvm_type(dtype)}")
        _put(e, slot, llvm_type(dtype), value)
    status = e.op(f"load i32, ptr {_slot(e, code.status)}")
    *body, last = e.lines[0]
    before = len(body) - 1  # the status is read after the run
    lines = "\n".join(body[:before])
    module.functions.append(f"""
define i32 @{name}.run({", ".join([*parameters, "ptr %results", "ptr %context"])}) {{
entry:
  %found = alloca ptr
  %codes = alloca ptr
  %begun = call i32 @{START}(ptr %context, ptr %found, ptr %codes)
  %good = icmp eq i32 %begun, 0
  br i1 %good, label %on, label %not
not:
  ret i32 %begun
on:
  %slots = load ptr, ptr %found
  %code = load ptr, ptr %codes
{lines}
  call void @{EXECUTE}(ptr %context, ptr %slots, ptr %code)
{body[before]}
{last}
  call void @{FINISH}(ptr %context, ptr %slots)
  ret i32 {status}
}}
""")
    return module.text()


def _slot(e: Emitter, number: int) -> str:
    return e.op(f"getelementptr i64, ptr %slots, i64 {number}")


def _put(e: Emitter, slot: int, kind: str, value: str) -> None:
    e.line(f"store {kind} {value}, ptr {_slot(e, slot)}")


def _clear(e: Emitter, node: Node, place: str) -> None:
    """Fill an array with zeros."""
    e.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
    count = e.index(dim_product(node.shape))
    size = e.op(f"mul i64 {count}, {node.dtype.itemsize}")
    e.line(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {size}, i1 0)")

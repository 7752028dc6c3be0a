"""Reductions: what to fold, from which value, and how two parts combine.

Sums along the innermost loop run in blocks whose partial sums are combined pairwise, as
NumPy does, so the error grows with the logarithm of the length; the order is fixed. What the
chunks of a nest leave behind is folded by functions that all share.

Source of the cascade: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
SIAM 2002, section 4.2 (pairwise summation), as a binary counter of partial sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.sizes import Shape, as_expr, dim_product
from ..graph import Node
from ..op import Reduce
from ..runtime.interface import constant_text, llvm_type, memory_text, memory_type
from ._emitter import Emitter
from ._legalize import contraction_sizes
from ._llvm_module import Module
from ._values import Place, Values


def identity_of(combine: str, dtype: np.dtype[Any]) -> Any:
    """Return the value that a reduction starts from."""
    if combine in ("maximum", "minimum"):
        largest = combine == "maximum"
        if dtype.kind == "f":
            return -np.inf if largest else np.inf
        if dtype.kind == "b":
            return not largest
        info = np.iinfo(dtype)
        return info.min if largest else info.max
    return {"add": 0, "multiply": 1, "or": False, "and": True}[combine]


def combine(e: Emitter, how: str, dtype: np.dtype[Any], a: str, b: str) -> str:
    """Emit one combining step of a reduction."""
    kind = llvm_type(dtype)
    real = dtype.kind == "f"
    if how in ("add", "multiply"):
        word = {"add": "add", "multiply": "mul"}[how]
        if dtype.kind == "b":
            return e.op("or" if how == "add" else "and", "i1", a, b)
        return e.op("f" + word + " reassoc" if real else word, kind, a, b)
    if how in ("or", "and"):
        return e.op(how, "i1", a, b)
    if real:
        return e.call_intrinsic(how, dtype, a, b)
    sign = "u" if dtype.kind in "ub" else "s"
    return e.call_intrinsic(f"{sign}{'max' if how == 'maximum' else 'min'}", dtype, a, b)


@dataclass
class Reduction:
    """One reduction of a nest: the axes it folds and how its operand is computed."""

    node: Node
    axes: tuple[int, ...]
    value: Callable[[Values, tuple[Any, ...]], str]
    how: str
    dtype: np.dtype[Any]
    place: bool = False


def describe(node: Node) -> Reduction:
    """Return what to fold for a reduction or contraction node."""
    if isinstance(node.op, Reduce):
        operand = node.operands[0]
        return Reduction(node, node.params["axes"], lambda v, i: v.get(operand, i),
                         node.op.combine, operand.dtype, node.op.place)  # fmt: skip
    letters = list(contraction_sizes(node))
    p = node.params

    def product(values: Values, index: tuple[Any, ...]) -> str:
        at = dict(zip(letters, index, strict=True))
        a, b = (
            values.get(x, tuple(0 if d == 1 and isinstance(d, int) else at[s]
                                for s, d in zip(p[k], x.shape, strict=True)))
            for k, x in zip("ab", node.operands, strict=True)
        )  # fmt: skip
        e = values.emitter
        e.depth = e.depth_of(a, b)
        word = "fmul" if node.dtype.kind == "f" else "mul"
        name = e.op(word, llvm_type(node.dtype), a, b)
        e.depth = 0
        return name

    axes = tuple(k for k, s in enumerate(letters) if s not in p["out"])
    return Reduction(node, axes, product, "add", node.dtype)


def folded_from(reduction: Reduction, domain: Shape) -> int | None:
    """Return the depth from which on all loops are folded, so that a register holds the part.

    Axes of length one make no loops. None if a loop over the result is inside a folded one.
    """
    loops = [k for k, extent in enumerate(domain) if not (isinstance(extent, int) and extent == 1)]
    folded = [k for k in loops if k in reduction.axes]
    if folded:
        return folded[0] if loops[-len(folded) :] == folded else None
    rank = len(domain)
    suffix = tuple(range(rank - len(reduction.axes), rank))
    return suffix[0] if reduction.axes and reduction.axes == suffix else None


def result_index(reduction: Reduction, index: list[Any]) -> tuple[Any, ...]:
    """Return the index of the result that an index of the domain is folded into."""
    node = reduction.node
    if node.op.kind == "contract":
        at = dict(zip(contraction_sizes(node), index, strict=True))
        return tuple(at[s] for s in node.params["out"])
    return tuple(i for k, i in enumerate(index) if k not in reduction.axes)


def cascade_functions(module: Module, kind: str) -> str:
    """Add the pairwise-summation helpers for an element type; return their prefix."""
    name = f"cascade.{kind}"
    text = CASCADE.replace("TYPE", kind).replace("NAME", name)
    text = text.replace("ZERO", constant_text(0, "f" if kind == "float" else "d"))
    module.helper(text)
    return name


#: A binary counter: the stack holds sums of 2^k blocks for the ones in the block count.
CASCADE = """define internal void @NAME.push(ptr %stack, ptr %counter, TYPE %value) #0 {
entry:
  %count = load i64, ptr %counter
  %next = add i64 %count, 1
  store i64 %next, ptr %counter
  br label %loop
loop:
  %sum = phi TYPE [ %value, %entry ], [ %more, %carry ]
  %bits = phi i64 [ %count, %entry ], [ %rest, %carry ]
  %level = phi i64 [ 0, %entry ], [ %up, %carry ]
  %odd = and i64 %bits, 1
  %full = icmp ne i64 %odd, 0
  %place = getelementptr inbounds TYPE, ptr %stack, i64 %level
  br i1 %full, label %carry, label %done
carry:
  %other = load TYPE, ptr %place
  %more = fadd TYPE %other, %sum
  %rest = lshr i64 %bits, 1
  %up = add i64 %level, 1
  br label %loop
done:
  store TYPE %sum, ptr %place
  ret void
}

define internal TYPE @NAME.sum(ptr %stack, ptr %counter) #0 {
entry:
  %count = load i64, ptr %counter
  br label %loop
loop:
  %sum = phi TYPE [ ZERO, %entry ], [ %after, %next ]
  %bits = phi i64 [ %count, %entry ], [ %rest, %next ]
  %level = phi i64 [ 0, %entry ], [ %up, %next ]
  %more = icmp ne i64 %bits, 0
  br i1 %more, label %test, label %done
test:
  %odd = and i64 %bits, 1
  %full = icmp ne i64 %odd, 0
  br i1 %full, label %add, label %next
add:
  %place = getelementptr inbounds TYPE, ptr %stack, i64 %level
  %part = load TYPE, ptr %place
  %total = fadd TYPE %part, %sum
  br label %next
next:
  %after = phi TYPE [ %sum, %test ], [ %total, %add ]
  %rest = lshr i64 %bits, 1
  %up = add i64 %level, 1
  br label %loop
done:
  ret TYPE %sum
}
"""


def fill_function(module: Module, kind: str) -> str:
    """Add the helper that fills a buffer with a value; return its name."""
    name = f"fill.{kind}"
    text = f"""define internal void @{name}(ptr noalias %p, i64 %n, {kind} %v) #0 {{
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %body, label %done
body:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %at = getelementptr inbounds {kind}, ptr %p, i64 %i
  store {kind} %v, ptr %at
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""
    module.helper(text)
    return name


def fold_numbers(module: Module, how: str, dtype: np.dtype[Any]) -> str:
    """Add the helper that folds the parts of all chunks into one number; return its name."""
    kind = memory_type(dtype)
    name = f"fold.numbers.{how}.{kind}"
    e = Emitter(module)
    if how == "add" and dtype.kind == "f":
        helper = cascade_functions(module, kind)
        opening = [f"  %stack = alloca [64 x {kind}]", "  %counter = alloca i64",
                   "  store i64 0, ptr %counter"]  # fmt: skip
        e.call("void", f"@{helper}.push", ["ptr %stack", "ptr %counter", f"{kind} %part"])
        total = [f"  %all = call {kind} @{helper}.sum(ptr %stack, ptr %counter)",
                 f"  store {kind} %all, ptr %result"]  # fmt: skip
    else:
        opening = [f"  store {kind} {memory_text(identity_of(how, dtype), dtype)}, ptr %result"]
        _fold_into(e, how, dtype)
        total = []
    group = module.attribute("nounwind noinline optnone")
    return _helper(module, name, "ptr %result, ptr %parts, i64 %n", group, [
        *opening,
        "  br label %head", "head:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %body ]",
        "  %more = icmp slt i64 %i, %n",
        "  br i1 %more, label %body, label %done", "body:",
        f"  %at = getelementptr inbounds {kind}, ptr %parts, i64 %i",
        f"  %part = load {kind}, ptr %at",
        *(x.text() for x in e.lines[0]),
        "  %next = add nuw nsw i64 %i, 1",
        "  br label %head", "done:",
        *total,
    ])  # fmt: skip


def fold_arrays(module: Module, how: str, dtype: np.dtype[Any]) -> str:
    """Add the helper that folds the parts of all chunks but one into an array; return its name."""
    kind = memory_type(dtype)
    name = f"fold.arrays.{how}.{kind}"
    e = Emitter(module)
    _fold_into(e, how, dtype, "%to")
    parameters = "ptr noalias %result, ptr noalias %parts, i64 %n, i64 %chunks"
    group = module.attribute("nounwind noinline")
    return _helper(module, name, parameters, group, [
        "  br label %chunk", "chunk:",
        "  %c = phi i64 [ 1, %entry ], [ %c.next, %chunk.done ]",
        "  %source = phi ptr [ %parts, %entry ], [ %source.next, %chunk.done ]",
        "  %another = icmp slt i64 %c, %chunks",
        "  br i1 %another, label %head, label %done", "head:",
        "  %i = phi i64 [ 0, %chunk ], [ %next, %body ]",
        "  %more = icmp slt i64 %i, %n",
        "  br i1 %more, label %body, label %chunk.done", "body:",
        f"  %at = getelementptr inbounds {kind}, ptr %source, i64 %i",
        f"  %part = load {kind}, ptr %at",
        f"  %to = getelementptr inbounds {kind}, ptr %result, i64 %i",
        *(x.text() for x in e.lines[0]),
        "  %next = add nuw nsw i64 %i, 1",
        "  br label %head", "chunk.done:",
        "  %c.next = add i64 %c, 1",
        f"  %source.next = getelementptr {kind}, ptr %source, i64 %n",
        "  br label %chunk", "done:",
    ])  # fmt: skip


def _fold_into(e: Emitter, how: str, dtype: np.dtype[Any], target: str = "%result") -> None:
    """Emit the folding of ``%part`` into memory."""
    kind = memory_type(dtype)
    before, part = e.load(kind, target), "%part"
    if dtype.kind == "b":
        before, part = (e.cast("trunc", "i8", x, "i1") for x in (before, part))
    total = combine(e, how, dtype, before, part)
    if dtype.kind == "b":
        total = e.cast("zext", "i1", total, "i8")
    e.store(kind, total, target)


def _helper(module: Module, name: str, parameters: str, group: str, body: list[str]) -> str:
    head = f"define internal void @{name}({parameters}) {group} {{\nentry:"
    text = "\n".join([head, *body, "  ret void", "}\n"])
    if text not in module.functions:
        module.functions.append(text)
    return name


def fill(e: Emitter, place: Place, node: Node, value: Any) -> None:
    """Have a node's memory hold a number, or what lies at another place."""
    kind = memory_type(node.dtype)
    if isinstance(value, Place):
        size = e.index(as_expr(dim_product(node.shape)) * node.dtype.itemsize)
        e.copy(_pointer(e, place), _pointer(e, value), size)
        return
    text = memory_text(value, node.dtype)
    if place.slot is not None:
        e.store(kind, text, _pointer(e, place))
        return
    count = e.index(as_expr(dim_product(node.shape)))
    if value == 0:
        e.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        size = e.op("mul", "i64", count, max(node.dtype.itemsize, 1))
        e.call(
            "void", "@llvm.memset.p0.i64", [f"ptr {place.pointer}", "i8 0", f"i64 {size}", "i1 0"]
        )
        return
    helper = fill_function(e.module, kind)
    e.call("void", f"@{helper}", [f"ptr {place.pointer}", f"i64 {count}", f"{kind} {text}"])


def _pointer(e: Emitter, place: Place) -> str:
    if place.slot is None:
        return place.pointer
    return e.element("i64", place.pointer, place.slot)

"""Helper functions that fill memory, and that fold what the chunks of a nest leave behind."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._runtime._types import memory_text, memory_type
from ._emitter import Emitter
from ._fold import cascade_functions, combine, identity_of
from ._llvm_module import Module


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
    if text not in module.functions:
        module.functions.insert(0, text)
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
        e.line(f"call void @{helper}.push(ptr %stack, ptr %counter, {kind} %part)")
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
        *e.lines[0],
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
        *e.lines[0],
        "  %next = add nuw nsw i64 %i, 1",
        "  br label %head", "chunk.done:",
        "  %c.next = add i64 %c, 1",
        f"  %source.next = getelementptr {kind}, ptr %source, i64 %n",
        "  br label %chunk", "done:",
    ])  # fmt: skip


def _fold_into(e: Emitter, how: str, dtype: np.dtype[Any], target: str = "%result") -> None:
    """Emit the folding of ``%part`` into memory."""
    kind = memory_type(dtype)
    before, part = e.op(f"load {kind}, ptr {target}"), "%part"
    if dtype.kind == "b":
        before, part = (e.op(f"trunc i8 {x} to i1") for x in (before, part))
    total = combine(e, how, dtype, before, part)
    if dtype.kind == "b":
        total = e.op(f"zext i1 {total} to i8")
    e.line(f"store {kind} {total}, ptr {target}")


def _helper(module: Module, name: str, parameters: str, group: str, body: list[str]) -> str:
    head = f"define internal void @{name}({parameters}) {group} {{\nentry:"
    text = "\n".join([head, *body, "  ret void", "}\n"])
    if text not in module.functions:
        module.functions.append(text)
    return name

"""The whole LLVM module of a program: tasks, memory, and the two functions a caller needs.

``NAME.sizes`` reads the size symbols off the arguments, checks the guards and computes the
shapes of the results; ``NAME.run`` computes, into arrays that the caller has made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from .._graph import Constant, Input, Node
from .._schedule import Program
from .._shapes import dim_product
from ._arena import write_arena
from ._emitter import Emitter, Module, constant_text, memory_type
from ._fold import describe, folded_from, identity_of
from ._legalize import legalize
from ._loops import Frame, parameter_types
from ._mathlib import vector_math_default
from ._nest import NestWriter
from ._plan import Nest, Plan, plan
from ._singles import write_single
from ._sizes import write_sizes
from ._values import Place

#: A program of up to this many steps is linked into its callers, where LLVM can inline it;
#: a longer one is compiled by itself, once, and called by its address.
LINKED_STEPS = 500

#: Functions in one module of straight-line code: modules compile side by side.
TASKS_PER_MODULE = 16


@dataclass(frozen=True)
class Leaf:
    """Element type and rank of an input or output of a kernel."""

    dtype: str
    ndim: int


@dataclass(frozen=True)
class Lowered:
    """A program as LLVM assembly, with all that loading and calling it needs.

    Attributes
    ----------
    name:
        Prefix of the two entry points, unique to the program.
    text:
        LLVM assembly of the module with the entry points.
    straight:
        Further modules of straight-line code. They need no optimisation: what LLVM could
        find, the graph's sharing and rewriting have found already.
    exports:
        The functions that each module defines for the others, the main module's first.
    linked:
        Whether to link the code into its callers.
    inputs, outputs:
        Element types and ranks, in order.
    symbols:
        External functions to bind before loading.
    constants:
        Constant arrays by the symbol that the code refers to them by.
    sizes:
        Number of size symbols.
    steps:
        Number of values that the code computes.
    """

    name: str
    text: str
    straight: tuple[str, ...]
    exports: tuple[tuple[str, ...], ...]
    linked: bool
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    symbols: tuple[str, ...]
    constants: dict[str, np.ndarray[Any, Any]]
    sizes: int
    steps: int


def constant_symbol(node: Constant) -> str:
    """Return the name by which code refers to a constant array."""
    return f"symgrad.constant.{node.digest}"


def lower(program: Program, vector_math: bool | None = None) -> Lowered:
    """Return ``program`` as LLVM assembly."""
    vector = vector_math_default() if vector_math is None else vector_math
    return _Writer(program, vector).lowered()


class _Writer:
    def __init__(self, program: Program, vector_math: bool) -> None:
        self.program = program
        self.module = Module(vector_math)
        self.straight: list[Module] = []
        self.exports: list[list[str]] = []
        self.name = f"symgrad.{program.fingerprint[:24]}"
        self.plan: Plan = plan(tuple(legalize(program.outputs)))
        self.steps = sum(len(t.nodes) for t in self.plan.tasks if isinstance(t, Nest))
        self.linked = self.steps <= LINKED_STEPS
        self.sizes = tuple(program.sizes)
        self.places: dict[Node, Place] = {}
        self.buffers: dict[Node, str] = {}
        self.constants: dict[str, Constant] = {}
        self.slots = 0
        self.uses: dict[str, list[int]] = {}
        self.calls: list[str] = []
        self.folded = dict(folded_in_memory(self.plan))

    # ---------------------------------------------------------------- places

    def place(self, node: Node) -> Place | None:
        known = self.places.get(node)
        if known is not None:
            return known
        if isinstance(node, Input):
            if node not in self.program.inputs:
                return None
            k = self.program.inputs.index(node)
            place = Place(f"%in{k}", node.dtype) if node.shape else self.slot(node)
        elif isinstance(node, Constant):
            symbol = constant_symbol(node)
            self.constants[symbol] = node
            place = Place(f"%c{len(self.constants)}", node.dtype)
        elif node in self.plan.results:
            place = self.result(self.plan.results[node])
        elif node in self.plan.stored:
            if node.shape:
                self.buffers[node] = f"%b{len(self.buffers)}"
                place = Place(self.buffers[node], node.dtype)
            else:
                place = self.slot(node)
        else:
            return None
        self.places[node] = place
        return place

    def slot(self, node: Node) -> Place:
        self.slots += 1
        return Place("%slots", node.dtype, self.slots - 1)

    def result(self, k: int) -> Place:
        node = self.plan.outputs[k]
        if node.shape:
            return Place(f"%out{k}", node.dtype)
        return Place("%results", node.dtype, k)

    # ---------------------------------------------------------------- tasks

    def tasks(self) -> None:
        for k, task in enumerate(self.plan.tasks):
            frame = Frame(self.place, self.result, self.sizes)
            name = f"{self.name}.task{k}"
            if isinstance(task, Nest):
                if not (task.nodes or task.stores or task.reductions):
                    continue
                module = self.module_for(task)
                writer = NestWriter(module, name, task, frame, module is self.module)
                writer.write(self.plan.stored)
                if module is not self.module:
                    self.module.declare(name, "void", parameter_types(frame))
                    self.exports[-1].append(name)
            else:
                write_single(self.module, name, task.node, frame)
            for pointer in frame.pointers:
                self.uses.setdefault(pointer, []).append(len(self.calls))
            arguments = [f"ptr {p}" for p in frame.pointers]
            arguments += [f"i64 %{s.name}" for s in self.sizes]
            self.calls.append(f"  call void @{name}({', '.join(arguments)})")

    def module_for(self, task: Nest) -> Module:
        """Return the module that a nest's function goes into."""
        if self.linked or task.domain:
            return self.module
        if not self.straight or len(self.straight[-1].functions) >= TASKS_PER_MODULE:
            self.straight.append(Module(vector_math=False))
            self.exports.append([])
        return self.straight[-1]

    def initial(self, node: Node) -> Any:
        """Return what a buffer must hold before its first task, or None."""
        kind = node.op.kind
        if kind == "scatter" or (kind == "assemble" and not covers(node)):
            return 0
        return self.folded.get(node)

    # ---------------------------------------------------------------- entry points

    def lowered(self) -> Lowered:
        self.tasks()
        self.run_function()
        write_sizes(self.module, self.name, self.program, self.sizes, self.plan.outputs)
        globals_ = [f"@{symbol} = external global i8" for symbol in self.constants]
        text = "\n".join([*globals_, self.module.text()])
        return Lowered(
            self.name,
            text,
            tuple(m.text() for m in self.straight),
            ((f"{self.name}.sizes", f"{self.name}.run"), *map(tuple, self.exports)),
            self.linked,
            tuple(Leaf(n.dtype.name, n.ndim) for n in self.program.inputs),
            tuple(Leaf(n.dtype.name, n.ndim) for n in self.plan.outputs),
            tuple(sorted(set().union(*(m.symbols for m in (self.module, *self.straight))))),
            {s: n.array for s, n in self.constants.items()},
            len(self.sizes),
            self.steps,
        )

    def run_function(self) -> None:
        e = Emitter(self.module)
        for size in self.sizes:
            e.bind_index(size, f"%{size.name}", 0)
        parameters = []
        for k, node in enumerate(self.program.inputs):
            parameters.append(f"ptr %in{k}" if node.shape else f"{memory_type(node.dtype)} %in{k}")
        parameters += [f"i64 %{s.name}" for s in self.sizes]
        parameters += [f"ptr %out{k}" for k, n in enumerate(self.plan.outputs) if n.shape]
        parameters.append("ptr %results")
        initial = self.initials()
        arena = write_arena(e, self.buffers, self.uses, self.slots)
        lines = ["entry:", *e.lines[0]]
        e.lines[0] = []
        checked = "%status" in self.uses
        if checked:
            # In the entry block of the function, wherever the arena's code has led.
            lines[1:1] = ["  %status = alloca i32", "  store i32 0, ptr %status"]
        for k, node in enumerate(self.program.inputs):
            place = self.places.get(node)
            if place is not None and place.slot is not None:
                pointer = e.op(f"getelementptr inbounds i64, ptr %slots, i64 {place.slot}")
                e.line(f"store {memory_type(node.dtype)} %in{k}, ptr {pointer}")
        for number, symbol in enumerate(self.constants, 1):
            e.line(f"%c{number} = getelementptr i8, ptr @{symbol}, i64 0")
        lines += e.lines[0]
        for k, call in enumerate(self.calls):
            e.lines[0] = []
            for node, value in initial.get(k, ()):
                self.fill(e, node, value)
            lines += [*e.lines[0], call]
        if arena:
            lines.append("  call void @free(ptr %arena)")
        if checked:
            lines.append("  %code = load i32, ptr %status")
        lines.append(f"  ret i32 {'%code' if checked else 0}")
        if arena:
            lines += ["failed:", "  ret i32 1"]
        self.module.functions.append(
            f"define i32 @{self.name}.run({', '.join(parameters)}) #0 {{\n"
            + "\n".join(lines) + "\n}\n"
        )  # fmt: skip

    def initials(self) -> dict[int, list[tuple[Node, Any]]]:
        """Return what to fill before each call."""
        found: dict[int, list[tuple[Node, Any]]] = {}
        for node, place in list(self.places.items()):
            value = self.initial(node)
            if value is not None:
                uses = self.uses.get(place.pointer, [0])
                first = uses[0] if place.slot is None else 0
                found.setdefault(first, []).append((node, value))
        if found and not self.calls:
            raise AssertionError("buffers without tasks")
        return found

    def fill(self, e: Emitter, node: Node, value: Any) -> None:
        place = self.places[node]
        kind = memory_type(node.dtype)
        text = constant_text(value, node.dtype)
        text = {"true": "1", "false": "0"}.get(text, text)
        if place.slot is not None:
            pointer = e.op(f"getelementptr inbounds i64, ptr {place.pointer}, i64 {place.slot}")
            e.line(f"store {kind} {text}, ptr {pointer}")
            return
        count = e.index(sp.sympify(dim_product(node.shape)))
        if value == 0:
            self.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
            size = e.op(f"mul i64 {count}, {max(node.dtype.itemsize, 1)}")
            e.line(f"call void @llvm.memset.p0.i64(ptr {place.pointer}, i8 0, i64 {size}, i1 0)")
            return
        helper = fill_function(self.module, kind)
        e.line(f"call void @{helper}(ptr {place.pointer}, i64 {count}, {kind} {text})")


def folded_in_memory(tasks: Plan) -> Iterator[tuple[Node, Any]]:
    """Yield the reductions that accumulate in memory, with the value they start from."""
    for task in tasks.tasks:
        if isinstance(task, Nest):
            for r in map(describe, task.reductions):
                if folded_from(r, task.domain) is None:
                    yield r.node, identity_of(r.how, r.dtype)


def covers(node: Node) -> bool:
    """Tell whether the parts of an assembly write every element exactly once."""
    if not node.params.get("disjoint", False):
        return False
    total: Any = sp.Integer(0)
    for part in node.operands:
        total += sp.sympify(dim_product(part.shape))
    return bool(sp.expand(total - sp.sympify(dim_product(node.shape))) == 0)


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

"""One function of LLVM IR for one graph: its tasks in order, with their memory.

A program's unit is called from outside, with arrays and numbers. The body of a loop or a
branch is an inner unit: the task that calls it gives it the memory for its temporaries, so
that a million steps allocate once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import Dimension, as_expr, dim_product
from ..graph import Body, Constant, Input, Node, topological
from ..op import Bodied
from ..program import Steps, body_program
from ..runtime.interface import memory_type
from . import _instructions as asm
from ._arena import Arena, given
from ._chunk_functions import write_chunked
from ._chunking import cut_of
from ._control_tasks import TAPE_CELL, write_bodied
from ._emitter import Emitter, size_parameters
from ._fold import fill
from ._initial_memory import continued, overwritten, starting, written_over
from ._instructions import Function, Instruction
from ._llvm_module import Module
from ._loops import Frame, parameter_types
from ._nest import NestWriter
from ._nest_fusion import together, write_together
from ._plan import Nest, Plan
from ._sizes import sizes_of
from ._special_tasks import product_work, write_single
from ._unroll import unrolls
from ._values import Place
from ._writer import Written

#: A program of up to this many steps is linked into its callers, where LLVM can inline it;
#: a longer one is compiled by itself, once, and called by its address.
LINKED_STEPS = 500

#: A body of up to this many steps is compiled with optimisation.
LINKED_BODY = 4000

#: With more loops than this a function calls them: put into it, each would cost LLVM a look at
#: all others. A call takes as long as an element or two.
APART = 32

#: A loop whose function has more lines than this is called, however few there are.
LONG = 1000

#: Functions in one module of straight-line code: modules compile side by side.
TASKS_PER_MODULE = 16


def constant_symbol(node: Constant) -> str:
    """Return the name by which code refers to a constant array."""
    return f"symgrad.constant.{node.digest}"


@dataclass
class Code:
    """What the units of one program share.

    Attributes
    ----------
    planned:
        Gives the plan of a program, or of the body of a loop or a branch.
    module:
        The module with the entry points.
    sizes:
        The program's size symbols; every function takes all of them.
    straight, exports:
        Modules of straight-line code, and the functions that they define.
    constants:
        Constant arrays by symbol.
    steps:
        Number of steps that are written as code.
    loops:
        The work of the loops that may be cut for threads, in dozens of additions.
    bodies:
        The functions of bodies, by body and number of carries.
    sources:
        The steps of each task's function, by its name, where a listing is wanted.
    """

    planned: Callable[[Steps], Plan]
    module: Module
    sizes: tuple[sp.Symbol, ...]
    straight: list[Module] = field(default_factory=list)
    exports: list[list[str]] = field(default_factory=list)
    constants: dict[str, Constant] = field(default_factory=dict)
    steps: int = 0
    loops: set[sp.Expr] = field(default_factory=set)
    bodies: dict[tuple[Body, int], Written] = field(default_factory=dict)
    sources: dict[str, Sequence[Node]] | None = None


class Unit:
    """Writes the function ``NAME.run`` of a graph.

    Parameters
    ----------
    code:
        What it shares with other units.
    name:
        Prefix of its functions.
    program:
        The graph's inputs and outputs.
    inner:
        Whether it is a body: its caller gives it memory, and a place for its status.
    carries:
        Of a loop's body how many carries it has.

    Attributes
    ----------
    overwritten:
        For nodes that take the memory of what they write over, the number of the carry.
    """

    def __init__(
        self, code: Code, name: str, program: Steps, inner: bool = False, carries: int = 0
    ) -> None:
        self.code, self.name, self.program, self.inner = code, name, program, inner
        self.module, self.sizes = code.module, code.sizes
        self.module.unrolled |= unrolls([*program.outputs, *program.conditions])
        self.plan = code.planned(program)
        if self.sizes:
            self.module.bounded.update(sizes_of(topological((*self.plan.outputs, *self.plan.kept))))
        self.steps = sum(len(t.nodes) for t in self.plan.tasks if isinstance(t, Nest))
        code.steps += self.steps
        self.linked = self.steps <= LINKED_STEPS
        self.overwritten = overwritten(self.plan, program.inputs, carries)
        self.continued = continued(self.plan)
        self.places: dict[Node, Place] = {}
        self.buffers: dict[str, Dimension] = {}
        self.tapes: list[str] = []
        self.constants: dict[str, str] = {}
        self.slots = 0
        self.uses: dict[str, list[int]] = {}
        self.calls: list[Instruction] = []
        self.loops: set[int] = set()  # calls of functions that have loops, by their number
        self.long: set[int] = set()  # and of those, the long ones
        self.starting = starting(self.plan)
        for node in self.plan.kept:  # so that they lie one beside the other
            self.place(node)
        self.tasks()
        self.arena = Arena(self.buffers, self.uses, self.slots)
        self.module.bounded.add(as_expr(self.arena.bytes))

    # ---------------------------------------------------------------- places

    def place(self, node: Node) -> Place | None:
        """Return where a node is stored, or None if it is not."""
        known = self.places.get(node)
        if known is not None:
            return known
        first = self.plan.projected.get(node, node)
        place = self.place(first) if first is not node else self._made(node)
        if place is not None:
            self.places[node] = place
        return place

    def _made(self, node: Node) -> Place | None:
        if isinstance(node, Input):
            if node not in self.program.inputs:
                return None
            k = self.program.inputs.index(node)
            return Place(f"%in{k}", node.dtype) if node.shape else self.slot(node)
        if isinstance(node, Constant):
            symbol = constant_symbol(node)
            self.code.constants[symbol] = node
            pointer = self.constants.setdefault(symbol, f"%c{len(self.constants) + 1}")
            return Place(pointer, node.dtype)
        if node in self.overwritten:
            base = written_over(node)
            assert base is not None
            return self.place(base)
        if node in self.continued:
            return self.place(self.continued[node])
        if node in self.plan.results:
            return self.result(self.plan.results[node])
        if node not in self.plan.stored:
            return None
        if node.op.kind == "tape":
            return self.tape(node)
        return self.buffer(node.shape, node.dtype) if node.shape else self.slot(node)

    def slot(self, node: Node) -> Place:
        """Return a new place for a number."""
        self.slots += 1
        return Place("%slots", node.dtype, self.slots - 1)

    def buffer(self, shape: Any, dtype: np.dtype[Any]) -> Place:
        """Return a new place for an array."""
        pointer = f"%b{len(self.buffers)}"
        self.buffers[pointer] = as_expr(dim_product(tuple(shape))) * dtype.itemsize
        return Place(pointer, dtype)

    def tape(self, node: Node) -> Place:
        """Return a new place for a tape: memory, or a cell for what grows as it is written."""
        length = node.operands[0].params["length"]
        if length is not None:
            return self.buffer((length, *node.shape), node.dtype)
        self.tapes.append(f"%tape{len(self.tapes)}")
        return Place(self.tapes[-1], node.dtype, grows=True)

    def result(self, k: int) -> Place:
        """Return where output ``k`` goes."""
        node = self.plan.outputs[k]
        if node.shape:
            return Place(f"%out{k}", node.dtype)
        return Place("%results", node.dtype, k)

    # ---------------------------------------------------------------- tasks

    def tasks(self) -> None:
        """Write the functions of all tasks, and note how to call them."""
        for k, task, *more in together(self.plan):
            name = f"{self.name}.task{k}"
            if self.code.sources is not None:
                self.code.sources[name] = [n for t in (task, *more) for n in _steps_of(t)]
            if isinstance(task, Nest):
                if more or task.gives(self.plan.stored):
                    self.write_nest(name, task, *more)
                continue
            frame = Frame(self.place, self.result, self.sizes)
            if isinstance(task.node.op, Bodied):
                work = write_bodied(self, name, task.node, frame)
                self.code.loops |= set() if work is None else {work}
            else:
                write_single(self.module, name, task.node, frame, self.scratch)
                if task.node.op.kind == "contract":
                    self.code.loops.add(product_work(task.node))
            self.call(name, frame, True)

    def write_nest(self, name: str, nest: Nest, *more: Nest) -> None:
        """Write the function of a nest, or of several that run together, and its call."""
        frame = Frame(self.place, self.result, self.sizes)
        for store in nest.stores:
            if store.target.op.over:  # its copy is made before the call
                pointer = self.source_of(store.target).pointer
                self.uses.setdefault(pointer, []).append(len(self.calls))
        module = self.module_for(nest)
        cut = cut_of(nest) if module is self.module else None
        if cut is not None:
            rest = self.module, name, nest, cut, frame, self.plan.stored
            if more:
                work = write_together(*rest, *more)
            else:
                work = write_chunked(*rest, self.inner)
            # So that whatever threads share runs without the interpreter's lock.
            self.code.loops.add(work)
            self.call(name, frame, True)
            return
        writer = NestWriter(module, name, nest, frame, module is self.module)
        is_loop = writer.write(self.plan.stored)
        if is_loop and len(writer.body) + 2 > LONG:
            self.long.add(len(self.calls))
        if module is not self.module:
            self.module.declare(name, "void", parameter_types(frame))
            self.code.exports[-1].append(name)
        self.call(name, frame, is_loop)

    def call(self, name: str, frame: Frame, is_loop: bool) -> None:
        """Call a task's function, with the pointers that it uses."""
        if is_loop:
            self.loops.add(len(self.calls))
        for pointer in frame.pointers:
            self.uses.setdefault(pointer, []).append(len(self.calls))
        arguments = [f"ptr {p}" for p in frame.pointers]
        arguments += size_parameters(self.sizes)
        arguments += [f"i64 {x}" for x in frame.more]
        self.calls.append(asm.call("", "void", f"@{name}", arguments))

    def module_for(self, task: Nest) -> Module:
        """Return the module that a nest's function goes into: straight-line code has its own."""
        # A body runs often: unless it is very long, LLVM optimises it as a whole.
        if self.linked or task.domain or (self.inner and self.steps <= LINKED_BODY):
            return self.module
        straight, exports = self.code.straight, self.code.exports
        if not straight or len(straight[-1].functions) >= TASKS_PER_MODULE:
            straight.append(Module(self.module.vector_math, by_pointer=True))
            straight[-1].unrolled = self.module.unrolled
            exports.append([])
        return straight[-1]

    def scratch(self, frame: Frame, size: Dimension) -> str:
        """Return a pointer to ``size`` bytes that the task of ``frame`` has for itself."""
        pointer = f"%b{len(self.buffers)}"
        self.buffers[pointer] = size
        frame.pointers[pointer] = None
        return pointer

    def body(self, name: str, body: Body, carries: int) -> Written:
        """Write the function of a loop's or a branch's body, and those of its tasks.

        Equal bodies have one.
        """
        known = self.code.bodies.get((body, carries))
        if known is None:
            unit = Unit(self.code, name, body_program(body), True, carries)
            unit.run_function()
            known = Written(f"{name}.run", set(unit.overwritten.values()), unit.arena.bytes)
            self.code.bodies[body, carries] = known
        return known

    def source_of(self, node: Node) -> Place:
        """Return where the array lies that is copied before a node writes over it."""
        base = node.operands[1]
        while base.op.alias and self.place(base) is None:
            base = base.operands[0]
        place = self.place(base)
        assert place is not None
        return place

    def initial(self, node: Node) -> Any:
        """Return what a buffer must hold before its first task, or None."""
        if node.op.over:
            return None if node in self.overwritten else self.source_of(node)
        return self.starting(node)

    # ---------------------------------------------------------------- the function

    def run_function(self) -> None:
        """Add ``NAME.run`` to the module."""
        e = Emitter(self.module)
        e.bind_sizes(self.sizes)
        parameters = []
        for k, node in enumerate(self.program.inputs):
            parameters.append(f"ptr %in{k}" if node.shape else f"{memory_type(node.dtype)} %in{k}")
        parameters += size_parameters(self.sizes)
        parameters += [f"ptr %out{k}" for k, n in enumerate(self.plan.outputs) if n.shape]
        parameters += ["ptr %results", "i64 %threads"]
        if self.inner:
            parameters += ["ptr %arena", "ptr %status"]
        initial = self.initials()
        allocates = self.arena.write(e, given=self.inner)
        lines = [asm.label("entry"), *e.lines[0]]
        e.lines[0] = []
        checked = ("%status" in self.uses or bool(self.plan.kept)) and not self.inner
        # In the entry block of the function, wherever the arena's code has led.
        if checked:
            lines[1:1] = [Instruction("%status", "alloca", "i32"), asm.store("i32", "0", "%status")]
        for tape in self.tapes:
            lines[1:1] = [Instruction(tape, "alloca", TAPE_CELL),
                          asm.store(TAPE_CELL, "zeroinitializer", tape)]  # fmt: skip
        for k, node in enumerate(self.program.inputs):
            place = self.places.get(node)
            if place is not None and place.slot is not None:
                pointer = e.element("i64", "%slots", place.slot)
                e.store(memory_type(node.dtype), f"%in{k}", pointer)
        for symbol, pointer in self.constants.items():
            e.element("i8", f"@{symbol}", "0", inbounds=False, name=pointer)
        lines += e.lines[0]
        apart = self.loops if len(self.loops) > APART else self.long
        noinline = f" {self.module.attribute('noinline')}" if apart else ""
        for k, task in enumerate(self.calls):
            e.lines[0] = []
            for node, value in initial.get(k, ()):
                fill(e, self.places[node], node, value)
            lines += [*e.lines[0], task._replace(more=noinline) if k in apart else task]
        e.lines[0] = []
        e.require(self.conditions())
        for tape in self.tapes:
            self.module.declare("free", "void", ["ptr"])
            e.call("void", "@free", [f"ptr {e.load('ptr', tape)}"])
        lines += e.lines[0]
        if allocates:
            back = ["ptr %arena", f"i64 {allocates}"]
            lines.append(asm.call("", "void", f"@{given(self.module)}", back))
        if checked:
            lines.append(asm.load("%code", "i32", "%status"))
        kind, group = ("void", "#1") if self.inner else ("i32", "#0")
        lines.append(asm.ret() if self.inner else asm.ret("i32", "%code" if checked else "0"))
        if allocates:
            lines += [asm.label("failed"), asm.ret("i32", "1")]
        self.module.functions.append(
            Function(f"{self.name}.run", parameters, lines, group, kind, self.inner)
        )

    def conditions(self) -> set[tuple[str, int]]:
        """Return where the conditions lie: memory and slots."""
        found = set()
        for node in self.plan.kept:
            place = self.place(node)
            assert place is not None
            assert place.slot is not None
            found.add((place.pointer, place.slot))
        return found

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


def _steps_of(task: Any) -> Iterator[Node]:
    """Yield what a task computes."""
    if isinstance(task, Nest):
        yield from task.nodes
        yield from task.reductions
        yield from (store.node for store in task.stores)
    else:
        yield task.node

"""Loops and branches: tasks that call the functions of their bodies.

The task's function keeps the carries: numbers and small arrays on its stack, which LLVM turns
into registers once the body is inlined; large arrays in two buffers that take turns. A body
writes its results where they belong, be it a row of a stack of results, so nothing is copied.
"""

from __future__ import annotations

import sympy as sp

from ..base.sizes import as_expr
from ..control import Branch, Loop
from ..graph import Node
from ..runtime import EXHAUSTED
from ._batch_members import write_examples
from ._loop_state import Kept, Large, Number, Row, Small, bytes_of
from ._loops import Frame
from ._routines import in_memory
from ._values import Place
from ._writer import Outer, Writer

#: A tape that grows: its memory and how many steps are written down.
TAPE_CELL = "{ ptr, i64 }"

#: A product, and whether it is of more than 64 bits.
PAIR = "{ i64, i1 }"

#: A carry of up to this many bytes is kept on the stack and copied in each step.
KEPT = 512

#: Steps that a growing tape has room for at first.
FIRST_ROOM = 64


def write_bodied(unit: Outer, name: str, node: Node, frame: Frame) -> sp.Expr | None:
    """Add the function of a loop or a branch, and those of its bodies, to the module.

    Returns the work in it that threads may share, in dozens of additions.
    """
    if node.op.kind != "loop":
        BranchWriter(unit, name, node, frame).write()
    elif Loop.of(node).is_of_examples:
        return write_examples(unit, name, node, frame)
    else:
        LoopWriter(unit, name, node, frame).write()
    return None


class BranchWriter(Writer):
    """Writes a branch: one call of several."""

    def write(self) -> None:
        e, branch = self.e, Branch.of(self.node)
        functions = [self.function(f"{self.name}.case{k}", b) for k, b in enumerate(branch.bodies)]
        index = self.number(branch.index)
        inputs = self.arguments(branch.operands)
        outputs = branch.bodies[0].outputs
        self.results = e.alloca(f"[{max(len(outputs), 1)} x i64]")
        outs = []
        for k, x in enumerate(outputs):
            if x.shape:
                place = self.target(k)
                outs.append(place.pointer if place is not None
                            else self.unit.scratch(self.frame, bytes_of(x)))  # fmt: skip
        labels = [e.label("case") for _ in functions]
        e.switch(index, labels)
        for label, function in zip(labels, functions, strict=True):
            self.label(label)
            self.call(function, inputs, outs, self.results)
            e.jump("done")
        self.label("done")
        for k, x in enumerate(outputs):
            place = None if x.shape else self.target(k)
            if place is not None:
                self.move(x, k, self.slot(place))
        self.finish()


class LoopWriter(Writer):
    """Writes a loop: the body's call, and what moves from step to step."""

    def __init__(self, unit: Outer, name: str, node: Node, frame: Frame) -> None:
        super().__init__(unit, name, node, frame)
        self.loop = Loop.of(node)
        cond = self.loop.cond
        self.cond = None if cond is None else self.function(f"{name}.cond", cond)
        self.body = self.function(f"{name}.body", self.loop.body, self.loop.carries)
        outputs = len(self.loop.body.outputs)
        self.results = self.e.alloca(f"[{max(outputs, 1)} x i64]")
        self.truth = self.e.alloca("[1 x i64]")
        self.room = self.cell("i64", "0")
        self.tapes: list[Row] = []  # those that grow

    def write(self) -> None:
        e, loop = self.e, self.loop
        pairs = zip(loop.carried, loop.inits, strict=True)
        carries = [self.carry(k, x, init) for k, (x, init) in enumerate(pairs)]
        shared = self.arguments(loop.consts)
        elements = [self.element(x) for x in loop.xs]
        rows = [self.row(k) for k in range(loop.carries, len(loop.body.outputs))]
        step = self.cell("i64", "0")
        count = self.count()
        if self.cond is None and self.tapes:
            self.reserve(count)
        e.jump("head")
        self.label("head")
        done = e.load("i64", step)
        if self.cond is None:
            more = e.op("icmp slt", "i64", done, count)
        else:
            self.call(self.cond, [*(c.argument() for c in carries), *shared], [], self.truth)
            more = e.op("icmp ne", "i8", e.load("i8", self.truth), "0")
        e.branch(more, "body", "done")
        self.label("body")
        if self.cond is not None and self.tapes:
            self.grow(done)
        index = done
        if loop.reverse:
            index = e.op("sub", "i64", e.op("sub", "i64", count, "1"), done)
        inputs = [f"i64 {index}", *(c.argument() for c in carries),
                  *(x.argument(index) for x in elements), *shared]  # fmt: skip
        outs = [c.target() for c in carries if not isinstance(c, Number)]
        outs += [r.at(index) for r in rows if r.shape]
        self.call(self.body, inputs, outs, self.results)
        for k, c in enumerate(carries):
            c.advance(k)
        for k, r in enumerate(rows, loop.carries):
            if not r.shape and not r.idle:
                self.move(loop.body.outputs[k], k, r.at(index))
        e.store("i64", e.op("add nuw nsw", "i64", done, "1"), step)
        e.jump("head")
        self.label("done")
        for k, c in enumerate(carries):
            place = self.target(k)
            if place is not None:
                c.finish(place)
        total = e.load("i64", step)
        for row in self.tapes:
            e.store("i64", total, self.counter(row.base or ""))
        self.finish()

    def carry(self, k: int, node: Node, init: Node) -> Number | Small | Large | Kept:
        if not node.shape:
            return Number(self, node, init)
        size = bytes_of(node)
        small = as_expr(size).is_Integer and int(size) <= KEPT
        if k in self.overwritten:
            return Kept(self, node, init, self.target(k), bool(small))
        return Small(self, node, init) if small else Large(self, node, init)

    def count(self) -> str:
        """Return the number of steps: known, or as many as a tape has."""
        e, loop = self.e, self.loop
        if loop.length is not None:
            return e.index(as_expr(loop.length))
        for x in loop.xs:
            if x.op.kind == "tape" and self.place(x).grows:
                return e.load("i64", self.counter(self.place(x).pointer))
        return "0"  # until the condition fails

    def place(self, node: Node) -> Place:
        place = self.frame.using(node)
        assert place is not None
        return place

    def counter(self, cell: str) -> str:
        return self.e.field(TAPE_CELL, cell, 1)

    # ---------------------------------------------------------------- rows

    def element(self, x: Node) -> Row:
        """Return how to read an element of an array or a tape in each step."""
        e, tape = self.e, x.op.kind == "tape"
        place = self.place(x) if tape else in_memory(self.frame, x)
        base = e.load("ptr", place.pointer) if place.grows else self.pointer(place)
        return Row(self, x.shape if tape else x.shape[1:], x.dtype, base)

    def row(self, k: int) -> Row:
        """Return how to write a result down in each step."""
        out = self.loop.body.outputs[k]
        place = self.target(k)
        if place is None:
            spare = self.unit.scratch(self.frame, bytes_of(out)) if out.shape else None
            return Row(self, out.shape, out.dtype, spare, idle=True)
        row = Row(self, out.shape, out.dtype, place.pointer, grows=place.grows)
        if place.grows:
            self.tapes.append(row)
        return row

    def grow(self, done: str) -> None:
        """Make room for the next step: twice as much as before, where there is none."""
        e = self.e
        room = e.load("i64", self.room)
        with self.where(e.op("icmp eq", "i64", done, room)):
            twice = e.op("mul", "i64", room, "2")
            none = e.op("icmp eq", "i64", room, "0")
            larger = e.select(none, "i64", FIRST_ROOM, twice)
            self.reserve(larger)
            e.store("i64", larger, self.room)

    def reserve(self, steps: str) -> None:
        """Give all tapes room for so many steps."""
        e = self.e
        e.module.declare("realloc", "ptr", ["ptr", "i64"])
        e.module.declare("llvm.umul.with.overflow.i64", PAIR, ["i64", "i64"])
        for row in self.tapes:
            assert row.base is not None
            factors = f"i64 {steps}", f"i64 {row.stride}"
            pair = e.call(PAIR, "@llvm.umul.with.overflow.i64", factors)
            size = e.op("add", "i64", e.part(PAIR, pair, 0, "i64"), "1")
            bad, room, good = e.label("exhausted"), e.label("room"), e.label("grown")
            over = e.part(PAIR, pair, 1, "i1")
            e.branch(over, bad, room)
            self.label(room)
            old = e.load("ptr", row.base)
            new = e.call("ptr", "@realloc", [f"ptr {old}", f"i64 {size}"])
            failed = e.op("icmp eq", "ptr", new, "null")
            e.branch(failed, bad, good)
            self.label(bad)
            e.store("i32", EXHAUSTED, self.status)
            e.jump("done")
            self.label(good)
            e.store("ptr", new, row.base)

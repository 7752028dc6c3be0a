"""Loops over examples, each with loops of its own inside: lanes of vectors, shared by threads.

A scan that carries nothing is the same work for each element, and its steps may run in any
order. If a step is a ``while_loop`` with what leads up to it and follows from it, so many
examples as there are ``LANES`` run side by side: one turn of the loop is a turn for each, on
arrays whose last axis is the lane. A lane whose example is done gives its result, and takes the
next example, so no example waits for another one. When none are left, it repeats what another
lane does: what a body may not be asked of (an index past the end), is asked of no lane. Fewer than
``FEW`` examples run one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ..base.sizes import Dimension, as_expr
from ..base.state import now
from ..control import Loop
from ..graph import Body, Node, bodies, topological
from ..op import Code, Written
from ..runtime import EXHAUSTED
from ._batched_loops import LANES, Lanes, lanes_of, selects, side_by_side
from ._chunk_functions import share
from ._loop_state import Lane, Row, bytes_of
from ._loops import Frame
from ._routines import in_memory
from ._writer import Outer, Writer

#: Memory of up to so many bytes is on the stack.
STACK = 1 << 14

#: Turns that an example is supposed to take, for how much work there is to share.
TURNS = 16

#: Fewer examples would leave most lanes to repeat what others do.
FEW = 4


def write_examples(unit: Outer, name: str, node: Node, frame: Frame) -> sp.Expr:
    """Add ``NAME.part``, which runs some examples, and ``NAME``, which shares them out.

    Returns the work that threads may share, in dozens of additions.
    """
    inner = Frame(frame.place, frame.result, frame.sizes)
    loop = Loop.of(node)
    part = _Part(unit, f"{name}.part", node, inner)
    few = isinstance(loop.length, int) and loop.length < FEW
    if few or now().promised or not selects(loop.body.outputs):
        part.one_by_one(loop)
    elif (lanes := lanes_of(loop)) is not None:
        part.side_by_side(loop, lanes)
    else:
        part.in_groups(loop)
    steps = TURNS * len(topological(loop.body.outputs))
    assert loop.length is not None
    # Who calls is the only thread that a library's error reaches.
    cost = 0 if _may_raise(loop.body) else steps
    share(unit.module, name, (loop.length,), frame, inner, cost)
    return max(1, steps // 64) * as_expr(loop.length)


def _may_raise(body: Body) -> bool:
    """Tell whether a routine among a body's steps reports failures as errors of Python's."""
    for node in topological(body.outputs):
        lower = Code.of(node.op).lower
        if (isinstance(lower, Written) and lower.raises) or any(map(_may_raise, bodies(node))):
            return True
    return False


class _Part(Writer):
    """Writes the examples from ``%begin`` to ``%end``."""

    def __init__(self, unit: Outer, name: str, node: Node, frame: Frame) -> None:
        super().__init__(unit, name, node, frame)
        frame.more = ("%begin", "%end")
        self.e.op("add", "i64", "0", "1", name="%threads")
        self.total: list[tuple[str, Dimension]] = []

    # ---------------------------------------------------------------- memory

    def memory(self, size: Dimension) -> str:
        """Return a pointer to memory that this part has for itself."""
        e, count = self.e, as_expr(size)
        if count.is_Integer and int(count) <= STACK:
            return e.on_stack(count)
        pointer = e.label("%own")
        self.total.append((pointer, count))
        return pointer

    def allocate(self) -> None:
        """Make room for what does not go on the stack."""
        e = self.e
        if not self.total:
            return
        offsets, end = [], "0"
        for _, count in self.total:
            offsets.append(end)
            lines = e.op("add", "i64", e.index(count), "63")
            end = e.op("add", "i64", end, e.op("and", "i64", lines, "-64"))
        e.module.declare("malloc", "noalias ptr", ["i64"])
        e.module.declare("free", "void", ["ptr"])
        self.heap = e.call("noalias ptr", "@malloc", [f"i64 {end}"])
        none = e.op("icmp eq", "ptr", self.heap, "null")
        e.branch(none, "exhausted", "ready")
        self.label("exhausted")
        e.store("i32", EXHAUSTED, self.status)
        e.jump("finished")
        self.label("ready")
        for (pointer, _), offset in zip(self.total, offsets, strict=True):
            e.element("i8", self.heap, offset, name=pointer)

    def end(self) -> None:
        """Give the memory back, and end the function."""
        if self.total:
            self.e.call("void", "@free", [f"ptr {self.heap}"])
            self.e.jump("finished")
            self.label("finished")
        self.finish()

    def function(self, name: str, body: Body, carries: int = 0) -> tuple[str, str]:
        """Write a body's function; return its name and the memory that it is to be given."""
        run, _, size = self.unit.body(name, body, carries)
        return run, "null" if size == 0 else self.memory(size)

    # ---------------------------------------------------------------- examples

    def prepare(self, loop: Loop) -> None:
        """Find where elements and results lie, and what all examples share."""
        self.shared = self.arguments(loop.consts)
        self.elements = [
            Row(self, x.shape[1:], x.dtype, self.pointer(in_memory(self.frame, x))) for x in loop.xs
        ]
        self.rows = []
        for k, out in enumerate(loop.body.outputs):
            place = self.target(k)
            base = self.memory(bytes_of(out)) if place is None else place.pointer
            self.rows.append(Row(self, out.shape, out.dtype, base, idle=place is None))
        self.results = self.e.alloca(f"[{max(len(loop.body.outputs), 1)} x i64]")

    def example(self, number: str) -> list[str]:
        """Return a body's arguments for an example."""
        return [f"i64 {number}", *(x.argument(number) for x in self.elements), *self.shared]

    def give(self, run: tuple[str, str], number: str, more: Sequence[str] = ()) -> None:
        """Call what computes the results of an example, and put them in their rows."""
        outs = [r.at(number) for r in self.rows if r.shape]
        self.call(run, [*self.example(number), *more], outs, self.results)
        for k, r in enumerate(self.rows):
            if not r.shape and not r.idle:
                self.move(self.outputs[k], k, r.at(number))

    def one_by_one(self, loop: Loop) -> None:
        """Write all examples one after the other."""
        e, self.outputs = self.e, loop.body.outputs
        run = self.function(f"{self.name}.one", loop.body)
        self.prepare(loop)
        number = e.alloca("i64")
        self.allocate()
        with e.counted(number, "%begin", "%end") as k:
            self.give(run, k)
        self.end()

    def in_groups(self, loop: Loop) -> None:
        """Write groups of examples, each of which waits for the longest one."""
        e, self.outputs = self.e, loop.body.outputs
        inputs, elements = loop.body.inputs, 1 + len(loop.xs)
        flags = [k < elements for k in range(len(inputs))]
        body = side_by_side(inputs, flags, loop.body.outputs)
        run = self.function(f"{self.name}.group", body)
        self.prepare(loop)
        given = [Lane(self, x, self.memory) for x in inputs[:elements]]
        found = [Lane(self, x, self.memory) for x in loop.body.outputs]
        first, lane, count = (e.alloca("i64") for _ in range(3))
        last = e.op("sub", "i64", "%end", "1")
        self.allocate()
        with e.counted(first, "%begin", "%end", LANES) as group:
            with e.counted(lane, "0", LANES) as k:
                # The last example again where there are no more.
                number = e.least(e.op("add", "i64", group, k), last)
                e.store("i64", number, count)
                sources = [count, *(r.at(number) for r in self.elements)]
                for x, source in zip(given, sources, strict=True):
                    x.spread(k, source)
            arguments = [f"ptr {x.pointer}" for x in given]
            self.call(run, [*arguments, *self.shared], [x.pointer for x in found], self.results)
            some = e.least(e.op("sub", "i64", "%end", group), LANES)
            with e.counted(lane, "0", some) as k:
                number = e.op("add", "i64", group, k)
                for x, row in zip(found, self.rows, strict=True):
                    if not row.idle:
                        x.move(row.at(number), False, x.at(k), True)
        self.end()

    def side_by_side(self, loop: Loop, lanes: Lanes) -> None:
        """Write the loop whose turns are those of all lanes."""
        e, self.outputs = self.e, loop.body.outputs
        turn = self.function(f"{self.name}.turn", lanes.turn)
        holds = self.function(f"{self.name}.holds", lanes.holds)
        enter = self.function(f"{self.name}.enter", lanes.enter)
        leave = self.function(f"{self.name}.leave", lanes.leave)
        self.prepare(loop)
        starts = lanes.enter.outputs
        carries = len(lanes.turn.outputs)
        self.lanes = [Lane(self, x, self.memory) for x in starts]
        news = [self.memory(as_expr(bytes_of(x))) for x in lanes.turn.outputs]
        idle = e.alloca("[1 x i64]")
        firsts = e.alloca(f"[{len(starts)} x i64]")
        mask = e.alloca(f"[{LANES} x i8]", ", align 64")
        examples = e.alloca(f"[{LANES} x i64]", ", align 64")
        following, live = self.cell("i64", "%begin"), self.cell("i64", "0")
        lane, source = e.alloca("i64"), e.alloca("i64")
        e.store(f"[{LANES} x i8]", "zeroinitializer", mask)
        minus = "[" + ", ".join(["i64 -1"] * LANES) + "]"
        e.store(f"[{LANES} x i64]", minus, examples)
        self.allocate()
        place = {x: k for k, x in enumerate(loop.shared)}
        common = iter(self.shared[place[x]] for x in lanes.common)
        own = iter(self.lanes[carries:])
        consts = [f"ptr {next(own).pointer}" if o else next(common) for o in lanes.own]
        state = [f"ptr {x.pointer}" for x in self.lanes[:carries]]

        def at(cell: str, k: str, kind: str = "i64") -> str:
            return e.element(kind, cell, k)

        def has_example(k: str, how: str = "sge") -> str:  # whose number is from 0 on
            number = e.load("i64", at(examples, k))
            return e.op(f"icmp {how}", "i64", number, "0")

        def count(by: int) -> None:
            before = e.load("i64", live)
            e.store("i64", e.op("add", "i64", before, by), live)

        e.jump("refill")
        self.label("turns")
        self.call(holds, [*state, *consts], [mask], idle)
        bits = e.load(f"<{LANES} x i8>", mask)
        ended = e.op("icmp eq", f"<{LANES} x i8>", bits, "zeroinitializer")
        some = e.cast("bitcast", f"<{LANES} x i1>", ended, f"i{LANES}")
        e.branch(e.op("icmp eq", f"i{LANES}", some, "0"), "turn", "refill")
        self.label("turn")
        self.call(turn, ["i64 0", *state, *consts], news, idle)
        for x, new in zip(self.lanes, news, strict=False):
            self.copy(x.pointer, new, x.bytes)
        e.jump("turns")

        # Lanes whose example is done give its result and take the next one.
        self.label("refill")
        with e.counted(lane, "0", LANES) as k:
            done = e.op("icmp eq", "i8", e.load("i8", at(mask, k, "i8")), "0")
            with self.where(done):
                with self.where(has_example(k)):
                    number = e.load("i64", at(examples, k))
                    self.give(leave, number, [x.collected(k) for x in self.lanes[:carries]])
                    count(-1)
                new = e.load("i64", following)
                more = e.op("icmp slt", "i64", new, "%end")
                number = e.select(more, "i64", new, "-1")
                e.store("i64", number, at(examples, k))
                with self.where(more):
                    e.store("i64", e.op("add", "i64", new, "1"), following)
                    count(1)
                    outs = [x.one for x in self.lanes if x.one]
                    self.call(enter, self.example(new), outs, firsts)
                    for j, x in enumerate(self.lanes):
                        x.spread(k, x.one or at(firsts, str(j)))

        # Where no example is left, a lane repeats what another one does.
        total = e.load("i64", live)
        e.branch(e.op("icmp eq", "i64", total, "0"), "given", "filled")
        self.label("filled")
        with self.where(e.op("icmp slt", "i64", total, LANES)):
            with e.counted(lane, "0", LANES) as k, self.where(has_example(k)):
                e.store("i64", k, source)
            busy = e.load("i64", source)
            with e.counted(lane, "0", LANES) as k, self.where(has_example(k, "slt")):
                for x in self.lanes:
                    x.repeat(k, busy)
        e.jump("turns")
        self.label("given")
        self.end()

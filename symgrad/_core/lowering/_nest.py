"""Loop nests: one LLVM function for each, pointers ``noalias`` so that loops vectorise."""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..base.sizes import Dimension, as_expr, dim_product
from ..graph import Node
from ..op import Gather, Placing
from ..runtime.interface import constant_text, llvm_type, memory_text
from . import _instructions as asm
from ._chunking import Cut
from ._emitter import LINE, Emitter
from ._fold import (
    Reduction,
    cascade_functions,
    combine,
    describe,
    folded_from,
    identity_of,
    result_index,
)
from ._instructions import Instruction
from ._llvm_module import ONE_VECTOR, Module
from ._loops import BLOCK, FEW, Frame, Loops, task_function
from ._plan import Nest, Store
from ._values import Index, Place, Values
from ._windows import Slide, windows

#: Ask for the lines of a range of bytes, to be written.
PREFETCH = """define internal void @rows.prefetch(ptr %base, i64 %first, i64 %last) #0 {
entry:
  br label %head
head:
  %k = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %last
  br i1 %more, label %body, label %done
body:
  %p = getelementptr i8, ptr %base, i64 %k
  call void @llvm.prefetch.p0(ptr %p, i32 1, i32 3, i32 1)
  %next = add i64 %k, 64
  br label %head
done:
  ret void
}
"""


#: Elements of an array that LLVM may load as one vector.
SPAN = 64

#: A body of up to so many instructions, none a call, is worth a version for few elements.
SHORT_BODY = 64


class NestWriter:
    """Writes one nest as one function; with ``turn`` for few elements, so many at a time."""

    def __init__(
        self,
        module: Module,
        name: str,
        nest: Nest,
        frame: Frame,
        internal: bool = True,
        cut: Cut | None = None,
        turn: int = 0,
    ) -> None:
        self.name, self.nest, self.frame, self.internal = name, nest, frame, internal
        self.cut, self.turn = cut, turn
        #: Where a chunk puts its parts of the reductions over the cut axis.
        self.parts = {} if cut is None else {r.node: f"%fold{k}" for k, r in enumerate(cut.folds)}
        self.rank = len(nest.domain)
        self.emitter = Emitter(module, self.rank)
        self.emitter.bind_sizes(frame.sizes)
        self.loops = Loops(self.emitter, nest.domain, cut is not None, turn)
        self.index = tuple(self.loops.index)
        copied = {s.node for s in nest.stores if s.part is None and s.output is None}
        self.values = Values(
            self.emitter, frame.using, copied | set(nest.nodes), self.index, frame.status,
            nest.unwritten,
        )  # fmt: skip
        self.before: dict[int, list[Instruction]] = {}
        self.after: dict[int, list[Instruction]] = {}
        self.block: tuple[list[Instruction], list[Instruction]] = ([], [])
        self.blocked = False
        #: Results of which the innermost loop writes some of each row, and bytes of a row.
        self.rows: dict[str, Dimension] = {}

    def write(self, stored: dict[Node, None]) -> bool:
        """Emit all nodes, stores and reductions, and add the function to the module.

        Returned is whether it has a loop.
        """
        e, marks = self.emitter, []
        early = self.early()
        for node in self.nest.nodes:
            value = self.values.get(node, self.index)
            place = self.frame.using(node) if node in stored else None
            if place is not None:
                self.values.store(place, self.index, node.shape, value, self.rank)
            for task in early.pop(node, ()):
                self.finish_value(task)
            marks.append(len(e.lines[-1]))
        free = len(e.lines[-1])
        for task in self.slide(early.pop(None, [])):
            self.finish_value(task)
            marks.append(len(e.lines[-1]))
        self.prefetch()
        if self.gathers_short_rows():
            self.loops.turn = 1
        elif small := self.small_parts():
            self.loops.turn = ONE_VECTOR if self.has_vectors(small) else 1
        self.body = self.loops.assemble(
            self.before, self.after, self.block if self.blocked else None, marks, free
        )
        if self.blocked:
            e.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        e.module.functions.append(task_function(self.name, self.frame, self.body, self.internal))
        return self.loops.innermost >= 0

    def small_parts(self) -> list[Store]:
        """Return what writes a part of an array that one vector may hold.

        LLVM 22 takes vectors that are stored into an array as they lie, not in the order in which
        they are made, when it puts them together for who loads the whole, and then fails. It sees
        where they lie if the loop is none, or its turns are written out.
        """
        found = []
        for store in self.nest.stores:
            count = None if store.part is None else dim_product(store.target.shape)
            if isinstance(count, int) and count <= SPAN:
                found.append(store)
        return found

    def has_vectors(self, stores: list[Store]) -> bool:
        """Tell whether the innermost loop stays one for certain when its turns are vectors."""
        extent = self.nest.domain[self.loops.innermost] if self.loops.innermost >= 0 else 1
        least = min(8, *(s.target.dtype.itemsize for s in stores))  # complex: two numbers
        return isinstance(extent, int) and extent * least >= 2 * LINE

    def gathers_short_rows(self) -> bool:
        """Tell whether loops of few fixed turns read short rows at computed places.

        LLVM writes a row's turns out, and then takes the loop around them by vectors, each element
        of which it loads by itself and puts in its place. That is no faster, and takes as long to
        compile as hundreds of other instructions: 50 of the 550 ms of a solver for a band of five
        diagonals.
        """
        *around, extent = self.nest.domain or (0,)
        few = all(isinstance(d, int) and d < FEW.stop for d in around) and isinstance(extent, int)
        row = few and 1 < extent < FEW.start and self.loops.innermost > self.loops.outermost
        return row and any(isinstance(n.op, Gather) for n in self.nest.nodes)

    def is_short(self) -> bool:
        """Tell whether the body, which is written, is short, and calls nothing."""
        body = self.emitter.lines[-1]
        return len(body) <= SHORT_BODY and not any(x.opcode == "call" for x in body)

    def early(self) -> dict[Node | None, list[Node | Store]]:
        """Return the reductions and stores by the node after which they come; None: the end.

        A value that is soon folded or written does not cross a long body. What adds to the
        same place as another keeps its turn.
        """
        own = set(self.nest.nodes)
        found: dict[Node | None, list[Node | Store]] = {}
        for reduction in self.nest.reductions:
            one = len(reduction.operands) == 1 and reduction.operands[0] in own
            found.setdefault(reduction.operands[0] if one else None, []).append(reduction)
        for store in self.nest.stores:
            apart = store.part is None or store.target.params.get("disjoint", False)
            found.setdefault(store.node if apart and store.node in own else None, []).append(store)
        return found

    def finish_value(self, task: Node | Store) -> None:
        """Fold or write a value."""
        if isinstance(task, Node):
            self.reduce(describe(task))
            return
        value = self.values.get(task.node, self.index)
        place = self.frame.using_output(task)
        if task.part is None:
            self.values.store(place, self.index, task.target.shape, value, self.rank)
        else:
            self.put(task.target, task.part, place, value)

    def put(self, target: Node, part: int, place: Place, value: str) -> None:
        """Write an element of a part into the whole, adding where parts may overlap."""
        e, op = self.emitter, target.op
        assert isinstance(op, Placing)
        first = op.parts_of(target.operands) + op.over
        index = self.values.computed_index(
            functools.partial(op.place, part, self.index, **target.params), target, first
        )
        self.note_row(place, index, target)
        apart = op.alone(part, target.params)
        if apart or op.last or op.begins(part, target.params):
            self.values.store(place, index, target.shape, value, self.rank, apart)
            return
        pointer = self.values.address(place, index, target.shape)
        e.depth = self.rank
        kind = llvm_type(place.dtype)
        before = e.load(kind, pointer)
        total = combine(e, "add", place.dtype, before, value)
        e.store(kind, total, pointer)
        e.depth = 0

    def slide(self, tasks: list[Node | Store]) -> list[Node | Store]:
        """Write the sums of shifted parts through windows; return the other tasks."""
        found = windows(self.nest)
        if not found:
            return tasks
        writer = Slide(self.values, self.emitter, self.loops)
        for rows in found.values():
            place = self.frame.using_output(rows[0].stores[0])
            for window in rows:
                before, after = writer.write(window, place)
                self.before.setdefault(self.loops.innermost, []).extend(before)
                self.after.setdefault(self.loops.innermost, []).extend(after)
        return [t for t in tasks if not isinstance(t, Store) or t.target not in found]

    # ---------------------------------------------------------------- rows

    def note_row(self, place: Place, index: Index, target: Node) -> None:
        """Note that each turn of the one loop writes some of a row of its own of ``target``."""
        loop = self.loops.innermost
        if loop < 0 or loop != self.loops.outermost or index[0] != self.index[loop]:
            return
        width = dim_product(target.shape[1:])
        if width != 1 and not any(as_expr(k).free_symbols for k in index[1:]):
            self.rows[place.pointer] = width * place.dtype.itemsize

    def prefetch(self) -> None:
        """Ask for the rows of a block of turns before they are written.

        A loop in vector registers writes to several rows at once, in places that no prefetcher
        of the hardware recognises, and each line that is not at hand holds up all stores.
        """
        e, block = self.emitter, f"%block{self.loops.innermost}"
        for pointer, size in self.rows.items():
            e.module.declare("llvm.prefetch.p0", "void", ["ptr", *["i32 immarg"] * 3])
            e.module.helper(PREFETCH)
            row, (first, last) = e.index(size), (e.label("%first"), e.label("%last"))
            given = [f"ptr {pointer}", f"i64 {first}", f"i64 {last}"]
            self.block[0].extend([
                Instruction(first, "mul", "i64", (block, row)),
                Instruction(last, "mul", "i64", (f"{block}.end", row)),
                asm.call("", "void", "@rows.prefetch", given),
            ])  # fmt: skip
            self.blocked = True

    # ---------------------------------------------------------------- reductions

    def reduce(self, r: Reduction) -> None:
        """Fold into a register where the folded loops are the innermost, else into memory."""
        value = r.value(self.values, self.index)
        place = self.target(r)
        start = folded_from(r, self.nest.domain)
        if start is not None:
            self.fold_register(r, place, value, start)
        else:
            index = result_index(r, self.loops.index)
            pointer = self.values.address(place, index, r.node.shape)
            self.fold(r, pointer, value)

    def target(self, r: Reduction) -> Place:
        """Return where a reduction's result goes, or a chunk's part of it."""
        part = self.parts.get(r.node)
        if part is not None:
            self.frame.pointers[part] = None
            return Place(part, r.node.dtype)
        place = self.frame.using(r.node)
        assert place is not None
        return place

    def fold(self, r: Reduction, pointer: str, value: str) -> None:
        e = self.emitter
        e.depth = self.rank
        kind = "i8" if r.dtype.kind == "b" else llvm_type(r.dtype)
        before = e.load(kind, pointer)
        if kind == "i8" and r.dtype.kind == "b":
            before = e.cast("trunc", "i8", before, "i1")
        total = combine(e, r.how, r.dtype, before, value)
        if r.dtype.kind == "b":
            total = e.cast("zext", "i1", total, "i8")
        e.store(kind, total, pointer)
        e.depth = 0

    def fold_register(self, r: Reduction, place: Place, value: str, start: int) -> None:
        e = self.emitter
        kind = "i8" if r.dtype.kind == "b" else llvm_type(r.dtype)
        e.depth = 0
        total = e.alloca(kind)
        if r.place:
            self.arg(r, place, value, total, start)
            return
        zero = memory_text(identity_of(r.how, r.dtype), r.dtype)
        opening = [asm.store(kind, zero, total)]
        self.fold(r, total, value)
        cascade = r.how == "add" and r.dtype.kind == "f" and self.loops.innermost >= start
        cascade = cascade and not (self.turn or self.short(r.axes))
        if not cascade:
            self.before.setdefault(start, []).extend(opening)
            self.finish(r, place, lambda name: asm.load(name, kind, total), start)
            return
        self.blocked = True
        helper = cascade_functions(e.module, kind)
        e.depth = 0
        stack, counter = e.alloca(f"[64 x {kind}]"), e.alloca("i64")
        self.before.setdefault(start, []).append(asm.store("i64", "0", counter))
        self.block[0].extend(opening)
        part, given = e.label("%part"), [f"ptr {stack}", f"ptr {counter}"]
        self.block[1].extend([
            asm.load(part, kind, total),
            asm.call("", "void", f"@{helper}.push", [*given, f"{kind} {part}"]),
        ])  # fmt: skip
        self.finish(r, place, lambda name: asm.call(name, kind, f"@{helper}.sum", given), start)

    def short(self, axes: tuple[int, ...]) -> bool:
        """Tell whether the folded length is fixed and no longer than a block."""
        count = 1
        for k in axes:
            extent = self.nest.domain[k]
            if not isinstance(extent, int):
                return False
            count *= extent
        return count <= BLOCK

    def finish(
        self, r: Reduction, place: Place, value: Callable[[str], Instruction], start: int
    ) -> None:
        """Store the folded value, which ``value(register)`` gives, after the loop at ``start``."""
        e = self.emitter
        index = result_index(r, self.loops.index)
        pointer = self.values.address(place, index, r.node.shape)
        name = e.label("%total")
        kind = "i8" if place.dtype.kind == "b" else llvm_type(place.dtype)
        self.after.setdefault(start, [])[:0] = [
            value(name),
            asm.store(kind, name, pointer),
        ]

    def arg(self, r: Reduction, place: Place, value: str, best: str, start: int) -> None:
        """Keep the first extremum's value and position; nan counts as extreme, as in NumPy."""
        e, kind = self.emitter, llvm_type(r.dtype)
        where = e.alloca("i64")
        zero = constant_text(identity_of(r.how, r.dtype), r.dtype)
        self.before.setdefault(start, []).extend(
            [asm.store(kind, zero, best), asm.store("i64", "-1", where)]
        )
        e.depth = self.rank
        seen, position = e.load(kind, best), e.load("i64", where)
        word = "gt" if r.how == "maximum" else "lt"
        first = e.op("icmp slt", "i64", position, "0")
        if r.dtype.kind == "f":
            # Unordered: a nan value wins, unless the best so far is nan already.
            wins = e.op(f"fcmp u{word}", kind, value, seen)
            number = e.op("fcmp ord", kind, seen, seen)
            wins = e.op("and", "i1", wins, number)
        else:
            wins = e.op(f"icmp {'u' if r.dtype.kind in 'ub' else 's'}{word}", kind, value, seen)
        wins = e.op("or", "i1", wins, first)
        e.depth = 0
        here = e.index(self.loops.index[r.axes[0]])
        e.depth = self.rank
        kept = e.select(wins, kind, value, seen)
        moved = e.select(wins, "i64", here, position)
        e.store(kind, kept, best)
        e.store("i64", moved, where)
        e.depth = 0
        self.finish(r, place, lambda name: asm.load(name, "i64", where), start)

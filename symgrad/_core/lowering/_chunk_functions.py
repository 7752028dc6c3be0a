"""The functions of a nest that is cut into chunks: the nest itself, a chunk, and all of them.

``NAME`` decides by the sizes: it calls ``NAME.part`` for the whole nest, or ``NAME.cut``. This
has the pool of threads call ``NAME.chunk`` for each chunk, which reads from memory what
``NAME.part`` takes, and then combines the chunks' parts of the reductions over the cut axis.

Where elements are few, what costs is to prepare for wide vectors and blocks. A short body has a
third version for these, ``NAME.few``: a loop of narrow vectors, where compiled code calls. A call
from Python takes a hundred times what it saves; its code goes without (:func:`without_few`), one
loop less to optimise, unless sums would have other bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from ..base.sizes import Dimension, Shape, as_expr, dim_product
from ..graph import Node
from ..runtime import EXHAUSTED
from ..runtime.interface import memory_text, memory_type
from ..runtime.threads import RUN
from . import _instructions as asm
from ._chunking import CHUNK, CHUNKS, Cut, cost_of
from ._emitter import Emitter, size_parameters
from ._fold import (
    Reduction,
    describe,
    fill_function,
    fold_arrays,
    fold_numbers,
    folded_from,
    identity_of,
)
from ._instructions import Function, Instruction
from ._llvm_module import Module
from ._loops import JOINED, Frame, task_function
from ._nest import NestWriter
from ._plan import Nest
from ._values import Place
from ._windows import windows

#: Fewer elements than this are few, by the number that a turn takes of them.
FEW = {4: 32, 1: 16}

_SOME, _NONE = (f"@few = internal constant i64 {n}" for n in (FEW[4], 0))

#: What calls of these loops say, which become part of their callers elsewhere.
_CALL = '"few"'


def without_few(text: str) -> str:
    """Return a module for Python's calls: with few of these loops, and each of them once.

    No number of elements is few in it where nobody can tell by the bits.
    """
    return text.replace(_SOME, _NONE).replace(f"{{ {_CALL} }}", "{ noinline }")


def write_chunked(
    module: Module, name: str, nest: Nest, cut: Cut, frame: Frame, stored: dict[Node, None],
    inside: bool,
) -> sp.Expr:  # fmt: skip
    """Add the functions of a nest that is cut to the module; return the work of it, in dozens.

    ``frame`` gets the parameters of the function ``name``, the number of threads the last;
    ``inside`` says that the nest is of the body of a loop or a branch, which compiled code calls.
    """
    inner = Frame(frame.place, frame.result, frame.sizes, more=("%begin", "%end", JOINED))
    writer = NestWriter(module, f"{name}.part", nest, inner, cut=cut)
    writer.write(stored)
    cost = cost_of(nest, len(inner.pointers))
    few = limit = None
    if writer.is_short() and len(nest.domain) == 1 and not as_expr(nest.domain[0]).is_Integer:
        few = Frame(frame.place, frame.result, frame.sizes)
        # What a step of a loop reads its neighbours' elements of, the step before has just written.
        # A vector of which other stores hold the elements has to wait until they are in memory.
        # Where LLVM cannot do what it is told, it prints a remark.
        slides = [window for rows in windows(nest).values() for window in rows]
        alone = (inside and slides) or any(window.hands_on_a_constant for window in slides)
        turn = 1 if alone else 4
        NestWriter(module, f"{name}.few", nest, few, turn=turn).write(stored)
        sums = any(r.dtype.kind == "f" and r.how in ("add", "multiply")
                   for r in map(describe, nest.reductions))  # fmt: skip
        limit = FEW[turn] if inside or sums else None
    once = "" if inside else module.attribute(_CALL)
    _Chunked(module, name, nest, cut, frame, inner, writer.parts, cost, few, limit, once).write()
    return dozens(cost, nest.domain)


def dozens(cost: int, domain: Shape) -> sp.Expr:
    """Return the work of a loop that threads share, in dozens of additions."""
    return max(1, cost // 64) * as_expr(dim_product(domain))


def share(module: Module, name: str, domain: Shape, frame: Frame, inner: Frame, cost: int) -> None:
    """Add the functions of a loop whose steps may run in any order; ``NAME.part`` is there.

    An element of ``domain`` is of the work ``cost``.
    """
    cut = Cut(0, 1, (), False)
    _Chunked(module, name, Nest(domain), cut, frame, inner, {}, cost).write()


@dataclass
class _Part:
    """A reduction over the cut axis: its parameter, its result's place, and its parts."""

    parameter: str
    place: Place
    reduction: Reduction
    #: The number of elements of the result if it is folded in memory, else None.
    elements: Dimension | None

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.reduction.node.dtype


@dataclass
class _Chunked:
    module: Module
    name: str
    nest: Nest
    cut: Cut
    frame: Frame
    inner: Frame
    names: dict[Node, str]
    cost: int
    few: Frame | None = None
    #: How many elements are too many for it, if that does not depend on who calls.
    limit: int | None = None
    #: What its call says.
    once: str = ""
    parts: dict[str, _Part] = field(default_factory=dict)

    def write(self) -> None:
        """Write ``NAME`` and ``NAME.chunk``."""
        for r in self.cut.folds:
            place = self.frame.using(r.node)
            assert place is not None
            in_memory = folded_from(r, self.nest.domain) is None
            count = dim_product(r.node.shape) if in_memory else None
            parameter = self.names[r.node]
            self.parts[parameter] = _Part(parameter, place, r, count)
        for pointer in self.inner.pointers:
            if pointer not in self.parts:
                self.frame.pointers[pointer] = None
        if any(p.elements is not None for p in self.parts.values()):
            self.frame.status()
        self.frame.more = ("%threads",)
        #: What chunks read: which nest they are of, so that nests that differ in what they compute
        #: share a function (``_function_merging``), the frame's pointers and sizes, where
        #: parts are, and two numbers.
        self.given = ["ptr %part", *(f"ptr {p}" for p in self.frame.pointers)]
        self.given += size_parameters(self.frame.sizes)
        self.words = [*self.given, *(f"ptr {p}.all" for p in self.parts)]
        self.words += ["i64 %count", "i64 %phase"]
        self.module.symbols.add(RUN)
        self.module.declare(RUN, "void", ["ptr", "ptr", "i64", "i64"])
        functions = self.module.functions
        functions.append(self.chunk())
        functions.append(self.cut_up())
        functions.append(task_function(self.name, self.frame, [asm.label("entry"), *self.decide()]))

    # ---------------------------------------------------------------- pieces

    def emitter(self) -> Emitter:
        e = Emitter(self.module)
        e.bind_sizes(self.frame.sizes)
        return e

    def extent(self, e: Emitter) -> str:
        return e.index(as_expr(self.nest.domain[self.cut.axis]))

    def call(
        self, e: Emitter, function: str, parts: dict[str, str], begin: str, end: str, joined: str
    ) -> None:
        """Call the nest for some steps, with the parts at the given places."""
        given = [f"ptr {parts.get(p, p)}" for p in self.inner.pointers]
        given += size_parameters(self.inner.sizes)
        more = {"%begin": begin, "%end": end, JOINED: joined}
        given += [f"i64 {more[x]}" for x in self.inner.more]
        # Both calls go to the same code, which is long to optimise.
        once = self.module.attribute("noinline")
        e.call("void", function, given, f" {once}")

    def address(self, e: Emitter, part: _Part) -> str:
        """Return the pointer to a reduction's result."""
        if part.place.slot is None:
            return part.place.pointer
        return e.element("i64", part.place.pointer, part.place.slot)

    # ---------------------------------------------------------------- the decision

    def decide(self) -> list[Instruction]:
        """Return the body of the function: few elements are one chunk."""
        e = self.emitter()
        if self.few is not None:
            limit: Any = self.limit
            if limit is None:
                self.module.few = _SOME
                limit = e.load("i64", "@few")
            short = e.op("icmp slt", "i64", self.extent(e), limit)
            e.branch(short, "few", "more")
            e.begin("few")
            given = [*(f"ptr {p}" for p in self.few.pointers), *size_parameters(self.few.sizes)]
            e.call("void", f"@{self.name}.few", given, f" {self.once}")
            e.ret()
            e.begin("more")
        elements = as_expr(dim_product(self.nest.domain))
        self.module.bounded.add(elements * self.cost)
        work = e.index(elements * self.cost)
        large = e.op("udiv", "i64", work, CHUNK)
        steps = e.op("udiv", "i64", self.extent(e), self.cut.rows)
        count = e.least(e.least(large, steps), CHUNKS)
        many = e.op("icmp sgt", "i64", count, "1")
        e.branch(many, "cut", "whole")
        e.begin("cut")
        given = [f"ptr @{self.name}.part", *self.given[1:], f"i64 {count}", "i64 %threads"]
        e.call("void", f"@{self.name}.cut", given)
        e.ret()
        e.begin("whole")
        places = {p: self.address(e, part) for p, part in self.parts.items()}
        self.call(e, f"@{self.name}.part", places, "0", self.extent(e), "0")
        e.ret()
        return e.lines[0]

    def cut_up(self) -> Function:
        """Return the function ``NAME.cut``: all chunks, and what they have in common."""
        e = self.emitter()
        e.alloca(f"[{len(self.words)} x i64]", name="%closure")
        for p, part in self.parts.items():
            if part.elements is None:
                e.alloca(f"[{CHUNKS} x {memory_type(part.dtype)}]", name=f"{p}.all")
        buffers = list(self.buffers(e))
        for k, word in enumerate(self.words[:-1]):
            self.store(e, k, word)
        colours = 2 if self.cut.coloured else 1
        for phase in range(colours):
            self.store(e, len(self.words) - 1, f"i64 {phase}")
            rest = e.op("add", "i64", "%count", colours - 1 - phase)
            count = e.op("udiv", "i64", rest, colours)
            task = f"ptr @{self.name}.chunk", "ptr %closure"
            e.call("void", f"@{RUN}", [*task, f"i64 {count}", "i64 %threads"])
        for part in self.parts.values():
            self.combine(e, part)
        if buffers:
            e.jump("done")
            e.begin("exhausted")
            e.store("i32", EXHAUSTED, "%status")
            e.jump("done")
            e.begin("done")
            for buffer in buffers:
                e.call("void", "@free", [f"ptr {buffer}"])
        return self.rare("cut", [*self.given, "i64 %count", "i64 %threads"], e.lines[0])

    def rare(self, stem: str, parameters: list[str], body: list[Instruction]) -> Function:
        """Return a function that runs once for much work: not worth optimising."""
        group = self.module.attribute("nounwind noinline optnone")
        whole = [asm.label("entry"), *body, asm.ret()]
        return Function(f"{self.name}.{stem}", parameters, whole, group)

    def store(self, e: Emitter, k: int, word: str) -> None:
        place = e.element("i64", "%closure", k)
        kind, value = word.split(" ")
        e.store(kind, value, place)

    def buffers(self, e: Emitter) -> Iterator[str]:
        """Allocate the parts that are arrays, of all chunks but the first, and yield them."""
        found = [p for p in self.parts.values() if p.elements is not None]
        for part in found:
            self.module.declare("malloc", "noalias ptr", ["i64"])
            self.module.declare("free", "void", ["ptr"])
            bytes_ = as_expr(part.elements) * max(part.dtype.itemsize, 1)
            self.module.bounded.add(bytes_ * CHUNKS)
            size = e.index(bytes_)
            others = e.op("sub", "i64", "%count", "1")
            product = e.op("mul", "i64", size, others)
            e.call("noalias ptr", "@malloc", [f"i64 {product}"], name=f"{part.parameter}.all")
        failed = "false"
        for part in found:
            none = e.op("icmp eq", "ptr", f"{part.parameter}.all", "null")
            failed = e.op("or", "i1", failed, none)
        if found:
            e.branch(failed, "exhausted", "ready")
            e.begin("ready")
        for part in found:
            yield f"{part.parameter}.all"

    def combine(self, e: Emitter, part: _Part) -> None:
        """Combine the chunks' parts, in their order."""
        r, target = part.reduction, self.address(e, part)
        if part.elements is None:
            function = fold_numbers(self.module, r.how, part.dtype)
            e.call(
                "void", f"@{function}", [f"ptr {target}", f"ptr {part.parameter}.all", "i64 %count"]
            )
            return
        function = fold_arrays(self.module, r.how, part.dtype)
        count = e.index(as_expr(part.elements))
        arrays = f"ptr {target}", f"ptr {part.parameter}.all"
        e.call("void", f"@{function}", [*arrays, f"i64 {count}", "i64 %count"])

    # ---------------------------------------------------------------- one chunk

    def chunk(self) -> Function:
        """Return the function of chunk ``%j``."""
        e = self.emitter()
        for k, word in enumerate(self.words):
            kind, name = word.split(" ")
            place = e.element("i64", "%closure", k)
            e.load(kind, place, name=name)
        twice = e.op("mul", "i64", "%j", 2 if self.cut.coloured else 1)
        number = e.op("add", "i64", twice, "%phase")
        following = e.op("add", "i64", number, "1")
        extent = self.extent(e)
        begin, end = (self.border(e, extent, j) for j in (number, following))
        last = e.op("icmp eq", "i64", following, "%count")
        end = e.select(last, "i64", extent, end)
        places = {p: self.part_of(e, part, number) for p, part in self.parts.items()}
        own = "%status" in self.inner.pointers
        if own:  # threads must not write to the same status
            places["%status"] = e.alloca("i32")
            e.store("i32", "0", places["%status"])
        self.call(e, "%part", places, begin, end, self.joined(e, last))
        if own:
            code = e.load("i32", places["%status"])
            e.update("or", "%status", "i32", code)
        return self.rare("chunk", ["ptr %closure", "i64 %j"], e.lines[0])

    def joined(self, e: Emitter, last: str) -> str:
        """Return which neighbours ran before the chunk: those of odd number run after the even."""
        if not self.cut.coloured or JOINED not in self.inner.more:
            return "0"
        behind = e.select(last, "i64", "1", "3")
        return e.op("mul", "i64", behind, "%phase")

    def border(self, e: Emitter, extent: str, number: str) -> str:
        """Return where a chunk begins: an equal share, rounded down."""
        product = e.op("mul", "i64", number, extent)
        place = e.op("udiv", "i64", product, "%count")
        return e.op("sub", "i64", place, e.op("urem", "i64", place, self.cut.rows))

    def part_of(self, e: Emitter, part: _Part, number: str) -> str:
        """Return where a chunk puts its part of a reduction, with what it starts from."""
        kind = memory_type(part.dtype)
        if part.elements is None:
            return e.element(kind, f"{part.parameter}.all", number)
        count = e.index(as_expr(part.elements))
        before = e.op("sub", "i64", number, "1")
        offset = e.op("mul", "i64", before, count)
        own = e.element(kind, f"{part.parameter}.all", offset, inbounds=False)
        first = e.op("icmp eq", "i64", number, "0")
        place = e.select(first, "ptr", self.address(e, part), own)
        # The result itself holds what reductions start from.
        filled = e.select(first, "i64", "0", count)
        value = memory_text(identity_of(part.reduction.how, part.dtype), part.dtype)
        helper = fill_function(self.module, kind)
        e.call("void", f"@{helper}", [f"ptr {place}", f"i64 {filled}", f"{kind} {value}"])
        return place

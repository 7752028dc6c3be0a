"""Loops: a function's frame, and the nest of loops over a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ..base.sizes import Shape
from ..graph import Node
from ..ops.movement import is_single
from . import _instructions as asm
from ._emitter import Emitter, size_parameters
from ._instructions import Function, Instruction
from ._llvm_module import FEW_TURNS
from ._plan import Store
from ._segments import MOST, Segments, segments
from ._values import Place

#: Length of the blocks that sums along the innermost loop are cut into.
BLOCK = 256

#: Innermost loops of so many turns, a fixed number, are of few turns; of fewer, straight code.
FEW = range(9, 129)

#: What a chunk is told of its neighbours, in two bits: whether the one before it, and the one
#: behind it, have added to the elements that they share.
JOINED = "%joined"

#: The instructions at the start and at the end of each block of an innermost loop.
Block = tuple[list[Instruction], list[Instruction]]


@dataclass
class Frame:
    """The parameters of a function under construction: buffers, slots and sizes it uses.

    ``more`` are integers that it takes besides.
    """

    place: Callable[[Node], Place | None]
    result: Callable[[int], Place]
    sizes: tuple[sp.Symbol, ...]
    pointers: dict[str, None] = field(default_factory=dict)
    more: tuple[str, ...] = ()

    def using(self, node: Node) -> Place | None:
        """Return where ``node`` is stored, noting the pointer as a parameter."""
        place = self.place(node)
        if place is not None:
            self.pointers[place.pointer] = None
        return place

    def status(self) -> str:
        """Return the pointer to the kernel's status, noting it as a parameter."""
        self.pointers["%status"] = None
        return "%status"

    def using_output(self, store: Store) -> Place:
        """Return where ``store`` writes: an output, or its target's place."""
        if store.output is None:
            place = self.using(store.target)
            assert place is not None
            return place
        place = self.result(store.output)
        self.pointers[place.pointer] = None
        return place


def loop_symbol(depth: int) -> sp.Symbol:
    """Return the SymPy symbol of the loop at ``depth``."""
    return sp.Symbol(f"%i{depth}", integer=True, nonnegative=True)


def index_over(domain: Shape) -> tuple[Any, ...]:
    """Return the index of a step of the loops over a domain: their symbols, and 0 without one."""
    return tuple(0 if is_single(d) else loop_symbol(k) for k, d in enumerate(domain))


class Loops:
    """The loops over a domain; loops of length one are not made.

    With ``part`` the outer loop runs from ``%begin`` to ``%end`` alone. A ``turn`` of the innermost
    takes so many elements; 0 leaves that to LLVM.
    """

    def __init__(self, emitter: Emitter, domain: Shape, part: bool = False, turn: int = 0) -> None:
        self.emitter, self.domain, self.part, self.turn = emitter, domain, part, turn
        self.index = list(index_over(domain))
        for depth, symbol in enumerate(self.index):
            if symbol != 0:
                emitter.bind_index(symbol, f"%i{depth}", depth + 1)
        #: The depth of the innermost loop, -1 if there is none.
        self.innermost = max((k for k, i in enumerate(self.index) if i != 0), default=-1)
        self.outermost = min((k for k, i in enumerate(self.index) if i != 0), default=-1)

    def bounds(self) -> tuple[Any, Any]:
        """Return the innermost loop's first index, and the one behind its last."""
        depth = self.innermost
        if not (self.part and depth == self.outermost):
            return 0, self.domain[depth]
        ends = []
        for name in ("%begin", "%end"):
            ends.append(sp.Symbol(name, integer=True, nonnegative=True))
            self.emitter.bind_index(ends[-1], name, 0)
        return ends[0], ends[1]

    def assemble(
        self,
        before: dict[int, list[Instruction]],
        after: dict[int, list[Instruction]],
        blocked: Block | None,
        marks: Sequence[int] = (),
        free: int = 0,
    ) -> list[Instruction]:
        """Return the function body: the emitter's instructions wrapped in loops.

        ``before[d]`` and ``after[d]`` run before and after the loop at depth ``d``;
        ``blocked`` (start, end of a block) splits the innermost loop. Its body may be cut at
        the ``marks``, numbers of instructions; from ``free`` on the order of what it writes counts.
        """
        extents = [self.emitter.index(d) for d in self.domain]
        found = self._segments(marks, free)
        if found is not None:
            self.emitter.lines[0] += found.rows
            blocked = blocked or ([], [])
        lines = [asm.label("entry"), *self.emitter.lines[0]]
        last = "entry"
        closing: list[list[Instruction]] = []
        rank = len(self.domain)
        for depth in range(rank):
            lines += before.get(depth, [])
            if self.index[depth] == 0:
                lines += self.emitter.lines[depth + 1]
                closing.append(after.get(depth, []))
                continue
            split = blocked if depth == self.innermost else None
            cut = self.part and depth == self.outermost
            bounds = ("%begin", "%end") if cut else ("0", extents[depth])
            length = found.block if found is not None else BLOCK
            opened, last, closed = self._loop(depth, last, bounds, split, length)
            if split is not None and found is not None:
                lines += self._joined(depth, opened, found, closed)
                lines += after.get(depth, [])
                break
            if depth == self.innermost:
                turn = next(k for k, x in enumerate(closed) if x.types[:1] == ("i1",))
                told = self.emitter.module.loop(self.turn or self.fixed())
                closed[turn] = closed[turn]._replace(more=told)
            lines += opened + self.emitter.lines[depth + 1]
            closing.append(closed + after.get(depth, []))
        for part in reversed(closing):
            lines += part
        return [*lines, asm.ret()]

    def fixed(self) -> int:
        """Return what LLVM is told of the innermost loop if its turns are fixed and few, else 0."""
        extent = self.domain[self.innermost]
        return FEW_TURNS if isinstance(extent, int) and extent in FEW else 0

    def _segments(self, marks: Sequence[int], free: int) -> Segments | None:
        """Cut the body of the innermost loop if it has long chains of functions."""
        k, marks = self.innermost, [m for m in marks if m <= free]
        if k < 0 or not marks or k + 1 < len(self.domain) or not self.emitter.module.vector_math:
            return None
        extent = self.domain[k]
        if isinstance(extent, int) and extent <= MOST:
            return None
        return segments(self.emitter.lines[-1], marks, f"%i{k}", f"%block{k}")

    def _joined(
        self, depth: int, opened: list[Instruction], found: Segments, closed: list[Instruction]
    ) -> list[Instruction]:
        """Return the loop over blocks with a loop for each segment inside."""
        i, block, body = f"%i{depth}", f"%block{depth}", f"body{depth}"
        head = opened[:-3]  # up to the jump to the first loop
        tail = closed[closed.index(asm.label(f"close{depth}")) :]
        lines, last = [*head, asm.jump(f"{body}.0")], f"open{depth}"
        for k, segment in enumerate(found.bodies):
            after = f"{body}.{k + 1}" if k + 1 < len(found.bodies) else f"close{depth}"
            own = f"{body}.{k}"
            lines += [
                asm.label(own),
                asm.phi(f"{i}.{k}", "i64", (block, last), (f"{i}.{k}.next", own)),
                *segment,
                *_turn(f"{i}.{k}", f"{block}.end", own, after, self.emitter.module.loop(self.turn)),
            ]
            last = own
        return lines + tail

    def _loop(
        self,
        depth: int,
        before: str,
        bounds: tuple[str, str],
        blocked: Block | None,
        length: int = BLOCK,
    ) -> tuple[list[Instruction], str, list[Instruction]]:
        """Return what opens a loop that follows the block ``before``, its block, what closes it."""
        first, extent = bounds
        i, body, done = f"%i{depth}", f"body{depth}", f"done{depth}"
        any_ = f"%any{depth}"
        if blocked is None:
            return (
                [
                    Instruction(any_, "icmp sgt", "i64", (extent, first)),
                    asm.branch(any_, body, done),
                    asm.label(body),
                    asm.phi(i, "i64", (first, before), (f"{i}.next", f"latch{depth}")),
                ],
                body,
                [
                    asm.jump(f"latch{depth}"),
                    asm.label(f"latch{depth}"),
                    *_turn(i, extent, body, done),
                    asm.label(done),
                ],
            )
        start, end = blocked
        block, opening, close = f"%block{depth}", f"open{depth}", f"close{depth}"
        after, least = f"{block}.next", [f"i64 {block}.next", f"i64 {extent}"]
        return (
            [
                Instruction(any_, "icmp sgt", "i64", (extent, first)),
                asm.branch(any_, opening, done),
                asm.label(opening),
                asm.phi(block, "i64", (first, before), (after, close)),
                Instruction(after, "add nuw nsw", "i64", (block, str(length))),
                asm.call(f"{block}.end", "i64", "@llvm.smin.i64", least),
                *start,
                asm.jump(body),
                asm.label(body),
                asm.phi(i, "i64", (block, opening), (f"{i}.next", f"{body}.latch")),
            ],
            body,
            [
                asm.jump(f"{body}.latch"),
                asm.label(f"{body}.latch"),
                *_turn(i, f"{block}.end", body, close),
                asm.label(close),
                *end,
                Instruction(f"{block}.more", "icmp slt", "i64", (after, extent)),
                asm.branch(f"{block}.more", opening, done),
                asm.label(done),
            ],
        )


def _turn(index: str, end: str, body: str, after: str, more: str = "") -> list[Instruction]:
    """Return the end of a loop's body: the next index, and whether there is one."""
    return [
        Instruction(f"{index}.next", "add nuw nsw", "i64", (index, "1")),
        Instruction(f"{index}.more", "icmp slt", "i64", (f"{index}.next", end)),
        asm.branch(f"{index}.more", body, after, more),
    ]


def task_function(
    name: str, frame: Frame, body: Sequence[Instruction], internal: bool = True
) -> Function:
    """Return a function of the frame's parameters."""
    parameters = [f"ptr noalias {p}" for p in frame.pointers]
    parameters += size_parameters(frame.sizes)
    parameters += [f"i64 {x}" for x in frame.more]
    loops = asm.has_loop(body)
    group = "#0" if loops else "#1"  # of steps
    return Function(name, parameters, body, group, internal=internal, loops=loops)


def parameter_types(frame: Frame) -> list[str]:
    """Return the types of a task's parameters."""
    return ["ptr noalias"] * len(frame.pointers) + ["i64"] * len(frame.sizes)

"""Loop bodies in segments: one loop becomes several over the same block of elements.

A body is cut in the middle of long chains of functions, and around functions that keep LLVM from
SIMD code (:mod:`._chains`). Cut into loops over whole arrays, whatever crosses a cut would go
through memory. So the loop runs in blocks, and the segments of its body one after the other on
each block; what crosses a cut waits in a *row*, one block of scratch on the stack that stays in a
near cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..base.switches import is_on
from . import _instructions as asm
from ._chains import Chains
from ._emitter import INDEPENDENT
from ._instructions import Instruction

#: Elements of a block: the more the better for the loops, as long as the rows fit in ``BYTES``.
MOST, LEAST, BYTES = 128, 32, 32768

#: Crossing values of one body; beyond it the scratch would not fit on a thread's stack.
MOST_ROWS = 2048

#: Instructions that take less time than a load of what they give.
_AGAIN = frozenset(("getelementptr", "add", "mul", "sub"))


@dataclass
class Segments:
    """The loops that a body became.

    Attributes
    ----------
    bodies:
        Their instructions. The index of segment ``k`` is named ``INDEX.k``, the start of the block
        ``%block``.
    rows:
        The instructions that make the scratch, for the function's entry.
    block:
        Elements in a block.
    """

    bodies: list[list[Instruction]]
    rows: list[Instruction]
    block: int


def segments(
    code: Sequence[Instruction], marks: Sequence[int], index: str, start: str
) -> Segments | None:
    """Cut a loop's body, or return None if it is to stay whole.

    Parameters
    ----------
    code:
        Straight-line instructions.
    marks:
        Places where the body may be cut: numbers of instructions.
    index, start:
        The registers of the loop's index and of the block's first index.
    """
    body = _Body(code, index)
    chains = Chains(code, body.uses, body.defined, body.crossing())
    cuts = sorted({*chains.cuts(marks), *chains.around(marks)})
    return body.cut([0, *cuts, len(code)], start) if cuts and is_on("segments") else None


class _Body:
    """Where each register of a body is defined and used."""

    def __init__(self, code: Sequence[Instruction], index: str) -> None:
        self.code, self.index = code, index
        self.uses = [[y for y in x.operands if y.startswith("%")] for x in code]
        self.defined: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.again: set[str] = set()
        for k, (x, names) in enumerate(zip(code, self.uses, strict=True)):
            if x.result:
                self.defined[x.result] = k
                if self._cheap(x, names):
                    self.again.add(x.result)
            for used in names:
                self.last[used] = k

    def _cheap(self, x: Instruction, names: list[str]) -> bool:
        """Tell whether a later segment computes this again: places, and what never changes."""
        if any(y in self.defined and y not in self.again for y in names):
            return False
        if x.opcode == "load":
            pointer = self.defined.get(x.operands[0])
            return pointer is not None and any(map(_is_read_only, self.uses[pointer]))
        if x.opcode == "trunc":
            return x.types == ("i8",)
        return x.opcode.partition(" ")[0] in _AGAIN

    def crossing(self) -> list[int]:
        """Return how many values cross a cut before each instruction."""
        change = [0] * (len(self.code) + 1)
        for name, k in self.defined.items():
            if name not in self.again and self.last.get(name, k) > k:
                change[k + 1] += 1
                change[self.last[name] + 1] -= 1
        live, crossing = 0, []
        for delta in change:
            live += delta
            crossing.append(live)
        return crossing

    def cut(self, bounds: list[int], start: str) -> Segments | None:
        """Return the segments between ``bounds``."""
        rows = _Rows()
        segment_of = [0] * len(self.code)
        for number, (a, b) in enumerate(pairwise(bounds)):
            segment_of[a:b] = [number] * (b - a)
        bodies: list[list[Instruction]] = []
        for number, (a, b) in enumerate(pairwise(bounds)):
            rows.free(number)
            segment = _Segment(self, rows, number, start)
            for k in range(a, b):
                segment.add(k, segment_of)
            bodies.append(segment.code)
        return rows.finished(bodies)


def _is_read_only(name: str) -> bool:
    """Tell whether a register points to an argument or a constant array: ``%in0``, ``%c1``."""
    return name.removeprefix("%in").isdigit() or name.removeprefix("%c").isdigit()


class _Segment:
    """The instructions of one segment, in which registers have its number behind their names."""

    def __init__(self, body: _Body, rows: _Rows, number: int, start: str) -> None:
        self.body, self.rows, self.number = body, rows, number
        place = f"{body.index}.{number}", start
        self.code = [Instruction(f"%at.{number}", "sub", "i64", place)]
        #: The registers that there are so far.
        self.here: set[str] = set()

    def add(self, k: int, segment_of: Sequence[int]) -> None:
        """Add an instruction of the body; what later segments use goes into a row."""
        body, x = self.body, self.body.code[k]
        for used in body.uses[k]:
            self._bring(used)
        name = x.result
        if name in self.here:
            return
        self.code.append(self._renamed(x))
        if name:
            self.here.add(name)
            last = segment_of[body.last.get(name, k)]
            if last > self.number and name not in body.again:
                self.code += self.rows.store(x, self.number, last)

    def _bring(self, name: str) -> None:
        """Compute a register again, or load it from its row, if it is of another segment."""
        body, stack = self.body, [name]
        while stack:
            x = stack[-1]
            if x in self.here or x not in body.defined:
                stack.pop()
            elif x in body.again:
                k = body.defined[x]
                missing = [y for y in body.uses[k] if y in body.defined and y not in self.here]
                if missing:
                    stack += missing
                    continue
                self.code.append(self._renamed(body.code[k]))
                self.here.add(stack.pop())
            else:
                self.code += self.rows.load(x, self.number)
                self.here.add(stack.pop())

    def _renamed(self, x: Instruction) -> Instruction:
        body = self.body

        def own(name: str) -> str:
            known = name in body.defined or name == body.index
            return f"{name}.{self.number}" if known else name

        return x._replace(result=own(x.result), operands=tuple(map(own, x.operands)))


class _Rows:
    """Scratch for the values that cross cuts; a row is used again after its last segment."""

    def __init__(self) -> None:
        self.count = 0
        self.pool: list[int] = []
        self.ends: dict[int, list[int]] = {}
        self.row: dict[str, tuple[int, str]] = {}

    def free(self, segment: int) -> None:
        """Give back the rows that were read for the last time before ``segment``."""
        self.pool += self.ends.pop(segment - 1, [])

    def store(self, x: Instruction, segment: int, last: int) -> list[Instruction]:
        name, kind = x.result, x.gives
        if self.pool:
            row = self.pool.pop()
        else:
            row, self.count = self.count, self.count + 1
        self.ends.setdefault(last, []).append(row)
        self.row[name] = (row, kind)
        value, out = f"{name}.{segment}", list[Instruction]()
        if kind == "i1":
            out.append(Instruction(f"{value}.byte", "zext", "i8", (value,), ("i1",)))
            kind, value = "i8", f"{value}.byte"
        return [
            *out,
            asm.element(f"{name}.to", kind, f"%row{row}", f"%at.{segment}"),
            asm.store(kind, value, f"{name}.to", INDEPENDENT),
        ]

    def load(self, name: str, segment: int) -> list[Instruction]:
        row, kind = self.row[name]
        memory = "i8" if kind == "i1" else kind
        value, pointer = f"{name}.{segment}", f"{name}.from.{segment}"
        out = [asm.element(pointer, memory, f"%row{row}", f"%at.{segment}")]
        if kind == "i1":
            out.append(asm.load(f"{value}.byte", "i8", pointer, INDEPENDENT))
            return [*out, Instruction(value, "trunc", "i1", (f"{value}.byte",), ("i8",))]
        return [*out, asm.load(value, kind, pointer, INDEPENDENT)]

    def finished(self, bodies: list[list[Instruction]]) -> Segments | None:
        if self.count > MOST_ROWS:
            return None
        block = MOST
        while block > LEAST and 8 * block * self.count > BYTES:
            block //= 2
        kind = f"[{block} x i64]"
        rows = [
            Instruction(f"%row{k}", "alloca", kind, more=", align 64") for k in range(self.count)
        ]
        return Segments(bodies, rows, block)

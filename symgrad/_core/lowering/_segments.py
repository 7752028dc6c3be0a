"""Loop bodies in segments: one loop becomes several over the same block of elements.

A body is cut in the middle of long chains of functions, and around functions that keep LLVM from
SIMD code (:mod:`._chains`). Cut into loops over whole arrays, whatever crosses a cut would go
through memory. So the loop runs in blocks, and the segments of its body one after the other on
each block; what crosses a cut waits in a *row*, one block of scratch on the stack that stays in a
near cache.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..base.switches import is_on
from ._chains import Chains
from ._emitter import INDEPENDENT

#: Elements of a block: the more the better for the loops, as long as the rows fit in ``BYTES``.
MOST, LEAST, BYTES = 128, 32, 32768

#: Crossing values of one body; beyond it the scratch would not fit on a thread's stack.
MOST_ROWS = 2048

_NAME = re.compile(r"%[\w.]+")
_TYPE = re.compile(r"\b(?:double|float|ptr|i\d+)\b")
_READ_ONLY = re.compile(r"%(?:in|c)\d+\b")
_AGAIN = ("getelementptr", "add", "mul", "sub", "trunc i8")


@dataclass
class Segments:
    """The loops that a body became.

    Attributes
    ----------
    bodies:
        Their lines. The index of segment ``k`` is named ``INDEX.k``, the start of the block
        ``%block``.
    rows:
        The lines that make the scratch, for the function's entry.
    block:
        Elements in a block.
    """

    bodies: list[list[str]]
    rows: list[str]
    block: int


def segments(lines: Sequence[str], marks: Sequence[int], index: str, start: str) -> Segments | None:
    """Cut a loop's body, or return None if it is to stay whole.

    Parameters
    ----------
    lines:
        Straight-line instructions.
    marks:
        Places where the body may be cut: numbers of lines.
    index, start:
        The registers of the loop's index and of the block's first index.
    """
    body = _Body(lines, index)
    chains = Chains(lines, body.uses, body.defined, body.crossing())
    cuts = sorted({*chains.cuts(marks), *chains.around(marks)})
    return body.cut([0, *cuts, len(lines)], start) if cuts and is_on("segments") else None


class _Body:
    """Where each register of a body is defined and used."""

    def __init__(self, lines: Sequence[str], index: str) -> None:
        self.lines, self.index = lines, index
        self.uses = [_NAME.findall(line) for line in lines]
        self.defined: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.again: set[str] = set()
        for k, (line, names) in enumerate(zip(lines, self.uses, strict=True)):
            if " = " in line:
                name = names.pop(0)
                self.defined[name] = k
                if self._cheap(line, names):
                    self.again.add(name)
            for used in names:
                self.last[used] = k

    def _cheap(self, line: str, names: list[str]) -> bool:
        """Tell whether a later segment computes this again: places, and what never changes."""
        text = line.partition(" = ")[2]
        if any(x in self.defined and x not in self.again for x in names):
            return False
        if text.startswith("load"):
            pointer = self.defined.get(names[0])
            return pointer is not None and _READ_ONLY.search(self.lines[pointer]) is not None
        return text.startswith(_AGAIN)

    def crossing(self) -> list[int]:
        """Return how many values cross a cut before each line."""
        change = [0] * (len(self.lines) + 1)
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
        segment_of = [0] * len(self.lines)
        for number, (a, b) in enumerate(pairwise(bounds)):
            segment_of[a:b] = [number] * (b - a)
        bodies: list[list[str]] = []
        for number, (a, b) in enumerate(pairwise(bounds)):
            rows.free(number)
            segment = _Segment(self, rows, number, start)
            for k in range(a, b):
                segment.add(k, segment_of)
            bodies.append(segment.lines)
        return rows.finished(bodies)


class _Segment:
    """The lines of one segment, in which registers have its number behind their names."""

    def __init__(self, body: _Body, rows: _Rows, number: int, start: str) -> None:
        self.body, self.rows, self.number = body, rows, number
        self.lines = [f"  %at.{number} = sub i64 {body.index}.{number}, {start}"]
        #: The registers that there are so far.
        self.here: set[str] = set()

    def add(self, k: int, segment_of: Sequence[int]) -> None:
        """Add a line of the body; what later segments use goes into a row."""
        body, line = self.body, self.body.lines[k]
        for name in body.uses[k]:
            self._bring(name)
        name = _NAME.search(line)[0] if " = " in line else ""  # type: ignore[index]
        if name in self.here:
            return
        self.lines.append(self._renamed(line))
        if name:
            self.here.add(name)
            last = segment_of[body.last.get(name, k)]
            if last > self.number and name not in body.again:
                self.lines += self.rows.store(name, line, self.number, last)

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
                self.lines.append(self._renamed(body.lines[k]))
                self.here.add(stack.pop())
            else:
                self.lines += self.rows.load(x, self.number)
                self.here.add(stack.pop())

    def _renamed(self, text: str) -> str:
        body = self.body

        def of_segment(match: re.Match[str]) -> str:
            name = match[0]
            known = name in body.defined or name == body.index
            return f"{name}.{self.number}" if known else name

        return _NAME.sub(of_segment, text)


def result_type(line: str) -> str:
    """Return the type of an instruction's result."""
    text = line.partition(" = ")[2]
    if text.startswith(("icmp", "fcmp")):
        return "i1"
    if text.startswith("getelementptr"):
        return "ptr"
    if text.startswith("select"):
        return str(_TYPE.findall(text)[1])
    if " to " in text:
        return text.rpartition(" to ")[2].strip()
    return str(_TYPE.findall(text)[0])


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

    def store(self, name: str, line: str, segment: int, last: int) -> list[str]:
        kind = result_type(line)
        if self.pool:
            row = self.pool.pop()
        else:
            row, self.count = self.count, self.count + 1
        self.ends.setdefault(last, []).append(row)
        self.row[name] = (row, kind)
        value, out = f"{name}.{segment}", []
        if kind == "i1":
            out.append(f"  {value}.byte = zext i1 {value} to i8")
            kind, value = "i8", f"{value}.byte"
        return [
            *out,
            f"  {name}.to = getelementptr inbounds {kind}, ptr %row{row}, i64 %at.{segment}",
            f"  store {kind} {value}, ptr {name}.to{INDEPENDENT}",
        ]

    def load(self, name: str, segment: int) -> list[str]:
        row, kind = self.row[name]
        memory = "i8" if kind == "i1" else kind
        value, pointer = f"{name}.{segment}", f"{name}.from.{segment}"
        out = [f"  {pointer} = getelementptr inbounds {memory}, ptr %row{row}, i64 %at.{segment}"]
        if kind == "i1":
            out.append(f"  {value}.byte = load i8, ptr {pointer}{INDEPENDENT}")
            return [*out, f"  {value} = trunc i8 {value}.byte to i1"]
        return [*out, f"  {value} = load {kind}, ptr {pointer}{INDEPENDENT}"]

    def finished(self, bodies: list[list[str]]) -> Segments | None:
        if self.count > MOST_ROWS:
            return None
        block = MOST
        while block > LEAST and 8 * block * self.count > BYTES:
            block //= 2
        rows = [f"  %row{k} = alloca [{block} x i64], align 64" for k in range(self.count)]
        return Segments(bodies, rows, block)

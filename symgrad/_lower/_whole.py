"""Small arrays of known shape: a nest over them is one line of code a step, without a loop.

A loop over a matrix of four rows takes LLVM two to four milliseconds, most of them to weigh by
how many elements to vectorise it, and programs of small matrices have hundreds of such loops. So
the body of the loops, which is straight-line code for one element, is read as code for all of
them: a register holds the whole array, ``fadd double`` becomes ``fadd <16 x double>``. Where a
step reads and writes is known for every element, too: what lies together is one load, and in
another order (a transpose, a row for all rows) a shuffle of it; parts of arrays are stored element
by element. Elements are computed by the same instructions as in a loop, so their bits are the same;
and what a task writes, the next one reads without memory in between, once both are in one function.

A body with anything else in it (a call, a reduction, a computed place) stays a loop.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .._shapes import Shape
from ._llvm_module import Module

#: Elements of a small array: more would not stay in registers.
MOST = 36

#: Elements of an array that is read, of which nobody may want all.
SPAN = 64

#: Most lines; most of longer code stores parts of arrays, which a loop does in a line each.
LONG = 2400

_BITS = {"double": 64, "float": 32}
_TYPE = r"(double|float|i\d+)"
_NAME = r"  (%\S+) = "
_PLACE = re.compile(_NAME + rf"getelementptr inbounds {_TYPE}, ptr (\S+), i64 (\S+)")
_LOAD = re.compile(_NAME + rf"load {_TYPE}, ptr (%[\w.]+)(?:, !llvm.*)?")
_STORE = re.compile(rf"  store {_TYPE} (\S+), ptr (%[\w.]+)(?:, !llvm.*)?")
_STEP = re.compile(
    _NAME + r"((?:fadd|fsub|fmul|fdiv|fneg|add|sub|mul|and|or|xor|shl|[fi]cmp \w+)(?: n[su]w)*) "
    rf"{_TYPE} (.*)"
)
_SELECT = re.compile(_NAME + rf"select i1 (\S+), {_TYPE} (\S+), {_TYPE} (\S+)")
_CAST = re.compile(
    _NAME + rf"(zext|sext|trunc|fpext|fptrunc|sitofp|uitofp) {_TYPE} (\S+) to {_TYPE}"
)
_CALL = re.compile(
    _NAME + rf"call {_TYPE} @llvm\.(fabs|sqrt|floor|ceil|trunc|rint|copysign|fma)\.f(?:64|32)"
    r"\((.*)\)"
)

_WHOLE_NUMBERS: dict[str, Callable[..., object]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply,
}  # fmt: skip


class _OtherError(Exception):
    """A line that is no step of whole arrays."""


def whole(
    module: Module, bodies: Sequence[Sequence[str]], domain: Shape, extents: Mapping[str, int]
) -> list[str] | None:
    """Return the code of a loop nest for all elements at once, or None if there is none.

    Parameters
    ----------
    module:
        What declares the functions that it calls.
    bodies:
        The lines of each loop of the nest, outermost first.
    domain:
        The lengths of the loops.
    extents:
        How many elements there are behind a pointer, where that is known.
    """
    lengths = [d for d in domain if isinstance(d, int)]
    if len(lengths) < len(domain) or not 2 <= math.prod(lengths) <= MOST:
        return None
    lines = _Lines(module, lengths, extents)
    try:
        for body in bodies:
            for line in body:
                lines.add(line)
        lines.check()
    except _OtherError:
        return None
    return lines.out if len(lines.out) <= LONG else None


class _Lines:
    """Lines for all elements, made of lines for one."""

    def __init__(self, module: Module, lengths: Sequence[int], extents: Mapping[str, int]) -> None:
        self.module, self.count, self.extents = module, math.prod(lengths), extents
        self.out: list[str] = []
        #: Whole numbers that are known for each element: the loops' indices, and places.
        self.known: dict[str, np.ndarray] = {
            f"%i{k}": at.ravel() for k, at in enumerate(np.indices(lengths))
        }
        #: Registers of one for each element.
        self.arrays: set[str] = set()
        #: Pointers: to which type, from where, and the places.
        self.pointers: dict[str, tuple[str, str, np.ndarray]] = {}
        #: What is read and written, by where it is counted from.
        self.read: dict[str, list[np.ndarray]] = {}
        self.written: dict[str, list[np.ndarray]] = {}
        self.spread: dict[tuple[str, str], str] = {}

    def add(self, line: str) -> None:
        """Add a line; raise if it has no form for all elements."""
        for pattern, write in (
            (_PLACE, self.place), (_LOAD, self.load), (_STORE, self.store), (_STEP, self.step),
            (_SELECT, self.select), (_CAST, self.cast), (_CALL, self.call),
        ):  # fmt: skip
            found = pattern.fullmatch(line)
            if found is not None:
                write(*found.groups())
                return
        raise _OtherError

    def check(self) -> None:
        """Raise if the order of the elements may count: one writes what another reads or writes."""
        for base, stores in self.written.items():
            every = [*stores, *self.read.get(base, ())]
            if any(len(np.unique(places)) < self.count for places in stores):
                raise _OtherError
            for k, one in enumerate(stores):
                for other in every[k + 1 :]:
                    if not np.array_equal(one, other) and np.intersect1d(one, other).size:
                        raise _OtherError

    # ---------------------------------------------------------------- registers

    def all(self, kind: str) -> str:
        return f"<{self.count} x {kind}>"

    def line(self, name: str, text: str) -> None:
        self.out.append(f"  {name} = {text}")
        self.arrays.add(name)

    def operand(self, kind: str, text: str) -> str:
        """Return what a register or a constant is for all elements."""
        if text in self.arrays:
            return text
        if text in self.known:
            return f"<{', '.join(f'{kind} {k}' for k in self.known[text])}>"
        if not text.startswith("%"):
            return f"splat ({kind} {text})"
        if text in self.pointers:
            raise _OtherError
        name = self.spread.get((kind, text))
        if name is None:
            name = self.spread[kind, text] = f"{text}.all"
            self.out.append(
                f"  {text}.one = insertelement {self.all(kind)} poison, {kind} {text}, i64 0"
            )
            every = f"<{self.count} x i32> zeroinitializer"
            pair = f"{self.all(kind)} {text}.one, {self.all(kind)} poison"
            self.out.append(f"  {name} = shufflevector {pair}, {every}")
        return name

    # ---------------------------------------------------------------- memory

    def place(self, name: str, kind: str, base: str, index: str) -> None:
        if index in self.known:
            places = self.known[index]
        elif not index.startswith("%"):
            places = np.full(self.count, int(index))
        else:
            raise _OtherError
        if base in self.arrays or base in self.pointers:
            raise _OtherError
        self.pointers[name] = kind, base, places

    def pointer(self, kind: str, text: str) -> tuple[str, np.ndarray]:
        if text not in self.pointers or self.pointers[text][0] != kind:
            raise _OtherError
        return self.pointers[text][1:]

    def load(self, name: str, kind: str, text: str) -> None:
        base, places = self.pointer(kind, text)
        self.read.setdefault(base, []).append(places)
        # Of a larger array parts may have been stored as vectors, in any order: see the writer.
        if self.extents.get(base, SPAN + 1) > SPAN:
            raise _OtherError
        first, last = int(places.min()), int(places.max())
        span = last - first + 1
        at = f"{name}.at"
        self.out.append(f"  {at} = getelementptr inbounds {kind}, ptr {base}, i64 {first}")
        if np.array_equal(places, np.arange(first, first + self.count)):
            self.line(name, f"load {self.all(kind)}, ptr {at}, {_aligned(kind)}")
            return
        block = f"<{span} x {kind}>"
        self.out.append(f"  {name}.block = load {block}, ptr {at}, {_aligned(kind)}")
        order = _order(places - first)
        self.line(name, f"shufflevector {block} {name}.block, {block} poison, {order}")

    def store(self, kind: str, value: str, text: str) -> None:
        base, places = self.pointer(kind, text)
        self.written.setdefault(base, []).append(places)
        value = self.operand(kind, value)
        order = np.argsort(places, kind="stable")
        if np.array_equal(places[order], np.arange(self.extents.get(base, 0))):
            if not np.array_equal(order, np.arange(self.count)):
                pair = f"{self.all(kind)} {value}, {self.all(kind)} poison"
                value = f"{text}.order"
                self.out.append(f"  {value} = shufflevector {pair}, {_order(order)}")
            at = f"{text}.at"
            self.out.append(f"  {at} = getelementptr inbounds {kind}, ptr {base}, i64 0")
            self.out.append(f"  store {self.all(kind)} {value}, ptr {at}, {_aligned(kind)}")
            return
        for k, at in enumerate(places):
            one, to = f"{text}.{k}", f"{text}.at{k}"
            self.out += [
                f"  {one} = extractelement {self.all(kind)} {value}, i64 {k}",
                f"  {to} = getelementptr inbounds {kind}, ptr {base}, i64 {at}",
                f"  store {kind} {one}, ptr {to}",
            ]

    # ---------------------------------------------------------------- steps

    def step(self, name: str, word: str, kind: str, rest: str) -> None:
        operands = rest.split(", ")
        numbers = [self._number(x) for x in operands]
        compute = _WHOLE_NUMBERS.get(word.partition(" ")[0])
        if kind == "i64" and compute is not None and all(x is not None for x in numbers):
            self.known[name] = np.broadcast_to(np.asarray(compute(*numbers)), (self.count,))
            return
        given = ", ".join(self.operand(kind, x) for x in operands)
        self.line(name, f"{word} {self.all(kind)} {given}")

    def _number(self, text: str) -> np.ndarray | int | None:
        if text in self.known:
            return self.known[text]
        return int(text) if re.fullmatch(r"-?\d+", text) else None

    def select(self, name: str, truth: str, kind: str, a: str, other: str, b: str) -> None:
        one, two = self.operand(kind, a), self.operand(other, b)
        text = f"{self.all('i1')} {self.operand('i1', truth)}"
        self.line(name, f"select {text}, {self.all(kind)} {one}, {self.all(other)} {two}")

    def cast(self, name: str, word: str, kind: str, value: str, to: str) -> None:
        self.line(name, f"{word} {self.all(kind)} {self.operand(kind, value)} to {self.all(to)}")

    def call(self, name: str, kind: str, function: str, rest: str) -> None:
        pairs = [x.split(" ") for x in rest.split(", ")]
        if any(k != kind for k, _ in pairs):
            raise _OtherError
        full, every = f"llvm.{function}.v{self.count}f{_BITS[kind]}", self.all(kind)
        self.module.declare(full, every, [every] * len(pairs))
        given = ", ".join(f"{every} {self.operand(kind, x)}" for _, x in pairs)
        self.line(name, f"call {every} @{full}({given})")


def _order(places: np.ndarray) -> str:
    return f"<{len(places)} x i32> <{', '.join(f'i32 {k}' for k in places)}>"


def _aligned(kind: str) -> str:
    """Return what a load says of memory that is an array of single elements."""
    return f"align {max(8, _BITS.get(kind) or int(kind[1:])) // 8}"

"""Encoding: a straight program of scalar ops becomes bytecode, for the interpreter to run.

Nothing is compiled for it but the way in and out, which depends on the kinds of arguments and
results alone. Steps are sorted by level (what they need is done) and by opcode, so that runs
are long: in program order most of the interpreter's time would go to jumps to handlers that
the processor has not foreseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import sympy as sp

from .._graph import Constant, Input, Literal, Node, SizeOf
from .._schedule import Program, schedule
from .._shapes import dim_product
from ._opcodes import END, HEAD, REQUIRE, Opcode, encodable
from ._unroll import MOST_NODES, prepare, short
from ._values import flat

Words: TypeAlias = "np.ndarray[Any, Any]"  # whole numbers

#: Kinds of ops that move elements; what reads and writes them has no steps of its own.
MOVES = ("view", "assemble")

Row = tuple[int, tuple[int, int, int]]  # opcode, operands
Store = tuple[Opcode, tuple[int, int], Node]  # opcode, pointer and place, what is written

#: The most pointers into arrays that a call computes.
MOST_POINTERS = 1000


class NotStraight(Exception):  # noqa: N818  no error: the compiler takes over
    """The program has more than scalar ops in it."""


@dataclass(frozen=True)
class Part:
    """Steps in the order in which they run: ``kinds[k]`` with operands ``operands[k]``."""

    kinds: Words
    operands: Words


@dataclass(frozen=True)
class Bytecode:
    """An encoded program.

    Attributes
    ----------
    opcodes:
        The opcodes in it; parts refer to them by number.
    parts:
        Loads, ops, stores.
    template:
        What the slots before the first computed one hold, as 64-bit words: zeros for those that
        a call fills, then constants.
    slots:
        Number of slots.
    program:
        The program whose inputs, sizes and outputs a call deals with.
    numbers:
        Sizes as numbers, ``(size, element type, slot)``.
    pointers:
        Pointers into arrays ``(input or output, element, slot)``, by the array's own slot, where
        which element it is depends on sizes.
    filled:
        Whether each output has elements that no step writes: they are 0.
    status:
        The slot where conditions that do not hold are reported.
    """

    opcodes: tuple[Opcode, ...]
    parts: tuple[Part, ...]
    template: Words
    slots: int
    program: Program
    numbers: tuple[tuple[Any, Any, int], ...]
    pointers: tuple[tuple[int, Any, int], ...]
    filled: tuple[bool, ...]
    status: int

    def words(self, addresses: Sequence[int]) -> Words:
        """Return the bytecode, for handlers at ``addresses``, one for each opcode."""
        widths = np.array([o.width for o in self.opcodes])
        at = np.array(addresses, np.uint64).view(np.int32).reshape(-1, 2)
        found = []
        for part in self.parts:
            kinds = part.kinds
            first = np.ones(len(kinds), bool)
            first[1:] = kinds[1:] != kinds[:-1]
            starts = np.flatnonzero(first)
            width = widths[kinds]
            end = np.cumsum(width + HEAD * first)
            code = np.empty(int(end[-1]) if len(end) else 0, np.int32)
            for j in range(part.operands.shape[1]):
                has = width > j
                code[(end - width)[has] + j] = part.operands[has, j]
            head = (end - width)[starts] - HEAD
            code[head] = at[kinds[starts], 0]
            code[head + 1] = at[kinds[starts], 1]
            code[head + 2] = np.diff(np.append(starts, len(kinds)))
            found.append(code)
        return np.concatenate([*found, at[self.opcodes.index(END)]])


def encode(program: Program) -> Bytecode | None:
    """Return ``program`` as bytecode, or None if it is not straight code of scalar ops."""
    try:
        return _Encoder(_straight(program)).run()
    except NotStraight:
        return None


def _straight(program: Program) -> Program:
    """Return the program in terms of ops that have a handler, short axes unrolled.

    It is what the compiler makes machine code of, so that results are the same.
    """
    steps = program.steps
    if _simple(steps):
        arrays = [n for n in (*program.inputs, *steps) if n.shape]
        if len(steps) > MOST_NODES or not any(short(n.shape) for n in arrays):
            return program
    elif any(map(_hopeless, steps)):
        raise NotStraight
    ready = prepare([*program.outputs, *program.conditions])
    count = len(program.outputs)
    found = schedule(program.inputs, ready[:count], program.guards, ready[count:])
    if not _simple(found.steps):
        raise NotStraight
    return found


def _simple(steps: Iterable[Node]) -> bool:
    """Tell whether all steps are maps of numbers that need no expansion, or move elements."""
    maps = {(n.__class__, n.dtype, n.shape): n for n in steps}
    return all(
        not n.shape and encodable(n.op, n.dtype) if n.op.kind == "map" else n.op.kind in MOVES
        for n in maps.values()
    )


def _hopeless(node: Node) -> bool:
    if node.op.kind in MOVES:
        return False
    if node.op.kind not in ("map", "reduce", "contract"):
        return True
    return not all(isinstance(d, int) for x in (node, *node.operands) for d in x.shape)


class _Encoder:
    """The tables under way. Before sorting, a step's number is its place after the constants."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.opcodes: dict[Opcode, int] = {}
        #: The slot, or before sorting the number, of what has one.
        self.number: dict[Node, int] = {}
        self.fixed = 0
        self.numbers: dict[tuple[Any, Any], int] = {}
        self.pointers: dict[tuple[int, Any], int] = {}

    # ---------------------------------------------------------------- slots

    def new(self) -> int:
        """Return a slot that a call fills."""
        self.fixed += 1
        return self.fixed - 1

    def run(self) -> Bytecode:
        """Return the encoded program."""
        program, number = self.program, self.number
        for node in program.inputs:
            number[node] = self.new()
        targets = [self.new() for _ in program.outputs]
        status = self.new()
        steps = [n for n in program.steps if n.op.kind == "map"]
        stores, filled = self.outputs(targets)
        rows: dict[Row, list[Node]] = {}
        aliases: dict[Node, Node] = {}
        for x in program.steps:
            if x.op.kind == "view" and _single(x):
                self.read(x, rows, aliases)
        literals: dict[Literal, None] = {}
        for x in (*program.leaves, *aliases.values(), *[x for _, _, x in stores]):
            if isinstance(x, Literal):
                literals[x] = None
            elif isinstance(x, SizeOf):
                key = (x.size, x.dtype)
                number[x] = self.numbers[key] = self.numbers.get(key) or self.new()
        first = self.fixed + len(literals)
        number.update(zip(literals, range(self.fixed, first), strict=True))
        loads = sorted(rows)
        for k, row in enumerate(loads, first):
            number.update(dict.fromkeys(rows[row], k))
        begin = first + len(loads)
        number.update(zip(steps, range(begin, begin + len(steps)), strict=True))
        number.update({x: number[r] for x, r in aliases.items() if r in number})
        ops, slot = self.sorted(steps, begin)
        if not number.keys() >= {*[x for _, _, x in stores], *program.conditions}:
            raise NotStraight
        ends = [(self.opcode(opcode), (*at, int(slot[number[x]]))) for opcode, at, x in stores]
        ends += [
            (self.opcode(REQUIRE), (status, int(slot[number[x]]), 0)) for x in program.conditions
        ]
        ends.sort(key=lambda row: row[0])  # what is added to one element stays in order
        self.opcode(END)
        template = np.zeros(first, np.int64)
        words = b"".join([x.value.tobytes().ljust(8, b"\0") for x in literals])
        template[self.fixed :] = np.frombuffer(words, np.int64)
        return Bytecode(
            tuple(self.opcodes), (_part(loads), ops, _part(ends)), template, len(slot), program,
            tuple((*key, k) for key, k in self.numbers.items()),
            tuple((*key, k) for key, k in self.pointers.items()), tuple(filled), status,
        )  # fmt: skip

    def opcode(self, opcode: Opcode) -> int:
        return self.opcodes.setdefault(opcode, len(self.opcodes))

    def element(self, array: int, index: Any, shape: Any) -> tuple[int, int]:
        """Return the slot of a pointer, and how far from it an element of an array is."""
        number, rest = sp.sympify(flat(index, shape)).as_coeff_Add()
        if rest == 0:
            return array, int(number)
        if (array, rest) not in self.pointers:
            if len(self.pointers) == MOST_POINTERS:
                raise NotStraight
            self.pointers[array, rest] = self.new()
        return self.pointers[array, rest], int(number)

    # ---------------------------------------------------------------- arrays

    def read(self, x: Node, loads: dict[Row, list[Node]], aliases: dict[Node, Node]) -> None:
        """Note what a view's only element is: a number, or an element of an input."""
        node, index = x, (0,) * x.ndim
        while node.op.kind == "view":
            assert node.op.element is not None
            node, index = node.op.element(index, _Operand(node.operands[0]), **node.params)
        if not node.shape:
            aliases[x] = node
            return
        if isinstance(node, Constant) and all(isinstance(j, (int, sp.Integer)) for j in index):
            aliases[x] = Literal(node.array[tuple(map(int, index))], node.dtype)
        elif isinstance(node, Input):
            at = self.element(self.number[node], index, node.shape)
            loads.setdefault((self.opcode(Opcode("load", (x.dtype,))), (*at, 0)), []).append(x)

    def outputs(self, targets: Sequence[int]) -> tuple[list[Store], list[bool]]:
        """Return what is written, and which outputs have elements that are not."""
        stores: list[Store] = []
        filled = []
        for to, node in zip(targets, self.program.outputs, strict=True):
            while node.op.alias:
                node = node.operands[0]
            words = [Opcode(word, (node.dtype,)) for word in ("store", "add")]
            parts = _written(node)
            places = [self.element(to, index, node.shape) for index, _, _ in parts]
            stores += [(words[summed], at, x)
                       for at, (_, x, summed) in zip(places, parts, strict=True)]  # fmt: skip
            summed = any(summed for _, _, summed in parts)
            filled.append(summed or bool(len(set(places)) != dim_product(node.shape)))
        return stores, filled

    # ---------------------------------------------------------------- sorting

    def kinds(self, steps: Sequence[Node]) -> list[int]:
        """Return the numbers of the opcodes of the steps."""
        keys: list[Any]
        if len({id(n.dtype) for n in self.number}) == 1:
            keys = [(n.__class__, n.items) for n in steps]
        else:
            keys = [(n.__class__, n.items, n.dtype, *[x.dtype for x in n.operands]) for n in steps]
        found = dict(zip(keys, steps, strict=True))
        known = {key: self.opcode(_opcode(n)) for key, n in found.items()}
        return [known[key] for key in keys]

    def sorted(self, steps: Sequence[Node], first: int) -> tuple[Part, Words]:
        """Sort the steps; return them, and the slot for each number."""
        number = self.number
        kinds = self.kinds(steps)
        try:
            words = [number[x] for n in steps for x in n.operands]
        except KeyError:  # an array
            raise NotStraight from None
        slot = np.arange(first + len(steps), dtype=np.int32)
        if not steps:
            return _part([]), slot
        codes = np.array(kinds, np.intp)
        level = np.array(self.program.levels, np.intp)
        if len(level) > len(steps):
            level = level[[n.op.kind == "map" for n in self.program.steps]]
        order = np.lexsort((_back_and_forth(codes, level), level))
        slot[first + order] = np.arange(first, first + len(steps))
        width = np.array([o.width for o in self.opcodes])[codes]
        table = np.zeros((len(steps), int(width.max())), np.int32)
        table[np.arange(table.shape[1]) < width[:, None]] = words
        return Part(codes[order], slot[table][order]), slot


def _back_and_forth(kind: Any, level: Any) -> Any:
    """Return sort keys within levels by which runs go on from one level to the next.

    The two commonest opcodes stand at the ends, and every other level runs backwards.
    """
    common = np.argsort(-np.bincount(kind), kind="stable")
    order = [*common[:1], *common[2:], *common[1:2]]
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    key = rank[kind]
    return np.where(level % 2, -key, key)


def _opcode(node: Node) -> Opcode:
    return Opcode("map", (*(x.dtype for x in node.operands), node.dtype), node.op, node.items)


def _part(rows: Sequence[Row]) -> Part:
    kinds = np.array([kind for kind, _ in rows], np.intp)
    return Part(kinds, np.array([words for _, words in rows], np.int32).reshape(-1, 3))


@dataclass(frozen=True)
class _Operand:
    """What an element formula indexes; it answers with the index it was asked for."""

    node: Node

    @property
    def shape(self) -> Any:
        return self.node.shape

    def __getitem__(self, index: Any) -> tuple[Node, tuple[Any, ...]]:
        return self.node, index if isinstance(index, tuple) else (index,)


def _written(node: Node) -> list[tuple[tuple[Any, ...], Node, bool]]:
    """Return the numbers that an array is made of: index, number, whether it is added.

    The other elements are 0.
    """
    if node.op.kind == "assemble":
        place = node.op.place
        assert place is not None
        operands = [_Operand(x) for x in node.operands]
        summed = not node.params.get("disjoint", False)
        found = [
            (tuple(place(k, index, *operands, **node.params)), x, inner)
            for k, part in enumerate(node.operands)
            for index, x, inner in _written(part)
        ]
        if summed and any(inner for _, _, inner in found):
            raise NotStraight  # the kernel takes such sums in another order
        return [(index, x, summed or inner) for index, x, inner in found]
    if _is_zero(node) and node.shape:
        return []
    if not _single(node) or (node.shape and node.op.kind != "view"):
        raise NotStraight
    return [((0,) * node.ndim, node, False)]


def _single(node: Node) -> bool:
    """Tell whether there is one element, whatever the sizes."""
    return all(isinstance(d, int) and d == 1 for d in node.shape)


def _is_zero(node: Node) -> bool:
    while node.op.kind == "view":
        node = node.operands[0]
    return isinstance(node, Literal) and node.value.tobytes().strip(b"\0") == b""


__all__ = ["Bytecode", "encode"]

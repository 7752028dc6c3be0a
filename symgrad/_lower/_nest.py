"""Loop nests: one LLVM function for each, pointers ``noalias`` so that loops vectorise.

Sums along the last axis run in blocks whose partial sums are combined pairwise, as NumPy
does, so the error grows with the logarithm of the length; the order is fixed.

Source of the cascade: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
SIAM 2002, section 4.2 (pairwise summation), as a binary counter of partial sums.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from .._graph import Node
from .._shapes import Shape
from ._emitter import Emitter, Module, constant_text, llvm_type
from ._plan import Nest, Store, contraction_sizes
from ._values import Place, Values

BLOCK = 256


@dataclass
class Frame:
    """The parameters of a function under construction: buffers, slots and sizes it uses."""

    place: Callable[[Node], Place | None]
    result: Callable[[int], Place]
    sizes: tuple[sp.Symbol, ...]
    pointers: dict[str, None] = field(default_factory=dict)

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


class Loops:
    """The loops over a domain; loops of length one are not made."""

    def __init__(self, emitter: Emitter, domain: Shape) -> None:
        self.emitter, self.domain = emitter, domain
        self.index: list[Any] = []
        for depth, extent in enumerate(domain):
            if isinstance(extent, int) and extent == 1:
                self.index.append(0)
            else:
                symbol = loop_symbol(depth)
                emitter.bind_index(symbol, f"%i{depth}", depth + 1)
                self.index.append(symbol)

    def assemble(
        self,
        before: dict[int, list[str]],
        after: dict[int, list[str]],
        blocked: tuple[list[str], list[str]] | None,
    ) -> list[str]:
        """Return the function body: the emitter's lines wrapped in loops.

        ``before[d]`` and ``after[d]`` run before and after the loop at depth ``d``;
        ``blocked`` (start, end of a block) splits the innermost loop.
        """
        extents = [self.emitter.index(d) for d in self.domain]
        lines = ["entry:", *self.emitter.lines[0]]
        label = "entry"
        closing: list[list[str]] = []
        rank = len(self.domain)
        for depth in range(rank):
            lines += before.get(depth, [])
            if self.index[depth] == 0:
                lines += self.emitter.lines[depth + 1]
                closing.append(after.get(depth, []))
                continue
            split = blocked if depth == rank - 1 else None
            opened, label, closed = self._loop(depth, label, extents[depth], split)
            lines += opened + self.emitter.lines[depth + 1]
            closing.append(closed + after.get(depth, []))
        for part in reversed(closing):
            lines += part
        return [*lines, "  ret void"]

    def _loop(
        self, depth: int, label: str, extent: str, blocked: tuple[list[str], list[str]] | None
    ) -> tuple[list[str], str, list[str]]:
        i, body, done = f"%i{depth}", f"body{depth}", f"done{depth}"
        if blocked is None:
            return (
                [
                    f"  %any{depth} = icmp sgt i64 {extent}, 0",
                    f"  br i1 %any{depth}, label %{body}, label %{done}",
                    f"{body}:",
                    f"  {i} = phi i64 [ 0, %{label} ], [ {i}.next, %latch{depth} ]",
                ],
                body,
                [
                    f"  br label %latch{depth}",
                    f"latch{depth}:",
                    f"  {i}.next = add nuw nsw i64 {i}, 1",
                    f"  {i}.more = icmp slt i64 {i}.next, {extent}",
                    f"  br i1 {i}.more, label %{body}, label %{done}",
                    f"{done}:",
                ],
            )
        start, end = blocked
        block = f"%block{depth}"
        return (
            [
                f"  %any{depth} = icmp sgt i64 {extent}, 0",
                f"  br i1 %any{depth}, label %open{depth}, label %{done}",
                f"open{depth}:",
                f"  {block} = phi i64 [ 0, %{label} ], [ {block}.next, %close{depth} ]",
                *start,
                f"  {block}.next = add nuw nsw i64 {block}, {BLOCK}",
                f"  {block}.end = call i64 @llvm.smin.i64(i64 {block}.next, i64 {extent})",
                f"  br label %{body}",
                f"{body}:",
                f"  {i} = phi i64 [ {block}, %open{depth} ], [ {i}.next, %{body}.latch ]",
            ],
            body,
            [
                f"  br label %{body}.latch",
                f"{body}.latch:",
                f"  {i}.next = add nuw nsw i64 {i}, 1",
                f"  {i}.more = icmp slt i64 {i}.next, {block}.end",
                f"  br i1 {i}.more, label %{body}, label %close{depth}",
                f"close{depth}:",
                *end,
                f"  {block}.more = icmp slt i64 {block}.next, {extent}",
                f"  br i1 {block}.more, label %open{depth}, label %{done}",
                f"{done}:",
            ],
        )


# ---------------------------------------------------------------- reductions


def identity_of(combine: str, dtype: np.dtype[Any]) -> Any:
    """Return the value that a reduction starts from."""
    if combine in ("maximum", "minimum", "argmax", "argmin"):
        largest = combine.endswith("max") or combine == "maximum"
        if dtype.kind == "f":
            return -np.inf if largest else np.inf
        if dtype.kind == "b":
            return not largest
        info = np.iinfo(dtype)
        return info.min if largest else info.max
    return {"add": 0, "multiply": 1, "or": False, "and": True}[combine]


def combine(e: Emitter, how: str, dtype: np.dtype[Any], a: str, b: str) -> str:
    """Emit one combining step of a reduction."""
    kind = llvm_type(dtype)
    real = dtype.kind == "f"
    if how in ("add", "multiply"):
        word = {"add": "add", "multiply": "mul"}[how]
        if dtype.kind == "b":
            return e.op(f"{'or' if how == 'add' else 'and'} i1 {a}, {b}")
        return e.op(f"{'f' + word + ' reassoc' if real else word} {kind} {a}, {b}")
    if how in ("or", "and"):
        return e.op(f"{how} i1 {a}, {b}")
    if real:
        return e.call_intrinsic(how, dtype, a, b)
    sign = "u" if dtype.kind in "ub" else "s"
    return e.call_intrinsic(f"{sign}{'max' if how == 'maximum' else 'min'}", dtype, a, b)


@dataclass
class Reduction:
    """One reduction of a nest: the axes it folds and how its operand is computed."""

    node: Node
    axes: tuple[int, ...]
    value: Callable[[Values, tuple[Any, ...]], str]
    how: str
    dtype: np.dtype[Any]


def describe(node: Node) -> Reduction:
    """Return what to fold for a reduction or contraction node."""
    if node.op.kind == "reduce":
        operand = node.operands[0]
        assert node.op.combine is not None
        return Reduction(node, node.params["axes"], lambda v, i: v.get(operand, i),
                         node.op.combine, operand.dtype)  # fmt: skip
    letters = list(contraction_sizes(node))
    p = node.params

    def product(values: Values, index: tuple[Any, ...]) -> str:
        at = dict(zip(letters, index, strict=True))
        a, b = (
            values.get(x, tuple(0 if d == 1 and isinstance(d, int) else at[s]
                                for s, d in zip(p[k], x.shape, strict=True)))
            for k, x in zip("ab", node.operands, strict=True)
        )  # fmt: skip
        e = values.emitter
        e.depth = e.depth_of(a, b)
        word = "fmul" if node.dtype.kind == "f" else "mul"
        name = e.op(f"{word} {llvm_type(node.dtype)} {a}, {b}")
        e.depth = 0
        return name

    axes = tuple(k for k, s in enumerate(letters) if s not in p["out"])
    return Reduction(node, axes, product, "add", node.dtype)


def result_index(reduction: Reduction, index: list[Any]) -> tuple[Any, ...]:
    """Return the index of the result that an index of the domain is folded into."""
    node = reduction.node
    if node.op.kind == "contract":
        at = dict(zip(contraction_sizes(node), index, strict=True))
        return tuple(at[s] for s in node.params["out"])
    return tuple(i for k, i in enumerate(index) if k not in reduction.axes)


class NestWriter:
    """Writes one nest as one function."""

    def __init__(
        self, module: Module, name: str, nest: Nest, frame: Frame, internal: bool = True
    ) -> None:
        self.name, self.nest, self.frame, self.internal = name, nest, frame, internal
        self.rank = len(nest.domain)
        self.emitter = Emitter(module, self.rank)
        for size in frame.sizes:
            self.emitter.bind_index(size, f"%{size.name}", 0)
        self.loops = Loops(self.emitter, nest.domain)
        self.index = tuple(self.loops.index)
        copied = {s.node for s in nest.stores if s.part is None and s.output is None}
        self.values = Values(
            self.emitter, frame.using, copied | set(nest.nodes), self.index, frame.status
        )
        self.before: dict[int, list[str]] = {}
        self.after: dict[int, list[str]] = {}
        self.block: tuple[list[str], list[str]] = ([], [])
        self.blocked = False

    def write(self, stored: dict[Node, None]) -> None:
        """Emit all nodes, stores and reductions, and add the function to the module."""
        e, depth = self.emitter, self.rank
        for node in self.nest.nodes:
            value = self.values.get(node, self.index)
            place = self.frame.using(node) if node in stored else None
            if place is not None:
                self.values.store(place, self.index, node.shape, value, depth)
        for reduction in map(describe, self.nest.reductions):
            self.reduce(reduction)
        for store in self.nest.stores:
            value = self.values.get(store.node, self.index)
            place = self.frame.using_output(store)
            if store.part is None:
                self.values.store(place, self.index, store.target.shape, value, depth)
            else:
                self.put(store.target, store.part, place, value)
        body = self.loops.assemble(
            self.before, self.after, self.block if self.blocked else None
        )
        if self.blocked:
            e.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        e.module.functions.append(function_text(self.name, self.frame, body, self.internal))

    def put(self, target: Node, part: int, place: Place, value: str) -> None:
        """Write an element of a part into the whole, adding where parts may overlap."""
        e, op = self.emitter, target.op
        assert op.place is not None
        first = 1 if op.kind == "scatter" else len(target.operands)
        index = self.values.computed_index(
            functools.partial(op.place, part, self.index, **target.params), target, first
        )
        if op.kind == "assemble" and target.params.get("disjoint", True):
            self.values.store(place, index, target.shape, value, self.rank)
            return
        pointer = self.values.address(place, index, target.shape)
        e.depth = self.rank
        kind = llvm_type(place.dtype)
        before = e.op(f"load {kind}, ptr {pointer}")
        total = combine(e, "add", place.dtype, before, value)
        e.line(f"store {kind} {total}, ptr {pointer}")
        e.depth = 0

    # ---------------------------------------------------------------- reductions

    def reduce(self, r: Reduction) -> None:
        """Fold into a register where the folded loops are the innermost, else into memory."""
        value = r.value(self.values, self.index)
        place = self.frame.using(r.node)
        assert place is not None
        suffix = tuple(range(self.rank - len(r.axes), self.rank))
        if r.axes and r.axes == suffix:
            self.in_register(r, place, value)
        else:
            index = result_index(r, self.loops.index)
            pointer = self.values.address(place, index, r.node.shape)
            self.fold(r, pointer, value)

    def fold(self, r: Reduction, pointer: str, value: str) -> None:
        e = self.emitter
        e.depth = self.rank
        kind = "i8" if r.dtype.kind == "b" else llvm_type(r.dtype)
        before = e.op(f"load {kind}, ptr {pointer}")
        if kind == "i8" and r.dtype.kind == "b":
            before = e.op(f"trunc i8 {before} to i1")
        total = combine(e, r.how, r.dtype, before, value)
        if r.dtype.kind == "b":
            total = e.op(f"zext i1 {total} to i8")
        e.line(f"store {kind} {total}, ptr {pointer}")
        e.depth = 0

    def in_register(self, r: Reduction, place: Place, value: str) -> None:
        e, start = self.emitter, self.rank - len(r.axes)
        kind = "i8" if r.dtype.kind == "b" else llvm_type(r.dtype)
        e.depth = 0
        total = e.op(f"alloca {kind}")
        if r.how in ("argmax", "argmin"):
            self.arg(r, place, value, total, start)
            return
        zero = constant_text(identity_of(r.how, r.dtype), r.dtype)
        zero = {"true": "1", "false": "0"}.get(zero, zero)
        opening = [f"  store {kind} {zero}, ptr {total}"]
        self.fold(r, total, value)
        cascade = r.how == "add" and r.dtype.kind == "f" and self.loops.index[-1] != 0
        cascade = cascade and not self.short(r.axes)
        if not cascade:
            self.before.setdefault(start, []).extend(opening)
            self.finish(r, place, [(f"load {kind}, ptr {total}")], start)
            return
        self.blocked = True
        helper = cascade_functions(e.module, kind)
        e.depth = 0
        stack, counter = e.op(f"alloca [64 x {kind}]"), e.op("alloca i64")
        self.before.setdefault(start, []).append(f"  store i64 0, ptr {counter}")
        self.block[0].extend(opening)
        part = e.label("%part")
        self.block[1].extend([
            f"  {part} = load {kind}, ptr {total}",
            f"  call void @{helper}.push(ptr {stack}, ptr {counter}, {kind} {part})",
        ])  # fmt: skip
        self.finish(r, place, [f"call {kind} @{helper}.sum(ptr {stack}, ptr {counter})"], start)

    def short(self, axes: tuple[int, ...]) -> bool:
        """Tell whether the folded length is fixed and no longer than a block."""
        count = 1
        for k in axes:
            extent = self.nest.domain[k]
            if not isinstance(extent, int):
                return False
            count *= extent
        return count <= BLOCK

    def finish(self, r: Reduction, place: Place, load: list[str], start: int) -> None:
        """Store the folded value after the loop at ``start``."""
        e = self.emitter
        index = result_index(r, self.loops.index)
        pointer = self.values.address(place, index, r.node.shape)
        name = e.label("%total")
        kind = "i8" if place.dtype.kind == "b" else llvm_type(place.dtype)
        self.after.setdefault(start, [])[:0] = [
            f"  {name} = {load[0]}",
            f"  store {kind} {name}, ptr {pointer}",
        ]

    def arg(self, r: Reduction, place: Place, value: str, best: str, start: int) -> None:
        """Keep the first extremum's value and position; nan counts as extreme, as in NumPy."""
        e, kind = self.emitter, llvm_type(r.dtype)
        where = e.op("alloca i64")
        zero = constant_text(identity_of(r.how, r.dtype), r.dtype)
        self.before.setdefault(start, []).extend(
            [f"  store {kind} {zero}, ptr {best}", f"  store i64 -1, ptr {where}"]
        )
        e.depth = self.rank
        seen, position = e.op(f"load {kind}, ptr {best}"), e.op(f"load i64, ptr {where}")
        word = "gt" if r.how == "argmax" else "lt"
        first = e.op(f"icmp slt i64 {position}, 0")
        if r.dtype.kind == "f":
            # Unordered: a nan value wins, unless the best so far is nan already.
            wins = e.op(f"fcmp u{word} {kind} {value}, {seen}")
            number = e.op(f"fcmp ord {kind} {seen}, {seen}")
            wins = e.op(f"and i1 {wins}, {number}")
        else:
            wins = e.op(f"icmp {'u' if r.dtype.kind in 'ub' else 's'}{word} {kind} {value}, {seen}")
        wins = e.op(f"or i1 {wins}, {first}")
        e.depth = 0
        here = e.index(self.loops.index[-1])
        e.depth = self.rank
        kept = e.op(f"select i1 {wins}, {kind} {value}, {kind} {seen}")
        moved = e.op(f"select i1 {wins}, i64 {here}, i64 {position}")
        e.line(f"store {kind} {kept}, ptr {best}")
        e.line(f"store i64 {moved}, ptr {where}")
        e.depth = 0
        self.finish(r, place, [f"load i64, ptr {where}"], start)


def function_text(name: str, frame: Frame, body: list[str], internal: bool = True) -> str:
    """Return a function of the frame's pointers and sizes as text."""
    parameters = [f"ptr noalias {p}" for p in frame.pointers]
    parameters += [f"i64 %{s.name}" for s in frame.sizes]
    linkage = "internal " if internal else ""
    head = f"define {linkage}void @{name}({', '.join(parameters)}) #0 {{"
    return "\n".join([head, *body, "}\n"])


def parameter_types(frame: Frame) -> list[str]:
    """Return the types of a task's parameters."""
    return ["ptr noalias"] * len(frame.pointers) + ["i64"] * len(frame.sizes)


def cascade_functions(module: Module, kind: str) -> str:
    """Add the pairwise-summation helpers for an element type; return their prefix."""
    name = f"cascade.{kind}"
    text = CASCADE.replace("TYPE", kind).replace("NAME", name)
    text = text.replace("ZERO", constant_text(0, "f" if kind == "float" else "d"))
    if text not in module.functions:
        module.functions.insert(0, text)
    return name


#: A binary counter: the stack holds sums of 2^k blocks for the ones in the block count.
CASCADE = """define internal void @NAME.push(ptr %stack, ptr %counter, TYPE %value) #0 {
entry:
  %count = load i64, ptr %counter
  %next = add i64 %count, 1
  store i64 %next, ptr %counter
  br label %loop
loop:
  %sum = phi TYPE [ %value, %entry ], [ %more, %carry ]
  %bits = phi i64 [ %count, %entry ], [ %rest, %carry ]
  %level = phi i64 [ 0, %entry ], [ %up, %carry ]
  %odd = and i64 %bits, 1
  %full = icmp ne i64 %odd, 0
  %place = getelementptr inbounds TYPE, ptr %stack, i64 %level
  br i1 %full, label %carry, label %done
carry:
  %other = load TYPE, ptr %place
  %more = fadd TYPE %other, %sum
  %rest = lshr i64 %bits, 1
  %up = add i64 %level, 1
  br label %loop
done:
  store TYPE %sum, ptr %place
  ret void
}

define internal TYPE @NAME.sum(ptr %stack, ptr %counter) #0 {
entry:
  %count = load i64, ptr %counter
  br label %loop
loop:
  %sum = phi TYPE [ ZERO, %entry ], [ %after, %next ]
  %bits = phi i64 [ %count, %entry ], [ %rest, %next ]
  %level = phi i64 [ 0, %entry ], [ %up, %next ]
  %more = icmp ne i64 %bits, 0
  br i1 %more, label %test, label %done
test:
  %odd = and i64 %bits, 1
  %full = icmp ne i64 %odd, 0
  br i1 %full, label %add, label %next
add:
  %place = getelementptr inbounds TYPE, ptr %stack, i64 %level
  %part = load TYPE, ptr %place
  %total = fadd TYPE %part, %sum
  br label %next
next:
  %after = phi TYPE [ %sum, %test ], [ %total, %add ]
  %rest = lshr i64 %bits, 1
  %up = add i64 %level, 1
  br label %loop
done:
  ret TYPE %sum
}
"""

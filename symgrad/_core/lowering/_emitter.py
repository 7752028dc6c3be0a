"""Writing a function's instructions: types, constants, calls, index arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sympy as sp

from ...errors import UnsupportedError
from ..base.size_text import fraction_of
from ..base.sizes import WideError
from ..op import Cython
from ..runtime import OTHER_BRANCH, Function, cython_symbol
from ..runtime.interface import constant_text, llvm_type
from . import _instructions as asm
from ._instructions import Instruction
from ._llvm_module import Module
from ._simd_variants import PURE, libm_name


def _size_register(size: Any) -> str:
    # Sizes are called after the user's arguments, t1 for instance; registers are ours to name.
    return f"%size.{size.name}"


def size_parameters(sizes: Sequence[Any]) -> list[str]:
    """Return the parameters, or arguments, that pass sizes between functions."""
    return [f"i64 {_size_register(s)}" for s in sizes]


#: Bytes of a cache line, and of the longest vector.
LINE = 64


#: Put behind a load or a store in an innermost loop that touches nothing that another step of
#: the loop writes. A loop of nothing else vectorises without a comparison of its accesses: LLVM
#: gives that up from 250 pointers on (``-alias-set-saturation-threshold``).
INDEPENDENT = ", !llvm.access.group !0"


#: A loop over conditions. One by one they would be a chain through the status, of which LLVM's
#: passes look at all that is before, for each of hundreds.
ALL_TRUE = """define internal i1 @all_true(ptr %first, i64 %count) #0 {
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %before = phi i8 [ 1, %entry ], [ %all, %body ]
  %p = getelementptr inbounds i64, ptr %first, i64 %k
  %holds = load i8, ptr %p
  %all = and i8 %before, %holds
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %body, label %done
done:
  %true = icmp ne i8 %all, 0
  ret i1 %true
}
"""


class Emitter:
    """Writes the body of one function, with a list of lines for each loop depth.

    A value goes to the shallowest depth at which everything it depends on is known, so
    loop-invariant work leaves the loops by construction.
    """

    def __init__(self, module: Module, depth: int = 0) -> None:
        self.module = module
        self.lines: list[list[Instruction]] = [[] for _ in range(depth + 1)]
        self.depth = 0
        self.count = 0
        self.depths: dict[str | int, int] = {}
        #: Whether what is computed is an element of an array, or else a number.
        self.elements = False
        self._indices: dict[Any, str] = {}
        self._callees: dict[str, str] = {}

    # ---------------------------------------------------------------- instructions

    def add(self, instruction: Instruction) -> str:
        """Append an instruction; return its result."""
        result, depth = instruction[0], self.depth
        self.lines[depth].append(instruction)
        if depth and result:
            self.depths[result] = depth
        return result

    def fresh(self) -> str:
        """Return a new register."""
        self.count += 1
        return f"%t{self.count}"

    def op(self, opcode: str, kind: str, *operands: str | int, name: str = "") -> str:
        """Append arithmetic or a comparison on values of one type; return its result."""
        if not name:
            self.count += 1
            name = f"%t{self.count}"
        depth, given = self.depth, tuple(map(str, operands))
        self.lines[depth].append(Instruction(name, opcode, kind, given))
        if depth:
            self.depths[name] = depth
        return name

    def cast(self, opcode: str, source: str, value: str | int, kind: str, name: str = "") -> str:
        """Append the conversion of a value of the type ``source``; return its result."""
        given = (str(value),)
        return self.add(Instruction(name or self.fresh(), opcode, kind, given, (source,)))

    def select(self, condition: str, kind: str, yes: str | int, no: str | int) -> str:
        """Append the choice between two values; return it."""
        return self.add(asm.select(self.fresh(), condition, kind, str(yes), str(no)))

    def load(self, kind: str, pointer: str, more: str = "", name: str = "") -> str:
        """Append the reading of a value from memory; return it."""
        return self.add(asm.load(name or self.fresh(), kind, pointer, more))

    def store(self, kind: str, value: str | int, pointer: str, more: str = "") -> None:
        """Append the writing of a value to memory."""
        self.lines[self.depth].append(asm.store(kind, str(value), pointer, more))

    def element(
        self, kind: str, pointer: str, *index: str | int, inbounds: bool = True, name: str = ""
    ) -> str:
        """Append the pointer to an element of an array; return it."""
        place = map(str, index)
        return self.add(asm.element(name or self.fresh(), kind, pointer, *place, inbounds=inbounds))

    def alloca(self, kind: str, more: str = "", name: str = "") -> str:
        """Append memory in the function's frame; return the pointer to it."""
        return self.add(Instruction(name or self.fresh(), "alloca", kind, more=more))

    def on_stack(self, size: Any, name: str = "") -> str:
        """Append so many bytes, a known number, in the function's frame; return the pointer.

        Arrays of whole lines begin with one: a vector that lies across two is loaded in two parts,
        and where the frame lies is chance.
        """
        count = max(int(size), 1)
        return self.alloca(f"[{count} x i8]", f", align {LINE if count >= LINE else 16}", name)

    def call(
        self, kind: str, function: str, arguments: Iterable[str], more: str = "", name: str = ""
    ) -> str:
        """Append a call; return its result, "" of ``void``. Arguments stand behind their types."""
        result = "" if kind == "void" else name or self.fresh()
        return self.add(asm.call(result, kind, function, arguments, more))

    def jump(self, to: str, more: str = "") -> None:
        """End the block: another one follows."""
        self.add(asm.jump(to, more))

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End the block: one of two follows."""
        self.add(asm.branch(condition, yes, no))

    def ret(self, kind: str = "void", *value: str) -> None:
        """End the function."""
        self.add(asm.ret(kind, *value))

    def switch(self, index: str, labels: Sequence[str]) -> None:
        """End the block: that of a number follows, the last for all numbers beyond."""
        cases = [x for k, to in enumerate(labels) for x in (str(k), f"%{to}")]
        types = ("i64", "label") * (len(labels) + 1)
        operands = (index, f"%{labels[-1]}", *cases)
        self.add(Instruction("", "switch", "", operands, types))

    def field(self, kind: str, pointer: str, number: int) -> str:
        """Append the pointer to a field of a structure; return it."""
        opcode, operands = "getelementptr inbounds", (pointer, "0", str(number))
        return self.add(Instruction(self.fresh(), opcode, kind, operands, ("ptr", "i32", "i32")))

    def part(self, whole: str, value: str, number: int, kind: str) -> str:
        """Append a part, of a type, of a value of several; return it."""
        operands = value, str(number)
        return self.add(Instruction(self.fresh(), "extractvalue", kind, operands, (whole, "")))

    def put(self, whole: str, value: str, kind: str, part: str, number: int) -> str:
        """Append a value of several with another part; return it."""
        operands = value, part, str(number)
        return self.add(
            Instruction(self.fresh(), "insertvalue", whole, operands, (whole, kind, ""))
        )

    def put_lane(self, vector: str, value: str, kind: str, part: str, lane: int) -> str:
        """Append a vector with another element; return it."""
        operands, types = (value, part, str(lane)), (vector, kind, "i64")
        return self.add(Instruction(self.fresh(), "insertelement", vector, operands, types))

    def shuffle(self, vector: str, first: str, second: str, lanes: str, order: str) -> str:
        """Append the elements of two vectors in an order, of the type ``lanes``; return them."""
        operands, types = (first, second, order), (vector, vector, lanes)
        return self.add(Instruction(self.fresh(), "shufflevector", vector, operands, types))

    def update(self, how: str, pointer: str, kind: str, value: str) -> None:
        """Append the combination of a value with one in memory that threads share."""
        operands, types = (pointer, value), ("ptr", kind)
        opcode = f"atomicrmw {how}"
        self.add(Instruction(self.fresh(), opcode, kind, operands, types, " monotonic"))

    def begin(self, name: str) -> None:
        """Begin a block."""
        self.lines[self.depth].append(asm.label(name))

    def label(self, text: str) -> str:
        """Return a fresh label name."""
        self.count += 1
        return f"{text}{self.count}"

    type = staticmethod(llvm_type)
    const = staticmethod(lambda value, dtype: constant_text(value, dtype))

    def depth_of(self, *values: str | int) -> int:
        """Return the deepest loop depth at which one of ``values`` is defined."""
        deepest, depths = 0, self.depths
        if depths:
            for value in values:
                depth = depths.get(value, 0)
                if depth > deepest:
                    deepest = depth
        return deepest

    def entry(self, numbers: tuple[float, ...], place: str) -> str:
        """Load the number at a place, an ``i64``, of a table of constants."""
        table = self.module.table(numbers)
        kind = f"[{len(numbers)} x double]"
        pointer = self.element(kind, table, "0", place)
        return self.load("double", pointer, INDEPENDENT if self.depth else "")

    # ---------------------------------------------------------------- calls

    def callee(self, symbol: str) -> str:
        """Return what to call for an external function."""
        if not self.module.by_pointer:
            return f"@{symbol}"
        known = self._callees.get(symbol)
        if known is None:
            known = self._callees[symbol] = f"%at.{symbol}"
            self.lines[0].append(asm.load(known, "ptr", self.module.pointer(symbol)))
        return known

    def call_intrinsic(self, name: str, dtype: Any, *values: str) -> str:
        """Call ``llvm.<name>`` on values of one type."""
        kind = llvm_type(dtype)
        short = {"float": "f32", "double": "f64"}.get(kind, kind)
        full = f"llvm.{name}.{short}"
        extra = ["i1 false"] if name == "abs" else []
        arguments = [f"{kind} {v}" for v in values] + extra
        self.module.declare(full, kind, [kind] * len(values) + ["i1"] * len(extra))
        return self.call(kind, f"@{full}", arguments)

    def least(self, a: str, b: str | int, word: str = "smin") -> str:
        """Return the smaller of two sizes; the larger for ``"smax"``."""
        self.module.declare(f"llvm.{word}.i64", "i64", ["i64", "i64"])
        return self.call("i64", f"@llvm.{word}.i64", [f"i64 {a}", f"i64 {b}"])

    @contextmanager
    def counted(
        self, cell: str, first: str, end: str | int, step: int = 1, stays: bool = False
    ) -> Iterator[str]:
        """Write the block for the values of a variable from ``first`` on, below ``end``.

        ``stays``: the loop has few turns, or takes vectors itself; LLVM makes none of it.
        """
        head, body, done = map(self.label, ("turn.head", "turn.body", "turn.done"))
        self.store("i64", first, cell)
        self.jump(head)
        self.begin(head)
        k = self.load("i64", cell)
        self.branch(self.op("icmp slt", "i64", k, end), body, done)
        self.begin(body)
        yield k
        self.store("i64", self.op("add", "i64", k, step), cell)
        self.jump(head, self.module.loop(1) if stays else "")
        self.begin(done)

    def require(self, conditions: Collection[tuple[str, int]]) -> None:
        """Set the status unless what lies in these slots, memory and number, is true."""
        rows: list[tuple[str, int, int]] = []  # of places one beside the other: the first, how many
        for pointer, slot in sorted(conditions):
            base, first, count = rows[-1] if rows else ("", 0, 0)
            if (base, first + count) == (pointer, slot):
                rows[-1] = base, first, count + 1
            else:
                rows.append((pointer, slot, 1))
        for base, first, count in rows:
            self.module.helper(ALL_TRUE)
            place = self.element("i64", base, first)
            holds = self.call("i1", "@all_true", [f"ptr {place}", f"i64 {count}"])
            code = self.select(holds, "i32", "0", OTHER_BRANCH)
            total = self.op("or", "i32", self.load("i32", "%status"), code)
            self.store("i32", total, "%status")

    def copy(self, target: str, source: str, size: str) -> None:
        """Copy so many bytes."""
        self.module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        arguments = [f"ptr {target}", f"ptr {source}", f"i64 {size}", "i1 0"]
        self.call("void", "@llvm.memcpy.p0.p0.i64", arguments)

    def call_simd(self, name: str, dtype: Any, *values: str) -> str:
        """Call a SIMD function for one element, with its variants attached; "" if there is none."""
        symbol, variants = self.module.simd(name, dtype, len(values))
        return self._mathematics(f"@{symbol}", variants, dtype, *values) if symbol else ""

    def call_libm(self, name: str, dtype: Any, *values: str) -> str:
        """Call a C mathematics function; for elements of arrays its SIMD twin, where it has one.

        For all of them, whether they are computed in registers or one by one: so the bits of an
        element do not depend on its place.
        """
        found = self.call_simd(name, dtype, *values) if self.elements else ""
        if found:
            return found
        symbol = libm_name(name, dtype)
        self.module.declare(symbol, llvm_type(dtype), [llvm_type(dtype)] * len(values))
        return self._mathematics(self.callee(symbol), "", dtype, *values)

    def _mathematics(self, callee: str, variants: str, dtype: Any, *values: str) -> str:
        kind = llvm_type(dtype)
        named = f' "vector-function-abi-variant"="{variants}"' if variants else ""
        group = self.module.attribute(f"{PURE}{named}")
        return self.call(kind, callee, [f"{kind} {v}" for v in values], f" {group}")

    def call_cython(self, function: Cython, *values: str) -> str:
        """Call a function of ``scipy.special.cython_special`` (float64)."""
        symbol = cython_symbol(Function("scipy.special.cython_special", function.name))
        self.module.symbols.add(symbol)
        arguments = [f"double {v}" for v in values]
        if function.results == 1:
            self.module.declare(symbol, "double", ["double"] * len(values) + ["i32"])
            group = self.module.attribute("nounwind willreturn memory(none)")
            return self.call("double", self.callee(symbol), [*arguments, "i32 0"], f" {group}")
        self.module.declare(symbol, "void", ["double"] * len(values) + ["ptr"] * function.results)
        before, self.depth = self.depth, 0  # memory is taken once, before all loops
        cells = [self.alloca("double") for _ in range(function.results)]
        self.depth = before
        given = [*arguments, *(f"ptr {c}" for c in cells)]
        self.call("void", self.callee(symbol), given)
        return self.load("double", cells[function.part])

    # ---------------------------------------------------------------- sizes and indices

    def bind_index(self, symbol: Any, name: str, depth: int) -> None:
        """Say which register holds an index or size symbol, and from which depth on."""
        self._indices[symbol] = name
        if depth:
            self.depths[name] = depth

    def bind_sizes(self, sizes: Sequence[Any]) -> None:
        """Let size symbols stand for the parameters of :func:`size_parameters`."""
        for size in sizes:
            self.bind_index(size, _size_register(size), 0)

    def index(self, expr: Any) -> str:
        """Return an ``i64`` register or constant with the value of an index expression."""
        if isinstance(expr, int):
            if not -(1 << 63) <= expr < 1 << 63:
                raise WideError.of(expr)
            return str(expr)
        known = self._indices.get(expr)
        if known is not None:
            return known
        if expr.is_Integer:
            return self.index(int(expr))
        value = self._index(expr)
        self._indices[expr] = value
        return value

    def _at(self, opcode: str, kind: str, *values: str | int) -> str:
        """Append arithmetic at the depth at which its operands are known."""
        with self.depth_at(*values):
            return self.op(opcode, kind, *values)

    @contextmanager
    def depth_at(self, *values: str | int) -> Iterator[None]:
        """Append to the shallowest depth at which ``values`` are known."""
        before, self.depth = self.depth, self.depth_of(*values)
        try:
            yield
        finally:
            self.depth = before

    def _choice(self, condition: str, yes: str | int, no: str) -> str:
        with self.depth_at(condition, yes, no):
            return self.select(condition, "i64", yes, no)

    def _index(self, e: Any) -> str:
        if isinstance(e, (sp.Add, sp.Mul)):
            word = "add" if isinstance(e, sp.Add) else "mul"
            if isinstance(e, sp.Mul) and not e.args[0].is_Integer and e.args[0].is_Rational:
                return self._divide(e, sp.denom(e.args[0]))
            # Loop-invariant terms first, so that they are added outside of the loop.
            parts = sorted((self.index(a) for a in e.args), key=self.depth_of)
            total = parts[0]
            for part in parts[1:]:
                total = self._at(f"{word} nsw", "i64", total, part)
            return total
        if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp > 0:
            return self.index(sp.Mul(*([e.base] * int(e.exp)), evaluate=False)) if e.exp < 2 else (
                self._power(e)
            )  # fmt: skip
        if isinstance(e, sp.floor):
            return self._floor_divide(*fraction_of(e.args[0]))
        if isinstance(e, sp.Mod):
            a, b = self.index(e.args[0]), self.index(e.args[1])
            quotient = self._floor_divide(*e.args)
            product = self._at("mul nsw", "i64", quotient, b)
            return self._at("sub nsw", "i64", a, product)
        if isinstance(e, (sp.Min, sp.Max)):
            word = "smin" if isinstance(e, sp.Min) else "smax"
            self.module.declare(f"llvm.{word}.i64", "i64", ["i64", "i64"])
            values = [self.index(a) for a in e.args]
            total = values[0]
            for v in values[1:]:
                with self.depth_at(total, v):
                    total = self.least(total, v, word)
            return total
        raise UnsupportedError(f"a size or index expression cannot be compiled: {e}")

    def _power(self, e: Any) -> str:
        base = self.index(e.base)
        total = base
        for _ in range(int(e.exp) - 1):
            total = self._at("mul nsw", "i64", total, base)
        return total

    def _divide(self, e: Any, denominator: Any) -> str:
        return self._floor_divide(e * denominator, denominator)

    def _floor_divide(self, numerator: Any, denominator: Any) -> str:
        """Floor division as Python's; guards keep divisors from being 0."""
        a, b = self.index(numerator), self.index(denominator)
        positive = getattr(denominator, "is_positive", None)
        if not positive:
            # Guards are checked only after the sizes are computed: no trap before.
            zero = self._at("icmp eq", "i64", b, 0)
            b = self._choice(zero, 1, b)
        if positive and getattr(numerator, "is_nonnegative", None):
            return self._at("udiv", "i64", a, b)
        quotient = self._at("sdiv", "i64", a, b)
        remainder = self._at("srem", "i64", a, b)
        signs = self._at("xor", "i64", remainder, b)
        opposite = self._at("icmp slt", "i64", signs, 0)
        inexact = self._at("icmp ne", "i64", remainder, 0)
        down = self._at("and", "i1", opposite, inexact)
        lower = self._at("sub", "i64", quotient, 1)
        return self._choice(down, lower, quotient)

    def relation(self, relation: Any) -> str:
        """Return an ``i1`` with the truth of a relation between sizes."""
        if relation in (sp.true, sp.false):
            return "true" if relation == sp.true else "false"
        word = {sp.Eq: "eq", sp.Ne: "ne", sp.Lt: "slt", sp.Le: "sle", sp.Gt: "sgt", sp.Ge: "sge"}
        a, b = self.index(relation.lhs), self.index(relation.rhs)
        return self._at(f"icmp {word[relation.func]}", "i64", a, b)

"""Writing LLVM IR as text: types, constants, calls, index arithmetic.

The modules are small enough in kinds of instruction that text is the clearest form: it is
what ``sg.show`` shows, it is fast to make, and LLVM's own parser checks it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sympy as sp

from ...errors import UnsupportedError
from ..base.size_text import fraction_of
from ..op import Cython
from ..runtime import OTHER_BRANCH, Function, cython_symbol
from ..runtime.interface import constant_text, llvm_type
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


def on_stack(size: Any) -> str:
    """Return the allocation of so many bytes, a known number, in a function's frame.

    Arrays of whole lines begin with one: a vector that lies across two is loaded in two parts,
    and where the frame lies is chance.
    """
    count = max(int(size), 1)
    return f"alloca [{count} x i8], align {LINE if count >= LINE else 16}"


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
        self.lines: list[list[str]] = [[] for _ in range(depth + 1)]
        self.depth = 0
        self.count = 0
        self.depths: dict[str, int] = {}
        #: Whether what is computed is an element of an array, or else a number.
        self.elements = False
        self._indices: dict[Any, str] = {}
        self._callees: dict[str, str] = {}

    # ---------------------------------------------------------------- instructions

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines[self.depth].append(f"  {text}")

    def op(self, text: str, _type: str | None = None) -> str:
        """Append an instruction and return the name of its result."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines[self.depth].append(f"  {name} = {text}")
        if self.depth:
            self.depths[name] = self.depth
        return name

    def label(self, text: str) -> str:
        """Return a fresh label name."""
        self.count += 1
        return f"{text}{self.count}"

    type = staticmethod(llvm_type)
    const = staticmethod(lambda value, dtype: constant_text(value, dtype))

    def depth_of(self, *values: str) -> int:
        """Return the deepest loop depth at which one of ``values`` is defined."""
        return max((self.depths.get(v, 0) for v in values), default=0)

    def entry(self, numbers: tuple[float, ...], place: str) -> str:
        """Load the number at a place, an ``i64``, of a table of constants."""
        table = self.module.table(numbers)
        kind = f"[{len(numbers)} x double]"
        pointer = self.op(f"getelementptr inbounds {kind}, ptr {table}, i64 0, i64 {place}")
        return self.op(f"load double, ptr {pointer}{INDEPENDENT if self.depth else ''}")

    # ---------------------------------------------------------------- calls

    def callee(self, symbol: str) -> str:
        """Return what to call for an external function."""
        if not self.module.by_pointer:
            return f"@{symbol}"
        known = self._callees.get(symbol)
        if known is None:
            known = self._callees[symbol] = f"%at.{symbol}"
            self.lines[0].append(f"  {known} = load ptr, ptr {self.module.pointer(symbol)}")
        return known

    def call_intrinsic(self, name: str, dtype: Any, *values: str) -> str:
        """Call ``llvm.<name>`` on values of one type."""
        kind = llvm_type(dtype)
        short = {"float": "f32", "double": "f64"}.get(kind, kind)
        full = f"llvm.{name}.{short}"
        extra = ["i1 false"] if name == "abs" else []
        arguments = [f"{kind} {v}" for v in values] + extra
        self.module.declare(full, kind, [kind] * len(values) + ["i1"] * len(extra))
        return self.op(f"call {kind} @{full}({', '.join(arguments)})")

    def least(self, a: str, b: str | int, word: str = "smin") -> str:
        """Return the smaller of two sizes; the larger for ``"smax"``."""
        self.module.declare(f"llvm.{word}.i64", "i64", ["i64", "i64"])
        return self.op(f"call i64 @llvm.{word}.i64(i64 {a}, i64 {b})")

    @contextmanager
    def counted(
        self, cell: str, first: str, end: str | int, step: int = 1, stays: bool = False
    ) -> Iterator[str]:
        """Write the block for the values of a variable from ``first`` on, below ``end``.

        ``stays``: the loop has few turns, or takes vectors itself; LLVM makes none of it.
        """
        head, body, done = map(self.label, ("turn.head", "turn.body", "turn.done"))
        lines = self.lines[self.depth]
        self.line(f"store i64 {first}, ptr {cell}")
        self.line(f"br label %{head}")
        lines.append(f"{head}:")
        k = self.op(f"load i64, ptr {cell}")
        self.line(f"br i1 {self.op(f'icmp slt i64 {k}, {end}')}, label %{body}, label %{done}")
        lines.append(f"{body}:")
        yield k
        self.line(f"store i64 {self.op(f'add i64 {k}, {step}')}, ptr {cell}")
        self.line(f"br label %{head}{self.module.loop(1) if stays else ''}")
        lines.append(f"{done}:")

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
            place = self.op(f"getelementptr inbounds i64, ptr {base}, i64 {first}")
            holds = self.op(f"call i1 @all_true(ptr {place}, i64 {count})")
            code = self.op(f"select i1 {holds}, i32 0, i32 {OTHER_BRANCH}")
            total = self.op(f"or i32 {self.op('load i32, ptr %status')}, {code}")
            self.line(f"store i32 {total}, ptr %status")

    def copy(self, target: str, source: str, size: str) -> None:
        """Copy so many bytes."""
        self.module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
        places = f"ptr {target}, ptr {source}"
        self.line(f"call void @llvm.memcpy.p0.p0.i64({places}, i64 {size}, i1 0)")

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
        arguments = ", ".join(f"{kind} {v}" for v in values)
        return self.op(f"call {kind} {callee}({arguments}) {group}")

    def call_cython(self, function: Cython, *values: str) -> str:
        """Call a function of ``scipy.special.cython_special`` (float64)."""
        symbol = cython_symbol(Function("scipy.special.cython_special", function.name))
        self.module.symbols.add(symbol)
        arguments = [f"double {v}" for v in values]
        if function.results == 1:
            self.module.declare(symbol, "double", ["double"] * len(values) + ["i32"])
            group = self.module.attribute("nounwind willreturn memory(none)")
            return self.op(
                f"call double {self.callee(symbol)}({', '.join([*arguments, 'i32 0'])}) {group}"
            )
        self.module.declare(symbol, "void", ["double"] * len(values) + ["ptr"] * function.results)
        before, self.depth = self.depth, 0  # memory is taken once, before all loops
        cells = [self.op("alloca double") for _ in range(function.results)]
        self.depth = before
        given = ", ".join([*arguments, *(f"ptr {c}" for c in cells)])
        self.line(f"call void {self.callee(symbol)}({given})")
        return self.op(f"load double, ptr {cells[function.part]}")

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
                raise UnsupportedError(f"a size or an index of more than 64 bits: {expr}")
            return str(expr)
        known = self._indices.get(expr)
        if known is not None:
            return known
        if expr.is_Integer:
            return self.index(int(expr))
        value = self._index(expr)
        self._indices[expr] = value
        return value

    def _at(self, text: str, *values: str) -> str:
        before, self.depth = self.depth, self.depth_of(*values)
        try:
            return self.op(text)
        finally:
            self.depth = before

    def _index(self, e: Any) -> str:
        if isinstance(e, (sp.Add, sp.Mul)):
            word = "add" if isinstance(e, sp.Add) else "mul"
            if isinstance(e, sp.Mul) and not e.args[0].is_Integer and e.args[0].is_Rational:
                return self._divide(e, sp.denom(e.args[0]))
            # Loop-invariant terms first, so that they are added outside of the loop.
            parts = sorted((self.index(a) for a in e.args), key=self.depth_of)
            total = parts[0]
            for part in parts[1:]:
                total = self._at(f"{word} nsw i64 {total}, {part}", total, part)
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
            product = self._at(f"mul nsw i64 {quotient}, {b}", quotient, b)
            return self._at(f"sub nsw i64 {a}, {product}", a, product)
        if isinstance(e, (sp.Min, sp.Max)):
            word = "smin" if isinstance(e, sp.Min) else "smax"
            self.module.declare(f"llvm.{word}.i64", "i64", ["i64", "i64"])
            values = [self.index(a) for a in e.args]
            total = values[0]
            for v in values[1:]:
                total = self._at(f"call i64 @llvm.{word}.i64(i64 {total}, i64 {v})", total, v)
            return total
        raise UnsupportedError(f"a size or index expression cannot be compiled: {e}")

    def _power(self, e: Any) -> str:
        base = self.index(e.base)
        total = base
        for _ in range(int(e.exp) - 1):
            total = self._at(f"mul nsw i64 {total}, {base}", total, base)
        return total

    def _divide(self, e: Any, denominator: Any) -> str:
        return self._floor_divide(e * denominator, denominator)

    def _floor_divide(self, numerator: Any, denominator: Any) -> str:
        """Floor division as Python's; guards keep divisors from being 0."""
        a, b = self.index(numerator), self.index(denominator)
        positive = getattr(denominator, "is_positive", None)
        if not positive:
            # Guards are checked only after the sizes are computed: no trap before.
            zero = self._at(f"icmp eq i64 {b}, 0", b)
            b = self._at(f"select i1 {zero}, i64 1, i64 {b}", zero, b)
        if positive and getattr(numerator, "is_nonnegative", None):
            return self._at(f"udiv i64 {a}, {b}", a, b)
        quotient = self._at(f"sdiv i64 {a}, {b}", a, b)
        remainder = self._at(f"srem i64 {a}, {b}", a, b)
        signs = self._at(f"xor i64 {remainder}, {b}", remainder, b)
        opposite = self._at(f"icmp slt i64 {signs}, 0", signs)
        inexact = self._at(f"icmp ne i64 {remainder}, 0", remainder)
        down = self._at(f"and i1 {opposite}, {inexact}", opposite, inexact)
        lower = self._at(f"sub i64 {quotient}, 1", quotient)
        return self._at(f"select i1 {down}, i64 {lower}, i64 {quotient}", down, lower, quotient)

    def relation(self, relation: Any) -> str:
        """Return an ``i1`` with the truth of a relation between sizes."""
        if relation in (sp.true, sp.false):
            return "true" if relation == sp.true else "false"
        word = {sp.Eq: "eq", sp.Ne: "ne", sp.Lt: "slt", sp.Le: "sle", sp.Gt: "sgt", sp.Ge: "sge"}
        a, b = self.index(relation.lhs), self.index(relation.rhs)
        return self._at(f"icmp {word[relation.func]} i64 {a}, {b}", a, b)

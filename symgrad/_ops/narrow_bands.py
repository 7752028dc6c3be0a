"""Narrow bands: LU factors and solutions in own code.

LAPACK takes a column of a band by calls that are made for long vectors; for a few diagonals the
calls take ten times as long as what they do. Here the elements of a column, and those of the
solution that it concerns, are in registers: a row that is a pivot is selected, not exchanged.

Factors are those of LAPACK's ``gbtrf``, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: Up to so many multiplications a column, which are straight code.
MOST = 40


def is_narrow(r: Any, lower: int, upper: int) -> bool:
    """Tell whether a band of real numbers has so few diagonals."""
    return not r.pairs and (lower + 1) * (lower + upper + 1) <= MOST


class Steps:
    """What steps on numbers are written with."""

    def __init__(self, r: Any) -> None:
        self.r, self.e = r, r.e
        self.zero = r.constant(0.0)

    def binary(self, name: str, a: str, b: str) -> str:
        """Return the register of an operation on two numbers."""
        found: str = self.e.op(f"{name} {self.r.kind} {a}, {b}")
        return found

    def less(self, x: str, a: str, b: str) -> str:
        """Return ``x - a * b``."""
        return self.binary("fsub", x, self.binary("fmul", a, b))

    def either(self, condition: str, a: str, b: str) -> str:
        """Return one of two numbers."""
        found: str = self.e.op(f"select i1 {condition}, {self.r.kind} {a}, {self.r.kind} {b}")
        return found

    def add(self, i: str, step: int) -> str:
        """Return an index some steps further."""
        found: str = i if step == 0 else self.e.op(f"add i64 {i}, {step}")
        return found

    def below(self, i: str, size: str) -> str:
        """Tell whether an index is in range."""
        found: str = self.e.op(f"icmp slt i64 {i}, {size}")
        return found

    def clamped(self, i: str, size: str) -> str:
        """Return an index, or the nearest in range."""
        self.e.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        self.e.module.declare("llvm.smax.i64", "i64", ["i64", "i64"])
        last = self.e.op(f"sub i64 {size}, 1")
        least = self.e.op(f"call i64 @llvm.smin.i64(i64 {i}, i64 {last})")
        found: str = self.e.op(f"call i64 @llvm.smax.i64(i64 {least}, i64 0)")
        return found

    def chosen(self, pivot: Sequence[str], x: Sequence[str]) -> list[str]:
        """Return numbers after an exchange of the first with the one that is the pivot."""
        first = x[0]
        for here, other in zip(pivot, x[1:], strict=True):
            first = self.either(here, other, first)
        return [first, *(self.either(p, x[0], y) for p, y in zip(pivot, x[1:], strict=True))]

    def pivot(self, row: str, wide: int, lower: int) -> list[str]:
        """Return for each row below whether it is a column's pivot."""
        number = self.r.get(row, str(wide - 1))
        return [
            self.e.op(f"fcmp oeq {self.r.kind} {number}, {self.r.constant(float(k))}")
            for k in range(1, lower + 1)
        ]

    def cells(self, count: int) -> list[str]:
        """Return memory for numbers that a loop carries, which LLVM keeps in registers."""
        return [self.r.cell(self.r.kind, self.zero) for _ in range(count)]

    def load(self, cell: str) -> str:
        """Return the number in a cell."""
        found: str = self.e.op(f"load {self.r.kind}, ptr {cell}")
        return found

    def store(self, value: str, cell: str) -> None:
        """Put a number into a cell."""
        self.e.line(f"store {self.r.kind} {value}, ptr {cell}")


def eliminate(r: Any, out: str, lower: int, upper: int) -> None:
    """Factorise a band in place; its columns have room for what pivots fill in."""
    do, e = Steps(r), r.e
    size, high, wide = r.size(r.shapes[0][0]), lower + upper, 2 * lower + upper + 2
    with r.outside():
        none = e.op(f"alloca [{wide} x {r.kind}]")  # in the place of columns that there are not

    def column(j: str) -> None:
        row = r.at(out, e.op(f"mul i64 {j}, {wide}"))
        x = [r.get(row, str(high + k)) for k in range(lower + 1)]
        real = [do.below(do.add(j, k), size) for k in range(1, lower + 1)]
        largest, place = e.call_intrinsic("fabs", r.dtype, x[0]), do.zero
        for k, (inside, value) in enumerate(zip(real, x[1:], strict=True), 1):
            magnitude = e.call_intrinsic("fabs", r.dtype, value)
            larger = e.op(f"fcmp ogt {r.kind} {magnitude}, {largest}")
            larger = e.op(f"and i1 {larger}, {inside}")
            largest = do.either(larger, magnitude, largest)
            place = do.either(larger, r.constant(float(k)), place)
        r.put(place, row, str(wide - 1))
        pivot = do.pivot(row, wide, lower)
        head, *rest = do.chosen(pivot, x)
        r.put(head, row, str(high))
        # A column of zeros has no pivot, and needs none: LAPACK goes on with the next one.
        some = e.op(f"fcmp une {r.kind} {head}, {do.zero}")
        inverse = do.binary("fdiv", r.constant(1.0), do.either(some, head, r.constant(1.0)))
        factors = []
        for k, (inside, value) in enumerate(zip(real, rest, strict=True), 1):
            scaled = do.binary("fmul", value, inverse)
            r.put(do.either(inside, scaled, value), row, str(high + k))
            factors.append(do.either(inside, scaled, do.zero))
        for c in range(1, high + 1):
            there = do.add(j, c)
            other = r.at(out, e.op(f"mul i64 {there}, {wide}"))
            other = e.op(f"select i1 {do.below(there, size)}, ptr {other}, ptr {none}")
            y = [r.get(other, str(high - c + k)) for k in range(lower + 1)]
            top, *under = do.chosen(pivot, y)
            r.put(top, other, str(high - c))
            for k, (factor, value) in enumerate(zip(factors, under, strict=True), 1):
                r.put(do.less(value, factor, top), other, str(high - c + k))

    r.loop(size, column)


def substitute(r: Any, factors: str, out: str, lower: int, upper: int, trans: bool) -> None:
    """Solve in place, for each row of the result."""
    do, e = Steps(r), r.e
    k, n = r.shapes[2][:2]
    size, high, wide = r.size(n), lower + upper, 2 * lower + upper + 2

    def at(j: str) -> str:
        found: str = r.at(factors, e.op(f"mul i64 {j}, {wide}"))
        return found

    def sweep(x: str, count: int, step: int, column: Any) -> None:
        """Go over the columns, up or down, with the next ``count`` numbers in registers."""
        cells = do.cells(count + 1)
        last = e.op(f"sub i64 {size}, 1")

        def begin(i: int) -> str:
            found: str = do.add("0", i) if step > 0 else do.add(last, -i)
            return found

        for i, cell in enumerate(cells):
            do.store(r.get(x, do.clamped(begin(i), size)), cell)

        def turn(i: str) -> None:
            j = i if step > 0 else e.op(f"sub i64 {last}, {i}")
            window = column(j, [do.load(cell) for cell in cells])
            r.put(window[0], x, j)
            ahead = r.get(x, do.clamped(do.add(j, step * (count + 1)), size))
            for value, cell in zip([*window[1:], ahead], cells, strict=True):
                do.store(value, cell)

        r.loop(size, turn)

    def down(j: str, x: list[str]) -> list[str]:
        row = at(j)
        first, *rest = do.chosen(do.pivot(row, wide, lower), x)
        return [first, *(
            do.less(y, r.get(row, str(high + i)), first) for i, y in enumerate(rest, 1)
        )]  # fmt: skip

    def up(j: str, x: list[str]) -> list[str]:
        row = at(j)
        # Divisions wait for nothing, and a product takes a third of one.
        inverse = do.binary("fdiv", r.constant(1.0), r.get(row, str(high)))
        first = do.binary("fmul", x[0], inverse)
        return [first, *(
            do.less(y, r.get(row, str(high - i)), first) for i, y in enumerate(x[1:], 1)
        )]  # fmt: skip

    def solve(i: str) -> None:
        x = r.at(out, e.op(f"mul i64 {i}, {size}"))
        sweep(x, lower, 1, down)
        sweep(x, high, -1, up)

    def solve_transposed(i: str) -> None:
        x = r.at(out, e.op(f"mul i64 {i}, {size}"))
        last = e.op(f"sub i64 {size}, 1")

        def inner(j: str, step: int, count: int, begin: str, place: int) -> str:
            """Return what is left of a number without those known before it or behind."""
            row, value = at(j), begin
            for m in range(1, count + 1):
                there = do.add(j, step * m)
                inside = e.op(f"icmp ult i64 {there}, {size}")
                known = r.get(x, do.clamped(there, size))
                factor = do.either(inside, r.get(row, str(place + step * m)), do.zero)
                value = do.less(value, factor, do.either(inside, known, do.zero))
            return value

        def first(j: str) -> None:
            value = inner(j, -1, high, r.get(x, j), high)
            r.put(do.binary("fdiv", value, r.get(at(j), str(high))), x, j)

        def then(i: str) -> None:
            j = e.op(f"sub i64 {last}, {i}")
            r.put(inner(j, 1, lower, r.get(x, j), high), x, j)
            below = e.op(f"fptosi {r.kind} {r.get(at(j), str(wide - 1))} to i64")
            other = e.op(f"add i64 {j}, {below}")
            a, b = r.get(x, j), r.get(x, other)
            r.put(b, x, j)
            r.put(a, x, other)

        r.loop(size, first)
        r.loop(size, then)

    some = e.op(f"icmp sgt i64 {size}, 0")
    rows = e.op(f"select i1 {some}, i64 {r.size(k)}, i64 0")
    r.loop(rows, solve_transposed if trans else solve)

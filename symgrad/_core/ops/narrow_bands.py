"""Narrow bands: LU factors and solutions in own code.

LAPACK takes a column of a band by calls that are made for long vectors; for a few diagonals the
calls take ten times as long as what they do. Here the elements of a column, and those of the
solution that it concerns, are in registers: a row that is a pivot is selected, not exchanged.

Factors are those of LAPACK's ``gbtrf``, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..op import Call
from .elements import Element, Elements

#: Up to so many multiplications a column, which are straight code.
MOST = 40


def is_narrow(r: Call, lower: int, upper: int, factors: bool) -> bool:
    """Tell whether a band has so few diagonals.

    Complex factors are LAPACK's, which has them in three quarters of the time.
    """
    return not (factors and r.pairs) and (lower + 1) * (lower + upper + 1) <= MOST


class Steps(Elements):
    """What steps on a band are written with."""

    def ahead(self, i: str, step: int) -> str:
        """Return an index some steps further."""
        return i if step == 0 else self.e.op("add", "i64", i, step)

    def below(self, i: str, size: str) -> str:
        """Tell whether an index is in range."""
        return self.e.op("icmp slt", "i64", i, size)

    def clamped(self, i: str, size: str) -> str:
        """Return an index, or the nearest in range."""
        self.e.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        self.e.module.declare("llvm.smax.i64", "i64", ["i64", "i64"])
        last = self.e.op("sub", "i64", size, "1")
        least = self.e.call("i64", "@llvm.smin.i64", [f"i64 {i}", f"i64 {last}"])
        return self.e.call("i64", "@llvm.smax.i64", [f"i64 {least}", "i64 0"])

    def chosen(self, pivot: Sequence[str], x: Sequence[Element]) -> list[Element]:
        """Return elements after an exchange of the first with the one that is the pivot."""
        first = x[0]
        for here, other in zip(pivot, x[1:], strict=True):
            first = self.either(here, other, first)
        return [first, *(self.either(p, x[0], y) for p, y in zip(pivot, x[1:], strict=True))]

    def pivots(self, row: str, wide: int, lower: int) -> list[str]:
        """Return for each row below whether it is a column's pivot."""
        number = self.get(row, str(wide - 1))[0]
        return [
            self.e.op("fcmp oeq", self.r.kind, number, self.r.constant(float(k)))
            for k in range(1, lower + 1)
        ]


def eliminate(r: Call, out: str, lower: int, upper: int) -> None:
    """Factorise a band in place; its columns have room for what pivots fill in."""
    do, e = Steps(r), r.e
    size, high, wide = r.size(r.shapes[0][0]), lower + upper, 2 * lower + upper + 2
    with r.outside():
        none = e.alloca(f"[{wide} x {r.element}]")  # in the place of columns that there are not

    def column(j: str) -> None:
        row = r.at(out, e.op("mul", "i64", j, wide))
        x = [do.get(row, str(high + k)) for k in range(lower + 1)]
        real = [do.below(do.ahead(j, k), size) for k in range(1, lower + 1)]
        largest, place = do.magnitude(x[0]), do.zero
        for k, (inside, value) in enumerate(zip(real, x[1:], strict=True), 1):
            magnitude = do.magnitude(value)
            larger = e.op("fcmp ogt", r.kind, magnitude, largest)
            larger = e.op("and", "i1", larger, inside)
            (largest,) = do.either(larger, (magnitude,), (largest,))
            place = do.either(larger, do.real(float(k)), place)
        do.put(place, row, str(wide - 1))
        pivots = do.pivots(row, wide, lower)
        head, *rest = do.chosen(pivots, x)
        do.put(head, row, str(high))
        inverse = do.inverse(do.divisor(head))
        factors = []
        for k, (inside, value) in enumerate(zip(real, rest, strict=True), 1):
            scaled = do.product(value, inverse)
            do.put(do.either(inside, scaled, value), row, str(high + k))
            factors.append(do.either(inside, scaled, do.zero))
        for c in range(1, high + 1):
            there = do.ahead(j, c)
            other = r.at(out, e.op("mul", "i64", there, wide))
            other = e.select(do.below(there, size), "ptr", other, none)
            y = [do.get(other, str(high - c + k)) for k in range(lower + 1)]
            top, *under = do.chosen(pivots, y)
            do.put(top, other, str(high - c))
            for k, (factor, value) in enumerate(zip(factors, under, strict=True), 1):
                do.put(do.less(value, factor, top), other, str(high - c + k))

    r.loop(size, column)


def substitute(r: Call, factors: str, out: str, lower: int, upper: int, trans: bool) -> None:
    """Solve in place, for each row of the result."""
    do, e = Steps(r), r.e
    k, n = r.shapes[1][:2]
    size, high, wide = r.size(n), lower + upper, 2 * lower + upper + 2

    def at(j: str) -> str:
        return r.at(factors, e.op("mul", "i64", j, wide))

    def sweep(x: str, count: int, step: int, column: Any) -> None:
        """Go over the columns, up or down, with the next ``count`` numbers in registers."""
        cells = [do.cell() for _ in range(count + 1)]
        last = e.op("sub", "i64", size, "1")

        def begin(i: int) -> str:
            return do.ahead("0", i) if step > 0 else do.ahead(last, -i)

        for i, cell in enumerate(cells):
            do.store(do.get(x, do.clamped(begin(i), size)), cell)

        def turn(i: str) -> None:
            j = i if step > 0 else e.op("sub", "i64", last, i)
            window = column(j, [do.load(cell) for cell in cells])
            do.put(window[0], x, j)
            ahead = do.get(x, do.clamped(do.ahead(j, step * (count + 1)), size))
            for value, cell in zip([*window[1:], ahead], cells, strict=True):
                do.store(value, cell)

        r.loop(size, turn)

    def down(j: str, x: list[Element]) -> list[Element]:
        row = at(j)
        first, *rest = do.chosen(do.pivots(row, wide, lower), x)
        return [first, *(
            do.less(y, do.get(row, str(high + i)), first) for i, y in enumerate(rest, 1)
        )]  # fmt: skip

    def up(j: str, x: list[Element]) -> list[Element]:
        row = at(j)
        # Divisions wait for nothing, and a product takes a third of one.
        first = do.product(x[0], do.inverse(do.get(row, str(high))))
        return [first, *(
            do.less(y, do.get(row, str(high - i)), first) for i, y in enumerate(x[1:], 1)
        )]  # fmt: skip

    def solve(i: str) -> None:
        x = r.at(out, e.op("mul", "i64", i, size))
        sweep(x, lower, 1, down)
        sweep(x, high, -1, up)

    def solve_transposed(i: str) -> None:
        x = r.at(out, e.op("mul", "i64", i, size))
        last = e.op("sub", "i64", size, "1")

        def inner(j: str, step: int, count: int, begin: Element, place: int) -> Element:
            """Return what is left of a number without those known before it or behind."""
            row, value = at(j), begin
            for m in range(1, count + 1):
                there = do.ahead(j, step * m)
                inside = e.op("icmp ult", "i64", there, size)
                known = do.get(x, do.clamped(there, size))
                factor = do.either(inside, do.get(row, str(place + step * m)), do.zero)
                value = do.less(value, factor, do.either(inside, known, do.zero))
            return value

        def first(j: str) -> None:
            value = inner(j, -1, high, do.get(x, j), high)
            do.put(do.quotient(value, do.get(at(j), str(high))), x, j)

        def then(i: str) -> None:
            j = e.op("sub", "i64", last, i)
            do.put(inner(j, 1, lower, do.get(x, j), high), x, j)
            below = e.cast("fptosi", r.kind, do.get(at(j), str(wide - 1))[0], "i64")
            other = e.op("add", "i64", j, below)
            a, b = do.get(x, j), do.get(x, other)
            do.put(b, x, j)
            do.put(a, x, other)

        r.loop(size, first)
        r.loop(size, then)

    some = e.op("icmp sgt", "i64", size, "0")
    rows = e.select(some, "i64", r.size(k), "0")
    r.loop(rows, solve_transposed if trans else solve)

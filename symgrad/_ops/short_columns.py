"""LU factors and solutions of matrices of some dozens of rows, in own code.

LAPACK's calls are made for long columns, and OpenBLAS takes a lock in each, which all threads
share. Columns of ten to forty elements are a few vectors. Factors are those of ``getrf``, up to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._shapes import Dimension

#: Up to so many rows, and so many right-hand sides.
MOST, FEW = 40, 4

#: Elements of a vector.
WIDTH = 4


def where_short(r: Any, n: Dimension, own: Callable[[], None], library: Callable[[], None]) -> None:
    """Write own code for short columns of real numbers, and the library's call for others."""
    if r.pairs or own is library or (isinstance(n, int) and n > MOST):
        library()
    elif isinstance(n, int):
        own()
    else:
        e = r.e
        short = e.op(f"icmp sle i64 {r.size(n)}, {MOST}")
        r.loop(e.op(f"zext i1 {short} to i64"), lambda _: own())
        r.loop(e.op(f"zext i1 {e.op(f'xor i1 {short}, true')} to i64"), lambda _: library())


class Columns:
    """Columns of one length, one behind the other."""

    def __init__(self, r: Any, pointer: str, n: Dimension) -> None:
        self.r, self.e, self.pointer, self.size = r, r.e, pointer, r.size(n)
        self.vector = f"<{WIDTH} x {r.kind}>"

    def column(self, j: str) -> str:
        """Return where a column begins."""
        found: str = self.r.at(self.pointer, self.e.op(f"mul i64 {j}, {self.size}"))
        return found

    def over(self, first: str, end: str, body: Callable[[str], None], step: int = 1) -> None:
        """Run ``body(i)`` from ``first`` on, below ``end``."""
        with self.e.counted(self.r.cell("i64", "0"), first, end, step) as i:
            body(i)

    def number(self, operation: str, a: str, b: str) -> str:
        """Return the register of an operation on two numbers."""
        found: str = self.e.op(f"{operation} {self.r.kind} {a}, {b}")
        return found

    def subtract(self, y: str, x: str, factor: str, first: str, end: str) -> None:
        """Subtract ``factor * x`` from ``y`` between two places: vectors, and what is left."""
        r, e = self.r, self.e
        count = e.op(f"sub i64 {end}, {first}")
        whole = e.op(f"and i64 {count}, {-WIDTH}")
        middle = e.op(f"add i64 {first}, {whole}")
        one = e.op(f"insertelement {self.vector} poison, {r.kind} {factor}, i64 0")
        many = e.op(
            f"shufflevector {self.vector} {one}, {self.vector} poison, "
            f"<{WIDTH} x i32> zeroinitializer"
        )
        align = f"align {r.dtype.itemsize}"

        def vectors(i: str) -> None:
            there = r.at(y, i)
            a = e.op(f"load {self.vector}, ptr {there}, {align}")
            b = e.op(f"load {self.vector}, ptr {r.at(x, i)}, {align}")
            product = e.op(f"fmul {self.vector} {b}, {many}")
            left = e.op(f"fsub {self.vector} {a}, {product}")
            e.line(f"store {self.vector} {left}, ptr {there}, {align}")

        self.over(first, middle, vectors, WIDTH)
        self.subtract_each(y, x, factor, middle, end)

    def subtract_each(self, y: str, x: str, factor: str, first: str, end: str) -> None:
        """Do the same without vectors."""

        def one_by_one(i: str) -> None:
            product = self.number("fmul", self.r.get(x, i), factor)
            self.r.put(self.number("fsub", self.r.get(y, i), product), y, i)

        self.over(first, end, one_by_one)

    def product(self, x: str, y: str, first: str, end: str) -> str:
        """Return the sum of products between two places."""
        r, total = self.r, self.r.cell(self.r.kind, self.r.constant(0.0))
        self.e.line(f"store {r.kind} {r.constant(0.0)}, ptr {total}")

        def term(i: str) -> None:
            known = self.e.op(f"load {r.kind}, ptr {total}")
            now = self.number("fadd", known, self.number("fmul", r.get(x, i), r.get(y, i)))
            self.e.line(f"store {r.kind} {now}, ptr {total}")

        self.over(first, end, term)
        found: str = self.e.op(f"load {r.kind}, ptr {total}")
        return found


def eliminate(r: Any, out: str, n: Dimension) -> None:
    """Factorise in place; behind the columns is how far below each row its pivot was."""
    all_columns, e = Columns(r, out, n), r.e
    size, exchanges = all_columns.size, all_columns.column(all_columns.size)
    best, where = r.cell(r.kind, r.constant(0.0)), r.cell("i64", "0")

    def step(k: str) -> None:
        pivots, after = all_columns.column(k), e.op(f"add i64 {k}, 1")
        first = e.call_intrinsic("fabs", r.dtype, r.get(pivots, k))
        e.line(f"store {r.kind} {first}, ptr {best}")
        e.line(f"store i64 {k}, ptr {where}")

        def look(i: str) -> None:
            largest, place = e.op(f"load {r.kind}, ptr {best}"), e.op(f"load i64, ptr {where}")
            magnitude = e.call_intrinsic("fabs", r.dtype, r.get(pivots, i))
            larger = e.op(f"fcmp ogt {r.kind} {magnitude}, {largest}")
            largest = e.op(f"select i1 {larger}, {r.kind} {magnitude}, {r.kind} {largest}")
            place = e.op(f"select i1 {larger}, i64 {i}, i64 {place}")
            e.line(f"store {r.kind} {largest}, ptr {best}")
            e.line(f"store i64 {place}, ptr {where}")

        all_columns.over(after, size, look)
        place = e.op(f"load i64, ptr {where}")
        below = e.op(f"sub i64 {place}, {k}")
        r.put(e.op(f"sitofp i64 {below} to {r.kind}"), exchanges, k)

        def exchange(c: str) -> None:
            column = all_columns.column(c)
            a, b = r.get(column, k), r.get(column, place)
            r.put(b, column, k)
            r.put(a, column, place)

        moved = e.op(f"icmp ne i64 {below}, 0")
        all_columns.over("0", e.op(f"select i1 {moved}, i64 {size}, i64 0"), exchange)
        pivot, one = r.get(pivots, k), r.constant(1.0)
        # A column of zeros has no pivot, and needs none: LAPACK goes on with the next one.
        some = e.op(f"fcmp une {r.kind} {pivot}, {r.constant(0.0)}")
        pivot = e.op(f"select i1 {some}, {r.kind} {pivot}, {r.kind} {one}")
        inverse = all_columns.number("fdiv", one, pivot)

        def scale(i: str) -> None:
            r.put(all_columns.number("fmul", r.get(pivots, i), inverse), pivots, i)

        def update(c: str) -> None:
            column = all_columns.column(c)
            all_columns.subtract(column, pivots, r.get(column, k), after, size)

        all_columns.over(after, size, scale)
        all_columns.over(after, size, update)

    r.loop(size, step)


def substitute(r: Any, factors: str, out: str, trans: bool) -> None:
    """Solve in place for each row of the result, whose elements are exchanged elsewhere."""
    e, (k, n) = r.e, r.shapes[2][:2]
    columns = Columns(r, factors, n)
    size = columns.size
    last = e.op(f"sub i64 {size}, 1")
    for name in ("smin", "smax"):
        e.module.declare(f"llvm.{name}.i64", "i64", ["i64", "i64"])

    def solve(i: str) -> None:
        x = r.at(out, e.op(f"mul i64 {i}, {size}"))
        known = r.cell(r.kind, r.constant(0.0))

        def know(value: str) -> None:
            e.line(f"store {r.kind} {value}, ptr {known}")

        def take_out(j: str, value: str, first: str, end: str, ahead: str) -> None:
            """Take a known element out of others, of which that at ``ahead`` is known next.

            That one is computed twice: what the loop stores comes back too late.
            """
            column = columns.column(j)
            product = columns.number("fmul", r.get(column, ahead), value)
            know(columns.number("fsub", r.get(x, ahead), product))
            if first != "0":
                # A vector that was stored as parts of two has to be waited for.
                up = e.op(f"and i64 {e.op(f'add i64 {first}, {WIDTH - 1}')}, {-WIDTH}")
                up = e.op(f"call i64 @llvm.smin.i64(i64 {up}, i64 {end})")
                columns.subtract_each(x, column, value, first, up)
                first = up
            columns.subtract(x, column, value, first, end)

        def lower(j: str) -> None:
            after = e.op(f"add i64 {j}, 1")
            ahead = e.op(f"call i64 @llvm.smin.i64(i64 {after}, i64 {last})")
            take_out(j, e.op(f"load {r.kind}, ptr {known}"), after, size, ahead)

        def upper(back: str) -> None:
            j = e.op(f"sub i64 {last}, {back}")
            # Divisions wait for nothing, and a product takes a third of one.
            inverse = columns.number("fdiv", r.constant(1.0), r.get(columns.column(j), j))
            found = columns.number("fmul", e.op(f"load {r.kind}, ptr {known}"), inverse)
            r.put(found, x, j)
            ahead = e.op(f"call i64 @llvm.smax.i64(i64 {e.op(f'sub i64 {j}, 1')}, i64 0)")
            take_out(j, found, "0", j, ahead)

        def upper_transposed(j: str) -> None:
            column = columns.column(j)
            left = columns.number("fsub", r.get(x, j), columns.product(column, x, "0", j))
            r.put(columns.number("fdiv", left, r.get(column, j)), x, j)

        def lower_transposed(back: str) -> None:
            j = e.op(f"sub i64 {last}, {back}")
            known = columns.product(columns.column(j), x, e.op(f"add i64 {j}, 1"), size)
            r.put(columns.number("fsub", r.get(x, j), known), x, j)

        if trans:
            know(r.get(x, "0"))
            r.loop(size, lower)
            know(r.get(x, last))
            r.loop(size, upper)
        else:
            r.loop(size, upper_transposed)
            r.loop(size, lower_transposed)

    some = e.op(f"icmp sgt i64 {size}, 0")
    r.loop(e.op(f"select i1 {some}, i64 {r.size(k)}, i64 0"), solve)

"""LU factors and solutions of matrices of some dozens of rows, in own code.

LAPACK's calls are made for long columns, and OpenBLAS takes a lock in each, which all threads
share. Columns of ten to forty elements are a few vectors. Factors are those of ``getrf``, up to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..base.sizes import Dimension
from ..op import Call
from .elements import Element, Elements

#: Up to so many rows, and so many right-hand sides.
MOST, FEW = 40, 4

#: Elements of a vector.
WIDTH = 4


def where_short(
    r: Call, n: Dimension, own: Callable[[], None], library: Callable[[], None]
) -> None:
    """Write own code for short columns, and the library's call for others."""
    if own is library or (isinstance(n, int) and n > MOST):
        library()
    elif isinstance(n, int):
        own()
    else:
        e = r.e
        short = e.op("icmp sle", "i64", r.size(n), MOST)
        r.loop(e.cast("zext", "i1", short, "i64"), lambda _: own())
        r.loop(e.cast("zext", "i1", e.op("xor", "i1", short, "true"), "i64"), lambda _: library())


class Columns(Elements):
    """Columns of one length, one behind the other."""

    def __init__(self, r: Call, pointer: str, n: Dimension) -> None:
        super().__init__(r)
        self.pointer, self.size = pointer, r.size(n)
        self.length = WIDTH * (2 if r.pairs else 1)
        self.vector = f"<{self.length} x {r.kind}>"

    def column(self, j: str) -> str:
        """Return where a column begins."""
        return self.r.at(self.pointer, self.e.op("mul", "i64", j, self.size))

    def over(self, first: str, end: str, body: Callable[[str], None], step: int = 1) -> None:
        """Run ``body(i)`` from ``first`` on, below ``end``."""
        with self.e.counted(self.r.cell("i64", "0"), first, end, step, stays=True) as i:
            body(i)

    def subtract_many(self, y: str, x: str, factor: Element, first: str, end: str) -> None:
        """Subtract ``factor * x`` from ``y`` between two places: vectors, and what is left."""
        r, e = self.r, self.e
        count = e.op("sub", "i64", end, first)
        whole = e.op("and", "i64", count, -WIDTH)
        middle = e.op("add", "i64", first, whole)
        parts = [self._repeated(part) for part in factor]
        if r.pairs:  # i * (a + i*b) = -b + i*a: the parts of x change places
            parts[1] = self._shuffled(self.steps("fneg", parts[1]), parts[1], [0, self.length + 1])
        align = f"align {r.dtype.itemsize}"

        def vectors(i: str) -> None:
            there = r.at(y, i)
            a = e.load(self.vector, there, f", {align}")
            b = e.load(self.vector, r.at(x, i), f", {align}")
            for k, part in enumerate(parts):
                b = self._shuffled(b, b, [1, 0]) if k else b
                a = self.steps("fsub", a, self.steps("fmul", b, part))
            e.store(self.vector, a, there, f", {align}")

        self.over(first, middle, vectors, WIDTH)
        self.subtract_each(y, x, factor, middle, end)

    def steps(self, operation: str, *vectors: str) -> str:
        """Return the register of an operation on vectors."""
        return self.e.op(operation, self.vector, *vectors)

    def _repeated(self, number: str) -> str:
        """Return a vector of one number."""
        one = self.e.put_lane(self.vector, "poison", self.r.kind, number, 0)
        return self._shuffled(one, one, [0], 0)

    def _shuffled(self, a: str, b: str, first: Sequence[int], step: int = 2) -> str:
        """Return a vector of the elements of two at these places, and at those some further."""
        count = self.length // len(first)
        places = ", ".join(f"i32 {k + step * i}" for i in range(count) for k in first)
        lanes = f"<{self.length} x i32>"
        return self.e.shuffle(self.vector, a, b, lanes, f"<{places}>")

    def subtract_each(self, y: str, x: str, factor: Element, first: str, end: str) -> None:
        """Do the same without vectors."""

        def one_by_one(i: str) -> None:
            self.put(self.less(self.get(y, i), self.get(x, i), factor), y, i)

        self.over(first, end, one_by_one)

    def sum_of_products(self, x: str, y: str, first: str, end: str) -> Element:
        """Return the sum of products between two places."""
        total = self.cell()
        self.store(self.zero, total)

        def term(i: str) -> None:
            self.store(
                self.add(self.load(total), self.product(self.get(x, i), self.get(y, i))), total
            )

        self.over(first, end, term)
        return self.load(total)


def eliminate(r: Call, out: str, n: Dimension) -> None:
    """Factorise in place; behind the columns is how far below each row its pivot was."""
    do, e = Columns(r, out, n), r.e
    size, exchanges = do.size, do.column(do.size)
    best, where = r.cell(r.kind, r.constant(0.0)), r.cell("i64", "0")

    def step(k: str) -> None:
        pivots, after = do.column(k), e.op("add", "i64", k, "1")
        e.store(r.kind, do.magnitude(do.get(pivots, k)), best)
        e.store("i64", k, where)

        def look(i: str) -> None:
            largest, place = e.load(r.kind, best), e.load("i64", where)
            magnitude = do.magnitude(do.get(pivots, i))
            larger = e.op("fcmp ogt", r.kind, magnitude, largest)
            largest = e.select(larger, r.kind, magnitude, largest)
            place = e.select(larger, "i64", i, place)
            e.store(r.kind, largest, best)
            e.store("i64", place, where)

        do.over(after, size, look)
        place = e.load("i64", where)
        below = e.op("sub", "i64", place, k)
        number = e.cast("sitofp", "i64", below, r.kind)
        do.put((number, *do.zero[1:]), exchanges, k)

        def exchange(c: str) -> None:
            column = do.column(c)
            a, b = do.get(column, k), do.get(column, place)
            do.put(b, column, k)
            do.put(a, column, place)

        moved = e.op("icmp ne", "i64", below, "0")
        do.over("0", e.select(moved, "i64", size, "0"), exchange)
        inverse = do.inverse(do.divisor(do.get(pivots, k)))

        def scale(i: str) -> None:
            do.put(do.product(do.get(pivots, i), inverse), pivots, i)

        def update(c: str) -> None:
            column = do.column(c)
            do.subtract_many(column, pivots, do.get(column, k), after, size)

        do.over(after, size, scale)
        do.over(after, size, update)

    r.loop(size, step)


def substitute(r: Call, factors: str, out: str, trans: bool) -> None:
    """Solve in place for each row of the result, whose elements are exchanged elsewhere."""
    e, (k, n) = r.e, r.shapes[1][:2]
    do = Columns(r, factors, n)
    size = do.size
    last = e.op("sub", "i64", size, "1")
    for name in ("smin", "smax"):
        e.module.declare(f"llvm.{name}.i64", "i64", ["i64", "i64"])

    def solve(i: str) -> None:
        x = r.at(out, e.op("mul", "i64", i, size))
        known = do.cell()

        def take_out(j: str, value: Element, first: str, end: str, ahead: str) -> None:
            """Take a known element out of others, of which that at ``ahead`` is known next.

            That one is computed twice: what the loop stores comes back too late.
            """
            column = do.column(j)
            do.store(do.less(do.get(x, ahead), do.get(column, ahead), value), known)
            if first != "0":
                # A vector that was stored as parts of two has to be waited for.
                up = e.op("and", "i64", e.op("add", "i64", first, WIDTH - 1), -WIDTH)
                up = e.call("i64", "@llvm.smin.i64", [f"i64 {up}", f"i64 {end}"])
                do.subtract_each(x, column, value, first, up)
                first = up
            do.subtract_many(x, column, value, first, end)

        def lower(j: str) -> None:
            after = e.op("add", "i64", j, "1")
            ahead = e.call("i64", "@llvm.smin.i64", [f"i64 {after}", f"i64 {last}"])
            take_out(j, do.load(known), after, size, ahead)

        def upper(back: str) -> None:
            j = e.op("sub", "i64", last, back)
            # Divisions wait for nothing, and a product takes a third of one.
            found = do.product(do.load(known), do.inverse(do.get(do.column(j), j)))
            do.put(found, x, j)
            ahead = e.call("i64", "@llvm.smax.i64", [f"i64 {e.op('sub', 'i64', j, 1)}", "i64 0"])
            take_out(j, found, "0", j, ahead)

        def upper_transposed(j: str) -> None:
            column = do.column(j)
            left = do.subtract(do.get(x, j), do.sum_of_products(column, x, "0", j))
            do.put(do.quotient(left, do.get(column, j)), x, j)

        def lower_transposed(back: str) -> None:
            j = e.op("sub", "i64", last, back)
            known = do.sum_of_products(do.column(j), x, e.op("add", "i64", j, "1"), size)
            do.put(do.subtract(do.get(x, j), known), x, j)

        if trans:
            do.store(do.get(x, "0"), known)
            r.loop(size, lower)
            do.store(do.get(x, last), known)
            r.loop(size, upper)
        else:
            r.loop(size, upper_transposed)
            r.loop(size, lower_transposed)

    some = e.op("icmp sgt", "i64", size, "0")
    r.loop(e.select(some, "i64", r.size(k), "0"), solve)

"""Arithmetic on elements of matrices in registers: real numbers, or complex ones in two parts."""

from __future__ import annotations

from collections.abc import Sequence

from ..op import Call

#: The register of a real number; those of a complex one's real and imaginary part.
Element = tuple[str, ...]


class Elements:
    """What steps of a routine on elements are written with, by its :class:`Call`."""

    def __init__(self, r: Call) -> None:
        self.r, self.e = r, r.e
        self.zero = self.real(0.0)

    def real(self, value: float) -> Element:
        """Return a constant."""
        parts = (value, 0.0) if self.r.pairs else (value,)
        return tuple(self.r.constant(part) for part in parts)

    # ---------------------------------------------------------------- memory

    def _parts(self, place: str) -> Sequence[str]:
        """Return where the parts of an element are."""
        return (place, self.r.at(place, "1", self.r.kind)) if self.r.pairs else (place,)

    def load(self, place: str) -> Element:
        """Return the element at a place."""
        kind = self.r.kind
        return tuple(self.e.load(kind, part) for part in self._parts(place))

    def store(self, x: Element, place: str) -> None:
        """Put an element at a place."""
        for part, there in zip(x, self._parts(place), strict=True):
            self.e.store(self.r.kind, part, there)

    def get(self, pointer: str, index: str) -> Element:
        """Return an element of an array."""
        return self.load(self.r.at(pointer, index))

    def put(self, x: Element, pointer: str, index: str) -> None:
        """Put an element into an array."""
        self.store(x, self.r.at(pointer, index))

    def cell(self) -> str:
        """Return memory for an element that a loop carries, which LLVM keeps in registers."""
        place: str = self.r.cell(self.r.element, self.r.filled(0.0))
        return place

    # ---------------------------------------------------------------- arithmetic

    def step(self, operation: str, a: str, b: str) -> str:
        """Return the register of an operation on two real numbers."""
        return self.e.op(operation, self.r.kind, a, b)

    def add(self, a: Element, b: Element) -> Element:
        """Return ``a + b``."""
        return tuple(self.step("fadd", x, y) for x, y in zip(a, b, strict=True))

    def subtract(self, a: Element, b: Element) -> Element:
        """Return ``a - b``."""
        return tuple(self.step("fsub", x, y) for x, y in zip(a, b, strict=True))

    def product(self, a: Element, b: Element) -> Element:
        """Return ``a * b``."""
        step = self.step
        if not self.r.pairs:
            return (step("fmul", a[0], b[0]),)
        real = step("fsub", step("fmul", a[0], b[0]), step("fmul", a[1], b[1]))
        return real, step("fadd", step("fmul", a[0], b[1]), step("fmul", a[1], b[0]))

    def less(self, x: Element, a: Element, b: Element) -> Element:
        """Return ``x - a * b``."""
        return self.subtract(x, self.product(a, b))

    def inverse(self, a: Element) -> Element:
        """Return ``1 / a``, of complex numbers without squares: R. L. Smith, CACM 5, 1962."""
        step, (one, *_) = self.step, self.real(1.0)
        if not self.r.pairs:
            return (step("fdiv", one, a[0]),)
        x, y = (self.e.call_intrinsic("fabs", self.r.dtype, part) for part in a)
        upright = self.e.op("fcmp olt", self.r.kind, x, y)
        long, short = self.either(upright, a[::-1], a)
        ratio = step("fdiv", short, long)
        long = step("fdiv", one, step("fadd", long, step("fmul", short, ratio)))
        found = long, step("fmul", ratio, long)
        real, imag = self.either(upright, found[::-1], found)
        return real, self.e.op("fneg", self.r.kind, imag)

    def quotient(self, a: Element, b: Element) -> Element:
        """Return ``a / b``."""
        if self.r.pairs:
            return self.product(a, self.inverse(b))
        return (self.step("fdiv", a[0], b[0]),)

    def magnitude(self, a: Element) -> str:
        """Return how large an element is as a pivot; of complex ones the sum of the parts'."""
        first, *rest = (self.e.call_intrinsic("fabs", self.r.dtype, part) for part in a)
        return self.step("fadd", first, rest[0]) if rest else str(first)

    def either(self, condition: str, a: Element, b: Element) -> Element:
        """Return one of two elements."""
        kind = self.r.kind
        return tuple(self.e.select(condition, kind, x, y) for x, y in zip(a, b, strict=True))

    def divisor(self, a: Element) -> Element:
        """Return what a column is divided by.

        A column of zeros has no pivot, and needs none: LAPACK goes on with the next one.
        """
        some = self.e.op("fcmp une", self.r.kind, self.magnitude(a), self.zero[0])
        return self.either(some, a, self.real(1.0))

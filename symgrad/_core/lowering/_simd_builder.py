"""Straight-line code on vectors of lanes, written as formulas: what SIMD functions are made of.

A :class:`Lanes` value is a register of so many floating-point numbers, or of their bits;
Python's operators on it write instructions. What a formula makes is the body of one LLVM
function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..runtime.interface import constant_text


class Form(NamedTuple):
    """The shape of a register: an element type and the number of lanes."""

    dtype: np.dtype[Any]
    lanes: int

    @property
    def element(self) -> str:
        """The LLVM type of a lane."""
        return "double" if self.dtype.itemsize == 8 else "float"

    @property
    def word(self) -> str:
        """The LLVM type of a lane's bits."""
        return f"i{8 * self.dtype.itemsize}"

    @property
    def floats(self) -> str:
        """The LLVM type of a register of numbers."""
        return self.element if self.lanes == 1 else f"<{self.lanes} x {self.element}>"

    @property
    def words(self) -> str:
        """The LLVM type of a register of bits."""
        return self.word if self.lanes == 1 else f"<{self.lanes} x {self.word}>"

    def constant(self, kind: str, text: str) -> str:
        """Return a constant in all lanes."""
        return text if self.lanes == 1 else f"splat ({kind} {text})"

    @property
    def masks(self) -> str:
        """The LLVM type of a register of truth values."""
        return "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"


class Body:
    """The instructions of one function, and what they call."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}

    def op(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def intrinsic(self, name: str, *values: str) -> str:
        """Call ``llvm.<name>`` on registers of numbers."""
        f = self.form
        full = f"llvm.{name}.v{f.lanes}f{8 * f.dtype.itemsize}"
        self.declarations[full] = (
            f"declare {f.floats} @{full}({', '.join([f.floats] * len(values))})"
        )
        return self.op(f"call {f.floats} @{full}({', '.join(f'{f.floats} {v}' for v in values)})")


class Register:
    """A register, by its name in a body."""

    __slots__ = ("body", "name")

    def __init__(self, body: Body, name: str) -> None:
        self.body, self.name = body, name


class Lanes(Register):
    """A register of numbers."""

    __slots__ = ()

    def of(self, value: Any) -> Lanes:
        """Return a constant in all lanes; a register as it is."""
        if isinstance(value, Lanes):
            return value
        form = self.body.form
        text = constant_text(value, form.dtype)
        return Lanes(self.body, form.constant(form.element, text))

    def _binary(self, word: str, left: Any, right: Any) -> Lanes:
        body = self.body
        left, right = self.of(left), self.of(right)
        return Lanes(body, body.op(f"{word} {body.form.floats} {left.name}, {right.name}"))

    def __add__(self, other: Any) -> Lanes:
        return self._binary("fadd", self, other)

    def __sub__(self, other: Any) -> Lanes:
        return self._binary("fsub", self, other)

    def __rsub__(self, other: Any) -> Lanes:
        return self._binary("fsub", other, self)

    def __mul__(self, other: Any) -> Lanes:
        return self._binary("fmul", self, other)

    def __truediv__(self, other: Any) -> Lanes:
        return self._binary("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Lanes:
        return self._binary("fdiv", other, self)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Lanes:
        return Lanes(self.body, self.body.op(f"fneg {self.body.form.floats} {self.name}"))

    def __abs__(self) -> Lanes:
        return Lanes(self.body, self.body.intrinsic("fabs", self.name))

    def _compare(self, word: str, other: Any) -> Mask:
        body = self.body
        text = f"fcmp {word} {body.form.floats} {self.name}, {self.of(other).name}"
        return Mask(body, body.op(text))

    def __lt__(self, other: Any) -> Mask:
        return self._compare("olt", other)

    def __gt__(self, other: Any) -> Mask:
        return self._compare("ogt", other)

    def equals(self, other: Any) -> Mask:
        """Tell of each lane whether the numbers are equal."""
        return self._compare("oeq", other)

    def signed_as(self, other: Lanes) -> Lanes:
        """Return the magnitudes with the signs of ``other``."""
        return Lanes(self.body, self.body.intrinsic("copysign", self.name, other.name))

    def wide(self) -> bool:
        """Tell whether this is a register of AVX-512, which has instructions of its own."""
        form = self.body.form
        return bool(form.lanes * form.dtype.itemsize == 64)

    def mantissa(self) -> Lanes:
        """Return what is left from 3/4 up to 3/2 of a power of two; nan of negative numbers.

        Of zeros and infinity 1. Only for wide registers.
        """
        return self._avx512("getmant", "i32 15")

    def exponent(self) -> Lanes:
        """Return the power of two not above the magnitude. Only for wide registers."""
        return self._avx512("getexp")

    def _avx512(self, name: str, *more: str) -> Lanes:
        body, form = self.body, self.body.form
        kind, mask = ("pd", "i8") if form.dtype.itemsize == 8 else ("ps", "i16")
        full = f"llvm.x86.avx512.mask.{name}.{kind}.512"
        arguments = [f"{form.floats} {self.name}", *more, f"{form.floats} zeroinitializer"]
        arguments += [f"{mask} -1", "i32 4"]  # all lanes, rounded as usual
        types = [form.floats, *(["i32 immarg"] if more else []), form.floats, mask, "i32 immarg"]
        body.declarations[full] = f"declare {form.floats} @{full}({', '.join(types)})"
        return Lanes(body, body.op(f"call {form.floats} @{full}({', '.join(arguments)})"))

    def bits(self) -> Words:
        """Return the bits."""
        form = self.body.form
        return Words(self.body, self.body.op(f"bitcast {form.floats} {self.name} to {form.words}"))


class Words(Register):
    """A register of bits, as integers."""

    __slots__ = ()

    def _binary(self, word: str, other: Any) -> Words:
        body, form = self.body, self.body.form
        right = other.name if isinstance(other, Words) else form.constant(form.word, str(other))
        return Words(body, body.op(f"{word} {form.words} {self.name}, {right}"))

    def __add__(self, other: Any) -> Words:
        return self._binary("add", other)

    def __sub__(self, other: Any) -> Words:
        return self._binary("sub", other)

    def __and__(self, other: Any) -> Words:
        return self._binary("and", other)

    def __or__(self, other: Any) -> Words:
        return self._binary("or", other)

    def __xor__(self, other: Any) -> Words:
        return self._binary("xor", other)

    def __lshift__(self, count: int) -> Words:
        return self._binary("shl", count)

    def __rshift__(self, count: int) -> Words:
        return self._binary("lshr", count)

    def is_zero(self) -> Mask:
        """Tell of each lane whether no bit is set."""
        body, form = self.body, self.body.form
        return Mask(
            body, body.op(f"icmp eq {form.words} {self.name}, {form.constant(form.word, '0')}")
        )

    def floats(self) -> Lanes:
        """Return the numbers that have these bits."""
        form = self.body.form
        return Lanes(self.body, self.body.op(f"bitcast {form.words} {self.name} to {form.floats}"))


class Mask(Register):
    """A register of truth values."""

    __slots__ = ()

    def choose(self, yes: Any, no: Any) -> Lanes:
        """Return ``yes`` where true, else ``no``."""
        body, form = self.body, self.body.form
        yes, no = (Lanes(body, "").of(v).name for v in (yes, no))
        text = f"select {form.masks} {self.name}, {form.floats} {yes}, {form.floats} {no}"
        return Lanes(body, body.op(text))


def fma(a: Any, b: Any, c: Any) -> Lanes:
    """Return ``a*b + c``, rounded once; one of the three is a register."""
    some = next(v for v in (a, b, c) if isinstance(v, Lanes))
    return Lanes(some.body, some.body.intrinsic("fma", *(some.of(v).name for v in (a, b, c))))


def polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Return ``c[0] + c[1]*x + ...``: ``c[0]`` plus the rest by Estrin's scheme.

    Pairs of terms, pairs of pairs and so on: as many multiplications as Horner's scheme and a
    few squarings, in a logarithm of its depth (Knuth, The Art of Computer Programming, 4.6.4).
    The first coefficient, the largest as a rule, comes last, so that only one rounding is
    relative to it.
    """
    first, *rest = coefficients
    terms: list[Any] = rest
    power = x
    while len(terms) > 1:
        if len(terms) == 3:  # no slower by Horner's scheme, which needs no further square
            terms = [fma(fma(terms[2], power, terms[1]), power, terms[0])]
            break
        odd = [terms.pop()] if len(terms) % 2 else []
        terms = [fma(b, power, a) for a, b in zip(terms[::2], terms[1::2], strict=True)] + odd
        if len(terms) > 1:
            power = power * power
    return fma(x, terms[0], first)

"""The instructions of the op records as C expressions.

The records say how an op is lowered in LLVM's instructions. Each of these is one operator,
cast or function of C, so the exported code computes what the kernel computes, op by op, and
no op needs a second record.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._core.op import Code, Cython, Emit, Instr, Intrinsic, Libm, Op
from .._core.runtime.interface import llvm_type
from ..errors import UnsupportedError

#: C's types of the element types.
TYPES = {
    "float64": "double", "float32": "float", "bool": "bool",
    "int64": "int64_t", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t",
    "uint64": "uint64_t", "uint32": "uint32_t", "uint16": "uint16_t", "uint8": "uint8_t",
}  # fmt: skip

#: C's types of LLVM's, which do not know signs.
_SIGNED = {
    "double": "double", "float": "float", "i1": "bool", "i8": "int8_t", "i16": "int16_t",
    "i32": "int32_t", "i64": "int64_t",
}  # fmt: skip

_FLOAT = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
_WRAPPING = {"add": "+", "sub": "-", "mul": "*", "shl": "<<", "lshr": ">>"}
_SIGNED_ONLY = {"sdiv": "/", "srem": "%", "ashr": ">>"}
_UNSIGNED_ONLY = {"udiv": "/", "urem": "%"}
_BITS = {"and": "&", "or": "|", "xor": "^"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

#: The functions of C99's <math.h> that records name.
MATH = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1
    fabs floor fma fmod hypot lgamma log log10 log1p log2 nextafter pow rint sin sinh sqrt tan
    tanh tgamma trunc
    """.split()  # noqa: SIM905 - words, not a list to edit
)

#: SciPy's functions, by the names in the records, that <math.h> has too.
C99 = {"gamma": "tgamma", "gammaln": "lgamma"}

#: An expression of more characters gets a variable of its own.
WIDTH = 72


class Writer:
    """Takes the place of the lowering's emitter: instructions become C.

    Registers are tokens ``%0``, ``%1``, ...; the C expression of each is kept beside it, and
    is written to a variable only where it would grow too long.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = 1
        self.texts: dict[str, str] = {}
        self.tables: dict[tuple[float, ...], str] = {}
        self.count = 0
        self.module = self  # the records declare what they call

    def line(self, text: str) -> None:
        """Append a line of C at the present depth."""
        self.lines.append("    " * self.indent + text if text else "")

    def open(self, head: str) -> None:
        """Append a line that opens a block."""
        self.line(f"{head} {{")
        self.indent += 1

    def close(self) -> None:
        """Close the innermost block."""
        self.indent -= 1
        self.line("}")

    def fresh(self, stem: str) -> str:
        """Return the name of a new variable."""
        self.count += 1
        return f"{stem}{self.count}"

    # ---------------------------------------------------------------- what records call

    type = staticmethod(llvm_type)

    def token(self, text: str) -> str:
        """Return a register that holds a C expression."""
        name = f"%{len(self.texts)}"
        self.texts[name] = text
        return name

    def text(self, token: str) -> str:
        """Return the C expression of a register or of a constant of LLVM."""
        known = self.texts.get(token)
        if known is not None:
            return known
        if token.startswith("0x"):
            return number_text(struct.unpack("<d", bytes.fromhex(token[2:])[::-1])[0])
        return token if token in ("true", "false") or not token.startswith("-") else f"({token})"

    def const(self, value: Any, dtype: Any) -> str:
        """Return a register with a number."""
        return self.token(constant(np.dtype(dtype).type(value)))

    def declare(self, *_: Any) -> None:
        """Nothing is declared: what C calls is in its standard headers."""

    def helper(self, text: str) -> None:
        """Refuse a function that is written for machine code only."""
        name = text.partition("@")[2].partition("(")[0].partition(".")[0]
        raise UnsupportedError(f"the code of {name} is for LLVM: it cannot be exported to C")

    def call_libm(self, name: str, dtype: Any, *values: str) -> str:
        """Call a function of <math.h>."""
        if name not in MATH:
            raise UnsupportedError(f"C99 has no function {name}: it cannot be exported")
        suffix = "f" if np.dtype(dtype) == np.float32 else ""
        return self.token(f"{name}{suffix}({', '.join(map(bare, map(self.text, values)))})")

    def call_intrinsic(self, name: str, dtype: Any, *values: str) -> str:
        """Call a function of LLVM, which C99 has under the same name."""
        return self.call_libm(name, dtype, *values)

    def entry(self, numbers: tuple[float, ...], place: str) -> str:
        """Return a register with a number of a table of constants."""
        name = self.tables.get(numbers)
        if name is None:
            name = self.tables[numbers] = self.fresh("k")
        return self.token(f"{name}[{bare(self.text(place))}]")

    def op(self, opcode: str, kind: str, *operands: str | int) -> str:
        """Return a register with the value of arithmetic or a comparison."""
        x, *more = (self.text(str(v)) for v in operands)
        if opcode == "fneg":
            return self._kept(_SIGNED[kind], f"(-{x})")
        return self._kept(*self._binary(opcode.rpartition(" ")[2], kind, x, more[0]))

    def select(self, condition: str, kind: str, yes: str | int, no: str | int) -> str:
        """Return a register with one of two values."""
        c, x, y = (self.text(str(v)) for v in (condition, yes, no))
        return self._kept(_SIGNED[kind], f"({c} ? {bare(x)} : {bare(y)})")

    def cast(self, opcode: str, source: str, value: str, kind: str) -> str:
        """Return a register with a value that is converted."""
        return self._kept(*self._converted(opcode, source, value, kind))

    def call(self, kind: str, function: str, arguments: Iterable[str]) -> str:
        """Return a register with the result of a function of LLVM's."""
        return self._kept(*self._saturated(kind, function, *arguments))

    def _kept(self, kind: str, expression: str) -> str:
        """Return a register with the value of an expression."""
        if len(expression) > WIDTH:
            name = self.fresh("t")
            self.line(f"const {kind} {name} = {bare(expression)};")
            expression = name
        return self.token(expression)

    # ---------------------------------------------------------------- instructions

    def _binary(self, word: str, kind: str, x: str, y: str) -> tuple[str, str]:
        c = _SIGNED[kind]
        unsigned = f"u{c}"
        if word in _FLOAT:
            return c, f"({x} {_FLOAT[word]} {y})"
        if word in _BITS:
            return c, f"({x} {_BITS[word]} {y})"
        if word in _SIGNED_ONLY:
            return c, f"({x} {_SIGNED_ONLY[word]} {y})"
        if word in _UNSIGNED_ONLY:
            return c, f"({c})(({unsigned}){x} {_UNSIGNED_ONLY[word]} ({unsigned}){y})"
        if word in _WRAPPING:  # signed overflow is undefined in C
            return c, f"({c})(({unsigned}){x} {_WRAPPING[word]} ({unsigned}){y})"
        if word == "uno":
            return "bool", f"(isnan({bare(x)}) || isnan({bare(y)}))"
        sign = _COMPARE[word[-2:]]
        if word in ("ult", "ule", "ugt", "uge") and kind in ("i8", "i16", "i32", "i64"):
            return "bool", f"(({unsigned}){x} {sign} ({unsigned}){y})"
        return "bool", f"({x} {sign} {y})"

    def _converted(self, word: str, source: str, value: str, target: str) -> tuple[str, str]:
        x, c = self.text(value), _SIGNED[target]
        if word == "bitcast":
            name, union = self.fresh("t"), self.fresh("u")
            self.line(f"union {{ {_SIGNED[source]} from; {c} to; }} {union};")
            self.line(f"{union}.from = {bare(x)};")
            self.line(f"const {c} {name} = {union}.to;")
            return c, name
        if word in ("uitofp", "zext") and source != "i1":
            return c, f"({c})(u{_SIGNED[source]}){x}"
        if word == "trunc" and target == "i1":
            return c, f"(bool)({x} & 1)"
        return c, f"({c}){x}"

    def _saturated(self, kind: str, function: str, *arguments: str) -> tuple[str, str]:
        """Conversion of a real number to an integer, as LLVM's ``fptosi.sat`` does it."""
        sign = next((s for s in "su" if function.startswith(f"@llvm.fpto{s}i.sat.")), None)
        if sign is None:
            raise UnsupportedError(f"C has no counterpart of {function[1:]}")
        bits, x = int(kind[1:]), self.text(arguments[0].rpartition(" ")[2])
        stem = f"{'U' if sign == 'u' else ''}INT{bits}"
        low = "0" if sign == "u" else f"{stem}_MIN"
        c = f"{'u' if sign == 'u' else ''}int{bits}_t"
        top = f"{2.0**bits if sign == 'u' else 2.0 ** (bits - 1)!r}"
        inside = f"{x} <= {low} ? {low} : ({c}){x}"
        return c, f"(isnan({bare(x)}) ? 0 : {x} >= {top} ? {stem}_MAX : {inside})"


def map_text(writer: Writer, op: Op, dtypes: list[Any], values: list[str], params: Any) -> str:
    """Return the register with the value of an elementwise op."""
    lower, dtype = Code.of(op).lower, dtypes[0]
    if isinstance(lower, Instr):
        text = getattr(lower, dtype.kind)
        if text is not None:
            return writer.op(text, llvm_type(dtype), *values)
    if isinstance(lower, Intrinsic | Libm):
        return writer.call_libm(lower.name, dtype, *values)
    if isinstance(lower, Emit):
        return lower.function(writer, dtypes[-1], *values, **params)
    if isinstance(lower, Cython):
        return writer.call_libm(C99[lower.name], dtype, *values)
    raise UnsupportedError(f"{op.name} of {dtype} cannot be exported to C")


def bare(text: str) -> str:
    """Return an expression without the parentheses around the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and k < len(text) - 1:
            return text
    return text[1:-1]


def number_text(number: float) -> str:
    """Return a double as C text that gives the same bits back."""
    if not math.isfinite(number):
        return "NAN" if number != number else "INFINITY" if number > 0 else "(-INFINITY)"
    text = repr(float(number))
    return f"({text})" if text.startswith("-") else text


def constant(value: Any) -> str:
    """Return a NumPy scalar as C text."""
    kind = value.dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind == "f":
        text = number_text(float(value))
        short = value.dtype.itemsize == 4 and math.isfinite(value)
        return f"(float){text}" if short else text
    number, bits = int(value), 8 * value.dtype.itemsize
    if number == -(2 ** (bits - 1)):
        return f"INT{bits}_MIN"
    if kind == "u":
        return f"UINT{bits}_C({number})" if bits == 64 else str(number)
    text = f"INT64_C({abs(number)})" if abs(number) >= 2**31 else str(abs(number))
    return f"(-{text})" if number < 0 else text

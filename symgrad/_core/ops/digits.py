"""Functions of the digits of numbers: common divisors, bit counts, binary exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..op import (
    Builder,
    Code,
    Composed,
    Emit,
    Evidence,
    Map,
    NonZero,
    NoRule,
    Partials,
    Words,
    composite,
    define,
)
from .np_common import as_array

_REASON = "integers have no derivative"
_WHOLE = (sp.Integers, sp.Integers)

#: Euclid's algorithm on magnitudes.
_GCD = """define internal KIND @gcd.KIND(KIND %a, KIND %b) #0 {
entry:
  br label %head
head:
  %x = phi KIND [ %a, %entry ], [ %y, %body ]
  %y = phi KIND [ %b, %entry ], [ %r, %body ]
  %done = icmp eq KIND %y, 0
  br i1 %done, label %end, label %body
body:
  %r = urem KIND %x, %y
  br label %head
end:
  ret KIND %x
}
"""


def _magnitude(e: Builder, dtype: Any, x: str) -> str:
    if dtype.kind != "i":
        return x
    kind = e.type(dtype)
    minus = e.op("sub", kind, "0", x)
    return e.select(e.op("icmp slt", kind, x, "0"), kind, minus, x)


def _gcd(e: Builder, dtype: Any, x: str, y: str) -> str:
    kind = e.type(dtype)
    text = _GCD.replace("KIND", kind)
    e.module.helper(text)
    a, b = _magnitude(e, dtype, x), _magnitude(e, dtype, y)
    return e.call(kind, f"@gcd.{kind}", [f"{kind} {a}", f"{kind} {b}"])


GCD = define(
    Map("Gcd", functions=(np.gcd,), domain=_WHOLE, sympy=sp.Function("gcd"), rule=NoRule(_REASON)),
    Code(Emit(_gcd)),
    Evidence(samples=(-40, 40), ulp=0.0, exact_form=False),
    Words("Greatest common divisor."),
)  # fmt: skip


def _lcm(x: Any, y: Any) -> Any:
    divisor = np.gcd(x, y)
    # Of the factors, not of the product: one that overflows wraps as NumPy's does.
    return np.where(divisor == 0, 0, np.abs(x // np.where(divisor == 0, 1, divisor)) * np.abs(y))


LCM = define(
    Map("Lcm", functions=(np.lcm,), domain=_WHOLE, sympy=sp.Function("lcm"), rule=NoRule(_REASON)),
    Code(Composed(_lcm)),
    Evidence(samples=(-40, 40), ulp=0.0, exact_form=False),
    Words("Least common multiple."),
)  # fmt: skip


def _count(e: Builder, dtype: Any, x: str) -> str:
    if dtype.kind == "b":
        return e.cast("zext", "i1", x, "i8")
    kind = e.type(dtype)
    e.module.declare(f"llvm.ctpop.{kind}", kind, [kind])
    bits = e.call(kind, f"@llvm.ctpop.{kind}", [f"{kind} {_magnitude(e, dtype, x)}"])
    return bits if kind == "i8" else e.cast("trunc", kind, bits, "i8")


BITWISE_COUNT = define(
    Map("BitwiseCount", functions=(np.bitwise_count,), domain=(sp.Integers,),
        sympy=sp.Function("bitwise_count"), rule=NoRule(_REASON)),
    Code(Emit(_count)),
    Evidence(samples=(-99, 99), ulp=0.0, exact_form=False),
    Words("How many bits of the magnitude are set."),
)  # fmt: skip


# ---------------------------------------------------------------- binary exponents


def _split(e: Builder, dtype: Any, x: str) -> tuple[str, str, str]:
    """Return mantissa and exponent of finite numbers but 0, and whether this is one.

    From the bits: of ``llvm.frexp``, which has two results, LLVM cannot vectorise every loop.
    """
    kind, word = e.type(dtype), f"i{8 * dtype.itemsize}"
    digits, mask = (52, 0x7FF) if dtype.itemsize == 8 else (23, 0xFF)
    half = mask // 2 - 1  # what stands in the place of the exponent in 0.5
    size = e.call_intrinsic("fabs", dtype, x)
    bounded = e.op("fcmp olt", kind, size, e.const(np.inf, dtype))
    other = e.op("fcmp one", kind, size, e.const(0.0, dtype))
    known = e.op("and", "i1", bounded, other)
    small = e.op("fcmp olt", kind, size, e.const(np.finfo(dtype).tiny, dtype))
    raised = e.op("fmul", kind, x, e.const(2.0 ** (digits + 2), dtype))
    bits = e.cast("bitcast", kind, e.select(small, kind, raised, x), word)
    place = e.op("and", word, e.op("lshr", word, bits, digits), mask)
    offset = e.select(small, word, half + digits + 2, half)
    exponent = e.op("sub", word, place, offset)
    kept = e.op("and", word, bits, ~(mask << digits))
    mantissa = e.cast("bitcast", word, e.op("or", word, kept, half << digits), kind)
    return mantissa, exponent if word == "i32" else e.cast("trunc", "i64", exponent, "i32"), known


def _exponent(e: Builder, dtype: Any, x: str) -> str:
    _, exponent, known = _split(e, dtype, x)
    return e.select(known, "i32", exponent, "0")


def _mantissa(e: Builder, dtype: Any, x: str) -> str:
    mantissa, _, known = _split(e, dtype, x)
    kind = e.type(dtype)
    return e.select(known, kind, mantissa, x)


def _exponent_form(x: Any) -> Any:
    return sp.floor(sp.log(sp.Abs(x)) / sp.log(2)) + 1


EXPONENT = define(
    Map("BinaryExponent", evaluate=lambda x: np.frexp(x)[1], domain=(NonZero,),
        types=lambda k: ((_real(k),), np.dtype(np.int32)), sympy=_exponent_form,
        rule=NoRule("piecewise constant")),
    Code(Emit(_exponent), source=lambda x: f"np.frexp({x})[1]"),
    Evidence(samples=(0.3, 9), ulp=0.0, exact_form=False),
    Words("The exponent of np.frexp."),
)  # fmt: skip
MANTISSA = define(
    Map("BinaryMantissa", evaluate=lambda x: np.frexp(x)[0], domain=(NonZero,),
        types=lambda k: ((_real(k),), _real(k)),
        sympy=lambda x: x / sp.Integer(2) ** _exponent_form(x),
        rule=Partials(lambda y, x: (np.where(x == 0, 1.0, y / x),))),
    Code(Emit(_mantissa), source=lambda x: f"np.frexp({x})[0]"),
    Evidence(samples=(0.3, 9), ulp=0.0, exact_form=False),
    Words("The mantissa of np.frexp.",
        convention="at powers of two the derivative of the piece to the right"),
)  # fmt: skip


def _real(kind: Any) -> Any:
    dtype = np.result_type(kind(1) if isinstance(kind, type) else kind)
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


@composite(np.frexp)
def frexp(x: Any) -> Any:
    """Mantissa and exponent to base 2."""
    x = as_array(x)
    return MANTISSA(x), EXPONENT(x)

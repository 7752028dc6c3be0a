"""Whole-number arithmetic with NumPy's meaning, as LLVM IR.

Machine division and shifts are undefined where NumPy defines them (division by zero is 0, a
shift by the width or more is 0 or the sign), so each instruction is guarded by selects. These
emitters serve the integer loops of the records in ``arithmetic`` and ``logic``; the records
here have no NumPy function of their own and appear only in lowered graphs.

Every emitter takes ``(e, dtype, *values)``, where ``dtype`` is the type of the last operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..op import Builder, Code, Emit, Evidence, Map, NoRule, Words, define

_REASON = "integers have no derivative"
_ANY = (-(2**63), 2**63 - 1)


def _select(e: Builder, t: str, condition: str, a: str, b: str) -> str:
    return e.select(condition, t, a, b)


def divmod_text(e: Builder, dtype: Any, x: str, y: str, floor: bool) -> tuple[str, str]:
    """Return quotient and remainder, rounded down or towards zero; both 0 for ``y == 0``."""
    t, signed = e.type(dtype), dtype.kind == "i"
    bad = e.op("icmp eq", t, y, "0")
    zero = bad
    minus = ""
    if signed:  # the most negative number divided by -1 traps
        minus = e.op("icmp eq", t, y, "-1")
        bad = e.op("or", "i1", zero, minus)
    safe = _select(e, t, bad, "1", y)
    sign = "s" if signed else "u"
    q = e.op(f"{sign}div", t, x, safe)
    r = e.op(f"{sign}rem", t, x, safe)
    if signed and floor:
        differ = e.op("icmp slt", t, e.op("xor", t, r, safe), "0")
        inexact = e.op("icmp ne", t, r, "0")
        down = e.op("and", "i1", differ, inexact)
        q = _select(e, t, down, e.op("sub", t, q, "1"), q)
        r = _select(e, t, down, e.op("add", t, r, safe), r)
    if signed:
        q = _select(e, t, minus, e.op("sub", t, "0", x), q)
    return _select(e, t, zero, "0", q), r


def power_text(e: Builder, dtype: Any, x: str, y: str) -> str:
    """Square and multiply over all bits of the exponent; products wrap as in NumPy."""
    t, bits = e.type(dtype), dtype.itemsize * 8 - (dtype.kind == "i")
    result = "1"
    for bit in range(bits):
        odd = e.cast("trunc", t, e.op("lshr", t, y, bit), "i1")
        result = _select(e, t, odd, e.op("mul", t, result, x), result)
        if bit < bits - 1:
            x = e.op("mul", t, x, x)
    return result


def shift_text(left: bool) -> Any:
    """Return the code of a shift; one by the width of the type or more leaves the sign."""

    def emit(e: Builder, dtype: Any, x: str, y: str) -> str:
        t, width = e.type(dtype), dtype.itemsize * 8
        inside = e.op("icmp ult", t, y, width)
        if left:
            shifted = e.op("shl", t, x, _select(e, t, inside, y, "0"))
            return _select(e, t, inside, shifted, "0")
        if dtype.kind == "i":
            return e.op("ashr", t, x, _select(e, t, inside, y, str(width - 1)))
        shifted = e.op("lshr", t, x, _select(e, t, inside, y, "0"))
        return _select(e, t, inside, shifted, "0")

    return emit


def _scale(e: Builder, dtype: Any, n: str) -> str:
    t = e.type(dtype)
    exponent = e.op("shl", t, e.op("add", t, n, "1023"), "52")
    return e.cast("bitcast", t, exponent, "double")


def _integer(name: str, evaluate: np.ufunc, emit: Any, form: Any) -> Any:
    return define(
        Map(name, evaluate=evaluate, domain=(sp.Integers, sp.Integers),
            types=lambda *kinds: evaluate_types(evaluate, kinds), sympy=form,
            rule=NoRule(_REASON)),
        Code(Emit(emit), source=lambda x, y: f"np.{evaluate.__name__}({x}, {y})"),
        Evidence(samples=((-9, 9), (1, 9)), ulp=0.0),
        Words(f"np.{evaluate.__name__} of integers."),
    )  # fmt: skip


def evaluate_types(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return operand types and result type of a ufunc for NumPy or weak Python types."""
    *operands, result = ufunc.resolve_dtypes((*kinds, None))
    return tuple(operands), result


INT_FLOOR_DIVIDE = _integer(
    "IntFloorDivide", np.floor_divide,
    lambda e, d, x, y: divmod_text(e, d, x, y, True)[0], lambda x, y: sp.floor(x / y),
)  # fmt: skip
INT_REMAINDER = _integer(
    "IntRemainder", np.remainder,
    lambda e, d, x, y: divmod_text(e, d, x, y, True)[1], lambda x, y: x - y * sp.floor(x / y),
)  # fmt: skip
SCALE = define(
    Map("Scale", evaluate=lambda n: np.ldexp(1.0, n), domain=(sp.Integers,),
        types=lambda n: ((np.dtype(np.int64),), np.dtype(np.float64)),
        sympy=lambda n: sp.Integer(2) ** n, rule=NoRule(_REASON)),
    Code(Emit(_scale), source=lambda n: f"np.ldexp(1.0, {n})"),
    Evidence(samples=(-1000, 1000), ulp=0.0),
    Words("2.0**n for an int64 n within -1022..1023, exactly: the exponent bits of a double."),
)  # fmt: skip

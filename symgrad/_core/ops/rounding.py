"""Rounding, the parts of a number, and the number format."""

from __future__ import annotations

import math
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
    NoRule,
    Op,
    Partials,
    Real,
    composite,
    define,
    refuse,
)
from .arithmetic import STEP
from .integers import SCALE
from .logic import STOP_GRADIENT
from .np_common import as_array, join_parts
from .pairs import two_product


def _step(name: str, form: Any, *functions: Any) -> Op:
    intrinsic = functions[0].__name__

    def emit(e: Builder, dtype: Any, x: str) -> str:
        return e.call_intrinsic(intrinsic, dtype, x) if dtype.kind == "f" else x

    return define(
        Map(name, functions=functions, domain=(Real,), sympy=form, rule=NoRule(STEP)),
        Code(Emit(emit)),
        Evidence(samples=(-9, 9), ulp=0.0, exact_form=name != "Rint"),
    )


FLOOR = _step("Floor", sp.floor, np.floor)
CEIL = _step("Ceil", sp.ceiling, np.ceil)
TRUNC = _step("Trunc", lambda x: sp.sign(x) * sp.floor(sp.Abs(x)), np.trunc, np.fix)
# Halves go to the even neighbour; the form has them go up.
RINT = _step("Rint", lambda x: sp.floor(x + sp.Rational(1, 2)), np.rint)


def _power_of_ten(digits: int) -> float:
    return 10.0**digits if digits < 309 else math.inf


@composite(np.round, np.around, convention=STEP)
def round_(a: Any, decimals: int = 0, out: None = None) -> Any:
    """Round to a number of decimals, halves to the even neighbour."""
    scale = _power_of_ten(abs(int(decimals)))
    if a.dtype.kind == "c":
        return join_parts(round_(a.real, decimals), round_(a.imag, decimals))
    if a.dtype.kind == "b":
        return a.astype(np.float32)  # float16 in NumPy
    if a.dtype.kind != "f":
        return a if decimals >= 0 else (np.rint(a / scale) * scale).astype(a.dtype)
    if decimals == 0:
        return np.rint(a)
    return np.rint(a * scale) / scale if decimals > 0 else np.rint(a / scale) * scale


def round_number(x: Any, digits: int) -> Any:
    """Round as Python rounds its floats: the decimal number that is nearest to the exact value.

    NumPy's product with ``10**digits`` is rounded itself, so that 0.15, which is less, becomes
    0.2. What is lost by it decides here between the neighbours of a half. Where the next float is
    further away than the digit, x is its own nearest. (Of more than 22 digits, and of so many
    zeros, the power of ten is rounded, and so may be the result.)
    """
    scale, own = _power_of_ten(abs(digits)), STOP_GRADIENT(x)
    size = np.abs(own)
    if not math.isfinite(scale):  # all digits, or none
        return own if digits > 0 else np.where(np.isfinite(own), np.copysign(0.0, own), own)
    if digits >= 0:
        high, low = two_product(size, scale)
        whole = np.floor(high)
        past = (high - whole) - 0.5
        past = np.where(past == 0, low, past)
    else:
        rest = np.fmod(size, scale)  # exactly
        whole = high = np.rint((size - rest) / scale)
        past = rest - 0.5 * scale
    up = (past > 0) | ((past == 0) & (np.fmod(whole, 2.0) == 1))
    found = np.where(up, whole + 1.0, whole)
    found = found / scale if digits >= 0 else found * scale
    return np.where(high < 2.0**53, np.copysign(found, own), own)


@composite(np.modf)
def modf(x: Any) -> tuple[Any, Any]:
    """Fraction and whole part, both with the sign of x."""
    x = np.rint(x) if np.result_type(x).kind in "biu" else x  # as floats
    whole = np.trunc(x)
    # Of whole numbers, too, with their sign and the slope 1: copysign has none at zero.
    part = np.where(np.signbit(x), -(whole - x), x - whole)
    return np.where(np.isinf(x), np.copysign(0.0, x), part), whole


@composite(np.divmod)
def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient rounded down, and remainder."""
    return np.floor_divide(x, y), np.remainder(x, y)


# ---------------------------------------------------------------- real and imaginary parts


@composite(np.real)
def real(val: Any) -> Any:
    """The real part; of a real value the value itself."""
    return val.real


@composite(np.imag)
def imag(val: Any) -> Any:
    """The imaginary part; of a real value zeros."""
    return val.imag


@composite(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """A real value as it is."""
    a = as_array(a)
    if a.dtype.kind == "c":
        refuse(np.real_if_close, "its type depends on numbers: take z.real")
    return a


@composite(np.angle, convention="derivative 0 for real numbers, and at 0")
def angle(z: Any, deg: bool = False) -> Any:
    """Angle in the complex plane; of a real number 0, or pi where it is negative."""
    z = as_array(z)
    phase = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0.0, z)
    return np.rad2deg(phase) if deg else phase


@composite(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace nan and infinities by numbers."""
    if not copy:
        x[...] = nan_to_num(x, True, nan, posinf, neginf)
        return x
    x = as_array(x)
    if x.dtype.kind == "c":
        parts = (nan_to_num(v, copy, nan, posinf, neginf) for v in (x.real, x.imag))
        return join_parts(*parts)
    if x.dtype.kind != "f":
        return x
    largest = float(np.finfo(x.dtype).max)
    top = largest if posinf is None else posinf
    bottom = -largest if neginf is None else neginf
    finite = np.where(x == math.inf, top, np.where(x == -math.inf, bottom, x))
    return np.where(np.isnan(x), nan, finite)


# ---------------------------------------------------------------- the number format


def _ldexp(x: Any, n: Any) -> Any:
    # Two guarded steps bring the exponent in range without rounding twice (as in musl).
    wide, n = x.astype(np.float64), np.minimum(np.maximum(n.astype(np.int64), -3000), 3000)
    for _ in range(2):
        far, low = n > 1023, n < -1022
        wide = wide * np.where(far, 2.0**1023, np.where(low, 2.0**-969, 1.0))
        n = n - np.where(far, 1023, np.where(low, -969, 0))
    wide = wide * SCALE(np.minimum(np.maximum(n, -1022), 1023))
    return wide.astype(x.dtype)


def _nextafter(e: Builder, dtype: Any, x: str, y: str) -> str:
    """Count up or down in the bits, which are in the order of the numbers; a loop stays SIMD."""
    kind, word = e.type(dtype), f"i{8 * dtype.itemsize}"
    tiny = float(np.finfo(dtype).smallest_subnormal)
    zero, above, below = (e.const(v, dtype) for v in (0.0, tiny, -tiny))
    bits = e.cast("bitcast", kind, x, word)
    up, positive = e.op("fcmp olt", kind, x, y), e.op("fcmp ogt", kind, x, zero)
    fewer, more = e.op("sub", word, bits, "1"), e.op("add", word, bits, "1")
    by_sign = [e.select(up, word, a, b)
               for a, b in ((more, fewer), (fewer, more))]  # fmt: skip
    moved = e.select(positive, word, by_sign[0], by_sign[1])
    found = e.cast("bitcast", word, moved, kind)
    first = e.select(up, kind, above, below)
    nothing = e.op("fcmp oeq", kind, x, zero)
    found = e.select(nothing, kind, first, found)
    there = e.op("fcmp oeq", kind, x, y)
    found = e.select(there, kind, y, found)
    unknown, nan = e.op("fcmp uno", kind, x, y), e.op("fadd", kind, x, y)
    return e.select(unknown, kind, nan, found)


NO_FORM = "about the number format, not the number"
LDEXP = define(
    Map("Ldexp", functions=(np.ldexp,), domain=(Real, sp.Integers),
        sympy=lambda x, n: x * sp.Integer(2) ** n,
        rule=Partials(lambda z, x, n: (np.ldexp(x.dtype.type(1), n), None))),
    Code(Composed(_ldexp)),
    Evidence(samples=((-3, 3), (-9, 9)), ulp=0.5),
)  # fmt: skip
NEXTAFTER = define(
    Map("Nextafter", functions=(np.nextafter,), domain=(Real, Real), sympy=None,
        rule=NoRule(NO_FORM)),
    Code(Emit(_nextafter)),
    Evidence(samples=(-3, 3), ulp=0.0),
)  # fmt: skip
SPACING = define(
    Map("Spacing", functions=(np.spacing,), domain=(Real,), sympy=None, rule=NoRule(NO_FORM)),
    Code(Composed(
        lambda x: np.where(x == 0, np.nextafter(np.fabs(x), 1.0),
                           np.nextafter(x, np.copysign(math.inf, x)) - x)
    )),
    Evidence(samples=(-3, 3), ulp=0.0),
)  # fmt: skip

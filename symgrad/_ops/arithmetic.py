"""Arithmetic: operators, division with remainder, powers and roots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import (
    Composed,
    Emit,
    Instr,
    Intrinsic,
    Libm,
    NonZero,
    Op,
    Positive,
    Real,
    define,
    registry,
)  # fmt: skip
from .._spell import infix
from . import parts
from .integers import INT_FLOOR_DIVIDE, INT_REMAINDER, divmod_text, power_text
from .pairs import two_product

UNARY, BINARY = (Real,), (Real, Real)
STEP = "piecewise constant: its derivative is zero where it exists"


def is_float(x: Any) -> bool:
    """Tell whether an operand is of a real type, not whole numbers or truth values."""
    return bool(x.dtype.kind == "f")


# ---------------------------------------------------------------- operators


def _negative(e: Any, dtype: Any, x: str) -> str:
    t = e.type(dtype)
    return str(e.op(f"fneg {t} {x}" if dtype.kind == "f" else f"sub {t} 0, {x}", t))


ADD = define(
    np.add, name="Add", sympy=lambda x, y: x + y, partials=lambda z, x, y: (1, 1),
    lower=Instr(f="fadd", i="add", u="add", b="or"), domain=BINARY, samples=(-3, 3), ulp=0.5,
    source=infix("+"),
    parts=parts.add,
)  # fmt: skip
SUBTRACT = define(
    np.subtract, name="Subtract", sympy=lambda x, y: x - y, partials=lambda z, x, y: (1, -1),
    lower=Instr(f="fsub", i="sub", u="sub"), domain=BINARY, samples=(-3, 3), ulp=0.5,
    source=infix("-"),
    parts=parts.subtract,
)  # fmt: skip
MULTIPLY = define(
    np.multiply, name="Multiply", sympy=lambda x, y: x * y, partials=lambda z, x, y: (y, x),
    lower=Instr(f="fmul", i="mul", u="mul", b="and"), domain=BINARY, samples=(-3, 3), ulp=0.5,
    source=infix("*"),
    parts=parts.multiply,
)  # fmt: skip
DIVIDE = define(
    np.divide, name="Divide", sympy=lambda x, y: x / y, partials=lambda z, x, y: (1 / y, -z / y),
    lower=Instr(f="fdiv"), domain=(Real, NonZero), samples=((-3, 3), (0.5, 3)), ulp=0.5,
    source=infix("/"),
    parts=parts.divide,
)  # fmt: skip
NEGATIVE = define(
    np.negative, name="Negative", sympy=lambda x: -x, partials=lambda y, x: (-1,),
    lower=Emit(_negative), domain=UNARY, samples=(-3, 3), ulp=0.0,
    source=lambda x: f"-{x}",
    parts=lambda z: (-z.real, -z.imag),
)  # fmt: skip
POSITIVE = define(
    np.positive, name="Positive", sympy=lambda x: x, partials=lambda y, x: (1,),
    lower=Emit(lambda e, dtype, x: x), domain=UNARY, samples=(-3, 3), ulp=0.0,
    parts=lambda z: z,
)  # fmt: skip
CONJUGATE = define(
    np.conjugate, name="Conjugate", sympy=lambda x: x, partials=lambda y, x: (1,),
    lower=Emit(lambda e, dtype, x: x), domain=UNARY, samples=(-3, 3), ulp=0.0,
    doc="The value itself: symgrad computes with real numbers.",
    parts=lambda z: (z.real, -z.imag),
)  # fmt: skip
SQUARE = define(
    np.square, name="Square", sympy=lambda x: x**2, partials=lambda y, x: (2 * x,),
    lower=Composed(lambda x: x * x), domain=UNARY, samples=(-3, 3), ulp=0.5,
    parts=parts.square,
)  # fmt: skip
RECIPROCAL = define(
    np.reciprocal, name="Reciprocal", sympy=lambda x: 1 / x, partials=lambda y, x: (-y * y,),
    lower=Composed(lambda x: 1 / x if is_float(x) else np.where(np.absolute(x) == 1, x, 0)),
    domain=(NonZero,), samples=(0.5, 3), ulp=0.5,
    parts=lambda z: 1.0 / z,
)  # fmt: skip


# ---------------------------------------------------------------- division with remainder


def _floor_divide(x: Any, y: Any) -> Any:
    if not is_float(x):
        return INT_FLOOR_DIVIDE(x, y)
    # As NumPy does it: the quotient is taken of what fmod leaves, so it agrees with `%`.
    r = np.fmod(x, y)
    q = (x - r) / y
    q = np.where(np.bitwise_and(r != 0, (y < 0) != (r < 0)), q - 1, q)
    whole = np.floor(q)
    whole = np.where(q - whole > 0.5, whole + 1, whole)
    whole = np.where(q == 0, np.copysign(0 * r, x / y), whole)
    return np.where(y == 0, x / y, whole)


def _remainder(x: Any, y: Any) -> Any:
    if not is_float(x):
        return INT_REMAINDER(x, y)
    r = np.fmod(x, y)
    r_as_y = np.where((y < 0) != (r < 0), r + y, r)
    return np.where(r == 0, np.copysign(r, y), r_as_y)


def _fmod(e: Any, dtype: Any, x: str, y: str) -> str:
    if dtype.kind == "f":
        return str(e.call_libm("fmod", dtype, x, y))
    return divmod_text(e, dtype, x, y, False)[1]


FLOOR_DIVIDE = define(
    np.floor_divide, name="FloorDivide", sympy=lambda x, y: sp.floor(x / y), reason=STEP,
    lower=Composed(_floor_divide), domain=(Real, NonZero), samples=((-9, 9), (0.5, 3)), ulp=0.0,
)  # fmt: skip
REMAINDER = define(
    np.remainder, name="Remainder", sympy=lambda x, y: x - y * sp.floor(x / y),
    partials=lambda z, x, y: (1, -np.floor_divide(x, y)), lower=Composed(_remainder),
    domain=(Real, NonZero), samples=((-9, 9), (0.5, 3)), ulp=0.5,
    convention="at the jumps the derivative of the piece to the right",
)  # fmt: skip
FMOD = define(
    np.fmod, name="Fmod", sympy=lambda x, y: x - y * sp.sign(x / y) * sp.floor(sp.Abs(x / y)),
    # (r - x)/y is minus the quotient up to rounding; truncating x/y could miss it by one.
    partials=lambda z, x, y: (1, np.rint((z - x) / y)),
    lower=Emit(_fmod), domain=(Real, NonZero), samples=((-9, 9), (0.5, 3)), ulp=0.0,
)  # fmt: skip


# ---------------------------------------------------------------- powers and roots


def _power_partials(z: Any, x: Any, y: Any) -> Any:
    # y*x**(y-1) is 0*inf at x = y = 0; log(x)*x**y is -inf*0 at x = 0 < y.
    by_x = np.where(y == 0, 0.0, y * x ** np.where(y == 0, 1.0, y - 1.0))
    return by_x, np.log(np.where(x == 0, 1.0, x)) * z


def _power(e: Any, dtype: Any, x: str, y: str) -> str:
    if dtype.kind == "f":
        return str(e.call_libm("pow", dtype, x, y))
    return power_text(e, dtype, x, y)


POWER_CONVENTION = "x**0 has derivative 0 in x everywhere; 0**y has derivative 0 in y"
FLOAT_POWER = define(
    np.float_power, name="FloatPower", sympy=lambda x, y: x**y, partials=_power_partials,
    lower=Libm("pow"), domain=(Positive, Real), samples=((0.2, 3), (-3, 3)), ulp=1.0,
    convention=POWER_CONVENTION,
    parts=parts.power,
)  # fmt: skip
POWER = define(
    np.power, name="Power", sympy=sp.Pow, partials=_power_partials, lower=Emit(_power),
    domain=(Positive, Real), samples=((0.2, 3), (-3, 3)), ulp=1.0, convention=POWER_CONVENTION,
    parts=parts.power,
)  # fmt: skip
SQRT = define(
    np.sqrt, name="Sqrt", sympy=sp.sqrt, partials=lambda y, x: (0.5 / y,),
    lower=Intrinsic("sqrt"), domain=(Positive,), samples=(0.1, 9), ulp=0.5,
    convention="infinite derivative at 0",
    parts=parts.sqrt,
)  # fmt: skip
_CBRT_OF_LIBRARY = Op(
    name="CbrtOfLibrary", kind="map", evaluate=np.cbrt, lower=Libm("cbrt"), domain=(NonZero,),
    reason="a step of Cbrt in kernels",
)  # fmt: skip
registry.steps[_CBRT_OF_LIBRARY.name] = _CBRT_OF_LIBRARY


def _cube_root(x: Any) -> Any:
    """The C library's root, some units off, and in float64 a step of Newton's method."""
    y = _CBRT_OF_LIBRARY(x)
    if x.dtype != np.float64:
        return y
    size = np.fabs(x)
    inside = (size > 1e-280) & (size < math.inf)
    # The cube of the largest number's root, rounded up, is infinite.
    scale = np.where(size > 1e300, 2.0**-100, 1.0)
    root = np.where(inside, y * scale, 1.0)
    cube = np.where(inside, x * scale * scale * scale, 1.0)
    square, low = two_product(root, root)
    product, rest = two_product(square, root)
    step = ((product - cube) + (rest + low * root)) / (3.0 * square * scale)
    return y - np.where(inside, step, 0.0)


CBRT = define(
    np.cbrt, sc.cbrt, name="Cbrt", sympy=lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3),
    # The root's rounding counts once in y/x, twice in 1/(y*y); 0 and infinity are twice themselves.
    partials=lambda y, x: (np.where(x + x == x, 1.0 / (y * y), np.fabs(y / x)) / 3.0,),
    lower=Composed(_cube_root), domain=(NonZero,),
    samples=(-9, 9), ulp=4.0, convention="infinite derivative at 0",
)  # fmt: skip
HYPOT = define(
    np.hypot, name="Hypot", sympy=lambda x, y: sp.sqrt(x**2 + y**2),
    partials=lambda z, x, y: (x / np.where(z == 0, 1, z), y / np.where(z == 0, 1, z)),
    lower=Libm("hypot"), domain=(NonZero, NonZero), samples=(-3, 3), ulp=1.0,
    convention="derivative 0 at (0, 0)",
)  # fmt: skip

"""Arithmetic: operators, division with remainder, powers and roots."""

from __future__ import annotations

import math
import operator
from functools import reduce
from typing import Any

import numpy as np
import sympy as sp

from ..base.scipy_names import special as sc
from ..base.size_text import infix
from ..base.state import now
from ..graph import Literal
from ..op import (
    Builder,
    Code,
    Composed,
    Emit,
    Evidence,
    Instr,
    Intrinsic,
    Libm,
    Map,
    NonZero,
    NoRule,
    Partials,
    Positive,
    Real,
    Recurrence,
    Words,
    Zeros,
    define,
    define_step,
)
from . import complex_elementwise as parts
from . import series
from .integers import INT_FLOOR_DIVIDE, INT_REMAINDER, divmod_text, power_text
from .pairs import two_product

UNARY, BINARY = (Real,), (Real, Real)
STEP = "piecewise constant: its derivative is zero where it exists"


def is_float(x: Any) -> bool:
    """Tell whether an operand is of a real type, not whole numbers or truth values."""
    return bool(x.dtype.kind == "f")


# ---------------------------------------------------------------- operators


def _of_factors(*masks: Any) -> Any:
    """Return where a product can differ from zero: where each factor can."""
    some = [mask for mask in masks if mask is not None]
    return reduce(operator.and_, some) if some else None


def _of_terms(*masks: Any) -> Any:
    """Return where a sum can differ from zero: where a term can."""
    return None if any(mask is None for mask in masks) else reduce(operator.or_, masks)


FACTORS, TERMS = Zeros(_of_factors), Zeros(_of_terms)


def _negative(e: Builder, dtype: Any, x: str) -> str:
    t = e.type(dtype)
    return e.op("fneg", t, x) if dtype.kind == "f" else e.op("sub", t, 0, x)


ADD = define(
    Map("Add", functions=(np.add,), domain=BINARY, sympy=lambda x, y: x + y,
        rule=Partials(lambda z, x, y: (1, 1)), parts=parts.add),
    Code(Instr(f="fadd", i="add", u="add", b="or"), source=infix("+")),
    Evidence(samples=(-3, 3), ulp=0.5),
    TERMS,
)  # fmt: skip
SUBTRACT = define(
    Map("Subtract", functions=(np.subtract,), domain=BINARY, sympy=lambda x, y: x - y,
        rule=Partials(lambda z, x, y: (1, -1)), parts=parts.subtract),
    Code(Instr(f="fsub", i="sub", u="sub"), source=infix("-")),
    Evidence(samples=(-3, 3), ulp=0.5),
    TERMS,
)  # fmt: skip
MULTIPLY = define(
    Map("Multiply", functions=(np.multiply,), domain=BINARY, sympy=lambda x, y: x * y,
        rule=Partials(lambda z, x, y: (y, x)), parts=parts.multiply),
    Code(Instr(f="fmul", i="mul", u="mul", b="and"), source=infix("*")),
    Evidence(samples=(-3, 3), ulp=0.5),
    Recurrence(series.product),
    FACTORS,
)  # fmt: skip
DIVIDE = define(
    Map("Divide", functions=(np.divide,), domain=(Real, NonZero), sympy=lambda x, y: x / y,
        rule=Partials(lambda z, x, y: (1 / y, -z / y)), parts=parts.divide),
    Code(Instr(f="fdiv"), source=infix("/")),
    Evidence(samples=((-3, 3), (0.5, 3)), ulp=0.5),
    Recurrence(series.quotient),
    Zeros(lambda x, y: x),
)  # fmt: skip
NEGATIVE = define(
    Map("Negative", functions=(np.negative,), domain=UNARY, sympy=lambda x: -x,
        rule=Partials(lambda y, x: (-1,)), parts=lambda z: (-z.real, -z.imag)),
    Code(Emit(_negative), source=lambda x: f"-{x}"),
    Evidence(samples=(-3, 3), ulp=0.0),
    FACTORS,
)  # fmt: skip
POSITIVE = define(
    Map("Positive", functions=(np.positive,), domain=UNARY, sympy=lambda x: x,
        rule=Partials(lambda y, x: (1,)), parts=lambda z: z),
    Code(Emit(lambda e, dtype, x: x)),
    Evidence(samples=(-3, 3), ulp=0.0),
    FACTORS,
)  # fmt: skip
CONJUGATE = define(
    Map("Conjugate", functions=(np.conjugate,), domain=UNARY, sympy=lambda x: x,
        rule=Partials(lambda y, x: (1,)), parts=lambda z: (z.real, -z.imag)),
    Code(Emit(lambda e, dtype, x: x)),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words("The value itself: symgrad computes with real numbers."),
)  # fmt: skip
SQUARE = define(
    Map("Square", functions=(np.square,), domain=UNARY, sympy=lambda x: x**2,
        rule=Partials(lambda y, x: (2 * x,)), parts=parts.square),
    Code(Composed(lambda x: x * x)),
    Evidence(samples=(-3, 3), ulp=0.5),
    Recurrence(series.square),
    FACTORS,
)  # fmt: skip
RECIPROCAL = define(
    Map("Reciprocal", functions=(np.reciprocal,), domain=(NonZero,), sympy=lambda x: 1 / x,
        rule=Partials(lambda y, x: (-y * y,)), parts=lambda z: 1.0 / z),
    Code(Composed(lambda x: 1 / x if is_float(x) else np.where(np.absolute(x) == 1, x, 0))),
    Evidence(samples=(0.5, 3), ulp=0.5),
    Recurrence(formula=lambda moving, x: 1.0 / x),
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


def _fmod(e: Builder, dtype: Any, x: str, y: str) -> str:
    if dtype.kind == "f":
        return e.call_libm("fmod", dtype, x, y)
    return divmod_text(e, dtype, x, y, False)[1]


FLOOR_DIVIDE = define(
    Map("FloorDivide", functions=(np.floor_divide,), domain=(Real, NonZero),
        sympy=lambda x, y: sp.floor(x / y), rule=NoRule(STEP)),
    Code(Composed(_floor_divide)),
    Evidence(samples=((-9, 9), (0.5, 3)), ulp=0.0),
)  # fmt: skip
REMAINDER = define(
    Map("Remainder", functions=(np.remainder,), domain=(Real, NonZero),
        sympy=lambda x, y: x - y * sp.floor(x / y),
        rule=Partials(lambda z, x, y: (1, -np.floor_divide(x, y)))),
    Code(Composed(_remainder)),
    Evidence(samples=((-9, 9), (0.5, 3)), ulp=0.5),
    Words(convention="at the jumps the derivative of the piece to the right"),
)  # fmt: skip
FMOD = define(
    Map("Fmod", functions=(np.fmod,), domain=(Real, NonZero),
        sympy=lambda x, y: x - y * sp.sign(x / y) * sp.floor(sp.Abs(x / y)),
        # (r - x)/y is minus the quotient up to rounding; truncating x/y could miss it by one.
        rule=Partials(lambda z, x, y: (1, np.rint((z - x) / y)))),
    Code(Emit(_fmod)),
    Evidence(samples=((-9, 9), (0.5, 3)), ulp=0.0),
)  # fmt: skip


# ---------------------------------------------------------------- powers and roots


def _power_partials(z: Any, x: Any, y: Any) -> Any:
    # y*x**(y-1) is 0*inf at x = y = 0; log(x)*x**y is -inf*0 at x = 0 < y. Of another x and y = 0
    # it is zero, but its derivative by y is not.
    exponent, state = getattr(y, "node", y), now()
    simplified = state.simplify is not None and not state.promised and not x.shape
    if simplified and isinstance(exponent, Literal) and exponent.value:
        return y * x ** (y - 1.0), None  # what rewriting makes of it, without the steps between
    nothing = np.where(y == 0, ~np.isfinite(1.0 / x), False)
    if getattr(x, "node", None) is getattr(y, "node", y):  # x*x**(x - 1), whose power may overflow
        by_x = np.where(nothing, 0.0, z)
    else:
        by_x = np.where(nothing, 0.0, y * x ** np.where(nothing, 1.0, y - 1.0))
    return by_x, np.log(np.where(x == 0, 1.0, x)) * z


def _power(e: Builder, dtype: Any, x: str, y: str) -> str:
    if dtype.kind == "f":
        return e.call_libm("pow", dtype, x, y)
    return power_text(e, dtype, x, y)


#: Up to this half-integer, a power is a root and products of few factors: of elements of arrays,
#: whose last digits may be off by four units, and of numbers.
MOST_HALVES, MOST_OF_NUMBERS = 3.5, 1.5


def _half_power(x: Any, power: float, element: bool) -> Any:
    """Return ``x**power`` by the square root where the power is 1/2, -1/2, 3/2, ...

    Products overflow or vanish after the power does. That of -0 is that of +0, and only of
    infinity is there a real power of what is negative.
    """
    most = MOST_HALVES if element else MOST_OF_NUMBERS
    if not is_float(x) or abs(power) > most or (2 * power) % 2 != 1:
        return None
    root = np.where(x == -math.inf, math.inf, np.sqrt(x)) + 0.0
    size, count = np.fabs(x), int(abs(power))
    factor = math.prod([size] * (count - 1), start=size) if count else 1.0
    return root * factor if power > 0 else 1.0 / root / factor


POWER_CONVENTION = "x**0 has derivative 0 in x everywhere; 0**y has derivative 0 in y"
FLOAT_POWER = define(
    Map("FloatPower", functions=(np.float_power,), domain=(Positive, Real),
        sympy=lambda x, y: x**y, rule=Partials(_power_partials), parts=parts.power),
    Code(Libm("pow"), by_number=_half_power),
    Evidence(samples=((0.2, 3), (-3, 3)), ulp=1.0),
    Recurrence(series.power, series.power_formula),
    Words(convention=POWER_CONVENTION),
)  # fmt: skip
POWER = define(
    Map("Power", functions=(np.power,), domain=(Positive, Real), sympy=sp.Pow,
        rule=Partials(_power_partials), parts=parts.power),
    Code(Emit(_power), by_number=_half_power),
    Evidence(samples=((0.2, 3), (-3, 3)), ulp=1.0),
    Recurrence(series.power, series.power_formula),
    Words(convention=POWER_CONVENTION),
)  # fmt: skip
SQRT = define(
    Map("Sqrt", functions=(np.sqrt,), domain=(Positive,), sympy=sp.sqrt,
        rule=Partials(lambda y, x: (0.5 / y,)), parts=parts.sqrt),
    Code(Intrinsic("sqrt")),
    Evidence(samples=(0.1, 9), ulp=0.5),
    Recurrence(series.root),
    Words(convention="infinite derivative at 0"),
)  # fmt: skip
_CBRT_OF_LIBRARY = define_step(
    Map("CbrtOfLibrary", evaluate=np.cbrt, domain=(NonZero,),
        rule=NoRule("a step of Cbrt in kernels")),
    Code(Libm("cbrt")),
)  # fmt: skip


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
    Map("Cbrt", functions=(np.cbrt, sc.cbrt), domain=(NonZero,),
        sympy=lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3),
        # The root's rounding counts once in y/x, twice in 1/(y*y); 0 and infinity are twice
        # themselves.
        rule=Partials(lambda y, x: (np.where(x + x == x, 1.0 / (y * y), np.fabs(y / x)) / 3.0,))),
    Code(Composed(_cube_root)),
    Evidence(samples=(-9, 9), ulp=4.0),
    Words(convention="infinite derivative at 0"),
)  # fmt: skip
HYPOT = define(
    Map("Hypot", functions=(np.hypot,), domain=(NonZero, NonZero),
        sympy=lambda x, y: sp.sqrt(x**2 + y**2),
        rule=Partials(lambda z, x, y: (x / np.where(z == 0, 1, z), y / np.where(z == 0, 1, z)))),
    Code(Libm("hypot")),
    Evidence(samples=(-3, 3), ulp=1.0),
    Recurrence(formula=lambda moving, x, y: np.sqrt(x * x + y * y)),
    Words(convention="derivative 0 at (0, 0)"),
)  # fmt: skip

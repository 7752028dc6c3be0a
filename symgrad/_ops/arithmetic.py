"""Arithmetic: operators, powers and roots, extremes, signs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc
import sympy as sp

from .._op import Composed, Emit, Instr, Intrinsic, Libm, NonZero, Positive, Real, define
from .integers import INT_FLOOR_DIVIDE, INT_REMAINDER, SCALE, divmod_text, power_text

UNARY, BINARY = (Real,), (Real, Real)
STEP = "piecewise constant: its derivative is zero where it exists"


def _is_float(*operands: Any) -> bool:
    return bool(operands[0].dtype.kind == "f")


# ---------------------------------------------------------------- operators


def _negative(e: Any, dtype: Any, x: str) -> str:
    t = e.type(dtype)
    return str(e.op(f"fneg {t} {x}" if dtype.kind == "f" else f"sub {t} 0, {x}", t))


ADD = define(
    np.add, name="Add", sympy=lambda x, y: x + y, partials=lambda z, x, y: (1, 1),
    lower=Instr(f="fadd", i="add", u="add", b="or"), domain=BINARY, samples=(-3, 3), ulp=0.5,
)  # fmt: skip
SUBTRACT = define(
    np.subtract, name="Subtract", sympy=lambda x, y: x - y, partials=lambda z, x, y: (1, -1),
    lower=Instr(f="fsub", i="sub", u="sub"), domain=BINARY, samples=(-3, 3), ulp=0.5,
)  # fmt: skip
MULTIPLY = define(
    np.multiply, name="Multiply", sympy=lambda x, y: x * y, partials=lambda z, x, y: (y, x),
    lower=Instr(f="fmul", i="mul", u="mul", b="and"), domain=BINARY, samples=(-3, 3), ulp=0.5,
)  # fmt: skip
DIVIDE = define(
    np.divide, name="Divide", sympy=lambda x, y: x / y, partials=lambda z, x, y: (1 / y, -z / y),
    lower=Instr(f="fdiv"), domain=(Real, NonZero), samples=((-3, 3), (0.5, 3)), ulp=0.5,
)  # fmt: skip
NEGATIVE = define(
    np.negative, name="Negative", sympy=lambda x: -x, partials=lambda y, x: (-1,),
    lower=Emit(_negative), domain=UNARY, samples=(-3, 3), ulp=0.0,
)  # fmt: skip
POSITIVE = define(
    np.positive, name="Positive", sympy=lambda x: x, partials=lambda y, x: (1,),
    lower=Emit(lambda e, dtype, x: x), domain=UNARY, samples=(-3, 3), ulp=0.0,
)  # fmt: skip
CONJUGATE = define(
    np.conjugate, name="Conjugate", sympy=lambda x: x, partials=lambda y, x: (1,),
    lower=Emit(lambda e, dtype, x: x), domain=UNARY, samples=(-3, 3), ulp=0.0,
    doc="The value itself: symgrad computes with real numbers.",
)  # fmt: skip
SQUARE = define(
    np.square, name="Square", sympy=lambda x: x**2, partials=lambda y, x: (2 * x,),
    lower=Composed(lambda x: x * x), domain=UNARY, samples=(-3, 3), ulp=0.5,
)  # fmt: skip
RECIPROCAL = define(
    np.reciprocal, name="Reciprocal", sympy=lambda x: 1 / x, partials=lambda y, x: (-y * y,),
    lower=Composed(lambda x: 1 / x if _is_float(x) else np.where(np.absolute(x) == 1, x, 0)),
    domain=(NonZero,), samples=(0.5, 3), ulp=0.5,
)  # fmt: skip


# ---------------------------------------------------------------- division with remainder


def _floor_divide(x: Any, y: Any) -> Any:
    if not _is_float(x):
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
    if not _is_float(x):
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
    np.power, name="Power", sympy=sp.Pow, partials=_power_partials, lower=Emit(_power),
    domain=(Positive, Real), samples=((0.2, 3), (-3, 3)), ulp=1.0, convention=POWER_CONVENTION,
)  # fmt: skip
SQRT = define(
    np.sqrt, name="Sqrt", sympy=sp.sqrt, partials=lambda y, x: (0.5 / y,),
    lower=Intrinsic("sqrt"), domain=(Positive,), samples=(0.1, 9), ulp=0.5,
    convention="infinite derivative at 0",
)  # fmt: skip
CBRT = define(
    np.cbrt, sc.cbrt, name="Cbrt", sympy=lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3),
    partials=lambda y, x: ((1 / 3) / (y * y),), lower=Libm("cbrt"), domain=(NonZero,),
    samples=(-9, 9), ulp=1.0, convention="infinite derivative at 0",
)  # fmt: skip
HYPOT = define(
    np.hypot, name="Hypot", sympy=lambda x, y: sp.sqrt(x**2 + y**2),
    partials=lambda z, x, y: (x / np.where(z == 0, 1, z), y / np.where(z == 0, 1, z)),
    lower=Libm("hypot"), domain=(NonZero, NonZero), samples=(-3, 3), ulp=1.0,
    convention="derivative 0 at (0, 0)",
)  # fmt: skip


# ---------------------------------------------------------------- signs and extremes


def _absolute(e: Any, dtype: Any, x: str) -> str:
    if dtype.kind == "f":
        return str(e.call_intrinsic("fabs", dtype, x))
    if dtype.kind != "i":
        return x
    t = e.type(dtype)
    below = e.op(f"icmp slt {t} {x}, 0", "i1")
    return str(e.op(f"select i1 {below}, {t} {e.op(f'sub {t} 0, {x}', t)}, {t} {x}", t))


ABSOLUTE = define(
    np.absolute, name="Absolute", sympy=sp.Abs, partials=lambda y, x: (np.sign(x),),
    lower=Emit(_absolute), domain=UNARY, samples=(-3, 3), ulp=0.0, convention="derivative 0 at 0",
)  # fmt: skip
FABS = define(
    np.fabs, name="Fabs", sympy=lambda x: sp.Abs(x), partials=lambda y, x: (np.sign(x),),
    lower=Intrinsic("fabs"), domain=UNARY, samples=(-3, 3), ulp=0.0,
    convention="derivative 0 at 0",
)  # fmt: skip
def _sign(x: Any) -> Any:
    if not _is_float(x):
        return np.minimum(x if x.dtype.kind == "u" else np.maximum(x, -1), 1)
    return np.where(x > 0, 1, np.where(x < 0, -1, x + 0))  # x + 0: nan stays, -0.0 becomes 0.0


SIGN = define(
    np.sign, name="Sign", sympy=sp.sign, reason=STEP, lower=Composed(_sign),
    domain=UNARY, samples=(-3, 3), ulp=0.0,
)  # fmt: skip
COPYSIGN = define(
    np.copysign, name="Copysign", sympy=lambda x, y: sp.Abs(x) * sp.sign(y),
    partials=lambda z, x, y: (np.sign(x) * np.copysign(1.0, y), None),
    lower=Intrinsic("copysign"), domain=(Real, NonZero), samples=(-3, 3), ulp=0.0,
    convention="derivative 0 at 0", exact_form=False,
)  # fmt: skip
SIGNBIT = define(
    np.signbit, name="Signbit", sympy=lambda x: x < 0, reason=STEP,
    lower=Composed(lambda x: np.copysign(1.0, x) < 0), domain=UNARY, samples=(-3, 3), ulp=0.0,
    exact_form=False,
)  # fmt: skip
HEAVISIDE = define(
    np.heaviside, name="Heaviside", sympy=lambda x, h: sp.Heaviside(x, h),
    partials=lambda z, x, h: (None, 1.0 - np.fabs(np.sign(x))),
    lower=Composed(
        lambda x, h: np.where(x == 0, h, np.where(x > 0, 1, np.where(x < 0, 0, x)))
    ),
    domain=(NonZero, Real), samples=(-3, 3), ulp=0.0, convention="derivative 0 at the step",
)  # fmt: skip


def _share(x: Any, y: Any) -> Any:
    tie = np.where(x == y, 0.5, x + y)  # unordered: nan
    return np.where(x > y, 1, np.where(x < y, 0, tie))


SHARE = define(
    name="Share", doc="What x has of max(x, y): 1, 0, or half at a tie.", reason=STEP,
    evaluate=lambda x, y: _share(*map(np.asarray, (x, y))).astype(np.result_type(x, y, 0.0)),
    sympy=lambda x, y: sp.Heaviside(x - y, sp.Rational(1, 2)), lower=Composed(_share),
    domain=BINARY, samples=(-3, 3), ulp=0.0,
)  # fmt: skip


def _extreme(name: str) -> Emit:
    """Select by one comparison; a second one passes nan on (max, min) or over (fmax, fmin)."""
    compare = "ge" if name.endswith("max") else "le"
    watch = 1 if name[0] == "f" else 0

    def emit(e: Any, dtype: Any, x: str, y: str) -> str:
        t = e.type(dtype)
        if dtype.kind == "b":
            return str(e.op(f"{'or' if compare == 'ge' else 'and'} i1 {x}, {y}", t))
        if dtype.kind == "f":
            first = e.op(f"fcmp o{compare} {t} {x}, {y}", "i1")
            watched = (x, y)[watch]
            nan = e.op(f"fcmp uno {t} {watched}, {watched}", "i1")
            first = e.op(f"or i1 {first}, {nan}", "i1")
        else:
            first = e.op(f"icmp {'s' if dtype.kind == 'i' else 'u'}{compare} {t} {x}, {y}", "i1")
        return str(e.op(f"select i1 {first}, {t} {x}, {t} {y}", t))

    return Emit(emit)


def _present(x: Any, y: Any, share: Any) -> Any:
    """``share``, but 1 where y is missing (nan) and 0 where x is."""
    return np.where(np.isnan(y), 1.0, np.where(np.isnan(x), 0.0, share))


TIE = "equal shares at ties"
MAXIMUM = define(
    np.maximum, name="Maximum", sympy=sp.Max, lower=_extreme("max"), domain=BINARY,
    partials=lambda z, x, y: (SHARE(x, y), SHARE(y, x)), samples=(-3, 3), ulp=0.0, convention=TIE,
)  # fmt: skip
MINIMUM = define(
    np.minimum, name="Minimum", sympy=sp.Min, lower=_extreme("min"), domain=BINARY,
    partials=lambda z, x, y: (SHARE(y, x), SHARE(x, y)), samples=(-3, 3), ulp=0.0, convention=TIE,
)  # fmt: skip
FMAX = define(
    np.fmax, name="Fmax", sympy=lambda x, y: sp.Max(x, y), lower=_extreme("fmax"), domain=BINARY, samples=(-3, 3),
    partials=lambda z, x, y: (_present(x, y, SHARE(x, y)), _present(y, x, SHARE(y, x))),
    ulp=0.0, convention=TIE,
)  # fmt: skip
FMIN = define(
    np.fmin, name="Fmin", sympy=lambda x, y: sp.Min(x, y), lower=_extreme("fmin"), domain=BINARY, samples=(-3, 3),
    partials=lambda z, x, y: (_present(x, y, SHARE(y, x)), _present(y, x, SHARE(x, y))),
    ulp=0.0, convention=TIE,
)  # fmt: skip


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


NO_FORM = "about the number format, not the number"
LDEXP = define(
    np.ldexp, name="Ldexp", sympy=lambda x, n: x * sp.Integer(2) ** n,
    partials=lambda z, x, n: (np.ldexp(1.0, n), None), lower=Composed(_ldexp),
    domain=(Real, sp.Integers), samples=((-3, 3), (-9, 9)), ulp=0.5,
)  # fmt: skip
NEXTAFTER = define(
    np.nextafter, name="Nextafter", sympy=None, reason=NO_FORM, lower=Libm("nextafter"),
    domain=BINARY, samples=(-3, 3), ulp=0.0,
)  # fmt: skip
SPACING = define(
    np.spacing, name="Spacing", sympy=None, reason=NO_FORM,
    lower=Composed(
        lambda x: np.where(x == 0, np.nextafter(np.fabs(x), 1.0),
                           np.nextafter(x, np.copysign(math.inf, x)) - x)
    ),
    domain=UNARY, samples=(-3, 3), ulp=0.0,
)  # fmt: skip

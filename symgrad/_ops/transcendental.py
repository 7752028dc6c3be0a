"""Exponentials, logarithms, trigonometry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Composed, Libm, NonZero, Op, Positive, Real, define
from . import parts
from .logistic import sech_squared

UNARY = (Real,)
INSIDE = sp.Interval.open(-1, 1)
# Not by Interval.open, whose subtraction, the first of the process, imports SymPy's tensors: 30 ms.
BETWEEN_POLES = sp.Basic.__new__(sp.Interval, -sp.pi / 2, sp.pi / 2, sp.true, sp.true)
LN2, DEGREE = math.log(2.0), math.pi / 180.0
LOG10E = 0.4342944819032518  # 1/math.log(10.0) is off by one unit


# ---------------------------------------------------------------- exponentials, logarithms

EXP = define(
    np.exp, name="Exp", sympy=sp.exp, partials=lambda y, x: (y,),
    lower=Libm("exp"), domain=UNARY, samples=(-3, 3), ulp=2.0,
    parts=parts.exp,
)  # fmt: skip
EXP2 = define(
    np.exp2, sc.exp2, name="Exp2", sympy=lambda x: sp.Integer(2) ** x,
    partials=lambda y, x: (LN2 * y,), lower=Libm("exp2"), domain=UNARY, samples=(-3, 3), ulp=2.0,
    parts=lambda z: np.exp(parts.LN2 * z),
)  # fmt: skip
EXPM1 = define(
    # exp(x), not y + 1, which is all rounding far to the left.
    np.expm1, sc.expm1, name="Expm1", sympy=lambda x: sp.exp(x) - 1,
    partials=lambda y, x: (np.exp(x),), lower=Libm("expm1"), domain=UNARY, samples=(-3, 3),
    parts=parts.expm1,
)  # fmt: skip
LOG = define(
    np.log, name="Log", sympy=sp.log, partials=lambda y, x: (1 / x,),
    lower=Libm("log"), domain=(Positive,), samples=(0.1, 9), ulp=2.0,
    parts=parts.log,
)  # fmt: skip
LOG2 = define(
    np.log2, name="Log2", sympy=lambda x: sp.log(x) / sp.log(2),
    partials=lambda y, x: ((1 / LN2) / x,), lower=Libm("log2"), domain=(Positive,),
    samples=(0.1, 9), ulp=2.0,
    parts=lambda z: np.log(z) / parts.LN2,
)  # fmt: skip
LOG10 = define(
    np.log10, name="Log10", sympy=lambda x: sp.log(x) / sp.log(10),
    partials=lambda y, x: (LOG10E / x,), lower=Libm("log10"), domain=(Positive,),
    samples=(0.1, 9), ulp=2.0,
    parts=lambda z: np.log(z) / parts.LN10,
)  # fmt: skip
LOG1P = define(
    np.log1p, sc.log1p, name="Log1p", sympy=lambda x: sp.log(1 + x),
    partials=lambda y, x: (1 / (1 + x),), lower=Libm("log1p"),
    domain=(sp.Interval.open(-1, sp.oo),), samples=(-0.9, 9),
    parts=parts.log1p,
)  # fmt: skip


def _gap(x: Any, y: Any) -> Any:
    """``x - y``, and 0 for equal infinities."""
    return np.where((x == y) & np.isinf(x), 0.0, x - y)


LOGADDEXP = define(
    np.logaddexp, name="Logaddexp", sympy=lambda x, y: sp.log(sp.exp(x) + sp.exp(y)),
    partials=lambda z, x, y: (sc.expit(_gap(x, y)), sc.expit(_gap(y, x))),
    lower=Composed(
        lambda x, y: np.where(
            x == y, x + LN2, np.maximum(x, y) + np.log1p(np.exp(-np.fabs(x - y)))
        )
    ),
    domain=(Real, Real), samples=(0.2, 3), convention="equal shares at equal infinities",
)  # fmt: skip
LOGADDEXP2 = define(
    np.logaddexp2, name="Logaddexp2", sympy=lambda x, y: sp.log(2**x + 2**y) / sp.log(2),
    partials=lambda z, x, y: (sc.expit(LN2 * _gap(x, y)), sc.expit(LN2 * _gap(y, x))),
    lower=Composed(
        lambda x, y: np.where(
            x == y, x + 1, np.maximum(x, y) + np.log1p(np.exp2(-np.fabs(x - y))) / LN2
        )
    ),
    domain=(Real, Real), samples=(0.2, 3), convention="equal shares at equal infinities",
)  # fmt: skip


# ---------------------------------------------------------------- trigonometry

SIN = define(
    np.sin, name="Sin", sympy=sp.sin, partials=lambda y, x: (np.cos(x),),
    lower=Libm("sin"), domain=UNARY, samples=(-3, 3),
    parts=parts.sin,
)  # fmt: skip
COS = define(
    np.cos, name="Cos", sympy=sp.cos, partials=lambda y, x: (-np.sin(x),),
    lower=Libm("cos"), domain=UNARY, samples=(-3, 3),
    parts=parts.cos,
)  # fmt: skip
TAN = define(
    np.tan, name="Tan", sympy=sp.tan, partials=lambda y, x: (1 + y * y,),
    lower=Libm("tan"), domain=(BETWEEN_POLES,), samples=(-1.5, 1.5),
    parts=parts.tan,
)  # fmt: skip
ARCSIN = define(
    np.arcsin, name="Arcsin", sympy=sp.asin,
    partials=lambda y, x: (1 / np.sqrt((1 - x) * (1 + x)),), lower=Libm("asin"),
    domain=(INSIDE,), samples=(-0.9, 0.9), convention="infinite derivative at -1 and 1",
    parts=parts.arcsin,
)  # fmt: skip
ARCCOS = define(
    np.arccos, name="Arccos", sympy=sp.acos,
    partials=lambda y, x: (-1 / np.sqrt((1 - x) * (1 + x)),), lower=Libm("acos"),
    domain=(INSIDE,), samples=(-0.9, 0.9), convention="infinite derivative at -1 and 1",
    parts=parts.arccos,
)  # fmt: skip
ARCTAN = define(
    np.arctan, name="Arctan", sympy=sp.atan, partials=lambda y, x: (1 / (1 + x * x),),
    lower=Libm("atan"), domain=UNARY, samples=(-3, 3),
    parts=parts.arctan,
)  # fmt: skip


def _arctan2_partials(z: Any, y: Any, x: Any) -> Any:
    r = np.hypot(y, x)
    r = np.where(r == 0, 1.0, r)
    # Two divisions by r: its square overflows or vanishes long before the result does.
    return (x / r) / r, -(y / r) / r


ARCTAN2 = define(
    np.arctan2, name="Arctan2", sympy=sp.atan2, partials=_arctan2_partials, lower=Libm("atan2"),
    domain=(Real, NonZero), samples=(-3, 3), convention="derivative 0 at (0, 0)",
)  # fmt: skip
DEG2RAD = define(
    np.deg2rad, np.radians, name="Deg2rad", sympy=lambda x: x * sp.pi / 180,
    partials=lambda y, x: (DEGREE,), lower=Composed(lambda x: x * DEGREE),
    domain=UNARY, samples=(-180, 180), ulp=1.5,
)  # fmt: skip
RAD2DEG = define(
    np.rad2deg, np.degrees, name="Rad2deg", sympy=lambda x: x * 180 / sp.pi,
    partials=lambda y, x: (180.0 / math.pi,), lower=Composed(lambda x: x * (180.0 / math.pi)),
    domain=UNARY, samples=(-3, 3), ulp=1.5,
)  # fmt: skip


# ---------------------------------------------------------------- hyperbolic functions

SINH = define(
    np.sinh, name="Sinh", sympy=sp.sinh, partials=lambda y, x: (np.cosh(x),),
    lower=Libm("sinh"), domain=UNARY, samples=(-3, 3),
    parts=parts.sinh,
)  # fmt: skip
COSH = define(
    np.cosh, name="Cosh", sympy=sp.cosh, partials=lambda y, x: (np.sinh(x),),
    lower=Libm("cosh"), domain=UNARY, samples=(-3, 3),
    parts=parts.cosh,
)  # fmt: skip


def _sech_form(x: Any, slope: int = 0) -> Any:
    return -2 * sp.tanh(x) / sp.cosh(x) ** 2 if slope else 1 / sp.cosh(x) ** 2


def _sech_partials(y: Any, x: Any, slope: int = 0) -> Any:
    if not slope:
        return (SECH_SQUARED(x, slope=1),)
    return (SECH_SQUARED(x) * (6.0 * np.square(np.tanh(x)) - 2.0),)


SECH_SQUARED: Op = define(
    # A record of its own: 1 - tanh(x)**2 keeps no digits for large x, cosh(x)**2 overflows.
    name="SechSquared", doc="1/cosh(x)**2, the derivative of tanh.", evaluate=sech_squared,
    sympy=_sech_form, partials=_sech_partials, slopes=1, lower=Composed(sech_squared),
    domain=UNARY, samples=(-3, 3), source=lambda x, slope=0: f"sech_squared({x}, {slope})",
    helpers=(sech_squared,),
)  # fmt: skip
TANH = define(
    np.tanh, name="Tanh", sympy=sp.tanh, partials=lambda y, x: (SECH_SQUARED(x),),
    lower=Libm("tanh"), domain=UNARY, samples=(-3, 3),
    parts=parts.tanh,
)  # fmt: skip
ARCSINH = define(
    np.arcsinh, name="Arcsinh", sympy=sp.asinh, partials=lambda y, x: (1 / np.hypot(1.0, x),),
    lower=Libm("asinh"), domain=UNARY, samples=(-3, 3),
    parts=parts.arcsinh,
)  # fmt: skip
ARCCOSH = define(
    np.arccosh, name="Arccosh", sympy=sp.acosh,
    partials=lambda y, x: (1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),), lower=Libm("acosh"),
    domain=(sp.Interval.open(1, sp.oo),), samples=(1.1, 9),
    convention="infinite derivative at 1",
    parts=parts.arccosh,
)  # fmt: skip
ARCTANH = define(
    np.arctanh, name="Arctanh", sympy=sp.atanh, partials=lambda y, x: (1 / ((1 - x) * (1 + x)),),
    lower=Libm("atanh"), domain=(INSIDE,), samples=(-0.9, 0.9),
    convention="infinite derivative at -1 and 1",
    parts=parts.arctanh,
)  # fmt: skip

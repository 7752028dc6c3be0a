"""Exponentials, logarithms, trigonometry, the logistic function.

Of the derivatives of the logistic function those of the hyperbolic tangent are made. What is lost
in rounding a denominator, a sum of 1 and an exponential, is put into the quotient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from ..base.scipy_names import special as sc
from ..op import (
    Code,
    Composed,
    Evidence,
    Libm,
    Map,
    NonZero,
    Op,
    Partials,
    Positive,
    Real,
    Words,
    define,
)
from . import complex_elementwise as parts
from .pairs import pair_product, pair_quotient, two_sum


def logistic(x: Any) -> Any:
    """``1/(1 + exp(-x))``."""
    e = np.exp(-x)
    below = 1.0 + e
    lost = np.where(e < 1.0, e - (below - 1.0), 1.0 - (below - e))
    found = 1.0 / below
    return np.where(e < math.inf, found - found * (lost * found), found)


def expit_slope(x: Any, slope: int = 0) -> Any:
    """``expit(x)*expit(-x)``, or its derivative.

    With the small exponential e this is ``e/(1 + e)**2``, and the derivative that times
    ``(1 - e)/(1 + e)``; what the denominators lose in rounding is put in.
    """
    size = np.fabs(x)
    e = np.exp(-size)
    if not slope:
        more = e * (2.0 + e)
        square = 1.0 + more
        found = e / square
        return found - found * (((1.0 - square) + more) / square)
    above, below = two_sum(1.0, -e), two_sum(1.0, e)
    near = e > 0.5
    above = np.where(near, -np.expm1(-size), above[0]), np.where(near, 0.0, above[1])
    cube = pair_product(below, pair_product(below, below))
    high, low = pair_quotient(pair_product((e, 0.0), above), cube)
    return -np.copysign(high + low, x)


def sech_squared(x: Any, slope: int = 0) -> Any:
    """``1/cosh(x)**2`` without overflow, or its derivative."""
    return (8.0 if slope else 4.0) * expit_slope(2.0 * x, slope)


def _logit(x: Any) -> Any:
    # Near 1/2, where the result is near 0, the quotient x/(1 - x) would round too early.
    s = 2.0 * (x - 0.5)
    middle = np.log1p(s) - np.log1p(-s)
    return np.where((x < 0.3) | (x > 0.65), np.log(x / (1.0 - x)), middle)


# ---------------------------------------------------------------- records


def _expit_slope_form(x: Any, slope: int = 0) -> Any:
    first = sp.exp(-x) / (1 + sp.exp(-x)) ** 2
    return first * (sp.exp(-x) - 1) / (1 + sp.exp(-x)) if slope else first


def _expit_slope_partials(y: Any, x: Any, slope: int = 0) -> Any:
    if not slope:
        return (EXPIT_SLOPE(x, slope=1),)
    return (EXPIT_SLOPE(x) * (1.5 * np.square(np.tanh(0.5 * x)) - 0.5),)


EXPIT_SLOPE: Op = define(
    Map("ExpitSlope", evaluate=expit_slope, domain=(Real,), sympy=_expit_slope_form,
        rule=Partials(_expit_slope_partials), slopes=1),
    Code(Composed(expit_slope), source=lambda x, slope=0: f"expit_slope({x}, {slope})",
        helpers=(expit_slope,)),
    Evidence(samples=(-3, 3)),
    Words("expit(x)*expit(-x), the derivative of expit."),
)  # fmt: skip
EXPIT = define(
    Map("Expit", functions=(sc.expit,), domain=(Real,), sympy=lambda x: 1 / (1 + sp.exp(-x)),
        rule=Partials(lambda y, x: (EXPIT_SLOPE(x),))),
    Code(Composed(logistic)),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
LOGIT = define(
    Map("Logit", functions=(sc.logit,), domain=(sp.Interval.open(0, 1),),
        sympy=lambda x: sp.log(x / (1 - x)), rule=Partials(lambda y, x: (1 / (x * (1 - x)),))),
    Code(Composed(_logit)),
    Evidence(samples=(0.1, 0.9)),
)  # fmt: skip
LOG_EXPIT = define(
    Map("LogExpit", functions=(sc.log_expit,), domain=(Real,),
        sympy=lambda x: -sp.log(1 + sp.exp(-x)), rule=Partials(lambda y, x: (sc.expit(-x),))),
    Code(Composed(lambda x: np.minimum(x, 0.0) - np.log1p(np.exp(-np.fabs(x))))),
    Evidence(samples=(-3, 3)),
)  # fmt: skip


UNARY = (Real,)
INSIDE = sp.Interval.open(-1, 1)
# Not by Interval.open, whose subtraction, the first of the process, imports SymPy's tensors: 30 ms.
BETWEEN_POLES = sp.Basic.__new__(sp.Interval, -sp.pi / 2, sp.pi / 2, sp.true, sp.true)
LN2, DEGREE = math.log(2.0), math.pi / 180.0
LOG10E = 0.4342944819032518  # 1/math.log(10.0) is off by one unit


# ---------------------------------------------------------------- exponentials, logarithms

EXP = define(
    Map("Exp", functions=(np.exp,), domain=UNARY, sympy=sp.exp, rule=Partials(lambda y, x: (y,)),
        parts=parts.exp),
    Code(Libm("exp")),
    Evidence(samples=(-3, 3), ulp=2.0),
)  # fmt: skip
EXP2 = define(
    Map("Exp2", functions=(np.exp2, sc.exp2), domain=UNARY, sympy=lambda x: sp.Integer(2) ** x,
        rule=Partials(lambda y, x: (LN2 * y,)), parts=lambda z: np.exp(parts.LN2 * z)),
    Code(Libm("exp2")),
    Evidence(samples=(-3, 3), ulp=2.0),
)  # fmt: skip
EXPM1 = define(
    Map("Expm1",
        # exp(x), not y + 1, which is all rounding far to the left.
        functions=(np.expm1, sc.expm1), domain=UNARY, sympy=lambda x: sp.exp(x) - 1,
        rule=Partials(lambda y, x: (np.exp(x),)), parts=parts.expm1),
    Code(Libm("expm1")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
LOG = define(
    Map("Log", functions=(np.log,), domain=(Positive,), sympy=sp.log,
        rule=Partials(lambda y, x: (1 / x,)), parts=parts.log),
    Code(Libm("log")),
    Evidence(samples=(0.1, 9), ulp=2.0),
)  # fmt: skip
LOG2 = define(
    Map("Log2", functions=(np.log2,), domain=(Positive,), sympy=lambda x: sp.log(x) / sp.log(2),
        rule=Partials(lambda y, x: ((1 / LN2) / x,)), parts=lambda z: np.log(z) / parts.LN2),
    Code(Libm("log2")),
    Evidence(samples=(0.1, 9), ulp=2.0),
)  # fmt: skip
LOG10 = define(
    Map("Log10", functions=(np.log10,), domain=(Positive,),
        sympy=lambda x: sp.log(x) / sp.log(10), rule=Partials(lambda y, x: (LOG10E / x,)),
        parts=lambda z: np.log(z) / parts.LN10),
    Code(Libm("log10")),
    Evidence(samples=(0.1, 9), ulp=2.0),
)  # fmt: skip
LOG1P = define(
    Map("Log1p", functions=(np.log1p, sc.log1p), domain=(sp.Interval.open(-1, sp.oo),),
        sympy=lambda x: sp.log(1 + x), rule=Partials(lambda y, x: (1 / (1 + x),)),
        parts=parts.log1p),
    Code(Libm("log1p")),
    Evidence(samples=(-0.9, 9)),
)  # fmt: skip


def _gap(x: Any, y: Any) -> Any:
    """``x - y``, and 0 for equal infinities."""
    return np.where((x == y) & np.isinf(x), 0.0, x - y)


LOGADDEXP = define(
    Map("Logaddexp", functions=(np.logaddexp,), domain=(Real, Real),
        sympy=lambda x, y: sp.log(sp.exp(x) + sp.exp(y)),
        rule=Partials(lambda z, x, y: (sc.expit(_gap(x, y)), sc.expit(_gap(y, x))))),
    Code(Composed(
        lambda x, y: np.where(
            x == y, x + LN2, np.maximum(x, y) + np.log1p(np.exp(-np.fabs(x - y)))
        )
    )),
    Evidence(samples=(0.2, 3)),
    Words(convention="equal shares at equal infinities"),
)  # fmt: skip
LOGADDEXP2 = define(
    Map("Logaddexp2", functions=(np.logaddexp2,), domain=(Real, Real),
        sympy=lambda x, y: sp.log(2**x + 2**y) / sp.log(2),
        rule=Partials(lambda z, x, y: (sc.expit(LN2 * _gap(x, y)), sc.expit(LN2 * _gap(y, x))))),
    Code(Composed(
        lambda x, y: np.where(
            x == y, x + 1, np.maximum(x, y) + np.log1p(np.exp2(-np.fabs(x - y))) / LN2
        )
    )),
    Evidence(samples=(0.2, 3)),
    Words(convention="equal shares at equal infinities"),
)  # fmt: skip


# ---------------------------------------------------------------- trigonometry

SIN = define(
    Map("Sin", functions=(np.sin,), domain=UNARY, sympy=sp.sin,
        rule=Partials(lambda y, x: (np.cos(x),)), parts=parts.sin),
    Code(Libm("sin")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
COS = define(
    Map("Cos", functions=(np.cos,), domain=UNARY, sympy=sp.cos,
        rule=Partials(lambda y, x: (-np.sin(x),)), parts=parts.cos),
    Code(Libm("cos")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
TAN = define(
    Map("Tan", functions=(np.tan,), domain=(BETWEEN_POLES,), sympy=sp.tan,
        rule=Partials(lambda y, x: (1 + y * y,)), parts=parts.tan),
    Code(Libm("tan")),
    Evidence(samples=(-1.5, 1.5)),
)  # fmt: skip
ARCSIN = define(
    Map("Arcsin", functions=(np.arcsin,), domain=(INSIDE,), sympy=sp.asin,
        rule=Partials(lambda y, x: (1 / np.sqrt((1 - x) * (1 + x)),)), parts=parts.arcsin),
    Code(Libm("asin")),
    Evidence(samples=(-0.9, 0.9)),
    Words(convention="infinite derivative at -1 and 1"),
)  # fmt: skip
ARCCOS = define(
    Map("Arccos", functions=(np.arccos,), domain=(INSIDE,), sympy=sp.acos,
        rule=Partials(lambda y, x: (-1 / np.sqrt((1 - x) * (1 + x)),)), parts=parts.arccos),
    Code(Libm("acos")),
    Evidence(samples=(-0.9, 0.9)),
    Words(convention="infinite derivative at -1 and 1"),
)  # fmt: skip
ARCTAN = define(
    Map("Arctan", functions=(np.arctan,), domain=UNARY, sympy=sp.atan,
        rule=Partials(lambda y, x: (1 / (1 + x * x),)), parts=parts.arctan),
    Code(Libm("atan")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip


def _arctan2_partials(z: Any, y: Any, x: Any) -> Any:
    r = np.hypot(y, x)
    r = np.where(r == 0, 1.0, r)
    # Two divisions by r: its square overflows or vanishes long before the result does.
    return (x / r) / r, -(y / r) / r


ARCTAN2 = define(
    Map("Arctan2", functions=(np.arctan2,), domain=(Real, NonZero), sympy=sp.atan2,
        rule=Partials(_arctan2_partials)),
    Code(Libm("atan2")),
    Evidence(samples=(-3, 3)),
    Words(convention="derivative 0 at (0, 0)"),
)  # fmt: skip
DEG2RAD = define(
    Map("Deg2rad", functions=(np.deg2rad, np.radians), domain=UNARY,
        sympy=lambda x: x * sp.pi / 180, rule=Partials(lambda y, x: (DEGREE,))),
    Code(Composed(lambda x: x * DEGREE)),
    Evidence(samples=(-180, 180), ulp=1.5),
)  # fmt: skip
RAD2DEG = define(
    Map("Rad2deg", functions=(np.rad2deg, np.degrees), domain=UNARY,
        sympy=lambda x: x * 180 / sp.pi, rule=Partials(lambda y, x: (180.0 / math.pi,))),
    Code(Composed(lambda x: x * (180.0 / math.pi))),
    Evidence(samples=(-3, 3), ulp=1.5),
)  # fmt: skip


# ---------------------------------------------------------------- hyperbolic functions

SINH = define(
    Map("Sinh", functions=(np.sinh,), domain=UNARY, sympy=sp.sinh,
        rule=Partials(lambda y, x: (np.cosh(x),)), parts=parts.sinh),
    Code(Libm("sinh")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
COSH = define(
    Map("Cosh", functions=(np.cosh,), domain=UNARY, sympy=sp.cosh,
        rule=Partials(lambda y, x: (np.sinh(x),)), parts=parts.cosh),
    Code(Libm("cosh")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip


def _sech_form(x: Any, slope: int = 0) -> Any:
    return -2 * sp.tanh(x) / sp.cosh(x) ** 2 if slope else 1 / sp.cosh(x) ** 2


def _sech_partials(y: Any, x: Any, slope: int = 0) -> Any:
    if not slope:
        return (SECH_SQUARED(x, slope=1),)
    return (SECH_SQUARED(x) * (6.0 * np.square(np.tanh(x)) - 2.0),)


SECH_SQUARED: Op = define(
    Map("SechSquared", evaluate=sech_squared, domain=UNARY, sympy=_sech_form,
        rule=Partials(_sech_partials), slopes=1),
    Code(Composed(sech_squared), source=lambda x, slope=0: f"sech_squared({x}, {slope})",
        helpers=(sech_squared,)),
    Evidence(samples=(-3, 3)),
    Words(
        # A record of its own: 1 - tanh(x)**2 keeps no digits for large x, cosh(x)**2 overflows.
        "1/cosh(x)**2, the derivative of tanh."),
)  # fmt: skip
TANH = define(
    Map("Tanh", functions=(np.tanh,), domain=UNARY, sympy=sp.tanh,
        rule=Partials(lambda y, x: (SECH_SQUARED(x),)), parts=parts.tanh),
    Code(Libm("tanh")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
ARCSINH = define(
    Map("Arcsinh", functions=(np.arcsinh,), domain=UNARY, sympy=sp.asinh,
        rule=Partials(lambda y, x: (1 / np.hypot(1.0, x),)), parts=parts.arcsinh),
    Code(Libm("asinh")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
ARCCOSH = define(
    Map("Arccosh", functions=(np.arccosh,), domain=(sp.Interval.open(1, sp.oo),), sympy=sp.acosh,
        rule=Partials(lambda y, x: (1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),)), parts=parts.arccosh),
    Code(Libm("acosh")),
    Evidence(samples=(1.1, 9)),
    Words(convention="infinite derivative at 1"),
)  # fmt: skip
ARCTANH = define(
    Map("Arctanh", functions=(np.arctanh,), domain=(INSIDE,), sympy=sp.atanh,
        rule=Partials(lambda y, x: (1 / ((1 - x) * (1 + x)),)), parts=parts.arctanh),
    Code(Libm("atanh")),
    Evidence(samples=(-0.9, 0.9)),
    Words(convention="infinite derivative at -1 and 1"),
)  # fmt: skip

"""Signs and extremes: abs, sign, heaviside, maximum, minimum."""

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
    Intrinsic,
    Map,
    NonZero,
    NoRule,
    Partials,
    Real,
    Words,
    define,
)
from . import complex_elementwise as parts
from . import complex_order
from .arithmetic import BINARY, STEP, UNARY, is_float


def _absolute(e: Builder, dtype: Any, x: str) -> str:
    if dtype.kind == "f":
        return e.call_intrinsic("fabs", dtype, x)
    if dtype.kind != "i":
        return x
    t = e.type(dtype)
    below = e.op("icmp slt", t, x, "0")
    return e.select(below, t, e.op("sub", t, "0", x), x)


ABSOLUTE = define(
    Map("Absolute", functions=(np.absolute,), domain=UNARY, sympy=sp.Abs,
        rule=Partials(lambda y, x: (np.sign(x),)), parts=parts.absolute),
    Code(Emit(_absolute)),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words(convention="derivative 0 at 0"),
)  # fmt: skip
FABS = define(
    Map("Fabs", functions=(np.fabs,), domain=UNARY, sympy=sp.Abs,
        rule=Partials(lambda y, x: (np.sign(x),))),
    Code(Intrinsic("fabs")),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words(convention="derivative 0 at 0"),
)  # fmt: skip


def _sign(x: Any) -> Any:
    if not is_float(x):
        return np.minimum(x if x.dtype.kind == "u" else np.maximum(x, -1), 1)
    return np.where(x > 0, 1, np.where(x < 0, -1, x + 0))  # x + 0: nan stays, -0.0 becomes 0.0


SIGN = define(
    Map("Sign", functions=(np.sign,), domain=UNARY, sympy=sp.sign, rule=NoRule(STEP),
        parts=parts.sign),
    Code(Composed(_sign)),
    Evidence(samples=(-3, 3), ulp=0.0),
)  # fmt: skip
COPYSIGN = define(
    Map("Copysign", functions=(np.copysign,), domain=(Real, NonZero),
        sympy=lambda x, y: sp.Abs(x) * sp.sign(y),
        rule=Partials(lambda z, x, y: (np.sign(x) * np.copysign(1.0, y), None))),
    Code(Intrinsic("copysign")),
    Evidence(samples=(-3, 3), ulp=0.0, exact_form=False),
    Words(convention="derivative 0 at 0"),
)  # fmt: skip
SIGNBIT = define(
    Map("Signbit", functions=(np.signbit,), domain=UNARY, sympy=lambda x: x < 0,
        rule=NoRule(STEP)),
    Code(Composed(lambda x: np.copysign(1.0, x) < 0)),
    Evidence(samples=(-3, 3), ulp=0.0, exact_form=False),
)  # fmt: skip
HEAVISIDE = define(
    Map("Heaviside", functions=(np.heaviside,), domain=(NonZero, Real), sympy=sp.Heaviside,
        rule=Partials(lambda z, x, h: (None, 1.0 - np.fabs(np.sign(x))))),
    Code(Composed(
        lambda x, h: np.where(x == 0, h, np.where(x > 0, 1, np.where(x < 0, 0, x)))
    )),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words(convention="derivative 0 at the step"),
)  # fmt: skip


def share(x: Any, y: Any) -> Any:
    """The share of x in max(x, y): 1, 0, or half at a tie."""
    tie = np.where(x == y, 0.5, x + y)  # unordered: nan
    return np.where(x > y, 1, np.where(x < y, 0, tie))


SHARE = define(
    Map("Share",
        evaluate=lambda x, y: share(*(np.asarray(v, np.result_type(x, y, 0.0)) for v in (x, y))),
        domain=BINARY, sympy=lambda x, y: sp.Heaviside(x - y, sp.Rational(1, 2)),
        rule=NoRule(STEP)),
    Code(Composed(share), source=lambda x, y: f"share({x}, {y})", helpers=(share,)),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words("The share of x in max(x, y): 1, 0, or half at a tie."),
)  # fmt: skip


def _extreme(name: str) -> Emit:
    """Select by one comparison; a second one passes nan on (max, min) or over (fmax, fmin).

    Of equal numbers the second one is taken, as by x86's instruction and so by NumPy: zeros tell.
    """
    compare = "gt" if name.endswith("max") else "lt"
    watch = 1 if name[0] == "f" else 0

    def emit(e: Builder, dtype: Any, x: str, y: str) -> str:
        t = e.type(dtype)
        if dtype.kind == "b":
            return e.op("or" if compare == "gt" else "and", "i1", x, y)
        if dtype.kind == "f":
            first = e.op(f"fcmp o{compare}", t, x, y)
            watched = (x, y)[watch]
            nan = e.op("fcmp uno", t, watched, watched)
            first = e.op("or", "i1", first, nan)
        else:
            first = e.op(f"icmp {'s' if dtype.kind == 'i' else 'u'}{compare}", t, x, y)
        return e.select(first, t, x, y)

    return Emit(emit)


def _present(x: Any, y: Any, share: Any) -> Any:
    """``share``, but 1 where y is missing (nan) and 0 where x is."""
    return np.where(np.isnan(y), 1.0, np.where(np.isnan(x), 0.0, share))


def _upper(z: Any, x: Any, y: Any) -> Any:
    """Where each operand is the larger one, at ties both; if one is nan, both."""
    return (x < y, False), (y < x, False)


def _lower(z: Any, x: Any, y: Any) -> Any:
    return (y < x, False), (x < y, False)


TIE = "equal shares at ties"
MAXIMUM = define(
    Map("Maximum", functions=(np.maximum,), domain=BINARY, sympy=sp.Max,
        rule=Partials(lambda z, x, y: (SHARE(x, y), SHARE(y, x))), taken=_upper,
        parts=complex_order.greatest),
    Code(_extreme("max")),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words(convention=TIE),
)  # fmt: skip
MINIMUM = define(
    Map("Minimum", functions=(np.minimum,), domain=BINARY, sympy=sp.Min,
        rule=Partials(lambda z, x, y: (SHARE(y, x), SHARE(x, y))), taken=_lower,
        parts=complex_order.least),
    Code(_extreme("min")),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words(convention=TIE),
)  # fmt: skip
FMAX = define(
    Map("Fmax", functions=(np.fmax,), domain=BINARY, sympy=sp.Max,
        rule=Partials(lambda z, x, y: (_present(x, y, SHARE(x, y)), _present(y, x, SHARE(y, x)))),
        taken=lambda z, x, y: (((x < y) | np.isnan(x), False), ((y < x) | np.isnan(y), False)),
        parts=complex_order.greatest_present),
    Code(_extreme("fmax")),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words(convention=TIE),
)  # fmt: skip
FMIN = define(
    Map("Fmin", functions=(np.fmin,), domain=BINARY, sympy=sp.Min,
        rule=Partials(lambda z, x, y: (_present(x, y, SHARE(y, x)), _present(y, x, SHARE(x, y)))),
        taken=lambda z, x, y: (((y < x) | np.isnan(x), False), ((x < y) | np.isnan(y), False)),
        parts=complex_order.least_present),
    Code(_extreme("fmin")),
    Evidence(samples=(-3, 3), ulp=0.0),
    Words(convention=TIE),
)  # fmt: skip

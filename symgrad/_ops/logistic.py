"""The logistic function and its derivatives, of which those of the hyperbolic tangent are made.

What is lost in rounding a denominator, a sum of 1 and an exponential, is put into the quotient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Code, Composed, Evidence, Map, Op, Partials, Real, Words, define
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

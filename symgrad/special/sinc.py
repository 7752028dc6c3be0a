"""``sin(x)/x`` and ``(exp(x) - 1)/x``, and their derivatives, which lose no digits near 0.

The quotient rule does. Both are integrals of elementary functions over the unit interval, with
power series; far from 0 each derivative follows from the one before. They are families that are
closed under differentiation.

Source: NIST Digital Library of Mathematical Functions, 6.2 and 8.2, integrated by parts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import (
    HIGHEST,
    Code,
    Composed,
    Cython,
    Evidence,
    Map,
    NonZero,
    Op,
    Partials,
    Words,
    define,
)
from .._core.ops import complex_elementwise as parts
from .records import UNARY
from .taylor import form_of_order


def _terms(bound: float) -> int:
    """How many powers of ``bound`` over factorials are more than 1e-18."""
    count, term = 0, 1.0
    while term > 1e-18:
        count += 1
        term *= bound / count
    return count


def sinc_slope(x: Any, order: int = 0) -> Any:
    """The derivative of ``sin(x)/x``, or a derivative of it.

    Derivative n is the integral of ``t**n`` times that of ``cos(x*t)``, t from 0 to 1.
    """
    n = order + 1
    bound = 1.5 + n / 3  # beyond, the recurrence magnifies errors less than the series cancels
    a = np.fabs(x)
    inside = a < bound
    near = np.where(inside, x, 0.0)
    first = n % 2
    powers = range(first, _terms(bound) + 2, 2)
    total = 0.0 * near
    for p in reversed(powers):
        sign = -1.0 if (p + n) // 2 % 2 else 1.0
        total = total * (near * near) + sign / (math.factorial(p) * (p + n + 1))
    total = total * near if first else total
    far = np.where(inside, bound, x)
    sine, cosine = np.sin(far), np.cos(far)
    beyond = sine / far
    for k in range(1, n + 1):
        turned = (cosine, -sine, -cosine, sine)[(k - 1) % 4]
        beyond = (turned - k * beyond) / far
    return np.where(inside, total, beyond)


def exprel_slope(x: Any, order: int = 0) -> Any:
    """The derivative of ``(exp(x) - 1)/x``, or a derivative of it.

    Derivative n is the integral of ``t**n*exp(x*t)``, t from 0 to 1. For negative x its series is
    exp(x) times one of positive terms.
    """
    n = order + 1
    bound = n + 4.0
    inside = np.fabs(x) < bound
    near = np.where(inside, x, 0.0)
    above, below = np.maximum(near, 0.0), np.maximum(-near, 0.0)
    up, down = 0.0 * near, 0.0 * near
    for p in reversed(range(_terms(bound) + 1)):
        up = up * above + 1.0 / (math.factorial(p) * (p + n + 1))
        down = down * below + math.factorial(n) / math.factorial(n + p + 1)
    total = np.where(near < 0, np.exp(near) * down, up)
    far = np.where(inside, bound, x)
    grown = np.exp(far)
    beyond = np.expm1(far) / far
    for k in range(1, n + 1):
        beyond = (grown - k * beyond) / far
    return np.where(inside, total, beyond)


def _sinc_form(x: Any, order: int = 0) -> Any:
    return form_of_order(lambda x: sp.cos(x) / x - sp.sin(x) / x**2, x, order)


def _exprel_form(x: Any, order: int = 0) -> Any:
    return form_of_order(lambda x: sp.exp(x) / x - (sp.exp(x) - 1) / x**2, x, order)


SINC_SLOPE: Op = define(
    Map("SincSlope", evaluate=sinc_slope, domain=(NonZero,), sympy=_sinc_form,
        rule=Partials(lambda y, x, order=0: (SINC_SLOPE(x, order=order + 1),)), orders=HIGHEST),
    Code(Composed(sinc_slope), source=lambda x, order=0: f"sinc_slope({x}, {order})",
        helpers=(_terms, sinc_slope)),
    Evidence(samples=(0.2, 4), ulp=8.0),
    Words("The derivative of sin(x)/x; a derivative of it."),
)  # fmt: skip
EXPREL_SLOPE: Op = define(
    Map("ExprelSlope", evaluate=exprel_slope, domain=(NonZero,), sympy=_exprel_form,
        rule=Partials(lambda y, x, order=0: (EXPREL_SLOPE(x, order=order + 1),)), orders=HIGHEST),
    Code(Composed(exprel_slope), source=lambda x, order=0: f"exprel_slope({x}, {order})",
        helpers=(_terms, exprel_slope)),
    Evidence(samples=(-8, -0.2), ulp=8.0),
    Words("The derivative of (exp(x) - 1)/x; a derivative of it."),
)  # fmt: skip


def _sinc(x: Any) -> Any:
    angle = math.pi * np.where(x == 0, 1e-20, x)
    return np.sin(angle) / angle


SINC = define(
    Map("Sinc", functions=(np.sinc,), domain=UNARY, sympy=lambda x: sp.sinc(sp.pi * x),
        rule=Partials(lambda y, x: (
            (-math.pi**2 / 3) * x * sc.hyp0f1(2.5, (-math.pi**2 / 4) * (x * x)),
        )),
        parts=parts.sinc),
    Code(Composed(_sinc)),
    Evidence(samples=(-0.9, 0.9), ulp=16.0),
)  # fmt: skip
EXPREL = define(
    Map("Exprel", functions=(sc.exprel,), domain=(NonZero,), sympy=lambda x: (sp.exp(x) - 1) / x,
        rule=Partials(lambda y, x: (EXPREL_SLOPE(x),))),
    Code(Cython("exprel")),
    Evidence(samples=(0.2, 3), ulp=8.0),
    Words("(exp(x) - 1)/x, and 1 at 0."),
)  # fmt: skip

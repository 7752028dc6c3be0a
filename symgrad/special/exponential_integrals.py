"""Exponential, sine and cosine integrals, Fresnel's integrals, the dilogarithm.

By tables of what is left of them. Close to 0 they are without their logarithm or over powers of x,
far out without decay, growth or phase. The hyperbolic ones are half the sum and difference of Ei
and E1 where the latter is small. Those of whole orders go by a recurrence or a continued fraction.

Source: NIST Digital Library of Mathematical Functions, 6.2, 6.5, 7.2, 7.5, 7.6, 8.19.12 and
8.19.17.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import HIGHEST, Evidence, Op, Positive, Words
from .._core.ops.pairs import two_product
from . import multiple_precision as precisely
from .records import ORDER, POSITIVE, UNARY, boxed, elsewhere, in_doubles, parts
from .tables import (
    CHI_NEAR,
    CI_MIDDLE,
    CI_NEAR,
    E1_IMAGINARY,
    E1_REAL,
    EI_FAR,
    EI_MIDDLE,
    EI_NEAR,
    EXP1_FAR,
    EXP1_MIDDLE,
    EXP1_NEAR,
    FRESNEL_F,
    FRESNEL_G,
    FRESNELC_MIDDLE,
    FRESNELC_NEAR,
    FRESNELS_MIDDLE,
    FRESNELS_NEAR,
    SHI_NEAR,
    SI_MIDDLE,
    SI_NEAR,
    SPENCE_MIDDLE,
    by_tables,
    table_code,
    tabulated,
)
from .taylor import form_of_order


def exp1(x: Any, fit: Any) -> Any:
    """The exponential integral E1: without its logarithm, then without its decay; in 1/x."""
    near, a, far = np.minimum(x, 1.0), np.maximum(x, 1.0), np.maximum(x, 8.0)
    scaled = np.where(x > 8.0, fit(1.0 / far, EXP1_FAR) / far, fit(a, EXP1_MIDDLE))
    series = fit(near, EXP1_NEAR) - np.log(np.fabs(near))
    return np.where(x < 0, math.nan, np.where(x > 1.0, scaled * np.exp(-a), series))


def ei_of_positive(x: Any, fit: Any) -> Any:
    """The exponential integral Ei of x >= 0."""
    near, a = np.minimum(x, 1.0), np.maximum(x, 1.0)
    far, below = np.minimum(np.maximum(x, 8.0), 1000.0), np.minimum(a, 700.0)
    scaled = np.where(x > 8.0, fit(1.0 / far, EI_FAR) / far, fit(a, EI_MIDDLE))
    # The whole exponential overflows where the result does not; else the second one is 1.
    grown = np.exp(below) * scaled * np.exp(a - below)
    return np.where(x > 1.0, grown, fit(near, EI_NEAR) + np.log(near))


def expi(x: Any, fit: Any) -> Any:
    """The exponential integral Ei, which is -E1(-x) for negative x."""
    a = np.fabs(x)
    return np.where(x < 0, -exp1(a, fit), ei_of_positive(a, fit))


def shi(x: Any, fit: Any) -> Any:
    """The hyperbolic sine integral."""
    a = np.fabs(x)
    near, far = np.minimum(a, 2.0), np.maximum(a, 2.0)
    beyond = np.copysign(0.5 * (ei_of_positive(far, fit) + exp1(far, fit)), x)
    return np.where(a > 2.0, beyond, x * fit(near * near, SHI_NEAR))


def chi(x: Any, fit: Any) -> Any:
    """The hyperbolic cosine integral; of abs(x), as SciPy's."""
    a = np.fabs(x)
    near, far = np.minimum(a, 2.0), np.maximum(a, 2.0)
    beyond = 0.5 * (ei_of_positive(far, fit) - exp1(far, fit))
    return np.where(a > 2.0, beyond, fit(near * near, CHI_NEAR) + np.log(near))


def turning_far(a: Any, fit: Any) -> Any:
    """``Ci(a)`` and ``Si(a) - pi/2`` for a > 8."""
    right = np.maximum(a, 8.0)
    u = 1.0 / right
    angle = np.where(right < math.inf, right, 8.0)
    real, imaginary = fit(u, E1_REAL), fit(u, E1_IMAGINARY)
    sine, cosine = np.sin(angle), np.cos(angle)
    return (real * sine - imaginary * cosine) * u, -(real * cosine + imaginary * sine) * u


def si(x: Any, fit: Any) -> Any:
    """The sine integral."""
    a = np.fabs(x)
    near = np.minimum(a, 2.0)
    # The second number is what the double of pi/2 leaves.
    far = 1.5707963267948966 + (turning_far(a, fit)[1] + 6.123233995736766e-17)
    beyond = np.copysign(np.where(a > 8.0, far, fit(a, SI_MIDDLE)), x)
    return np.where(a > 2.0, beyond, x * fit(near * near, SI_NEAR))


def ci(x: Any, fit: Any) -> Any:
    """The cosine integral; of abs(x), as SciPy's."""
    a = np.fabs(x)
    near = np.minimum(a, 1.0)
    beyond = np.where(a > 8.0, turning_far(a, fit)[0], fit(a, CI_MIDDLE))
    found = np.where(a > 1.0, beyond, fit(near * near, CI_NEAR) + np.log(near))
    return np.where(x == -math.inf, math.nan, found)


def dilogarithm(x: Any, fit: Any) -> Any:
    """Spence's function, over its distance from the zero; below 1/2 by reflection, then in 1/x."""
    far = x > 8.0
    at = np.where(far, 1.0 / x, x)
    low = at < 0.5
    safe = np.minimum(np.maximum(at, 5e-324), 0.5)
    turned = np.where(low, 1.0 - safe, at)
    near = (turned - 1.0) * fit(turned, SPENCE_MIDDLE)
    product = np.log(safe) * np.log1p(-safe)
    reflected = 1.6449340668482264 - ((near - 3.040672350398476e-17) + product)  # pi**2/6
    found = np.where(low, reflected, near)
    found = np.where(far, -0.5 * np.square(np.log(np.maximum(x, 8.0))) - found, found)
    return np.where(x < 0, math.nan, found)


def fresnel_far(a: Any, fit: Any) -> Any:
    """``1/2 - S`` and ``1/2 - C`` of a > 4; the turns of the phase are taken off exactly."""
    right = np.minimum(np.maximum(a, 4.0), 1e8)
    u = 1.0 / np.maximum(a, 4.0)
    square, low = two_product(right, right)
    turn = 0.5 * math.pi * ((square - 4.0 * np.rint(0.25 * square)) + low)
    sine, cosine = np.sin(turn), np.cos(turn)
    w = np.square(np.square(u))
    f = fit(w, FRESNEL_F) * (u / math.pi)
    g = fit(w, FRESNEL_G) * (u / math.pi) * (u * (u / math.pi))
    return f * cosine + g * sine, g * cosine - f * sine


def fresnel_s(x: Any, fit: Any) -> Any:
    """Fresnel's sine integral."""
    a = np.fabs(x)
    near = np.minimum(a, 1.0)
    square = near * near
    beyond = np.where(a > 4.0, 0.5 - fresnel_far(a, fit)[0], fit(a, FRESNELS_MIDDLE))
    inner = near * square * fit(square * square, FRESNELS_NEAR)
    return np.copysign(np.where(a > 1.0, beyond, inner), x)


def fresnel_c(x: Any, fit: Any) -> Any:
    """Fresnel's cosine integral."""
    a = np.fabs(x)
    near = np.minimum(a, 1.0)
    power = np.square(near * near)
    beyond = np.where(a > 4.0, 0.5 - fresnel_far(a, fit)[1], fit(a, FRESNELC_MIDDLE))
    inner = near + near * (power * fit(power, FRESNELC_NEAR))
    return np.copysign(np.where(a > 1.0, beyond, inner), x)


def exponential_integral(n: Any, x: Any, other: Callable[..., Any] = sc.expn) -> Any:
    """The integral of ``exp(-x*t)/t**n``, t from 1 on.

    Below 1.8 from order 1 upwards, else by the continued fraction from its tail on.
    """
    n, x = np.float64(1.0) * n, np.float64(1.0) * x
    near = (n >= 1) & (n <= 6) & (n == np.rint(n)) & (x > 0) & (x < 1.8)
    far = (n >= 1) & (n <= 60) & (n == np.rint(n)) & (x >= 1.8) & (x <= 700)
    order, at = np.where(near, n, 2.0), np.where(near, x, 1.0)
    power, small = np.exp(-at), sc.exp1(at)
    for k in range(1, 6):
        small = np.where(order > k, (power - at * small) * (1.0 / k), small)
    order, at = np.where(far, n, 2.0), np.where(far, x, 2.0)
    tail = at + order + 120.0
    for k in range(60, 0, -1):
        tail = (at + order + (2.0 * k - 2.0)) - k * (order + (k - 1.0)) / tail
    large = np.exp(-at) / tail
    return np.where(near, small, np.where(far, large, elsewhere(other, near | far, n, x)))


# ---------------------------------------------------------------- records

EXP1 = tabulated(
    "Exp1", exp1, (Positive,), lambda x: sp.expint(1, x), lambda y, x: (-np.exp(-x) / x,),
    Evidence(samples=(0.1, 5), ulp=8.0), functions=(sc.exp1,),
)  # fmt: skip
EXPI = tabulated(
    "Expi", expi, (Positive,), sp.Ei, lambda y, x: (np.exp(x) / x,),
    Evidence(samples=(0.6, 5), ulp=8.0), functions=(sc.expi,),
)  # fmt: skip


def _over(f: np.ufunc, share: float, x: Any) -> Any:
    """A sine over x: close to 0 as a series, whose derivatives are no differences."""
    return np.where(np.fabs(x) < 1.0, sc.hyp0f1(1.5, share * np.square(x)), f(x) / x)


SINE, COSINE = parts(
    sc.sici, [(by_tables(f), table_code(f)) for f in (si, ci)], ("SineIntegral", "CosineIntegral"),
    (lambda ops, x: (_over(np.sin, -0.25, x),), lambda ops, x: (np.cos(x) / x,)),
    (sp.Si, sp.Ci), domain=POSITIVE,
    evidence=Evidence(samples=(0.2, 9), ulp=128.0),
)  # fmt: skip
SINEH, COSINEH = parts(
    sc.shichi, [(by_tables(f), table_code(f)) for f in (shi, chi)],
    ("HyperbolicSineIntegral", "HyperbolicCosineIntegral"),
    (lambda ops, x: (_over(np.sinh, 0.25, x),), lambda ops, x: (np.cosh(x) / x,)),
    (sp.Shi, sp.Chi), domain=POSITIVE,
    evidence=Evidence(samples=(0.6, 9), ulp=16.0),
)  # fmt: skip
FRESNELS, FRESNELC = parts(
    sc.fresnel,
    [(by_tables(f), table_code(f)) for f in (fresnel_s, fresnel_c)],
    ("FresnelS", "FresnelC"),
    (
        lambda ops, x: (np.sin(math.pi / 2 * (x * x)),),
        lambda ops, x: (np.cos(math.pi / 2 * (x * x)),),
    ),
    (sp.fresnels, sp.fresnelc), domain=UNARY,
    evidence=Evidence(samples=(-2, 2), ulp=16.0),
)  # fmt: skip


def _expn_slope(y: Any, n: Any, x: Any) -> Any:
    # SciPy has no negative orders. Either side depends on n, or its derivative by n would be 0.
    return math.nan, np.where(n == 0, -y * (1 + 1 / x), -EXPN(n - 1, x))


EXPN: Op = boxed(
    "Expn", sc.expn, exponential_integral, (sp.Naturals0, Positive), None, _expn_slope,
    Evidence(samples=((0, 4), (0.2, 5)), ulp=16.0, precise=precisely.expn),
    Words("Generalized exponential integral of a whole order.", convention=ORDER),
    helpers=(elsewhere,),
)  # fmt: skip


def log_ratio(x: Any, order: int = 0) -> Any:
    """``log(x)/(x - 1)``, or a derivative of it: the integral of 1/(1 + t*(x - 1)) over t to 1.

    By its power series up to 1/2 from 1. Beyond, derivative n is the n-th of the logarithm, less
    n times the one before, over x - 1 (DLMF 4.6.1).
    """
    u = x - 1.0
    inside = np.fabs(u) < 0.5
    near, total = np.where(inside, u, 0.0), 0.0 * u
    for k in range(60 + 4 * order, -1, -1):
        total = (-1.0) ** (k + order) * math.perm(k + order, order) / (k + order + 1) + near * total
    far, at = np.where(inside, 1.0, u), np.where(inside, 2.0, x)
    beyond = np.log(at) / far
    for n in range(1, order + 1):
        beyond = ((-1.0) ** (n - 1) * math.factorial(n - 1) / at**n - n * beyond) / far
    return np.where(inside, total, beyond)


LOG_RATIO: Op = in_doubles(
    "LogRatio", log_ratio, POSITIVE,
    lambda x, order=0: form_of_order(lambda x: sp.log(x) / (x - 1), x, order),
    lambda y, x, order=0: (LOG_RATIO(x, order=order + 1),), Evidence(samples=(1.2, 6), ulp=16.0),
    Words("log(x)/(x - 1), and 1 at 1; a derivative of it."), orders=HIGHEST,
)  # fmt: skip
SPENCE: Op = tabulated(
    "Spence", dilogarithm, POSITIVE, None, lambda y, x: (-LOG_RATIO(x),),
    Evidence(samples=(1.2, 6), ulp=16.0, precise=precisely.spence), Words("Dilogarithm."),
    functions=(sc.spence,),
)  # fmt: skip

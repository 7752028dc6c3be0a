"""The normal distribution: density, distribution function, hazard, and quantiles.

The hazard is the density over the distribution function; that of ``-x`` exceeds ``x`` by about
``1/x``, so that little of the difference is left, and less of its derivatives. Every part of the
axis has a way to compute it, and by Taylor polynomials its derivatives, without one.

Quantiles, the inverses of erfc and of the distribution function, are by tables: close to their zero
of the distance from it, in the tails of ``sqrt(-log(x))``. Slopes have tables of their own: by the
exponential of a squared value they would magnify its rounding.

Source: NIST Digital Library of Mathematical Functions, 7.9 and 7.17; T. J. Dekker, A floating-point
technique for extending the available precision, Numerische Mathematik 18, 1971.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import HIGHEST, Code, Composed, Evidence, Map, Op, Partials, Words, define
from .._core.ops.pairs import two_product
from .records import UNARY, elsewhere, of_scipy
from .tables import (
    ERFCINV1_FAR,
    ERFCINV1_MIDDLE,
    ERFCINV1_TAIL,
    ERFCINV_FAR,
    ERFCINV_MIDDLE,
    ERFCINV_TAIL,
    EXCESS0_MIDDLE,
    EXCESS1_MIDDLE,
    EXCESS2_MIDDLE,
    EXCESS3_MIDDLE,
    HAZARD_FAR,
    HAZARD_MIDDLE,
    NDTRI1_FAR,
    NDTRI1_MIDDLE,
    NDTRI1_TAIL,
    NDTRI_FAR,
    NDTRI_MIDDLE,
    NDTRI_TAIL,
    tabulated,
)
from .taylor import form_of_order, series_product, series_quotient, series_root, series_sum


def bell_parts(x: Any, power: float) -> Any:
    """``exp(-power*x*x)`` without the rounding of x*x, and the share of itself to be taken off.

    x = h + l with h a multiple of 1/16: h*h is exact and x*x - h*h = (x - h)*(x + h) small. What
    the sum of both loses in rounding is known exactly (Dekker 1971).
    """
    x = np.minimum(np.fabs(x), 40.0)
    h = np.rint(x * 16.0) * 0.0625
    large, small = power * (h * h), power * ((x - h) * (x + h))
    total = large + small
    return np.exp(-total), (large - total) + small


def bell(x: Any, power: float) -> Any:
    """``exp(-power*x*x)`` without the rounding of x*x, which exp would magnify."""
    found, lost = bell_parts(x, power)
    return found * (1.0 - lost)


def normal_density(x: Any) -> Any:
    """Density of the standard normal distribution."""
    found, lost = bell_parts(x, 0.5)
    high, low = two_product(found, 0.3989422804014327)  # 1/sqrt(2*pi), less 2.5e-17
    return high + (low - found * (0.3989422804014327 * lost + 2.49232720227773e-17))


def density_slope(x: Any) -> Any:
    """The derivative of the density, rounded once beside the exponential."""
    found, lost = bell_parts(x, 0.5)
    at = np.minimum(np.maximum(x, -40.0), 40.0)
    factor, more = two_product(at, -0.3989422804014327)
    high, low = two_product(found, factor)
    return high + (low + found * ((more + at * 2.49232720227773e-17) - factor * lost))


def normal_distribution(x: Any) -> Any:
    """Distribution function of the standard normal distribution.

    What is lost in rounding -x*sqrt(1/2) is known exactly; erfc would magnify it x*x times. By its
    logarithmic derivative, nearly ``-z - sqrt(z*z + 2)`` where that counts, it goes into the value.
    """
    within = np.minimum(np.maximum(np.float64(1.0) * x, -40.0), 40.0)
    z, low = two_product(within, -0.7071067811865476)  # sqrt(1/2), more by 4.8e-17
    lost = low + within * 4.833646656726457e-17
    found = sc.erfc(z)
    rate = np.where(z > 0.0, z + np.sqrt(z * z + 2.0), 0.0)
    return 0.5 * (found - found * (rate * lost))


def erfcx_by_parts(x: Any) -> Any:
    """``exp(x*x)*erfc(x)``; from 10 on its asymptotic series. Where SciPy's is not at hand."""
    near = sc.erfc(np.minimum(x, 10.0)) / bell(np.minimum(x, 10.0), 1.0)
    far = np.maximum(x, 10.0)
    q = 0.5 / far / far
    series = 0.0 * q
    for k in range(25, 0, -2):
        series = -float(k) * q * (1.0 + series)
    return np.where(x > 10.0, (1.0 + series) / (far * 1.7724538509055159), near)


def log_ndtr_by_parts(x: Any) -> Any:
    """Logarithm of the normal distribution function. Where SciPy's is not at hand."""
    left, right = np.minimum(x, -1.0), np.maximum(x, -1.0)
    far = np.log(0.5 * erfcx_by_parts(-math.sqrt(0.5) * left)) - 0.5 * left * left
    return np.where(x < -1.0, far, np.log1p(-0.5 * sc.erfc(math.sqrt(0.5) * right)))


def normal_hazard(x: Any, fit: Any) -> Any:
    """Density over distribution function of the standard normal distribution."""
    left, right = np.minimum(x, -8.0), np.maximum(x, 1.0)
    beyond = -left * fit(1.0 / (left * left), HAZARD_FAR)
    near = np.where(x < -8.0, beyond, fit(x, HAZARD_MIDDLE))
    return np.where(x > 1.0, normal_density(right) / sc.ndtr(right), near)


def excess_left(x: Any, order: int) -> Any:
    """Taylor coefficient of ``h(x) - x``, where the hazard h is small: for x < -1.

    By the differential equation: with the excess e, h' = h*e.
    """
    h = [normal_density(x) / sc.ndtr(-x)]
    e = [h[0] - x]
    for k in range(order):
        h.append(series_product(h, e, k + 1)[k] / (k + 1))
        e.append(h[k + 1] - 1.0 if k == 0 else h[k + 1])
    return e[order]


def excess_middle(x: Any, order: int) -> Any:
    """Taylor coefficient of ``h(x) - x`` for x from -1 to 2.5: an interpolating polynomial."""
    scale = 1.75
    s = (x - 0.75) * (1.0 / scale)
    found = [0.0 * s for _ in range(order + 1)]
    for c in (
        4.0555659579089574e-15, -1.3141809517123773e-14, -2.1444658591290066e-14,
        1.3792319326335527e-13, -1.1746417258559828e-13, -3.57647611004076e-13,
        1.0897655499456159e-12, -1.4523392904547827e-12, 2.327848781040296e-13,
        6.1985368879055045e-12, -2.1729653779560082e-11, 3.609571963005839e-11,
        -1.3824581397593668e-12, -1.7341851295594381e-10, 5.335669680418874e-10,
        -7.737139433581553e-10, -2.6203196054409694e-10, 4.598340304767144e-09,
        -1.2724604012207622e-08, 1.618436576314485e-08, 1.3198781892915332e-08,
        -1.1974939009627843e-07, 3.0008043240118826e-07, -3.2586198633648446e-07,
        -4.828031510763566e-07, 3.076600446095545e-06, -7.0069043751565114e-06,
        6.205348071708199e-06, 1.5699085775138318e-05, -7.883993230296471e-05,
        0.00016354381635396285, -0.00010750896015118373, -0.0004971464365773324,
        0.0021061954360727534, -0.004038072488693285, 0.0014746207971519808, 0.01904523206298334,
        -0.08169887233936572, 0.2117123519437993, -0.40413203785236446, 0.5787779652212071,
    ):  # fmt: skip
        for k in range(order, 0, -1):
            found[k] = found[k] * s + found[k - 1]
        found[0] = found[0] * s + c
    return found[order] * scale**-order


def excess_right(x: Any, order: int) -> Any:
    """Taylor coefficient of ``h(x) - x`` for x > 2.5: Laplace's continued fraction.

    1/(x + 2/(x + 3/(x + ...))), of which what is left is close to its fixed point.
    """
    count, last = order + 1, 60 + 40 * min(order, 2)
    root = series_root([x * x + (4.0 * last + 4.0), 2.0 * x, 1.0], count)
    tail = [0.5 * v for v in series_sum([x, 1.0], root)]
    for k in range(last, 0, -1):
        fraction = series_quotient([float(k)], tail, count)
        tail = series_sum([x, 1.0], fraction)
    return fraction[order]


def hazard_excess(x: Any, fit: Any, order: int = 0) -> Any:
    """Hazard of the standard normal distribution less its argument, ``normal_hazard(-x) - x``.

    Or a derivative of that; from -1 to 2.5 up to the third by tables.
    """
    if order <= 3:
        table = (EXCESS0_MIDDLE, EXCESS1_MIDDLE, EXCESS2_MIDDLE, EXCESS3_MIDDLE)[order]
        middle = fit(x, table)
    else:
        middle = excess_middle(np.minimum(np.maximum(x, -1.0), 2.5), order)
        middle = math.factorial(order) * middle
    right = excess_right(np.maximum(x, 2.5), order)
    left = excess_left(np.minimum(x, -1.0), order)
    beyond = math.factorial(order) * np.where(x > 2.5, right, left)
    return np.where((x > 2.5) | (x < -1.0), beyond, middle)


# ---------------------------------------------------------------- records

DENSITY_SLOPE: Op = define(
    Map("NormalDensitySlope", evaluate=density_slope, domain=UNARY,
        sympy=lambda x: -x * sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi),
        rule=Partials(lambda y, x: ((x - 1) * (x + 1) * DENSITY(x),))),
    Code(Composed(density_slope), source=lambda x: f"density_slope({x})",
        helpers=(density_slope,)),
    Evidence(samples=(-3, 3)),
    Words("The derivative of the standard normal density."),
)  # fmt: skip
DENSITY: Op = define(
    Map("NormalDensity", evaluate=normal_density, domain=UNARY,
        sympy=lambda x: sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi),
        rule=Partials(lambda y, x: (DENSITY_SLOPE(x),))),
    Code(Composed(normal_density, "normal_density"), source=lambda x: f"normal_density({x})",
        helpers=(normal_density,)),
    Evidence(samples=(-3, 3)),
    Words("Density of the standard normal distribution."),
)  # fmt: skip

NDTR = define(
    Map("Ndtr", functions=(sc.ndtr,), domain=UNARY, sympy=lambda x: sp.erfc(-x / sp.sqrt(2)) / 2,
        # SciPy's loses the rounding of x/sqrt(2), 1400 units in the last place far to the left.
        rule=Partials(lambda y, x: (DENSITY(x),))),
    Code(Composed(normal_distribution, "ndtr")),
    Evidence(samples=(-3, 3), ulp=30.0),
    Words(reading=lambda x: (1 + sp.erf(x / sp.sqrt(2))) / 2),
)  # fmt: skip
HAZARD = tabulated(
    "NormalHazard", normal_hazard, UNARY,
    lambda x: sp.sqrt(2 / sp.pi) * sp.exp(-(x**2) / 2) / sp.erfc(-x / sp.sqrt(2)),
    lambda y, x: (np.where(x > -1, -y * EXCESS(-x), -1 - EXCESS(-x, order=1)),),
    Evidence(samples=(-3, 3), ulp=8.0),
    Words("exp(-x*x/2)/sqrt(2*pi)/ndtr(x), the derivative of log_ndtr."),
)  # fmt: skip


def _excess_form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return sp.sqrt(2 / sp.pi) * sp.exp(-(x**2) / 2) / sp.erfc(x / sp.sqrt(2)) - x

    return form_of_order(plain, x, order)


EXCESS: Op = tabulated(
    "HazardExcess", hazard_excess, UNARY, _excess_form,
    lambda y, x, order=0: (EXCESS(x, order=order + 1),), Evidence(samples=(-3, 3), ulp=64.0),
    Words("Hazard of the normal distribution less its argument; a derivative."), orders=HIGHEST,
)  # fmt: skip
_LOG_NDTR = of_scipy("LogNdtr", sc.log_ndtr, UNARY)


def _log_ndtr(x: Any) -> Any:
    """From -1 on by the complement, which SciPy's loses digits of."""
    x = np.float64(1.0) * x
    right = x > -1.0
    small = -0.5 * sc.erfc(math.sqrt(0.5) * np.where(right, x, 0.0))
    return np.where(right, np.log1p(small), elsewhere(_LOG_NDTR, right, x))


LOG_NDTR = define(
    Map("LogNdtr", functions=(sc.log_ndtr,), domain=UNARY,
        sympy=lambda x: sp.log(sp.erfc(-x / sp.sqrt(2)) / 2),
        rule=Partials(lambda y, x: (HAZARD(x),))),
    Code(Composed(_log_ndtr), portable=log_ndtr_by_parts),
    Evidence(samples=(-3, 3), ulp=30.0),
    Words(reading=lambda x: sp.log((1 + sp.erf(x / sp.sqrt(2))) / 2)),
)  # fmt: skip


# ---------------------------------------------------------------- quantiles


def by_tail(w: Any, fit: Any, tail: Any, far: Any, slope: float = 0.0) -> Any:
    """A function of ``t = sqrt(-log(w))``, for w < 1/2; nan for negative w.

    What is lost in rounding t is known exactly (Dekker 1971), and put in by about its slope.
    """
    square = -np.log(np.minimum(w, 0.5))
    t = np.sqrt(square)
    found = np.where(t > 8.0, fit(t, far), fit(t, tail))
    if slope:
        high = 134217729.0 * t
        high = high - (high - t)
        low = t - high
        rest = (square - high * high) - 2.0 * high * low
        found = found + rest * (0.5 * slope) / t
    return found


def erfcinv(x: Any, fit: Any) -> Any:
    """The inverse of erfc."""
    z, w = 1.0 - x, np.minimum(x, 2.0 - x)
    size = np.where(w == 0, math.inf, by_tail(w, fit, ERFCINV_TAIL, ERFCINV_FAR, 1.0))
    near = z * fit(np.fabs(z), ERFCINV_MIDDLE)
    return np.where(w < 0.5, np.copysign(1.0, z) * size, near)


def erfcinv_slope(x: Any, fit: Any) -> Any:
    """The derivative of erfcinv."""
    w = np.minimum(x, 2.0 - x)
    tail = by_tail(w, fit, ERFCINV1_TAIL, ERFCINV1_FAR) / np.fabs(w)
    return -np.where(w < 0.5, tail, fit(np.fabs(1.0 - x), ERFCINV1_MIDDLE))


def ndtri(p: Any, fit: Any) -> Any:
    """The inverse of ndtr."""
    z, w = p - 0.5, np.minimum(p, 1.0 - p)
    size = np.where(w == 0, math.inf, by_tail(w, fit, NDTRI_TAIL, NDTRI_FAR, 1.4))
    near = z * fit(np.fabs(z), NDTRI_MIDDLE)
    return np.where(w < 0.25, np.copysign(1.0, z) * size, near)


def ndtri_slope(p: Any, fit: Any) -> Any:
    """The derivative of ndtri."""
    w = np.minimum(p, 1.0 - p)
    tail = by_tail(w, fit, NDTRI1_TAIL, NDTRI1_FAR) / np.fabs(w)
    return np.where(w < 0.25, tail, fit(np.fabs(p - 0.5), NDTRI1_MIDDLE))


UNIT, TWICE = (sp.Interval.open(0, 1),), (sp.Interval.open(0, 2),)


ERFCINV_SLOPE: Op = tabulated(
    "ErfcinvSlope", erfcinv_slope, TWICE,
    lambda x: -sp.sqrt(sp.pi) / 2 * sp.exp(sp.erfcinv(x) ** 2),
    lambda y, x: (2 * ERFCINV(x) * (y * y),), Evidence(samples=(0.1, 1.9), ulp=8.0),
    Words("The derivative of erfcinv."), helpers=(by_tail,),
)  # fmt: skip
ERFCINV: Op = tabulated(
    "Erfcinv", erfcinv, TWICE, sp.erfcinv, lambda y, x: (ERFCINV_SLOPE(x),),
    Evidence(samples=(0.1, 1.9), ulp=8.0), functions=(sc.erfcinv,), helpers=(by_tail,),
)  # fmt: skip
NDTRI_SLOPE: Op = tabulated(
    "NdtriSlope", ndtri_slope, UNIT,
    lambda p: sp.sqrt(2 * sp.pi) * sp.exp(sp.erfinv(2 * p - 1) ** 2),
    lambda y, p: (NDTRI(p) * (y * y),), Evidence(samples=(0.1, 0.4), ulp=8.0),
    Words("The derivative of ndtri."), helpers=(by_tail,),
)  # fmt: skip
NDTRI: Op = tabulated(
    "Ndtri", ndtri, UNIT, lambda p: sp.sqrt(2) * sp.erfinv(2 * p - 1),
    lambda y, p: (NDTRI_SLOPE(p),), Evidence(samples=(0.1, 0.4), ulp=8.0), functions=(sc.ndtri,),
    helpers=(by_tail,),
)  # fmt: skip

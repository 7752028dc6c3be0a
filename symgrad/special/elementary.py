"""Functions of ``scipy.special`` that are elementary: entropies, powers, losses, degrees.

Written so that they lose no digits near their zeros, and with derivatives that lose none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import (
    Code,
    Composed,
    Cython,
    Evidence,
    Map,
    NonZero,
    Op,
    Partials,
    Positive,
    Real,
    Words,
    define,
)
from .records import BOTH_POSITIVE, UNARY, relative

# ---------------------------------------------------------------- entropy


def _over(x: Any, y: Any) -> Any:
    """``x/y``, and 0 at 0/0."""
    return x / np.where((x == 0) & (y == 0), 1.0, y)


def _log_ratio(x: Any, y: Any) -> Any:
    """``log(x/y)``, exact also near x = y, where the quotient rounds too early."""
    ratio = x / y
    near = (ratio > 0.5) & (ratio < 2.0)
    return np.where(near, np.log1p((x - y) / y), np.log(ratio))


XLOGY = define(
    Map("Xlogy", functions=(sc.xlogy,), domain=(Real, Positive), sympy=lambda x, y: x * sp.log(y),
        rule=Partials(lambda z, x, y: (np.log(y), _over(x, y)))),
    Code(Composed(lambda x, y: np.where((x == 0) & (y == y), 0.0, x * np.log(y)))),
    Evidence(samples=((-3, 3), (0.2, 3))),
    Words(convention="0/0 counts as 0"),
)  # fmt: skip
XLOG1PY = define(
    Map("Xlog1py", functions=(sc.xlog1py,), domain=(Real, Positive),
        sympy=lambda x, y: x * sp.log(1 + y),
        rule=Partials(lambda z, x, y: (np.log1p(y), _over(x, 1 + y)))),
    Code(Composed(lambda x, y: np.where((x == 0) & (y == y), 0.0, x * np.log1p(y)))),
    Evidence(samples=((-3, 3), (0.2, 3))),
    Words(convention="0/0 counts as 0"),
)  # fmt: skip
ENTR = define(
    Map("Entr", functions=(sc.entr,), domain=(Positive,), sympy=lambda x: -x * sp.log(x),
        rule=Partials(lambda y, x: (-np.log(x) - 1,))),
    Code(Composed(
        lambda x: np.where(x == 0, 0.0, np.where(x < 0, -math.inf, -x * np.log(x)))
    )),
    Evidence(samples=(0.1, 0.9)),
    Words(convention="infinite derivative at 0"),
)  # fmt: skip
REL_ENTR = define(
    Map("RelEntr", functions=(sc.rel_entr,), domain=BOTH_POSITIVE,
        sympy=lambda x, y: x * sp.log(x / y),
        rule=Partials(lambda z, x, y: (np.log(x / y) + 1, -(x / y)))),
    Code(Cython("rel_entr")),
    Evidence(samples=((0.1, 0.9), (1, 3))),
)  # fmt: skip
KL_DIV = define(
    Map("KlDiv", functions=(sc.kl_div,), domain=BOTH_POSITIVE,
        sympy=lambda x, y: x * sp.log(x / y) - x + y,
        rule=Partials(lambda z, x, y: (_log_ratio(x, y), (y - x) / y))),
    Code(Cython("kl_div")),
    Evidence(samples=((0.1, 0.5), (1, 3)), ulp=16.0),
)  # fmt: skip


# ---------------------------------------------------------------- exponentials

EXP10 = define(
    Map("Exp10", functions=(sc.exp10,), domain=UNARY, sympy=lambda x: sp.Integer(10) ** x,
        rule=Partials(lambda y, x: (y * math.log(10.0),))),
    Code(Cython("exp10")),
    Evidence(samples=(-3, 3)),
)  # fmt: skip
COSM1 = define(
    Map("Cosm1", functions=(sc.cosm1,), domain=UNARY, sympy=lambda x: sp.cos(x) - 1,
        rule=Partials(lambda y, x: (-np.sin(x),))),
    Code(Composed(lambda x: -2 * np.square(np.sin(0.5 * x)))),
    Evidence(samples=(0.2, 3), ulp=8.0),
    Words("cos(x) - 1, exact near 0."),
)  # fmt: skip


@relative(sc.softplus, "``log(1 + exp(x))``.")
def softplus(x: Any) -> Any:
    return np.logaddexp(0.0, x)


# ---------------------------------------------------------------- loss functions


def _pseudo_huber_slope(d: Any, r: Any) -> Any:
    """``2*y/d - r**2/h`` with ``h = hypot(d, r)`` is ``(h - d)**2/h``, also close to d = 0."""
    h = np.hypot(d, r)
    less = r / (h + d) * r
    return less / h * less


PSEUDO_HUBER = define(
    Map("PseudoHuber", functions=(sc.pseudo_huber,), domain=(Positive, Real),
        sympy=lambda d, r: d**2 * (sp.sqrt(1 + (r / d) ** 2) - 1),
        rule=Partials(lambda y, d, r: (_pseudo_huber_slope(d, r), d / np.hypot(d, r) * r))),
    Code(Cython("pseudo_huber")),
    Evidence(samples=((0.5, 2), (0.2, 3)), ulp=16.0),
)  # fmt: skip
HUBER = define(
    Map("Huber", functions=(sc.huber,), domain=(Positive, Real),
        sympy=lambda d, r: sp.Piecewise(
            (r**2 / 2, sp.Abs(r) <= d), (d * (sp.Abs(r) - d / 2), True)
        ),
        rule=Partials(lambda y, d, r: (
            np.where(np.abs(r) <= d, 0.0, np.abs(r) - d),
            np.where(np.abs(r) <= d, r, d * np.sign(r)),
        ))),
    Code(Cython("huber")),
    Evidence(samples=((0.5, 2), (-3, 3)), ulp=4.0),
)  # fmt: skip


# ---------------------------------------------------------------- powers


def _boxcox(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.where(k == 0, np.log(x), np.expm1(safe * np.log(x)) / safe)


def _boxcox_slope(x: Any, k: Any) -> Any:
    """By the exponent: ``(x**k*(k*log(x) - 1) + 1)/k**2``, a mean of t*x**(k*t) over t."""
    log = np.log(x)
    power = k * log
    # SciPy's hyp1f1 of infinity does not return.
    return 0.5 * log * log * sc.hyp1f1(2.0, 3.0, np.where(np.isinf(power), np.nan, power))


BOXCOX = define(
    Map("Boxcox", functions=(sc.boxcox,), domain=(Positive, NonZero),
        sympy=lambda x, k: (x**k - 1) / k,
        rule=Partials(lambda y, x, k: (x ** (k - 1), _boxcox_slope(x, k)))),
    Code(Composed(_boxcox)),
    Evidence(samples=((1.5, 4), (0.5, 2)), ulp=32.0),
)  # fmt: skip


@relative(sc.powm1, "x**y - 1.")
def powm1(x: Any, y: Any) -> Any:
    power = y * np.log(np.where(x > 0, x, 1.0))
    # Far from 1 the exponential would lose the digits of a large exponent, and its slope overflow.
    near = (x > 0) & (np.fabs(power) < 0.5)
    return np.where(near, np.expm1(np.where(near, power, 0.0)), x**y - 1.0)


def power_over(k: Any, log: Any) -> Any:
    """Return ``expm1(k*log)/k``, near ``k = 0`` with its derivatives by k, too."""
    power = k * log
    near = np.abs(power) < 1
    small, safe = np.where(near, power, 0.0), np.where(k == 0, 1.0, k)
    away = np.where(k == 0, log, np.expm1(safe * log) / safe)
    # Of infinity, too, the limit -1/k has a derivative by k; by the logarithm it is a zero that
    # comes of its value, and times infinity not known.
    far = power == -np.inf
    away = np.where(far, np.exp(-np.abs(log)) - 1.0 / np.where(far, safe, 1.0), away)
    return np.where(near, log * sc.exprel(small), away)


def log_over(k: Any, x: Any) -> Any:
    """Return ``log1p(k*x)/k``, near ``k = 0`` with its derivatives by k, too."""
    product = k * x
    near = np.abs(product) < 1 / 32
    small, safe = np.where(near, product, 0.0), np.where(k == 0, 1.0, k)
    series: Any = 0.0
    for j in range(16, 0, -1):
        series = 1 / j - small * series
    return np.where(near, x * series, np.where(k == 0, x, np.log1p(safe * x) / safe))


@relative(sc.boxcox1p, "Box-Cox transformation of 1 + x.")
def boxcox1p(x: Any, k: Any) -> Any:
    return power_over(k, np.log1p(x))


@relative(sc.inv_boxcox, "Inverse of the Box-Cox transformation.")
def inv_boxcox(x: Any, k: Any) -> Any:
    return np.exp(log_over(k, x))


@relative(sc.inv_boxcox1p, "Inverse of the Box-Cox transformation of 1 + x.")
def inv_boxcox1p(x: Any, k: Any) -> Any:
    return np.expm1(log_over(k, x))


# ---------------------------------------------------------------- angles in degrees

DEGREE = math.pi / 180

SINDG: Op = define(
    Map("SinDegrees", functions=(sc.sindg,), domain=(Real,),
        sympy=lambda x: sp.sin(sp.pi * x / 180), rule=Partials(lambda y, x: (DEGREE * COSDG(x),))),
    Code(Cython("sindg")),
    Evidence(samples=(-80, 80), ulp=8.0),
    Words("Sine of an angle in degrees."),
)  # fmt: skip
COSDG: Op = define(
    Map("CosDegrees", functions=(sc.cosdg,), domain=(Real,),
        sympy=lambda x: sp.cos(sp.pi * x / 180),
        rule=Partials(lambda y, x: (-DEGREE * SINDG(x),))),
    Code(Cython("cosdg")),
    Evidence(samples=(-80, 80), ulp=8.0),
    Words("Cosine of an angle in degrees."),
)  # fmt: skip


@relative(sc.tandg, "Tangent of an angle in degrees.")
def tandg(x: Any) -> Any:
    return SINDG(x) / COSDG(x)


@relative(sc.cotdg, "Cotangent of an angle in degrees.")
def cotdg(x: Any) -> Any:
    return COSDG(x) / SINDG(x)


@relative(sc.radian, "Degrees, minutes and seconds in radians.")
def radian(d: Any, m: Any, s: Any) -> Any:
    return ((s / 60.0 + m) / 60.0 + d) * DEGREE

"""Functions of ``scipy.special`` that are elementary: entropies, powers, losses, degrees.

Written so that they lose no digits near their zeros, and with derivatives that lose none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Composed, Cython, NonZero, Op, Positive, Real, define
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
    sc.xlogy, name="Xlogy", sympy=lambda x, y: x * sp.log(y),
    partials=lambda z, x, y: (np.log(y), _over(x, y)),
    lower=Composed(lambda x, y: np.where((x == 0) & (y == y), 0.0, x * np.log(y))),
    domain=(Real, Positive), samples=((-3, 3), (0.2, 3)), convention="0/0 counts as 0",
)  # fmt: skip
XLOG1PY = define(
    sc.xlog1py, name="Xlog1py", sympy=lambda x, y: x * sp.log(1 + y),
    partials=lambda z, x, y: (np.log1p(y), _over(x, 1 + y)),
    lower=Composed(lambda x, y: np.where((x == 0) & (y == y), 0.0, x * np.log1p(y))),
    domain=(Real, Positive), samples=((-3, 3), (0.2, 3)), convention="0/0 counts as 0",
)  # fmt: skip
ENTR = define(
    sc.entr, name="Entr", sympy=lambda x: -x * sp.log(x), partials=lambda y, x: (-np.log(x) - 1,),
    lower=Composed(
        lambda x: np.where(x == 0, 0.0, np.where(x < 0, -math.inf, -x * np.log(x)))
    ),
    domain=(Positive,), samples=(0.1, 0.9), convention="infinite derivative at 0",
)  # fmt: skip
REL_ENTR = define(
    sc.rel_entr, name="RelEntr", sympy=lambda x, y: x * sp.log(x / y),
    partials=lambda z, x, y: (np.log(x / y) + 1, -(x / y)), lower=Cython("rel_entr"),
    domain=BOTH_POSITIVE, samples=((0.1, 0.9), (1, 3)),
)  # fmt: skip
KL_DIV = define(
    sc.kl_div, name="KlDiv", sympy=lambda x, y: x * sp.log(x / y) - x + y,
    partials=lambda z, x, y: (_log_ratio(x, y), (y - x) / y), lower=Cython("kl_div"),
    domain=BOTH_POSITIVE, samples=((0.1, 0.5), (1, 3)), ulp=16.0,
)  # fmt: skip


# ---------------------------------------------------------------- exponentials

EXP10 = define(
    sc.exp10, name="Exp10", sympy=lambda x: sp.Integer(10) ** x,
    partials=lambda y, x: (y * math.log(10.0),), lower=Cython("exp10"), domain=UNARY,
    samples=(-3, 3),
)  # fmt: skip
COSM1 = define(
    sc.cosm1, name="Cosm1", sympy=lambda x: sp.cos(x) - 1, partials=lambda y, x: (-np.sin(x),),
    lower=Composed(lambda x: -2 * np.square(np.sin(0.5 * x))), domain=UNARY, samples=(0.2, 3),
    ulp=8.0, doc="cos(x) - 1, exact near 0.",
)  # fmt: skip


# ---------------------------------------------------------------- loss functions


def _pseudo_huber_slope(d: Any, r: Any) -> Any:
    """``2*y/d - (r/d)*r/s`` with ``s = sqrt(1 + (r/d)**2)`` is ``d*(s - 1)**2/s``."""
    square = np.square(r / d)
    s = np.sqrt(1 + square)
    return d * np.square(square / (1 + s)) / s


PSEUDO_HUBER = define(
    sc.pseudo_huber, name="PseudoHuber",
    sympy=lambda d, r: d**2 * (sp.sqrt(1 + (r / d) ** 2) - 1),
    partials=lambda y, d, r: (_pseudo_huber_slope(d, r), r / np.sqrt(1 + (r / d) ** 2)),
    lower=Cython("pseudo_huber"), domain=(Positive, Real), samples=((0.5, 2), (0.2, 3)),
    ulp=16.0,
)  # fmt: skip
HUBER = define(
    sc.huber, name="Huber",
    sympy=lambda d, r: sp.Piecewise((r**2 / 2, sp.Abs(r) <= d), (d * (sp.Abs(r) - d / 2), True)),
    partials=lambda y, d, r: (
        np.where(np.abs(r) <= d, 0.0, np.abs(r) - d), np.where(np.abs(r) <= d, r, d * np.sign(r)),
    ),
    lower=Cython("huber"), domain=(Positive, Real), samples=((0.5, 2), (-3, 3)), ulp=4.0,
)  # fmt: skip


# ---------------------------------------------------------------- powers


def _boxcox(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.where(k == 0, np.log(x), np.expm1(safe * np.log(x)) / safe)


def _boxcox_slope(x: Any, k: Any) -> Any:
    """By the exponent: ``(x**k*(k*log(x) - 1) + 1)/k**2``, a mean of t*x**(k*t) over t."""
    log = np.log(x)
    return 0.5 * log * log * sc.hyp1f1(2.0, 3.0, k * log)


BOXCOX = define(
    sc.boxcox, name="Boxcox", sympy=lambda x, k: (x**k - 1) / k, lower=Composed(_boxcox),
    partials=lambda y, x, k: (x ** (k - 1), _boxcox_slope(x, k)),
    domain=(Positive, NonZero),
    samples=((1.5, 4), (0.5, 2)), ulp=32.0,
)  # fmt: skip


@relative(sc.powm1, "x**y - 1.", (0.5, 2), (-2, 2))
def powm1(x: Any, y: Any) -> Any:
    positive = x > 0
    return np.where(positive, np.expm1(y * np.log(np.where(positive, x, 1.0))), x**y - 1.0)


@relative(sc.boxcox1p, "Box-Cox transformation of 1 + x.", (0.5, 2), (0.3, 2))
def boxcox1p(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.where(k == 0, np.log1p(x), np.expm1(safe * np.log1p(x)) / safe)


@relative(sc.inv_boxcox, "Inverse of the Box-Cox transformation.", (0.5, 2), (0.3, 2))
def inv_boxcox(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.exp(np.where(k == 0, x, np.log1p(safe * x) / safe))


@relative(sc.inv_boxcox1p, "Inverse of the Box-Cox transformation of 1 + x.", (0.5, 2), (0.3, 2))
def inv_boxcox1p(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.expm1(np.where(k == 0, x, np.log1p(safe * x) / safe))


# ---------------------------------------------------------------- angles in degrees

DEGREE = math.pi / 180

_KINDS: dict[str, Any] = {"domain": (Real,), "samples": (-80, 80), "ulp": 8.0}
SINDG: Op = define(
    sc.sindg, name="SinDegrees", sympy=lambda x: sp.sin(sp.pi * x / 180), lower=Cython("sindg"),
    partials=lambda y, x: (DEGREE * COSDG(x),), doc="Sine of an angle in degrees.", **_KINDS,
)  # fmt: skip
COSDG: Op = define(
    sc.cosdg, name="CosDegrees", sympy=lambda x: sp.cos(sp.pi * x / 180), lower=Cython("cosdg"),
    partials=lambda y, x: (-DEGREE * SINDG(x),), doc="Cosine of an angle in degrees.", **_KINDS,
)  # fmt: skip


@relative(sc.tandg, "Tangent of an angle in degrees.", (-80, 80))
def tandg(x: Any) -> Any:
    return SINDG(x) / COSDG(x)


@relative(sc.cotdg, "Cotangent of an angle in degrees.", (10, 80))
def cotdg(x: Any) -> Any:
    return COSDG(x) / SINDG(x)


@relative(sc.radian, "Degrees, minutes and seconds in radians.", (0, 90), (0, 60), (0, 60))
def radian(d: Any, m: Any, s: Any) -> Any:
    return ((s / 60.0 + m) / 60.0 + d) * DEGREE

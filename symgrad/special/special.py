"""Special functions, by the names of ``scipy.special``: entropy, integrals, sinc.

The rules stay inside the table: every derivative is made of functions that are records too,
to any order. Where the textbook rule loses digits (sinc near 0), the derivative is a record of
its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Composed, Cython, Op, Positive, Real, define
from .._ops import parts
from .exponential_integrals import exp1, expi
from .fallback import elsewhere, evaluated, of_scipy, source_of
from .fitted import fitted_fields
from .hypergeometric import limit_function

UNARY, BINARY = (Real,), (Real, Real)
BOTH_POSITIVE, UNIT = (Positive, Positive), (sp.Interval.open(0, 1),)
ORDER = "by the order or parameter: nan (not known)"


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


# ---------------------------------------------------------------- exponential integrals


EXP1 = define(
    sc.exp1, name="Exp1", sympy=lambda x: sp.expint(1, x), partials=lambda y, x: (-np.exp(-x) / x,),
    domain=(Positive,), samples=(0.1, 5), ulp=8.0, **fitted_fields(exp1, sc.exp1),
)  # fmt: skip
EXPI = define(
    sc.expi, name="Expi", sympy=sp.Ei, partials=lambda y, x: (np.exp(x) / x,),
    domain=(Positive,), samples=(0.6, 5), ulp=8.0,
    **fitted_fields(expi, sc.expi),
)  # fmt: skip


# ---------------------------------------------------------------- sinc


def _sinc(x: Any) -> Any:
    angle = math.pi * np.where(x == 0, 1e-20, x)
    return np.sin(angle) / angle


_HYP0F1 = of_scipy("Hyp0f1", sc.hyp0f1, (Positive, Real))
HYP0F1: Op = define(
    # Sums of z**k/(v)_k/k!: a family that contains every derivative of sin(x)/x, without the
    # differences of nearly equal numbers that these have near 0.
    sc.hyp0f1, name="Hyp0f1", sympy=lambda v, z: sp.hyper([], [v], z),
    evaluate=evaluated(limit_function, sc.hyp0f1),
    lower=Composed(lambda v, z: limit_function(v, z, _HYP0F1)),
    partials=lambda y, v, z: (math.nan, HYP0F1(v + 1, z) / v),
    source=source_of("limit_function"), helpers=(elsewhere, limit_function),
    domain=(Positive, Real), samples=((1, 3), (-3, 3)), ulp=64.0, convention=ORDER,
)  # fmt: skip


SINC = define(
    np.sinc, name="Sinc", sympy=lambda x: sp.sinc(sp.pi * x), lower=Composed(_sinc),
    partials=lambda y, x: (
        (-math.pi**2 / 3) * x * sc.hyp0f1(2.5, (-math.pi**2 / 4) * (x * x)),
    ),
    domain=UNARY, samples=(-0.9, 0.9), ulp=16.0,
    parts=parts.sinc,
)  # fmt: skip

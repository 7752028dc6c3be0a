"""The error function, its relatives, and the normal distribution.

Derivatives in the tails, where the textbook's terms are nearly equal, are records of their own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import HIGHEST, Composed, Cython, Libm, Op, Real, define
from .fallback import elsewhere, of_scipy
from .fitted import fitted_fields
from .hazard import (
    bell,
    density_slope,
    hazard_excess,
    log_ndtr_by_parts,
    normal_density,
    normal_distribution,
    normal_hazard,
)  # fmt: skip
from .taylor import form_of_order

UNARY = (Real,)
ROOT_PI = 1.772453850905516  # math.sqrt(math.pi) is off by one unit


# ---------------------------------------------------------------- error function


BELL = define(
    name="Bell", doc="exp(-x*x), accurate in the tails.", evaluate=lambda x: bell(x, 1.0),
    sympy=lambda x: sp.exp(-(x**2)), partials=lambda y, x: (-2 * x * y,),
    lower=Composed(lambda x: bell(x, 1.0), "bell"), domain=UNARY, samples=(-3, 3), ulp=6.0,
    source=lambda x: f"bell({x}, 1.0)", helpers=(bell,),
)  # fmt: skip
DENSITY_SLOPE: Op = define(
    name="NormalDensitySlope", doc="The derivative of the standard normal density.",
    evaluate=density_slope, lower=Composed(density_slope),
    sympy=lambda x: -x * sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi),
    partials=lambda y, x: ((x - 1) * (x + 1) * DENSITY(x),), domain=UNARY, samples=(-3, 3),
    source=lambda x: f"density_slope({x})", helpers=(density_slope,),
)  # fmt: skip
DENSITY: Op = define(
    name="NormalDensity", doc="Density of the standard normal distribution.",
    evaluate=normal_density,
    sympy=lambda x: sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi),
    partials=lambda y, x: (DENSITY_SLOPE(x),),
    lower=Composed(normal_density, "normal_density"), domain=UNARY, samples=(-3, 3),
    source=lambda x: f"normal_density({x})", helpers=(normal_density,),
)  # fmt: skip
ERF = define(
    sc.erf, name="Erf", sympy=sp.erf, partials=lambda y, x: ((2 / ROOT_PI) * BELL(x),),
    lower=Libm("erf"), domain=UNARY, samples=(-3, 3),
)  # fmt: skip
ERFC = define(
    sc.erfc, name="Erfc", sympy=sp.erfc, partials=lambda y, x: ((-2 / ROOT_PI) * BELL(x),),
    lower=Libm("erfc"), domain=UNARY, samples=(-3, 3), ulp=8.0,
)  # fmt: skip
ERFINV = define(
    sc.erfinv, name="Erfinv", sympy=sp.erfinv, partials=lambda y, x: (ROOT_PI / 2 / BELL(y),),
    lower=Cython("erfinv"), domain=(sp.Interval.open(-1, 1),), samples=(-0.9, 0.9),
)  # fmt: skip


# ---------------------------------------------------------------- normal distribution


NDTR = define(
    sc.ndtr, name="Ndtr", sympy=lambda x: sp.erfc(-x / sp.sqrt(2)) / 2,
    # SciPy's loses the rounding of x/sqrt(2), 1400 units in the last place far to the left.
    partials=lambda y, x: (DENSITY(x),), domain=UNARY, samples=(-3, 3), ulp=30.0,
    lower=Composed(normal_distribution, "ndtr"),
    reading=lambda x: (1 + sp.erf(x / sp.sqrt(2))) / 2,
)  # fmt: skip
HAZARD = define(
    name="NormalHazard", doc="exp(-x*x/2)/sqrt(2*pi)/ndtr(x), the derivative of log_ndtr.",
    # Both are the same. To the left the first one's derivative cancels, to the right the second.
    partials=lambda y, x: (np.where(x > -1, -y * EXCESS(-x), -1 - EXCESS(-x, order=1)),),
    sympy=lambda x: sp.sqrt(2 / sp.pi) * sp.exp(-(x**2) / 2) / sp.erfc(-x / sp.sqrt(2)),
    domain=UNARY, samples=(-3, 3), ulp=8.0, **fitted_fields(normal_hazard),
)  # fmt: skip


def _excess_form(x: Any, order: int = 0) -> Any:
    def plain(x: Any) -> Any:
        return sp.sqrt(2 / sp.pi) * sp.exp(-(x**2) / 2) / sp.erfc(x / sp.sqrt(2)) - x

    return form_of_order(plain, x, order)


EXCESS: Op = define(
    name="HazardExcess", doc="Hazard of the normal distribution less its argument; a derivative.",
    sympy=_excess_form,
    partials=lambda y, x, order=0: (EXCESS(x, order=order + 1),),
    domain=UNARY, samples=(-3, 3), ulp=64.0,
    orders=HIGHEST, **fitted_fields(hazard_excess),
)  # fmt: skip
_LOG_NDTR = of_scipy("LogNdtr", sc.log_ndtr, UNARY)


def _log_ndtr(x: Any) -> Any:
    """From -1 on by the complement, which SciPy's loses digits of."""
    x = np.float64(1.0) * x
    right = x > -1.0
    small = -0.5 * sc.erfc(math.sqrt(0.5) * np.where(right, x, 0.0))
    return np.where(right, np.log1p(small), elsewhere(_LOG_NDTR, right, x))


LOG_NDTR = define(
    sc.log_ndtr, name="LogNdtr", sympy=lambda x: sp.log(sp.erfc(-x / sp.sqrt(2)) / 2),
    partials=lambda y, x: (HAZARD(x),), lower=Composed(_log_ndtr),
    portable=log_ndtr_by_parts, domain=UNARY,
    samples=(-3, 3), ulp=30.0, reading=lambda x: sp.log((1 + sp.erf(x / sp.sqrt(2))) / 2),
)  # fmt: skip

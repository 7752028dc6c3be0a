"""Quantiles of the normal distribution: the inverses of erfc and of the distribution function.

Close to their zero by tables of the distance from it, in the tails of ``sqrt(-log(x))``. Slopes
have tables of their own: by the exponential of a squared value they would magnify its rounding.

Source: NIST Digital Library of Mathematical Functions, 7.17; T. J. Dekker, A floating-point
technique for extending the available precision, Numerische Mathematik 18, 1971.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Op, define
from .fitted import fitted_fields
from .tables import (
    ERFCINV1_FAR,
    ERFCINV1_MIDDLE,
    ERFCINV1_TAIL,
    ERFCINV_FAR,
    ERFCINV_MIDDLE,
    ERFCINV_TAIL,
    NDTRI1_FAR,
    NDTRI1_MIDDLE,
    NDTRI1_TAIL,
    NDTRI_FAR,
    NDTRI_MIDDLE,
    NDTRI_TAIL,
)


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
_OF_ERFC: dict[str, Any] = {"domain": TWICE, "samples": (0.1, 1.9)}
_OF_NDTR: dict[str, Any] = {"domain": UNIT, "samples": (0.1, 0.4)}


def _with_tail(formula: Any, ufunc: Any = None) -> dict[str, Any]:
    fields = fitted_fields(formula, ufunc)
    return {**fields, "helpers": (by_tail, *fields["helpers"])}


ERFCINV_SLOPE: Op = define(
    name="ErfcinvSlope", doc="The derivative of erfcinv.", ulp=8.0,
    sympy=lambda x: -sp.sqrt(sp.pi) / 2 * sp.exp(sp.erfcinv(x) ** 2),
    partials=lambda y, x: (2 * ERFCINV(x) * (y * y),), **_OF_ERFC, **_with_tail(erfcinv_slope),
)  # fmt: skip
ERFCINV: Op = define(
    sc.erfcinv, name="Erfcinv", sympy=sp.erfcinv, ulp=8.0,
    partials=lambda y, x: (ERFCINV_SLOPE(x),), **_OF_ERFC, **_with_tail(erfcinv, sc.erfcinv),
)  # fmt: skip
NDTRI_SLOPE: Op = define(
    name="NdtriSlope", doc="The derivative of ndtri.", ulp=8.0,
    sympy=lambda p: sp.sqrt(2 * sp.pi) * sp.exp(sp.erfinv(2 * p - 1) ** 2),
    partials=lambda y, p: (NDTRI(p) * (y * y),), **_OF_NDTR, **_with_tail(ndtri_slope),
)  # fmt: skip
NDTRI: Op = define(
    sc.ndtri, name="Ndtri", sympy=lambda p: sp.sqrt(2) * sp.erfinv(2 * p - 1), ulp=8.0,
    partials=lambda y, p: (NDTRI_SLOPE(p),), **_OF_NDTR, **_with_tail(ndtri, sc.ndtri),
)  # fmt: skip

"""``scipy.interpolate``, for functions that symgrad traces: curves through points, and splines.

Places, values, knots and coefficients may be traced. Other names are SciPy's own.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.interpolate import CubicSpline
>>> x = np.arange(4.0)
>>> def at_half(y):
...     return CubicSpline(x, y)(0.5)
>>> sg.grad(at_half)(x**2)
array([ 0.3125,  0.9375, -0.3125,  0.0625])
"""

from __future__ import annotations

import functools
from typing import Any

import scipy.interpolate

from .._capture._versions import version_of
from .._core.base.state import now
from .._core.trace.namespace import is_function, offering
from ._bsplines import (
    BivariateSpline,
    BSpline,
    LSQBivariateSpline,
    LSQSphereBivariateSpline,
    RectBivariateSpline,
    RectSphereBivariateSpline,
    SmoothBivariateSpline,
    SmoothSphereBivariateSpline,
    SphereBivariateSpline,  # noqa: F401  (objects made outside stand for it)
    bisplev,
    make_interp_spline,
    splev,
    splrep,
)
from ._coverage import reasons
from ._neighbours import LinearNDInterpolator, NearestNDInterpolator, griddata
from ._piecewise_polynomials import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    PPoly,
)
from ._scattered_points import RBFInterpolator, RegularGridInterpolator, interp1d, interpn
from ._univariate import (
    BarycentricInterpolator,
    InterpolatedUnivariateSpline,
    KroghInterpolator,
    LSQUnivariateSpline,
    UnivariateSpline,
    barycentric_interpolate,
    lagrange,
    make_lsq_spline,
    pchip_interpolate,
    splint,
)

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "BarycentricInterpolator",
    "BivariateSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
    "KroghInterpolator",
    "LSQBivariateSpline",
    "LSQSphereBivariateSpline",
    "LSQUnivariateSpline",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RectBivariateSpline",
    "RectSphereBivariateSpline",
    "RegularGridInterpolator",
    "SmoothBivariateSpline",
    "SmoothSphereBivariateSpline",
    "UnivariateSpline",
    "barycentric_interpolate",
    "bisplev",
    "griddata",
    "interp1d",
    "interpn",
    "lagrange",
    "make_interp_spline",
    "make_lsq_spline",
    "pchip_interpolate",
    "splev",
    "splint",
    "splrep",
]

_names, __dir__ = offering(scipy.interpolate, globals(), reasons("interpolate"))


def __getattr__(name: str) -> Any:
    found = _names(name)
    return _traced_splines(found) if is_function(found) else found


def _traced_splines(make: Any) -> Any:
    """Return a function of numbers whose splines, in traced code, take traced places."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        found = make(*args, **kwargs)
        if now().guards is None:
            return found
        return tuple(map(version_of, found)) if type(found) is tuple else version_of(found)

    return made

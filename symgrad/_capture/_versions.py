"""symgrad's versions of what a function finds in NumPy, SciPy and Python's ``math``.

NumPy hands operations on traced values to symgrad, but not all: ``np.array([x, y])`` and
``np.zeros(3)`` make plain arrays, which hold numbers only, and ``math.sin`` takes numbers only.
In an adapted function (:mod:`._substitutes`) these names mean symgrad's versions.
"""

from __future__ import annotations

import builtins
import os
import sys
import typing
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from .._core.base.class_modules import module_of
from .._core.base.fork_safety import late_module
from .._core.trace import GENERATORS, Traced, in_trace

_OUTSIDE = "symgrad.numpy._environment"
_NUMBERS = "symgrad.numpy._numbers"
_CONVERSIONS = "symgrad.numpy._conversions"

#: The modules whose names are bound anew, by the names of symgrad's. They are imported when
#: they are met: scipy.stats takes a second.
MODULES = {
    "math": "symgrad.numpy._math", "cmath": "symgrad.numpy._cmath",
    "random": "symgrad.numpy.random:PYTHON",
    "numpy": "symgrad.numpy", "numpy.linalg": "symgrad.numpy.linalg",
    "numpy.fft": "symgrad.numpy.fft", "numpy.random": "symgrad.numpy.random",
    "scipy": "symgrad.scipy", "scipy.integrate": "symgrad.scipy.integrate",
    "scipy.fft": "symgrad.scipy.fft", "numpy.polynomial": "symgrad.numpy.polynomial",
    "scipy.optimize": "symgrad.scipy.optimize",
    "scipy.special": "symgrad.scipy.special", "scipy.linalg": "symgrad.scipy.linalg",
    "scipy.stats": "symgrad.scipy.stats", "scipy.interpolate": "symgrad.scipy.interpolate",
    "scipy.signal": "symgrad.scipy.signal", "scipy.ndimage": "symgrad.scipy.ndimage",
    "scipy.sparse": "symgrad.scipy.sparse",
    "scipy.sparse.linalg": "symgrad.scipy.sparse.linalg",
    "scipy.spatial": "symgrad.scipy.spatial",
    "scipy.spatial.distance": "symgrad.scipy.spatial.distance",
    "scipy.spatial.transform": "symgrad.scipy.spatial.transform",
    "time": f"{_OUTSIDE}:TIME", "datetime": f"{_CONVERSIONS}:DATETIME", "os": f"{_OUTSIDE}:OS",
    "io": f"{_OUTSIDE}:IO", "pathlib": f"{_OUTSIDE}:PATHLIB", "secrets": f"{_OUTSIDE}:SECRETS",
    "pandas": f"{_OUTSIDE}:PANDAS", "xarray": f"{_OUTSIDE}:XARRAY",
    "subprocess": f"{_OUTSIDE}:SUBPROCESS",
    "decimal": f"{_CONVERSIONS}:DECIMAL", "json": f"{_CONVERSIONS}:JSON",
    "marshal": f"{_CONVERSIONS}:MARSHAL",
    "array_api_compat": f"{_OUTSIDE}:ARRAY_API_COMPAT",
}  # fmt: skip
for _name in ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial"):
    MODULES[f"numpy.polynomial.{_name}"] = f"symgrad.numpy.polynomial:{_name}"


def _table(x: Any) -> tuple[Any, ...]:
    """Return what makes the same of scipy.interpolate's interp1d: its spline is solved for."""
    spline = getattr(x, "_spline", None) if x._kind == "spline" else None
    if spline is None:
        return x.x, x.y, x._kind, x.axis, True, None, x.fill_value, True
    rest = x.y.shape[: x.axis] + x.y.shape[x.axis + 1 :]
    solved = (spline.t, spline.c.reshape((-1, *rest)), spline.k)
    return x.x, x.y, spline.k, x.axis, True, None, x.fill_value, True, solved


def _radial(x: Any) -> tuple[Any, ...]:
    """Return what makes the same of an RBFInterpolator, with what is solved for."""
    degree = max((int(sum(p)) for p in x.powers), default=-1)
    solved = (x._shift, x._scale, x._coeffs) if x.neighbors is None else None
    d = x.d.reshape((-1, *x.d_shape))
    return x.y, d, x.neighbors, x.smoothing, x.kernel, x.epsilon, degree, solved


def _polynomial(x: Any) -> tuple[Any, ...]:
    """Return what makes the same polynomial through points."""
    values = np.reshape(x.yi, (-1, *x._y_extra_shape))
    return x.xi, np.moveaxis(values, 0, x._y_axis), x._y_axis


def _as_powers(x: Any) -> Any:
    """Return the coefficients of powers of a polynomial in Bernstein's basis."""
    return sys.modules["scipy.interpolate"].PPoly.from_bernstein_basis(x).c


#: Objects of SciPy's that hold data: by the class, symgrad's and what makes the same of it.
OBJECTS: dict[str, tuple[str, str, Callable[[Any], tuple[Any, ...]]]] = {
    "PPoly": ("scipy.interpolate", "PPoly", lambda x: (x.c, x.x, x.extrapolate, x.axis, True)),
    "BSpline": (
        "scipy.interpolate", "BSpline",
        lambda x: (x.t, np.moveaxis(x.c, 0, x.axis), x.k, x.extrapolate, x.axis),
    ),
    "BarycentricInterpolator": ("scipy.interpolate", "BarycentricInterpolator", _polynomial),
    "KroghInterpolator": ("scipy.interpolate", "KroghInterpolator", _polynomial),
    "UnivariateSpline": (
        "scipy.interpolate", "UnivariateSpline",
        lambda x: (None, None, None, (None, None), x._eval_args[2], 0, x.ext, False, x._eval_args),
    ),
    "interp1d": ("scipy.interpolate", "interp1d", _table),
    "RBFInterpolator": ("scipy.interpolate", "RBFInterpolator", _radial),
    "RegularGridInterpolator": (
        "scipy.interpolate", "RegularGridInterpolator",
        lambda x: (x.grid, x.values, x.method, x.bounds_error, x.fill_value),
    ),
    "LinearNDInterpolator": (
        "scipy.interpolate", "LinearNDInterpolator",
        lambda x: (x, x.values.reshape(-1, *x.values_shape), x.fill_value),
    ),
    "NearestNDInterpolator": (
        "scipy.interpolate", "NearestNDInterpolator", lambda x: (x, x.values)
    ),
    "cKDTree": ("scipy.spatial", "KDTree", lambda x: (x,)),
    "_BivariateSplineBase": (
        "scipy.interpolate", "BivariateSpline", lambda x: (*x.tck, *x.degrees)
    ),
    "SphereBivariateSpline": (
        "scipy.interpolate", "SphereBivariateSpline", lambda x: (*x.tck, *x.degrees)
    ),
    "BPoly": (
        "scipy.interpolate", "PPoly",
        lambda x: (_as_powers(x), x.x, x.extrapolate, x.axis, True),
    ),
    "multivariate_normal_frozen": (
        "scipy.stats", "multivariate_normal", lambda x: (x.mean, x.cov_object.covariance)
    ),
    "multivariate_t_frozen": (
        "scipy.stats", "multivariate_t", lambda x: (x.loc, x.shape, x.df)
    ),
    "multinomial_frozen": ("scipy.stats", "multinomial", lambda x: (x.n, x.p)),
    "wishart_frozen": ("scipy.stats", "wishart", lambda x: (x.df, x.scale)),
    "dirichlet_frozen": ("scipy.stats", "dirichlet", lambda x: (x.alpha,)),
    "gaussian_kde": (
        "scipy.stats", "gaussian_kde", lambda x: (x.dataset, x.factor, x.weights)
    ),
    "SuperLU": ("scipy.sparse.linalg", "splu", lambda x: (x,)),
    "_spbase": ("scipy.sparse", "entries", lambda x: (x,)),
    "Rotation": ("scipy.spatial.transform", "Rotation", lambda x: (x.as_quat(), False)),
    "Slerp": (
        "scipy.spatial.transform", "Slerp", lambda x: (x.times, x.rotations, x.rotvecs)
    ),
}  # fmt: skip

_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.ndarray, np.generic)


#: Classes of NumPy's, and whose others, that have versions.
_OF_NUMPY = (np.poly1d, np.ndenumerate, np.nditer)
_CLASSES = ("scipy.", "datetime", "pathlib", "numpy.polynomial.", "decimal", "json")


def _wrapped(value: Any) -> Any:
    """Return the function in a wrapper of IPython's, as it has for ``open``; or the value."""
    home = getattr(value, "__globals__", {}).get("__name__", "")
    return getattr(value, "__wrapped__", value) if home.startswith("IPython.") else value


def version_of(value: Any) -> Any:
    """Return symgrad's version of a library's module or function, or the value itself."""
    if isinstance(value, ModuleType):
        if value.__name__ in ("numpy", "symgrad.numpy"):
            return late_module(_NUMBERS).ASKED
        if value is typing:
            return late_module(_NUMBERS).TYPING
        ours, _, part = MODULES.get(value.__name__, "").partition(":")
        found = late_module(ours) if ours else value
        return getattr(found, part) if part else found
    if is_alias(value):
        return value.__origin__
    if isinstance(value, _PLAIN) or (isinstance(value, type) and not _has_version(value)):
        return value
    if value is os.environ:
        return late_module(_OUTSIDE).ENVIRON
    if value is builtins.input:  # in a notebook a method of the kernel
        return late_module(_OUTSIDE).INPUT
    found = _object(value)
    if found is not None or not callable(value):
        # Nothing else is asked for names: to some, six.moves', asking is importing.
        return value if found is None else found
    return _function(value)


def has_alias(value: Any, names: AbstractSet[str]) -> bool:
    """Tell whether a value is an alias of typing, or typing, of whose aliases code names one."""
    if value is typing:
        return any(is_alias(vars(typing)[name]) for name in names & vars(typing).keys())
    return is_alias(value)


def is_alias(value: Any) -> bool:
    """Tell whether a value is an alias of an abstract class, ``typing.Sized``.

    Its ``isinstance`` asks for the type of a value, which is a traced value's own.
    """
    return type(value).__module__ == "typing" and isinstance(
        getattr(value, "__origin__", None), type
    )


def _has_version(kind: type) -> bool:
    """Tell whether a class is one of those of NumPy's and others' that may have a version."""
    return any(kind is k for k in _OF_NUMPY) or module_of(kind).startswith(_CLASSES)


def _object(value: Any) -> Any:
    """Return the version of an object that holds data; None if it is of no such class."""
    kind = type(value)
    if isinstance(value, Path):
        return late_module(_OUTSIDE).Path(value)
    if kind in GENERATORS:
        return in_trace(kind, generator=value)
    if isinstance(value, np.polynomial.polynomial.ABCPolyBase):
        made = version_of(kind)
        return value if made is kind else made(value.coef, value.domain, value.window, value.symbol)
    if not (module_of(kind).startswith("scipy.") or _is_factors(kind)):
        return None
    row = _row_of(kind)
    if row is not None:
        return made_of(kind, row[2](value))  # now, outside of the trace
    if kind.__module__ == "scipy.stats._distn_infrastructure" and hasattr(value, "dist"):
        # `prior = scipy.stats.norm(0.0, 2.0)`; it holds a distribution of its own.
        original = vars(sys.modules["scipy.stats"]).get(value.dist.name)
        version = version_of(original)
        same = version is original or type(original) is not type(value.dist)
        return value if same else version(*value.args, **value.kwds)
    return None


def _row_of(kind: type) -> tuple[str, str, Callable[[Any], tuple[Any, ...]]] | None:
    """Return the row of ``OBJECTS`` for a class; None for others."""
    for base in kind.__mro__:
        if base.__name__ in OBJECTS and (module_of(base).startswith("scipy.") or base is kind):
            return OBJECTS[base.__name__]
    return None


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """Return the numbers that a spline or another of scipy.interpolate's objects is made of.

    None for all others, and for those that are looked at by SciPy's own code.
    """
    kind = type(value)
    row = _row_of(kind) if module_of(kind).startswith("scipy.interpolate.") else None
    parts = None if row is None else row[2](value)
    return None if parts is None or any(x is value for x in parts) else parts


def made_of(kind: type, parts: Iterable[Any]) -> Any:
    """Return symgrad's version of an object of SciPy's, of what it is made of."""
    row = _row_of(kind)
    assert row is not None
    made = getattr(late_module(MODULES[row[0]]), row[1])
    found = getattr(made, "ours", made)(*parts)
    if hasattr(found, "__dict__"):
        found.stands_for = kind  # for isinstance
        version = version_of(kind)
        if isinstance(version, type) and issubclass(version, type(found)):
            found.__class__ = version  # a CubicSpline, which is made as a PPoly
    return found


def _is_factors(kind: type) -> bool:
    """Tell SuperLU's factors, whose class says that it is Python's own."""
    return kind.__name__ == "SuperLU" and kind.__module__ == "builtins"


def _function(value: Any) -> Any:
    """Return the version of a function or method, found by its name; or the value itself."""
    name = getattr(value, "__name__", None) or getattr(value, "name", None)
    if name is None and type(value).__module__ == "scipy.stats._multivariate":
        name = type(value).__name__.removesuffix("_gen")
    if name is None and type(value).__module__ == "scipy.special._multiufuncs":
        # sph_harm_y and others, which have no names before SciPy 1.17
        name = next((n for n, x in vars(sys.modules["scipy.special"]).items() if x is value), None)
    if not isinstance(name, str):
        return value
    for home in map(sys.modules.get, MODULES):
        if home is not None and vars(home).get(name) in (value, _wrapped(value)):
            return getattr(version_of(home), name)
    owner = getattr(value, "__self__", None)
    if type(value) is MethodType or _is_factors(type(owner)) or type(owner) in GENERATORS:
        # `logpdf = scipy.stats.norm.logpdf`, `solve = factorized(A)`, `draw = own.random`
        made = version_of(owner)
        return value if made is owner else getattr(made, value.__name__)
    return value


def version_with_numbers(key: Any, value: Any) -> Any:
    """Return the version of a value at a place, of types of numbers, too: ``np.float64(x)``.

    These are not for code that asks for types, ``x.dtype.type is np.float64``: they are equal,
    and not the same.
    """
    numbers = late_module(_NUMBERS)
    if value is np:
        return numbers.NUMPY
    if isinstance(key, tuple) and key[0] == "builtin":
        return numbers.BUILTIN.get(key[1], version_of(value))
    if isinstance(value, type) and value.__module__ == "numpy":
        return numbers.SCALARS.get(value, version_of(value))
    return version_of(value)


def namespace() -> Any:
    """Return what NumPy is in adapted code, where it asks a traced value for its namespace."""
    return late_module(_NUMBERS).ASKED


def length(x: Any, /) -> Any:
    """Return ``len(x)``, of a traced array as a size, which is open."""
    return x.shape[0] if isinstance(x, Traced) and x.ndim else len(x)

"""``numpy.polynomial`` and ``np.poly1d``, for functions that symgrad traces.

They are NumPy's own, functions and classes, written in Python, with ``np`` bound to symgrad's.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.numpy.polynomial import Chebyshev
>>> sg.grad(lambda c: Chebyshev(c)(0.5))(np.ones(3))
array([ 1. ,  0.5, -0.5])
"""

from __future__ import annotations

import builtins
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.polynomial
from numpy.lib import _polynomial_impl
from numpy.polynomial import _polybase
from numpy.polynomial import polyutils as _polyutils

from .. import numpy as traced_numpy
from .._core.base.stand_in_types import TELLING
from .._core.op import refuse
from .._core.ops.np_common import holds_traced, is_traced
from .._core.trace import known_value
from .._core.trace.namespace import offering

#: The modules of bases, by name: those that others import from come first.
BASES = ("polynomial", "chebyshev", "hermite", "hermite_e", "laguerre", "legendre")


def _imported(
    name: str, scope: Any = None, local: Any = None, names: Any = (), level: int = 0
) -> Any:
    """Carry out an import inside of NumPy's functions: of ``polyadd`` and such."""
    if level and name in made:
        return made[name]
    return builtins.__import__(name, scope, local, names, level)


#: What NumPy's code asks for the type of a point, or imports, sees through stand-ins.
_BUILTINS = {**vars(builtins), **TELLING, "__import__": _imported}


def _trimmed(c: Any, trim: str = "f") -> Any:
    """Return coefficients without zeros at an end: those that are traced as they are.

    How many there are must not depend on values, and a zero has a derivative like any other.
    """
    known = known_value(c.node) if hasattr(c, "node") else None if is_traced(c) else c
    if known is None:
        return c
    n = len(_polyutils.trimseq(known[::-1] if trim == "f" else known))
    return c[len(known) - n :] if trim == "f" else c[:n]


def _small(c: Any, tol: float = 0) -> Any:
    if holds_traced(c):
        refuse(_polyutils.trimcoef, "how many coefficients are left depends on their values. "
               "Write instead: c[:n], or truncate(n)")  # fmt: skip
    return _polyutils.trimcoef(c, tol)


def _function(f: FunctionType, scope: dict[str, Any]) -> FunctionType:
    made = FunctionType(f.__code__, scope, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__, made.__doc__ = f.__kwdefaults__, f.__doc__
    return made


def _methods(kind: type, scope: dict[str, Any]) -> dict[str, Any]:
    """Return the methods of a class, which find other things under some names."""
    found: dict[str, Any] = {}
    for name, value in vars(kind).items():
        inner: Any = getattr(value, "__func__", value)
        if isinstance(value, (staticmethod, classmethod)):
            found[name] = type(value)(scope.get(inner.__name__) or _function(inner, scope))
        elif isinstance(value, property):
            get, change = (f and _function(f, scope) for f in (inner.fget, inner.fset))
            found[name] = property(get, change, None, value.__doc__)
        elif isinstance(value, FunctionType):
            found[name] = _function(value, scope)
    return found


def _rebound(module: ModuleType, **names: Any) -> ModuleType:
    """Return a module of the same functions, which find other things under some names."""
    made = ModuleType(module.__name__, module.__doc__)
    scope = vars(made)
    scope.update(vars(module))
    scope.update(names, __builtins__=_BUILTINS)
    for name, value in vars(module).items():
        # NumPy 2.4 hands some of them, polyval2d, to __array_function__.
        value = getattr(value, "_implementation", value)
        if isinstance(value, FunctionType) and value.__globals__ is vars(module):
            scope[name] = _function(value, scope)
        elif value is _polyutils.trimcoef:
            scope[name] = _small
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__base__ is _polybase.ABCPolyBase:
            shared = {k: x for k, x in _SHARED.items() if k not in vars(value)}
            scope[name] = type(value)(name, (value,), {**shared, **_methods(value, scope)})
    return made


_utilities = _rebound(_polyutils, np=traced_numpy)
vars(_utilities).update(trimseq=lambda c: _trimmed(c, "b"), trimcoef=_small)
_SHARED = _methods(
    _polybase.ABCPolyBase,
    {**vars(_polybase), "np": traced_numpy, "pu": _utilities, "__builtins__": _BUILTINS},
)
made: dict[str, ModuleType] = {}
for _name in BASES:
    made[_name] = _rebound(getattr(numpy.polynomial, _name), np=traced_numpy, pu=_utilities)
polynomial, chebyshev, hermite, hermite_e, laguerre, legendre = made.values()
Polynomial, Chebyshev = polynomial.Polynomial, chebyshev.Chebyshev
Hermite, HermiteE = hermite.Hermite, hermite_e.HermiteE
Laguerre, Legendre = laguerre.Laguerre, legendre.Legendre


def _older() -> type:
    scope: dict[str, Any] = {**vars(_polynomial_impl), "__builtins__": _BUILTINS}
    for name in ("atleast_1d", "isscalar", "poly", "polyadd", "polyder", "polyint", "polymul",
                 "polysub", "polyval", "polydiv", "roots"):  # fmt: skip
        scope[name] = getattr(traced_numpy, name)
    kind = type("poly1d", (np.poly1d,), _methods(np.poly1d, scope))
    scope.update(NX=traced_numpy, poly1d=kind, trim_zeros=_trimmed)
    return kind


poly1d = _older()

__all__ = [
    "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev",
    "hermite", "hermite_e", "laguerre", "legendre", "poly1d", "polynomial",
]  # fmt: skip
__getattr__, __dir__ = offering(numpy.polynomial, globals())

"""``numpy.polynomial``'s functions of coefficients, for functions that symgrad traces.

They are NumPy's own, written in Python, with ``np`` bound to symgrad's.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from numpy import polynomial as _package
from numpy.polynomial import chebyshev as _chebyshev
from numpy.polynomial import hermite as _hermite
from numpy.polynomial import hermite_e as _hermite_e
from numpy.polynomial import laguerre as _laguerre
from numpy.polynomial import legendre as _legendre
from numpy.polynomial import polynomial as _polynomial
from numpy.polynomial import polyutils as _polyutils

from .. import numpy as traced_numpy

__all__ = ["chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial"]


def _rebound(module: ModuleType, **names: Any) -> ModuleType:
    """Return a module of the same functions, which find other things under some names."""
    made = ModuleType(module.__name__, module.__doc__)
    scope = vars(made)
    scope.update(vars(module))
    scope.update(names)
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and value.__globals__ is vars(module):
            function = FunctionType(
                value.__code__, scope, name, value.__defaults__, value.__closure__
            )
            function.__kwdefaults__ = value.__kwdefaults__
            scope[name] = function
    return made


_utilities = _rebound(_polyutils, np=traced_numpy)
chebyshev, hermite, hermite_e, laguerre, legendre, polynomial = (
    _rebound(module, np=traced_numpy, pu=_utilities)
    for module in (_chebyshev, _hermite, _hermite_e, _laguerre, _legendre, _polynomial)
)


def __getattr__(name: str) -> Any:
    return getattr(_package, name)

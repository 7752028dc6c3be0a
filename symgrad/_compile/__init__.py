"""Compiling: kernels, their disk cache, and dispatch on the kinds of arguments."""

from ._adapted import adapted, adapted_if_need_be
from ._cache import loaded, usable_folder
from ._call import Call, Given
from ._foreign import c_names
from ._function import Function
from ._inventory import Stored, remove, stored
from ._options import Arrays, Backend, Differentiable, P, R, S, Ufunc, X, backend
from ._specialization import Specialization

__all__ = [
    "Arrays",
    "Backend",
    "Call",
    "Differentiable",
    "Function",
    "Given",
    "P",
    "R",
    "S",
    "Specialization",
    "Stored",
    "Ufunc",
    "X",
    "adapted",
    "adapted_if_need_be",
    "backend",
    "c_names",
    "loaded",
    "remove",
    "stored",
    "usable_folder",
]

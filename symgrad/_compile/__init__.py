"""Compiling: kernels, their disk cache, and dispatch on the kinds of arguments."""

from ._cache import usable_folder
from ._function import Backend, Function, backend
from ._inventory import Stored, remove, stored
from ._substitutes import Scope

__all__ = [
    "Backend",
    "Function",
    "Scope",
    "Stored",
    "backend",
    "remove",
    "stored",
    "usable_folder",
]

"""Compiling: kernels, their disk cache, and dispatch on the kinds of arguments."""

from ._adapted import adapted, adapted_if_need_be
from ._cache import usable_folder
from ._function import Backend, Function, backend
from ._inventory import Stored, remove, stored

__all__ = [
    "Backend",
    "Function",
    "Stored",
    "adapted",
    "adapted_if_need_be",
    "backend",
    "remove",
    "stored",
    "usable_folder",
]

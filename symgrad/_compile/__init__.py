"""Compiling: kernels, their disk cache, and dispatch on the kinds of arguments."""

from ._cache import cache_folder
from ._function import Backend, Function, backend
from ._inventory import Stored, remove, stored

__all__ = ["Backend", "Function", "Stored", "backend", "cache_folder", "remove", "stored"]

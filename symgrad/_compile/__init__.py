"""Compiling: kernels, their disk cache, and dispatch on the kinds of arguments."""

from ._cache import cache_folder
from ._function import Backend, Function, backend

__all__ = ["Backend", "Function", "backend", "cache_folder"]

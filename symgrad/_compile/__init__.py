"""Compiling: kernels, their disk cache, and dispatch on the kinds of arguments."""

from ._cache import usable_folder
from ._function import Backend, Function, backend
from ._inventory import Stored, remove, stored
from ._memory import get_kept_memory, set_kept_memory
from ._threads import get_num_threads, set_num_threads

__all__ = [
    "Backend",
    "Function",
    "Stored",
    "backend",
    "get_kept_memory",
    "get_num_threads",
    "remove",
    "set_kept_memory",
    "set_num_threads",
    "stored",
    "usable_folder",
]

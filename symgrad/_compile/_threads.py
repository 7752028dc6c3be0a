"""The threads that kernels use: how many, and the pool of them."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import llvmlite.binding as llvm

from .._forks import free_in_children
from .._lower import pool
from ..errors import ArgumentError
from ._cache import cached_object
from ._code import load_object
from ._python import bind_functions

#: Environment variables that say how many threads to use, the first that is set.
VARIABLES = ("SYMGRAD_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")

#: Most threads of a call.
MOST = pool.MOST + 1

_helpers = (ctypes.c_char * (pool.HELPER_BYTES * pool.MOST))()
_limit = ctypes.c_int64()
_lock = free_in_children(threading.Lock())
_engine: Any = None


def _default() -> int:
    """Return the number of threads that the environment asks for, or of CPUs to run on."""
    for name in VARIABLES:
        # OpenMP allows one number for each level of nesting.
        text = os.environ.get(name, "").partition(",")[0].strip()
        if text.isdigit() and int(text) > 0:
            return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_num_threads(count: int | None = None) -> None:
    """Set how many threads a call of a compiled function may use; 1: only its own.

    It holds for the whole process, from the next call on. What a function returns does not
    depend on it, to the last bit.

    Parameters
    ----------
    count:
        A number from 1 to 64. None goes back to what a process begins with: the first that is
        set of the environment variables ``SYMGRAD_NUM_THREADS``, ``NUMBA_NUM_THREADS`` and
        ``OMP_NUM_THREADS``, else the number of CPUs that the process may run on.

    Raises
    ------
    ArgumentError
        If ``count`` is no such number.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.set_num_threads(2)
    >>> sg.get_num_threads()
    2
    >>> sg.set_num_threads()
    """
    if count is None:
        count = min(_default(), MOST)
    if type(count) is not int or not 1 <= count <= MOST:
        raise ArgumentError(f"the number of threads is an integer from 1 to {MOST}, not {count!r}")
    _limit.value = count


def get_num_threads() -> int:
    """Return how many threads a call of a compiled function may use; see :func:`set_num_threads`.

    Examples
    --------
    >>> import symgrad as sg
    >>> 1 <= sg.get_num_threads() <= 64
    True
    """
    return _limit.value


def load_pool() -> None:
    """Make the pool known to LLVM; its threads start when they are first of use."""
    global _engine
    with _lock:
        if _engine is not None:
            return
        bind_functions(pool.PYTHON)
        llvm.add_symbol(pool.HELPERS, ctypes.addressof(_helpers))
        llvm.add_symbol(pool.LIMIT, ctypes.addressof(_limit))
        text = pool.pool_text(8 * ctypes.sizeof(ctypes.c_ulong))
        engine = load_object(cached_object(text, cache=True))
        llvm.add_symbol(pool.RUN, engine.get_function_address(pool.RUN))
        # Helpers wait in this code until the process ends, after Python's modules are gone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_helpers))
        _engine = engine


def _forget() -> None:
    """Start anew in a forked process, which has none of its parent's helpers."""
    ctypes.memset(_helpers, 0, ctypes.sizeof(_helpers))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


set_num_threads()

"""The memory that is kept between calls: its state, its limit, and NumPy's handler for it."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy._core import multiarray

from ...errors import ArgumentError
from ..base.fork_safety import free_in_children
from ..base.platform import register_at_fork
from . import _memory_code as code
from . import structures as _structures
from .structures import ARRAY_BYTES, MemoryHandler, bind_python

#: The environment variable that says how many bytes to keep.
VARIABLE = "SYMGRAD_KEPT_MEMORY"

#: The part of the machine's memory that is kept at most by default, and bytes if it is not known.
SHARE, DEFAULT = 16, 1 << 28

#: NumPy's name for capsules of handlers, and the name of ours (``numpy.lib`` shows it).
_CAPSULE, NAME = b"mem_handler", b"symgrad"


_state = (ctypes.c_int64 * code.WORDS)()
_handler = MemoryHandler(NAME, 1)
_lock = free_in_children(threading.Lock())
_engine: Any = None
_arrays = False


def _default() -> int:
    text = os.environ.get(VARIABLE, "").strip()
    if text.isdecimal():
        return int(text)
    if text:
        raise ArgumentError(f"{VARIABLE} is a number of bytes, as 1073741824, not {text!r}")
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // SHARE
    except (AttributeError, OSError, ValueError):  # not on this system
        return DEFAULT


def set_kept_memory(size: int | None = None) -> None:
    """Set how much memory is kept for further calls, and free what is kept beyond it.

    Compiled functions keep large blocks that they or their results no longer use: fresh ones
    come from the system, which clears them page by page, and that can take longer than the
    computation. It holds for the whole process.

    Parameters
    ----------
    size:
        In bytes; 0: keep nothing. None goes back to what a process begins with: the
        environment variable ``SYMGRAD_KEPT_MEMORY`` if it is set, else a sixteenth of the
        machine's memory.

    Raises
    ------
    ArgumentError
        If ``size`` is no such number.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.set_kept_memory(0)  # free all
    >>> sg.get_kept_memory()
    0
    >>> sg.set_kept_memory()
    """
    if size is None:
        size = _default()
    if isinstance(size, np.integer):
        size = int(size)
    if type(size) is not int or size < 0:
        raise ArgumentError(f"the memory to keep is a number of bytes, not {size!r}")
    size = min(size, 1 << 62)
    _state[2] = size
    if _engine is not None:
        _trim(_engine)


def get_kept_memory() -> int:
    """Return how many bytes are kept just now; see :func:`set_kept_memory`.

    Returns
    -------
    int
        The number of bytes.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.get_kept_memory() >= 0
    True
    """
    return _state[1]


def load_memory(load: Callable[[str], Any]) -> bool:
    """Make the functions known to LLVM that take and give memory.

    ``load`` gives LLVM's engine of an assembly text, compiled. Returned is whether NumPy takes
    the handler ``HANDLER`` for arrays.
    """
    global _engine
    with _lock:
        if _engine is not None:
            return _arrays
        llvm.add_symbol(code.STATE, ctypes.addressof(_state))
        if _structures.FAULT is None:
            engine, capsule = _with_arrays(load)
        else:
            engine, capsule = load(code.text()), None
        for symbol in (code.TAKE, code.GIVE):
            llvm.add_symbol(symbol, engine.get_function_address(symbol))
        # Arrays may be freed after Python's modules are gone.
        for thing in (engine, capsule, _handler, _state):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
        _engine = engine
        return _arrays


def _with_arrays(load: Callable[[str], Any]) -> tuple[Any, Any]:
    """Return the engine, and the capsule by which NumPy knows the handler of its arrays."""
    global _arrays
    bind_python()
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(ctypes.addressof(_handler), _CAPSULE, None)
    llvm.add_symbol(code.HANDLER, id(capsule))
    engine = load(code.text() + code.array_text())
    for symbol in code.HANDLERS:
        setattr(_handler, symbol.rpartition(".")[2], engine.get_function_address(symbol))
    _arrays = _takes_handlers(engine)
    empty = code.EMPTY if _arrays else code.PLAIN
    llvm.add_symbol(code.EMPTY, engine.get_function_address(empty))
    return engine, capsule


def _takes_handlers(engine: Any) -> bool:
    """Tell whether a new array has our handler where NumPy looks for it."""
    if np.ndarray.__basicsize__ != ARRAY_BYTES:
        return False
    limit, _state[2] = _state[2], 2 * code.LEAST
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int64
    )
    empty = kind(engine.get_function_address(code.EMPTY))
    dtype = np.dtype(np.uint8)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # EMPTY takes it
    array = empty(1, (ctypes.c_ssize_t * 1)(code.LEAST), dtype, code.LEAST)
    found = multiarray.get_handler_name(array) == NAME.decode() and array.flags.owndata
    del array
    _state[2] = 0
    _trim(engine)
    _state[2] = limit
    return bool(found)


def _trim(engine: Any) -> None:
    ctypes.CFUNCTYPE(None)(engine.get_function_address(code.TRIM))()


def _unlock() -> None:
    """Start anew in a forked process if another thread of the parent's held the table.

    It may have been in the middle of a change; the blocks stay allocated.
    """
    if _state[0]:
        limit = _state[2]
        ctypes.memset(_state, 0, ctypes.sizeof(_state))
        _state[2] = limit


register_at_fork(after_in_child=_unlock)

set_kept_memory()

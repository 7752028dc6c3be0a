"""Calls into LLVM, which no process may fork in the middle of."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from llvmlite.binding import ffi

from .._forks import PATIENCE, taken_by_forks, torn, undisturbed


@contextlib.contextmanager
def llvm_turn() -> Iterator[None]:
    """Call into LLVM in the block, without holding a lock that others may wait for there.

    Raises
    ------
    RuntimeError
        In a child process that has inherited half of another call.
    """
    if torn():
        raise RuntimeError(
            f"this process was forked while another thread had been compiling for {PATIENCE:.0f} s:"
            " compile before the fork, or start processes by the method 'spawn'"
        )
    with undisturbed():
        yield


def _numbas_lock() -> Any:
    """Return what Numba holds while it compiles; None before it is imported."""
    module = sys.modules.get("numba.core.compiler_lock")
    lock = getattr(module, "global_compiler_lock", None)
    return getattr(lock, "_lock", None)


# In the order in which Numba takes them.
taken_by_forks(_numbas_lock)
taken_by_forks(lambda: ffi.lib._lock._lock)  # held during every call of llvmlite into LLVM

"""How many threads the pool may have: what the environment says, and what is set."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
from pathlib import Path

from ...errors import ArgumentError
from ..base.package import __version__
from ..base.platform import register_at_fork

#: Most threads: a call keeps the helpers that it has claimed in the bits of a word.
MOST = 64

#: Environment variables that say how many threads to use, the first that is set.
VARIABLES = ("SYMGRAD_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS")

#: How many threads may be at work; machine code reads it.
limit = ctypes.c_int64()

#: Whether the process was forked from one that had loaded this.
_forked = False


def _default() -> int:
    """Return the number of threads that the environment asks for, or of CPUs to run on."""
    for name in VARIABLES:
        # OpenMP allows one number for each level of nesting.
        text = os.environ.get(name, "").partition(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
        if text and name == VARIABLES[0]:
            raise ArgumentError(f"{name} is a number of threads from 1 on, not {text!r}")
    if _forked or _is_child():
        return 1
    return int(min(_cpus(), _quota()))


def _is_child() -> bool:
    """Tell whether ``multiprocessing`` has started the process."""
    module = sys.modules.get("multiprocessing.process")
    # Not parent_process(): a child that imports its main module has none yet.
    return module is not None and module.current_process().name != "MainProcess"


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


#: Where Linux says how much of the CPUs' time a container has: quota and period.
_QUOTAS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def _quota() -> float:
    """Return how many CPUs' time the container has, from one on."""
    for files in _QUOTAS:
        with contextlib.suppress(OSError, ValueError):  # not there, or "max"
            quota, period = map(int, " ".join(Path(f).read_text() for f in files).split())
            if quota > 0 and period > 0:
                return math.ceil(quota / period)
    return math.inf


def set_num_threads(count: int | None = None) -> None:
    """Set how many threads calls of compiled functions may use; 1: only their own.

    It holds for the whole process, from the next call on: calls at the same time share the
    threads. Results do not depend on it, to the last bit. threadpoolctl's
    ``threadpool_limits`` sets it, too.

    Parameters
    ----------
    count:
        A number from 1 to 64. None goes back to what a process begins with: the first that is
        set of the environment variables ``SYMGRAD_NUM_THREADS``, ``NUMBA_NUM_THREADS`` and
        ``OMP_NUM_THREADS``; else 1 in a process that ``multiprocessing`` has started or that was
        forked; else the number of CPUs that the process, or its container, may use.

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
    limit.value = count


def get_num_threads() -> int:
    """Return how many threads a call of a compiled function may use; see :func:`set_num_threads`.

    Returns
    -------
    int
        The number of threads, from 1 to 64.

    Examples
    --------
    >>> import symgrad as sg
    >>> 1 <= sg.get_num_threads() <= 64
    True
    """
    return limit.value


def _begin_again() -> None:
    """Forget what was set for the parent of a forked process, which is one of several."""
    global _forked
    _forked = True
    set_num_threads()


register_at_fork(after_in_child=_begin_again)


set_num_threads()


# ---------------------------------------------------------------- threadpoolctl

with contextlib.suppress(ImportError):  # not installed, or older than custom controllers
    from threadpoolctl import LibController, register

    class _Controller(LibController):  # type: ignore[misc]
        """What threadpoolctl asks and sets; it knows us by a library that is always there."""

        user_api = internal_api = "symgrad"
        filename_prefixes = ("libllvmlite", "llvmlite")

        def get_num_threads(self) -> int:
            return get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            set_num_threads(min(num_threads, MOST))

        def get_version(self) -> str:
            return __version__

    register(_Controller)

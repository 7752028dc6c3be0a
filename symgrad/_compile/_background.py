"""Compiling aside: one thread that makes kernels while programs are being interpreted.

The thread is a daemon, so that a program that ends does not wait for kernels nobody will call.
LLVM must not be at work when the process takes its libraries down, though: at the end of the
process the thread may finish the call into LLVM that it is in, and gets no further. A child
process goes on without it: what was being compiled stays interpreted there.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator


class AbandonedError(Exception):
    """The process ends: what is being compiled is not needed any more."""


class _Worker(threading.local):
    active = False


_here = _Worker()
_jobs: deque[Callable[[], None]] = deque()
_lock = threading.Lock()
_thread: threading.Thread | None = None

#: Held by the thread during a call into LLVM, by others while they fork, and for good once the
#: process ends.
_turn = threading.RLock()
_closing = False


def aside() -> bool:
    """Tell whether this is the thread that compiles aside."""
    return _here.active


@contextlib.contextmanager
def llvm_turn() -> Iterator[None]:
    """Call into LLVM in the block; raises AbandonedError aside once the process ends."""
    if not _here.active:
        yield
        return
    with _turn:
        if _closing:
            raise AbandonedError
        yield


def submit(job: Callable[[], None]) -> None:
    """Run ``job`` aside, after those before it."""
    global _thread
    with _lock:
        _jobs.append(job)
        if _thread is None:
            _thread = threading.Thread(target=_work, name="symgrad compiler", daemon=True)
            _thread.start()


def _work() -> None:
    global _thread
    _here.active = True
    while True:
        with _lock:
            if not _jobs or _closing:
                _thread = None
                return
            job = _jobs.popleft()
        with contextlib.suppress(AbandonedError):
            job()


@atexit.register
def _close() -> None:
    global _closing
    _closing = True
    _turn.acquire()


def _forked() -> None:
    """Start afresh in a child process, which has none of its parent's threads."""
    global _lock, _turn, _thread
    _lock, _turn, _thread = threading.Lock(), threading.RLock(), None


if hasattr(os, "register_at_fork"):  # LLVM's own locks are free then
    os.register_at_fork(
        before=lambda: _turn.acquire(),
        after_in_parent=lambda: _turn.release(),
        after_in_child=_forked,
    )

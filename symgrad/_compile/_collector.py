"""Python's cycle collector, paused while a program is made."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cycle collector for the block.

    Making a program allocates millions of small objects that all stay alive. The collector
    would look through all of them again and again and find nothing: a quarter of the time
    for a program of 100,000 operations.
    """
    # Where another thread has paused it, that thread lets it go on.
    global _pausing
    if not gc.isenabled():
        yield
        return
    _pausing = threading.get_ident()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _pausing = None


#: The thread that has paused it.
_pausing: int | None = None


def _forked() -> None:
    """Let it go on in a child process, which does not have the thread that has paused it."""
    global _pausing
    if _pausing not in (None, threading.get_ident()):
        gc.enable()
        _pausing = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

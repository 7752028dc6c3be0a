"""A word to whoever waits for a function to compile: on a terminal, or in a notebook."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

#: Seconds after which it is said.
AFTER = 2.0


def _somebody_waits() -> bool:
    """Tell whether a person reads what is written: not in files, pipes and tests."""
    if sys.stderr is None or sys.stderr.closed:
        return False
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


def _say(doing: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # closed meanwhile
        sys.stderr.write(
            f"symgrad: {doing} takes more than {AFTER:g} s. Loops that Python writes out make long "
            "programs: sg.fori_loop, sg.scan or compile(f, control_flow=True) keep them short\n"
        )
        sys.stderr.flush()


@contextlib.contextmanager
def told_if_slow(doing: str) -> Iterator[None]:
    """Say what takes so long, if the block takes over two seconds and somebody waits."""
    if not _somebody_waits():
        yield
        return
    timer = threading.Timer(AFTER, _say, (doing,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

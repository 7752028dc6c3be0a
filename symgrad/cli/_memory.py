"""What a command's process may take of the machine's memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import UnsupportedError

with contextlib.suppress(ImportError):  # not on every system
    import resource


@contextlib.contextmanager
def limited_memory(most: float) -> Iterator[None]:
    """Refuse in the block what takes more memory than ``most`` GB beside what is taken.

    Formulas have bounds of their own; this one is for what these do not foresee. It is the
    system's, of the process's address space, and holds on Linux.

    Raises
    ------
    UnsupportedError
        If the memory does not suffice.
    """
    statm = Path("/proc/self/statm")
    if not statm.exists():
        yield
        return
    taken = int(statm.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    room = taken + int(min(most, 2.0**20) * 2**30)
    known = [n for n in (soft, hard, room) if n != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))
    try:
        yield
    except MemoryError:
        # Not with the error as its cause, whose frames hold the memory.
        refused = True
    else:
        refused = False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    if refused:
        raise UnsupportedError(
            f"the formula takes more than {most:g} GB of memory (--memory) to differentiate"
        )

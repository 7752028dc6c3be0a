"""Python's collector of cycles, while graphs are built."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

#: Objects until the youngest are looked through, and how often for each time of the older ones.
SELDOM = 100_000, 20, 100


@contextlib.contextmanager
def collecting_seldom() -> Iterator[None]:
    """Have cycles looked for less often in the block.

    A graph is hundreds of thousands of objects that all stay, and the collector would look through
    them again and again, for an eighth to a quarter of a long first call. It is not stopped: the
    user's code may run in the block, for any time, and leave cycles. Of blocks that overlap in
    several threads the one that has begun first puts back what was.
    """
    before = gc.get_threshold()
    try:
        if before != SELDOM:
            gc.set_threshold(*SELDOM)
        yield
    finally:
        if gc.get_threshold() == SELDOM != before:
            gc.set_threshold(*before)

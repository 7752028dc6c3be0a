"""What happened to memory: when it was written to, and whether that was recorded."""

from __future__ import annotations

import itertools

#: The clock of nodes and of writes into memory.
clock = itertools.count(1)


class Cell:
    """What happened to a piece of memory that tensors share.

    ``written`` is the date of the last write, ``rebased`` that of the last write that was
    recorded, ``earlier`` that of the one before; ``leaf`` says that a leaf that requires
    gradients has the memory.
    """

    __slots__ = ("earlier", "leaf", "rebased", "written")

    def __init__(self) -> None:
        self.written = self.rebased = self.earlier = 0
        self.leaf = False


class Apart(Cell):
    """The memory of another cell, in tensors that take no part in its record.

    Writes are seen on both sides; that one was recorded concerns the other side alone.
    """

    __slots__ = ("base",)

    def __init__(self, base: Cell) -> None:
        self.base = base
        self.rebased = self.earlier = 0
        self.leaf = False

    @property
    def written(self) -> int:
        """The date of the last write."""
        return self.base.written

    @written.setter
    def written(self, date: int) -> None:
        self.base.written = date

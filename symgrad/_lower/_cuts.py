"""Where to cut straight-line code into functions: where its content says so.

A cut that depends on the steps around it, and on no count, falls on the same place in every
repeat of a loop that Python has unrolled. So repeats become equal functions (``_blocks``),
whatever the length of the loop's body is.

Source: A. Muthitacharoen, B. Chen, D. Mazieres, A low-bandwidth network file system, SOSP 2001,
section 3.1 (there for repeats in files).
"""

from __future__ import annotations

from zlib import crc32

from .._graph import Node

#: Fewest and most steps in a function. Longer straight-line code makes LLVM's time grow faster
#: than linearly (code generation per step of a random program: 47 us at 400 steps, 60 at 800,
#: 108 at 1600); shorter code runs slower.
FEWEST, MOST = 250, 800

#: Operands that were computed longer ago count as alike: they come from before a repeat.
NEAR = 64


class Cutter:
    """Follows straight-line code step by step, and says after which ones to cut."""

    def __init__(self) -> None:
        self.at: dict[Node, int] = {}
        self.words: dict[str, int] = {}
        self.recent = 0
        self.least = 0
        self.steps = 0

    def cut_after(self, node: Node, first: bool) -> bool:
        """Take the next step into account; ``first`` in its function.

        The last eight steps are hashed. Past the fewest steps the cut comes where the hash is
        as low as anywhere in the function.
        """
        here = len(self.at)
        self.at[node] = here
        name = node.op.name
        step = self.words.get(name)
        if step is None:
            step = self.words[name] = crc32(name.encode())
        for x in node.operands:
            away = here - self.at.get(x, here)
            step = step * 31 + (away if away < NEAR else 0)
        self.recent = (self.recent << 4 ^ step * 0x9E3779B1) & 0xFFFFFFFF
        if first:
            self.least, self.steps = self.recent, 0
        self.steps += 1
        if self.steps < FEWEST:
            self.least = min(self.least, self.recent)
            return False
        return self.recent <= self.least or self.steps >= MOST

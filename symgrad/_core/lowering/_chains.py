"""Where to cut a loop's body so that its iterations overlap.

A CPU begins the next iterations of a loop before the current one is done, as far as the steps
fit that wait for their operands: some 130 on a Zen 5. In a body of several functions, each of
the result of the one before, nearly all wait, and the arithmetic units with them. Cut in the
middle of the chain, the body is two loops whose iterations are half as long and half as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ._instructions import Instruction

#: Cycles until the result is there, roughly: of functions, by the beginning of an opcode, and of
#: all others.
FUNCTION = 60
LATENCIES = {"call": 4, "fdiv": 13, "frem": 13, "load": 8, "f": 4}
STEP = 1

#: Instructions that a function stands for, and how many are begun in a cycle.
LENGTH, WIDTH = 45, 4

#: Bodies of shorter chains stay whole.
SHORT = 150

#: Most cuts: each is another loop, which takes LLVM five to ten milliseconds.
MOST = 16

#: What a value costs that waits in memory, and the part of the chain that has to be gained.
CROSSING, GAIN = 2, 0.2

#: A loop of its own for a function of one number is worth it beside so many instructions.
WORTH = 150

#: The beginning of the names of SciPy's functions.
_SCALAR = "@symgrad.scipy."


@dataclass(frozen=True)
class Chains:
    """A body of straight-line code.

    Attributes
    ----------
    code:
        Its instructions.
    uses:
        The registers that each reads.
    defined:
        Where each register is written.
    crossing:
        How many values cross a cut before each instruction, and one behind the last.
    """

    code: Sequence[Instruction]
    uses: Sequence[Sequence[str]]
    defined: dict[str, int]
    crossing: Sequence[int]

    def cuts(self, marks: Sequence[int]) -> list[int]:
        """Return the instructions to cut before, of the ``marks``."""
        found = [] if self._ordered() else self._between(0, len(self.code), marks)
        return found if len(found) <= MOST else []

    def around(self, marks: Sequence[int]) -> list[int]:
        """Return the instructions to cut before, of the ``marks``, around functions of one number.

        LLVM makes no SIMD code of a loop that calls such a function, of which SciPy's are.
        """
        alone = [
            k
            for k, x in enumerate(self.code)
            if x.opcode == "call" and x.operands[0].startswith(_SCALAR)
        ]
        if not alone or len(self.code) < WORTH * len(alone) or self._ordered():
            return []
        found = set()
        for k in alone:
            found.add(max((m for m in marks if m <= k), default=0))
            found.add(min((m for m in marks if m > k), default=0))
        return sorted(found - {0, len(self.code)})

    def _between(self, begin: int, end: int, marks: Sequence[int]) -> list[int]:
        """Return the cuts of a part: its middle, and those of its halves."""
        marks = [m for m in marks if begin < m < end]
        if not marks:
            return []
        # The longest chains that end with an instruction, and that begin with it.
        times = [_latency(x) for x in self.code[begin:end]]
        until, after = list(times), list(times)
        for k in range(begin, end):
            before = [d - begin for x in self.uses[k] if (d := self.defined.get(x, -1)) >= begin]
            until[k - begin] += max((until[d] for d in before), default=0)
        for k in reversed(range(begin, end)):
            for x in self.uses[k]:
                d = self.defined.get(x, -1) - begin
                if d >= 0:
                    after[d] = max(after[d], times[d] + after[k - begin])
        first = list(accumulate(until, max))
        second = list(accumulate(reversed(after), max))[::-1]
        whole = first[-1]
        work = sum(LENGTH if _is_call(x) else 1 for x in self.code[begin:end])
        if whole <= SHORT or whole < work / WIDTH:
            return []

        def cost(m: int) -> float:
            return max(first[m - begin - 1], second[m - begin]) + CROSSING * self.crossing[m]

        best = min(marks, key=cost)
        if cost(best) > (1 - GAIN) * whole:
            return []
        return [*self._between(begin, best, marks), best, *self._between(best, end, marks)]

    def _ordered(self) -> bool:
        """Tell whether an array is both read and written, so that the order of steps counts."""
        loads = {self._array(x) for x in self.code if x.opcode == "load"}
        stores = {self._array(x) for x in self.code if x.opcode == "store"}
        return bool(loads & stores - {None})

    def _array(self, x: Instruction) -> str | None:
        """Return the array that an instruction refers to; None for a place of its own."""
        while (pointer := _pointer(x)) in self.defined:
            x = self.code[self.defined[pointer]]
        return None if pointer.startswith("%t") else pointer or None


def _pointer(x: Instruction) -> str:
    """Return the first register among the operands that is a pointer, "" if there is none."""
    return next((y for kind, y in x.typed if kind == "ptr" and y.startswith("%")), "")


def _is_call(x: Instruction) -> bool:
    """Tell whether an instruction calls a function that is none of LLVM's."""
    return x.opcode == "call" and not x.operands[0].startswith("@llvm.")


def _latency(x: Instruction) -> int:
    if not x.result:
        return STEP
    if _is_call(x):
        return FUNCTION
    if x.opcode == "call" and x.operands[0].startswith("@llvm.sqrt"):
        return 20
    return next((n for word, n in LATENCIES.items() if x.opcode.startswith(word)), STEP)

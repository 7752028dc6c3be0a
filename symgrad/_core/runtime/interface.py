"""What the code of a program and its callers agree on: names, statuses, types in LLVM's words."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_FLOATS = {"f": "float", "d": "double"}


def llvm_type(dtype: Any) -> str:
    """Return the LLVM type of a value in a register."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return _FLOATS[dtype.char]
    return "i1" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"


def memory_type(dtype: Any) -> str:
    """Return the LLVM type of a value in memory: booleans take a byte."""
    return "i8" if np.dtype(dtype).kind == "b" else llvm_type(dtype)


def constant_text(value: Any, dtype: Any) -> str:
    """Return ``value`` as an LLVM constant of element type ``dtype``, bit for bit."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        # LLVM writes float constants, too, as the bits of the equal double.
        return f"0x{struct.unpack('<Q', struct.pack('<d', float(dtype.type(value))))[0]:016X}"
    if dtype.kind == "b":
        return "true" if value else "false"
    number = int(value)
    bits = 8 * dtype.itemsize
    return str(number - (1 << bits) if number >= 1 << (bits - 1) else number)


def memory_text(value: Any, dtype: Any) -> str:
    """Return ``value`` as an LLVM constant as it is in memory."""
    text = constant_text(value, dtype)
    return {"true": "1", "false": "0"}.get(text, text)


#: What ``NAME.run`` returns beside 0: it ran out of memory, met an index outside of an axis, or
#: the values are not those that the program was traced for (Python took another branch).
EXHAUSTED, OUT_OF_RANGE, OTHER_BRANCH = 1, 4, 8

#: What is raised for the first two.
NO_MEMORY = "no memory for the kernel's temporaries"
NO_PLACE = "a computed index is out of bounds for its axis"


@dataclass(frozen=True)
class Leaf:
    """Element type and rank of an input or output of a program."""

    dtype: str
    ndim: int


@dataclass(frozen=True, kw_only=True)
class Interface:
    """How the functions of a program's code are called.

    ``NAME.sizes`` takes the extents of the inputs, and writes the size symbols, the results'
    shapes and the work to be done; ``NAME.run`` takes the inputs, the sizes, arrays for the
    results, memory for the numbers among them, and the number of threads.

    Attributes
    ----------
    name:
        Prefix of the functions, unique to the program.
    inputs, outputs:
        Element types and ranks, in order.
    sizes:
        Number of size symbols.
    """

    name: str
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    sizes: int


@dataclass
class Lines:
    """A function as LLVM's text, under way: instructions and labels in order."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def line(self, text: str) -> None:
        """Add an instruction, or a label."""
        self.lines.append(text if text.endswith(":") else f"  {text}")

    def op(self, text: str) -> str:
        """Add an instruction; return the register with its result."""
        self.count += 1
        self.line(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def text(self, head: str) -> str:
        """Return the function."""
        return "\n".join([head, "entry:", *self.lines, "}", ""])

"""Element types and constants in LLVM's words."""

from __future__ import annotations

import struct
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

"""What object code refers to outside of itself, and whether it is here.

An object on the disk may have been made beside another C library. LLVM ends the process when it
links code that calls a function which it does not find.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import llvmlite.binding as llvm
import numpy as np

from ._libraries import has_libmvec

#: How glibc's vector mathematics library names its functions.
_VECTOR = re.compile(rb"_ZGV[bcde]N\d+v+_\w+")

#: What the names begin with of what is bound in every process, or in the same program.
_OWN = b"symgrad"

#: Names that the linker itself gives a meaning to.
_LINKER = frozenset((b"", b"_GLOBAL_OFFSET_TABLE_"))

#: A section's header and a symbol in 64-bit ELF, the lowest byte first.
_SECTION = np.dtype(
    [("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"),
     ("size", "<u8"), ("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entry", "<u8")]
)  # fmt: skip
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
_ELF64, _SYMBOL_TABLE, _UNDEFINED = b"\x7fELF\x02\x01", 2, 0


def externals(content: bytes) -> set[str]:
    """Return the C functions that an object, or LLVM assembly, refers to."""
    if content.startswith(_ELF64):
        found = {n for n in _undefined(content) if not n.startswith(_OWN)} - _LINKER
    else:  # only the vector functions may be missing, and where they are, objects are ELF
        found = set(_VECTOR.findall(content))
    return {name.decode() for name in found}


def _undefined(content: bytes) -> Iterator[bytes]:
    start = int.from_bytes(content[40:48], "little")
    count = int.from_bytes(content[60:62], "little")
    sections = np.frombuffer(content, _SECTION, count, start)
    for table in sections[sections["type"] == _SYMBOL_TABLE]:
        held = int(table["size"]) // _SYMBOL.itemsize
        symbols = np.frombuffer(content, _SYMBOL, held, int(table["offset"]))
        strings = int(sections[table["link"]]["offset"])
        for name in symbols["name"][symbols["section"] == _UNDEFINED].tolist():
            first = strings + name
            yield content[first : content.index(b"\0", first)]


def absent(names: Iterable[str]) -> list[str]:
    """Return those of the C functions that this process does not find."""
    return [name for name in names if not _is_here(name)]


@lru_cache(maxsize=1024)
def _is_here(name: str) -> bool:
    if _VECTOR.fullmatch(name.encode()) and not has_libmvec():
        return False
    # LLVM looks through the process itself, too, once there is code to link.
    return bool(llvm.address_of_symbol(name)) or hasattr(ctypes.CDLL(None), name)

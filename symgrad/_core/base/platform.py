"""What systems differ in that symgrad makes use of: asked here, and nowhere else.

Where a system lacks one of these, there is another way, with the same results. To test that way
on a system that has it, ``SYMGRAD_PRETEND`` names what this process takes for absent, by commas.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

from ...errors import ArgumentError

# Caches, and memory that calls keep, count on threads that take turns in Python.
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise ImportError(
        "symgrad needs Python's global interpreter lock, and this is a free-threaded build without"
        f" it ({sys.executable}): use the usual build of Python"
        f" {sys.version_info.major}.{sys.version_info.minor} for symgrad"
    )

#: What can be taken for absent, and what is done without it.
LACKS = {
    "advice": "large pages are not asked for (madvise is Linux's)",
    "fork": "nothing is prepared for forked processes: there are none on Windows",
    "libmvec": "loops call symgrad's own SIMD functions, or the scalar ones of the C library",
    "limits": "`symgrad diff` has bounds of its own alone, none of the system's on its memory",
    "long": "C's long has 32 bits, as on Windows",
    "near": "code and constants may lie more than 2 GB apart",
    "owners": "files have no owners and modes that could be checked",
    "structures": "calls go through Numba's dispatcher: no machine code reads Python's objects",
    "words": "Python's code, not machine code, compares what a function read with what is there",
}

_pretended = frozenset(os.environ.get("SYMGRAD_PRETEND", "").replace(",", " ").split())

if not LACKS.keys() >= _pretended:
    raise ArgumentError(
        f"SYMGRAD_PRETEND has {', '.join(sorted(_pretended - LACKS.keys()))};"
        f" what can be taken for absent: {', '.join(LACKS)}"
    )


def has(what: str) -> bool:
    """Tell whether one of :data:`LACKS` is not taken for absent."""
    assert what in LACKS, what
    return what not in _pretended


def pretended() -> str:
    """Return what is taken for absent: machine code for this process may be other code."""
    return " ".join(sorted(_pretended))


_LINUX, _MACHINE = sys.platform == "linux", platform.machine().lower()

#: The processor's family.
X86, ARM = _MACHINE in ("x86_64", "amd64"), _MACHINE in ("arm64", "aarch64")

#: Whether Linux may be asked for large pages.
ADVICE = _LINUX and has("advice")

#: Whether files have owners and modes.
OWNERS = hasattr(os, "geteuid") and has("owners")

#: Whether the linker puts an object's code and constants near each other, so that instructions
#: name constants by their distance. Otherwise each use is two instructions; see
#: docs/design/emission.md.
NEAR = _LINUX and X86 and has("near")

#: LLVM's relocation model of code that is loaded at any address; COFF knows none by this name.
RELOCATION = "default" if os.name == "nt" else "pic"

#: How many bits C's ``unsigned long`` has, in which CPython returns identifiers of threads.
LONG_BITS = 8 * ctypes.sizeof(ctypes.c_ulong) if has("long") else 32


def register_at_fork(**functions: Callable[[], Any]) -> None:
    """Have functions called around forks, as ``os.register_at_fork``; nowhere if none fork."""
    if hasattr(os, "register_at_fork") and has("fork"):
        os.register_at_fork(**functions)

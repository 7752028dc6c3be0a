"""The processors that machine code can be made for: the one that this process runs on, and others.

The levels of x86-64 are those of its psABI. An object for one of them says in a note which it
needs, in the words of the GNU linker's ``-z x86-64-v3``, so that glibc (from 2.33) refuses to load
it on a lesser processor instead of crashing there.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import NamedTuple

import llvmlite.binding as llvm

from ...errors import ArgumentError
from ..base.platform import ARM, X86


class Machine(NamedTuple):
    """A processor: LLVM's words for it, and what code for it may use.

    Attributes
    ----------
    cpu:
        LLVM's name of it.
    register_bytes:
        The width of the registers that SIMD functions use; 0 without fused multiply-adds.
    level:
        The bits of x86's levels that it needs.
    names:
        What triples for it begin with.
    features:
        What it has beyond LLVM's processor of that name.
    system:
        The rest of its triple where it is not of this system's kind.
    size_bits:
        The width of the C library's sizes. Addresses are computed in 64 bits whatever it is.
    """

    cpu: str
    register_bytes: int
    level: int
    names: tuple[str, ...]
    features: str = ""
    system: str = "unknown-linux-gnu"
    size_bits: int = 64

    @property
    def is_here(self) -> bool:
        """Whether it is of the kind that this process runs on."""
        return bool(llvm.get_default_triple().startswith(self.names))

    @property
    def triple(self) -> str:
        """LLVM's name of processor and system: this system, or Linux, or none."""
        own: str = llvm.get_default_triple()
        return own if self.is_here else f"{self.names[0]}-{self.system}"


#: By the names that users give them.
MACHINES = {
    "x86-64": Machine("x86-64", 0, 0b1, ("x86_64",)),
    "x86-64-v2": Machine("x86-64-v2", 0, 0b11, ("x86_64",)),
    "x86-64-v3": Machine("x86-64-v3", 32, 0b111, ("x86_64",)),
    "x86-64-v4": Machine("x86-64-v4", 64, 0b1111, ("x86_64",)),
    "aarch64": Machine("generic", 16, 0, ("aarch64", "arm64")),
    "wasm32": Machine("generic", 0, 0, ("wasm32",), "+simd128", "unknown-unknown", 32),
}

#: What each level of x86-64 adds, by a feature that came with its last processors.
_LEVELS = {"x86-64-v4": ("avx512dq", "avx512vl", "avx512bw"), "x86-64-v3": ("avx2", "fma", "bmi2"),
           "x86-64-v2": ("sse4.2", "popcnt"), "x86-64": ()}  # fmt: skip


def level_of(features: Mapping[str, bool]) -> str:
    """Return the highest level of x86-64 that has no features beyond these."""
    fits = (name for name, needs in _LEVELS.items() if all(features.get(k) for k in needs))
    # A level has those below it.
    return next(fits)


def processor() -> tuple[str, dict[str, bool], str]:
    """Return LLVM's name and the features of the processor that this process makes code for.

    That is this one, or the one that ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` name. Numba puts
    symgrad's functions into its modules, and LLVM ends the process where one has an instruction
    that the module's processor lacks. Last come the features as text for LLVM. Of a name that
    is none of :data:`MACHINES` nothing is known but the features that are switched on.
    """
    host: dict[str, bool] = llvm.get_host_cpu_features()
    name = os.environ.get("NUMBA_CPU_NAME")
    text = os.environ.get("NUMBA_CPU_FEATURES")
    known: dict[str, bool] = {}
    if text is None and name == "generic":
        text = ""
    elif text is None:
        known, text = host, ",".join(f"{'-+'[bool(on)]}{k}" for k, on in sorted(host.items()))
    elif name in _LEVELS and "-" not in text:  # a feature that is off takes others with it
        levels = list(_LEVELS)
        known = {k: True for level in levels[levels.index(name) :] for k in _LEVELS[level]}
    given = {k[1:]: k[0] == "+" for k in text.split(",") if k}
    return name or llvm.get_host_cpu_name(), known | given, text


def machine_of(target: str | None) -> Machine:
    """Return a processor by its name; None: this one, by its level.

    Raises
    ------
    ArgumentError
        If the name is not known, with those that are.
    """
    if target is None:
        if X86:
            target = level_of(processor()[1])
        else:
            target = "aarch64" if ARM else platform.machine()
    word: object = target  # of any type, as it is given
    if not isinstance(word, str) or word not in MACHINES:
        hint = "; for others export C source, to a file that ends in .c"
        raise ArgumentError(f"target {target!r:.60} is not one of {', '.join(MACHINES)}{hint}")
    return MACHINES[word]


def level_note(machine: Machine) -> str:
    """Return the note on the level, as LLVM assembly; empty where loaders do not read it."""
    if not machine.level or "linux" not in machine.triple:
        return ""
    # n_namesz, n_descsz, NT_GNU_PROPERTY_TYPE_0, "GNU", GNU_PROPERTY_X86_ISA_1_NEEDED, its size
    words = (4, 16, 5, 0x554E47, 0xC0008002, 4, machine.level, 0)
    text = ", ".join(f"i32 {w - (w >> 31 << 32)}" for w in words)
    return (
        f"@symgrad.level = internal constant [{len(words)} x i32] [{text}], "
        'section ".note.gnu.property", align 8\n'
        "@llvm.compiler.used = appending global [1 x ptr] [ptr @symgrad.level], "
        'section "llvm.metadata"\n'
    )

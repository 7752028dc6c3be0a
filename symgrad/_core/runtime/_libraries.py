"""The libraries that kernels call: libm and its SIMD twins, SciPy's special functions, BLAS.

Special functions and BLAS come from SciPy's Cython modules by address. Their addresses are
entered in LLVM's symbol table under names of our own, so that object code refers to them by
name and can be cached on disk.

An object on the disk may have been made beside another C library. LLVM ends the process when it
links code that calls a function which it does not find, so what it refers to is looked for first.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from ..base.fork_safety import late_module
from ..base.platform import ARM, X86, has
from ..base.state import now
from ._machine import processor
from .structures import Universal, capsule_name, capsule_pointer


class Function(NamedTuple):
    """A C function that a Cython module exports."""

    module: str
    name: str


class Variant(NamedTuple):
    """A SIMD twin of a scalar function."""

    symbol: str
    width: int


@lru_cache(maxsize=1)
def has_libmvec() -> bool:
    """Tell whether glibc's vector mathematics library is here, and load it."""
    if not X86 or not has("libmvec"):
        return False
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return True


def register_bytes() -> int:
    """Return the width of the registers that SIMD functions of our own use, or 0.

    They are made of fused multiply-adds, which the C library would imitate where the CPU has
    none.
    """
    machine = now().machine
    return _register_bytes_here() if machine is None else int(machine.register_bytes)


@lru_cache(maxsize=1)
def _register_bytes_here() -> int:
    _, features, _ = processor()
    if X86:
        if not features.get("fma"):
            return 0
        return 64 if features.get("avx512dq") else 32
    return 16 if ARM else 0


def vector_math_default() -> bool:
    """Tell whether kernels use SIMD mathematics: where available, unless switched off."""
    wanted = os.environ.get("SYMGRAD_VECTOR_MATH", "1") != "0"
    return wanted and (register_bytes() > 0 or (now().machine is None and has_libmvec()))


@lru_cache(maxsize=1)
def _letter() -> tuple[str, int]:
    """Return the vector ABI's letter, and the bytes, of the widest registers that loops use here.

    One width for all: the C library's functions round otherwise for another.
    """
    _, known, _ = processor()
    if _vector_width_here():
        return "e", 64
    return ("d", 32) if known.get("avx2") else ("b", 16)


def vector_twin(symbol: str, arguments: int, size: int) -> Variant | None:
    """Return the vector function of the C library beside a scalar one, if there is one here.

    ``size`` is that of an element in bytes.
    """
    if now().machine is not None or not has_libmvec():
        return None
    return _vector_twin_here(symbol, arguments, size)


@lru_cache(maxsize=256)
def _vector_twin_here(symbol: str, arguments: int, size: int) -> Variant | None:
    letter, register = _letter()
    width = register // size
    name = f"_ZGV{letter}N{width}{'v' * arguments}_{symbol}"
    return Variant(name, width) if llvm.address_of_symbol(name) else None


def vector_width() -> str:
    """Return the attribute by which functions ask for the widest registers, where they pay.

    LLVM prefers half-width registers on CPUs with AVX-512, because the first of them ran
    slower with it. Those with its later extensions do not.
    """
    return _vector_width_here() if now().machine is None else ""


@lru_cache(maxsize=1)
def _vector_width_here() -> str:
    wide = processor()[1].get("avx512ifma", False)
    return ' "prefer-vector-width"="512"' if wide else ""


def cython_symbol(function: Function) -> str:
    """Return the name under which object code calls ``function``; see :func:`bind_symbol`."""
    return f"symgrad.{function.module}.{function.name}"


#: How Cython names the capsule of a function of doubles, which returns one or writes several.
_OF_DOUBLES = re.compile(rb"(double|void) \(double(, double( \*)?)*(, int __pyx_skip_dispatch)?\)")


def exported(function: Function) -> Any:
    """Return the capsule of a function that a Cython module exports.

    Of one that is there for several types, that for doubles. SciPy's releases turn functions into
    such and number the variants anew, so that records cannot name a variant.
    """
    capsules = late_module(function.module).__pyx_capi__
    if function.name in capsules:
        return capsules[function.name]
    variant = re.compile(rf"__pyx_fuse_\d+{function.name}")
    (found,) = (
        capsule
        for name, capsule in capsules.items()
        if variant.fullmatch(name) and _OF_DOUBLES.fullmatch(capsule_name(capsule))
    )
    return found


#: Functions of the user's: their addresses, and what keeps them alive.
_functions: dict[str, tuple[int, Any]] = {}


def bind_function(symbol: str, address: int, keep: Any) -> None:
    """Enter the address of a function of the user's under ``symgrad.user...``."""
    _functions[symbol] = (address, keep)
    llvm.add_symbol(symbol, address)


#: What the names of universal functions' inner loops begin with.
LOOPS = ("symgrad_loop.", "symgrad_ufunc.")


def loop_symbol(module: str, ufunc: str, letter: str) -> str:
    """Return the name of the inner loop of a universal function; that of its data ends so too.

    ``letter`` is the type of the loop's second operand.
    """
    return f"symgrad_loop.{module}.{ufunc}.{letter}"


def _bind_loop(symbol: str) -> None:
    """Enter the addresses of a universal function's inner loop and of the loop's data."""
    _, _, rest = symbol.partition(".")
    home, name, letter = rest.rsplit(".", 2)
    ufunc = getattr(late_module(home), name)
    place = [types[1] for types in ufunc.types].index(letter)
    record = Universal.of(ufunc)
    llvm.add_symbol(symbol, record.functions[place])
    if record.data and record.data[place]:
        llvm.add_symbol(f"{symbol}.data", record.data[place])


def ufunc_symbol(name: str, types: str) -> str:
    """Return the name of a universal function's inner loop for types such as ``"dd->d"``.

    ``name`` is that of the function behind its module's, as in ``numpy.sin``.
    """
    return f"symgrad_ufunc.{name}.{types.replace('->', '_').replace('?', '0')}"


@lru_cache(maxsize=256)
def _ufunc_loop(symbol: str) -> tuple[int, int | None]:
    """Return the addresses of a loop and of its data."""
    path, _, wanted = symbol.partition(".")[2].rpartition(".")
    home, _, name = path.rpartition(".")
    ufunc = getattr(late_module(home), name)
    known = [ufunc_symbol(path, types).rpartition(".")[2] for types in ufunc.types]
    place = known.index(wanted)
    record = Universal.of(ufunc)
    return record.functions[place], record.data[place] if record.data else None


def ufunc_data(symbol: str) -> int | None:
    """Return the address of the data of a loop, or None if it has none."""
    return _ufunc_loop(symbol)[1]


@lru_cache(maxsize=256)
def bind_symbol(symbol: str) -> None:
    """Enter a Cython function's address, or a loop's, in LLVM's symbol table."""
    if symbol in _functions:
        return
    if symbol.startswith("symgrad_ufunc."):
        function, data = _ufunc_loop(symbol)
        llvm.add_symbol(symbol, function)
        if data:
            llvm.add_symbol(f"{symbol}.data", data)
        return
    if symbol.startswith("symgrad_loop."):
        _bind_loop(symbol)
        return
    _, _, rest = symbol.partition(".")
    module, _, name = rest.rpartition(".")
    llvm.add_symbol(symbol, capsule_pointer(exported(Function(module, name))))


def bind_array(symbol: str, address: int) -> None:
    """Enter the address of a constant array in LLVM's symbol table."""
    llvm.add_symbol(symbol, address)


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

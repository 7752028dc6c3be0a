"""The disk cache: a folder for each program with its object code and a description.

It is keyed by everything that the machine code depends on; it is private to the user; files
appear atomically; what is damaged is made again. The folder also holds the Python module of
the program's numba kernel, beside which numba caches its own part.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numpy as np
import scipy

from .._graph import Constant, is_promised
from .._lower import Leaf, constant_symbol, lower, vector_math_default
from .._op import registry
from .._schedule import Program
from ._code import Code, compile_code, emit
from ._files import DESCRIPTION, read_files, write_files
from ._layout import Layout, kernel_file

#: The file with the assembly that is linked into callers in Numba's world.
ASSEMBLY = "program.ll"

#: The file of an entry that is one object and no program.
OBJECT = "code.o"

#: Raise when the emitted code changes for equal programs.
FORMAT = 3

#: The packages that no kernel depends on.
ASIDE = ("_export", "_parse", "_show", "_symbolic", "_tensor", "_verify", "cli", "demo")

#: The ops that symgrad's own source files define; the user's may change while it stays.
OWN = frozenset(registry.ops.values())


def cache_folder() -> Path | None:
    """Return the user's private cache folder, or None if there can be none.

    ``SYMGRAD_CACHE_DIR`` overrides the place; empty, it switches the cache off.
    """
    chosen = os.environ.get("SYMGRAD_CACHE_DIR")
    if chosen == "":
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path.home() / ".cache"
    folder = Path(chosen) if chosen else home / "symgrad"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError:
        return None
    # Cached code is executed: never from a folder that others can write to.
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None
    return folder if os.access(folder, os.W_OK) else None


@lru_cache(maxsize=1)
def _machine() -> str:
    features = sorted(k for k, on in llvm.get_host_cpu_features().items() if on)
    return f"{llvm.get_host_cpu_name()} {' '.join(features)} {llvm.get_default_triple()}"


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Return a digest of symgrad's own compiler: new code, new kernels."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent.parent
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in ASIDE:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_key(program: Program, layout: Layout, kinds: Sequence[str]) -> str:
    """Return the key of a program: all that its machine code depends on."""
    return _key(
        source_digest(), version("numba"), str(vector_math_default()), program.fingerprint,
        " ".join(kinds), layout.source(cache=True), scipy.__version__ if is_promised() else "",
        *_foreign(program),
    )  # fmt: skip


def note_key(*words: str) -> str:
    """Return a key of ``words`` and of what making a kernel depends on whatever it is of."""
    return _key("note", source_digest(), version("numba"), str(vector_math_default()), *words)


def _key(*parts: str) -> str:
    """Return a digest of ``parts`` and of what all code depends on."""
    common = (
        str(FORMAT), llvmlite.__version__, np.__version__, str(llvm.llvm_version_info),
        sys.version, _machine(),
    )  # fmt: skip
    return hashlib.sha256("\0".join((*common, *parts)).encode()).hexdigest()[:40]


def _foreign(program: Program) -> tuple[str, ...]:
    """Return the code itself where ops of the user's are in it: their rules may change."""
    if all(node.op in OWN for node in program.nested_steps()):
        return ()
    lowered = lower(program)
    return (lowered.text, *lowered.straight)


class Entry(NamedTuple):
    """A program's machine code, its folder in the cache or None, and whether it was there."""

    code: Code
    home: Path | None
    found: bool


def cached_code(program: Program, layout: Layout, kinds: Sequence[str], cache: bool) -> Entry:
    """Return a program's machine code, from the disk cache if it is there.

    ``kinds`` says how Python passes the inputs, as in :func:`compile_code`.
    """
    folder = cache_folder() if cache else None
    if folder is None:
        return Entry(compile_code(lower(program), kinds), None, False)
    home = folder / cache_key(program, layout, kinds)
    with _lock_of(home.name):
        if (home / DESCRIPTION).exists():
            with contextlib.suppress(Exception):  # whatever is wrong with an entry
                return read_entry(home, program.constants)
        if home.exists():
            shutil.rmtree(home, ignore_errors=True)
        code = compile_code(lower(program), kinds)
        if code.calls_back:  # a Python function has no name that another process could know
            return Entry(code, None, False)
        try:
            _write(home, program, layout, code)
        except OSError:  # the disk is full, or somebody else's
            return Entry(code, None, False)
        return Entry(code, home, False)


def cached_object(text: str, cache: bool) -> bytes:
    """Return the object code of a module without loops to optimise, from the cache if there."""
    folder = cache_folder() if cache else None
    if folder is None:
        return emit(text)
    home = folder / _key(text)
    with _lock_of(home.name):
        with contextlib.suppress(Exception):  # whatever is wrong with an entry
            return read_files(home)[1][OBJECT]
        shutil.rmtree(home, ignore_errors=True)
        content = emit(text)
        with contextlib.suppress(OSError):  # the disk is full, or somebody else's
            write_files(home, {OBJECT: content}, {"inputs": [], "outputs": []})
        return content


@lru_cache(maxsize=1024)
def _lock_of(key: str) -> threading.Lock:
    """Return the lock of a cache entry: threads make an entry one after the other."""
    return threading.Lock()


if hasattr(os, "register_at_fork"):  # a child has none of the threads that hold them
    os.register_at_fork(after_in_child=_lock_of.cache_clear)


def _write(home: Path, program: Program, layout: Layout, code: Code) -> None:
    # Arrays that lowering computed; the function's own are in the program.
    own = {constant_symbol(n) for n in program.constants}
    made = {s: a for s, a in code.constants.items() if s not in own}
    files = {f"code{k}.o": content for k, content in enumerate(code.objects)}
    files.update((f"constant{k}.bin", a.tobytes()) for k, a in enumerate(made.values()))
    files |= {name: text.encode() for name, text in _sources(layout, code).items()}
    if code.assembly is not None:
        files[ASSEMBLY] = code.assembly().encode()
    write_files(home, files, {
        "name": code.name,
        "inputs": [[leaf.dtype, leaf.ndim] for leaf in code.inputs],
        "outputs": [[leaf.dtype, leaf.ndim] for leaf in code.outputs],
        "symbols": list(code.symbols),
        "sizes": code.sizes,
        "exports": code.exports,
        "objects": len(code.objects),
        "constants": [s for s in code.constants if s in own],
        "made": [[s, f"constant{k}.bin", a.dtype.str, a.shape]
                 for k, (s, a) in enumerate(made.items())],
    })  # fmt: skip


def _sources(layout: Layout, code: Code) -> dict[str, str]:
    """Return the modules of the numba kernels; both, because an entry is never changed."""
    into = layout.into(sum(leaf.ndim > 0 for leaf in code.outputs))
    return {f"{kernel_file(k)}.py": k.source(cache=True) for k in (layout, into)}


def read_entry(home: Path, known: Sequence[Constant]) -> Entry:
    """Return an entry of the cache; ``known`` has the arrays that its function closes over.

    Raises
    ------
    OSError, DataError, KeyError
        If it is not there, or not as it was written, or is of other arrays.
    """
    return Entry(_read(home, known), home, True)


def _read(home: Path, known: Sequence[Constant]) -> Code:
    description, files = read_files(home)
    own = {constant_symbol(n): n.array for n in known}
    constants = {symbol: own[symbol] for symbol in description["constants"]}
    for symbol, file, dtype, shape in description["made"]:
        constants[symbol] = np.ndarray(shape, dtype, files[file]).copy()
    return Code(
        description["name"],
        tuple(Leaf(d, n) for d, n in description["inputs"]),
        tuple(Leaf(d, n) for d, n in description["outputs"]),
        tuple(description["symbols"]),
        constants,
        description["sizes"],
        description["exports"],
        [files[f"code{k}.o"] for k in range(description["objects"])],
        (lambda: files[ASSEMBLY].decode()) if ASSEMBLY in files else None,
    )

"""The disk cache: a folder for each program with its object code and a description.

It is keyed by everything that the machine code depends on; it is private to the user; files
appear atomically; what is damaged is made again.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import machinery, resources
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import llvmlite.binding as llvm
import numpy as np
import scipy

from ...errors import DataError
from ..base.platform import pretended, register_at_fork
from ..base.signals import foreseen, tolerating
from ..base.state import now
from ..base.switches import left_out
from ..graph import Constant
from ..lowering import constant_symbol
from ..op import registry
from ..pipeline import lower
from ..program import Program
from ..rewrite import ENTERED
from ..runtime import Leaf, absent, externals, processor, structures, vector_math_default
from .code import Code, compile_code, load_object
from .entry_files import read_files, write_files
from .llvm import emit, quick_object
from .private_files import discard, private_folder

#: The file with the assembly that is linked into callers in Numba's world.
ASSEMBLY = "program.ll"

#: The file of an entry that is one object and no program.
OBJECT = "code.o"

#: Raise when the emitted code changes for equal programs.
FORMAT = 4

#: The packages that no kernel depends on.
ASIDE = ("_export", "_parse", "_show", "_symbolic", "_tensor", "_verify", "cli", "torch")

_PACKAGE = __name__.partition(".")[0]
#: Modules, and the tables of special functions.
_SUFFIXES = (*machinery.all_suffixes(), ".txt")


def cache_folder() -> Path | None:
    """Return the user's private cache folder, or None if there can be none."""
    try:
        return usable_folder()
    except foreseen(OSError):
        return None


def usable_folder() -> Path:
    """Return the user's private cache folder.

    ``SYMGRAD_CACHE_DIR`` overrides the place; empty, it switches the cache off.

    Raises
    ------
    OSError
        If there can be none; it says why.
    """
    chosen = os.environ.get("SYMGRAD_CACHE_DIR")
    if chosen == "":
        raise FileNotFoundError("SYMGRAD_CACHE_DIR is empty")
    if source_digest() is None:
        raise FileNotFoundError("symgrad was installed without files of its modules")
    return private_folder(Path(chosen) if chosen else _usual_folder())


def _usual_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    home = os.path.expanduser("~")  # noqa: PTH111  Path.home() raises where there is none
    if not base and (os.environ.get("HOME") == "" or not os.path.isabs(home)):  # noqa: PTH117
        raise FileNotFoundError("there is no home folder; set SYMGRAD_CACHE_DIR")
    return (Path(base) if base else Path(home) / ".cache") / "symgrad"


@lru_cache(maxsize=1)
def _machine() -> str:
    cpu, known, text = processor()
    features = sorted(k for k, on in known.items() if on)
    return f"{cpu} {' '.join(features)} {text} {llvm.get_default_triple()}"


@lru_cache(maxsize=1)
def _c_library() -> str:
    """Return the C library's name and version, as far as it says; objects call its functions."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        return ""


@lru_cache(maxsize=1)
def source_digest() -> str | None:
    """Return a digest of symgrad's own compiler: new code, new kernels.

    None where its modules are no files to be read, in a folder or an archive.
    """
    digest, found = hashlib.sha256(), set()
    root: Any = Path(__file__).resolve().parents[2]
    with tolerating(Exception):  # an importer of whatever kind
        for name, content in _modules(root if root.is_dir() else resources.files(_PACKAGE)):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
            found.add(name.partition(".")[0])
        if "_core/codegen/cache" in found:  # this file
            return digest.hexdigest()
    return None


def _modules(folder: Any, above: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the names of modules and tables below ``folder`` with what they hold."""
    for place in sorted(folder.iterdir(), key=lambda p: p.name):
        if place.is_dir():
            if place.name != "__pycache__" and (above or place.name not in ASIDE):
                yield from _modules(place, f"{above}{place.name}/")
        elif place.name.endswith(_SUFFIXES):
            yield f"{above}{place.name}", place.read_bytes()


def cache_key(program: Program, kinds: Sequence[str]) -> str:
    """Return the key of a program: all that its machine code depends on."""
    return _key(
        str(source_digest()), str(vector_math_default()), program.fingerprint, " ".join(kinds),
        str(now().promised), str(now().doubtful), *_foreign(program),
    )  # fmt: skip


def note_key(*words: str) -> str:
    """Return a key of ``words`` and of what making a kernel depends on whatever it is of."""
    return _key("note", str(source_digest()), str(vector_math_default()), *words)


def _key(*parts: str) -> str:
    """Return a digest of ``parts`` and of what all code depends on."""
    common = (
        str(FORMAT), llvmlite.__version__, np.__version__, scipy.__version__,
        str(llvm.llvm_version_info), sys.version, _machine(), _c_library(),
        str(structures.FAULT), pretended(), left_out(),
    )  # fmt: skip
    return hashlib.sha256("\0".join((*common, *parts)).encode()).hexdigest()[:40]


def _foreign(program: Program) -> tuple[str, ...]:
    """Return the code itself where ops or rewrites of the user's are in it: they may change."""
    if not ENTERED and all(registry.is_own(node.op) for node in program.nested_steps()):
        return ()
    lowered = lower(program)
    return (lowered.text, *lowered.straight)


class Entry(NamedTuple):
    """A program's machine code, its folder in the cache or None, and whether it was there."""

    code: Code
    home: Path | None
    found: bool


def cached_code(program: Program, kinds: Sequence[str], cache: bool) -> Entry:
    """Return a program's machine code, from the disk cache if it is there.

    ``kinds`` says how Python passes the inputs, as in :func:`compile_code`.
    """
    folder = cache_folder() if cache else None
    if folder is None:
        return Entry(compile_code(lower(program), kinds), None, False)
    home = folder / cache_key(program, kinds)
    with _lock_of(home.name):
        with tolerating(Exception):  # whatever is wrong with an entry
            return read_entry(home, program.constants)
        discard(home)
        code = compile_code(lower(program), kinds)
        if code.calls_back:  # a Python function has no name that another process could know
            return Entry(code, None, False)
        try:
            _write(home, program, code)
        except foreseen(OSError):  # the disk is full, or somebody else's
            return Entry(code, None, False)
        return Entry(code, home, False)


def cached_object(text: str, make: Callable[[str], bytes] = emit) -> bytes:
    """Return the object code that ``make`` makes of a module, from the cache if it is there."""
    folder = cache_folder()
    if folder is None:
        return make(text)
    home = folder / _key(text, make.__name__)
    with _lock_of(home.name):
        with tolerating(Exception):  # whatever is wrong with an entry
            return _read_checked(home)[1][OBJECT]
        discard(home)
        content = make(text)
        description = {"inputs": [], "outputs": [], "externals": sorted(externals(content))}
        with tolerating(OSError):  # the disk is full, or somebody else's
            write_files(home, {OBJECT: content}, description)
        return content


def loaded(text: str) -> Any:
    """Return the engine of a module without loops to optimise; its code is in the cache."""
    return load_object(cached_object(text))


def loaded_quickly(text: str) -> Any:
    """Return the engine of a module of a few instructions beside what calls it."""
    return load_object(cached_object(text, quick_object))


@lru_cache(maxsize=1024)
def _lock_of(key: str) -> threading.Lock:
    """Return the lock of a cache entry: threads make an entry one after the other."""
    return threading.Lock()


# A child has none of the threads that hold them.
register_at_fork(after_in_child=_lock_of.cache_clear)


def _write(home: Path, program: Program, code: Code) -> None:
    # Arrays that lowering computed; the function's own are in the program.
    own = {constant_symbol(n) for n in program.constants}
    made = {s: a for s, a in code.constants.items() if s not in own}
    files = {f"code{k}.o": content for k, content in enumerate(code.objects)}
    files.update((f"constant{k}.bin", a.tobytes()) for k, a in enumerate(made.values()))
    if code.assembly is not None:
        files[ASSEMBLY] = code.assembly().encode()
    # The assembly's functions are called by what Numba makes of it, in this folder or elsewhere.
    called = set().union(*map(externals, (*code.objects, files.get(ASSEMBLY, b""))))
    write_files(home, files, {
        "name": code.name,
        "inputs": [[leaf.dtype, leaf.ndim] for leaf in code.inputs],
        "outputs": [[leaf.dtype, leaf.ndim] for leaf in code.outputs],
        "symbols": list(code.symbols),
        "sizes": code.sizes,
        "exports": code.exports,
        "objects": len(code.objects),
        "externals": sorted(called),
        "constants": [s for s in code.constants if s in own],
        "made": [[s, f"constant{k}.bin", a.dtype.str, a.shape]
                 for k, (s, a) in enumerate(made.items())],
    })  # fmt: skip


def read_entry(home: Path, known: Sequence[Constant]) -> Entry:
    """Return an entry of the cache; ``known`` has the arrays that its function closes over.

    Raises
    ------
    OSError, DataError, KeyError
        If it is not there, or not as it was written, or is of other arrays.
    """
    return Entry(_read(home, known), home, True)


def _read_checked(home: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return description and files of an entry whose code can be linked here."""
    description, files = read_files(home)
    if lacking := absent(description["externals"]):
        raise DataError(f"{home} calls functions that are not here: {', '.join(lacking)}")
    return description, files


def _read(home: Path, known: Sequence[Constant]) -> Code:
    description, files = _read_checked(home)
    own = {constant_symbol(n): n.array for n in known}
    constants = {symbol: own[symbol] for symbol in description["constants"]}
    for symbol, file, dtype, shape in description["made"]:
        constants[symbol] = np.ndarray(shape, dtype, files[file]).copy()
    return Code(
        name=description["name"],
        inputs=tuple(Leaf(d, n) for d, n in description["inputs"]),
        outputs=tuple(Leaf(d, n) for d, n in description["outputs"]),
        sizes=description["sizes"],
        symbols=tuple(description["symbols"]),
        constants=constants,
        exports=description["exports"],
        objects=[files[f"code{k}.o"] for k in range(description["objects"])],
        assembly=(lambda: files[ASSEMBLY].decode()) if ASSEMBLY in files else None,
    )

"""The disk cache: a compiled kernel is a small Python module that numba caches.

A kernel's folder holds the module, the LLVM assembly and a description. It is keyed by
everything that the machine code depends on; it is private to the user; files appear
atomically; what is damaged is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np

from .._lower import Leaf, Lowered, constant_symbol, lower, vector_math_default
from .._op import registry
from .._schedule import Program
from ..errors import DataError
from ._kernel import Layout, bind_all, make_kernel
from ._objects import emit_objects, load_objects
from ._runtime import Body, make_intrinsic
from ._sealed import seal

#: The file of an entry that describes the others.
DESCRIPTION = "kernel.json"

#: Raise when the emitted code changes for equal programs.
FORMAT = 2

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
    """Return a digest of symgrad's own code generation: new code, new kernels."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent.parent
    for package in ("_lower", "_compile", "_ops", "_rewrite"):
        for path in sorted((root / package).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_key(program: Program, layout: Layout) -> str:
    """Return the key of a kernel: all that its machine code depends on."""
    parts = (
        str(FORMAT), source_digest(), numba.__version__, llvmlite.__version__,
        str(llvm.llvm_version_info), sys.version, _machine(), str(vector_math_default()),
        str(numba.config.OPT), program.fingerprint, layout.source(cache=True),
        *_foreign(program),
    )  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _foreign(program: Program) -> tuple[str, ...]:
    """Return the code itself where ops of the user's are in it: their rules may change."""
    if all(node.op in OWN for node in program.steps):
        return ()
    lowered = lower(program)
    return (lowered.text, *lowered.straight)


def cached_kernel(program: Program, layout: Layout, cache: bool) -> Any:
    """Return the kernel of a program, from the disk cache if it is there."""
    size_inputs = tuple(n.dim is not None for n in program.inputs)
    folder = cache_folder() if cache else None
    if folder is None:
        return make_kernel(lower(program), layout, size_inputs)
    home = folder / cache_key(program, layout)
    with _lock_of(home.name):
        if (home / DESCRIPTION).exists():
            with contextlib.suppress(Exception):  # whatever is wrong with an entry
                return _load(home, program, layout)
        if home.exists():
            shutil.rmtree(home, ignore_errors=True)
        lowered = lower(program)
        try:
            _write(home, program, layout, lowered, size_inputs)
            return _load(home, program, layout)
        except (OSError, DataError):  # another process is at work on it, or the disk is full
            return make_kernel(lowered, layout, size_inputs)


@lru_cache(maxsize=1024)
def _lock_of(key: str) -> threading.Lock:
    """Return the lock of a cache entry: threads make an entry one after the other."""
    return threading.Lock()


def _write(
    home: Path, program: Program, layout: Layout, lowered: Lowered, size_inputs: tuple[bool, ...]
) -> None:
    description: dict[str, Any] = {
        "name": lowered.name,
        "inputs": [[leaf.dtype, leaf.ndim] for leaf in lowered.inputs],
        "outputs": [[leaf.dtype, leaf.ndim] for leaf in lowered.outputs],
        "sizes": lowered.sizes,
        "size_inputs": list(size_inputs),
        "symbols": list(lowered.symbols),
        "linked": lowered.linked,
        "exports": lowered.exports,
    }
    code: dict[str, bytes] = {}
    if lowered.linked:
        code["program.ll"] = lowered.text.encode()
    else:
        code.update((f"code{k}.o", o) for k, o in enumerate(emit_objects(lowered)))
    # Arrays that lowering computed; the function's own are in the program.
    own = {constant_symbol(n) for n in program.constants}
    made = {s: a for s, a in lowered.constants.items() if s not in own}
    description["constants"] = [s for s in lowered.constants if s in own]
    description["made"] = [[s, f"constant{k}.bin", a.dtype.str, a.shape]
                           for k, (s, a) in enumerate(made.items())]  # fmt: skip
    code.update((f"constant{k}.bin", a.tobytes()) for k, a in enumerate(made.values()))
    description["digests"] = {k: _digest(v) for k, v in code.items()}
    text = json.dumps(description)
    code[DESCRIPTION] = json.dumps([_digest(text.encode()), text]).encode()
    code["kernel.py"] = layout.source(cache=True).encode()
    scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=home.parent))
    try:
        for name, content in code.items():
            (scratch / name).write_bytes(content)
        # Renaming onto an existing folder fails: another process was first, with the same.
        with contextlib.suppress(OSError):
            scratch.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _load(home: Path, program: Program, layout: Layout) -> Any:
    digest, text = json.loads((home / DESCRIPTION).read_bytes())
    source = (home / "kernel.py").read_bytes()
    if digest != _digest(text.encode()) or source != layout.source(cache=True).encode():
        raise DataError(f"the cache entry {home} is damaged")
    description = json.loads(text)
    code = {}
    for name, digest in description["digests"].items():
        code[name] = (home / name).read_bytes()
        if _digest(code[name]) != digest:
            raise DataError(f"the cached file {home / name} is damaged")
    own = {constant_symbol(n): n.array for n in program.constants}
    constants = {symbol: own[symbol] for symbol in description["constants"]}
    for symbol, file, dtype, shape in description["made"]:
        constants[symbol] = np.ndarray(shape, dtype, code[file]).copy()
    bind_all(tuple(description["symbols"]), constants)
    if not description["linked"]:
        objects = [code[name] for name in code if name.endswith(".o")]
        load_objects(description["name"], objects, description["exports"])
    body = Body(
        description["name"],
        tuple(Leaf(d, n) for d, n in description["inputs"]),
        tuple(Leaf(d, n) for d, n in description["outputs"]),
        description["sizes"],
        tuple(description["size_inputs"]),
        (lambda: code["program.ll"].decode()) if description["linked"] else None,
    )
    module = ModuleType(f"symgrad_kernel_{home.name}")
    module.__file__ = str(home / "kernel.py")  # numba keeps its files beside it
    module.call = make_intrinsic(body)  # type: ignore[attr-defined]
    # Numba pickles references to the module by name when another function calls the kernel.
    sys.modules[module.__name__] = module
    exec(compile(source, module.__file__, "exec"), vars(module))  # noqa: S102  checked above
    seal(module.kernel)
    return module.kernel

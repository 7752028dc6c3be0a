"""The disk cache: a compiled kernel is a small Python module that numba caches.

A kernel's folder holds the module, the LLVM assembly and a description. It is keyed by
everything that the machine code depends on; it is private to the user; files appear
atomically; what is damaged is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np

from .._lower import Leaf, constant_symbol, lower, vector_math_default
from .._schedule import Program
from ..errors import DataError
from ._kernel import Layout, bind_all, make_kernel
from ._objects import emit_objects, load_objects
from ._runtime import Body, make_intrinsic

#: Raise when the emitted code changes for equal programs.
FORMAT = 1


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
    )  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def cached_kernel(program: Program, layout: Layout, cache: bool) -> Any:
    """Return the kernel of a program, from the disk cache if it is there."""
    size_inputs = tuple(n.dim is not None for n in program.inputs)
    folder = cache_folder() if cache else None
    if folder is None:
        return make_kernel(lower(program), layout, size_inputs)
    home = folder / cache_key(program, layout)
    try:
        return _load(home, program)
    except Exception:  # noqa: BLE001  whatever is wrong with an entry, it is made again
        shutil.rmtree(home, ignore_errors=True)
    try:
        _write(home, program, layout, size_inputs)
        return _load(home, program)
    except OSError:
        return make_kernel(lower(program), layout, size_inputs)


def _write(home: Path, program: Program, layout: Layout, size_inputs: tuple[bool, ...]) -> None:
    lowered = lower(program)
    description = {
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
    description["digests"] = {k: hashlib.sha256(v).hexdigest() for k, v in code.items()}
    code["kernel.json"] = json.dumps(description).encode()
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


def _load(home: Path, program: Program) -> Any:
    description = json.loads((home / "kernel.json").read_text())
    code = {}
    for name, digest in description["digests"].items():
        code[name] = (home / name).read_bytes()
        if hashlib.sha256(code[name]).hexdigest() != digest:
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
    name = f"symgrad_kernel_{home.name}"
    spec = importlib.util.spec_from_file_location(name, home / "kernel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.call = make_intrinsic(body)  # type: ignore[attr-defined]
    # Numba pickles references to the module by name when another function calls the kernel.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.kernel

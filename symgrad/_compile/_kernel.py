"""Kernels for Numba's world: the dispatcher of a compiled program, made when asked for.

This is the only part of symgrad that imports numba.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from .._runtime import MISS, Leaf
from ._code import Code, keep_constants
from ._intrinsic import MISFIT, make_intrinsic
from ._layout import Layout, kernel_file
from ._sealed import SealedCache


def make_kernel(
    code: Code,
    layout: Layout,
    size_inputs: tuple[bool, ...],
    home: Path | None,
    function: Callable[..., Any],
    kinds: Sequence[str],
) -> Any:
    """Return the numba dispatcher of a loaded program; it is compiled on its first call.

    ``home`` is the program's folder in the disk cache, where numba keeps its files too; None
    keeps all in memory. A layout with targets makes a kernel that writes into given arrays.
    Where Numba's compiler is switched off, what it compiles is Python, and the kernel calls the
    program's Python ``function``, whose inputs are of these ``kinds``.
    """
    if numba.config.DISABLE_JIT:
        return _in_memory(code, layout, _plain(code, function, kinds))
    keep_constants(code)
    call = make_intrinsic(code, size_inputs)
    if home is None:
        return _in_memory(code, layout, call)
    stem = kernel_file(layout)
    module = ModuleType(f"symgrad_{stem}_{home.name}")
    module.__file__ = str(home / f"{stem}.py")  # numba keeps its files beside it
    module.call = call  # type: ignore[attr-defined]
    # Numba pickles references to the module by name when another function calls the kernel.
    sys.modules[module.__name__] = module
    exec(compile(layout.source(), module.__file__, "exec"), vars(module))  # noqa: S102
    module.kernel._cache = SealedCache(module.kernel.py_func, home)
    return module.kernel


def _plain(code: Code, function: Callable[..., Any], kinds: Sequence[str]) -> Callable[..., Any]:
    def call(arguments: Any, targets: Any, _: int) -> Any:
        found = function(*map(_given, arguments, code.inputs, kinds), *targets)
        if found is MISS:
            raise ValueError(MISFIT)
        return found

    return call


def _given(value: Any, leaf: Leaf, kind: str) -> Any:
    """Return an argument as the program's Python function takes it."""
    if not leaf.ndim:
        return {"float": float, "int": int}.get(kind, np.dtype(leaf.dtype).type)(value)
    if value.ndim != leaf.ndim or value.dtype != leaf.dtype:
        raise TypeError(f"the symgrad kernel was made for {leaf.ndim}-d arrays of {leaf.dtype}")
    return np.ascontiguousarray(value)


def _in_memory(code: Code, layout: Layout, call: Any) -> Any:
    source = layout.source()
    filename = f"<symgrad kernel {code.name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    scope: dict[str, Any] = {"call": call, "numba": numba, "np": np, "__name__": "symgrad_kernel"}
    exec(compile(source, filename, "exec"), scope)  # noqa: S102  of names made here
    kernel: Callable[..., Any] = scope["kernel"]
    return kernel

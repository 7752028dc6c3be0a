"""Loading a program's code with what it calls: memory, threads, functions for matrix products.

A function for products is loaded once for each element type, and says when BLAS is called.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from ..base.fork_safety import free_in_children, late_module
from ..base.state import within
from ..lowering import products
from ..ops.callback import raising_after
from ..program import Program
from ..runtime import bind_symbol, load_memory, load_pool
from ..runtime.threads import RUN
from .cache import cached_code, loaded, loaded_quickly
from .code import Code, keep_constants, load

#: OpenBLAS's names of the kernels that it has for registers of 64 bytes.
WIDE = frozenset(("SkylakeX", "Cooperlake", "SapphireRapids"))

#: The most multiplications of our own products where BLAS knows the CPU: those of two matrices
#: of so many rows and columns.
SIDE = 256

#: Where BLAS makes less of the CPU than our tiles do.
UNLIMITED = 1 << 62

_limit = ctypes.c_int64()
_lock = free_in_children(threading.Lock())
_engines: dict[str, Any] = {}


def limit() -> int:
    """Return from how many multiplications on BLAS is called.

    OpenBLAS chooses its kernels by a list of CPUs. One that it does not know has the oldest
    kernels for its registers, or for smaller ones.
    """
    core = blas_core()
    narrow = core is not None and core not in WIDE
    return UNLIMITED if narrow and products.tile_bytes() == 64 else SIDE**3


@lru_cache(maxsize=1)
def blas_core() -> str | None:
    """Return the CPU that SciPy's OpenBLAS takes this one for; None for another BLAS."""
    library = ctypes.CDLL(late_module("scipy.linalg.cython_blas").__file__)
    for name in ("scipy_openblas_get_corename", "openblas_get_corename"):
        function = getattr(library, name, None)  # found in the libraries that this one needs
        if function is not None:
            function.restype = ctypes.c_char_p
            return str(function().decode())
    return None


def load_product(symbol: str) -> None:
    """Make the function for matrix products known to LLVM; threads are loaded already."""
    with _lock:
        if symbol in _engines:
            return
        if not _engines:
            _limit.value = limit()
            llvm.add_symbol(products.LIMIT, ctypes.addressof(_limit))
        kind = symbol.rpartition(".")[2]
        bind_symbol(products.gemm_symbol(kind))
        text = products.product_text(kind, products.tile_bytes())
        engine = loaded(text)
        llvm.add_symbol(symbol, engine.get_function_address(symbol))
        _engines[symbol] = engine


def loaded_code(code: Code, threads: int) -> Callable[..., Any]:
    """Load the code, and what it calls; return its Python function."""
    load_memory(loaded_quickly)
    if RUN in code.symbols:
        load_pool(loaded_quickly)
    for symbol in products.SYMBOLS.intersection(code.symbols):
        load_product(symbol)
    function = load(code, threads)
    return _raising(function) if code.calls_back else function


def code_again(program: Program, kinds: Sequence[str], cache: bool, promised: bool) -> Code:
    """Return the code of a kernel that was made in another process, loaded."""
    with within(promised=promised):
        code = cached_code(program, kinds, cache).code
    loaded_code(code, 1)
    keep_constants(code)
    made_of = program, kinds, cache, promised
    return replace(code, origin=lambda: (code_again, made_of))


def _raising(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function``, raising what Python functions that it called have raised."""

    def call(*values: Any) -> Any:
        with raising_after():
            return function(*values)

    return call

"""Machine code of a program: made by LLVM directly, loaded once, called from Python.

Numba would optimise such code twice and need a tenth of a second for its own part; a kernel for
use inside ``@njit`` is made when it is asked for (``_dispatch``).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm
import numpy as np

from ..base.pickling import call_again
from ..base.platform import NEAR
from ..base.signals import holding
from ..base.state import now
from ..lowering import Lowered, products, without_few
from ..ops.callback import CALLBACKS
from ..runtime import (
    MISS,
    Interface,
    bind_array,
    bind_python,
    bind_symbol,
    get_num_threads,
    python_function,
    structures,
    threads_symbol,
    write_entry,
)
from ..runtime.threads import RUN
from .llvm import FAST_CODE_FROM, emit, host_machine, llvm_turn, optimized


@dataclass(frozen=True, kw_only=True)
class Code(Interface):
    """A compiled program, in memory or from the disk.

    Attributes
    ----------
    symbols, constants, exports:
        As in :class:`Lowered`.
    objects:
        Object code of the modules, the one with the entry points first.
    assembly:
        Gives the LLVM assembly to link into callers; None if the code is to be called.
    origin:
        Gives a function and its arguments that make the code again. Where a kernel is pickled,
        they are, not machine code.
    """

    symbols: tuple[str, ...]
    constants: Mapping[str, np.ndarray[Any, Any]]
    exports: Sequence[Sequence[str]]
    objects: Sequence[bytes]
    assembly: Callable[[], str] | None
    origin: Callable[[], tuple[Any, ...]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin is None:
            raise TypeError("machine code is not pickled: pickle the function or its Program")
        return call_again(*self.origin(), {})

    @property
    def calls_back(self) -> bool:
        """Whether the code calls Python functions."""
        return any(symbol.startswith(CALLBACKS) for symbol in self.symbols)


def compile_code(lowered: Lowered, kinds: Sequence[str]) -> Code:
    """Compile a lowered program; ``kinds`` says how Python passes its inputs."""
    staged = now().staged
    before = None if staged is None else staged("LLVM")
    main = without_few(lowered.text)
    if structures.FAULT is None:
        main += f"\n{write_entry(lowered, kinds)}"
    if lowered.straight:
        level = 0 if lowered.steps > FAST_CODE_FROM else 3
        with ThreadPoolExecutor(max_workers=get_num_threads()) as pool:
            rest = pool.map(lambda text: emit(text, level), lowered.straight)
            first = optimized(main)
            objects = [first.content, *rest]
    else:
        first = optimized(main)
        objects = [first.content]
    if staged is not None and before is not None:
        staged(before)
    return Code(
        name=lowered.name, inputs=lowered.inputs, outputs=lowered.outputs, sizes=lowered.sizes,
        symbols=lowered.symbols, constants=lowered.constants, exports=lowered.exports,
        objects=objects,
        assembly=(lambda: lowered.text) if lowered.linked and not first.own else None,
    )  # fmt: skip


#: Constant arrays that loaded code refers to, by symbol; they live as long as the code.
_constants: WeakValueDictionary[str, np.ndarray[Any, Any]] = WeakValueDictionary()

#: Those of code that lives as long as the process.
_lasting: list[Any] = []


def bind_all(code: Code) -> list[Any]:
    """Make the external functions and constants of a program known to LLVM.

    The constants are returned, which must live as long as the code that refers to them.
    """
    for symbol in code.symbols:
        if symbol not in (RUN, *products.SYMBOLS):  # bound by what loads them
            bind_symbol(symbol)
    arrays = []
    for symbol, array in code.constants.items():
        arrays.append(_constants.setdefault(symbol, array))
        bind_array(symbol, arrays[-1].ctypes.data)
    return arrays


def keep_constants(code: Code) -> None:
    """Keep a program's constants for ever: Numba frees no code that it links them into."""
    _lasting.extend(bind_all(code))


#: Engines whose code is called by name from other code, and so lives as long as the process.
_engines: list[Any] = []


class _Engine(llvm.ExecutionEngine):  # type: ignore[misc]  # llvmlite has no types
    """An engine that is freed with signals held, since the garbage collector may free it anywhere.

    llvmlite takes its lock in Python code. If a signal handler raised there, Python would drop the
    error, as it does in finalisers, and the lock would never be released.
    """

    def __del__(self) -> None:
        if sys.is_finalizing():  # no thread will wait for the lock
            super().__del__()
            return
        with holding():
            super().__del__()


@llvm_turn()
def load_object(content: bytes) -> Any:
    """Return an engine that holds the object code; the code lives as long as it."""
    near = True if NEAR else None  # one block of memory for an object
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), host_machine(), use_lmm=near)
    engine.__class__ = _Engine
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    return engine


@llvm_turn()
def load(code: Code, threads: int) -> Callable[..., Any]:
    """Load the code; return its Python function.

    The function takes the inputs as positional arguments and returns the output, or a tuple
    of the outputs, or :data:`MISS`. It uses up to so many ``threads``; 0: as many as set by
    :func:`set_num_threads`.

    Each object gets an engine of its own: with several objects in one, position-independent
    code of the second finds its constants through the first one's offset table. The module
    with the entry points comes first and is loaded last, since it refers to the others.

    Where machine code cannot read Python's objects, the function takes no call.
    """
    if structures.FAULT is None:
        bind_python()
    arrays = bind_all(code)
    for content, symbols in reversed(list(zip(code.objects, code.exports, strict=True))):
        engine = load_object(content)
        if code.assembly is None:
            for symbol in symbols:
                llvm.add_symbol(symbol, engine.get_function_address(symbol))
            _engines.append(engine)
    if code.assembly is None:
        _lasting.extend(arrays)
    if structures.FAULT is not None:
        return _missing
    place = engine.get_global_value_address(threads_symbol(code.name))
    ctypes.c_int64.from_address(place).value = threads
    address = engine.get_function_address(f"{code.name}.python")
    return python_function(address, code.name, engine, arrays)


def _missing(*_: Any) -> Any:
    return MISS

"""The interpreter: straight programs of scalar ops run at once, without compiling them.

The handlers of the opcodes are compiled once for a machine and lie in the disk cache; the way
from a Python call to the bytecode is compiled once for each kind of arguments and results.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from .._forks import free_in_children
from .._lower import (
    Opcode,
    bind_symbol,
    common_opcodes,
    encode,
    handlers_text,
    interpreted,
    write_entry,
    write_interpreted,
)
from .._schedule import Program
from ._cache import OWN, cached_object
from ._code import load_object
from ._memory import load_memory
from ._python import python_function


class Interpreted:
    """An interpreted program.

    Attributes
    ----------
    function:
        The Python function of the inputs, as :func:`symgrad._compile._code.load` returns it.
    steps:
        Number of steps that it runs.
    """

    def __init__(self, words: Any, template: Any, slots: int, steps: int) -> None:
        self.steps = steps
        self._code = words.ctypes.data
        self._context = np.zeros(interpreted.CONTEXT_WORDS, np.int64)
        self._context[interpreted.CODE] = self._code
        self._context[interpreted.BYTES] = 8 * slots
        self._context[interpreted.TEMPLATE] = template.ctypes.data
        self._context[interpreted.FIRST] = 8 * len(template)
        #: What the context points to.
        self.keep = (words, template)
        self.function: Callable[..., Any]

    def bind(self, address: int, name: str, engine: Any) -> None:
        """Make the Python function of the entry point at ``address``."""
        bound = self._context.view()
        # The buffer belongs to the context, and goes when nobody can call any more.
        weakref.finalize(bound, _release, self._context).atexit = False
        self.function = python_function(address, name, bound, self.keep, engine)

    def retire(self) -> None:
        """Let every call miss from now on, so that the caller looks for another function."""
        self._context[interpreted.CODE] = 0

    def revive(self) -> None:
        """Take up work again."""
        self._context[interpreted.CODE] = self._code


def _release(context: Any) -> None:
    free = ctypes.pythonapi.PyMem_RawFree
    free.argtypes = [ctypes.c_void_p]
    free(int(context[interpreted.BUFFER]) or None)


def interpret(program: Program, kinds: Sequence[str], cache: bool) -> Interpreted | None:
    """Return the program interpreted, or None if it is not straight code of scalar ops.

    ``kinds`` says how Python passes the inputs, as in :func:`compile_code`.
    """
    code = encode(program)
    if code is None:
        return None
    words = code.words([_address(o, code.opcodes, cache) for o in code.opcodes])
    steps = sum(len(part.kinds) for part in code.parts)
    made = Interpreted(words, code.template, code.slots, steps)
    lowered = write_interpreted(code)
    text = f"{lowered.text}\n{write_entry(lowered, kinds)}"
    engine = _entry(text, cache)
    made.bind(engine.get_function_address(f"{lowered.name}.python"), lowered.name, engine)
    return made


@lru_cache(maxsize=256)
def _entry(text: str, cache: bool) -> Any:
    _machine(cache)
    # Unoptimised it is there in a third of the time; a call takes a fiftieth of a microsecond more.
    return load_object(cached_object(text, cache, level=0))


# ---------------------------------------------------------------- handlers

_addresses: dict[Opcode, int] = {}
_lock = free_in_children(threading.RLock())

#: Engines with handlers, which any program may refer to.
_engines: list[Any] = []


def _address(opcode: Opcode, together: Sequence[Opcode], cache: bool) -> int:
    """Return the address of a handler; make those of ``together`` with it if it is missing."""
    with _lock:
        _machine(cache)
        if opcode not in _addresses:
            _load([o for o in together if o not in _addresses], cache)
        return _addresses[opcode]


@lru_cache(maxsize=1)
def _machine(cache: bool) -> None:
    """Load what starts and ends a run, and the handlers of the common opcodes."""
    with _lock:
        load_memory()
        engine = _load(common_opcodes(OWN), cache, interpreted.MACHINE)
        for symbol in (interpreted.START, interpreted.FINISH, interpreted.EXECUTE):
            llvm.add_symbol(symbol, engine.get_function_address(symbol))


def _load(opcodes: Sequence[Opcode], cache: bool, text: str = "") -> Any:
    handlers, symbols = handlers_text(opcodes)
    for symbol in symbols:
        bind_symbol(symbol)
    engine = load_object(cached_object(handlers + text, cache))
    _engines.append(engine)
    _addresses.update((o, engine.get_function_address(o.symbol)) for o in opcodes)
    return engine

"""Machine code of long programs: compiled by LLVM directly, loaded once, called by name.

Numba would optimise such code twice and link a copy into every caller. Straight-line code
needs no optimisation passes at all (see ``Lowered.straight``), only the code generator, so
its compile time is linear. Modules compile side by side: LLVM releases Python's lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from .._lower import Lowered

_lock = threading.Lock()
_loaded: set[str] = set()  # programs whose code is in the process


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> Any:
    """Return a new target machine for this CPU; they are not shared between threads."""
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic" if os.name != "nt" else "default",
        codemodel="jitdefault",
        jit=True,
    )


def _emit(text: str, optimize: bool) -> bytes:
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.verify()
    if optimize:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        options.slp_vectorization = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def emit_objects(lowered: Lowered) -> list[bytes]:
    """Return the object code of a lowered program's modules."""
    _initialize()
    jobs = [(lowered.text, True), *((text, False) for text in lowered.straight)]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(lambda job: _emit(*job), jobs))


_engines: list[Any] = []


def load_objects(name: str, objects: Sequence[bytes], exports: Sequence[Sequence[str]]) -> None:
    """Load a program's object code, once, and make its functions known to LLVM by name.

    Each object gets an engine of its own: with several objects in one, position-independent
    code of the second finds its constants through the first one's offset table. The module
    with the entry points comes first in ``objects`` and is loaded last, since it refers to
    the others.
    """
    with _lock:
        if name in _loaded:
            return
        for code, symbols in reversed(list(zip(objects, exports, strict=True))):
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
            engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            engine.finalize_object()
            for symbol in symbols:
                llvm.add_symbol(symbol, engine.get_function_address(symbol))
            _engines.append(engine)
        _loaded.add(name)

"""Calls of compiled code with traced values: which function it was, from the calling frame.

An extension module refuses a traced value in words of its own (``No matching signature found``),
or asks it for an array. The call instruction of the Python code around it tells the function.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from ..base.stand_in_types import LOADS, StandIn, callee_of
from ..op import registry

#: Modules whose functions in C are Python's own, and say well what they refuse.
_BUILTINS = ("builtins", "operator", "_operator", "itertools", "functools", "_functools")


def is_compiled(code: CodeType) -> bool:
    """Tell whether a traceback's entry is made by code that Cython has compiled."""
    return (
        code.co_filename.endswith((".pyx", ".pxd", ".pxi")) or code.co_filename == "<stringsource>"
    )


def compiled_call(frame: FrameType, place: int) -> str | None:
    """Return the compiled function that an instruction has called with a traced value.

    None if the instruction calls no function, or one that is written in Python, or NumPy's, or
    is given no traced value.
    """
    found = callee_of(frame.f_code, place)
    if found is None:
        return None
    steps, first = found
    loaded = steps[first]
    names: list[str] = []
    while loaded.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")) and first > 0:
        names.insert(0, loaded.argval)
        first -= 1
        loaded = steps[first]
    if not loaded.opname.startswith(LOADS):
        return None
    given = [s.argval for s in steps[first + len(names) + 1 :] if s.opname.startswith(LOADS)]
    values = [_value(frame, name) for names in given for name in _each(names)]
    if not any(map(_is_traced, values)):
        return None
    function = _value(frame, loaded.argval)
    for name in names:
        function = getattr(function, name, None)
    if function is None or isinstance(function, (FunctionType, StandIn)):
        return None
    return _title(function, ".".join([loaded.argval, *names]))


def compiled_caller() -> str | None:
    """Return the compiled function of an installed package that asks a traced value for numbers."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        if module != "symgrad" and (title := compiled_call(frame, frame.f_lasti)) is not None:
            package = title.partition(".")[0].lstrip("_")
            return None if package in sys.stdlib_module_names else title
        if module not in _BETWEEN:
            return None
        frame = frame.f_back
    return None


#: Packages whose Python code may lie between a compiled function and what it asks.
_BETWEEN = ("symgrad", "numpy", "scipy")


def _each(names: Any) -> tuple[str, ...]:
    """Return the names that an instruction loads, which are two for some in newer Pythons."""
    return names if isinstance(names, tuple) else (names,)


def _value(frame: FrameType, name: str) -> Any:
    scope: Any = frame.f_globals
    if name in frame.f_locals:
        return frame.f_locals[name]
    return scope[name] if name in scope else None  # noqa: SIM401 - a copy's names are looked up


def _is_traced(value: Any, depth: int = 2) -> bool:
    if isinstance(value, (list, tuple)) and depth:
        return any(_is_traced(x, depth - 1) for x in value)
    return isinstance(type(value), StandIn)


def _title(function: Any, written: str) -> str | None:
    """Return the name of a compiled function; None of Python's own, NumPy's and symgrad's."""
    owner = getattr(function, "__self__", None)
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return None
    module = getattr(function, "__module__", None)
    if not isinstance(module, str):
        if owner is None:  # Fortran's, which have no module
            return written
        module = getattr(owner, "__name__", None) or type(owner).__module__
    if not isinstance(module, str) or module.startswith(("numpy", "symgrad")):
        return None
    if module in _BUILTINS:
        return None
    if isinstance(function, type) and function.__flags__ & (1 << 9) and not _extends(module):
        return None  # a class made in Python, whose own code says what it refuses
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str) or "pybind11" in name:
        name = getattr(function, "__name__", None)
    return f"{module}.{name}" if isinstance(name, str) else written


def _extends(module: str) -> bool:
    """Tell whether a module is an extension module."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return file.endswith((".so", ".pyd"))


def instead_of_compiled(title: str) -> str:
    """Return the replacement for a compiled function that is given traced values."""
    name = title.rpartition(".")[2]
    if title.startswith("scipy."):
        special = getattr(sys.modules.get("scipy.special"), name, None)
        if special is not None and registry.find(special) is not None:
            return f"scipy.special.{name}, which is traced"
    return (
        "its formula in NumPy; or sg.pure_callback around it, which has no derivative, in a "
        "function with a rule of its own (sg.custom_vjp)"
    )

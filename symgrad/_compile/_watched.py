"""Compiled functions that miss where NumPy would have something to say.

NumPy looks at the processor's floating-point flags after each function and warns, or raises, of
an overflow, a division by zero, an invalid operation or an underflow, as ``np.errstate`` says.
A watched function looks at them, too: where one of these is set it returns :data:`MISS`, so that
the caller has NumPy compute the same again, and say what there is to be said.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .._lower import MISS as MISS_SYMBOL
from ._cache import cached_object
from ._code import load_object
from ._python import bind_python, python_function

#: Reading and clearing the flags on x86: the control word's lowest bits, of which denormal
#: operands and rounding are nobody's concern.
_FLAGS = """
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %before = load i32, ptr %slot
  %none = and i32 %before, -64
  store i32 %none, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  %result = call ptr %code(ptr %owner, ptr %args, i64 %nargs)
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %after = load i32, ptr %slot
  %said = and i32 %after, 29
"""

#: Where a tuple's first item is, and a built-in function's definition, ``__self__`` and code.
_ITEM = tuple.__basicsize__
_DEFINITION, _OWNER, _CODE = object.__basicsize__, object.__basicsize__ + 8, 8

_TEXT = """
@MISS = external global i8
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
declare void @symgrad.python.Py_IncRef(ptr)
declare void @symgrad.python.Py_DecRef(ptr)
define ptr @symgrad.watched(ptr %self, ptr %args, i64 %nargs) {
  %a = getelementptr i8, ptr %self, i64 ITEM
  %inner = load ptr, ptr %a
  %b = getelementptr i8, ptr %inner, i64 DEFINITION
  %definition = load ptr, ptr %b
  %c = getelementptr i8, ptr %inner, i64 OWNER
  %owner = load ptr, ptr %c
  %d = getelementptr i8, ptr %definition, i64 CODE
  %code = load ptr, ptr %d
  FLAGS
  %failed = icmp eq ptr %result, null
  %silent = icmp eq i32 %said, 0
  %done = or i1 %failed, %silent
  br i1 %done, label %good, label %bad
good:
  ret ptr %result
bad:
  call void @symgrad.python.Py_DecRef(ptr %result)
  call void @symgrad.python.Py_IncRef(ptr @MISS)
  ret ptr @MISS
}
"""


@lru_cache(maxsize=1)
def _code() -> tuple[Any, int] | None:
    """Return what holds the machine code, and where it starts; None for unknown processors."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    text = _TEXT.replace("FLAGS", _FLAGS)
    for name, value in (("ITEM", _ITEM), ("DEFINITION", _DEFINITION), ("OWNER", _OWNER)):
        text = text.replace(f"i64 {name}", f"i64 {value}")
    text = text.replace("i64 CODE", f"i64 {_CODE}").replace("@MISS", f"@{MISS_SYMBOL}")
    bind_python()
    engine = load_object(cached_object(text, cache=True))
    return engine, engine.get_function_address("symgrad.watched")


def watched(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return a compiled function that misses where NumPy would warn.

    Parameters
    ----------
    function:
        What a :class:`Specialization` has compiled; it must compute in the calling thread.

    Returns
    -------
    callable or None
        None on processors whose flags are not known how to be read.
    """
    found = _code()
    if found is None or type(function) is not type(len):
        return None
    engine, address = found
    return python_function(address, function.__name__, function, engine)


__all__ = ["watched"]

"""NumPy's universal functions, made of Python functions of whole loops.

NumPy calls a loop with pointers, lengths and strides, and perhaps without the interpreter's lock.
``symgrad.universal.loop``, once for all of them, takes the lock, makes arrays of that memory, the
loop's axis first, and calls a Python function with them: inputs, then results to write to. A
compiled function gives the lock back while it works. The arrays are gone when NumPy's call is.

The processor's floating-point flags are put back: vector code computes where no result is wanted
and tests bits instead of raising, so its flags say nothing about the results.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm
import numpy as np
from numpy._core import _multiarray_umath

from ..base.fork_safety import free_in_children
from ._entry import WRITEABLE
from ._memory import load_memory
from ._memory_code import HANDLER, LEAST
from .structures import (
    RANK_AT,
    SHAPE_AT,
    TYPE_AT,
    Universal,
    bind_functions,
    bind_python,
    capsule_pointer,
)

LOOP, CALL = "symgrad.universal.loop", "symgrad.universal.call"

#: NumPy's C function by which universal functions are called.
NUMPYS = "symgrad.numpy.ufunc_call"

#: CPython's functions that they call.
PYTHON = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_Occurred", "PyObject_Vectorcall",
          "PyErr_Fetch", "PyErr_Restore", "PyErr_Clear")  # fmt: skip

#: ``PyUFunc_FromFuncAndDataAndSignatureAndIdentity`` in NumPy's table of C functions
#: (``numpy/__ufunc_api.h``), and what says that there is no identity.
MAKE, NO_IDENTITY = 42, -1

# Of the structure that a loop is given: what to call, how many operands, of each its core axes,
# their sizes' places, its element type. An array has 64 axes at most, a function 64 operands.
_TEXT = f"""
%data = type {{ ptr, i64, ptr, ptr, ptr }}

declare i32 @symgrad.python.PyGILState_Ensure()
declare void @symgrad.python.PyGILState_Release(i32)
declare ptr @symgrad.python.PyErr_Occurred()
declare ptr @symgrad.python.PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare void @symgrad.python.Py_IncRef(ptr)
declare void @symgrad.python.Py_DecRef(ptr)
declare ptr @symgrad.numpy.PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @fegetenv(ptr)
declare i32 @fesetenv(ptr)
@symgrad.python.ndarray = external global i8

define void @{LOOP}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{
entry:
  %arrays = alloca [65 x ptr]
  %shape = alloca [65 x i64]
  %strides = alloca [65 x i64]
  %flags = alloca [256 x i8], align 16
  %known = call i32 @fegetenv(ptr %flags)
  %lock = call i32 @symgrad.python.PyGILState_Ensure()
  %error = call ptr @symgrad.python.PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %begin, label %leave
begin:
  %step = load ptr, ptr %data
  %count.at = getelementptr %data, ptr %data, i32 0, i32 1
  %count = load i64, ptr %count.at
  %ranks.at = getelementptr %data, ptr %data, i32 0, i32 2
  %ranks = load ptr, ptr %ranks.at
  %places.at = getelementptr %data, ptr %data, i32 0, i32 3
  %places = load ptr, ptr %places.at
  %dtypes.at = getelementptr %data, ptr %data, i32 0, i32 4
  %dtypes = load ptr, ptr %dtypes.at
  %length = load i64, ptr %dims
  store i64 %length, ptr %shape
  br label %operand
operand:
  %k = phi i64 [ 0, %begin ], [ %k.next, %made ]
  %seen = phi i64 [ 0, %begin ], [ %core, %made ]
  %stride.at = getelementptr i64, ptr %steps, i64 %k
  %stride = load i64, ptr %stride.at
  store i64 %stride, ptr %strides
  %rank.at = getelementptr i64, ptr %ranks, i64 %k
  %rank = load i64, ptr %rank.at
  br label %axes
axes:
  %j = phi i64 [ 0, %operand ], [ %j.next, %axis ]
  %core = phi i64 [ %seen, %operand ], [ %core.next, %axis ]
  %more = icmp slt i64 %j, %rank
  %j.next = add i64 %j, 1
  br i1 %more, label %axis, label %make
axis:
  %place.at = getelementptr i64, ptr %places, i64 %core
  %place = load i64, ptr %place.at
  %extent.at = getelementptr i64, ptr %dims, i64 %place
  %extent = load i64, ptr %extent.at
  %shape.at = getelementptr i64, ptr %shape, i64 %j.next
  store i64 %extent, ptr %shape.at
  %behind = add i64 %count, %core
  %core.at = getelementptr i64, ptr %steps, i64 %behind
  %core.stride = load i64, ptr %core.at
  %strides.at = getelementptr i64, ptr %strides, i64 %j.next
  store i64 %core.stride, ptr %strides.at
  %core.next = add i64 %core, 1
  br label %axes
make:
  %dtype.at = getelementptr ptr, ptr %dtypes, i64 %k
  %dtype = load ptr, ptr %dtype.at
  call void @symgrad.python.Py_IncRef(ptr %dtype)
  %memory.at = getelementptr ptr, ptr %args, i64 %k
  %memory = load ptr, ptr %memory.at
  %axes.count = trunc i64 %j.next to i32
  %array = call ptr @symgrad.numpy.PyArray_NewFromDescr(
    ptr @symgrad.python.ndarray, ptr %dtype, i32 %axes.count, ptr %shape, ptr %strides,
    ptr %memory, i32 {WRITEABLE}, ptr null)
  %array.at = getelementptr ptr, ptr %arrays, i64 %k
  store ptr %array, ptr %array.at
  %none = icmp eq ptr %array, null
  br i1 %none, label %drop, label %made
made:
  %k.next = add i64 %k, 1
  %last = icmp eq i64 %k.next, %count
  br i1 %last, label %call, label %operand
call:
  %result = call ptr @symgrad.python.PyObject_Vectorcall(
    ptr %step, ptr %arrays, i64 %count, ptr null)
  call void @symgrad.python.Py_DecRef(ptr %result)
  br label %drop
drop:
  %left = phi i64 [ %k, %make ], [ %count, %call ], [ %left.next, %dropped ]
  %any = icmp sgt i64 %left, 0
  br i1 %any, label %dropped, label %leave
dropped:
  %left.next = sub i64 %left, 1
  %old.at = getelementptr ptr, ptr %arrays, i64 %left.next
  %old = load ptr, ptr %old.at
  call void @symgrad.python.Py_DecRef(ptr %old)
  br label %drop
leave:
  call void @symgrad.python.PyGILState_Release(i32 %lock)
  %restored = call i32 @fesetenv(ptr %flags)
  ret void
}}
"""

#: A call of a universal function. Where arrays have many elements, all combinations of them taken
#: together, NumPy takes the memory of results from our handler (NEP 49), which keeps large blocks;
#: to change the handler and back takes a quarter of a microsecond.
_CALL_TEXT = f"""
@{HANDLER} = external global i8
declare ptr @{NUMPYS}(ptr, ptr, i64, ptr)
declare ptr @symgrad.numpy.PyDataMem_SetHandler(ptr)
declare void @symgrad.python.PyErr_Fetch(ptr, ptr, ptr)
declare void @symgrad.python.PyErr_Restore(ptr, ptr, ptr)
declare void @symgrad.python.PyErr_Clear()

define ptr @{CALL}(ptr %self, ptr %args, i64 %count, ptr %names) {{
entry:
  %kind = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %given = and i64 %count, 9223372036854775807 ; without PY_VECTORCALL_ARGUMENTS_OFFSET
  br label %argument
argument:
  %n = phi i64 [ 0, %entry ], [ %n.next, %counted ]
  %seen = phi double [ 1.0, %entry ], [ %all, %counted ]
  %more = icmp ult i64 %n, %given
  br i1 %more, label %look, label %usual
look:
  %n.next = add i64 %n, 1
  %thing.at = getelementptr ptr, ptr %args, i64 %n
  %thing = load ptr, ptr %thing.at
  %type.at = getelementptr i8, ptr %thing, i64 {TYPE_AT}
  %type = load ptr, ptr %type.at
  %array = icmp eq ptr %type, @symgrad.python.ndarray
  br i1 %array, label %sizes, label %counted
sizes:
  %rank.at = getelementptr i8, ptr %thing, i64 {RANK_AT}
  %rank = load i32, ptr %rank.at
  %shape.at = getelementptr i8, ptr %thing, i64 {SHAPE_AT}
  %shape = load ptr, ptr %shape.at
  br label %axis
axis:
  %j = phi i32 [ 0, %sizes ], [ %j.next, %times ]
  %size = phi double [ %seen, %sizes ], [ %product, %times ]
  %left = icmp slt i32 %j, %rank
  br i1 %left, label %times, label %counted
times:
  %extent.at = getelementptr i64, ptr %shape, i32 %j
  %extent = load i64, ptr %extent.at
  %length = sitofp i64 %extent to double
  %product = fmul double %size, %length
  %j.next = add i32 %j, 1
  br label %axis
counted:
  %all = phi double [ %seen, %look ], [ %size, %axis ]
  %many = fcmp oge double %all, {LEAST / 8}
  br i1 %many, label %large, label %argument
large:
  %old = call ptr @symgrad.numpy.PyDataMem_SetHandler(ptr @{HANDLER})
  %none = icmp eq ptr %old, null
  br i1 %none, label %unset, label %ours
unset:
  call void @symgrad.python.PyErr_Clear()
  br label %usual
usual:
  %other = call ptr @{NUMPYS}(ptr %self, ptr %args, i64 %count, ptr %names)
  ret ptr %other
ours:
  %result = call ptr @{NUMPYS}(ptr %self, ptr %args, i64 %count, ptr %names)
  %failed = icmp eq ptr %result, null
  br i1 %failed, label %error, label %back
error:
  call void @symgrad.python.PyErr_Fetch(ptr %kind, ptr %value, ptr %trace)
  br label %back
back:
  %ended = call ptr @symgrad.numpy.PyDataMem_SetHandler(ptr %old)
  call void @symgrad.python.Py_DecRef(ptr %ended)
  call void @symgrad.python.Py_DecRef(ptr %old)
  br i1 %failed, label %raise, label %done
raise:
  %k = load ptr, ptr %kind
  %v = load ptr, ptr %value
  %t = load ptr, ptr %trace
  call void @symgrad.python.PyErr_Restore(ptr %k, ptr %v, ptr %t)
  ret ptr null
done:
  ret ptr %result
}}
"""

_lock = free_in_children(threading.Lock())
_engine: Any = None


class _Data(ctypes.Structure):
    """What a loop is given."""

    _fields_ = (
        ("step", ctypes.py_object),
        ("count", ctypes.c_int64),
        ("ranks", ctypes.POINTER(ctypes.c_int64)),
        ("places", ctypes.POINTER(ctypes.c_int64)),
        ("dtypes", ctypes.POINTER(ctypes.py_object)),
    )


@dataclass(eq=False)
class Owner:
    """What a universal function is made of; it lives as long as the function.

    ``origin`` is whatever its maker wants to know again.
    """

    origin: Any
    kept: list[Any] = field(default_factory=list)


#: The owners of all universal functions that there are, by the function's address.
_owners: WeakValueDictionary[int, Owner] = WeakValueDictionary()


def origin_of(ufunc: Any) -> Any:
    """Return what :func:`universal` was given as ``origin``, or None if it is not of its making."""
    owner = _owners.get(id(ufunc))
    return None if owner is None else owner.origin


def universal(
    steps: Sequence[Callable[..., None]], types: Sequence[str], nin: int, *, name: str, doc: str,
    signature: str | None, origin: Any, load: Callable[[str], Any],
) -> Any:  # fmt: skip
    """Return a universal function.

    Parameters
    ----------
    steps:
        For each loop what computes it: a function of the operands as arrays, the loop's axis
        first, and then their core axes. It must keep none of them.
    types:
        For each loop the element types of the operands, as NumPy's type characters.
    nin:
        How many operands are inputs.
    name, doc:
        Its name and documentation.
    signature:
        The core axes; None: all operands are numbers.
    origin:
        What :func:`origin_of` returns.
    load:
        Gives LLVM's engine of an assembly text, compiled.
    """
    owner, nargs = Owner(origin), len(types[0])
    data = (_Data * len(steps))()
    loop, call = _code(load)
    loops = (ctypes.c_void_p * len(steps))(*[loop] * len(steps))
    places = (ctypes.c_void_p * len(steps))(
        *(ctypes.addressof(data) + k * ctypes.sizeof(_Data) for k in range(len(steps)))
    )
    codes = bytes(np.dtype(char).num for char in "".join(types))
    texts = name.encode(), doc.encode(), codes
    table = ctypes.cast(
        capsule_pointer(_multiarray_umath._UFUNC_API), ctypes.POINTER(ctypes.c_void_p)
    )
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p,
    )(table[MAKE])  # fmt: skip
    core = None if signature is None else signature.encode()
    made = make(loops, places, codes, len(steps), nin, nargs - nin, NO_IDENTITY, texts[0], texts[1],
                0, core, None)  # fmt: skip
    record = Universal.of(made)
    ranks = record.core_num_dims[:nargs] if record.core_enabled else [0] * nargs
    ixs = [1 + k for k in record.core_dim_ixs[: sum(ranks)]] if record.core_enabled else []
    words = (ctypes.c_int64 * nargs)(*ranks), (ctypes.c_int64 * max(len(ixs), 1))(*ixs)
    for item, step, chars in zip(data, steps, types, strict=True):
        dtypes = (ctypes.py_object * nargs)(*map(np.dtype, chars))
        item.step, item.count, item.ranks, item.places, item.dtypes = step, nargs, *words, dtypes
        owner.kept += [step, dtypes]
    owner.kept += [data, loops, places, texts, words]
    # NumPy has a place for what a universal function owns.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    record.owned = id(owner)
    caller = Universal.caller(made)
    if call is not None and caller is not None:
        caller.value = call
    _owners[id(made)] = owner
    return made


def _code(load: Callable[[str], Any]) -> tuple[int, int | None]:
    """Return the addresses of a loop's code, and of what calls with kept memory, if NumPy does."""
    global _engine
    numpys = Universal.caller(np.add)
    with _lock:
        keeps = load_memory(load) and numpys is not None
        if _engine is None:
            bind_python()
            bind_functions(PYTHON)
            if numpys is not None:
                llvm.add_symbol(NUMPYS, numpys.value)
            _engine = load(_TEXT + _CALL_TEXT * keeps)
            # Universal functions may be called after Python's modules are gone.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(_engine))
        call = _engine.get_function_address(CALL) if keeps else None
        return int(_engine.get_function_address(LOOP)), call

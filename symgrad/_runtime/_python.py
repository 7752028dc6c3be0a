"""Python functions made of machine code: names that the code refers to, and the object."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import BuiltinFunctionType
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ._structures import DTYPES, HEADER, METH_FASTCALL, NUMPY_TABLE, MethodDef, numpy_function, word

#: What a compiled function returns for arguments that it is not made for.
MISS = object()

#: Python's objects that the code refers to by name; all of them live for ever.
OBJECTS = {"ndarray": np.ndarray, "float": float, "int": int, "None": None, "miss": MISS,
           "MemoryError": MemoryError, "IndexError": IndexError}  # fmt: skip

FUNCTIONS = (
    "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem", "PyLong_AsLongLong",
    "PyErr_Clear", "PyErr_SetString", "PyEval_SaveThread", "PyEval_RestoreThread",
    "PyObject_Vectorcall",
)  # fmt: skip


def object_symbol(name: str) -> str:
    """Return the symbol of one of :data:`OBJECTS`."""
    return f"symgrad.python.{name}"


def dtype_symbol(dtype: str) -> str:
    """Return the symbol of NumPy's descriptor of a native dtype."""
    return f"symgrad.dtype.{dtype}"


def scalar_symbol(dtype: str) -> str:
    """Return the symbol of NumPy's scalar type of a dtype."""
    return f"symgrad.scalar.{dtype}"


@lru_cache(maxsize=1)
def bind_python() -> None:
    """Enter in LLVM's symbol table what compiled Python functions refer to."""
    for name, place in NUMPY_TABLE.items():
        llvm.add_symbol(f"symgrad.numpy.{name}", numpy_function(place))
    bind_functions(FUNCTIONS)
    # In CPython the identity of an object is its address.
    for name, thing in OBJECTS.items():
        llvm.add_symbol(object_symbol(name), id(thing))
    for name in DTYPES:
        llvm.add_symbol(dtype_symbol(name), id(np.dtype(name)))
        llvm.add_symbol(scalar_symbol(name), id(np.dtype(name).type))


def bind_functions(names: Iterable[str]) -> None:
    """Enter functions of CPython's C interface in LLVM's symbol table."""
    for name in names:
        function = getattr(ctypes.pythonapi, name)
        llvm.add_symbol(f"symgrad.python.{name}", ctypes.cast(function, ctypes.c_void_p).value)


def python_function(address: int, name: str, *keep: Any) -> Callable[..., Any]:
    """Return the Python function at ``address``, which is of CPython's kind METH_FASTCALL.

    Parameters
    ----------
    address:
        Where the code starts.
    name:
        The function's ``__name__``.
    keep:
        What must live as long as the function: items of the tuple that is its ``__self__``.
    """
    definition = MethodDef(name.encode(), address, METH_FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(MethodDef), ctypes.py_object, ctypes.py_object]
    owner = (*keep, definition)
    made: Callable[..., Any] = make(ctypes.byref(definition), owner, None)
    return made


def fast_code(function: Callable[..., Any]) -> tuple[int, int] | None:
    """Return the code of a function of the kind METH_FASTCALL, and its first argument.

    None for one of another kind.
    """
    if type(function) is not BuiltinFunctionType:
        return None
    definition = MethodDef.from_address(word(id(function) + HEADER))
    if definition.flags != METH_FASTCALL:
        return None
    return definition.function, word(id(function) + HEADER + 8)

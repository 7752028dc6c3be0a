"""Python functions made of machine code: names that the code refers to, and the object.

The code calls CPython's and NumPy's C functions by address. NumPy's come from the table that
NumPy exports to extension modules; its order is part of NumPy's binary interface.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy._core import _multiarray_umath

from .._lower import MISS as MISS_SYMBOL
from .._lower import OBJECTS, capsule_pointer, dtype_symbol, object_symbol, scalar_symbol

#: What a compiled function returns for arguments that it is not made for.
MISS = object()

#: Places in NumPy's table of C functions (``numpy/__multiarray_api.h``).
_NUMPY_TABLE = {"PyArray_Scalar": 60, "PyArray_NewFromDescr": 94, "PyArray_Empty": 184}

_PYTHON_FUNCTIONS = (
    "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem", "PyLong_AsLongLong",
    "PyErr_Clear", "PyErr_SetString", "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip

_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float32", "float64")  # fmt: skip


class _MethodDef(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


METH_FASTCALL = 0x0080


@lru_cache(maxsize=1)
def bind_python() -> None:
    """Enter in LLVM's symbol table what compiled Python functions refer to."""
    table = ctypes.cast(
        capsule_pointer(_multiarray_umath._ARRAY_API), ctypes.POINTER(ctypes.c_void_p)
    )
    for name, place in _NUMPY_TABLE.items():
        llvm.add_symbol(f"symgrad.numpy.{name}", table[place])
    bind_functions(_PYTHON_FUNCTIONS)
    # In CPython the identity of an object is its address; all of these live for ever.
    llvm.add_symbol(MISS_SYMBOL, id(MISS))
    for name, thing in OBJECTS.items():
        llvm.add_symbol(object_symbol(name), id(thing))
    for name in _DTYPES:
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
    definition = _MethodDef(name.encode(), address, METH_FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object]
    owner = (*keep, definition)
    made: Callable[..., Any] = make(ctypes.byref(definition), owner, None)
    return made

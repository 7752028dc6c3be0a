"""The structures of CPython and NumPy that machine code reads and writes, and whether they are so.

A number's value and an array's fields come right after the object header; an array's are in the
order of ``PyArrayObject_fields`` in NumPy's ``ndarraytypes.h``. What symgrad takes for granted of
them is tested once, when this module is loaded: :data:`FAULT` says what is otherwise. At the end
are Python functions made of machine code: names that the code refers to, and the object.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import BuiltinFunctionType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy._core import _multiarray_umath

from ..base.platform import has

#: Size of CPython's object header, whose last word is the type; that of a build with lists of
#: all objects is another.
HEADER = 16
TYPE_AT = HEADER - 8

#: Where the value of a float, or of one of NumPy's numbers, is.
VALUE_AT = HEADER

#: Where the fields of an array are.
DATA_AT, RANK_AT, SHAPE_AT, STRIDES_AT = HEADER, HEADER + 8, HEADER + 16, HEADER + 24
DTYPE_AT, FLAGS_AT, HANDLER_AT = HEADER + 40, HEADER + 48, HEADER + 72
#: The size of an array that has a memory handler there.
ARRAY_BYTES = HEADER + 80

#: Where the items of a tuple are.
TUPLE_AT = tuple.__basicsize__  # the header, the length, and from 3.14 on the hash

#: Element types of programs' inputs and outputs.
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64")  # fmt: skip

#: The version of NumPy's binary interface, and places in its table of C functions
#: (``numpy/__multiarray_api.h``), the first of which tells the version.
NUMPY_INTERFACE = 0x02000000
NUMPY_TABLE = {"PyArray_Scalar": 60, "PyArray_NewFromDescr": 94, "PyArray_Empty": 184,
               "PyDataMem_SetHandler": 304}  # fmt: skip

#: Where a type has its ``tp_vectorcall_offset``: where its objects have the C function by which
#: they are called.
CALLER_AT = HEADER + 40


def word(at: int) -> int:
    """Return a word of memory."""
    found: int = ctypes.c_int64.from_address(at).value
    return found


class MethodDef(ctypes.Structure):
    """``PyMethodDef``, which is part of CPython's stable interface."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


#: The flag of functions of ``(self, args, nargs)``, in the stable interface, too.
METH_FASTCALL = 0x0080


class MemoryHandler(ctypes.Structure):
    """NumPy's ``PyDataMem_Handler``, version 1."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


class Universal(ctypes.Structure):
    """The start of NumPy's ``PyUFuncObject``, which is part of its binary interface."""

    _fields_ = (
        ("count", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("loops", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("pointer", ctypes.c_void_p),
        ("owned", ctypes.c_void_p),
        ("user_loops", ctypes.c_void_p),
        ("core_enabled", ctypes.c_int),
        ("core_num_dim_ix", ctypes.c_int),
        ("core_num_dims", ctypes.POINTER(ctypes.c_int)),
        ("core_dim_ixs", ctypes.POINTER(ctypes.c_int)),
    )

    @classmethod
    def of(cls, ufunc: Any) -> Universal:
        """Return the structure of a universal function.

        Raises
        ------
        RuntimeError
            If it is none: NumPy's own numbers of operands are others.
        """
        record = cls.from_address(id(ufunc))
        if (record.nin, record.nout, record.nargs) != (ufunc.nin, ufunc.nout, ufunc.nargs):
            raise RuntimeError('NumPy\'s universal functions are not known; use backend="numpy"')
        return record

    @staticmethod
    def caller(ufunc: Any) -> ctypes.c_void_p | None:
        """Return the place of the C function that calls a universal function, if it has one."""
        at = word(id(type(ufunc)) + CALLER_AT)
        known = 0 < at <= type(ufunc).__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
        return ctypes.c_void_p.from_address(id(ufunc) + at) if known else None


def capsule_name(capsule: Any) -> bytes:
    """Return the name of a ``PyCapsule``."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    found: bytes = name(capsule)
    return found


def capsule_pointer(capsule: Any) -> int:
    """Return the address in a ``PyCapsule``, in which C libraries hand functions around."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer(capsule, capsule_name(capsule)))


def numpy_function(place: int) -> int:
    """Return the address of one of NumPy's C functions, which it exports as a table."""
    table = capsule_pointer(_multiarray_umath._ARRAY_API)
    return int(ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[place])


# ---------------------------------------------------------------- the test


def _word(thing: Any, at: int, kind: Any = ctypes.c_void_p) -> Any:
    """Return what lies in an object; its identity is its address in CPython alone."""
    return kind.from_address(id(thing) + at).value


def _platform() -> bool:
    return (
        has("structures")
        and sys.implementation.name == "cpython"
        and sys.byteorder == "little"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and object.__basicsize__ == HEADER
    )


def _floats() -> bool:
    x = float("1.25")
    return bool(_word(x, TYPE_AT) == id(float) and _word(x, VALUE_AT, ctypes.c_double) == x)


def _tuples() -> bool:
    pair = (float("1.25"), float("2.5"))
    return [_word(pair, TUPLE_AT), _word(pair, TUPLE_AT + 8)] == list(map(id, pair))


def _numbers() -> bool:
    numbers = [np.dtype(name).type(1) for name in DTYPES]
    return all(
        _word(x, TYPE_AT) == id(x.dtype.type)
        and ctypes.string_at(id(x) + VALUE_AT, x.dtype.itemsize) == x.tobytes()
        for x in numbers
    )


def _arrays() -> bool:
    rows = np.zeros((2, 3), np.float32)
    return all(map(_array, (rows, rows.T, np.zeros((4, 1, 0), np.int64)[::2], np.array(True))))


def _array(a: Any) -> bool:
    shape, strides = _word(a, SHAPE_AT), _word(a, STRIDES_AT)
    if a.ndim and not (shape and strides == shape + 8 * a.ndim):  # NumPy has them in one block
        return False
    words = ctypes.c_ssize_t * a.ndim
    return bool(
        _word(a, TYPE_AT) == id(np.ndarray)
        and _word(a, DATA_AT) == a.__array_interface__["data"][0]
        and _word(a, RANK_AT, ctypes.c_int) == a.ndim
        and (not a.ndim or tuple(words.from_address(shape)) == a.shape)
        and (not a.ndim or tuple(words.from_address(strides)) == a.strides)
        and _word(a, DTYPE_AT) == id(np.dtype(a.dtype.char))
        and _word(a, FLAGS_AT, ctypes.c_int) == a.flags.num
    )


def _functions() -> bool:
    if ctypes.CFUNCTYPE(ctypes.c_uint)(numpy_function(0))() != NUMPY_INTERFACE:
        return False
    dtype, pointer = np.dtype(np.int16), ctypes.POINTER(ctypes.c_ssize_t)
    object_, scalar = ctypes.py_object, numpy_function(NUMPY_TABLE["PyArray_Scalar"])
    make = ctypes.PYFUNCTYPE(object_, ctypes.c_char_p, object_, ctypes.c_void_p)(scalar)
    number = make(b"\x02\x01", dtype, None)
    empty = numpy_function(NUMPY_TABLE["PyArray_Empty"])
    kind = ctypes.PYFUNCTYPE(object_, ctypes.c_int, pointer, object_, ctypes.c_int)
    ctypes.pythonapi.Py_IncRef(object_(dtype))  # the call takes it
    array = kind(empty)(2, (ctypes.c_ssize_t * 2)(3, 1), dtype, 0)
    return (
        type(number) is np.int16 and number == 0x0102
        and array.shape == (3, 1) and array.dtype is dtype and array.flags.owndata
    )  # fmt: skip


#: What is taken for granted, each after what it needs.
TESTS: dict[str, Callable[[], bool]] = {
    "a build of CPython that is known": _platform,
    "the layout of floats": _floats,
    "the layout of tuples": _tuples,
    "the layout of NumPy's numbers": _numbers,
    "the layout of NumPy's arrays": _arrays,
    "NumPy's C functions": _functions,
}


def fault() -> str | None:
    """Return the first of :data:`TESTS` that fails, or None: machine code may read objects."""
    return next((what for what, holds in TESTS.items() if not holds()), None)


#: What is not as machine code takes it to be, or None. Then no machine code touches Python's
#: objects: calls go through Numba's dispatcher, which has Numba's own C code for that.
FAULT: str | None = fault()


#: What a compiled function returns for arguments that it is not made for.
MISS = object()

#: Python's objects that the code refers to by name; all of them live for ever.
OBJECTS = {"ndarray": np.ndarray, "float": float, "int": int, "None": None, "miss": MISS,
           "MemoryError": MemoryError, "IndexError": IndexError}  # fmt: skip

FUNCTIONS = (
    "Py_IncRef", "Py_DecRef", "PyTuple_New", "PyTuple_SetItem", "PyLong_AsLongLong",
    "PyErr_Clear", "PyErr_Occurred", "PyErr_SetString", "PyEval_SaveThread",
    "PyEval_RestoreThread",
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

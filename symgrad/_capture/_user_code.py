"""What is the user's own: functions and classes, and what objects consist of."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import hashlib
import inspect
import marshal
import operator
import pickle
import sys
import threading
from abc import ABCMeta
from argparse import Namespace
from array import array
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from types import (
    BuiltinFunctionType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from .._core.base.class_modules import module_of
from .._core.base.signals import foreseen
from .._core.runtime.universal import origin_of
from .._core.trace import is_table, refuse_depth
from ._ownership import FIXED, NONE, installed, of_library, of_packages
from ._versions import version_of

#: Names in code that may read any attribute of an object.
ANY = frozenset(
    ("__dict__", "vars", "getattr", "asdict", "astuple", "fields", "replace", "attrgetter",
     "copy", "deepcopy", "__getattr__", "__getattribute__")
)  # fmt: skip


#: The functions of a property.
ACCESSORS = ("fget", "fset", "fdel")


# ---------------------------------------------------------------- whose it is

#: The flag of classes that were made by a class statement, or at run time in C.
_IN_PYTHON = 1 << 9


def package_of(root: Any) -> str | None:
    """Return the installed package of a function that is to be traced: it counts as the user's.

    None for NumPy's, SciPy's and symgrad's own, and for Python's.
    """
    while transformed(root):
        root = recipe_of(root)[1][0]
    root = root.func if isinstance(root, functools.partial) else root
    function = getattr(root, "__func__", root)
    if type(function) is not FunctionType or not installed(function.__code__.co_filename):
        return None
    name: str = function.__globals__.get("__name__", "").partition(".")[0]
    return None if name in FIXED or name in sys.stdlib_module_names else name


def users_class(kind: type, packages: frozenset[str] = NONE) -> bool:
    """Tell whether a class is the user's: written in Python, and not installed."""
    made = kind.__flags__ & _IN_PYTHON and not module_of(kind).startswith("_cython_")
    return bool(made) and not of_library(kind.__module__, packages)


# ---------------------------------------------------------------- objects


def transformed(value: Any) -> bool:
    """Tell whether a function is one that symgrad has made of another."""
    # Objects of others are not asked: they may answer to any name, or have copied attributes.
    if type(value) is np.ufunc:
        return origin_of(value) is not None
    return module_of(type(value)).startswith("symgrad.") and hasattr(value, "_recipe")


def recipe_of(value: Any) -> tuple[Any, ...]:
    """Return what makes a transformed function: a function, its arguments, those by name.

    The first of the arguments is what it was made of.
    """
    found: tuple[Any, ...]
    found = origin_of(value).made if type(value) is np.ufunc else value._recipe
    return found


def python_of(value: Any, packages: frozenset[str] = NONE) -> FunctionType | None:
    """Return the Python function in one of Numba's or of ``np.vectorize``, that is the user's."""
    if type(value) is np.vectorize:
        function = value.pyfunc
    elif module_of(type(value)).startswith("numba."):
        # A ufunc of Numba's has a dispatcher in it.
        function = getattr(getattr(value, "_dispatcher", value), "py_func", None)
    else:
        return None
    if type(function) is not FunctionType:
        return None
    fixed = installed(function.__code__.co_filename)
    return None if fixed and not of_packages(function.__module__, packages) else function


#: How classes in C say where an object's parts lie; as slots they read the addresses there.
_OF_LAYOUT = frozenset(("__dictoffset__", "__vectorcalloffset__", "__weaklistoffset__"))


def has_dictionary(value: Any) -> bool:
    """Tell whether an object has a dictionary of attributes, without asking for it."""
    return bool(type(value).__dictoffset__) or isinstance(value, threading.local)


def slots_of(kind: type) -> Iterator[str]:
    """Yield the names of a class's slots."""
    for base in kind.__mro__:
        if base.__flags__ & _IN_PYTHON:
            found = (k for k, x in vars(base).items() if isinstance(x, MemberDescriptorType))
            yield from (k for k in found if k not in _OF_LAYOUT)


def attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield an object's own attributes: those in its dictionary, and in slots."""
    if has_dictionary(value):  # not that of another: list[int] answers with the list's
        yield from value.__dict__.items()
    for key in slots_of(type(value)):
        with contextlib.suppress(AttributeError):  # not set
            yield key, object.__getattribute__(value, key)


def named_attributes(value: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield an object's own attributes of some names.

    Without asking for its dictionary where that can be helped: an object whose dictionary has
    been asked for is slower from then on (until Python 3.13).
    """
    known = {k: x for base in reversed(type(value).__mro__) for k, x in vars(base).items()}
    for key in sorted(names):
        there = known.get(key, value)
        if there is value or isinstance(there, (FunctionType, MemberDescriptorType)):
            direct = True
        else:
            direct = not hasattr(type(there), "__get__")
        try:
            x = object.__getattribute__(value, key) if direct else vars(value)[key]
        except foreseen(AttributeError, KeyError, TypeError):  # there is none, or no dictionary
            continue
        if x is there:  # a default of the class, unless the object has the same
            if has_dictionary(value) and key in value.__dict__:
                yield key, x
        elif getattr(x, "__func__", x) is not there:
            yield key, x


def set_attributes(value: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Change an object's own attributes from ``before`` to ``after``, whatever its class says."""
    own = getattr(value, "__dict__", None)
    for key in before.keys() - after.keys():
        if own is not None and key in own:
            del own[key]
        else:
            object.__delattr__(value, key)
    for key, x in after.items():
        if key in before and before[key] is x:
            continue
        if own is None or isinstance(getattr(type(value), key, None), MemberDescriptorType):
            # Members in C may be made anew at each look, and be read-only: a partial's are.
            with contextlib.suppress(AttributeError):
                object.__setattr__(value, key, x)
        else:
            own[key] = x


def copied_simply(kind: type, packages: frozenset[str] = NONE) -> bool:
    """Tell whether objects of a class are no more than their attributes."""
    return getattr(kind, "__new__", None) is object.__new__ and all(
        base is object
        or users_class(base, packages)
        or base.__module__ in ("abc", "typing", "types")
        for base in kind.__mro__
    )


#: What a metaclass may have that does all it does when a class is made.
_MAKING = frozenset(
    (
        "__new__",
        "__init__",
        "__prepare__",
        "__module__",
        "__doc__",
        "__qualname__",
        "__annotations__",
    )
)


def _is_quiet(meta: type) -> bool:
    """Tell whether classes of a metaclass, once made, are as all classes are."""
    return all(
        base in (object, type, ABCMeta) or vars(base).keys() <= _MAKING for base in meta.__mro__
    )


def announced(kind: type) -> bool:
    """Tell whether a base of a class was told of it when it was made."""
    return any(
        "__init_subclass__" in vars(base) and base.__module__ not in ("builtins", "typing")
        for base in kind.__mro__[1:]
    )


def copied_class(kind: type, packages: frozenset[str] = NONE) -> bool:
    """Tell whether a class can be made a second time, for the same objects, unnoticed."""
    own = [base for base in kind.__mro__ if users_class(base, packages)]
    slotted = any("__slots__" in vars(base) for base in own)
    return (
        getattr(kind, "__new__", None) is object.__new__
        and users_class(kind, packages)
        and _is_quiet(type(kind))
        # Else its objects lie otherwise in memory than those of the second one.
        and not (slotted and (len(own) > 1 or announced(kind)))
    )


#: What lies in memory as C has it, numbers that Python makes at each look.
IN_MEMORY = (bytearray, array, memoryview, ctypes.c_int.__mro__[-2])


def memory_of(value: Any) -> bytes:
    """Return the bytes of one of ``IN_MEMORY``."""
    return memoryview(value).tobytes()


def set_memory(value: Any, data: bytes) -> None:
    """Put other bytes into one of ``IN_MEMORY``."""
    if isinstance(value, bytearray):
        value[:] = data
    elif isinstance(value, array):
        del value[:]
        value.frombytes(data)
    elif isinstance(value, memoryview):
        view = np.asarray(value)
        np.copyto(view, np.frombuffer(data, view.dtype).reshape(view.shape))
    else:
        ctypes.memmove(ctypes.addressof(value), data, len(data))


def takes_nothing(function: Any) -> bool:
    """Tell whether a function of Python's is called without arguments alone."""
    code = getattr(function, "__code__", None)
    takes = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    return code is not None and not (
        code.co_argcount or code.co_kwonlyargcount or code.co_flags & takes
    )


def remembers(function: Any) -> int:
    """Return how many results a function with ``functools.lru_cache`` has kept."""
    kept: int = function.cache_info().currsize
    return kept


def table_form(value: Any) -> bytes:
    """Return what a table is compared by: a fingerprint of what pickle finds in it."""
    return hashlib.blake2b(pickle.dumps(value, protocol=5), digest_size=16).digest()


def packed_form(value: Any) -> bytes | None:
    """Return a nested container of plain values as bytes, which differ if any value does.

    Functions are numbers in them, for as long as they live.
    """
    try:
        return marshal.dumps(value, 2)
    except ValueError:  # there are other objects in it
        pass
    try:
        return marshal.dumps(_numbered(value, 0), 2)
    except ValueError:
        return None


def _numbered(value: Any, depth: int) -> Any:
    """Return a nested container with numbers for functions."""
    kind = type(value)
    if depth > 8:
        raise ValueError
    if kind is list or kind is tuple:
        return kind(_numbered(x, depth + 1) for x in value)
    if kind is dict:
        return {k: _numbered(x, depth + 1) for k, x in value.items()}
    if kind in _FUNCTIONS:
        return ("\0", id(value))
    return value


_FUNCTIONS = (np.ufunc, BuiltinFunctionType, FunctionType)


def functions_in(value: Any) -> Iterator[Any]:
    """Return the functions in a nested container that has a packed form."""
    if type(value) in _FUNCTIONS:
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for x in value.values() if isinstance(value, dict) else value:
            yield from functions_in(x)


def is_read(value: Any) -> bool:
    """Tell whether an argument is an object that a function may read things from."""
    kind = type(value)
    if kind in (FunctionType, MethodType, functools.partial) or transformed(value):
        return True
    if python_of(value) is not None:
        return True
    if kind is ModuleType or is_table(value):
        return True
    if module_of(kind).startswith("scipy."):  # a distribution, a spline
        return version_of(value) is not value
    return kind in (SimpleNamespace, Namespace) or (
        users_class(kind) and not isinstance(value, Enum)
    )


def changed(value: Any, change: Callable[[Any], Any], depth: int = 0) -> Any:
    """Return a nested value with its leaves and its dataclasses changed; so many are around it."""
    kind = type(value)
    refuse_depth(depth, kind)
    depth += 1
    if kind in (tuple, list):
        parts = [changed(x, change, depth) for x in value]
        return value if all(map(operator.is_, parts, value)) else kind(parts)
    if kind is dict:
        named = {k: changed(x, change, depth) for k, x in value.items()}
        return value if all(map(operator.is_, named.values(), value.values())) else named
    new = change(value)
    if new is value and dataclasses.is_dataclass(kind):
        names = [f.name for f in dataclasses.fields(value)]
        before = [getattr(value, name) for name in names]
        after, twin = [changed(x, change, depth) for x in before], change(kind)
        if twin is not kind or not all(map(operator.is_, before, after)):
            new = object.__new__(twin)
            for name, x in zip(names, after, strict=True):
                object.__setattr__(new, name, x)
    return new

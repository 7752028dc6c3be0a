"""What a stand-in says that it is: to others the class of what it stands for, to symgrad its own.

``isinstance(x, float)``, ``np.isscalar(x)`` and ``numbers.Number`` ask an object for its
``__class__`` where its type does not answer, so code that tells numbers from arrays takes the
branch that it would take with them. ``type(x)`` asks nobody: code that says it is traced with
a version of ``type`` that does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from .errors import TraceError


class _Answer(property):
    """The ``__class__`` of a stand-in."""

    kind: Callable[[Any], type]


def stands_for(kind: Callable[[Any], type]) -> Any:
    """Return what a stand-in class has as ``__class__``: ``kind(x)`` for whoever else asks."""

    def answer(self: Any) -> type:
        frame = sys._getframe(1)
        asks = _module(frame)
        # A sparse matrix hands arrays to C, and leaves what it does not know to try for itself.
        if asks.startswith(("symgrad.", "scipy.sparse.")):
            return type(self)
        if asks == "functools" and _module(frame.f_back).startswith("numba."):
            raise TraceError(_of_numba(frame))
        return kind(self)

    made = _Answer(answer)
    made.kind = kind
    return made


#: What of Numba's is not followed by itself: its module, what it is, what to write.
_NUMBA = {
    "numba.experimental.jitclass": (
        "a method of a class made by Numba's @jitclass",
        "the class without @jitclass, whose methods are compiled with the rest",
    ),
    "numba.stencils": ("a Numba stencil", "slices, (a[:-2] + a[2:])/2"),
    "numba.": (
        "a Numba function",
        "function.py_func(x), the Python function in it, which is compiled with the rest",
    ),
}


def _of_numba(frame: FrameType | None) -> str:
    """Say what of Numba's has asked for the class of a traced value, and what to write instead."""
    modules = []
    while frame is not None:
        modules.append(_module(frame))
        frame = frame.f_back
    what, instead = next(x for key, x in _NUMBA.items() if any(m.startswith(key) for m in modules))
    return (
        f"{what} was called on a traced value, and its machine code takes numbers. Write "
        f"instead: {instead}"
    )


def class_of(value: Any) -> type:
    """Return the type of a value, of a stand-in that of what it stands for."""
    answer = vars(type(value)).get("__class__")
    return answer.kind(value) if isinstance(answer, _Answer) else type(value)


#: The names of attributes that some value has for which there is a stand-in.
_ATTRIBUTES = frozenset().union(
    *map(dir, (np.ndarray, np.float64, np.int64, np.complex128, np.bool_, float, int, complex))
)


def lacks(value: Any, name: str) -> bool:
    """Tell whether a stand-in is asked for an attribute that what it stands for has.

    By its own ``__getattr__``. NumPy's code in C asks for the protocols of arrays one by one.
    """
    if name not in _ATTRIBUTES or not _has(class_of(value), name):
        return False
    code = sys._getframe(2).f_code
    return not name.startswith("__array") or name in code.co_names or name in code.co_consts


#: What types are called in code that is traced, where that is another: symgrad.numpy.ndarray.
VERSIONS: dict[type, type] = {}


class _Call(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return type(*args, **kwargs)
        found = class_of(*args)
        return VERSIONS.get(found, found)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, type)


class Type(type, metaclass=_Call):
    """Python's ``type``, which sees through stand-ins."""


def has_attribute(value: Any, name: str) -> bool:
    """Python's ``hasattr``, which sees through stand-ins."""
    kind = class_of(value)
    return hasattr(value, name) if kind is type(value) else _has(kind, name)


def _has(kind: type, name: str) -> bool:
    """Tell whether the objects of a class have an attribute."""
    return any(name in vars(base) for base in kind.__mro__)


#: Names of Python's own by which code tells a value from its stand-in, with what sees through it.
TELLING: dict[str, Any] = {"type": Type, "hasattr": has_attribute}


def _module(frame: FrameType | None) -> str:
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


def array_class(value: Any) -> type:
    """Return the class that a result of NumPy's has: a number, or an array with axes."""
    return np.ndarray if value.ndim or value.boxed else type(value.dtype.type(0))

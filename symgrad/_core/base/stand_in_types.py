"""What a stand-in says that it is: to others the class of what it stands for, to symgrad its own.

``isinstance(x, float)``, ``np.isscalar(x)`` and ``numbers.Number`` ask an object for its
``__class__`` where its type does not answer, so code that tells numbers from arrays takes the
branch that it would take with them. ``type(x)`` asks nobody: code that says it is traced with
a version of ``type`` that does.

Attributes tell numbers from arrays as well (``hasattr(x, "shape")``). A stand-in has methods that
Python calls itself (``len(x)``, ``np.asarray(x)``), and attributes that symgrad reads, which its
value may not have; others see those that the value has.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FrameType
from typing import Any

import numpy as np

from ...errors import TraceError

#: Modules that see a stand-in as it is. A sparse matrix hands arrays to C, and leaves what it does
#: not know to try for itself; Numba's universal functions leave it to ``__array_ufunc__``.
_SEEING = ("symgrad.", "scipy.sparse.", "numba.np.ufunc.")

#: Modules whose questions about a class are questions about its objects: Python's abstract ones.
_ABSTRACT = ("collections.abc", "_collections_abc", "typing", "typing_extensions")


class StandIn(type):
    """The type of stand-ins' classes, which tell abstract classes nothing.

    ``isinstance(x, Sized)`` asks ``__class__`` and then the type for ``__len__``; here the first
    answer is the only one. A protocol's ``isinstance`` passes over classes whose type has a
    ``__dict__`` of its own kind (:func:`inspect.getattr_static`).
    """

    @property
    def __mro__(cls) -> tuple[type, ...]:
        if _module(sys._getframe(1)) in _ABSTRACT:
            return ()
        found: tuple[type, ...] = _MRO.__get__(cls)
        return found

    @property  # type: ignore[misc]
    def __dict__(cls) -> Any:  # type: ignore[override]
        return _DICT.__get__(cls)


_MRO, _DICT = type.__dict__["__mro__"], type.__dict__["__dict__"]


class _Answer(property):
    """The ``__class__`` of a stand-in."""

    kind: Callable[[Any], type]


def stands_for(kind: Callable[[Any], type]) -> Any:
    """Return what a stand-in class has as ``__class__``: ``kind(x)`` for whoever else asks."""

    def answer(self: Any) -> type:
        frame = sys._getframe(1)
        asks = str(frame.f_globals.get("__name__", ""))  # _module: this is asked for most often
        if asks.startswith(_SEEING):
            return type(self)
        if asks == "json.encoder":  # to say in C's name that it knows no such type
            raise TraceError(
                "a number for text (json) was asked of a traced value, which has none. Write "
                "instead: the text of the result, where the compiled function is called"
            )
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


class _Call(type):
    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return type(*args, **kwargs)
        return class_of(*args)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, type)


class Type(type, metaclass=_Call):
    """Python's ``type``, which sees through stand-ins."""


def has_attribute(value: Any, name: str) -> bool:
    """Python's ``hasattr``, which sees through stand-ins."""
    kind = class_of(value)
    if kind is type(value):
        return hasattr(value, name)
    if kind.__module__ in _PLAIN:  # numbers and arrays have what their classes have
        return name in names_of(kind)
    return hasattr(kind, name) and hasattr(value, name)


#: Where the classes of numbers and arrays are.
_PLAIN = ("builtins", "numpy")


#: Names of Python's own by which code tells a value from its stand-in, with what sees through it.
TELLING: dict[str, Any] = {"type": Type, "hasattr": has_attribute}


def _module(frame: FrameType | None) -> str:
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


# ---------------------------------------------------------------- attributes


class AbsentError(AttributeError, TypeError):
    """An attribute that the value has not that a stand-in stands for.

    Python raises a TypeError where it asks for a method itself (``len(x)``).
    """


#: Names that NumPy 2.0 and 2.1 list, and say that they were removed where they are asked for.
_REMOVED = frozenset(
    name for name in ("itemset", "newbyteorder", "ptp") if not hasattr(np.empty(0), name)
)


@lru_cache(maxsize=64)
def names_of(kind: type) -> frozenset[str]:
    """Return the attributes that objects of a class have."""
    found = frozenset(dir(kind))
    return found - _REMOVED if kind.__module__ == "numpy" else found


#: How instructions ask for attributes: by the code, which is kept, and the place in it.
_found: dict[tuple[int, int], tuple[CodeType, str]] = {}


def _asking(code: CodeType, place: int) -> str:
    """Return how an instruction asks for an attribute.

    That is "name" for ``x.name``; "hasattr" or "getattr" for a call of these; "" for all that
    only Python and NumPy do themselves, such as ``x[0]``, ``len(x)`` and ``np.asarray(x)``.
    """
    key = id(code), place
    if key not in _found:
        _found[key] = code, _looked_up(code, place)
    return _found[key][1]


def _looked_up(code: CodeType, place: int) -> str:
    step = _steps_to(code, place)[-1]
    if step.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
        return "name"
    found = callee_of(code, place)
    if found is None:
        return ""
    loaded = found[0][found[1]]
    asks = loaded.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME"))
    return loaded.argval if asks and loaded.argval in ("hasattr", "getattr") else ""


#: What begins the names of instructions that call, and that put a variable on the stack.
CALLS = ("CALL", "PRECALL")
LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")
_IDLE = ("CACHE", "PRECALL", "KW_NAMES", "PUSH_NULL", "NOP", "EXTENDED_ARG")


def _steps_to(code: CodeType, place: int) -> list[dis.Instruction]:
    """Return the instructions of code up to one."""
    steps = []
    for step in dis.get_instructions(code):
        steps.append(step)
        if step.offset >= place:
            break
    return steps


def callee_of(code: CodeType, place: int) -> tuple[list[dis.Instruction], int] | None:
    """Return the instructions before a call, and which of them puts what is called on the stack.

    None if the instruction is no call. The arguments' effect on the stack is counted backwards.
    """
    *steps, last = _steps_to(code, place)
    if not last.opname.startswith(CALLS):
        return None
    wanted = last.arg or 0
    if last.opname == "CALL_FUNCTION_EX":
        wanted = 1 + (wanted & 1)
    elif last.opname == "CALL_KW":
        wanted += 1
    for k in reversed(range(len(steps))):
        step = steps[k]
        if step.opname in _IDLE:
            continue
        if wanted <= 0:
            return steps, k
        wanted -= dis.stack_effect(step.opcode, step.arg, jump=False)
    return None


def asks_for(name: str, frame: FrameType) -> str:
    """Return how code other than symgrad's asks for an attribute, as "name", "hasattr", "getattr".

    "" for symgrad's own code, and for what Python and NumPy look up themselves.
    """
    # What symgrad has made of source text has no module.
    if _module(frame).startswith(_SEEING) or "__name__" not in frame.f_globals:
        return ""
    if name.startswith("__"):
        return _asking(frame.f_code, frame.f_lasti)
    return _asking(frame.f_code, frame.f_lasti) or "getattr"


def absent(kind: type, name: str) -> AbsentError:
    """Return the error of Python for an attribute that objects of a class do not have."""
    home = "numpy." if kind.__module__ == "numpy" else ""
    instead = ""
    if not name.startswith("_") and callable(getattr(np, name, None)):
        instead = f". Write instead: np.{name}(x), which takes numbers, too"
    elif name in names_of(np.ndarray):
        instead = ": it is no array here, but a number. Write instead: np.asarray(x)"
    return AbsentError(f"{home}{kind.__name__!r} object has no attribute {name!r}{instead}")


Shown = Callable[[Any, str, FrameType], None]


class Attribute:
    """An attribute of stand-ins that not all have that they stand for.

    Parameters
    ----------
    name:
        Its name.
    own:
        The attribute of the stand-ins' class with this name.
    kind:
        Returns the class of what a stand-in stands for.
    shown:
        Is told of one that arrays have and lists have not: the stand-in for an array, the name,
        and the frame that looks it up.
    """

    def __init__(
        self, name: str, own: Any, kind: Callable[[Any], type], shown: Shown | None = None
    ) -> None:
        self.name, self.own, self.kind = name, own, kind
        self.of_arrays = name in names_of(np.ndarray)
        self.shown = shown if self.of_arrays and name not in names_of(list) else None

    def __get__(self, value: Any, owner: Any = None) -> Any:
        if value is not None:
            kind = self.kind(value)
            if not (self.of_arrays and kind is np.ndarray):
                self._require(kind)
            elif self.shown is not None:
                self.shown(value, self.name, sys._getframe(1))
        return self.own.__get__(value, owner)

    def _require(self, kind: type) -> None:
        if self.name not in names_of(kind) and asks_for(self.name, sys._getframe(2)):
            raise absent(kind, self.name)


class Hash(Attribute):
    """The ``__hash__`` of stand-ins, which arrays do not have."""

    def __get__(self, value: Any, owner: Any = None) -> Any:
        if (
            value is not None
            and self.kind(value) is np.ndarray
            and asks_for(self.name, sys._getframe(1))
        ):
            return None
        return self.own.__get__(value, owner)


class _Constant:
    """The same for all objects of a class."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __get__(self, value: Any, owner: Any = None) -> Any:
        return self.value


class AssignedAttribute(Attribute):
    """One that may be assigned to."""

    def __set__(self, value: Any, new: Any) -> None:
        self.own.__set__(value, new)


#: Kinds of values that stand-ins stand for, of which each has attributes that another has not.
_KINDS = (float, int, complex, np.float64, np.float32, np.int64, np.bool_, np.complex128,
          np.ndarray)  # fmt: skip


def show_as(cls: type, kind: Callable[[Any], type], *but: str, shown: Shown | None = None) -> None:
    """Have the stand-ins of a class show no attributes of plain values but those of theirs.

    ``but``: attributes that look to that themselves. ``shown``: see :class:`Attribute`.
    """
    every = frozenset.intersection(*map(names_of, _KINDS))
    for name in frozenset.union(*map(names_of, _KINDS)) - every - {*but}:
        own = next(
            (vars(base)[name] for base in _MRO.__get__(cls)[:-1] if name in vars(base)), None
        )
        if own is None:
            continue
        if not hasattr(own, "__get__"):
            own = _Constant(own)
        made = AssignedAttribute if hasattr(own, "__set__") else Attribute
        setattr(cls, name, made(name, own, kind, shown))
    hashed = _DICT.__get__(cls)["__hash__"]
    if hashed is not None:
        cls.__hash__ = Hash("__hash__", hashed, kind)  # type: ignore[method-assign, assignment]


def is_bound(method: Any) -> bool:
    """Tell whether an attribute of a class is a method of the class itself, as float.fromhex."""
    return isinstance(method, BuiltinFunctionType) and isinstance(method.__self__, type)

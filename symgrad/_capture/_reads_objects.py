"""What is read of objects: attributes, classes with their functions, what is a library's."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator
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
from .._core.base.state import now
from .._core.graph import warn_user
from .._core.trace import GENERATORS
from ..errors import CaptureWarning
from ._effects import DEPTH, values_of_trace
from ._locations import BOUND, FIXED, UNWATCHED, At, Enter, Part, Walk, not_entered
from ._ownership import of_library
from ._user_code import (
    ACCESSORS,
    ANY,
    attributes,
    copied_class,
    copied_simply,
    has_dictionary,
    named_attributes,
    remembers,
    slots_of,
    table_form,
    takes_nothing,
    transformed,
    users_class,
)
from ._versions import parts_of

#: What makes an object of a class, and names by which code gets at the class of an object.
_MAKING = frozenset(
    ("__init__", "__new__", "__post_init__", "__init_subclass__", "__class__", "type")
)


def read_module(walk: Walk, module: ModuleType, at: At) -> None:
    """Look at what the code may read of a module of the user's."""
    walk.note(at.text, "is", module, at.name)
    if of_library(module, walk.packages):
        walk.library.append(module)
        return
    enter = walk.enters(module, at.fixed)
    _names_of(walk, at.text, module, at.name)
    there = vars(module)
    for key in sorted(there if walk.any_name() else walk.known & there.keys()):
        if not key.startswith("__"):
            walk.visit(there[key], at.attribute(key, enter(key, there[key])))


def read_type(walk: Walk, kind: type, at: At) -> None:
    """Look at a class that is read itself, not one of its objects."""
    walk.note(at.text, "is", kind, at.name)
    walk.library.append(kind)
    read_class(walk, kind, at, through=at.text, bound=False)
    meta = type(kind)
    if users_class(meta, walk.packages):
        own = {key for base in kind.__mro__ for key in vars(base)}
        read_class(walk, meta, at._replace(fixed=FIXED), through=at.text, own=own)


def read_class(
    walk: Walk, kind: type, at: At, through: str = "", enter: Enter | None = None,
    own: Iterable[str] = (), bound: bool = True,
) -> None:  # fmt: skip
    """Look at a class's functions and attributes.

    ``through``: an object of the class, whose ``own`` attributes come first, or the class itself
    (not ``bound``). No copy of a class has other data.
    """
    reading = _ClassReading(walk, kind, at, through, enter, own, bound)
    for base in kind.__mro__:
        if users_class(base, walk.packages):
            reading.base(base)


class _ClassReading:
    """How the parts of a class are asked for; see :func:`read_class`."""

    def __init__(
        self, walk: Walk, kind: type, at: At, through: str, enter: Enter | None,
        own: Iterable[str], bound: bool,
    ) -> None:  # fmt: skip
        self.walk, self.at, self.through, self.enter, self.bound = walk, at, through, enter, bound
        self.kind = kind
        self.known, self.every = set(own), walk.any_name()
        self.new = True
        #: Whether what the class has is never as if the object had it: some of its code is given
        #: the class, and may ask that, or the code asks what the object itself has.
        self.shared = bound and (
            not walk.known.isdisjoint(("__dict__", "vars"))
            or any(map(self._gives_class, _attributes_of(kind)))
        )
        # An object that is there already is not made again, by code that names no class.
        self.makes = (
            self.every or not (through and bound) or bool(walk.known & _MAKING)
            or any(isinstance(x, classmethod) for base in kind.__mro__ for x in vars(base).values())
        )  # fmt: skip

    def _gives_class(self, named: tuple[str, Any]) -> bool:
        """Tell a class method that the code names, and what else is asked with the class."""
        key, x = named
        if isinstance(x, classmethod):
            return self.every or key in self.walk.known
        return hasattr(type(x), "__get__") and users_class(type(x), self.walk.packages)

    def base(self, base: type) -> None:
        """Look at what the class has of one of the classes that it is made of."""
        walk, at, home = self.walk, self.at, self.walk.constant(base)
        _names_of(walk, home, base, at.name)
        walk.met.setdefault(id(base), base)
        level = BOUND if at.fixed < FIXED and copied_class(base, walk.packages) else FIXED
        hold = walk.enters(base, level)
        self.new = walk.is_new_class(base, level)
        if not self.new:
            hold = not_entered
        for parent in base.__bases__:
            hold(parent, parent)
        for key, x in vars(base).items():
            special = key.startswith("__") and key.endswith("__")
            named = special or self.every or key in walk.known
            if named and (self.makes or key not in _MAKING):
                self.part(key, x, base, hold, level, special)

    def not_hidden(self, key: str, base: type) -> None:
        """Note that an attribute is the one of a class, by whatever object it is asked for.

        Neither the object nor a class before that one has an attribute of this name.
        """
        walk, name = self.walk, f"{self.at.name}.{key}"
        before = self.kind.__mro__[: self.kind.__mro__.index(base)]
        owners = [walk.constant(x) for x in before]
        if self.bound and self.kind.__dictoffset__:
            owners.append(self.through)
        for owner in owners:
            walk.note(f"{key!r} in {owner}.__dict__", "is", False, name)

    def part(self, key: str, x: Any, base: type, hold: Enter, level: int, special: bool) -> None:
        """Look at what one of the classes has under a name."""
        walk, at, home = self.walk, self.at, self.walk.constant(base)
        first = bool(self.through) and not special and key not in self.known
        first = first and not home.startswith(UNWATCHED)
        shared = self.shared and not hasattr(type(x), "__get__")
        if first and (shared or f"{home}.{key}" in walk.assigned.numbers):
            self.not_hidden(key, base)
            first = False
            if not self.new:
                self.known.add(key)
                return
        self.known.add(key)
        text = f"{self.through}.{key}" if first else f"{home}.{key}"
        inner = list(_functions_of(x, text, f"{home}.{key}", first and self.bound))
        if inner:
            hold(key, x)
        elif not special and not isinstance(x, MemberDescriptorType):
            place, fixed = None, level
            if first and self.bound and hasattr(type(x), "__get__"):
                # Asked of the object, it would give what it makes of it.
                text, place = f"{home}.__dict__[{key!r}]", hold(key, x)
            elif first and self.enter is not None:
                place, fixed = self.enter(key, x), at.fixed
            else:
                place = hold(key, x)
            walk.visit(x, at.within(text, f"{at.name}.{key}", place, fixed))
        within = walk.enters(x, level)
        for value, text in inner:
            within(value, value)
            walk.visit(value, at.within(text, key, fixed=level))


def _attributes_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield what a class and those that it is made of have, by their names."""
    for base in kind.__mro__:
        yield from vars(base).items()


def _functions_of(x: Any, text: str, home: str, bound: bool) -> Iterator[tuple[Any, str]]:
    """Yield the functions in what a class has under a name, each with its expression.

    ``bound``: ``text`` asks an object, which gives a method.
    """
    if isinstance(x, FunctionType):
        yield x, f"{text}.__func__" if bound else text
    elif isinstance(x, staticmethod):
        yield x.__func__, text
    elif isinstance(x, classmethod):
        yield x.__func__, f"{text}.__func__"
    elif isinstance(x, property):
        for part in ACCESSORS:
            if (function := getattr(x, part)) is not None:
                yield function, f"{home}.{part}"
    elif isinstance(x, functools.cached_property):
        yield x.func, f"{home}.func"


def read_instance(walk: Walk, value: Any, at: At) -> None:
    """Look at an object's attributes, and at its class."""
    kind, packages = type(value), walk.packages
    if isinstance(value, (BuiltinFunctionType, np.ufunc)):
        walk.note(at.text, "is", value, at.name)
        return
    if kind is not SimpleNamespace and not users_class(kind, packages):
        walk.library.append(kind)
        _read_foreign(walk, value, at)
        return
    walk.note(f"_sg_type({at.text})", "is", kind, at.name)
    if kind is not SimpleNamespace and not copied_simply(kind, packages):
        # Data are put into objects that are no more than their attributes.
        at = at._replace(fixed=max(at.fixed, BOUND if copied_class(kind, packages) else FIXED))
    enter = walk.enters(value, at.fixed)
    if at.fixed < FIXED:
        walk.bound.setdefault(id(value), (value, []))[1].append(("__class__", kind))
    # What the code of library classes reads is not known.
    simply = copied_simply(kind, packages)
    every = walk.any_name() or hasattr(kind, "__getattr__") or not simply
    own = set()
    _names_of(walk, at.text, value, at.name)
    for key, x in attributes(value) if every else named_attributes(value, walk.known):
        own.add(key)
        walk.visit(x, at.attribute(key, enter(key, x)))
    read_class(walk, kind, at, at.text, enter, own)


def _names_of(walk: Walk, text: str, value: Any, name: str) -> None:
    """Watch which attributes an object has, where the code may ask."""
    if not walk.known & (ANY | {"hasattr", "AttributeError"}):
        return
    if has_dictionary(value):
        walk.note(f"(*{text}.__dict__,)", "equal", (*value.__dict__,), name)
    for key in slots_of(type(value)):
        if not hasattr(value, key):
            walk.note(f"_sg_hasattr({text}, {key!r})", "is", False, name)


def _read_foreign(walk: Walk, value: Any, at: At) -> None:
    """Look at an object of an installed package: its arrays, numbers and functions."""
    if at.fixed < FIXED and (parts := parts_of(value)) is not None:
        # Another spline is the same program of other numbers.
        walk.note(f"_sg_type({at.text})", "is", type(value), at.name)
        enter = walk.enters(value, BOUND)
        for k, x in enumerate(parts):
            place = enter(Part(k), x)
            walk.visit(x, at.within(f"_sg_parts({at.text})[{k}]", at.name, place, BOUND))
        return
    walk.note(at.text, "is", value, at.name)
    if isinstance(value, GENERATORS):  # of a class of the user's own
        walk.generators.append(value)
        return
    if isinstance(value, Iterator):
        walk.iterators.append((value, at.name))
    if hasattr(type(value), "to_numpy"):  # tables of pandas and others, whose data lie deep in them
        walk.note(f"_sg_table({at.text})", "equal", table_form(value), at.name)
        return
    if isinstance(value, functools._lru_cache_wrapper):  # calls this one whatever it says
        wrapped = value.__wrapped__
        if at.fixed < FIXED:
            walk.enters(value, BOUND)
        walk.visit(wrapped, at.within(walk.constant(wrapped), at.name, fixed=FIXED))
        if takes_nothing(wrapped):  # one object, which may change: `settings().rate`
            count = remembers(value)
            walk.note(f"_sg_remembers({at.text})", "equal", count, at.name)
            if count:
                kept = value()
                _warn_of_left(kept, f"{at.name}()")
                walk.visit(kept, at.within(f"{at.text}()", f"{at.name}()", fixed=FIXED))
        return
    if hasattr(type(value), "__symgrad_version__"):  # whose names are symgrad's
        return
    for key, x in attributes(value):
        if key.isidentifier() and _is_looked_into(x, module_of(type(value)), walk.packages):
            walk.visit(x, at.attribute(key, fixed=FIXED))


def _warn_of_left(kept: Any, name: str) -> None:
    """Warn of a value of a trace in what a function made, and remembers, while it was traced."""
    if now().guards is None and any(True for _ in values_of_trace([kept], DEPTH)):
        warn_user(
            f"{name} holds a traced value: it was made while the function was traced, which "
            "assigns to it, and later calls, compiled, leave nothing there. Write instead: call "
            f"{name} once before, or return what is to be kept",
            CaptureWarning,
        )


def _is_looked_into(x: Any, module: str, packages: frozenset[str]) -> bool:
    """Tell whether an attribute of an object of some module may be read by its functions."""
    plain = (int, float, complex, str, np.ndarray, FunctionType, tuple, list, functools.partial)
    package = module.rpartition(".")[0]
    return (
        isinstance(x, plain)
        or (isinstance(x, MethodType) and users_class(type(x.__self__), packages))
        or users_class(type(x), packages)
        # UserDict, ChainMap
        or (module in ("collections", "weakref") and isinstance(x, (dict, deque)))
        # Splines of SciPy 1.18 keep their coefficients in another object of scipy.interpolate.
        or (bool(package) and module_of(type(x)).startswith(f"{package}."))
        or transformed(x)
    )

"""Words of memory by which Python's objects are seen to be as they were.

An assignment to a name, an item or an attribute stores a pointer at a place: an entry of a
dictionary, an item of a list, a cell, a slot. Code that has read such places would read the same
as long as these words are the same. A word may be looked at if those before it are as they were:
first where a dictionary's table is, then what is in it.

The layouts are the same in the versions of CPython that :mod:`._layout_checks` lists, or found out
here; they are tried there before the first use.
"""

from __future__ import annotations

import contextlib
import sys
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from .._core.runtime.structures import (
    DATA_AT,
    DTYPE_AT,
    HEADER,
    RANK_AT,
    SHAPE_AT,
    STRIDES_AT,
    TUPLE_AT,
    TYPE_AT,
    word,
)
from ._dict_words import COUNT_AT, ENTRY, KEYS_AT, Tables, Thing, UnwatchedError

LENGTH_AT, LIST_AT, CELL_AT = HEADER, HEADER + 8, HEADER

#: In a set the size of its table less one, and of what size a member there is.
MASK_AT, MEMBER = HEADER + 16, 16

#: An object's dictionary where Python manages it, or the values while there is none.
MANAGED_AT, INLINE_AT = -24, -32

#: A type's function that looks up attributes, and its version.
LOOKUP_AT, VERSION_AT = 144, 384

#: Of a slot's descriptor the record, and in it its kind and its place in the object.
RECORD_AT, KIND_AT, OFFSET_AT = HEADER + 24, 8, 16

#: The kinds of slots that hold an object.
OBJECT_SLOTS = (6, 16)

#: Arrays of more bytes than this are not copied to be compared.
COPIED = 1 << 20

#: What cannot change; beside tuples, whose items may.
_FIXED = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), FunctionType,
          BuiltinFunctionType, np.ufunc, np.float64)  # fmt: skip

#: Flags of types: made by Python's code, and with dictionaries that Python manages.
_HEAP_TYPE, _MANAGED = 1 << 9, 1 << 4


class Words(Tables):
    """Words that are as they were if what was asked for is as it was."""

    def kind(self, value: Any) -> None:
        """Watch the type of an object, and what the type says."""
        kind = type(value)
        if kind.__flags__ & _HEAP_TYPE or isinstance(value, ModuleType):
            self.points(id(value) + TYPE_AT, kind)

    def type_of(self, kind: type) -> None:
        """Watch the attributes of a type and of its bases."""
        self.held.append(kind)
        if type(kind).__getattribute__ is not type.__getattribute__:
            raise UnwatchedError
        self.kind(kind)
        with contextlib.suppress(AttributeError):
            type.__getattribute__(kind, "_")  # asked for something, it has a version
        if self.still(id(kind) + VERSION_AT) & 0xFFFFFFFF == 0:
            raise UnwatchedError

    def length(self, value: Any) -> None:
        """Watch how long a list, a tuple or a dictionary is."""
        self.held.append(value)
        if isinstance(value, dict):
            self.keys(value)
        elif type(value) is list:
            self.still(id(value) + LENGTH_AT)
        elif not isinstance(value, tuple):
            raise UnwatchedError

    def item(self, value: Any, index: Any) -> int:
        """Return where an item is, and watch what leads there."""
        if type(value) is dict:
            return self.entry(value, index)
        self.held.append(value)
        if isinstance(value, tuple) and type(value).__getitem__ is tuple.__getitem__:
            return id(value) + TUPLE_AT + 8 * int(index)
        if type(value) is not list:
            raise UnwatchedError
        self.still(id(value) + LENGTH_AT)
        return self.still(id(value) + LIST_AT) + 8 * int(index)

    def cell(self, cell: Any) -> int:
        """Return where the content of a cell is."""
        self.held.append(cell)
        return id(cell) + CELL_AT

    def names(self, value: Any) -> Any:
        """Return the dictionary of an object's own attributes, and watch that it is that."""
        self.held.append(value)
        if isinstance(value, type):
            self.type_of(value)
            return value.__dict__
        self.kind(value)
        names = value.__dict__
        at = type(value).__dictoffset__
        if isinstance(value, FunctionType):
            at = places_in_functions()["__dict__"]
        elif at < 0:
            at = MANAGED_AT
        if at == 0 or type(names) is not dict:
            raise UnwatchedError
        if word(id(value) + at) != id(names):
            raise UnwatchedError
        self.points(id(value) + at, names)
        return names

    def attribute(self, value: Any, name: str) -> tuple[Any, int | None]:
        """Return an attribute and where it is, and watch what leads there."""
        kind = type(value)
        self.held.append(value)
        if kind is CellType:
            return value.cell_contents, id(value) + CELL_AT
        if kind is MethodType and name in ("__func__", "__self__"):
            return getattr(value, name), None
        if kind is FunctionType and name in places_in_functions():
            at, found = id(value) + places_in_functions()[name], getattr(value, name)
            if found is None:  # there is no object
                self.same(at, 0)
            return found, None if found is None else at
        if isinstance(value, type):
            return self._of_type(value, name), None
        if not _looks_up(kind, ModuleType if isinstance(value, ModuleType) else object):
            raise UnwatchedError
        self.kind(value)
        self.type_of(kind)
        found = _of_class(kind, name)
        if isinstance(found, MemberDescriptorType):
            return getattr(value, name), id(value) + _slot(found)
        if hasattr(type(found), "__set__") or hasattr(type(found), "__delete__"):
            raise UnwatchedError
        if inline(value):
            own = self._own(value, name)
            if own is not None:
                return object.__getattribute__(value, name), own
        elif kind.__dictoffset__:
            names = self.names(value)
            if name in names:
                return names[name], self.entry(names, name)
            self.keys(names)
        return self._bound(value, name, found), None

    def _own(self, value: Any, name: str) -> int | None:
        """Return where an attribute of an object is that has no dictionary yet; None: nowhere."""
        values = self.still(id(value) + INLINE_AT)
        at = id(type(value)) + places_in_types()
        keys = self.still(at)
        head = self._head(at, keys)
        entries = self.through(at, keys, head.begin, ENTRY * head.entries)
        names = np.frombuffer(entries, np.int64)[::2].tolist()
        if id(sys.intern(name)) in names:
            place: int = values + 8 * names.index(id(sys.intern(name)))
            if any(self.through(id(value) + INLINE_AT, values, place, 8)):
                return place
            self.same(place, 0)
            return None
        self.same(keys + COUNT_AT, head.entries)
        self.block(head.begin, entries)
        return None

    def unset(self, value: Any, name: str) -> None:
        """Watch that a slot of an object is empty."""
        self.held.append(value)
        self.kind(value)
        self.type_of(type(value))
        at = id(value) + _slot(_of_class(type(value), name))
        if self.still(at):
            raise UnwatchedError

    def _of_type(self, kind: type, name: str) -> Any:
        """Return an attribute of a class."""
        self.type_of(kind)
        if type(kind) is not type:
            self.type_of(type(kind))
        if hasattr(type(_of_class(type(kind), name)), "__set__"):
            raise UnwatchedError
        return self._bound(kind, name, _of_class(kind, name))

    def _bound(self, value: Any, name: str, found: Any) -> Any:
        """Return what a class's attribute is for an object of it, or for the class."""
        if found is _ABSENT:
            raise UnwatchedError
        known = (FunctionType, staticmethod, classmethod, property)
        if type(found) in known or not hasattr(type(found), "__get__"):
            self.held.append(found)
            if type(found).__flags__ & _HEAP_TYPE:
                self.points(id(found) + TYPE_AT, type(found))
                self.type_of(type(found))
            if type(found) is property and not isinstance(value, type):
                raise UnwatchedError
            return getattr(value, name)
        raise UnwatchedError

    # ------------------------------------------------------------ contents

    def array(self, a: Any) -> np.ndarray[Any, Any]:
        """Watch the numbers of an array; return a copy."""
        if type(a) is not np.ndarray or not a.flags.forc or not 0 < a.nbytes <= COPIED:
            raise UnwatchedError
        copy = a.copy(order="K")
        self.held += [a, a.dtype, copy]
        places = (DATA_AT, 0), (SHAPE_AT, 8 * a.ndim), (STRIDES_AT, 8 * a.ndim)
        for at, count in places:
            start = self.still(id(a) + at)
            if count:
                self.block(start, self.through(id(a) + at, start, start, count))
        self.still(id(a) + RANK_AT)
        self.still(id(a) + DTYPE_AT)
        self.blocks.setdefault((self.still(id(a) + DATA_AT), a.nbytes), copy.ctypes.data)
        return copy

    def content(self, value: Any) -> None:
        """Watch all that nested lists, tuples and dictionaries of plain values hold."""
        kind = type(value)
        if kind is dict:
            self.keys(value)
            for key in value:
                self.points(self.entry(value, key), value[key])
            inner = {type(x) for x in value} | {type(x) for x in value.values()}
            items: tuple[Any, ...] = (*value, *value.values())
        elif kind is list or kind is tuple:
            items = tuple(value)
            self.held += [value, items]
            if kind is list:
                self.still(id(value) + LENGTH_AT)
                at = self.still(id(value) + LIST_AT)
                if items:
                    self.blocks.setdefault((at, 8 * len(items)), id(items) + TUPLE_AT)
            inner = set(map(type, items))
        elif kind in _FIXED:
            return
        else:
            raise UnwatchedError
        if inner.issubset(_FIXED):
            return
        for x in items:
            if type(x) not in _FIXED:
                self.content(x)

    def members(self, value: set[Any]) -> None:
        """Watch what a set of plain values holds, and in which order."""
        if type(value) is not set or not {*map(type, value)}.issubset(_FIXED):
            raise UnwatchedError
        self.held += [value, *value]
        for at in (LENGTH_AT, MASK_AT):  # how many there are and were, the table and its size
            self.still(id(value) + at)
            self.still(id(value) + at + 8)
        size = MEMBER * (word(id(value) + MASK_AT) + 1)
        table = word(id(value) + MASK_AT + 8)
        self.block(table, self.through(id(value) + MASK_AT + 8, table, table, size))


def _slot(descriptor: Any) -> int:
    """Return where a slot is in an object."""
    if not isinstance(descriptor, MemberDescriptorType):
        raise UnwatchedError
    record = word(id(descriptor) + RECORD_AT)
    if word(record + KIND_AT) & 0xFFFFFFFF not in OBJECT_SLOTS:
        raise UnwatchedError
    return word(record + OFFSET_AT)


def _looks_up(kind: type, like: type) -> bool:
    """Tell whether objects of a class have their attributes looked up as those of another."""
    usual = word(id(kind) + LOOKUP_AT) == word(id(like) + LOOKUP_AT)
    return usual or kind.__getattribute__ is like.__getattribute__


def _of_class(kind: type, name: str) -> Any:
    """Return what a class has by a name, as it is."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _ABSENT)


_ABSENT = object()


# ---------------------------------------------------------------- what is found out


@lru_cache(maxsize=1)
def places_in_functions() -> dict[str, int]:
    """Return where a function's code, defaults and dictionary are."""

    def probe(a: int = 1234567, *, b: int = 7654321) -> int:
        return a + b

    probe.mark = 1  # type: ignore[attr-defined]
    words = {word(id(probe) + at): at for at in range(HEADER, type(probe).__basicsize__, 8)}
    names = ("__code__", "__defaults__", "__kwdefaults__", "__dict__")
    return {name: words[id(getattr(probe, name))] for name in names}


def inline(value: Any) -> bool:
    """Tell whether an object has attributes and no dictionary, which it gets when it is asked.

    In Python 3.11 alone: from then on its attributes are three times as slow (until 3.13).
    """
    managed = type(value).__flags__ & _MANAGED and sys.version_info[:2] == (3, 11)
    return bool(managed and word(id(value) + INLINE_AT))


@lru_cache(maxsize=1)
def places_in_types() -> int:
    """Return where a class has the keys that its objects share."""
    thing = Thing()
    keys = word(id(thing.__dict__) + KEYS_AT)
    size = object.__getattribute__(type, "__basicsize__")
    return next(at for at in range(VERSION_AT, size, 8) if word(id(Thing) + at) == keys)

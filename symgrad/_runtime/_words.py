"""Words of memory by which Python's objects are seen to be as they were.

An assignment to a name, an item or an attribute stores a pointer at a place: an entry of a
dictionary, an item of a list, a cell, a slot. Code that has read such places would read the same
as long as these words are the same. A word may be looked at if those before it are as they were:
first where a dictionary's table is, then what is in it.

The layouts are the same in the versions of CPython that :mod:`._trials` lists, or found out here;
they are tried there before the first use.
"""

from __future__ import annotations

import contextlib
import ctypes
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

from ._structures import DATA_AT, DTYPE_AT, HEADER, SHAPE_AT, STRIDES_AT, TUPLE_AT, TYPE_AT, word

#: A dictionary's table of keys, and its values where many objects share the keys.
KEYS_AT, VALUES_AT = HEADER + 16, HEADER + 24

#: Of a table of keys: sizes and version, how many entries, and the hash table before these.
TABLE_AT, COUNT_AT, HASHES_AT = 8, 24, 32

#: An entry is key and value where all keys are strings, else hash, key and value.
ENTRY, GENERAL_ENTRY = 16, 24

LENGTH_AT, LIST_AT, CELL_AT = HEADER, HEADER + 8, HEADER

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


class UnwatchedError(Exception):
    """Something whose changes words do not show."""


class Words:
    """Words that are as they were if what was asked for is as it was.

    Attributes
    ----------
    words:
        What was where.
    blocks:
        Where a copy is of so many bytes there. They may be looked at after the words.
    held:
        The objects that are looked at or compared with.
    """

    def __init__(self) -> None:
        self.words: dict[int, int] = {}
        self.blocks: dict[tuple[int, int], int] = {}
        self.held: list[Any] = []
        self._tables: dict[tuple[int, int], dict[Any, int]] = {}

    def same(self, at: int, wanted: int) -> None:
        """Watch one word."""
        if word(at) != wanted:
            raise UnwatchedError
        self.words.setdefault(at, wanted)

    def still(self, at: int) -> int:
        """Watch one word, whatever it is now."""
        return self.words.setdefault(at, word(at))

    def block(self, at: int, count: int) -> None:
        """Watch bytes."""
        if count and (at, count) not in self.blocks:
            copy = ctypes.create_string_buffer(ctypes.string_at(at, count), count)
            self.held.append(copy)
            self.blocks[at, count] = ctypes.addressof(copy)

    def points(self, at: int, value: Any) -> None:
        """Watch a place where an object is."""
        self.held.append(value)
        self.same(at, id(value))

    # ------------------------------------------------------------ dictionaries

    def keys(self, d: dict[Any, Any]) -> None:
        """Watch which keys a dictionary has."""
        if type(d) is not dict:
            raise UnwatchedError
        self.held.append(d)
        keys = self.still(id(d) + KEYS_AT)
        values = word(id(d) + VALUES_AT)
        begin, count = _entries(keys)
        if values:  # its keys are those of many objects, of which it may have a part
            self.still(id(d) + VALUES_AT)
            self.still(keys + COUNT_AT)
            self.block(begin, ENTRY * count)
            self.still(id(d) + HEADER)  # how many it has
            for k in range(count):
                if word(values + values_at() + 8 * k) == 0:
                    self.still(values + values_at() + 8 * k)
        elif not count:
            self.still(keys + COUNT_AT)
        elif _of_strings(keys):
            self.same(keys + TABLE_AT, _with_version(d))
        else:
            self.still(keys + COUNT_AT)
            self.block(begin, GENERAL_ENTRY * count)
            self.held += [*d, *d.values()]

    def entry(self, d: dict[Any, Any], key: Any) -> int:
        """Return where the value of a key is, and watch the table."""
        self.keys(d)
        keys, values = word(id(d) + KEYS_AT), word(id(d) + VALUES_AT)
        begin, count = _entries(keys)
        size = ENTRY if values or _of_strings(keys) else GENERAL_ENTRY
        if (keys, count) not in self._tables:
            table = np.frombuffer(ctypes.string_at(begin, size * count), np.int64)
            numbers = {at: k for k, at in enumerate(table.reshape(count, -1)[:, -2].tolist())}
            self._tables[keys, count] = {k: numbers[id(k)] for k in d}
        k = self._tables[keys, count][key]
        return values + values_at() + 8 * k if values else begin + (k + 1) * size - 8

    # ------------------------------------------------------------ other objects

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
        keys = self.still(id(type(value)) + places_in_types())
        begin, count = _entries(keys)
        for k in range(count):
            if word(begin + ENTRY * k) == id(sys.intern(name)):
                at = values + 8 * k
                return at if word(at) else self.still(at) or None
        self.still(keys + COUNT_AT)
        self.block(begin, ENTRY * count)
        return None

    def unset(self, value: Any, name: str) -> None:
        """Watch that a slot of an object is empty."""
        self.held.append(value)
        self.kind(value)
        self.type_of(type(value))
        self.same(id(value) + _slot(_of_class(type(value), name)), 0)

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
        self.block(id(a) + DATA_AT, DTYPE_AT + 8 - DATA_AT)
        self.block(word(id(a) + SHAPE_AT), 8 * a.ndim)
        self.block(word(id(a) + STRIDES_AT), 8 * a.ndim)
        self.blocks.setdefault((word(id(a) + DATA_AT), a.nbytes), copy.ctypes.data)
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


def _entries(keys: int) -> tuple[int, int]:
    """Return where the entries of a table of keys are, and how many have been used."""
    return keys + HASHES_AT + (1 << (word(keys + TABLE_AT) >> 8 & 0xFF)), word(keys + COUNT_AT)


def _of_strings(keys: int) -> bool:
    """Tell whether a table of keys, which no objects share, has strings alone."""
    return word(keys + TABLE_AT) >> 16 & 0xFF == 1


def _with_version(d: dict[Any, Any]) -> int:
    """Return the word with the version of a dictionary's keys, which is new for other keys.

    CPython gives keys a version when code that reads a global name from them has run some times.
    """
    at = word(id(d) + KEYS_AT) + TABLE_AT
    if word(at) >> 32 == 0:
        with contextlib.suppress(Exception):
            FunctionType(_reads_a_name.__code__.replace(), d)(range(64))
    if word(at) >> 32 == 0:
        raise UnwatchedError
    return word(at)


def _reads_a_name(times: range) -> None:
    for _ in times:
        len  # noqa: B018


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
    thing = _Thing()
    keys = word(id(thing.__dict__) + KEYS_AT)
    size = object.__getattribute__(type, "__basicsize__")
    return next(at for at in range(VERSION_AT, size, 8) if word(id(_Thing) + at) == keys)


@lru_cache(maxsize=1)
def values_at() -> int:
    """Return where values begin that an object's dictionary has apart from its keys."""
    thing = _Thing()
    values = word(id(thing.__dict__) + VALUES_AT)
    return next(at for at in (0, 8) if word(values + at) == id(thing.first))


class _Thing:
    def __init__(self) -> None:
        self.first, self.second = 1.25, 2.5

"""Words of memory, above all those of dictionaries, which say that nothing was changed there.

The version of a dictionary's keys is new for other keys: CPython itself relies on it for names that
are not global but Python's own. So that version and the entry of a key are all that is looked at.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from .._core.base.signals import tolerating
from .._core.runtime.structures import HEADER, word

#: A dictionary's table of keys, and its values where many objects share the keys.
KEYS_AT, VALUES_AT = HEADER + 16, HEADER + 24

#: Of a table of keys: sizes and version, how many entries, and the hash table before these.
TABLE_AT, COUNT_AT, HASHES_AT = 8, 24, 32

#: An entry is key and value where all keys are strings, else hash, key and value.
ENTRY, GENERAL_ENTRY = 16, 24


class UnwatchedError(Exception):
    """Something whose changes words do not show."""


class Tables:
    """Words that are as they were if what was asked for is as it was.

    Parameters
    ----------
    copy:
        Copies memory to which a pointer leads; see copier. Other threads may free a dictionary's
        table between any two steps of Python's.

    Attributes
    ----------
    words:
        What was where.
    blocks:
        Where a copy is of so many bytes there. They may be looked at after the words.
    held:
        The objects that are looked at or compared with.
    """

    def __init__(self, copy: Callable[..., int]) -> None:
        self._copy = copy
        self.words: dict[int, int] = {}
        self.blocks: dict[tuple[int, int], int] = {}
        self.held: list[Any] = []
        self._tables: dict[bytes, dict[Any, int]] = {}

    def same(self, at: int, wanted: int) -> None:
        """Watch one word."""
        self.words.setdefault(at, wanted)

    def still(self, at: int) -> int:
        """Watch one word of an object, whatever it is now."""
        return self.words.setdefault(at, word(at))

    def through(self, at: int, pointer: int, start: int, count: int) -> bytes:
        """Return bytes to which the pointer at a place leads."""
        copy = ctypes.create_string_buffer(max(count, 1))
        if not self._copy(at, pointer, start, ctypes.addressof(copy), count):
            raise UnwatchedError
        return copy.raw[:count]

    def block(self, at: int, was: bytes) -> None:
        """Watch bytes."""
        if was and (at, len(was)) not in self.blocks:
            copy = ctypes.create_string_buffer(was, len(was))
            self.held.append(copy)
            self.blocks[at, len(was)] = ctypes.addressof(copy)

    def points(self, at: int, value: Any) -> None:
        """Watch a place where an object is."""
        self.held.append(value)
        self.same(at, id(value))

    # ------------------------------------------------------------ dictionaries

    def keys(self, d: dict[Any, Any]) -> None:
        """Watch which keys a dictionary has."""
        self._table(d)

    def _table(self, d: dict[Any, Any]) -> tuple[int, int, int, bytes]:
        """Watch a dictionary's keys; return where values and entries are, and of what size."""
        if type(d) is not dict:
            raise UnwatchedError
        self.held.append(d)
        at = id(d) + KEYS_AT
        keys, values = self.still(at), word(id(d) + VALUES_AT)
        head = self._head(at, keys)
        if not values and head.entries and head.strings and not head.version:
            _give_version(d)
            if word(at) != keys or not (head := self._head(at, keys)).version:
                raise UnwatchedError
        size = ENTRY if values or head.strings else GENERAL_ENTRY
        entries = self.through(at, keys, head.begin, size * head.entries)
        if values:  # its keys are those of many objects, of which it may have a part
            self.still(id(d) + VALUES_AT)
            self.same(keys + COUNT_AT, head.entries)
            self.block(head.begin, entries)
            self.still(id(d) + HEADER)  # how many it has
            first = values + values_at()
            found = self.through(id(d) + VALUES_AT, values, first, 8 * head.entries)
            for k, x in enumerate(np.frombuffer(found, np.int64)):
                if x == 0:
                    self.same(first + 8 * k, 0)
        elif head.entries and head.strings:
            self.same(keys + TABLE_AT, head.word)
        else:
            self.same(keys + COUNT_AT, head.entries)
            self.block(head.begin, entries)
            self.held += [*d, *d.values()]
        return values, head.begin, size, entries

    def _head(self, at: int, keys: int) -> Head:
        owners, sizes, usable, count = struct.unpack("4q", self.through(at, keys, keys, HASHES_AT))
        return Head(owners, sizes, usable, count, keys)

    def entry(self, d: dict[Any, Any], key: Any) -> int:
        """Return where the value of a key is, and watch the table."""
        values, begin, size, entries = self._table(d)
        if entries not in self._tables:
            table = np.frombuffer(entries, np.int64).reshape(-1, size // 8)
            numbers = {at: k for k, at in enumerate(table[:, -2].tolist())}
            self._tables[entries] = {k: numbers[id(k)] for k in list(d)}
        k = self._tables[entries][key]
        return values + values_at() + 8 * k if values else begin + (k + 1) * size - 8


class Head(NamedTuple):
    """The beginning of a dictionary's table of keys: its words, and where it is."""

    owners: int
    word: int
    usable: int
    entries: int
    at: int

    @property
    def begin(self) -> int:
        """Where the entries are."""
        return self.at + HASHES_AT + (1 << (self.word >> 8 & 0xFF))

    @property
    def strings(self) -> bool:
        """Whether the keys, which no objects share, are strings alone."""
        return self.word >> 16 & 0xFF == 1

    @property
    def version(self) -> int:
        """A number that is new for other keys; 0: there is none yet."""
        return self.word >> 32


def _give_version(d: dict[Any, Any]) -> None:
    """Give a dictionary's keys a version.

    CPython does so when code that reads a global name from them has run some times.
    """
    with tolerating(Exception):
        FunctionType(_reads_a_name.__code__.replace(), d)(range(64))


def _reads_a_name(times: range) -> None:
    for _ in times:
        len  # noqa: B018


@lru_cache(maxsize=1)
def values_at() -> int:
    """Return where values begin that an object's dictionary has apart from its keys."""
    thing = Thing()
    values = word(id(thing.__dict__) + VALUES_AT)
    return next(at for at in (0, 8) if word(values + at) == id(thing.first))


class Thing:
    """An object with attributes, to try on."""

    def __init__(self) -> None:
        self.first, self.second = 1.25, 2.5

"""Whether Python's objects lie in memory as watching them takes for granted: changes are tried."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache
from operator import delitem, setitem
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .._core.base.platform import has
from .._core.base.signals import foreseen
from .._core.runtime import structures as _structures
from .._core.runtime.structures import word
from ._dict_words import UnwatchedError
from ._memory_words import Words
from ._watched_calls import copier

#: Versions of CPython in which structures lie where they are looked for.
VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14))


class _Probe:
    """An object with attributes and a slot."""

    __slots__ = ("__dict__", "empty", "slot")
    shared = 1.5

    def __init__(self) -> None:
        self.first, self.second, self.slot = 1.25, 2.5, [1]


def _probe() -> Any:
    """Return an object of a class of its own."""
    return type("Probe", (_Probe,), {"__slots__": ()})()


def _with_dictionary() -> Any:
    """Return such an object after its dictionary was asked for."""
    thing = _probe()
    assert thing.__dict__
    return thing


def as_before(words: Words) -> bool:
    """Tell whether words are as they were; machine code does this in each call."""
    return all(word(at) == was for at, was in words.words.items()) and all(
        ctypes.string_at(at, count) == ctypes.string_at(was, count)
        for (at, count), was in words.blocks.items()
    )


def _at(words: Words, found: tuple[Any, int | None]) -> None:
    value, at = found
    if at is not None:
        words.points(at, value)


def _in_function(words: Words, x: Any) -> None:
    for name in ("__code__", "__defaults__", "__kwdefaults__"):
        _at(words, words.attribute(x, name))


def _in_names(words: Words, names: dict[str, Any]) -> None:
    words.points(words.entry(names, "first"), names["first"])


def _in_first(words: Words, x: Any) -> None:
    _at(words, words.attribute(x, "first"))


def _in_shared(words: Words, x: Any) -> None:
    _at(words, words.attribute(x, "shared"))


#: A way to change a thing: a function of it, and its further arguments.
Change = tuple[Any, ...]

#: Changes that are to be seen of a probe's own attribute, and of its class's.
_OWN: list[Change] = [
    (setattr, "first", 1.5), (delattr, "first"), (setattr, "__dict__", {}),
    (setattr, "__class__", _Probe), (lambda x: setattr(type(x), "first", property(len)),),
]  # fmt: skip
_SHARED: list[Change] = [
    (setattr, "shared", 1.5), (lambda x: setattr(type(x), "shared", 2.5),),
    (lambda x: setattr(_Probe, "third", 2.5),),
]  # fmt: skip

#: Each: what makes a thing, how it is watched, a change that is not to be seen, and some that are.
TRIALS: list[tuple[Callable[[], Any], Callable[[Words, Any], Any], Change, list[Change]]] = [
    (
        lambda: {"first": 1.25, "other": 2},
        _in_names,
        (setitem, "other", 3),
        [(setitem, "first", 1.5), (setitem, "new", 1), (delitem, "other"), (dict.clear,)],
    ),
    (
        lambda: {1: 1.25, "other": 2, "first": 3.5},
        _in_names,
        (len,),
        [(setitem, "first", 1.5), (setitem, 2, 1), (delitem, 1), (dict.clear,)],
    ),
    (dict, Words.keys, (len,), [(setitem, "new", 1), (setitem, 1, 2)]),
    (_probe, _in_first, (setattr, "second", 3.5), _OWN),
    (_probe, _in_shared, (setattr, "first", 3.5), _SHARED),
    (_with_dictionary, _in_first, (setattr, "second", 3.5), _OWN),
    (_with_dictionary, _in_shared, (setattr, "first", 3.5), _SHARED),
    (
        _probe,
        lambda words, x: _at(words, words.attribute(x, "slot")),
        (setattr, "first", 3.5),
        [(setattr, "slot", [1]), (delattr, "slot"), (lambda x: setattr(type(x), "slot", 1),)],
    ),
    (
        _probe,
        lambda words, x: words.unset(x, "empty"),
        (setattr, "slot", 1),
        [(setattr, "empty", 1)],
    ),
    (
        _probe,
        lambda words, x: words.keys(words.names(x)),
        (setattr, "first", 3.5),
        [(setattr, "third", 3), (delattr, "second")],
    ),
    (
        lambda: [1.25, 2.5],
        lambda words, x: words.points(words.item(x, 0), x[0]),
        (setitem, 1, 1),
        [(setitem, 0, 1), (list.clear,), (list.append, 1), (list.insert, 0, 1)],
    ),
    (
        lambda: [[1.25, 2], {"a": (1, [2])}],
        Words.content,
        (len,),
        [(lambda x: setitem(x[0], 1, 2.0),), (lambda x: setitem(x[1]["a"][1], 0, 3),),
         (lambda x: setitem(x[1], "b", 1),)],
    ),
    (
        lambda: {"first", 2, 7},
        Words.members,
        (len,),
        [(set.add, 3), (set.discard, 2), (lambda x: x.update(range(99)),), (set.clear,),
         (lambda x: (x.remove(2), x.add(10)),)],
    ),
    (
        lambda: np.arange(6).reshape(2, 3),
        Words.array,
        (len,),
        [(setitem, (1, 2), 1), (lambda x: x.resize((3, 2), refcheck=False),)],
    ),
    (
        lambda: FunctionType((lambda x, *, k=1: x).__code__, {}, "f", (1,)),
        _in_function,
        (setattr, "mark", 1),
        [(setattr, "__code__", (lambda x: 1).__code__), (setattr, "__defaults__", (2,)),
         (setattr, "__kwdefaults__", {"k": 1})],
    ),
    (
        lambda: CellType(1.25),
        lambda words, x: words.points(words.cell(x), x.cell_contents),
        (id,),
        [(setattr, "cell_contents", 2.5), (delattr, "cell_contents")],
    ),
    (
        lambda: ModuleType("m"),
        lambda words, x: words.keys(words.names(x)),
        (setattr, "__doc__", "other"),
        [(setattr, "first", 1)],
    ),
]  # fmt: skip


@lru_cache(maxsize=1)
def can_watch(load: Callable[[str], Any]) -> bool:
    """Tell whether the structures are as taken for granted here: all changes are seen."""
    if _structures.FAULT is not None or not has("words") or sys.version_info[:2] not in VERSIONS:
        return False
    try:
        copy = copier(load)
        return all(
            not _seen(copy, make, watch, none)
            and all(_seen(copy, make, watch, change) for change in changes)
            for make, watch, none, changes in TRIALS
        )
    except foreseen(Exception):  # whatever it is, it is not as expected
        return False


def _seen(
    copy: Callable[..., int], make: Callable[[], Any], watch: Callable[[Words, Any], Any],
    change: Change,
) -> bool:  # fmt: skip
    x, words = make(), Words(copy)
    watch(words, x)
    if not as_before(words):
        raise UnwatchedError
    change[0](x, *change[1:])
    return not as_before(words)

"""Which words of memory are as they were if what a function reads is.

What is compared in each call are expressions (:mod:`._reads`). They are read here once more, with
Python's rules for names, items and attributes, to find the places in memory from which their
values come. As long as the words there are the same, so are the values; looking at some words
costs a few nanoseconds. Where they are not, or an expression is none of these, the expressions
themselves decide.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from .._core.base.signals import foreseen
from .._core.codegen.cache import loaded
from .._core.runtime import MISS
from ._comparison import ERRORS, Comparison, as_datum, same, unchanged
from ._dict_words import UnwatchedError
from ._layout_checks import can_watch
from ._memory_words import Words
from ._user_code import packed_form
from ._watched_calls import copier, watched

#: So often words are looked for anew; where they are others for the same values again and again,
#: Python compares the values in so many calls before it is tried again, which takes as long as some
#: hundred comparisons.
TRIES, PATIENCE = 8, 512

#: Most functions that are kept for one state.
KEPT = 4

#: A value and where it is; None if it cannot be another for what leads to it.
Found = tuple[Any, int | None]


class Watch(Words):
    """The words that say what expressions are.

    Parameters
    ----------
    cells, constants, main:
        What names in expressions are: cells, further objects, and global names of a module.
    """

    def __init__(
        self, cells: Mapping[str, Any], constants: Mapping[str, Any], main: dict[str, Any] | None
    ) -> None:
        super().__init__(copier(loaded))
        self._cells, self._constants = cells, constants
        self._main: dict[str, Any] = {} if main is None else main
        self._known: dict[str, Found] = {}
        self._places: list[int] = []
        self._probe: Callable[..., Any] | None = None

    def finds(self, text: str, expected: Any, itself: bool) -> bool:
        """Tell whether an expression is what is expected, and watch that it stays that."""
        value = self.value(text)
        if isinstance(expected, np.ndarray):
            return unchanged(self.array(value), expected)
        return value is expected or (not itself and same(value, expected))

    def value(self, text: str) -> Any:
        """Return what an expression is, and watch that it stays the same object."""
        return self._value(_parsed(text))

    def fetches(self, texts: Sequence[str]) -> None:
        """Note where the data are, whichever are there; nothing else is asked for any more."""
        for text in texts:
            at = self._found(_parsed(text))[1]
            if at is None:
                raise UnwatchedError
            self._places.append(at)
        self._known.clear()

    def holds(self) -> bool:
        """Tell whether all words are as they were."""
        if self._probe is None:
            self._probe = self._before(bool, 0, [])
        return self._probe() is not MISS

    def caller(self, function: Callable[..., Any], count: int) -> Callable[..., Any]:
        """Return a function of ``count`` arguments, which are given to another with the data."""
        return self._before(function, count, self._places)

    def _before(
        self, function: Callable[..., Any], count: int, places: list[int]
    ) -> Callable[..., Any]:
        words, blocks = list(self.words.items()), [(*x, was) for x, was in self.blocks.items()]
        return watched(loaded, function, count, words, blocks, places, self.held)

    def _value(self, node: ast.expr) -> Any:
        value, at = self._found(node)
        if at is not None:
            self.points(at, value)
        return value

    def _found(self, node: ast.expr) -> Found:
        key = ast.dump(node)
        if key not in self._known:
            self._known[key] = self._read(node)
        return self._known[key]

    def _read(self, node: ast.expr) -> Found:
        match node:
            case ast.Name(name):
                return self._name(name)
            case ast.Constant(value):
                return value, None
            case ast.Subscript(owner, index):
                value, key = self._value(owner), self._value(index)
                if isinstance(key, int) and isinstance(value, (list, tuple)):
                    key = range(len(value))[key]
                return value[key], self.item(value, key)
            case ast.Attribute(owner, "__dict__"):
                return self.names(self._value(owner)), None
            case ast.Attribute(owner, name):
                return self.attribute(self._value(owner), name)
            case ast.Call(ast.Name("_sg_type"), [inner]):
                value = self._value(inner)
                self.held.append(value)
                self.kind(value)
                return type(value), None
            case ast.Call(ast.Name("_sg_len"), [inner]):
                value = self._value(inner)
                self.length(value)
                return len(value), None
            case ast.Call(ast.Name("_sg_hasattr"), [inner, ast.Constant(str(name))]):
                self.unset(self._value(inner), name)
                return False, None
            case ast.Call(ast.Name("_sg_packed"), [inner]):
                value = self._value(inner)
                self.content(value)
                return packed_form(value), None
            case ast.Call(ast.Name("_sg_repr"), [inner]):
                value = self._value(inner)
                self.members(value)
                return repr(value), None
            case ast.Tuple([ast.Starred(inner)]):
                value = self._value(inner)
                if not isinstance(value, MappingProxyType):  # a class's
                    self.length(value)
                return (*value,), None
            case ast.Compare(ast.Constant(key), [ast.In()], [scope]):
                value = self._value(scope)
                self.keys(value)
                return key in value, None
        raise UnwatchedError

    def _name(self, name: str) -> Found:
        """Return what a name is: a cell's content, a constant, or a global name."""
        if name in self._cells:
            cell = self._cells[name]
            return cell.cell_contents, self.cell(cell)
        if name in self._constants:
            return self._constants[name], None
        if name in self._main:
            return self._main[name], self.entry(self._main, name)
        self.keys(self._main)
        scope = self._main.get("__builtins__", builtins)
        names = vars(scope) if isinstance(scope, ModuleType) else scope
        return names[name], self.entry(names, name)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class Callers:
    """Compiled functions that look at what is read before they compute.

    Parameters
    ----------
    comparison:
        What they look at.
    converted:
        Whether data have to be converted.
    """

    def __init__(self, comparison: Comparison, converted: bool) -> None:
        self._comparison, self._converted = comparison, converted
        self._watch: Watch | None = None
        self._made: dict[int, Callable[..., Any]] = {}
        #: How often words were looked for, and how many calls are still to be compared by Python.
        self._tries, self._left = 0, [0]

    def of(self, function: Callable[..., Any], count: int) -> Callable[..., Any]:
        """Return a function of ``count`` arguments that gives them and the data to another."""
        if self._watch is None or not self._watch.holds():
            self._watch, self._made = self._watched(), {}
        found = self._made.get(id(function))  # which it holds
        if found is None:
            if self._watch is None:
                found = self._comparing(function, count)
            else:
                found = self._watch.caller(function, count)
            if len(self._made) >= KEPT:
                self._made.clear()
            self._made[id(function)] = found
        return found

    def laid_aside(self) -> Any:
        """Return the words and whose they are, and hold them no more."""
        state = self._watch, self._made
        self._watch, self._made = None, {}
        return state

    def taken_up(self, state: Any) -> None:
        """Hold again what was laid aside."""
        self._watch, self._made = state

    def _watched(self) -> Watch | None:
        """Return the words that are as they are now; None if they cannot tell it."""
        if self._left[0] > 0:
            return None
        self._tries += 1
        if self._tries > TRIES and self._tries % 2:
            self._left[0] = PATIENCE
            return None
        self._left[0] = sys.maxsize
        if self._converted or not can_watch(loaded):
            return None
        for _ in range(2):  # an object may have got its dictionary by being asked for it
            watch = Watch(*self._comparison.names)
            try:
                for read, expected in self._comparison.expected:
                    if not watch.finds(read.text, expected, read.how == "is"):
                        self._left[0] = 1  # it has just changed
                        return None
                watch.fetches(self._comparison.data)
            except foreseen(UnwatchedError, *ERRORS):
                return None
            except foreseen(RuntimeError):  # another thread changes a dictionary
                break
            if watch.holds():
                self._left[0] = 0
                return watch
        self._left[0] = PATIENCE
        return None

    def _comparing(self, function: Callable[..., Any], count: int) -> Callable[..., Any]:
        """Return such a function that Python carries out."""
        fetch, left, converted = self._comparison.fetch, self._left, self._converted

        def call(*args: Any) -> Any:
            left[0] -= 1
            values = fetch()
            if values is MISS or left[0] < 0 or len(args) < count:
                return MISS
            if converted:
                values = [as_datum(x, "what the function reads") for x in values]
            return function(*args[:count], *values, *args[count:])  # arrays for results come last

        return call

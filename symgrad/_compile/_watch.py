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
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from .._runtime import MISS, UnwatchedError, Words, watched
from ._cache import loaded
from ._compared import same, unchanged
from ._users import packed_form

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
        super().__init__()
        self._cells, self._constants = cells, constants
        self._main: dict[str, Any] = {} if main is None else main
        self._known: dict[str, Found] = {}
        self._places: list[int] = []
        self._probe: Callable[..., Any] | None = None

    def finds(self, text: str, expected: Any, itself: bool) -> bool:
        """Tell whether an expression is what is expected, and watch that it stays that."""
        value = self._value(_parsed(text))
        if isinstance(expected, np.ndarray):
            return unchanged(self.array(value), expected)
        return value is expected or (not itself and same(value, expected))

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

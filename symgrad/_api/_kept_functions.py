"""Compiled functions that serve one function of the user's after the other.

A solver is called in a loop over data, with a lambda that is made anew in each round. What is
compiled for the first of them serves all others of the same code: it reads the function from a
list, which is, as everything that is read, looked at in each call. What the function closes over
may so be another in each round, and is never what it was before.

What is compiled so is lent to one problem at a time: of constraints that a loop has made each has
its own, and so has each thread.
"""

from __future__ import annotations

import contextlib
import operator
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from .._dispatch import Function

#: Most codes for which something is kept.
KEPT = 256

#: The attribute of a function that is what is kept with it.
NAME = "__symgrad__"


class Kept:
    """What has been made of a function, one of whose attributes it is; it is not pickled."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.made: dict[tuple[Any, ...], Function] = {}
        #: The first that each transformation has made of it, with the code that it had then.
        self.shared: dict[tuple[Any, ...], tuple[tuple[Any, ...], Function]] = {}
        #: What others that serve functions of its code know of it.
        self.laid_aside: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


def kept_by(f: Any) -> Kept:
    """Return what is kept by the function itself, so that they go together."""
    kept = vars(f).get(NAME)
    if kept is None or kept.owner is not f:  # a copy of its attributes (functools.wraps) is not it
        kept = vars(f)[NAME] = Kept(f)
    return kept  # type: ignore[no-any-return]


class Lent:
    """What is compiled for functions of one code, or of several.

    Attributes
    ----------
    held:
        The functions that are called now, in a list that compiled functions read.
    users:
        Those for which it is lent.
    """

    def __init__(self, codes: Hashable) -> None:
        self.codes = codes
        self.held: list[Any] = []
        self.users: tuple[Any, ...] = ()
        self._made: dict[tuple[Any, ...], Function] = {}

    def made(self, maker: Callable[..., Function], *form: Any) -> Function:
        """Return what ``maker`` makes of the list, which is compiled once."""
        key = maker, *form
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = maker(self.held, *form)
        return found

    def serves(self, function: Any) -> bool:
        """Tell whether it is lent for this function."""
        return bool(self.users) and self.users[0] is function

    def take(self, functions: tuple[Any, ...]) -> None:
        """Call these functions from now on."""
        self.users = functions
        if len(self.held) == len(functions) and all(map(is_same, self.held, functions)):
            return
        self.held[:] = functions
        owner = _owner(functions)
        if owner is not None and owner.laid_aside is not None:
            lent, users, states = owner.laid_aside
            if lent is self and all(map(operator.is_, users, functions)):
                for key, state in states.items():
                    self._made[key].taken_up(state)

    def give_back(self) -> None:
        """Have others use it. What is known of a function goes with the function."""
        owner = _owner(self.users)
        if owner is not None:
            states = {key: made.laid_aside() for key, made in self._made.items()}
            owner.laid_aside = self, self.users, states
            self.held.clear()
        self.users = ()
        if len(_free) >= KEPT and self.codes not in _free:
            _free.clear()
        _free.setdefault(self.codes, []).append(self)


def _owner(functions: tuple[Any, ...]) -> Kept | None:
    """Return what the first of the functions keeps, if one can; objects' methods come and go."""
    return next((kept_by(f) for f in functions if isinstance(f, (FunctionType, partial))), None)


def is_same(a: Any, b: Any) -> bool:
    """Tell whether two functions are one; a method is made anew whenever it is asked for."""
    methods = isinstance(a, MethodType) and isinstance(b, MethodType)
    return a is b or (methods and a.__func__ is b.__func__ and a.__self__ is b.__self__)


#: What nobody has, by its codes. Single operations of lists and dictionaries need no lock.
_free: dict[Hashable, list[Lent]] = {}


def lend(*functions: Any) -> Lent | None:
    """Return what is compiled, or will be, for functions like these; it is to be given back.

    None if they are there to stay: a module's own, or compiled ones.
    """
    found = [_code(f) for f in functions]
    if all(code is None for code in found):
        return None
    codes = tuple(f if code is None else code for f, code in zip(functions, found, strict=True))
    free, owner = _free.get(codes, []), _owner(functions)
    last = None if owner is None or owner.laid_aside is None else owner.laid_aside[0]
    known = [x for x in free if x is last or (x.held and all(map(is_same, x.held, functions)))]
    try:
        lent = (known or free)[-1]
        free.remove(lent)
    except (IndexError, ValueError):  # there is none, or another thread was faster
        lent = Lent(codes)
    lent.take(functions)
    return lent


#: The first function of each code that was met by :func:`lend_again`, or its object.
_first: dict[Hashable, weakref.ref[Any]] = {}


def lend_again(function: Any) -> Lent | None:
    """Return what is lent to functions of one code but the first, which has its own for good.

    Functions that close over other whole numbers or texts are other programs, and count as of
    another code: what is compiled for them goes with them.
    """
    if not isinstance(function, (FunctionType, partial, MethodType)):
        return None
    code = _code(function)
    if code is None:
        return None
    owner = function.__self__ if isinstance(function, MethodType) else function
    code = code, tuple(map(_shaping, getattr(function, "__closure__", None) or ()))
    try:
        first = _first.get(code)
        if first is None:
            if len(_first) >= KEPT:
                _first.clear()
            first = _first.setdefault(code, weakref.ref(owner))
    except TypeError:  # not hashable, or of a class with slots
        return None
    return None if first() is owner else lend(function)


def _shaping(cell: Any) -> Any:
    """Return what a function closes over if it shapes the trace, else None."""
    try:
        value = cell.cell_contents
    except ValueError:  # nothing yet
        return None
    return value if type(value) in (int, bool, str) else None


def _code(function: Any) -> Any:
    """Return what functions have in common that the same compiled code may serve, or None."""
    if isinstance(function, partial):
        parts = (function.func, *function.args, *function.keywords.values())
        return ("partial", *(_code(part) or part for part in parts if callable(part)))
    if isinstance(function, MethodType):
        return "method", function.__func__, type(function.__self__)
    if isinstance(function, FunctionType):
        fleeting = "<" in function.__qualname__  # <locals>, <lambda>
        return function.__code__ if fleeting else None
    if function is None or isinstance(function, (Function, type)):
        return None
    return type(function)


class _Solves(threading.local):
    """What the solves of a thread have, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[dict[int, Lent]] = []


_solves = _Solves()


@contextlib.contextmanager
def borrowing() -> Iterator[None]:
    """Give back at the end what a solve has borrowed."""
    mine: dict[int, Lent] = {}
    _solves.stack.append(mine)
    try:
        yield
    finally:
        _solves.stack.pop()
        for lent in reversed(mine.values()):  # the first is the next to be lent
            lent.give_back()


def borrowed(function: Any) -> Lent | None:
    """Return what is lent for a function until the solve ends; None outside of solves."""
    if not _solves.stack:
        return None
    mine = _solves.stack[-1]
    lent = mine.get(id(function)) or lend(function)
    if lent is not None:
        mine[id(function)] = lent
    return lent

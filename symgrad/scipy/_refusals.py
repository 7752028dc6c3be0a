"""Functions that could not be traced: SciPy has them, and they are not tried anew at each call.

To find out that a function cannot be traced takes a hundred times what SciPy takes for a short
problem. What a function reads may change, so that it can be traced after all: it is tried again
after one call, then after three, seven and so on.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

#: Most kinds of functions that are known.
KEPT = 256


class Refusal:
    """Whether functions of one kind were refused by one solver, and why.

    Examples
    --------
    >>> refusal = Refusal()
    >>> refusal.still()
    ''
    >>> refusal.note("it writes to a file")
    >>> refusal.still(), refusal.still()
    ('it writes to a file', '')
    """

    def __init__(self) -> None:
        self._why = ""
        self._left = self._pause = self._last = 0

    def still(self) -> str:
        """Return what was said of the last refusal, where the function is not to be tried yet."""
        if self._left:
            self._left -= 1
            return self._why
        self._last, self._pause = self._pause, 0
        return ""

    def note(self, why: str) -> None:
        """Note that the function has been refused once more, and what the user is told."""
        self._why = why
        self._left = self._pause = 2 * self._last + 1


def codes_of(fun: Any) -> Iterator[Any]:
    """Yield what tells a function from others, as far as it can be hashed."""
    while isinstance(fun, functools.partial):
        fun = fun.func
        yield "partial"
    fun = getattr(fun, "__func__", fun)
    yield getattr(fun, "__code__", None) or type(fun)


def _held(fun: Any) -> Iterator[Any]:
    """Yield what a function closes over, and the attributes of its object."""
    while isinstance(fun, functools.partial):
        yield from (*fun.args, *fun.keywords.values())
        fun = fun.func
    for cell in getattr(getattr(fun, "__func__", fun), "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # bound later
            yield cell.cell_contents
    yield from getattr(getattr(fun, "__self__", fun), "__dict__", {}).values()


@functools.lru_cache(KEPT)
def _refusal(solver: str, kinds: tuple[Any, ...]) -> Refusal:
    return Refusal()


def refusal_of(solver: str, fun: Any) -> Refusal:
    """Return what is known of functions like ``fun`` under a solver.

    They have its code, and hold functions of the same code and objects of the same types: a
    decorator's functions have one code, too.
    """
    held = (getattr(x, "__code__", None) or type(x) for x in _held(fun))
    return _refusal(solver, (*codes_of(fun), *held))

"""Functions of the user's that note how SciPy calls them: a counter, a list of what was tried.

Compiled, they would note one trace, with values that have no numbers. So they are left to SciPy,
and so are those that read what an earlier call has left: the best value, a moving average. And
functions with errors of arithmetic, which they may catch, where compiled code goes on with nan.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from .._capture._effects import Effects
from .._capture._reads import read_by
from .._capture._reads_code import handlers_in, may_raise
from .._core.base.signals import foreseen
from ..errors import TraceError

_NOTES = (
    "it counts its calls, or adds to a list, and compiled it would once for all of them. Write "
    "instead: return what is wanted of it, or note it in a `callback`"
)
_REMEMBERS = (
    "it reads what an earlier call of it has left, and compiled calls leave nothing. Write "
    "instead: note it in a `callback`, or compute it from the result"
)


class _Leaving(threading.local):
    """Whether a function that was traced since this was False leaves values in objects."""

    seen = False


LEAVING = _Leaving()


def _functions(function: Callable[..., Any]) -> Iterator[FunctionType]:
    """Yield a function of the user's, and those that it reads."""
    return (x for x in read_by(function).met.values() if isinstance(x, FunctionType))


def raising_somewhere(function: Callable[..., Any]) -> bool:
    """Tell whether a function may raise an error, or catch one, where compiled code has nan."""
    return any(map(may_raise, _functions(function)))


def catching(function: Callable[..., Any]) -> bool:
    """Tell whether a function may have a value of its own where compiled code has nan."""
    return any(handlers_in(f.__code__, f.__globals__) for f in _functions(function))


def noting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is refused while it is traced if it notes its calls.

    What it sets anew in each call (a simulator's clock) is changed by the first one alone, or is
    not read before it is set. The values of the trace are taken out of it again, and
    ``LEAVING.seen``: a call on numbers is then to leave those.

    Raises
    ------
    TraceError
        What it has noted is undone.
    """

    def called(*args: Any, **kwargs: Any) -> Any:
        walk = read_by(function)
        effects = Effects(walk)
        found = function(*args, **kwargs)
        if effects.note_calls():
            later = Effects(walk)
            function(*args, **kwargs)
            if later.note_calls():
                effects.undo()
                raise TraceError(_NOTES)
        if effects.forget_values():
            try:
                found = function(*args, **kwargs)
            except foreseen(Exception):  # whatever the user's code makes of it
                effects.undo()
                raise TraceError(_REMEMBERS) from None
        if any(True for _ in effects.kept()):
            effects.undo()
            LEAVING.seen = True
        return found

    return called

"""Functions of the user's that note how SciPy calls them: a counter, a list of what was tried.

Compiled, they would note one trace, with values that have no numbers. So they are left to SciPy,
and so are those that read what an earlier call has left: the best value, a moving average.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .._compile._effects import Effects
from .._compile._reads import read_by
from .._op import refused
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
                raise refused(TraceError(_NOTES))
        if effects.forget_values():
            try:
                found = function(*args, **kwargs)
            except Exception:  # noqa: BLE001 - whatever the user's code makes of it
                effects.undo()
                raise refused(TraceError(_REMEMBERS)) from None
        if any(True for _ in effects.kept()):
            effects.undo()
            LEAVING.seen = True
        return found

    return called

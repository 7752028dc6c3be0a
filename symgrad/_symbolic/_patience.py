"""A time limit that holds inside SymPy.

SymPy's simplifications have no time limit of their own, and a single one may take minutes. At
the deadline a profile function is set, which Python calls at every call and return of this
thread; it raises as soon as it is called in SymPy. Unlike a second process it needs no pickling,
and no signal of the user's is taken.

A profile function makes SymPy three times as slow, so that it is only set when time is up: a
timer asks for that, by the one thing that another thread can have the main thread do. In other
threads it is set from the beginning.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import FrameType
from typing import Any, TypeVar

from ..errors import UnsupportedError

T = TypeVar("T")

#: Seconds that simplification may take before it is left at what was found.
SECONDS = 2.0

#: Seconds after which no more names are looked for, and a formula is refused that is not
#: written by then: all of it counts, and for refusal only what this thread itself has worked.
NAMED, WRITTEN = 3.2, 4.0


#: What is said where time has run out.
LATE = "simplifying was given up after a while: shorter forms may exist"

#: What can be read of a function that has no formula for people.
INSTEAD = (
    "read its derivation with sg.explain(f, *args), `symgrad show --explain`, or its program, "
    "sg.compile(f).program(*args), `symgrad show --program`"
)


#: Where time is spent, and whose own modules may be interrupted.
LIBRARIES, OWN = ("sympy.", "mpmath."), ("symgrad._symbolic", "symgrad._show", "symgrad._api")

#: Seconds after which it is raised again, where a callback has swallowed it.
AGAIN = 0.2


class _TimeIsUpError(BaseException):
    """Raised at the deadline; no ``except Exception`` inside SymPy may catch it."""


class Patience:
    """Seconds that simplification may take, over all that is simplified with it.

    Parameters
    ----------
    seconds:
        From now on.

    Attributes
    ----------
    gave_up:
        Whether something was left as it was since time had run out.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.start, self.worked = time.monotonic(), time.thread_time()
        self.deadline = self.start + seconds
        self.gave_up = False

    @classmethod
    def of_a_reader(cls, share: float = 1.0) -> Patience:
        """Return the time that a reader waits for a formula, or a share of it."""
        return cls(SECONDS * share)

    def for_names(self) -> Patience:
        """Return the time for names: as much again, if the whole does not take too long."""
        left = self.start + NAMED - time.monotonic()
        return type(self)(max(min(self.seconds, left), 0.0))

    def over(self) -> bool:
        """Tell whether the time has run out; if so, something is being given up."""
        if time.monotonic() <= self.deadline:
            return False
        self.gave_up = True
        return True

    def among(self, items: Sequence[T]) -> Iterator[T]:
        """Yield items, each of which may take its share of the time that is left."""
        whole = self.deadline
        try:
            for k, item in enumerate(items):
                now = time.monotonic()
                self.deadline = now + (whole - now) / (len(items) - k)
                yield item
        finally:
            self.deadline = whole

    def attempt(self, function: Callable[[Any], T], argument: Any, otherwise: T) -> T:
        """Return ``function(argument)``, or ``otherwise`` if the time runs out in it."""
        try:
            return _limited(partial(function, argument), _Limit(self.deadline), function.__module__)
        except _TimeIsUpError:
            self.gave_up = True
            return otherwise

    def required(self, function: Callable[[], T]) -> T:
        """Return ``function()``, which has no shorter way, or refuse if the time runs out in it.

        In other threads than the main one there is no such limit.

        Raises
        ------
        UnsupportedError
            If it takes too long.
        """
        if threading.current_thread() is not threading.main_thread():
            return function()
        # On a busy machine the clock goes on while this thread waits: what is refused does
        # not depend on that.
        limit = _Limit(self.start + WRITTEN, self.worked + WRITTEN)
        try:
            return _limited(function, limit)
        except _TimeIsUpError:
            raise UnsupportedError(
                f"SymPy has not written the formula in {WRITTEN:g} seconds, so that nobody would "
                f"read it: {INSTEAD}"
            ) from None


class _Limit:
    """When something is to end: by the clock, and by what this thread has worked."""

    def __init__(self, deadline: float, worked: float = 0.0) -> None:
        self.deadline, self.worked = deadline, worked
        self.timer = threading.Timer(0.0, _ask)
        self.watch: Any = None

    def left(self) -> float:
        """Return for how many seconds it need not be asked again."""
        left = self.deadline - time.monotonic()
        return left if left > 0 or not self.worked else self.worked - time.thread_time()

    def wait(self, least: float = 0.0) -> None:
        """Have the main thread asked when time may be up, or again if what was raised is lost."""
        self.timer = threading.Timer(max(self.left(), least), _ask)
        self.timer.daemon = True
        self.timer.start()


#: The limits that hold in the main thread, the innermost last.
_RUNNING: list[_Limit] = []


def _limited(function: Callable[[], T], limit: _Limit, module: str | None = None) -> T:
    """Return ``function()``; raise _TimeIsUpError in it when time is up."""
    before = sys.getprofile()
    if before is not None and getattr(before, "__module__", "") != __name__:
        # Somebody is profiling: the clock is then read between the steps only.
        return function()
    own = (*OWN, module or function.__module__)
    if threading.current_thread() is not threading.main_thread():
        sys.setprofile(_watch_of(own, limit))
        try:
            return function()
        finally:
            sys.setprofile(None)
    limit.watch = _watch_of(own, limit)
    _RUNNING.append(limit)
    try:
        limit.wait()
        return function()
    finally:
        limit.timer.cancel()
        _RUNNING.remove(limit)
        sys.setprofile(None)
        _ring(None)


def _watch_of(own: tuple[str, ...], limit: _Limit) -> Any:
    def watch(frame: FrameType, *_: Any) -> None:
        # What is raised in a generator that the collector closes, or in a callback of its,
        # would only be printed, and the limit would be lost.
        if (
            limit.left() <= 0
            and not frame.f_code.co_flags & inspect.CO_GENERATOR
            and frame.f_globals is not globals()
            and _is_called_by(frame, own)
        ):
            raise _TimeIsUpError

    return watch


def _is_called_by(frame: FrameType | None, own: tuple[str, ...]) -> bool:
    """Tell whether a frame is of some modules, or SymPy called from there.

    Not SymPy called by the callback of a weak reference, to compare what a table is asked for.
    """
    while frame is not None and _module(frame).startswith(LIBRARIES):
        frame = frame.f_back
    return frame is not None and _module(frame).startswith(own)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _ask() -> None:
    ctypes.pythonapi.Py_AddPendingCall(_RING, None)


def _ring(_: Any) -> int:
    """Have the innermost limit watched whose time is up; wait again for the others."""
    for limit in reversed(_RUNNING):
        late = limit.left() <= 0
        if late or not limit.timer.is_alive():
            limit.timer.cancel()
            limit.wait(AGAIN if late else 0.0)
        if late:
            sys.setprofile(limit.watch)
            break
    return 0


_RING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_ring)

"""Limits of time and memory that hold inside SymPy.

SymPy's simplifications have no limit of their own, and a single one may take minutes and all
memory. At the limit a profile function is set, which Python calls at every call and return of
this thread; it raises as soon as it is called in SymPy. In a loop that calls nothing a trace
function does the same at the next line. Unlike a second process it needs no pickling, and no
signal of the user's is taken.

A profile function makes SymPy three times as slow, so that it is only set when the limit is
reached: a thread that watches the clock asks for that, by the one thing that another thread can
have the main thread do. In other threads it is set from the beginning.
"""

from __future__ import annotations

import ctypes
import inspect
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from ..errors import UnsupportedError

T = TypeVar("T")

#: Seconds that simplification may take before it is left at what was found.
SECONDS = 2.0

#: Seconds after which no more names are looked for, and a formula is refused that is not
#: written by then: all of it counts, and for refusal only what this thread itself has worked.
NAMED, WRITTEN = 3.2, 4.0

#: Bytes by which this process may grow while a formula is written. What has a shorter way, such
#: as leaving a formula as it is, may take half of them. Known on Linux only.
MEMORY = 1 << 30

#: What is said where time has run out.
LATE = "simplifying was given up after a while: shorter forms may exist"

#: What can be read of a function that has no formula for people.
INSTEAD = (
    "read its derivation with sg.explain(f, *args), `symgrad show --explain`, or its program, "
    "sg.compile(f).program(*args), `symgrad show --program`"
)


#: Where time is spent, and whose own modules may be interrupted.
LIBRARIES, OWN = ("sympy.", "mpmath."), ("symgrad._symbolic", "symgrad._show", "symgrad._api")

#: Seconds between two looks at the clock and the memory.
TICK = 0.02


class _TimeIsUpError(BaseException):
    """Raised at the limit; no ``except Exception`` inside SymPy may catch it."""


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
        """Return ``function(argument)``, or ``otherwise`` if time or memory run out in it."""
        limit = _Limit(self.deadline, memory=MEMORY // 2)
        try:
            return _limited(partial(function, argument), limit, function.__module__)
        except (_TimeIsUpError, MemoryError):
            self.gave_up = True
            return otherwise

    def required(self, function: Callable[[], T]) -> T:
        """Return ``function()``, which has no shorter way, or refuse if it takes too much.

        In other threads than the main one there is no such limit.

        Raises
        ------
        UnsupportedError
            If it takes too much time or memory.
        """
        if threading.current_thread() is not threading.main_thread():
            return function()
        # On a busy machine the clock goes on while this thread waits: what is refused does
        # not depend on that.
        limit = _Limit(self.start + WRITTEN, self.worked + WRITTEN)
        try:
            return _limited(function, limit)
        except (_TimeIsUpError, MemoryError) as error:
            full = limit.full or isinstance(error, MemoryError)
        within = f"{MEMORY / 2**30:g} GB of memory" if full else f"{WRITTEN:g} seconds"
        raise UnsupportedError(
            f"SymPy has not written the formula in {within}, so that nobody would read it: "
            f"{INSTEAD}"
        )


class _Limit:
    """When something is to end: by the clock and by what this thread has worked, or by memory."""

    def __init__(self, deadline: float, worked: float = 0.0, memory: int | None = None) -> None:
        self.deadline, self.worked = deadline, worked
        self.taken: int = _RUNNING[0].taken if _RUNNING else _resident()
        self.most = self.taken + (memory or MEMORY)
        self.full, self.looked = False, time.monotonic()
        self.watch: Any = None

    def reached(self) -> bool:
        """Tell whether it is to end; of the memory only now and then, which takes longer."""
        now = time.monotonic()
        if now >= self.looked + TICK:
            self.full, self.looked = self.full or _resident() > self.most, now
        return self.full or (now >= self.deadline and time.thread_time() >= self.worked)


def _resident() -> int:
    """Return how many bytes of memory this process has; 0 where it is not known."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


#: The limits that hold in the main thread, the innermost last.
_RUNNING: list[_Limit] = []


def _limited(function: Callable[[], T], limit: _Limit, module: str | None = None) -> T:
    """Return ``function()``; raise _TimeIsUpError in it when a limit is reached."""
    before = sys.getprofile()
    if before is not None and getattr(before, "__module__", "") != __name__:
        # Somebody is profiling: the clock is then read between the steps only.
        return function()
    limit.watch = _watch_of((*OWN, module or function.__module__), limit)
    if threading.current_thread() is not threading.main_thread():
        sys.setprofile(limit.watch)
        try:
            return function()
        finally:
            sys.setprofile(None)
    _RUNNING.append(limit)
    try:
        _Clock.start()
        _ring(None)  # it may be reached already
        return function()
    finally:
        _RUNNING.remove(limit)
        sys.setprofile(None)
        if sys.gettrace() is _nothing:
            sys.settrace(None)
        _ring(None)


def _watch_of(own: tuple[str, ...], limit: _Limit) -> Any:
    def watch(frame: FrameType, *_: Any) -> Any:
        # What is raised in a generator that the collector closes, or in a callback of its,
        # would only be printed, and the limit would be lost.
        if (
            limit.reached()
            and not frame.f_code.co_flags & inspect.CO_GENERATOR
            and frame.f_globals is not globals()
            and _is_called_by(frame, own)
        ):
            raise _TimeIsUpError
        return watch

    return watch


def _nothing(*_: Any) -> None:
    """Trace no function that is called from now on."""


def _is_called_by(frame: FrameType | None, own: tuple[str, ...]) -> bool:
    """Tell whether a frame is of some modules, or SymPy called from there.

    Not SymPy called by the callback of a weak reference, to compare what a table is asked for.
    """
    while frame is not None and _module(frame).startswith(LIBRARIES):
        frame = frame.f_back
    return frame is not None and _module(frame).startswith(own)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


class _Clock:
    """The thread that asks the main thread while limits hold there, and otherwise sleeps.

    It is one for all of them: where memory is short a thread may not start, and Python waits
    for it for ever.
    """

    thread: threading.Thread | None = None
    needed = threading.Event()

    @classmethod
    def start(cls) -> None:
        """See that it looks at the clock; a forked process has none yet."""
        if cls.thread is None or not cls.thread.is_alive():
            cls.needed = threading.Event()
            cls.thread = threading.Thread(target=cls.run, args=(cls.needed,), daemon=True)
            cls.thread.start()
        cls.needed.set()

    @staticmethod
    def run(needed: threading.Event) -> None:
        while needed.wait():
            needed.clear()
            while _RUNNING:
                # By memory, or by the clock: what the main thread has worked only it can tell.
                now, taken = time.monotonic(), _resident()
                if any(now >= limit.deadline or taken > limit.most for limit in (*_RUNNING,)):
                    ctypes.pythonapi.Py_AddPendingCall(_RING, None)
                time.sleep(TICK)


def _ring(_: Any) -> int:
    """Have the innermost limit watched that is reached, if what was raised before is lost."""
    for limit in reversed(_RUNNING):
        if limit.reached():
            sys.setprofile(limit.watch)
            if sys.gettrace() in (None, _nothing):  # no debugger's
                sys._getframe(1).f_trace = limit.watch
                sys.settrace(_nothing)
            break
    return 0


_RING = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_ring)

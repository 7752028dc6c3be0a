"""Errors of signal handlers: they are nobody's in whose code they are raised.

Python calls a handler between two instructions of whatever runs just then, and what the handler
raises (a timeout, say) comes out of there. Code that has another way to go on after an error of
its own must not take it for one: ``except foreseen(Exception):`` in the place of ``except
Exception:``, and ``with tolerating(OSError):`` in that of ``contextlib.suppress(OSError)``.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # typeshed has no stubs for it
import contextlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar

from .class_modules import module_of
from .state import now, reset

E = TypeVar("E", bound=BaseException)

#: Whose errors code of symgrad's may meet, besides Python's own.
_MET = frozenset(("symgrad", "numpy", "scipy", "sympy", "mpmath", "numba", "llvmlite", "pandas"))

#: Whose code raises no errors of a user's classes, but may be running when another thread does.
_RAISE_NONE = frozenset(("symgrad", "llvmlite", "weakref", "_weakrefset"))


def interrupts(error: BaseException | None) -> bool:
    """Tell whether an error is not of the code that it comes out of.

    A handler has raised it; or another thread (``PyThreadState_SetAsyncExc``), as far as that can
    be told: its class is a user's, and symgrad's own code was running, which raises none.
    """
    if error is None:
        return False
    trail, frame = error.__traceback__, None
    while trail is not None:
        frame = trail.tb_frame
        if _is_handler(frame):
            return True
        trail = trail.tb_next
    home = module_of(type(error)).partition(".")[0]
    theirs = home not in _MET and home not in sys.stdlib_module_names
    runs = "" if frame is None else str(frame.f_globals.get("__name__")).partition(".")[0]
    return theirs and runs in _RAISE_NONE


def _is_handler(frame: FrameType) -> bool:
    """Tell whether a frame is a signal handler's: it is given the frame that it interrupts."""
    code, around = frame.f_code, frame.f_back
    several = code.co_flags & inspect.CO_VARARGS
    if around is None or (code.co_argcount < 2 and not several):
        return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(several)]
    given = [frame.f_locals.get(name) for name in names]
    given += [x for rest in given if type(rest) is tuple for x in rest]
    return any(x is around for x in given)


def foreseen(*kinds: type[E]) -> tuple[type[E], ...]:
    """Return kinds of errors for an ``except`` clause, which then lets an interruption through.

    Examples
    --------
    >>> try:
    ...     {}["a"]
    ... except foreseen(LookupError) as error:
    ...     print(error)
    'a'
    """
    return () if interrupts(sys.exc_info()[1]) else kinds


class tolerating:  # noqa: N801 - as contextlib.suppress
    """A block that ends at an error of some kinds, which is not raised."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:  # fmt: skip
        return kind is not None and issubclass(kind, self._kinds) and not interrupts(error)


#: Set right what an interruption may leave half done: see ``fork_safety.py``, and for another
#: library ``_core/codegen/llvm.py``.
REPAIRS: list[Callable[[], None]] = []


#: Where symgrad's files are.
_HERE = str(Path(__file__).parents[2]) + os.sep

#: The signals, as numbers.
_SIGNALS = [*map(int, signal.valid_signals())]


def _handlers() -> dict[int, Callable[..., Any]]:
    """Return the handlers that are functions, by the numbers of their signals.

    ``signal.getsignal`` looks numbers up in an enumeration, and takes a ``ValueError`` that a
    handler raises meanwhile for one that says that there is no such member.
    """
    pairs = zip(_SIGNALS, map(_signal.getsignal, _SIGNALS), strict=True)
    return {n: f for n, f in pairs if type(f) is not int and f is not None}  # 0 and 1 are C's own


class delivering:  # noqa: N801 - a block, as above
    """A block that ends with the error of a handler which was dropped within.

    Python drops one that is raised in a finaliser or in the callback of a weak reference, of which
    making and dropping nodes and machine code have many; NumPy one that is raised while it looks
    up a method of a value. An error that user code catches is not dropped.
    """

    def __init__(self) -> None:
        self._error: BaseException | None = None
        self._own = threading.get_ident() == threading.main_thread().ident  # which has signals
        self._outer: Callable[[Any], Any] = sys.unraisablehook
        self._handlers: dict[int, _Noted] = {}
        self._state = now()

    def __enter__(self) -> None:
        if not self._own:
            return
        try:
            sys.unraisablehook = self._dropped
            for number, handler in _handlers().items():
                if type(handler) is _Noted and not handler.block.open:
                    handler = handler.handler  # of a block that was interrupted in its last lines
                if type(handler) is not _Noted:
                    self._handlers[number] = noted = _Noted(handler, self)
                    signal.signal(number, noted)
        except BaseException:
            self._own = False
            raise

    @property
    def open(self) -> bool:
        """Whether the block has not ended."""
        return self._own

    def note(self, error: BaseException) -> None:
        """Note what a handler raises."""
        self._error = error

    def _dropped(self, what: Any) -> None:
        if self._own and interrupts(what.exc_value):
            self._error = what.exc_value
        else:
            self._outer(what)

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, _: object
    ) -> None:
        if self._own:
            self._own = False
            if sys.unraisablehook == self._dropped:
                sys.unraisablehook = self._outer
            for number, noted in self._handlers.items():
                if _signal.getsignal(number) is noted:
                    signal.signal(number, noted.handler)
        error, self._error = self._error, None  # which refers to this block by its traceback
        if kind is not None or error is not None:
            for end in (raised, error):
                _close_blocks(end)
            for repair in REPAIRS:
                repair()
        reset(self._state)  # also where an error that is no more has left a block open
        if error is not None and error is not raised and not _caught_by_user(error):
            raise error


class _Noted:
    """A signal handler, of which what it raises is noted."""

    def __init__(self, handler: Callable[..., Any], block: delivering) -> None:
        self.handler, self.block = handler, block

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        try:
            return self.handler(number, frame)
        except BaseException as error:
            self.block.note(error)
            raise


#: What a generator's block begins and ends with.
_ENDS = (
    contextlib._GeneratorContextManager.__enter__.__code__,
    contextlib._GeneratorContextManager.__exit__.__code__,
)


def _close_blocks(error: BaseException | None) -> None:
    """End the blocks of symgrad's, the inner first, that an error between two lines has left open.

    The generator of one whose ``__exit__`` is interrupted is closed when it is dropped, with the
    error; and the state is set then that was before it, in the midst of something else.
    """
    left = []
    for trail in _trails(error):
        if trail.tb_frame.f_code in _ENDS:
            block = trail.tb_frame.f_locals["self"].gen
            home = block.gi_code.co_filename
            if home.startswith(_HERE) and block.gi_frame is not None and not block.gi_running:
                left.append(block)
    for block in reversed(left):
        with tolerating(Exception):
            block.close()


def _trails(error: BaseException | None) -> Iterator[TracebackType]:
    """Yield the steps of an error's traceback, and of those that it was raised in place of."""
    met = set()
    while error is not None and id(error) not in met:
        met.add(id(error))
        trail = error.__traceback__
        while trail is not None:
            yield trail
            trail = trail.tb_next
        error = error.__context__


def _caught_by_user(error: BaseException) -> bool:
    """Tell whether the frame that an error has reached, and none above it, is of a user's code."""
    reached = error.__traceback__
    if reached is None or _is_handler(reached.tb_frame):
        return False
    home = str(reached.tb_frame.f_globals.get("__name__")).partition(".")[0]
    return home not in _MET and home not in sys.stdlib_module_names


@contextlib.contextmanager
def holding() -> Iterator[None]:
    """Have the signals that arrive in the block handled at its end.

    A module whose import is interrupted leaves others half imported, and ops half entered.
    """
    if threading.get_ident() != threading.main_thread().ident:  # no other has signals
        yield
        return
    arrived: dict[int, None] = {}

    def note(number: int, frame: FrameType | None) -> None:
        arrived[number] = None

    held = _handlers()
    for number in held:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in held.items():
            if _signal.getsignal(number) is note:
                signal.signal(number, handler)
        for number in arrived:
            signal.raise_signal(number)

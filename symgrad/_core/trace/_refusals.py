"""Refusals that the traced code hides: it takes them for errors of its own, and goes on.

``try: float(x) ... except TypeError`` in a function, ``hasattr(x, name)``, or a thread that keeps
its error for whoever asks: plain numbers raise nothing there, so the trace has left the way that
the plain function takes. Each refusal is noted when it is made. Where the trace ends without one,
its traceback tells who has hidden it: the traceback's first frame is the one that the error has
reached, and no other. Code in C that drops an error has no frame; it was called by the frame that
asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from ...errors import CaptureWarning, SymgradError
from ..base.state import now
from ..graph import (
    Input,
    Node,
    Where,
    is_internal,
    of_symgrad,
    raised_at,
    raised_by_scipy,
    topological,
    warn_user,
)
from ._clocks import Reading
from ._tree import Pair


class Noted(NamedTuple):
    """A refusal, the frame that has asked for what is refused, and its line then."""

    error: SymgradError
    asked: FrameType | None
    line: int


class Refusals:
    """The refusals of a trace."""

    def __init__(self) -> None:
        self._noted: list[Noted] = []
        self._warnings: dict[str, None] = {}
        #: Is shown the frame that asks, before the code around it can catch the error.
        self.before: Callable[[FrameType], None] | None = None

    def warn(self, text: str) -> None:
        """Give a warning when the trace has ended: here the traced code might catch it."""
        self._warnings[text] = None

    def give_warnings(self) -> None:
        """Give the warnings that have waited."""
        for text in self._warnings:
            warn_user(text, CaptureWarning)

    def note(self, error: SymgradError) -> None:
        """Note a refusal that is about to be raised."""
        asked = _asking(sys._getframe(1))
        self._noted.append(Noted(error, asked, 0 if asked is None else asked.f_lineno))
        if self.before is not None and asked is not None:
            self.before(asked)

    def behind(self, error: Exception) -> SymgradError | None:
        """Return the refusal that an error of code in C says in other words; None if there is none.

        Of SciPy's code it is the last one.
        """
        if not self._noted:
            return None
        last, trail = self._noted[-1], error.__traceback__
        while trail is not None and trail.tb_next is not None:
            trail = trail.tb_next
        there = trail is not None and trail.tb_frame is last.asked
        hidden = there and last.error.refuses and _hidden_at(last) is not None
        return last.error if hidden or raised_by_scipy(error) else None

    @property
    def count(self) -> int:
        """How many there are, by which :meth:`forget` tells those that came later."""
        return len(self._noted)

    def forget(self, count: int = 0) -> None:
        """Forget those that came later: of a way that was tried, and is left for another."""
        del self._noted[count:]

    def is_worded_by(self, error: BaseException) -> bool:
        """Tell whether an error comes of the line that a value has refused: C's words for it."""
        trail = error.__traceback__
        while trail is not None and trail.tb_next is not None:
            trail = trail.tb_next
        return trail is not None and any(
            asked is trail.tb_frame and line == trail.tb_lineno for _, asked, line in self._noted
        )

    def raise_hidden(self) -> None:
        """Raise the first one that the traced code has hidden.

        For the time of the trace alone: tracebacks hold frames, and with them what is in these.
        """
        noted, self._noted = self._noted, []
        for one in noted:
            place = _hidden_at(one) if one.error.refuses else None
            if place is not None:
                raise _said(one.error, *place)


def _asked(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of a value's special method, None where symgrad is left before."""
    while frame is not None and of_symgrad(frame.f_code.co_filename):
        if _is_special(frame):
            return frame
        frame = frame.f_back
    return None


def _asking(frame: FrameType | None) -> FrameType | None:
    """Return the frame that has asked a value, by a special method, for what it refuses.

    The first one that is not symgrad's where no special method is between.
    """
    asked = _asked(frame)
    if asked is not None:
        return asked.f_back
    while frame is not None and of_symgrad(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_special(frame: FrameType) -> bool:
    """Tell a special method, which code in C may call."""
    name = frame.f_code.co_name
    return name.startswith("__") and name.endswith("__") and name not in ("__init__", "__call__")


def _hidden_at(noted: Noted) -> tuple[FrameType, int] | None:
    """Return the frame that has hidden a refusal, and its line; None if that is symgrad's own."""
    error, asked, line = noted
    trail = error.__traceback__
    if trail is not None:
        frame = trail.tb_frame
        if not of_symgrad(frame.f_code.co_filename):
            return frame, trail.tb_lineno
        if not _is_special(frame):  # symgrad has tried
            return None
    if asked is None or of_symgrad(asked.f_code.co_filename):
        return None
    return asked, line


def _said(error: SymgradError, frame: FrameType, line: int) -> SymgradError:
    """Return a refusal that says where it was hidden."""
    place = raised_at(error) or _users_line(frame, line)
    if place is not None and error.where is None:
        error.where = str(place)
        error.args = (f"{error.args[0]} [{place}]", *error.args[1:])
    hidden = Where(frame.f_code.co_filename, line, frame.f_code.co_name)
    text = (
        f"{error.args[0]}. The error is hidden at {hidden}, by code that takes it for one of its "
        "own and goes on: with numbers there is none"
    )
    error.args = (text, *error.args[1:])
    error.around = tuple(_modules(frame))
    return error


def _users_line(frame: FrameType | None, line: int) -> Where | None:
    while frame is not None:
        if not is_internal(frame.f_code):
            return Where(frame.f_code.co_filename, line, frame.f_code.co_name)
        frame = frame.f_back
        line = 0 if frame is None else frame.f_lineno
    return None


def _modules(frame: FrameType | None) -> Iterator[tuple[str, str]]:
    """Yield the files and modules that were running."""
    while frame is not None:
        yield frame.f_code.co_filename, str(frame.f_globals.get("__name__"))
        frame = frame.f_back


#: The traces that run, by their inputs: a thread that the traced code has started is in none.
_running: dict[Node, Refusals] = {}


class Running:
    """The block in which a trace runs."""

    def __init__(self, inputs: Sequence[Input], refusals: Refusals) -> None:
        self._inputs, self._refusals = inputs, refusals

    def __enter__(self) -> None:
        _running.update(dict.fromkeys(self._inputs, self._refusals))

    def __exit__(self, *_: object) -> None:
        for node in self._inputs:
            _running.pop(node, None)
        self._refusals.forget()


def note_astray(error: SymgradError) -> None:
    """Note a refusal that is made in a thread that is in no trace, in that of the value asked."""
    if not _running:
        return
    frame: FrameType | None = sys._getframe(1)
    nodes: list[Node] = []
    while frame is not None and of_symgrad(frame.f_code.co_filename):
        nodes += _nodes_in(list(frame.f_locals.values()), _DEPTH)
        frame = frame.f_back
    for refusals in {_running[n] for n in topological(nodes) if n in _running}:
        refusals.note(error)


#: How deep a value of a trace may lie in the arguments of a function that refuses it.
_DEPTH = 3


def _nodes_in(values: Iterable[Any], depth: int) -> Iterator[Node]:
    """Yield the nodes of the values of a trace among values, and in the containers there."""
    for value in values:
        if isinstance(value, Reading):  # which refuses to be asked
            continue
        if isinstance(node := getattr(value, "node", None), Node):
            yield node
        elif isinstance(value, Node):
            yield value
        elif isinstance(value, Pair):
            yield from _nodes_in([getattr(value, k) for k in ("real", "imag")], depth)
        elif depth and type(value) in (tuple, list, dict):
            inner = value.values() if isinstance(value, dict) else value
            yield from _nodes_in(inner, depth - 1)


def note(error: SymgradError) -> None:
    """Note an error where the function that is traced may hide it."""
    refusals = now().refusals
    (note_astray if refusals is None else refusals.note)(error)


SymgradError.note = staticmethod(note)

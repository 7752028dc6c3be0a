"""Tracebacks of the user's own lines: they do not show how a trace gets from one to the next."""

from __future__ import annotations

import dis
import os
from types import TracebackType

from .._capture._ownership import by_symgrad, installed
from .._core.base.stand_in_types import AbsentError
from .._core.graph import Where
from .._core.trace import compiled_call, instead_of_compiled, is_compiled
from ..errors import SymgradError, TraceError


class Shortened:
    """A block whose errors have none of symgrad's frames, but that of the block itself.

    What goes wrong in symgrad, and not in the user's code, keeps the frames below the user's
    last one, for whoever looks for the cause. ``SYMGRAD_TRACEBACK=full`` keeps all.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: object, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or trace is None or os.environ.get("SYMGRAD_TRACEBACK") == "full":
            return
        refused = isinstance(error, (SymgradError, AbsentError))
        trace.tb_next = _shown(trace.tb_next, refused)
        earlier = error.__cause__ or error.__context__
        for _ in range(8):
            if earlier is None:
                return
            earlier.__traceback__ = _shown(earlier.__traceback__, refused)
            earlier = earlier.__cause__ or earlier.__context__


def _shown(trace: TracebackType | None, refused: bool) -> TracebackType | None:
    """Return a traceback without symgrad's frames; those at its end count if not ``refused``."""
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    users = [k for k, file in enumerate(files) if not installed(file)]
    last = len(files) if refused else max(users, default=-1)
    shown = [e for k, (e, file) in enumerate(zip(entries, files, strict=True))
             if k > last or not (by_symgrad(file) or file.startswith("<symgrad"))]  # fmt: skip
    following = None
    for entry in reversed(shown):
        entry.tb_next, following = following, entry
    return following


#: Has no state of its own.
SHORTENED = Shortened()


_RAISE = dis.opmap["RAISE_VARARGS"]


def refused_in_c(error: BaseException) -> TraceError | None:
    """Return what to raise where code that is not Python has said that it takes no traced value.

    None for all other errors: those that Python code raises are the function's own.
    """
    trace = error.__traceback__
    if isinstance(error, (KeyError, StopIteration)) or trace is None:
        return None
    place = last = trace
    while trace is not None:
        if not is_compiled(trace.tb_frame.f_code):
            last = trace
            if not installed(trace.tb_frame.f_code.co_filename):
                place = trace
        trace = trace.tb_next
    code = last.tb_frame.f_code
    if code.co_code[last.tb_lasti] == _RAISE or by_symgrad(code.co_filename):
        return None
    title = compiled_call(last.tb_frame, last.tb_lasti)
    named = type(error) is TypeError and "Traced" in str(error)
    if title is None and not named:
        return None
    instead = "the same in Python and NumPy, or sg.pure_callback around it, which has no derivative"
    if title is not None:
        instead = instead_of_compiled(title)
    code = place.tb_frame.f_code
    where = Where(code.co_filename, place.tb_lineno, code.co_name)
    made = TraceError(
        f"{title or 'code that is not Python'}{', which is compiled,' if title else ''} was given "
        f"a traced value, which has no numbers yet: {error}. Write instead: {instead} [{where}]"
    )
    made.where = str(where)
    return made

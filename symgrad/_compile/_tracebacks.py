"""Tracebacks that show the user's lines, and not how a trace gets from one to the next."""

from __future__ import annotations

import os
from types import TracebackType

from ..errors import SymgradError
from ._users import by_symgrad, installed


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
        refused = isinstance(error, SymgradError)
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

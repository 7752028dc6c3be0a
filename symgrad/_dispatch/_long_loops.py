"""Long loops of Python's: a trace that they make long is given up for loops of the program.

Python executes a loop while it is traced, and each step is written out. That is as fast as can be
where loops are short, and makes a program of 10,000 steps one of some 100,000 operations. So
a trace that has made ``MOST`` operations while a loop of the user's is running ends there. The
function is traced again with its loops as loops of the program, as by ``control_flow=True``. If
that raises an error, or warns, Python's loops are traced to their end after all. A function that
has decided by values in several ways is traced so, too, in place of one more path.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType, FrameType

from .._capture._code_names import once_a_code
from .._capture._ownership import installed
from .._core.base.state import now
from .._core.trace import trace
from ..errors import SlowWarning, TraceError

#: So many operations are fewer than what a loop of the program would cost in most of its calls.
MOST = 20_000


class LongTraceError(BaseException):
    """Ends a trace that a loop makes long. No ``except Exception`` of the user's is for it."""


class Limit:
    """Ends a trace beyond so many operations, if a loop of the user's is running then."""

    def __init__(self) -> None:
        self.left: float = MOST
        self.ended = False

    def reached(self) -> None:
        """End the trace, or let it go on for good."""
        if self.ended or _loop_is_running(sys._getframe()):
            self.ended = True
            raise LongTraceError
        self.left = float("inf")


class Unsaid(list[tuple[str, type[Warning]]]):
    """The warnings of a trace in which there are none but of its slowness: else it ends."""

    def append(self, said: tuple[str, type[Warning]]) -> None:
        if said[1] is not SlowWarning:
            raise TraceError(f"the loops of the program are not Python's: {said[0]}")


def check_ended() -> None:
    """End a trace whose end the traced code has caught."""
    limit = now().limit
    if limit is not None and limit.ended:
        raise LongTraceError


def _loop_is_running(frame: FrameType | None) -> bool:
    """Tell whether a frame of the trace is in a loop that is written in a user's function."""
    while frame is not None and frame.f_code is not trace.__code__:
        code, at = frame.f_code, frame.f_lasti
        users = not code.co_name.startswith("<") and not installed(code.co_filename)
        if users and any(begin <= at <= end for begin, end in _loops_in(code)):
            return True
        frame = frame.f_back
    return False


@once_a_code
def _loops_in(code: CodeType) -> list[tuple[int, int]]:
    """Return where the loops in code begin and end: at jumps back."""
    return [
        (step.argval, step.offset) for step in dis.get_instructions(code)
        if "JUMP_BACKWARD" in step.opname and step.argval <= step.offset
    ]  # fmt: skip

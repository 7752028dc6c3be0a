"""Where an op was applied: noted in a tenth of a microsecond, worked out when it is asked for.

And what happened to memory: when it was written to, and whether that was recorded.
"""

from __future__ import annotations

import itertools
import sys
from types import CodeType, FrameType
from typing import Any, TypeVar

from .._core.base.state import now
from .._core.graph import INTERNAL, Where, is_internal, user_line
from ..errors import ShapeError, SymgradError

E = TypeVar("E", bound=Exception)


def origin(frame: FrameType | None) -> tuple[CodeType | Where | None, int]:
    """Return the innermost place from a frame on that belongs neither to symgrad nor NumPy.

    It is a line that a pass has set, or a code object and an instruction in it.
    """
    given = now().where
    if given is not None:
        return given, 0
    while frame is not None:
        code = frame.f_code
        internal = INTERNAL.get(code.co_filename)
        if internal is None:
            internal = is_internal(code)
        if not internal:
            return code, frame.f_lasti
        frame = frame.f_back
    return None, 0


def line_of(code: CodeType, offset: int) -> Where:
    """Return the user's line of an instruction."""
    found = code.co_firstlineno
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            found = line
            break
    return Where(code.co_filename, found, code.co_name)


def misfit(what: str, error: ValueError) -> ValueError:
    """Return NumPy's error about shapes as one that names the op and the user's line."""
    if isinstance(error, SymgradError) or "shape" not in str(error):
        return error
    return placed(ShapeError(f"{what}: {str(error).strip()}"))


def placed(error: E) -> E:
    """Let an error say the user's line, if it does not."""
    place = user_line(sys._getframe(1))
    if isinstance(error, SymgradError) and error.where is None and place is not None:
        error.where = str(place)
        error.args = (f"{error} [{place}]",)
    return error


def variables() -> dict[str, Any]:
    """Return the user's variables by name, where the call came from: for people to read only."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return {}
    variables = {**frame.f_globals, **frame.f_locals}
    return {k: v for k, v in variables.items() if k.isidentifier() and k[0] != "_"}


#: The clock of nodes and of writes into memory.
clock = itertools.count(1)


class Cell:
    """What happened to a piece of memory that tensors share.

    ``written`` is the date of the last write, ``rebased`` that of the last write that was
    recorded, ``earlier`` that of the one before; ``leaf`` says that a leaf that requires
    gradients has the memory.
    """

    __slots__ = ("earlier", "leaf", "rebased", "written")

    def __init__(self) -> None:
        self.written = self.rebased = self.earlier = 0
        self.leaf = False


class Apart(Cell):
    """The memory of another cell, in tensors that take no part in its record.

    Writes are seen on both sides; that one was recorded concerns the other side alone.
    """

    __slots__ = ("base",)

    def __init__(self, base: Cell) -> None:
        self.base = base
        self.rebased = self.earlier = 0
        self.leaf = False

    @property
    def written(self) -> int:
        """The date of the last write."""
        return self.base.written

    @written.setter
    def written(self, date: int) -> None:
        self.base.written = date

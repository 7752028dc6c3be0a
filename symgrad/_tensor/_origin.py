"""Where an op was applied: noted in a tenth of a microsecond, worked out when it is asked for."""

from __future__ import annotations

import sys
from types import CodeType, FrameType

from .._graph import Where
from .._graph._where import _internal, _is_internal

#: A place in a function's code: the function, and the instruction it was at.
Origin = tuple[CodeType, int]


def origin() -> Origin | None:
    """Return the innermost place on the stack that belongs neither to symgrad nor NumPy."""
    frame: FrameType | None = sys._getframe(2)  # the caller belongs to symgrad
    while frame is not None:
        code = frame.f_code
        internal = _internal.get(code.co_filename)
        if internal is None:
            internal = _is_internal(code)
        if not internal:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def line_of(place: Origin) -> Where:
    """Return the user's line of a place."""
    code, offset = place
    found = code.co_firstlineno
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            found = line
            break
    return Where(code.co_filename, found, code.co_name)


__all__ = ["Origin", "line_of", "origin"]

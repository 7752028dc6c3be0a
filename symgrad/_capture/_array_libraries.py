"""Functions of other array libraries that are given traced values: JAX's, PyTorch's, ..."""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Iterator
from types import FrameType, ModuleType, TracebackType
from typing import Any

import numpy as np

from .._core.graph import Where
from .._core.trace import Traced
from ..errors import TraceError
from ._ownership import LIBRARIES, installed

#: How many errors may be behind one.
BEHIND = 8


def refused_by_library(error: BaseException) -> TraceError | None:
    """Return what to raise where an error comes of a library that was given a traced value.

    None for all others, also for errors of the library's own.
    """
    for trail in _trails(error):
        call = _call_of_library(trail)
        if call is not None:
            return _said(*call)
    return None


def _trails(error: BaseException | None) -> Iterator[list[TracebackType]]:
    """Yield the tracebacks of an error and of those behind it, outermost frame first."""
    for _ in range(BEHIND):
        if error is None:
            return
        trail, entries = error.__traceback__, list[TracebackType]()
        while trail is not None:
            entries.append(trail)
            trail = trail.tb_next
        yield entries
        error = error.__cause__ or error.__context__


def _call_of_library(
    trail: list[TracebackType],
) -> tuple[str, str | None, TracebackType] | None:
    """Return the library, the name of the function that was called, and the user's entry."""
    users = None
    for entry in trail:
        frame = entry.tb_frame
        home = _home(frame.f_globals.get("__name__"))
        if users is not None and home in LIBRARIES and installed(frame.f_code.co_filename):
            if not any(map(_holds_traced, frame.f_locals.values())):
                continue
            return LIBRARIES[home], _called(users)[0], users
        if not installed(frame.f_code.co_filename):
            users = entry
    if users is None or users is not trail[-1]:
        return None
    # In C, or the library has taken its frames out of the traceback.
    name, found = _called(users)
    library = LIBRARIES.get(_home(getattr(found, "__module__", None) or _home_of(name, users)))
    given = any(map(_holds_traced, users.tb_frame.f_locals.values()))
    return (library, name, users) if library is not None and given else None


def _home(module: object) -> str:
    return str(module).partition(".")[0]


def _holds_traced(value: Any, depth: int = 2) -> bool:
    """Tell whether a value is traced, or holds one near by."""
    kind = type(value)
    if isinstance(value, Traced) or hasattr(kind, "overwritten"):
        return True
    if depth and kind in (tuple, list):
        return any(_holds_traced(x, depth - 1) for x in value)
    return bool(depth) and kind is dict and any(_holds_traced(x, depth - 1) for x in value.values())


def _called(entry: TracebackType) -> tuple[str | None, Any]:
    """Return the dotted name that is called at an entry, and the function; None if unknown."""
    code = entry.tb_frame.f_code
    place = next(itertools.islice(code.co_positions(), entry.tb_lasti // 2, None))
    line, last, start, end = place
    if line is None or last is None or start is None or end is None:
        return None, None
    lines = [
        linecache.getline(code.co_filename, k, entry.tb_frame.f_globals).encode()
        for k in range(line, last + 1)
    ]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        tree: Any = ast.parse(b"".join(lines), mode="eval").body
    except SyntaxError:
        return None, None
    if not isinstance(tree, ast.Call):
        return None, None
    function = tree.func
    while isinstance(function, ast.Call):  # jax.jit(f)(x)
        function = function.func
    name = ast.unparse(function)
    return name, _looked_up(name, entry.tb_frame)


def _looked_up(name: str, frame: FrameType) -> Any:
    """Return what a dotted name stands for in a frame, through modules alone; None if nothing."""
    first, *rest = name.split(".")
    found = frame.f_locals.get(first, frame.f_globals.get(first))
    for part in rest:
        found = vars(found).get(part) if isinstance(found, ModuleType) else None
    return found


def _home_of(name: str | None, entry: TracebackType) -> str | None:
    """Return the module that a dotted name begins with."""
    found = None if name is None else _looked_up(name.partition(".")[0], entry.tb_frame)
    return found.__name__ if isinstance(found, ModuleType) else None


def _said(library: str, name: str | None, entry: TracebackType) -> TraceError:
    code = entry.tb_frame.f_code
    own = "" if name is None else name.partition(".")[2] or name
    known: Any = np
    for part in own.split("."):
        known = getattr(known, part, None)
    instead = f"np.{own}, NumPy's" if callable(known) else "the same in NumPy"
    place = Where(code.co_filename, entry.tb_lineno, code.co_name)
    error = TraceError(
        f"{name or 'a function'} of {library} was given a traced value, and takes {library}'s own "
        f"arrays. Write instead: {instead}, which symgrad traces; or sg.pure_callback around it, "
        f"which has no derivative [{place}]"
    )
    error.where = str(place)
    return error

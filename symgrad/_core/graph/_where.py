"""The user's source line behind each node."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import warnings
import weakref
from collections.abc import Callable
from importlib.util import find_spec
from types import CodeType, FrameType
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ..base.package import FOLDER
from ..base.state import now

T = TypeVar("T")


def _folder(package: str) -> str:
    """Return a package's folder, found without importing it; what is no folder without it."""
    spec = find_spec(package)
    return f"<no {package}>" if spec is None else os.path.dirname(str(spec.origin)) + os.sep


_SCIPY = _folder("scipy")
#: Whose functions the user's call, and which call NumPy's on what they are given.
_SKIPPED = (
    FOLDER, os.path.dirname(np.__file__) + os.sep, _SCIPY, functools.__file__,
    os.path.join(os.path.dirname(functools.__file__), "statistics.py"),
    *map(_folder, ("numba", "pandas", "xarray")), "<__array_function__",
)  # fmt: skip


def printable(text: str) -> str:
    """Return text on one line, in which nothing is hidden: it may end up in a comment of code."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def source_name(file: str) -> str:
    """Return how a user knows a source file: by its name, or in IPython as ``In[3]``."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    names: dict[str, Any] = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return f"In[{names[file]}]" if file in names else os.path.basename(file)


class Where(NamedTuple):
    """A line of the user's code."""

    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{printable(source_name(self.filename))}:{self.line}"


class CodeTable(dict[int, tuple[weakref.ref[CodeType], dict[Any, T]]], Generic[T]):
    """What is known of code objects, for as long as they are there.

    By identity: a hash or a comparison of code goes through all functions that are in it.
    """

    def of(self, code: CodeType) -> dict[Any, T]:
        """Return the entries of a code object."""
        number = id(code)
        found = self.get(number)
        if found is None:
            found = weakref.ref(code, lambda _: self.pop(number, None)), {}
            self[number] = found
        return found[1]


#: Files of code, and whether it is a library's or symgrad's: asked for each frame of each step.
INTERNAL: dict[str, bool] = {}
_lines: CodeTable[Where] = CodeTable()


def is_internal(code: CodeType) -> bool:
    """Tell whether code is symgrad's or of what it calls for the user's: NumPy, SciPy, ..."""
    name = code.co_filename
    known = INTERNAL.get(name)
    if known is None:
        # A module that Cython has compiled says a path within its package.
        known = INTERNAL[name] = name.startswith(_SKIPPED) or name.endswith(".pyx")
    return known


def of_symgrad(file: str) -> bool:
    """Tell whether a file of code is symgrad's, or what it has made."""
    return file.startswith((FOLDER, "<symgrad"))


def user_line(start: FrameType | None = None) -> Where | None:
    """Return the innermost line on the stack that belongs neither to symgrad nor NumPy.

    ``start`` is a frame to begin with: Python makes an object of each that is looked at.
    """
    given: Where | None = now().where
    if given is not None:
        return given
    frame: FrameType | None = sys._getframe(1) if start is None else start
    while frame is not None:
        code = frame.f_code
        internal = INTERNAL.get(code.co_filename)
        if internal is None:
            internal = is_internal(code)
        if not internal:
            held = _lines.get(id(code))
            own = _lines.of(code) if held is None else held[1]
            found = own.get(frame.f_lasti)
            if found is None:
                found = Where(code.co_filename, frame.f_lineno, code.co_name)
                # One object for all steps of a line: passes ask whether the line is still the same.
                found = own[frame.f_lasti] = own.setdefault(found, found)
            return found
        frame = frame.f_back
    return None


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn at the innermost line on the stack that is a user's."""
    said = now().said
    if said is not None:
        said.append((text, category))
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_internal(frame.f_code):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def scipy_call() -> str | None:
    """Return the function of SciPy's that the user's code called, as ``scipy.stats.norm.pdf``."""
    found = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code):
        if frame.f_code.co_filename.startswith(_SCIPY):
            found = _public(frame) or found  # a decorator has no public name
        frame = frame.f_back
    return found


def called_by(package: str) -> bool:
    """Tell whether it is a package's code that the user's has called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code):
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            return True
        frame = frame.f_back
    return False


def _public(frame: FrameType) -> str | None:
    """Return the name by which users know a function of SciPy's; None if they do not."""
    name, module = frame.f_code.co_name, str(frame.f_globals.get("__name__", "scipy"))
    first = frame.f_code.co_varnames[:1]
    owner = frame.f_locals.get(*first) if first in (("self",), ("cls",)) else None
    wrapped: Any = frame.f_locals.get("f", frame.f_locals.get("func"))
    if module.startswith("scipy._lib") and hasattr(wrapped, "__name__"):  # a decorator's
        name, module = wrapped.__name__, str(wrapped.__module__)
    parts = module.split(".")
    for count in range(len(parts), 1, -1):
        home = ".".join(parts[:count])
        if any(part.startswith("_") for part in parts[:count]) or home not in sys.modules:
            continue
        names = vars(sys.modules[home])
        if owner is None:
            if name in names:
                return f"{home}.{name}"
            continue
        # Distributions are objects of classes that nobody knows; some are frozen.
        known = getattr(owner, "dist", owner)
        kind = known if isinstance(known, type) else type(known)
        title = next((key for key, value in names.items() if value is known or value is kind), None)
        title = title or getattr(known, "name", None)
        if title in names:
            return f"{home}.{title}" if name[:2] == "__" else f"{home}.{title}.{name}"
    return None


def raised_at(error: BaseException) -> Where | None:
    """Return the innermost line of the user's that ``error`` has passed through."""
    found = None
    trail = error.__traceback__
    while trail is not None:
        code = trail.tb_frame.f_code
        if not is_internal(code):
            found = Where(code.co_filename, trail.tb_lineno, code.co_name)
        trail = trail.tb_next
    return found


def raised_by_scipy(error: BaseException) -> bool:
    """Tell whether an error comes from SciPy, or from what that has in C."""
    trail = error.__traceback__
    while trail is not None and trail.tb_next is not None:
        trail = trail.tb_next
    return trail is not None and trail.tb_frame.f_code.co_filename.startswith(_SCIPY)


def defined_at(function: Callable[..., Any]) -> Where | None:
    """Return the line where a function of the user's is defined."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    code = getattr(function, "__code__", None)
    if code is None or is_internal(code):
        return None
    return Where(code.co_filename, code.co_firstlineno, code.co_name)

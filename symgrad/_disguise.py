"""What a stand-in says that it is: to others the class of what it stands for, to symgrad its own.

``isinstance(x, float)``, ``np.isscalar(x)`` and ``numbers.Number`` ask an object for its
``__class__`` where its type does not answer, so code that tells numbers from arrays takes the
branch that it would take with them. ``type(x)`` asks nobody.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from .errors import TraceError


def stands_for(kind: Callable[[Any], type]) -> Any:
    """Return what a stand-in class has as ``__class__``: ``kind(x)`` for whoever else asks."""

    def answer(self: Any) -> type:
        frame = sys._getframe(1)
        asks = _module(frame)
        # A sparse matrix hands arrays to C, and leaves what it does not know to try for itself.
        if asks.startswith(("symgrad.", "scipy.sparse.")):
            return type(self)
        if asks == "functools" and _module(frame.f_back).startswith("numba."):
            raise TraceError(
                "a Numba function was called on a traced value, and its machine code takes "
                "numbers. Write instead: function.py_func(x), the Python function in it, which "
                "is compiled with the rest"
            )
        return kind(self)

    return property(answer)


def _module(frame: FrameType | None) -> str:
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


def array_class(value: Any) -> type:
    """Return the class that a result of NumPy's has: a number, or an array with axes."""
    return np.ndarray if value.ndim else type(value.dtype.type(0))

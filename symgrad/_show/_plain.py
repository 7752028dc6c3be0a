"""A user's function as it was written, as what is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._compile import Function


def plain(f: Callable[..., Any]) -> Function:
    """Return a function to trace, with nothing around it."""

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return Function(body, f, (plain, (f,), {}))

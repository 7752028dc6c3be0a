"""Python's decisions on values that no example has: in a batch, in the bodies of loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.base.class_modules import module_of
from .._core.base.providers import provided
from .._core.base.signals import foreseen
from .._core.base.state import now, within
from .._core.trace import attempt
from ..errors import TraceError


def with_branches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a traced function whose decisions are branches of the program where they have to be.

    They cannot be taken for all examples of a batch, or for all steps of a loop, at once. So a
    function that takes some is traced once more with its control flow, and that of what it calls,
    rewritten.
    """

    @functools.wraps(function)
    def traced(*args: Any, **kwargs: Any) -> Any:
        followed = now().followed
        if followed is not None:
            return followed.outermost(function)(*args, **kwargs)
        try:
            with attempt():
                return function(*args, **kwargs)
        except TraceError as error:
            if not error.undecided:
                raise
            first = error
        followed = provided("following")
        try:
            with within(followed=followed):
                return followed.outermost(function)(*args, **kwargs)
        except foreseen(Exception) as other:
            if module_of(type(other)).startswith("symgrad."):
                raise
            # It calls itself as long as numbers say so, or a side always raises.
            raise first from None

    return traced

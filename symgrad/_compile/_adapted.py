"""Functions written for plain NumPy, adapted where tracing needs it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ._effects import Effects
from ._reads import Walk, read_by
from ._substitutes import Substitutes

T = TypeVar("T")


def can_be_adapted(walk: Walk) -> bool:
    """Tell whether a function, or what it reads, has another version in a trace."""
    twins = Substitutes(walk, {}, adapted=True)
    return any(twins.root(x) is not x for x in walk.roots)


def adapted(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes an adapted copy of another at each call, and calls it."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        twins = Substitutes(read_by(f), {}, adapted=True)
        try:
            result = twins.root(f)(*twins.given(args), **twins.given(kwargs))
        finally:
            twins.hand_on()
        return twins.outside(result)

    return call


def adapted_if_need_be(
    f: Callable[..., Any], traced: Callable[[Callable[..., Any]], T]
) -> tuple[T, Callable[..., Any]]:
    """Return ``traced(f), f``, or if that raises the same of an adapted function.

    What the function has changed is undone in between.
    """
    walk = read_by(f)
    effects = Effects(walk)
    try:
        return traced(f), f
    except Exception:
        effects.undo()
        if not can_be_adapted(walk):
            raise
    other = adapted(f)
    return traced(other), other

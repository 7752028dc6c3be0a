"""What PyTorch's functions share: words for axes and sizes, pairs as results, examples."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])


class Selected(NamedTuple):
    """What ``max``, ``median``, ``sort`` along a ``dim`` return: values and where they were."""

    values: Any
    indices: Any


def axis_of(dim: Any, axis: Any) -> Any:
    """Return the axis that is meant by either keyword."""
    if dim is not None and axis is not None:
        raise ArgumentError("give dim= or axis=, not both: they mean the same")
    return axis if dim is None else dim


def sizes_of(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """``f(2, 3)`` and ``f((2, 3))`` mean the same."""
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


def example(code: str, shown: str) -> Callable[[F], F]:
    """Add an example to a docstring: code, in which ``x`` is a matrix, and what it shows."""
    matrix = "    >>> x = torch.tensor([[3.0, 1.0], [2.0, 4.0]])\n" * bool(
        re.search(r"\bx\b", code)
    )
    text = "\n    ".join(shown.splitlines())

    def decorate(function: F) -> F:
        function.__doc__ = (
            f"{(function.__doc__ or '').rstrip()}\n\n    Examples\n    --------\n"
            f"    >>> import symgrad.torch as torch\n{matrix}    >>> {code}\n    {text}\n    "
        )
        return function

    return decorate

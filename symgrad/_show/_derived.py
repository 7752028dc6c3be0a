"""Jacobians and Hessians as a reader would write them: as derivatives of what they are of.

They are computed column by column, for as many columns as the example has; a formula of that
would be a case distinction between columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, combinations_with_replacement, product
from typing import Any, NamedTuple

from .._compile import Function
from .._graph import Input

#: How often they differentiate.
TIMES = {"jacobian": 1, "hessian": 2}


class Step(NamedTuple):
    """One transformation: positions of arguments, times, and whether they came as several."""

    argnums: Sequence[int]
    times: int
    several: bool


def derived(f: Callable[..., Any]) -> tuple[Callable[..., Any], list[Step]]:
    """Return what a function is a derivative of, and the steps from it to the function."""
    steps: list[Step] = []
    while isinstance(f, Function):
        make, (inner, *_), options = f._recipe
        if make.__name__ in TIMES and not options.get("holomorphic"):
            argnums, times = options["argnums"], TIMES[make.__name__]
            one = not isinstance(argnums, (tuple, list))
            if any(isinstance(k, str) for k in ((argnums,) if one else argnums)):
                break  # an argument that is passed by name
            steps.append(Step((argnums,) if one else tuple(argnums), times, not one))
        elif make.__name__ != "compile":
            break
        f = inner
    return f, steps[::-1]


def paths(steps: Iterable[tuple[Iterable[Input], int]]) -> list[list[Input]]:
    """Return the inputs to differentiate by in turn, for each of the derivatives."""
    parts = [list(combinations_with_replacement(inputs, times)) for inputs, times in steps]
    return [list(chain(*path)) for path in product(*parts)]


# ---------------------------------------------------------------- as it was written


def plain(f: Callable[..., Any]) -> Function:
    """Return a function to trace, with nothing around it."""

    def body(*args: Any, _top: bool = False, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return Function(body, f, (plain, (f,), {}))

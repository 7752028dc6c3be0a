"""The arrays that a function's code reads from around it, by the names they have there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

#: How many functions deep arrays are looked for.
DEPTH = 3


def arrays_read_by(f: Callable[..., Any]) -> dict[str, Any]:
    """Return the arrays in a function's closure and among its globals, by name.

    Parameters
    ----------
    f:
        A function; of other callables nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> weights = np.ones(3)
    >>> arrays_read_by(lambda x: weights @ x)
    {'weights': array([1., 1., 1.])}
    """
    found: dict[str, Any] = {}
    waiting: list[tuple[Any, int]] = [(inspect.unwrap(f), 0)]
    seen = set()
    while waiting:
        function, depth = waiting.pop(0)
        if not isinstance(function, FunctionType) or function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for name, value in _around(function):
            if isinstance(value, np.ndarray):
                found.setdefault(name, value)
            elif depth < DEPTH:
                waiting.append((value, depth + 1))
    return found


def _around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]

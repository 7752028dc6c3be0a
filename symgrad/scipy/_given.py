"""What solvers are given: numbers, no traced values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from .._op import refuse
from .._ops.np_common import is_traced
from .._state import now
from .._trace._complex import is_complex
from .._trace._known import known_value
from .._trace._namespace import holds, is_function
from ..errors import UnsupportedError

#: Why solvers refuse traced values.
WHY = (
    "a solver works on numbers, and its steps have no derivative: sg.implicit_root and "
    "sg.implicit_minimum differentiate what it finds"
)


def given_numbers(function: Any, why: str, original: Any = None) -> Any:
    """Have a function of SciPy's refuse functions that return traced values.

    They close over traced values. The refusal passes through C, which may print it or make
    another of it: it is raised again. ``original``: whose name the refusal says.
    """
    if not is_function(function):
        return function

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if now().guards is None:
            return function(*args, **kwargs)
        refusals: list[UnsupportedError] = []

        def watched(value: Any) -> Any:
            if not is_function(value):
                return value

            @functools.wraps(value)
            def call(*args: Any, **kwargs: Any) -> Any:
                found = value(*args, **kwargs)
                if holds(found, _is_unknown):
                    try:
                        refuse(original or function, why)
                    except UnsupportedError as error:
                        refusals.append(error)
                        raise
                return found

            return call

        try:
            result = function(*map(watched, args), **{k: watched(x) for k, x in kwargs.items()})
        except Exception:
            if refusals:
                raise refusals[0] from None
            raise
        if refusals:
            raise refusals[0]
        return result

    return checked


def _is_unknown(value: Any) -> bool:
    return is_traced(value) and (is_complex(value) or known_value(value.node) is None)


def on_numbers(solver: Callable[..., Any]) -> Callable[..., Any]:
    """Have a solver refuse traced values, and functions that return them."""
    original = getattr(scipy.optimize, solver.__name__)
    watching = given_numbers(solver, WHY, original)

    @functools.wraps(solver)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if any(holds(x, is_traced) for x in (*args, *kwargs.values())):
            refuse(original, WHY)
        return watching(*args, **kwargs)

    return checked


def start_of(x0: Any) -> Any:
    """Return where a solver starts, as a vector of floats; None if that is for SciPy alone."""
    try:
        x = np.atleast_1d(np.asarray(x0))
        if x.dtype.kind == "c":
            return None  # SciPy's solvers take some complex numbers as they are
        return x if x.dtype.kind == "f" else x.astype(float)
    except (TypeError, ValueError):
        return None


def as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)

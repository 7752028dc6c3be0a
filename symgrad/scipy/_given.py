"""What solvers are given: numbers, no traced values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from .._op import refuse
from .._ops.np_common import is_traced
from .._trace._namespace import holds

#: Why solvers refuse traced values.
WHY = (
    "a solver works on numbers, and its steps have no derivative: sg.implicit_root and "
    "sg.implicit_minimum differentiate what it finds"
)


def on_numbers(solver: Callable[..., Any]) -> Callable[..., Any]:
    """Have a solver refuse traced values."""

    @functools.wraps(solver)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if any(holds(x, is_traced) for x in (*args, *kwargs.values())):
            refuse(getattr(scipy.optimize, solver.__name__), WHY)
        return solver(*args, **kwargs)

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

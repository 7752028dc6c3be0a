"""``scipy.optimize``, for functions that symgrad traces: Rosenbrock's function.

Solvers work on plain arrays and refuse traced values: ``sg.implicit_root`` and
``sg.implicit_minimum`` differentiate what a solver finds.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy import optimize
>>> sg.grad(optimize.rosen)(np.array([1.0, 2.0]))
array([-400.,  200.])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from .._ops.np_common import as_array, is_traced
from .._trace._namespace import Namespace, holds

__all__ = ["rosen"]

_names = Namespace(
    scipy.optimize,
    globals(),
    "a solver works on numbers, and its steps have no derivative: sg.implicit_root and "
    "sg.implicit_minimum differentiate what it finds",
)


def rosen(x: Any) -> Any:
    """Rosenbrock's function, as ``scipy.optimize.rosen``."""
    if not holds(x, is_traced):
        return scipy.optimize.rosen(x)
    x = as_array(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2, axis=0)


def __getattr__(name: str) -> Any:
    return _names(name)


def __dir__() -> list[str]:
    return _names.names()

"""Functions that stand for SciPy's where they are given traced values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as traced_numpy
from .._ops.np_common import is_traced
from .._trace._namespace import holds
from ..errors import UnsupportedError

Function = Callable[..., Any]


def replaces(original: Function) -> Callable[[Function], Function]:
    """Have a function stand for one of SciPy's, which still computes with plain arrays."""

    def decorate(ours: Function) -> Function:
        @functools.wraps(ours)
        def function(*args: Any, **kwargs: Any) -> Any:
            if any(holds(v, is_traced) for v in (*args, *kwargs.values())):
                return ours(*args, **kwargs)
            return original(*args, **kwargs)

        return function

    return decorate


def floats(value: Any) -> Any:
    """Return numbers, lists of them or traced values as an array of floats."""
    array = traced_numpy.asarray(value)
    return array if array.dtype.kind in "fc" else array.astype(np.float64)


def refuse_option(function: str, option: str, value: Any, instead: str) -> None:
    """Say that an option is not followed while tracing, and which are."""
    raise UnsupportedError(
        f"{function} cannot be traced with {option}={value!r}. Write instead: {instead}"
    )

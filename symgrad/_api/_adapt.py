"""Functions that say ``np.zeros`` and ``math.sin``, traced as they stand."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Generic

from .._core.base.pickling import Travels
from .._dispatch import P, R, adapted
from ..errors import ArgumentError


def adapt(f: Callable[P, R]) -> Callable[P, R]:
    """Return a function with its module's ``np``, ``math`` and ``scipy`` bound to symgrad's.

    Tracing adapts a function automatically if it has to. With ``adapt`` the
    function is adapted at once: the arrays that it makes (``np.zeros(n)``,
    ``np.array([x, y])``) take traced values, may be assigned to, and ``math.sin`` takes traced
    numbers. Random numbers are refused unless the function gives their seed: they would be
    drawn once, while tracing.

    Parameters
    ----------
    f:
        A Python function or a method. The functions that it calls, closes over, and finds in
        objects are adapted with it, except those of other installed packages.

    Returns
    -------
    callable
        The function with the same code and other global names, for ``sg.grad`` and all
        others. A copy is made at each call, so that it sees what its global names, closure
        and object are then; what it assigns to them is handed on.

    Raises
    ------
    ArgumentError
        For what has no Python code: built-in functions, classes, compiled functions.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def f(x):
    ...     y = np.zeros(3)
    ...     for i in range(3):
    ...         y[i] = math.sin(x) ** i
    ...     return np.sum(y)
    >>> sg.grad(sg.adapt(f))(0.0)
    np.float64(1.0)
    """
    if isinstance(f, _Adapted):
        return f
    if isinstance(f, functools.partial):
        return functools.partial(adapt(f.func), *f.args, **f.keywords)
    if not isinstance(f, (FunctionType, MethodType)):
        raise ArgumentError(
            f"adapt takes a Python function or a method, not {type(f).__name__}: adapt the "
            "function first, then transform it, sg.grad(sg.adapt(f))"
        )

    return _Adapted(f)


class _Adapted(Travels, Generic[P, R]):
    """A function that makes an adapted copy of another at each call."""

    def __init__(self, f: Callable[P, R]) -> None:
        self._recipe: tuple[Any, ...] = adapt, (f,), {}
        self._adapted, self.plain = adapted(f), f
        functools.update_wrapper(self, f, updated=())
        self.__signature__ = inspect.signature(f)
        del vars(self)["__wrapped__"]

    def _made_by(self) -> tuple[Any, ...]:
        return self._recipe

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self._adapted(*args, **kwargs)
        return result

"""Calls of Python functions that stay as they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.argument_checks import as_text
from .._core.base.state import now
from .._core.ops import callback
from .._core.trace import argument_name, is_value
from ..errors import ArgumentError
from ._custom import custom_jvp


def pure_callback(function: Callable[..., Any], like: Any, *args: Any) -> Any:
    """Call a Python function that is not traced: SciPy's solvers, a table, another program.

    Parameters
    ----------
    function:
        Takes plain NumPy arrays and numbers, returns an array or a number. It must be pure:
        it may be called more than once, or not at all.
    like : array_like
        An array or a number of the result's shape and element type, traced or not.
    *args : array_like
        Arrays and numbers that are passed to ``function``.

    Returns
    -------
    ndarray or number
        The function's result. Under :func:`symgrad.vmap`, those of one call for each example.

    Raises
    ------
    ShapeError, ArgumentError
        If the result is not like ``like``. Exceptions of ``function`` are passed on. Inside
        ``@njit`` they go to ``sys.unraisablehook``, and the result is nan.
    UnsupportedError
        If a derivative is asked for: a rule is given by :func:`symgrad.custom_jvp`,
        :func:`symgrad.custom_vjp` or :func:`symgrad.implicit_root` around the call.

    Notes
    -----
    Named after ``jax.pure_callback``. A compiled program that contains one holds the
    interpreter's lock during the call, is not kept on disk, and belongs to its process.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from scipy.optimize import brentq
    >>> def kepler(e, mean):  # the eccentric anomaly
    ...     return brentq(lambda x: x - e * np.sin(x) - mean, 0.0, np.pi)
    >>> anomaly = sg.implicit_root(
    ...     lambda x, e, mean: x - e * np.sin(x) - mean,
    ...     lambda e, mean: sg.pure_callback(kepler, mean, e, mean),
    ... )
    >>> sg.value_and_grad(anomaly)(0.2, 1.0)
    (np.float64(1.185324), np.float64(1.001968))
    """
    if not callable(function):
        raise ArgumentError(f"pure_callback calls a function, not {type(function).__name__}")
    result, *operands = (
        _array(x, f"argument {argument_name(function, k)}" if k >= 0 else "like")
        for k, x in enumerate((like, *args), -1)
    )
    own = now().callback
    token = callback.token_of(function if own is None else own(function))
    shape, dtype = tuple(result.shape), np.dtype(result.dtype).name
    ranks = (*(len(x.shape) for x in operands), len(shape))
    return callback.CALLBACK(*operands, token=token, shape=shape, dtype=dtype, ranks=ranks)


def debug_print(x: Any, label: str = "") -> Any:
    """Print an array or a number in each call of a compiled function, and return it.

    Python's own ``print`` in a function prints while it is traced, and no numbers. The
    value is printed where it is used: write ``y = sg.debug_print(y, "y")``.

    Parameters
    ----------
    x : array_like
        An array or a number of any shape. Its derivative passes through.
    label:
        The text before it.

    Returns
    -------
    array_like
        The same value. Under :func:`symgrad.vmap` each example is printed.

    Raises
    ------
    UnsupportedError
        For a complex value in a trace: print ``z.real`` and ``z.imag``.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> f = sg.grad(lambda x: np.sum(sg.debug_print(x**2, "squares") ** 2))
    >>> f(np.array([1.0, 2.0]))
    squares: [1. 4.]
    array([ 4., 32.])
    """
    as_text(label, "debug_print: label")
    before = f"{label}: " if label else ""

    def shown(value: Any) -> Any:
        sys.stdout.write(f"{before}{value}\n")
        return value

    if not hasattr(type(x), "__symgrad_bind__"):
        return shown(x)
    printed = custom_jvp(lambda value: pure_callback(shown, value, value))
    printed.defjvp(lambda primals, tangents: (printed(*primals), tangents[0]))
    return printed(x)


def _array(value: Any, what: str) -> Any:
    """Return a traced or eager value as it is, a plain one as an array."""
    if hasattr(type(value), "__symgrad_bind__"):
        return value
    if isinstance(value, (bool, np.bool_)) or is_value(value):
        try:
            return np.asarray(value)
        except ValueError:
            raise ArgumentError(f"pure_callback: {what} is a ragged list") from None
    raise ArgumentError(
        f"pure_callback: {what} is an array or a number, not {type(value).__name__}"
    )

"""Implicit differentiation: the derivative of a solution, whatever has found it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._trace import require_traced
from ..errors import ArgumentError, ShapeError
from ._at_values import jvp
from ._custom import custom_jvp
from ._matrices import jacobian
from ._transforms import grad


def implicit_root(residual: Callable[..., Any], solver: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``solver`` with the derivative of the root that it finds.

    Parameters
    ----------
    residual:
        ``residual(x, *args)``: zero at the solution, of the shape of ``x``.
    solver:
        ``solver(*args)`` returns ``x``: an array or a number. How it finds it does not matter:
        it is not differentiated.

    Returns
    -------
    A function of the solver's arguments.

    Notes
    -----
    Where ``F(x, a) = 0``, ``dx = -(dF/dx)^-1 dF/da da``: one linear system for each
    derivative, of any order, instead of the derivative of all iterations.
    Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def solve(a):
    ...     return sg.fori_loop(0, 8, lambda i, x: x - (x**3 - a) / (3 * x**2), 1.0)
    >>> cube_root = sg.implicit_root(lambda x, a: x**3 - a, solve)
    >>> sg.grad(cube_root)(8.0), sg.grad(sg.grad(cube_root))(8.0)
    (np.float64(0.083333), np.float64(-0.006944))
    """
    for what, given in (("residual", residual), ("solver", solver)):
        if not callable(given):
            raise ArgumentError(f"implicit_root: {what} is a function, not {type(given).__name__}")
    root = custom_jvp(solver)

    def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
        x = root(*primals)
        known = require_traced(x, "the solver's result")
        if known.dtype.kind != "f":
            raise ArgumentError(f"implicit_root: the solution is real, not {known.dtype}")
        value, moved = jvp(lambda *args: residual(x, *args), primals, tangents)
        if np.shape(value) != np.shape(x):
            raise ShapeError(
                f"implicit_root: the residual has shape {np.shape(value)} for a solution of "
                f"shape {np.shape(x)}; there are as many equations as unknowns"
            )
        slope = jacobian(lambda y: residual(y, *primals))(x)
        if x.ndim == 0:
            return x, -moved / slope
        size = x.size
        step = np.linalg.solve(np.reshape(slope, (size, size)), np.reshape(moved, (size,)))
        return x, -np.reshape(step, x.shape)

    root.defjvp(functools.wraps(residual)(rule))
    return root


def implicit_minimum(
    objective: Callable[..., Any], solver: Callable[..., Any]
) -> Callable[..., Any]:
    """Return ``solver`` with the derivative of the minimum that it finds.

    Parameters
    ----------
    objective:
        ``objective(x, *args)``: the number that is least at the solution.
    solver:
        ``solver(*args)`` returns ``x``; it is not differentiated.

    Returns
    -------
    A function of the solver's arguments.

    Notes
    -----
    The root of the gradient, see :func:`implicit_root`: the objective needs a second
    derivative that is positive at the minimum.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> def ridge(x, penalty):
    ...     return (x - 3.0) ** 2 + penalty * x**2
    >>> def descend(penalty):
    ...     return sg.fori_loop(0, 99, lambda i, x: x - 0.1 * sg.grad(ridge)(x, penalty), 0.0)
    >>> best = sg.implicit_minimum(ridge, descend)
    >>> sg.compile(best)(0.5), sg.grad(best)(0.5)
    (np.float64(2.0), np.float64(-1.333333))
    """
    if not callable(objective):
        raise ArgumentError(
            f"implicit_minimum: objective is a function, not {type(objective).__name__}"
        )
    return implicit_root(grad(objective), solver)

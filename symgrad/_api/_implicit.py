"""Implicit differentiation: the derivative of a solution, whatever has found it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.state import repeating, within_body
from .._core.control import close
from .._core.graph import Input
from .._core.rewrite import rewrite
from .._core.trace import Traced, as_node, require_traced, substitute
from ..errors import ArgumentError, ShapeError
from ._at_values import jvp
from ._custom import custom_jvp, stop_gradient
from ._matrices import jacobian
from ._transforms import grad

#: How systems with the Jacobian of a function at a point are solved.
Solving = Callable[[Callable[[Any], Any], Any], Callable[[Any], Any]]


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
    callable
        A function of the solver's arguments.

    Raises
    ------
    ArgumentError
        If one of them is no function.
    ShapeError
        If the residual has another shape than the solution.

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
    return _Root(residual, solver)


class _Root(custom_jvp[Any]):
    """A solver with the derivative of the root that it finds."""

    def __init__(self, residual: Callable[..., Any], solver: Callable[..., Any]) -> None:
        super().__init__(solver)
        self.residual = residual
        self.defjvp(functools.wraps(residual)(_rule_of(self, residual)))

    def _made_by(self) -> tuple[Any, ...]:
        return implicit_root, (self.residual, self.fun), {}


def _rule_of(
    root: custom_jvp, residual: Callable[..., Any], by_element: bool = False,
    solving: Solving | None = None,
) -> Callable[[Any, Any], tuple[Any, Any]]:  # fmt: skip
    """Return the forward rule of the root of ``residual``."""

    def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
        x = root(*primals)
        known = require_traced(x, "the solver's result")
        if known.dtype.kind != "f":
            raise ArgumentError(f"implicit_root: the solution is real, not {known.dtype}")
        real = [
            k for k, a in enumerate(primals) if getattr(a, "dtype", np.dtype(float)).kind in "fc"
        ]

        def at(*values: Any) -> Any:
            args = list(primals)
            for k, a in zip(real, values, strict=True):
                args[k] = a
            return residual(x, *args)

        value, moved = jvp(at, *(tuple(v[k] for k in real) for v in (primals, tangents)))
        if np.shape(value) != np.shape(x):
            raise ShapeError(
                f"implicit_root: the residual has shape {np.shape(value)} for a solution of "
                f"shape {np.shape(x)}; there are as many equations as unknowns"
            )
        if by_element or x.ndim == 0:
            slope = jvp(lambda y: residual(y, *primals), (x,), (np.ones_like(x),))[1]
            return x, -moved / slope
        if solving is not None:
            return x, -solving(lambda y: residual(y, *primals), x)(moved)
        slope = jacobian(lambda y: residual(y, *primals))(x)
        size = x.size
        step = np.linalg.solve(np.reshape(slope, (size, size)), np.reshape(moved, (size,)))
        return x, -np.reshape(step, x.shape)

    return rule


def root_at(
    residual: Callable[[Any], Any], found: Any, ok: Any = True, *, by_element: bool = False,
    solving: Solving | None = None,
) -> Any:  # fmt: skip
    """Return ``found``, a root, with its derivatives by what ``residual`` closes over.

    Parameters
    ----------
    residual:
        Zero at ``found``, and of its shape; what it uses of the trace around are the arguments
        by which the root is differentiated.
    found:
        A traced value, which is not differentiated.
    ok:
        Whether it is a root; where not, the result is nan, and so are its derivatives.
    by_element:
        Whether each element of the residual depends on that of its argument alone.
    solving:
        ``solving(residual, x)`` returns the solution of systems with the Jacobian there as a
        function of the right-hand side, where it has a structure.
    """
    spoilt = stop_gradient(np.where(ok, 0.0, np.nan))
    found = require_traced(stop_gradient(found + spoilt), "the solution")
    inside = Input("x", found.node.shape, found.dtype)
    with within_body(), repeating():
        zero = as_node(residual(Traced(inside)))
    closed = close([inside], rewrite([zero]))
    own = [closed.inputs[0], *closed.stand_ins]
    if not closed.captured:
        return found

    def equations(x: Any, *values: Any) -> Any:
        swap = dict(zip(own, map(as_node, (x, *values[2:])), strict=True))
        return Traced(substitute(closed.outputs, swap)[0])

    root = custom_jvp(lambda x, *_: x)
    rule = _rule_of(root, equations, by_element, solving)

    def failing(primals: Any, tangents: Any) -> tuple[Any, Any]:
        # Also where the residual's own derivative would be zero: it may be nan by a selection.
        x, moved = rule(primals, tangents)
        real = [t for t, a in zip(tangents[2:], primals[2:], strict=True) if a.dtype.kind == "f"]
        own = [t if by_element and t.shape == x.shape else np.sum(t) for t in real]
        return x, moved + primals[1] * sum(own)

    root.defjvp(failing)
    return root(found, spoilt, *map(Traced, closed.captured))


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
    callable
        A function of the solver's arguments.

    Raises
    ------
    ArgumentError
        If ``solver`` is no function.

    Notes
    -----
    The root of the gradient, see :func:`implicit_root`: the objective needs a second
    derivative that is positive at the minimum; where it is singular, derivatives are nan.

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

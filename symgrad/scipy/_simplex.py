"""Minima by the values of a function alone: the simplices of Nelder and Mead, as a loop.

The simplex ends within ``xatol`` of a minimum, which is too far for derivatives of the solution:
Newton's steps bring its best point to rounding where the function is smooth there. At a kink the
point stays as it is, and its derivatives are nan.

Sources: J. A. Nelder, R. Mead, A Simplex Method for Function Minimization, Comput. J. 7, 1965;
F. Gao, L. Han, Comput. Optim. Appl. 51, 2012 (the parameters by the dimension); steps, order and
ends as in ``scipy.optimize``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from .. import numpy as traced_numpy
from .._api._custom import custom_jvp, stop_gradient
from .._api._matrices import hessian
from .._api._transforms import grad
from .._core.ops.np_common import as_array
from .._syntax._control import cond, while_loop
from ..errors import SymgradError
from ._descent import Box, minimum, where_smooth

MESSAGE = (
    "In traced code success tells whether the simplex became as small as asked for; where it did "
    "not, x is nan."
)

#: Most of Newton's steps after the simplex, each of which has to make the gradient smaller.
STEPS = 20


class Simplex(NamedTuple):
    """A simplex, by the values at its corners.

    Attributes
    ----------
    corners, values:
        Of shapes (n + 1, n) and (n + 1,), the least value first.
    steps, calls:
        How many steps were taken, and how often the function was called.
    """

    corners: Any
    values: Any
    steps: Any
    calls: Any

    def sorted(self) -> Simplex:
        order = np.argsort(self.values)
        return self._replace(corners=self.corners[order], values=self.values[order])

    def small(self, xatol: Any, fatol: Any) -> Any:
        """Tell whether the corners and the values are as close as asked for."""
        near = np.max(np.abs(self.corners[1:] - self.corners[0])) <= xatol
        return near & (np.max(np.abs(self.values[0] - self.values[1:])) <= fatol)


def nelder_mead(
    value: Callable[[Any], Any], start: Any, box: Box | None, tol: Any, given: dict[str, Any]
) -> OptimizeResult:
    """Minimise a function by its values.

    Parameters
    ----------
    value:
        Of a vector, shape (n,), to a number.
    start:
        Where to begin, shape (n,).
    box:
        Bounds of the variables, if there are any.
    tol, given:
        SciPy's tolerance and options: ``xatol``, ``fatol``, ``maxiter``, ``maxfev``, ``adaptive``
        and ``initial_simplex``.

    Returns
    -------
    OptimizeResult
        With SciPy's fields. ``x`` has derivatives by what ``value`` closes over, those of the
        implicit function theorem.
    """
    n = start.shape[0]
    xatol = given.get("xatol", 1e-4 if tol is None else tol)
    fatol = given.get("fatol", 1e-4 if tol is None else tol)
    most_steps, most_calls = _limits(given.get("maxiter"), given.get("maxfev"), 200 * n)
    inside: Callable[[Any], Any] = (lambda x: x) if box is None else box.inside
    corners = _first_simplex(inside(start), given.get("initial_simplex"))
    if box is not None:
        over = corners > box.upper
        corners = inside(np.where(over, 2 * box.upper - corners, corners))

    expand, contract, shrink = 2.0, 0.5, 0.5
    if given.get("adaptive"):
        expand, contract, shrink = 1 + 2 / n, 0.75 - 1 / (2 * n), 1 - 1 / n

    def values_at(points: Any) -> Any:
        return traced_numpy.stack([value(points[k]) for k in range(int(n) + 1)])

    def step(s: Simplex) -> Simplex:
        worst, top = s.corners[-1], s.values[-1]
        center = np.sum(s.corners[:-1], axis=0) / n
        reflected = inside(2 * center - worst)
        at_reflected = value(reflected)
        lowest, outside = at_reflected < s.values[0], at_reflected < top

        def other() -> tuple[Any, ...]:
            far = np.where(lowest, expand, np.where(outside, contract, -contract))
            point = inside((1 + far) * center - far * worst)
            there = value(point)
            better = np.where(outside & ~lowest, there <= at_reflected,
                              there < np.where(lowest, at_reflected, top))  # fmt: skip
            x = np.where(better, point, np.where(lowest, reflected, worst))
            return (
                x,
                np.where(better, there, np.where(lowest, at_reflected, top)),
                1,
                (~better & ~lowest),
            )

        x, fx, more, shrinks = cond(
            ~lowest & (at_reflected < s.values[-2]),
            lambda: (reflected, at_reflected, 0, np.bool_(False)), other,
        )  # fmt: skip
        corners = np.concatenate([s.corners[:-1], x[np.newaxis]])
        values = np.concatenate([s.values[:-1], np.reshape(fx, (1,))])

        def shrunk() -> tuple[Any, Any]:
            first = s.corners[0]
            new = inside(first + shrink * (s.corners[1:] - first))
            new = np.concatenate([first[np.newaxis], new])
            return new, values_at(new)

        corners, values = cond(shrinks, shrunk, lambda: (corners, values))
        calls = s.calls + 1 + more + np.where(shrinks, n, 0)
        return Simplex(corners, values, s.steps + 1, calls).sorted()

    found = while_loop(
        lambda s: ~s.small(xatol, fatol) & (s.steps < most_steps) & (s.calls < most_calls), step,
        Simplex(corners, values_at(corners), 1, n + 1).sorted(),
    )  # fmt: skip
    status = np.where(found.calls >= most_calls, 1, np.where(found.steps >= most_steps, 2, 0))
    ok = (status == 0) & np.isfinite(found.values[0])
    x = _exact(value, found, xatol, ok, box)
    return OptimizeResult(
        x=x, fun=value(x), nit=found.steps, nfev=found.calls, status=status, success=ok,
        message=MESSAGE, final_simplex=(found.corners, found.values),
    )  # fmt: skip


def _limits(steps: Any, calls: Any, usual: Any) -> tuple[Any, Any]:
    """Return the most steps and calls, as SciPy has them of those given."""
    if steps is None:
        steps = usual if calls is None or calls is np.inf else np.inf
        return steps, usual if calls is None else calls
    return steps, (usual if steps is np.inf else np.inf) if calls is None else calls


def _first_simplex(start: Any, given: Any) -> Any:
    n = start.shape[0]
    if given is None:
        moved = np.where(start != 0, 1.05 * start, 0.00025)
        rest = np.where(np.eye(n) == 1, moved, start)
        return np.concatenate([start[np.newaxis], rest])
    corners = stop_gradient(1.0 * as_array(given))
    if corners.ndim != 2 or corners.shape[0] != corners.shape[1] + 1:
        raise ValueError("`initial_simplex` should be an array of shape (N+1,N)")
    if corners.shape[1] != n:
        raise ValueError("Size of `initial_simplex` is not consistent with `x0`")
    return corners


# ---------------------------------------------------------------- the derivatives of a minimum


def _exact(value: Any, found: Simplex, xatol: Any, ok: Any, box: Box | None) -> Any:
    """Return the minimum next to the best corner, with its derivatives."""
    best = found.corners[0]
    try:
        slope, curved = grad(value), hessian(value)
        closer, smooth = _closer(slope, curved, found, xatol, box)
    except SymgradError as error:  # a function without derivatives has a minimum, too
        return _underivable(np.where(ok, best, np.nan), error)
    return where_smooth(minimum(slope, closer, ok, box), smooth)


def _underivable(x: Any, error: SymgradError) -> Any:
    """Return x, whose derivatives raise the error that the function's have raised."""

    def refuse(primals: Any, tangents: Any) -> Any:
        raise error

    same = custom_jvp(lambda x: x + 0.0)
    same.defjvp(refuse)
    return same(x)


def _closer(
    slope: Any, curved: Any, found: Simplex, xatol: Any, box: Box | None
) -> tuple[Any, Any]:
    """Take Newton's steps from the best corner, and tell whether they arrived at a minimum."""
    best = found.corners[0]  # constant, as all that follows: no derivative is taken through it
    if box is not None:  # corners are clipped, the best one perhaps not
        steep = slope(best)
        best = np.where((steep > 0) & (best - box.lower <= xatol), box.lower, best)
        best = np.where((steep < 0) & (box.upper - best <= xatol), box.upper, best)

    def newton(x: Any) -> tuple[Any, Any, Any]:
        steep, bend = stop_gradient(slope(x)), stop_gradient(curved(x))
        if box is not None:
            steep, bend = box.fixed(x, steep, bend)
        curve = np.linalg.eigvalsh(bend)
        return np.max(np.abs(steep)), np.linalg.solve(bend, steep), curve[0] > 1e-14 * curve[-1]

    # As far as the simplex may be from a minimum, and values level out.
    reach = 100 * xatol + 1e-3 * (1 + np.abs(best))

    def step(state: Any) -> Any:
        x, level, move, convex, k, _ = state
        new = x - move if box is None else box.inside(x - move)
        there = newton(new)
        good = convex & (there[0] < level) & np.all(np.abs(new - best) <= reach)
        kept = [np.where(good, a, b) for a, b in zip((new, *there), state[:4], strict=True)]
        return (*kept, k + 1, good)

    x, _, move, convex, _, _ = while_loop(
        lambda s: s[5] & (s[4] < STEPS), step, (best, *newton(best), 0, np.bool_(True))
    )
    near = np.all(np.abs(move) <= 1e-7 * (1 + np.abs(x)))
    return stop_gradient(x), stop_gradient(convex & near)

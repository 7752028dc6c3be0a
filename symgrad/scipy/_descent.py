"""Minima in traced code: damped Newton and Gauss-Newton steps as a loop of the program.

One loop serves ``minimize`` (with exact Hessians), ``least_squares`` and ``curve_fit`` (with
those of Gauss and Newton) and, on sums of squares, ``root``. Where it ends without a minimum all
that comes of it is nan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._api._custom import custom_jvp, stop_gradient
from .._api._implicit import root_at
from .._core.ops.np_common import as_array
from .._syntax._control import while_loop

EPS = float(np.finfo(float).eps)

#: Why a descent has ended: SciPy's numbers in ``least_squares``. STUCK: no step makes the value
#: smaller, though tests for a minimum fail.
RUNNING, GRADIENT, VALUE, STEP, BOTH, STUCK = 0, 1, 2, 3, 4, -1


class Model(NamedTuple):
    """A function near a point, as a paraboloid.

    Attributes
    ----------
    value, slope:
        The function and its gradient.
    bend:
        Its Hessian, or a matrix that stands for it: positive semidefinite, shape (n, n).
    """

    value: Any
    slope: Any
    bend: Any


class State(NamedTuple):
    """Where a descent is.

    Attributes
    ----------
    x, near:
        The best point, and the function there.
    scale:
        Typical slopes by each variable, by which steps are measured.
    damping, growth:
        What is added to the Hessian, and by what that grows if the next step is no good.
    steps, status:
        How many were tried, and why no more are.
    """

    x: Any
    near: Model
    scale: Any
    damping: Any
    growth: Any
    steps: Any
    status: Any


class Tests(NamedTuple):
    """When a descent ends: relative to the value, to x, and the largest slope."""

    ftol: Any
    xtol: Any
    gtol: Any


class Box(NamedTuple):
    """Bounds, each of shape (n,)."""

    lower: Any
    upper: Any

    def free(self, x: Any, slope: Any) -> Any:
        """Tell which variables no bound keeps from going down the slope; none that are nan."""
        return ((x > self.lower) | (slope <= 0)) & ((x < self.upper) | (slope >= 0))

    def inside(self, x: Any) -> Any:
        """Return the nearest point within the bounds."""
        return np.minimum(np.maximum(x, self.lower), self.upper)

    def fixed(self, x: Any, slope: Any, matrix: Any) -> tuple[Any, Any]:
        """Return a slope and a matrix for a step that leaves all but the free variables."""
        free = self.free(x, slope)
        both = np.reshape(free, (-1, 1)) & free
        return np.where(free, slope, 0.0), np.where(both, matrix, np.eye(x.shape[0]))


def descend(
    model: Callable[[Any], Model], start: Any, tests: Tests, most: Any, box: Box | None = None
) -> State:
    """Minimise by steps ``-(bend + damping * scale**2)^-1 slope``, where they keep their promise.

    Source: D. W. Marquardt, 1963, with the scaling of J. J. More, The Levenberg-Marquardt
    Algorithm, 1978; bounds as D. P. Bertsekas, Projected Newton Methods, 1982.
    """
    eye = np.eye(start.shape[0])

    def step(s: State) -> State:
        slope, bend = s.near.slope, s.near.bend
        matrix = bend + s.damping * (s.scale * s.scale) * eye
        if box is not None:
            slope, matrix = box.fixed(s.x, slope, matrix)
        new = s.x - np.linalg.solve(matrix, slope)
        if box is not None:
            new = box.inside(new)
        there, move = model(new), new - s.x
        promised = -(s.near.slope @ move + 0.5 * move @ (bend @ move))
        gained = s.near.value - there.value
        finite = np.isfinite(there.value + np.sum(there.slope) + np.sum(there.bend))
        ratio = np.where(finite & (promised > 0), gained / promised, -1.0)
        # No smaller value can be told from this one; a smaller slope can.
        flat = finite & (np.abs(promised) <= 4 * EPS * np.abs(s.near.value))
        better = flat & (steepest(new, there.slope) < steepest(s.x, s.near.slope))
        good = (ratio > 1e-4) | better

        length, size = np.sqrt(move @ move), np.sqrt(s.x @ s.x)
        by_value = finite & (gained < tests.ftol * s.near.value) & (ratio > 0.25)
        by_step = finite & (length < tests.xtol * (tests.xtol + size))
        status = np.where(by_value & by_step, BOTH, np.where(by_value, VALUE,
                 np.where(~better & (by_step | flat), STEP, RUNNING)))  # fmt: skip
        status = np.where((status == RUNNING) & (s.damping > 1e20), STUCK, status)
        near = Model(*(np.where(good, a, b) for a, b in zip(there, s.near, strict=True)))
        x = np.where(good, new, s.x)
        status = np.where(good & is_level(x, near.slope), GRADIENT, status)
        shrunk = np.where(ratio > 0.75, 0.1, np.where(ratio < 0.25, 4.0, 1.0))
        scale = np.maximum(s.scale, _scale(near.bend))
        # No variable is to be damped more only because it is measured anew.
        shrunk = np.min((s.scale / scale) ** 2) * np.where(good, shrunk, s.growth)
        return State(
            x, near, scale, s.damping * shrunk, np.where(good, 4.0, 2 * s.growth), s.steps + 1,
            status,
        )  # fmt: skip

    def steepest(x: Any, slope: Any) -> Any:
        steep = np.abs(slope) if box is None else np.where(box.free(x, slope), np.abs(slope), 0.0)
        return np.max(steep)

    def is_level(x: Any, slope: Any) -> Any:
        return steepest(x, slope) <= tests.gtol

    x = start if box is None else box.inside(start)
    near = model(x)
    scale = _scale(near.bend)
    scale = np.where(scale > 0, scale, 1.0)
    finite = np.isfinite(near.value + np.sum(near.slope) + np.sum(near.bend))
    status = np.where(finite, np.where(is_level(x, near.slope), GRADIENT, RUNNING), STUCK)
    found = while_loop(
        lambda s: (s.status == RUNNING) & (s.steps < most), step,
        State(x, near, scale, 1e-3, 4.0, 0, status),
    )  # fmt: skip
    return found._replace(status=np.where(_ended(found, box), found.status, STUCK))


def _ended(found: State, box: Box | None) -> Any:
    """Tell whether a descent has ended at a minimum, or has had all its steps.

    A step may be short because it is damped: without damping there is to be little left.
    """
    rest, length, size = _ahead(found, box)
    little = (rest <= 1e-4 * np.abs(found.near.value)) | (length <= 1e-4 * (size + 1e-4))
    return (found.status == GRADIENT) | (found.status <= RUNNING) | little


def at_rounding(found: State, box: Box | None) -> Any:
    """Tell whether a descent has ended since it came as near to a minimum as rounding lets it."""
    _, length, size = _ahead(found, box)
    return ((found.status == STEP) | (found.status == BOTH)) & (length <= 1e-6 * (size + 1e-6))


def _ahead(found: State, box: Box | None) -> tuple[Any, Any, Any]:
    """Return what a step without damping promises, how long it is, and how long x is."""
    slope, bend = found.near.slope, found.near.bend
    matrix = bend + 1e-10 * (found.scale * found.scale) * np.eye(found.x.shape[0])
    if box is not None:
        slope, matrix = box.fixed(found.x, slope, matrix)
    move = np.linalg.solve(matrix, slope)
    return move @ slope, np.sqrt(move @ move), np.sqrt(found.x @ found.x)


def _scale(bend: Any) -> Any:
    return np.sqrt(np.maximum(np.diagonal(bend), 0.0))


def minimum(slope: Callable[[Any], Any], x: Any, ok: Any, box: Box | None = None) -> Any:
    """Return x, a minimum, with its derivatives; nan unless ``ok``.

    A variable at a bound stays there.
    """
    if box is None:
        return root_at(slope, x, ok)
    x = stop_gradient(np.where(ok, x, np.nan))
    free = box.free(x, slope(x))
    low = x <= box.lower
    edge = np.where(low, box.lower, box.upper)

    def residual(y: Any) -> Any:
        return np.where(free, slope(y), y - np.where(free, 0.0, edge))

    return root_at(residual, x, ok)


def box_of(lower: Any, upper: Any, n: Any) -> Box | None:
    """Return bounds; None if there are none. Between such that cross there is nan."""
    lower, upper = (as_array(1.0 * as_array(b)) for b in (lower, upper))
    known = isinstance(lower, np.ndarray) and isinstance(upper, np.ndarray)
    if known and np.all(lower == -np.inf) and np.all(upper == np.inf):
        return None
    if known and np.any(lower > upper):
        raise ValueError("An upper bound is less than the corresponding lower bound.")
    lower = lower if known else np.where(lower > upper, np.nan, lower)
    return Box(np.broadcast_to(lower, (n,)), np.broadcast_to(upper, (n,)))


def inverse(matrix: Any) -> Any:
    """Return the inverse of a small matrix by columns: LAPACK's own takes threads for nothing."""
    return np.stack([np.linalg.solve(matrix, e) for e in np.eye(matrix.shape[0])], axis=1)


@custom_jvp
def where_smooth(x: Any, smooth: Any, *by: Any) -> Any:
    """Return x, whose derivatives are nan unless ``smooth``: also those by what decided on it."""
    return x + 0.0


@where_smooth.defjvp
def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x, smooth, *by = primals
    moved = tangents[0] + sum(np.where(smooth, 0.0, np.sum(t)) for t in tangents[2:])
    return where_smooth(x, smooth, *by), np.where(smooth, moved, np.nan * moved)

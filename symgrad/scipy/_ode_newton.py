"""Implicit methods that keep their factors from step to step: BDF and Radau's.

Newton's method solves for each step, with a Jacobian and factors that may be old as long as it
converges. A turn of the loop is one attempt: it ends with a step, or with what the next attempt
needs, a new Jacobian or another length. Lengths, orders, tests and counts of the methods, in
:mod:`._ode_bdf` and :mod:`._ode_radau`, are SciPy's, so steps of BDF and Radau are, too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as traced_numpy
from .._syntax._control import cond, while_loop
from ._ode_loop import RUNNING, TOO_SMALL, Control, first_slope_and_step, polynomial
from ._ode_steps import mean_square
from ._ode_structure import Slope, System

EPS = float(np.finfo(float).eps)


class Progress(NamedTuple):
    """Where the integration is, and what is kept for the next attempt.

    Attributes
    ----------
    t, y:
        Time, and state of shape (n,).
    length:
        Of the next step, positive.
    jacobian, factors:
        What the system wants to know of the Jacobian; factors for each of the shifts.
    factored, refresh, current:
        Whether these factors are to be used, whether a new Jacobian is wanted first, and whether
        there is no better one for this step.
    good:
        Whether the last attempt was a step.
    status:
        Not zero when there is no way on.
    tried, evaluations, jacobians, factorisations:
        How many attempts there were, and how often each of the others was made, or is wanted.
    """

    t: Any
    y: Any
    length: Any
    jacobian: Any
    factors: Any
    factored: Any
    refresh: Any
    current: Any
    good: Any
    status: Any
    tried: Any
    evaluations: Any
    jacobians: Any
    factorisations: Any


class Aim(NamedTuple):
    """What an attempt aims at.

    Attributes
    ----------
    end, h:
        The time at its end, and how far away that is.
    length:
        What ``abs(h)`` is but for rounding.
    bounded, last:
        Whether the length was bounded, and whether the end is that of the integration.
    lost:
        Whether the step is too short to be one.
    """

    end: Any
    h: Any
    length: Any
    bounded: Any
    last: Any
    lost: Any


class Solved(NamedTuple):
    """What Newton's method has found: the solution, whether it is one, and how fast it came."""

    x: Any
    converged: Any
    iterations: Any
    rate: Any


def size(x: Any) -> Any:
    """Return the root of the mean square."""
    return np.sqrt(mean_square(np.reshape(x, (-1,))))


def newton(
    correction: Callable[[Any], tuple[Any, Any]], x: Any, most: int, tolerance: Any
) -> Solved:
    """Solve by at most so many corrections, whose sizes tell how far away the solution is.

    It is given up as soon as they do not promise the tolerance within ``most`` of them.
    """

    def turn(carry: Any) -> Any:
        x, k, before, _, _ = carry
        change, now = correction(x)
        first = k == 0
        rate = np.where(first, 0.0, now / np.where(first, 1.0, before))
        left = rate / (1 - rate) * now
        power = math.prod(np.where(k < most - j, rate, 1.0) for j in range(most))
        ahead = power / (1 - rate) * now  # of rate ** (most - k)
        hopeless = ~np.isfinite(now) | (~first & ((rate >= 1) | (ahead > tolerance)))
        done = ~hopeless & ((now == 0) | (~first & (left < tolerance)))
        outcome = np.where(hopeless, -1, np.where(done, 1, 0))
        return np.where(hopeless, x, x + change), k + 1, now, rate, outcome

    x, k, _, rate, outcome = while_loop(
        lambda carry: (carry[4] == 0) & (carry[1] < most), turn, (x, 0, 1.0, 0.0, 0)
    )
    return Solved(x, outcome == 1, k, rate)


def _zeros_like(x: Any) -> Any:
    """Return zeros in the place of arrays."""
    if isinstance(x, tuple | list):
        return type(x)(map(_zeros_like, x))
    return traced_numpy.zeros(x.shape, x.dtype)


class Implicit(ABC):
    """What both methods have in common.

    Attributes
    ----------
    order:
        The order by which the first step is chosen.
    rows:
        How many arrays as large as the state the polynomial of a step follows from.
    most:
        How many corrections are made at most.
    """

    order: int
    rows: int
    most: int

    def begun(self, slope: Slope, system: System, t: Any, y: Any, h: Any, control: Control) -> Any:
        """Return where the integration begins; ``h`` is nan where the step is to be chosen."""
        f, length = first_slope_and_step(self.order, slope, t, y, h, control)
        jacobian = system.zeros(y)
        start = Progress(
            t=1.0 * t, y=y, length=length, jacobian=jacobian,
            factors=_zeros_like(self.factors(system, jacobian, 1.0)),
            factored=False, refresh=True, current=False, good=True,
            status=np.where(np.all(np.isfinite(y)), RUNNING, TOO_SMALL),
            tried=0, evaluations=np.where(np.isnan(h), 2, 1), jacobians=1, factorisations=0,
        )  # fmt: skip
        return self.first(start, f, length * np.sign(control.bound - t))

    @abstractmethod
    def first(self, start: Progress, f: Any, h: Any) -> Any:
        """Return the method's state at the beginning; its part ``at`` is ``start``."""

    @abstractmethod
    def factors(self, system: System, jacobian: Any, unit: Any) -> list[Any]:
        """Return the factors of the matrices of a step, by its length or what stands for it."""

    @abstractmethod
    def attempt(self, slope: Slope, system: System, state: Any, control: Control) -> Any:
        """Return the state after one more attempt."""

    @abstractmethod
    def kept(self, state: Any) -> tuple[Any, Any]:
        """Return what the polynomial of the last step follows from, (k, n), and its order."""

    @abstractmethod
    def polynomials(self, kept: Any, orders: Any) -> Any:
        """Return q of some steps: ``y(t + x*h) = y + q[..., 0]*x + q[..., 1]*x**2 + ...``."""

    def aimed(self, at: Progress, control: Control) -> Aim:
        """Return where the next attempt goes to."""
        forward = np.sign(control.bound - at.t)
        least = 10 * np.abs(np.nextafter(at.t, forward * np.inf) - at.t)
        length = np.where(at.good & (at.length > control.longest), control.longest, at.length)
        length = np.where(at.good & (length < least), least, length)
        end = at.t + length * forward
        last = forward * (end - control.bound) > 0
        end = np.where(last, control.bound, end)
        return Aim(
            end, end - at.t, np.where(last, np.abs(end - at.t), length),
            length != at.length, last, ~(length >= least),
        )  # fmt: skip

    def prepared(
        self, slope: Slope, system: System, at: Progress, factored: Any, t: Any, y: Any, unit: Any
    ) -> Progress:
        """Return ``at`` with the Jacobian and the factors that the attempt uses."""
        jacobian = cond(at.refresh, lambda: 1.0 * system.jacobian(slope, t, y), lambda: at.jacobian)
        factored = factored & ~at.refresh
        factors = cond(
            factored,
            lambda: at.factors,
            lambda: self.factors(system, jacobian, unit),
        )
        return at._replace(
            jacobian=jacobian, factors=factors, tried=at.tried + 1,
            factorisations=at.factorisations + np.where(factored, 0, len(factors)),
        )  # fmt: skip

    def tolerance(self, control: Control) -> Any:
        """Return how exactly a step is solved for."""
        return np.maximum(10 * EPS / control.rtol, np.minimum(0.03, np.sqrt(control.rtol)))


def _going(start: Progress, control: Control, most: Any) -> Callable[[Progress], Any]:
    """Return what tells whether to go on from a place."""
    forward = np.sign(control.bound - start.t)

    def going(at: Progress) -> Any:
        running = (at.status == RUNNING) & (forward * (at.t - control.bound) < 0)
        return running & (at.tried < most)

    return going


def march(
    method: Implicit, slope: Slope, system: System, state: Any, control: Control, most: Any,
    rows: tuple[Any, ...],
) -> Any:  # fmt: skip
    """Take steps until the end, a failure, ``most`` attempts, or all rows written.

    Parameters
    ----------
    rows:
        To be written to: times (m,), states (m, n), what polynomials follow from (m or 1, k, n),
        and their orders with numbers of evaluations, Jacobians and factorisations (m, 4), from
        where it begins on.

    Returns
    -------
    (state, count, *rows)
    """
    room = rows[0].shape[0]
    going = _going(state.at, control, most)

    def entered(state: Any, place: Any, rows: Any) -> Any:
        times, states, kept, numbers = rows
        at = state.at
        times[place], states[place] = at.t, at.y
        known, order = method.kept(state)
        kept[np.minimum(place, kept.shape[0] - 1)] = known  # one row alone: nobody looks
        numbers[place] = np.stack([order, at.evaluations, at.jacobians, at.factorisations])
        return times, states, kept, numbers

    def on(carry: Any) -> Any:
        state, count, _ = carry
        return going(state.at) & (count < room)

    def turn(carry: Any) -> Any:
        state, count, rows = carry
        state = method.attempt(slope, system, state, control)
        # What is not a step is written over by the next.
        return state, count + np.where(state.at.good, 1, 0), entered(state, count, rows)

    times, states, *more = rows
    times[0], states[0] = state.at.t, state.at.y
    state, count, rows = while_loop(on, turn, (state, 1, (times, states, *more)))
    return state, count, *rows


def visit(
    method: Implicit, slope: Slope, system: System, state: Any, control: Control, most: Any,
    times: Any,
) -> Any:  # fmt: skip
    """Take steps until the end, a failure or ``most`` attempts, and look where times lie in them.

    Returns
    -------
    (state, count, states)
        The last state, how many of the times were reached, and the states there, (m, n).
    """
    going, forward = _going(state.at, control, most), np.sign(control.bound - state.at.t)

    def turn(carry: Any) -> Any:
        state, count, states = carry
        before, state = state.at, method.attempt(slope, system, state, control)
        t, h = before.t, state.at.t - before.t
        q = method.polynomials(*method.kept(state))

        def passed(carry: Any) -> Any:
            count, _ = carry
            there = np.minimum(count, times.shape[0] - 1)
            late = forward * (times[there] - state.at.t) > 0
            return state.at.good & (count < times.shape[0]) & ~late

        def look(carry: Any) -> Any:
            count, states = carry
            states[count] = polynomial(q, before.y, (times[count] - t) / h)
            return count + 1, states

        return state, *while_loop(passed, look, (count, states))

    states = np.zeros((times.shape[0], 1)) * state.at.y
    return while_loop(lambda carry: going(carry[0].at), turn, (state, 0, states))

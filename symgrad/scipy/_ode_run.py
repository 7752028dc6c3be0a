"""One solution on plain arrays: what it begins with, and calls of the compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._ode_methods import METHODS, NEWTON, suited
from ._ode_programs import structured

#: How many steps are tried at most, good or not, unless ``max_steps`` says otherwise.
MOST = 10_000_000

#: Rows of the first chunk of steps, how much longer the next is, and bytes of the longest.
ROWS, GROWTH, LONGEST = 256, 4, 1 << 22

#: Steps that are tried in one call, so that an interrupt is heard.
TURNS = 1_000_000

#: The least relative tolerance that SciPy takes without a warning.
LEAST = 100 * float(np.finfo(float).eps)

#: How often the right-hand side is evaluated before the first step, whose length is chosen.
BEGUN = 2

FINISHED = "The solver successfully reached the end of the integration interval."
TOO_SMALL = "Required step size is less than spacing between numbers."


def limit_of(most: int) -> str:
    """Return the message of a solution that has tried as many steps as it may."""
    return f"The limit of {most} steps is reached; max_steps sets another."


def rows_of(y: Any, steps: int) -> tuple[Any, Any, Any]:
    """Return memory for times, states and numbers of tried steps, after each of some steps."""
    rows = 1 + max(1, min(steps, LONGEST // (8 * y.size)))
    return np.empty(rows), np.empty((rows, y.size), y.dtype), np.empty(rows, np.int64)


class Run:
    """A solution on its way.

    Parameters
    ----------
    method:
        The name of a compiled method.
    fun, args, vectorized:
        The right-hand side.
    t, y, bound:
        Where it begins, and the time at which it ends.
    rtol, atol, longest:
        Tolerances, and the longest step.
    h:
        The first step; nan where it is to be chosen.
    most:
        How many steps are tried at most.

    Attributes
    ----------
    method:
        The name of the method as it is for the tolerance.
    t:
        The time that has been reached.
    tried, looked:
        How many steps were tried, and into how many was looked.
    message:
        Why there is no way on, once there is none.
    """

    def __init__(
        self, method: str, fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool,
        t: float, y: Any, bound: float, rtol: Any, atol: Any, longest: float, h: float, most: int,
    ) -> None:  # fmt: skip
        self.method = method = suited(method, rtol)
        self.terms, self.fun = METHODS[method], fun
        self.programs, more = structured(method, vectorized, fun, t, y, args)
        self.args = *more, *args
        self.control = bound, rtol, atol, longest
        self.ahead: Any = (float(t), y, float(h), np.False_)
        self.t, self.y, self.most, self.rows = t, y, int(most), ROWS
        self.begun = BEGUN if h != h else 1
        self.tried = self.looked = 0
        self.message: str | None = None

    @property
    def going(self) -> bool:
        """Whether there are more steps."""
        return self.message is None and self.t != self.control[0]

    def counts(self, tried: int, looked: int) -> tuple[int, int, int]:
        """Return how often the right-hand side and its Jacobian were evaluated, and factorised."""
        terms = self.terms
        own = tried * terms.evaluations + looked * terms.dense_evaluations
        return self.begun + own, tried * terms.jacobians, tried * terms.jacobians

    @property
    def evaluated(self) -> tuple[int, int, int]:
        """The same, for all that was done."""
        return self.counts(self.tried, self.looked)

    def _called(self, program: Any, *more: Any) -> Any:
        turns = np.int64(min(self.most - self.tried, TURNS))
        return self._taken(
            self.programs(program, self.fun, *self.ahead, *self.control, turns, *more, *self.args)
        )

    def _taken(self, called: Any) -> Any:
        """Go on from what a loop has returned, and return what it has found."""
        y, numbers, *found = called
        t, h, rejected, status, tried, *counts = numbers.tolist()
        # As they were given: numbers of another kind would be another kind of call.
        self.t = t
        self.ahead = t, y, h, np.bool_(rejected)
        self.tried += int(tried)
        if status:
            self.message = TOO_SMALL
        elif self.tried >= self.most and self.t != self.control[0]:
            self.message = limit_of(self.most)
        return *map(int, counts), *found

    def _chunk(self) -> tuple[Any, Any, Any]:
        """Return times, states and numbers of tried steps: where it is, and the next steps."""
        known, space = self.tried, rows_of(self.y, self.rows)
        self.rows *= GROWTH
        count, times, states, tries = self._called(self.programs.march, *space)
        return times[:count], states[:count], tries[:count] + known

    def go_on(self) -> tuple[Any, Any, Any]:
        """Return times, states and numbers of tried steps of the next steps.

        None are returned where there is no way on; then there is a message.
        """
        times, states, tries = self._chunk()
        return times[1:], states[1:], tries[1:]

    def all_steps(self, called: Any = None) -> tuple[Any, Any]:
        """Return the times and states of all steps, the first before them.

        ``called``: what ``march`` has returned for the first of them.
        """
        if called is None:
            t, y, _ = self._chunk()
        else:
            count, t, y, _ = self._taken(called)
            t, y = t[:count], y[:count]
        if not self.going:
            return t, y
        times, states = [t], [y]
        while self.going:
            t, y, _ = self.go_on()
            times.append(t)
            states.append(y)
        return np.concatenate(times), np.concatenate(states)

    def at(self, times: Any, called: Any = None) -> tuple[Any, Any]:
        """Return which of the times were reached, and the states there.

        ``called``: what ``visit`` has returned for the first of them.
        """
        wanted, parts = times, []
        while self.going:
            if called is None:
                found = self._called(self.programs.visit, wanted)
            else:
                found, called = self._taken(called), None
            count, looked, states = found
            self.looked += looked
            parts.append(states[:count])
            wanted = wanted[count:]
        return times[: len(times) - len(wanted)], np.concatenate(parts)

    def interpolants(self, t: Any, y: Any, end: Any) -> Any:
        """Return the polynomials of steps, of shape (steps, n, powers)."""
        return self.programs(self.programs.interpolants, self.fun, t, y, end, *self.args)


class NewtonRun:
    """A solution by a method that keeps what it knows from step to step.

    Where all steps are wanted the loop begins anew with more rows where they have not sufficed,
    and finds the same steps.

    Parameters
    ----------
    method, fun, args, vectorized, t, y, bound, rtol, atol, longest, h, most:
        As of :class:`Run`.

    Attributes
    ----------
    rule:
        The method.
    t, bound, y:
        The time that has been reached, the one at the end, and the state at the beginning.
    message:
        Why there is no way on, once there is none.
    evaluated:
        How often the right-hand side and its Jacobian were evaluated, and how many matrices
        factorised.
    """

    def __init__(
        self, method: str, fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool,
        t: float, y: Any, bound: float, rtol: Any, atol: Any, longest: float, h: float, most: int,
    ) -> None:  # fmt: skip
        self.method = method = suited(method, rtol)
        self.rule, self.fun = NEWTON[method], fun
        self.programs, more = structured(method, vectorized, fun, t, y, args)
        self.args = *more, *args
        self.given = float(t), y, float(h), bound, rtol, atol, longest, np.int64(most)
        self.t, self.y, self.bound, self.most = float(t), y, bound, int(most)
        self.steps = 0
        self.message: str | None = None
        self.evaluated = 0, 0, 0

    def _taken(self, found: Any) -> int:
        """Note what a loop tells of itself, and return how many rows it has written."""
        self.t, *numbers = found.tolist()
        status, tried, count, evaluations, jacobians, factorisations = map(int, numbers)
        self.evaluated = evaluations, jacobians, factorisations
        if status:
            self.message = TOO_SMALL
        elif tried >= self.most and self.going:
            self.message = limit_of(self.most)
        return count

    def go_on(self, dense: bool = True) -> tuple[Any, Any, Any, Any]:
        """Return times, states, what polynomials follow from, and numbers, of more steps.

        None are returned where there is no way on; then there is a message. ``dense``: whether
        polynomials are wanted, which are several times as large as states.
        """
        y, known = self.y, self.steps
        wide = 8 * (5 + y.size * (1 + self.rule.rows * dense))
        rows = 2 + (GROWTH * known or max(ROWS // GROWTH, min(GROWTH * ROWS, LONGEST // wide)))
        space = (
            np.empty(rows), np.empty((rows, y.size)),
            np.empty((rows if dense else 1, self.rule.rows, y.size)), np.empty((rows, 4), np.int64),
        )  # fmt: skip
        found, *space = self.programs(
            self.programs.march, self.fun, *self.given, *space, *self.args
        )
        count = self._taken(found)
        times, states, kept, numbers = (x[:count] for x in space)
        self.steps = count - 1
        new = slice(known + 1, None)
        return times[new], states[new], kept[new], numbers[new]

    @property
    def going(self) -> bool:
        """Whether there are more steps."""
        return self.message is None and self.t != self.bound

    def all_steps(self) -> tuple[Any, Any]:
        """Return the times and states of all steps, the first before them."""
        times, states = [np.array([self.t])], [self.y[np.newaxis]]
        while self.going:
            t, y, *_ = self.go_on(dense=False)
            times.append(t)
            states.append(y)
        return np.concatenate(times), np.concatenate(states)

    def at(self, times: Any) -> tuple[Any, Any]:
        """Return which of the times were reached, and the states there."""
        found, states = self.programs(self.programs.visit, self.fun, *self.given, times, *self.args)
        count = self._taken(found)
        return times[:count], states[:count]

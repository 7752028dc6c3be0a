"""Events of a solution in traced code: where functions of time and state are zero.

Each says with which of its times the integration ends, or how many of them are recorded, since
arrays have sizes that are known: times and states that there are not have nan. A zero is located
on the polynomial of its step by bisection, which is not differentiated, and two of Newton's steps
after it, which are: so many give the first three derivatives of the implicit function theorem
(each doubles the order; A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008,
chapter 15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as traced_numpy
from .._api._at_values import jvp
from .._api._custom import stop_gradient
from .._syntax._control import cond, while_loop
from ..errors import UnsupportedError
from ._ode_loop import State, lost, polynomial
from ._ode_steps import Method
from ._ode_structure import Slope
from ._versions import one_number

Event = Callable[[Any, Any], Any]

#: Newton's steps and the last bracket, in lengths of the step.
POLISHED, NARROW = 1e-6, 2.0**-52

NOT_SAID = (
    "solve_ivp: in traced code arrays have sizes that are known, so say how often the event {0} "
    "may happen: {0}.recorded = 100 keeps its first hundred times, {0}.terminal = 1 ends the "
    "integration with the first; times that there are not have nan"
)


class Seen(NamedTuple):
    """What has been found so far.

    Attributes
    ----------
    values:
        Of each event at the last step.
    counts, times, states:
        Of each event: how often, when, and in which states, of shapes (), (m,) and (m, n).
    over:
        Whether an event has ended the integration.
    t, y:
        When and in which state.
    """

    values: tuple[Any, ...]
    counts: tuple[Any, ...]
    times: tuple[Any, ...]
    states: tuple[Any, ...]
    over: Any
    t: Any
    y: Any


class Watch:
    """The events of a solution, as ``solve_ivp`` takes them.

    Raises
    ------
    UnsupportedError
        For an event that does not say how often it may happen.
    """

    def __init__(self, events: Any, args: tuple[Any, ...]) -> None:
        given: Sequence[Callable[..., Any]] = (events,) if callable(events) else tuple(events)
        self.events: list[Event] = []
        #: How many times of each are looked for, whether the integration ends with the last of
        #: them, and how many are recorded.
        self.most: list[int] = []
        self.ends: list[bool] = []
        self.rows: list[int] = []
        self.directions: list[float] = []
        for event in given:
            terminal, recorded = getattr(event, "terminal", 0), getattr(event, "recorded", None)
            if terminal and (terminal < 0 or terminal != int(terminal)):
                raise ValueError(
                    "The `terminal` attribute of each event must be a boolean or positive integer."
                )
            if recorded is not None and (
                isinstance(recorded, bool) or recorded != int(recorded) or recorded < 1
            ):
                raise ValueError(
                    "The `recorded` attribute of each event must be a positive integer: how many "
                    f"of its times are kept, not {recorded!r}."
                )
            most = terminal or recorded
            if not most:
                raise UnsupportedError(NOT_SAID.format(getattr(event, "__name__", "event")))
            self.events.append(_bound(event, args))
            self.most.append(int(most))
            self.ends.append(bool(terminal))
            self.rows.append(int(terminal if recorded is None else recorded))
            self.directions.append(float(getattr(event, "direction", 0)))

    def begin(self, t: Any, y: Any) -> Seen:
        """Return what there is at the beginning."""
        count = len(self.events)
        row = traced_numpy.full(y.shape, np.nan, y.dtype)
        return Seen(
            values=tuple(event(t, y) for event in self.events), counts=(0,) * count,
            times=tuple(traced_numpy.full(m, np.nan) for m in self.rows),
            states=tuple(np.broadcast_to(row, (m, *row.shape)) for m in self.rows),
            over=False, t=1.0 * t, y=y,
        )  # fmt: skip

    def look(
        self, seen: Seen, lag: Any, method: Method, slope: Slope, state: State, after: State,
        good: Any, h: Any, stages: Any,
    ) -> Seen:  # fmt: skip
        """Return what there is after a step; ``lag`` is what is differentiated of its times."""
        values = [event(after.t + lag, after.y) for event in self.events]
        active = [
            good & (count < most) & _crosses(stop_gradient(a), stop_gradient(b), direction)
            for a, b, direction, count, most in zip(
                seen.values, values, self.directions, seen.counts, self.most, strict=True
            )
        ]

        def located() -> Seen:
            q = np.stack(method.dense(slope, state.t, state.y, h, stages), axis=-1)
            found = [
                _zero(event, state.t + lag, state.y, h, q, stop_gradient(value))
                for event, value in zip(self.events, values, strict=True)
            ]
            return self._entered(seen, active, found, state.t + lag, state.y, h, q)

        any_active = active[0]
        for x in active[1:]:
            any_active = any_active | x
        found = cond(any_active, located, lambda: seen)
        kept = (np.where(good, b, a) for a, b in zip(seen.values, values, strict=True))
        return found._replace(values=tuple(kept))

    def _entered(
        self, seen: Seen, active: list[Any], found: list[Any], t: Any, y: Any, h: Any, q: Any
    ) -> Seen:
        """Enter the zeros of a step, up to the one that ends the integration."""
        counts = tuple(c + np.where(a, 1, 0) for c, a in zip(seen.counts, active, strict=True))
        last: Any = np.inf
        for k in np.flatnonzero(self.ends):
            last = np.minimum(
                last, np.where(active[k] & (counts[k] >= self.most[k]), found[k], np.inf)
            )
        over = last < np.inf
        times, states = [], []
        for k, x in enumerate(found):
            here = active[k] & (stop_gradient(x) <= stop_gradient(last))
            here = here & (np.arange(self.rows[k]) == counts[k] - 1)
            times.append(np.where(here, t + x * h, seen.times[k]))
            states.append(np.where(here[:, np.newaxis], polynomial(q, y, x), seen.states[k]))
        x = np.where(over, last, 0.0)
        end = np.where(over, t + x * h, seen.t), np.where(over, polynomial(q, y, x), seen.y)
        return Seen(seen.values, counts, tuple(times), tuple(states), over, *end)


def given_out(seen: Seen, end: Any) -> tuple[list[Any], list[Any]]:
    """Return times and states of the events; those that there are not are nan in derivatives, too.

    ``end`` is the state at the end: what that depends on, they would.
    """
    whole, times, states = np.sum(np.real(end)), [], []
    for t, y in zip(seen.times, seen.states, strict=True):
        missing = np.where(np.isnan(stop_gradient(t)), lost(whole), 0.0)
        times.append(t + missing)
        states.append(y + missing[:, np.newaxis])
    return times, states


def _bound(event: Callable[..., Any], args: tuple[Any, ...]) -> Event:
    """Return an event as a function of time and state alone, which gives a number."""

    def value(t: Any, y: Any) -> Any:
        found = event(t, y, *args)
        return 1.0 * one_number(found, "an event", "y[0], not y or y[:1], or an event for each")

    return value


def _crosses(before: Any, after: Any, direction: float) -> Any:
    """Tell whether a value has changed its sign, as SciPy does."""
    up, down = (before <= 0) & (after >= 0), (before >= 0) & (after <= 0)
    return up if direction > 0 else down if direction < 0 else up | down


def _zero(event: Event, t: Any, y: Any, h: Any, q: Any, end: Any) -> Any:
    """Return where in its step, from 0 to 1, an event is zero whose value at the end is known."""

    def value(x: Any) -> Any:
        return event(t + x * h, polynomial(q, y, x))

    def halved(ends: Any) -> Any:
        a, b = ends
        middle = 0.5 * (a + b)
        beyond = stop_gradient(value(middle) * end) > 0
        return np.where(beyond, a, middle), np.where(beyond, middle, b)

    x = stop_gradient(while_loop(lambda e: e[1] - e[0] > NARROW, halved, (0.0, 1.0))[1])
    for _ in range(2):
        f, by_x = jvp(value, (x,), (np.float64(1.0),))
        steep = np.abs(f) < POLISHED * np.abs(by_x)
        x = x - np.where(steep, f, 0.0) / np.where(steep, by_x, 1.0)
    return x

"""The loop over steps, with SciPy's control of their size.

One turn of the loop is one step that is tried, good or not. On plain arrays :func:`march` writes
the good ones down until its rows are full, and is called again; in traced code :func:`visit`
goes on from one time that is asked for to the next. Derivatives are those of the steps taken:
their lengths are not differentiated.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from .._api._custom import stop_gradient
from .._syntax._control import cond, scan, while_loop
from ._ode_steps import Method, Step, is_brief, mean_square
from ._ode_structure import Slope

# As in SciPy: a step is multiplied by safety * error**(-1/(order + 1)), within bounds.
SMALLEST, LARGEST = 0.2, 10.0

#: How much shorter than it might be a part of a step is.
SHORTER = 0.9

RUNNING, TOO_SMALL = 0, -1

#: Its square overflows.
HUGE = 1e300


class Control(NamedTuple):
    """What does not change from step to step.

    Attributes
    ----------
    bound:
        The time at the end.
    rtol, atol:
        Tolerances, numbers or of shape (n,).
    longest:
        The longest step.
    """

    bound: Any
    rtol: Any
    atol: Any
    longest: Any


class State(NamedTuple):
    """Where the integration is.

    Attributes
    ----------
    t, y, f:
        Time, state of shape (n,), and the slope there.
    unit:
        The last step, negative in backward integration.
    last, error:
        A length, and how large the error of a step of this length was, for the next to be chosen.
    most:
        How many times as long the next may be.
    rejected:
        Whether the last step was too long.
    status:
        Not zero when there is no way on.
    tried:
        How many steps have been tried.
    """

    t: Any
    y: Any
    f: Any
    unit: Any
    last: Any
    error: Any
    most: Any
    rejected: Any
    status: Any
    tried: Any


def first_slope_and_step(
    order: int, slope: Slope, t: Any, y: Any, h: Any, control: Control
) -> tuple[Any, Any]:
    """Return the slope at the beginning and the length of the first step: ``h``, unless it is nan.

    Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I,
    1993, section II.4, with SciPy's bounds.
    """
    span, forward = np.abs(control.bound - t), np.sign(control.bound - t)
    scale = control.atol + np.abs(y) * control.rtol

    def size(x: Any) -> Any:
        return np.sqrt(mean_square(x / scale))

    def ahead(f: Any) -> Any:
        """Return how far away to look at the slope again."""
        d0, d1 = size(y), size(f)
        tiny = (d0 < 1e-5) | (d1 < 1e-5)
        return np.minimum(np.where(tiny, 1e-6, 0.01 * d0 / np.where(tiny, 1.0, d1)), span)

    def there(f: Any) -> tuple[Any, Any]:
        h0 = ahead(f) * forward
        return stop_gradient(t + h0), stop_gradient(y + h0 * f)

    def chosen(f: Any, f1: Any) -> Any:
        h0, d1 = ahead(f), size(f)
        d2 = size(f1 - f) / h0
        flat = (d1 <= 1e-15) & (d2 <= 1e-15)
        steep = np.where(flat, 1.0, np.maximum(d1, d2))
        h1 = np.where(flat, np.maximum(1e-6, h0 * 1e-3), (0.01 / steep) ** (1 / (order + 1)))
        longest = np.where(control.longest < span, control.longest, span)  # a nan bounds nothing
        return np.minimum(np.minimum(100 * h0, h1), longest)

    f = slope(t, y)
    if is_brief(f, t, y):
        return f, cond(np.isnan(h), lambda: chosen(f, slope(*there(f))), lambda: h)

    def look(at: Any, _: Any) -> Any:
        f = slope(*at)
        return there(f), f

    # The right-hand side is a long program, which a loop has once.
    _, slopes = scan(look, (t, y), None, length=2)
    f, f1 = slopes[0], slopes[1]
    return f, np.where(np.isnan(h), chosen(f, stop_gradient(f1)), h)


def inverse_root(x: Any, degree: int) -> Any:
    """Return ``x**(-1/degree)`` for a positive x that is neither very large nor very small.

    The next step waits for it, and for a power three times as long.
    """
    halvings = degree.bit_length() - 1
    if degree != 1 << halvings:
        return np.exp(np.log(x) * (-1 / degree))
    for _ in range(halvings):
        x = np.sqrt(x)
    return 1 / x


def next_length(method: Method, state: State) -> Any:
    """Return the length of the next step, positive, by the error of the last."""
    factor = method.safety * inverse_root(state.error, method.root)
    # Comparisons that choose are one instruction; a nan is none that is larger.
    factor = np.where(factor > SMALLEST, factor, SMALLEST)
    return np.abs(state.last) * np.where(factor < state.most, factor, state.most)


Tried = tuple[State, Any, Any, list[Any]]


def attempt(method: Method, slope: Slope, state: State, control: Control) -> Tried:
    """Try one step; return the state after it, whether it is good, its ``h`` and its stages."""
    t, y = state.t, state.y
    trial = method.trial(slope, t, y, state.f, state.unit)
    # What takes long, the root of the last error, comes behind what does not wait for it: the
    # processor looks some hundred instructions ahead.
    ahead = control.bound - t
    forward = np.sign(ahead)
    least = 10 * np.abs(np.nextafter(t, forward * np.inf) - t)
    lower = np.where(state.rejected, 0.0, least)
    upper = np.where(state.rejected, np.inf, control.longest)
    length = next_length(method, state)
    length = np.where(length < lower, lower, length)
    length = np.where(length > upper, upper, length)
    lost = ~(length >= least)  # a nan, too
    end = np.where(length < np.abs(ahead), t + length * forward, control.bound)
    h = end - t

    def scale(new: Any) -> Any:
        return control.atol + np.maximum(np.abs(y), np.abs(new)) * control.rtol

    def after(
        step: Step, end: Any, good: Any, last: Any, error: Any, rejected: Any = state.rejected
    ) -> Tried:
        h = end - t
        moved = State(
            t=np.where(good, end, t),
            y=np.where(good, step.y, y),
            f=np.where(good, step.f, state.f),
            unit=stop_gradient(h),
            last=stop_gradient(last),
            error=stop_gradient(error),
            most=np.where(rejected, 1.0, LARGEST),
            rejected=np.logical_not(good),
            status=np.where(lost, TOO_SMALL, state.status),
            tried=state.tried + np.where(lost, 0, 1),
        )
        return moved, good, h, step.stages

    if trial.errors is None:
        step = trial.step(h)
        error = method.error(step, h, scale(step.y))
        return after(step, end, (error < 1) & ~lost, h, error)

    def straight() -> Tried:
        return after(trial.step(h), end, True, state.unit, of_unit)

    def shorter() -> Tried:
        """Take a part of the step."""
        factor = SHORTER * np.where(error > 1, error, 1.0) ** (-1 / method.order)
        end = t + stop_gradient(h * np.maximum(SMALLEST, factor))
        step = trial.step(end - t)
        least_error = method.error(step, end - t, scale(step.y))
        good = (least_error < 1) & ~lost & (np.abs(end - t) >= least)
        return after(step, end, good, end - t, least_error, True)

    # What the next step is chosen by does not wait for the length of this one, and what comes
    # next not for its error, by a branch.
    error, of_unit = trial.errors(scale, h)
    return cond((error < 1) & ~lost, straight, shorter)


def begun(
    method: Method, slope: Slope, t: Any, y: Any, h: Any, rejected: Any, control: Control
) -> State:
    """Return where the integration begins; ``h`` is nan where the step is to be chosen."""
    f, chosen = first_slope_and_step(method.order, slope, t, y, h, control)
    chosen = np.where(control.bound == t, 1.0, chosen)  # there is none
    chosen = stop_gradient(np.where(control.bound < t, -chosen, chosen))
    return State(t, y, f, chosen, chosen, 0.0, 1.0, rejected, RUNNING, 0)


def march(
    method: Method, slope: Slope, state: State, control: Control, most: Any,
    rows: tuple[Any, Any, Any],
) -> Any:  # fmt: skip
    """Take steps until the end, a failure, ``most`` steps tried, or all rows written.

    Parameters
    ----------
    rows:
        To be written to: times (m,), states (m, n), and how many steps were tried (m,), from
        where it begins on.

    Returns
    -------
    (state, count, times, states, tries)
    """
    room = rows[0].shape[0]
    forward = np.sign(control.bound - state.t)

    def going(carry: Any) -> Any:
        state, count = carry[:2]
        running = (state.status == RUNNING) & (forward * (state.t - control.bound) < 0)
        return running & (count < room) & (state.tried < most)

    def turn(carry: Any) -> Any:
        state, count, times, states, tries = carry
        state, good, _, _ = attempt(method, slope, state, control)
        # A step that is not good is written over by the next.
        times[count], states[count], tries[count] = state.t, state.y, state.tried
        return state, count + np.where(good, 1, 0), times, states, tries

    times, states, tries = rows
    times[0], states[0], tries[0] = state.t, state.y, state.tried
    return while_loop(going, turn, (state, 1, times, states, tries))


def interpolant(method: Method, slope: Slope, t: Any, y: Any, end: Any) -> Any:
    """Return the polynomial of a step that was taken, of shape (n, k): a second pass over it."""
    h = end - t
    stages = method.trial(slope, t, y, slope(t, y), h).step(h).stages
    return np.stack(method.dense(slope, t, y, h, stages), axis=-1)


def lost(x: Any) -> Any:
    """Return nan instead of ``x``; its derivatives are infinite or nan, too, where they count.

    A slope of nan would make a cotangent of zero nan as well, and with it the derivatives of all
    else. One that overflows, factor by factor, leaves it zero.
    """
    return np.nan * stop_gradient(x) + HUGE * (HUGE * x)


def polynomial(q: Any, y: Any, x: Any) -> Any:
    """Return ``y + q[..., 0]*x + q[..., 1]*x**2 + ...``."""
    found = 0.0
    for k in reversed(range(q.shape[-1])):
        found = (found + q[..., k]) * x
    return y + found


class Watches(Protocol):
    """What looks at the steps of :func:`visit`; what it has seen has a part ``over``."""

    def begin(self, t: Any, y: Any) -> Any:
        """Return what is seen at the beginning."""

    def look(
        self, seen: Any, lag: Any, method: Method, slope: Slope, state: State, after: State,
        good: Any, h: Any, stages: Any,
    ) -> Any:  # fmt: skip
        """Return what has been seen after a step."""


class Visits(NamedTuple):
    """What was found at the times that were asked for.

    Attributes
    ----------
    states:
        Of shape (m, n); nan at times that were not reached.
    late:
        Which were not reached, of shape (m,).
    looked:
        Into how many steps was looked up to each time, of shape (m,).
    end:
        Where the integration ended.
    seen:
        What ``watch`` has seen.
    """

    states: Any
    late: Any
    looked: Any
    end: State
    seen: Any


def visit(
    method: Method, slope: Slope, start: State, control: Control, most: Any, times: Any,
    memory: Any = None, watch: Watches | None = None, lag: Any = 0.0,
) -> Visits:  # fmt: skip
    """Go on from one time to the next, and look into the steps in which they lie.

    The clock of ``slope``, ``start`` and ``control`` has no derivatives; that of ``times`` may,
    and ``lag`` is what has to be added to the clock to differentiate what ``watch`` sees.
    """
    forward = np.where(control.bound < start.t, -1.0, 1.0)

    def to(carry: Any, time: Any) -> Any:
        carry, before, looked = carry
        clock = stop_gradient(time)

        def going(carry: Any) -> Any:
            state, *_, seen = carry
            short = forward * (state.t - clock) < 0
            on = short & (state.status == RUNNING) & (state.tried < most)
            return on if watch is None else on & np.logical_not(seen.over)

        def turn(carry: Any) -> Any:
            state, *_, seen = carry
            after, good, h, stages = attempt(method, slope, state, control)
            if watch is not None:
                seen = watch.look(seen, lag, method, slope, state, after, good, h, stages)
            return after, state.t, state.y, stages, seen  # of a good step, where the loop ends

        carry = state, t_old, y_old, stages, seen = while_loop(going, turn, carry, memory=memory)
        # Before the first step there is none to look into: one as long as it would be.
        h = np.where(state.t == t_old, forward * next_length(method, state), state.t - t_old)
        q = np.stack(method.dense(slope, t_old, y_old, h, stages), axis=-1)
        found = polynomial(q, y_old, (time - t_old) / h)
        # Not reached, or passed before the step that is looked into: times go in one direction.
        late = (forward * (state.t - clock) < 0) | (forward * (clock - t_old) < 0)
        if watch is not None:
            late = late | (seen.over & (forward * (clock - stop_gradient(seen.t)) > 0))
        looked = looked + np.where(late | (t_old == before), 0, 1)
        return (carry, t_old, looked), (np.where(late, lost(state.y), found), late, looked)

    none = [start.f] * method.stages
    seen = () if watch is None else watch.begin(start.t + lag, start.y)
    carry = ((start, start.t, start.y, none, seen), np.nan, 0)
    (((state, *_, seen), _, _), (found, late, looked)) = scan(to, carry, times, memory=memory)
    return Visits(found, late, looked, state, seen)

"""solve_ivp in traced code: events and their derivatives, the end alone, dense output."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
from numba import njit
from scipy.special import ellipk

import symgrad as sg
from symgrad.errors import UnsupportedError
from symgrad.scipy.integrate import solve_ivp

TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def pendulum(p: Any, often: int = 3, **options: Any) -> Any:
    """Solve for a pendulum of stiffness p[0] that is let go at the angle p[1]."""

    def fall(t: Any, y: Any) -> Any:
        return [y[1], -p[0] * np.sin(y[0])]

    def below(t: Any, y: Any) -> Any:
        return y[0]

    below.terminal = often  # type: ignore[attr-defined]
    return solve_ivp(fall, (0, 50), [p[1], 0.0], "DOP853", events=[below], **TIGHT, **options)


P = np.array([2.0, 1.2])


@pytest.mark.usefixtures("few_kernels")
def test_times_of_events_and_their_derivatives() -> None:
    def quarters(a: Any, b: Any, k: int) -> Any:
        return k * mpmath.ellipk(mpmath.sin(b / 2) ** 2) / mpmath.sqrt(a)

    exact = np.outer([1, 3, 5], [1.0]) * ellipk(np.sin(P[1] / 2) ** 2) / np.sqrt(P[0])
    with mpmath.workdps(30):
        a, b = map(mpmath.mpf, (2, "1.2"))
        slopes = np.array([
            [float(mpmath.diff(lambda x, k=k: quarters(x, b, k), a)),
             float(mpmath.diff(lambda x, k=k: quarters(a, x, k), b))]
            for k in (1, 3, 5)
        ])  # fmt: skip

    def events(p: Any) -> Any:
        found = pendulum(p)
        return found.t_events[0], found.y_events[0]

    times, states = sg.compile(events)(P)
    np.testing.assert_allclose(times, exact[:, 0], atol=1e-11)
    np.testing.assert_allclose(states[:, 0], 0, atol=1e-11)
    forward = sg.jacobian(lambda p: pendulum(p).t_events[0])(P)
    np.testing.assert_allclose(forward, slopes, atol=1e-10)


@pytest.mark.slow
def test_events_in_little_memory() -> None:
    full, little = (
        sg.grad(lambda p, m=m: np.sum(pendulum(p, t_eval=[5.0], memory=m).t_events[0]))(P)
        for m in (None, 4000)
    )
    np.testing.assert_allclose(little, full, rtol=1e-12)


def thrown(v: Any, g: Any, method: str = "Tsit5", **options: Any) -> Any:
    def fall(t: Any, y: Any) -> Any:
        return [y[1], -g]

    def ground(t: Any, y: Any) -> Any:
        return y[0]

    def top(t: Any, y: Any) -> Any:
        return y[1]

    ground.terminal, ground.direction = True, -1  # type: ignore[attr-defined]
    top.terminal = 2  # type: ignore[attr-defined]
    return solve_ivp(fall, (0, 100), [0.0, v], method, events=[ground, top], **TIGHT, **options)


@pytest.mark.usefixtures("few_kernels")
def test_an_event_ends_the_integration() -> None:
    end = sg.value_and_grad(lambda v, g: thrown(v, g).t[-1], argnums=(0, 1))(20.0, 9.81)
    np.testing.assert_allclose(end[0], 40 / 9.81, rtol=1e-12)
    np.testing.assert_allclose(end[1], [2 / 9.81, -40 / 9.81**2], rtol=1e-11)

    def seen(v: Any) -> Any:
        found = thrown(v, 9.81, t_eval=[1.0, 4.0, 5.0])
        return found.t_events, found.y[0], found.status, found.success

    events, height, status, success = sg.compile(seen)(20.0)
    np.testing.assert_allclose(events[0], [40 / 9.81], rtol=1e-12)
    np.testing.assert_allclose(events[1], [20 / 9.81, np.nan], rtol=1e-12)
    np.testing.assert_allclose(height, [20 - 9.81 / 2, 80 - 8 * 9.81, np.nan], rtol=1e-9)
    assert (status, success) == (1, True)


@pytest.mark.slow
def test_more_derivatives_of_events() -> None:
    forward = sg.jacobian(lambda p: pendulum(p).t_events[0])(P)
    reverse = sg.grad(lambda p: np.sum(pendulum(p).t_events[0]))(P)
    np.testing.assert_allclose(reverse, forward.sum(axis=0), atol=1e-10)
    second = sg.hessian(lambda g: thrown(20.0, g).t_events[0][0])(9.81)
    np.testing.assert_allclose(second, 80 / 9.81**3, rtol=1e-10)
    arrival = sg.jacobian(lambda v: thrown(v, 9.81, "Rodas5P").y[:, -1])(20.0)
    np.testing.assert_allclose(arrival, [0, -1], atol=1e-10)


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("span", [(0.0, 30.0), (30.0, 0.0)], ids=["ahead", "back"])
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_events_agree_with_scipy(direction: int, span: tuple[float, float]) -> None:
    """Several zeros in one step, zeros at the start, directions, a span that goes back."""

    def crossing(t: Any, y: Any) -> Any:
        return np.sin(t)

    def level(t: Any, y: Any) -> Any:
        return y[0] - 0.5

    crossing.terminal, level.terminal = 3, 4  # type: ignore[attr-defined]
    crossing.direction = direction  # type: ignore[attr-defined]

    def f(y0: Any, solve: Any = solve_ivp) -> Any:
        found = solve(lambda t, y: [np.cos(t)], span, [y0], events=[crossing, level], rtol=1e-6)
        return found.t_events, found.t[-1], found.status

    expected, end, status = f(0.1, scipy.integrate.solve_ivp)
    found, ours, our_status = sg.compile(f)(0.1)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a[: len(b)], b, atol=1e-9)
        assert np.isnan(a[len(b) :]).all()
    np.testing.assert_allclose(ours, end, atol=1e-9)
    assert our_status == status


def test_events_in_batches_and_kernels() -> None:
    def landed(v: Any) -> Any:
        return thrown(v, 9.81).t[-1]

    speeds = np.array([1.0, 5.0, 20.0])
    np.testing.assert_allclose(sg.vmap(landed)(speeds), 2 * speeds / 9.81, rtol=1e-11)
    kernel = sg.compile(landed).kernel(1.0)

    @njit
    def sum_of(speeds: Any) -> float:
        found = 0.0
        for v in speeds:
            found += kernel(v)
        return found

    np.testing.assert_allclose(sum_of(speeds), 2 * speeds.sum() / 9.81, rtol=1e-11)


@pytest.mark.usefixtures("few_kernels")
def test_the_solution_as_a_function_of_time() -> None:
    def f(rate: Any, t: Any) -> Any:
        options = {"dense_output": True, **TIGHT}
        sol = solve_ivp(lambda t, y: [-rate * y[0], y[0]], (0, 2), [1.0, 0.0], "DOP853", **options)
        return sol.sol(t)[0], sol.sol(0.7), sol.y[0, -1], sol.t[0]

    t = np.array([1.5, 0.5, 1.0, 2.5])
    dense, one, end, begin = sg.compile(f)(1.0, t)
    np.testing.assert_allclose(dense, [*np.exp(-t[:3]), np.nan], atol=1e-11)
    np.testing.assert_allclose(one, [np.exp(-0.7), 1 - np.exp(-0.7)], atol=1e-11)
    assert end == pytest.approx(np.exp(-2), abs=1e-11)
    assert begin == 0
    slope = sg.grad(lambda t: f(1.0, t)[0][1])(t)
    np.testing.assert_allclose(slope, [0, -np.exp(-0.5), 0, 0], atol=1e-9)


@pytest.mark.slow
def test_derivatives_of_events_that_there_are_not() -> None:
    """They are nan or infinite; those of the others are as they were."""

    def passes(t: Any, y: Any) -> Any:
        return np.cos(t) - 0.0 * y[0]

    passes.terminal = 3  # type: ignore[attr-defined]

    def times(end: Any, rate: Any) -> Any:
        def event(t: Any, y: Any) -> Any:
            return y[0] - 0.5

        event.terminal = 2  # type: ignore[attr-defined]
        found = solve_ivp(lambda t, y: -rate * y, (0, end), [1.0], "Tsit5", events=event, **TIGHT)
        return found.t_events[0], found.y_events[0][:, 0]

    rates = np.array([1.0, 0.4])
    for mode in ("reverse", "forward"):
        by_time, by_state = sg.vmap(sg.jacobian(lambda rate: times(1.0, rate), mode=mode))(rates)
        np.testing.assert_allclose(by_time[0, 0], -np.log(2.0), rtol=1e-8)
        np.testing.assert_allclose(by_state[0, 0], 0.0, atol=1e-8)
        assert not np.isfinite(by_time[0, 1]), "the second time"
        assert not np.isfinite(by_time[1]).any()
        assert not np.isfinite(by_state[1]).any()


def rounds(w: Any, span: Any, solve: Any, marks: dict[str, Any], **options: Any) -> Any:
    """Go round a circle at the speed ``w``; the events are lines across, with these marks."""
    events = []
    for k, (level, marked) in enumerate(marks.items()):

        def line(t: Any, y: Any, k: int = k, level: float = float(level)) -> Any:
            return y[k % 2] - level

        for name, value in marked.items():
            if name != "recorded" or solve is solve_ivp:
                setattr(line, name, value)
        events.append(line)
    return solve(
        lambda t, y: [w * y[1], -w * y[0]], span, [1.0, 0.0], "DOP853", events=events, **TIGHT,
        **options,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_events_that_do_not_end_the_integration(seed: int) -> None:
    """Mixed with such that do, as SciPy's; the times kept are the first."""
    rng = np.random.default_rng(seed)
    marks: dict[str, Any] = {}
    for _ in range(int(rng.integers(1, 4))):
        marked = {"recorded": int(rng.integers(1, 9)), "direction": int(rng.integers(-1, 2))}
        if rng.random() < 0.3:
            marked["terminal"] = int(rng.integers(1, 6))
        marks[str(rng.uniform(-0.9, 0.9))] = marked
    span = (0.0, float(rng.choice([7.0, -7.0])))
    times = np.linspace(*span, 5)
    w = float(rng.uniform(0.5, 3.0))

    def f(w: Any, solve: Any = solve_ivp) -> Any:
        found = rounds(w, span, solve, marks, t_eval=times)
        return found.t_events, found.y_events, found.status, found.y

    expected_times, expected_states, status, expected = f(w, scipy.integrate.solve_ivp)
    times_found, states, our_status, y = sg.compile(f)(w)
    assert our_status == status
    np.testing.assert_allclose(y[:, : expected.shape[1]], expected, atol=1e-9)
    slopes = sg.jacobian(lambda w: f(w)[0])(w)
    every = zip(
        times_found, states, slopes, expected_times, expected_states, marks.values(), strict=True
    )
    for found, at, slope, exact, there, marked in every:
        rows = marked["recorded"]
        known = min(rows, len(exact))
        assert found.shape == (rows,)
        assert at.shape == (rows, 2)
        np.testing.assert_allclose(found[:known], exact[:known], atol=1e-9)
        np.testing.assert_allclose(slope[:known], -exact[:known] / w, atol=1e-8)
        assert np.isnan(found[known:]).all()
        assert not np.isfinite(slope[known:]).any()
        if known:
            np.testing.assert_allclose(at[:known], there[:known], atol=1e-9)


@pytest.mark.slow
def test_recorded_events_under_other_transformations() -> None:
    def crossings(w: Any) -> Any:
        marks = {"0.1": {"recorded": 3}}
        return rounds(w, (0.0, 9.0), solve_ivp, marks).t_events[0]

    angles = np.array([np.arccos(0.1), 2 * np.pi - np.arccos(0.1), 2 * np.pi + np.arccos(0.1)])
    speeds = np.array([0.5, 1.0, 2.0])
    expected = np.where(angles < 9 * speeds[:, np.newaxis], angles / speeds[:, np.newaxis], np.nan)
    np.testing.assert_allclose(sg.vmap(crossings)(speeds), expected, atol=1e-10)
    np.testing.assert_allclose(
        sg.grad(lambda w: np.sum(crossings(w)))(2.0), -angles.sum() / 4, rtol=1e-9
    )
    slopes = sg.vmap(sg.grad(lambda w: np.nansum(crossings(w))))(speeds)
    np.testing.assert_allclose(slopes, -np.nansum(expected, axis=1) / speeds, rtol=1e-8)
    second = sg.hessian(lambda w: crossings(w)[1])(2.0)
    np.testing.assert_allclose(second, 2 * angles[1] / 8, rtol=1e-6)


@pytest.mark.parametrize("recorded", [True, 0, -1, 2.5])
def test_how_often_an_event_is_recorded(recorded: Any) -> None:
    marks = {"0.1": {"recorded": recorded}}
    with pytest.raises(ValueError, match=r"`recorded`.*positive integer"):
        sg.compile(lambda w: rounds(w, (0.0, 1.0), solve_ivp, marks).t_events[0])(1.0)


def test_events_that_say_nothing_and_no_events() -> None:
    with pytest.raises(UnsupportedError, match=r"line\.recorded = 100.*line\.terminal = 1"):
        sg.compile(lambda w: rounds(w, (0.0, 1.0), solve_ivp, {"0.1": {}}).t_events[0])(1.0)
    found = sg.compile(lambda w: rounds(w, (0.0, 1.0), solve_ivp, {}).t_events)(1.0)
    assert found == rounds(1.0, (0.0, 1.0), scipy.integrate.solve_ivp, {}).t_events == []

"""Attacks on solve_ivp: random systems, states, times and options, also bad ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.integrate

import symgrad as sg
from symgrad.scipy.integrate import Tsit5, odeint, solve_ivp

METHODS = ("RK23", "RK45", "DOP853", "Tsit5")
IMPLICIT = ("BDF", "Radau")

#: Tsitouras' method by SciPy's own loop.
PLAIN = type("Plain", (scipy.integrate.RK45,), {name: getattr(Tsit5, name) for name in "ABCEP"})

#: SciPy goes on for ever where a step is nan; so often it may ask for a slope.
CALLS = 20_000


class EndlessError(Exception):
    """SciPy finds no end."""


class Problem(NamedTuple):
    """Arguments of ``solve_ivp``, and whether the last steps are decided by rounding."""

    fun: Callable[..., Any]
    span: Any
    y0: Any
    options: dict[str, Any]
    rough: bool = False


def right_hand_side(rng: np.random.Generator, n: int, data: Any) -> tuple[Callable[..., Any], bool]:
    """Return a system of n equations that reads ``data``, and whether it may end early."""
    matrix, square, rate = data
    kind = int(rng.integers(10))
    if kind == 0:
        return lambda t, y: matrix @ y, False
    if kind == 1:
        return lambda t, y: [np.sin(rate * t) * x for x in y], False
    if kind == 2:
        return lambda t, y: tuple(matrix @ y - y * y * y), False
    if kind == 3:
        return lambda t, y: square * y * y, True  # infinite where positive
    if kind == 4:

        def written(t: Any, y: Any) -> Any:
            out = np.zeros_like(y)
            out[1:] = y[:-1] - y[1:]
            if n:
                out[0] = -rate * y[0] + np.cos(t)
            return out

        return written, False
    if kind == 5:
        return lambda t, y: -np.sqrt(y), True  # nan below zero
    if kind == 6:

        def switched(t: Any, y: Any) -> Any:
            return np.where(t > 0.5, -rate * y, y)

        return switched, False
    if kind == 7:
        return lambda t, y: np.stack([y[(k + 1) % n] - rate * y[k] for k in range(n)]), False
    if kind == 8:
        return lambda t, y: 0.5, False
    return lambda t, y: -rate * y + np.exp(-t) * (matrix @ np.tanh(y)), False


def state(rng: np.random.Generator, n: int) -> Any:
    """Return a state in one of the forms in which it may be given."""
    y = rng.normal(size=n) + 1.5
    whole = rng.integers(0, 4, n)
    imaginary = rng.normal(size=n)
    return (
        y, y.tolist(), tuple(y), whole, whole.tolist(), y.astype(np.float32), y + 1j * imaginary,
        np.repeat(y, 2)[::2], y[::-1],
    )[rng.integers(9)]  # fmt: skip


def times(rng: np.random.Generator) -> Any:
    """Return a span of time in one of its forms."""
    a, b = rng.normal(size=2)
    return (
        (0, 1), [0.0, 2.0], (2.5, 1), np.array([0.0, 1.5]), (a, b), (1.0, 1.0), (np.int64(0), 3),
    )[rng.integers(7)]  # fmt: skip


def event(rng: np.random.Generator, k: int) -> Callable[..., Any]:
    """Return an event, terminal or not."""
    level = float(rng.normal())

    def crossing(t: Any, y: Any, *args: Any) -> Any:
        return np.real(y[0]) - level if k % 2 else np.sin(3 * t + level)

    if rng.integers(2):
        crossing.terminal = (True, False, 2)[rng.integers(3)]  # type: ignore[attr-defined]
    crossing.direction = float(rng.integers(-1, 2))  # type: ignore[attr-defined]
    return crossing


def problem(rng: np.random.Generator) -> tuple[Problem, tuple[Any, Any, Any]]:
    """Return a problem, and the arrays that its right-hand side reads."""
    n = int(rng.choice([0, 1, 1, 2, 3, 3, 5, 8, 20]))
    data = rng.normal(size=(n, n)), rng.normal(size=n), np.array(rng.uniform(0.1, 3))
    fun, rough = right_hand_side(rng, n, data)
    span, y0 = times(rng), state(rng, n)
    rough = rough or any(np.iscomplexobj(x) for x in (y0,))
    options: dict[str, Any] = {"method": METHODS[rng.integers(4)]}
    if rng.integers(2):
        options["rtol"] = float(10.0 ** -rng.uniform(2, 9))
    if rng.integers(3) == 0:
        options["atol"] = np.full(n, 1e-7) if rng.integers(2) else 10.0 ** -rng.integers(3, 9)
    if rng.integers(4) == 0:
        options["max_step"] = float(rng.uniform(0.05, 1))
    if rng.integers(5) == 0:
        options["first_step"] = 1e-3
    if rng.integers(2):
        within = np.sort(rng.uniform(0, 1, int(rng.choice([0, 1, 2, 5, 40]))))
        if rng.integers(2):
            within = np.unique(np.concatenate([within, [0.0, 1.0]]))
        options["t_eval"] = float(span[0]) + (float(span[1]) - float(span[0])) * within
    if rng.integers(4) == 0:
        options["dense_output"] = True
    if rng.integers(3) == 0 and n:
        options["events"] = [event(rng, k) for k in range(int(rng.integers(1, 3)))]
    if rng.integers(4) == 0:
        plain = fun
        options["args"] = (float(rng.normal()),)
        fun = lambda t, y, c: c * np.asarray(plain(t, y)) if n else y  # noqa: E731
    return Problem(fun, span, y0, options, rough), data


def spoiled(rng: np.random.Generator, given: Problem) -> Problem:
    """Return the problem with one argument that SciPy has a word on."""
    change: dict[str, Any] = [
        {"rtol": 1e-17}, {"atol": -1.0}, {"first_step": 0.0}, {"first_step": 1e9},
        {"max_step": -1.0}, {"method": "RK4"}, {"method": None}, {"args": 3}, {"lband": 1},
        {"t_eval": [[0.5]]}, {"t_eval": [99.0]}, {"t_eval": [0.5, 0.5]}, {"atol": [1.0] * 99},
    ][rng.integers(13)]  # fmt: skip
    kind = int(rng.integers(6))
    if kind == 0:
        return given._replace(span=(0, 1, 2))
    if kind == 1:
        return given._replace(y0=np.ones((2, 2)))
    if kind == 2:
        return given._replace(y0=[1.0, np.nan])
    if kind == 3:
        return given._replace(fun=lambda t, y: [1.0, 2.0, 3.0, 4.0])
    return given._replace(options={**given.options, **change})


def solved(solve: Callable[..., Any], given: Problem, fun: Any) -> tuple[Any, Any]:
    """Return the result and the words of warnings, or the error."""
    options = dict(given.options)
    if solve is scipy.integrate.solve_ivp:
        if options["method"] == "Tsit5":
            options["method"] = PLAIN
        elif options["method"] in IMPLICIT and not np.iscomplexobj(given.y0):
            plain = given.fun
            options["jac"] = lambda t, y, *args: sg.jacobian(
                lambda y: np.asarray(plain(t, y, *args)) + 0.0 * y
            )(y)
    with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        try:
            found = solve(fun, given.span, given.y0, **options)
        except Exception as error:  # noqa: BLE001
            return error, None
    return found, {str(w.message) for w in told}


def compare(given: Problem) -> str:
    """Solve by SciPy and by symgrad; return what is to be counted."""
    calls = 0

    def counted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > CALLS:
            raise EndlessError
        return given.fun(*args)

    expected, words = solved(scipy.integrate.solve_ivp, given, counted)
    found, said = solved(solve_ivp, given, given.fun)
    if isinstance(expected, EndlessError):
        assert found.status == -1
        return "SciPy goes on for ever"
    if "infs or NaNs" in str(expected):  # of the matrix that SciPy factorises
        assert found.status == -1
        return "no end"
    if isinstance(expected, IndexError):  # of SciPy's differences, where a slope is a number
        assert found.success
        return "SciPy fails"
    if isinstance(expected, Exception):
        assert type(found) is type(expected)
        if "`method`" in str(expected):
            assert "Rodas5P" in str(found)
        else:
            assert str(found) == str(expected)
        return "the same error"
    if isinstance(found, Exception):
        raise found
    assert said == words
    assert set(found) == set(expected)
    assert (found.status, found.message) == (expected.status, expected.message)
    if given.rough or not found.success:
        if len(expected.t):
            np.testing.assert_allclose(found.t[-1], expected.t[-1], rtol=1e-5, atol=1e-5)
        return "up to rounding"
    counts, close = ("nfev", "njev", "nlu"), {"rtol": 1e-6, "atol": 1e-8}
    same = all(found[x] == expected[x] for x in counts) and np.allclose(
        found.t, expected.t, **close
    )
    if given.options["method"] in IMPLICIT and not same:
        # Where nothing is left to correct, or at a jump, rounding says how steps go on.
        asked = given.options.get("rtol", 1e-3) + np.max(given.options.get("atol", 1e-6))
        if len(expected.t):
            np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=asked, atol=asked)
        return "other steps"
    for name in (*counts, "success"):
        assert found[name] == expected[name], name
    np.testing.assert_allclose(found.t, expected.t, **close)
    assert np.asarray(found.y).dtype == np.asarray(expected.y).dtype
    size = np.abs(expected.y).max(initial=0.0)
    np.testing.assert_allclose(found.y, expected.y, rtol=1e-6, atol=1e-8 * (1 + size))
    if expected.sol is not None and given.span[0] != given.span[1]:
        t = np.linspace(float(given.span[0]), float(expected.sol.ts[-1]), 7)
        np.testing.assert_allclose(found.sol(t), expected.sol(t), rtol=1e-5, atol=1e-7 * (1 + size))
    for ours, theirs in zip(found.t_events or (), expected.t_events or (), strict=True):
        np.testing.assert_allclose(ours, theirs, **close)
    return "equal"


@pytest.mark.attack(quick=4, whole=3000, judge="SciPy's steps, counts, messages and errors")
def test_as_scipy(attack: Any) -> None:
    """Explicit methods on random systems, once more after the arrays they read have changed."""
    for case in attack:
        with case:
            given, data = problem(case.rng)
            outcome = compare(given)
            for array in data:
                array *= 0.5
            again = compare(given)
            case.tally(outcome if again != "equal" else again)
            bad = spoiled(case.rng, given)
            compare(bad)


@pytest.mark.attack(quick=2, whole=1000, judge="SciPy's steps, with the exact Jacobian")
def test_implicit(attack: Any) -> None:
    """Methods that keep their factors, on the same random systems."""
    for case in attack:
        with case:
            given, data = problem(case.rng)
            method = IMPLICIT[case.rng.integers(2)]
            given = given._replace(options={**given.options, "method": method})
            case.tally(compare(given))
            for array in data:
                array *= 0.5
            compare(given)


@pytest.mark.attack(quick=2, whole=1000, judge="`DOP853` at 1e-12, compared with SciPy elsewhere")
def test_series(attack: Any) -> None:
    """Power series on the same random systems, at random tolerances."""
    for case in attack:
        with case:
            given, data = problem(case.rng)
            given = given._replace(options={**given.options, "method": "Taylor"})
            if "events" in given.options:  # of two zeros within one of its steps nothing is known
                given.options["max_step"] = 0.2
            case.tally(as_exact(given))
            for array in data:
                array *= 0.5
            as_exact(given)


def as_exact(given: Problem) -> str:
    """Solve by series and, to more digits, by DOP853; return what is to be counted."""
    close = given.options.get("rtol", 1e-3)
    exact = {**given.options, "method": "DOP853", "rtol": 1e-12, "atol": 1e-13, "max_step": 0.02}
    expected, _ = solved(solve_ivp, given._replace(options=exact), given.fun)
    found, _ = solved(solve_ivp, given, given.fun)
    if isinstance(expected, Exception):
        assert type(found) is type(expected)
        assert str(found) == str(expected)
        return "the same error"
    if isinstance(found, Exception):
        raise found
    assert set(found) == set(expected)
    if not expected.success or given.rough:
        return "no end" if not found.success else "rough"
    assert (found.status, found.message) == (expected.status, expected.message)
    y, size = np.asarray(expected.y), np.abs(expected.y).max(initial=0.0)
    assert np.asarray(found.y).dtype == y.dtype
    asked = close + np.max(given.options.get("atol", 1e-6), initial=0.0)
    limits = {"rtol": 0, "atol": 300 * asked * (1 + size)}
    if "t_eval" in given.options:
        assert np.shape(found.t) == np.shape(expected.t)
        np.testing.assert_allclose(found.y, y, **limits)
    if len(expected.t):
        np.testing.assert_allclose(found.y[:, -1], y[:, -1], **limits)
    if expected.sol is not None and given.span[0] != given.span[1]:
        t = np.linspace(float(given.span[0]), float(expected.sol.ts[-1]), 7)
        np.testing.assert_allclose(found.sol(t), expected.sol(t), **limits)
    return "close"


@pytest.mark.attack(quick=1, whole=500, judge="SciPy's Radau at 1e-10")
def test_stiff(attack: Any) -> None:
    """Rodas5P and RadauIIA on random stiff systems of up to twelve equations."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.integers(1, 13))
            basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
            matrix = basis @ np.diag(-(10.0 ** rng.uniform(-1, 5, n))) @ basis.T
            force, square = rng.normal(size=(2, n))

            def f(t: Any, y: Any, m: Any = matrix, f: Any = force, s: Any = square) -> Any:
                return m @ y + f * np.cos(t) - s * s * y**3

            span = (0.0, 1.5) if rng.integers(2) else (-1.0, 1.0)
            t_eval = np.linspace(*span, 5) if rng.integers(2) else None
            y0 = rng.normal(size=n)
            method = ("Rodas5P", "RadauIIA")[int(rng.integers(2))]
            rtol = (1e-7, 1e-8)[int(rng.integers(2))]  # five points and seven
            found = solve_ivp(f, span, y0, method, t_eval, rtol=rtol, atol=1e-9)
            exact = scipy.integrate.solve_ivp(
                f, span, y0, "Radau", found.t, rtol=1e-10, atol=1e-12, jac=None
            )
            assert found.success
            np.testing.assert_allclose(found.y, exact.y, rtol=1e-5, atol=1e-6)


@pytest.mark.attack(quick=2, whole=1000, judge="the solution between all steps")
def test_times(attack: Any) -> None:
    """Times at and one ulp beside the ends of steps, thousands in a step, of any type; events."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.integers(1, 7))
            span = ((0.0, 2.0), (-1.0, 1.0), (0.5, 0.0))[rng.integers(3)]
            way = np.sign(span[1] - span[0])  # solutions decay
            matrix, rates = rng.normal(size=(n, n)), way * 10.0 ** rng.uniform(-1, 3, n)

            def f(t: Any, y: Any, m: Any = matrix, r: Any = rates) -> Any:
                return m @ np.sin(y) - r * y + np.cos(t)

            method = str(rng.choice([*METHODS, *IMPLICIT, "RadauIIA", "Rodas5P", "Taylor"]))
            rtol = 10.0 ** rng.uniform(-8, -3)
            given = {"rtol": rtol, "atol": rtol / 10, "method": method}
            y0 = rng.normal(size=n)
            steps = solve_ivp(f, span, y0, dense_output=True, **given)
            at = steps.t
            near = [at[1:-1], *(np.nextafter(at[1:-1], x) for x in (-np.inf, np.inf))]
            times = [
                at, at[1:], at[:1], at[-1:], at[[0, -1]], (at[1:] + at[:-1]) / 2,
                np.unique(near)[:: int(way)], np.linspace(at[0], at[1], 3000),
                np.linspace(*span, 50).astype(np.float32), np.array([0]),
            ][rng.integers(10)]  # fmt: skip
            more = {}
            if rng.integers(3) == 0 and times.dtype == float:  # SciPy's loop computes in their type
                more["events"] = lambda t, y: y[0] - 0.01
            for _ in range(2):
                found = solve_ivp(f, span, y0, t_eval=times, **given, **more)
                assert found.success == steps.success
                assert np.asarray(found.t).dtype == times.dtype or not len(times)
                np.testing.assert_array_equal(found.t, times)
                if len(times):
                    wanted = steps.sol(times.astype(float))
                    most = np.max(np.abs(steps.y), axis=1, keepdims=True)
                    assert np.all(np.abs(found.y - wanted) <= 1e-11 * most)


@pytest.mark.attack(quick=2, whole=1000, judge="SciPy's odeint, to its tolerances")
def test_odeint(attack: Any) -> None:
    """``odeint`` on the same random systems, at times in any form, once more after a change."""
    for case in attack:
        with case:
            given, data = problem(case.rng)
            n = len(given.y0)
            ends = np.array([float(x) for x in given.span])
            times = np.linspace(*ends, int(case.rng.choice([1, 2, 5, 30])))
            if case.rng.integers(4) == 0:
                times = np.sort(np.append(times, times[-1:]))  # once more, and maybe turned
            first = bool(case.rng.integers(2))
            args = given.options.get("args", ())
            plain = given.fun
            fun = plain if first else lambda y, t, *args, plain=plain: plain(t, y, *args)
            options = {"args": args, "tfirst": first}
            if case.rng.integers(3) == 0:
                options["rtol"] = 1e-6
            case.tally(as_odeint(fun, given.y0, times, options, given.rough or n == 0))
            for array in data:
                array *= 0.5
            as_odeint(fun, given.y0, times, options, given.rough or n == 0)


def as_odeint(fun: Any, y0: Any, times: Any, options: Any, rough: bool) -> str:
    """Solve by both; return what is to be counted."""
    found: list[Any] = []
    for solve in (scipy.integrate.odeint, odeint):
        with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            try:
                found.append(solve(fun, y0, times, **options))
            except Exception as error:  # noqa: BLE001
                found.append(error)
        lost = any(issubclass(w.category, scipy.integrate.ODEintWarning) for w in told)
    expected, ours = found
    if isinstance(expected, Exception):
        assert type(ours) is type(expected)
        assert str(ours) == str(expected)
        return "the same error"
    if isinstance(ours, Exception):
        raise ours
    assert ours.shape == expected.shape
    assert ours.dtype == expected.dtype
    if rough or lost:
        return "rough"
    size = 1 + np.abs(expected).max(initial=0.0)
    asked = 1e-4 if "rtol" in options else 1e-5
    np.testing.assert_allclose(ours, expected, rtol=asked, atol=asked * size)
    return "close"

"""symgrad.scipy.integrate.solve_ivp against SciPy's: steps, counts, results, errors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import symgrad as sg
from symgrad.errors import NotCompiledWarning, UnsupportedError
from symgrad.scipy.integrate import Taylor, Tsit5, solve_ivp

#: Tsitouras' method by SciPy's own loop.
PLAIN = type("Plain", (scipy.integrate.RK45,), {name: getattr(Tsit5, name) for name in "ABCEP"})

EXPLICIT = ("RK23", "RK45", "DOP853", "Tsit5")


def lorenz(t: Any, y: Any, s: Any = 10.0, r: Any = 28.0, b: Any = 8 / 3) -> Any:
    return [s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - b * y[2]]


def compare(*args: Any, close: float = 1e-9, **options: Any) -> Any:
    """Solve by SciPy and by symgrad; the results are the same up to rounding."""
    method = options.pop("method", "RK45")
    theirs = PLAIN if method == "Tsit5" else method
    expected = scipy.integrate.solve_ivp(*args, method=theirs, **options)
    found = solve_ivp(*args, method=method, **options)
    np.testing.assert_allclose(found.t, expected.t, rtol=close, atol=1e-12)
    size = np.abs(expected.y).max(initial=0.0) if len(expected.t) else 0.0
    np.testing.assert_allclose(found.y, expected.y, rtol=close, atol=close * size)
    assert np.shape(found.y) == np.shape(expected.y)
    assert np.asarray(found.y).dtype == np.asarray(expected.y).dtype
    for name in ("nfev", "njev", "nlu", "status", "message", "success"):
        assert found[name] == expected[name], name
    assert set(found) == set(expected)
    if expected.sol is not None:
        t = np.linspace(expected.t[0], expected.t[-1], 23)
        np.testing.assert_allclose(found.sol(t), expected.sol(t), rtol=close, atol=1e-11)
        np.testing.assert_allclose(found.sol(t[5]), expected.sol(t[5]), rtol=close, atol=1e-11)
    if expected.t_events is not None:
        for ours, wanted in zip(found.t_events, expected.t_events, strict=True):
            np.testing.assert_allclose(ours, wanted, rtol=1e-12)
    return found


@pytest.mark.parametrize("method", EXPLICIT)
@pytest.mark.quick(1)
def test_steps_are_scipys(method: str) -> None:
    assert compare(lorenz, (0, 2), [1, 0, 0], method=method, rtol=1e-7).success
    times = np.linspace(2, 1.9, 17)
    compare(lorenz, (2, 1.9), [1, 2, 3], method=method, t_eval=times, atol=[1e-6, 1e-7, 1e-5])
    compare(lorenz, (0, 1), [1, 0, 0], method=method, args=(10, 28.0, 2.5), dense_output=True)


@pytest.mark.parametrize("method", EXPLICIT)
@pytest.mark.quick(1)
def test_blow_up_ends_as_with_scipy(method: str) -> None:
    def f(t: Any, y: Any) -> Any:
        return y**2

    theirs = PLAIN if method == "Tsit5" else method
    expected = scipy.integrate.solve_ivp(f, (0, 3), [1.0], theirs, rtol=1e-6)
    found = solve_ivp(f, (0, 3), [1.0], method, rtol=1e-6)
    assert (found.status, found.message) == (expected.status, expected.message)
    assert abs(found.nfev - expected.nfev) < 0.02 * found.nfev  # the last steps are rounding
    np.testing.assert_allclose(found.t[-1], expected.t[-1], rtol=1e-12)


@pytest.mark.slow
def test_long_runs_go_over_many_chunks() -> None:
    found = compare(lambda t, y: np.stack([y[1], -y[0]]), (0, 9), [1, 0], max_step=0.004)
    assert len(found.t) > 2000
    found = compare(lambda t, y: -y * t, (0, 30), np.ones(5), t_eval=[0, 1.5, 1.6, 30])
    assert found.y.shape == (5, 4)


OPTIONS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "steps": (
        (lambda t, y: -y, (0, 1), [1, 2]),
        {"vectorized": True, "first_step": 0.01, "max_step": 0.1},
    ),
    "complex": ((lambda t, y: 1j * y, (0, 3), [1 + 0j, 2]), {"rtol": 1e-6}),
    "complex and stiff": (
        (lambda t, y: -1j * y * np.abs(y) ** 2, (0, 3), [1 + 0j, 2]),
        {"method": "BDF"},
    ),
    "tolerances": (
        (lambda t, y: (y[1], -y[0]), (0, 1), (1, 0)),
        {"rtol": [1e-3, 1e-5], "atol": [1e-6, 1e-4]},
    ),
    "a number": ((lambda t, y: 0.5, (0, 1), [1.0]), {}),
    "no time": ((lambda t, y: math.cos(t) * y, (1, 1), [1.0]), {}),
    "no state": ((lambda t, y: y, (0, 1), []), {}),
    "no times": ((lambda t, y: y, (0, 1), [1.0]), {"t_eval": []}),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.quick(2)
def test_options(name: str) -> None:
    args, options = OPTIONS[name]
    compare(*args, **options)


def test_events_and_dense_output() -> None:
    def fall(t: Any, y: Any) -> Any:
        return [y[1], -9.81]

    def ground(t: Any, y: Any) -> Any:
        return y[0]

    def top(t: Any, y: Any) -> Any:
        return y[1]

    ground.terminal, ground.direction = True, -1  # type: ignore[attr-defined]
    found = compare(fall, (0, 100), [0, 50], events=[ground, top], dense_output=True)
    assert found.status == 1
    assert abs(found.t[-1] - 100 / 9.81) < 1e-12
    compare(fall, (0, 9), [0, 50], events=top, method="DOP853", t_eval=[1, 2])


BAD: dict[str, Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "span of three": lambda: ((lorenz, (0, 1, 2), [1, 0, 0]), {}),
    "state of rank 2": lambda: ((lorenz, (0, 1), [[1, 0, 0]]), {}),
    "state not finite": lambda: ((lorenz, (0, 1), [1, np.nan, 0]), {}),
    "slope too long": lambda: ((lambda t, y: [1, 2, 3], (0, 1), [1, 2]), {}),
    "slope too short": lambda: ((lambda t, y: [1, 2], (0, 1), [1, 2, 3]), {}),
    "args no tuple": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"args": 3}),
    "too many args": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"args": (1, 2, 3, 4)}),
    "first step": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"first_step": -1}),
    "first step too long": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"first_step": 2}),
    "max step": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"max_step": 0}),
    "atol": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"atol": -1}),
    "atol's shape": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"atol": [1, 2]}),
    "t_eval outside": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"t_eval": [2]}),
    "t_eval unsorted": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"t_eval": [0.5, 0.1]}),
    "t_eval of rank 2": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"t_eval": [[0.5]]}),
    "rtol": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"rtol": 1e-18}),
    "unknown option": lambda: ((lorenz, (0, 1), [1, 0, 0]), {"nosuch": 3}),
    "index": lambda: ((lambda t, y: [y[3]], (0, 1), [1.0]), {}),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.quick(100)
def test_bad_input_is_answered_as_scipy_does(what: str) -> None:
    args, options = BAD[what]()
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        scipy.integrate.solve_ivp(*args, **options)
    with pytest.raises(type(theirs.value)) as ours:
        solve_ivp(*args, **options)
    assert str(ours.value) == str(theirs.value)


def test_unknown_methods_are_told_which_there_are() -> None:
    for method in ("RK44", None, int, 3):
        with pytest.raises(
            ValueError,
            match=r"`method` must be one of .*'Tsit5', 'Rodas5P', 'RadauIIA', .*'Radau', 'LSODA'",
        ):
            solve_ivp(lorenz, (0, 1), [1, 0, 0], method)


def test_steps_are_limited() -> None:
    found = solve_ivp(lambda t, y: -1000 * y, (0, 1e9), [1.0], max_steps=5000)
    assert (found.status, found.success) == (-1, False)
    assert "5000 steps" in found.message
    assert found.nfev == 2 + 6 * 5000


def test_nan_ends_at_once() -> None:
    found = solve_ivp(lambda t, y: np.where(t < 0.5, 1.0, np.nan) * y, (0, 1), [1.0])
    assert found.status == -1
    assert found.t[-1] <= 0.5
    found = solve_ivp(lambda t, y: np.nan * y, (0, 1), [1.0])  # SciPy goes on forever
    assert (found.status, len(found.t)) == (-1, 1)


def test_what_a_function_reads_is_never_old() -> None:
    rate, weights = 1.0, np.array([1.0, 2.0])

    def decay(t: Any, y: Any) -> Any:
        return -rate * weights * y

    def end(f: Any, *args: Any) -> Any:
        return solve_ivp(f, (0, 1), [1.0, 1.0], rtol=1e-10, atol=1e-12, args=args).y[:, -1]

    for rate in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(end(decay), np.exp(-rate * weights), rtol=1e-7)
    weights[0] = 5.0
    np.testing.assert_allclose(end(decay), np.exp(-rate * weights), rtol=1e-7)
    for k in (0.5, 1.5, 2.5):
        np.testing.assert_allclose(end(lambda t, y: -k * y), np.exp(-k) * np.ones(2), rtol=1e-9)  # noqa: B023
        found = end(lambda t, y, c: -c * y, k)
        np.testing.assert_allclose(found, np.exp(-k) * np.ones(2), rtol=1e-9)


class Oscillator:
    def __init__(self, stiffness: float) -> None:
        self.stiffness = stiffness

    def slope(self, t: Any, y: Any) -> Any:
        return [y[1], -self.stiffness * y[0]]

    __call__ = slope


@pytest.mark.slow
def test_methods_objects_and_rewritten_code() -> None:
    a, b = Oscillator(1.0), Oscillator(2.0)
    for f in (a.slope, b.slope, a, b):
        compare(f, (0, 1), [1.0, 0.0])
    a.stiffness = 3.0
    compare(a.slope, (0, 1), [1.0, 0.0])

    def kinked(t: Any, y: Any) -> Any:
        rate = 1.0
        if y[0] < 0.5:
            rate = 2.0
        return np.array([-rate * y[0]])

    compare(kinked, (0, 2), [1.0])


class Tank:
    """A model whose outflow has a branch, in a helper."""

    def __init__(self, outflow: float) -> None:
        self.outflow = outflow

    def valve(self, t: Any) -> Any:
        return self.outflow if t > 0.5 else 2.0 * self.outflow

    def slope(self, t: Any, y: Any) -> Any:
        if y[0] < 0.3:
            return [0.0]
        return [-self.valve(t) * y[0]]


def test_branches_of_models_made_anew_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = []
    specialize = sg.Function._specialize

    def counting(self: Any, *args: Any) -> Any:
        traced.append(self)
        return specialize(self, *args)

    def nested(outflow: float) -> Any:
        tank = Tank(outflow)

        def slope(t: Any, y: Any) -> Any:
            if y[0] < 0.3:
                return [0.0]
            return [-tank.valve(t) * y[0]]

        return slope

    monkeypatch.setattr(sg.Function, "_specialize", counting)
    for make in (lambda k: Tank(k).slope, nested):
        for k in (0.5, 0.7, 0.9, 1.1, 1.3):
            if k > 0.8:  # a number that changes has cost one more trace
                traced.clear()
            compare(make(k), (0, 2), [1.0])
        assert not traced


def test_what_cannot_be_traced_is_solved_by_scipy() -> None:
    table = {0: 1.0, 1: 2.0}

    def f(t: Any, y: Any) -> Any:
        return [-table[int(t)] * y[0]]

    with pytest.warns(NotCompiledWarning, match="f is not compiled"):
        found = solve_ivp(f, (0, 1.5), [1.0])
    expected = scipy.integrate.solve_ivp(f, (0, 1.5), [1.0])
    assert np.array_equal(found.y, expected.y)


def robertson(t: Any, y: Any) -> Any:
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [b - a, a - b - c, c]


def diffusion(t: Any, y: Any) -> Any:
    left, right = np.concatenate([[1.0], y[:-1]]), np.concatenate([y[1:], [0.0]])
    return 200.0 * (left - 2 * y + right) - y**3


def groups(t: Any, y: Any) -> Any:
    a, b, c = np.reshape(y, (3, -1))
    return np.concatenate([b - 100 * a, c * a - b, np.cos(t) - c])


FULL = np.random.default_rng(5).normal(size=(20, 20)) - np.diag(np.logspace(0, 4, 20))


def switched(t: Any, y: Any) -> Any:
    if y[0] > 0.5:
        return [-100 * y[0], y[0] - y[1]]
    return [-50 * y[0], y[0] - y[1]]


#: Stiff systems of each structure: right-hand side, times, state.
STIFF: dict[str, tuple[Any, tuple[float, float], Any]] = {
    "one": (lambda t, y: -1e3 * (y - np.cos(t)), (0, 2), [0]),
    "three": (robertson, (0, 1e4), [1, 0, 0]),
    "a band": (diffusion, (0, 0.1), np.zeros(30)),
    "groups": (groups, (0, 3), np.linspace(0, 1, 18)),
    "full": (lambda t, y: FULL @ y + np.sin(t), (0, 1), np.ones(20)),
    "branches": (switched, (0, 0.1), [1.0, 0.0]),
    "backward": (lambda t, y: 40 * (y - t), (1, 0), [2.0, 1.0]),
}


@pytest.mark.parametrize("name", STIFF)
@pytest.mark.parametrize("method", ["BDF", "Radau"])
@pytest.mark.quick(3)
def test_steps_with_kept_factors_are_scipys(
    method: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are counts, where SciPy is given the exact Jacobian, too."""
    fun, span, y0 = STIFF[name]
    scipys = scipy.integrate.solve_ivp

    def exact(*args: Any, **options: Any) -> Any:
        jac = lambda t, y: sg.jacobian(lambda y: np.asarray(fun(t, y)))(y)  # noqa: E731
        return scipys(*args, **options, jac=jac)

    monkeypatch.setattr(scipy.integrate, "solve_ivp", exact)
    given: dict[str, Any] = {"method": method, "rtol": 1e-5, "atol": 1e-9, "close": 1e-6}
    assert compare(fun, span, y0, **given, dense_output=True).success
    compare(fun, span, y0, **given, t_eval=np.linspace(*span, 9), first_step=1e-4)

    def event(t: Any, y: Any) -> Any:
        return t - 0.3 * span[0] - 0.7 * span[1]

    event.terminal = True  # type: ignore[attr-defined]
    compare(fun, span, y0, **given, events=event)


@pytest.mark.parametrize("method", ["BDF", "Radau"])
def test_factors_are_kept_over_many_chunks_of_steps(method: str) -> None:
    def fun(t: Any, y: Any, rate: Any) -> Any:
        return [-rate * (y[0] - np.cos(30 * t)), y[0] - y[1]]

    given: dict[str, Any] = {"method": method, "args": (50.0,), "rtol": 1e-7, "atol": 1e-9}
    jac = [[-50.0, 0.0], [1.0, -1.0]]
    expected = scipy.integrate.solve_ivp(fun, (0, 6), [1, 0], **given, jac=lambda *_: jac)
    found = solve_ivp(fun, (0, 6), [1, 0], **given, jac=lambda t, y, rate: jac)
    assert len(found.t) > 1500
    np.testing.assert_allclose(found.t, expected.t, rtol=1e-5)
    assert (found.nfev, found.nlu) == (expected.nfev, expected.nlu)
    few = solve_ivp(fun, (0, 6), [1, 0], **given, max_steps=100)
    assert few.status == -1
    assert "100 steps" in few.message
    late = lambda t, y, rate: t - 1.0  # noqa: E731
    seen = solve_ivp(fun, (0, 6), [1, 0], **given, jac=lambda t, y, rate: jac, events=late)
    np.testing.assert_allclose(seen.t_events[0], [1.0], rtol=1e-12)
    wrong = [[1.0]]
    with pytest.raises(ValueError, match=r"`jac` is expected to have shape \(2, 2\)"):
        solve_ivp(fun, (0, 6), [1, 0], **given, jac=lambda *_: wrong)


@pytest.mark.parametrize("method", ["BDF", "Radau", "RadauIIA"])
@pytest.mark.quick(1)
def test_no_way_on_is_said_as_by_scipy(method: str) -> None:
    for fun in (lambda t, y: y**2, lambda t, y: [-np.sqrt(y[0])], lambda t, y: y * np.nan):
        found = solve_ivp(fun, (0, 3), [1.0], method)
        assert (found.status, found.success) == (-1, False)
        assert found.message == "Required step size is less than spacing between numbers."
        times = np.linspace(0, 3, 7)
        seen = solve_ivp(fun, (0, 3), [1.0], method, times)
        assert (seen.status, len(seen.t)) == (-1, np.sum(times <= found.t[-1]) * (len(found.t) > 1))


@pytest.mark.parametrize("method", ["BDF", "Radau", "RadauIIA"])
@pytest.mark.quick(1)
def test_states_at_times_are_those_of_the_interpolants(method: str) -> None:
    """One loop looks at the times on its way, the other's steps are interpolated afterwards."""

    def fun(t: Any, y: Any) -> Any:
        return [-50.0 * (y[0] - np.cos(3 * t)), y[0] - y[1]]

    for span in ((0, 6), (6, 0.5)):
        given: dict[str, Any] = {"method": method, "rtol": 1e-8, "atol": 1e-9}
        dense = solve_ivp(fun, span, [1, 0], **given, dense_output=True)
        for times in (np.linspace(*span, 3001), dense.t[[0, 3, 4, -1]], dense.t[:1], dense.t[-1:]):
            found = solve_ivp(fun, span, [1, 0], **given, t_eval=times)
            assert (found.status, found.nfev) == (0, dense.nfev)
            np.testing.assert_array_equal(found.t, times)
            np.testing.assert_allclose(found.y, dense.sol(times), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", STIFF)
@pytest.mark.quick(1)
def test_more_points_are_as_exact_as_asked_at_all_times(name: str) -> None:
    fun, span, y0 = STIFF[name]
    times = np.linspace(*span, 60)
    options: dict[str, Any] = {"t_eval": times, "atol": 1e-14}
    exact = solve_ivp(fun, span, y0, "Rodas5P", **options, rtol=1e-13).y
    for tolerance in (1e-4, 1e-6, 1e-8, 1e-11):
        given = options | {"rtol": tolerance, "atol": 1e-3 * tolerance}
        found = solve_ivp(fun, span, y0, "RadauIIA", **given)
        assert found.success
        error = np.abs(found.y - exact) / (np.abs(exact).max(axis=1, keepdims=True) + 1e-3)
        # A kink within a step is seen only as far as it shows at the places looked at.
        assert error.max() < (10 if name == "branches" else 1) * tolerance
    fewer = solve_ivp(fun, span, y0, "Radau", **options, rtol=1e-11)
    assert found.nfev < fewer.nfev / 3


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_scipys_implicit_methods_have_exact_jacobians(method: str) -> None:
    def robertson(t: Any, y: Any, k: Any) -> Any:
        a, b, c = 0.04 * y[0], k * y[1] * y[2], 3e7 * y[1] ** 2
        return [b - a, a - b - c, c]

    options = {"method": method, "args": (1e4,), "rtol": 1e-6, "atol": 1e-10}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of LSODA, in SciPy
        found = solve_ivp(robertson, (0, 40), [1, 0, 0], **options)
    np.testing.assert_allclose(
        found.y[:, -1], [0.7158270687, 9.185534764e-06, 0.2841637457], rtol=1e-4
    )
    assert found.status == 0


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_large_systems_have_sparse_jacobians(method: str) -> None:
    def heat(t: Any, y: Any) -> Any:
        left, right = np.concatenate([[1.0], y[:-1]]), np.concatenate([y[1:], [0.0]])
        return 200.0 * (left - 2 * y + right) - y**3

    y0 = np.zeros(150)
    found = solve_ivp(heat, (0, 0.1), y0, method, rtol=1e-6)
    band = np.abs(np.subtract.outer(range(150), range(150))) < 2
    expected = scipy.integrate.solve_ivp(heat, (0, 0.1), y0, method, rtol=1e-6, jac_sparsity=band)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-5, atol=1e-7)
    assert found.success


@pytest.mark.parametrize("method", ["Radau", "BDF", "RadauIIA"])
def test_large_systems_of_no_band_have_scipys_sparse_factors(method: str) -> None:
    links = np.random.default_rng(2).integers(0, 150, size=(3, 150))

    def network(t: Any, y: Any) -> Any:
        return 30.0 * sum(y[k] - y for k in links) - y**3

    found = solve_ivp(network, (0, 0.1), np.arange(150) / 150, method, rtol=1e-6)
    exact = scipy.integrate.solve_ivp(
        network, (0, 0.1), np.arange(150) / 150, "DOP853", rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(found.y[:, -1], exact.y[:, -1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.quick(1)
def test_series_are_as_exact_as_was_asked(rtol: float) -> None:
    def kepler(t: Any, y: Any) -> Any:
        inverse = (y[0] ** 2 + y[1] ** 2) ** -1.5
        return [y[2], y[3], -y[0] * inverse, -y[1] * inverse]

    eccentric = 0.6
    y0 = [1 - eccentric, 0, 0, np.sqrt((1 + eccentric) / (1 - eccentric))]
    found = solve_ivp(kepler, (0, 4 * np.pi), y0, "Taylor", rtol=rtol, atol=rtol, dense_output=True)
    np.testing.assert_allclose(found.y[:, -1], y0, atol=500 * rtol)  # two revolutions
    np.testing.assert_allclose(found.sol(2 * np.pi), y0, atol=500 * rtol)
    terms = {1e-3: 8, 1e-6: 10, 1e-9: 12, 1e-12: 16}[rtol]
    assert found.nfev % terms == 2 % terms
    assert len(found.t) < 90


#: Right-hand sides that are not smooth, of time and state; the solution is known by DOP853.
ROUGH: dict[str, Callable[..., Any]] = {
    "a jump": lambda t, y: np.where(t > 0.5, -3 * y, y),
    "a pulse": lambda t, y: np.where((t > 1) & (t < 1.4), 5.0, 0.0) - y,
    "a kink": lambda t, y: np.array([y[1], -np.abs(y[0])]),
    "bounds": lambda t, y: np.array([np.clip(y[1], -0.3, 0.3), -np.sin(y[0])]),
    "a table": lambda t, y: np.interp(t, np.arange(7.0), np.cos(np.arange(7.0))) - y,
    "whole steps": lambda t, y: np.floor(2 * t) - y,
    "the largest": lambda t, y: y[::-1] - np.max(y) * y,
    "in order": lambda t, y: np.sort(y)[::-1] - y * y,
}


@pytest.mark.parametrize("name", ROUGH)
@pytest.mark.quick(2)
def test_series_do_not_step_over_jumps_and_kinks(name: str) -> None:
    """A series knows nothing of them: the slope is looked at within the step."""
    y0 = [1.0, 0.2]
    found = solve_ivp(ROUGH[name], (0, 6), y0, "Taylor", rtol=1e-9, atol=1e-9)
    exact = solve_ivp(ROUGH[name], (0, 6), y0, "DOP853", rtol=1e-12, atol=1e-12, max_step=0.01)
    np.testing.assert_allclose(found.y[:, -1], exact.y[:, -1], atol=3e-7)


def test_series_in_any_unit_of_time() -> None:
    """Coefficients of order 20 would overflow in years, where a period takes a femtosecond."""
    for unit in (1e-30, 1.0, 1e30):
        found = solve_ivp(
            lambda t, y, w: [w * y[1], -w * y[0]], (0, 10 * unit), [0, 1], "Taylor",
            args=(1 / unit,), rtol=1e-13, atol=1e-13,
        )  # fmt: skip
        assert found.success
        assert abs(found.y[0, -1] - math.sin(10)) < 1e-12


@pytest.mark.parametrize("n", [1.0, 2.0, 4.0])
def test_series_of_powers_begin_at_zero(n: float) -> None:
    """Hill's rate by its exponent, and a power of the time."""

    def hill(t, y, n):
        return [y[0] ** n / (1 + y[0] ** n) - 0.5 * y[0] + 0.1, 31 * t**30]

    ours = solve_ivp(hill, (0, 1), [0, 0], "Taylor", rtol=1e-10, atol=1e-10, args=(n,))
    other = scipy.integrate.solve_ivp(hill, (0, 1), [0, 0], "DOP853", rtol=1e-12, atol=1e-12,
                                      args=(n,))  # fmt: skip
    assert ours.success
    np.testing.assert_allclose(ours.y[:, -1], other.y[:, -1], atol=1e-8)


def test_series_take_what_the_other_methods_take() -> None:
    """Complex and backward; a class; and not what is no series."""
    found = solve_ivp(lambda t, y: 1j * y, (2, -1), [1j], "Taylor", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.y[0, -1], 1j * np.exp(-3j), atol=1e-11)
    by_class = solve_ivp(lambda t, y: -y, (0, 1), [1.0], Taylor, rtol=1e-9)
    by_name = solve_ivp(lambda t, y: -y, (0, 1), [1.0], "Taylor", rtol=1e-9)
    np.testing.assert_array_equal(by_class.y, by_name.y)
    with pytest.raises(UnsupportedError, match=r"the op Cholesky: .* method=\"DOP853\""):
        solve_ivp(lambda t, y: np.linalg.cholesky(y[0] * np.eye(2))[0], (0, 1), [1, 1], "Taylor")
    looped = lambda t, y: sg.fori_loop(0, 3, lambda k, x: 0.5 * x, y)  # noqa: E731
    found = solve_ivp(looped, (0, 1), [1], "Taylor", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.y[0, -1], np.exp(1 / 8), rtol=1e-11)
    halved = lambda y: sg.while_loop(lambda x: x[0] > 1, lambda x: 0.5 * x, y)  # noqa: E731
    with pytest.raises(UnsupportedError, match="loops"):
        solve_ivp(lambda t, y: halved(y), (0, 1), [1], "Taylor")


def test_a_band_of_equations_written_one_by_one() -> None:
    """Its directions are taken in a loop, whose code is that of one of them."""

    def chain(t, y):
        n = len(y)
        left = [y[0], *(y[k] for k in range(n - 1))]
        right = [*(y[k] for k in range(1, n)), y[n - 1]]
        return [50 * (left[k] - 2 * y[k] + right[k]) + np.sin(y[k]) for k in range(n)]

    y0 = np.linspace(0, 1, 24) ** 2
    ours = solve_ivp(chain, (0, 1), y0, "Rodas5P", rtol=1e-8, atol=1e-10)
    other = scipy.integrate.solve_ivp(chain, (0, 1), y0, "Radau", rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.y[:, -1], other.y[:, -1], rtol=1e-7)


def test_a_time_that_is_nan_is_refused() -> None:
    for span in ((0, np.nan), (np.nan, 1)):
        for options in ({}, {"t_eval": [0.5]}, {"dense_output": True}, {"method": "Taylor"}):
            with pytest.raises(ValueError, match=r"nan|not within"):
                solve_ivp(lorenz, span, [1, 0, 0], **options)


def answer(solve: Any, fun: Any, given: dict[str, Any]) -> Any:
    """Return a solution, or what was raised."""
    try:
        return solve(fun, **given)
    except Exception as error:  # noqa: BLE001
        return f"{type(error)}: {error}"


@pytest.mark.quick
@pytest.mark.parametrize(
    "change",
    [
        {"y0": [np.inf, 1.0]}, {"y0": [1.0, np.nan]}, {"y0": [[1.0, 2.0]]}, {"y0": [1, 2]},
        {"y0": [1.0 + 1j, 2.0]}, {"t_eval": [0.5, 0.2]}, {"t_eval": [0.2, 0.2]},
        {"t_eval": [[0.5]]}, {"t_eval": [3.0]}, {"t_eval": [-1, 1]}, {"t_eval": []},
        {"t_eval": [0, 1]}, {"t_span": (1.0, 0.0)}, {"t_span": (0, 1, 2)}, {"t_span": (1.0, 1.0)},
        {"t_span": np.array([0, 1.0])}, {"t_span": np.array(1.0)}, {"args": np.array(2.0)},
        {"rtol": np.float64(1e-5)}, {"rtol": 1e-18}, {"atol": -1.0}, {"atol": 1},
        {"atol": [1e-6] * 2},
        {"max_step": 0.0}, {"max_step": np.nan}, {"max_step": 1}, {"t_eval": [np.nan]},
        {"t_eval": [0.5, np.nan]}, {"args": 3}, {"args": (2.0, 3.0)}, {"first_step": 2.0},
        {"args": np.array([2.0])}, {"vectorized": True},
    ],
    ids=str,
)  # fmt: skip
def test_a_solution_like_one_before_hears_the_same_words(change: dict[str, Any]) -> None:
    """It goes straight to the compiled loop where nothing is in its way."""

    def fun(t: Any, y: Any, rate: Any) -> Any:
        return [y[1], -rate * y[0]]

    plain = {"t_span": (0.0, 1.0), "y0": [1.0, 0.0], "args": (2.0,)}
    for _ in range(2):
        solve_ivp(fun, **plain)
        solve_ivp(fun, **plain, t_eval=[0.5, 1.0])
    if "vectorized" in change:
        change = {**change, "t_eval": [1.0]}
    given = {**plain, **change}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (
            answer(solve, fun, given) for solve in (solve_ivp, scipy.integrate.solve_ivp)
        )
    if isinstance(theirs, str):
        assert ours == theirs
        return
    np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-9)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-8)
    assert (ours.nfev, ours.message) == (theirs.nfev, theirs.message)


@pytest.mark.parametrize("first", [1e-20, 1e-3, 30.0, None])
@pytest.mark.parametrize("end", [30.0, -30.0])
def test_series_find_their_length(first: float | None, end: float) -> None:
    """From any first step, also backward."""

    def circle(t: Any, y: Any) -> Any:
        return [y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]

    found = solve_ivp(
        circle, (0, end), [0, 1, 1], "Taylor", rtol=1e-10, atol=1e-10, first_step=first
    )  # fmt: skip
    exact = [math.copysign(1.0, end), 1.0, 1.0] * np.array(scipy.special.ellipj(30.0, 0.51)[:3])
    np.testing.assert_allclose(found.y[:, -1], exact, atol=1e-7)
    assert len(found.t) < 190


@pytest.mark.parametrize(
    "method", ["RK45", "DOP853", "Tsit5", "Taylor", "Rodas5P", "RadauIIA", "BDF", "Radau", "LSODA"]
)
def test_a_right_hand_sides_own_error_is_the_solutions(method: str) -> None:
    """Compiled it is nan, and there is no way on; SciPy passes it on."""

    def falling(t: float, y: Any) -> Any:
        if y[0] < 0.5:
            raise ValueError("the tank is empty")
        return [-y[0]]

    def asserted(t: float, y: Any, least: float) -> Any:
        assert y[0] > least, "the tank is empty"
        return [-y[0]]

    with pytest.raises(ValueError, match="the tank is empty"):
        solve_ivp(falling, (0.0, 5.0), [1.0], method)
    for _ in range(2):
        assert solve_ivp(asserted, (0.0, 0.5), [1.0], method, args=(0.2,)).status == 0
        with pytest.raises(AssertionError, match="the tank is empty"):
            solve_ivp(asserted, (0.0, 5.0), [1.0], method, args=(0.5,))
        with pytest.raises(AssertionError, match="the tank is empty"):
            solve_ivp(asserted, (0.0, 5.0), [1.0], method, dense_output=True, args=(0.5,))


@pytest.mark.parametrize("method", ["RK45", "Rodas5P", "BDF"])
def test_a_helpers_error_is_the_solutions(method: str) -> None:
    class Tank:
        least = 0.5

        def check(self, y: Any) -> None:
            if y[0] < self.least:
                raise ValueError("the tank is empty")

        def rate(self, t: float, y: Any) -> Any:
            self.check(y)
            return [-y[0]]

    with pytest.raises(ValueError, match="the tank is empty"):
        solve_ivp(Tank().rate, (0.0, 5.0), [1.0], method)


@pytest.mark.parametrize("method", ["RK45", "Taylor", "Rodas5P", "BDF", "LSODA"])
def test_a_forgotten_return_is_an_error(method: str) -> None:
    def forgotten(t: float, y: Any) -> Any:
        [-y[0]]

    with pytest.raises(TypeError, match=r"returns None: is its `return` missing\?"):
        solve_ivp(forgotten, (0.0, 1.0), [1.0], method)
    with pytest.raises(TypeError, match=r"returns None: is its `return` missing\?"):
        sg.grad(lambda x: solve_ivp(forgotten, (0.0, 1.0), [x], method).y[0, -1])(1.0)


@pytest.mark.parametrize(("method", "y0"), [("LSODA", [1.0, 2.0, 3.0]), ("BDF", [1.0, 2.0, 3j])])
def test_functions_of_columns_are_compiled_for_scipys_loops(method: str, y0: Any) -> None:
    rates = np.array([[-100.0, 1.0, 0.0], [0.0, -1.0, 3.0], [1.0, 0.0, -1000.0]])
    options = {"vectorized": True, "rtol": 1e-8, "atol": 1e-10}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = solve_ivp(lambda t, y: rates @ y, (0.0, 1.0), y0, method, **options)
    expected = scipy.integrate.solve_ivp(lambda t, y: rates @ y, (0.0, 1.0), y0, method, **options)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-5)


def test_jacobians_that_are_none_are_no_options() -> None:
    """As with SciPy's methods for stiff systems; warnings are errors here."""
    for name in ("jac", "jac_sparsity"):
        for method in ("Rodas5P", "RadauIIA", "BDF", "Radau"):
            plain = solve_ivp(lorenz, (0, 1), [1, 0, 0], method)
            np.testing.assert_array_equal(
                solve_ivp(lorenz, (0, 1), [1, 0, 0], method, **{name: None}).y, plain.y
            )


@pytest.mark.parametrize("method", ["RK45", "BDF", "Rodas5P"])
def test_times_are_no_part_of_what_was_given(method: str) -> None:
    def fun(t: Any, y: Any) -> Any:
        return [y[1], -y[0]]

    for _ in range(2):  # the first solution, and one that is found again
        for kind in (float, int, np.float32):
            given = np.arange(3).astype(kind)
            found = solve_ivp(fun, (0, 2), [1, 0], method, given)
            given[:] = 7
            np.testing.assert_array_equal(found.t, [0, 1, 2])
            assert found.t.dtype == kind

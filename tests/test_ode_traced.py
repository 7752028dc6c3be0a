"""solve_ivp in traced code: derivatives, batches, kernels; and the method for stiff systems."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
from numba import njit

import symgrad as sg
import symgrad.scipy.integrate
from symgrad.errors import NotCompiledWarning, TraceError, UnsupportedError
from symgrad.scipy.integrate import solve_ivp

pytestmark = pytest.mark.usefixtures("few_kernels")

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
TIMES = np.array([0.0, 0.4, 1.0, 1.5])


def predators(t: Any, y: Any, p: Any) -> Any:
    return [p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - y[1] * (1 + 0.1 * np.sin(t))]


def population(y0: Any, p: Any, method: str = "Tsit5", **options: Any) -> Any:
    found = solve_ivp(predators, (0.0, 1.5), y0, method, TIMES, args=(p,), **TIGHT, **options)
    return found.y


Y0, P = np.array([1.0, 0.5]), np.array([1.5, 1.0, 0.7])


def reference(y0: Any, p: Any) -> Any:
    return scipy.integrate.solve_ivp(
        predators, (0.0, 1.5), y0, "DOP853", TIMES, args=(p,), rtol=3e-14, atol=1e-16
    ).y


def differences(f: Any, x: Any, step: float = 1e-3) -> Any:
    """Return the derivative of ``f`` by differences of order 4, last axis by ``x``."""
    columns = []
    for e in np.eye(len(x)) * step:
        near, far = f(x + e) - f(x - e), f(x + 2 * e) - f(x - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=-1)


def test_args_may_be_an_array() -> None:
    """As in SciPy, whose ``args`` are what can be iterated over."""

    def end(k: Any) -> Any:
        found = solve_ivp(lambda t, y, a, b: -a * y + b, (0, 1), [1.0], "Tsit5", args=k, **TIGHT)
        return found.y[:, -1]

    k = np.array([1.5, 0.3])
    exact = np.exp(-1.5) + 0.2 * (1 - np.exp(-1.5))
    np.testing.assert_allclose(end(k), [exact], rtol=1e-8)
    np.testing.assert_allclose(sg.compile(end)(k), [exact], rtol=1e-8)
    slopes = sg.jacobian(end)(k)[0]
    np.testing.assert_allclose(slopes[1], (1 - np.exp(-1.5)) / 1.5, rtol=1e-7)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Tsit5", "Taylor", "Rodas5P"])
@pytest.mark.quick(1)
def test_derivatives(method: str) -> None:
    loose = 1e-5 if method == "RK23" else 1e-8
    forward = sg.jacobian(lambda y0, p: population(y0, p, method), argnums=(0, 1))(Y0, P)
    np.testing.assert_allclose(forward[0], differences(lambda y: reference(y, P), Y0), atol=loose)
    np.testing.assert_allclose(forward[1], differences(lambda p: reference(Y0, p), P), atol=loose)

    def loss(y0: Any, p: Any) -> Any:
        return np.sum(population(y0, p, method) ** 2)

    value, (by_start, by_rates) = sg.value_and_grad(loss, argnums=(0, 1))(Y0, P)
    y = reference(Y0, P)
    assert abs(value - np.sum(y**2)) < loose
    np.testing.assert_allclose(by_start, np.einsum("it,itk->k", 2 * y, forward[0]), atol=loose)
    np.testing.assert_allclose(by_rates, np.einsum("it,itk->k", 2 * y, forward[1]), atol=loose)


def test_derivatives_by_times() -> None:
    def f(t0: Any, t1: Any) -> Any:
        return solve_ivp(lambda t, y: y * np.cos(t), (t0, t1), [1.0], t_eval=[t1], **TIGHT).y[0, 0]

    value, slopes = sg.value_and_grad(f, argnums=(0, 1))(0.3, 1.7)
    exact = np.exp(np.sin(1.7) - np.sin(0.3))
    np.testing.assert_allclose(value, exact, rtol=1e-9)
    np.testing.assert_allclose(slopes, [-exact * np.cos(0.3), exact * np.cos(1.7)], rtol=1e-7)
    value, slopes = sg.value_and_grad(f, argnums=(0, 1))(1.7, 0.3)  # backward
    np.testing.assert_allclose(value, 1 / exact, rtol=1e-9)
    np.testing.assert_allclose(slopes, [-np.cos(1.7) / exact, np.cos(0.3) / exact], rtol=1e-7)
    assert sg.compile(f)(0.7, 0.7) == 1.0


@pytest.mark.slow
def test_memory_is_limited() -> None:
    full = sg.grad(lambda y: np.sum(population(y, P)))(Y0)
    small = sg.grad(lambda y: np.sum(population(y, P, memory=2000)))(Y0)
    np.testing.assert_allclose(small, full, rtol=1e-13)


def test_each_of_a_batch_has_steps_of_its_own() -> None:
    rates = np.array([0.5, 1.0, 50.0])

    def decayed(rate: Any) -> Any:
        found = solve_ivp(lambda t, y: -rate * y, (0, 2), [1.0], t_eval=[1.0, 2.0], **TIGHT)
        return found.y[0], found.nfev, found.success

    y, evaluations, success = sg.vmap(decayed)(rates)
    np.testing.assert_allclose(y, np.exp(-np.outer(rates, [1.0, 2.0])), atol=1e-11)
    assert len(set(evaluations)) == 3
    assert success.all()
    for k, rate in enumerate(rates):
        assert np.array_equal(sg.compile(decayed)(rate)[0], y[k])


def test_failures_are_nan_and_say_so() -> None:
    def f(start: Any) -> Any:
        found = solve_ivp(lambda t, y: y**2, (0, 2), [start], t_eval=[0.5, 1.5])
        return found.y[0], found.status

    y, status = sg.compile(f)(1.0)  # infinite at the time 1
    assert status == -1
    np.testing.assert_allclose(y, [2.0, np.nan], rtol=1e-2)
    assert sg.compile(f)(0.1)[1] == 0

    def slow(limit: int) -> Any:
        return sg.compile(
            lambda y: solve_ivp(lambda t, y: -y, (0, 9), [y], t_eval=[9.0], max_steps=limit).y[0]
        )(1.0)

    assert np.isnan(slow(3)).all()
    assert np.isfinite(slow(300)).all()


def test_complex_states() -> None:
    def f(w: Any) -> Any:
        y = solve_ivp(lambda t, y: 1j * w * y, (0, 1), [1 + 0j], t_eval=[1.0], **TIGHT).y[0, 0]
        return np.real(y)

    value, slope = sg.value_and_grad(f)(0.7)
    np.testing.assert_allclose([value, slope], [np.cos(0.7), -np.sin(0.7)], atol=1e-9)


def test_kernels_run_in_numbas_code() -> None:
    kernel = sg.compile(lambda y: np.sum(population(y, P, "RK23"))).kernel(Y0)

    @njit
    def twice(y: Any) -> Any:
        return kernel(y) + kernel(y)

    assert twice(Y0) == pytest.approx(2 * reference(Y0, P).sum(), abs=1e-6)


def test_refusals() -> None:
    def trace(**options: Any) -> None:
        sg.compile(lambda y: np.max(solve_ivp(lambda t, y: -y, (0, 1), y, **options).y))(Y0)

    with pytest.raises(UnsupportedError, match="t_eval"):
        trace()
    for read in (
        lambda s: s.y[0], lambda s: s.t, lambda s: len(s.t), lambda s: s.y[:, 1],
        lambda s: s.y[0][-2], lambda s: s.y[1].max(), lambda s: s.y.T[:2], lambda s: list(s.y.T),
    ):  # fmt: skip
        with pytest.raises(UnsupportedError, match="t_eval"):
            sg.compile(lambda y, read=read: 1 * read(solve_ivp(lambda t, y: -y, (0, 1), y)))(Y0)
    with pytest.raises(ValueError, match=r"'Euler'.*Rodas5P"):
        trace(method="Euler", t_eval=[1.0])
    with pytest.raises(UnsupportedError, match="Rodas5P"):
        trace(method=type("Euler", (scipy.integrate.RK45,), {}), t_eval=[1.0])
    with pytest.raises(UnsupportedError, match="terminal = 1"):
        trace(t_eval=[1.0], events=lambda t, y: y[0])
    with pytest.raises(UnsupportedError, match="takes no rtoll"):
        trace(t_eval=[1.0], rtoll=1e-9)
    with pytest.raises(ValueError, match="not properly sorted"):
        trace(t_eval=[1.0, 0.5])


@pytest.mark.parametrize("method", ["RK45", "BDF", "LSODA"])
def test_right_hand_sides_that_write_to_the_state(method: str) -> None:
    """What they solve depends on the steps: SciPy's own on plain arrays, refused in traced code."""

    def doubling(t: Any, y: Any) -> Any:
        y[0] *= 2
        return -y

    def end(module: Any) -> tuple[Any, Any]:
        start = np.array([1.0, 2.0])
        found = module.solve_ivp(doubling, (0.0, 0.1), start.copy(), method).y[:, -1]
        return found, module.odeint(doubling, start, [0.0, 0.1], tfirst=True)[-1]

    with pytest.warns(NotCompiledWarning, match="writes to the state"):
        found = end(symgrad.scipy.integrate)
    for x, want in zip(found, end(scipy.integrate), strict=True):
        np.testing.assert_array_equal(x, want)

    def traced(y: Any) -> Any:
        return solve_ivp(doubling, (0.0, 0.1), y, method).y[:, -1]

    with pytest.raises(TraceError, match=r"writes to the state.*y.copy\(\)"):
        sg.compile(traced)(np.ones(2))

    def copying(t: Any, y: Any) -> Any:
        return doubling(t, y.copy())

    np.testing.assert_allclose(
        sg.compile(lambda y: solve_ivp(copying, (0.0, 0.1), y, method, rtol=1e-9).y[:, -1])(
            np.ones(2)
        ),
        [np.exp(-0.2), np.exp(-0.1)], rtol=1e-6,
    )  # fmt: skip


def test_rows_of_the_solution_have_ends() -> None:
    """``x, v = sol.y; x[-1]``, as for SciPy's arrays."""

    def ends(y: Any) -> Any:
        found = solve_ivp(lambda t, y: [y[1], -y[0]], (0, 1), y, "Tsit5", **TIGHT)
        x, v = found.y
        turned = found.y.T
        return [
            x[-1], found.y[0][-1], found.y[0, :][-1], turned[-1][0], turned[-1, 0],
            turned[:, 0][-1], v[0], found.y[1:][0, 0], found.y[1:, 0][0], turned.T[1][0],
        ]  # fmt: skip

    exact = Y0[0] * np.cos(1) + Y0[1] * np.sin(1)
    np.testing.assert_allclose(sg.compile(ends)(Y0), [exact] * 6 + [Y0[1]] * 4, rtol=1e-8)
    np.testing.assert_allclose(sg.grad(lambda y: ends(y)[0])(Y0), [np.cos(1), np.sin(1)], rtol=1e-8)


# ---------------------------------------------------------------- stiff systems


@pytest.mark.parametrize("method", ["LSODA", "BDF", "Radau", scipy.integrate.BDF])
def test_scipys_stiff_methods_in_traced_code(method: Any) -> None:
    """A fit says LSODA or BDF; its derivatives are those of the solution by any method."""
    t = np.linspace(0.5, 4.0, 4)

    def reactions(t: Any, y: Any, k: Any) -> Any:
        return [-k[0] * y[0], k[0] * y[0] - k[1] * y[1], k[1] * y[1]]

    def last(k: Any, method: Any = method) -> Any:
        options: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11}
        if method != "LSODA":
            options["jac"] = lambda t, y, k: [[-k[0], 0, 0], [k[0], -k[1], 0], [0, k[1], 0]]
        found = solve_ivp(reactions, (0, 4), [1.0, 0, 0], method, t, args=(k,), **options)
        return np.sum(found.y[2])

    k = np.array([0.7, 2000.0])
    value, slope = sg.value_and_grad(last)(k)
    assert value == pytest.approx(last(k), abs=1e-7)
    a, b = k
    exact = -np.expm1(-a * t) - a * (np.exp(-a * t) - np.exp(-b * t)) / (b - a)
    assert value == pytest.approx(np.sum(exact), abs=1e-8)
    by_a = t * np.exp(-a * t) - b * (np.exp(-a * t) - np.exp(-b * t)) / (b - a) ** 2
    assert slope[0] == pytest.approx(np.sum(by_a + a * t * np.exp(-a * t) / (b - a)), rel=1e-6)


_PROBLEMS = runpy.run_path(str(Path(__file__).parents[1] / "examples/benchmarks/ode_problems.py"))
ENDS = _PROBLEMS["ENDS"]
STIFF = {name: p for name, p in _PROBLEMS["PROBLEMS"].items() if p.stiff and name in ENDS}


@pytest.mark.parametrize("name", STIFF)
@pytest.mark.quick(1)
def test_stiff_systems(name: str) -> None:
    f, y0, end, _, small, _ = STIFF[name]
    found = solve_ivp(f, (0, end), y0, "Rodas5P", rtol=1e-7, atol=1e-7 * small)
    assert found.success
    assert len(found.t) < 2500
    assert found.njev == found.nlu == (found.nfev - 2) / 8
    np.testing.assert_allclose(found.y[:, -1], ENDS[name], rtol=1e-5, atol=1e-7 * small)


def test_between_steps_of_a_stiff_method() -> None:
    def f(t: Any, y: Any) -> Any:
        return [-y[0] * np.sin(t) + y[1] * t, -y[1] + np.cos(3 * t)]

    t = np.linspace(0, 3, 31)
    expected = scipy.integrate.solve_ivp(f, (0, 3), [1, 0.5], "DOP853", t, rtol=1e-12, atol=1e-12)
    found = solve_ivp(f, (0, 3), [1, 0.5], "Rodas5P", t, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.y, expected.y, atol=1e-7)
    dense = solve_ivp(f, (0, 3), [1, 0.5], "Rodas5P", dense_output=True, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(dense.sol(t), found.y, atol=1e-13)


@pytest.mark.slow
def test_large_systems_take_lapack() -> None:
    matrix = -np.diag(np.linspace(1, 1e4, 40)) + 0.5 * np.eye(40, k=1)
    found = solve_ivp(lambda t, y: matrix @ y, (0, 1), np.ones(40), "Rodas5P", rtol=1e-8)
    expected = scipy.linalg.expm(matrix) @ np.ones(40)
    np.testing.assert_allclose(found.y[:, -1], expected, atol=1e-6)
    with pytest.raises(ValueError, match="complex"):
        solve_ivp(lambda t, y: 1j * y, (0, 1), [1j], "Rodas5P")


@pytest.mark.slow
def test_bands_in_traced_code() -> None:
    """A band that is named gives what the full matrix gives, and the same derivatives."""

    def fisher(t: Any, u: Any, rate: Any) -> Any:
        wide = np.concatenate((u[:1], u, u[-1:]))
        return 50 * (wide[2:] - 2 * u + wide[:-2]) + rate * u * (1 - u)

    def end(rate: Any, u: Any, **band: Any) -> Any:
        options = {"rtol": 1e-7, "atol": 1e-9, "args": (rate,), **band}
        return solve_ivp(fisher, (0, 0.1), u, "Rodas5P", [0.05, 0.1], **options).y

    u = np.exp(-(np.linspace(-2, 2, 20) ** 2))
    wanted = sg.jacobian(end, argnums=(0, 1))(3.0, u)
    band = sg.jacobian(lambda rate, u: end(rate, u, lband=1, uband=1), argnums=(0, 1))(3.0, u)
    for one, other in zip(band, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(end(3.0, u, lband=1), sg.compile(end)(3.0, u), rtol=1e-6)
    with pytest.raises(ValueError, match="`uband` must be a number of diagonals, not -1"):
        sg.compile(lambda u: end(3.0, u, uband=-1))(u)


def test_times_passed_by_are_nan() -> None:
    """Times that are values cannot be checked beforehand; they go in the direction of time."""

    def at(times: Any) -> Any:
        return solve_ivp(lambda t, y: -y, (0.0, 5.0), [1.0], "Tsit5", times, **TIGHT).y[0]

    times = np.array([1.0, 5.0, 0.1, 2.0, 5.0, 6.0])
    expected = np.exp(-times)
    expected[[2, 3, 5]] = np.nan
    np.testing.assert_allclose(sg.compile(at)(times), expected, rtol=1e-8)


@pytest.mark.slow
def test_derivatives_of_what_was_not_reached_are_not_zero() -> None:
    """They are nan or infinite, and those of all else are as they were."""

    def states(rate: Any) -> Any:  # 1/(1 - rate*t)
        return solve_ivp(lambda t, y: rate * y**2, (0, 1), [1.0], "Tsit5", [0.4, 1.0], **TIGHT).y[0]

    def end(rate: Any) -> Any:
        return solve_ivp(lambda t, y: rate * y**2, (0, 1), [1.0], "Tsit5", **TIGHT).y[0, -1]

    rates = np.array([0.5, 2.0, -1.0])
    slopes = sg.vmap(sg.grad(end))(rates)
    np.testing.assert_allclose(slopes[[0, 2]], (1 - rates[[0, 2]]) ** -2.0, rtol=1e-7)
    assert not np.isfinite(slopes[1])
    exact = np.array([0.4, 1.0]) / (1 - np.array([0.4, 1.0]) * rates[:, np.newaxis]) ** 2
    for mode in ("reverse", "forward"):
        found = sg.vmap(sg.jacobian(states, mode=mode))(rates)
        np.testing.assert_allclose(found[[0, 2]], exact[[0, 2]], rtol=1e-7)
        np.testing.assert_allclose(found[1, 0], exact[1, 0], rtol=1e-7)
        assert not np.isfinite(found[1, 1])
    masked = sg.grad(lambda rate: np.nansum(states(rate)))(2.0)
    np.testing.assert_allclose(masked, exact[1, 0], rtol=1e-7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"atol": -1.0}, "`atol` must be positive."),
        ({"max_step": 0.0}, "`max_step` must be positive."),
        ({"first_step": 0.0}, "`first_step` must be positive."),
        ({"first_step": 5.0}, "`first_step` exceeds bounds."),
    ],
)
def test_bad_options_are_answered_as_on_plain_arrays(options: Any, words: str) -> None:
    def solve(y: Any) -> Any:
        return solve_ivp(lambda t, y: -y, (0, 1), y, **options).y[:, -1]

    for call in (solve, sg.compile(solve)):
        with pytest.raises(ValueError, match=words):
            call(np.array([1.0]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"atol": None}, "NoneType|None"),
        ({"rtol": None}, "NoneType|None"),
        ({"args": 2.0}, r"Supplied 'args' cannot be unpacked"),
    ],
)
def test_bad_kinds_of_options_are_errors(options: Any, words: str) -> None:
    def solve(y: Any, solve: Any = solve_ivp) -> Any:
        return solve(lambda t, y, a=1.0: -a * y, (0, 1), y, **options).y[:, -1]

    for call in (lambda y: solve(y, scipy.integrate.solve_ivp), solve, sg.compile(solve)):
        with pytest.raises(TypeError, match=words):
            call(np.array([1.0]))


@pytest.mark.parametrize("options", [{"jac": lambda t, y: y}, {"lband": 1}, {"min_step": 1e-9}])
def test_options_of_other_methods_have_no_effect(options: Any) -> None:
    def solve(y: Any, solve: Any = solve_ivp) -> Any:
        return solve(lambda t, y: -y, (0, 1), y, **options).y[:, -1]

    with pytest.warns(UserWarning, match="have no effect"):
        expected = solve(np.array([1.0]), scipy.integrate.solve_ivp)
    with pytest.warns(UserWarning, match="have no effect for a chosen solver: `[a-z_]*`"):
        found = sg.compile(solve)(np.array([1.0]))
    np.testing.assert_allclose(found, expected)


def test_too_small_a_tolerance_is_raised_with_scipys_warning() -> None:
    def solve(y: Any) -> Any:
        return solve_ivp(lambda t, y: -y, (0, 1), y, "DOP853", rtol=0.0, atol=1e-10).y[:, -1]

    for call in (solve, sg.compile(solve)):
        with pytest.warns(UserWarning, match="`rtol` is too small"):
            found = call(np.array([1.0]))
        np.testing.assert_allclose(found, np.exp(-1.0), rtol=1e-9)


def test_no_unknowns_in_traced_code() -> None:
    found = sg.compile(lambda a: solve_ivp(lambda t, y: -a * y, (0, 1), np.zeros(0)).y[:, -1])(2.0)
    assert found.shape == (0,)


# ---------------------------------------------------------------- critical times


@pytest.mark.parametrize(
    ("times", "critical"),
    [
        ([0.0, 0.3, 0.5, 1.0], [0.5]),
        (np.linspace(0.0, 2.0, 7), [0.5, 1.0]),
        (np.linspace(0.0, 2.0, 7), [5.0]),
        ([0.0, 0.0, 0.2, 0.2, 1.0, 1.0], [0.2, 0.5]),
        (np.linspace(1.0, 0.0, 5), [0.7, 0.5]),
    ],
)
def test_odeint_stops_at_critical_times(times: Any, critical: Any) -> None:
    """A switch at 1/2: the states before and after it are known."""

    def run(a: Any) -> Any:
        slope = lambda y, t, a: -a * y + np.where(t < 0.5, 0.0, 1.0)  # noqa: E731
        given = {"args": (a,), "tcrit": critical, "rtol": 1e-10, "atol": 1e-10}
        return scipy.integrate.odeint(slope, [1.0], times, **given)[:, 0]

    def exact(a: float) -> Any:
        t, t0 = np.asarray(times), times[0]
        begun = (
            np.exp(a * t0) if t0 < 0.5 else np.exp(a * t0) - (np.exp(a * t0) - np.exp(a / 2)) / a
        )
        return np.exp(-a * t) * (
            begun + np.where(t > 0.5, (np.exp(a * t) - np.exp(a / 2)) / a, 0.0)
        )

    np.testing.assert_allclose(sg.compile(run)(1.5), exact(1.5), rtol=1e-8)
    near = (exact(1.5 + 1e-5) - exact(1.5 - 1e-5)) / 2e-5
    np.testing.assert_allclose(sg.jacobian(run)(1.5), near, rtol=1e-6, atol=1e-8)

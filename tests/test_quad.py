"""Integrals in traced code: scipy.integrate's names beside SciPy's own, and derivatives."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.integrate
from numba import njit
from scipy.integrate import dblquad, fixed_quad, nquad, odeint, quad, quad_vec, tanhsinh, tplquad

import symgrad as sg
from symgrad.errors import ArgumentError, NotCompiledWarning, UnsupportedError
from symgrad.scipy import integrate as traced
from symgrad.scipy.integrate import odeint as compiled_odeint

INF = math.inf

#: Integrands, limits and break points.
INTEGRANDS: dict[str, tuple[Callable[[Any], Any], float, float, Any]] = {
    "polynomial": (lambda x: x**2, 0.0, 4.0, None),
    "oscillating": (lambda x: np.sin(20 * x) / (1 + x), 0.0, 9.0, None),
    "kink": (lambda x: np.abs(x - 0.3), 2.0, -1.0, None),
    "break point": (lambda x: np.abs(x - 0.3), -1.0, 2.0, [0.3, 7.0]),
    "break points, backward": (lambda x: np.abs(x - 0.3), 2.0, -1.0, [0.3, 0.1]),
    "jump": (lambda x: np.where(x < 0.3, 1.0, 2.0), 0.0, 1.0, None),
    "constant": (lambda x: 3, 0.0, 2.0, None),
    "empty": (lambda x: x, 3.0, 3.0, None),
    "half-line": (lambda x: np.exp(-x), 0.0, INF, None),
    "half-line below": (lambda x: 1 / (1 + x * x), -INF, 1.0, None),
    "line": (lambda x: np.exp(-((x - 1) ** 2)), -INF, INF, None),
    "line, backward": (lambda x: np.exp(-x * x), INF, -INF, None),
    "half-line, backward": (lambda x: np.exp(x), 2.0, -INF, None),
    "root at an end": (lambda x: 1 / np.sqrt(x), 0.0, 1.0, None),
    "logarithm at an end": (lambda x: np.log(x), 0.0, 1.0, None),
    "far out": (lambda x: np.where(x <= 0, 1.0, 0.0), -1.0, 10000.0, None),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", INTEGRANDS)
def test_values_and_counts(name: str) -> None:
    f, a, b, points = INTEGRANDS[name]
    y, error, info = sg.compile(lambda: traced.quad(f, a, b, points=points, full_output=1))()
    want = scipy.integrate.quad(f, a, b, points=points, full_output=1)
    assert abs(y - want[0]) <= max(error, want[1])
    regular = name not in ("jump", "root at an end", "logarithm at an end")
    if regular:  # SciPy does not extrapolate: the same panels, the same numbers
        np.testing.assert_allclose(y, want[0], rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(error, want[1], rtol=1e-4, atol=1e-20)
        assert (
            name == "empty" or math.isinf(a) or math.isinf(b) or info["neval"] == want[2]["neval"]
        )


@pytest.mark.usefixtures("few_kernels")
def test_derivatives_to_any_order() -> None:
    def f(rate: Any, low: Any, high: Any) -> Any:
        return quad(lambda x: np.exp(-rate * x) * np.sin(x), low, high, epsabs=1e-13)[0]

    def exact(rate: Any, low: Any, high: Any) -> Any:
        def to(x: Any) -> Any:
            return -mpmath.exp(-rate * x) * (rate * mpmath.sin(x) + mpmath.cos(x)) / (1 + rate**2)

        return to(high) - to(low)

    at = (0.7, 0.2, 3.0)
    every = (0, 1, 2)
    value, slopes = sg.value_and_grad(f, every)(*at)
    np.testing.assert_allclose(value, float(exact(*at)), rtol=1e-13)
    eye = np.eye(3, dtype=int)
    want = [float(mpmath.diff(exact, at, tuple(e))) for e in eye]
    np.testing.assert_allclose(slopes, want, rtol=1e-12)
    np.testing.assert_allclose(sg.jacobian(f, every)(*at), want, rtol=1e-12)
    second = np.array(sg.hessian(f, every)(*at))
    want = [[float(mpmath.diff(exact, at, tuple(d + e))) for d in eye] for e in eye]
    np.testing.assert_allclose(second, want, rtol=1e-10, atol=1e-14)
    third = sg.grad(lambda b: sg.grad(sg.grad(f, 2), 2)(0.7, 0.2, b))(3.0)
    np.testing.assert_allclose(third, float(mpmath.diff(exact, at, (0, 0, 3))), rtol=1e-10)


@pytest.mark.usefixtures("few_kernels")
def test_derivatives_by_limits_are_the_integrand() -> None:
    """Also where it has jumps, and where the other limit is infinite."""
    step = lambda x: np.where(x < 1, 1.0, 2.0)  # noqa: E731
    assert sg.grad(lambda b: quad(step, 0.0, b)[0])(2.0) == pytest.approx(2.0, rel=1e-14)
    tail = sg.grad(lambda a: quad(lambda x: step(x) * np.exp(-x), a, np.inf)[0])
    assert tail(0.5) == pytest.approx(-math.exp(-0.5), rel=1e-14)
    both = sg.grad(lambda a: quad(lambda x: a * x, a, 2 * a)[0])  # 1.5*a**3
    assert both(2.0) == pytest.approx(18.0, rel=1e-14)
    singular = sg.value_and_grad(lambda a: quad(lambda x: 1 / np.sqrt(x), a, 1.0)[0])
    value, slope = singular(0.0)
    assert value == pytest.approx(2.0, rel=1e-7)
    assert not math.isfinite(slope)


@pytest.mark.usefixtures("few_kernels")
def test_limits_where_the_integrand_is_infinitely_steep() -> None:
    def quarter(end: Any, scale: Any = 2.0) -> Any:
        return traced.quad(lambda x: scale * np.sqrt(1 - x * x), 0.0, end)[0]

    def by_tanh_sinh(end: Any) -> Any:
        return traced.tanhsinh(lambda x: np.sqrt(1 - x), 0.0, end).integral

    def several(end: Any) -> Any:
        return traced.quad_vec(lambda x: np.stack([np.sqrt(1 - x), x * x]), 0.0, end)[0]

    assert sg.grad(lambda start: traced.quad(np.sqrt, start, 2.0)[0])(0.0) == 0
    assert sg.grad(quarter)(1.0) == sg.grad(by_tanh_sinh)(1.0) == 0
    np.testing.assert_allclose(sg.jvp(quarter, (1.0, 2.0), (3.0, 1.0))[1], np.pi / 4)
    np.testing.assert_allclose(sg.jacobian(several)(1.0), [0.0, 1.0], atol=1e-15)
    np.testing.assert_allclose(sg.jacobian(sg.jacobian(several))(1.0), [-np.inf, 2.0], rtol=1e-15)
    for order in (0, 1), (1, 0):  # one by the limit, one by what the integrand closes over
        mixed = sg.grad(sg.grad(quarter, order[0]), order[1])
        assert mixed(1.0, 2.0) == 0
        np.testing.assert_allclose(mixed(0.6, 2.0), 0.8)


#: Integrals to limits at which the integrand is singular, where they are taken, and derivatives.
MOVING: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "disc": (lambda r: quad(lambda x: np.sqrt(r * r - x * x), 0.0, r)[0], 2.0, np.pi),
    "log": (lambda a: quad(lambda x: np.log(a - x), 0.0, a)[0], 2.0, np.log(2.0)),
    "action": (
        lambda e: quad(
            lambda x: np.sqrt(2 * (e - 0.5 * x * x)), -np.sqrt(2 * e), np.sqrt(2 * e)
        )[0], 1.5, np.pi,
    ),
    "period": (
        lambda e: quad(
            lambda x: 1 / np.sqrt(2 * (e - 0.5 * x * x)), -np.sqrt(2 * e), np.sqrt(2 * e)
        )[0], 1.5, 0.0,
    ),
    "0/0": (lambda a: quad(lambda x: np.sin(a - x) / (a - x), 0.0, a)[0], 1.0, np.sin(1.0)),
    "cap": (
        lambda r: quad(lambda x: np.arcsin(np.sqrt(r * r - x * x) / r), r - 1.0, r)[0], 2.0,
        -0.18117214741215887,
    ),
    "Abel, to infinity": (
        lambda r: quad(lambda y: np.exp(-y * y) / np.sqrt(y * y - r * r), r, np.inf)[0], 0.7,
        -1.4770599628794372,
    ),
    "Abel, from infinity": (
        lambda r: quad(lambda y: np.exp(-y * y) / np.sqrt(y * y - r * r), -np.inf, -r)[0], 0.7,
        -1.4770599628794372,
    ),
    "a jump elsewhere": (
        lambda r: quad(lambda x: np.where(x < 0.3, 2.0, 1.0) * np.sqrt(r - x), 0.0, r)[0], 2.0,
        2 * math.sqrt(2.0) - math.sqrt(1.7),
    ),
    "several": (
        lambda r: np.sum(quad_vec(lambda x: np.stack([np.sqrt(r * r - x * x), x]), 0.0, r)[0]),
        2.0, np.pi + 2.0,
    ),
    "tanh-sinh": (
        lambda e: tanhsinh(
            lambda x: np.sqrt(2 * (e - 0.5 * x * x)), -np.sqrt(2 * e), np.sqrt(2 * e)
        ).integral, 1.5, np.pi,
    ),
}  # fmt: skip


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.quick(3)
@pytest.mark.parametrize("name", MOVING)
def test_limits_that_move_with_a_singularity(name: str) -> None:
    f, at, expected = MOVING[name]
    value, slope = sg.value_and_grad(f)(at)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(value, f(at), rtol=2e-8)
    np.testing.assert_allclose(slope, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(sg.jvp(f, (at,), (1.0,))[1], expected, rtol=1e-8, atol=1e-9)


@pytest.mark.usefixtures("few_kernels")
def test_limits_that_leave_a_singularity_behind() -> None:
    """There is no derivative, and no number."""
    assert np.isnan(sg.grad(lambda p: quad(lambda x: p / np.sqrt(x), p - 1, 1.0)[0])(1.0))
    root = lambda p: quad(lambda x: p * np.sqrt(1 - x * x), 0.0, p)[0]  # noqa: E731
    np.testing.assert_allclose(sg.grad(root)(1.0), np.pi / 4, rtol=1e-10)
    assert np.isnan(sg.grad(sg.grad(root))(1.0))


def test_what_is_not_found_is_nan() -> None:
    assert np.isnan(sg.compile(lambda: traced.quad(lambda x: 1 / x, 0, 1)[0])())
    assert np.isnan(sg.compile(lambda: traced.quad(lambda x: np.exp(x), 0, np.inf)[0])())
    assert np.isnan(sg.compile(lambda: traced.quad(lambda x: np.sqrt(x - 1), 0, 2)[0])())
    assert np.isnan(sg.compile(lambda b: traced.quad(lambda x: np.exp(-x), 0, b)[0])(np.inf))
    assert np.isnan(sg.compile(lambda: traced.quad(lambda x: np.sin(1e4 * x), 0, 9, limit=1)[0])())
    assert np.isnan(sg.compile(lambda: traced.quad_vec(lambda x: 1 / x, 0, 1, limit=30)[0])())


def test_batches_and_kernels() -> None:
    def f(rate: Any, end: Any) -> Any:
        return quad(lambda x: np.sin(rate * x), 0.0, end)[0]

    rates, ends = np.array([2.0, 1.0, 30.0]), np.array([3.0, 1.0, -4.0])
    want = (1 - np.cos(rates * ends)) / rates
    np.testing.assert_allclose(sg.vmap(f)(rates, ends), want, rtol=1e-9)
    with sg.backend("numpy"):
        total = sg.grad(lambda r, e: np.sum(sg.vmap(f)(r, e)), argnums=(0, 1))(rates, ends)
    np.testing.assert_allclose(total[1], np.sin(rates * ends), rtol=1e-10)
    slopes = ends / rates * np.sin(rates * ends) - want / rates
    np.testing.assert_allclose(total[0], slopes, rtol=1e-8)
    kernel = sg.compile(f).kernel(1.0, 1.0)
    assert njit(lambda: kernel(2.0, 3.0))() == pytest.approx(want[0], rel=1e-12)


@pytest.mark.usefixtures("few_kernels")
def test_integrands_of_all_kinds() -> None:
    table = np.array([1.0, 2.0])

    def model(s: Any) -> Any:
        return quad(lambda x, c: c * s * x * table[1], 0, 1, args=(3.0,))[0]

    g = sg.value_and_grad(model)
    assert g(1.0) == pytest.approx((3.0, 3.0))
    table[1] = 4.0  # what the integrand reads is looked at in each call
    assert g(1.0) == pytest.approx((6.0, 6.0))

    def branched(x: Any) -> Any:
        if x > 0.5:
            y = x
        else:
            y = 0.0
        return y

    assert sg.grad(lambda s: s * quad(branched, 0, 1, points=[0.5])[0])(1.0) == pytest.approx(0.375)
    plain = lambda x: float(str(x))  # noqa: E731 - of numbers alone, and reads nothing traced
    assert sg.compile(lambda s: s * quad(plain, 0, 2)[0])(3.0) == pytest.approx(6.0)
    wave = sg.grad(lambda s: quad(lambda x: s * np.exp(1j * x), 0, 1, complex_func=True)[0].real)
    assert wave(2.0) == pytest.approx(math.sin(1.0), rel=1e-13)
    with pytest.raises(ArgumentError, match="complex_func"):
        sg.compile(lambda s: quad(lambda x: s * np.exp(1j * x), 0, 1)[0])(1.0)
    with pytest.raises(UnsupportedError, match="weight"):
        sg.compile(lambda s: quad(lambda x: s * x, 0, 1, weight="cos", wvar=1.0)[0])(1.0)


@pytest.mark.usefixtures("few_kernels")
def test_several_at_once() -> None:
    powers = np.arange(4.0)
    y, error = sg.compile(lambda s: quad_vec(lambda x: s * x**powers, 0, 2))(3.0)
    want, _ = scipy.integrate.quad_vec(lambda x: 3.0 * x**powers, 0, 2)
    np.testing.assert_allclose(y, want, rtol=1e-13)
    assert error < 1e-12
    slopes = sg.jacobian(lambda b: quad_vec(lambda x: x**powers, 0, b, norm="max")[0])(2.0)
    np.testing.assert_allclose(slopes, 2.0**powers, rtol=1e-13)
    y, rest = sg.compile(lambda s: fixed_quad(lambda x: s * x**8, 0.0, np.pi / 2, n=4))(1.0)
    assert (y, rest) == (
        pytest.approx(scipy.integrate.fixed_quad(lambda x: x**8, 0.0, np.pi / 2, n=4)[0]),
        None,
    )


@pytest.mark.slow
def test_over_several_variables() -> None:
    value, slope = sg.value_and_grad(
        lambda s: dblquad(lambda y, x: s * x * y, 0, s, 0, lambda x: x)[0]
    )(2.0)
    assert (value, slope) == (pytest.approx(4.0, rel=1e-13), pytest.approx(10.0, rel=1e-13))
    box = sg.compile(lambda s: nquad(lambda x, y, z: s * x * y * z, [(0, 1)] * 3)[0])
    assert box(2.0) == pytest.approx(0.25, rel=1e-13)
    f = lambda z, y, x: x * y * z  # noqa: E731
    limits = (1, 2, lambda x: 2, 3, lambda x, y: 0, 1)
    found = sg.compile(lambda: tplquad(f, *limits)[0])()
    assert found == pytest.approx(scipy.integrate.tplquad(f, *limits)[0], rel=1e-13)


def test_generated_integrals() -> None:
    """One program, many limits and parameters: every one is within its error, or nan."""

    def f(p: Any, a: Any, b: Any, quad: Any = quad) -> Any:
        return quad(
            lambda x: p[0] * np.exp(-p[1] * x**2) * np.cos(p[2] * x) + np.abs(x - p[3]), a, b
        )

    g = sg.compile(f)
    rng = np.random.default_rng([20, 1])
    for _ in range(100):
        p = rng.normal(size=4) * 10.0 ** rng.integers(-2, 2, 4)
        p[1] = abs(p[1])
        a, b = rng.normal(size=2) * 10.0 ** rng.integers(-3, 2, 2)
        y, error = g(p, a, b)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want, limit = f(p, a, b, scipy.integrate.quad)
        assert abs(y - want) <= max(error, limit)


# ---------------------------------------------------------------- odeint


def pendulum(state: Any, t: Any, length: Any, damping: Any) -> Any:
    return state[1], -9.81 / length * np.sin(state[0]) - damping * state[1]


def test_odeint() -> None:
    t = np.linspace(0, 2, 11)
    tight = {"rtol": 1e-11, "atol": 1e-12}

    def model(length: Any, start: Any) -> Any:
        return odeint(pendulum, [start, 0], t, args=(length, 0.1), **tight)

    want = scipy.integrate.odeint(pendulum, [0.5, 0], t, args=(2.0, 0.1), **tight)
    np.testing.assert_allclose(sg.compile(model)(2.0, 0.5), want, atol=1e-9)
    slopes = sg.jacobian(lambda a, b: model(a, b)[-1], argnums=(0, 1))(2.0, 0.5)
    for k, step in enumerate(np.eye(2) * 1e-4):
        ends = [
            scipy.integrate.odeint(pendulum, [0.5 + s * step[1], 0], t, (2.0 + s * step[0], 0.1),
                                   rtol=1e-13, atol=1e-14)[-1] for s in (1, -1)
        ]  # fmt: skip
        np.testing.assert_allclose(slopes[k], (ends[0] - ends[1]) / 2e-4, atol=1e-6)


def test_odeint_of_all_kinds() -> None:
    decay = sg.compile(lambda k: odeint(lambda t, y: -k * y, 1.0, [0.0, 2.0, 5.0], tfirst=True))
    np.testing.assert_allclose(decay(0.5)[:, 0], np.exp([0.0, -1.0, -2.5]), rtol=1e-6)
    back = sg.compile(lambda k: odeint(lambda y, t: -k * y, [1.0], [2.0, 0.0]))
    np.testing.assert_allclose(back(0.5)[-1, 0], np.exp(1.0), rtol=1e-6)
    assert np.isnan(sg.compile(lambda s: odeint(lambda y, t: y**2, s, [0, 2.0])[-1, 0])(1.0))


@pytest.mark.parametrize(
    ("slope", "times", "args", "words"),
    [
        (lambda y, t: [1.0], [0.0, 1.0], (), "does not match"),
        (lambda y, t: 1.0, [0.0, 1.0], (), "does not match"),
        (lambda y, t, a: -a * y, [0.0, 1.0], 2.0, "in a tuple"),
        (lambda y, t: -y, [0.0, 1.0, 0.5], (), "monotonically"),
        (lambda y, t: -y, [[0.0, 1.0]], (), "one-dimensional"),
    ],
    ids=["one rate", "a number", "arguments", "times", "a row"],
)
def test_odeint_refuses_what_scipy_refuses(slope: Any, times: Any, args: Any, words: str) -> None:
    """Rates that are fewer than unknowns are not the same for all."""
    y = np.array([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCompiledWarning)
        for plain in (scipy.integrate.odeint, compiled_odeint):
            with pytest.raises(Exception, match=words):
                plain(slope, y, times, args)
    # (in place, a list is numbers: one that is closed over is read in each call)
    lists = {"[0.0, 1.0, 0.5]": lambda y: odeint(slope, y, [0.0, 1.0, 0.5], args)}
    traced = lists.get(str(times), lambda y: odeint(slope, y, times, args))
    with pytest.raises((TypeError, ValueError), match=words):
        sg.compile(traced)(y)


def test_tolerances_and_rules_that_scipy_refuses() -> None:
    with pytest.raises(ValueError, match="'epsabs'<=0"):
        sg.compile(lambda s: quad(lambda x: s * x, 0, 1, epsabs=0, epsrel=0)[0])(1.0)
    with pytest.raises(ValueError, match="unknown quadrature 'simpson'"):
        sg.compile(lambda s: quad_vec(lambda x: s * x, 0, 1, quadrature="simpson")[0])(1.0)


#: Arguments of odeint on plain arrays; the second: whether SciPy solves.
PLAIN_ODES: dict[str, tuple[bool, tuple[Any, ...], dict[str, Any]]] = {
    "pendulum": (False, (pendulum, [0.5, 0], np.linspace(0, 5, 21), (2.0, 0.1)), {}),
    "a number": (False, (lambda y, t: -y, 1, [0, 1, 3]), {"rtol": 1e-10, "atol": 1e-12}),
    "backward": (False, (lambda y, t: [-y[0], t], (1.0, 2.0), [2.0, 1.0, -1.0]), {}),
    "time first": (False, (lambda t, y: t * y, [1.0], [0, 1.5]), {"tfirst": True, "hmax": 0.1}),
    "bounds": (False, (lambda y, t: -y, np.ones(2), [0, 1]), {"atol": [1e-6, 1e-9], "h0": 1e-3}),
    "a line": (
        False,
        (lambda y, t: np.diff(y, prepend=1.0, append=0.0)[1:] * 9 - 18 * y, np.ones(120), [0, 1]),
        {},
    ),
    "critical times": (True, (lambda y, t: -y, [1.0], [0, 2]), {"tcrit": [1.0]}),
    "said more": (True, (lambda y, t: -y, [1.0], [0, 2]), {"full_output": True}),
    "once more": (True, (lambda y, t: -y, [1.0], [0, 1, 1, 2]), {}),
    "no time": (True, (lambda y, t: -y, [1.0], [2, 2]), {}),
    "one time": (True, (lambda y, t: -y, [1.0], [0.5]), {}),
    "full": (True, (lambda y, t: np.sum(y) * 1e-3 - y, np.ones(120), [0, 1]), {}),
}


@pytest.mark.parametrize("name", PLAIN_ODES)
@pytest.mark.quick(3)
def test_odeint_on_plain_arrays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled, to SciPy's tolerances, but for what SciPy alone can say."""
    scipys, given, options = PLAIN_ODES[name]
    expected = scipy.integrate.odeint(*given, **options)
    asked: list[Any] = []

    def told(*args: Any, plain: Any = scipy.integrate.odeint) -> Any:
        asked.append(args)
        return plain(*args)

    monkeypatch.setattr(scipy.integrate, "odeint", told)
    found = compiled_odeint(*given, **options)
    assert bool(asked) == scipys
    if options.get("full_output"):
        assert found[1].keys() == expected[1].keys()
        (found, _), (expected, _) = found, expected
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=3e-6, atol=3e-7)


def test_odeint_that_finds_no_solution_ends_as_scipys() -> None:
    with pytest.warns(scipy.integrate.ODEintWarning):
        compiled_odeint(lambda y, t: y**2, [1.0], [0, 0.5, 2.0])
    with pytest.raises(RuntimeError, match="size of the array returned by func"):
        compiled_odeint(lambda y, t: [1.0, 2.0, 3.0], [1.0, 2.0], [0, 1])


@pytest.mark.slow
def test_odeint_of_a_stiff_system() -> None:
    def robertson(y: Any, t: Any, k: Any) -> Any:
        a, b, c = k * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [b - a, a - b - c, c]

    t = [0.0, 0.4, 40.0, 4000.0]
    found, info = sg.compile(lambda k: odeint(robertson, [1, 0, 0], t, (k,), full_output=True))(
        0.04
    )
    want = scipy.integrate.odeint(robertson, [1, 0, 0], t, (0.04,))
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-9)
    assert info["nfe"] < 5000


@pytest.mark.usefixtures("few_kernels")
def test_samples() -> None:
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=(3, 17)), np.cumsum(rng.uniform(size=17))
    for n in (2, 3, 4, 9, 17):
        for f in (
            lambda y, x: scipy.integrate.cumulative_simpson(y, x=x),
            lambda y, x: scipy.integrate.cumulative_simpson(y, dx=0.3, initial=1.5),
            lambda y, x: scipy.integrate.cumulative_simpson(y.T, dx=0.3, axis=0),
        ):
            want = f(y[:, :n], x[:n])
            np.testing.assert_allclose(sg.compile(f)(y[:, :n], x[:n]), want, rtol=1e-12, atol=1e-14)
    for n in (2, 3, 5, 17):
        romb = sg.compile(lambda y: scipy.integrate.romb(y, dx=0.3))
        want = scipy.integrate.romb(y[:, :n], dx=0.3)
        np.testing.assert_allclose(romb(y[:, :n]), want, rtol=1e-12)


def _oscillating(p: Any) -> Any:
    return tanhsinh(lambda x: np.exp(-p[0] * x) * np.cos(p[1] * x), 0.0, p[1]).integral


TANH_SINH: dict[str, Callable[[Any], Any]] = {
    "finite": _oscillating,
    "the whole line": lambda p: tanhsinh(lambda x: np.exp(-p[0] * x * x), -np.inf, np.inf).integral,
    "from a limit on": lambda p: tanhsinh(lambda x: np.exp(-p[0] * x), p[1], np.inf).integral,
    "backwards": lambda p: tanhsinh(lambda x: np.exp(p[0] * x), p[1], -np.inf).integral,
    "singular": lambda p: tanhsinh(lambda x: x ** -p[0], 0, p[1]).integral,
    "logarithm": lambda p: tanhsinh(lambda x: np.log(x) * p[0], 0, p[1]).integral,
    "arguments": lambda p: tanhsinh(
        lambda x, c, d: np.exp(-c * x) * d, [0, -np.inf], [np.inf, 0],
        args=(np.array([1.0, -1.0]) * p[0], p[1]),
    ).integral,
    "coarse": lambda p: tanhsinh(lambda x: np.sqrt(x * p[0]), 0, p[1], rtol=1e-4).integral,
    "from a level on": lambda p: tanhsinh(lambda x: np.sqrt(x * p[0]), 0, 1, minlevel=4).integral,
    "nothing": lambda p: tanhsinh(lambda x: x * p[0], p[1], p[1]).integral,
    "zero": lambda p: tanhsinh(lambda x: 0 * x * p[0], 0, p[1]).integral,
}  # fmt: skip


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("name", TANH_SINH)
def test_tanh_sinh(name: str) -> None:
    """Values are SciPy's, of the same level; derivatives by limits and parameters."""
    f, p, h = TANH_SINH[name], np.array([0.6, 0.7]), 1e-5
    np.testing.assert_allclose(sg.compile(f)(p), f(p), rtol=1e-13, atol=1e-15)
    slope = sg.jacobian(f)(p)
    near = [(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(slope, np.stack(near, axis=-1), rtol=1e-8, atol=1e-9)
    batch = np.stack([p, 1.1 * p, 0.9 * p])
    each = [sg.jacobian(f)(x) for x in batch]
    np.testing.assert_allclose(sg.vmap(sg.jacobian(f))(batch), each, rtol=1e-12, atol=1e-15)


@pytest.mark.slow
def test_what_tanh_sinh_tells() -> None:
    def told(p: Any) -> Any:
        found = tanhsinh(lambda x, c: np.exp(-c * x), 0, [1.0, np.nan], args=(p,))
        return found.maxlevel, found.nfev, found.status, found.success

    level, count, status, success = sg.compile(told)(0.6)
    expected = tanhsinh(lambda x: np.exp(-0.6 * x), 0, 1.0)
    assert (level[0], count[0], status[0], success[0]) == (
        expected.maxlevel, expected.nfev, 0, True,
    )  # fmt: skip
    assert not success[1]


def test_what_tanh_sinh_does_not_find_or_take() -> None:
    def wild(w: Any) -> Any:
        return tanhsinh(lambda x: np.cos(w * x), 0, 10.0, maxlevel=3).integral

    value, slope = sg.value_and_grad(wild)(50.0)
    assert np.isnan(value)
    assert np.isnan(slope)
    none = sg.compile(lambda b: tanhsinh(np.exp, 0.0, b).integral)(np.zeros(0))
    assert none.shape == (0,)
    with pytest.raises(ArgumentError, match="complex"):
        sg.compile(lambda b: tanhsinh(lambda x: np.exp(1j * x), 0.0, b).integral)(1.0)
    with pytest.raises(UnsupportedError, match="log"):
        sg.grad(lambda w: tanhsinh(lambda x: w * x, 0, 1, log=True).integral)(1.0)


def test_second_derivatives_by_moving_limits_where_the_other_end_is_singular() -> None:
    """Nodes of ``tanhsinh`` go as near to 0 as 1e-300, where the square of a slope overflows."""

    def f(p: Any) -> Any:
        return tanhsinh(lambda x: np.log(p - x) * np.log(x), 0.0, p).integral

    # p*((log(p) - 1)**2 + 1 - pi**2/6), DLMF 4.10 and 25.12
    log = np.log(1.7)
    np.testing.assert_allclose(f(1.7), 1.7 * ((log - 1.0) ** 2 + 1.0 - np.pi**2 / 6.0), rtol=1e-12)
    slope = (log - 1.0) ** 2 + 1.0 - np.pi**2 / 6.0 + 2.0 * (log - 1.0)
    np.testing.assert_allclose(sg.grad(f)(1.7), slope, rtol=1e-9)
    np.testing.assert_allclose(sg.grad(sg.grad(f))(1.7), 2.0 * log / 1.7, rtol=1e-7)
    np.testing.assert_allclose(
        sg.jacobian(sg.grad(f), mode="forward")(1.7), 2.0 * log / 1.7, rtol=1e-7
    )


@pytest.mark.slow
def test_second_derivatives_of_a_length_in_an_integral_and_its_limit() -> None:
    """The weights of the second derivative at lengths of 0 depend on no argument."""

    def area(a: Any, b: Any) -> Any:
        r = np.hypot(a, b)
        return quad(lambda t: np.sin(t * r), r, b)[0]

    found = np.array(sg.hessian(area, (0, 1))(0.5, 0.7))
    slope, step = sg.grad(area, (0, 1)), 1e-5
    columns = [
        (np.array(slope(0.5 + u, 0.7 + v)) - np.array(slope(0.5 - u, 0.7 - v))) / (2 * step)
        for u, v in ((step, 0.0), (0.0, step))
    ]
    np.testing.assert_allclose(found, np.stack(columns, 1), rtol=1e-8)


def test_an_integral_whose_limit_moves_within_another_one_for_many_arguments() -> None:
    def f(y: Any) -> Any:
        def inner(t: Any) -> Any:
            return np.exp(-t * quad(lambda s: np.exp(s * s * y), 0.0, y)[0])

        return quad(inner, 0.0, np.abs(y))[0]

    ys = np.array([0.3, 0.5])
    found = sg.grad(lambda ys: np.sum(sg.vmap(f)(ys)))(ys)
    assert np.allclose(found, [sg.grad(f)(y) for y in ys.tolist()], rtol=1e-9)
    beside = [(f(y + 1e-5) - f(y - 1e-5)) / 2e-5 for y in ys.tolist()]
    assert np.allclose(found, beside, rtol=1e-7)


@pytest.mark.parametrize("ends", [(1.0, -0.5), (-0.5, 1.0), (INF, 0.0)])
def test_complex_integrals_from_right_to_left(ends: tuple[float, float]) -> None:
    """SciPy 1.17 has the sign of one from left to right; compiled and not they are the same."""

    def f(x: Any) -> Any:
        return np.exp((2j - 1.0) * x)

    def antiderivative(x: float) -> Any:
        return 0.0 if x == INF else f(x) / (2j - 1.0)

    wanted = antiderivative(ends[1]) - antiderivative(ends[0])
    for full in (0, 1):
        found = traced.quad(f, *ends, full_output=full, complex_func=True)
        assert np.isclose(found[0], wanted, rtol=1e-12)
        assert len(found) == 2 + full
    whole = sg.compile(lambda s: quad(lambda x: s * f(x), *ends, complex_func=True)[0])
    assert np.isclose(whole(1.0), wanted, rtol=1e-7)

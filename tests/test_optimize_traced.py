"""``scipy.optimize`` in traced code: solutions as SciPy's, derivatives by the implicit formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import symgrad as sg
import symgrad.scipy.optimize as ours
from symgrad.errors import UnsupportedError

BRACKETED = ("brentq", "brenth", "ridder", "bisect")
T = np.linspace(0.0, 3.0, 20)


def curve(x: Any, p: Any) -> Any:
    return p[0] * x * x * x + p[1] * np.sin(3 * x) + p[2] * np.exp(0.3 * x) - p[3]


def slopes(x: Any, p: Any) -> tuple[Any, Any]:
    """Return the derivatives of ``curve`` by x and by p."""
    by_x = 3 * p[0] * x**2 + 3 * p[1] * np.cos(3 * x) + 0.3 * p[2] * np.exp(0.3 * x)
    return by_x, np.array([x**3, np.sin(3 * x), np.exp(0.3 * x), -1.0])


def decay(t: Any, a: Any, k: Any, c: Any) -> Any:
    return a * np.exp(-k * t) + c


def rows(rng: np.random.Generator, count: int) -> Any:
    true = [rng.uniform((1, 0.5, 0), (3, 2, 0.5)) for _ in range(count)]
    return np.array([decay(T, *p) + rng.normal(0, 0.01, T.size) for p in true])


def steepest(f: Callable[..., Any], x: Any, step: float = 1e-5) -> Any:
    """Return the Jacobian by central differences."""
    return np.array([(f(x + d) - f(x - d)) / (2 * step) for d in step * np.eye(x.size)]).T


# ---------------------------------------------------------------- roots of a number


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", BRACKETED)
def test_random_brackets(name: str) -> None:
    """Good ones have SciPy's roots and counts, bad ones nan; derivatives are -f_p / f_x."""
    rng = np.random.default_rng(7)
    theirs = getattr(so, name)

    def solve(p: Any, a: Any, b: Any) -> Any:
        x, r = getattr(so, name)(lambda x: curve(x, p), a, b, full_output=True)
        return x, (r.converged, r.iterations, r.function_calls)

    solved, slope, failed, other = sg.compile(solve), sg.grad(solve, has_aux=True), 0, 0
    for _ in range(60):
        p, (a, b) = rng.normal(size=4), 3 * rng.normal(size=2)
        x, (converged, *counts) = solved(p, a, b)
        derivative = slope(p, a, b)[0]
        try:
            root, r = theirs(lambda x, p=p: curve(x, p), a, b, full_output=True)
        except ValueError:  # f(a) and f(b) must have different signs
            assert not converged
            assert np.isnan([x, *derivative]).all()
            failed += 1
            continue
        assert converged
        assert abs(x - root) <= 4e-12 + 1e-15 * abs(root)
        other += counts != [r.iterations, r.function_calls]
        by_x, by_p = slopes(x, p)
        np.testing.assert_allclose(derivative, -by_p / by_x, rtol=1e-8, atol=1e-12)
    assert 10 < failed < 50
    assert other <= 3  # the last bit of a value may cost a step


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize(
    ("what", "solve"),
    {
        "zero at a": lambda p: so.brentq(lambda x: x * p, 0.0, 1.0),
        "zero at b": lambda p: so.ridder(lambda x: x * p, -1.0, 0.0),
        "nan": lambda p: so.brentq(lambda x: np.where(x > 0.1, np.nan, x - p), 0.0, 1.0),
        "nan at an end": lambda p: so.bisect(lambda x: np.where(x < 0, np.nan, x - p), -1.0, 4.0),
        "too few steps": lambda p: so.bisect(lambda x: x - p / 3, 0.0, 1.0, maxiter=4),
        "Newton's slope is zero": lambda p: so.newton(lambda x: x * x + p, 0.0),
        "no root": lambda p: so.newton(lambda x: x * x + p, 0.4),
        "steps of the secant": lambda p: so.newton(lambda x: x**3 - p, 1.0, x1=2.0, maxiter=2),
    }.items(),
)  # fmt: skip
def test_ends_and_failures(what: str, solve: Callable[..., Any]) -> None:
    value, slope = sg.value_and_grad(solve)(0.5)
    if what.startswith("zero"):
        assert (value, slope) == (0.0, 0.0)
    else:
        assert np.isnan(value)
        assert np.isnan(slope)


@pytest.mark.parametrize(
    "options",
    [
        {"x0": 0.3},
        {"x0": 0.3, "x1": 0.4},
        {"x0": 0.3, "method": "secant"},
        {"x0": 0.3, "method": "halley"},
        {"x0": 0.3, "fprime": lambda r, p: -3 * (1 + r) ** -4, "method": "newton"},
        {"bracket": (0, 1)},
        {"bracket": [0, 1], "method": "ridder", "xtol": 1e-13},
    ],
    ids=lambda options: "-".join([*options, options.get("method", "")]),
)
def test_root_scalar(options: dict[str, Any]) -> None:
    def rate(p: Any) -> Any:
        return ours.root_scalar(lambda r, p: (1 + r) ** -3 - p, args=(p,), **options).root

    expected = 0.5 ** (-1 / 3) - 1
    value, slope = sg.value_and_grad(rate)(0.5)
    np.testing.assert_allclose([value, slope], [expected, -(0.5 ** (-4 / 3)) / 3], rtol=1e-9)
    np.testing.assert_allclose(sg.grad(sg.grad(rate))(0.5), 4 / 9 * 0.5 ** (-7 / 3), rtol=1e-8)


def test_newton_by_elements() -> None:
    def cube_roots(a: Any) -> Any:
        return so.newton(lambda x, a: x**3 - a, np.ones(4), args=(a,))

    a = np.array([1.0, 8.0, 27.0, 0.3])
    np.testing.assert_allclose(sg.compile(cube_roots)(a), np.cbrt(a), rtol=1e-12)
    expected = np.diag(np.cbrt(a) / a / 3)
    np.testing.assert_allclose(sg.jacobian(cube_roots)(a), expected, rtol=1e-9, atol=1e-14)


def test_newton_takes_a_list_of_arguments() -> None:
    """Of SciPy's solvers it alone does."""

    def root(a: Any, b: Any) -> Any:
        return so.newton(lambda x, *given: x**3 - given[0] * given[1], 1.0, args=[a, b])

    assert sg.compile(root)(2.0, 4.0) == pytest.approx(2.0)
    assert root(2.0, 4.0) == pytest.approx(2.0)


# ---------------------------------------------------------------- systems


@pytest.mark.quick(1)
@pytest.mark.parametrize("n", [2, 1, 5])
def test_random_systems(n: int) -> None:
    rng = np.random.default_rng(n)

    def equations(x: Any, A: Any, b: Any) -> Any:
        return A @ x + np.sin(x) - b

    def solve(A: Any, b: Any) -> Any:
        return so.fsolve(lambda x: equations(x, A, b), np.zeros(n), xtol=1e-12)

    solved, slope = sg.compile(solve), sg.jacobian(solve, argnums=1)
    for _ in range(20):
        A, b = rng.normal(size=(n, n)) + 3 * np.eye(n), 3 * rng.normal(size=n)
        expected = so.root(equations, np.zeros(n), (A, b), tol=1e-12)
        found = solved(A, b)
        if not expected.success or np.isnan(found).any():  # neither misses one without a word
            assert np.isnan(found).all()
            assert np.isnan(slope(A, b)).all()
            continue
        assert np.abs(equations(found, A, b)).max() < 1e-10
        jac = A + np.diag(np.cos(found))
        np.testing.assert_allclose(slope(A, b), np.linalg.inv(jac), rtol=1e-7, atol=1e-9)


def test_a_system_without_root_is_nan() -> None:
    def solve(p: Any) -> Any:
        r = so.root(lambda x: [x[0] ** 2 + p, x[1] - p], [1.0, 1.0])
        return r.x, r.success, r.status

    x, success, status = sg.compile(solve)(0.5)
    assert np.isnan(x).all()
    assert np.isnan(sg.jacobian(lambda p: solve(p)[0])(0.5)).all()
    assert (success, status) == (False, 5)
    assert sg.compile(solve)(-4.0)[1]


# ---------------------------------------------------------------- least squares


@pytest.mark.usefixtures("few_kernels")
def test_many_fits_at_once() -> None:
    y = rows(np.random.default_rng(0), 40)
    y[3, 4] = np.nan
    start = [1.0, 1.0, 0.0]
    popt, pcov = sg.compile(sg.vmap(lambda y: so.curve_fit(decay, T, y, start)))(y)
    assert np.isnan(popt[3]).all()
    assert np.isnan(pcov[3]).all()
    for k in set(range(40)) - {3}:
        expected, covariance = so.curve_fit(decay, T, y[k], start, ftol=1e-12, xtol=1e-12)
        np.testing.assert_allclose(popt[k], expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(pcov[k], covariance, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("model", [
    lambda t, a, b: (a + b) * t, lambda t, a, b: a * b * t + 1, lambda t, a, b: a * t + 1,
    lambda t, a, b, c: (a + b) * t + c, lambda t, a, b, c: a * np.exp(b * t + c),
])  # fmt: skip
@pytest.mark.parametrize("given", [{}, {"sigma": np.full(20, 0.1), "absolute_sigma": True}])
def test_parameters_that_data_do_not_tell_apart_vary_without_bound(model: Any, given: Any) -> None:
    pcov = sg.compile(lambda y: so.curve_fit(model, T, y, **given)[1])(1 + 2 * T + 0.01 * T**2)
    assert np.all(np.isinf(pcov))


FITS = {
    "plain": {},
    "sigma": {"sigma": 1 + T, "absolute_sigma": True},
    "covariance": {"sigma": np.eye(20) + 0.3},
    "bounds": {"bounds": ([0, 0, 0.3], [10, 1.0, 1])},
    "cauchy": {"method": "trf", "loss": "cauchy", "f_scale": 0.05, "ftol": 1e-12, "xtol": 1e-12},
}


WEIGHTS = np.array([[1.0, -0.7, 0.3], [0.2, 0.5, -0.4], [0.6, 0.1, 0.9]])


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.quick(1)
@pytest.mark.parametrize("case", FITS)
def test_fits(case: str) -> None:
    [y] = rows(np.random.default_rng(1), 1)
    given = {"ftol": 1e-13, "xtol": 1e-13, "gtol": 1e-13} | FITS[case]

    def fit(y: Any) -> Any:
        return so.curve_fit(decay, T, y, p0=[1.0, 0.9, 0.4], **given)

    for found, expected in zip(sg.compile(fit)(y), fit(y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)

    def mixed(y: Any) -> Any:
        popt, pcov = fit(y)
        return popt @ WEIGHTS[0] + 100 * np.sum(pcov * WEIGHTS)

    by_steps = steepest(sg.compile(mixed), y, 1e-3)
    np.testing.assert_allclose(sg.grad(mixed)(y), by_steps, rtol=2e-3, atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_losses(loss: str) -> None:
    [y] = rows(np.random.default_rng(2), 1)
    y[5] += 1.0

    def fit(y: Any) -> Any:
        tight = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-13}
        return ours.least_squares(
            lambda p: decay(T, *p) - y, [1.0, 1.0, 0.1], loss=loss, f_scale=0.1, **tight
        )

    def parts(y: Any) -> Any:
        r = fit(y)
        return r.x, r.cost, r.grad, r.success

    found = sg.compile(parts)(y)
    expected = fit(y)
    if loss != "arctan":  # SciPy ends in another minimum there, which is higher
        np.testing.assert_allclose(found[0], expected.x, rtol=1e-6)
    assert found[1] <= expected.cost * (1 + 1e-9)
    assert np.abs(found[2]).max() < 1e-7
    assert found[3]
    slope = sg.jacobian(lambda y: fit(y).x)(y)
    by_steps = steepest(sg.compile(lambda y: fit(y).x), y, 1e-3)
    np.testing.assert_allclose(slope, by_steps, rtol=2e-3, atol=1e-4)


def test_points_that_the_function_makes_itself() -> None:
    def line(y: Any) -> Any:
        return so.curve_fit(lambda t, a, b: a * t + b, np.arange(3.0), y)[0]

    slope = sg.jacobian(line)(np.array([1.0, 3.0, 5.0]))
    np.testing.assert_allclose(slope, [[-0.5, 0, 0.5], [5 / 6, 1 / 3, -1 / 6]], atol=1e-9)


@pytest.mark.usefixtures("few_kernels")
def test_a_fit_that_is_cut_short() -> None:
    def fit(y: Any, most: int) -> Any:
        r = ours.least_squares(lambda p: decay(T, *p) - y, [1.0, 1.0, 0.0], max_nfev=most)
        return r.x, r.cost, r.success, r.status

    [y] = rows(np.random.default_rng(3), 1)
    x, cost, success, status = sg.compile(fit)(y, 2)
    assert np.isnan([*x, cost]).all()
    assert (success, status) == (False, 0)
    assert sg.compile(fit)(y, 100)[2]


def test_fewer_points_than_parameters_are_scipys_error() -> None:
    def fit(y: Any) -> Any:
        return ours.curve_fit(decay, T[: y.shape[0]], y, p0=[1.0, 1.0, 0.0])[0]

    for f in (fit, sg.compile(fit)):
        with pytest.raises(TypeError, match="parameters=3 must not exceed"):
            f(np.ones(2))


# ---------------------------------------------------------------- minima


@pytest.mark.usefixtures("few_kernels")
def test_random_minima() -> None:
    rng = np.random.default_rng(4)

    def energy(x: Any, p: Any) -> Any:
        return np.sum((x[1:] - x[:-1] ** 2) ** 2) + np.sum(np.cosh(x - p))

    def solve(p: Any) -> Any:
        r = so.minimize(lambda x: energy(x, p), np.zeros(3), method="BFGS")
        return r.x, r.success, r.fun, r.hess_inv

    solved, slope = sg.compile(solve), sg.jacobian(lambda p: solve(p)[0])
    for _ in range(10):
        p = rng.normal(size=3)
        options = {"gtol": 1e-10}
        expected = ours.minimize(energy, np.zeros(3), (p,), "trust-exact", options=options)
        x, success, value, inverse = solved(p)
        assert success
        np.testing.assert_allclose(x, expected.x, atol=1e-5)
        np.testing.assert_allclose(value, expected.fun, rtol=1e-9)
        hess = sg.hessian(energy)(x, p)
        np.testing.assert_allclose(inverse @ hess, np.eye(3), atol=1e-8)
        mixed = sg.jacobian(sg.grad(energy), argnums=1)(x, p)
        np.testing.assert_allclose(slope(p), -np.linalg.solve(hess, mixed), atol=1e-7)


@pytest.mark.slow
def test_bounds() -> None:
    """A variable at a bound moves with it."""

    def solve(p: Any) -> Any:
        bounds = [(0, 0.5), (p[1], None), (None, 1)]
        return so.minimize(lambda x: so.rosen(x) + p[0] * x[2], np.zeros(3), bounds=bounds).x

    p = np.array([0.7, 0.4])
    expected = ours.minimize(
        lambda x: so.rosen(x) + 0.7 * x[2], np.zeros(3), bounds=[(0, 0.5), (0.4, None), (None, 1)]
    ).x
    found = sg.compile(solve)(p)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found[1] == 0.4
    slope = sg.jacobian(solve)(p)
    np.testing.assert_allclose(slope, steepest(sg.compile(solve), p), atol=1e-6)
    assert slope[1].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bracket": (3, 4)},
        {"bracket": (-3, 0.5, 4)},
        {"bounds": (-4, 4)},
        {"bounds": (-4, 4), "method": "bounded", "options": {"xatol": 1e-9}},
    ],
    ids=str,
)
def test_minima_of_a_number(options: dict[str, Any]) -> None:
    def f(x: Any, p: Any) -> Any:
        return (x - p) ** 4 + (x - p * p) ** 2

    def solve(p: Any) -> Any:
        return so.minimize_scalar(f, args=(p,), **options).x

    x, slope = sg.value_and_grad(solve)(0.7)
    np.testing.assert_allclose(x, solve(0.7), atol=2e-6)
    assert abs(sg.grad(f)(x, 0.7)) < 1e-9
    exact = -sg.grad(sg.grad(f), argnums=1)(x, 0.7) / sg.grad(sg.grad(f))(x, 0.7)
    np.testing.assert_allclose(slope, exact, rtol=1e-8)


def test_a_minimum_at_the_end() -> None:
    def solve(p: Any) -> Any:
        r = so.minimize_scalar(lambda x: (x - 1) ** 2, bounds=(-4, p / 2))
        return r.x

    assert sg.value_and_grad(solve)(0.7) == (0.35, 0.5)
    assert np.isnan(sg.value_and_grad(solve)(-9.0)).all()  # the bounds cross


def test_a_value_in_an_array_of_one_element() -> None:
    """SciPy takes it for the number; a loop starts with it."""

    def least(p: Any) -> Any:
        return so.minimize(lambda x: (x - p) ** 2 + 1.0, 0).fun

    assert sg.value_and_grad(least)(3.0) == (1.0, 0.0)


def test_a_kink_is_no_minimum_with_a_derivative() -> None:
    def solve(p: Any) -> Any:
        r = so.minimize(lambda x: np.abs(x[0] - p) + x[1] ** 2, [3.0, 1.0])
        return r.x, r.success

    x, success = sg.compile(solve)(0.3)
    assert success == (not np.isnan(x).any())


# ---------------------------------------------------------------- where it is called


def test_what_changes_between_the_calls() -> None:
    market = {"coupon": 5.0}

    def rate(price: Any) -> Any:
        years = np.arange(1, 9)
        return so.brentq(
            lambda y: np.sum(market["coupon"] / (1 + y) ** years) + 100 / (1 + y) ** 8 - price,
            -0.5, 1.0,
        )  # fmt: skip

    slope = sg.value_and_grad(rate)
    for coupon in (5.0, 4.0, 3.5):
        market["coupon"] = coupon
        value, derivative = slope(103.0)
        assert abs(value - rate(103.0)) < 1e-11
        [[by_steps]] = steepest(np.vectorize(rate), np.array([103.0]))
        np.testing.assert_allclose(derivative, by_steps, rtol=1e-6)


@pytest.mark.usefixtures("few_kernels")
def test_in_loops_and_batches() -> None:
    def root(a: Any) -> Any:
        return so.brentq(lambda x: x**3 + x - a, -10.0, 10.0)

    def chain(a: Any) -> Any:
        return sg.fori_loop(0, 3, lambda i, x: root(x) + 1.0, a)

    def carried(a: Any) -> Any:
        return np.sum(sg.scan(lambda c, x: (root(c) + x, c * c), a, np.arange(3.0))[1])

    def plain(a: Any) -> Any:
        for _ in range(3):
            a = root(a) + 1.0
        return a

    a = np.array([2.0, 3.0])
    np.testing.assert_allclose(sg.compile(chain)(2.0), plain(2.0), rtol=1e-12)
    first, second = sg.grad(chain), sg.grad(sg.grad(chain))
    np.testing.assert_allclose(first(2.0), sg.grad(plain)(2.0), rtol=1e-12)
    np.testing.assert_allclose(second(2.0), steepest(np.vectorize(first), a[:1])[0, 0], rtol=1e-7)
    for f in (chain, carried):
        each = [steepest(np.vectorize(sg.compile(f)), a[k : k + 1])[0, 0] for k in range(2)]
        batch = sg.grad(lambda a, f=f: np.sum(sg.vmap(f)(a)))(a)
        np.testing.assert_allclose(batch, each, rtol=1e-7)
    assert sg.jvp(chain, (2.0,), (1.0,))[1] == pytest.approx(first(2.0))


def test_numbers_alone_are_scipys() -> None:
    """A solve of nothing traced gives numbers, which Python may decide by."""

    def f(x: Any) -> Any:
        k = so.brentq(lambda y: y * y - 4.0, 0.0, 5.0)
        n = int(so.fsolve(lambda y: y - 3.0, 0.0)[0] + 0.5)
        return x**n if k > 1.5 else x

    assert sg.value_and_grad(f)(2.0) == (8.0, 12.0)


@pytest.mark.parametrize(
    "solve",
    [
        lambda p: so.minimize(lambda x: x[0] ** 2 * p, [1.0], method="Powell").x,
        lambda p: so.minimize(lambda x: x[0] * p, [1.0], method="COBYLA").x,
        lambda p: so.minimize_scalar(lambda x: x**2 * p, method="golden").x,
        lambda p: so.root(lambda x: x - p, [0.0], method="krylov").x,
        lambda p: so.least_squares(lambda x: x - p, [0.0], loss=lambda z: z).x,
    ],
)
def test_refused_by_name(solve: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match=r"in traced code|cannot be traced"):
        sg.grad(lambda p: np.sum(solve(p)))(0.5)


# ---------------------------------------------------------------- simplices


def valley(x: Any, a: Any) -> Any:
    return (a - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2


def bowl(x: Any, a: Any) -> Any:
    return np.sum((x - a) ** 4 + (x - a) ** 2) + np.prod(x)


BOWL = np.array([0.3, -0.2, 0.5, 0.1])


def test_the_simplex_takes_scipys_steps() -> None:
    def solve(a: Any) -> Any:
        r = so.minimize(valley, np.zeros(2), args=(a,), method="Nelder-Mead")
        return r.x, (r.nit, r.nfev, r.status, r.success), r.final_simplex

    x, counts, (corners, values) = sg.compile(solve)(1.5)
    theirs, their_counts, (their_corners, their_values) = solve(1.5)
    assert counts == their_counts
    np.testing.assert_allclose(corners, their_corners, rtol=1e-6)
    np.testing.assert_allclose(values, their_values, atol=1e-8)
    np.testing.assert_allclose(x, theirs, atol=2e-4)
    np.testing.assert_allclose(x, [1.5, 2.25], rtol=1e-12)  # closer than the simplex is
    slope = sg.jacobian(lambda a: solve(a)[0])
    np.testing.assert_allclose(slope(1.5), [1.0, 3.0], rtol=1e-10)
    np.testing.assert_allclose(sg.jacobian(slope)(1.5), [0.0, 2.0], atol=1e-9)
    fmin = sg.compile(lambda a: so.fmin(valley, np.zeros(2), args=(a,), disp=False))
    np.testing.assert_allclose(fmin(1.5), [1.5, 2.25], rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"options": {"adaptive": True}},
        {"options": {"xatol": 1e-8, "fatol": 1e-8, "maxiter": 5000, "maxfev": 5000}},
        {"tol": 1e-6},
        {"options": {"initial_simplex": np.vstack([np.zeros(4), np.eye(4)])}},
        {"options": {"maxiter": 20}},
        {"options": {"maxfev": 30}},
        {"bounds": [(-1, 1), (-1, 1), (-1, 0.25), (0.2, 1)]},
    ],
    ids=lambda options: "-".join([*options, *options.get("options", "")]),
)
def test_options_of_the_simplex(options: dict[str, Any]) -> None:
    """Derivatives are ``-inv(f_xx) f_xa`` of the variables that no bound holds."""

    def solve(a: Any) -> Any:
        r = so.minimize(bowl, np.full(4, 0.22), args=(a,), method="Nelder-Mead", **options)
        return r.x, r.status

    (x, status), (want, their_status) = sg.compile(solve)(BOWL), solve(BOWL)
    found = sg.jacobian(lambda a: solve(a)[0])(BOWL)
    assert status == their_status
    if status:
        assert np.isnan(x).all()
        assert np.isnan(found).all()
        return
    np.testing.assert_allclose(x, want, atol=3e-4)
    own = np.diag(12.0 * (x - BOWL) ** 2 + 2.0)
    others = np.array([[0.0 if i == k else np.prod(np.delete(x, [i, k])) for i in range(4)]
                       for k in range(4)])  # fmt: skip
    free = np.ones(4, bool)
    if "bounds" in options:
        free = np.array([True, True, False, False])
    right = np.zeros((4, 4))
    right[np.ix_(free, free)] = np.linalg.solve((own + others)[np.ix_(free, free)],
                                                own[np.ix_(free, free)])  # fmt: skip
    np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-12)


def test_simplices_at_kinks_and_of_functions_without_derivatives() -> None:
    def median(a: Any) -> Any:
        return so.minimize(lambda x: np.sum(np.abs(x - a)), np.zeros(2), method="Nelder-Mead").x

    a = np.array([0.3, -0.2])
    np.testing.assert_allclose(sg.compile(median)(a), median(a), atol=2e-4)
    assert np.isnan(sg.jacobian(median)(a)).any()

    def called(a: Any) -> Any:
        cost = lambda x: sg.pure_callback(  # noqa: E731
            lambda x, a: np.sum((x - a) ** 2), np.zeros(()), x, a
        )
        return so.minimize(cost, np.zeros(2), method="Nelder-Mead").x

    np.testing.assert_allclose(sg.compile(called)(a), a, atol=1e-4)
    with pytest.raises(UnsupportedError, match="the derivative of"):
        sg.jacobian(called)(a)
    batch = np.array([0.5, 1.5])
    fit = lambda a: so.minimize(valley, np.zeros(2), args=(a,), method="Nelder-Mead").x  # noqa: E731
    np.testing.assert_allclose(
        sg.vmap(sg.jacobian(fit))(batch), np.array([[1.0, 1.0], [1.0, 3.0]]), rtol=1e-8
    )


def _heat(t: Any) -> Any:
    return 2 * t if t < 1000 else t**2 / 500


@pytest.mark.parametrize("start", [900.0, [900.0]])
def test_one_unknown_decides_in_its_equation(start: Any) -> None:
    """SciPy gives the function of one unknown an array of one element, which `if` asks."""

    def temperature(q: Any) -> Any:
        return so.fsolve(lambda t: _heat(t) - q, start)[0]

    found = sg.value_and_grad(temperature)
    for q in (1000.0, 5000.0):
        value, slope = found(q)
        near = (temperature(q + 1e-2) - temperature(q - 1e-2)) / 2e-2
        np.testing.assert_allclose((value, slope), (temperature(q), near), rtol=1e-6)


def test_no_unknowns_are_refused_by_name() -> None:
    for solve in (so.root, so.fsolve):
        with pytest.raises(ValueError, match="x0 is empty"):
            sg.compile(lambda a, solve=solve: solve(lambda x: a * x, np.zeros(0)))(1.0)


@pytest.mark.parametrize("tol", [1e-8, 1e-12, 1e-14])
def test_a_level_near_rounding_is_reached_by_slopes(tol: float) -> None:
    """The value cannot tell the last steps from each other; its gradient can."""

    def lowest(p: Any) -> Any:
        def value(x: Any) -> Any:
            return np.sum((x - p) ** 2 * p) + np.sum(x**4)

        found = so.minimize(value, [0.1, 0.2], tol=tol)
        return found.x, found.success

    p = np.array([1.1, 0.7])
    x, success = sg.compile(lowest)(p)
    assert success
    np.testing.assert_allclose(2 * p * (x - p) + 4 * x**3, 0.0, atol=4e-15)
    slopes = sg.jacobian(lambda p: lowest(p)[0])(p)
    np.testing.assert_allclose(
        np.diagonal(slopes), (4 * p - 2 * x) / (2 * p + 12 * x * x), rtol=1e-13
    )


@pytest.mark.usefixtures("few_kernels")
def test_a_minimum_is_given_where_the_level_is_below_rounding() -> None:
    """With the status of SciPy's that says so, and its derivatives."""

    def lowest(p: Any) -> Any:
        found = so.minimize(
            lambda x: 1e12 * np.sum(np.cosh(x - p)) + np.sum(np.sin(x)), [0.1, 0.2], tol=1e-14
        )
        return found.x, found.success, found.status

    p = np.array([0.25, 0.5])
    x, success, status = sg.compile(lowest)(p)
    np.testing.assert_allclose(x, p, atol=1e-11)
    assert success == (status == 0)
    np.testing.assert_allclose(sg.jacobian(lambda p: lowest(p)[0])(p), np.eye(2), atol=1e-11)


# ---------------------------------------------------------------- other names, bounds


def _slope(f: Any, x: Any, along: Any, h: float = 1e-6) -> Any:
    return (np.asarray(f(x + h * along)) - np.asarray(f(x - h * along))) / (2 * h)


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("shape", [(6, 4), (12, 8), (3, 5)])
def test_least_squares_in_a_box(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(shape[0])
    matrices, right = rng.normal(size=(20, *shape)), rng.normal(size=shape[0])
    solutions = sg.vmap(lambda a: so.nnls(a, right))(matrices)
    for a, x, rest in zip(matrices, *solutions, strict=True):
        want, norm = so.nnls(a, right)
        np.testing.assert_allclose(rest, norm, atol=1e-9)
        np.testing.assert_allclose(x, want, atol=1e-12)
        assert np.array_equal(x == 0, want == 0)
    a, along = matrices[0], rng.normal(size=shape)
    if shape[0] > shape[1]:
        for f in (
            lambda a: so.nnls(a, right)[0],
            lambda a: so.lsq_linear(a, right, (-0.2, 0.3), tol=1e-14).x,
        ):
            np.testing.assert_allclose(sg.compile(f)(a), f(a), atol=1e-10)
            np.testing.assert_allclose(sg.jvp(f, (a,), (along,))[1], _slope(f, a, along), atol=1e-6)


@pytest.mark.parametrize("name", ["minimize", "least_squares", "root", "fsolve", "leastsq"])
def test_functions_may_write_to_what_they_are_given(name: str) -> None:
    def off(x: Any) -> Any:
        x -= 1.0
        return np.sum(x * x) if name == "minimize" else x

    def solved(start: Any) -> Any:
        found = getattr(so, name)(off, start)
        return found.x if hasattr(found, "x") else found[0] if name == "leastsq" else found

    found = sg.compile(solved)(np.array([3.0, 2.0]))
    np.testing.assert_allclose(found, [1.0, 1.0], atol=1e-7)


def test_fits_that_start_outside_of_their_bounds() -> None:
    times, box = np.arange(5.0), ([0.0, 0.0], [2.0, 2.0])

    def nearest(y: Any, start: Any) -> Any:
        return so.least_squares(lambda x: x - y[:2], start, bounds=box).x

    def line(y: Any, start: Any) -> Any:
        return so.curve_fit(lambda t, a, b: a * t + b, times, y, start, bounds=box)[0]

    for f in nearest, line:
        for function in f, sg.compile(lambda y, f=f: f(y, [5.0, 1.0])):
            with pytest.raises(ValueError, match="outside of provided bounds"):
                function(*(times, [5.0, 1.0])[: 2 if function is f else 1])
        compiled = sg.compile(f)
        assert np.all(np.isnan(compiled(times, np.array([5.0, 1.0]))))
        inside = np.array([1.0, 2.0])
        np.testing.assert_allclose(compiled(times, inside), f(times, inside), atol=1e-4)


@pytest.mark.usefixtures("few_kernels")
def test_of_many_least_squares_it_is_the_same_as_elsewhere() -> None:
    rng = np.random.default_rng(4)
    wide, along = rng.normal(size=(2, 3, 5))
    inside = wide @ rng.random(5)  # what unknowns without a sign fit exactly, in many ways

    def by_columns(a: Any) -> Any:
        return so.nnls(a, inside)[0]

    def shortest(a: Any) -> Any:
        return so.lsq_linear(a, inside).x

    def in_a_wide_box(a: Any) -> Any:
        return so.lsq_linear(a, inside, (-9.0, 9.0)).x

    for f in by_columns, shortest, in_a_wide_box:
        np.testing.assert_allclose(sg.compile(f)(wide), f(wide), atol=1e-12)
        found = sg.jvp(f, (wide,), (along,))[1]
        np.testing.assert_allclose(found, _slope(f, wide, along), atol=1e-6)

    def in_a_narrow_box(a: Any) -> Any:
        return so.lsq_linear(a, inside, (-0.1, 0.7)).x

    x, change = sg.jvp(in_a_narrow_box, (wide,), (along,))
    assert np.all((x >= -0.1) & (x <= 0.7))
    np.testing.assert_allclose(wide @ x, inside, atol=1e-9)
    np.testing.assert_allclose(wide @ change, -along @ x, atol=1e-9)  # another that fits


def test_assignments_are_places() -> None:
    def cheapest(cost: Any) -> Any:
        return np.sum(cost[so.linear_sum_assignment(cost)])

    cost = np.random.default_rng(3).normal(size=(3, 5))
    value, slope = sg.value_and_grad(cheapest)(cost)
    assert value == cheapest(cost)
    chosen = np.zeros((3, 5))
    chosen[so.linear_sum_assignment(cost)] = 1.0
    np.testing.assert_array_equal(slope, chosen)
    both = np.stack([cost, -cost])
    np.testing.assert_array_equal(sg.vmap(cheapest)(both), [*map(cheapest, both)])


def test_fixed_points_of_numbers_and_vectors() -> None:
    def several(a: Any) -> Any:
        start = np.array([1.2, 1.3])
        return so.fixed_point(lambda x: np.sqrt(a / (x + np.array([3.0, 4.0]))), start)

    def one(a: Any, method: str = "del2") -> Any:
        return so.fixed_point(lambda x: np.cos(a * x), 0.5, method=method)

    for f in (several, one, lambda a: one(a, "iteration")):
        np.testing.assert_allclose(sg.compile(f)(1.0), f(1.0), rtol=1e-7)
        np.testing.assert_allclose(sg.jacobian(f)(1.0), _slope(f, 1.0, 1.0, 1e-4), rtol=1e-3)
    assert np.isnan(sg.grad(lambda a: so.fixed_point(lambda x: a + x, 0.5))(1.0))


def hill(x: Any, a: Any) -> Any:
    return (x[0] - a) ** 2 + (x[1] - x[0]) ** 4 + x[1] ** 2


def well(x: Any, a: Any) -> Any:
    return (x - a) ** 2 + 0.1 * x**4


OLDER: dict[str, Callable[[Any], Any]] = {
    "fmin_bfgs": lambda a: so.fmin_bfgs(hill, [0.0, 0.0], args=(a,), disp=False),
    "fmin_cg": lambda a: so.fmin_cg(lambda x: hill(x, a), [0.0, 0.0], disp=False),
    "fmin_l_bfgs_b": lambda a: so.fmin_l_bfgs_b(hill, [0.0, 0.0], args=(a,), approx_grad=True)[0],
    "in a box": lambda a: so.fmin_l_bfgs_b(
        lambda x: (well(x[0], a), 2 * (x - a) + 0.4 * x**3), [0.0], bounds=[(0, 0.5)]
    )[0],
    "fminbound": lambda a: so.fminbound(well, -2.0, 3.0, (a,)),
    "brent": lambda a: so.brent(args=(a,), func=well),
    "toms748": lambda a: so.toms748(lambda x: x**3 - a, 0.0, 3.0),
    "toms748 by root_scalar": lambda a: (
        so.root_scalar(
            lambda x: x**3 - a, bracket=(0.0, 3.0), method="toms748", options={"k": 2}
        ).root
    ),
}


@pytest.mark.parametrize("name", OLDER)
@pytest.mark.quick(2)
def test_minima_by_older_names(name: str) -> None:
    f = OLDER[name]
    np.testing.assert_allclose(sg.compile(f)(1.0), f(1.0), atol=1e-5)
    np.testing.assert_allclose(sg.jacobian(f)(1.0), _slope(f, 1.0, 1.0, 1e-3), atol=2e-3)


def test_older_names_without_minima() -> None:
    with pytest.raises(UnsupportedError, match="no full_output"):
        sg.grad(lambda a: so.brent(well, (a,), full_output=True)[0])(1.0)
    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(
        sg.compile(lambda x: so.approx_fprime(x, lambda y: np.sum(y**3)))(x), 3 * x**2
    )


FEW, FEW_DATA = np.linspace(0.0, 2.0, 9), 2.0 * np.exp(-1.3 * np.linspace(0.0, 2.0, 9))


def falling(x: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * x)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"absolut_sigma": True}, TypeError, "unexpected keyword argument 'absolut_sigma'"),
        ({"method": "levenberg"}, ValueError, "`method` must be"),
        ({"method": "trf", "max_nfeval": 3}, TypeError, "unexpected keyword argument 'max_nfeval'"),
    ],
)
def test_options_that_a_fit_does_not_have(options: Any, error: Any, words: str) -> None:
    """A misspelt name is not one that is left out."""
    for fit in (
        lambda d: so.curve_fit(falling, FEW, d, **options)[0],
        sg.compile(lambda d: ours.curve_fit(falling, FEW, d, **options)[0]),
    ):
        with pytest.raises(error, match=words if error is ValueError else "unexpected keyword"):
            fit(FEW_DATA)


def test_least_squares_refuses_what_scipy_refuses() -> None:
    def solve(**options: Any) -> Any:
        return sg.compile(lambda s: ours.least_squares(lambda p: p - s, [1.0, 2.0], **options).x)(
            0.5
        )

    with pytest.raises(ValueError, match="`method` must be"):
        solve(method="levenberg")
    with pytest.raises(ValueError, match="supports only 'linear'"):
        solve(method="lm", loss="huber")
    with pytest.raises(ValueError, match="`max_nfev` must be"):
        solve(max_nfev=0)


def test_bounds_that_cross() -> None:
    """There is nothing between them: an error where they are numbers, nan where traced."""

    def square(x: Any) -> Any:
        return np.sum((x - 0.5) ** 2)

    def minimum(lower: Any, upper: Any) -> Any:
        return ours.minimize(square, [0.0, 0.0], bounds=[(lower, upper), (0, 1)]).x

    np.testing.assert_allclose(sg.compile(minimum)(-1.0, 0.25), [0.25, 0.5], atol=1e-8)
    assert np.isnan(sg.compile(minimum)(3.0, 0.0)).all()
    with pytest.raises(ValueError, match="upper bound is less"):
        sg.compile(lambda s: s * minimum(3.0, 0.0))(1.0)
    fit = sg.compile(lambda d, low: ours.curve_fit(falling, FEW, d, bounds=(low, 3.0))[0])
    np.testing.assert_allclose(fit(FEW_DATA, 0.0), [2.0, 1.3], rtol=1e-6)
    assert np.isnan(fit(FEW_DATA, 4.0)).all()


def test_bounds_of_methods_that_have_none() -> None:
    """They are not looked at, as SciPy says in its warning."""

    def minimum(s: Any, minimize: Any = ours.minimize) -> Any:
        return minimize(lambda x: np.sum((x - s) ** 2), [0.0], method="BFGS", bounds=[(0, 1)]).x

    with pytest.warns(RuntimeWarning, match="BFGS cannot handle bounds"):
        expected = minimum(3.0, so.minimize)
    with pytest.warns(RuntimeWarning, match="BFGS cannot handle bounds"):
        found = sg.compile(minimum)(3.0)
    np.testing.assert_allclose(found, expected, atol=1e-5)


STARTS: dict[str, Callable[[Any, Any], Any]] = {
    "minimize": lambda a, x: so.minimize(lambda x: np.sum((x - a) ** 2), x).x,
    "least_squares": lambda a, x: so.least_squares(lambda x: x * x - a, x).x,
    "fsolve": lambda a, x: so.fsolve(lambda x: x * x - a, x),
    "newton": lambda a, x: so.newton(lambda x: x * x - a, x),
    "secant": lambda a, x: so.root_scalar(lambda x: x * x - a[0], x0=x[0], x1=2 * x[0]).root,
    "bracket": lambda a, x: so.minimize_scalar(lambda x: (x - a[0]) ** 2, (x[0], 2 * x[0])).x,
    "fixed_point": lambda a, x: so.fixed_point(lambda x: 0.3 * np.cos(x) + a, x),
    "nnls": lambda a, x: so.nnls(np.diag(x), a)[0],
}


@pytest.mark.parametrize("name", STARTS)
def test_solvers_start_from_single_precision(name: str) -> None:
    """They refused, where what they solve is of double precision."""
    solve, a = STARTS[name], np.array([0.7, 1.2])
    found = sg.compile(lambda a: solve(a, np.ones(2, np.float32)))(a)
    np.testing.assert_allclose(found, sg.compile(lambda a: solve(a, np.ones(2)))(a), rtol=1e-12)

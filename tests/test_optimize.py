"""symgrad.scipy.optimize: SciPy's solvers, with the derivatives that a call leaves out."""

from __future__ import annotations

import functools
import gc
import inspect
import math
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as original

import symgrad as sg
from symgrad.errors import DifferencesWarning
from symgrad.scipy import optimize
from symgrad.scipy._minimize import SMALL

pytestmark = pytest.mark.usefixtures("few_kernels")

START = np.array([-1.2, 1.0, 0.7])

METHODS = (
    "Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA",
    "SLSQP", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov",
)  # fmt: skip
HESSIANS = ("Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov", "trust-constr")


def valley(x: Any, a: float = 1.0) -> Any:
    return np.sum(10.0 * (x[1:] - x[:-1] ** 2) ** 2) + np.sum((a - x) ** 2)


def slope(x: Any, a: float = 1.0) -> Any:
    return sg.grad(valley)(x, a)


class Counted:
    """Counts its calls in Python; ``int`` keeps it from being traced."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.calls = f, 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.f(*args)


# ---------------------------------------------------------------- as SciPy's


NAMES = ("minimize", "least_squares", "leastsq", "curve_fit", "root", "fsolve", "newton",
         "root_scalar")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_signatures_are_scipys(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(m, name)) for m in (optimize, original))
    assert list(ours.parameters) == list(theirs.parameters)
    for mine, other in zip(ours.parameters.values(), theirs.parameters.values(), strict=True):
        assert mine.kind == other.kind
        if mine.name not in ("jac", "kwargs"):
            assert mine.default == other.default or mine.default is other.default


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.quick(2)
def test_every_method_of_minimize(method: str) -> None:
    few = {"maxiter": 30} if method.startswith(("COB", "Pow", "Neld")) else {}
    found = optimize.minimize(valley, START, method=method, options=few)
    given: dict[str, Any] = {}
    if method not in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA"):
        given["jac"] = slope
    if method in HESSIANS:
        given["hess"] = lambda x: sg.hessian(valley)(x, 1.0)
    expected = original.minimize(valley, START, method=method, options=few, **given)
    assert found.keys() == expected.keys()
    # SciPy's dogleg gives up where the Hessian is not definite, as it is not on the way.
    assert found.success == expected.success
    assert found.success or few or method == "dogleg"
    assert (found.message, found.status) == (expected.message, expected.status)
    assert (found.nfev, found.get("njev")) == (expected.nfev, expected.get("njev"))
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.fun, expected.fun, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
def test_many_variables_take_products_with_the_hessian(method: str) -> None:
    found = optimize.minimize(valley, np.zeros(SMALL + 1), method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_values_and_derivatives_are_computed_once_a_point() -> None:
    seen: list[bytes] = []

    def record(x: Any) -> Any:
        seen.append(np.asarray(x).tobytes())
        return np.zeros(())

    def f(x: Any) -> Any:
        return valley(x) + sg.pure_callback(record, np.empty(()), sg.stop_gradient(x))

    found = optimize.minimize(f, START, method="BFGS")
    assert found.success
    assert len(seen) == len(set(seen)) == found.nfev


@pytest.mark.parametrize("kind", ["partial", "keyword", "args", "method", "object", "lambda"])
@pytest.mark.quick(2)
def test_what_a_function_may_be(kind: str) -> None:
    class Model:
        a = 2.0

        def loss(self, x: Any) -> Any:
            return valley(x, self.a)

        def __call__(self, x: Any) -> Any:
            return self.loss(x)

    forms: dict[str, tuple[Any, Any]] = {
        "partial": (functools.partial(lambda a, x: valley(x, a), 2.0), ()),
        "keyword": (functools.partial(valley, a=2.0), ()),
        "args": (valley, 2.0),
        "method": (Model().loss, ()),
        "object": (Model(), ()),
        "lambda": (lambda x: [valley(x, 2.0)], ()),
    }
    f, args = forms[kind]
    found = optimize.minimize(f, list(START), args)
    expected = original.minimize(valley, START, (2.0,), jac=slope)
    assert found.nfev == expected.nfev
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-9)


def test_nothing_is_stale() -> None:
    target = np.array([1.0, 2.0])
    scale = 1.0

    def f(x: Any, shift: Any) -> Any:
        return scale * np.sum((x - target - shift) ** 2)

    shift = np.zeros(2)
    for _ in range(3):
        found = optimize.minimize(f, np.zeros(2), (shift,))
        np.testing.assert_allclose(found.x, target + shift, atol=1e-6)
        assert found.fun < 1e-10
        target[0] += 1.0
        shift[1] += 1.0
        scale *= 2.0


def test_changes_that_a_callback_makes_are_seen() -> None:
    target = np.zeros(2)

    def f(x: Any) -> Any:
        return np.sum((x - target) ** 4)

    def move(x: Any) -> None:
        target[:] = 1.0

    found = optimize.minimize(f, np.full(2, 3.0), callback=move)
    np.testing.assert_allclose(found.x, 1.0, atol=0.05)


def test_what_is_compiled_goes_with_the_function() -> None:
    def f(x: Any) -> Any:
        return np.sum((x - 1.0) ** 2)

    optimize.minimize(f, np.zeros(2))
    ref = weakref.ref(f)
    del f
    gc.collect()
    assert ref() is None


def test_nothing_is_kept_of_functions_made_anew() -> None:
    refs = []
    for k in (1.0, 2.0, 3.0):
        data = np.full(2, k)

        def f(x: Any, data: Any = data) -> Any:
            return np.sum((x - data) ** 2)

        optimize.minimize(f, np.zeros(2))
        optimize.minimize(f, np.zeros(2))
        problem = sg.nlp(f, None, np.zeros(2))
        np.testing.assert_allclose(problem.gradient(np.ones(2)), 2 * (1 - k))
        refs += [weakref.ref(f), weakref.ref(data), weakref.ref(problem)]
    del f, data, problem
    gc.collect()
    assert [ref() for ref in refs] == [None] * 9


@pytest.mark.parametrize("method", METHODS)
def test_the_functions_own_error_is_raised(method: str) -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2) / {}["mass"]

    with pytest.raises(KeyError, match="mass"):
        optimize.minimize(f, START, method=method)


def test_tables_are_fitted_by_exact_derivatives() -> None:
    """What a model gives for a column has labels; solvers take its numbers, as SciPy does."""
    pd = pytest.importorskip("pandas")
    x = np.array([1.0, 2.0, 3.0, 4.0])
    table = pd.DataFrame({"x": x, "y": [1.0, 2.0, 3.0, 5.0]}, index=[4, 5, 6, 7])
    exact = np.polyfit(x, table["y"], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line = optimize.curve_fit(lambda x, a, b: a * x + b, table["x"], table["y"])[0]
        column = optimize.curve_fit(lambda t, a, b: a * t["x"] + b, table, table["y"])[0]
        plain = optimize.curve_fit(lambda x, a, b: a * np.asarray(x) + b, table.x, table.y)[0]
        squares = optimize.least_squares(lambda p: p[0] * table.x + p[1] - table.y, [1.0, 1.0]).x
        given = optimize.least_squares(
            lambda p, t: p[0] * t.x + p[1] - t["y"], [1.0, 1.0], args=(table,)
        ).x
    for found in (line, column, plain, squares, given):
        np.testing.assert_allclose(found, exact, rtol=1e-9)
    problem = sg.nlp(lambda p: np.sum(p**2), lambda p: p[0] * table.x, np.ones(2))
    np.testing.assert_array_equal(problem.jacobian(np.ones(2)), x)


def test_given_derivatives_are_used() -> None:
    jac = Counted(slope)
    both = Counted(lambda x: (valley(x), slope(x)))
    assert optimize.minimize(valley, START, jac=jac).njev == jac.calls
    optimize.minimize(both, START, jac=True)
    assert both.calls > 5
    found = optimize.minimize(
        lambda x: (valley(x), slope(x)), START, jac=True, method="trust-exact"
    )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)
    counted = Counted(valley)
    optimize.minimize(counted, START, jac="3-point")
    assert counted.calls > 50


def test_callback_bounds_and_stopping() -> None:
    steps: list[Any] = []
    bounds = [(None, 0.5), (-1.0, None), (0.0, 0.0)]
    start = [0.0, 0.0, 0.0]
    found = optimize.minimize(valley, start, bounds=bounds, callback=steps.append)
    expected = original.minimize(valley, start, jac=slope, bounds=bounds)
    np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
    assert len(steps) == found.nit

    def stop(intermediate_result: Any) -> None:
        raise StopIteration

    assert optimize.minimize(valley, START, callback=stop).status == 99


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA"])
@pytest.mark.parametrize("style", ["dict", "object", "several"])
@pytest.mark.quick(2)
def test_constraints(method: str, style: str) -> None:
    def disc(x: Any, r: float = 2.0) -> Any:
        return [r - x[0] ** 2 - x[1] ** 2]

    constraints: dict[str, Any] = {
        "dict": {"type": "ineq", "fun": disc, "args": (2.0,)},
        "object": optimize.NonlinearConstraint(disc, 0.0, np.inf),
        "several": [
            optimize.NonlinearConstraint(lambda x: disc(x)[0], 0.0, np.inf),
            original.LinearConstraint([[1.0, 0.0]], -5.0, 5.0),
            {"type": "ineq", "fun": lambda x: x + 9.0},
        ],
    }
    found = optimize.minimize(
        lambda x: x[0] + x[1], [0.5, 0.4], method=method, constraints=constraints[style]
    )
    np.testing.assert_allclose(found.x, -1.0, atol=2e-4)


def test_a_constraint_in_scipys_own_minimize() -> None:
    disc = optimize.NonlinearConstraint(lambda x: x @ x, 0.0, 2.0)
    found = original.minimize(lambda x: x[0] + x[1], [0.5, 0.4], method="SLSQP", constraints=disc)
    np.testing.assert_allclose(found.x, -1.0, atol=1e-6)


def test_scipys_own_constraint_is_filled_in() -> None:
    """Differences and BFGS, its defaults, warn of this constraint that it may be linear."""
    half = original.NonlinearConstraint(lambda x: x[0] - 0.5, 0.0, 0.0)
    found = optimize.minimize(
        lambda x: np.sum((x - 1.0) ** 4), [0.0, 0.4], method="trust-constr", constraints=half
    )
    np.testing.assert_allclose(found.x, [0.5, 1.0], atol=1e-2)


# ---------------------------------------------------------------- least squares and roots


T = np.linspace(0.0, 4.0, 60)
Y = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.01 * np.sin(40 * T)


def decay(t: Any, a: Any, b: Any, c: Any) -> Any:
    return a * np.exp(-b * t) + c


def decay_slopes(t: Any, a: Any, b: Any, c: Any) -> Any:
    e = np.exp(-b * t)
    return np.stack([e, -a * t * e, np.ones_like(t)], axis=1)


@pytest.mark.parametrize("method", [None, "lm", "trf", "dogbox"])
def test_curve_fit(method: Any) -> None:
    given: dict[str, Any] = {"method": method, "full_output": True, "sigma": 0.1 + 0.0 * T}
    found = optimize.curve_fit(decay, T, Y, **given)
    expected = original.curve_fit(decay, T, Y, jac=decay_slopes, **given)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-7)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)
    assert found[2]["nfev"] == expected[2]["nfev"]
    assert found[3:] == expected[3:]


@pytest.mark.parametrize("given", [
    {"sigma": 2.0}, {"sigma": np.float64(0.5), "absolute_sigma": True}, {"sigma": [2.0]},
])  # fmt: skip
def test_curve_fit_with_one_error_of_all_points(given: dict[str, Any]) -> None:
    t = np.linspace(0.0, 3.0, 15)
    data = 0.8 * np.exp(-0.7 * t) + 0.01 * np.sin(9 * t)
    model = lambda t, a, b: a * np.exp(-b * t)  # noqa: E731
    for found, want in zip(
        optimize.curve_fit(model, t, data, **given), original.curve_fit(model, t, data, **given),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(found, want, rtol=1e-5)


def test_a_forgotten_return_is_scipys_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for solve in (lambda lib: lib.minimize(lambda x: None, [1.0]),
                      lambda lib: lib.curve_fit(lambda x, a: None, T, Y)):  # fmt: skip
            for lib in (original, optimize):
                with pytest.raises(TypeError, match="NoneType"):
                    solve(lib)


@pytest.mark.parametrize("method", ["lm", "trf"])
@pytest.mark.parametrize("mean", [lambda t, a: a, lambda t, a: np.array([a])])
def test_curve_fit_of_a_constant(mean: Any, method: str) -> None:
    given: dict[str, Any] = {"p0": [1.0], "method": method}
    for found, want in zip(
        optimize.curve_fit(mean, T, Y, **given), original.curve_fit(mean, T, Y, **given),
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(found, want, rtol=1e-6)


def test_curve_fit_of_lists_with_nan_left_out() -> None:
    t, y = list(T), list(Y)
    t[3], y[7] = np.nan, np.nan
    given: dict[str, Any] = {"nan_policy": "omit", "bounds": (0.0, 9.0), "p0": [1.0, 1.0, 1.0]}
    found, _ = optimize.curve_fit(decay, t, y, **given)
    expected, _ = original.curve_fit(decay, t, y, jac=decay_slopes, **given)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method: str) -> None:
    def residuals(p: Any, t: Any, *, y: Any) -> Any:
        return decay(t, *p) - y

    found = optimize.least_squares(
        residuals, [1.0, 1.0, 1.0], method=method, args=(T,), kwargs={"y": Y}
    )
    expected = original.least_squares(
        residuals, [1.0, 1.0, 1.0], lambda p, t, *, y: decay_slopes(t, *p), method=method,
        args=(T,), kwargs={"y": Y},
    )  # fmt: skip
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-7)
    assert (found.nfev, found.njev, found.message) == (
        expected.nfev, expected.njev, expected.message,
    )  # fmt: skip
    robust = optimize.least_squares(
        residuals, [1.0, 1.0, 1.0], loss="soft_l1", tr_solver="lsmr", args=(T,), kwargs={"y": Y}
    )
    np.testing.assert_allclose(robust.x, found.x, rtol=1e-3)


def circle_and_line(x: Any) -> list[Any]:
    return [x[0] ** 2 + x[1] ** 2 - 2.0, x[0] - x[1]]


@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "anderson"])
def test_root(method: str) -> None:
    found = optimize.root(circle_and_line, [2, 1], method=method, tol=1e-9)
    assert found.success
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)


def test_root_counts_as_with_a_given_jacobian() -> None:
    def jac(x: Any) -> Any:
        return np.array([[2 * x[0], 2 * x[1]], [1.0, -1.0]])

    found = optimize.root(circle_and_line, [2.0, 1.0])
    expected = original.root(circle_and_line, [2.0, 1.0], jac=jac)
    assert (found.nfev, found.njev) == (expected.nfev, expected.njev)
    by_columns = {"col_deriv": 1}
    assert optimize.root(circle_and_line, [2.0, 1.0], options=by_columns).nfev == found.nfev
    solved, info, *_ = optimize.fsolve(circle_and_line, [2, 1], full_output=True, col_deriv=1)
    np.testing.assert_allclose(solved, 1.0)
    assert info["njev"] >= 1
    np.testing.assert_allclose(optimize.leastsq(circle_and_line, [2, 1])[0], 1.0, rtol=1e-6)


def test_roots_of_one_number() -> None:
    found = optimize.root_scalar(lambda x, a: x**3 - a, (8.0,), x0=3.0)
    expected = original.root_scalar(
        lambda x, a: x**3 - a, (8.0,), x0=3.0, fprime=lambda x, a: 3 * x**2
    )
    assert (found.root, found.iterations, found.method) == (
        expected.root, expected.iterations, expected.method,
    )  # fmt: skip
    halley = optimize.root_scalar(lambda x: x**3 - 8.0, x0=3, method="halley")
    assert halley.converged
    assert halley.iterations < found.iterations
    bracketed = optimize.root_scalar(lambda x: x**3 - 8.0, bracket=(0, 3))
    np.testing.assert_allclose(bracketed.root, 2.0)
    with_all = optimize.root_scalar(
        lambda x: (x**3 - 8.0, 3 * x**2), x0=3.0, fprime=True, method="newton"
    )
    np.testing.assert_allclose(with_all.root, 2.0)
    np.testing.assert_allclose(optimize.newton(np.cos, 1.0), np.pi / 2)
    np.testing.assert_allclose(optimize.newton(lambda x: x**2 - 2.0, 1, x1=2), np.sqrt(2.0))


def test_code_as_it_stands() -> None:
    """Arrays that are filled, and functions of math."""

    def residuals(x: Any) -> Any:
        y = np.zeros(3)
        y[0], y[1] = x[0] - 1.0, math.sin(x[1])
        y[2] = np.array([x[0], x[1]]).sum() - 1.0
        return y

    np.testing.assert_allclose(optimize.least_squares(residuals, [3.0, 0.5]).x, [1, 0], atol=1e-6)
    found = optimize.minimize(lambda x, a: math.exp(a * x[0]) + x @ x, [1.0, 1.0], (0.5,))
    assert found.success


# ---------------------------------------------------------------- what cannot be traced


def untraceable(x: Any) -> float:
    return sum(v**2 for v in memoryview(x)) + x[0]


def test_differences_say_why_and_where() -> None:
    line = untraceable.__code__.co_firstlineno + 1
    said = rf"minimize takes derivatives of untraceable by differences.*test_optimize.py:{line}"
    with pytest.warns(DifferencesWarning, match=said) as caught:
        found = optimize.minimize(untraceable, START)
    assert caught[0].filename == __file__
    expected = original.minimize(untraceable, START)
    np.testing.assert_array_equal(found.x, expected.x)
    assert found.nfev == expected.nfev
    with pytest.warns(DifferencesWarning, match=r"memoryview: a bytes.*test_optimize\.py:"):
        optimize.least_squares(_fails_on_stand_ins, [1.0, 2.0])
    with pytest.warns(DifferencesWarning, match="root takes"):
        optimize.root(lambda x: [memoryview(x)[0] - 1.0], [0.0])
    with pytest.warns(DifferencesWarning, match="curve_fit takes"):
        optimize.curve_fit(lambda t, a: memoryview(np.atleast_1d(a))[0] + 0.0 * t, T, Y)
    with pytest.warns(DifferencesWarning, match="root_scalar takes"):
        optimize.root_scalar(lambda x: memoryview(np.atleast_1d(x))[0] - 2.0, x0=1.0)


def _fails_on_stand_ins(x: Any) -> Any:
    return x - memoryview(x)[0]


def test_numbers_that_python_needs() -> None:
    """Of arguments that Python code uses as numbers, nothing is said."""

    def f(x: Any, rate: float, count: int, how: str) -> Any:
        powers = {"even": 2, "odd": 3}
        return sum(math.exp(rate) * np.sum((x - k) ** powers[how]) for k in range(count))

    found = optimize.minimize(f, START, (0.5, 3, "even"))
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


def test_objects_as_arguments() -> None:
    class Config:
        def __init__(self) -> None:
            self.target = np.array([1.0, 2.0, 3.0])
            self.names = {"a", "b"}

        __hash__ = None  # type: ignore[assignment]

    config = Config()
    for _ in range(2):
        found = optimize.minimize(lambda x, c: np.sum((x - c.target) ** 2), START, (config,))
        np.testing.assert_allclose(found.x, config.target, atol=1e-5)
        config.target = config.target + 1.0


def test_another_path_that_cannot_be_traced() -> None:
    """A branch met on the way: from there on differences, and a warning."""

    def f(x: Any) -> Any:
        if x[0] < 1.0:
            return sum((v - 0.5) ** 2 for v in memoryview(x))
        return np.sum((x - 0.5) ** 2)

    with pytest.warns(DifferencesWarning, match="by differences"):
        found = optimize.minimize(f, [3.0, 3.0])
    np.testing.assert_allclose(found.x, 0.5, atol=1e-4)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_complex_residuals_are_left_to_scipy() -> None:
    with pytest.warns(DifferencesWarning, match="its result is complex"):
        found = optimize.least_squares(lambda x: 1j * x, START)
    np.testing.assert_array_equal(found.x, original.least_squares(lambda x: 1j * x, START).x)


# ---------------------------------------------------------------- wrong input


def both(call: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return what SciPy and what this module make of a call: the error, or the result."""
    outcomes = []
    for module in (original, optimize):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcomes.append(call(module))
        except Exception as error:  # noqa: BLE001 - whatever it is
            outcomes.append((type(error), str(error)))
    return outcomes[0], outcomes[1]


WRONG: dict[str, Callable[[Any], Any]] = {
    "start of two axes": lambda m: m.minimize(valley, np.zeros((2, 2))),
    "start of words": lambda m: m.minimize(valley, ["a"]),
    "vector objective": lambda m: m.minimize(lambda x: x, START),
    "no such method": lambda m: m.minimize(valley, START, method="best"),
    "error of the user's": lambda m: m.minimize(lambda x: {}["key"], START),
    "not a function": lambda m: m.minimize(3.0, START),
    "wrong arguments": lambda m: m.minimize(valley, START, (1.0, 2.0, 3.0)),
    "bounds that cross": lambda m: m.minimize(valley, START, bounds=[(1, 0)] * 3),
    "too few bounds": lambda m: m.minimize(valley, START, bounds=[(0, 1)] * 2),
    "crossing, least squares": lambda m: m.least_squares(lambda x: x, [1.0], bounds=([2], [0])),
    "start outside": lambda m: m.least_squares(lambda x: x, [1.0], bounds=([2], [3])),
    "nan at the start, least squares": lambda m: m.least_squares(lambda x: x, [np.nan]),
    "jac of another kind": lambda m: m.least_squares(lambda x: x, [1.0], jac="exact"),
    "constraint without type": lambda m: m.minimize(
        valley, START, method="SLSQP", constraints={"fun": lambda x: x[0]}
    ),
    "constraint without fun": lambda m: m.minimize(
        valley, START, method="SLSQP", constraints={"type": "eq"}
    ),
    "too many equations": lambda m: m.root(lambda x: [x[0], x[0] - 1.0], [1.0]),
    "one number of nothing": lambda m: m.root_scalar(lambda x: x),
    "data of other lengths": lambda m: m.curve_fit(decay, T, Y[:-1]),
    "too many parameters": lambda m: m.curve_fit(decay, T[:2], Y[:2]),
    "parameters unknown": lambda m: m.curve_fit(lambda *a: a[0], T, Y),
    "nan in data": lambda m: m.curve_fit(decay, T, np.full(T.size, np.nan)),
    "no data": lambda m: m.curve_fit(decay, [], []),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_answered_as_scipy_does(case: str) -> None:
    theirs, ours = both(WRONG[case])
    assert ours == theirs
    assert issubclass(ours[0], Exception)


def test_residuals_as_a_matrix() -> None:
    with pytest.raises(ValueError, match="1-d array_like"):
        optimize.least_squares(lambda x: x[:, None] * x, [1.0, 2.0])


def test_nan_at_the_start() -> None:
    start = np.array([np.nan, 1.0, 1.0])
    for method in ("BFGS", "L-BFGS-B", "Newton-CG"):
        found = optimize.minimize(valley, start, method=method)
        with np.errstate(invalid="ignore"):
            expected = original.minimize(
                valley, start, method=method, jac=slope,
                hess=(lambda x: sg.hessian(valley)(x, 1.0)) if method == "Newton-CG" else None,
            )  # fmt: skip
        assert (found.success, found.message) == (expected.success, expected.message)


def test_constraints_of_changing_length() -> None:
    def changing(x: Any) -> Any:
        return [x[0], x[1]] if x[0] > 0.2 else [x[0]]

    constraint = {"type": "ineq", "fun": changing}
    for method in ("SLSQP", "trust-constr"):
        with pytest.raises(ValueError, match="changing has returned 2 numbers at the first point"):
            optimize.minimize(
                lambda x: np.sum((x + 1.0) ** 2), [1.0, 1.0], method=method, constraints=constraint
            )


def test_a_complex_start_is_left_to_scipy() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.abs(x - 1.0) ** 2)

    theirs, ours = both(lambda m: m.minimize(f, np.array([1j, 0.0]), method="BFGS"))
    np.testing.assert_array_equal(ours.x, theirs.x)


def test_solves_in_threads() -> None:
    found: list[Any] = [None] * 4

    def solve(k: int) -> None:
        found[k] = optimize.minimize(valley, np.full(3, 0.5 + 0.1 * k)).x

    threads = [threading.Thread(target=solve, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(found, 1.0, atol=1e-4)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_sizes(size: int) -> None:
    theirs, ours = both(lambda m: m.minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(size)))
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        np.testing.assert_allclose(ours.x, theirs.x, atol=1e-6)


def test_a_dictionary_as_the_start_is_refused() -> None:
    with pytest.raises(sg.errors.ArgumentError, match=r"x0 of minimize .* sg\.nlp"):
        optimize.minimize(lambda p: p["a"] ** 2, {"a": 1.0})

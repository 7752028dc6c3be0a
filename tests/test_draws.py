"""Random numbers that a compiled function draws: those that the plain function draws then.

Values are compared with NumPy's from the same seeds, derivatives with differences of the plain
function at the same seeds, and the generators with where a plain call leaves them.
"""

from __future__ import annotations

import pickle
import random
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import OutsideError, ShapeError, UnsupportedError

# Users draw from NumPy's shared generator, too, so it is meant here.
# ruff: noqa: NPY002

rng = np.random.default_rng(0)
old = np.random.RandomState(0)
python = random.Random(0)

X = np.array([0.3, 0.7, 1.2])


@pytest.fixture(autouse=True)
def _shared_generators() -> Iterator[None]:
    """Leave the shared generators to other tests as they were."""
    states = np.random.get_state(), random.getstate()
    yield
    np.random.set_state(states[0])
    random.setstate(states[1])


def seed(number: int) -> None:
    """Set all generators to the same seed, without making new ones."""
    rng.bit_generator.state = np.random.default_rng(number).bit_generator.state
    old.seed(number)
    python.seed(number)
    np.random.seed(number)
    random.seed(number)


def next_numbers() -> tuple[float, ...]:
    """Return a number of each generator: equal only where as many were drawn before."""
    return (
        rng.random(), old.random_sample(), python.random(), np.random.random(), random.random()
    )  # fmt: skip


def same(
    compiled: Callable[[], Any], plain: Callable[[], Any], tolerance: float = 1e-13,
    seeds: int = 3,
) -> None:  # fmt: skip
    """Check that values agree, and where the generators are afterwards."""
    for number in range(seeds):
        seed(number)
        expected, after = plain(), next_numbers()
        seed(number)
        np.testing.assert_allclose(compiled(), expected, rtol=tolerance, atol=tolerance)
        assert next_numbers() == after


def differences(f: Callable[..., Any], x: Any, step: float = 1e-5) -> Any:
    """Return the derivative by differences; each value is of the same random numbers."""
    x = np.asarray(x, float)
    states = rng.bit_generator.state, old.get_state(), python.getstate()
    shared = np.random.get_state(), random.getstate()

    def at(y: Any) -> Any:
        rng.bit_generator.state = states[0]
        old.set_state(states[1])
        python.setstate(states[2])
        np.random.set_state(shared[0])
        random.setstate(shared[1])
        return np.asarray(f(y if x.shape else float(y)), float)

    columns = []
    for k in range(x.size):
        e = np.zeros_like(x)
        e.flat[k] = step
        columns.append((at(x + e) - at(x - e)) / (2 * step))
    return np.stack(columns, -1).reshape((*np.shape(columns[0]), *x.shape))


# ---------------------------------------------------------------- transformations


def noisy(x: Any) -> Any:
    return np.sum(np.sin(x) * rng.normal(x, 1.0 + x**2)) + rng.exponential(x[0])


def noisy_array(x: Any) -> Any:
    return np.sin(x) * rng.normal(x, 1.0 + x**2) * rng.uniform(size=3)


def test_a_call_draws_what_the_plain_call_draws() -> None:
    for options in ({}, {"backend": "numpy"}, {"rounding": "numpy"}, {"control_flow": True}):
        g: Any = sg.compile(noisy, **options)
        same(lambda g=g: [g(X) for _ in range(3)], lambda: [noisy(X) for _ in range(3)])
        assert g.traces == 1


def test_the_first_call_draws_once() -> None:
    for make in (sg.compile, sg.value_and_grad):
        seed(1)
        make(lambda x: np.sum(x * rng.normal(size=3)))(X)
        twin = np.random.default_rng(1)
        twin.normal(size=3)
        assert rng.random() == twin.random()


def test_derivatives_are_of_the_numbers_of_the_call() -> None:
    both = sg.value_and_grad(noisy)
    gradient, jacobian = sg.grad(noisy), sg.jacobian(noisy_array)
    same(lambda: both(X)[0], lambda: noisy(X))
    same(lambda: both(X)[1], lambda: differences(noisy, X), 1e-7)
    same(lambda: gradient(X), lambda: differences(noisy, X), 1e-7)
    same(lambda: jacobian(X), lambda: differences(noisy_array, X), 1e-7)
    v = np.array([1.0, -2.0, 0.5])
    same(lambda: sg.jvp(noisy_array, (X,), (v,))[1], lambda: differences(noisy_array, X) @ v, 1e-7)
    hessian = sg.hessian(noisy)
    twice = lambda: differences(sg.grad(noisy), X)  # noqa: E731 - of which the gradient is checked
    same(lambda: hessian(X), twice, 1e-7)
    same(lambda: sg.hvp(noisy, (X,), (v,)), lambda: twice() @ v, 1e-7)


def test_a_pullback_is_of_the_numbers_of_its_value() -> None:
    def pulled() -> Any:
        out, pullback = sg.vjp(noisy_array, X)
        state = rng.bit_generator.state
        first, second = pullback(np.ones(3))[0], pullback(np.ones(3))[0]
        np.testing.assert_array_equal(first, second)
        assert rng.bit_generator.state == state
        return [out, first]

    for number in range(3):
        seed(number)
        expected = noisy_array(X)
        after = next_numbers()
        seed(number)
        slope = np.ones(3) @ differences(noisy_array, X)
        seed(number)
        out, first = pulled()
        assert next_numbers() == after
        np.testing.assert_allclose(out, expected, rtol=1e-13)
        np.testing.assert_allclose(first, slope, rtol=1e-7, atol=1e-7)


def test_nested_transformations_draw_once() -> None:
    def outer(x: Any) -> Any:
        inner = sg.grad(lambda y: np.sum(y**2 * rng.normal(size=3)))
        return np.sum(inner(x) * rng.normal(size=3))

    same(lambda: sg.grad(outer)(X), lambda: 2 * rng.normal(size=3) * rng.normal(size=3))
    for draw in (lambda: rng.normal(), lambda: np.random.normal()):
        inner = sg.compile(lambda y, draw=draw: y * draw())
        inner(1.0)
        f = lambda x, inner=inner: x * inner(2.0) + inner(x)  # noqa: E731
        same(lambda f=f: sg.grad(f)(0.5), lambda draw=draw: 2 * draw() + draw())


def test_a_function_traced_once_more_draws_the_same() -> None:
    """Beside a point that it singles out, to tell whether it is smooth there."""

    def singled_out(x: Any) -> Any:
        z = rng.normal(size=3)
        return np.sum(z * np.sin(x)) if x[0] != 0 else np.sum(z * x)

    same(lambda: sg.grad(singled_out)(np.zeros(3)), lambda: rng.normal(size=3))


# ---------------------------------------------------------------- methods

NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "normal": lambda r, x: r.normal(x, 1 + x**2),
    "normal, size": lambda r, x: r.normal(x[0], x[1], (4, 2)),
    "normal, broadcast": lambda r, x: r.normal(x, scale=x[2], size=(2, 3)),
    "standard_normal": lambda r, x: x * r.standard_normal(3),
    "uniform": lambda r, x: r.uniform(-x, x**2 + 1),
    "uniform, one": lambda r, x: r.uniform(0, x[1]),
    "exponential": lambda r, x: r.exponential(x),
    "standard_exponential": lambda r, x: x * r.standard_exponential(3),
    "lognormal": lambda r, x: r.lognormal(x, x),
    "laplace": lambda r, x: r.laplace(x, x**2),
    "logistic": lambda r, x: r.logistic(x, x**2),
    "gumbel": lambda r, x: r.gumbel(x, x**2, size=3),
    "rayleigh": lambda r, x: r.rayleigh(x),
    "weibull": lambda r, x: r.weibull(1 + x),
    "pareto": lambda r, x: r.pareto(1 + x),
    "power": lambda r, x: r.power(1 + x),
    "triangular": lambda r, x: r.triangular(-x, 0.2 * x, x**2 + 1, size=(5, 3)),
    "gamma": lambda r, x: r.gamma(2.0, x),
    "standard_cauchy": lambda r, x: x * r.standard_cauchy(3),
    "known parameters": lambda r, x: (
        x * r.beta(2.0, 3.0, 3) * r.chisquare(2.0) * r.vonmises(0.1, 2.0) + r.poisson(3.0, 3)
    ),
    "discrete": lambda r, x: x ** r.binomial(4, 0.5) * r.geometric(0.4) + r.poisson(2.0),
    "dirichlet": lambda r, x: r.dirichlet([1.0, 2.0, 3.0], size=2) @ x,
    "multinomial": lambda r, x: r.multinomial(10, [0.2, 0.3, 0.5]) @ x,
    "choice": lambda r, x: np.sum(r.choice(x, 4)) + np.sum(r.choice(x, 2, replace=False)),
    "choice, places": lambda r, x: np.sum(x[r.choice(3, 2, replace=False)] ** 2),
    "choice, weights": lambda r, x: x[r.choice(3, p=[0.2, 0.3, 0.5])],
    "permutation": lambda r, x: r.permutation(x) * np.arange(3.0) + x[r.permutation(3)],
    "mean alone": lambda r, x: r.multivariate_normal(x, np.diag([1.0, 2.0, 3.0]), 4),
    "several": lambda r, x: r.normal(size=3) * x + r.uniform(size=3) ** x + r.normal(x[0]),
}


@pytest.mark.parametrize("name", NUMPY)
def test_methods_of_numpys_generators(name: str) -> None:
    f = NUMPY[name]
    for generator in (rng, old):
        own = lambda x, generator=generator: f(generator, x)  # noqa: E731
        given = sg.compile(f)
        same(lambda own=own: sg.compile(own)(X), lambda own=own: own(X), 1e-12)
        same(lambda f=given, g=generator: f(g, X), lambda own=own: own(X), 1e-12)
        same(
            lambda own=own: sg.jacobian(own)(X), lambda own=own: differences(own, X), 2e-6, seeds=2
        )


@pytest.mark.slow
def test_methods_of_one_generator_alone() -> None:
    new = lambda x: (  # noqa: E731
        x * rng.random(3) + rng.integers(3) * x + x[rng.integers(0, 3, 3)]
        + rng.permuted([1.0, 2.0, 3.0]) * x + rng.random(3, dtype=np.float32)
        + rng.standard_gamma(2.0, 3) * x
    )  # fmt: skip
    same(lambda: sg.jacobian(new)(X), lambda: differences(new, X), 1e-6)
    same(lambda: sg.compile(new)(X), lambda: new(X))
    before = lambda x: (  # noqa: E731
        x * old.rand(3) + np.sum(old.randn(2, 3) * x, 0) + old.rand() * old.randn()
        + x[old.randint(0, 3, 3)] + old.random_sample(3)
    )  # fmt: skip
    same(lambda: sg.jacobian(before)(X), lambda: differences(before, X), 1e-6)
    same(lambda: sg.compile(before)(X), lambda: before(X))
    factor = np.array([[1.0, 0.0], [0.5, 2.0]])
    correlated = lambda m, s: rng.multivariate_normal(  # noqa: E731
        m, s * (factor @ factor.T), 5, method="cholesky"
    )
    same(lambda: sg.compile(correlated)(X[:2], 0.5), lambda: correlated(X[:2], 0.5))
    same(
        lambda: sg.jacobian(correlated, 1)(X[:2], 0.5),
        lambda: differences(lambda s: correlated(X[:2], s), 0.5),
        1e-7,
    )


def test_the_shared_generator_of_numpy() -> None:
    def shared(x: Any) -> Any:
        np.random.shuffle(x)
        return (
            np.sum(x * np.random.randn(3)) + np.random.rand() * np.random.normal(x[0], x[1])
            + np.random.uniform(0, x[2]) + np.random.random() + x[np.random.randint(3)]
        )  # fmt: skip

    f = lambda x: shared(x * 1.0)  # noqa: E731
    same(lambda: sg.compile(f)(X), lambda: f(X))
    same(lambda: sg.grad(f)(X), lambda: differences(f, X), 1e-7)


PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "random": lambda r, x: x * r.random(),
    "uniform": lambda r, x: r.uniform(x, 1 + x * x),
    "gauss": lambda r, x: r.gauss(x, 1 + x) * r.gauss(0, 1),
    "normalvariate": lambda r, x: r.normalvariate(x, 1 + x),
    "lognormvariate": lambda r, x: r.lognormvariate(x, 1 + x),
    "expovariate": lambda r, x: r.expovariate(x),
    "weibullvariate": lambda r, x: r.weibullvariate(x, 1 + x),
    "paretovariate": lambda r, x: r.paretovariate(1 + x),
    "gammavariate": lambda r, x: r.gammavariate(2.0, x),
    "known": lambda r, x: x * r.betavariate(2.0, 3.0) * r.triangular(0.0, 1.0, 0.3),
    "integers": lambda r, x: x ** r.randint(1, 3) * r.randrange(5) + r.getrandbits(3),
    "choice": lambda r, x: x * r.choice([1.0, 2.0, 5.0]),
}


@pytest.mark.parametrize("name", PYTHON)
def test_methods_of_pythons_random(name: str) -> None:
    f = PYTHON[name]
    for generator in (python, random):
        own = lambda x, generator=generator: f(generator, x)  # noqa: E731
        same(lambda own=own: sg.compile(own)(0.4), lambda own=own: own(0.4), 1e-12)
        same(lambda own=own: sg.grad(own)(0.4), lambda own=own: differences(own, 0.4), 1e-6)


def test_numbers_of_python_stay_numbers_of_python() -> None:
    g = sg.compile(lambda x: (rng.normal(), rng.normal(x), rng.random(2), rng.integers(5)))
    found, plain = g(0.5), (rng.normal(), rng.normal(0.5), rng.random(2), rng.integers(5))
    assert [np.ndim(x) for x in found] == [np.ndim(x) for x in plain]
    f = lambda x: np.float32(x) * rng.normal()  # noqa: E731 - a Python float leaves the type
    seed(1)
    expected = f(0.5)
    seed(1)
    assert sg.compile(f)(0.5).dtype == expected.dtype


# ---------------------------------------------------------------- sizes, and where generators are


def test_sizes_follow_from_the_arguments() -> None:
    f = lambda x: np.sum(x * rng.normal(size=len(x))) + np.sum(rng.random((2, x.shape[0] + 1)))  # noqa: E731
    g = sg.grad(f)
    for n in (1, 3, 4, 9, 30):
        x = np.linspace(0.1, 1.0, n)
        same(
            lambda x=x: g(x), lambda x=x: (rng.normal(size=len(x)), rng.random((2, len(x) + 1)))[0]
        )
    assert g.traces <= 3
    counted = sg.compile(lambda x, n: x * np.mean(rng.normal(size=n)))
    for n in (1, 2, 7, 50):
        same(lambda n=n: counted(2.0, n), lambda n=n: 2.0 * np.mean(rng.normal(size=n)))


def test_a_generator_that_is_bound_again_costs_no_trace() -> None:
    held = types.SimpleNamespace(rng=None)
    kept = {"rng": np.random.default_rng(0)}

    class Model:
        def __init__(self) -> None:
            self.rng = np.random.default_rng(0)
            self.calls = 0

        def loss(self, w: Any) -> Any:
            self.calls += 1
            return np.sum(w * self.rng.normal(size=w.shape))

    model = Model()

    def loss(w: Any) -> Any:
        return np.sum(w * held.rng.normal(size=3)) + kept["rng"].uniform() * w[0]

    g, h = sg.grad(model.loss), sg.grad(loss)
    for number in range(4):
        model.rng = np.random.default_rng(number)
        held.rng, kept["rng"] = np.random.default_rng(number), np.random.default_rng(number + 1)
        expected = np.random.default_rng(number).normal(size=3)
        np.testing.assert_array_equal(g(X), expected)
        expected[0] += np.random.default_rng(number + 1).uniform()
        np.testing.assert_allclose(h(X), expected, rtol=1e-14)
    assert g.traces <= 2
    assert h.traces == 1
    assert model.calls == 4


def test_another_class_of_generator_is_another_trace() -> None:
    g = sg.compile(lambda x, r: x * r.standard_normal(3))
    for number in range(3):
        for make in (np.random.default_rng, np.random.RandomState):
            np.testing.assert_array_equal(g(X, make(number)), X * make(number).standard_normal(3))
    assert g.traces == 2
    one = sg.compile(lambda x, r: r.normal(x), backend="numpy")
    assert one(1.0, np.random.Generator(np.random.MT19937(3))) == np.random.Generator(
        np.random.MT19937(3)
    ).normal(1.0)


def test_bound_methods_and_names_of_methods() -> None:
    draw, rand, gauss = rng.normal, np.random.rand, random.gauss
    f = lambda x: x * draw(x, 1.0) + rand() * gauss(0.0, 1.0)  # noqa: E731
    same(lambda: sg.compile(f)(0.5), lambda: f(0.5))
    same(lambda: sg.grad(f)(0.5), lambda: differences(f, 0.5), 1e-7)
    in_c = python.random
    same(lambda: sg.compile(lambda x: x * in_c())(0.5), lambda: 0.5 * python.random())


def test_two_generators_and_helpers() -> None:
    other = np.random.default_rng(5)

    def helper(x: Any, generator: Any) -> Any:
        return generator.normal(x, 1.0, size=3)

    def f(x: Any) -> Any:
        return helper(x[0], rng) * helper(x[1], other) * helper(x[2], rng)

    for number in range(3):
        seed(number)
        other = np.random.default_rng(number)
        expected = f(X)
        seed(number)
        other = np.random.default_rng(number)
        np.testing.assert_allclose(sg.compile(f)(X), expected, rtol=1e-14)


def test_arguments_in_containers_by_name_and_complex() -> None:
    f = lambda p, *, scale, r: np.sum(p["w"] * r.normal(scale=scale, size=3)) + p["b"]  # noqa: E731
    g = sg.grad(f)
    for number in range(3):
        found = g({"w": X, "b": 1.0}, scale=2.0, r=np.random.default_rng(number))
        np.testing.assert_allclose(
            found["w"], 2.0 * np.random.default_rng(number).normal(size=3), rtol=1e-14
        )
        assert found["b"] == 1.0
    turned = lambda z: np.sum(np.abs(z * rng.normal(size=3)) ** 2)  # noqa: E731
    z = X + 1j * X[::-1]
    same(lambda: sg.grad(turned)(z), lambda: 2 * np.conj(z) * rng.normal(size=3) ** 2)


def test_results_are_written_to_given_arrays() -> None:
    g = sg.grad(noisy)
    out, strided = np.empty(3), np.empty(6)[::2]
    for target in (out, strided):
        same(lambda t=target: g(X, out=t).copy(), lambda: differences(noisy, X), 1e-7)


def test_a_layout_that_machine_code_does_not_take_is_drawn_for_once() -> None:
    g = sg.compile(lambda x: x * rng.normal(size=3))
    for x in (X, X.astype(np.float32), X[::-1], list(X), np.arange(3), X):
        same(lambda x=x: g(x), lambda x=x: np.asarray(x) * rng.normal(size=3), 1e-6)


# ---------------------------------------------------------------- batches, loops, branches


def one(x: Any) -> Any:
    return x * rng.normal() + rng.uniform(0, x)


@pytest.mark.slow
def test_the_members_of_a_batch_draw_as_in_a_loop() -> None:
    xs, rows = np.linspace(0.1, 1.0, 5), np.arange(6.0).reshape(2, 3) / 5
    same(lambda: sg.vmap(one)(xs), lambda: [one(x) for x in xs])
    same(lambda: sg.vmap(sg.grad(one))(xs), lambda: [differences(one, x) for x in xs], 1e-7)
    f = lambda xs: np.sum(sg.vmap(one)(xs))  # noqa: E731
    same(lambda: sg.grad(f)(xs), lambda: differences(f, xs), 1e-7)
    same(lambda: sg.vmap(sg.vmap(one))(rows), lambda: [[one(x) for x in row] for row in rows])
    mixed = lambda row: np.sum(sg.vmap(one)(row)) * rng.normal()  # noqa: E731
    same(
        lambda: sg.vmap(mixed)(rows),
        lambda: [sum(one(x) for x in row) * rng.normal() for row in rows],
    )
    single = lambda row: row * rng.normal(size=len(row))  # noqa: E731 - drawn as one array
    same(lambda: sg.vmap(single)(rows), lambda: [single(row) for row in rows])
    for draw in (old.normal, old.standard_exponential, old.laplace, rng.gumbel, rng.random):
        alone = lambda x, draw=draw: x * draw(size=2)  # noqa: E731
        same(
            lambda alone=alone: sg.vmap(alone)(xs),
            lambda alone=alone: [alone(x) for x in xs],
            seeds=1,
        )


def test_loops_of_the_program_draw_as_pythons() -> None:
    def plain(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x + 0.1 * np.sin(x) * rng.normal() + 0.01 * rng.uniform(0, x)
        return x

    def counted(x: Any, n: Any) -> Any:
        step = lambda k, x: x + 0.1 * np.sin(x) * rng.normal() + 0.01 * rng.uniform(0, x)  # noqa: E731
        return sg.fori_loop(0, n, step, x)

    same(lambda: counted(0.5, 4), lambda: plain(0.5, 4))
    for g in (sg.compile(counted), sg.compile(plain, control_flow=True), sg.compile(plain)):
        for n in (0, 1, 2, 5, 20):
            same(lambda g=g, n=n: g(0.5, n), lambda n=n: plain(0.5, n))
    slope = sg.grad(counted)
    for n in (1, 2, 12):
        same(lambda n=n: slope(0.5, n), lambda n=n: differences(lambda x: plain(x, n), 0.5), 1e-7)
    same(
        lambda: sg.vmap(lambda x: counted(x, 3))(X), lambda: [plain(x, 3) for x in X]
    )  # fmt: skip

    def scanned(x: Any) -> Any:
        def step(c: Any, t: Any) -> Any:
            return c + t * rng.normal(c, 1.0, size=2), np.sum(c) * rng.uniform()

        return sg.scan(step, x * np.ones(2), np.arange(4.0))[1]

    def by_python(x: Any) -> Any:
        c, found = x * np.ones(2), []
        for t in range(4):
            c, y = c + t * rng.normal(c, 1.0, size=2), np.sum(c) * rng.uniform()
            found.append(y)
        return np.array(found)

    same(lambda: sg.compile(scanned)(0.5), lambda: by_python(0.5))
    same(lambda: sg.jacobian(scanned)(0.5), lambda: differences(by_python, 0.5), 1e-7)
    step = lambda c, t: (c * t + rng.normal(), c * rng.uniform())  # noqa: E731
    backwards = lambda x: sg.scan(step, x, np.arange(1.0, 5.0), reverse=True)[1]  # noqa: E731
    same(lambda: sg.compile(backwards)(0.5), lambda: backwards(0.5))


def test_what_is_computed_again_is_of_the_same_numbers() -> None:
    def layers(x: Any) -> Any:
        layer = sg.checkpoint(lambda y: np.sin(y) * rng.normal(y, 1.0, size=3))
        return np.sum(layer(layer(x)) * rng.uniform(size=3))

    def plain(x: Any) -> Any:
        layer = lambda y: np.sin(y) * rng.normal(y, 1.0, size=3)  # noqa: E731
        return np.sum(layer(layer(x)) * rng.uniform(size=3))

    same(lambda: sg.grad(layers)(X), lambda: differences(plain, X), 1e-7)
    same(lambda: sg.compile(layers)(X), lambda: plain(X))


def test_a_way_that_is_decided_by_draws_is_drawn_once() -> None:
    def f(x: Any) -> Any:
        if rng.random() < 0.5:
            return x * rng.normal()
        return np.sum(x * rng.exponential(size=2)) + rng.uniform()

    for make, plain in ((sg.compile, f), (sg.grad, lambda x: differences(f, x))):
        g = make(f)
        same(lambda g=g: [g(2.0) for _ in range(12)], lambda p=plain: [p(2.0) for _ in range(12)],
             1e-8)  # fmt: skip
        assert g.traces == 2
    jumps = lambda x: x * sum(rng.normal() for _ in range(rng.poisson(1.0)))  # noqa: E731
    g = sg.compile(jumps)
    same(lambda: [g(2.0) for _ in range(5)], lambda: [jumps(2.0) for _ in range(5)], seeds=2)


def test_a_seed_within_the_function() -> None:
    def f(x: Any) -> Any:
        first = np.random.rand()
        np.random.seed(3)
        return first + np.sum(x * np.random.rand(3))

    same(lambda: sg.compile(f)(X), lambda: f(X))
    same(lambda: sg.grad(f)(X), lambda: (np.random.seed(3), np.random.rand(3))[1])


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda x: x * rng.poisson(x), UnsupportedError, r"Generator\.poisson draws with lam"),
        (lambda x: np.random.beta(x, 2.0), UnsupportedError, r"np\.random\.beta draws with a, "),
        (lambda x: rng.gamma(x), UnsupportedError, r"Generator\.gamma draws with shape"),
        (lambda x: random.betavariate(x, 1.0), UnsupportedError, r"random\.betavariate draws"),
        (lambda x: rng.normal(x * np.ones(3), size=2), ShapeError, "broadcast"),
        (lambda x: x * rng.spawn(2)[0].normal(), UnsupportedError, "call it outside"),
        (lambda x: x * rng.bit_generator.random_raw(), OutsideError, "of the generator itself"),
        (lambda x: (x, rng), sg.errors.TraceError, "returns a generator"),
        (lambda x: x * len(rng.choice(["a", "b"])), UnsupportedError, "draw their index"),
        (lambda x: x * random.sample(range(3), 2)[0], UnsupportedError, "random.randrange"),
        (lambda x: x * np.random.default_rng().normal(), OutsideError, "pass them as an argument"),
        (
            lambda x: sg.cond(x > 0, lambda x: x * rng.normal(), lambda x: x, x),
            UnsupportedError,
            "in a branch",
        ),
        (
            lambda x: sg.while_loop(lambda c: c < 9.0, lambda c: c + rng.random(), x),
            UnsupportedError,
            "how often it runs",
        ),
        (
            lambda x: rng.multivariate_normal(np.zeros(2), x * np.eye(2)),
            UnsupportedError,
            "method='cholesky'",
        ),
    ],
)
def test_what_has_no_formula_is_refused_with_the_line(f: Any, error: Any, text: str) -> None:
    state = rng.bit_generator.state
    with pytest.raises(error, match=text) as caught:
        sg.compile(f)(0.5)
    assert "test_draws.py:" in str(caught.value)
    assert rng.bit_generator.state == state


def test_a_generator_of_the_function_in_a_loop_or_a_batch() -> None:
    """Its numbers are constants: those of one step would be those of all."""

    def looped(x: Any) -> Any:
        own = np.random.default_rng(0)
        return sg.fori_loop(0, 4, lambda k, c: c + own.normal(), x)

    def batched(x: Any) -> Any:
        own = np.random.RandomState(0)
        return sg.vmap(lambda t: t * own.normal())(x)

    for f, x in ((looped, 1.0), (batched, X)):
        for ask in (lambda f=f, x=x: sg.compile(f)(x), lambda f=f, x=x: sg.compile(f).program(x)):
            with pytest.raises(UnsupportedError, match="that the function has made outside of it"):
                ask()

    def alike(x: Any) -> Any:
        return sg.vmap(lambda t: t * np.random.default_rng(0).normal())(x)

    np.testing.assert_array_equal(sg.compile(alike)(X), X * np.random.default_rng(0).normal())


def test_a_loop_that_is_not_rolled_draws_from_where_its_generator_was() -> None:
    """A step has been traced, and has drawn, before it turns out that Python's loop is to do."""

    def walk(x: Any) -> Any:
        own = np.random.default_rng(0)
        for _ in range(20):
            x = np.sin(x) + own.normal()
        return x

    np.testing.assert_allclose(sg.compile(walk, control_flow=True)(0.3), walk(0.3), rtol=1e-14)


def test_programs_without_python_are_refused() -> None:
    both = sg.compile(noisy_array)
    both(X)
    shared = lambda x: x * np.random.normal()  # noqa: E731
    for f, x in ((noisy_array, X), (one, 0.5), (shared, 0.5)):
        g = sg.compile(f)
        for ask in (
            lambda g=g, x=x: g.kernel(x),
            lambda g=g, x=x: g.program(x),
            lambda g=g, x=x: g.cfunc(x),
            lambda f=f, x=x: sg.verify(f, x),
            lambda f=f, x=x: sg.formula(f, x),
            lambda f=f, x=x: sg.jacobian(f, sparse=True)(x),
        ):
            with pytest.raises(OutsideError, match="pass them as an argument"):
                ask()
    with pytest.raises(OutsideError, match="pass them as an argument"):
        both.kernel(X)  # of which a trace is known that draws
    with pytest.raises(OutsideError, match="pass them as an argument"):
        sg.formula(lambda x, r: x * r.normal(), 0.5, rng)


def test_tracing_draws_nothing_where_it_fails() -> None:
    def fails(x: Any) -> Any:
        z = rng.normal(size=3)
        raise ValueError("as the function does")
        return x * z

    seed(1)
    with pytest.raises(ValueError, match="as the function does"):
        sg.compile(fails)(X)
    assert rng.random() == np.random.default_rng(1).random()


def test_known_parameters_that_numpy_refuses_are_its_error() -> None:
    with pytest.raises(ValueError, match="scale < 0"):
        sg.compile(lambda x: x * rng.normal(0.0, -1.0))(0.5)


# ---------------------------------------------------------------- threads, pickles


def test_threads_draw_from_generators_of_their_own() -> None:
    g = sg.grad(lambda x, r: np.sum(x * r.normal(size=3)))
    g(X, np.random.default_rng(0))
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        generator = np.random.default_rng(number)
        found[number] = [g(X, generator) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, rows in found.items():
        np.testing.assert_array_equal(rows, np.random.default_rng(number).normal(size=(50, 3)))


def with_argument(x: Any, generator: Any) -> Any:
    return np.sum(x * generator.normal(size=3))


def test_pickles() -> None:
    g = pickle.loads(pickle.dumps(sg.grad(with_argument)))
    found = g(X, np.random.default_rng(2))
    np.testing.assert_array_equal(found, np.random.default_rng(2).normal(size=3))


def test_the_disk_keeps_machine_code_of_functions_that_draw() -> None:
    f = lambda x: np.sum(np.cosh(x) * rng.normal(size=3))  # noqa: E731
    for _ in range(2):  # the second has its code from the first
        g = sg.grad(f)
        same(lambda g=g: g(X), lambda: np.sinh(X) * rng.normal(size=3))


@pytest.mark.parametrize("backend", ["numpy", "numba", "llvm"])
def test_a_call_for_another_side_draws_nothing(backend: str) -> None:
    ours, plain = np.random.default_rng(7), np.random.default_rng(7)

    def noisy(x: Any) -> Any:
        return x + ours.normal() if x > 1.0 else 2.0 * x

    compiled = sg.compile(noisy)
    with sg.backend(backend):
        for x in (0.2, 1.3, 0.5, 1.4, 0.3, 0.4):
            expected = x + plain.normal() if x > 1.0 else 2.0 * x
            assert compiled(x) == expected
    assert ours.bit_generator.state == plain.bit_generator.state

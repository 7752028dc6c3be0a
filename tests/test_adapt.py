"""``sg.adapt``: functions that say ``np.zeros`` and ``math.sin``, traced as they stand."""

from __future__ import annotations

import functools
import math
import math as mathematics
import random
from math import exp, pi
from typing import Any

import numpy as np
import numpy.linalg as la
import pytest
import scipy.special
from numpy import arange, cos, zeros
from numpy.random import uniform
from scipy import special
from scipy.optimize import minimize_scalar, rosen

import symgrad as sg
from symgrad.errors import ArgumentError, TraceError, UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

X = np.array([0.3, 0.7, 1.1, 0.2])
SCALE = 2.0


def helper(x: Any, n: int) -> Any:
    out = np.empty(n)
    for k in range(n):
        out[k] = SCALE * x[k] ** 2
    return out


def plain(x: Any) -> Any:
    y = np.zeros(len(x))
    y[0] = math.sin(x[0])
    for k in range(1, len(x)):
        y[k] = y[k - 1] * x[k] + mathematics.log(x[k]) + exp(x[k])
    y[1:-1] += np.array([x[0], x[1]])
    return np.sum(y) + helper(x, 3).sum() + pi


def names(x: Any) -> Any:
    y = zeros(4)
    y[:] = cos(x) * arange(4)
    return y.sum() + la.norm([x[0], x[1]]) + scipy.special.logsumexp([x[0], 0.0])


def imports_inside(x: Any) -> Any:
    import math as m

    import numpy as n  # noqa: ICN001
    from numpy import ones

    y = ones(4)
    y[2] = m.sqrt(x[2])
    return n.sum(n.array([y[2], x[0]])) + special.expit(x[1])


WEIGHTS = np.ones(4)


def over_dataset(x: Any, weights: Any = WEIGHTS) -> Any:
    total = np.zeros(())
    return total + np.sum(weights * x)


def gradient_by_differences(f: Any, x: Any) -> Any:
    h = 1e-6 * np.eye(len(x))
    return np.array([(f(x + d) - f(x - d)) / 2e-6 for d in h])


@pytest.mark.parametrize("f", [plain, names, imports_inside, over_dataset])
def test_functions_are_traced_as_they_stand(f: Any) -> None:
    adapted = sg.adapt(f)
    assert sg.compile(adapted)(X) == pytest.approx(f(X), rel=1e-14)
    np.testing.assert_allclose(sg.grad(adapted)(X), gradient_by_differences(f, X), rtol=1e-7)


def test_the_module_is_untouched() -> None:
    before = dict(globals())
    adapted = sg.adapt(plain)
    assert {k: id(v) for k, v in before.items()} == {k: id(globals()[k]) for k in before}
    assert plain.__globals__["np"] is np
    assert adapted.__name__ == "plain"


def test_on_plain_numbers_it_is_the_function() -> None:
    assert sg.adapt(plain)(X) == plain(X)


def test_closures_defaults_and_recursion() -> None:
    make = np.zeros

    def power(x: Any, n: int, one: Any = math.cos) -> Any:
        return one(x) if n == 0 else x * power(x, n - 1)

    def f(x: Any) -> Any:
        y = make(2)
        y[1] = power(x, 3)
        return y[1]

    assert sg.grad(sg.adapt(f))(0.5) == pytest.approx(
        3 * 0.25 * math.cos(0.5) - 0.125 * math.sin(0.5), rel=1e-14
    )


class Model:
    """A class whose methods call each other."""

    def __init__(self, scale: float) -> None:
        self.scale, self.calls = scale, 0

    def part(self, x: Any) -> Any:
        y = np.zeros(2)
        y[0] = x[0] * self.scale
        return y

    def value(self, x: Any) -> Any:
        self.calls += 1
        return np.sum(self.part(x)) + math.sin(x[1])


def test_methods_are_traced_on_a_copy_of_their_object() -> None:
    model = Model(3.0)
    g = sg.grad(sg.adapt(model.value))
    np.testing.assert_allclose(g(np.array([1.0, 0.0])), [3.0, 1.0])
    assert model.calls == 1  # what they assign is handed on
    assert type(model) is Model
    model.scale = 5.0
    np.testing.assert_allclose(g(np.array([1.0, 0.0])), [5.0, 1.0])


def test_partials() -> None:
    f = sg.adapt(functools.partial(helper, n=2))
    np.testing.assert_allclose(sg.compile(f)(X), helper(X, 2))


def test_overwritten_arguments_are_results() -> None:
    def kernel(a: Any, b: Any) -> None:
        a[1:] += b[:-1]
        b[:] = np.sqrt(a)

    a, b = X.copy(), X[::-1].copy()
    got = sg.compile(sg.adapt(kernel))(a, b)
    np.testing.assert_array_equal(a, X)
    kernel(a, b)
    np.testing.assert_allclose(got[0], a, rtol=1e-15)
    np.testing.assert_allclose(got[1], b, rtol=1e-15)


@pytest.mark.parametrize("wrong", [np.sin, Model, 3, sg.grad(plain)])
def test_refused(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="adapt takes a Python function"):
        sg.adapt(wrong)


MATHEMATICS = {
    "unary": "sin cos tan sinh cosh tanh asinh exp expm1 log1p log2 log10 sqrt fabs degrees "
    "radians cbrt exp2 erf erfc gamma lgamma atan asin acos atanh log floor ceil trunc isnan "
    "isfinite",
    "binary": "atan2 pow hypot copysign fmod remainder log",
}


def test_mathematics() -> None:
    def each(x: Any, y: Any) -> Any:
        one = [getattr(math, n)(x) for n in MATHEMATICS["unary"].split()]
        two = [getattr(math, n)(x, y) for n in MATHEMATICS["binary"].split()]
        more = [math.fsum([x, y, 1.0]), math.prod([x, y]), math.dist([x, 0.0], [y, 1.0]),
                math.acosh(1 + x)]  # fmt: skip
        return [*one, *two, *more]

    got = sg.compile(sg.adapt(each))(0.37, 1.9)
    np.testing.assert_allclose(np.array(got, float), np.array(each(0.37, 1.9), float), rtol=1e-14)


def test_overwriting_functions_compose() -> None:
    def smooth(a: Any) -> None:
        a[1:-1] = 0.5 * (a[2:] + a[:-2])

    step = sg.compile(sg.adapt(smooth))
    b = X.copy()
    smooth(b)
    np.testing.assert_allclose(sg.compile(lambda a: (step(a), a))(X), (b, X))
    np.testing.assert_allclose(sg.grad(lambda a: np.sum(step(a) ** 2))(X),
                               gradient_by_differences(lambda a: np.sum(step(a) ** 2), X),
                               rtol=1e-7)  # fmt: skip


def griewank(x: Any) -> Any:
    i = arange(1.0, np.size(x) + 1.0)
    return np.sum(x**2 / 4000) - np.prod(cos(x / np.sqrt(i))) + math.fsum(v for v in x)


def test_ranges_of_sizes_and_generators() -> None:
    adapted = sg.grad(sg.adapt(griewank))
    for x in (X, X[:2]):
        np.testing.assert_allclose(adapted(x), gradient_by_differences(griewank, x), rtol=1e-7)


GENERATOR = np.random.default_rng(3)

DRAWS = {
    "np.random.normal": lambda x: x * np.random.normal(),  # noqa: NPY002  as users write it
    "np.random.uniform": lambda x: np.sum(x * uniform(0.0, 1.0, 4)),  # noqa: NPY002
    "Generator.random": lambda x: np.sum(x) * GENERATOR.random(),
    "random.gauss": lambda x: x * random.gauss(0.0, 1.0),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_drawn_in_each_call(name: str) -> None:
    def seed() -> None:
        np.random.seed(7)  # noqa: NPY002
        random.seed(7)
        GENERATOR.bit_generator.state = state

    state = GENERATOR.bit_generator.state
    adapted = sg.adapt(DRAWS[name])
    g = sg.compile(adapted)
    g(X)
    seed()
    expected = [DRAWS[name](X) for _ in range(3)]
    seed()
    np.testing.assert_allclose([g(X) for _ in range(3)], expected, rtol=1e-14)
    seed()
    np.testing.assert_allclose([adapted(X) for _ in range(3)], expected, rtol=1e-14)


def test_a_generator_without_a_seed_is_refused() -> None:
    adapted = sg.adapt(lambda x: x + np.random.default_rng().random())
    with pytest.raises(UnsupportedError, match="draw them outside and pass them") as caught:
        sg.compile(adapted)(X)
    assert str(caught.value).startswith("np.random.default_rng() draws random numbers")
    assert np.all(np.isfinite(adapted(X)))


def test_random_numbers_from_a_seed() -> None:
    def noisy(x: Any) -> Any:
        return np.sum(x * np.random.default_rng(5).normal(size=4))

    assert sg.compile(sg.adapt(noisy))(X) == pytest.approx(noisy(X), rel=1e-15)


def test_optimize() -> None:
    np.testing.assert_allclose(sg.grad(sg.adapt(lambda x: rosen(x)))(X),
                               scipy.optimize.rosen_der(X), rtol=1e-13)  # fmt: skip
    solve = sg.adapt(lambda x: minimize_scalar(lambda y, a: (y - a) ** 2, args=(x[0],)).x)
    assert sg.compile(solve)(X) == pytest.approx(X[0], rel=1e-7)
    np.testing.assert_allclose(sg.grad(solve)(X), np.eye(len(X))[0], atol=1e-12)


def test_histograms_add_weights() -> None:
    def means(values: Any, places: Any) -> Any:
        counts = np.histogram(places, 3)[0]
        return np.histogram(places, bins=np.linspace(0.0, 1.0, 4), weights=values)[0] / counts

    places = np.array([0.0, 1.0, 0.2, 0.5, 0.9, 0.4])
    values = np.arange(1.0, 7.0)
    adapted = sg.adapt(means)
    np.testing.assert_allclose(sg.compile(adapted)(values, places), means(values, places))
    wanted = [means(row, places) for row in np.eye(6)]
    np.testing.assert_allclose(sg.jacobian(adapted)(values, places).T, wanted)


def grids(x: Any, n: int) -> Any:
    rows, columns = np.mgrid[0:n, 1 : n + 2]
    down, along = np.ogrid[0:n, 0:n:2]
    y = np.ndarray((n, n + 1), dtype=x.dtype)
    y[:] = rows * x[:n, None] + columns if isinstance(x, np.ndarray) else 0
    return np.sum(y) + np.sum((down + along) * x[0]) + np.sum(np.mgrid[:n])


def test_grids_and_the_array_type() -> None:
    assert sg.compile(sg.adapt(grids))(X, 3) == pytest.approx(grids(X, 3), rel=1e-14)
    made = sg.adapt(lambda: (np.ndarray, np.mgrid[0:2, 0:2], np.ndarray((2,), buffer=X)))()
    kind, grid, view = made
    np.testing.assert_array_equal(grid, np.mgrid[0:2, 0:2])
    np.testing.assert_array_equal(view, X[:2])
    assert isinstance(X, kind)
    assert not isinstance(1.0, kind)
    assert issubclass(np.memmap, kind)
    assert kind.sum is np.ndarray.sum


def test_overwritten_complex_arguments_are_results() -> None:
    def turn(a: Any, b: Any) -> None:
        a[1:] += b[:-1] * 1j

    a, b = np.arange(3) + 0j, np.full(3, 2.0 + 1j)
    turned = sg.compile(turn)
    got, inner = turned(a, b), sg.compile(lambda a, b: turned(a, b))(a, b)
    turn(a, b)
    np.testing.assert_array_equal(got, a)
    np.testing.assert_array_equal(inner, a)


def test_shapes_by_powers_of_sizes_and_by_assignment() -> None:
    def folded(x: Any, radix: int, levels: int) -> Any:
        return np.reshape(x, (radix ** (levels - 1), radix)).sum(0)

    compiled = sg.compile(folded)
    for radix in (2, 3):
        x = np.arange(float(radix**3))
        np.testing.assert_array_equal(compiled(x, radix, 3), folded(x, radix, 3))

    def in_place(x: Any) -> Any:
        x.shape = (2, 2)
        return x

    with pytest.raises(TraceError, match=r"write x = x\.reshape\(shape\)"):
        sg.compile(in_place)(X)

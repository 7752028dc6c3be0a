"""Functions written for plain NumPy are traced as they stand, without ``sg.adapt``."""

from __future__ import annotations

import functools
import importlib
import math
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats
from numpy import array, zeros
from scipy.stats import norm

import symgrad as sg

pytestmark = pytest.mark.usefixtures("few_kernels")

X = np.array([0.7, 1.3])
DATA = np.array([0.3, 1.1, -0.4, 2.0])
SCALE = 2.0
prior = scipy.stats.norm(0.5, 2.0)
density = norm.logpdf


def slopes(f: Callable[[Any], Any], x: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps])


# ---------------------------------------------------------------- what is adapted


def helper(x: Any, n: int = 3) -> Any:
    out = np.empty(n)
    for k in range(n):
        out[k] = SCALE * math.exp(-k) * x[k % 2]
    return out


class Base(ABC):
    made: ClassVar[int] = 0

    @abstractmethod
    def rate(self, x: Any) -> Any: ...

    def step(self, x: Any) -> Any:
        return np.array([self.rate(x), x[0]])


class Pendulum(Base):
    def __init__(self, length: float) -> None:
        self.length, self.calls = length, 0
        Pendulum.made += 1

    def rate(self, x: Any) -> Any:
        self.calls += 1
        return -math.sin(x[1]) / self.length

    def step(self, x: Any) -> Any:
        return super().step(x) * self.weight

    @property
    def weight(self) -> Any:
        return math.sqrt(self.length)

    @functools.cached_property
    def table(self) -> Any:
        return np.array([self.length, 1.0])

    @staticmethod
    def square(x: Any) -> Any:
        return np.asarray([x[0] ** 2, x[1]])

    @classmethod
    def of(cls, x: Any) -> Any:
        return cls(2.0).step(x)

    def __call__(self, x: Any) -> Any:
        return np.sum(self.step(self.square(x)) * self.table)


@dataclass(frozen=True, slots=True)
class State:
    place: Any
    speed: Any

    def moved(self, dt: float) -> State:
        pull = np.array([-math.sin(self.place[0]), -self.place[1]])
        return replace(self, place=self.place + dt * self.speed, speed=self.speed + dt * pull)


pendulum = Pendulum(3.0)
table = {"step": helper, "others": [helper, lambda x: array([x[0], 1.0])]}


def factored(x: Any) -> Any:
    a = np.array([[2.0 + x[0], 0.1], [0.1, x[1]]])
    return np.sum(scipy.linalg.cho_solve(scipy.linalg.cho_factor(a, lower=True), [1.0, 2.0]))


def imports(x: Any) -> Any:
    import math as m

    from numpy import asarray

    return m.sin(asarray([x[1], x[0]])[0])


def nested(x: Any) -> Any:
    def inner(y: Any) -> Any:
        made = zeros(2)
        made[1] = math.cos(y[0])
        return np.sum(made * y)

    return np.sum(np.array([inner(x), *sg.grad(inner)(x)]))


class Length:
    def __init__(self, metres: Any) -> None:
        self.metres = metres

    def __float__(self) -> float:
        return float(self.metres)


class Height(Length):
    pass


def class_within(x: Any) -> Any:
    @dataclass(order=True)
    class Load:
        force: float
        arm: float = DATA[0]
        notes: list[str] = field(default_factory=list)

        class Unit:
            size = np.float64(DATA[1])

        def moment(self) -> Any:
            return np.array([self.force * self.arm, self.force])[0] * self.Unit.size

    return sum(load.moment() * (k + 1) for k, load in enumerate(sorted(map(Load, x))))


def by_whole_numbers(x: Any) -> Any:
    groups: dict[Any, Any] = {}
    for v in (*x, 2.2 * x[0]):
        groups.setdefault(int(v), []).append(v)
    table = {0: 3.0, 1: 5.0}
    most = np.argmax(x)
    return sum(k * sum(g) ** 2 for k, g in groups.items()) + table[most] * x[most] + len({most, 0})


TAKEN: dict[str, Callable[[Any], Any]] = {
    "keys that are whole": by_whole_numbers,
    "class within": class_within,
    "number of a class": lambda x: float(Length(x[0])) * float(Height(x[1])) + float(Length(2.0)),
    "array": lambda x: np.sum(np.array([x[0], x[1] ** 2, 1.0]) ** 2),
    "zeros": lambda x: np.sum(helper(x)),
    "math": lambda x: math.sin(x[0]) * math.hypot(*x) + math.log(x[1], 3),
    "asarray": lambda x: np.dot(np.asarray([x[1], x[0]]), x),
    "stats": lambda x: -np.sum(scipy.stats.norm.logpdf(DATA, x[0], x[1])),
    "stats by name": lambda x: np.sum(norm.logpdf(DATA, x[0])) + density(x[1]),
    "frozen distribution": lambda x: prior.logpdf(x[0]) + prior.cdf(x[1]),
    "factored": factored,
    "imports": imports,
    "nested": nested,
    "method": lambda x: np.sum(pendulum.step(x)),
    "callable object": pendulum,
    "bound method": pendulum.rate,
    "class method": lambda x: np.sum(Pendulum.of(x)),
    "made inside": lambda x: Pendulum(2.5)(x),
    "dataclass": lambda x: np.sum(State(x, x).moved(0.1).speed),
    "containers": lambda x: np.sum(table["step"](x)) + np.sum(table["others"][1](x)),  # type: ignore[operator, index]
    "partial": functools.partial(lambda n, x: np.sum(helper(x, n)), 2),
    "default": lambda x, f=helper: np.sum(f(x)),
    "installed": scipy.optimize.rosen,
    "list": lambda x: np.sum([x[0], math.sin(x[1])]),
}


@pytest.mark.parametrize("name", TAKEN)
def test_values_and_gradients(name: str) -> None:
    f = TAKEN[name]
    if name == "nested":  # the inner gradient needs symgrad in the plain call, too
        plain: Callable[[Any], Any] = lambda x: nested(x)  # noqa: E731
    else:
        plain = f
    value, gradient = sg.value_and_grad(f)(X)
    assert value == pytest.approx(plain(X), rel=1e-13)
    np.testing.assert_allclose(gradient, slopes(plain, X), rtol=1e-7, atol=1e-8)


def test_every_transformation() -> None:
    f = TAKEN["zeros"]
    np.testing.assert_allclose(sg.compile(helper)(X), helper(X))
    np.testing.assert_allclose(sg.jacobian(helper)(X) @ X, helper(X))
    np.testing.assert_allclose(sg.vmap(f)(np.stack([X, 2 * X])), [f(X), f(2 * X)])
    np.testing.assert_allclose(sg.jvp(helper, (X,), (X,))[1], helper(X))
    np.testing.assert_allclose(sg.vjp(f, X)[1](1.0)[0], slopes(f, X), rtol=1e-7)
    curved = TAKEN["math"]
    hessian = sg.hessian(curved)(X)
    np.testing.assert_allclose(hessian, slopes(sg.grad(curved), X), rtol=1e-6)
    np.testing.assert_allclose(sg.hvp(curved, (X,), (X,)), hessian @ X)
    np.testing.assert_allclose(sg.grad(math.sin)(1.0), math.cos(1.0))
    assert "sin" in str(sg.formula(curved, X))
    assert sg.verify(f, X)


def test_lists_and_tuples_are_results() -> None:
    def right_hand_side(t: Any, y: Any) -> Any:
        return [y[1], -math.sin(y[0]) - 0.1 * t]

    rows = sg.jacobian(right_hand_side, argnums=1)(0.0, X)
    np.testing.assert_allclose(rows, [[0.0, 1.0], [-math.cos(X[0]), 0.0]])
    both = sg.jacobian(lambda y: (y[0], math.exp(y[1])))(X)
    np.testing.assert_allclose(both, [[1.0, 0.0], [0.0, math.exp(X[1])]])


# ---------------------------------------------------------------- tables by objects


class Layer:
    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __call__(self, x: Any) -> Any:
        return np.array([math.tanh(self.gain * v) for v in x])


class Wide(Layer):
    pass


layers = [Layer(1.5), Wide(0.5)]
ordered = OrderedDict(a=layers[0], b=layers[1])
queue = deque(layers)
frozen = {layers[1]}
places = {layers[0]: 1, layers[1]: 0}
pairs = {(layer, "bias"): k + 1.0 for k, layer in enumerate(layers)}
by_class = {Layer: 2.0, Wide: 3.0, np.ndarray: 0.5, float: 0.25}
by_function = {helper: 2.0, math.sin: 3.0, np.sin: 4.0}

TABLES: dict[str, Callable[[Any], Any]] = {
    "set": lambda x: sum((0.0 if g in frozen else 1.0) * np.sum(g(x)) for g in layers),
    "frozenset": lambda x, off=frozenset(layers[:1]): sum(
        (0.0 if g in off else 1.0) * np.sum(g(x)) for g in layers
    ),
    "objects": lambda x: sum(x[places[g]] * np.sum(g(x)) for g in layers),
    "tuples": lambda x: sum(pairs[g, "bias"] * np.sum(g(x)) for g in layers),
    "classes": lambda x: sum(by_class[type(g)] * np.sum(g(x)) for g in layers),
    "types": lambda x: by_class[type(x)] * by_class[float] * math.sin(x[0]),
    "functions": lambda x: sum(
        c * np.sum(f(x if f is helper else x[0])) for f, c in by_function.items()
    ) + by_function[helper] * by_function[math.sin] * math.sin(x[1]),
    "ordered": lambda x: sum(np.sum(g(x)) for g in ordered.values()),
    "queue": lambda x: sum(np.sum(g(x)) for g in queue),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables_by_objects(name: str) -> None:
    """Copies of objects, with their methods adapted, are found where the objects are."""
    f = TABLES[name]
    value, gradient = sg.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(gradient, slopes(f, X), rtol=1e-7, atol=1e-8)


def test_what_it_enters_by_objects() -> None:
    seen: set[Any] = {layers[0]}
    count: dict[Any, int] = {layers[0]: 0}
    late = deque(layers[:1])

    def f(x: Any) -> Any:
        for layer in layers:
            x = layer(x)
            if layer not in seen:
                late.append(layer)
            seen.add(layer)
            count[layer] = len(seen)
        return np.sum(x)

    sg.grad(f)(X)
    assert seen == set(layers)
    assert count == {layers[0]: 1, layers[1]: 2}
    assert list(late) == layers


# ---------------------------------------------------------------- never stale


def test_what_it_reads_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    g = sg.grad(lambda x: np.sum(helper(x)) + pendulum(x))

    def check() -> None:
        f = lambda x: np.sum(helper(x)) + pendulum(x)  # noqa: E731
        np.testing.assert_allclose(g(X), slopes(f, X), rtol=1e-7)

    check()
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    check()
    pendulum.length = 4.0
    pendulum.__dict__.pop("table", None)
    check()
    monkeypatch.setitem(globals(), "helper", lambda x: np.array([x[0], math.cos(x[1])]))
    check()
    monkeypatch.setattr(Pendulum, "square", staticmethod(lambda x: np.array([x[1], x[0] ** 3])))
    check()
    monkeypatch.setattr(Base, "step", lambda self, x: np.array([x[1], math.exp(x[0])]))
    check()


def test_methods_of_dataclasses_among_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    g = sg.compile(lambda state: state.moved(SCALE))
    for scale in (2.0, 3.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        got, wanted = g(State(X, X)), State(X, X).moved(scale)
        assert type(got) is State
        np.testing.assert_allclose(got.place, wanted.place)
        np.testing.assert_allclose(got.speed, wanted.speed)
    slope = sg.grad(lambda state: np.sum(state.moved(0.1).speed))(State(X, X))
    assert type(slope) is State
    np.testing.assert_allclose(slope.place, [-0.1 * math.cos(X[0]), -0.1])


# ---------------------------------------------------------------- side effects


class Counting:
    total = 0

    def __init__(self) -> None:
        self.calls, self.seen, self.last = 0, [1], None

    def value(self, x: Any) -> Any:
        global counted
        counted += 1
        self.calls += 1
        Counting.total += 1
        self.seen.append(2)
        self.last = State(1.0, 2.0)
        return np.sum(np.array([x[0], math.sin(x[1])]))


counted = 0


def test_what_it_changes_happens_in_each_call() -> None:
    model = Counting()
    g = sg.grad(model.value)
    for k in range(1, 4):
        g(X)
        assert (counted, model.calls, Counting.total) == (k, k, k)
        assert model.seen == [1] + [2] * k
    assert g.traces <= 3
    assert type(model) is Counting
    assert type(model.last) is State


def test_errors_are_those_of_the_function() -> None:
    model = Counting()

    def wrong(x: Any) -> Any:
        model.calls += 1
        y = np.zeros(2)
        y[0] = x[0]
        raise ValueError("as the user says")

    with pytest.raises(ValueError, match="as the user says"):
        sg.grad(wrong)(X)
    assert model.calls == 0
    with pytest.raises(sg.errors.ShapeError, match=r"test_as_it_stands\.py"):
        sg.grad(lambda x: np.sum(np.array([x[0], 1.0]) + np.ones(3)))(X)


def test_results_that_are_captured_objects_are_the_users() -> None:
    found, _ = sg.compile(lambda x: (pendulum, math.sin(x)))(1.0)
    assert found is pendulum


def test_functions_of_installed_packages(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "as_it_stands"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import numpy as np\nfrom .parts import filled\nK = 2.0\n\n"
        "def loss(x):\n    return K * np.sum(filled(x))\n"
    )
    (package / "parts.py").write_text(
        "import math\nimport numpy as np\n\n"
        "def filled(x):\n    y = np.zeros(2)\n    y[:] = math.sin(x[0]), x[1]\n    return y\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    module = importlib.import_module("as_it_stands")
    g = sg.grad(module.loss)
    for scale in (2.0, 3.0):
        monkeypatch.setattr(module, "K", scale)
        np.testing.assert_allclose(g(X), [scale * math.cos(X[0]), scale])


def installed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, name: str, **sources: str) -> Any:
    package = tmp_path / "site-packages" / name
    package.mkdir(parents=True)
    for module, source in sources.items():
        (package / f"{module}.py").write_text(source)
    monkeypatch.syspath_prepend(str(package.parent))
    return importlib.import_module(name)


def test_what_the_users_function_calls_of_installed_packages(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their modules, methods, metaclasses, Numba functions and handlers by type, as found."""
    library = installed(
        tmp_path, monkeypatch, "as_it_is_called",
        __init__="from . import parts\nfrom .models import Model, filled\n",
        parts="import numpy as np\n\ndef as_vector(x):\n"
        "    return np.require(np.atleast_1d(np.asarray(x, dtype=float)), float, ['C', 'W'])\n",
        models="""
import abc
import numba
import numpy as np
from scipy import stats
from . import parts


class Documented(abc.ABCMeta):
    def __new__(cls, name, bases, names):
        names.setdefault("__doc__", "documented")
        return super().__new__(cls, name, bases, names)


class Model(metaclass=Documented):
    link = stats.norm

    def __init__(self, y):
        self.y = y

    def log_density(self, p):
        p = parts.as_vector(p)
        return float(np.sum(np.log(self.link._cdf(p[0] + p[1] * self.y))))


@numba.njit
def clipped(v, top):
    return top if v > top else v


def filled(p):
    out = np.zeros(4)
    for k in range(4):
        out[k] = clipped(p[0] * (k + 1), 2.0)
    return out
""",
    )  # fmt: skip
    model = library.Model(DATA)
    g = sg.grad(lambda x: model.log_density(x) + np.sum(library.filled(x)))
    for y in (DATA, DATA[:3] - 0.2):  # what objects of an installed class hold is looked at
        model.y = y
        z = X[0] + X[1] * y
        slope = scipy.stats.norm.pdf(z) / scipy.stats.norm.cdf(z)
        np.testing.assert_allclose(g(X), [np.sum(slope) + 3.0, np.sum(slope * y)], rtol=1e-13)
    np.testing.assert_array_equal(library.filled(X), [0.7, 1.4, 2.0, 2.0])  # itself as before
    assert type(model) is library.Model


def test_packages_are_opened_for_errors_alone(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What traces as it stands stays as it stands, and other errors are those of the package."""
    library = installed(
        tmp_path, monkeypatch, "as_it_raises",
        __init__="import numpy as np\n\ndef scaled(x):\n    return 2.0 * x\n\n"
        "def checked(x):\n    x = np.asarray(x)\n    if x.ndim != 2:\n"
        "        raise ValueError('a matrix is needed')\n    return x\n",
    )  # fmt: skip
    assert sg.grad(lambda x: np.sum(library.scaled(x)))(X).tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="a matrix is needed"):
        sg.grad(lambda x: np.sum(library.checked(x)))(X)


TYPES: dict[str, Any] = {
    "np.float64": lambda x: np.float64(x[0]) * np.float64(x),
    "np.float32": lambda x: np.float32(x) * np.float32(2.0),
    "a list": lambda x: np.float64([x[0], 2.0]) * x[1],
    "np.complex128": lambda x: np.abs(np.complex128(x) * 1j),
    "complex": lambda x: np.abs(complex(x[0], x[1]) * complex(2.0, 1.0) + complex("1j")),
    "complex of one": lambda x: (complex(x[0]) * 1j).imag,
    "from NumPy": lambda x: scalar(x[0]) * x,
    "element types": lambda x: (np.zeros(2, np.float64) + np.array([x[0], 1.0], np.float64)) * (
        x.dtype == np.float64) * np.issubdtype(x.dtype, np.float64),
    "the same type": lambda x: np.array([x[0], 1.0]) * (2.0 if x.dtype.type is np.float64 else 3.0),
    "told": lambda x: np.array([x[0], 1.0]) * (2.0 if isinstance(np.sum(x), np.float64) else 3.0),
    "a table": lambda x: np.array([x[0], 1.0]) * {np.float64: 2.0, np.float32: 3.0}[np.float64],
}  # fmt: skip
scalar = np.float64


@pytest.mark.parametrize("name", TYPES)
def test_types_of_numbers_take_traced_values(name: str) -> None:
    f, x = TYPES[name], np.array([1.5, 2.5])
    found, wanted = sg.compile(f)(x), f(x)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    steps = 1e-4 * np.eye(2)
    slopes = np.transpose([(f(x + h) - f(x - h)) / 2e-4 for h in steps])
    np.testing.assert_allclose(sg.jacobian(f)(x), slopes, atol=1e-2 if "32" in name else 1e-6)


def clipped(x: Any) -> Any:
    return max(x[0], 0.2) * min(x) - max(abs(v) for v in x) + max(1, 2) + len(max("a", "bc"))


def imported_inside(c: Any) -> Any:
    from numpy.polynomial import Polynomial, polynomial

    return polynomial.polyval(0.5, c) * Polynomial([1.0, 2.0])(2.0)


def test_imports_inside_of_a_function() -> None:
    np.testing.assert_allclose(sg.grad(imported_inside)(X), [5.0, 2.5])


def priced(spot: Any) -> Any:
    @np.vectorize
    def option(strike: float, years: float) -> Any:
        if years <= 0:
            return max(spot - strike, 0.0)
        return spot * norm.cdf((spot - strike) / math.sqrt(years))

    return np.sum(option(np.array([0.5, 1.0, 1.5]), np.array([0.0, 2.0, 0.0])))


def test_max_and_min_where_examples_differ() -> None:
    """In batches and loops a comparison has no one answer: both are computed, as by np.where."""
    rows = np.array([[0.1, 3.0], [2.0, -1.0], [0.2, 0.2]])
    for f in (clipped, sg.grad(clipped)):
        np.testing.assert_array_equal(sg.vmap(f)(rows), [f(row) for row in rows])
    np.testing.assert_array_equal(sg.vmap(clipped)(rows), list(map(clipped, rows)))

    def last(x: Any) -> Any:
        return sg.fori_loop(0, 4, lambda i, s: max(s * 0.5, x - i), x)

    assert sg.value_and_grad(last)(2.0) == (0.25, 0.125)
    value, slope = sg.value_and_grad(priced)(1.2)
    assert value == pytest.approx(priced(1.2), rel=1e-12)
    assert slope == pytest.approx((priced(1.2001) - priced(1.1999)) / 2e-4, rel=1e-6)
    by_sum = lambda x: max(x, x[::-1], key=np.sum)  # noqa: E731
    with pytest.raises(sg.errors.TraceError, match="truth value"):
        sg.compile(lambda rows: sg.vmap(by_sum)(rows))(rows)
    with pytest.warns(sg.errors.PathsWarning, match="one by one: a truth value"):
        np.testing.assert_array_equal(sg.vmap(by_sum)(rows), [by_sum(x) for x in rows])


def test_riemanns_zeta_function_is_hurwitzs_without_its_parameter() -> None:
    x = np.array([1.5, 2.0, 7.0])
    for f in (scipy.special.zeta, lambda x: scipy.special.zeta(x, q=2.5)):
        np.testing.assert_allclose(sg.compile(lambda x, f=f: f(x))(x), f(x), rtol=1e-14)


@pytest.mark.parametrize("nested", [lambda d: d, lambda d: [d], lambda d: {"d": (d, 1)}])
def test_objects_of_scipy_among_the_arguments(nested: Any) -> None:
    """Distributions, frozen or not, their methods, splines: as those that a function reads."""
    grid = np.linspace(0.0, 5.0, 9)

    def given(argument: Any) -> Any:
        while not callable(argument) and not hasattr(argument, "logpdf"):
            argument = next(iter(argument.values())) if isinstance(argument, dict) else argument[0]
        return argument

    def density(x: Any, d: Any) -> Any:
        return np.sum(given(d).logpdf(x))

    def called(x: Any, f: Any) -> Any:
        return np.sum(given(f)(x))

    stats, interpolate = scipy.stats, scipy.interpolate
    x = np.array([0.7, 1.3])
    cases = [
        (density, stats.norm, -x), (density, stats.norm(0.0, 2.0), -x / 4),
        (density, stats.gamma(2.0), 1 / x - 1),
        (density, stats.multivariate_normal(np.ones(2)), 1 - x),
        (called, stats.norm.logpdf, -x),
        (called, interpolate.CubicSpline(grid, grid**3), 3 * x**2),
        (called, interpolate.make_interp_spline(grid, grid**3), 3 * x**2),
        (called, interpolate.interp1d(grid, 2 * grid), [2.0, 2.0]),
    ]  # fmt: skip
    for function, made, exact in cases:
        np.testing.assert_allclose(sg.grad(function)(x, nested(made)), exact, rtol=1e-12)


class Cell:
    """Has an array, as objects with ``__array__`` do, which is not to be written to."""

    def __init__(self, sides: Any) -> None:
        self.sides = np.diag(np.asarray(sides, dtype=float)) + 0.1
        self.sides.setflags(write=False)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.sides, dtype=dtype)

    def volume(self) -> Any:
        return np.linalg.det(np.array(self))


def test_objects_with_arrays_in_them() -> None:
    def density(x: Any) -> Any:
        cell = Cell(x)
        around = (
            1.0 / cell.volume()
            + np.linalg.norm(cell)
            + np.sum(np.arange(2.0) @ cell)
            + np.sum((x @ cell) / np.exp(cell))
        )
        return around + np.sum(np.asarray(cell).view(np.ndarray)[0] * np.dot(np.ones(2), cell))

    np.testing.assert_allclose(sg.grad(density)(X), slopes(density, X), rtol=1e-8)
    plain = Cell(X)
    np.testing.assert_array_equal(
        sg.compile(lambda x: np.asarray(plain) * x[0])(X), plain.sides * X[0]
    )


class Registered:
    """Is told of its heirs, as scikit-learn's estimators are."""

    heirs: ClassVar[list[str]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Registered.heirs.append(cls.__name__)


class Line(Registered):
    def __init__(self, slope: float) -> None:
        self.slope = slope

    def predict(self, x: Any) -> Any:
        out = np.zeros(2)
        out[:] = self.slope * np.array([x[0], math.sin(x[1])])
        return out


def test_classes_that_are_told_of_their_heirs() -> None:
    line = Line(3.0)

    def loss(x: Any) -> Any:
        return np.sum(line.predict(x)) + Line(x[0]).predict(x)[1]

    np.testing.assert_allclose(sg.grad(loss)(X), slopes(loss, X), rtol=1e-8)
    assert (Registered.heirs, type(line)) == (["Line"], Line)


class Unit:
    """A direction; a class that makes its objects itself is not made a second time."""

    def __new__(cls, q):
        made = object.__new__(cls)
        made.q = np.array(q, dtype=float)
        made.q /= np.linalg.norm(made.q)
        return made


class Listed:
    """What says itself what it holds."""

    def __init__(self, width):
        self.width = width

    @property
    def __dict__(self):
        return {"width": np.asarray(self.width), "pi": math.pi}

    def area(self, x):
        return math.exp(x) * self.width * self.__dict__["pi"]


def test_a_copy_of_known_numbers_can_be_written() -> None:
    f = lambda x: np.sum(Unit(np.zeros(2) + 3.0).q * x) + math.sin(x[0])  # noqa: E731
    np.testing.assert_allclose(sg.grad(f)(X), slopes(f, X), rtol=1e-8)


def test_a_class_with_a_property_dict() -> None:
    f = lambda x: Listed(2.0).area(x[0]) + math.sin(x[1])  # noqa: E731
    np.testing.assert_allclose(sg.grad(f)(X), slopes(f, X), rtol=1e-8)


TIMES = np.array([4.0, 1.0, 2.0, 1.0])


@pytest.mark.parametrize("grid_of", [
    lambda t: np.unique(np.concatenate(([0.0], t))),
    lambda t: np.union1d([0.0], 2.0 * t / 2.0),
    lambda t: np.append(0.0, np.setdiff1d(t, [7.0])),
    lambda t: np.unique(np.array([0.0, *t]), return_counts=True)[0],
])  # fmt: skip
def test_what_is_known_is_counted_as_numpy_does(grid_of: Any) -> None:
    """How many data differ is known, also where the code is adapted, here for `odeint`."""

    def course(p: Any) -> Any:
        grid = grid_of(TIMES)
        found = scipy.integrate.odeint(lambda y, t: -p[0] * y, [p[1]], grid, rtol=1e-10, atol=1e-10)
        return np.sum(found[np.isin(grid, TIMES), 0])

    g = sg.grad(course)
    for last in (4.0, 5.0, 1.0):
        TIMES[0] = last
        t = np.unique(TIMES)
        decay = np.exp(-X[0] * t)
        np.testing.assert_allclose(g(X), [-X[1] * np.sum(t * decay), np.sum(decay)], rtol=1e-6)
    TIMES[0] = 4.0
    with pytest.raises(sg.errors.UnsupportedError, match="depends on their values"):
        sg.compile(lambda x: np.sum(np.unique(np.concatenate(([0.0], x)))))(X)


@dataclass
class Turned:
    """Its `__eq__`, which dataclasses write, asks for the class of another one."""

    a: float

    def turn(self) -> Any:
        out = np.zeros(2)
        out[0], out[1] = self.a, -math.sin(self.a)
        return out


def test_a_dataclass_does_not_ask_for_types_of_numbers() -> None:
    f = lambda x: sum(float(v) for v in Turned(x[0]).turn()) * float(x[1])  # noqa: E731
    np.testing.assert_allclose(sg.grad(f)(X), slopes(f, X), rtol=1e-8)

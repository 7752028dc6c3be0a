"""A compiled function returns what the plain function would compute now."""

from __future__ import annotations

import array
import collections
import concurrent.futures
import contextlib
import contextvars
import enum
import functools
import gc
import math
import operator
import pickle
import random
import sys
import threading
import time
import types
import warnings
import weakref
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.stats
import sympy as sp

import symgrad as sg
from symgrad.errors import CaptureWarning, SymgradError, UnsupportedError

X = np.array([0.5, 1.0, 2.0])
SCALE = 2.0
WEIGHTS = np.array([1.0, 2.0, 3.0])
POWER = 2
GAPS = np.zeros(4)
calls = 0


def weighted(x: Any) -> Any:
    return np.sum(SCALE * WEIGHTS * x**POWER)


def slope(x: Any) -> Any:
    return SCALE * WEIGHTS * POWER * x ** (POWER - 1)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Bind a global name of this module."""
    return lambda name, value: monkeypatch.setitem(globals(), name, value)


def test_globals_are_those_of_now(names: Any) -> None:
    g = sg.grad(weighted)
    for name, value in (
        ("SCALE", 3.0), ("SCALE", 4.0), ("SCALE", 5.0), ("SCALE", 3), ("POWER", 3),
        ("WEIGHTS", np.array([0.0, -1.0, 1.0])), ("SCALE", 3.0), ("POWER", 2),
        ("WEIGHTS", np.float32([1.0, 2.0, 4.0])), ("WEIGHTS", 2.0), ("SCALE", WEIGHTS),
    ):  # fmt: skip
        names(name, value)
        for _ in range(2):
            np.testing.assert_allclose(g(X), slope(X), rtol=1e-14)


def test_arrays_are_arguments(names: Any) -> None:
    g = sg.grad(weighted)
    names("WEIGHTS", WEIGHTS.copy())
    for k in range(5):
        WEIGHTS[k % 3] += 1.0
        np.testing.assert_allclose(g(X), slope(X), rtol=1e-14)
        names("WEIGHTS", WEIGHTS * 1.5)
        np.testing.assert_allclose(g(X), slope(X), rtol=1e-14)
    assert g.traces == 1


def test_floats_are_arguments_from_their_first_change_on(names: Any) -> None:
    g = sg.grad(lambda x: weighted(x))  # of a function that no other test has met
    for k in range(20):
        names("SCALE", 0.5 * k)
        np.testing.assert_allclose(g(X), slope(X), rtol=1e-14)
    assert g.traces == 2


def test_changing_back_costs_no_trace(names: Any) -> None:
    g = sg.grad(weighted)
    for power in (2, 3, 2, 3, 4, 2):
        names("POWER", power)
        np.testing.assert_allclose(g(X), slope(X), rtol=1e-14)
    assert g.traces == 3


def test_derivatives_at_values(names: Any) -> None:
    for value in (2.0, 5.0, -1.0):
        names("SCALE", value)
        out, tangent = sg.jvp(weighted, (X,), (np.ones(3),))
        assert out == pytest.approx(weighted(X), rel=1e-14)
        assert tangent == pytest.approx(slope(X).sum(), rel=1e-14)
        out, pullback = sg.vjp(weighted, X)
        assert out == pytest.approx(weighted(X), rel=1e-14)
        np.testing.assert_allclose(pullback(1.0)[0], slope(X), rtol=1e-14)
        found = sg.hvp(weighted, (X,), (np.ones(3),))
        np.testing.assert_allclose(found, 2 * value * WEIGHTS, rtol=1e-14)


def test_derivatives_at_values_of_functions_of_one_code_compile_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traced = []
    specialize = sg.Function._specialize

    def counting(self: Any, *args: Any) -> Any:
        traced.append(self)
        return specialize(self, *args)

    monkeypatch.setattr(sg.Function, "_specialize", counting)

    class Model:
        def __init__(self, weights: Any) -> None:
            self.weights = weights

        def cost(self, x: Any) -> Any:
            return np.sum(self.weights * x**3)

    def scaled(weights: Any, x: Any) -> Any:
        return np.sum(weights * x**3)

    makers: tuple[Any, ...] = (
        lambda w: lambda x: np.sum(w * x**3),
        lambda w: Model(w).cost,
        lambda w: functools.partial(scaled, w),
    )
    ones = np.ones(3)
    for maker in makers:
        pulls: list[Any] = []
        for k in range(8):
            w = WEIGHTS + k
            f = maker(w)
            out, tangent = sg.jvp(f, (X,), (ones,))
            np.testing.assert_allclose((out, tangent), (np.sum(w * X**3), np.sum(3 * w * X**2)))
            np.testing.assert_allclose(sg.hvp(f, (X,), (ones,)), 6 * w * X)
            pulls.append((w, sg.vjp(f, X)[1]))
            for v, pull in pulls:  # of this function, and of those before it
                np.testing.assert_allclose(pull(2.0)[0], 6 * v * X**2)
            if k == 3:
                traced.clear()
        assert not traced
        slope = sg.grad(lambda x, f=f: sg.jvp(f, (x,), (ones,))[1])  # in a trace
        np.testing.assert_allclose(slope(X), 6 * w * X)


def test_a_function_at_values_that_fails_leaves_nothing_to_the_next_of_its_code() -> None:
    def maker(n: int, w: Any) -> Any:
        return lambda x: np.sum(w * x[:n])

    for k in range(6):
        f = maker(3, WEIGHTS * k)
        assert sg.jvp(f, (X,), (np.ones(3),))[1] == 6.0 * k
        with pytest.raises(ValueError, match="broadcast"):
            sg.jvp(maker(2, WEIGHTS), (X,), (np.ones(3),))
        with pytest.raises(SymgradError):
            sg.jvp(f, (X,), (np.ones(4),))


def test_functions_at_values_in_threads() -> None:
    def run(a: float) -> Any:
        return [sg.jvp(lambda x: np.sum(a * x**2), (X,), (X,))[1] for _ in range(20)]

    given = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for a, found in zip(given, pool.map(run, given), strict=True):
            np.testing.assert_allclose(found, [2 * a * np.sum(X**2)] * 20)


def test_zeros_and_types(names: Any) -> None:
    f = sg.compile(lambda x: x / SCALE if isinstance(SCALE, float) else x * 0.0)
    for value in (0.0, -0.0, 1, 1.0, True, np.float64(1.0)):
        names("SCALE", value)
        with np.errstate(divide="ignore"):
            wanted = np.float64(1.0) / SCALE if isinstance(SCALE, float) else 0.0
        assert f(1.0) == wanted


def test_closures_and_nested_functions() -> None:
    k, w = 2.0, np.ones(3)

    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return k * y * w

        return np.sum(inner(x) * x)

    g = sg.grad(f)
    for k in (2.0, 3.0, 4):
        for w in (np.ones(3), np.arange(3.0)):
            np.testing.assert_allclose(g(X), 2 * k * w * X)
            w[0] += 1.0
            np.testing.assert_allclose(g(X), 2 * k * w * X)


def test_helpers_that_are_defined_again(names: Any) -> None:
    namespace: dict[str, Any] = {"np": np}
    exec("def helper(x):\n    return x**2\ndef f(x):\n    return np.sum(helper(x))", namespace)
    g = sg.grad(namespace["f"])
    np.testing.assert_allclose(g(X), 2 * X)
    exec("def helper(x):\n    return x**3", namespace)
    np.testing.assert_allclose(g(X), 3 * X**2)
    exec("def helper(x):\n    return x**2", namespace)  # the cell is run again
    np.testing.assert_allclose(g(X), 2 * X)
    assert g.traces == 2
    exec("def other(x):\n    return np.sin(x)", namespace)
    namespace["helper"].__code__ = namespace["other"].__code__  # as IPython's autoreload does
    np.testing.assert_allclose(g(X), np.cos(X))
    exec("def sum(x):\n    return 0.0", namespace)
    namespace["helper"] = np.cos
    np.testing.assert_allclose(g(X), -np.sin(X))


def test_defaults() -> None:
    def f(x: Any, k: float = 2.0, *, w: Any = np.ones(3)) -> Any:  # noqa: B008
        return np.sum(k * w * x)

    g = sg.grad(f)
    np.testing.assert_allclose(g(X), 2.0)
    f.__defaults__ = (3.0,)
    np.testing.assert_allclose(g(X), 3.0)
    assert f.__kwdefaults__ is not None
    f.__kwdefaults__["w"][1] = 5.0
    np.testing.assert_allclose(g(X), [3.0, 15.0, 3.0])


@dataclass
class Config:
    alpha: float
    order: int
    weights: Any


@dataclass(frozen=True)
class Layer:
    config: Config
    name: str = "layer"

    @property
    def double(self) -> Any:
        return 2.0 * self.config.alpha

    def __call__(self, x: Any) -> Any:
        return self.double * self.config.weights * x**self.config.order


class Model:
    bias = 1.0

    def __init__(self) -> None:
        self.layers = [Layer(Config(1.0, 2, np.ones(3))), Layer(Config(2.0, 1, np.arange(3.0)))]
        self.options = {"shift": 0.5}
        self.seen = 0

    def value(self, x: Any) -> Any:
        self.seen += 1
        total = sum(layer(x) for layer in self.layers)
        return np.sum(total * self.bias + self.options["shift"] * x)


def test_objects_of_all_kinds() -> None:
    model = Model()
    plain = Model()
    g, again = sg.value_and_grad(model.value), sg.value_and_grad(sg.adapt(model.value))

    def check() -> None:
        plain.__dict__.update(model.__dict__)
        h = 1e-30j * np.eye(3)
        wanted = [np.imag(plain.value(X + d)) / 1e-30 for d in h]
        for function in (g, again):
            value, gradient = function(X)
            assert value == pytest.approx(plain.value(X), rel=1e-13)
            np.testing.assert_allclose(gradient, wanted, rtol=1e-13)

    check()
    first = model.layers[0].config
    first.alpha = 3.0
    check()
    first.order = 3
    check()
    first.weights[1] = 7.0
    check()
    first.weights = np.float64([1.0, 0.0, 2.0])
    check()
    model.layers.append(Layer(Config(0.5, 1, 2.0)))
    check()
    model.layers[1] = model.layers[0]
    check()
    model.options["shift"] = -1.0
    check()
    Model.bias = 2.0
    try:
        check()
        model.bias = 4.0
        check()
    finally:
        Model.bias = 1.0
    assert type(model) is Model
    assert all(type(layer) is Layer for layer in model.layers)
    assert type(first.weights) is np.ndarray
    assert isinstance(model.seen, int)
    assert model.seen


def test_modules_partials_and_compiled_functions(names: Any) -> None:
    module = types.ModuleType("settings")
    exec("import numpy as np\nk = 2.0\ndef h(x):\n    return k * np.sin(x)", vars(module))
    part = functools.partial(lambda a, x: a * x, np.ones(3))
    inner = sg.compile(lambda x: SCALE * x)
    second = sg.grad(lambda x: np.sum(SCALE * x**3))
    f = lambda x: np.sum(module.h(x) * module.k + part(x) + inner(x) + second(x))  # noqa: E731
    g = sg.grad(f)

    def check() -> None:
        wanted = module.k**2 * np.cos(X) + part.args[0] + SCALE + 6 * SCALE * X
        np.testing.assert_allclose(g(X), wanted, rtol=1e-14)

    check()
    module.k = 3.0
    check()
    part.args[0][1] = 4.0
    check()
    names("SCALE", 1.5)
    check()
    part = functools.partial(lambda a, x: a * x, 2.0 * np.ones(3))
    check()


class Settings:
    def __init__(self) -> None:
        self.order, self.rate, self.weights = 2, 3.0, np.ones(3)


def test_objects_and_functions_as_arguments(names: Any) -> None:
    g = sg.grad(lambda x, how, part: np.sum(part(x) + how.rate * how.weights * x**how.order))
    settings = Settings()

    def part(x: Any) -> Any:
        return SCALE * x

    def check() -> None:
        rest = settings.rate * settings.weights * settings.order * X ** (settings.order - 1)
        for _ in range(2):
            np.testing.assert_allclose(g(X, settings, part), SCALE + rest)

    check()
    for name, value in (("order", 3), ("rate", 5.0), ("rate", 6.0), ("weights", np.arange(3.0))):
        setattr(settings, name, value)
        check()
    settings.weights[0] = 7.0
    check()
    names("SCALE", 4.0)
    check()


def test_what_python_needs_as_numbers(names: Any) -> None:
    n = np.array([2.0, 3.0, 1.0])
    f = sg.grad(lambda x: np.sum(float(n[0]) * x + math.sin(SCALE) * x * n))
    for k in range(3):
        names("SCALE", 0.3 * k)
        for _ in range(2):
            np.testing.assert_allclose(f(X), n[0] + math.sin(SCALE) * n)
            n[k] += 1.0


def test_masks_and_indices() -> None:
    mask, index = np.array([True, False, True]), np.array([0, 2])
    f = sg.grad(lambda x: np.sum(x[mask] ** 2) + np.sum(x[index]))
    for k in range(3):
        wanted = 2 * X * mask + np.bincount(index, minlength=3)
        np.testing.assert_allclose(f(X), wanted)
        mask[k] ^= True
        index[0] = k
        np.testing.assert_allclose(f(X), 2 * X * mask + np.bincount(index, minlength=3))


def test_decisions_on_what_is_read() -> None:
    w = np.array([1.0, -1.0])
    f = sg.compile(lambda x: x * 2.0 if w[0] > w[1] else x * 3.0)
    assert f(1.0) == 2.0
    w[0] = -2.0
    assert f(1.0) == 3.0


def test_a_large_array_that_must_be_compared_is_named() -> None:
    big = np.zeros(200_000)
    big[0] = 2.0
    f = sg.compile(lambda x: x * np.unique(big)[1])
    with pytest.warns(CaptureWarning, match=r"the array big has 1\.6e\+06 bytes"):
        assert f(1.0) == 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaptureWarning)
        big[0] = 5.0
        assert f(1.0) == 5.0


def test_what_the_function_assigns_is_not_lost() -> None:
    namespace: dict[str, Any] = {"np": np, "n": 0, "seen": [], "w": np.ones(3)}
    exec(
        "def f(x):\n    global n\n    n += 1\n    seen.append(n)\n    return np.sum(w * x)",
        namespace,
    )
    f = namespace["f"]
    for g in (sg.grad(f), sg.grad(sg.adapt(f))):
        namespace["n"] = 0
        namespace["seen"].clear()
        for k in range(6):  # as the plain function does
            np.testing.assert_allclose(g(X), namespace["w"])
            namespace["w"][0] += 1.0
            assert namespace["n"] == k + 1
            assert namespace["seen"] == [*range(1, k + 2)]
        assert g.traces <= 2
    sg.adapt(f)(X)
    assert namespace["n"] == 7


def test_arrays_that_the_function_writes_to() -> None:
    buffer = np.zeros(3)

    def f(x: Any) -> Any:
        buffer[0] = 2.0
        return np.sum(buffer * x)

    np.testing.assert_allclose(sg.grad(f)(X), [2.0, 0.0, 0.0])
    assert buffer[0] == 2.0


def test_adapt_sees_now(names: Any) -> None:
    def f(x: Any) -> Any:
        y = np.zeros(3)
        y[0] = math.sin(x[0]) * SCALE
        return np.sum(y * WEIGHTS)

    adapted = sg.adapt(f)
    g = sg.grad(adapted)
    for value in (2.0, 3.0, 4.0):
        names("SCALE", value)
        names("WEIGHTS", np.full(3, value))
        assert adapted(X) == f(X)
        assert g(X)[0] == pytest.approx(math.cos(X[0]) * value**2, rel=1e-14)


def test_random_numbers_from_the_system_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"default_rng\(\) draws"):
        sg.compile(lambda x: x * np.random.default_rng().normal())(1.0)
    seeded = lambda x: x * np.random.default_rng(3).normal()  # noqa: E731
    assert sg.compile(seeded)(1.0) == seeded(1.0)


def test_seeds_are_arguments() -> None:
    for f in (
        lambda x, seed: np.random.default_rng(seed).normal(size=3) * x,
        lambda x, seed: np.random.RandomState(seed).rand() * x,
        lambda x, seed: np.random.Generator(np.random.PCG64(seed)).normal() * x,
        lambda x, seed: random.Random(seed).random() * x,
    ):
        g = sg.compile(f)
        for seed in (3, 4, 3):
            np.testing.assert_array_equal(g(1.0, seed), f(1.0, seed))


class Equal:
    def __init__(self, rate: float) -> None:
        self.rate, self.n, self.w = rate, 2, np.ones(3)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.rate == other.rate


@pytest.mark.parametrize(
    "make", [lambda: Equal(2.0), lambda: SimpleNamespace(rate=2.0, n=2, w=np.ones(3)),
             lambda: Namespace(rate=2.0, n=2, w=np.ones(3))],
)  # fmt: skip
def test_arguments_that_have_no_hash_are_looked_at(make: Any) -> None:
    def f(x: Any, config: Any) -> Any:
        return np.sum(config.rate * config.w * x**config.n)

    g, config = sg.value_and_grad(f), make()
    for name, value in (("rate", 2.0), ("rate", 3.0), ("n", 3), ("w", X), ("rate", 2.0)):
        setattr(config, name, value)
        for given in (config, make()):
            expected = f(X, given), given.n * given.rate * given.w * X ** (given.n - 1)
            np.testing.assert_allclose(np.hstack(g(X, given)), np.hstack(expected), rtol=1e-14)


def test_clocks_that_no_copy_reaches_are_warned_of() -> None:
    class Own:
        def __new__(cls) -> Any:
            return object.__new__(cls)

        def at(self, x: Any) -> Any:
            return x * time.time()

    with pytest.warns(CaptureWarning, match=r"time\.time is called only .* pass the time as"):
        sg.compile(lambda x: Own().at(x))(1.0)


def test_control_flow(names: Any) -> None:
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = SCALE * x + WEIGHTS
        return np.sum(x)

    g = sg.compile(f, control_flow=True)
    for value in (0.5, 1.5, 0.25):
        names("SCALE", value)
        assert g(X, 20) == pytest.approx(f(X, 20), rel=1e-13)
        names("WEIGHTS", WEIGHTS + 1.0)
        assert g(X, 20) == pytest.approx(f(X, 20), rel=1e-13)


def test_custom_rules_and_loops(names: Any) -> None:
    @sg.custom_jvp
    def squared(x: Any) -> Any:
        return SCALE * x**2

    @squared.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return squared(x), 2.0 * SCALE * x * t

    def f(x: Any) -> Any:
        total, _ = sg.scan(lambda c, row: (c + squared(row) * WEIGHTS[0], None), 0.0, x)
        return total

    g = sg.grad(f)
    for value in (2.0, 3.0, 4.0):
        names("SCALE", value)
        np.testing.assert_allclose(g(X), 2 * value * X * WEIGHTS[0])
        names("WEIGHTS", WEIGHTS * 2.0)
        np.testing.assert_allclose(g(X), 2 * value * X * WEIGHTS[0])


def test_formulas_and_kernels_read_the_values_of_now(names: Any) -> None:
    f = lambda x: SCALE * x**POWER  # noqa: E731
    assert sg.formula(f, 1.0).text() == sg.formula(lambda x: 2.0 * x**2, 1.0).text()
    kernel = sg.compile(f).kernel(1.0)
    names("SCALE", 3.0)
    names("POWER", 3)
    assert sg.formula(f, 1.0).text() == sg.formula(lambda x: 3.0 * x**3, 1.0).text()
    assert kernel(2.0) == 8.0  # frozen when made
    assert sg.compile(f).kernel(1.0)(2.0) == 24.0


def test_results_in_given_memory(names: Any) -> None:
    f = sg.compile(lambda x: SCALE * WEIGHTS * x)
    out = np.empty(3)
    for value in (2.0, 3.0, 4.0):
        names("SCALE", value)
        names("WEIGHTS", WEIGHTS + 1.0)
        for _ in range(2):
            f(X)
            f(X, out=out)
            np.testing.assert_allclose(out, SCALE * WEIGHTS * X)


def test_tensors(names: Any) -> None:
    f = sg.compile(lambda x: np.sum(SCALE * WEIGHTS * x))
    for value in (2.0, 3.0, 4.0):
        names("SCALE", value)
        names("WEIGHTS", WEIGHTS + 1.0)
        x = sg.tensor(X, requires_grad=True)
        y = f(x)
        assert y.item() == pytest.approx(np.sum(SCALE * WEIGHTS * X))
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), SCALE * WEIGHTS)


def test_pickling(names: Any) -> None:
    g = sg.grad(weighted)
    g(X)
    names("SCALE", 7.0)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(g))(X), slope(X))


def test_threads_that_change_what_is_read() -> None:
    w = {"a": np.ones(3), "n": 1, "k": 1.0}
    f = sg.compile(lambda x: np.sum(w["a"] * x) * w["k"] + 0.0 * w["n"])
    f(X)
    done, wrong = threading.Event(), []

    def call() -> None:
        while not done.is_set():
            value = f(np.ones(3)) / 3.0
            if value not in (1.0, 2.0, 4.0):
                wrong.append(value)

    threads = [threading.Thread(target=call) for _ in range(2)]
    for t in threads:
        t.start()
    for k in range(200):
        w["a"] = np.full(3, 1.0 + k % 2)
        w["k"] = 1.0 + (k // 2) % 2
        w["n"] = k % 4
    done.set()
    for t in threads:
        t.join()
    assert not wrong


def test_memory_is_freed() -> None:
    w = np.ones(1000)
    namespace = {"np": np, "w": w}
    exec("def f(x):\n    return np.sum(w * x)", namespace)
    g = sg.grad(namespace["f"])
    g(np.ones(1000))
    old = weakref.ref(w)
    namespace["w"] = np.zeros(1000)
    del w
    g(np.ones(1000))
    gc.collect()
    assert old() is None
    function = weakref.ref(namespace["f"])
    del g, namespace
    gc.collect()
    assert function() is None


def test_objects_of_packages_that_hold_methods_of_their_own() -> None:
    """SciPy's distributions do: the walk through them ends."""
    frozen = scipy.stats.gamma(2.0)
    g = sg.compile(lambda x: x * frozen.args[0])
    assert g(3.0) == 6.0
    frozen.args = (5.0,)
    assert g(3.0) == 15.0


class Kind(enum.Enum):
    FIRST = 1
    SECOND = 2

    def size(self) -> Any:
        return SIZES[self.name]


SIZES = {"FIRST": 2.0, "SECOND": 3.0}


class Stack(list[Any]):
    pass


class Limits(collections.UserDict[str, Any]):
    def total(self) -> Any:
        return self["a"] + self["b"]


class Meta(type):
    gain = 2.0


class Base(metaclass=Meta):
    shared = 1.0


class Derived(Base):
    pass


class Linked:
    def __init__(self, value: Any, after: Any = None) -> None:
        self.value, self.after, self.before = value, after, None


def _follows(f: Any, *changes: Any) -> None:
    """Check a function's values and derivatives after each change, and again."""
    g = sg.compile(lambda x: (f(x), sg.grad(lambda x: np.sum(f(x)))(x)))
    ones = np.full(3, 1e-30j)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            value, slope = g(X)
            np.testing.assert_allclose(value, f(X), rtol=1e-12, atol=0.0)
            # The functions below act element by element.
            np.testing.assert_allclose(slope, f(X + ones).imag / 1e-30, rtol=1e-12, atol=0.0)


def test_containers_of_all_kinds() -> None:
    stack, pair = Stack([np.ones(3), 2.0]), (np.ones(3), 1.0)
    _follows(
        lambda x: x * stack[0] + stack[1] * x**2,
        lambda: stack[0].__setitem__(0, 3.0), lambda: stack.__setitem__(1, 5.0),
    )  # fmt: skip
    limits = Limits(a=np.ones(3), b=2.0)
    _follows(
        lambda x: x * limits.total(),
        lambda: limits["a"].__setitem__(0, 3.0), lambda: limits.__setitem__("b", 5.0),
    )  # fmt: skip
    inner: dict[str, Any] = {"a": pair[0], "b": 2.0}
    proxy, chain = types.MappingProxyType(inner), collections.ChainMap({}, inner)
    _follows(
        lambda x: x * proxy["a"] * chain["b"],
        lambda: pair[0].__setitem__(1, 3.0), lambda: inner.__setitem__("b", 5.0),
        lambda: chain.__setitem__("b", 7.0),
    )  # fmt: skip
    queue, objects = collections.deque([np.zeros(2000)]), np.empty(1, object)
    objects[0] = np.zeros(2000)
    _follows(
        lambda x: x * (1.0 + queue[0].sum() + objects[0].sum()),
        lambda: queue[0].__setitem__(1000, 1e-9), lambda: objects[0].__setitem__(1000, 1e-9),
    )  # fmt: skip
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    _follows(
        lambda x: x * masked.filled(0.0),
        lambda: setattr(masked, "mask", [1, 0, 0]), lambda: masked.__setitem__(1, 7.0),
    )  # fmt: skip
    plain, kept = array.array("d", [1.0, 2.0]), contextvars.ContextVar("kept", default=2.0)
    _follows(
        lambda x: x * plain[0] * kept.get(),
        lambda: plain.__setitem__(0, 3.0), lambda: kept.set(5.0),
    )  # fmt: skip


def test_classes_of_all_kinds() -> None:
    _follows(
        lambda x: x * Derived.shared * Derived.gain,
        lambda: setattr(Base, "shared", 2.0), lambda: setattr(Derived, "shared", 3.0),
        lambda: setattr(Meta, "gain", 5.0), lambda: setattr(Derived, "gain", 7.0),
    )  # fmt: skip
    member = {"kind": Kind.FIRST}
    _follows(
        lambda x: x * member["kind"].size(),
        lambda: SIZES.__setitem__("FIRST", 5.0), lambda: member.update(kind=Kind.SECOND),
    )  # fmt: skip
    thing: Any = types.SimpleNamespace()
    _follows(
        lambda x: x * (thing.b if hasattr(thing, "b") else 1.0) * getattr(thing, "c", 2.0),
        lambda: setattr(thing, "b", 5.0), lambda: setattr(thing, "c", 7.0),
        lambda: delattr(thing, "b"),
    )  # fmt: skip
    Derived.w_1, Derived.w_2 = 1.0, 2.0  # type: ignore[attr-defined]
    _follows(
        lambda x: x * sum(getattr(Derived, f"w_{k}") for k in (1, 2)),
        lambda: setattr(Derived, "w_2", 5.0),
    )  # fmt: skip
    one = Linked(2.0)
    weak, get = weakref.ref(one), operator.attrgetter("value")
    _follows(lambda x: x * weak().value * get(one), lambda: setattr(one, "value", 5.0))

    def scaled(x: Any) -> Any:
        return x * scaled.scale  # type: ignore[attr-defined]

    scaled.scale = 2.0  # type: ignore[attr-defined]
    _follows(scaled, lambda: setattr(scaled, "scale", np.full(3, 5.0)))


def test_long_and_circular_graphs_of_objects() -> None:
    head: Any = None
    for k in range(60):
        head = Linked(float(k), head)
        if head.after is not None:
            head.after.before = head
    last = head
    while last.after is not None:
        last = last.after

    def total(x: Any) -> Any:
        node, found = head, 0.0
        while node is not None:
            node, found = node.after, found + node.value * (node.before is not head or 2.0)
        return x * found

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _follows(
            total, lambda: setattr(head, "value", 3.0), lambda: setattr(last, "value", 4.0),
            lambda: setattr(last, "before", head),
        )  # fmt: skip


def test_an_array_of_objects_that_holds_itself() -> None:
    places = np.empty(2, object)
    places[:] = places, 2.0
    g = sg.grad(lambda x: x * places[1])  # warnings are errors: nor are there too many places
    assert g(1.0) == 2.0
    places[1] = 3.0
    assert g(1.0) == 3.0


def test_one_object_at_two_places() -> None:
    one, other = Linked(np.ones(3)), Linked(np.full(3, 3.0))
    both = types.SimpleNamespace(a=one, b=one)
    _follows(
        lambda x: both.a.value * x + both.b.value * x**2,
        lambda: setattr(both, "a", other), lambda: other.value.__setitem__(0, 7.0),
        lambda: one.value.__setitem__(0, 5.0), lambda: setattr(both, "b", other),
        lambda: other.value.__setitem__(1, 7.0),
    )  # fmt: skip


class Keeping:
    __slots__ = ("__dict__", "calls", "weights")

    def __init__(self) -> None:
        self.weights, self.calls = np.array([1.0, 2.0, 3.0]), 0
        self.first: Any = None
        self.memo: dict[int, Any] = {}
        self.seen: list[Any] = []

    @functools.cached_property
    def doubled(self) -> Any:
        return self.weights * 2.0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        if self.first is None:
            self.first = [self.weights * 3.0]
        if 4 not in self.memo:
            self.memo[4] = self.weights * 4.0
        self.seen.append(np.sum(self.weights))
        return np.sum((self.doubled + self.first[0] + self.memo[4]) * x)


def test_what_the_function_keeps_are_numbers() -> None:
    model = Keeping()
    g = sg.grad(model)
    np.testing.assert_allclose(g(X), model.weights * 9.0)
    np.testing.assert_allclose(g(X), model.weights * 9.0)
    for kept in (model.doubled, model.first[0], model.memo[4]):
        assert type(kept) is np.ndarray
    # A trace that is given up leaves nothing.
    assert model.calls == 2
    assert model.seen == [6.0, 6.0]
    model.memo[4] = np.ones(3)
    np.testing.assert_allclose(g(X), model.weights * 5.0 + 1.0)


def test_dispatch_keeps_the_users_functions() -> None:
    gain = [2.0]

    @functools.singledispatch
    def h(kind: Any, x: Any) -> Any:
        return x

    @h.register
    def _(kind: int, x: Any) -> Any:
        return x * gain[0]

    _follows(lambda x: h(3, x), lambda: gain.__setitem__(0, 5.0), lambda: gain.__setitem__(0, 6.0))


def test_attributes_that_raise() -> None:
    class Record(dict[str, Any]):
        __getattr__ = dict.__getitem__

    record = Record(a=np.ones(3), b=2.0)
    _follows(
        lambda x: record.a * x * record.b,
        lambda: record["a"].__setitem__(0, 3.0), lambda: record.update(b=5.0),
    )  # fmt: skip


def test_functions_called_back_read_for_themselves() -> None:
    """What pure_callback is given is the user's own function, and not watched."""
    scale, calls = np.array([2.0, 3.0]), []

    def f(x: Any) -> Any:
        return np.sum(sg.pure_callback(lambda y: calls.append(y) or scale * y, x, scale * x))

    g = sg.compile(f)
    for _ in range(6):
        assert g(np.ones(2)) == np.sum(scale**2)
        scale[0] += 1.0
    assert len(calls) == 6
    assert g.traces <= 2
    scale = np.array([1.0, 1.0])
    assert g(np.ones(2)) == 2.0

    def outer(x: Any) -> Any:
        own = scale
        return np.sum(sg.pure_callback(lambda y: own * y, x, own * x))

    assert sg.compile(outer)(np.ones(2)) == 2.0


_CALLED = 0


def test_a_counter_of_calls_back_costs_no_trace() -> None:
    def counted(y: Any) -> Any:
        global _CALLED
        _CALLED += 1
        return y + _CALLED

    g = sg.compile(lambda x: 2 * sg.pure_callback(counted, x, x))
    assert [g(0.0) for _ in range(5)] == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert g.traces <= 2


def test_code_that_tells_a_number_from_a_value_of_the_trace() -> None:
    w, h, names = np.array([2.0, 3.0]), [2.0], {"2.0": 3.0, "3.0": 5.0, "4.0": 7.0}

    def hidden(x: Any) -> Any:
        try:
            k = float(w[0])
        except Exception:  # noqa: BLE001
            k = 100.0
        return x * k

    def bare(x: Any) -> Any:
        try:
            k = float(w[0])
        except:  # noqa: E722
            k = 100.0
        return x * k

    def matched(x: Any) -> Any:
        match h[0]:
            case float():
                return x * h[0]
            case np.ndarray():
                return x + h[0]
        return x * 100.0

    @functools.singledispatch
    def scaled(k: Any, x: Any) -> Any:
        return x * 100.0

    @scaled.register
    def _(k: float, x: Any) -> Any:
        return x * k

    for f in (hidden, bare):
        _follows(f, lambda: w.__setitem__(0, 3.0), lambda: w.__setitem__(0, 4.0))
    for f in (matched, lambda x: scaled(h[0], x), lambda x: x * names["%s" % h[0]]):  # noqa: UP031
        h[0] = 2.0
        _follows(f, lambda: h.__setitem__(0, 3.0), lambda: h.__setitem__(0, 4.0))


def test_values_handed_on_through_code_of_libraries() -> None:
    k = [1.0]

    @contextlib.contextmanager
    def scale(value: float) -> Any:
        before, k[0] = k[0], value
        yield
        k[0] = before

    def f(x: Any) -> Any:
        with scale(3.0):
            y = x * k[0]
        return y * k[0]

    _follows(f, *(lambda v=v: k.__setitem__(0, v) for v in (2.0, 4.0, 5.0)))


def test_what_closures_keep_are_numbers() -> None:
    w, kept = np.ones(3), []

    def f(x: Any) -> Any:
        z = w * 2.0
        if not kept:
            kept.append(lambda y: y * z)
        return kept[0](x)

    np.testing.assert_allclose(sg.compile(f)(X), X * 2.0)
    assert type(f(X)) is np.ndarray


def test_objects_of_packages_with_slots() -> None:
    spline = scipy.interpolate.CubicSpline([0, 1, 2, 3], [0.0, 1.0, 4.0, 9.0])
    _follows(
        lambda x: x * float(spline(1.5)), lambda: spline.c.__setitem__((3, 1), 5.0),
    )  # fmt: skip
    one = Linked(1.0)
    keyed = weakref.WeakKeyDictionary({one: np.ones(3)})
    _follows(lambda x: x * keyed[one], lambda: keyed[one].__setitem__(0, 4.0))


_AT = np.array([0.0, 1.0, 2.5, 3.0, 4.0, 5.0])

#: SciPy's splines and tables of six numbers, and what is asked of one at a number.
_SPLINES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "cubic": (lambda y: scipy.interpolate.CubicSpline(_AT, y), lambda f, t: f(t)),
    "slope": (lambda y: scipy.interpolate.PchipInterpolator(_AT, y), lambda f, t: f(t, 1)),
    "derivative": (
        lambda y: scipy.interpolate.Akima1DInterpolator(_AT, y),
        lambda f, t: f.derivative()(t) + f.integrate(0.0, t),
    ),
    "knots": (lambda y: scipy.interpolate.make_interp_spline(_AT, y), lambda f, t: f(t)),
    "table": (lambda y: scipy.interpolate.interp1d(_AT, y), lambda f, t: f(t)),
    "beyond": (
        lambda y: scipy.interpolate.interp1d(
            _AT, y, bounds_error=False, fill_value=(y[0], y[-1])
        ),
        lambda f, t: f(t) + f(t - 9.0) + f(t + 9.0),
    ),
    "cubic table": (lambda y: scipy.interpolate.interp1d(_AT, y, "cubic"), lambda f, t: f(t)),
    "smoothing": (lambda y: scipy.interpolate.UnivariateSpline(_AT, y, s=0), lambda f, t: f(t)),
    "polynomial": (
        lambda y: scipy.interpolate.BarycentricInterpolator(_AT, y), lambda f, t: f(t)
    ),
    "grid": (
        lambda y: scipy.interpolate.RegularGridInterpolator((_AT, _AT), np.outer(y, y)),
        lambda f, t: f((t, 0.5 * t)),
    ),
    "surface": (
        lambda y: scipy.interpolate.RectBivariateSpline(_AT, _AT, np.outer(y, y)),
        lambda f, t: f.ev(t, 0.5 * t),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _SPLINES)
def test_another_spline_is_other_numbers(name: str) -> None:
    """A forcing made anew for each site or patient is no other program."""
    make, ask = _SPLINES[name]
    site = SimpleNamespace(curve=make(np.cos(_AT)))
    g = sg.value_and_grad(lambda t: np.sum(ask(site.curve, t)))
    f = sg.compile(lambda t: ask(site.curve, t))
    for k in range(4):
        site.curve = curve = make(np.cos((0.3 + k) * _AT))
        want = ask(curve, 1.7)
        found, slope = g(1.7)
        np.testing.assert_allclose([f(1.7), found], want, rtol=1e-9, atol=1e-12)
        step = (ask(curve, 1.7 + 1e-5) - ask(curve, 1.7 - 1e-5)) / 2e-5
        np.testing.assert_allclose(slope, step, rtol=1e-4, atol=1e-8)
    # Numbers are compared until they change for the first time.
    assert g.traces == f.traces == (2 if name == "beyond" else 1)


_CURVES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "method": lambda curve: curve.__call__,
    "integral": lambda curve: functools.partial(curve.integrate, 0.0),
    "partial": lambda curve: functools.partial(curve, nu=1),
    "two": lambda curve: functools.partial(
        lambda f, slope, t: f(t) + slope(t), curve, curve.derivative()
    ),
    "numbers": lambda curve: lambda t: curve(t) * curve.c[2, 0] + float(curve(2.0)),
    "roots": lambda curve: lambda t: t * curve.roots()[0],
    "kind": lambda curve: (
        lambda t: curve(t) if isinstance(curve, scipy.interpolate.CubicSpline) else 0.0 * t
    ),
    "type": lambda curve: (
        lambda t: curve(t) if type(curve) is scipy.interpolate.CubicSpline else 0.0 * t
    ),
    "name of the type": lambda curve: lambda t: t * len(type(curve).__name__),
    "itself": lambda curve: lambda t, other=curve: curve(t) if curve is other else 0.0,
}  # fmt: skip


@pytest.mark.parametrize("name", _CURVES)
def test_whatever_is_asked_of_another_spline(name: str) -> None:
    site = SimpleNamespace()
    g = sg.compile(lambda t: site.f(t))
    for k in range(1, 4):
        curve = scipy.interpolate.CubicSpline(_AT, np.cos(k * _AT))
        site.f = _CURVES[name](curve)
        for shift in (0.0, 0.5):
            curve.c[...] += shift  # in place
            np.testing.assert_allclose(g(1.3), site.f(1.3), rtol=1e-9)


@dataclass
class _Compartment:
    """As users write their parameters."""

    rate: float
    volumes: Any

    def level(self, x: Any) -> Any:
        return self.rate * x / self.volumes[0]


class _Told(_Compartment):
    def __str__(self) -> str:
        return f"rate {self.rate:.2f} of {self.volumes}, {self.level(1.0)!r}"

    __repr__ = __str__


@pytest.mark.parametrize("kind", [_Compartment, _Told])
def test_parameters_with_a_text_are_data(kind: Any) -> None:
    """How an object is shown says nothing of code that does not show it."""
    held = [kind(1.0, np.ones(2))]
    g = sg.compile(lambda x: held[0].level(x))
    shown = sg.compile(lambda x: x * float(str(held[0].rate)))
    compared = sg.compile(lambda x: x if held[0] == kind(2.0, [2.0]) else 2.0 * x)
    for k in range(1, 6):
        held[0] = kind(float(k), np.full(2, 2.0 * k))
        assert g(3.0) == 1.5
        assert shown(3.0) == 3.0 * k
        held[0].volumes[0] = 1.0
        assert g(3.0) == 3.0 * k
        held[0].volumes = [float(k)]
        assert compared(1.0) == (1.0 if k == 2 else 2.0)
    assert g.traces <= 3
    assert isinstance(str(held[0]), str)


def test_a_spline_of_more_pieces_is_another_program() -> None:
    held = [scipy.interpolate.CubicSpline(_AT, _AT**2)]
    g = sg.compile(lambda t: held[0](t) + held[0].x[-1])
    for curve in (held[0], scipy.interpolate.CubicSpline(_AT[:4], _AT[:4] ** 3),
                  scipy.interpolate.CubicSpline(_AT, _AT, extrapolate=False),
                  scipy.interpolate.PPoly(np.ones((2, 3)), _AT[:4])):  # fmt: skip
        held[0] = curve
        for t in (0.7, 9.0):
            np.testing.assert_allclose(g(t), curve(t) + curve.x[-1])


def test_a_large_list_is_named() -> None:
    table = [float(k) for k in range(200_000)]
    with pytest.warns(CaptureWarning, match="table holds"):
        assert sg.compile(lambda x: x * table[5])(1.0) == 5.0


def test_a_counter_that_two_functions_share() -> None:
    """Each call of either counts, and the other goes on from there."""

    class Model:
        calls = 0

        def __init__(self) -> None:
            self.scale = 2.0

        def cost(self, x: Any) -> Any:
            self.calls += 1
            return self.scale * np.sum(x**2)

    model = Model()
    value, slope = sg.compile(model.cost), sg.grad(model.cost)
    for _ in range(10):
        assert value(np.ones(2)) == 4.0
        np.testing.assert_array_equal(slope(np.ones(2)), [4.0, 4.0])
    assert model.calls == 20
    assert type(model.calls) is int
    assert value.traces <= 3
    assert slope.traces <= 3
    model.scale = 3.0
    assert value(np.ones(2)) == 6.0


def test_large_lists_of_numpys_functions() -> None:
    steps = [(np.sin if k % 2 else np.cos, k % 7) for k in range(5000)]

    def f(x: Any) -> Any:
        return steps[0][0](x) + steps[1][1]

    g = sg.compile(f)
    assert g(0.5) == pytest.approx(np.cos(0.5) + 1, rel=1e-15)
    steps[0] = np.sin, 0
    assert g(0.5) == pytest.approx(np.sin(0.5) + 1, rel=1e-15)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="asked for; from 3.13 on at no cost")
def test_objects_are_looked_at_without_asking_for_their_dictionaries() -> None:
    """Attributes of an object whose dictionary was asked for are slower to read from then on."""

    class Model:
        def __init__(self) -> None:
            self.a, self.b = 1.5, 2.5

    model = Model()
    f = sg.compile(lambda x: model.a * x + model.b)
    assert f(2.0) == 5.5
    assert not any(isinstance(x, dict) for x in gc.get_referents(model))


def test_other_code_of_the_function_itself() -> None:
    namespace: dict[str, Any] = {"k": 2.0}
    exec("def f(x):\n    return k * x\ndef h(x):\n    return k * x * x", namespace)
    g = sg.compile(namespace["f"])
    assert g(3.0) == g(3.0) == 6.0
    namespace["f"].__code__ = namespace["h"].__code__
    assert g(3.0) == 18.0


def test_classes_of_a_program_that_a_runner_executes(monkeypatch: pytest.MonkeyPatch) -> None:
    # As under ``python -m cProfile`` and in joblib's workers: ``__main__`` is the runner's module.
    monkeypatch.setitem(sys.modules, "__main__", contextlib)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec("class Model:\n    k = 2.0\n    def f(self, x):\n        return self.k * x", namespace)
    model = namespace["Model"]()
    g = sg.grad(model.f)
    assert g(3.0) == 2.0
    namespace["Model"].k = 5.0
    assert g(3.0) == 5.0


def test_slots_that_are_filled_later() -> None:
    class Model:
        __slots__ = ("k",)

    model = Model()
    g = sg.compile(lambda x: x * (model.k if hasattr(model, "k") else 0.5))
    assert g(2.0) == 1.0
    model.k = 3.0
    assert g(2.0) == 6.0
    del model.k
    assert g(2.0) == 1.0


def test_classes_that_are_made_within_are_looked_at() -> None:
    class Scaled:
        def __init__(self, k: float) -> None:
            self.k = k

        @classmethod
        def twice(cls, k: float) -> Any:
            return cls(2 * k)

        def again(self) -> Any:
            return self.__class__(self.k + 1.0)

    one = Scaled(3.0)
    by_method = sg.compile(lambda x: one.twice(1.0).k * x)
    by_class = sg.compile(lambda x: one.again().k * x)
    assert (by_method(1.0), by_class(1.0)) == (2.0, 4.0)

    def init(self: Any, k: float) -> None:
        self.k = -k

    Scaled.__init__ = init  # type: ignore[method-assign]
    assert (by_method(1.0), by_class(1.0)) == (-2.0, -4.0)


class Spring:
    """A callable object."""

    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, x: Any) -> Any:
        return self.k * x


@pytest.mark.parametrize("held", ["partial", "object", "nested"])
def test_callables_that_symgrads_objects_hold_are_looked_at(held: str) -> None:
    spring, scale = Spring(2.0), 2.0
    inner: Any = {
        "partial": functools.partial(lambda a, x: a * scale * x, 1.0),
        "object": spring,
        "nested": functools.partial(spring),
    }[held]
    slope: Any = {
        "partial": functools.partial(lambda a, p, t: (a * scale * p[0], a * scale * t[0]), 1.0),
    }.get(held, lambda p, t: (spring(p[0]), spring(t[0])))
    own = sg.custom_jvp(inner)
    own.defjvp(slope)
    value, grad = sg.compile(lambda x: own(x)), sg.grad(lambda x: own(x))
    assert (value(1.0), grad(1.0)) == (2.0, 2.0)
    spring.k = scale = 5.0
    assert (value(1.0), grad(1.0)) == (5.0, 5.0)


def test_what_other_threads_draw_is_not_the_functions() -> None:
    stop = threading.Event()

    def draw() -> None:
        while not stop.wait(0.005):  # between most traces, which take 1 ms, more on busy machines
            random.random()

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        assert sg.compile(lambda x: x + 1.0)(1.0) == 2.0
        assert 1.0 <= sg.compile(lambda x: x + random.random())(1.0) < 2.0
    finally:
        stop.set()
        thread.join()


class Remembering:
    """What is kept of arguments in places that methods read."""

    def __init__(self) -> None:
        self.last: Any = [0.0]
        self.value = 0.0
        self.table: dict[Any, Any] = {}
        self.hidden: Any = None
        self.log: list[Any] = []

    def item(self, x: Any) -> Any:
        y, self.last[0] = x + self.last[0], x
        return y

    def attribute(self, x: Any) -> Any:
        y, self.value = x + self.value, x
        return y

    def entry(self, x: Any) -> Any:
        y, self.table["x"] = x + self.table.get("x", 0.0), x
        return y

    def step(self, x: Any) -> Any:
        return sg.fori_loop(0, 3, lambda i, y: self.item(y), x)

    def count(self, x: Any) -> Any:
        self.log.append(x)
        return x * len(self.log)

    def scale(self, x: Any) -> Any:
        y, self.value = x + self.value, 2.0
        return y

    def once(self, x: Any) -> Any:
        if self.hidden:
            raise RuntimeError("called twice")
        self.hidden = True
        return x

    def printed(self, x: Any) -> Any:
        y, self.value = sg.debug_print(x, "x") + self.value, 2.0
        return y

    def layer(self, x: Any) -> Any:
        self.hidden = 3.0 * x
        self.log.append(x)
        return self.hidden * self.value

    def table_of_sizes(self, x: Any) -> Any:
        if np.ndim(x) not in self.table:
            self.table[np.ndim(x)] = np.ones(np.shape(x))
        return x * self.table[np.ndim(x)]


@pytest.mark.parametrize(
    "method",
    ["item", "attribute", "entry", "count", "scale", "printed", "layer", "table_of_sizes"],
)
def test_what_a_call_leaves_the_next_one_finds(method: str) -> None:
    ours, plain = Remembering(), Remembering()
    f = sg.compile(getattr(ours, method))
    for value in (1.0, 2.0, 4.0, 8.0, 16.0):
        assert f(value) == getattr(plain, method)(value)
        assert vars(ours) == vars(plain)
    assert f.traces <= (5 if method == "count" else 3)


def test_what_a_loop_leaves_is_undone() -> None:
    kept = Remembering()
    with pytest.warns(CaptureWarning, match=r"^self\.last\[0\] is assigned .* a loop, a branch"):
        assert sg.compile(kept.step)(1.0) == 1.0
    assert kept.last == [0.0]


def test_a_function_that_is_called_once() -> None:
    kept = Remembering()
    f = sg.compile(kept.once)
    assert f(1.0) == 1.0
    assert kept.hidden is True
    with pytest.raises(RuntimeError, match="called twice"):
        f(2.0)
    kept.hidden = None
    assert f(3.0) == 3.0


def test_functions_that_assert() -> None:
    """pytest writes ``assert`` anew, with global names that Python's grammar does not know."""

    def checked(x: Any) -> Any:
        assert np.ndim(x) == 1, "one axis"
        return weight * x

    weight = 2.0
    f = sg.compile(checked)
    np.testing.assert_array_equal(f(np.ones(2)), [2.0, 2.0])
    weight = 3.0
    np.testing.assert_array_equal(f(np.ones(2)), [3.0, 3.0])


def test_modules_among_the_arguments_are_looked_at() -> None:
    config = types.ModuleType("config")
    config.k = 2.0  # type: ignore[attr-defined]
    slope = sg.grad(lambda x, module: module.k * x)
    for k in (2.0, 3.0, 4.0):
        config.k = k  # type: ignore[attr-defined]
        assert slope(1.0, config) == k
    assert sg.grad(lambda x, xp: xp.sum(xp.array([x, 2 * x])))(1.0, np) == 3.0


@pytest.mark.parametrize(
    "decides",
    [
        lambda x, k: np.hstack([x * k, 1.0])[~np.isnan(GAPS)],
        lambda x, k: x * k + math.log(GAPS[0]),
        lambda x, k: x * k + np.argsort(GAPS > 1.5)[:3],
        lambda x, k: x * k if float(GAPS[0]) > 0 else x,
    ],
)
def test_what_numbers_are_asked_of_is_compared_and_the_rest_are_arguments(
    decides: Any, names: Any
) -> None:
    """Data with gaps must not make each number that is read beside them another program."""
    names("GAPS", np.array([1.0, 2.0, 3.0, np.nan]))

    def total(x: Any) -> Any:
        return np.sum(decides(x, SCALE) * WEIGHTS)

    g = sg.grad(total)
    for k in range(6):
        names("SCALE", 0.5 * k)
        names("WEIGHTS", np.array([1.0, 2.0, 3.0 + k]))
        np.testing.assert_allclose(g(X), SCALE * WEIGHTS, rtol=1e-14)
    assert g.traces <= 2
    names("GAPS", np.array([2.0, 3.0, 1.0, np.nan]))
    np.testing.assert_allclose(g(X), SCALE * WEIGHTS, rtol=1e-14)


def test_defined_functions_are_told_apart() -> None:
    """What a function closes over may be another in each call, for lent code, too."""
    x = sp.Symbol("x")
    kinds = [
        sg.define("TwiceOfIt", lambda x: 2 * x), sg.define("CubeOfIt", lambda x: x**3),
        sg.from_sympy(sp.sin(x), [x]), sg.from_sympy(sp.cos(x), [x]),
    ]  # fmt: skip
    slopes = [2.0, 3 * 1.5**2, np.cos(1.5), -np.sin(1.5)]
    chosen = kinds[0]
    g = sg.grad(lambda x: chosen(x))
    for _ in range(2):
        for chosen, slope in zip(kinds, slopes, strict=True):
            assert g(1.5) == pytest.approx(slope)
            assert sg.jvp(lambda x, f=chosen: f(x), (1.5,), (1.0,))[1] == pytest.approx(slope)
            assert sg.jvp(lambda x: chosen(x), (1.5,), (1.0,))[1] == pytest.approx(slope)  # noqa: B023


def _module(name: str, **names: Any) -> Any:
    made = types.ModuleType(name)
    vars(made).update(names)
    return made


#: What reads a name, and what the name stands for in turn: the first as everyone calls it.
OTHERS: dict[str, tuple[Any, list[Any]]] = {
    "ufunc": (lambda sin: lambda x: sin(x), [np.sin, np.cos, np.exp]),
    "function": (lambda mean: lambda x: mean(x), [np.mean, np.sum, np.prod]),
    "builtin": (lambda add: lambda x: add(x, x * x), [operator.add, operator.mul]),
    "python's": (lambda sum: lambda x: sum(x * x), [sum, max, np.sum]),  # noqa: A006
    "module": (lambda np: lambda x: np.sin(x), [np, _module("np", sin=np.cos)]),
    "type": (lambda float64: lambda x: float64(x[0]) * x[1], [np.float64, lambda z: 2 * z]),
    "class": (
        lambda A: lambda x: A.f(x),
        [type("A", (), {"f": np.sin}), type("A", (), {"f": np.cos})],
    ),
    "in a dict": (lambda d: lambda x: d["sin"](x), [{"sin": np.sin}, {"sin": np.cos}]),
    "attribute": (lambda h: lambda x: h.sin(x), [_module("h", sin=f) for f in (np.sin, np.cos)]),
    "default": (lambda sin: lambda x, sin=sin: sin(x), [np.sin, np.cos]),
    "partial": (lambda f: functools.partial(lambda f, x: f(x), f), [np.sin, np.cos]),
    "compiled": (lambda f: lambda x: f(x), [sg.compile(lambda x: x**2), sg.compile(np.cos)]),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_name_stands_for_may_be_another(name: str) -> None:
    """In functions of one code, which share what is compiled, and are answered by none's."""
    make, others = OTHERS[name]
    x, v = np.array([1.5, 2.5]), np.ones(2)
    for other in [*others, *others]:
        want = (np.asarray(make(other)(x + 1e-6)) - make(other)(x - 1e-6)) / 2e-6
        for f in (make(other), make(other)):
            np.testing.assert_allclose(sg.jvp(f, (x,), (v,))[1], want, rtol=1e-5, err_msg=name)


def test_a_global_function_may_be_another() -> None:
    space: dict[str, Any] = {"sin": np.sin}
    exec("def f(x): return sin(x)", space)
    g = sg.grad(space["f"])
    for f, slope in ((np.sin, np.cos(1.0)), (np.cos, -np.sin(1.0)), (np.sin, np.cos(1.0))):
        space["sin"] = f
        assert g(1.0) == pytest.approx(slope)


def writing_term(scale: float) -> Callable[[Any], Any]:
    def term(x: Any) -> Any:
        out = np.zeros(2)  # taken as it stands: an array that traced values go into
        out[0] = scale * x[0] ** 2
        return np.sum(out)

    return term


@pytest.mark.parametrize("count", [1, 16, 17, 40, 200])
@pytest.mark.parametrize("kind", [list, tuple, dict])
@pytest.mark.usefixtures("no_kernels")
def test_functions_in_a_container_are_taken_whatever_their_number(kind: Any, count: int) -> None:
    terms: Any = [writing_term(1.0 + k) for k in range(count)]
    held = dict(enumerate(terms)) if kind is dict else kind(terms)
    x = np.array([1.5, -0.5])
    g = sg.grad(lambda x: sum(held[k](x) for k in range(count)))
    by_argument = sg.grad(lambda x, held: sum(held[k](x) for k in range(count)))
    expected = [3.0 * sum(range(1, count + 1)), 0.0]
    np.testing.assert_allclose(g(x), expected)
    np.testing.assert_allclose(by_argument(x, held), expected)
    if kind is not tuple:
        held[count - 1] = writing_term(0.0)
        np.testing.assert_allclose(g(x), [3.0 * sum(range(1, count)), 0.0])


@pytest.mark.usefixtures("no_kernels")
def test_chains_of_objects_are_followed_to_their_end() -> None:
    last = end = SimpleNamespace(value=1.0, next=None)
    for k in range(200):
        last = SimpleNamespace(value=float(k), next=last)

    def f(x: Any) -> Any:
        total, link = 0.0, last
        while link is not None:
            total, link = total + link.value * x, link.next
        return total

    g = sg.grad(f)
    assert g(2.0) == f(1.0)
    end.value = 7.0
    assert g(2.0) == f(1.0)


def test_a_captured_float_that_becomes_an_integer_is_compared_again() -> None:
    """An integer decides (``order == 0``), so it is no data in the place of a float."""
    x, order = np.array([-1.5, 2.0, 0.5]), 3.0

    def f(x: Any) -> Any:
        return np.linalg.norm(x, order)

    g = sg.grad(f)
    for order in (3.0, 2.5, np.inf, 0, -1, -2, 5, 0.5, 0, 2):  # noqa: B007 - what f reads
        np.testing.assert_allclose(sg.compile(f)(x), f(x), rtol=1e-12)
        slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(g(x), slopes, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(
            sg.jvp(f, (x,), (np.ones(3),))[1], np.sum(slopes), rtol=1e-6, atol=1e-8
        )

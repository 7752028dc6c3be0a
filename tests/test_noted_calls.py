"""Functions that note how solvers call them: counters, and lists of what was tried."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from symgrad.errors import DifferencesWarning, NotCompiledWarning, TraceError
from symgrad.scipy import integrate, optimize

X = np.linspace(0.0, 1.0, 20)

#: A solver of SciPy's and ours, and a function for it.
SOLVERS: dict[str, tuple[Any, Any, Callable[..., Any], Callable[..., Any]]] = {
    "minimize": (
        scipy.optimize, optimize, lambda x: (x[0] - 1) ** 2 + (x[1] + x[0]) ** 4,
        lambda lib, f: lib.minimize(f, [0.0, 0.5]).x,
    ),
    "least_squares": (
        scipy.optimize, optimize, lambda x: x * x - np.array([1.0, 2.0]),
        lambda lib, f: lib.least_squares(f, [0.5, 0.5]).x,
    ),
    "root": (
        scipy.optimize, optimize, lambda x: x * x - np.array([1.0, 2.0]),
        lambda lib, f: lib.root(f, [0.5, 0.5]).x,
    ),
    "newton": (scipy.optimize, optimize, lambda x: x * x - 2, lambda lib, f: lib.newton(f, 1.0)),
    "brentq": (
        scipy.optimize, optimize, lambda x: x * x - 2, lambda lib, f: lib.brentq(f, 0.0, 2.0)
    ),
    "curve_fit": (
        scipy.optimize, optimize, lambda x, a, b: a * np.exp(-b * x),
        lambda lib, f: lib.curve_fit(f, X, np.exp(-2 * X), [1.0, 0.5])[0],
    ),
    "quad": (scipy.integrate, integrate, np.cos, lambda lib, f: lib.quad(f, 0.0, 2.0)[0]),
    "solve_ivp": (
        scipy.integrate, integrate, lambda t, y: -y,
        lambda lib, f: lib.solve_ivp(f, (0.0, 2.0), [1.0]).y[:, -1],
    ),
    "BDF": (
        scipy.integrate, integrate, lambda t, y: -y,
        lambda lib, f: lib.solve_ivp(f, (0.0, 2.0), [1.0], "BDF").y[:, -1],
    ),
    "LSODA": (
        scipy.integrate, integrate, lambda t, y: -y,
        lambda lib, f: lib.solve_ivp(f, (0.0, 2.0), [1.0], "LSODA").y[:, -1],
    ),
    "odeint": (
        scipy.integrate, integrate, lambda y, t: -y,
        lambda lib, f: lib.odeint(f, [1.0], [0.0, 2.0])[-1],
    ),
}  # fmt: skip


class Counted:
    """A model that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)

    def seen(self) -> int:
        return self.calls


class Listed(Counted):
    """A model that keeps what it has given."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.given = function, list[Any]()

    def __call__(self, *args: Any) -> Any:
        found = self.function(*args)
        self.given.append(found)
        return found

    def seen(self) -> int:
        assert all(isinstance(x, (np.ndarray, float)) for x in self.given)
        return len(self.given)


class Longer(Counted):
    """A model that binds a longer tuple to the name of what it has given."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.given = function, tuple[Any, ...]()

    def __call__(self, *args: Any) -> Any:
        found = self.function(*args)
        self.given += (found,)
        return found

    def seen(self) -> int:
        return len(self.given)


class Numbered(Counted):
    """A function that counts in a variable around it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        count = 0

        def counted(*args: Any) -> Any:
            nonlocal count
            count += 1
            return function(*args)

        self.counted, self.seen = counted, lambda: count  # type: ignore[method-assign]

    def __call__(self, *args: Any) -> Any:
        return self.counted(*args)


class Tallied(Counted):
    """A model that counts in a dictionary, which has no entry yet."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.tally = function, Counter[str]()

    def __call__(self, *args: Any) -> Any:
        self.tally["calls"] += 1
        return self.function(*args)

    def seen(self) -> int:
        return self.tally["calls"]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", [Counted, Listed, Longer, Numbered, Tallied])
@pytest.mark.parametrize("name", SOLVERS)
def test_calls_are_noted_as_scipys(name: str, kind: Any) -> None:
    """Two more are by solvers of differential equations, to choose the first step."""
    original, ours, function, solve = SOLVERS[name]
    theirs, own = kind(function), kind(function)
    np.testing.assert_allclose(solve(ours, own), solve(original, theirs), rtol=1e-5)
    more = 2 if original is scipy.integrate and name != "quad" else 0
    assert theirs.seen() <= own.seen() <= theirs.seen() + more


#: More solvers; of these the functions below leave values in objects.
LEAVING = SOLVERS | {
    "SLSQP": (
        scipy.optimize, optimize, lambda x: x[0] ** 2 + x[1] + 1.5,
        lambda lib, f: lib.minimize(
            lambda x: np.sum((x - 1.0) ** 2), [0.0, 0.5], constraints={"type": "eq", "fun": f}
        ).x,
    ),
    "trust-constr": (
        scipy.optimize, optimize, SOLVERS["minimize"][2],
        lambda lib, f: lib.minimize(f, [0.0, 0.5], method="trust-constr").x,
    ),
    "fsolve": (*SOLVERS["root"][:3], lambda lib, f: lib.fsolve(f, [0.5, 0.5])),
    "leastsq": (*SOLVERS["root"][:3], lambda lib, f: lib.leastsq(f, [0.5, 0.5])[0]),
    "root_scalar": (
        *SOLVERS["newton"][:3],
        lambda lib, f: lib.root_scalar(f, x0=1.0, method="newton").root,
    ),
    "Radau": (
        scipy.integrate, integrate, lambda t, y: -y,
        lambda lib, f: lib.solve_ivp(f, (0.0, 2.0), [1.0], "Radau", t_eval=[1.0, 2.0]).y[:, -1],
    ),
    "vectorized": (
        scipy.integrate, integrate, lambda t, y: -y,
        lambda lib, f: lib.solve_ivp(f, (0.0, 2.0), [1.0], "BDF", vectorized=True).y[:, -1],
    ),
    "dense_output": (
        scipy.integrate, integrate, lambda t, y, k: -k * y,
        lambda lib, f: lib.solve_ivp(
            f, (0.0, 2.0), [1.0], dense_output=True, args=(1.0,)).sol(2.0),
    ),
    "events": (
        scipy.integrate, integrate, lambda t, y: -y,
        lambda lib, f: lib.solve_ivp(f, (0.0, 2.0), [1.0], events=lambda t, y: y[0] - 0.5).y[:, -1],
    ),
    "solve_bvp": (
        scipy.integrate, integrate, lambda x, y: np.stack([y[1], -y[0]]),
        lambda lib, f: lib.solve_bvp(
            f, lambda a, b: np.array([a[0], b[0] - 1.0]), X, np.zeros((2, 20))).y[0, -1:],
    ),
}  # fmt: skip


class Leaving:
    """A model that leaves what it computes in its attributes, as its users look at it there."""

    def __init__(self, function: Callable[..., Any], way: str) -> None:
        self.function, self.way = function, way
        self.found: Any = None
        self.parts: dict[str, Any] = {}
        self.inner: Any = None

    def __call__(self, *args: Any) -> Any:
        found = self.function(*args)
        if self.way == "attribute":
            self.found = found
        elif self.way == "dictionary":
            self.parts["found"] = found
        elif self.way == "tuple":
            self.found = (args, [found])
        else:
            self.inner = Tank([1.0, 2.0])
            self.inner.found = found
        return found

    def left(self) -> Any:
        """Return what was left."""
        if self.way == "tuple":
            return self.found[1][0]
        return {"attribute": self.found, "dictionary": self.parts.get("found"),
                "object": getattr(self.inner, "found", None)}[self.way]  # fmt: skip


@pytest.mark.parametrize("way", ["attribute", "dictionary", "tuple", "object"])
@pytest.mark.parametrize("name", LEAVING)
def test_what_is_left_in_objects_are_numbers(name: str, way: str) -> None:
    """Values of the last call, as SciPy's solvers leave them, not those of a trace."""
    original, ours, function, solve = LEAVING[name]
    theirs, own = Leaving(function, way), Leaving(function, way)
    for _ in range(2):  # the second solve finds what the first has compiled
        np.testing.assert_allclose(solve(ours, own), solve(original, theirs), rtol=2e-3, atol=1e-6)
        assert isinstance(own.left(), (np.ndarray, float))
        if name != "quad":
            np.testing.assert_allclose(own.left(), theirs.left(), rtol=1e-2, atol=2e-3)
        own = Leaving(function, way)  # nor is it one of another object


#: Solvers that try to trace a function at each call.
TRYING = ("minimize", "least_squares", "root", "curve_fit", "solve_ivp", "BDF", "LSODA", "odeint")


class Digits:
    """A function that cannot be traced as long as it writes numbers as text."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.written = function, True
        self.calls = itertools.count()  # which no trace undoes

    def function_of(self) -> Callable[..., Any]:
        def called(*args: Any) -> Any:
            next(self.calls)
            found = self.function(*args)
            return np.array([float(f"{x:.17g}") for x in found]) if self.written else found

        return called


@pytest.mark.parametrize("name", TRYING)
def test_a_refused_function_is_tried_ever_more_seldom(name: str) -> None:
    """To trace takes a hundred times what a short solution takes."""
    original, ours, function, solve = SOLVERS[name]
    theirs = Digits(lambda *args: np.atleast_1d(function(*args)))
    own = Digits(theirs.function)

    def counted(lib: Any, digits: Digits) -> int:
        before = next(digits.calls)
        solve(lib, digits.function_of())
        return next(digits.calls) - before - 1

    want = counted(original, theirs)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = [counted(ours, own) for _ in range(40)]
    assert len(said) == 40  # each is told of
    assert {str(w.message) for w in said} == {str(said[0].message)}
    tried = [k for k, count in enumerate(found) if count > want]
    assert tried == [0, 2, 6, 14, 30], (want, found)
    own.written = False  # it is found out before as many calls have passed again
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(40):
            counted(ours, own)
    assert len(said) < 32


def test_functions_of_one_decorator_are_told_apart() -> None:
    def scaled(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda t, y: 2.0 * f(t, y)

    table = [1.0, 2.0, 3.0]
    with pytest.warns(NotCompiledWarning):
        integrate.solve_ivp(scaled(lambda t, y: -table[int(t)] * y), (0.0, 2.0), [1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        integrate.solve_ivp(scaled(lambda t, y: -y), (0.0, 2.0), [1.0])


def with_ipopt(f: Callable[..., Any]) -> Any:
    return optimize.minimize(f, [0.0, 0.5], method="ipopt").x


def with_ida(f: Callable[..., Any]) -> Any:
    pytest.importorskip("sksundae")
    return integrate.solve_dae(f, (0.0, 2.0), [1.0], [-1.0]).y[:, -1]


@pytest.mark.parametrize(("solve", "function"), [
    (with_ipopt, lambda x: (x[0] - 1) ** 2 + (x[1] + 1) ** 2),
    (with_ida, lambda t, y, yp: yp + y),
])  # fmt: skip
def test_those_without_another_way_leave_numbers_and_refuse_notes(
    solve: Callable[..., Any], function: Callable[..., Any]
) -> None:
    for way in ("attribute", "dictionary", "object", "tuple"):
        for _ in range(2):
            own = Leaving(function, way)
            solve(own)
            assert isinstance(own.left(), (np.ndarray, float))
            assert np.allclose(own.left(), 0.0, atol=1e-3)
    for kind in (Counted, Listed):
        noted = kind(function)
        with pytest.raises(TraceError, match="counts its calls"):
            solve(noted)
        assert noted.seen() == 0


def test_a_callback_sees_what_the_function_has_left() -> None:
    seen: list[tuple[Any, Any]] = []

    class Model:
        parts: Any = None

        def cost(self, x: Any) -> Any:
            self.parts = (x - 1.0) ** 2
            return np.sum(self.parts)

    model = Model()
    optimize.minimize(model.cost, [3.0, 0.5], callback=lambda x: seen.append((x, model.parts)))
    assert seen
    for x, parts in seen:
        np.testing.assert_array_equal(parts, (x - 1.0) ** 2)


@pytest.mark.filterwarnings("ignore::symgrad.errors.DifferencesWarning")
@pytest.mark.parametrize(("empty", "add"), [
    ([], lambda h, x: [*h, x]), ("", lambda h, _: h + "."),
    (np.zeros(0), lambda h, x: np.append(h, x[0])),
])  # fmt: skip
def test_what_is_bound_anew_is_noted(empty: Any, add: Callable[..., Any]) -> None:
    def count(library: Any) -> int:
        history = empty

        def cost(x: Any) -> Any:
            nonlocal history
            history = add(history, x)
            return np.sum((x - 1) ** 2)

        library.minimize(cost, [0.0, 0.5])
        return len(history)

    assert count(optimize) == count(scipy.optimize)


class Best:
    """A model that keeps the best of its values, or depends on the last one."""

    def __init__(self, way: str) -> None:
        self.way, self.best, self.at, self.last = way, np.inf, None, 0.0

    def cost(self, x: Any) -> Any:
        value = np.sum((x - 1.0) ** 2)
        if self.way == "least":
            self.best = min(self.best, value)
        elif self.way == "where" and (self.at is None or value < self.best):
            self.best, self.at = value, x.copy()
        elif self.way == "smooth":
            self.last = 0.5 * self.last + 0.5 * value
            self.best = np.minimum(self.best, self.last)
        return value


@pytest.mark.parametrize("way", ["least", "where", "smooth"])
def test_what_reads_an_earlier_call_is_scipys(way: str) -> None:
    ours, theirs = Best(way), Best(way)
    with pytest.warns(DifferencesWarning, match="earlier call"):
        found = optimize.minimize(ours.cost, [0.3, 0.2])
    want = scipy.optimize.minimize(theirs.cost, [0.3, 0.2])
    np.testing.assert_array_equal(found.x, want.x)
    # A call or two more are made by those who try to trace it.
    np.testing.assert_allclose(float(ours.best), theirs.best, rtol=0.1, atol=1e-3)
    assert (ours.at is None) == (theirs.at is None)
    if ours.at is not None:
        np.testing.assert_array_equal(ours.at, theirs.at)


def test_users_are_told() -> None:
    log: list[Any] = []

    def cost(x: Any) -> Any:
        log.append(x)
        return np.sum(x * x)

    def rate(t: Any, y: Any) -> Any:
        log.append(t)
        return -y

    with pytest.warns(DifferencesWarning, match=r"adds to a list.*callback"):
        optimize.minimize(cost, [1.0, 2.0])
    with pytest.warns(NotCompiledWarning, match="adds to a list"):
        integrate.solve_ivp(rate, (0.0, 1.0), [1.0])


def test_what_notes_no_calls_is_compiled() -> None:
    memo: dict[int, Any] = {}
    scratch = [0.0, 0.0]

    class Model:
        ready = False

        def rate(self, t: Any, y: Any) -> Any:
            if not self.ready:
                self.weights, self.ready = np.arange(2.0), True
            self.last = y
            scratch[0], scratch[1] = -y[0], y[0] * memo.setdefault(len(y), 0.5)
            return np.array(scratch) * (1 - 0.1 * self.weights)

    found = integrate.solve_ivp(Model().rate, (0.0, 1.0), [1.0, 0.0])  # without a warning
    want = scipy.integrate.solve_ivp(Model().rate, (0.0, 1.0), [1.0, 0.0])
    np.testing.assert_allclose(found.y, want.y, rtol=1e-10)


class Tank:
    """A model that is made in each call, of arrays without numbers while it is traced."""

    def __init__(self, rates: Any) -> None:
        self.matrix = np.zeros((2, 2))
        self.matrix[0, 0], self.matrix[1, 1] = rates[0], rates[1]

    def cost(self) -> Any:
        levels = []
        for k in range(2):
            levels.append(np.sum((self.matrix[k] - 1.0) ** 2))  # noqa: PERF401 - as written
        return levels[0] + levels[1]


class Simulator:
    """A model that sets its clock and its list of levels anew in each call."""

    def __init__(self) -> None:
        self.clock, self.levels = 0.0, list[Any]()

    def cost(self, rates: Any) -> Any:
        self.clock, level = 0.0, 1.0
        self.levels.clear()
        for _ in range(3):
            self.clock += 0.5
            level = level - 0.5 * rates[0] * level
            self.levels.append(level)
        return (level - 0.3) ** 2 + rates[1] ** 2


@pytest.mark.parametrize("cost", [lambda x: Tank(x).cost(), Simulator().cost])
def test_objects_of_the_users_are_no_notes(cost: Callable[..., Any]) -> None:
    found = optimize.minimize(cost, [0.3, 0.2])  # without a warning
    want = scipy.optimize.minimize(cost, [0.3, 0.2])
    np.testing.assert_allclose(found.x, want.x, atol=1e-4)

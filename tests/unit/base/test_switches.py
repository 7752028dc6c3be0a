"""Optional passes: answers are the same without each of them, and machine code is not."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.integrate import solve_ivp

import symgrad as sg
from symgrad._core.base.switches import SWITCHES, is_on, left_out, named, without
from symgrad._core.pipeline import lower
from symgrad.errors import ArgumentError

X = np.random.default_rng(0).normal(size=200)
#: What has no part in the machine code of these programs: no condition is a result, and no values
#: of sparse matrices are.
OUTSIDE = {"recall", "long loops", "together", "join"}


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def periodic(x: Any) -> Any:
    u = x[:180].reshape(12, 15)
    v = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
    return np.sum(v**2 * np.sin(u))


def inside(x: Any) -> Any:
    u = np.concatenate([x] * 20).reshape(40, 100)
    v = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return np.sum(v**3)


def distances(x: Any) -> Any:
    p = x[:60].reshape(20, 3)
    return np.sum(np.exp(-np.sum((p[:, None] - p) ** 2, -1)))


def steps(x: Any) -> Any:
    s = 0.0
    for k in range(800):
        s = np.sin(s + 0.3 * x[k % 190]) * 0.9 + np.tanh(x[k % 170] - s) * 0.1
    return s


def kept(x: Any) -> Any:
    f = np.zeros(190)
    for k in range(1, 190):
        f[k] = x[k] + f[k - 1] / 2
    return np.sum(np.array([x[k + 1] - 2 * x[k] + f[k - 1] for k in range(1, 180)]) ** 2)


def scanned(x: Any) -> Any:
    def step(carry: Any, v: Any) -> Any:
        table = carry[1].copy()
        table[3] = table[3] + v * carry[0]
        return (0.9 * carry[0] + np.tanh(v), table), carry[0]

    (last, table), found = sg.scan(step, (x[0], x[:100] * 2), x)
    return last + np.sum(found**2) + np.sum(table**2)


def examples(x: Any) -> Any:
    def grow(a: Any) -> Any:
        return sg.while_loop(lambda c: c < 10.0, lambda c: c * (1.1 + a * a), 1.0 + 0 * a)

    return np.sum(sg.vmap(grow)(0.1 * x))


def shares(x: Any) -> Any:
    a, b = np.exp(0.1 * x[:9]) + 1, np.exp(0.1 * x[9:18])
    p = special.gammainc(a, b) + special.betainc(a, b, 0.3) + special.betainc(b, a, 0.3)
    return np.sum(p**2) + special.gammainc(b[0], a[0])


def matrices(x: Any) -> Any:
    a = x[:144].reshape(12, 12)
    m = a @ a.T + 12 * np.eye(12)
    return np.sum(np.linalg.solve(m, a)) + np.linalg.slogdet(m)[1] + np.sum(a.T @ x[:12] * x[:12])


def long(x: Any) -> Any:
    y = np.concatenate([x] * 40)
    for k in range(12):
        y = np.sin(y) * np.exp(-0.1 * y * y) + 0.1 * k
    return np.sum(y)


def twice(x: Any) -> Any:
    def newton(a: Any, b: float) -> Any:
        return sg.fori_loop(0, 30, lambda _, c: 0.5 * (c + a * a / (c + b)), a * a + 1.0)

    return newton(x[0], 2.0) + newton(x[1], 3.0)


def decided(x: Any) -> Any:
    y = 2 * x
    y[x > 0] = np.cos(x[x > 0])
    return np.sum(y**2) if all(v < 9 for v in x[:60]) else y[0]


def solved(x: Any) -> Any:
    def f(t: Any, y: Any) -> Any:
        return [0.7 * y[0] - x[0] ** 2 * y[0] * y[1], 0.1 * y[0] * y[1] - y[1]]

    return solve_ivp(f, (0, 2.0), [1.0, 0.5], rtol=1e-8, atol=1e-10).y[0, -1]


CORPUS = (rosenbrock, periodic, inside, distances, scanned, examples, shares, matrices,
          long, twice, decided, solved)  # fmt: skip


#: Programs of many operations, for the passes that are about these.
LONG = {"arrays": (kept,), "roll": (steps,), "simplify": (steps,)}


def again(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function as another object, which nothing is kept for."""
    return types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


def code(f: Callable[..., Any]) -> str:
    """Return the machine code of value and gradient of a function."""
    return lower(sg.value_and_grad(again(f)).program(X)).text


def answers(f: Callable[..., Any]) -> list[Any]:
    """Return the value, the gradient and its change along a direction."""
    f = again(f)
    return [*sg.value_and_grad(f)(X), sg.jvp(sg.grad(f), (X,), (np.cos(X),))[1]]


CODE: dict[str, str] = {}
ANSWERS: dict[str, list[Any]] = {}


def compared(f: Callable[..., Any], *names: str) -> bool:
    """Tell whether machine code is other code without some passes; compare answers if so."""
    name = f.__name__
    if name not in CODE:
        CODE[name] = code(f)
    with without(*names):
        if code(f) == CODE[name]:
            return False
        found = answers(f)
    if name not in ANSWERS:
        ANSWERS[name] = answers(f)
    for u, v in zip(found, ANSWERS[name], strict=True):
        np.testing.assert_allclose(u, v, rtol=1e-6, atol=1e-9 * np.max(np.abs(v)))
    return True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::symgrad.errors.SlowWarning")
@pytest.mark.parametrize("name", [*SWITCHES, "all"])
def test_answers_are_the_same_without(name: str) -> None:
    """A pass that is left out changes machine code of some program, and no answer."""
    changed = [compared(f, name) for f in (*CORPUS, *LONG.get(name, ()))]
    assert any(changed) == (name not in OUTSIDE)


@pytest.mark.parametrize("f", [rosenbrock, distances, kept])
def test_all_are_left_out_at_once(f: Callable[..., Any]) -> None:
    assert compared(f, "all")


def test_what_is_left_out_is_named() -> None:
    with without("fuse"), without("roll", "join"):
        assert not is_on("fuse")
        assert left_out() == "fuse,join,roll"
    assert is_on("fuse")
    assert named("") == frozenset()
    assert named("all") == SWITCHES.keys()
    with pytest.raises(ArgumentError, match="fuze; what can be left out: all, recall"):
        named("fuse, fuze")


def test_the_page_lists_all() -> None:
    page = (Path(__file__).parents[3] / "docs" / "design" / "optional-passes.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {meaning} |" for name, meaning in SWITCHES.items()]

"""Programs of 100,000 steps, the order of steps, and the same program in every process."""

from __future__ import annotations

import functools
import gc
import hashlib
import itertools
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.graph import _interned
from symgrad._core.pipeline import lower
from symgrad._core.program import kahn
from symgrad.errors import CycleError

MANY = 100_000

#: A function that reads a list of a hundred thousand entries is told to pass it along.
large_list = pytest.mark.filterwarnings("ignore:steps holds:symgrad.errors.CaptureWarning")


def chain(count: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(count):
            x = np.sin(x)
        return np.sum(x)

    return f


def tangle(count: int) -> Callable[[Any, Any], Any]:
    """Return a function of ``count`` random operations on any of the values before."""
    rng = random.Random(0)
    unary = [np.sin, np.cos, np.tanh, np.arctan, np.negative]
    binary = [lambda a, b: 0.5 * (a + b), lambda a, b: a * np.cos(b), lambda a, b: a - 0.5 * b]
    steps: list[tuple[Any, int, int]] = []
    size, last = 2, 0
    while size < count:
        if rng.random() < 0.4:
            steps.append((rng.choice(unary), rng.randrange(max(0, last - 50), last + 2), -1))
            size += 1
        else:
            j, k = (rng.randrange(max(0, last - 50), last + 2) for _ in range(2))
            steps.append((rng.choice(binary), j, k))
            size += 2
        last += 1

    def f(x: Any, y: Any) -> Any:
        values = [x, y]
        for function, j, k in steps:
            values.append(function(values[j]) if k < 0 else function(values[j], values[k]))
        return np.tanh(sum(values[-60:]))

    return f


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    """Nodes must be freed, without recursion, when nobody needs them any more."""
    sg.grad(np.sin)(0.5)  # the patterns of the rewrite rules stay
    gc.collect()
    before = len(_interned._table)
    yield
    gc.collect()
    assert len(_interned._table) <= before + 100


def go_through(f: Callable[..., Any], args: tuple[Any, ...], size: int) -> None:
    """Trace, differentiate, schedule, print and run a long program."""
    with sg.backend("numpy"):
        g = sg.value_and_grad(f, argnums=tuple(range(len(args))))
        value, slopes = g(*args)
        program = g.program(*args)
    assert len(program.steps) > 1.5 * size
    assert value == pytest.approx(f(*args), rel=1e-9)
    near = f(*(x + 1e-7 for x in args)) - f(*(x - 1e-7 for x in args))
    assert sum(map(np.sum, slopes)) == pytest.approx(near / 2e-7, rel=1e-3, abs=1e-6)
    text = str(program)
    assert text.count("\n") == len(program.steps) + 1
    assert "test_scale.py" in text
    assert f"{program.outputs[0]!r}".startswith("<")
    assert len(program.levels) == len(program.steps)
    assert len(program.fingerprint) == 64


@pytest.mark.usefixtures("written_out")
@pytest.mark.slow
@pytest.mark.usefixtures("nothing_is_left")
def test_long_scalar_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMGRAD_CHECK", "0")  # half of the time; the shorter ones are checked
    go_through(chain(MANY), (0.5,), MANY)


@pytest.mark.usefixtures("written_out")
@pytest.mark.slow
@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize("size", [5_000, pytest.param(MANY, marks=pytest.mark.slow)])
def test_long_array_chains(size: int) -> None:
    go_through(chain(size), (np.array([0.5, -0.25, 1.0]),), size)


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize("size", [5_000, pytest.param(MANY, marks=[pytest.mark.slow, large_list])])
@pytest.mark.slow
def test_many_random_scalar_operations(size: int) -> None:
    go_through(tangle(size), (0.5, 0.25), size)


@pytest.mark.slow
def test_source_and_batches_of_long_programs() -> None:
    size = 1_000
    f = chain(size)
    program = sg.compile(f).program(0.5)
    source = program.source("long")
    assert source.count("\n") > size
    scope: dict[str, Any] = {}
    exec(source, scope)
    assert scope["long"](0.5) == f(0.5)
    with sg.backend("numpy"):
        batch = sg.vmap(sg.grad(f))(np.array([0.1, 0.5]))
        assert batch[1] == pytest.approx(sg.grad(f)(0.5), rel=1e-12)
        assert sg.hessian(f)(0.5) == pytest.approx(
            (sg.grad(f)(0.5 + 1e-5) - sg.grad(f)(0.5 - 1e-5)) / 2e-5, rel=1e-6
        )


@pytest.mark.slow
def test_wide_programs() -> None:
    def f(x: Any) -> Any:
        return sum(np.sin(x[k]) * x[k + 1] for k in range(999))

    x = np.linspace(0, 1, 1000)
    with sg.backend("numpy"):
        got = sg.grad(f)(x)
    want = np.zeros(1000)
    want[:-1] += np.cos(x[:-1]) * x[1:]
    want[1:] += np.sin(x[:-1])
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    program = sg.grad(f).program(x)
    # A thousand reads cost one array, not a thousand.
    assert sum(n.op.kind in ("assemble", "scatter") for n in program.steps) < 5


@pytest.mark.usefixtures("written_out")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "array", pytest.param("tangle", marks=large_list)])
def test_long_programs_compile(name: str) -> None:
    f, args = {
        "chain": (chain(MANY), (0.5,)),
        "array": (chain(5000), (np.array([0.5, -0.25, 1.0]),)),
        "tangle": (tangle(MANY), (0.5, 0.25)),
    }[name]
    g = sg.value_and_grad(f, argnums=tuple(range(len(args))))
    value, slopes = g(*args)
    with sg.backend("numpy"):
        want, wanted = g(*args)
    assert value == pytest.approx(want, rel=1e-9)
    for a, b in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.slow
def test_a_thousand_steps_compile() -> None:
    f = tangle(1500)
    got = sg.value_and_grad(f, argnums=(0, 1))(0.5, 0.25)
    with sg.backend("numpy"):
        want = sg.value_and_grad(f, argnums=(0, 1))(0.5, 0.25)
    np.testing.assert_allclose(np.hstack(got), np.hstack(want), rtol=1e-9)


# ---------------------------------------------------------------- order


def test_kahn_orders_by_need_and_then_by_place() -> None:
    needs = {"d": ["b", "c"], "c": ["a"], "b": ["a"], "a": [], "e": []}
    order, levels = kahn(["d", "e", "c", "b", "a"], lambda item: needs[item])
    assert order == ["e", "a", "c", "b", "d"]
    assert levels == [0, 0, 1, 1, 2]
    assert kahn([], lambda item: []) == ([], [])
    assert kahn(["a", "b"], lambda item: ["a", "a", "elsewhere"] if item == "b" else []) == (
        ["a", "b"],
        [0, 1],
    )


def test_a_cycle_is_named() -> None:
    needs = {1: [], 2: [1, 4], 3: [2], 4: [3], 5: [4]}
    with pytest.raises(CycleError, match="needs") as caught:
        kahn(list(needs), needs.__getitem__, name=lambda item: f"step {item}")
    assert str(caught.value) in {
        "the graph has a cycle: step 2 needs step 4 needs step 3 needs step 2",
        "the graph has a cycle: step 3 needs step 2 needs step 4 needs step 3",
        "the graph has a cycle: step 4 needs step 3 needs step 2 needs step 4",
    }
    with pytest.raises(CycleError, match="x needs x"):
        kahn(["x"], lambda item: ["x"])
    assert issubclass(CycleError, ValueError)


def test_a_long_cycle() -> None:
    count = 50_000
    with pytest.raises(CycleError, match="cycle"):
        kahn(range(count), lambda k: [(k + 1) % count])
    order, levels = kahn(range(count), lambda k: [k + 1] if k + 1 < count else [])
    assert order == list(reversed(range(count)))
    assert levels == list(range(count))


def test_steps_of_a_level_do_not_need_each_other() -> None:
    program = sg.grad(lambda x: np.sum(np.sin(x) * np.cos(x[::-1]))).program(np.ones(3))
    level = dict(zip(program.steps, program.levels, strict=True))
    for step in program.steps:
        for operand in step.operands:
            if operand in level:
                assert level[operand] < level[step]
    assert min(program.levels) == 0
    assert max(program.levels) < len(program.steps)


# ---------------------------------------------------------------- the same in every process


SCRIPT = """
    import hashlib
    import numpy as np
    import scipy.special as special
    import symgrad as sg
    from symgrad._core.pipeline import lower

    def f(p, x, *, scale):
        h = np.tanh(x @ p["w"] + p["b"]) * scale
        picked = h[[0, -1, 0]] + np.concatenate([h[:2], h[-1:]])
        spread = np.where(picked > 0.1, picked, special.expit(picked)) ** 3
        both = np.stack([np.cumsum(spread), np.roll(spread, 1)])
        return np.sum(np.einsum("ij,ij->j", both, both)) / x.shape[0] + np.max(h) * np.var(x)

    p = {"w": np.ones(4), "b": 0.5}
    x = np.arange(12.0).reshape(3, 4) / 7
    makers = [sg.compile, sg.value_and_grad, sg.jacobian, sg.hessian,
              lambda f: sg.vmap(sg.grad(f), in_axes=(None, 0))]
    digest = hashlib.sha256()
    for make in makers:
        data = np.stack([x, x]) if "lambda" in repr(make) else x
        program = make(f).program(p, data, scale=2.0)
        low = lower(program, vector_math=False)
        for text in (str(program), program.source(), program.fingerprint, low.text):
            digest.update(text.encode())
            print(hashlib.sha256(text.encode()).hexdigest()[:12], end=" ")
    print(digest.hexdigest())
"""


@pytest.mark.slow
def test_programs_do_not_depend_on_the_process(tmp_path: Path) -> None:
    root = str(Path(sg.__file__).parent.parent)

    def run(seed: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(SCRIPT)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(run, ["0", "12345"])
    assert first == second
    assert len(first.split()) == 21


def test_programs_do_not_depend_on_what_ran_before() -> None:
    def text() -> str:
        program = sg.grad(lambda x, y: np.sum(np.exp(-x * y) * x) + y**3).program(np.ones(3), 2.0)
        return hashlib.sha256((str(program) + program.fingerprint).encode()).hexdigest()

    first = text()
    for _ in range(3):
        sg.grad(lambda x, y: np.sum(np.exp(-y * x) * y)).program(np.ones((2, 2)), 2.0)
        assert text() == first


@pytest.mark.usefixtures("nothing_is_left")
def test_functions_at_values_are_freed_with_their_function() -> None:
    for k in range(3):
        f = chain(100 + k)
        with sg.backend("numpy"):
            sg.jvp(f, (0.5,), (1.0,))
            sg.vjp(f, 0.5)[1](1.0)
            sg.hvp(f, (0.5,), (1.0,))


@pytest.mark.filterwarnings("ignore:the function advances the iterator")
def test_functions_at_values_trace_once() -> None:
    calls = itertools.count()

    def f(x: Any) -> Any:
        next(calls)
        return np.sin(x)

    @functools.wraps(f)
    def g(x: Any) -> Any:
        next(calls)
        return np.cos(x)

    class Thing:
        def method(self, x: Any) -> Any:
            next(calls)
            return x**2

    thing, other = Thing(), Thing()
    with sg.backend("numpy"):
        for _ in range(3):
            assert sg.jvp(f, (0.5,), (1.0,))[1] == np.cos(0.5)
            assert sg.jvp(g, (0.5,), (1.0,))[1] == -np.sin(0.5)  # not f's, though it wraps f
            assert sg.jvp(thing.method, (3.0,), (1.0,))[1] == 6
            assert sg.jvp(other.method, (2.0,), (1.0,))[1] == 4
            assert sg.jvp(np.exp, (0.0,), (1.0,))[1] == 1
            assert sg.jvp(sg.grad(f), (0.5,), (1.0,))[1] == -np.sin(0.5)
    assert next(calls) == 4 + 3


# ---------------------------------------------------------------- long programs that repeat


def pendulum(steps: int) -> Callable[[Any], Any]:
    """Return Runge's method in a Python loop; it stops pushing where the angle is large."""

    def f(x: Any) -> Any:
        angle, speed, friction = x[0], x[1], x[2]
        for _ in range(steps):
            middle = speed - 0.05 * np.sin(angle)
            turned = angle + 0.05 * middle
            push = np.where((turned > 1) | (turned < -1), 0.0, 0.01 * np.cos(turned))
            angle = angle + 0.1 * middle
            speed = speed - 0.1 * (np.sin(turned) + friction * middle) + push
        return angle * angle + speed

    return f


def test_random_programs_repeated() -> None:
    f = tangle(150)

    def again(x: Any, y: Any) -> Any:
        for _ in range(5):
            x, y = f(x, y), f(y, 0.5 * x)
        return x + y

    g = sg.grad(again, argnums=(0, 1))
    with sg.backend("numpy"):
        expected = g(0.3, 0.7)
    np.testing.assert_allclose(g(0.3, 0.7), expected, rtol=1e-9)


@pytest.mark.slow
def test_a_short_program_with_a_long_loop_body() -> None:
    f = pendulum(110)

    def h(x: Any) -> Any:
        turn = lambda _, c: 0.5 * np.stack([f(c), c[1], 0.9 * c[2]])  # noqa: E731
        return np.sum(sg.fori_loop(0, 3, turn, x))

    g, x = sg.grad(h), np.array([0.5, 1.0, 0.1])
    assert lower(g.program(x)).straight
    with sg.backend("numpy"):
        expected = g(x)
    np.testing.assert_allclose(g(x), expected, rtol=1e-11)

"""Loops that Python has written out become loops again, and mean the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.control import _reroll

Array = Any
N = 90


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let short repeats be loops, so that the tests are quick."""
    monkeypatch.setattr(_reroll, "LONG", 60)
    monkeypatch.setattr("symgrad._dispatch._function.words_of", lambda *_: None)  # found anew
    return


def lorenz(p: Array) -> Any:
    def slope(s: Any) -> Any:
        x, y, z = s
        return p[3] * (y - x), x * (p[4] - z) - y, x * y - p[5] * z

    def along(s: Any, k: Any, h: float) -> Any:
        return tuple(a + h * b for a, b in zip(s, k, strict=True))

    s = (p[0], p[1], p[2])
    for _ in range(N):
        a = slope(s)
        b = slope(along(s, a, 0.005))
        c = slope(along(s, b, 0.005))
        d = slope(along(s, c, 0.01))
        s = tuple(v + 0.01 / 6 * (i + 2 * j + 2 * k + m)
                  for v, i, j, k, m in zip(s, a, b, c, d, strict=True))  # fmt: skip
    return s[0] * s[1] + s[2]


def driven(p: Array) -> Any:
    table = np.cos(np.arange(float(N)))
    y, out = p[0], []
    for k in range(N):
        y = np.sin(y * p[1]) + table[k] * p[2]
        out.append(y)
    return np.sum(np.stack(out) ** 2 * np.arange(N))


def elements(p: Array) -> Any:
    y, loss = p[0], 0.0
    for k in range(1, N - 1):
        y = np.sin(y * p[k]) + p[k + 1]
        loss = (y - p[N - 1 - k]) ** 2 + loss
    return loss


def rows(p: Array) -> Any:
    table = np.sin(np.arange(4.0 * N).reshape(4, N))
    u, x = np.tanh(p[:4]), np.stack([p, p**2])
    for k in range(N):
        u = 0.9 * np.roll(u, 1) + table[:, k] * x[1, k] + x[:, N - 1 - k].sum()
    return np.sum(u**2)


def permuted(p: Array) -> Any:
    order = np.random.default_rng(0).permutation(N)
    y = 0.1
    for k in range(N):
        y = y * np.cos(p[int(order[k])]) + p[k % 7]
    return y


def bashforth(p: Array) -> Any:
    y, before, older = p[0], -p[1], -p[2]
    for _ in range(N):
        slope = -np.sin(y) * p[1]
        y = y + 0.01 * (23 * slope - 16 * before + 5 * older) / 12
        before, older = slope, before
    return y * older


def nested(p: Array) -> Any:
    u = [p[k] for k in range(6)]
    for k in range(40):
        u = [u[0], *(u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1]) * p[6] for i in range(1, 5)),
             np.sin(u[5]) + 0.01 * k]  # fmt: skip
    return sum(u[i] ** 2 * (i + 1) for i in range(6))


def two_loops(p: Array) -> Any:
    y = p[0]
    for _ in range(N):
        y = np.sin(y) + p[1]
    z = y
    for k in range(N):
        z = z * np.cos(p[2]) + y / (1 + k)
    return z


def overwritten(p: Array) -> Any:
    y = sg.numpy.zeros(N)
    y[0] = p[0]
    for k in range(1, N):
        y[k] = np.sin(y[k - 1]) * p[1] + p[2] * y[k - 1]
    return np.sum(y * p) + y[-1]


def decided(p: Array) -> Any:
    y = p[0]
    for _ in range(N):
        y = 3.2 * y * (1 - y) if y < 2 else y * p[1]
        y = np.cos(p[2]) * y
    return y


def matrices(p: Array) -> Any:
    a, x = np.reshape(p[:9], (3, 3)), p[9:12]
    for _ in range(60):
        x = np.tanh(a @ x)
    return np.sum(x)


def complex_steps(p: Array) -> Any:
    z = p[0] + 1j * p[1]
    for _ in range(N):
        z = z * z * 0.5 + (p[2] + 0.1j)
    return np.abs(z) ** 2


def first_again(p: Array) -> Any:
    """Every round reads what an early one computed."""
    y = p[0]
    early = y
    for k in range(N):
        y = np.sin(y * p[1]) + early
        if k == 5:
            early = y
    return y


def passes(p: Array) -> Any:
    """Every round reads what the same round of the pass before gave, past steps of other shapes."""
    kinds = np.random.default_rng(0).integers(4, size=20)
    u, kept = p[:3], []
    for _ in range(N):
        u = np.cos(u)
        kept.append(u)
    for _ in range(2):
        m = np.outer(u, u)
        for kind in kinds:
            m = [np.sin, np.tanh, np.cos, lambda m: m @ m.T + p[4]][kind](m)
        u, before, kept = m[0], kept, []
        for w in before:
            u = np.sin(u * p[3]) + w
            kept.append(u)
    return np.sum(u)


PROGRAMS = [
    driven, lorenz, elements, rows, permuted, bashforth, nested, two_loops, overwritten, decided,
    matrices, complex_steps, first_again, passes,
]  # fmt: skip
POINT = np.linspace(0.2, 0.7, N)


def loops(program: Any) -> int:
    return sum(n.op.name == "Loop" for n in program.steps)


def unrolled(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any]) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(_reroll, "LONG", 10**9)
        return make()


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.quick(1)
def test_values_and_gradients(f: Callable[[Array], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def both() -> Any:
        g = sg.value_and_grad(f)
        with sg.backend("numpy"):
            return g(POINT), g.program(POINT)

    (expected, slope), straight = unrolled(monkeypatch, both)
    (value, found), program = both()
    assert loops(program) >= 2  # forward and back
    assert len(program.steps) < 0.5 * len(straight.steps)
    np.testing.assert_allclose(value, expected, rtol=1e-13)
    np.testing.assert_allclose(found, slope, rtol=1e-9, atol=1e-12)
    compiled, slopes = sg.value_and_grad(f)(POINT)
    np.testing.assert_allclose(compiled, expected, rtol=1e-12)
    np.testing.assert_allclose(slopes, slope, rtol=1e-9, atol=1e-12)


def test_a_program_does_not_grow_with_its_loop() -> None:
    def made(rounds: int) -> Any:
        def f(p: Array) -> Any:
            y, out = p[0], []
            for k in range(1, rounds):
                y = np.sin(y * p[1]) + p[k] * 0.1 * k
                out.append(y * p[2])
            return np.sum(np.stack(out) ** 2) + y

        return sg.value_and_grad(f).program(np.linspace(0.2, 0.7, rounds))

    few, many = made(80), made(800)
    assert len(few.steps) == len(many.steps) < 60
    assert len(many.guards) < 70


@pytest.mark.parametrize("f", [lorenz, elements, two_loops, overwritten], ids=lambda f: f.__name__)
@pytest.mark.slow
def test_other_derivatives(f: Callable[[Array], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    direction = np.cos(np.arange(float(N)))

    def all_of() -> list[Any]:
        with sg.backend("numpy"):
            return [
                sg.jvp(f, (POINT,), (direction,))[1],
                sg.hvp(f, (POINT,), (direction,)),
                sg.vmap(sg.grad(f))(np.stack([POINT, POINT[::-1]])),
                sg.jacobian(lambda x: f(x * POINT) * x[:2])(np.ones(N)),
            ]

    for found, expected in zip(all_of(), unrolled(monkeypatch, all_of), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_decisions_stay_guarded() -> None:
    f = sg.compile(decided)
    other = POINT.copy()
    other[0] = 2.5
    for point in (POINT, other, POINT):
        np.testing.assert_allclose(f(point), decided(point), rtol=1e-12)
    assert f.traces == 2


def random_loop(seed: int) -> tuple[Callable[[Array], Any], bool]:
    """Return loops whose rounds read carries, older values, elements, numbers and tables.

    And whether their first rounds differ.
    """
    rng = random.Random(seed)
    table = np.cos(np.arange(float(N)))
    steps = [
        (rng.randrange(7), rng.randrange(8), rng.randrange(8)) for _ in range(rng.randrange(2, 9))
    ]
    carries, kept = rng.randrange(1, 4), rng.random() < 0.5
    passes, between = rng.choice((1, 1, 2, 3)), rng.choices((np.sin, np.cos, np.tanh), k=30)
    uneven = passes == 3  # the first is no loop, so the second is read as it was written out

    def f(p: Array) -> Any:
        shared = np.tanh(p[3])
        state = [p[k] for k in range(carries)]
        out = list(p)
        for turn in range(passes):
            state, out = one_pass(p, shared, state, out, odd=uneven and turn == 0)
            square = np.outer(p[:2], p[1:3]) * state[0]
            for step in between:
                square = step(square)
            state[0] = state[0] + square[0, 1]
        total = sum(state)
        return total + np.sum(np.stack(out) * p[2 : N - 2]) if kept else total

    def one_pass(p: Array, shared: Any, state: Any, earlier: Any, *, odd: bool) -> Any:
        before = list(state)
        out = []
        for k in range(2, N - 2):
            pool = [*state, *before, p[k], p[k + 1], p[N - 1 - k], table[k] + 0.0 * p[0], shared,
                    p[0] * (0.01 * k), earlier[k - 2]]  # fmt: skip
            for kind, i, j in steps:
                a, b = pool[-1 - i % len(pool)], pool[j % len(pool)]
                pool.append(
                    [np.sin, np.cos, np.tanh][kind](a) if kind < 3
                    else a + b if kind == 3 else a - 0.5 * b if kind == 4
                    else np.sin(a * b) if kind == 5 else a * np.cos(b)
                )  # fmt: skip
            before = state
            state = [np.tanh(pool[-1 - c]) for c in range(carries)]
            for step in between[: k * k % 7 if odd else 0]:
                pool.append(step(pool[-1]))
            out.append(pool[-1])
        return state, out

    return f, uneven


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.quick(1)
def test_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    f, uneven = random_loop(seed)

    def both() -> Any:
        g = sg.value_and_grad(f)
        with sg.backend("numpy"):
            return g(POINT), len(g.program(POINT).steps)

    (expected, slopes), straight = unrolled(monkeypatch, both)
    (value, found), steps = both()
    assert uneven or steps < max(0.5 * straight, 400)  # some rounds compute next to nothing
    np.testing.assert_allclose(value, f(POINT), rtol=1e-12)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(found, slopes, rtol=1e-9, atol=1e-11)


def test_decisions_of_all_rounds_are_one_condition() -> None:
    program = sg.grad(decided).program(POINT)
    assert len(program.conditions) < 20
    assert len(program.steps) < 250


@pytest.mark.slow
def test_programs_without_repeats_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(order: Any) -> None:
        raise AssertionError("read")

    def f(x: Any) -> Any:
        rng, values = np.random.default_rng(0), [x[k] for k in range(4)]
        for _ in range(5000):
            a, b = (values[-1 - rng.integers(4)] for _ in range(2))
            kinds = (a + b, a * b, np.sin(a), a - b)
            values.append(kinds[rng.integers(4)] * 0.5)
        return values[-1]

    monkeypatch.setattr("symgrad._core.control._reroll.Row", never)
    monkeypatch.setattr(_reroll, "LONG", 6000)  # as it is: a few words come again by chance
    assert len(sg.grad(f).program(np.linspace(0.1, 0.4, 4)).steps) > 6000


@pytest.mark.slow
def test_loops_within_the_steps_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner(y: Any, a: Any) -> Any:
        for k in range(N):
            y = np.sin(y * a) + 0.01 * k
        return y

    def f(p: Array) -> Any:
        last, ys = sg.scan(lambda c, v: (inner(c, v), c * v), p[0], p[:5])
        return sg.while_loop(lambda c: c < 3, lambda c: c + inner(c, p[1]), last) + np.sum(ys)

    def both() -> Any:
        g = sg.value_and_grad(f)
        return g(POINT), len(list(g.program(POINT).nested_steps()))

    (expected, slopes), straight = unrolled(monkeypatch, both)
    (value, found), steps = both()
    assert steps < 0.5 * straight
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(found, slopes, rtol=1e-9, atol=1e-12)


def test_odd_steps_leave_loops_between() -> None:
    """In a long program what is between them is a loop, though short of a long program."""

    def f(p: Array) -> Any:
        x = p[:3]
        for k in range(90):
            x = x * 0.99 + np.sin(x) * 0.1 * x[0]
            if k in (31, 60):
                x = np.cos(x) * p[k]
        return np.sum(x)

    g = sg.value_and_grad(f)
    program = g.program(POINT)
    assert loops(program) == 6
    assert len(program.steps) < 120
    value, slope = g(POINT)
    assert value == pytest.approx(f(POINT), rel=1e-13)
    t = np.cos(np.arange(N))
    near = (f(POINT + 1e-6 * t) - f(POINT - 1e-6 * t)) / 2e-6
    assert slope @ t == pytest.approx(near, rel=1e-7)


@pytest.mark.parametrize("steps", [25, 60, 200, 400])
@pytest.mark.quick(1)
def test_steps_over_a_grid_are_a_loop_from_few_on(steps: int) -> None:
    """Each puts an array together, which takes as long to compile as hundreds of numbers."""

    def heat(u: Any) -> Any:
        for _ in range(steps):
            u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        return np.sum(u * u)

    u = np.sin(np.arange(30.0))
    g = sg.compile(heat, backend="numpy")
    assert len(g.program(u).steps) < 40
    np.testing.assert_allclose(g(u), heat(u), rtol=1e-12)


@pytest.mark.parametrize("steps", [25, 60, 200])
def test_steps_over_a_small_square_are_a_loop(steps: int) -> None:
    """Its sizes are numbers, but all rounds together are too many to be unrolled."""

    def wave(x: Any) -> Any:
        u = before = np.reshape(x, (4, 4))
        for _ in range(steps):
            around = sum(np.roll(u, s, k) for s in (1, -1) for k in (0, 1))
            u, before = 2.0 * u - before + 0.1 * (around - 4.0 * u), u
        return np.sum(u * u)

    x = np.sin(np.arange(16.0))
    g = sg.compile(wave, backend="numpy")
    assert len(g.program(x).steps) < 100
    np.testing.assert_allclose(g(x), wave(x), rtol=1e-10)


@pytest.mark.usefixtures("few_kernels")
def test_a_filter_of_small_matrices_is_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products and sums weigh more than elementwise steps: each ends a loop over arrays."""
    monkeypatch.setattr(_reroll, "LONG", 6000)  # as it is

    def likelihood(p: Any, ys: Any) -> Any:
        move, noise = np.array([[1.0, p[0]], [0.0, 0.9]]), np.exp(p[1])
        state, spread, total = np.zeros(2), 10.0 * np.eye(2), 0.0
        for k in range(40):
            state, spread = move @ state, move @ spread @ move.T + noise * np.eye(2)
            gain = spread[:, 0] / (spread[0, 0] + 1.0)
            error = ys[k] - state[0]
            total = total - 0.5 * (np.log(spread[0, 0] + 1.0) + error**2 / (spread[0, 0] + 1.0))
            state, spread = state + gain * error, spread - np.outer(gain, spread[0])
        return total

    ys, p = np.sin(np.arange(40.0)), np.array([0.3, -0.2])
    gradient = sg.grad(likelihood)
    steps = gradient.program(p, ys).steps
    assert any(n.op.kind == "loop" for n in steps)
    assert len(steps) < 600
    h = 1e-20
    by_steps = [likelihood(p + 1j * h * e, ys).imag / h for e in np.eye(2)]
    np.testing.assert_allclose(gradient(p, ys), by_steps, rtol=1e-10)


@pytest.mark.slow
def test_results_of_loops_that_are_read_behind_all_rounds() -> None:
    """Both parts of a complex matrix are made in a loop, and read in a product of many."""

    def product(u: Array, loop: Any = sg.fori_loop) -> Any:
        def squared(_: int, pair: Any) -> Any:
            re, im = pair
            return re @ re - im @ im, re @ im + im @ re

        re, im = np.eye(3), np.zeros((3, 3))
        for k in range(len(u)):
            a, b = loop(0, 3, squared, (np.eye(3) * (1 + u[k]), np.outer(u[:3], u[:3]) * u[k]))
            re, im = a @ re - b @ im, a @ im + b @ re
        return np.sum(re * re + im * im)

    def written_out(u: Array) -> Any:
        return product(u, lambda start, stop, turn, pair: turn(2, turn(1, turn(0, pair))))

    def steps(rounds: int) -> int:
        return len(list(sg.compile(product).program(np.ones(rounds)).nested_steps()))

    assert steps(24) == steps(30)
    u, du = np.random.default_rng(0).normal(size=(2, 24)) / 20
    value, slopes = sg.value_and_grad(product)(u)
    np.testing.assert_allclose(value, written_out(u), rtol=1e-12)
    tangent = (written_out(u + 1e-5 * du) - written_out(u - 1e-5 * du)) / 2e-5
    np.testing.assert_allclose(np.sum(slopes * du), tangent, rtol=1e-6)

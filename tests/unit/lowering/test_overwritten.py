"""Arrays that a loop carries and writes elements of: in place, and as if they were not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
import symgrad.numpy as snp
from symgrad._core.graph import element_count
from symgrad._core.pipeline import lower

Array = Any
N = 80  # more than what is added up as it is


def bodies(program: Any) -> list[str]:
    """Return the functions of the loops' steps."""
    return re.findall(r"define [^\n]*\.body\.run\(.*?\n}\n", lower(program).text, re.DOTALL)


def recurrence(x: Array) -> Any:
    y = snp.zeros(N)
    y[0] = x[0]
    for i in range(1, N):
        y[i] = np.sin(y[i - 1]) * x[1] + x[i]
    return np.sum(y * y)


def added_to(x: Array) -> Any:
    y = 1.0 * x
    for i in range(1, N):
        y[i] += np.cos(y[i - 1])
        y[i - 1] *= y[0]
    return np.sum(y * x)


def exchanged(x: Array) -> Any:
    y = 1.0 * x
    for i in range(N // 2):
        a, b = y[i], y[N - 1 - i]
        y[i] = np.sin(b)
        y[N - 1 - i] = a * b
    return np.sum(y * x) + y[3]


def rows(x: Array) -> Any:
    y = snp.zeros((40, 4))
    y[0] = x[:4]
    for i in range(1, 40):
        y[i] = 0.5 * y[i - 1] + np.roll(y[i - 1], 1) * x[i]
    return np.sum(y * y)


def columns(x: Array) -> Any:
    y = snp.zeros((3, 40))
    y[:, 0] = x[:3]
    for i in range(1, 40):
        y[:, i] = np.sin(y[:, i - 1]) + x[i]
        y[1, i] = y[0, i] * y[2, i - 1]
    return np.sum(y * y)


def two_arrays(x: Array) -> Any:
    y, z = 1.0 * x, snp.zeros(N)
    for i in range(1, N - 1):
        z[i] = y[i + 1] * y[i - 1]
        y[i] = np.tanh(z[i - 1]) + y[i]
    return np.sum(y * z)


def until(x: Array) -> Any:
    """A number of steps that depends on the values."""
    y, s, i = 1.0 * x, 0.0, 1
    while s < 12.0:
        y[i] = np.sin(y[i - 1]) + 0.5 * y[i]
        y[2] += s
        s = s + y[i]
        i = i + 1
    return np.sum(y * x) + s


def summed_each_step(x: Array) -> Any:
    """The whole array is read in each step, before and after it is written to."""
    y, s = 1.0 * x, 0.0
    for i in range(1, 20):
        before = np.sum(y)
        y[i] = np.sin(before) + y[i - 1]
        s = s + np.sum(y * y) - before
    return s


def older(x: Array) -> Any:
    """An array of the step before is carried as well."""
    y, z = 1.0 * x, 0.5 * x
    for i in range(1, 20):
        z = y * 1.0
        y[i] = np.cos(y[i - 1]) * z[i + 1]
    return np.sum(y * z)


LOOPS = [
    recurrence, added_to, exchanged, rows, columns, two_arrays, until, summed_each_step, older,
]  # fmt: skip
POINT = np.linspace(0.3, 0.9, N)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.quick(1)
def test_as_in_python(f: Callable[[Array], Any]) -> None:
    rolled = sg.compile(f, control_flow=True)
    value, slope = sg.value_and_grad(f)(POINT)
    for backend in ("numpy", "llvm"):
        with sg.backend(backend):  # type: ignore[arg-type]
            np.testing.assert_allclose(rolled(POINT), value, rtol=1e-12)
            found, slopes = sg.value_and_grad(rolled)(POINT)
            np.testing.assert_allclose(found, value, rtol=1e-12)
            np.testing.assert_allclose(slopes, slope, rtol=1e-9, atol=1e-11)
    direction = np.cos(np.arange(float(N)))
    with sg.backend("numpy"):
        tangent = sg.jvp(rolled, (POINT,), (direction,))[1]
        np.testing.assert_allclose(tangent, slope @ direction, rtol=1e-9)
        both = sg.vmap(sg.grad(rolled))(np.stack([POINT, POINT[::-1]]))
        np.testing.assert_allclose(both[0], slope, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", [recurrence, added_to, exchanged, rows, columns, two_arrays, until],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_no_step_copies_the_array(f: Callable[[Array], Any]) -> None:
    program = sg.value_and_grad(sg.compile(f, control_flow=True)).program(POINT)
    found = bodies(program)
    assert len(found) == 2
    for body in found:
        assert "memcpy" not in body
        assert "memset" not in body
    forward, backward = (n for n in program.steps if n.op.name == "Loop")
    tapes = [n for n in program.steps if n.op.kind == "tape"]
    assert all(element_count(n) <= 4 for n in tapes)  # elements and rows, no array
    for loop in (forward, backward):
        changed = [x.op.name for x in loop.params["body"].outputs if element_count(x) >= N]
        assert set(changed) <= {"Put", "AddAt"}


def random_step(seed: int) -> Callable[[Array], Any]:
    """Return a loop whose steps read and write elements in any order."""
    rng = random.Random(seed)
    steps = [(rng.randrange(6), rng.randrange(-2, 3), rng.randrange(-2, 3), rng.randrange(2))
             for _ in range(rng.randrange(2, 8))]  # fmt: skip

    def step(i: Any, carry: Any) -> Any:
        y, z, s = carry
        for kind, a, b, which in steps:
            own, other = (y, z) if which else (z, y)
            if kind == 0:
                own[i + a] = np.sin(other[i + b]) + s
            elif kind == 1:
                own[i + a] += own[i + b] * s
            elif kind == 2:
                s = np.tanh(s + own[i + a] * other[i + b])
            elif kind == 3:
                own[i + a] = own[N - 1 - i] * 0.5
            elif kind == 4:
                own[3] = np.cos(own[i + a])
            else:
                s = np.tanh(s - own[3] + other[i + a])
        return y, z, s

    def f(x: Array, loop: Any) -> Any:
        y, z, s = loop(2, N - 2, step, (1.0 * x, snp.zeros(N), 0.1))
        return np.sum(y * x) + np.sum(z * z) + s

    return f


def in_python(lower: int, upper: int, step: Any, carry: Any) -> Any:
    for i in range(lower, upper):
        carry = step(i, carry)
    return carry


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.quick(2)
def test_random_steps(seed: int) -> None:
    f = random_step(seed)
    with sg.backend("numpy"):
        value, slope = sg.value_and_grad(lambda x: f(x, in_python))(POINT)
    found, slopes = sg.value_and_grad(lambda x: f(x, sg.fori_loop))(POINT)
    np.testing.assert_allclose(found, value, rtol=1e-11)
    np.testing.assert_allclose(slopes, slope, rtol=1e-8, atol=1e-10)


def test_loops_in_loops() -> None:
    """An inner loop works in the memory of the outer one's carry."""

    def f(x: Array) -> Any:
        y, s = 1.0 * x, 0.0
        for i in range(1, 30):
            for j in range(1, 20):
                y[j + i] = np.sin(y[j]) + y[j + i - 1] * 0.1
            y[i] += s
            s = s + y[i + 1]
        return np.sum(y * x) + s

    rolled = sg.compile(f, control_flow=True)
    value, slope = sg.value_and_grad(f)(POINT)
    found, slopes = sg.value_and_grad(rolled)(POINT)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(slopes, slope, rtol=1e-9, atol=1e-11)
    text = lower(rolled.program(POINT)).text
    within = re.findall(r"define [^\n(]*\.body\..*?\n}\n", text, re.DOTALL)
    assert len(within) > 2
    assert not any("memcpy" in function for function in within)


@pytest.mark.slow
def test_a_carry_that_an_inner_loop_reads_as_well() -> None:
    def f(x: Array) -> Any:
        def step(i: Any, y: Any) -> Any:
            # The inner loop changes its copy of what it reads as it was.
            return sg.fori_loop(
                1, 40, lambda j, z: _set(z, j + 1, np.sin(z[j]) + y[j + 1] * 0.5), y
            )

        return np.sum(sg.fori_loop(0, 5, step, 1.0 * x) * x)

    def plain(x: Array) -> Any:
        y = 1.0 * x
        for _ in range(5):
            z = 1.0 * y
            for j in range(1, 40):
                z[j + 1] = np.sin(z[j]) + y[j + 1] * 0.5
            y = z
        return np.sum(y * x)

    value, slope = sg.value_and_grad(plain)(POINT)
    found, slopes = sg.value_and_grad(f)(POINT)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(slopes, slope, rtol=1e-9, atol=1e-11)


def _set(z: Array, place: Any, value: Any) -> Array:
    z[place] = value
    return z


READERS: dict[str, Callable[[Array], Any]] = {
    "sort": lambda a: np.sort(a.T.reshape(-1)),
    "sort of some": lambda a: np.sort(a.reshape(-1)[::2]),
    "rfft": lambda a: np.fft.rfft(np.moveaxis(a, 0, -1).reshape(-1)).real,
    "contraction": lambda a: np.tensordot(a, a, axes=([0, 2], [0, 2])),
    "copy": lambda a: np.ascontiguousarray(a.T),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_a_loop_leaves_what_a_copied_view_reads_later(reader: Callable[[Array], Any]) -> None:
    """The start of a loop, whose transpose a routine behind the loop is given as a copy."""

    def f(x: Array, w: Array) -> Any:
        start = np.sin(x)
        end = sg.fori_loop(0, 5, lambda _, s: np.tensordot(w, s, axes=([1], [0])), start)
        return end, reader(start)

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(3, 4, 3)), rng.normal(size=(3, 3))
    np.testing.assert_allclose(sg.compile(f)(x, w)[1], reader(np.sin(x)), 1e-12, 1e-12)

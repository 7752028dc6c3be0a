"""Long lists of tuples as arguments: their columns are arrays, and Python sees its own numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError

N = 6


def edges(count: int = 40, seed: int = 0) -> list[tuple[int, int, float]]:
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(N)), int(rng.integers(N)), float(rng.uniform(0.2, 1.5)))
            for _ in range(count)]  # fmt: skip


def flows(x: Any, rows: Any) -> Any:
    balance = 0.1 * x
    for i, j, conductance in rows:
        flow = conductance * np.sinh(x[i] - x[j])
        balance[i] -= flow
        balance[j] += flow
    return balance


def differences(f: Any, x: Any) -> Any:
    return np.array([(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(len(x))]).T


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_other_records_are_no_other_trace(backend: str) -> None:
    f, x = sg.compile(flows), np.linspace(0.2, 1.0, N)
    with sg.backend(backend):
        for rows in (edges(), edges(seed=1), edges()[::-1]):
            for _ in range(3):
                np.testing.assert_allclose(f(x, rows), flows(x, rows), rtol=1e-12)
    assert f.traces == 1


def test_sparse_derivatives_by_records() -> None:
    jacobian, x = sg.jacobian(flows, sparse=True), np.linspace(0.2, 1.0, N)
    for rows in (edges(), edges(seed=1)):
        for _ in range(3):
            found = jacobian(x, rows)
        np.testing.assert_allclose(
            found.toarray(), differences(lambda x, rows=rows: flows(x, rows), x), atol=1e-7
        )
    assert jacobian.traces == 1
    assert found.nnz == np.count_nonzero(found.toarray())


def test_derivatives_by_the_numbers_of_records() -> None:
    def loss(x: Any, points: Any) -> Any:
        return sum((x * t - y) ** 2 for t, y in points)

    points = [(0.1 * k, np.cos(k).item()) for k in range(33)]
    found = sg.grad(loss, 1)(2.0, points)
    assert isinstance(found, list)
    assert isinstance(found[0], tuple)
    for (t, y), (by_t, by_y) in zip(points, found, strict=True):
        np.testing.assert_allclose((by_t, by_y), (4 * (2 * t - y), -2 * (2 * t - y)), atol=1e-12)


#: What needs to know the integers, or takes them beyond what an array holds.
KNOWN = {
    "range": lambda x, rows: sum(x[k] for i, j, w in rows for k in range(i)),
    "key": lambda x, rows: sum({0: x[0], 1: x[1] ** 2}.get(i, x[2]) for i, j, w in rows),
    "list": lambda x, rows: sum([*x][i] * w for i, j, w in rows),
    "size": lambda x, rows: sum(np.sum(np.ones(i) * x[0]) for i, j, w in rows),
    "set": lambda x, rows: len({(i, j) for i, j, w in rows}) * x[0],
    "text": lambda x, rows: sum(str(i).count("1") for i, j, w in rows) * x[0],
    "large": lambda x, rows: sum((i + 3) ** 30 % 7 for i, j, w in rows) * x[0],
    "products": lambda x, rows: sum(
        (i + 9) * 99991 * 99989 * 99971 * 99961 % 13 for i, j, w in rows) * x[0],
    "grows": lambda x, rows: _grown(rows) % 1_000_003 * x[0],
    "type": lambda x, rows: sum(type(i) is int and isinstance(w, float) for i, j, w in rows) * x[0],
    "decides": lambda x, rows: sum(x[j] if i == 0 else w * x[i] for i, j, w in rows),
}  # fmt: skip


def _grown(rows: Any) -> int:
    total = 1
    for i, _, _ in rows:
        total = 3 * total + i
    return total


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.quick(6)
@pytest.mark.usefixtures("no_kernels")
def test_integers_are_pythons(name: str) -> None:
    f, x = KNOWN[name], np.linspace(0.5, 1.0, N)
    compiled, gradient = sg.compile(f), sg.grad(f)
    for rows in (edges(33), edges(33, seed=1)):
        np.testing.assert_allclose(compiled(x, rows), f(x, rows), rtol=1e-12)
        wanted = differences(lambda x, rows=rows: f(x, rows), x)
        np.testing.assert_allclose(gradient(x, rows), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.parametrize("other", [
    lambda rows: rows[:7], lambda rows: rows[:31], tuple, lambda rows: [*rows, rows[0]],
    lambda rows: [(0, 1, 2), *rows[1:]], lambda rows: [(0, True, 0.5), *rows[1:]],
    lambda rows: [(0, 1), *rows[1:]], lambda rows: [[0, 1, 0.5], *rows[1:]],
    lambda rows: [(0, 1 << 70, 0.5), *rows[1:]], lambda rows: [(0, 1, np.float64(0.5)), *rows[1:]],
])  # fmt: skip
def test_other_lists_in_turn(other: Any) -> None:
    def f(x: Any, rows: Any) -> Any:
        return sum(x[row[0]] * row[-1] + row[1] % 3 for row in rows)

    compiled, x = sg.compile(f), np.linspace(0.5, 1.0, N)
    for rows in (edges(), other(edges()), edges(seed=2)):
        np.testing.assert_allclose(compiled(x, rows), f(x, rows), rtol=1e-12)


def test_single_precision_stays() -> None:
    def f(x: Any, rows: Any) -> Any:
        return sum(x * w + i for i, j, w in rows)

    x = np.ones(3, np.float32)
    assert f(x, edges()).dtype == sg.compile(f)(x, edges()).dtype == np.float32


@pytest.mark.usefixtures("no_kernels")
def test_by_name_beside_lists_and_dictionaries() -> None:
    def f(x: Any, *, rows: Any, more: Any) -> Any:
        return sum(x[i] * w for i, j, w in rows) * more["a"][1] + sum(t for (t,) in more["b"])

    compiled, x = sg.compile(f), np.linspace(0.5, 1.0, N)
    for k in range(3):
        rows, more = edges(seed=k), {"a": [1.0, 2.0 + k], "b": [(0.5 * k,) for k in range(35)]}
        found = compiled(x, rows=rows, more=more)
        np.testing.assert_allclose(found, f(x, rows=rows, more=more), rtol=1e-12)


def test_errors_call_a_column_by_its_place() -> None:
    def f(x: Any, rows: Any) -> Any:
        return np.sum(x) * sum(float(f"{w:.3f}") for i, j, w in rows)

    with pytest.raises(ArgumentError, match=r"set"):
        sg.compile(f)(np.ones(3), [*edges(), {1}])


@pytest.mark.usefixtures("no_kernels")
def test_an_error_of_the_function_leaves_records_as_they_are() -> None:
    def f(x: Any, rows: Any, n: int) -> Any:
        if n == 0:
            raise ValueError("nothing to add")
        return sum(x[i] * w for i, j, w in rows)

    compiled, x = sg.compile(f), np.linspace(0.5, 1.0, N)
    with pytest.raises(ValueError, match="nothing to add"):
        compiled(x, edges(), 0)
    for seed in range(3):
        np.testing.assert_allclose(compiled(x, edges(seed=seed), 1), f(x, edges(seed=seed), 1))
    assert compiled.traces == 1


@pytest.mark.usefixtures("no_kernels")
def test_many_arguments_are_no_records() -> None:
    def f(*numbers: Any) -> Any:
        return sum(k * x * x for k, x in enumerate(numbers))

    def pairs(*rows: Any) -> Any:
        return sum(a * b for a, b in rows)

    numbers = [0.5 + k for k in range(40)]
    compiled = sg.compile(f)
    for scale in (1.0, 2.0):
        given = [scale * x for x in numbers]
        assert compiled(*given) == pytest.approx(f(*given))
    np.testing.assert_allclose(sg.grad(f, tuple(range(40)))(*numbers), 2 * np.arange(40) * numbers)
    assert sg.compile(pairs)(*[(2.0, x) for x in numbers]) == pytest.approx(2 * sum(numbers))

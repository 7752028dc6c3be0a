"""Arrays whose numbers Python computes one by one: lists, assignments, borders, orders."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.base.switches import without

Formula = Callable[[Any, int], Any]


def formula(rng: np.random.Generator, n: int) -> Formula:
    """Return a formula of an element's place: of its neighbours, of others, of numbers."""
    shift, far = int(rng.integers(-2, 3)), rng.integers(n, size=n).tolist()
    numbers = np.round(rng.normal(size=n), 2).tolist()
    powers = rng.integers(1, 4, size=n).tolist()
    left, right = (formula(rng, n) if rng.random() < 0.35 else None for _ in range(2))

    def of(inner: Formula | None, v: Any, k: int) -> Any:
        return v.y[k] if inner is None else inner(v, k)

    choices: tuple[Formula, ...] = (
        lambda v, k: of(left, v, k) * v.y[(k + shift) % n],
        lambda v, k: of(left, v, k) - 2 * v.y[k] + (v.y[k + 1] if k < n - 1 else 1.0),
        lambda v, k: (v.y[k - 1] if k else v.t) * of(left, v, k),
        lambda v, k: numbers[k] * of(left, v, k) + v.t,
        lambda v, k: np.sin(of(left, v, k)) * k,
        lambda v, k: math.cos(of(left, v, k)) + v.c[k],
        lambda v, k: v.y[far[k]] + of(right, v, k) * v.decay,
        lambda v, k: of(left, v, k) * of(right, v, k),
        lambda v, k: of(left, v, k) ** powers[k] if k % 3 else of(right, v, k) ** 2,
        lambda v, k: v.rates[k % 3] * of(left, v, k),
        lambda v, k: np.exp(-(of(left, v, k) ** 2)) - np.float64(k),
        lambda v, k: v.m[k % 4, k // 4] + of(left, v, k),
        lambda v, k: np.where(v.t > 0, of(left, v, k), 3.0 * v.y[k]),
        lambda v, k: np.tanh(of(left, v, k)) / (1 + v.m[2, k] ** 2),
    )
    return choices[rng.integers(len(choices))]


class Values:
    """What formulas read."""

    def __init__(self, y: Any, t: Any, c: Any, m: Any) -> None:
        self.y, self.t, self.c, self.m = y, t, c, m
        self.decay = np.exp(-t)
        self.rates = [t * k + self.decay for k in range(3)]


def written(rng: np.random.Generator, n: int) -> Callable[..., Any]:
    """Return a function that fills arrays, in one of many ways."""
    one, two = formula(rng, n), formula(rng, n)
    order = [*range(n)]
    turn = rng.random()
    if turn < 0.2:
        order.reverse()
    elif turn < 0.4:
        rng.shuffle(order)
    left_out = int(rng.integers(n)) if rng.random() < 0.3 else -1
    pairs = [(k, int(rng.integers(n))) for k in range(n)]

    def listed(v: Values) -> Any:
        return np.array([one(v, k) for k in range(n)])

    def joined(v: Values) -> Any:
        return np.array([one(v, k) for k in range(n)] + [two(v, k) for k in order])

    def assigned(v: Values) -> Any:
        made = np.zeros(n)
        for k in order:
            if k != left_out:
                made[k] = one(v, k)
        return made

    def in_turn(v: Values) -> Any:
        made = np.full(2 * n, v.t)
        for k in order:
            made[2 * k], made[2 * k + 1] = one(v, k), two(v, k)
        return made

    def added(v: Values) -> Any:
        made = np.zeros(n)
        for i, j in pairs:
            force = one(v, i) - one(v, j)
            made[i] += force
            made[j] -= force
        return made

    def in_a_table(v: Values) -> Any:
        made = np.zeros((n, 3))
        for k in order:
            made[k, 0] = one(v, k)
            made[k, 2] = two(v, k)
        return made

    def in_rows(v: Values) -> Any:
        return np.array([[one(v, k) for k in range(n)], [two(v, k) for k in order]])

    def one_after_another(v: Values) -> Any:
        made = [one(v, 0)]
        for k in range(1, n):
            made.append(0.5 * made[-1] + one(v, k))
        return np.array(made)

    def twice(v: Values) -> Any:
        first = [one(v, k) for k in range(n)]
        inner = Values(np.array(first), v.t, v.c, v.m)
        return np.array([first[k] * two(inner, k) for k in order])

    def with_their_sum(v: Values) -> Any:
        found = [one(v, k) for k in range(n)]
        return np.array([x - sum(found) / n for x in found])

    ways = (
        listed, joined, assigned, in_turn, added, in_a_table, in_rows, one_after_another, twice,
        with_their_sum,
    )  # fmt: skip
    return ways[rng.integers(len(ways))]


@pytest.mark.attack(quick=10, whole=2_000, part=200, judge="plain NumPy, and differences")
def test_numbers_written_out(attack: Any) -> None:
    """Arrays whose numbers Python computes one by one: lists, assignments, borders, orders."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.integers(3, 45))
            fill = written(rng, n)

            def function(y: Any, t: Any, c: Any, m: Any, fill: Any = fill) -> Any:
                return fill(Values(y, t, c, m))

            c, m = rng.normal(size=n), rng.normal(size=(4, max(n, 12)))
            given = rng.uniform(-1, 1, size=n), float(rng.uniform(0.1, 1)), c, m
            if rng.random() < 0.3:
                given = (np.repeat(given[0], 2)[::2], *given[1:])
            wanted = function(*given)
            size = 1 + np.abs(wanted).max()
            found = sg.compile(function, dynamic=bool(rng.integers(2)))(*given)
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * size)
            weights, way = rng.normal(size=wanted.shape), rng.normal(size=n)
            value, slopes = sg.value_and_grad(
                lambda y, t, c, m, w=weights: np.sum(w * function(y, t, c, m)), argnums=(0, 1, 3)
            )(*given)
            np.testing.assert_allclose(value, np.sum(weights * wanted), atol=1e-9 * size * n)
            e, aside = 1e-6, rng.normal(size=m.shape)
            ahead, behind = (
                function(given[0] + s * way, given[1] + s, c, m + s * aside) for s in (e, -e)
            )
            slope = np.sum(slopes[0] * way) + slopes[1] + np.sum(slopes[2] * aside)
            steep = np.abs(ahead - behind).max() / e
            np.testing.assert_allclose(
                slope, np.sum(weights * (ahead - behind)) / (2 * e),
                rtol=1e-5, atol=1e-6 * (steep + size) * n,
            )  # fmt: skip
            many = rng.uniform(-1, 1, size=(5, n))
            each = sg.vmap(function, (0, None, None, None))(many, *given[1:])
            alone = np.stack([function(y, *given[1:]) for y in many])
            np.testing.assert_allclose(
                each, alone, rtol=1e-11, atol=1e-11 * (1 + np.abs(alone).max())
            )


def pieces(rng: np.random.Generator, n: int, width: int) -> Callable[[Any, Any, int], list[Any]]:
    """Return a function of a round's number that gives the round's short arrays."""
    table = np.round(rng.normal(size=(n, 3)), 1)
    table[rng.random(size=table.shape) < 0.2] = 0.0
    same = table[0]
    odd = int(rng.integers(n)) if rng.random() < 0.3 else -1
    size, shift = int(rng.integers(1, width + 1)), int(rng.integers(0, 3))
    matrix = np.round(rng.normal(size=(size, size)), 1) * (rng.random(size=(size, size)) < 0.7)

    def own(z: Any, k: int) -> Any:
        return z[width * k : width * k + size]

    def elements(z: Any, t: Any, k: int) -> Any:
        return np.array([z[width * k + j] * t - np.sin(own(z, k)[j]) for j in range(size)])

    kinds = (
        lambda z, t, k: own(z, k) * same[0] + same[1] * np.sin(own(z, k)) - t,
        lambda z, t, k: table[k, 0] * own(z, k) + table[k, 1],
        lambda z, t, k: own(z, k + 1) - (own(z, k) + 0.1 * elements(z, t, k)),
        elements,
        lambda z, t, k: matrix @ own(z, k) * t,
        lambda z, t, k: t * own(z, k)[::-1] - z[width * k + shift],
        lambda z, t, k: own(z, k) * (own(z, k + 1) if k != odd else 2.0),
        lambda z, t, k: np.cos(z[(k + shift) % n : (k + shift) % n + size]) * own(z, k),
        lambda z, t, k: own(z, k) * np.sum(own(z, k + 1)),
    )
    chosen = [kinds[j] for j in rng.integers(len(kinds), size=int(rng.integers(1, 4)))]
    return lambda z, t, k: [kind(z, t, k) for kind in chosen]


def in_short_arrays(rng: np.random.Generator, n: int, width: int) -> Callable[..., Any]:
    """Return a function that puts short arrays behind each other, in one of some ways."""
    made = pieces(rng, n, width)
    gap, left_out = int(rng.integers(3)), int(rng.integers(n)) if rng.random() < 0.3 else -1
    rounds = [k for k in range(n) if k != left_out]

    def joined(z: Any, t: Any) -> Any:
        return np.concatenate([x for k in rounds for x in made(z, t, k)])

    def assigned(z: Any, t: Any) -> Any:
        found = [made(z, t, k) for k in rounds]
        total = sum(len(x) + gap for x in found[0])
        out, place = np.full(n * total, t), 0
        for arrays in found:
            for x in arrays:
                out[place : place + len(x)] = x
                place += len(x) + gap
        return out

    def in_columns(z: Any, t: Any) -> Any:
        found = [np.stack([x, 2 * x]) for k in rounds for x in made(z, t, k)]
        return np.concatenate(found, axis=1).ravel()

    ways = (joined, assigned, in_columns)
    return ways[rng.integers(len(ways))]


@pytest.mark.attack(
    quick=10, whole=1_000, part=100, judge="plain NumPy, and pattern and derivatives without arrays"
)
def test_short_arrays_written_out(attack: Any) -> None:
    """Arrays of short arrays that Python computes round by round, and their sparse Jacobians."""
    for case in attack:
        with case:
            rng = case.rng
            n, width = int(rng.integers(12, 45)), int(rng.integers(1, 7))
            function = in_short_arrays(rng, n, width)
            given = rng.uniform(-1, 1, size=(n + 4) * width), float(rng.uniform(0.1, 1))
            wanted = function(*given)
            size = 1 + np.abs(wanted).max()
            found = sg.compile(function, dynamic=bool(rng.integers(2)))(*given)
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * size)
            sparse = sg.jacobian(function, sparse=True)(*given)
            with without("arrays"):
                pattern = sg.jacobian(function, sparse=True).pattern(*given)
            assert (sparse.indptr == pattern.indptr).all()
            assert (sparse.indices == pattern.indices).all()
            way, e = rng.normal(size=given[0].shape), 1e-6
            ahead, behind = (function(given[0] + s * way, given[1]) for s in (e, -e))
            np.testing.assert_allclose(sparse @ way, (ahead - behind) / (2 * e), atol=1e-6 * size)
            slope = sg.grad(lambda z, t, f=function: np.sum(f(z, t) ** 2))(*given)
            np.testing.assert_allclose(
                slope, 2 * wanted @ sparse.toarray(), rtol=1e-9, atol=1e-9 * size**2 * n
            )

"""Numbers that Python has computed one by one, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.control._array_recovery import LEAST


def steps(f: Callable[..., Any], *args: Any) -> int:
    """Return how many steps a function's program has."""
    return len(sg.compile(f).program(*args).steps)


def heat(n: int) -> Callable[..., Any]:
    def slope(y: Any, t: Any) -> Any:
        decay = np.exp(-t)
        found = []
        for k in range(n):
            left = y[k - 1] if k > 0 else 1.0
            right = y[k + 1] if k < n - 1 else 2.0
            found.append((left - 2 * y[k] + right) * decay + 0.5 * k)
        return np.array(found)

    return slope


def in_turn(n: int) -> Callable[..., Any]:
    def slope(y: Any, t: Any) -> Any:
        made = np.zeros((n, 2))
        for k in reversed(range(n)):
            made[k, 1] = y[n - 1 - k] * t + y[k] ** 2
            made[k, 0] = np.sin(y[k])
        return made

    return slope


@pytest.mark.parametrize("of", [heat, in_turn])
def test_programs_do_not_grow_with_what_is_written_out(of: Any) -> None:
    counts = {steps(of(n), np.linspace(0, 1, n), 0.5) for n in (LEAST + 2, 40, 90)}
    assert len(counts) == 1
    assert counts.pop() < 40


@pytest.mark.parametrize("of", [heat, in_turn])
def test_numbers_keep_their_bits(of: Any) -> None:
    for n in (LEAST - 1, LEAST, 50):
        y = np.random.default_rng(n).normal(size=n)
        straight = [sg.compile(lambda y, t, k=k, n=n: of(n)(y, t)[k]) for k in (0, n // 2, n - 1)]
        found = sg.compile(of(n))(y, 0.25)
        for f, k in zip(straight, (0, n // 2, n - 1), strict=True):
            np.testing.assert_allclose(f(y, 0.25), found[k], rtol=1e-15)
        np.testing.assert_allclose(found, of(n)(y, 0.25), rtol=1e-14)


def test_where_numpys_rounding_is_promised_they_stay() -> None:
    y = np.random.default_rng(0).normal(size=40)
    plain = sg.compile(heat(40), rounding="numpy")
    assert len(plain.program(y, 0.5).steps) > 100
    np.testing.assert_array_equal(plain(y, 0.5), heat(40)(y, 0.5))


def test_few_numbers_of_many_kinds_are_computed_once() -> None:
    """A few long expressions that many numbers read in turn are not made for each of them."""

    def f(y: Any) -> Any:
        long = [np.tanh(y[k] * 3.0) for k in range(3)]
        return np.array([long[k % 3] * y[k] for k in range(60)])

    program = sg.compile(f).program(np.linspace(0, 1, 60))
    assert sum(node.op.name == "Tanh" for node in program.steps) == 3
    y = np.random.default_rng(0).normal(size=60)
    np.testing.assert_allclose(sg.compile(f)(y), f(y), rtol=1e-14)


def test_numbers_that_are_needed_by_themselves_stay() -> None:
    def f(y: Any) -> Any:
        found = [y[k] * y[k + 1] + k for k in range(30)]
        return np.array(found), found

    assert steps(f, np.ones(31)) <= 30 * 4 + 2


def test_elements_in_another_order_are_gathered() -> None:
    rng = np.random.default_rng(1)
    order, table = rng.permutation(40), rng.integers(0, 6, size=(40, 2))

    def f(y: Any, a: Any) -> Any:
        return np.array([y[order[k]] * a[table[k, 0], table[k, 1]] - y[k] for k in range(40)])

    y, a = rng.normal(size=40), rng.normal(size=(6, 6))
    assert steps(f, y, a) < 10
    np.testing.assert_array_equal(sg.compile(f)(y, a), f(y, a))


def test_arrays_of_such_arrays() -> None:
    """What reads elements of an array that was written out reads the array that it became."""

    def f(y: Any) -> Any:
        first = np.array([y[k] ** 2 + k for k in range(40)])
        return np.array([first[39 - k] * y[k] for k in range(40)])

    y = np.linspace(0, 1, 40)
    assert steps(f, y) < 10
    np.testing.assert_allclose(sg.compile(f)(y), f(y), rtol=1e-15)


def test_steps_have_the_users_lines() -> None:
    def f(y: Any) -> Any:
        found = []
        for k in range(30):
            term = y[k] * y[k + 1]
            found.append(term - 1.5)
        return np.array(found)

    program = sg.compile(f).program(np.ones(31))
    product, difference = (node.where for node in program.steps if node.op.kind == "map")
    assert difference.line == product.line + 1


@pytest.mark.parametrize("n", [31, 3000])
@pytest.mark.parametrize("value", [np.sin, np.sum], ids=["rows", "numbers"])
def test_one_value_many_times(value: Callable[..., Any], n: int) -> None:
    """Each place of an array holds it, though it is computed once, and is one node."""

    def kept(p: Any) -> Any:
        v, found, s = np.cos(p[2:5]), [], p[0]
        for k in range(n):
            found.append(value(v))
            s = np.tanh(p[k] + 0.1 * s)
        for k in range(n):
            s = np.tanh(np.sum(np.tanh(found[n - 1 - k])) + 0.1 * s)
        return s + np.sum(np.array(found) * 0.1)

    p = np.linspace(0.2, 1.3, n)
    found, slopes = sg.value_and_grad(kept)(p)
    np.testing.assert_allclose(found, kept(p), rtol=1e-12)
    step = kept(p + 1e-30j * np.cos(p)).imag / 1e-30
    np.testing.assert_allclose(slopes @ np.cos(p), step, rtol=1e-10)


def shooting(z: Any) -> Any:
    found = []
    for k in range(len(z) // 3 - 1):
        x, u = z[3 * k : 3 * k + 2], z[3 * k + 2]
        slope = np.array([x[1], u - np.sin(x[0])])
        found.append(z[3 * k + 3 : 3 * k + 5] - (x + 0.1 * slope))
    return np.concatenate(found)


def in_turn_short(z: Any) -> Any:
    """Two arrays of one kind and one of another in each round."""
    found = []
    for k in range(len(z) // 3 - 1):
        found += [0.5 * z[3 * k : 3 * k + 2] - 1.0, 2.0 * z[3 * k + 1 : 3 * k + 3] - 3.0]
        found.append(np.sin(z[3 * k : 3 * k + 3]))
    return np.concatenate(found)


def with_others_between(z: Any) -> Any:
    """One round is of another kind, and numbers stand between."""
    found = []
    for k in range(len(z) // 3):
        found.append(z[3 * k : 3 * k + 3] * 2.0 + z[0] if k != 9 else np.cos(z[2:5]))
        found.append(np.zeros(1))
    return np.concatenate(found)


def columns(z: Any) -> Any:
    rows = [np.stack([z[3 * k : 3 * k + 2] ** 2, z[3 * k + 1 : 3 * k + 3]])
            for k in range(len(z) // 3)]  # fmt: skip
    return np.concatenate([r * 2.0 + 1.0 for r in rows], axis=1)


def windows(z: Any) -> Any:
    table = np.reshape(z, (-1, 3))
    found = [table[k : k + 2, 1:] * table[k : k + 2, :2] for k in range(len(z) // 3 - 2)]
    return np.concatenate(found)


@pytest.mark.parametrize("of", [shooting, in_turn_short, with_others_between, columns, windows])
def test_short_arrays_behind_each_other_are_one(of: Any) -> None:
    counts = {steps(of, np.linspace(0, 1, 3 * n)) for n in (60, 90)}
    assert len(counts) == 1
    assert counts.pop() < 60
    z = np.random.default_rng(2).normal(size=3 * 40)
    np.testing.assert_allclose(sg.compile(of)(z), of(z), rtol=1e-14)
    matrix = sg.jacobian(of, sparse=True)(z)
    way, e = np.random.default_rng(3).normal(size=z.shape), 1e-6
    slope = (of(z + e * way) - of(z - e * way)) / (2 * e)
    np.testing.assert_allclose(matrix @ way, np.ravel(slope), atol=1e-7)


def test_numbers_of_the_code_stay_numbers_where_short_arrays_are_written_in_turn() -> None:
    """What is zero in one of the arrays of each round is no entry of the pattern."""
    weights = np.array([[1.0, 0.0], [0.0, 2.0]])

    def f(z: Any) -> Any:
        found = []
        for k in range(40):
            near, far = z[2 * k : 2 * k + 2], z[2 * k + 1 : 2 * k + 3]
            found += [w[0] * near + w[1] * far for w in weights]
        return np.concatenate(found)

    rows = [sg.jacobian(lambda z, k=k: f(z)[4 * k : 4 * k + 4], sparse=True) for k in (0, 20, 39)]
    z = np.ones(82)
    whole = sg.jacobian(f, sparse=True)(z).tocsr()
    for row, k in zip(rows, (0, 20, 39), strict=True):
        found = row(z)
        assert found.nnz == whole[4 * k : 4 * k + 4].nnz
        np.testing.assert_array_equal(found.toarray(), whole[4 * k : 4 * k + 4].toarray())


def added_at_data(n: int) -> Callable[..., Any]:
    def network(x: Any, at: Any, to: Any, w: Any) -> Any:
        r = 0.5 * x
        for k in range(n):
            i, j = at[k], to[k]
            flow = w[k] * np.sin(x[i] - x[j])
            r[i] += flow
            r[j] -= flow * x[i]
        return r

    return network


def rows_at_data(n: int) -> Callable[..., Any]:
    def forces(x: Any, at: Any, to: Any, w: Any) -> Any:
        y = np.stack([x, x**2], axis=1)
        total = np.zeros_like(y)
        for k in range(n):
            pull = w[k] * (y[at[k]] - y[to[k]])
            total[at[k]] = total[at[k]] - pull + 0.5 * y[to[k]]
            total[to[k], 1] += w[k]
        return total

    return forces


def read_in_between(n: int) -> Callable[..., Any]:
    def relaxed(x: Any, at: Any, to: Any, w: Any) -> Any:
        y = 1.0 * x
        for k in range(n):
            y[at[k]] += w[k] * y[to[k]]
        return y

    return relaxed


@pytest.mark.parametrize("of", [added_at_data, rows_at_data, read_in_between])
@pytest.mark.usefixtures("no_kernels")
def test_what_is_added_at_places_that_are_data(of: Any) -> None:
    rng = np.random.default_rng(3)
    for n in (LEAST - 1, LEAST, 40):
        x, w = rng.normal(size=7), rng.normal(size=n)
        f = of(n)
        compiled = sg.compile(f)
        slope = sg.grad(lambda x, *rest, f=f: np.sum(f(x, *rest) ** 2))
        for _ in range(2):
            at, to = rng.integers(-7, 7, (2, n))
            wanted = f(x, at, to, w)
            np.testing.assert_allclose(compiled(x, at, to, w), wanted, rtol=1e-12, atol=1e-13)
            d = 1e-6 * rng.normal(size=7)
            by_hand = np.sum((f(x + d, at, to, w) - f(x - d, at, to, w)) * wanted)
            np.testing.assert_allclose(slope(x, at, to, w) @ d, by_hand, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("of", [added_at_data, rows_at_data])
def test_sums_at_data_do_not_grow(of: Any) -> None:
    rng = np.random.default_rng(3)
    counts = {steps(of(n), rng.normal(size=7), *rng.integers(0, 7, (2, n)), rng.normal(size=n))
              for n in (LEAST + 2, 40, 90)}  # fmt: skip
    assert len(counts) == 1
    assert counts.pop() < 60


def of_panels(n: int) -> Callable[..., Any]:
    """Pairs of panels that are of three kinds, each with all others."""

    def influence(y: Any, t: Any) -> Any:
        strength = [np.sin(y[k]) if k % 3 else np.exp(-y[k]) * t for k in range(n)]
        strength[1] = y[1] ** 3
        found = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if i != j:
                    found[i, j] += strength[i] * np.cos(strength[j] - strength[i]) + strength[j]
                else:
                    found[i, j] += 2.0
        total = [sum(found[i, j] * strength[j] for j in range(n)) for i in range(n)]
        return np.array(total) + found @ y

    return influence


def decided(n: int) -> Callable[..., Any]:
    """Numbers by branches: by value, and equal in all rounds."""

    def integral(y: Any, t: Any) -> Any:
        def side(x: Any) -> Any:
            return sg.cond(x < 0.5, lambda x: 1.0 - x / 3.0, lambda x: np.tanh(x) / x, x)

        return np.sum(np.array([side(y[k] * t) * y[k - 1] for k in range(n)]))

    return integral


@pytest.mark.parametrize("of", [of_panels, decided])
@pytest.mark.usefixtures("no_kernels")
def test_numbers_of_several_kinds(of: Any) -> None:
    for n in (LEAST - 1, LEAST + 2, 24):
        y, f = np.random.default_rng(n).uniform(0.1, 1.2, n), of(n)
        compiled = sg.compile(f)
        np.testing.assert_allclose(compiled(y, 0.8), f(y, 0.8), rtol=1e-12)
        slope = sg.grad(lambda y, t, f=f: np.sum(f(y, t) ** 2))
        d = 1e-6 * np.cos(np.arange(n))
        by_hand = (np.sum(f(y + d, 0.8) ** 2) - np.sum(f(y - d, 0.8) ** 2)) / 2
        np.testing.assert_allclose(slope(y, 0.8) @ d, by_hand, rtol=1e-6)
    assert steps(of(24), y, 0.8) < 24 * 40

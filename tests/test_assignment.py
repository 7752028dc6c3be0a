"""Assignment to traced arrays: NumPy's results, views and errors, through every backend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrad as sg
import symgrad.numpy as snp
from symgrad.errors import (
    DTypeError,
    IndexingError,
    ShapeError,
    SymgradError,
    TraceError,
    UnsupportedError,
)

pytestmark = pytest.mark.usefixtures("few_kernels")

X = np.linspace(0.5, 2.0, 5)
M = np.arange(12.0).reshape(3, 4) / 7 + 0.1

Case = Callable[[Any, Any], Any]


def fill(np: Any, x: Any) -> Any:
    y = np.zeros(5)
    for i in range(5):
        y[i] = x[i] ** 2
    return y


def recurrence(np: Any, x: Any) -> Any:
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = y[i - 1] * x[i] + 1
    return y


def stencil(np: Any, x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:-1] += x[2:] - 2 * x[1:-1] + x[:-2]
    y[0], y[-1] = x[0], 3.0
    return y


def views(np: Any, x: Any) -> Any:
    y = x.copy()
    row, column, turned = y[1], y[:, 2], y.T
    row[:] = row * 2
    row[0] = 7.0
    column += 1
    turned[0] = y[0, 1]
    return y, row + 0, turned * 1


def one_object_two_names(np: Any, x: Any) -> Any:
    y = x.copy()
    z = y
    z[1:3] = 0.0
    y *= 2
    return z, y


def view_taken_before(np: Any, x: Any) -> Any:
    y = x.copy()
    v = y[1:]
    y[2] = 5.0
    return v * 1, y[1:][0] * v


def views_of_views(np: Any, x: Any) -> Any:
    y = x.copy()
    y[1:][:, 1:][0] = 2.0
    y[::-1][:, ::2][0] += x[0, ::2]
    y[None][0, -1, None, :2] = 5.0
    return y


def copies_are_copies(np: Any, x: Any) -> Any:
    y = x.copy()
    a, b, c, d = np.copy(y), y * 1, np.array(y), y.flatten()
    y[:] = 0.0
    return a, b, c, d, y


def positions(np: Any, x: Any) -> Any:
    y = np.zeros(6)
    y[[0, 2, 2]] = x[:3]
    y[[5, 4]] += x[3:5]
    return y


def positions_and_slices(np: Any, x: Any) -> Any:
    y = x.copy()
    y[:, [0, 3]] = x[:, [3, 0]] * 2
    y[[0, 2], 1:3] += 1.0
    return y


def added_at(np: Any, x: Any) -> Any:
    y = np.zeros(6)
    np.add.at(y, [0, 2, 2], x[:3])
    np.subtract.at(y, (slice(3, 5),), x[3:5])
    return y


def applied_at(np: Any, x: Any) -> Any:
    y = np.zeros((3, 2)) + x[0]
    np.multiply.at(y, ([0, 2, 0, 0], [1, 1, 1, 0]), x[:4])
    np.maximum.at(y, 1, x[:2])
    np.divide.at(y, (slice(1, 3), [0, 0]), 1.5)
    np.exp.at(y, ([0, 0], [0, 0]))
    np.power.at(y, ([], []), 2.0)
    return y


def traced_position(np: Any, x: Any) -> Any:
    k = np.argmax(x)
    y = x.copy()
    y[k] = x[0] * 3
    y[k - 1] += 1.0
    return y


def masks(np: Any, x: Any) -> Any:
    y = x.copy()
    m = y > 1
    y[m] = np.sqrt(y[m] - 0.9) * 2
    y[y <= 0.6] = 1.0
    y[~(y > 1)] -= 1
    return y


def filled_as_selected(np: Any, x: Any) -> Any:
    part = np.asarray(x[x > 1], float)
    y, low = np.zeros_like(x), np.full_like(x[x > 1], 0.5)
    y[x > 1] = np.where(part > 1.5, np.zeros_like(part) + 2 * part, low)
    return y, np.sum(np.ones_like(part)), np.sum(np.asarray(part) * part)


def selected_of_selected(np: Any, x: Any) -> Any:
    part = x[x > 0.6]
    high = part[part > 1]
    part[part > 1] = np.log(high - 0.9)
    part[part < 0] = 3.0
    y = np.zeros_like(x)
    y[x > 0.6] = part
    return y, high.mean(), np.sum(part[part > 2] ** 2)


def found_places(np: Any, x: Any) -> Any:
    y, (low,), high = x.copy(), np.where(x < 1.1), np.flatnonzero(x > 1)
    y[low] = np.sqrt(x[low])
    y[np.nonzero(y > 1)] -= 0.5
    y[high] *= high + x[high]
    one = x[0]
    return y, low.size, high.max() + np.sum(0.5 * low), np.sum(one[one > 0] ** 2)


def found_rows(np: Any, x: Any) -> Any:
    y, where, rows = x.copy(), (x > 1).nonzero(), np.where(x[:, 0] > 0.5)[0]
    y[rows] *= 2.0
    y[rows, :] += x[rows, :]
    y[where] = np.sin(x[where])
    return y, np.sum(x[where[0], where[1]]), np.mean(where[1])


def right_of_others(np: Any, x: Any) -> Any:
    y = np.ones_like(x)
    low = x < 1.1
    y[low] -= x[0] * (x[3] - np.sin(x[low]))
    y[~low] = np.arctan2(x[1], x[~low]) + np.where(x[~low] > x[2], x[3], x[~low])
    return y + np.sum(np.array([2.0]) * x[low] < x[0])


def masked_statistics(np: Any, x: Any) -> Any:
    d = x[x > 1]
    return d.mean() + d.std() + d.max() - d.min() + np.sum(d**2) + d.size + np.log(d - 1).sum()


def masked_rows(np: Any, x: Any) -> Any:
    rows = x[x[:, 0] > 0.5]
    return rows.sum(axis=0), np.mean(rows, axis=0)


def elements(np: Any, x: Any) -> Any:
    y = np.zeros((3, 4))
    for i in range(3):
        for j in range(4):
            y[i, j] = x[i, j] * (i + j)
    y[:, 0] = y[:, 1]
    y[1] = 0
    y[::2, 1::2] += 1
    return y


def rows(np: Any, x: Any) -> Any:
    y = np.empty((3, 4))
    for i, row in enumerate(x):
        y[i] = row * i
    for row in y:
        row += 1
    return y


def out(np: Any, x: Any) -> Any:
    y = np.zeros(5)
    np.add(x, x, out=y)
    np.exp(y, out=y)
    np.clip(y, 0, 5, out=y)
    return y


def reshaped(np: Any, x: Any) -> Any:
    y = np.zeros(6)
    z = y.reshape(2, 3)
    z[1] = x[:3]
    y.reshape(3, 2)[:, 0] = x[0]
    return y, z * 1


def layouts(np: Any, x: Any) -> Any:
    """Written through where NumPy shares, and used alone where it may copy."""
    copied, alone, gram, steps = x.T.copy(), np.sin(x.T).ravel(), x.T @ x, x[0].copy()
    copied.ravel()[1] = 50.0
    alone[1:][0] = alone[0] * 2
    gram.reshape(-1)[::5] += 1.0
    steps[::2].reshape(2, 1)[1] = 7.0
    turned, rows = np.rot90(copied, 3), x[[0, 2]]
    turned[0, 0] = 9.0
    rows.ravel()[1] = 8.0
    return copied, alone, gram, steps, turned, rows


def copies_and_names(np: Any, x: Any) -> Any:
    """What is the same array, and what is only equal to it."""
    a, b, c, d, e = (x.copy() for _ in range(5))
    (+a)[0] = np.conj(b)[0] = np.concatenate([c, c[:0]])[0] = 5.0
    np.asarray(d, dtype=float)[0] = 6.0
    np.ascontiguousarray(d)[1] = 6.0
    np.atleast_2d(d, e)[1][0, 2] = 6.0
    e.astype(float, copy=False)[0] = 7.0
    e.astype(float)[1] = 7.0
    return a, b, c, d, e


def read_only_views(np: Any, x: Any) -> Any:
    """A diagonal and a broadcast array follow what they were taken from."""
    y = x[:, :3].copy()
    diagonal, wide = np.diagonal(y), np.broadcast_to(y[0], (2, 3))
    y[0, 0] = 5.0
    return diagonal * 1, wide * 1


def numbers_that_are_views(np: Any, x: Any) -> Any:
    """An index with ``...`` gives a view even of one element; without, a copy."""
    y = x.copy()
    first, copy = y[0, 0, ...], y[0, 0]
    y[0, 0] = 5.0
    last = y[1:][..., -1, -1]
    last[...] = 7.0
    last += x[0, 1]
    second = y[:1, 1:2].reshape(())
    second *= 3.0
    return y, first + copy, last * second


def listed_places(np: Any, x: Any) -> Any:
    """Places in tuples and ranges, an index of no axes, ``flat``, and what replaces nan."""
    y, z = x.copy(), x.copy()
    y[(0, 1, 0), (3, 3, 2)] = 7.0
    y[:, (0, 1)] += x[(2, 1, 0), :][:, range(2)]
    y[np.array(1)][0] = 100.0
    y.flat[3] = 8.0
    z.flat = x[0, 0]
    z[0, 1] = np.inf
    np.nan_to_num(z, copy=False, posinf=2.0)
    z.conj()[1, 1] = 9.0
    return y, z, x.flat[5], np.vstack([x, x[0]])


def factorised(np: Any, x: Any) -> Any:
    a = x[:3, :3] + 4 * np.eye(3)
    for i in range(3):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, 3):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def functions(np: Any, x: Any) -> Any:
    y = x.copy()
    np.fill_diagonal(y, 2.0)
    np.put(y, [1, 3], [5.0, 6.0])
    np.put_along_axis(y, np.argmax(x, axis=1)[:, None], -1.0, 1)
    np.copyto(y, x * 2, where=x > 1)
    np.putmask(y, x > 1.5, 0.5)
    return y


def repeated_values(np: Any, x: Any) -> Any:
    """Values are written in a row, and again from the first where they are few."""
    y, z, u, v = x.copy(), x.copy(), x.copy(), x.copy()
    np.fill_diagonal(y, x[0, :2])
    np.fill_diagonal(y[:2], x[1])
    np.place(z, z > 0.4, x[0, :3])
    np.putmask(u, u > 0.4, x[2, :2])
    np.put(v, [1, 25, -1, 3], x[1, :3], mode="wrap")
    np.put(v, [-3, 99], x[1, :2], mode="clip")
    return y, z, u, v


def empty_places(np: Any, x: Any) -> Any:
    y = x.copy()
    y[np.array([1, 2]), 4:4] = np.sin(x[[0], [1]])
    y[[], 1] = 2.0
    y[1:1, [0, 1]] *= 3.0
    np.add.at(y, ([], 1), 1.0)
    return y


def rows_exchanged(np: Any, x: Any) -> Any:
    """As in elimination with pivots: traced places within lists."""
    y, z, p = x.copy(), x * 1j, np.argmax(x[:, 0])
    y[[0, p]] = y[[p, 0]]
    y[[1, p], :] *= 2.0
    z[[0, p]] = z[[p, 0]]
    np.add.at(y, ([0, p], [p, 1]), 1.0)
    return y, y[[0, p], [p, 1]], x[(p, 0), 1:], x[[[p], [-1]]], np.abs(z)


def in_place_methods(np: Any, x: Any) -> Any:
    y, z = x[::-1].copy(), np.ones(3)
    y.sort()
    z.fill(x[0])
    return y, z


def products_in_place(np: Any, x: Any) -> Any:
    y, z = x.copy(), x * 1j
    row, part = y[0], z[1:]
    y @= np.sin(x.T @ x)
    z @= x.T @ x
    return y, row, np.imag(part)


CASES: dict[str, tuple[Case, Any]] = {
    f.__name__: (f, x)
    for x, group in (
        (X, (fill, recurrence, stencil, one_object_two_names, view_taken_before, positions,
             added_at, applied_at, traced_position, masks, right_of_others, masked_statistics, out,
             reshaped, in_place_methods, found_places, filled_as_selected,
             selected_of_selected)),
        (M, (views, views_of_views, copies_are_copies, positions_and_slices, masked_rows,
             elements, rows, factorised, functions, repeated_values, empty_places,
             numbers_that_are_views, layouts, copies_and_names, read_only_views,
             listed_places, rows_exchanged, found_rows, products_in_place)),
    )
    for f in group
}  # fmt: skip


def parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", CASES)
def test_it_is_numpys_result(name: str) -> None:
    function, x = CASES[name]
    want = parts(function(np, x.copy()))
    compiled = sg.compile(lambda x: function(snp, x))
    given = x.copy()
    for got in (compiled(given), numpy_backend(compiled, given)):
        for a, b in zip(parts(got), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(given, x)  # the caller's array is not written to


def numpy_backend(function: Any, *args: Any) -> Any:
    with sg.backend("numpy"):
        return function(*args)


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    function, x = CASES[name]

    def loss(module: Any, x: Any) -> Any:
        return sum(np.sum(np.sin(p) * 1.3) for p in parts(function(module, x)))

    with sg.backend("numpy"):
        found = sg.grad(lambda x: loss(snp, x))(x)
    want = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        want[place] = (loss(np, x + step) - loss(np, x - step)) / 2e-6
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-7)


def test_other_lengths_share_the_trace() -> None:
    compiled = sg.compile(lambda x: stencil(snp, x))
    for n in (5, 9, 12):
        x = np.linspace(0, 1, n)
        np.testing.assert_allclose(compiled(x), stencil(np, x), rtol=1e-14, atol=1e-14)
    assert compiled.traces == 1


def test_a_loop_that_fills_an_array_makes_one_assembly() -> None:
    program = sg.compile(lambda x: fill(snp, x), dynamic=False).program(X)
    assert [s.op.name for s in program.steps].count("Assemble") == 1
    program = sg.compile(lambda x: recurrence(snp, x)[-1], dynamic=False).program(X)
    assert not any(s.op.name in ("Assemble", "Update") for s in program.steps)


# ---------------------------------------------------------------- random assignments

INDEX = st.one_of(
    st.integers(-3, 2),
    st.builds(slice, st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3),
              st.sampled_from([None, 1, 2, -1])),
)  # fmt: skip
ACTION = st.tuples(st.sampled_from(["set", "add", "view", "row"]), st.tuples(INDEX, INDEX))


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(ACTION, min_size=1, max_size=5))
def test_random_assignments(actions: Any) -> None:
    def f(np: Any, x: Any) -> Any:
        y = x.copy()
        seen = []
        for k, (kind, index) in enumerate(actions):
            if kind == "set":
                y[index] = x[k % 3, 0] * (k + 2)
            elif kind == "add":
                y[index] += x[0, k % 3]
            elif kind == "view":
                seen.append(y[index])
            else:
                part = y[index[0]]
                if part.ndim:
                    part[...] = part * 2 + 1
        return (y, *(s * 1 for s in seen))

    x = np.arange(9.0).reshape(3, 3) + 0.5
    want = f(np, x)
    got = numpy_backend(sg.compile(lambda x: f(snp, x)), x)
    # NumPy's elements are numbers of their own; traced ones too.
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


#: Cells at the ends of an axis whose length is not known, and what lies between them.
CELL = st.sampled_from([0, 1, 2, -1, -2, -3])
INSIDE = st.sampled_from(
    [slice(1, -1), slice(2, -2), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None)]
)
BORDER = st.tuples(st.sampled_from(["ghost", "ghost", "across", "inside"]), INSIDE, CELL, CELL)


@given(INSIDE, st.lists(BORDER, min_size=3, max_size=6), st.sampled_from([1, 2]))
def test_random_borders(first: slice, actions: Any, ndim: int) -> None:
    """Cells beside what was written are read, and written, in arrays of any length."""

    def f(x: Any) -> Any:
        y = x * 2.0
        y[first] = x[first] ** 2
        for k, (kind, inside, cell, beside) in enumerate(actions):
            if kind == "ghost":
                y[cell] = -y[beside]
            elif kind == "across":
                y[..., cell] = y[..., beside] + 1
            else:
                y[inside] = x[inside] * (k + 3)
        return y

    compiled = sg.compile(f, backend="numpy")
    for n in (12, 12, 9, 20):
        x = np.arange(1.0, 1 + n**ndim).reshape((n,) * ndim)
        np.testing.assert_array_equal(compiled(x), f(x))


@pytest.mark.parametrize("n", [4, 5, 9, 30])
def test_ghost_cells_read_what_was_written_beside_them(n: int) -> None:
    def reflected(u: Any) -> Any:
        v = u * 2.0
        v[1:-1] -= u[1:-1] ** 2
        v[0] = -v[1]
        v[-1] = -v[-2]
        return v

    def corners(u: Any) -> Any:
        v = np.outer(u, u)
        v[1:-1, 1:-1] = 0.0
        v[0] = v[1]
        v[-1] = v[-2]
        v[:, 0] = v[:, 1]
        v[:, -1] = v[:, -2]
        return v

    u = np.sin(np.arange(1.0, n + 1))
    for f in (reflected, corners):
        np.testing.assert_array_equal(sg.compile(f)(u), f(u))
        step = f(u + 1e-30j * np.cos(u)).imag / 1e-30
        np.testing.assert_allclose(sg.jvp(f, (u,), (np.cos(u),))[1], step, rtol=1e-14, atol=1e-15)


def test_a_row_is_read_beside_another_row_and_a_column() -> None:
    """Of axes of any length, the last rows have places that are no numbers."""

    def f(p: Any) -> Any:
        p = p.copy()
        p[-1, :] = 2.0
        p[1:-1, 0] = p[1:-1, 1]
        p[-1, :] = p[-2, :]
        return p

    for n in (5, 20):
        p = np.arange(1.0 * n * n).reshape(n, n)
        np.testing.assert_array_equal(sg.compile(f)(p), f(p))


#: Rows and columns at the borders of a grid, with or without their ends.
BORDERS = [
    index
    for line in (-2, -1, 0, 1)
    for part in (slice(None), slice(1, -1))
    for index in ((line, part), (part, line))
]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(st.sampled_from(BORDERS), min_size=2, max_size=4), st.sampled_from([5, 18, 18]))
def test_random_rows_and_columns(written: Any, n: int) -> None:
    """As in schemes on grids; in long axes, the last rows have places that are no numbers."""

    def f(p: Any, read: Any) -> Any:
        for k, index in enumerate(written):
            p[index] = p[2, 2] * (k + 2)
        return p[read], p

    p = np.arange(1.0 * n * n).reshape(n, n) + 0.5
    for read in BORDERS:  # one alone: after it the array may be known as a whole
        got = numpy_backend(sg.compile(lambda p, read=read: f(p.copy(), read)), p)
        for a, b in zip(got, f(p.copy(), read), strict=True):
            np.testing.assert_array_equal(a, b)


PLACE = st.one_of(
    st.integers(-6, 5),
    st.builds(slice, st.integers(-6, 5), st.none() | st.integers(-3, 6),
              st.sampled_from([1, 1, 1, 2, -1])),
)  # fmt: skip
READ = st.tuples(st.sampled_from(["set", "add", "view", "read"]), st.tuples(PLACE, PLACE),
                 st.tuples(PLACE, PLACE))  # fmt: skip


@given(st.lists(READ, min_size=3, max_size=9))
def test_random_parts_read_between_writes(actions: Any) -> None:
    """What is small beside the array is put together of what was written there."""

    def f(y: Any, x: Any) -> Any:
        seen = []
        for k, (kind, index, other) in enumerate(actions):
            if kind == "set":
                y[index] = y[other].sum() * 0.5 + k
            elif kind == "add":
                y[index] += x[0, k]
            elif kind == "view":
                seen.append(y[index])
            else:
                seen.append(y[other] * (k + 1))
        return y, *(s * 1 for s in seen)

    x = np.arange(60.0).reshape(6, 10) / 8 + 0.5
    for start in (x, np.zeros_like(x)):
        got = numpy_backend(sg.compile(lambda x, s=start: f(s + 0 * x, x)), x)
        for a, b in zip(got, f(start.copy(), x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
        real = sg.jvp(lambda x, s=start: f(s * x, x), (x,), (np.cos(x),))[1]
        turned = x + 1e-30j * np.cos(x)
        for a, b in zip(real, f(start * turned, turned), strict=True):
            np.testing.assert_allclose(a, b.imag / 1e-30, rtol=1e-12, atol=1e-12)


def test_rows_are_read_from_what_was_written_in_them() -> None:
    """A factorisation row by row makes no whole array between its reads."""

    def factor(a: Any) -> Any:
        lower = np.zeros_like(a)
        for i in range(len(a)):
            for j in range(i + 1):
                rest = a[i, j] - lower[i, :j] @ lower[j, :j]
                lower[i, j] = np.sqrt(rest) if i == j else rest / lower[j, j]
        return lower

    n = 7
    a = np.minimum.outer(np.arange(1.0, n + 1), np.arange(1.0, n + 1)) + np.eye(n)
    np.testing.assert_allclose(sg.compile(factor)(a), np.linalg.cholesky(a), rtol=1e-13)
    program = sg.compile(factor, dynamic=False).program(a)
    made = [s for s in program.steps if s.op.name in ("Assemble", "Update") and s.shape == (n, n)]
    assert len(made) == 1


def test_what_is_added_to_a_part_is_a_sum() -> None:
    """Blocks of a matrix that overlap, the first of them written."""

    def stiffness(k: Any) -> Any:
        whole = np.zeros((12, 12))
        whole[:3, :3] = np.eye(3) * k[0]
        for i in range(9):
            whole[i : i + 3, i : i + 3] += np.ones((3, 3)) * k[i]
        return whole

    k = np.arange(1.0, 10)
    np.testing.assert_array_equal(sg.compile(stiffness)(k), stiffness(k))
    np.testing.assert_array_equal(sg.jvp(stiffness, (k,), (k * k,))[1], stiffness(k * k))


# ---------------------------------------------------------------- arguments, refusals


def test_overwritten_arguments_are_the_result() -> None:
    def one(x: Any) -> None:
        x[:] = np.sin(x)

    def two(x: Any, y: Any) -> None:
        x[1:] += y[:-1]
        y *= 2

    def neither(x: Any) -> Any:
        x[0] = 1.0
        return np.sum(x)

    np.testing.assert_allclose(sg.compile(one)(X), np.sin(X), rtol=1e-15)
    a, b = sg.compile(two)(X, X)
    np.testing.assert_allclose(a[1:], X[1:] + X[:-1])
    np.testing.assert_allclose(b, 2 * X)
    assert sg.compile(neither)(X) == pytest.approx(1 + X[1:].sum())


def changed_through_an_unclear_view(x: Any) -> Any:
    y = x.T.reshape(12)
    y[0] = 1.0
    return x


def changed_beside_an_unclear_view(x: Any) -> Any:
    y = x.T.reshape(12)
    part = y[2:]
    y[0] = 1.0
    x[0] = 2.0
    return part


def ravelled_backwards(x: Any) -> Any:
    y = x[0].copy()
    y[::-1].ravel()[0] = 50.0
    return y


def function_of_what_is_turned(x: Any) -> Any:
    """Elementwise results lie as the arguments do, so that ``ravel`` copies."""
    y = np.sin(x.T)
    y.ravel()[1] = 50.0
    return y


def loop_over_what_is_turned(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y.ravel()[i] = 50.0
        return y

    return sg.fori_loop(0, 3, step, np.sin(x.T))


def real_parts_in_a_row(x: Any) -> Any:
    z = x + 1j * x
    z.real.ravel()[0] = 50.0
    return z


def read_only(x: Any) -> Any:
    y = np.broadcast_to(x[0], (2, 4))
    y[0] = 1.0
    return y


def changed_under_an_unclear_view(x: Any) -> Any:
    z = x * 1
    y = z.T.reshape(12)
    z[0] = 0.0
    return y


def changed_beneath_windows(x: Any) -> Any:
    z = x[:, 0] * 1
    y = np.lib.stride_tricks.sliding_window_view(z, 2)
    z[0] = 0.0
    return y


def moved_places(x: Any) -> Any:
    (places,) = np.where(x[:, 0] > 0.5)
    places[places > 1] = 0
    return x[places]


def batched(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``f`` of one example of a batch, whose numbers decide nothing."""
    return lambda x: sg.vmap(f)(x[None])


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (changed_through_an_unclear_view, TraceError, r"how that lies in memory.* x\.copy\(\)"),
    (changed_beside_an_unclear_view, TraceError, r"how that lies in memory.* x\.copy\(\)"),
    (changed_beneath_windows, TraceError, r"windows share it.* x\.copy\(\)"),
    (ravelled_backwards, TraceError, "how that lies in memory"),
    (function_of_what_is_turned, TraceError, "how that lies in memory"),
    (loop_over_what_is_turned, TraceError, "how that lies in memory"),
    (real_parts_in_a_row, TraceError, "how that lies in memory"),
    (read_only, TraceError, r"NumPy does not write to.* x\.copy\(\)"),
    (changed_under_an_unclear_view, TraceError, r"x\.copy\(\)"),
    (lambda x: x.__setitem__(0, np.ones(3)), ShapeError, "could not broadcast"),
    (lambda x: x.__setitem__(7, 1.0), IndexingError, "index 7 is out of bounds"),
    (lambda x: snp.zeros(3, int).__iadd__(0.5), DTypeError, "keeps its type"),
    (batched(lambda x: x.__setitem__(x > 1, np.ones(4) * x[0])), TraceError, r"np\.where\(mask"),
    (batched(lambda x: x[x > 1][0]), SymgradError, "how many elements a traced mask selects"),
    (batched(lambda x: len(x[x > 1])), SymgradError, r"np\.sum\(mask\)"),
    (batched(lambda x: np.sort(x[x > 1])), SymgradError, "how many elements"),
    (batched(lambda x: x[x > 1] * np.ones(3)), SymgradError, "how many elements"),
    (batched(lambda x: x[np.where(x > 1)[0] - 1]), UnsupportedError, r"x\[np\.where\(mask\)\]"),
    (batched(lambda x: x[np.nonzero(x > 1)[::-1]]), UnsupportedError, r"x\[np\.where\(mask\)\]"),
    (batched(lambda x: np.where(x > 1)), UnsupportedError, r"np\.argmax\(mask\)"),
    (lambda x: moved_places(x), UnsupportedError, r"np\.argmax\(mask\)"),
    (batched(lambda x: x[x > 1].__setitem__(x > 1, 0.0)), UnsupportedError, "how many elements"),
    (lambda x: x[0, 0].__setitem__(x[0, 0] > 1, 0.0), TypeError, r"np\.asarray"),
    (batched(lambda x: x.__setitem__(x > 1, x[x > 0.5])), TraceError, "by another"),
]


@pytest.mark.parametrize(("function", "error", "match"), REFUSED)
def test_refused(function: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        sg.compile(function)(M)


@pytest.mark.parametrize("make", [snp.eye, snp.identity, snp.tri])
def test_into_matrices(make: Callable[[int], Any]) -> None:
    """What makes matrices makes them to be assigned to."""

    def corner(x: Any) -> Any:
        a = make(3)
        a[0, 1] = x
        return np.sum(a * a)

    assert sg.grad(corner)(3.0) == 6.0


def test_written_places_under_a_guard() -> None:
    """What guards a cotangent is boolean, and goes through assignments as it does."""

    def f(x: Any) -> Any:
        y = np.sqrt(x)
        y[1] = 3.0
        return np.sum(np.where(x > 0.0, y * x, 0.0))

    np.testing.assert_allclose(sg.grad(f)(np.array([4.0, 1.0, 0.0])), [3.0, 3.0, 0.0])


def test_numbers_that_were_read_are_copies() -> None:
    def swap(x: Any) -> Any:
        y = 1.0 * x
        a, b = y[0], y[2]
        y[0] = np.sin(b)
        y[2] = a * b
        return y

    x = np.array([0.3, 0.4, 0.5])
    np.testing.assert_allclose(sg.compile(swap)(x), swap(x), rtol=1e-15)


def test_constants_beside_traced_places() -> None:
    """Numbers made of constants are computed first, before what is written over arrays."""
    weights = np.cos(np.arange(5.0))

    def f(x: Any) -> Any:
        y = x.copy()
        y[np.argmax(x)] = 0.5
        y[2] = y[2] * 3.0 + y[1]
        return np.sum(weights * y)

    wanted = weights.copy()
    wanted[2] *= 3.0
    wanted[1] += weights[2]
    wanted[4] = 0.0
    np.testing.assert_allclose(sg.grad(f)(X), wanted, rtol=1e-15)


def one_element(make: Callable[[Any], Any], write: Callable[[Any, Any], Any]) -> Any:
    def f(s: Any, i: Any) -> Any:
        y = make(s).copy()
        write(y, i)
        return y, s

    return f


@pytest.mark.parametrize("make", [lambda s: np.stack([s]), lambda s: np.reshape(s, (1,)),
                                  lambda s: np.reshape(s, (1, 1))[0], np.atleast_1d])  # fmt: skip
@pytest.mark.parametrize("write", [
    lambda y, i: y.__setitem__(i, 7.0), lambda y, i: y.__setitem__(i, y[i] + 7.0),
    lambda y, i: y.__setitem__(slice(None), 7.0), lambda y, i: y.__setitem__(y > 1, 7.0),
    lambda y, i: y.__setitem__(0, 7.0),
])  # fmt: skip
@pytest.mark.quick(1)
def test_a_number_as_an_array_of_one_element(make: Any, write: Any) -> None:
    """It lies where arguments do, and is copied before it is written to."""
    f, index = one_element(make, write), np.int64(0)
    for s in (np.float64(2.5), np.float32(2.5)):
        want = f(s, index)
        for got in (sg.compile(f)(s, index), sg.compile(f).kernel(s, index)(s, index)):
            assert np.array_equal(got[0], want[0])
            assert got[1] == s
    slope = sg.grad(lambda s, i: np.sum(f(s, i)[0]) + s)(2.5, index)
    assert slope == 1.0 + f(np.float64(3.5), index)[0][0] - f(np.float64(2.5), index)[0][0]


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 12, 20)])
def test_masks_behind_whole_axes(shape: tuple[int, ...]) -> None:
    """Walls of a flow, land of an ocean: of each field, what a mask of places says."""

    def f(x: Any, walls: Any, columns: Any) -> Any:
        y = x.copy()
        y[:, walls] = 0.0
        y[..., columns] = y[0, 0, 0] + 2.0
        z = np.sin(x)
        z[:, walls] = y[0][walls]
        z[:, columns[: x.shape[1]], :] = 1.0
        z[columns[:1][0] + 1, ...] += 1.0
        return y, z

    rng = np.random.default_rng(5)
    x, walls = rng.normal(size=shape), rng.random(shape[1:]) < 0.4
    columns = np.arange(shape[2]) % 3 == 1
    for a, b in zip(sg.compile(f)(x, walls, columns), f(x, walls, columns), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_a_mask_of_another_shape() -> None:
    def f(x: Any, mask: Any) -> Any:
        y = x.copy()
        y[:, mask] = 0.0
        return y

    def g(x: Any, mask: Any) -> Any:
        y = x.copy()
        y[mask] = 0.0
        return y

    def read(x: Any, mask: Any) -> Any:
        return np.sum(x[mask])

    x = np.ones((3, 20))
    one, twelve = np.ones(1, bool), np.ones(12, bool)
    for function, mask in ((f, one), (f, twelve), (g, one), (read, one), (read, one[None])):
        with pytest.raises(IndexError):
            function(x, mask)
        with pytest.raises(IndexError, match="mask"):
            sg.compile(function)(x, mask)


def test_listed_values_for_a_mask() -> None:
    def f(x: Any, mask: Any) -> Any:
        y = x.copy()
        y[mask] = [1.0, 2.0]
        return y

    mask = np.arange(12) % 6 == 0
    with pytest.raises(TraceError, match=r"as many values as a traced mask"):
        sg.compile(lambda x, mask: sg.vmap(f)(x, mask))(np.ones((2, 12)), np.stack([mask, mask]))
    np.testing.assert_array_equal(sg.compile(f)(np.ones(12), mask), f(np.ones(12), mask))
    np.testing.assert_array_equal(sg.compile(f)(np.ones((12, 2)), mask), f(np.ones((12, 2)), mask))


def test_nothing_is_repeated() -> None:
    """NumPy leaves a diagonal that nothing is written to, and makes zeros of nothing."""

    def filled(a: Any, values: Any) -> Any:
        made = a.copy()
        np.fill_diagonal(made, values)
        return made

    a = np.arange(6.0).reshape(2, 3)
    f = sg.compile(filled)
    for values in (np.zeros(0), np.ones(1), np.zeros(0)):
        np.testing.assert_array_equal(f(a, values), filled(a, values))
    for shape in ((2, 2), (0,)):
        found = sg.compile(lambda x, shape=shape: np.resize(x, shape))(np.zeros(0))
        np.testing.assert_array_equal(found, np.zeros(shape))


# ---------------------------------------------------------------- where= and out= of ufuncs


def divided(x: Any, y: Any) -> Any:
    return np.divide(x, y, out=np.zeros_like(x), where=y != 0)


def logarithm(x: Any, y: Any) -> Any:
    z = np.full(x.shape, -1.0)
    np.log(x, out=z, where=x > 0)
    return z * y


def updated(x: Any, y: Any) -> Any:
    z = x * 1.0
    np.add(z, y, out=z, where=y > 0)
    np.multiply(z[1:], 2.0, out=z[1:], where=[True, False])
    np.sqrt(z, z, where=False)
    return z


def by_rows(x: Any, y: Any) -> Any:
    z = np.ones((2, 3))
    np.subtract(x, y, out=z, where=np.array([[True], [False]]))
    return np.sum(z, axis=0, where=z > -10.0, initial=1.0)


def two_results(x: Any, y: Any) -> Any:
    whole, part = np.zeros(3), np.full(3, 5.0)
    np.modf(x, out=(part, whole), where=y >= 0)
    return part + 2 * whole + np.divmod(x, 2.0, out=(None, whole))[0]


def outer(x: Any, y: Any) -> Any:
    z = np.zeros((3, 3))
    np.multiply.outer(x, y, out=z, where=y > 0)
    return np.add.reduce(z, where=z < 100.0, initial=0.5)


@pytest.mark.parametrize("f", [divided, logarithm, updated, by_rows, two_results, outer])
@pytest.mark.parametrize("y", [[0.0, 2.0, -1.0], [1.0, 0.0, 0.0], [-1.0, -2.0, -3.0]])
def test_ufuncs_write_where_they_are_told(f: Callable[..., Any], y: list[float]) -> None:
    x, y = np.array([-0.5, 1.5, 2.5]), np.array(y)
    with np.errstate(all="ignore"):
        expected = f(x, y)
        np.testing.assert_allclose(sg.compile(f)(x, y), expected, rtol=1e-14)
        slopes = sg.jacobian(f)(x, y)
        steps = [(f(x + h, y) - f(x - h, y)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slopes, np.transpose(steps), rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------- parts that are added


def flows(x: Any) -> Any:
    """What leaves one cell enters the next."""
    flow = np.tanh(x[1:] - x[:-1])
    change = np.zeros_like(x)
    change[:-1] += flow
    change[1:] -= flow
    return change


def flows_on_top(x: Any) -> Any:
    flow = np.tanh(x[1:] - x[:-1])
    change = -0.1 * x
    change[:-1] += flow
    change[1:] -= flow
    return change


def elements(x: Any) -> Any:
    """Three of them overlap in each node."""
    total = np.zeros_like(x)
    for i in range(x.shape[0] - 2):
        total[i : i + 3] += np.sin(x[i]) * np.array([1.0, -2.0, 1.0])
    return total


def mirrored(x: Any) -> Any:
    total = x * 2.0
    total[::-1] += x**2
    total[1:-1] += x[2:]
    total[:] -= 1.0
    return total


@pytest.mark.parametrize("f", [flows, flows_on_top, elements, mirrored])
@pytest.mark.parametrize("backend", ["llvm", "numpy"])
def test_parts_that_are_added_are_one_sum(f: Callable[..., Any], backend: str) -> None:
    compiled = sg.compile(f, backend=backend)
    for n in (3, 4, 9, 9):
        x = np.sin(np.arange(1.0, n + 1))
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14, atol=1e-15)
        _, tangent = sg.jvp(f, (x,), (np.cos(x),))
        h = 1e-30  # a complex step: numbers as functions of one argument
        step = f(x + 1j * h * np.cos(x)).imag / h
        np.testing.assert_allclose(tangent, step, rtol=1e-12, atol=1e-14)
    assert "update(" not in str(compiled.program(x))


def test_zeros_keep_their_sign_under_parts() -> None:
    def f(x: Any) -> Any:
        y = -x
        y[:2] += x[:2]
        y[1:3] += x[1:3]
        return y

    x = np.zeros(5)
    for backend in ("llvm", "numpy"):
        found = sg.compile(f, backend=backend)(x)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(f(x)))


def test_columns_are_written_backwards() -> None:
    """Of few columns each is an array of its own, and its old values come first."""

    def f(x: Any) -> Any:
        y = x.copy()
        y[::-1, 0] = x[:, 1]
        y[::-1, 1:3] *= 2.0
        return y

    for shape in ((10, 3), (7, 8), (10, 11), (40, 3)):
        x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        np.testing.assert_array_equal(sg.compile(f)(x), f(x))


def root_of_either_sign(x: Any) -> Any:
    x = np.asarray(x)
    y, right = np.empty_like(x), x > 0
    y[right] = np.sqrt(x[right])
    y[~right] = -x[~right]
    return y


def scaled_in_place(x: Any) -> Any:
    y = np.array(x, dtype=float)
    z = y
    y[...] = 3 * x
    y += 1
    y[()] *= 2
    return z * x


def cut_off(x: Any) -> Any:
    y = np.asarray(x)
    if np.ndim(x):
        y = y.copy()
    y[y < 0] = 0
    return y + x


def bins(x: Any) -> Any:
    place = np.array(np.digitize(x, (0.0, 1.0, 2.0)))
    place[np.isnan(x)] = 0
    place -= 1
    return np.array([1.0, 2.0, 3.0])[place] * x


def mean_into(x: Any) -> Any:
    out = np.empty(x.shape[1:])
    np.nanmean(x, axis=0, out=out)
    out = np.multiply(out, 2.0, out=out)
    return out.item() if x.ndim == 1 else out


def complex_number(x: Any) -> Any:
    z = np.zeros((), complex)
    z[()] = np.sum(x) + 2j
    z *= 1j
    return z.imag * z.real


def told(x: Any) -> Any:
    """A number has no elements to assign to; an array without axes is an array."""
    try:
        x[x < 0] = 0
    except TypeError:
        x = max(x, 0.0)
    y = np.array(2.0)
    return 2 * x if isinstance(y, np.ndarray) and not isinstance(y * y, np.ndarray) else x


@pytest.mark.parametrize("x", [1.5, -0.7, np.float64(0.3), np.array([1.5, -0.3, 0.3])])
@pytest.mark.parametrize("f", [root_of_either_sign, scaled_in_place, cut_off, bins, mean_into,
                               complex_number, told])  # fmt: skip
@pytest.mark.quick(2)
def test_arrays_without_axes_are_assigned_to(f: Callable[[Any], Any], x: Any) -> None:
    x = np.array([x, 2 * x]) if f is mean_into and np.ndim(x) == 0 else x
    given, h = np.copy(x) if np.ndim(x) else x, 1e-6
    np.testing.assert_allclose(sg.compile(f)(np.copy(x) if np.ndim(x) else x), f(given), rtol=1e-14)
    if np.ndim(x) == 0:
        assert sg.grad(f)(x) == pytest.approx((f(x + h) - f(x - h)) / (2 * h), abs=1e-8)


def test_what_is_made_of_a_number_is_another_array() -> None:
    def f(x: Any) -> Any:
        y, z = np.asarray(x), np.asarray(x)
        same = np.asarray(y)
        y[...] = 5.0
        return x, y, z, same

    assert sg.compile(f)(2.0) == f(2.0) == (2.0, 5.0, 2.0, 5.0)


def test_a_side_of_a_branch_assigns_to_an_array_without_axes() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(())
        if x > 1:
            y[()] = x * x
        y += 1
        return float(y)

    x = np.array([0.5, 3.0])
    np.testing.assert_array_equal(sg.vmap(f)(x), [1.0, 10.0])
    np.testing.assert_array_equal(sg.vmap(sg.grad(f))(x), [0.0, 6.0])


def clipped_in_place(x: Any) -> Any:
    y = x * 2
    np.clip(y, 0.5, 1.5, y)
    return y


def summed_into(x: Any) -> Any:
    out = np.zeros(2)
    np.sum(x.reshape(2, -1), 1, None, out)
    return out


@pytest.mark.parametrize("f", [clipped_in_place, summed_into])
def test_functions_write_where_their_fourth_argument_says(f: Callable[[Any], Any]) -> None:
    x = np.array([0.1, 0.6, 1.0, 0.2])
    np.testing.assert_array_equal(sg.compile(f)(x), f(x))


def test_writes_through_diagonals_of_einsum() -> None:
    """They are views that NumPy writes to; those of ``np.diagonal`` are not."""

    def f(x: Any) -> Any:
        eye, scaled = np.zeros_like(x), np.zeros_like(x, dtype=complex)
        np.einsum("ijj->ij", eye)[...] = 1.0
        np.einsum("ijj->ij", eye)[:, 1:] *= x[:, 0, 1:]
        np.einsum("ijj->ij", scaled)[...] = 1 / np.sqrt(x[:, 0] + 1j)
        y = x[0].copy()
        diagonal = np.einsum("ii->i", y)
        diagonal[1:] += y[0, 1:]
        y[0] *= 2.0
        return np.sum((eye @ x) ** 2) + np.sum(np.abs(scaled @ x)) + np.sum(y**2 * diagonal)

    x = np.random.default_rng(4).uniform(1, 2, (2, 3, 3))
    np.testing.assert_allclose(sg.compile(f)(x), f(x), rtol=1e-14)
    slopes = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        slopes[place] = (f(x + step) - f(x - step)) / 2e-5
    np.testing.assert_allclose(sg.grad(f)(x), slopes, rtol=1e-6)

    def refused(x: Any) -> Any:
        np.diagonal(x.copy())[...] = 1.0

    with pytest.raises(TraceError, match="a diagonal is a view"):
        sg.compile(refused)(x[0])


def test_items_at_a_place() -> None:
    x = np.arange(1.0, 7.0).reshape(2, 3)
    for f in (
        lambda x: x.item(4) * 2,
        lambda x: x.item(1, 2) * x.item((0, 1)),
        lambda x: x[0].item(-1),
        lambda x: x[x > 2].item(0),
        lambda x: np.sum(x).item(0),
    ):
        assert sg.compile(f)(x) == f(x)
    np.testing.assert_array_equal(sg.grad(lambda x: x.item(4) * 2)(x), [[0, 0, 0], [0, 2, 0]])


def calls_of(make: Callable[[], Any]) -> int:
    """Return how many calls Python makes, and resumptions of generators."""
    count = 0

    def note(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        make()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.slow
def test_a_write_costs_the_same_however_many_there_were() -> None:
    def recurrence(x: Any) -> Any:
        f = np.zeros(x.shape[0])
        for i in range(1, x.shape[0]):
            f[i] = x[i] + 0.5 * f[i - 1]
        return np.sum(f**2)

    few, many = (
        calls_of(lambda n=n: sg.compile(recurrence).program(np.linspace(0.0, 1.0, n)))
        for n in (400, 1600)
    )
    assert many < 4.5 * few


@pytest.mark.parametrize("x", [0.5, 2.0, 4.0])
def test_numbers_chosen_by_a_condition_are_arrays(x: float) -> None:
    """``np.where`` and the like give arrays without axes, to which plain code assigns."""

    def written(x: Any) -> Any:
        z = np.where(x > 1, x, 2 * x)
        z[x > 3] = 0.0
        return z

    def shared(x: Any) -> Any:
        z = np.select([x > 3, x > 1], [x, 2 * x], 3 * x)
        other = z
        z *= x
        z[...] += 1.0
        return other

    for f in (written, shared):
        value, slope = sg.value_and_grad(f)(x)
        assert value == f(np.float64(x))
        near = (f(np.float64(x + 1e-6)) - f(np.float64(x - 1e-6))) / 2e-6
        assert slope == pytest.approx(near, rel=1e-8)


def test_places_that_are_arguments_are_compared_in_their_order() -> None:
    """Which of each two is less follows from neighbours: guards do not grow with the square."""

    def balance(x: Any, edges: Any) -> Any:
        made = -x
        for i, j in edges:
            flow = np.tanh(x[i] - x[j])
            made[i] -= flow
            made[j] += flow
        return made

    def ring(n: int) -> list[tuple[int, int]]:
        return [(k, (k + 2) % n) for k in range(n - 2)]

    few, many = (len(sg.compile(balance).program(np.ones(n), ring(n)).guards) for n in (14, 28))
    assert many < 2.5 * few
    f, g = sg.compile(balance), sg.grad(lambda x, e: np.sum(balance(x, e) ** 2))
    rng, x = np.random.default_rng(0), np.linspace(0.1, 1.5, 14)
    for edges in [
        ring(14),
        [(j, i) for i, j in ring(14)],
        ring(14)[::-1],
        [(0, 1)] * 12,
        *(rng.integers(14, size=(12, 2)).tolist() for _ in range(6)),
        [(k + 1, k) for k in range(12)],
    ]:
        np.testing.assert_allclose(f(x, edges), balance(x, edges), rtol=1e-14)
        way, e = rng.normal(size=14), 1e-6
        ahead, behind = (np.sum(balance(x + s * way, edges) ** 2) for s in (e, -e))
        np.testing.assert_allclose(g(x, edges) @ way, (ahead - behind) / (2 * e), rtol=1e-6)

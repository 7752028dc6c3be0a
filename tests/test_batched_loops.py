"""``while_loop`` under ``vmap``: every example takes the steps that it needs, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg


def root(a: Any, scale: Any = 1.0) -> Any:
    """Newton's method: more steps for numbers far from 1."""
    return sg.while_loop(
        lambda x: np.abs(x * x - scale * a) > 1e-12 * a, lambda x: 0.5 * (x + scale * a / x), a
    )


NUMBERS = np.concatenate([[1.0], np.geomspace(0.01, 1e4, 69)])


def test_values_and_derivatives_are_those_of_each() -> None:
    each = np.array([root(a) for a in NUMBERS])
    np.testing.assert_array_equal(sg.vmap(root)(NUMBERS), each)
    slopes = np.array([sg.grad(root)(a) for a in NUMBERS])
    np.testing.assert_allclose(sg.vmap(sg.grad(root))(NUMBERS), slopes, rtol=1e-13)
    total = sg.grad(lambda x: np.sum(sg.vmap(root)(x)))
    np.testing.assert_allclose(total(NUMBERS), slopes, rtol=1e-13)
    _, tangent = sg.jvp(sg.vmap(root), (NUMBERS,), (np.ones(70),))
    np.testing.assert_allclose(tangent, slopes, rtol=1e-13)


@pytest.mark.slow
def test_derivatives_by_what_all_share_are_sums() -> None:
    shared = sg.grad(lambda s: np.sum(sg.vmap(root, in_axes=(0, None))(NUMBERS[1:], s)))
    each = [sg.grad(root, argnums=1)(a, 1.5) for a in NUMBERS[1:]]
    np.testing.assert_allclose(shared(1.5), np.sum(each), rtol=1e-12)
    curved = sg.grad(shared)(1.5)
    np.testing.assert_allclose(curved, -0.25 * 1.5**-1.5 * np.sum(np.sqrt(NUMBERS[1:])), rtol=1e-9)


def test_batches_of_batches() -> None:
    table = NUMBERS.reshape(2, 35)
    np.testing.assert_array_equal(sg.vmap(sg.vmap(root))(table).ravel(), sg.vmap(root)(NUMBERS))


def test_no_example_is_asked_for_more_than_its_own() -> None:
    x = np.arange(1.0, 6)

    def partial_sum(count: Any) -> Any:  # past the end there is nothing to read
        return sg.while_loop(
            lambda s: s[0] < count, lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, 0.0)
        )[1]

    counts = np.arange(70) % 6
    expected = np.concatenate([[0.0], np.cumsum(x)])[counts]
    np.testing.assert_array_equal(sg.vmap(partial_sum)(counts), expected)


def test_only_the_side_of_a_branch_that_is_chosen() -> None:
    x = np.arange(1.0, 6)

    def guarded(limit: Any) -> Any:
        def step(s: Any) -> Any:
            more = sg.cond(s[0] < 5, lambda: x[s[0]], lambda: 0.0)
            return s[0] + 1, s[1] + more

        return sg.while_loop(lambda s: s[0] < limit, step, (0, 0.0))[1]

    limits = np.arange(40) % 9
    expected = np.concatenate([[0.0], np.cumsum(x)])[np.minimum(limits, 5)]
    np.testing.assert_array_equal(sg.vmap(guarded)(limits), expected)


@pytest.mark.parametrize("limit", [np.nan, -1.0])
def test_examples_that_never_begin(limit: float) -> None:
    def count(limit: Any) -> Any:
        return sg.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + 1, s[1] + 1), (0.0, 0))[1]

    limits = np.where(np.arange(65) % 3, 4.0, limit)
    np.testing.assert_array_equal(sg.vmap(count)(limits), np.where(np.arange(65) % 3, 4, 0))
    assert sg.vmap(count)(np.full(3, limit)).tolist() == [0, 0, 0]


def test_threads_and_backends_agree() -> None:
    many = np.tile(NUMBERS, 300)
    alone = sg.compile(sg.vmap(root), parallel=False)(many)
    np.testing.assert_array_equal(sg.compile(sg.vmap(root), parallel=True)(many), alone)
    with sg.backend("numpy"):
        np.testing.assert_array_equal(sg.compile(sg.vmap(root))(many), alone)


def test_a_program_shows_a_loop_over_examples() -> None:
    text = str(sg.compile(sg.vmap(root)).program(NUMBERS))
    assert "length=n)" in text


def written(x: Any) -> Any:
    """At places that all examples share: of a vector, and of a matrix's columns."""

    def place(known: Any, k: Any) -> Any:
        row, table = known
        row[k] = 0.5 * x[2 - k] + row[k - 1] / 16
        table[:, k] = row * 0.5
        table[k, 1:] += x[k] / 8
        return (row, table), None

    (row, table), _ = sg.scan(place, (x, np.zeros((3, 3)) * x), np.arange(3))
    return row + table @ row / 64


def slopes_of_read(x: Any) -> Any:
    def total(y: Any) -> Any:
        return sg.scan(lambda c, k: (c + y[k] * y[k - 1], None), 0.0, np.arange(3))[0]

    return 0.3 * sg.grad(total)(x)


@pytest.mark.parametrize(
    "step",
    [
        lambda x: x * 0.5 + np.argmax(x),
        lambda x: 0.5 * x - np.argmin(x) / 8,
        lambda x: np.where(np.arange(3) == np.argmax(np.abs(x)), 0.5 * x, x),
        lambda x: 0.5 * np.sort(x)[::-1],
        lambda x: 0.5 * x + np.cumsum(x) / 16,
        lambda x: 0.5 * x + np.prod(x) / 1e4,
        lambda x: np.where(np.any(x > 3), 0.5 * x, 0.25 * x),
        lambda x: 0.5 * np.roll(x, 1) + np.median(x) / 8,
        lambda x: np.linalg.solve(np.diag(x) + 4 * np.eye(3), x),
        lambda x: 0.4 * np.concatenate([x[1:], x[:1]]) + np.max(x) / 8,
        lambda x: np.take(0.5 * x, [2, 0, 1]) + np.ptp(x) / 16,
        written,
        slopes_of_read,
    ],
    ids=[
        "argmax",
        "argmin",
        "by place",
        "sort",
        "cumsum",
        "prod",
        "any",
        "roll",
        "solve",
        "concatenate",
        "take",
        "written",
        "slopes of read",
    ],
)
@pytest.mark.quick(3)
def test_what_works_along_axes_works_along_those_of_each(step: Any) -> None:
    def shrunk(x: Any) -> Any:
        return sg.while_loop(
            lambda s: (s[0] < 40) & (np.max(np.abs(s[1])) > 0.7),
            lambda s: (s[0] + 1, step(s[1])),
            (0, x),
        )

    table = np.random.default_rng(0).normal(0.0, 4.0, (37, 3))
    found = sg.vmap(shrunk)(table)
    each = [sg.compile(shrunk)(row) for row in table]
    np.testing.assert_array_equal(found[0], [count for count, _ in each])
    np.testing.assert_allclose(found[1], np.array([x for _, x in each]), rtol=1e-13, atol=1e-300)


def test_a_result_that_is_the_same_in_all_examples_before_a_loop_for_each() -> None:
    """It is computed of the batch once, not of one example that there is not."""

    def f(x: Any, rows: Any, count: Any) -> Any:
        def turns(limit: Any, state: Any) -> Any:
            begun = np.int64(0), state
            return sg.while_loop(lambda c: c[0] < limit, lambda c: (c[0] + 1, c[1]), begun)[1]

        def chosen(state: Any) -> Any:
            state = turns(state[2] % 3, state)
            _, found = sg.scan(lambda c, row: (c, row * 2.0), 0.0, rows[:3])
            return found[-1], *state[1:]

        state = turns(2, (x * 0.5, rows[1] * 3.0, count, np.array(3.0)))
        return sg.cond(state[3] > 2, chosen, lambda state: state, state)[:2]

    rows = np.arange(12.0).reshape(3, 4)
    for batch in (sg.vmap(f), sg.compile(sg.vmap(f))):
        found = batch(np.ones(3), rows, np.array([1, 2, 5]))
        np.testing.assert_array_equal(found, [rows[:, 2] * 2.0, rows[:, 1] * 3.0])


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_steps_with_equal_loops_that_a_later_loop_reads(backend: str) -> None:
    """The second derivative's inner loop is the same in all steps, and written down in each."""

    def f(x: Any, q: Any) -> Any:
        def inner(i: Any) -> Any:
            return sg.fori_loop(0, 4, lambda j, c: c + q[i] - x * (j == 1), 0.0)

        def outer(i: Any, c: Any) -> Any:
            return c + np.where(x > q[i], x * inner(i), x * q[i] * inner(i))

        return sg.fori_loop(0, 4, outer, 0.0)

    q = np.array([0.3, -0.7, 1.2, 0.1])
    with sg.backend(backend):
        # Of each term x*(4*q - x) or q times that.
        assert sg.hessian(f)(0.4, q) == pytest.approx(-2.0 * (3 + 1.2), rel=1e-14)

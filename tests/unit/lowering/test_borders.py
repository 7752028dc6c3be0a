"""Loops cut at borders, and sums of shifted parts read from arrays with margins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.pipeline import legal


def assemblies(f: Callable[..., Any], *args: Any) -> list[Any]:
    """Return the arrays that a program puts together, in terms of its sizes."""
    steps = legal(sg.compile(f).program(*args), True).steps
    return [n for n in steps if n.op.kind == "assemble"]


def rolled(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


def inside(u: Any) -> Any:
    near = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return np.sum((near - 4.0 * u[1:-1, 1:-1]) ** 2)


def tiles(w: Any) -> Any:
    y = np.zeros((300, w.shape[1]))
    for k in range(40):
        y[7 * k : 7 * k + 9] += w
    return y


def test_rolled_arrays_are_not_made() -> None:
    (whole,) = assemblies(rolled, np.ones((20, 30)))
    assert len(whole.operands) == 9  # the inside, four sides, four corners


def test_a_laplacians_adjoint_reads_one_array_with_a_margin() -> None:
    (margin,) = assemblies(sg.grad(inside), np.ones((20, 30)))
    assert margin.params["disjoint"]
    assert str(margin.shape) == "(n + 2, m + 2)"


def test_many_arrays_at_few_places_are_added() -> None:
    """Each would be written with a margin and read again: two at four places take longer so."""

    def variation(u: Any) -> Any:
        down, across = np.diff(u, axis=0)[:, :-1], np.diff(u, axis=1)[:-1]
        return np.sum(np.sqrt(1.0 + down**2 + across**2))

    u = np.random.default_rng(0).normal(size=(20, 30))
    *_, whole = assemblies(sg.grad(variation), u)
    assert not whole.params["disjoint"]
    assert len(whole.operands) == 4
    np.testing.assert_allclose(
        np.sum(sg.grad(variation)(u) * u), sg.jvp(variation, (u,), (u,))[1], rtol=1e-12
    )


def test_small_parts_of_a_sum_are_added_to_their_places() -> None:
    """Read by each element, every one of forty tiles would be read by all of the sum."""
    w = np.random.default_rng(0).normal(size=(9, 30))
    assert {x.shape[0] for x in assemblies(tiles, w)} == {300}  # no margin around it
    np.testing.assert_allclose(sg.compile(tiles)(w), tiles(w), rtol=1e-14)


def test_a_rolled_row_has_no_border_along_the_rows_that_it_multiplies() -> None:
    def weighted(u: Any, row: Any) -> Any:
        return np.roll(u, 1, 0) * np.roll(u, 1, 1) * np.roll(row, 1)

    def square(u: Any, row: Any) -> Any:
        return np.roll(u @ u, 1, 0) * np.roll(u, 1, 1) * np.roll(row, 1)  # as many rows as columns

    rng = np.random.default_rng(2)
    for f, shape in ((weighted, (4, 5)), (square, (4, 4))):
        u, row = rng.normal(size=shape), rng.normal(size=shape[1])
        np.testing.assert_allclose(sg.compile(f)(u, row), f(u, row), rtol=1e-12)
    cells = sorted(len(x.operands) for x in assemblies(weighted, np.ones((4, 5)), np.ones(5)))
    assert cells == [2, 4]  # the row, and the result


def test_borders_of_unknown_order_are_not_cut() -> None:
    """Rolled by two, three elements have their borders the other way round."""
    shift = sg.compile(lambda u: np.roll(u, 2) + np.roll(u, -2) + u)
    for n in (9, 3, 4, 5):
        u = np.arange(1.0, n + 1)
        np.testing.assert_array_equal(shift(u), np.roll(u, 2) + np.roll(u, -2) + u)


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (3, 3), (7, 4)])
def test_small_sizes(shape: tuple[int, int]) -> None:
    u = np.random.default_rng(1).normal(size=shape)
    np.testing.assert_array_equal(sg.compile(rolled)(u), rolled(u))


@pytest.mark.parametrize("sizes", [(3, 3, 2), (40, 30, 20)])
def test_joined_vectors_along_joined_matrices(sizes: tuple[int, int, int]) -> None:
    """The borders of a vector are not those of the matrices that it is broadcast to."""

    def weighed(x: Any, y: Any, a: Any, b: Any) -> Any:
        both = np.concatenate([x, y], axis=1)
        return np.sum(both * np.concatenate([a, b]) * np.exp(both))

    (rows, left, right), rng = sizes, np.random.default_rng(2)
    args = [rng.normal(size=shape) for shape in ((rows, left), (rows, right), left, right)]
    assert sg.compile(weighed)(*args) == pytest.approx(weighed(*args), rel=1e-13)

"""Arrays assembled in stages are written in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrad as sg
import symgrad.numpy as snp
from symgrad._core.lowering._legalize import MOST_PARTS
from symgrad._core.lowering._plan import plan
from symgrad._core.ops.indexing import basic_region
from symgrad._core.ops.regions import slices, within
from symgrad._core.pipeline import legal


def tasks(f: Any, *args: Any) -> int:
    """Return how many passes the kernel of ``f`` makes."""
    return len(plan(legal(sg.compile(f).program(*args), vector_math=False)).tasks)


STAGED = {
    "stack of stacks": lambda x, y: np.stack([np.stack([x, y]), np.stack([y * y, x])]),
    "stack of concatenations": lambda x, y: np.stack(
        [np.concatenate([x, y]), np.concatenate([y, x])], axis=1
    ),
    "concatenation of stacks": lambda x, y: np.concatenate(
        [np.stack([x, y], 1), np.stack([y, x], 1), np.stack([x, x * y], 1)]
    ),
    "turned": lambda x, y: np.stack([np.stack([x, y], 1), np.stack([y, x], 1)]).transpose(2, 0, 1),
    "with axes of one": lambda x, y: np.stack([x, y])[:, None, :, None],
    "backwards": lambda x, y: np.stack([np.concatenate([x, y])[::-1], np.concatenate([y, x])]),
    "with gaps": lambda x, y: np.stack([np.pad(np.stack([x, y]), 1), np.pad(np.stack([y, x]), 1)]),
    "added": lambda x, y: np.stack([np.diff(x, prepend=0.0), np.diff(y, prepend=1.0)]),
}


@pytest.mark.parametrize("name", sorted(STAGED))
def test_results_and_derivatives(name: str) -> None:
    f = STAGED[name]
    x, y = np.random.default_rng(0).normal(size=(2, 20))
    np.testing.assert_array_equal(sg.compile(f)(x, y), f(x, y))
    ones = np.random.default_rng(1).normal(size=f(x, y).shape)
    slope = sg.grad(lambda x: np.sum(f(x, y) * ones))(x)
    step = 1e-6
    for k in range(len(x)):
        e = step * (np.arange(len(x)) == k)
        difference = np.sum((f(x + e, y) - f(x - e, y)) * ones) / (2 * step)
        np.testing.assert_allclose(slope[k], difference, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["stack of stacks", "turned", "with axes of one"])
def test_one_pass(name: str) -> None:
    x = np.arange(20.0)
    assert tasks(STAGED[name], x, x) == 1


def test_jacobians_in_columns_are_written_in_one_pass() -> None:
    """The blocks of camera and point of an observation, each a stack of rows of numbers."""

    def residual(a: Any, b: Any) -> Any:
        return np.stack([a[0] * b[1] + a[10], np.sin(a[1]) * b[0]])

    each = sg.jacobian(residual, argnums=(0, 1))
    columns = sg.vmap(each, in_axes=1, out_axes=-1)
    a, b = np.random.default_rng(0).normal(size=(11, 30)), np.ones((3, 30))
    assert tasks(columns, a, b) == 1
    rows = sg.vmap(each)(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T))
    for found, row in zip(columns(a, b), rows, strict=True):
        np.testing.assert_allclose(found, np.moveaxis(row, 0, -1), rtol=1e-14)


@given(st.data())
@settings(max_examples=settings.default.max_examples // 2, deadline=None)
def test_random_stages(data: Any) -> None:
    """Three stages of stacks, concatenations, turns and slices of two vectors."""
    x, y = np.arange(1.0, 5.0), np.arange(5.0, 9.0)
    choose = data.draw(
        st.lists(st.tuples(st.sampled_from("scpt"), st.integers(0, 3)), min_size=2, max_size=4)
    )

    def f(x: Any, y: Any) -> Any:
        a, b = x, y
        for kind, k in choose:
            if kind == "s":
                a, b = np.stack([a, b], axis=k % (a.ndim + 1)), np.stack([b, a * 2], axis=0)
                b = np.moveaxis(b, 0, k % a.ndim)
            elif kind == "c":
                axis = k % a.ndim
                a, b = np.concatenate([a, b], axis=axis), np.concatenate([b, b], axis=axis)
            elif kind == "p":
                a, b = np.pad(a, k % 2), np.pad(b, k % 2)
            else:
                a, b = a.T, b.T
        return a

    np.testing.assert_array_equal(sg.compile(f)(x, y), f(x, y))


@pytest.mark.slow
def test_chains_of_concatenations_stay_linear() -> None:
    """Past so many parts an assembly is not spread out into the next."""

    def f(x: Any) -> Any:
        whole = x
        for k in range(MOST_PARTS + 20):
            whole = np.concatenate([whole, k * x])
        return whole

    x = np.ones(3)
    np.testing.assert_array_equal(sg.compile(f)(x), f(x))


# ---------------------------------------------------------------- regions of regions


def strided(x: Any) -> Any:
    """Return what is written every second place, then read one by one."""
    y = snp.zeros(20)
    y[1:9:2] = np.stack([x[0], x[1], x[2], x[0] * x[1]])
    y[18:10:-3] = np.stack([x[2], x[1], x[0] * x[2]])
    return np.stack([y[k] for k in range(20)])


def test_an_element_of_what_was_written_in_steps() -> None:
    x = np.array([2.0, 3.0, 5.0])
    want = np.zeros(20)
    want[1:9:2], want[18:10:-3] = [2, 3, 5, 6], [5, 3, 10]
    np.testing.assert_array_equal(sg.compile(strided)(x), want)
    for k, slope in ((3, [0, 1, 0]), (7, [3, 2, 0]), (12, [5, 0, 2]), (15, [0, 1, 0])):
        np.testing.assert_array_equal(sg.grad(lambda x, k=k: strided(x)[k])(x), slope)


def test_steps_through_a_concatenation() -> None:
    def total(s: Any) -> Any:
        return np.sum(np.concatenate([s.ravel(), s.ravel()])[1:9:2])

    np.testing.assert_array_equal(
        sg.grad(total)(np.ones((3, 3))), [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    )


@given(st.data())
def test_regions_within_regions_are_numpys(data: Any) -> None:
    """The region of a region is what indexing twice gives, in one form for each place."""
    numbers = np.arange(24).reshape(4, 6)
    index = st.integers(0, 1) | st.builds(
        slice, st.none() | st.integers(-3, 3), st.none() | st.integers(-3, 3),
        st.sampled_from([1, 2, 3, -1, -2]),
    )  # fmt: skip
    first = data.draw(st.tuples(index, index))
    outer = basic_region(numbers.shape, first)
    assert outer is not None
    taken = numbers[first]
    second = data.draw(st.tuples(*[index if n > 1 else st.just(slice(None)) for n in taken.shape]))
    inner = basic_region(taken.shape, second)
    assert inner is not None
    region = within(outer[0], inner[0])
    np.testing.assert_array_equal(numbers[slices(region)], taken[second])
    assert all(step == 1 for _, step, size in region if size is None)

"""``accumulate`` and ``reduce`` of universal functions of two numbers: loops of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ArgumentError, SparsityWarning, SymgradError

pytestmark = pytest.mark.usefixtures("few_kernels")

FUNCTIONS = (
    np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.hypot, np.subtract, np.divide,
    np.logical_or, np.bitwise_or, np.gcd,
)  # fmt: skip
METHODS = ("accumulate", "reduce")


def numbers(shape: Any, dtype: str) -> Any:
    x = 3 * np.random.default_rng(4).normal(size=shape)
    return x > 1 if dtype == "?" else (np.abs(x) + 1).astype(dtype) if dtype == "i8" else (
        x.astype(dtype)
    )  # fmt: skip


def types(ufunc: np.ufunc) -> tuple[str, ...]:
    if ufunc in (np.bitwise_or, np.gcd):
        return ("i8",)
    return ("f8", "f4", "i8", "?") if ufunc in (np.maximum, np.logical_or) else ("f8", "f4", "i8")


@pytest.mark.parametrize("ufunc", FUNCTIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.quick(4)
def test_values_are_numpys(ufunc: np.ufunc, method: str) -> None:
    for dtype in types(ufunc):
        for shape, axis in (
            ((5,), 0),
            ((2,), -1),
            ((1,), 0),
            ((3, 4), 1),
            ((3, 4), 0),
            ((2, 3, 2), 1),
        ):
            x = numbers(shape, dtype)
            want = getattr(ufunc, method)(x, axis=axis)
            with sg.backend("numpy"):
                found = sg.compile(lambda x, a=axis: getattr(ufunc, method)(x, axis=a))(x)
            assert (found.dtype, found.shape) == (want.dtype, want.shape)
            np.testing.assert_allclose(found, want, rtol=1e-6 if dtype == "f4" else 1e-13)


@pytest.mark.parametrize("ufunc", FUNCTIONS[:8])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.quick(4)
def test_derivatives_are_those_of_differences(ufunc: np.ufunc, method: str) -> None:
    x = numbers((3, 4), "f8")

    def f(x: Any) -> Any:
        return getattr(ufunc, method)(x, axis=1)

    slopes = sg.jacobian(f)(x)
    h = 1e-6
    for place in np.ndindex(3, 4):
        e = np.zeros((3, 4))
        e[place] = h
        want = (f(x + e) - f(x - e)) / (2 * h)
        np.testing.assert_allclose(slopes[(..., *place)], want, rtol=1e-6, atol=1e-7)


def test_short_ones() -> None:
    for f, x in (
        (np.maximum.accumulate, np.zeros(0)), (np.maximum.accumulate, np.zeros((0, 3))),
        (np.logaddexp.reduce, np.zeros(0)), (np.hypot.reduce, np.zeros((0, 3))),
        (lambda x: np.logaddexp.reduce(x, axis=1, keepdims=True), np.ones((2, 3))),
        (lambda x: np.logaddexp.reduce(x, axis=None), np.ones((2, 3))),
        (lambda x: np.maximum.accumulate(x, dtype=np.float32), np.ones(3)),
        (np.maximum.accumulate, np.array([1.0, np.nan, 2.0])),
        (np.fmax.accumulate, np.array([1.0, np.nan, 2.0])),
    ):  # fmt: skip
        want = f(x)
        found = sg.compile(f)(x)
        assert (found.dtype, found.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(found, want, rtol=1e-14)


def drawdown(prices: Any) -> Any:
    return np.min(prices / np.maximum.accumulate(prices) - 1.0)


def test_drawdown() -> None:
    prices = np.array([1.0, 1.5, 1.2, 1.6, 0.8, 1.1])
    np.testing.assert_allclose(sg.grad(drawdown)(prices), [0, 0, 0, -0.8 / 1.6**2, 1 / 1.6, 0])
    rows = np.stack([prices, prices[::-1]])
    slopes = [sg.grad(drawdown)(row) for row in rows]
    np.testing.assert_allclose(sg.vmap(sg.grad(drawdown))(rows), slopes)
    f = sg.value_and_grad(drawdown)
    for n in (3, 30, 300):
        f(np.random.default_rng(n).uniform(1, 2, n))
    assert f.traces == 1


def test_patterns_and_ties() -> None:
    x = np.array([1.0, 3.0, 2.0])
    with pytest.warns(SparsityWarning, match="a result of a loop"):
        found = sg.jacobian(np.maximum.accumulate, sparse=True)(x)
    np.testing.assert_array_equal(found.toarray(), [[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    ties = sg.jacobian(np.maximum.accumulate)(np.ones(3))
    np.testing.assert_array_equal(ties, [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]])


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logaddexp, np.subtract])
def test_segments_are_numpys(ufunc: np.ufunc) -> None:
    """Also a segment that ends before it begins, which is one element."""
    x = 1 + np.random.default_rng(5).random((7, 3))
    h = 1e-6
    for places, axis in (([0, 2, 5], 0), ([0, 4, 1, 1, 6], 0), ([2, 0], 1), ([-1 + 1], -1)):

        def f(x: Any, places: Any = places, axis: int = axis) -> Any:
            return ufunc.reduceat(x, places, axis=axis)

        np.testing.assert_allclose(sg.compile(f)(x), ufunc.reduceat(x, places, axis), rtol=1e-14)
        slopes = sg.grad(lambda x, f=f: np.sum(f(x) ** 2))(x)
        unit = np.random.default_rng(6).normal(size=x.shape)
        ahead, behind = (np.sum(f(x + s * unit) ** 2) for s in (h, -h))
        np.testing.assert_allclose(np.sum(slopes * unit), (ahead - behind) / (2 * h), rtol=1e-7)
    whole = sg.compile(lambda k: ufunc.reduceat(k, np.array([0, 3]), dtype=float))
    np.testing.assert_array_equal(whole(np.arange(1, 6)), ufunc.reduceat(np.arange(1.0, 6), [0, 3]))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "axis": (lambda x: np.maximum.accumulate(x, axis=2), "no axis 2"),
    "all axes": (lambda x: np.subtract.reduce(x, axis=None), "takes one axis"),
    "empty": (lambda x: np.fmax.reduce(x[:0]), "no identity"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_numpys(case: str) -> None:
    f, text = REFUSED[case]
    with pytest.raises(ValueError, match=r"axis|identity"):
        f(np.ones((2, 3)))
    with pytest.raises(ArgumentError, match=text):
        sg.compile(f)(np.ones((2, 3)))


def test_segments_that_there_are_not() -> None:
    for places in ([0, 3], [-1]):
        with pytest.raises(IndexError, match=r"out.of.bounds"):
            np.add.reduceat(np.ones(3), places)
        with pytest.raises(IndexError, match="out of bounds"):
            sg.compile(lambda x, places=places: np.add.reduceat(x, places))(np.ones(3))
    with pytest.raises(SymgradError, match=r"np\.add\.at"):
        sg.compile(np.add.reduceat)(np.ones(3), np.array([0, 1]))


def test_options_are_refused() -> None:
    for f in (
        lambda x: np.logaddexp.reduce(x, where=x > 0),
        lambda x: np.logaddexp.reduce(x, initial=1.0),
        lambda x: np.greater.accumulate(x),
    ):
        with pytest.raises(SymgradError):
            sg.compile(f)(np.ones(3))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.fmin, np.logaddexp])
@pytest.mark.parametrize("kind", ["even", "sorted", "any", "unsigned", "one long"])
def test_many_segments(ufunc: np.ufunc, kind: str) -> None:
    rng = np.random.default_rng(5)
    places = {
        "even": np.arange(0, 60, 2), "sorted": np.sort(rng.choice(60, 20, replace=False)),
        "any": rng.choice(60, 25), "unsigned": rng.choice(60, 25).astype(np.uint32),
        "one long": np.r_[0, np.arange(20, 40)],
    }[kind]  # fmt: skip
    for axis, shape in ((0, (60,)), (1, (2, 60)), (0, (60, 2))):
        x = rng.normal(size=shape)
        f = lambda x: ufunc.reduceat(x, places, axis=axis)  # noqa: B023, E731
        np.testing.assert_allclose(sg.compile(f)(x), f(x), rtol=1e-12)

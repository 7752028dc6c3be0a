"""``np.lib.stride_tricks.sliding_window_view``: moving averages and convolutions as users write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import ShapeError, UnsupportedError


@pytest.mark.parametrize("k", [1, 3, 8, 9, 20])
def test_sliding_windows(k: int) -> None:
    """Moving averages, maxima and convolutions by windows, of any length by one program."""
    windows, w = np.lib.stride_tricks.sliding_window_view, np.linspace(0.5, 1.5, k)

    def f(x: Any, w: Any) -> Any:
        seen = windows(x, len(w))
        return np.sum(np.sin(seen @ w)) + np.sum(np.mean(seen, axis=-1) ** 2) + np.sum(seen.max(-1))

    g = sg.value_and_grad(f, argnums=(0, 1))
    for n in (30, 41):
        x = np.random.default_rng(n).normal(size=n)
        value, slopes = g(x, w)
        assert value == pytest.approx(f(x, w), rel=1e-13)
        h = 1e-6
        by_x = [(f(x + h * e, w) - f(x - h * e, w)) / (2 * h) for e in np.eye(n)]
        by_w = [(f(x, w + h * e) - f(x, w - h * e)) / (2 * h) for e in np.eye(k)]
        np.testing.assert_allclose(slopes[0], by_x, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(slopes[1], by_w, rtol=1e-6, atol=1e-7)
    assert g.traces == 1


@pytest.mark.parametrize(
    ("shape", "axis"), [((2, 3), None), (3, 1), ((2, 2), (1, 1)), ((2, 4), (0, -1))]
)
def test_sliding_windows_of_matrices(shape: Any, axis: Any) -> None:
    windows, x = np.lib.stride_tricks.sliding_window_view, np.arange(30.0).reshape(5, 6)

    def f(x: Any) -> Any:
        return windows(x, shape, axis)

    np.testing.assert_array_equal(sg.compile(f)(x), f(x))
    np.testing.assert_array_equal(sg.compile(f)(x + 1j * x), f(x + 1j * x))
    counts = sg.grad(lambda x: np.sum(f(x)))(x)
    want = np.zeros(30)
    np.add.at(want, f(np.arange(30).reshape(5, 6)).ravel(), 1.0)
    np.testing.assert_array_equal(counts, want.reshape(5, 6))


def test_windows_that_are_refused() -> None:
    windows, x = np.lib.stride_tricks.sliding_window_view, np.arange(30.0).reshape(5, 6)
    for shape, axis, said in (
        (7, 1, "windows of 7 elements along an axis of"), ((2, 2), 0, "2 lengths of windows for 1"),
    ):  # fmt: skip
        with pytest.raises(ShapeError, match=said):
            sg.compile(lambda x, s=shape, a=axis: windows(x, s, a))(x)
    with pytest.raises(UnsupportedError, match="Leave writeable= out"):
        sg.compile(lambda x: windows(x, 2, 0, writeable=True))(x)


@pytest.mark.parametrize("weights", [[1, np.inf, 2], [np.inf, 1], [2, 1, -np.inf], [np.nan, 1, 3]])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.usefixtures("few_kernels")
@pytest.mark.quick(4)
def test_weights_that_are_not_finite_count_where_they_meet_an_element(
    name: str, mode: str, weights: list[float]
) -> None:
    """Beyond the ends of the longer vector there are no zeros: 0*inf would be nan."""
    f = lambda a, v: getattr(np, name)(a, v, mode)  # noqa: E731
    a, v = np.arange(1.0, 7.0), np.array(weights)
    for first, second in ((a, v), (v, a)):
        found = sg.compile(f)(first, second)
        np.testing.assert_array_equal(found, f(first, second))
        by_v = sg.grad(lambda v: np.sum(f(v, a)))(v)
        finite = np.where(np.isfinite(v), v, 1.0)
        np.testing.assert_array_equal(by_v, sg.grad(lambda v: np.sum(f(v, a)))(finite))


@pytest.mark.parametrize("f", [np.convolve, np.correlate, np.polymul])
def test_gradients_are_one_program_for_all_lengths(f: Any) -> None:
    g = sg.grad(lambda x, w: np.sum(np.sin(f(x, w))), argnums=(0, 1))
    for n, m in ((40, 7), (50, 12), (90, 30), (41, 40)):
        x, w = np.linspace(0.1, 0.9, n), np.linspace(-0.5, 0.7, m)
        found = g(x, w)
        for k, at in enumerate((x, w)):
            step = 1e-30j * np.cos(at)
            moved = (x + step, w) if k == 0 else (x, w + step)
            wanted = np.sum(np.sin(plain(f, *moved))).imag / 1e-30
            np.testing.assert_allclose(found[k] @ np.cos(at), wanted, rtol=1e-10, atol=1e-11)
        # Another one where windows are longer than half of the vector: sums are of fewer terms.
        assert g.traces == (2 if (n, m) == (41, 40) else 1)


def plain(f: Any, x: Any, w: Any) -> Any:
    """Compute without conjugates, which a complex step does not go through."""
    return np.convolve(x, w[::-1], "valid") if f is np.correlate else np.convolve(x, w)

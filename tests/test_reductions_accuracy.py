"""Reductions in kernels: as accurate as NumPy's, and right for nan, zeros and signs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import symgrad as sg

BIG = 1_000_000


def ill_conditioned(count: int, dtype: Any, seed: int = 0) -> Any:
    """Return numbers of very different sizes whose sum is small beside them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=count) * 10.0 ** rng.uniform(-6, 6, count)
    x[count // 2 :] -= x[: count - count // 2]
    return rng.permutation(x).astype(dtype)


def errors(x: Any, got: Any) -> tuple[float, float]:
    """Return the error of a sum and of NumPy's, in units of eps times the sum of absolutes."""
    exact = math.fsum(x.ravel().tolist())
    unit = float(np.finfo(x.dtype).eps) * math.fsum(np.abs(x).ravel().tolist())
    return abs(float(got) - exact) / unit, abs(float(np.sum(x)) - exact) / unit


SUM = sg.compile(np.sum)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.quick(1)
def test_sums_are_as_accurate_as_numpys(dtype: Any) -> None:
    pairs = [errors(x, SUM(x)) for x in (ill_conditioned(50_137, dtype, s) for s in range(30))]
    ours, numpys = np.sqrt(np.mean(np.square(pairs), axis=0))
    assert ours < 2 * numpys
    x = np.full(BIG, dtype(0.1))
    ours, numpys = errors(x, SUM(x))
    assert ours <= 8  # one rounding a level; naive summation has thousands
    assert numpys <= 16  # depends on its release


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_ten_million(dtype: Any) -> None:
    x = ill_conditioned(10_000_019, dtype)
    assert errors(x, SUM(x))[0] < 0.05
    x = np.full(10_000_019, dtype(0.1))
    assert errors(x, SUM(x))[0] <= 8


@pytest.mark.parametrize(
    "shape", [(1000, 1000), (BIG, 1), (1, BIG), (BIG // 3, 3), (3, BIG // 3), (100, 1, 10_000)]
)
def test_sums_over_all_axes(shape: tuple[int, ...]) -> None:
    x = np.full(shape, np.float32(0.1))
    assert errors(x, SUM(x))[0] <= 8


SUMS: dict[str, Callable[[Any], Any]] = {
    "mean": np.mean,
    "dot": lambda x: x @ x,
    "norm": lambda x: np.linalg.norm(x) ** 2,
    "fused": lambda x: np.sum(x * 2 + 1),
    "strided": lambda x: np.sum(x[::2]),
    "reversed": lambda x: np.sum(x[::-1]),
    "rows": lambda x: np.sum(x.reshape(2, -1), axis=1),
    "rows of a matrix": lambda x: np.sum(x.reshape(-1, 500), axis=1),
    "var": np.var,
    "std": np.std,
    "gradient": lambda x: sg.grad(lambda a: np.sum(a * x))(x[0]),
    "einsum": lambda x: np.einsum("i,i->", x, x),
    "trace": lambda x: np.einsum("ii->", x[: 1000**2].reshape(1000, 1000)),
}


@pytest.mark.parametrize("name", SUMS)
def test_single_precision_sums_of_every_kind(name: str) -> None:
    x = (np.random.default_rng(0).random(BIG) + 0.5).astype(np.float32)
    got = sg.compile(SUMS[name], cache=False)(x)
    with np.errstate(all="ignore"):
        want = SUMS[name](x.astype(np.float64)) if name != "gradient" else np.sum(x, dtype=float)
    assert np.asarray(got).dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=2e-6)


def test_sums_do_not_depend_on_where_the_array_starts() -> None:
    x = ill_conditioned(10_007, np.float64)
    want = SUM(x.copy())
    for start in range(1, 9):  # other alignments: the order of the additions is fixed
        shifted = np.empty(len(x) + start)[start:]
        shifted[:] = x
        assert SUM(shifted) == want
    assert {float(SUM(x)) for _ in range(5)} == {float(want)}


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, 255, 256, 257, 511, 512, 513, 767, 4095, 4096, 4097])
def test_sums_at_the_borders_of_blocks(n: int) -> None:
    x = np.arange(1.0, n + 1)
    assert SUM(x) == n * (n + 1) / 2
    x[-1] = np.inf
    assert SUM(x) == np.inf
    x[0] = -np.inf
    assert np.isnan(SUM(x))
    x[:] = 0
    x[-1] = np.nan
    assert np.isnan(SUM(x))


# ---------------------------------------------------------------- what NumPy gives


SPECIAL = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, 1e300]

FOLDS: dict[str, Callable[..., Any]] = {
    "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin, "sum": np.sum,
    "prod": np.prod, "any": np.any, "all": np.all, "cumsum": np.cumsum, "cumprod": np.cumprod,
    "ptp": np.ptp, "mean": np.mean,
}  # fmt: skip


def rows() -> list[Any]:
    rng = np.random.default_rng(1)
    found = [rng.choice(SPECIAL, size=7, p=[0.13] * 4 + [0.03, 0.03, 0.02, 0.2, 0.2])
             for _ in range(60)]  # fmt: skip
    found += [np.array(r, float) for r in (
        [-0.0] * 7, [0.0, -0.0] * 3 + [0.0], [-0.0, 0.0] * 3 + [-0.0], [np.nan] * 7,
        [1, 3, 3, 2, 3, 1, 0], [-np.inf] * 7, [np.inf] * 7, [1, np.nan, 3, np.nan, 2, 0, 0],
    )]  # fmt: skip
    return found


@pytest.mark.parametrize("name", FOLDS)
def test_folds_of_special_values(name: str) -> None:
    fold = FOLDS[name]
    table = np.stack(rows())
    if name == "prod":  # the order decides whether 1e300*1e300*5e-324 overflows
        table = np.where(np.abs(np.log10(np.abs(table) + 1e-320)) > 200, 1.25, table)
    for axis in (0, 1):
        with np.errstate(all="ignore"):
            want = fold(table, axis=axis)
        for backend in ("numpy", "llvm"):
            f = sg.compile(lambda x, axis=axis: fold(x, axis=axis), backend=backend, cache=False)
            got = f(table)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-15)
            if name not in ("max", "min", "ptp"):  # which zero is larger is left open
                number = ~np.isnan(want.astype(float))
                signs = np.signbit(want.astype(float))
                np.testing.assert_array_equal(np.signbit(got.astype(float))[number], signs[number])


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "any", "all", "sum", "prod"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.bool_, np.float32])
def test_folds_of_other_types(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(-128, 128, (5, 6)).astype(dtype)
    fold = FOLDS[name]
    for axis in (0, 1):
        want = fold(x, axis=axis)
        got = sg.compile(lambda x, axis=axis: fold(x, axis=axis), backend="numpy")(x)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.slow
def test_integer_kernels() -> None:
    rng = np.random.default_rng(3)

    def f(x: Any) -> Any:
        return tuple(fold(x, axis=axis) for axis in (0, 1) for name, fold in FOLDS.items()
                     if name != "mean")  # fmt: skip

    for dtype in (np.int8, np.uint64, np.bool_):
        x = rng.integers(-128, 128, (5, 6)).astype(dtype)
        if dtype is np.bool_:
            g: Any = lambda x: (np.max(x), np.min(x), np.sum(x), np.any(x), np.argmax(x, 1))  # noqa: E731
        else:
            g = f
        for got, want in zip(sg.compile(g, cache=False)(x), g(x), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_cumulative_sums_start_with_the_first_element() -> None:
    x = np.array([-0.0, -0.0, 1.0, -1.0])
    for backend in ("numpy", "llvm"):
        got = sg.compile(np.cumsum, backend=backend)(x)
        np.testing.assert_array_equal(got, np.cumsum(x))
        assert np.signbit(got).tolist() == [True, True, False, False]
        got = sg.compile(np.cumprod, backend=backend)(np.array([-0.0, 2.0, -3.0]))
        assert np.signbit(got).tolist() == [True, True, False]


# ---------------------------------------------------------------- their derivatives


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.quick(1)
def test_products_with_zeros(backend: str) -> None:
    for x in ([1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0] * 3, [2.0, 0.0, -1.0]):
        row = np.array(x)
        want = np.array([np.prod(np.delete(row, k)) for k in range(3)])
        with sg.backend(backend):  # type: ignore[arg-type]
            np.testing.assert_array_equal(sg.grad(np.prod)(row), want)
            np.testing.assert_array_equal(sg.grad(lambda x: np.cumprod(x)[-1])(row), want)
            table = np.stack([row, row + 1])
            got = sg.jacobian(lambda x: np.prod(x, axis=1))(table)
        np.testing.assert_array_equal(got[0, 0], want)
        np.testing.assert_array_equal(got[0, 1], 0)
        hessian = sg.hessian(np.prod)(row)
        others = [[0, row[2], row[1]], [row[2], 0, row[0]], [row[1], row[0], 0]]
        np.testing.assert_array_equal(hessian, others)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.quick(1)
def test_ties_share_equally(backend: str) -> None:
    x = np.array([3.0, 1.0, 3.0, 2.0, 3.0])
    third = np.array([1, 0, 1, 0, 1]) / 3
    with sg.backend(backend):  # type: ignore[arg-type]
        np.testing.assert_allclose(sg.grad(np.max)(x), third, rtol=1e-15)
        np.testing.assert_allclose(sg.grad(lambda x: np.min(-x))(x), -third, rtol=1e-15)
        np.testing.assert_allclose(sg.grad(np.ptp)(x), third - [0, 1, 0, 0, 0], rtol=1e-15)
        np.testing.assert_array_equal(sg.grad(lambda x: np.max(x))(np.array([1.0, np.inf])), [0, 1])
        _, tangent = sg.jvp(np.max, (x,), (np.arange(5.0),))
        assert tangent == pytest.approx(2.0)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_norms_at_zero_and_of_huge_numbers(backend: str) -> None:
    with sg.backend(backend):  # type: ignore[arg-type]
        assert sg.grad(np.linalg.norm)(np.zeros(3)).tolist() == [0, 0, 0]
        g = sg.value_and_grad(lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))))
        value, slope = g(np.array([1000.0, 1000.0]))
        assert value == pytest.approx(1000 + np.log(2))
        np.testing.assert_allclose(slope, 0.5)


@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_variance_of_numbers_far_from_zero(backend: str) -> None:
    x = 1e8 + np.arange(8.0)
    with sg.backend(backend):  # type: ignore[arg-type]
        value, slope = sg.value_and_grad(np.var)(x)
    assert value == np.var(np.arange(8.0)) == 5.25
    np.testing.assert_allclose(slope, 2 * (np.arange(8.0) - 3.5) / 8, rtol=1e-15)

"""Small linear systems: what is written out for a few unknowns, and LAPACK for more."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import symgrad as sg

KINDS = [
    "normal",
    "normal",
    "ties",
    "scaled",
    "permutation",
    "zeros",
    "row",
    "nearly",
    "nan",
    "inf",
]


def matrix(rng: np.random.Generator, n: int, kind: str, dtype: Any) -> Any:
    """Return a random matrix of a kind that elimination has to do with."""
    a = rng.normal(size=(n, n))
    match kind:
        case "ties":  # pivots of equal size, and often none
            a = rng.integers(-2, 3, size=(n, n)).astype(float)
        case "scaled":
            most = 3 if dtype == "f4" else 15  # so that determinants are in range
            a *= 10.0 ** rng.integers(-most, most, size=(n, 1))
        case "permutation":
            a = np.eye(n)[rng.permutation(n)] * rng.choice([-1.0, 2.0], size=(n, 1))
        case "zeros":
            a[rng.integers(n)] = 0.0
            a = a if rng.random() < 0.5 else a.T
        case "row":  # a row twice
            a[rng.integers(n)] = a[rng.integers(n)]
        case "nearly":
            a[0] = a[-1] * (1 + 1e-14) if n > 1 else a[0]
        case "nan" | "inf":
            a[rng.integers(n), rng.integers(n)] = np.nan if kind == "nan" else np.inf
    return a


def exact_determinant(a: Any) -> Fraction:
    """Return the determinant of a matrix of finite numbers, without rounding."""
    rows = [[Fraction(float(x)) for x in row] for row in a]
    found = Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k] != 0), None)
        if pivot is None:
            return Fraction(0)
        if pivot != k:
            rows[k], rows[pivot], found = rows[pivot], rows[k], -found
        found *= rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return found


def check_solution(a: Any, x: Any, b: Any, eps: float) -> None:
    """Check backward errors, row by row: elimination with pivots has small ones."""
    n = len(a)
    if np.isinf(a).any():
        return  # 1/inf is 0
    if np.isnan(a).any() or not (a.any(axis=0).all() and a.any(axis=1).all()):
        assert not np.isfinite(x).all() or not b.any()
    elif np.isfinite(x).all():
        size = np.abs(a).max() * n * np.abs(x).max() + np.abs(b).max()
        assert np.abs(a @ x - b).max() <= 8 * n * 2 ** (n / 2) * eps * size
    else:
        assert np.linalg.cond(a) > 1e-2 / eps


def check_determinant(a: Any, found: Any, eps: float) -> None:
    """Check against exact arithmetic, up to what rounding of the elements does."""
    if not np.isfinite(a).all():
        assert not np.isfinite(found)
        return
    size = math.factorial(len(a)) * math.prod(float(np.abs(row).max()) for row in a)
    assert abs(Fraction(float(found)) - exact_determinant(a)) <= 16 * len(a) ** 2 * eps * size


@pytest.mark.attack(quick=10, whole=4_000, part=200, judge="backward errors, exact determinants")
def test_small_systems(attack: Any) -> None:
    """Solutions, inverses and determinants of 1 to 8 unknowns: singular, tied, nan, in batches."""
    for case in attack:
        with case:
            rng = case.rng
            n, dtype = int(rng.integers(1, 9)), np.dtype(rng.choice(["f4", "f8"], p=[0.3, 0.7]))
            eps = float(np.finfo(dtype).eps)
            count = int(rng.choice([0, 1, 2, 7, 33, 200]))
            kinds = rng.choice(KINDS, size=max(1, count))
            many = np.array([matrix(rng, n, k, dtype) for k in kinds], dtype).reshape(-1, n, n)[
                :count
            ]
            sides = int(rng.integers(1, 4))
            right = rng.normal(size=(count, n, sides)).astype(dtype)

            def solve(a: Any, b: Any) -> Any:
                return np.linalg.solve(a, b), np.linalg.det(a), np.linalg.inv(a)

            batch = sg.compile(sg.vmap(solve) if rng.random() < 0.5 else solve)
            x, det, inverse = batch(many, right)
            assert (x.shape, det.shape, inverse.shape) == (right.shape, (count,), many.shape)
            assert x.dtype == det.dtype == inverse.dtype == dtype
            if count:  # and one alone
                results = zip((x, det, inverse), sg.compile(solve)(many[0], right[0]), strict=True)
                x, det, inverse = (np.concatenate([y, one[None]]) for y, one in results)
                many, right = (np.concatenate([y, y[:1]]) for y in (many, right))
            for a, b, one, d, i in zip(many, right, x, det, inverse, strict=True):
                for column, side in zip(one.T, b.T, strict=True):
                    check_solution(a, column, side, eps)
                for column, side in zip(i.T, np.eye(n, dtype=dtype).T, strict=True):
                    check_solution(a, column, side, eps)
                check_determinant(a, d, eps)


def factor_and_solution(lower: bool, trans: bool, unit: bool) -> Any:
    """Return a function: the Cholesky factor of a matrix, and a solution with a triangle of it."""

    @sg.adapt
    def both(a: Any, b: Any) -> Any:
        x = scipy.linalg.solve_triangular(a, b, int(trans), lower=lower, unit_diagonal=unit)
        return np.linalg.cholesky(a), x

    return both


@pytest.mark.attack(quick=20, whole=2_000, part=200, judge="SciPy, matrix by matrix")
def test_small_triangles(attack: Any) -> None:
    """Cholesky factors and triangular systems of 1 to 8 unknowns, definite or not, in batches."""
    for case in attack:
        with case:
            rng = case.rng
            n, count = int(rng.integers(1, 9)), int(rng.choice([1, 3, 40]))
            root = rng.normal(size=(count, n, n + 2))
            many = root @ np.swapaxes(root, -1, -2)
            for a in many[rng.random(count) < 0.3]:
                k = int(rng.integers(n))
                a[k, k] = rng.choice([-1.0, 0.0, np.nan])
            many += np.triu(rng.normal(size=(n, n)), 1)  # is not read
            lower, trans, unit = (bool(rng.integers(2)) for _ in range(3))
            right = rng.normal(size=(count, n))

            both = factor_and_solution(lower, trans, unit)
            factors, x = sg.compile(sg.vmap(both))(many, right)
            for a, b, factor, one in zip(many, right, factors, x, strict=True):
                try:
                    wanted = np.linalg.cholesky(a)
                    size = np.abs(wanted).max()
                    np.testing.assert_allclose(factor @ factor.T, wanted @ wanted.T, rtol=0,
                                               atol=1e-14 * n * size**2)  # fmt: skip
                    assert not np.triu(factor, 1).any()
                except np.linalg.LinAlgError:
                    assert np.isnan(factor).all()
                part = np.tril(a) if lower else np.triu(a)
                if unit:
                    np.fill_diagonal(part, 1.0)
                if np.isfinite(part).all() and np.diagonal(part).all():
                    part = part.T if trans else part
                    size = np.abs(part) @ np.abs(one) + np.abs(b)
                    assert (np.abs(part @ one - b) <= 1e-15 * 4 * n * size).all()


@pytest.mark.attack(quick=10, whole=300, part=50, judge="residuals, and one thread, bit for bit")
def test_small_systems_in_loops(attack: Any) -> None:
    """Newton's method in a separate loop for each start, side by side, by threads."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.integers(1, 7))
            weights = rng.normal(size=(n, n)) + 3 * np.eye(n)

            def residual(x: Any, w: Any = weights) -> Any:
                return w @ x + x**3 - 1.0

            def newton(start: Any, residual: Any = residual) -> Any:
                slope = sg.jacobian(residual)

                def step(state: Any) -> Any:
                    x, k = state
                    return x - np.linalg.solve(slope(x), residual(x)), k + 1

                def more(state: Any) -> Any:
                    x, k = state
                    return (np.max(np.abs(residual(x))) > 1e-12) & (k < 40)

                return sg.while_loop(more, step, (start, 0))

            starts = rng.normal(size=(int(rng.choice([1, 5, 32, 70])), n))
            starts[rng.random(len(starts)) < 0.1] = np.nan  # ends at once
            before, found = sg.get_num_threads(), []
            try:
                for threads in (1, 2):
                    sg.set_num_threads(threads)
                    found.append(sg.compile(sg.vmap(newton))(starts))
            finally:
                sg.set_num_threads(before)
            for one, two in zip(*found, strict=True):
                np.testing.assert_array_equal(one, two)
            for start, x, steps in zip(starts, *found[0], strict=True):
                if np.isnan(start).any():
                    assert np.isnan(x).all()
                else:
                    assert steps == 40 or np.abs(residual(x)).max() < 2e-12


def in_band(n: int, lower: int, upper: int) -> Any:
    """Return which places of a stored band belong to the matrix."""
    row = np.arange(-upper, lower + 1)[:, None] + np.arange(n)
    return (row >= 0) & (row < n)


def dense_of(ab: Any, lower: int, upper: int) -> Any:
    """Return the matrix of which a band is stored as SciPy stores it."""
    n = ab.shape[-1]
    a = np.zeros((n, n), ab.dtype)
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            a[i, j] = ab[upper + i - j, j]
    return a


@pytest.mark.attack(quick=20, whole=2_000, part=200, judge="backward errors, full matrices")
def test_banded_systems(attack: Any) -> None:
    """Banded systems, wider than the matrix too, real and complex, in batches; and derivatives."""
    for case in attack:
        with case:
            rng = case.rng
            n, count = int(rng.choice([1, 2, 3, 5, 17, 40])), int(rng.choice([1, 1, 3]))
            lower, upper = (int(rng.integers(0, 5)) for _ in range(2))
            sides = [(n,), (n, 1), (n, 3)][rng.integers(3)]
            ab = rng.normal(size=(count, lower + upper + 1, n))
            b = rng.normal(size=(count, *sides))
            if rng.random() < 0.4:
                ab, b = ab + 1j * rng.normal(size=ab.shape), b + 1j * rng.normal(size=b.shape)
            elif rng.random() < 0.4:
                ab, b = ab.astype("f4"), b.astype("f4")
            outside = ~in_band(n, lower, upper)
            ab = np.where(outside, rng.choice([np.nan, 9.0]), ab).astype(ab.dtype)  # is not read

            def solve(ab: Any, b: Any, band: Any = (lower, upper)) -> Any:
                return scipy.linalg.solve_banded(band, ab, b, check_finite=False)

            found = sg.compile(sg.vmap(solve))(ab, b)
            eps = float(np.finfo(ab.dtype).eps)
            for one, x, right in zip(ab, found, b, strict=True):
                a = dense_of(one, lower, upper)
                size = np.abs(a).max() * n * np.abs(x).max() + np.abs(right).max()
                assert np.abs(a @ x - right).max() <= 64 * n * eps * size
            if ab.dtype != np.float64:
                continue
            weights = rng.normal(size=sides)
            slopes = sg.vjp(solve, ab[0], b[0])[1](weights)
            a, x = dense_of(ab[0], lower, upper), np.reshape(found[0], (n, -1))
            back = np.linalg.solve(a.T, np.reshape(weights, (n, -1)))
            full = -back @ x.T
            i, j = np.nonzero(dense_of(np.ones_like(ab[0]), lower, upper))
            limit = 1e-10 * np.linalg.cond(a) * (1 + np.abs(full).max())
            np.testing.assert_allclose(slopes[0][upper + i - j, j], full[i, j], rtol=0, atol=limit)
            assert not slopes[0][outside].any()
            limit = 1e-10 * np.linalg.cond(a) * (1 + np.abs(back).max())
            np.testing.assert_allclose(slopes[1], np.reshape(back, sides), rtol=0, atol=limit)

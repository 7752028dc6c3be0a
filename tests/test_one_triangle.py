"""Matrices of which one triangle is read, where the other one is not its mirror image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import symgrad as sg

P = np.array([0.3, 0.4, 0.5])
WEIGHTS = np.arange(1.0, 10.0).reshape(3, 3)


def lower(p: Any) -> Any:
    """Return a positive definite matrix of which the code fills the lower triangle alone."""
    a, b, c = p
    return np.array([[2 + a, 0.0, 0.0], [b, 3 + c, 0.0], [a * b, c, 5.0]])


def filled(p: Any) -> Any:
    x = np.zeros((3, 3))
    for i in range(3):
        for j in range(i + 1):
            x[i, j] = np.cos(p[i] * p[j]) + 4.0 * (i == j)
    return x


def diagonal(p: Any) -> Any:
    x = np.diag([1.0, 2.0, 4.0])
    y = np.zeros((3, 3))
    y[1, 0], y[2, 0], y[2, 1] = p[0] - P[0], p[1] - P[1], p[2] - P[2]
    return x + y


def hermitian(p: Any) -> Any:
    return lower(p) + 0.3j * np.tril(np.outer(p, p[::-1]), -1)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eigvalsh": lambda p: np.sum(np.linalg.eigvalsh(lower(p)) ** 3),
    "eigvalsh of an array that is filled": lambda p: np.linalg.eigvalsh(filled(p))[1],
    "eigh": lambda p: np.sum(np.linalg.eigh(lower(p))[1][:, 2] ** 4),
    "eigh of the upper triangle": lambda p: np.sum(
        np.linalg.eigh(lower(p).T, UPLO="U")[1][:, 2] ** 4
    ),
    "SciPy's eigh": lambda p: scipy.linalg.eigh(lower(p), eigvals_only=True)[1],
    "complex": lambda p: np.sum(np.linalg.eigvalsh(hermitian(p)) ** 3),
    "Cholesky": lambda p: np.sum(WEIGHTS * np.linalg.cholesky(lower(p))),
    "Cholesky, upper": lambda p: np.sum(WEIGHTS * scipy.linalg.cholesky(lower(p).T)),
    "cho_solve": lambda p: np.sum(
        scipy.linalg.cho_solve(scipy.linalg.cho_factor(lower(p), lower=True), np.ones(3)) ** 2
    ),
    "solve": lambda p: np.sum(
        scipy.linalg.solve(lower(p), np.ones(3), lower=True, assume_a="pos") ** 2
    ),
    "pinv": lambda p: np.sum(WEIGHTS * np.linalg.pinv(lower(p), hermitian=True)),
    "svd": lambda p: np.linalg.svd(lower(p), compute_uv=False, hermitian=True)[1],
    "diagonal where it is called": lambda p: (
        np.linalg.eigh(diagonal(p))[1][2, 1] ** 2
        + np.sum(np.linalg.eigh(diagonal(p))[1][:, 1]) ** 2
    ),
    "symmetric": lambda p: np.sum(WEIGHTS * np.linalg.cholesky(lower(p) + lower(p).T)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_by_the_triangle_that_is_read(name: str) -> None:
    f = FUNCTIONS[name]
    value, gradient = sg.value_and_grad(f)(P)
    np.testing.assert_allclose(value, f(P), rtol=1e-12)
    step = 1e-3
    differences = [  # of order four
        (8 * (f(P + step * e) - f(P - step * e)) - f(P + 2 * step * e) + f(P - 2 * step * e))
        / (12 * step)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(gradient, differences, rtol=1e-7, atol=1e-9)


def test_symmetric_matrices_have_symmetric_gradients() -> None:
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    g = sg.grad(lambda a: np.linalg.eigvalsh(a)[1])
    gradient = g(a)
    np.testing.assert_array_equal(gradient, gradient.T)
    one_sided = np.tril(a)
    np.testing.assert_allclose(
        sg.grad(lambda a: np.linalg.eigvalsh(a)[1])(one_sided),
        [[gradient[0, 0], 0.0], [2 * gradient[1, 0], gradient[1, 1]]],
        rtol=1e-14,
    )


def test_numpy_reads_the_lower_triangle_of_what_is_called_hermitian() -> None:
    a = np.array([[2.0, 7.0], [1.0, 3.0]])
    for f in (
        lambda a: np.linalg.pinv(a, hermitian=True),
        lambda a: np.linalg.svd(a, compute_uv=False, hermitian=True),
        lambda a: np.linalg.matrix_rank(a, hermitian=True),
    ):
        np.testing.assert_allclose(sg.compile(f)(a), f(a), rtol=1e-13)

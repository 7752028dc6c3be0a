"""Functions of matrices by their eigenvalues and singular values, with planted gaps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import symgrad as sg
from symgrad.errors import DegeneracyWarning
from tests.shared import of_spectrum

#: Functions of positive numbers, in NumPy and in mpmath.
ELEMENTS: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (np.exp, mp.exp),
    (np.log, mp.log),
    (np.sqrt, mp.sqrt),
    (np.sin, mp.sin),
    (np.tanh, mp.tanh),
    (np.arctan, mp.atan),
    (lambda w: w**3, lambda w: w**3),
    (lambda w: 1 / w, lambda w: 1 / w),
    (lambda w: w**-0.5, lambda w: 1 / mp.sqrt(w)),
    (lambda w: w / (1 + w), lambda w: w / (1 + w)),
    (lambda w: np.where(w > 0.05, w * w, 0.0), lambda w: w * w),
]
#: Ways to write a function of a symmetric matrix.
WAYS: list[Callable[[Any, Any, Any], Any]] = [
    lambda f, w, v: (v * f(w)) @ v.T,
    lambda f, w, v: v @ np.diag(f(w)) @ v.T,
    lambda f, w, v: v @ (np.diag(f(w)) @ v.conj().T),
    lambda f, w, v: np.einsum("ik,k,jk->ij", v, f(w), v),
    lambda f, w, v: np.einsum("ij,kj->ik", v * f(w)[None, :], v),
    lambda f, w, v: v.dot(f(w)[:, None] * v.T),
    lambda f, w, v: np.matmul(v, np.transpose(v * f(w))),
    lambda f, w, v: 2.0 * ((v * (0.5 * f(w))) @ v.T),
    lambda f, w, v: (v * f(w)) @ v.T + (v * w) @ v.T - (v * w) @ v.T,
    lambda f, w, v: np.tensordot(v * f(w), v, axes=(1, 1)),
]
GAPS = (0.0, 1e-16, 1e-15, 1e-13, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)


def _matrix(rng: np.random.Generator, n: int) -> Any:
    """A symmetric positive definite matrix of which some eigenvalues are near each other."""
    w = rng.uniform(0.5, 2.0, n)
    for k in range(1, n):
        if rng.random() < 0.7:
            w[k] = w[k - 1] + rng.choice(GAPS)
    if rng.random() < 0.3:
        return np.diag(w)
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    a = (q * w) @ q.T
    return 0.5 * (a + a.T)


def _symmetric(rng: np.random.Generator, n: int) -> Any:
    x = rng.normal(size=(n, n))
    return x + x.T


@pytest.mark.attack(quick=20, whole=2_000, part=100, judge="mpmath, with 50 digits")
def test_functions_of_symmetric_matrices(attack: Any) -> None:
    """Functions by eigenvectors in ten ways, eigenvalues at gaps from 0 to 0.1, orders 1 and 2."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.integers(2, 5))
            f, exact = ELEMENTS[rng.integers(len(ELEMENTS))]
            way, a = WAYS[rng.integers(len(WAYS))], _matrix(rng, n)
            e, e2, g = _symmetric(rng, n), _symmetric(rng, n), rng.normal(size=(n, n))

            def whole(a: Any, f: Any = f, way: Any = way) -> Any:
                return way(f, *np.linalg.eigh(a))

            def weighted(a: Any, g: Any, whole: Any = whole) -> Any:
                return np.sum(g * whole(a))

            first, second = of_spectrum(exact, a, e), of_spectrum(exact, a, e, e2)
            sizes = np.abs(first).max(), np.abs(second).max()
            found = sg.jvp(whole, (a,), (e,))[1]
            np.testing.assert_allclose(found, first, rtol=0, atol=1e-12 * sizes[0])
            pulled = np.sum(sg.grad(weighted)(a, g) * e)
            assert abs(pulled - np.sum(g * first)) < 1e-11 * sizes[0]
            turned = sg.jvp(sg.grad(weighted), (a, g), (e2, 0 * g))[1]
            assert abs(np.sum(turned * e) - np.sum(g * second)) < 1e-8 * sizes[1]
            if rng.random() < 0.3:
                single = sg.jvp(whole, (a.astype("f4"),), (e.astype("f4"),))[1]
                assert single.dtype == np.float32
                # The matrix is another by its rounding.
                near = of_spectrum(exact, a.astype("f4").astype(float), e)
                np.testing.assert_allclose(single, near, rtol=0, atol=3e-4 * sizes[0])


#: Ways to write a function of a Hermitian matrix.
COMPLEX_WAYS: list[Callable[[Any, Any, Any], Any]] = [
    lambda f, w, v: (v * f(w)) @ v.conj().T,
    lambda f, w, v: v @ np.diag(f(w)) @ v.conj().T,
    lambda f, w, v: v @ (np.diag(f(w)) @ np.conj(v).T),
    lambda f, w, v: v.dot(f(w)[:, None] * v.conj().T),
    lambda f, w, v: 2.0 * ((v * (0.5 * f(w))) @ v.conj().T),
    lambda f, w, v: np.conj((np.conj(v) * f(w)) @ v.T),
    lambda f, w, v: (v * f(w)) @ v.conj().T + (v * w) @ v.conj().T - (v * w) @ v.conj().T,
]


def _hermitian(rng: np.random.Generator, n: int) -> Any:
    x = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    return x + x.conj().T


@pytest.mark.attack(quick=5, whole=1_000, part=100, judge="mpmath, with 50 digits")
def test_functions_of_hermitian_matrices(attack: Any) -> None:
    """Functions by complex eigenvectors in seven ways, at gaps from 0 to 0.1, orders 1 and 2."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.integers(2, 4))
            f, exact = ELEMENTS[rng.integers(len(ELEMENTS))]
            way, a = COMPLEX_WAYS[rng.integers(len(COMPLEX_WAYS))], _matrix(rng, n) + 0j
            if rng.random() < 0.7:
                q = np.linalg.qr(_hermitian(rng, n))[0]
                a = q @ a @ q.conj().T
                a = 0.5 * (a + a.conj().T)
            e, e2, g = _hermitian(rng, n), _hermitian(rng, n), _hermitian(rng, n)

            def whole(a: Any, f: Any = f, way: Any = way) -> Any:
                return way(f, *np.linalg.eigh(a))

            def weighted(a: Any, g: Any = g, whole: Any = whole) -> Any:
                return np.sum(g * whole(a)).real

            first = of_spectrum(exact, a, e)
            second = of_spectrum(exact, a, e, e2)
            sizes = np.abs(first).max(), np.abs(second).max()
            found = sg.jvp(whole, (a,), (e,))[1]
            np.testing.assert_allclose(found, first, rtol=0, atol=1e-12 * sizes[0])
            pulled = np.sum(sg.grad(weighted)(a) * e).real
            assert abs(pulled - np.sum(g * first).real) < 1e-11 * sizes[0]
            turned = np.sum(sg.hvp(weighted, (a,), (e2,)) * e).real
            assert abs(turned - np.sum(g * second).real) < 1e-8 * sizes[1]


#: Functions that have no derivative where values are equal, each for itself.
SINGLE: list[Callable[[Any, Any], Any]] = [
    lambda w, v: w[0],
    lambda w, v: w[1] * w[1] + w[0],
    lambda w, v: v[0, 1],
    lambda w, v: np.sum(np.arange(1.0, w.shape[0] + 1) * w),
    lambda w, v: np.sum(v[:, 0] * np.arange(w.shape[0])),
    lambda w, v: ((v * np.arange(w.shape[0])) @ v.T)[0, 1],
    lambda w, v: np.sum(v**4),
    lambda w, v: np.sum(v[:, :2] * w[:2]),
]


@pytest.mark.attack(quick=20, whole=1_000, part=100, judge="finite differences; nan where equal")
def test_single_values_and_vectors(attack: Any) -> None:
    """Values with a derivative only apart: right there, and never a number where they are equal."""
    for case in attack:
        with case:
            rng = case.rng
            n = int(rng.integers(2, 5))
            f = SINGLE[rng.integers(len(SINGLE))]
            equal = rng.random() < 0.5
            w = np.cumsum(rng.uniform(0.3, 1.0, n))
            if equal:
                w[1] = w[0]
            q = np.linalg.qr(rng.normal(size=(n, n)))[0]
            a, e = (q * w) @ q.T, _symmetric(rng, n)
            a = 0.5 * (a + a.T)

            def whole(a: Any, f: Any = f) -> Any:
                return f(*np.linalg.eigh(a))

            with warnings.catch_warnings():
                if equal:  # a program of another case's values says nothing
                    warnings.simplefilter("ignore", DegeneracyWarning)
                pulled, pushed = sg.grad(whole)(a), sg.jvp(whole, (a,), (e,))[1]
            if equal:
                assert np.isnan(pulled).any(), pulled
                assert np.isnan(pushed)
                case.tally("nan")
                continue
            h = 1e-6
            want = (whole(a + h * e) - whole(a - h * e)) / (2 * h)
            assert pushed == pytest.approx(want, rel=1e-5, abs=1e-6)
            assert np.sum(pulled * e) == pytest.approx(pushed, rel=1e-9, abs=1e-11)


#: Functions of singular values, and what they are by other means.
SINGULAR: list[tuple[Callable[[Any, Any, Any], Any], Callable[[Any], Any]]] = [
    (lambda u, s, v: (u * s) @ v, lambda a: 1.0 * a),
    (lambda u, s, v: u @ np.diag(s) @ v, lambda a: 1.0 * a),
    (lambda u, s, v: np.einsum("ik,k,kj->ij", u, s**3, v), lambda a: a @ a.T @ a),
    (lambda u, s, v: (u * s**2) @ u.T, lambda a: a @ a.T),
    (lambda u, s, v: (v.T * s**4) @ v, lambda a: a.T @ a @ a.T @ a),
    (lambda u, s, v: np.sum(s**2), lambda a: np.sum(a * a)),
    (lambda u, s, v: np.sum(np.log1p(s**2)),
     lambda a: np.linalg.slogdet(np.eye(a.shape[0]) + a @ a.T)[1]),
    (lambda u, s, v: (v.T * (s / (s * s + 0.5))) @ u.T,
     lambda a: np.linalg.solve(a.T @ a + 0.5 * np.eye(a.shape[1]), a.T)),
]  # fmt: skip


def _weighted(f: Callable[[Any], Any], g: Any) -> Callable[[Any], Any]:
    return lambda a: np.sum(g * f(a))


@pytest.mark.attack(quick=10, whole=1_000, part=50, judge="the same function without factors")
def test_functions_of_singular_values(attack: Any) -> None:
    """Functions by singular vectors, square, tall and wide, values equal, near, and zero."""
    for case in attack:
        with case:
            rng = case.rng
            shape = tuple(int(size) for size in rng.integers(2, 6, 2))
            k = min(shape)
            s = rng.uniform(0.5, 2.0, k)
            for i in range(1, k):
                if rng.random() < 0.7:
                    s[i] = s[i - 1] + rng.choice(GAPS)
            if shape[0] == shape[1] and rng.random() < 0.3:
                s[: rng.integers(1, k + 1)] = 0.0
            u, v = (np.linalg.qr(rng.normal(size=(size, k)))[0] for size in shape)
            f, other = SINGULAR[rng.integers(len(SINGULAR))]
            full = bool(rng.random() < 0.3) and shape[0] == shape[1]
            a, e, e2 = (u * s) @ v.T, rng.normal(size=shape), rng.normal(size=shape)

            def whole(a: Any, f: Any = f, full: bool = full) -> Any:
                return f(*np.linalg.svd(a, full_matrices=full))

            g = rng.normal(size=np.shape(other(a)))

            one, two = _weighted(whole, g), _weighted(other, g)
            want = sg.jvp(other, (a,), (e,))[1]
            np.testing.assert_allclose(sg.jvp(whole, (a,), (e,))[1], want, atol=1e-9)
            np.testing.assert_allclose(sg.grad(one)(a), sg.grad(two)(a), atol=1e-9)
            np.testing.assert_allclose(
                sg.hvp(one, (a,), (e2,)), sg.hvp(two, (a,), (e2,)), atol=1e-6
            )

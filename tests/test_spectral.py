"""Functions of matrices by eigenvalues and singular values, where some are equal or nearly so."""

# ruff: noqa: E731  functions beside the functions that they are compared with

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg
from scipy.special import logsumexp

import symgrad as sg
from symgrad.errors import DegeneracyWarning
from tests.shared import of_spectrum

rng = np.random.default_rng(45)
TURN = np.array([[0.0, 1.0], [1.0, 0.0]])
UNIT = np.eye(2)

#: Functions of a number, in NumPy and in mpmath.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "exp": (np.exp, mp.exp),
    "log": (np.log, mp.log),
    "cube": (lambda w: w**3, lambda w: w**3),
    "inverse root": (lambda w: w**-0.5, lambda w: 1 / mp.sqrt(w)),
    "tanh": (np.tanh, mp.tanh),
    "softplus": (lambda w: np.log1p(np.exp(w)), lambda w: mp.log(1 + mp.exp(w))),
    "cut": (lambda w: np.where(w > 0.1, 1.0 / w, 0.0), lambda w: 1 / w),
}
#: Ways to write a function of a symmetric matrix.
FORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scaled": lambda f, w, v: (v * f(w)) @ v.T,
    "diagonal": lambda f, w, v: v @ np.diag(f(w)) @ v.T,
    "einsum": lambda f, w, v: np.einsum("ik,k,jk->ij", v, f(w), v),
    "rows": lambda f, w, v: v @ (f(w)[:, None] * v.T),
    "adjoint": lambda f, w, v: np.dot(v * f(w)[None, :], v.conj().T),
    "split": lambda f, w, v: -((v * (-f(w) / 2)) @ v.T) + 0.5 * (v @ (np.diag(f(w)) @ v.T)),
}
SPECTRA = {
    "apart": [0.6, 1.1, 1.9],
    "equal": [1.3, 1.3, 1.3],
    "two equal": [0.7, 0.7, 1.5],
    **{f"gap {gap}": [0.7, 0.7 + gap, 1.5] for gap in (1e-15, 1e-11, 1e-7, 1e-4, 1e-2)},
}


def symmetric(n: int) -> Any:
    x = rng.normal(size=(n, n))
    return x + x.T


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_symmetric_matrices(function: str, spectrum: str) -> None:
    f, exact = FUNCTIONS[function]
    q = np.eye(3) if spectrum == "equal" else np.linalg.qr(rng.normal(size=(3, 3)))[0]
    a = (q * SPECTRA[spectrum]) @ q.T
    a, e, e2, g = 0.5 * (a + a.T), symmetric(3), symmetric(3), rng.normal(size=(3, 3))
    first, second = of_spectrum(exact, a, e), of_spectrum(exact, a, e, e2)
    for form in FORMS.values() if function == "exp" else [FORMS["scaled"]]:
        whole = lambda a, form=form: form(f, *np.linalg.eigh(a))
        along = lambda a, whole=whole: sg.jvp(whole, (a,), (e,))[1]
        weighted = lambda a, g, whole=whole: np.sum(g * whole(a))
        np.testing.assert_allclose(along(a), first, rtol=0, atol=1e-12 * np.abs(first).max())
        pulled = sg.grad(weighted)(a, g)
        assert np.sum(pulled * e) == pytest.approx(
            np.sum(g * first), abs=1e-11 * np.abs(first).max()
        )
        room = 1e-9 * np.abs(second).max()
        np.testing.assert_allclose(sg.jvp(along, (a,), (e2,))[1], second, rtol=0, atol=room)
        turned = sg.jvp(sg.grad(weighted), (a, g), (e2, np.zeros_like(g)))[1]
        assert np.sum(turned * e) == pytest.approx(np.sum(g * second), abs=3 * room)


#: Ways to write a function of a Hermitian matrix.
COMPLEX_FORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scaled": lambda f, w, v: (v * f(w)) @ v.conj().T,
    "diagonal": lambda f, w, v: v @ np.diag(f(w)) @ v.conj().T,
    "rows": lambda f, w, v: v @ (f(w)[:, None] * np.conj(v.T)),
    "column by column": lambda f, w, v: v @ (f(w)[:, None] * (v.conj().T @ np.eye(3))),
}


def hermitian(n: int) -> Any:
    x = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    return x + x.conj().T


@pytest.mark.parametrize("spectrum", ["apart", "equal", "two equal", "gap 1e-15", "gap 1e-07"])
@pytest.mark.parametrize("form", COMPLEX_FORMS)
def test_functions_of_hermitian_matrices(form: str, spectrum: str) -> None:
    q = np.linalg.qr(hermitian(3))[0]
    a = (q * SPECTRA[spectrum]) @ q.conj().T
    a = np.eye(3) + 0j if spectrum == "equal" else 0.5 * (a + a.conj().T)
    e, e2, g = hermitian(3), hermitian(3), hermitian(3)
    first, second = of_spectrum(mp.exp, a, e), of_spectrum(mp.exp, a, e, e2)
    whole = lambda a: COMPLEX_FORMS[form](np.exp, *np.linalg.eigh(a))
    weighted = lambda a, g: np.sum(g * whole(a)).real
    size = np.abs(first).max()
    np.testing.assert_allclose(sg.jvp(whole, (a,), (e,))[1], first, rtol=0, atol=1e-12 * size)
    pulled = np.sum(sg.grad(weighted)(a, g) * e).real
    assert pulled == pytest.approx(np.sum(g * first).real, abs=1e-11 * size)
    turned = np.sum(sg.hvp(lambda a: weighted(a, g), (a,), (e2,)) * e).real
    room = 1e-8 * np.abs(second).max()
    assert turned == pytest.approx(np.sum(g * second).real, abs=room)


def test_symmetric_functions_of_hermitian_spectra() -> None:
    log_det = lambda a: np.sum(np.log(np.linalg.eigvalsh(a)))
    for a in (np.eye(3) + 0j, np.diag([1.0, 2.0, 2.0]) + 0j, hermitian(3) + 8 * np.eye(3)):
        e, e2, inverse = hermitian(3), hermitian(3), np.linalg.inv(a)
        assert np.sum(sg.grad(log_det)(a) * e).real == pytest.approx(np.trace(inverse @ e).real)
        second = -np.trace(inverse @ e @ inverse @ e2).real
        assert np.sum(sg.hvp(log_det, (a,), (e,)) * e2).real == pytest.approx(second, abs=1e-9)


def test_hermitian_matrices_by_one_triangle_in_batches_and_single_precision() -> None:
    a, e = np.stack([np.eye(3) + 0j, hermitian(3), np.zeros((3, 3)) + 0j]), hermitian(3)
    first = np.stack([of_spectrum(mp.exp, x, e) for x in a])

    def upper(a: Any, v: str = "U") -> Any:
        w, v = np.linalg.eigh(a, v)
        return (v * np.exp(w)[..., None, :]) @ np.swapaxes(v.conj(), -1, -2)

    garbled = np.triu(a) + np.tril(np.full((3, 3), 7.0 - 2.0j), -1)
    found = sg.jvp(upper, (garbled,), (np.stack([e] * 3),))[1]
    np.testing.assert_allclose(found, first, rtol=0, atol=1e-11 * np.abs(first).max())
    each = sg.vmap(lambda a: sg.jvp(lambda a: upper(a, "L"), (a,), (e,))[1])(a)
    np.testing.assert_allclose(each, first, rtol=0, atol=1e-11 * np.abs(first).max())
    single = sg.jvp(upper, (a[0].astype("F"),), (e.astype("F"),))[1]
    assert single.dtype == np.complex64
    np.testing.assert_allclose(single, first[0], rtol=0, atol=1e-4 * np.abs(first).max())


@pytest.mark.parametrize("f", [
    lambda a: np.linalg.eigvalsh(a)[0],
    lambda a: np.abs(np.linalg.eigh(a)[1][0, 0]),
    lambda a: np.sum(np.linalg.eigh(a)[1].real @ np.linalg.eigh(a)[1].real.T),
])  # fmt: skip
def test_single_ones_of_equal_hermitian_eigenvalues(f: Callable[[Any], Any]) -> None:
    """And what depends on the phase of vectors."""
    with pytest.warns(DegeneracyWarning):
        assert np.isnan(sg.grad(f)(np.eye(2) + 0j)).any()


def entropy(a: Any) -> Any:
    w = np.linalg.eigvalsh(a)
    p = w / np.sum(w)
    return -np.sum(p * np.log(p))


#: Symmetric functions of eigenvalues, and what they are by other means.
SUMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum of squares": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), lambda a: np.sum(a * a.T)),
    "log": (lambda a: np.sum(np.log(np.linalg.eigvalsh(a))), lambda a: np.linalg.slogdet(a)[1]),
    "product": (lambda a: np.prod(np.linalg.eigvalsh(a)), np.linalg.det),
    "length": (lambda a: np.linalg.norm(np.linalg.eigvalsh(a)), np.linalg.norm),
    "logsumexp": (
        lambda a: logsumexp(np.linalg.eigvalsh(a)),
        lambda a: np.log(np.trace(scipy.linalg.expm(a))),
    ),
    "of scipy": (
        lambda a: np.sum(1 / scipy.linalg.eigvalsh(a)),
        lambda a: np.trace(np.linalg.inv(a)),
    ),
    "singular": (lambda a: np.sum(np.linalg.svd(a)[1] ** 2), lambda a: np.sum(a * a)),
}


@pytest.mark.parametrize("name", SUMS)
def test_symmetric_functions_of_the_spectrum(name: str) -> None:
    f, other = SUMS[name]
    whole = lambda a: other(0.5 * (a + a.T))
    for a in (2.0 * np.eye(3), np.diag([1.0, 2.0, 2.0]), symmetric(3) + 7 * np.eye(3)):
        e, e2 = symmetric(3), symmetric(3)
        np.testing.assert_allclose(
            np.sum(sg.grad(f)(a) * e), np.sum(sg.grad(whole)(a) * e), rtol=1e-9
        )
        assert sg.jvp(f, (a,), (e,))[1] == pytest.approx(sg.jvp(whole, (a,), (e,))[1], rel=1e-9)
        one, two = (np.sum(sg.hvp(g, (a,), (e,)) * e2) for g in (f, whole))
        assert one == pytest.approx(two, rel=1e-9, abs=1e-9)


def test_the_entropy_of_equal_shares() -> None:
    found = np.sum(sg.hvp(entropy, (UNIT,), (TURN,)) * TURN)
    assert found == pytest.approx(-1.0)


def solve(a: Any, b: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return v @ ((v.T @ b) / w)


def lyapunov(a: Any, q: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return v @ ((v.T @ q @ v) / (w[:, None] + w)) @ v.T


def test_systems_and_lyapunov_equations_by_eigenvectors() -> None:
    b, q = rng.normal(size=2), rng.normal(size=(2, 2))
    half = lambda a: 0.5 * (a + a.T)
    pairs = [
        (lambda a: solve(a, b), lambda a: np.linalg.solve(half(a), b)),
        (
            lambda a: lyapunov(a, q),
            lambda a: np.linalg.solve(
                np.kron(half(a), np.eye(2)) + np.kron(np.eye(2), half(a)), q.ravel()
            ).reshape(2, 2),
        ),
    ]
    for a in (UNIT, np.diag([1.0, 3.0])):
        for f, other in pairs:
            np.testing.assert_allclose(sg.jacobian(f)(a), sg.jacobian(other)(a), atol=1e-12)
            once, twice = (sg.jacobian(sg.jacobian(g))(a) for g in (f, other))
            np.testing.assert_allclose(once, twice, atol=1e-11)


def test_a_decomposition_of_what_another_gives() -> None:
    """One that is constant was gone past again where what is decomposed is made of another."""
    a, e = np.arange(12.0).reshape(4, 3) % 5.0 + np.eye(4, 3), np.cos(np.arange(12.0)).reshape(4, 3)
    cut = lambda f: lambda a: f(np.linalg.pinv(a)[:, :3] + np.eye(3), rcond=1e-15 * np.sum(a * a))
    found, other = (sg.jvp(cut(f), (a,), (e,))[1] for f in (np.linalg.pinv, _inverse))
    np.testing.assert_allclose(found, other, rtol=1e-9)
    pulled = sg.grad(lambda a: np.sum(cut(np.linalg.pinv)(a)))(a)
    assert np.sum(pulled * e) == pytest.approx(np.sum(other), rel=1e-9)


def _inverse(a: Any, rcond: Any) -> Any:
    return np.linalg.inv(a)


def test_parameters_of_the_function_and_of_the_matrix() -> None:
    def f(s: Any) -> Any:
        w, v = np.linalg.eigh(s * np.eye(2) + (s - 1) * TURN)
        return ((v * np.exp(s * w)) @ v.T)[0, 1]

    # exp(s*(2s - 1)) and exp(s) are the eigenvalues' parts.
    exact = lambda s: 0.5 * (np.exp(s * (2 * s - 1)) - np.exp(s))
    for s in (1.0, 1.0 + 1e-9, 0.7):
        assert sg.grad(f)(s) == pytest.approx(sg.grad(exact)(s), rel=1e-12)
        assert sg.jvp(f, (s,), (1.0,))[1] == pytest.approx(sg.grad(exact)(s), rel=1e-12)
        assert sg.grad(sg.grad(f))(s) == pytest.approx(sg.grad(sg.grad(exact))(s), rel=1e-10)


def test_batches_and_single_precision() -> None:
    def f(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum((v * np.exp(w)[..., None, :]) @ np.swapaxes(v, -1, -2) * WEIGHTS)

    WEIGHTS = np.array([[1.0, 2.0], [2.0, 4.0]])
    stack = np.stack([UNIT, 2 * UNIT, np.diag([1.0, 2.0])])
    want = np.stack([sg.grad(f)(a) for a in stack])
    np.testing.assert_allclose(sg.grad(f)(stack), want, rtol=1e-13)
    np.testing.assert_allclose(sg.vmap(sg.grad(f))(stack), want, rtol=1e-13)
    single = sg.grad(lambda a: f(a) + np.float32(0))(UNIT.astype("f4"))
    np.testing.assert_allclose(single, want[0], rtol=1e-5)


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("squares", [
    lambda v, b: (v.T @ b) ** 2,
    lambda v, b: np.square(np.sum(v * b[:, None], axis=0)),
    lambda v, b: np.abs(b @ v) ** 2,
    lambda v, b: np.abs(b @ v.conj()) ** 2.0,
    lambda v, b: np.einsum("ik,i->k", v, b) * (b @ v),
])  # fmt: skip
def test_squares_of_components(squares: Callable[[Any, Any], Any], spectrum: str) -> None:
    b = np.array([1.0, -2.0, 0.5])

    def f(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(np.exp(w) * squares(v, b))

    def other(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return b @ ((v * np.exp(w)) @ v.T) @ b

    q, e = np.linalg.qr(rng.normal(size=(3, 3)))[0], symmetric(3)
    a = np.eye(3) if spectrum == "equal" else (q * SPECTRA[spectrum]) @ q.T
    np.testing.assert_allclose(sg.grad(f)(a), sg.grad(other)(a), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        sg.jvp(f, (a,), (e,))[1], sg.jvp(other, (a,), (e,))[1], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        sg.hvp(f, (a,), (e,)), sg.hvp(other, (a,), (e,)), rtol=1e-7, atol=1e-9
    )


def test_probabilities_by_complex_vectors() -> None:
    b = np.array([1.0, -2.0j, 0.5])

    def f(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(np.exp(w) * np.abs(v.conj().T @ b) ** 2)

    for a in (np.eye(3) + 0j, np.diag([1.0, 2.0, 2.0]) + 0j, hermitian(3)):
        e, e2 = hermitian(3), hermitian(3)
        first, second = of_spectrum(mp.exp, a, e), of_spectrum(mp.exp, a, e, e2)
        want = (b.conj() @ first @ b).real
        assert sg.jvp(f, (a,), (e,))[1] == pytest.approx(want, rel=1e-10)
        assert np.sum(sg.grad(f)(a) * e).real == pytest.approx(want, rel=1e-10)
        want = (b.conj() @ second @ b).real
        assert np.sum(sg.hvp(f, (a,), (e,)) * e2).real == pytest.approx(want, rel=1e-7)


def test_other_functions_of_components_have_no_derivative() -> None:
    def f(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(np.exp(w) * np.cos(v.T @ np.ones(2)))

    a = np.array([[2.0, 0.5], [0.5, 1.0]])
    exact = [(f(a + h) - f(a - h)) / 2e-6 for h in (1e-6 * UNIT, 1e-6 * TURN)]
    found = sg.grad(f)(a)
    assert [np.trace(found), np.sum(found * TURN)] == pytest.approx(exact, rel=1e-8)
    assert np.all(np.isnan(sg.grad(f)(UNIT)))


# ---------------------------------------------------------------- what has no derivative


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.eigh(a)[0][0],
        lambda a: np.linalg.eigh(a)[1][0, 0],
        lambda a: np.linalg.eigh(a)[1][1, 0] * 2.0,
        lambda a: np.sum(np.linalg.eigh(a)[0] * np.array([1.0, 2.0])),
        lambda a: np.linalg.svd(a)[1][0],
        lambda a: np.linalg.svd(a)[0][0, 0],
        lambda a: np.real(np.linalg.eigvals(a)[0]),
        lambda a: np.linalg.cond(a),
    ],
)
def test_single_ones_of_equal_values_have_no_derivative(f: Callable[[Any], Any]) -> None:
    line = f.__code__.co_firstlineno
    with pytest.warns(DegeneracyWarning, match=rf"at test_spectral.py:{line} are equal"):
        assert np.all(np.isnan(sg.grad(f)(UNIT)))
    with pytest.warns(DegeneracyWarning, match=rf"at test_spectral.py:{line} are equal"):
        assert np.isnan(sg.jvp(f, (UNIT,), (np.array([[1.0, 2.0], [2.0, 3.0]]),))[1])


@pytest.mark.parametrize("f", [
    lambda a: np.linalg.eigvalsh(a)[0],
    lambda a: np.linalg.eigh(a)[1][0, 0],
    lambda a: np.linalg.svd(a, compute_uv=False)[1],
    lambda a: np.linalg.svd(a)[0][0, 1],
    lambda a: np.linalg.eigvals(a)[0].real,
])  # fmt: skip
def test_later_calls_at_equal_values_give_nan(f: Callable[[Any], Any]) -> None:
    """No number, and no warning either: the function is compiled."""
    g, apart = sg.grad(f), np.array([[2.0, 0.25], [0.25, 1.0]])
    assert np.isfinite(g(apart)).all()
    assert np.isnan(g(np.eye(2))).any()
    assert np.isfinite(g(apart + 0.125)).all()


def test_lines_of_equal_values_are_those_of_the_user() -> None:
    """The warning names where the values are made, in whichever order and nesting."""

    def least(a: Any) -> Any:
        w = np.linalg.eigvalsh(a)
        return w[0] ** 2

    line = least.__code__.co_firstlineno + 1
    for derivative in (
        lambda: sg.hessian(least)(UNIT), lambda: sg.jacobian(least, mode="forward")(UNIT),
        lambda: sg.value_and_grad(least)(UNIT), lambda: sg.vjp(least, UNIT)[1](1.0),
        lambda: sg.compile(lambda s: sg.grad(least)(s * UNIT))(2.0),
    ):  # fmt: skip
        with pytest.warns(DegeneracyWarning, match=rf"test_spectral.py:{line} are equal"):
            derivative()
    assert np.isfinite(sg.grad(least)(np.diag([1.0, 2.0]))).all()
    assert sg.compile(least)(UNIT) == 1.0  # a value is one


@pytest.mark.parametrize("derivative", [sg.grad, sg.jacobian])
def test_a_vector_of_equal_general_eigenvalues(derivative: Callable[..., Any]) -> None:
    """Where its normalisation takes up its cotangent it had the derivative 0."""
    first = lambda a: np.real(np.linalg.eig(a)[1][0, 0])
    with pytest.warns(DegeneracyWarning):
        assert np.isnan(derivative(first)(UNIT)).all()


def test_others_than_the_equal_ones_have() -> None:
    a = np.diag([1.0, 2.0, 2.0])
    np.testing.assert_array_equal(
        sg.grad(lambda a: np.linalg.eigvalsh(a)[0])(a), np.diag([1.0, 0.0, 0.0])
    )
    found = sg.grad(lambda a: np.linalg.eigh(a)[1][2, 0])(a)
    np.testing.assert_allclose(np.abs(found), 0.5 * (np.abs(np.eye(3)[::-1] - np.diag([0, 1, 0]))))


def test_general_eigenvalues_that_meet() -> None:
    trace = lambda a: np.real(np.sum(np.linalg.eigvals(a) ** 2))
    np.testing.assert_allclose(sg.grad(trace)(UNIT), 2 * UNIT, atol=1e-12)
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    with pytest.warns(DegeneracyWarning):
        assert np.all(np.isnan(sg.grad(lambda a: trace(a))(jordan)))


def test_eigenvalues_with_another_matrix_are_symmetric() -> None:
    a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.diag([1.0, 2.0])
    f = lambda a, b: scipy.linalg.eigh(a, b, eigvals_only=True)[0]
    found = sg.grad(f)(a, b)
    np.testing.assert_allclose(found, found.T)
    _, v = scipy.linalg.eigh(a, b)
    np.testing.assert_allclose(found, np.outer(v[:, 0], v[:, 0]), atol=1e-12)


# ---------------------------------------------------------------- singular values


def thin(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)


def inverse(a: Any) -> Any:
    u, s, v = thin(a)
    return (v.T * np.where(s > 1e-9 * np.max(s), 1 / s, 0.0)) @ u.T


#: Functions of singular values, and what they are by other means, for full rank.
SINGULAR: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "itself": (lambda a: (thin(a)[0] * thin(a)[1]) @ thin(a)[2], lambda a: 1.0 * a),
    "inverse": (
        inverse,
        lambda a: (
            np.linalg.solve(a.T @ a, a.T)
            if a.shape[0] >= a.shape[1]
            else a.T @ np.linalg.inv(a @ a.T)
        ),
    ),
    "ridge": (
        lambda a: (thin(a)[2].T * (thin(a)[1] / (thin(a)[1] ** 2 + 0.3))) @ thin(a)[0].T,
        lambda a: np.linalg.solve(a.T @ a + 0.3 * np.eye(a.shape[1]), a.T),
    ),
    "gram": (lambda a: (thin(a)[0] * thin(a)[1] ** 2) @ thin(a)[0].T, lambda a: a @ a.T),
    "energy": (lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 2), lambda a: np.sum(a * a)),
}


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 3), (7, 2)], ids=str)
@pytest.mark.parametrize("name", SINGULAR)
def test_functions_of_singular_values(name: str, shape: tuple[int, int]) -> None:
    f, other = SINGULAR[name]
    k = min(shape)
    for values in ([1.0, 2.0, 3.0][:k], [2.0] * k, [1.0, 1.0 + 1e-9, 2.0][:k]):
        u, v = (np.linalg.qr(rng.normal(size=(size, k)))[0] for size in shape)
        a, e, e2 = (u * values) @ v.T, rng.normal(size=shape), rng.normal(size=shape)
        y = f(a)
        g = rng.normal(size=np.shape(y))
        want = sg.jvp(other, (a,), (e,))[1]
        np.testing.assert_allclose(sg.jvp(f, (a,), (e,))[1], want, atol=1e-10)
        one, two = (lambda a, h=h, g=g: np.sum(g * h(a)) for h in (f, other))
        np.testing.assert_allclose(sg.grad(one)(a), sg.grad(two)(a), atol=1e-10)
        np.testing.assert_allclose(sg.hvp(one, (a,), (e2,)), sg.hvp(two, (a,), (e2,)), atol=1e-8)


def test_singular_values_of_zero() -> None:
    whole = lambda a: (np.linalg.svd(a)[0] * np.linalg.svd(a)[1]) @ np.linalg.svd(a)[2]
    energy = lambda a: np.sum(np.linalg.svd(a)[1] ** 2)
    for a in (np.zeros((2, 2)), np.ones((2, 2))):
        e = np.array([[1.0, 2.0], [3.0, 5.0]])
        np.testing.assert_allclose(sg.jvp(whole, (a,), (e,))[1], e, atol=1e-12)
        np.testing.assert_allclose(sg.hvp(energy, (a,), (e,)), 2 * e, atol=1e-12)
    nuclear = sg.grad(lambda a: np.linalg.norm(a, "nuc"))
    np.testing.assert_allclose(nuclear(np.ones((2, 2))), 0.5 * np.ones((2, 2)), atol=1e-12)
    polar = lambda a: np.linalg.svd(a)[0] @ np.linalg.svd(a)[2]
    with pytest.warns(DegeneracyWarning):
        assert np.all(np.isnan(sg.jvp(polar, (np.zeros((2, 2)),), (UNIT,))[1]))


def test_the_polar_factor_of_equal_values() -> None:
    polar = lambda a: np.linalg.svd(a)[0] @ np.linalg.svd(a)[2]
    e = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(
        sg.jvp(polar, (2 * UNIT,), (e,))[1], [[0, -0.25], [0.25, 0]], atol=1e-12
    )


# ---------------------------------------------------------------- determinants


def minors(a: Any) -> Any:
    n = range(len(a))
    less = lambda i, j: np.delete(np.delete(a, i, 0), j, 1)
    return np.array([[(-1) ** (i + j) * np.linalg.det(less(i, j)) for j in n] for i in n])


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_determinants_of_matrices_of_any_rank(n: int) -> None:
    for rank in range(n + 1):
        a, e = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n)), rng.normal(size=(n, n))
        size = max(np.linalg.norm(a), 1e-3)
        room = 1e-14 * size ** (n - 1)
        np.testing.assert_allclose(sg.grad(np.linalg.det)(a), minors(a), rtol=0, atol=room)
        h = 1e-4
        change = (minors(a + h * e) - minors(a - h * e)) / (2 * h)
        found = sg.hvp(np.linalg.det, (a,), (e,))
        np.testing.assert_allclose(found, change, atol=1e-20 + 1e-6 * size ** max(n - 2, 0))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_third_derivatives_of_determinants_of_any_rank(n: int) -> None:
    """They are the coefficients of a polynomial in three numbers: by differences of it."""

    def third(a: Any, *along: Any) -> Any:
        at = lambda x, y, z: np.linalg.det(a + x * along[0] + y * along[1] + z * along[2])
        return sg.grad(sg.grad(sg.grad(at), 1), 2)(0.0, 0.0, 0.0)

    for rank in {0, 1, n - 1, n} & {*range(n + 1)}:
        a = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
        es = [rng.normal(size=(n, n)) for _ in range(3)]
        with mp.workdps(80):
            h = mp.mpf(10) ** -15
            det = lambda *x, a=a, es=es, h=h: mp.det(
                sum((t * h * mp.matrix(e.tolist()) for t, e in zip(x, es, strict=True)),
                    mp.matrix(a.tolist()))
            )  # fmt: skip
            signs = [(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
            want = sum(i * j * k * det(i, j, k) for i, j, k in signs) / (8 * h**3) if n else 0.0
        assert third(a, *es) == pytest.approx(float(want), rel=1e-9, abs=1e-9)


def test_the_determinant_of_a_singular_matrix() -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(sg.grad(np.linalg.det)(singular), [[4, -2], [-2, 1]])
    second = sg.hessian(np.linalg.det)(singular).reshape(4, 4)
    np.testing.assert_allclose(second, np.diag([1.0, -1.0, -1.0, 1.0])[::-1], atol=1e-15)
    path = lambda t: np.linalg.det(np.array([[0.0, 1.0], [4.0, 0.0]]) + t * np.eye(2))
    assert sg.grad(path)(2.0) == pytest.approx(4.0)
    assert sg.grad(sg.grad(path))(2.0) == pytest.approx(2.0)
    np.testing.assert_array_equal(sg.grad(np.linalg.det)(np.zeros((2, 2))), np.zeros((2, 2)))


def test_what_does_not_depend_on_dependent_columns() -> None:
    first = lambda a: np.linalg.qr(a)[1][0, 0] ** 2
    for a in (np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[3.0, 0.0], [4.0, 0.0]])):
        want = np.stack([2 * a[:, 0], np.zeros(2)], axis=1)
        np.testing.assert_allclose(sg.grad(first)(a), want, atol=1e-14)


def test_the_root_of_a_singular_matrix() -> None:
    from symgrad.scipy import linalg

    found = sg.compile(linalg.sqrtm)(np.ones((2, 2)))
    np.testing.assert_allclose(found, np.full((2, 2), 0.5**0.5))
    for a in (np.ones((2, 2)), np.diag([1.0, 0.0]), np.zeros((2, 2))):
        first = sg.jacobian(linalg.sqrtm)(a)
        second = sg.hessian(lambda a: np.sum(linalg.sqrtm(a)))(a)
        assert np.isnan(first).all()  # infinite, or unknown
        assert np.isnan(second).all()

"""``scipy.linalg`` in traced code: values of SciPy, derivatives of differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import symgrad as sg
from symgrad.errors import ShapeError, UnsupportedError
from tests.shared import definite, well

pytestmark = pytest.mark.usefixtures("few_kernels")

RNG = np.random.default_rng(11)
V, W = RNG.normal(size=4) + 3, RNG.normal(size=3)
A, S, B = well(4, 4), definite(4), RNG.normal(size=(4, 2))
R, UNIT = definite(2), np.eye(4)
T, C = definite(4) + np.diag(np.arange(4.0)), 0.4 * RNG.normal(size=(4, 4))
FREE = np.array([[1.0, 0.1], [0.0, 1.0]])  # place and velocity, a step later


def both_parts(a: Any) -> Any:
    """Return a symmetric matrix for any: what one triangle is read of gets all of the slope."""
    return a + a.T


#: A function of one array that calls SciPy, and the array.
CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "lu_factor": (lambda a: sl.lu_factor(a)[0], A),
    "log-determinant by factors": (lambda a: np.log(np.abs(np.diag(sl.lu_factor(a)[0]))), A),
    "both by lu_factor": (lambda a: sl.lu_factor(a)[0] + sl.lu_solve(sl.lu_factor(a), B[:, :1]), A),
    "qr, R alone": (lambda a: sl.qr(a, mode="r")[0], B),
    "qr, R alone, wide": (lambda a: sl.qr(a.T, mode="r")[0], B),
    "lu_solve": (lambda a: sl.lu_solve(sl.lu_factor(a), V), A),
    "lu_solve, unpacked": (lambda a: _unpacked(a), A),
    "lu_solve, transposed": (lambda a: sl.lu_solve(sl.lu_factor(a), B, trans=1), A),
    "lu_solve, factors outside": (lambda b: sl.lu_solve(FACTORS, b, trans=1), B),
    "lstsq": (lambda a: np.concatenate([*map(np.ravel, sl.lstsq(a, V)[:2])]), B),
    "lstsq, several": (lambda a: sl.lstsq(a, A)[0], B),
    "pinvh": (lambda a: sl.pinvh(both_parts(a)), S),
    "pinvh, upper": (lambda a: sl.pinvh(a, lower=False), A),
    "eigh of two": (lambda a: sl.eigh(both_parts(a), T)[0], S),
    "eigh by two": (lambda b: sl.eigh(S, both_parts(b), eigvals_only=True), T),
    "eigh, upper": (lambda b: sl.eigh(S, both_parts(b), lower=False)[1] ** 2, T),
    "eigvalsh of two": (lambda a: sl.eigvalsh(both_parts(a), T), S),
    "toeplitz": (sl.toeplitz, V),
    "toeplitz, row": (lambda c: sl.toeplitz(c, np.concatenate([c[:1], W])), V),
    "circulant": (sl.circulant, V),
    "hankel": (sl.hankel, V),
    "hankel, row": (lambda c: sl.hankel(c, W), V),
    "companion": (sl.companion, V),
    "block_diag": (lambda a: sl.block_diag(a, [[1, 2]], a[:2], a[0]), A),
    "khatri_rao": (lambda a: sl.khatri_rao(a, A[:2]), A),
    "solve_toeplitz": (lambda c: sl.solve_toeplitz(c, B), np.array([9.0, 1.0, 0.5, 2.0])),
    "solve_toeplitz, row": (lambda c: sl.solve_toeplitz((c, V), V), np.array([9.0, 1.0, 0.5, 2.0])),
    "solve_circulant": (lambda c: sl.solve_circulant(c, B), np.array([9.0, 1.0, 0.5, 2.0])),
    "solve_sylvester": (lambda a: sl.solve_sylvester(a, S[:3, :3], B @ W.reshape(1, 3)[[0, 0]]), A),
    "lyapunov": (lambda a: sl.solve_continuous_lyapunov(a, S), A),
    "discrete lyapunov": (lambda a: sl.solve_discrete_lyapunov(0.1 * a, S), A),
    "sqrtm": (sl.sqrtm, A @ A.T + UNIT),
    "sqrtm, not symmetric": (sl.sqrtm, C + 2 * UNIT),
    "logm": (sl.logm, C + 2 * UNIT),
    "fractional_matrix_power": (lambda a: sl.fractional_matrix_power(a, 0.3), C + 2 * UNIT),
    "cosm and sinm": (lambda a: sl.cosm(a) @ sl.sinm(a) + sl.tanm(a), C),
    "coshm and sinhm": (lambda a: sl.coshm(a) @ sl.sinhm(a) + sl.tanhm(a), C),
    "expm_frechet": (lambda a: sl.expm_frechet(a, S)[1], C),
    "polar": (lambda a: np.concatenate(sl.polar(a)), A),
    "polar of a turn": (lambda a: np.concatenate(sl.polar(a)), UNIT[[1, 0, 3, 2]]),
    "polar of a turn, left": (lambda a: sl.polar(a, "left")[1], 2 * UNIT),
    "polar, left": (lambda a: sl.polar(a, "left")[1], B),
    "orthogonal_procrustes": (lambda a: sl.orthogonal_procrustes(a, S)[0], A),
    "eigh_tridiagonal": (lambda d: sl.eigh_tridiagonal(d, W)[1] ** 2, V * [1, 2, 3, 4]),
    "eigvalsh_tridiagonal": (lambda e: sl.eigvalsh_tridiagonal(V, e), W),
    "convolution_matrix": (lambda a: sl.convolution_matrix(a, 3, "same"), V),
    "convolution_matrix, valid": (lambda a: sl.convolution_matrix(a, 6, "valid"), V),
    "matmul_toeplitz": (lambda c: sl.matmul_toeplitz((c, V), B), V),
    "leslie": (lambda f: sl.leslie(f, W), V),
    "fiedler": (sl.fiedler, V),
    "are": (lambda a: sl.solve_continuous_are(a, B, S, R), C),
    "are by costs": (lambda q: sl.solve_continuous_are(C, B, both_parts(q), R), S),
    "are by input": (lambda b: sl.solve_continuous_are(C, b, S, R), B),
    "discrete are": (lambda a: sl.solve_discrete_are(a, B, S, R), C),
    "discrete are by weights": (lambda r: sl.solve_discrete_are(C, B, S, both_parts(r)), R),
    "discrete are, moving freely": (
        lambda q: sl.solve_discrete_are(FREE, FREE[:, 1:], np.diag(q), q[:1, None]),
        np.array([0.5, 1.5]),
    ),
    "are, moving freely": (
        lambda q: sl.solve_continuous_are(FREE - np.eye(2), FREE[:, 1:], np.diag(q), q[:1, None]),
        np.array([0.5, 1.5]),
    ),
}
FACTORS = sl.lu_factor(A)


def _unpacked(a: Any) -> Any:
    lu, places = sl.lu_factor(a)
    x = V
    for _ in range(3):
        x = sl.lu_solve((lu, places), x)
    return x


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(10)
def test_values_and_derivatives(name: str) -> None:
    f, x = CASES[name]
    wanted = f(x)
    np.testing.assert_allclose(sg.compile(f)(x), wanted, rtol=1e-9, atol=1e-10)
    slope, step = sg.jacobian(f)(x), 1e-5
    for place in np.ndindex(x.shape):
        unit = np.zeros(x.shape)
        unit[place] = step
        change = (f(x + unit) - f(x - unit)) / (2 * step)
        found = slope[(..., *place)]
        np.testing.assert_allclose(found, change, rtol=1e-5, atol=1e-6 * (1 + abs(change).max()))


@pytest.mark.slow
def test_batches_and_second_derivatives() -> None:
    many = RNG.normal(size=(5, 4, 4)) + 4 * UNIT
    for f in (CASES["are"][0], CASES["lyapunov"][0], CASES["lu_solve, unpacked"][0]):
        np.testing.assert_allclose(sg.vmap(f)(many), [f(a) for a in many], rtol=1e-8, atol=1e-9)

    def cost(rate: Any) -> Any:
        return sl.solve_continuous_are(C * rate, B, S, R)[0, 0]

    second = sg.grad(sg.grad(cost))(1.0)
    change = (sg.grad(cost)(1 + 1e-5) - sg.grad(cost)(1 - 1e-5)) / 2e-5
    np.testing.assert_allclose(second, change, rtol=1e-5)


def test_zeros_below_an_infinite_column() -> None:
    column = np.array([1.0, np.inf, np.nan])
    np.testing.assert_array_equal(sg.compile(sl.hankel)(column), sl.hankel(column))


def test_no_solution_is_nan() -> None:
    """What nothing can steer, and grows, has no best control."""
    a, b = np.diag([1.0, -1.0]), np.array([[0.0], [1.0]])
    with pytest.raises(np.linalg.LinAlgError):
        sl.solve_continuous_are(a, b, np.eye(2), np.eye(1))
    found = sg.compile(lambda a: sl.solve_continuous_are(a, b, np.eye(2), np.eye(1)))(a)
    assert np.isnan(found).all()
    found = sg.compile(lambda a: sl.solve_discrete_are(2 * a, b, np.eye(2), np.eye(1)))(a)
    assert np.isnan(found).all()


def test_wrong_use() -> None:
    cases: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
        (lambda a: sl.lu_factor(a[0]), ShapeError, "square matrix"),
        (lambda a: sl.lu_solve(sl.lu_factor(a), V[:2]), ShapeError, "factors of 4 rows"),
        (lambda a: sl.lu_solve((a, np.arange(4)), V), UnsupportedError, "lu_factor has returned"),
        (lambda a: sl.solve_continuous_are(a, B, S, R, e=S), UnsupportedError, "e="),
        (lambda a: sl.solve_sylvester(a[:2], S, S), ShapeError, "square matrix"),
        (lambda a: sl.signm(a), UnsupportedError, "eigh"),
        (lambda a: sl.toeplitz(a), ShapeError, "of a vector"),
        (lambda a: sl.companion(a[0, :1]), ShapeError, "two coefficients"),
        (lambda a: sl.lu_solve(sl.lu_factor(a[None]), V), ShapeError, "factors of 4 rows"),
    ]
    for f, kind, words in cases:
        with pytest.raises(kind, match=words):
            sg.compile(f)(A)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_roots_and_logarithms_that_are_not_real_are_nan(name: str) -> None:
    function = getattr(sl, name)
    for bad in (np.diag([1.0, -2.0]), np.array([[1.0, 1.0], [0.0, 0.0]])):
        assert np.all(np.isnan(sg.compile(function)(bad)))
        assert np.all(np.isnan(sg.grad(lambda a: np.sum(function(a)))(bad)))


def test_the_root_of_a_singular_symmetric_matrix_has_no_derivative() -> None:
    singular = np.diag([1.0, 0.0])
    np.testing.assert_array_equal(sg.compile(sl.sqrtm)(singular), singular)
    assert np.all(np.isnan(sg.grad(lambda a: np.sum(sl.sqrtm(a)))(singular)))


def test_roots_of_far_elements_and_in_batches() -> None:
    far = np.diag([1e-200, 1e200])
    np.testing.assert_allclose(sg.compile(sl.sqrtm)(far), np.diag([1e-100, 1e100]))
    both = np.stack([A @ A.T, S])
    np.testing.assert_allclose(sg.vmap(sl.sqrtm)(both), [*map(sl.sqrtm, both)], rtol=1e-10)


def test_a_system_is_what_the_part_that_is_read_says() -> None:
    """With ``assume_a="sym"`` and its kin, numbers in the other triangle made another solution."""
    a, b = np.random.default_rng(2).random((4, 4)) + 3 * np.eye(4), np.arange(1.0, 5.0)
    for form in ("sym", "her", "upper triangular", "lower triangular", "diagonal", "tridiagonal"):
        for lower in (False, True):
            f = lambda a, o=(form, lower): sl.solve(a, b, assume_a=o[0], lower=o[1])  # noqa: E731
            np.testing.assert_allclose(sg.compile(f)(a), f(a), rtol=1e-12)
            slopes = np.moveaxis(sg.jacobian(f)(a), 0, -1)
            h = 1e-6
            for i, j in ((0, 1), (1, 0), (2, 2), (0, 3)):
                e = np.zeros((4, 4))
                e[i, j] = h
                want = (f(a + e) - f(a - e)) / (2 * h)
                np.testing.assert_allclose(slopes[i, j], want, rtol=1e-6, atol=1e-8)


def test_some_eigenvalues() -> None:
    a, b = sl.hilbert(5) + np.eye(5), np.diag(np.arange(1.0, 6.0))
    for options in ({}, {"b": b}, {"lower": False, "driver": "evr"}):
        f = lambda a, o=options: sl.eigh(a, subset_by_index=[1, 3], **o)  # noqa: E731
        (w, v), (want, _) = sg.compile(f)(a), f(a)
        np.testing.assert_allclose(w, want, rtol=1e-10)
        assert v.shape == (5, 3)
    least = lambda a: sl.eigvalsh(a, subset_by_index=[0, 0])[0]  # noqa: E731
    assert sg.compile(least)(a) == pytest.approx(least(a), rel=1e-10)
    with pytest.raises(ValueError, match="1 to 5 are not within"):
        sg.compile(lambda a: sl.eigh(a, subset_by_index=[1, 5])[0])(a)


def test_whole_powers_of_matrices_are_products() -> None:
    """By logarithms they were nan where an eigenvalue is not positive."""
    a = np.array([[-1.0, 2.0], [0.5, 0.3]])
    for t in (3, -2, 2.0, 0):
        f = lambda a, t=t: sl.fractional_matrix_power(a, t)  # noqa: E731
        np.testing.assert_allclose(sg.compile(f)(a), f(a), rtol=1e-12)
    slope = sg.grad(lambda a: sl.fractional_matrix_power(a, 2)[0, 0])(a)
    np.testing.assert_allclose(slope, [[-2.0, 0.5], [2.0, 0.0]])


# ---------------------------------------------------------------- functions of complex matrices


def _complex_matrix(kind: str, n: int) -> Any:
    rng = np.random.default_rng(n)
    a = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    return {
        "general": a,
        "Hermitian": a @ a.conj().T,
        "defective": 2j * np.eye(n) + np.diag(np.ones(n - 1), 1),
        "negative": -np.diag(1.0 + 0.1 * np.arange(n)) + np.triu(a.real, 1) + 0j,
    }[kind]


_POWER = lambda a: sl.fractional_matrix_power(a, 0.3)  # noqa: E731


@pytest.mark.parametrize("function", [sl.sqrtm, sl.logm, _POWER])
@pytest.mark.parametrize("kind", ["general", "Hermitian", "defective"])
@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.filterwarnings("ignore:logm result may be inaccurate")
def test_functions_of_complex_matrices(n: int, kind: str, function: Any) -> None:
    f, a = (lambda a: function(a)), _complex_matrix(kind, n)
    along = _complex_matrix("general", n).T
    value, slope = sg.jvp(f, (a,), (along,))
    np.testing.assert_allclose(value, f(a), rtol=1e-10, atol=1e-12)
    near = (f(a + 1e-5 * along) - f(a - 1e-5 * along)) / 2e-5
    np.testing.assert_allclose(slope, near, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("n", [1, 3])
def test_roots_on_the_branch_cut(n: int) -> None:
    """Real matrices as complex ones have roots where eigenvalues are negative."""
    a, along = _complex_matrix("negative", n), _complex_matrix("general", n)
    root, slope = sg.jvp(lambda a: sl.sqrtm(a), (a,), (along,))
    np.testing.assert_allclose(root, sl.sqrtm(a), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(root @ slope + slope @ root, along, atol=1e-11)
    scale = sg.grad(lambda t: np.sum(np.abs(sl.sqrtm(t * a)) ** 2))(2.0)
    np.testing.assert_allclose(scale, np.sum(np.abs(root) ** 2), rtol=1e-10)

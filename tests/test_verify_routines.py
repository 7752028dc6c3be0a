"""Certificates of what LAPACK computes: exact values, derivatives, normwise bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symgrad as sg
from symgrad._core.op import Evidence, Linear, Products, registry
from symgrad.errors import (
    ArgumentError,
    DegeneracyWarning,
    UnsupportedError,
    VerificationError,
)
from symgrad.scipy import linalg as scipy_linalg

rng = np.random.default_rng(5)
X = rng.standard_normal((3, 3))
DEFINITE = X @ X.T + np.eye(3)
B = rng.standard_normal(3)
BAND = rng.standard_normal((3, 3)) + np.array([[0.0], [4.0], [0.0]])
TALL = rng.standard_normal((4, 2))


def parts(*values: Any) -> Any:
    """Return real and imaginary parts: verified are real numbers."""
    return [part for z in values for part in (z.real, z.imag)]


def turned(a: Any) -> Any:
    """Return a Hermitian matrix made of a symmetric one, as positive definite as that."""
    angle = np.arange(3.0)
    return a * np.exp(1j * (angle[:, None] - angle))


#: A function for each routine, and what to call it with.
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "LU": (np.linalg.solve, (X, B)),
    "Solve": (lambda a, b: np.linalg.solve(a.T, b), (X, B)),
    "BandSolve": (lambda a, b: scipy_linalg.solve_banded((1, 1), a, b), (BAND, B)),
    "ComplexBandSolve": (
        lambda a, b: parts(scipy_linalg.solve_banded((1, 1), a + 1j * a**2, b)),
        (BAND, B),
    ),
    "SolveTriangular": (
        lambda a, b: registry.ops["SolveTriangular"](
            a, b[None], lower=True, trans=True, unit=False
        ),
        (DEFINITE, B),
    ),
    "Det": (np.linalg.det, (np.stack([X, DEFINITE]),)),
    "Cofactors": (
        lambda a: registry.ops["Cofactors"](a, registry.ops["LU"](a)),
        (X,),
    ),
    "CofactorChange": (
        lambda a, e: registry.ops["CofactorChange"](a, registry.ops["LU"](a), e),
        (X, DEFINITE),
    ),
    "LogAbsDet": (lambda a: np.linalg.slogdet(a)[1], (X,)),
    "SignDet": (lambda a: np.linalg.slogdet(a)[0] * np.sum(a), (X,)),
    "Cholesky": (np.linalg.cholesky, (DEFINITE,)),
    "QR": (np.linalg.qr, (TALL,)),
    "OrthogonalComplement": (lambda a: np.linalg.qr(a, mode="complete")[0][:, 2:], (TALL,)),
    "Eigh": (np.linalg.eigh, (DEFINITE,)),
    "SVD": (lambda a: np.linalg.svd(a, full_matrices=False), (TALL.T,)),
    "PseudoInverse": (np.linalg.pinv, (TALL,)),
    "Argsort": (lambda x: np.sort(np.exp(x)), (B,)),
    "ComplexSolveTriangular": (
        lambda a, b: parts(scipy_linalg.solve_triangular(a + 1j * a.T, b - 2j, trans=1)),
        (DEFINITE, B),
    ),
    "ComplexCholesky": (lambda a: parts(np.linalg.cholesky(turned(a))), (DEFINITE,)),
    "ComplexQR": (lambda a: parts(*np.linalg.qr(a + 1j * a**2)), (TALL,)),
    "ComplexOrthogonalComplement": (
        lambda a: parts(np.linalg.qr(a + 1j * a**2, mode="complete")[0][:, 2:]),
        (TALL,),
    ),
    "ComplexEigh": (lambda a: parts(np.linalg.eigh(turned(a))[1]), (DEFINITE,)),
    "ComplexSVD": (
        lambda a: parts(np.linalg.svd(a + 1j * a**2, full_matrices=False)[2]),
        (TALL.T,),
    ),
    "ComplexPseudoInverse": (lambda a: parts(np.linalg.pinv(a + 1j * a**2)), (TALL,)),
    "Eig": (lambda a: parts(*np.linalg.eig(a)), (X[:2, :2],)),
    "ComplexEig": (lambda a: parts(*np.linalg.eig(a + 1j * a.T)), (X[:2, :2],)),
    "ComplexSolve": (lambda a: parts(np.linalg.solve(a + 1j * a.T, a[0] - 1j * a[1])), (X,)),
    "ComplexLogDet": (lambda a: np.linalg.slogdet(a + 1j * a.T @ a)[1], (X,)),
}


@pytest.fixture(autouse=True)
def numpy_backend() -> Any:
    with sg.backend("numpy"):
        yield


def test_every_routine_has_a_case() -> None:
    assert set(CASES) == {op.name for op in registry.ops.values() if Evidence.of(op).exact}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(3)
def test_routines_are_as_exact_as_their_condition_allows(name: str) -> None:
    f, args = CASES[name]
    found = sg.verify(f, *args)
    for check in found.checks:
        assert check.checked > 0
        assert check.worst is None or check.worst.ulp <= max(4, 4 * check.worst.condition)


@pytest.mark.parametrize(
    "name",
    ["Solve", "BandSolve", "Cholesky", "QR", "Eigh", "SVD", "PseudoInverse", "ComplexCholesky",
     "ComplexQR", "OrthogonalComplement", "ComplexOrthogonalComplement",
     "ComplexEigh", "ComplexSVD", "ComplexPseudoInverse", "Eig", "ComplexEig"],
)  # fmt: skip
@pytest.mark.quick(2)
def test_a_wrong_rule_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = registry.ops[name]
    rule = op.products

    def wrong(*args: Any, **params: Any) -> Any:
        first, *rest = rule.vjp(*args, **params)
        return (first * (1 + 1e-6), *rest)

    pushed = lambda *a, **params: rule.jvp(*a, **params) * (1 + 1e-6)  # noqa: E731
    monkeypatch.setitem(vars(op), "rule", Products(wrong, pushed))
    f, args = CASES[name]
    with pytest.raises(VerificationError, match="derivative by a is wrong"):
        sg.verify(f, *args, wrt=0)


NEARLY_SINGULAR = np.array([[0.43, 0.26, 0.94], [-0.33, -0.2, -0.59], [-0.9, -0.57, 0.83]])


def thin_svd(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)


@pytest.mark.parametrize("f", [np.linalg.qr, thin_svd])
@pytest.mark.parametrize("a", [NEARLY_SINGULAR, NEARLY_SINGULAR[:, :2], np.diag([3.0, 2.0, 1e-6])])
@pytest.mark.quick(1)
def test_small_singular_values_magnify_nothing_that_cancels(f: Any, a: Any) -> None:
    """Forward (the Jacobian of several results) and reverse (of one)."""
    both = sg.verify(f, a)
    weights = [np.arange(1.0, part.size + 1).reshape(part.shape) for part in f(a)]

    def weighted(a: Any) -> Any:
        return sum(np.sum(w * part) for w, part in zip(weights, f(a), strict=True))

    one = sg.verify(weighted, a)
    for found in (both, one):
        assert max(check.max_scaled for check in found.checks) < 3


def test_the_orthogonal_factor_turns_between_equal_singular_values() -> None:
    """What U and V do together is not determined there, what U @ V does is."""

    def polar(a: Any) -> Any:
        u, _, vh = np.linalg.svd(a)
        return u @ vh

    skew = np.array([[0.0, 1.0], [-1.0, 0.0]])
    _, change = sg.jvp(polar, (3.0 * np.eye(2),), (skew,))
    assert np.allclose(change, skew / 3, rtol=1e-15)


def test_conditioning_explains_a_hilbert_matrix() -> None:
    hilbert = 1.0 / (np.arange(6)[:, None] + np.arange(6) + 1)
    found = sg.verify(np.linalg.solve, hilbert, np.ones(6), wrt="b")
    value = found.checks[0].worst
    assert value is not None
    assert value.condition > 1e6
    assert value.ulp <= value.condition


def test_a_certificate_over_a_domain(tmp_path: Path) -> None:
    def energy(x: Any, b: Any) -> Any:
        return b @ np.linalg.solve(x @ x.T + 3 * np.eye(2), b)

    b = np.array([1.0, 2.0])
    found = sg.verify(energy, np.ones((2, 2)), b, domain={"x": (-1.0, 1.0)}, wrt="x", points=4)
    assert found.max_ulp < 64
    assert found.fixed == {"b": [1.0, 2.0]}
    assert "b in" not in str(found)
    file = tmp_path / "energy.json"
    found.save(file)
    assert sg.recheck(file).max_ulp == found.max_ulp


def test_the_order_of_elements_is_a_kink() -> None:
    found = sg.verify(np.sort, np.ones(3), domain=(-1.0, 1.0), points=4)
    assert any("Argsort" in kink.step for kink in found.kinks)
    found = sg.verify(lambda x: np.max(x), np.ones(3), domain=(-1.0, 1.0), points=4)
    assert [kink.what for kink in found.kinks] == ["branch"]
    found = sg.verify(lambda x: x[np.array([0, 2])], np.ones(3), domain=(-1.0, 1.0), points=4)
    assert not found.kinks


@pytest.mark.slow
def test_the_seed_chooses_the_points() -> None:
    one, two, three = (
        sg.verify(np.tanh, domain=(-2.0, 2.0), points=6, seed=s) for s in (0, 1, 1)
    )  # fmt: skip
    assert two == three
    assert (one.rows, one.seed) != (two.rows, two.seed)
    assert two["x"].point != one["x"].point


def test_a_matrix_of_which_one_triangle_is_read() -> None:
    found = sg.verify(np.linalg.cholesky, np.array([[2.0, 1.0], [0.0, 2.0]]))
    assert found.max_ulp < 4


def test_what_is_not_determined_or_too_large_is_refused() -> None:
    with (
        pytest.warns(DegeneracyWarning),
        pytest.raises(UnsupportedError, match="two values are equal"),
    ):
        sg.verify(lambda a: np.linalg.eigh(a)[1], np.eye(2))
    with pytest.raises(UnsupportedError, match="144 elements"):
        sg.verify(np.linalg.inv, np.eye(13))
    with pytest.raises(ArgumentError, match="finite low <= high"):
        sg.verify(np.tanh, domain=(2.0, 1.0))


TRANSFORMS: dict[str, Any] = {
    "complex": lambda x: np.abs(np.fft.fft(x + 1j * x**2)),
    "back": lambda x: np.real(np.fft.ifft(np.fft.fft(x) * np.exp(1j * np.arange(6)))),
    "orthonormal": lambda x: np.imag(np.fft.fft(x, norm="ortho")) + x,
    "half": lambda x: np.abs(np.fft.rfft(x)) ** 2,
    "signal": lambda x: np.fft.irfft(np.fft.rfft(x) * np.arange(4.0), 6),
    "odd signal": lambda x: np.fft.irfft(np.fft.rfft(x[:5]), 5),
    "plane": lambda x: np.real(np.fft.fft2(np.outer(x, x[:3]))),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_fourier_transforms_are_sums(name: str) -> None:
    found = sg.verify(TRANSFORMS[name], np.linspace(0.5, 2.0, 6))
    assert found.max_scaled < 1
    assert all(check.checked > 0 for check in found.checks)


def test_a_wrong_factor_of_a_transform_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    op = registry.ops["RealFourier"]
    assert op.linear is not None
    right = op.linear.transpose
    wrong = Linear(lambda *a, **params: tuple(x * 1.001 for x in right(*a, **params)))
    monkeypatch.setitem(vars(op), "rule", wrong)
    with pytest.raises(VerificationError, match="derivative by x is wrong"):
        sg.verify(lambda x: np.sum(np.abs(np.fft.rfft(x))), np.linspace(0.5, 2.0, 6))


def test_a_python_function_has_no_exact_values() -> None:
    @sg.custom_jvp
    def root(a: Any) -> Any:
        return sg.pure_callback(np.cbrt, a, a)

    root.defjvp(lambda p, t: (root(*p), t[0] / (3 * root(*p) ** 2)))
    with pytest.raises(UnsupportedError, match=r"Callback, called at .*py:\d+, has no"):
        sg.verify(lambda x: 2 * root(x), 1.5)


@pytest.mark.slow
def test_long_steps_are_written_with_letters() -> None:
    found = sg.verify(lambda x: np.abs(np.fft.rfft(x)), np.zeros(6), domain=(-1.0, 1.0), points=2)
    assert [kink.step for kink in found.kinks] == ["sqrt(a**2 + b**2)"]


def test_an_assignment_at_the_place_of_an_extreme() -> None:
    """SymPy cannot tell that the cases of argmax are all; the chain rule needs no such thing."""

    def f(x: Any) -> Any:
        y = np.zeros_like(x) + x
        y[np.argmax(x)] = 2 * x[0]
        return np.sum(y * x)

    assert sg.verify(f, np.array([0.3, -1.0, 2.0])).max_ulp < 4

"""scipy.sparse.linalg in traced code: solvers, operators, eigenvalues, exponentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.usefixtures("few_kernels")

RNG = np.random.default_rng(5)
A = sp.random(6, 6, 0.4, random_state=0, format="csc") + 6 * sp.eye(6, format="csc")
S, MIXED = (A + A.T).tocsc(), sp.random(8, 8, 0.4, random_state=0, format="csr")
MIXED = MIXED + MIXED.T
V = np.arange(1.0, 7.0)
FACTORS, TURNED = sl.splu(A), sl.splu((A * (1 + 0.3j)).tocsc())
SOLVE = sl.factorized(A)
OUTSIDE = sl.LinearOperator((6, 6), matvec=lambda x: S @ x)
HOPPING = sp.diags([np.ones(5), np.ones(5)], [-1, 1]).tocsr()
SHARP = {"rtol": 1e-13, "atol": 0.0}


def operator(p: Any) -> Any:
    return sl.LinearOperator((6, 6), matvec=lambda x: p * (S @ x))


CASES: dict[str, Callable[[Any], Any]] = {
    "factors made outside": lambda p: FACTORS.solve(p * V) + SOLVE(p * V) + SOLVE(V),
    "by columns": lambda p: SOLVE(p * np.outer(V, V)),
    "transposed": lambda p: FACTORS.solve(p * V, "T") + FACTORS.solve(p**2 * V, trans="H"),
    "complex factors": lambda p: sum(
        np.abs(TURNED.solve(p * V * (1 + 0.2j * p), t)) for t in ("N", "T", "H")
    ),
    "complex factors of real": lambda p: TURNED.solve(p * V + 0j).imag,
    "complex matrix": lambda p: np.abs(sl.spsolve(A * (1 + 0.2j * p), V * (1 + 1j)) ** 2),
    "complex right-hand side": lambda p: np.abs(sl.spsolve(A, V * (1 + 1j * p))),
    "complex factors inside": lambda p: np.abs(sl.splu(A * (1 + 0.2j * p)).solve(V + 0j, "H")),
    "triangular": lambda p: sl.spsolve_triangular(sp.tril(p * A).tocsr(), V)
    + sl.spsolve_triangular(sp.triu(A).tocsr(), p * V, lower=False),
    "triangles": lambda p: sp.tril(p * A, -1).toarray() + 2 * sp.triu(p * A, 1).toarray(),
    "diagonals": lambda p: sp.dia_matrix((np.stack([p * V, V * p**2]), [0, 1]), shape=(6, 6)) @ V,
    "dia_array": lambda p: sp.dia_array((p * V, 0), shape=(6, 6)) @ V,
    "operator": lambda p: operator(p) @ V + operator(p).matvec(V),
    "cg by an operator": lambda p: sl.cg(operator(p), V, **SHARP)[0],
    "cg by one outside": lambda p: sl.cg(OUTSIDE, p * V, **SHARP)[0],
    "gmres of an array": lambda p: sl.gmres(p * A.toarray(), V, **SHARP)[0],
    "with a preconditioner": lambda p: sl.gmres(
        A, p * V, M=sl.LinearOperator((6, 6), matvec=FACTORS.solve), **SHARP
    )[0],
    "aslinearoperator": lambda p: sl.cg(sl.aslinearoperator(p * S), V, **SHARP)[0],
    "shifted": lambda p: sl.eigsh(MIXED * p, 3, sigma=0.05, return_eigenvectors=False),
    "svds": lambda p: np.abs(sl.svds(p * A, 2)[0]) + sl.svds(p * A, 2)[1],
    "inv": lambda p: sl.inv((p * A).tocsc()).toarray(),
    "expm": lambda p: sl.expm(p * 0.1 * A).toarray(),
    "exponential": lambda p: sl.expm_multiply(p * -A, V) + sl.expm_multiply(A * 0.1, p * V),
    "exponentials": lambda p: sl.expm_multiply(A * -p, np.outer(V, [1, 2]), 0.5, 2, 4),
    "exponentials, no end": lambda p: sl.expm_multiply(A * -p, V, 0, 1, 3, endpoint=False),
    "Schroedinger's": lambda p: np.abs(sl.expm_multiply(-9j * p * HOPPING, np.eye(6)[0])) ** 2,
}  # fmt: skip
for _name in ("bicg", "bicgstab", "cg", "gmres", "lgmres", "minres", "qmr", "tfqmr"):
    CASES[_name] = lambda p, n=_name: getattr(sl, n)(p * S, p**2 * V, rtol=1e-13)[0]
for _which in ("LM", "SM", "LA", "SA", "BE"):
    CASES[f"eigsh {_which}"] = lambda p, w=_which: (
        sl.eigsh(MIXED * p, 3, which=w)[0] + 10 * sl.eigsh(MIXED * p, 3, which=w,
                                                           return_eigenvectors=False)
    )  # fmt: skip


@pytest.mark.quick(8)
@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys_and_derivatives_those_of_differences(name: str) -> None:
    f, p, h = CASES[name], 1.3, 1e-4
    np.testing.assert_allclose(sg.compile(f)(p), f(p), rtol=1e-7, atol=1e-9)
    weights = RNG.normal(size=np.shape(f(p)))
    total = lambda p: np.sum(weights * f(p))  # noqa: E731
    want = (8 * (total(p + h) - total(p - h)) - (total(p + 2 * h) - total(p - 2 * h))) / (12 * h)
    assert sg.grad(total)(p) == pytest.approx(want, rel=1e-5, abs=1e-6)


def test_success_is_told() -> None:
    assert sg.compile(lambda p: sl.cg(p * S, V)[1])(2.0) == 0


def test_refusals() -> None:
    with pytest.raises(UnsupportedError, match="lstsq"):
        sg.compile(lambda p: sl.lsqr(p * A, V)[0])(1.0)
    with pytest.raises(UnsupportedError, match=r"scipy.linalg.eigh"):
        sg.compile(lambda p: sl.eigsh(p * S, 2, M=A)[0])(1.0)
    with pytest.raises(ValueError, match="N, T, or H"):
        sg.compile(lambda p: FACTORS.solve(p * V, "C"))(1.0)


def test_other_factors_are_seen() -> None:
    """In a name, as a method of theirs and in an attribute; and in a loop."""

    class Model:
        def __init__(self, factors: Any) -> None:
            self.factors = factors

    model, solve = Model(sl.splu(A)), sl.factorized(A)
    f = sg.compile(lambda p: model.factors.solve(p * V) + solve(p * V))
    np.testing.assert_allclose(f(2.0), 4 * FACTORS.solve(V), rtol=1e-13)
    model.factors = sl.splu(2 * A)
    np.testing.assert_allclose(f(2.0), 3 * FACTORS.solve(V), rtol=1e-13)
    solve = sl.factorized(4 * A)
    np.testing.assert_allclose(f(2.0), 1.5 * FACTORS.solve(V), rtol=1e-13)
    steps = lambda p: sg.fori_loop(0, 2, lambda _, x: FACTORS.solve(x), p * V)  # noqa: E731
    np.testing.assert_allclose(sg.jacobian(steps)(1.0), FACTORS.solve(FACTORS.solve(V)))


def test_factors_of_plain_numbers_are_scipys() -> None:
    """They are made once, with SciPy's options and attributes."""
    matrix = sp.csc_array(np.diag([4.0, 5.0, 6.0]) + np.eye(3, k=1))
    ours = sg.scipy.sparse.linalg
    factors, want = (lib.splu(matrix, permc_spec="NATURAL") for lib in (ours, sl))
    assert type(factors) is type(want)
    np.testing.assert_array_equal(factors.U.toarray(), want.U.toarray())
    b = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ours.factorized(matrix)(b), want.solve(b))
    J = sg.jacobian(lambda b: factors.solve(b))(b)
    np.testing.assert_allclose(J, np.linalg.inv(matrix.toarray()), atol=1e-12)

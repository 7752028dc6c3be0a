"""Factorisations, systems and determinants of complex matrices: pairs of reals in a last axis.

Each op is the one for real matrices on complex numbers: the same function of NumPy, the same
rules, LAPACK's routine for the other type. Rules work on complex values, and what they are given
and give is a pair of parts: the cotangent of a pair, as a complex number, is the one that rules
for complex matrices are written for.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..op import (
    FLAG,
    ArrayOp,
    Code,
    Composed,
    Evidence,
    Exact,
    NoRule,
    Op,
    Products,
    Routine,
    Ties,
    Words,
    Written,
    define,
)
from . import multiple_precision as exactly
from .determinants import inverse_transpose
from .factorizations import (
    CHOLESKY,
    COMPLEMENT,
    EIGH,
    QR,
    cholesky_factor,
    eigen_pairs,
    orthogonal_complement,
    qr_factors,
    write_cholesky,
    write_complement,
    write_eigh,
    write_qr,
)
from .linear import (
    FACTORS,
    SOLVE,
    TRIANGULAR,
    batched_alike,
    by_factors,
    lu_factors,
    lu_solution,
    no_formula,
    triangular_solution,
    write_lu,
    write_solve,
    write_triangular,
)
from .multiple_precision import in_pairs, vectors_in_pairs
from .np_common import join_pairs, packed
from .operands import Cores
from .singular import PINV, SVD, singular_parts, write_svd


def as_complex(pairs: Any) -> Any:
    """Return the complex numbers of an array with a last axis of two."""
    return np.ascontiguousarray(pairs).view(np.result_type(pairs, 1j))[..., 0]


def as_pairs(z: Any) -> Any:
    """Return complex numbers as reals along a last axis of two."""
    return np.stack((z.real, z.imag), axis=-1)


def _joined(value: Any) -> Any:
    return None if value is None else join_pairs(value)


def _packed(value: Any) -> Any:
    return None if value is None else packed(value)


def complex_twin(
    name: str, real: ArrayOp, lower: Any, doc: str,
    helper: Callable[..., Any] | None = None, convention: str | None = None,
) -> Op:  # fmt: skip
    """Define the op that ``real`` is for complex matrices, in pairs of reals.

    Parameters
    ----------
    name, doc, convention:
        Those of the record; the convention is the real one's if there is none.
    real:
        The op for real matrices, whose shapes, rules and NumPy function are taken.
    lower:
        How the op is computed.
    helper:
        The plain NumPy function that the op's source calls; without one it is the last operand.
    """
    shape, fits, rule, known = real.shape, real.fits, real.products, Evidence.of(real).exact
    assert known is not None
    assert isinstance(fits, Cores)
    vectors = known.vectors and vectors_in_pairs(known.vectors)
    exact = in_pairs(known.compute)

    def evaluate(*operands: Any, **params: Any) -> Any:
        return as_pairs(real.evaluate(*map(as_complex, operands), **params))

    def pulled(ct: Any, y: Any, *operands: Any, **params: Any) -> Any:
        back = rule.vjp(*map(join_pairs, (ct, y, *operands)), **params)
        return tuple(map(_packed, back))

    def pushed(t: Any, y: Any, *operands: Any, **params: Any) -> Any:
        return _packed(rule.jvp(tuple(map(_joined, t)), *map(join_pairs, (y, *operands)), **params))

    def source(*operands: Any, **params: Any) -> str:
        if helper is None:
            return str(operands[-1])
        options = [] if helper is singular_parts else [repr(v) for v in params.values()]
        given = ", ".join([*(f"as_complex({x})" for x in operands), *options])
        return f"as_pairs({helper.__name__}({given}))"

    ties = Ties.of(real).found

    def tied(*values: Any, **params: Any) -> bool:
        assert ties is not None
        return ties(*map(as_complex, values), **params)

    op: ArrayOp = define(
        Routine(name, evaluate=evaluate, params=real.params,
            types=lambda *dtypes, **params: dtypes[-1],
            shape=lambda *shapes, **params: (*shape(*(s[:-1] for s in shapes), **params), 2),
            element=no_formula(doc), rule=Products(pulled, pushed),
            batch=batched_alike(lambda: op), fits=fits.in_pairs()),
        Code(lower, source=source,
            helpers=() if helper is None else (as_complex, as_pairs, helper)),
        Evidence(exact=dataclasses.replace(known, compute=exact, core=3, vectors=vectors)),
        Words(doc, convention=convention or Words.of(real).convention),
        *([] if ties is None else [Ties(tied)]),
    )  # fmt: skip
    return op


COMPLEX_TRIANGULAR = complex_twin(
    "ComplexSolveTriangular", TRIANGULAR, Written(write_triangular, (3, 3, 3), pairs=True),
    "solutions of complex triangular systems, one for each row of the last operand",
    triangular_solution,
)  # fmt: skip
COMPLEX_CHOLESKY = complex_twin(
    "ComplexCholesky", CHOLESKY, Written(write_cholesky, (3, 3), pairs=True),
    "lower triangular factor of Hermitian positive definite matrices",
    cholesky_factor,
    "Hermitian perturbations; nan if a matrix is not positive definite",
)  # fmt: skip
COMPLEX_QR = complex_twin(
    "ComplexQR", QR, Written(write_qr, (3, 3), pairs=True),
    "unitary and triangular factor of complex matrices: Q above the transpose of R",
    qr_factors,
)  # fmt: skip
COMPLEX_COMPLEMENT = complex_twin(
    "ComplexOrthogonalComplement", COMPLEMENT, Written(write_complement, (3, 3), pairs=True),
    "columns of complex Q beyond those of R's size, by Householder's reflections",
    orthogonal_complement,
)  # fmt: skip
COMPLEX_EIGH = complex_twin(
    "ComplexEigh", EIGH, Written(write_eigh, (3, 3), pairs=True),
    "eigenvalues of Hermitian matrices, above the eigenvectors of the transposes as rows",
    eigen_pairs,
    "Hermitian perturbations; vectors do not turn in the complex plane; nan where single ones of "
    "equal eigenvalues, or their vectors, are asked for",
)  # fmt: skip
COMPLEX_SVD = complex_twin(
    "ComplexSVD", SVD, Written(write_svd, (3, 2), pairs=True),
    "singular values and vectors of complex matrices: U, s and the adjoint of V, one behind the "
    "other", singular_parts,
    "columns of U do not turn in the complex plane; nan where single ones of equal values, or "
    "their vectors, are asked for",
)  # fmt: skip
COMPLEX_PINV = complex_twin(
    "ComplexPseudoInverse", PINV, Composed(lambda a, value: value),
    "a complex pseudo-inverse that is known, with its derivative by the matrix",
)  # fmt: skip


def complex_lu_factors(a: Any) -> Any:
    """LU factors of complex matrices, transposed; last the row exchanges, as numbers of rows."""
    return as_pairs(lu_factors(as_complex(a)))


COMPLEX_LU: ArrayOp = define(
    Routine("ComplexLU", evaluate=complex_lu_factors,
        shape=lambda a: (*a[:-3], a[-2] + 1, a[-2], 2), element=no_formula("an LU factorisation"),
        rule=NoRule(FACTORS), batch=batched_alike(lambda: COMPLEX_LU), fits=Cores("n n 2")),
    Code(Written(write_lu, (3, 3), pairs=True), source=lambda a: f"complex_lu_factors({a})",
        helpers=(complex_lu_factors,)),
    Words("LU factorisation of complex matrices, for solutions and determinants"),
)  # fmt: skip


def complex_lu_solution(a: Any, factors: Any, b: Any, trans: bool) -> Any:
    """Solve ``a x = b``, or with the transpose of ``a``, for each row b."""
    return lu_solution(factors, b, trans)


def complex_by_factors(factors: Any, b: Any, trans: bool) -> Any:
    """Solve with a matrix of these factors, or with its transpose, for each row b."""
    return as_pairs(lu_solution(as_complex(factors), as_complex(b), trans))


COMPLEX_BY_FACTORS = by_factors(
    "ComplexSolveByFactors", complex_by_factors, Written(write_solve, (3, 3, 3), pairs=True),
    {"trans": FLAG}, Cores("n+1 n 2", "k n 2"),
)  # fmt: skip
COMPLEX_SOLVE = complex_twin(
    "ComplexSolve", SOLVE,
    Composed(lambda a, factors, b, trans: COMPLEX_BY_FACTORS(factors, b, trans=trans)),
    "solutions of complex systems, one for each row of the last operand, by LU factors",
    complex_lu_solution,
)  # fmt: skip


def log_pivots(factors: Any) -> Any:
    """Return logarithm and angle of determinants: sums over the pivots."""
    pivots = np.diagonal(factors[..., :-1, :, :], axis1=-3, axis2=-2)
    real, imag = pivots[..., 0, :], pivots[..., 1, :]
    odd = np.sum(factors[..., -1, :, 0] != 0, axis=-1) % 2
    angle = np.sum(np.arctan2(imag, real), axis=-1) + np.pi * odd
    size = np.sum(np.log(np.hypot(real, imag)), axis=-1)
    return np.stack((size, angle), axis=-1).astype(factors.dtype)


def _inverse_parts(a: Any, factors: Any) -> tuple[Any, Any]:
    """Return the transposes of the real and the imaginary part of inverses."""
    found = inverse_transpose(join_pairs(a), join_pairs(factors))
    return found.real, found.imag


def _log_vjp(ct: Any, y: Any, a: Any, factors: Any) -> Any:
    p, q = _inverse_parts(a, factors)
    size, angle = (ct[..., k][..., None, None] for k in (0, 1))
    return np.stack([size * p + angle * q, angle * p - size * q], axis=-1), None


def _log_jvp(t: Any, y: Any, a: Any, factors: Any) -> Any:
    p, q = _inverse_parts(a, factors)
    real, imag = t[0][..., 0], t[0][..., 1]
    size = np.sum(p * real - q * imag, axis=(-2, -1))
    return np.stack([size, np.sum(q * real + p * imag, axis=(-2, -1))], axis=-1)


COMPLEX_LOG_DET: ArrayOp = define(
    Routine("ComplexLogDet", evaluate=lambda a, factors: log_pivots(factors),
        shape=lambda a, factors: (*a[:-3], 2), element=no_formula("a determinant"),
        rule=Products(_log_vjp, _log_jvp), batch=batched_alike(lambda: COMPLEX_LOG_DET),
        fits=Cores("n n 2", "n+1 n 2")),
    Code(Composed(lambda a, factors: log_pivots(factors)),
        source=lambda a, factors: f"log_pivots({factors})", helpers=(log_pivots,)),
    Evidence(exact=Exact(exactly.complex_log_determinant, core=3)),
    Words("logarithm of a complex determinant's absolute value, and its angle, from LU factors",
        convention="the derivative at a singular matrix is nan"),
)  # fmt: skip


# ---------------------------------------------------------------- for numpy.linalg


def log_det(z: Any) -> tuple[Any, Any]:
    """Return the logarithm of the absolute value of determinants, and their angle."""
    pairs = np.stack([z.real, z.imag], axis=-1)
    found = COMPLEX_LOG_DET(pairs, COMPLEX_LU(pairs))
    return found[..., 0], found[..., 1]


def det_parts(z: Any) -> tuple[Any, Any]:
    """Return the parts of determinants."""
    size, angle = log_det(z)
    return np.exp(size) * np.cos(angle), np.exp(size) * np.sin(angle)


def sign_parts(z: Any) -> tuple[Any, Any]:
    """Return the parts of determinants divided by their absolute values; 0 for 0."""
    size, angle = log_det(z)
    some = size != -math.inf
    return np.where(some, np.cos(angle), 0.0), np.where(some, np.sin(angle), 0.0)

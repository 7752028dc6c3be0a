"""Systems and determinants of complex matrices, pairs of reals along a last axis of two.

Factors and solutions are LAPACK's for complex numbers, and rules those of real matrices on
complex values. Of a determinant the logarithm of the absolute value and the angle are summed
over the pivots.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._op import (
    ArrayOp,
    Code,
    Composed,
    Evidence,
    Exact,
    NoRule,
    Products,
    Routine,
    Words,
    Written,
    define,
)
from . import exactly
from .complex_factorizations import as_complex, as_pairs, complex_twin
from .determinants import inverse_transpose
from .linear import (
    FACTORS,
    SOLVE,
    batched_alike,
    lu_factors,
    lu_solution,
    no_formula,
    write_lu,
    write_solve,
)
from .np_common import join_pairs
from .operands import Cores


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


COMPLEX_SOLVE = complex_twin(
    "ComplexSolve", SOLVE, Written(write_solve, (3, 3, 3, 3), pairs=True),
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

"""Determinants of matrices from their LU factors: sign, logarithm, and the number itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from .._op import (
    ArrayOp,
    Code,
    Composed,
    Evidence,
    Exact,
    NoRule,
    Op,
    Products,
    Routine,
    Words,
    define,
)
from . import exactly
from .linear import SOLVE, batched_alike, no_formula, of_matrix, unit_like
from .operands import Cores


def _det_reading(index: Any, a: Any, factors: Any) -> Any:
    return of_matrix("Det", a, index)


def lu_sign(factors: Any) -> Any:
    """Return the sign of the determinant: exchanges and negative pivots."""
    exchanged = factors[..., -1, :] != 0
    pivots = np.diagonal(factors[..., :-1, :], axis1=-2, axis2=-1)
    odd = (np.sum(exchanged, axis=-1) + np.sum(pivots < 0, axis=-1)) % 2
    some = np.all(pivots != 0, axis=-1)
    sign = np.where(some, 1.0 - 2.0 * odd, 0.0)
    return np.where(np.any(np.isnan(pivots), axis=-1), np.nan, sign).astype(factors.dtype)


def lu_logarithm(factors: Any) -> Any:
    """Return the logarithm of the determinant's absolute value."""
    pivots = np.diagonal(factors[..., :-1, :], axis1=-2, axis2=-1)
    return np.sum(np.log(np.abs(pivots)), axis=-1)


def lu_determinant(factors: Any) -> Any:
    """Return the determinant."""
    exchanged = factors[..., -1, :] != 0
    pivots = np.diagonal(factors[..., :-1, :], axis1=-2, axis2=-1)
    odd = np.sum(exchanged, axis=-1) % 2
    return (np.prod(pivots, axis=-1) * (1.0 - 2.0 * odd)).astype(factors.dtype)


def inverse_transpose(a: Any, factors: Any) -> Any:
    """Return the transposes of the inverses of matrices."""
    return SOLVE(a, factors, unit_like(a), trans=False)


def _determinant(name: str, formula: Any, slope: Any, exact: Any, words: Words) -> Op:
    """Define a number of a matrix that is computed from its factors; ``a`` gets the slope."""

    def vjp(ct: Any, y: Any, a: Any, factors: Any) -> Any:
        return ct[..., None, None] * slope(y, a, factors), None

    def jvp(t: Any, y: Any, a: Any, factors: Any) -> Any:
        return np.sum(t[0] * slope(y, a, factors), axis=(-2, -1))

    op: ArrayOp = define(
        Routine(name, evaluate=lambda a, factors: np.asarray(formula(factors)),
            shape=lambda a, factors: a[:-2], element=no_formula("a determinant"),
            rule=NoRule("piecewise constant") if slope is None else Products(vjp, jvp, aside=(1,)),
            batch=batched_alike(lambda: op), fits=Cores("n n", "n+1 n")),
        Code(Composed(lambda a, factors: formula(factors)),
            source=lambda a, factors: f"{formula.__name__}({factors})", helpers=(formula,)),
        Evidence(exact=Exact(exact)),
        words,
    )  # fmt: skip
    return op


DET = _determinant(
    "Det", lu_determinant,
    lambda y, a, factors: y[..., None, None] * inverse_transpose(a, factors), exactly.determinant,
    Words("determinant, from LU factors", reading=_det_reading,
        convention="the derivative at a singular matrix is nan"),
)  # fmt: skip


LOG_DET = _determinant(
    "LogAbsDet", lu_logarithm, lambda y, a, factors: inverse_transpose(a, factors),
    exactly.log_determinant,
    Words("logarithm of the determinant's absolute value, from LU factors",
        reading=lambda index, a, factors: of_matrix("LogAbsDet", a, index),
        convention="the derivative at a singular matrix is nan"),
)  # fmt: skip


SIGN_DET = _determinant(
    "SignDet", lu_sign, None, exactly.sign_determinant,
    Words("sign of the determinant, from LU factors",
        reading=lambda *args: sp.sign(_det_reading(*args))),
)  # fmt: skip

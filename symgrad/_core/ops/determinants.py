"""Determinants of matrices from their LU factors: sign, logarithm, and the number itself.

The derivative of a determinant is the matrix of cofactors, that of the cofactors is linear in the
change, and both exist at singular matrices too.

Source: G. W. Stewart, On the adjugate matrix, Linear Algebra and its Applications 283, 1998.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..op import (
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
from . import multiple_precision as exactly
from .linear import LU, SOLVE, adjoint, batched_alike, no_formula, of_matrix, unit_like
from .movement import is_single
from .operands import Cores
from .singular import SVD, svd_parts


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


# ---------------------------------------------------------------- cofactors

#: What stands for a pivot that is zero, relative to the matrix, in units of rounding.
NUDGE = 2.0**-8


def _by_elimination(a: Any, factors: Any) -> Any:
    """Return the determinant times the inverse, transposed.

    A cofactor is linear in each pivot, so one far below rounding may stand for one that is zero.
    """
    if is_single(a.shape[-1]):
        return np.ones_like(a)
    size = np.abs(a)
    for _ in range(2 if 0 not in a.shape else 0):
        size = np.max(size, axis=-1)
    least = np.where(size == 0, 1.0, size) * (NUDGE * float(np.finfo(a.dtype).eps))
    one = unit_like(a)
    pivots = np.concatenate([one, 0.0 * one[..., :1, :]], axis=-2) != 0
    other = np.where(pivots & (factors == 0), least[..., None, None], factors)
    found = lu_determinant(other)[..., None, None] * inverse_transpose(a, other)
    return np.where((size == 0)[..., None, None], 0.0, found)


def _others(one: Any, s: Any) -> Any:
    """Return the products of all but two singular values, 0 for twice the same."""
    left_out = (one[..., :, :, None] + one[..., :, None, :]) != 0
    both = np.prod(np.where(left_out, 1.0, s[..., :, None, None]), axis=-3)
    return both * (1.0 - one)


def _changed(one: Any, u: Any, s: Any, vh: Any, sign: Any, e: Any) -> Any:
    """Return the derivative of the cofactors of ``u @ diag(s) @ vh`` along ``e``."""
    inner = adjoint(u) @ e @ adjoint(vh)
    both = _others(one, s)
    own = np.sum(both * np.diagonal(inner, axis1=-2, axis2=-1)[..., None, :], axis=-1)
    turned = one * own[..., None, :] - both * np.swapaxes(inner, -1, -2)
    return sign[..., None, None] * (u @ turned @ vh)


def cofactors(a: Any) -> Any:
    """Return the cofactors of matrices."""
    if a.shape[-1] < 2:
        return np.ones_like(a)
    u, s, vh = np.linalg.svd(a)
    rest = np.where(np.eye(a.shape[-1]) != 0, 1.0, s[..., None, :]).prod(axis=-1)
    sign = np.rint(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return (sign * ((u * rest[..., None, :]) @ vh)).astype(a.dtype)


def cofactor_change(a: Any, e: Any) -> Any:
    """Return the derivative of the cofactors of matrices along ``e``."""
    u, s, vh = np.linalg.svd(a)
    one, sign = np.eye(a.shape[-1]), np.linalg.det(u) * np.linalg.det(vh)
    left_out = (one[:, :, None] + one[:, None, :]) != 0
    both = np.where(left_out, 1.0, s[..., :, None, None]).prod(axis=-3) * (1.0 - one)
    inner = np.swapaxes(u, -1, -2) @ e @ np.swapaxes(vh, -1, -2)
    own = (both * np.diagonal(inner, axis1=-2, axis2=-1)[..., None, :]).sum(axis=-1)
    turned = one * own[..., None, :] - both * np.swapaxes(inner, -1, -2)
    return (np.rint(sign)[..., None, None] * (u @ turned @ vh)).astype(a.dtype)


def _change_of(a: Any, factors: Any, e: Any) -> Any:
    n = a.shape[-1]
    u, s, vh = svd_parts(SVD(a, wide=False, full=False), n, n, n, False)
    sign = lu_sign(LU(u)) * lu_sign(LU(vh))
    return _changed(unit_like(a), u, s, vh, sign, e)


def _along(a: Any, factors: Any, e: Any) -> Any:
    return COFACTOR_CHANGE(a, factors, e)


COFACTORS: ArrayOp = define(
    Routine("Cofactors", evaluate=lambda a, factors: cofactors(a), shape=lambda a, factors: a,
        element=no_formula("a cofactor"),
        rule=Products(lambda ct, y, a, factors: (_along(a, factors, ct), None),
            lambda t, y, a, factors: _along(a, factors, t[0]), aside=(1,)),
        batch=batched_alike(lambda: COFACTORS), fits=Cores("n n", "n+1 n")),
    Code(Composed(_by_elimination), source=lambda a, factors: f"cofactors({a})",
        helpers=(cofactors,)),
    Evidence(exact=Exact(exactly.cofactors)),
    Words("cofactors of matrices, the derivative of their determinants"),
)  # fmt: skip


def _second(a: Any, factors: Any, e: Any, y: Any, f: Any) -> Any:
    """Return the derivative of a change ``y`` along ``e`` by the matrix, along ``f``.

    That is of ``(sum(c*e)*c - c @ e.T @ c)/det``, for cofactors c: the third derivative of the
    determinant, which is symmetric in e and f. Near singular matrices it is computed from
    singular values instead, whose products have no quotient.
    """

    def inner(p: Any, q: Any) -> Any:
        return np.sum(p * q, axis=(-2, -1))[..., None, None]

    n = a.shape[-1]
    if 0 in a.shape:
        return np.zeros_like(a)
    u, s, vh = svd_parts(SVD(a, wide=False, full=False), n, n, n, False)
    sign = lu_sign(LU(u)) * lu_sign(LU(vh))
    singular = s[..., -1] <= float(np.finfo(a.dtype).eps) ** 0.25 * s[..., 0]
    det = np.where(singular, 1.0, DET(a, factors))[..., None, None]
    c, moved, et = COFACTORS(a, factors), _along(a, factors, f), np.swapaxes(e, -1, -2)
    total = inner(moved, e) * c + inner(c, e) * moved - moved @ et @ c - c @ et @ moved
    regular = (total - inner(c, f) * y) / det
    both = _twice_changed(unit_like(a), u, s, vh, sign, e, f)
    return np.where(singular[..., None, None], both, regular)


def _twice_changed(one: Any, u: Any, s: Any, vh: Any, sign: Any, e: Any, f: Any) -> Any:
    """Return the second derivative of the cofactors of ``u @ diag(s) @ vh`` along e and f.

    The third derivative of a determinant, at a diagonal matrix, is the sum over three different
    rows i, j, k of the determinant of the rows i of a first change, j of a second, k of a third one
    within these columns, times the product of all other elements.
    """
    m, n = (adjoint(u) @ x @ adjoint(vh) for x in (e, f))
    i, j, k = one[..., :, :, None, None], one[..., :, None, :, None], one[..., :, None, None, :]
    rest = np.prod(np.where((i + j + k) != 0, 1.0, s[..., :, None, None, None]), axis=-4)
    same = one[..., :, :, None] + one[..., :, None, :] + one[..., None, :, :]
    rest = np.where(same != 0, 0.0, rest)
    p, q = (np.diagonal(x, axis1=-2, axis2=-1) for x in (m, n))
    own = np.einsum("...ijk,...i,...j->...k", rest, p, q)
    own = own - np.einsum("...ijk,...ij,...ji->...k", rest, m, n)
    found = one * own[..., None, :]
    for x, d, z in ((m, p, n), (n, q, m)):
        cycle = np.einsum("...ijk,...ik,...ji->...kj", rest, x, z)
        found = found + cycle - np.einsum("...ijk,...i,...jk->...kj", rest, d, z)
    return sign[..., None, None] * (u @ found @ vh)


def _change_vjp(ct: Any, y: Any, a: Any, factors: Any, e: Any) -> Any:
    return _second(a, factors, e, y, ct), None, _along(a, factors, ct)


def _change_jvp(t: Any, y: Any, a: Any, factors: Any, e: Any) -> Any:
    terms = []
    if t[0] is not None:
        terms.append(_second(a, factors, e, y, t[0]))
    if t[2] is not None:
        terms.append(_along(a, factors, t[2]))
    return sum(terms[1:], start=terms[0])


COFACTOR_CHANGE: ArrayOp = define(
    Routine("CofactorChange", evaluate=lambda a, factors, e: cofactor_change(a, e),
        types=lambda a, factors, e: a, shape=lambda a, factors, e: a,
        element=no_formula("a cofactor"), rule=Products(_change_vjp, _change_jvp, aside=(1,)),
        batch=batched_alike(lambda: COFACTOR_CHANGE), fits=Cores("n n", "n+1 n", "n n")),
    Code(Composed(_change_of), source=lambda a, factors, e: f"cofactor_change({a}, {e})",
        helpers=(cofactor_change,)),
    Evidence(exact=Exact(exactly.cofactor_change, reads=(0, 2))),
    Words("derivative of cofactors along the last operand, the second one of determinants",
        convention="its own second derivative by a singular matrix is nan"),
)  # fmt: skip


DET = _determinant(
    "Det", lu_determinant, lambda y, a, factors: COFACTORS(a, factors), exactly.determinant,
    Words("determinant, from LU factors", reading=_det_reading),
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

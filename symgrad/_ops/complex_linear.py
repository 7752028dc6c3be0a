"""Determinants of complex matrices, which are pairs of reals along a last axis of two.

The real matrix ``[[A, -B], [B, A]]`` has the square of the determinant's absolute value, and
not its angle, so the pivots come from LAPACK's complex factorisation. Derivatives go through
the inverse of the real matrix.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .._op import Composed, Exact, Op, Routine, define_array
from . import exactly
from .linear import FACTORS, LU, batched_alike, inverse_transpose, no_formula


def complex_lu_factors(a: Any) -> Any:
    """LU factors of complex matrices, transposed; last the row exchanges, as numbers of rows."""
    z = np.ascontiguousarray(a).view(np.result_type(a, 1j))[..., 0]
    n = z.shape[-1]
    out = np.zeros((*z.shape[:-2], n + 1, n), z.dtype)
    getrf = lapack.cgetrf if z.dtype == np.complex64 else lapack.zgetrf
    for k in np.ndindex(z.shape[:-2]):
        if n:
            factors, exchanges, _ = getrf(z[k].T)
            out[k][:n], out[k][n] = factors.T, exchanges - np.arange(n)
    return np.stack((out.real, out.imag), axis=-1)


def _write_lu(r: Any) -> None:
    a, out = r.pointers
    n = r.shapes[0][0]
    r.copy(out, a, n * n)
    exchanges, info = r.work(n, "i32"), r.cell("i32", "0")
    r.call("getrf", r.integer(n), r.integer(n), out, r.leading(n), exchanges, info)
    last = r.at(out, r.size(n * n))

    def convert(i: str) -> None:
        k = r.e.op(f"load i32, ptr {r.at(exchanges, i, 'i32')}")
        row = r.e.op(f"add i32 {r.e.op(f'trunc i64 {i} to i32')}, 1")
        number = r.e.op(f"sitofp i32 {r.e.op(f'sub i32 {k}, {row}')} to {r.kind}")
        pair = f"insertvalue {r.element} {r.filled(0.0)}, {r.kind} {number}, 0"
        r.put(r.e.op(pair), last, i)

    r.loop(r.size(n), convert)


COMPLEX_LU: Op = define_array(
    "ComplexLU",
    "routine",
    complex_lu_factors,
    doc="LU factorisation of complex matrices, for determinants",
    shape=lambda a: (*a[:-3], a[-2] + 1, a[-2], 2),
    element=no_formula("an LU factorisation"),
    reason=FACTORS,
    batch=batched_alike(lambda: COMPLEX_LU),
    lower=Routine(_write_lu, (3, 3), pairs=True),
    source=lambda a: f"complex_lu_factors({a})",
    helpers=(complex_lu_factors,),
)


def log_pivots(factors: Any) -> Any:
    """Return logarithm and angle of determinants: sums over the pivots."""
    pivots = np.diagonal(factors[..., :-1, :, :], axis1=-3, axis2=-2)
    real, imag = pivots[..., 0, :], pivots[..., 1, :]
    odd = np.sum(factors[..., -1, :, 0] != 0, axis=-1) % 2
    angle = np.sum(np.arctan2(imag, real), axis=-1) + np.pi * odd
    size = np.sum(np.log(np.hypot(real, imag)), axis=-1)
    return np.stack((size, angle), axis=-1).astype(factors.dtype)


def _inverse_parts(a: Any) -> tuple[Any, Any]:
    """Return the transposes of the real and the imaginary part of inverses."""
    real, imag = a[..., 0], a[..., 1]
    n = real.shape[-1]
    upper = np.concatenate([real, -imag], axis=-1)
    whole = np.concatenate([upper, np.concatenate([imag, real], axis=-1)], axis=-2)
    found = inverse_transpose(whole, LU(whole))
    return found[..., :n, :n], found[..., :n, n:]


def _log_vjp(ct: Any, y: Any, a: Any, factors: Any) -> Any:
    p, q = _inverse_parts(a)
    size, angle = (ct[..., k][..., None, None] for k in (0, 1))
    return np.stack([size * p + angle * q, angle * p - size * q], axis=-1), None


def _log_jvp(t: Any, y: Any, a: Any, factors: Any) -> Any:
    p, q = _inverse_parts(a)
    real, imag = t[0][..., 0], t[0][..., 1]
    size = np.sum(p * real - q * imag, axis=(-2, -1))
    return np.stack([size, np.sum(q * real + p * imag, axis=(-2, -1))], axis=-1)


COMPLEX_LOG_DET: Op = define_array(
    "ComplexLogDet",
    "routine",
    lambda a, factors: log_pivots(factors),
    doc="logarithm of a complex determinant's absolute value, and its angle, from LU factors",
    shape=lambda a, factors: (*a[:-3], 2),
    element=no_formula("a determinant"),
    exact=Exact(exactly.complex_log_determinant, core=3),
    vjp=_log_vjp,
    jvp=_log_jvp,
    batch=batched_alike(lambda: COMPLEX_LOG_DET),
    lower=Composed(lambda a, factors: log_pivots(factors)),
    source=lambda a, factors: f"log_pivots({factors})",
    helpers=(log_pivots,),
    convention="the derivative at a singular matrix is nan",
)


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

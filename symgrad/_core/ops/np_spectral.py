"""Singular values, eigenvalues, and what is made of them; the exponential of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ShapeError
from ..base.providers import provided
from ..base.scipy_names import linalg
from ..op import composite, refuse
from .eigenvalues import CONVENTION, general_eigen
from .factorizations import EIGH
from .linear import adjoint, swapped, unit_like
from .np_common import abs_square, as_array, as_float, conjugated, equal, is_traced
from .np_linalg import (
    SYMMETRIC,
    cholesky_factor,
    matrix,
    solve_triangular,
    symmetric_of,
    whole_of,
)
from .np_reductions import largest
from .singular import PINV, SVD, svd_parts

# ---------------------------------------------------------------- singular values

_SVDResult = type(np.linalg.svd(np.eye(1)))
_SINGULAR_VALUES = "nan where vectors of equal singular values are asked for, other than in sums"


def _svd(x: Any, full: bool = False) -> tuple[Any, Any, Any]:
    # Of the transpose, which LAPACK sees as the matrix itself: with the signs of NumPy.
    m, n = x.shape[-2:]
    tall = bool(m > n)
    flat = SVD(swapped(x), wide=tall, full=full)
    v, s, uh = svd_parts(flat, n, m, n if tall else m, full)
    return swapped(uh), s, swapped(v)


def _read(a: Any, name: str, hermitian: bool) -> Any:
    """Return what NumPy reads of a matrix: of one that is called Hermitian the lower triangle."""
    return whole_of(matrix(a, name), lower=True) if hermitian else matrix(a, name, square=False)


@composite(np.linalg.svd, convention=_SINGULAR_VALUES)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True,
        hermitian: bool = False) -> Any:  # fmt: skip
    """Singular values and vectors."""
    x = _read(a, "svd", hermitian)
    full = bool(compute_uv and full_matrices) and not equal(*x.shape[-2:])
    u, s, vh = _svd(x, full)
    return _SVDResult(u, s, vh) if compute_uv else s


@composite(np.linalg.svdvals, linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    """Singular values."""
    return _svd(matrix(x, "svdvals", square=False))[1]


@composite(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """Condition number, in any norm."""
    x = matrix(x, "cond", square=False)
    if 0 in x.shape[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p in {None, 2, -2}:
        s = _svd(x)[1]
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


def _cutoff(x: Any, s: Any, rtol: Any) -> Any:
    """The least singular value that counts, as NumPy has it."""
    m, n = x.shape[-2:]
    eps = float(np.finfo(x.dtype).eps)
    rtol = (max(n, m)) * eps if rtol is None else rtol
    return largest(s, axis=-1, keepdims=True) * as_array(rtol)[..., None]


@composite(np.linalg.matrix_rank, differentiable=False)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values are not negligible."""
    x = _read(A, "matrix_rank", hermitian)
    s = _svd(x)[1]
    least = as_array(tol)[..., None] if tol is not None else _cutoff(x, s, rtol)
    return np.sum(s > least, axis=-1)


# ---------------------------------------------------------------- pseudo-inverse, least squares


def _pinv(x: Any, rtol: Any) -> tuple[Any, Any, Any]:
    """Return the pseudo-inverse, the singular values and which of them count."""
    u, s, vh = _svd(x)
    counts = s > _cutoff(x, s, rtol)
    inverse = np.where(counts, 1.0 / np.where(counts, s, 1.0), 0.0)
    value = adjoint(vh) @ (inverse[..., :, None] * adjoint(u))
    return PINV(x, value) if is_traced(value) else value, s, counts


@composite(np.linalg.pinv, convention="the rank stays what it is")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Pseudo-inverse of matrices."""
    x = _read(a, "pinv", hermitian)
    given = rcond if rcond is not None else rtol if is_number(rtol) else 1e-15
    return _pinv(x, given)[0]


def is_number(value: Any) -> bool:
    """Tell whether an option was given as a number."""
    return value is not None and value is not np._NoValue


@composite(np.linalg.lstsq, convention="the rank stays what it is; residuals as if it were full")
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Least squares: solution, residuals, rank, singular values."""
    x, y = matrix(a, "lstsq", square=False), as_float(as_array(b))
    if rcond is not None:  # below zero LAPACK's own
        rcond = np.where(as_array(rcond) < 0, float(np.finfo(x.dtype).eps), rcond)
    inverse, s, counts = _pinv(x, rcond)
    solution = inverse @ y
    m, n = x.shape[-2:]
    rest = y - x @ solution
    residuals = np.sum(abs_square(rest), axis=0) if m > n else np.zeros(0, s.dtype)
    if y.ndim == 1 and m > n:
        residuals = np.reshape(residuals, (1,))
    return solution, residuals, np.sum(counts).astype(np.int32), s


@composite(linalg.pinv, name="scipy.linalg.pinv", convention="the rank stays what it is")
def scipy_pinv(a: Any, *, atol: None = None, rtol: Any = None, return_rank: bool = False,
               check_finite: bool = True) -> Any:  # fmt: skip
    """Pseudo-inverse of a matrix."""
    if atol is not None:
        refuse(linalg.pinv, "atol=: give rtol=")
    inverse, _, counts = _pinv(matrix(a, "pinv", square=False), rtol)
    return (inverse, np.sum(counts)) if return_rank else inverse


@composite(linalg.svd, name="scipy.linalg.svd", convention=_SINGULAR_VALUES)
def scipy_svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """Singular values and vectors."""
    found = svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


# ---------------------------------------------------------------- eigenvalues of general matrices


_EigResult = type(np.linalg.eig(np.eye(1)))
_COMPLEX = f"always complex; {CONVENTION}"


@composite(
    np.linalg.eig, convention=f"{_COMPLEX}; vectors of length 1 with a real largest component"
)
def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors of general matrices."""
    return _EigResult(*general_eigen(matrix(a, "eig")))


@composite(np.linalg.eigvals, convention=_COMPLEX)
def eigvals(a: Any) -> Any:
    """Eigenvalues of general matrices."""
    return general_eigen(matrix(a, "eigvals"))[0]


@composite(linalg.eig, name="scipy.linalg.eig", convention=_COMPLEX)
def scipy_eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    """Eigenvalues and right eigenvectors of general matrices."""
    if b is not None or left or homogeneous_eigvals:
        refuse(linalg.eig, "with b=, left= or homogeneous_eigvals=: left eigenvectors are the "
               "rows of the inverse of the right ones; with b=, eigh(a, b) is for symmetric a and "
               "positive definite b, eig(solve(b, a)) for others, in another order")  # fmt: skip
    w, v = general_eigen(matrix(a, "eig"))
    return (w, v) if right else w


@composite(linalg.eigvals, name="scipy.linalg.eigvals", convention=_COMPLEX)
def scipy_eigvals(a: Any, b: Any = None, **options: Any) -> Any:
    """Eigenvalues of general matrices."""
    return scipy_eig(a, b, right=False, **options)


@composite(np.roots, convention=f"{_COMPLEX}, and if the first coefficient is 0")
def roots(p: Any) -> Any:
    """Zeros of a polynomial with given coefficients, from the highest power down."""
    c = as_float(as_array(p))
    if c.ndim != 1:
        raise ShapeError(f"roots takes a vector of coefficients, not an array of {c.ndim} axes")
    n = int(c.shape[0]) - 1
    if n < 1:
        return np.zeros(0, np.result_type(c.dtype, 1j))
    below = np.eye(n, dtype=c.real.dtype)[:-1]
    return eigvals(np.concatenate([-(c[1:] / c[0])[None], below]))


# ---------------------------------------------------------------- eigenvalues of symmetric matrices

_EighResult = type(np.linalg.eigh(np.eye(1)))

_TURNED = f"{SYMMETRIC}; nan where vectors of equal eigenvalues are asked for, other than in sums"


def _triangle_of(a: Any, uplo: str, name: str) -> Any:
    # LAPACK sees rows as columns: what NumPy computes of the lower triangle, bit for bit.
    x = symmetric_of(matrix(a, name), uplo in ("L", "l"))
    return conjugated(x) if uplo in ("U", "u") else swapped(x)


@composite(np.linalg.eigh, convention=_TURNED)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and eigenvectors of symmetric matrices."""
    both = EIGH(_triangle_of(a, UPLO, "eigh"))
    return _EighResult(both[..., 0, :].real, swapped(both[..., 1:, :]))


@composite(np.linalg.eigvalsh, convention=SYMMETRIC)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of symmetric matrices."""
    return EIGH(_triangle_of(a, UPLO, "eigvalsh"))[..., 0, :].real


@composite(linalg.eigh, name="scipy.linalg.eigh", convention=_TURNED)
def scipy_eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    subset_by_index: Any = None, driver: Any = None,
) -> Any:  # fmt: skip
    """Eigenvalues and eigenvectors of symmetric matrices, also with ``b`` on the right."""
    if subset_by_index is not None:
        first, last = map(int, subset_by_index)
        if not 0 <= first <= last < matrix(a, "eigh").shape[-1]:
            raise ValueError(f"eigenvalues {first} to {last} are not within the matrix's")
        w, v = scipy_eigh(a, b, lower)
        part = slice(first, last + 1)
        return w[..., part] if eigvals_only else (w[..., part], v[..., part])
    uplo = "L" if lower else "U"
    if b is None:
        w, v = eigh(a, uplo)
        return w if eigvals_only else (w, v)
    # With b = L L' they are those of inv(L) a inv(L'), whose vectors are L' times these.
    factor = cholesky_factor(b, lower)
    factor = factor if lower else adjoint(factor)
    x = matrix(a, "eigh")
    whole = whole_of(x, lower)
    half = solve_triangular(factor, whole, lower=True)
    w, v = eigh(solve_triangular(factor, adjoint(half), lower=True))
    return w if eigvals_only else (w, solve_triangular(factor, v, trans="C", lower=True))


@composite(linalg.eigvalsh, name="scipy.linalg.eigvalsh", convention=SYMMETRIC)
def scipy_eigvalsh(a: Any, b: Any = None, lower: bool = True, **options: Any) -> Any:
    """Eigenvalues of symmetric matrices."""
    return scipy_eigh(a, b, lower, eigvals_only=True, **options)


# ---------------------------------------------------------------- exponential

#: Coefficients of the Padé approximant of degree 13 and the norm up to which it is exact.
_PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
         129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
         40840800.0, 960960.0, 16380.0, 182.0, 1.0)  # fmt: skip
_PADE_NORM = 5.371920351148152
#: The most squarings: norms up to 5.37 * 2**16 are covered.
SQUARINGS = 16


def _squared(y: Any, times: Any) -> Any:
    """Square matrices, each so many times."""

    def square(k: Any, y: Any) -> Any:
        return np.where(times > k, y @ y, y)

    most = np.minimum(np.max(times), SQUARINGS).astype(np.int64)
    return provided("fori_loop", 0, most, square, y)


@composite(linalg.expm, convention="nan for matrices of norm above 350000")
def expm(A: Any) -> Any:
    """Exponential of matrices, by scaling and squaring (Higham, SIAM J. Matrix Anal. 26, 2005)."""
    a = matrix(A, "expm")
    if 0 in a.shape:
        return np.exp(a)
    norm = np.max(np.sum(np.abs(a), axis=-2), axis=-1)[..., None, None]
    with_squares = np.ceil(np.log2(np.maximum(norm, _PADE_NORM) / _PADE_NORM))
    x = a * np.exp2(-with_squares)
    one = unit_like(a)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    b = _PADE
    odd = x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2)
    odd = x @ (odd + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    even = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2)
    even = even + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    y = np.linalg.solve(even - odd, even + odd)
    y = _squared(y, with_squares)
    return np.where(with_squares > SQUARINGS, np.nan, y)

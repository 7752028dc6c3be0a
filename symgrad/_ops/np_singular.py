"""Singular values and what is made of them: norms, ranks, pseudo-inverses, least squares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._late import linalg
from .._op import composite, refuse
from .linear import adjoint, swapped
from .np_common import Sample, abs_square, as_array, as_float, equal, is_traced
from .np_linalg import matrix
from .np_reductions import largest
from .singular import PINV, SVD, svd_parts

# ---------------------------------------------------------------- singular values

_SVDResult = type(np.linalg.svd(np.eye(1)))
_SINGULAR_VALUES = "no share of what turns vectors of equal singular values"


def _svd(x: Any) -> tuple[Any, Any, Any]:
    # Of the transpose, which LAPACK sees as the matrix itself: with the signs of NumPy.
    m, n = x.shape[-2:]
    tall = bool(m > n)
    v, s, uh = svd_parts(SVD(swapped(x), wide=tall), n, m, n if tall else m)
    return swapped(uh), s, swapped(v)


def _rectangles(*calls: dict[str, Any]) -> Any:
    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2)):
            for call in calls:
                yield (rng.standard_normal(shape),), call

    return samples


@composite(np.linalg.svd, samples=_rectangles({"full_matrices": False}, {"compute_uv": False}),
           convention=_SINGULAR_VALUES)  # fmt: skip
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True,
        hermitian: bool = False) -> Any:  # fmt: skip
    """Singular values and vectors."""
    x = matrix(a, "svd", square=False)
    if compute_uv and full_matrices and not equal(*x.shape[-2:]):
        refuse(np.linalg.svd, "full_matrices=True has columns without a derivative: write "
               "np.linalg.svd(x, full_matrices=False)")  # fmt: skip
    u, s, vh = _svd(x)
    return _SVDResult(u, s, vh) if compute_uv else s


@composite(np.linalg.svdvals, linalg.svdvals, samples=_rectangles({}))
def svdvals(x: Any, /) -> Any:
    """Singular values."""
    return _svd(matrix(x, "svdvals", square=False))[1]


@composite(np.linalg.cond, samples=_rectangles({}, {"p": 2}, {"p": -2}))
def cond(x: Any, p: Any = None) -> Any:
    """Condition number, in any norm."""
    x = matrix(x, "cond", square=False)
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


@composite(np.linalg.matrix_rank, samples=_rectangles({}), differentiable=False)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """How many singular values are not negligible."""
    x = matrix(A, "matrix_rank", square=False)
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


@composite(np.linalg.pinv, samples=_rectangles({}, {"rcond": 1e-8}),
           convention="the rank stays what it is")  # fmt: skip
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Pseudo-inverse of matrices."""
    x = matrix(a, "pinv", square=False)
    given = rcond if rcond is not None else rtol if is_number(rtol) else 1e-15
    return _pinv(x, given)[0]


def is_number(value: Any) -> bool:
    """Tell whether an option was given as a number."""
    return value is not None and value is not np._NoValue


def _fits(rng: np.random.Generator) -> Iterator[Sample]:
    for shape, b in (((4, 2), (4,)), ((4, 2), (4, 3)), ((3, 3), (3,)), ((2, 4), (2, 2))):
        yield (rng.standard_normal(shape), rng.standard_normal(b)), {}


@composite(np.linalg.lstsq, samples=_fits,
           convention="the rank stays what it is; residuals as if it were full")  # fmt: skip
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Least squares: solution, residuals, rank, singular values."""
    x, y = matrix(a, "lstsq", square=False), as_float(as_array(b))
    inverse, s, counts = _pinv(x, rcond)
    solution = inverse @ y
    m, n = x.shape[-2:]
    rest = y - x @ solution
    residuals = np.sum(abs_square(rest), axis=0) if m > n else np.zeros(0, s.dtype)
    if y.ndim == 1 and m > n:
        residuals = np.reshape(residuals, (1,))
    return solution, residuals, np.sum(counts).astype(np.int32), s


@composite(linalg.pinv, name="scipy.linalg.pinv", samples=_rectangles({}),
           convention="the rank stays what it is")  # fmt: skip
def scipy_pinv(a: Any, *, atol: None = None, rtol: Any = None, return_rank: bool = False,
               check_finite: bool = True) -> Any:  # fmt: skip
    """Pseudo-inverse of a matrix."""
    if atol is not None:
        refuse(linalg.pinv, "atol=: give rtol=")
    inverse, _, counts = _pinv(matrix(a, "pinv", square=False), rtol)
    return (inverse, np.sum(counts)) if return_rank else inverse


@composite(linalg.svd, name="scipy.linalg.svd",
           samples=_rectangles({"full_matrices": False}, {"compute_uv": False}),
           convention=_SINGULAR_VALUES)  # fmt: skip
def scipy_svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """Singular values and vectors."""
    found = svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found

"""Linear algebra of NumPy and SciPy: systems, inverses, determinants, Cholesky, QR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...errors import ShapeError
from ..base.broadcast import broadcast, show
from ..base.scipy_names import linalg
from ..base.sizes import as_size, dim_product, hint, under
from ..base.state import now
from ..graph import topological
from ..op import Bodied, composite, refuse
from .banded import BAND_LU, BAND_SOLVE
from .complex_factorizations import det_parts, log_det, sign_parts
from .determinants import DET, LOG_DET, SIGN_DET, inverse_transpose
from .factorizations import CHOLESKY, COMPLEMENT, QR
from .linear import LU, SOLVE, TRIANGULAR, adjoint, swapped, unit_like
from .np_common import (
    as_array,
    as_float,
    common_type,
    conjugated,
    dims,
    equal,
    is_traced,
    join_parts,
    lift,
    spread,
)

SINGULAR = "infinities and nan for a singular matrix, where NumPy raises"
SYMMETRIC = "symmetric perturbations"

# ---------------------------------------------------------------- operands


def matrix(a: Any, name: str, square: bool = True) -> Any:
    """Return an operand as a matrix of real or complex numbers, or raise naming its shape."""
    x = as_float(as_array(a))
    if x.ndim < 2:
        raise ShapeError(f"{name} needs a matrix, not an array of shape {show(dims(x))}")
    if square and not equal(x.shape[-1], x.shape[-2]):
        raise ShapeError(f"{name} needs a square matrix, not the shape {show(dims(x))}")
    return lift(x, x)


#: A matrix is looked at if it is computed in fewer steps, and has no more numbers.
_STEPS, _MOST = 2_000, 250_000


def _in_examples(x: Any) -> Iterator[Any]:
    """Yield the numbers of a matrix in the example call, and in a call nearby; none if unknown."""
    examples = now().examples
    if examples is None or not is_traced(x):
        return
    nodes = [part.node for part in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    steps = topological(nodes, limit=_STEPS)
    if len(steps) == _STEPS or hint(dim_product(nodes[0].shape)) > _MOST:
        return
    if any(isinstance(n.op, Bodied) for n in steps):
        return
    yield from (
        values[0] + (1j * values[1] if values[1:] else 0.0)
        for values in ([call.value(n) for n in nodes] for call in (examples, examples.beside()))
        if not any(v is None for v in values)
    )


def whole_of(x: Any, lower: bool, *, symmetric: bool = True) -> Any:
    """Return the symmetric matrix of which one triangle is read.

    ``symmetric``: where it is its mirror image the perturbations are, too.
    """
    part = np.tril(x, -1) if lower else adjoint(np.triu(x, 1))
    diagonal = 0.5 * (x + np.conj(x)) * unit_like(x)  # of which LAPACK reads the real part
    read = part + adjoint(part) + diagonal
    if not symmetric:
        return read
    mean = 0.5 * (x + adjoint(x))
    return np.where(read == mean, mean, read)


def symmetric_of(x: Any, lower: bool) -> Any:
    """Return a matrix of which one triangle is read, whole if the code fills that one alone.

    Symmetric perturbations are the convention of matrices that are symmetric. Where the other
    triangle of the example's matrix differs, or consists of constants, the elements of the
    triangle that is read count twice.
    """
    called = _in_examples(x)
    here = next(called, None)
    if here is None or here.shape[-1] == 1:
        return x
    other = np.conj(np.swapaxes(here, -1, -2))
    with np.errstate(invalid="ignore"):
        if np.any(np.abs(here - other) > 1e-6 * np.max(np.abs(here), initial=0.0)):
            return whole_of(x, lower)
    mirrored, read = (np.triu, np.tril)[:: 1 if lower else -1]
    apart = np.ones(here.shape[-2:]) - np.eye(here.shape[-1])
    if np.all((here != 0) | (apart == 0)):
        return x
    there = next(called, None)
    if there is None:
        return x
    moved = (there != here) * apart
    one_sided = np.any(read(moved)) and not np.any(mirrored(moved))
    return whole_of(x, lower, symmetric=False) if one_sided else x


def _together(a: Any, b: Any) -> tuple[Any, Any]:
    """Return matrices of one element type with the same leading axes."""
    a, b = common_type([a, b])
    lead = tuple(map(as_size, broadcast(dims(a)[:-2], dims(b)[:-2])))
    pair = [spread(x, (*lead, *x.shape[-2:]), a, b) for x in (a, b)]
    return lift(pair[0], *pair), lift(pair[1], *pair)


def _rows(solve: Callable[[Any, Any], Any], a: Any, b: Any, name: str) -> Any:
    """Solve for the columns of ``b``, or for ``b`` itself if it is a vector."""
    b = as_float(as_array(b))
    if b.dtype.kind == "c" and a.dtype.kind != "c":
        return join_parts(*(_rows(solve, a, part, name) for part in (b.real, b.imag)))
    vector = b.ndim == 1
    rows = b[None, :] if vector else swapped(b)
    if not equal(rows.shape[-1], a.shape[-1]):
        raise ShapeError(
            f"{name}: the matrix of shape {show(dims(a))} and the right-hand side of shape "
            f"{show(dims(b))} do not fit"
        )
    if a.ndim == 2 and rows.ndim > 2:  # many systems with one matrix: more rows
        flat = np.reshape(rows, (-1, rows.shape[-1]))
        x = np.reshape(solve(*_together(a, flat)), rows.shape)
    else:
        x = solve(*_together(a, rows))
    return x[..., 0, :] if vector else swapped(x)


def _general(a: Any, rows: Any, trans: bool = False) -> Any:
    return SOLVE(a, LU(a), rows, trans=trans)


# ---------------------------------------------------------------- systems and inverses


@composite(np.linalg.solve, convention=SINGULAR)
def solve(a: Any, b: Any) -> Any:
    """Solution of linear systems."""
    return _rows(_general, matrix(a, "solve"), b, "solve")


def _part_of(a: Any, form: Any, lower: bool) -> Any:
    """Return what a matrix is by the part of it that LAPACK reads for a form."""
    if form in ("upper triangular", "lower triangular"):
        return np.triu(a) if form[0] == "u" else np.tril(a)
    if form in ("diagonal", "tridiagonal"):
        return np.triu(np.tril(a, form[0] == "t"), -(form[0] == "t"))
    if form in ("sym", "symmetric", "her", "hermitian"):
        half, rest = (np.tril(a), np.tril(a, -1)) if lower else (np.triu(a), np.triu(a, 1))
        return half + (adjoint(rest) if form[0] == "h" else np.swapaxes(rest, -1, -2))
    return a


@composite(
    linalg.solve,
    name="scipy.linalg.solve",
    convention=f"{SINGULAR}; symmetric perturbations with assume_a='pos'",
)
def scipy_solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: Any = None, transposed: bool = False,
) -> Any:  # fmt: skip
    """Solution of linear systems; ``assume_a="pos"`` by Cholesky factors.

    Of matrices that are assumed to have some form only that part is read.
    """
    x = _part_of(matrix(a, "solve"), assume_a, lower)
    if assume_a in ("pos", "positive definite"):
        x = symmetric_of(x, lower)
        return _cholesky_solve(CHOLESKY(x if lower else adjoint(x)), b, "solve")
    return _rows(lambda a, rows: _general(a, rows, transposed), x, b, "solve")


@composite(linalg.solve_triangular, convention=SINGULAR)
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Solution of triangular systems; only one triangle of the matrix is read."""
    options = {"lower": bool(lower), "trans": trans in (1, 2, "T", "C"),
               "unit": bool(unit_diagonal)}  # fmt: skip
    x = matrix(a, "solve_triangular")
    if trans in (2, "C"):
        x = conjugated(x)
    return _rows(lambda a, rows: TRIANGULAR(a, rows, **options), x, b, "solve_triangular")


def _band_systems(lower: int, upper: int, ab: Any, b: Any, name: str) -> Any:
    a = matrix(ab, name, square=False)
    if lower < 0 or upper < 0 or not equal(a.shape[-2], lower + upper + 1):
        raise ShapeError(
            f"{name}: a band of {lower} diagonals below the main one and {upper} above it has "
            f"{lower + upper + 1} rows, not the shape {show(dims(a))}"
        )
    band = {"lower": int(lower), "upper": int(upper)}

    def solve(a: Any, rows: Any) -> Any:
        columns = swapped(a)
        return BAND_SOLVE(columns, BAND_LU(columns, **band), rows, trans=False, **band)

    return _rows(solve, a, b, name)


@composite(linalg.solve_banded, convention=SINGULAR)
def solve_banded(
    l_and_u: tuple[int, int], ab: Any, b: Any, overwrite_ab: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Solution of banded systems; of the matrix the band alone is stored."""
    lower, upper = l_and_u
    return _band_systems(lower, upper, as_array(ab), b, "solve_banded")


@composite(
    linalg.solveh_banded, convention="whatever the signs of its eigenvalues are, where SciPy raises"
)
def solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Solution of symmetric banded systems; half of the band is stored."""
    half = matrix(ab, "solveh_banded", square=False)
    if under(half.shape[-2], 1):
        raise ShapeError("solveh_banded: half of a band has one row at least")
    width, n = half.shape[-2] - 1, half.shape[-1]
    # By the distance from the diagonal. Of an element in column j its twin is in column j + k.
    rows = [half[k if lower else width - k] for k in range(width + 1)]
    rows[0] = 0.5 * (rows[0] + conjugated(rows[0]))  # real
    below = rows if lower else [
        conjugated(np.concatenate([row[k:], row[:k]])) for k, row in enumerate(rows)
    ]  # fmt: skip
    above = [np.concatenate([row[n - k :], row[: n - k]]) for k, row in enumerate(below)]
    full = np.stack([*(conjugated(x) for x in above[:0:-1]), *below])
    return _band_systems(width, width, full, b, "solveh_banded")


@composite(np.linalg.inv, linalg.inv, convention=SINGULAR)
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Inverse of matrices."""
    x = matrix(a, "inv")
    return swapped(inverse_transpose(x, LU(x)))


@composite(np.linalg.det, convention="the derivative at a singular complex matrix is nan")
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Determinant of matrices."""
    x = matrix(a, "det")
    if x.dtype.kind == "c":
        return join_parts(*det_parts(x))
    return DET(x, LU(x))


@composite(
    linalg.det,
    name="scipy.linalg.det",
    convention="the derivative at a singular complex matrix is nan",
)
def scipy_det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Determinant of matrices, in double precision."""
    x = as_array(a)
    return det(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))


_SlogdetResult = type(np.linalg.slogdet(np.eye(1)))


@composite(np.linalg.slogdet, convention="the derivative at a singular matrix is nan")
def slogdet(a: Any) -> Any:
    """Sign and logarithm of the determinant of matrices."""
    x = matrix(a, "slogdet")
    if x.dtype.kind == "c":
        return _SlogdetResult(join_parts(*sign_parts(x)), log_det(x)[0])
    factors = LU(x)
    return _SlogdetResult(SIGN_DET(x, factors), LOG_DET(x, factors))


# ---------------------------------------------------------------- Cholesky


def cholesky_factor(a: Any, lower: bool) -> Any:
    """Return the lower or the upper Cholesky factor, from that triangle of a matrix."""
    x = symmetric_of(matrix(a, "cholesky"), lower)
    return CHOLESKY(x) if lower else adjoint(CHOLESKY(adjoint(x)))


@composite(np.linalg.cholesky, convention=f"{SYMMETRIC}; nan if a matrix is not positive definite")
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Cholesky factor of symmetric positive definite matrices."""
    return cholesky_factor(a, not upper)


@composite(
    linalg.cholesky,
    name="scipy.linalg.cholesky",
    convention=f"{SYMMETRIC}; nan if a matrix is not positive definite",
)
def scipy_cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Cholesky factor of a symmetric positive definite matrix, the upper one by default."""
    return cholesky_factor(a, lower)


def _cholesky_solve(factor: Any, b: Any, name: str) -> Any:
    def solve(l: Any, rows: Any) -> Any:
        first = conjugated(TRIANGULAR(l, rows, lower=True, trans=False, unit=False))
        return conjugated(TRIANGULAR(l, first, lower=True, trans=True, unit=False))

    return _rows(solve, factor, b, name)


@composite(linalg.cho_factor, convention=f"{SYMMETRIC}; nan if a matrix is not positive definite")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Cholesky factor for ``cho_solve``; the other triangle is zero."""
    return scipy_cholesky(a, lower), lower


@composite(linalg.cho_solve)
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solution of linear systems with a Cholesky factor."""
    c, lower = c_and_lower
    factor = matrix(c, "cho_solve")
    return _cholesky_solve(factor if lower else adjoint(factor), b, "cho_solve")


# ---------------------------------------------------------------- QR

_QRResult = type(np.linalg.qr(np.eye(1)))


@composite(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """QR factorisation: Q by Householder's reflections, reduced or complete, and R."""
    x = matrix(a, "qr", square=False)
    m, n = x.shape[-2:]
    if mode not in ("reduced", "complete", "r"):
        refuse(np.linalg.qr, f"mode={mode!r} is no factors: mode='reduced' or 'complete'")
    if m >= n:
        both = QR(x)
        q, r = both[..., :m, :], swapped(both[..., m:, :])
    else:  # the first columns decide Q
        both = QR(x[..., :m])
        q, r = both[..., :m, :], swapped(both[..., m:, :])
        r = np.concatenate([r, adjoint(q) @ x[..., m:]], axis=-1)
    if mode == "r":
        return r
    if mode == "complete" and m > n:
        q = np.concatenate([q, COMPLEMENT(x)], axis=-1)
        r = np.pad(r, (*((0, 0),) * (x.ndim - 2), (0, m - n), (0, 0)))
    return _QRResult(q, r)


@composite(linalg.qr, name="scipy.linalg.qr")
def scipy_qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full",
    pivoting: bool = False, check_finite: bool = True,
) -> Any:  # fmt: skip
    """QR factorisation, with all of Q's columns unless ``mode="economic"``."""
    if pivoting:
        refuse(linalg.qr, "pivoting=True: the order of the columns depends on values")
    q, r = qr(a, {"economic": "reduced", "full": "complete", "r": "reduced"}.get(mode, mode))
    if mode != "r":
        return q, r
    below = q.shape[0] - r.shape[0]  # zeros, which NumPy's "r" leaves out
    return (np.pad(r, ((0, below), (0, 0))) if below else r,)

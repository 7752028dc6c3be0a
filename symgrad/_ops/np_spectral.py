"""Singular values, eigenvalues, and what is made of them: norms, ranks, least squares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._late import linalg
from .._op import composite, refuse
from .._shapes import normalize_axes, normalize_axis, show
from ..errors import ArgumentError, ShapeError
from .eigenvalues import CONVENTION, general_eigen
from .linear import adjoint, swapped
from .np_common import Sample, abs_square, as_array, as_float, dims, equal, is_traced, join, on
from .np_linalg import matrix
from .np_reductions import largest
from .np_statistics import root
from .singular import PINV, SVD, svd_parts

# ---------------------------------------------------------------- singular values

_SVDResult = type(np.linalg.svd(np.eye(1)))
_SINGULAR_VALUES = (
    "no share of what turns vectors of equal singular values, those beyond the values among them"
)


def _svd(x: Any, full: bool = False) -> tuple[Any, Any, Any]:
    # Of the transpose, which LAPACK sees as the matrix itself: with the signs of NumPy.
    m, n = x.shape[-2:]
    tall = bool(m > n)
    flat = SVD(swapped(x), wide=tall, full=full)
    v, s, uh = svd_parts(flat, n, m, n if tall else m, full)
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
    full = bool(compute_uv and full_matrices) and not equal(*x.shape[-2:])
    u, s, vh = _svd(x, full)
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


# ---------------------------------------------------------------- norms


Axes = tuple[int, ...]

# ---------------------------------------------------------------- norms


def _vector(x: Any, order: Any, axes: Axes, keepdims: bool) -> Any:
    options: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    if isinstance(order, str):
        raise ArgumentError(f"Invalid norm order {order!r} for vectors")
    if order is None or order == 2:
        return root(np.sum(abs_square(x), **options))
    if order == np.inf:
        return largest(np.abs(x), **options)
    if order == -np.inf:
        return np.min(np.abs(x), **options)
    if order == 0:
        return np.sum((x != 0).astype(x.real.dtype), **options)
    if order == 1:
        return np.sum(np.abs(x), **options)
    total = np.sum(np.abs(x) ** order, **options)
    if order < 0:
        return total ** (1 / order)
    positive = total > 0  # see ``root``
    return np.where(positive, np.where(positive, total, 1) ** (1 / order), total)


def _matrix(x: Any, order: Any, axes: Axes, keepdims: bool) -> Any:
    row, column = axes
    if order in {None, "fro", "f"}:
        return _vector(x, 2, axes, keepdims)
    if order in {1, -1, np.inf, -np.inf}:
        inner, outer = (row, column) if order in {1, -1} else (column, row)
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        y = (largest if order > 0 else np.min)(sums, axis=outer, keepdims=True)
        return y if keepdims else np.squeeze(y, axes)
    if order in {2, -2, "nuc"}:
        values = np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1)))
        fold = {2: largest, -2: np.min, "nuc": np.sum}[order]
        y = fold(values, axis=-1)
        return np.expand_dims(y, axes) if keepdims else y
    raise ArgumentError(f"Invalid norm order {order!r} for matrices")


@composite(
    np.linalg.norm,
    samples=join(
        on([(), (4,), (2, 3), (2, 3, 4)], {}, {"keepdims": True}),
        on(
            [(4,), (3, 4)],
            *({"ord": p, "axis": -1} for p in (1, 2, 3, 2.5, np.inf, -np.inf, 0, -1)),
        ),
        on([(3, 4)], *({"ord": p} for p in ("fro", 1, -1, np.inf, -np.inf, 2, -2, "nuc"))),
        on([(2, 3, 4)], {"ord": 2, "axis": (2, 0), "keepdims": True}),
        on([(2, 3, 4)], {"axis": (0, 2)}, {"ord": "fro", "axis": (2, 1), "keepdims": True}),
        on([(2, 3, 4)], {"ord": 1, "axis": (2, 0)}, {"ord": np.inf, "axis": (-1, 0)}),
        on([(3,)], {}, {"ord": 1}, dtypes=("f4", "i4")),
    ),
    convention="derivative 0 at 0; equal shares among ties",
)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """Norm of vectors or matrices, of any order that NumPy has."""
    x = as_float(as_array(x))
    if axis is None and ord is None:
        return _vector(x, 2, tuple(range(x.ndim)), keepdims)
    given = tuple(range(x.ndim)) if axis is None else axis
    axes = tuple(
        normalize_axis(k, x.ndim) for k in (given if isinstance(given, tuple) else (given,))
    )
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ShapeError(f"norm takes one axis or two different axes, not {axes}")
    return _matrix(x, ord, axes, keepdims)


@composite(
    np.linalg.vector_norm,
    samples=join(
        on([(4,), (2, 3)], {}, {"ord": 1}, {"ord": 3, "keepdims": True}, {"axis": -1}),
        on([(2, 3, 4)], {"axis": (0, 2), "ord": np.inf}),
    ),
    convention="derivative 0 at 0; equal shares among ties",
)
def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:  # noqa: A002
    """Norm of vectors over any number of axes."""
    x = as_float(as_array(x))
    return _vector(x, ord, normalize_axes(axis, x.ndim), keepdims)


@composite(
    np.linalg.matrix_norm,
    samples=on([(3, 4), (2, 3, 4)], {}, {"ord": 1, "keepdims": True}, {"ord": -np.inf}),
    convention="derivative 0 at 0; equal shares among ties",
)
def matrix_norm(x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:  # noqa: A002
    """Norm of the matrices in the last two axes."""
    x = as_float(as_array(x))
    if x.ndim < 2:
        raise ShapeError(f"matrix_norm needs two axes, not the shape {show(dims(x))}")
    return _matrix(x, ord, (x.ndim - 2, x.ndim - 1), keepdims)


# ---------------------------------------------------------------- eigenvalues of general matrices


_EigResult = type(np.linalg.eig(np.eye(1)))
_COMPLEX = f"always complex; {CONVENTION}"


def _turning(rng: np.random.Generator) -> Iterator[Sample]:
    """Yield real matrices with complex eigenvalues, far from each other."""
    for shape in ((2, 2), (4, 4), (2, 3, 3)):
        n = shape[-1]
        turn = np.diag(np.full(n - 1, 3.0), 1) - np.diag(np.full(n - 1, 3.0), -1)
        yield (turn + np.diag(np.arange(n)) + 0.3 * rng.standard_normal(shape),), {}


@composite(np.linalg.eig, samples=_turning,
           convention=f"{_COMPLEX}; vectors of length 1 with a real largest component")  # fmt: skip
def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors of general matrices."""
    return _EigResult(*general_eigen(matrix(a, "eig")))


@composite(np.linalg.eigvals, samples=_turning, convention=_COMPLEX)
def eigvals(a: Any) -> Any:
    """Eigenvalues of general matrices."""
    return general_eigen(matrix(a, "eigvals"))[0]


@composite(linalg.eig, name="scipy.linalg.eig",
           samples=lambda rng: ((args, {"right": False}) for args, _ in _turning(rng)),
           convention=_COMPLEX)  # fmt: skip
def scipy_eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    """Eigenvalues and right eigenvectors of general matrices."""
    if b is not None or left or homogeneous_eigvals:
        refuse(linalg.eig, "with b=, left= or homogeneous_eigvals=: left eigenvectors are "
               "the rows of the inverse of the right ones")  # fmt: skip
    w, v = general_eigen(matrix(a, "eig"))
    return (w, v) if right else w


@composite(linalg.eigvals, name="scipy.linalg.eigvals", samples=_turning,
           convention=_COMPLEX)  # fmt: skip
def scipy_eigvals(a: Any, b: Any = None, **options: Any) -> Any:
    """Eigenvalues of general matrices."""
    return scipy_eig(a, b, right=False, **options)


@composite(
    np.roots,
    samples=lambda rng: iter([((np.array([2.0, -1.0, 3.0, 1.0]),), {}),
                              ((np.array([1.0, 0.5, 4.0]),), {})]),
    convention=f"{_COMPLEX}, and if the first coefficient is 0",
)  # fmt: skip
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

"""``scipy.linalg``, for functions that symgrad traces.

Systems (full, triangular, banded, of Toeplitz's form), factorisations, least squares, matrices
made of vectors, functions of matrices, equations of Sylvester, Lyapunov and Riccati. Other names
are SciPy's own, on plain arrays.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy import linalg
>>> sg.grad(linalg.norm)(np.array([3.0, 4.0]))
array([0.6, 0.8])

The cost of the best control of an oscillator, by its damping:

>>> def cost(damping):
...     a = np.array([[0.0, 1.0], [-1.0, -damping]])
...     x = linalg.solve_continuous_are(a, [[0.0], [1.0]], np.eye(2), [[1.0]])
...     return x[0, 0]
>>> sg.grad(cost)(0.5).round(6)
np.float64(-0.509524)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

from .. import numpy as traced_numpy
from .._core.ops.linear import LU, SOLVE, swapped
from .._core.ops.np_common import is_traced
from .._core.trace import Traced, as_node
from .._core.trace.namespace import holds, offering, version
from ..errors import ShapeError, UnsupportedError
from ._coverage import reasons
from ._matrix_equations import (
    require_square,
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
)
from ._matrix_functions import (
    coshm,
    cosm,
    eigh_tridiagonal,
    eigvalsh_tridiagonal,
    expm_frechet,
    fractional_matrix_power,
    logm,
    orthogonal_procrustes,
    polar,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from ._versions import doubles, floats, refuse_option, replaces, require_lengths

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "coshm",
    "cosm",
    "eigh_tridiagonal",
    "eigvalsh_tridiagonal",
    "expm_frechet",
    "fiedler",
    "fractional_matrix_power",
    "hankel",
    "khatri_rao",
    "leslie",
    "logm",
    "lstsq",
    "lu_factor",
    "lu_solve",
    "matmul_toeplitz",
    "norm",
    "orthogonal_procrustes",
    "pinvh",
    "polar",
    "sinhm",
    "sinm",
    "solve_circulant",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "sqrtm",
    "tanhm",
    "tanm",
    "toeplitz",
]

_norm = version(np.linalg.norm)


def norm(
    a: Any,
    ord: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Any:
    """Norm of a vector or a matrix; as ``numpy.linalg.norm`` for traced values.

    Examples
    --------
    >>> x = np.array([3.0, 4.0])
    >>> sg.grad(norm)(x)
    array([0.6, 0.8])
    >>> sg.grad(lambda x: norm(x, 1))(x)
    array([1., 1.])
    """
    if holds(a, is_traced):
        return _norm(a, ord, axis, keepdims)
    return scipy.linalg.norm(a, ord, axis, keepdims, check_finite)


# ---------------------------------------------------------------- factors, least squares


@replaces(scipy.linalg.lu_factor)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU factors of a matrix and its row exchanges, for :func:`lu_solve`.

    The exchanges are constant; derivatives of solutions go through the matrix.

    Examples
    --------
    >>> logdet = lambda a: np.sum(np.log(np.abs(np.diag(lu_factor(a)[0]))))
    >>> sg.grad(logdet)(np.array([[2.0, 1.0], [0.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    x = floats(a)
    require_square(x, "lu_factor")
    if x.dtype.kind == "c":
        raise UnsupportedError(
            "lu_factor: complex matrices are factorised by np.linalg.solve; equal factors are "
            "computed once"
        )
    n = x.shape[-1]
    factors = LU(swapped(x))
    places = factors[..., n, :].astype(np.int32) + traced_numpy.arange(n, dtype=np.int32)
    return swapped(factors[..., :n, :]), places


@replaces(scipy.linalg.lu_solve)
def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Solution of a system by what :func:`lu_factor` has returned.

    Examples
    --------
    >>> from symgrad.scipy.linalg import lu_factor
    >>> b = np.array([1.0, 2.0])
    >>> sg.jacobian(lambda a: lu_solve(lu_factor(np.diag(a)), b))(np.array([2.0, 4.0]))
    array([[-0.25 ,  0.   ],
           [ 0.   , -0.125]])
    """
    lu, places = lu_and_piv
    right = floats(b)
    if is_traced(lu):
        node = as_node(lu)
        while node.op.kind == "view":
            node = node.operands[0]
        if node.op is not LU:
            raise UnsupportedError(
                "lu_solve takes what lu_factor has returned in the same function, as it is; "
                "elsewhere write np.linalg.solve(a, b): equal factors are computed once"
            )
        return _solved(Traced(node.operands[0]), Traced(node), right, trans)
    lu = floats(lu)
    exchanges = np.asarray(places) - np.arange(lu.shape[-1])
    factors = np.concatenate([lu.T, exchanges[np.newaxis].astype(lu.dtype)])
    return _solved(lu.T, factors, right, trans)


def _solved(transposed: Any, factors: Any, b: Any, trans: int) -> Any:
    """Solve with the factors of a transpose."""
    n = transposed.shape[-1]
    if transposed.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != n:
        raise ShapeError(f"lu_solve: factors of {n} rows and a right-hand side of shape {b.shape}")
    rows = b[np.newaxis] if b.ndim == 1 else b.T
    both = np.result_type(factors.dtype, rows.dtype)
    x = SOLVE(transposed, factors.astype(both), rows.astype(both), trans=trans == 0)
    return x[0] if b.ndim == 1 else x.T


@replaces(scipy.linalg.lstsq)
def lstsq(
    a: Any, b: Any, cond: Any = None, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, lapack_driver: Any = None,
) -> Any:  # fmt: skip
    """Least squares: solution, residuals, rank, singular values; the rank stays what it is.

    Examples
    --------
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> sg.jacobian(lambda b: lstsq(a, b)[0])(np.array([1.0, 2.0, 2.0])).round(4) + 0.0
    array([[ 0.8333,  0.3333, -0.1667],
           [-0.5   ,  0.    ,  0.5   ]])
    """
    x = floats(a)
    cut = np.finfo(np.float64).eps if cond is None else cond
    found, rest, rank, s = np.linalg.lstsq(x, floats(b), rcond=cut)
    alone = rest.shape == (1,) and found.ndim == 1
    return found, rest[0] if alone else rest, rank.astype(np.int64), s


@replaces(scipy.linalg.pinvh)
def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """Pseudo-inverse of a symmetric matrix.

    Examples
    --------
    >>> sg.grad(lambda s: pinvh(np.diag(np.array([2.0, 4.0])) * s)[0, 0])(1.0).round(4)
    np.float64(-0.5)
    """
    if return_rank or atol is not None:
        refuse_option("pinvh", "return_rank" if return_rank else "atol", atol, "pinvh(a)")
    x = floats(a)
    require_square(x, "pinvh")
    half = np.tril(x) if lower else np.conj(swapped(np.triu(x)))  # the other is not read
    half = half - 0.5 * (half * traced_numpy.eye(x.shape[-1], dtype=x.dtype))
    return np.linalg.pinv(half + np.conj(swapped(half)), rcond=rtol)


# ---------------------------------------------------------------- matrices of vectors


def _vector(x: Any) -> Any:
    x = traced_numpy.asarray(x)
    if x.ndim != 1:  # of more axes, versions of SciPy make one matrix or many
        raise ShapeError(f"traced is a matrix of a vector, not of an array of shape {x.shape}")
    return x


def _index(n: Any, m: Any) -> tuple[Any, Any]:
    """Return the rows and columns of a matrix, which broadcast together."""
    return traced_numpy.arange(n)[:, np.newaxis], traced_numpy.arange(m)


@replaces(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Matrix with a constant along each diagonal: its first column, and its first row.

    Examples
    --------
    >>> toeplitz([1, 2, 3], [1, 4, 5])
    array([[1, 4, 5],
           [2, 1, 4],
           [3, 2, 1]])
    >>> sg.grad(lambda c: toeplitz(c).sum())(np.ones(3))
    array([3., 4., 2.])
    """
    c = _vector(c)
    r = np.conj(c) if r is None else _vector(r)
    row, column = _index(c.shape[0], r.shape[0])
    return np.concatenate([c[::-1], r[1:]])[c.shape[0] - 1 - row + column]


@replaces(scipy.linalg.convolution_matrix)
def convolution_matrix(a: Any, n: Any, mode: str = "full") -> Any:
    """Matrix whose product with a vector of n elements is the convolution with it.

    Examples
    --------
    >>> convolution_matrix([1, 2], 3)
    array([[1, 0, 0],
           [2, 1, 0],
           [0, 2, 1],
           [0, 0, 2]])
    >>> sg.grad(lambda a: convolution_matrix(a, 3).sum())(np.ones(2))
    array([3., 3.])
    """
    a = _vector(a)
    few = np.zeros_like(a[:1]) + traced_numpy.zeros(n - 1, a.dtype)
    whole = toeplitz(np.concatenate([a, few]), np.concatenate([a[:1], few]))
    if mode == "full":
        return whole
    m = int(a.shape[0])
    if mode not in ("same", "valid"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    length = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
    start = (m + n - 1 - length) // 2
    return whole[start : start + length]


@replaces(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Product of a Toeplitz matrix and an array, by Fourier transforms where it is large.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> sg.jacobian(lambda c: matmul_toeplitz((c, np.zeros(3)), x))(np.ones(3))
    array([[1., 0., 0.],
           [2., 1., 0.],
           [3., 2., 1.]])
    """
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    x, c = doubles(x), doubles(_vector(c))
    r = np.conj(c) if r is None else doubles(_vector(r))
    rows, columns = int(c.shape[0]), int(r.shape[0])
    if rows * columns <= 1 << 14 or "c" in (c.dtype.kind, r.dtype.kind, x.dtype.kind):
        return toeplitz(c, r) @ x
    if int(x.shape[0]) != columns:
        raise ShapeError(f"matmul_toeplitz: {columns} columns, and x of shape {x.shape}")
    length = scipy.fft.next_fast_len(rows + columns - 1, True)
    gap = np.zeros(length - rows - columns + 1)
    around = np.concatenate([c, gap, np.flip(r[1:])])  # a circulant matrix that holds it
    factors = np.fft.rfft(around).reshape((-1, *(1,) * (x.ndim - 1)))
    return np.fft.irfft(factors * np.fft.rfft(x, length, axis=0), length, axis=0)[:rows]


@replaces(scipy.linalg.leslie)
def leslie(f: Any, s: Any) -> Any:
    """Leslie matrix of fecundities and of the survival from each age to the next.

    Examples
    --------
    >>> leslie([0.0, 2.0, 1.0], [0.5, 0.25])
    array([[0.  , 2.  , 1.  ],
           [0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.  ]])
    >>> growth = lambda s: np.abs(np.linalg.eigvals(leslie(np.array([0.0, 2.0, 1.0]), s))).max()
    >>> sg.grad(growth)(np.array([0.5, 0.25])).round(4)
    array([1.0044, 0.2123])
    """
    f, s = _vector(f), _vector(s)
    require_lengths("leslie", "f and s", s.shape[0], f.shape[0] - 1)
    row, column = _index(f.shape[0], f.shape[0])
    below = np.where(row == column + 1, np.concatenate([s, np.zeros_like(s[:1])]), 0)
    return np.where(row == 0, f, below)


@replaces(scipy.linalg.fiedler)
def fiedler(a: Any) -> Any:
    """Matrix of the distances between numbers.

    Examples
    --------
    >>> fiedler([1.0, 4.0, 6.0])
    array([[0., 3., 5.],
           [3., 0., 2.],
           [5., 2., 0.]])
    >>> sg.grad(lambda a: fiedler(a)[0].sum())(np.array([1.0, 4.0, 6.0]))
    array([-2.,  1.,  1.])
    """
    a = _vector(a)
    return np.abs(a[:, np.newaxis] - a)


@replaces(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    """Matrix whose columns are its first one, turned round.

    Examples
    --------
    >>> circulant([1, 2, 3])
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    >>> sg.grad(lambda c: circulant(c)[0] @ np.arange(3.0))(np.ones(3))
    array([0., 2., 1.])
    """
    c = _vector(c)
    row, column = _index(c.shape[0], c.shape[0])
    return c[(row - column) % c.shape[0]]


@replaces(scipy.linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """Matrix with a constant along each antidiagonal: its first column, and its last row.

    Examples
    --------
    >>> hankel([1, 2, 3], [3, 4])
    array([[1, 2],
           [2, 3],
           [3, 4]])
    >>> sg.grad(lambda c: hankel(c).sum())(np.ones(3))
    array([1., 2., 3.])
    """
    c = _vector(c)
    r = np.zeros_like(c) if r is None else _vector(r)
    row, column = _index(c.shape[0], r.shape[0])
    return np.concatenate([c, r[1:]])[row + column]


@replaces(scipy.linalg.companion)
def companion(a: Any) -> Any:
    """Companion matrix of a polynomial, whose eigenvalues are its roots.

    Examples
    --------
    >>> companion([1.0, -3.0, 2.0])
    array([[ 3., -2.],
           [ 1.,  0.]])
    >>> largest = lambda a: np.linalg.eigvals(companion(a)).real.max()
    >>> sg.grad(largest)(np.array([1.0, -3.0, 2.0])).round(4)
    array([-4., -2., -1.])
    """
    a = _vector(floats(a))
    if a.shape[0] < 2:
        raise ShapeError("companion takes at least two coefficients")
    row, column = _index(a.shape[0] - 1, a.shape[0] - 1)
    below = (row == column + 1).astype(a.dtype)
    return np.where(row == 0, -a[1:] / a[0], below)


@replaces(scipy.linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    """Matrix with matrices along its diagonal.

    Examples
    --------
    >>> block_diag([[1, 2]], 3)
    array([[1, 2, 0],
           [0, 0, 3]])
    >>> sg.grad(lambda t: np.linalg.det(block_diag(t * np.eye(2), t)))(2.0).round(4)
    np.float64(12.0)
    """
    parts = [np.atleast_2d(traced_numpy.asarray(x)) for x in arrs]
    dtype = np.result_type(*(x.dtype for x in parts))
    width, lines, before = sum(x.shape[1] for x in parts), [], 0
    for x in parts:
        left = traced_numpy.zeros((x.shape[0], before), dtype)
        right = traced_numpy.zeros((x.shape[0], width - before - x.shape[1]), dtype)
        lines.append(np.concatenate([left, x.astype(dtype), right], axis=1))
        before = before + x.shape[1]
    return np.concatenate(lines)


@replaces(scipy.linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    """Column by column the Kronecker product of two matrices.

    Examples
    --------
    >>> khatri_rao([[1, 2]], [[1, 0], [0, 1]])
    array([[1, 0],
           [0, 2]])
    >>> sg.grad(lambda a: khatri_rao(a, np.eye(2)).sum())(np.ones((1, 2)))
    array([[1., 1.]])
    """
    a, b = traced_numpy.asarray(a), traced_numpy.asarray(b)
    return np.reshape(a[:, np.newaxis] * b, (a.shape[0] * b.shape[0], a.shape[1]))


@replaces(scipy.linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solution of a system with a Toeplitz matrix, by the full matrix.

    Examples
    --------
    >>> solve = lambda c: solve_toeplitz(c, np.array([1.0, 2.0]))
    >>> solve(np.array([2.0, 1.0]))
    array([0., 1.])
    >>> sg.jacobian(solve)(np.array([2.0, 1.0])).round(4)
    array([[ 0.3333, -0.6667],
           [-0.6667,  0.3333]])
    """
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    r = None if r is None else doubles(r)
    return np.linalg.solve(toeplitz(doubles(c), r), doubles(b))


@replaces(scipy.linalg.solve_circulant)
def solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0,
    outaxis: int = 0,
) -> Any:  # fmt: skip
    """Solution of a system with a circulant matrix, by Fourier transforms.

    Examples
    --------
    >>> solve = lambda c: solve_circulant(c, np.array([3.0, 0.0]))
    >>> solve(np.array([2.0, 1.0])).round(4)
    array([ 2., -1.])
    >>> sg.jacobian(solve)(np.array([2.0, 1.0])).round(4)
    array([[-1.6667,  1.3333],
           [ 1.3333, -1.6667]])
    """
    c, b = floats(c), floats(b)
    if c.ndim > 1 or (caxis, baxis, outaxis) != (-1, 0, 0) or singular != "raise":
        raise UnsupportedError("solve_circulant: traced is solve_circulant(c, b) of a vector c")
    require_lengths("solve_circulant", "c and b", b.shape[0], c.shape[0])
    over = np.fft.fft(c) if b.ndim == 1 else np.fft.fft(c)[:, np.newaxis]
    found = np.fft.ifft(np.fft.fft(b, axis=0) / over, axis=0)
    return found if "c" in (c.dtype.kind, b.dtype.kind) else found.real


__getattr__, __dir__ = offering(
    scipy.linalg, globals(), reasons("linalg"), of_lists=(scipy.linalg.cho_solve,)
)

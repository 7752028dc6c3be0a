"""Functions of matrices, and factorisations that others express.

Source: N. J. Higham, Functions of Matrices, SIAM 2008, chapters 6 (the scaled product form of the
iteration by Denman and Beavers) and 11 (the logarithm by repeated roots, and by Gauss's formula for
the integral of ``e*inv(1 + t*e)``), and section 3.2 (derivatives by blocks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from .. import numpy as traced_numpy
from .._api._custom import custom_jvp, stop_gradient
from .._api._implicit import implicit_root
from .._core.ops.factorizations import rounding
from .._core.ops.logic import unknown
from .._core.ops.np_common import is_traced
from .._core.trace.namespace import version
from .._syntax._control import while_loop
from ._matrix_equations import require_square
from ._versions import doubles, floats, refuse_option, replaces, require_lengths

#: Most steps of the iterations, which end by doubling their digits.
STEPS = 40
_expm = version(scipy.linalg.expm)
_NODES, _SHARES = np.polynomial.legendre.leggauss(8)


def _square(a: Any, name: str) -> Any:
    a = floats(a)
    require_square(a, name, 2)
    return a


def _unit(a: Any) -> Any:
    return traced_numpy.eye(a.shape[0], dtype=a.dtype)


def _root(a: Any) -> Any:
    """Return the principal root; nan where there is none that is real."""
    unit, n = _unit(a), a.shape[0]

    def step(state: Any) -> Any:
        m, x, _, k = state
        scale = np.exp(-np.linalg.slogdet(m)[1] / (2.0 * n))
        over = np.linalg.inv(m) / scale**2
        x = 0.5 * scale * (x @ (unit + over))
        m = 0.5 * (unit + 0.5 * (scale**2 * m + over))
        return m, x, np.max(np.abs(m - unit)), k + 1

    first = (a, a, 1.0 + 0.0 * np.sum(a), 0)
    _, x, off, _ = while_loop(lambda s: (s[2] > 1e-14 * n) & (s[3] < STEPS), step, first)
    # One step of Newton's for a root that is near would lose digits where a is ill-conditioned.
    return np.where(off <= 1e-10, x, np.nan)


def _logarithm(a: Any) -> Any:
    unit = _unit(a)

    def step(state: Any) -> Any:
        r, _, k = state
        r = _root(r)
        return r, np.max(np.sum(np.abs(r - unit), axis=0)), k + 1

    far = np.max(np.sum(np.abs(a - unit), axis=0))
    r, off, k = while_loop(lambda s: (s[1] > 0.25) & (s[2] < STEPS), step, (a, far, 0))
    e, total = r - unit, 0.0 * a
    for node, share in zip(_NODES, _SHARES, strict=True):
        total = total + 0.5 * share * np.linalg.solve(unit + 0.5 * (1.0 + node) * e, e)
    return np.where(off <= 0.25, total * 2.0**k, np.nan)


@custom_jvp
def _root_without_derivative(a: Any) -> Any:
    """Return the root of a symmetric matrix that may be singular: the derivative is infinite."""
    w, v = np.linalg.eigh(a)
    return (v * np.sqrt(np.where(np.abs(w) <= rounding(w), 0.0, w))) @ v.T


@_root_without_derivative.defjvp
def _not_known(primals: Any, tangents: Any) -> tuple[Any, Any]:
    # By their sums: each element of the root is made of all of the matrix.
    nowhere = unknown(np.sum(primals[0]), np.sum(tangents[0]))
    return _root_without_derivative(*primals), np.broadcast_to(nowhere, primals[0].shape)


def _root_or_symmetric(a: Any) -> Any:
    """Return the principal root, also that of a singular matrix if it is symmetric."""
    found = implicit_root(lambda x, a: x @ x - a, _root)(a)
    singular = stop_gradient(np.all(a == a.T) & np.any(np.isnan(found)))
    return np.where(singular, _root_without_derivative(a), found)


def _of_real_or_complex(
    a: Any, of_real: Callable[[Any], Any], of_numbers: Callable[[Any], Any]
) -> Any:
    """Return a function of a matrix; of a complex one by its parts as blocks of a real one.

    That has both each eigenvalue and its conjugate. Where an eigenvalue is negative, the function
    has no real value of the blocks, and is that of the eigenvalues between the vectors.
    """
    if a.dtype.kind != "c":
        return of_real(a)
    n = a.shape[0]
    found = of_real(np.block([[a.real, -a.imag], [a.imag, a.real]]))
    w, v = np.linalg.eig(a)
    by_vectors = np.linalg.solve(v.T, (v * of_numbers(w)).T).T
    return np.where(np.isnan(found[:n, :n]), by_vectors, found[:n, :n] + 1j * found[n:, :n])


@replaces(scipy.linalg.sqrtm)
def sqrtm(A: Any) -> Any:
    """Principal root of a matrix; nan where an eigenvalue of a real one is negative.

    Nan also where one is 0, unless the matrix is symmetric: the root has no derivative there, and
    its derivative is nan.

    Examples
    --------
    >>> sg.grad(lambda t: sqrtm(np.array([[t, 0.0], [0.0, 9.0]]))[0, 0])(4.0).round(4)
    np.float64(0.25)
    """
    return _of_real_or_complex(_square(A, "sqrtm"), _root_or_symmetric, np.sqrt)


@replaces(scipy.linalg.logm)
def logm(A: Any) -> Any:
    """Principal logarithm of a matrix; nan where an eigenvalue is 0, or negative of a real one.

    Examples
    --------
    >>> sg.grad(lambda t: logm(np.array([[t, 1.0], [0.0, t]]))[0, 1])(2.0).round(4)
    np.float64(-0.25)
    """
    logarithm = implicit_root(lambda x, a: _expm(x) - a, _logarithm)
    return _of_real_or_complex(_square(A, "logm"), logarithm, np.log)


@replaces(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Power of a real matrix: by its logarithm, or by products where the exponent is whole.

    Examples
    --------
    >>> A = np.diag([4.0, 9.0])
    >>> sg.grad(lambda t: fractional_matrix_power(A, t)[0, 0])(0.5).round(4)
    np.float64(2.7726)
    """
    if not is_traced(t) and t == int(t):
        return np.linalg.matrix_power(_square(A, "fractional_matrix_power"), int(t))
    return _expm(t * logm(A))


def _hyperbolic(name: str, of: Callable[[Any, Any], Any], at_one: float) -> Any:
    """Return a function of a matrix by the exponentials of it and of its negative.

    ``at_one`` is its derivative there, to four digits, for the example.
    """

    def function(A: Any) -> Any:
        a = _square(A, name)
        turned = a if name.endswith("hm") else 1j * a
        found = of(_expm(turned), _expm(-turned))
        return found.real if found.dtype.kind == "c" and a.dtype.kind == "f" else found

    function.__name__ = name
    function.__doc__ = f"""``{name[:-1]}`` of a square matrix, as ``scipy.linalg.{name}``.

    Examples
    --------
    >>> A = np.diag([0.0, 1.0])
    >>> sg.grad(lambda t: {name}(t * A)[1, 1])(1.0).round(4)
    np.float64({at_one})
    """
    return replaces(getattr(scipy.linalg, name))(function)


coshm = _hyperbolic("coshm", lambda p, q: 0.5 * (p + q), 1.1752)
sinhm = _hyperbolic("sinhm", lambda p, q: 0.5 * (p - q), 1.5431)
tanhm = _hyperbolic("tanhm", lambda p, q: np.linalg.solve(p + q, p - q), 0.42)
cosm = _hyperbolic("cosm", lambda p, q: 0.5 * (p + q), -0.8415)
sinm = _hyperbolic("sinm", lambda p, q: -0.5j * (p - q), 0.5403)
tanm = _hyperbolic("tanm", lambda p, q: -1j * np.linalg.solve(p + q, p - q), 3.4255)


@replaces(scipy.linalg.expm_frechet)
def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Exponential of a matrix and its derivative in a direction, from that of blocks.

    Examples
    --------
    >>> A, E = np.diag([0.0, 1.0]), np.eye(2)
    >>> expm_frechet(A, E, compute_expm=False).round(4)
    array([[1.    , 0.    ],
           [0.    , 2.7183]])
    >>> sg.grad(lambda t: expm_frechet(t * A, E)[1][1, 1])(1.0).round(4)
    np.float64(2.7183)
    """
    a, e = (doubles(_square(m, "expm_frechet")) for m in (A, E))
    n = a.shape[0]
    whole = _expm(np.block([[a, e], [np.zeros_like(a), a]]))
    along = whole[:n, n:]
    return (whole[:n, :n], along) if compute_expm else along


@replaces(scipy.linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    """Unitary and positive factors of a matrix, by its singular values.

    Examples
    --------
    >>> turn = lambda t: polar(np.array([[2.0, -t], [t, 2.0]]))[0]
    >>> sg.jacobian(turn)(0.0).round(4) + 0.0
    array([[ 0. , -0.5],
           [ 0.5,  0. ]])
    """
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = floats(a)
    w, _, vh = np.linalg.svd(a, full_matrices=False)
    # Not from the vectors alone, which have no derivatives where singular values are equal.
    turn = w @ vh
    back = np.conj(turn.T)
    stretch = back @ a if side == "right" else a @ back
    return turn, 0.5 * (stretch + np.conj(stretch.T))


@replaces(scipy.linalg.orthogonal_procrustes)
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:
    """The orthogonal matrix that takes ``A`` closest to ``B``, and the sum of singular values.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> sg.grad(lambda t: orthogonal_procrustes(A, t * A)[1])(1.0).round(4)
    np.float64(5.0)
    """
    u, s, vh = np.linalg.svd(np.conj(floats(A).T) @ floats(B))
    return u @ vh, np.sum(s)


def _tridiagonal(d: Any, e: Any) -> Any:
    d, e = floats(d), floats(e)
    require_lengths("eigh_tridiagonal", "d and e", e.shape[0], d.shape[0] - 1)
    row, column = (traced_numpy.arange(d.shape[0]) for _ in range(2))
    off = np.concatenate([e, np.zeros_like(d[:1])])
    below = np.where(row[:, None] == column + 1, off, 0.0)
    return np.where(row[:, None] == column, d, 0.0) + below + below.T


@replaces(scipy.linalg.eigh_tridiagonal)
def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """Eigenvalues and vectors of a symmetric tridiagonal matrix, by the full one.

    Examples
    --------
    >>> lowest = lambda d: eigh_tridiagonal(d, np.array([1.0]))[0][0]
    >>> sg.grad(lowest)(np.array([2.0, 2.0])).round(4)
    array([0.5, 0.5])
    """
    if select not in ("a", "all", 0):
        refuse_option("eigh_tridiagonal", "select", select, "eigh_tridiagonal(d, e), and a part")
    matrix = _tridiagonal(d, e)
    return np.linalg.eigvalsh(matrix) if eigvals_only else tuple(np.linalg.eigh(matrix))


@replaces(scipy.linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(
    d: Any, e: Any, select: str = "a", select_range: Any = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """Eigenvalues of a symmetric tridiagonal matrix, by the full one.

    Examples
    --------
    >>> eigvalsh_tridiagonal([2.0, 2.0], [1.0])
    array([1., 3.])
    >>> sg.jacobian(lambda e: eigvalsh_tridiagonal(np.full(2, 2.0), e))(np.array([1.0])).round(4)
    array([[-1.],
           [ 1.]])
    """
    return eigh_tridiagonal(d, e, True, select)

"""Equations for matrices: Sylvester's, Lyapunov's and Riccati's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from .. import numpy as traced_numpy
from .._api._implicit import implicit_root
from .._syntax._control import while_loop
from ..errors import ShapeError, UnsupportedError
from ._versions import doubles, floats, refuse_option, replaces


def require_square(a: Any, name: str, ndim: int | None = None) -> None:
    """Refuse an array that is no square matrix; or, without ``ndim``, no stack of them."""
    if a.ndim < 2 or (ndim is not None and a.ndim != ndim) or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{name} needs a square matrix, not the shape {a.shape}")


def _linear(matrix: Any, right: Any) -> Any:
    """Solve for the elements of a matrix, row by row."""
    return np.reshape(np.linalg.solve(matrix, np.reshape(right, (-1,))), right.shape)


@replaces(scipy.linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solution of ``a @ x + x @ b = q``, as one system for the elements of ``x``.

    It is for some dozens of rows: the system has as many unknowns as ``x`` has elements.

    Examples
    --------
    >>> a, b = np.diag([1.0, 2.0]), np.array([[3.0]])
    >>> sg.grad(lambda q: solve_sylvester(a, b, q).sum())(np.ones((2, 1))).round(4)
    array([[0.25],
           [0.2 ]])
    """
    a, b, q = floats(a), floats(b), floats(q)
    for x in (a, b):
        require_square(x, "solve_sylvester", 2)
    unit = [traced_numpy.eye(x.shape[0], dtype=x.dtype) for x in (a, b)]
    return _linear(np.kron(a, unit[1]) + np.kron(unit[0], b.T), q)


@replaces(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Solution of ``a @ x + x @ a.conj().T = q``; see :func:`solve_sylvester`.

    Examples
    --------
    >>> variance = lambda k: solve_continuous_lyapunov(np.array([[-k]]), np.array([[-1.0]]))[0, 0]
    >>> sg.value_and_grad(variance)(0.5)
    (np.float64(1.0), np.float64(-2.0))
    """
    a = floats(a)
    return solve_sylvester(a, np.conj(a).T, q)


solve_lyapunov = solve_continuous_lyapunov


@replaces(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Solution of ``a @ x @ a.conj().T - x + q = 0``; see :func:`solve_sylvester`.

    Examples
    --------
    >>> variance = lambda a: solve_discrete_lyapunov(np.array([[a]]), np.array([[3.0]]))[0, 0]
    >>> variance(0.5).round(4)
    np.float64(4.0)
    >>> sg.grad(variance)(0.5).round(4)
    np.float64(5.3333)
    """
    a, q = doubles(a), doubles(q)
    require_square(a, "solve_discrete_lyapunov", 2)
    square = np.kron(a, np.conj(a))
    return _linear(traced_numpy.eye(square.shape[0], dtype=square.dtype) - square, q)


#: Most steps of the iterations for Riccati's equations, which double their digits in each, and
#: the residual of a solution, relative to its largest term.
STEPS, RESIDUAL = 60, 1e-8


def _riccati(
    name: str, solver: Callable[..., Any], terms: Callable[..., list[Any]], given: tuple[Any, ...],
    more: dict[str, Any],
) -> Any:  # fmt: skip
    """Return the solution that stabilises, nan where there is none, with its derivatives."""
    for option, value in more.items():
        if value is not None:
            refuse_option(name, option, "...", f"{name}(a, b, q, r)")
    a, b, q, r = (floats(x) for x in given)
    for x in (a, q, r):
        require_square(x, name, 2)
    if "c" in (a.dtype.kind, b.dtype.kind, q.dtype.kind, r.dtype.kind):
        raise UnsupportedError(f"{name}: traced are real matrices")
    a, b, q, r = (x.astype(np.float64) for x in (a, b, q, r))

    def residual(x: Any, *args: Any) -> Any:
        return sum(terms(x, *args))

    def solved(*args: Any) -> Any:
        x = solver(*args)
        x = 0.5 * (x + x.T)
        found = terms(x, *args)
        size = sum(np.max(np.abs(term)) for term in found)
        return np.where(np.max(np.abs(sum(found))) <= RESIDUAL * size, x, np.nan)

    return implicit_root(residual, solved)(a, b, q, r)


def _continuous_terms(x: Any, a: Any, b: Any, q: Any, r: Any) -> list[Any]:
    return [a.T @ x, x @ a, -(x @ b @ np.linalg.solve(r, b.T @ x)), q]


def _by_sign(a: Any, b: Any, q: Any, r: Any) -> Any:
    """Solve by the sign of the Hamiltonian matrix, then once more by Newton's method.

    Sources: J. D. Roberts, Linear model reduction and solution of the algebraic Riccati equation
    by use of the sign function, Int. J. Control 32, 1980; D. Kleinman, On an iterative technique
    for Riccati equation computations, IEEE Trans. Automatic Control 13, 1968.
    """
    n = a.shape[0]
    gain = b @ np.linalg.solve(r, b.T)
    upper = np.concatenate([a, -gain], axis=1)
    start = np.concatenate([upper, np.concatenate([-q, -a.T], axis=1)])

    def going(carry: Any) -> Any:
        k, z, moved = carry
        return (k < STEPS) & (moved > 1e-14 * np.max(np.abs(z)))

    def step(carry: Any) -> Any:
        k, z, _ = carry
        inverse = np.linalg.inv(z)
        # Scaled by norms: far from the end Newton's method only halves.
        scale = np.sqrt(np.sqrt(np.sum(inverse**2) / np.sum(z**2)))
        new = 0.5 * (scale * z + inverse / scale)
        return k + 1, new, np.max(np.abs(new - z))

    _, z, _ = while_loop(going, step, (0, start, np.inf))
    unit = traced_numpy.eye(n)
    left = np.concatenate([z[:n, n:], z[n:, n:] + unit])
    right = -np.concatenate([z[:n, :n] + unit, z[n:, :n]])
    x = np.linalg.solve(left.T @ left, left.T @ right)
    feedback = np.linalg.solve(r, b.T @ x)
    closed = a - b @ feedback
    return solve_continuous_lyapunov(closed.T, -(q + feedback.T @ r @ feedback))


@replaces(scipy.linalg.solve_continuous_are)
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solution of ``a.T @ x + x @ a - x @ b @ inv(r) @ b.T @ x + q = 0`` that stabilises.

    Real matrices of some dozens of rows; nan where there is no solution, where SciPy raises.

    Examples
    --------
    >>> one = np.array([[1.0]])
    >>> cost = lambda q: solve_continuous_are(0.0 * one, one, q * one, one)[0, 0]
    >>> cost(4.0).round(4)
    np.float64(2.0)
    >>> sg.grad(cost)(4.0).round(4)
    np.float64(0.25)
    """
    return _riccati(
        "solve_continuous_are", _by_sign, _continuous_terms, (a, b, q, r), {"e": e, "s": s}
    )


def _discrete_terms(x: Any, a: Any, b: Any, q: Any, r: Any) -> list[Any]:
    # Not the transpose of b.T @ x @ a: by an x that is not symmetric the derivative is then none
    # of Lyapunov's, and singular where the determinant of a is 1 (what moves without friction).
    return [
        a.T @ x @ a, -x, -(a.T @ x @ b @ np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a)), q,
    ]  # fmt: skip


def _by_doubling(a: Any, b: Any, q: Any, r: Any) -> Any:
    """Solve by doubling that keeps the structure.

    Source: E. K.-W. Chu, H.-Y. Fan, W.-W. Lin, C.-S. Wang, Structure-preserving algorithms for
    periodic discrete-time algebraic Riccati equations, Int. J. Control 77, 2004.
    """
    unit = traced_numpy.eye(a.shape[0])

    def going(carry: Any) -> Any:
        k, *_, x, moved = carry
        return (k < STEPS) & (moved > 1e-15 * np.max(np.abs(x)))

    def step(carry: Any) -> Any:
        k, m, g, x, _ = carry
        between = unit + g @ x
        ahead = np.linalg.solve(between, m)
        new = x + m.T @ x @ ahead
        more = m @ np.linalg.solve(between, g @ m.T)
        return k + 1, m @ ahead, g + more, new, np.max(np.abs(new - x))

    start = 0, a, b @ np.linalg.solve(r, b.T), q, np.inf
    return while_loop(going, step, start)[3]


@replaces(scipy.linalg.solve_discrete_are)
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """Solution of Riccati's equation in discrete time that stabilises.

    ``a.T @ x @ a - x - (a.T @ x @ b) @ inv(r + b.T @ x @ b) @ (b.T @ x @ a) + q = 0``, of real
    matrices; nan where there is none, where SciPy raises.

    Examples
    --------
    >>> one = np.array([[1.0]])
    >>> cost = lambda q: solve_discrete_are(one, one, q * one, one)[0, 0]
    >>> cost(0.5).round(4)
    np.float64(1.0)
    >>> sg.grad(cost)(0.5).round(4)
    np.float64(1.3333)
    """
    return _riccati(
        "solve_discrete_are", _by_doubling, _discrete_terms, (a, b, q, r), {"e": e, "s": s}
    )

"""``scipy.integrate.solve_bvp``, with the derivatives that a call leaves out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.integrate

from .._api._at_values import jvp
from .._api._transforms import compile, vmap
from .._core.ops.np_common import as_array
from .._dispatch import Function
from . import _bvp_traced
from ._makers import called
from ._solver_arguments import solver
from ._user_functions import EPS, Derived


@solver(_bvp_traced.solve_bvp, scipy.integrate)
def solve_bvp(given: dict[str, Any]) -> Any:
    """Solve a boundary value problem; as ``scipy.integrate.solve_bvp``.

    The equations are ``dy/dx = fun(x, y, p) + S @ y / (x - x[0])`` with
    ``bc(y(x[0]), y(x[-1]), p) = 0``.

    Parameters
    ----------
    fun, bc:
        ``fun(x, y)`` or ``fun(x, y, p)`` returns derivatives of shape (n, m), as y has;
        ``bc(ya, yb)`` or ``bc(ya, yb, p)`` returns residuals of shape (n + k,).
    x, y, p:
        Where a solution is looked for: the mesh, shape (m,), the states there, shape (n, m), and
        the unknown parameters, shape (k,).
    S, tol, max_nodes, verbose, bc_tol:
        As SciPy's.
    fun_jac, bc_jac:
        As SciPy's; left out, the exact derivatives.

    Returns
    -------
    BVPResult
        SciPy's.

    Notes
    -----
    In traced code (under ``sg.grad``, ``sg.vmap``, ``sg.compile``) ``x`` of the result is the mesh
    that is given. Where that is too coarse for the tolerance ``tol``, each interval is divided
    into 4, 16 or at most 64, and ``sol`` has all nodes; under ``sg.vmap`` and in bodies of loops
    none are added. Where the solution is not one to ``tol``, ``success`` is False, ``status`` says
    why and ``y``, ``p``, ``yp`` and ``sol`` are nan: 1, that takes more nodes (``rms_residuals``
    says where); 2, the
    system is singular; 3, no solution was found from this start. Derivatives are by what ``fun``
    and ``bc`` close over and by the mesh: those of the implicit function theorem for the
    equations of collocation. Each column of what ``fun`` returns has to depend on that of its
    arguments alone; else there is no solution.

    Examples
    --------
    >>> def bratu(x, y):
    ...     return np.vstack((y[1], -np.exp(y[0])))
    >>> def ends(ya, yb):
    ...     return np.array([ya[0], yb[0]])
    >>> solve_bvp(bratu, ends, np.linspace(0, 1, 5), np.zeros((2, 5))).sol(0.5)[0].round(4)
    np.float64(0.1405)

    The derivative of the top by the strength of the reaction:

    >>> def top(strength):
    ...     def reaction(x, y):
    ...         return np.vstack((y[1], -strength * np.exp(y[0])))
    ...     return solve_bvp(reaction, ends, np.linspace(0, 1, 11), np.zeros((2, 11))).sol(0.5)[0]
    >>> sg.grad(top)(1.0).round(4)
    np.float64(0.1592)
    """
    point = _point(given["x"], given["y"], given.get("p"))
    if point is not None:
        _, y0, *more = point
        at_ends = y0[:, 0], y0[:, -1], *more
        given["fun_jac"] = _filled(given["fun"], given.get("fun_jac"), _inside, point)
        given["bc_jac"] = _filled(given["bc"], given.get("bc_jac"), _at_ends, at_ends)
    return scipy.integrate.solve_bvp(**given)


def _point(x: Any, y: Any, p: Any) -> tuple[Any, ...] | None:
    """Return mesh, states and parameters as SciPy has them; None where it raises."""
    try:
        x, y = np.asarray(x, dtype=float), np.asarray(y)
        kind = complex if y.dtype.kind == "c" else float
        y = y.astype(kind)
        p = np.asarray(() if p is None else p, dtype=kind)
    except (TypeError, ValueError):
        return None
    if x.ndim != 1 or y.shape[1:] != x.shape or not y.size or p.ndim != 1:
        return None
    return (x, y, p) if p.size else (x, y)


# ---------------------------------------------------------------- what is compiled


def _by_rows(f: Callable[..., Any], args: Sequence[Any], k: int, seeds: Any) -> Any:
    """Return the derivatives by the rows of the k-th argument, along the second axis.

    Of an argument with columns they are those by all columns of a row at once: what each column
    of the result has by its own column, as SciPy takes its differences.
    """
    value = args[k]

    def along(seed: Any) -> Any:
        seed = np.reshape(seed, (-1, *(1,) * (value.ndim - 1))) + np.zeros_like(value)
        return jvp(lambda v: f(*args[:k], v, *args[k + 1 :]), (value,), (seed,))[1]

    return np.moveaxis(vmap(along)(seeds), 0, 1)


def _array(call: Callable[..., Any], rest: Any, *point: Any) -> Any:
    return as_array(call(point, *rest))


def _of_mesh(call: Callable[..., Any], point: Any, seeds: Any, *rest: Any) -> tuple[Any, ...]:
    """Return the derivatives of slopes by states and parameters, (n, n, m) and (n, k, m)."""
    x, y, *p = point
    # Flat, so that a mesh of another length is no other program.
    args = x, np.reshape(y, (seeds[0].shape[0], x.shape[0])), *p
    return tuple(_by_rows(partial(_array, call, rest), args, k, s) for k, s in enumerate(seeds, 1))


def _of_ends(call: Callable[..., Any], point: Any, seeds: Any, *rest: Any) -> tuple[Any, ...]:
    """Return the derivatives of conditions by both ends and parameters, (n + k, n), ..."""
    return tuple(_by_rows(partial(_array, call, rest), point, k, s) for k, s in enumerate(seeds))


def _inside(f: Callable[..., Any], *form: Any) -> Function:
    return compile(partial(_of_mesh, partial(called, f, *form)))


def _at_ends(f: Callable[..., Any], *form: Any) -> Function:
    return compile(partial(_of_ends, partial(called, f, *form)))


# ---------------------------------------------------------------- what SciPy calls


def _filled(function: Any, jac: Any, maker: Callable[..., Function], start: Any) -> Any:
    """Return the Jacobian that SciPy is to be given: compiled, if there is none."""
    if jac is not None or not callable(function):
        return jac
    f = Derived("solve_bvp", function, spread=True)
    first = int(maker is _inside)  # there is no derivative by the mesh

    def exact(*point: Any) -> Any:
        def differences() -> Any:
            return tuple(_differences(f.plain, point, k) for k in range(first, len(point)))

        seeds = tuple(np.eye(len(a)) for a in point[first:])
        flat = tuple(a.ravel() for a in point)
        found = f.of(maker, (flat, seeds), differences, point)
        return found[0] if len(found) == 1 else found

    return exact if f.starts(start[first], lambda _: exact(*start)) else None


def _differences(f: Callable[[Any], Any], point: tuple[Any, ...], k: int) -> Any:
    """Return the derivatives by the rows of the k-th argument by differences, as SciPy's."""
    start, value, found = np.asarray(f(point)), point[k], []
    for i, step in enumerate(math.sqrt(EPS) * (1 + np.abs(value))):
        moved = value.copy()
        moved[i] += step
        there = np.asarray(f((*point[:k], moved, *point[k + 1 :])))
        found.append((there - start) / (moved[i] - value[i]))
    return np.stack(found, axis=1)

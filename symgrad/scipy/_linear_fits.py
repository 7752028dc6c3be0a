"""``nnls`` and ``lsq_linear`` in traced code: linear least squares in a box."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from .._api._custom import stop_gradient
from .._api._implicit import root_at
from .._syntax._control import while_loop
from ..errors import ShapeError
from ._descent import EPS, box_of
from ._fits_traced import ends_of, least_squares
from ._versions import floats, replaces


def _system(name: str, A: Any, b: Any) -> tuple[Any, Any]:
    a, right = floats(A), floats(b)
    if a.ndim != 2 or right.shape != a.shape[:1]:
        raise ShapeError(f"{name}: a matrix and a vector, not {a.shape} and {right.shape}")
    return a, right


@replaces(scipy.optimize.nnls)
def nnls(A: Any, b: Any, *, maxiter: Any = None, atol: Any = None) -> tuple[Any, Any]:
    """Least squares with unknowns that are not negative, and the norm of what is left.

    Among many solutions it is SciPy's, in which the columns that count are independent.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> sg.jacobian(lambda b: nnls(A, b)[0])(np.array([-1.0, 4.0]))
    array([[0. , 0. ],
           [0. , 0.5]])
    """
    a, right = (x.astype(np.float64) for x in _system("nnls", A, b))
    x, counts, ok = _active_set(stop_gradient(a), stop_gradient(right), maxiter or 3 * a.shape[1])
    x = root_at(lambda x: np.where(counts, a.T @ (a @ x - right), x), x, ok)
    return x, np.linalg.norm(a @ x - right)


def _active_set(a: Any, right: Any, most: Any) -> tuple[Any, Any, Any]:
    """Return the solution, which unknowns are not zero, and whether it was found.

    Source: C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, 1974, chapter 23.
    """
    gram, toward, size, eye = a.T @ a, a.T @ right, np.abs(a), np.eye(a.shape[1])
    rounding = 10 * (a.shape[0] + a.shape[1]) * EPS

    def among(counts: Any, toward: Any) -> Any:
        both = np.reshape(counts, (-1, 1)) & counts
        return np.linalg.solve(np.where(both, gram, eye), np.where(counts, toward, 0.0))

    def step(state: Any) -> Any:
        x, counts, removed, _ = state
        best = among(counts, toward)
        low = counts & ~(best > 0)
        fits = ~np.any(low)
        # Towards it as far as the first unknown that becomes zero, which counts no more.
        part = np.where(low, x / np.where(low & (x > best), x - best, 1.0), np.inf)
        way = np.where(fits, 1.0, np.min(part))
        x = np.where(counts & (part > way), x + way * (best - x), 0.0)
        gain = a.T @ (right - a @ x)
        more = ~counts & (gain > rounding * (size.T @ (np.abs(right) + size @ x)))
        first = np.arange(counts.shape[0]) == np.argmax(np.where(more, gain, -np.inf))
        counts = np.where(fits, counts | (more & first), counts & (x > 0))
        return x, counts, removed + np.where(fits, 0, 1), fits & ~np.any(more)

    none = np.zeros_like(toward)
    x, counts, _, ok = while_loop(
        lambda s: np.logical_not(s[3]) & (s[2] < most), step, (none, none > 0, 0, np.any(none > 0))
    )
    # The squares have lost half of the digits of what is nearly dependent: once more by what is
    # left.
    return x + among(counts, a.T @ (right - a @ x)), counts, ok


@replaces(scipy.optimize.lsq_linear)
def lsq_linear(
    A: Any, b: Any, bounds: Any = (-np.inf, np.inf), method: str = "trf", tol: Any = 1e-10,
    lsq_solver: Any = None, lsmr_tol: Any = None, max_iter: Any = None, verbose: int = 0, *,
    lsmr_maxiter: Any = None,
) -> Any:  # fmt: skip
    """Least squares with bounds, differentiated at the unknowns that are not at a bound.

    Among many solutions it is the shortest, if that lies within the bounds, as SciPy's.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> sg.jacobian(lambda b: lsq_linear(A, b, (0.0, 1.0)).x)(np.array([0.5, 4.0])).round(6)
    array([[1., 0.],
           [0., 0.]])
    """
    a, right = _system("lsq_linear", A, b)
    x = np.linalg.lstsq(a, right, -1)[0]
    box = box_of(*ends_of(bounds), x.shape[0])
    start = x if box is None else box.inside(x)
    found = least_squares(
        lambda x: a @ x - right, start, bounds, ftol=None, xtol=1e-15, gtol=1e-14,
        max_nfev=max_iter,
    )  # fmt: skip
    if box is not None:
        near = stop_gradient(found.x)
        free = box.free(near, a.T @ (a @ near - right))
        near = np.where(free, near, np.where(near <= box.lower, box.lower, box.upper))
        # Of the solutions that lie on these bounds that which stays nearest.
        near = near + np.linalg.lstsq(a * free, right - a @ near)[0]
        near = near + stop_gradient(box.inside(near) - near)  # by rounding
        x = np.where(np.all(x == box.inside(x)), x, near)
    rest = a @ x - right
    return scipy.optimize.OptimizeResult(found | {"x": x, "fun": rest, "cost": 0.5 * rest @ rest})

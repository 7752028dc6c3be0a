"""``linprog`` in traced code: solved by SciPy, differentiated by the constraints that are active.

A vertex is where n constraints hold with equality: ``x = inv(B) @ r``, with their coefficients as
the rows of B, and their multipliers are ``inv(B).T @ c``. As long as these constraints stay the
active ones that is the solution near by, so its derivatives of all orders are those of a system of
linear equations. Equations that follow from others are left out.

Source: D. Bertsimas, J. N. Tsitsiklis, Introduction to Linear Optimization, 1997, chapter 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize
from scipy.optimize import OptimizeResult

from .. import numpy as traced_numpy
from .._api._callback import pure_callback
from .._api._custom import stop_gradient
from .._core.ops.np_common import as_array
from ..errors import ShapeError
from ._descent import where_smooth
from ._minimize_traced import ends_of_pairs
from ._versions import floats, refuse_option, replaces

MESSAGE = (
    "In traced code status and success tell whether this is a solution: else it is nan. Its "
    "derivatives are nan where it is not the only one, or more constraints are active than "
    "determine it."
)


@replaces(scipy.optimize.linprog)
def linprog(
    c: Any, A_ub: Any = None, b_ub: Any = None, A_eq: Any = None, b_eq: Any = None,
    bounds: Any = (0, None), method: str = "highs", callback: Any = None, options: Any = None,
    x0: Any = None, integrality: Any = None,
) -> OptimizeResult:  # fmt: skip
    """Minimise ``c @ x`` under linear constraints, by SciPy; derivatives at the vertex.

    Where there is no solution, all that comes of it is nan, and ``status`` says why. Derivatives
    are nan where the vertex is not the only solution, or where more constraints are active than
    determine it.

    Examples
    --------
    >>> best = lambda c: linprog(c, A_ub=[[-1.0, -1.0]], b_ub=[-2.0]).fun
    >>> sg.value_and_grad(best)(np.array([1.0, 3.0]))
    (np.float64(2.0), array([2., 0.]))
    """
    if integrality is not None and np.any(integrality):
        refuse_option("linprog", "integrality", integrality, "integrality=None")
    c = floats(c)
    if c.ndim != 1:
        raise ShapeError(f"linprog: c is a vector, not of {c.ndim} axes")
    n = int(c.shape[0])
    eye, parts = np.eye(n), []
    for name, a, b in (("eq", A_eq, b_eq), ("ub", A_ub, b_ub)):
        parts.append(_constraints(name, a, b, n))
    low, high = ends_of_pairs(_pairs(bounds), n)
    parts += [(eye, np.broadcast_to(low, (n,))), (eye, np.broadcast_to(high, (n,)))]
    counts = [int(right.shape[0]) for _, right in parts]
    rows = traced_numpy.concatenate([a for a, _ in parts])
    right = traced_numpy.concatenate([b for _, b in parts])

    def solve(c: Any, rows: Any, right: Any) -> Any:
        return _vertex(c, rows, right, counts, method, options)

    found = pure_callback(
        solve, np.zeros(2 * n + 3), *(stop_gradient(1.0 * as_array(a)) for a in (c, rows, right))
    )
    basis, regular = found[n : 2 * n].astype(np.int64), found[2 * n] == 1.0
    status, ok = found[2 * n + 1].astype(np.int64), found[2 * n + 1] == 0.0
    matrix = np.where(regular, rows[basis], eye)
    x = np.linalg.solve(matrix, np.where(regular, right[basis], found[:n]))
    given = regular, c, rows, np.where(np.isfinite(right), right, 0.0)
    x = where_smooth(np.where(ok, x, np.nan), *given)
    price = where_smooth(np.linalg.solve(matrix.T, c), *given)
    own = np.where(np.arange(sum(counts))[:, None] == basis, price, 0.0)
    multipliers = np.where(regular, np.sum(own, axis=1), np.nan)
    rest = np.where(np.isfinite(right), right - rows @ x, np.inf)
    ends = np.cumsum([0, *counts])
    sides = [
        OptimizeResult(residual=s * rest[a:b], marginals=multipliers[a:b])
        for s, a, b in zip((1, 1, -1, 1), ends[:-1], ends[1:], strict=True)
    ]
    return OptimizeResult(
        x=x, fun=c @ x, success=ok, status=status, message=MESSAGE,
        nit=found[2 * n + 2].astype(np.int64), con=sides[0].residual, slack=sides[1].residual,
        eqlin=sides[0], ineqlin=sides[1], lower=sides[2], upper=sides[3],
    )  # fmt: skip


def _constraints(name: str, a: Any, b: Any, n: int) -> tuple[Any, Any]:
    if a is None and b is None:
        return np.zeros((0, n)), np.zeros(0)
    if a is None or b is None:
        raise ValueError(f"linprog: A_{name} and b_{name} are given both or neither")
    a = a.toarray() if hasattr(a, "toarray") else a
    a, b = np.atleast_2d(floats(a)), np.atleast_1d(floats(b))
    if a.ndim != 2 or a.shape[1] != n or b.shape != a.shape[:1]:
        raise ShapeError(
            f"linprog: A_{name} of shape {a.shape} and b_{name} of shape {b.shape} do not fit "
            f"{n} unknowns"
        )
    return a, b


def _pairs(bounds: Any) -> Any:
    """Return bounds as pairs; one pair is for all variables."""
    if bounds is None:
        return [(0, None)]
    if len(bounds) == 2 and all(np.ndim(b) == 0 for b in bounds if b is not None):
        return [tuple(bounds)]
    return bounds


# ---------------------------------------------------------------- on numbers


def _vertex(
    c: Any, rows: Any, right: Any, counts: list[int], method: str, options: Any
) -> np.ndarray[Any, Any]:
    """Return x, the positions of n constraints that determine it, whether all is unique, status.

    Positions are those of ``rows``, which has equations, inequalities, lower and upper bounds.
    """
    n, (equal, below, *_) = c.size, counts
    between, low, high = rows[equal : equal + below], right[-2 * n : -n], right[-n:]
    r = scipy.optimize.linprog(
        c, between if below else None, right[equal : equal + below] if below else None,
        rows[:equal] if equal else None, right[:equal] if equal else None,
        np.stack([low, high], axis=1), method, options=options,
    )  # fmt: skip
    if r.x is None or r.status:
        return np.concatenate([np.full(n, np.nan), np.arange(n), [0.0, r.status or 4, r.nit]])
    rest = np.abs(np.where(np.isfinite(right), right - rows @ r.x, np.inf))
    size = 1.0 + np.abs(np.where(np.isfinite(right), right, 0.0))
    prices = np.abs(np.concatenate([
        r.eqlin.marginals, r.ineqlin.marginals, r.lower.marginals, r.upper.marginals
    ]))  # fmt: skip
    active = rest <= 1e-8 * size
    active[:equal] = True
    active[-n:] &= low != high  # one of two that are the same
    # Those with a price first: they are active surely.
    order = [*range(equal), *(equal + np.argsort(-prices[equal:], kind="stable"))]
    basis, base = [], np.zeros((0, n))
    spare = False
    for k in order:
        if not active[k]:
            continue
        row = rows[k]
        for _ in range(2):
            row = row - base.T @ (base @ row)
        length = np.linalg.norm(row)
        if length > 1e-9 * np.linalg.norm(rows[k]):
            basis.append(k)
            base = np.vstack([base, row / length])
        elif k >= equal:
            spare = True
    fixed = np.concatenate([np.zeros(equal + below, bool), low == high, low == high])
    priced = prices > 1e-9 * (np.abs(c).max(initial=0.0))
    unique = all(priced[k] or k < equal or fixed[k] for k in basis)
    regular = len(basis) == n and unique and not spare
    basis += [0] * (n - len(basis))
    return np.concatenate([r.x, basis, [float(regular), r.status, r.nit]])

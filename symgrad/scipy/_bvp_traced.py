"""Boundary value problems in traced code: collocation on the mesh that is given, or parts of it.

SciPy's equations: a cubic in each interval that has the right slopes at both ends and in the
middle. Nodes are taken from both ends in turn, 0, m-1, 1, m-2, ...: then the conditions concern
the first two blocks of unknowns, and each interval three that are neighbours, so that the matrix
is a band, whatever the conditions couple. Unknown parameters are states that do not change.

Sources: J. Kierzenka, L. F. Shampine, A BVP Solver Based on Residual Control and the Matlab PSE,
ACM Trans. Math. Softw. 27, 2001; U. Ascher, R. Mattheij, R. Russell, Numerical Solution of
Boundary Value Problems for Ordinary Differential Equations, SIAM 1995, chapters 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from .. import numpy as traced_numpy
from .._api._custom import stop_gradient
from .._api._implicit import root_at
from .._api._transforms import vmap
from .._core.ops.np_common import is_traced
from .._core.trace import Traced, as_node, decided
from .._core.trace.namespace import holds
from .._syntax._control import while_loop
from ..errors import UnsupportedError
from ._ode_structure import Band
from ._piecewise_polynomials import CubicHermiteSpline

MESSAGE = (
    "In traced code the mesh stays as it is, and success tells whether this is a solution: else "
    "it is nan. status 1: that takes more nodes (rms_residuals); 2: the system is singular; 3: no "
    "solution was found from this start."
)

#: Newton's steps, halvings of each, and the change of the unknowns after which there are no more.
STEPS, HALVINGS, CLOSE = 50, 6, 1e-10

#: Into how many parts each interval is divided where the mesh is too coarse, and at most in all.
PARTS, MOST_PARTS = 4, 64


class Problem:
    """Equations and conditions on a mesh, with the unknowns in the order of the band.

    Parameters
    ----------
    fun, bc, S:
        As the user gives them; S is of numbers, or None.
    x:
        The mesh, shape (m,).
    n, k:
        How many states and unknown parameters there are.
    """

    def __init__(
        self, fun: Callable[..., Any], bc: Callable[..., Any], x: Any, S: Any, n: int, k: int
    ) -> None:
        self.fun, self.bc, self.x, self.n, self.k, self.S = fun, bc, x, n, k, S
        m = x.shape[0]
        at = traced_numpy.arange(m)
        # Which node is in a block, in which block a node is, and the row of each block: of the
        # conditions, or, one later, of the interval that begins with a node.
        self.node = np.where(at % 2 == 0, at // 2, m - 1 - at // 2)
        self.block = np.where(2 * at <= m - 1, 2 * at, 2 * (m - 1 - at) + 1)
        self.row = np.where(at % 2 == 1, 1 + at // 2, np.where(at == 0, 0, m - at // 2))
        if S is not None:
            one = np.identity(n)
            self.at_start, self.slopes_at_start = (
                one - np.linalg.pinv(S) @ S,
                np.linalg.pinv(one - S),
            )

    # -- SciPy's functions

    def slopes(self, x: Any, y: Any, *p: Any) -> Any:
        """Return the slopes of columns, with the singular term."""
        found = _real("fun", self.fun(x, y, *p))
        if found.shape != y.shape:
            raise ValueError(
                f"`fun` return is expected to have shape {y.shape}, but actually has {found.shape}."
            )
        if self.S is None:
            return found
        first = x == self.x[0]
        away = np.where(first, 1.0, x - self.x[0])
        return np.where(first, self.slopes_at_start @ found, found + (self.S @ y) / away)

    def conditions(self, y: Any, *p: Any) -> Any:
        """Return what the conditions leave."""
        found = _real("bc", self.bc(y[:, 0], y[:, -1], *p))
        if found.shape != (self.n + self.k,):
            raise ValueError(
                f"`bc` return is expected to have shape {(self.n + self.k,)}, but actually has "
                f"{found.shape}."
            )
        return found

    def gaps(self, y: Any, p: tuple[Any, ...], inner: tuple[Any, ...], slopes: Any) -> Any:
        """Return what an interval leaves, shape (n, m - 1), and the slopes in its middle."""
        x, h = self.x, np.diff(self.x)
        f = slopes(x, y, *p)
        middle = 0.5 * (y[:, 1:] + y[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        inside = slopes(x[:-1] + 0.5 * h, middle, *inner)
        return y[:, 1:] - y[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * inside), f, inside

    # -- in the order of the band

    def unknowns(self, y: Any, *p: Any) -> Any:
        """Return states and parameters as the vector of unknowns."""
        if self.S is not None:  # the singular term wants S @ y = 0 where it is singular
            y = np.concatenate([(self.at_start @ y[:, 0])[:, np.newaxis], y[:, 1:]], axis=1)
        more = [np.zeros((self.x.shape[0], self.k)) + q for q in p]
        return np.reshape(np.concatenate([np.transpose(y), *more], axis=1)[self.node], (-1,))

    def parts(self, u: Any) -> tuple[Any, ...]:
        """Return the states, shape (n, m), and, if there are any, parameters a node, (m, k)."""
        nodes = np.reshape(u, (self.x.shape[0], self.n + self.k))[self.block]
        return np.transpose(nodes[:, : self.n]), *([nodes[:, self.n :]] if self.k else ())

    def residual(self, u: Any) -> Any:
        """Return what is zero at a solution."""
        y, *p = self.parts(u)

        def one(x: Any, y: Any, *p: Any) -> Any:
            return self.slopes(x[np.newaxis], y[:, np.newaxis], *p)[:, 0]

        def each(x: Any, y: Any, *p: Any) -> Any:  # columns with parameters of their own
            return np.transpose(vmap(one)(x, np.transpose(y), *p))

        gaps, _, _ = self.gaps(y, tuple(p), tuple(q[:-1] for q in p), each)
        steady = np.concatenate([np.transpose(gaps), *(q[1:] - q[:-1] for q in p)], axis=1)
        first = self.conditions(y, *(q[0] for q in p))
        return np.reshape(np.concatenate([first[np.newaxis], steady])[self.row], (-1,))

    def solving(self, residual: Callable[[Any], Any], u: Any) -> Callable[[Any], Any]:
        """Return how systems with the Jacobian are solved."""
        side = 2 * (self.n + self.k) - 1
        band = Band(side, side)
        factors = band.factors(band.jacobian(lambda _, v: residual(v), 0.0, u), 0.0)
        return lambda right: -band.solve(factors, right)


class State(NamedTuple):
    """Where Newton's method is.

    Attributes
    ----------
    u:
        The unknowns.
    moved:
        How far the last step went; zero where there is no further one.
    steps, singular:
        How many were taken, and whether the system was singular.
    """

    u: Any
    moved: Any
    steps: Any
    singular: Any


def _newton(problem: Problem, start: Any) -> State:
    """Take Newton's steps, halved until what the next one would be gets smaller.

    That criterion does not depend on how equations are scaled.
    """

    def step(s: State) -> State:
        solve, left = problem.solving(problem.residual, s.u), problem.residual(s.u)
        move = solve(left)
        cost = move @ move

        def halved(trial: Any) -> tuple[Any, ...]:
            weight = 0.5 * trial[0]
            u = problem.unknowns(*_first(problem.parts(s.u - weight * move)))
            rest = solve(problem.residual(u))
            return weight, u, rest @ rest, rest @ rest < (1 - 0.4 * weight) * cost

        # From twice the step, so that a trial stands in the program once.
        _, u, rest, _ = while_loop(
            lambda trial: ~trial[3] & (trial[0] > 0.5**HALVINGS), halved, (2.0, s.u, cost, False)
        )
        good = np.isfinite(rest)
        moved = np.where(good, np.max(np.abs(u - s.u) / (1 + np.abs(s.u))), 0.0)
        singular = np.isfinite(np.sum(left)) & ~np.isfinite(cost)
        return State(np.where(good, u, s.u), moved, s.steps + 1, singular)

    return while_loop(
        lambda s: (s.moved > CLOSE) & (s.steps < STEPS), step, State(start, np.inf, 0, False)
    )


def _first(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    y, *p = parts
    return y, *(q[0] for q in p)


def solve_bvp(
    fun: Callable[..., Any], bc: Callable[..., Any], x: Any, y: Any, p: Any = None, S: Any = None,
    tol: Any = 1e-3, bc_tol: Any = None, **_: Any,
) -> OptimizeResult:  # fmt: skip
    """Solve a boundary value problem on the mesh that is given, or one with more nodes.

    Results are those at the nodes that are given; the spline has all.
    """
    mesh = None if holds(x, is_traced) else np.asarray(x, dtype=float)
    x, y = _real("x", x), _real("y", y)
    guess = _real("p", () if p is None else p)
    for name, array, rank in (("x", x, 1), ("y", y, 2), ("p", guess, 1)):
        if array.ndim != rank:
            raise ValueError(f"`{name}` must be {rank} dimensional.")
    if mesh is not None and np.any(np.diff(mesh) <= 0):
        raise ValueError("`x` must be strictly increasing.")
    if x.shape[0] in (0, 1):
        raise ValueError("at least 2 breakpoints are needed")
    if y.shape[1] != x.shape[0]:
        raise ValueError(
            f"`y` is expected to have {x.shape[0]} columns, but actually has {y.shape[1]}."
        )
    n, k = _count("states", y.shape[0]), _count("parameters", guess.shape[0])
    more: tuple[Any, ...] = (guess,) if k else ()
    limit = tol if bc_tol is None else bc_tol
    matrix = _singular(S, n)
    nodes, parts = x, 1
    while True:
        problem = Problem(fun, bc, nodes, matrix, n, k)
        start = problem.unknowns(*(stop_gradient(Traced(as_node(a))) for a in (y, *more)))
        end = _newton(problem, start)
        met, rms = map(stop_gradient, _judged(problem, end.u, tol, limit))
        status = np.where(met, np.where(np.all(rms <= tol), 0, 1), np.where(end.singular, 2, 3))
        # A decision by the numbers of the call, which is traced again where it would be another.
        if parts >= MOST_PARTS or not decided((status == 1).node, bool):
            break
        coarse, *rest = _first(problem.parts(end.u))
        more, spline = tuple(rest), _spline(problem, coarse, *rest)
        parts, nodes = parts * PARTS, _refined(nodes)
        y = spline(nodes)
    ok = status == 0
    u = root_at(problem.residual, end.u, ok, solving=problem.solving)
    states, *p = _first(problem.parts(u))
    spline = _spline(problem, states, *p)
    return OptimizeResult(
        sol=spline, p=p[0] if p else None, x=x, y=_at_mesh(states, parts),
        yp=_at_mesh(problem.slopes(nodes, states, *p), parts), rms_residuals=_worst(rms, parts),
        niter=end.steps, status=status, message=MESSAGE, success=ok,
    )  # fmt: skip


def _spline(problem: Problem, y: Any, *p: Any) -> Any:
    return CubicHermiteSpline.ours(problem.x, y, problem.slopes(problem.x, y, *p), axis=1)


def _judged(problem: Problem, u: Any, tol: Any, limit: Any) -> tuple[Any, ...]:
    """Return whether the equations are met, and SciPy's residuals of the intervals.

    The functions are called for all columns at once.
    """
    y, *p = _first(problem.parts(u))
    gaps, f, inside = problem.gaps(y, tuple(p), tuple(p), problem.slopes)
    x, h = problem.x, np.diff(problem.x)
    met = np.all(np.abs(gaps) < 2 / 3 * h * 5e-2 * tol * (1 + np.abs(inside)))
    met &= np.all(np.abs(problem.conditions(y, *p)) < limit)
    spline = CubicHermiteSpline.ours(x, y, f, axis=1)
    # Lobatto's rule with five points; at both ends there is nothing left.
    sums = 32 / 45 * np.sum((1.5 * gaps / h / (1 + np.abs(inside))) ** 2, axis=0)
    for side in (-0.5, 0.5):
        t = x[:-1] + 0.5 * h + side * h * (3 / 7) ** 0.5
        f = problem.slopes(t, spline(t), *p)
        sums = sums + 49 / 90 * np.sum(((spline(t, 1) - f) / (1 + np.abs(f))) ** 2, axis=0)
    return met, np.sqrt(0.5 * sums)


# ---------------------------------------------------------------- more nodes


def _refined(x: Any) -> Any:
    """Return a mesh with PARTS intervals for each."""
    steps = np.diff(x)[:, np.newaxis] * (np.arange(PARTS) / PARTS)
    return np.concatenate([np.reshape(x[:-1, np.newaxis] + steps, (-1,)), x[-1:]])


def _at_mesh(columns: Any, parts: int) -> Any:
    """Return the columns at the nodes of the mesh that was refined."""
    if parts == 1:
        return columns
    inner = np.reshape(columns[:, :-1], (columns.shape[0], -1, parts))[:, :, 0]
    return np.concatenate([inner, columns[:, -1:]], axis=1)


def _worst(rms: Any, parts: int) -> Any:
    return rms if parts == 1 else np.max(np.reshape(rms, (-1, parts)), axis=1)


def _real(name: str, value: Any) -> Any:
    """Return an array of floats."""
    found = 1.0 * traced_numpy.asarray(value)
    if found.dtype.kind == "c":
        raise UnsupportedError(
            f"solve_bvp: in traced code all is real, and {name} is complex: write equations of "
            "real and imaginary parts"
        )
    return found


def _count(name: str, count: Any) -> int:
    """Return how many states or parameters there are, which the code depends on."""
    if not isinstance(count, int):
        raise UnsupportedError(
            f"solve_bvp: in traced code it is known how many {name} there are: give the start by "
            "its rows, np.stack([y[0], y[1]]) or np.zeros((2, x.size))"
        )
    return count


def _singular(S: Any, n: Any) -> Any:
    """Return the matrix of the singular term."""
    if S is None:
        return None
    if holds(S, is_traced):
        raise UnsupportedError(
            "solve_bvp: in traced code S is of numbers; what it is multiplied with may be a state"
        )
    S = np.asarray(S, dtype=float)
    if S.shape != (n, n):
        raise ValueError(f"`S` is expected to have shape {(n, n)}, but actually has {S.shape}")
    return S

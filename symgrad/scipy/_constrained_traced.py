"""Minima under constraints in traced code: an augmented Lagrangian, then Newton's method.

The descent without constraints is made again and again, each time with better multipliers: it
comes down from anywhere, Hessians that are not positive included. Once it is known which
constraints hold a minimum, the conditions of Karush, Kuhn and Tucker are equations; a few of
Newton's steps give all digits, and the implicit function theorem the derivatives.

Sources: R. T. Rockafellar, The multiplier method of Hestenes and Powell applied to convex
programming, J. Optim. Theory Appl. 12, 1973; J. Nocedal, S. J. Wright, Numerical Optimization,
2nd ed., 2006, sections 12.3 and 17.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.sparse

from .._api._implicit import root_at
from .._api._matrices import hessian, jacobian
from .._api._transforms import grad
from .._core.ops.np_common import as_array, is_traced
from .._syntax._control import fori_loop, while_loop
from ._descent import Box, Model, Tests, descend
from ._solver_arguments import as_tuple

#: How hard constraints are pulled at first, and by what harder if that is too little.
PULL, HARDER, HARDEST = 10.0, 10.0, 1e8

#: Descents at most, and Newton's steps at the end.
ROUNDS, POLISHED = 60, 6

Function = Callable[[Any], Any]

#: An array that is to be zero (True) or not negative (False).
Part = tuple[bool, Any]


class Conditions(NamedTuple):
    """Numbers of which some are to be zero and the others not negative.

    Attributes
    ----------
    at:
        Their values at a point, of shape (m,).
    zero:
        Which are to be zero.
    """

    at: Function
    zero: Any


class Held(NamedTuple):
    """A minimum under constraints.

    Attributes
    ----------
    x, multipliers:
        The point and what the constraints weigh; nan unless ``ok``.
    ok:
        Whether the conditions of a minimum hold.
    steps:
        How many steps were tried.
    """

    x: Any
    multipliers: Any
    ok: Any
    steps: Any


def _between(value: Any, lower: Any, upper: Any) -> Iterator[Part]:
    """Yield what ``lower <= value <= upper`` says, without bounds that are infinite."""
    value = np.reshape(as_array(value), (-1,))
    low, high = (
        b if is_traced(b) else np.broadcast_to(np.asarray(b, dtype=float), value.shape)
        for b in (lower, upper)
    )
    known = not is_traced(low) and not is_traced(high)
    equal = low == high if known else np.zeros(value.shape, bool)
    if equal.any():
        yield True, _some(value - low, equal)
    for part, bound in ((value - low, low), (high - value, high)):
        if is_traced(bound):  # far from an infinite one, at whatever distance
            yield False, np.where(np.isinf(bound), 1.0, part)
        elif (finite := ~equal & np.isfinite(bound)).any():
            yield False, _some(part, finite)


def _some(part: Any, chosen: Any) -> Any:
    return part if chosen.all() else part[np.flatnonzero(chosen)]


def _parts(constraint: Any, x: Any, number: int) -> Iterator[Part]:
    if isinstance(constraint, scipy.optimize.NonlinearConstraint):
        yield from _between(constraint.fun(x), constraint.lb, constraint.ub)
    elif isinstance(constraint, scipy.optimize.LinearConstraint):
        matrix = constraint.A.toarray() if scipy.sparse.issparse(constraint.A) else constraint.A
        yield from _between(matrix @ x, constraint.lb, constraint.ub)
    else:
        if "type" not in constraint:
            raise KeyError(f"Constraint {number} has no type defined.")
        kind = str(constraint["type"]).lower()
        if kind not in ("eq", "ineq"):
            raise ValueError(f"Unknown constraint type '{constraint['type']}'.")
        if "fun" not in constraint:
            raise KeyError(f"Constraint {number} has no function defined.")
        value = constraint["fun"](x, *as_tuple(constraint.get("args", ())))
        yield kind == "eq", np.reshape(as_array(value), (-1,))


def conditions_of(constraints: Any, start: Any, box: Box | None) -> Conditions | None:
    """Return SciPy's constraints and bounds as conditions; None if they say nothing.

    Raises
    ------
    KeyError, ValueError
        As SciPy, for a dictionary that is no constraint.
    """
    given = constraints if isinstance(constraints, (list, tuple)) else [constraints]

    def parts(x: Any) -> list[Part]:
        found = [p for k, c in enumerate(given) for p in _parts(c, x, k)]
        return found + ([] if box is None else list(_between(x, box.lower, box.upper)))

    first = parts(start)
    if not first:
        return None
    zero = np.concatenate([0.0 * value + float(zero) for zero, value in first]) > 0.5
    return Conditions(lambda x: np.concatenate([1.0 * value for _, value in parts(x)]), zero)


def held(value: Function, conditions: Conditions, start: Any, level: Any, most: Any) -> Held:
    """Minimise ``value`` under conditions.

    Parameters
    ----------
    value:
        The function of a vector of shape (n,).
    conditions:
        What is to hold.
    start:
        Where to begin; conditions need not hold there.
    level:
        The largest slope and violation that a minimum may have.
    most:
        How many steps a descent takes at most.
    """
    n, zero = start.shape[0], conditions.zero

    def weighed(x: Any, multipliers: Any, pull: Any) -> Any:
        """Return the multipliers as they are after a descent to x."""
        moved = multipliers - pull * conditions.at(x)
        return np.where(zero, moved, np.maximum(moved, 0.0))

    def lowest(x: Any, multipliers: Any, pull: Any) -> Any:
        def augmented(x: Any) -> Any:
            after = weighed(x, multipliers, pull)
            return value(x) + (after @ after) / (2 * pull)

        slope, curved = grad(augmented), hessian(augmented)

        def model(x: Any) -> Model:
            along, axes = np.linalg.eigh(curved(x))  # where it bends down Newton's step leads up
            return Model(augmented(x), slope(x), (axes * np.abs(along)) @ axes.T)

        return descend(model, x, Tests(0.0, 1e-10, 1e-2 * level), most)

    def going(carry: Any) -> Any:
        *_, worst, _, rounds = carry
        return (worst > 0.1 * level) & (rounds < ROUNDS)

    def improved(carry: Any) -> Any:
        x, multipliers, pull, worst, steps, rounds = carry
        found = lowest(x, multipliers, pull)
        after, at = weighed(found.x, multipliers, pull), conditions.at(found.x)
        off = np.max(np.abs(np.where(zero, at, np.minimum(at, after / pull))))
        harder = np.where(off > 0.25 * worst, np.minimum(HARDER * pull, HARDEST), pull)
        off = np.where(np.isfinite(off), off, -1.0)  # no way on
        return found.x, after, harder, off, steps + found.steps, rounds + 1

    none = 0.0 * conditions.at(start)
    x, multipliers, *_, steps, _ = while_loop(going, improved, (start, none, PULL, np.inf, 0, 0))

    active = zero | (multipliers > 0)

    def equations(z: Any) -> Any:
        x, weights = z[:n], z[n:]
        slope = grad(lambda x: value(x) - weights @ conditions.at(x))(x)
        return np.concatenate([slope, np.where(active, conditions.at(x), weights)])

    def polished(_: Any, z: Any) -> Any:
        rest = equations(z)
        closer = z - np.linalg.solve(jacobian(equations)(z), rest)
        better = np.max(np.abs(equations(closer))) < np.max(np.abs(rest))
        return np.where(better, closer, z)

    z = fori_loop(0, POLISHED, polished, np.concatenate([x, multipliers]))
    x, multipliers = z[:n], z[n:]
    at = conditions.at(x)
    ok = np.max(np.abs(equations(z))) <= level
    ok &= np.min(np.where(zero, 0.0, np.minimum(at, multipliers))) >= -level
    z = root_at(equations, z, ok)
    return Held(z[:n], z[n:], ok, steps)

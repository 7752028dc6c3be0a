"""Backward differentiation of orders 1 to 5, as SciPy's BDF.

The state is kept as backward differences; steps have one length for some time, and when it
changes, the differences become those between steps of the new length.

Source: L. F. Shampine, M. W. Reichelt, The MATLAB ODE Suite, SIAM J. Sci. Comput. 18, 1997
(quasi-constant steps, modified formulas).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from .. import numpy as traced_numpy
from .._syntax._control import cond, scan
from ._ode_loop import LARGEST, SMALLEST, TOO_SMALL, Control
from ._ode_newton import Implicit, Progress, newton, size
from ._ode_structure import Slope, System, alone

#: The highest order, and how many differences are kept.
ORDERS, KEPT = 5, 8
_KAPPA = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
_GAMMA = np.append(0, np.cumsum(1 / np.arange(1, ORDERS + 1)))
_ALPHA = (1 - _KAPPA) * _GAMMA
_ERROR = np.append(_KAPPA * _GAMMA + 1 / np.arange(1, ORDERS + 2), np.inf)  # no higher one
_PLACE = np.arange(KEPT)


#: How differences follow from those between steps of another length, if that is the same.
_SAME = np.array([[(-1) ** k * math.comb(j, k) for j in _PLACE[:-2]] for k in _PLACE[:-2]])


def spaced(differences: Any, order: Any, ratio: Any) -> Any:
    """Return the differences between steps that are so many times as long.

    Both are a loop: written out they would be a third of the program.
    """
    few, other = _PLACE[:-2], differences[: ORDERS + 1]

    def by_one(row: Any, i: Any) -> Any:
        row = np.where(i == 0, 1.0, row * ((i - 1 - ratio * few) / np.maximum(i, 1)))
        return row, np.where(i <= order, row, 0.0) @ _SAME

    changes = scan(by_one, np.zeros(ORDERS + 1), few)[1]

    def entered(none: Any, row: Any) -> Any:
        place, weights, before = row
        return none, np.where(place <= order, weights @ other, before)

    changed = scan(entered, 0.0, (few, np.transpose(changes), other))[1]
    return np.concatenate([changed, differences[ORDERS + 1 :]])


def entered(differences: Any, order: Any, last: Any) -> Any:
    """Return the differences after a step, the highest of which is known."""
    highest = last - differences[order + 1]

    def lower(above: Any, row: Any) -> Any:
        place, before = row
        now = np.where(place <= order, above + before, before)
        now = np.where(place == order + 1, last, np.where(place == order + 2, highest, now))
        return np.where(place <= order, now, above), now

    return scan(lower, last, (_PLACE, differences), reverse=True)[1]


def _newtons_basis() -> Any:
    """Return the powers of x in ``u*(u+1)*...*(u+k-1)/k!`` with ``u = x - 1``, without the 0th."""
    found, basis = np.zeros((ORDERS, ORDERS + 1)), Polynomial([1.0])
    for k in range(1, ORDERS + 1):
        basis = basis * Polynomial([k - 2.0, 1.0]) / k
        found[:k, k] = basis.coef[1:]
    return found


_BASIS = _newtons_basis()


class Differences(NamedTuple):
    """The state of BDF.

    Attributes
    ----------
    at:
        Where it is.
    differences:
        The state, its first backward difference, and so on, shape (8, n).
    spacing:
        The length of steps between which they are differences.
    order, equal:
        The order of the next step, and how many steps of this length and order there were.
    """

    at: Progress
    differences: Any
    spacing: Any
    order: Any
    equal: Any


class Next(NamedTuple):
    """What an attempt changes for the next one.

    Attributes
    ----------
    differences, order, equal:
        As of :class:`Differences`.
    factor:
        How many times as long the next step is.
    factored:
        Whether the factors are good for it.
    """

    differences: Any
    order: Any
    equal: Any
    factor: Any
    factored: Any


class BDF(Implicit):
    """Backward differentiation of orders 1 to 5."""

    order, rows, most = 1, ORDERS + 1, 4

    def first(self, start: Progress, f: Any, h: Any) -> Differences:
        none = np.zeros((KEPT - 2, 1)) * start.y
        differences = np.concatenate([np.stack([start.y, f * h]), none])
        return Differences(start, differences, start.length, 1, 0)

    def factors(self, system: System, jacobian: Any, unit: Any) -> list[Any]:
        return [alone(system.factors(unit * jacobian, 1.0))]

    def attempt(
        self, slope: Slope, system: System, state: Differences, control: Control
    ) -> Differences:
        at, differences, spacing, order, equal = state
        aim = self.aimed(at, control)
        ratio = aim.length / spacing
        differences = cond(
            ratio == 1, lambda: differences, lambda: spaced(differences, order, ratio)
        )
        known = np.where(order >= _PLACE, 1.0, 0.0)
        predicted = known @ differences
        alpha = traced_numpy.take(_ALPHA, order)
        psi = (known[: ORDERS + 1] * _GAMMA) @ differences[: ORDERS + 1] / alpha
        c = aim.h / alpha
        # The first Jacobian is that of the beginning.
        begins = at.tried == 0
        there = np.where(begins, at.t, aim.end), np.where(begins, at.y, predicted)
        at = self.prepared(slope, system, at, at.factored & ~aim.last, *there, c)
        scale = control.atol + control.rtol * np.abs(predicted)

        def correction(d: Any) -> tuple[Any, Any]:
            # The factors may be those of another c.
            change = system.solve(at.factors[0], c * slope(aim.end, predicted + d) - psi - d)
            return change, size(change / scale)

        found = newton(correction, 0.0 * predicted, self.most, self.tolerance(control))
        y, error = predicted + found.x, traced_numpy.take(_ERROR, order) * found.x
        scale = control.atol + control.rtol * np.abs(y)
        error = size(error / scale)
        safety = 0.9 * (2 * self.most + 1) / (2 * self.most + found.iterations)
        converged, good = found.converged, found.converged & ~(error > 1) & ~aim.lost
        again = ~converged & ~at.current  # with a new Jacobian
        equal = np.where(aim.bounded | aim.last, 0, equal)
        length = np.abs(aim.h)

        # What both sides have in common, large factors, is not a result of theirs: it would be
        # copied.
        def rejected() -> Next:
            shorter = np.maximum(SMALLEST, safety * error ** (-1 / (order + 1)))
            factor = np.where(converged, shorter, np.where(again, 1.0, 0.5))
            return Next(differences, order, np.where(again, equal, 0), factor, converged)

        def accepted() -> Next:
            new = entered(differences, order, found.x)

            def changed() -> Next:
                """Take the order by which the next step is longest."""
                lower, higher = (
                    size(traced_numpy.take(_ERROR, order + k) * new[order + k + 1] / scale)
                    for k in (-1, 1)
                )
                lower = np.where(order > 1, lower, np.inf)
                higher = np.where(order < ORDERS, higher, np.inf)
                errors = np.stack([lower, error, higher])
                factors = errors ** (-1 / (order + np.arange(3)))
                factor = np.minimum(LARGEST, safety * np.max(factors))
                return Next(new, order + np.argmax(factors) - 1, 0, factor, False)

            same = Next(new, order, equal + 1, 1.0, True)
            return cond(equal + 1 < order + 1, lambda: same, changed)

        then: Next = cond(good, accepted, rejected)
        kept = Progress(
            t=np.where(good, aim.end, at.t), y=np.where(good, y, at.y),
            length=length * then.factor,
            jacobian=at.jacobian, factors=at.factors, factored=then.factored, refresh=again,
            current=again | (~good & at.current), good=good,
            status=np.where(aim.lost, TOO_SMALL, at.status), tried=at.tried,
            evaluations=at.evaluations + found.iterations,
            jacobians=at.jacobians + np.where(again, 1, 0), factorisations=at.factorisations,
        )  # fmt: skip
        return Differences(kept, then.differences, length, then.order, then.equal)

    def kept(self, state: Differences) -> tuple[Any, Any]:
        return state.differences[: ORDERS + 1], state.order

    def polynomials(self, kept: Any, orders: Any) -> Any:
        known = np.arange(ORDERS + 1) <= orders[..., np.newaxis]
        return np.swapaxes(kept * known[..., np.newaxis], -1, -2) @ _BASIS.T

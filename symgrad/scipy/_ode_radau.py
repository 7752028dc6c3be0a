"""Collocation of order 5 in three points, as SciPy's Radau.

The equations of the three points are one real and one complex system, by the eigenvectors of the
method's table.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, section IV.8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._api._control import cond, scan
from ._ode_loop import LARGEST, SMALLEST, TOO_SMALL, Control
from ._ode_newton import Implicit, Progress, newton, size
from ._ode_structure import Slope, System

_ROOT = 6**0.5
_C = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1])
_E = np.array([-13 - 7 * _ROOT, -13 + 7 * _ROOT, -1]) / 3
_REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
_COMPLEX = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)) - 0.5j * (3 ** (5 / 6) + 3 ** (7 / 6))
#: The eigenvectors of the table, for one real eigenvalue and real and imaginary part of another.
_T = np.array([
    [0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
    [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
    [1, 1, 0],
])  # fmt: skip
_TI = np.array([
    [4.17871859155190428, 0.32768282076106237, 0.52337644549944951],
    [-4.17871859155190428, -0.32768282076106237, 0.47662355450055044],
    [0.50287263494578682, -2.57192694985560522, 0.59603920482822492],
])  # fmt: skip
#: Powers of x by the three parts of a step.
_P = np.array([
    [13 / 3 + 7 * _ROOT / 3, -23 / 3 - 22 * _ROOT / 3, 10 / 3 + 5 * _ROOT],
    [13 / 3 - 7 * _ROOT / 3, -23 / 3 + 22 * _ROOT / 3, 10 / 3 - 5 * _ROOT],
    [1 / 3, -8 / 3, 10 / 3],
]).T  # fmt: skip


class Collocation(NamedTuple):
    """The state of Radau.

    Attributes
    ----------
    at:
        Where it is.
    f:
        The slope there.
    q, h:
        The polynomial of the last step, shape (3, n), and how long that was.
    length, error:
        How long the last step was to be when it was begun, and its error; nan: not known.
    begun, rejected:
        How long this step was to be, and whether it was once too long for its error.
    """

    at: Progress
    f: Any
    q: Any
    h: Any
    length: Any
    error: Any
    begun: Any
    rejected: Any


class Radau(Implicit):
    """Collocation of order 5 in three points."""

    order, rows, most = 3, 3, 6

    def first(self, start: Progress, f: Any, h: Any) -> Collocation:
        q = np.zeros((3, 1)) * start.y
        start = start._replace(current=True)
        return Collocation(start, f, q, h, np.nan, np.nan, start.length, False)

    def factors(self, system: System, jacobian: Any, unit: Any) -> list[Any]:
        return [system.factors(jacobian, shift / unit) for shift in (_REAL, _COMPLEX)]

    def attempt(
        self, slope: Slope, system: System, state: Collocation, control: Control
    ) -> Collocation:
        at, f = state.at, state.f
        aim = self.aimed(at, control)
        # As at the beginning, of what was before a bound nothing follows.
        before = np.where(aim.bounded, np.nan, state.length)
        error_before = np.where(aim.bounded, np.nan, state.error)
        begun = np.where(at.good, at.length, state.begun)
        rejected = state.rejected & ~at.good
        h, t, y = aim.h, at.t, at.y
        x = (1 + h * _C / state.h)[:, np.newaxis]
        ahead = (x ** np.arange(1, 4) - 1) @ state.q
        at = self.prepared(slope, system, at, at.factored, t, y, h)
        scale = control.atol + control.rtol * np.abs(y)

        def slopes(z: Any) -> Any:
            def one(_: Any, row: Any) -> Any:
                c, z = row
                return None, slope(t + h * c, y + z)

            return scan(one, None, (_C, z))[1]

        def correction(w: Any) -> tuple[Any, Any]:
            part = _TI @ slopes(_T @ w)
            real = system.solve(at.factors[0], part[0] - _REAL / h * w[0])
            both = part[1] + 1j * part[2] - _COMPLEX / h * (w[1] + 1j * w[2])
            both = system.solve(at.factors[1], both)
            change = np.stack([real, np.real(both), np.imag(both)])
            return change, size(change / scale)

        found = newton(correction, _TI @ ahead, self.most, self.tolerance(control))
        z, converged = _T @ found.x, found.converged
        new, weighted = y + z[2], _E @ z / h
        scale = control.atol + control.rtol * np.maximum(np.abs(y), np.abs(new))
        change = system.solve(at.factors[0], f + weighted)
        error = size(change / scale)
        twice = converged & rejected & (error > 1)
        error = cond(
            twice,
            lambda: size(system.solve(at.factors[0], slope(t, y + change) + weighted) / scale),
            lambda: error,
        )
        good = converged & ~(error > 1) & ~aim.lost
        again = ~converged & ~at.current  # with a new Jacobian
        safety = 0.9 * (2 * self.most + 1) / (2 * self.most + found.iterations)
        length = np.abs(h)
        multiplier = length / before * np.sqrt(np.sqrt(error_before / error))
        known = (before == before) & (error != 0)
        factor = np.where(known, np.minimum(1.0, multiplier), 1.0) / np.sqrt(np.sqrt(error))
        factor = safety * factor
        shorter = np.where(converged, np.maximum(SMALLEST, factor), np.where(again, 1.0, 0.5))
        slow = (found.iterations > 2) & (found.rate > 1e-3)
        longer = np.minimum(LARGEST, factor)
        as_before = ~slow & (longer < 1.2)
        longer = np.where(as_before, 1.0, longer)
        count = 3 * found.iterations + np.where(twice, 1, 0) + np.where(good, 1, 0)
        refresh = np.where(good, slow, again)
        kept = at._replace(
            t=np.where(good, aim.end, t),
            y=np.where(good, new, y),
            length=length * np.where(good, longer, shorter),
            factored=good & as_before,
            refresh=refresh,
            current=np.where(good, slow, again | at.current),
            jacobians=at.jacobians + np.where(refresh, 1, 0),
            good=good,
            status=np.where(aim.lost, TOO_SMALL, at.status),
            evaluations=at.evaluations + count,
        )
        return Collocation(
            kept,
            cond(good, lambda: slope(aim.end, new), lambda: f),
            np.where(good, _P @ z, state.q),
            np.where(good, h, state.h),
            np.where(good, begun, before),
            np.where(good, error, error_before),
            begun,
            rejected | (converged & ~good),
        )

    def kept(self, state: Collocation) -> tuple[Any, Any]:
        return state.q, 3

    def polynomials(self, kept: Any, orders: Any) -> Any:
        return np.swapaxes(kept, -1, -2)

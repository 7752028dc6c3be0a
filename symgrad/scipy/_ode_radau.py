"""Collocation in the right Radau points: in three as SciPy's Radau, and in more.

The equations of the points are one real and some complex systems, by the eigenvectors of the
method's table.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, section IV.8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import legendre

from .._syntax._control import cond, scan
from ._ode_loop import LARGEST, SMALLEST, TOO_SMALL, Control, inverse_root
from ._ode_newton import Implicit, Progress, newton, size
from ._ode_structure import Slope, System, alone


class Table(NamedTuple):
    """What a method of some points consists of.

    Attributes
    ----------
    c:
        The points, of (0, 1].
    real, shifts:
        The eigenvalues of the table's inverse: the real one, and one of each complex pair.
    t, inverse:
        Eigenvectors: stages of shape (s, n) by their parts, and the reverse. The parts are the
        real one's, then real and imaginary part of the others.
    e:
        The error by the stages.
    p:
        Powers of x by the stages.
    x, value, derivative:
        A place far from the points, and the polynomial there, by the stages.
    """

    c: Any
    real: float
    shifts: list[complex]
    t: Any
    inverse: Any
    e: Any
    p: Any
    x: float
    value: Any
    derivative: Any


def table_of(stages: int) -> Table:
    """Return the table of the right Radau points."""
    difference = np.zeros(stages + 1)  # of two polynomials of Legendre
    difference[-2:] = -1, 1
    x = np.sort(legendre.legroots(difference).real)
    x[-1] = 1
    values = legendre.legvander(x, stages - 1)
    integrals = legendre.legval(x, legendre.legint(np.eye(stages), lbnd=-1)).T / 2
    a, c = integrals @ np.linalg.inv(values), (x + 1) / 2
    eigenvalues, vectors = np.linalg.eig(np.linalg.inv(a))
    vectors = vectors / vectors[-1]
    order = np.argsort(-eigenvalues.real)
    one, *others = (k for k in order if eigenvalues[k].imag <= 0)
    parts = [vectors[:, one].real]
    for k in others:
        parts += vectors[:, k].real, -vectors[:, k].imag
    t, real = np.stack(parts, axis=1), float(eigenvalues[one].real)
    powers = c[:, np.newaxis] ** np.arange(stages)
    # A quadrature of the same order that has the slope at the beginning, by 1 / real.
    moments = 1 / np.arange(1.0, stages + 1)
    moments[0] -= 1 / real
    b = np.linalg.solve(powers.T, moments)
    e = real * (b - a[-1]) @ np.linalg.inv(a)
    p = np.linalg.inv(c[:, np.newaxis] * powers)
    # Where the polynomial that vanishes in all points and at the beginning is largest.
    vanishing = np.poly1d([0, *c], r=True)
    extrema = vanishing.deriv().roots.real
    x = extrema[np.argmax(np.abs(vanishing(extrema)))]
    degrees = np.arange(1, stages + 1)
    value, derivative = x**degrees @ p, (degrees * x ** (degrees - 1)) @ p
    shifts = eigenvalues[others].tolist()
    return Table(c, real, shifts, t, np.linalg.inv(t), e, p, x, value, derivative)


#: Up to so many points products with a table are straight code. Of five points a loop takes 1.02 of
#: the time, and a first call 0.92; of seven both are less.
FEW = 3


def _product(table: Any, rows: Any) -> Any:
    """Return ``table @ rows``."""
    if len(table) <= FEW:
        return table @ rows
    return scan(lambda none, row: (none, row @ rows), None, table)[1]


class Collocation(NamedTuple):
    """The state of Radau.

    Attributes
    ----------
    at:
        Where it is.
    f:
        The slope there.
    q, h:
        The polynomial of the last step, shape (s, n), and how long that was.
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
    """Collocation of order 2*s - 1 in s points, with errors and interpolants of order s.

    Parameters
    ----------
    stages:
        The number of points, s.
    most:
        The number of corrections of Newton's method after which it is given up.
    at_all_times:
        Whether the interpolant of a step has to be as exact as its end. The error of the end says
        nothing of it where the system is stiff: there the filter divides by the stiffness.
    """

    def __init__(self, stages: int, most: int, at_all_times: bool) -> None:
        self.order = self.rows = stages
        self.most, self.table, self.at_all_times = most, table_of(stages), at_all_times

    def first(self, start: Progress, f: Any, h: Any) -> Collocation:
        q = np.zeros((self.rows, 1)) * start.y
        start = start._replace(current=True)
        return Collocation(start, f, q, h, np.nan, np.nan, start.length, False)

    def factors(self, system: System, jacobian: Any, unit: Any) -> list[Any]:
        shifts = self.table.real, *self.table.shifts
        return [alone(system.factors(jacobian, shift / unit)) for shift in shifts]

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
        table = self.table
        ahead = self._ahead(state.q, 1 + h * table.c / state.h)
        at = self.prepared(slope, system, at, at.factored, t, y, h)
        scale = control.atol + control.rtol * np.abs(y)

        def slopes(z: Any) -> Any:
            def one(_: Any, row: Any) -> Any:
                c, z = row
                return None, slope(t + h * c, y + z)

            return scan(one, None, (table.c, z))[1]

        def correction(w: Any) -> tuple[Any, Any]:
            part = _product(table.inverse, slopes(_product(table.t, w)))
            one, *others = at.factors
            change = [system.solve(one, part[0] - table.real / h * w[0])]
            for k, (shift, factors) in enumerate(zip(table.shifts, others, strict=True)):
                a, b = 2 * k + 1, 2 * k + 2
                both = part[a] + 1j * part[b] - shift / h * (w[a] + 1j * w[b])
                both = system.solve(factors, both)
                change += np.real(both), np.imag(both)
            change = np.stack(change)
            return change, size(change / scale)

        found = newton(
            correction, _product(table.inverse, ahead), self.most, self.tolerance(control)
        )
        z, converged = _product(table.t, found.x), found.converged
        new, weighted = y + z[-1], table.e @ z / h
        scale = control.atol + control.rtol * np.maximum(np.abs(y), np.abs(new))
        change = system.solve(at.factors[0], f + weighted)
        error = size(change / scale)
        if self.at_all_times:
            # The defect at a place between the points, filtered like the error of the end.
            twice = converged & ~(error > 1)
            error = cond(
                twice,
                lambda: np.maximum(error, self._error_between(slope, system, at, z, h, scale)),
                lambda: error,
            )
        else:
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
        degree = self.order + 1
        multiplier = length / before * inverse_root(error / error_before, degree)
        known = (before == before) & (error != 0)
        factor = np.where(known, np.minimum(1.0, multiplier), 1.0)
        factor = safety * factor * inverse_root(error, degree)
        shorter = np.where(converged, np.maximum(SMALLEST, factor), np.where(again, 1.0, 0.5))
        slow = (found.iterations > 2) & (found.rate > 1e-3)
        longer = np.minimum(LARGEST, factor)
        as_before = ~slow & (longer < 1.2)
        longer = np.where(as_before, 1.0, longer)
        count = self.rows * found.iterations + np.where(twice, 1, 0) + np.where(good, 1, 0)
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
            np.where(good, _product(table.p, z), state.q),
            np.where(good, h, state.h),
            np.where(good, begun, before),
            np.where(good, error, error_before),
            begun,
            rejected | (converged & ~good),
        )

    def _error_between(
        self, slope: Slope, system: System, at: Progress, z: Any, h: Any, scale: Any
    ) -> Any:
        """Return how far the step's polynomial is from the solution between the points."""
        table = self.table
        there = slope(at.t + h * table.x, at.y + table.value @ z)
        return size(system.solve(at.factors[0], there - table.derivative @ z / h) / scale)

    def _ahead(self, q: Any, x: Any) -> Any:
        """Return what the last step's polynomial says beyond its end, at some x > 1."""
        x = x[:, np.newaxis]
        value = q[-1] * x
        for row in q[-2::-1]:
            value = (value + row) * x
        return value - np.sum(q, axis=0)

    def kept(self, state: Collocation) -> tuple[Any, Any]:
        return state.q, self.rows

    def polynomials(self, kept: Any, orders: Any) -> Any:
        return np.swapaxes(kept, -1, -2)

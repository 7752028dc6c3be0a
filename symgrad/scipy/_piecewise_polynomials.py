"""Polynomials in pieces: cubic splines, and others through points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.interpolate

from .. import numpy as traced_numpy
from .._core.ops.np_linalg import solve_banded
from ..errors import ArgumentError, ShapeError, UnsupportedError
from ._versions import Standing, floats, increasing, refuse_option, require_lengths

take: Callable[..., Any] = traced_numpy.take
search: Callable[..., Any] = traced_numpy.searchsorted


def beside(x: Any, rows: Any) -> Any:
    """Return x with further axes of length one, for a product with rows for each x."""
    return x.reshape((*x.shape, *(1,) * (rows.ndim - 1)))


def moved(value: Any, places: int, axis: int) -> Any:
    """Return values with their first axes, as many as places have, where the axis was."""
    return np.moveaxis(value, range(places), range(axis, axis + places)) if axis else value


def axis_of(axis: int, y: Any) -> int:
    """Return an axis counted from the front."""
    return axis + y.ndim if axis < 0 else axis


def wrapped(x: Any, first: Any, last: Any) -> Any:
    """Return places within a period."""
    return first + (x - first) % (last - first)


# ---------------------------------------------------------------- pieces of polynomials


class PPoly(metaclass=Standing, of=scipy.interpolate.PPoly):
    """Polynomials in pieces, as ``scipy.interpolate.PPoly``.

    Parameters
    ----------
    c:
        Coefficients, shape ``(k, m, ...)``, the highest power first.
    x:
        The ``m + 1`` ends of the pieces, increasing.
    extrapolate:
        Whether the first and the last piece go on; nan beyond them otherwise. ``"periodic"``:
        whether all of them are repeated.
    axis:
        Where the axis of the places is among those of the results.
    checked:
        Whether the ends are known to increase, and the coefficients' axes are the first ones. Else
        these are ``axis`` and the next, as in SciPy.

    Examples
    --------
    >>> c = np.array([[1.0], [2.0], [3.0]])
    >>> sg.grad(lambda x: PPoly(c, [0.0, 4.0])(x))(2.0)
    np.float64(6.0)
    """

    def __init__(
        self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0, checked: bool = False
    ) -> None:
        self.c, self.x, self.axis = floats(c), floats(x), axis
        self.extrapolate = True if extrapolate is None else extrapolate
        if not checked:  # of a spline made outside that would take longer than a value
            self.c = np.moveaxis(self.c, (axis, axis + 1), (0, 1))
            self.c = increasing(np.diff(self.x), self.c)
        require_lengths("PPoly", "x and coefficients", self.x.shape[0] - 1, self.c.shape[1])

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return values, or derivatives of order ``nu``; of shape ``x.shape + c.shape[2:]``."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        x, beyond = floats(x), self.extrapolate if extrapolate is None else extrapolate
        if isinstance(beyond, str):
            x = wrapped(x, self.x[0], self.x[-1])
        piece = np.clip(search(self.x, x, side="right") - 1, 0, self.x.shape[0] - 2)
        past = beside(x - take(self.x, piece), self.c[0])
        value = take(self.c[0], piece, axis=0)
        for row in self.c[1:]:
            value = value * past + take(row, piece, axis=0)
        if not beyond:
            within = beside((x >= self.x[0]) & (x <= self.x[-1]), self.c[0])
            value = np.where(within, value, value * np.nan)  # nor has it derivatives
        return moved(value, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of order ``nu``."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            powers = np.arange(len(c) - 1, 0, -1.0)
            c = beside(powers, c) * c[:-1] if len(c) > 1 else 0.0 * c
        return PPoly.ours(c, self.x, self.extrapolate, self.axis, checked=True)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the integral from the first of the ends, ``nu`` times."""
        if nu <= 0:
            return self.derivative(-nu)
        c, beyond = self.c, self.extrapolate if isinstance(self.extrapolate, bool) else False
        for _ in range(nu):
            powers = np.arange(len(c), 0, -1.0)
            higher = c / beside(powers, c)
            whole = higher[0]
            width = beside(np.diff(self.x), whole)
            for row in higher[1:]:
                whole = whole * width + row
            sums = np.cumsum(whole * width, axis=0)
            start = traced_numpy.concatenate([0.0 * sums[:1], sums[:-1]])
            c = traced_numpy.concatenate([higher, start[None]])
        return PPoly.ours(c, self.x, beyond, self.axis, checked=True)

    def solve(self, y: Any = 0.0, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: at how many places a value is taken depends on values."""
        raise UnsupportedError(
            "how many roots a spline has depends on values. Write instead: "
            "scipy.optimize.brentq(spline, a, b), which finds one"
        )

    def roots(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse, as :meth:`solve`."""
        self.solve()

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b."""
        whole = self.antiderivative()
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(beyond, str):
            return over_periods(whole, a, b, self.x[0], self.x[-1])
        return whole(b, 0, beyond) - whole(a, 0, beyond)


def over_periods(whole: Any, a: Any, b: Any, first: Any, last: Any) -> Any:
    """Return an integral from a to b of what comes again, by the antiderivative in a period.

    Over whole periods, and from where each limit is within its own.
    """
    turns = np.floor((floats(b) - first) / (last - first)) - np.floor(
        (floats(a) - first) / (last - first)
    )
    ends = [whole(wrapped(floats(x), first, last), 0, True) for x in (b, a)]
    return turns * (whole(last, 0, True) - whole(first, 0, True)) + ends[0] - ends[1]


class CubicHermiteSpline(PPoly, of=scipy.interpolate.CubicHermiteSpline):
    """Cubic pieces with given values and slopes, as ``scipy.interpolate.CubicHermiteSpline``.

    Examples
    --------
    >>> t = np.array([0.0, 1.0])
    >>> sg.grad(lambda slopes: CubicHermiteSpline(t, t, slopes)(0.5))(np.ones(2))
    array([ 0.125, -0.125])
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        axis = axis_of(axis, floats(y))
        x, y, s = floats(x), np.moveaxis(floats(y), axis, 0), np.moveaxis(floats(dydx), axis, 0)
        x = increasing(np.diff(x), x)
        dx = beside(np.diff(x), y)
        slope = np.diff(y, axis=0) / dx
        t = (s[:-1] + s[1:] - 2 * slope) / dx
        c = traced_numpy.stack([t / dx, (slope - s[:-1]) / dx - t, s[:-1], y[:-1]])
        super().__init__(c, x, extrapolate, axis, checked=True)


def _end(condition: Any) -> tuple[int, Any]:
    """Return which derivative is given at an end, and what it is."""
    known = {"clamped": (1, 0.0), "natural": (2, 0.0)}
    if isinstance(condition, str):
        if condition not in known:
            refuse_option(
                "CubicSpline", "bc_type", condition, "'not-a-knot', 'natural' or 'clamped'"
            )
        return known[condition]
    order, value = condition
    if order not in (1, 2):
        raise ArgumentError(f"CubicSpline: the order of a derivative at an end is {order}")
    return order, value


class CubicSpline(CubicHermiteSpline, of=scipy.interpolate.CubicSpline):
    """The cubic spline through points, as ``scipy.interpolate.CubicSpline``.

    Parameters
    ----------
    x, y:
        Places, shape ``(n,)``, increasing, and values there, shape ``(n, ...)``.
    bc_type:
        ``"not-a-knot"``, ``"natural"``, ``"clamped"``, ``"periodic"``, or for each end one of
        these but the last, or ``(order, value)``.

    Examples
    --------
    >>> t = np.arange(4.0)
    >>> sg.grad(lambda y: CubicSpline(t, y)(1.5))(t**2).round(4)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, y = floats(x), floats(y)
        axis = axis_of(axis, y)
        rows = np.moveaxis(y, axis, 0)
        if x.ndim != 1 or x.shape[0] != rows.shape[0]:
            raise ShapeError(f"CubicSpline: x of shape {x.shape} and y of shape {y.shape}")
        if isinstance(bc_type, str) and bc_type == "periodic":
            slopes = _periodic_slopes(x, rows)
            extrapolate = "periodic" if extrapolate is None else extrapolate
        else:
            slopes = _slopes(x, rows, bc_type)
        super().__init__(x, y, np.moveaxis(slopes, 0, axis), axis, extrapolate)


def _periodic_slopes(x: Any, y: Any) -> Any:
    """Return slopes without jumps of the second derivative from the last piece to the first.

    They are nan where the first and the last value differ, as SciPy refuses them.
    """
    dx = np.diff(x)
    slope = np.diff(y, axis=0) / beside(dx, y)
    n = dx.shape[0]
    before, mean = np.roll(dx, 1), np.roll(slope, 1, axis=0)
    right = 3 * (beside(dx, y) * mean + beside(before, y) * slope)
    main = 2 * (before + dx)
    if n < 3:  # the neighbours on both sides are the same
        eye = np.eye(int(n))
        left, other = dx[:, None] * np.roll(eye, -1, 1), before[:, None] * np.roll(eye, 1, 1)
        matrix = np.diag(main) + left + other
        found = np.linalg.solve(matrix, right.reshape((n, -1))).reshape(slope.shape)
    else:
        # But for the corners the matrix is tridiagonal; they are a matrix of rank one, and the
        # system is solved by the formula of Sherman and Morrison.
        start, top, bottom = main[0], dx[0], before[-1]
        join = traced_numpy.concatenate
        inner = main[1:-1]
        main = join([2 * main[:1], inner, (main[-1] + top * bottom / start)[None]])
        corner = join([-start[None], 0 * inner, bottom[None]])
        both = join([right.reshape((n, -1)), corner[:, None]], axis=1)
        both = _tridiagonal(dx[1:], main, before[:-1], both)
        plain, bent = both[:, :-1], both[:, -1]
        weight = -top / start
        share = (plain[0] + weight * plain[-1]) / (1 + bent[0] + weight * bent[-1])
        found = (plain - bent[:, None] * share).reshape(slope.shape)
    same = np.all(np.abs(y[0] - y[-1]) <= 1e-15 * (1 + np.abs(y[-1])))
    return np.where(same, traced_numpy.concatenate([found, found[:1]]), np.nan)


def _slopes(x: Any, y: Any, bc_type: Any) -> Any:
    """Return the slopes for which the second derivative has no jumps.

    A tridiagonal system, with ends as in de Boor, A Practical Guide to Splines, chapter IV.
    """
    first, last = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    n = x.shape[0]
    dx = np.diff(x)
    slope = np.diff(y, axis=0) / beside(dx, y)
    if n == 2:  # a line, or a parabola: as SciPy has it
        first, last = ((1, slope[0]) if e == "not-a-knot" else e for e in (first, last))
    if n == 3 and "not-a-knot" in (first, last) and first == last:
        curve = (slope[1] - slope[0]) / (x[2] - x[0])
        past = beside(x - x[0], y)
        return slope[0] + curve * (2 * past - dx[0])
    main = [2 * (dx[:-1] + dx[1:])]
    rows = beside(dx[1:], y) * slope[:-1] + beside(dx[:-1], y) * slope[1:]
    right = [3 * rows]
    below, above = [dx[1:]], [dx[:-1]]
    for start, condition in ((True, first), (False, last)):
        # As seen from the end: the first two widths and slopes.
        own, next_ = (0, 1) if start else (-1, -2)
        next_ = next_ if n > 2 else own
        (h0, m0), (h1, m1) = ((dx[k], slope[k]) for k in (own, next_))
        if condition == "not-a-knot":
            own, next_, value = h1, h0 + h1, ((3 * h0 + 2 * h1) * h1 * m0 + h0**2 * m1) / (h0 + h1)
        else:
            order, given = _end(condition)
            if order == 1:
                own, next_, value = 1.0 + 0 * h0, 0 * h0, given + 0 * m0
            else:
                sign = -0.5 if start else 0.5
                own, next_, value = 2 * h0, h0, 3 * h0 * m0 + sign * given * h0**2
        place = 0 if start else len(main)
        main.insert(place, own[None])
        right.insert(place, value[None])
        (above if start else below).insert(place, next_[None])
    join = traced_numpy.concatenate
    flat = join(right).reshape((n, -1))
    return _tridiagonal(join(below), join(main), join(above), flat).reshape(y.shape)


def _tridiagonal(below: Any, main: Any, above: Any, right: Any) -> Any:
    """Return the solution of a system of three diagonals."""
    zero, join = np.zeros(1), traced_numpy.concatenate
    band = traced_numpy.stack([join([zero, above]), main, join([below, zero])])
    return solve_banded((1, 1), band, right)


class PchipInterpolator(CubicHermiteSpline, of=scipy.interpolate.PchipInterpolator):
    """Cubic pieces that are monotone where the values are, as SciPy's ``PchipInterpolator``.

    Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5 (1984): weighted harmonic means of slopes.

    Examples
    --------
    >>> t = np.arange(4.0)
    >>> sg.grad(lambda y: PchipInterpolator(t, y)(1.5))(t**2).round(4)
    array([-0.1406,  0.7227,  0.4531, -0.0352])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y = floats(x), floats(y)
        axis = axis_of(axis, y)
        values, y = y, np.moveaxis(y, axis, 0)
        h = beside(np.diff(x), y)
        m = np.diff(y, axis=0) / h
        if x.shape[0] == 2:
            slopes = traced_numpy.concatenate([m, m])
        else:
            flat = np.sign(m[1:]) * np.sign(m[:-1]) <= 0
            w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
            before, after = (np.where(flat, 1.0, v) for v in (m[:-1], m[1:]))
            inner = np.where(flat, 0.0, (w1 + w2) / (w1 / before + w2 / after))
            ends = _end_slope(h[0], h[1], m[0], m[1]), _end_slope(h[-1], h[-2], m[-1], m[-2])
            slopes = traced_numpy.concatenate([ends[0][None], inner, ends[1][None]])
        super().__init__(x, values, np.moveaxis(slopes, 0, axis), axis, extrapolate)


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Return the slope at an end: of a parabola, unless that would turn."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3 * m0, d))


class Akima1DInterpolator(CubicHermiteSpline, of=scipy.interpolate.Akima1DInterpolator):
    """Cubic pieces with slopes from the nearest four, as SciPy's ``Akima1DInterpolator``.

    H. Akima, J. ACM 17 (1970); ``method="makima"``: modified, with fewer overshoots.

    Examples
    --------
    >>> t = np.arange(5.0)
    >>> sg.grad(lambda y: Akima1DInterpolator(t, y)(1.5))(t**2).round(4)
    array([-0.0625,  0.5312,  0.6562, -0.1562,  0.0312])
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, values = floats(x), floats(y)
        axis = axis_of(axis, values)
        y = np.moveaxis(values, axis, 0)
        inner = np.diff(y, axis=0) / beside(np.diff(x), y)
        if x.shape[0] == 2:
            slopes = traced_numpy.concatenate([inner, inner])
        else:
            left, right = 2 * inner[0] - inner[1], 2 * inner[-1] - inner[-2]
            ends = [2 * left - inner[0], left], [right, 2 * right - inner[-1]]
            m = traced_numpy.concatenate(
                [traced_numpy.stack(ends[0]), inner, traced_numpy.stack(ends[1])]
            )
            change = np.abs(np.diff(m, axis=0))
            if method == "makima":
                change = change + 0.5 * np.abs(m[1:] + m[:-1])
            # makima's own sum is one row shorter at each end, as the changes are.
            after, before = change[2:], change[:-2]
            total = after + before
            known = total > 1e-9 * np.max(total)
            share = before / np.where(known, total, 1.0)
            slopes = np.where(known, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
        beyond = False if extrapolate is None else extrapolate
        super().__init__(x, values, np.moveaxis(slopes, 0, axis), axis, beyond)

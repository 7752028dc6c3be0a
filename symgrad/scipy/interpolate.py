"""``scipy.interpolate``, for functions that symgrad traces: curves through points, and splines.

Places, values, knots and coefficients may be traced. What is not listed here is SciPy's own.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.interpolate import CubicSpline
>>> x = np.arange(4.0)
>>> def at_half(y):
...     return CubicSpline(x, y)(0.5)
>>> sg.grad(at_half)(x**2)
array([ 0.3125,  0.9375, -0.3125,  0.0625])
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from .. import numpy as traced_numpy
from .._trace._namespace import offering
from ..errors import ArgumentError, ShapeError
from ._replacing import floats, refuse_option

__all__ = [
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "interp1d",
    "splev",
]

_take = traced_numpy.take
_search = traced_numpy.searchsorted


def _beside(x: Any, rows: Any) -> Any:
    """Return x with further axes of length one, for a product with rows for each x."""
    return x.reshape((*x.shape, *(1,) * (rows.ndim - 1)))


# ---------------------------------------------------------------- pieces of polynomials


class PPoly:
    """Polynomials in pieces, as ``scipy.interpolate.PPoly``.

    Parameters
    ----------
    c:
        Coefficients, shape ``(k, m, ...)``, the highest power first.
    x:
        The ``m + 1`` ends of the pieces, increasing.
    extrapolate:
        Whether the first and the last piece go on; nan beyond them otherwise.
    """

    axis = 0

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        if extrapolate == "periodic":
            refuse_option("PPoly", "extrapolate", extrapolate, "x % period")
        if axis != 0:
            refuse_option("PPoly", "axis", axis, "np.moveaxis(y, axis, 0)")
        self.c, self.x = floats(c), floats(x)
        self.extrapolate = True if extrapolate is None else bool(extrapolate)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return values, or derivatives of order ``nu``; of shape ``x.shape + c.shape[2:]``."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        x = floats(x)
        piece = np.clip(_search(self.x, x, side="right") - 1, 0, self.x.shape[0] - 2)
        past = _beside(x - _take(self.x, piece), self.c[0])
        value = _take(self.c[0], piece, axis=0)
        for row in self.c[1:]:
            value = value * past + _take(row, piece, axis=0)
        if self.extrapolate if extrapolate is None else extrapolate:
            return value
        within = _beside((x >= self.x[0]) & (x <= self.x[-1]), self.c[0])
        return np.where(within, value, np.nan)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the derivative of order ``nu``."""
        c = self.c
        for _ in range(nu):
            powers = np.arange(len(c) - 1, 0, -1.0)
            c = _beside(powers, c) * c[:-1] if len(c) > 1 else 0.0 * c
        return PPoly(c, self.x, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the integral from the first of the ends, ``nu`` times."""
        c = self.c
        for _ in range(nu):
            powers = np.arange(len(c), 0, -1.0)
            higher = c / _beside(powers, c)
            whole = higher[0]
            width = _beside(np.diff(self.x), whole)
            for row in higher[1:]:
                whole = whole * width + row
            sums = np.cumsum(whole * width, axis=0)
            start = traced_numpy.concatenate([0.0 * sums[:1], sums[:-1]])
            c = traced_numpy.concatenate([higher, start[None]])
        return PPoly(c, self.x, self.extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b."""
        whole = self.antiderivative()
        return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)


class CubicHermiteSpline(PPoly):
    """Cubic pieces with given values and slopes, as ``scipy.interpolate.CubicHermiteSpline``."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, s = floats(x), floats(y), floats(dydx)
        dx = _beside(np.diff(x), y)
        slope = np.diff(y, axis=0) / dx
        t = (s[:-1] + s[1:] - 2 * slope) / dx
        c = traced_numpy.stack([t / dx, (slope - s[:-1]) / dx - t, s[:-1], y[:-1]])
        super().__init__(c, x, extrapolate, axis)


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


class CubicSpline(CubicHermiteSpline):
    """The cubic spline through points, as ``scipy.interpolate.CubicSpline``.

    Parameters
    ----------
    x, y:
        Places, shape ``(n,)``, increasing, and values there, shape ``(n, ...)``.
    bc_type:
        ``"not-a-knot"``, ``"natural"``, ``"clamped"``, or for each end one of these or
        ``(order, value)``.
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, y = floats(x), floats(y)
        if x.ndim != 1 or x.shape[0] != y.shape[0]:
            raise ShapeError(f"CubicSpline: x of shape {x.shape} and y of shape {y.shape}")
        super().__init__(x, y, _slopes(x, y, bc_type), axis, extrapolate)


def _slopes(x: Any, y: Any, bc_type: Any) -> Any:
    """Return the slopes for which the second derivative has no jumps.

    A tridiagonal system, with ends as in de Boor, A Practical Guide to Splines, chapter IV.
    """
    first, last = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    n = int(x.shape[0])
    dx = np.diff(x)
    slope = np.diff(y, axis=0) / _beside(dx, y)
    if n == 2:  # a line, or a parabola: as SciPy has it
        first, last = ((1, slope[0]) if e == "not-a-knot" else e for e in (first, last))
    if n == 3 and "not-a-knot" in (first, last) and first == last:
        curve = (slope[1] - slope[0]) / (x[2] - x[0])
        past = _beside(x - x[0], y)
        return slope[0] + curve * (2 * past - dx[0])
    main = [2 * (dx[:-1] + dx[1:])]
    rows = _beside(dx[1:], y) * slope[:-1] + _beside(dx[:-1], y) * slope[1:]
    right = [3 * rows]
    below, above = [dx[1:]], [dx[:-1]]
    for start, condition in ((True, first), (False, last)):
        # As seen from the end: the first two widths and slopes.
        h0, h1 = (dx[0], dx[1 % (n - 1)]) if start else (dx[-1], dx[-2 % (n - 1)])
        m0, m1 = (slope[0], slope[1 % (n - 1)]) if start else (slope[-1], slope[-2 % (n - 1)])
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
    matrix = np.diag(join(main)) + np.diag(join(above), 1) + np.diag(join(below), -1)
    flat = join(right).reshape((n, -1))
    return np.linalg.solve(matrix, flat).reshape(y.shape)


class PchipInterpolator(CubicHermiteSpline):
    """Cubic pieces that are monotone where the values are, as SciPy's ``PchipInterpolator``.

    Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5 (1984): weighted harmonic means of slopes.
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y = floats(x), floats(y)
        h = _beside(np.diff(x), y)
        m = np.diff(y, axis=0) / h
        if int(x.shape[0]) == 2:
            slopes = traced_numpy.concatenate([m, m])
        else:
            flat = np.sign(m[1:]) * np.sign(m[:-1]) <= 0
            w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
            before, after = (np.where(flat, 1.0, v) for v in (m[:-1], m[1:]))
            inner = np.where(flat, 0.0, (w1 + w2) / (w1 / before + w2 / after))
            ends = _end_slope(h[0], h[1], m[0], m[1]), _end_slope(h[-1], h[-2], m[-1], m[-2])
            slopes = traced_numpy.concatenate([ends[0][None], inner, ends[1][None]])
        super().__init__(x, y, slopes, axis, extrapolate)


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Return the slope at an end: of a parabola, unless that would turn."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3 * m0, d))


# ---------------------------------------------------------------- splines by their basis


class BSpline:
    """A spline by coefficients of its basis, as ``scipy.interpolate.BSpline``.

    Parameters
    ----------
    t:
        Knots, shape ``(n + k + 1,)``, not decreasing.
    c:
        Coefficients, shape ``(n, ...)``.
    k:
        The degree.
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        if extrapolate == "periodic":
            refuse_option("BSpline", "extrapolate", extrapolate, "x % period")
        if axis != 0:
            refuse_option("BSpline", "axis", axis, "np.moveaxis(c, axis, 0)")
        self.t, self.k, self.extrapolate = floats(t), int(k), bool(extrapolate)
        self.c = floats(c)[: self.t.shape[0] - self.k - 1]

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return values, or derivatives of order ``nu``, by de Boor's recursion."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        x, t, c, k = floats(x), self.t, self.c, self.k
        n = c.shape[0]
        piece = np.clip(_search(t, x, side="right") - 1, k, n - 1)
        d = [_take(c, piece - k + j, axis=0) for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                left, right = _take(t, piece - k + j), _take(t, piece + 1 + j - r)
                share = _beside((x - left) / (right - left), c)
                d[j] = (1 - share) * d[j - 1] + share * d[j]
        if self.extrapolate if extrapolate is None else extrapolate:
            return d[k]
        within = _beside((x >= t[k]) & (x <= t[n]), c)
        return np.where(within, d[k], np.nan)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of order ``nu``."""
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            if k == 0:
                return BSpline(t, 0.0 * c, 0, self.extrapolate)
            width = t[k + 1 : -1] - t[1 : -k - 1]
            empty = width == 0
            c = np.diff(c, axis=0) * _beside(
                np.where(empty, 0.0, k / np.where(empty, 1.0, width)), c
            )
            t, k = t[1:-1], k - 1
        return BSpline(t, c, k, self.extrapolate)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the integral from the first knot, ``nu`` times."""
        t, c, k = self.t, self.c, self.k
        join = traced_numpy.concatenate
        for _ in range(nu):
            sums = np.cumsum(c * _beside(t[k + 1 :] - t[: -k - 1], c), axis=0) / (k + 1)
            c = join([0.0 * sums[:1], sums])
            t, k = join([t[:1], t, t[-1:]]), k + 1
        return BSpline(t, c, k, self.extrapolate)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b."""
        whole = self.antiderivative()
        return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Return values or derivatives of a spline ``(t, c, k)``, as ``scipy.interpolate.splev``."""
    if ext != 0:
        refuse_option("splev", "ext", ext, "ext=0")
    spline = tck if isinstance(tck, BSpline) else BSpline(*tck)
    return spline(x, der)


# ---------------------------------------------------------------- straight lines


class interp1d:  # noqa: N801 - SciPy's name
    """Interpolation by lines or cubic splines, as ``scipy.interpolate.interp1d``."""

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True,
        bounds_error: Any = None, fill_value: Any = np.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        self.x, self.y = floats(x), floats(y)
        self.kind, self.fill = kind, fill_value
        if kind not in ("linear", "cubic", 1, 3):
            refuse_option("interp1d", "kind", kind, "'linear' or 'cubic'")
        if self.y.ndim != 1:
            raise ShapeError(f"interp1d is traced for values in one row, not {self.y.shape}")
        if not assume_sorted:
            order = np.argsort(self.x)
            self.x, self.y = self.x[order], self.y[order]

    def __call__(self, x: Any) -> Any:
        """Return values; outside of the places the fill values, or the outermost pieces."""
        x = floats(x)
        spline: PPoly
        if self.kind in ("cubic", 3):
            spline = CubicSpline(self.x, self.y)
        else:
            slope = np.diff(self.y) / np.diff(self.x)
            spline = PPoly(traced_numpy.stack([slope, self.y[:-1]]), self.x)
        if isinstance(self.fill, str):  # "extrapolate"
            return spline(x)
        low, high = self.fill if isinstance(self.fill, tuple) else (self.fill, self.fill)
        return np.where(x < self.x[0], low, np.where(x > self.x[-1], high, spline(x)))


__getattr__, __dir__ = offering(
    scipy.interpolate, globals(), f"{', '.join(__all__)} of symgrad.scipy.interpolate can be"
)

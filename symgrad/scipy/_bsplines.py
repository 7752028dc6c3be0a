"""Splines by coefficients of their basis."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from .. import numpy as traced_numpy
from .._core.op import refuse
from .._core.ops.np_common import is_traced
from .._core.ops.np_linalg import solve_banded
from .._core.trace.namespace import holds
from ..errors import ShapeError
from ._piecewise_polynomials import axis_of, beside, moved, over_periods, search, take, wrapped
from ._versions import (
    Standing,
    floats,
    increasing,
    of_scipy,
    refuse_option,
    require_lengths,
)

# ---------------------------------------------------------------- splines by their basis


class BSpline(metaclass=Standing, of=scipy.interpolate.BSpline):
    """A spline by coefficients of its basis, as ``scipy.interpolate.BSpline``.

    Parameters
    ----------
    t:
        Knots, shape ``(n + k + 1,)``, not decreasing.
    c:
        Coefficients, shape ``(n, ...)``; or ``n`` along an ``axis``, which is the first of the
        object's, as in SciPy.
    k:
        The degree.

    Examples
    --------
    >>> t = np.array([0.0, 0.0, 1.0, 2.0, 2.0])
    >>> sg.grad(lambda c: BSpline(t, c, 1)(0.25))(np.array([1.0, 2.0, 3.0]))
    array([0.75, 0.25, 0.  ])
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        c = floats(c)
        self.t, self.k = floats(t), int(k)
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
        self.axis = axis_of(axis, c)
        n = self.t.shape[0] - self.k - 1
        if self.k < 0:
            raise ValueError("Spline order cannot be negative.")
        if n < self.k + 1:
            raise ShapeError(f"Need at least {2 * self.k + 2} knots for degree {self.k}")
        if c.shape[self.axis] < n:
            raise ShapeError("BSpline: knots, coefficients and degree are inconsistent")
        self.c = np.moveaxis(c, self.axis, 0)[:n]

    def _like(self, t: Any, rows: Any, k: int) -> BSpline:
        return BSpline.ours(t, np.moveaxis(rows, 0, self.axis), k, self.extrapolate, self.axis)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients, their axis first, and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Return values, or derivatives of order ``nu``, by de Boor's recursion."""
        if nu:
            found = self.derivative(min(nu, self.k))(x, 0, extrapolate)
            return found if nu <= self.k else 0.0 * found
        x, t, c, k = floats(x), self.t, self.c, self.k
        n = c.shape[0]
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(beyond, str):
            x = wrapped(x, t[k], t[n])
        piece = np.clip(search(t, x, side="right") - 1, k, n - 1)
        d = [take(c, piece - k + j, axis=0) for j in range(k + 1)]
        for r in range(1, k + 1):
            for j in range(k, r - 1, -1):
                left, right = take(t, piece - k + j), take(t, piece + 1 + j - r)
                share = beside((x - left) / (right - left), c)
                d[j] = (1 - share) * d[j - 1] + share * d[j]
        value = d[k]
        if not beyond:
            inside = beside((x >= t[k]) & (x <= t[n]), c)
            value = np.where(inside, value, value * np.nan)  # nor has it derivatives
        return moved(value, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of order ``nu``."""
        if nu < 0:
            return self.antiderivative(-nu)
        if nu > self.k:
            raise ValueError(
                f"Order of derivative (n = {nu}) must be <= order of spline (k = {self.k})"
            )
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            width = t[k + 1 : -1] - t[1 : -k - 1]
            empty = width == 0
            c = np.diff(c, axis=0) * beside(
                np.where(empty, 0.0, k / np.where(empty, 1.0, width)), c
            )
            t, k = t[1:-1], k - 1
        return self._like(t, c, k)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the integral from the first knot, ``nu`` times."""
        t, c, k = self.t, self.c, self.k
        join = traced_numpy.concatenate
        for _ in range(nu):
            sums = np.cumsum(c * beside(t[k + 1 :] - t[: -k - 1], c), axis=0) / (k + 1)
            c = join([0.0 * sums[:1], sums])
            t, k = join([t[:1], t, t[-1:]]), k + 1
        found = self._like(t, c, k) if nu > 0 else self.derivative(-nu)
        found.extrapolate = self.extrapolate is True  # it does not come again
        return found

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b, of the part between the knots without extrapolation."""
        whole, ends = self.antiderivative(), ends_of(self)
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(beyond, str):
            return over_periods(whole, a, b, *ends)
        if not beyond:
            a, b = np.clip(floats(a), *ends), np.clip(floats(b), *ends)
        return whole(b, 0, True) - whole(a, 0, True)


#: What there is beyond the knots, by number: the spline itself, zero, an error, the value at the
#: end.
BEYOND = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def beyond(spline: BSpline, x: Any, nu: int, ext: Any) -> Any:
    """Return a spline's values, with those outside of its knots as FITPACK's ``ext`` says.

    They are nan where SciPy raises.
    """
    ext = BEYOND.get(ext, ext)
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"Unknown extrapolation mode {ext}.")
    x, (first, last) = floats(x), ends_of(spline)
    if ext == 0 or (ext == 3 and nu):  # FITPACK's derivatives go on
        return spline(x, nu)
    value = spline(np.clip(x, first, last), nu)
    if ext == 3:
        return value
    inside = (x >= first) & (x <= last)
    return np.where(beside(inside, spline.c), value, 0.0 if ext == 1 else spline(x, nu) * np.nan)


def ends_of(spline: BSpline) -> tuple[Any, Any]:
    """Return the first and the last of the knots between which a spline is one."""
    return spline.t[spline.k], spline.t[spline.c.shape[0]]


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Return values or derivatives of a spline ``(t, c, k)``, as ``scipy.interpolate.splev``.

    Examples
    --------
    >>> tck = np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 5.0]), 1
    >>> sg.grad(lambda x: splev(x, tck))(1.5)
    np.float64(3.0)
    """
    if of_scipy((x, tck), {}, BSpline):
        return scipy.interpolate.splev(x, tck, der, ext)
    if isinstance(tck, BSpline):
        return beyond(tck, x, der, ext)
    t, c, k = tck
    if np.ndim(c) > 1:  # a curve, by its coordinates
        return [splev(x, (t, row, k), der, ext) for row in c]
    return beyond(BSpline.ours(t, c, k), x, der, ext)


def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0,
    s: Any = None, t: Any = None, full_output: int = 0, per: int = 0, quiet: int = 1,
) -> Any:  # fmt: skip
    """Return ``(t, c, k)`` of the spline through points, as ``scipy.interpolate.splrep``.

    Parameters
    ----------
    x, y:
        Places, increasing, and values there, shape ``(n,)``. Smoothing (``w``, ``s``, ``t``) or
        is periodic is for numbers.

    Examples
    --------
    >>> t = np.arange(4.0)
    >>> sg.grad(lambda y: splev(1.5, splrep(t, y)))(t**2).round(4)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """
    if not holds((x, y, w, t), is_traced):
        return scipy.interpolate.splrep(x, y, w, xb, xe, k, task, s, t, full_output, per, quiet)
    smooths = s if s is not None else w
    for name, value in (("w or s", smooths), ("task", task), ("t", t), ("full_output", full_output),
                        ("per", per), ("xb", xb), ("xe", xe)):  # fmt: skip
        if value is not None and not np.all(value == 0):
            refuse_option("splrep", name, value, "splrep(x, y, s=0), or symgrad.scipy's BSpline")
    spline = spline_through(x, y, k)
    return spline.t, np.concatenate([spline.c, np.zeros(k + 1)]), k  # as long as the knots


# ---------------------------------------------------------------- through points

#: Conditions at ends, by name.
_ENDS = {"natural": [(2, 0.0)], "clamped": [(1, 0.0)], "not-a-knot": []}


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> BSpline:  # fmt: skip
    """Return the spline through points, as ``scipy.interpolate.make_interp_spline``.

    Parameters
    ----------
    x, y:
        Places, shape ``(n,)``, increasing, and values there, along an axis.
    k:
        The degree.
    t:
        Knots; None: SciPy's.
    bc_type:
        None, ``"not-a-knot"``, ``"natural"``, ``"clamped"``, or for each end one of these or a
        list of ``(order, value)``.

    Examples
    --------
    >>> t = np.arange(4.0)
    >>> sg.grad(lambda y: make_interp_spline(t, y)(1.5))(t**2).round(4)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """
    if of_scipy((x, y, t, bc_type), {}):
        made: BSpline = scipy.interpolate.make_interp_spline(
            x, y, k, t, bc_type, axis, check_finite
        )
        return made
    return spline_through(x, y, k, t, bc_type, axis)


def spline_through(
    x: Any, y: Any, k: int, t: Any = None, bc_type: Any = None, axis: int = 0
) -> BSpline:
    """Return the spline through points, which takes traced places."""
    x, values = floats(x), floats(y)
    axis = axis_of(axis, values)
    require_lengths("make_interp_spline", "x and y", x.shape[0], values.shape[axis])
    if k == 0:  # no place is in its results
        values = increasing(np.diff(x), values)
    x = increasing(np.diff(x), x)
    y = np.moveaxis(values, axis, 0)
    if isinstance(bc_type, str) and bc_type == "periodic":
        refuse_option(
            "make_interp_spline", "bc_type", bc_type, "CubicSpline(x, y, bc_type='periodic')"
        )
    both = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    left, right = (_conditions(c) for c in both)
    n = x.shape[0]
    join = traced_numpy.concatenate
    if k == 0:
        return BSpline.ours(join([x, x[-1:]]), values, 0, axis=axis)
    piece = None  # of each place: known where the knots follow from the places
    if t is None:
        if left or right:
            piece, inner, ends = traced_numpy.arange(n) + k, x, k
        else:
            middle = 0.5 * (x[1:] + x[:-1]) if k % 2 == 0 else x
            cut = (k + 1) // 2
            piece, ends = traced_numpy.arange(n) + k - k // 2, k + 1
            inner = middle[cut : middle.shape[0] - cut]
        t = join([np.repeat(x[:1], ends), inner, np.repeat(x[-1:], ends)])
    elif not holds((x, t), is_traced):
        piece = np.searchsorted(np.asarray(t), np.asarray(x), side="right") - 1
    t = floats(t)
    count = t.shape[0] - k - 1
    if count - n != len(left) + len(right):
        raise ValueError(
            f"The number of derivatives at boundaries does not match: expected {count - n}, got "
            f"{len(left)}+{len(right)}"
        )
    known = join([
        *(np.broadcast_to(floats(v), y.shape[1:])[None] for _, v in left), y,
        *(np.broadcast_to(floats(v), y.shape[1:])[None] for _, v in right),
    ]).reshape((count, -1))  # fmt: skip
    if piece is None:  # knots of other places, or traced ones
        basis = BSpline.ours(t, np.eye(count), k)
        first, last = ([basis(x[e], d)[None] for d, _ in c] for e, c in ((0, left), (-1, right)))
        found = np.linalg.solve(join([*first, basis(x), *last]), known)
    else:
        own = np.eye(k + 1)  # the splines that are not zero at an end
        first = [BSpline.ours(t[: 2 * k + 2], own, k)(x[0], order) for order, _ in left]
        last = [BSpline.ours(t[-2 * k - 2 :], own, k)(x[-1], order) for order, _ in right]
        piece = np.clip(piece, k, count - 1)
        rows = join([*(v[None] for v in first), _nonzero(x, t, k, piece), *(v[None] for v in last)])
        none, one = np.zeros(len(left), int), np.ones(len(right), int)
        starts = join([none, piece - k, one * (count - k - 1)])
        found = solve_banded((k, k), _band(rows, starts, k), known)
    return BSpline.ours(t, np.moveaxis(found.reshape((count, *y.shape[1:])), 0, axis), k, axis=axis)


def _nonzero(x: Any, t: Any, k: int, piece: Any) -> Any:
    """Return for each place the values of the k + 1 splines that are not zero in its piece.

    Piegl and Tiller, The NURBS Book, algorithm A2.2.
    """
    found: list[Any] = [np.ones_like(x)]
    for r in range(1, k + 1):
        saved, new = 0.0, []
        for m in range(r):
            right, left = take(t, piece + m + 1), take(t, piece + 1 - r + m)
            share = found[m] / (right - left)
            new.append(saved + (right - x) * share)
            saved = (x - left) * share
        found = [*new, saved]
    return traced_numpy.stack(found, axis=1)


def _band(rows: Any, starts: Any, k: int) -> Any:
    """Return a matrix, of which each row has numbers from a column on, as LAPACK has bands."""
    count, width = rows.shape
    column = traced_numpy.arange(count)
    row = column + np.arange(-k, k + 1)[:, np.newaxis]
    inside, row = (row >= 0) & (row < count), np.clip(row, 0, count - 1)
    place = column - take(starts, row)
    inside = inside & (place >= 0) & (place < width)
    return np.where(inside, rows[row, np.clip(place, 0, width - 1)], 0.0)


def _conditions(given: Any) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, str):
        if given not in _ENDS:
            raise ValueError(f"Unknown boundary condition : {given}")
        return _ENDS[given]
    return list(given)


class BivariateSpline(metaclass=Standing, of=scipy.interpolate.BivariateSpline):
    """A spline of two variables, as ``scipy.interpolate.BivariateSpline``.

    Parameters
    ----------
    tx, ty:
        Knots.
    c:
        Coefficients, shape ``(nx, ny)`` or flat.
    kx, ky:
        The degrees.

    Examples
    --------
    >>> from scipy.interpolate import RectBivariateSpline
    >>> k = np.arange(4.0)
    >>> spline = RectBivariateSpline(k, k, np.outer(k, k))
    >>> sg.grad(lambda x: spline(x, 2.0, grid=False))(1.5).round(12)
    np.float64(2.0)
    """

    def __init__(self, tx: Any, ty: Any, c: Any, kx: int = 3, ky: int = 3) -> None:
        self.tx, self.ty, self.kx, self.ky = floats(tx), floats(ty), int(kx), int(ky)
        shape = int(self.tx.shape[0]) - self.kx - 1, int(self.ty.shape[0]) - self.ky - 1
        self.c = floats(c).reshape(shape)

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """Return values or derivatives, on the grid of x and y or at pairs of them."""
        x, y = floats(x), floats(y)
        x = np.clip(x, self.tx[self.kx], self.tx[-self.kx - 1])
        y = np.clip(y, self.ty[self.ky], self.ty[-self.ky - 1])
        if grid:
            x, y = np.atleast_1d(x), np.atleast_1d(y)
            rows = BSpline.ours(self.tx, self.c, self.kx)(x, dx)
            return BSpline.ours(self.ty, rows, self.ky, axis=1)(y, dy)
        shape = np.broadcast_shapes(x.shape, y.shape)
        x, y = (np.broadcast_to(v, shape) for v in (x, y))
        by_x = BSpline.ours(self.tx, self.c, self.kx)(x, dx)
        by_y = BSpline.ours(self.ty, np.eye(int(self.c.shape[1])), self.ky)(y, dy)
        return np.sum(by_x * by_y, axis=-1)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """Return values or derivatives at pairs of x and y."""
        return self(xi, yi, dx, dy, grid=False)

    @property
    def tck(self) -> tuple[Any, Any, Any]:
        """Return knots of both axes and flat coefficients."""
        return self.tx, self.ty, np.reshape(self.c, (-1,))

    @property
    def degrees(self) -> tuple[int, int]:
        """Return the degrees."""
        return self.kx, self.ky

    def get_knots(self) -> tuple[Any, Any]:
        """Return the knots of both axes."""
        return self.tx, self.ty

    def get_coeffs(self) -> Any:
        """Return the coefficients, flat."""
        return self.tck[2]

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """Return the integral over a rectangle, of the part between the knots."""
        rows = BSpline.ours(self.tx, self.c, self.kx).integrate(xa, xb, False)
        return BSpline.ours(self.ty, rows, self.ky).integrate(ya, yb, False)

    def partial_derivative(self, dx: int, dy: int) -> BivariateSpline:
        """Return the derivative of orders ``dx`` and ``dy``, a spline."""
        if dx < 0 or dy < 0:
            raise ValueError("order of derivative must be positive or zero")
        by_x = BSpline.ours(self.tx, self.c, self.kx).derivative(dx)
        by_y = BSpline.ours(self.ty, by_x.c.T, self.ky).derivative(dy)
        return BivariateSpline.ours(by_x.t, by_y.t, by_y.c.T, by_x.k, by_y.k)


def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """Return values or derivatives of a surface ``(tx, ty, c, kx, ky)`` on the grid of x and y.

    As ``scipy.interpolate.bisplev``: axes of length one are left out.

    Examples
    --------
    >>> tck = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]), np.arange(4.0), 1, 1
    >>> sg.grad(lambda x: bisplev(x, 0.5, tck))(0.25)
    np.float64(2.0)
    """
    if of_scipy((x, y, tck), {}):
        return scipy.interpolate.bisplev(x, y, tck, dx, dy)
    x, y = np.atleast_1d(floats(x)), np.atleast_1d(floats(y))
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("First two entries should be rank-1 arrays.")
    found = BivariateSpline.ours(*tck)(x, y, dx, dy)
    if x.shape[0] != 1:
        return found
    return found[0] if y.shape[0] != 1 else found[0][0]


class _Made(BivariateSpline):
    """A spline that SciPy makes of numbers, for places that are traced."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        original: Any = type(self).original
        if holds((args, kwargs), is_traced):
            refuse(original, "it is fitted to numbers, outside of traced functions")
        made = original(*args, **kwargs)
        super().__init__(*made.tck, *made.degrees)


class SmoothBivariateSpline(_Made, of=scipy.interpolate.SmoothBivariateSpline):
    """A smooth surface near points, as ``scipy.interpolate.SmoothBivariateSpline``.

    Examples
    --------
    >>> x, y = (v.ravel() for v in np.meshgrid(np.arange(6.0), np.arange(6.0)))
    >>> spline = SmoothBivariateSpline(x, y, x * y, s=0.01)
    >>> sg.grad(lambda x: spline(x, 2.0, grid=False))(1.5).round(3)
    np.float64(2.0)
    """


class LSQBivariateSpline(_Made, of=scipy.interpolate.LSQBivariateSpline):
    """The surface of given knots near points, as ``scipy.interpolate.LSQBivariateSpline``.

    Examples
    --------
    >>> x, y = (v.ravel() for v in np.meshgrid(np.arange(6.0), np.arange(6.0)))
    >>> spline = LSQBivariateSpline(x, y, x * y, [2.5], [2.5])
    >>> sg.grad(lambda x: spline(x, 2.0, grid=False))(1.5).round(9)
    np.float64(2.0)
    """


class SphereBivariateSpline(
    BivariateSpline, of=scipy.interpolate.RectSphereBivariateSpline.__base__
):
    """A spline over angles: SciPy's base of all splines on a sphere.

    It is nan where the angle from the pole is not between 0 and pi, which SciPy refuses.
    """

    def __call__(
        self, theta: Any, phi: Any, dtheta: int = 0, dphi: int = 0, grid: bool = True
    ) -> Any:
        """Return values or derivatives, on the grid of the angles or at pairs of them."""
        theta, phi = floats(theta), floats(phi)
        theta = np.where((theta >= 0) & (theta <= np.pi), theta, np.nan)
        return super().__call__(theta, phi, dtheta, dphi, grid)

    def ev(self, theta: Any, phi: Any, dtheta: int = 0, dphi: int = 0) -> Any:
        """Return values or derivatives at pairs of angles."""
        return self(theta, phi, dtheta, dphi, grid=False)


class SmoothSphereBivariateSpline(
    _Made, SphereBivariateSpline, of=scipy.interpolate.SmoothSphereBivariateSpline
):
    """A smooth function near points on a sphere, as SciPy's class of the name.

    Examples
    --------
    >>> angles = np.meshgrid(np.linspace(0.3, 2.8, 8), np.linspace(0.1, 6.1, 9))
    >>> t, p = (v.ravel() for v in angles)
    >>> spline = SmoothSphereBivariateSpline(t, p, np.cos(t), s=0.1)
    >>> sg.grad(lambda t: spline(t, 2.0, grid=False))(1.5).round(1)
    np.float64(-1.0)
    """


class LSQSphereBivariateSpline(
    _Made, SphereBivariateSpline, of=scipy.interpolate.LSQSphereBivariateSpline
):
    """The function of given knots near points on a sphere, as SciPy's class of the name.

    Examples
    --------
    >>> angles = np.meshgrid(np.linspace(0.3, 2.8, 8), np.linspace(0.1, 6.1, 9))
    >>> t, p = (v.ravel() for v in angles)
    >>> knots = np.array([1.0, 2.0]), np.array([1.5, 3.0, 4.5])
    >>> spline = LSQSphereBivariateSpline(t, p, np.cos(t), *knots)
    >>> sg.grad(lambda t: spline(t, 2.0, grid=False))(1.5).round(1)
    np.float64(-1.0)
    """


class RectSphereBivariateSpline(
    _Made, SphereBivariateSpline, of=scipy.interpolate.RectSphereBivariateSpline
):
    """The function through values on a grid of a sphere, as SciPy's class of the name.

    Examples
    --------
    >>> t, p = np.linspace(0.3, 2.8, 9), np.linspace(0.0, 6.0, 9)
    >>> spline = RectSphereBivariateSpline(t, p, np.cos(t)[:, None] + 0.0 * p)
    >>> sg.grad(lambda t: spline(t, 2.0, grid=False))(1.5).round(2)
    np.float64(-1.0)
    """


class RectBivariateSpline(BivariateSpline, of=scipy.interpolate.RectBivariateSpline):
    """The spline through values on a grid, as ``scipy.interpolate.RectBivariateSpline``.

    Examples
    --------
    >>> k = np.arange(4.0)
    >>> f = lambda x: RectBivariateSpline(k, k, np.outer(k, k))(x, 2.0, grid=False)
    >>> sg.grad(f)(1.5).round(12)
    np.float64(2.0)
    """

    def __init__(
        self, x: Any, y: Any, z: Any, bbox: Any = None, kx: int = 3, ky: int = 3, s: Any = 0,
        maxit: int = 20,
    ) -> None:  # fmt: skip
        given = (x, y, z, s) if bbox is None else (x, y, z, s, bbox)
        if not holds(given, is_traced):
            more = {} if bbox is None else {"bbox": bbox}
            made = scipy.interpolate.RectBivariateSpline(x, y, z, kx=kx, ky=ky, s=s, **more)
            super().__init__(*made.tck, *made.degrees)
            return
        if bbox is not None:
            refuse_option("RectBivariateSpline", "bbox", bbox, "no bbox, where data are traced")
        if holds(s, is_traced) or s != 0:
            refuse_option("RectBivariateSpline", "s", s, "s=0, where data are traced")
        by_x = spline_through(x, z, kx)
        by_y = spline_through(y, by_x.c, ky, axis=1)
        super().__init__(by_x.t, by_y.t, by_y.c.T, kx, ky)

"""Values between those of a table, of a grid, and of scattered points."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.interpolate

from .. import numpy as traced_numpy
from ..errors import ShapeError
from ._bsplines import BSpline, spline_through
from ._piecewise_polynomials import (
    Akima1DInterpolator,
    PchipInterpolator,
    PPoly,
    axis_of,
    beside,
    moved,
    search,
    take,
)
from ._versions import Standing, floats, increasing, refuse_option, require_lengths

# ---------------------------------------------------------------- tables

_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d(metaclass=Standing, of=scipy.interpolate.interp1d):  # noqa: N801 - SciPy's name
    """Interpolation in a table, as ``scipy.interpolate.interp1d``.

    Places outside of the table have the fill value, nan also where SciPy raises. ``solved`` has
    knots, coefficients and degree of the spline where they are known.

    Examples
    --------
    >>> sg.grad(lambda y: interp1d([0.0, 1.0, 2.0], y)(0.25))(np.ones(3))
    array([0.75, 0.25, 0.  ])
    """

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True,
        bounds_error: Any = None, fill_value: Any = np.nan, assume_sorted: bool = False,
        solved: Any = None,
    ) -> None:  # fmt: skip
        self.x, values, self.fill = floats(x), floats(y), fill_value
        self.solved = solved
        self.axis = axis_of(axis, values)
        self.y = np.moveaxis(values, self.axis, 0)
        require_lengths("interp1d", "x and y", self.x.shape[0], self.y.shape[0])
        if not assume_sorted:
            order = np.argsort(self.x, kind="stable")
            self.x, self.y = self.x[order], self.y[order]
        self.kind = _DEGREES.get(kind, kind)
        known = ("linear", "nearest", "nearest-up", "previous", "next")
        if not isinstance(self.kind, int) and self.kind not in known:
            raise NotImplementedError(
                f"{kind} is unsupported: Use fitpack routines for other types."
            )

    def __call__(self, x: Any) -> Any:
        """Return values at places of any shape."""
        x = floats(x)
        value = self._within(x)
        low, high = self.fill if isinstance(self.fill, tuple) else (self.fill, self.fill)
        if isinstance(self.fill, str):  # "extrapolate"; what is before the first has none
            low = np.nan if self.kind == "previous" else value
            high = np.nan if self.kind == "next" else value
        below, above = beside(x < self.x[0], self.y), beside(x > self.x[-1], self.y)
        low, high = _filling(low, value), _filling(high, value)
        value = np.where(below, low, np.where(above, high, value))
        return moved(value, x.ndim, self.axis)

    def _within(self, x: Any) -> Any:
        if isinstance(self.kind, int) and self.kind > 0:
            solved = self.solved
            spline = BSpline.ours(*solved) if solved else spline_through(self.x, self.y, self.kind)
            return spline(x)
        if self.kind == "linear":
            slope = np.diff(self.y, axis=0) / beside(np.diff(self.x), self.y)
            c = traced_numpy.stack([slope, self.y[:-1]])
            return PPoly.ours(c, self.x, checked=True)(x)
        last = self.x.shape[0] - 1
        if self.kind in ("previous", 0):
            row = search(self.x, x, side="right") - 1
        elif self.kind == "next":
            row = search(self.x, x, side="left")
        else:
            side = "left" if self.kind == "nearest" else "right"
            row = search(0.5 * (self.x[1:] + self.x[:-1]), x, side=side)
        return take(self.y, np.clip(row, 0, last), axis=0)


def _filling(fill: Any, value: Any) -> Any:
    """Return what is outside of a table; where that is nan, derivatives are nan, too."""
    return np.where(np.isnan(fill), value * np.nan, fill)


# ---------------------------------------------------------------- grids

_GRID_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


class RegularGridInterpolator(metaclass=Standing, of=scipy.interpolate.RegularGridInterpolator):
    """Interpolation on a rectangular grid, as ``scipy.interpolate.RegularGridInterpolator``.

    Parameters
    ----------
    points:
        Places along each of the d axes.
    values:
        Shape ``(n1, ..., nd, ...)``.
    method:
        ``"linear"``, ``"nearest"``, ``"slinear"``, ``"cubic"``, ``"quintic"`` or ``"pchip"``
        (in one dimension).
    fill_value:
        Values outside of the grid, also where ``bounds_error`` has SciPy raise; None: the
        outermost cells go on.

    Examples
    --------
    >>> k = np.arange(3.0)
    >>> f = lambda x: RegularGridInterpolator((k, k), np.outer(k, k))(x)[0]
    >>> sg.grad(f)(np.array([1.5, 0.5]))
    array([0.5, 1.5])
    """

    def __init__(
        self, points: Sequence[Any], values: Any, method: str = "linear",
        bounds_error: bool = True, fill_value: Any = np.nan, *, solver: Any = None,
        solver_args: Any = None,
    ) -> None:  # fmt: skip
        self.grid, self.values = tuple(map(floats, points)), floats(values)
        self.method, self.fill_value = method, fill_value
        # Axes may decrease: then their negatives are looked at.
        self.signs = [np.where(x[-1:] < x[:1], -1.0, 1.0) for x in self.grid]
        self.grid = tuple(s * x for s, x in zip(self.signs, self.grid, strict=True))
        if len(self.grid) > self.values.ndim:
            raise ValueError(
                f"There are {len(self.grid)} point arrays, but values has {self.values.ndim} "
                "dimensions"
            )
        for x, n in zip(self.grid, self.values.shape, strict=False):
            require_lengths("RegularGridInterpolator", "points and values", x.shape[0], n)
        known = ("linear", "nearest", "pchip", *_GRID_DEGREES)
        if method not in known:
            raise ValueError(f"Method '{method}' is not defined")
        if method == "pchip" and len(self.grid) > 1:
            refuse_option("RegularGridInterpolator", "method", method, "method='cubic'")

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        """Return values at points, shape ``(..., d)``, or arrays of coordinates."""
        if nu is not None:
            refuse_option("RegularGridInterpolator", "nu", nu, "sg.grad of it")
        d, method = len(self.grid), method or self.method
        if isinstance(xi, tuple) and len(xi) > 1:
            xi = traced_numpy.stack(traced_numpy.broadcast_arrays(*map(floats, xi)), axis=-1)
        else:
            xi = floats(xi[0] if isinstance(xi, tuple) else xi)
            xi = xi.reshape((-1, d)) if xi.ndim < 2 else xi
        if xi.ndim == 0 or xi.shape[-1] != d:
            raise ValueError(
                f"The requested sample points xi have dimension {xi.shape[-1]} but this "
                f"RegularGridInterpolator has dimension {d}"
            )
        shape = xi.shape[:-1]
        flat = xi.reshape((-1, d)) * traced_numpy.concatenate(self.signs)
        value = self._at([flat[:, k] for k in range(d)], method)
        if self.fill_value is not None:
            ends = [(x[0], x[-1]) for x in self.grid]
            inside = [(flat[:, k] >= a) & (flat[:, k] <= b) for k, (a, b) in enumerate(ends)]
            within = np.all(traced_numpy.stack(inside), axis=0)
            value = np.where(beside(within, value), value, _filling(self.fill_value, value))
        for x in self.grid:
            value = increasing(np.diff(x), value)
        return value.reshape((*shape, *value.shape[1:]))

    def _at(self, places: list[Any], method: str) -> Any:
        if method == "pchip":
            return PchipInterpolator.ours(self.grid[0], self.values)(places[0])
        if method in _GRID_DEGREES:
            return self._by_splines(places, _GRID_DEGREES[method])
        cells = [
            np.clip(search(x, p, side="right") - 1, 0, x.shape[0] - 2)
            for x, p in zip(self.grid, places, strict=True)
        ]
        shares = [
            (p - take(x, c)) / (take(x, c + 1) - take(x, c))
            for x, p, c in zip(self.grid, places, cells, strict=True)
        ]
        if method == "nearest":
            rows = [np.where(s <= 0.5, c, c + 1) for s, c in zip(shares, cells, strict=True)]
            return self._corner(self.values, rows)
        total: Any = 0.0
        for corner in itertools.product((0, 1), repeat=len(cells)):
            weight = 1.0
            for own, share in zip(corner, shares, strict=True):
                weight = weight * (share if own else 1.0 - share)
            rows = [c + own for c, own in zip(cells, corner, strict=True)]
            found = self._corner(self.values, rows)
            total = total + beside(weight, found) * found
        return total

    def _corner(self, values: Any, rows: list[Any]) -> Any:
        """Return values at one place of the grid for each point."""
        sizes = [x.shape[0] for x in self.grid]
        flat = values.reshape((-1, *values.shape[len(rows) :]))
        row = rows[0]
        for size, next_ in zip(sizes[1:], rows[1:], strict=True):
            row = row * size + next_
        return take(flat, row, axis=0)

    def _by_splines(self, places: list[Any], k: int) -> Any:
        """Return values by products of splines, whose coefficients follow axis by axis."""
        c, knots = self.values, []
        for axis, x in enumerate(self.grid):
            spline = spline_through(x, c, k, axis=axis)
            c = np.moveaxis(spline.c, 0, axis)
            knots.append(spline.t)
        first, *rest = [
            BSpline.ours(t, np.eye(int(t.shape[0]) - k - 1), k)(p)
            for t, p in zip(knots, places, strict=True)
        ]
        value = np.tensordot(first, c, axes=(1, 0))
        for weights in rest:
            value = np.sum(
                weights.reshape((*weights.shape, *(1,) * (value.ndim - 2))) * value, axis=1
            )
        return value


def interpn(
    points: Sequence[Any], values: Any, xi: Any, method: str = "linear",
    bounds_error: bool = True, fill_value: Any = np.nan,
) -> Any:  # fmt: skip
    """Interpolation on a rectangular grid, as ``scipy.interpolate.interpn``.

    Examples
    --------
    >>> k = np.arange(3.0)
    >>> sg.grad(lambda v: interpn((k,), v, [0.25])[0])(np.ones(3))
    array([0.75, 0.25, 0.  ])
    """
    return RegularGridInterpolator.ours(points, values, method, bounds_error, fill_value)(xi)


# ---------------------------------------------------------------- scattered points


def _of_square(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of a distance as one of its square, 0 at 0 together with its slope."""

    def of(square: Any) -> Any:
        none = square == 0
        return np.where(none, 0.0, function(np.where(none, 1.0, square)))

    return of


#: By name, the kernel as a function of the square of the distance, and the least degree.
KERNELS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear": (_of_square(lambda s: -np.sqrt(s)), 0),
    "thin_plate_spline": (_of_square(lambda s: 0.5 * s * np.log(s)), 1),
    "cubic": (_of_square(lambda s: s * np.sqrt(s)), 1),
    "quintic": (_of_square(lambda s: -s * s * np.sqrt(s)), 2),
    "multiquadric": (lambda s: -np.sqrt(s + 1), 0),
    "inverse_multiquadric": (lambda s: 1 / np.sqrt(s + 1), -1),
    "inverse_quadratic": (lambda s: 1 / (s + 1), -1),
    "gaussian": (lambda s: np.exp(-s), -1),
}


class RBFInterpolator(metaclass=Standing, of=scipy.interpolate.RBFInterpolator):
    """Interpolation by radial functions, as ``scipy.interpolate.RBFInterpolator``.

    Parameters
    ----------
    y, d:
        Points, shape ``(n, m)``, and values there, shape ``(n, ...)``.
    smoothing, kernel, epsilon, degree:
        As SciPy's; ``neighbors`` is refused.
    solved:
        The solution, where it is known: shift, scale and coefficients.

    Examples
    --------
    >>> points = np.array([[0.0], [1.0], [2.0]])
    >>> f = lambda y: RBFInterpolator(points, y)(np.array([[1.0]]))[0]
    >>> np.abs(sg.grad(f)(np.ones(3)).round(6))
    array([0., 1., 0.])
    """

    def __init__(
        self, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline", epsilon: Any = None, degree: int | None = None,
        solved: Any = None,
    ) -> None:  # fmt: skip
        if neighbors is not None:
            refuse_option("RBFInterpolator", "neighbors", neighbors, "neighbors=None")
        self.y, d, kernel = floats(y), floats(d), kernel.lower()
        if self.y.ndim != 2 or d.shape[0] != self.y.shape[0]:
            raise ShapeError(f"RBFInterpolator: y of shape {self.y.shape} and d of shape {d.shape}")
        if kernel not in KERNELS:
            raise ValueError(f"`kernel` must be one of {set(KERNELS)}.")
        self.kernel, least = KERNELS[kernel]
        scale_free = ("linear", "thin_plate_spline", "cubic", "quintic")
        if epsilon is None and kernel not in scale_free:
            raise ValueError(
                f"`epsilon` must be specified if `kernel` is not one of {set(scale_free)}."
            )
        self.epsilon = 1.0 if epsilon is None else epsilon
        self.shape, (n, m) = d.shape[1:], map(int, self.y.shape)
        degree = max(least, 0) if degree is None else int(degree)
        self.powers = [
            tuple(map(chosen.count, range(m)))
            for order in range(degree + 1)
            for chosen in itertools.combinations_with_replacement(range(m), order)
        ]
        if n < len(self.powers):
            raise ValueError(
                f"At least {len(self.powers)} data points are required when `degree` is {degree} "
                f"and the number of dimensions is {m}."
            )
        if solved is not None:
            self.shift, self.scale, self.coefficients = map(floats, solved)
            return
        low, high = np.min(self.y, axis=0), np.max(self.y, axis=0)
        self.shift, half = 0.5 * (low + high), 0.5 * (high - low)
        self.scale = np.where(half == 0, 1.0, half)
        size = len(self.powers)
        polynomials = self._polynomials(self.y)
        kernels = self._kernels(self.y) + np.diag(np.broadcast_to(floats(smoothing), (n,)))
        matrix, right = kernels, d.reshape((n, -1))
        if size:
            join = traced_numpy.concatenate
            below = join([polynomials.T, np.zeros((size, size))], axis=1)
            matrix = join([join([kernels, polynomials], axis=1), below])
            right = join([right, np.zeros((size, right.shape[1]))])
        self.coefficients = np.linalg.solve(matrix, right)

    def _kernels(self, x: Any) -> Any:
        past = self.epsilon * (x[:, None, :] - self.y[None, :, :])
        return self.kernel(np.sum(past * past, axis=-1))

    def _polynomials(self, x: Any) -> Any:
        """Return monomials of each point, one a column."""
        past = (x - self.shift) / self.scale
        columns = []
        for powers in self.powers:
            column = np.ones_like(past[:, 0])
            for k, power in enumerate(powers):
                column = column * past[:, k] ** power if power else column
            columns.append(column)
        return traced_numpy.stack(columns, axis=1) if columns else past[:, :0]

    def __call__(self, x: Any) -> Any:
        """Return values at points, shape ``(k, m)``."""
        x = floats(x)
        if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
            raise ValueError("`x` must be a 2-dimensional array of points like `y`.")
        n = int(self.y.shape[0])
        value = self._kernels(x) @ self.coefficients[:n]
        if self.powers:
            value = value + self._polynomials(x) @ self.coefficients[n:]
        return value.reshape((x.shape[0], *self.shape))


__all__ = [
    "Akima1DInterpolator",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
]

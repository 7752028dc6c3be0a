"""Splines of one variable under FITPACK's names, and polynomials through points."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.interpolate

from .. import numpy as traced_numpy
from .._core.ops.np_common import is_traced
from .._core.trace.namespace import holds
from ..errors import UnsupportedError
from ._bsplines import BEYOND, BSpline, beyond, ends_of, spline_through
from ._piecewise_polynomials import PchipInterpolator, axis_of, beside, moved
from ._versions import (
    Standing,
    doubles,
    floats,
    of_scipy,
    refuse_option,
    replaces,
    require_lengths,
)


def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True,
    *, method: str = "qr",
) -> BSpline:  # fmt: skip
    """Return the spline of least squares, as ``scipy.interpolate.make_lsq_spline``.

    Parameters
    ----------
    x, y:
        Places, shape ``(m,)``, and values there, shape ``(m, ...)``.
    t:
        All knots, those at the ends k + 1 times.
    k, w:
        The degree, and weights of the points.

    Examples
    --------
    >>> x, t = np.arange(5.0), np.array([0.0, 0.0, 4.0, 4.0])
    >>> sg.grad(lambda y: make_lsq_spline(x, y, t, 1)(0.0))(x).round(12)
    array([ 0.6,  0.4,  0.2,  0. , -0.2])
    """
    if not holds((x, y, t, w), is_traced):
        made: BSpline = scipy.interpolate.make_lsq_spline(
            x, y, t, k, w, axis, check_finite, method=method
        )
        return made
    if axis != 0:
        refuse_option("make_lsq_spline", "axis", axis, "axis=0")
    x, y, t = floats(x), floats(y), floats(t)
    basis = BSpline.ours(t, np.eye(int(t.shape[0]) - k - 1), k)(x)
    weights = np.ones_like(x) if w is None else floats(w)
    rows = (beside(weights, y) * y).reshape((x.shape[0], -1))
    found = np.linalg.lstsq(beside(weights, basis) * basis, rows, rcond=None)[0]
    return BSpline.ours(t, found.reshape((-1, *y.shape[1:])), k)


class UnivariateSpline(metaclass=Standing, of=scipy.interpolate.UnivariateSpline):
    """A spline of one variable, as ``scipy.interpolate.UnivariateSpline``.

    Parameters
    ----------
    x, y:
        Places, increasing, and values there, shape ``(n,)``. Of traced ones ``s=0``: how many
        knots a smoother spline has depends on values.
    k, ext:
        The degree; what there is beyond the points, as in SciPy, nan where SciPy raises.
    w, bbox, s, check_finite:
        As SciPy's, of points that are numbers. ``solved`` has knots, coefficients and degree where
        they are known.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> sg.grad(lambda y: UnivariateSpline(x, y, s=0).integral(0.0, 4.0))(x**2).round(4)
    array([0.3333, 1.3333, 0.6667, 1.3333, 0.3333])
    """

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None,
        ext: Any = 0, check_finite: bool = False, solved: Any = None,
    ) -> None:  # fmt: skip
        if solved is not None:
            self.spline = BSpline.ours(*solved)
        elif holds((x, y, w), is_traced):
            if s is None or is_traced(s) or s != 0:
                refuse_option(
                    "UnivariateSpline", "s", s, "s=0, or, with the knots of a spline through data "
                    "outside, LSQUnivariateSpline(x, y, spline.get_knots()[1:-1])",
                )  # fmt: skip
            self.spline = self._through(x, y, bbox, k)
        else:
            found = scipy.interpolate.UnivariateSpline(x, y, w, bbox, k, s)
            self.spline = BSpline.ours(*found._eval_args)
        self.ext = ext

    @staticmethod
    def _through(x: Any, y: Any, bbox: Any, k: int) -> BSpline:
        if any(b is not None for b in bbox):
            refuse_option("a spline through points", "bbox", bbox, "no bbox")
        return spline_through(x, y, k)

    def _like(self, spline: BSpline, ext: Any) -> UnivariateSpline:
        solved = spline.t, spline.c, spline.k
        return UnivariateSpline.ours(None, None, ext=ext, solved=solved)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Return values, or derivatives of order ``nu``."""
        return beyond(self.spline, x, nu, self.ext if ext is None else ext)

    def derivative(self, n: int = 1) -> UnivariateSpline:
        """Return the derivative of order ``n``."""
        ext = BEYOND.get(self.ext, self.ext)
        return self._like(self.spline.derivative(n), 1 if ext == 3 else ext)

    def antiderivative(self, n: int = 1) -> UnivariateSpline:
        """Return the integral from the first knot, ``n`` times."""
        return self._like(self.spline.antiderivative(n), self.ext)

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral from a to b of the spline, which is zero beyond its knots."""
        ends = (np.clip(floats(x), *ends_of(self.spline)) for x in (a, b))
        return self.spline.integrate(*ends)

    def derivatives(self, x: Any) -> Any:
        """Return the value and all derivatives at a place."""
        return np.stack([self(x, nu) for nu in range(self.spline.k + 1)])

    def get_knots(self) -> Any:
        """Return the knots between pieces, and the ends."""
        return self.spline.t[self.spline.k : self.spline.c.shape[0] + 1]

    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        return self.spline.c

    def get_residual(self) -> NoReturn:
        """Refuse: the points are not kept."""
        raise UnsupportedError(
            "get_residual cannot be traced. Write instead: np.sum((w * (y - spline(x))) ** 2)"
        )

    def roots(self) -> NoReturn:
        """Refuse: how many there are depends on values."""
        raise UnsupportedError(
            "how many roots a spline has depends on values. Write instead: "
            "scipy.optimize.brentq(spline, a, b), which finds one"
        )


class InterpolatedUnivariateSpline(
    UnivariateSpline, of=scipy.interpolate.InterpolatedUnivariateSpline
):
    """The spline through points, as ``scipy.interpolate.InterpolatedUnivariateSpline``.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> sg.grad(lambda y: InterpolatedUnivariateSpline(x, y)(1.5))(x**2).round(4)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        self.spline, self.ext = self._through(x, y, bbox, k), ext


class LSQUnivariateSpline(UnivariateSpline, of=scipy.interpolate.LSQUnivariateSpline):
    """The spline of least squares, as ``scipy.interpolate.LSQUnivariateSpline``.

    ``t`` has the knots between the ends.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> sg.grad(lambda y: LSQUnivariateSpline(x, y, [2.0], k=1)(0.0))(x).round(4)
    array([ 0.8286,  0.3429, -0.1429, -0.0571,  0.0286])
    """

    def __init__(
        self, x: Any, y: Any, t: Any, w: Any = None, bbox: Any = (None, None), k: int = 3,
        ext: Any = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        x = floats(x)
        first, last = (x[i] if b is None else b for b, i in zip(bbox, (0, -1), strict=True))
        ends = (np.repeat(floats(e).reshape((1,)), k + 1) for e in (first, last))
        before, after = ends
        knots = np.concatenate([before, floats(t), after])
        made = make_lsq_spline(x, y, knots, k, w)
        self.spline, self.ext = BSpline.ours(*made.tck), ext


def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """Return the integral of a spline ``(t, c, k)``, as ``scipy.interpolate.splint``.

    Examples
    --------
    >>> tck = np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 5.0]), 1
    >>> sg.grad(lambda b: splint(0.0, b, tck))(1.5)
    np.float64(3.5)
    """
    if of_scipy((a, b, tck), {}):
        return scipy.interpolate.splint(a, b, tck, full_output)
    if full_output:
        refuse_option("splint", "full_output", full_output, "full_output=0")
    return UnivariateSpline.ours(None, None, solved=tuple(tck)).integral(a, b)


class BarycentricInterpolator(metaclass=Standing, of=scipy.interpolate.BarycentricInterpolator):
    """The polynomial through points, as ``scipy.interpolate.BarycentricInterpolator``.

    Parameters
    ----------
    xi, yi:
        Places, all different, shape ``(n,)``, and values there, along an axis.

    Examples
    --------
    >>> x = [0.0, 1.0, 3.0]
    >>> sg.grad(lambda y: BarycentricInterpolator(x, y)(2.0))(np.ones(3)).round(4)
    array([-0.3333,  1.    ,  0.3333])
    """

    def __init__(self, xi: Any, yi: Any, axis: int = 0, *, wi: Any = None, rng: Any = None) -> None:
        self.xi, values = doubles(xi), doubles(yi)
        self.axis = axis_of(axis, values)
        self.yi = np.moveaxis(values, self.axis, 0)

    def __call__(self, x: Any) -> Any:
        """Return values at places of any shape, by Lagrange's basis."""
        x, one = doubles(x), np.eye(int(self.xi.shape[0]))
        gaps = self.xi[:, None] - self.xi
        shares = (x[..., None, None] - self.xi) / np.where(gaps == 0, np.nan, gaps)
        basis = np.prod(np.where(one == 1, 1.0, shares), axis=-1)
        return moved(np.tensordot(basis, self.yi, 1), x.ndim, self.axis)


class KroghInterpolator(BarycentricInterpolator, of=scipy.interpolate.KroghInterpolator):
    """The polynomial through points, as ``scipy.interpolate.KroghInterpolator``.

    Places that are traced are distinct.

    Examples
    --------
    >>> sg.grad(lambda y: KroghInterpolator([0.0, 1.0, 3.0], y)(2.0))(np.ones(3)).round(4)
    array([-0.3333,  1.    ,  0.3333])
    """

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        super().__init__(xi, yi, axis)
        if not is_traced(self.xi) and np.unique(self.xi).size < self.xi.size:
            raise UnsupportedError(
                "KroghInterpolator: places that come twice, for derivatives, are not traced. Write "
                "instead: CubicHermiteSpline(x, y, dydx)"
            )


def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None
) -> Any:
    """Return values of the polynomial through points; see :class:`BarycentricInterpolator`.

    Examples
    --------
    >>> barycentric_interpolate([0.0, 1.0, 3.0], [0.0, 1.0, 9.0], 2.0).round(12)
    np.float64(4.0)
    """
    if not holds((xi, yi, x), is_traced):
        return scipy.interpolate.barycentric_interpolate(xi, yi, x, axis, der=der, rng=rng)
    if der != 0:
        refuse_option("barycentric_interpolate", "der", der, "sg.jvp of the polynomial")
    return BarycentricInterpolator.ours(xi, yi, axis)(x)


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Return values of a monotone curve through points, as ``scipy.interpolate.pchip_interpolate``.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> sg.grad(lambda q: pchip_interpolate(x, x**2, q))(2.0).round(4)
    np.float64(3.75)
    """
    if np.ndim(der):
        return [pchip_interpolate(xi, yi, x, d, axis) for d in der]
    return PchipInterpolator(xi, yi, axis)(x, der)


@replaces(scipy.interpolate.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    """Return the polynomial through points, as ``scipy.interpolate.lagrange``.

    Examples
    --------
    >>> sg.grad(lambda y: lagrange([0.0, 1.0, 3.0], y)(2.0))(np.ones(3)).round(4)
    array([-0.3333,  1.    ,  0.3333])
    """
    x, w = floats(x), floats(w)
    require_lengths("lagrange", "x and w", x.shape[0], w.shape[0])
    total: Any = 0.0
    for j in range(len(w)):
        others = np.delete(x, j)
        total = total + w[j] / np.prod(x[j] - others) * np.poly(others)
    return traced_numpy.poly1d(total)

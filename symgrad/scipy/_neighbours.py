"""Points that are searched: the nearest ones, and the simplex around a place.

SciPy searches, when the program runs: what it finds are whole numbers, by which nothing has a
derivative. Distances and weights are computed from them, and have the derivatives that they have
between the places where the search finds something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.spatial

from .. import numpy as traced_numpy
from .._api._callback import pure_callback
from .._api._custom import stop_gradient
from .._core.op import refuse
from .._core.ops.np_common import is_traced
from .._core.trace.namespace import holds
from ._scattered_points import interp1d
from ._versions import Standing, floats, of_scipy, refuse_option

_WHY = "the points that are searched are to be numbers; values, and places to look at, are traced"


def _found(search: Callable[[Any], Any], x: Any, *more: int) -> Any:
    """Return the whole numbers, shape ``x.shape[:-1] + more``, that a search for places gives."""
    like = np.zeros((*x.shape[:-1], *more), np.int64)
    return pure_callback(lambda x: np.asarray(search(x), np.int64), like, stop_gradient(x))


def _numbers(points: Any, function: Any) -> Any:
    if holds(points, is_traced):
        refuse(function, _WHY)
    return points


class KDTree(metaclass=Standing, of=scipy.spatial.KDTree):
    """Points whose nearest ones are found, as ``scipy.spatial.KDTree``.

    Parameters
    ----------
    data:
        Numbers, shape ``(n, d)``, or a tree of SciPy's.

    Examples
    --------
    >>> tree = KDTree([[0.0, 0.0], [3.0, 4.0]])
    >>> sg.grad(lambda x: tree.query(x)[0])(np.array([2.0, 4.0]))
    array([-1.,  0.])
    """

    def __init__(self, data: Any, *args: Any, **kwargs: Any) -> None:
        made = isinstance(data, scipy.spatial.cKDTree)
        tree = scipy.spatial.KDTree
        self._tree = data if made else tree(_numbers(data, tree), *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy asks before it has any attribute
            raise AttributeError(name)
        return getattr(self._tree, name)

    def query(
        self, x: Any, k: Any = 1, eps: float = 0.0, p: float = 2.0,
        distance_upper_bound: float = np.inf, workers: int = 1,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return distances to the nearest points and their numbers, as SciPy's."""
        x, single = floats(x), np.ndim(k) == 0 and k == 1

        def search(x: Any) -> Any:
            return self._tree.query(x, k, eps, p, distance_upper_bound, workers)[1]

        found = _found(search, x, *(() if single else (int(k) if np.ndim(k) == 0 else len(k),)))
        near = traced_numpy.take(self._tree.data, np.minimum(found, self._tree.n - 1), axis=0)
        far = np.linalg.norm((x if single else x[..., None, :]) - near, p, axis=-1)
        return np.where(found < self._tree.n, far, np.inf), found


def _places(given: tuple[Any, ...]) -> Any:
    """Return places as rows, which may be given as an array for each axis."""
    if len(given) == 1 and not isinstance(given[0], tuple):
        return floats(given[0])
    axes = given[0] if len(given) == 1 else given
    return traced_numpy.stack(np.broadcast_arrays(*map(floats, axes)), axis=-1)


class LinearNDInterpolator(metaclass=Standing, of=scipy.interpolate.LinearNDInterpolator):
    """Values that are linear on each simplex, as ``scipy.interpolate.LinearNDInterpolator``.

    Parameters
    ----------
    points:
        Numbers, shape ``(n, d)``, or their ``scipy.spatial.Delaunay``.
    values:
        Shape ``(n, ...)``.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> f = lambda y: LinearNDInterpolator(corners, y)([0.25, 0.5])
    >>> sg.grad(f)(np.ones(3))
    array([0.25, 0.25, 0.5 ])
    """

    def __init__(
        self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False
    ) -> None:
        # SciPy's own has the triangles and the scales, of any values.
        original = scipy.interpolate.LinearNDInterpolator
        if not isinstance(points, original):
            _numbers(points, original)
            count = points.npoints if isinstance(points, scipy.spatial.Delaunay) else len(points)
            points = original(points, np.zeros(count), fill_value, rescale)
        self._made, self.tri, self.fill_value = points, points.tri, fill_value
        self.values = floats(values)

    def __call__(self, *xi: Any) -> Any:
        """Return values at places, shape ``(..., d)`` or an array for each axis."""
        x, d = _places(xi), self.tri.ndim
        if self._made.scale is not None:
            x = (x - self._made.offset) / self._made.scale
        found = _found(self.tri.find_simplex, x)
        inside = np.maximum(found, 0)
        affine = traced_numpy.take(self.tri.transform, inside, axis=0)
        first = np.sum(affine[..., :d, :] * (x - affine[..., d, :])[..., None, :], axis=-1)
        weights = np.concatenate([first, 1.0 - np.sum(first, -1, keepdims=True)], axis=-1)
        corners = traced_numpy.take(self.tri.simplices.astype(np.int64), inside, axis=0)
        values = traced_numpy.take(self.values, corners, axis=0)
        rest = (1,) * (self.values.ndim - 1)
        total = np.sum(weights.reshape((*weights.shape, *rest)) * values, axis=x.ndim - 1)
        return np.where((found >= 0).reshape((*found.shape, *rest)), total, self.fill_value)


class NearestNDInterpolator(metaclass=Standing, of=scipy.interpolate.NearestNDInterpolator):
    """Values of the nearest points, as ``scipy.interpolate.NearestNDInterpolator``.

    Examples
    --------
    >>> f = lambda y: NearestNDInterpolator([[0.0, 0.0], [3.0, 4.0]], y)(2.0, 4.0)
    >>> sg.grad(f)(np.array([5.0, 6.0]))
    array([0., 1.])
    """

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        original = scipy.interpolate.NearestNDInterpolator
        if not isinstance(x, original):
            x = original(_numbers(x, original), np.zeros(len(x)), rescale, tree_options)
        self._made, self.values = x, floats(y)

    def __call__(self, *xi: Any) -> Any:
        """Return values at places, shape ``(..., d)`` or an array for each axis."""
        x = _places(xi)
        if self._made.scale is not None:
            x = (x - self._made.offset) / self._made.scale
        found = _found(lambda x: self._made.tree.query(x)[1], x)
        return traced_numpy.take(self.values, found, axis=0)


def griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan,
    rescale: bool = False,
) -> Any:  # fmt: skip
    """Return values at places among scattered points, as ``scipy.interpolate.griddata``.

    Parameters
    ----------
    points, values, xi:
        Numbers, shape ``(n, d)``, values there, and places, shape ``(m, d)``, or arrays for each
        axis.
    method:
        ``"linear"`` or ``"nearest"``.

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> sg.grad(lambda y: griddata(corners, y, (0.25, 0.5)))(np.ones(3))
    array([0.25, 0.25, 0.5 ])
    """
    if of_scipy((points, values, xi), {}):
        return scipy.interpolate.griddata(points, values, xi, method, fill_value, rescale)
    known = np.asarray(_places((_numbers(points, scipy.interpolate.griddata),)))
    if known.ndim == 1 or known.shape[-1] == 1:
        fill = "extrapolate" if method == "nearest" else fill_value
        table = interp1d.ours(known.reshape(-1), values, method, axis=0, fill_value=fill)
        return table(xi[0] if isinstance(xi, tuple) else xi)
    if method == "nearest":
        return NearestNDInterpolator.ours(known, values, rescale)(xi)
    if method != "linear":
        refuse_option("griddata", "method", method, "method='linear', or RBFInterpolator")
    return LinearNDInterpolator.ours(known, values, fill_value, rescale)(xi)

"""Images at any place: values between points, and images moved, turned and stretched."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage
import scipy.special

from .. import numpy as traced_numpy
from .._core.op import refuse
from .._core.ops.np_common import is_traced
from ..errors import ShapeError, TraceError
from ._images import correlated_along, filters, padded
from ._versions import floats, refuse_option, require_lengths

#: Weights of the neighbours at and around a place, by how far it is past the first: the
#: B-splines of order 1 and 3.
_WEIGHTS: dict[int, Callable[[Any], list[Any]]] = {
    0: lambda t: [1.0],
    1: lambda t: [1.0 - t, t],
    3: lambda t: [
        (1.0 - t) ** 3 / 6.0, 2.0 / 3.0 - t**2 * (2.0 - t) / 2.0,
        2.0 / 3.0 - (1.0 - t) ** 2 * (1.0 + t) / 2.0, t**3 / 6.0,
    ],
}  # fmt: skip

#: SciPy pads so far before it looks for the splines of images that go on as their edges do.
_ROOM = 12


def _folded(k: Any, n: Any, mode: str) -> Any:
    """Return the element that stands at a place beyond the edges."""
    if mode in ("reflect", "grid-mirror"):
        k = k % (2 * n)
        return np.minimum(k, 2 * n - 1 - k)
    if mode == "grid-wrap":
        return k % n
    if mode == "nearest":
        return np.clip(k, 0, n - 1)
    k = k % np.maximum(2 * (n - 1), 1)
    return np.minimum(k, 2 * (n - 1) - k)


#: The inverse of sampling cubic B-splines, c[k] = -6 z / (1 - z^2) z^|k| with z = sqrt(3) - 2, up
#: to rounding (Unser, Aldroubi and Eden, IEEE Trans. Signal Processing 41, 1993).
_POLE, _REACH = 3**0.5 - 2, 28
_INVERSE = -6 * _POLE / (1 - _POLE**2) * _POLE ** np.abs(np.arange(-_REACH, _REACH + 1))


def _spline_coefficients(image: Any, axis: int, mode: str) -> Any:
    """Return the coefficients of cubic splines through an image, along an axis."""
    n = int(image.shape[axis])
    if n <= 512:  # and SciPy's ends of short rows are not quite those that the modes say
        matrix = scipy.ndimage.spline_filter1d(np.eye(n), 3, 0, mode=mode)
        return np.moveaxis(np.tensordot(matrix, image, (1, axis)), 0, axis)
    mode = {"constant": "mirror", "nearest": "reflect"}.get(mode, mode)
    return correlated_along(image, _INVERSE, axis, mode, 0.0, _REACH)


@filters
def map_coordinates(
    image: Any, coordinates: Any, order: int, mode: str, cval: Any, prefilter: bool
) -> Any:
    """Values of an image at places, as ``scipy.ndimage.map_coordinates``.

    Parameters
    ----------
    input:
        The image, of d axes.
    coordinates:
        Places, shape ``(d, ...)``.
    order:
        0, 1 or 3.
    mode:
        ``"constant"``, ``"nearest"``, ``"mirror"``, ``"reflect"`` or ``"grid-wrap"``.

    Examples
    --------
    >>> f = lambda at: map_coordinates(np.arange(5.0) ** 2, at[None], order=1)[0]
    >>> sg.grad(f)(np.array([1.5]))
    array([3.])
    """
    return _at(image, floats(coordinates), order, mode, cval, prefilter)


def _at(image: Any, places: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    if order not in _WEIGHTS:
        refuse_option("map_coordinates", "order", order, "order 0, 1 or 3")
    if mode in ("wrap", "grid-constant"):
        refuse_option("map_coordinates", "mode", mode, "mode='grid-wrap' or 'constant'")
    if places.shape[0] != image.ndim:
        raise ShapeError(f"map_coordinates: {places.shape[0]} coordinates, {image.ndim} axes")
    within = True
    if mode == "constant":
        for x, n in zip(places, image.shape, strict=True):
            within = within & (x >= 0) & (x <= n - 1)
    if order == 3 and prefilter:
        if mode == "nearest":
            image, places = padded(image, _ROOM, mode, cval), places + _ROOM
        for axis in range(image.ndim):
            image = _spline_coefficients(image, axis, mode)
    axes = []
    for x, n in zip(places, image.shape, strict=True):
        first = np.floor(x + 0.5 if order == 0 else x)
        start = first.astype(np.int64) - order // 2
        weights = _WEIGHTS[order](x - first)
        axes.append([(_folded(start + j, n, mode), w) for j, w in enumerate(weights)])
    flat, total = image.reshape(-1), 0.0
    for corner in itertools.product(*axes):
        index, weight = 0, 1.0
        for (k, w), n in zip(corner, image.shape, strict=True):
            index, weight = index * n + k, weight * w
        total = total + weight * traced_numpy.take(flat, index)
    return np.where(within, total, cval) if mode == "constant" else total


# ---------------------------------------------------------------- moved, stretched, turned


@filters
def shift(image: Any, shift: Any, **how: Any) -> Any:
    """The image moved, as ``scipy.ndimage.shift``.

    Examples
    --------
    >>> sg.grad(lambda s: shift(np.arange(6.0) ** 2, s, order=1)[3])(0.5)
    np.float64(-5.0)
    """
    by = floats(shift)
    if by.ndim:
        require_lengths("shift", "shifts and axes", by.shape[0], image.ndim)
    by = np.broadcast_to(by, (image.ndim,))
    places = np.indices(tuple(map(int, image.shape)))
    grid = traced_numpy.stack([g - s for g, s in zip(places, by, strict=True)])
    return _at(image, grid, **how)


@filters
def zoom(image: Any, zoom: Any, grid_mode: bool, **how: Any) -> Any:
    """The image with more or fewer points, as ``scipy.ndimage.zoom``.

    Examples
    --------
    >>> sg.jacobian(lambda x: zoom(x, 1.5, order=1))(np.ones(2))
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    if grid_mode:
        refuse_option("zoom", "grid_mode", grid_mode, "grid_mode=False")
    rows = [int(n) for n in image.shape]
    if np.ndim(zoom):
        require_lengths("zoom", "factors and axes", len(zoom), len(rows))
    factors = np.broadcast_to(zoom, len(rows))
    try:
        wanted = [round(n * float(by)) for n, by in zip(rows, factors, strict=True)]
    except TraceError:
        refuse(
            scipy.ndimage.zoom,
            "how many points the result has depends on the zoom: it is to be a number, and "
            "map_coordinates takes traced places",
        )
    steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(rows, wanted, strict=True)]
    grid = np.indices(tuple(wanted)) * np.reshape(steps, (-1, *([1] * len(rows))))
    return _at(image, grid, **how)


def _grid(shape: Any) -> list[Any]:
    """Return the places of an image's points along each axis, which broadcast together."""
    ones = (1,) * len(shape)
    return [
        (1.0 * traced_numpy.arange(m)).reshape((*ones[:k], m, *ones[k + 1 :]))
        for k, m in enumerate(shape)
    ]


@filters
def affine_transform(image: Any, matrix: Any, offset: Any, output_shape: Any, **how: Any) -> Any:
    """The image at ``matrix @ place + offset``, as ``scipy.ndimage.affine_transform``.

    Homogeneous coordinates whose last row is not that of a unit matrix give nan.

    Examples
    --------
    >>> ramp = np.arange(6.0) ** 2
    >>> sg.grad(lambda a: affine_transform(ramp, a * np.eye(1), order=1)[2])(1.25)
    np.float64(10.0)
    """
    matrix, n = floats(matrix), image.ndim
    wrong: Any = 0.0
    if matrix.ndim == 2 and matrix.shape[1] == n + 1 and matrix.shape[0] in (n, n + 1):
        if matrix.shape[0] == n + 1:  # SciPy raises an error, where the numbers are known
            wrong = np.where(np.all(matrix[n] == np.eye(n + 1)[n]), 0.0, np.nan)
        matrix, offset = matrix[:n, :n], matrix[:n, n]  # homogeneous coordinates
    if matrix.shape not in ((n,), (n, n)):
        raise RuntimeError("affine matrix has wrong number of rows")
    shape = image.shape if output_shape is None else tuple(output_shape)
    if len(shape) != n:
        raise RuntimeError("output shape does not match the rank of the image")
    grid, offset = _grid(shape), np.broadcast_to(floats(offset), (n,))
    rows = matrix * np.eye(n) if matrix.ndim == 1 else matrix
    places = [offset[i] + sum(rows[i, j] * g for j, g in enumerate(grid)) for i in range(n)]
    return _at(image, traced_numpy.stack(places), **how) + wrong


@filters
def rotate(image: Any, angle: Any, axes: Any, reshape: bool, **how: Any) -> Any:
    """The image turned by an angle in degrees, as ``scipy.ndimage.rotate``.

    Examples
    --------
    >>> image = np.outer(np.arange(5.0), np.ones(5))
    >>> sg.grad(lambda d: rotate(image, d, reshape=False, order=1)[2, 1])(20.0).round(6)
    np.float64(-0.016401)
    """
    if image.ndim < 2:
        raise ValueError("input array should be at least 2D")
    if len(axes) != 2:
        raise ValueError("axes should contain exactly two values")
    first, second = sorted(k + image.ndim if k < 0 else k for k in axes)
    if first < 0 or second >= image.ndim:
        raise ValueError("invalid rotation plane specified")
    shape = list(image.shape)
    height, width = shape[first], shape[second]
    c, s = scipy.special.cosdg(angle), scipy.special.sindg(angle)
    if reshape:
        if is_traced(angle):
            refuse_option("rotate", "reshape", True, "reshape=False: the size depends on the angle")
        bounds = np.array([[c, s], [-s, c]]) @ np.array(
            [[0, 0, int(height), int(height)], [0, int(width), 0, int(width)]]
        )
        shape[first], shape[second] = (np.ptp(bounds, axis=1) + 0.5).astype(int).tolist()
    grid = _grid(shape)
    y, x = (grid[k] - (shape[k] - 1) / 2 for k in (first, second))
    whole = traced_numpy.zeros(tuple(shape))
    grid[first] = c * y + s * x + (height - 1) / 2
    grid[second] = c * x - s * y + (width - 1) / 2
    return _at(image, traced_numpy.stack([g + whole for g in grid]), **how)

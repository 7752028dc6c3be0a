"""``scipy.ndimage``, for functions that symgrad traces: filters, and images at any place.

Images, weights and coordinates may be traced. Other names are SciPy's own.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> from symgrad.scipy.ndimage import map_coordinates
>>> image = np.outer(np.arange(4.0), np.arange(4.0))
>>> def at(place):
...     return map_coordinates(image, place, order=1)
>>> sg.grad(at)(np.array([1.5, 2.5]))
array([2.5, 1.5])
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage

from .. import numpy as traced_numpy
from .._core.ops.np_common import is_traced
from .._core.trace.namespace import offering
from ._coverage import reasons
from ._image_positions import affine_transform, map_coordinates, rotate, shift, zoom
from ._images import (
    chosen_axes,
    correlated,
    correlated_along,
    filters,
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
)
from ._labels import mean, standard_deviation, sum, sum_labels, variance  # noqa: A004
from ._versions import floats, refuse_option, replaces

__all__ = [
    "affine_transform", "center_of_mass", "convolve", "convolve1d", "correlate", "correlate1d",
    "gaussian_filter", "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace",
    "laplace", "map_coordinates", "maximum_filter", "maximum_filter1d", "mean", "median_filter",
    "minimum_filter", "minimum_filter1d", "prewitt", "rotate", "shift", "sobel",
    "standard_deviation", "sum", "sum_labels", "uniform_filter", "uniform_filter1d", "variance",
    "zoom",
]  # fmt: skip


# ---------------------------------------------------------------- given weights


def _weighed(
    image: Any, weights: Any, mode: str, cval: Any, origin: Any, axes: Any, convolved: bool
) -> Any:
    """Return the correlation with weights that have some of the axes, or the convolution."""
    weights = np.flip(floats(weights)) if convolved else floats(weights)
    chosen = sorted(chosen_axes(image, axes))
    shape, centre = [1] * image.ndim, [0] * image.ndim
    moved = np.broadcast_to(origin, len(chosen)).tolist()
    for axis, m, by in zip(chosen, map(int, weights.shape), moved, strict=True):
        shape[axis], centre[axis] = m, (m - 1) // 2 - by if convolved else m // 2 + by
    return correlated(image, weights.reshape(shape), mode, cval, tuple(centre))


@filters
def correlate1d(image: Any, weights: Any, axis: int, **how: Any) -> Any:
    """Correlation along an axis, as ``scipy.ndimage.correlate1d``.

    Examples
    --------
    >>> sg.grad(lambda w: correlate1d(np.arange(5.0), w)[2])(np.ones(3))
    array([1., 2., 3.])
    """
    return _weighed(image, weights, **how, axes=axis, convolved=False)


@filters
def convolve1d(image: Any, weights: Any, axis: int, **how: Any) -> Any:
    """Convolution along an axis, as ``scipy.ndimage.convolve1d``.

    Examples
    --------
    >>> sg.grad(lambda w: convolve1d(np.arange(5.0), w)[2])(np.ones(3))
    array([3., 2., 1.])
    """
    return _weighed(image, weights, **how, axes=axis, convolved=True)


@filters
def correlate(image: Any, weights: Any, axes: Any = None, **how: Any) -> Any:
    """Correlation with weights of as many axes, as ``scipy.ndimage.correlate``.

    Examples
    --------
    >>> sg.grad(lambda w: correlate(np.arange(9.0).reshape(3, 3), w)[1, 1])(np.ones((3, 3)))
    array([[0., 1., 2.],
           [3., 4., 5.],
           [6., 7., 8.]])
    """
    return _weighed(image, weights, **how, axes=axes, convolved=False)


@filters
def convolve(image: Any, weights: Any, axes: Any = None, **how: Any) -> Any:
    """Convolution with weights of as many axes, as ``scipy.ndimage.convolve``.

    Examples
    --------
    >>> sg.grad(lambda w: convolve(np.arange(9.0).reshape(3, 3), w)[1, 1])(np.ones((3, 3)))
    array([[8., 7., 6.],
           [5., 4., 3.],
           [2., 1., 0.]])
    """
    return _weighed(image, weights, **how, axes=axes, convolved=True)


# ---------------------------------------------------------------- normal weights, differences


def _smoothed(
    x: Any, sigma: Any, axis: int, order: int, mode: str, cval: Any, truncate: float, radius: Any
) -> Any:
    if radius is None:
        if is_traced(sigma):
            refuse_option(
                "gaussian_filter", "radius", None, "radius=..., which sigma then does not change"
            )
        radius = int(truncate * float(sigma) + 0.5)
    places = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / (sigma * sigma) * places**2)
    weights = weights / np.sum(weights)
    factor = [1.0]  # the density's derivative is a polynomial times it
    for _ in range(order):
        slope = [*[k * c for k, c in enumerate(factor)][1:], 0.0, 0.0]
        factor = [d - c / (sigma * sigma) for d, c in zip(slope, [0.0, *factor], strict=True)]
    polynomial = builtins.sum(c * places**k for k, c in enumerate(factor))
    return correlated_along(x, np.flip(weights * polynomial), axis, mode, cval, radius)


@filters
def gaussian_filter1d(image: Any, sigma: Any, axis: int, **how: Any) -> Any:
    """Gaussian weights along an axis, as ``scipy.ndimage.gaussian_filter1d``.

    Examples
    --------
    >>> sg.grad(lambda x: gaussian_filter1d(x, 0.5)[2])(np.ones(5)).round(4)
    array([3.000e-04, 1.065e-01, 7.866e-01, 1.065e-01, 3.000e-04])
    """
    return _smoothed(image, sigma, axis, **how)


def _one_each(option: Any, count: int) -> list[Any]:
    """Return an option for each of so many axes, of one for all or of as many."""
    if np.ndim(option) == 0:
        return [option] * count
    if len(option) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return list(option)


def _each_axis(
    x: Any, of_axis: Callable[[Any, int, Any, str], Any], option: Any, mode: Any, axes: Any
) -> Any:
    """Filter along one axis after another, each with an option and a mode."""
    chosen = chosen_axes(x, axes)
    options, modes = _one_each(option, len(chosen)), _one_each(mode, len(chosen))
    for axis, own, edges in zip(chosen, options, modes, strict=True):
        x = of_axis(x, axis, own, edges)
    return x


@filters
def gaussian_filter(
    image: Any, sigma: Any, order: Any, mode: Any, cval: Any, truncate: float, radius: Any,
    axes: Any,
) -> Any:  # fmt: skip
    """Gaussian weights, as ``scipy.ndimage.gaussian_filter``.

    Examples
    --------
    >>> sg.grad(lambda x: gaussian_filter(x, 0.5)[1, 1])(np.ones((3, 3))).round(4)
    array([[0.0114, 0.0839, 0.0114],
           [0.0839, 0.6187, 0.0839],
           [0.0114, 0.0839, 0.0114]])
    """
    count = len(chosen_axes(image, axes))
    own = iter(zip(_one_each(order, count), _one_each(radius, count), strict=True))

    def along(x: Any, axis: int, width: Any, edges: str) -> Any:
        degree, reach = next(own)
        if not is_traced(width) and width <= 1e-15:  # as SciPy: nothing along this axis
            return x
        return _smoothed(x, width, axis, degree, edges, cval, truncate, reach)

    return _each_axis(image, along, sigma, mode, axes)


@filters
def laplace(image: Any, mode: str, cval: Any, axes: Any) -> Any:
    """Laplace's operator by second differences, as ``scipy.ndimage.laplace``.

    Examples
    --------
    >>> sg.grad(lambda x: laplace(x)[1, 1])(np.ones((3, 3)))
    array([[ 0.,  1.,  0.],
           [ 1., -4.,  1.],
           [ 0.,  1.,  0.]])
    """
    weights, chosen = np.array([1.0, -2.0, 1.0]), chosen_axes(image, axes)
    seconds = [correlated_along(image, weights, axis, mode, cval, 1) for axis in chosen]
    return builtins.sum(seconds) if seconds else image  # along no axis: SciPy's


@filters
def gaussian_laplace(image: Any, sigma: Any, axes: Any, **how: Any) -> Any:
    """Laplace's operator of the image smoothed, as ``scipy.ndimage.gaussian_laplace``.

    Examples
    --------
    >>> sg.grad(lambda x: gaussian_laplace(x, 0.5)[2])(np.ones(5)).round(4)
    array([ 0.0158,  1.2774, -3.1463,  1.2774,  0.0158])
    """
    seconds = _slopes(image, sigma, 2, axes, axes, **how)
    return builtins.sum(seconds) if seconds else image


@filters
def gaussian_gradient_magnitude(image: Any, sigma: Any, axes: Any, **how: Any) -> Any:
    """Length of the gradient of the image smoothed; as SciPy's.

    Examples
    --------
    >>> x = np.outer(np.arange(5.0), np.ones(5))
    >>> sg.grad(lambda a: gaussian_gradient_magnitude(a * x, 0.5)[2, 2])(3.0).round(4)
    np.float64(0.86)
    """
    slopes = _slopes(image, sigma, 1, axes, None, **how)
    return np.sqrt(builtins.sum(s * s for s in slopes)) if slopes else image


def _slopes(
    image: Any, sigma: Any, order: int, axes: Any, smoothed: Any, mode: Any, cval: Any,
    truncate: float = 4.0,
) -> list[Any]:  # fmt: skip
    """Return derivatives along each of some axes of an image smoothed along some."""

    def of_axis(chosen: int) -> Any:
        def along(x: Any, axis: int, own: Any, edges: str) -> Any:
            own_order = order if axis == chosen else 0
            return _smoothed(x, own, axis, own_order, edges, cval, truncate, None)

        return _each_axis(image, along, sigma, mode, smoothed)

    return [of_axis(axis) for axis in chosen_axes(image, axes)]


def _differences(x: Any, axis: int, others: Any, mode: str, cval: Any) -> Any:
    """Return differences along an axis, weighted along the others."""
    axis = axis % x.ndim
    made = correlated_along(x, np.array([-1.0, 0.0, 1.0]), axis, mode, cval, 1)
    for other in range(x.ndim):
        made = made if other == axis else correlated_along(made, others, other, mode, cval, 1)
    return made


@filters
def sobel(image: Any, axis: int, mode: str, cval: Any) -> Any:
    """Sobel's differences, as ``scipy.ndimage.sobel``.

    Examples
    --------
    >>> sg.grad(lambda x: sobel(x)[1, 1])(np.ones((3, 3)))
    array([[-1.,  0.,  1.],
           [-2.,  0.,  2.],
           [-1.,  0.,  1.]])
    """
    return _differences(image, axis, np.array([1.0, 2.0, 1.0]), mode, cval)


@filters
def prewitt(image: Any, axis: int, mode: str, cval: Any) -> Any:
    """Prewitt's differences, as ``scipy.ndimage.prewitt``.

    Examples
    --------
    >>> sg.grad(lambda x: prewitt(x)[1, 1])(np.ones((3, 3)))
    array([[-1.,  0.,  1.],
           [-1.,  0.,  1.],
           [-1.,  0.,  1.]])
    """
    return _differences(image, axis, np.ones(3), mode, cval)


@filters
def uniform_filter1d(image: Any, size: int, axis: int, mode: str, cval: Any, origin: int) -> Any:
    """Means of neighbours along an axis, as ``scipy.ndimage.uniform_filter1d``.

    Examples
    --------
    >>> sg.grad(lambda x: uniform_filter1d(x, 3)[2])(np.ones(5)).round(4)
    array([0.    , 0.3333, 0.3333, 0.3333, 0.    ])
    """
    return correlated_along(image, np.full(size, 1.0 / size), axis, mode, cval, size // 2 + origin)


@filters
def uniform_filter(image: Any, size: Any, mode: Any, cval: Any, origin: int, axes: Any) -> Any:
    """Means of neighbours, as ``scipy.ndimage.uniform_filter``.

    Examples
    --------
    >>> sg.grad(lambda x: uniform_filter(x, 3)[1, 1])(np.ones((3, 3))).round(4)
    array([[0.1111, 0.1111, 0.1111],
           [0.1111, 0.1111, 0.1111],
           [0.1111, 0.1111, 0.1111]])
    """

    def along(x: Any, axis: int, own: int, edges: str) -> Any:
        return correlated_along(x, np.full(own, 1.0 / own), axis, edges, cval, own // 2 + origin)

    return _each_axis(image, along, size, mode, axes)


# ---------------------------------------------------------------- means of places


@replaces(scipy.ndimage.center_of_mass)
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> Any:
    """Means of the places of regions, weighted by their values.

    Examples
    --------
    >>> sg.jacobian(lambda x: np.array(center_of_mass(x)))(np.array([1.0, 1.0, 2.0]))
    array([[-0.3125, -0.0625,  0.1875]])
    """
    x = floats(input)
    places = np.meshgrid(*map(traced_numpy.arange, x.shape), indexing="ij", sparse=True)
    whole = sum_labels(x, labels, index)
    means = [sum_labels(x * place, labels, index) / whole for place in places]
    return [*zip(*means, strict=True)] if np.ndim(whole) else tuple(means)


__getattr__, __dir__ = offering(scipy.ndimage, globals(), reasons("ndimage"))

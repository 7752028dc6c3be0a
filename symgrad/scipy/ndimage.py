"""``scipy.ndimage``, for functions that symgrad traces: filters, and images at any place.

Images, weights and coordinates may be traced. What is not listed here is SciPy's own.

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

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage

from .._ops.np_common import is_traced
from .._trace._namespace import offering
from ._affine import affine_transform, rotate
from ._fates import reasons
from ._images import (
    center_of_mass,
    chosen_axes,
    correlated,
    correlated_along,
    filters,
    map_coordinates,
    maximum_filter,
    maximum_filter1d,
    median_filter,
    minimum_filter,
    minimum_filter1d,
    shift,
    zoom,
)
from ._replacing import floats, refuse_option

__all__ = [
    "affine_transform", "center_of_mass", "convolve", "convolve1d", "correlate", "correlate1d",
    "gaussian_filter", "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace",
    "laplace", "map_coordinates", "maximum_filter", "maximum_filter1d", "median_filter",
    "minimum_filter", "minimum_filter1d", "prewitt", "rotate", "shift", "sobel", "uniform_filter",
    "uniform_filter1d", "zoom",
]  # fmt: skip


@filters(scipy.ndimage.correlate1d)
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """Correlation along an axis, as ``scipy.ndimage.correlate1d``.

    Examples
    --------
    >>> sg.grad(lambda w: correlate1d(np.arange(5.0), w)[2])(np.ones(3))
    array([1., 2., 3.])
    """
    weights = floats(weights)
    return correlated_along(
        floats(input), weights, axis, mode, cval, weights.shape[0] // 2 + origin
    )


@filters(scipy.ndimage.convolve1d)
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """Convolution along an axis, as ``scipy.ndimage.convolve1d``.

    Examples
    --------
    >>> sg.grad(lambda w: convolve1d(np.arange(5.0), w)[2])(np.ones(3))
    array([3., 2., 1.])
    """
    weights = np.flip(floats(weights))
    centre = (int(weights.shape[0]) - 1) // 2 - origin
    return correlated_along(floats(input), weights, axis, mode, cval, centre)


@filters(scipy.ndimage.correlate)
def correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: Any = 0,
) -> Any:  # fmt: skip
    """Correlation with weights of as many axes, as ``scipy.ndimage.correlate``.

    Examples
    --------
    >>> sg.grad(lambda w: correlate(np.arange(9.0).reshape(3, 3), w)[1, 1])(np.ones((3, 3)))
    array([[0., 1., 2.],
           [3., 4., 5.],
           [6., 7., 8.]])
    """
    weights = floats(weights)
    moved = np.broadcast_to(origin, weights.ndim)
    centre = tuple(int(m) // 2 + int(o) for m, o in zip(weights.shape, moved, strict=True))
    return correlated(floats(input), weights, mode, cval, centre)


@filters(scipy.ndimage.convolve)
def convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: Any = 0,
) -> Any:  # fmt: skip
    """Convolution with weights of as many axes, as ``scipy.ndimage.convolve``.

    Examples
    --------
    >>> sg.grad(lambda w: convolve(np.arange(9.0).reshape(3, 3), w)[1, 1])(np.ones((3, 3)))
    array([[8., 7., 6.],
           [5., 4., 3.],
           [2., 1., 0.]])
    """
    weights = np.flip(floats(weights))
    moved = np.broadcast_to(origin, weights.ndim)
    centre = tuple((int(m) - 1) // 2 - int(o) for m, o in zip(weights.shape, moved, strict=True))
    return correlated(floats(input), weights, mode, cval, centre)


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
    polynomial = sum(c * places**k for k, c in enumerate(factor))
    return correlated_along(x, np.flip(weights * polynomial), axis, mode, cval, radius)


@filters(scipy.ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, truncate: float = 4.0, *, radius: int | None = None,
) -> Any:  # fmt: skip
    """Gaussian weights along an axis, as ``scipy.ndimage.gaussian_filter1d``.

    Examples
    --------
    >>> sg.grad(lambda x: gaussian_filter1d(x, 0.5)[2])(np.ones(5)).round(4)
    array([3.000e-04, 1.065e-01, 7.866e-01, 1.065e-01, 3.000e-04])
    """
    return _smoothed(floats(input), sigma, axis, order, mode, cval, truncate, radius)


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


@filters(scipy.ndimage.gaussian_filter)
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Gaussian weights, as ``scipy.ndimage.gaussian_filter``.

    Examples
    --------
    >>> sg.grad(lambda x: gaussian_filter(x, 0.5)[1, 1])(np.ones((3, 3))).round(4)
    array([[0.0114, 0.0839, 0.0114],
           [0.0839, 0.6187, 0.0839],
           [0.0114, 0.0839, 0.0114]])
    """
    image = floats(input)
    count = len(chosen_axes(image, axes))
    own = iter(zip(_one_each(order, count), _one_each(radius, count), strict=True))

    def along(x: Any, axis: int, width: Any, edges: str) -> Any:
        degree, reach = next(own)
        if not is_traced(width) and width <= 1e-15:  # as SciPy: nothing along this axis
            return x
        return _smoothed(x, width, axis, degree, edges, cval, truncate, reach)

    return _each_axis(image, along, sigma, mode, axes)


@filters(scipy.ndimage.laplace)
def laplace(
    input: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, *, axes: Any = None
) -> Any:
    """Laplace's operator by second differences, as ``scipy.ndimage.laplace``.

    Examples
    --------
    >>> sg.grad(lambda x: laplace(x)[1, 1])(np.ones((3, 3)))
    array([[ 0.,  1.,  0.],
           [ 1., -4.,  1.],
           [ 0.,  1.,  0.]])
    """
    x, weights = floats(input), np.array([1.0, -2.0, 1.0])
    seconds = [correlated_along(x, weights, axis, mode, cval, 1) for axis in chosen_axes(x, axes)]
    return sum(seconds) if seconds else x  # along no axis: SciPy's


@filters(scipy.ndimage.gaussian_laplace)
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, *,
    axes: Any = None, truncate: float = 4.0,
) -> Any:  # fmt: skip
    """Laplace's operator of the image smoothed, as ``scipy.ndimage.gaussian_laplace``.

    Examples
    --------
    >>> sg.grad(lambda x: gaussian_laplace(x, 0.5)[2])(np.ones(5)).round(4)
    array([ 0.0158,  1.2774, -3.1463,  1.2774,  0.0158])
    """
    seconds = _slopes(input, sigma, 2, mode, cval, truncate, axes, axes)
    return sum(seconds) if seconds else floats(input)


@filters(scipy.ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, *,
    axes: Any = None, truncate: float = 4.0,
) -> Any:  # fmt: skip
    """Length of the gradient of the image smoothed; as SciPy's.

    Examples
    --------
    >>> x = np.outer(np.arange(5.0), np.ones(5))
    >>> sg.grad(lambda a: gaussian_gradient_magnitude(a * x, 0.5)[2, 2])(3.0).round(4)
    np.float64(0.86)
    """
    slopes = _slopes(input, sigma, 1, mode, cval, truncate, axes, None)
    return np.sqrt(sum(s * s for s in slopes)) if slopes else floats(input)


def _slopes(
    input: Any, sigma: Any, order: int, mode: str, cval: Any, truncate: float, axes: Any,
    smoothed: Any,
) -> list[Any]:  # fmt: skip
    """Return derivatives along each of some axes of an image smoothed along some."""
    x = floats(input)

    def of_axis(chosen: int) -> Any:
        def along(x: Any, axis: int, own: Any, edges: str) -> Any:
            own_order = order if axis == chosen else 0
            return _smoothed(x, own, axis, own_order, edges, cval, truncate, None)

        return _each_axis(x, along, sigma, mode, smoothed)

    return [of_axis(axis) for axis in chosen_axes(x, axes)]


def _differences(x: Any, axis: int, others: Any, mode: str, cval: Any) -> Any:
    """Return differences along an axis, weighted along the others."""
    axis = axis % x.ndim
    made = correlated_along(x, np.array([-1.0, 0.0, 1.0]), axis, mode, cval, 1)
    for other in range(x.ndim):
        made = made if other == axis else correlated_along(made, others, other, mode, cval, 1)
    return made


@filters(scipy.ndimage.sobel)
def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0
) -> Any:
    """Sobel's differences, as ``scipy.ndimage.sobel``.

    Examples
    --------
    >>> sg.grad(lambda x: sobel(x)[1, 1])(np.ones((3, 3)))
    array([[-1.,  0.,  1.],
           [-2.,  0.,  2.],
           [-1.,  0.,  1.]])
    """
    return _differences(floats(input), axis, np.array([1.0, 2.0, 1.0]), mode, cval)


@filters(scipy.ndimage.prewitt)
def prewitt(
    input: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0
) -> Any:
    """Prewitt's differences, as ``scipy.ndimage.prewitt``.

    Examples
    --------
    >>> sg.grad(lambda x: prewitt(x)[1, 1])(np.ones((3, 3)))
    array([[-1.,  0.,  1.],
           [-1.,  0.,  1.],
           [-1.,  0.,  1.]])
    """
    return _differences(floats(input), axis, np.ones(3), mode, cval)


@filters(scipy.ndimage.uniform_filter1d)
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """Means of neighbours along an axis, as ``scipy.ndimage.uniform_filter1d``.

    Examples
    --------
    >>> sg.grad(lambda x: uniform_filter1d(x, 3)[2])(np.ones(5)).round(4)
    array([0.    , 0.3333, 0.3333, 0.3333, 0.    ])
    """
    return correlated_along(
        floats(input), np.full(size, 1.0 / size), axis, mode, cval, size // 2 + origin
    )


@filters(scipy.ndimage.uniform_filter)
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: int = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Means of neighbours, as ``scipy.ndimage.uniform_filter``.

    Examples
    --------
    >>> sg.grad(lambda x: uniform_filter(x, 3)[1, 1])(np.ones((3, 3))).round(4)
    array([[0.1111, 0.1111, 0.1111],
           [0.1111, 0.1111, 0.1111],
           [0.1111, 0.1111, 0.1111]])
    """
    return _each_axis(
        floats(input),
        lambda x, axis, own, edges: correlated_along(
            x, np.full(own, 1.0 / own), axis, edges, cval, own // 2 + origin
        ),
        size, mode, axes,
    )  # fmt: skip


__getattr__, __dir__ = offering(scipy.ndimage, globals(), reasons("ndimage"))

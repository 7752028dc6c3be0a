"""Images: what lies beyond their edges, sums and ranks of neighbours, and values at any place."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage

from .. import numpy as traced_numpy
from ..errors import DTypeError, ShapeError
from ._replacing import floats, refuse_option, replaces


def chosen_axes(x: Any, axes: Any) -> tuple[int, ...]:
    """Return the axes that ``axes=`` means, counted from the front."""
    return (
        tuple(range(x.ndim))
        if axes is None
        else tuple(range(x.ndim)[k] for k in np.atleast_1d(axes))
    )


#: SciPy's names for what lies beyond an edge, in NumPy's terms.
_PADS = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge",
    "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip


def padded(x: Any, room: Any, mode: str, cval: Any) -> Any:
    """Return an image with room around it, filled as one of SciPy's modes says."""
    if mode in ("constant", "grid-constant"):
        return np.pad(x, room, constant_values=cval)
    return np.pad(x, room, mode=_PADS[mode])


def filters(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a function stand for one of SciPy's, without an array or a type for its result.

    SciPy's results have the type of the image.
    """

    def decorate(ours: Callable[..., Any]) -> Callable[..., Any]:
        parameters = inspect.signature(ours)

        def checked(*args: Any, **kwargs: Any) -> Any:
            given = parameters.bind(*args, **kwargs).arguments
            if given.get("output") is not None:
                refuse_option(ours.__name__, "output", given["output"], "the result's astype")
            dtype = traced_numpy.asarray(given["input"]).dtype
            if dtype.kind not in "fc":
                raise DTypeError(
                    f"scipy.ndimage.{ours.__name__} of an image of type {dtype} gives numbers of "
                    f"that type, without what is behind the point, and so without a derivative. "
                    "Write instead: image.astype(float)"
                )
            return ours(*args, **kwargs).astype(dtype)

        return replaces(original)(functools.wraps(ours)(checked))

    return decorate


def correlated(x: Any, weights: Any, mode: str, cval: Any, centre: tuple[int, ...]) -> Any:
    """Return sums of neighbours; ``centre``: the place in the weights that is the element's."""
    sizes = tuple(map(int, weights.shape))
    room = [(c, m - 1 - c) for c, m in zip(centre, sizes, strict=True)]
    wide = padded(x, room, mode, cval)
    total = 0.0
    for place in np.ndindex(*sizes):
        cut = tuple(slice(k, k + n) for k, n in zip(place, x.shape, strict=True))
        total = total + weights[place] * wide[cut]
    return total


def correlated_along(x: Any, weights: Any, axis: int, mode: str, cval: Any, centre: int) -> Any:
    shape, place = [1] * x.ndim, [0] * x.ndim
    shape[axis], place[axis] = int(weights.shape[0]), centre
    return correlated(x, weights.reshape(shape), mode, cval, tuple(place))


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


def _at_places(image: Any, places: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Any:
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


@filters(scipy.ndimage.map_coordinates)
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
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
    return _at_places(floats(input), floats(coordinates), order, mode, cval, prefilter)


@filters(scipy.ndimage.shift)
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image moved, as ``scipy.ndimage.shift``.

    Examples
    --------
    >>> sg.grad(lambda s: shift(np.arange(6.0) ** 2, s, order=1)[3])(0.5)
    np.float64(-5.0)
    """
    image = floats(input)
    by = np.broadcast_to(floats(shift), (image.ndim,))
    grid = traced_numpy.stack(
        [g - s for g, s in zip(np.indices(tuple(map(int, image.shape))), by, strict=True)]
    )
    return _at_places(image, grid, order, mode, cval, prefilter)


@filters(scipy.ndimage.zoom)
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
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
    image = floats(input)
    rows = [int(n) for n in image.shape]
    factors = np.broadcast_to(zoom, len(rows))
    wanted = [round(n * float(by)) for n, by in zip(rows, factors, strict=True)]
    steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(rows, wanted, strict=True)]
    grid = np.indices(tuple(wanted)) * np.reshape(steps, (-1, *([1] * len(rows))))
    return _at_places(image, grid, order, mode, cval, prefilter)


# ---------------------------------------------------------------- ranks of neighbours


def _neighbours(
    x: Any, size: Any, footprint: Any, mode: str, cval: Any, origin: Any, axes: Any
) -> list[Any]:
    """Return for each place of a footprint, or of a box, the image that is moved there."""
    chosen = chosen_axes(x, axes)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones(np.broadcast_to(size, len(chosen)), bool)
    mask = np.asarray(footprint, bool)
    if mask.ndim != len(chosen):
        raise ShapeError(f"a footprint of {mask.ndim} axes, for {len(chosen)} of the image")
    room = [(0, 0)] * x.ndim
    moved = np.broadcast_to(origin, len(chosen))
    for axis, m, o in zip(chosen, mask.shape, moved, strict=True):
        room[axis] = (m // 2 + int(o), m - 1 - m // 2 - int(o))
    wide = padded(x, room, mode, cval)
    found = []
    for place in np.argwhere(mask):
        start = dict(zip(chosen, map(int, place), strict=True))
        cut = tuple(slice(start.get(k, 0), start.get(k, 0) + n) for k, n in enumerate(x.shape))
        found.append(wide[cut])
    return found


@filters(scipy.ndimage.maximum_filter)
def maximum_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Largest of the neighbours, as ``scipy.ndimage.maximum_filter``.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.scipy.ndimage import maximum_filter
    >>> sg.grad(lambda x: np.sum(maximum_filter(x, 3)))(np.array([1.0, 5.0, 2.0, 3.0]))
    array([0., 3., 0., 1.])
    """
    x = floats(input)
    return functools.reduce(np.maximum, _neighbours(x, size, footprint, mode, cval, origin, axes))


@filters(scipy.ndimage.minimum_filter)
def minimum_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Smallest of the neighbours, as ``scipy.ndimage.minimum_filter``."""
    x = floats(input)
    return functools.reduce(np.minimum, _neighbours(x, size, footprint, mode, cval, origin, axes))


@filters(scipy.ndimage.maximum_filter1d)
def maximum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """Largest of the neighbours along an axis, as ``scipy.ndimage.maximum_filter1d``."""
    return maximum_filter(floats(input), size, None, None, mode, cval, origin, axes=(axis,))


@filters(scipy.ndimage.minimum_filter1d)
def minimum_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """Smallest of the neighbours along an axis, as ``scipy.ndimage.minimum_filter1d``."""
    return minimum_filter(floats(input), size, None, None, mode, cval, origin, axes=(axis,))


@filters(scipy.ndimage.median_filter)
def median_filter(
    input: Any, size: Any = None, footprint: Any = None, output: Any = None,
    mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """Median of the neighbours, the upper of two, as ``scipy.ndimage.median_filter``."""
    windows = _neighbours(floats(input), size, footprint, mode, cval, origin, axes)
    return np.sort(traced_numpy.stack(windows), axis=0)[len(windows) // 2]


@replaces(scipy.ndimage.center_of_mass)
def center_of_mass(input: Any, labels: Any = None, index: Any = None) -> tuple[Any, ...]:
    """Mean of the places of an image, weighted by its values."""
    if labels is not None:
        refuse_option("center_of_mass", "labels", "...", "center_of_mass(image * (labels == k))")
    x = floats(input)
    places = np.meshgrid(*map(traced_numpy.arange, x.shape), indexing="ij", sparse=True)
    return tuple(np.sum(x * place) / np.sum(x) for place in places)

"""Images: SciPy's arguments, what lies beyond edges, sums and ranks of neighbours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage

from .. import numpy as traced_numpy
from ..errors import DTypeError, ShapeError
from ._versions import Function, floats, given_to, refuse_option, replaces


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


def filters(ours: Function) -> Function:
    """Have a function stand for SciPy's of its name.

    It is given the image as floats, and all other arguments by SciPy's names. SciPy's results have
    the type of the image; an array or a type for them is refused.
    """
    name, original = ours.__name__, getattr(scipy.ndimage, ours.__name__)
    takes = inspect.signature(original)

    @functools.wraps(ours)
    def function(*args: Any, **kwargs: Any) -> Any:
        given = given_to(takes, args, kwargs)
        image, output = traced_numpy.asarray(given.pop("input")), given.pop("output")
        if output is not None:
            refuse_option(name, "output", output, "the result's astype")
        if image.dtype.kind not in "fc":
            raise DTypeError(
                f"scipy.ndimage.{name} of an image of type {image.dtype} gives numbers of "
                f"that type, without what is behind the point, and so without a derivative. "
                "Write instead: image.astype(float)"
            )
        return ours(floats(image), **given).astype(image.dtype)

    function.__signature__ = takes  # type: ignore[attr-defined]
    return replaces(original)(function)


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


# ---------------------------------------------------------------- ranks of neighbours


def _neighbours(
    image: Any, size: Any, footprint: Any, mode: str, cval: Any, origin: Any, axes: Any
) -> list[Any]:
    """Return for each place of a footprint, or of a box, the image that is moved there."""
    chosen = chosen_axes(image, axes)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        footprint = np.ones(np.broadcast_to(size, len(chosen)), bool)
    mask = np.asarray(footprint, bool)
    if mask.ndim != len(chosen):
        raise ShapeError(f"a footprint of {mask.ndim} axes, for {len(chosen)} of the image")
    room = [(0, 0)] * image.ndim
    moved = np.broadcast_to(origin, len(chosen))
    for axis, m, o in zip(chosen, mask.shape, moved, strict=True):
        room[axis] = (m // 2 + int(o), m - 1 - m // 2 - int(o))
    wide = padded(image, room, mode, cval)
    found = []
    for place in np.argwhere(mask):
        start = dict(zip(chosen, map(int, place), strict=True))
        cut = tuple(slice(start.get(k, 0), start.get(k, 0) + n) for k, n in enumerate(image.shape))
        found.append(wide[cut])
    return found


def _ranked(name: str, what: str, choose: Callable[[list[Any]], Any]) -> Function:
    """Return a filter that chooses among neighbours, along one axis if its name says so."""

    def ranked(image: Any, size: Any, **how: Any) -> Any:
        if "axis" in how:
            how |= {"footprint": None, "axes": (how.pop("axis"),)}
        return choose(_neighbours(image, size, **how))

    ranked.__name__ = ranked.__qualname__ = name
    ranked.__doc__ = f"""{what} of the neighbours, as ``scipy.ndimage.{name}``.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> from symgrad.scipy.ndimage import {name}
    >>> sg.grad(lambda x: 2.0 * {name}(x, 3)[1])(np.array([4.0, 3.0, 2.0, 1.0])).sum()
    np.float64(2.0)
    """
    return filters(ranked)


def _largest(windows: list[Any]) -> Any:
    return functools.reduce(np.maximum, windows)


def _smallest(windows: list[Any]) -> Any:
    return functools.reduce(np.minimum, windows)


def _middle(windows: list[Any]) -> Any:
    return np.sort(traced_numpy.stack(windows), axis=0)[len(windows) // 2]


maximum_filter, maximum_filter1d = (
    _ranked(name, "Largest", _largest) for name in ("maximum_filter", "maximum_filter1d")
)
minimum_filter, minimum_filter1d = (
    _ranked(name, "Smallest", _smallest) for name in ("minimum_filter", "minimum_filter1d")
)
median_filter = _ranked("median_filter", "Median, the upper of two,", _middle)

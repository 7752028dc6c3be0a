"""Images turned, stretched and sheared."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.ndimage
import scipy.special

from .. import numpy as traced_numpy
from .._ops.np_common import is_traced
from ._images import filters, map_coordinates
from ._replacing import floats, refuse_option


def _grid(shape: Any) -> list[Any]:
    """Return the places of an image's points along each axis, which broadcast together."""
    ones = (1,) * len(shape)
    return [
        (1.0 * traced_numpy.arange(m)).reshape((*ones[:k], m, *ones[k + 1 :]))
        for k, m in enumerate(shape)
    ]


@filters(scipy.ndimage.affine_transform)
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image at ``matrix @ place + offset``, as ``scipy.ndimage.affine_transform``.

    Homogeneous coordinates whose last row is not that of a unit matrix give nan.

    Examples
    --------
    >>> ramp = np.arange(6.0) ** 2
    >>> sg.grad(lambda a: affine_transform(ramp, a * np.eye(1), order=1)[2])(1.25)
    np.float64(10.0)
    """
    image, matrix = floats(input), floats(matrix)
    n = image.ndim
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
    places = traced_numpy.stack(places)
    return map_coordinates(image, places, None, order, mode, cval, prefilter) + wrong


@filters(scipy.ndimage.rotate)
def rotate(
    input: Any, angle: Any, axes: Any = (1, 0), reshape: bool = True, output: Any = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """The image turned by an angle in degrees, as ``scipy.ndimage.rotate``.

    Examples
    --------
    >>> image = np.outer(np.arange(5.0), np.ones(5))
    >>> sg.grad(lambda d: rotate(image, d, reshape=False, order=1)[2, 1])(20.0).round(6)
    np.float64(-0.016401)
    """
    image = floats(input)
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
    grid = [g + whole for g in grid]
    return map_coordinates(image, traced_numpy.stack(grid), None, order, mode, cval, prefilter)

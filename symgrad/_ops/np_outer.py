"""NumPy's products without sums over whole axes: outer, kron, cross."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import composite
from .._shapes import show
from ..errors import ShapeError
from .np_common import as_array, dims, join, on_all, reshaped
from .np_contract import with_axes


@composite(np.outer, samples=on_all([((3,), (2,)), ((2, 2), (3,)), ((), (2,))]))
def outer(a: Any, b: Any) -> Any:
    """All products of two elements, as a matrix."""
    x, y = np.ravel(as_array(a)), np.ravel(as_array(b))
    return reshaped(x, (x.shape[0], 1)) * reshaped(y, (1, y.shape[0]))


@composite(np.linalg.outer, name="linalg.outer", samples=on_all([((3,), (2,))]))
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """All products of the elements of two vectors, as a matrix."""
    x, y = as_array(x1), as_array(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(f"outer takes vectors, not shapes {show(dims(x))} and {show(dims(y))}")
    return outer(x, y)


@composite(
    np.kron,
    samples=on_all(
        [((2,), (3,)), ((2, 3), (3, 2)), ((2,), (2, 3)), ((2, 1, 2), (2,)), ((), (2, 2))]
    ),
)
def kron(a: Any, b: Any) -> Any:
    """Kronecker product: each element of one array times the whole other."""
    x, y = as_array(a), as_array(b)
    rank = max(x.ndim, y.ndim)
    left, right = ((1,) * (rank - v.ndim) + tuple(v.shape) for v in (x, y))
    x = reshaped(x, tuple(d for n in left for d in (n, 1)))
    y = reshaped(y, tuple(d for n in right for d in (1, n)))
    return reshaped(x * y, tuple(m * n for m, n in zip(left, right, strict=True)))


def _cross(x: Any, y: Any, name: str) -> Any:
    """The cross product along the last axis."""
    for v in (x, y):
        if v.shape[-1] != 3:
            raise ShapeError(
                f"{name} takes vectors of 3 components, not shapes {show(dims(x))} and "
                f"{show(dims(y))} (for 2 write a[0]*b[1] - a[1]*b[0])"
            )
    (a, b, c), (d, e, f) = ([v[..., k] for k in range(3)] for v in (x, y))
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=-1)


@composite(
    np.cross,
    samples=join(
        on_all([((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 3))]),
        on_all([((3, 2), (3, 2))], {"axis": 0}, {"axisa": 0, "axisb": 0, "axisc": 1}),
    ),
)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Cross product of vectors of three components."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x = np.moveaxis(with_axes(a, 1, "cross"), axisa, -1)
    y = np.moveaxis(with_axes(b, 1, "cross"), axisb, -1)
    return np.moveaxis(_cross(x, y, "cross"), -1, axisc)


@composite(np.linalg.cross, name="linalg.cross", samples=on_all([((3,), (3,)), ((2, 3), (2, 3))]))
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross product of vectors of three components along an axis."""
    return cross(x1, x2, axis=axis)

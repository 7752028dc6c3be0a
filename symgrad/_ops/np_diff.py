"""NumPy's differences of neighbours, and the integral by trapezoids."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import composite
from .._shapes import normalize_axis
from ..errors import ArgumentError, ShapeError
from .np_common import as_array, join, on, on_all, reshaped, section, spread


@composite(
    np.diff,
    samples=join(
        on([(4,), (2, 3)], (), (2,), {"axis": 0}, dtypes=("f8", "f4", "i4")),
        on([(4,)], (0,), (1, -1), {"prepend": 0.0}, {"append": [1.0, 2.0]}, dtypes=("f8", "?")),
    ),
)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis."""
    x = as_array(a)
    if x.ndim == 0:
        raise ShapeError("diff takes arrays with at least one axis")
    if n < 0:
        raise ArgumentError(f"diff: the order must not be negative, got {n}")
    axis = normalize_axis(axis, x.ndim)
    if n == 0:
        return x
    edge = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    ends = [None if v is None else as_array(v) for v in (prepend, append)]
    before, after = (spread(v, edge, x) if v is not None and v.ndim == 0 else v for v in ends)
    x = np.concatenate([p for p in (before, x, after) if p is not None], axis)
    for _ in range(n):
        above, below = section(x, axis, 1, None), section(x, axis, None, -1)
        x = above != below if x.dtype == np.bool_ else above - below
    return x


@composite(
    np.ediff1d,
    samples=on([(4,), (2, 2)], (), {"to_end": 1.0}, {"to_begin": [1.0, 2.0], "to_end": 3.0}),
)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of the elements as a vector."""
    x = np.ravel(as_array(ary))
    ends = [
        None if v is None else np.ravel(as_array(v)).astype(x.dtype) for v in (to_begin, to_end)
    ]
    parts = [ends[0], x[1:] - x[:-1], ends[1]]
    return np.concatenate([p for p in parts if p is not None])


@composite(
    np.trapezoid,
    samples=join(
        on([(4,), (2, 3)], {}, {"dx": 0.5}, {"axis": 0}),
        on([(2, 3)], {"x": [0.0, 1.5], "axis": 0}),
        on_all([((4,), (4,)), ((2, 4), (4,)), ((2, 3), (2, 3))]),
    ),
)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integral along an axis by the trapezoidal rule."""
    v = as_array(y)
    axis = normalize_axis(axis, v.ndim)
    if x is None:
        step = dx
    else:
        at = as_array(x)
        step = np.diff(at, axis=axis) if at.ndim > 1 else np.diff(at)
        if at.ndim == 1:
            step = reshaped(step, tuple(step.shape[0] if k == axis else 1 for k in range(v.ndim)))
    above, below = section(v, axis, 1, None), section(v, axis, None, -1)
    return np.sum(step * (above + below) / 2.0, axis=axis)

"""Laws of shapes: broadcasting, axes, how shapes are shown."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ...errors import ShapeError
from .sizes import Dimension, Shape, hint, same


def aligned(index: Sequence[Any], shape: Shape) -> tuple[Any, ...]:
    """Return the index of an operand that broadcasts: aligned at the right, 0 along ones."""
    if len(index) == len(shape) and 1 not in shape:
        return tuple(index)
    inner = index[len(index) - len(shape) :]
    return tuple([0 if isinstance(d, int) and d == 1 else i
                  for i, d in zip(inner, shape, strict=True)])  # fmt: skip


def is_one(dim: Dimension) -> bool:
    """Tell whether ``dim`` broadcasts; a symbolic dimension is decided by guard."""
    return dim == 1 if isinstance(dim, int) else same(dim, 1)


def broadcast(*shapes: Shape) -> Shape:
    """Return the common shape of ``shapes`` under NumPy's broadcasting law."""
    first = shapes[0]
    if all(s == first for s in shapes):
        return first
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    out: list[Dimension] = []
    for dims in zip(*padded, strict=True):
        result: Dimension = 1
        for dim in dims:
            if (isinstance(dim, int) and dim == 1) or dim == result:
                continue
            if (isinstance(result, int) and result == 1) or is_one(result):
                result = dim
            elif not same(result, dim) and not is_one(dim):
                raise ShapeError(
                    "operands could not be broadcast together with shapes "
                    + " ".join(show(s) for s in shapes)
                )
            elif isinstance(dim, int):
                result = dim
        out.append(result)
    return tuple(out)


def show(shape: Sequence[Any]) -> str:
    """Return ``shape`` as text, symbolic dimensions with their hints: ``(n=5, 3)``."""
    names = [str(d) if isinstance(d, int) else f"{d}={hint(d)}" for d in shape]
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return ``axis`` counted from the front, or raise if it is out of range."""
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise ShapeError(f"axis {index} is out of bounds for array of dimension {ndim}")
    return index % ndim


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the sorted tuple of axes that NumPy's ``axis=`` argument means."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    result = tuple(sorted(normalize_axis(a, ndim) for a in axes))
    if len(set(result)) != len(result):
        raise ShapeError(f"duplicate value in axis {axis}")
    return result

"""``reduceat`` of universal functions: each segment of an axis is reduced by itself."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .._op import refuse
from ..errors import ArgumentError, IndexingError


def reduced_at(ufunc: np.ufunc, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Return ``ufunc.reduceat(x, indices, axis, dtype)`` of a value that is no array.

    A segment goes from its index to before the next one, the last to the end; where the next
    index is not greater, it is the one element there.
    """
    name = f"np.{ufunc.__name__}.reduceat"
    if getattr(indices, "node", None) is not None:
        refuse(ufunc.reduceat, "its indices say what is read, so they cannot be traced: np.add.at("
               "sums, numbers, x) adds up by traced numbers of the segments")  # fmt: skip
    places = np.asarray(indices)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ArgumentError(f"{name} takes a list of whole numbers as indices")
    rows = np.moveaxis(x if dtype is None else x.astype(dtype), axis, 0)
    for place in (places.min(), places.max()) if places.size else ():
        if place < 0 or not place < rows.shape[0]:
            raise IndexingError(f"{name}: index {place} is out of bounds")
    if not places.size:
        return np.moveaxis(ufunc.reduce(rows[:1], axis=0, keepdims=True)[:0], 0, axis)
    starts = [int(place) for place in places]
    parts = [rows[a : max(b, a + 1)] for a, b in itertools.pairwise(starts)]
    parts.append(rows[starts[-1] :])
    return np.stack([ufunc.reduce(part, axis=0) for part in parts], axis=axis)

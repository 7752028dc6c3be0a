"""The short way of indexing by an array: places on the first axis, or a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._made import Step, constant, recorded
from ._mode import recording
from ._tensor import Tensor

ndarray, where = np.ndarray, np.where
BOOL, I64 = np.dtype(np.bool_), np.dtype(np.int64)

_GATHER, _PARAMS = Step("Gather", 2), {"axes": (0,), "at": 0}


def picked(x: Any, index: Any) -> Any:
    """Return ``x[index]`` for one array; None if the general way has to look at it."""
    array = index._data if type(index) is Tensor else index
    if type(array) is not ndarray or not array.ndim or not array.size:
        return None
    data, cell = x._data, x._cell
    if not data.ndim or (cell is not None and (cell.rebased or not data.flags.c_contiguous)):
        return None
    if array.dtype is I64:
        low = array.item(array.argmin())
        if low >= 0:
            places = array.copy()  # it may be written to
        else:
            size = data.shape[0]
            places = where(array < 0, array + size, array)
            if low < -size:
                return None
    elif array.dtype is BOOL and array.shape == data.shape[:1]:
        (places,) = array.nonzero()
        if not places.size:
            return None
    else:
        return None
    try:
        taken = data.take(places, 0)
    except IndexError:
        return None
    if not x._requires or not recording():
        return constant(taken)
    return recorded(
        taken, None, _GATHER.cls, _GATHER.rule, (x._fn or x, None),
        ((data.shape, data.dtype), places), _PARAMS, None, 3,
    )  # fmt: skip


__all__ = ["picked"]

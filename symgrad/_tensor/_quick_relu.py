"""The short way of ``relu``; see :mod:`._quick`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import registry
from ._made import F32, F64, Step, constant, recorded
from ._mode import recording
from ._tensor import Tensor

_WHERE, _STEP = registry.ops["Where"], Step("Where", 3)
_RULE = _STEP.rules[4]
_NONE: dict[str, Any] = {}

#: Zeros as arrays, since NumPy converts a number each time, and as what a rule would read.
_ZERO, _ZERO_32 = np.zeros((), F64), np.zeros((), F32)
_NUMBER, _NUMBER_32 = np.float64(0.0), np.float32(0.0)
less_equal, putmask = np.less_equal, np.putmask


def _general(input: Any) -> Any:
    return _WHERE(input <= 0, 0.0, input)


def relu(input: Any) -> Any:
    """Return the positive part, and nan of nan; its derivative at 0 is 0.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.relu(sg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if type(input) is not Tensor:
        return _general(input)
    data, cell = input._data, input._cell
    dtype = data.dtype
    zero: Any
    number: Any
    if dtype is F64:
        zero, number = _ZERO, _NUMBER
    elif dtype is F32:
        zero, number = _ZERO_32, _NUMBER_32
    else:
        return _general(input)
    if not data.ndim or (cell is not None and (cell.rebased or not data.flags.c_contiguous)):
        return _general(input)
    low = less_equal(data, zero)
    positive = data.copy()
    putmask(positive, low, zero)
    if not input._requires or not recording():
        return constant(positive)
    return recorded(
        positive, None, _STEP.cls, _RULE, (None, None, input._fn or input),
        (low, number, (data.shape, dtype)), _NONE, None,
    )  # fmt: skip


__all__ = ["relu"]

"""The short ways of ``relu`` and ``where``; see :mod:`._quick`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._op import registry
from .._trace._arrays import call
from ._hot import MISS, Hot
from ._made import F32, F64, Step, constant, recorded
from ._mode import recording
from ._tensor import QUICK, Tensor

_WHERE, _STEP = registry.ops["Where"], Step("Where", 3)
_RULE = _STEP.rules[4]
_NONE: dict[str, Any] = {}

BOOL = np.dtype(np.bool_)
ndarray = np.ndarray


def _positive(x: Any) -> tuple[Any, Any]:
    """Return where numbers are not positive, and the positive part."""
    low = x <= 0
    return low, np.where(low, 0.0, x)


_RELU, _CHOOSE = Hot(_positive, silent=True), Hot(np.where, silent=True)
_relu, _choose = _RELU.other, _CHOOSE.other
#: What the rule of ``relu`` would read.
_ZERO = {F64: np.float64(0.0), F32: np.float32(0.0)}


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
    zero = _ZERO.get(data.dtype)
    if (
        zero is None or not data.ndim
        or (cell is not None and (cell.rebased or not data.flags.c_contiguous))
    ):  # fmt: skip
        return _general(input)
    found = _RELU.run(data)
    if found is MISS:
        found = _relu(data)
    low, positive = found
    if not input._requires or not recording():
        return constant(positive)
    return recorded(
        positive, None, _STEP.cls, _RULE, (None, None, input._fn or input),
        (low, zero, (data.shape, data.dtype)), _NONE, None,
    )  # fmt: skip


def where(condition: Any, x: Any, y: Any) -> Any:
    """Choose from two tensors, or from a tensor and a number, of the condition's shape."""
    truth = condition._data if type(condition) is Tensor else condition
    like = x if type(x) is Tensor else y
    if type(truth) is not ndarray or truth.dtype is not BOOL or type(like) is not Tensor:
        return call(np.where, (condition, x, y), {})
    dtype, shape = like._data.dtype, truth.shape
    left, right = _operand(x, dtype, shape), _operand(y, dtype, shape)
    if (
        left is None or right is None or not shape or (dtype is not F64 and dtype is not F32)
        or not truth.flags.c_contiguous
        or (truth is not condition and condition._cell is not None and condition._cell.rebased)
    ):  # fmt: skip
        return call(np.where, (condition, x, y), {})
    data = _CHOOSE.run(truth, left, right)
    if data is MISS:
        data = _choose(truth, left, right)
    mask = 0
    first = second = None
    if left is not x:
        if x._requires:
            mask, first = 2, x._fn or x
            x = (shape, dtype)
    else:
        x = dtype.type(x)
    if right is not y:
        if y._requires:
            mask, second = mask + 4, y._fn or y
            y = (shape, dtype)
    else:
        y = dtype.type(y)
    if not mask or not recording():
        return constant(data)
    if truth is condition:  # it may be written to, unseen
        condition = truth.copy()
    return recorded(
        data, None, _STEP.cls, _STEP.rules[mask], (None, first, second), (condition, x, y),
        _NONE, None,
    )  # fmt: skip


def _operand(x: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return the array of an operand, or the number that it is; None for the general way."""
    if type(x) is float or type(x) is int:
        return x
    if type(x) is not Tensor:
        return None
    data, cell = x._data, x._cell
    if data.dtype is not dtype or data.shape != shape:
        return None
    if cell is not None and (cell.rebased or not data.flags.c_contiguous):
        return None
    return data


QUICK[np.where] = where

__all__ = ["relu", "where"]

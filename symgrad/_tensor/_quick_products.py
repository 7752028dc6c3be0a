"""The short way of products of matrices and vectors; see :mod:`._quick`.

``ndarray.dot`` takes half the time of ``np.matmul`` and calls the same BLAS functions with the
same arguments, so long as no size is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._trace._arrays import call
from ..errors import ShapeError
from ._made import F32, F64, Step, constant, recorded, with_array
from ._mode import recording
from ._origin import placed
from ._plan import planned
from ._tensor import QUICK, Tensor

ndarray, asarray = np.ndarray, np.asarray
_NONE: dict[str, Any] = {}

#: Parameters by ranks, for sizes that are not 1; of two vectors sizes do not matter.
_VECTORS: dict[str, Any] = {"a": "j", "b": "j", "out": ""}
_LETTERS: dict[tuple[int, int], dict[str, Any]] = {
    (1, 2): {"a": "j", "b": "jk", "out": "k"},
    (2, 1): {"a": "ij", "b": "j", "out": "i"},
    (2, 2): {"a": "ij", "b": "jk", "out": "ik"},
}

#: Parameters by shapes; how many are known at most.
_params: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[str, Any]] = {}
MOST = 4096

_CONTRACT = Step("Contract", 2)


def _found(left: tuple[int, ...], right: tuple[int, ...]) -> dict[str, Any] | None:
    """Return the parameters of a product; None if the general way has to look at it."""
    letters = _LETTERS.get((len(left), len(right)))
    if letters is None or left[-1] != right[0] or min(*left, *right) < 2:
        return None
    if len(_params) >= MOST:
        _params.clear()
    _params[left, right] = letters
    return letters


def short(general: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the product that takes its short way on two tensors, where there is one."""
    cls, rules = _CONTRACT.cls, _CONTRACT.rules

    def product(x: Any, y: Any) -> Any:
        if type(x) is not Tensor or type(y) is not Tensor:
            made = with_array(product, x, y)
            return general(x, y) if made is None else made
        left, right = x._data, y._data
        dtype = left.dtype
        if right.dtype is not dtype or (dtype is not F64 and dtype is not F32):
            return general(x, y)
        params: Any = _VECTORS
        if left.ndim != 1 or right.ndim != 1:
            params = _params.get((left.shape, right.shape)) or _found(left.shape, right.shape)
        if (
            not params
            or (x._cell is not None and (x._cell.rebased or not _in_order(left)))
            or (y._cell is not None and (y._cell.rebased or not _in_order(right)))
        ):
            return general(x, y)
        try:
            data = left.dot(right)
        except ValueError:  # the shapes do not fit
            return general(x, y)
        if type(data) is not ndarray:
            data = asarray(data)
        mask = x._requires + 2 * y._requires
        if not mask or not recording():
            return constant(data)
        rule = rules[mask]
        first = second = None
        left_kept, right_kept = rule.saves
        if mask & 1:
            first = x._fn or x
            if not left_kept:
                x = (left.shape, dtype)
        if mask & 2:
            second = y._fn or y
            if not right_kept:
                y = (right.shape, dtype)
        return recorded(data, None, cls, rule, (first, second), (x, y), params, None)

    return product


def _in_order(data: Any) -> bool:
    """Tell whether an array lies by rows or by columns."""
    flags = data.flags
    return bool(flags.c_contiguous or flags.f_contiguous)


def _general(x: Any, y: Any) -> Any:
    if type(x) is type(y) is Tensor:
        return planned(Tensor, np.matmul, (x, y), _NONE, lambda: call(np.matmul, (x, y), {}))
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        try:
            return call(np.matmul, (x, y), {})
        except ShapeError as error:
            raise placed(error) from None
    return np.matmul(x, y)


QUICK[np.matmul] = product = short(_general)
Tensor.__matmul__ = product  # type: ignore[method-assign]

__all__ = ["product"]

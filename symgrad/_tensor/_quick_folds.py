"""The short ways of sums, means and extrema; see :mod:`._quick`.

With ``keepdims`` and for means an op is followed by another one. Both are recorded, as in the
general way, but there is one tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._made import F32, F64, Step, constant, recorded, step
from ._mode import recording
from ._node import Cell
from ._tensor import QUICK, Tensor

ndarray, asarray, empty = np.ndarray, np.asarray, np.empty
_NONE: dict[str, Any] = {}

#: The loop that NumPy reduces by, and the op.
FOLDS: dict[Any, tuple[Callable[..., Any], str]] = {
    np.sum: (np.add.reduce, "Sum"),
    np.mean: (np.add.reduce, "Sum"),
    np.max: (np.maximum.reduce, "Max"),
    np.min: (np.minimum.reduce, "Min"),
}
#: Where an extremum is: found in a fourth of the time.
PLACES: dict[Any, Callable[..., Any]] = {np.max: np.ndarray.argmax, np.min: np.ndarray.argmin}

_RESHAPE, _DIVIDE = Step("Reshape"), Step("Divide", 2)

#: Parameters by rank and axis; by rank alone for all axes.
_params: dict[Any, dict[str, Any]] = {}


def _found(rank: int, axis: int | None) -> dict[str, Any] | None:
    """Return the parameters of a reduction; None if the general way has to look at it."""
    if rank == 0 or (axis is not None and not -rank <= axis < rank):
        return None
    axes = tuple(range(rank)) if axis is None else (axis % rank,)
    return _params.setdefault(rank if axis is None else (rank, axis), {"axes": axes})


def short(function: Any, general: Callable[..., Any], pairs: bool = False) -> Callable[..., Any]:
    """Return a reduction that takes its short way on tensors, where there is one.

    Parameters
    ----------
    function:
        NumPy's function.
    general:
        The same on everything, with PyTorch's arguments.
    pairs:
        Whether ``dim=`` asks for indices besides.
    """
    reduce, name = FOLDS[function]
    known, place = Step(name), PLACES.get(function)
    cls, rule = known.cls, known.rule
    reads, mean, along = rule.reads_result, function is np.mean, _along(function, general)

    def fold(
        input: Any, dim: Any = None, keepdim: Any = None, *, axis: Any = None,
        keepdims: Any = False, **more: Any,
    ) -> Any:  # fmt: skip
        if type(input) is not Tensor or more or (dim is not None and (pairs or axis is not None)):
            return general(input, dim, keepdim, axis=axis, keepdims=keepdims, **more)
        data, cell = input._data, input._cell
        dtype = data.dtype
        if (
            (dtype is not F64 and dtype is not F32)
            or (cell is not None and (cell.rebased or not data.flags.c_contiguous))
            or not data.size
        ):  # fmt: skip
            return general(input, dim, keepdim, axis=axis, keepdims=keepdims, **more)
        keep = keepdims if keepdim is None else keepdim
        if mean or keep or axis is not None or dim is not None:
            return along(input, axis if dim is None else dim, keep)
        params = _params.get(data.ndim) or _found(data.ndim, None)
        if params is None:
            return general(input)
        if place is None:
            total = reduce(data, None, None, empty((), dtype))
        else:
            total = data.ravel()[place(data)]
            if total == 0 or total != total:  # which zero or nan it is, the loop knows
                total = reduce(data, None)
            total = asarray(total)
        if not input._requires or not recording():
            return constant(total)
        return recorded(
            total, None, cls, rule, (input._fn or input,),
            (input if reads else (data.shape, dtype),), params, total if reads else None,
        )  # fmt: skip

    fold.__code__ = fold.__code__.replace(co_name=general.__name__)
    fold.__name__ = fold.__qualname__ = general.__name__
    fold.__doc__ = general.__doc__
    if not pairs:
        QUICK[function] = fold
    return fold


def _along(function: Any, general: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    """Return the way of means, along axes, and of results that keep their rank."""
    reduce, name = FOLDS[function]
    known, mean = Step(name), function is np.mean
    reads = known.rule.reads_result

    def along(input: Any, where: Any, keep: Any) -> Any:
        data = input._data
        dtype, shape = data.dtype, data.shape
        params = None
        if where is None:
            params = _params.get(len(shape)) or _found(len(shape), None)
        elif type(where) is int:
            params = _params.get((len(shape), where)) or _found(len(shape), where)
        if params is None:
            return general(input, axis=where, keepdims=keep)
        total = reduce(data, where, None, None, True) if keep else reduce(data, where)
        if mean:
            count = data.size // total.size
            total = total / count
        if type(total) is not ndarray:
            total = asarray(total)
        if not input._requires or not recording():
            return constant(total)
        behind, saved = (input._fn or input,), (input if reads else (shape, dtype),)
        if not mean and not keep:
            result = total if reads else None
            return recorded(total, None, known.cls, known.rule, behind, saved, params, result, 3)
        rest, cell, result = total.shape, None, None
        if keep:
            rest = ()
            if where is not None:
                (k,) = params["axes"]
                rest = shape[:k] + shape[k + 1 :]
            if reads:  # the memory that the rule reads is the tensor's
                result, cell = total.reshape(rest), Cell()
        inner = second = step(known.cls, known.rule, behind, saved, params, result)
        if cell is not None:
            inner.cell = cell
        if mean:
            if keep:
                second = step(
                    _RESHAPE.cls, _RESHAPE.rule, (inner,), ((rest, dtype),),
                    {"shape": total.shape}, None,
                )  # fmt: skip
            made = recorded(
                total, None, _DIVIDE.cls, _DIVIDE.rule, (second, None),
                ((total.shape, dtype), dtype.type(count)), _NONE, None, 3,
            )  # fmt: skip
        else:
            made = recorded(
                total, cell, _RESHAPE.cls, _RESHAPE.rule, (inner,), ((rest, dtype),),
                {"shape": total.shape}, None, 3,
            )  # fmt: skip
        last: Any = made._fn
        inner.place, inner.offset = second.place, second.offset = last.place, last.offset
        return made

    return along


__all__ = ["FOLDS", "short"]

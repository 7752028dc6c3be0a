"""The short ways of sums, means and extrema; see :mod:`._quick`.

Means, and results that keep their rank, are two of the compiler's ops, and one step here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._op import Op, registry
from ._backs import extremum, mean_keeping, sum_keeping
from ._composed import MEAN, keeping
from ._hot import MISS, Hot
from ._made import F32, F64, Step, constant, recorded
from ._mode import recording
from ._tensor import QUICK, Tensor

ndarray, asarray = np.ndarray, np.asarray
_OPS = registry.ops

#: The loop that NumPy reduces by.
FOLDS: dict[Any, Callable[..., Any]] = {
    np.sum: np.add.reduce,
    np.mean: np.add.reduce,
    np.max: np.maximum.reduce,
    np.min: np.minimum.reduce,
}
#: The steps, without and with ``keepdims``.
STEPS: dict[Any, tuple[Op, Op]] = {
    np.sum: (_OPS["Sum"], keeping(_OPS["Sum"], back=sum_keeping)),
    np.mean: (MEAN, keeping(MEAN, back=mean_keeping)),
    np.max: (_OPS["Max"], keeping(_OPS["Max"], guarded=extremum)),
    np.min: (_OPS["Min"], keeping(_OPS["Min"], guarded=extremum)),
}


class _Way:
    """A reduction over certain axes of arrays of a rank: the step, and what computes it."""

    __slots__ = ("cls", "params", "reads", "rule", "there")

    def __init__(self, function: Any, step: Step, axes: tuple[int, ...], keep: bool) -> None:
        reduce = FOLDS[function]

        def plain(x: Any) -> Any:
            total = reduce(x, axes, None, None, keep)
            return total / (x.size // total.size) if function is np.mean else total

        self.there = Hot(lambda x: function(x, axis=axes, keepdims=keep), plain)
        self.params = {"axes": axes}
        self.cls, self.rule, self.reads = step.cls, step.rule, step.rule.reads_result


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
    ways: dict[Any, _Way] = {}
    steps = [Step(op) for op in STEPS[function]]

    def found(rank: int, axis: Any, keep: Any) -> _Way | None:
        """Return the way over an axis, or all; None if the general way has to look at it."""
        if rank == 0 or (axis is not None and not (type(axis) is int and -rank <= axis < rank)):
            return None
        axes = tuple(range(rank)) if axis is None else (axis % rank,)
        way = _Way(function, steps[bool(keep)], axes, bool(keep))
        return ways.setdefault((rank, axis, bool(keep)), way)

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
        along = axis if dim is None else dim
        try:
            way = ways.get((data.ndim, along, keep)) or found(data.ndim, along, keep)
        except TypeError:  # a list of axes
            way = None
        if way is None:
            return general(input, axis=along, keepdims=keep)
        total = way.there.run(data)
        if total is MISS:
            total = way.there.other(data)
        if type(total) is not ndarray:
            total = asarray(total)
        if not input._requires or not recording():
            return constant(total)
        reads = way.reads
        return recorded(
            total, None, way.cls, way.rule, (input._fn or input,),
            (input if reads else (data.shape, dtype),), way.params, total if reads else None,
        )  # fmt: skip

    fold.__code__ = fold.__code__.replace(co_name=general.__name__)
    fold.__name__ = fold.__qualname__ = general.__name__
    fold.__doc__ = general.__doc__
    if not pairs:
        QUICK[function] = fold
    return fold


def composed(function: Any, axes: tuple[int, ...], keep: bool) -> Op | None:
    """Return the step that a reduction over axes is, if it is not an op of the compiler's."""
    if function in STEPS and axes and (keep or function is np.mean):
        return STEPS[function][keep]
    return None


__all__ = ["FOLDS", "composed", "short"]

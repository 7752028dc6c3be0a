"""The short ways of ``cat`` and ``stack``; see :mod:`._quick`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._hot import MISS, Hot
from ._made import F32, F64, Step, constant, recorded
from ._mode import recording
from ._node_classes import rule_for
from ._rules import Rule
from ._tensor import Tensor

_CLS = Step("Assemble").cls
_NONE: dict[str, Any] = {}

Shapes = tuple[tuple[int, ...], ...]


class _Way:
    """How arrays of certain shapes are joined: as a kernel, and as the op's parameters."""

    __slots__ = ("params", "rules", "shapes", "there")

    def __init__(self, there: Hot, params: dict[str, Any], shapes: Shapes) -> None:
        self.there, self.params, self.shapes = there, params, shapes
        self.rules: dict[int, Rule] = {}

    def rule(self, mask: int) -> Rule:
        """Return the rule for the gradients of some operands."""
        self.rules[mask] = rule = rule_for(_CLS, mask, len(self.shapes), _NONE)
        return rule


#: By function, axis and shapes; how many are known at most.
_ways: dict[Any, _Way] = {}
MOST = 4096
#: By function, axis, and how many arrays there are.
_kernels: dict[Any, Hot] = {}


def _regions(
    function: Any, shapes: Shapes, axis: Any
) -> tuple[int, tuple[int, ...], Sequence[Any]] | None:
    """Return axis, shape and regions; None if the general way has to look at them."""
    first, stacked = shapes[0], function is np.stack
    rank = len(first) + stacked
    if type(axis) is not int or not -rank <= axis < rank or len(shapes) < 2:
        return None
    axis %= rank
    whole = [(0, 1, size) for size in first]
    start, regions = 0, []
    for k, shape in enumerate(shapes):
        if 0 in shape:
            return None
        if stacked:
            if shape != first:
                return None
            regions.append((*whole[:axis], (k, 1, None), *whole[axis:]))
        else:
            if (
                len(shape) != rank
                or shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]
            ):
                return None
            size = shape[axis]
            regions.append((*whole[:axis], (start, 1, size), *whole[axis + 1 :]))
            start += size
    if stacked:
        return axis, (*first[:axis], len(shapes), *first[axis:]), regions
    return axis, (*first[:axis], start, *first[axis + 1 :]), regions


def _found(function: Callable[..., Any], axis: Any, shapes: Shapes) -> _Way | None:
    known = _regions(function, shapes, axis)
    if known is None:
        return None
    along, shape, regions = known
    key = (function, along, len(shapes))
    if key not in _kernels:
        _kernels[key] = Hot(
            lambda *xs: function(xs, along), silent=True,
            along=along if function is np.concatenate else None,
        )  # fmt: skip
    if len(_ways) >= MOST:
        _ways.clear()
    params = {"shape": shape, "regions": tuple(regions), "disjoint": True}
    way = _ways[function, axis, *shapes] = _Way(_kernels[key], params, shapes)
    return way


def paired(function: Callable[..., Any], x: Any, y: Any, axis: Any) -> Any:
    """As :func:`joined`, of two tensors: most often there are two."""
    if type(x) is not Tensor or type(y) is not Tensor:
        return None
    left, right, first, second = x._data, y._data, x._cell, y._cell
    dtype, shape, other = left.dtype, left.shape, right.shape
    if (
        right.dtype is not dtype or (dtype is not F64 and dtype is not F32)
        or (first is not None and (first.rebased or not left.flags.c_contiguous))
        or (second is not None and (second.rebased or not right.flags.c_contiguous))
    ):  # fmt: skip
        return None
    way = _ways.get((function, axis, shape, other)) or _found(function, axis, (shape, other))
    if way is None:
        return None
    made = way.there.run(left, right)
    if made is MISS:
        made = way.there.other(left, right)
    mask = x._requires + 2 * y._requires
    if not mask or not recording():
        return constant(made)
    rule = way.rules.get(mask) or way.rule(mask)
    behind: Any = None
    beside: Any = None
    if mask & 1:
        behind, x = x._fn or x, (shape, dtype)
    if mask & 2:
        beside, y = y._fn or y, (other, dtype)
    return recorded(made, None, _CLS, rule, (behind, beside), (x, y), way.params, None, 3)


def joined(function: Callable[..., Any], parts: Any, axis: Any) -> Any:
    """Return tensors joined along an axis; None if the general way has to look at them."""
    arrays = []
    key: list[Any] = [function, axis]
    mask, bit, dtype = 0, 1, None
    for x in parts:
        if type(x) is not Tensor:
            return None
        data, cell = x._data, x._cell
        if dtype is not data.dtype:
            if dtype is not None:
                return None
            dtype = data.dtype
        if cell is not None and (cell.rebased or not data.flags.c_contiguous):
            return None
        arrays.append(data)
        key.append(data.shape)
        if x._requires:
            mask |= bit
        bit += bit
    if dtype is not F64 and dtype is not F32:
        return None
    way = _ways.get(tuple(key)) or _found(function, axis, tuple(key[2:]))
    if way is None:
        return None
    made = way.there.run(*arrays)
    if made is MISS:
        made = way.there.other(*arrays)
    if not mask or not recording():
        return constant(made)
    rule = way.rules.get(mask) or way.rule(mask)
    edges = tuple([x._fn or x if x._requires else None for x in parts])
    saved = tuple([
        (shape, dtype) if x._requires else x for x, shape in zip(parts, way.shapes, strict=True)
    ])  # fmt: skip
    return recorded(made, None, _CLS, rule, edges, saved, way.params, None, 4)


__all__ = ["joined", "paired"]

"""Tensors of results, with and without a record: what the short ways of ops have in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._op import Op, registry
from ._mode import recording
from ._node import Backward, Cell, clock
from ._node_classes import backward_class, rule_for
from ._origin import known_users, note_origin
from ._rules import Rule
from ._tensor import Tensor

_NONE: dict[str, Any] = {}
new, getframe, ndarray = object.__new__, sys._getframe, np.ndarray

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)


class Step:
    """What the nodes of an op have in common: their class, and the rules by mask of operands.

    ``mask`` has a bit for each operand that wants a gradient.
    """

    __slots__ = ("cls", "rule", "rules")

    def __init__(self, op: Op | str, count: int = 1) -> None:
        cls = backward_class(registry.ops[op] if isinstance(op, str) else op)
        assert cls is not None
        self.cls: type[Backward] = cls
        self.rules: list[Rule] = [
            rule_for(cls, mask, count, _NONE) for mask in range(1 << count)
        ]  # fmt: skip
        self.rule = self.rules[1]


def constant(data: Any, cell: Cell | None = None) -> Tensor:
    """Return a tensor of an array, without a record."""
    made: Tensor = new(Tensor)
    made._data, made._cell = data, cell
    made._fn = made._grad = made._acc = made.name = None
    made._requires = False
    return made


def with_array(apply: Callable[[Any, Any], Any], x: Any, y: Any) -> Tensor | None:
    """Apply the short way for two tensors to a tensor and an array, if they are such.

    An array that a rule may read is copied: later writes do not reach it.
    """
    array, tensor = (x, y) if type(y) is Tensor else (y, x)
    if (
        type(array) is not ndarray or type(tensor) is not Tensor or not array.ndim
        or array.dtype is not tensor._data.dtype or not array.flags.c_contiguous
    ):  # fmt: skip
        return None
    if tensor._requires and recording():
        array = array.copy()
    operand = constant(array)
    made: Tensor = apply(operand, tensor) if tensor is y else apply(tensor, operand)
    node = made._fn
    if node is not None and node.saved is not None:
        node.saved = tuple([array if s is operand else s for s in node.saved])
    return made


def recorded(
    data: Any, cell: Cell | None, cls: type[Backward], rule: Rule, behind: Any, saved: Any,
    params: dict[str, Any], result: Any, depth: int = 2,
) -> Tensor:  # fmt: skip
    """Return a tensor with its node; the user's code is so many calls up."""
    made: Tensor = new(Tensor)
    made._data, made._cell = data, cell
    made._grad = made._acc = made.name = None
    made._requires = True
    made._fn = node = cls()
    node.rule, node.behind, node.saved, node.params = rule, behind, saved, params
    node.result = result
    node.cell = node.extra = None
    node.seq = next(clock)
    frame = getframe(depth)
    node.place = code = frame.f_code
    if code.co_filename in known_users:
        node.offset = frame.f_lasti
    else:
        note_origin(node, frame)
    return made


__all__ = ["F32", "F64", "Step", "constant", "recorded", "with_array"]

"""Tensors of results, with and without a record: what the short ways of ops have in common."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._op import Op, registry
from ._node import Backward, Cell, clock
from ._node_classes import backward_class, rule_for
from ._origin import known_users, note_origin
from ._rules import Rule
from ._tensor import Tensor

_NONE: dict[str, Any] = {}
new, getframe = object.__new__, sys._getframe

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)


class Step:
    """What the nodes of an op have in common: their class, and the rules by mask of operands.

    ``mask`` has a bit for each operand that wants a gradient.
    """

    __slots__ = ("cls", "rule", "rules")

    def __init__(self, name: str, count: int = 1) -> None:
        op: Op = registry.ops[name]
        cls = backward_class(op)
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


def step(
    cls: type[Backward], rule: Rule, behind: Any, saved: Any, params: dict[str, Any], result: Any
) -> Backward:
    """Return a node inside of what the user called; its place is to be filled in."""
    node = cls()
    node.rule, node.behind, node.saved, node.params = rule, behind, saved, params
    node.result = result
    node.cell = node.extra = None
    node.seq = next(clock)
    return node


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


__all__ = ["F32", "F64", "Step", "constant", "getframe", "new", "recorded", "step"]

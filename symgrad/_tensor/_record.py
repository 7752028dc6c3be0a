"""Recording: an op applied to tensors computes at once and remembers how to go back.

An op on tensors is the op of the compiler: its record computes the result on the arrays, and
a node keeps what its derivative rule will read.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._graph._types import check_dtype, resolve
from .._graph._where import inherited
from .._op import Op, registry
from .._ops import CAST
from .._ops.movement import by_rows
from ..errors import BackwardError
from ._mode import mode
from ._node import Backward, clock
from ._node_classes import backward_class, rule_for
from ._origin import note_origin
from ._tensor import Tensor

STOP = registry.ops["StopGradient"]


def bind(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """Return the result of an op on tensors, arrays and numbers, and record it."""
    if op.kind == "map" and len(operands) > 1:
        operands = _converted(op, operands, params)
    required = False
    values = []
    for x in operands:
        if isinstance(x, Tensor):
            values.append(x._data)
            required = required or x._requires
            if x._cell is not None and x._cell.rebased:
                _check_history(x)
        else:
            values.append(by_rows(x))
    shares = op.kind == "view" or op is STOP
    if not shares and op.kind != "contract":  # products take matrices as they lie
        values = list(map(by_rows, values))
    data = op.reference(*values, **params)
    data = data if type(data) is np.ndarray else np.asarray(data)
    if not shares and not data.flags.c_contiguous:
        data = by_rows(data)
    if data.dtype.kind == "c":
        check_dtype(data.dtype, f"the result of {op.name} on tensors")
    made: Tensor = Tensor.__new__(Tensor)
    made._data = data
    made._fn = made._cell = made._grad = made._acc = made.name = None
    made._requires = False
    if shares:  # it may do so with the operand's memory
        made._cell = operands[0].memory() if isinstance(operands[0], Tensor) else None
    if required and mode.recording and data.dtype.kind == "f":
        cls = backward_class(op)
        if cls is not None:
            made._fn = _record(cls, made, operands, params)
            made._requires = True
    return made


def _converted(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    """Return operands in the types that the op computes in: its rule shall read these."""
    kinds = tuple([getattr(x, "dtype", type(x)) for x in operands])
    types = {k for k in kinds if isinstance(k, np.dtype)}
    numbers = all(isinstance(k, np.dtype) or k in (float, int, bool) for k in kinds)
    if len(types) < 2 or not numbers:
        return operands
    wanted, _ = resolve(op, kinds, tuple(sorted(params.items())))
    return tuple([
        CAST(x, dtype=dtype.name) if type(x) is Tensor and x._data.dtype != dtype else x
        for x, dtype in zip(operands, wanted, strict=True)
    ])  # fmt: skip


def _record(
    cls: type[Backward], made: Tensor, operands: tuple[Any, ...], params: dict[str, Any]
) -> Backward:
    edges: list[Any] = []
    mask = 0
    for k, x in enumerate(operands):
        edge = x.edge() if isinstance(x, Tensor) and x._requires else None
        edges.append(edge)
        if edge is not None:
            mask |= 1 << k
    rule = rule_for(cls, mask, len(operands), params)
    data = made._data
    node: Backward = cls.__new__(cls)
    saved: list[Any] = []
    for x, edge, kept in zip(operands, edges, rule.saves, strict=True):
        if isinstance(x, Tensor):
            if edge is not None and not kept:
                saved.append((x._data.shape, x._data.dtype))
            else:
                saved.append(x)
        else:
            saved.append(_constant(cls.op, x, data.dtype))
    node.behind, node.saved, node.rule, node.params = tuple(edges), tuple(saved), rule, params
    node.extra = node.cell = None
    node.result = made._data if rule.reads_result else None
    if made._cell is not None:
        if node.result is not None:
            node.cell = made._cell
        elif operands[0]._fn is None:
            made._cell.leaf = True  # a view of a leaf
    node.place, node.offset = inherited(), 0
    if node.place is None:
        note_origin(node, sys._getframe(1))
    node.seq = next(clock)
    return node


def _constant(op: Op, x: Any, dtype: np.dtype[Any]) -> Any:
    """A constant operand as the rule reads it: later writes to an array do not reach it."""
    if type(x) in (int, float) and op.kind == "map":
        return dtype.type(x)
    array = np.array(x, order="C")
    if op.kind == "map" and array.dtype.kind in "iu":
        array = array.astype(dtype)
    return array


def _check_history(x: Tensor) -> None:
    """Raise if the memory of ``x`` was written by a recorded op on another tensor."""
    assert x._cell is not None
    if (x._fn.seq if x._fn is not None else 0) < x._cell.rebased:
        raise BackwardError(
            f"a tensor of shape {x.shape} shares memory with a view that was written to in "
            "place by a recorded op, so its own record is no longer right. Take the view "
            "again after writing, or write to a clone()."
        )


Tensor.__symgrad_bind__ = staticmethod(bind)


__all__ = ["STOP", "bind"]

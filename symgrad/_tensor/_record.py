"""Recording: an op applied to tensors computes at once and remembers how to go back.

An op on tensors is the op of the compiler: its record computes the result on the arrays, and
a node keeps what its derivative rule will read.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from .._graph._types import check_dtype, resolve
from .._graph._where import inherited
from .._op import Op, registry
from .._ops import CAST
from .._ops.movement import by_rows
from .._ops.regions import slices
from ._mode import recording
from ._node import Backward, clock
from ._node_classes import backward_class, rule_for
from ._origin import misfit, note_origin
from ._tensor import Tensor

STOP = registry.ops["StopGradient"]


def bind(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """Return the result of an op on tensors, arrays and numbers, and record it."""
    if op.kind == "map" and len(operands) > 1:
        operands = _converted(op, operands, params)
    kind = op.kind
    shares = kind == "view" or op is STOP
    as_it_lies = shares or kind == "contract"  # products take matrices by rows and by columns
    required = False
    values = []
    for x in operands:
        if isinstance(x, Tensor):
            value = x._data
            if not as_it_lies and not value.flags.c_contiguous:
                value = by_rows(value)
            values.append(value)
            if x._requires:
                required = True
            if x._cell is not None and x._cell.rebased:
                x.check_record()
        else:
            values.append(by_rows(x))
    try:
        data = (op.in_order or op.evaluate)(*values, **params)
    except ValueError as error:
        raise misfit(op.name, error) from None
    if type(data) is not np.ndarray:
        # An element of an array is a view as well.
        data = values[0][(*slices(params["region"]), ...)] if kind == "view" else np.asarray(data)
    if not shares and not data.flags.c_contiguous:
        data = by_rows(data)
    letter = data.dtype.kind
    if letter == "c":
        check_dtype(data.dtype, f"the result of {op.name} on tensors")
    made: Tensor = object.__new__(Tensor)
    made._data = data
    made._fn = made._cell = made._grad = made._acc = made.name = None
    made._requires = False
    if shares:  # it may do so with the operand's memory
        made._cell = operands[0].memory() if isinstance(operands[0], Tensor) else None
    if required and letter == "f" and recording():
        cls = backward_class(op)
        if cls is not None:
            made._fn = _record(cls, made, operands, params)
            made._requires = True
    return made


def _converted(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    """Return operands in the types that the op computes in: its rule shall read these."""
    kinds = tuple([getattr(x, "dtype", type(x)) for x in operands])
    wanted = _wanted(op, kinds, tuple(sorted(params.items())) if params else ())
    if wanted is None:
        return operands
    return tuple([
        CAST(x, dtype=dtype.name) if isinstance(x, Tensor) and x._data.dtype != dtype else x
        for x, dtype in zip(operands, wanted, strict=True)
    ])  # fmt: skip


@lru_cache(maxsize=1024)
def _wanted(op: Op, kinds: tuple[Any, ...], items: tuple[Any, ...]) -> Any:
    """Return the types that the op computes in, if its operands may have others."""
    types = {k for k in kinds if isinstance(k, np.dtype)}
    numbers = all(isinstance(k, np.dtype) or k in (float, int, bool) for k in kinds)
    if len(types) < 2 or not numbers:
        return None
    wanted, _ = resolve(op, kinds, items)
    if all(not isinstance(k, np.dtype) or k == w for k, w in zip(kinds, wanted, strict=True)):
        return None
    return wanted


def _record(
    cls: type[Backward], made: Tensor, operands: tuple[Any, ...], params: dict[str, Any]
) -> Backward:
    edges: list[Any] = []
    mask, bit = 0, 1
    for x in operands:
        if isinstance(x, Tensor) and x._requires:
            mask |= bit
            edges.append(x._fn or (x if type(x) is Tensor else x.edge()))
        else:
            edges.append(None)
        bit <<= 1
    rule = rule_for(cls, mask, len(operands), params)
    data = made._data
    node = object.__new__(cls)
    saved: list[Any] = []
    for x, edge, kept in zip(operands, edges, rule.saves, strict=True):
        if edge is not None:
            saved.append(x if kept else (x._data.shape, x._data.dtype))
        else:
            saved.append(x if isinstance(x, Tensor) else _constant(cls.op, x, data.dtype))
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


Tensor.__symgrad_bind__ = staticmethod(bind)


__all__ = ["STOP", "bind"]

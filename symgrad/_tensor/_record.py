"""Recording: an op applied to tensors computes at once and remembers how to go back.

An op on tensors is the op of the compiler: its record computes the result on the arrays, and
a node keeps what its derivative rule will read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._graph import user_line
from .._op import Op, registry
from .._trace import Traced
from .._trace._arrays import add_operators
from ..errors import BackwardError
from ._mode import mode
from ._node import Backward, Node, backward_class, clock, plan
from ._tensor import QUICK, Tensor

_OPS = registry.ops
_STOP = _OPS["StopGradient"]
_NONE: dict[str, Any] = {}
ndarray, asarray, new = np.ndarray, np.asarray, object.__new__


def bind(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Tensor:
    """Return the result of an op on tensors, arrays and numbers, and record it."""
    required = False
    values = []
    for x in operands:
        if isinstance(x, Tensor):
            values.append(x._data)
            required = required or x._requires
            if x._cell is not None and x._cell.rebased:
                _check_history(x)
        else:
            values.append(x)
    data = op.evaluate(*values, **params)
    made: Tensor = Tensor.__new__(Tensor)
    made._data = data = data if type(data) is np.ndarray else np.asarray(data)
    made._fn = made._cell = made._grad = made._acc = made.name = None
    made._requires = False
    if op.kind == "view" or op is _STOP:  # it may share the operand's memory
        made._cell = operands[0].memory() if isinstance(operands[0], Tensor) else None
    if required and mode.recording and data.dtype.kind == "f":
        cls = backward_class(op)
        if cls is not None:
            made._fn = _record(cls, made, operands, params)
            made._requires = True
    return made


def _record(
    cls: type[Backward], made: Tensor, operands: tuple[Any, ...], params: dict[str, Any]
) -> Backward:
    edges: list[Node | None] = []
    mask = 0
    for k, x in enumerate(operands):
        edge = x.edge() if isinstance(x, Tensor) and x._requires else None
        edges.append(edge)
        if edge is not None:
            mask |= 1 << k
    rule, needs, reads_result = plan(cls, mask, len(operands), params)
    data = made._data
    node: Backward = cls.__new__(cls)
    saved: list[Any] = []
    for x, edge, needed in zip(operands, edges, needs, strict=True):
        if isinstance(x, Tensor):
            if edge is not None and not needed:
                saved.append((x._data.shape, x._data.dtype))
            else:
                saved.append(x)
        else:
            saved.append(_constant(cls.op, x, data.dtype))
    node.edges, node.saved, node.needs, node.params = tuple(edges), tuple(saved), needs, params
    node.rule, node.extra, node.cell, node.result = rule, None, None, None
    if reads_result:
        node.result = data
        node.cell = made.memory()
    elif made._cell is not None and operands[0]._fn is None:
        made._cell.leaf = True  # a view of a leaf
    node.where = user_line()
    node.seq = next(clock)
    return node


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    """Return :func:`bind` for an elementwise op of two operands, without what it can skip."""
    evaluate, cls = op.evaluate, backward_class(op)

    def apply(x: Any, y: Any) -> Any:
        kind, other = type(x), type(y)
        mask = 0
        if kind is Tensor:
            cell = x._cell
            if cell is not None and cell.rebased:
                return bind(op, (x, y), _NONE)
            left = x._data
            if x._requires:
                mask = 1
        elif kind is float or kind is int:
            left = x
        else:
            return bind(op, (x, y), _NONE)
        if other is Tensor:
            cell = y._cell
            if cell is not None and cell.rebased:
                return bind(op, (x, y), _NONE)
            right = y._data
            if y._requires:
                mask += 2
        elif other is float or other is int:
            right = y
        else:
            return bind(op, (x, y), _NONE)
        data = evaluate(left, right)
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        dtype = data.dtype
        if cls is None or mask == 0 or dtype.kind != "f" or not mode.recording:
            made._fn, made._requires = None, False
            return made
        rule, needs, reads_result = cls.plans.get(mask) or plan(cls, mask, 2, _NONE)
        node: Backward = new(cls)
        first = second = None
        if kind is Tensor:
            if mask & 1:
                first = x._fn or x.edge()
            if mask != 2 and not needs[0]:
                x = (x._data.shape, x._data.dtype)
        else:
            x = dtype.type(x)
        if other is Tensor:
            if mask & 2:
                second = y._fn or y.edge()
                if not needs[1]:
                    y = (y._data.shape, y._data.dtype)
        else:
            y = dtype.type(y)
        node.edges, node.saved, node.needs, node.params = (first, second), (x, y), needs, _NONE
        node.rule, node.extra = rule, None
        if reads_result:
            node.result, node.cell = data, made.memory()
        else:
            node.result = node.cell = None
        node.where = user_line()
        node.seq = next(clock)
        made._fn, made._requires = node, True
        return made

    return apply


def _unary(op: Op) -> Callable[[Any], Any]:
    """Return :func:`bind` for an elementwise op of one operand."""
    evaluate, cls = op.evaluate, backward_class(op)

    def apply(x: Any) -> Any:
        cell = x._cell
        if cell is not None and cell.rebased:
            return bind(op, (x,), _NONE)
        data = evaluate(x._data)
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        if cls is None or not x._requires or data.dtype.kind != "f" or not mode.recording:
            made._fn, made._requires = None, False
            return made
        rule, needs, reads_result = cls.plans.get(1) or plan(cls, 1, 1, _NONE)
        node: Backward = new(cls)
        node.edges = (x._fn or x.edge(),)
        node.saved = (x if needs[0] else (x._data.shape, x._data.dtype),)
        node.needs, node.params, node.rule, node.extra = needs, _NONE, rule, None
        if reads_result:
            node.result, node.cell = data, made.memory()
        else:
            node.result = node.cell = None
        node.where = user_line()
        node.seq = next(clock)
        made._fn, made._requires = node, True
        return made

    return apply


def _constant(op: Op, x: Any, dtype: np.dtype[Any]) -> Any:
    """A constant operand as the rule reads it: later writes to an array do not reach it."""
    if type(x) in (int, float) and op.kind == "map":
        return dtype.type(x)
    array = np.array(x)
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


# ---------------------------------------------------------------- how tensors come here


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    apply = _binary(_OPS[name])

    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, _FOREIGN):
            return NotImplemented
        return apply(self, other)

    def reflected(self: Tensor, other: Any) -> Any:
        if isinstance(other, _FOREIGN):
            return NotImplemented
        return apply(other, self)

    return reflected if swap else method


#: What an operator leaves to the other operand.
_FOREIGN = (str, bytes, type(None), Traced)
add_operators(Tensor, _operator)

QUICK.update(
    {
        function: (_unary if op.arity == 1 else _binary)(op)
        for function, op in registry.handlers.items()
        if isinstance(op, Op) and op.kind == "map" and op.arity in (1, 2) and op is not _STOP
    }
)
Tensor.__symgrad_bind__ = staticmethod(bind)

"""Recording: an op applied to tensors computes at once and remembers how to go back.

An op on tensors is the op of the compiler: its record computes the result on the arrays, and
a node keeps what its derivative rule will read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._graph import user_line
from .._graph._types import check_dtype, resolve
from .._op import Op, registry
from .._ops import CAST
from .._ops.movement import by_rows
from .._trace import Complex, Traced
from .._trace._arrays import add_operators
from ..errors import BackwardError
from ._mode import mode, recording
from ._node import Backward, Cell, Node, accumulator, clock
from ._node_classes import backward_class, rule_for
from ._origin import origin
from ._tensor import QUICK, Tensor

_OPS = registry.ops
_STOP = _OPS["StopGradient"]
_NONE: dict[str, Any] = {}
ndarray, asarray, new = np.ndarray, np.asarray, object.__new__


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
    shares = op.kind == "view" or op is _STOP
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
    edges: list[Node | None] = []
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
    node.edges, node.saved, node.rule, node.params = tuple(edges), tuple(saved), rule, params
    node.extra = node.cell = node.result = None
    if rule.reads_result:
        node.result = data
        node.cell = made.memory()
    elif made._cell is not None and operands[0]._fn is None:
        made._cell.leaf = True  # a view of a leaf
    node.where = user_line()
    node.seq = next(clock)
    return node


# ---------------------------------------------------------------- the short ways

# Most ops are elementwise on one or two tensors. For them the steps of bind() and _record()
# are written out, without what cannot happen there: a call between Python functions takes as
# long as a fifth of the arithmetic on a small array.


def _binary(op: Op) -> Callable[[Any, Any], Any]:
    """Return :func:`bind` for an elementwise op of two operands."""
    evaluate, cls = op.evaluate, backward_class(op)
    rules = cls.rules if cls is not None else {}

    def apply(x: Any, y: Any) -> Any:
        mask = 0
        if type(x) is Tensor:
            left, cell = x._data, x._cell
            if cell is not None and (cell.rebased or not left.flags.c_contiguous):
                return bind(op, (x, y), _NONE)
            if x._requires:
                mask = 1
        elif type(x) is float or type(x) is int:
            left = x
        else:
            return _other(op, x, y)
        if type(y) is Tensor:
            right, cell = y._data, y._cell
            if cell is not None and (cell.rebased or not right.flags.c_contiguous):
                return bind(op, (x, y), _NONE)
            if type(x) is Tensor and left.dtype is not right.dtype:
                return bind(op, (x, y), _NONE)
            if y._requires:
                mask += 2
        elif type(y) is float or type(y) is int:
            right = y
        else:
            return _other(op, x, y)
        data = evaluate(left, right)
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        if mask == 0 or cls is None or not recording() or data.dtype.kind != "f":
            made._fn, made._requires = None, False
            return made
        rule = rules.get(mask) or rule_for(cls, mask, 2, _NONE)
        node: Backward = new(cls)
        first = second = None
        if mask & 1:
            first = x._fn or accumulator(x)
            if not rule.needs[0]:
                x = (left.shape, left.dtype)
        elif left is x:
            x = data.dtype.type(x)
        if mask & 2:
            second = y._fn or accumulator(y)
            if not rule.needs[1]:
                y = (right.shape, right.dtype)
        elif right is y:
            y = data.dtype.type(y)
        node.edges, node.saved, node.rule, node.params = (first, second), (x, y), rule, _NONE
        if rule.reads_result:
            made._cell = node.cell = Cell()
            node.result, node.extra = data, None
        else:
            node.result = node.cell = node.extra = None
        node._origin = origin()
        node.seq = next(clock)
        made._fn, made._requires = node, True
        return made

    return apply


def _unary(op: Op) -> Callable[[Any], Any]:
    """Return :func:`bind` for an elementwise op of one operand."""
    evaluate, cls = op.evaluate, backward_class(op)
    rules = cls.rules if cls is not None else {}

    def apply(x: Any) -> Any:
        cell, data = x._cell, x._data
        if cell is not None and (cell.rebased or not data.flags.c_contiguous):
            return bind(op, (x,), _NONE)
        data = evaluate(data)
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        if not x._requires or cls is None or not recording() or data.dtype.kind != "f":
            made._fn, made._requires = None, False
            return made
        rule = rules.get(1) or rule_for(cls, 1, 1, _NONE)
        node: Backward = new(cls)
        node.edges = (x._fn or accumulator(x),)
        node.saved = (x if rule.saves[0] else (x._data.shape, x._data.dtype),)
        node.rule, node.params = rule, _NONE
        if rule.reads_result:
            made._cell = node.cell = Cell()
            node.result, node.extra = data, None
        else:
            node.result = node.cell = node.extra = None
        node._origin = origin()
        node.seq = next(clock)
        made._fn, made._requires = node, True
        return made

    return apply


def _other(op: Op, x: Any, y: Any) -> Any:
    """Apply an op to operands of other kinds, or leave it to them."""
    if isinstance(x, _FOREIGN) or isinstance(y, _FOREIGN):
        return NotImplemented
    return bind(op, (x, y), _NONE)


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


# ---------------------------------------------------------------- how tensors come here


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    apply = _binary(_OPS[name])
    return (lambda self, other: apply(other, self)) if swap else apply


#: What an op leaves to the other operand.
_FOREIGN = (str, bytes, type(None), Traced, Complex)
add_operators(Tensor, _operator)

QUICK.update(
    {
        function: (_unary if op.arity == 1 else _binary)(op)
        for function, op in registry.handlers.items()
        if isinstance(op, Op) and op.kind == "map" and op.arity in (1, 2) and op is not _STOP
    }
)
Tensor.__symgrad_bind__ = staticmethod(bind)

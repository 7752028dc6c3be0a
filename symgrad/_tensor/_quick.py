"""The short ways of elementwise ops on one or two tensors: one Python function an op.

Most ops are such. The steps of :func:`bind` are written out for them, without what cannot
happen there: a call between Python functions takes as long as a fifth of the arithmetic on a
small array. What is needed for the way back alone is left for then: a leaf stands for its
AccumulateGrad, the place of the call for its line, and a memory's history begins with the
first write.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .._op import Op, registry
from .._trace import Complex, Traced
from .._trace._arrays import add_operators, declines
from ._hot import MISS, Hot
from ._made import F64, with_array
from ._mode import recording
from ._node import clock
from ._node_classes import backward_class, rule_for
from ._origin import known_users, misfit, note_origin
from ._record import STOP, bind
from ._tensor import QUICK, Tensor

_OPS = registry.ops
_NONE: dict[str, Any] = {}
#: The functions of one operand, as they are called by name.
NAMED: dict[Any, Callable[..., Any]] = {}
#: Ops that take a whole number as the float that it is.
WEAK = frozenset((
    "Add", "Subtract", "Multiply", "Divide", "Power", "Maximum", "Minimum", "Less", "LessEqual",
    "Greater", "GreaterEqual", "Equal", "NotEqual",
))  # fmt: skip
ndarray, asarray, new, getframe = np.ndarray, np.asarray, object.__new__, sys._getframe


def _binary(op: Op, hot: Hot, depth: int = 1) -> Callable[[Any, Any], Any]:
    """Return :func:`bind` for an elementwise op of two operands; the user is so far up."""
    cls, rules, weak = backward_class(op), _Rules(op, 2), op.name in WEAK
    evaluate, other = op.evaluate, hot.other

    def apply(x: Any, y: Any) -> Any:
        mask = 0
        if type(x) is Tensor:
            left, cell = x._data, x._cell
            if cell is not None and (cell.rebased or not left.flags.c_contiguous):
                return bind(op, (x, y), _NONE)
            if x._requires:
                mask = 1
            if type(y) is Tensor:
                right, cell = y._data, y._cell
                if cell is not None and (cell.rebased or not right.flags.c_contiguous):
                    return bind(op, (x, y), _NONE)
                if left.dtype is not right.dtype:
                    return bind(op, (x, y), _NONE)
                if y._requires:
                    mask += 2
            elif type(y) is float:
                right = y
            elif type(y) is int:
                right = float(y) if weak and left.dtype is F64 else y
            else:
                return _other(op, apply, x, y)
        elif (type(x) is float or type(x) is int) and type(y) is Tensor:
            right, cell = y._data, y._cell
            left = float(x) if weak and type(x) is int and right.dtype is F64 else x
            if cell is not None and (cell.rebased or not right.flags.c_contiguous):
                return bind(op, (x, y), _NONE)
            if y._requires:
                mask = 2
        else:
            return _other(op, apply, x, y)
        try:
            data = hot.run(left, right)
            if data is MISS:
                array = left if type(x) is Tensor else right
                data = other(left, right) if array.ndim else evaluate(left, right)
        except ValueError as error:
            raise misfit(op.name, error) from None
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        if mask == 0 or cls is None or not recording():
            made._fn, made._requires = None, False
            return made
        made._fn = node = cls()
        made._requires = True
        node.rule, keeps_left, keeps_right, reads_result = rules[mask]
        first = second = None
        if mask & 1:
            first = x._fn or x
            if not keeps_left:
                x = (left.shape, left.dtype)
        elif type(x) is not Tensor:
            x = data.dtype.type(x)
        if mask & 2:
            second = y._fn or y
            if not keeps_right:
                y = (right.shape, right.dtype)
        elif type(y) is not Tensor:
            y = data.dtype.type(y)
        node.behind, node.saved, node.params = (first, second), (x, y), _NONE
        node.cell = node.extra = None
        node.result = data if reads_result else None
        node.seq = next(clock)
        frame = getframe(depth)
        node.place = code = frame.f_code
        if code.co_filename in known_users:
            node.offset = frame.f_lasti
        else:
            note_origin(node, frame)
        return made

    return own_code(apply, op)


def _unary(op: Op, hot: Hot, otherwise: Callable[..., Any], depth: int = 1) -> Callable[..., Any]:
    """Return :func:`bind` for an elementwise op of one operand; ``otherwise`` for no tensors."""
    cls, rules, evaluate, other = backward_class(op), _Rules(op, 1), op.evaluate, hot.other

    def apply(input: Any, /, **options: Any) -> Any:
        if type(input) is not Tensor or options:
            return otherwise(input, **options)
        data, cell = input._data, input._cell
        if cell is not None and (cell.rebased or not data.flags.c_contiguous):
            return bind(op, (input,), _NONE)
        found = hot.run(data)
        if found is MISS:
            found = other(data) if data.ndim else evaluate(data)
        data = found
        if type(data) is not ndarray:
            data = asarray(data)
        made: Tensor = new(Tensor)
        made._data = data
        made._cell = made._grad = made._acc = made.name = None
        if cls is None or not input._requires or not recording():
            made._fn, made._requires = None, False
            return made
        made._fn = node = cls()
        made._requires = True
        node.rule, keeps, _, reads_result = rules[1]
        node.behind = (input._fn or input,)
        node.saved = (input if keeps else (data.shape, data.dtype),)
        node.params = _NONE
        node.cell = node.extra = None
        node.result = data if reads_result else None
        node.seq = next(clock)
        frame = getframe(depth)
        node.place = code = frame.f_code
        if code.co_filename in known_users:
            node.offset = frame.f_lasti
        else:
            note_origin(node, frame)
        return made

    return own_code(apply, op)


def own_code(function: Any, op: Op) -> Callable[..., Any]:
    """Give a closure code of its own: what the interpreter learns of types is kept by code."""
    made: Callable[..., Any] = function
    function.__code__ = function.__code__.replace(co_name=op.name)
    return made


def _without_keywords(function: Any) -> Callable[[Any], Any]:
    """Return a function of an input and ``**options`` as one of the input alone.

    The interpreter calls it without a C function and a dictionary between.
    """
    code = function.__code__
    plain = code.replace(co_argcount=2, co_flags=code.co_flags & ~inspect.CO_VARKEYWORDS)
    return FunctionType(plain, function.__globals__, code.co_name, (_NONE,), function.__closure__)


class _Rules(dict[int, tuple[Any, bool, bool, bool]]):
    """The rules by the mask of operands that want gradients: made when first asked for."""

    def __init__(self, op: Op, count: int) -> None:
        self.op, self.count = op, count

    def __missing__(self, mask: int) -> tuple[Any, bool, bool, bool]:
        cls = backward_class(self.op)
        assert cls is not None
        rule = rule_for(cls, mask, self.count, _NONE)
        self[mask] = found = (rule, rule.saves[0], rule.saves[-1], rule.reads_result)
        return found


def _other(op: Op, apply: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Apply an op to operands of other kinds, or leave it to them."""
    made = with_array(apply, x, y)
    if made is not None:
        return made
    if isinstance(x, _FOREIGN) or isinstance(y, _FOREIGN) or declines(x) or declines(y):
        return NotImplemented
    return bind(op, (x, y), _NONE)


# ---------------------------------------------------------------- how tensors come here


#: What computes the ops.
_hot: dict[str, Hot] = {}


def _computed(op: Op) -> Hot:
    return _hot.get(op.name) or _hot.setdefault(op.name, Hot(op, op.evaluate))


def _operator(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    apply = _binary(_OPS[name], _computed(_OPS[name]), 2 if swap else 1)
    return (lambda self, other: apply(other, self)) if swap else apply


#: What an op leaves to the other operand.
_FOREIGN = (str, bytes, type(None), Traced, Complex)
add_operators(Tensor, _operator)

for _function, _op in registry.handlers.items():
    if isinstance(_op, Op) and _op.kind == "map" and _op is not STOP:
        _way = _computed(_op)
        if _op.arity == 1:
            NAMED[_function] = _unary(_op, _way, _function)
            QUICK[_function] = _without_keywords(_unary(_op, _way, _function, 2))
        elif _op.arity == 2:
            QUICK[_function] = _binary(_op, _way, 2)
for _name, _ufunc in (("neg", np.negative), ("abs", np.absolute), ("invert", np.invert)):
    setattr(Tensor, f"__{_name}__", NAMED[_ufunc])

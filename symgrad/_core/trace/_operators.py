"""The binary operators of traced values."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ...errors import ShapeError, UnsupportedError
from ..base.sizes import Size
from ..graph import Input, Node, apply
from ..graph._types import resolve
from ..op import Op, registry
from ._arrays import REFLECTED, declines
from ._assignment import require_kind
from ._bind import bind, cast, number
from ._caught_errors import raise_caught
from ._clocks import Reading
from ._decisions import noted_equality, noted_order
from ._integers import PYTHONS, beyond, require_power
from ._labels import labelled
from ._lists import LISTS_OWN, ask_caught, ask_operator
from ._number_refusals import Numberless

_POWER = registry.ops["Power"]
_MULTIPLY = registry.ops["Multiply"]
_EQUALITIES = frozenset((registry.ops["Equal"], registry.ops["NotEqual"]))
_ORDERS = frozenset(registry.ops[s] for s in ("Less", "LessEqual", "Greater", "GreaterEqual"))


def binary(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    """Return the operator that is the op ``name``, as a method of traced values."""
    op, lists_own = registry.ops[name], name in LISTS_OWN
    undefined = op in _UNDEFINED

    def method(self: Any, other: Any) -> Any:
        frame = sys._getframe(1)
        if lists_own and self._node.shape:
            ask_operator(self._node, other, name)
        elif undefined and not self.weak:
            ask_caught(frame)
        node = None if self.weak else _alike(op, self, other, swap, frame)
        if node is None:
            return _applied(op, self, other, swap, frame)
        found = type(self)(node)._lying(self, other)
        if op in _EQUALITIES:
            noted_equality(found, frame)
        elif op in _ORDERS:
            noted_order(found, frame)
        return found

    return method


def _applied(op: Op, value: Any, other: Any, swap: bool, frame: FrameType) -> Any:
    """Return ``value op other``, or with ``swap`` ``other op value``, whatever the other is.

    ``frame``: of the code in which it is written.
    """
    if op in _EQUALITIES and not value.node.shape and _is_no_number(other):
        return NotImplemented  # Python asks the other, and is left with whether they are the same
    if not isinstance(other, Numberless):  # of which each test below would ask for its class
        if isinstance(other, (str, bytes, type(None))) or declines(other):
            return NotImplemented
        if isinstance(other, (int, float)) and type(other) not in _NUMBERS:
            other = _as_pythons(op, value, other, swap)
            if other is NotImplemented:
                return NotImplemented
        if isinstance(other, (list, tuple)) and (
            value.weak in (float, complex) or (op is _MULTIPLY and _repeats(value))
        ):
            return NotImplemented  # of Python's numbers
        if isinstance(other, (list, tuple)):
            other = _stacked(other)
        if (named := labelled(other)) is not None:
            return PYTHONS[op](*((named, value) if swap else (value, named)))
        if makes_complex(other):
            return value.with_complex(op, (other, value) if swap else (value, other), {})
        if value.weak is int and type(other) is int and other.bit_length() > 63:
            return PYTHONS[op](*((other, int(value)) if swap else (int(value), other)))
    weak = value.weak and (type(other) in (float, int, bool) or _weak(other))
    if weak and op in _OF_WHOLE:
        value, other = whole(value), whole(other)
    node = bind(op, (other, value) if swap else (value, other), {})
    if node.dtype.kind in "iu":
        if op is _POWER:
            require_power(node, type(value))
        number = beyond(op, node) if weak else None
        if number is not None:
            return number
    made = type(value)(node, _PYTHON.get(node.dtype.char) if weak else None)
    if weak and op in _UNDEFINED:
        _raise_caught(op, made, *((other, value) if swap else (value, other)), frame)
    if op in _EQUALITIES:  # before it decides anything
        noted_equality(made, frame)
    elif op in _ORDERS:
        noted_order(made, frame)
    if made.weak is bool and _asks_identity(frame.f_code):
        return bool(made)
    return made._lying(value, other)


def _stacked(values: Any) -> Any:
    """Return nested lists that hold traced values as an array, as NumPy's numbers take them."""
    if not isinstance(values, (list, tuple)):
        return values
    rows = [_stacked(x) for x in values]
    return np.stack(rows) if any(isinstance(x, Numberless) for x in rows) else values


#: Types of numbers that have no operators but Python's or NumPy's.
_NUMBERS = (float, int, bool, np.float64)

#: The methods that Python asks first of the right operand, if its class is a subclass.
_FIRST = {op: f"__r{name}__" for name, op in REFLECTED.items()} | {
    "Less": "__gt__", "LessEqual": "__ge__", "Greater": "__lt__", "GreaterEqual": "__le__",
    "Equal": "__eq__", "NotEqual": "__ne__",
}  # fmt: skip


def _as_pythons(op: Op, value: Any, number: Any, swap: bool) -> Any:
    """Return a number of a subclass of Python's, as in an enumeration, as one of Python's.

    NotImplemented if its class has the operator itself, and Python asks it before the value's.
    """
    if isinstance(number, (Reading, np.generic)):
        return number
    for base in type(number).__mro__:
        if base is int or base is float:
            return int.__pos__(number) if base is int else float.__pos__(number)
        if not swap and value.weak in type(number).__mro__ and _FIRST[op.name] in vars(base):
            return NotImplemented
    return number


#: Methods of what is or becomes a number or an array.
_OF_NUMBERS = (
    "__array__", "__array_interface__", "__array_ufunc__", "__buffer__", "__complex__",
    "__dlpack__", "__float__", "__index__",
)  # fmt: skip


def _is_no_number(other: Any) -> bool:
    """Return whether an object, such as a member of an enumeration, is neither number nor array."""
    if isinstance(other, (Numberless, np.ndarray, np.generic, int, float, complex, list, tuple)):
        return False
    return not any(name in vars(base) for base in type(other).__mro__ for name in _OF_NUMBERS)


#: Operators for which Python raises an error where a program has inf or nan, and what it says.
_UNDEFINED = {
    registry.ops["Divide"]: "division by zero",
    registry.ops["FloorDivide"]: "integer division or modulo by zero",
    registry.ops["Remainder"]: "integer modulo by zero",
    _POWER: "0.0 cannot be raised to a negative power",
}  # fmt: skip


def _raise_caught(op: Op, made: Any, left: Any, right: Any, frame: FrameType) -> None:
    """Raise Python's error of an operator of its numbers, where the traced code catches it."""
    if type(left) is Size or type(right) is Size:
        return
    if op is not _POWER:
        if isinstance(right, Numberless) or right == 0:
            text = _UNDEFINED[op] if made.dtype.kind in "iu" else "float division by zero"
            raise_caught(ZeroDivisionError, text, lambda: np.equal(right, 0), frame)
        return
    if isinstance(right, Numberless) or right < 0:
        raise_caught(
            ZeroDivisionError,
            _UNDEFINED[op],
            lambda: np.logical_and(np.equal(left, 0), np.less(right, 0)),
            frame,
        )
    if made.dtype.kind == "f":
        raise_caught(
            OverflowError,
            "(34, 'Numerical result out of range')",
            lambda: np.logical_and(np.isinf(made), np.isfinite(left) & np.isfinite(right)),
            frame,
        )


#: Operators for which Python's truth values are 0 and 1, where NumPy's are not.
_OF_WHOLE = frozenset(registry.ops[name] for name in (
    "Add", "Subtract", "Multiply", "Power", "FloorDivide", "Remainder", "LeftShift", "RightShift",
))  # fmt: skip


def whole(value: Any) -> Any:
    """Return a truth value of Python's as a whole number, others as they are."""
    if type(value) is bool:
        return int(value)
    if getattr(value, "weak", None) is bool:
        return type(value)(cast(value.node, np.int64), int)
    return value


@lru_cache(maxsize=1024)
def _asks_identity(code: CodeType) -> bool:
    """Tell whether code asks if something *is* True, as ``match`` does: of the one of Python's."""
    before = None
    for step in dis.get_instructions(code):
        if step.opname == "IS_OP" and before is not None and type(before.argval) is bool:
            return before.opname.startswith("LOAD_")
        before = step
    return False


#: The result's type of ops on two operands of one type, None if they are converted first.
_ALIKE: dict[tuple[Op, np.dtype[Any]], np.dtype[Any] | None] = {}


def _alike(op: Op, value: Any, other: Any, swap: bool, frame: FrameType) -> Node | None:
    """Return ``a op other`` where there is nothing to promote or broadcast; else None.

    Most steps of a long program are such, and looking into it takes longer than the step.
    """
    a = value.node
    if type(other) is type(value):
        if other.weak is not None:
            return None
        b = other.node
        if b.dtype is not a.dtype or b.shape is not a.shape:
            return None
    elif type(other) is float and a.dtype.kind == "f" and not a.shape:
        b = number(other, a.dtype)
    else:
        return None
    dtype = a.dtype
    if (op, dtype) not in _ALIKE:
        types, result = resolve(op, (dtype, dtype))
        checked = op is _POWER and dtype.kind in "iu"
        _ALIKE[op, dtype] = result if types[0] is types[1] is dtype and not checked else None
    found = _ALIKE[op, dtype]
    if found is None:
        return None
    return apply(op, (b, a) if swap else (a, b), (), a.shape, found, frame)


def _repeats(value: Any) -> bool:
    """Tell whether a list times the value is the list so many times, as for a whole number."""
    if value.weak is bool:
        return True
    if value.node.shape or value.dtype.kind not in "iu":
        return False
    if value.weak is None and type(value.node) is Input:
        raise UnsupportedError(
            "a list times a whole number of NumPy's is repeated, and times an array without axes "
            "its elements are multiplied; of an argument nobody knows which it is. Write instead: "
            "np.array(...) of the list, or a Python int"
        )
    return True


def makes_complex(value: Any) -> bool:
    """Tell quickly whether an operand makes the result complex."""
    if isinstance(value, (Numberless, float, int)):
        return False
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


#: The Python type of what an operator makes of Python numbers.
_PYTHON = {"d": float, "l": int, "q": int, "?": bool}


def _weak(value: Any) -> bool:
    return type(value) is Size or getattr(value, "weak", None) is not None


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip


def _augmented(name: str, sign: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        return self._in_place(name, sign, other)

    return method


def matmul_in_place(self: Any, other: Any) -> Any:
    """Carry out ``x @= other`` for all that know the array."""
    product = self @ other
    if product.shape != self.shape:
        raise ShapeError(f"`@=` of shape {self.shape} with a product of shape {product.shape}")
    require_kind(self.dtype, product.dtype, "@")
    self[...] = product
    return self


def add_augmented(cls: type) -> None:
    """Give ``cls`` the augmented assignments, by its method ``_in_place``."""
    for name, op in REFLECTED.items():
        setattr(cls, f"__i{name}__", _augmented(op, _SIGNS[name]))

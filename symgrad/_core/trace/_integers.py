"""Whole numbers where Python's or NumPy's differ from 64 bits: they have no end, or no power."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import NumberError
from ..base.sizes import as_size
from ..base.state import now
from ..graph import Constant, Input, Literal, Node, SizeOf, apply
from ..op import Op, registry
from ._arrays import COMPARED, REFLECTED
from ._bind import cast
from ._constants import known_number
from ._decisions import decided

_OPS = registry.ops

#: Python's own operators, by the op that they are.
PYTHONS = {
    _OPS[op]: getattr(operator, f"__{name}__") for name, op in (REFLECTED | COMPARED).items()
}
#: Those by which numbers grow.
_GROWING = [_OPS[name] for name in ("Add", "Subtract", "Multiply", "Power", "LeftShift")]
_LIMIT = 2.0**63 - 2.0**12  # of rounded numbers

#: Most steps of a loop, and what a sum may grow by in each, without leaving 64 bits. Sizes and
#: counters are of one of three classes, by a guard.
_CLASSES = (20, 31, 61)


def beyond(op: Op, node: Node) -> Any:
    """Return the number of an operator on two Python numbers if it does not fit 64 bits.

    None if it fits, by a guard. In the body of a loop nobody knows the number.

    Raises
    ------
    NumberError
        In the body of a loop that stands for Python's, if the number may grow without end.
    """
    if op not in _GROWING:
        return None
    if now().counters is not None:
        _require_bounded(op, node)
    if now().examples is None or op is _OPS["LeftShift"]:
        return None
    real, flag = np.dtype(np.float64), np.dtype(bool)
    rough = apply(op, tuple([cast(x, real) for x in node.operands]), (), (), real)
    size = apply(_OPS["Absolute"], (rough,), (), (), real)
    fits = apply(_OPS["Less"], (size, Literal(_LIMIT, real)), (), (), flag)
    if decided(fits, bool) is not False:
        return None
    return PYTHONS[op](*map(_number, node.operands))


def _require_bounded(op: Op, node: Node) -> None:
    bits = _bits(node)
    if bits is not None and bits <= 63:
        return
    if op in _GROWING[:2]:  # a count, or a sum of counters
        sides = [_bits(x) for x in node.operands]
        if any(type(x) is Input and b is None for x, b in zip(node.operands, sides, strict=True)):
            step = [b for b in sides if b is not None]
            if step and step[0] <= _CLASSES[0]:
                return
    raise NumberError(
        "a whole number in a loop may grow beyond 64 bits, as Python's may. Write instead: a "
        "float from the start (1.0), or np.int64(1), which stays within 64 bits as NumPy's do"
    )


def _bits(node: Node) -> int | None:
    """Return how many bits a whole number has at most; None if nobody knows."""
    known = (now().counters or {}).get(node)
    if known is not None:
        return known
    if isinstance(node, Literal):
        return int(node.value).bit_length()
    if isinstance(node, SizeOf):
        return size_bits(as_size(node.size))
    sides = [_bits(x) for x in node.operands]
    name = node.op.name
    if name == "Remainder" and sides[1] is not None:
        return sides[1]
    if not sides or None in sides:
        return None
    first, *others = [b for b in sides if b is not None]
    if name in ("Add", "Subtract"):
        return max(first, *others) + 1
    if name == "Multiply":
        return first + others[0]
    power = node.operands[-1]
    if name == "Power" and isinstance(power, Literal):
        return first * int(power.value)
    return first if name in ("Cast", "Negative", "Absolute", "FloorDivide") else None


def size_bits(size: Any) -> int:
    """Return how many bits a number has at most: by a guard where each call knows it.

    In the body of a loop it is known of counters and sizes; else it may be any of 64 bits.
    """
    node = getattr(size, "node", None)
    if node is not None:
        bits = _bits(node)
        if bits is not None or now().examples is None:
            return 63 if bits is None else bits
    return next((b for b in _CLASSES if -(1 << b) <= size <= 1 << b), 63)


def _number(node: Node) -> int:
    known = known_number(node)
    return int(decided(node, int) if known is None else known)


def require_power(node: Node, value: type) -> None:
    """Raise for a power of integers with a negative exponent, as NumPy does.

    ``value`` makes a traced value of a node. What differs between the steps of a loop or the
    examples of a batch is not looked at.
    """
    exponent = node.operands[1]
    if isinstance(exponent, (Literal, Constant)):
        found = exponent.value if isinstance(exponent, Literal) else exponent.array
        negative: Any = bool(np.any(np.asarray(found) < 0))
    elif exponent.dtype.kind == "u" or now().examples is None:
        return
    else:
        negative = decided(np.any(value(exponent) < 0).node, bool)
    if negative:
        raise NumberError(
            "Integers to negative integer powers are not allowed: write x**-1.0, or make the "
            "array one of floats"
        )

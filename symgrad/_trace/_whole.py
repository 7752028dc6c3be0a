"""Whole numbers where Python's or NumPy's differ from 64 bits: they have no end, or no power."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .._graph import Constant, Literal, Node, apply
from .._op import Op, registry
from .._state import now
from ..errors import NumberError
from ._arrays import COMPARED, REFLECTED
from ._bind import cast
from ._examples import decided
from ._known import known_number

_OPS = registry.ops

#: Python's own operators, by the op that they are.
PYTHONS = {
    _OPS[op]: getattr(operator, f"__{name}__") for name, op in (REFLECTED | COMPARED).items()
}
#: Those by which numbers grow.
_GROWING = [_OPS[name] for name in ("Add", "Subtract", "Multiply", "Power")]
_LIMIT = 2.0**63 - 2.0**12  # of rounded numbers


def beyond(op: Op, node: Node) -> Any:
    """Return the number of an operator on two Python numbers if it does not fit 64 bits.

    None if it fits, by a guard, and in the body of a loop.
    """
    if op not in _GROWING or now().examples is None:
        return None
    real, flag = np.dtype(np.float64), np.dtype(bool)
    rough = apply(op, tuple([cast(x, real) for x in node.operands]), (), (), real)
    size = apply(_OPS["Absolute"], (rough,), (), (), real)
    fits = apply(_OPS["Less"], (size, Literal(_LIMIT, real)), (), (), flag)
    if decided(fits, bool) is not False:
        return None
    return PYTHONS[op](*map(_number, node.operands))


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

"""What a step is, however it is written: a number, a square, an inverse, a sum of squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._graph import Constant, Literal, Node

#: Ops between which and a number its views and conversions may stand.
VIEWS = ("Broadcast", "Reshape")
#: What a number can look like.
NUMBERS = frozenset(("Literal", *VIEWS, "Cast"))
POWERS = ("Power", "FloatPower")


def literal(node: Node) -> Any:
    """Return the number that every element of ``node`` has, of its type; None for none."""
    while node.op.name in VIEWS:
        node = node.operands[0]
    return node.value if isinstance(node, Literal) else None


def number_of(node: Node) -> float | None:
    """Return the number that every element of ``node`` is, if it is written in the program."""
    while node.op.name in VIEWS or node.op.name == "Cast":
        node = node.operands[0]
    return float(node.value) if isinstance(node, Literal) else None


def equals(number: Any, value: float) -> bool:
    """Tell whether a number is there and equal to ``value``, sign of zero included."""
    return number is not None and number == value and bool(np.signbit(number) == np.signbit(value))


def square_of(node: Node) -> Node | None:
    """Return ``x`` if the node is its square."""
    name = node.op.name
    if name == "Square":
        return node.operands[0]
    if name == "Multiply" and node.operands[0] is node.operands[1]:
        return node.operands[0]
    if name in POWERS and number_of(node.operands[1]) == 2:
        return node.operands[0]
    return None


def inverse_of(node: Node) -> Node | None:
    """Return ``x`` if the node is ``1/x``."""
    name = node.op.name
    if name == "Reciprocal":
        return node.operands[0]
    if name == "Divide" and number_of(node.operands[0]) == 1:
        return node.operands[1]
    if name in POWERS and number_of(node.operands[1]) == -1:
        return node.operands[0]
    return None


def offset_of(node: Node) -> tuple[Node, float] | None:
    """Return ``(x, c)`` for ``x - c`` and ``x + -c``."""
    name = node.op.name
    if name == "Subtract" and (c := number_of(node.operands[1])) is not None:
        return node.operands[0], c
    if name == "Add":
        for x, y in (node.operands, node.operands[::-1]):
            if (c := number_of(y)) is not None and number_of(x) is None:
                return x, -c
    return None


#: What a sum of squares can end with; a mean is a quotient, but of tensors one step. Not a number,
#: which nothing is differentiated by: an exponent would be taken for one.
SUMS = (NUMBERS - {"Literal"}) | {
    "Add", "Contract", "Divide", "Mean", "Multiply", "Slice", "Square", "Sum", "Transpose",
    "Where", *POWERS,
}  # fmt: skip


def is_sum_of_squares(node: Node) -> bool:
    """Tell whether a node is a sum of squares (of numbers not negative, of products): >= +0.

    It may also be nan.
    """
    stack = [node]
    seen = set()
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        name, number = x.op.name, number_of(x)
        if number is not None:
            if number < 0:
                return False
        elif name in ("Add", "Sum", "Reshape", "Broadcast", "Slice", "Transpose"):
            stack.extend(x.operands)
        elif name == "Where":
            stack.extend(x.operands[1:])
        elif name == "Multiply":
            stack.extend(_unpaired(x))
        elif name == "Divide" and (is_positive(x.operands[1]) or is_count(x.operands[1])):
            stack.append(x.operands[0])
        elif name == "Contract":
            a, b = x.operands
            if a is not b or x.params["a"] != x.params["b"]:
                return False
        elif square_of(x) is None:
            return False
    return True


def is_length(node: Node) -> bool:
    """Tell whether a node is a root of a sum of squares, or a power of it from 1/2 to 1."""
    if node.op.name in ("Power", "FloatPower"):
        power = number_of(node.operands[1])
        if power is None or not 0.5 <= power < 1:
            return False
    elif node.op.name != "Sqrt":
        return False
    return is_sum_of_squares(node.operands[0])


def is_count(node: Node) -> bool:
    """Tell whether a node is how many there are: constants, sums of truth values, never negative.

    Divided by 0, a number that is not negative is infinite or nan.
    """
    while node.op.name in ("Sum", "Reshape", "Broadcast", "Cast"):
        node = node.operands[0]
    if node.op.name == "Maximum":
        return any((n := number_of(x)) is not None and n >= 0 for x in node.operands)
    if node.dtype.kind == "b":
        return True
    return isinstance(node, Constant) and not bool(np.any(np.signbit(node.array)))


def is_positive(node: Node) -> bool:
    """Tell whether a node is a positive number, a size, or ``where(x > 0, x, 1)``."""
    if node.op.name == "Where":
        condition, x, other = node.operands
        if condition.op.name != "Greater" or condition.operands[0] is not x:
            return False
        least = number_of(condition.operands[1])
        return least is not None and least >= 0 and is_positive(other)
    number = number_of(node)
    return node.op.name == "SizeOf" or (number is not None and number > 0)


def _unpaired(product: Node) -> list[Node]:
    """Return the factors of a product that are left when equal ones make squares."""
    odd: dict[Node, bool] = {}
    stack = [product]
    while stack:
        x = stack.pop()
        if x.op.name == "Multiply":
            stack.extend(x.operands)
        elif not is_positive(x):
            odd[x] = not odd.get(x, False)
    return [x for x, left in odd.items() if left]

"""Sums of squares: what is never negative, and whose root is a length."""

from __future__ import annotations

from .._graph import Node
from ._pattern import number_of, square_of


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
        elif name == "Divide" and is_positive(x.operands[1]):
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


__all__ = ["is_length", "is_positive", "is_sum_of_squares"]

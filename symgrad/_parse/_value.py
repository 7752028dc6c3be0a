"""The value of a part of a formula: a SymPy expression, and its double if it is constant.

Sums and products are built from whole rows: ``a + b - c + ...`` is one sum, not a tower of
two-term sums, however long it is.
"""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from ._limits import MAX_ROOTS_BITS, TooLargeError, roots_bits

Real: TypeAlias = tuple[sp.Expr, float | None]


@dataclass(frozen=True, slots=True)
class Value:
    """The meaning of a node: SymPy's, and the double if no name occurs in it.

    ``pair`` is set for the ``(value, condition)`` entries of Piecewise only.
    """

    meaning: sp.Basic
    number: float | None = None
    pair: tuple[Value, ...] = ()


def finite(number: complex | None) -> float | None:
    """The double value of a constant, or None.

    Raises
    ------
    ValueError, OverflowError
        It has no finite real value.
    """
    if isinstance(number, complex):
        raise ValueError("a root of a negative number")
    if number is None:
        return None
    number = float(number)
    if math.isnan(number):
        raise ValueError("not a number")
    if math.isinf(number):
        raise OverflowError
    return number


def row_of(node: ast.BinOp) -> list[tuple[int, ast.expr]]:
    """The operands of ``a - b + c`` or ``a/b*c`` with +1, or -1 if subtracted or divided by."""
    group: tuple[type[ast.operator], ...]
    for group in ((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd,), (ast.BitOr,)):
        if isinstance(node.op, group):
            break
    else:
        return [(1, node.left), (1, node.right)]
    row: list[tuple[int, ast.expr]] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, group):
        row.append((-1 if isinstance(left.op, ast.Sub | ast.Div) else 1, left.right))
        left = left.left
    row.append((1, left))
    row.reverse()
    return row


def sum_of(row: list[tuple[int, Real]]) -> Value:
    """The sum of a row: each operand plus or minus."""
    total: float | None = 0.0
    for sign, (_, number) in row:
        total = None if total is None or number is None else total + sign * number
    terms = [meaning if sign > 0 else -meaning for sign, (meaning, _) in row]
    return Value(sp.Add(*terms), finite(total))


def product_of(row: list[tuple[int, Real]]) -> Value:
    """The product of a row: each operand multiplied or divided by."""
    total: float | None = 1.0
    for sign, (_, number) in row:
        if total is None or number is None:
            total = None
        else:
            total = total * number if sign > 0 else total / number
    total = finite(total)
    if roots_bits([meaning for _, (meaning, _) in row]) > MAX_ROOTS_BITS:
        if total is None:
            raise TooLargeError("too many roots of numbers in one product")
        return Value(sp.Float(total), total)
    factors = [meaning if sign > 0 else sp.Pow(meaning, -1) for sign, (meaning, _) in row]
    return Value(sp.Mul(*factors), total)

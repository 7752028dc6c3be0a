"""Sizes, guards and parameters as Python text, and sizes and guards back from text.

The text of a size is at once what a program's source computes with and what a saved program
holds: ``(n + 1)//2``, ``max(n, m - 1)``. Reading it back goes through Python's ``ast`` with a
whitelist; nothing is evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from ...errors import DataError
from .sizes import Dimension, Shape, as_dim, as_expr, check_divisor, floor_div

#: Longest text of a size or guard, and most products with a sum in them: more is no size
#: that a program has, and expanding it could take for ever.
MAX_TEXT, MAX_PRODUCTS = 4000, 8
#: Most quotients, remainders and extrema of a size: SymPy compares them pairwise.
MAX_ROUNDED = 64
#: Deepest nesting of a size's text: it is read by recursion.
MAX_DEPTH = 100
MAX_INTEGER = 2**63
MAX_POWER = 64

#: How tightly operations bind; a minus sign binds tighter than a quotient.
SUM, QUOTIENT, PRODUCT, ATOM = 1, 2, 3, 4


@dataclass(frozen=True)
class Operand:
    """An operand in source code: formats as its name, and knows its shape and type."""

    text: str
    shape: Shape
    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return self.text


# ---------------------------------------------------------------- writing


def size_text(dim: Dimension) -> str:
    """Return a size as Python text.

    Raises
    ------
    DataError
        If it is no expression of integers, size names, ``+ - * // % max min``.
    """
    return _text(as_expr(dim))[0]


def _text(e: Any) -> tuple[str, int]:
    """Return the text of a size and how tightly its outermost operation binds."""
    if e.is_Integer:
        return str(e), ATOM if e >= 0 else SUM
    if e.is_Symbol:
        return str(e.name), ATOM
    if isinstance(e, sp.floor):
        return _quotient(*fraction_of(e.args[0]))
    if isinstance(e, sp.Mod):
        a, b = (_inside(x, ATOM) for x in e.args)
        return f"{a} % {b}", QUOTIENT
    if isinstance(e, (sp.Max, sp.Min)):
        parts = sorted(_text(x)[0] for x in e.args)
        return f"{'max' if isinstance(e, sp.Max) else 'min'}({', '.join(parts)})", ATOM
    if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp > 0:
        return f"{_inside(e.base, ATOM)}**{e.exp}", PRODUCT
    if isinstance(e, sp.Add):
        return _sum(e), SUM
    if isinstance(e, sp.Mul) and all(not f.is_Rational or f.is_Integer for f in e.args):
        if e.as_coeff_Mul()[0].is_negative:
            return f"-{_inside(-e, PRODUCT)}", SUM
        factors = e.as_ordered_factors()
        return "*".join(_inside(f, PRODUCT if f.is_Pow else ATOM) for f in factors), PRODUCT
    raise DataError(f"the size {e} cannot be written with + - * // % max min")


def _inside(e: Any, binding: int) -> str:
    text, found = _text(e)
    return text if found >= binding else f"({text})"


def _quotient(numerator: Any, denominator: Any) -> tuple[str, int]:
    return f"{_inside(numerator, ATOM)}//{_inside(denominator, ATOM)}", QUOTIENT


def _sum(e: sp.Add) -> str:
    text = ""
    for term in e.as_ordered_terms():
        negative = term.as_coeff_Mul()[0].is_negative
        if not text:
            text = f"-{_inside(-term, PRODUCT)}" if negative else _inside(term, QUOTIENT)
        else:
            text += (
                f" - {_inside(-term, QUOTIENT)}" if negative else f" + {_inside(term, QUOTIENT)}"
            )
    return text


def infix(sign: str) -> Callable[[Operand, Operand], str]:
    """Return how a binary operator is spelled."""
    return lambda x, y: f"{x} {sign} {y}"


_RELATIONS: dict[type, str] = {
    sp.Eq: "==", sp.Ne: "!=", sp.Lt: "<", sp.Le: "<=", sp.Gt: ">", sp.Ge: ">=",
}  # fmt: skip


def relation_text(relation: Any) -> str:
    """Return a guard's relation between two sizes as Python text."""
    sign = _RELATIONS.get(type(relation))
    if sign is None:
        raise DataError(f"the guard {relation} is no comparison of two sizes")
    left, right = relation.args
    return f"{size_text(left)} {sign} {size_text(right)}"


def spell(value: Any) -> str:
    """Return a parameter (sizes, strings, nested tuples of them) as Python text."""
    if isinstance(value, tuple):
        return f"({', '.join(map(spell, value))}{',' if len(value) == 1 else ''})"
    return size_text(value) if isinstance(value, sp.Basic) else repr(value)


# ---------------------------------------------------------------- reading


def parse_size(text: str, sizes: Mapping[str, sp.Symbol]) -> Dimension:
    """Return the size that ``text`` means; ``sizes`` gives the symbols by name.

    Raises
    ------
    DataError
        If the text is anything else than integers, size names, ``+ - * // % **``, ``max``
        and ``min``.
    """
    return as_dim(_Reader(text, sizes).size(_parsed(text)))


def parse_relation(text: str, sizes: Mapping[str, sp.Symbol]) -> sp.Basic:
    """Return the relation of two sizes that ``text`` means, as it was recorded."""
    tree = _parsed(text)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        for relation, sign in _RELATIONS.items():
            if isinstance(tree.ops[0], _SIGNS[sign]):
                reader = _Reader(text, sizes)
                left, right = reader.size(tree.left), reader.size(tree.comparators[0])
                return relation(left, right, evaluate=False)
    raise DataError(f"{text!r:.80} is no comparison of two sizes")


_SIGNS: dict[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
}  # fmt: skip


def _parsed(text: Any) -> ast.expr:
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise DataError(f"{text!r:.80} is no size: it is not text, or too long")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise DataError(f"{text!r:.80} is no size: {error}") from None
    # Python's parser has a bound of its own, which differs between versions.
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise DataError(f"{text!r:.80} is no size: it is nested more than {MAX_DEPTH} deep")


class _Reader:
    def __init__(self, text: str, sizes: Mapping[str, sp.Symbol]) -> None:
        self.text, self.sizes = text, sizes
        self.products = self.rounded = 0

    def refuse(self, why: str) -> DataError:
        return DataError(f"{self.text!r:.80} is no size: {why}")

    def size(self, tree: ast.expr) -> Any:
        value = self.value(tree)
        if value.is_Integer and abs(value) >= MAX_INTEGER:
            raise self.refuse("a number is too large")
        return value

    def value(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Constant) and type(tree.value) is int:
            return sp.Integer(tree.value)
        if isinstance(tree, ast.Name):
            if tree.id not in self.sizes:
                raise self.refuse(f"there is no size {tree.id!r}")
            return self.sizes[tree.id]
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -self.size(tree.operand)
        if isinstance(tree, ast.BinOp):
            return self.binary(tree)
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and not tree.keywords:
            folds = {"max": sp.Max, "min": sp.Min}
            self.round()
            if tree.func.id in folds and 0 < len(tree.args) <= MAX_PRODUCTS:
                return folds[tree.func.id](*map(self.size, tree.args))
        raise self.refuse("only integers, size names and + - * // % ** max min may stand in it")

    def round(self) -> None:
        self.rounded += 1
        if self.rounded > MAX_ROUNDED:
            raise self.refuse("it has too many quotients, remainders and extrema")

    def binary(self, tree: ast.BinOp) -> Any:
        a, b = self.size(tree.left), self.size(tree.right)
        if isinstance(tree.op, ast.Add):
            return a + b
        if isinstance(tree.op, ast.Sub):
            return a - b
        if isinstance(tree.op, ast.Mult):
            self.products += not (a.is_Integer or b.is_Integer) and (a.is_Add or b.is_Add)
            if self.products <= MAX_PRODUCTS:
                return a * b
            raise self.refuse("it multiplies too many sums")
        if isinstance(tree.op, (ast.FloorDiv, ast.Mod)) and b != 0:
            self.round()
            try:
                check_divisor(b)
            except ZeroDivisionError as error:
                raise self.refuse(str(error)) from None
            return floor_div(a, b) if isinstance(tree.op, ast.FloorDiv) else sp.Mod(a, b)
        if isinstance(tree.op, ast.Pow) and b.is_Integer and 0 < b <= MAX_POWER:
            self.products += 0 if a.is_Symbol else int(b) - 1
            if self.products <= MAX_PRODUCTS:
                return a**b
        raise self.refuse("only integers, size names and + - * // % ** max min may stand in it")


@lru_cache(maxsize=65536)
def fraction_of(quotient: Any) -> tuple[Any, Any]:
    """Return numerator and denominator of a quotient of whole numbers.

    SymPy has ``floor((4*n + 8)/19)`` as ``floor(4*n/19 + 8/19)``, term by term.
    """
    above, below = sp.fraction(sp.together(quotient))
    return above, below

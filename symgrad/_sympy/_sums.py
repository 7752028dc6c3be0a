"""Wide sums: terms that differ in numbers only are one array expression.

A spectrum of thousands of lines, a polynomial of thousands of terms, is few formulas with columns
of numbers. Written out, it would be compiled term by term; as ``np.sum`` over columns, the program
has a length that does not depend on the number of terms, and so have its derivatives. Where
arguments are arrays, the terms are a loop, so that no array of all terms at all places is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import sympy as sp

from .. import numpy as traced_numpy
from .._core.base.state import now
from .._core.trace.formula import Form, SumParts, added, emit_terms, sum_parts
from .._syntax._control import scan
from ._builder import FormulaBuilder

#: Least number of terms of a wide sum, and of terms that are alike.
WIDE, ALIKE = 64, 32

#: Deeper terms are written one by one.
DEEP = 40

_ALIKE_FUNCTIONS = (
    sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh, sp.asinh, sp.atan, sp.erf,
    sp.erfc,
)  # fmt: skip


class _OwnError(Exception):
    """A term has parts that are not compared with others."""


class _Group:
    """Terms that differ in numbers only."""

    def __init__(self) -> None:
        self.terms: list[Any] = []
        self.rows: list[list[Any]] = []


class _WideParts(SumParts):
    """The parts of the terms that are written one by one, and the groups of others."""

    groups: list[_Group]


def _parts(e: sp.Add) -> Sequence[Any]:
    if len(e.args) < WIDE:
        return sum_parts(e.args)
    groups: dict[Any, _Group] = {}
    single: list[Any] = []
    for term in e.args:
        numbers: list[Any] = []
        try:
            key = _shape_of_product(term, numbers, 0)
        except _OwnError:
            single.append(term)
            continue
        group = groups.setdefault(key, _Group())
        group.terms.append(term)
        group.rows.append(numbers)
    wide = [group for group in groups.values() if len(group.rows) >= ALIKE]
    single += [t for group in groups.values() if len(group.rows) < ALIKE for t in group.terms]
    found = sum_parts(single)
    parts = _WideParts(found)
    parts.terms, parts.groups = found.terms, wide
    return parts


def _sum(builder: FormulaBuilder, e: sp.Add, slots: list[int]) -> int:
    parts = builder.parts
    values = emit_terms(builder, parts.terms, slots)
    for group in getattr(parts, "groups", ()):
        values.append((1, _rows(builder, group)))
    return added(builder, values)


# ---------------------------------------------------------------- shapes of terms


def _factors(e: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return the number of a product, and its factors as bases and exponents."""
    args = e.args if e.is_Mul else (e,)
    number, rest = (args[0], args[1:]) if args[0].is_Rational or args[0].is_Float else (
        sp.S.One, args)  # fmt: skip
    return number, [(f.base, f.exp) if f.is_Pow else (f, sp.S.One) for f in rest]


def _shape_of_product(e: Any, numbers: list[Any], depth: int) -> Any:
    number, factors = _factors(e)
    numbers.append(number)
    shapes: list[Any] = []
    for base, exponent in factors:
        shapes.append(_shape(base, numbers, depth + 1))
        shapes.append(_shape(exponent, numbers, depth + 1))
    return ("Mul", *shapes)


def _shape(e: Any, numbers: list[Any], depth: int) -> Any:
    """Return what a formula is but for its numbers, which are appended."""
    if e.is_Rational or e.is_Float:
        numbers.append(e)
        return "#"
    if e.is_Symbol or e.is_NumberSymbol:
        return e
    if depth > DEEP:
        raise _OwnError
    if e.is_Mul or e.is_Pow:
        return _shape_of_product(e, numbers, depth)
    if e.is_Add or isinstance(e, _ALIKE_FUNCTIONS):
        return (type(e), *(_shape(a, numbers, depth + 1) for a in e.args))
    raise _OwnError


def _template(e: Any, columns: Iterator[Any]) -> Any:
    """Write a term again, with the columns in place of its numbers."""
    if e.is_Rational or e.is_Float:
        return next(columns)
    if e.is_Symbol or e.is_NumberSymbol:
        return e
    if e.is_Mul or e.is_Pow:
        return _template_of_product(e, columns)
    parts = [_template(a, columns) for a in e.args]
    return e.func(*parts, evaluate=False)


def _template_of_product(e: Any, columns: Iterator[Any]) -> Any:
    number, *factors = next(columns), *_factors(e)[1]
    made = [] if number is sp.S.One else [number]
    for base, _exponent in factors:
        low = _template(base, columns)
        high = _template(_exponent, columns)
        made.append(low if high is sp.S.One else sp.Pow(low, high, evaluate=False))
    return sp.Mul(*made, evaluate=False) if len(made) != 1 else made[0]


# ---------------------------------------------------------------- rows


class _Columns:
    """Numbers of the terms, a column for each place where they differ."""

    def __init__(self, columns: list[list[Any]]) -> None:
        self.double = tuple(np.array([float(v) for v in column]) for column in columns)
        self.single = tuple(column.astype(np.float32) for column in self.double)


def _rows(builder: FormulaBuilder, group: _Group) -> int:
    """Write the sum of a group."""
    dummies, columns, entries = [], [], []
    for column in zip(*group.rows, strict=True):
        first = column[0]
        if all(v is first or v == first for v in column):
            entries.append(first)
        else:
            dummies.append(sp.Dummy(real=True))
            entries.append(dummies[-1])
            columns.append(list(column))
    template = _template_of_product(group.terms[0], iter(entries))
    tape, captured, _ = builder.body(dummies, lambda b: b.slot(template))
    return builder.step(_summed, *captured, static=(tape, _Columns(columns)))


def _summed(*more: Any) -> Any:
    *captured, tape, numbers = more
    types = [v.dtype for v in captured if hasattr(v, "dtype")]
    narrow = bool(types) and np.result_type(*types) in (np.float32, np.complex64)
    columns = numbers.single if narrow else numbers.double
    if not any(getattr(v, "ndim", 0) for v in captured):
        return np.sum(tape(*columns, *captured)[0])
    if now().guards is None:
        total: Any = 0.0
        for row in zip(*columns, strict=True):
            total = total + tape(*map(float, row), *captured)[0]
        return total
    term = tape(*(column[0] for column in columns), *captured)[0]  # for its type
    start = traced_numpy.zeros(np.shape(term), dtype=term.dtype)
    return scan(lambda s, row: (s + tape(*row, *captured)[0], None), start, columns)[0]


WIDE_SUM = Form(_sum, _parts)

"""Wide sums: terms that differ in numbers only are one array expression.

A spectrum of thousands of lines, a polynomial of thousands of terms, is few formulas with columns
of numbers. Written out, it would be compiled term by term; as ``np.sum`` over columns, the program
has a length that does not depend on the number of terms, and so have its derivatives. Where
arguments are arrays, the terms are a loop, so that no array of all terms at all places is made.

A polynomial whose exponents fill their box is computed by Horner's rule in its first variable, for
all exponents of the others at once, then in the second, and so on: one multiplication and one
addition for each coefficient (Knuth, The Art of Computer Programming 2, section 4.6.4).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from .. import numpy as traced_numpy
from .._core.base.state import now
from .._core.trace.formula import Form, SumParts, added, emit_terms, raised, sum_parts
from .._syntax._control import scan
from ._builder import FormulaBuilder

#: Least number of terms of a wide sum, and of terms that are alike.
WIDE, ALIKE = 64, 32

#: Deeper terms are written one by one.
DEEP = 40

#: Most exponents of a polynomial computed by Horner's rule, of all its variables together: each is
#: a step of the program. And most coefficients, zeros included, for each of its terms.
EXPONENTS, BOX = 200, 4

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
    """The parts of the terms that are written one by one, what others are, and their variables."""

    groups: list[_Group]
    polynomial: _Polynomial | None


def _parts(e: sp.Add) -> Sequence[Any]:
    if len(e.args) < WIDE:
        return sum_parts(e.args)
    polynomial, rest = _polynomial(e.args)
    wide, single = _grouped(rest)
    single += [t for group in wide if len(group.rows) < ALIKE for t in group.terms]
    found = sum_parts(single)
    parts = _WideParts([*found, *(polynomial.variables if polynomial else ())])
    parts.terms, parts.polynomial = found.terms, polynomial
    parts.groups = [group for group in wide if len(group.rows) >= ALIKE]
    return parts


def _grouped(terms: Sequence[Any]) -> tuple[list[_Group], list[Any]]:
    """Return the groups of terms, and those that are not compared with others."""
    groups: dict[Any, _Group] = {}
    single: list[Any] = []
    for term in terms:
        numbers: list[Any] = []
        try:
            key = _shape_of_product(term, numbers, 0)
        except _OwnError:
            single.append(term)
            continue
        group = groups.setdefault(key, _Group())
        group.terms.append(term)
        group.rows.append(numbers)
    return list(groups.values()), single


def _sum(builder: FormulaBuilder, e: sp.Add, slots: list[int]) -> int:
    parts = builder.parts
    if not isinstance(parts, _WideParts):
        return added(builder, emit_terms(builder, parts.terms, slots))
    polynomial = parts.polynomial
    single = len(slots) - len(polynomial.variables if polynomial else ())
    values = emit_terms(builder, parts.terms, slots[:single])
    for group in parts.groups:
        tape, captured, columns = _rows(builder, group)
        values.append((1, builder.step(_summed, *captured, static=(tape, columns))))
    if polynomial:
        values.append((1, polynomial.emit(builder, slots[single:])))
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


def _rows(builder: FormulaBuilder, group: _Group) -> tuple[Any, list[int], _Columns]:
    """Return the tape of a group's terms, the slots of what it takes, and the columns."""
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
    return tape, captured, _Columns(columns)


def _is_narrow(values: Sequence[Any]) -> bool:
    types = [v.dtype for v in values if hasattr(v, "dtype")]
    return bool(types) and np.result_type(*types) in (np.float32, np.complex64)


def _are_arrays(values: Sequence[Any]) -> bool:
    return any(getattr(v, "ndim", 0) for v in values)


def _summed(*more: Any) -> Any:
    *captured, tape, numbers = more
    columns = numbers.single if _is_narrow(captured) else numbers.double
    if not _are_arrays(captured):
        return np.sum(tape(*columns, *captured)[0])
    if now().guards is None:
        total: Any = 0.0
        for row in zip(*columns, strict=True):
            total = total + tape(*map(float, row), *captured)[0]
        return total
    term = tape(*(column[0] for column in columns), *captured)[0]  # for its type
    start = traced_numpy.zeros(np.shape(term), dtype=term.dtype)
    return scan(lambda s, row: (s + tape(*row, *captured)[0], None), start, columns)[0]


# ---------------------------------------------------------------- polynomials


class _Polynomial:
    """Terms that are numbers times powers of few variables, by Horner's rule.

    Attributes
    ----------
    variables:
        The formulas that powers are of: the one with the most exponents comes first.
    """

    def __init__(self, numbers: list[Any], powers: list[dict[Any, int]]) -> None:
        found: dict[Any, set[int]] = {}
        for row in powers:
            for base in row:
                found.setdefault(base, {0}).add(row[base])
        self.variables = sorted(found, key=lambda base: -len(found[base]))
        self._numbers, self._powers = numbers, powers
        self._exponents = [sorted(found[base], reverse=True) for base in self.variables]

    def is_dense(self) -> bool:
        """Whether few of the coefficients are zero, in a program that is short."""
        counts = [len(exponents) for exponents in self._exponents]
        return sum(counts) <= EXPONENTS and math.prod(counts) <= BOX * len(self._powers)

    def _coefficients(self) -> _Columns:
        places = [{e: k for k, e in enumerate(exponents)} for exponents in self._exponents]
        counts = [len(exponents) for exponents in self._exponents]
        table: list[Any] = [0] * math.prod(counts)
        for row, number in zip(self._powers, self._numbers, strict=True):
            at = 0
            for base, place, count in zip(self.variables, places, counts, strict=True):
                at = at * count + place[row.get(base, 0)]
            table[at] += number  # of terms that SymPy has not collected
        return _Columns([table])

    def _columns_by_variables(self) -> list[tuple[tuple[int, ...], _Columns]]:
        """Return numbers and exponents of the terms that have the same variables, for each such."""
        places = {base: k for k, base in enumerate(self.variables)}
        groups: dict[tuple[int, ...], list[list[Any]]] = {}
        for row, number in zip(self._powers, self._numbers, strict=True):
            key = sorted(places[base] for base in row)
            exponents = [row[self.variables[k]] for k in key]
            groups.setdefault(tuple(key), []).append([number, *exponents])
        return [
            (key, _Columns([list(column) for column in zip(*rows, strict=True)]))
            for key, rows in groups.items()
        ]

    def emit(self, builder: FormulaBuilder, slots: list[int]) -> int:
        """Write the sum; ``slots`` are those of the variables."""
        exponents = tuple(map(tuple, self._exponents))
        static = (exponents, self._coefficients(), tuple(self._columns_by_variables()))
        return builder.step(_polynomial_value, *slots, static=static)


def _polynomial(terms: Sequence[Any]) -> tuple[_Polynomial | None, Sequence[Any]]:
    """Return the polynomial in a sum if Horner's rule is the way to compute it; and the rest."""
    split = [_monomial(term) for term in terms]
    often = Counter(base for _, powers in split if powers is not None for base in powers)
    numbers, powers_of, rest = [], [], []
    for term, (number, powers) in zip(terms, split, strict=True):
        if powers is not None and all(often[base] >= ALIKE for base in powers):
            numbers.append(number)
            powers_of.append(powers)
        else:
            rest.append(term)
    if len(numbers) < WIDE:
        return None, terms
    found = _Polynomial(numbers, powers_of)
    return (found, rest) if found.is_dense() else (None, terms)


def _monomial(term: Any) -> tuple[Any, dict[Hashable, int] | None]:
    """Return the number of a term and the exponents of its factors, None if it is not one."""
    if term.is_Rational or term.is_Float:
        return term, {}
    number, factors = _factors(term)
    powers: dict[Hashable, int] = {}
    for base, high in factors:
        if not (high.is_Integer and high.is_positive):
            return number, None
        powers[base] = powers.get(base, 0) + int(high)
    return number, powers


def _monomial_value(number: Any, *more: Any) -> tuple[Any]:
    """Return a number times powers; ``more`` are the exponents and then their bases."""
    half = len(more) // 2
    for base, exponent in zip(more[half:], more[:half], strict=True):
        number = number * raised(base, exponent)
    return (number,)


def _polynomial_value(*more: Any) -> Any:
    *variables, exponents, coefficients, groups = more
    if _are_arrays(variables):  # a loop over terms keeps less than all coefficients at all places
        return sum(
            _summed(*(variables[k] for k in key), _monomial_value, columns)
            for key, columns in groups
        )
    (total,) = coefficients.single if _is_narrow(variables) else coefficients.double
    for variable, falling in zip(variables, exponents, strict=True):
        rows = total.reshape(len(falling), -1)
        total = rows[0]
        for k, (high, low) in enumerate(pairwise(falling), 1):
            total = total * raised(variable, high - low) + rows[k]
    return total[0]


WIDE_SUM = Form(_sum, _parts)

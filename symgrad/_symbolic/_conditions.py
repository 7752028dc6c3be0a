"""Conditions on indices: what their ranges already decide, and a uniform way to write them.

A relation between whole numbers is kept as its *gap*, an expression that is at least 0
exactly where the relation holds: ``i < n`` is ``n - i - 1 >= 0``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sympy as sp

from ._binders import cases

#: For each index symbol its first and last value.
Ranges = Mapping[sp.Symbol, tuple[Any, Any]]


def never_negative(gap: Any, ranges: Ranges) -> bool:
    """Tell whether a linear expression is at least 0 for all indices in their ranges."""
    gap = sp.expand(gap)
    for _ in range(len(ranges) + 1):
        inside = [i for i in ranges if gap.has(i)]
        if not inside:
            break
        for index in inside:
            slope = gap.coeff(index, 1)
            if not slope.is_number or (gap - slope * index).has(index):
                return False
            low, high = ranges[index]
            gap = sp.expand(gap.subs(index, low if slope > 0 else high))
    return bool(gap.is_nonnegative)


def gap_of(relation: Any) -> Any:
    """Return the gap of a relation between whole numbers, or None if it is another one.

    SymPy's Piecewise writes ``j + n < 2*n`` as ``j/2 + n/2 < n``, between halves: the gap is
    that of the relation in whole numbers, without a common factor.
    """
    if not isinstance(relation, sp.core.relational.Relational):
        return None
    if relation.has(sp.Indexed) or not all(s.is_integer for s in relation.free_symbols):
        return None
    x, y = relation.lhs, relation.rhs
    if isinstance(relation, (sp.Lt, sp.Le)):
        x, y = y, x
    elif not isinstance(relation, (sp.Gt, sp.Ge)):
        return None
    constant, rest = sp.expand(x - y).as_coeff_Add()
    terms = rest.as_coefficients_dict()
    if not constant.is_Rational or not all(term.is_integer for term in terms):
        return None
    scale = math.lcm(constant.q, *(factor.q for factor in terms.values()))
    strict = isinstance(relation, (sp.Lt, sp.Gt))
    common = math.gcd(*(int(scale * factor) for factor in terms.values())) or 1
    gap = scale * rest / common + sp.floor((scale * constant - strict) / common)
    return sp.expand(gap)


def at_least_zero(gap: Any) -> Any:
    """Return ``gap >= 0`` with one index alone on its side, if there is one."""
    gap = sp.expand(gap)
    for index in sorted(gap.free_symbols, key=str):
        slope = gap.coeff(index)
        if index.is_nonnegative and not index.is_positive and slope in (1, -1):
            rest = gap - slope * index
            if slope == 1:
                return index >= -rest
            below = rest.as_coeff_Add()[0] == -1
            return index < rest + 1 if below else index <= rest
    return sp.Ge(gap, 0)


def decided(condition: Any, ranges: Ranges) -> Any:
    """Return ``condition`` without the relations that the ranges decide."""
    swap = {}
    for relation in condition.atoms(sp.core.relational.Relational):
        gap = gap_of(relation)
        if gap is None:
            continue
        if never_negative(gap, ranges):
            swap[relation] = sp.true
        elif never_negative(-gap - 1, ranges):
            swap[relation] = sp.false
        else:
            swap[relation] = at_least_zero(gap)
    return condition.xreplace(swap)


def branches(expression: sp.Piecewise, ranges: Ranges) -> Any:
    """Return a Piecewise without branches and relations that the ranges decide."""
    pieces: list[tuple[Any, Any]] = []
    denied: list[Any] = []  # gaps of the relations that failed in an earlier branch
    for value, condition in expression.args:
        condition = decided(condition, ranges)
        implied = {
            r: sp.true for r in condition.atoms(sp.core.relational.Relational)
            if gap_of(r) is not None and any(sp.expand(gap_of(r) + g + 1) == 0 for g in denied)
        }  # fmt: skip
        condition = condition.xreplace(implied)
        if condition == sp.false:
            continue
        pieces.append((value, condition))
        if condition == sp.true:
            break
        gap = gap_of(condition)
        if gap is not None:
            denied.append(gap)
    return cases(*pieces) if pieces else sp.nan


def plain_condition(condition: Any) -> Any:
    """Return the condition itself for that on a number that stands for it.

    Examples
    --------
    >>> x = sp.Symbol("x", real=True)
    >>> plain_condition(sp.Eq(sp.Piecewise((1, x > 0), (0, True)), 0))
    x <= 0
    """
    if not isinstance(condition, sp.Eq) or not isinstance(condition.lhs, sp.Piecewise):
        return condition
    wanted, denied, found = condition.rhs, sp.true, sp.false
    for number, case in condition.lhs.args:
        if not (number.is_Integer and wanted.is_Integer):
            return condition
        if number == wanted:
            found = sp.Or(found, sp.And(denied, case))
        denied = sp.And(denied, sp.Not(case))
    return found

"""Conditions on indices, and steps, maxima and case distinctions that say the same twice.

A relation between whole numbers is kept as its *gap*, an expression that is at least 0
exactly where the relation holds: ``i < n`` is ``n - i - 1 >= 0``.

``Heaviside(x)*Max(0, x)`` is ``Max(0, x)``: where the step is not 1, the maximum is 0. Every law
here holds for all real numbers, at the steps and ties, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import sympy as sp

from ._binders import cases, rebuilt

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


def settled(e: Any) -> Any:
    """Return a formula in which steps, maxima and cases do not repeat each other.

    Examples
    --------
    >>> import sympy as sp
    >>> x = sp.Symbol("x", real=True)
    >>> settled(2 * sp.Heaviside(x) * sp.Max(0, x))
    2*Max(0, x)
    >>> settled(sp.Heaviside(1 - sp.Max(-1, x)) * sp.Heaviside(x + 1) * sp.Min(1, sp.Max(-1, x)))
    x*Heaviside(1 - x)*Heaviside(x + 1)
    """
    return _settled(e, {})


def _settled(e: Any, known: dict[Any, Any]) -> Any:
    if not isinstance(e, sp.Basic) or not e.has(sp.Heaviside, sp.Piecewise):
        return e
    if e not in known:  # a part may occur often
        known[e] = _part(e, known)
    return known[e]


def _part(e: Any, known: dict[Any, Any]) -> Any:
    if isinstance(e, sp.Piecewise):
        return _nested(cases(*((_settled(v, known), c) for v, c in e.args), evaluate=False))
    e = rebuilt(e, [_settled(a, known) if isinstance(a, sp.Expr) else a for a in e.args])
    if isinstance(e, sp.Heaviside):
        return _step(e)
    if e.is_Mul:
        return _product(e)
    return _joined(e) if e.is_Add else e


def _bound(e: Any) -> tuple[Any, Any] | None:
    """Return the number and the other operand of a maximum or minimum of two."""
    numbers = [a for a in e.args if a.is_number]
    others = [a for a in e.args if not a.is_number]
    return (numbers[0], others[0]) if len(numbers) == len(others) == 1 else None


def _step(e: Any) -> Any:
    """Drop a bound that the step does not reach: ``Heaviside(1 - Max(-1, x))``."""
    inside = e.args[0]
    for extreme in inside.atoms(sp.Max, sp.Min):
        pair, slope = _bound(extreme), inside.coeff(extreme)
        rest = sp.expand(inside - slope * extreme)
        if pair is None or slope not in (1, -1) or not rest.is_number:
            continue
        end = -rest / slope  # where the step is
        beyond = end - pair[0] if isinstance(extreme, sp.Max) else pair[0] - end
        if beyond.is_positive:
            return _step(sp.Heaviside(inside.xreplace({extreme: pair[1]})))
    return e


def _product(e: Any) -> Any:
    """Use in each factor what the steps among the factors say."""
    for step in [f for f in e.args if isinstance(f.as_base_exp()[0], sp.Heaviside)]:
        above, rest = step.as_base_exp()[0].args[0], e / step
        if sp.Max(0, above) in rest.args or rest == sp.Max(0, above):
            return _product(rest) if rest.is_Mul else rest
        if swap := _decided(rest, above):
            return settled(step * rest.xreplace(swap))
        factors = rest.args if rest.is_Mul else (rest,)
        if above in factors or -above in factors:
            return settled(rest / above * sp.Max(0, above))
    return e


def _decided(e: Any, above: Any) -> dict[Any, Any]:
    """Return the extrema of two in a formula that are known where ``above`` is not below 0."""
    return {
        extreme: one if isinstance(extreme, sp.Max) else other
        for extreme in e.atoms(sp.Max, sp.Min)
        if len(extreme.args) == 2
        for one, other in (extreme.args, extreme.args[::-1])
        if sp.expand(one - other - above) == 0
    }


def _joined(e: Any) -> Any:
    """Join case distinctions that are 0 else: on the same condition, or on opposite ones."""
    pieces: list[Any] = []
    rest: list[Any] = []
    for term in e.args:
        plain = isinstance(term, sp.Piecewise) and len(term.args) == 2 and term.args[1] == (0, True)
        (pieces if plain else rest).append(term)
    found: list[tuple[Any, Any, Any]] = []  # value, condition, value otherwise
    for piece in pieces:
        value, condition = piece.args[0]
        for k, (first, known, other) in enumerate(found):
            if condition == known:
                found[k] = (first + value, known, other)
                break
            if other == 0 and _opposite(condition, known):
                found[k] = (first, known, value)
                break
        else:
            found.append((value, condition, sp.S.Zero))
    if len(found) == len(pieces):
        return e
    return sp.Add(*rest, *(cases((v, c), (w, True)) for v, c, w in found))


def _nested(e: Any) -> Any:
    """Join a distinction inside of another one, if both are the same elsewhere."""
    if len(e.args) == 2 and e.args[1].cond == sp.true:
        (value, condition), (elsewhere, _) = e.args
        if isinstance(value, sp.Piecewise) and len(value.args) == 2:
            (inner, more), (otherwise, always) = value.args
            if otherwise == elsewhere and always == sp.true:
                return cases((inner, sp.And(condition, more)), (elsewhere, True))
    return e


def _opposite(x: Any, y: Any) -> bool:
    """Tell whether exactly one of two conditions holds."""
    gaps = gap_of(x), gap_of(y)
    if None not in gaps:
        return bool(sp.expand(gaps[0] + gaps[1] + 1) == 0)
    if isinstance(x, sp.Eq) and isinstance(y, sp.Eq) and x.lhs == y.lhs:  # even and odd
        return isinstance(x.lhs, sp.Mod) and x.lhs.args[1] == 2 and x.rhs != y.rhs
    return bool(sp.Not(x) == y)

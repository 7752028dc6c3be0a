"""Sums in index notation, carried out where that is simple.

The derivative by one element picks one term of a sum:
``Sum(cos(a[k])*KroneckerDelta(i, k), (k, 0, n - 1))`` is ``cos(a[i])``, since ``i`` is an
index of ``a``. Where the range does not cover every index the term is kept on a condition.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import sympy as sp

from ._binders import Sum, bound, cases
from ._cases import Ranges, at_least_zero, branches, gap_of, never_negative


def resolve(expression: Any, ranges: Ranges) -> Any:
    """Return ``expression`` with sums over deltas carried out where that is simple.

    Parameters
    ----------
    expression:
        A derivative in index notation: linear in each delta.
    ranges:
        First and last value of the free indices.
    """
    if not expression.has(sp.Sum, sp.Piecewise, sp.Integral):
        return expression
    if isinstance(expression, sp.Sum):
        bound = {k: (low, high) for k, low, high in expression.limits}
        body = resolve(expression.function, {**ranges, **bound})
        return _summed(body, list(expression.limits), ranges)
    if isinstance(expression, sp.Piecewise):
        made = _as_delta(branches(expression, ranges))
        if not isinstance(made, sp.Piecewise):
            return resolve(made, ranges)
        return cases(*((resolve(v, ranges), c) for v, c in made.args))
    if isinstance(expression, sp.Integral):
        return _integrated(resolve(expression.function, ranges), expression.limits)
    return expression.func(*(
        resolve(a, ranges) if isinstance(a, sp.Basic) else a for a in expression.args
    ))  # fmt: skip


def _integrated(body: Any, limits: Any) -> Any:
    """Return an integral, terms of it that pick an element apart: the delta is a factor of it."""
    picked = [t for t in sp.Add.make_args(body) if t.has(sp.KroneckerDelta)]
    total = sp.S.Zero
    for term in (*picked, body - sp.Add(*picked)):
        factor, rest = term.as_independent(*(k for k, *_ in limits), as_Add=False)
        ends = any(end.has(k) for k, *_ in limits for _, *both in limits for end in both)
        if ends or not factor.has(sp.KroneckerDelta):
            factor, rest = sp.S.One, term
        total += factor * bound(sp.Integral, rest, limits) if term != 0 else 0
    return total


def _as_delta(e: Any) -> Any:
    """Write a value where two indices are equal, else 0, with a delta."""
    if isinstance(e, sp.Piecewise) and len(e.args) == 2 and e.args[1] == (0, True):
        value, condition = e.args[0]
        if (
            isinstance(condition, sp.Eq)
            and not condition.has(sp.Indexed, sp.Mod)
            and all(s.is_integer for s in condition.free_symbols)
        ):
            return value * sp.KroneckerDelta(*condition.args)
    return e


#: Sums of up to so many terms are written out, where each term is a case of its own.
MOST = 12


def _written_out(body: Any, limits: list[Any], ranges: Ranges) -> Any:
    """Return the terms of a short sum whose body distinguishes the values of its indices."""
    bound = [k for k, *_ in limits]
    ends = [end for _, *both in limits for end in both]
    cases = [c for p in body.atoms(sp.Piecewise) for c in p.atoms(sp.Eq)]
    if not all(end.is_Integer for end in ends) or not any(
        c.lhs in bound and c.rhs.is_Integer for c in cases
    ):
        return None
    spans = [range(int(low), int(high) + 1) for _, low, high in limits]
    if math.prod(map(len, spans)) > MOST:
        return None
    terms = [body.subs(dict(zip(bound, at, strict=True))) for at in itertools.product(*spans)]
    return sp.Add(*(resolve(t, ranges) for t in terms))


def _summed(body: Any, limits: list[Any], ranges: Ranges) -> Any:
    """Sum over the bound indices one by one, the innermost first."""
    written = _written_out(body, limits, ranges)
    if written is not None:
        return written
    for position, (k, low, high) in enumerate(limits):
        others = limits[:position] + limits[position + 1 :]
        known = {**ranges, **{i: (a, b) for i, a, b in others}}
        if any(end.has(k) for _, *ends in others for end in ends):
            continue
        pair = _rows_and_columns(body, k, low, high)
        if pair is not None:
            return _summed(pair[0], [*pair[1], *others], ranges)
        for delta in sorted(_deltas_of(body, k), key=sp.default_sort_key):
            solved = _solved(delta, k)
            if solved is None:
                continue
            place, step = solved
            picked, left = _split_at(body, delta)
            picked = picked.subs(k, place)
            inside = within(place, low, high, known, step)
            if inside != sp.true:
                picked = cases((picked, inside), (0, True))
            rest = _summed(left, limits, ranges) if left != 0 else sp.Integer(0)
            return _summed(resolve(picked, known), others, ranges) + rest
    return folded(*_narrowed(body, limits, ranges))


def _split_at(body: Any, delta: Any) -> tuple[Any, Any]:
    """Return ``a`` and ``b`` of a body that is ``a*delta + b``, as ``delta`` is 0 or 1."""
    mark = sp.Dummy("delta", real=True)
    marked = body.xreplace({delta: mark})
    factor, left = marked.diff(mark), marked.xreplace({mark: sp.S.Zero})
    if factor.has(mark):  # it is not linear
        factor = marked.xreplace({mark: sp.S.One}) - left
    return factor, left


def _narrowed(body: Any, limits: list[Any], ranges: Ranges) -> tuple[Any, list[Any]]:
    """Sum from the first or to the last index at which a body that is else 0 is not.

    ``Sum(Piecewise((f, i <= k), (0, True)), (k, 0, n - 1))`` is ``Sum(f, (k, i, n - 1))``.
    """
    if len(limits) != 1 or not body.has(sp.Piecewise):
        return body, limits
    [(k, low, high)] = limits
    factors = list(sp.Mul.make_args(body))
    for place, factor in enumerate(factors):
        if not isinstance(factor, sp.Piecewise) or len(factor.args) != 2:
            continue
        (value, condition), other = factor.args
        gap = gap_of(condition)
        if gap is None or other != (0, True):
            continue
        slope = gap.coeff(k, 1)
        if slope not in (1, -1):
            continue
        end = sp.expand(k - gap / slope)
        first, last = (end, high) if slope == 1 else (low, end)
        # Inside of the range, and at most empty: a sum that runs backwards is another one.
        gaps = (end - low if slope == 1 else high - end, last - first + 1)
        if not end.has(k) and all(never_negative(g, ranges) for g in gaps):
            rest = sp.Mul(*factors[:place], value, *factors[place + 1 :])
            return _narrowed(rest, [(k, first, last)], ranges)
    return body, limits


def _deltas_of(body: Any, k: sp.Symbol) -> set[Any]:
    """The deltas that hold ``k`` and no index of a sum further inside."""
    inner = {i for s in body.atoms(sp.Sum, sp.Product) for i, *_ in s.limits}
    return {
        d for d in body.atoms(sp.KroneckerDelta)
        if d.has(k) and not d.free_symbols & inner
    }  # fmt: skip


def _solved(delta: Any, k: sp.Symbol) -> tuple[Any, int] | None:
    """Return the ``k`` for which the delta is 1, and what it is a whole number divided by."""
    gap = sp.expand(delta.args[0] - delta.args[1])
    slope = gap.coeff(k, 1)
    rest = gap - slope * k
    if not slope.is_Integer or slope == 0 or rest.has(k):
        return None
    return sp.expand(-rest / slope), abs(int(slope))


def within(place: Any, low: Any, high: Any, ranges: Ranges, step: int = 1) -> Any:
    """Return the condition ``low <= place <= high``, without what the ranges imply.

    Parameters
    ----------
    place:
        An index, a whole number divided by ``step``: it must be divisible.
    low, high:
        Ends of the range.
    ranges:
        First and last value of the indices in ``place``.
    step:
        As in ``x[::step]``.
    """
    divisible = _divisible(sp.expand(step * place), step)
    conditions = []
    for end in (place - low, high - place):
        # No whole number lies between floor(y) and y, nor between -1/step and 0.
        gap = sp.expand(step * sp.expand(end).replace(sp.floor, lambda y: y))
        if not never_negative(gap + step - 1, ranges):
            whole = all(c.is_Integer for c in gap.as_coefficients_dict().values())
            conditions.append(at_least_zero(gap if whole else step * end))
    return sp.And(divisible, *conditions)


def _divisible(number: Any, step: int) -> Any:
    """Return the condition that a whole number is a multiple of ``step``."""
    if step == 1:
        return sp.true
    rest, index = number.as_coeff_Add()
    if index.is_Mul:  # -i is a multiple where i is
        index, rest = -index, -rest
    return sp.Eq(sp.Mod(index, step, evaluate=False), sp.Mod(-rest, step))


def _rows_and_columns(body: Any, k: sp.Symbol, low: Any, high: Any) -> Any:
    """Split a sum over a flattened array: ``floor(k/m)`` is its row, ``Mod(k, m)`` its column."""
    for column in sorted(body.atoms(sp.Mod), key=sp.default_sort_key):
        if column.args[0] != k or low != 0:
            continue
        width = column.args[1]
        height = sp.cancel((high + 1) / width)
        i, j = (sp.Dummy(s, integer=True, nonnegative=True) for s in "ij")
        split = body.xreplace({column: j, sp.floor(k / width): i})
        if height.is_integer and not split.has(k):
            return split, [(j, sp.Integer(0), width - 1), (i, sp.Integer(0), height - 1)]
    return None


def folded(body: Any, limits: list[Any]) -> Any:
    """Sum what does not depend on the indices: constants come out, ``Sum(1)`` is a count."""
    if body == 0:
        return sp.Integer(0)
    outside = sp.Integer(1)
    for k, low, high in list(limits):
        others = [x for x in limits if x[0] != k]
        if not body.has(k) and not any(end.has(k) for _, *ends in others for end in ends):
            limits = others
            outside *= high - low + 1
    if not limits:
        return outside * body
    bound = [k for k, _, _ in limits]
    constant, inner = body.as_independent(*bound, as_Add=False)
    if inner.is_Add:
        counted = [t for t in inner.args if not t.has(*bound)]
        if counted:
            left = sp.Add(*(t for t in inner.args if t.has(*bound)))
            total = folded(sp.Add(*counted), limits) + folded(left, limits)
            return outside * constant * total
    return outside * constant * Sum(inner, *limits)

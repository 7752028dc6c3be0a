"""Sums over Kronecker deltas: the derivative by one element picks one term of a sum.

``Sum(cos(a[k])*KroneckerDelta(i, k), (k, 0, n - 1))`` is ``cos(a[i])``, since ``i`` is an
index of ``a``. Where the range does not cover every index the term is kept on a condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

#: For each index symbol its first and last value.
Ranges = Mapping[sp.Symbol, tuple[Any, Any]]


def resolve(expression: Any, ranges: Ranges) -> Any:
    """Return ``expression`` with sums over deltas carried out where that is simple.

    Parameters
    ----------
    expression:
        A derivative in index notation: linear in each delta.
    ranges:
        First and last value of the free indices.
    """
    if not expression.has(sp.KroneckerDelta, sp.Sum):
        return expression
    if isinstance(expression, sp.Sum):
        bound = {k: (low, high) for k, low, high in expression.limits}
        body = resolve(expression.function, {**ranges, **bound})
        return _summed(body, list(expression.limits), ranges)
    if not expression.args:
        return expression
    return expression.func(*(
        resolve(a, ranges) if isinstance(a, sp.Basic) else a for a in expression.args
    ))  # fmt: skip


def _summed(body: Any, limits: list[Any], ranges: Ranges) -> Any:
    """Sum over the bound indices one by one, the innermost first."""
    for position, (k, low, high) in enumerate(limits):
        others = limits[:position] + limits[position + 1 :]
        known = {**ranges, **{i: (a, b) for i, a, b in others}}
        if any(end.has(k) for _, *ends in others for end in ends):
            continue
        for delta in sorted(_deltas_of(body, k), key=sp.default_sort_key):
            place = _solved(delta, k)
            if place is None:
                continue
            mark = sp.Dummy("delta", real=True)
            marked = body.xreplace({delta: mark})
            picked = marked.diff(mark).subs(k, place)  # linear in the delta
            inside = within(place, low, high, known)
            if inside != sp.true:
                picked = sp.Piecewise((picked, inside), (0, True))
            left = marked.xreplace({mark: sp.Integer(0)})
            rest = _summed(left, limits, ranges) if left != 0 else sp.Integer(0)
            return _summed(picked, others, ranges) + rest
    return folded(body, limits)


def _deltas_of(body: Any, k: sp.Symbol) -> set[Any]:
    """The deltas that hold ``k`` and no index of a sum further inside."""
    inner = {i for s in body.atoms(sp.Sum, sp.Product) for i, *_ in s.limits}
    return {
        d for d in body.atoms(sp.KroneckerDelta)
        if d.has(k) and not d.free_symbols & inner
    }  # fmt: skip


def _solved(delta: Any, k: sp.Symbol) -> Any:
    """Return the ``k`` for which the delta is 1, if it is a whole number by its form."""
    gap = sp.expand(delta.args[0] - delta.args[1])
    slope = gap.coeff(k, 1)
    rest = gap - slope * k
    if slope not in (1, -1) or rest.has(k):
        return None
    return -rest / slope


def within(place: Any, low: Any, high: Any, ranges: Ranges) -> Any:
    """Return the condition ``low <= place <= high``, without what the ranges imply."""
    conditions = []
    if not never_negative(place - low, ranges):
        conditions.append(_at_least(place, low))
    if not never_negative(high - place, ranges):
        conditions.append(_at_least(high, place))
    return sp.And(*conditions)


def _at_least(x: Any, y: Any) -> Any:
    """Return ``x >= y`` with the index alone on its side, if it is one index."""
    gap = sp.expand(x - y)
    for index in sorted(gap.free_symbols, key=lambda s: str(s)):
        if index.is_nonnegative and not index.is_positive and gap.coeff(index) in (1, -1):
            rest = gap - gap.coeff(index) * index
            return index >= -rest if gap.coeff(index) == 1 else index <= rest
    return x >= y


def never_negative(gap: Any, ranges: Ranges) -> bool:
    """Tell whether a linear expression is at least 0 for all indices in their ranges."""
    gap = sp.expand(gap)
    for _ in range(len(ranges) + 1):
        inside = [i for i in ranges if gap.has(i)]
        if not inside:
            break
        for index in inside:
            slope = gap.coeff(index, 1)
            if not slope.is_number:
                return False
            low, high = ranges[index]
            gap = sp.expand(gap.subs(index, low if slope > 0 else high))
    return bool(gap.is_nonnegative)


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
        parts = [folded(t, limits) if not t.has(*bound) else t for t in inner.args]
        counted = [p for p, t in zip(parts, inner.args, strict=True) if not t.has(*bound)]
        inner = sp.Add(*(t for t in inner.args if t.has(*bound)))
        if counted:
            return outside * constant * (sp.Add(*counted) + folded(inner, limits))
    return outside * constant * sp.Sum(inner, *limits)

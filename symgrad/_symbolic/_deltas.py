"""Sums in index notation, carried out where that is simple.

The derivative by one element picks one term of a sum:
``Sum(cos(a[k])*KroneckerDelta(i, k), (k, 0, n - 1))`` is ``cos(a[i])``, since ``i`` is an
index of ``a``. Where the range does not cover every index the term is kept on a condition.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from ._binders import Sum
from ._conditions import Ranges, at_least_zero, branches, never_negative


def resolve(expression: Any, ranges: Ranges) -> Any:
    """Return ``expression`` with sums over deltas carried out where that is simple.

    Parameters
    ----------
    expression:
        A derivative in index notation: linear in each delta.
    ranges:
        First and last value of the free indices.
    """
    if not expression.has(sp.Sum, sp.Piecewise):
        return expression
    if isinstance(expression, sp.Sum):
        bound = {k: (low, high) for k, low, high in expression.limits}
        body = resolve(expression.function, {**ranges, **bound})
        return _summed(body, list(expression.limits), ranges)
    if isinstance(expression, sp.Piecewise):
        made = _as_delta(branches(expression, ranges))
        if not isinstance(made, sp.Piecewise):
            return resolve(made, ranges)
        return sp.Piecewise(*((resolve(v, ranges), c) for v, c in made.args))
    return expression.func(*(
        resolve(a, ranges) if isinstance(a, sp.Basic) else a for a in expression.args
    ))  # fmt: skip


def _as_delta(e: Any) -> Any:
    """Write a value where two indices are equal, else 0, with a delta."""
    if isinstance(e, sp.Piecewise) and len(e.args) == 2 and e.args[1] == (0, True):
        value, condition = e.args[0]
        if (
            isinstance(condition, sp.Eq)
            and not condition.has(sp.Indexed)
            and all(s.is_integer for s in condition.free_symbols)
        ):
            return value * sp.KroneckerDelta(*condition.args)
    return e


def _summed(body: Any, limits: list[Any], ranges: Ranges) -> Any:
    """Sum over the bound indices one by one, the innermost first."""
    for position, (k, low, high) in enumerate(limits):
        others = limits[:position] + limits[position + 1 :]
        known = {**ranges, **{i: (a, b) for i, a, b in others}}
        if any(end.has(k) for _, *ends in others for end in ends):
            continue
        pair = _rows_and_columns(body, k, low, high)
        if pair is not None:
            return _summed(pair[0], [*pair[1], *others], ranges)
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
            return _summed(resolve(picked, known), others, ranges) + rest
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
    gaps = [gap for gap in (place - low, high - place) if not never_negative(gap, ranges)]
    return sp.And(*map(at_least_zero, gaps))


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

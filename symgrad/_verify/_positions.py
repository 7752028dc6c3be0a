"""Index arithmetic: SymPy's index expressions and conditions as functions of integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from .._shapes import as_expr
from ..errors import UnsupportedError

Environment = dict[sp.Symbol, int]
Whole = Callable[[Environment], Any]


def whole_number(e: Any) -> Whole:
    """Return an index expression as a function of the values of its symbols."""
    e = as_expr(e)
    if e.is_Integer:
        number = int(e)
        return lambda env: number
    if e.is_Symbol:
        return lambda env: env[e]
    if isinstance(e, sp.floor):
        top, bottom = (whole_number(part) for part in e.args[0].as_numer_denom())
        return lambda env: top(env) // bottom(env)
    args = [whole_number(a) for a in e.args]
    if isinstance(e, sp.Mod):
        x, y = args
        return lambda env: x(env) % y(env)
    if e.is_Add:
        return lambda env: sum(a(env) for a in args)
    if e.is_Mul:

        def multiply(env: Environment) -> Any:
            total = 1
            for a in args:
                total *= a(env)
            return total

        return multiply
    if isinstance(e, (sp.Max, sp.Min)):
        pick = max if isinstance(e, sp.Max) else min
        return lambda env: pick(a(env) for a in args)
    raise UnsupportedError(f"the index expression {e} cannot be evaluated")


_RELATIONS: Mapping[Any, Callable[[Any, Any], bool]] = {
    sp.Eq: lambda x, y: x == y,
    sp.Ne: lambda x, y: x != y,
    sp.Lt: lambda x, y: x < y,
    sp.Le: lambda x, y: x <= y,
    sp.Gt: lambda x, y: x > y,
    sp.Ge: lambda x, y: x >= y,
}


def condition(e: Any) -> Whole:
    """Return a condition on indices as a function of the values of its symbols."""
    if e in (sp.true, sp.false) or isinstance(e, bool):
        truth = bool(e)
        return lambda env: truth
    relation = _RELATIONS.get(e.func)
    if relation is not None:
        # Both sides over one denominator: i/2 <= 3/2 needs no fractions.
        top, bottom = (e.lhs - e.rhs).as_numer_denom()
        if bottom.is_negative or not bottom.is_Integer:
            raise UnsupportedError(f"the condition {e} cannot be evaluated")
        gap = whole_number(top)
        return lambda env: relation(gap(env), 0)
    args = [condition(a) for a in e.args]
    if isinstance(e, sp.And):
        return lambda env: all(a(env) for a in args)
    if isinstance(e, sp.Or):
        return lambda env: any(a(env) for a in args)
    if isinstance(e, sp.Not):
        return lambda env: not args[0](env)
    raise UnsupportedError(f"the condition {e} cannot be evaluated")

"""Steps, maxima and case distinctions that say the same twice.

``Heaviside(x)*Max(0, x)`` is ``Max(0, x)``: where the step is not 1, the maximum is 0. Every law
here holds for all real numbers, at the steps and ties, too.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from ._binders import cases, rebuilt
from ._conditions import gap_of


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
        swap = {}
        for extreme in rest.atoms(sp.Max, sp.Min):
            if len(extreme.args) != 2:
                continue
            for one, other in (extreme.args, extreme.args[::-1]):
                # Where the step is not 0, `one` is not below `other`.
                if sp.expand(one - other - above) == 0:
                    swap[extreme] = one if isinstance(extreme, sp.Max) else other
        if swap:
            return settled(step * rest.xreplace(swap))
        for factor in rest.args if rest.is_Mul else (rest,):
            if factor in (above, -above):
                return settled(rest / above * sp.Max(0, above))
    return e


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

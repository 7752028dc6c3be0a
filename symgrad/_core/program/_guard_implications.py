"""What a program's guards say of its sizes: which further guards follow from them.

A program that is read from a file was not traced here. Checking its steps again finds the guards
that they rely on; those which the file's own do not imply become guards of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy as sp

from ..base.sizes import as_expr

#: More guards than this are only compared as they are written.
MOST = 64
#: Kernels take no smaller sizes, for which there are traces of their own; to NumPy, which knows
#: how long its arrays are, guards of this kind are nothing.
LEAST = 2


def unknown(
    needed: Mapping[sp.Basic, bool], guards: Mapping[sp.Basic, bool]
) -> dict[sp.Basic, bool]:
    """Return those guards of ``needed`` that do not follow from ``guards``."""
    rest = {g: truth for g, truth in needed.items() if guards.get(g) is not truth}
    if not rest:
        return {}
    known = Known(guards)
    return {g: truth for g, truth in rest.items() if not known.implies(g, truth)}


class Known:
    """Linear facts about sizes."""

    def __init__(self, guards: Mapping[sp.Basic, bool]) -> None:
        few = list(guards.items())[:MOST]
        self.equal: dict[Any, Any] = {}
        for relation, truth in few:
            if isinstance(relation, sp.Eq) and truth:
                self._equate(*map(self._replaced, relation.args))
        self.from_0 = [_primitive(self._replaced(e)) for g, t in few for e in _from_0(g, t)]
        apart = {self._replaced(_gap(g)) for g, t in few
                 if isinstance(g, sp.Ne if t else sp.Eq)}  # fmt: skip
        symbols = {s for e in [*self.from_0, *apart] for s in e.free_symbols}
        self.least = {s: self._bound(s, apart) for s in symbols}

    def _equate(self, a: Any, b: Any) -> None:
        if isinstance(a, sp.Mod) and b.is_Integer:
            self.equal[sp.floor(a.args[0] / a.args[1])] = (a.args[0] - b) / a.args[1]
            return
        if b.is_Symbol and not a.has(b):
            a, b = b, a
        if a.is_Symbol and not b.has(a):
            self.equal = {s: e.xreplace({a: b}) for s, e in self.equal.items()} | {a: b}

    def _replaced(self, e: Any) -> Any:
        return sp.expand(as_expr(e).xreplace(self.equal))

    def _bound(self, symbol: Any, apart: set[Any]) -> int:
        """Return the least that a size can be."""
        least = LEAST
        for e in self.from_0:
            if (e - symbol).is_Integer:
                least = max(least, -int(e - symbol))
        while symbol - least in apart or least - symbol in apart:
            least += 1
        return least

    def implies(self, relation: Any, truth: bool) -> bool:
        """Tell whether a guard is seen to follow."""
        if isinstance(relation, sp.Ne if truth else sp.Eq):
            gap = _gap(relation)
            return self.from_zero(gap - 1) or self.from_zero(-gap - 1)
        claims = list(_from_0(relation, truth))
        return bool(claims) and all(map(self.from_zero, claims))

    def from_zero(self, claim: Any) -> bool:
        """Tell whether a size is seen to be no less than zero."""
        e = _primitive(self._replaced(claim))
        return any(self._surely(e - known) for known in [sp.Integer(0), *self.from_0])

    def _surely(self, e: Any) -> bool:
        """Tell whether an expression is 0 at least, by the least that its sizes can be."""
        above = {s: sp.Dummy(integer=True, nonnegative=True) + self.least.get(s, LEAST)
                 for s in e.free_symbols}  # fmt: skip
        ways = (e, _without_floors(e))
        return any(sp.expand(way.xreplace(above)).is_nonnegative for way in ways)


def _primitive(e: Any) -> Any:
    """Return an expression without a common factor of its coefficients: its sign is the same."""
    return e.primitive()[1]


def _without_floors(e: Any) -> Any:
    """Return an expression that is nowhere greater, by ``x - 1 < floor(x) <= x``."""
    for f in e.atoms(sp.floor):
        factor = e.coeff(f)
        if factor.is_Rational:
            e = sp.expand(e - factor * f + factor * (f.args[0] - (1 if factor > 0 else 0)))
    return e


def _gap(relation: Any) -> Any:
    left, right = map(as_expr, relation.args)  # that is not evaluated, it may hold an int
    return left - right


def _from_0(relation: Any, truth: bool) -> Iterator[Any]:
    """Yield expressions that are 0 at least where a guard holds, and only there."""
    gap = _gap(relation)
    kind = type(relation)
    if not truth:
        kind = {sp.Lt: sp.Ge, sp.Le: sp.Gt, sp.Gt: sp.Le, sp.Ge: sp.Lt,
                sp.Ne: sp.Eq}.get(kind, sp.Ne)  # fmt: skip
    if kind is sp.Eq:
        yield from (gap, -gap)
    elif kind in (sp.Ge, sp.Gt):
        yield gap - int(kind is sp.Gt)
    elif kind in (sp.Le, sp.Lt):
        yield -gap - int(kind is sp.Lt)

"""Parts of a formula and their names: what a name stands for, how large a part is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

Sizes = Mapping[sp.Symbol, Any]

#: What stands for the indices of a part while parts are compared.
PLACES = tuple(sp.Symbol(f"_{k}", integer=True, nonnegative=True) for k in range(2))


@dataclass(frozen=True)
class Named:
    """A part of a formula with a name of its own.

    Attributes
    ----------
    name:
        What stands for it.
    indices:
        The indices of ``formula``.
    sizes:
        How many values each of them takes.
    formula:
        What the name means.
    """

    name: str
    indices: tuple[sp.Symbol, ...]
    sizes: tuple[Any, ...]
    formula: Any

    def at(self, indices: Sequence[Any]) -> Any:
        """Return the symbol, or the element at ``indices``."""
        if not indices:
            return sp.Symbol(self.name, real=True)
        return sp.IndexedBase(self.name, real=True)[tuple(indices)]


def distinct(e: Any) -> list[Any]:
    """Return the parts of a formula once each, outer ones first.

    SymPy's traversals go through what is written a thousand times a thousand times.
    """
    found: dict[Any, None] = {}
    stack = [e]
    while stack:
        part = stack.pop()
        if part not in found:
            found[part] = None
            stack += reversed(part.args)
    return list(found)


def inner_first(e: Any) -> list[Any]:
    """Return the parts of a formula once each, each after its own parts."""
    found: dict[Any, None] = {}
    stack = [(e, False)]
    while stack:
        part, done = stack.pop()
        if done:
            found[part] = None
        elif part not in found:
            stack.append((part, True))
            stack += [(a, False) for a in part.args]
    return list(found)


def all_sizes(e: Any, sizes: Sizes) -> dict[sp.Symbol, Any]:
    """Sizes of free and bound indices; an index bound twice to different sizes has none."""
    known = dict(sizes)
    for total in (part for part in distinct(e) if isinstance(part, ExprWithLimits)):
        for k, low, high in total.limits:
            size = sp.expand(high + 1) if low == 0 else None
            known[k] = size if known.get(k, size) == size else None
    return known


def own_indices(e: Any, known: Mapping[sp.Symbol, Any]) -> list[sp.Symbol]:
    """The indices of a part, in the order of their letters: rows before columns."""
    return sorted((s for s in e.free_symbols if s in known), key=lambda s: s.name)


def operations(e: Any) -> int:
    """Return the operations of a formula; a sum or a case distinction counts as three more."""
    inside = outermost(e)  # as often as they are written
    own = sum(3 + sum(map(operations, _bodies(s))) for s in inside)
    return int(e.xreplace({s: sp.Dummy() for s in inside}).count_ops()) + own


def outermost(e: Any) -> list[Any]:
    """The sums and case distinctions of an expression that lie inside no other."""
    if isinstance(e, (ExprWithLimits, sp.Piecewise)):
        return [e]
    return [s for a in e.args for s in outermost(a)]


def _bodies(e: Any) -> list[Any]:
    if isinstance(e, ExprWithLimits):
        return [e.function]
    return [a for pair in e.args for a in pair.args if isinstance(a, sp.Basic)]

"""Names: of parts of a formula, with what they stand for and their sizes, and of indices.

Free indices are named in order, bound ones by how deeply they are nested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

from ._binders import bound
from ._bound_functions import OfMatrix

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
            whole = not isinstance(total, sp.Integral)
            size = sp.expand(high + 1) if whole and low == 0 else None
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


#: Letters for indices, in the order in which they are used.
LETTERS = tuple("ijklpqrstuvw")


def index_symbols(count: int, taken: Iterable[str]) -> list[sp.Symbol]:
    """Return index symbols ``i, j, ...`` whose names are not taken."""
    used = set(taken)
    names = (f"{letter}{k or ''}" for k in range(10**6) for letter in LETTERS)
    free = (n for n in names if n not in used)
    return [sp.Symbol(next(free), integer=True, nonnegative=True) for _ in range(count)]


def rename_bound(expression: Any, taken: Iterable[str]) -> Any:
    """Name bound indices by nesting depth, so that equal sums look and are equal."""
    if not isinstance(expression, sp.Basic) or not expression.has(ExprWithLimits):
        return expression
    depth = max(_nesting(e) for e in expression.atoms(ExprWithLimits))
    return _Renaming(index_symbols(depth, taken), frozenset(taken)).of(expression)


def _nesting(e: Any) -> int:
    own = len(e.limits) if isinstance(e, ExprWithLimits) else 0
    return own + max((_nesting(a) for a in e.args), default=0)


class _Renaming:
    """Names for the indices that are bound inside of given ones.

    Parameters
    ----------
    letters:
        The names, by depth.
    taken:
        Names that mean something else: a variable that is integrated over keeps its own unless it
        is one of them.
    depth:
        How many indices are bound outside.
    names:
        Those that mean something here: an inner index may hide an outer one.
    """

    def __init__(
        self,
        letters: Sequence[sp.Symbol],
        taken: frozenset[str] = frozenset(),
        depth: int = 0,
        names: Mapping[Any, Any] = MappingProxyType({}),
    ) -> None:
        self.letters, self.taken, self.depth, self.names = letters, taken, depth, names
        self.known: dict[Any, Any] = {}  # a part may occur often: it is built anew only once

    def of(self, e: Any) -> Any:
        """Return an expression with the new names."""
        if e not in self.known:
            self.known[e] = self._bound(e) if isinstance(e, ExprWithLimits) else self._plain(e)
        return self.known[e]

    def _plain(self, e: Any) -> Any:
        if not e.args:
            return self.names.get(e, e)
        args = tuple(map(self.of, e.args))
        return e if args == e.args else e.func(*args)

    def _bound(self, e: Any) -> Any:
        if isinstance(e, sp.Integral):
            return self._integral(e)
        # The last limit is the outermost sum: it gets the first letter. Of a matrix the row.
        ordered = e.limits if isinstance(e, OfMatrix) else reversed(e.limits)
        own = {k: self.letters[self.depth + p] for p, (k, *_) in enumerate(ordered)}
        names = {**self.names, **own}
        inner = _Renaming(self.letters, self.taken, self.depth + len(own), names)
        limits = [(own[k], *map(inner.of, ends)) for k, *ends in e.limits]
        return e.func(inner.of(e.function), *limits)

    def _integral(self, e: Any) -> Any:
        used = self.taken | {s.name for s in (*self.letters, *e.free_symbols)}
        names, taken, limits = self.names, self.taken, []
        for k, *ends in reversed(e.limits):
            inner = _Renaming(self.letters, taken, self.depth, names)
            numbered = (f"{k.name}{p or ''}" for p in count())
            name = next(n for n in numbered if n not in used | taken)
            own = sp.Symbol(name, **k.assumptions0)
            limits.append((own, *map(inner.of, ends)))
            names, taken = {**names, k: own}, taken | {name}
        body = _Renaming(self.letters, taken, self.depth, names).of(e.function)
        return bound(type(e), body, limits[::-1])


def plain_positions(e: Any) -> Any:
    """Write ``x[k[i]]`` for ``x[Mod(k[i], n)]``, as NumPy does.

    Examples
    --------
    >>> import sympy as sp
    >>> x, k = sp.IndexedBase("x"), sp.IndexedBase("k", integer=True)
    >>> i, n = sp.symbols("i n", integer=True)
    >>> plain_positions(sp.KroneckerDelta(i, sp.Mod(k[i], n)) * x[i])
    KroneckerDelta(i, k[i])*x[i]
    """
    return e.xreplace({m: m.args[0] for m in positions(e)}) if isinstance(e, sp.Basic) else e


def positions(e: Any) -> set[Any]:
    """Return the positions in arrays of numbers that are taken from the end if below 0."""
    return {m for m in e.atoms(sp.Mod) if isinstance(m.args[0], sp.Indexed)}

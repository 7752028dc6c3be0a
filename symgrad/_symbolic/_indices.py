"""Names of indices: free ones in order, bound ones by how deeply they are nested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

from ._inverse import OfMatrix

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
    return _renamed(expression, index_symbols(depth, taken), 0)


def _nesting(e: Any) -> int:
    own = len(e.limits) if isinstance(e, ExprWithLimits) else 0
    return own + max((_nesting(a) for a in e.args), default=0)


def _renamed(e: Any, letters: Sequence[sp.Symbol], depth: int) -> Any:
    if isinstance(e, ExprWithLimits):
        # The last limit is the outermost sum: it gets the first letter. Of a matrix the row.
        ordered = e.limits if isinstance(e, OfMatrix) else reversed(e.limits)
        bound = [k for k, *_ in ordered]
        names = {k: letters[depth + p] for p, k in enumerate(bound)}
        # Two steps: the letters may be bound inside under another meaning.
        marks = {k: sp.Dummy(k.name, integer=True, nonnegative=True) for k in names}
        deeper = depth + len(names)
        body = _renamed(e.function.xreplace(marks), letters, deeper)
        limits = [
            (marks[k], *(_renamed(end.xreplace(marks), letters, deeper) for end in ends))
            for k, *ends in e.limits
        ]
        return e.func(body, *limits).xreplace({marks[k]: names[k] for k in names})
    if not e.args:
        return e
    return e.func(*(_renamed(a, letters, depth) for a in e.args))

"""Making a formula readable: names of bound indices, and the shorter of equal forms."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

#: Letters for indices, in the order in which they are used.
LETTERS = tuple("ijklpqrstuvw")

#: Seconds that simplification may take before it is left at what was found.
PATIENCE = 2.0


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
    letters = index_symbols(depth, taken)
    return _renamed(expression, letters, 0)


def _nesting(e: Any) -> int:
    own = len(e.limits) if isinstance(e, ExprWithLimits) else 0
    return own + max((_nesting(a) for a in e.args), default=0)


def _renamed(e: Any, letters: Sequence[sp.Symbol], depth: int) -> Any:
    if isinstance(e, ExprWithLimits):
        names = {k: letters[depth + p] for p, (k, *_) in enumerate(e.limits)}
        inner = depth + len(names)
        # Two steps: the letters may be bound inside under another meaning.
        marks = {k: sp.Dummy(k.name, integer=True, nonnegative=True) for k in names}
        body = _renamed(e.function.xreplace(marks), letters, inner)
        limits = [
            (marks[k], *(_renamed(end.xreplace(marks), letters, inner) for end in ends))
            for k, *ends in e.limits
        ]
        return e.func(body, *limits).xreplace({marks[k]: names[k] for k in names})
    if not e.args:
        return e
    return e.func(*(_renamed(a, letters, depth) for a in e.args))


# ---------------------------------------------------------------- the shorter form


def cost(expression: Any) -> tuple[int, int]:
    """Return how hard a formula is to read: its operations, then its length in characters.

    Operations are SymPy's ``count_ops``: each sign, operator and function call counts once.
    """
    return int(expression.count_ops()), len(sp.sstr(expression))


#: Simplifications, each with the largest operation count it is tried on. The limits keep a
#: single step well below a second; the clock is read between steps.
_STEPS = (
    (sp.factor_terms, 400),
    (sp.powsimp, 300),
    (sp.cancel, 80),
    (sp.factor, 80),
    (sp.trigsimp, 50),
    (sp.simplify, 40),
)


def simplified(expression: Any, patience: float = PATIENCE) -> Any:
    """Return the cheapest of the forms that SymPy's simplifications reach.

    Parameters
    ----------
    expression:
        A SymPy expression; sums, indexed symbols and branches are left as they are.
    patience:
        Seconds after which no further step is begun.
    """
    deadline = time.monotonic() + patience
    best, least = expression, cost(expression)
    tried = {expression}
    queue = [expression]
    while queue:
        start = queue.pop(0)
        for step, largest in _STEPS:
            if time.monotonic() > deadline:
                return best
            if start.count_ops() > largest or not _may(step, start):
                continue
            found = _attempt(step, start)
            if found in tried or found.has(sp.nan, sp.zoo):
                continue
            tried.add(found)
            price = cost(found)
            if price < least:
                best, least = found, price
                queue.append(found)
    return best


def _may(step: Any, expression: Any) -> bool:
    """Tell whether a step leaves index notation alone."""
    if expression.has(sp.Piecewise, ExprWithLimits, sp.KroneckerDelta):
        return step in (sp.factor_terms, sp.powsimp)
    if step is sp.trigsimp:
        return bool(expression.has(sp.functions.elementary.trigonometric.TrigonometricFunction))
    return True


def _attempt(step: Any, expression: Any) -> Any:
    try:
        return step(expression)
    except (NotImplementedError, sp.PolynomialError, ValueError, TypeError, AttributeError):
        return expression

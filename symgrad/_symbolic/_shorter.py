"""Of equal formulas the one that is easiest to read.

Each level of a formula (a sum's body, a branch) is simplified on its own, with what lies
deeper as plain symbols: SymPy's simplifications are made for such expressions, and index
notation stays as it is.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from ._binders import Sum
from ._inverse import Entry
from ._patience import SECONDS, Patience
from ._signs import without_signs


def cost(expression: Any) -> tuple[int, int]:
    """Return how hard a formula is to read: its operations, then its length in characters.

    Operations are SymPy's ``count_ops``: each sign, operator and function call counts once.
    """
    return int(expression.count_ops()), len(sp.sstr(expression))


#: Formulas of more operations are left as they are.
TRIED = 400

#: Simplifications, each with the largest operation count it is tried on. The limits keep most
#: single steps below a second; the others are stopped at the deadline.
_STEPS = (
    (sp.factor_terms, TRIED),
    (sp.powsimp, 300),
    (sp.cancel, 80),
    (sp.factor, 80),
    (sp.trigsimp, 50),
    (sp.simplify, 40),
)


#: What SymPy brings in to be shorter, and people do not recognise: ``cosh(x)`` for
#: exponentials, ``sqrt(2)*sin(x + pi/4)`` for ``sin(x) + cos(x)``.
_FOREIGN = (HyperbolicFunction, sp.pi)


def simplified(expression: Any, patience: float | Patience = SECONDS) -> Any:
    """Return the cheapest of the forms that SymPy's simplifications reach.

    Parameters
    ----------
    expression:
        A SymPy expression, possibly in index notation.
    patience:
        Seconds after which what was found so far is returned, or a :class:`Patience` that
        several expressions share, which then knows whether it gave up.
    """
    if not isinstance(patience, Patience):
        patience = Patience(patience)
    return _level(expression, patience)


def _level(expression: Any, patience: Patience) -> Any:
    inner: dict[Any, Any] = {}
    plain = _shortest(_covered(expression, inner, patience), patience)
    whole = plain.xreplace(inner)
    joined = _joined_sums(whole, patience)
    return without_signs(joined if cost(joined) < cost(whole) else whole)


def _covered(e: Any, inner: dict[Any, Any], patience: Patience) -> Any:
    """Put symbols in the place of sums, branches, deltas and elements."""
    if isinstance(e, ExprWithLimits):
        body = e.function
        if isinstance(body, sp.Expr):
            e = e.func(_level(body, patience), *e.limits)
    elif isinstance(e, sp.Piecewise):
        e = sp.Piecewise(*((_level(v, patience), c) for v, c in e.args))
    elif not isinstance(e, (sp.Indexed, sp.KroneckerDelta, Entry)):
        if not e.args or not isinstance(e, sp.Expr):
            return e
        return e.func(*(_covered(a, inner, patience) for a in e.args))
    symbol = next((s for s, v in inner.items() if v == e), None)
    if symbol is None:
        # Named as what it stands for, so that lengths and the order of terms mean something.
        symbol = sp.Dummy(sp.sstr(e), real=True)
        inner[symbol] = e
    return symbol


def _shortest(expression: Any, patience: Patience) -> Any:
    best, least = expression, cost(expression)
    tried, queue = {expression}, [expression]
    while queue:
        start = queue.pop(0)
        operations = int(start.count_ops())
        for step, largest in _STEPS:
            if patience.over():
                return best
            if operations < 2 or operations > largest:
                continue
            if step is sp.trigsimp and not start.has(TrigonometricFunction):
                continue
            found = patience.attempt(partial(_attempt, step), start, start)
            if found in tried or found.has(sp.nan, sp.zoo):
                continue
            if any(found.has(c) and not expression.has(c) for c in _FOREIGN):
                continue
            tried.add(found)
            price = cost(found)
            if price < least:
                best, least = found, price
                queue.append(found)
    return best


def _attempt(step: Any, expression: Any) -> Any:
    try:
        return step(expression)
    except (NotImplementedError, sp.PolynomialError, ValueError, TypeError, AttributeError):
        return expression


def _joined_sums(expression: Any, patience: Patience) -> Any:
    """Join sums over the same range: ``Sum(a[k]) + Sum(b[k])`` is ``Sum(a[k] + b[k])``."""
    if not expression.is_Add:
        return expression
    groups: dict[Any, list[Any]] = {}
    rest = []
    for term in expression.args:
        factors = [f for f in sp.Mul.make_args(term) if isinstance(f, sp.Sum)]
        if len(factors) != 1:
            rest.append(term)
            continue
        scale = term / factors[0]
        groups.setdefault(factors[0].limits, []).append(scale * factors[0].function)
    for limits, bodies in groups.items():
        body = sp.Add(*bodies)
        rest.append(Sum(_level(body, patience) if len(bodies) > 1 else body, *limits))
    return sp.Add(*rest)

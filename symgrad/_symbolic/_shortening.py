"""Of equal formulas the one that is easiest to read.

Each level of a formula (a sum's body, a branch) is simplified on its own, with what lies
deeper as plain symbols: SymPy's simplifications are made for such expressions, and index
notation stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from .._parse import power_bits
from ._binders import Sum, cases, rebuilt
from ._bound_functions import Entry
from ._cases import settled
from ._forms import (
    as_in,
    by_parts,
    collected,
    common_factor,
    in_differences,
    one_way_round,
    without_signs,
)
from ._limits import SECONDS, Patience
from ._printing import text


def cost(expression: Any, known: Collection[type] | None = None) -> tuple[int, int, int, int]:
    """Return how hard a formula is to read: operations, functions, symbols, length as text.

    Operations are SymPy's ``count_ops``: each sign, operator and function call counts once.
    Among equals, ``1 - tanh(x)**2`` is before ``1/cosh(x)**2`` where there was no ``cosh`` yet
    (what is not among ``known`` counts once more), and ``k*x**(k - 1)`` with three symbols
    before ``k*x**k/x`` with four.
    """
    functions = expression.atoms(sp.Function)
    new = 0 if known is None else len({type(f) for f in functions} - set(known))
    return (
        int(expression.count_ops()), len(functions) + new, _symbols(expression),
        len(text(expression)),
    )  # fmt: skip


def _symbols(e: Any) -> int:
    """Count symbols as often as they are written; an element counts once."""
    if e.is_Symbol or isinstance(e, (sp.Indexed, sp.KroneckerDelta, Entry)):
        return 1
    return sum(map(_symbols, e.args))


Step = tuple[Callable[[Any], Any], int]

#: Formulas of more operations are left as they are.
TRIED = 400

#: Simplifications, each with the largest operation count it is tried on: quick ones, and those
#: that are tried when no quick one helps any more. The limits keep most single steps below a
#: second; the others are stopped at the deadline.
_QUICK: tuple[Step, ...] = (
    (sp.factor_terms, TRIED),
    (sp.powsimp, 300),
    (by_parts, 200),
    (in_differences, 120),
    (collected, 120),
    (sp.cancel, 80),
    (sp.factor, 80),
)
_SLOW: tuple[Step, ...] = ((sp.trigsimp, 50), (sp.simplify, 40))


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
    if patience.over():
        return expression
    expression = patience.attempt(_settled, expression, expression)
    found = _level(expression, patience)
    return patience.attempt(partial(as_in, original=expression), found, found)


def _settled(expression: Any) -> Any:
    return settled(one_way_round(expression))


def _level(expression: Any, patience: Patience) -> Any:
    if patience.over():
        return expression
    cover = _Cover(patience)
    known = {type(f) for f in expression.atoms(sp.Function)}
    plain = _shortest(cover.of(expression), known, patience)
    whole = plain.xreplace({s: e for e, s in cover.symbols.items()})
    joined = _joined_sums(whole, patience)
    better = joined != whole and cost(joined, known) < cost(whole, known)
    whole = joined if better else whole
    return patience.attempt(without_signs, whole, whole)


#: What is not simplified together with what is around it.
_APART = (ExprWithLimits, sp.Piecewise, sp.Indexed, sp.KroneckerDelta, Entry)

#: Powers of a higher degree are not either: to SymPy they are polynomials with a place in memory
#: for each coefficient, and ``(2*x + 2)**n`` has the number ``2**n`` in it.
DEGREE = 10_000

#: As good as infinite, for both.
LARGE = 1 << 60


def _degree(e: Any, known: dict[Any, float]) -> float:
    """Return the degree of a formula as a polynomial in its symbols and functions.

    Or the binary digits of the numbers that a power of one may come to, if these are more.
    """
    if e not in known:
        if isinstance(e, (sp.Pow, sp.exp)):
            base, exponent = e.as_base_exp()
            factors = [t.as_coeff_Mul()[0] for t in sp.Add.make_args(exponent)]
            times = max(abs(int(c.p)) if isinstance(c, sp.Rational) else 1 for c in factors)
            # A float has no more: sums of such numbers must stay quick.
            known[e] = min(times, LARGE) * max(_degree(base, known), 1.0)
            bits = power_bits(base)
            if bits:
                known[e] = max(known[e], bits * _taken_out_of(exponent))
        elif e.is_Mul:
            known[e] = sum(_degree(a, known) for a in e.args)
        elif e.is_Add:
            known[e] = max(_degree(a, known) for a in e.args)
        else:
            known[e] = 0.0 if e.is_Number else 1.0
    return known[e]


def _taken_out_of(exponent: Any) -> float:
    """Return how large a number may become a factor of an exponent, or a term, when rewritten.

    ``2**(10**(x + 9))`` may become ``(2**(10**9))**(10**x)``, with ``2**(10**9)`` written out.
    """
    found = 1.0
    if exponent.is_Rational:
        found = float(min(max(abs(int(exponent.p)) // int(exponent.q), 1), LARGE))
    elif exponent.is_Add:
        found = max(map(_taken_out_of, exponent.args))
    elif exponent.is_Mul:
        found = math.prod(map(_taken_out_of, exponent.args))
    elif exponent.is_Pow:
        base, power = exponent.args
        if power.is_Integer and power > 0:
            logarithm = min(int(power), LARGE) * math.log2(_taken_out_of(base))
        else:
            terms = [t for t in sp.Add.make_args(power) if t.is_Rational]
            logarithm = power_bits(base) * float(min(sum(map(abs, terms)), LARGE))
        found = 2.0 ** min(logarithm, math.log2(LARGE))
    return min(found, float(LARGE))


def large_powers(e: Any) -> set[Any]:
    """Return the powers in a formula that no simplification may take apart."""
    known: dict[Any, float] = {}
    return {p for p in e.atoms(sp.Pow, sp.exp) if _degree(p, known) > DEGREE}


class _Cover:
    """Symbols in the place of sums, branches, deltas and elements.

    Attributes
    ----------
    symbols:
        By what they stand for, simplified.
    """

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.symbols: dict[Any, Any] = {}
        self.known: dict[Any, Any] = {}  # a part may occur often: it is built anew only once
        self.degrees: dict[Any, float] = {}

    def of(self, e: Any) -> Any:
        """Return an expression of symbols; what they stand for is simplified."""
        if e not in self.known:
            self.known[e] = self.part(e)
        return self.known[e]

    def part(self, e: Any) -> Any:
        if isinstance(e, (sp.Sum, sp.Integral)):
            factor, e = taken_out(e.func(_level(e.function, self.patience), *e.limits))
            if e == 1 or factor != 1:
                return self.covered(factor) * (1 if e == 1 else self.covered(e))
        elif isinstance(e, ExprWithLimits):
            body = e.function
            if isinstance(body, sp.Expr):
                e = e.func(_level(body, self.patience), *e.limits)
        elif isinstance(e, sp.Piecewise):
            e = cases(*((_level(v, self.patience), c) for v, c in e.args))
        elif not self.apart(e):
            if not e.args or not isinstance(e, sp.Expr):
                return e
            return rebuilt(e, [self.of(a) for a in e.args])
        return self.covered(e)

    def apart(self, e: Any) -> bool:
        """Tell whether a part is not simplified together with what is around it."""
        power = isinstance(e, (sp.Pow, sp.exp))
        return isinstance(e, _APART) or (power and _degree(e, self.degrees) > DEGREE)

    def covered(self, e: Any) -> Any:
        """Put symbols in the place of what is simplified already."""
        if not self.apart(e):
            if not e.args or not isinstance(e, sp.Expr):
                return e
            return rebuilt(e, [self.covered(a) for a in e.args])
        if e not in self.symbols:
            # Named as what it stands for, so that lengths and the order of terms mean something.
            self.symbols[e] = sp.Dummy(sp.sstr(e), real=True)
        return self.symbols[e]


def _shortest(expression: Any, known: Collection[type], patience: Patience) -> Any:
    """Go from each form to the cheapest that one step reaches, until none is cheaper."""
    if not 2 <= int(expression.count_ops()) <= TRIED:
        return expression
    best, least = expression, cost(expression, known)
    steps = _QUICK
    while not patience.over():
        start = best
        foreign = [c for c in _FOREIGN if not expression.has(c)]
        for found in _forms(start, steps, patience):
            if not found.has(*foreign) and (price := cost(found, known)) < least:
                best, least = found, price
        if best is not start:
            steps = _QUICK
        elif steps is _QUICK:
            steps = _SLOW
        else:
            break
    return best


def _forms(start: Any, steps: Any, patience: Patience) -> Iterator[Any]:
    """Yield the forms of an expression that one of the steps gives."""
    operations = int(start.count_ops())
    for step, largest in steps:
        if not 2 <= operations <= largest:
            continue
        if step is sp.trigsimp and not start.has(TrigonometricFunction):
            continue
        found = patience.attempt(partial(_attempt, step), start, start)
        if found != start and not found.has(sp.nan, sp.zoo) and not large_powers(found):
            yield found


def _attempt(step: Any, expression: Any) -> Any:
    try:
        return step(expression)
    except (NotImplementedError, sp.PolynomialError, ValueError, TypeError, AttributeError):
        return expression


def taken_out(e: Any) -> tuple[Any, Any]:
    """Return the factor without a sum's index, and the rest: ``2*a`` and ``Sum(b[k], ...)``."""
    if e.function == 0:
        return sp.S.Zero, sp.S.One
    indices = [k for k, *_ in e.limits]
    factor, body = e.function.as_independent(*indices, as_Add=False)
    if body.is_Add:
        number, terms = common_factor(body).as_coeff_Mul()
        factor, body = factor * number, terms
    return factor, e.func(body, *e.limits)


def _joined_sums(expression: Any, patience: Patience) -> Any:
    """Join sums over the same range: ``Sum(a[k]) + Sum(b[k])`` is ``Sum(a[k] + b[k])``."""
    if expression.is_Mul or expression.is_Pow:
        return expression.func(*(_joined_sums(a, patience) for a in expression.args))
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
        found = Sum(_level(body, patience) if len(bodies) > 1 else body, *limits)
        rest.append(sp.Mul(*taken_out(found)))
    return sp.Add(*rest)

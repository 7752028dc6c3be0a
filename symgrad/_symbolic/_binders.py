"""Sums and products over an index that leave their body alone.

SymPy's constructor of ``Sum`` brings every Piecewise inside to the outside, through inner sums,
too, whose index it thereby loses: ``exp(Sum(Piecewise((x[k], x[k] > 0), (0, True)), (k, 0, 2)))``
inside another sum becomes ``Piecewise((exp(Sum(x[k], ...)), x[k] > 0), ...)``, with a ``k`` that
means nothing. While formulas are built and simplified sums are therefore of the classes here;
what users get is SymPy's own again wherever its constructor leaves the sum as it is.

The constructor of ``Piecewise`` does the same to its conditions: the cases inside of
``Sum(...) > 1`` become cases of the condition, again with a ``k`` that means nothing. ``cases``
makes a ``Piecewise`` that leaves such conditions alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.functions.elementary.piecewise import ExprCondPair

from .._core.base.sizes import as_expr


def bound(cls: type, function: Any, limits: Any) -> Any:
    """Return an object of a class with limits, its body as it is."""
    made: Any = sp.Expr.__new__(cls)
    made._args = (as_expr(function), *(sp.Tuple(*map(as_expr, limit)) for limit in limits))
    made.is_commutative = True
    return made


def _number(kind: type, e: Any, prec: int) -> Any:
    """Return the value: SymPy finds how to compute one by the class itself, not by its bases.

    Without it the members of a maximum are refused as not comparable.
    """
    if not e.is_number:
        return None
    return bound(kind, e.function, e.limits).evalf(mpmath.libmp.prec_to_dps(prec) + 1)


class Sum(sp.Sum):  # type: ignore[misc]
    """SymPy's Sum without its evaluation; a sum of sums is one of several indices."""

    __slots__ = ()

    def __new__(cls, function: Any, *limits: Any) -> Any:
        """Bind the indices of ``limits``, triples ``(index, first, last)``."""
        if function == 0:
            return sp.S.Zero
        if isinstance(function, sp.Sum):
            inner = function.limits
            if not {k for k, *_ in inner} & {k for k, *_ in limits}:
                return bound(cls, function.function, (*inner, *limits))
        return bound(cls, function, limits)

    def _eval_evalf(self, prec: int) -> Any:
        return _number(sp.Sum, self, prec)


class Product(sp.Product):  # type: ignore[misc]
    """SymPy's Product without its evaluation."""

    __slots__ = ()

    def __new__(cls, function: Any, *limits: Any) -> Any:
        """Bind the indices of ``limits``, triples ``(index, first, last)``."""
        return bound(cls, function, limits)

    def _eval_evalf(self, prec: int) -> Any:
        return _number(sp.Product, self, prec)

    def _eval_derivative(self, symbol: Any) -> Any:
        """Each factor's derivative times the others; SymPy's makes sums of its own classes."""
        *inner, (k, low, high) = self.limits
        factor = Product(self.function, *inner) if inner else self.function
        slope = factor.diff(symbol)
        if slope == 0:
            return sp.S.Zero
        h = sp.Dummy(k.name, integer=True, nonnegative=True)
        others = Product(factor, (k, low, h - 1)) * Product(factor, (k, h + 1, high))
        return Sum(others * slope.xreplace({k: h}), (h, low, high))


class Pair(ExprCondPair):  # type: ignore[misc]
    """SymPy's pair of value and condition, the condition as it is."""

    __slots__ = ()

    def __new__(cls, value: Any, condition: Any) -> Any:
        """Pair what the constructor of SymPy's pair would evaluate."""
        return sp.Tuple.__new__(cls, as_expr(value), as_expr(condition))


class Piecewise(sp.Piecewise):  # type: ignore[misc]
    """SymPy's Piecewise with conditions on sums of cases, which it leaves alone."""

    __slots__ = ()

    def __new__(cls, *pairs: Any, **options: Any) -> Any:
        """Return SymPy's own where that leaves the conditions alone, too."""
        return cases(*pairs, **options)


def cases(*pairs: Any, **options: Any) -> Any:
    """Return ``sp.Piecewise(*pairs)``, without bringing cases out of sums in a condition."""
    if not any(hides_cases(condition) for _, condition in pairs):
        return sp.Piecewise(*pairs, **options)
    kept = []
    for value, condition in pairs:
        if condition != sp.false:
            kept.append(Pair(value, condition))
        if condition == sp.true:
            break
    if kept and kept[0].cond == sp.true:
        return kept[0].expr
    return sp.Basic.__new__(Piecewise, *kept)


def rebuilt(e: Any, args: Sequence[Any]) -> Any:
    """Return an expression with other operands, one for one, or itself if they are the same.

    SymPy compares all operands of a maximum with each other, and the argument of a polylogarithm
    with 1, which may take longer than all else; of what has been compared it needs no comparison.
    """
    if all(new is old for new, old in zip(args, e.args, strict=True)):
        return e
    compared = isinstance(e, (sp.Max, sp.Min)) or (
        isinstance(e, sp.polylog) and not args[1].is_number
    )
    return e.func(*args, evaluate=False) if compared else e.func(*args)


def hides_cases(e: Any) -> bool:
    """Tell whether there is a Piecewise in a sum (or another binder of indices) in ``e``."""
    if not isinstance(e, sp.Basic) or not e.has(sp.Piecewise):
        return False
    return isinstance(e, ExprWithLimits) or any(map(hides_cases, e.args))


def replaced(e: Any, swap: Mapping[Any, Any]) -> Any:
    """Return ``e.xreplace(swap)``, without bringing cases out of sums in a condition."""
    if not any(map(hides_cases, swap.values())):
        return e.xreplace(swap)
    return _rebuilt(e, swap)


def _rebuilt(e: Any, swap: Mapping[Any, Any]) -> Any:
    if e in swap:
        return swap[e]
    if not e.args:
        return e
    args = [_rebuilt(a, swap) for a in e.args]
    if isinstance(e, sp.Piecewise):
        return cases(*args)
    return Pair(*args) if isinstance(e, ExprCondPair) else e.func(*args)


_OURS: dict[type, type] = {sp.Sum: Sum, sp.Product: Product}
_THEIRS: dict[type, type] = {Sum: sp.Sum, Product: sp.Product}


def unevaluated(e: Any) -> Any:
    """Return a formula with sums of the classes here."""
    if not isinstance(e, sp.Basic) or not e.has(ExprWithLimits):
        return e
    args = [unevaluated(a) for a in e.args]
    made = _OURS.get(type(e), e.func)
    return made(*args)


def as_sympy(e: Any) -> Any:
    """Return a formula with SymPy's own sums, where those are the same."""
    if not isinstance(e, sp.Basic) or not e.has(ExprWithLimits):
        return e
    args = tuple(as_sympy(a) for a in e.args)
    theirs = _THEIRS.get(type(e))
    if theirs is None or _moves_cases(args[0]):
        return e.func(*args)
    made = theirs(*args)
    return made if made.args == args else e.func(*args)


def _moves_cases(body: Any) -> bool:
    """Tell whether SymPy would bring cases out of the body: it may take minutes to do so."""
    if not isinstance(body, sp.Piecewise):
        return bool(body.has(sp.Piecewise))
    return any(a.has(sp.Piecewise) for pair in body.args for a in pair.args)

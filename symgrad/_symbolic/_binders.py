"""Sums and products over an index that leave their body alone.

SymPy's constructor of ``Sum`` brings every Piecewise inside to the outside, through inner sums,
too, whose index it thereby loses: ``exp(Sum(Piecewise((x[k], x[k] > 0), (0, True)), (k, 0, 2)))``
inside another sum becomes ``Piecewise((exp(Sum(x[k], ...)), x[k] > 0), ...)``, with a ``k`` that
means nothing. While formulas are built and simplified sums are therefore of the classes here;
what users get is SymPy's own again wherever its constructor leaves the sum as it is.
"""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits


def bound(cls: type, function: Any, limits: Any) -> Any:
    """Return an object of a class with limits, its body as it is."""
    made: Any = sp.Expr.__new__(cls)
    made._args = (sp.sympify(function), *(sp.Tuple(*map(sp.sympify, limit)) for limit in limits))
    made.is_commutative = True
    return made


class Sum(sp.Sum):  # type: ignore[misc]
    """SymPy's Sum without its evaluation; a sum of sums is one of several indices."""

    __slots__ = ()

    def __new__(cls, function: Any, *limits: Any) -> Any:
        """Bind the indices of ``limits``, triples ``(index, first, last)``."""
        if isinstance(function, sp.Sum):
            inner = function.limits
            if not {k for k, *_ in inner} & {k for k, *_ in limits}:
                return bound(cls, function.function, (*inner, *limits))
        return bound(cls, function, limits)


class Product(sp.Product):  # type: ignore[misc]
    """SymPy's Product without its evaluation."""

    __slots__ = ()

    def __new__(cls, function: Any, *limits: Any) -> Any:
        """Bind the indices of ``limits``, triples ``(index, first, last)``."""
        return bound(cls, function, limits)


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
    if theirs is None:
        return e.func(*args)
    made = theirs(*args)
    return made if made.args == args else e.func(*args)

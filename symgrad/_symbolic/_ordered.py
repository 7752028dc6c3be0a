"""SymPy expressions that print with their terms in an order for people.

``str`` of SymPy's ``cos(x) - sin(x)`` is ``-sin(x) + cos(x)``. The sums here are SymPy's, equal
to them and computed with like them, and what is computed is SymPy's own; they only tell its
printers another order of their terms.
"""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits

from ._binders import bound, cases
from ._printing import reading_order


class Add(sp.Add):  # type: ignore[misc]  # SymPy is untyped
    """A sum that prints in reading order."""

    __slots__ = ()

    @property
    def func(self) -> Any:
        """SymPy's own sum: what is made of this one is of that class."""
        return sp.Add

    def __eq__(self, other: object) -> bool:
        return bool(_plain(self) == (_plain(other) if isinstance(other, Add) else other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    # SymPy hashes the class's name, which is that of its own.
    __hash__ = sp.Add.__hash__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return ordered, (_plain(self),)

    def _printed(self, printer: Any, **options: Any) -> Any:
        return printer._print_Add(_made(_Printed, self, self.args), **options)

    _sympystr = _latex = _pretty = _mathml_presentation = _printed


class _Printed(sp.Add):  # type: ignore[misc]  # SymPy is untyped
    """What a printer sees of a sum.

    Not the sum itself: SymPy's own order of expressions depends on that of terms, and it keeps
    what it finds for all that are equal.
    """

    __slots__ = ()

    def as_ordered_terms(self, order: Any = None, data: Any = False) -> Any:
        """Return the terms as people write them, if no other order is asked for."""
        found = super().as_ordered_terms(order, data)
        return found if data or order is not None else reading_order(found)


def _plain(e: Any) -> Any:
    return _made(sp.Add, e, e.args)


def _made(kind: Any, e: Any, args: Any) -> Any:
    made: Any = sp.Expr.__new__(kind, *args)
    made.is_commutative = e.is_commutative
    return made


def ordered(e: Any) -> Any:
    """Return an equal expression whose sums print in reading order.

    Examples
    --------
    >>> import sympy as sp
    >>> x = sp.Symbol("x")
    >>> before = sp.cos(x) - sp.sin(x)
    >>> before, ordered(before), ordered(before) == before
    (-sin(x) + cos(x), cos(x) - sin(x), True)
    """
    if not isinstance(e, sp.Expr) or not e.args or isinstance(e, sp.Indexed) or not e.has(sp.Add):
        return e
    if isinstance(e, sp.Piecewise):
        return cases(*((ordered(v), c) for v, c in e.args), evaluate=False)
    if isinstance(e, ExprWithLimits):
        return bound(type(e), ordered(e.function), e.limits)
    args = [ordered(a) for a in e.args]
    if isinstance(e, (sp.Add, sp.Mul)):
        return _made(Add if e.is_Add else sp.Mul, e, args)
    if isinstance(e, (sp.Pow, sp.Function)):
        return e.func(*args, evaluate=False)
    return e

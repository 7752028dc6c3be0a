"""Functions of a formula with bound indices: extrema, any, all, inverses, determinants.

``MaxOver(a[k], (k, 0, n - 1))`` is to ``Max`` what ``Sum`` is to ``+``: it binds ``k``,
expands with ``doit`` where the range is known, and has a derivative.

One element of an inverse, ``inv(A)[i, j]``, depends on the whole matrix. It is written by the
matrix' own element formula, which binds row and column as a sum binds its index; derivatives are
Jacobi's and the one of the inverse.

Source: K. B. Petersen, M. S. Pedersen, The Matrix Cookbook, 2012, equations 46 and 59.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

import sympy as sp
from sympy.concrete.expr_with_intlimits import ExprWithIntLimits

from .._core.base.sizes import as_expr
from ._binders import Sum, bound, cases


def _fresh(limits: Any) -> list[tuple[sp.Symbol, Any, Any]]:
    return [(sp.Dummy(k.name, integer=True, nonnegative=True), low, high)
            for k, low, high in limits]  # fmt: skip


@lru_cache(maxsize=256)
def _is_symmetric(body: Any, row: Any, column: Any) -> bool:
    return bool(even(body) == even(body.xreplace({row: column, column: row})))


def even(e: Any) -> Any:
    """Write ``(x - y)**2`` and ``(y - x)**2`` in one way."""
    swap: dict[Any, Any] = {
        a: (-a.base) ** a.exp
        for a in e.atoms(sp.Pow)
        if a.base.is_Add and a.exp.is_even and a.base.could_extract_minus_sign()
    }
    return e.xreplace(swap)


class OfMatrix(ExprWithIntLimits):  # type: ignore[misc]
    """A function of the matrix whose element ``(p, q)`` is the body, with ``p``, ``q`` bound."""

    __slots__ = ()
    title = ""

    def __new__(cls, body: Any, *limits: Any) -> Any:
        """Bind row and column, triples ``(index, first, last)``."""
        return bound(cls, body, limits)

    def is_symmetric(self) -> bool:
        """Tell whether the body is the same with row and column exchanged, by its form."""
        (p, *_), (q, *_) = self.limits
        return _is_symmetric(self.function, p, q)

    def slope(self, symbol: Any) -> tuple[Any, list[Any]]:
        """Return the derivative of the matrix' element, and the limits it is summed over."""
        limits = _fresh(self.limits)
        names = {k: f for (k, *_), (f, *_) in zip(self.limits, limits, strict=True)}
        return self.function.diff(symbol).xreplace(names), limits

    def _sympystr(self, printer: Any) -> str:
        if is_plain(self):
            return f"{self.title}({printer._print(self.function.base)})"
        return f"{self.title}({', '.join(map(printer._print, self.args))})"

    def _latex(self, printer: Any) -> str:
        inner = printer._print(self.function.base if is_plain(self) else self.function)
        return rf"\operatorname{{{self.title}}}\left({inner}\right)"

    def _pretty(self, printer: Any) -> Any:
        inner = self.function.base.label if is_plain(self) else self.function
        return printer._helper_print_function(sp.Function(self.title), (inner,))

    def _mathml_presentation(self, printer: Any) -> Any:
        inner = self.function.base.label if is_plain(self) else self.function
        return printer._print(sp.Function(self.title)(inner))


class InverseOver(OfMatrix):
    """The inverse of a matrix, as a whole; its elements are :class:`Entry`."""

    __slots__ = ()
    title = "inv"


class LogDetOver(OfMatrix):
    """The logarithm of a determinant's absolute value."""

    __slots__ = ()
    title = "logabsdet"

    def _eval_is_real(self) -> bool | None:
        return self.function.is_real  # type: ignore[no-any-return]

    def _eval_derivative(self, symbol: Any) -> Any:
        """Return the trace of the inverse times the matrix' derivative (Jacobi's formula)."""
        slope, limits = self.slope(symbol)
        if slope == 0:
            return sp.S.Zero
        (k, *_), (m, *_) = limits
        return Sum(Entry(InverseOver(*self.args), m, k) * slope, *limits)


class DetOver(LogDetOver):
    """The determinant of a matrix."""

    __slots__ = ()
    title = "det"

    def _eval_derivative(self, symbol: Any) -> Any:
        return self * super()._eval_derivative(symbol)


class Entry(sp.Expr):  # type: ignore[misc]
    """One element of an inverse."""

    __slots__ = ()
    is_commutative = True

    def __new__(cls, whole: Any, row: Any, column: Any) -> Any:
        """Make element ``(row, column)`` of ``whole``; of a symmetric matrix in one order."""
        places = [as_expr(row), as_expr(column)]
        if isinstance(whole, OfMatrix) and whole.is_symmetric():
            places.sort(key=sp.default_sort_key)
        return sp.Expr.__new__(cls, whole, *places)

    @property
    def indices(self) -> tuple[Any, Any]:
        """Row and column."""
        return self.args[1], self.args[2]

    def _eval_is_real(self) -> bool:
        return True

    def _eval_derivative(self, symbol: Any) -> Any:
        whole, row, column = self.args
        slope, limits = whole.slope(symbol)
        if slope == 0:
            return sp.S.Zero
        (k, *_), (m, *_) = limits
        return -Sum(Entry(whole, row, k) * slope * Entry(whole, m, column), *limits)

    def _sympystr(self, printer: Any) -> str:
        row, column = map(printer._print, self.indices)
        return f"{printer._print(self.args[0])}[{row}, {column}]"

    def _latex(self, printer: Any) -> str:
        whole, row, column = map(printer._print, self.args)
        if is_plain(self.args[0]):
            whole = rf"\left({printer._print(self.args[0].function.base)}^{{-1}}\right)"
        return f"{{{whole}}}_{{{row},{column}}}"

    def _pretty(self, printer: Any) -> Any:
        whole = printer._print(self.args[0])
        places = printer._print_seq(self.indices, "[", "]", delimiter=", ")
        return type(whole)(*type(whole).next(whole, places))

    def _mathml_presentation(self, printer: Any) -> Any:
        whole, row, column = map(printer._print, self.args)
        if is_plain(self.args[0]):
            base = printer._print(self.args[0].function.base)
            power = printer.element("msup", base, printer._print(sp.Integer(-1)))
            ends = (printer.element("mo", sign) for sign in "()")
            whole = printer.element("mrow", next(ends), power, next(ends))
        return printer.element("msub", whole, printer.listed([row, column], ","))


def is_plain(e: Any) -> bool:
    """Tell whether the matrix is an array itself, not computed from others."""
    rows = tuple(k for k, *_ in e.limits)
    return isinstance(e.function, sp.Indexed) and e.function.indices == rows


def inverse_entry(body: Any, row: Any, column: Any, *limits: Any) -> Any:
    """Return one element of the inverse of the matrix whose element is ``body``."""
    return Entry(InverseOver(body, *limits), row, column)


class Over(ExprWithIntLimits):  # type: ignore[misc]
    """A function of ``function`` over all values of the bound indices.

    ``title`` is how it prints; ``join`` gives it for a list of expressions.
    """

    __slots__ = ()
    title: ClassVar[str] = ""
    join: ClassVar[Any]

    def __new__(cls, function: Any, *limits: Any) -> Any:
        """Bind the indices of ``limits``, triples ``(index, first, last)``."""
        return bound(cls, function, limits)

    def doit(self, **hints: Any) -> Any:
        """Expand over the range, if its ends are numbers."""
        body = self.function.doit(**hints) if hints.get("deep", True) else self.function
        ends = [end for _, low, high in self.limits for end in (low, high)]
        if not all(getattr(end, "is_Integer", False) for end in ends):
            return self.func(body, *self.limits)
        names = [k for k, _, _ in self.limits]
        ranges = [range(int(low), int(high) + 1) for _, low, high in self.limits]
        return self.join(
            [body.subs(dict(zip(names, place, strict=True))) for place in product(*ranges)]
        )

    def _eval_derivative(self, symbol: Any) -> Any:
        return sp.S.Zero  # piecewise constant

    def _sympystr(self, printer: Any) -> str:
        return f"{self.title}({', '.join(printer._print(a) for a in self.args)})"

    def _latex(self, printer: Any) -> str:
        ranges = ", ".join(
            rf"{printer._print(low)} \leq {printer._print(k)} \leq {printer._print(high)}"
            for k, low, high in self.limits
        )
        name = rf"\{self.title.lower()}" if self.title in ("Max", "Min") else (
            rf"\operatorname*{{{self.title.lower()}}}")  # fmt: skip
        return rf"{name}_{{{ranges}}}\left({printer._print(self.function)}\right)"

    def _pretty(self, printer: Any) -> Any:
        return printer._helper_print_function(sp.Function(self.title.lower()), self.args)

    def _mathml_presentation(self, printer: Any) -> Any:
        return printer.over(self.title.lower(), self.limits, self.function)


class _Extreme(Over):
    def _eval_is_real(self) -> bool | None:
        return self.function.is_real  # type: ignore[no-any-return]

    def _eval_derivative(self, symbol: Any) -> Any:
        """Equal shares among the elements that attain the extremum."""
        slope = self.function.diff(symbol)
        if slope == 0:
            return sp.S.Zero
        limits = _fresh(self.limits)
        # The extremum inside keeps its own bound indices.
        names = {k: f for (k, *_), (f, *_) in zip(self.limits, limits, strict=True)}
        hit = cases((1, sp.Eq(self.function.xreplace(names), self)), (0, True))
        return Sum(hit * slope.xreplace(names), *limits) / Sum(hit, *limits)


class MaxOver(_Extreme):
    """The largest value of a formula over a range."""

    title = "Max"
    join = staticmethod(lambda parts: sp.Max(*parts))


class MinOver(_Extreme):
    """The smallest value of a formula over a range."""

    title = "Min"
    join = staticmethod(lambda parts: sp.Min(*parts))


def _first(parts: list[Any], better: Any) -> Any:
    """Return the place of the first best part, as a Piecewise."""
    pieces = [
        (k, sp.And(*(better(x, y, j < k) for j, y in enumerate(parts) if j != k)))
        for k, x in enumerate(parts)
    ]
    return sp.Piecewise(*pieces)


class ArgmaxOver(Over):
    """The index of the first largest value."""

    title = "Argmax"
    is_integer = True
    join = staticmethod(
        lambda parts: _first(parts, lambda x, y, earlier: x > y if earlier else x >= y)
    )


class ArgminOver(Over):
    """The index of the first smallest value."""

    title = "Argmin"
    is_integer = True
    join = staticmethod(
        lambda parts: _first(parts, lambda x, y, earlier: x < y if earlier else x <= y)
    )


class AnyOver(Over, sp.logic.boolalg.Boolean):  # type: ignore[misc]
    """Whether a condition holds somewhere in a range."""

    title = "Any"
    join = staticmethod(lambda parts: sp.Or(*parts))


class AllOver(Over, sp.logic.boolalg.Boolean):  # type: ignore[misc]
    """Whether a condition holds everywhere in a range."""

    title = "All"
    join = staticmethod(lambda parts: sp.And(*parts))


#: By the name that the records' element formulas use.
BY_NAME: dict[str, Callable[..., Any]] = {
    c.title: c for c in (MaxOver, MinOver, ArgmaxOver, ArgminOver, AnyOver, AllOver)
} | {"Inverse": inverse_entry, "Det": DetOver, "LogAbsDet": LogDetOver}

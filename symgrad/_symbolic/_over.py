"""SymPy functions of a formula over a range of an index: maximum, minimum, any, all.

``MaxOver(a[k], (k, 0, n - 1))`` is to ``Max`` what ``Sum`` is to ``+``: it binds ``k``,
expands with ``doit`` where the range is known, and has a derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, ClassVar

import sympy as sp
from sympy.concrete.expr_with_intlimits import ExprWithIntLimits

from ._binders import Sum, bound, cases
from ._inverse import DetOver, LogDetOver, inverse_entry


class Over(ExprWithIntLimits):  # type: ignore[misc]
    """A function of ``function`` over all values of the bound indices.

    ``title`` is how it prints; ``join`` gives it for a list of expressions.
    """

    __slots__ = ()
    title: ClassVar[str] = ""

    def __new__(cls, function: Any, *limits: Any) -> Any:
        """Bind the indices of ``limits``, triples ``(index, first, last)``."""
        return bound(cls, function, limits)

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """Return the function of the listed expressions."""
        raise NotImplementedError

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
        fresh = [sp.Dummy(k.name, integer=True, nonnegative=True) for k, _, _ in self.limits]
        # The extremum inside keeps its own bound indices.
        names = {k: f for (k, _, _), f in zip(self.limits, fresh, strict=True)}
        hit = cases((1, sp.Eq(self.function.xreplace(names), self)), (0, True))
        limits = [(names[k], low, high) for k, low, high in self.limits]
        return Sum(hit * slope.xreplace(names), *limits) / Sum(hit, *limits)


class MaxOver(_Extreme):
    """The largest value of a formula over a range."""

    title = "Max"

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """Return SymPy's maximum."""
        return sp.Max(*parts)


class MinOver(_Extreme):
    """The smallest value of a formula over a range."""

    title = "Min"

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """Return SymPy's minimum."""
        return sp.Min(*parts)


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

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """Return the place as a Piecewise of comparisons."""
        return _first(parts, lambda x, y, earlier: x > y if earlier else x >= y)


class ArgminOver(Over):
    """The index of the first smallest value."""

    title = "Argmin"
    is_integer = True

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """Return the place as a Piecewise of comparisons."""
        return _first(parts, lambda x, y, earlier: x < y if earlier else x <= y)


class AnyOver(Over, sp.logic.boolalg.Boolean):  # type: ignore[misc]
    """Whether a condition holds somewhere in a range."""

    title = "Any"

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """Return SymPy's disjunction."""
        return sp.Or(*parts)


class AllOver(Over, sp.logic.boolalg.Boolean):  # type: ignore[misc]
    """Whether a condition holds everywhere in a range."""

    title = "All"

    @staticmethod
    def join(parts: list[Any]) -> Any:
        """Return SymPy's conjunction."""
        return sp.And(*parts)


#: By the name that the records' element formulas use.
BY_NAME: dict[str, Callable[..., Any]] = {
    c.title: c for c in (MaxOver, MinOver, ArgmaxOver, ArgminOver, AnyOver, AllOver)
} | {"Inverse": inverse_entry, "Det": DetOver, "LogAbsDet": LogDetOver}

"""Formulas as MathML, which browsers draw without a script."""

from __future__ import annotations

import html
import re
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.printing.mathml import MathMLPresentationPrinter

from ._notation import rank
from ._printing import Drawn, is_low, needs_brackets, quotient, without_escape

#: Names of characters that SymPy writes into MathML; XML itself knows only those left out.
_ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|#)\w+;")


class MathMLPrinter(Drawn, MathMLPresentationPrinter):  # type: ignore[misc]  # SymPy is untyped
    """Presentation MathML, which browsers draw by themselves."""

    def element(self, tag: str, *children: Any) -> Any:
        node = self.dom.createElement(tag)
        for child in children:
            node.appendChild(self.dom.createTextNode(child) if isinstance(child, str) else child)
        return node

    def mathml_tag(self, e: Any) -> str:
        """Return the sign of an operation; SymPy writes it as it is, also where XML must not."""
        return str(super().mathml_tag(e)).replace("<", "&lt;")

    def _print_Symbol(self, sym: Any, style: str = "plain") -> Any:
        return super()._print_Symbol(sp.Symbol(without_escape(sym.name)), style)

    def bracketed(self, expr: Any, brackets: bool) -> Any:
        inner = self._print(expr)
        if not brackets:
            return inner
        return self.element("mrow", self.element("mo", "("), inner, self.element("mo", ")"))

    def listed(self, parts: Any, sign: str) -> Any:
        row = self.element("mrow")
        for k, part in enumerate(parts):
            if k:
                row.appendChild(self.element("mo", sign))
            row.appendChild(part)
        return row

    def _print_Mul(self, expr: Any) -> Any:
        minus, above, below = quotient(expr)
        found = self._row(above)
        if below:
            found = self.element("mfrac", found, self._row(below))
        return self.element("mrow", self.element("mo", "−"), found) if minus else found

    def _row(self, factors: list[Any]) -> Any:
        scalars = [a for a in factors if rank(a) == 0]
        arrays = [a for a in factors if rank(a) > 0]
        # A sum over an index reaches to the end of a product: as the last factor it is plain.
        scalars.sort(key=lambda a: isinstance(a, ExprWithLimits))
        several, last = len(factors) > 1, len(factors) - 1
        parts = [
            self.bracketed(a, several and (_is_open(a) or (isinstance(a, sp.Sum) and k != last)))
            for k, a in enumerate(scalars)
        ]
        if arrays:
            inner = [self.bracketed(a, needs_brackets(a, arrays, several)) for a in arrays]
            parts.append(self.listed(inner, "⊙"))
        return self.listed(parts, "\u2062")

    def _print_exp(self, expr: Any) -> Any:
        if is_low(expr.args[0]):
            return super()._print_exp(expr)
        return self.element("mrow", self.element("mi", "exp"), self.bracketed(expr.args[0], True))

    def _print_Indexed(self, expr: Any) -> Any:
        places = self.listed(map(self._print, expr.indices), ",")
        base = self._print(expr.base)
        if base.tagName != "msub":
            return self.element("msub", base, places)
        name, own = base.childNodes  # v0 has a subscript already, which goes first
        return self.element("msub", name, self.listed([own, *places.childNodes[::2]], ","))

    def _print_Integer(self, expr: Any) -> Any:
        number = self.element("mn", str(abs(expr)))
        return self.element("mrow", self.element("mo", "−"), number) if expr < 0 else number

    def _print_KroneckerDelta(self, expr: Any) -> Any:
        places = self.listed(map(self._print, expr.args), ",")
        return self.element("msub", self.element("mi", "δ"), places)

    def _print_Heaviside(self, expr: Any) -> Any:
        return self.element("mrow", self.element("mi", "H"), self.bracketed(expr.args[0], True))

    def over(self, name: str, limits: Any, body: Any) -> Any:
        """A function over a range of indices, which stand below its name."""
        ranges = [
            self.listed([self._print(low), self._print(k), self._print(high)], "≤")
            for k, low, high in limits
        ]
        under = self.element("munder", self.element("mo", name), self.listed(ranges, ","))
        return self.element("mrow", under, self.bracketed(body, True))

    def _print_Sum(self, expr: Any) -> Any:
        row = self.element("mrow")
        for k, low, high in reversed(expr.limits):
            start = self.listed([self._print(k), self._print(low)], "=")
            sign = self.element("mo", "∑")
            row.appendChild(self.element("munderover", sign, start, self._print(high)))
        row.appendChild(self.bracketed(expr.function, bool(expr.function.is_Add)))
        return row

    def _print_Piecewise(self, expr: Any) -> Any:
        table = self.element("mtable")
        for value, condition in expr.args:
            always = condition == sp.true
            when = self.element("mtext", "otherwise") if always else self._print(condition)
            table.appendChild(self.element(
                "mtr", self.element("mtd", self._print(value)),
                self.element("mtd", self.element("mtext", "" if always else "if "), when),
            ))  # fmt: skip
        return self.element("mrow", self.element("mo", "{"), table)


def _is_open(e: Any) -> bool:
    """Tell whether a factor needs brackets wherever it stands in a product."""
    return bool(e.is_Add) or isinstance(e, (sp.Piecewise, sp.Mod))


def markup(element: Any) -> str:
    """Return an element of the printer as text, in characters instead of names for them."""
    body = _ENTITY.sub(lambda m: html.unescape(m.group()), element.toxml()).replace("ⅇ", "e")
    return str(body.replace("<mo>-</mo>", "<mo>−</mo>"))


def mathml(expression: Any, display: bool = True) -> str:
    """Return a formula as a MathML element that a browser draws without any script."""
    style = ' display="block"' if display else ""
    body = markup(MathMLPrinter()._print(expression))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{style}>{body}</math>'

"""Formulas for pages: MathML, which browsers draw without a script, in lines that break.

Browsers do not break MathML's lines. Each term of a sum is therefore an element of its own:
what does not fit goes to the next line, behind the sign of equality, at which equations are
aligned. A product that is longer than the page scrolls by itself.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.printing.mathml import MathMLPresentationPrinter

from ._forms import common_factor
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


def mathml(expression: Any) -> str:
    """Return a formula as a MathML element that a browser draws without any script."""
    body = markup(MathMLPrinter()._print(expression))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{body}</math>'


#: Signs at the beginning of an element, behind the space between two: browsers would set more
#: before them and nothing after them.
_SIGN = '<mo form="infix" lspace="0" rspace="0.2222em">{}</mo>'
_EQUALS = '<mo lspace="0" rspace="0.2778em">=</mo>'

#: Colours that go with any background and ink: of a light or a dark page or notebook.
STYLE = """\
.symgrad-equations { display: grid; grid-template-columns: max-content max-content minmax(0, 1fr);
  align-items: baseline; gap: .55rem .5rem; line-height: 1.5; margin: .4rem 0 }
.symgrad-equations > .left { justify-self: end; text-align: right }
.symgrad-equations > .right { overflow-x: auto; overflow-y: hidden; padding: .1rem 0 }
.symgrad-equations > .note { grid-column: 1 / -1; font: .85rem/1.5 system-ui, sans-serif;
  opacity: .75 }
.symgrad-equations .word { font: .85rem/1.5 system-ui, sans-serif; opacity: .75;
  margin-right: .4rem }
.symgrad-equations math { font-size: 1.1em; font-family: "STIX Two Math", "Latin Modern Math",
  "Cambria Math", "DejaVu Math TeX Gyre", math }
@media (max-width: 36rem) {
  .symgrad-equations { grid-template-columns: max-content minmax(0, 1fr) }
  .symgrad-equations > .left { grid-column: 1 / -1; justify-self: start; margin-top: .5rem }
}"""

_MATH = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML" displaystyle="true"><mrow>{}</mrow></math>'
)


def terms(expression: Any) -> list[str]:
    """Return the terms of a sum, each with its sign, as the inside of MathML elements."""
    printer = MathMLPrinter()
    if not expression.is_Add or common_factor(expression).is_Mul:
        return [markup(printer._print(expression))]
    found = []
    for k, term in enumerate(printer._as_ordered_terms(expression)):
        minus = k > 0 and bool(term.could_extract_minus_sign())
        sign = _SIGN.format("−" if minus else "+") if k else ""
        found.append(sign + markup(printer._print(-term if minus else term)))
    return found


def math(inner: str) -> str:
    """Return an element in the middle of a line, large as one that stands alone."""
    return _MATH.format(inner)


def line(left: str, *sides: Any) -> str:
    """Return ``left = side = ...`` as elements between which a line may be broken.

    Parameters
    ----------
    left:
        The inside of a MathML element.
    *sides:
        Such, too, or formulas, of which the terms become elements.
    """
    found = [left]
    for side in sides:
        first, *others = [side] if isinstance(side, str) else terms(side)
        found += [_EQUALS + first, *others]
    return " ".join(map(math, found))


def aligned(
    rows: Iterable[tuple[str, Any]],
    names: Iterable[tuple[str, Any]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return equations as one HTML element, for a page that has :data:`STYLE`.

    Parameters
    ----------
    rows:
        The left side of each as the inside of a MathML element, and the right side.
    names:
        What names in them mean, in the same way.
    notes:
        What else there is to know, as text.
    """
    cells = [_row(left, right, "") for left, right in rows]
    cells += [_row(left, right, '<span class="word">where</span>') for left, right in names]
    cells += [f'<div class="note">{escape(note)}</div>' for note in notes]
    return '<div class="symgrad-equations">\n' + "\n".join(cells) + "\n</div>"


def _row(left: str, right: Any, word: str) -> str:
    sides = " ".join(map(math, terms(right)))
    return (
        f'<div class="left">{word}{math(left)}</div><div class="sign">{math("<mo>=</mo>")}</div>'
        f'<div class="right">{sides}</div>'
    )

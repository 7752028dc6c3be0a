"""Formulas as text, as Unicode pictures, as LaTeX and as MathML, in an order for people.

SymPy's printers order the terms of a sum by its own canonical order, which may begin with a
minus sign (``-sin(x) + cos(x)``). People begin with what is added, and write ``1 + exp(x)``
but ``x**2 + 1``. Sums that go out as SymPy's are equal to SymPy's own and computed with like
them; they only tell its printers another order of their terms.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import sympy as sp
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.functions.elementary.exponential import ExpBase
from sympy.printing.latex import LatexPrinter, translate
from sympy.printing.pretty.pretty import PrettyPrinter
from sympy.printing.pretty.pretty_symbology import pretty_use_unicode
from sympy.printing.pretty.stringpict import prettyForm
from sympy.printing.str import StrPrinter

from ._binders import bound, cases
from ._forms import common_factor
from ._notation import Array, MatrixForm, Product, T, fraction, loose, rank
from ._products import split


def reading_order(terms: list[Any]) -> list[Any]:
    """Return the terms of a sum as people write them.

    Parameters
    ----------
    terms:
        In SymPy's order, which is kept but for the first term: the first that has no minus
        sign, and in a sum of two the number beside an exponential.
    """
    if len(terms) == 2 and terms[1].is_positive and terms[1].is_number and terms[0].has(ExpBase):
        return terms[::-1]
    if any(isinstance(split(t)[1], Product) for t in terms):
        terms = sorted(terms, key=lambda t: not isinstance(split(t)[1], Product))  # A x + b
    for k, term in enumerate(terms):
        if not term.could_extract_minus_sign() or not term.as_coeff_Mul()[0].is_negative:
            return [term, *terms[:k], *terms[k + 1 :]]
    return terms


class ForPeople:
    """Makes any of SymPy's printers order sums as people do, and write matrix notation."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return reading_order(super()._as_ordered_terms(expr, order=order))  # type: ignore[misc]

    def _print_Add(self, expr: Any, order: Any = None) -> Any:
        factored = common_factor(expr)
        if factored.is_Mul:
            return self._print(factored)  # type: ignore[attr-defined]
        return super()._print_Add(expr, order=order)  # type: ignore[misc]


def is_low(exponent: Any) -> bool:
    """Tell whether an exponent is read well as one: short, no sum or case distinction in it."""
    return exponent.count_ops() <= LOW and not exponent.has(ExprWithLimits, sp.Piecewise)


#: Exponentials of more operations are written ``exp(...)``.
LOW = 5

_SUBSCRIPT = re.compile(r"(.*)_\{([^{}]*)\}")
_GREEK = re.compile(r"([\u0391-\u03a9\u03b1-\u03c9])(?=(\w?))")


def without_escape(name: str) -> str:
    """Return a name without what ends it (``lambda_``): set in type, that is an empty subscript."""
    return name.rstrip("_") or name


def greek_latex(name: str) -> str:
    r"""Write Greek letters as LaTeX's commands, which every engine reads.

    Examples
    --------
    >>> print(greek_latex("σ_{1}"), greek_latex("Δx"))
    \sigma_{1} \Delta x
    """

    def command(found: re.Match[str]) -> str:
        _, case, *_, letter = unicodedata.name(found[1]).lower().replace("lamda", "lambda").split()
        written = str(translate(letter if case == "small" else letter.capitalize()))
        return written + " " * (written[-1].isalpha() and found[2].isalpha())

    return _GREEK.sub(command, name)


#: What must be written otherwise in a text in LaTeX; ``<`` and ``>`` are mathematics to old fonts.
_WORDS: dict[str, str | int | None] = {
    **{c: f"\\{c}" for c in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{c: f"${c}$" for c in "<>|"},
}


def words_latex(words: str) -> str:
    r"""Return plain text as the inside of LaTeX's ``\text``.

    Examples
    --------
    >>> print(words_latex("for x_1 <= 0"))
    for x\_1 $<$= 0
    """
    return words.translate(str.maketrans(_WORDS))


def subscripted(name: str, places: str) -> str:
    """Return the LaTeX of an element; ``v0`` has a subscript already, which goes first."""
    own = _SUBSCRIPT.fullmatch(name)
    return rf"{{{own[1]}}}_{{{own[2]},{places}}}" if own else rf"{{{name}}}_{{{places}}}"


def quotient(expr: Any) -> tuple[bool, list[Any], list[Any]]:
    """Return a product's sign (True: negative), its factors, and those it is divided by."""
    coefficient, rest = expr.as_coeff_Mul()
    above, below = [], []
    for factor in rest.as_ordered_factors():
        if fraction(factor):
            below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    above.sort(key=lambda a: rank(a) > 0)
    if coefficient.is_Rational:
        above = [sp.Integer(abs(coefficient.p))] * (abs(coefficient.p) != 1) + above
        below = [sp.Integer(coefficient.q)] * (coefficient.q != 1) + below
    elif coefficient != 1:
        above.insert(0, abs(coefficient))
    return bool(coefficient.is_negative), above or [sp.S.One], below


def needs_brackets(factor: Any, arrays: list[Any], several: bool) -> bool:
    """Tell whether a factor needs brackets among several, or beside other arrays."""
    return (loose(factor) and len(arrays) > 1) or (several and bool(factor.is_Add))


class Drawn(ForPeople):
    """For printers that draw: what is written ``ITE(a, b, c)`` in text."""

    def _print_ITE(self, expr: Any) -> Any:
        # SymPy's printers rewrite it, and simplify its conditions for seconds.
        a, b, c = expr.args
        both = sp.And(a, b, evaluate=False), sp.And(sp.Not(a), c, evaluate=False)
        # The printer that this is mixed into has it.
        return self._print(sp.Or(*both, evaluate=False))  # type: ignore[attr-defined]


class TextPrinter(ForPeople, StrPrinter):  # type: ignore[misc]
    """One line of plain text, in SymPy's notation; products of matrices side by side."""

    def _print_Float(self, expr: Any) -> str:
        return str(sp.sstr(expr, full_prec=False))

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        if expr.exp.is_Integer and expr.exp < -1:
            return f"1/{self._print(expr.base**-expr.exp)}"
        return str(super()._print_Pow(expr, rational=rational))

    def _print_Mul(self, expr: Any) -> str:
        if not expr.has(MatrixForm):
            return str(super()._print_Mul(expr))
        minus, above, below = quotient(expr)
        last = above[-1]
        if isinstance(last, (Array, Product, T)) and not any(
            loose(a) or rank(a) > 0 for a in above[:-1]
        ):
            top = " ".join(map(self._print, above))
        else:
            top = self._joined(above)
        if below:
            bottom = self._joined(below)
            top += f"/{bottom}" if len(below) == 1 else f"/({bottom})"
        return f"-{top}" if minus else top

    def _joined(self, factors: list[Any]) -> str:
        if len(factors) == 1 and isinstance(factors[0], Product):
            return f"({self._print(factors[0])})"
        return "*".join(f"({self._print(a)})" if loose(a) else self._print(a) for a in factors)


class UnicodePrinter(Drawn, PrettyPrinter):  # type: ignore[misc]  # SymPy is untyped
    """Two-dimensional Unicode text."""

    def _print_KroneckerDelta(self, expr: Any) -> Any:
        return self._print(sp.Symbol(f"δ[{', '.join(map(text, expr.args))}]"))

    def bracketed(self, expr: Any, brackets: bool) -> Any:
        form = self._print(expr)
        return prettyForm(*form.parens()) if brackets else form

    def side_by_side(self, forms: list[Any], sign: str) -> Any:
        row: list[Any] = [forms[0]]
        for form in forms[1:]:
            row += [sign, form]
        return prettyForm(*prettyForm.next(*row), binding=prettyForm.MUL)

    def _print_Mul(self, expr: Any) -> Any:
        if not expr.has(MatrixForm):
            return super()._print_Mul(expr)
        minus, above, below = quotient(expr)
        form = self._row(above)
        if below:
            form = form / self._row(below)
        if minus:
            form = prettyForm(*form.left("-"), binding=prettyForm.NEG)
        return form

    def _row(self, factors: list[Any]) -> Any:
        scalars = [a for a in factors if rank(a) == 0]
        arrays = [a for a in factors if rank(a) > 0]
        forms = [self.bracketed(a, loose(a) and len(factors) > 1) for a in scalars]
        if arrays:
            several = len(factors) > 1
            inner = [self.bracketed(a, needs_brackets(a, arrays, several)) for a in arrays]
            forms.append(self.side_by_side(inner, "⊙") if len(inner) > 1 else inner[0])
        return self.side_by_side(forms, "⋅") if len(forms) > 1 else forms[0]


class TeXPrinter(Drawn, LatexPrinter):  # type: ignore[misc]  # SymPy is untyped
    """LaTeX."""

    def _deal_with_super_sub(self, string: str, style: str = "plain") -> str:
        return greek_latex(super()._deal_with_super_sub(without_escape(string), style))

    def _print_Indexed(self, expr: Any) -> str:
        return subscripted(self._print(expr.base), ",".join(map(self._print, expr.indices)))

    def _print_ExpBase(self, expr: Any, exp: Any = None) -> str:
        if is_low(expr.args[0]):
            return str(super()._print_ExpBase(expr, exp))
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\exp{power}\left({self._print(expr.args[0])}\right)"

    def _print_Heaviside(self, expr: Any, exp: Any = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\operatorname{{H}}{power}\left({self._print(expr.args[0])}\right)"

    def _print_Mul(self, expr: Any) -> str:
        if not expr.has(MatrixForm):
            return str(super()._print_Mul(expr))
        minus, above, below = quotient(expr)
        found = self._row(above)
        if below:
            found = rf"\frac{{{found}}}{{{self._row(below)}}}"
        return f"- {found}" if minus else found

    def _row(self, factors: list[Any]) -> str:
        scalars = [a for a in factors if rank(a) == 0]
        arrays = [a for a in factors if rank(a) > 0]
        several = len(factors) > 1
        parts = [self._bracketed(a, several and bool(a.is_Add)) for a in scalars]
        inner = [self._bracketed(a, needs_brackets(a, arrays, several)) for a in arrays]
        return r" \, ".join([*parts, r" \odot ".join(inner)] if inner else parts)

    def _bracketed(self, expr: Any, brackets: bool) -> str:
        inner = str(self._print(expr))
        return rf"\left({inner}\right)" if brackets else inner

    def _print_Pow(self, expr: Any) -> str:
        if rank(expr.base) == 2 and expr.exp.is_Integer and expr.exp > 0:
            base = self._bracketed(expr.base, not isinstance(expr.base, Array))
            return rf"{base}^{{\circ {expr.exp}}}"
        return str(super()._print_Pow(expr))


def text(expression: Any) -> str:
    """Return a formula as one line of text.

    Examples
    --------
    >>> import sympy as sp
    >>> x = sp.Symbol("x")
    >>> str(sp.cos(x) - sp.sin(x)), text(sp.cos(x) - sp.sin(x))
    ('-sin(x) + cos(x)', 'cos(x) - sin(x)')
    """
    return str(TextPrinter({"full_prec": False}).doprint(expression))


def beside(left: str, right: Any) -> str:
    """Return ``left = right`` as a picture in Unicode characters, the sign at its main line."""
    before = pretty_use_unicode(True)  # whatever the terminal, which SymPy asks in a global flag
    try:
        form = UnicodePrinter({"use_unicode": True, "wrap_line": False})._print(right)
        return str(prettyForm(*prettyForm.next(prettyForm(left), " = ", form)))
    finally:
        pretty_use_unicode(before)


def latex(expression: Any) -> str:
    """Return a formula as LaTeX, without delimiters."""
    return str(TeXPrinter().doprint(expression))


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
    if isinstance(e, sp.Pow):
        return sp.Pow(*args, evaluate=False)
    if isinstance(e, sp.Function):  # some classes have a __new__ that takes no evaluate=
        return sp.Function.__new__(e.func, *args, evaluate=False)
    return e

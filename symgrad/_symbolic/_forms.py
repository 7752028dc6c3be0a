"""Equal forms of a formula that SymPy's own simplifications do not reach.

Each function returns a form of its operand that may be shorter; which of all is taken is
decided elsewhere. Operands are plain: sums over indices and elements have become symbols.
"""

from __future__ import annotations

from typing import Any

import sympy as sp


def common_factor(expr: Any) -> Any:
    """Return ``2*(x - y)`` for ``2*x - 2*y``, which SymPy multiplies out whenever it can.

    A sum whose terms have other numbers in front is returned as it is.

    Examples
    --------
    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> common_factor(2 * x - 2 * y), common_factor(2 * x - 3 * y)
    (2*(x - y), 2*x - 3*y)
    """
    numbers = {term.as_coeff_Mul()[0] for term in expr.args}
    number = numbers.pop()
    if {abs(n) for n in numbers} - {abs(number)} or not number.is_Rational or abs(number) == 1:
        return expr
    number = number if not numbers else abs(number)
    return sp.Mul(number, sp.Add(*(term / number for term in expr.args)), evaluate=False)


def by_parts(e: Any) -> Any:
    """Bring each factor, or each term, over one denominator by itself.

    Examples
    --------
    >>> import sympy as sp
    >>> x, n = sp.symbols("x n")
    >>> by_parts(sp.log(n) + x**2 / (n**2 * (1 + x**2 / n)))
    log(n) + x**2/(n*(n + x**2))
    """
    if not (e.is_Add or e.is_Mul):
        return e
    return e.func(*(_one_fraction(a) for a in e.args))


def _one_fraction(e: Any) -> Any:
    if e.is_Atom or not (e.is_Add or e.is_Mul or e.is_Pow):
        return e
    above, below = sp.fraction(sp.together(e), exact=True)
    return sp.factor_terms(above) / sp.factor_terms(below)


def in_differences(e: Any) -> Any:
    """Multiply out, but for the sums that occur more than once: these are taken as symbols.

    Examples
    --------
    >>> import sympy as sp
    >>> x, y, s = sp.symbols("x y s")
    >>> in_differences((4 * s * (s - (x - y) ** 2) - 2 * s**2 + (y - x) ** 4) / s)
    (2*s**2 - 4*s*(x - y)**2 + (x - y)**4)/s
    """
    counts: dict[Any, int] = {}
    for a in sp.preorder_traversal(e):
        if a.is_Add:
            one = -a if a.could_extract_minus_sign() else a
            counts[one] = counts.get(one, 0) + 1
    often = [a for a, n in counts.items() if n > 1]
    either = {*often, *(-a for a in often)}
    marks = {a: sp.Dummy() for a in often if not (a.atoms(sp.Add) - {a}) & either}
    if not marks:
        return e
    covered, back = _covered(e.xreplace({**marks, **{-a: -mark for a, mark in marks.items()}}))
    form = sp.factor(sp.expand(covered)).xreplace(back)
    return form.xreplace({mark: a for a, mark in marks.items()})


def collected(e: Any) -> Any:
    """Collect the terms of a sum by the functions in them.

    Examples
    --------
    >>> import sympy as sp
    >>> x = sp.Symbol("x")
    >>> collected((2 * sp.sin(x) / x**2 - sp.sin(x) - 2 * sp.cos(x) / x) / x)
    (-2*x*cos(x) + (2 - x**2)*sin(x))/x**3
    """
    covered, back = _covered(e)
    above, below = sp.fraction(sp.together(covered), exact=True)
    above = sp.expand(above)
    by = [f for f in above.atoms(sp.Dummy) if sum(t.has(f) for t in above.args) > 1]
    if not above.is_Add or not by:
        return e
    found = sp.collect(above, sorted(by, key=lambda f: f.name), sp.factor_terms)
    return (sp.factor_terms(found) / below).xreplace(back)


def _covered(e: Any) -> tuple[Any, dict[sp.Dummy, Any]]:
    """Put symbols in the place of functions, and return what they stand for."""
    back: dict[sp.Dummy, Any] = {}

    def walk(a: Any) -> Any:
        if isinstance(a, sp.Function):
            mark = next((m for m, f in back.items() if f == a), sp.Dummy(sp.sstr(a)))
            back[mark] = a
            return mark
        return a.func(*map(walk, a.args)) if a.args else a

    return walk(e), back

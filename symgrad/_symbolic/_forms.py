"""Equal forms of a formula that SymPy's own simplifications do not reach.

Each function returns a form of its operand that may be shorter; which of all is taken is
decided elsewhere. Operands are plain: sums over indices and elements have become symbols.
Minus signs are put where nobody has to read them: ``-(y - s)*x`` is ``(s - y)*x``.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from ._binders import cases


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


def without_signs(e: Any) -> Any:
    """Return a formula with fewer minus signs.

    One in front of a product, or of a sum over an index, goes into a difference among the factors.
    What begins with a positive number stays: ``-s*(1 - s)`` is what people write.

    Examples
    --------
    >>> import sympy as sp
    >>> x, y, s = sp.symbols("x y s")
    >>> without_signs(-x * (y - s)), without_signs(-x * (1 - s)), without_signs(-x * (s - 1))
    (x*(s - y), -x*(1 - s), x*(1 - s))
    >>> without_signs(-((x - y) * sp.exp(x - y)))
    -(x - y)*exp(x - y)
    """
    if isinstance(e, sp.Piecewise):
        return cases(*((without_signs(v), c) for v, c in e.args), evaluate=False)
    if isinstance(e, sp.Sum):
        return e.func(without_signs(e.function), *e.limits)
    if not isinstance(e, (sp.Add, sp.Mul, sp.Pow, sp.Function)) or isinstance(e, sp.KroneckerDelta):
        return e
    args = [without_signs(a) if isinstance(a, sp.Expr) else a for a in e.args]
    if any(new is not old for new, old in zip(args, e.args, strict=True)):
        e = e.func(*args)
    if e.is_Mul and e.as_coeff_Mul()[0].is_negative:
        turned = _turned(e)
        return e if turned is None else -turned
    return e


def one_way_round(e: Any) -> Any:
    """Write squares of a difference that occurs both ways round in one way.

    Examples
    --------
    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> one_way_round((x - y) * sp.exp(-((y - x) ** 2)))
    (x - y)*exp(-(x - y)**2)
    """
    sums = e.atoms(sp.Add)
    swap: dict[Any, Any] = {}
    for power in e.atoms(sp.Pow):
        if power.base.is_Add and power.exp.is_even and -power.base in sums:
            squared = (-power.base) ** power.exp
            if not e.has(squared) or power.base.could_extract_minus_sign():
                swap[power] = squared
    return e.xreplace(swap)


def as_in(e: Any, original: Any) -> Any:
    """Write squares of differences as the original does.

    Examples
    --------
    >>> import sympy as sp
    >>> x, y = sp.symbols("x y")
    >>> as_in(2 * (y - x) ** 4, (x - y) ** 2)
    2*(x - y)**4
    """
    sums = original.atoms(sp.Add)
    swap: dict[Any, Any] = {
        a: (-a.base) ** a.exp
        for a in e.atoms(sp.Pow)
        if a.base.is_Add and a.exp.is_even and a.base not in sums and -a.base in sums
    }
    return e.xreplace(swap)


def _turned(e: Any) -> Any:
    """Return minus a formula, written with no more signs; None where it would have more."""
    if isinstance(e, sp.Sum):
        body = _turned(e.function)
        return None if body is None else e.func(body, *e.limits)
    if e.is_Add:
        numbers = [a for a in e.args if a.is_number]
        if any(n.is_positive for n in numbers):
            return None
        minus = any(_negative(a) for a in e.args)
        return sp.Add(*(-a for a in e.args)) if minus else None
    coefficient, factors = e.as_coeff_mul()
    if e.is_Mul and len(factors) == 1 and factors[0].is_Add and coefficient == -1:
        return factors[0]  # SymPy leaves -(x + y) as it is where it was factored out
    if e.is_Mul:
        for k, factor in enumerate(factors):
            turned = _turned(factor)
            if turned is not None:
                product = sp.Mul(coefficient, *factors[:k], turned, *factors[k + 1 :])
                return None if _both_ways(product) else product
    return None


def _both_ways(e: Any) -> bool:
    """Tell whether a difference occurs both ways round, as in ``(x - y)*(y - x)``."""
    one = sp.Symbol("i", integer=True)
    sums = {
        a.xreplace({s: one for s in a.free_symbols if s.is_integer})
        for a in e.atoms(sp.Add)
        if not all(s.is_integer for s in a.free_symbols)
    }
    return any(sp.Add(*(-term for term in a.args)) in sums for a in sums)


def _negative(e: Any) -> bool:
    return bool(e.as_coeff_Mul()[0].is_negative)

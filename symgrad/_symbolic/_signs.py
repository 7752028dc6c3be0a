"""Minus signs, put where nobody has to read them: ``-(y - s)*x`` is ``(s - y)*x``."""

from __future__ import annotations

from typing import Any

import sympy as sp


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
    """
    if isinstance(e, sp.Piecewise):
        return sp.Piecewise(*((without_signs(v), c) for v, c in e.args), evaluate=False)
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
                return sp.Mul(coefficient, *factors[:k], turned, *factors[k + 1 :])
    return None


def _negative(e: Any) -> bool:
    return bool(e.as_coeff_Mul()[0].is_negative)

"""What keeps SymPy from writing out enormous exact numbers.

SymPy evaluates constants exactly and raises the rational factors of a base to any integer
power. Both can take forever from a few characters of text, so sizes are estimated before
an expression is built, and checked after.
"""

from __future__ import annotations

import math

import sympy as sp

# An exact number must have a double value; a power may briefly be a little larger.
MAX_BITS = 1024
MAX_POWER_BITS = 4096
# Roots of larger integers are left to floating point: SymPy looks for factors in them, and
# in the products of all roots of one product.
MAX_ROOT_BITS = 64
MAX_ROOTS_BITS = 2048


def power_bits(base: sp.Expr) -> float:
    """The size in bits of the rational factors that SymPy raises to a power with ``base``."""
    most, waiting = 0.0, [(base, 1.0)]
    while waiting:
        part, times = waiting.pop()
        if isinstance(part, sp.Rational):
            most = max(most, times * _bits(part))
        elif isinstance(part, sp.Mul):
            waiting.extend((factor, times) for factor in part.args)
        elif isinstance(part, sp.Pow) and isinstance(part.exp, sp.Number):
            waiting.append((part.base, times * abs(float(part.exp))))
    return most


def exp_bits(exponent: sp.Expr) -> float:
    """The same for ``exp(n*log(base))``, which SymPy turns into ``base**n``."""
    most = 0.0
    for term in sp.Add.make_args(exponent):
        number, rest = term.as_coeff_Mul()
        for factor in sp.Mul.make_args(rest):
            if isinstance(factor, sp.log):
                most = max(most, abs(float(number)) * power_bits(factor.args[0]))
    return most


def roots_bits(factors: list[sp.Expr]) -> int:
    """The size in bits of the product of all numbers under roots among the factors."""
    total = 0
    for factor in factors:
        for part in sp.Mul.make_args(factor):
            if isinstance(part, sp.Pow) and isinstance(part.base, sp.Rational):
                total += _bits(part.base)
    return total


def fault(expression: sp.Basic, *, deep: bool = False) -> str | None:
    """Why a freshly built expression cannot be used, or None.

    Looks at the expression and its direct operands, which suffices after one construction
    step, or (``deep``) at all of it.
    """
    parts = sp.preorder_traversal(expression) if deep else (expression, *expression.args)
    for part in parts:
        if part in (sp.zoo, sp.oo, -sp.oo, sp.nan):
            return "division by zero, or a value that is not finite"
        if part is sp.I:
            return "this is imaginary for every real value of the symbols"
        if isinstance(part, sp.Rational) and _bits(part) > MAX_BITS:
            return "the exact numbers in this expression grow beyond the range of doubles"
        if isinstance(part, sp.Float) and math.isinf(float(part)):
            return "this constant is larger than any double, 1.8e308"
    return None


def _bits(number: sp.Rational) -> int:
    size = max(abs(int(number.p)), int(number.q))
    return size.bit_length() if size > 1 else 0

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
# Forms such as tanh(acosh(x)) = sqrt(x - 1)*sqrt(x + 1)/x repeat their argument: nested, they
# would grow exponentially. The longest text without them has fewer parts than this.
MAX_NODES = 20_000
# A constant with more parts than this is taken as its double: SymPy's exact comparison of
# nested roots takes time exponential in their depth.
MAX_CONSTANT_NODES = 24
# Terms of a sum, with those of the sums in it, whose limits are numbers.
MAX_TERMS = 1_000_000
# Terms of all sums of numbers alone, which are added one by one while the text is read.
MAX_CONSTANT_TERMS = 1_000


class TooLargeError(Exception):
    """An expression that SymPy would take too long to build; the message says why."""


def power_bits(base: sp.Expr, exponent: sp.Expr = sp.S.One) -> float:
    """The size in bits of the numbers that ``base**exponent`` may come to.

    SymPy raises the rational factors of a base to the rational factor of the exponent.
    Symbols in the exponent do not protect from that, since they may cancel later, as in
    ``(2**x)**(10**9/x)``.
    """
    most, waiting = 0.0, [(base, _scale(exponent))]
    while waiting:
        part, times = waiting.pop()
        if isinstance(part, sp.Rational):
            most = max(most, times * _bits(part))
        elif isinstance(part, sp.Mul):
            waiting.extend((factor, times) for factor in part.args)
        elif isinstance(part, sp.Pow):
            waiting.append((part.base, times * _scale(part.exp)))
        elif isinstance(part, sp.exp):
            # exp(n*log(b)) becomes b**n.
            for term in sp.Add.make_args(part.args[0]):
                waiting.extend(
                    (factor.args[0], times * _scale(term))
                    for factor in sp.Mul.make_args(term)
                    if isinstance(factor, sp.log)
                )
    return most


def check_numbers(expression: sp.Basic) -> None:
    """Refuse an expression whose numbers are too large to be written out.

    Raises
    ------
    TooLargeError
        A number, or a power of one that SymPy may write out at any step, is too large.
    """
    # By identity: to compare formulas takes time in proportion to them.
    seen: dict[int, sp.Basic] = {}
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        powers = isinstance(part, (sp.Rational, sp.Pow, sp.exp))
        if powers and power_bits(part) > MAX_POWER_BITS:
            raise TooLargeError(
                f"a number in the formula would have more than {MAX_POWER_BITS} binary digits; "
                "write sympy.Float for it"
            )
        waiting.extend(part.args)


def roots_bits(factors: list[sp.Expr]) -> int:
    """The size in bits of the product of all numbers under roots among the factors."""
    total = 0
    for factor in factors:
        for part in sp.Mul.make_args(factor):
            if isinstance(part, sp.Pow) and isinstance(part.base, sp.Rational):
                total += _bits(part.base)
    return total


def check(expression: sp.Basic) -> int:
    """Count the parts of a freshly built expression.

    Raises
    ------
    TooLargeError
        It, or a number in it, has become too large.
    ValueError
        It is not finite, or not real, for any values of the symbols.
    """
    count, waiting = 0, [expression]
    while waiting:
        part = waiting.pop()
        count += 1
        if count > MAX_NODES:
            raise TooLargeError("SymPy's form of this expression has too many parts")
        if part in (sp.zoo, sp.oo, -sp.oo, sp.nan):
            raise ValueError("division by zero, or a value that is not finite")
        if part is sp.I:
            raise ValueError("it is imaginary for every value of the symbols")
        if isinstance(part, sp.Rational) and _bits(part) > MAX_BITS:
            raise TooLargeError(
                "the exact numbers in this expression grow beyond the range of doubles"
            )
        if isinstance(part, sp.Float) and math.isinf(float(part)):
            raise OverflowError
        if isinstance(part, sp.Integral):
            ends = [end for _, *ends in part.limits for end in ends if not end.is_infinite]
            waiting.extend((part.function, *ends))
        else:
            waiting.extend(part.args)
    return count


def _bits(number: sp.Rational) -> int:
    size = max(abs(int(number.p)), int(number.q))
    return size.bit_length() if size > 1 else 0


def _scale(exponent: sp.Expr) -> float:
    return max(abs(float(term.as_coeff_Mul()[0])) for term in sp.Add.make_args(exponent))

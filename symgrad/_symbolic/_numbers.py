"""Numbers of a program as SymPy's: exactly, or as a reader expects them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp

from .._parse import TooLargeError, check_numbers
from ..errors import UnsupportedError


def exact_number(value: Any) -> Any:
    """Return a NumPy scalar as the rational number that it is."""
    if value.dtype.kind == "b":
        return sp.true if value else sp.false
    if value.dtype.kind != "f":
        return sp.Integer(int(value))
    if not math.isfinite(value):
        return sp.nan if math.isnan(value) else sp.oo if value > 0 else -sp.oo
    return sp.Rational(*float(value).as_integer_ratio())


#: Denominators up to this are written as fractions: 0.5 as 1/2, but 0.1 stays a decimal.
FRACTIONS = 64


@lru_cache(maxsize=1)
def constants() -> Mapping[Any, float]:
    """Return what a double is taken for that equals it to the last place.

    1/np.sqrt(2) rounds twice.
    """
    roots = (sp.E, sp.sqrt(2), sp.sqrt(3), sp.sqrt(sp.pi), sp.sqrt(2 * sp.pi), sp.log(2),
             sp.log(10))  # fmt: skip
    return {e: float(e) for root in roots for e in (root, 1 / root, 2 / root)}


def readable_number(value: Any) -> Any:
    """Return a NumPy scalar as a reader expects it: a fraction, a constant or a decimal."""
    exact = exact_number(value)
    if not isinstance(exact, sp.Rational) or exact.q <= FRACTIONS:
        return exact
    if value.dtype.itemsize < 8:
        # As many digits as the type has: float32's 0.1 is 0.1, not 0.100000001490116.
        return sp.Float(str(value), 15)
    number = float(value)
    turns = Fraction(number / math.pi).limit_denominator(FRACTIONS)
    if _is_last_place(turns.numerator * math.pi / turns.denominator, number):
        return sp.Rational(turns.numerator, turns.denominator) * sp.pi
    for known, double in constants().items():
        if _is_last_place(double, abs(number)):
            return known if number > 0 else -known
    return sp.Float(str(value), 15)


def _is_last_place(x: float, y: float) -> bool:
    return abs(x - y) <= math.ulp(y)


def refuse_large_numbers(expression: Any) -> None:
    """Refuse a formula of the user's with numbers that no double holds, nor anybody reads.

    Raises
    ------
    UnsupportedError
        If there is one, or SymPy would write one out as soon as it evaluates the formula.
    """
    try:
        check_numbers(expression)
    except TooLargeError as error:
        raise UnsupportedError(str(error)) from None

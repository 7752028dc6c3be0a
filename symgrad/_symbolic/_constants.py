"""Numbers and arrays of numbers inside a function, as a reader expects them.

``0.01*np.eye(n)`` is ``KroneckerDelta(i, j)/100`` to a reader, ``np.arange(n)`` is ``i``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
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


#: Shorter arrays are not taken for ranges: two numbers always are one.
LONG = 3

#: Positions in arrays of up to so many are written out.
MOST = 12


def as_formula(array: Any, index: tuple[Any, ...], literal: Callable[[Any], Any]) -> Any:
    """Return element ``index`` of an array of numbers as a formula, or None if there is none.

    Parameters
    ----------
    array:
        A NumPy array.
    index:
        One formula for each axis.
    literal:
        Makes a SymPy number of a NumPy scalar.

    Examples
    --------
    >>> import sympy as sp
    >>> i, j = sp.symbols("i j", integer=True, nonnegative=True)
    >>> as_formula(np.eye(3) * 2, (i, j), int), as_formula(np.arange(5, 20, 3), (i,), int)
    (2*KroneckerDelta(i, j), 3*i + 5)
    """
    if array.size == 0:
        return None
    first = array.flat[0]
    if np.all(array == first):
        return literal(first)
    if array.ndim == 1:
        return _of_range(array, index[0], literal)
    return _of_matrix(array, index[0], index[1], literal) if array.ndim == 2 else None


def _of_range(array: Any, i: Any, literal: Callable[[Any], Any]) -> Any:
    if array.dtype.kind == "b":
        places = np.flatnonzero(array)
        return sp.Or(*(sp.Eq(i, int(k)) for k in places)) if len(places) <= MOST else None
    steps = np.diff(array)
    if np.array_equal(array, np.arange(array.size)):
        return i
    if array.size >= LONG and np.all(steps == steps[0]):
        return literal(array[0]) + literal(steps[0]) * i
    if array.dtype.kind != "f" and array.size <= MOST and i.is_Symbol:
        pieces = [(literal(v), sp.Eq(i, k)) for k, v in enumerate(array[:-1])]
        return sp.Piecewise(*pieces, (literal(array[-1]), True))
    return None


def _of_matrix(array: Any, i: Any, j: Any, literal: Callable[[Any], Any]) -> Any:
    rows, columns = np.indices(array.shape, sparse=True)
    diagonal, around = array[rows == columns], array[rows != columns]
    if array.dtype.kind == "b":
        return None
    if around.size and np.all(around == around[0]) and np.all(diagonal == diagonal[0]):
        return literal(diagonal[0] - around[0]) * sp.KroneckerDelta(i, j) + literal(around[0])
    for inside, condition in (
        (rows >= columns, i >= j), (rows <= columns, i <= j),
        (rows > columns, i > j), (rows < columns, i < j),
    ):  # fmt: skip
        values = array[inside]
        if values.size and np.all(values == values[0]) and not array[~inside].any():
            return sp.Piecewise((literal(values[0]), condition), (0, True))
    return None

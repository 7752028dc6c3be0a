"""Power series through products, quotients, roots and powers.

A series is a list of coefficients, of which None is zero. Each rule gives coefficient ``k >= 1`` of
the result ``y`` from the coefficients before it and from the operands' up to ``k``.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, table 13.1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Coefficients = Sequence[Any]

#: Up to this power of a series it is a product of some.
HIGHEST_PRODUCT = 1024

#: How many coefficients of a series count as just found where products are added.
NEWEST = 2


def added(terms: Sequence[Any]) -> Any:
    """Return the sum of the terms that are not zero, in pairs: a short way for errors."""
    terms = [x for x in terms if x is not None]
    while len(terms) > 1:
        pairs = list(zip(terms[::2], terms[1::2], strict=False))
        terms = [a + b for a, b in pairs] + terms[2 * len(pairs) :]
    return terms[0] if terms else None


def convolved(
    x: Coefficients, y: Coefficients, k: int, product: Callable[..., Any] = operator.mul
) -> Any:
    """Return the sum of ``product(x[j], y[k - j])`` over j from 0 to k.

    Products of coefficients that have just been found come last, one by one: the sum of the others
    is there before them, so the way from order to order is short.
    """

    def at(j: int) -> Any:
        a, b = x[j], y[k - j]
        return None if a is None or b is None else product(a, b)

    newest = min(NEWEST, (k + 1) // 2)
    total = added([at(j) for j in range(newest, k + 1 - newest)])
    for j in reversed(range(newest)):
        total = added([added([total, at(k - j)]), at(j)])
    return total


def square(k: int, y: Coefficients, x: Coefficients) -> Any:
    """Return coefficient ``k`` of ``x**2``, each product once."""
    pairs = ((x[j], x[k - j]) for j in range(1, (k + 1) // 2))
    half = added([a * b for a, b in pairs if a is not None and b is not None])
    middle = x[k // 2] if k % 2 == 0 else None
    inner = added([
        None if half is None else half + half, None if middle is None else middle * middle,
    ])  # fmt: skip
    newest = None if k == 0 or x[0] is None or x[k] is None else (x[0] + x[0]) * x[k]
    return added([inner, newest])


def product(k: int, z: Coefficients, x: Coefficients, y: Coefficients) -> Any:
    """Return coefficient ``k`` of ``x*y``."""
    return square(k, z, x) if x[0] is y[0] else convolved(x, y, k)


def quotient(k: int, z: Coefficients, x: Coefficients, y: Coefficients) -> Any:
    """Return coefficient ``k`` of ``z = x/y``, by ``z*y = x``."""
    rest = convolved([*z[:k], None], [None, *y[1:]], k)
    left = added([x[k], None if rest is None else -rest])
    return None if left is None else left / y[0]


def root(k: int, y: Coefficients, x: Coefficients) -> Any:
    """Return coefficient ``k`` of ``y = sqrt(x)``, by ``y*y = x``; of zero it is zero."""
    rest = square(k, y, [None, *y[1:k], None])
    left = added([x[k], None if rest is None else -rest])
    return None if left is None else np.where(left == 0, 0.0, left / (2.0 * y[0]))


def power(k: int, z: Coefficients, x: Coefficients, y: Coefficients) -> Any:
    """Return coefficient ``k`` of ``z = x**y`` for a constant ``y``, by ``x*z' = y*z*x'``."""
    exponent = y[0]
    slopes = [None if a is None else (exponent * j - (k - j)) * a for j, a in enumerate(x)]
    total = convolved([None, *slopes[1:]], [*z[:k], None], k)
    if total is None:
        return None
    return np.where(x[0] == 0, _power_of_zero(k, z, x, exponent), total / (k * x[0]))


def _power_of_zero(k: int, z: Coefficients, x: Coefficients, y: Any) -> Any:
    """Return coefficient ``k`` of ``x**y`` where ``x[0]`` is zero, nan where there is none.

    The first that is not zero is that of order y; those behind it follow from the same equation,
    by its coefficient one order later.
    """
    known: Any = np.nan
    if x[1] is not None:
        terms = [None if a is None else (y * j - (k + 1 - j)) * a for j, a in enumerate(x)]
        later = convolved([None, None, *terms[2:], None], [*z[:k], None, None], k + 1)
        whole = 0.0 if later is None else later / ((k - y) * x[1])
        known = np.where(k == y, x[1] ** y, np.where((y > 0) & (np.floor(y) == y), whole, np.nan))
    return np.where((k < y) | (y == 0), 0.0, known)


def power_formula(moving: Sequence[bool], x: Any, y: Any) -> Any:
    """Return ``x**y`` in other ops where the exponent is a small number, or varies."""
    if moving[1]:
        return np.exp(y * np.log(x))
    if not isinstance(y, float):
        return None
    whole = abs(y)
    if whole > HIGHEST_PRODUCT or whole != int(whole):
        return np.sqrt(x) if y == 0.5 else None
    found, factor, rest = None, x, int(whole)
    while rest:
        if rest % 2:
            found = factor if found is None else found * factor
        factor, rest = factor * factor, rest // 2
    if found is None:
        return np.ones_like(x)
    return 1.0 / found if y < 0 else found

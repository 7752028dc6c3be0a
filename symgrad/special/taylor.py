"""Taylor polynomials: lists of coefficients, of which what is missing at the end is 0.

Every coefficient is a number, an array, or traced. An algorithm that is carried out on Taylor
polynomials of an argument computes all its derivatives by it.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2008, chapter 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp


def series_sum(*terms: Any) -> Any:
    """The sum of Taylor polynomials, each a list of coefficients; what is missing is 0."""
    longest: Any = max(terms, key=len)
    total = list(longest)
    for k in range(len(total)):
        found = [t[k] for t in terms if k < len(t)]
        total[k] = found[0]
        for value in found[1:]:
            total[k] = total[k] + value
    return total


def series_product(a: Any, b: Any, count: int) -> Any:
    """The first ``count`` coefficients of a product, at most."""
    product = []
    for k in range(min(count, len(a) + len(b) - 1)):
        first, last = max(0, k - len(b) + 1), min(k, len(a) - 1)
        total = a[first] * b[k - first]
        for i in range(first + 1, last + 1):
            total = total + a[i] * b[k - i]
        product.append(total)
    return product


def series_root(a: Any, count: int) -> Any:
    """The square root; of a number 0 too, but not of a polynomial with 0 in front."""
    root = [np.sqrt(a[0])]
    for k in range(1, count if len(a) > 1 else 1):
        rest = a[k] if k < len(a) else 0.0
        for i in range(1, k):
            rest = rest - root[i] * root[k - i]
        root.append(0.5 * rest / root[0])
    return root


def series_quotient(a: Any, b: Any, count: int) -> Any:
    """The first ``count`` coefficients of a quotient."""
    quotient = [a[0] / b[0]]
    for k in range(1, count if len(a) + len(b) > 2 else 1):
        rest = a[k] if k < len(a) else 0.0
        for i in range(1, min(k, len(b) - 1) + 1):
            rest = rest - b[i] * quotient[k - i]
        quotient.append(rest / b[0])
    return quotient


def log_derivatives(scores: Any) -> Any:
    """The n-th derivative of a function over it, by n derivatives of its logarithm, and the last.

    These are complete Bell polynomials, beginning with 0 and 1.
    """
    found: Any = [0.0, 1.0]
    for n in range(len(scores)):
        rest = 0.0
        for k in range(1, n + 1):
            rest = rest + float(math.comb(n, k)) * scores[k] * found[n - k + 1]
        found.append(scores[0] * found[-1] + rest)
    return found[-1], found[-2]


SERIES = (series_sum, series_product, series_root, series_quotient)


def form_of_order(form: Callable[[Any], Any], x: Any, order: int) -> Any:
    """A derivative of the formula ``form(x)`` by x, for any x."""
    if not order:
        return form(x)
    at = sp.Dummy("x", real=True)
    with sp.evaluate(True):  # printers ask for forms as they are written, of which there is none
        return sp.diff(form(at), at, order).xreplace({at: x})

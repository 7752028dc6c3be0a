"""The incomplete gamma function and its inverse, by a series or a continued fraction of one sign.

SciPy's change between methods loses up to 150 ulp close to x = 1, and the inverses inherit it.

Source: NIST Digital Library of Mathematical Functions, 8.7.1 and 8.9.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from .fallback import elsewhere
from .stirling import STIRLING, gamma_density


def gamma_shares(a: Any, x: Any) -> Any:
    """The regularized incomplete gamma function and its complement, for a <= 8.

    Left of max(a, 1.25) the series of the first, right of it the fraction of the second.
    """
    left = x < np.maximum(a, 1.25)
    at = np.where(left, x, 1.0)
    rest = 0.0 * x
    for k in range(44, 0, -1):
        rest = at / (a + k) * (1.0 + rest)
    at = np.where(left, 9.0, x)
    low = at - a
    tail = low + 133.0
    for k in range(66, 0, -2):  # two steps with one division
        inner = (low + (2.0 * k - 1.0)) * tail - k * (k - a)
        tail = (low + (2.0 * k - 3.0)) - (k - 1.0) * (k - 1.0 - a) * tail / inner
    density = gamma_density(np.where(left, a + 1.0, a), x)
    found = density * np.where(left, 1.0, at / tail)
    found = np.where(left, found + found * rest, found)
    return np.where(left, found, 1.0 - found), np.where(left, 1.0 - found, found)


def gamma_share(
    a: Any, x: Any, other: Callable[..., Any] = sc.gammainc, upper: bool = False
) -> Any:
    """The regularized incomplete gamma function, or its complement."""
    a, x = np.float64(1.0) * a, np.float64(1.0) * x
    inside = (a >= 1e-3) & (a <= 8) & (x >= 1e-30) & (x <= 700)
    if upper:  # what is left of 1 is not known better for small a
        inside = inside & ((a >= 0.3) | (x >= 1.25))
    shares = gamma_shares(np.where(inside, a, 1.0), np.where(inside, x, 1.0))
    return np.where(inside, shares[upper], elsewhere(other, inside, a, x))


def gamma_quantile(a: Any, y: Any, other: Callable[..., Any], upper: bool = False) -> Any:
    """The inverse of one of them: SciPy's, and a step of Newton's method by the smaller share."""
    a, y = np.float64(1.0) * a, np.float64(1.0) * y
    found = other(a, y)
    inside = (a >= 0.4) & (a <= 8) & (found >= 1e-30) & (found <= 700) & (y > 0) & (y < 1)
    shape, at = np.where(inside, a, 1.0), np.where(inside, found, 1.0)
    own, rest = gamma_shares(shape, at)[::-1] if upper else gamma_shares(shape, at)
    gap = np.where(y > 0.5, (1.0 - y) - rest, own - y)
    step = gap / gamma_density(shape, at)
    return np.where(inside, found + step if upper else found - step, found)


INCOMPLETE = (*STIRLING, gamma_density, elsewhere, gamma_shares)

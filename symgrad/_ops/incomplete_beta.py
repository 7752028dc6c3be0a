"""The incomplete beta function and its inverse, by a continued fraction.

Source: NIST Digital Library of Mathematical Functions, 8.17.22.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from .fallback import elsewhere
from .stirling import STIRLING, beta_density


def beta_fraction(a: Any, b: Any, x: Any) -> Any:
    """The continued fraction of the incomplete beta function for x < (a + 1)/(a + b + 2)."""
    tail = 1.0 + 0.0 * x
    for k in range(20, 0, -1):
        above, below = (a + (2.0 * k + 1.0)) * tail, a + (2.0 * k - 1.0)
        inner = (a + 2.0 * k) * above - (a + k) * (a + b + k) * x
        tail = 1.0 + k * (b - k) * x * above / (below * inner)
    return 1.0 / (1.0 - (a + b) * x / (a + 1.0) / tail)


def beta_shares(a: Any, b: Any, x: Any, density: Any) -> Any:
    """The regularized incomplete beta function and its complement."""
    left = x < (a + 1.0) / (a + b + 2.0)
    first, second = np.where(left, a, b), np.where(left, b, a)
    mass = density * (x * (1.0 - x)) / first
    found = mass * beta_fraction(first, second, np.where(left, x, 1.0 - x))
    return np.where(left, found, 1.0 - found), np.where(left, 1.0 - found, found)


def beta_share(
    a: Any, b: Any, x: Any, other: Callable[..., Any] = sc.betainc, upper: bool = False
) -> Any:
    """The regularized incomplete beta function, or its complement."""
    a, b, x = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * x
    inside = (a >= 0.2) & (a <= 8) & (b >= 0.2) & (b <= 8) & (x >= 1e-10) & (x <= 1 - 1e-10)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    at = np.where(inside, x, 0.5)
    shares = beta_shares(first, second, at, beta_density(first, second, at))
    return np.where(inside, shares[upper], elsewhere(other, inside, a, b, x))


def beta_quantile(a: Any, b: Any, y: Any, other: Callable[..., Any], upper: bool = False) -> Any:
    """The inverse of one of them: SciPy's, and a step of Newton's method by the smaller share."""
    a, b, y = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * y
    found = other(a, b, y)
    inside = (a >= 0.2) & (a <= 8) & (b >= 0.2) & (b <= 8)
    inside = inside & (found >= 1e-10) & (found <= 1 - 1e-10) & (y > 0) & (y < 1)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    at, share = np.where(inside, found, 0.5), np.where(inside, y, 0.5)
    density = beta_density(first, second, at)
    shares = beta_shares(first, second, at, density)
    own, rest = shares[::-1] if upper else shares
    step = np.where(share > 0.5, (1.0 - share) - rest, own - share) / density
    return np.where(inside, found + step if upper else found - step, found)


INCOMPLETE_BETA = (*STIRLING, beta_density, elsewhere, beta_fraction, beta_shares)

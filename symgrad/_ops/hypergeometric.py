"""Hypergeometric series of one sign, or nearly.

SciPy's hyp1f1 loses up to 800 ulp for parameters close to each other or to whole numbers, and its
hyp0f1 goes by Bessel functions.

Source: NIST Digital Library of Mathematical Functions, 13.2.2, 13.2.39 and 16.2.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from .fallback import elsewhere


def confluent(a: Any, b: Any, x: Any, other: Callable[..., Any] = sc.hyp1f1) -> Any:
    """Kummer's function, for negative x by his transformation unless its terms fall at once."""
    a, b, x = np.float64(1.0) * a, np.float64(1.0) * b, np.float64(1.0) * x
    inside = (a > 0) & (a <= 8) & (b >= 0.01) & (b <= 40) & (x >= -6) & (x <= 10)
    first, second = np.where(inside, a, 1.0), np.where(inside, b, 1.0)
    at = np.where(inside, x, 0.0)
    turned = first * at < -0.5 * second
    first, along = np.where(turned, second - first, first), np.fabs(at)
    along = np.where((at < 0) & ~turned, at, along)
    total = 1.0 + 0.0 * at
    for k in range(55, -1, -1):
        total = 1.0 + (first + k) * along / ((second + k) * (k + 1.0)) * total
    found = np.where(turned, np.exp(np.where(turned, at, 0.0)) * total, total)
    return np.where(inside, found, elsewhere(other, inside, a, b, x))


def limit_function(b: Any, x: Any, other: Callable[..., Any] = sc.hyp0f1) -> Any:
    """The confluent hypergeometric limit function."""
    b, x = np.float64(1.0) * b, np.float64(1.0) * x
    inside = (b >= 0.01) & (x >= -4) & (x <= 16)
    order, at = np.where(inside, b, 1.0), np.where(inside, x, 0.0)
    total = 1.0 + 0.0 * at
    for k in range(25, -1, -1):
        total = 1.0 + at / ((order + k) * (k + 1.0)) * total
    return np.where(inside, total, elsewhere(other, inside, b, x))

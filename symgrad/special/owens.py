"""Owen's T function as a mean of its integrand, which is positive.

By Gauss's formula with 24 nodes, exact to a double for bounds up to 2.

Source: D. B. Owen, Tables for computing bivariate normal probabilities, Annals of Mathematical
Statistics 27, 1956.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Evidence, Op, Real, Words
from .._core.ops.pairs import (
    pair_exponential,
    pair_product,
    pair_quotient,
    pair_sum,
    two_product,
    two_sum,
)
from . import multiple_precision as precisely
from .elliptic import GAUSS
from .normal import DENSITY
from .records import boxed, elsewhere


def owens_by_height(h: Any, a: Any) -> Any:
    """The derivative by h: a density times ``-erf(h*a/sqrt(2))/2``."""
    h, a = np.float64(1.0) * h, np.float64(1.0) * a
    inside = (np.fabs(h) <= 30) & (np.fabs(a) <= 1e6)
    height, bound = np.where(inside, h, 0.0), np.where(inside, a, 1.0)
    half = 0.7071067811865476, -4.833646656726457e-17  # 1/sqrt(2), a pair
    high, low = pair_product(two_product(height, bound), half)
    share = sc.erf(high), 1.1283791670955126 * low * np.exp(-high * high)
    factor = pair_product(share, (-0.19947114020071635, 1.246163601138865e-17))  # 1/sqrt(8*pi)
    square = two_product(height, height)
    found = pair_exponential((-0.5 * square[0], -0.5 * square[1]), factor)
    far = np.exp(-0.5 * np.square(h)) * sc.erf(h * a * half[0]) * -0.19947114020071635
    return np.where(inside, found, far)


def owens_t(h: Any, a: Any, other: Callable[..., Any] = sc.owens_t, slope: int = 0) -> Any:
    """The integral of ``exp(-h*h*(1 + t*t)/2)/(1 + t*t)/(2*pi)`` for t from 0 to a.

    With a slope its derivative by h (1) or a (2).
    """
    if slope == 1:
        return owens_by_height(h, a)
    h, a = np.float64(1.0) * h, np.float64(1.0) * a
    inside = (np.fabs(h) <= 30) & (np.fabs(a) <= (1e6 if slope else 2.0))
    height, bound = np.where(inside, h, 0.0), np.where(inside, a, 1.0)
    square = two_product(height, height)
    over = 0.15915494309189535, -9.839338337591243e-18  # 1/(2*pi), a pair
    if slope:
        one_more = pair_sum((1.0, 0.0), two_product(bound, bound))
        exponent = pair_product(square, one_more)
        factor = pair_quotient(over, one_more)
        far = np.exp(-0.5 * np.square(h) - 0.5 * np.square(h * a)) / (1.0 + np.square(a))
        beyond = far / (2.0 * math.pi)
    else:
        total = 0.0 * bound, 0.0 * bound
        for node, weight in GAUSS:
            t = np.square(node * bound)
            high, low = two_sum(weight * np.exp(-0.5 * square[0] * t) / (1.0 + t), total[0])
            total = high, total[1] + low
        exponent = square
        factor = pair_product(over, pair_product((bound, 0.0), total))
        beyond = elsewhere(other, inside, h, a)
    found = pair_exponential((-0.5 * exponent[0], -0.5 * exponent[1]), factor)
    return np.where(inside, found, beyond)


def _owens_t_partials(y: Any, h: Any, a: Any, slope: int = 0) -> Any:
    if slope == 0:
        return OWENS_T(h, a, slope=1), OWENS_T(h, a, slope=2)
    if slope == 1:
        return -h * y - DENSITY(h) * DENSITY(h * a) * a, -h * DENSITY(h) * DENSITY(h * a)
    return -h * (1 + a * a) * y, -a * (h * h + 2 / (1 + a * a)) * y


def _owens_t_form(h: Any, a: Any, slope: int = 0) -> Any:
    if slope == 0:
        return sp.Function("OwensT")(h, a)
    if slope == 1:
        return -sp.exp(-h * h / 2) * sp.erf(h * a / sp.sqrt(2)) / sp.sqrt(8 * sp.pi)
    return sp.exp(-h * h * (1 + a * a) / 2) / (2 * sp.pi * (1 + a * a))


OWENS_T: Op = boxed(
    "OwensT", sc.owens_t, owens_t, (Real, Real), None, _owens_t_partials,
    Evidence(samples=((0.2, 2), (0.2, 2)), ulp=64.0, precise=precisely.owens_t),
    Words("Owen's T function.", reading=_owens_t_form), slopes=2,
)  # fmt: skip

"""Struve functions by their power series, of which the first terms are summed in pairs.

Source: NIST Digital Library of Mathematical Functions, 11.2 and 11.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import HIGHEST, Evidence, Op, Positive, Real, Words, registry
from .._core.ops.pairs import pair_product, pair_quotient, pair_sum, two_product, two_sum
from . import multiple_precision as precisely
from .differences import polygamma
from .records import boxed, elsewhere, falling_power, in_doubles


def struve_series(v: Any, x: Any, other: Callable[..., Any], sign: float, slope: int) -> Any:
    """The sum of ``sign**k*(x/2)**(2*k + v + 1)/(gamma(k + 3/2)*gamma(k + v + 3/2))``.

    With a slope (2) its derivative: each term times 2*k + v + 1, over x. SciPy's beyond x = 6.
    """
    v, x = np.float64(1.0) * v, np.float64(1.0) * x
    inside = (v >= -1.4) & (v <= 40) & (x <= 6) & ((x >= 1e-30) | ((x >= 0) & (v >= 0)))
    s, half = np.where(inside, v, 0.0), np.where(inside, 0.5 * x, 0.5)
    square = two_product(half, half)
    square = sign * square[0], sign * square[1]
    weight = two_sum(s, 1.0) if slope else (1.0 + 0.0 * s, 0.0 * s)
    rest = 0.0 * s
    for k in range(30, 8, -1):
        ratio = square[0] / ((k + 1.5) * (s + (k + 1.5)))
        rest = ratio * ((s + (2.0 * k + 3.0) if slope else 1.0) + rest)
    total = two_sum(weight[0] + (18.0 if slope else 0.0), rest)
    for k in range(8, -1, -1):
        below = pair_product(two_sum(s, k + 1.5), (k + 1.5, 0.0))
        total = pair_product(pair_quotient(square, below), total)
        own = pair_sum(weight, (2.0 * k, 0.0)) if slope else weight
        total = pair_sum(own, total)
    # 2/sqrt(pi) as a pair
    total = pair_product(total, (1.1283791670955126, 1.533545961316588e-17))
    # What s + 3/2 loses in rounding changes the gamma function by psi, close to log.
    shape, lost = two_sum(s, 1.5)
    scale = sc.rgamma(shape) * (0.5 if slope else 1.0)
    scale = scale, -scale * lost * (np.log(shape) - 0.5 / shape)
    factor = pair_product(scale, pair_product((half**s, 0.0), total))
    if not slope:
        factor = pair_product((half, 0.0), factor)
    if slope:
        beyond = elsewhere(other, inside, v - 1.0, x) - v / x * elsewhere(other, inside, v, x)
    else:
        beyond = elsewhere(other, inside, v, x)
    return np.where(inside, factor[0] + factor[1], beyond)


def struve(v: Any, x: Any, other: Callable[..., Any] = sc.struve, slope: int = 0) -> Any:
    """Struve's function, or its derivative by x (2)."""
    return struve_series(v, x, other, -1.0, slope)


def modified_struve(
    v: Any, x: Any, other: Callable[..., Any] = sc.modstruve, slope: int = 0
) -> Any:
    """The modified Struve function, or its derivative by x (2)."""
    return struve_series(v, x, other, 1.0, slope)


# ---------------------------------------------------------------- by the order

#: Outside of the box.
CONVENTION = "by the order: nan for v below -1.4 or above 20, and for x below 0.001 or above 10"


def struve_orders(v: Any, x: Any, n: int, sign: float, polygamma: Callable[..., Any]) -> Any:
    """The n-th derivative of the series by v, from Taylor polynomials in v of its two factors.

    The sum goes from the last term on. The logarithmic derivative of ``(x/2)**v/gamma(v + 3/2)`` is
    that of the power less the digamma function.
    """
    inside = (v >= -1.4) & (v <= 20.0) & (x >= 1e-3) & (x <= 10.0)
    shape, half = np.where(inside, v, 0.0) + 1.5, np.where(inside, 0.5 * x, 0.5)
    total = [1.0 + 0.0 * shape, *(0.0 * shape for _ in range(n))]
    for k in range(36, -1, -1):
        ratio = sign * half * half / (k + 1.5)
        for p in range(n + 1):
            rest = ratio * total[p]
            if p:
                rest = rest - total[p - 1]
            total[p] = rest / (shape + float(k))
        total[0] = 1.0 + total[0]
    bend = [
        -polygamma(p, shape) / math.factorial(p) if p else np.log(half) - sc.psi(shape)
        for p in range(n)
    ]
    factor = [half ** (shape - 0.5) * sc.rgamma(shape)]
    for p in range(n):
        factor.append(sum(factor[p - j] * bend[j] for j in range(p + 1)) / (p + 1.0))
    found = sum(total[p] * factor[n - p] for p in range(n + 1))
    scale = math.factorial(n) * 1.1283791670955126  # 2/sqrt(pi)
    return np.where(inside, scale * found, math.nan)


def struve_by_order(
    v: Any, x: Any, order: int = 0, polygamma: Callable[..., Any] = sc.polygamma
) -> Any:
    """The derivative of Struve's function by its order, or a higher one."""
    return struve_orders(v, x, order + 1, -1.0, polygamma)


def modstruve_by_order(
    v: Any, x: Any, order: int = 0, polygamma: Callable[..., Any] = sc.polygamma
) -> Any:
    """The derivative of the modified Struve function by its order, or a higher one."""
    return struve_orders(v, x, order + 1, 1.0, polygamma)


# ---------------------------------------------------------------- records


def _struve(function: np.ufunc, name: str, doc: str, formula: Any, sign: float) -> Op:
    def partials(y: Any, v: Any, x: Any, slope: int = 0) -> tuple[Any, Any]:
        op, by_order = registry.ops[name], registry.ops[f"{name}ByOrder"]
        if not slope:
            return by_order(v, x), op(v, x, slope=2)
        turned = by_order(v - 1.0, x) - v / x * by_order(v, x) - op(v, x) / x
        beyond = op(v - 1, x, slope=2) - v / x * (y - op(v, x) / x)
        return turned, np.where(x < 0.05, first_terms(v, x), beyond)

    def first_terms(v: Any, x: Any) -> Any:
        """The second derivative close to 0, where the others' terms cancel, by four terms."""
        total = 0.0
        for k in range(4):
            scale = sign**k * 0.25 / math.gamma(k + 1.5) * sc.rgamma(v + (k + 1.5))
            total = total + scale * falling_power(0.5 * x, v + (2.0 * k + 1.0), 2)
        return total

    return boxed(
        name, function, formula, (Real, Positive), None, partials,
        Evidence(samples=((0, 3), (0.5, 5)), ulp=512.0,
            precise=getattr(precisely, function.__name__)),
        Words(doc, convention=CONVENTION,
            reading=lambda v, x, slope=0: struve_form(name, v, x, slope)),
        slopes=2,
    )  # fmt: skip


def struve_form(name: str, v: Any, x: Any, slope: int = 0) -> Any:
    """A Struve function, or its derivative, as a formula to be read."""
    f = sp.Function(name)
    return f(v - 1, x) - v / x * f(v, x) if slope else f(v, x)


STRUVE = _struve(sc.struve, "Struve", "Struve function.", struve, -1.0)
MODSTRUVE = _struve(sc.modstruve, "ModStruve", "Modified Struve function.", modified_struve, 1.0)


def _by_order(name: str, formula: Callable[..., Any]) -> Op:
    def partials(y: Any, v: Any, x: Any, order: int = 0) -> tuple[Any, Any]:
        lower = op(v, x, order=order - 1) if order else registry.ops[name](v, x)
        along = op(v - 1.0, x, order=order) - v / x * y - (order + 1.0) / x * lower
        return op(v, x, order=order + 1), along

    def reading(v: Any, x: Any, order: int = 0) -> Any:
        return sp.Function(f"{name}ByOrder")(v, x, *([order] if order else ()))

    op: Op = in_doubles(
        f"{name}ByOrder", formula, (Real, Positive), None, partials,
        Evidence(samples=((1, 3), (0.5, 3)), ulp=256.0, precise=precisely.by_order(name.lower())),
        Words(f"The derivative of {name.lower()} by its order; a higher one.", reading=reading,
            convention=CONVENTION),
        helpers=(struve_orders,), traced={"polygamma": polygamma}, orders=HIGHEST,
    )  # fmt: skip
    return op


STRUVE_BY_ORDER = _by_order("Struve", struve_by_order)
MODSTRUVE_BY_ORDER = _by_order("ModStruve", modstruve_by_order)

"""The Bessel functions of real order of ``scipy.special``, and their relatives.

Derivatives raise the order of the function, so the families are closed under differentiation to any
order. Those with respect to the order are contour integrals (:mod:`.bessel_contours`). Those of
``ive(v, x)`` by x are the derivatives of its series, where ``ive`` of three orders cancels.

Source: NIST Digital Library of Mathematical Functions, 10.6, 10.25 and 10.29.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import (
    HIGHEST,
    Code,
    Composed,
    Evidence,
    Map,
    Op,
    Partials,
    Positive,
    Real,
    Words,
    define,
)
from .._core.ops.pairs import pair_product, pair_quotient, pair_sum, two_product, two_sum
from .bessel_contours import (
    CONVENTION,
    IV_BY_ORDER,
    IVE_BY_ORDER,
    JV_BY_ORDER,
    KV_BY_ORDER,
    KVE_BY_ORDER,
    YV_BY_ORDER,
)
from .bessel_orders import bessel_i, bessel_j, bessel_k, bessel_ke, order_family
from .bessel_y import bessel_y
from .records import of_scipy, relative
from .taylor import form_of_order

# ---------------------------------------------------------------- derivatives of ive


def scaled_term(s: Any, x: Any, n: int) -> Any:
    """Derivative n of ``exp(-x)*x**s``, over ``exp(-x)*x**(s - n)``."""
    total: Any = (-1.0) ** n
    fall: Any = 1.0
    for j in range(n):
        fall = fall * (s - j)
        total = total * x + ((-1.0) ** (n - j - 1) * math.comb(n, j + 1)) * fall
    return total


def scaled_neighbours(v: Any, x: Any, n: int, ive: Callable[..., Any]) -> Any:
    """Derivative n of ``ive(v, x)`` as a mean over neighbouring orders."""
    shares = {0: 1.0}
    for _ in range(n):
        after: dict[int, float] = {}
        for k, share in shares.items():
            for step, part in ((-1, 0.5), (0, -1.0), (1, 0.5)):
                after[k + step] = after.get(k + step, 0.0) + part * share
        shares = after
    total: Any = 0.0
    for k, share in shares.items():
        term = share * ive(v + k, x)
        total = total + (term * np.sign(x) if (n - k) % 2 else term)
    return total


def scaled_term_pair(s: Any, x: Any, n: int) -> Any:
    """The same for a pair s, as a pair: the terms differ in sign."""
    total: Any = ((-1.0) ** n + 0.0 * x, 0.0 * x)
    fall: Any = 1.0, 0.0
    for j in range(n):
        fall = pair_product(fall, pair_sum(s, (-float(j), 0.0)))
        part = pair_product(fall, ((-1.0) ** (n - j - 1) * math.comb(n, j + 1), 0.0))
        total = pair_sum(pair_product(total, (x, 0.0)), part)
    return total


def ive_slope(v: Any, x: Any, order: int = 0, other: Callable[..., Any] = sc.ive) -> Any:
    """The derivative of ``ive(v, x)`` by x, or a derivative of it: the first terms in pairs."""
    n = order + 1
    v, x = np.float64(1.0) * v, np.float64(1.0) * x
    inside = (v > -1) & (v <= 60) & (x >= 1e-30) & (x <= 24)
    s, at = np.where(inside, v, 0.0), np.where(inside, x, 1.0)
    z = np.square(0.5 * at)
    rest = 0.0 * at
    for k in range(48, 3, -1):
        rest = scaled_term(s + 2.0 * k, at, n) + z / ((k + 1) * (s + (k + 1.0))) * rest
    square, total = two_product(0.5 * at, 0.5 * at), (rest, 0.0 * rest)
    for k in range(3, -1, -1):
        below = pair_product(two_sum(s, k + 1.0), (k + 1.0, 0.0))
        total = pair_product(pair_quotient(square, below), total)
        total = pair_sum(scaled_term_pair(two_sum(s, 2.0 * k), at, n), total)
    # What s + 1 loses in rounding changes the gamma function by psi, close to log.
    shape, lost = two_sum(s, 1.0)
    over = sc.rgamma(shape)
    scale = over, -over * lost * (np.log(shape) - 0.5 / shape)
    scale = pair_product(scale, two_product((0.5 * at) ** s, np.exp(-at)))
    total = pair_product(scale, total)
    for _ in range(n):
        total = pair_quotient(total, (at, 0.0))
    beyond = scaled_neighbours(
        np.where(inside, math.nan, v), np.where(inside, math.nan, x), n, other
    )
    return np.where(inside, total[0] + total[1], beyond)


def _form(v: Any, x: Any, order: int = 0) -> Any:
    return form_of_order(lambda x: sp.exp(-x) * sp.besseli(v, x), x, order + 1)


def _source(v: Any, x: Any, order: int = 0) -> str:
    kind = np.result_type(v.dtype, x.dtype, 0.0)
    narrow = "" if kind == np.float64 else f".astype(np.{kind})"
    return f"ive_slope({v}, {x}, {order}, special.ive){narrow}"


_DOMAIN = (Real, Positive)
_IVE = of_scipy("IveSlope", sc.ive, _DOMAIN)
IVE_SLOPE: Op = define(
    Map("IveSlope",
        evaluate=lambda v, x, order=0: ive_slope(v, x, order).astype(np.result_type(v, x, 0.0)),
        domain=_DOMAIN, sympy=_form,
        rule=Partials(lambda y, v, x, order=0: (
            scaled_neighbours(v, x, order + 1, IVE_BY_ORDER), IVE_SLOPE(v, x, order=order + 1),
        )),
        orders=HIGHEST),
    Code(Composed(lambda v, x, order=0: ive_slope(v, x, order, _IVE)), source=_source,
        helpers=(ive_slope,)),
    Evidence(samples=((0, 3), (0.2, 1.8)), ulp=64.0),
    Words("The derivative of ive by its argument; a derivative of it.", convention=CONVENTION),
)  # fmt: skip


# ---------------------------------------------------------------- records


def _scaled(v: Any, x: Any) -> Any:
    return sp.exp(-sp.Abs(x)) * sp.besseli(v, x)


JV: Op = order_family(
    sc.jv, sp.besselj, bessel_j, lambda v, x, y: 0.5 * (JV(v - 1, x) - JV(v + 1, x)), JV_BY_ORDER
)  # fmt: skip


def _with_slopes(
    function: np.ufunc, form: Callable[..., Any], compute: Callable[..., Any],
    join: Callable[[Any, Any], Any], by_order: Op,
) -> Op:  # fmt: skip
    """Define a family whose derivative is half of what the orders beside it are joined to."""

    def formed(v: Any, x: Any, slope: int = 0) -> Any:
        return join(form(v - 1, x), form(v + 1, x)) / 2 if slope else form(v, x)

    def slope_of(v: Any, x: Any, y: Any, slope: int = 0) -> Any:
        if not slope:
            return op(v, x, slope=2)
        return 0.5 * join(op(v - 1, x, slope=2), op(v + 1, x, slope=2))

    def by_order_of(v: Any, x: Any, slope: int = 0) -> Any:
        if not slope:
            return by_order(v, x)
        return 0.5 * join(by_order(v - 1, x), by_order(v + 1, x))

    op = order_family(function, formed, compute, slope_of, by_order_of, slopes=2)
    return op


YV: Op = _with_slopes(sc.yv, sp.bessely, bessel_y, operator.sub, YV_BY_ORDER)
IV: Op = _with_slopes(sc.iv, sp.besseli, bessel_i, operator.add, IV_BY_ORDER)
KV: Op = order_family(
    sc.kv, sp.besselk, bessel_k, lambda v, x, y: -0.5 * (KV(v - 1, x) + KV(v + 1, x)), KV_BY_ORDER
)  # fmt: skip
IVE: Op = order_family(
    sc.ive, _scaled, bessel_i, lambda v, x, y: IVE_SLOPE(v, x), IVE_BY_ORDER, power=-1.0,
)  # fmt: skip


def _kve_form(v: Any, x: Any, slope: int = 0) -> Any:
    around = (sp.besselk(v - 1, x) + sp.besselk(v + 1, x)) / 2
    return sp.exp(x) * (sp.besselk(v, x) - around if slope else sp.besselk(v, x))


def _kve_slope(v: Any, x: Any, y: Any, slope: int = 0) -> Any:
    if not slope:
        return KVE(v, x, slope=2)
    return y - 0.5 * (KVE(v - 1, x, slope=2) + KVE(v + 1, x, slope=2))


def _kve_by_order(v: Any, x: Any, slope: int = 0) -> Any:
    found = KVE_BY_ORDER(v, x)
    if not slope:
        return found
    return found - 0.5 * (KVE_BY_ORDER(v - 1, x) + KVE_BY_ORDER(v + 1, x))


KVE: Op = order_family(
    sc.kve, _kve_form, bessel_ke, _kve_slope, _kve_by_order, power=1.0, slopes=2,
)  # fmt: skip


# ---------------------------------------------------------------- relatives


@relative(sc.kn, "Modified Bessel function of a whole order.")
def kn(n: Any, x: Any) -> Any:
    return sc.kv(n * 1.0, x)


@relative(sc.yn, "Bessel function of the second kind of a whole order.")
def yn(n: Any, x: Any) -> Any:
    return sc.yv(n * 1.0, x)


@relative(sc.jve, "Bessel function, scaled: of a real argument, not at all.")
def jve(v: Any, x: Any) -> Any:
    return sc.jv(v, x)


@relative(sc.yve, "Bessel function, scaled: of a real argument, not at all.")
def yve(v: Any, x: Any) -> Any:
    return sc.yv(v, x)

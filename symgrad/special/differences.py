"""Differences of nearly equal values of the digamma function and the logarithm, as sums.

Derivatives of beta functions, binomial coefficients and Student's density by their parameters are
made of ``psi(x + h) - psi(x)`` and the like, of which few digits are left for large x. Written
as sums of one sign they keep all; so do their derivatives, by Taylor polynomials (see
``symgrad.special.carlson``).

Source: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov, 5.7.6, 5.11.2 and
4.6; M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 6.3.
"""

from __future__ import annotations

import math
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
    Words,
    define,
    registry,
)
from .._core.ops.pairs import pair_logarithm, pair_quotient, pair_sum, two_sum
from .records import BOTH_POSITIVE, in_doubles
from .taylor import SERIES, series_product, series_quotient, series_sum

# ---------------------------------------------------------------- digamma(x + h) - digamma(x)


def positive_step(at: Any, by: Any, order: int) -> Any:
    """A derivative of ``psi(at + by) - psi(at)`` by ``at``, all positive.

    The first ten terms of the sum by/((at + k)*(at + by + k)), and the rest by the asymptotic
    series of both, term by term with ``by`` as a factor.
    """
    count = order + 1
    total: Any = [0.0 * at]
    for k in range(10):
        both = series_product([at + float(k), 1.0], [at + by + float(k), 1.0], count)
        total = series_sum(total, series_quotient([by], both, count))
    a = series_quotient([1.0], [at + 10.0, 1.0], count)
    b = series_quotient([1.0], [at + by + 10.0, 1.0], count)
    step = [by * v for v in series_product(a, b, count)]  # a - b
    p, q = series_product(a, a, count), series_product(b, b, count)
    logarithm = [np.log1p(by * a[0]), *(-step[k] / (k + 1) for k in range(order))]
    powers: Any = [1.0]  # of 2*j - 2: p**(j - 1) + p**(j - 2)*q + ... + q**(j - 1)
    last: Any = [1.0]
    rest: Any = [0.0 * at]
    for c in (  # Bernoulli numbers B(2*j)/(2*j)
        1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160,
        43867 / 14364,
    ):  # fmt: skip
        rest = series_sum(rest, [c * v for v in powers])
        last = series_product(last, q, count)
        powers = series_sum(series_product(powers, p, count), last)
    rest = series_sum([0.5], series_product(series_sum(a, b), rest, count))
    found = series_sum(total, logarithm, series_product(step, rest, count))[order]
    return math.factorial(order) * found


def reflected_step(x: Any, h: Any, order: int) -> Any:
    """A derivative of ``psi(x + h) - psi(x)`` by x, for x and x + h below 1.

    By reflection (DLMF 5.5.4), with a difference of two cotangents as
    ``sin(pi*h)/(sin(pi*x)*sin(pi*(x + h)))``.
    """
    count = order + 1

    def sines(z: Any) -> Any:
        whole = np.rint(z)
        parity, angle = 1.0 - 2.0 * np.remainder(whole, 2.0), math.pi * (z - whole)
        s, c = parity * np.sin(angle), parity * np.cos(angle)
        return [(s, c, -s, -c)[k % 4] * (math.pi**k / math.factorial(k)) for k in range(count)]

    both = series_product(sines(x), sines(x + h), count)
    turned = series_quotient([math.pi * sines(h)[0]], both, count)[order]
    step = positive_step(1.0 - x - h, h, order)
    return math.factorial(order) * turned - (-1.0) ** order * step


def digamma_step(
    x: Any, h: Any, order: int = 0, polygamma: Callable[..., Any] = sc.polygamma
) -> Any:
    """``psi(x + h) - psi(x)``, or a derivative of it by x: a difference only across 0 and 1."""
    right, left = (x > 0) & (x + h > 0), (x < 1) & (x + h < 1)
    found = positive_step(np.where(right, x, 1.0), np.where(right, h, 0.0), order)
    turned = reflected_step(np.where(left, x, -0.5), np.where(left, h, 0.0), order)
    if order:
        plain = polygamma(order, x + h) - polygamma(order, x)
    else:
        plain = sc.psi(x + h) - sc.psi(x)
    return np.where(right, found, np.where(left, turned, plain))


def digamma_by_sums(x: Any) -> Any:
    """``psi(x)``, from its zero on; left of 0 by reflection. For where SciPy's is not at hand."""
    zero, there = 1.4616321449683622, -9.2412655217294275e-17  # psi of the double next to the zero
    right = np.where(x > 0, x, 1.0 - x)
    y = np.where(right < 1.0, right + 1.0, right)
    found = positive_step(zero + 0.0 * y, y - zero, 0) + there
    found = found - np.where(right < 1.0, 1.0 / right, 0.0)
    left = found - math.pi / np.tan(math.pi * (x - np.rint(x)))
    whole = np.where(x == 0, np.copysign(math.inf, -x), math.nan)
    return np.where(x > 0, found, np.where(x == np.rint(x), whole, left))


def polygamma(order: int, x: Any) -> Any:
    """``sc.polygamma`` as an op."""
    return registry.ops["Polygamma"](float(order), x)


DIGAMMA_STEP: Op = in_doubles(
    "DigammaStep", digamma_step, BOTH_POSITIVE,
    lambda x, h, order=0: sp.polygamma(order, x + h) - sp.polygamma(order, x),
    lambda y, x, h, order=0: (DIGAMMA_STEP(x, h, order=order + 1), polygamma(order + 1, x + h)),
    Evidence(samples=((0.5, 9), (0.5, 5)), ulp=8.0),
    Words("psi(x + h) - psi(x) for positive x and x + h; a derivative by x."),
    helpers=SERIES, traced={"polygamma": polygamma}, orders=HIGHEST,
)  # fmt: skip


# ---------------------------------------------------------------- half a step


def digamma_half(v: Any, order: int = 0) -> Any:
    """``psi((v + 1)/2) - psi(v/2) - 1/v``, or a derivative of it, for positive v.

    The sum of 2/((v + 2*k)*(v + 2*k + 1)*(v + 2*k + 2)); from v + 24 on its asymptotic series.
    """
    count = order + 1
    total: Any = [0.0 * v]
    for k in range(12):
        below, middle, above = ([v + float(2 * k + i), 1.0] for i in range(3))
        three = series_product(series_product(below, middle, count), above, count)
        total = series_sum(total, series_quotient([2.0], three, count))
    inverse = series_quotient([1.0], [v + 24.0, 1.0], count)
    square = series_product(inverse, inverse, count)
    tail: Any = [0.0 * v]
    for c in (  # (4**j - 1)*B(2*j)/j for Bernoulli numbers B, from j = 9 to 1
        3202291 / 2, -929569 / 16, 5461 / 2, -691 / 4, 31 / 2, -17 / 8, 0.5, -0.25, 0.5,
    ):  # fmt: skip
        tail = series_product(series_sum([c], tail), square, count)
    return math.factorial(order) * series_sum(total, tail)[order]


DIGAMMA_HALF: Op = define(
    Map("DigammaHalf", evaluate=digamma_half, domain=(Positive,),
        sympy=lambda v, order=0: (
            (sp.polygamma(order, (v + 1) / 2) - sp.polygamma(order, v / 2)) / 2**order
            - (-1) ** order * sp.factorial(order) / v ** (order + 1)
        ),
        rule=Partials(lambda y, v, order=0: (DIGAMMA_HALF(v, order=order + 1),)), orders=HIGHEST),
    Code(Composed(digamma_half), source=lambda v, order=0: f"digamma_half({v}, {order})",
        helpers=(*SERIES, digamma_half)),
    Evidence(samples=(0.5, 9), ulp=8.0),
    Words("psi((v + 1)/2) - psi(v/2) - 1/v; a derivative of it."),
)  # fmt: skip


# ---------------------------------------------------------------- logarithm


def log_excess(u: Any, slope: int = 0) -> Any:
    """``log1p(u) - u/(1 + u)`` for u >= 0, or its derivative.

    For small u by the series of atanh: with w = u/(1 + u) and r = w/(2 - w) the logarithm is
    2*(r + r**3/3 + r**5/5 + ...), and 2*r - w = r*w; then, to 8, a difference of pairs.
    The derivative is u/(1 + u)**2, into which
    what is lost in rounding 1 + u is put.
    """
    if slope:
        over, lost = two_sum(1.0, u)
        found = u / over / over
        return np.where(over < math.inf, found - 2.0 * found * (lost / over), found)
    w = u / (1.0 + u)
    r = np.where(w < 0.5, w / (2.0 - w), 0.0)
    square = r * r
    series = 0.0 * r
    for k in range(37, 1, -2):
        series = series * square + 1.0 / k
    small = r * (w + 2.0 * square * series)
    over = two_sum(1.0, np.where(u < 8.0, u, 1.0))
    high, low = pair_quotient((over[0] - 1.0, over[1]), over)
    high, low = pair_sum(pair_logarithm(over, (1.0, 0.0)), (-high, -low))
    large = np.where(u < 8.0, high + low, np.log1p(u) - w)
    return np.where(w < 0.5, small, large)


LOG_EXCESS: Op = in_doubles(
    "LogExcess", log_excess, (Positive,),
    lambda u, slope=0: u / (1 + u) ** 2 if slope else sp.log(1 + u) - u / (1 + u),
    lambda y, u, slope=0: (
        (1 - u) / (np.square(1 + u) * (1 + u)) if slope else LOG_EXCESS(u, slope=1),
    ),
    Evidence(samples=(0.1, 9), ulp=8.0), Words("log1p(u) - u/(1 + u) for u >= 0."), slopes=1,
)  # fmt: skip

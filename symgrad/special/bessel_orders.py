"""Bessel functions of real order, by sums that lose no digits.

SciPy's lose two to three: ``jv`` by alternating series up to x = 25, ``kv`` of broken order
below 2, ``ive`` up to 22. For other operands than these, SciPy's are called.

Source: N. M. Temme, On the numerical evaluation of the modified Bessel function of the third kind,
Journal of Computational Physics 19, 1975, and ... of the ordinary Bessel function of the second
kind, 21, 1976; F. W. J. Olver, Numerical solution of second-order linear difference equations,
Journal of Research of the NBS 71B, 1967; NIST Digital Library of Mathematical Functions, 10.8,
10.23.15, 10.25, 10.29, 10.32.9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.scipy_names import special as sc
from .._core.op import Evidence, Op, Positive, Real, Words
from .._core.ops.pairs import pair_product, pair_quotient, pair_sum, two_product, two_sum
from .bessel_contours import CONVENTION
from .records import boxed, elsewhere

# ---------------------------------------------------------------- I and J


def bessel_series(v: Any, x: Any, sign: float, terms: int) -> Any:
    """The sum of ``(x/2)**(v + 2*k)*sign**k/(k!*gamma(v + k + 1))``, from the last term on."""
    after = np.where(v == -1.0, 1e-100, v + 1.0)  # the first term is 0 there, the quotient infinite
    z = sign * np.square(0.5 * x)
    rest = 0.0 * x
    for k in range(terms, 1, -1):
        rest = z / (k * (v + k)) * (1.0 + rest)
    # What v + 1 loses in rounding changes the gamma function by psi, close to log.
    lost = np.where(after > 0.0, two_sum(v, 1.0)[1], 0.0)
    share = z / after * (1.0 + rest) - lost * np.log(np.maximum(after, 0.5))
    first = (0.5 * x) ** v * sc.rgamma(after)
    return first + first * share


def bessel_backward(v: Any, x: Any) -> Any:
    """J for 2 < x < 25: the recurrence from order v + 66 down, where J is the solution that grows.

    Neumann's series of (x/2)**v, in J of orders v, v + 2, ..., gives its factor.
    """
    w = np.where(v < 0, v + 2.0, v)
    over = 2.0 / x
    above, here, total = 0.0 * x, 0.0 * x + 1e-250, 0.0 * x
    for j in range(66, 0, -1):
        if j % 2 == 0:
            k = j // 2
            total = (w + j) * here + (w + k) * (1.0 / (k + 1)) * total
        above, here = here, over * (w + j) * here - above
    total = here + total
    below = over * w * here - above
    wanted = np.where(v < 0, over * (w - 1.0) * below - here, here)
    return wanted / total * (0.5 * x) ** w * sc.rgamma(w + 1.0)


def bessel_j(v: Any, x: Any, other: Callable[..., Any] = sc.jv) -> Any:
    """Bessel function of the first kind."""
    v, x = np.float64(1.0) * v, np.float64(1.0) * x
    inside = (v > -2) & (v <= 60) & (x >= 1e-30) & (x <= 25)
    near = inside & (x <= 2)
    order, at = np.where(near, v, 0.0), np.where(near, x, 1.0)
    small = bessel_series(order, at, -1.0, 14)
    order, at = np.where(inside, v, 0.0), np.where(inside & (x > 2), x, 3.0)
    large = bessel_backward(order, at)
    return np.where(near, small, np.where(inside, large, elsewhere(other, inside, v, x)))


def series_slope(v: Any, x: Any, terms: int) -> Any:
    """The derivative of the series of I for v > -1: each term times v + 2*k, over x.

    The first terms are pairs.
    """
    half = 0.5 * x
    square = two_product(half, half)
    rest = 0.0 * x
    for k in range(terms, 3, -1):
        rest = square[0] / ((k + 1.0) * (v + (k + 1.0))) * (v + (2.0 * k + 2.0) + rest)
    total = two_sum(v + 8.0, rest)
    for k in range(3, -1, -1):
        below = pair_product(two_sum(v, k + 1.0), (k + 1.0, 0.0))
        total = pair_product(pair_quotient(square, below), total)
        total = pair_sum(two_sum(v, 2.0 * k), total)
    after, lost = two_sum(v, 1.0)
    scale = 0.5 * sc.rgamma(after)
    scale = scale, -scale * lost * (np.log(after) - 0.5 / after)
    high, low = pair_product(scale, pair_product((half ** (v - 1.0), 0.0), total))
    return high + low


def bessel_i(
    v: Any, x: Any, other: Callable[..., Any] = sc.iv, power: float = 0.0, slope: int = 0
) -> Any:
    """Modified Bessel function of the first kind, times ``exp(power*x)``.

    With a slope (2) the derivative of the function itself by x.
    """
    if slope:
        around = bessel_i(v - 1.0, x, other) + bessel_i(v + 1.0, x, other)
        inside = (v > -0.9) & (v <= 60) & (x >= 1e-30) & (x <= 24)
        found = series_slope(np.where(inside, v, 0.0), np.where(inside, x, 1.0), 48)
        return np.where(inside, found, 0.5 * around)
    v, x = np.float64(1.0) * v, np.float64(1.0) * x
    inside = (v > -2) & (v <= 60) & (x >= 1e-30) & (x <= 24)
    order, at = np.where(inside, v, 0.0), np.where(inside, x, 1.0)
    found = bessel_series(order, at, 1.0, 48)
    if power:
        found = found * np.exp(power * at)
    return np.where(inside, found, elsewhere(other, inside, v, x))


# ---------------------------------------------------------------- K


def temme_pair(u: Any, x: Any) -> Any:
    """K of orders u and u + 1, for abs(u) <= 1/2 and x up to 0.1."""
    square = u * u
    even, odd = 0.0 * u, 0.0 * u
    for a, b in (  # Taylor coefficients of 1/gamma(1 + u), the odd ones with the other sign
        (-3.696805618642206e-12, -5.100370287454476e-13),
        (1.0434267116911005e-10, -7.782263439905071e-12),
        (5.002007644469223e-09, 1.18127457048702e-09),
        (-2.056338416977607e-07, -6.116095104481416e-09),
        (-1.2504934821426706e-06, -1.133027231981696e-06),
        (0.0001280502823881162, 2.013485478078824e-05),
        (-0.0011651675918590652, 0.00021524167411495098),
        (-0.009621971527876973, -0.0072189432466631),
        (0.16653861138229148, 0.04219773455554433),
        (-0.6558780715202539, 0.04200263503409524),
        (1.0, -0.5772156649015329),
    ):  # fmt: skip
        even, odd = even * square + a, odd * square + b
    half = 0.5 * x
    log = -np.log(half)
    s, angle = u * log, math.pi * u
    flat = np.where(s == 0, 1.0, s)
    slope = np.where(s == 0, 1.0, np.sinh(flat) / flat)
    flat = np.where(angle == 0, 1.0, angle)
    factor = np.where(angle == 0, 1.0, flat / np.sin(flat))
    power = np.exp(s)
    f = factor * (np.cosh(s) * odd + log * slope * even)
    p, q = 0.5 * power / (even - u * odd), 0.5 / (power * (even + u * odd))
    z, c = half * half, 1.0
    first, second = f, p
    for k in range(1, 6):
        f = (k * f + p + q) / (k * k - square)
        p, q = p / (k - u), q / (k + u)
        c = c * z * (1.0 / k)
        first, second = first + c * f, second + c * (p - k * f)
    return first, second / half


def decaying_pair(u: Any, x: Any) -> Any:
    """``exp(x)*K`` of orders u and u + 1, for abs(u) <= 1/2 and x > 0.1.

    The trapezoidal rule for the integral of exp(-x*(cosh(t) - 1))*cosh(u*t), whose error is
    exp(-pi*pi/0.2), with steps of 0.2.
    """
    between = [1.0, *(np.exp((0.2 * i) * u) for i in range(1, 4))]
    first, second = 0.0 * x, 0.0 * x
    lost, more = first, second
    for block in range(9, -1, -1):
        start = np.exp((0.8 * block) * u) if block else 1.0
        for i in range(3, -1, -1):
            t = 0.2 * (4 * block + i)
            grown = start * between[i]
            weight = np.exp(-2.0 * math.sinh(0.5 * t) ** 2 * x) if t else 0.5
            first, low = two_sum(weight * (grown + 1.0 / grown), first)
            lost = lost + low
            term = weight * (math.exp(t) * grown + math.exp(-t) / grown)
            second, low = two_sum(term, second)
            more = more + low
    return 0.1 * (first + lost), 0.1 * (second + more)


def decaying_slope(v: Any, x: Any) -> Any:
    """The derivative of ``exp(x)*K`` by x, for x from 0.1 to 40, and abs(v) <= 5.5.

    The trapezoidal rule for the integral of -exp(-x*(cosh(t) - 1))*(cosh(t) - 1)*cosh(v*t), with
    steps of 0.2, and smaller ones beyond x = 8: all of one sign, unlike K of three orders.
    """
    h = 0.2 * np.sqrt(np.minimum(8.0 / x, 1.0))
    total, low = 0.0 * x, 0.0 * x
    for k in range(40, 0, -1):
        t = k * h
        grown = np.exp(v * t)
        bend = 2.0 * np.square(np.sinh(0.5 * t))
        total, lost = two_sum(np.exp(-x * bend) * bend * (grown + 1.0 / grown), total)
        low = low + lost
    return -0.5 * h * (total + low)


def raised_order(v: Any, steps: int, pair: Any, u: Any, x: Any) -> Any:
    """K of order v, a whole number of steps above u, from orders u and u + 1."""
    first, second = pair
    for k in range(1, steps + 1):
        more = v - u >= k
        factor = np.where(more, 2.0 * (u + k) / x, 0.0)
        first, second = np.where(more, second, first), factor * second + first
    return first


def bessel_k(v: Any, x: Any, other: Callable[..., Any] = sc.kv, power: float = 0.0) -> Any:
    """Modified Bessel function of the second kind, times ``exp(power*x)``."""
    v, x = np.float64(1.0) * np.fabs(v), np.float64(1.0) * x
    inside = (v < 5.5) & (x >= 1e-30) & (x <= 2)
    near = inside & (x < 0.1)
    order = np.where(inside, v, 0.0)
    u = order - np.rint(order)
    at = np.where(near, x, 0.05)
    small = raised_order(order, 5, temme_pair(u, at), u, at)
    if power:
        small = small * np.exp(power * at)
    at = np.where(inside & (x >= 0.1), x, 1.0)
    large = raised_order(order, 5, decaying_pair(u, at), u, at)
    if power != 1:
        large = large * np.exp((power - 1.0) * at)
    return np.where(near, small, np.where(inside, large, elsewhere(other, inside, v, x)))


def bessel_ke(
    v: Any, x: Any, other: Callable[..., Any] = sc.kve, power: float = 1.0, slope: int = 0
) -> Any:
    """``exp(x)*K``, or its derivative by x (2)."""
    found = bessel_k(v, x, other, power)
    if not slope:
        return found
    v, x = np.float64(1.0) * np.fabs(v), np.float64(1.0) * x
    inside = (v <= 5.5) & (x >= 0.1) & (x <= 40)
    steep = decaying_slope(np.where(inside, v, 0.0), np.where(inside, x, 1.0))
    around = bessel_k(v - 1.0, x, other, power) + bessel_k(v + 1.0, x, other, power)
    return np.where(inside, steep, found - 0.5 * around)


HELPERS = (
    elsewhere, bessel_series, bessel_backward, temme_pair, decaying_pair, raised_order, bessel_j,
)  # fmt: skip


def order_family(
    function: np.ufunc, form: Callable[..., Any], compute: Callable[..., Any],
    slope: Callable[..., Any], by_order: Callable[..., Any], power: float = 0.0, slopes: int = 0,
) -> Op:  # fmt: skip
    """Define a Bessel function of real order and a positive argument.

    ``compute(v, x, other, power)`` calls ``other`` where it has no better way.
    ``slope(v, x, y)`` is the derivative by x, ``by_order(v, x)`` that by v; also of the former, if
    the op has ``slopes``.
    """
    return boxed(
        function.__name__.capitalize(), function, compute, (Real, Positive), form,
        lambda y, v, x, **params: (by_order(v, x, **params), slope(v, x, y, **params)),
        Evidence(samples=((0, 3), (0.2, 1.8)), ulp=64.0), Words(convention=CONVENTION),
        more=(power,) if power else (),
        shown=(f"special.{function.__name__}", str(power)) if power else (),
        slopes=slopes, helpers=HELPERS,
    )  # fmt: skip

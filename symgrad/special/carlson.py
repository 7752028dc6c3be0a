"""Derivatives of elliptic integrals by their parameter, to any order, without differences.

``ellipe(m) - ellipk(m)`` and its like, which textbooks give, lose the digits that both have in
common: all of them for small ``m``. The integrals that are meant have Carlson's symmetric form
R_D, a sum of positive terms. So have their derivatives: every step of the algorithm is carried
out on Taylor polynomials in ``m``. In a sum of reciprocals of what roots and sums make of a
variable, all terms of a derivative have the same sign, so that no digits cancel at any order.

Source: B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numerical
Algorithms 10, 1995; NIST Digital Library of Mathematical Functions, 19.25 and 19.36.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._op import HIGHEST, Composed, Op, Real, define
from .elliptic_means import elliptic_mean, within_means
from .taylor import SERIES, form_of_order, series_product, series_quotient, series_root, series_sum

SHARE = sp.Interval.open(0, 1)


# ---------------------------------------------------------------- the integrals


def carlson_rd(x: Any, y: Any, z: Any, order: int = 0) -> Any:
    """A derivative of R_D(x, y, z), of Taylor polynomials x, y and z, as an order says.

    x and y are not negative, at most one of them 0, and z > 0.
    """
    count = order + 1

    def times(factor: Any, a: Any) -> Any:
        return [factor * v for v in a]

    def product(a: Any, b: Any) -> Any:
        return series_product(a, b, count)

    total: Any = []
    scale = 1.0
    mean = times(0.2, series_sum(x, y, times(3.0, z)))
    dx, dy = (series_sum(mean, times(-1.0, v)) for v in (x, y))
    for _ in range(7):  # the distances between the arguments become 4**-7 of what they are
        rx, ry, rz = (series_root(v, count) for v in (x, y, z))
        step = series_sum(product(rx, ry), product(rx, rz), product(ry, rz))
        term = series_quotient([scale], product(rz, series_sum(z, step)), count)
        total = series_sum(total, term)
        scale = 0.25 * scale
        x, y, z, mean = (times(0.25, series_sum(v, step)) for v in (x, y, z, mean))
    dx, dy = (series_quotient(times(scale, d), mean, count) for d in (dx, dy))
    dz = times(-1.0 / 3.0, series_sum(dx, dy))
    both, square = product(dx, dy), product(dz, dz)
    e2 = series_sum(both, times(-6.0, square))
    e3 = product(series_sum(times(3.0, both), times(-8.0, square)), dz)
    series = series_sum(
        [1.0], times(-3.0 / 14.0, e2), times(1.0 / 6.0, e3), times(9.0 / 88.0, product(e2, e2))
    )
    rest = series_quotient(times(scale, series), product(mean, series_root(mean, count)), count)
    return math.factorial(order) * series_sum(rest, times(3.0, total))[order]


def carlson_d(m: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/sqrt(1 - m*sin(t)**2) from 0 to pi/2, for m < 1; a derivative by m."""
    return carlson_rd([0.0 * m], [1.0 - m, -1.0], [1.0 + 0.0 * m], order) / 3.0


def carlson_g(m: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/(1 - m*sin(t)**2)**(3/2) from 0 to pi/2, for m < 1; as carlson_d."""
    return carlson_rd([0.0 * m], [1.0 + 0.0 * m], [1.0 - m, -1.0], order) / 3.0


def elliptic_part(p: Any, m: Any, power: int, order: int) -> Any:
    """Integral of ``sin(t)**2*(1 - m*sin(t)**2)**(-power/2)`` from 0 to p; a derivative by m.

    The power is 1 or 3, and p at most pi/2. Up to the first derivative as a mean, if m allows.
    """
    s, c = np.sin(p), np.square(np.cos(p))
    root = (1.0 - m) + m * c  # 1 - m*s*s, exact also near m = 1
    one, other = [1.0 + 0.0 * root], [root, -s * s]
    pair = (other, one) if power == 1 else (one, other)
    found = s * s * s * carlson_rd([c], *pair, order) / 3.0
    if order > 1:
        return found
    inside = within_means(p, m)
    angle, share = np.where(inside, p, 0.0), np.where(inside, m, 0.0)
    return np.where(inside, angle * elliptic_mean(angle, share, power, order), found)


def elliptic_d(p: Any, m: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/sqrt(1 - m*sin(t)**2) from 0 to p, for m < 1; a derivative by m."""
    turns = np.rint(p / math.pi)
    part = elliptic_part(p - turns * math.pi, m, 1, order)
    return part + 2.0 * turns * carlson_d(m, order)


def elliptic_g(p: Any, m: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/(1 - m*sin(t)**2)**(3/2) from 0 to p, for m < 1; a derivative by m."""
    turns = np.rint(p / math.pi)
    part = elliptic_part(p - turns * math.pi, m, 3, order)
    return part + 2.0 * turns * carlson_g(m, order)


def elliptic_root(p: Any, m: Any) -> Any:
    """``sqrt(1 - m*sin(p)**2)``, exact also near m = 1."""
    return np.sqrt((1 - m) + m * np.square(np.cos(p)))


# ---------------------------------------------------------------- records


def _d_form(p: Any, m: Any, order: int = 0) -> Any:
    return form_of_order(lambda m: (sp.elliptic_f(p, m) - sp.elliptic_e(p, m)) / m, m, order)


def _g_form(p: Any, m: Any, order: int = 0) -> Any:
    def plain(m: Any) -> Any:
        root = sp.sqrt(1 - m * sp.sin(p) ** 2)
        share = sp.elliptic_e(p, m) / (1 - m) - sp.elliptic_f(p, m)
        return share / m - sp.sin(p) * sp.cos(p) / ((1 - m) * root)

    return form_of_order(plain, m, order)


def _integrand(p: Any, m: Any, power: int, order: int) -> Any:
    """A derivative of ``sin(p)**2*(1 - m*sin(p)**2)**(-power/2)`` by m."""
    square = np.square(np.sin(p))
    for k in range(order):
        square = square * (0.5 * power + k) * np.square(np.sin(p))
    return square / np.sqrt(1 - m * np.sin(p) ** 2) ** (power + 2 * order)


ELLIPTIC_D: Op = define(
    name="EllipticD", doc="(ellipkinc(p, m) - ellipeinc(p, m))/m; a derivative of it by m.",
    evaluate=elliptic_d, sympy=_d_form, lower=Composed(elliptic_d), domain=(Real, SHARE),
    partials=lambda y, p, m, order=0: (
        _integrand(p, m, 1, order), ELLIPTIC_D(p, m, order=order + 1),
    ),
    samples=((0.2, 1.4), (0.2, 0.8)), ulp=16.0,
    orders=HIGHEST, source=lambda p, m, order=0: f"elliptic_d({p}, {m}, {order})",
    helpers=(*SERIES, elliptic_d),
)  # fmt: skip
ELLIPTIC_G: Op = define(
    name="EllipticG", doc="Twice the derivative of ellipkinc(p, m) by m; one more by m.",
    evaluate=elliptic_g, sympy=_g_form, lower=Composed(elliptic_g), domain=(Real, SHARE),
    partials=lambda y, p, m, order=0: (
        _integrand(p, m, 3, order), ELLIPTIC_G(p, m, order=order + 1),
    ),
    samples=((0.2, 1.4), (0.2, 0.8)), ulp=16.0,
    orders=HIGHEST, source=lambda p, m, order=0: f"elliptic_g({p}, {m}, {order})",
    helpers=(*SERIES, elliptic_g),
)  # fmt: skip

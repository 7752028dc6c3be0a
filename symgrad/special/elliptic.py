"""Elliptic integrals, and their derivatives by the parameter without differences.

Legendre's are means of their integrands over the angle, which are positive: by Gauss's formula with
24 nodes, exact to a double for parameters from -1 to 0.8. Only the difference from the angle is
computed so, which is smaller than they are.

``ellipe(m) - ellipk(m)`` and its like, which textbooks give for derivatives, lose the digits that
both have in common: all of them for small ``m``. The integrals that are meant have Carlson's
symmetric form R_D, a sum of positive terms. So have their derivatives: every step of the algorithm
is carried out on Taylor polynomials in ``m``. In a sum of reciprocals of what roots and sums make
of a variable, all terms of a derivative have the same sign, so that no digits cancel at any order.
Complete integrals go by tables of m, and close to 1, where they are infinite, of 1 - m with the
logarithm split off; other orders, and negative parameters, by Carlson's algorithm.

Source: B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numerical
Algorithms 10, 1995; NIST Digital Library of Mathematical Functions, 3.5, 19.2, 19.4, 19.8, 19.12,
19.25 and 19.36.
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
    Cython,
    Evidence,
    Map,
    Op,
    Partials,
    Real,
    Words,
    define,
)
from .records import UNIT, boxed, elsewhere, in_doubles, relative
from .tables import (
    COMPLETE_D1_LOG,
    COMPLETE_D1_MIDDLE,
    COMPLETE_D1_NEAR,
    COMPLETE_D_LOG,
    COMPLETE_D_MIDDLE,
    COMPLETE_D_NEAR,
    COMPLETE_G1_LOG,
    COMPLETE_G1_MIDDLE,
    COMPLETE_G1_NEAR,
    COMPLETE_G_LOG,
    COMPLETE_G_MIDDLE,
    COMPLETE_G_NEAR,
    tabulated,
)
from .taylor import SERIES, form_of_order, series_product, series_quotient, series_root, series_sum

# ---------------------------------------------------------------- means over the angle

#: Nodes and weights on the interval from 0 to 1.
GAUSS = (
    (0.00240639000148932, 0.0061706148999936), (0.012635722014345251, 0.014265694314466832),
    (0.030862723998633622, 0.022138719408709904), (0.056792236497799485, 0.02964929245771839),
    (0.08999900701304854, 0.03667324070554015), (0.12993790421072282, 0.04309508076597664),
    (0.17595317403151223, 0.04880932605205694), (0.22728926430558022, 0.05372213505798282),
    (0.2831032461869774, 0.0577528340268628), (0.3424786601519183, 0.060835236463901696),
    (0.40444056626319186, 0.06291872817341415), (0.4679715535686972, 0.06396909767337608),
    (0.5320284464313028, 0.06396909767337608), (0.5955594337368082, 0.06291872817341415),
    (0.6575213398480817, 0.060835236463901696), (0.7168967538130225, 0.0577528340268628),
    (0.7727107356944197, 0.05372213505798282), (0.8240468259684878, 0.04880932605205694),
    (0.8700620957892772, 0.04309508076597664), (0.9100009929869515, 0.03667324070554015),
    (0.9432077635022005, 0.02964929245771839), (0.9691372760013663, 0.022138719408709904),
    (0.9873642779856547, 0.014265694314466832), (0.9975936099985107, 0.0061706148999936),
)  # fmt: skip


def within_means(p: Any, m: Any) -> Any:
    """Whether the mean over angles from 0 to p is exact."""
    return (np.fabs(p) <= 1.5708) & (m >= -1) & (m <= 0.8)


def elliptic_mean(p: Any, m: Any, power: int, order: int) -> Any:
    """Mean of ``sin(t)**2*(1 - m*sin(t)**2)**(-power/2)`` from 0 to p; a derivative of it by m."""
    total: Any = 0.0 * p
    for node, weight in GAUSS:
        square = np.square(np.sin(node * p))
        root = 1.0 - m * square
        term = weight * square / np.sqrt(root)
        for k in range(order):
            term = term * ((0.5 * power + k) * square)
        for _ in range(order + power // 2):
            term = term / root
        total = total + term
    return total


def excess_of_angle(p: Any, m: Any) -> Any:
    """Mean of ``(1/sqrt(1 - m*sin(t)**2) - 1)/m`` from 0 to p."""
    total: Any = 0.0 * p
    for node, weight in GAUSS:
        square = np.square(np.sin(node * p))
        root = np.sqrt(1.0 - m * square)
        total = total + weight * square / (root + root * root)
    return total


def first_kind_incomplete(p: Any, m: Any, other: Callable[..., Any] = sc.ellipkinc) -> Any:
    """Legendre's incomplete integral of the first kind: the angle, and what is positive."""
    p, m = np.float64(1.0) * p, np.float64(1.0) * m
    inside = within_means(p, m)
    angle, share = np.where(inside, p, 0.0), np.where(inside, m, 0.0)
    more = share * (angle * excess_of_angle(angle, share))
    return np.where(inside, angle + more, elsewhere(other, inside, p, m))


def second_kind_incomplete(p: Any, m: Any, other: Callable[..., Any] = sc.ellipeinc) -> Any:
    """Legendre's incomplete integral of the second kind: the angle, less what is positive."""
    p, m = np.float64(1.0) * p, np.float64(1.0) * m
    inside = within_means(p, m)
    angle, share = np.where(inside, p, 0.0), np.where(inside, m, 0.0)
    total: Any = 0.0 * angle
    for node, weight in GAUSS:
        square = np.square(np.sin(node * angle))
        total = total + weight * square / (1.0 + np.sqrt(1.0 - share * square))
    found = angle - share * (angle * total)
    return np.where(inside, found, elsewhere(other, inside, p, m))


# ---------------------------------------------------------------- Carlson's algorithm

SHARE = sp.Interval.open(0, 1)


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
    # At m = 1 the complete integral is infinite; of no turns there is none.
    return part + np.where(turns == 0, 0.0, 2.0 * turns * carlson_d(m, order))


def elliptic_g(p: Any, m: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/(1 - m*sin(t)**2)**(3/2) from 0 to p, for m < 1; a derivative by m."""
    turns = np.rint(p / math.pi)
    part = elliptic_part(p - turns * math.pi, m, 3, order)
    # At m = 1 the complete integral is infinite; of no turns there is none.
    return part + np.where(turns == 0, 0.0, 2.0 * turns * carlson_g(m, order))


def elliptic_root(p: Any, m: Any) -> Any:
    """``sqrt(1 - m*sin(p)**2)``, exact also near m = 1."""
    return np.sqrt((1 - m) + m * np.square(np.cos(p)))


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
    Map("EllipticD", evaluate=elliptic_d, domain=(Real, SHARE), sympy=_d_form,
        rule=Partials(lambda y, p, m, order=0: (
            _integrand(p, m, 1, order), ELLIPTIC_D(p, m, order=order + 1),
        )),
        orders=HIGHEST),
    Code(Composed(elliptic_d), source=lambda p, m, order=0: f"elliptic_d({p}, {m}, {order})",
        helpers=(*SERIES, elliptic_d)),
    Evidence(samples=((0.2, 1.4), (0.2, 0.8)), ulp=16.0),
    Words("(ellipkinc(p, m) - ellipeinc(p, m))/m; a derivative of it by m."),
)  # fmt: skip
ELLIPTIC_G: Op = define(
    Map("EllipticG", evaluate=elliptic_g, domain=(Real, SHARE), sympy=_g_form,
        rule=Partials(lambda y, p, m, order=0: (
            _integrand(p, m, 3, order), ELLIPTIC_G(p, m, order=order + 1),
        )),
        orders=HIGHEST),
    Code(Composed(elliptic_g), source=lambda p, m, order=0: f"elliptic_g({p}, {m}, {order})",
        helpers=(*SERIES, elliptic_g)),
    Evidence(samples=((0.2, 1.4), (0.2, 0.8)), ulp=16.0),
    Words("Twice the derivative of ellipkinc(p, m) by m; one more by m."),
)  # fmt: skip


# ---------------------------------------------------------------- complete integrals


def complete_chosen(m: Any, fit: Any, below: Any, tables: Any, power: int) -> Any:
    """Choose by m from values for m < 0 and by tables, which have the singularity's power."""
    middle, rest, log = tables
    q = 1.0 - m
    near = fit(q, rest)
    for _ in range(power):
        near = near / q
    near = np.where(q == 0, math.inf, near + np.log(q) * fit(q, log))
    return np.where(m < 0, below, np.where(m < 0.875, fit(m, middle), near))


def complete_d(m: Any, fit: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/sqrt(1 - m*sin(t)**2) from 0 to pi/2, for m < 1; a derivative by m."""
    if order > 1:
        return carlson_d(m, order)
    below = carlson_d(np.minimum(m, 0.0), order)
    tables = (
        (COMPLETE_D_MIDDLE, COMPLETE_D_NEAR, COMPLETE_D_LOG),
        (COMPLETE_D1_MIDDLE, COMPLETE_D1_NEAR, COMPLETE_D1_LOG),
    )[order]
    return complete_chosen(m, fit, below, tables, order)


def complete_g(m: Any, fit: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/(1 - m*sin(t)**2)**(3/2) from 0 to pi/2, for m < 1; as complete_d."""
    if order > 1:
        return carlson_g(m, order)
    below = carlson_g(np.minimum(m, 0.0), order)
    tables = (
        (COMPLETE_G_MIDDLE, COMPLETE_G_NEAR, COMPLETE_G_LOG),
        (COMPLETE_G1_MIDDLE, COMPLETE_G1_NEAR, COMPLETE_G1_LOG),
    )[order]
    return complete_chosen(m, fit, below, tables, order + 1)


def _complete_d_form(m: Any, order: int = 0) -> Any:
    return form_of_order(lambda m: (sp.elliptic_k(m) - sp.elliptic_e(m)) / m, m, order)


def _complete_g_form(m: Any, order: int = 0) -> Any:
    return form_of_order(lambda m: (sp.elliptic_e(m) / (1 - m) - sp.elliptic_k(m)) / m, m, order)


COMPLETE_D: Op = tabulated(
    "CompleteD", complete_d, (SHARE,), _complete_d_form,
    lambda y, m, order=0: (COMPLETE_D(m, order=order + 1),), Evidence(samples=(0.2, 0.8), ulp=8.0),
    Words("(ellipk(m) - ellipe(m))/m; a derivative of it."), helpers=(*SERIES, complete_chosen),
    orders=HIGHEST,
)  # fmt: skip
COMPLETE_G: Op = tabulated(
    "CompleteG", complete_g, (SHARE,), _complete_g_form,
    lambda y, m, order=0: (COMPLETE_G(m, order=order + 1),), Evidence(samples=(0.2, 0.8), ulp=8.0),
    Words("Twice the derivative of ellipk(m); one more."), helpers=(*SERIES, complete_chosen),
    orders=HIGHEST,
)  # fmt: skip


# ---------------------------------------------------------------- Legendre's integrals

ELLIPK: Op = define(
    Map("Ellipk", functions=(sc.ellipk,), domain=(SHARE,), sympy=sp.elliptic_k,
        rule=Partials(lambda y, m: (0.5 * COMPLETE_G(m),))),
    Code(Cython("ellipk")),
    Evidence(samples=(0.2, 0.8), ulp=16.0),
    Words("Complete elliptic integral of the first kind."),
)  # fmt: skip
ELLIPE: Op = define(
    Map("Ellipe", functions=(sc.ellipe,), domain=(SHARE,), sympy=sp.elliptic_e,
        rule=Partials(lambda y, m: (-0.5 * COMPLETE_D(m),))),
    Code(Cython("ellipe")),
    Evidence(samples=(0.2, 0.8), ulp=16.0),
    Words("Complete elliptic integral of the second kind."),
)  # fmt: skip
ELLIPKINC: Op = boxed(
    "Ellipkinc", sc.ellipkinc, first_kind_incomplete, (Real, SHARE), sp.elliptic_f,
    lambda y, p, m: (1 / elliptic_root(p, m), 0.5 * ELLIPTIC_G(p, m)),
    Evidence(samples=((0.2, 1.4), (0.2, 0.8)), ulp=8.0),
    Words("Incomplete elliptic integral of the first kind."), helpers=(elsewhere,),
)  # fmt: skip
ELLIPEINC: Op = boxed(
    "Ellipeinc", sc.ellipeinc, second_kind_incomplete, (Real, SHARE), sp.elliptic_e,
    lambda y, p, m: (elliptic_root(p, m), -0.5 * ELLIPTIC_D(p, m)),
    Evidence(samples=((0.2, 1.4), (0.2, 0.8)), ulp=8.0),
    Words("Incomplete elliptic integral of the second kind."), helpers=(elsewhere,),
)  # fmt: skip


def _ellipkm1_slope(y: Any, p: Any) -> Any:
    """Where p is small, the plain formula; elsewhere its terms are nearly equal.

    What 1 - p loses in rounding is put into the other one to first order.
    """
    plain = 0.5 * (y / (1 - p) - ELLIPEM1(p) / (1 - p) / p)
    share = 1 - p
    lost = (1 - share) - p
    found = -0.5 * (COMPLETE_G(share) + lost * COMPLETE_G(share, order=1))
    return np.where(1024 * p < 1, plain, found)


def second_kind_around_one(p: Any) -> Any:
    """``ellipe(1 - p)``; what 1 - p loses its derivative, a logarithm, does not."""
    return sc.ellipe(1.0 - p)


ELLIPEM1: Op = in_doubles(
    "Ellipem1", second_kind_around_one, UNIT, lambda p: sp.elliptic_e(1 - p),
    lambda y, p: (
        0.5 * np.where(p < 0.5, (sc.ellipkm1(p) - y) / (1 - p), COMPLETE_D(1 - p)),
    ),
    Evidence(samples=(0.2, 0.8), ulp=16.0),
    Words("Complete elliptic integral of the second kind around m = 1."),
)  # fmt: skip
ELLIPKM1 = define(
    Map("Ellipkm1", functions=(sc.ellipkm1,), domain=UNIT, sympy=lambda p: sp.elliptic_k(1 - p),
        rule=Partials(lambda y, p: (_ellipkm1_slope(y, p),))),
    Code(Cython("ellipkm1")),
    Evidence(samples=(0.2, 0.8), ulp=16.0),
    Words("Complete elliptic integral of the first kind around m = 1."),
)  # fmt: skip


@relative(sc.agm, "Arithmetic-geometric mean of positive numbers.")
def agm(a: Any, b: Any) -> Any:
    a, b = 1.0 * a, 1.0 * b  # sums of short whole numbers would wrap
    total = a + b
    return math.pi / 4 * total / sc.ellipkm1(4 * (a / total) * (b / total))

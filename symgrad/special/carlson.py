"""Carlson's symmetric elliptic integrals of real numbers, by duplication.

Each step adds terms of one sign, and so do the steps of all derivatives, by the chain rule.
Distances between the arguments become a quarter in each step, once these are of one size; before,
the exponents of their quotients become half. So thirteen steps do for quotients down to 1e-120.
R_J takes more, where p is far above the others, of which it comes closer by a quarter a step.

Source: B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numerical
Algorithms 10, 1995; NIST Digital Library of Mathematical Functions, 19.20, 19.21 and 19.36.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.providers import provided
from .._core.base.scipy_names import special as sc
from .._core.op import HIGHEST, Evidence, Op, Positive, Words
from .._core.ops.np_common import as_array, as_float
from ..errors import UnsupportedError
from .elliptic import GAUSS
from .records import in_doubles, relative


def _reals(name: str, *arguments: Any) -> list[Any]:
    arrays = [as_array(x) for x in arguments]
    if any(x.dtype.kind == "c" for x in arrays):
        raise UnsupportedError(f"{name}: traced are real arguments")
    return [1.0 * as_float(x) for x in arrays]


def carlson_ends(found: Any, least: Any, zeros: Any, far: Any) -> Any:
    """Return what is so at the ends: nan left of 0, infinite for zeros, 0 far out."""
    found = np.where(zeros, math.inf, np.where(far == math.inf, 0.0, found))
    return np.where(least < 0, math.nan, found)


def least_of(x: Any, y: Any, z: Any) -> Any:
    """The least of three."""
    return np.minimum(np.minimum(x, y), z)


def duplicated(x: Any, y: Any, z: Any) -> Any:
    """Return the product of pairs of the roots, and what the arguments become but for it."""
    rx, ry, rz = np.sqrt(x), np.sqrt(y), np.sqrt(z)
    return rx * ry + rx * rz + ry * rz, (rx, ry, rz)


def carlson_series(e2: Any, e3: Any, e4: Any, e5: Any) -> Any:
    """The series of R_D and R_J, order 8."""
    low = e2 * (9 / 88 * e2 - 3 / 14 - e2 * e2 / 16 + 3 / 20 * e4) + e3 * (
        1 / 6 - 9 / 52 * e2 + 3 / 40 * e3 + 45 / 272 * e2 * e2
    )
    return 1.0 + (low - 3 / 22 * e4 + 3 / 26 * e5 - 9 / 68 * (e3 * e4 + e2 * e5))


def carlson_first(x: Any, y: Any, z: Any) -> Any:
    """R_F; its series in the symmetric functions of the distances from the mean is of order 8."""
    mean, scale = (x + y + z) / 3.0, 1.0
    a, b = mean - x, mean - y
    for _ in range(13):
        step, _roots = duplicated(x, y, z)
        scale = 0.25 * scale
        x, y, z, mean = (0.25 * (v + step) for v in (x, y, z, mean))
    a, b = scale * a / mean, scale * b / mean
    c = -a - b
    e2, e3 = a * b - c * c, a * b * c
    bend = e2 * (e2 / 24 - 0.1 - 5 / 208 * e2 * e2) + e3 * (1 / 14 - 3 / 44 * e2 + e2 * e2 / 16)
    return (1.0 + (bend + 3 / 104 * e3 * e3)) / np.sqrt(mean)


def carlson_second(x: Any, y: Any, z: Any) -> Any:
    """R_D, symmetric in x and y."""
    mean = 0.2 * (x + y + 3.0 * z)
    a, b = mean - x, mean - y
    total, scale = 0.0 * mean, 1.0
    for _ in range(13):
        step, (_, _, root) = duplicated(x, y, z)
        total = total + scale / (root * (z + step))
        scale = 0.25 * scale
        x, y, z, mean = (0.25 * (v + step) for v in (x, y, z, mean))
    a, b = scale * a / mean, scale * b / mean
    c = -(a + b) / 3.0
    ab, cc = a * b, c * c
    e2, e3, e4 = ab - 6.0 * cc, (3.0 * ab - 8.0 * cc) * c, 3.0 * (ab - cc) * cc
    series = carlson_series(e2, e3, e4, ab * cc * c)
    return 3.0 * total + scale * series / (mean * np.sqrt(mean))


def _degenerate(x: Any, y: Any) -> Any:
    mean, distance, scale = (x + 2.0 * y) / 3.0, (y - x) / 3.0, 1.0
    for _ in range(13):
        step = 2.0 * np.sqrt(x) * np.sqrt(y) + y
        scale = 0.25 * scale
        x, y, mean = (0.25 * (v + step) for v in (x, y, mean))
    s = scale * distance / mean
    series = 3 / 8 + s * (9 / 22 + s * (159 / 208 + 9 / 8 * s))
    return (1.0 + s * s * (3 / 10 + s * (1 / 7 + s * series))) / np.sqrt(mean)


def degenerate_of_ratio(r: Any, order: int = 0) -> Any:
    """R_C(1, r) for r up to 2; a derivative of it.

    It is the mean of ``1/(1 - (1 - r)*t**2)`` over t from 0 to 1. From 0.35 on it is duplicated,
    which leaves a short power series, and its derivatives are means by Gauss's formula; below,
    where it is a logarithm, they follow from it.
    """
    bound = 0.5 if order else 0.35
    near = r >= bound
    within, small = np.where(near, r, 1.0), np.where(near, bound, r)
    if order == 0:
        root = np.sqrt(within)
        v, series = (1.0 - root) / (1.0 + root), 0.0
        for k in range(25, -1, -1):
            series = series * v + 1.0 / (2 * k + 1)
        found = 2.0 * series / (1.0 + root)
    else:
        found = 0.0 * within
        for node, weight in GAUSS:
            square = node * node
            bottom = (1.0 - square) + square * within
            term = weight * (-1.0) ** order * math.factorial(order) / bottom
            for _ in range(order):
                term = term * (square / bottom)
            found = found + term
    w = 1.0 - small
    root = np.sqrt(w)
    low = np.log(np.square(1.0 + root) / small) / (2.0 * root)
    power = 1.0 / small
    for k in range(order):
        low = ((2 * k + 1) * low - power) / (2.0 * w)
        power = -(k + 1) * power / small
    return np.where(near, found, low)


def _precise_of_ratio(c: Any, guess: Any, r: Any, order: int = 0) -> Any:
    half = c.mpf(1) / 2
    share = c.factorial(order) / (2 * order + 1) * (-1) ** order
    return share * c.hyp2f1(order + 1, order + half, order + 3 * half, 1 - r)


CARLSON_RATIO: Op = in_doubles(
    "CarlsonRatio", degenerate_of_ratio, (sp.Interval.open(0, 2),), None,
    lambda y, r, order=0: (CARLSON_RATIO(r, order=order + 1),),
    Evidence(samples=(0.05, 1.95), ulp=16.0, precise=_precise_of_ratio),
    Words("Carlson's integral R_C(1, r) for r up to 2; a derivative of it."), orders=HIGHEST,
)  # fmt: skip


def _third(x: Any, y: Any, z: Any, p: Any) -> Any:
    """R_J; a loop of the program, as all of the steps have many derivatives."""
    mean = 0.2 * (x + y + z + 2.0 * p)
    a, b, c = mean - x, mean - y, mean - z

    def duplicate(_: Any, state: Any) -> Any:
        x, y, z, p, total, scale = state
        step, (rx, ry, rz) = duplicated(x, y, z)
        first, other = p * (rx + ry + rz) + rx * ry * rz, np.sqrt(p) * (p + step)
        both = first + other
        total = total + scale * (CARLSON_RATIO(2.0 * (other / both)) / both)
        x, y, z, p = (0.25 * (v + step) for v in (x, y, z, p))
        return x, y, z, p, total, 0.25 * scale

    # The first step alone: of an argument that is 0 and stays there the root has no derivative.
    state = duplicate(0, (x, y, z, p, 0.0 * mean, 1.0))
    x, y, z, p, total, scale = provided("fori_loop", 1, 24, duplicate, state)
    mean = 0.2 * (x + y + z + 2.0 * p)
    a, b, c = (scale * v / mean for v in (a, b, c))
    d = -0.5 * (a + b + c)
    e2, abc = a * b + a * c + b * c - 3.0 * d * d, a * b * c
    e3, e4 = abc + 2.0 * e2 * d + 4.0 * d * d * d, (2.0 * abc + e2 * d + 3.0 * d * d * d) * d
    series = carlson_series(e2, e3, e4, abc * d * d)
    return 6.0 * total + scale * series / (mean * np.sqrt(mean))


def symmetric_first(x: Any, y: Any, z: Any) -> Any:
    """R_F, with its ends."""
    zeros = (x + y == 0) | (x + z == 0) | (y + z == 0)
    return carlson_ends(carlson_first(x, y, z), least_of(x, y, z), zeros, x + y + z)


def symmetric_mean(x: Any, y: Any, z: Any) -> Any:
    """R_G, by Euler's relation of its derivatives, in positive terms."""
    usual = (x + y > 0) & (x + z > 0) & (y + z > 0) & (x + y + z < math.inf)
    a, b, c = (np.where(usual, v, 1.0) for v in (x, y, z))
    total = 0.0 * a
    for u, v, w in ((a, b, c), (b, a, c), (c, a, b)):
        share = u * (v + w) * carlson_second(v, w, np.where(u == 0, 1.0, u))
        total = total + np.where(u == 0, 0.0, share)
    end = 0.5 * np.sqrt(x + y + z)  # of the one that is not 0
    return np.where(least_of(x, y, z) < 0, math.nan, np.where(usual, total / 6.0, end))


def _symmetric(
    name: str, function: np.ufunc, formula: Callable[..., Any], slope: Callable[..., Any]
) -> Op:
    """Define an integral that is symmetric; ``slope`` is its derivative by the first argument."""
    return in_doubles(
        name, formula, (Positive,) * 3, None,
        lambda y, a, b, c: (slope(a, b, c), slope(b, c, a), slope(c, a, b)),
        Evidence(samples=((0.2, 1), (1, 2), (2, 5)), ulp=16.0,
            precise=lambda c, guess, *xs: getattr(c, function.__name__)(*xs)),
        Words(f"Carlson's integral R_{name[-1]}."), functions=(function,),
    )  # fmt: skip


CARLSON_F = _symmetric(
    "CarlsonF", sc.elliprf, symmetric_first, lambda a, b, c: -sc.elliprd(b, c, a) / 6
)
CARLSON_G = _symmetric(
    "CarlsonG", sc.elliprg, symmetric_mean,
    lambda a, b, c: (b * sc.elliprd(a, c, b) + c * sc.elliprd(a, b, c)) / 12,
)  # fmt: skip


@relative(sc.elliprd, "Carlson's integral R_D, symmetric in its first two arguments.")
def elliprd(x: Any, y: Any, z: Any) -> Any:
    x, y, z = _reals("elliprd", x, y, z)
    zeros = (x + y == 0) | (z == 0)
    return carlson_ends(carlson_second(x, y, z), least_of(x, y, z), zeros, x + y + z)


@relative(
    sc.elliprj,
    "Carlson's integral R_J.",
    convention="nan for p < 0, and for p beyond 1e9 times the others",
)
def elliprj(x: Any, y: Any, z: Any, p: Any) -> Any:
    x, y, z, p = _reals("elliprj", x, y, z, p)
    zeros = (x + y == 0) | (x + z == 0) | (y + z == 0) | (p == 0)
    p = np.where((p <= 1e9 * (x + y + z)) | (p == math.inf), p, math.nan * p)
    return carlson_ends(_third(x, y, z, p), np.minimum(least_of(x, y, z), p), zeros, x + y + z + p)


@relative(sc.elliprc, "Carlson's integral R_C; Cauchy's principal value for negative y.")
def elliprc(x: Any, y: Any) -> Any:
    x, y = _reals("elliprc", x, y)
    left = y < 0
    first, other = np.where(left, x - y, x), np.abs(y)
    found = _degenerate(first, other)
    found = np.where(left, np.sqrt(x / first) * found, found)
    return carlson_ends(found, x, y == 0, x + np.abs(y))

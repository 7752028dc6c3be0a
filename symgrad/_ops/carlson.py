"""Derivatives of elliptic integrals by their parameter, without differences.

``ellipe(m) - ellipk(m)`` and its like, which textbooks give, lose the digits that both have in
common: all of them for small ``m``. The integrals that are meant have Carlson's symmetric form
R_D, a sum of positive terms.

Source: B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numerical
Algorithms 10, 1995; NIST Digital Library of Mathematical Functions, 19.25 and 19.36.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._op import Composed, Op, Real, define

SHARE = sp.Interval.open(0, 1)


def carlson_rd(x: Any, y: Any, z: Any) -> Any:
    """R_D(x, y, z) for x, y not negative, at most one of them 0, and z > 0."""
    total, scale = 0.0, 1.0
    mean = 0.2 * (x + y + 3.0 * z)
    dx, dy = mean - x, mean - y
    for _ in range(7):  # the distances between the arguments become 4**-7 of what they are
        rx, ry, rz = np.sqrt(x), np.sqrt(y), np.sqrt(z)
        step = rx * ry + rx * rz + ry * rz
        total = total + scale / (rz * (z + step))
        scale = 0.25 * scale
        x, y, z, mean = (0.25 * (v + step) for v in (x, y, z, mean))
    dx, dy = scale * dx / mean, scale * dy / mean
    dz = -(dx + dy) / 3.0
    product = dx * dy
    e2, e3 = product - 6.0 * dz * dz, (3.0 * product - 8.0 * dz * dz) * dz
    series = 1.0 - 3.0 / 14.0 * e2 + e3 / 6.0 + 9.0 / 88.0 * e2 * e2
    return scale * series / (mean * np.sqrt(mean)) + 3.0 * total


def _periods(p: Any) -> tuple[Any, Any, Any]:
    """Half periods of p, and sine and squared cosine of what is left of it."""
    turns = np.rint(p / math.pi)
    rest = p - turns * math.pi
    return 2.0 * turns, np.sin(rest), np.square(np.cos(rest))


def elliptic_d(p: Any, m: Any) -> Any:
    """Integral of sin(t)**2/sqrt(1 - m*sin(t)**2) from 0 to p, for m < 1."""
    turns, s, c = _periods(p)
    root = (1.0 - m) + m * c  # 1 - m*s*s, exact also near m = 1
    whole = carlson_rd(0.0 * m, 1.0 - m, 1.0 + 0.0 * m)
    return (s * s * s * carlson_rd(c, root, 1.0 + 0.0 * root) + turns * whole) / 3.0


def elliptic_g(p: Any, m: Any) -> Any:
    """Integral of sin(t)**2/(1 - m*sin(t)**2)**(3/2) from 0 to p, for m < 1."""
    turns, s, c = _periods(p)
    root = (1.0 - m) + m * c
    whole = carlson_rd(0.0 * m, 1.0 + 0.0 * m, 1.0 - m)
    return (s * s * s * carlson_rd(c, 1.0 + 0.0 * root, root) + turns * whole) / 3.0


def complete_d(m: Any) -> Any:
    """Integral of sin(t)**2/sqrt(1 - m*sin(t)**2) from 0 to pi/2, for m < 1."""
    return carlson_rd(0.0 * m, 1.0 - m, 1.0 + 0.0 * m) / 3.0


def complete_g(m: Any) -> Any:
    """Integral of sin(t)**2/(1 - m*sin(t)**2)**(3/2) from 0 to pi/2, for m < 1."""
    return carlson_rd(0.0 * m, 1.0 + 0.0 * m, 1.0 - m) / 3.0


def elliptic_root(p: Any, m: Any) -> Any:
    """``sqrt(1 - m*sin(p)**2)``, exact also near m = 1."""
    return np.sqrt((1 - m) + m * np.square(np.cos(p)))


def _g_form(p: Any, m: Any) -> Any:
    root = sp.sqrt(1 - m * sp.sin(p) ** 2)
    share = sp.elliptic_e(p, m) / (1 - m) - sp.elliptic_f(p, m)
    return share / m - sp.sin(p) * sp.cos(p) / ((1 - m) * root)


def _plain_root(p: Any, m: Any) -> Any:
    return np.sqrt(1 - m * np.sin(p) ** 2)


ELLIPTIC_D: Op = define(
    name="EllipticD", doc="(ellipkinc(p, m) - ellipeinc(p, m))/m.", evaluate=elliptic_d,
    sympy=lambda p, m: (sp.elliptic_f(p, m) - sp.elliptic_e(p, m)) / m,
    partials=lambda y, p, m: (
        np.square(np.sin(p)) / _plain_root(p, m), (ELLIPTIC_G(p, m) - y) / (2 * m),
    ),
    lower=Composed(elliptic_d), domain=(Real, SHARE), samples=((0.2, 1.4), (0.2, 0.8)), ulp=16.0,
    source=lambda p, m: f"elliptic_d({p}, {m})", helpers=(carlson_rd, _periods, elliptic_d),
)  # fmt: skip
ELLIPTIC_G: Op = define(
    name="EllipticG", doc="Twice the derivative of ellipkinc(p, m) by m.", evaluate=elliptic_g,
    sympy=_g_form,
    partials=lambda y, p, m: (
        np.square(np.sin(p)) / _plain_root(p, m) ** 3,
        ((3 * m - 1) * y + ELLIPTIC_D(p, m)
         - m * (np.sin(p) / _plain_root(p, m)) ** 3 * np.cos(p)) / (2 * m * (1 - m)),
    ),
    lower=Composed(elliptic_g), domain=(Real, SHARE), samples=((0.2, 1.4), (0.2, 0.8)), ulp=16.0,
    source=lambda p, m: f"elliptic_g({p}, {m})", helpers=(carlson_rd, _periods, elliptic_g),
)  # fmt: skip
COMPLETE_D: Op = define(
    name="CompleteD", doc="(ellipk(m) - ellipe(m))/m.", evaluate=complete_d,
    sympy=lambda m: (sp.elliptic_k(m) - sp.elliptic_e(m)) / m,
    partials=lambda y, m: ((COMPLETE_G(m) - y) / (2 * m),), lower=Composed(complete_d),
    domain=(SHARE,), samples=(0.2, 0.8), ulp=16.0,
    source=lambda m: f"complete_d({m})", helpers=(carlson_rd, complete_d),
)  # fmt: skip
COMPLETE_G: Op = define(
    name="CompleteG", doc="Twice the derivative of ellipk(m).", evaluate=complete_g,
    sympy=lambda m: (sp.elliptic_e(m) / (1 - m) - sp.elliptic_k(m)) / m,
    partials=lambda y, m: (((3 * m - 1) * y + COMPLETE_D(m)) / (2 * m * (1 - m)),),
    lower=Composed(complete_g), domain=(SHARE,), samples=(0.2, 0.8), ulp=16.0,
    source=lambda m: f"complete_g({m})", helpers=(carlson_rd, complete_g),
)  # fmt: skip

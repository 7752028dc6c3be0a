"""Associated Legendre functions and spherical harmonics of known whole degree and order.

By recurrence in the degree, from the degree that is the order, where the function is a power of the
sine. So derivatives at the poles are those of polynomials.

Source: NIST Digital Library of Mathematical Functions, 14.7, 14.9, 14.10 and 14.30.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._late import special as sc
from .._op import composite, refuse
from .._ops.np_common import Sample, as_array, as_float, is_traced, join_parts


def _whole(function: Any, what: str, value: Any) -> int:
    try:
        return operator.index(value if not isinstance(value, float) else _exactly(value))
    except (TypeError, ValueError):
        refuse(function, f"the {what} must be one known whole number: loop over several")


def _exactly(value: float) -> int:
    if int(value) != value:
        raise ValueError
    return int(value)


def _associated(n: int, m: int, x: Any, sine: Any, normed: bool) -> Any:
    """P of degree n and order m, at ``x`` and ``sine = sqrt(1 - x*x)``.

    Normed, the integral of its square over x from -1 to 1 is 1/(2*pi).
    """
    order = abs(m)
    if order > n:
        return 0.0 * x
    here: Any = (-1.0) ** order
    if normed:
        square = (2 * order + 1) / (4 * math.pi)
        for k in range(1, order + 1):
            square *= (2 * k - 1) / (2 * k)
        here = here * math.sqrt(square)
    else:
        here = here * float(math.prod(range(1, 2 * order, 2)))
    here = here * sine**order if order else here * np.ones_like(x)
    before: Any = 0.0
    for k in range(order + 1, n + 1):
        if normed:
            up = math.sqrt((4 * k * k - 1) / (k * k - order * order))
            down = math.sqrt(((k - 1) ** 2 - order * order) / (4 * (k - 1) ** 2 - 1))
            before, here = here, up * (x * here - down * before)
        else:
            step = (2 * k - 1) * x * here - (k + order - 1) * before
            before, here = here, step / (k - order)
    if m >= 0:
        return here
    sign = (-1.0) ** order
    return sign * here if normed else sign / float(math.perm(n + order, 2 * order)) * here


def _degrees(rng: np.random.Generator) -> Iterator[Sample]:
    for m, n in ((0, 0), (1, 2), (-2, 3), (3, 2)):
        yield (m, n, rng.uniform(-0.9, 0.9, 4)), {}


@composite(sc.lpmv, name="lpmv", samples=_degrees)
def lpmv(m: Any, v: Any, x: Any) -> Any:
    """Associated Legendre function on (-1, 1), of a known whole order and degree."""
    order, degree = _whole(sc.lpmv, "order", m), _whole(sc.lpmv, "degree", v)
    x = as_float(as_array(x))
    if order:  # of 0 it is a polynomial
        x = np.where(np.abs(x) <= 1, x, math.nan * x)
    return _associated(max(degree, -degree - 1), order, x, np.sqrt((1 - x) * (1 + x)), False)


def _angles(rng: np.random.Generator) -> Iterator[Sample]:
    for n, m in ((0, 0), (2, 1), (3, -2), (2, 3)):
        yield (n, m, rng.uniform(0.2, 3, 4), rng.uniform(0, 6, 4)), {}


@composite(sc.sph_harm_y, name="sph_harm_y", samples=_angles)
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Spherical harmonic of a known degree and order, of polar and azimuthal angles."""
    f = sc.sph_harm_y
    degree, order = _whole(f, "degree", n), _whole(f, "order", m)
    if diff_n or is_traced(diff_n):
        refuse(f, "diff_n gives derivatives as arrays: symgrad.jacobian and hessian do")
    theta, phi = as_float(as_array(theta)), as_float(as_array(phi))
    sine = np.sin(theta)
    sine = np.where(sine < 0, -sine, sine)  # not abs, which has no derivative at the pole
    size = _associated(degree, order, np.cos(theta), sine, True)
    return join_parts(size * np.cos(order * phi), size * np.sin(order * phi))

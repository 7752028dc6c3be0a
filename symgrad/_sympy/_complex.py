"""Zeta function, polylogarithms and elliptic integrals of complex numbers, as NumPy formulas.

SciPy has them for real numbers alone. Here they are formulas of NumPy, which are compiled and
differentiated as any others.

On a cut the sign of a zero imaginary part tells the side, as in NumPy.

Source: NIST Digital Library of Mathematical Functions, 25.2.9, 25.4.1, 25.12 and 19.25; R. E.
Crandall, Note on fast polylogarithm computation, 2012; B. C. Carlson, Numerical computation of real
or complex elliptic integrals, Numerical Algorithms 10, 1995.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from ..scipy import special
from ..special.carlson import carlson_first, carlson_second

# ---------------------------------------------------------------- gamma functions


def beta(a: Any, b: Any) -> Any:
    """``gamma(a)*gamma(b)/gamma(a + b)``, by logarithms."""
    a, b = a + 0j, b + 0j
    return np.exp(special.loggamma(a) + special.loggamma(b) - special.loggamma(a + b))


def binomial(n: Any, k: Any) -> Any:
    """``1/((n + 1)*beta(n - k + 1, k + 1))``, without the poles that cancel."""
    n, k = n + 0j, k + 0j
    below = special.rgamma(k + 1.0) * special.rgamma(n - k + 1.0)
    return special.gamma(n + 1.0) * below


# ---------------------------------------------------------------- zeta functions

#: Terms of the sum, and of Euler's and Maclaurin's formula for the rest of it.
TERMS, MORE = 40, 16

#: The largest imaginary part for which these are enough.
HIGHEST = 80.0


@cache
def _weights() -> tuple[float, ...]:
    """Bernoulli's numbers over the factorials, of 2, 4, ..."""
    return tuple(float(sp.bernoulli(2 * k) / sp.factorial(2 * k)) for k in range(1, MORE + 1))


def _without_pole(s: Any) -> Any:
    """``(s - 1)*zeta(s)`` right of 1/2 and next to 0."""
    total = 0.0 * s
    for k in range(TERMS - 1, 0, -1):
        total = total + np.exp(-math.log(k) * s)
    last = np.exp(-math.log(TERMS) * s)
    # Far to the right the first terms are all, and the factors would overflow.
    at = np.where(s.real > 60.0, 2.0 + 0j, s)
    factor = at / TERMS
    rest = 0.5 + 0.0 * at
    for k, weight in enumerate(_weights(), 1):
        rest = rest + weight * factor
        factor = factor * (at + (2 * k - 1)) * (at + 2 * k) / TERMS**2
    return (s - 1.0) * (total + last * rest) + TERMS * last


def _growth(u: Any) -> Any:
    """``expm1(u)/u``."""
    near = np.abs(u) < 0.1
    at = np.where(near, u, 0.0)
    series = 0.0 * at
    for k in range(12, 0, -1):
        series = (series + 1.0) * at / (k + 1.0)
    away = np.where(near, 1.0 + 0j, u)
    return np.where(near, 1.0 + series, np.expm1(away) / away)


def zeta(s: Any) -> Any:
    """Riemann's zeta; nan where the imaginary part is above 80."""
    return _by_reflection(s, lambda w: _without_pole(w) / (w - 1.0), lambda found, w: found)


def dirichlet_eta(s: Any) -> Any:
    """The alternating zeta function: ``(1 - 2**(1 - s))*zeta(s)``, also at 1."""

    def right(w: Any) -> Any:
        return math.log(2) * _growth(math.log(2) * (1.0 - w)) * _without_pole(w)

    return _by_reflection(s, right, lambda found, w: -np.expm1(math.log(2) * (1.0 - w)) * found)


def _by_reflection(s: Any, right: Any, left: Any) -> Any:
    """Return ``right(s)`` right of 1/2 and next to 0, else ``left`` of zeta by its equation."""
    low = (s.real < 0.5) & (np.abs(s) > 0.25)  # at 0 a pole meets a zero
    t = np.where(low, s, -0.5 + 0j)
    w = 1.0 - t
    size = math.log(2) * t + math.log(math.pi) * (t - 1.0) + special.loggamma(w)
    below = np.exp(size) * np.sin(0.5 * math.pi * t) * (_without_pole(w) / (w - 1.0))
    found = np.where(low, left(below, t), right(np.where(low, 2.0 + 0j, s)))
    return np.where(np.abs(s.imag) > HIGHEST, np.nan, found)


# ---------------------------------------------------------------- polylogarithms


def polylog(z: Any, order: int) -> Any:
    """Of an order from 2 on."""
    beyond = np.abs(z) > 1.0
    near = np.where(beyond, 1.0 / np.where(beyond, z, 2.0 + 0j), z)
    inside = _polylog_within(near, order)
    far = np.log(np.where(beyond, -z, 1.0 + 0j))
    return np.where(beyond, inverted(inside, far, order), inside)


def inverted(inside: Any, far: Any, order: int) -> Any:
    """``polylog(order, z)`` outside of the unit circle by that of 1/z, and ``far = log(-z)``.

    Jonquiere: Li_n(z) + (-1)**n Li_n(1/z) = -sum over even k of 2 eta(k) log(-z)**(n-k)/(n-k)!
    """
    more = far**order / math.factorial(order)
    for k in range(2, order + 1, 2):
        eta = float(sp.dirichlet_eta(k))
        more = more + 2.0 * eta * far ** (order - k) / math.factorial(order - k)
    return -((-1.0) ** order) * inside - more


def _polylog_within(z: Any, order: int) -> Any:
    """Of z within the unit circle: by the power series, and that in ``log(z)`` from 1/2 on."""
    small = np.abs(z) <= 0.5
    at = np.where(small, z, 0.0)
    power = 0.0 * at
    for k in range(56, 0, -1):
        power = (power + float(k) ** -order) * at
    mu = np.log(np.where(small, 0.75 + 0j, z))
    log = 0.0 * mu
    for k in range(58, -1, -1):
        weight = 0.0 if k == order - 1 else float(sp.zeta(order - k) / sp.factorial(k))
        log = log * mu + weight
    one = mu == 0.0  # z = 1, where mu**(n - 1)*log(-mu) is 0
    last = np.log(np.where(one, 1.0 + 0j, -mu))
    harmonic = float(sp.harmonic(order - 1))
    log = log + mu ** (order - 1) / math.factorial(order - 1) * (harmonic - last)
    return np.where(small, power, log)


# ---------------------------------------------------------------- elliptic integrals


def _less(m: Any) -> Any:
    """``1 - m``, on its own side of the cut."""
    return -(m - 1.0)


def elliptic_k(m: Any) -> Any:
    """The complete integral of the first kind."""
    pole = m == 1.0
    found = carlson_first(0.0, _less(np.where(pole, 0.5, m)), 1.0)
    return np.where(pole, math.inf, found)


def elliptic_e(m: Any) -> Any:
    """The complete integral of the second kind."""
    end = m == 1.0
    at = np.where(end, 0.5, m)
    y = _less(at)
    found = carlson_first(0.0, y, 1.0) - at / 3.0 * carlson_second(0.0, y, 1.0)
    return np.where(end, 1.0, found)


def elliptic_f(phi: Any, m: Any) -> Any:
    """The incomplete integral of the first kind."""
    s, x, y, turns = _amplitude(phi, m)
    return s * carlson_first(x, y, 1.0) + _turned(turns, elliptic_k, m)


def elliptic_e_of(phi: Any, m: Any) -> Any:
    """The incomplete integral of the second kind."""
    s, x, y, turns = _amplitude(phi, m)
    found = s * carlson_first(x, y, 1.0) - m * s**3 / 3.0 * carlson_second(x, y, 1.0)
    return found + _turned(turns, elliptic_e, m)


def _amplitude(phi: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Return sine, the arguments of Carlson's forms, and how many half turns are left out."""
    turns = np.rint(np.real(phi) / math.pi)
    phi = phi - math.pi * turns
    s, c = np.sin(phi), np.cos(phi)
    return s, c * c, _less(m * s * s), turns


def _turned(turns: Any, complete: Any, m: Any) -> Any:
    some = turns != 0
    return np.where(some, 2.0 * turns * complete(np.where(some, m, 0.5)), 0.0)

"""Spherical Bessel functions of whole order, Hankel's functions, and derivatives of a known order.

The spherical ones are Bessel functions of half-odd order over roots, which differences of the chain
rule would lose close to 0: j and i are families of their own, closed under differentiation.

Source: NIST Digital Library of Mathematical Functions, 10.4, 10.6.7, 10.11, 10.29.5, 10.47, 10.51
and 10.53.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Evidence, Op, Positive, Words, composite
from .._core.ops.np_common import as_array, as_float, is_traced, join_parts
from ..errors import UnsupportedError
from .bessel_orders import HELPERS, bessel_i, bessel_j
from .records import ORDER, boxed, relative


def spherical_bessel(
    n: Any, x: Any, other: Callable[..., Any], bessel: Callable[..., Any], end: float
) -> Any:
    """A spherical Bessel function of a whole order that is regular at 0, by one of order n + 1/2.

    Next to 0 the first term of the power series, ``x**n/(2*n + 1)!!``.
    """
    n, x = np.float64(1.0) * n, np.float64(1.0) * x
    size = np.fabs(x)
    near, far = size <= 1e-28, size == math.inf
    at = np.where(near | far, 1.0, size)
    found = 1.2533141373155001 / np.sqrt(at) * bessel(n + 0.5, at, other)  # sqrt(pi/2)
    first = 0.886226925452758 * sc.rgamma(n + 1.5) * (0.5 * np.where(near, size, 0.0)) ** n
    found = np.where(near, first, np.where(far, end, found))  # sqrt(pi)/2
    return np.where((x < 0.0) & (np.remainder(n, 2.0) == 1.0), -found, found)


def _neighbours(f: Callable[..., Any], n: Any, x: Any, below: float, above: float) -> Any:
    """A derivative by x, as a weighted mean of the orders below and above."""
    lower = np.where(n > 0, n * f(np.maximum(n - 1.0, 0.0), x), 0.0)
    return (below * lower + above * ((n + 1.0) * f(n + 1.0, x))) / (2.0 * n + 1.0)


#: How what it is at infinity is written.
_END = {0.0: "0.0", math.inf: "np.inf"}


def _regular(
    name: str, function: np.ufunc, bessel: Callable[..., Any], end: float, above: float
) -> Op:
    def precise(c: Any, guess: Any, n: Any, x: Any) -> Any:
        return c.sqrt(c.pi / (2 * x)) * getattr(c, f"bessel{name[-1].lower()}")(n + c.mpf(0.5), x)

    op: Op = boxed(
        name, function, spherical_bessel, (sp.Naturals0, Positive), None,
        lambda y, n, x: (math.nan, _neighbours(op, n, x, 1.0, above)),
        # Beyond the order the functions go upwards from that of order 0.
        Evidence(samples=((2, 6), (0.2, 2)), ulp=64.0, precise=precise),
        Words("Spherical Bessel function of a whole order.", convention=ORDER),
        functions=(), more=(bessel, end), helpers=(*HELPERS, bessel),
        shown=(f"special.{function.__name__}", bessel.__name__, _END[end]),
    )  # fmt: skip
    return op


SPHERICAL_J = _regular("SphericalJ", sc.jv, bessel_j, 0.0, -1.0)
SPHERICAL_I = _regular("SphericalI", sc.iv, bessel_i, math.inf, 1.0)


def _raised(n: Any, x: Any, here: Any, above: Any, sign: float) -> Any:
    """The member n of a family that grows upwards, from those of orders 0 and 1."""
    found = np.where(n == 0, here, above)
    for k in range(1, int(np.max(n, initial=0))):
        here, above = above, (2.0 * k + 1.0) / x * above + sign * here
        found = np.where(n > k, above, found)
    return found


def _spherical_j(n: Any, x: Any) -> Any:
    """Upwards from sin(x)/x where x is beyond the order, and the family's below."""
    far = np.abs(x) > np.maximum(n, 1.0)
    at = np.where(far, x, 1.0 + n)
    first = np.sin(at) / at
    found = _raised(n, at, first, (first - np.cos(at)) / at, -1.0)
    found = np.where(far, found, SPHERICAL_J(n, np.where(far, 0.0, x)))
    return np.where(np.isinf(x), 0.0, found)


def _spherical_y(n: Any, x: Any) -> Any:
    first = -np.cos(x) / x
    found = _raised(n, x, first, (first - np.sin(x)) / x, -1.0)
    return np.where(np.isinf(x), 0.0, np.where(x == 0, -math.inf, found))


def _spherical_k(n: Any, x: Any) -> Any:
    x = x + 0.0
    first = 0.5 * math.pi * np.exp(-x) / x
    found = _raised(n, x, first, first + first / x, 1.0)
    return np.where(np.isinf(x), np.where(x > 0, 0.0, x), found)


def _spherical(letter: str, compute: Callable[..., Any], below: float, above: float) -> None:
    name = f"spherical_{letter}n"

    def function(n: Any, z: Any, derivative: bool = False) -> Any:
        x = as_array(z)
        if is_traced(n) or np.asarray(n).dtype.kind not in "iub" or x.dtype.kind == "c":
            raise UnsupportedError(f"{name}: traced is real z, of known whole orders n")
        order, x = np.asarray(n, float), x.astype(np.float64)
        return _neighbours(compute, order, x, below, above) if derivative else compute(order, x)

    function.__doc__ = f"Spherical Bessel function {letter} of a whole order."
    composite(getattr(sc, name), name=name, convention=ORDER)(function)


_spherical("j", _spherical_j, 1.0, -1.0)
_spherical("y", _spherical_y, 1.0, -1.0)
_spherical("i", SPHERICAL_I, 1.0, 1.0)
_spherical("k", _spherical_k, -1.0, -1.0)


# ---------------------------------------------------------------- Hankel's functions


def _hankel(kind: float, scaled: bool, function: np.ufunc) -> None:
    """Enter J + i*Y or J - i*Y, or times exp(-i*z) or exp(i*z); left of 0 continued from above."""

    def hankel(v: Any, z: Any) -> Any:
        if as_array(z).dtype.kind == "c":
            raise UnsupportedError(f"{function.__name__}: traced is real z, not {z.dtype}")
        v, x = as_float(as_array(v)), as_float(as_array(z))
        size = np.abs(x)
        j, y = sc.jv(v, size), sc.yv(v, size)
        turn = math.pi * np.remainder(v, 2.0)
        cos, sin = np.cos(turn), np.sin(turn)
        # J is exp(i*pi*v)*J there, and Y is exp(-i*pi*v)*Y + 2*i*cos(pi*v)*J.
        left_real = cos * j - kind * (2.0 * cos * j - sin * y)
        left_imag = sin * j + kind * cos * y
        left = x < 0
        real, imag = np.where(left, left_real, j), np.where(left, left_imag, kind * y)
        if scaled:
            c, s = np.cos(x), -kind * np.sin(x)
            real, imag = real * c - imag * s, real * s + imag * c
        return join_parts(np.where(x == 0, math.nan, real), np.where(x == 0, math.nan, imag))

    hankel.__doc__ = "Hankel function of a real argument."
    relative(function, hankel.__doc__, convention=ORDER)(hankel)


for _kind, _name in ((1.0, "hankel1"), (-1.0, "hankel2")):
    _hankel(_kind, False, getattr(sc, _name))
    _hankel(_kind, True, getattr(sc, f"{_name}e"))


# ---------------------------------------------------------------- derivatives of a known order


def _derivative(name: str, sign: float, outer: float) -> None:
    """Enter derivative n by z: a sum over the orders v - n, v - n + 2, ..., v + n over 2**n."""
    function = getattr(sc, f"{name}p")
    of = getattr(sc, {"h1v": "hankel1", "h2v": "hankel2"}.get(name, name))

    def derivative(v: Any, z: Any, n: int = 1) -> Any:
        n = operator.index(n)
        if n < 0:
            raise ValueError("n must be a non-negative integer.")
        total = sum(sign**k * math.comb(n, k) * of(v - n + 2.0 * k, z) for k in range(n + 1))
        return (0.5 * outer) ** n * total

    derivative.__doc__ = f"Derivative n of {of.__name__} by its argument, for a known n."
    relative(function, derivative.__doc__, convention=ORDER)(derivative)


for _name, _sign, _outer in (
    ("jv", -1.0, 1.0), ("yv", -1.0, 1.0), ("iv", 1.0, 1.0), ("kv", 1.0, -1.0),
    ("h1v", -1.0, 1.0), ("h2v", -1.0, 1.0),
):  # fmt: skip
    _derivative(_name, _sign, _outer)

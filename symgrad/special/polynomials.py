"""Orthogonal polynomials, Legendre functions and spherical harmonics, by their recurrences.

Degrees and orders are known whole numbers. Associated Legendre functions go from the degree that is
the order, where the function is a power of the sine. So derivatives at the poles are those of
polynomials.

Source: NIST Digital Library of Mathematical Functions, 14.7, 14.9, 14.10, 14.30 and 18.9.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.scipy_names import special as sc
from .._core.op import composite, refuse
from .._core.ops.np_common import as_array, as_float, is_traced, join_parts
from .records import relative


def _degree(name: str, n: Any) -> int:
    if is_traced(n) or np.ndim(n) or int(n) != n or n < 0:
        refuse(getattr(sc, name), "the degree must be a known whole number, not a traced one")
    return int(n)


def _recurrence(n: int, one: Any, first: Any, step: Callable[[int, Any, Any], Any]) -> Any:
    """Return the member n of a family, each made of the two before it."""
    before, here = one, first
    if n == 0:
        return one
    for k in range(1, n):
        before, here = here, step(k, here, before)
    return here


def _families(x: Any, name: str, n: int, a: Any, b: Any) -> Any:
    one = np.ones_like(x)
    if name == "chebyt":
        return _recurrence(n, one, x, lambda k, p, q: 2 * x * p - q)
    if name == "chebyu":
        return _recurrence(n, one, 2 * x, lambda k, p, q: 2 * x * p - q)
    if name == "legendre":
        return _recurrence(n, one, x, lambda k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
    if name == "hermite":
        return _recurrence(n, one, 2 * x, lambda k, p, q: 2 * x * p - 2 * k * q)
    if name == "hermitenorm":
        return _recurrence(n, one, x, lambda k, p, q: x * p - k * q)
    if name in ("laguerre", "genlaguerre"):
        return _recurrence(
            n, one, 1 + a - x,
            lambda k, p, q: ((2 * k + 1 + a - x) * p - (k + a) * q) / (k + 1),
        )  # fmt: skip
    if name == "gegenbauer":
        return _recurrence(
            n, one, 2 * a * x,
            lambda k, p, q: (2 * (k + a) * x * p - (k + 2 * a - 1) * q) / (k + 1),
        )  # fmt: skip
    return _recurrence(n, one, (a + 1) + (a + b + 2) * (x - 1) / 2, _jacobi(x, a, b))


def _jacobi(x: Any, a: Any, b: Any) -> Callable[[int, Any, Any], Any]:
    def step(k: int, p: Any, q: Any) -> Any:
        c = 2 * k + a + b
        left = (c + 1) * ((c + 2) * c * x + a * a - b * b) * p
        right = 2 * (k + a) * (k + b) * (c + 2) * q
        return (left - right) / (2 * (k + 1) * (k + 1 + a + b) * c)

    return step


def _polynomial(name: str) -> None:
    function = getattr(sc, f"eval_{name}")

    def evaluate(n: Any, *rest: Any) -> Any:
        a, b = (*rest[:-1], 0.0, 0.0)[:2]
        x = as_float(as_array(rest[-1]))
        if function.types == ["ld->d"]:  # nothing shorter, as SciPy
            x = x.astype(np.result_type(x.dtype, float))
        return _families(x, name, _degree(f"eval_{name}", n), a, b)

    doc = f"{name.capitalize()} polynomial of a known degree."
    relative(function, doc)(evaluate)


for _name in (
    "chebyt", "chebyu", "legendre", "hermite", "hermitenorm", "laguerre", "genlaguerre",
    "gegenbauer", "jacobi",
):  # fmt: skip
    _polynomial(_name)


@relative(sc.eval_chebyc, "Chebyshev polynomial of the first kind on [-2, 2].")
def chebyc(n: Any, x: Any) -> Any:
    return 2.0 * sc.eval_chebyt(n, 0.5 * x)


@relative(sc.eval_chebys, "Chebyshev polynomial of the second kind on [-2, 2].")
def chebys(n: Any, x: Any) -> Any:
    return sc.eval_chebyu(n, 0.5 * x)


@relative(sc.eval_sh_chebyt, "Chebyshev polynomial of the first kind on [0, 1].")
def sh_chebyt(n: Any, x: Any) -> Any:
    return sc.eval_chebyt(n, 2.0 * x - 1.0)


@relative(sc.eval_sh_chebyu, "Chebyshev polynomial of the second kind on [0, 1].")
def sh_chebyu(n: Any, x: Any) -> Any:
    return sc.eval_chebyu(n, 2.0 * x - 1.0)


@relative(sc.eval_sh_legendre, "Legendre polynomial on [0, 1].")
def sh_legendre(n: Any, x: Any) -> Any:
    return sc.eval_legendre(n, 2.0 * x - 1.0)


@relative(sc.eval_sh_jacobi, "Jacobi polynomial on [0, 1].")
def sh_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    scale = np.exp(sc.gammaln(n + 1.0) + sc.gammaln(n + p) - sc.gammaln(2.0 * n + p))
    return scale * sc.eval_jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0)


# ---------------------------------------------------------------- spherical harmonics


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


@composite(sc.lpmv, name="lpmv")
def lpmv(m: Any, v: Any, x: Any) -> Any:
    """Associated Legendre function on (-1, 1), of a known whole order and degree."""
    order, degree = _whole(sc.lpmv, "order", m), _whole(sc.lpmv, "degree", v)
    x = as_float(as_array(x))
    if order:  # of 0 it is a polynomial
        x = np.where(np.abs(x) <= 1, x, math.nan * x)
    return _associated(max(degree, -degree - 1), order, x, np.sqrt((1 - x) * (1 + x)), False)


@composite(sc.sph_harm_y, name="sph_harm_y")
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

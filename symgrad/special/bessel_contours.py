"""Derivatives of Bessel functions with respect to their order, by contour integrals.

Each function is an integral of ``exp(f(t) - v*t)``, so a derivative by v has a factor of -t more.
Along a smooth contour from one end of the integral to the other the trapezoidal rule converges
exponentially, and next to a path of steepest descent nothing cancels:

- K along the real line;
- the first Hankel function, J + i*Y, along ``u + i*(pi/2 + gd(u - a))``, gd being Gudermann's
  function, which for v = 0 is the path of steepest descent; a is 0 for v <= x, and else the saddle;
- I, and J for v > x, along ``a + log(cosh(u)) + 2*i*gd(u)``, through the saddle at a.

Nodes go to where the integrand is exp(-40) of the largest. Outside of the box of orders and
arguments where this was measured the derivatives are nan.

Source: NIST Digital Library of Mathematical Functions, 10.9.17, 10.9.18, 10.32.9, 10.32.12 and
4.23.39; L. N. Trefethen, J. A. C. Weideman, The exponentially convergent trapezoidal rule, SIAM
Review 56, 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.op import HIGHEST, Evidence, Op, Positive, Real, Words
from . import multiple_precision as precisely
from .records import in_doubles

#: Outside of the box.
CONVENTION = "by the order: nan for v below -2 or above 20, and for x below 0.1 or above 60"


def in_contour_box(v: Any, x: Any) -> Any:
    """Whether the derivatives by order are known."""
    return (v >= -2.0) & (v <= 20.0) & (x >= 0.1) & (x <= 60.0)


def complex_power(real: Any, imag: Any, n: int) -> Any:
    """The parts of a complex number to the n-th."""
    a, b = 1.0, 0.0
    for _ in range(n):
        a, b = a * real - b * imag, a * imag + b * real
    return a, b


def decaying_window(v: Any, x: Any) -> Any:
    """Where ``exp(v*t - x*cosh(t))`` is more than exp(-40) of its largest, for v >= 0."""
    size = np.hypot(x, v)
    centre, order = np.arcsinh(v / x), np.maximum(v, 1e-9)
    right = np.arccosh(1.0 + 40.0 / size)
    steep, flat = np.arccosh(1.0 + 40.0 * (size + v) / (x * x)), 40.0 / order
    left = np.minimum(steep, 0.5 * (flat + np.sqrt(flat * flat + 8.0 * flat)))
    return centre - left, centre + right


def decaying_by_order(v: Any, x: Any, n: int, power: float) -> Any:
    """Derivative n of K by the order, times ``exp(power*x)``."""
    order = np.fabs(v)
    low, high = decaying_window(order, x)
    step = (high - low) / 70.0
    total = 0.0 * x
    for k in range(71):
        t = low + k * step
        bend = 2.0 * np.square(np.sinh(0.5 * t)) if power else np.cosh(t)
        total = total + t**n * np.exp(order * t - x * bend)
    total = 0.5 * step * total
    if n % 2:
        total = np.where(v == 0.0, 0.0, np.where(v < 0.0, -total, total))
    return total


def hankel_by_order(v: Any, x: Any, n: int) -> Any:
    """Derivative n of J and of Y by the order, J for v <= x."""
    low, high = decaying_window(np.fabs(v), x)
    step, side = (high - low) / 60.0, np.where(v < 0.0, 1.0, -1.0)
    even_shift = np.maximum(v / x, 1.0)
    odd_shift = np.sqrt(even_shift * even_shift - 1.0)
    real, imag = 0.0 * x, 0.0 * x
    for k in range(61):
        u = side * (low + k * step)
        odd = np.sinh(u)
        even = np.sqrt(1.0 + odd * odd)
        turned = odd * even_shift - even * odd_shift  # sinh(u - shift)
        over = 1.0 / np.sqrt(1.0 + turned * turned)
        angle = 0.5 * math.pi + np.arctan(turned)
        size = np.exp(-x * (odd * turned * over) - v * u)
        phase = x * (even * over) - v * angle
        a, b = complex_power(-u, -angle, n)
        c, d = size * np.cos(phase), size * np.sin(phase)
        c, d = c * a - d * b, c * b + d * a
        real, imag = real + (c - d * over), imag + (d + c * over)
    scale = step / math.pi
    return scale * imag, -scale * real


def saddle_by_order(v: Any, x: Any, n: int, grows: bool, power: float = 0.0) -> Any:
    """Derivative n of I by the order, times ``exp(power*x)``, or of J for v > x."""
    if grows:
        size = np.hypot(x, v)
        start = np.arcsinh(np.maximum(v, 0.0) / x)
        reach = np.where(v < 0.0, np.where(x < 4.0, 0.5 * x, x), v + size)
    else:
        start = np.arccosh(np.maximum(v / x, 1.0))
        reach = x * np.exp(start)
    step = np.arccosh(1.0 + 80.0 / reach) / 40.0
    grown, total = np.exp(start), 0.0 * x
    for k in range(40, -1, -1):
        sine = np.sinh(k * step)
        cosh = np.sqrt(1.0 + sine * sine)
        over = 1.0 / cosh
        slant = sine * over
        along, angle = start + np.log(cosh), 2.0 * np.arctan(sine)
        radius = grown * cosh
        odd, even = 0.5 * (radius - 1.0 / radius), 0.5 * (radius + 1.0 / radius)
        cosine, turned = 2.0 * over * over - 1.0, 2.0 * slant * over
        if grows:
            real, imag = x * (even * cosine + power), x * (odd * turned)
        else:
            real, imag = x * (odd * cosine), x * (even * turned)
        size, phase = np.exp(real - v * along), imag - v * angle
        a, b = complex_power(-along, -angle, n)
        c, d = size * np.cos(phase), size * np.sin(phase)
        c, d = c * a - d * b, c * b + d * a
        total = total + (0.5 if k == 0 else 1.0) * (2.0 * over * c + slant * d)
    return step / math.pi * total


CONTOURS = (in_contour_box, complex_power, decaying_window)


def jv_by_order(v: Any, x: Any, order: int = 0) -> Any:
    """The derivative of J by its order, or a higher one."""
    inside = in_contour_box(v, x)
    v, x = np.where(inside, v, 1.0), np.where(inside, x, 2.0)
    beyond = v > x
    far = hankel_by_order(np.where(beyond, 0.0, v), x, order + 1)[0]
    near = saddle_by_order(np.where(beyond, v, x), x, order + 1, False)
    return np.where(inside, np.where(beyond, near, far), math.nan)


def yv_by_order(v: Any, x: Any, order: int = 0) -> Any:
    """The derivative of Y by its order, or a higher one."""
    inside = in_contour_box(v, x)
    found = hankel_by_order(np.where(inside, v, 1.0), np.where(inside, x, 2.0), order + 1)
    return np.where(inside, found[1], math.nan)


def iv_by_order(v: Any, x: Any, order: int = 0, power: float = 0.0) -> Any:
    """The derivative of I by its order, or a higher one, times ``exp(power*x)``."""
    inside = in_contour_box(v, x)
    v, x = np.where(inside, v, 1.0), np.where(inside, x, 2.0)
    return np.where(inside, saddle_by_order(v, x, order + 1, True, power), math.nan)


def ive_by_order(v: Any, x: Any, order: int = 0) -> Any:
    """The derivative of ``exp(-x)*I`` by its order, or a higher one."""
    return iv_by_order(v, x, order, -1.0)


def kv_by_order(v: Any, x: Any, order: int = 0, power: float = 0.0) -> Any:
    """The derivative of K by its order, or a higher one, times ``exp(power*x)``."""
    inside = in_contour_box(np.fabs(v), x)
    v, x = np.where(inside, v, 1.0), np.where(inside, x, 2.0)
    return np.where(inside, decaying_by_order(v, x, order + 1, power), math.nan)


def kve_by_order(v: Any, x: Any, order: int = 0) -> Any:
    """The derivative of ``exp(x)*K`` by its order, or a higher one."""
    return kv_by_order(v, x, order, 1.0)


# ---------------------------------------------------------------- records


def _family(
    name: str, formula: Callable[..., Any], slope: Callable[..., Any], *helpers: Any,
    least: float = 0.0,
) -> Op:  # fmt: skip
    """Define a family; ``slope(y, below, above)`` is its derivative by x, by the orders beside.

    ``least``: the least order of the samples. Even functions of the order have derivatives that
    vanish with it, which are exact to an absolute error.
    """

    def partials(y: Any, v: Any, x: Any, order: int = 0) -> tuple[Any, Any]:
        beside = (op(v + step, x, order=order) for step in (-1.0, 1.0))
        return op(v, x, order=order + 1), slope(y, *beside)

    def reading(v: Any, x: Any, order: int = 0) -> Any:
        return sp.Function(f"{name}ByOrder")(v, x, *([order] if order else ()))

    op: Op = in_doubles(
        f"{name}ByOrder", formula, (Real, Positive), None, partials,
        Evidence(samples=((least, 3), (0.2, 1.8)), ulp=64.0,
            precise=precisely.by_order(name.lower())),
        Words(f"The derivative of {name.lower()} by its order; a higher one.", reading=reading,
            convention=CONVENTION),
        helpers=(*CONTOURS, *helpers), orders=HIGHEST,
    )  # fmt: skip
    return op


JV_BY_ORDER = _family(
    "Jv", jv_by_order, lambda y, below, above: 0.5 * (below - above),
    hankel_by_order, saddle_by_order,
)  # fmt: skip
YV_BY_ORDER = _family(
    "Yv", yv_by_order, lambda y, below, above: 0.5 * (below - above), hankel_by_order
)
IV_BY_ORDER = _family(
    "Iv", iv_by_order, lambda y, below, above: 0.5 * (below + above), saddle_by_order
)
KV_BY_ORDER = _family(
    "Kv", kv_by_order, lambda y, below, above: -0.5 * (below + above), decaying_by_order,
    least=0.5,
)  # fmt: skip
IVE_BY_ORDER = _family(
    "Ive", ive_by_order, lambda y, below, above: 0.5 * (below + above) - y,
    iv_by_order, saddle_by_order,
)  # fmt: skip
KVE_BY_ORDER = _family(
    "Kve", kve_by_order, lambda y, below, above: y - 0.5 * (below + above),
    kv_by_order, decaying_by_order, least=0.5,
)  # fmt: skip

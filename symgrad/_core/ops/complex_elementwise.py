"""Elementwise functions of complex numbers, in real operations on their parts.

A formula takes traced values of which at least one is complex (``dtype.kind`` is "c") and
returns ``(real, imag)``, or one value, real or complex. Branch cuts and signs of zero are those
of C99's annex G and of NumPy. Each formula is differentiated as it stands, so it also must have
the right derivatives on the axes and on the cuts.

Source of the inverse functions: W. Kahan, Branch cuts for complex elementary functions, or much
ado about nothing's sign bit, in: The State of the Art in Numerical Analysis, 1987.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Parts = Any  # a pair (real, imag), or one value

LN2, LN10 = math.log(2.0), math.log(10.0)
#: The largest whole exponent of which powers are products.
PRODUCTS = 64


def is_complex(x: Any) -> bool:
    """Tell whether an operand is complex."""
    return bool(x.dtype.kind == "c")


# ---------------------------------------------------------------- arithmetic


def add(x: Any, y: Any) -> Parts:
    """Return the parts of ``x + y``."""
    if is_complex(x) and is_complex(y):
        return x.real + y.real, x.imag + y.imag
    return x.real + y.real, (x if is_complex(x) else y).imag


def subtract(x: Any, y: Any) -> Parts:
    """Return the parts of ``x - y``."""
    if is_complex(x) and is_complex(y):
        return x.real - y.real, x.imag - y.imag
    return x.real - y.real, x.imag if is_complex(x) else -y.imag


def multiply(x: Any, y: Any) -> Parts:
    """Return the parts of ``x*y``."""
    if not is_complex(x):
        return x * y.real, x * y.imag
    if not is_complex(y):
        return x.real * y, x.imag * y
    a, b, c, d = x.real, x.imag, y.real, y.imag
    return a * c - b * d, a * d + b * c


def divide(x: Any, y: Any) -> Parts:
    """Return the parts of ``x/y``.

    Source: R. L. Smith, Algorithm 116: Complex division, Comm. ACM 5 (1962), as in NumPy.
    """
    if not is_complex(y):
        return x.real / y, x.imag / y
    kind = (x.real + y.real).dtype  # a number of Python's has the type of what is beside it
    c, d = (part.astype(kind) for part in (y.real, y.imag))
    wide = np.fabs(c) >= np.fabs(d)
    large, small = np.where(wide, c, d), np.where(wide, d, c)
    ratio = small / large
    scale = large + small * ratio
    if not is_complex(x):
        return x * np.where(wide, 1.0, ratio) / scale, x * np.where(wide, -ratio, -1.0) / scale
    a, b = (part.astype(kind) for part in (x.real, x.imag))
    first, second = np.where(wide, a, b), np.where(wide, b, a)
    real = first + second * ratio
    imag = np.where(wide, b - a * ratio, b * ratio - a)
    return real / scale, imag / scale


def square(z: Any) -> Parts:
    """Return the parts of ``z**2``."""
    x, y = z.real, z.imag
    return (x - y) * (x + y), 2.0 * (x * y)


def absolute(z: Any) -> Any:
    """Return ``|z|``."""
    return np.hypot(z.real, z.imag)


def sign(z: Any) -> Parts:
    """Return the parts of ``z/|z|``, 0 at 0."""
    r = absolute(z)
    r = np.where(r == 0, 1.0, r)
    return z.real / r, z.imag / r


def power(z: Any, w: Any) -> Parts:
    """Return ``z**w``: by products if ``w`` is a known small whole number."""
    number = getattr(w.node, "value", None) if not is_complex(w) and not w.shape else None
    kind = (z.real + w.real).dtype
    z, w = (x.astype(np.result_type(kind, np.complex64) if is_complex(x) else kind) for x in (z, w))
    if number is not None and number == int(number) and abs(number) <= PRODUCTS:
        return _whole_power(z, int(number))
    zero = z == 0
    # 0**w is 0 for a positive real part, and 1 for w = 0.
    at_zero = np.where(w == 0, 1.0, np.where(w.real > 0, 0.0, math.nan))
    beside = np.exp(w * log_of(np.where(zero, np.ones_like(z), z)))
    return np.where(zero, at_zero.astype(kind), beside)


def _whole_power(z: Any, n: int) -> Any:
    if n == 0:
        return np.ones_like(z)
    result, factor, rest = None, z, abs(n)
    while rest:
        if rest & 1:
            result = factor if result is None else result * factor
        rest >>= 1
        if rest:
            factor = np.square(factor)
    return result if n > 0 else np.reciprocal(result)


# ---------------------------------------------------------------- roots, exponentials, logarithms


def sqrt(z: Any) -> Parts:
    """Return the parts of the root with a real part that is not negative."""
    x, y = z.real, z.imag
    right = x >= 0
    size = np.where(right, x, -x)  # not fabs(x), whose derivative is 0 at 0
    s = np.sqrt(0.5 * (size + np.hypot(x, y)))
    t = 0.5 * y / np.where(s == 0, 1.0, s)
    side = np.copysign(1.0, y)
    return np.where(right, s, side * t), np.where(right, t, side * s)


def exp(z: Any) -> Parts:
    """Return the parts of ``exp(z)``."""
    size = np.exp(z.real)
    return size * np.cos(z.imag), size * np.sin(z.imag)


def expm1(z: Any) -> Parts:
    """Return the parts of ``exp(z) - 1``, accurate near 0."""
    x, y = z.real, z.imag
    half = np.sin(0.5 * y)
    return np.expm1(x) * np.cos(y) - 2.0 * half * half, np.exp(x) * np.sin(y)


def log_size(x: Any, y: Any, offset: float = 0.0) -> Any:
    """Return ``log(|offset + x + iy|)``; near 1 it is accurate in what is added to 1."""
    if offset:
        excess, x = x * (2.0 + x) + y * y, offset + x
    else:
        wide = np.fabs(x) >= np.fabs(y)
        large, small = np.where(wide, x, y), np.where(wide, y, x)
        large = np.copysign(1.0, large) * large
        excess = (large - 1.0) * (large + 1.0) + small * small
    near = np.fabs(excess) < 0.5
    return np.where(near, 0.5 * np.log1p(np.where(near, excess, 0.0)), np.log(np.hypot(x, y)))


def log(z: Any) -> Parts:
    """Return the parts of ``log(z)``; the cut is along the negative real axis."""
    return log_size(z.real, z.imag), np.arctan2(z.imag, z.real)


def log_of(z: Any) -> Any:
    """Return the complex logarithm, of a real number too."""
    return np.log(z if is_complex(z) else z + 0j)


def log1p(z: Any) -> Parts:
    """Return the parts of ``log(1 + z)``, accurate near 0."""
    return log_size(z.real, z.imag, 1.0), np.arctan2(z.imag, 1.0 + z.real)


# ---------------------------------------------------------------- trigonometric, hyperbolic


def sin(z: Any) -> Parts:
    """Return the parts of ``sin(z)``."""
    x, y = z.real, z.imag
    return np.sin(x) * np.cosh(y), np.cos(x) * np.sinh(y)


def cos(z: Any) -> Parts:
    """Return the parts of ``cos(z)``."""
    x, y = z.real, z.imag
    return np.cos(x) * np.cosh(y), -np.sin(x) * np.sinh(y)


def sinh(z: Any) -> Parts:
    """Return the parts of ``sinh(z)``."""
    x, y = z.real, z.imag
    return np.sinh(x) * np.cos(y), np.cosh(x) * np.sin(y)


def cosh(z: Any) -> Parts:
    """Return the parts of ``cosh(z)``."""
    x, y = z.real, z.imag
    return np.cosh(x) * np.cos(y), np.sinh(x) * np.sin(y)


#: Beyond it tanh is 1 up to rounding, and products of sinh come near overflow (Kahan).
FAR = 20.0


def _tanh(x: Any, y: Any) -> Parts:
    far = np.fabs(x) > FAR
    inner, outer = np.where(far, 0.0, x), np.where(far, np.fabs(x), FAR)
    s, c, t = np.sinh(inner), np.cosh(inner), np.cos(y)
    scale = s * s + t * t
    decay = 4.0 * np.exp(-2.0 * outer)
    wave = np.sin(y) * t
    real = np.where(far, np.copysign(1.0, x) * (1.0 + 0.5 * decay * (1 - 2 * t * t)), s * c / scale)
    return real, np.where(far, wave * decay, wave / scale)


def tanh(z: Any) -> Parts:
    """Return the parts of ``tanh(z)``."""
    return _tanh(z.real, z.imag)


def tan(z: Any) -> Parts:
    """Return the parts of ``tan(z) = -i tanh(iz)``."""
    a, b = _tanh(-z.imag, z.real)
    return b, -a


# ---------------------------------------------------------------- their inverses


class _Pair:
    """Two parts, for formulas that are applied to other parts than an operand's."""

    def __init__(self, real: Any, imag: Any) -> None:
        self.real, self.imag = real, imag


def _arcsin(x: Any, y: Any) -> Parts:
    a, b = sqrt(_Pair(1.0 - x, -y))
    c, d = sqrt(_Pair(1.0 + x, y))
    return np.arctan2(x, a * c - b * d), np.arcsinh(a * d - b * c)


def arcsin(z: Any) -> Parts:
    """Return the parts of ``arcsin(z)``."""
    return _arcsin(z.real, z.imag)


def arcsinh(z: Any) -> Parts:
    """Return the parts of ``arcsinh(z) = -i arcsin(iz)``."""
    a, b = _arcsin(-z.imag, z.real)
    return b, -a


def arccos(z: Any) -> Parts:
    """Return the parts of ``arccos(z)``."""
    x, y = z.real, z.imag
    a, b = sqrt(_Pair(1.0 - x, -y))
    c, d = sqrt(_Pair(1.0 + x, y))
    return 2.0 * np.arctan2(a, c), np.arcsinh(c * b - d * a)


def arccosh(z: Any) -> Parts:
    """Return the parts of ``arccosh(z)``."""
    x, y = z.real, z.imag
    a, b = sqrt(_Pair(x - 1.0, y))
    c, d = sqrt(_Pair(x + 1.0, y))
    return np.arcsinh(a * c + b * d), 2.0 * np.arctan2(b, c)


def _arctanh(x: Any, y: Any) -> Parts:
    side = np.copysign(1.0, x)
    size = side * x
    down, up = 1.0 - size, 1.0 + size
    gap = down * down + y * y
    real = side * (0.25 * np.log1p(4.0 * size / gap))
    return real, 0.5 * np.arctan2(2.0 * y, down * up - y * y)


def arctanh(z: Any) -> Parts:
    """Return the parts of ``arctanh(z)``."""
    return _arctanh(z.real, z.imag)


def arctan(z: Any) -> Parts:
    """Return the parts of ``arctan(z) = -i arctanh(iz)``."""
    a, b = _arctanh(-z.imag, z.real)
    return b, -a


def sinc(z: Any) -> Parts:
    """Return ``sin(pi z)/(pi z)``, 1 at 0."""
    zero = z == 0
    w = math.pi * np.where(zero, 1.0, z)
    return np.where(zero, 1.0, np.sin(w) / w)


# ---------------------------------------------------------------- facts


def equal(x: Any, y: Any) -> Any:
    """Return where two values are equal."""
    if is_complex(x) and is_complex(y):
        return (x.real == y.real) & (x.imag == y.imag)
    return (x.real == y.real) & ((x if is_complex(x) else y).imag == 0)


def either(test: Any) -> Any:
    """Return the formula of a fact that holds if it does for one of the parts."""
    return lambda z: test(z.real) | test(z.imag)


def truths(test: Any) -> Any:
    """Return the formula of a function of truth values: what is not 0 is true."""
    return lambda *xs: test(*(x != 0 if is_complex(x) else x for x in xs))

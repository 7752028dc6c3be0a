"""SIMD mathematics: functions that LLVM puts into the loops that it vectorises.

A loop that calls ``sin`` becomes one that calls a vector function, if the call names one. Those of
the C library are calls: all registers are saved around them, and equal work in two of them is done
twice. The functions here are code of the module itself, put in the place of their calls after the
loop is a vector loop (``_core/codegen/llvm.py``): ``sin`` and ``cos`` of the same argument share
its reduction, and nothing is saved. They need a CPU with fused multiply-add, and no library.

Methods: Muller, Elementary Functions, 3rd edition: arguments reduced by Cody and Waite (11.2),
polynomials by Estrin's scheme. The logarithm is FreeBSD's ``e_log.c``, the complementary error
function is Shepherd and Laframboise's transformation (Math. Comp. 36, 1981).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._simd_builder import Form, Lanes, Words, fma, polynomial
from ._simd_coefficients import DOUBLE, ERF, ERFC, SINGLE, Coefficients


class _Constants(NamedTuple):
    """What the formulas need to know of a floating-point format."""

    p: Coefficients
    digits: int
    bias: int
    #: log(2) and pi/2 in parts, each what the ones before it leave. The second ones are positive,
    #: so that infinite multiples do not cancel, and none makes a zero out of -0.0.
    log2: tuple[float, float]
    half_pi: tuple[float, float, float]
    #: Arguments of exp beyond which all is zero or infinity.
    least: float
    most: float
    #: Arguments of sine and cosine from which they are left to the C library.
    far: float
    erfc: tuple[float, float]
    erf: tuple[float, float]

    def exponent(self, power: float) -> int:
        """Return what stands in the place of the exponent in a power of two."""
        return self.word(power) >> self.digits

    @property
    def rounder(self) -> float:
        """Added to a number, it leaves the integer next to it in the last bits."""
        return 1.5 * 2.0**self.digits

    def word(self, value: float) -> int:
        """Return the bits of a number of this format."""
        if self.digits == 52:
            return int(np.float64(value).view(np.uint64))
        return int(np.float32(value).view(np.uint32))


_CONSTANTS = {
    8: _Constants(
        DOUBLE, 52, 1023, (0.6931471805599453, 2.3190468138462996e-17),
        (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
        -746.0, 710.0, 2.0**40, ERFC[8], ERF[8],
    ),
    4: _Constants(
        SINGLE, 23, 127, (0.6931471228599548, 5.769998878690785e-08),
        (1.570796251296997, 7.549790126404332e-08, -1.7151245100058819e-15),
        -104.0, 89.0, 2.0**17, ERFC[4], ERF[4],
    ),
}  # fmt: skip


def _constants(x: Lanes) -> _Constants:
    return _CONSTANTS[x.body.form.dtype.itemsize]


class _Power(NamedTuple):
    """A power of e: ``(1 + less) * scale * tail``."""

    #: Between -0.3 and 0.42.
    less: Lanes
    #: All of a power of two but ``tail``, 2**-64 or 2. This factor comes last, after all others: it
    #: alone may overflow, or round to a subnormal number.
    scale: Lanes
    tail: Lanes | float

    def head(self) -> Lanes:
        """Return the power without its last factor."""
        return fma(self.less, self.scale, self.scale)

    def number(self) -> Lanes:
        """Return the power."""
        return self.head() * self.tail


def _halved(x: Lanes, offset: int, low: Lanes | None = None) -> tuple[Lanes, Words]:
    """Return expm1(r) and ``n + offset`` in the place of an exponent, for x = n*log(2) + r.

    To r comes what of the argument is ``low``, beyond its last digit.
    """
    c = _constants(x)
    shift = c.rounder + offset
    turns = fma(x, 1 / math.log(2), shift)
    n = turns - shift
    r = fma(n, -c.log2[1], fma(n, -c.log2[0], x))
    r = r if low is None else r + low
    return fma(r * r, polynomial(r, c.p.exp), r), turns.bits() << c.digits


#: The last factor of powers of numbers that are not positive.
SMALL = 2.0**-64


def _power(x: Lanes) -> _Power:
    c = _constants(x)
    x = (x < c.least).choose(c.least, x)
    x = (x > c.most).choose(c.most, x)
    less, exponent = _halved(x, 2 * c.bias)
    tail = (x < 0.0).choose(SMALL, 2.0)
    return _Power(less, (exponent - tail.bits()).floats(), tail)


def exp(x: Lanes) -> Lanes:
    """Exponential."""
    return _power(x).number()


def expm1(x: Lanes) -> Lanes:
    """``exp(x) - 1``."""
    c = _constants(x)
    least = -0.7 * c.digits - 2.0
    y = (x < least).choose(least, x)
    y = (y > c.most).choose(c.most, y)
    # Half of 2**n, since 2**n itself may overflow where the result does not.
    less, exponent = _halved(y, c.bias - 1)
    half = exponent.floats()
    return (fma(half, less, half - 0.5) * 2.0).signed_as(x)


def tanh(x: Lanes) -> Lanes:
    """Hyperbolic tangent."""
    c = _constants(x)
    top = 0.4 * c.digits
    a = abs(x)
    grown = expm1((a > top).choose(top, a) * 2.0)
    return (grown / (grown + 2.0)).signed_as(x)


def _parts(x: Lanes, normal: bool) -> tuple[Lanes, Lanes]:
    """Return m and n with x = m * 2**n, where m is from 3/4 up to 3/2.

    Instructions of wide registers know all numbers: m is nan below 0, n infinite at the ends.
    """
    if x.wide():
        m = x.mantissa()
        return m, x.exponent() - m.exponent()
    c = _constants(x)
    base = 2.0**c.digits
    zero: Any = base + c.bias
    if not normal:
        tiny = x < 2.0 ** (1 - c.bias)
        x = tiny.choose(x * (4.0 * base), x)
        zero = tiny.choose(zero + c.digits + 2.0, zero)
    unit, least = 1 << c.digits, c.word(0.75)
    raised = x.bits() + (c.word(1.0) - least)
    m = ((raised & (unit - 1)) + least).floats()
    # The exponent as a number: put into the last bits of 2**digits.
    return m, ((raised >> c.digits) | c.word(base)).floats() - zero


def _logarithm(x: Lanes, lost: Lanes | None = None) -> Lanes:
    """Return log(x) for positive finite x; for x from 2**-digits on plus what was ``lost``."""
    c = _constants(x)
    quotient, exponent = _parts(x, lost is not None)
    f = quotient - 1.0
    s = f / (f + 2.0)
    z = s * s
    half = f * f * 0.5
    low = exponent * c.log2[1]
    low = low if lost is None else low + lost
    small = fma(s, half + z * polynomial(z, c.p.log), low)
    return fma(exponent, c.log2[0], f - (half - small))


def _ends(x: Lanes, inside: Lanes, pole: float) -> Lanes:
    """Return ``inside``, but -inf at the pole, nan below it, infinities and nan as they are."""
    inside = (x < math.inf).choose(inside, x)
    return (x > pole).choose(inside, x.equals(pole).choose(-math.inf, math.nan))


def log(x: Lanes) -> Lanes:
    """Natural logarithm."""
    inside = _logarithm(x)
    return inside if x.wide() else _ends(x, inside, 0.0)


def log1p(x: Lanes) -> Lanes:
    """``log(1 + x)``."""
    u = x + 1.0
    b = u - 1.0
    # What the sum lost (Knuth, The Art of Computer Programming, 4.2.2), relative to it.
    lost = ((1.0 - (u - b)) + (x - b)) / u
    return _ends(x, _logarithm(u, lost), -1.0).signed_as(x)


class _Angle(NamedTuple):
    """What sine and cosine of an argument are made of."""

    sin: Lanes
    cos: Lanes
    quarters: Words


def _angle(x: Lanes) -> _Angle:
    c = _constants(x)
    turns = fma(x, 2 / math.pi, c.rounder)
    n = turns - c.rounder
    # The first difference is exact, the second rounded; `low` is what it lost.
    a = fma(n, -c.half_pi[0], x)
    r = fma(n, -c.half_pi[1], a)
    low = fma(n, -c.half_pi[2], fma(n, -c.half_pi[1], a - r))
    z = r * r
    sine = (r + fma(r * z, polynomial(z, c.p.sin), low)).signed_as(r)  # of zero, too
    cosine = fma(z, -0.5, 1.0) + fma(z * z, polynomial(z, c.p.cos), -(r * low))
    return _Angle(sine, cosine, turns.bits())


def _turned(even: Lanes, odd: Lanes, quarters: Words) -> Lanes:
    """Return ``even`` or ``odd``, with the sign of the half circle."""
    form = even.body.form
    top: int = 8 * form.dtype.itemsize - 1
    chosen = (quarters & 1).is_zero().choose(even, odd)
    return (chosen.bits() ^ (((quarters >> 1) & 1) << top)).floats()


def sin(x: Lanes) -> Lanes:
    """Sine."""
    angle = _angle(x)
    return _turned(angle.sin, angle.cos, angle.quarters)


def cos(x: Lanes) -> Lanes:
    """Cosine."""
    angle = _angle(x)
    return _turned(angle.sin, angle.cos, angle.quarters + 1)


def _tail(a: Lanes, power: _Power, unit: float = 1.0, factor: float = 1.0) -> Lanes:
    """Return factor*erfc(a*unit) for a >= 0, where ``power`` is exp(-(a*unit)**2)."""
    c = _constants(a)
    centre = c.erfc[0] / unit
    # The reciprocal does not wait for the polynomial.
    less = power.head() * (a.of(factor) / fma(a, 2.0 * unit, 1.0))
    u = (a + a) / (a + centre)
    return fma(u, polynomial(u - 1.0, c.p.erfc), 1.0) * less * power.tail


def _bell(x: Lanes, power: float, reach: float) -> tuple[Lanes, Lanes, _Power]:
    """Return |x| up to ``reach``, where nothing is left, its square, and exp(-power*x*x)."""
    c = _constants(x)
    a = abs(x)
    a = (a > reach).choose(reach, a)
    square = a * a
    less, exponent = _halved(
        square * -power, 2 * c.bias - c.exponent(SMALL), fma(-a, a, square) * power
    )
    return a, square, _Power(less, exponent.floats(), SMALL)


def erfc(x: Lanes) -> Lanes:
    """Complementary error function."""
    a, _, power = _bell(x, 1.0, _constants(x).erfc[1])
    tail = _tail(a, power)
    return (x < 0.0).choose(2.0 - tail, tail)


def erf(x: Lanes) -> Lanes:
    """Error function."""
    c = _constants(x)
    a, square, power = _bell(x, 1.0, c.erfc[1])
    near = fma(x, polynomial(square, c.p.erf), x)
    limit, middle = c.erf
    u = (a - middle) / (a + middle)
    far = fma(power.head(), polynomial(u, [-SMALL * k for k in c.p.tail]), 1.0)
    return (a < limit).choose(near, far.signed_as(x))


def bell(x: Lanes) -> Lanes:
    """``exp(-x*x)``."""
    return _bell(x, 1.0, _constants(x).erfc[1])[2].number()


def normal_density(x: Lanes) -> Lanes:
    """Density of the standard normal distribution."""
    power = _bell(x, 0.5, _constants(x).erfc[1] * math.sqrt(2))[2]
    return power.head() * (1 / math.sqrt(2 * math.pi)) * power.tail


def ndtr(x: Lanes) -> Lanes:
    """Distribution function of the standard normal distribution."""
    a, _, power = _bell(x, 0.5, _constants(x).erfc[1] * math.sqrt(2))
    tail = _tail(a, power, math.sqrt(0.5), 0.5)
    return (x > 0.0).choose(1.0 - tail, tail)


#: The functions, by the names of the C library's, of SciPy's, or of the ops that call them.
FUNCTIONS: dict[str, Callable[[Lanes], Lanes]] = {
    f.__name__: f
    for f in (exp, expm1, tanh, log, log1p, sin, cos, erf, erfc, bell, normal_density, ndtr)
}


def far_from(name: str, form: Form) -> float | None:
    """Return the magnitude of arguments beyond which the C library's function is called."""
    return _CONSTANTS[form.dtype.itemsize].far if name in ("sin", "cos") else None

"""Gamma and error functions of complex numbers, as formulas of traced complex values.

Source: NIST Digital Library of Mathematical Functions, 5.5, 5.11, 7.5 and 7.6; D. E. G. Hare,
Computing the principal branch of log-Gamma, Journal of Algorithms 25, 1997; C. Lanczos, A precision
approximation of the gamma function, SIAM Journal on Numerical Analysis 1, 1964; coefficients of the
Boost Mathematics library.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.base.scipy_names import special as sc

#: Lanczos's approximation: numbers and coefficients from the highest power on, over those of
#: ``z*(z + 1)*...*(z + 11)``.
LANCZOS = 6.02468004077673
ABOVE = (
    2.5066282746310002, 210.82427775157935, 8071.672002365816, 186056.26539522348,
    2876370.6289353725, 31426415.585400194, 248874557.86205417, 1439720407.3117216,
    6039542586.352028, 17921034426.03721, 35711959237.35567, 42919803642.6491, 23531376880.41076,
)  # fmt: skip
BELOW = (1, 66, 1925, 32670, 357423, 2637558, 13339535, 45995730, 105258076, 150917976, 120543840,
         39916800, 0)  # fmt: skip


def _zeta_less_one(k: int) -> float:
    """Return the sum of ``n**-k`` from 2 on: what is left after 59 by its mean and derivatives."""
    a = 59.5
    rest = a ** (1 - k) / (k - 1) - k * a ** (-k - 1) / 24
    rest += 7 / 5760 * k * (k + 1) * (k + 2) * a ** (-k - 3)
    rest -= 31 / 967680 * k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * a ** (-k - 5)
    return math.fsum([*(n**-k for n in range(2, 60)), rest])


#: zeta(k) - 1 over k, for k from 2 on.
ZETAS = tuple(_zeta_less_one(k) / k for k in range(2, 22))


def _lanczos(z: Any) -> Any:
    """The quotient of polynomials, in 1/z where that is smaller."""
    far = np.abs(z) > 1.0
    u = np.where(far, 1.0 / np.where(far, z, 1.0), z)
    above, below = 0.0 * u, 0.0 * u
    for k in range(13):
        above = above * u + np.where(far, ABOVE[12 - k], ABOVE[k])
        below = below * u + np.where(far, float(BELOW[12 - k]), float(BELOW[k]))
    return above / below


def _near_two(w: Any) -> Any:
    """The logarithm of gamma at 2 + w."""
    total = 0.0 * w
    for k in range(len(ZETAS), 0, -1):
        total = (total + (ZETAS[k - 1] if k % 2 else -ZETAS[k - 1])) * w
    return (0.42278433509846713 + total) * w  # 1 - Euler's constant


def log_gamma(z: Any) -> Any:
    """The principal branch, to the left of 1/2 reflected; next to its zeros by a power series."""
    below = np.signbit(z.imag)
    z = np.where(below, np.conj(z), z)
    left = z.real < 0.5
    w = np.where(left, 1.0 - z, z)
    found = (w - 0.5) * (np.log(w + (LANCZOS - 0.5)) - 1.0)
    found = found + np.log(math.exp(-LANCZOS) * _lanczos(w))
    one, two = np.abs(w - 1.0) < 0.25, np.abs(w - 2.0) < 0.25
    at = np.where(one, w - 1.0, np.where(two, w - 2.0, 0.0))
    near = _near_two(at) - np.log1p(np.where(one, at, 0.0))
    found = np.where(one | two, near, found)
    # log(sin(pi*z)) as it continues through the upper half plane, where exp(2*pi*i*z) is small
    turn = 2j * math.pi * (z - np.rint(z.real))
    turn = np.where(left, turn, -1.0 + 0j)  # 1 - exp is not 0
    sine = np.log(-np.expm1(turn)) - 1j * math.pi * (z - 0.5)
    found = np.where(left, math.log(2 * math.pi) - sine - found, found)
    return np.where(below, np.conj(found), found)


def gamma(z: Any) -> Any:
    """The gamma function by its logarithm."""
    return np.exp(log_gamma(z))


def rgamma(z: Any) -> Any:
    """One over the gamma function, 0 at its poles."""
    pole = (z.imag == 0) & (z.real <= 0) & (np.floor(z.real) == z.real)
    return np.where(pole, 0.0, np.exp(-log_gamma(np.where(pole, 1.0, z))))


def erfcx(z: Any) -> Any:
    """``exp(z*z)*erfc(z)``, by Faddeeva's function."""
    return sc.wofz(1j * z)


def erf(z: Any) -> Any:
    """The error function: its power series within the unit circle, else 1 less its complement."""
    square = z * z
    near = np.abs(z) < 1.0
    at = np.where(near, square, 0.0)
    series = 0.0 * at
    for k in reversed(range(19)):
        series = series * at + (-1.0) ** k / (math.factorial(k) * (2 * k + 1))
    left = z.real < 0
    rest = np.exp(-square) * erfcx(np.where(left, -z, z))
    far = np.where(left, rest - 1.0, 1.0 - rest)
    return np.where(near, 2.0 / math.sqrt(math.pi) * z * series, far)


def erfc(z: Any) -> Any:
    """The complement: right of 0 without cancellation."""
    left = z.real < 0
    found = np.exp(-(z * z)) * erfcx(np.where(left, -z, z))
    return np.where(left, 2.0 - found, found)


def erfi(z: Any) -> Any:
    """The imaginary error function."""
    return -1j * erf(1j * z)

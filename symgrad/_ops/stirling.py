"""Densities and binomial coefficients by Stirling's formula, whose large parts are left out.

The logarithms of gamma functions and powers in a density are far larger than what is left of them.
With Stirling's formula they are put together before any is computed: what remains is its error and
a deviance, both small where the density is large.

Source: C. Loader, Fast and accurate computation of binomial probabilities, 2000; NIST Digital
Library of Mathematical Functions, 5.11.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc


def stirling_error(z: Any) -> Any:
    """The logarithm of ``gamma(z + 1)/(sqrt(2*pi*z)*(z/e)**z)``, for z > 0.

    An interpolating polynomial of z times it in 1/z; below 1 by the next z.
    """
    over = 1.0 / np.where(z < 1.0, z + 1.0, z)
    t = 2.0 * over - 1.0
    found = 0.0 * t
    for c in (
        4.791582994547638e-11, 4.6214562549677206e-11, -5.268041038864158e-10,
        4.1231828962927974e-10, 9.792497793504378e-10, -2.035755673755559e-09,
        2.489599475846571e-09, -3.6256642902944254e-09, 1.4723913693955638e-09,
        1.508305466261164e-08, -5.996288164341892e-08, 1.3008331336973527e-07,
        -1.171583515055045e-07, -4.2742649642172823e-07, 2.5473647281704276e-06,
        -6.4040403615528315e-06, -1.2621642337323135e-06, 0.0001007682992787303,
        -0.0004851043881019808, -0.0012300100649046326, 0.0826813919108186,
    ):  # fmt: skip
        found = found * t + c
    found = found * over
    low = np.where(z < 1.0, z, 1.0)
    return np.where(z < 1.0, found + ((low + 0.5) * np.log1p(1.0 / low) - 1.0), found)


def logarithm_beside(part: Any, whole: Any, change: Any) -> Any:
    """``log(part/whole)``, where ``change`` is their difference over ``whole``."""
    near = change > -0.5
    return np.where(
        near, np.log1p(np.where(near, change, 0.0)), np.log(np.where(near, 1.0, part / whole))
    )


def gamma_density(a: Any, x: Any) -> Any:
    """Density of the gamma distribution.

    Below a = 2 by its factors, of which none overflows, else by the deviance from a - 1.
    """
    few = a < 2.0
    far = few & (x > 600.0)
    n = np.where(few, 1.0, a - 1.0)
    change = (x - n) / n
    deviance = n * (change - logarithm_beside(x, n, change))
    scale = np.where(few, sc.rgamma(np.where(few, a, 1.0)), 1.0 / np.sqrt(2.0 * math.pi * n))
    base, power = np.where(few & ~far, x, 1.0), np.where(few, a - 1.0, 0.0)
    inside = np.where(far, power * np.log(np.where(far, x, 1.0)) - x, -x)
    return scale * (base**power * np.exp(np.where(few, inside, -(stirling_error(n) + deviance))))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Density of the beta distribution."""
    end = (x == 0) | (x == 1)
    at = np.where(end, 0.5, x)
    n = a + b
    change = at * b - (1.0 - at) * a
    share = a * logarithm_beside(n * at, a, change / a)
    rest = b * logarithm_beside(n * (1.0 - at), b, -change / b)
    errors = (stirling_error(n) - stirling_error(a)) - stirling_error(b)
    scale = np.sqrt(a / n * b * (0.5 / math.pi)) / (at * (1.0 - at))
    power, other = np.where(x == 0, a, b), np.where(x == 0, b, a)
    limit = np.where(power == 1, other, np.where(power > 1, 0.0 * power, math.inf))
    return np.where(end, limit, scale * np.exp(errors + (share + rest)))


def t_density(v: Any, t: Any) -> Any:
    """Density of Student's t distribution."""
    z = 0.5 * v
    ratio = z * np.log1p(0.5 / z) - 0.5
    errors = stirling_error(z + 0.5) - stirling_error(z)
    power = ratio + errors - (z + 0.5) * np.log1p(t * t / v)
    return np.exp(power) * (1 / math.sqrt(2 * math.pi))


#: What the densities' source needs.
STIRLING = (stirling_error, logarithm_beside)

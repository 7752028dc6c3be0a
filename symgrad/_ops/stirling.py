"""Densities and binomial coefficients by Stirling's formula, whose large parts are left out.

The logarithms of gamma functions and powers in a density are far larger than what is left of them.
With Stirling's formula they are put together before any is computed: what remains is its error and
a deviance, both small where the density is large.

Source: C. Loader, Fast and accurate computation of binomial probabilities, 2000; NIST Digital
Library of Mathematical Functions, 5.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from .fallback import elsewhere


def stirling_error(z: Any) -> Any:
    """The logarithm of ``gamma(z + 1)/(sqrt(2*pi*z)*(z/e)**z)``, for z > 0.

    An interpolating polynomial of z times it in 1/z; below 1/2 by the next z.
    """
    over = 1.0 / np.where(z < 0.5, z + 1.0, z)
    t = over - 1.0
    found = 0.0 * t
    for c in (
        2.24675275493994e-08, -2.2045009755065815e-08, -1.4713102024777637e-07,
        1.5917892642174e-07, 3.8900038695708066e-07, -4.4847756309498453e-07,
        -5.756057013605357e-07, 6.787959148267716e-07, 5.940364709882628e-07,
        -7.152975985896713e-07, -3.7881394961636604e-07, 4.95388740764952e-07,
        1.0578446458168531e-07, -5.2387323922985834e-08, -3.7448439864122863e-07,
        5.453874784812246e-07, -5.196717007584217e-07, 2.226277281745552e-07,
        9.220886783706787e-07, -3.7585262901125473e-06, 9.027348558616938e-06,
        -1.5805249447615398e-05, 1.6288249894141042e-05, 1.7709571741681857e-05,
        -0.00016072138423751752, 0.0005367286898352991, -0.000902829583626882,
        -0.003845801893792286, 0.08106146679532726,
    ):  # fmt: skip
        found = found * t + c
    found = found * over
    low = np.where(z < 0.5, z, 0.5)
    return np.where(z < 0.5, found + ((low + 0.5) * np.log1p(1.0 / low) - 1.0), found)


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


def binomial(n: Any, k: Any, other: Callable[..., Any] = sc.binom) -> Any:
    """Binomial coefficient of real numbers; of a whole k SciPy's, by a product."""
    n, k = np.float64(1.0) * n, np.float64(1.0) * k
    inside = (k >= 0.01) & (n - k >= 0.01) & (n <= 1e6) & (k != np.rint(k))
    of, part = np.where(inside, n, 2.0), np.where(inside, k, 0.5)
    rest = of - part
    power = part * np.log(of / part) - rest * np.log1p(-part / of)
    errors = (stirling_error(of) - stirling_error(part)) - stirling_error(rest)
    found = np.sqrt(of / part / rest * (0.5 / math.pi)) * np.exp(errors + power)
    return np.where(inside, found, elsewhere(other, inside, n, k))


#: What the densities' source needs.
STIRLING = (stirling_error, logarithm_beside)

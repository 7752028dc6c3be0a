"""The error of Stirling's formula, of which densities and binomial coefficients are made.

The logarithms of gamma functions and powers are far larger than what is left of them. With
Stirling's formula they are put together before any is computed: what remains is its error and a
deviance, both small where a density is large.

Source: C. Loader, Fast and accurate computation of binomial probabilities, 2000; NIST Digital
Library of Mathematical Functions, 5.11.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def stirling_error(z: Any) -> Any:
    """The logarithm of ``gamma(z + 1)/(sqrt(2*pi*z)*(z/e)**z)``, for z > 0.

    An interpolating polynomial of z times it in 1/(z + 1/2); below 1/2 by the next z.
    """
    at = np.where(z < 0.5, z + 1.0, z)
    t = 2.0 / (at + 0.5) - 1.0
    found = 0.0 * t
    for c in (
        -4.301345687026508e-12, -6.22780427565366e-12, 5.610974524679254e-11,
        -2.1255506722263072e-11, -1.671416211289557e-10, 1.8508681261149337e-10,
        4.2514187806844303e-11, -4.750376013436515e-11, -5.2918794695421745e-11,
        -5.280203471481774e-10, 1.7984324705816695e-09, -3.5345649938429347e-09,
        2.842992313129512e-09, 9.050527674972426e-10, -3.391202637772149e-08,
        5.142351544202282e-08, -2.2057840391382836e-07, -3.7236566883182913e-07,
        -3.6170410843143045e-07, -8.620126893644988e-06, -1.6869926955207678e-05,
        -6.453986214791182e-05, -0.000589742915781131, -0.0021244285025751996,
        -0.002702839715071724, 0.08222118157787649,
    ):  # fmt: skip
        found = found * t + c
    found = found / at
    low = np.where(z < 0.5, z, 0.5)
    return np.where(z < 0.5, found + ((low + 0.5) * np.log1p(1.0 / low) - 1.0), found)

"""Fresnel's integrals by tables: over powers of x, themselves, and far out without phase and decay.

Source: NIST Digital Library of Mathematical Functions, 7.2, 7.5 and 7.6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._ops.pairs import two_product
from .tables import (
    FRESNEL_F,
    FRESNEL_G,
    FRESNELC_MIDDLE,
    FRESNELC_NEAR,
    FRESNELS_MIDDLE,
    FRESNELS_NEAR,
)


def fresnel_far(a: Any, fit: Any) -> Any:
    """``1/2 - S`` and ``1/2 - C`` of a > 4; the turns of the phase are taken off exactly."""
    right = np.minimum(np.maximum(a, 4.0), 1e8)
    u = 1.0 / np.maximum(a, 4.0)
    square, low = two_product(right, right)
    turn = 0.5 * math.pi * ((square - 4.0 * np.rint(0.25 * square)) + low)
    sine, cosine = np.sin(turn), np.cos(turn)
    w = np.square(np.square(u))
    f = fit(w, FRESNEL_F) * (u / math.pi)
    g = fit(w, FRESNEL_G) * (u / math.pi) * (u * (u / math.pi))
    return f * cosine + g * sine, g * cosine - f * sine


def fresnel_s(x: Any, fit: Any) -> Any:
    """Fresnel's sine integral."""
    a = np.fabs(x)
    near = np.minimum(a, 1.0)
    square = near * near
    beyond = np.where(a > 4.0, 0.5 - fresnel_far(a, fit)[0], fit(a, FRESNELS_MIDDLE))
    inner = near * square * fit(square * square, FRESNELS_NEAR)
    return np.copysign(np.where(a > 1.0, beyond, inner), x)


def fresnel_c(x: Any, fit: Any) -> Any:
    """Fresnel's cosine integral."""
    a = np.fabs(x)
    near = np.minimum(a, 1.0)
    power = np.square(near * near)
    beyond = np.where(a > 4.0, 0.5 - fresnel_far(a, fit)[1], fit(a, FRESNELC_MIDDLE))
    inner = near + near * (power * fit(power, FRESNELC_NEAR))
    return np.copysign(np.where(a > 1.0, beyond, inner), x)

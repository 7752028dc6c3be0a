"""``scipy.special``, for functions that symgrad traces.

Universal functions take traced values, and lists of them; ``logsumexp``, ``softmax`` and
``log_softmax`` are traced too, and ``voigt_profile``. The rest works on plain arrays and refuses
traced values.

Examples
--------
>>> import symgrad as sg
>>> from symgrad.scipy import special
>>> sg.grad(lambda x: special.logsumexp([x, 0.0]))(0.0)
np.float64(0.5)
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.special

from .._trace._namespace import offering
from ._replacing import floats, replaces

__all__ = ["voigt_profile"]


@functools.cache
def _weideman(n: int) -> tuple[float, Any]:
    """Return the scale and the coefficients of Weideman's expansion of Faddeeva's function."""
    k = np.arange(1 - 2 * n, 2 * n)
    scale = float(np.sqrt(n / np.sqrt(2.0)))
    t = scale * np.tan(k * np.pi / (4 * n))
    f = np.append(0.0, np.exp(-t * t) * (scale**2 + t * t))
    a = np.fft.fft(np.fft.fftshift(f)).real / (4 * n)
    return scale, a[n:0:-1].copy()


@replaces(scipy.special.voigt_profile)
def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """Voigt's profile, a normal density convolved with Cauchy's; ``sigma`` is positive.

    Weideman, SIAM J. Numer. Anal. 31 (1994), with 48 terms: within 2e-15 of the largest value.
    """
    scale, coefficients = _weideman(48)
    x, sigma, gamma = floats(x), floats(sigma), floats(gamma)
    wide = sigma * np.sqrt(2.0)
    z = x / wide + 1j * (gamma / wide)
    below = scale - 1j * z
    power, total = (scale + 1j * z) / below, 0.0
    for a in coefficients:
        total = total * power + a
    w = 2.0 * total / below**2 + (1.0 / np.sqrt(np.pi)) / below
    return w.real / (sigma * np.sqrt(2.0 * np.pi))


__getattr__, __dir__ = offering(scipy.special, globals())

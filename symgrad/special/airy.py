"""The Airy functions and their derivatives.

With ``zeta = 2/3*|x|**1.5``, to the right of 6 the exponential of -zeta or zeta is split off, to
the left of -6 its cosine and sine; what is left is a function of 1/zeta. All by the tables of
:mod:`.tables`.

Source: NIST Digital Library of Mathematical Functions, 9.2 and 9.7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Evidence, Real
from .records import parts
from .tables import (
    AIRY_LEFT_IMAGINARY,
    AIRY_LEFT_REAL,
    AIRYAI_MIDDLE,
    AIRYAI_RIGHT,
    AIRYAIPRIME_MIDDLE,
    AIRYAIPRIME_RIGHT,
    AIRYBI_MIDDLE,
    AIRYBI_RIGHT,
    AIRYBIPRIME_MIDDLE,
    AIRYBIPRIME_RIGHT,
    AIRYPRIME_LEFT_IMAGINARY,
    AIRYPRIME_LEFT_REAL,
    by_tables,
    table_code,
)


def airy_zeta(x: Any) -> Any:
    """The phase for ``|x|``, or that for 6, if it is larger."""
    far = np.maximum(np.fabs(x), 6.0)
    return 2.0 * far * np.sqrt(far) / 3.0


def airy_root(x: Any) -> Any:
    """The fourth root of ``|x|``, or of 6."""
    return np.sqrt(np.sqrt(np.maximum(np.fabs(x), 6.0)))


def airy_chosen(x: Any, middle: Any, left: Any, right: Any) -> Any:
    """Choose by x."""
    return np.where(x > 6.0, right, np.where(x < -6.0, left, middle))


def airy_ai(x: Any, fit: Any) -> Any:
    """The Airy function Ai."""
    z, r = airy_zeta(x), airy_root(x)
    u = 1.0 / z
    real, imaginary = fit(u, AIRY_LEFT_REAL), fit(u, AIRY_LEFT_IMAGINARY)
    left = (real * np.cos(z) + imaginary * np.sin(z)) / r
    return airy_chosen(x, fit(x, AIRYAI_MIDDLE), left, np.exp(-z) * (fit(u, AIRYAI_RIGHT) / r))


def airy_bi(x: Any, fit: Any) -> Any:
    """The Airy function Bi."""
    z, r = airy_zeta(x), airy_root(x)
    u = 1.0 / z
    real, imaginary = fit(u, AIRY_LEFT_REAL), fit(u, AIRY_LEFT_IMAGINARY)
    left = (imaginary * np.cos(z) - real * np.sin(z)) / r
    return airy_chosen(x, fit(x, AIRYBI_MIDDLE), left, np.exp(z) * (fit(u, AIRYBI_RIGHT) / r))


def airy_ai_prime(x: Any, fit: Any) -> Any:
    """The derivative of Ai."""
    z, r = airy_zeta(x), airy_root(x)
    u = 1.0 / z
    real, imaginary = fit(u, AIRYPRIME_LEFT_REAL), fit(u, AIRYPRIME_LEFT_IMAGINARY)
    left = (real * np.cos(z) + imaginary * np.sin(z)) * r
    right = np.exp(-z) * (fit(u, AIRYAIPRIME_RIGHT) * r)
    return airy_chosen(x, fit(x, AIRYAIPRIME_MIDDLE), left, right)


def airy_bi_prime(x: Any, fit: Any) -> Any:
    """The derivative of Bi."""
    z, r = airy_zeta(x), airy_root(x)
    u = 1.0 / z
    real, imaginary = fit(u, AIRYPRIME_LEFT_REAL), fit(u, AIRYPRIME_LEFT_IMAGINARY)
    left = (imaginary * np.cos(z) - real * np.sin(z)) * r
    right = np.exp(z) * (fit(u, AIRYBIPRIME_RIGHT) * r)
    return airy_chosen(x, fit(x, AIRYBIPRIME_MIDDLE), left, right)


AI, AIP, BI, BIP = parts(
    sc.airy,
    [(by_tables(f, sc.airy), table_code(f))
     for f in (airy_ai, airy_ai_prime, airy_bi, airy_bi_prime)],
    ("AiryAi", "AiryAiPrime", "AiryBi", "AiryBiPrime"),
    (
        lambda ops, x: (ops[1](x),),
        lambda ops, x: (x * ops[0](x),),
        lambda ops, x: (ops[3](x),),
        lambda ops, x: (x * ops[2](x),),
    ),
    (sp.airyai, sp.airyaiprime, sp.airybi, sp.airybiprime),
    domain=(Real,), evidence=Evidence(samples=(0.1, 3), ulp=8.0),
)  # fmt: skip

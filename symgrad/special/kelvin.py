"""The Kelvin functions: modified Bessel functions along a diagonal of the complex plane.

Close to 0 power series in ``w = x*x``, with the logarithm split off; then the functions
themselves; far out their amplitude and phase. All by the tables of :mod:`.tables`.

Source: NIST Digital Library of Mathematical Functions, 10.61, 10.65 and 10.67.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.base.scipy_names import special as sc
from .._core.op import Evidence, Op, Positive, Words
from . import multiple_precision as precisely
from .tables import (
    BEI2_MIDDLE,
    BEI2_NEAR,
    BEI2P_NEAR,
    BEI_MIDDLE,
    BEI_NEAR,
    BEIP_MIDDLE,
    BEIP_NEAR,
    BER2_MIDDLE,
    BER2_NEAR,
    BER2P_NEAR,
    BER_MIDDLE,
    BER_NEAR,
    BERP_MIDDLE,
    BERP_NEAR,
    DECAY0_IMAGINARY,
    DECAY0_REAL,
    DECAY1_IMAGINARY,
    DECAY1_REAL,
    GROWTH0_IMAGINARY,
    GROWTH0_REAL,
    GROWTH1_IMAGINARY,
    GROWTH1_REAL,
    GROWTH2_IMAGINARY,
    GROWTH2_REAL,
    KEI_MIDDLE,
    KEI_NEAR,
    KEIP_MIDDLE,
    KEIP_NEAR,
    KER_MIDDLE,
    KER_NEAR,
    KERP_MIDDLE,
    KERP_NEAR,
    tabulated,
)


def kelvin_growth(x: Any, near: Any, middle: Any, cosine: Any, sine: Any) -> Any:
    """Choose by x, which is positive, from values for x < 4, x < 32 and the factors beyond."""
    far = np.maximum(x, 32.0)
    t = 0.7071067811865476 * far
    turned = cosine * np.cos(t) + sine * np.sin(t)
    beyond = np.exp(0.5 * t) * (turned / np.sqrt(far)) * np.exp(0.5 * t)
    return np.where(x > 32.0, beyond, np.where(x > 4.0, middle, near))


def ber(x: Any, fit: Any) -> Any:
    """The real part of ``J0(x*exp(3*pi*i/4))``."""
    x = np.fabs(x)
    u = 1.0 / np.maximum(x, 32.0)
    real, imaginary = fit(u, GROWTH0_REAL), fit(u, GROWTH0_IMAGINARY)
    return kelvin_growth(x, fit(x * x, BER_NEAR), fit(x, BER_MIDDLE), real, -imaginary)


def bei(x: Any, fit: Any) -> Any:
    """The imaginary part of ``J0(x*exp(3*pi*i/4))``."""
    x = np.fabs(x)
    u = 1.0 / np.maximum(x, 32.0)
    real, imaginary = fit(u, GROWTH0_REAL), fit(u, GROWTH0_IMAGINARY)
    near = x * x * fit(x * x, BEI_NEAR)
    return kelvin_growth(x, near, fit(x, BEI_MIDDLE), imaginary, real)


def berp(x: Any, fit: Any) -> Any:
    """The derivative of ber."""
    a = np.fabs(x)
    u = 1.0 / np.maximum(a, 32.0)
    real, imaginary = fit(u, GROWTH1_REAL), fit(u, GROWTH1_IMAGINARY)
    near = a * (a * a) * fit(a * a, BERP_NEAR)
    right = kelvin_growth(a, near, fit(a, BERP_MIDDLE), real, -imaginary)
    return np.copysign(1.0, x) * right


def beip(x: Any, fit: Any) -> Any:
    """The derivative of bei."""
    a = np.fabs(x)
    u = 1.0 / np.maximum(a, 32.0)
    real, imaginary = fit(u, GROWTH1_REAL), fit(u, GROWTH1_IMAGINARY)
    right = kelvin_growth(a, a * fit(a * a, BEIP_NEAR), fit(a, BEIP_MIDDLE), imaginary, real)
    return np.copysign(1.0, x) * right


def ber2(x: Any, fit: Any, slope: int = 0) -> Any:
    """The real part of ``I2(x*exp(pi*i/4))``, or its derivative."""
    if slope:
        beyond = berp(x, fit) - 2.0 * ber2(x, fit) / x
        return np.where(np.fabs(x) > 4.0, beyond, x * (x * x) * fit(x * x, BER2P_NEAR))
    a, w = np.fabs(x), x * x
    u = 1.0 / np.maximum(a, 32.0)
    real, imaginary = fit(u, GROWTH2_REAL), fit(u, GROWTH2_IMAGINARY)
    return kelvin_growth(a, w * w * fit(w, BER2_NEAR), fit(a, BER2_MIDDLE), real, -imaginary)


def bei2(x: Any, fit: Any, slope: int = 0) -> Any:
    """The imaginary part of ``I2(x*exp(pi*i/4))``, or its derivative."""
    if slope:
        beyond = beip(x, fit) - 2.0 * bei2(x, fit) / x
        return np.where(np.fabs(x) > 4.0, beyond, x * fit(x * x, BEI2P_NEAR))
    a, w = np.fabs(x), x * x
    u = 1.0 / np.maximum(a, 32.0)
    real, imaginary = fit(u, GROWTH2_REAL), fit(u, GROWTH2_IMAGINARY)
    return kelvin_growth(a, w * fit(w, BEI2_NEAR), fit(a, BEI2_MIDDLE), imaginary, real)


def kelvin_logarithm(x: Any) -> Any:
    """The logarithm, finite at 0, where functions that are 0 are its factors."""
    return np.log(np.maximum(x, 5e-324))


def kelvin_decay(x: Any, near: Any, middle: Any, cosine: Any, sine: Any) -> Any:
    """Choose from values for x < 1, x < 8 and the factors beyond; nan for negative x."""
    far = np.maximum(x, 8.0)
    t = 0.7071067811865476 * far
    turned = cosine * np.cos(t) + sine * np.sin(t)
    beyond = np.exp(-t) * (turned / np.sqrt(far))
    right = np.where(x > 8.0, beyond, np.where(x > 1.0, middle, near))
    return np.where(x < 0, math.nan, right)


def ker(x: Any, fit: Any) -> Any:
    """The real part of ``K0(x*exp(pi*i/4))``."""
    u, w = 1.0 / np.maximum(x, 8.0), x * x
    real, imaginary = fit(u, DECAY0_REAL), fit(u, DECAY0_IMAGINARY)
    near = fit(w, KER_NEAR) - np.log(np.fabs(x)) * fit(w, BER_NEAR)
    return kelvin_decay(x, near, fit(x, KER_MIDDLE), real, imaginary)


def kei(x: Any, fit: Any) -> Any:
    """The imaginary part of ``K0(x*exp(pi*i/4))``."""
    u, w = 1.0 / np.maximum(x, 8.0), x * x
    real, imaginary = fit(u, DECAY0_REAL), fit(u, DECAY0_IMAGINARY)
    near = fit(w, KEI_NEAR) - kelvin_logarithm(x) * (w * fit(w, BEI_NEAR))
    return kelvin_decay(x, near, fit(x, KEI_MIDDLE), imaginary, -real)


def kerp(x: Any, fit: Any) -> Any:
    """The derivative of ker."""
    u, w = 1.0 / np.maximum(x, 8.0), x * x
    real, imaginary = fit(u, DECAY1_REAL), fit(u, DECAY1_IMAGINARY)
    logarithmic = kelvin_logarithm(x) * (x * w * fit(w, BERP_NEAR))
    near = fit(w, KERP_NEAR) / np.fabs(x) - logarithmic
    return kelvin_decay(x, near, fit(x, KERP_MIDDLE), real, imaginary)


def keip(x: Any, fit: Any) -> Any:
    """The derivative of kei."""
    u, w = 1.0 / np.maximum(x, 8.0), x * x
    real, imaginary = fit(u, DECAY1_REAL), fit(u, DECAY1_IMAGINARY)
    near = x * (fit(w, KEIP_NEAR) - kelvin_logarithm(x) * fit(w, BEIP_NEAR))
    return kelvin_decay(x, near, fit(x, KEIP_MIDDLE), imaginary, -real)


# ---------------------------------------------------------------- records


def _kelvin(function: np.ufunc, formula: Any, slope: Callable[..., Any]) -> Op:
    name = function.__name__
    samples = (0.5, 3.5) if name == "beip" else (0.5, 4)  # beip is 0 at 3.77
    return tabulated(
        name.capitalize(), formula, (Positive,), None, lambda y, x: (slope(y, x),),
        Evidence(samples=samples,
            # ber is 0 at 2.85
            ulp=512.0 if name == "ber" else 8.0, precise=precisely.KELVIN[name]),
        Words(f"Kelvin function {name}."), functions=(function,),
    )  # fmt: skip


BER = _kelvin(sc.ber, ber, lambda y, x: BERP(x))
BEI = _kelvin(sc.bei, bei, lambda y, x: BEIP(x))
KER = _kelvin(sc.ker, ker, lambda y, x: KERP(x))
KEI = _kelvin(sc.kei, kei, lambda y, x: KEIP(x))
# By order 2, since beip(x)/x is as large as ber(x) close to 0, and their second derivatives, too.
BERP: Op = _kelvin(sc.berp, berp, lambda y, x: -0.5 * (BEI(x) + BEI2(x)))
BEIP: Op = _kelvin(sc.beip, beip, lambda y, x: 0.5 * (BER(x) + BER2(x)))
KERP: Op = _kelvin(sc.kerp, kerp, lambda y, x: -KEI(x) - y / x)
KEIP: Op = _kelvin(sc.keip, keip, lambda y, x: KER(x) - y / x)


def _second(name: str, part: str, formula: Any, partials: Any) -> Op:
    return tabulated(
        name, formula, (Positive,), None, partials,
        Evidence(samples=(0.5, 4), ulp=8.0, precise=precisely.KELVIN[name.lower()]),
        Words(f"{part} part of I2(x*exp(pi*i/4))."), slopes=1,
    )  # fmt: skip


# Of f'' = i*f - f'/x + 4*f/x**2, f being ber2 + i*bei2.
BER2: Op = _second("Ber2", "Real", ber2, lambda y, x, slope=0: (
    BER2(x, slope=1) if slope == 0 else 4 * BER2(x) / (x * x) - y / x - BEI2(x),
))  # fmt: skip
BEI2: Op = _second("Bei2", "Imaginary", bei2, lambda y, x, slope=0: (
    BEI2(x, slope=1) if slope == 0 else 4 * BEI2(x) / (x * x) - y / x + BER2(x),
))  # fmt: skip

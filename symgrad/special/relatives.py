"""Functions of ``scipy.special`` that others of its functions express."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Cython, Op, Real, define
from .complete_integrals import COMPLETE_G
from .np_special import of_degree, relative
from .special import UNIT

DEGREE = math.pi / 180

# ---------------------------------------------------------------- angles in degrees

_KINDS: dict[str, Any] = {"domain": (Real,), "samples": (-80, 80), "ulp": 8.0}
SINDG: Op = define(
    sc.sindg, name="SinDegrees", sympy=lambda x: sp.sin(sp.pi * x / 180), lower=Cython("sindg"),
    partials=lambda y, x: (DEGREE * COSDG(x),), doc="Sine of an angle in degrees.", **_KINDS,
)  # fmt: skip
COSDG: Op = define(
    sc.cosdg, name="CosDegrees", sympy=lambda x: sp.cos(sp.pi * x / 180), lower=Cython("cosdg"),
    partials=lambda y, x: (-DEGREE * SINDG(x),), doc="Cosine of an angle in degrees.", **_KINDS,
)  # fmt: skip


@relative(sc.tandg, "Tangent of an angle in degrees.", (-80, 80))
def tandg(x: Any) -> Any:
    return SINDG(x) / COSDG(x)


@relative(sc.cotdg, "Cotangent of an angle in degrees.", (10, 80))
def cotdg(x: Any) -> Any:
    return COSDG(x) / SINDG(x)


@relative(sc.radian, "Degrees, minutes and seconds in radians.", (0, 90), (0, 60), (0, 60))
def radian(d: Any, m: Any, s: Any) -> Any:
    return ((s / 60.0 + m) / 60.0 + d) * DEGREE


# ---------------------------------------------------------------- powers


@relative(sc.powm1, "x**y - 1.", (0.5, 2), (-2, 2))
def powm1(x: Any, y: Any) -> Any:
    positive = x > 0
    return np.where(positive, np.expm1(y * np.log(np.where(positive, x, 1.0))), x**y - 1.0)


@relative(sc.boxcox1p, "Box-Cox transformation of 1 + x.", (0.5, 2), (0.3, 2))
def boxcox1p(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.where(k == 0, np.log1p(x), np.expm1(safe * np.log1p(x)) / safe)


@relative(sc.inv_boxcox, "Inverse of the Box-Cox transformation.", (0.5, 2), (0.3, 2))
def inv_boxcox(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.exp(np.where(k == 0, x, np.log1p(safe * x) / safe))


@relative(sc.inv_boxcox1p, "Inverse of the Box-Cox transformation of 1 + x.", (0.5, 2), (0.3, 2))
def inv_boxcox1p(x: Any, k: Any) -> Any:
    safe = np.where(k == 0, 1.0, k)
    return np.expm1(np.where(k == 0, x, np.log1p(safe * x) / safe))


# ---------------------------------------------------------------- elliptic integrals


def _ellipkm1_slope(y: Any, p: Any) -> Any:
    """Where p is small, the plain formula; elsewhere its terms are nearly equal.

    What 1 - p loses in rounding is put into the other one to first order.
    """
    plain = (p * y - sc.ellipe(1 - p)) / (2 * p * (1 - p))
    share = 1 - p
    lost = (1 - share) - p
    found = -0.5 * (COMPLETE_G(share) + lost * COMPLETE_G(share, order=1))
    return np.where(1024 * p < 1, plain, found)


ELLIPKM1 = define(
    sc.ellipkm1, name="Ellipkm1", sympy=lambda p: sp.elliptic_k(1 - p),
    partials=lambda y, p: (_ellipkm1_slope(y, p),),
    lower=Cython("ellipkm1"), domain=UNIT, samples=(0.2, 0.8), ulp=16.0,
    doc="Complete elliptic integral of the first kind around m = 1.",
)  # fmt: skip


@relative(sc.agm, "Arithmetic-geometric mean of positive numbers.", (0.5, 2), (3, 4))
def agm(a: Any, b: Any) -> Any:
    total = a + b
    return math.pi / 4 * total / sc.ellipkm1(4 * (a / total) * (b / total))


# ---------------------------------------------------------------- Bessel functions


@relative(sc.kn, "Modified Bessel function of a whole order.", (2, 2), (0.5, 3))
def kn(n: Any, x: Any) -> Any:
    return sc.kv(n * 1.0, x)


@relative(sc.yn, "Bessel function of the second kind of a whole order.", (2, 2), (0.5, 3))
def yn(n: Any, x: Any) -> Any:
    return sc.yv(n * 1.0, x)


@relative(sc.jve, "Bessel function, scaled: of a real argument, not at all.", (0.5, 2), (0.5, 3))
def jve(v: Any, x: Any) -> Any:
    return sc.jv(v, x)


@relative(sc.yve, "Bessel function, scaled: of a real argument, not at all.", (0.5, 2), (0.5, 3))
def yve(v: Any, x: Any) -> Any:
    return sc.yv(v, x)


# ---------------------------------------------------------------- polynomials


@of_degree(sc.eval_chebyc, "Chebyshev polynomial of the first kind on [-2, 2].")
def chebyc(n: Any, x: Any) -> Any:
    return 2.0 * sc.eval_chebyt(n, 0.5 * x)


@of_degree(sc.eval_chebys, "Chebyshev polynomial of the second kind on [-2, 2].")
def chebys(n: Any, x: Any) -> Any:
    return sc.eval_chebyu(n, 0.5 * x)


@of_degree(sc.eval_sh_chebyt, "Chebyshev polynomial of the first kind on [0, 1].")
def sh_chebyt(n: Any, x: Any) -> Any:
    return sc.eval_chebyt(n, 2.0 * x - 1.0)


@of_degree(sc.eval_sh_chebyu, "Chebyshev polynomial of the second kind on [0, 1].")
def sh_chebyu(n: Any, x: Any) -> Any:
    return sc.eval_chebyu(n, 2.0 * x - 1.0)


@of_degree(sc.eval_sh_legendre, "Legendre polynomial on [0, 1].")
def sh_legendre(n: Any, x: Any) -> Any:
    return sc.eval_legendre(n, 2.0 * x - 1.0)


@of_degree(sc.eval_sh_jacobi, "Jacobi polynomial on [0, 1].", 1.5, 0.5)
def sh_jacobi(n: Any, p: Any, q: Any, x: Any) -> Any:
    scale = np.exp(sc.gammaln(n + 1.0) + sc.gammaln(n + p) - sc.gammaln(2.0 * n + p))
    return scale * sc.eval_jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0)

"""Lambert's function: w with ``w*exp(w) = x``, of real numbers, its two real branches.

They meet at x = -1/e, w = -1. Near there v = w + 1 follows from d = e*x + 1, known to all digits,
by Newton's method for the power series ``d = v**2/2 + v**3/3 + ...``; else w by the iteration of
Fritsch, Shafer and Crowley, of order four.

Sources: R. M. Corless et al., On the Lambert W function, Adv. Comput. Math. 5, 1996; F. N. Fritsch,
R. E. Shafer, W. P. Crowley, Algorithm 443, Comm. ACM 16, 1973.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Evidence, Op, Words, composite
from .._core.ops.np_common import as_array, join_parts
from .._core.ops.pairs import two_product
from ..errors import UnsupportedError
from . import multiple_precision as precisely
from .records import in_doubles


def lambert_near(x: Any, sign: float) -> Any:
    """``w + 1`` near the point where the branches meet, and how far that is: ``e*x + 1``."""
    at = np.minimum(x, 1.0)
    high, low = two_product(at, 2.718281828459045)  # e, less 1.4e-16
    d = (high + 1.0) + (low + at * 1.4456468917292502e-16)
    d = np.where((d < 0.0) & (d > -2e-16), 0.0, d)  # -1/e, rounded
    within = np.minimum(d, 0.2)
    p = sign * np.sqrt(2.0 * within)
    v = p * (1.0 + p * (-1.0 / 3.0 + p * (11.0 / 72.0 + p * (-43.0 / 540.0))))
    for _ in range(4):
        series = 0.0 * v
        for n in range(20, 1, -1):
            series = series * v + (n - 1.0) / math.factorial(n)
        slope = v * np.exp(v)
        v = v - (v * v * series - within) / np.where(slope == 0.0, 1.0, slope)
    return v, d


def fritsch(w: Any, z: Any) -> Any:
    """The next approximation; z is ``log(x/w) - w``."""
    more = 1.0 + w
    q = 2.0 * more * (more + (2.0 / 3.0) * z)
    return w * (1.0 + z / more * (q - z) / (q - 2.0 * z))


def lambert_principal(x: Any) -> Any:
    """The branch from -1 upwards."""
    v, d = lambert_near(x, 1.0)
    far = (d > 0.17) & (x != 0.0) & (x < math.inf)
    at = np.where(far, x, 1.0)
    first = np.log1p(at)
    w = first * (1.0 - np.log1p(first) / (2.0 + first))
    for _ in range(3):
        w = fritsch(w, np.log(at / w) - w)
    return np.where(far, w, np.where(d > 0.17, x, v - 1.0))


def lambert_lower(x: Any) -> Any:
    """The branch from -1 downwards, of numbers from -1/e to 0."""
    v, d = lambert_near(x, -1.0)
    far = (d > 0.08) & (x < 0.0)
    first = np.log(np.where(far, -x, 0.1))
    second = np.log(-first)
    w = first - second + second / first
    for _ in range(4):
        w = fritsch(w, first - np.log(-w) - w)
    beyond = np.where(x == 0.0, -math.inf, math.nan * x)
    return np.where(far, w, np.where(d > 0.08, beyond, v - 1.0))


LAMBERT: Op = in_doubles(
    "LambertW", lambert_principal, (sp.Interval.open(-sp.exp(-1), sp.oo),), None,
    lambda y, x: (np.exp(-y) / (1 + y),),
    Evidence(samples=(-0.3, 5), ulp=16.0, precise=precisely.lambert_principal),
    Words("The branch from -1 upwards of Lambert's function.", reading=lambda x: sp.LambertW(x)),
    helpers=(lambert_near, fritsch, two_product),
)  # fmt: skip
LAMBERT_LOWER: Op = in_doubles(
    "LambertWLower", lambert_lower, (sp.Interval.open(-sp.exp(-1), 0),), None,
    lambda y, x: (np.exp(-y) / (1 + y),),
    Evidence(samples=(-0.35, -0.01), ulp=16.0, precise=precisely.lambert_lower),
    Words("The branch from -1 downwards of Lambert's function.",
        reading=lambda x: sp.LambertW(x, -1)),
    helpers=(lambert_near, fritsch, two_product),
)  # fmt: skip


@composite(
    sc.lambertw, name="lambertw", convention="of real numbers; nan where the branch is not real"
)
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """Lambert's function on the branches 0 and -1; to all digits, whatever ``tol``."""
    x = as_array(z)
    if x.dtype.kind == "c":
        raise UnsupportedError(
            "lambertw of complex numbers cannot be traced: pass real ones, or find the root of "
            "w*np.exp(w) - z by sg.implicit_root"
        )
    if not isinstance(k, int | np.integer) or k not in (0, -1):
        raise UnsupportedError(
            f"lambertw: in traced code the branch k is 0 or -1, a number, not {k!r}; the others "
            "are not real"
        )
    w = (LAMBERT if k == 0 else LAMBERT_LOWER)(x.astype(np.float64))
    return join_parts(w, np.zeros_like(w))

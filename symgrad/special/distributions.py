"""Densities and distribution functions: gamma, beta, Student's, and what they express.

The formulas are those of :mod:`.densities`, :mod:`.incomplete` and :mod:`.shapes`, which name their
sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import COUNT, HIGHEST, Evidence, Op, Positive, Real, Words, optional
from . import multiple_precision as precisely
from .densities import BETA, GAMMA, STUDENT, beta_density, gamma_density, t_density
from .differences import DIGAMMA_HALF, DIGAMMA_STEP, LOG_EXCESS, digamma_half, polygamma
from .gamma import RGAMMA_SLOPE
from .incomplete import (
    INCOMPLETE,
    INCOMPLETE_BETA,
    STUDENT_SHARES,
    beta_share,
    gamma_share,
    t_share,
)
from .records import BOTH_POSITIVE, UNIT, boxed, falling_power, in_doubles, relative
from .shapes import (
    BETA_SHAPES,
    beta_shape,
    gamma_shape,
    mixed_derivatives,
    other_beta_shape,
)
from .student import student_shape
from .taylor import log_derivatives


def shown(name: str, *families: str) -> Callable[..., Any]:
    """Return how a function without a form is read: which derivative it is comes last."""

    def reading(*operands: Any, **params: int) -> Any:
        which = [params.get(family, 0) for family in families]
        return sp.Function(name)(*operands, *(which if any(which) else ()))

    return reading


#: Shapes, and distances from the ends, below which terms of derivatives cancel that are computed
#: by the derivative of the density's logarithm.
NEAR_ZERO, NEAR_END = 0.1, 0.01
#: Sums of shapes for which the beta function is far above the least double.
LARGE = 200.0

# ---------------------------------------------------------------- gamma distribution


def gamma_form(a: Any, x: Any, slope: int = 0) -> Any:
    """The gamma density, or a derivative, in SymPy."""
    factor = (1, sp.log(x) - sp.polygamma(0, a), (a - 1) / x - 1)[slope]
    return x ** (a - 1) * sp.exp(-x) / sp.gamma(a) * factor


def _gamma_partials(y: Any, a: Any, x: Any, slope: int = 0) -> Any:
    if slope == 0:
        return GAMMA_DENSITY(a, x, slope=1), GAMMA_DENSITY(a, x, slope=2)
    f = GAMMA_DENSITY(a, x)
    by_a, by_x = np.log(x) - sc.psi(a), (a - 1 - x) / x
    if slope == 1:
        twice, mixed = y * by_a - f * polygamma(1, a), y * by_x + f / x
        twice = np.where(a < NEAR_ZERO, _gamma_near_zero(a, x), twice)
        return twice, np.where(x < NEAR_END, _gamma_mixed_near_end(a, x, by_a), mixed)
    again = y * by_x - f * ((a - 1) / (x * x))
    return y * by_a + f / x, np.where(x < NEAR_END, _gamma_near_end(a, x), again)


def _gamma_near_end(a: Any, x: Any) -> Any:
    """The second derivative by x of the gamma density, without what cancels close to 0."""
    less = a - 1.0
    rest = falling_power(x, less, 2) - 2.0 * falling_power(x, less, 1) + x**less
    return rest * np.exp(-x) * sc.rgamma(a)


def _gamma_mixed_near_end(a: Any, x: Any, by_a: Any) -> Any:
    """The mixed derivative of the gamma density, near an end of x."""
    less = a - 1.0
    first, inverse = falling_power(x, less, 1), x ** (less - 1.0)
    return ((first - x**less) * by_a + inverse) * np.exp(-x) * sc.rgamma(a)


def _gamma_near_zero(a: Any, x: Any) -> Any:
    """The second derivative of the gamma density with respect to a; 1/gamma(a) has no poles."""
    log = np.log(x)
    factor = log * (log * sc.rgamma(a) + 2.0 * RGAMMA_SLOPE(a)) + RGAMMA_SLOPE(a, order=1)
    return x ** (a - 1.0) * np.exp(-x) * factor


def _gamma_shape_partials(y: Any, a: Any, x: Any, order: int = 0) -> Any:
    again = GAMMA_SHAPE(a, x, order=order + 1)
    if order == 0:
        return again, GAMMA_DENSITY(a, x, slope=1)
    scores = [np.log(x) - sc.psi(a), *(-polygamma(k, a) for k in range(1, order + 1))]
    return again, GAMMA_DENSITY(a, x) * log_derivatives(scores)[0]


GAMMA_DENSITY: Op = in_doubles(
    "GammaDensity", gamma_density, BOTH_POSITIVE, gamma_form, _gamma_partials,
    Evidence(samples=((0.5, 5), (0.3, 6))), Words("x**(a - 1)*exp(-x)/gamma(a)."), helpers=GAMMA,
    slopes=2,
)  # fmt: skip
GAMMA_SHAPE: Op = in_doubles(
    "GammaShape", gamma_shape, BOTH_POSITIVE, None, _gamma_shape_partials,
    Evidence(samples=((0.5, 5), (0.3, 6)), ulp=64.0, precise=precisely.gamma_shape),
    Words("The derivative of gammainc by a; a higher one.", reading=shown("GammaShape", "order")),
    orders=HIGHEST,
)  # fmt: skip
GAMMAINC = boxed(
    "Gammainc", sc.gammainc, gamma_share, BOTH_POSITIVE,
    lambda a, x: sp.lowergamma(a, x) / sp.gamma(a),
    lambda y, a, x: (GAMMA_SHAPE(a, x), GAMMA_DENSITY(a, x)),
    Evidence(samples=((0.5, 5), (0.3, 6)), ulp=64.0, precise=precisely.gamma_share),
    helpers=INCOMPLETE,
)  # fmt: skip
GAMMAINCC = boxed(
    "Gammaincc", sc.gammaincc, gamma_share, BOTH_POSITIVE,
    lambda a, x: sp.uppergamma(a, x) / sp.gamma(a),
    lambda y, a, x: (-GAMMA_SHAPE(a, x), -GAMMA_DENSITY(a, x)),
    Evidence(samples=((0.5, 5), (0.3, 6)), ulp=64.0, precise=precisely.gamma_rest),
    more=(True,), shown=("special.gammaincc", "True"), helpers=INCOMPLETE,
)  # fmt: skip


# ---------------------------------------------------------------- beta and Student's densities

THREE = (*BOTH_POSITIVE, *UNIT)


def beta_form(a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    """The beta density, or a derivative, in SymPy."""
    n = sp.polygamma(0, a + b)
    factor = (
        1, sp.log(x) - sp.polygamma(0, a) + n, sp.log(1 - x) - sp.polygamma(0, b) + n,
        (a - 1) / x - (b - 1) / (1 - x),
    )[slope]  # fmt: skip
    return x ** (a - 1) * (1 - x) ** (b - 1) / sp.beta(a, b) * factor


def _beta_partials(y: Any, a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    if slope == 0:
        return tuple([BETA_DENSITY(a, b, x, slope=k) for k in (1, 2, 3)])
    f, both = BETA_DENSITY(a, b, x), polygamma(1, a + b)
    own = (
        np.log(x) + DIGAMMA_STEP(a, b), np.log1p(-x) + DIGAMMA_STEP(b, a),
        (a - 1) / x - (b - 1) / (1 - x),
    )  # fmt: skip
    second = (
        (DIGAMMA_STEP(a, b, order=1), both, 1 / x),
        (both, DIGAMMA_STEP(b, a, order=1), -1 / (1 - x)),
        (1 / x, -1 / (1 - x), -(a - 1) / (x * x) - (b - 1) / np.square(1 - x)),
    )[slope - 1]  # fmt: skip
    found = [y * own[k] + f * second[k] for k in range(3)]
    # The beta function of large shapes underflows, and with it what would be divided by it.
    near = ((x < NEAR_END) | (x > 1.0 - NEAR_END)) & (a + b < LARGE)
    if slope == 3:
        found[2] = np.where(near, _beta_near_ends(a, b, x), found[2])
        return tuple(found)
    found[2] = np.where(near, _beta_mixed_near_ends(a, b, x, own[slope - 1], slope), found[2])
    if slope == 1:
        twice = _beta_near_zero(a, b, x, 1.0 - x, np.log(x))
    else:
        twice = _beta_near_zero(b, a, 1.0 - x, x, np.log1p(-x))
    found[slope - 1] = np.where((a, b)[slope - 1] < NEAR_ZERO, twice, found[slope - 1])
    return tuple(found)


def _beta_near_zero(a: Any, b: Any, x: Any, y: Any, logarithm: Any) -> Any:
    """The second derivative of the beta density with respect to a, also close to a = 0; y = 1 - x.

    It is ``a*b/(a + b)`` times what is regular there.
    """
    both = a + b
    score = logarithm + (sc.psi(1.0 + both) - sc.psi(1.0 + a))
    bend = score * score + (polygamma(1, 1.0 + both) - polygamma(1, 1.0 + a))
    share = b / both
    regular = x ** (a - 1.0) * y ** (b - 1.0) / ((1.0 + both) * sc.beta(1.0 + a, 1.0 + b))
    return regular * (2.0 * share * share * (score - 1.0 / both) + a * share * bend)


def _beta_mixed_near_ends(a: Any, b: Any, x: Any, score: Any, slope: int) -> Any:
    """The derivative of the beta density with respect to a shape and x, near an end of x."""
    y, p, q = 1.0 - x, a - 1.0, b - 1.0
    first = falling_power(x, p, 1) * y**q - x**p * falling_power(y, q, 1)
    change = x ** (p - 1.0) * y**q if slope == 1 else -(x**p) * y ** (q - 1.0)
    return (first * score + change) / sc.beta(a, b)


def _beta_near_ends(a: Any, b: Any, x: Any) -> Any:
    """The second derivative by x of the beta density, without what cancels close to 0 and 1."""
    total = 0.0
    for k, share in enumerate((1.0, -2.0, 1.0)):
        left, right = falling_power(x, a - 1.0, 2 - k), falling_power(1.0 - x, b - 1.0, k)
        total = total + share * left * right
    return total / sc.beta(a, b)


BETA_DENSITY: Op = in_doubles(
    "BetaDensity", beta_density, THREE, beta_form, _beta_partials,
    Evidence(samples=((0.5, 5), (0.5, 5), (0.1, 0.9))),
    Words("x**(a - 1)*(1 - x)**(b - 1)/beta(a, b)."), helpers=BETA, slopes=3,
)  # fmt: skip


def t_form(v: Any, t: Any, slope: int = 0) -> Any:
    """Student's density, or a derivative, in SymPy."""
    step = sp.polygamma(0, (v + 1) / 2) - sp.polygamma(0, v / 2) - 1 / v
    by_v = step - sp.log(1 + t**2 / v) + t**2 * (v + 1) / (v * (v + t**2))
    factor = (1, by_v / 2, -(v + 1) * t / (v + t**2))[slope]
    return (
        sp.gamma((v + 1) / 2) / sp.gamma(v / 2) / sp.sqrt(sp.pi * v)
        * (1 + t**2 / v) ** (-(v + 1) / 2) * factor
    )  # fmt: skip


def student_change(v: Any, t: Any) -> Any:
    """The derivative by v of the logarithm of Student's density."""
    square = t * t
    return 0.5 * (DIGAMMA_HALF(v) - LOG_EXCESS(square / v) + square / (v * (v + square)))


def _t_partials(y: Any, v: Any, t: Any, slope: int = 0) -> Any:
    if slope == 0:
        return T_DENSITY(v, t, slope=1), T_DENSITY(v, t, slope=2)
    f, square, by_v = T_DENSITY(v, t), t * t, student_change(v, t)
    whole = v + square
    by_t = -(v + 1) * t / whole
    both = t * (1 - square) / np.square(whole)
    if slope == 1:
        again = square * (square * v - square - 2 * v) / np.square(v * whole)
        twice = y * by_v + 0.5 * f * (DIGAMMA_HALF(v, order=1) + again)
        return np.where(v < NEAR_ZERO, _t_near_zero(f, v, square), twice), y * by_t + f * both
    return y * by_v + f * both, y * by_t - f * ((v + 1) * (v - square) / np.square(whole))


def _t_near_zero(f: Any, v: Any, square: Any) -> Any:
    """The second derivative by v of Student's density f, without what cancels close to v = 0.

    ``psi(v/2) = psi(1 + v/2) - 2/v``; the derivative of f's logarithm is 1/v and the rest.
    """
    half, whole = 0.5 * v, v + square
    rest = sc.psi(half + 0.5) - sc.psi(half + 1.0) - LOG_EXCESS(square / v) - 1.0 / whole
    bend = 0.5 * (polygamma(1, half + 0.5) - polygamma(1, half + 1.0)) + 1.0 / np.square(whole)
    rest, bend = 0.5 * rest, 0.5 * (bend + np.square(square / whole) / v)
    return 2.0 * (f / v) * rest + f * (rest * rest + bend)


def _student_shape_partials(y: Any, v: Any, t: Any, slope: int = 0) -> Any:
    first = T_DENSITY(v, t, slope=1)
    if slope == 0:
        return STUDENT_SHAPE(v, t, slope=1), first
    return math.nan, _t_partials(first, v, t, slope=1)[0]


T_DENSITY: Op = in_doubles(
    "StudentDensity", t_density, (Positive, Real), t_form, _t_partials,
    Evidence(samples=((1, 9), (-3, 3))), Words("Density of Student's t distribution."),
    helpers=STUDENT, slopes=2,
)  # fmt: skip


# ---------------------------------------------------------------- distribution functions


def _beta_scores(a: Any, b: Any, x: Any, i: int, j: int) -> Any:
    """A derivative of the beta density, i times by a and j times by b."""
    first, second = (
        [
            logarithm + DIGAMMA_STEP(own, other),
            *(DIGAMMA_STEP(own, other, order=k) for k in range(1, count)),
        ]
        for logarithm, own, other, count in ((np.log(x), a, b, i), (np.log1p(-x), b, a, j))
    )
    both = [polygamma(k, a + b) for k in range(1, i + j)]
    return BETA_DENSITY(a, b, x) * mixed_derivatives(first, second, both, i, j)[i, j]


def _beta_shape_partials(y: Any, a: Any, b: Any, x: Any, order: int = 0, second: int = 0) -> Any:
    density = _beta_scores(a, b, x, 1 + order, second)
    if order == second == 0:
        density = BETA_DENSITY(a, b, x, slope=1)
    given = {"order": order} if order else {}
    further = {"second": second} if second else {}
    return (
        BETA_SHAPE(a, b, x, order=order + 1, **further),
        BETA_SHAPE(a, b, x, second=second + 1, **given), density,
    )  # fmt: skip


def _other_beta_shape_partials(y: Any, a: Any, b: Any, x: Any, order: int = 0) -> Any:
    density = _beta_scores(a, b, x, 0, 1 + order) if order else BETA_DENSITY(a, b, x, slope=2)
    return (
        BETA_SHAPE(a, b, x, second=order + 1), OTHER_BETA_SHAPE(a, b, x, order=order + 1), density,
    )  # fmt: skip


BETA_SHAPE: Op = in_doubles(
    "BetaShape", beta_shape, THREE, None, _beta_shape_partials,
    Evidence(samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0, precise=precisely.beta_shape),
    Words("The derivative of betainc by a; a higher one by a and b.",
        reading=shown("BetaShape", "order", "second")),
    helpers=BETA_SHAPES, orders=HIGHEST, params={"second": optional(COUNT)},
)  # fmt: skip
OTHER_BETA_SHAPE: Op = in_doubles(
    "OtherBetaShape", other_beta_shape, THREE, None, _other_beta_shape_partials,
    Evidence(samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0,
        precise=precisely.other_beta_shape),
    Words("The derivative of betainc by b; a higher one.",
        reading=shown("OtherBetaShape", "order")),
    helpers=BETA_SHAPES, orders=HIGHEST,
)  # fmt: skip
BETAINC = boxed(
    "Betainc", sc.betainc, beta_share, THREE,
    lambda a, b, x: sp.betainc_regularized(a, b, 0, x),
    lambda y, a, b, x: (BETA_SHAPE(a, b, x), OTHER_BETA_SHAPE(a, b, x), BETA_DENSITY(a, b, x)),
    Evidence(samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0, precise=precisely.beta_share),
    Words("Regularized incomplete beta function."), helpers=INCOMPLETE_BETA,
)  # fmt: skip
BETAINCC = boxed(
    "Betaincc", sc.betaincc, beta_share, THREE,
    lambda a, b, x: 1 - sp.betainc_regularized(a, b, 0, x),
    lambda y, a, b, x: (-BETA_SHAPE(a, b, x), -OTHER_BETA_SHAPE(a, b, x), -BETA_DENSITY(a, b, x)),
    Evidence(samples=((0.5, 5), (0.5, 5), (0.1, 0.9)), ulp=64.0, precise=precisely.beta_rest),
    Words("Complement of the regularized incomplete beta function."),
    more=(True,), shown=("special.betaincc", "True"), helpers=INCOMPLETE_BETA,
)  # fmt: skip
STUDENT_SHAPE: Op = in_doubles(
    "StudentShape", student_shape, (Positive, Real), None, _student_shape_partials,
    Evidence(samples=((1, 9), (-3, 3)), ulp=64.0, precise=precisely.student_shape),
    Words("The derivative of stdtr by v, or the second one.",
        reading=shown("StudentShape", "slope"),
        convention="the third derivative by v: nan (not known)"),
    helpers=(*BETA_SHAPES, digamma_half), slopes=1,
)  # fmt: skip
STDTR = boxed(
    "StudentCdf", sc.stdtr, t_share, (Positive, Real), None,
    lambda y, v, t: (STUDENT_SHAPE(v, t), T_DENSITY(v, t)),
    Evidence(samples=((1, 9), (-3, 3)), ulp=128.0, precise=precisely.student),
    Words("Distribution function of Student's t."), helpers=STUDENT_SHARES,
)  # fmt: skip


# ---------------------------------------------------------------- others


@relative(sc.chdtr, "Chi-square distribution function.")
def chdtr(v: Any, x: Any) -> Any:
    return sc.gammainc(v / 2.0, x / 2.0)


@relative(sc.chdtrc, "Chi-square survival function.")
def chdtrc(v: Any, x: Any) -> Any:
    return sc.gammaincc(v / 2.0, x / 2.0)


@relative(sc.gdtr, "Gamma distribution function.")
def gdtr(a: Any, b: Any, x: Any) -> Any:
    return sc.gammainc(b, a * x)


@relative(sc.gdtrc, "Gamma survival function.")
def gdtrc(a: Any, b: Any, x: Any) -> Any:
    return sc.gammaincc(b, a * x)


@relative(sc.pdtr, "Poisson distribution function.")
def pdtr(k: Any, m: Any) -> Any:
    return sc.gammaincc(np.floor(k) + 1.0, m)


@relative(sc.pdtrc, "Poisson survival function.")
def pdtrc(k: Any, m: Any) -> Any:
    return sc.gammainc(np.floor(k) + 1.0, m)


@relative(sc.fdtr, "F distribution function.")
def fdtr(n: Any, d: Any, x: Any) -> Any:
    return sc.betainc(n / 2.0, d / 2.0, n * x / (d + n * x))


@relative(sc.fdtrc, "F survival function.")
def fdtrc(n: Any, d: Any, x: Any) -> Any:
    return sc.betainc(d / 2.0, n / 2.0, d / (d + n * x))


@relative(sc.bdtr, "Binomial distribution function.")
def bdtr(k: Any, n: Any, p: Any) -> Any:
    k = np.floor(k)
    return np.where(k >= n, 1.0, sc.betaincc(k + 1.0, np.maximum(n - k, 1.0), p))


@relative(sc.bdtrc, "Binomial survival function.")
def bdtrc(k: Any, n: Any, p: Any) -> Any:
    k = np.floor(k)
    return np.where(k >= n, 0.0, sc.betainc(k + 1.0, np.maximum(n - k, 1.0), p))


@relative(sc.nbdtr, "Negative binomial distribution function.")
def nbdtr(k: Any, n: Any, p: Any) -> Any:
    return sc.betainc(n * 1.0, k + 1.0, p)


@relative(sc.nbdtrc, "Negative binomial survival function.")
def nbdtrc(k: Any, n: Any, p: Any) -> Any:
    return sc.betaincc(n * 1.0, k + 1.0, p)

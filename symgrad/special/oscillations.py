"""Struve functions, integrals of sines, hypergeometric relatives.

Functions that SciPy gives several at a time are ops of their own, whose tuple is put together
again. Sources of the derivatives: the differential equations in NIST's Digital Library of
Mathematical Functions, https://dlmf.nist.gov, sections 6.2, 7.2 and 11.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

from .._late import special as sc
from .._op import Composed, Cython, Op, Positive, Real, composite, define, registry
from .._ops.np_common import Sample
from .._ops.pairs import pair_quotient, two_product, two_sum
from . import precisely
from .exponential_integrals import chi, ci, dilogarithm, shi, si
from .fallback import elsewhere, evaluated, of_scipy, source_of
from .fitted import fitted_fields
from .fresnel import fresnel_c, fresnel_s
from .hypergeometric import exponential_integral
from .special import ORDER
from .struve import modified_struve, struve
from .wright import wright_bessel

UNARY, POSITIVE = (Real,), (Positive,)


def parts(
    function: np.ufunc,
    code: str | list[dict[str, Any]],
    names: tuple[str, ...],
    rules: tuple[Callable[..., Any], ...],
    forms: tuple[Callable[..., Any] | None, ...],
    exactly: tuple[Callable[..., Any] | None, ...] | None = None,
    **fields: Any,
) -> tuple[Op, ...]:
    """Define an op for each result of ``function``, and the function as their tuple.

    ``code`` is SciPy's function, or what the records say of how each result is computed.
    ``rules`` take the results' ops and then the operands.
    """
    ops: list[Op] = []
    for k, name in enumerate(names):
        computed: dict[str, Any] = (
            code[k]
            if isinstance(code, list)
            else {
                "evaluate": lambda *xs, k=k: function(*xs)[k],
                "lower": Cython(code, part=k, results=len(names)),
                "source": lambda *xs, k=k: (
                    f"special.{function.__name__}({', '.join(map(str, xs))})[{k}]"
                ),
            }
        )
        ops.append(define(
            name=name, sympy=forms[k], precise=exactly[k] if exactly else None,
            partials=_bound(rules[k], ops, len(fields["domain"])),
            doc=f"Result {k} of scipy.special.{function.__name__}.", **computed, **fields,
        ))  # fmt: skip
    ranges = fields["samples"]
    ranges = ranges if isinstance(ranges[0], tuple) else (ranges,)

    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        *first, last = ranges
        yield (*(float(rng.uniform(*pair)) for pair in first), rng.uniform(*last, 5)), {}

    def together(*operands: Any) -> tuple[Any, ...]:
        return tuple(op(*operands) for op in ops)

    together.__doc__ = f"{', '.join(names)} together."
    composite(function, name=function.__name__, samples=samples)(together)
    return tuple(ops)


def _bound(rule: Callable[..., Any], ops: list[Op], arity: int) -> Callable[..., Any]:
    if arity == 1:
        return lambda y, x: rule(ops, x)
    return lambda y, u, m, **params: rule(ops, u, m, **params)


# ---------------------------------------------------------------- integrals


def _over(f: np.ufunc, share: float, x: Any) -> Any:
    """A sine over x: close to 0 as a series, whose derivatives are no differences."""
    return np.where(np.fabs(x) < 1.0, sc.hyp0f1(1.5, share * np.square(x)), f(x) / x)


SINE, COSINE = parts(
    sc.sici, [fitted_fields(f) for f in (si, ci)], ("SineIntegral", "CosineIntegral"),
    (lambda ops, x: (_over(np.sin, -0.25, x),), lambda ops, x: (np.cos(x) / x,)),
    (sp.Si, sp.Ci), domain=POSITIVE, samples=(0.2, 9), ulp=128.0,
)  # fmt: skip
SINEH, COSINEH = parts(
    sc.shichi, [fitted_fields(f) for f in (shi, chi)],
    ("HyperbolicSineIntegral", "HyperbolicCosineIntegral"),
    (lambda ops, x: (_over(np.sinh, 0.25, x),), lambda ops, x: (np.cosh(x) / x,)),
    (sp.Shi, sp.Chi), domain=POSITIVE, samples=(0.6, 9), ulp=16.0,
)  # fmt: skip
FRESNELS, FRESNELC = parts(
    sc.fresnel,
    [fitted_fields(f) for f in (fresnel_s, fresnel_c)],
    ("FresnelS", "FresnelC"),
    (
        lambda ops, x: (np.sin(math.pi / 2 * (x * x)),),
        lambda ops, x: (np.cos(math.pi / 2 * (x * x)),),
    ),
    (sp.fresnels, sp.fresnelc), domain=UNARY, samples=(-2, 2), ulp=16.0,
)  # fmt: skip


def _expn_slope(y: Any, n: Any, x: Any) -> Any:
    first = -np.exp(-x) / x  # n = 1, where E0 is no number of SciPy's for negative orders
    return math.nan, np.where(n == 0, -y * (1 + 1 / x), np.where(n == 1, first, -EXPN(n - 1, x)))


_EXPN = of_scipy("Expn", sc.expn, (sp.Naturals0, Positive))
EXPN: Op = define(
    sc.expn, name="Expn", sympy=None, precise=precisely.expn, partials=_expn_slope,
    evaluate=evaluated(exponential_integral, sc.expn),
    lower=Composed(lambda n, x: exponential_integral(n, x, _EXPN)),
    source=source_of("exponential_integral"), helpers=(elsewhere, exponential_integral),
    domain=(sp.Naturals0, Positive), samples=((0, 4), (0.2, 5)), ulp=16.0, convention=ORDER,
    types=lambda n, x: ((np.dtype(float), np.dtype(float)), np.dtype(float)),
    doc="Generalized exponential integral of a whole order.",
)  # fmt: skip


def _spence_slope(x: Any) -> Any:
    safe = np.where(x == 1, 1.0, x - 1)
    return np.where(x == 1, -1.0, -np.log1p(safe) / safe)


SPENCE: Op = define(
    sc.spence, name="Spence", sympy=None, precise=precisely.spence,
    partials=lambda y, x: (_spence_slope(x),), domain=POSITIVE, samples=(1.2, 6), ulp=16.0,
    doc="Dilogarithm.", **fitted_fields(dilogarithm, sc.spence),
)  # fmt: skip


# ---------------------------------------------------------------- Struve functions


def _struve(function: np.ufunc, name: str, doc: str, formula: Any) -> Op:
    scipy = of_scipy(name, function, (Real, Positive))

    def partials(y: Any, v: Any, x: Any, slope: int = 0) -> tuple[Any, Any]:
        op = registry.ops[name]
        if not slope:
            return math.nan, op(v, x, slope=2)
        return math.nan, op(v - 1, x, slope=2) - v / x * (y - op(v, x) / x)

    return define(
        function, name=name, sympy=None, precise=getattr(precisely, function.__name__),
        partials=partials, slopes=2, evaluate=evaluated(formula, function),
        lower=Composed(lambda v, x, slope=0: formula(v, x, scipy, slope)),
        reading=lambda v, x, slope=0: struve_form(name, v, x, slope),
        source=source_of(formula.__name__), helpers=(formula,), domain=(Real, Positive),
        samples=((0, 3), (0.5, 5)), ulp=512.0, convention=ORDER, doc=doc,
    )  # fmt: skip


def struve_form(name: str, v: Any, x: Any, slope: int = 0) -> Any:
    """A Struve function, or its derivative, as a formula to be read."""
    f = sp.Function(name)
    return f(v - 1, x) - v / x * f(v, x) if slope else f(v, x)


STRUVE = _struve(sc.struve, "Struve", "Struve function.", struve)
MODSTRUVE = _struve(sc.modstruve, "ModStruve", "Modified Struve function.", modified_struve)


# ---------------------------------------------------------------- hypergeometric relatives

_HYPERU_OF_SCIPY: Op = Op(
    name="HyperuOfSciPy", kind="map", evaluate=sc.hyperu, lower=Cython("hyperu"),
    domain=(Positive, Positive, Positive), reason="a step of Hyperu in kernels",
)  # fmt: skip
registry.steps[_HYPERU_OF_SCIPY.name] = _HYPERU_OF_SCIPY


def hyperu_as_mean(
    a: Any, b: Any, x: Any, other: Callable[..., Any] = sc.hyperu, slope: int = 0
) -> Any:
    """Tricomi's function: the mean of (1 + t/x)**(b - a - 1), t being gamma distributed, over x**a.

    By the trapezoidal rule for u with t = exp(u - exp(-u)), whose error cancels in the mean. What
    is computed from series divides by sin(pi*b). For other operands than these, SciPy's. With a
    slope (3) its derivative by x: a factor of -t/x more.

    Source: NIST Digital Library of Mathematical Functions, 13.4.4; H. Takahasi, M. Mori, Double
    exponential formulas for numerical integration, Publ. RIMS 9, 1974.
    """
    inside = (a >= 0.5) & (a <= 20.0) & (np.fabs(b) <= 20.0) & (x >= 0.01)
    shape, at = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    power = np.where(inside, b - a - 1.0, 0.0)
    total = weights = 0.0 * shape, 0.0 * shape
    for k in range(-52, 58):
        s = k / 12.0 - math.exp(-k / 12.0)
        t = math.exp(s)
        weight = (1.0 + math.exp(-k / 12.0)) * np.exp(shape * s - t)
        term = weight * (t if slope else 1.0)
        high, low = two_sum(total[0], term * (1.0 + t / at) ** power)
        total = high, total[1] + low
        high, low = two_sum(weights[0], weight)
        weights = high, weights[1] + low
    mean = pair_quotient(pair_quotient(total, weights), (at**shape, 0.0))
    if not slope:
        return np.where(inside, mean[0] + mean[1], elsewhere(other, inside, a, b, x))
    high, low = pair_quotient(mean, (-at, 0.0))
    return np.where(inside, high + low, -a * elsewhere(other, inside, a + 1.0, b + 1.0, x))


def _hyperu_form(a: Any, b: Any, x: Any, slope: int = 0) -> Any:
    u = sp.Function("Hyperu")
    return -a * u(a + 1, b + 1, x) if slope else u(a, b, x)


HYPERU: Op = define(
    sc.hyperu, name="Hyperu", sympy=None, precise=precisely.hyperu, convention=ORDER,
    evaluate=evaluated(hyperu_as_mean, sc.hyperu),
    lower=Composed(
        lambda a, b, x, slope=0: hyperu_as_mean(a, b, x, _HYPERU_OF_SCIPY, slope)
    ),
    partials=lambda y, a, b, x, slope=0: (
        math.nan, math.nan,
        a * (a + 1) * HYPERU(a + 2, b + 2, x) if slope else HYPERU(a, b, x, slope=3),
    ),
    reading=_hyperu_form, slopes=3,
    domain=(Positive, Positive, Positive), samples=((0.5, 1.5), (1.1, 1.9), (0.5, 3)), ulp=16.0,
    doc="Tricomi's confluent hypergeometric function.",
    source=source_of("hyperu_as_mean"),
    helpers=(two_sum, two_product, pair_quotient, elsewhere, hyperu_as_mean),
)  # fmt: skip
_THREE = (Positive, Positive, Positive)
_WRIGHT_OF_SCIPY = of_scipy("WrightBessel", sc.wright_bessel, _THREE)
_RGAMMA_OF_SCIPY = of_scipy("WrightBesselGamma", sc.rgamma, POSITIVE)
WRIGHT_BESSEL: Op = define(
    sc.wright_bessel, name="WrightBessel", sympy=None, precise=precisely.wright_bessel,
    evaluate=evaluated(wright_bessel, sc.wright_bessel),
    lower=Composed(lambda a, b, x: wright_bessel(a, b, x, _WRIGHT_OF_SCIPY, _RGAMMA_OF_SCIPY)),
    source=source_of("wright_bessel"), helpers=(wright_bessel,),
    partials=lambda y, a, b, x: (math.nan, math.nan, WRIGHT_BESSEL(a, b + a, x)),
    domain=_THREE, samples=((0.3, 2), (0.5, 3), (0.2, 3)), ulp=512.0,
    convention=ORDER, doc="Wright's generalized Bessel function.",
)  # fmt: skip
WRIGHT_OMEGA: Op = define(
    sc.wrightomega, name="WrightOmega", sympy=lambda x: sp.LambertW(sp.exp(x)),
    partials=lambda y, x: (y / (1 + y),), lower=Cython("wrightomega"),
    domain=UNARY, samples=(-3, 5), ulp=8.0, doc="Solution y of y + log(y) = x.",
)  # fmt: skip

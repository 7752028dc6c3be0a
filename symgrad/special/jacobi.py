"""Jacobi's elliptic functions.

SciPy's amplitude is off by some units, which its sine, its cosine and derivatives magnify. A step
of Newton's method gives what it is off by, which is put in where it counts.

Source of the derivatives: NIST Digital Library of Mathematical Functions, 22.13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Code, Composed, Cython, Evidence, Map, NoRule, Op, Real, define_step
from .._core.ops.pairs import pair_product, pair_quotient, pair_root, pair_sum, two_sum
from . import multiple_precision as precisely
from .elliptic import ELLIPTIC_G, GAUSS, elliptic_g, excess_of_angle, within_means
from .records import elsewhere, parts
from .taylor import SERIES

DOMAIN = (Real, sp.Interval.open(0, 1))


def _of_scipy(name: str, part: int) -> Op:
    return define_step(
        Map(f"{name}OfSciPy", evaluate=lambda u, m: sc.ellipj(u, m)[part], domain=DOMAIN,
            rule=NoRule(f"a step of {name} in kernels")),
        Code(Cython("ellipj", part=part, results=4)),
    )  # fmt: skip


def amplitude_and_rest(u: Any, m: Any, given: Any) -> tuple[Any, Any, Any]:
    """Where it is known, the amplitude, from that ``given``, and what is to be taken off."""
    inside = within_means(given, m)
    p, share = np.where(inside, given, 0.0), np.where(inside, m, 0.0)
    gap = (p - np.where(inside, u, 0.0)) + share * (p * excess_of_angle(p, share))
    return inside, p, gap * np.sqrt(1.0 - share * np.square(np.sin(p)))


def jacobi_pairs(u: Any, m: Any, angle: Any, sine: Any, cosine: Any) -> Any:
    """Sine, cosine, delta, and the amplitude's derivative by m for a given u, as pairs.

    The latter is ``-dn*G/2`` with the elliptic integral G of the amplitude p - rest: the one up to
    p, less ``rest`` times its integrand there.
    """
    given = angle(u, m)
    inside, p, rest = amplitude_and_rest(u, m, given)
    share = np.where(inside, m, 0.0)
    s, c = np.sin(p), np.cos(p)
    sn, cn = two_sum(s, -rest * c), two_sum(c, rest * s)
    square = pair_product((share, 0.0), pair_product(cn, cn))
    dn = pair_root(pair_sum(two_sum(1.0, -share), square))
    total = 0.0 * p, 0.0 * p
    for node, weight in GAUSS:
        part = np.square(np.sin(node * p))
        root = 1.0 - share * part
        high, low = two_sum(weight * part / np.sqrt(root) / root, total[0])
        total = high, total[1] + low
    less = rest * (sn[0] * sn[0]) / (dn[0] * dn[0] * dn[0])
    integral = pair_sum(pair_product((p, 0.0), total), (-less, 0.0))
    turn = pair_product(dn, (-0.5 * integral[0], -0.5 * integral[1]))
    other = [elsewhere(f, inside, u, m) for f in (sine, cosine)]
    delta = np.sqrt((1 - m) + m * np.square(other[1]))
    other += [delta, -0.5 * delta * elliptic_g(np.where(inside, 0.0, given), m)]
    return [
        (np.where(inside, x[0], y), np.where(inside, x[1], 0.0))
        for x, y in zip((sn, cn, dn, turn), other, strict=True)
    ]


def jacobi_am(u: Any, m: Any, angle: Any, sine: Any, cosine: Any, slope: int = 0) -> Any:
    """Jacobi's amplitude; with a slope (2) the derivative by m."""
    u, m = np.float64(1.0) * u, np.float64(1.0) * m
    if slope:
        high, low = jacobi_pairs(u, m, angle, sine, cosine)[3]
        return high + low
    given = angle(u, m)
    inside, p, rest = amplitude_and_rest(u, m, given)
    return np.where(inside, p - rest, given)


def jacobi_sn(u: Any, m: Any, angle: Any, sine: Any, cosine: Any, slope: int = 0) -> Any:
    """The sine of the amplitude, or the derivative by m."""
    u, m = np.float64(1.0) * u, np.float64(1.0) * m
    if slope:
        _, cn, _, turn = jacobi_pairs(u, m, angle, sine, cosine)
        high, low = pair_product(cn, turn)
        return high + low
    inside, p, rest = amplitude_and_rest(u, m, angle(u, m))
    return np.where(inside, np.sin(p) - rest * np.cos(p), elsewhere(sine, inside, u, m))


def jacobi_cn(u: Any, m: Any, angle: Any, sine: Any, cosine: Any, slope: int = 0) -> Any:
    """The cosine of the amplitude, or the derivative by m."""
    u, m = np.float64(1.0) * u, np.float64(1.0) * m
    if slope:
        sn, _, _, turn = jacobi_pairs(u, m, angle, sine, cosine)
        high, low = pair_product(sn, turn)
        return -(high + low)
    inside, p, rest = amplitude_and_rest(u, m, angle(u, m))
    return np.where(inside, np.cos(p) + rest * np.sin(p), elsewhere(cosine, inside, u, m))


def jacobi_dn(u: Any, m: Any, angle: Any, sine: Any, cosine: Any, slope: int = 0) -> Any:
    """The root of 1 - m*sn**2, as a sum of positive terms, or the derivative by m."""
    u, m = np.float64(1.0) * u, np.float64(1.0) * m
    if slope:
        sn, cn, dn, turn = jacobi_pairs(u, m, angle, sine, cosine)
        change = pair_product((2.0 * m, 0.0), pair_product(cn, turn))
        high, low = pair_quotient(pair_product(sn, pair_sum(sn, change)), dn)
        return -0.5 * (high + low)
    return np.sqrt((1 - m) + m * np.square(jacobi_cn(u, m, angle, sine, cosine)))


def scipy_sn(u: Any, m: Any) -> Any:
    """SciPy's sn."""
    return sc.ellipj(u, m)[0]


def scipy_cn(u: Any, m: Any) -> Any:
    """SciPy's cn."""
    return sc.ellipj(u, m)[1]


def scipy_am(u: Any, m: Any) -> Any:
    """SciPy's amplitude."""
    return sc.ellipj(u, m)[3]


_SN, _CN, _AM = (
    _of_scipy(f"Jacobi{name}", part) for name, part in (("Sn", 0), ("Cn", 1), ("Am", 3))
)


_WAYS = ((scipy_am, _AM), (scipy_sn, _SN), (scipy_cn, _CN))


def _computed(compute: Callable[..., Any]) -> tuple[Callable[..., Any], Code]:
    names = ", ".join(way.__name__ for way, _ in _WAYS)

    def evaluate(u: Any, m: Any, slope: int = 0) -> Any:
        found = compute(u, m, *(way for way, _ in _WAYS), slope)
        return found.astype(np.result_type(u, m, 0.0))

    def source(u: Any, m: Any, slope: int = 0) -> str:
        kind = np.result_type(u.dtype, m.dtype, 0.0)
        narrow = "" if kind == np.float64 else f".astype(np.{kind})"
        more = f", {slope}" if slope else ""
        return f"{compute.__name__}({u}, {m}, {names}{more}){narrow}"

    lower = Composed(lambda u, m, slope=0: compute(u, m, *(op for _, op in _WAYS), slope))
    helpers = (*(way for way, _ in _WAYS), *SERIES, elsewhere, compute)
    return evaluate, Code(lower, source=source, helpers=helpers)


def _slopes(ops: Any, u: Any, m: Any) -> tuple[Any, ...]:
    """The functions, and their derivatives by m, the amplitude's first derivative and the next."""
    s, c, d, phi = (op(u, m) for op in ops)
    turn, fall = ops[3](u, m, slope=2), ops[2](u, m, slope=2)
    steep = np.square(s) / (d * d * d) * turn + ELLIPTIC_G(phi, m, order=1)
    return s, c, d, turn, fall, fall * turn / d - 0.5 * d * steep


def _sine_rule(ops: Any, u: Any, m: Any, slope: int = 0) -> Any:
    if not slope:
        return ops[1](u, m) * ops[2](u, m), ops[0](u, m, slope=2)
    s, c, d, turn, fall, more = _slopes(ops, u, m)
    return c * fall - s * d * turn, c * more - s * turn * turn


def _cosine_rule(ops: Any, u: Any, m: Any, slope: int = 0) -> Any:
    if not slope:
        return -ops[0](u, m) * ops[2](u, m), ops[1](u, m, slope=2)
    s, c, d, turn, fall, more = _slopes(ops, u, m)
    return -s * fall - c * d * turn, -s * more - c * turn * turn


def _delta_rule(ops: Any, u: Any, m: Any, slope: int = 0) -> Any:
    if not slope:
        return -m * ops[0](u, m) * ops[1](u, m), ops[2](u, m, slope=2)
    s, c, d, turn, fall, more = _slopes(ops, u, m)
    double = (c - s) * (c + s) * turn
    return (
        -(s * c + m * double),
        -(2 * s * c * turn + m * (double * turn + s * c * more) + fall * fall) / d,
    )


def _amplitude_rule(ops: Any, u: Any, m: Any, slope: int = 0) -> Any:
    if not slope:
        return ops[2](u, m), ops[3](u, m, slope=2)
    return ops[2](u, m, slope=2), _slopes(ops, u, m)[5]


SN, CN, DN, AM = parts(
    sc.ellipj, [_computed(f) for f in (jacobi_sn, jacobi_cn, jacobi_dn, jacobi_am)],
    ("JacobiSn", "JacobiCn", "JacobiDn", "JacobiAm"),
    (_sine_rule, _cosine_rule, _delta_rule, _amplitude_rule), (None,) * 4,
    domain=DOMAIN, evidence=Evidence(samples=((0.2, 1.5), (0.2, 0.8)), ulp=64.0),
    slopes=2, exactly=precisely.JACOBI,
)  # fmt: skip

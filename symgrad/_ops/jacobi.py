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

from .._late import special as sc
from .._op import Composed, Cython, Op, Real, registry
from . import precisely
from .carlson import ELLIPTIC_G
from .elliptic_means import excess_of_angle, within_means
from .fallback import elsewhere
from .oscillations import parts

DOMAIN = (Real, sp.Interval.open(0, 1))


def _of_scipy(name: str, part: int) -> Op:
    op = Op(
        name=f"{name}OfSciPy", kind="map", evaluate=lambda u, m: sc.ellipj(u, m)[part],
        lower=Cython("ellipj", part=part, results=4), domain=DOMAIN,
        reason=f"a step of {name} in kernels",
    )  # fmt: skip
    registry.steps[op.name] = op
    return op


def amplitude_and_rest(u: Any, m: Any, given: Any) -> tuple[Any, Any, Any]:
    """Where it is known, the amplitude, from that ``given``, and what is to be taken off."""
    inside = within_means(given, m)
    p, share = np.where(inside, given, 0.0), np.where(inside, m, 0.0)
    gap = (p - np.where(inside, u, 0.0)) + share * (p * excess_of_angle(p, share))
    return inside, p, gap * np.sqrt(1.0 - share * np.square(np.sin(p)))


def jacobi_am(u: Any, m: Any, angle: Callable[..., Any]) -> Any:
    """Jacobi's amplitude."""
    u, m = np.float64(1.0) * u, np.float64(1.0) * m
    given = angle(u, m)
    inside, p, rest = amplitude_and_rest(u, m, given)
    return np.where(inside, p - rest, given)


def jacobi_sn(u: Any, m: Any, angle: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """The sine of the amplitude."""
    u, m = np.float64(1.0) * u, np.float64(1.0) * m
    inside, p, rest = amplitude_and_rest(u, m, angle(u, m))
    return np.where(inside, np.sin(p) - rest * np.cos(p), elsewhere(other, inside, u, m))


def jacobi_cn(u: Any, m: Any, angle: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """The cosine of the amplitude."""
    u, m = np.float64(1.0) * u, np.float64(1.0) * m
    inside, p, rest = amplitude_and_rest(u, m, angle(u, m))
    return np.where(inside, np.cos(p) + rest * np.sin(p), elsewhere(other, inside, u, m))


def jacobi_dn(u: Any, m: Any, angle: Callable[..., Any], other: Callable[..., Any]) -> Any:
    """The root of 1 - m*sn**2, as a sum of positive terms."""
    return np.sqrt((1 - m) + m * np.square(jacobi_cn(u, m, angle, other)))


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


def _computed(compute: Callable[..., Any], *ways: tuple[Callable[..., Any], Op]) -> dict[str, Any]:
    names = ", ".join(way.__name__ for way, _ in ways)

    def evaluate(u: Any, m: Any) -> Any:
        found = compute(u, m, *(way for way, _ in ways))
        return found.astype(np.result_type(u, m, 0.0))

    def source(u: Any, m: Any) -> str:
        kind = np.result_type(u.dtype, m.dtype, 0.0)
        narrow = "" if kind == np.float64 else f".astype(np.{kind})"
        return f"{compute.__name__}({u}, {m}, {names}){narrow}"

    return {
        "evaluate": evaluate,
        "lower": Composed(lambda u, m: compute(u, m, *(op for _, op in ways))),
        "source": source,
        "helpers": (*(way for way, _ in ways), elsewhere, compute),
    }


def _turning(ops: Any, u: Any, m: Any) -> Any:
    """The amplitude's derivative by m, where ``u`` is the integral F(phi, m) and stays."""
    _, _, dn, phi = (op(u, m) for op in ops)
    return -0.5 * dn * ELLIPTIC_G(phi, m)


_ANGLE = (scipy_am, _AM)
SN, CN, DN, AM = parts(
    sc.ellipj,
    [
        _computed(jacobi_sn, _ANGLE, (scipy_sn, _SN)),
        _computed(jacobi_cn, _ANGLE, (scipy_cn, _CN)),
        _computed(jacobi_dn, _ANGLE, (scipy_cn, _CN)),
        _computed(jacobi_am, _ANGLE),
    ],
    ("JacobiSn", "JacobiCn", "JacobiDn", "JacobiAm"),
    (
        lambda ops, u, m: (
            ops[1](u, m) * ops[2](u, m), ops[1](u, m) * _turning(ops, u, m),
        ),
        lambda ops, u, m: (
            -ops[0](u, m) * ops[2](u, m), -ops[0](u, m) * _turning(ops, u, m),
        ),
        lambda ops, u, m: (
            -m * ops[0](u, m) * ops[1](u, m),
            -ops[0](u, m) * (ops[0](u, m) + 2 * m * ops[1](u, m) * _turning(ops, u, m))
            / (2 * ops[2](u, m)),
        ),
        lambda ops, u, m: (ops[2](u, m), _turning(ops, u, m)),
    ),
    (None,) * 4, precisely.JACOBI, domain=DOMAIN, samples=((0.2, 1.5), (0.2, 0.8)), ulp=64.0,
)  # fmt: skip

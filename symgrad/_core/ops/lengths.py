"""Derivatives of lengths: ``x/sqrt(x**2 + y**2)`` for parts whose squares over- or underflow.

The sum of squares of 3e200 and 4e200 is infinite and that of 3e-200 and 4e-200 is zero, but
the slopes of their root are 0.6 and 0.8. Parts whose squares leave the range of the element
type are multiplied by a power of two first, as in J. Blue, A portable Fortran program to find
the Euclidean norm of a vector, ACM Trans. Math. Softw. 4 (1978); it cancels in the quotient.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from ..op import (
    Code,
    Composed,
    Evidence,
    Limit,
    Map,
    NonZero,
    NoRule,
    Op,
    Partials,
    Positive,
    Real,
    Words,
    define,
)
from .logic import unknown


def length_scale(length: Any) -> Any:
    """Return a power of two by which the parts of a length can be squared: mostly 1."""
    power, small = (600, -480) if length.dtype.itemsize == 8 else (100, -51)
    large = np.where(length == math.inf, 2.0**-power, 1.0)
    return np.where(length < 2.0**small, 2.0**power, large).astype(length.dtype)


LENGTH_SCALE: Op = define(
    Map("LengthScale", evaluate=length_scale, domain=(Positive,),
        # What is multiplied by it is divided by it: in formulas it is 1.
        sympy=lambda y: sp.Integer(1), rule=NoRule("it cancels in what is computed with it")),
    Code(Composed(length_scale), source=lambda y: f"length_scale({y})", helpers=(length_scale,)),
    Evidence(samples=(0.2, 3)),
    Words("A power of two, mostly 1, that brings squares into range."),
)  # fmt: skip


def over_length(x: Any, length: Any) -> Any:
    """Return ``x/length``, and 0 where it is 0/0."""
    return np.where(length == 0, 0.0, x / np.where(length == 0, 1.0, length))


def direction(x: Any, *others: Any) -> Any:
    """Return ``x`` over the length of the vector of all operands, 0 at 0."""
    total = x * x
    for y in others:
        total = total + y * y
    scale = length_scale(np.sqrt(total))
    part = scale * x
    total = part * part
    for y in others:
        total = total + (scale * y) * (scale * y)
    return over_length(part, np.sqrt(total))


def cosine(x: Any, y: Any, r: Any) -> Any:
    """Return ``x/r`` for ``r = hypot(x, y)``: 0 at (0, 0), 1 or -1 where x alone is infinite."""
    part = x / np.where(r == 0, 1.0, r).astype(r.dtype)
    alone = (np.abs(x) == math.inf) & (np.abs(y) < math.inf)
    return np.where(alone, np.copysign(1.0, x), part).astype(r.dtype)


def half_over(length: Any) -> Any:
    """Return ``0.5/length``, and 0 at 0."""
    return np.where(length == 0, 0.0, 0.5 / length)


# ---------------------------------------------------------------- at a length of 0


def _limit(ct: Any, slope: Any, still: bool) -> Any:
    """Return the limit of ``ct/r``: the derivative of ``ct`` by r where ``ct`` is 0.

    Else there is none, unless the length is that of a difference that is 0 for good.
    """
    return np.where(ct == 0, 0.0 if slope is None else slope, 0.0 if still else math.nan)


def _along_limit(
    ct: Any, u: Any, x: Any, size: Any, r: Any, slope: Any, rest: Any, still: bool
) -> Any:
    return np.where(rest(size, r), _limit(ct, slope, still) * x, ct * u)


def _over_limit(ct: Any, r: Any, slope: Any, rest: Any, still: bool) -> Any:
    return np.where(rest(r, r), 0.5 * _limit(ct, slope, still), ct * half_over(r))


def _turn_undefined(u: Any, x: Any, size: Any, r: Any, still: bool) -> Any:
    # The root of 0 is 0, and its derivative times 0 is nan.
    return u if still else np.where(size == 0, np.sqrt(r), u)


def _spread(value: Any, *others: Any) -> Any:
    """Return a value in the shape of all operands, also of those that do not enter it."""
    return np.broadcast_arrays(value, *others)[0]


KINK: Op = define(
    Map("Kink", evaluate=np.zeros_like, domain=(Real,), rule=Partials(lambda y, x: (unknown(x),))),
    Code(Composed(np.zeros_like), source=lambda x: f"np.zeros_like({x})"),
    Evidence(samples=(-2, 2), ulp=0.0, precise=lambda context, guess, x: context.zero),
    Words("0, whose derivatives are not known: where a length is 0.", convention="not known: nan",
        reading=lambda x: sp.Integer(0)),
)  # fmt: skip


def _truth(*kinds: Any) -> Any:
    return tuple(map(np.dtype, kinds)), np.dtype(bool)


def _is_rest(size: Any, *others: Any) -> Any:
    return _spread(size == 0, *others)


def _rest(name: str, count: int, words: str, limit: Limit, sympy: Callable[..., Any]) -> Op:
    return define(
        Map(name, evaluate=_is_rest, domain=(Real,) * count, types=_truth, sympy=sympy,
            rule=NoRule("it is a condition")),
        Code(Composed(_is_rest),
            source=lambda x, *xs: f"np.broadcast_arrays({x} == 0, {', '.join(map(str, xs))})[0]"),
        Evidence(samples=(-2, 2), ulp=0.0, exact_form=False),
        Words(words),
        limit,
    )  # fmt: skip


#: A choice keeps its condition in derivatives, so these say how often a limit was differentiated.
AT_REST: Op = _rest(
    "AtRest", 3, "Whether a length r is 0, in the limit q*x of a gradient, q of r.",
    Limit(times=1, again=lambda size, r: AT_REST_AGAIN(size, r)), lambda size, r, q: sp.Eq(size, 0),
)  # fmt: skip
AT_REST_AGAIN: Op = _rest(
    "AtRestAgain", 2, "Whether a length r is 0, in the derivative of such a limit.",
    Limit(times=2, again=lambda size, r: BEYOND_REST(size, r)), lambda size, r: sp.Eq(size, 0),
)  # fmt: skip
BEYOND_REST: Op = _rest(
    "BeyondRest", 2, "Whether a length r is 0, where derivatives are not known any more.",
    Limit(times=3), lambda size, r: sp.Eq(size, 0),
)  # fmt: skip


ALONG: Op = define(
    Map("Along", evaluate=lambda ct, u, x, size, r: _spread(ct * u, x, size, r),
        domain=(Real, Real, Real, NonZero, NonZero),
        sympy=lambda ct, u, x, size, r: ct * u,
        rule=Partials(lambda y, ct, u, x, size, r: (u, ct, None, None, None))),
    Code(Composed(lambda ct, u, x, size, r: _spread(ct * u, x, size, r)),
        source=lambda ct, u, x, size, r: (
            f"np.broadcast_arrays({ct} * {u}, {x}, {size}, {r})[0]"
        )),
    Evidence(samples=(0.5, 3)),
    Words("The cotangent ct of a length r by its part x: times the direction u = x/r.",
        convention="u is 0 at 0, where size is 0: r may be so by underflow"),
    Limit(_along_limit),
)  # fmt: skip
OVER_LENGTH: Op = define(
    Map("OverLength", evaluate=lambda ct, r: ct * half_over(r), domain=(Real, NonZero),
        sympy=lambda ct, r: ct / (2 * r),
        rule=Partials(lambda y, ct, r: (half_over(r), -2.0 * y * half_over(r)))),
    Code(Composed(lambda ct, r: ct * half_over(r)),
        source=lambda ct, r: f"{ct} * half_over({r})", helpers=(half_over,)),
    Evidence(samples=(0.5, 3)),
    Words("The cotangent ct of a length r by its square.", convention="0 at 0"),
    Limit(_over_limit),
)  # fmt: skip


TURN: Op = define(
    Map("Turn", evaluate=_spread, domain=(Real, Real, NonZero, NonZero),
        sympy=lambda u, x, size, r: u,
        rule=Partials(lambda y, u, x, size, r: (1, None, None, None))),
    Code(Composed(_spread),
        source=lambda u, x, size, r: f"np.broadcast_arrays({u}, {x}, {size}, {r})[0]"),
    Evidence(samples=(0.5, 3)),
    Words("The derivative u = x/r of a length r by its part x, in tangents.",
        convention="it is 0 at 0, where size is 0"),
    Limit(undefined=_turn_undefined),
)  # fmt: skip


def _positive(r: Any) -> Any:
    return np.where(r == 0, 1.0, r)


def _direction_partials(s: Any, x: Any, y: Any) -> Any:
    r = _positive(np.hypot(x, y))
    across = DIRECTION(y, x)
    return across * across / r, -s * across / r


def _direction3_partials(s: Any, x: Any, y: Any, z: Any) -> Any:
    scale = LENGTH_SCALE(np.sqrt(x * x + y * y + z * z))
    x, y, z = scale * x, scale * y, scale * z
    across = y * y + z * z
    square = _positive(x * x + across)
    r = np.sqrt(square)
    return scale * (across / square / r), -scale * (s * (y / square)), -scale * (s * (z / square))


def _cosine_partials(s: Any, x: Any, y: Any, r: Any) -> Any:
    across = COSINE(y, x, r)
    r = _positive(r)
    return across * across / r, -s * across / r, None


COSINE: Op = define(
    Map("Cosine", evaluate=cosine, domain=(NonZero, NonZero, NonZero), sympy=lambda x, y, r: x / r,
        rule=Partials(_cosine_partials)),
    Code(Composed(cosine), source=lambda x, y, r: f"cosine({x}, {y}, {r})", helpers=(cosine,)),
    Evidence(samples=(0.5, 3)),
    Words("x/r for r = hypot(x, y), the derivative of it.",
        convention="0 at (0, 0), 1 or -1 where x alone is infinite"),
)  # fmt: skip
DIRECTION: Op = define(
    Map("Direction", evaluate=direction, domain=(NonZero, NonZero),
        sympy=lambda x, y: x / sp.sqrt(x**2 + y**2), rule=Partials(_direction_partials)),
    Code(Composed(direction), source=lambda *xs: f"direction({', '.join(map(str, xs))})",
        helpers=(length_scale, over_length, direction)),
    Evidence(samples=(0.5, 3)),
    Words("x/sqrt(x**2 + y**2), the derivative of a length.", convention="0 at (0, 0)"),
)  # fmt: skip
DIRECTION3: Op = define(
    Map("Direction3", evaluate=direction, domain=(NonZero,) * 3,
        sympy=lambda x, y, z: x / sp.sqrt(x**2 + y**2 + z**2),
        rule=Partials(_direction3_partials)),
    Code(Composed(direction), source=lambda *xs: f"direction({', '.join(map(str, xs))})",
        helpers=(length_scale, over_length, direction)),
    Evidence(samples=(0.5, 3)),
    Words("x/sqrt(x**2 + y**2 + z**2), the derivative of a length.", convention="0 at (0, 0, 0)"),
)  # fmt: skip

"""Derivatives of lengths: ``x/sqrt(x**2 + y**2)`` for parts whose squares over- or underflow.

The sum of squares of 3e200 and 4e200 is infinite and that of 3e-200 and 4e-200 is zero, but
the slopes of their root are 0.6 and 0.8. Parts whose squares leave the range of the element
type are multiplied by a power of two first, as in J. Blue, A portable Fortran program to find
the Euclidean norm of a vector, ACM Trans. Math. Softw. 4 (1978); it cancels in the quotient.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._op import (
    Code,
    Composed,
    Evidence,
    Map,
    NonZero,
    NoRule,
    Op,
    Partials,
    Positive,
    Words,
    define,
)


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

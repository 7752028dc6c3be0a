"""How far a computed number is from the exact one, and how far it may be."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from ._numbers import finite


@dataclass(frozen=True)
class Entry:
    """One number compared.

    Attributes
    ----------
    place:
        What it is, as ``"d f[3] / d b[1]"``.
    exact, computed:
        The exact value (to the digits asked for) and the kernel's.
    ulp:
        Distance in units in the last place of the exact value in the result's type.
    condition:
        How much the rounding of a direct evaluation may be amplified at this point: to
        first order the error may be ``condition`` ulp times a small number, whatever
        the code.
    allowed:
        Whether the distance is within the limit.
    kink:
        Whether the derivative does not exist here and follows a stated convention.
    doubtful:
        Whether rounding may decide for another branch than the exact value, and has: the
        kernel's number is then right for its branch, and counts in no maximum.
    """

    place: str
    exact: str
    computed: float
    ulp: float
    condition: float
    allowed: bool
    kink: bool
    doubtful: bool


def figures(entries: Iterable[Entry]) -> tuple[float, float, float]:
    """Return the largest error of entries, the median, and the largest one by the condition."""
    ulps = [(e.ulp, e.condition) for e in entries if not e.doubtful] or [(0.0, 0.0)]
    errors = [ulp for ulp, _ in ulps]
    return max(errors), median(errors), max(u / max(1.0, condition) for u, condition in ulps)


def spacing(context: Any, exact: Any, dtype: np.dtype[Any]) -> Any:
    """Return the unit in the last place of ``exact`` rounded to ``dtype``."""
    info = np.finfo(dtype)
    if exact == 0:
        return context.mpf(float(info.smallest_subnormal))
    # Bits that the type keeps of a number of this magnitude; fewer near zero.
    exponent = max(int(context.mag(exact)) - 1, int(info.minexp)) - int(info.nmant)
    return context.ldexp(1, exponent)


#: An error this many times smaller than the limit is allowed for each unit of condition.
#: The condition is a bound for the worst case: measured errors are seldom above it.
SHARE = 4.0


def tolerance(condition: float, limit: float) -> float:
    """Return the allowed error in ulp: ``limit``, or a quarter of it times the condition."""
    return max(limit, limit / SHARE * condition)


def compare(
    context: Any, place: str, computed: Any, exact: Any, bound: Any, limit: float, digits: int,
    *, doubtful: bool = False, kink: bool = False,
) -> Entry:  # fmt: skip
    """Compare a computed number (a NumPy scalar) with the exact one.

    ``bound`` is the first-order rounding error of a direct evaluation. A computed infinity is
    right for an exact value that rounds to it, and for an infinite one whatever its sign: it
    is that of a zero, and exact zeros have none. nan is right for nan; at a kink infinities
    and nan stand for each other, since they add up as those signs are.
    """
    ulp, condition = _distance(context, computed, exact, bound, kink)
    near = ulp <= tolerance(condition, limit)
    return Entry(
        place, text(context, exact, digits), float(computed), ulp, condition,
        near or doubtful, kink, doubtful and not near,
    )  # fmt: skip


def _distance(
    context: Any, computed: Any, exact: Any, bound: Any, kink: bool
) -> tuple[float, float]:
    dtype, value = computed.dtype, float(computed)
    info = np.finfo(dtype)
    if not finite(exact):
        nan, infinite = value != value, math.isinf(value)
        same = (nan or infinite) if kink else nan if exact != exact else infinite
        return (0.0 if same else math.inf), 0.0
    if abs(exact) <= context.ldexp(bound, 64 - context.prec):
        exact = context.zero  # what cancelling terms leave of the last exact digits
    unit = spacing(context, exact, dtype)
    if math.isinf(value) and abs(exact) >= context.mpf(float(info.max)) + unit / 2:
        return (0.0 if (value > 0) == (exact > 0) else math.inf), 0.0
    condition = float(bound / unit) if finite(bound) else math.inf
    if not math.isfinite(value):
        return math.inf, condition if math.isfinite(condition) else 0.0
    error = abs(context.mpf(value) - exact)
    if exact == 0 and bound > 0:  # terms that cancel: their rounding is the unit
        return (float(error / bound) if finite(bound) else 0.0), 1.0
    return float(error / unit), condition


def text(context: Any, exact: Any, digits: int) -> str:
    """Return an exact number with ``digits`` digits."""
    if isinstance(exact, int):
        return str(exact)
    return str(context.nstr(exact, digits))

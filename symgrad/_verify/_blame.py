"""What went wrong: an intermediate overflow, or an op's derivative rule.

Runs only when a kernel was found wrong, to name the place: every operation behind the wrong
entry is looked at, its record's derivative compared with SymPy's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._trace import partials
from ._numbers import Digits, finite
from ._rules import Rule
from ._scalars import Applied, Scalar

#: A rule further off than this is not only inaccurate.
WRONG = 1e-4
#: Operations that are looked at.
MOST = 20_000


def suspect(context: Digits, output: Scalar) -> str | None:
    """Name the first operation behind ``output`` that overflows or has a wrong rule."""
    for scalar in _behind(output):
        if _overflows(context, scalar):
            return (
                f"{scalar.source[0].op.name}{_line(scalar)} overflows {scalar.dtype}: it is "
                f"{context.nstr(scalar.value, 6)}"
            )
        if not isinstance(scalar, Applied) or not isinstance(scalar.calculus, Rule):
            continue
        rule = scalar.calculus
        if not scalar.active or rule.held or rule.op.kind != "map":
            continue
        values = [p.value for p in scalar.parts]
        if not all(map(finite, (scalar.value, *values))):
            continue
        stated = _stated(scalar, values)
        for k, slope in enumerate(scalar.slopes(context)):
            if slope is None or slope[2] or not finite(slope[0]) or stated is None:
                continue
            exact, given = float(slope[0]), stated[k]
            if not math.isfinite(exact):
                continue
            if not abs(given - exact) <= WRONG * abs(exact) + float(slope[1]):
                return (
                    f"the rule of {rule.op.name}{_line(scalar)} gives {given:.6g} for the "
                    f"derivative by operand {k}, which is {exact:.6g}"
                )
    return None


def _overflows(context: Digits, scalar: Scalar) -> bool:
    if scalar.dtype.kind != "f" or not finite(scalar.value):
        return False
    return bool(abs(scalar.value) > context.mpf(float(np.finfo(scalar.dtype).max)))


def _line(scalar: Scalar) -> str:
    where = scalar.source[0].where
    return f" at {where}" if where else ""


def _behind(output: Scalar) -> list[Scalar]:
    """Return what ``output`` is computed from, in the order of computation."""
    seen: dict[int, Scalar] = {}
    stack = [output]
    while stack and len(seen) < MOST:
        scalar = stack.pop()
        if scalar.order not in seen:
            seen[scalar.order] = scalar
            stack += scalar.parts
    return [seen[order] for order in sorted(seen)]


def _stated(scalar: Applied, values: list[Any]) -> list[float] | None:
    """Return the derivatives by the record's rule, in floating point."""
    assert isinstance(scalar.calculus, Rule)
    op, params = scalar.calculus.op, scalar.calculus.params
    numbers = [np.float64(float(v)) for v in values]
    with np.errstate(all="ignore"):
        try:
            found = partials(op, np.float64(float(scalar.value)), numbers, params)
        except (TypeError, ValueError, AttributeError):
            return None  # a rule that needs arrays or integers
        return [math.nan if p is None else float(p) for p in map(_zero, found)]


def _zero(slope: Any) -> Any:
    return 0.0 if slope is None else slope

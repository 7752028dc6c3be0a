"""Which op's rule is wrong: the record's derivative against SymPy's, operation by operation.

Runs only when a kernel was found wrong, to name the place.
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
    """Name the first elementwise op behind ``output`` whose derivative rule is wrong there."""
    for scalar in _behind(output):
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
            if not abs(given - exact) <= WRONG * abs(exact) + float(slope[1]):
                line = f" at {scalar.source[0].where}" if scalar.source[0].where else ""
                return (
                    f"the rule of {rule.op.name}{line} gives {given:.6g} for the derivative by "
                    f"operand {k}, which is {exact:.6g}"
                )
    return None


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

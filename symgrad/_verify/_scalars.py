"""The exact computation as a graph of scalars, each with its value and a rounding bound.

``value`` is exact (to the digits of the context). ``error`` bounds, to first order, what an
evaluation in the node's own floating-point type may be off: each operation adds its own
rounding and passes on that of its operands times its derivative (J. H. Wilkinson's running
error analysis; N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM
2002, section 3.3). It is what tells an ill-conditioned problem from a wrong kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._numbers import finite, is_nan
from ._rules import Calculus, Rule, near_jump

Slope = tuple[Any, Any, bool]  # derivative, its rounding bound, whether it is a convention

#: A decision within this many rounding bounds of its threshold may go either way.
DOUBT = 16


class Scalar:
    """One number of the computation.

    Attributes
    ----------
    value, error:
        Exact value; first-order bound of the rounding error of a direct evaluation.
    parts:
        What it is computed from.
    order:
        Its place in the order of computation.
    active:
        Whether derivatives flow through it.
    doubtful:
        Whether rounding may send it, or what it depends on, down another branch.
    """

    __slots__ = ("active", "doubtful", "dtype", "error", "order", "parts", "source", "value")
    active: bool
    doubtful: bool
    held = False

    def __init__(
        self, context: Any, value: Any, dtype: np.dtype[Any], parts: Sequence[Scalar] = ()
    ) -> None:
        self.value, self.dtype, self.parts = value, dtype, tuple(parts)
        self.error: Any = context.zero
        self.order = 0
        self.active = dtype.kind == "f" and any(p.active for p in parts)
        self.doubtful = any(p.doubtful for p in parts)
        self.source: Any = None

    def slopes(self, context: Any) -> list[Slope | None]:
        """Return the derivative by each part; None where nothing flows."""
        return []

    def _fits(self) -> bool:
        """Tell whether the exact value is a number of the type."""
        return isinstance(self.value, int) or self.value._mpf_[3] <= np.finfo(self.dtype).nmant + 1

    def _round(self, context: Any, passed_on: Any, own: float, scale: Any) -> None:
        """Set the bound: what the parts pass on, and ``own`` roundings of ``scale``."""
        if finite(self.value):
            unit, tiny = context.rounding(self.dtype)
            root = self.value == 0 and scale > 0  # a library's function need not be 0 there
            if passed_on == 0 and len(self.parts) <= 2 and self._fits() and not root:
                own = 0.0  # nothing to round
            self.error = passed_on + (own * (unit * scale + tiny) if own else 0)
            if not finite(self.error):
                self.error = context.inf


class Applied(Scalar):
    """A formula applied to scalars: an elementwise op, or an unusual element formula."""

    __slots__ = ("calculus",)

    def __init__(
        self, context: Any, calculus: Calculus, parts: Sequence[Scalar], dtype: np.dtype[Any]
    ) -> None:
        values = [p.value for p in parts]
        if isinstance(calculus, Rule):
            value = calculus.apply(context, values, [p.dtype for p in parts])
            own, mixed = calculus.rounding, calculus.mixed
        else:
            value, own, mixed = calculus.value(context, values), 1.0, 1.0
        super().__init__(context, value, dtype, parts)
        self.calculus = calculus
        self._bound(context, values, own, mixed)
        self._decide(context, values)

    @property
    def held(self) -> bool:  # type: ignore[override]
        """Whether the op holds its operand constant in derivatives."""
        return isinstance(self.calculus, Rule) and self.calculus.held

    def _bound(self, context: Any, values: list[Any], own: float, mixed: float) -> None:
        if self.dtype.kind != "f":
            return
        scale, passed_on = abs(self.value), context.zero
        for k, part in enumerate(self.parts):
            slope = self.calculus.slopes[k]
            wobble = mixed and (part.parts or part.active)  # not a number of the formula
            if slope is None or not (wobble or part.error):
                continue
            p = abs(slope(context, values))
            if finite(p) and finite(part.value):
                passed_on += p * part.error
                scale += p * abs(part.value) if wobble else 0
            elif part.error:
                passed_on = context.inf
        self._round(context, passed_on, own, scale)

    def _decide(self, context: Any, values: list[Any]) -> None:
        if self.doubtful or not any(p.error for p in self.parts):
            return
        for gap, whole, slopes in self.calculus.switches:
            slack = context.zero
            for part, slope in zip(self.parts, slopes, strict=True):
                if slope is not None and part.error:
                    slack += abs(slope(context, values)) * part.error
            self.doubtful |= near_jump(context, gap(context, values), whole, DOUBT * slack)

    def slopes(self, context: Any) -> list[Slope | None]:
        """Return the derivatives by the parts, by SymPy's derivative of the formula."""
        values = [p.value for p in self.parts]
        return [
            self._slope(context, k, values) if part.active else None
            for k, part in enumerate(self.parts)
        ]

    def _slope(self, context: Any, k: int, values: list[Any]) -> Slope | None:
        rule = self.calculus.slopes[k]
        if rule is None:
            return None
        p = rule(context, values)
        if p == 0 and rule.selects:
            return None
        if not finite(p) and isinstance(self.calculus, Rule) and all(
            map(finite, (self.value, *values))
        ):  # fmt: skip
            stated = self.calculus.convention(context, k, self.value, values)
            return (p if stated is None else stated), context.zero, True
        if rule.constant:
            return p, context.zero, False
        unit, tiny = context.rounding(self.dtype)
        scale, passed_on = abs(p), context.zero
        for j, part in enumerate(self.parts):
            second = self.calculus.curvature(k, j)
            if second is not None:
                q = abs(second(context, values))
                if finite(q) and finite(part.value):
                    scale += q * abs(part.value)
                    passed_on += q * part.error
        own = self.calculus.rounding if isinstance(self.calculus, Rule) else 1.0
        return p, passed_on + max(own, 1.0) * (unit * scale + tiny), False


class Length(Applied):
    """A root of a sum of squares, whose derivative at 0 is 0 by convention."""

    __slots__ = ()

    def _slope(self, context: Any, k: int, values: list[Any]) -> Slope | None:
        if k == 0 and values[0] == 0:
            return context.zero, context.zero, True
        return super()._slope(context, k, values)


class Total(Scalar):
    """A sum of scalars."""

    __slots__ = ()

    def __init__(self, context: Any, parts: Sequence[Scalar], dtype: np.dtype[Any]) -> None:
        value, scale, passed_on = context.zero, context.zero, context.zero
        for part in parts:
            value = value + part.value
            scale = scale + abs(part.value)
            passed_on = passed_on + part.error
        super().__init__(context, value, dtype, parts)
        if dtype.kind == "f":
            self._round(context, passed_on, 1.0 if len(parts) > 1 else 0.0, scale)

    def slopes(self, context: Any) -> list[Slope | None]:
        """Every part counts once."""
        return [(context.one, context.zero, False)] * len(self.parts)


class Multiple(Scalar):
    """A product of scalars."""

    __slots__ = ()

    def __init__(self, context: Any, parts: Sequence[Scalar], dtype: np.dtype[Any]) -> None:
        value = context.one
        for part in parts:
            value = value * part.value
        super().__init__(context, value, dtype, parts)
        if dtype.kind == "f":
            others = _others(context, [p.value for p in parts]) if any(
                p.error for p in parts) else []  # fmt: skip
            passed_on = sum(
                (abs(o) * p.error for o, p in zip(others, parts, strict=bool(others))),
                context.zero,
            )
            self._round(context, passed_on, float(max(len(parts) - 1, 0)), abs(value))

    def slopes(self, context: Any) -> list[Slope | None]:
        """The product of all others, right also where factors are zero."""
        values = [p.value for p in self.parts]
        unit, tiny = context.rounding(self.dtype)
        rounding = max(len(values) - 2, 0)
        relative = context.zero
        if len(values) > 8:
            relative = sum((p.error / abs(p.value) for p in self.parts if p.value), context.zero)
        found: list[Slope | None] = []
        for k, slope in enumerate(_others(context, values)):
            error = rounding * (unit * abs(slope) + tiny) + abs(slope) * relative
            if len(values) <= 8:
                rest = [*self.parts[:k], *self.parts[k + 1 :]]
                seconds = _others(context, [p.value for p in rest])
                error += sum(
                    (abs(s) * p.error for s, p in zip(seconds, rest, strict=True)), context.zero
                )
            found.append((slope, error, False))
        return found


def _others(context: Any, values: Sequence[Any]) -> list[Any]:
    """Return for each place the product of the values at all other places."""
    if not values:
        return []
    before = [context.one]
    for v in values[:-1]:
        before.append(before[-1] * v)
    after = context.one
    found = []
    for v, b in zip(reversed(values), reversed(before), strict=True):
        found.append(b * after)
        after = after * v
    return found[::-1]


class Extreme(Scalar):
    """The largest or smallest of scalars, with equal shares among ties."""

    __slots__ = ()

    def __init__(
        self, context: Any, parts: Sequence[Scalar], dtype: np.dtype[Any], largest: bool
    ) -> None:
        values = [p.value for p in parts]
        if any(map(is_nan, values)):
            value = context.nan
        else:
            value = max(values) if largest else min(values)
        super().__init__(context, value, dtype, parts)
        error = max((p.error for p in parts), default=context.zero)
        hits = [p for p in parts if p.value == value]
        self.error = max((p.error for p in hits), default=context.zero)
        exact_tie = all(p is hits[0] or p.error == hits[0].error == 0 for p in hits)
        near = error and any(
            abs(p.value - value) <= DOUBT * (p.error + self.error) for p in parts if p not in hits
        )
        self.doubtful |= bool(near) or not exact_tie

    def slopes(self, context: Any) -> list[Slope | None]:
        """Share equally among the parts that attain the extremum."""
        hits = sum(p.value == self.value for p in self.parts)
        return [
            (context.one / hits, context.zero, False) if p.value == self.value else None
            for p in self.parts
        ]


def decision(context: Any, name: str, parts: Sequence[Scalar], dtype: np.dtype[Any]) -> Scalar:
    """Return the integer or truth value that Argmax, Argmin, Any or All gives."""
    values = [p.value for p in parts]
    if name in ("Any", "All"):
        flags = [bool(v != 0) for v in values]
        made = Scalar(context, any(flags) if name == "Any" else all(flags), dtype, parts)
    else:
        best = Extreme(context, parts, parts[0].dtype, name == "Argmax")
        first = next((k for k, v in enumerate(values) if is_nan(v)), None)
        place = values.index(best.value) if first is None else first
        made = Scalar(context, place, dtype, parts)
        made.doubtful = best.doubtful
    made.active = False
    return made

"""The calculus of elementwise ops that SymPy has no form of: differences at many digits.

The record computes the op in multiple precision, by its definition. A central difference with a
step of 10**-d, at thrice as many digits, has an error of the order 10**-2d, so all digits asked
for are right; no rule, symgrad's or SymPy's, plays a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
import sympy as sp
from mpmath.libmp import NoConvergence

from .._core.op import Evidence, Map, Words
from ._digits import FAILURES
from ._numbers import Digits, finite, is_nan, real
from ._rules import Formula, Known, Rule, operand_symbols

#: Digits of second derivatives, which bounds of errors are made of.
ROUGH = 20


@lru_cache(maxsize=16)
def _digits(count: int) -> Digits:
    return Digits(count)


class Measured(Formula):
    """An op's value, or a derivative of it by one or two of its operands.

    Parameters
    ----------
    op, params:
        The op, whose record has ``precise``.
    by:
        The operands to differentiate by.
    """

    def __init__(self, op: Map, params: dict[str, Any], by: tuple[int, ...] = ()) -> None:
        self.op, self.params, self.by = op, params, by
        self.constant = self.selects = self.zero = False
        self.special = True

    def __call__(self, context: Any, values: Sequence[Any]) -> Any:
        if not all(map(finite, values)):
            return context.nan
        digits = context.dps
        if not self.by:
            fine, step = _digits(digits + 15), 0
        elif len(self.by) == 1:
            fine, step = _digits(3 * digits + 20), -digits
        else:
            fine, step = _digits(5 * ROUGH), -ROUGH
        try:
            return context.mpf(self._difference(fine, [fine.mpf(v) for v in values], step))
        except (*FAILURES, NoConvergence):
            return context.nan

    def _difference(self, fine: Any, values: list[Any], step: int) -> Any:
        with np.errstate(all="ignore"):
            operands = [np.float64(float(v)) for v in values]
            guess = float(self.op.evaluate(*operands, **self.params))

        precise = Evidence.of(self.op).precise
        assert precise is not None

        def at(*moves: tuple[int, Any]) -> Any:
            moved = list(values)
            for k, move in moves:
                moved[k] += move
            found = precise(fine, guess, *moved, **self.params)
            return real(fine, found)

        sizes = {k: max(fine.one, abs(values[k])) * fine.mpf(10) ** step for k in self.by}
        if not self.by:
            return at()
        i, j = self.by[0], self.by[-1]
        h, k = sizes[i], sizes[j]
        if len(self.by) == 1:
            return (at((i, h)) - at((i, -h))) / (2 * h)
        if i == j:
            return (at((i, h)) - 2 * at() + at((i, -h))) / (h * h)
        rise, fall = (at((i, s * h), (j, k)) - at((i, s * h), (j, -k)) for s in (1, -1))
        return (rise - fall) / (4 * h * k)


class MeasuredRule(Rule):
    """The calculus of an elementwise op that is computed in multiple precision."""

    def __init__(
        self, op: Map, items: tuple[tuple[str, Any], ...], kinds: str, result: str
    ) -> None:
        self._describe(op, items, result)
        self.symbols = operand_symbols(kinds)
        self.real = [k == "f" and result == "f" for k in kinds]
        self.switches = []
        self.value = Measured(op, self.params)
        self.slopes = [
            None if not real else Formula(sp.nan, self.symbols) if unknown
            else Measured(op, self.params, (k,))
            for k, (real, unknown) in enumerate(zip(self.real, self._unknown(), strict=True))
        ]  # fmt: skip

    def _unknown(self) -> list[bool]:
        """Tell by which operands the record states that the derivative is not known."""
        if Words.of(self.op).convention is None or self.op.partials is None:
            return [False] * self.op.arity
        with np.errstate(all="ignore"):
            samples = Evidence.of(self.op).samples
            middle = [np.float64(low + 0.5 * (high - low)) for low, high in samples]
            stated = self.op.partials(self.op.evaluate(*middle), *middle, **self.params)
            return [p is not None and bool(np.isnan(p)) for p in stated]

    def curvature(self, i: int, j: int) -> Formula | None:
        """Return the derivative of slope ``i`` by operand ``j``; None if it is not known."""
        if isinstance(self.slopes[i], Measured) and isinstance(self.slopes[j], Measured):
            return Measured(self.op, self.params, (i, j))
        return None


@lru_cache(maxsize=4096)
def rule_of(
    op: Map, items: tuple[tuple[str, Any], ...], kinds: str, result: str, known: Known = ()
) -> Rule:
    """Return the rule of an op for operands and a result of these kinds.

    ``known`` gives the operands that are simple numbers, with their values: the derivative
    of ``x**2`` is simpler than that of ``x**y``.
    """
    if Evidence.of(op).precise is not None:
        return MeasuredRule(op, items, kinds, result)
    return Rule(op, items, kinds, result, known)


# ---------------------------------------------------------------- limits of what is 0/0

# A partial derivative at a point is the limit of those beside it along its own axis, if that
# exists and the function is continuous there (by the mean value theorem). Numbers at two
# distances tell whether something converges, vanishes or grows without end.


#: Decimal places of the two distances.
BESIDE = (60, 120)
#: So many times as many digits are computed with: second derivatives of 0/0 cancel as the
#: square of the distance.
CANCELLING = 4
#: Directions in which all elements are moved: by more and more, as these powers.
SKEWS = (1, 2)


class Nudge(NamedTuple):
    """How the elements of the inputs are moved.

    Attributes
    ----------
    decimals:
        By ten to the power of minus this.
    sign:
        To which side.
    only:
        The element that is moved, ``(input, index)``; None for all.
    skew:
        The power of an element's number by which it is moved more than the first.
    """

    decimals: int
    sign: int
    only: Any
    skew: int = 0

    def of(self, context: Any, source: Any, number: int) -> Any:
        """Return by how much an element moves, the ``number``-th that was asked for."""
        if self.only not in (None, source):
            return 0
        return (
            self.sign
            * context.mpf(10) ** -self.decimals
            * (1 + context.mpf(self.skew * number) / 7)
        )


def limit(function: Callable[[Nudge], Any], only: Any = None) -> Any:
    """Return the limit of a function of nudges at none, None if it has none.

    Parameters
    ----------
    function:
        Gives a number, nan where it is not real.
    only:
        The element along whose axis it is looked for first; if the function is not real there,
        or without it, several directions must agree.
    """
    if only is not None:
        sides = _sides(function, [(1, only, 0), (-1, only, 0)])
        if sides:
            return _common(sides)
    return _common(_sides(function, [(sign, None, k) for k in SKEWS for sign in (1, -1)]))


def _sides(function: Callable[[Nudge], Any], ways: Iterable[tuple[int, Any, int]]) -> list[Any]:
    """Return the limits from the sides on which there are numbers, None for those without."""
    found = []
    for way in ways:
        far, near = (function(Nudge(decimals, *way)) for decimals in BESIDE)
        if not is_nan(far) and not is_nan(near):
            found.append(_end(far, near))
    return found


def _end(far: Any, near: Any) -> Any:
    """Return what two numbers at a distance and its square lead to."""
    if not finite(far) or not finite(near):
        return None if finite(far) or finite(near) else mpmath.inf
    if abs(near) <= abs(far) * mpmath.mpf(10) ** (-BESIDE[0] // 10):
        return mpmath.mpf(0)
    if _agree(far, near):
        return near
    return mpmath.inf if abs(near) >= 1.5 * abs(far) > 1 else None  # log(x**2) is 2*log(x)


def _common(sides: Sequence[Any]) -> Any:
    """Return what all sides agree on; zeros have no sign here, nor have infinities."""
    if not sides or any(side is None or not _agree(side, sides[0]) for side in sides):
        return None
    return sides[0]


def _agree(x: Any, y: Any) -> bool:
    if not finite(x) or not finite(y):
        return not (finite(x) or finite(y))
    return bool(abs(x - y) <= abs(x) * mpmath.mpf(10) ** (-BESIDE[0] // 2))

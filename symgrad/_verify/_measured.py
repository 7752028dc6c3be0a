"""The calculus of elementwise ops that SymPy has no form of: differences at many digits.

The record computes the op in multiple precision, by its definition. A central difference with a
step of 10**-d, at thrice as many digits, has an error of the order 10**-2d, so all digits asked
for are right; no rule, symgrad's or SymPy's, plays a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from mpmath.libmp import NoConvergence

from .._op import Evidence, Map, Words
from ._digits import FAILURES
from ._numbers import Digits, finite, real
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
        self._describe(op, items, kinds, result)
        self.symbols = operand_symbols(kinds)
        self.real = [k == "f" and result == "f" for k in kinds]
        self.boolean, self.switches = False, []
        self.value = Measured(op, self.params)
        self._curvatures = {}
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
    if op.sympy is None and Evidence.of(op).precise is not None:
        return MeasuredRule(op, items, kinds, result)
    return Rule(op, items, kinds, result, known)

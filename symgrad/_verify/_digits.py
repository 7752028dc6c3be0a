"""Evaluating a formula so that all digits are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from .._symbolic import is_condition
from ._closures import Closure
from ._numbers import finite

#: Working precisions beyond this many bits are not tried: 1 + 1e-300 - 1 needs 2100.
PRECISION_LIMIT = 6000
#: With special functions a computation takes seconds there, and this is where it ends.
SPECIAL_LIMIT = 1500
ELEMENTARY = (
    sp.exp, sp.log, sp.functions.elementary.trigonometric.TrigonometricFunction,
    sp.functions.elementary.trigonometric.InverseTrigonometricFunction,
    sp.functions.elementary.hyperbolic.HyperbolicFunction,
    sp.functions.elementary.hyperbolic.InverseHyperbolicFunction, sp.Abs, sp.sign, sp.floor,
    sp.ceiling, sp.Piecewise, sp.Max, sp.Min, sp.Heaviside, sp.erf, sp.erfc,
)  # fmt: skip

FAILURES = (ValueError, ZeroDivisionError, OverflowError, ArithmeticError, NotImplementedError)


def reach(expression: Any) -> int | None:
    """Return the precision in bits up to which a formula is computed; None if it needs no more."""
    if is_direct(expression):
        return None
    return SPECIAL_LIMIT if is_special(expression) else PRECISION_LIMIT


def is_special(expression: Any) -> bool:
    """Tell whether there are functions in a formula that take long to compute."""
    return any(not isinstance(f, ELEMENTARY) for f in expression.atoms(sp.Function))


def evaluate(context: Any, function: Closure, values: Sequence[Any], limit: int | None) -> Any:
    """Return ``function(values)`` with all digits of the context right.

    A formula such as ``log(1 + x)`` loses digits inside: it is computed at two precisions,
    and at higher ones until they agree, up to ``limit`` bits. None says that it cannot lose any.
    """
    try:
        if limit is None or not all(map(finite, values)):
            return function(context, values)
        return _agreed(context, function, values, limit)
    except FAILURES:
        return context.nan


def _agreed(context: Any, function: Closure, values: Sequence[Any], limit: int) -> Any:
    wanted = context.prec
    bits = wanted + 32
    try:
        context.prec = bits
        before = function(context, values)
        while bits < limit:
            bits *= 2
            context.prec, context.lost = bits, False
            value = function(context, values)
            if isinstance(value, int):
                return value
            if not finite(value):  # log(1 - erfc(35)) is no infinity, with digits enough
                before = value
                continue
            # Zero may be what absorption left: 1 + 1e-300 - 1.
            same = abs(value - before) <= abs(value) * context.ldexp(1, -wanted)
            if value != 0 and same and not context.lost:
                return value
            before = value
        # Terms that cancel to the last digit of any precision: psi(x) - psi(x).
        small = finite(before) and abs(before) < context.ldexp(1, -bits // 2)
        return context.zero if small else before
    finally:
        context.prec = wanted


def is_direct(expression: Any) -> bool:
    """Tell whether a formula cannot lose digits: one operation, or products of powers."""

    def sum_of_atoms(e: Any) -> bool:  # exact operands, one rounding
        return e.is_Add and all(
            t.is_Atom or (t.is_Mul and len(t.args) == 2 and t.args[0].is_Integer
                          and t.args[1].is_Atom)
            for t in e.args
        )  # fmt: skip

    def product(e: Any) -> bool:
        if e.is_Mul:
            return all(map(product, e.args))
        if e.is_Pow and e.base.is_Atom and e.base is not sp.E:
            return bool(e.exp.is_Atom or sum_of_atoms(e.exp))
        return bool(e.is_Atom)

    if product(expression) or is_condition(expression):
        return True
    if expression.is_Piecewise:
        return all(is_direct(x) for x, _ in expression.args)
    if sum_of_atoms(expression):
        return True
    return all(a.is_Atom for a in expression.args)

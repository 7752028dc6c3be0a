"""Evaluating a formula so that all digits are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from .._symbolic import is_condition
from ._closures import Closure
from ._numbers import finite

#: Working precisions beyond this many bits are not tried.
PRECISION_LIMIT = 6000

FAILURES = (ValueError, ZeroDivisionError, OverflowError, ArithmeticError, NotImplementedError)


def evaluate(context: Any, function: Closure, values: Sequence[Any], direct: bool) -> Any:
    """Return ``function(values)`` with all digits of the context right.

    A formula such as ``log(1 + x)`` loses digits inside: it is computed at two precisions,
    and at higher ones until they agree. ``direct`` says that it cannot lose any.
    """
    try:
        if direct:
            return function(context, values)
        return _agreed(context, function, values)
    except FAILURES:
        return context.nan


def _agreed(context: Any, function: Closure, values: Sequence[Any]) -> Any:
    wanted = context.prec
    bits = wanted + 32
    try:
        context.prec = bits
        before = function(context, values)
        while bits < PRECISION_LIMIT:
            bits *= 2
            context.prec = bits
            value = function(context, values)
            if isinstance(value, int) or not finite(value):
                return value
            # Zero may be what absorption left: 1 + 1e-300 - 1.
            if value != 0 and abs(value - before) <= abs(value) * context.ldexp(1, -wanted):
                return value
            before = value
        return before
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

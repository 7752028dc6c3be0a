"""The second opinion on small problems: SymPy differentiates the whole expression.

The chain rule over scalars and SymPy's derivative of one big expression share nothing but
the element formulas, so where both are run they must agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import ArgumentIndexError

from .._core.graph import Input, Node, topological
from .._symbolic import Elements, Over, derivative_of, indexed
from ..errors import UnsupportedError
from . import _ball_arithmetic as balls
from ._closures import closure
from ._digits import evaluate, reach
from ._numbers import Digits, finite, is_nan
from ._rules import STEPS

#: Expressions with more operations than this are left to the chain rule alone.
OPERATIONS = 120
#: And so are those with branches: SymPy multiplies the cases out.
BRANCHES = (*STEPS, sp.Piecewise, sp.Max, sp.Min, sp.Heaviside, sp.Abs, Over)


class Whole:
    """Result elements as whole SymPy expressions of the input elements.

    Parameters
    ----------
    inputs:
        The value of each input.
    digits:
        Digits to evaluate with.
    """

    def __init__(self, inputs: Mapping[Node, np.ndarray[Any, Any]], digits: int) -> None:
        self.inputs, self.digits = inputs, digits
        self.context = Digits(digits + 10)
        self.elements = Elements(exact=True)
        self._slopes: dict[Any, Any] = {}
        self._routines: dict[Node, bool] = {}
        self._expressions: dict[tuple[Node, tuple[int, ...]], Any] = {}

    def derivative(
        self, node: Node, index: tuple[int, ...], wrt: Input, place: tuple[int, ...]
    ) -> Any:
        """Return the derivative's value, or None if it is out of reach."""
        slope = self._slope(node, index, wrt, place)
        if slope is None:
            return None
        slope, known = self._substituted(slope)
        try:
            run = closure(slope, list(known))
        except UnsupportedError:
            return None
        values = [self.context.mpf(v) for v in known.values()]
        found = evaluate(self.context, run, values, reach(slope))
        return None if is_nan(found) else found

    def encloses(
        self, node: Node, index: tuple[int, ...], wrt: Input, place: tuple[int, ...], exact: str
    ) -> bool:
        """Tell whether ball arithmetic proves that ``exact`` has the derivative's digits.

        False also where python-flint is missing, or a function is not known to it.
        """
        slope = self._slope(node, index, wrt, place)
        if slope is None or not balls.available:
            return False
        slope, known = self._substituted(slope)
        try:
            ball = balls.enclosure(slope, known, 4 * self.digits + 64)
        except (balls.UnknownError, ValueError, ZeroDivisionError):
            return False
        tight = balls.relative_radius(ball) < 10.0 ** -(self.digits - 10)
        return tight and balls.holds(ball, exact)

    def _slope(self, node: Node, index: tuple[int, ...], wrt: Input, place: tuple[int, ...]) -> Any:
        key = (node, index, wrt, place)
        if key not in self._slopes:
            self._slopes[key] = self._differentiated(*key)
        return self._slopes[key]

    def _differentiated(
        self, node: Node, index: tuple[int, ...], wrt: Input, place: tuple[int, ...]
    ) -> Any:
        expression = self._expression(node, index)
        if expression is None:
            return None
        target = indexed(wrt)[place] if place else wrt.symbol
        try:
            slope = derivative_of(expression, target)
            slope = slope.doit()
        except (ArgumentIndexError, RecursionError, NotImplementedError):
            return None
        if slope.has(sp.Derivative, sp.Subs) or slope.count_ops() > 20 * OPERATIONS:
            return None
        return slope

    def _substituted(self, slope: Any) -> tuple[Any, dict[Any, Any]]:
        """Return the slope in plain symbols, and their values."""
        known: dict[Any, Any] = {}
        swap = {e: sp.Dummy(e.base.name, real=True) for e in slope.atoms(sp.Indexed)}
        for e in slope.atoms(sp.Indexed, sp.Symbol):
            value = self._value(e)
            if value is not None:
                known[swap.get(e, e)] = value
        return slope.xreplace(swap), known

    def _expression(self, node: Node, index: tuple[int, ...]) -> Any:
        key = (node, index)
        if key not in self._expressions:
            self._expressions[key] = self._made(node, index)
        return self._expressions[key]

    def _made(self, node: Node, index: tuple[int, ...]) -> Any:
        if node not in self._routines:
            self._routines[node] = any(x.op.kind == "routine" for x in topological([node]))
        if self._routines[node]:
            return None  # the formula of an inverse is for reading
        try:
            found = self.elements.expression(node, index)
            found = found.doit() if isinstance(found, sp.Basic) else found
        except (UnsupportedError, RecursionError, NotImplementedError):
            return None  # a Piecewise whose conditions SymPy cannot order
        if found.has(*BRANCHES) or found.count_ops() > OPERATIONS:
            return None
        return found

    def _value(self, symbol: Any) -> Any:
        for node, array in self.inputs.items():
            assert isinstance(node, Input)
            if isinstance(symbol, sp.Indexed) and symbol.base.name == node.name:
                if not all(i.is_Integer for i in symbol.indices):
                    return None
                value = array[tuple(map(int, symbol.indices))]
            elif not node.shape and symbol == node.symbol:
                value = array[()]
            else:
                continue
            return float(value)
        return None


def agree(context: Any, chain: Any, whole: Any, error: Any, digits: int) -> bool:
    """Tell whether two exact values are the same number up to their own rounding."""
    if not finite(chain) or not finite(whole):
        return True
    slack = context.mpf(10) ** (-digits // 2)
    return bool(abs(chain - context.mpf(whole)) <= slack * (abs(chain) + error))

"""What calculus says of an elementwise formula, found by SymPy alone.

From a formula come its derivatives, their derivatives (how fast a derivative changes when
an operand is rounded), and its *switches*: the quantities whose sign decides between
branches. symgrad's own derivative rules play no part, so a mistake in one shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import ArgumentIndexError

from .._core.base.sizes import as_expr
from .._core.op import Evidence, Map, Words
from .._symbolic import is_condition
from ..errors import UnsupportedError
from ._closures import Closure, closure
from ._digits import evaluate, is_special, reach
from ._numbers import finite

#: Operands that are numbers of the formula: place and value.
Known = tuple[tuple[int, Any], ...]

#: Constant between their jumps.
STEPS = (sp.floor, sp.ceiling, sp.sign)


class Formula:
    """One scalar expression, ready to be evaluated with all its digits."""

    def __init__(self, expression: Any, symbols: Sequence[sp.Symbol]) -> None:
        self.expression = as_expr(expression)
        self._run: Closure = closure(self.expression, symbols)
        self._digits = reach(self.expression)
        self.special = is_special(self.expression)
        self.constant = not self.expression.free_symbols
        #: Exactly zero here means that the branch was not taken: nothing flows.
        self.selects = isinstance(self.expression, (sp.Piecewise, sp.Heaviside))
        self.zero = self.expression == 0

    def __call__(self, context: Any, values: Sequence[Any]) -> Any:
        return evaluate(context, self._run, values, self._digits)


class Calculus:
    """A formula in real operands with its first and second derivatives.

    Parameters
    ----------
    expression, symbols:
        The formula and its operands.
    real:
        Which operands are real numbers, the others being integers or truth values.
    """

    def __init__(self, expression: Any, symbols: Sequence[sp.Symbol], real: Sequence[bool]):
        self.symbols, self.real = list(symbols), list(real)
        self.value = Formula(expression, symbols)
        self.slopes: list[Formula | None] = [None] * len(symbols)
        self._curvatures: dict[tuple[int, int], Formula | None] = {}
        if not is_condition(self.value.expression):
            self.slopes = [self._slope(self.value.expression, k) for k in range(len(symbols))]
        self.switches = [
            (Formula(gap, symbols), whole, [self._slope(gap, k) for k in range(len(symbols))])
            for gap, whole in switches(self.value.expression)
        ]

    def _slope(self, expression: Any, k: int) -> Formula | None:
        if not self.real[k]:
            return None
        found = Formula(differentiate(expression, self.symbols[k]), self.symbols)
        return None if found.zero else found

    def curvature(self, i: int, j: int) -> Formula | None:
        """Return the derivative of slope ``i`` by operand ``j``; None if it is zero."""
        key = (i, j)
        if key not in self._curvatures:
            slope = self.slopes[i]
            made = None if slope is None or slope.constant else self._slope(slope.expression, j)
            self._curvatures[key] = made
        return self._curvatures[key]


class Rule(Calculus):
    """The calculus of an elementwise op's SymPy form.

    ``rounding`` is what the op's result may be off in units of rounding, ``mixed`` what its
    operands may be thought to be off: the usual bound for library functions, where
    arithmetic is correctly rounded.
    """

    def __init__(
        self, op: Map, items: tuple[tuple[str, Any], ...], kinds: str, result: str, known: Known
    ) -> None:
        if op.sympy is None and op.rule is not None and op.differentiable:
            raise UnsupportedError(
                f"{op.name} has no formula, by which its derivative could be evaluated exactly"
            )
        self._describe(op, items, result)
        symbols = operand_symbols(kinds)
        operands: list[Any] = list(symbols)
        for k, kind in enumerate(kinds):
            if kind == "b":
                operands[k] = sp.Ne(symbols[k], 0)
        for k, number in known:
            operands[k] = number
        form = op.sympy(*operands, **self.params) if op.sympy is not None else sp.nan
        if result != "b" and is_condition(form):
            form = sp.Piecewise((1, form), (0, True))
        super().__init__(form, symbols, [k == "f" and result == "f" for k in kinds])

    def _describe(self, op: Map, items: tuple[tuple[str, Any], ...], result: str) -> None:
        evidence = Evidence.of(op)
        self.op, self.params = op, dict(items)
        self.result = result
        self.known = op.sympy is not None or evidence.precise is not None
        self.held = op.name == "StopGradient"
        self.exact = self.known and evidence.exact_form
        self.rounding = 0.0 if evidence.ulp == 0 else max(1.0, evidence.ulp / 4)
        self.mixed = 0.0 if evidence.ulp <= 0.5 else self.rounding

    def apply(self, context: Any, values: Sequence[Any], dtypes: Sequence[Any]) -> Any:
        """Return the op's exact result.

        Where the form differs from the function by design (rounding halves to even, sign
        bits, infinities), NumPy's result decides.
        """
        if self.result != "f":
            if self.exact and all(map(finite, values)):
                value = self.value(context, values)
                return bool(value) if self.result == "b" else int(value) if finite(value) else 0
            return self._numpy(values, dtypes).item()
        if not self.known:
            return number(context, self._numpy(values, dtypes))
        value = self.value(context, values)
        if not self.exact:
            plain = number(context, self._numpy(values, dtypes))
            if finite(plain) and abs(value - plain) > context.ldexp(abs(plain), -21):
                return plain
        return value if isinstance(value, context.mpf) else context.mpf(value)

    def _numpy(self, values: Sequence[Any], dtypes: Sequence[Any]) -> Any:
        with np.errstate(all="ignore"):
            operands = [rounded(v, t) for v, t in zip(values, dtypes, strict=True)]
            return np.asarray(self.op.evaluate(*operands, **self.params))[()]

    def convention(self, context: Any, k: int, value: Any, values: Sequence[Any]) -> Any:
        """Return slope ``k`` where it does not exist, as the record states it, or None."""
        if Words.of(self.op).convention is None or self.op.partials is None:
            return None
        operands = [np.float64(float(v)) for v in values]
        with np.errstate(all="ignore"):
            stated = self.op.partials(np.float64(float(value)), *operands, **self.params)[k]
        return context.zero if stated is None else context.mpf(float(stated))


def operand_symbols(kinds: str) -> list[sp.Symbol]:
    """Return symbols for the operands of an elementwise op."""
    return [sp.Symbol(f"x{k}", real=True) for k in range(len(kinds))]


def rounded(value: Any, dtype: Any) -> Any:
    """Return an exact number as a NumPy scalar."""
    return dtype.type(value if isinstance(value, (int, bool)) else float(value))


def number(context: Any, value: Any) -> Any:
    """Return a NumPy scalar as an exact number."""
    if value.dtype.kind == "f":
        return context.mpf(float(value))
    return value.item()


# ---------------------------------------------------------------- differentiation


def differentiate(expression: Any, symbol: sp.Symbol) -> Any:
    """Return SymPy's derivative, with steps constant and in a form fit for evaluation."""
    constants: dict[Any, Any] = {}
    frozen = _freeze(as_expr(expression), constants)
    try:
        slope = sp.diff(frozen, symbol)
    except ArgumentIndexError:
        return sp.nan
    if slope.has(sp.Derivative, sp.Subs, sp.meijerg):  # by an order: not known in closed form
        return sp.nan
    slope = slope.replace(sp.DiracDelta, lambda *_: sp.Integer(0))
    # x**y*y/x is 0/0 at 0, y*x**(y - 1) is not.
    slope = sp.powsimp(slope)
    for _ in range(len(constants)):
        slope = slope.xreplace(constants)
    return slope


def _freeze(e: Any, constants: dict[Any, Any]) -> Any:
    """Put symbols in the place of what is constant between jumps."""
    if isinstance(e, STEPS):
        symbol = sp.Dummy("step", real=True)
        constants[symbol] = e
        return symbol
    if isinstance(e, sp.Heaviside) and len(e.args) == 2:
        x, h = e.args
        e = sp.Piecewise((0, x < 0), (h, sp.Eq(x, 0)), (1, True))
    if isinstance(e, sp.sinc):
        x = _freeze(e.args[0], constants)
        return sp.Piecewise((sp.sin(x) / x, sp.Ne(x, 0)), (1, True))
    if isinstance(e, sp.Piecewise):
        return sp.Piecewise(*((_freeze(x, constants), condition) for x, condition in e.args))
    if not e.args or is_condition(e) or not isinstance(e, sp.Expr):
        return e
    return e.func(*(_freeze(a, constants) for a in e.args))


def switches(expression: Any) -> list[tuple[Any, bool]]:
    """Return the quantities whose sign (or, if flagged, whose integer part) decides."""
    found: dict[Any, bool] = {}
    for e in sp.preorder_traversal(expression):
        if isinstance(e, (sp.sign, sp.Abs, sp.Heaviside)):
            found[e.args[0]] = False
        elif isinstance(e, (sp.floor, sp.ceiling)):
            found[e.args[0]] = True
        elif isinstance(e, (sp.Max, sp.Min)):
            for k, x in enumerate(e.args):
                for y in e.args[:k]:
                    found[x - y] = False
        elif isinstance(e, sp.core.relational.Relational):
            gap = e.lhs - e.rhs
            if gap.free_symbols:
                found[gap] = False
    return list(found.items())


def near_jump(context: Any, gap: Any, whole: bool, slack: Any) -> bool:
    """Tell whether a switch may flip when its quantity is off by ``slack``."""
    if slack == 0 or not finite(gap):
        return False
    if whole:
        gap = gap - context.floor(gap + context.mpf(0.5))
    return bool(abs(gap) <= slack)

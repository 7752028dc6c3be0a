"""A formula of numbers as one step of a graph, where that is made to be read.

What went in through ``from_sympy`` comes back as it was written: the step's SymPy form is the
formula itself, with the operands in the place of its symbols. The tape, which is computed with,
has chosen another form of many functions (``acoth(x)`` is ``arctanh(1/x)``), has rounded the
constants, and its loops of a symbolic number of steps have no formula at all.

Classes whose derivative SymPy does not know are written in others that it can differentiate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import sympy as sp
from sympy.codegen import cfunctions, numpy_nodes, scipy_nodes
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef
from sympy.functions.elementary.miscellaneous import Rem
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.tensor.array import NDimArray
from sympy.tensor.array.expressions import ArrayElement

from .._core.op import Map, Partials, Real, define_formula
from .._core.ops.np_common import is_traced
from .._symbolic import (
    DEPTH,
    WRITTEN,
    Patience,
    Product,
    Sum,
    bound,
    derivative_of,
    rebuilt,
    refilled,
)
from ._builder import WHOLE

#: Parts that are no numbers, or whose value is not that of an expression alone.
_OTHERS = (
    sp.Indexed, sp.Idx, sp.Lambda, MatrixExpr, sp.MatrixBase, NDimArray, ArrayElement, *WHOLE
)  # fmt: skip


#: Makes a function of a formula and its symbols.
Making: TypeAlias = Callable[[Any, Sequence[sp.Symbol]], Callable[..., Any]]


def recalled(
    formula: Any, names: Sequence[Any], values: Sequence[Any], computed: Any, making: Making
) -> Any:
    """Return a formula's traced value as one step that is read as the formula.

    Parameters
    ----------
    formula:
        A result of a function, of SymPy's classes.
    names, values:
        What stands for the arguments, and these.
    computed:
        The traced value that the tape has given, which is returned where the formula is not one
        of real numbers alone, or SymPy takes too long to write it in other symbols.
    making:
        Makes the function of a formula, for what Python decides by its values.
    """
    if not is_traced(computed) or getattr(computed, "dtype", None) != np.float64:
        return computed
    used = _arguments_in(formula, names)
    if not used:
        return computed
    symbols = [sp.Dummy(str(name), real=True) for name in used]
    rewriting = _Rewriting(dict(zip(used, symbols, strict=True)))
    body = Patience.of_a_reader().attempt(rewriting.of, formula, None)
    if body is None:
        return computed
    at = dict(zip(_as_symbols(formula, names), values, strict=True))
    found = _operation(body, symbols, making)(*(at[name] for name in used))
    return found if found.shape == computed.shape else computed


def _as_symbols(formula: Any, names: Sequence[Any]) -> list[Any]:
    """Return the names, symbols of the formula in the place of text."""
    if not any(isinstance(n, str) for n in names):
        return list(names)
    by_name = {s.name: s for s in formula.free_symbols if isinstance(s, sp.Symbol)}
    return [by_name.get(n, n) if isinstance(n, str) else n for n in names]


def _arguments_in(formula: Any, names: Sequence[Any]) -> list[Any]:
    """Return the arguments that are in a formula of numbers; none if it is not one, or too large.

    An argument may itself be a formula, ``q(t).diff(t)``.
    """
    seen: set[Any] = set()
    text = {n for n in names if isinstance(n, str)}
    plain = {n for n in names if n not in text}
    found: dict[Any, None] = {}
    stack, parts = [(formula, 0)], 0
    while stack:
        e, depth = stack.pop()
        parts += 1
        known = isinstance(e, (sp.Expr, Boolean, sp.Set, sp.Tuple, ExprCondPair))
        if parts > WRITTEN or depth > DEPTH or not known:
            return []
        if e in plain:
            found[e] = None
        elif isinstance(e, (*_OTHERS, AppliedUndef)):
            return []
        elif isinstance(e, sp.Symbol):
            if e.name in text:
                found[e] = None
        elif e not in seen:
            seen.add(e)
            stack.extend((a, depth + 1) for a in reversed(e.args))
    by_function = any(not isinstance(e, sp.Symbol) for e in found)
    if not isinstance(formula, sp.Expr) or (by_function and formula.has(sp.Derivative, sp.Subs)):
        return []
    return list(found)


def _operation(body: Any, symbols: Sequence[sp.Symbol], making: Making) -> Map:
    """Return the op that is a formula; its derivatives are those of the formula."""

    def partials(y: Any, *xs: Any) -> tuple[Any, ...]:
        found = []
        for s in symbols:
            slope = Patience.of_a_reader().required(partial(derivative_of, body, s))
            found.append(None if slope == 0 else _operation(slope, symbols, making)(*xs))
        return tuple(found)

    return define_formula(
        Map(
            f"Formula{next(_NUMBERS)}",
            evaluate=lambda *xs: making(body, symbols)(*xs),
            domain=(Real,) * len(symbols),
            sympy=lambda *xs: refilled(body, dict(zip(symbols, xs, strict=True))),
            rule=Partials(partials),
        )
    )


_NUMBERS = count()


# ---------------------------------------------------------------- in functions with derivatives

_GOLDEN = (1 + sp.sqrt(5)) / 2

#: Functions without a derivative in SymPy, or without digits, in others that have both.
_WRITTEN: dict[type, Callable[..., Any]] = {
    sp.RisingFactorial: lambda x, n: sp.gamma(x + n) / sp.gamma(x),
    sp.FallingFactorial: lambda x, n: sp.gamma(x + 1) / sp.gamma(x - n + 1),
    sp.frac: lambda x: x - sp.floor(x),
    sp.Mod: lambda x, y: x - y * sp.floor(x / y),
    Rem: lambda x, y: x - y * sp.sign(x / y) * sp.floor(sp.Abs(x / y)),
    sp.KroneckerDelta: lambda i, j: sp.Piecewise((1, sp.Eq(i, j)), (0, True)),
    sp.fibonacci: lambda n: (_GOLDEN**n - sp.cos(sp.pi * n) * _GOLDEN**-n) / sp.sqrt(5),
    sp.lucas: lambda n: _GOLDEN**n + sp.cos(sp.pi * n) * _GOLDEN**-n,
    sp.factorial2: lambda n: (
        2 ** (n / 2) * sp.gamma(n / 2 + 1) * (2 / sp.pi) ** ((1 - sp.cos(sp.pi * n)) / 4)
    ),
    sp.riemann_xi: lambda s: (
        s * (s - 1) * sp.gamma(s / 2) * sp.zeta(s) / (2 * sp.pi ** (s / 2))
    ),
    sp.erf2: lambda x, y: sp.erf(y) - sp.erf(x),
    sp.erf2inv: lambda x, y: sp.erfinv(y + sp.erf(x)),
    sp.exp_polar: lambda x: sp.exp(x), sp.UnevaluatedExpr: lambda x: x, sp.polar_lift: lambda x: x,
    cfunctions.Sqrt: lambda x: sp.sqrt(x), cfunctions.fma: lambda x, y, z: x * y + z,
    cfunctions.Cbrt: lambda x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3),
    cfunctions.exp2: lambda x: 2**x, cfunctions.expm1: lambda x: sp.exp(x) - 1,
    cfunctions.log1p: lambda x: sp.log(1 + x), cfunctions.hypot: lambda x, y: sp.sqrt(x**2 + y**2),
    cfunctions.log2: lambda x: sp.log(x) / sp.log(2),
    cfunctions.log10: lambda x: sp.log(x) / sp.log(10),
    scipy_nodes.cosm1: lambda x: sp.cos(x) - 1, scipy_nodes.powm1: lambda x, y: x**y - 1,
    numpy_nodes.logaddexp: lambda x, y: sp.log(sp.exp(x) + sp.exp(y)),
    numpy_nodes.logaddexp2: lambda x, y: sp.log(2**x + 2**y) / sp.log(2),
    numpy_nodes.maximum: lambda *xs: sp.Max(*xs), numpy_nodes.minimum: lambda *xs: sp.Min(*xs),
}  # fmt: skip


class _Rewriting:
    """Writes formulas in functions that SymPy can differentiate, and bound names as dummies.

    Operands that are put in the place of symbols may have the names that the formula binds.
    """

    def __init__(self, names: Mapping[Any, Any]) -> None:
        self.known: dict[Any, Any] = dict(names)
        self.names = names

    def of(self, e: Any) -> Any:
        if e not in self.known:
            self.known[e] = self._made(e) if e.args else e
        return self.known[e]

    def _made(self, e: Any) -> Any:
        if isinstance(e, ExprWithLimits):
            return self._bound(e)
        if isinstance(e, sp.Subs):
            own = {s: _dummy(s) for s in e.variables}
            body = _Rewriting({**self.names, **own}).of(e.expr)
            return body.xreplace({own[s]: self.of(p) for s, p in zip(*e.args[1:], strict=True)})
        args = [self.of(a) for a in e.args]
        if isinstance(e, sp.Derivative):
            return e.func(*args).doit(deep=False)
        if isinstance(e, sp.Contains):
            return args[1].as_relational(args[0])
        written = _WRITTEN.get(type(e))
        if written is not None and not (type(e) is sp.fibonacci and len(args) > 1):
            return written(*args)
        return rebuilt(e, args)

    def _bound(self, e: Any) -> Any:
        """The last limit is the outermost: what it binds is in the ends of those before it."""
        names, limits = self.names, []
        for k, *ends in reversed(e.limits):
            inner = _Rewriting(names)
            own = _dummy(k)
            limits.append((own, *map(inner.of, ends)))
            names = {**names, k: own}
        kind = {sp.Sum: Sum, sp.Product: Product}.get(type(e), type(e))
        return bound(kind, _Rewriting(names).of(e.function), limits[::-1])


def _dummy(s: Any) -> sp.Dummy:
    return sp.Dummy(s.name, **s.assumptions0)

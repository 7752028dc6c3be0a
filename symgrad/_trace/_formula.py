"""SymPy formulas as calls on values: the way in for ``from_sympy`` and for derived rules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import sympy as sp
from sympy.codegen import cfunctions

from .._late import special
from .._op import Map, Op, registry
from .._ops import unknown
from .._shapes import as_expr
from ..errors import UnsupportedError

_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    sp.sin: np.sin, sp.cos: np.cos, sp.tan: np.tan, sp.asin: np.arcsin, sp.acos: np.arccos,
    sp.atan: np.arctan, sp.atan2: np.arctan2, sp.sinh: np.sinh, sp.cosh: np.cosh,
    sp.tanh: np.tanh, sp.asinh: np.arcsinh, sp.acosh: np.arccosh, sp.atanh: np.arctanh,
    sp.exp: np.exp, sp.log: np.log, sp.Abs: np.abs, sp.sign: np.sign, sp.floor: np.floor,
    sp.ceiling: np.ceil, sp.erf: special.erf, sp.erfc: special.erfc, sp.gamma: special.gamma,
    sp.loggamma: special.gammaln, sp.digamma: special.digamma,
    sp.Heaviside: np.heaviside, sp.re: lambda x: x, sp.conjugate: lambda x: x,
    sp.sec: lambda x: 1 / np.cos(x), sp.csc: lambda x: 1 / np.sin(x),
    sp.cot: lambda x: 1 / np.tan(x), sp.sech: lambda x: 1 / np.cosh(x),
    sp.csch: lambda x: 1 / np.sinh(x), sp.coth: lambda x: 1 / np.tanh(x),
    sp.sinc: lambda x: np.sinc(x / np.pi), sp.Mod: np.mod,
    sp.DiracDelta: lambda x, *_: 0.0 * x, cfunctions.expm1: np.expm1,
    cfunctions.log1p: np.log1p, cfunctions.log2: np.log2, cfunctions.log10: np.log10,
    cfunctions.exp2: np.exp2, cfunctions.hypot: np.hypot, cfunctions.Cbrt: np.cbrt,
    cfunctions.Sqrt: np.sqrt, sp.Eq: np.equal, sp.Ne: np.not_equal, sp.Lt: np.less,
    sp.Le: np.less_equal, sp.Gt: np.greater, sp.Ge: np.greater_equal,
}  # fmt: skip


def evaluate(expr: Any, values: Mapping[sp.Symbol, Any]) -> Any:
    """Compute a SymPy expression on values (traced, arrays or numbers).

    Equal subexpressions are computed once; the walk does not recurse, so a formula may be
    as large as memory allows.

    Raises
    ------
    UnsupportedError
        For a SymPy function that has no numerical counterpart here.
    """
    done: dict[Any, Any] = dict(values)
    stack: list[tuple[Any, bool]] = [(as_expr(expr), False)]
    while stack:
        e, ready = stack.pop()
        if e in done:
            continue
        if ready or not e.args or isinstance(e, sp.Rational):
            done[e] = _apply(e, [done[a] for a in _parts(e)] if ready else [])
        else:
            stack.append((e, True))
            stack.extend((a, False) for a in reversed(_parts(e)))
    return done[as_expr(expr)]


def _parts(e: Any) -> tuple[Any, ...]:
    if isinstance(e, sp.Piecewise):
        return tuple(x for pair in e.args for x in pair.args)
    if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Rational):
        return (e.base,)
    if isinstance(e, sp.Add):
        return tuple(term for term, _ in _terms(e))
    if isinstance(e, sp.Mul):
        _, above, below = _factors(e)
        return (*above, *below)
    return tuple(e.args)


def _terms(e: sp.Add) -> list[tuple[Any, int]]:
    """The terms with their signs taken out: ``a - b`` is one operation, not two."""
    signed = []
    for term in e.args:
        negative = term.as_coeff_Mul()[0].is_negative
        signed.append((-term, -1) if negative else (term, 1))
    return signed


def _factors(e: sp.Mul) -> tuple[int, list[Any], list[Any]]:
    """Sign, numerator and denominator: ``a/b`` rounds once, ``a*(1/b)`` twice."""
    sign, above, below = 1, [], []
    for factor in e.args:
        if isinstance(factor, sp.Rational):
            sign = -sign if factor.is_negative else sign
            if abs(factor.p) != 1:
                above.append(sp.Integer(abs(factor.p)))
            if factor.q != 1:
                below.append(sp.Integer(factor.q))
        elif isinstance(factor, sp.Pow) and factor.exp.is_Rational and factor.exp.is_negative:
            below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    return sign, above, below


def _apply(e: Any, args: list[Any]) -> Any:
    if e.is_Integer:
        return int(e) if abs(int(e)) < 2**53 else float(e)
    if e.is_Number or e.is_NumberSymbol:
        return float(e)
    if e in (sp.true, sp.false):
        return bool(e)
    for kind, form in _FORMS.items():
        if isinstance(e, kind):
            return form(e, args)
    if isinstance(e, sp.polygamma) and e.args[0] == 0:
        return special.digamma(args[1])
    if isinstance(e, sp.zeta) and len(args) == 1:
        args = [args[0], 1.0]
    function = _FUNCTIONS.get(e.func) or _own_form(e.func)
    if getattr(function, "arity", len(args)) != len(args):
        function = None
    if function is None:
        what = f"the symbol {e}" if e.is_Symbol else f"the SymPy function {e.func.__name__}"
        hint = (
            "name it among the symbols of from_sympy(expression, symbols)"
            if e.is_Symbol
            else "rewrite it in elementary functions (expression.rewrite(...), .doit())"
        )
        raise UnsupportedError(f"{what} has no value to compute with: {hint}")
    return function(*args)


def _sum(e: sp.Add, args: list[Any]) -> Any:
    signed = sorted(zip(_terms(e), args, strict=True), key=lambda pair: -pair[0][1])
    (_, sign), total = signed[0]
    total = -total if sign < 0 else total
    for (_, sign), value in signed[1:]:
        total = total - value if sign < 0 else total + value
    return total


def _product(e: sp.Mul, args: list[Any]) -> Any:
    sign, above, _ = _factors(e)
    top = reduce(operator.mul, args[: len(above)]) if above else 1
    if len(args) > len(above):
        top = _quotient(top, reduce(operator.mul, args[len(above) :]))
    return -top if sign < 0 else top


def _quotient(a: Any, b: Any) -> Any:
    """Return ``a/b``; a number of Python's over 0 is infinite, as for NumPy, and no error."""
    return np.divide(a, b) if type(b) in _PYTHONS and b == 0 else a / b


def _raised(base: Any, exponent: Any) -> Any:
    """Return ``base**exponent``, where Python would raise an error or go over to complex."""
    if type(base) in (int, float) and base <= 0 and type(exponent) in (int, float):
        return np.power(float(base), exponent)
    return base**exponent


_PYTHONS = (int, float, complex)


def _power(e: sp.Pow, args: list[Any]) -> Any:
    base, exponent = args[0], e.exp
    if exponent is sp.S.Half:
        return np.sqrt(base)
    if exponent == -sp.S.Half:
        return 1 / np.sqrt(base)
    if exponent is sp.S.NegativeOne:
        return _quotient(1, base)
    if isinstance(exponent, sp.Rational):
        if exponent.is_Integer:
            n = int(exponent)
            if abs(n) >= 2**53:
                return _raised(base, float(exponent))
            return base**n if n > 0 else _quotient(1, base ** (-n))
        return _raised(base, float(exponent))
    return _raised(base, args[1]) if e.base is not sp.E else np.exp(args[1])


def _piecewise(e: sp.Piecewise, args: list[Any]) -> Any:
    pairs = list(zip(args[::2], args[1::2], strict=True))
    result = pairs[-1][0] if pairs[-1][1] is True else np.nan
    rest = pairs[:-1] if pairs[-1][1] is True else pairs
    for value, condition in reversed(rest):
        result = np.where(condition, value, result)
    return result


#: What is computed of an expression and the values of its parts, by the class.
_FORMS: dict[type, Callable[[Any, list[Any]], Any]] = {
    sp.Add: _sum, sp.Mul: _product, sp.Pow: _power, sp.Piecewise: _piecewise,
    sp.Min: lambda _, args: reduce(np.minimum, args),
    sp.Max: lambda _, args: reduce(np.maximum, args),
    sp.And: lambda _, args: reduce(np.logical_and, args),
    sp.Or: lambda _, args: reduce(np.logical_or, args),
    sp.Not: lambda _, args: np.logical_not(args[0]),
}  # fmt: skip


@lru_cache(maxsize=1)
def _own_forms() -> dict[Any, Op]:
    """Ops by the SymPy function class that is their form (Bessel functions, zeta, ...)."""
    forms = {}
    registry.complete()
    for op in list(registry.ops.values()):  # another thread may define one
        if op.kind == "map" and isinstance(op.sympy, type) and issubclass(op.sympy, sp.Function):
            forms[op.sympy] = op
    return forms


def _own_form(function: Any) -> Callable[..., Any] | None:
    return _own_forms().get(function)


@lru_cache(maxsize=1024)
def _derived(op: Map) -> tuple[tuple[sp.Symbol, ...], tuple[sp.Expr, ...]]:
    assert op.sympy is not None
    symbols = tuple(sp.Symbol(f"x{k}", real=True) for k in range(op.arity))
    form = op.sympy(*symbols)
    return symbols, tuple(sp.diff(form, s) for s in symbols)


def partials(op: Op, y: Any, xs: Sequence[Any], params: Mapping[str, Any]) -> Sequence[Any]:
    """Return the derivatives of a map op by its operands, at traced operands.

    From the record's rule, or from the derivative of its SymPy form where there is none. One that
    the record says is nan is not known, and neither are its derivatives.
    """
    assert isinstance(op, Map)
    if op.partials is not None:
        given: Sequence[Any] = op.partials(y, *xs, **params)
        if any(isinstance(p, float) and p != p for p in given):
            reals = [x for x in xs if x.dtype.kind == "f"]
            return [unknown(*reals) if isinstance(p, float) and p != p else p for p in given]
        return given
    symbols, derivatives = _derived(op)
    values = dict(zip(symbols, xs, strict=True))
    return [None if d == 0 else evaluate(d, values) for d in derivatives]

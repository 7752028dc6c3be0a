"""SymPy formulas as functions of exact numbers.

A formula is compiled once to nested closures ``(context, values) -> value``. Values are
``mpf`` numbers of the context, Python integers, and Python booleans. What has no real value
(the logarithm of a negative number) is nan, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import sympy as sp

from ..errors import UnsupportedError
from ._numbers import absorbs, extreme, heaviside, is_nan, power, real, reciprocal

Closure = Callable[[Any, Sequence[Any]], Any]


def _mod(context: Any, x: Any, y: Any) -> Any:
    return context.nan if y == 0 else x - y * context.floor(context.mpf(x) / y)


_OWN: dict[str, Callable[..., Any]] = {
    "Abs": lambda c, x: abs(x),
    "sign": lambda c, x: c.nan if is_nan(x) else (x > 0) - (x < 0),
    "floor": lambda c, x: c.floor(x),
    "ceiling": lambda c, x: c.ceil(x),
    "Mod": _mod,
    "Max": extreme(True),
    "Min": extreme(False),
    "Heaviside": heaviside,
    "DiracDelta": lambda c, *_: 0,
    "KroneckerDelta": lambda c, x, y, *_: int(x == y),
    "bitwise_and": lambda c, x, y: int(x) & int(y),
    "bitwise_or": lambda c, x, y: int(x) | int(y),
    "bitwise_xor": lambda c, x, y: int(x) ^ int(y),
    "invert": lambda c, x: ~int(x),
    "uppergamma": lambda c, s, x: c.gammainc(s, x, c.inf),
    "lowergamma": lambda c, s, x: c.gammainc(s, 0, x),
    "polygamma": lambda c, n, x: c.psi(int(n), x) if n == int(n) else c.nan,
    "digamma": lambda c, x: c.psi(0, x),
    "betainc_regularized": lambda c, a, b, x, y: c.betainc(a, b, x, y, regularized=True),
    "erfcinv": lambda c, x: c.erfinv(1 - c.mpf(x)),
    "log": lambda c, x: -c.inf if x == 0 else c.nan if x < 0 else c.ln(x),
    "loggamma": lambda c, x: c.re(c.loggamma(x)),  # as SciPy's, of the absolute value
    "Ci": lambda c, x: c.re(c.ci(x)),
    "Chi": lambda c, x: c.re(c.chi(x)),
    "hyper": lambda c, a, b, z: c.hyper(a, b, z),
    "airyaiprime": lambda c, x: c.airyai(x, derivative=1),
    "airybiprime": lambda c, x: c.airybi(x, derivative=1),
}
#: SymPy's name, where mpmath's differs.
_NAMES = {
    "ceiling": "ceil", "Ei": "ei", "Si": "si", "Shi": "shi",
    "LambertW": "lambertw", "RisingFactorial": "rf", "FallingFactorial": "ff", "re": "re",
    "elliptic_k": "ellipk", "elliptic_e": "ellipe", "elliptic_f": "ellipf",
    "dirichlet_eta": "altzeta", "fresnelc": "fresnelc", "fresnels": "fresnels",
}  # fmt: skip
_KNOWN = {
    "sin", "cos", "tan", "cot", "sec", "csc", "asin", "acos", "atan", "acot", "atan2",
    "sinh", "cosh", "tanh", "coth", "sech", "csch", "asinh", "acosh", "atanh", "exp",
    "gamma", "beta", "zeta", "erf", "erfc", "erfi", "erfinv", "expint",
    "besselj", "bessely", "besseli", "besselk", "sinc", "airyai", "airybi",
    "binomial", "factorial", "factorial2", *_NAMES,
}  # fmt: skip
RELATIONS: dict[Any, Callable[[Any, Any], bool]] = {
    sp.Eq: lambda x, y: x == y,
    sp.Ne: lambda x, y: x != y,
    sp.Lt: lambda x, y: x < y,
    sp.Le: lambda x, y: x <= y,
    sp.Gt: lambda x, y: x > y,
    sp.Ge: lambda x, y: x >= y,
}


def closure(expression: sp.Basic, symbols: Sequence[sp.Symbol]) -> Closure:
    """Return ``expression`` as a function of the values of ``symbols``.

    Raises
    ------
    UnsupportedError
        For a SymPy function that has no multiple-precision counterpart.
    """
    return _compile(expression, {s: k for k, s in enumerate(symbols)})


def _compile(e: Any, places: dict[Any, int]) -> Closure:
    if e in places:
        k = places[e]
        return lambda c, v: v[k]
    if e.is_Atom:
        return _constant(e)
    if isinstance(e, sp.Piecewise):
        return _piecewise([(_compile(x, places), _compile(q, places)) for x, q in e.args])
    if isinstance(e, (sp.Derivative, sp.Subs)):
        # A derivative that SymPy does not know (by the order of a Bessel function).
        return lambda c, v: c.nan
    if isinstance(e, sp.hyper):
        upper, lower = ([_compile(a, places) for a in group] for group in (e.ap, e.bq))
        z = _compile(e.argument, places)
        return lambda c, v: real(
            c, c.hyper([a(c, v) for a in upper], [b(c, v) for b in lower], z(c, v))
        )
    if e.is_Mul:
        return _product(e, places)
    mirrored = _mirrored(e) if e.is_Add else None
    if mirrored is not None:
        rest, *pair = mirrored
        factor, z = (_compile(a, places) for a in pair)
        others = [_compile(t, places) for t in rest]
        return lambda c, v: sum((t(c, v) for t in others), factor(c, v) * c.erfc(-z(c, v)))
    args = [_compile(a, places) for a in e.args]
    relation = RELATIONS.get(e.func)
    if relation is not None:
        x, y = args
        return lambda c, v: relation(x(c, v), y(c, v))
    return _operation(e, args)


def _constant(e: Any) -> Closure:
    if e in (sp.true, sp.false):
        truth = bool(e)
        return lambda c, v: truth
    if e.is_Integer:
        whole = int(e)
        return lambda c, v: whole
    if isinstance(e, sp.Rational):
        p, q = int(e.p), int(e.q)
        return lambda c, v: c.mpf(p) / q
    if isinstance(e, sp.Float):
        # Exact: the stored binary mantissa and exponent.
        parts = e._mpf_
        return lambda c, v: c.make_mpf(parts)
    special = {sp.oo: "inf", sp.nan: "nan", sp.zoo: "nan", sp.pi: "pi", sp.E: "e",
               sp.EulerGamma: "euler", sp.GoldenRatio: "phi", sp.Catalan: "catalan"}  # fmt: skip
    if e is sp.S.NegativeInfinity:
        return lambda c, v: -c.inf
    if e in special:
        name = special[e]
        return lambda c, v: +getattr(c, name)
    raise UnsupportedError(f"the symbol {e} has no value in an exact formula")


def _piecewise(pairs: list[tuple[Closure, Closure]]) -> Closure:
    def choose(c: Any, v: Sequence[Any]) -> Any:
        for value, condition in pairs:
            if condition(c, v):
                return value(c, v)
        return c.nan

    return choose


def _operation(e: Any, args: list[Closure]) -> Closure:
    if e.is_Add:
        first, *rest = args

        def add(c: Any, v: Sequence[Any]) -> Any:
            terms = [first(c, v), *(term(c, v) for term in rest)]
            total = sum(terms[1:], terms[0])
            c.lost = c.lost or absorbs(c, terms, total)
            return total

        return add
    if e.is_Pow:
        return _power(e, *args)
    if isinstance(e, sp.And):
        return lambda c, v: all(a(c, v) for a in args)
    if isinstance(e, sp.Or):
        return lambda c, v: any(a(c, v) for a in args)
    if isinstance(e, sp.Not):
        return lambda c, v: not args[0](c, v)
    if isinstance(e, (sp.Xor, sp.Equivalent)):
        even = isinstance(e, sp.Equivalent)
        return lambda c, v: (sum(map(bool, (a(c, v) for a in args))) % 2 == 0) == even
    if isinstance(e, sp.ITE):
        return lambda c, v: args[1](c, v) if args[0](c, v) else args[2](c, v)
    name = type(e).__name__
    own = _OWN.get(name)
    if own is not None:
        return lambda c, v: real(c, own(c, *[a(c, v) for a in args]))
    if name not in _KNOWN:
        raise UnsupportedError(f"the SymPy function {name} cannot be evaluated exactly")
    name = _NAMES.get(name, name)
    return lambda c, v: real(c, getattr(c, name)(*[a(c, v) for a in args]))


def _mirrored(e: Any) -> tuple[list[Any], Any, Any] | None:
    """Return the other terms, ``a`` and ``z`` of a sum with ``2*a - a*erfc(z)`` in it.

    SymPy writes ``a*erfc(-z)`` so, which cancels.
    """
    number, terms = e.as_coeff_Add()
    for term in sp.Add.make_args(terms):
        factor, erfc = term.as_coeff_Mul()
        if isinstance(erfc, sp.erfc) and number == -2 * factor:
            return [t for t in sp.Add.make_args(terms) if t != term], -factor, erfc.args[0]
    return None


def _product(e: Any, places: dict[Any, int]) -> Closure:
    """Divide where a factor is one over something: ``floor(x/y)`` asks for the quotient itself."""
    above, below = [], []
    for factor in e.args:
        if isinstance(factor, sp.Rational):
            above.append(sp.Integer(factor.p))
            below += [sp.Integer(factor.q)] if factor.q != 1 else []
        elif factor.is_Pow and factor.exp is sp.S.NegativeOne:
            below.append(factor.base)
        else:
            above.append(factor)
    factors, divisors = ([_compile(a, places) for a in group] for group in (above, below))

    def multiply(c: Any, v: Sequence[Any]) -> Any:
        found = reduce(lambda x, y: x * y, (a(c, v) for a in factors), 1)
        for divisor in divisors:
            value = divisor(c, v)
            whole = isinstance(value, int)  # Python's own division would give a double
            found = found * c.inf if value == 0 else found / (c.mpf(value) if whole else value)
        return found

    return multiply


def _power(e: Any, base: Closure, exponent: Closure) -> Closure:
    if e.exp is sp.S.NegativeOne:
        return lambda c, v: reciprocal(c, base(c, v))
    if e.exp is sp.S.Half:
        return lambda c, v: real(c, c.sqrt(base(c, v)))
    if e.base is sp.E:
        return lambda c, v: real(c, c.exp(exponent(c, v)))
    return lambda c, v: power(c, base(c, v), exponent(c, v))

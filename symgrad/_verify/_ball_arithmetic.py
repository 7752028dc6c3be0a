"""Ball arithmetic: a formula's value with a bound that is a proof.

python-flint computes with balls, midpoint and radius: the exact value lies inside, whatever
was rounded on the way. F. Johansson, Arb: efficient arbitrary-precision midpoint-radius
interval arithmetic, IEEE Transactions on Computers 66 (8), 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

try:
    import flint
except ModuleNotFoundError:  # the extra "verify"
    flint = None

available = flint is not None

#: SymPy's functions by the names of flint's methods.
_METHODS: Mapping[Any, str] = {
    sp.sin: "sin", sp.cos: "cos", sp.tan: "tan", sp.exp: "exp", sp.log: "log", sp.asin: "asin",
    sp.acos: "acos", sp.atan: "atan", sp.sinh: "sinh", sp.cosh: "cosh", sp.tanh: "tanh",
    sp.asinh: "asinh", sp.acosh: "acosh", sp.atanh: "atanh", sp.erf: "erf", sp.erfc: "erfc",
    sp.gamma: "gamma", sp.loggamma: "lgamma", sp.digamma: "digamma", sp.Abs: "__abs__",
    sp.sign: "sgn", sp.floor: "floor", sp.ceiling: "ceil",
}  # fmt: skip


class UnknownError(Exception):
    """A formula holds something that has no ball here."""


def enclosure(expression: Any, values: Mapping[Any, Any], bits: int) -> Any:
    """Return a ball that holds the value of a SymPy expression.

    Parameters
    ----------
    expression:
        A formula of functions that python-flint knows.
    values:
        Exact (dyadic) values of its symbols, as floats.
    bits:
        The precision to compute with.

    Raises
    ------
    UnknownError
        If a function of the formula is not known.
    """
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        done: dict[Any, Any] = {}
        for e in sp.postorder_traversal(expression):
            if e not in done:
                done[e] = _ball(e, [done[a] for a in e.args if a in done], values)
        return done[expression]
    finally:
        flint.ctx.prec = before


def _ball(e: Any, args: list[Any], values: Mapping[Any, Any]) -> Any:
    if e in values:
        return flint.arb(values[e])
    if e.is_Rational:
        return flint.arb(int(e.p)) / int(e.q)
    if e.is_Float:
        man, exponent = int(e._mpf_[1]) * (-1 if e._mpf_[0] else 1), int(e._mpf_[2])
        return flint.arb(man) * flint.arb(2) ** exponent
    if e is sp.pi:
        return flint.arb.pi()
    if e is sp.E:
        return flint.arb(1).exp()
    if e.is_Add:
        return sum(args[1:], start=args[0])
    if e.is_Mul:
        product = args[0]
        for a in args[1:]:
            product = product * a
        return product
    if e.is_Pow:
        if e.exp is sp.S.Half:
            return args[0].sqrt()
        if e.exp.is_Integer:
            return args[0] ** int(e.exp)
        return args[0] ** args[1]
    method = _METHODS.get(e.func)
    if method is None or len(args) != 1:
        raise UnknownError(str(e.func))
    act: Callable[[], Any] = getattr(args[0], method)
    return act()


def relative_radius(ball: Any) -> float:
    """Return how wide a ball is, relative to its midpoint."""
    middle = abs(float(ball.mid()))
    radius = float(ball.rad())
    return radius / middle if middle else radius


def holds(ball: Any, digits: str) -> bool:
    """Tell whether a number written with its digits may be the ball's exact value."""
    before = flint.ctx.prec
    flint.ctx.prec = 400
    try:
        given = flint.arb(digits)
        slack = abs(given) * flint.arb(10) ** -40 + flint.arb(2) ** -1070
        return bool(ball.overlaps(given + flint.arb(0, 1) * slack))
    finally:
        flint.ctx.prec = before

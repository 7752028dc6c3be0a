"""Derivatives of whole formulas, where the chain rule through their steps fails.

``log(1 + exp(x))`` at 1000 is infinite in floating point, and the chain rule makes
``inf/inf`` of it; the derivative is 1. A shortcut knows the derivative of a formula as a
whole. Values stay what they are, to the last bit, infinities and nan included; only the way
that derivatives take is another: past the inner steps.

Each is a pair of NumPy functions: what users write, and its derivatives by the operands. The
tests have SymPy prove them, measure that they never lose digits where the chain rule does
not, and find a place where the chain rule does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.scipy_names import special
from ..graph import Node
from ..op import registry
from ._matcher import Index, Reduced, Shortcut, Way
from ._recognition import SUMS, is_sum_of_squares, number_of
from ._reduction_formulas import ABSOLUTE, DIRECTION, DISTANCES, HYPOT, LENGTH, REDUCED, STILL

OPS = registry.ops


def _root_slope(y: Any, s: Any) -> tuple[Any, ...]:
    return (np.where(y == 0, 0.0, 0.5 / y),)


def _power_slope(y: Any, s: Any, p: Any) -> tuple[Any, ...]:
    away = np.where(s == 0, 1.0, s)
    return np.where(s == 0, 0.0, p * away ** (p - 1)), np.where(s == 0, 0.0, y * np.log(away))


def _share(x: Any, y: Any) -> Any:
    """``exp(x)/(exp(x) + exp(y))``; by the difference only where the exponentials overflow."""
    far = np.fabs(x) + np.fabs(y) > FAR
    same = (x == y) & np.isinf(x)
    above = np.exp(x)
    gap = special.expit(np.where(same, 0.0, x - y))
    return np.where(far, gap, above / (above + np.exp(y)))


def _plane(z: Any, y: Any, x: Any) -> tuple[Any, ...]:
    r = np.hypot(y, x)
    return (x / r) / r, -(y / r) / r


def _hump(x: Any) -> Any:
    """``expit(x)*expit(-x)``."""
    return special.expit(x) * special.expit(-x)


def _between(node: Node, low: float, high: float) -> bool:
    """Tell whether a node is a number, written in the program, between two others."""
    number = number_of(node)
    return number is not None and low < number < high


def _is_odd(node: Node) -> bool:
    """Tell whether the power by a number is not real, or negative, for negative numbers."""
    number = number_of(node)
    return number is not None and number % 2 != 0


def _part(y: Any, total: Any) -> Any:
    """``y/total**2``, of infinite ``y`` as if ``total`` were larger."""
    return np.where(np.isinf(y), 1.0, y / total) / total


def _over_length(x: Any, y: Any) -> Any:
    """``y**2/r**3``, the derivative of ``x/r`` for the length ``r`` of x and y."""
    across = OPS["Direction"](y, x)
    return across * (across / np.hypot(x, y))


def _log_of_one_plus(y: Any, x: Any) -> tuple[Any, ...]:
    return (2.0 * OPS["Direction"](x, 1.0) / np.hypot(x, 1.0),)


FAR = 700.0  # exp(x) is finite and normal up to here; float32 takes the other way earlier
ROOT_PI = 1.772453850905516
WIDE = ((-1000.0, 1000.0),)

FORMULAS: tuple[Shortcut, ...] = (
    Shortcut("log(1 + exp(x)): expit(x)", lambda x: np.log(1 + np.exp(x)),
             lambda y, x: (special.expit(x),), WIDE),
    Shortcut("log1p(exp(x)): expit(x)", lambda x: np.log1p(np.exp(x)),
             lambda y, x: (special.expit(x),), WIDE),
    Shortcut("log(exp(x) + exp(y)): expit(x - y), expit(y - x)",
             lambda x, y: np.log(np.exp(x) + np.exp(y)),
             lambda z, x, y: (_share(x, y), _share(y, x)), WIDE * 2),
    Shortcut("log1p(-exp(x)): -1/expm1(-x)", lambda x: np.log1p(-np.exp(x)),
             lambda y, x: (-1 / np.expm1(-x),), ((-700.0, 0.0),)),
    Shortcut("log(exp(x) - 1): -1/expm1(-x)", lambda x: np.log(np.exp(x) - 1),
             lambda y, x: (-1 / np.expm1(-x),), ((0.0, 1000.0),)),
    Shortcut("log(expm1(x)): -1/expm1(-x)", lambda x: np.log(np.expm1(x)),
             lambda y, x: (-1 / np.expm1(-x),), ((0.0, 1000.0),)),
    Shortcut("log(exp(x)): 1", lambda x: np.log(np.exp(x)), lambda y, x: (1.0,), WIDE),
    Shortcut("log(cosh(x)): tanh(x)", lambda x: np.log(np.cosh(x)),
             lambda y, x: (np.tanh(x),), WIDE),
    Shortcut("log(sinh(x)): 1/tanh(x)", lambda x: np.log(np.sinh(x)),
             lambda y, x: (1 / np.tanh(x),), ((0.0, 1000.0),)),
    Shortcut("log(x**2): 2/x", lambda x: np.log(x**2), lambda y, x: (2 / x,),
             ((-1e200, 1e200),)),
    Shortcut("log(1/(1 + exp(x))): -expit(x)", lambda x: np.log(1 / (1 + np.exp(x))),
             lambda y, x: (-special.expit(x),), WIDE),
    Shortcut("log(expit(x)): expit(-x)", lambda x: np.log(special.expit(x)),
             lambda y, x: (special.expit(-x),), WIDE),
    Shortcut("log(1 - expit(x)): -expit(x)", lambda x: np.log(1 - special.expit(x)),
             lambda y, x: (-special.expit(x),), WIDE),
    Shortcut("1/(1 + exp(x)): -expit(x)*expit(-x)", lambda x: 1 / (1 + np.exp(x)),
             lambda y, x: (-_hump(x),), WIDE),
    Shortcut("exp(x)/(1 + exp(x)): expit(x)*expit(-x)", lambda x: np.exp(x) / (1 + np.exp(x)),
             lambda y, x: (_hump(x),), WIDE),
    Shortcut("(exp(x) - 1)/(exp(x) + 1): 2*expit(x)*expit(-x)",
             lambda x: (np.exp(x) - 1) / (np.exp(x) + 1), lambda y, x: (2 * _hump(x),), WIDE),
    Shortcut("(1 - exp(x))/(1 + exp(x)): -2*expit(x)*expit(-x)",
             lambda x: (1 - np.exp(x)) / (1 + np.exp(x)), lambda y, x: (-2 * _hump(x),), WIDE),
    Shortcut("(exp(x) - exp(-x))/(exp(x) + exp(-x)): 1/cosh(x)**2",
             lambda x: (np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)),
             lambda y, x: (OPS["SechSquared"](x),), WIDE),
    Shortcut("sinh(x)/cosh(x): 1/cosh(x)**2", lambda x: np.sinh(x) / np.cosh(x),
             lambda y, x: (OPS["SechSquared"](x),), WIDE),
    Shortcut("1/cosh(x): -tanh(x)/cosh(x)", lambda x: 1 / np.cosh(x),
             lambda y, x: (-np.tanh(x) * y,), WIDE),
    Shortcut("arctan(y/x): as arctan2", lambda y, x: np.arctan(y / x), _plane,
             ((-3.0, 3.0), (-3.0, 3.0))),
    Shortcut("sqrt(x)**2: 1", lambda x: np.sqrt(x) ** 2,
             lambda y, x: (np.where(x < 0, y, 1.0),), ((0.0, 9.0),)),
    Shortcut("sin(x)/x: by its series", lambda x: np.sin(x) / x,
             lambda y, x: (OPS["SincSlope"](x),), ((-30.0, 30.0),)),
    Shortcut("expm1(x)/x: by its series", lambda x: np.expm1(x) / x,
             lambda y, x: (OPS["ExprelSlope"](x),), ((-30.0, 30.0),)),
    Shortcut("(exp(x) - 1)/x: by its series", lambda x: (np.exp(x) - 1) / x,
             lambda y, x: (OPS["ExprelSlope"](x),), ((-30.0, 30.0),)),
    Shortcut("x*log(x): log(x) + 1", lambda x: x * np.log(x), lambda y, x: (np.log(x) + 1.0,),
             ((0.0, 9.0),)),
    Shortcut("x*sqrt(x): 3/2*sqrt(x)", lambda x: x * np.sqrt(x),
             lambda y, x: (1.5 * np.sqrt(x),), ((0.0, 9.0),)),
    Shortcut("x*x**0.5: 3/2*sqrt(x)", lambda x: x * x**0.5,
             lambda y, x: (1.5 * np.sqrt(x),), ((0.0, 9.0),)),
    Shortcut("sqrt(x*x*x): 3/2*sqrt(x)", lambda x: np.sqrt(x * x * x),
             lambda y, x: (1.5 * np.sqrt(x),), ((0.0, 9.0),)),
    Shortcut("sqrt(exp(x)): exp(x/2)/2", lambda x: np.sqrt(np.exp(x)), lambda y, x: (0.5 * y,),
             ((-1400.0, 700.0),)),
    Shortcut("sqrt(p**x): log(p)/2*p**(x/2)", lambda p, x: np.sqrt(p**x),
             lambda y, p, x: (0.5 * y * x / p, 0.5 * np.log(p) * y),
             ((2.0, 10.0), (-1000.0, 100.0)), lambda p, x: _between(p, 0.0, math.inf)),
    Shortcut("sqrt(x**p): p/2*x**(p/2 - 1)", lambda x, p: np.sqrt(x**p),
             lambda y, x, p: (0.5 * p * x ** (0.5 * p - 1), 0.5 * y * np.log(x)),
             ((0.0, 9.0), (2.5, 6.0)), lambda x, p: _between(p, 2.0, math.inf) and _is_odd(p)),
    Shortcut("sqrt(x)**p: p/2*x**(p/2 - 1)", lambda x, p: np.sqrt(x) ** p,
             lambda y, x, p: (0.5 * p * x ** (0.5 * p - 1), 0.5 * y * np.log(x)),
             ((0.0, 9.0), (2.5, 6.0)), lambda x, p: _between(p, 2.0, math.inf)),
    Shortcut("z/x**2: 1/x**2, -2*z/x**3", lambda z, x: z / x**2,
             lambda y, z, x: (1 / x**2, -2.0 * (y / x)), ((-2.0, 2.0), (1e-90, 1e90))),
    Shortcut("z/x**p: 1/x**p, -p*z/x**(p + 1)", lambda z, x, p: z / x**p,
             lambda y, z, x, p: (1 / x**p, -p * (y / x), -y * np.log(x)),
             ((-2.0, 2.0), (1e-60, 1e60), (2.5, 3.5)),
             lambda z, x, p: _between(p, 0.0, math.inf)),
    Shortcut("x/(x + y): y/(x + y)**2, -x/(x + y)**2", lambda x, y: x / (x + y),
             lambda q, x, y: (_part(y, x + y), -(q / (x + y))),
             ((1.0, 1e20), (1e-3, 1.0))),
    Shortcut("x/(x - y): -y/(x - y)**2, x/(x - y)**2", lambda x, y: x / (x - y),
             lambda q, x, y: (-_part(y, x - y), q / (x - y)),
             ((10.0, 1e20), (1e-3, 1.0))),
    Shortcut("x/(y - x): y/(y - x)**2, -x/(y - x)**2", lambda x, y: x / (y - x),
             lambda q, x, y: (_part(y, y - x), -(q / (y - x))),
             ((10.0, 1e20), (1e-3, 1.0))),
    Shortcut("x/sqrt(x**2 + y**2): y**2/r**3, -x*y/r**3",
             lambda x, y: x / np.sqrt(x**2 + y**2),
             lambda q, x, y: (_over_length(x, y), -OPS["Direction"](x, y)
                              * (OPS["Direction"](y, x) / np.hypot(x, y))),
             ((-1e6, 1e6), (1.0, 2.0))),
    Shortcut("x/sqrt(x**2 + c): c/r**3", lambda x, c: x / np.sqrt(x**2 + c),
             lambda q, x, c: (_over_length(x, np.sqrt(c)), -0.5 * q / (x**2 + c)),
             ((-1e6, 1e6), (1.0, 2.0)), lambda x, c: _between(c, 0.0, math.inf)),
    Shortcut("x/sqrt(x**2 + z): z/r**3, -x/(2*r**3)", lambda x, z: x / np.sqrt(x**2 + z),
             lambda q, x, z: (z / (x**2 + z) / np.sqrt(x**2 + z), -0.5 * q / (x**2 + z)),
             ((-1e6, 1e6), (1.0, 2.0))),
    Shortcut("log(x + sqrt(x**2 + 1)): 1/sqrt(x**2 + 1)",
             lambda x: np.log(x + np.sqrt(x**2 + 1)),
             lambda y, x: (1 / np.hypot(x, 1.0),), ((-1e5, 1e5),)),
    Shortcut("log(x + sqrt(x**2 - 1)): 1/sqrt(x**2 - 1)",
             lambda x: np.log(x + np.sqrt(x**2 - 1)),
             lambda y, x: (1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),), ((1.0, 1e200),)),
    Shortcut("log(1 + x**2): 2*x/(1 + x**2)", lambda x: np.log(1 + x**2), _log_of_one_plus,
             ((-1e200, 1e200),)),
    Shortcut("log1p(x**2): 2*x/(1 + x**2)", lambda x: np.log1p(x**2), _log_of_one_plus,
             ((-1e200, 1e200),)),
    Shortcut("log(x**2 + y**2): 2*x/r**2, 2*y/r**2", lambda x, y: np.log(x**2 + y**2),
             lambda z, x, y: (2.0 * OPS["Direction"](x, y) / np.hypot(x, y),
                              2.0 * OPS["Direction"](y, x) / np.hypot(x, y)),
             ((-1e200, 1e200), (1.0, 2.0))),
    Shortcut("sqrt(x**2 + y**2): x/r, y/r", lambda x, y: np.sqrt(x**2 + y**2),
             lambda r, x, y: (OPS["Direction"](x, y), OPS["Direction"](y, x)),
             ((-1e200, 1e200), (-1e200, 1e200)), length=True),
    Shortcut("sqrt(x**2 + y**2 + z**2): x/r, y/r, z/r",
             lambda x, y, z: np.sqrt(x**2 + y**2 + z**2),
             lambda r, x, y, z: (OPS["Direction3"](x, y, z), OPS["Direction3"](y, x, z),
                                 OPS["Direction3"](z, x, y)),
             ((-1e200, 1e200), (1.0, 1e200), (1.0, 2.0)), length=True),
    Shortcut("sqrt(x**2 + c): x/r", lambda x, c: np.sqrt(x**2 + c),
             lambda r, x, c: (OPS["Direction"](x, np.sqrt(c)), 0.5 / r),
             ((-1e200, 1e200), (1.0, 2.0)), lambda x, c: _between(c, 0.0, math.inf)),
    Shortcut("power of a sum of squares, less than 1: 0 at 0", lambda s, p: s**p, _power_slope,
             ((0.0, 9.0), (0.6, 0.9)),
             lambda s, p: _between(p, 0.5, 1.0) and is_sum_of_squares(s), SUMS),
    Shortcut("sqrt of a sum of squares: 0 at 0", lambda s: np.sqrt(s), _root_slope,
             ((0.0, 9.0),), is_sum_of_squares, SUMS, "squared"),
    Shortcut("power 1/2 of a sum of squares: 0 at 0", lambda s: s**0.5, _root_slope,
             ((0.0, 9.0),), is_sum_of_squares, SUMS, "squared"),
)  # fmt: skip

#: Those of special functions, which may not be loaded.
OF_SPECIAL: tuple[Shortcut, ...] = (
    Shortcut("log(ndtr(x)): density over distribution", lambda x: np.log(special.ndtr(x)),
             lambda y, x: (OPS["NormalHazard"](x),), ((-100.0, 8.0),)),
    Shortcut("log(erfc(x)): by erfcx", lambda x: np.log(special.erfc(x)),
             lambda y, x: (np.where(x > 0, (-2 / ROOT_PI) / special.erfcx(np.where(x > 0, x, 1.0)),
                                    (-2 / ROOT_PI) * OPS["Bell"](x) / special.erfc(x)),),
             ((-5.0, 100.0),)),
    Shortcut("log(gamma(x)): digamma(x)", lambda x: np.log(special.gamma(x)),
             lambda y, x: (special.psi(x),), ((2.0, 1000.0),)),
)  # fmt: skip


_PLAIN: tuple[Shortcut | Reduced, ...] = (
    STILL,
    LENGTH,
    HYPOT,
    *ABSOLUTE,
    DIRECTION,
    *DISTANCES,
    *FORMULAS,
    *REDUCED,
)
SHORTCUTS = (*_PLAIN, *OF_SPECIAL)


def shortcuts(
    order: Sequence[Node],
    wrt: Collection[Node],
    table: Sequence[Shortcut | Reduced] = SHORTCUTS,
) -> Mapping[Node, Way]:
    """Return the nodes past whose steps derivatives go, and how.

    Parameters
    ----------
    order:
        The graph's nodes.
    wrt:
        What is differentiated by; no way leads past it.
    table:
        The formulas to look for.
    """
    table_of = index if table is SHORTCUTS else Index(table)
    barred = frozenset(x for x in wrt if x.operands)
    found: dict[Node, Way] = {}
    for node in order:
        for shortcut in table_of.at(node):
            if node.dtype.kind == "f" and node not in barred:
                way = shortcut.find(node, barred)
                if way is not None:
                    found[node] = way
                    break
    return found


#: Which shortcuts may be at a node.
index = Index[Shortcut | Reduced](_PLAIN, OF_SPECIAL)

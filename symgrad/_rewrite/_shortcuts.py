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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._forks import cached_property
from .._graph import Node
from .._late import special
from .._op import registry
from .._trace import Traced
from ._pattern import Index, Pattern, number_of, square_of

OPS = registry.ops
_SOFTMAX = registry.handler(special.softmax)  # no ufunc: it would ask for an array


@dataclass(frozen=True)
class Way:
    """How derivatives go past the steps of a formula, to its operands.

    ``pull(ct)`` gives a cotangent for each of ``operands``; ``push(tangents)``, with None for
    zero, the tangent of the result. ``support`` is as in a record; elementwise ways need none.
    """

    operands: tuple[Node, ...]
    pull: Callable[[Any], Sequence[Any]]
    push: Callable[[Sequence[Any]], Any]
    elementwise: bool = True
    support: Callable[[Any], Sequence[Any]] | None = None


@dataclass(frozen=True)
class Shortcut:
    """The derivative of an elementwise formula.

    Parameters
    ----------
    name:
        The formula and, for people, what its derivative is.
    written:
        The NumPy function that is looked for.
    slopes:
        ``slopes(y, *operands)``: the derivatives of the result ``y`` by the operands.
    samples:
        ``(low, high)`` for each operand: where the tests measure.
    where:
        ``where(*nodes)``: a condition on what stands for the operands.
    """

    name: str
    written: Callable[..., Any]
    slopes: Callable[..., tuple[Any, ...]]
    samples: tuple[tuple[float, float], ...]
    where: Callable[..., bool] = lambda *_: True

    @cached_property
    def pattern(self) -> Pattern:
        """What is looked for."""
        return Pattern(self.written)

    @property
    def heads(self) -> tuple[str, ...]:
        """The ops at which the formula begins."""
        return self.pattern.heads

    def possible(self, names: Sequence[str]) -> bool:
        """Tell from the ops of its operands whether the formula can be at a node."""
        return self.pattern.possible(names)

    def find(self, node: Node, barred: Collection[Node]) -> Way | None:
        """Return the way past ``node``, or None where the formula is another."""
        found = self.pattern.match(node, barred)
        if found is None or not self.where(*found):
            return None
        return _elementwise(node, found, self.slopes)


def _elementwise(
    node: Node, operands: tuple[Node, ...], slopes: Callable[..., tuple[Any, ...]]
) -> Way:
    def at() -> tuple[Any, ...]:
        return slopes(Traced(node), *map(Traced, operands))

    def push(tangents: Sequence[Any]) -> Any:
        terms = [t * s for t, s in zip(tangents, at(), strict=True) if t is not None]
        return sum(terms[1:], start=terms[0])

    return Way(operands, lambda ct: [ct * s for s in at()], push)


# ---------------------------------------------------------------- sums of squares


def is_sum_of_squares(node: Node) -> bool:
    """Tell whether a node is a sum of squares (of numbers not negative, of products): >= +0."""
    stack = [node]
    seen = set()
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        name, number = x.op.name, number_of(x)
        if number is not None:
            if not number >= 0:
                return False
        elif name in ("Add", "Sum", "Reshape", "Broadcast", "Slice", "Transpose"):
            stack.extend(x.operands)
        elif name == "Multiply":
            stack.extend(_unpaired(x))
        elif name == "Divide" and _is_positive(x.operands[1]):
            stack.append(x.operands[0])
        elif name == "Contract":
            a, b = x.operands
            if a is not b or x.params["a"] != x.params["b"]:
                return False
        elif square_of(x) is None:
            return False
    return True


def is_length(node: Node) -> bool:
    """Tell whether a node is a root of a sum of squares, or a power of it from 1/2 to 1."""
    if node.op.name in ("Power", "FloatPower"):
        power = number_of(node.operands[1])
        if power is None or not 0.5 <= power < 1:
            return False
    elif node.op.name != "Sqrt":
        return False
    return is_sum_of_squares(node.operands[0])


def _is_positive(node: Node) -> bool:
    number = number_of(node)
    return node.op.name == "SizeOf" or (number is not None and number > 0)


def _unpaired(product: Node) -> list[Node]:
    """Return the factors of a product that are left when equal ones make squares."""
    odd: dict[Node, bool] = {}
    stack = [product]
    while stack:
        x = stack.pop()
        if x.op.name == "Multiply":
            stack.extend(x.operands)
        elif not _is_positive(x):
            odd[x] = not odd.get(x, False)
    return [x for x, left in odd.items() if left]


def _root_slope(y: Any, s: Any) -> tuple[Any, ...]:
    return (np.where(y == 0, 0.0, 0.5 / y),)


def _power_slope(y: Any, s: Any, p: Any) -> tuple[Any, ...]:
    away = np.where(s == 0, 1.0, s)
    return np.where(s == 0, 0.0, p * away ** (p - 1)), np.where(s == 0, 0.0, y * np.log(away))


# ---------------------------------------------------------------- lengths


def _is_scaled(node: Node) -> bool:
    """Tell whether a node is scaled: its squares are in range."""
    if node.op.name != "Multiply":
        return False
    scale = node.operands[0]
    while scale.op.name in ("Reshape", "Broadcast", "Cast"):
        scale = scale.operands[0]
    return scale.op.name == "LengthScale"


# ---------------------------------------------------------------- the table


def _share(x: Any, y: Any) -> Any:
    """``exp(x)/(exp(x) + exp(y))``; by the difference only where the exponentials overflow."""
    far = np.fabs(x) + np.fabs(y) > FAR
    same = (x == y) & np.isinf(x)
    above = np.exp(x)
    gap = special.expit(np.where(same, 0.0, x - y))
    return np.where(far, gap, above / (above + np.exp(y)))


def _plane(z: Any, y: Any, x: Any) -> tuple[Any, ...]:
    r = np.hypot(y, x)
    r = np.where(r == 0, 1.0, r)
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
    Shortcut("log(ndtr(x)): density over distribution", lambda x: np.log(special.ndtr(x)),
             lambda y, x: (OPS["NormalHazard"](x),), ((-100.0, 8.0),)),
    Shortcut("log(erfc(x)): by erfcx", lambda x: np.log(special.erfc(x)),
             lambda y, x: (np.where(x > 0, (-2 / ROOT_PI) / special.erfcx(np.where(x > 0, x, 1.0)),
                                    (-2 / ROOT_PI) * OPS["Bell"](x) / special.erfc(x)),),
             ((-5.0, 100.0),)),
    Shortcut("log(gamma(x)): digamma(x)", lambda x: np.log(special.gamma(x)),
             lambda y, x: (special.psi(x),), ((2.0, 1000.0),)),
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
    Shortcut("x*log(x): log(x) + 1", lambda x: x * np.log(x), lambda y, x: (np.log(x) + 1.0,),
             ((0.0, 9.0),)),
    Shortcut("x*sqrt(x): 3/2*sqrt(x)", lambda x: x * np.sqrt(x),
             lambda y, x: (1.5 * np.sqrt(x),), ((0.0, 9.0),)),
    Shortcut("x*x**0.5: 3/2*sqrt(x)", lambda x: x * x**0.5,
             lambda y, x: (1.5 * np.sqrt(x),), ((0.0, 9.0),)),
    Shortcut("sqrt(x*x*x): 3/2*sqrt(x)", lambda x: np.sqrt(x * x * x),
             lambda y, x: (1.5 * np.sqrt(x),), ((0.0, 9.0),)),
    Shortcut("sqrt(x**p): p/2*x**(p/2 - 1)", lambda x, p: np.sqrt(x**p),
             lambda y, x, p: (0.5 * p * x ** (0.5 * p - 1), 0.5 * y * np.log(x)),
             ((0.0, 9.0), (2.5, 6.0)), lambda x, p: _between(p, 2.0, math.inf) and _is_odd(p)),
    Shortcut("sqrt(x)**p: p/2*x**(p/2 - 1)", lambda x, p: np.sqrt(x) ** p,
             lambda y, x, p: (0.5 * p * x ** (0.5 * p - 1), 0.5 * y * np.log(x)),
             ((0.0, 9.0), (2.5, 6.0)), lambda x, p: _between(p, 2.0, math.inf)),
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
             ((-1e200, 1e200), (-1e200, 1e200))),
    Shortcut("sqrt(x**2 + y**2 + z**2): x/r, y/r, z/r",
             lambda x, y, z: np.sqrt(x**2 + y**2 + z**2),
             lambda r, x, y, z: (OPS["Direction3"](x, y, z), OPS["Direction3"](y, x, z),
                                 OPS["Direction3"](z, x, y)),
             ((-1e200, 1e200), (1.0, 1e200), (1.0, 2.0))),
    Shortcut("sqrt(x**2 + c): x/r", lambda x, c: np.sqrt(x**2 + c),
             lambda r, x, c: (OPS["Direction"](x, np.sqrt(c)), 0.5 / r),
             ((-1e200, 1e200), (1.0, 2.0)), lambda x, c: _between(c, 0.0, math.inf)),
    Shortcut("power of a sum of squares, less than 1: 0 at 0", lambda s, p: s**p, _power_slope,
             ((0.0, 9.0), (0.6, 0.9)),
             lambda s, p: _between(p, 0.5, 1.0) and is_sum_of_squares(s)),
    Shortcut("sqrt of a sum of squares: 0 at 0", lambda s: np.sqrt(s), _root_slope,
             ((0.0, 9.0),), is_sum_of_squares),
    Shortcut("power 1/2 of a sum of squares: 0 at 0", lambda s: s**0.5, _root_slope,
             ((0.0, 9.0),), is_sum_of_squares),
)  # fmt: skip


# ---------------------------------------------------------------- formulas with a reduction


def _log_of_reduction(node: Node, name: str) -> tuple[Node, tuple[int, ...]] | None:
    """Return ``x`` and the axes if ``node`` is ``log(c*name(x))``, up to ``keepdims``."""
    inner = node.operands[0]
    while inner.op.name in ("Reshape", "Divide", "Multiply"):
        inner, *other = inner.operands
        if other and _is_positive(inner):
            inner, other = other[0], [inner]
        if other and not _is_positive(other[0]):
            return None
    if inner.op.name != name:
        return None
    return inner.operands[0], inner.params["axes"]


def _restored(value: Any, like: Any, axes: tuple[int, ...]) -> Any:
    kept = tuple(1 if k in axes else d for k, d in enumerate(like.shape))
    return np.broadcast_to(np.reshape(value, kept), like.shape)


def _folded(node: Node, x: Node, axes: tuple[int, ...], slope: Callable[[Any], Any]) -> Way:
    def push(tangents: Sequence[Any]) -> Any:
        total = np.sum(tangents[0] * slope(Traced(x)), axis=axes)
        return np.reshape(total, Traced(node).shape)

    return Way(
        (x,),
        lambda ct: [_restored(ct, Traced(x), axes) * slope(Traced(x))],
        push,
        elementwise=False,
        support=lambda mask: [_restored(mask, Traced(x), axes)],
    )


@dataclass(frozen=True)
class Reduced:
    """The derivative of a formula that is found by a function, such as the log of a sum.

    ``behind`` holds names of ops of which one must be behind the first: one step, two steps, ...
    """

    name: str
    find: Callable[[Node, Collection[Node]], Way | None]
    heads: tuple[str, ...] = ("Log",)
    behind: tuple[frozenset[str], ...] = (frozenset(("Sum", "Prod", "Reshape")),)

    def possible(self, names: Sequence[str]) -> bool:
        """Tell whether the formula can be at a node: views may hide its operands."""
        return True


def _log_sum_exp(node: Node, barred: Collection[Node]) -> Way | None:
    found = _log_of_reduction(node, "Sum")
    if found is None or found[0].op.name != "Exp" or node.operands[0] in barred:
        return None
    x, axes = found[0].operands[0], found[1]
    return _folded(node, x, axes, lambda v: _SOFTMAX(v, axis=axes))


def _length_of_array(node: Node, barred: Collection[Node]) -> Way | None:
    """``sqrt(sum(x**2)/n)``, whose derivative at 0 is 0, as that of ``np.linalg.norm``."""
    if "Power" in node.op.name and number_of(node.operands[1]) != 0.5:
        return None
    inner, count = node.operands[0], None
    while inner.op.name in ("Reshape", "Divide") and inner not in barred:
        if inner.op.name == "Divide":
            if count is not None or not _is_positive(inner.operands[1]):
                return None
            count = inner.operands[1]
        inner = inner.operands[0]
    if inner in barred or node.operands[0] in barred:
        return None
    if inner.op.name == "Sum" and inner.operands[0] not in barred:
        x, axes = square_of(inner.operands[0]), inner.params["axes"]
    elif inner.op.name == "Contract" and not inner.shape and is_sum_of_squares(inner):
        x = inner.operands[0]
        axes = tuple(range(x.ndim))
    else:
        return None
    if x is None or _is_scaled(x) or x.dtype != node.dtype:
        return None

    def slopes() -> Any:
        scaled = _restored(OPS["LengthScale"](Traced(node)), Traced(x), axes) * Traced(x)
        total = np.sum(scaled * scaled, axis=axes)
        r = np.sqrt(total if count is None else total / Traced(count))
        found = scaled / _restored(np.where(r == 0, 1.0, r), Traced(x), axes)
        found = np.where(_restored(r == 0, Traced(x), axes), 0.0, found)
        return found if count is None else found / Traced(count)

    def push(tangents: Sequence[Any]) -> Any:
        return np.reshape(np.sum(tangents[0] * slopes(), axis=axes), Traced(node).shape)

    return Way(
        (x,),
        lambda ct: [_restored(ct, Traced(x), axes) * slopes()],
        push,
        elementwise=False,
        support=lambda mask: [_restored(mask, Traced(x), axes)],
    )


def _log_softmax(node: Node, barred: Collection[Node]) -> Way | None:
    """``log(exp(x)/sum(exp(x)))``: of what underflows it is -inf, its derivative is not."""
    share = node.operands[0]
    inner = _softmax(share, barred) if share.op.name == "Divide" else None
    if inner is None or share in barred:
        return None
    (x,), axes = inner.operands, _summed(share)

    def along(v: Any) -> Any:
        return _SOFTMAX(Traced(x), axis=axes) * v

    def total(v: Any) -> Any:
        return np.sum(v, axis=axes, keepdims=True)

    return Way(
        (x,),
        lambda ct: [ct - along(total(ct))],
        lambda tangents: tangents[0] - total(along(tangents[0])),
        elementwise=False,
        support=lambda mask: [_restored(np.any(mask, axis=axes), Traced(x), axes)],
    )


_FACTORS = frozenset(("Multiply", "Divide", "Square", "Sqrt", "Reciprocal", "Power", "FloatPower"))
#: The most factors of a product whose logarithm is differentiated factor by factor.
MOST = 16


def _factors(node: Node, barred: Collection[Node]) -> list[tuple[Node, float]] | None:
    """Return the factors of a product of powers and their exponents, None for too many."""
    found: list[tuple[Node, float]] = []
    stack = [(node, 1.0)]
    while stack:
        x, p = stack.pop()
        name = x.op.name
        power = number_of(x.operands[1]) if name in ("Power", "FloatPower") else None
        if x in barred or name not in _FACTORS or (power is None and "Power" in name):
            if number_of(x) is None:
                found.append((x, p))
        elif name in ("Multiply", "Divide"):
            stack += [(x.operands[1], p if name == "Multiply" else -p), (x.operands[0], p)]
        else:
            given = {"Square": 2.0, "Sqrt": 0.5, "Reciprocal": -1.0}.get(name, power)
            assert given is not None
            stack.append((x.operands[0], p * given))
        if len(found) + len(stack) > MOST:
            return None
    return found


def _log_of_product(node: Node, barred: Collection[Node]) -> Way | None:
    """``log(x**2*y/z)``: 2/x, 1/y, -1/z. What overflows in the product does not in these."""
    product = node.operands[0]
    if product.op.name not in _FACTORS or product in barred:
        return None
    factors = _factors(product, barred)
    if factors is None or any(x is product for x, _ in factors):
        return None
    inner = [x.operands[0] if x.op.name == "Exp" and x not in barred else None for x, _ in factors]
    if not any(inner) and all(abs(p) == 1 for _, p in factors) and len(factors) < 2:
        return None  # of a number and a factor the chain rule is as good
    operands = tuple(x if e is None else e for (x, _), e in zip(factors, inner, strict=True))

    def slopes(y: Any, *xs: Any) -> tuple[Any, ...]:
        return tuple(
            p / x if e is None else p for (_, p), e, x in zip(factors, inner, xs, strict=True)
        )

    return _elementwise(node, operands, slopes)


def _log_prod(node: Node, barred: Collection[Node]) -> Way | None:
    found = _log_of_reduction(node, "Prod")
    if found is None or node.operands[0] in barred:
        return None
    return _folded(node, found[0], found[1], lambda v: 1 / v)


def _summed(quotient: Node) -> tuple[int, ...]:
    """Return the axes of the sum that ``exp(x)`` is divided by."""
    inner = quotient.operands[1]
    while inner.op.name in ("Reshape", "Broadcast"):
        inner = inner.operands[0]
    axes: tuple[int, ...] = inner.params["axes"]
    return axes


def _softmax(node: Node, barred: Collection[Node]) -> Way | None:
    """``exp(x)/sum(exp(x))``: of numbers beyond 709 it is nan, of which no derivative is made."""
    above, below = node.operands
    inner = below
    while inner.op.name in ("Reshape", "Broadcast"):
        inner = inner.operands[0]
    if above.op.name != "Exp" or inner.op.name != "Sum" or inner.operands[0] is not above:
        return None
    x, axes = above.operands[0], _summed(node)
    kept = tuple(1 if k in axes else d for k, d in enumerate(x.shape))
    leading = next((k for k, d in enumerate(kept) if d != 1), len(kept))
    there = tuple(below.shape)
    if node.shape != x.shape or kept[leading:] != there[len(there) - len(kept) + leading :]:
        return None
    if any(d != 1 for d in there[: max(0, len(there) - len(kept) + leading)]):
        return None
    if {above, below} & set(barred):
        return None

    # What lies below its own maximum does not overflow: then the node itself is right.
    safe = _below_its_maximum(x, axes)

    def along(v: Any) -> Any:
        s = Traced(node) if safe else _SOFTMAX(Traced(x), axis=axes)
        return s * (v - np.reshape(np.sum(s * v, axis=axes), kept))

    return Way(
        (x,),
        lambda ct: [along(ct)],
        lambda tangents: along(tangents[0]),
        elementwise=False,
        support=lambda mask: [_restored(np.any(mask, axis=axes), Traced(x), axes)],
    )


def _below_its_maximum(x: Node, axes: tuple[int, ...]) -> bool:
    """Tell whether a node is ``v - max(v)`` along axes, the maximum held constant."""
    if x.op.name != "Subtract":
        return False
    top = x.operands[1]
    while top.op.name in ("Reshape", "Broadcast", "StopGradient"):
        top = top.operands[0]
    return top.op.name == "Max" and top.operands[0] is x.operands[0] and top.params["axes"] == axes


_SCALED = (frozenset(("Sum", "Prod", "Mean", "Reshape", "Divide", "Multiply")),)
REDUCED: tuple[Reduced, ...] = (
    Reduced("exp(x)/sum(exp(x)): s*(ct - sum(s*ct))", _softmax, ("Divide",)),
    Reduced("log(sum(exp(x))): softmax(x)", _log_sum_exp, behind=_SCALED),
    Reduced("log(prod(x)): 1/x", _log_prod, behind=_SCALED),
    Reduced(
        "log(exp(x)/sum(exp(x))): ct - s*sum(ct)",
        _log_softmax,
        behind=(frozenset(("Divide",)), frozenset(("Exp",))),
    ),
    Reduced("log(x**p*y/z): p/x, 1/y, -1/z", _log_of_product, behind=(_FACTORS,)),
)

LENGTH = Reduced(
    "sqrt(sum(x**2)): x/r", _length_of_array, ("Sqrt", "Power", "FloatPower"),
    (frozenset(("Sum", "Mean", "Reshape", "Divide", "Contract")),),
)  # fmt: skip
SHORTCUTS: tuple[Shortcut | Reduced, ...] = (LENGTH, *FORMULAS, *REDUCED)


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
    index = _INDEX if table is SHORTCUTS else Index(table)
    barred = frozenset(x for x in wrt if x.operands)
    found: dict[Node, Way] = {}
    for node in order:
        for shortcut in index.at(node):
            if node.dtype.kind == "f" and node not in barred:
                way = shortcut.find(node, barred)
                if way is not None:
                    found[node] = way
                    break
    return found


_INDEX = Index(SHORTCUTS)

__all__ = ["FORMULAS", "REDUCED", "SHORTCUTS", "Shortcut", "Way", "is_length", "shortcuts"]

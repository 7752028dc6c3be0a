"""Formulas of any length: softmax, lengths of arrays, logarithms of sums and of products."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from ..base.scipy_names import special
from ..graph import Node
from ..op import registry
from ..trace import Traced
from ._matcher import Reduced, Way, along, elementwise, over
from ._recognition import (
    ABSOLUTES,
    POWERS,
    VIEWS,
    at_least_zero,
    does_not_move,
    is_positive,
    is_squared_distance,
    is_sum_of_squares,
    number_of,
    square_of,
)

OPS = registry.ops
_SOFTMAX = registry.handler(special.softmax)  # no ufunc: it would ask for an array


def _is_scaled(node: Node) -> bool:
    """Tell whether a node is scaled: its squares are in range."""
    if node.op.name != "Multiply":
        return False
    scale = node.operands[0]
    while scale.op.name in ("Reshape", "Broadcast", "Cast"):
        scale = scale.operands[0]
    return scale.op.name == "LengthScale"


def _log_of_reduction(node: Node, name: str) -> tuple[Node, tuple[int, ...]] | None:
    """Return ``x`` and the axes if ``node`` is ``log(c*name(x))``, up to ``keepdims``."""
    inner = node.operands[0]
    while inner.op.name in ("Reshape", "Divide", "Multiply"):
        inner, *other = inner.operands
        if other and is_positive(inner):
            inner, other = other[0], [inner]
        if other and not is_positive(other[0]):
            return None
    if inner.op.name != name:
        return None
    return inner.operands[0], inner.params["axes"]


def _restored(value: Any, x: Node, axes: tuple[int, ...]) -> Any:
    shape = Traced(x).shape
    kept = tuple(1 if k in axes else d for k, d in enumerate(shape))
    return np.broadcast_to(np.reshape(value, kept), shape)


def _folded(node: Node, x: Node, axes: tuple[int, ...], slope: Callable[[Any], Any]) -> Way:
    def push(tangents: Sequence[Any]) -> Any:
        total = np.sum(tangents[0] * slope(Traced(x)), axis=axes)
        return np.reshape(total, Traced(node).shape)

    return Way(
        (x,),
        lambda ct: [_restored(ct, x, axes) * slope(Traced(x))],
        push,
        elementwise=False,
        support=lambda mask: [_restored(mask, x, axes)],
    )


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
            if count is not None or not is_positive(inner.operands[1]):
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
    while x is not None and x.op.name in ABSOLUTES and x not in barred:
        [x] = x.operands  # whose squares are the same
    if x is None or _is_scaled(x) or x.dtype != node.dtype:
        return None

    def slopes() -> tuple[Any, Any]:
        """Return derivatives, and the length of what is scaled: 0 where all parts are."""
        scaled = _restored(OPS["LengthScale"](Traced(node)), x, axes) * Traced(x)
        total = np.sum(scaled * scaled, axis=axes)
        r = np.sqrt(total if count is None else total / Traced(count))
        found = scaled / _restored(np.where(r == 0, 1.0, r), x, axes)
        found = np.where(_restored(r == 0, x, axes), 0.0, found)
        return found if count is None else found / Traced(count), _restored(r, x, axes)

    def parts() -> tuple[Any, Any, Any, Any]:
        found, size = slopes()
        part = Traced(x) if count is None else np.divide(Traced(x), Traced(count))
        return found, part, size, _restored(Traced(node), x, axes)

    def push(tangents: Sequence[Any]) -> Any:
        total = np.sum(tangents[0] * OPS["Turn"](*parts()), axis=axes)
        return np.reshape(total, Traced(node).shape)

    def pull(ct: Any) -> Sequence[Any]:
        return [OPS["Along"](_restored(ct, x, axes), *parts())]

    return Way((x,), pull, push, elementwise=False, support=lambda mask: [_restored(mask, x, axes)])


def _direction_of_array(node: Node, barred: Collection[Node]) -> Way | None:
    """``x/sqrt(sum(x**2))`` of a length's derivative: it turns by what is across, which is small.

    Of the largest part, ``(1 - u**2)*t - u*sum(u*t)`` over the others is by sums without it.
    """
    s, below = node.operands
    if not _is_scaled(s) or s in barred or s.shape != node.shape:
        return None
    root, views = below, []
    while root.op.name in VIEWS and root not in barred:
        views.append(root)
        root = root.operands[0]
    if root.op.name == "Where" and root not in barred:  # of 0 it is 1
        root = root.operands[2]
    if root.op.name != "Sqrt" or root in barred:
        return None
    inner, count = root.operands[0], None
    if inner.op.name == "Divide" and inner not in barred:
        inner, count = inner.operands
    if inner.op.name != "Sum" or inner in barred or square_of(inner.operands[0]) is not s:
        return None
    axes = inner.params["axes"]
    kept = tuple(1 if k in axes else d for k, d in enumerate(s.shape))
    if len(axes) < s.ndim and not (views and views[-1].shape == kept):
        return None

    def across(v: Any) -> Any:
        u: Any = Traced(node)
        r = np.broadcast_to(Traced(below), Traced(s).shape)
        n = 1.0 if count is None else Traced(count)
        square, along = u * u / n, u * v / n
        most = square > 0.5

        def total(x: Any) -> Any:
            return _restored(np.sum(x, axis=axes), s, axes)

        of_most = v * total(np.where(most, 0.0, square)) - u * total(np.where(most, 0.0, along))
        return np.where(most, of_most, v - u * total(along)) / r

    return Way(
        (s,), lambda ct: [across(ct)], lambda tangents: across(tangents[0]), elementwise=False,
        support=lambda mask: [_restored(np.any(mask, axis=axes), s, axes)],
    )  # fmt: skip


def _length_of_two(node: Node, barred: Collection[Node]) -> Way:
    x, y = map(Traced, node.operands)
    r = Traced(node)
    return along(node, node.operands, lambda: (OPS["Cosine"](x, y, r), OPS["Cosine"](y, x, r)))


def _size_of_one(node: Node, barred: Collection[Node]) -> Way | None:
    """``abs(x)``, the length of one part."""
    [x] = node.operands
    if node.dtype.kind != "f" or x.dtype.kind != "f":
        return None
    return along(node, node.operands, lambda: (np.sign(Traced(x)),))


def _square_of_size(node: Node, barred: Collection[Node]) -> Way | None:
    """``abs(x)**2``, which is ``x**2``."""
    size = square_of(node)
    if size is None or size.op.name not in ABSOLUTES or size in barred:
        return None
    return elementwise(node, size.operands, lambda y, x: (2.0 * x,))


def _root_of_distance(node: Node, barred: Collection[Node]) -> Way | None:
    """``sqrt(|a|**2 + |b|**2 - 2*a@b)``, a length."""
    if "Power" in node.op.name and number_of(node.operands[1]) != 0.5:
        return None
    return over(node, node.operands[0]) if is_squared_distance(node.operands[0]) else None


def _of_what_does_not_move(node: Node, barred: Collection[Node]) -> Way | None:
    """``arccos((r - 2*r)/r)``: the argument is -1 for every ``r``, and its derivative infinite."""
    if len(node.operands) == 2 and number_of(node.operands[1]) is None:
        return None
    x = node.operands[0]
    if x in barred or not does_not_move(x, barred):
        return None
    return Way((), lambda ct: [], lambda tangents: None)


def _of_no_negative(node: Node, barred: Collection[Node]) -> Way | None:
    """``maximum(d2, 0)`` is ``d2``, of which the bound has no share where it is 0."""
    x = at_least_zero(node)
    if x is None or x.shape != node.shape:
        return None
    return Way((x,), lambda ct: [ct], lambda tangents: tangents[0])


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
        support=lambda mask: [_restored(np.any(mask, axis=axes), x, axes)],
    )


def _log_prod(node: Node, barred: Collection[Node]) -> Way | None:
    found = _log_of_reduction(node, "Prod")
    if found is None or node.operands[0] in barred:
        return None
    return _folded(node, found[0], found[1], lambda v: 1 / v)


def _summed(quotient: Node) -> tuple[int, ...]:
    """Return the axes of the sum that ``exp(x)`` is divided by."""
    inner = quotient.operands[1]
    while inner.op.name in VIEWS:
        inner = inner.operands[0]
    axes: tuple[int, ...] = inner.params["axes"]
    return axes


def _softmax(node: Node, barred: Collection[Node]) -> Way | None:
    """``exp(x)/sum(exp(x))``: of numbers beyond 709 it is nan, of which no derivative is made."""
    above, below = node.operands
    inner = below
    while inner.op.name in VIEWS:
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
        support=lambda mask: [_restored(np.any(mask, axis=axes), x, axes)],
    )


def _below_its_maximum(x: Node, axes: tuple[int, ...]) -> bool:
    """Tell whether a node is ``v - max(v)`` along axes, the maximum held constant."""
    if x.op.name != "Subtract":
        return False
    top = x.operands[1]
    while top.op.name in ("Reshape", "Broadcast", "StopGradient"):
        top = top.operands[0]
    return top.op.name == "Max" and top.operands[0] is x.operands[0] and top.params["axes"] == axes


_FACTORS = frozenset(("Multiply", "Divide", "Square", "Sqrt", "Reciprocal", "Power", "FloatPower"))
#: The most factors of a product whose logarithm is differentiated factor by factor.
_MOST = 16


def _factors(node: Node, barred: Collection[Node]) -> list[tuple[Node, float]] | None:
    """Return the factors of a product of powers and their exponents, None for too many."""
    found: list[tuple[Node, float]] = []
    stack = [(node, 1.0)]
    while stack:
        x, p = stack.pop()
        name = x.op.name
        power = number_of(x.operands[1]) if name in POWERS else None
        if x in barred or name not in _FACTORS or (power is None and "Power" in name):
            if number_of(x) is None:
                found.append((x, p))
        elif name in ("Multiply", "Divide"):
            stack += [(x.operands[1], p if name == "Multiply" else -p), (x.operands[0], p)]
        else:
            given = {"Square": 2.0, "Sqrt": 0.5, "Reciprocal": -1.0}.get(name, power)
            assert given is not None
            stack.append((x.operands[0], p * given))
        if len(found) + len(stack) > _MOST:
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

    return elementwise(node, operands, slopes)


#: What the argument of a logarithm is beside the sum itself.
_SCALED = frozenset(("Sum", "Prod", "Mean", "Reshape", "Divide", "Multiply"))
REDUCED: tuple[Reduced, ...] = (
    Reduced("exp(x)/sum(exp(x)): s*(ct - sum(s*ct))", _softmax, ("Divide",), frozenset(("Exp",))),
    Reduced("log(sum(exp(x))): softmax(x)", _log_sum_exp, sees=_SCALED),
    Reduced("log(prod(x)): 1/x", _log_prod, sees=_SCALED),
    Reduced("log(exp(x)/sum(exp(x))): ct - s*sum(ct)", _log_softmax,
            sees=frozenset(("Divide",))),
    Reduced("log(x**p*y/z): p/x, 1/y, -1/z", _log_of_product, sees=_FACTORS),
)  # fmt: skip
#: The derivative of a length, which is scaled, before other quotients.
DIRECTION = Reduced(
    "x/sqrt(sum(x**2)): (ct - u*sum(u*ct))/r", _direction_of_array, ("Divide",),
    frozenset((*VIEWS, "Where", "Sqrt")),
)  # fmt: skip
#: Lengths of two parts.
HYPOT = Reduced("hypot(x, y): x/r, y/r", _length_of_two, ("Hypot",))
#: Lengths of one part.
ABSOLUTE = (
    Reduced("abs(x)**2: 2*x", _square_of_size, ("Square", "Multiply", *POWERS),
            frozenset(ABSOLUTES)),
    Reduced("abs(x): sign(x)", _size_of_one, ABSOLUTES),
)  # fmt: skip
#: Functions with an infinite derivative somewhere, of what is a number there for good.
STILL = Reduced(
    "sqrt(2*d*d - 2*d*d): 0", _of_what_does_not_move,
    ("Arccos", "Arccosh", "Arcsin", "Arctanh", "Cbrt", "Log", "Log1p", "Sqrt", *POWERS),
    frozenset(("Add", "Divide", "Multiply", "Negative", "Subtract")),
)  # fmt: skip
DISTANCES = (
    Reduced("sqrt(a@a + b@b - 2*a@b): 0 at 0", _root_of_distance, ("Sqrt", *POWERS),
            frozenset(("Add", "Subtract"))),
    Reduced("maximum(d2, 0): 1", _of_no_negative, ("Maximum",)),
)  # fmt: skip
#: To be looked for before the root of any other sum of squares.
LENGTH = Reduced(
    "sqrt(sum(x**2)): x/r", _length_of_array, ("Sqrt", *POWERS),
    frozenset(("Sum", "Mean", "Reshape", "Divide", "Contract")),
)  # fmt: skip

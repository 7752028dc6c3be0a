"""What a step is, however it is written: a number, a square, an inverse, a sum of squares."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..graph import Constant, Literal, Node, viewed

#: Ops between which and a number its views and conversions may stand.
VIEWS = ("Broadcast", "Reshape")
#: What a number can look like.
NUMBERS = frozenset(("Literal", *VIEWS, "Cast"))
POWERS = ("Power", "FloatPower")


def literal(node: Node) -> Any:
    """Return the number that every element of ``node`` has, of its type; None for none."""
    while node.op.name in VIEWS:
        node = node.operands[0]
    return node.value if isinstance(node, Literal) else None


def number_of(node: Node) -> float | None:
    """Return the number that every element of ``node`` is, if it is written in the program."""
    while node.op.name in VIEWS or node.op.name == "Cast":
        node = node.operands[0]
    return float(node.value) if isinstance(node, Literal) else None


def equals(number: Any, value: float) -> bool:
    """Tell whether a number is there and equal to ``value``, sign of zero included."""
    return number is not None and number == value and bool(np.signbit(number) == np.signbit(value))


def square_of(node: Node) -> Node | None:
    """Return ``x`` if the node is its square."""
    name = node.op.name
    if name == "Square":
        return node.operands[0]
    if name == "Multiply" and node.operands[0] is node.operands[1]:
        return node.operands[0]
    if name in POWERS and number_of(node.operands[1]) == 2:
        return node.operands[0]
    return None


def inverse_of(node: Node) -> Node | None:
    """Return ``x`` if the node is ``1/x``."""
    name = node.op.name
    if name == "Reciprocal":
        return node.operands[0]
    if name == "Divide" and number_of(node.operands[0]) == 1:
        return node.operands[1]
    if name in POWERS and number_of(node.operands[1]) == -1:
        return node.operands[0]
    return None


def offset_of(node: Node) -> tuple[Node, float] | None:
    """Return ``(x, c)`` for ``x - c`` and ``x + -c``."""
    name = node.op.name
    if name == "Subtract" and (c := number_of(node.operands[1])) is not None:
        return node.operands[0], c
    if name == "Add":
        for x, y in (node.operands, node.operands[::-1]):
            if (c := number_of(y)) is not None and number_of(x) is None:
                return x, -c
    return None


#: What a sum of squares can end with; a mean is a quotient, but of tensors one step. Not a number,
#: which nothing is differentiated by: an exponent would be taken for one.
SUMS = (NUMBERS - {"Literal"}) | {
    "Add", "Contract", "Divide", "Maximum", "Mean", "Multiply", "Slice", "Square", "Sum",
    "Transpose", "Where", *POWERS,
}  # fmt: skip


def is_sum_of_squares(node: Node) -> bool:
    """Tell whether a node is a sum of squares (of numbers not negative, of products): >= +0.

    It may also be nan.
    """
    stack = [node]
    seen = set()
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        name, number = x.op.name, number_of(x)
        if number is not None:
            if number < 0:
                return False
        elif name in ("Add", "Sum", "Reshape", "Broadcast", "Slice", "Transpose"):
            stack.extend(x.operands)
        elif name == "Where":
            stack.extend(x.operands[1:])
        elif name == "Multiply":
            stack.extend(_unpaired(x))
        elif name == "Divide" and is_divisor(x.operands[1]):
            stack.append(x.operands[0])
        elif name == "Maximum":
            if at_least_zero(x) is None:
                return False
        elif name == "Contract":
            a, b = x.operands
            if a is not b or x.params["a"] != x.params["b"]:
                return False
        elif square_of(x) is None:
            return False
    return True


def is_squared_distance(node: Node) -> bool:
    """Tell whether a node is ``|a|**2 + |b|**2 - 2*a@b``, in any order: >= 0 but for rounding.

    It may be multiplied or divided by what is not negative.
    """
    return ends_of_distance(node) is not None


def ends_of_distance(node: Node) -> set[Node] | None:
    """Return the arrays between whose rows a node has squared distances; None for another."""
    terms: list[tuple[Node, bool]] = []
    while (name := node.op.name) in ("Divide", "Multiply"):
        x, y = node.operands
        if is_divisor(y):
            node = x
        elif name == "Multiply" and is_divisor(x):
            node = y
        else:
            return None
    stack = [(node, True)]
    while stack:
        x, plus = stack.pop()
        name = x.op.name
        if name in ("Add", "Subtract"):
            stack += [(x.operands[0], plus), (x.operands[1], plus == (name == "Add"))]
        elif name == "Negative":
            stack.append((x.operands[0], not plus))
        else:
            terms.append((x, plus))
        if len(terms) + len(stack) > 3:
            return None
    lengths = [_squared(x) for x, plus in terms if plus]
    products = [_factors_of_double(x) for x, plus in terms if not plus]
    if len(lengths) != 2 or len(products) != 1 or set(lengths) != products[0]:
        return None
    return products[0]


def _squared(x: Node) -> Node | None:
    """Return the array of which a node is the sum of squares, perhaps along an axis."""
    x = viewed(x)
    if x.op.name == "Contract" and x.operands[0] is x.operands[1]:
        return viewed(x.operands[0])
    inner = square_of(x.operands[0]) if x.op.name == "Sum" else None
    return None if inner is None else viewed(inner)


def _factors_of_double(x: Node) -> set[Node] | None:
    """Return the arrays of whose products, times 2, a node is the sum."""
    doubled, stack, found = 0, [x], set[Node]()
    while stack:
        y = viewed(stack.pop())
        if number_of(y) == 2:
            doubled += 1
        elif (
            y.op.name in ("Contract", "Sum")
            or (y.op.name == "Multiply" and any(number_of(z) == 2 for z in y.operands))
            or (y.op.name == "Multiply" and y is not x and not found)
        ):
            stack.extend(y.operands)
        else:
            found.add(y)
    return found if doubled == 1 else None


def at_least_zero(node: Node) -> Node | None:
    """Return ``x`` if a node is ``maximum(x, 0)`` of what is not negative but for rounding."""
    if node.op.name != "Maximum":
        return None
    for x, bound in (node.operands, node.operands[::-1]):
        if number_of(bound) == 0 and (is_squared_distance(x) or is_sum_of_squares(x)):
            return x
    return None


def is_divisor(node: Node) -> bool:
    """Tell whether what is not negative is so, infinite or nan when it is divided by a node."""
    return _never_vanishes(node) or is_count(node) or (
        node.op.name in _SQUARES and is_sum_of_squares(node)
    )  # fmt: skip


#: What a divisor that is a square can end with, and what a product of squares can.
_SQUARES = frozenset(("Square", "Multiply", "Reshape", "Broadcast", *POWERS))


#: Lengths of one part: their second derivative at 0 is 0 by convention where there is none.
ABSOLUTES = ("Absolute", "Fabs")


def is_absolute(length: Node) -> bool:
    """Tell whether a length is an absolute value: at its kink all derivatives are 0."""
    return length.op.name in ABSOLUTES


def is_still(root: Node) -> bool:
    """Tell whether a length may be 0 for good: that of the difference of an array and itself."""
    return still_points(root) is not None


def still_points(root: Node) -> Node | None:
    """Return the array of whose differences from itself a length is, None for another length.

    Distances of all points from each other are 0 for good on the diagonal.
    """
    stack, seen = list(root.operands), set[Node]()
    while stack:
        x = stack.pop()
        if x in seen or len(seen) > _FEW:
            continue
        seen.add(x)
        if x.op.name == "Subtract":
            a, b = (_source(y) for y in x.operands)
            ends = ends_of_distance(x)
            if a is b and a.shape:
                return a
            if ends is not None and len(ends) == 1:
                return _source(*ends)
        if x.op.kind in ("map", "reduce", "view", "contract"):
            stack.extend(x.operands)
    return None


def unscaled(points: Node, length: Node, moving: Collection[Node]) -> Node:
    """Return an array of points without the factors and divisors in ``moving`` that all share.

    Those are numbers; and, of all distances between the rows of an array, one for each column.
    """
    rows = length.shape[-1:] if length.shape[-2:] == points.shape[:1] * 2 else None
    x = points
    while x in moving and x.op.name in ("Multiply", "Divide"):
        scales = [y for y in x.operands if y in moving]
        if len(scales) != 1:
            break
        [scale] = scales
        if scale.shape and (rows is None or len(scale.shape) > 1 or scale.shape == rows):
            break
        [x] = [y for y in x.operands if y is not scale]
    return x


#: Of so many steps behind a length it is looked at what they are.
_FEW = 64


def _source(x: Node) -> Node:
    while x.op.kind in ("view", "gather"):
        x = x.operands[0]
    return x


def is_length(node: Node) -> bool:
    """Tell whether a node is a root of a sum of squares, or a power of it from 1/2 to 1."""
    if node.op.name in ("Power", "FloatPower"):
        power = number_of(node.operands[1])
        if power is None or not 0.5 <= power < 1:
            return False
    elif node.op.name != "Sqrt":
        return False
    return is_sum_of_squares(node.operands[0])


#: Steps of a product of powers that are looked at.
_STEPS = 24


def does_not_move(node: Node, barred: Collection[Node] = ()) -> bool:
    """Tell whether a node is a number whatever it is computed from: ``(d/2 - d)/(d/2)``."""
    coefficient, powers = _monomial(node, barred, [_STEPS])
    return not powers or coefficient == 0


def _monomial(
    node: Node, barred: Collection[Node], left: list[int]
) -> tuple[float, dict[Node, float]]:
    """Return a coefficient, and exponents of what else is in a product of powers.

    It is called for a few steps, so it may recurse.
    """
    number = number_of(node)
    if number is not None:
        return number, {}
    name, itself = node.op.name, (1.0, {node: 1.0})
    left[0] -= 1
    if node in barred or left[0] < 0 or name not in _OF_MONOMIALS:
        return itself
    (a, p), *rest = [_monomial(x, barred, left) for x in node.operands]
    b, q = rest[0] if rest else (1.0, {})
    if name == "Negative":
        return -a, p
    if name in ("Add", "Subtract"):
        sign = 1.0 if name == "Add" else -1.0
        if p == q:
            return a + sign * b, p
        return (a, p) if b == 0 else (sign * b, q) if a == 0 else itself
    if name in POWERS:
        if q or a <= 0 or not (p and b == int(b)):
            return itself
        return a**b, {x: k * b for x, k in p.items() if k * b}
    if name == "Square":
        b, q = a, p
    sign = -1.0 if name == "Divide" else 1.0
    if sign < 0 and b == 0:
        return itself
    powers = {x: p.get(x, 0.0) + sign * q.get(x, 0.0) for x in (*p, *q)}
    return (a * b if sign > 0 else a / b), {x: k for x, k in powers.items() if k}


_OF_MONOMIALS = frozenset(("Add", "Divide", "Multiply", "Negative", "Square", "Subtract", *POWERS))


def is_count(node: Node) -> bool:
    """Tell whether a node is how many there are: constants, sums of truth values, never negative.

    Divided by 0, a number that is not negative is infinite or nan.
    """
    while node.op.name in ("Sum", "Reshape", "Broadcast", "Cast"):
        node = node.operands[0]
    if node.op.name == "Maximum":
        return any((n := number_of(x)) is not None and n >= 0 for x in node.operands)
    if node.dtype.kind == "b":
        return True
    return isinstance(node, Constant) and not bool(np.any(np.signbit(node.array)))


def is_positive(node: Node) -> bool:
    """Tell whether a node is a positive number, a size, or ``where(x > 0, x, 1)``."""
    if node.op.name == "Where":
        condition, x, other = node.operands
        if condition.op.name != "Greater" or condition.operands[0] is not x:
            return False
        least = number_of(condition.operands[1])
        return least is not None and least >= 0 and is_positive(other)
    number = number_of(node)
    return node.op.name == "SizeOf" or (number is not None and number > 0)


def _never_vanishes(node: Node) -> bool:
    """Tell whether a node is positive for all arguments: ``exp(x)``, ``2**x``, ``log1p(2**x)``."""
    while node.op.name in VIEWS or node.op.name in ("Log1p", "Sqrt", "Reciprocal"):
        node = node.operands[0]
    if node.op.name in POWERS and node.operands:
        return is_positive(node.operands[0]) or _never_vanishes(node.operands[0])
    return node.op.name in ("Exp", "Exp2", "Expit") or is_positive(node)


def _unpaired(product: Node) -> list[Node]:
    """Return the factors of a product that are left when equal ones make squares."""
    odd: dict[Node, bool] = {}
    stack = [product]
    while stack:
        x = stack.pop()
        if x.op.name == "Multiply":
            stack.extend(x.operands)
        elif not _never_vanishes(x):
            odd[x] = not odd.get(x, False)
    return [x for x, left in odd.items() if left]

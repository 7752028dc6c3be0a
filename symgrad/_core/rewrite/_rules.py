"""The rewrite rules: named, with their side conditions beside them, as data.

A rule keeps the value: bit for bit, or (marked ``rounds=True``) up to rounding, and never
loses an infinity, a nan or the sign of a zero. ``x + 0.0`` is no rule, since it turns -0.0
into 0.0; ``x*0`` is none, since it is nan for infinite x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..base.fork_safety import cached_property
from ..graph import Constant, Literal, Node, apply, element_count
from ..op import Op, registry
from ..trace import cast
from ._matcher import Row
from ._recognition import NUMBERS, VIEWS, literal

OPS = registry.ops

#: Constant results of up to this many elements are computed while compiling.
FOLDED = 1 << 20


@dataclass(frozen=True)
class Rule(Row):
    """One rewrite.

    Parameters
    ----------
    name:
        What it does, in words or symbols.
    written:
        The formula that it replaces, or the ops at whose nodes it may apply.
    then:
        ``then(node, *operands)``, of the formula's operands or the node's, returns the
        replacement, or None where the side condition fails.
    rounds:
        Whether the replacement may differ by rounding.
    ulp:
        Of a rule that rounds: the largest error of the replacement, in units in the last place.
        0 where only bits that rounding does not decide may differ: signs of zeros, and what NumPy
        computes of the result.
    sees:
        Ops one of which must be among the operands; None for any.
    maps:
        Whether it may apply at all maps, but for those that users define.
    deep:
        Whether a rule without a formula looks at the operands of operands.
    """

    name: str
    written: Callable[..., Any] | tuple[str, ...]
    then: Callable[..., Node | None]
    rounds: bool = False
    ulp: float = 0.0
    sees: frozenset[str] | None = None
    maps: bool = False
    deep: bool = False
    exactly: ClassVar[bool] = True

    def concerns(self, op: Op) -> bool:
        """Tell whether the rule may apply at nodes of an op."""
        return super().concerns(op) or (self.maps and op.kind == "map" and registry.is_own(op))

    @cached_property
    def is_deep(self) -> bool:
        """Whether it looks at the operands of operands."""
        return self.deep or (self.pattern is not None and self.pattern.is_deep)

    def find(self, node: Node) -> Node | None:
        """Return what stands for ``node``, or None where the rule does not apply."""
        operands = self.found(node)
        return None if operands is None else self.then(node, *operands)


def build(name: str, *operands: Node, like: Node) -> Node:
    """Return the map op ``name`` on operands, with the shape and type of ``like``."""
    return apply(OPS[name], operands, (), like.shape, like.dtype)


def _same(node: Node, x: Node) -> Node | None:
    return x if x.shape == node.shape and x.dtype == node.dtype else None


def _is(x: Node, name: str) -> bool:
    return x.op.name == name


def _fold(node: Node, *operands: Node) -> Node | None:
    values = []
    for x in operands:
        if isinstance(x, Literal):
            values.append(x.value)
        elif isinstance(x, Constant):
            values.append(x.array)
        else:
            return None
    if not values or element_count(node) > FOLDED:
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(node.op.evaluate(*values, **node.params), node.dtype)
    if result.shape != node.shape:
        return None
    return Constant(result) if result.shape else Literal(result[()], node.dtype)


def _fold_everywhere(node: Node, *operands: Node) -> Node | None:
    """Compute once what is the same number everywhere."""
    numbers = [literal(x) for x in operands]
    views = [x for x in operands if _is(x, "Broadcast") and x.shape == node.shape]
    if not views or any(number is None for number in numbers):
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(node.op.evaluate(*numbers, **node.params), node.dtype)
    chain = [views[0]]
    while chain[-1].operands[0].operands:
        chain.append(chain[-1].operands[0])
    found: Node = Literal(result[()], node.dtype)
    for view in reversed(chain):
        found = apply(view.op, (found,), view.items, view.shape, node.dtype)
    return found


def _narrow(node: Node, *operands: Node) -> Node | None:
    """Drop a view whose work the op's own broadcasting does."""
    for k, x in enumerate(operands):
        single = _is(x, "Reshape") and not x.operands[0].shape
        if (single or _is(x, "Broadcast")) and any(
            y.shape == node.shape for j, y in enumerate(operands) if j != k
        ):
            inner = x.operands[0]
            return apply(node.op, (*operands[:k], inner, *operands[k + 1 :]), node.items,
                         node.shape, node.dtype)  # fmt: skip
    return None


#: Of bits: the other op, and which truth value leaves what it is joined with as it is.
_JOINS = {"BitwiseOr": ("BitwiseAnd", False), "BitwiseAnd": ("BitwiseOr", True)}

#: Ops of which a rule asks whether operands are the same node.
ALIKE = frozenset(_JOINS)


def _joined_again(node: Node, x: Node, y: Node) -> Node | None:
    """Return what has been joined already, or is more than the other one is."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return None
    if x is y:
        return x
    other, _ = _JOINS[node.op.name]
    for a, b in ((x, y), (y, x)):
        if a in b.operands and b.op.name in (node.op.name, other):
            return b if b.op is node.op else a
    return None


def _with_truth(node: Node, x: Node, y: Node) -> Node | None:
    """Return what a truth value that is known leaves of another one, of its shape."""
    if node.dtype != np.bool_:
        return None
    neutral = _JOINS[node.op.name][1]
    for a, b in ((x, y), (y, x)):
        known = literal(a)
        if known is not None and b.shape == node.shape:
            return b if known == neutral else _everywhere(node, known)
    return None


def _is_power_of_two(number: Any) -> bool:
    return number >= 2 and float(np.frexp(number)[0]) == 0.5


def _doubled(node: Node, *operands: Node) -> Node | None:
    """One product of two by numbers of which one is 2, 4, 8, ... and the other no fraction.

    Doubling is exact unless it overflows, and then the whole product does. What is multiplied by
    an integer before it is doubled is rounded as if it came after, for very small numbers too.
    """
    if node.dtype.kind != "f":
        return None
    for number, x in (operands, operands[::-1]):
        outer = literal(number)
        if outer is None or not _is(x, "Multiply") or x.shape != node.shape:
            continue
        for inner_number, inner in (x.operands, x.operands[::-1]):
            first = literal(inner_number)
            if first is None or inner.shape != node.shape or inner.dtype != node.dtype:
                continue
            exact = _is_power_of_two(first) and abs(outer) >= 1
            exact |= _is_power_of_two(outer) and abs(first) >= 1 and first == np.trunc(first)
            with np.errstate(over="ignore", invalid="ignore"):
                product = node.dtype.type(outer) * node.dtype.type(first)
            if exact and np.isfinite(product):
                return build("Multiply", Literal(product, node.dtype), inner, like=node)
    return None


def _zeroth_power(node: Node, x: Node) -> Node | None:
    """1, of a nan as well."""
    return None if node.dtype.kind != "f" else _everywhere(node, 1)


def _everywhere(node: Node, number: Any) -> Node:
    """Return a number in the shape and type of a node."""
    one = Literal(number, node.dtype)
    if not node.shape:
        return one
    return apply(OPS["Broadcast"], (one,), (("shape", node.shape),), node.shape, node.dtype)


def _chosen(node: Node, condition: Node, a: Node, b: Node) -> Node | None:
    """Return the number that is chosen, as an array."""
    if literal(condition) is None:
        return None
    number = literal(a if literal(condition) else b)
    return None if number is None else _everywhere(node, number)


def _integer_power(node: Node, x: Node, y: Node) -> Node | None:
    n = literal(y)
    if n is None or node.dtype.kind != "f" or x.shape != node.shape:
        return None
    if n == 1:
        return x
    if n == 2:
        return build("Multiply", x, x, like=node)
    if n == -1:
        return build("Divide", Literal(1, node.dtype), x, like=node)
    return None


def _cube(node: Node, x: Node, y: Node) -> Node | None:
    n = literal(y)
    if n not in (3, 4) or node.dtype.kind != "f" or x.shape != node.shape:
        return None
    square = build("Multiply", x, x, like=node)
    return build("Multiply", square, square if n == 4 else x, like=node)


def _cast_twice(node: Node, x: Node) -> Node | None:
    if not _is(x, "Cast"):
        return None
    inner = x.operands[0]
    # NumPy calls int64 to float64 safe, but it rounds above 2**53.
    rounds = inner.dtype.kind in "iu" and x.dtype.kind == "f" and inner.dtype.itemsize == 8
    exact = np.can_cast(inner.dtype, x.dtype, "safe") and not rounds
    return cast(inner, node.dtype) if exact else None


def _view_of(name: str, merge: Callable[[Node, Node], Node | None]) -> Callable[..., Node | None]:
    def then(node: Node, x: Node) -> Node | None:
        if x.shape == node.shape and node.op.name != "Transpose":
            return x
        return merge(node, x) if _is(x, name) else None

    return then


def _transpose(node: Node, x: Node) -> Node | None:
    axes = node.params["axes"]
    if axes == tuple(range(len(axes))):
        return x
    if not _is(x, "Transpose"):
        return None
    inner = x.params["axes"]
    items = (("axes", tuple(inner[k] for k in axes)),)
    return apply(node.op, x.operands, items, node.shape, node.dtype)


def _whole_slice(node: Node, x: Node) -> Node | None:
    region = node.params["region"]
    whole = all(entry == (0, 1, n) for entry, n in zip(region, x.shape, strict=True))
    return x if whole else None


def _read_back(node: Node, x: Node) -> Node | None:
    """Reading exactly the region that a part was written to gives the part."""
    if not _is(x, "Assemble") or not x.params["disjoint"]:
        return None
    wanted, regions = node.params["region"], x.params["regions"]
    for part, region in zip(x.operands, regions, strict=True):
        if region == wanted:
            return cast(part, node.dtype)
    element = _element(wanted)
    if element is not None:
        written = [_element(region) for region in regions]
        if element in written:
            return cast(x.operands[written.index(element)], node.dtype)
        if None not in written:
            return Literal(0, node.dtype)  # between the parts there are zeros
    return None


def _whole_part(node: Node, x: Node, *more: Node) -> Node | None:
    """An assembly of one part that fills it is that part, up to axes of length one."""
    if more or not node.params["disjoint"] or x.dtype != node.dtype:
        return None
    (region,) = node.params["regions"]
    for (start, step, size), extent in zip(region, node.shape, strict=True):
        if start != 0 or step != 1 or extent != (1 if size is None else size):
            return None
    if x.shape == node.shape:
        return x
    return apply(OPS["Reshape"], (x,), (("shape", node.shape),), node.shape, node.dtype)


def _element(region: tuple[tuple[object, int, object], ...]) -> tuple[object, ...] | None:
    """Return the place of a region that is one element at a known place, or None."""
    known = all(size is None and isinstance(start, int) for start, _, size in region)
    return tuple([start for start, _, _ in region]) if known else None


def _reuse(node: Node, x: Node) -> Node:
    return apply(node.op, x.operands, node.items, node.shape, node.dtype)


def _is_identity(node: Node) -> bool:
    """Tell whether ``node`` is a square matrix of ones on the diagonal and zeros."""
    if node.op.name != "DiagEmbed" or node.params["offset"] != 0 or node.ndim != 2:
        return False
    ones = node.operands[0]
    return literal(ones) == 1 and node.shape[0] == node.shape[1]


def _product_with_identity(node: Node, x: Node, y: Node) -> Node | None:
    """Return the other operand, its axes in the order of the result's.

    The sum over j of x[..., j, ...]*I[j, k] is x[..., k, ...]: multiplied out it would be
    rounded to the same, but for infinities times zero and for the sign of zeros.
    """
    p = node.params
    for matrix, other, letters, rest in ((x, y, p["a"], p["b"]), (y, x, p["b"], p["a"])):
        if not _is_identity(matrix) or other.dtype != node.dtype:
            continue
        for summed, kept in (letters, letters[::-1]):
            named = rest.replace(summed, kept)
            if summed in rest and kept not in rest and sorted(named) == sorted(p["out"]):
                axes = tuple(named.index(s) for s in p["out"])
                if axes == tuple(range(len(axes))):
                    return other
                items = (("axes", axes),)
                return apply(OPS["Transpose"], (other,), items, node.shape, node.dtype)
    return None


RULES: tuple[Rule, ...] = (
    Rule("constant folding", (), _fold, maps=True, sees=frozenset(("Literal", "Constant"))),
    Rule("x*1 = x", lambda x: x * 1, _same),
    Rule("1*x = x", lambda x: 1 * x, _same),
    Rule("x/1 = x", lambda x: x / 1, _same),
    Rule("x - 0 = x", lambda x: x - 0.0, _same),
    Rule("x + -0 = x", lambda x: x + -0.0, _same),
    Rule("-0 + x = x", lambda x: -0.0 + x, _same),
    Rule("x*(-1) = -x", lambda x: x * -1,
         lambda n, x: build("Negative", x, like=n) if x.shape == n.shape else None),
    Rule("-(-x) = x", lambda x: np.negative(-x), lambda n, x: x),
    Rule("-((-x)*y) = x*y", lambda x, y: -(-x * y),
         lambda n, x, y: build("Multiply", x, y, like=n)),
    Rule("-(x*(-y)) = x*y", lambda x, y: -(x * -y),
         lambda n, x, y: build("Multiply", x, y, like=n)),
    Rule("x + (-y) = x - y", lambda x, y: x + -y,
         lambda n, x, y: build("Subtract", x, y, like=n)),
    Rule("(-x) + y = y - x", lambda x, y: -x + y,
         lambda n, x, y: build("Subtract", y, x, like=n)),
    Rule("x - (-y) = x + y", lambda x, y: x - -y, lambda n, x, y: build("Add", x, y, like=n)),
    Rule("(-x)*(-y) = x*y", lambda x, y: -x * -y,
         lambda n, x, y: build("Multiply", x, y, like=n)),
    Rule("a*(2*x) = (2*a)*x", ("Multiply",), _doubled, sees=NUMBERS, deep=True),
    Rule("x**0 = 1", lambda x: x**0.0, _zeroth_power),
    Rule("x**1, x**2, x**-1 as products", ("Power",), _integer_power, rounds=True,
         ulp=0.5, sees=NUMBERS),
    # Each product adds half a unit to what it is given, which may be twice as many units.
    Rule("x**3, x**4 as products", ("Power",), _cube, rounds=True, ulp=2.5, sees=NUMBERS),
    Rule(
        "where(True, a, b) = a", ("Where",),
        lambda n, c, a, b: None if literal(c) is None else _same(n, a if literal(c) else b),
        sees=NUMBERS,
    ),
    # The guards of derivatives are joined over and over.
    Rule("x | x = x, x | (x & y) = x", tuple(_JOINS), _joined_again, deep=True),
    Rule("False | x = x, False & x = False", tuple(_JOINS), _with_truth, sees=NUMBERS),
    # NumPy has other bits for powers by one number than for powers by as many.
    Rule("where(True, 1, b) = 1", ("Where",), _chosen, rounds=True, sees=NUMBERS),
    Rule("the same number everywhere", (), _fold_everywhere, maps=True,
         sees=frozenset(("Broadcast",))),
    Rule("needless broadcast", (), _narrow, maps=True, sees=frozenset(VIEWS)),
    Rule("convert twice", ("Cast",), _cast_twice, sees=frozenset(("Cast",))),
    Rule("reshape of reshape", ("Reshape",), _view_of("Reshape", _reuse)),
    Rule("broadcast of broadcast", ("Broadcast",), _view_of("Broadcast", _reuse)),
    Rule("transpose of transpose", ("Transpose",), _transpose),
    Rule("whole slice", ("Slice",), _whole_slice),
    Rule("assembly of the whole", ("Assemble",), _whole_part),
    Rule("product with the identity", ("Contract",), _product_with_identity, rounds=True,
         sees=frozenset(("DiagEmbed",))),
    Rule("slice of what was assembled", ("Slice",), _read_back),
)  # fmt: skip

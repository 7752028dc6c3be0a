"""The law of the intermediate representation of one node, as data.

A :class:`Law` has a name and a predicate that returns None, or says in words how the node
breaks it. The laws stand in the order in which they may rely on each other.

Where sizes are symbols, a law asks whether it holds of the example call, and records a guard for
what only that shows: the sizes for which the node is sound are those that satisfy them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import sympy as sp

from ...errors import SymgradError
from ..base.broadcast import broadcast, show
from ..base.signals import foreseen
from ..base.sizes import Shape, agree, as_size, hint
from ..op import (
    AXES,
    AXIS,
    ORDER,
    REGION,
    REGIONS,
    ArrayOp,
    Bodied,
    Map,
    Op,
    Param,
    is_size,
    registry,
)
from ._body import Body, Rule, bodies, size_symbols
from ._leaves import Constant, Input, Iota, Literal, SizeOf
from ._node import Node, topological
from ._types import SUPPORTED, TOKEN, array_type, resolve

T = TypeVar("T")

#: What a rule raises when its operands or parameters make no sense to it.
RULE_ERRORS = (
    SymgradError, TypeError, ValueError, KeyError, IndexError, AttributeError, AssertionError,
)  # fmt: skip


#: Nodes that have been found to break no law. They never change.
SOUND: weakref.WeakSet[Node] = weakref.WeakSet()


@dataclass(frozen=True)
class Law(Generic[T]):
    """A law: its name, and what is wrong with a subject that breaks it (None: nothing)."""

    name: str
    broken: Callable[[T], str | None]


@dataclass(frozen=True)
class Draft:
    """A node before it is made: what the laws look at."""

    op: Op
    operands: tuple[Node, ...]
    items: tuple[tuple[str, Any], ...]
    shape: Shape
    dtype: np.dtype[Any]

    @property
    def params(self) -> dict[str, Any]:
        """The static parameters as a dict."""
        return dict(self.items)


# ---------------------------------------------------------------- what a node is made of

_LEAVES = (Input, Literal, Constant, SizeOf, Iota)


def _operation(node: Node | Draft) -> str | None:
    if node.op.kind == "leaf":
        return None if isinstance(node, _LEAVES) else f"{node.op.name} is no kind of leaf"
    places = (registry.ops, registry.steps, registry.formulas)
    known = next((ops[node.op.name] for ops in places if node.op.name in ops), None)
    return None if known is node.op else f"{node.op.name} is not in the registry"


def _operands(node: Node | Draft) -> str | None:
    operands: Sequence[Any] = node.operands
    stray = next((x for x in operands if not isinstance(x, Node)), None)
    if stray is not None:
        return f"its operand {stray!r:.40} is no node"
    count, op = len(node.operands), node.op
    if op.kind == "leaf":
        return f"a leaf has no operands, this one has {count}" if count else None
    if isinstance(op, Map) and op.arity != count:
        return f"{op.name} takes {op.arity} operands, it has {count}"
    return None if count else f"{op.name} needs an operand"


def _element_type(node: Node | Draft) -> str | None:
    if node.op.kind in ("loop", "branch"):  # it stands for its results, and is no value itself
        return None if node.dtype == TOKEN else f"{node.dtype} is the type of a value"
    return None if node.dtype in SUPPORTED else f"{node.dtype} is no type that symgrad computes in"


def _sizes(node: Node | Draft) -> str | None:
    for dim in node.shape:
        if not is_size(dim):
            return f"{dim!r:.40} in its shape is neither an integer nor made of size symbols"
        if not isinstance(dim, sp.Symbol) and as_size(dim) < 0:
            return f"the size {dim} in its shape is negative"
    return None


def _frozen(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_frozen, value))
    return value is None or isinstance(value, (bool, int, str, Body, Rule)) or is_size(value)


def _parameters(node: Node | Draft) -> str | None:
    names = [name for name, _ in node.items]
    if names != sorted(set(names)):
        return f"the parameters {', '.join(names)} are not sorted by name"
    bad = next((name for name, value in node.items if not _frozen(value)), None)
    if bad is not None:
        return f"the parameter {bad} is no nested tuple of sizes and text"
    return _declared(node) if node.op.name in registry.ops else None


def _declared(node: Node | Draft) -> str | None:
    """What is wrong with the parameters by the types that the op's record declares."""
    types = node.op.params
    for name, value in node.items:
        if name not in types:
            known = ", ".join(types) or "none"
            return f"{node.op.name} has no parameter {name} (its parameters: {known})"
        if not types[name].admits(value):
            return f"the parameter {name} is {value!r:.60}, not {types[name].words}"
    given = dict(node.items)
    missing = next((k for k, type_ in types.items() if type_.required and k not in given), None)
    return None if missing is None else f"{node.op.name} needs the parameter {missing}"


def _sound_bodies(node: Node | Draft) -> str | None:
    for body in bodies(node):
        for inner in topological(body.outputs):
            if inner in SOUND:  # of a loop that a pass has made of another
                continue
            broken = broken_law(inner)
            if broken is not None:
                return f"in its body, {inner.op.name} breaks the law {broken[0]!r}: {broken[1]}"
            SOUND.add(inner)
    return node.op.fits(node) if isinstance(node.op, Bodied) else None


def _projected(node: Node | Draft) -> str | None:
    if node.op.kind not in ("result", "tape"):
        return None
    if len(node.operands) != 1 or not isinstance(node.operands[0].op, Bodied):
        return "its operand is no loop and no branch"
    return None


# ---------------------------------------------------------------- leaves


def _literal(node: Node | Draft) -> str | None:
    if not isinstance(node, (Literal, SizeOf)):
        return None
    if node.shape != ():
        return f"it has shape {show(node.shape)}"
    if isinstance(node, Literal) and np.asarray(node.value).dtype != node.dtype:
        return f"its number is of type {np.asarray(node.value).dtype}, not {node.dtype}"
    return None


def _constant(node: Node | Draft) -> str | None:
    if not isinstance(node, Constant):
        return None
    array = node.array
    if array.shape != node.shape or array.dtype != node.dtype:
        return f"its array is {array.dtype}{list(array.shape)}"
    if array.flags.writeable or not array.flags.c_contiguous:
        return "its array can be written to, or is not in C order"
    return None


# ---------------------------------------------------------------- places within operands


def _outside(region: Sequence[Any], shape: Shape) -> str | None:
    if len(region) != len(shape):
        return f"a region of {len(region)} axes in an array of {len(shape)}"
    for (start, step, size), extent in zip(region, shape, strict=True):
        if size == extent and start == 0 and step == 1:
            continue
        if size is not None and hint(size) == 0 and as_size(size) == 0:
            continue
        first, count = as_size(start), 1 if size is None else as_size(size)
        last = first + step * (count - 1)
        low, high = (first, last) if step > 0 else (last, first)
        if step == 0 or low < 0 or high >= as_size(extent):
            return f"the range {start}:{step}:{size} is not within an axis of size {extent}"
    return None


def _parts(node: Node | Draft, regions: Sequence[Sequence[Any]]) -> str | None:
    for region, part in zip(regions, node.operands, strict=True):
        wrong = _outside(region, node.params["shape"])
        sizes = tuple(n for _, _, n in region if n is not None)
        if wrong is None and not agree(part.shape, sizes):
            wrong = f"a part of shape {show(part.shape)} in a region of {show(sizes)}"
        if wrong is not None:
            return wrong
    return None


def _operand_shapes(node: Node | Draft) -> str | None:
    """What the record says of operands and parameters that a shape rule takes as they come."""
    if not isinstance(node.op, ArrayOp) or node.op.fits is None:
        return None
    try:
        return node.op.fits(node)
    except foreseen(*RULE_ERRORS) as error:
        return f"its operands do not go together: {error}"


def _axes(node: Node | Draft, axes: Sequence[int]) -> str | None:
    ndim = len(node.params["shape"]) if node.op.kind == "scatter" else node.operands[0].ndim
    if len(set(axes)) == len(axes) and all(0 <= a < ndim for a in axes):
        return None
    return f"{axes} are not distinct axes of {ndim}"


def _order(node: Node | Draft, axes: Sequence[int]) -> str | None:
    ndim = node.operands[0].ndim
    return None if len(axes) == ndim else f"{axes} is no permutation of {ndim} axes"


def _each(laws: Mapping[Param, Callable[..., str | None]]) -> Callable[[Node | Draft], str | None]:
    """Return a law of a node's parameters: for each type of them what is wrong with a value."""

    def broken(node: Node | Draft) -> str | None:
        for name, value in node.items:
            kind = node.op.params.get(name)
            law = None if kind is None else laws.get(kind)
            wrong = None if law is None else law(node, value)
            if wrong is not None:
                return wrong
        return None

    return broken


_AXES = _each({
    AXES: _axes, AXIS: lambda node, axis: _axes(node, (axis,)),
    ORDER: lambda node, axes: _axes(node, axes) or _order(node, axes),
})  # fmt: skip
_REGIONS = _each({
    REGION: lambda node, region: _outside(region, node.operands[0].shape), REGIONS: _parts,
})  # fmt: skip


# ---------------------------------------------------------------- rules


def shape_by_rule(node: Node | Draft) -> Shape:
    """Return the shape that the op's rule gives."""
    shapes = [x.shape for x in node.operands]
    if node.op.kind == "map":
        return broadcast(*shapes)
    if node.op.kind in ("result", "tape"):
        return _projection(node)[0]
    if node.op.kind in ("loop", "branch"):
        return ()
    assert isinstance(node.op, ArrayOp)
    return tuple(node.op.shape(*shapes, **node.params))


def _projection(node: Node | Draft) -> tuple[Shape, np.dtype[Any]]:
    [source] = node.operands
    assert isinstance(source.op, Bodied)
    found: tuple[Shape, np.dtype[Any]] = source.op.results(
        source, node.params["index"], node.op.kind
    )
    return found


def _shape_rule(node: Node | Draft) -> str | None:
    if node.op.kind == "leaf":
        if isinstance(node, Iota) and node.shape != (node.size,):
            return f"its shape is {show(node.shape)}, it has {node.size} elements"
        return None
    try:
        expected = shape_by_rule(node)
        if agree(node.shape, expected):
            return None
    except foreseen(*RULE_ERRORS) as error:
        return f"its shape rule fails: {error}"
    shapes = " ".join(show(x.shape) for x in node.operands)
    return f"its shape is {show(node.shape)}, the rule gives {show(expected)} for {shapes}"


def types_by_rule(node: Node | Draft) -> tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]:
    """Return the operand types and the result type that the op's rule gives."""
    kinds = tuple(x.dtype for x in node.operands)
    if node.op.kind == "map":
        return resolve(node.op, kinds, node.items)
    if node.op.kind in ("result", "tape"):
        return kinds, _projection(node)[1]
    if node.op.kind in ("loop", "branch"):
        return kinds, TOKEN
    return kinds, array_type(node.op, kinds, node.params)


def _type_rule(node: Node | Draft) -> str | None:
    if node.op.kind == "leaf":
        wrong = isinstance(node, Iota) and node.dtype != np.int64
        return f"a range is of type int64, not {node.dtype}" if wrong else None
    try:
        _, expected = types_by_rule(node)
    except foreseen(*RULE_ERRORS) as error:
        return f"its type rule fails: {error}"
    if expected == node.dtype:
        return None
    kinds = ", ".join(x.dtype.name for x in node.operands)
    return f"its type is {node.dtype}, the rule gives {expected} for {kinds}"


def _operand_types(node: Node | Draft) -> str | None:
    if node.op.kind != "map":
        return None
    expected, _ = types_by_rule(node)
    kinds = tuple(x.dtype for x in node.operands)
    if kinds == expected:
        return None
    have, want = (", ".join(k.name for k in types) for types in (kinds, expected))
    return f"its operands are {have}, {node.op.name} computes in {want}"


NODE_LAWS: tuple[Law[Node | Draft], ...] = (
    Law("a registered op", _operation),
    Law("operands are nodes, as many as the op takes", _operands),
    Law("a supported element type", _element_type),
    Law("sizes are integers or expressions in size symbols", _sizes),
    Law("parameters are frozen", _parameters),
    Law("bodies are sound and fit their operands", _sound_bodies),
    Law("results are those of a loop or a branch", _projected),
    Law("literals are single numbers of their type", _literal),
    Law("constants are frozen arrays", _constant),
    Law("axes are axes of the operand", _AXES),
    Law("regions lie within", _REGIONS),
    Law("operands fit the op and each other", _operand_shapes),
    Law("the shape is what the shape rule gives", _shape_rule),
    Law("the type is what the type rule gives", _type_rule),
    Law("map operands have the types that the op computes in", _operand_types),
)


def broken_law(node: Node | Draft) -> tuple[str, str] | None:
    """Return the name of the first law that a node breaks and what is wrong, or None."""
    for law in NODE_LAWS:
        complaint = law.broken(node)
        if complaint is not None:
            return law.name, complaint
    return None


__all__ = ["Draft", "Law", "broken_law", "shape_by_rule", "size_symbols", "types_by_rule"]

"""Forward mode: a pass that carries tangents along with the values of a graph.

A tangent has a guard, as cotangents have in reverse mode: a branch that is not taken adds
nothing, whatever the slopes before and behind it. ``np.sqrt(np.maximum(x, 0.0))`` at -1 has
the derivative 0, not ``0*inf``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..base.state import at, within
from ..graph import Literal, Node, carrying, checked, topological
from ..op import PROJECTIONS, Bodied, Linear, Op
from ..rewrite import Way, shortcuts, spectral_ways
from ..trace import Traced, as_node, cast, partials
from .guards import Guarded, added, ahead, conditions, in_turn, narrowed, settled
from .support import Support, dependents, held


def pushed(
    outputs: Sequence[Node], tangents: Mapping[Node, Node], fixed: bool = False,
    constants: Collection[Node] = (),
) -> list[Node | None]:  # fmt: skip
    """Return the tangents of ``outputs`` for the given tangents of some nodes.

    First derivatives of lengths are steps like others here: :func:`.limits.push_forward` puts
    their limits in their places before.

    Parameters
    ----------
    outputs:
        Nodes to differentiate.
    tangents:
        Tangents of nodes (usually inputs), of the same shapes and types.
    fixed:
        Whether the given tangents are no values of a chain that began elsewhere.
    constants:
        Nodes that do not move, whatever they are made of.

    Returns
    -------
    list
        One node for each output, None where it is zero.
    """
    found = {x: Guarded(t) for x, t in tangents.items()}
    results: dict[Node, Callable[[Node], Node | None]] = {}  # of loops and branches
    counts: dict[Node, Node | None] = {}  # where their tangents can differ from 0
    order = carrying(topological(outputs), outputs)
    ways = spectral_ways(order, list(tangents), shortcuts(order, list(tangents)), constants)
    active = dependents(order, list(tangents), constants)
    support = Support(order, active, () if fixed else tangents.values())
    with within():
        for node in order:
            if node.op.kind in PROJECTIONS and node.operands[0] in results:
                slope = results[node.operands[0]](node)
                if slope is not None:
                    where = None if node.op.kind == "tape" else counts[node.operands[0]]
                    found[node] = Guarded(slope if where is None else _held(slope, where))
                continue
            inner = isinstance(node.op, Bodied)
            if node in found or node in constants or (node.dtype.kind != "f" and not inner):
                continue
            way = ways.get(node)
            given = [found.get(x) for x in (node if way is None else way).operands]
            beside = {} if way is None else {x: found[x] for x in way.beside if x in found}
            if all(t is None for t in given) and not beside:
                continue
            at(node.where)
            if inner:
                results[node] = node.op.products.jvp(_settled(given), node)
                counts[node] = _counting(node, given, support)
                continue
            if way is None:
                tangent = _rule(node, given, support)
            elif all(t is None for t in given):
                tangent = None
            else:
                tangent = _past(node, way, given, support)
            if beside:
                assert way is not None
                through = {x: settled(t) for x, t in beside.items()}
                root, other = way.detour(node)
                [more] = pushed([root], through, constants={*constants, *other})
                parts = [t for t in (tangent, None if more is None else Guarded(more)) if t]
                tangent = added(parts, in_turn) if parts else None
            if tangent is not None:
                found[node] = tangent._replace(value=fitted(tangent.value, node))
        return checked("forward mode", _settled([found.get(x) for x in outputs]))


def _counting(node: Node, tangents: Sequence[Guarded | None], support: Support) -> Node | None:
    """Return where the tangents of a loop's results can differ from 0; None: everywhere."""
    if node.params.get("elements"):  # of other steps' elements, too
        return None
    found: list[Any] = []
    for t in tangents:
        if t is not None:
            where = support.around(node, t.value)
            if where is None:
                return None
            found.append(Traced(where))
    return as_node(reduce(np.logical_or, found)) if found else None


def _held(slope: Node, where: Node) -> Node:
    """Return the tangent of a loop's result, 0 where no element that moves counts in it."""
    lead = slope.ndim - where.ndim
    return as_node(held(Traced(slope), where)) if slope.shape[lead:] == where.shape else slope


def _settled(tangents: Sequence[Guarded | None]) -> list[Node | None]:
    return [None if t is None else settled(t) for t in tangents]


def _plain(tangents: Sequence[Guarded | None]) -> list[Any]:
    return [None if t is None else Traced(settled(t)) for t in tangents]


def _rule(node: Node, tangents: Sequence[Guarded | None], support: Support) -> Guarded | None:
    op, xs = node.op, [Traced(x) for x in node.operands]
    if not op.differentiable:
        return None
    if op.kind == "map":
        return _elementwise(node, tangents, xs, support)
    if op.linear is not None:
        value = _linear(op, op.linear, node, _plain(tangents), xs)
    else:
        given = support.past_zeros(node, _plain(tangents))
        value = op.products.jvp(given, Traced(node), *xs, **node.params)
    if value is None:
        return None
    return Guarded(as_node(value), ahead(node, tangents, xs))


def _elementwise(
    node: Node, tangents: Sequence[Guarded | None], xs: Sequence[Any], support: Support
) -> Guarded | None:
    """The sum of slopes times tangents, each under its guard and that of its branch."""
    slopes = partials(node.op, Traced(node), xs, node.params)
    own = conditions(node.op, Traced(node), xs, node.params, support.selects)
    parts: list[Guarded] = []
    for t, slope, new in zip(tangents, slopes, own, strict=True):
        if t is None or slope is None or (isinstance(slope, (int, float)) and slope == 0):
            continue
        guard = narrowed(t.guard, new)
        if guard is None:
            continue
        unit = isinstance(slope, (int, float)) and abs(slope) == 1
        before = Traced(t.value)
        term = (before if slope == 1 else -before) if unit else before * slope
        term = support.product(node, t.value, slope, term)
        clean = t.clean and unit and len(guard) == len(t.guard)
        parts.append(Guarded(as_node(term), guard, clean or not guard))
    return added(parts, in_turn) if parts else None


def _past(node: Node, way: Way, tangents: Sequence[Guarded | None], support: Support) -> Guarded:
    """Return the tangent of a formula that is gone past."""
    if way.elementwise and any(t and support.vanishes(node, t.value) for t in tangents):
        terms = [
            support.past(node, t.value, [way.push(only)])[0]
            for t, only in zip(tangents, _each(_plain(tangents)), strict=True)
            if t is not None
        ]
        return Guarded(as_node(sum(terms[1:], start=terms[0])))
    guards = {t.guard for t in tangents if t is not None}
    if not way.elementwise or len(guards) > 1:
        return Guarded(as_node(way.push(_plain(tangents))))
    (guard,) = guards
    pushed = [None if t is None else Traced(t.value) for t in tangents]
    return Guarded(as_node(way.push(pushed)), guard, not guard)


def _each(tangents: list[Any]) -> list[list[Any]]:
    """Return the tangents one by one, the others None."""
    return [[t if j == k else None for j, t in enumerate(tangents)] for k in range(len(tangents))]


def _linear(op: Op, rule: Linear, node: Node, tangents: list[Any], xs: list[Any]) -> Any:
    """A linear op applied to its tangents, zeros where there is none."""
    linear = rule.places(len(xs))
    if all(tangents[k] is None for k in linear):
        return None
    operands = [
        x if k not in linear else np.zeros_like(x) if t is None else t
        for k, (x, t) in enumerate(zip(xs, tangents, strict=True))
    ]
    return op(*operands, **node.params)


def fitted(tangent: Node, node: Node) -> Node:
    """Bring a tangent to the shape and the element type of its value."""
    result = cast(tangent, node.dtype)
    if result.shape == node.shape:
        return result
    if isinstance(result, Literal) and result.value == 0:
        return as_node(np.zeros_like(Traced(node)))
    return as_node(np.broadcast_to(Traced(result), Traced(node).shape))

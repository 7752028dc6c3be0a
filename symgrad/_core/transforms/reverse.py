"""Reverse mode: a pass that extends a graph by its adjoint program.

The walk visits each node once, users before operands, and pulls the cotangent of a node
back to its operands through the rule in the op's record. What is common to all rules is
done here, once: un-broadcasting, element types, the order of accumulation, zeros (a node
without a cotangent costs nothing), guards (a branch that is not taken adds nothing, whatever
its slope) and the provenance of adjoint nodes.

Source: A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 3.2.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.state import at, now, within
from ..graph import Node, apply, checked, merged, topological
from ..op import PROJECTIONS, Linear, Op, Products, registry
from ..ops import unbroadcast
from ..rewrite import Way, shortcuts, simplified, spectral_ways
from ..trace import Traced, as_node, bind, cast, partials
from .guards import (
    Guarded,
    added,
    added_in_turn,
    behind,
    conditions,
    narrowed,
    only,
    settled,
    summed,
    through,
    where_read,
    without_tapes,
)
from .limits import with_limits
from .support import Support, dependents

_ADD = registry.ops["Add"]


def pull_back(
    outputs: Sequence[Node], cotangents: Sequence[Node | None], wrt: Sequence[Node],
    fixed: bool = False,
) -> list[Node | None]:  # fmt: skip
    """Return the cotangents of ``wrt`` for the given cotangents of ``outputs``.

    Parameters
    ----------
    outputs, cotangents:
        Nodes and their cotangents, of the same shapes and types; None is zero.
    wrt:
        The nodes to differentiate with respect to, usually inputs.
    fixed:
        Whether the given cotangents are no values of a chain that goes on elsewhere.

    Returns
    -------
    list
        One node for each of ``wrt``, None where nothing flows.
    """
    given = [None if ct is None else Guarded(ct) for ct in cotangents]
    found = pull_back_guarded(outputs, given, wrt, False, fixed)
    return checked("reverse mode", [None if ct is None else ct.value for ct in found])


def pull_back_guarded(
    outputs: Sequence[Node], cotangents: Sequence[Guarded | None], wrt: Sequence[Node],
    inner: bool = True, fixed: bool = False,
) -> list[Guarded | None]:  # fmt: skip
    """Return the cotangents that :func:`pull_back` returns, clean, with their guards.

    ``inner`` says that ``wrt`` are inputs of a body, so that guards count beyond them.
    """
    with within(), simplified():
        found = _walk_back(outputs, cotangents, wrt, inner, fixed)
    return [found.get(node) for node in wrt]


def _walk_back(
    outputs: Sequence[Node], cotangents: Sequence[Guarded | None], wrt: Sequence[Node],
    inner: bool, fixed: bool, constants: Collection[Node] | None = None,
) -> dict[Node, Guarded]:  # fmt: skip
    """Return the cotangents of ``wrt``; with ``constants``, what flows no further than there."""
    outputs = with_limits(outputs, wrt)
    order = topological(outputs)
    numbers = now().numbers
    if numbers is not None:  # the order in which eager tensors go back
        order.sort(key=lambda node: numbers.get(node, -1))
    active = dependents(order, wrt, constants or ())
    ways = shortcuts(order, wrt) if numbers is None else _ways_apart(order, wrt)
    if numbers is None:
        ways = spectral_ways(order, wrt, ways, constants or ())
    seeds = () if fixed else [None if ct is None else ct.value for ct in cotangents]
    support = Support(order if numbers is None else (), active, seeds)
    pending: dict[Node, list[Guarded]] = {}
    for node, given in zip(outputs, cotangents, strict=True):
        if given is not None and node in active:
            pending.setdefault(node, []).append(given)
    wanted = set(wrt)
    found: dict[Node, Guarded] = {}
    results: dict[Node, dict[Node, Guarded]] = {}  # of loops and branches
    for node in reversed(order):
        if node in results:
            at(node.where)
            for operand, sent in zip(node.operands, _inner(node, results, active), strict=True):
                if sent is not None:
                    pending.setdefault(operand, []).append(sent)
            continue
        parts = pending.pop(node, None)
        if parts is None:
            continue
        if node.where is not None:
            at(node.where)
        if node.op.kind == "tape" and len(parts) > 1:
            parts = [without_tapes(ct) for ct in parts]
        ct = added(parts, accumulate) if numbers is None else added_in_turn(parts)
        if node.op.kind in PROJECTIONS:
            results.setdefault(node.operands[0], {})[node] = _of_result(node, ct, support)
        if node in wanted:
            found[node] = Guarded(settled(ct), ct.guard)
            if constants is not None:
                continue
        if not node.operands or node.op.kind in PROJECTIONS:
            continue
        if node in ways:
            way = ways[node]
            beside = [x for x in way.beside if x in active]
            if beside:
                root, other = way.detour(node)
                whole = [Guarded(settled(ct), ct.guard)]
                others = _walk_back(
                    [root], whole, beside, True, False, {*(constants or ()), *other}
                )
                for operand, along in others.items():
                    pending.setdefault(operand, []).append(along)
            operands = way.operands
            passed = _past(way, node, ct, active, inner, support)
        else:
            operands = node.operands
            passed = _rule(node, ct, active, inner, support)
        for operand, part in zip(operands, passed, strict=True):
            if part is not None:
                pending.setdefault(operand, []).append(part)
    return found


def _of_result(node: Node, ct: Guarded, support: Support) -> Guarded:
    """Return the cotangent of a loop's or branch's result, with the elements where it counts."""
    value = settled(ct)
    where = None if node.op.kind == "tape" else support.around(node.operands[0], value)
    guard = ct.guard if where is None else narrowed(ct.guard, ((where, True),))
    return Guarded(value, ct.guard if guard is None else guard)


def _ways_apart(order: Sequence[Node], wrt: Sequence[Node]) -> dict[Node, Way]:
    """Return the ways past steps that were made apart, whose formulas have equal steps.

    Of equal operands it is the last behind the formula that a cotangent goes to, as on a tape.
    """
    same = merged(order)
    found = shortcuts(list(dict.fromkeys(same.values())), [same.get(x, x) for x in wrt])
    ways = {}
    for node in order:
        way = found.get(same[node])
        if way is not None:
            behind: dict[Node, Node] = {}
            _note(node, same, behind, DEPTH)
            operands = tuple(behind.get(x, x) for x in way.operands)
            ways[node] = replace(way, operands=operands)
    return ways


#: How far behind a formula's result its operands are, in steps.
DEPTH = 8


def _note(node: Node, same: dict[Node, Node], behind: dict[Node, Node], depth: int) -> None:
    """Note behind ``node``, operands first, the last of equal steps."""
    stack: list[tuple[Node, int, bool]] = [(node, depth, False)]
    seen: set[Node] = set()
    while stack:
        x, left, done = stack.pop()
        if done:
            behind[same[x]] = x
        elif x not in seen:
            seen.add(x)
            stack.append((x, left, True))
            if left:
                stack += [(y, left - 1, False) for y in reversed(x.operands)]


def _inner(
    node: Node, results: dict[Node, dict[Node, Guarded]], active: set[Node]
) -> Sequence[Guarded | None]:
    """Return the cotangents of the operands of a loop or a branch."""
    wanted = [x in active for x in node.operands]
    found: Sequence[Guarded | None] = node.op.products.vjp(results.pop(node), node, wanted)
    return found


def accumulate(parts: Sequence[Node]) -> Node:
    """Add cotangents in the given order; ops that can merge their results do so."""
    if len(parts) == 1:
        return parts[0]
    by_op: dict[Op, list[Node]] = {}
    plain = []
    for part in parts:
        if part.op.merge is not None:
            by_op.setdefault(part.op, []).append(part)
        else:
            plain.append(part)
    for op, nodes in by_op.items():
        if len(nodes) == 1:
            plain.append(nodes[0])
        else:
            assert op.merge is not None
            operands, params = op.merge([(n.operands, n.params) for n in nodes])
            items = tuple(sorted(params.items()))
            plain.append(apply(op, tuple(operands), items, nodes[0].shape, nodes[0].dtype))
    total = plain[0]
    for part in plain[1:]:
        if total.shape is part.shape and total.dtype is part.dtype:
            total = apply(_ADD, (total, part), (), total.shape, total.dtype)
        else:
            total = bind(_ADD, (Traced(total), Traced(part)), {})
    return total


def _past(
    way: Way, node: Node, ct: Guarded, active: set[Node], inner: bool, support: Support
) -> list[Guarded | None]:
    """Return the cotangents of a shortcut's operands."""
    xs = [Traced(x) for x in way.operands]
    guards, value = [ct.guard] * len(xs), ct.value
    if not way.elementwise:
        value = settled(ct)
        guards = behind(ct.guard, node.shape, xs, way.support) if ct.guard else guards
    parts = way.pull(Traced(value))
    if way.elementwise or way.support is not None:  # others may reach from each element to all
        spread = None if way.elementwise else way.support
        parts = support.past(node, value, parts, spread)
    return [
        _fit(Guarded(as_node(part), guard, not guard), x, inner) if x in active else None
        for part, guard, x in zip(parts, guards, way.operands, strict=True)
    ]


def _rule(
    node: Node, ct: Guarded, active: set[Node], inner: bool, support: Support
) -> list[Guarded | None]:
    op, xs = node.op, [Traced(x) for x in node.operands]
    wanted = [x in active for x in node.operands]
    own = conditions(op, Traced(node), xs, node.params, support.selects)
    if op.kind == "map":
        value, guards = ct.value, [ct.guard] * len(xs)
        slopes = partials(op, Traced(node), xs, node.params)
        sent = Traced(value)
        raw = [
            support.product(node, value, p, scale(sent, p)) if w else None
            for w, p in zip(wanted, slopes, strict=True)
        ]
        exact = [_is_number(p) and math.isfinite(p) for p in slopes]
    else:
        value = settled(ct)
        guards = through(op, ct.guard, node.shape, xs, node.params) if ct.guard else [()] * len(xs)
        if now().edgy:
            guards = where_read(op, ct.guard, node.shape, xs, node.params, guards)
        raw = _pulled(op, Traced(value), Traced(node), xs, node.params, wanted)
        exact = [op.linear is not None] * len(xs)
        ct = Guarded(value)
    parts: list[Guarded | None] = []
    for x, part, before, new, kept in zip(node.operands, raw, guards, own, exact, strict=True):
        guard = narrowed(before, new)
        if part is None or guard is None:
            parts.append(None)
            continue
        clean = ct.clean and kept and len(guard) == len(before)
        value = as_node(part) if now().numbers is None else _in_order(as_node(part))
        parts.append(_fit(Guarded(value, guard, clean or not guard), x, inner))
    return parts


def _in_order(part: Node) -> Node:
    """Return a cotangent as an array in C order, as eager tensors send it on."""
    x = part
    while x.op.alias:
        x = x.operands[0]
    return part if x.op.kind != "view" else as_node(np.positive(Traced(part)))


def pull(
    op: Op,
    ct: Any,
    y: Any,
    xs: Sequence[Any],
    params: Mapping[str, Any],
    wanted: Sequence[bool],
) -> list[Any]:
    """Return the cotangents of one op's operands by the rule in its record.

    Parameters
    ----------
    op, params:
        The op and its static parameters.
    ct, y, xs:
        Guarded, result and operands: traced values, or numbers, or tensors.
    wanted:
        Which operands' cotangents are asked for.

    Returns
    -------
    list
        One for each operand, None where it is zero or not wanted; of the result's shape,
        where the operand was broadcast to it.
    """
    raw: Sequence[Any]
    raw = _pulled(op, ct, y, xs, params, wanted)
    if op.taken is not None and op.linear is None:
        raw = [
            part if part is None or c is None else only(c, part)
            for part, c in zip(raw, op.taken(y, *xs, **params), strict=True)
        ]
    return raw


def _pulled(
    op: Op, ct: Any, y: Any, xs: Sequence[Any], params: Mapping[str, Any], wanted: Sequence[bool]
) -> list[Any]:
    raw: Sequence[Any]
    match op.rule:
        case Linear(transpose):
            raw = transpose(ct, *xs, **params)
        case Products(vjp):
            raw = vjp(ct, y, *xs, **params)
        case _:
            slopes = partials(op, y, xs, params)
            return [scale(ct, p) if w else None for w, p in zip(wanted, slopes, strict=True)]
    return [part if w else None for w, part in zip(wanted, raw, strict=True)]


def _is_number(value: Any) -> bool:
    # A traced value would be asked for the class that it stands for.
    return not isinstance(value, Traced) and isinstance(value, (int, float))


def scale(ct: Any, slope: Any) -> Any:
    """Return ``ct * slope`` without the work where the slope is 1, -1 or None (zero)."""
    if slope is None:
        return None
    if _is_number(slope):
        if slope == 1:
            return ct
        if slope == -1:
            return -ct
        if slope == 0:
            return None
    return ct * slope


def _fit(part: Guarded, operand: Node, inner: bool) -> Guarded:
    """Bring a cotangent to the shape and the element type of its operand."""
    value, guard, clean = part
    if clean and not operand.operands and not inner:
        guard = ()  # the walk ends there
    if value.shape != operand.shape:
        given = value.shape
        value = as_node(unbroadcast(Traced(settled(part)), Traced(operand).shape))
        guard, clean = summed(guard, given, operand.shape) if guard else (), True
    return Guarded(cast(value, operand.dtype), guard, clean)

"""Forward mode: a pass that carries tangents along with the values of a graph.

A tangent has a guard, as cotangents have in reverse mode: a branch that is not taken adds
nothing, whatever the slopes before and behind it. ``np.sqrt(np.maximum(x, 0.0))`` at -1 has
the derivative 0, not ``0*inf``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..base.sizes import dim_product
from ..base.state import at, now, within
from ..graph import Iota, Literal, Node, carrying, checked, rebuilt, topological, viewed
from ..op import PROJECTIONS, Bodied, Limit, Linear, Map, Op
from ..rewrite import Way, is_still, shortcuts, spectral_ways
from ..trace import Traced, as_node, cast, fresh, partials, substitute
from .guards import Guarded, added, ahead, conditions, in_turn, narrowed, settled
from .support import Support, dependents, held


def with_limits(outputs: Sequence[Node], kept: Iterable[Node]) -> list[Node]:
    """Return what the derivatives of ``outputs`` are those of; ``kept`` are inputs.

    A gradient of a smooth function of a length r is 0 where r is; there it has the form ``q*x``,
    of which q is the limit of ``g'(r)/r``. That is the derivative of ``g'(r)`` by r.
    """
    if now().numbers is not None:
        return list(outputs)
    kept = {x: x for x in kept}
    limits = [x for x in topological(outputs) if Limit.of(x.op).of_lengths and x not in kept]
    if not limits:
        return list(outputs)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        form = Limit.of(node.op).form
        if form is None:
            return None
        still = is_still(viewed(operands[-1]))
        slope = _by_length(operands[0], operands[-1], still)
        found = form(*map(Traced, operands), slope=slope, still=still)
        return cast(as_node(found), node.dtype)

    lengths = _base_lengths(limits)
    kinks = _kinks(outputs, set(limits), lengths) if lengths else [None] * len(outputs)
    outputs = rebuilt(outputs, change, dict(kept))
    turns = [x for x in topological(outputs) if Limit.of(x.op).undefined and x not in kept]
    if turns:
        outputs = _with_turns(outputs, turns)
    found = list(outputs)
    for k, kink in enumerate(kinks):
        if kink is not None:
            total = sum(np.sum(np.where(_is_zero(r), Traced(r), 0.0)) for r in lengths)
            # The root of 0 is 0, and its derivative times 0 is nan.
            value = np.where(_is_zero(kink), Traced(found[k]), Traced(found[k]) + total**0.5)
            found[k] = cast(as_node(value), outputs[k].dtype)
    return found


def _base_lengths(limits: Sequence[Node]) -> list[Node]:
    """Return the lengths that may be 0 by chance, of no other lengths."""
    return _innermost(
        r for r in dict.fromkeys(viewed(x.operands[-1]) for x in limits) if not is_still(r)
    )


def _innermost(lengths: Iterable[Node]) -> list[Node]:
    """Return the lengths that are not made of others."""
    roots = dict.fromkeys(lengths)
    made = set[Node]()
    for x in topological(roots):
        if any(y in made or y in roots for y in x.operands):
            made.add(x)
    return [r for r in roots if r not in made]


def _kinks(
    outputs: Sequence[Node], limits: Collection[Node], lengths: Sequence[Node]
) -> list[Node | None]:
    """Return the derivatives of first derivatives by lengths that are 0, None: zero.

    Where they are not 0, as in the derivatives of ``x*r``, there are no second derivatives. What
    has its limit there does not count.
    """
    stand_ins: dict[Node, Node] = {}
    checked_lengths = set(lengths)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        if node not in limits:
            return None
        stand_ins[node] = fresh(node, "limit")
        ct, length = node.operands[0], node.operands[-1]
        others = checked_lengths - {viewed(length)}
        if Limit.of(node.op).undefined or (
            others.isdisjoint(topological([ct])) and _is_elementwise(ct, length)
        ):
            return stand_ins[node]
        found = Traced(plain(node, operands))
        value = np.where(_is_zero(operands[-1]), Traced(stand_ins[node]), found)
        return cast(as_node(value), node.dtype)

    def plain(node: Node, operands: tuple[Node, ...]) -> Node:
        assert isinstance(node.op, Map)
        return cast(as_node(node.op.evaluate(*map(Traced, operands))), node.dtype)

    given = rebuilt(outputs, change)
    tangents = {
        r: as_node(np.where(_is_zero(r), _generic_weights(r, k), 0.0))
        for k, r in enumerate(lengths)
    }
    found = push_forward(given, {r: cast(t, r.dtype) for r, t in tangents.items()})
    # Conditions are not differentiated: there are no limits in them.
    values = rebuilt(list(stand_ins), lambda x, xs: plain(x, xs) if x in limits else None)
    back = dict(zip(stand_ins.values(), values, strict=True))
    return [None if x is None else substitute([x], back)[0] for x in found]


def _is_zero(x: Node) -> Any:
    return np.equal(Traced(x), 0.0)


def _generic_weights(x: Node, k: int = 0) -> Any:
    """Return weights of which no sum with small integers is 0, others for each ``k``."""
    places: Any = np.reshape(Traced(Iota(dim_product(x.shape))), Traced(x).shape)
    return (1.0 / (math.pi / 4 + k * math.e + math.sqrt(2) * places)).astype(x.dtype)


def _with_turns(outputs: Sequence[Node], turns: Sequence[Node]) -> list[Node]:
    """Return tangents by what they are near lengths r of 0.

    They are linear in ``u = x/r``, say ``A(u)``. Where r is 0, so is u, and where ``A`` is as well,
    the tangent is the derivative of ``A(x)`` by r. ``A`` is pushed with all lengths at once, along
    those that are 0: right if none has a part in another's derivative. If one has (``r[0]*r[1]``),
    the derivative along weighted ones of parts that are divided by the weights is another.
    """
    # Of lengths of lengths there are products: they have no limits.
    roots = _innermost(viewed(x.operands[-1]) for x in turns)
    nested = {x: _undefined(x) for x in turns if viewed(x.operands[-1]) not in roots}
    outputs, turns = substitute(outputs, nested), [x for x in turns if x not in nested]
    stand_ins = {x: fresh(x, "turn") for x in turns}
    of_stand_ins = substitute(outputs, stand_ins)
    places = [k for k, x in enumerate(of_stand_ins) if x is not outputs[k] and x.dtype.kind == "f"]
    linear = [of_stand_ins[k] for k in places]
    at_rest = substitute(outputs, {x: _at_rest(x) for x in turns})
    order = {x: k for k, x in enumerate((*turns, *roots))}

    def weights(x: Node) -> Any:
        return _generic_weights(x, order[x])

    def push(nodes: Sequence[Node | None], tangents: Any, fixed: bool) -> list[Node | None]:
        some = [x for x in nodes if x is not None]
        pushed = dict(zip(some, push_forward(some, tangents, fixed), strict=True))
        return [None if x is None else pushed[x] for x in nodes]

    # Any parts and weights for once: what they are is put in their places. Parts that are 0 have
    # derivatives of their own (they are no values of a chain), and no condition that nothing
    # depends on a stand-in is met by a weight.
    parts = {x: fresh(x, "part") for x in turns}
    factors = {r: fresh(r, "weight") for r in roots}
    by_part = {stand_ins[x]: part for x, part in parts.items()}
    elsewhere: dict[Node, Any] = {stand_ins[x]: weights(x) for x in turns}
    slopes = push(linear, by_part, fixed=True)
    curved = push(push(linear, factors, fixed=False), by_part, fixed=True)

    def valued(
        nodes: Sequence[Node | None], part: Callable[[Node], Any],
        weight: Callable[[Node], Any] = lambda r: 1.0, all_of_them: bool = False,
    ) -> list[Any]:  # fmt: skip
        """Return derivatives by parts of the lengths that are 0, and along these lengths."""
        given = dict(elsewhere)
        for x in turns:
            counts = np.logical_or(all_of_them, _is_zero(x.operands[2]))
            given[parts[x]] = np.where(counts, part(x), 0.0)
        for r in roots:
            given[factors[r]] = np.where(_is_zero(r), weight(r), 0.0)
        found = {x: cast(as_node(value), x.dtype) for x, value in given.items()}
        return [0.0 if x is None else Traced(*substitute([x], found)) for x in nodes]

    def of_its_length(turn: Node) -> Any:
        r = viewed(turn.operands[-1])
        return Traced(*substitute([turn.operands[-1]], {r: as_node(weights(r))}))

    limits = valued(curved, lambda x: Traced(x.operands[1]))
    # Those of lengths that are not 0 tell what is rounding: sums cancel in routines.
    sums, whole = valued(slopes, weights), valued(slopes, weights, all_of_them=True)
    known: list[Any] = [
        np.abs(a) <= 64 * np.finfo(x.dtype).eps * np.abs(b)
        for x, a, b in zip(linear, sums, whole, strict=True)
    ]
    if len(roots) > 1 or any(r.shape for r in roots):
        one = valued(curved, weights)
        other = valued(curved, lambda x: weights(x) * of_its_length(x), lambda r: 1.0 / weights(r))
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            near = np.sqrt(np.finfo(linear[k].dtype).eps) * (np.abs(a) + np.abs(b))
            known[k] = known[k] & (np.abs(a - b) <= near)
    known = [a & (np.abs(b) < math.inf) for a, b in zip(known, limits, strict=True)]
    unknown = reduce(np.logical_or, [np.any(~x) for x in known]) if known else False
    undefined = substitute(outputs, {x: _undefined(x, unknown) for x in turns})
    found = list(outputs)
    for k, place in enumerate(places):
        value = np.where(known[k], Traced(at_rest[place]) + limits[k], Traced(undefined[place]))
        found[place] = cast(as_node(value), outputs[place].dtype)
    return found


def _at_rest(turn: Node) -> Node:
    """Return ``x/r``, 0 with derivatives of 0 where r is 0."""
    u, _, size, _ = turn.operands
    return cast(as_node(np.where(_is_zero(size), 0.0, Traced(u))), turn.dtype)


def _undefined(turn: Node, asked: Any = True) -> Node:
    """Return ``x/r`` where what is made of it has no second derivative, or a still one.

    Where that is not ``asked`` for, nothing comes back from there: no guard passes a routine.
    """
    undefined, still = Limit.of(turn.op).undefined, is_still(viewed(turn.operands[-1]))
    assert undefined is not None
    found = np.where(asked, undefined(*map(Traced, turn.operands), still=still), 0.0)
    return cast(as_node(found), turn.dtype)


def _by_length(ct: Node, length: Node, still: bool) -> Any:
    """Return the derivative of each cotangent by its own length where that is 0; None: zero.

    Where it is elementwise it is that at 0, mostly a number. Else the other lengths keep their
    values, as in ``sum(cos(r))**2``: a derivative along all lengths that are 0 is right if none has
    a part in another's. If one has, that along weighted lengths is another, and there is none:
    ``r[0]*r[1]`` has no second derivative.

    Of distances of points from each other (``still``), cotangents are elementwise beside results of
    routines, such as solutions with a matrix of kernels, which then count as constants.
    """
    r = viewed(length)
    factors = {x: fresh(x, "factor") for x in _factors(ct, r)} if still else {}
    [ct] = substitute([ct], factors)
    back = {new: x for x, new in factors.items()}
    lengths: Any = Traced(r)
    elementwise, zeros = _is_elementwise(ct, length), np.zeros_like(lengths)
    # Those that are 0 have no derivative in it.
    values = zeros if elementwise else np.where(lengths == 0, zeros, lengths)

    def along(tangent: Any) -> Any:
        [pushed] = push_forward([ct], {r: as_node(tangent)})
        if pushed is None:
            return None
        [known] = rebuilt([pushed], lambda x, xs: xs[0] if Limit.of(x.op).undefined else None)
        [known] = substitute([known], {r: as_node(values)})
        return Traced(*substitute([known], back))

    if elementwise:
        return along(np.ones_like(lengths))
    zero = np.where(lengths == 0, 1.0, 0.0).astype(r.dtype)
    places: Any = np.reshape(Traced(Iota(dim_product(r.shape))), lengths.shape)
    weights = (1.0 / (1.0 + places)).astype(r.dtype)
    slope = along(zero)
    if slope is None or not r.shape:
        return slope
    other = along(zero * weights)
    other = other / Traced(*substitute([length], {r: as_node(weights)}))
    near = np.sqrt(np.finfo(r.dtype).eps) * (np.abs(slope) + np.abs(other))
    return np.where(np.abs(slope - other) <= near, slope, np.nan)


def _is_elementwise(ct: Node, length: Node) -> bool:
    """Tell whether each element of a cotangent depends on none but its own length.

    It is made of the lengths by maps, or by maps of some of them, which go back to their places.
    """
    r, inner = viewed(length), ct
    if not r.shape:
        return not any(r in topological([x]) for x in _factors(ct, r))
    while inner.op.kind == "view" and inner.shape == length.shape and inner.shape != r.shape:
        inner = inner.operands[0]
    picked: dict[Node, Any] = {r: None}  # by which indices, where it is some of them
    for x in topological([inner]):
        of = {picked[y] for y in x.operands if y in picked}
        if x is r or not of:
            continue
        [(first, *indices), kind] = x.operands, x.op.kind
        if kind == "map" and len(of) == 1:
            [picked[x]] = of
            whole = r.shape if picked[x] is None else picked[x][0]
        elif kind == "gather" and picked.get(first, x) is None:
            whole, picked[x] = x.shape, (x.shape, tuple(indices), x.params["at"], x.params["axes"])
        elif kind == "scatter" and not x.op.over and of == {picked.get(first)}:
            same = picked[first] == (first.shape, tuple(indices), x.params["at"], x.params["axes"])
            whole, picked[x] = r.shape if same else (), None
        else:
            return False
        if x.shape != whole:
            return False
    return True


def _factors(ct: Node, r: Node) -> list[Node]:
    """Return the results of routines that a cotangent is made of."""
    found: dict[Node, None] = {}
    stack, seen = [ct], {r}
    while stack:
        x = stack.pop()
        if x not in seen:
            seen.add(x)
            if x.op.kind == "routine":
                found[x] = None
            else:
                stack.extend(x.operands)
    return list(found)


def push_forward(
    outputs: Sequence[Node], tangents: Mapping[Node, Node], fixed: bool = False,
    constants: Collection[Node] = (),
) -> list[Node | None]:  # fmt: skip
    """Return the tangents of ``outputs`` for the given tangents of some nodes.

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
    outputs = with_limits(outputs, tangents)
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
                [more] = push_forward([root], through, constants={*constants, *other})
                parts = [t for t in (tangent, None if more is None else Guarded(more)) if t]
                tangent = added(parts, in_turn) if parts else None
            if tangent is not None:
                found[node] = tangent._replace(value=fitted(tangent.value, node))
        pushed = [found.get(x) for x in outputs]
        return checked("forward mode", _settled(pushed))


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

"""Derivatives of functions of a length r, where r is 0.

The first derivative of ``g(r)`` by a part x of the length is ``g'(r)*x/r``, one step in a graph,
and 0 where r is. A pass that differentiates further looks for such steps first, and puts
what they are near 0 in their places: ``q*x`` for a smooth function of x. Of those that are none,
derivatives are nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..base.sizes import dim_product
from ..base.state import now
from ..graph import Iota, Node, rebuilt, topological, viewed
from ..op import Limit, Map
from ..ops.lengths import AT_REST, AT_REST_AGAIN, BEYOND_REST, KINK
from ..rewrite import is_absolute, is_still, still_points, unscaled
from ..trace import Traced, as_node, cast, fresh, substitute
from .forward import pushed
from .support import dependents


def push_forward(
    outputs: Sequence[Node], tangents: Mapping[Node, Node], fixed: bool = False,
    once_more: bool = True,
) -> list[Node | None]:  # fmt: skip
    """Return what :func:`.forward.pushed` does, of outputs with their limits.

    ``once_more``: whether this is one derivative more for a user, see :func:`with_limits`.
    """
    return pushed(with_limits(outputs, tangents, once_more), tangents, fixed)


def with_limits(
    outputs: Sequence[Node], kept: Iterable[Node], once_more: bool = True
) -> list[Node]:
    """Return what the derivatives of ``outputs`` are those of; ``kept`` are inputs.

    A gradient of a smooth function of a length r is 0 where r is; there it has the form ``q*x``,
    of which q is the limit of ``g'(r)/r``. That is the derivative of ``g'(r)`` by r.

    If ``outputs`` are such limits already, this is ``once_more`` for a user's derivative, or to
    find out about one.
    """
    if now().numbers is not None:
        return list(outputs)
    kept = {x: x for x in kept}
    if once_more:
        outputs = _beyond_limits(outputs, kept)
    order = [x for x in topological(outputs) if x not in kept]
    again, given_up = (
        {viewed(x.operands[1]) for x in order if Limit.of(x.op).times == times} for times in (2, 3)
    )
    limits = [
        x for x in order
        if Limit.of(x.op).of_lengths and viewed(x.operands[-1]) not in given_up
    ]  # fmt: skip
    if not limits:
        return list(outputs)
    chosen = set(limits)

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        form = Limit.of(node.op).form
        if form is None or node not in chosen:
            return None
        still = is_still(viewed(operands[-1]))
        slope, moving = _by_length(operands[0], operands[-1], still)
        rest = _rest(viewed(operands[-1]) in again, moving)
        found = form(
            *map(Traced, operands), slope=slope, rest=rest,
            still=still or is_absolute(viewed(operands[-1])),
        )  # fmt: skip
        return _in_place_of(node, found)

    lengths = _lengths_by_chance(limits)
    kinks = _kinks(outputs, chosen, lengths) if lengths else [None] * len(outputs)
    outputs = rebuilt(outputs, change, dict(kept))
    turns = [
        x for x in topological(outputs)
        if Limit.of(x.op).undefined and x not in kept and viewed(x.operands[-1]) not in given_up
    ]  # fmt: skip
    if turns:
        outputs = _with_turns(outputs, turns, again)
    found = list(outputs)
    for k, kink in enumerate(kinks):
        if kink is not None:
            total = sum(np.sum(np.where(_is_zero(r), Traced(r), 0.0)) for r in lengths)
            # The root of 0 is 0, and its derivative times 0 is nan.
            value = np.where(_is_zero(kink), Traced(found[k]), Traced(found[k]) + total**0.5)
            found[k] = cast(as_node(value), outputs[k].dtype)
    return found


def _beyond_limits(outputs: Sequence[Node], kept: Mapping[Node, Node]) -> list[Node]:
    """Return limits whose derivatives are nan where they are not known.

    A limit ``q*x`` has a second derivative, 0, if q is even in the length. It has others, which
    are not known: the next term of q is cut off.
    """
    order = topological(outputs)
    marks = [x for x in order if Limit.of(x.op).again is not None and x not in kept]
    if not marks:
        return list(outputs)
    choices: dict[Node, list[Node]] = {x: [x] for x in marks}  # by them, with the lengths
    for x in order:
        of = [mark for y in x.operands if y.dtype.kind == "b" for mark in choices.get(y, ())]
        if of and x.op.kind == "map" and x not in kept:
            choices[x] = list(dict.fromkeys(of))
    unknown = {x: _beyond(x, kept) for x in marks}

    def change(node: Node, operands: tuple[Node, ...]) -> Node | None:
        again = Limit.of(node.op).again
        if node in unknown and again is not None:
            found: Any = again(*map(Traced, operands[:2]))
            return as_node(np.broadcast_to(found, Traced(node).shape))
        if node.dtype.kind != "f" or node not in choices:
            return None
        value = node.op(*map(Traced, operands), **node.params)
        for mark in choices[node]:
            if unknown[mark] is not None:
                value = np.where(unknown[mark], value + KINK(Traced(mark.operands[1])), value)
        return cast(as_node(value), node.dtype)

    return rebuilt(outputs, change, dict(kept))


def _beyond(mark: Node, wrt: Collection[Node]) -> Any:
    """Return where the next derivative of a limit is not known; None: it is everywhere.

    Distances of points from themselves are 0 for good, and have no derivative. Those of points
    that are equal by chance stay 0 where the points do not come apart.
    """
    size, length, *slope = mark.operands
    r = viewed(length)
    if (points := still_points(r)) is not None and not _come_apart(points, r, wrt):
        return None
    if not slope:
        beyond = BEYOND_REST(Traced(size), Traced(length))
        return np.logical_and(beyond, _is_by_chance(length)) if is_still(r) else beyond
    weights = np.where(_is_zero(r), _generic_weights(r), 0.0)
    [kink] = push_forward(slope, {r: cast(as_node(weights), r.dtype)}, once_more=False)
    return None if kink is None else np.logical_and(_is_zero(size), np.not_equal(Traced(kink), 0.0))


def _come_apart(points: Node, length: Node, wrt: Collection[Node]) -> bool:
    """Tell whether equal points may become different ones: by scales of all of them they do not."""
    moving = dependents(topological([points]), list(wrt))
    return unscaled(points, length, moving) in moving


def _is_by_chance(length: Node) -> Any:
    """Return where a length among points is not 0 for good: it would not be 0 of any others.

    The others are whole numbers, of which squares, products and their sums are exact.
    """
    points = still_points(viewed(length))
    assert points is not None
    numbers: Any = np.reshape(Traced(Iota(dim_product(points.shape))), Traced(points).shape)
    [found] = substitute([length], {points: cast(as_node(numbers), points.dtype)})
    return np.not_equal(Traced(found), 0.0)


def _again(node: Node, operands: Sequence[Node]) -> Node:
    """Return the value of an elementwise op for other operands."""
    assert isinstance(node.op, Map)
    return cast(as_node(node.op.evaluate(*map(Traced, operands))), node.dtype)


def _lengths_by_chance(limits: Sequence[Node]) -> list[Node]:
    """Return the lengths that are not 0 for good, and have kinks of nan."""
    lengths = dict.fromkeys(viewed(x.operands[-1]) for x in limits)
    return [r for r in lengths if not is_still(r) and not is_absolute(r)]


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
        found = Traced(_again(node, operands))
        value = np.where(_is_zero(operands[-1]), Traced(stand_ins[node]), found)
        return cast(as_node(value), node.dtype)

    given = rebuilt(outputs, change)
    tangents = {
        r: as_node(np.where(_is_zero(r), _generic_weights(r, k), 0.0))
        for k, r in enumerate(lengths)
    }
    along = {r: cast(t, r.dtype) for r, t in tangents.items()}
    found = push_forward(given, along, once_more=False)
    # Conditions are not differentiated: there are no limits in them.
    values = rebuilt(list(stand_ins), lambda x, xs: _again(x, xs) if x in limits else None)
    back = dict(zip(stand_ins.values(), values, strict=True))
    return [None if x is None else substitute([x], back)[0] for x in found]


def _in_place_of(node: Node, value: Any) -> Node:
    """Return a value in the shape and type of a node: its operands may be smaller."""
    return cast(as_node(np.broadcast_to(value, Traced(node).shape)), node.dtype)


def _is_zero(x: Node) -> Any:
    return np.equal(Traced(x), 0.0)


def _generic_weights(x: Node, k: int = 0) -> Any:
    """Return weights of which no sum with small integers is 0, others for each ``k``."""
    places: Any = np.reshape(Traced(Iota(dim_product(x.shape))), Traced(x).shape)
    return (1.0 / (math.pi / 4 + k * math.e + math.sqrt(2) * places)).astype(x.dtype)


def _with_turns(
    outputs: Sequence[Node], turns: Sequence[Node], again: Collection[Node]
) -> list[Node]:
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
        pushed = dict(zip(some, push_forward(some, tangents, fixed, once_more=False), strict=True))
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
        found = {x: _in_place_of(x, value) for x, value in given.items()}
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
    by_chance = [x for x in turns if not is_still(viewed(x.operands[-1])) and 0 not in x.shape]
    rest = None
    if by_chance:  # a mark that stays in higher derivatives, of all lengths
        sizes = [np.min(Traced(x.operands[2])) for x in by_chance]
        zeros = {r: np.sum(np.where(_is_zero(r), Traced(r), 0.0)) for r in roots}
        total = sum(zeros.values())
        rest = _rest(bool(again), np.zeros_like(total))(reduce(np.minimum, sizes), total)
    found = list(outputs)
    for k, place in enumerate(places):
        limit = limits[k] if rest is None else np.where(rest, limits[k], 0.0)
        value = np.where(known[k], Traced(at_rest[place]) + limit, Traced(undefined[place]))
        found[place] = cast(as_node(value), outputs[place].dtype)
    return found


def _rest(again: bool, slope: Any) -> Callable[[Any, Any], Any]:
    """Return what makes the condition that a length is 0, of a limit with a slope."""
    return AT_REST_AGAIN if again else lambda size, r: AT_REST(size, r, slope)


def _at_rest(turn: Node) -> Node:
    """Return ``x/r``, 0 with derivatives of 0 where r is 0."""
    u, _, size, _ = turn.operands
    return _in_place_of(turn, np.where(_is_zero(size), 0.0, Traced(u)))


def _undefined(turn: Node, asked: Any = True) -> Node:
    """Return ``x/r`` where what is made of it has no second derivative, or a still one.

    Where that is not ``asked`` for, nothing comes back from there: no guard passes a routine.
    """
    length, undefined = viewed(turn.operands[-1]), Limit.of(turn.op).undefined
    still = is_still(length) or is_absolute(length)
    assert undefined is not None
    found = np.where(asked, undefined(*map(Traced, turn.operands), still=still), 0.0)
    return _in_place_of(turn, found)


def _by_length(ct: Node, length: Node, still: bool) -> tuple[Any, Any]:
    """Return the derivative of each cotangent by its own length where that is 0; None: zero.

    And the same as a function of the length, 0 where further derivatives by it are not asked for.

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

    def along(tangent: Any) -> tuple[Any, Any]:
        [pushed] = push_forward([ct], {r: as_node(tangent)}, once_more=False)
        if pushed is None:
            return None, np.zeros_like(Traced(length))
        [known] = rebuilt([pushed], lambda x, xs: xs[0] if Limit.of(x.op).undefined else None)
        [at_zero] = substitute([known], {r: as_node(values)})
        slope, moving = map(Traced, substitute([at_zero, known], back))
        return slope, np.where(_is_by_chance(length), moving, 0.0) if still else moving

    if elementwise:
        return along(np.ones_like(lengths))
    zero = np.where(lengths == 0, 1.0, 0.0).astype(r.dtype)
    places: Any = np.reshape(Traced(Iota(dim_product(r.shape))), lengths.shape)
    weights = (1.0 / (1.0 + places)).astype(r.dtype)
    slope, moving = along(zero)
    if slope is None or not r.shape:
        return slope, moving
    other, _ = along(zero * weights)
    other = other / Traced(*substitute([length], {r: as_node(weights)}))
    near = np.sqrt(np.finfo(r.dtype).eps) * (np.abs(slope) + np.abs(other))
    return np.where(np.abs(slope - other) <= near, slope, np.nan), moving


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

"""Cotangents under a guard: what keeps an untaken branch out of a derivative.

The cotangent of ``f(x)`` in ``np.where(c, f(x), 0.0)`` is zero wherever ``c`` fails. A walk
that multiplies that zero by ``f'(x)`` gets nan where the slope is infinite or undefined. So a
cotangent is carried here as a *value* with a *guard*, the conditions under which the value
counts: it stands for ``where(guard, value, 0)``. Through elementwise ops only the value is
multiplied, and the guard goes along; the selection is made once, where the cotangent leaves
the elementwise part of the program, so that a guarded chain costs one selection. Tangents in
forward mode are carried in the same way.

A zero that a program *computes* is not a guard: ``sqrt(x)**2`` has the derivative 1 at 0, and
a product ``0*inf`` in its adjoint must stay the nan that says that the formula fails there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ..base.sizes import Shape, as_size
from ..base.state import now
from ..graph import Literal, Node
from ..op import Map, Op
from ..trace import Traced, as_node

#: A truth value that must be equal to the second part.
Condition = tuple[Node, bool]
Guard = tuple[Condition, ...]

#: Kinds of ops whose transpose adds elements unchanged: a support goes the way of a cotangent.
_MOVES = frozenset(("view", "assemble", "gather", "scatter"))
#: Kinds of which an op with a ``support`` reads only a part of its operand.
_PICKS = frozenset(("view", "gather"))


class Guarded(NamedTuple):
    """A cotangent or tangent, ``where(guard, value, 0)``.

    It is ``clean`` if ``value`` is 0 already where the guard fails.
    """

    value: Node
    guard: Guard = ()
    clean: bool = True


def settled(ct: Guarded) -> Node:
    """Return a cotangent or tangent as one value: what is outside of its guard is 0."""
    return ct.value if ct.clean else _selected(ct.guard, ct.value)


def without_tapes(ct: Guarded) -> Guarded:
    """Return a cotangent without conditions that are tapes: nothing but loops reads those."""
    guard = tuple(c for c in ct.guard if c[0].op.kind != "tape")
    return ct if len(guard) == len(ct.guard) else ct._replace(guard=guard)


def narrowed(guard: Guard, more: Guard) -> Guard | None:
    """Return both guards as one, None if they exclude each other."""
    for node, truth in more:
        if (node, not truth) in guard:
            return None
        if (node, truth) not in guard:
            guard = (*guard, (node, truth))
    return guard


def conditions(
    op: Op, y: Any, xs: Sequence[Any], params: Any, selects: Callable[[Node], bool]
) -> list[Guard]:
    """Return for each operand of ``op`` the guard under which it reaches the result.

    ``selects`` tells whether a condition depends on what is differentiated by.
    """
    if op.taken is None:
        return [()] * len(xs)
    given = [None if c is None else (as_node(c[0]), c[1]) for c in op.taken(y, *xs, **params)]
    fixed = isinstance(op, Map) and op.fixed
    return [() if c is None or (fixed and selects(c[0])) else (c,) for c in given]


def only(condition: tuple[Any, bool], part: Any) -> Any:
    """Return ``part`` where a condition of a record's ``taken`` holds, else 0."""
    truth, wanted = condition
    return np.where(truth, part, 0.0) if wanted else np.where(truth, 0.0, part)


# ---------------------------------------------------------------- sums


def added(parts: Sequence[Guarded], add: Callable[[Sequence[Node]], Node]) -> Guarded:
    """Return the sum of cotangents; ``add`` adds plain ones.

    Parts under opposite conditions become one selection between them, so the adjoint of a
    nested choice is the same nested choice.
    """
    if len(parts) == 1:
        return parts[0]
    if not any(part.guard for part in parts):
        return _same_guard(parts, add)
    groups: dict[Guard, list[Guarded]] = {}
    for part in parts:
        groups.setdefault(part.guard, []).append(part)
    sums = {guard: _same_guard(group, add) for guard, group in groups.items()}
    for guard in sorted(sums, key=len, reverse=True):
        _join_opposite(guard, sums, add)
    if len(sums) == 1:
        return next(iter(sums.values()))
    total = add([settled(ct) for ct in sums.values()])
    return Guarded(total, _either(list(sums), add))


def added_in_turn(parts: Sequence[Guarded]) -> Guarded:
    """Return the sum of cotangents, in the order in which they came."""
    total = parts[0]
    for part in parts[1:]:
        value = in_turn([settled(total), settled(part)])
        guard = _either([total.guard, part.guard], in_turn)
        total = Guarded(value, guard, not guard)
    return total


def in_turn(parts: Sequence[Node]) -> Node:
    return as_node(reduce(operator.add, map(Traced, parts)))


def _same_guard(group: Sequence[Guarded], add: Callable[[Sequence[Node]], Node]) -> Guarded:
    if len(group) == 1:
        return group[0]
    return Guarded(add([ct.value for ct in group]), group[0].guard, all(ct.clean for ct in group))


def _join_opposite(
    guard: Guard, sums: dict[Guard, Guarded], add: Callable[[Sequence[Node]], Node]
) -> None:
    """Join the sum under ``guard`` with that under its last condition's opposite."""
    while guard and guard in sums:
        *rest, (node, truth) = guard
        outer, other = tuple(rest), (*rest, (node, not truth))
        if other not in sums:
            return
        yes, no = (sums.pop(g) for g in ((guard, other) if truth else (other, guard)))
        clean = yes.clean and no.clean
        value = (
            add([yes.value, no.value])
            if clean
            else as_node(np.where(Traced(node), Traced(yes.value), Traced(no.value)))
        )
        joined = Guarded(value, outer, clean or not outer)
        sums[outer] = _same_guard([sums[outer], joined], add) if outer in sums else joined
        guard = outer


def _either(guards: Sequence[Guard], add: Callable[[Sequence[Node]], Node]) -> Guard:
    """Return the guard of a sum: what the parts share, and that one of them holds."""
    shared = 0
    for same in zip(*guards, strict=False):
        if len(set(same)) > 1:
            break
        shared += 1
    rests = [guard[shared:] for guard in guards]
    if not all(rests):
        return guards[0][:shared]
    truths = [as_node(holds(rest)) for rest in rests]
    if all(t.op.merge is not None for t in truths):
        one = add(truths)  # of truth values the sum is "or"
    else:
        one = as_node(reduce(operator.or_, map(Traced, truths)))
    return (*guards[0][:shared], (one, True))


def of_any(cts: Collection[Guarded]) -> Guard:
    """Return the guard of what is zero where all cotangents are: conditions on single numbers."""
    if not all(ct.guard for ct in cts):
        return ()
    first, *others = dict.fromkeys(ct.guard for ct in cts)
    if not others and not any(node.shape for node, _ in first):
        return first
    truths = [np.any(holds(guard)) for guard in (first, *others)]
    return ((as_node(reduce(np.logical_or, truths)), True),)


# ---------------------------------------------------------------- through ops


def summed(guard: Guard, shape: Shape, operand: Shape) -> Guard:
    """Return the guard of a cotangent that is summed from ``shape`` over broadcast axes."""
    lead = len(shape) - len(operand)
    axes = [k for k, d in enumerate(shape) if k < lead or (operand[k - lead] == 1 and d != 1)]
    kept: list[Condition] = []
    varying: list[Condition] = []
    for node, truth in guard:
        missing = len(shape) - node.ndim
        if any(k >= missing and node.shape[k - missing] != 1 for k in axes):
            varying.append((node, truth))
        elif node.ndim > len(operand):
            few = Traced(node).shape[node.ndim - len(operand) :]
            kept.append((as_node(np.reshape(Traced(node), few)), truth))
        else:
            kept.append((node, truth))
    if varying:
        some = np.any(np.broadcast_to(holds(tuple(varying)), _sizes(shape)), axis=tuple(axes))
        rest = [d for k, d in enumerate(_sizes(shape)) if k not in axes]
        inner = iter(rest)
        aligned = tuple(1 if k + lead in axes else next(inner) for k in range(len(operand)))
        kept.append((as_node(np.reshape(some, aligned)), True))
    return tuple(kept)


def through(op: Op, guard: Guard, shape: Shape, xs: Sequence[Any], params: Any) -> list[Guard]:
    """Return the guards behind an op that is no map, for the guard of its result.

    Conditions on single numbers hold for all that a result is made of. Of arrays of them
    follows where each operand's cotangent can differ from 0, if the op's record says so; an
    op that reads a part of its operand leaves 0 elsewhere in any case.
    """
    picks = op.support is not None and op.kind in _PICKS
    spread: Callable[[Any], Sequence[Any]] | None = None
    if op.support is not None:
        spread = lambda mask: op.support(mask, *xs, **params)  # noqa: E731
    elif (linear := op.linear) is not None and op.kind in _MOVES:
        spread = lambda mask: linear.transpose(mask, *xs, **params)  # noqa: E731
    return behind(guard, shape, xs, spread, picks)


def behind(
    guard: Guard,
    shape: Shape,
    xs: Sequence[Any],
    support: Callable[[Any], Sequence[Any]] | None,
    picks: bool = False,
) -> list[Guard]:
    """Return the guards of cotangents that are made of one of ``shape`` under ``guard``.

    ``support(mask)`` says where each can differ from 0; ``picks`` that they are 0 in places
    even if the guard holds everywhere.
    """
    single = tuple(c for c in guard if not c[0].shape)
    guards: list[Guard] = [single] * len(xs)
    as_tensors = now().numbers is not None
    if as_tensors and support is None and len(single) < len(guard):
        # They look whether the guard holds anywhere.
        some = np.any(np.broadcast_to(holds(guard), _sizes(shape)))
        return [((as_node(some), True),)] * len(xs)
    if support is None or (len(single) == len(guard) and not picks):
        return guards
    if not picks:
        guard = tuple(c for c in guard if c[0].shape)
    mask = np.broadcast_to(holds(guard), _sizes(shape))
    for k, (found, x) in enumerate(zip(support(mask), xs, strict=True)):
        if found is not None and (x.node.operands or as_tensors):
            truth = found if found.dtype == np.bool_ else found != 0
            guards[k] = ((as_node(truth), True),) if picks else (*single, (as_node(truth), True))
    return guards


def where_read(
    op: Op, guard: Guard, shape: Shape, xs: Sequence[Any], params: Any, guards: list[Guard]
) -> list[Guard]:
    """Return the guards of operands' cotangents with the elements that a view or gather reads.

    Of operands that are noted (:attr:`State.edgy`), whose slope outside of the body may be infinite
    where it reads nothing. Slices of arrays that are carried mostly cover them, as neighbours on a
    grid do.
    """
    noted, linear = now().edgy, op.linear
    if op.kind not in _PICKS or linear is None:
        return guards
    few = op.kind == "gather" or len(shape) < xs[0].ndim
    told = ("elements", "all") if few else ("all",)
    if not any(noted.get(x.node) in told for x in xs):
        return guards
    varying = tuple(c for c in guard if c[0].shape)
    some = holds(varying) if varying else Traced(Literal(True, np.bool_))
    mask = np.broadcast_to(some, _sizes(shape))
    single = tuple(c for c in guard if not c[0].shape)
    found = list(guards)
    for k, (read, x) in enumerate(zip(linear.transpose(mask, *xs, **params), xs, strict=True)):
        if read is not None and noted.get(x.node) in told:
            truth = read if read.dtype == np.bool_ else read != 0
            found[k] = (*single, (as_node(truth), True))
    return found


def ahead(node: Node, tangents: Sequence[Guarded | None], xs: Sequence[Any]) -> Guard:
    """Return the guard of the tangent of ``node``, an op that is no map, for its operands'.

    What is made of nothing but elements whose guards fail is 0. A condition on single numbers
    that all tangents share holds for the result as well.
    """
    given = [t for t in tangents if t is not None]
    shared = tuple(c for c in given[0].guard if all(c in t.guard for t in given))
    single = tuple(c for c in shared if not c[0].shape)
    if all(t.guard == single for t in given):
        return single
    op = node.op
    moves = op.kind in _MOVES
    if op.linear is None or not (moves or op.kind == "reduce"):
        return single
    linear = op.linear.places(len(xs))
    masks = [
        x if k not in linear else _where_nonzero(t, x)
        for k, (x, t) in enumerate(zip(xs, tangents, strict=True))
    ]
    mask = op(*masks, **node.params) if moves else np.any(masks[0], axis=node.params["axes"])
    return ((as_node(mask), True),)


def _where_nonzero(tangent: Guarded | None, x: Any) -> Any:
    """Return where the tangent of ``x`` can differ from 0."""
    if tangent is None:
        return np.zeros_like(x, dtype=np.bool_)
    if not tangent.guard:
        return np.ones_like(x, dtype=np.bool_)
    return np.broadcast_to(holds(tangent.guard), x.shape)


def _sizes(shape: Shape) -> tuple[Any, ...]:
    return tuple(map(as_size, shape))


def holds(guard: Guard) -> Any:
    """Return a guard as one truth value."""
    terms = (Traced(node) if truth else ~Traced(node) for node, truth in guard)
    return reduce(operator.and_, terms)


def _selected(guard: Guard, value: Node) -> Node:
    (node, truth), *more = guard
    if more or truth:
        return as_node(np.where(holds(guard), Traced(value), 0.0))
    return as_node(np.where(Traced(node), 0.0, Traced(value)))

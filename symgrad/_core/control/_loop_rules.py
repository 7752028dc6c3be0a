"""Forward mode and batches of a loop: a loop with tangents, a loop with a batch axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.sizes import Dimension
from ..graph import Body, Input, Node
from ..rewrite import rewrite
from ..trace import Traced, as_node, substitute
from ..transforms.batch import batch, differing, repeated, widened
from ..transforms.limits import push_forward
from ._bisection import warn_of_narrowing
from ._fields import Loop, or_zeros, pick, project, stand_ins


def push_loop(tangents: Sequence[Node | None], node: Node) -> Callable[[Node], Node | None]:
    """Return, as a function of the loop's result nodes, their tangents.

    A carry has a tangent if its start has one, or if it gets one in a step: the smallest
    set of carries that is closed under that is found by trying.
    """
    loop = Loop.of(node)
    given = list(tangents)
    starts = given[: loop.carries]
    elements = given[loop.carries : loop.carries + len(loop.xs)]
    consts = given[loop.carries + len(loop.xs) :]
    moving = [t is not None for t in starts]
    carried = [Input(f"d{x.name}", x.shape, x.dtype) for x in loop.carried]
    slices = {x: Input(f"d{x.name}", x.shape, x.dtype) for x in pick(loop.slices, elements)}
    shared = {x: Input(f"d{x.name}", x.shape, x.dtype) for x in pick(loop.shared, consts)}
    warn_of_narrowing(loop, [*slices, *shared])
    while True:
        known = {x: t for x, t, m in zip(loop.carried, carried, moving, strict=True) if m}
        pushed = push_forward(loop.body.outputs, {**known, **slices, **shared})
        grown = [m or t is not None for m, t in zip(moving, pushed, strict=False)]
        if grown == moving:
            break
        moving = grown
    news = or_zeros(pushed[: loop.carries], loop.news)
    steps = pick(news, moving)
    ys = pushed[loop.carries :]
    inputs = (
        loop.step, *loop.carried, *pick(carried, moving), *loop.slices, *slices.values(),
        *loop.shared, *shared.values(),
    )  # fmt: skip
    outputs = rewrite([*loop.news, *steps, *loop.ys, *pick(ys, ys)])
    inits = or_zeros(starts, loop.inits)
    moved = loop.changed(
        inits=(*loop.inits, *pick(inits, moving)),
        xs=(*loop.xs, *pick(elements, elements)),
        consts=(*loop.consts, *pick(consts, consts)),
        body=Body(inputs, outputs),
        cond=_widened(loop, pick(carried, moving), [*shared]),
    )
    made = moved.node()
    places = _places(loop, moving, ys)

    def tangent(projection: Node) -> Node | None:
        place = places[projection.params["index"]]
        return None if place is None else project(made, place, projection.op.kind)

    return tangent


def _widened(loop: Loop, carried: Sequence[Node], shared: Sequence[Node]) -> Body | None:
    """Return the condition with inputs for the tangents, which it does not look at."""
    if loop.cond is None:
        return None
    own = loop.cond.inputs
    inputs = (
        *own[: loop.carries], *stand_ins(carried, "dc"), *own[loop.carries :],
        *stand_ins(shared, "dk"),
    )  # fmt: skip
    return Body(inputs, loop.cond.outputs)


def _places(loop: Loop, moving: Sequence[bool], ys: Sequence[Node | None]) -> list[int | None]:
    """Return for each result the number of the result that is its tangent."""
    places: list[int | None] = []
    free = loop.carries
    for m in moving:
        places.append(free if m else None)
        free += m
    free += len(loop.ys)
    for y in ys:
        places.append(free if y is not None else None)
        free += y is not None
    return places


def batch_loop(
    size: Dimension, operands: Sequence[Node], flags: Sequence[bool], node: Node, last: bool
) -> Callable[[Node], tuple[Node, bool]]:
    """Return, as a function of the loop's result nodes, their batched counterparts.

    A loop with a condition runs until it fails for all examples; an example that is done
    keeps its values.
    """
    loop = Loop.of(node)
    first = loop.carries + len(loop.xs)
    wide_results, _ = spread_loop(node, flags)
    spread = wide_results[: loop.carries]
    chosen = [*spread, *flags[loop.carries :]]
    wide = {x: Input(x.name, widened(x.shape, size, last), x.dtype) for x in loop.body.inputs[1:]}
    batched = {x: wide[x] for x in pick(loop.body.inputs[1:], chosen)}
    mask = _mask(loop, batched, size, last)
    found = batch(loop.body.outputs, batched, size, last)
    news = []
    for x, s, (new, lifted) in zip(loop.carried, spread, found, strict=False):
        value = repeated(new, size, last) if s and not lifted else new
        if mask is not None:
            going = Traced(mask) if last else _aligned(mask, value)
            value = as_node(np.where(going, Traced(value), Traced(wide[x])))
        news.append(value)
    ys = found[loop.carries :]
    starts = [
        repeated(x, size, last) if s and not f else x
        for x, s, f in zip(operands[: loop.carries], spread, flags, strict=False)
    ]
    xs = [
        _swapped(x) if f and x.op.kind != "tape" and not last else x
        for x, f in zip(operands[loop.carries : first], flags[loop.carries : first], strict=True)
    ]
    inputs = [wide[x] if s else x for x, s in zip(loop.body.inputs[1:], chosen, strict=True)]
    made = loop.changed(
        inits=tuple(starts), xs=tuple(xs), consts=tuple(operands[first:]),
        body=Body((loop.step, *inputs), rewrite([*news, *(y for y, _ in ys)])),
        cond=_condition(loop, batched, size, last),
    ).node()  # fmt: skip

    def counterpart(projection: Node) -> tuple[Node, bool]:
        k = projection.params["index"]
        found = project(made, k, projection.op.kind)
        stacked = k >= loop.carries and projection.op.kind != "tape" and not last
        return _swapped(found) if stacked and wide_results[k] else found, wide_results[k]

    return counterpart


def spread_loop(node: Node, flags: Sequence[bool]) -> tuple[list[bool], bool]:
    """Tell which results of a loop differ between examples, and whether each ends by itself."""
    loop = Loop.of(node)
    spread, fixed = list(flags[: loop.carries]), flags[loop.carries :]
    while True:
        moving, own = differing(loop.body.outputs, pick(loop.body.inputs[1:], [*spread, *fixed]))
        found = [x in moving for x in loop.body.outputs]
        by_itself = bool(own)
        if loop.cond is not None:
            shared = fixed[len(loop.xs) :]
            ends, inner = differing(loop.cond.outputs, pick(loop.cond.inputs, [*spread, *shared]))
            if loop.cond.outputs[0] in ends:  # an example that is done keeps its values
                found[: loop.carries] = [True] * loop.carries
                by_itself = True
            by_itself |= bool(inner)
        grown = [a or b for a, b in zip(spread, found, strict=False)]
        if grown == spread:
            return [*spread, *found[loop.carries :]], by_itself
        spread = grown


def _swapped(x: Node) -> Node:
    """Exchange the batch axis and the axis of the steps."""
    return as_node(np.swapaxes(Traced(x), 0, 1))


def _aligned(mask: Node, value: Node) -> Any:
    ones = (1,) * (value.ndim - 1)
    return np.reshape(Traced(mask), (Traced(mask).shape[0], *ones))


def _holds(loop: Loop, batched: dict[Any, Node], size: Dimension, last: bool) -> tuple[Node, bool]:
    """Return the condition of a batch, in terms of the body's inputs."""
    assert loop.cond is not None
    inner = dict(zip(loop.cond.inputs, (*loop.carried, *loop.shared), strict=True))
    return batch(substitute(loop.cond.outputs, inner), batched, size, last)[0]


def _mask(loop: Loop, batched: dict[Any, Node], size: Dimension, last: bool) -> Node | None:
    """Return which examples go on, None if they all go on together."""
    if loop.cond is None:
        return None
    truth, lifted = _holds(loop, batched, size, last)
    return truth if lifted else None


def _condition(loop: Loop, batched: dict[Any, Node], size: Dimension, last: bool) -> Body | None:
    if loop.cond is None:
        return None
    truth, lifted = _holds(loop, batched, size, last)
    if lifted:
        truth = as_node(np.any(Traced(truth)))
    # The body has inputs of the same kinds, but a bound variable belongs to one body.
    own = [batched.get(x, x) for x in (*loop.carried, *loop.shared)]
    fresh = [Input(x.name, x.shape, x.dtype) for x in own]
    return Body(fresh, rewrite(substitute([truth], dict(zip(own, fresh, strict=True)))))

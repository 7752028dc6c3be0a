"""Forward mode of a loop: a loop that carries the tangents along."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._forward import push_forward
from .._graph import Body, Input, Node
from .._rewrite import rewrite
from ._parts import Loop, pick, project, stand_ins, zeros


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
    while True:
        known = {x: t for x, t, m in zip(loop.carried, carried, moving, strict=True) if m}
        pushed = push_forward(loop.body.outputs, {**known, **slices, **shared})
        grown = [m or t is not None for m, t in zip(moving, pushed, strict=False)]
        if grown == moving:
            break
        moving = grown
    news = [t if t is not None else zeros(x) for t, x in zip(pushed, loop.news, strict=False)]
    steps = pick(news, moving)
    ys = pushed[loop.carries :]
    inputs = (
        loop.step, *loop.carried, *pick(carried, moving), *loop.slices, *slices.values(),
        *loop.shared, *shared.values(),
    )  # fmt: skip
    outputs = rewrite([*loop.news, *steps, *loop.ys, *pick(ys, ys)])
    inits = [t if t is not None else zeros(x) for t, x in zip(starts, loop.inits, strict=True)]
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

"""A loop over a batch: one loop whose values have a batch axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._batch import batch, differing, repeated, widened
from .._graph import Body, Input, Node
from .._rewrite import rewrite
from .._shapes import Dimension
from .._trace import Traced, as_node, substitute
from ._parts import Loop, pick, project


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

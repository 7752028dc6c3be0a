"""Batches of what ends by itself in each example: a loop over the examples.

In lockstep a ``while_loop`` of a batch runs until the last example is done, over arrays of the
whole batch. So what lies between such loops, and they themselves, stay code for one example, as
the body of a scan that carries nothing; everything before and after is batched as usual. A
derivative of the batch is then one of that scan, and machine code may run its steps side by
side, each with a number of turns of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..base.sizes import Dimension, as_size
from ..base.state import within
from ..graph import Body, Input, Iota, Node, topological
from ..graph._types import TOKEN
from ..op import PROJECTIONS
from ..rewrite import rewrite
from ..trace import Traced, as_node, substitute
from ..transforms.batch import batch, differing
from ._build import close
from ._element_writes import by_places
from ._fields import Loop, result


def batch_examples(
    outputs: Sequence[Node], batched: Mapping[Node, Node], size: Dimension
) -> list[tuple[Node, bool]]:
    """Return ``outputs`` computed for a whole batch, see :func:`batch`."""
    moving, own = differing(outputs, batched)
    if not own:
        return batch(outputs, batched, size)
    order = topological(outputs)
    inside = _between(order, own)
    read = dict.fromkeys(x for n in order if n in inside for x in n.operands if x not in inside)
    needed = {x for n in order if n not in inside for x in n.operands}.union(outputs)
    ends = [n for n in order if n in inside and n in needed and n.dtype != TOKEN]
    starts = [x for x in read if x in moving]
    # Some results of a batched loop are the same in all examples.
    made_of = set(moving)
    for node in order:
        if not made_of.isdisjoint(node.operands):
            made_of.add(node)
    equal = [x for x in read if x in made_of and x not in moving]
    slices = [Input(getattr(x, "name", f"x{k}"), x.shape, x.dtype) for k, x in enumerate(starts)]
    shared = [Input(f"s{k}", x.shape, x.dtype) for k, x in enumerate(equal)]
    counter = Input("i", (), np.int64)
    with within(where=own[0].where):
        swap = dict(zip((*starts, *equal), (*slices, *shared), strict=True))
        found = by_places(rewrite(substitute(ends, swap)), slices)
        closed = close([counter, *slices], found)
        body = Body((*closed.inputs, *closed.stand_ins), closed.outputs)
        wide = [x for x, _ in batch((*starts, *equal), batched, size)]
        xs, given = tuple(wide[: len(starts)]), wide[len(starts) :]
        consts = substitute(closed.captured, dict(zip(shared, given, strict=True)))
        made = Loop((), xs, tuple(consts), body, size).node()
        results = {Input("y", x.shape, x.dtype): result(made, k) for k, x in enumerate(ends)}
    rest = substitute(outputs, dict(zip(ends, results, strict=True)))
    return batch(rest, {**batched, **results}, size)


def lockstep(outputs: Sequence[Node]) -> list[Node]:
    """Return ``outputs`` with loops over examples as batches, whose examples wait for the last.

    It is what NumPy is fast at: one operation of many examples at a time.
    """
    swap: dict[Node, Node] = {}
    order = topological(outputs)
    for node in order:
        if node.op.kind != "loop" or not Loop.of(node).is_of_examples:
            continue
        loop = Loop.of(node)
        assert loop.length is not None
        size = as_size(loop.length)
        numbers = as_node(np.arange(size)) if isinstance(size, int) else Iota(size.expr)
        wide = dict(zip((loop.step, *loop.slices), (numbers, *loop.xs), strict=True))
        inner = substitute(loop.body.outputs, dict(zip(loop.shared, loop.consts, strict=True)))
        found = batch(inner, wide, loop.length)
        for n in order:
            if n.op.kind in PROJECTIONS and n.operands[0] is node:
                value, lifted = found[n.params["index"]]
                # A value that is the same in all steps: a tape has the shape of one.
                shape = (size,) * (n.op.kind == "tape") + Traced(n).shape
                swap[n] = value if lifted else as_node(np.broadcast_to(Traced(value), shape))
    return substitute(outputs, swap) if swap else list(outputs)


def _between(order: Sequence[Node], own: Sequence[Node]) -> set[Node]:
    """Return these loops and all nodes between two of them.

    What reads a tape belongs to what writes it: a tape is there while its example runs.
    """
    members = set(own)
    while True:
        for node in order:
            pairs = [x.operands[0] for x in node.operands if x.op.kind == "tape"]
            if node in members or any(x in members for x in pairs):
                members.update((node, *pairs))
        after, before = set(members), set(members)
        for node in order:
            if not after.isdisjoint(node.operands):
                after.add(node)
        for node in reversed(order):
            if node in before:
                before.update(node.operands)
        found = after & before
        found.update(n for n in order if n.op.kind in PROJECTIONS and n.operands[0] in found)
        grown = members | {n for n in found if n.op.kind in ("loop", "branch")}
        if grown == members:
            return found
        members = grown

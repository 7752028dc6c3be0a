"""Many examples of a loop as one loop: its bodies on arrays whose last axis is the lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..base.switches import is_on
from ..control import Branch, Loop
from ..graph import Body, Input, Literal, Node, topological
from ..op import PROJECTIONS, Bodied
from ..rewrite import rewrite
from ..trace import substitute
from ..transforms.batch import batch, differing, repeated

#: How many examples run side by side: a few registers full of numbers, so that the time of one
#: operation passes while others begin. More than a short axis has, which would be unrolled.
LANES = 32

#: Ops that ask nothing of the side of a branch that is not taken.
SELECTED = frozenset({"leaf", "map", "view", "reduce", "contract", "assemble", "scan"})


def selects(outputs: Sequence[Node]) -> bool:
    """Tell whether branches may run on all lanes, with results selected.

    Not if a side has what may be wrong, or long, where it is not taken: indices, loops, routines.
    """
    for node in topological(outputs):
        if not isinstance(node.op, Bodied):
            continue
        bodies = Loop.of(node).bodies if node.op.kind == "loop" else Branch.of(node).bodies
        if node.op.kind == "branch" and not isinstance(Branch.of(node).index, Literal):
            inner = topological([x for body in bodies for x in body.outputs])
            if any(x.op.kind not in SELECTED for x in inner):
                return False
        elif not all(selects(body.outputs) for body in bodies):
            return False
    return True


class Lanes(NamedTuple):
    """A step of the loop over examples as a ``while_loop``, and what is around it.

    Attributes
    ----------
    enter:
        Of an example's number, elements and what all share the first carries, and constants of
        the loop that differ between examples.
    holds, turn:
        Condition and body of the loop for all lanes.
    leave:
        As ``enter``, with the last carries behind, the results.
    own:
        Which of the loop's constants differ between examples; the others are in ``common``.
    common:
        Nodes of the outer body that all examples share: its inputs.
    """

    enter: Body
    holds: Body
    turn: Body
    leave: Body
    own: list[bool]
    common: list[Node]


def lanes_of(loop: Loop) -> Lanes | None:
    """Return a loop over examples by lanes, None if a step is not one ``while_loop``."""
    nodes = topological(loop.body.outputs)
    inner = [n for n in nodes if n.op.kind == "loop" and Loop.of(n).cond is not None]
    if len(inner) != 1 or not is_on("lanes"):
        return None
    [node] = inner
    found = Loop.of(node)
    tapes = any(n.op.kind == "tape" and n.operands[0] is node for n in nodes)
    counts = found.step in topological(found.body.outputs)
    if tapes or counts or found.xs or len(found.body.outputs) != found.carries:
        return None
    moving, _ = differing(loop.body.outputs, [loop.step, *loop.slices])
    own = [x in moving or x not in loop.shared for x in found.consts]
    common = [x for x, o in zip(found.consts, own, strict=True) if not o]
    starts = [*found.inits, *(x for x, o in zip(found.consts, own, strict=True) if o)]
    last = [Input(f"last{k}", x.shape, x.dtype) for k, x in enumerate(found.inits)]
    ends = {n: last[n.params["index"]] for n in nodes
            if n.op.kind in PROJECTIONS and n.operands[0] is node}  # fmt: skip
    assert found.cond is not None
    tested = found.cond.inputs
    return Lanes(
        enter=_body(loop.body.inputs, starts),
        holds=side_by_side(tested, [*([True] * found.carries), *own], found.cond.outputs),
        turn=side_by_side((found.step, *found.carried, *found.shared),
                           [False, *([True] * found.carries), *own], found.news),
        leave=_body((*loop.body.inputs, *last), substitute(loop.body.outputs, ends)),
        own=own, common=common,
    )  # fmt: skip


def _body(inputs: Sequence[Input], outputs: Sequence[Node]) -> Body:
    """Return a body with inputs of its own."""
    fresh = [Input(x.name, x.shape, x.dtype) for x in inputs]
    return Body(fresh, rewrite(substitute(outputs, dict(zip(inputs, fresh, strict=True)))))


def side_by_side(inputs: Sequence[Input], flags: Sequence[bool], outputs: Sequence[Node]) -> Body:
    """Return a body for all lanes, of which the flagged inputs have an element each."""
    fresh = [Input(x.name, (*x.shape, LANES) if f else x.shape, x.dtype)
             for x, f in zip(inputs, flags, strict=True)]  # fmt: skip
    wide = {x: new for x, new, f in zip(inputs, fresh, flags, strict=True) if f}
    same = {x: new for x, new, f in zip(inputs, fresh, flags, strict=True) if not f}
    found = [
        x if lifted else repeated(x, LANES, last=True)
        for x, lifted in batch(outputs, wide, LANES, last=True)
    ]
    return Body(fresh, rewrite(substitute(found, same)))

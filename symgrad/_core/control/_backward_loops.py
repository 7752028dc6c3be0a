"""Reverse mode of loops: which backward loop, made once for loops of one body.

Loops of one body differ in their operands only, as the pieces of a solution from one dose to the
next do (``_body_merging``). The backward loop is made of stand-ins for operands and cotangents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.state import now
from ..graph import Body, Node, remade
from ..trace import substitute
from ..transforms.guards import Guard, Guarded, of_any
from ._binomial import Binomial
from ._fields import Loop, pick, stand_ins
from ._loop_reverse import Backward, element_masks, sent
from ._singular_points import is_risky, passes_edge


def pull_loop(
    cts: Mapping[Node, Guarded], node: Node, wanted: Sequence[bool]
) -> list[Guarded | None]:
    """Return the cotangents of a loop's operands for those of its result nodes."""
    loop = Loop.of(node)
    in_order = any(x.op.kind == "tape" for x in loop.xs)  # tapes are read so, alone
    kind = Backward if loop.slots is None or in_order else Binomial
    risky = [w and is_risky(x) for w, x in zip(wanted, node.operands, strict=True)]
    edgy = [r and passes_edge(x) for r, x in zip(risky, node.operands, strict=True)]
    masks = element_masks(loop, cts.values())
    given = [*node.operands, *(ct.value for ct in cts.values()), *pick(masks, masks)]
    known = now().pulled
    if known is None or now().promised or any(x.op.kind == "tape" for x in given):
        return kind(loop, cts, wanted, risky, edgy).operands()
    outer = [projection.params["index"] for projection in cts]
    kinds = [(x.shape, x.dtype) for x in given]
    # Of one body, not of equal ones: loops with the same inputs in their bodies are merged later.
    items = tuple(id(value) if isinstance(value, Body) else value for _, value in node.items)
    masked = [truth is not None for truth in masks]
    key = (items, *map(tuple, (wanted, risky, edgy, outer, kinds, masked)))
    if key not in known:
        inside = stand_ins(given, "of")
        operands, rest = inside[: len(node.operands)], iter(inside[len(node.operands) :])
        values = [next(rest) for _ in cts]
        guards = [((next(rest), True),) if mask else () for mask in masked]
        alike = Loop.of(remade(node, tuple(operands)))
        seeds = {x: Guarded(ct, guard) for x, ct, guard in zip(cts, values, guards, strict=True)}
        known[key] = loop, inside, kind(alike, seeds, wanted, risky, edgy).operands()
    _, inside, found = known[key]
    return _within(of_any(cts.values()), found, dict(zip(inside, given, strict=True)))


def _within(
    around: Guard, found: Sequence[Guarded | None], values: Mapping[Node, Node]
) -> list[Guarded | None]:
    """Return cotangents with ``values`` in the place of stand-ins, where ``around`` holds."""
    parts = [ct for ct in found if ct is not None]
    nodes = [x for ct in parts for x in (ct.value, *(condition for condition, _ in ct.guard))]
    put = iter(substitute(nodes, values))
    made: list[Guarded | None] = []
    for ct in found:
        if ct is None:
            made.append(None)
            continue
        value = next(put)
        own = tuple((next(put), truth) for _, truth in ct.guard)
        made.append(sent(value, around, own))
    return made

"""Loops that narrow an interval by decisions: their derivatives are not those of the place.

Bisection keeps one end and moves the other, as a decision says: each end is as it was on one side
of the decision. What the decision reads reaches the place through it alone, so that derivatives
of the steps are zero, where the place that they close in on moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import PathsWarning
from ..graph import Input, Node, topological, warn_user
from ..op import PROJECTIONS, Linear, Map
from ..transforms.limits import push_forward
from ..transforms.support import dependents
from ._fields import Branch, Loop

#: What is said of a search whose derivative is that of its steps.
INSTEAD = (
    "derivatives are those of the steps that were taken, and not of the place. Write instead: "
    "scipy.optimize.bisect, brentq or minimize_scalar, which are differentiated, or "
    "sg.implicit_root around the search"
)


def warn_of_narrowing(loop: Loop, moving: Iterable[Input]) -> None:
    """Warn of a loop that is differentiated by inputs of its body, which only decide on ends."""
    moving = set(moving)
    for decision, ends in _narrowing(loop):
        order = topological([decision])
        slopes = dependents(order, [*moving])  # what stop_gradient is around is meant so
        asked = [x for node in order if node.dtype.kind != "f" for x in node.operands]
        if not slopes.isdisjoint(asked) and ends.isdisjoint(_reached(loop, moving)):
            at = f" at {decision.where}" if decision.where else ""
            warn_user(f"decisions in a loop{at} close in on a place: {INSTEAD}", PathsWarning)
            return


def _reached(loop: Loop, moving: set[Input]) -> set[int]:
    """Return the carries, by number, that get tangents from inputs that all steps share."""
    found: set[int] = set()
    while True:
        known = {x: Input(f"d{x.name}", x.shape, x.dtype)
                 for x in (*moving, *(loop.carried[k] for k in found))}  # fmt: skip
        pushed = push_forward(loop.news, {**known})
        grown = found | {k for k, t in enumerate(pushed) if t is not None}
        if grown == found:
            return found
        found = grown


def _narrowing(loop: Loop) -> Iterator[tuple[Node, set[int]]]:
    """Yield decisions that keep one carry on one side, and another one on another side."""
    kept: defaultdict[Any, defaultdict[Any, set[int]]] = defaultdict(lambda: defaultdict(set))
    decisions: dict[Any, Node] = {}
    for k, (before, after) in enumerate(zip(loop.carried, loop.news, strict=True)):
        node: Node | None = after
        while node is not None:
            others = []
            for decision, side, value in _sides(node):
                if value is before:
                    # f < 0 and f >= 0 are sides of one decision.
                    key = decision.operands if len(decision.operands) == 2 else decision
                    kept[key][decision, side].add(k)
                    decisions[key] = decision
                else:
                    others.append(value)
            node = others[0] if len(others) == 1 else None  # in a batch: if this one goes on
    for key, sides in kept.items():
        ends = set.union(*sides.values())
        if len(sides) > 1 and not set.intersection(*sides.values()) and len(ends) > 1:
            yield decisions[key], ends


def _sides(node: Node) -> list[tuple[Node, Any, Node | None]]:
    """Return decisions between the values that a node may be: of what, on which side, which one."""
    if isinstance(node.op, Map) and isinstance(node.op.rule, Linear) and node.op.taken is not None:
        pairs = zip(node.op.taken(node, *node.operands), node.operands, strict=True)
        return [(*t, x) for t, x in pairs if t is not None]
    if node.op.kind in PROJECTIONS and node.operands[0].op.kind == "branch":
        branch = Branch.of(node.operands[0])
        found = []
        for side, body in enumerate(branch.bodies):
            given = dict(zip(body.inputs, branch.operands, strict=True))
            value = body.outputs[node.params["index"]]
            found.append((branch.index, side, given.get(value)))
        return found
    return []

"""Searches by halving, in Python or by ``np.where``, told by how close their decisions are.

Bisection and golden sections go on with one of two numbers each time. The decisions depend on the
arguments, the numbers do not: the derivative of the steps that were taken is not that of the place
on which they close in. Such decisions are closer and closer: a relative change of the arguments by
``2**-k`` turns the k-th of them, so their margins spread evenly over the decades, where those of
decisions on data gather at the widest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._graph import Input, Node, topological, warn_user
from .._op import registry
from .._state import now
from .._trace import Examples
from ..errors import PathsWarning

#: Fewer decisions on one line are none: the place would have five digits at most.
FEWEST = 16

#: By how much arguments are changed, relatively, to see by how much what is compared changes.
CHANGE = 1e-7

#: Margins of decisions that close in have so many decades below a ten-thousandth, and there are a
#: quarter as many of them as of the next two decades: of decisions on data it is a hundredth.
DECADES = 3

_ORDERED = ("Less", "LessEqual", "Greater", "GreaterEqual")


def warn_of_searches(results: Iterable[Node], inputs: Sequence[Input]) -> None:
    """Warn where decisions on one line close in on a place, whose derivative is not computed."""
    examples: Examples | None = now().examples
    if examples is None:
        return
    ordered = {registry.ops[name] for name in _ORDERED}
    lines: dict[Any, list[Node]] = defaultdict(list)
    decided = [condition for condition, settled in examples.conditions.items() if not settled]
    for node in topological([*results, *decided]):
        if node.op in ordered and node.operands[0].dtype.kind == "f" and node.where:
            lines[node.where].append(node)
    examples.settle()
    for where, nodes in lines.items():
        if len(nodes) >= FEWEST and _closes_in(nodes, examples, inputs):
            warn_user(
                f"{len(nodes)} decisions at {where} close in on a place: derivatives are those "
                "of the steps that were taken, and not of the place. Write instead: "
                "scipy.optimize.bisect, brentq or minimize_scalar, which are differentiated, or "
                "sg.implicit_root around the search",
                PathsWarning,
            )


def _closes_in(nodes: Sequence[Node], examples: Examples, inputs: Sequence[Input]) -> bool:
    changed = examples.changed(inputs, CHANGE)
    margins = defaultdict(list)
    for node in nodes:
        before, after = (_apart(node, e) for e in (examples, changed))
        if before is not None and after is not None and before.shape == after.shape:
            with np.errstate(all="ignore"):
                margins[before.shape].append(CHANGE * np.abs(before / (after - before)))
    for found in margins.values():
        below = np.digitize(found, 10.0 ** np.arange(-16, 0))  # 0 of ties, 13 from 1e-4 on
        decades = sum(np.any(below == k, axis=0) for k in range(1, 13))
        closer = np.count_nonzero((below > 0) & (below < 13), axis=0)
        close = np.count_nonzero((below == 13) | (below == 14), axis=0)
        if np.any((decades >= DECADES) & (4 * closer >= close)):
            return True
    return False


def _apart(node: Node, examples: Examples) -> Any:
    """Return by how much what is compared differs, None if that is not known."""
    left, right = (examples.value(x) for x in node.operands)
    return None if left is None or right is None else np.asarray(left - right, float)

"""Equal eigenvalues and singular values, of which single ones have no derivative.

Neither have their vectors; a derivative by them is nan. Which line it comes of is told when a
function is traced, by the values of the example call. Where derivatives go past the
decomposition, as those of functions of the whole matrix do, they are numbers, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core.base.sizes import dim_product, hint
from .._core.base.state import now
from .._core.graph import Node, warn_user
from .._core.op import Ties
from .._core.trace import EnclosedError, Examples
from ..errors import DegeneracyWarning

#: Decompositions of so many numbers are computed once more, to look at.
MOST = 10_000


def warn_of_ties(nodes: Sequence[Node]) -> None:
    """Warn where derivatives are nan by values of a decomposition that are equal."""
    examples: Examples | None = now().examples
    if examples is None:
        return
    found = [n for n in _differentiated(nodes) if n.op.beside.get(Ties) is not None]
    if not found:
        return
    try:
        tied = [n for n in found if _small(n) and _has_ties(n, examples)]
        if not tied or not any(map(_is_nan, (examples.value(n) for n in nodes))):
            return
    except (EnclosedError, KeyError):  # in a trace around this one; of sizes that colours have
        return
    lines = sorted({str(n.where) for n in tied if n.where})
    place = f" at {', '.join(lines)}" if lines else ""
    warn_user(
        f"eigenvalues or singular values{place} are equal: a single one of them, and its vector, "
        "has no derivative, and it is nan. What is written by all of them has one, such as "
        "(v * f(w)) @ v.T or np.sum(f(w))",
        DegeneracyWarning,
    )


def _differentiated(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes that are needed for others than what is held constant."""
    seen: dict[Node, None] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            if node.op.name != "StopGradient":
                stack.extend(node.operands)
    return list(seen)


def _small(node: Node) -> bool:
    return hint(dim_product(node.shape)) <= MOST


def _has_ties(node: Node, examples: Examples) -> bool:
    value = examples.value(node)
    if value is None:
        return False
    found = Ties.of(node.op).found
    if found is None:
        return False
    given = [np.asarray(examples.value(x)) for x in node.operands]
    params = {k: examples.bind(v, examples.sizes) for k, v in node.items}
    with np.errstate(all="ignore"):
        return bool(found(np.asarray(value), *given, **params))


def _is_nan(value: object) -> bool:
    return isinstance(value, np.ndarray | np.floating | float) and bool(np.any(np.isnan(value)))

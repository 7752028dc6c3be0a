"""Places of a Jacobian by elements: which element of an array depends on which, as sets of bits.

For programs that compute with the elements of a short array one by one, as a list of rates of many
kinds does. Each of their numbers has blocks of its own: lanes take ten times as long there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from .._core.base.sizes import hint, same
from .._core.graph import Constant, Node, size_symbols, topological
from .._core.op import Assemble, Gather, Map, Reduce, View
from .._core.transforms.support import dependents

#: A set has so many elements at most.
BITS = 64


def places_of_elements(output: Node, source: Node) -> tuple[Any, Any] | None:
    """Return rows and columns of the Jacobian's entries, or of more; None for other programs."""
    order = topological([output])
    active = dependents(order, [source])
    reached = [node for node in order if node in active]
    used = {x for node in reached if node is not source for x in (node, *node.operands)}
    if any(map(size_symbols, used - {source})):
        return None
    shape = [hint(n) for n in source.shape]
    if prod(shape) > BITS or not all(map(same, source.shape, shape)):
        return None
    bits = np.arange(prod(shape), dtype=np.uint64)
    found = {source: np.reshape(np.uint64(1) << bits, shape)}
    for node in reached:
        if node not in found:
            operands = [found[x] if x in found else _none(x) for x in node.operands]
            made = _behind(node, operands)
            if made is None:
                return None
            found[node] = made
    sets = found[output] if output in found else _none(output)
    rows, columns = np.nonzero((np.ravel(sets)[:, np.newaxis] >> bits) & np.uint64(1))
    return rows, columns


def _none(node: Node) -> Any:
    return np.zeros(node.shape, np.uint64)


def _behind(node: Node, operands: Sequence[Any]) -> Any:
    """Return on what the elements of a node depend; None if that is not known."""
    op = node.op
    if isinstance(op, Map):
        kept = [x for k, x in enumerate(operands) if k not in op.aside]
        return np.broadcast_to(reduce(np.bitwise_or, kept), node.shape)
    if isinstance(op, View) or (isinstance(op, Assemble) and node.params.get("disjoint", True)):
        return op.evaluate(*operands, **node.params)
    if isinstance(op, Gather):
        places = [x.array for x in node.operands[1:] if isinstance(x, Constant)]
        known = len(places) == len(node.operands) - 1
        return op.evaluate(operands[0], *places, **node.params) if known else None
    if isinstance(op, Reduce):
        return np.bitwise_or.reduce(operands[0], axis=node.params["axes"])
    return None
